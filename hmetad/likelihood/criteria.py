"""Type-2 criteria as parameters and quantities: the same in every likelihood of ratings.

Where criteria begin → Quantity records. Criteria lie one gap after the other, outward from an inner
edge, and the logarithms of the gaps are what priors and formulas are about.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from hmetad.likelihood.arrays import Array
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import criteria_gaps, type2_criteria
from hmetad.likelihood.records import Parameter, Quantity, Values
from hmetad.likelihood.type1 import EVIDENCE

__all__ = [
    "CRITERION",
    "FREE_CRITERIA",
    "FREE_CRITERIA_QUANTITIES",
    "LOG_GAP",
    "criteria_quantities",
]

CRITERION = ("response", "criterion")
LOG_GAP = Parameter(
    "log_gap",
    "log distance between neighbouring type-2 criteria",
    Prior("Normal", mu=math.log(0.5), sigma=1),
    dims=CRITERION,
    slope=Prior("Normal", mu=0, sigma=0.5),
    sigma=Prior("HalfNormal", sigma=0.5),
    # The criteria contain the gaps.
    in_posterior=False,
)
# Where confidence has other evidence than the decision, its first criterion may lie anywhere.
FREE_CRITERIA = (
    Parameter(
        "first_gap",
        "distance of the first type-2 criterion from c, outward",
        Prior("Normal", mu=0.3, sigma=1),
        dims=("response",),
        in_posterior=False,
    ),
    replace(LOG_GAP, dims=("response", "criterion_gap")),
)
FREE_CRITERIA_QUANTITIES = (
    Quantity(
        "gaps",
        dims=("response", "criterion_gap"),
        needs=("log_gap",),
        compute=lambda v, xp: xp.exp(v["log_gap"]),
        in_posterior=False,
    ),
    Quantity(
        "criteria",
        "type-2 criteria",
        EVIDENCE,
        CRITERION,
        needs=("c", "first_gap", "gaps"),
        compute=lambda v, xp: type2_criteria(
            v["c"][..., None], xp.concat([v["first_gap"][..., None], v["gaps"]], axis=-1), xp
        ),
    ),
)


def criteria_quantities(
    edge: str, inner_edge: Callable[[Values], Array]
) -> tuple[Quantity, Quantity, Quantity]:
    """Gaps, from their logarithms or from criteria, and criteria.

    Parameters
    ----------
    edge : str
        Quantity from which criteria are counted.
    inner_edge : callable
        Its values, from all values by name, with a last dim of responses, or of size 1.

    Returns
    -------
    tuple of Quantity
        ``gaps`` twice, by the two ways to come by them, and ``criteria``.
    """
    return (
        Quantity(
            "gaps",
            dims=CRITERION,
            needs=("log_gap",),
            compute=lambda v, xp: xp.exp(v["log_gap"]),
            in_posterior=False,
        ),
        Quantity(
            "gaps",
            dims=CRITERION,
            needs=(edge, "criteria"),
            compute=lambda v, xp: criteria_gaps(inner_edge(v), v["criteria"], xp),
            in_posterior=False,
        ),
        Quantity(
            "criteria",
            "type-2 criteria",
            EVIDENCE,
            CRITERION,
            needs=(edge, "gaps"),
            compute=lambda v, xp: type2_criteria(inner_edge(v), v["gaps"], xp),
        ),
    )
