"""Tables on a terminal, in a pipe and for other programs; reasons of verdicts in words."""

import ast
import contextlib
import csv
import io
from inspect import getsource

import pandas as pd
from plots.hostile_labels import HOSTILE

from hmetad.base.notice_registry import codes
from hmetad.base.spreadsheets import unguard
from hmetad.compare import ranking, verdicts
from hmetad.report.contents.tables import codes_in_words
from hmetad.report.terminal import csv_table, latex_table, markdown_table, print_table

ROWS = [{"cell": label, "m": 0.5 + i} for i, label in enumerate(HOSTILE)]
COLUMNS = {"cell": "cell", "m": "M"}
LONG = [{"cell": f"c{i}", "m": float(i)} for i in range(200)]


class Screen(io.StringIO):
    def isatty(self):
        return True


def printed(target, rows):
    with contextlib.redirect_stdout(target):
        print_table(rows, COLUMNS)
    return target.getvalue()


def test_a_long_table_is_cut_on_a_terminal_and_whole_in_a_pipe():
    piped = printed(io.StringIO(), LONG)
    assert "c199" in piped
    assert "more rows" not in piped
    shown = printed(Screen(), LONG)
    assert "c39" in shown
    assert "c40" not in shown
    assert "160 more rows: --format csv, or -o FILE, has all." in shown
    assert "c59" in printed(Screen(), LONG[:60])


def test_csv_is_that_of_pandas_and_gives_back_what_went_in():
    read = list(csv.DictReader(io.StringIO(csv_table(ROWS))))
    assert unguard(row["cell"] for row in read) == list(HOSTILE)
    assert [float(row["m"]) for row in read] == [row["m"] for row in ROWS]
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", "y, z"], "c": [True, False]})
    assert csv_table(frame.to_dict("records")) == frame.to_csv(index=False)


def test_minus_signs_and_what_is_missing_are_those_of_print_but_plain_for_programs():
    rows, columns = [{"a": -0.25}, {"a": None}], {"a": "a"}
    assert "| −0.250 |\n| – |" in markdown_table(rows, columns)
    assert "\\ensuremath{-}0.250 \\\\\n\\textendash" in latex_table(rows, columns)
    assert csv_table(rows) == "a\n-0.25\n\n".replace("\n\n", '\n""\n')
    assert "-0.250" in printed(io.StringIO(), [{"cell": "a−b", "m": -0.25}])


def own_codes():
    """Codes that comparisons give beside those of notices."""
    reasons = ast.walk(ast.parse(getsource(verdicts.reasons)))
    yield from (key.value for node in reasons if isinstance(node, ast.Dict) for key in node.keys)
    for node in ast.walk(ast.parse(getsource(ranking.untrusted))):
        if isinstance(node, ast.Return):
            yield from (x.value for x in ast.walk(node.value) if is_text(x))


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def test_every_reason_that_a_comparison_finds_itself_is_in_the_table_of_codes():
    reasons = {name for name, code in codes().items() if not code.texts}
    assert {"undefined", "constant", "few-draws", "alone"} <= set(own_codes())
    assert {*own_codes(), "unsettled"} == {*reasons, "rhat"}


def test_codes_are_words_to_a_reader_each_once_and_unknown_ones_stay():
    found = codes_in_words("rhat, ess, few-draws, of-another-package")
    assert found == "R̂ above 1.01; low ESS; of-another-package"
