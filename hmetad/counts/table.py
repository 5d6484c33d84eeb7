"""Trials, or the field's count vectors, become a count table.

DataFrame of trials, or nR_S1 and nR_S2 → DataArray (cell, stimulus, response, rating) of counts.
Source: the layout of the vectors is that of Maniscalco & Lau (2012).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.counts.notices import Notice, notice_where, with_notices
from hmetad.errors import InputError, nearest

__all__ = ["count_notices", "count_trials", "from_nr", "require_stimulus", "to_nr"]

Label = str | int | float | bool
Tally = tuple[pd.DataFrame, NDArray[np.int64]]

STIMULI = ("S1", "S2")
TYPE1_DIMS = ("stimulus", "response", "rating")
FEW_TRIALS = 100
CUT_TRIALS = 10
MAX_RATINGS = 1000

DIM_NAMES = frozenset(
    ["cell", "stimulus", "response", "rating", "correct", "chain", "draw", "pair", "criterion"]
)
TYPE1_RESULTS = ["hit_rate", "false_alarm_rate", "dprime", "c", "c_prime", "ln_beta"]
META_RESULTS = ["meta_d", "m_ratio", "log_m", "meta_c", "criteria", "loglik", "converged", "loss"]
INFORMATION_RESULTS = ["info", "accuracy", "lower", "upper", "meta_i", "meta_i1r", "meta_i2r"]
RESULT_NAMES = frozenset(
    ["counts", "cov_dprime_c", "rmi", *TYPE1_RESULTS, *META_RESULTS, *INFORMATION_RESULTS]
)
CORRECT_NAMES = ["correct", "correctness", "is_correct", "iscorrect", "was_correct", "resp_correct"]
ACCURACY_NAMES = ["accuracy", "accurate", "is_accurate", "acc", "acc_norm", "exact_match"]
CORRECTNESS_NAMES = frozenset(["response_correct", *CORRECT_NAMES, *ACCURACY_NAMES])
RIGHT_WORDS = frozenset(["correct", "right", "true", "1"])
WRONG_WORDS = frozenset(["incorrect", "wrong", "false", "error", "0"])


def count_trials(
    trials: pd.DataFrame,
    *,
    by: str | Sequence[str] = (),
    covariates: str | Sequence[str] = (),
    stimulus: str = "stimulus",
    response: str = "response",
    confidence: str = "confidence",
    ratings: int | None = None,
    labels: Sequence[Label] | None = None,
) -> xr.DataArray:
    """Count table of a two-alternative task: one row of `trials` per trial.

    Parameters
    ----------
    trials : DataFrame
        One row per trial. Rows with a missing value in a used column are left out, and a notice
        says how many.
    by : str or sequence of str, optional
        Grouping columns (model, task, subject, ...): one cell per combination that occurs, sorted
        by these columns in their order (a categorical keeps its own order).
    covariates : str or sequence of str, optional
        Columns that are constant within a cell and travel with it.
    stimulus, response : str, optional
        Columns with what was shown and with the choice made, in the same two labels.
    confidence : str, optional
        Column with the rating, an integer 1..K, K the most confident.
    ratings : int, optional
        K. By default the largest rating in the data; the rule is recorded.
    labels : (S1, S2), optional
        The two labels. By default those in the data, sorted (for booleans False is S1).

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, stimulus, response, rating); ``cell`` is text
        such as ``"GPT-5 | A"`` (``"all"`` without `by`) and carries one coordinate per grouping
        column and covariate. Attrs: ``labels``, ``by``, ``covariates`` and ``columns`` (JSON),
        ``rows_dropped``, ``ratings_rule`` and ``notices``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a name with a meaning of its own; if there are
        not two labels; if `response` or `stimulus` holds correctness; if confidence is not an
        integer 1..K (at most 1000); if a covariate varies inside a cell.

    Notes
    -----
    n[s, r, k] is the number of trials with stimulus s, response r and rating k. Responses that are
    a cut of the rating itself are noticed with severity "error": d′ and meta-d′ are then functions
    of one table, and M-ratio is near 1 by construction.

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {"stimulus": ["neg", "neg", "pos"], "response": ["neg", "pos", "pos"],
    ...      "confidence": [2, 1, 2], "model": ["A", "A", "B"]}
    ... )
    >>> counts = count_trials(trials, by="model")
    >>> counts.sizes["cell"], int(counts.sel(cell="A", stimulus="S1", response="S2", rating=1))
    (2, 1)
    """
    by, covariates = column_names("by", by), column_names("covariates", covariates)
    roles = {"stimulus": stimulus, "response": response, "confidence": confidence}
    check_columns(trials, roles, by, covariates)
    refuse_correctness(trials, stimulus, response)
    refuse_fractions(confidence, trials[confidence])
    groups, n, dropped = complete_rows(*tally(trials, [*roles.values(), *by, *covariates]))
    pair = two_labels(groups, n, stimulus, response, labels)
    rating, K, rule = rating_numbers(groups, n, confidence, ratings)
    index, cells = cells_of(groups, by, covariates)
    values = np.zeros((len(cells), 2, 2, K), dtype=np.int64)
    s, r = ((groups[column] == pair[1]).to_numpy(dtype=np.int64) for column in (stimulus, response))
    np.add.at(values, (index, s, r, rating - 1), n)
    attrs = {
        "labels": pair,
        "by": by,
        "covariates": covariates,
        "columns": roles,
        "rows_dropped": len(trials) - int(n.sum()),
        "ratings_rule": rule,
    }
    counts = count_table(values, cell_labels(cells[by]), cells, attrs)
    return with_notices(counts, [*dropped, *cut_notices(values), *count_notices(counts)])


def from_nr(nR_S1: ArrayLike, nR_S2: ArrayLike, **coords: Any) -> xr.DataArray:
    """Count table from the field's count vectors.

    Parameters
    ----------
    nR_S1, nR_S2 : array_like of int, shape (2K,) or (cells, 2K)
        Trials with stimulus S1 and S2, in the order: response S1 with rating K..1, then response
        S2 with rating 1..K. Raw counts, not padded.
    **coords : scalar or sequence of length cells
        Coordinates of the cells (model, task, subject, ...); their values make the cell labels.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, stimulus, response, rating). Without `coords`
        one row is the cell ``"all"`` and several are ``"1"``, ``"2"``, ...

    Raises
    ------
    InputError
        If counts are negative, fractional or missing; if the shapes differ or the length is odd;
        if a coordinate has the wrong length or a reserved name; if two cells get the same label.

    Examples
    --------
    >>> counts = from_nr([5, 3, 2, 1], [1, 2, 4, 6], model="A")
    >>> counts.sel(cell="A", stimulus="S1", response="S1").values
    array([3, 5])
    """
    first, second = count_rows("nR_S1", nR_S1), count_rows("nR_S2", nR_S2)
    if np.shape(nR_S1) != np.shape(nR_S2):
        got = f"shape {np.shape(nR_S2)} beside {np.shape(nR_S1)} of nR_S1"
        raise InputError("nR_S2", got, "the shape of nR_S1")
    names = column_names("coords", list(coords))
    size = len(first)
    cells = pd.DataFrame(
        {name: cell_values(name, value, size) for name, value in coords.items()},
        index=range(size),
    )
    numbered = not names and size > 1
    labels = [str(i + 1) for i in range(size)] if numbered else cell_labels(cells)
    K = first.shape[1] // 2
    rows = np.stack([first, second], axis=1)
    values = np.stack([rows[..., K - 1 :: -1], rows[..., K:]], axis=2)
    attrs = {
        "labels": STIMULI,
        "by": names,
        "covariates": [],
        "rows_dropped": 0,
        "ratings_rule": f"K = {K}, from the length of nR_S1",
    }
    counts = count_table(values, labels, cells, attrs)
    return with_notices(counts, count_notices(counts))


def to_nr(counts: xr.DataArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count vectors of a count table: the inverse of `from_nr`.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or one cell of it.

    Returns
    -------
    nR_S1, nR_S2 : ndarray of int, shape (cells, 2K)
        Trials, in the order: response S1 with rating K..1, then response S2 with rating 1..K.
        Shape (2K,) where the table has no cell dim.

    Raises
    ------
    InputError
        If the table has no stimulus, or is no count table.

    Examples
    --------
    >>> nR_S1, nR_S2 = to_nr(from_nr([5, 3, 2, 1], [1, 2, 4, 6]))
    >>> nR_S1
    array([[5, 3, 2, 1]])
    """
    require_stimulus(counts, "to_nr")
    values = counts.transpose(..., *TYPE1_DIMS).to_numpy()
    vectors = np.concatenate([values[..., 0, ::-1], values[..., 1, :]], axis=-1)
    return vectors[..., 0, :], vectors[..., 1, :]


def count_notices(counts: xr.DataArray) -> list[Notice]:
    """Notices of any count table: empty ratings, unseen stimuli, few trials, ceiling.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or one cell of it.

    Returns
    -------
    list of Notice
        ``"empty-ratings"`` (info: a rating that nobody used in a cell), ``"one-stimulus"``,
        ``"few-trials"`` (fewer than 100, Rahnev 2025) and ``"ceiling"`` (hit or false-alarm rate
        of 0 or 1), all warnings; each once, with its cells.

    Raises
    ------
    InputError
        If the table has no stimulus.

    Examples
    --------
    >>> [notice.code for notice in count_notices(from_nr([9, 8, 7, 6], [6, 0, 0, 0]))]
    ['few-trials', 'ceiling']
    """
    require_stimulus(counts, "count_notices")
    shown = counts.sum(["response", "rating"])
    one_sided = ((counts.sum("rating") == 0).any("response") & (shown > 0)).any("stimulus")
    unused = (counts.sum(["stimulus", "response"]) == 0).any("rating")
    few = f"Fewer than {FEW_TRIALS} trials: metacognitive measures are unreliable. Cells: {{}}."
    unseen = "One stimulus was never shown: d′ and c do not exist. Cells: {}."
    ceiling = "A hit or false-alarm rate is 0 or 1: d′ needs a named correction. Cells: {}."
    return [
        *notice_where(unused, "empty-ratings", "info", "A rating was used by no trial. Cells: {}."),
        *notice_where((shown == 0).any("stimulus"), "one-stimulus", "warning", unseen),
        *notice_where(
            shown.sum("stimulus") < FEW_TRIALS, "few-trials", "warning", few, "Rahnev 2025"
        ),
        *notice_where(one_sided, "ceiling", "warning", ceiling),
    ]


def require_stimulus(counts: xr.DataArray, used_by: str) -> None:
    """Refuse what is no count table, and name what does apply to a type-2 table.

    Parameters
    ----------
    counts : DataArray
        What came; a count table has the dims stimulus, response and rating, and maybe more.
    used_by : str
        Name of the function that needs the stimulus, for the message.

    Raises
    ------
    InputError
        If `counts` is no DataArray or lacks one of the dims.

    Examples
    --------
    >>> require_stimulus(xr.DataArray([[3, 9]], dims=["correct", "rating"]), "sdt")
    Traceback (most recent call last):
    hmetad.errors.InputError: counts: got a type-2 table with dims (correct, rating), allowed is a \
count table with dims stimulus, response and rating. sdt needs the stimulus; to right and wrong \
answers apply auroc2, gamma, type2_roc and calibration.
    """
    allowed = "a count table with dims stimulus, response and rating"
    start = "Make one with count_trials or from_nr."
    if not isinstance(counts, xr.DataArray):
        raise InputError("counts", type(counts).__name__, allowed, start)
    dims = f"dims ({', '.join(map(str, counts.dims))})"
    if "correct" in counts.dims:
        apply = "to right and wrong answers apply auroc2, gamma, type2_roc and calibration."
        step = f"{used_by} needs the stimulus; {apply}"
        raise InputError("counts", f"a type-2 table with {dims}", allowed, step)
    if not set(TYPE1_DIMS) <= set(counts.dims):
        raise InputError("counts", dims, allowed, start)


def column_names(argument: str, given: str | Sequence[str]) -> list[str]:
    """Columns to group by, or an error for a name that means something else here."""
    if not isinstance(given, Iterable):
        raise InputError(argument, repr(given), "names of columns, as text")
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(argument, repr(name), "the name of a column, as text")
        if name in DIM_NAMES | RESULT_NAMES or name.endswith("_se") or "/" in name:
            allowed = "a name without '/' that is no dim and no result of hmetad"
            raise InputError(argument, repr(name), allowed, "Rename the column.")
    return names


def check_columns(
    trials: object, roles: Mapping[str, str], by: Sequence[str], covariates: Sequence[str]
) -> None:
    """Refuse what is no table of trials, a missing column, and a column with two roles."""
    if not isinstance(trials, pd.DataFrame):
        step = "A polars or Arrow table becomes one by .to_pandas()."
        raise InputError("trials", type(trials).__name__, "a pandas DataFrame", step)
    if not trials.columns.is_unique:
        twice = trials.columns[trials.columns.duplicated()].unique().tolist()
        raise InputError("trials", f"columns {twice} more than once", "unique column names")
    used = [*roles.items(), *(("by", name) for name in by)]
    used += [("covariates", name) for name in covariates]
    for argument, name in used:
        if not isinstance(name, str):
            raise InputError(argument, repr(name), "the name of a column, as text")
        if name not in trials.columns:
            step = nearest(str(name), trials.columns)
            raise InputError(argument, repr(name), "a column of the trials", step)
    for name, times in Counter(name for _, name in used).items():
        if times > 1:
            where = ", ".join(argument for argument, column in used if column == name)
            raise InputError(where, f"{name!r} {times} times", "a different column for each")
    if trials.empty:
        raise InputError("trials", "no rows", "at least one trial", "Check how they were read.")


def refuse_correctness(trials: pd.DataFrame, stimulus: str, response: str) -> None:
    """Refuse correctness as the stimulus or the response, told by the names of the columns."""
    if is_correctness_name(response):
        raise response_is_correctness(f"column {response!r}, named like correctness", stimulus)
    if is_correctness_name(stimulus):
        got = f"column {stimulus!r}, named like correctness"
        step = "Use count_correct: d′ of such a table would repeat its confidence."
        raise InputError("stimulus", got, "what was shown, in two labels", step)
    for name in filter(is_correctness_name, trials.columns):
        if repeats_correctness(trials, stimulus, response, name):
            got = f"column {response!r}, the same as {name!r} in every row"
            raise response_is_correctness(got, stimulus)


def repeats_correctness(trials: pd.DataFrame, stimulus: str, response: str, name: str) -> bool:
    """Whether `response` equals the correctness column, which is not stimulus == response."""
    # The first rows spare a continuous score the search for its distinct rows.
    if not looks_like_correctness(trials[name].head(1000).dropna().tolist()):
        return False
    seen = trials[[stimulus, response, name]].drop_duplicates().dropna()
    rows = list(zip(*(seen[column].tolist() for column in seen), strict=True))
    same = all(as_correct(r) is not None and as_correct(r) == as_correct(x) for _, r, x in rows)
    return same and any((s == r) != as_correct(x) for s, r, x in rows)


def is_correctness_name(name: object) -> bool:
    """Whether a column is named like correctness: correct, accuracy, is_correct, acc, ..."""
    return re.sub(r"[\W_]+", "_", str(name).strip().lower()) in CORRECTNESS_NAMES


def as_correct(value: object) -> bool | None:
    """Right or wrong, or None for a value that says neither."""
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in RIGHT_WORDS else False if word in WRONG_WORDS else None
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else None


def looks_like_correctness(values: Iterable[object]) -> bool:
    """Whether every value says right or wrong."""
    return all(as_correct(value) is not None for value in values)


def response_is_correctness(got: str, stimulus: str) -> InputError:
    """Error for correctness in the place of the response, with the way back."""
    step = (
        f"Rebuild the choice: the label in {stimulus!r} where the trial was correct, the other "
        "label where it was not. With no two alternatives use count_correct."
    )
    return InputError("response", got, "the choice made, in the labels of the stimulus", step)


def refuse_fractions(confidence: str, values: pd.Series) -> None:
    """Refuse confidence that is a number but no integer."""
    if not pd.api.types.is_float_dtype(values.dtype):
        return
    present = values.dropna().to_numpy(dtype=float)
    off = present[present != np.round(present)]
    if off.size or np.isinf(present).any():
        off = off if off.size else present[np.isinf(present)]
        got = f"{off.size} values such as {', '.join(f'{value:g}' for value in off[:3])}"
        step = "Continuous confidence becomes ratings by bin_confidence."
        raise InputError(f"confidence column {confidence!r}", got, "integers 1..K", step)


def tally(trials: pd.DataFrame, columns: list[str]) -> Tally:
    """Distinct rows of the columns, and how many trials each stands for."""
    try:
        sizes = trials.groupby(columns, dropna=False, observed=True, sort=False).size()
    except TypeError as error:
        step = "Make its values text or numbers."
        raise InputError("trials", str(error), "one text or number per value", step) from error
    return sizes.index.to_frame(index=False), sizes.to_numpy().astype(np.int64)


def complete_rows(groups: pd.DataFrame, n: NDArray[np.int64]) -> tuple[*Tally, list[Notice]]:
    """Rows without a missing value, and a notice of what was dropped and why."""
    missing = groups.isna().to_numpy()
    incomplete = missing.any(axis=1)
    if not incomplete.any():
        return groups, n, []
    dropped, total = int(n[incomplete].sum()), int(n.sum())
    by_column = zip(groups.columns, n @ missing, strict=True)
    columns = ", ".join(f"{name} ({int(times)})" for name, times in by_column if times)
    if dropped == total:
        got = f"a missing value in each of the {total} rows, in {columns}"
        raise InputError("trials", got, "at least one complete row", "Check how they were read.")
    text = f"{dropped} of {total} rows dropped for a missing value, in {columns}."
    kept = groups.loc[~incomplete].reset_index(drop=True)
    return kept, n[~incomplete], [Notice("rows-dropped", "warning", text)]


def two_labels(
    groups: pd.DataFrame,
    n: NDArray[np.int64],
    stimulus: str,
    response: str,
    labels: Sequence[Label] | None,
) -> list[Label]:
    """Labels behind S1 and S2: those given, or the two in the data, sorted."""
    shown, said = (label_frequencies(groups[column], n, column) for column in (stimulus, response))
    legal = set(shown) if labels is None else set(given_labels(labels))
    seen = {*shown, *said}
    covered = len(seen) <= 2 and set(said) & legal if labels is None else seen <= legal
    if not covered and not set(said) <= legal and looks_like_correctness(said):
        raise response_is_correctness(f"values {list(said)}, not those of the stimulus", stimulus)
    listed = ", ".join(
        f"{label!r} (stimulus {shown[label]}, response {said[label]})"
        for label in sorted(seen, key=repr)[:10]
    )
    if labels is not None:
        if not covered:
            raise InputError("labels", f"{labels!r} but in the data {listed}", "all that is there")
        return given_labels(labels)
    columns = f"{stimulus!r} and {response!r}"
    if len(seen) == 1:
        step = "Name both: labels=(S1, S2)."
        raise InputError(columns, f"the single label {listed}", "two labels", step)
    if len(seen) > 2 or len({isinstance(label, str) for label in seen}) > 1:
        step = "Drop the other trials, or recode both columns to the same two labels."
        raise InputError(columns, f"{len(seen)} labels: {listed}", "the same two labels", step)
    return sorted(seen)


def given_labels(labels: Sequence[Label]) -> list[Label]:
    """Labels as given, if they are two."""
    given = [] if isinstance(labels, str) or not isinstance(labels, Iterable) else labels
    pair = [label.item() if isinstance(label, np.generic) else label for label in given]
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(x, Label) for x in pair):
        raise InputError("labels", repr(labels), "two different labels, (S1, S2)")
    return pair


def label_frequencies(column: pd.Series, n: NDArray[np.int64], name: str) -> Counter[Label]:
    """Trials per label of a column."""
    frequencies: Counter[Label] = Counter()
    for label, times in zip(plain_array(name, column).tolist(), n.tolist(), strict=True):
        frequencies[label] += times
    return frequencies


def rating_numbers(
    groups: pd.DataFrame, n: NDArray[np.int64], confidence: str, ratings: int | None
) -> tuple[NDArray[np.int64], int, str]:
    """Ratings 1..K of the rows, K, and the rule that K comes from."""
    argument = f"confidence column {confidence!r}"
    named = [value for value in groups[confidence].tolist() if isinstance(value, str | bool)]
    if named:
        kind = "text" if isinstance(named[0], str) else "booleans"
        step = "Give each level its number, 1 for the least confident."
        raise InputError(argument, f"{kind} such as {named[0]!r}", "integers 1..K", step)
    array = plain_array(argument, groups[confidence])
    refuse_fractions(confidence, pd.Series(array))
    # Clipped, since a float beyond 64 bits has no integer; it is out of range in any case.
    rating = np.clip(array, -(2**53), 2**53).astype(np.int64)
    K = int(rating.max()) if ratings is None else ratings_given(ratings)
    if K > MAX_RATINGS:
        step = "Fewer ratings are made by bin_confidence."
        raise InputError(argument, f"ratings up to {K}", f"at most {MAX_RATINGS} ratings", step)
    refuse_out_of_range(argument, rating, n, K, ratings is None)
    rule = f"the largest in column {confidence!r}" if ratings is None else "given"
    return rating, K, f"K = {K}, {rule}"


def ratings_given(ratings: int) -> int:
    """K as given, if it is a whole number of ratings."""
    if isinstance(ratings, bool) or not isinstance(ratings, int | np.integer) or ratings < 1:
        raise InputError("ratings", repr(ratings), "a whole number of at least 1")
    return int(ratings)


def refuse_out_of_range(
    argument: str, rating: NDArray[np.int64], n: NDArray[np.int64], K: int, inferred: bool
) -> None:
    """Refuse ratings outside 1..K, with how often each occurs."""
    out = (rating < 1) | (rating > K)
    if not out.any():
        return
    times = {value: int(n[rating == value].sum()) for value in np.unique(rating[out]).tolist()}
    listed = ", ".join(f"{value} ({count} trials)" for value, count in list(times.items())[:10])
    if list(times) == [0]:
        top = rating.max() + 1 if inferred else K
        step = f"Ratings seem to start at 0: add 1 to them, which makes 1..{max(top, 1)}."
        if not inferred and rating.max() == K:
            step = f"0..{K} are {K + 1} ratings: add 1 and pass ratings={K + 1}."
    else:
        step = "Drop or recode these trials, or correct ratings=."
    raise InputError(argument, listed, "integers 1..K" if inferred else f"1..{K}", step)


def cells_of(
    groups: pd.DataFrame, by: list[str], covariates: list[str]
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Cell number of each row, and one row of grouping columns and covariates per cell."""
    if not by:
        index = np.zeros(len(groups), dtype=np.int64)
    else:
        index = groups.groupby(by, observed=True, sort=True).ngroup().to_numpy().astype(np.int64)
    _, first = np.unique(index, return_index=True)
    cells = groups.loc[first, [*by, *covariates]].reset_index(drop=True)
    for name in covariates:
        varies = groups[name].groupby(index).nunique().to_numpy() > 1
        if varies.any():
            worst = int(np.argmax(varies))
            values = groups[name][index == worst].unique().tolist()
            cell = cell_labels(cells[by])[worst]
            shown = f"{len(values)} values in cell {cell!r}, such as {sorted(values, key=repr)[:5]}"
            step = "Group by it as well, or leave it out."
            raise InputError(f"covariate {name!r}", shown, "one value per cell", step)
    return index, cells


def cell_labels(cells: pd.DataFrame) -> list[str]:
    """Text per row, unique: its values joined by " | ", or "all" where there are no columns."""
    columns = [map(value_text, cells[name].tolist()) for name in cells]
    labels = [" | ".join(row) for row in zip(*columns, strict=True)] or ["all"] * len(cells)
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        step = "Add a column that tells the cells apart, and keep ' | ' out of the values."
        raise InputError("cell labels", f"{twice[0]!r} for more than one cell", "unique", step)
    return labels


def value_text(value: object) -> str:
    """Text of a value; a column of integers that became floats reads as integers."""
    is_whole = isinstance(value, float) and value.is_integer()
    return f"{value:.0f}" if is_whole else str(value)


def plain_array(name: str, values: Iterable[object]) -> NDArray[Any]:
    """NumPy array of text, integers, floats or booleans; one of them, never objects."""
    items = [value.item() if isinstance(value, np.generic) else value for value in list(values)]
    kinds = {type(value) for value in items}
    dtypes: dict[type, type] = {str: np.str_, bool: np.bool_, int: np.int64, float: np.float64}
    if len(kinds) == 1 and kinds <= dtypes.keys():
        try:
            return np.array(items, dtype=dtypes[kinds.pop()])
        except OverflowError as error:
            raise InputError(name, "integers beyond 64 bits", "64-bit integers or text") from error
    if kinds <= {int, float}:
        return np.array(items, dtype=np.float64)
    got = "values of type " + " and ".join(sorted(kind.__name__ for kind in kinds))
    allowed = "one of text, integers, numbers and booleans"
    raise InputError(name, got, allowed, "Convert the column, for instance by .astype(str).")


def count_table(
    values: NDArray[np.int64], labels: list[str], cells: pd.DataFrame, attrs: Mapping[str, Any]
) -> xr.DataArray:
    """Labelled table; lists and dicts among the attrs become JSON, which files keep."""
    K = values.shape[-1]
    coords: dict[str, Any] = {
        str(name): ("cell", plain_array(str(name), cells[name])) for name in cells
    }
    coords |= {"cell": labels, "stimulus": list(STIMULI), "response": list(STIMULI)}
    coords["rating"] = np.arange(1, K + 1)
    plain = {
        key: value if isinstance(value, str | int) else json.dumps(value, ensure_ascii=False)
        for key, value in attrs.items()
    }
    return xr.DataArray(
        values,
        dims=("cell", *TYPE1_DIMS),
        coords=coords,
        name="counts",
        attrs={"long_name": "number of trials", "units": "trials", **plain},
    )


def count_rows(argument: str, vector: ArrayLike) -> NDArray[np.int64]:
    """Raw counts as integers of shape (cells, 2K)."""
    try:
        numbers = np.asarray(vector, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(argument, repr(vector), "whole numbers, (2K,) or (cells, 2K)") from error
    if numbers.ndim not in (1, 2) or numbers.size == 0 or numbers.shape[-1] % 2:
        raise InputError(argument, f"shape {numbers.shape}", "shape (2K,) or (cells, 2K)")
    off = ~np.isfinite(numbers) | (numbers < 0) | (numbers > 2**53)
    if off.any():
        raise InputError(argument, f"{numbers[off][0]:g}", "counts of 0 or more, up to 2**53")
    padded = numbers != np.round(numbers)
    if padded.any():
        step = "Pass raw counts; name a correction where one is needed."
        raise InputError(argument, f"the padded count {numbers[padded][0]:g}", "integers", step)
    return np.atleast_2d(numbers).astype(np.int64)


def cell_values(name: str, value: object, size: int) -> list[object]:
    """Values of a coordinate, one per cell."""
    array = np.asarray(value)
    if array.ndim == 0:
        return [array.item()] * size
    if array.shape != (size,):
        got = f"shape {array.shape}"
        raise InputError(f"coords {name!r}", got, f"a scalar or one value for each of {size} cells")
    return list(value)  # type: ignore[call-overload]


def cut_notices(values: NDArray[np.int64]) -> list[Notice]:
    """Notice where the response of every trial is a cut of its rating."""
    used = values.sum(axis=(0, 1))
    if (used.sum(axis=1) < CUT_TRIALS).any():
        return []
    low, high = np.flatnonzero(used[0]), np.flatnonzero(used[1])
    if low.max() < high.min() or high.max() < low.min():
        text = (
            "The rating alone determines the response: d′ and meta-d′ are then functions of one "
            "table and M-ratio is near 1 by construction. Use count_correct, auroc2 or "
            "meta_information."
        )
        return [Notice("response-is-confidence-cut", "error", text)]
    return []
