"""Trials become tables of counts, in one way for both kinds of outcomes.

Table of trials → DataArray (cell, stimulus, response, rating) of counts, or, of trials that are
right or wrong, DataArray (cell, correct, rating), the type-2 table.
Source: Galvin, Podd, Drga & Whitmore (2003) for the type-2 table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import (
    ColumnError,
    ConflictError,
    LabelError,
    RatingError,
    TooFewError,
)
from hmetad.base.notice import Notice, first_few, notice_of, with_notices
from hmetad.counts.abstained import answered_trials, with_abstentions, with_silent_rows
from hmetad.counts.checks import STIMULI, TYPE2, Axes
from hmetad.counts.columns import (
    By,
    Codes,
    Label,
    Trials,
    alike_notices,
    as_text,
    code_notices,
    correctness_error,
    is_correctness_name,
    listed,
    option_labels,
    options_of_trials,
    refuse_absent,
    refuse_correctness,
    right_trials,
    trials_in_use,
    with_numbers,
    with_options,
    with_options_column,
    with_response_labels,
    with_sides,
)
from hmetad.counts.difficulty import difficulty_columns, difficulty_notices
from hmetad.counts.items import MOST_COLUMNS, item_notices, same_item_cells, unused_columns
from hmetad.counts.noticed import choice_notices, letter_notices, missing_answers, trial_notices
from hmetad.counts.ratings import Scale, rated_tally, rating_numbers
from hmetad.counts.tables import (
    CUT_TRIALS,
    cell_labels,
    cells_of,
    count_notices,
    count_table,
    cut_notices,
    plain_attrs,
    swapped_codes,
)
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.queries import Tally, Values, plain_value
from hmetad.rows.tables import TableLike

type Ints = NDArray[np.int64]

# More distinct rows of stimulus, response and a column than any record of correctness has.
MOST_ANSWERS = 1000
# Trials at random that are looked at for columns of difficulty.
MOST_SAMPLED = 100_000
# What tables call the right option, and the chosen one.
RIGHT_OPTION, CHOSEN_OPTION = ("stimulus", "target"), ("response", "chosen", "answer")
# More different confidences of cells are not looked through.
MOST_VALUES = 100_000


@check_inputs(skip=("trials", "labels", "response_labels", "levels", "missing_codes", "options"))
def count_trials(
    trials: TableLike,
    *,
    by: By = (),
    covariates: By = (),
    stimulus: str = "stimulus",
    response: str = "response",
    confidence: str = "confidence",
    n: str | None = None,
    quantiles: int | None = None,
    quantiles_within: str | Sequence[str] = (),
    ratings: int | None = None,
    levels: Sequence[str | float] | None = None,
    missing_codes: Codes = (),
    labels: Sequence[Label] | None = None,
    response_labels: Sequence[Label] | None = None,
    labels_within: str | Sequence[str] = (),
    options: int | Sequence[Label] | None = None,
    difficulty: str | None = None,
    response_from_confidence: bool = False,
    abstained: str | None = None,
) -> xr.DataArray:
    """Count table of a task with two alternatives, or m: one row of `trials` per trial.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial: a table of pandas, Polars, Dask, Arrow or DuckDB; or files,
        as a path, a folder, a pattern such as ``"runs/*.parquet"`` or several of these. Files of
        PsychoPy, jsPsych, Gorilla, Qualtrics, SPSS, Stata and Excel get one row per trial, and a
        notice reports what was changed. Only the columns in use, and columns that may be the
        difficulty of trials, are read, in pieces (see Notes). Rows with a missing value in a used
        column are excluded, and a notice reports their number.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns (model, task, subject, ...): one cell per combination that occurs, sorted
        by these columns in their order (s2 before s10; a categorical keeps its own order). A
        mapping gives them the names that a model card uses: ``{"subject": "participant_id"}``.
    covariates : str, sequence of str or mapping of str to str, optional
        Columns that are constant within a cell and become its coordinates; a mapping renames, as
        above.
    stimulus, response : str, optional
        Columns with the stimulus and the response, in the same two labels.
    confidence : str, optional
        Column with the rating, an integer 1..K, K the most confident.
    n : str, optional
        Column with the number of trials of each row, an integer. By default 1.
    quantiles : int, optional
        Number of ratings to make of numeric confidence, exactly as `bin_confidence` does, for any
        number of trials.
    quantiles_within : str or sequence of str, optional
        Columns of groups; quantiles are computed within each. By default one group.
    ratings : int, optional
        K. By default the largest rating in the data; the rule is recorded.
    levels : sequence of str or float, optional
        Values of the confidence column from the least to the most confident, if they are not 1 to
        K: ``[0, 1, 2, 3]``, or ``["guess", "unsure", "sure"]`` in either case.
    missing_codes : str, float or sequence of these, optional
        Values of stimulus, response and confidence that mean a missing value: ``[999, -1]``.
    labels : (S1, S2), optional
        The two labels. By default those in the data, sorted (for booleans False is S1).
    response_labels : sequence, optional
        Labels of the response, in the order of the corresponding labels of the stimulus. By default
        both columns have the same labels. This recodes a response with swapped codes; the labels in
        their order state that they are not swapped.
    labels_within : str or sequence of str, optional
        Columns in `by`, such as the task, whose levels have different pairs of labels.
    options : int or sequence, optional
        Number m of options, or all their labels in order. By default two. The labels of m = 4 are
        those in the data, sorted; with fewer the others are called "unseen 1", ...
    difficulty : str, optional
        Column with the difficulty of the trial, such as contrast: a notice names the cells in which
        it varies, in 100,000 random trials. For numbers the magnitude counts, not the sign. By
        default numeric columns are tested (see Notes).
    response_from_confidence : bool, optional
        Whether to count responses that are a cut of the rating, with a notice, instead of raising
        an error.
    abstained : str, optional
        Column that marks abstentions: True or False, 1 or 0, or reasons such as "refused", missing
        for answered trials. Abstentions are not counted, whatever their other columns contain.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, stimulus, response, rating); ``cell`` is text
        such as ``"GPT-5 | A"`` (``"all"`` without `by`) and has one coordinate per grouping column
        and covariate. Attrs: ``labels``, ``by``, ``covariates`` and ``columns`` (JSON),
        ``rows_dropped``, ``ratings_rule`` and ``notices``; ``same_items`` (JSON) if trials have a
        column of items and groups of cells have the same items: comparisons that treat these as
        independent warn. With more than two options, stimulus and response have the labels of the
        options, as text.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a reserved name; if there are not two labels, or
        more than the options; if `response` or `stimulus` contains correctness; if responses are a
        cut of the rating; if confidence is missing in all trials of one response, or not an integer
        1..K (at most 1000) or one of the `levels`; if a covariate varies inside a cell.

    Notes
    -----
    n[s, r, k] is the number of trials with stimulus s, response r and rating k.

    DuckDB groups the rows, and a few pieces of a file are in memory at a time. Columns of a CSV in
    `by` are unchanged text; in other columns of text only an empty field is missing, so that "None"
    is a label; in a column of numbers it is one if `labels`, `options` or `levels` names it. Dask
    groups its DataFrame on its own cluster.

    If responses are a cut of the rating, d′ and meta-d′ are functions of one table, and M-ratio is
    mostly near 1, whatever the true value. The check applies to all trials, to each level of a
    grouping column and to each cell. It raises an error if each response has ten trials and two
    ratings, and every rating of one response is below every rating of the other. With 30 trials of
    each response, it also raises an error with slips in up to 20 % of the trials, if confidence is
    lower for correct answers of one response and higher for correct answers of the other (z of 3
    each): M is then near 0. If allowed, the table has the notice ``"response-is-confidence-cut"``
    of severity "error".

    If difficulty or the item varies within a cell, M-ratio is inflated, and the notices
    ``"mixed-difficulty"`` and ``"mixed-items"`` report it (Rahnev & Fleming 2019). Without
    `difficulty`, each unused numeric column that varies within cells is tested in 100,000 random
    trials: does accuracy differ between its values by a standard deviation above 0.03? Not tested
    are columns that are named like response times, confidence or other answers (``"confidence"``,
    ``"rating"``, ``"answer"``); columns in which fewer than 3 % of the pairs of trials in a cell
    have the same value; columns whose sign is the stimulus; and columns that determine accuracy or
    confidence. Items are found by the name of their column.

    Names of columns match without case if only one column matches. Ratings far from all others,
    such as 9 among 1 to 4, look like codes for missing answers: the notice ``"suspected-codes"``
    reports them.

    Notices report few trials, ceiling and empty ratings for each cell. If `by` has a column that is
    named like items, they report these for all items together, since a single item of a crossed
    design always has few trials. Subjects with few trials are still reported.

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
    labels, number_of_options = options_of_trials(options, labels)
    roles = {"stimulus": stimulus, "response": response, "confidence": confidence}
    groupings = {"by": by, "covariates": covariates}
    others = (quantiles_within, difficulty, abstained)
    answers = labels if response_labels is None else response_labels
    words = {"stimulus": labels, "response": answers, "confidence": levels}
    found = trials_in_use(trials, roles, groupings, n, others, missing_codes, words)
    if difficulty is not None:
        refuse_absent("difficulty", difficulty, found.rows.columns)
    found = answered_trials(found, abstained)
    scale = Scale(confidence, quantiles, quantiles_within, ratings, levels)
    tallied, items, sample, seen, scale = tally_trials(found, scale, difficulty)
    if (number_of_options or 2) == 2:
        refuse_one_rated_response(*tallied, response, confidence)
    groups, number, dropped = complete_rows(*tallied)
    groups, number = with_silent_rows(groups, number, found)
    given = SideLabels(labels, response_labels, labels_within, options is not None)
    groups, attrs = with_same_labels(found, groups, number, given)
    own = option_labels(groups, number, stimulus, response, labels, number_of_options)
    sides, is_pair = (groups[stimulus], groups[response]), len(own) == 2
    outcome = [np.argmax([side == label for label in own], axis=0) for side in sides]
    texts = STIMULI if is_pair else tuple(map(as_text, own))
    axes = Axes({"stimulus": texts, "response": texts})
    attrs |= {"labels": own, "rows_dropped": int(tallied[1].sum() - number.sum())}
    counts, cells, codes = count_rows((groups, number), axes, outcome, found, scale, attrs)
    where = counts["cell"].to_numpy().tolist()
    cuts = cut_notices(counts.to_numpy(), cells, where, response_from_confidence) if is_pair else []
    cuts += swapped_codes(counts, own) if is_pair and response_labels is None else []
    same = same_item_cells(items, cells, where)
    counts.attrs |= plain_attrs({"same_items": same} if same else {})
    mixed = item_notices(items, cells, where, "mixed-items" if is_pair else "mixed-items.options")
    if sample is not None:
        rated = in_places(sample, scale)
        mixed = [*difficulty_notices(rated, found.by, roles, where, difficulty), *mixed]
    said = [*trial_notices(trials), *found.rows.notices]
    said += [*choice_notices(trials, found.rows, confidence), *seen, *codes, *dropped, *cuts]
    said += [*mixed, *count_notices(counts), *alike_notices(cells, where)]
    return with_notices(counts, said)


@check_inputs(skip=("trials", "levels", "missing_codes"))
def count_correct(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    n: str | None = None,
    quantiles: int | None = None,
    quantiles_within: str | Sequence[str] = (),
    ratings: int | None = None,
    levels: Sequence[str | float] | None = None,
    missing_codes: Codes = (),
    options: int | str | None = None,
    abstained: str | None = None,
) -> xr.DataArray:
    """Type-2 table of a task with any number of alternatives: one row of `trials` per trial.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial: a table of pandas, Polars, Dask, Arrow or DuckDB; or files,
        as a path, a folder, a pattern such as ``"runs/*.parquet"`` or several of these. Files of
        PsychoPy, jsPsych, Gorilla, Qualtrics, SPSS, Stata and Excel get one row per trial, and a
        notice reports what was changed. Only the columns in use are read, in pieces (see Notes).
        Rows with a missing value in a used column are excluded, and a notice reports their number.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns (model, task, subject, ...): one cell per combination that occurs, sorted
        by these columns in their order (s2 before s10; a categorical keeps its own order). A
        mapping gives them other names: ``{"subject": "participant_id"}``.
    correct : str, optional
        Column of correctness: booleans, 1 and 0, or words such as "correct" and "incorrect",
        "right" and "wrong", "true" and "false".
    confidence : str, optional
        Column with the rating, an integer 1..K, K the most confident.
    n : str, optional
        Column with the number of trials of each row, an integer. By default 1.
    quantiles : int, optional
        Number of ratings to make of numeric confidence, exactly as `bin_confidence` does, for any
        number of trials.
    quantiles_within : str or sequence of str, optional
        Columns of groups; quantiles are computed within each. By default one group.
    ratings : int, optional
        K. By default the largest rating in the data; the rule is recorded.
    levels : sequence of str or float, optional
        Values of the confidence column from the least to the most confident, as for `count_trials`.
    missing_codes : str, float or sequence of these, optional
        Values of the columns of correctness and confidence that mean a missing value.
    options : int or str, optional
        Number of answer options including the correct one, or the column that has it; the column
        splits the cells. `fit_mle` and `fit` need it for M.
    abstained : str, optional
        Column that marks abstentions: True or False, 1 or 0, or reasons such as "refused", missing
        for answered trials. Abstentions are not counted, whatever their other columns contain.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, correct, rating), correct being "wrong" and
        "right"; ``cell`` is text such as ``"GPT-5 | A"`` (``"all"`` without `by`) and has one
        coordinate per grouping column. With `options`, ``options`` is their number; with
        `abstained`, ``abstained`` (cell) is the number of abstentions. Attrs: ``labels`` (the
        values of wrong, and of right), ``by``, ``covariates`` and ``columns`` (JSON),
        ``rows_dropped``, ``ratings_rule`` and ``notices``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a reserved name; if a value of `correct` is
        neither correct nor incorrect; if a number of options is not an integer, or below 2; if
        confidence is not an integer 1..K (at most 1000), or one of the `levels`.

    Notes
    -----
    n[correct, k] is the number of correct (or error) trials with rating k.

    DuckDB groups the rows, and a few pieces of a file are in memory at a time. Columns of a CSV in
    `by` are unchanged text; in other columns of text only an empty field is missing, so that "None"
    is a label; in a column of numbers it is one if `levels` names it. Dask groups its DataFrame on
    its own cluster.

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame(
    ...     {"correct": [True, False, True], "confidence": [2, 1, 2], "model": ["A", "A", "B"]}
    ... )
    >>> counts = count_correct(trials, by="model")
    >>> counts.sizes["cell"], int(counts.sel(cell="A", correct="wrong", rating=1))
    (2, 1)
    """
    roles = {"correct": correct, "confidence": confidence}
    groupings = {"by": with_options_column(by, options)}
    words = {"confidence": levels}
    others = (quantiles_within, abstained)
    found = trials_in_use(trials, roles, groupings, n, others, missing_codes, words)
    found = answered_trials(found, abstained)
    names, unused = found.by, unused_columns(found.rows, found.used)
    # Without a number of options there is no M that a mixture of items would raise.
    items = [] if options is None else [*filter(is_item_name, unused)]
    sides = (RIGHT_OPTION, CHOSEN_OPTION) if options is not None else ()
    letters = [next(x for x in own if x in unused) for own in sides if {*own} & {*unused}]
    letters = letters if len(letters) == 2 else []
    scale = Scale(confidence, quantiles, quantiles_within, ratings, levels)
    needs = [(*names, correct, name) for name in items]
    both = (*names, *letters)
    tallied, seen, scale = rated_tally(found, scale, [*needs, both] if letters else needs)
    of_letters = found.rows.few_distinct(both, MOST_VALUES, n) if letters else None
    groups, number, dropped = complete_rows(*tallied)
    groups, number = with_silent_rows(groups, number, found)
    is_right, labels = right_trials(groups, number, correct)
    groups, own, covariates = with_options(groups, names, options)
    attrs = {"labels": labels, "rows_dropped": int(tallied[1].sum() - number.sum())}
    counted = found._replace(by=own, covariates=covariates)
    counts, cells, codes = count_rows((groups, number), TYPE2, [is_right], counted, scale, attrs)
    where = counts["cell"].to_numpy().tolist()
    told = found.rows.spreads((*names, correct), items, n)
    mixed = item_notices(told, cells, where, "mixed-items.options")
    uneven = letter_notices(of_letters, names, letters, options)
    silent = missing_answers(tallied[0], tallied[1], names, roles)
    of_rows = [*trial_notices(trials), *found.rows.notices, *seen, *codes, *silent, *dropped]
    thin = [*count_notices(counts), *alike_notices(cells, where)]
    return with_notices(counts, [*of_rows, *mixed, *uneven, *thin])


class SideLabels(NamedTuple):
    """Labels of stimulus and response that the user gave, and whether options were given."""

    labels: Sequence[Label] | None
    response_labels: Sequence[Label] | None
    within: str | Sequence[str]
    has_options: bool


def with_same_labels(
    trials: Trials, groups: pd.DataFrame, number: Ints, given: SideLabels
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows with the same labels in both columns and in all tasks; how, as attrs of a table."""
    sides = [trials.roles["stimulus"], trials.roles["response"]]
    groups, attrs = with_numbers(groups, sides), dict[str, Any]()
    if given.within:
        if given.labels is not None or given.has_options:
            raise ConflictError("labels_within", "options" if given.has_options else "labels")
        within = listed("labels_within", given.within)
        for name in (name for name in within if name not in trials.by):
            step = f"Add {name!r} to by."
            raise ColumnError("labels_within", repr(name), "a column of by", step)
        groups, attrs["labels_within"] = with_sides(groups, number, sides, within)
    elif given.labels is None:
        refuse_own_labels(trials, groups, is_open=not given.has_options)
    if given.response_labels is not None:
        groups = with_response_labels(groups, sides, given.labels, given.response_labels)
        attrs["response_labels"] = [*given.response_labels]
    return groups, attrs


def refuse_own_labels(trials: Trials, groups: pd.DataFrame, *, is_open: bool) -> None:
    """Refuse more than two labels of which each level of a column has two of its own, as tasks do.

    Unless the number of options was given, columns that are not in use are looked at too.
    """
    sides = [trials.roles["stimulus"], trials.roles["response"]]
    if len({as_text(label) for side in sides for label in groups[side].unique()}) <= 2:
        return
    pairs = {name: groups[[name, *sides]] for name in trials.by}
    others = unused_columns(trials.rows, trials.used)[:MOST_COLUMNS] if is_open else []
    for name in (one for one in others if not is_correctness_name(one)):
        if found := trials.rows.few_distinct((name, *sides), MOST_ANSWERS):
            pairs[name] = found[0].dropna()
    own = {name: levels for name, rows in pairs.items() if (levels := pairs_of_levels(rows))}
    if own:
        name = min(own, key=lambda one: len(own[one]))
        listed = [f"{level} has {' and '.join(sorted(pair))}" for level, pair in own[name].items()]
        by = [*dict.fromkeys([*trials.by, name])]
        steps = (
            f"Give by={by!r} and labels_within={name!r}.",
            f"Give --by {','.join(by)} and --labels-within {name}.",
        )
        got = f"labels that differ by {name}: {first_few(listed)}"
        raise LabelError(" and ".join(map(repr, sides)), got, "the same two labels", *steps)


def pairs_of_levels(rows: pd.DataFrame) -> dict[str, set[str]]:
    """Two stimuli of each level of the first column; empty unless all responses are of these."""
    level, stimulus, response = (rows.iloc[:, place].map(as_text) for place in range(3))
    shown, said = (dict(side.groupby(level).agg(set)) for side in (stimulus, response))
    are_pairs = all(len(pair) == 2 and said[name] <= pair for name, pair in shown.items())
    differ = len({frozenset(pair) for pair in shown.values()}) > 1
    return shown if are_pairs and differ else {}


# From rows to counts


def count_rows(
    tally: Tally,
    axes: Axes,
    outcome: Sequence[NDArray[Any]],
    trials: Trials,
    scale: Scale,
    attrs: Mapping[str, Any],
) -> tuple[xr.DataArray, pd.DataFrame, list[Notice]]:
    """Table of distinct rows, grouping columns of its cells, and notices of codes and abstentions.

    `outcome` has the place of each row on each axis.
    """
    groups, n = tally
    rating, K, rule = rating_numbers(groups, n, scale, trials.rows)
    is_inferred = scale.ratings is None and scale.levels is None
    codes = code_notices(scale.confidence, rating, n) if is_inferred else []
    index, cells = cells_of(groups, trials.by, trials.covariates)
    values = np.zeros((len(cells), *axes.shape, K), dtype=np.int64)
    np.add.at(values, (index, *(place.astype(np.int64) for place in outcome), rating - 1), n)
    named = {"by": trials.by, "covariates": trials.covariates, "columns": trials.roles}
    described = {**attrs, **named, "ratings_rule": rule}
    own = cells[trials.by]
    table = count_table(values, axes, cells, described, cell_labels(own))
    table, silent = with_abstentions(table, trials.silent, index)
    return table, own, [*codes, *silent]


def tally_trials(
    trials: Trials, scale: Scale, difficulty: str | None
) -> tuple[Tally, dict[str, Values], Tally | None, list[Notice], Scale]:
    """Distinct rows of the columns in use with their trials, and what other columns hold.

    These are the values of items, and a sample with the column of difficulty that is named, or
    those that may be one. With them what the making of ratings shows, and where it cut. Raises an
    error where a name or another column shows that stimulus or response is correctness.
    """
    rows, roles, by, used = trials.rows, trials.roles, trials.by, trials.used
    stimulus, response = roles["stimulus"], roles["response"]
    for role in ("response", "stimulus"):
        if is_correctness_name(roles[role]):
            got = f"column {roles[role]!r}, named like correctness"
            raise correctness_error(role, got, stimulus)
    spread = [name for name in unused_columns(rows, used) if is_item_name(name)]
    judged = [name for name in rows.cheap_columns if is_correctness_name(name)]
    others = [name for name in [difficulty] if name is not None and name not in used]
    others = difficulty_columns(rows, used, by, roles) if difficulty is None else others
    answers = [(stimulus, response, name) for name in judged]
    sampled = [(*used, *others)] if others else []
    needs = [*answers, *((*by, stimulus, name) for name in spread), *sampled]
    tallied, shown, scale = rated_tally(trials, scale, needs)
    groups, number = tallied
    tallies = [rows.few_distinct(columns, MOST_ANSWERS, trials.n) for columns in answers]
    seen = {name: one[0] for name, one in zip(judged, tallies, strict=True) if one is not None}
    of_stimuli = np.bincount(pd.factorize(groups[stimulus])[0] + 1, number)[1:]
    refuse_correctness(seen, bool((of_stimuli < CUT_TRIALS).any()), stimulus, response)
    known = rows.spreads((*by, stimulus), spread, trials.n)
    sample = rows.sample(sampled[0], MOST_SAMPLED, trials.n) if others else None
    return tallied, known, sample, shown, scale


def in_places(sample: Tally, scale: Scale) -> Tally:
    """Sample of trials, their confidence by its place among the levels where these are named."""
    if scale.levels is None:
        return sample
    frame, n = sample
    places = {plain_value(level): place for place, level in enumerate(scale.levels, 1)}
    rated = [places.get(plain_value(value)) for value in frame[scale.confidence].tolist()]
    rating = pd.Series(rated, frame.index, dtype=float)
    return frame.assign(**{scale.confidence: rating}), n


def refuse_one_rated_response(
    groups: pd.DataFrame, n: Ints, response: str, confidence: str
) -> None:
    """Refuse confidence that no trial of one response has: without its trials there is no d′."""
    known = groups[response].notna().to_numpy()
    rated = known & groups[confidence].notna().to_numpy()
    unrated = set(groups.loc[known, response]) - set(groups.loc[rated, response])
    if not rated.any() or len(unrated) != 1:
        return
    own = unrated.pop()
    number = int(n[(groups[response] == own).to_numpy()].sum())
    step = (
        "Where confidence was asked after one response alone, give the other the rating 1: "
        f"trials.fillna({{{confidence!r}: 1}}). d′ then counts all trials, and M is that of the "
        "rated response."
    )
    got = f"no value in any of the {number} trials with response {own!r}"
    raise RatingError("confidence", got, "ratings of both responses", step)


def complete_rows(
    groups: pd.DataFrame,
    n: Ints,
    empty: pd.DataFrame | None = None,
    code: str = "rows-dropped.trials",
) -> tuple[pd.DataFrame, Ints, list[Notice]]:
    """Rows without a missing value that matters, and a notice of what was dropped and why."""
    missing = (groups.isna() if empty is None else empty).to_numpy()
    incomplete = missing.any(axis=1)
    if not incomplete.any():
        return groups, n, []
    dropped, total = int(n[incomplete].sum()), int(n.sum())
    by_column = zip(groups.columns, n @ missing, strict=True)
    columns = ", ".join(f"{name} ({int(times):,})" for name, times in by_column if times)
    if dropped == total:
        got = f"a missing value in each of the {total} rows, in {columns}"
        raise TooFewError("trials", got, "at least one complete row", "Check how they were read.")
    kept = groups.loc[~incomplete].reset_index(drop=True)
    lost = {name: {*groups[name][incomplete].dropna()} - {*kept[name]} for name in groups}
    gone = [
        f"{name} {as_text(x)}" for name, values in lost.items() for x in sorted(values, key=str)
    ]
    where = f" No row is left of {first_few(gone, ', ')}." if gone else ""
    named = {"dropped": dropped, "total": total, "columns": columns, "gone": where}
    said = notice_of(code, **named)
    return kept, n[~incomplete], [said]
