"""Trials of a cell that are merged by confidence: their measures, and how often each counts.

Graded trials → `MergedTrials`, with a type-2 table (2, confidences) per cell, and the trials that
were abstained from → measures of them as they are, or of weights that resampling draws.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from hmetad.base.errors import TooFewError
from hmetad.counts.resample import cell_generator
from hmetad.measures.results import ratio
from hmetad.measures.scores import (
    abstention_scores,
    answer_scores,
    calibration_scores,
    order_scores,
)
from hmetad.measures.stated_confidence import (
    ANSWERED,
    FORCED_RIGHT,
    FORCED_WRONG,
    UNFORCED,
    CellTrials,
    GradedTrials,
    count_forecasts,
    trials_by_cell,
)

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
Drawn = Literal["bootstrap", "dirichlet"]

# Numbers that are held at once while draws are made.
AT_ONCE = 2**22


class ScoreOptions(NamedTuple):
    """Bins of confidence, the shares that two measures are of, and what a wrong answer costs."""

    bins: int
    at_coverage: float | None
    tolerance: float | None
    penalty: float | None
    has_confidence: bool = True
    is_forced: bool = False

    def attrs(self, ci_prob: float) -> dict[str, float]:
        """Attrs of a result."""
        named = dict(zip(self._fields[:4], self, strict=False)) | {"ci_prob": ci_prob}
        return {name: x for name, x in named.items() if x is not None}


class Weights(NamedTuple):
    """How often trials count: those of a cell's table (draws, 2, f), and silent (draws, 0 or 3)."""

    tables: Floats
    silent: Floats


class Cell(NamedTuple):
    """Distinct confidences (f,) of one cell, and the trials wrong and right with each (2, f).

    Trials that count without a confidence come last, as those with a confidence of NaN. Where all
    confidence is a probability each has one of the bins. `silent` has the trials that were
    abstained from: those whose forced answer was wrong, right, and not known; nothing, (0,), where
    none may be.
    """

    confidence: Floats
    table: Ints
    silent: Ints
    bin_of: Ints | None
    options: ScoreOptions

    @property
    def number(self) -> int:
        """How many distinct confidences there are."""
        return int(len(self.confidence) - np.isnan(self.confidence[-1:]).sum())

    @property
    def trials(self) -> int:
        """All trials, those that were abstained from too."""
        return int(self.table.sum() + self.silent.sum())

    def stated(self, tables: Floats) -> Floats:
        """Trials with a confidence (..., 2, confidences); 0 of one where none has one."""
        return tables[..., : self.number] if self.number else 0 * tables[..., :1]

    def weights_of(self, drawn: Floats) -> Weights:
        """Weights from draws (draws, outcomes) of wrong, right, and abstained trials."""
        tables, silent = np.split(drawn, [self.table.size], axis=1)
        return Weights(tables.reshape(len(drawn), 2, -1), silent)

    @property
    def weights(self) -> Weights:
        """Every trial once."""
        return Weights(self.table[None].astype(float), self.silent[None].astype(float))

    def measures(self, drawn: Weights) -> dict[str, Floats]:
        """Measures of weights of trials."""
        tables, silent = drawn
        wrong, right = np.moveaxis(tables.sum(axis=-1), -1, 0)
        asked, stated, found = self.options, self.stated(tables), dict[str, Floats]()
        if asked.has_confidence:
            found |= order_scores(stated, asked.at_coverage, asked.tolerance)
        if self.bin_of is not None:
            number = stated.shape[-1]
            confidence = np.nan_to_num(self.confidence[:number])
            found |= calibration_scores(stated, confidence, self.bin_of[:number], asked.bins)
        # Trials without a confidence are right or wrong nevertheless.
        found["accuracy"] = ratio(right, right + wrong)
        if asked.penalty is not None:
            found |= answer_scores(wrong, right, silent.sum(axis=-1), asked.penalty)
        if asked.is_forced:
            found |= abstention_scores(wrong, right, silent[:, 0], silent[:, 1])
        return found


class MergedTrials(NamedTuple):
    """Trials as they were given, by cell, and merged where they have the same confidence."""

    graded: GradedTrials
    by_cell: CellTrials
    cells: list[Cell]
    options: ScoreOptions

    def estimates(self) -> dict[str, Floats]:
        """Measures of the trials as they are, (cells,)."""
        return together([cell.measures(cell.weights) for cell in self.cells])

    def numbers(self) -> Ints:
        """Trials of each cell, those that were abstained from too."""
        return np.array([cell.trials for cell in self.cells])


def merged_trials(graded: GradedTrials, options: ScoreOptions) -> MergedTrials:
    """Trials, and those of each cell by confidence."""
    by_cell = trials_by_cell(graded)
    forecasts = count_forecasts(by_cell.answered())
    value, table = forecasts.value, forecasts.table
    has_confidence = not np.isnan(value).all()
    is_off = ((value < 0) | (value > 1)).any() or not has_confidence
    bins = None if is_off else forecasts.mass_bins(options.bins)
    silent = np.zeros((len(by_cell.cells), 0), dtype=np.int64)
    if by_cell.silent is not None:
        options = options._replace(penalty=1.0 if options.penalty is None else options.penalty)
        outcomes = [by_cell.silent == one for one in (FORCED_WRONG, FORCED_RIGHT, UNFORCED)]
        times = [np.bincount(by_cell.cell[x], minlength=len(silent)) for x in outcomes]
        silent = np.stack(times, axis=1)
    flags = {"has_confidence": has_confidence, "is_forced": graded.forced_correct is not None}
    options = options._replace(**flags)
    cells = []
    for part, own in zip(forecasts.parts(), silent, strict=True):
        # A cell that answered nothing has one confidence, a missing one, of no trial.
        is_empty = part.start == part.stop
        confidence = np.full(1, np.nan) if is_empty else value[part]
        counted = np.zeros((2, 1), dtype=np.int64) if is_empty else table[:, part]
        bin_of = None if bins is None else (counted[0] if is_empty else bins[part])
        cells.append(Cell(confidence, counted, own, bin_of, options))
    return MergedTrials(graded, by_cell, cells, options)


def together(parts: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Measures of several parts, one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


# How often each trial counts


def drawn_tables(
    merged: MergedTrials, n: int, kind: Drawn, entropy: int
) -> Iterator[Iterable[Weights]]:
    """Weights of each cell, some draws at a time, of trials or of units drawn."""
    by_cell, cells = merged.by_cell, merged.cells
    width = max(2 * len(cell.confidence) for cell in cells)
    if merged.graded.cluster is None:
        rngs = [cell_generator(entropy, place) for place in range(len(cells))]
        for size in sizes_of(n, width):
            yield [drawn_trials(*one, size, kind) for one in zip(cells, rngs, strict=True)]
        return
    number = int(by_cell.drawn.max()) + 1
    if number < 2:
        got = f"a single level of {by_cell.unit!r}"
        raise TooFewError("cluster", got, "at least two units")
    rng = np.random.default_rng(entropy)
    outcomes = unit_outcomes(merged, number)
    for size in sizes_of(n, max(number, width)):
        if kind == "dirichlet":
            weights = number * rng.dirichlet(np.ones(number), size=size)
        else:
            weights = rng.multinomial(number, np.full(number, 1 / number), size=size).astype(float)
        times = np.ascontiguousarray(weights.T)
        yield (own.weights_of((x @ times).T) for own, x in zip(cells, outcomes, strict=True))


def drawn_trials(cell: Cell, rng: np.random.Generator, size: int, kind: Drawn) -> Weights:
    """Weights of trials drawn separately."""
    outcomes = np.append(cell.table[::-1].ravel(), cell.silent)
    total = int(outcomes.sum())
    if kind == "dirichlet":
        drawn = rng.standard_gamma(outcomes, size=(size, len(outcomes)))
        drawn *= total / drawn.sum(axis=1, keepdims=True)
    else:
        drawn = rng.multinomial(total, outcomes / total, size=size).astype(float)
    tables, silent = cell.weights_of(drawn)
    return Weights(tables[:, ::-1], silent)


def unit_outcomes(merged: MergedTrials, number: int) -> list[csr_array]:
    """Trials of each cell by outcome and unit: wrong, right and abstained ones."""
    by_cell = merged.by_cell
    ends = np.cumsum(np.bincount(by_cell.cell, minlength=len(merged.cells)))
    places = np.split(np.argsort(by_cell.cell, kind="stable"), ends[:-1])
    found = []
    for cell, own in zip(merged.cells, places, strict=True):
        width = len(cell.confidence)
        row = np.searchsorted(cell.confidence, by_cell.value[own]) + width * by_cell.right[own]
        if by_cell.silent is not None:
            silent = by_cell.silent[own]
            row = np.where(silent == ANSWERED, row, 2 * width + silent)
        shape = (2 * width + len(cell.silent), number)
        found.append(coo_array((np.ones(len(own)), (row, by_cell.drawn[own])), shape).tocsr())
    return found


def sizes_of(n: int, width: int) -> list[int]:
    """Numbers of draws that are made together, each of so many numbers."""
    step = max(1, AT_ONCE // width)
    return [min(step, n - start) for start in range(0, n, step)]
