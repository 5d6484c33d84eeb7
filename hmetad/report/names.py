"""What a quantity is called on an axis or in a heading.

Name of a variable → the field's symbol.
"""

__all__ = ["axis_name", "in_percent", "interval_kind", "judged_name", "symbol", "unit"]

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
UNITS = dict.fromkeys(("dprime", "c", "meta_d", "meta_c"), "SD of the evidence")
UNITS |= {"info": "bit", "meta_i": "bit"}
# As `contrast` names them.
LOG_RATIO = "log ratio of "


def symbol(quantity: str) -> str:
    """Symbol of a quantity, or its name where it has none.

    Examples
    --------
    >>> symbol("dprime"), symbol("reaction_time"), symbol("log ratio of m_ratio")
    ('d′', 'reaction_time', 'log ratio of M-ratio')
    """
    if quantity.startswith(LOG_RATIO):
        return LOG_RATIO + symbol(quantity.removeprefix(LOG_RATIO))
    return SYMBOLS.get(quantity, quantity)


def judged_name(quantity: str, *, is_contrast: bool) -> str:
    """What decisions judge: a difference, a log ratio, or a quantity as it is.

    Examples
    --------
    >>> judged_name("dprime", is_contrast=True), judged_name("dprime", is_contrast=False)
    ('Difference in d′', 'd′')
    >>> judged_name("log ratio of m_ratio", is_contrast=True)
    'Log ratio of M-ratio'
    """
    name = symbol(quantity)
    if quantity.startswith(LOG_RATIO):
        return name[:1].upper() + name[1:]
    return f"Difference in {name}" if is_contrast else name


def unit(quantity: str) -> str:
    """Unit of a quantity; empty where it has none.

    Examples
    --------
    >>> unit("meta_d"), unit("m_ratio")
    ('SD of the evidence', '')
    """
    return UNITS.get(quantity, "")


def axis_name(quantity: str, *said: str, name: str = "") -> str:
    """Symbol of a quantity with its unit, for an axis.

    Parameters
    ----------
    quantity : str
    *said : str
        What else stands in the brackets.
    name : str, optional
        In the place of the symbol.

    Returns
    -------
    str

    Examples
    --------
    >>> axis_name("dprime"), axis_name("m_ratio"), axis_name("c", "95 % interval")
    ('d′ (SD of the evidence)', 'M-ratio', 'c (SD of the evidence; 95 % interval)')
    """
    brackets = "; ".join(filter(None, (unit(quantity), *said)))
    return f"{name or symbol(quantity)} ({brackets})" if brackets else name or symbol(quantity)


def in_percent(probability: float) -> str:
    """Probability in per cent.

    Examples
    --------
    >>> in_percent(0.95), in_percent(1 - 0.05 / 3)
    ('95 %', '98.33 %')
    """
    return f"{100 * probability:.4g} %"


def interval_kind(ci_kind: str) -> str:
    """Kind of an interval, in words.

    Examples
    --------
    >>> interval_kind("eti")
    'equal-tailed'
    """
    return {"eti": "equal-tailed", "hdi": "highest-density"}.get(ci_kind, ci_kind)
