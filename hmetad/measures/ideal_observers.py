"""Information of observers whose confidence is the probability that they are right.

Accuracy, prior, rate or d′ (array_like or DataArray) → Dataset. An accuracy bounds what confidence
can tell and the ROC curves; binary and uniform noise are at the bounds, normal noise in between.
Source: Meyen et al. (2025), Theorems 3 and 6, Propositions 4 and 5, Figures 2 and 3; Dayan (2023)
for meta-I(d′).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import scipy
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, log_ndtr, ndtr, ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers
from hmetad.base.errors import InputError, LabelError, NumberError, ShapeError
from hmetad.base.results import attrs_of, names_of

type Floats = NDArray[np.float64]
type Numbers = ArrayLike | xr.DataArray

# What an accuracy that was added up or rounded may lie beside its range.
SLACK = 1e-9
NODES = 200
# Log odds, and evidence in SD, beyond which uncertainty has nothing left to add.
FAR_ODDS = 90.0
FAR = 12.0
# Beyond it the areas of the tails underflow.
LARGEST = 75.0
KNOTS = 7501


@check_inputs(accuracy=arrays_of_numbers, prior=arrays_of_numbers)
def information_bounds(accuracy: Numbers, prior: Numbers) -> xr.Dataset:
    r"""Least and greatest transmitted information that an accuracy allows.

    Parameters
    ----------
    accuracy : float, array_like or DataArray
        Proportion of correct predictions, from the largest prior to 1; NaN gives NaN.
    prior : float, array_like or DataArray
        A scalar is the probability p₊ of one of two labels. A sequence holds the probabilities of
        L labels on its last axis. A DataArray holds them along its dim ``label``; without that
        dim each value is a p₊. It broadcasts against `accuracy`.

    Returns
    -------
    Dataset
        ``lower`` and ``upper`` (bits), in the dims that the inputs broadcast to, ``label`` left
        out.

    Raises
    ------
    InputError
        If the accuracy is below the largest prior or above 1, or priors are not probabilities
        that add up to 1.

    Notes
    -----
    Of two labels (Theorem 3), with H₂ the binary entropy:

    .. math:: H_2(p_+) - H_2(acc) \le I(Y; \hat Y, C) \le H_2(p_+) - 2(1 - acc)

    An observer is at the lower bound whose confidence is constant, and at the upper one who either
    guesses or knows. Of L labels (Theorem 6), with priors p falling, the upper bound is

    .. math::
        H(p) - \frac{(1/m_1 - acc)\log_2 m_2 + (acc - 1/m_2)\log_2 m_1}{1/m_1 - 1/m_2}, \quad
        m_1 = \lfloor 1/acc \rfloor, \ m_2 = m_1 + 1

    and the lower one, with m₃ the largest m ≥ 2 with p_m ≥ (Σ_{l≤m} p_l − acc)/(m − 1) and q the
    sum of the first m₃ priors:

    .. math::
        \sum_{l \le m_3} p_l \log_2 \frac{1}{p_l} - acc \log_2 \frac{1}{acc}
        - (q - acc) \log_2 \frac{m_3 - 1}{q - acc}

    Source: Meyen et al. (2025).

    Examples
    --------
    >>> bounds = information_bounds(0.7, 0.5)
    >>> bounds["lower"].round(4).item(), bounds["upper"].round(4).item()
    (0.1187, 0.4)
    >>> information_bounds([0.4, 0.7], [0.25, 0.25, 0.25, 0.25])["upper"].round(4).values
    array([0.649, 1.4  ])
    """
    values = numbers_within("prior", prior, 0.0, 1.0)
    is_vector = "label" in values.dims if isinstance(values, xr.DataArray) else values.ndim > 0
    inputs = {"accuracy": numbers_within("accuracy", accuracy, 0.0, 1.0), "prior": values}
    if is_vector:
        return labelled_results(bounds_of_labels, inputs, "information_bounds", [[], ["label"]])
    # Theorem 3 is the case L = 2 of Theorem 6.
    return labelled_results(bounds_of_two, inputs, "information_bounds")


@check_inputs(fpr=arrays_of_numbers, accuracy=arrays_of_numbers)
def type1_roc_bounds(fpr: Numbers, accuracy: Numbers) -> xr.Dataset:
    r"""Bounds on the pseudo type-1 ROC, whose observation is confidence signed by the prediction.

    Parameters
    ----------
    fpr : float, array_like or DataArray
        False-positive rate P(Ŷ·C > t | Y = −1), from 0 to 1.
    accuracy : float, array_like or DataArray
        Proportion of correct predictions, from ½ to 1; it broadcasts against `fpr`.

    Returns
    -------
    Dataset
        ``lower`` and ``upper`` bound of the true-positive rate P(Ŷ·C > t | Y = +1).

    Raises
    ------
    InputError
        If a rate is outside 0 to 1, or an accuracy outside ½ to 1.

    Notes
    -----
    Proposition 4 of Meyen et al. (2025), where both labels are equally probable; a rate is at most
    1 besides:

    .. math::
        \min\Big\{\frac{FPR}{2(1-acc)},\ 2(1-acc)FPR + 2acc - 1\Big\} \le TPR \le FPR + 2acc - 1

    Examples
    --------
    >>> bounds = type1_roc_bounds([0.0, 0.3, 1.0], 0.7)
    >>> bounds["lower"].round(3).values, bounds["upper"].round(3).values
    (array([0. , 0.5, 1. ]), array([0.4, 0.7, 1. ]))
    """
    return bounds_of_rates(bounds_of_tpr, fpr, accuracy, "type1_roc_bounds")


@check_inputs(fpr=arrays_of_numbers, accuracy=arrays_of_numbers)
def type2_roc_bounds(fpr: Numbers, accuracy: Numbers) -> xr.Dataset:
    r"""Bounds on the type-2 ROC: confidence of correct and of incorrect predictions.

    Parameters
    ----------
    fpr : float, array_like or DataArray
        Type-2 false-positive rate P(C > t | wrong), from 0 to 1.
    accuracy : float, array_like or DataArray
        Proportion of correct predictions, from ½ to 1; it broadcasts against `fpr`.

    Returns
    -------
    Dataset
        ``lower`` and ``upper`` bound of the type-2 true-positive rate P(C > t | correct).

    Raises
    ------
    InputError
        If a rate is outside 0 to 1, or an accuracy outside ½ to 1.

    Notes
    -----
    Proposition 5 of Meyen et al. (2025), where both labels are equally probable:

    .. math:: FPR_2 \le TPR_2 \le 1 - \frac{1 - acc}{acc}(1 - FPR_2)

    Examples
    --------
    >>> bounds = type2_roc_bounds(0.3, 0.7)
    >>> bounds["lower"].item(), bounds["upper"].round(3).item()
    (0.3, 0.7)
    """
    return bounds_of_rates(bounds_of_tpr2, fpr, accuracy, "type2_roc_bounds")


@check_inputs(dprime=arrays_of_numbers)
def normal_noise_information(dprime: Numbers) -> xr.Dataset:
    r"""Information that an observer with normal noise transmits, and its surplus meta-I(d′).

    Parameters
    ----------
    dprime : float, array_like or DataArray
        Sensitivity (SD of the evidence); its sign is ignored. NaN gives NaN.

    Returns
    -------
    Dataset
        ``accuracy`` Φ(d′/2), ``info`` (bits) and ``meta_i`` (bits), info minus the least that this
        accuracy allows; dims of the input.

    Raises
    ------
    InputError
        If `dprime` is not numeric.

    Notes
    -----
    .. math::
        I(d') = 1 - \int \varphi(x - d'/2)\, H_2\!\Big(\frac{1}{1 + e^{-d'|x|}}\Big)\,dx, \quad
        \text{meta-}I(d') = I(d') - 1 + H_2(\Phi(d'/2))

    Folded at 0 the integrand is smooth and even, and the trapezoidal rule converges exponentially:
    with 200 nodes to a relative error below 1e-12. Source: Dayan (2023), Meyen et al. (2025).

    Examples
    --------
    >>> observer = normal_noise_information(1.048801)
    >>> observer["info"].round(4).item(), observer["meta_i"].round(4).item()
    (0.1749, 0.0562)
    """
    inputs = {"dprime": numbers_within("dprime", dprime, -np.inf, np.inf)}
    return labelled_results(normal_observer, inputs, "normal_noise_information")


@check_inputs(accuracy=arrays_of_numbers)
def noise_information(accuracy: Numbers) -> xr.Dataset:
    r"""Information that three kinds of noise transmit at the same accuracy.

    Parameters
    ----------
    accuracy : float, array_like or DataArray
        Proportion of correct predictions, from ½ to 1; NaN gives NaN.

    Returns
    -------
    Dataset
        ``dprime`` = 2Φ⁻¹(acc) of the normal noise, and in bits ``normal``, ``binary`` (one
        confidence for all: the least possible) and ``uniform`` (guess or know: the greatest).

    Raises
    ------
    InputError
        If an accuracy is outside ½ to 1.

    Notes
    -----
    Binary noise transmits 1 − H₂(acc), uniform noise 1 − 2(1 − acc), normal noise
    `normal_noise_information` of 2Φ⁻¹(acc). Source: Meyen et al. (2025), Figures 2 and 3.

    Examples
    --------
    >>> at = noise_information(0.7)
    >>> [at[noise].round(4).item() for noise in ("normal", "binary", "uniform")]
    [0.1749, 0.1187, 0.4]
    """
    inputs = {"accuracy": numbers_within("accuracy", accuracy, 0.5, 1.0)}
    return labelled_results(three_observers, inputs, "noise_information")


# What goes in and out


def numbers_within(argument: str, given: Numbers, low: float, high: float) -> Floats | xr.DataArray:
    """Floats of a range, labelled as they came; refuse others, except NaN."""
    values = given.astype(float) if isinstance(given, xr.DataArray) else np.asarray(given, float)
    plain = np.asarray(values)
    is_off = (plain < low - SLACK) | (plain > high + SLACK)
    if is_off.any():
        allowed = f"numbers from {low:g} to {high:g}"
        raise NumberError(argument, f"{plain[is_off][0]:g}", allowed)
    return values.clip(low, high)


def labelled_results(
    function: Callable[..., tuple[Floats, ...]],
    inputs: Mapping[str, Floats | xr.DataArray],
    section: str,
    core: Sequence[Sequence[str]] | None = None,
) -> xr.Dataset:
    """Values of a function of arrays under their names; `core` are dims that it reduces."""
    names = names_of(section)
    sizes = [list(dims) for dims in core] if core else [[] for _ in inputs]
    try:
        found = xr.apply_ufunc(
            lambda *arrays: tuple(map(np.asarray, function(*arrays))),
            *inputs.values(),
            input_core_dims=sizes,
            output_core_dims=[[] for _ in names],
            keep_attrs=False,
        )
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        shapes = "shapes " + " and ".join(str(np.shape(values)) for values in inputs.values())
        raise ShapeError(", ".join(inputs), shapes, "shapes and labels that match") from error
    arrays = {name: xr.DataArray(values) for name, values in zip(names, found, strict=True)}
    return xr.Dataset({k: x.assign_attrs(attrs_of(k, section)) for k, x in arrays.items()})


# Bounds


def bounds_of_rates(
    function: Callable[..., tuple[Floats, ...]], fpr: Numbers, accuracy: Numbers, section: str
) -> xr.Dataset:
    """Bounds of a true-positive rate by false-positive rate and accuracy, in their ranges."""
    rate, a = numbers_within("fpr", fpr, 0.0, 1.0), numbers_within("accuracy", accuracy, 0.5, 1.0)
    return labelled_results(function, {"fpr": rate, "accuracy": a}, section)


def bounds_of_tpr(rate: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Proposition 4."""
    rate, a = np.broadcast_arrays(rate, a)
    wrong, surplus = 2 * (1 - a), 2 * a - 1
    # Where all is right, the first false alarm is one too many for a bound from above.
    none_wrong = np.where(rate > 0, np.inf, rate)
    from_above = np.divide(rate, wrong, where=wrong > 0, out=none_wrong)
    return np.minimum(from_above, wrong * rate + surplus), np.minimum(rate + surplus, 1.0)


def bounds_of_tpr2(rate: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Proposition 5."""
    return np.where(np.isnan(a), np.nan, rate), 1 - (1 - a) / a * (1 - rate)


def bounds_of_two(accuracy: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Theorem 3."""
    return bounds_of_labels(accuracy, np.stack([prior, 1 - prior], axis=-1))


def bounds_of_labels(accuracy: Floats, priors: Floats) -> tuple[Floats, Floats]:
    """Theorem 6; priors of shape (..., L)."""
    if priors.shape[-1] < 2:
        step = "A scalar is the prior of one of two labels."
        raise LabelError("prior", "a single label", "at least two", step)
    sums = priors.sum(axis=-1)
    is_off = np.asarray(abs(sums - 1) > 1e-6)
    if is_off.any():
        step = "Priors of one of two labels, one a cell, come as a DataArray without dim label."
        raise NumberError("prior", f"a sum of {sums[is_off][0]:g}", "priors that add up to 1", step)
    p = -np.sort(-priors, axis=-1)
    is_below = np.asarray(accuracy < p[..., 0] - SLACK)
    if is_below.any():
        low, least = (
            np.broadcast_to(x, is_below.shape)[is_below][0] for x in (accuracy, p[..., 0])
        )
        step = "Always predicting the most probable label is right more often."
        raise NumberError("accuracy", f"{low:g}", f"from the largest prior, {least:g}, to 1", step)
    a = np.clip(accuracy, p[..., 0], 1.0)
    # Entropy that is left where all but m₁ or m₂ labels are excluded, and those equally likely.
    m1 = np.floor(1 / a)
    m2 = m1 + 1
    left = ((1 / m1 - a) * np.log2(m2) + (a - 1 / m2) * np.log2(m1)) / (1 / m1 - 1 / m2)
    return least_information(a, p), -times_log2(p).sum(axis=-1) - left


def least_information(a: Floats, p: Floats) -> Floats:
    """Lower bound, of an observer who tells the likely labels apart in one way only."""
    p = np.broadcast_to(p, (*a.shape, p.shape[-1]))
    m = np.arange(2, p.shape[-1] + 1)
    q = p.cumsum(axis=-1)[..., 1:]
    fits = p[..., 1:] >= (q - a[..., None]) / (m - 1)
    last = len(m) - 1 - fits[..., ::-1].argmax(axis=-1)
    q, entropy = (
        np.take_along_axis(values, last[..., None], axis=-1)[..., 0]
        for values in (q, -times_log2(p).cumsum(axis=-1)[..., 1:])
    )
    # Of probabilities that add up to 1 with a rounding error.
    rest = np.maximum(q - a, 0.0)
    lower = entropy + times_log2(a) + times_log2(rest) - rest * np.log2(m[last] - 1)
    return np.maximum(lower, 0.0)


# Noise


def meta_i_of_dprime(dprime: Floats) -> Floats:
    """meta-I(d′) of normal noise for many values, interpolated: within 1e-10, relatively."""
    d = np.minimum(abs(dprime), LARGEST)
    return d**2 * np.exp(logarithm_over_square()(d) - d**2 / 8)


@cache
def logarithm_over_square() -> "scipy.interpolate.CubicSpline":
    """log(meta-I(d)/d²) + d²/8, which varies slowly from 0 to where tails underflow."""
    knots = np.linspace(0.0, LARGEST, KNOTS)
    d = knots[1:]
    rest = np.log(normal_observer(d)[2] / d**2) + d**2 / 8
    # The limit at 0: information E[x²]d²/8 less d²/(4π), in nats.
    at_zero = np.log((1 / 8 - 1 / (4 * np.pi)) / np.log(2))
    y = np.concatenate([[at_zero], rest])
    # An even function has no slope at 0. SciPy imports this part of it when it is first used.
    return scipy.interpolate.CubicSpline(knots, y, bc_type=("clamped", "not-a-knot"))


def normal_observer(dprime: Floats) -> tuple[Floats, Floats, Floats]:
    """Accuracy, transmitted information and surplus, each to full relative precision."""
    d = np.minimum(abs(dprime), LARGEST)
    # Two ways to say it, so that no small number is the difference of two large ones.
    told = expectation(information_of_odds, d)
    kept = expectation(uncertainty_of_odds, d)
    is_near = d < 2
    near_odds = 2 * np.arctanh(erf(np.where(is_near, d, 0.0) / np.sqrt(8)))
    far_odds = log_ndtr(d / 2) - log_ndtr(-d / 2)
    surplus = np.where(
        is_near, told - information_of_odds(near_odds), uncertainty_of_odds(far_odds) - kept
    )
    return ndtr(abs(dprime) / 2), np.where(is_near, told, 1 - kept), surplus


def three_observers(accuracy: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """d′ of normal noise, and the information of normal, binary and uniform noise."""
    d = 2 * ndtri(accuracy)
    return d, normal_observer(d)[1], 1 - binary_entropy(accuracy), 2 * accuracy - 1


def expectation(function: Callable[[Floats], Floats], d: Floats) -> Floats:
    """Mean of an even function of the log odds d·x over the evidence x, folded at 0."""
    # Where d is large, all that matters lies at small x.
    step = np.minimum(FAR, FAR_ODDS / np.maximum(d, 1.0)) / NODES
    total = np.zeros_like(d)
    for node in range(NODES + 1):
        x = node * step
        density = np.exp(-((x - d / 2) ** 2) / 2) + np.exp(-((x + d / 2) ** 2) / 2)
        total += (0.5 if node == 0 else 1.0) * density * function(d * x)
    return step * total / np.sqrt(2 * np.pi)


def uncertainty_of_odds(t: Floats) -> Floats:
    """H₂ of the probability with log odds t ≥ 0, in bits."""
    return (np.log1p(np.exp(-t)) + t * np.exp(-t) / (1 + np.exp(-t))) / np.log(2)


def information_of_odds(t: Floats) -> Floats:
    """1 − H₂ of the probability with log odds t ≥ 0, in bits; exact also near 0."""
    u = t / 2
    log_cosh = np.log1p(2 * np.sinh(u / 2) ** 2)
    return (u * np.tanh(u) - log_cosh) / np.log(2)


# Entropy


def binary_entropy(p: ArrayLike) -> Floats:
    """H₂ of a yes-or-no event of probability p, in bits; NaN where p is NaN."""
    x = np.asarray(p, dtype=float)
    return 0.0 - (times_log2(x) + times_log2(1 - x))


def times_log2(x: Floats) -> Floats:
    """Return x log₂ x, which is 0 at 0; NaN where x is NaN."""
    return x * np.log2(x, where=x > 0, out=np.zeros_like(x))
