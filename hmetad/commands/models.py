"""The command that lists model cards.

Nothing → a row per card.
"""

import hmetad
from hmetad.commands.answer import Answer, Listing, give
from hmetad.commands.options import PrintOptions

__all__ = ["EXAMPLES", "models"]

EXAMPLES = """
hmetad models
hmetad models --json | jq '.rows[].model'
"""
CARDS = {"model": "model", "title": "title", "question": "question"}


def models(asked: PrintOptions) -> None:
    """List the model cards."""
    cards = [
        {
            "model": spec.name,
            "title": spec.title,
            "question": spec.question,
            "reference": spec.reference,
            "formula": dict(spec.formula),
        }
        for spec in map(hmetad.load_model, hmetad.bayes.card_names())
    ]
    give(Answer((Listing(cards, CARDS),)), asked.format)
