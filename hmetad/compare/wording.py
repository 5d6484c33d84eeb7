"""What was done for several comparisons and for several levels, in words.

Numbers of comparisons, or attrs of contrasts → a few words, which tables, pages and the terminal
share.
"""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from hmetad.untrusted import read_attr

__all__ = ["correction_words", "pool_words", "ranked_words"]

MOST_SHARES = 8
RULES = {
    "equal": "with equal weights",
    "trials": "with weights by trials",
    "given": "with weights as given",
}


def correction_words(comparisons: int, judged: int) -> str:
    """Whether intervals allow for several comparisons; empty where a single one is judged.

    Parameters
    ----------
    comparisons : int
        What intervals are corrected for.
    judged : int
        How many quantities are judged.

    Examples
    --------
    >>> correction_words(10, 10), correction_words(1, 10), correction_words(1, 1)
    ("Bonferroni's correction for 10 comparisons", 'no correction for 10 comparisons', '')
    """
    if comparisons > 1:
        return f"Bonferroni's correction for {comparisons} comparisons"
    return f"no correction for {judged} comparisons" if judged > 1 else ""


def ranked_words(ranks: Sequence[float]) -> str:
    """How many of what is compared have a rank; empty where all have.

    Examples
    --------
    >>> ranked_words([1.2, 1.8]), ranked_words([1.2, 1.8, float("nan")])
    ('', ' of 2 of 3 levels')
    """
    ranked = sum(not isnan(rank) for rank in ranks)
    return "" if ranked == len(ranks) else f" of {ranked} of {len(ranks)} levels"


def pool_words(said: Mapping[Any, Any]) -> str:
    """Over what contrasts are pooled, and how levels are weighed; empty where they are not.

    Examples
    --------
    >>> pool_words({"pool": "set", "pool_rule": "trials", "pool_weights": '{"A": 0.25, "B": 0.75}'})
    'pooled over set with weights by trials: A 25 %, B 75 %'
    """
    if not said.get("pool"):
        return ""
    rule = RULES.get(said.get("pool_rule", ""), "")
    shares = read_attr(said, "pool_weights")
    words = f"pooled over {said['pool']} {rule}"
    number = str(said.get("pool_levels", len(shares)))
    if said.get("pool_rule") == "equal" or len(shares) > MOST_SHARES:
        return f"{words} of {number} levels"
    named = ", ".join(f"{name} {100 * x:.3g} %" for name, x in shares.items())
    return f"{words}: {named}" + (f"; {number} levels" if " of " in number else "")
