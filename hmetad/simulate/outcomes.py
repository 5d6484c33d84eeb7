"""What studies of one size would find, from the estimates of their cells.

Estimates by name, each (conditions, studies, subjects) → shares of verdicts, half-widths of
intervals, bias and undefined cells, each with its Monte Carlo error.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

from hmetad.compare.verdicts import decide_normal
from hmetad.simulate.recovery import summaries

__all__ = ["VERDICTS", "median_and_error", "share_error", "study_results"]

type Floats = NDArray[np.float64]

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
FEWEST_SUBJECTS = 2


def study_results(
    cells: dict[str, Floats], m_ratio: Floats, rope: tuple[float, float] | None, level: float
) -> dict[str, ArrayLike]:
    """What studies of one size found.

    Parameters
    ----------
    cells : dict of str to array, shape (conditions, studies, subjects)
        ``log_m``, ``log_m_se`` and ``m_ratio``: estimates of every cell.
    m_ratio : array, shape (conditions, studies, subjects)
        True M of every cell.
    rope : tuple of float, or None
        Without one there are no verdicts.
    level : float
        Probability of the intervals.

    Returns
    -------
    dict of str to array
        ``half_width`` and, with a ROPE, ``probability`` (verdicts,) of what is judged; by
        condition ``log_m_half_width``, ``bias`` and ``undefined``; each with ``*_se``.
    """
    z = norm.isf((1 - level) / 2)
    is_defined = np.isfinite(cells["log_m"]) & np.isfinite(cells["log_m_se"])
    estimate, half_width = judged_by_study(cells, is_defined, level)
    widths = [
        median_and_error(x[ok]) for x, ok in zip(z * cells["log_m_se"], is_defined, strict=True)
    ]
    errors = summaries((cells["m_ratio"] - m_ratio).reshape(len(m_ratio), -1))
    undefined = 1 - is_defined.mean(axis=(1, 2))
    width, width_se = median_and_error(half_width[np.isfinite(half_width)])
    found: dict[str, ArrayLike] = {
        "half_width": width,
        "half_width_se": width_se,
        "log_m_half_width": [median for median, _ in widths],
        "log_m_half_width_se": [se for _, se in widths],
        "bias": errors["bias"],
        "bias_se": errors["bias_se"],
        "undefined": undefined,
        "undefined_se": share_error(undefined, is_defined[0].size),
    }
    if rope is not None:
        # The half-width may be that of a t-interval: as a normal one of the same width.
        judged = decide_normal(estimate, half_width / z, rope=rope, ci_prob=level)
        words = judged.results["verdict"].to_numpy()
        share = np.array([np.mean(words == verdict) for verdict in VERDICTS])
        found |= {"probability": share, "probability_se": share_error(share, len(words))}
    return found


def judged_by_study(
    cells: dict[str, Floats], is_defined: NDArray[np.bool_], level: float
) -> tuple[Floats, Floats]:
    """Estimate and half-width of each study, NaN where there is none."""
    weights = np.array([1.0, -1.0])[: len(is_defined), None, None]
    usable = is_defined.all(axis=0)
    values = (weights * np.where(usable, cells["log_m"], 0.0)).sum(axis=0)
    variances = np.where(usable, cells["log_m_se"] ** 2, 0.0).sum(axis=0)
    if usable.shape[1] == 1:
        z = norm.isf((1 - level) / 2)
        estimate = np.where(usable, values, np.nan)[:, 0]
        return estimate, z * np.sqrt(np.where(usable, variances, np.nan))[:, 0]
    number = usable.sum(axis=1)
    number = np.where(number >= FEWEST_SUBJECTS, number, np.nan)
    mean = values.sum(axis=1) / number
    squares = (np.where(usable, values - mean[:, None], 0.0) ** 2).sum(axis=1)
    return mean, t.isf((1 - level) / 2, number - 1) * np.sqrt(squares / (number - 1) / number)


def median_and_error(values: Floats) -> tuple[float, float]:
    """Median, and its standard error by the order statistics one binomial error away."""
    if len(values) < 2:
        return np.nan, np.nan
    reach = 0.5 / np.sqrt(len(values))
    lower, upper = np.quantile(values, [0.5 - reach, 0.5 + reach])
    return float(np.median(values)), float(upper - lower) / 2


def share_error(share: ArrayLike, number: int) -> Floats:
    """Standard error of a share; one that is 0 or 1 gets that of half a case more or less."""
    inner = np.clip(share, 0.5 / number, 1 - 0.5 / number)
    return np.sqrt(inner * (1 - inner) / number)
