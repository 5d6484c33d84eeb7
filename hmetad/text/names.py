"""Name of a quantity on an axis or in a heading.

Name of a variable → the field's symbol, heading or unit, from the table of results.
"""

import re
from collections.abc import Iterable, Mapping

from hmetad.base.results import find_result

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
    found = find_result(quantity)
    return (found and found.symbol) or quantity


def heading(quantity: str, section: str = "") -> str:
    """Heading of the column of a quantity in a page.

    Examples
    --------
    >>> heading("gamma_trapezoid"), heading("dprime"), heading("phi")
    ('Gamma (ROC)', 'd′', 'phi')
    """
    found = find_result(quantity, section)
    return (found and found.heading) or symbol(quantity)


def column_name(quantity: str, section: str = "") -> str:
    """Heading of the column of a quantity on a terminal, where there is less room.

    Examples
    --------
    >>> column_name("gamma_trapezoid"), column_name("share_right"), column_name("phi")
    ('G_trap', 'correct', 'phi')
    """
    found = find_result(quantity, section)
    own = found and (found.column or found.symbol)
    words = heading(quantity, section)
    return own or words[:1].lower() + words[1:]


def judged_name(quantity: str, *, is_contrast: bool) -> str:
    """Name of what decisions judge: a difference, a log ratio, or a quantity itself.

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
    found = find_result(quantity)
    return "" if found is None or found.unit in ("1", quantity) else found.unit


def axis_name(quantity: str, *said: str, name: str = "") -> str:
    """Symbol of a quantity with its unit, for an axis.

    Parameters
    ----------
    quantity : str
    *said : str
        More text in the brackets.
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


def effect_names(dim: str, effects: Iterable[object], labels: Mapping[str, str]) -> list[str]:
    """Effects of a matrix of correlations in words: "1" is the intercept, or a level of that name.

    Parameters
    ----------
    dim : str
        Of the matrix: the effects as the formula has them, ``"task|subject__effect"``.
    effects : iterable
        Its labels.
    labels : mapping of str to str
        Words in place of them.

    Examples
    --------
    >>> effect_names("task|subject__effect", ["1", "task[2]"], {})
    ['intercept', 'task[2]']
    >>> effect_names("log_m_task|subject__effect", ["1", "2"], {"2": "memory"})
    ['1', 'memory']
    """
    texts = list(map(str, effects))
    # Beside an intercept all other effects are called by their terms, and levels by themselves.
    other = next((x for x in texts if x not in ("1", "Intercept")), "").partition("[")[0]
    term = rf"(^|_){re.escape(other.replace(' ', ''))}($|[-+*:/|])"
    if "|" not in dim or re.search(term, dim):
        labels = {"1": "intercept", "Intercept": "intercept", **labels}
    return [labels.get(x, x) for x in texts]
