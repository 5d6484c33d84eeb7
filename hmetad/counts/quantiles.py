"""Ratings by quantiles of confidence, for rows of any number, in two passes over them.

Rows with numbers as confidence → their distinct rows with ratings 1..K, as of `bin_confidence`. The
first pass counts confidence in bins of its leading bits. A bin that no boundary of ratings falls
into has one rating; of the others the second pass keeps the values, so that the result is exact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hmetad.counts.binning import check_ratings, quantile_of, without_gaps
from hmetad.counts.columns import USUAL, check_roles, code_notices, text_as_confidence
from hmetad.errors import InputError, nearest
from hmetad.notice import Notice
from hmetad.rows.queries import Distinct, Piece, Query
from hmetad.rows.rows import Rows, Tally, regrouped
from hmetad.rows.tables import GAPS

__all__ = ["Ask", "asking"]

Ints = NDArray[np.int64]

# A bin is the sign, the exponent and the first 12 bits of the fraction of a double.
SHIFT, BINS = 40, 2**24
# Columns that rows get; no column of trials has a NUL in its name.
GROUP, BIN, RATING, EXACT = "group\0", "bin\0", "rating\0", "exact\0"
MISSING, IS_EXACT = -1, 0


type Ask = Callable[[Sequence[Query]], list[Any]]


def asking(
    rows: Rows,
    confidence: str,
    used: Sequence[str],
    n: str | None,
    quantiles: int | None,
    within: str | Sequence[str],
) -> tuple[Ask, list[Notice]]:
    """Function that answers queries about rows with ratings, and what their making shows.

    Ratings are those there are, or quantiles.
    """
    if n is not None:
        check_roles(rows.columns, [("n", n), *(("column", name) for name in used)])
    if quantiles is None:
        if len(within):
            step = "Add quantiles=, or leave it out."
            raise InputError("quantiles_within", "no quantiles", "how many ratings to make", step)
        return partial(rows.ask, n=n), []
    check_ratings(quantiles, "quantile", None)
    columns = [within] if isinstance(within, str) else list(within)
    for name in columns:
        if name not in rows.columns:
            step = nearest(str(name), map(str, rows.columns))
            raise InputError("quantiles_within", repr(name), "a column of the trials", step)
    bins = bins_of(rows, confidence, columns, quantiles, n)
    # One value of each bin: a code where it would be in the bin.
    places, inverse = np.unique(bins.key % BINS, return_inverse=True)
    ends = in_order((places - BINS // 2) << SHIFT).view(np.float64)
    at_code = places[:, None] == bin_of((in_order(USUAL.view(np.int64)), True))
    values = np.where(at_code.any(axis=1), USUAL[at_code.argmax(axis=1)], ends)
    seen = code_notices(confidence, values, np.bincount(inverse, bins.trials).astype(np.int64))
    return partial(ask_rated, rows, bins=bins, confidence=confidence, within=columns, n=n), seen


def ask_rated(
    rows: Rows,
    queries: Sequence[Query],
    *,
    bins: "Bins",
    confidence: str,
    within: list[str],
    n: str | None,
) -> list[Any]:
    """Answers to queries, as of `Rows.ask`, ratings in the place of confidence.

    The first query is of columns with the confidence.
    """
    changed = rows.changed(
        partial(with_rating, bins, confidence, within),
        [confidence, *within],
        [GROUP, RATING, EXACT],
    )
    first, *others = queries
    kept = tuple(name for name in first.columns if name != confidence)
    asked = Distinct((*kept, GROUP, RATING, EXACT))
    (groups, number), *found = changed.ask([asked, *others], n)
    return [rated(groups, number, bins, confidence, first.columns), *found]


@dataclass(frozen=True)
class Bins:
    """What the first pass found: of each bin of each group how many trials are below.

    `groups` has a row for each group; `key` (bins,) rises and tells group and bin; `below` and
    `size` are trials below the bin, and in its group, `trials` those in it; `rating` is that of the
    bin, or 0 where values of it have different ones.
    """

    groups: pd.DataFrame
    key: Ints
    below: Ints
    size: Ints
    trials: Ints
    rating: Ints
    ratings: int


def bins_of(rows: Rows, confidence: str, within: list[str], ratings: int, n: str | None) -> Bins:
    """Bins of the confidence of all rows."""
    change = partial(with_bin, confidence)
    binned = replace(rows.changed(change, [confidence], [BIN]), finish=None)
    ((found, number),) = binned.ask([Distinct((*within, BIN))], n)
    group = group_numbers(found, within)
    groups = found[within].loc[~pd.Series(group).duplicated().to_numpy()].reset_index(drop=True)
    known = found[BIN].to_numpy() != MISSING
    key = group[known] * BINS + found[BIN].to_numpy()[known]
    order = np.argsort(key, kind="stable")
    key, trials, group = key[order], number[known][order], group[known][order]
    total = np.cumsum(trials) - trials
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    per_group = np.diff(starts, append=len(key))
    below = total - np.repeat(total[starts], per_group)
    size = np.repeat(np.add.reduceat(trials, starts) if len(key) else trials, per_group)
    low = quantile_of(2 * below + 1, size, ratings)
    high = quantile_of(2 * (below + trials) - 1, size, ratings)
    rating = np.where(low == high, low, IS_EXACT)
    return Bins(groups, key, below, size, trials, rating, ratings)


def group_numbers(frame: pd.DataFrame, within: list[str]) -> Ints:
    """Number of each row's group, in the order in which groups come."""
    if not within:
        return np.zeros(len(frame), dtype=np.int64)
    groups = frame.groupby(within, dropna=False, observed=True, sort=False)
    return groups.ngroup().to_numpy().astype(np.int64)


def with_bin(confidence: str, piece: Piece) -> Piece:
    """Piece with the bin of the confidence."""
    order = orders_of(piece, confidence)
    return with_columns(piece, {BIN: bin_of(order)})


def bin_of(order: tuple[Ints, NDArray[np.bool_] | bool]) -> Ints:
    """Bins from 0 on of ordered bits, or what stands for a missing value."""
    bits, known = order
    return np.where(known, (bits >> SHIFT) + BINS // 2, MISSING)


def with_rating(bins: Bins, confidence: str, within: list[str], piece: Piece) -> Piece:
    """Piece with the number of the group, the rating, and the bits where these decide."""
    bits, known = order = orders_of(piece, confidence)
    group = known_groups(bins.groups, plain_frame(piece, within), within)
    place = np.searchsorted(bins.key, group * BINS + bin_of(order))
    # Rows that stand for no trial may have a bin of their own; they are dropped in the end.
    known &= place < len(bins.key)
    rating = np.full(len(bits), MISSING)
    rating[known] = bins.rating[place[known]]
    exact = np.where(rating == IS_EXACT, bits, 0)
    return with_columns(piece, {GROUP: group, RATING: rating, EXACT: exact})


def known_groups(groups: pd.DataFrame, frame: pd.DataFrame, within: list[str]) -> Ints:
    """Number of each row's group among those of the first pass."""
    own = group_numbers(frame, within)
    if not within:
        return own
    first = frame.loc[~pd.Series(own).duplicated().to_numpy(), within].astype(object)
    numbered = groups.astype(object).assign(**{GROUP: np.arange(len(groups))})
    # Groups whose rows all stand for no trial have no number.
    found = first.merge(numbered, on=within, how="left")[GROUP].fillna(len(groups))
    return found.to_numpy(dtype=np.int64)[own]


def rated(
    groups: pd.DataFrame, n: Ints, bins: Bins, confidence: str, columns: Sequence[str]
) -> Tally:
    """Distinct rows with the ratings that all values together give."""
    group, rating = groups[GROUP].to_numpy(), groups[RATING].to_numpy(dtype=np.int64).copy()
    decides = rating == IS_EXACT
    if decides.any():
        rating[decides] = exact_ratings(
            group[decides], groups[EXACT].to_numpy(dtype=np.int64)[decides], n[decides], bins
        )
    known = rating != MISSING
    plain = pd.Series(rating, dtype="float64").where(known)
    if known.any():
        plain[known] = without_gaps(rating[known], group[known], bins.ratings)
    values = plain.astype(np.int64) if known.all() else plain
    chosen = groups.assign(**{confidence: values.to_numpy()})[list(columns)]
    return regrouped(chosen, n)


def exact_ratings(group: Ints, bits: Ints, n: Ints, bins: Bins) -> Ints:
    """Ratings of values, from the trials below their bin and those below them in it."""
    frame = pd.DataFrame({"group": group, "bits": bits, "n": n})
    values = frame.groupby(["group", "bits"], sort=True)["n"].sum().reset_index()
    key = values["group"].to_numpy() * BINS + (values["bits"].to_numpy() >> SHIFT) + BINS // 2
    place, times = np.searchsorted(bins.key, key), values["n"].to_numpy()
    in_bin = times.cumsum() - times
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    below = bins.below[place] + in_bin - in_bin[first][inverse]
    values["rating"] = quantile_of(2 * below + times, bins.size[place], bins.ratings)
    return frame.merge(values, on=["group", "bits"], how="left")["rating"].to_numpy()


def orders_of(piece: Piece, confidence: str) -> tuple[Ints, NDArray[np.bool_]]:
    """Integers in the order of the numbers of a column, and which are there."""
    numbers = text_numbers(piece, confidence)
    if numbers is None:
        numbers = numbers_of(plain_frame(piece, [confidence])[confidence], confidence)
    known = ~np.isnan(numbers)
    if np.isinf(numbers).any():
        got = f"{np.isinf(numbers).sum()} infinite values"
        raise InputError(f"confidence column {confidence!r}", got, "finite numbers")
    # The bits of negative numbers rise while the numbers fall; -0 is 0.
    return in_order((numbers + 0.0).view(np.int64)), known


def in_order(bits: Ints) -> Ints:
    """Bits of numbers as integers in the order of the numbers, and these as bits."""
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def text_numbers(piece: Piece, confidence: str) -> NDArray[np.float64] | None:
    """Numbers of a column of Arrow text, where all are plain numbers, as Arrow reads them."""
    if not isinstance(piece, pa.Table) or not pa.types.is_dictionary(piece[confidence].type):
        return None
    column = piece[confidence].combine_chunks()
    is_gap = pc.is_in(column.dictionary, pa.array(GAPS))
    try:
        levels = pc.if_else(is_gap, None, column.dictionary).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    found = levels.take(column.indices).to_numpy(zero_copy_only=False)
    return np.asarray(found, dtype=np.float64)


def numbers_of(values: pd.Series, confidence: str) -> NDArray[np.float64]:
    """Numbers of a column, NaN where missing; text of a CSV is read as numbers."""
    argument = f"confidence column {confidence!r}"
    if pd.api.types.is_bool_dtype(values.dtype):
        raise InputError(argument, "booleans", "numbers")
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    codes, levels = pd.factorize(values)
    texts = pd.Series(levels.astype(object))
    found = pd.to_numeric(texts, errors="coerce")
    named = texts[found.isna() & ~texts.isin(GAPS)]
    if len(named):
        raise text_as_confidence(argument, texts[~texts.isin(GAPS)], None, "numbers")
    return np.append(found.to_numpy(dtype=np.float64), np.nan)[codes]


def plain_frame(piece: Piece, columns: list[str]) -> pd.DataFrame:
    """DataFrame of some columns, text of Arrow as categories."""
    if isinstance(piece, pa.Table):
        return piece.select(columns).to_pandas()
    return piece[columns]


def with_columns(piece: Piece, new: dict[str, Ints]) -> Piece:
    """Piece with further columns."""
    if isinstance(piece, pa.Table):
        for name, values in new.items():
            piece = piece.append_column(name, pa.array(values))
        return piece
    return piece.assign(**new)
