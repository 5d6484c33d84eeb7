"""Figures as SVG or PDF, with the same bytes every time.

matplotlib figure or SVG text → SVG for a page, SVG and PDF files.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context

from hmetad.base.errors import KindError, TooManyError
from hmetad.report.page.blocks import Figure
from hmetad.text.escape import visible

SVG = "http://www.w3.org/2000/svg"
DRAWN = {
    *("svg", "g", "defs", "path", "use", "clipPath", "mask", "text", "tspan", "title", "desc"),
    *("rect", "circle", "ellipse", "line", "polyline", "polygon", "pattern", "marker", "symbol"),
    *("linearGradient", "radialGradient", "stop", "image"),
}
# What matplotlib says in a style sheet, which on a page would style every other drawing too.
STROKES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
# matplotlib names a dozen fonts at every label; Verdana is as wide as its own.
FONTS = re.compile(r"font-family: [^;]*")
FONT = "font-family: 'DejaVu Sans', Verdana, sans-serif"
REFERENCE = re.compile(r"url\(\s*['\"]?#([^)'\"]+)['\"]?\s*\)")
OUTSIDE = re.compile(r"url\(\s*['\"]?(?!#)[^)]*\)|@import|expression\(|\\", re.IGNORECASE)
# Of CSS, what draws; others, such as image-set(), fetch without saying url.
FUNCTION = re.compile(r"([\w-]*)\s*\(")
DRAWING = {
    *("url", "rgb", "rgba", "hsl", "hsla", "matrix", "translate", "scale", "rotate"),
    *("skewx", "skewy"),
}
# Reading an element calls itself for what is in it.
DEEPEST = 100
# Resolution of PNG files, in dots an inch.
DOTS = 200
DATA_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]*\Z")


def inline_svg(figure: Figure, prefix: str) -> str:
    """SVG element for the inside of an HTML page, without background.

    Every id starts with `prefix`, so that several drawings on one page do not share ids. Scripts,
    style sheets and references to the outside are left out.

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
    >>> drawing = '<svg viewBox="0 0 9 9"><script>x()</script><path id="a" d="M0 0H9"/></svg>'
    >>> print(inline_svg(Figure("A line.", "A line.", drawing), "figure-1"))
    <svg viewBox="0 0 9 9" stroke-linejoin="round" ...><path id="figure-1-a" d="M0 0H9" /></svg>
    """
    root = clean_svg(svg_text(figure, facecolor="none"), prefix)
    for name, value in {**STROKES, "aria-hidden": "true", "focusable": "false"}.items():
        root.set(name, value)
    return ElementTree.tostring(root, encoding="unicode")


def figure_svg(figure: Figure) -> bytes:
    """SVG file on white, cleaned as for a page."""
    root = clean_svg(svg_text(figure, facecolor="white"), "")
    root.set("xmlns", SVG)
    for name, value in STROKES.items():
        root.set(name, value)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def figure_pdf(figure: Figure) -> bytes | None:
    """PDF file of a matplotlib figure; None for one that came as SVG."""
    if isinstance(figure.draw, str):
        return None
    content = io.BytesIO()
    with steady(figure):
        dates = {"CreationDate": None, "Creator": None, "Producer": None}
        figure.draw.savefig(content, format="pdf", facecolor="white", metadata=dates)
    return content.getvalue()


def figure_png(figure: Figure) -> bytes | None:
    """PNG of a figure, for programs that draw no SVG; None where it came as SVG text."""
    return None if isinstance(figure.draw, str) else drawn_as("png", figure, dpi=DOTS)


def svg_text(figure: Figure, facecolor: str) -> str:
    """SVG document of a figure, as matplotlib writes it or as it came."""
    if isinstance(figure.draw, str):
        return figure.draw
    made = drawn_as("svg", figure, facecolor=facecolor, metadata={"Date": None})
    return made.decode("utf-8")


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


def clean_svg(text: str, prefix: str) -> ElementTree.Element:
    """Root of an SVG document with only what draws, names without their space."""
    try:
        root = ElementTree.fromstring(text[text.index("<svg") :])
    except ElementTree.ParseError as error:
        raise KindError(
            "draw", f"SVG that cannot be read ({error})", "one well-formed SVG element"
        ) from error
    if depth(root) > DEEPEST:
        got = f"SVG with elements in more than {DEEPEST} others"
        raise TooManyError("draw", got, f"at most {DEEPEST}", "Flatten its groups.")
    keep_drawing(root, prefix)
    return root


def depth(root: ElementTree.Element) -> int:
    """How many elements are in one another, at most."""
    level, reached = [root], 0
    while level:
        level, reached = [child for element in level for child in element], reached + 1
    return reached


def keep_drawing(element: ElementTree.Element, prefix: str) -> None:
    """Drop, from an element and all below, what does not draw; prefix ids and references."""
    element.tag = element.tag.split("}")[-1]
    attributes = [(name.split("}")[-1], value) for name, value in element.attrib.items()]
    element.attrib.clear()
    for name, value in attributes:
        kept = kept_value(name, value, f"{prefix}-" if prefix else "")
        if kept is not None:
            element.set(name, kept)
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.split("}")[-1] not in DRAWN:
            element.remove(child)
        else:
            keep_drawing(child, prefix)


def kept_value(name: str, value: str, prefix: str) -> str | None:
    """Attribute's value with prefixed ids, or None where it acts or points outside."""
    if name.lower().startswith("on"):
        return None
    if name == "id":
        return prefix + value
    if name == "href":
        inside = value.startswith("#")
        return f"#{prefix}{value[1:]}" if inside else value if DATA_IMAGE.match(value) else None
    if OUTSIDE.search(value) or (not name.startswith("aria-") and fetches(value)):
        return None
    return FONTS.sub(FONT, REFERENCE.sub(rf"url(#{prefix}\1)", value))


def fetches(value: str) -> bool:
    """Whether a value calls a function that may do more than draw."""
    return not DRAWING.issuperset(name.lower() for name in FUNCTION.findall(value))
