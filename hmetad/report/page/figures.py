"""Figures as SVG, PDF or PNG, with the same bytes every time.

matplotlib figure → SVG for a page; SVG, PDF and PNG files.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context

from hmetad.report.page.blocks import Figure
from hmetad.text.escape import visible

SVG = "http://www.w3.org/2000/svg"
# What matplotlib says in a style sheet, which on a page would style every other drawing too.
STROKES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
# matplotlib names a dozen fonts at every label; Verdana is as wide as its own.
FONTS = re.compile(r"font-family: [^;]*")
FONT = "font-family: 'DejaVu Sans', Verdana, sans-serif"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
# Resolution of PNG files, in dots an inch.
DOTS = 200


def inline_svg(figure: Figure, prefix: str) -> str:
    """SVG element for the inside of an HTML page, without background.

    Every id starts with `prefix`, so that several drawings on one page do not share ids. Style
    sheets and references to the outside are left out.

    Parameters
    ----------
    figure : Figure
    prefix : str
        Unique on the page.

    Returns
    -------
    str

    Examples
    --------
    >>> from matplotlib.figure import Figure as Drawing
    >>> inline_svg(Figure("Nothing.", "Nothing.", Drawing()), "figure-1")[:4]
    '<svg'
    """
    root = svg_element(figure, f"{prefix}-", "none")
    for name, value in {"aria-hidden": "true", "focusable": "false"}.items():
        root.set(name, value)
    return ElementTree.tostring(root, encoding="unicode")


def figure_svg(figure: Figure) -> bytes:
    """SVG file on white, cleaned as for a page."""
    root = svg_element(figure, "", "white")
    root.set("xmlns", SVG)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def figure_pdf(figure: Figure) -> bytes:
    """PDF file of a figure."""
    dates = {"CreationDate": None, "Creator": None, "Producer": None}
    return drawn_as("pdf", figure, metadata=dates)


def figure_png(figure: Figure) -> bytes:
    """PNG of a figure, for programs that draw no SVG."""
    return drawn_as("png", figure, dpi=DOTS)


def drawn_as(form: str, figure: Figure, facecolor: str = "white", **options: Any) -> bytes:
    """Image file of a matplotlib figure."""
    content = io.BytesIO()
    with steady(figure), laid_out(figure.draw) as drawn:
        drawn.savefig(content, format=form, facecolor=facecolor, **options)
    return content.getvalue()


@contextmanager
def laid_out(drawn: Any) -> Iterator[Any]:
    """Figure with its final layout, so that matplotlib need not draw it twice."""
    engine = drawn.get_layout_engine()
    if engine is None:
        yield drawn
        return
    engine.execute(drawn)
    drawn.set_layout_engine(None)
    try:
        yield drawn
    finally:
        drawn.set_layout_engine(engine)


@contextmanager
def steady(figure: Figure) -> Iterator[None]:
    """Give the same bytes for the same figure, whatever the user's own settings."""
    settings = {
        "svg.hashsalt": f"hmetad {visible(figure.name)}",
        # Letters as text are half the bytes of letters as outlines.
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "text.usetex": False,
        "savefig.bbox": None,
        "savefig.dpi": "figure",
        "figure.autolayout": False,
        "figure.constrained_layout.use": False,
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        yield


def svg_element(figure: Figure, prefix: str, facecolor: str) -> ElementTree.Element:
    """SVG of matplotlib with prefixed ids, without its styles and the spaces of its names."""
    root = ElementTree.fromstring(
        drawn_as("svg", figure, facecolor=facecolor, metadata={"Date": None})
    )
    for element in [*root.iter()]:
        element.tag = element.tag.split("}")[-1]
        for child in [*element]:
            if child.tag.endswith(("}metadata", "}style")):
                element.remove(child)
        attributes = {name.split("}")[-1]: value for name, value in element.attrib.items()}
        element.attrib.clear()
        for name, value in attributes.items():
            if name == "href" and not value.startswith(("#", "data:image/png;base64,")):
                continue
            if name == "id" or (name == "href" and value.startswith("#")):
                value = value.replace("#", "")
                value = f"{'#' * (name == 'href')}{prefix}{value}"
            element.set(name, FONTS.sub(FONT, REFERENCE.sub(rf"url(#{prefix}\1)", value)))
    for name, value in STROKES.items():
        root.set(name, value)
    return root
