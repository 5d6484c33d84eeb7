"""A document in the language of its reader.

Title, meta and blocks → HTML, Markdown and LaTeX through the templates; and bytes of a .docx file,
its tables in the style of APA.
"""

import hashlib
import io
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import repeat
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hmetad.base.errors import InstallError
from hmetad.report.page.blocks import Document
from hmetad.report.page.figures import figure_png, inline_svg
from hmetad.report.page.layout import (
    FigureView,
    NoticesView,
    Numbered,
    ProseView,
    TableView,
    View,
    arrange,
)
from hmetad.text.escape import Safe, latex, markdown, opening, visible

LATEX_DELIMITERS = {
    "block_start_string": "((*",
    "block_end_string": "*))",
    "variable_start_string": "(((",
    "variable_end_string": ")))",
    "comment_start_string": "((=",
    "comment_end_string": "=))",
}

# Width of figures in inches, between the margins of a page.
WIDTH = 6.0
# Eighths of a point, of the rules of a table.
RULE = 8
SCHEMA = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@dataclass(frozen=True)
class Section:
    """Entry of the table of contents."""

    anchor: str
    text: str
    parts: list[Numbered] = field(default_factory=list)


def render_html(document: Document, *, embedded: bool = False) -> str:
    """HTML page that needs nothing from outside, or a part of a page when `embedded`."""
    prefix = embedded_prefix(document) if embedded else ""
    views = arrange(document.blocks, prefix)
    drawings = {
        view.anchor: Markup(inline_svg(view.figure, view.anchor))
        for view in views
        if isinstance(view, FigureView)
    }
    digest = hashlib.sha256(sorting_script().encode()).digest()
    template = html_environment().get_template("report.html.jinja")
    return template.render(
        head_of(document),
        views=views,
        contents=contents_of(views),
        opening=opening,
        drawings=drawings,
        script=Markup(sorting_script()),
        script_hash=f"sha256-{b64encode(digest).decode()}",
        embedded=embedded,
        prefix=prefix,
    )


def render_markdown(document: Document, stem: str) -> str:
    """Markdown (CommonMark with tables) that refers to files in folders named after `stem`."""
    template = plain_environment(markdown).get_template("report.md.jinja")
    folder = quote(stem)
    text = template.render(
        head_of(document),
        views=arrange(document.blocks),
        figures=Safe(f"{folder}_figures"),
        tables=Safe(f"{folder}_tables"),
        safe=Safe,
    )
    return f"{text.rstrip()}\n"


def render_latex(document: Document, stem: str) -> str:
    """LaTeX article that refers to figures in a folder named after `stem`."""
    template = plain_environment(latex, **LATEX_DELIMITERS).get_template("report.tex.jinja")
    return template.render(
        head_of(document),
        views=arrange(document.blocks),
        figures=Safe(f"{stem}_figures"),
        safe=Safe,
    )


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
        raise InstallError("path", got, "python-docx, installed", step) from error


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
        case FigureView():
            add_figure(word, view)


def add_table(word: Any, view: TableView, rows: list[list[str]], is_number: list[bool]) -> None:
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
    """Add a figure with its number and title."""
    add_caption(word, view.label, view.caption)
    inches = import_module("docx.shared").Inches
    shape = word.add_picture(io.BytesIO(figure_png(view.figure)), width=inches(WIDTH))
    shape._inline.docPr.set("descr", view.alt)


def head_of(document: Document) -> dict[str, object]:
    """Title, subtitle and meta, visible."""
    return {
        "title": visible(document.title),
        "subtitle": visible(document.subtitle),
        "meta": [(visible(name), visible(value)) for name, value in document.meta],
    }


def contents_of(views: tuple[View, ...]) -> list[Section]:
    """Table of contents: sections, each with the tables and figures in it."""
    contents: list[Section] = []
    for view in views:
        if isinstance(view, Numbered):
            if not contents:
                contents.append(Section("", ""))
            contents[-1].parts.append(view)
        elif view.heading:
            contents.append(Section(view.anchor, view.heading))
    return contents


@cache
def sorting_script() -> str:
    """Script that sorts tables."""
    return files("hmetad.report.page").joinpath("templates", "sort.js").read_text(encoding="utf-8")


def embedded_prefix(document: Document) -> str:
    """Start of every id of a report inside another page, from its words."""
    words = repr((document.title, document.subtitle, document.meta, len(document.blocks)))
    return f"hmetad-{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:8]}-"


@cache
def html_environment() -> Environment:
    """Environment that escapes every value for HTML."""
    return environment(autoescape=True)


def plain_environment(escape: Callable[[object], str], **delimiters: str) -> Environment:
    """Environment that escapes every value with `escape` unless it is `Safe`."""

    def finalize(value: object) -> str:
        return str(value) if isinstance(value, Safe) else escape(value)

    return environment(finalize=finalize, **delimiters)


def environment(**options: Any) -> Environment:
    """Environment of the templates beside this file."""
    return Environment(
        loader=PackageLoader("hmetad.report.page", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
