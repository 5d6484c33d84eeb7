"""What models of confidence ratings share: d′ and c, criteria, areas between them, and counts.

Where criteria begin → Parameter and Quantity records; edges of ratings (arrays that broadcast over
leading dims) → log shares of ratings; count table and log-probabilities → log-likelihood. Type-2
criteria lie one gap after the other, outward from an inner edge, and the logarithms of the gaps are
what priors and formulas are about.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np

from hmetad.base.errors import ChoiceError
from hmetad.likelihood.family import (
    NUMPY,
    Array,
    Arrays,
    Parameter,
    Quantity,
    Values,
    intermediate,
)
from hmetad.likelihood.priors import Prior

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
RESPONSE_SIGN = np.array([-1.0, 1.0])
SMALLEST_WIDTH = 1e-3

EVIDENCE = "SD of the S1 evidence"
TYPE1 = (
    Parameter("dprime", "sensitivity d′", Prior("Normal", mu=1, sigma=1)),
    Parameter("c", "criterion c", Prior("Normal", mu=0, sigma=1)),
)
TYPE1_QUANTITIES = (
    Quantity("dprime", "sensitivity d′", EVIDENCE, parameter="dprime"),
    Quantity("c", "criterion c", EVIDENCE, parameter="c"),
)

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
    link="log",
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


def log_rating_shares(start: Array, widths: Array, xp: Arrays) -> Array:
    """log shares of the upper tail beyond `start` (..., 2), cut at `widths` (..., 2, K - 1)."""
    log_ndtr = xp.log_ndtr
    offsets = xp.cumulative_sum(widths, axis=-1)
    last = start + xp.sum(widths, axis=-1)
    lower = start[..., None] + offsets - widths
    inner = log_interval_area(lower, widths, xp)
    outer = xp.broadcast_to(log_ndtr(-last)[..., None], (*inner.shape[:-1], 1))
    return xp.concat([inner, outer], axis=-1) - log_ndtr(-start)[..., None]


def log_interval_area(lower: Array, width: Array, xp: Arrays = NUMPY) -> Array:
    """log(Φ(lower + width) - Φ(lower)), to near machine precision wherever the interval lies.

    The difference is taken on the side of the axis where both areas are small; very narrow
    intervals use φ(middle)·width·(1 + (middle² - 1) width²/24), whose error is of order width⁴.

    Parameters
    ----------
    lower, width : array
        Lower edge, and positive width, in standard deviations.
    xp : Arrays, optional
        Of NumPy or PyTensor.

    Returns
    -------
    array
        Log of the area, of the broadcast shape.

    Examples
    --------
    >>> float(log_interval_area(30.0, 1.0).round(9))
    -454.321243956
    """
    log_ndtr = xp.log_ndtr
    lower, width = xp.asarray(lower), xp.asarray(width)
    middle = lower + width / 2
    is_narrow = width * xp.maximum(1.0, xp.abs(middle)) < SMALLEST_WIDTH
    # Each branch gets harmless input where the other is chosen: no NaN reaches a gradient.
    wide = xp.where(is_narrow, 1.0, width)
    near = xp.where(middle > 0, -lower, lower + wide)
    log_near, log_far = log_ndtr(near), log_ndtr(near - wide)
    from_tails = log_near + xp.log1p(-xp.exp(log_far - log_near))
    thin = xp.where(is_narrow, width, SMALLEST_WIDTH)
    curvature = xp.log1p((middle**2 - 1) * thin**2 / 24)
    from_density = -(middle**2) / 2 - LOG_SQRT_2PI + xp.log(thin) + curvature
    return xp.where(is_narrow, from_density, from_tails)


def log_likelihood(
    counts: Array, log_probabilities: Array, xp: Arrays = NUMPY, axes: int = 3
) -> Array:
    """ℓ = Σ n log P over the last axes, the outcomes, without multinomial coefficients.

    Parameters
    ----------
    counts, log_probabilities : array, shape (..., 2, 2, K), or another of so many axes
        An impossible outcome that never happened contributes nothing.

    Returns
    -------
    array, shape (...)
    """
    counts = xp.asarray(counts)
    seen = counts > 0
    return xp.sum(
        xp.where(seen, counts * xp.where(seen, log_probabilities, 0.0), 0.0),
        tuple(range(-axes, 0)),
    )


def over_cells(
    kernel: str, of_cell: Sequence[Array], of_criteria: Array, xp: Arrays = NUMPY
) -> Array:
    """Compiled log-probabilities of cells, for NumPy arrays with any leading dims.

    Parameters
    ----------
    kernel : str
        Module with a compiled ``log_probabilities``: arguments side by side, (cells, columns), and
        K → array, shape (cells, 2, 2, K).
    of_cell : sequence of array, shape (...)
    of_criteria : array, shape (..., 2, K - 1)
    xp : Arrays
        Of NumPy; others have no compiled function.

    Returns
    -------
    array, shape (..., 2, 2, K)

    Raises
    ------
    InputError
        If arrays are not NumPy's.
    """
    if xp.module is not np:
        step = "This model's probabilities are compiled for NumPy alone."
        raise ChoiceError("xp", f"functions of {xp.module.__name__}", "those of NumPy", step)
    rows, leading = side_by_side((*of_cell, of_criteria), (*[0] * len(of_cell), 2))
    levels = np.shape(of_criteria)[-1] + 1
    return import_module(kernel).log_probabilities(rows, levels).reshape(*leading, 2, 2, levels)


def side_by_side(arrays: Sequence[Array], ranks: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Arrays in columns, a row for each place of the leading dims, and the shape of these.

    `ranks` are the numbers of dims that each array has after the leading ones.
    """
    own = [np.asarray(x, dtype=float) for x in arrays]
    split = [(x, x.ndim - rank) for x, rank in zip(own, ranks, strict=True)]
    leading = np.broadcast_shapes(*(x.shape[:place] for x, place in split))
    rows = [
        np.broadcast_to(x, (*leading, *x.shape[place:])).reshape(math.prod(leading), -1)
        for x, place in split
    ]
    return np.hstack(rows), leading


def type2_criteria(kappa: Array, gaps: Array, xp: Arrays = NUMPY) -> Array:
    """Type-2 criteria from κ outward: κ - Σ gaps for response S1, κ + Σ gaps for S2.

    Parameters
    ----------
    kappa : float, or array of shape (..., 2) or (..., 1)
    gaps : array, shape (..., 2, K - 1)

    Returns
    -------
    array, shape (..., 2, K - 1)
        Dims response, criterion; criterion k parts rating k from k + 1.

    Examples
    --------
    >>> type2_criteria(0.1, [[0.5, 0.5], [0.25, 1.0]])
    array([[-0.4 , -0.9 ],
           [ 0.35,  1.35]])
    """
    gaps = xp.asarray(gaps)
    offsets = xp.cumulative_sum(gaps, axis=-1)
    return xp.asarray(kappa)[..., None] + RESPONSE_SIGN[:, None] * offsets


def criteria_gaps(kappa: Array, criteria: Array, xp: Arrays = NUMPY) -> Array:
    """Gaps between type-2 criteria: what `type2_criteria` was made of, with the same shapes.

    Examples
    --------
    >>> criteria_gaps([0.1], np.array([[-0.4, -0.9], [0.35, 1.35]])).round(9)
    array([[0.5 , 0.5 ],
           [0.25, 1.  ]])
    """
    inner = xp.broadcast_to(xp.asarray(kappa)[..., None], (*criteria.shape[:-1], 1))
    return abs(xp.diff(xp.concat([inner, criteria], axis=-1), axis=-1))


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
        gaps_from_logarithms(CRITERION),
        intermediate(
            "gaps",
            CRITERION,
            (edge, "criteria"),
            lambda v, xp: criteria_gaps(inner_edge(v), v["criteria"], xp),
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


def gaps_from_logarithms(dims: tuple[str, ...]) -> Quantity:
    """Gaps between criteria, by their logarithms."""
    return intermediate("gaps", dims, ("log_gap",), lambda v, xp: xp.exp(v["log_gap"]))


FREE_CRITERIA_QUANTITIES = (
    gaps_from_logarithms(FREE_CRITERIA[1].dims),
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
