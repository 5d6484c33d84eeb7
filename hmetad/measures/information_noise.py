"""Information of ideal observers with normal, binary and uniform noise.

d′ or accuracy (array_like or DataArray) → Dataset. Two labels, equally probable; confidence is the
probability of the label that was chosen.
Source: Meyen et al. (2025), Figures 2 and 3; Dayan (2023) for meta-I(d′).
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import erf, log_ndtr, ndtr, ndtri

from hmetad.arguments import arrays_of_numbers, check_inputs
from hmetad.measures.information_bounds import (
    Numbers,
    binary_entropy,
    labelled_results,
    numbers_within,
)

__all__ = ["meta_i_of_dprime", "noise_information", "normal_noise_information"]

type Floats = NDArray[np.float64]

NODES = 200
# Log odds, and evidence in SD, beyond which uncertainty has nothing left to add.
FAR_ODDS = 90.0
FAR = 12.0
# Beyond it the areas of the tails underflow.
LARGEST = 75.0
KNOTS = 7501


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
        ``accuracy`` Φ(d′/2), ``info`` (bits) and ``meta_i`` (bits), info less the least that this
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
    values = numbers_within("dprime", dprime, -np.inf, np.inf)
    return labelled_results(normal_observer, {"dprime": values}, "normal_noise_information")


@check_inputs(accuracy=arrays_of_numbers)
def noise_information(accuracy: Numbers) -> xr.Dataset:
    r"""Information that three kinds of noise transmit at the same accuracy.

    Parameters
    ----------
    accuracy : float, array_like or DataArray
        Share of correct predictions, from ½ to 1; NaN gives NaN.

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
    values = numbers_within("accuracy", accuracy, 0.5, 1.0)
    return labelled_results(three_observers, {"accuracy": values}, "noise_information")


def meta_i_of_dprime(dprime: Floats) -> Floats:
    """meta-I(d′) of a normal-noise observer, interpolated: for many values at once.

    Parameters
    ----------
    dprime : ndarray, shape (...)
        Sensitivities (SD of the evidence); the sign is ignored.

    Returns
    -------
    ndarray, shape (...)
        Bits, within a relative error of 1e-10 of `normal_noise_information`.

    Examples
    --------
    >>> meta_i_of_dprime(np.array([0.0, 1.048801, np.nan])).round(7)
    array([0.       , 0.0562388,       nan])
    """
    d = np.minimum(abs(dprime), LARGEST)
    return d**2 * np.exp(logarithm_over_square()(d) - d**2 / 8)


@cache
def logarithm_over_square() -> CubicSpline:
    """log(meta-I(d)/d²) + d²/8, which varies slowly from 0 to where tails underflow."""
    knots = np.linspace(0.0, LARGEST, KNOTS)
    d = knots[1:]
    rest = np.log(normal_observer(d)[2] / d**2) + d**2 / 8
    # The limit at 0: information E[x²]d²/8 less d²/(4π), in nats.
    at_zero = np.log((1 / 8 - 1 / (4 * np.pi)) / np.log(2))
    # An even function has no slope at 0.
    return CubicSpline(knots, np.concatenate([[at_zero], rest]), bc_type=("clamped", "not-a-knot"))


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
        is_near,
        told - information_of_odds(near_odds),
        uncertainty_of_odds(far_odds) - kept,
    )
    return ndtr(abs(dprime) / 2), np.where(is_near, told, 1 - kept), surplus


def three_observers(accuracy: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """d′ of normal noise, and the information of normal, binary and uniform noise."""
    a = np.clip(accuracy, 0.5, 1.0)
    d = 2 * ndtri(a)
    return d, normal_observer(d)[1], 1 - binary_entropy(a), 2 * a - 1


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
