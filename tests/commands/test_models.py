"""`hmetad models` lists every card; `hmetad reproduce` takes the studies that there are."""

import pytest
from command_line import refused, run

from hmetad.specs.loading import card_names


def test_every_card_is_listed(tmp_path):
    answer = run(tmp_path, "models --json").answer
    assert [row["model"] for row in answer["rows"]] == card_names()
    assert run(tmp_path, "models").stdout.count("\n") > len(card_names())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("reproduce servajaen2026", "Did you mean 'servajean2026'"),
        ("reproduce servajean2026 --out taken", "can be written to"),
        ("reproduce servajean2026 --out /proc/results", "can be written to"),
        ("reproduce meyen2025 --draws 10", "--draws"),
        ("reproduce meyen2025 --data here", "--data"),
    ],
)
def test_what_cannot_be_reproduced_is_refused(tmp_path, line, says):
    (tmp_path / "taken").write_text("")
    assert says in refused(tmp_path, line)
