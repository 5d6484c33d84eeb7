"""Ratings by signal detection theory: confidence from the evidence of the decision itself.

Parameters → probabilities of responses and ratings. It is the meta-d′ model at M = 1 with κ = c:
nothing is lost between decision and confidence. Source: Green & Swets (1966).
"""

from dataclasses import replace

from hmetad.likelihood.family import NUMPY, TWO_ALTERNATIVES, Array, Arrays, Family
from hmetad.likelihood.ratings import (
    LOG_GAP,
    RESPONSE_SIGN,
    TYPE1,
    TYPE1_QUANTITIES,
    criteria_quantities,
    log_rating_shares,
)


def log_probabilities(d: Array, c: Array, gaps: Array, xp: Arrays = NUMPY) -> Array:
    """log P(response, rating | stimulus), shape (..., 2, 2, K).

    Evidence is N(∓d/2, 1); the response is S2 above c, and criteria lie outward from c.

    Examples
    --------
    >>> import numpy as np
    >>> gaps = np.array([[0.6, 0.8], [0.7, 0.8]])
    >>> p = np.exp(log_probabilities(1.5, 0.2, gaps))
    >>> p[0, 0].round(6)  # stimulus S1, response S1, ratings 1..3
    array([0.192113, 0.310475, 0.326355])
    """
    d, c, gaps = (xp.asarray(x) for x in (d, c, gaps))
    rows = []
    for sign in (-1.0, 1.0):
        start = RESPONSE_SIGN * (c - sign * d / 2)[..., None]
        rows.append(log_rating_shares(start, gaps, xp) + xp.log_ndtr(-start)[..., None])
    return xp.stack(xp.broadcast_arrays(*rows), axis=-3)


FAMILIES = (
    Family(
        name="signal-detection",
        title="Ratings of the evidence of the decision, of equal variance.",
        parameters=(*TYPE1, LOG_GAP),
        quantities=(*TYPE1_QUANTITIES, *criteria_quantities("c", lambda v: v["c"][..., None])),
        arguments=("dprime", "c", "gaps"),
        log_probabilities=log_probabilities,
        layout=replace(TWO_ALTERNATIVES, fewest_ratings=1),
        compiled_kernel="meta_d",
        # Those of meta-d′ at M = 1 with κ = c, for both responses, and evidence of equal variance.
        compiled_arguments=("dprime", "c", "dprime", "dprime", "c", "c", "gaps", 1.0),
        parameter_of_interest="dprime",
        symbol="d′",
        plotted="dprime",
        compared="dprime",
        tabulated=("dprime", "c"),
        method="responses and ratings by one normal evidence (Green & Swets, 1966).",
    ),
)
