"""Which estimates of a fit are partially pooled, and over which factors.

Model card → names of grouping factors, by variable of the posterior.
Source: Boehm et al. (2018), for what goes wrong when such estimates are tested.
"""

from itertools import pairwise

from hmetad.specs.grammar import GroupTerm, parse_formula
from hmetad.specs.spec import ModelSpec

__all__ = ["pooled_over"]


def pooled_over(spec: ModelSpec) -> dict[str, str]:
    """Grouping factors of each quantity of a cell, joined by " and ".

    Parameters
    ----------
    spec : ModelSpec

    Returns
    -------
    dict of str to str
        Without the quantities whose formula has no group in brackets.

    Examples
    --------
    >>> from hmetad.specs.loading import load_model
    >>> pooled_over(load_model("group"))["m_ratio"]
    'subject'
    >>> pooled_over(load_model("individual"))
    {}
    """
    named = {
        parameter: list(dict.fromkeys(map(factor_text, parse_formula(formula).group_terms)))
        for parameter, formula in spec.formula.items()
    }
    return {
        name: " and ".join(named[quantity.parameter])
        for name, quantity in spec.record.results.items()
        if named.get(quantity.parameter)
    }


def factor_text(group: GroupTerm) -> str:
    """Factors of a pair of brackets as they are written: ``lab/subject``."""
    inner = [columns[len(outer) :] for outer, columns in pairwise([(), *group.factors])]
    return "/".join(":".join(columns) for columns in inner)
