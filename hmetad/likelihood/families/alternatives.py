"""Meta-d′ with m alternatives: a choice among m options, and confidence by the margin of the best.

Choices of a card → Family; parameters (arrays that broadcast over leading dims) → log-probabilities
(..., correct, rating), or (..., stimulus, response, rating) where the options have biases.

Option i has evidence X_i ~ N(b_i + d·[i is right], 1). The response is the option with the largest
X, and its margin y is its lead over the best of the others. Ratings cut the margin at criteria
y_1 = 0 < y_2 < ... < y_K, after meta-d′ and biases of the meta level have taken the places of d and
b:

    P(option r wins, margin > y) = ∫ φ(x - μ_r) ∏_{j≠r} Φ(x - y - μ_j) dx
    P(response r, rating k) = P(r wins; d, b) · P(y_k < margin < y_{k+1} | r wins; meta-d′, meta b)

With two options it is the meta-d′ model. Parameters have its units: d′ = √2·d and criteria y/√2, in
SDs of the difference between two options. Biases are in SDs of one option, and sum to 0.

Source: Li & Ma (2020) for confidence by the best two options; Maniscalco & Lau (2012) for meta-d′.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from hmetad.base.errors import ChoiceError
from hmetad.likelihood.families.meta_d import (
    CHOICES,
    LIMITS,
    about_efficiency,
    efficiency,
    meta_criterion_value,
    other_rule,
    scale_parameter,
)
from hmetad.likelihood.family import (
    NUMPY,
    Array,
    Arrays,
    Choice,
    Family,
    OutcomeLayout,
    Parameter,
    Quantity,
    Values,
    intermediate,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import (
    LOG_GAP,
    LOG_SQRT_2PI,
    TYPE1,
    TYPE1_QUANTITIES,
    gaps_from_logarithms,
)

SQRT2 = math.sqrt(2)
OPTION = "SD of the evidence of one option"
DIFFERENCE = "SD of the difference between two options"
# Steps of a sum over x. It is exact as long as the integrand is not much narrower than φ, as it is
# far out in the tails with some twenty options.
STEP = 0.2
NODES = STEP * np.arange(-50, 61)
# Beyond all evidence: the outer edge of the last rating.
OUTERMOST = 1e3
# More options than any task has.
MOST_OPTIONS = 1000
RULE, SCALE = CHOICES[:2]
META_CRITERION = replace(RULE, description="Biases at the meta level (relative: M·b; absolute: b)")
NOISE = Choice("noise", "Noise of the evidence of an option", ("normal", "gumbel"))
OPTIONS = Choice("options", "Number of options", ())
# Wider than elsewhere: models of language often give one rating in nine answers of ten.
GAPS_OF_MARGIN = replace(
    LOG_GAP, prior=Prior("Normal", mu=math.log(0.5), sigma=2), dims=("criterion",)
)
SYMMETRIC = OutcomeLayout({"correct": ("wrong", "right"), "rating": ()}, given=())
METHOD = (
    "a choice among options with independent {noise} noise, by d′ of the choices, and meta-d′ and "
    "criteria of the ratings given the choice and whether it is right; ratings follow the lead of "
    "the chosen option over the best of the others (Li & Ma, 2020). M-ratio is meta-d′/d′."
)
BIASED_METHOD = METHOD.replace("{noise} noise", "normal noise and a bias each") + (
    " Biases at the meta level: {meta_criterion}."
)
RULES = {"relative": "meta b = M·b", "absolute": "meta b = b"}
UNEVEN = " Options that are chosen unevenly for no reason of the task raise it too."


@cache
def alternatives(*, scale: str = "log_m", noise: str = "normal") -> Family:
    """Record of the model without biases, of which right or wrong is enough."""
    unit = DIFFERENCE if noise == "normal" else "√2 scales of the noise"
    return Family(
        name="alternatives",
        title="A choice among m options, none of them preferred, and M of its confidence.",
        parameters=(TYPE1[0], scale_parameter(scale, ()), GAPS_OF_MARGIN),
        quantities=(
            *choice_quantities(scale, unit),
            *margin_criteria(unit),
            Quantity("options", "number of options", in_posterior=False),
        ),
        arguments=("dprime", "meta_d", "gaps", "options"),
        log_probabilities=log_probabilities if noise == "normal" else log_gumbel_probabilities,
        **about_efficiency(scale, "choices"),
        tabulated=("dprime", "meta_d", "m_ratio"),
        method=METHOD,
        limits=LIMITS + UNEVEN,
        from_counts=("options",),
        choices=(SCALE, NOISE),
        chosen={"scale": scale, "noise": noise},
        choose=alternatives,
        compiled_kernel="alternatives",
        compiled_arguments=("dprime", "meta_d", "options", float(noise == "gumbel"), "gaps"),
        layout=SYMMETRIC,
    )


@cache
def biased_alternatives(
    *, options: str = "4", meta_criterion: str = "relative", scale: str = "log_m"
) -> Family:
    """Record of the model with a bias for each of so many options."""
    m = number_of_options(options)
    labels = tuple(str(i + 1) for i in range(m))
    bias = Parameter(
        "bias",
        "orthonormal contrasts of the biases of options",
        TYPE1[1].prior,
        dims=("contrast",),
        # The biases contain them.
        in_posterior=False,
    )
    return Family(
        name="biased-alternatives",
        title="A choice among m options, with a bias for each, and M of its confidence.",
        parameters=(TYPE1[0], bias, scale_parameter(scale, ()), GAPS_OF_MARGIN),
        quantities=(
            *choice_quantities(scale, DIFFERENCE),
            *bias_quantities(m, meta_criterion),
            *margin_criteria(DIFFERENCE),
        ),
        arguments=("dprime", "biases", "meta_d", "meta_biases", "gaps"),
        log_probabilities=partial(log_biased_probabilities, options=m),
        **about_efficiency(scale, "choices"),
        tabulated=("dprime", "meta_d", "m_ratio"),
        method=BIASED_METHOD,
        limits=LIMITS,
        choices=(OPTIONS, META_CRITERION, SCALE),
        chosen={"options": options, "meta_criterion": meta_criterion, "scale": scale},
        choose=biased_alternatives,
        compiled_kernel="biased_alternatives",
        compiled_arguments=("dprime", "meta_d", float(m), "biases", "meta_biases", "gaps"),
        alternatives=other_rule(meta_criterion, RULES),
        layout=OutcomeLayout(
            {"stimulus": labels, "response": labels, "rating": ()},
            others={"contrast": labels[:-1]},
        ),
    )


def number_of_options(options: str) -> int:
    """Number of options that a card says."""
    is_number = isinstance(options, str) and options.isascii() and options.isdigit()
    if not (is_number and len(options) < 5 and 2 <= int(options) <= MOST_OPTIONS):
        allowed = f"a whole number from 2 to {MOST_OPTIONS}, as text: '4'"
        raise ChoiceError("options", repr(options)[:40], allowed)
    return int(options)


def choice_quantities(scale: str, unit: str) -> tuple[Quantity, ...]:
    """d′, d of one option, M, meta-d′ and log M."""
    m_ratio, meta_d, log_m = efficiency(scale, ())
    return (
        replace(TYPE1_QUANTITIES[0], unit=unit),
        Quantity(
            "option_d",
            "lead d of the correct option",
            OPTION if unit == DIFFERENCE else "scale of the noise",
            needs=("dprime",),
            compute=lambda v, _: v["dprime"] / SQRT2,
            parameter="dprime",
            convergence_of=("dprime",),
        ),
        m_ratio,
        replace(meta_d, unit=unit),
        log_m,
    )


def margin_criteria(unit: str) -> tuple[Quantity, ...]:
    """Gaps, from their logarithms or from criteria, and criteria of the margin."""
    dims = GAPS_OF_MARGIN.dims
    return (
        gaps_from_logarithms(dims),
        intermediate("gaps", dims, ("criteria",), gaps_of_criteria),
        Quantity(
            "criteria",
            "criteria of the margin",
            unit,
            dims,
            needs=("gaps",),
            compute=lambda v, xp: xp.cumulative_sum(v["gaps"], axis=-1),
        ),
    )


def gaps_of_criteria(v: Values, xp: Arrays) -> Array:
    """Distances between criteria, from 0 on."""
    criteria = v["criteria"]
    return xp.diff(xp.concat([xp.zeros_like(criteria[..., :1]), criteria], axis=-1))


def bias_quantities(options: int, meta_criterion: str) -> tuple[Quantity, ...]:
    """Biases of the options, and those of the meta level."""
    of_options = contrasts(options)

    def meta_biases(v: Values, _: Arrays) -> Array:
        return meta_criterion_value(v["biases"], v["m_ratio"][..., None], meta_criterion)

    return (
        Quantity(
            "biases",
            "biases of the options",
            OPTION,
            ("response",),
            needs=("bias",),
            compute=lambda v, _: v["bias"] @ of_options.T,
            parameter="bias",
        ),
        intermediate("meta_biases", ("response",), ("m_ratio", "biases"), meta_biases),
    )


def contrasts(options: int) -> NDArray[np.float64]:
    """Orthonormal contrasts of the options in columns, those of Helmert: biases = contrasts @ bias.

    With independent normal contrasts of one SD all options are alike. Of two options the only one
    is (b_1 - b_2)/√2, the criterion c.

    Examples
    --------
    >>> contrasts(3).round(4)
    array([[ 0.7071,  0.4082],
           [-0.7071,  0.4082],
           [ 0.    , -0.8165]])
    """
    j = np.arange(1, options)
    columns = np.triu(np.ones((options, options - 1)))
    columns[j, j - 1] = -j
    return columns / np.sqrt(j * (j + 1))


def log_probabilities(
    dprime: Array, meta_d: Array, gaps: Array, options: Array, xp: Arrays = NUMPY
) -> Array:
    """log P(correct, rating) of a choice among options without biases.

    P(correct, k) = P(correct; d′) · P(k | correct; meta-d′, gaps).

    Parameters
    ----------
    dprime, meta_d : array, shape (...)
        Sensitivity of the choice and of the ratings, √2 times the lead of the right option in SDs
        of one option.
    gaps : array, shape (..., K - 1)
        Positive distances between neighbouring criteria of the margin, in the same unit.
    options : array, shape (...)
        Their number, from 2.
    xp : Arrays, optional
        Of NumPy or PyTensor.

    Returns
    -------
    array, shape (..., 2, K)
        Dims correct (wrong, right) and rating; sums to one over both.

    Examples
    --------
    >>> one = np.sqrt(2)
    >>> p = np.exp(log_probabilities(one, one, np.array([0.5, 0.5, 1.0]) / one, 4.0))
    >>> p.sum(-1).round(6), (p[1] / p[1].sum()).round(6)
    (array([0.447969, 0.552031]), array([0.287508, 0.259619, 0.329103, 0.12377 ]))
    """
    d, meta, m = (xp.asarray(x) for x in (dprime, meta_d, options))
    y = edges_of_gaps(gaps, xp)

    def log_areas(d: Array, y: Array) -> Array:
        zero = xp.zeros_like(d + m)
        right = log_margin_areas(d + zero, [(zero, m - 1 + zero)], y, xp)
        others = [(d + zero, 1.0 + zero), (zero, m - 2 + zero)]
        wrong = log_margin_areas(zero, others, y, xp) + xp.log(m - 1)[..., None]
        return xp.stack(xp.broadcast_arrays(wrong, right), axis=-2)

    return joint(log_areas(d / SQRT2, y[..., :1]), log_areas(meta / SQRT2, y), xp)


def log_gumbel_probabilities(
    dprime: Array, meta_d: Array, gaps: Array, options: Array, xp: Arrays = NUMPY
) -> Array:
    """log P(correct, rating) with Gumbel noise, by which choices are those of softmax.

    P(right, margin > y) = 1/(1 + (m - 1)·e^(y - d)) and P(wrong, margin > y) = (m - 1)/(1 +
    e^y·(e^d + m - 2)). Units are those of utilities, the scale of the noise: d = d′/√2 is the log
    odds of the right option against another. Arguments as in `log_probabilities`.

    Examples
    --------
    >>> p = np.exp(log_gumbel_probabilities(1.5 * SQRT2, 1.5 * SQRT2, [1 / SQRT2], 4.0))
    >>> p.round(6)  # wrong and right, ratings 1 and 2
    array([[0.239854, 0.161125],
           [0.24436 , 0.354661]])
    """
    d, meta, m = (xp.asarray(x) for x in (dprime, meta_d, options))
    y = edges_of_gaps(gaps, xp)

    def log_areas(d: Array, y: Array) -> Array:
        right = log_logistic_areas(y + (xp.log(m - 1) - d)[..., None], xp)
        wrong = log_logistic_areas(y + xp.log(xp.exp(d) + m - 2)[..., None], xp)
        rows = xp.broadcast_arrays(wrong + xp.log(m - 1)[..., None], right)
        return xp.stack(rows, axis=-2)

    return joint(log_areas(d / SQRT2, y[..., :1]), log_areas(meta / SQRT2, y), xp)


def log_biased_probabilities(
    dprime: Array,
    biases: Array,
    meta_d: Array,
    meta_biases: Array,
    gaps: Array,
    *,
    options: int,
    xp: Arrays = NUMPY,
) -> Array:
    """log P(response, rating | stimulus) of a choice among options with biases.

    Parameters
    ----------
    dprime, meta_d : array, shape (...)
        As in `log_probabilities`.
    biases, meta_biases : array, shape (..., m)
        Of the options, at the decision and at the meta level, in SDs of one option.
    gaps : array, shape (..., K - 1)
        Distances between criteria of the margin.
    options : int
        m, the number of options.
    xp : Arrays, optional
        Of NumPy or PyTensor.

    Returns
    -------
    array, shape (..., m, m, K)
        Dims stimulus, response, rating; sums to one over the last two.

    Examples
    --------
    >>> b = np.array([0.5, 0.0, -0.2])
    >>> p = np.exp(log_biased_probabilities(SQRT2, b, SQRT2, b, np.ones(1) / SQRT2, options=3))
    >>> p[0].sum(-1).round(6), p[0, :, 1].round(6)  # stimulus 1: responses, and with rating 2
    (array([0.787132, 0.122881, 0.089987]), array([0.511706, 0.027792, 0.017758]))
    """
    # The same for each stimulus and response.
    y = edges_of_gaps(gaps, xp)[..., None, None, :]
    rest = np.array([[j for j in range(options) if j != r] for r in range(options)])

    def log_areas(d: Array, b: Array, y: Array) -> Array:
        # Means of the options, (..., stimulus, option).
        means = xp.asarray(b)[..., None, :] + xp.asarray(d)[..., None, None] * np.eye(options)
        others = [(means[..., rest[:, j]], 1.0) for j in range(options - 1)]
        return log_margin_areas(means, others, y, xp)

    return joint(
        log_areas(dprime / SQRT2, biases, y[..., :1]), log_areas(meta_d / SQRT2, meta_biases, y), xp
    )


def edges_of_gaps(gaps: Array, xp: Arrays) -> Array:
    """Edges y_1 = 0 to y_K of the margin in SDs of one option, (..., K), by gaps of criteria."""
    gaps = xp.asarray(gaps)
    criteria = SQRT2 * xp.cumulative_sum(gaps, axis=-1)
    return xp.concat([xp.zeros_like(gaps[..., :1]), criteria], axis=-1)


def joint(log_choice: Array, log_ratings: Array, xp: Arrays) -> Array:
    """log P of choices (..., 1) times shares of ratings (..., K) in what the meta level says."""
    # PyTensor has to know that its last dim is single.
    return log_choice[..., 0][..., None] + log_ratings - log_sum(log_ratings, xp)


def log_sum(x: Array, xp: Arrays) -> Array:
    """log Σ exp(x) over the last dim, which stays."""
    top = xp.max(x, axis=-1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(x - top), axis=-1, keepdims=True))


def log_logistic_areas(edges: Array, xp: Arrays) -> Array:
    """log of the areas of a logistic distribution beyond each rising edge, up to the next."""
    below, beyond = -xp.logaddexp(0.0, -edges), -xp.logaddexp(0.0, edges)
    lost = xp.log(-xp.expm1(edges[..., :-1] - edges[..., 1:]))
    inner = beyond[..., :-1] + below[..., 1:] + lost
    return xp.concat([inner, beyond[..., -1:]], axis=-1)


def log_margin_areas(
    chosen: Array, others: Sequence[tuple[Array, Array]], y: Array, xp: Arrays = NUMPY
) -> Array:
    """log P(an option wins by a margin between y_k and y_{k+1}).

    The integrand is positive everywhere, log-concave and not wider than φ: a sum over nodes around
    its top is exact.

    Parameters
    ----------
    chosen : array, shape (...)
        Mean of the option.
    others : sequence of two arrays, shape (...)
        Means of the others, and how many of them have it: at least one has the first.
    y : array, shape (..., K)
        Rising edges; the last margin has no upper one.
    xp : Arrays, optional
        Of NumPy or PyTensor.

    Returns
    -------
    array, shape (..., K)

    Examples
    --------
    >>> far = log_margin_areas(np.zeros(()), [(np.zeros(()), 1.0)], np.array([20.0, 21.0]))
    >>> far.round(6)  # the last is log Φ(-21/√2)
    array([-103.57307 , -113.871372])
    """
    outer = xp.concat([y[..., 1:], y[..., -1:] + OUTERMOST], axis=-1)
    chosen = chosen[..., None]
    own = [(mean[..., None], xp.asarray(number)[..., None]) for mean, number in others]
    x = highest_places(chosen, own, y, outer, xp)[..., None] + NODES
    inside = outside = 0.0
    for mean, number in own:
        inside = inside + number[..., None] * xp.log_ndtr(x - (mean + y)[..., None])
        outside = outside + number[..., None] * xp.log_ndtr(x - (mean + outer)[..., None])
    # Each branch gets harmless input where the other is chosen: no NaN reaches a gradient.
    is_lost = outside < inside
    share = xp.log(-xp.expm1(xp.where(is_lost, outside - inside, -1.0)))
    share = xp.where(is_lost, share, -(OUTERMOST**2))
    log_density = inside + share - (x - chosen[..., None]) ** 2 / 2
    return log_sum(log_density, xp)[..., 0] + math.log(STEP) - LOG_SQRT_2PI


def highest_places(
    chosen: Array, others: Sequence[tuple[Array, Array]], y: Array, outer: Array, xp: Arrays
) -> Array:
    """About where the integrand of each margin is highest, (..., K).

    It is right of each of these places, but by little: log Φ falls like a parabola on the left of
    its edge, and not at all on the right. If the option leads by more than the margin, it and the
    best of the others meet half-way.
    """
    best, place = others[0][0], chosen
    total, weights = chosen, 1.0
    for mean, number in others:
        best = xp.where(number > 0, xp.maximum(best, mean), best)
        place = xp.maximum(place, (chosen + number * (mean + y)) / (1 + number))
        total, weights = total + number * (mean + y), weights + number
    half_way = (chosen + best + outer) / 2
    return xp.where(half_way < chosen, half_way, xp.maximum(place, total / weights))


FAMILIES = (alternatives(), biased_alternatives())
