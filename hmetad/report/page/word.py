"""A report as a document of Word.

Title, meta and blocks → bytes of a .docx file, its tables in the style of APA.
"""

import io
from importlib import import_module
from typing import Any

from hmetad.errors import InputError
from hmetad.report.page.blocks import Document
from hmetad.report.page.figures import figure_png
from hmetad.report.page.layout import (
    FigureView,
    MatrixView,
    NoticesView,
    ProseView,
    TableView,
    View,
    arrange,
)
from hmetad.text.escape import visible

__all__ = ["render_word"]

# Width of figures in inches, between the margins of a page.
WIDTH = 6.0
# Eighths of a point, of the rules of a table.
RULE = "8"


def render_word(document: Document) -> bytes:
    """Document of Word with headings, paragraphs, tables and figures.

    Parameters
    ----------
    document : Document

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        If python-docx is not installed.
    """
    docx = word_library()
    word = docx.Document()
    word.core_properties.title = visible(document.title)[:255]
    word.add_heading(visible(document.title), 0)
    if document.subtitle:
        word.add_paragraph(visible(document.subtitle))
    if document.meta:
        said = "; ".join(f"{visible(name)}: {visible(value)}" for name, value in document.meta)
        word.add_paragraph(said)
    for view in arrange(document.blocks):
        add_view(word, view)
    content = io.BytesIO()
    word.save(content)
    return content.getvalue()


def word_library() -> Any:
    """The package docx, or an error that says how to get it."""
    try:
        return import_module("docx")
    except ModuleNotFoundError as error:
        step = 'In the clone: pip install ".[word]"'
        raise InputError(
            "path", "a name that ends in .docx", "python-docx, installed", step
        ) from error


def add_view(word: Any, view: View) -> None:
    """Add what a view shows to the document."""
    match view:
        case ProseView():
            add_heading(word, view.heading)
            for paragraph in view.paragraphs:
                word.add_paragraph(paragraph)
        case NoticesView():
            add_heading(word, view.heading)
            for item in view.items:
                cells = f" ({'; '.join(item.printed)})" if item.cells else ""
                start = word.add_paragraph(style="List Bullet").add_run(f"{item.word}: ")
                start.bold = True
                start._parent.add_run(f"{item.sentence}{cells}")
        case TableView():
            texts = [[cell.text for cell in row] for row in view.rows]
            headings = [column.heading for column in view.columns]
            is_number = [column.numeric for column in view.columns]
            add_table(word, view, headings, texts, is_number)
        case MatrixView():
            size = len(view.levels)
            texts = [
                [level, *(f"{cell.sign} {cell.difference}" if cell else "" for cell in row)]
                + [""] * (size - 1 - len(row))
                for level, row in zip(view.levels, view.cells, strict=True)
            ]
            headings = ["Row − column", *view.levels[:-1]]
            add_table(word, view, headings, texts, [False] + [True] * (size - 1))
        case FigureView():
            add_figure(word, view)


def add_heading(word: Any, text: str) -> None:
    """Add a heading, if there is one."""
    if text:
        word.add_heading(text, 1)


def add_table(
    word: Any,
    view: TableView | MatrixView,
    headings: list[str],
    rows: list[list[str]],
    is_number: list[bool],
) -> None:
    """Add a table with its number and title above, three rules, and its note below."""
    add_caption(word, view.label, view.caption)
    table = word.add_table(rows=1 + len(rows), cols=len(headings))
    table.autofit = True
    for place, row in enumerate([headings, *rows]):
        # Looking a cell up takes as long as the table is large; its row has all of them.
        for cell, text, is_right in zip(table.rows[place].cells, row, is_number, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.add_run(text)
            paragraph.alignment = 2 if is_right else 0
            paragraph.paragraph_format.space_after = 0
            sides = ("top", "bottom") if place == 0 else ("bottom",) * (place == len(rows))
            for side in sides:
                add_rule(cell, side)
    note = word.add_paragraph()
    if view.note:
        note.add_run("Note. ").italic = True
        note.add_run(view.note)


def add_caption(word: Any, label: str, text: str) -> None:
    """Number of a table or figure in bold, and its title in italics on the next line."""
    first = word.add_paragraph()
    first.add_run(label).bold = True
    first.paragraph_format.space_after = 0
    first.paragraph_format.keep_with_next = True
    second = word.add_paragraph()
    second.add_run(text).italic = True
    second.paragraph_format.keep_with_next = True


def add_rule(cell: Any, side: str) -> None:
    """Draw a line along a side of a cell, which python-docx has no words for."""
    oxml, ns = import_module("docx.oxml"), import_module("docx.oxml.ns")
    properties = cell._tc.get_or_add_tcPr()
    borders = properties.find(ns.qn("w:tcBorders"))
    if borders is None:
        borders = oxml.OxmlElement("w:tcBorders")
        properties.append(borders)
    line = oxml.OxmlElement(f"w:{side}")
    for name, value in (("val", "single"), ("sz", RULE), ("space", "0"), ("color", "auto")):
        line.set(ns.qn(f"w:{name}"), value)
    borders.append(line)


def add_figure(word: Any, view: FigureView) -> None:
    """Add a figure with its number and title; one that came as SVG is described in words."""
    add_caption(word, view.label, view.caption)
    picture = figure_png(view.figure)
    if picture is None:
        word.add_paragraph(view.alt)
        return
    inches = import_module("docx.shared").Inches
    shape = word.add_picture(io.BytesIO(picture), width=inches(WIDTH))
    shape._inline.docPr.set("descr", view.alt)
