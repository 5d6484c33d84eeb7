"""A report as a document of Word.

Title, meta and blocks → bytes of a .docx file, its tables in the style of APA.
"""

import io
from importlib import import_module
from itertools import repeat
from typing import Any
from xml.sax.saxutils import escape

from hmetad.base.errors import InputError
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
RULE = 8
SCHEMA = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


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
        got, step = "a name that ends in .docx", 'In the clone: pip install ".[word]"'
        raise InputError("path", got, "python-docx, installed", step) from error


def add_view(word: Any, view: View) -> None:
    """Add what a view shows to the document."""
    if isinstance(view, ProseView | NoticesView) and view.heading:
        word.add_heading(view.heading, 1)
    match view:
        case ProseView():
            for paragraph in view.paragraphs:
                word.add_paragraph(paragraph)
        case NoticesView():
            for item in view.items:
                cells = f" ({'; '.join(item.printed)})" if item.cells else ""
                paragraph = word.add_paragraph(style="List Bullet")
                paragraph.add_run(f"{item.word}: ").bold = True
                paragraph.add_run(f"{item.sentence}{cells}")
        case TableView():
            texts = [[cell.text for cell in row] for row in view.rows]
            headings = [column.heading for column in view.columns]
            add_table(word, view, [headings, *texts], [column.numeric for column in view.columns])
        case MatrixView():
            size = len(view.levels)
            texts = [["Row − column", *view.levels[:-1]]]
            for level, row in zip(view.levels, view.cells, strict=True):
                said = [f"{cell.sign} {cell.difference}" if cell else "" for cell in row]
                texts.append([level, *said, *[""] * (size - 1 - len(row))])
            add_table(word, view, texts, [False] + [True] * (size - 1))
        case FigureView():
            add_figure(word, view)


def add_table(
    word: Any, view: TableView | MatrixView, rows: list[list[str]], is_number: list[bool]
) -> None:
    """Add a table with its number and title above, three rules, and its note below."""
    add_caption(word, view.label, view.caption)
    table = word.add_table(rows=0, cols=len(rows[0]))
    table.autofit = True
    parse = import_module("docx.oxml").parse_xml
    for place, row in enumerate(rows):
        sides = ("top", "bottom") if place == 0 else ("bottom",) * (place == len(rows) - 1)
        cells = map(cell_xml, row, is_number, repeat(sides))
        table._tbl.append(parse(f'<w:tr xmlns:w="{SCHEMA}">{"".join(cells)}</w:tr>'))
    note = word.add_paragraph()
    if view.note:
        note.add_run("Note. ").italic = True
        note.add_run(view.note)


def cell_xml(text: str, is_right: bool, sides: tuple[str, ...]) -> str:
    """A cell with rules at some sides; the methods of python-docx take seconds for a long table."""
    rules = "".join(
        f'<w:{x} w:val="single" w:sz="{RULE}" w:space="0" w:color="auto"/>' for x in sides
    )
    return (
        f"<w:tc><w:tcPr>{f'<w:tcBorders>{rules}</w:tcBorders>' * bool(rules)}</w:tcPr>"
        f'<w:p><w:pPr><w:spacing w:after="0"/><w:jc w:val="{"right" if is_right else "left"}"/>'
        f'</w:pPr><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p></w:tc>'
    )


def add_caption(word: Any, label: str, text: str) -> None:
    """Number of a table or figure in bold, and its title in italics on the next line."""
    first, second = word.add_paragraph(), word.add_paragraph()
    first.add_run(label).bold = True
    first.paragraph_format.space_after = 0
    second.add_run(text).italic = True
    for paragraph in (first, second):
        paragraph.paragraph_format.keep_with_next = True


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
