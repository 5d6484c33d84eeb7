"""Ratings by signal detection theory: confidence from the evidence of the decision itself.

Parameters → probabilities of responses and ratings. It is the meta-d′ model at M = 1 with κ = c:
nothing is lost between decision and confidence. Source: Green & Swets (1966).

Items that several observers respond to may shift the evidence of all of them, by an SD for each
stimulus. d′ and c are then conditional on the item; over items they are smaller, as in a table that
is pooled over items.
Source: Zeger, Liang & Albert (1988) for marginal and conditional coefficients of probit models.
"""

from dataclasses import replace

from hmetad.likelihood.family import (
    NUMPY,
    TWO_ALTERNATIVES,
    Array,
    Arrays,
    Family,
    Parameter,
    Quantity,
    Values,
    intermediate,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import (
    EVIDENCE,
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


def marginal_z(v: Values, xp: Arrays) -> tuple[Array, Array]:
    """z of the hit rate and of the false-alarm rate over all items."""
    spread = xp.sqrt(1.0 + v["item_sd"] ** 2)
    hits = (v["dprime"] / 2 - v["c"]) / spread[..., 1]
    return hits, (-v["dprime"] / 2 - v["c"]) / spread[..., 0]


def marginal_dprime(v: Values, xp: Arrays) -> Array:
    """d′ of responses to all items."""
    hits, false_alarms = marginal_z(v, xp)
    return hits - false_alarms


def marginal_c(v: Values, xp: Arrays) -> Array:
    """c of responses to all items."""
    hits, false_alarms = marginal_z(v, xp)
    return -(hits + false_alarms) / 2


def dprime_of_item(v: Values, _: Arrays) -> Array:
    """d′ with which an item of either stimulus has the evidence that it is shifted to."""
    return v["dprime"] + v["item_shift"] * (v["item_sd"][..., 1] - v["item_sd"][..., 0])


def c_of_item(v: Values, _: Arrays) -> Array:
    """The same of c."""
    return v["c"] - v["item_shift"] * (v["item_sd"][..., 0] + v["item_sd"][..., 1]) / 2


SIGNAL_DETECTION = Family(
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
)
WITH_ITEMS = replace(
    SIGNAL_DETECTION,
    name="signal-detection-items",
    title="Ratings of the evidence of the decision, which items shift by an SD for each stimulus.",
    parameters=(
        replace(TYPE1[0], prior=Prior("Normal", mu=2, sigma=2)),
        replace(TYPE1[1], prior=Prior("Normal", mu=0, sigma=2)),
        Parameter(
            "log_item_sd",
            "log SD over items of the evidence of a stimulus",
            Prior("Normal", mu=0, sigma=1),
            dims=("stimulus",),
            in_posterior=False,
            link="log",
        ),
        LOG_GAP,
    ),
    quantities=(
        *TYPE1_QUANTITIES,
        Quantity(
            "item_sd",
            "SD over items of the evidence of a stimulus",
            EVIDENCE,
            ("stimulus",),
            needs=("log_item_sd",),
            compute=lambda v, xp: xp.exp(v["log_item_sd"]),
            parameter="log_item_sd",
        ),
        Quantity(
            "dprime_marginal",
            "sensitivity d′ over all items",
            "SD of the evidence over items",
            needs=("dprime", "c", "item_sd"),
            compute=marginal_dprime,
            parameter="dprime",
        ),
        Quantity(
            "c_marginal",
            "criterion c over all items",
            "SD of the evidence over items",
            needs=("dprime", "c", "item_sd"),
            compute=marginal_c,
            parameter="c",
        ),
        Quantity("item_shift", "shift of the evidence by the item, in SDs", in_posterior=False),
        intermediate("dprime_of_item", (), ("dprime", "item_sd", "item_shift"), dprime_of_item),
        intermediate("c_of_item", (), ("c", "item_sd", "item_shift"), c_of_item),
        *SIGNAL_DETECTION.quantities[2:],
    ),
    # 0 but for the effects of items, which are integrated out.
    from_counts=("item_shift",),
    arguments=("dprime_of_item", "c_of_item", "gaps"),
    compiled_arguments=(
        *("dprime_of_item", "c_of_item", "dprime_of_item", "dprime_of_item"),
        *("c_of_item", "c_of_item", "gaps", 1.0),
    ),
    plotted="dprime_marginal",
    compared="dprime_marginal",
    tabulated=("dprime_marginal", "c_marginal"),
    method="responses and ratings by one normal evidence (Green & Swets, 1966), shifted by items.",
)
FAMILIES = (SIGNAL_DETECTION, WITH_ITEMS)
