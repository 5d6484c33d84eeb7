"""What is asked of rows, piece by piece: which there are, what differs in groups, a sample of them.

Piece of a table (pandas or Arrow) → partial answer; partial answers → the answer.
Source: Cohen & Kaplan (2007) for samples of the keys with the smallest hashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from hmetad.errors import InputError
from hmetad.rows.arrow import frame_of

__all__ = ["PLAIN_KINDS", "Distinct", "Piece", "Query", "Sample", "Spread", "Values"]

type Piece = pd.DataFrame | pa.Table
type Query = Distinct | Sample | Spread

# Columns of partial answers, under names that nobody gives. Of a name with NUL pandas below 3 reads
# the beginning alone.
N, LOW, HIGH, HASH, ORDER = "\x1fn", "\x1flow", "\x1fhigh", "\x1fhash", "\x1forder"
MOST_ROWS = 5_000_000
MOST_VALUES = 2000
PLAIN_KINDS = frozenset(["boolean", "categorical", "empty", "floating", "integer", "string"])


@dataclass(frozen=True)
class Distinct:
    """The distinct rows of some columns, and how many rows each stands for.

    Parameters
    ----------
    columns : tuple of str
    most : int, optional
        With more distinct rows than this there is no answer: None.
    """

    columns: tuple[str, ...]
    most: int | None = None

    def ask(self, piece: Piece) -> pd.DataFrame | None:
        """Distinct rows of a piece, with their number."""
        names = list(self.columns)
        if isinstance(piece, pa.Table):
            groups = piece.select(names).group_by(names, use_threads=False)
            found = frame_of(groups.aggregate([([], "count_all")]))
            return self.within(found.rename(columns={"count_all": N}))
        if self.within(piece[names].head(10_000).drop_duplicates()) is None:
            return None
        sizes = piece.groupby(names, dropna=False, observed=True, sort=False).size()
        return self.within(sizes.rename(N).reset_index())

    def merge(self, parts: Sequence[pd.DataFrame | None]) -> pd.DataFrame | None:
        """Distinct rows of all pieces, with their number."""
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        if len(known) == 1:
            return known[0]
        together = pd.concat(known, ignore_index=True)
        grouped = together.groupby(list(self.columns), dropna=False, observed=True, sort=False)
        merged = grouped[N].sum().reset_index()
        if len(merged) > MOST_ROWS:
            step = (
                "Confidence that is no rating becomes ratings by quantiles=4; group by columns "
                "that many trials have in common."
            )
            got = f"over {MOST_ROWS:,} different rows of {', '.join(self.columns)}"
            raise InputError("trials", got, "rows that repeat", step)
        return self.within(merged)

    def within(self, found: pd.DataFrame) -> pd.DataFrame | None:
        """The same, or None where there are too many."""
        return found if self.most is None or len(found) <= self.most else None


class Values(NamedTuple):
    """What a column holds within groups.

    Parameters
    ----------
    several : DataFrame
        One row per group, and whether it has several values (column `several`).
    sample : DataFrame
        Distinct rows of the groups and `value`, of at most 2000 values, the same in all groups.
    are_numbers, are_unique : bool
        Whether all values are numbers; whether no two rows of the sample share one.
    """

    several: pd.DataFrame
    sample: pd.DataFrame
    are_numbers: bool
    are_unique: bool


@dataclass(frozen=True)
class Spread:
    """Whether a column has several values within groups, and which groups share values.

    Parameters
    ----------
    groups : tuple of str
        Columns of the groups.
    column : str
        Of a number only the absolute value is used: its sign often is that of the stimulus.
    """

    groups: tuple[str, ...]
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in use."""
        return (*self.groups, self.column)

    def ask(self, piece: Piece) -> tuple[pd.DataFrame, pd.DataFrame, bool] | None:
        """Smallest and largest hash of the values of each group, and a sample of the values."""
        frame = frame_of(piece.select(list(self.columns))) if isinstance(piece, pa.Table) else piece
        if pd.api.types.infer_dtype(frame[self.column], skipna=True) not in PLAIN_KINDS:
            return None
        # Groups are numbered, since one may be named like the values.
        rows = frame[list(self.columns)].set_axis([*range(len(self.groups)), "value"], axis=1)
        codes, levels = pd.factorize(rows["value"])
        values, are_numbers = plain_values(levels)
        hashes = pd.util.hash_array(values, categorize=False)
        known = codes[codes >= 0]
        rows = rows[codes >= 0].assign(value=values[known], **{HASH: hashes[known]})
        kept = rows[rows[HASH] <= cut_of(hashes)]
        return self.spread_of(rows, HASH, HASH), self.sample_of(kept.assign(**{N: 1})), are_numbers

    def spread_of(self, rows: pd.DataFrame, low: str, high: str) -> pd.DataFrame:
        """Smallest and largest hash of each group."""
        named = {LOW: (low, "min"), HIGH: (high, "max")}
        return rows.groupby(self.places, observed=True, sort=False).agg(**named).reset_index()

    def sample_of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Distinct rows with the smallest hashes."""
        kept = rows[rows[HASH] <= cut_of(rows[HASH].unique())]
        keys = [*self.places, "value", HASH]
        return kept.groupby(keys, observed=True, sort=False)[N].sum().reset_index()

    @property
    def places(self) -> list[int]:
        """Names of the groups' columns in partial answers."""
        return list(range(len(self.groups)))

    def merge(
        self, parts: Sequence[tuple[pd.DataFrame, pd.DataFrame, bool] | None]
    ) -> tuple[pd.DataFrame, pd.DataFrame, bool] | None:
        """Partial answers of several pieces as one."""
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        if len(known) == 1:
            return known[0]
        spreads, samples, are_numbers = zip(*known, strict=True)
        spread = self.spread_of(pd.concat(spreads, ignore_index=True), LOW, HIGH)
        return spread, self.sample_of(pd.concat(samples, ignore_index=True)), all(are_numbers)

    def values_of(self, merged: tuple[pd.DataFrame, pd.DataFrame, bool]) -> Values:
        """The answer, with the names of the groups."""
        spread, sample, are_numbers = merged
        several = spread[self.places].assign(several=spread[LOW] < spread[HIGH])
        are_unique = bool((sample.groupby(HASH)[N].sum() == 1).all())
        return Values(several, sample.drop(columns=[N, HASH]), are_numbers, are_unique)


@dataclass(frozen=True)
class Sample:
    """Rows at random, with their values in some columns; all rows where there are few.

    Parameters
    ----------
    columns : tuple of str
    most : int
        Rows that are kept.
    """

    columns: tuple[str, ...]
    most: int

    def ask(self, piece: Piece) -> pd.DataFrame:
        """Rows of a piece, each with its place in a random order."""
        # The same rows are drawn whenever a table is read in the same pieces.
        order = np.random.default_rng(len(piece)).random(len(piece), dtype=np.float32)
        if len(piece) <= self.most:
            kept = np.arange(len(piece))
        else:
            kept = np.sort(np.argpartition(order, self.most)[: self.most])
        names = list(self.columns)
        if isinstance(piece, pa.Table):
            return frame_of(piece.select(names).take(kept)).assign(**{ORDER: order[kept]})
        return piece[names].take(kept).assign(**{ORDER: order[kept]})

    def merge(self, parts: Sequence[pd.DataFrame | None]) -> pd.DataFrame | None:
        """The first rows of all pieces in the random order, as they come in the table."""
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        together = known[0] if len(known) == 1 else pd.concat(known, ignore_index=True)
        if len(together) <= self.most:
            return together
        kept = np.argpartition(together[ORDER].to_numpy(), self.most)[: self.most]
        return together.take(np.sort(kept))


def plain_values(levels: pd.Index) -> tuple[NDArray[np.generic], bool]:
    """Distinct values for hashing, and whether all are numbers; these without their sign.

    Numbers that stand as text, as in a CSV, are numbers.
    """
    if pd.api.types.is_bool_dtype(levels.dtype):
        return levels.to_numpy(dtype=np.int64), False
    numbers = pd.to_numeric(pd.Series(levels.astype(object)), errors="coerce")
    if len(levels) and numbers.notna().all():
        return np.abs(numbers.to_numpy(dtype=np.float64)), True
    return levels.astype(str).to_numpy(dtype=object), False


def cut_of(hashes: NDArray[np.uint64]) -> np.uint64:
    """The largest of the hashes that are kept."""
    if len(hashes) <= MOST_VALUES:
        return np.uint64(np.iinfo(np.uint64).max)
    return np.uint64(np.partition(hashes, MOST_VALUES - 1)[MOST_VALUES - 1])
