"""Equations as MathML, which browsers draw themselves: nothing is fetched when a page is read.

TeX of a math node → MathML, by latex2mathml.
"""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

__all__ = ["setup"]


def setup(app: Sphinx) -> None:
    """Make it the renderer ``"mathml"``."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(block, None)
    )


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write an equation that stands in a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation that stands by itself, with room to scroll where it is wide."""
    tex = node.astext()
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    translator.body.append(f'<div class="equation">{mathml(tex, "block")}</div>')
    raise nodes.SkipNode


def mathml(tex: str, display: str) -> str:
    """MathML of an equation; big braces come out of the converter with their backslash."""
    found = convert(tex, display=display)
    return found.replace(r">\{<", ">{<").replace(r">\}<", ">}<")
