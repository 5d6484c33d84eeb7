"""The one builder makes of a study's file the report that the file plans."""

import pandas as pd
import pytest

from hmetad.report.page.report import Figure, Prose, Table
from hmetad.studies.comparison import file_of
from hmetad.studies.report import KINDS, PLOTS, build_report, plot_lines
from hmetad.studies.run import STUDIES

# Keys of every kind of block, besides `needs` and `each`.
KEYS = {
    "table": {"caption", "columns", "formats", "note", "name"},
    "decisions": {"caption", "figure"},
    "figure": {"plot", "of", "options", "caption", "alt"},
    "notices": {"heading"},
    "convergence": set(),
    "differing": set(),
    "everything": set(),
    "heading": {"text"},
    "text": set(),
}


@pytest.fixture
def comparison():
    columns = ["table", "row", "quantity", "printed", "ours", "tolerance", "agrees", "note"]
    rows = [("S1", "a", "dprime", 1.0, 1.5, 0.1, False, "A misprint."),
            ("S2", "b", "c", "yes", "yes", float("nan"), True, "")]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture
def built(monkeypatch, comparison):
    """Return a function from blocks and contents to the report of a made-up study."""

    def build(*blocks, said=None, **contents):
        head = {"title": "T", "subtitle": "S", "meta": {"N": "{n:,}"}, "where": {"S1": "Table S1"}}
        plan = {"report": head, "said": said or {}, "block": list(blocks)}
        monkeypatch.setattr("hmetad.studies.report.file_of", lambda _: plan)
        return build_report("made", {"seed": 1, "n": 1234, **contents}, comparison)

    return build


def test_lines_of_a_text_are_joined_and_braces_are_filled(built):
    report = built(
        {"heading": "H", "text": "\nfrom {a:.1f}\nto {whole}\n\nand on\n"},
        said={"whole": "{b} in\nall"}, a=1.25, b=3,
    )  # fmt: skip
    assert report.blocks == (Prose("H", ("from 1.2 to 3 in all", "and on")),)
    assert report.meta[:2] == (("N", "1,234"), ("Seed", "1"))


def test_a_block_is_left_out_or_repeated_as_the_contents_say(built):
    need = {"text": "there", "needs": "deposit"}
    each = {"table": "frame", "name": "t-{name}", "caption": "{name}", "each": "members"}
    members = [{"name": name, "frame": pd.DataFrame({"x": [1.0]})} for name in "ab"]
    assert built(need, deposit=None).blocks == ()
    assert len(built(need, deposit="given").blocks) == 1
    tables = built(each, members=members).blocks
    assert [(table.name, table.caption) for table in tables] == [("t-a", "a"), ("t-b", "b")]


def test_what_is_not_in_the_contents_is_an_error(built):
    for block in ({"text": "{absent}"}, {"table": "absent", "caption": ""}):
        with pytest.raises(KeyError, match="absent"):
            built(block)


def test_the_comparison_is_shown_in_full_and_by_what_differs(built):
    differing, everything = built({"differing": True}, {"everything": True}).blocks
    assert differing.rows == (("Table S1", "a: d′", "1", "1.5", "A misprint."),)
    assert [row[:2] + row[-1:] for row in everything.rows] == [
        ("Table S1", "a: d′", "no"), ("S2", "b: c", "yes")
    ]  # fmt: skip


def test_lines_and_points_are_drawn_by_panel_within_their_limits(built):
    lines = pd.DataFrame({"t": [1, 2] * 2, "v": [0, 1, 2, 3], "m": "A", "p": list("xxyy")})
    points = pd.DataFrame({"t": [1.5], "v": [2.0], "m": "A", "p": "y"})
    options = {"x": "t", "y": "v", "hue": "m", "panel": "p", "xlabel": "time"}
    first, second = plot_lines(lines, points, {"y": (-5, 5)}, **options)
    assert first.lines[0].get_ydata().tolist() == [0, 1]
    assert second.get_ylim() == (-5, 5) != first.get_ylim()
    assert [len(ax.collections) for ax in (first, second)] == [0, 1]
    entry = {"figure": "f", "plot": "lines", "of": ["lines"], "caption": "C", "alt": "A"}
    (figure,) = built(entry | {"options": options}, lines=lines).blocks
    assert isinstance(figure, Figure)


@pytest.mark.parametrize("name", STUDIES)
def test_every_block_of_a_file_is_read(name):
    assert set(KEYS) == set(KINDS)
    for block in file_of(name)["block"]:
        kind = next(kind for kind in KINDS if kind in block)
        assert set(block) <= {kind, "needs", "each"} | KEYS[kind], block
        assert block.get("plot", "lines") in PLOTS


def test_a_table_keeps_the_columns_it_names(built):
    frame = pd.DataFrame({"a": [1], "b": [2.0], "c": [3]})
    entry = {"table": "t", "caption": "C", "columns": {"b": "B", "a": "A"}, "formats": {"b": ".1f"}}
    (table,) = built(entry, t=frame).blocks
    assert table == Table("C", ("B", "A"), ((2.0, 1),), name="t", formats=(("B", ".1f"),))
