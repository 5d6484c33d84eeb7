"""A document in the language of its reader.

Title, meta and blocks → HTML, Markdown, LaTeX, through the templates.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hmetad.report.page.blocks import Document
from hmetad.report.page.figures import inline_svg
from hmetad.report.page.layout import FigureView, MatrixView, Numbered, View, arrange
from hmetad.text.cells import csv_text
from hmetad.text.escape import Safe, latex, markdown, opening, shorten, visible

__all__ = ["render_html", "render_latex", "render_markdown"]

LATEX_DELIMITERS = {
    "block_start_string": "((*",
    "block_end_string": "*))",
    "variable_start_string": "(((",
    "variable_end_string": ")))",
    "comment_start_string": "((=",
    "comment_end_string": "=))",
}
# What a link to data may hold as it is.
LINK_SIGNS = ",;:()[]|=+*/!?$@"


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
        csv_links={v.anchor: csv_link(v) for v in views if isinstance(v, MatrixView)},
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
        shorten=shorten,
    )


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


def csv_link(view: MatrixView) -> str:
    """CSV file as a link that carries it."""
    text = csv_text(view.values).encode("utf-8", "replace")
    return f"data:text/csv;charset=utf-8,{quote(text, safe=LINK_SIGNS)}"


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
