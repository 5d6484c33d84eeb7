"""How often each trial counts in draws of a cell: trials or units drawn, by bootstrap or Dirichlet.

Trials of cells → weights of their right and wrong trials, part after part.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from hmetad.measures.forecast_bins import mass_bins
from hmetad.measures.forecasts import Forecasts

__all__ = [
    "Drawn",
    "OwnTrials",
    "Weighted",
    "drawn_weights",
    "own_trials",
    "trial_weights",
    "unit_weights",
]

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
type Weighted = Iterator[tuple[Floats, Floats]]
Drawn = Literal["bootstrap", "dirichlet"]

# Numbers that are held at once while draws are made.
AT_ONCE = 2**22


class OwnTrials(NamedTuple):
    """Distinct confidences of one cell, and the trials right and wrong with each.

    Trials that count without a confidence come last, as those with a confidence of NaN.
    """

    confidence: Floats
    right: Ints
    wrong: Ints
    bin_of: Ints | None

    @property
    def stated(self) -> int:
        """How many distinct confidences there are."""
        return int(len(self.confidence) - np.isnan(self.confidence[-1:]).sum())


def own_trials(forecasts: Forecasts, bins: int) -> list[OwnTrials]:
    """Trials of each cell by confidence, with bins where all confidence is a probability."""
    stated = ~np.isnan(forecasts.value)
    known = forecasts.value[stated]
    bin_of = None
    if ((known >= 0) & (known <= 1)).all():
        own = Forecasts(
            forecasts.cell[stated],
            known,
            forecasts.trials[stated],
            forecasts.right[stated],
            forecasts.n_cells,
        )
        bin_of = np.zeros(len(stated), dtype=np.int64)
        bin_of[stated] = mass_bins(own, bins)
    start = np.searchsorted(forecasts.cell, np.arange(forecasts.n_cells + 1))
    return [
        OwnTrials(
            forecasts.value[first:last],
            forecasts.right[first:last],
            (forecasts.trials - forecasts.right)[first:last],
            None if bin_of is None else bin_of[first:last],
        )
        for first, last in pairwise(start)
    ]


def drawn_weights(units: int, n: int, kind: Drawn, rng: np.random.Generator) -> Floats:
    """How often each unit counts, (n, units)."""
    if kind == "dirichlet":
        return units * rng.dirichlet(np.ones(units), size=n)
    return rng.multinomial(units, np.full(units, 1 / units), size=n).astype(float)


def trial_weights(one: OwnTrials, n: int, kind: Drawn, rng: np.random.Generator) -> Weighted:
    """Trials of a cell drawn by themselves, part after part: right and wrong, (draws, f)."""
    outcomes, width = np.concatenate([one.right, one.wrong]), len(one.right)
    total = int(outcomes.sum())
    for size in part_sizes(n, len(outcomes)):
        if kind == "dirichlet":
            drawn = rng.standard_gamma(outcomes, size=(size, len(outcomes)))
            drawn *= total / drawn.sum(axis=1, keepdims=True)
        else:
            drawn = rng.multinomial(total, outcomes / total, size=size).astype(float)
        yield drawn[:, :width], drawn[:, width:]


def unit_weights(
    one: OwnTrials, unit: Ints, value: Floats, right: Ints, weights: Floats
) -> Weighted:
    """Trials of a cell counted as often as their units, part after part."""
    place, width = np.searchsorted(one.confidence, value), len(one.confidence)
    columns = np.where(right == 1, place, place + width)
    shape = (weights.shape[1], 2 * width)
    table = coo_array((np.ones(len(unit)), (unit, columns)), shape=shape).tocsr()
    start = 0
    for size in part_sizes(len(weights), 2 * width):
        drawn = weights[start : start + size] @ table
        start += size
        yield drawn[:, :width], drawn[:, width:]


def part_sizes(n: int, width: int) -> list[int]:
    """Numbers of draws that are made together."""
    step = max(1, AT_ONCE // width)
    return [min(step, n - start) for start in range(0, n, step)]
