"""Whether confidence is on one scale, and whether that is the scale of probabilities.

Cell and confidence of each trial → notices.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hmetad.notice import Notice, notice_of
from hmetad.notice_registry import limit

__all__ = ["mixed_scales", "not_probabilities", "rounded_to_probabilities"]

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]

# What a computed probability may be beyond 0 or 1.
ROUNDING = 1e-9
# Percentages below this are rare, and probabilities below it too.
LEAST = 0.05
# Of two scales one leaves a gap between 1 and 2; a single wide scale does not.
GAP = 0.1
MOST_RATING = 20
FEW = 0.05


def mixed_scales(cell: Ints, value: Floats, labels: Sequence[str]) -> list[Notice]:
    """Notice of cells whose confidence is partly from 0 to 1 and partly on a larger scale.

    Parameters
    ----------
    cell : array of int, shape (trials,)
    value : array of float, shape (trials,)
    labels : sequence of str
        Of the cells.

    Returns
    -------
    list of Notice
        One or none.

    Examples
    --------
    >>> value = np.array([0.8, 0.6, 80, 60])
    >>> [one.code for one in mixed_scales(np.zeros(4, int), value, ["all"])]
    ['mixed-scales']
    """
    small = numbers(cell, (value > LEAST) & (value < 1), labels)
    large = numbers(cell, value > 1, labels)
    between = numbers(cell, (value > 1) & (value < 2), labels)
    least = limit("mixed-scales") * np.bincount(cell, minlength=len(labels))
    is_mixed = (small > 0) & (small >= least) & (large >= least) & (between < GAP * small)
    if not is_mixed.any():
        return []
    said = {"small": f"{small[is_mixed].sum():,}", "large": f"{large[is_mixed].sum():,}"}
    return [notice_of("mixed-scales.trials", named(labels, is_mixed), **said)]


def not_probabilities(cell: Ints, value: Floats, labels: Sequence[str]) -> list[Notice]:
    """Notice of cells with confidence below 0 or above 1, which leaves out calibration for all.

    Examples
    --------
    >>> value = np.array([71.0, 48.0])
    >>> not_probabilities(np.zeros(2, int), value, ["all"])[0].message.partition(":")[0]
    'Confidence of 2 of 2 answers is not from 0 to 1, such as 71'
    """
    off = (value < 0) | (value > 1)
    if not off.any():
        return []
    said = {"number": f"{off.sum():,}", "all": f"{len(value):,}", "example": f"{value[off][0]:g}"}
    return [notice_of(case_of(value, off), named(labels, numbers(cell, off, labels) > 0), **said)]


def case_of(value: Floats, off: NDArray[np.bool_]) -> str:
    """What the numbers are likely to be, as a case of the notice."""
    if (value <= 0).all():
        return "not-probabilities.logs"
    if off.mean() <= FEW:
        return "not-probabilities.few"
    is_whole = bool((value == np.round(value)).all())
    is_rating = is_whole and value.min() >= 1 and value.max() <= MOST_RATING
    return "not-probabilities.ratings" if is_rating else "not-probabilities"


def rounded_to_probabilities(value: Floats) -> Floats:
    """Confidence that leaves 0 to 1 by an error of rounding alone is set right."""
    inside = np.clip(value, 0.0, 1.0)
    return inside if (np.isnan(value) | (abs(value - inside) <= ROUNDING)).all() else value


def numbers(cell: Ints, is_there: NDArray[np.bool_], labels: Sequence[str]) -> Ints:
    """Trials of each cell for which something holds."""
    return np.bincount(cell[is_there], minlength=len(labels))


def named(labels: Sequence[str], mask: NDArray[np.bool_]) -> list[str]:
    """Labels of the cells where the mask holds."""
    return [label for label, holds in zip(labels, mask, strict=True) if holds]
