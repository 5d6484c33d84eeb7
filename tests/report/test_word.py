"""Reports as documents of Word, read back by python-docx."""

import sys
import time

import docx
import matplotlib.pyplot as plt
import pytest
from docx.oxml.ns import qn

from hmetad import InputError
from hmetad.report.page.blocks import Figure, Table
from hmetad.report.page.report import Report


def written(folder, *blocks, title="Efficiency"):
    return docx.Document(Report(title, blocks).save(folder / "page.docx"))


def texts(document):
    return [paragraph.text for paragraph in document.paragraphs]


def test_a_table_has_its_number_title_values_and_note(tmp_path):
    rows = (("José 😀", 0.8563, None), ("<b>&", -0.5, True))
    made = written(tmp_path, Table("M-ratio by d′.", ("Cell", "M", "n"), rows, note="95 %."))
    (table,) = made.tables
    assert [[c.text for c in row.cells] for row in table.rows] == [
        ["Cell", "M", "n"],
        ["José 😀", "0.856", "–"],
        ["<b>&", "−0.500", "yes"],
    ]
    said = texts(made)
    assert said.index("Table 1") + 1 == said.index("M-ratio by d′.")
    assert said[-1] == "Note. 95 %."


def test_rules_are_those_of_apa(tmp_path):
    made = written(tmp_path, Table("t", ("a", "b"), (("x", 1.0), ("y", 2.0))))
    sides = [
        {line.tag.split("}")[1] for line in row.cells[0]._tc.iter() if "Borders" in line.tag}
        and {line.tag.split("}")[1] for line in row.cells[0]._tc.find(f".//{qn('w:tcBorders')}")}
        for row in made.tables[0].rows
    ]
    assert sides == [{"top", "bottom"}, set(), {"bottom"}]


def test_empty_and_long_tables_are_whole_and_take_no_time(tmp_path):
    made = written(tmp_path, Table("Nothing.", ("a", "b"), ()))
    assert [[c.text for c in row.cells] for row in made.tables[0].rows] == [["a", "b"]]
    rows = tuple((f"cell {i}", *(i + k / 7 for k in range(5))) for i in range(1600))
    start = time.process_time()
    made = Report("T", (Table("Long.", tuple("abcdef"), rows),)).save(tmp_path / "long.docx")
    # A tenth of a second where it was measured; cell by cell python-docx takes two and more.
    assert time.process_time() - start < 1
    assert docx.Document(made).tables[0].rows[1600].cells[0].text == "cell 1599"


def test_figures_are_pictures_with_words(tmp_path):
    drawing, ax = plt.subplots()
    ax.plot([0, 1])
    made = written(tmp_path, Figure("A line.", "It rises.", drawing))
    plt.close(drawing)
    assert len(made.inline_shapes) == 1
    assert made.inline_shapes[0]._inline.docPr.get("descr") == "It rises."


def test_without_the_library_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(InputError, match=r"\.\[word\]"):
        Report("t", ()).save(tmp_path / "page.docx")
    assert not list(tmp_path.iterdir())
