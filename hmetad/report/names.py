"""What a quantity is called on an axis or in a heading.

Name of a variable → the field's symbol.
"""

__all__ = ["interval_kind", "symbol"]

SYMBOLS = {
    "dprime": "d′",
    "c": "c",
    "c_prime": "c′",
    "meta_d": "meta-d′",
    "m_ratio": "M-ratio",
    "log_m": "log M-ratio",
    "meta_c": "κ",
    "half_width": "half-width of the 95 % interval",
}


def symbol(quantity: str) -> str:
    """Symbol of a quantity, or its name where it has none.

    Examples
    --------
    >>> symbol("dprime"), symbol("reaction_time")
    ('d′', 'reaction_time')
    """
    return SYMBOLS.get(quantity, quantity)


def interval_kind(ci_kind: str) -> str:
    """Kind of an interval, in words.

    Examples
    --------
    >>> interval_kind("eti")
    'equal-tailed'
    """
    return {"eti": "equal-tailed", "hdi": "highest-density"}.get(ci_kind, ci_kind)
