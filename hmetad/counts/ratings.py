"""Confidence becomes ratings 1..K, K the most confident: as given, by levels, or by quantiles.

Values of confidence → integer ratings; rows of any number → their distinct rows with ratings, cut
where `bin_confidence` cuts.
"""

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import whole
from hmetad.base.errors import (
    ConflictError,
    InputError,
    KindError,
    LabelError,
    NeedError,
    NumberError,
    RatingError,
    ShapeError,
    TooFewError,
    listed_both,
)
from hmetad.base.notice import Notice, notice_of
from hmetad.base.notice_registry import limit
from hmetad.counts.columns import (
    USUAL_CODES,
    USUAL_TEXTS,
    Trials,
    code_notices,
    code_steps,
    frequencies_of,
    listed,
    looks_like_codes,
    plain_array,
    refuse_absent,
    suspected_codes,
    with_numbers,
    with_trials,
)
from hmetad.rows.quantiles import NumberColumn
from hmetad.rows.queries import Rows, Tally, plain_value, regrouped
from hmetad.rows.values import GAPS, NUMBER, refuse_unwritable

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
Method = Literal["quantile", "edges"]
Cuts = Sequence[float] | None
Group = Sequence[Hashable] | ArrayLike | None

MOST_RATINGS = 1000
# Share of the values that are taken for mistakes, and rows in which one is looked for.
FEW_MISTAKES, MOST_LOOKED_AT = 0.05, 100_000
# Ratings whose cuts are told one by one.
MOST_CUTS = 8
# Trials of a quantile, relative to equal quantiles, below which these are far from equal.
FEWEST_IN_QUANTILE = 0.5
# More are no ratings that people choose from.
MOST_INFERRED = 20
# A warning points to the first caller outside of it.
# What to do with confidence that is not ratings.
CONTINUOUS = (
    "Continuous confidence becomes ratings with quantiles=4, or bin_confidence.",
    "Continuous confidence becomes ratings with --quantiles 4.",
)
PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Scale:
    """How confidence becomes ratings: what the arguments of functions that count say of it."""

    confidence: str
    quantiles: int | None = None
    within: str | Sequence[str] = ()
    ratings: int | None = None
    levels: Sequence[str | float] | None = None
    cuts: tuple[float, ...] = ()

    @property
    def rule(self) -> str:
        """How confidence became ratings, in words."""
        if self.quantiles is None:
            return f"the largest in column {self.confidence!r}"
        within = [self.within] if isinstance(self.within, str) else [*self.within]
        where = f", within {' and '.join(within)}" if within else ""
        cuts = f", cut at {', '.join(f'{cut:g}' for cut in self.cuts)}" if self.cuts else ""
        return f"quantiles of column {self.confidence!r}{where}{cuts}"

    @property
    def argument(self) -> str:
        """The column, for a message."""
        return f"confidence column {self.confidence!r}"


# Ratings as they are given


def rating_numbers(
    groups: pd.DataFrame, n: Ints, scale: Scale, rows: Rows
) -> tuple[Ints, int, str]:
    """Ratings 1..K of distinct rows of a table, K, and the rule that K comes from."""
    # With a word for a missing value, ratings of a file are text.
    column = (with_numbers(groups, [scale.confidence]) if rows.codes else groups)[scale.confidence]
    if scale.levels is not None:
        rating, names = level_ratings(column, n, scale)
        K = len(names)
        return rating, K, f"K = {K}, the levels {', '.join(names)} of column {scale.confidence!r}"
    named = [value for value in column.tolist() if isinstance(value, str | bool)]
    if named and not isinstance(named[0], str):
        steps = named_levels([False, True])
        raise KindError(scale.argument, f"booleans such as {named[0]!r}", "integers 1..K", *steps)
    if named:
        raise text_as_confidence(scale.argument, column, n, "integers 1..K", rows)
    rating, K = whole_ratings(plain_array(scale.argument, column), n, scale)
    return rating, K, f"K = {K}, {scale.rule if scale.ratings is None else 'given'}"


def level_ratings(column: pd.Series, n: Ints, scale: Scale) -> tuple[Ints, list[str]]:
    """Place of each value among the levels, the least confident first, and their names.

    Case and blanks around a word do not matter, and "1" is 1.
    """
    for name in ("ratings", "quantiles"):
        if getattr(scale, name) is not None:
            raise ConflictError("levels", name)
    levels = listed("levels", scale.levels)
    places = {plain_value(level): place for place, level in enumerate(levels, 1)}
    if len(places) < max(2, len(levels)):
        allowed = "two different levels or more, the least confident first"
        raise RatingError("levels", repr(levels), allowed)
    names, values = [*map(str, levels)], [*map(plain_value, column.tolist())]
    is_unknown = np.array([value not in places for value in values], dtype=bool)
    if is_unknown.any():
        steps = (
            "Name all in levels=, the least confident first, or missing ones in missing_codes=.",
            "Name all in --levels, the least confident first, or missing ones in --missing-codes.",
        )
        allowed = f"one of the levels {', '.join(names)}"
        unknown = frequencies_of(column[is_unknown].tolist(), n[is_unknown])
        raise RatingError(scale.argument, with_trials(unknown), allowed, *steps)
    return np.array([places[value] for value in values], dtype=np.int64), names


def whole_ratings(values: NDArray[Any], n: Ints, scale: Scale) -> tuple[Ints, int]:
    """Numbers as ratings, and K; others are refused, with the way to make ratings of them."""
    suspects, is_inferred = suspected_codes(values, n), scale.ratings is None
    off = values != np.round(values)
    off = off if off.any() else np.isinf(values)
    if off.any():
        shown = ", ".join(f"{value:g}" for value in values[off][:3])
        steps = joined_steps(code_steps(suspects) or level_steps(values), CONTINUOUS)
        got = f"{int(n[off].sum())} values such as {shown}"
        raise RatingError(scale.argument, got, "integers 1..K", *steps)
    # Clipped, since a float beyond 64 bits has no integer; it is out of range in any case.
    rating = np.clip(values, -(2**53), 2**53).astype(np.int64)
    K = int(rating.max() if scale.ratings is None else scale.ratings)
    if not is_inferred:
        whole(1, MOST_RATINGS)("ratings", scale.ratings)
    most = MOST_INFERRED if is_inferred and scale.quantiles is None else MOST_RATINGS
    has_codes = bool(suspects) and is_inferred and (most < K or rating.min() < 1)
    highest = rating[~np.isin(rating, [*suspects])].max() if has_codes else K
    out = (rating < 1) | (rating > highest)
    if most < K and not (has_codes and out.any()):
        steps = joined_steps(level_steps(values), CONTINUOUS)
        allowed = f"at most {most} ratings unless their number is given"
        raise RatingError(scale.argument, f"ratings up to {K}", allowed, *steps)
    if not out.any():
        return rating, K
    times = {value: int(n[rating == value].sum()) for value in np.unique(rating[out]).tolist()}
    steps = code_steps(suspects)
    low, high = int(rating.min()), max(int(rating.max()), int(highest) - 1 - is_inferred)
    if not steps and low < 1 and high - low < MOST_INFERRED:
        odd = ", ".join(map(str, times))
        codes = (
            f"Or, if {odd} stands for a missing answer, give {way}."
            for way in listed_both("missing_codes", times)
        )
        steps = joined_steps(named_levels(range(low, high + 1)), tuple(codes))
    steps = steps or (
        "Drop or recode these trials, or correct ratings=.",
        "Drop or recode these trials, or correct --ratings.",
    )
    allowed = "integers 1..K" if is_inferred else f"1..{K}"
    raise RatingError(scale.argument, with_trials(times), allowed, *steps)


def named_levels(levels: Iterable[object]) -> tuple[str, ...]:
    """Next steps of an error: the levels to name."""
    ways = listed_both("levels", levels)
    return tuple(f"Name the levels, the least confident first: {way}." for way in ways)


def level_steps(values: NDArray[Any]) -> tuple[str, ...]:
    """Next steps of an error: which levels a column of numbers has, where these are few."""
    levels = np.unique(values[np.isfinite(values)]).tolist()
    if not 1 < len(levels) <= MOST_INFERRED:
        return ()
    steps = named_levels([int(x) if x == int(x) else x for x in levels])
    return tuple(f"Are these ratings? {step}" for step in steps)


def joined_steps(first: Sequence[str], then: Sequence[str]) -> tuple[str, ...]:
    """Next steps one after the other, in each of the two languages."""
    return tuple(map(" ".join, zip(first, then, strict=True))) if first else tuple(then)


def text_as_confidence(
    argument: str, values: pd.Series, n: Ints | None, allowed: str, rows: Rows | None = None
) -> InputError:
    """Error for a column of confidence with text, which names the first that is no number.

    Value i stands for n[i] trials; without n nothing is counted. In `rows` its row is looked up.
    """
    texts = values.map(lambda value: value if isinstance(value, str) else np.nan).astype(object)
    refuse_unwritable(argument, texts.dropna())
    is_odd = (texts.notna() & pd.to_numeric(texts, errors="coerce").isna()).to_numpy()
    odd = texts[is_odd]
    first = pd.Series(dtype=object)
    if rows is not None:
        first = rows.first_rows([str(values.name)], MOST_LOOKED_AT).iloc[:, 0]
    rest = first[pd.to_numeric(first, errors="coerce").isna() & first.notna() & ~first.isin(GAPS)]
    if not len(odd) and len(rest):
        got = (
            f"a column of text, for {rest.iloc[0]!r:.60} is no number{row_of(rest.iloc[0], first)}"
        )
        step = "That row is not among those that are counted: remove it, or make the value missing."
        return RatingError(argument, got, allowed, step)
    shown = next(iter([*rest[rest.isin(odd)], *odd, *texts.dropna()]))
    counted = row_of(shown, first)
    if n is not None and len(odd):
        total = int(n[values.notna().to_numpy()].sum())
        off = int(n[is_odd].sum())
        are = "is no number" if off == 1 else "are no numbers"
        counted = f" ({off:,} of {total:,} values {are}{row_of(shown, first)})"
    words = sorted({*texts.dropna()})
    named = f" {', '.join(map(repr, words))}" if len(words) <= MOST_INFERRED else ""
    steps: tuple[str, ...] = tuple(
        f"Name the levels{named} in order, the least confident first, with {way}."
        for way in ("levels=", "--levels")
    )
    if len(odd) and odd.map(NUMBER.fullmatch).notna().all():
        command = "`hmetad import table FILE --decimal comma -o trials.csv`"
        steps = (f"If the commas are decimal commas, read them by {command}.",)
    # Of numbers with a sign or in sentences the numbers can be read; a few words are mistakes.
    elif odd.str.contains(r"\d").any() or len(odd) < values.notna().sum():
        steps = (
            "`hmetad import table FILE --scale probability -o trials.csv` reads confidence from "
            "text such as 83%, and counts what it cannot read, which becomes a missing value; "
            "--scale percent if bare numbers are percentages.",
        )
        rest = pd.to_numeric(values[~is_odd], errors="coerce").dropna()
        are_ratings = rest.nunique() <= MOST_INFERRED and (rest == rest.round()).all()
        if are_ratings and n is not None and len(odd) and off <= FEW_MISTAKES * total:
            ways = listed_both("missing_codes", dict.fromkeys(odd[:3]))
            steps = tuple(f"Correct it, or, if it is a missing answer, give {x}." for x in ways)
        if len(odd) and odd.str.strip().str.casefold().isin(USUAL_TEXTS).all():
            steps = code_steps(dict.fromkeys(odd, 1))
    return RatingError(argument, f"text such as {shown!r}{counted}", allowed, *steps)


def row_of(shown: str, first: pd.Series) -> str:
    """Where a text stands first among the first rows of a table; empty where it does not."""
    places = np.flatnonzero((first == shown).to_numpy())
    return f"; row {places[0] + 1:,} of the data" if len(places) else ""


# Ratings of values in memory


@overload
def bin_confidence(
    values: pd.Series, ratings: int, *, method: Method = ..., edges: Cuts = ..., within: Group = ...
) -> pd.Series: ...
@overload
def bin_confidence(
    values: ArrayLike, ratings: int, *, method: Method = ..., edges: Cuts = ..., within: Group = ...
) -> NDArray[Any]: ...
@check_inputs(skip=("edges",))
def bin_confidence(
    values: pd.Series | ArrayLike,
    ratings: int,
    *,
    method: Method = "quantile",
    edges: Cuts = None,
    within: Group = None,
) -> pd.Series | NDArray[Any]:
    r"""Ratings 1..K of continuous confidence; equal values of a group get the same rating.

    Parameters
    ----------
    values : Series or array_like of float, shape (trials,)
        Confidence in any unit, larger is more confident. Missing values stay missing.
    ratings : int
        K, at least 2.
    method : {"quantile", "edges"}, optional
        ``"quantile"``: about as many trials in each rating. ``"edges"``: cuts at `edges`.
    edges : sequence of float, shape (K - 1,), optional
        Interior cuts, strictly rising, for ``method="edges"``. A value equal to a cut goes up.
    within : sequence, shape (trials,), optional
        Group of each trial (such as the model); each group is binned separately. Fixed edges are
        the same in every group. Do not use this for hierarchical models of participants: these
        interpret equal proportions of ratings as equal participants.

    Returns
    -------
    Series or ndarray, shape (trials,)
        Ratings 1..K: a Series with the index of `values` for a Series, else an array. int64, or
        float64 with NaN where a value is missing.

    Raises
    ------
    InputError
        If `values` are not finite or all missing; if K, `method`, `edges` or `within` do
        not fit.

    Warns
    -----
    UserWarning
        If a value looks like a code for a missing answer, such as 999 next to 1 to 4. If ties, or
        fewer values than ratings, leave a group with fewer than K quantiles, or make quantiles far
        from equal (one has over 1.5 times the expected number of trials, or less than half).

    Notes
    -----
    Quantiles go by rank: with average rank :math:`\rho_i` among the n values of a group, the
    rating is :math:`\lceil K(\rho_i - 1/2)/n \rceil`. Ties share a rank, so they get the same
    rating. If they leave a quantile empty, the ratings above move down, so that a group has
    1..K' with no gap.

    Examples
    --------
    >>> bin_confidence([0.1, 0.9, 0.5, 0.7], 2)
    array([1, 2, 1, 2])
    >>> bin_confidence([0, 50, 99, 100], 2, method="edges", edges=[50])
    array([1, 2, 2, 2])
    """
    whole(2)("ratings", ratings)
    cuts = rising_edges(ratings, method, edges)
    numbers = finite_numbers(values)
    group = group_codes(values, within, len(numbers))
    known = ~np.isnan(numbers)
    there, own = numbers[known], group[known]
    suspects = suspected_codes(there, np.ones(len(there), dtype=np.int64))
    if suspects and method != "edges":
        warn(
            f"{looks_like_codes(suspects)}, and is taken as confidence: replace it by NaN if it "
            "is one."
        )
    result = np.full(len(numbers), np.nan)
    if method == "edges":
        result[known] = np.searchsorted(cuts, there, side="right") + 1
    else:
        result[known] = quantile_ratings(there, own, ratings)
        uneven = unequal_quantiles(result[known], np.ones(len(there), dtype=np.int64), ratings)
        if uneven and result[known].max() == ratings:
            warn(f"{uneven[0].message} {uneven[0].next_step}")
    binned = result.astype(np.int64) if known.all() else result
    if isinstance(values, pd.Series):
        return pd.Series(binned, index=values.index, name=values.name)
    return binned


def rising_edges(ratings: int, method: Method, edges: Sequence[float] | None) -> Floats:
    """Interior cuts as given, or an error where they do not fit; none where none are needed."""
    if (edges is not None) != (method == "edges"):
        got = f"edges={edges!r} with method={method!r}"
        raise RatingError("edges", got, "edges together with method='edges', and only there")
    allowed = f"{ratings - 1} strictly rising numbers (ratings - 1)"
    try:
        cuts = np.asarray([] if edges is None else edges, dtype=float)
    except (TypeError, ValueError) as error:
        raise RatingError("edges", repr(edges), allowed) from error
    is_rising = np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
    if edges is not None and (cuts.shape != (ratings - 1,) or not is_rising):
        raise RatingError("edges", repr(edges), allowed)
    return cuts


def finite_numbers(values: Any) -> Floats:
    """Values as floats, NaN where missing."""
    if np.ndim(values) != 1 or np.size(values) == 0:
        raise ShapeError("values", f"shape {np.shape(values)}", "one value per trial, shape (n,)")
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    series = series.infer_objects()
    if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        step = "Turn text into numbers first, for instance by pd.to_numeric."
        raise KindError("values", f"values of type {series.dtype}", "numbers", step)
    numbers = np.asarray(series.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)
    if np.isinf(numbers).any():
        raise NumberError("values", f"{np.isinf(numbers).sum()} infinite values", "finite numbers")
    if np.isnan(numbers).all():
        raise TooFewError("values", "only missing values", "at least one number")
    return numbers


def group_codes(values: Any, within: Any, size: int) -> Ints:
    """Whole number per trial that names its group."""
    if within is None:
        return np.zeros(size, dtype=np.int64)
    if isinstance(within, str) or np.shape(within) != (size,):
        got = repr(within) if isinstance(within, str) else f"shape {np.shape(within)}"
        step = "Pass the column itself, such as within=trials['subject']."
        raise LabelError("within", got, f"one group label for each of {size} trials", step)
    both = isinstance(values, pd.Series) and isinstance(within, pd.Series)
    if both and not values.index.equals(within.index):
        raise ShapeError("within", "another index than values", "the index of values")
    codes, _ = pd.factorize(pd.Series(within))
    if (codes < 0).any():
        got = f"{(codes < 0).sum()} missing labels"
        raise LabelError("within", got, f"one group label for each of {size} trials")
    return codes.astype(np.int64)


def quantile_ratings(values: Floats, group: Ints, ratings: int) -> Ints:
    """Ratings by average rank within each group, without gaps."""
    ranked = pd.Series(values).groupby(group)
    # Twice the rank, less 1, is whole.
    odd = (2 * ranked.rank() - 1).astype(np.int64)
    by_group = (-(-ratings * odd // (2 * ranked.transform("size")))).groupby(group)
    warn_of_lost_ratings(by_group.nunique().min(), ratings)
    return by_group.rank(method="dense").to_numpy().astype(np.int64)


def unequal_quantiles(rating: NDArray[Any], n: Ints, ratings: int) -> list[Notice]:
    """Notice of quantiles that equal values make far from equal; ratings stand for n trials each.

    One has over 1.5 times the trials of equal quantiles, or less than half of them.
    """
    trials = np.bincount(rating.astype(np.int64), n, ratings + 1)[1:]
    equal = trials.sum() / ratings
    # Without equal values the sizes differ by one.
    most, least = limit("unequal-quantiles") * equal + 1, FEWEST_IN_QUANTILE * equal - 1
    if trials.max() <= most and trials.min() >= least:
        return []
    shares = [f"{100 * one / trials.sum():.0f}" for one in trials]
    ends = f"{min(shares, key=float)} to {max(shares, key=float)}"
    listed = ", ".join(shares) if ratings <= MOST_CUTS else ends
    return [notice_of("unequal-quantiles", listed=listed)]


def warn_of_lost_ratings(remaining: int, ratings: int) -> None:
    """Warn where equal values give fewer ratings than requested."""
    if remaining < ratings:
        warn(
            f"Equal or too few values: {remaining} of {ratings} ratings remain in the group with "
            "the fewest. Choose the cuts, as with method='edges', or request fewer ratings."
        )


def warn(text: str) -> None:
    """Warn at the line of the caller outside of the package."""
    warnings.warn(text, UserWarning, skip_file_prefixes=(PACKAGE,))


# Ratings of rows of any number


def rated_tally(
    trials: Trials, scale: Scale, others: Sequence[Sequence[str]]
) -> tuple[Tally, list[Notice], Scale]:
    """Distinct rows of the columns in use with ratings in the place of the confidence.

    The ratings are those there are, or quantiles. With what the making of ratings shows, and where
    it cut. `others` are the columns of each question that follows.
    """
    rows, used, n = trials.rows, trials.used, trials.n
    within = [scale.within] if isinstance(scale.within, str) else scale.within
    if scale.quantiles is None:
        if within:
            raise NeedError("quantiles_within", "quantiles")
        rows.prepare([used, *others], n)
        return rows.distinct(used, n), [], scale
    whole(2)("quantiles", scale.quantiles)
    for name in within:
        refuse_absent("quantiles_within", name, rows.columns)
    kept = [name for name in used if name != scale.confidence]
    check = partial(check_texts, scale=scale, rows=rows)
    column = NumberColumn(rows, scale.confidence, within, n, kept, check)
    rows.prepare([column.columns, *others], n)
    rated = column.rated(scale.quantiles, USUAL_CODES.tolist())
    warn_of_lost_ratings(rated.fewest, scale.quantiles)
    groups, number = rated.rows
    rating = groups.pop("rating")
    integers = rating if rating.isna().any() else rating.astype(np.int64)
    chosen = groups.assign(**{scale.confidence: integers})[list(used)]
    seen = code_notices(scale.confidence, rated.values, rated.trials)
    is_rated = rating.notna().to_numpy()
    uneven = unequal_quantiles(rating[is_rated].to_numpy(), number[is_rated], scale.quantiles)
    cuts = () if within or scale.quantiles > MOST_CUTS else tuple(rated.cuts)
    return regrouped(chosen, number), [*seen, *uneven], replace(scale, cuts=cuts)


def check_texts(texts: pd.Series, *, scale: Scale, rows: Rows) -> None:
    """Raise an error for values of which one is neither a number nor missing."""
    if texts.map(lambda value: isinstance(value, bool | np.bool_)).any():
        raise KindError(scale.argument, "booleans", "numbers")
    known = texts[~(texts.isin(GAPS) | texts.isna())]
    if pd.to_numeric(known, errors="coerce").isna().any():
        named = known.rename(scale.confidence)
        raise text_as_confidence(scale.argument, named, None, "numbers", rows)
