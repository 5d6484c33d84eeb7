"""Multiple choice becomes two-alternative trials: the right option against each wrong one.

DataFrame of questions with the probability of every option → DataFrame with stimulus, response and
confidence of pairs → count table. Source: Wang et al. (2025) for the pairs; Luce (1959) for the
choice between two of several options.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import InputError
from hmetad.base.notice import Notice, notice_of, notices, with_notices
from hmetad.counts.columns import as_text, check_roles, column_names, named_rows
from hmetad.counts.counting import count_trials
from hmetad.counts.items import item_columns
from hmetad.counts.noticed import POSITIONS, WRONG_OPTION, add_notices, dependence
from hmetad.counts.ratings import bin_confidence
from hmetad.rows.lines import json_value
from hmetad.rows.sources import rows_of

__all__ = ["Orders", "count_pairs", "option_pairs", "probability_matrix", "right_options"]

Orders = Literal["both", "listed"]
type By = str | Sequence[str] | Mapping[str, str]
type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]

# Rows times options, which are held as numbers all at once.
MOST_OPTIONS = 200_000_000
SHARED = ("paired-options", "confidence-of-the-choice", "mixed-items")
OWN = ("item", WRONG_OPTION, "stimulus", "response", "confidence")


@check_inputs(skip=("trials",))
def option_pairs(
    trials: pd.DataFrame,
    *,
    probabilities: str | Sequence[str] = "option_probabilities",
    target: str = "target",
    item: str | None = "item",
    by: By = (),
    keep: str | Sequence[str] = (),
    ratings: int | None = None,
    orders: Orders = "both",
) -> pd.DataFrame:
    r"""Two-alternative trials of a multiple choice: its right option against each wrong one.

    Parameters
    ----------
    trials : DataFrame
        One row per question answered, at least two options each; their number may differ.
    probabilities : str or sequence of str, optional
        Column of lists (or of JSON text of lists) with the probability of each option; or the
        columns of the options, in which a missing value says that the question has no such option.
        They need not sum to 1.
    target : str, optional
        Column with the right option: its number from 0, its letter from A, or the name of its
        column, with or without what the names of all columns begin with.
    item : str, optional
        Column that names the question; None: every row is a question of its own.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns to keep, under new names where a mapping gives them, as in `count_trials`.
    keep : str or sequence of str, optional
        Further columns to keep, such as those that tell items of the same name apart.
    ratings : int, optional
        K of ratings, quantiles of the confidence of all pairs, as `bin_confidence` and
        ``hmetad import --ratings`` make them. By default confidence stays continuous.
    orders : {"both", "listed"}, optional
        ``"both"``: the right option comes once as A and once as B, as in Wang et al., so that no
        position is favoured. ``"listed"``: the two keep the order they have in the question.

    Returns
    -------
    DataFrame
        Columns of `by` and `keep`, then ``item``, ``wrong_option`` (its number, from 0),
        ``stimulus`` and ``response`` ("A" or "B": the place of the right option, and of the one
        chosen) and ``confidence`` (probability of ½ to 1, or rating 1..K). Attrs: ``orders``, and
        ``notices`` (JSON): what was left out, and the two warnings that `count_pairs` gives to its
        table.

    Raises
    ------
    InputError
        If a column is missing, or used twice; if probabilities are negative, no numbers or all
        missing; if a target is none of the options; if an argument is none of the above.

    Notes
    -----
    Of the right option's probability p and a wrong one's q, the larger is chosen, with confidence

    .. math:: \max(p, q) / (p + q)

    which is what a chooser would do who gives up the other options without changing the odds of
    these two (Luce's axiom); no pair was asked for as a question. Where p = q, 0 included, they are
    tied: confidence is ½, and A is chosen in one pair and B in the next, so that half of the ties
    are right; with both orders each tied pair is right once and wrong once. Only pairs of wrong
    answers can have 0 twice, as where probabilities were rounded: to leave them out would make d′
    too large. A notice has their number. Rows are left out that have no probability above 0, no
    target or no second option.

    Pairs of one item share its right option, and the two orders of a pair are one answer seen
    twice: they are no independent trials. `count_pairs` says so in the table it makes.

    Examples
    --------
    >>> trials = pd.DataFrame({"item": ["q1"], "target": ["B"], "p": [[0.3, 0.6, 0.1]]})
    >>> pairs = option_pairs(trials, probabilities="p", orders="listed")
    >>> pairs.round(3).to_dict("records")[0]
    {'item': 'q1', 'wrong_option': 0, 'stimulus': 'B', 'response': 'B', 'confidence': 0.667}
    """
    trials = named_rows(rows_of(trials), by, probabilities, target, item, keep).frame()
    groups = column_names("by", by)
    kept = [keep] if isinstance(keep, str) else list(keep)
    check_arguments(trials, probabilities, target, item, groups, kept)
    matrix, names = probability_matrix(trials, probabilities)
    right = right_options(trials[target], names, matrix)
    row, wrong, found = pairs_of(matrix, right)
    keys = trials[groups].iloc[row].reset_index(drop=True)
    items = np.arange(len(trials)) if item is None else trials[item].to_numpy()
    p, q = matrix[row, right[row]], matrix[row, wrong]
    times = len(POSITIONS) if orders == "both" else 1
    is_b = np.tile([False, True], len(row)) if orders == "both" else right[row] > wrong
    # In the order of the question a place has ties of its own, which the other does not balance.
    nth = nth_tie(p == q, keys if orders == "both" else keys.assign(**{"": is_b}))
    found += tied_pairs(p, q)
    p, q, nth = np.repeat(p, times), np.repeat(q, times), np.repeat(nth, times)
    says_b = np.where(p == q, nth % 2 == 1, (p > q) == is_b)
    frame = trials[[*groups, *kept]].iloc[np.repeat(row, times)].reset_index(drop=True)
    frame["item"] = items[np.repeat(row, times)]
    frame[WRONG_OPTION] = np.repeat(wrong, times)
    frame["stimulus"], frame["response"] = (
        np.take(POSITIONS, x.astype(int)) for x in (is_b, says_b)
    )
    frame["confidence"] = rate_confidence(pair_confidence(p, q), ratings)
    found += dependence(len(frame), number_of_items(frame))
    frame.attrs = add_notices({"orders": orders}, found)
    return frame


@check_inputs()
def count_pairs(
    pairs: pd.DataFrame, *, by: By = (), covariates: By = (), ratings: int | None = None
) -> xr.DataArray:
    """Count table of pairs, which says that they are no independent trials.

    Parameters
    ----------
    pairs : DataFrame
        What `option_pairs` returned, with ratings 1..K for confidence.
    by, covariates : str, sequence of str or mapping of str to str, optional
        As in `count_trials`. With ``"item"`` among `by`, the table is one for
        ``resample(..., cluster="item")``.
    ratings : int, optional
        K, as in `count_trials`.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, stimulus, response, rating); S1 is "A", S2 is
        "B". Beside the notices of `count_trials` it has two warnings: ``"paired-options"`` (how
        many pairs of how many items) and ``"confidence-of-the-choice"``; the former stands for
        ``"mixed-items"`` too.

    Raises
    ------
    InputError
        As `count_trials`; or if there is no column item.

    Notes
    -----
    Standard errors and intervals that take pairs for independent trials are too small; those by
    ``resample(count_pairs(pairs, by="item"), statistic, cluster="item")`` are not.

    Response and confidence are the sign and the size of one quantity, the log odds of the two
    options. Where it is normal with equal variances M-ratio is 1, whatever the chooser knows of
    its own errors, and it departs from 1 by the shape of that distribution alone. It depends on
    where confidence is cut into ratings too: `rank` gives no rank by M of pairs, and a page of
    measures no verdict.

    Examples
    --------
    >>> trials = pd.DataFrame({"item": [1, 2], "target": [0, 1], "p": [[0.7, 0.3], [0.6, 0.4]]})
    >>> counts = count_pairs(option_pairs(trials, probabilities="p", ratings=2))
    >>> int(counts.sum()), [notice.code for notice in notices(counts)][-2:]
    (4, ['paired-options', 'confidence-of-the-choice'])
    """
    check_roles(rows_of(pairs).columns, [("pairs", "item")])
    counts = count_trials(pairs, by=by, covariates=covariates, ratings=ratings, labels=POSITIONS)
    # What items of unequal difficulty do to pairs is said by "paired-options", with its own remedy.
    found = [notice for notice in notices(counts) if notice.code not in SHARED]
    bare = counts.assign_attrs(notices="[]")
    shared = dependence(int(counts.sum()), number_of_items(pairs))
    return with_notices(bare, [*found, *shared])


def number_of_items(pairs: pd.DataFrame) -> int:
    """Items of pairs; those of the same name in different sets are different ones."""
    return len(pairs[item_columns(pairs)].drop_duplicates())


def check_arguments(
    trials: pd.DataFrame,
    probabilities: str | Sequence[str],
    target: str,
    item: str | None,
    groups: Sequence[str],
    kept: Sequence[str],
) -> None:
    """Refuse columns that are missing or used twice."""
    columns = [probabilities] if isinstance(probabilities, str) else list(probabilities)
    if not isinstance(probabilities, str) and len(columns) < 2:
        raise InputError(
            "probabilities", repr(columns), "a column of lists, or two or more columns"
        )
    used = [("probabilities", name) for name in columns] + [("target", target)]
    grouped = [*(("by", name) for name in groups), *(("keep", name) for name in kept)]
    used += grouped + ([] if item is None else [("item", item)])
    check_roles(list(trials.columns), used)
    for argument, name in grouped:
        if name in OWN:
            step = "The item is kept in any case; rename other columns by a mapping in by=."
            raise InputError(argument, repr(name), f"names other than {', '.join(OWN)}", step)


def probability_matrix(
    trials: pd.DataFrame, probabilities: str | Sequence[str]
) -> tuple[Floats, list[str]]:
    """Probabilities (rows, options), NaN where there is no such option; names of wide columns."""
    if isinstance(probabilities, str):
        argument, names = f"column {probabilities!r}", []
        lists = [option_list(argument, value) for value in trials[probabilities].tolist()]
        most = max(map(len, lists))
        if len(lists) * most > MOST_OPTIONS:
            got = f"{most:,} options in a row, in a table of {len(lists):,} rows"
            raise InputError(argument, got, f"rows times options of at most {MOST_OPTIONS:,}")
        matrix = np.full((len(lists), most), np.nan)
        for row, values in zip(matrix, lists, strict=True):
            row[: len(values)] = values
    else:
        argument, names = "probabilities", list(probabilities)
        try:
            matrix = trials[names].to_numpy(dtype=float, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise InputError(argument, f"columns {names}: {error}", "numbers") from error
    off = np.isinf(matrix) | (matrix < 0)
    if off.any():
        step = "Log-probabilities become probabilities by numpy.exp."
        raise InputError(argument, f"{matrix[off][0]:g}", "finite numbers of 0 or more", step)
    if np.isnan(matrix).all():
        raise InputError(argument, "no probability in any row", "one for each option of a question")
    return matrix, names


def option_list(argument: str, value: Any) -> list[float]:
    """Probabilities of one question; none for a missing value."""
    if value is None or (isinstance(value, float) and np.isnan(value)) or value is pd.NA:
        return []
    try:
        is_text = isinstance(value, str)
        content = value.encode("utf-8", "surrogatepass") if is_text else b""
        options = json_value(argument, content) if is_text else value
        if isinstance(options, str | bytes | Mapping):
            raise TypeError(type(options).__name__)
        return [np.nan if p is None else float(p) for p in options]
    except (TypeError, ValueError, OverflowError) as error:
        step = "For an option in a column of its own, name all these columns."
        raise InputError(argument, repr(value)[:60], "a list of numbers per row", step) from error


def right_options(
    target: pd.Series, names: Sequence[str], matrix: Floats, role: str = "target"
) -> Ints:
    """Number of the option that each row names, -1 where it or all probabilities are missing.

    It is the right one, or what another `role` of the column says.
    """
    is_there = ~np.isnan(matrix)
    rows = np.flatnonzero(is_there.any(axis=1) & target.notna().to_numpy())
    given = target.iloc[rows].tolist()
    numbers = np.array(option_numbers(given, names, role), dtype=np.int64)
    last = matrix.shape[1] - 1
    is_lost = (numbers > last) | ~is_there[rows, np.minimum(numbers, last)]
    if is_lost.any():
        first = rows[is_lost][0]
        got = f"{given[is_lost.argmax()]!r}, which has no probability in row {first}"
        allowed = f"one of its {int(is_there[first].sum())} options"
        step = "Options are counted from 0, or by letters from A."
        raise InputError(f"{role} column {target.name!r}", got, allowed, step)
    right = np.full(len(matrix), -1)
    right[rows] = numbers
    return right


def option_numbers(targets: Sequence[Any], names: Sequence[str], role: str) -> list[int]:
    """Numbers of options: by names of columns where all targets are such, else one by one."""
    letters = zip(*names, strict=False)
    start = next((i for i, some in enumerate(letters) if len(set(some)) > 1), 0)
    known = {name[start:]: i for i, name in enumerate(names)}
    known |= {name: i for i, name in enumerate(names)}
    texts = [as_text(value).strip() for value in targets]
    if all(text in known for text in texts):
        return [known[text] for text in texts]
    return [option_number(text, known, role) for text in texts]


def option_number(text: str, known: Mapping[str, int], role: str) -> int:
    """Number of an option that is given as a number from 0 or as a letter from A."""
    if text.isascii() and text.isdecimal() and len(text) < len(str(MOST_OPTIONS)):
        return int(text)
    if len(text) == 1 and text.isascii() and text.isalpha():
        return ord(text.upper()) - ord("A")
    names = f", or one of {', '.join(map(repr, known))}" if known else ""
    allowed = f"the number of an option from 0, its letter from A{names}"
    raise InputError(role, repr(text[:60]), allowed)


def pairs_of(matrix: Floats, right: Ints) -> tuple[Ints, Ints, list[Notice]]:
    """Row and wrong option of every pair, and a notice of what was left out."""
    is_wrong = ~np.isnan(matrix) & (np.arange(matrix.shape[1]) != right[:, None])
    # Probabilities that are all 0 are none.
    is_wrong &= ((right >= 0) & (np.nansum(matrix, axis=1) > 0))[:, None]
    lost = len(matrix) - int(is_wrong.any(axis=1).sum())
    if lost == len(matrix):
        got = "no row with a right and a wrong option of some probability"
        raise InputError("trials", got, "at least one", "Check how they were read.")
    row, wrong = np.nonzero(is_wrong)
    said = {"dropped": lost, "total": len(matrix)}
    found = [notice_of("rows-dropped.options", **said)] if lost else []
    return row.astype(np.int64), wrong.astype(np.int64), found


def tied_pairs(p: Floats, q: Floats) -> list[Notice]:
    """Notice of pairs whose options are equally probable; a warning where both have 0."""
    tied, empty = int((p == q).sum()), int(((p == 0) & (q == 0)).sum())
    if not tied:
        return []
    name = "pairs-tied.at-zero" if empty else "pairs-tied"
    return [notice_of(name, number=tied, all=len(p), empty=empty)]


def pair_confidence(p: Floats, q: Floats) -> Floats:
    """Probability of the chosen option of a pair; ½ where both have 0."""
    total = p + q
    return np.divide(np.maximum(p, q), total, out=np.full(len(p), 0.5), where=total > 0)


def nth_tie(is_tie: NDArray[np.bool_], keys: pd.DataFrame) -> Ints:
    """How many ties came before, among the pairs of the same group."""
    ties = pd.Series(is_tie.astype(np.int64))
    if keys.shape[1]:
        ties = ties.groupby([keys[name] for name in keys], dropna=False, observed=True).cumsum()
    else:
        ties = ties.cumsum()
    return np.asarray(ties, dtype=np.int64) - is_tie


def rate_confidence(confidence: Floats, ratings: int | None) -> Floats | Ints:
    """Confidence as it is, or its quantiles."""
    if ratings is None:
        return confidence
    if ratings < 2:
        raise InputError("ratings", repr(ratings), "a whole number of at least 2")
    return bin_confidence(confidence, int(ratings))
