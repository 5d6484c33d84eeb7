"""Public names that stand in code are links to their page.

Inline code such as ``hmetad.fit`` or ``fit(counts)`` → reference to ``hmetad.fit``; ``auroc2``,
or ``measures.auroc2`` → ``hmetad.measures.auroc2``. Names of cards, on their page, → the cards.
"""

import re

from docutils import nodes
from generate import MODULES
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import hmetad
from hmetad.specs.loading import card_names

__all__ = ["setup"]

NAME = re.compile(r"(?:hmetad\.)?((?:\w+\.)?\w+)(?:\(.*\))?", re.DOTALL)
# Without its module a name means the one in it; figures are called like what they show.
OTHERS = [m for m in MODULES if m != "plots"]
NAMES = {
    **{x: f"{m}.{x}" for m in OTHERS for x in getattr(hmetad, m).__all__},
    **{f"{m}.{x}": f"{m}.{x}" for m in MODULES for x in getattr(hmetad, m).__all__},
    **{x: x for x in hmetad.__all__},
}


def setup(app: Sphinx) -> None:
    """Add the transform."""
    app.add_transform(LinkPublicNames)


class LinkPublicNames(SphinxTransform):
    """Wrap every inline code that is a public name in a reference."""

    default_priority = 500

    def apply(self, **kwargs: object) -> None:  # noqa: ARG002 — the signature is Sphinx's
        """Change the document."""
        cards = card_names() if self.env.docname == "cards" else []
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            found = NAME.fullmatch(text)
            if not is_free(literal):
                continue
            if text in cards:
                target = {"refdomain": "std", "reftype": "ref", "reftarget": f"card-{text}"}
            elif found and found[1] in NAMES:
                name = f"hmetad.{NAMES[found[1]]}"
                target = {"refdomain": "py", "reftype": "obj", "reftarget": name}
            else:
                continue
            reference = addnodes.pending_xref(
                "", refdoc=self.env.docname, refexplicit=True, **target
            )
            literal.replace_self(reference)
            reference += literal


def is_free(literal: nodes.literal) -> bool:
    """Whether code stands in no link and no heading."""
    node: nodes.Node | None = literal.parent
    while node is not None:
        if isinstance(
            node, nodes.reference | nodes.title | addnodes.pending_xref | addnodes.desc_signature
        ):
            return False
        node = node.parent
    return True
