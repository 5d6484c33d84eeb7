"""Plug-in estimates of information, of many tables at once.

Array of counts (..., 2, 2, K), or (..., 2, K) by correctness → arrays (...) under their names.
Source: Dayan (2023) for meta-I and its ratios; Meyen et al. (2025) for the bounds and the relative
metainformation.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.measures.information_bounds import binary_entropy, times_log2
from hmetad.measures.information_noise import meta_i_of_dprime
from hmetad.measures.sdt import type1_rates, z_scores

__all__ = [
    "Estimates",
    "has_rating_below_half",
    "information_of_tables",
    "information_of_type2_tables",
    "told_by_response",
]

type Floats = NDArray[np.float64]
type Estimates = dict[str, Floats]

# A divisor below this many bits is 0 but for rounding.
LEAST = 1e-12


def information_of_tables(tables: Floats) -> Estimates:
    """Plug-in estimates of count tables.

    Parameters
    ----------
    tables : ndarray, shape (..., 2, 2, K)
        Trials by stimulus, response and rating.

    Returns
    -------
    dict of str to ndarray, shape (...)
        The variables of `meta_information`; NaN where there are no trials or a divisor is 0.

    Examples
    --------
    >>> information_of_tables(np.array([[[[90.0], [10.0]], [[40.0], [60.0]]]]))["rmi"].round(4)
    array([0.0815])
    """
    n = by_pair(tables)
    trials = number_of_trials(n)
    accuracy = n.max(axis=-2).sum(axis=-1) / trials
    entropy, at_large = binary_entropy(accuracy), binary_entropy(n[..., 0, :].sum(-1) / trials)
    left = uncertainty(n, trials)
    # Neither is below 0 but for rounding.
    info, surplus = np.maximum(at_large - left, 0.0), np.maximum(entropy - left, 0.0)
    lower, upper = at_large - entropy, at_large - 2 * (1 - accuracy)
    short_of_1: Floats = np.where(accuracy < 1, accuracy, np.nan)
    return {
        "info": info,
        "accuracy": accuracy,
        "lower": lower,
        "upper": upper,
        "meta_i": surplus,
        "meta_i1r": bits_ratio(surplus, meta_i_of_dprime(dprime(tables))),
        "meta_i1r_accuracy": bits_ratio(surplus, meta_i_of_dprime(2 * ndtri(short_of_1))),
        "meta_i2r": bits_ratio(surplus, entropy),
        "rmi": bits_ratio(surplus, entropy - 2 * (1 - accuracy)),
    }


def information_of_type2_tables(tables: Floats) -> Estimates:
    """Plug-in estimates of type-2 tables; rmi as if ratings below half could be turned round.

    Parameters
    ----------
    tables : ndarray, shape (..., 2, K)
        Trials by correctness (wrong, right) and rating.

    Returns
    -------
    dict of str to ndarray, shape (...)
        The variables of `meta_information`; NaN where there are no trials or a divisor is 0.

    Examples
    --------
    >>> information_of_type2_tables(np.array([[[20.0, 10.0], [20.0, 50.0]]]))["meta_i"].round(4)
    array([0.0913])
    """
    trials = number_of_trials(tables)
    left = uncertainty(tables, trials)
    share_right = tables[..., 1, :].sum(axis=-1) / trials
    entropy = binary_entropy(share_right)
    surplus = np.maximum(entropy - left, 0.0)
    turned = tables.max(axis=-2).sum(axis=-1) / trials
    entropy_turned = binary_entropy(turned)
    return {
        "share_right": share_right,
        "meta_i": surplus,
        "meta_i2r": bits_ratio(surplus, entropy),
        "rmi": bits_ratio(
            np.maximum(entropy_turned - left, 0.0), entropy_turned - 2 * (1 - turned)
        ),
    }


def has_rating_below_half(tables: Floats) -> NDArray[np.bool_]:
    """Whether a rating of a type-2 table (..., 2, K) is wrong more often than right."""
    return (tables[..., 0, :] > tables[..., 1, :]).any(axis=-1)


def told_by_response(tables: Floats) -> tuple[Floats, Floats]:
    """Part of meta-I that the response tells without the rating, in bits, and its χ²."""
    trials = number_of_trials(by_pair(tables))
    right = tables.max(axis=-3).sum(axis=-1)
    given = tables.sum(axis=(-3, -1))
    accuracy = right / np.where(given > 0, given, np.nan)
    left = np.where(given > 0, given * binary_entropy(accuracy), 0.0).sum(axis=-1) / trials
    told = binary_entropy(right.sum(axis=-1) / trials) - left
    return told, 2 * np.log(2) * trials * told


def by_pair(tables: Floats) -> Floats:
    """Count tables (..., 2, 2, K) by stimulus and pair of response and rating, (..., 2, 2K)."""
    return tables.reshape(*tables.shape[:-2], 2 * tables.shape[-1])


def number_of_trials(n: Floats) -> Floats:
    """Trials of each table (..., 2, outcomes), NaN where there are none."""
    trials = n.sum(axis=(-2, -1))
    return np.where(trials > 0, trials, np.nan)


def uncertainty(n: Floats, trials: Floats) -> Floats:
    """Entropy of the row of a table, given its column: Σ m̂ᵢ H₂(ĉᵢ), in bits."""
    columns = times_log2(n.sum(axis=-2)).sum(axis=-1)
    return (columns - times_log2(n).sum(axis=(-2, -1))) / trials


def bits_ratio(of: Floats, to: Floats) -> Floats:
    """Quotient of bits, NaN where the divisor is 0 but for rounding."""
    return of / np.where(to > LEAST, to, np.nan)


def dprime(tables: Floats) -> Floats:
    """d′ of the type-1 tables, uncorrected."""
    rates = type1_rates(tables)
    return z_scores(rates.hits, rates.misses)[0] - z_scores(rates.false_alarms, rates.rejections)[0]
