"""Outputs with a judge's verdict, some of them labelled, become labelled counts and pool counts.

Table of outputs → DataArray (cell, stimulus, response, rating) of those with a human label, which
stands for the stimulus as the verdict does for the response; the others are its coordinate pool.
Source: Green & Swets (1966); Rogan & Gladen (1978) for verdicts as a test of the label.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import rankdata

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import whole
from hmetad.base.errors import (
    ChoiceError,
    LabelError,
    NeedError,
    NumberError,
    RepeatError,
    SourceError,
    TooFewError,
    nearest,
)
from hmetad.base.notice import Notice, first_few, notice_of, with_notices
from hmetad.base.notice_registry import limit
from hmetad.counts.checks import TYPE1, TYPE1_DIMS
from hmetad.counts.columns import (
    By,
    Label,
    as_correct,
    as_text,
    check_roles,
    column_names,
    frequencies_of,
    group_numbers,
    named_rows,
    text_columns,
    with_trials,
)
from hmetad.counts.counting import complete_rows
from hmetad.counts.items import groups_alike, is_nested
from hmetad.counts.noticed import trial_notices
from hmetad.counts.ratings import finite_numbers, quantile_ratings
from hmetad.counts.tables import cell_labels, cells_of, count_table, few_labels
from hmetad.rows.duplicates import is_item_name, plain_name
from hmetad.rows.queries import Rows
from hmetad.rows.tables import TableLike, rows_of

type Bools = NDArray[np.bool_]
type Ints = NDArray[np.int64]
type Good = Label | Sequence[Label] | Mapping[Label, bool] | None

WORDS = {
    True: ("pass", "passed", "good", "yes", "acceptable", "accept"),
    False: ("fail", "failed", "bad", "no", "unacceptable", "reject"),
}
ANNOTATORS = ("annotator", "labeler", "labeller", "rater")
# Distinct scores of a verdict up to which they are grades; more are cut into so many quantiles.
MOST_GRADES, QUANTILES = 10, 4
# Standard errors beyond chance: of a score against the labels, and of errors that go together.
CHANCE_Z = 3
# Cells up to which all pairs of judges are compared.
MOST_JUDGES = 50
IN_SHELL = "Name what means good, --good pass, and recode the other values to one, or to empty."
BOTH = "Name what each value means: good={'refusal': False, 'compliance': True}."


@check_inputs(skip=("trials", "good"))
def count_judged(
    trials: TableLike,
    *,
    by: By,
    label: str,
    verdict: str | None,
    score: str | None = None,
    threshold: float | None = None,
    ratings: int | None = None,
    good: Good = None,
    label_probability: str | None = None,
) -> xr.DataArray:
    r"""Labelled counts and pool counts of a judge's verdicts, one row of `trials` per verdict.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per output and judge, as `count_trials` reads tables. Rows without a verdict are
        excluded, with a notice.
    by : str, sequence of str or mapping of str to str
        Grouping columns (judge, model, domain): one cell per combination. With a column of items
        among them `pass_rate`, `measures.judge` and `resample` take ``cluster="item"``.
    label : str
        Column of the human label, two values; missing if there is none.
    verdict : str or None
        Column of the judge's verdict, two values. None if `score` and `threshold` determine it.
    score : str, optional
        Column of the judge's score, larger for better outputs.
    threshold : float, optional
        An output passes if its score is at least this.
    ratings : int, optional
        Ratings of each verdict, quantiles of the score. By default 4, or, with at most ten
        different scores of a verdict, one for each: grades of 1 to 5 are ratings.
    good : value, sequence of values or mapping of value to bool, optional
        Values that mean good, in the column of labels or of verdicts; the other value means bad. A
        mapping gives the meaning of each value, also of more than two. By default words such as 1
        and 0, true and false, pass and fail.
    label_probability : str, optional
        Column of the probability with which an output was chosen to be labelled, for
        ``pass_rate(labels="known")``.

    Returns
    -------
    DataArray
        Integer ``counts`` (labelled outputs) with dims (cell, stimulus, response, rating): stimulus
        "S2" is the label good, response "S2" the verdict pass, and rating K the surest of a verdict
        (with a score, else K = 1). `fit`, `sdt` and `resample` accept it as a count table. The
        coordinate ``pool`` (cell, response, rating) counts outputs without a label; with
        probabilities ``weight`` and ``weight_squared`` have the sums of 1/p and 1/p² of the
        labelled ones. Attrs as in `count_trials`.

    Raises
    ------
    InputError
        If there are no labels, or of one class only; if a label or verdict means neither good nor
        bad; if a score contradicts verdict and threshold, or is reversed in all cells; if an output
        occurs twice, or has two labels and no column in `by` says whose they are.

    Notes
    -----
    n[z, v, k] is the number of outputs with label z, verdict v and rating k; pool[v, k] that of
    outputs without a label. Quantiles are taken within each verdict, and each combination of the
    columns in `by` that are not items. Pairs of outputs in a fixed order are judged the same way:
    the label is "the first is better", the score 1 for the first, 0 for a tie and -1, and the
    threshold 0; c is then the bias for a position, and ties are the middle rating.

    Examples
    --------
    >>> import pandas as pd
    >>> verdicts = ["pass", "fail", "pass", "pass"]
    >>> outputs = pd.DataFrame({"human": [1, 0, None, 1], "verdict": verdicts})
    >>> judged = count_judged(outputs, by=(), label="human", verdict="verdict")
    >>> judged.sel(cell="all", stimulus="S2").values.ravel().tolist()
    [0, 2]
    >>> judged["pool"].sel(cell="all").values.ravel().tolist()
    [0, 1]
    """
    given = {"label": label, "verdict": verdict, "score": score}
    given |= {"label_probability": label_probability}
    roles = {role: column for role, column in given.items() if column is not None}
    if score is None and (threshold is not None or ratings is not None):
        raise NeedError("threshold" if threshold is not None else "ratings", "score")
    if verdict is None and threshold is None:
        raise NeedError("verdict", "a column of verdicts, or score and threshold")
    rows = named_rows(rows_of(trials, text=text_columns(by)), *roles.values(), by)
    names = column_names("by", by)
    check_roles(rows.columns, [*roles.items(), *(("by", name) for name in names)])
    check_copies(rows, names, label)
    beside = [x for x in rows.columns if is_item_name(x) or is_annotator(x)]
    beside = [name for name in beside if name not in (*names, *roles.values())]
    frame = rows.frame([*names, *roles.values(), *beside]).reset_index(drop=True)
    may_lack = [label, *beside, *([label_probability] if label_probability else [])]
    empty = frame.isna().assign(**dict.fromkeys(may_lack, False))
    number = np.ones(len(frame), dtype=np.int64)
    kept, _, dropped = complete_rows(frame, number, empty, "rows-dropped.outputs")
    groups = kept[[name for name in names if not is_item_name(name)]]
    group = group_numbers(groups)
    check_good(good, kept, [x for x in (label, verdict) if x is not None])
    place, labels = label_places(kept[label], good)
    values = None if score is None else finite_numbers(kept[score])
    passes, verdicts = verdicts_of(kept, verdict, values, threshold, good)
    rating, rule = np.ones(len(kept), dtype=np.int64), "no score"
    is_reversed: dict[int, str] = {}
    if values is not None and score is not None:
        is_reversed = reversed_scores(values, place, groups, score)
        rating, rule = verdict_ratings(values, passes, group, ratings, score)
        rating[np.isin(group, [*is_reversed])] = 1
    outcome = (place, passes.astype(np.int64), rating - 1)
    index, cells = cells_of(kept, names, [])
    attrs = {"labels": labels, "verdicts": verdicts, "by": names, "covariates": []}
    attrs |= {"columns": roles, "rows_dropped": len(frame) - len(kept), "ratings_rule": rule}
    attrs |= shared_items(kept[beside], index, cell_labels(cells))
    weights = None if label_probability is None else kept[label_probability]
    table = table_of_outputs((index, *outcome), cells, attrs, weights)
    said = [*trial_notices(trials), *rows.notices, *dropped, *few_labels(table)]
    said += score_notices(values, passes, group, score)
    if is_reversed:
        said.append(notice_of("reversed-score", listed=first_few(is_reversed.values())))
    item = next(filter(is_item_name, [*names, *beside]), None)
    if item is not None:
        said += shared_errors(pd.factorize(kept[item])[0], groups, place, passes)
    for name in filter(is_annotator, beside):
        if kept[name][place < 2].nunique() == 1:
            said.append(notice_of("one-annotator", column=repr(name)))
    return with_notices(table, said)


def table_of_outputs(
    where: tuple[Ints, Ints, Ints, Ints],
    cells: pd.DataFrame,
    attrs: Mapping[str, Any],
    probability: pd.Series | None,
) -> xr.DataArray:
    """Table of outputs by cell, class (bad, good, none), verdict and rating, with its pool."""
    counted = np.zeros((len(cells), 3, 2, int(where[-1].max()) + 1), dtype=np.int64)
    np.add.at(counted, where, 1)
    table = count_table(counted[:, :2], TYPE1, cells, attrs, cell_labels(cells))
    table = table.assign_coords(pool=(("cell", *TYPE1_DIMS[1:]), counted[:, 2]))
    if probability is None:
        return table
    is_labelled = where[1] < 2
    values = pd.to_numeric(probability, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    off = is_labelled & ~((values > 0) & (values <= 1))
    if off.any():
        got = f"{int(off.sum())} labelled rows without one"
        name = f"label_probability column {probability.name!r}"
        raise NumberError(name, got, "probabilities above 0 and up to 1")
    for name, power in (("weight", 1), ("weight_squared", 2)):
        sums = np.zeros(counted.shape)
        np.add.at(sums, where, np.where(is_labelled, values, 1) ** -power)
        table = table.assign_coords({name: (table.dims, sums[:, :2])})
    return table


def require_judged(judged: xr.DataArray, used_by: str, cluster: str | None) -> None:
    """Refuse other tables, and items that repeat, or are cells, without the column of clusters."""
    if not isinstance(judged, xr.DataArray) or "pool" not in judged.coords:
        got = "a table without pool counts"
        step = f"{used_by} takes what count_judged returns."
        raise SourceError("judged", got, "labelled counts with the coordinate pool", step)
    in_cells = next(filter(is_item_name, judged["cell"].coords), "")
    name = judged.attrs.get("repeated_items", in_cells)
    if name and not cluster and not {*judged.dims} - {"cell", *TYPE1_DIMS}:
        step = (
            f"Count by {name!r} too, count_judged(by=[..., {name!r}]), and give cluster={name!r}."
        )
        got = f"none, but outputs of one {name!r} belong together"
        shell = f"Give --cluster {name}."
        raise ChoiceError("cluster", got, "the column of the items", step, shell)


def check_good(good: Good, rows: pd.DataFrame, columns: Sequence[str]) -> None:
    """Refuse values that should mean good and occur in none of the columns."""
    if good is None or isinstance(good, Mapping):
        return
    known = {as_text(x).strip() for name in columns for x in rows[name].drop_duplicates().tolist()}
    for value in [good] if isinstance(good, Label) else good:
        if as_text(value) not in known:
            got = f"{value!r}, which is in none of the columns"
            step = nearest(as_text(value), known)
            raise LabelError("good", got, "a value that means good", step or BOTH, step)


def good_rows(column: pd.Series, role: str, good: Good) -> tuple[Bools, list[Label]]:
    """Whether each value of a column means good, and the values that mean bad and good."""
    argument = f"{role} column {column.name!r}"
    values = [as_text(value).strip() for value in column.tolist()]
    times = frequencies_of(values, np.ones(len(values), dtype=np.int64))
    if good is None:
        meaning = {value: usual_meaning(value) for value in times}
    elif isinstance(good, Mapping):
        named = {as_text(value): bool(is_good) for value, is_good in good.items()}
        meaning = {value: named.get(value) for value in times}
    else:
        words = {*map(as_text, [good] if isinstance(good, Label) else good)}
        # The words may be about the other column.
        is_about = not words.isdisjoint(times)
        meaning = {x: x in words if is_about else usual_meaning(x) for x in times}
        bad = [value for value in times if meaning[value] is False]
        meaning |= dict.fromkeys(bad) if len(bad) > 1 else {}
    unclear = {value: times[value] for value in sorted(meaning) if meaning[value] is None}
    if unclear:
        got = f"values that mean neither: {with_trials(unclear, 5, 'outputs')}"
        raise LabelError(argument, got, "two values, good and bad", BOTH, IN_SHELL)
    sides = [[x for x in sorted(meaning) if meaning[x] is side] for side in (False, True)]
    plain = {as_text(x): x for x in column.drop_duplicates().tolist()}
    raw = [plain.get(x, x) for side in sides for x in side[:1]]
    shown = [int(x) if isinstance(x, float) and x.is_integer() else x for x in raw]
    return np.array([meaning[value] for value in values], dtype=bool), shown


def usual_meaning(value: str) -> bool | None:
    """Good, bad, or None for a word that means neither."""
    word = value.lower()
    known = next((side for side, words in WORDS.items() if word in words), None)
    return as_correct(value) if known is None else known


def label_places(column: pd.Series, good: Good) -> tuple[Ints, list[Label]]:
    """Class of each output, 0 bad, 1 good, 2 without a label; refuse labels of one class."""
    is_labelled = column.notna().to_numpy()
    is_good, labels = good_rows(column[is_labelled], "label", good)
    if len(labels) < 2:
        got = f"the single label {labels[0]!r}" if labels else "no label"
        step = "Label outputs of both kinds: a judge is compared with them."
        raise TooFewError(f"label column {column.name!r}", got, "labels of both classes", step)
    place = np.full(len(column), 2)
    place[is_labelled] = is_good
    return place, labels


def verdicts_of(
    rows: pd.DataFrame,
    verdict: str | None,
    values: NDArray[np.float64] | None,
    threshold: float | None,
    good: Good,
) -> tuple[Bools, list[Label]]:
    """Whether each output passes, by its verdict or by its score, which have to agree."""
    by_score = None if threshold is None or values is None else values >= threshold
    if verdict is None:
        assert by_score is not None
        return by_score, []
    passes, verdicts = good_rows(rows[verdict], "verdict", good)
    if by_score is not None:
        # At the threshold itself either rule, > or ≥, may have been meant.
        wrong = int(((by_score != passes) & (values != threshold)).sum())
        if wrong:
            got = f"{wrong} rows whose verdict is not that of a score ≥ {threshold:g}"
            step = "Omit threshold= if verdict and score are separate, or correct it."
            shell = "Omit --threshold if verdict and score are separate, or correct it."
            raise NumberError("threshold", got, "the cut that makes the verdicts", step, shell)
    return passes, verdicts


def reversed_scores(
    values: NDArray[np.float64], place: Ints, groups: pd.DataFrame, score: str
) -> dict[int, str]:
    """Groups whose score is lower for good outputs than for bad ones; refuse a table of these."""
    group, found, measured = group_numbers(groups), dict[int, str](), 0
    for number in np.unique(group).tolist():
        own = (group == number) & (place < 2)
        good, ranks = place[own] == 1, rankdata(values[own])
        n = np.array([(~good).sum(), good.sum()])
        if n.min() == 0:
            continue
        area = (ranks[good].sum() - n[1] * (n[1] + 1) / 2) / n.prod()
        measured += 1
        if (area - 0.5) / np.sqrt((n.sum() + 1) / (12 * n.prod())) < -CHANCE_Z:
            where = " | ".join(map(as_text, groups.to_numpy(dtype=object)[group == number][0]))
            found[number] = f"{where or 'all'} (AUROC {area:.2f})"
    if found and len(found) == measured:
        got = f"scores that are lower for good outputs: {first_few(found.values())}"
        step = f"Reverse it: trials.assign({score}=-trials[{score!r}])."
        shell = f"Reverse the column: {score} = -{score}."
        raise NumberError(f"score column {score!r}", got, "larger for better", step, shell)
    return found


def verdict_ratings(
    values: NDArray[np.float64], passes: Bools, group: Ints, ratings: int | None, score: str
) -> tuple[Ints, str]:
    """Ratings within each verdict, K the surest, and the rule that made them."""
    surer = np.where(passes, values, -values)
    levels = [np.unique(surer[passes == side], return_inverse=True) for side in (False, True)]
    if ratings is None and max(len(own) for own, _ in levels) <= MOST_GRADES:
        rating = np.ones(len(values), dtype=np.int64)
        for side, (_, place) in zip((False, True), levels, strict=True):
            rating[passes == side] = place + 1
        return rating, f"K = {rating.max()}, grades of column {score!r} within each verdict"
    number = QUANTILES if ratings is None else ratings
    whole(1)("ratings", number)
    if number == 1:
        return np.ones(len(values), dtype=np.int64), "K = 1"
    rating = quantile_ratings(surer, 2 * group + passes, number)
    return rating, f"K = {rating.max()}, quantiles of column {score!r} within each verdict"


def score_notices(
    values: NDArray[np.float64] | None, passes: Bools, group: Ints, score: str | None
) -> list[Notice]:
    """Notices of a score that is the verdict, or of which the verdict is a cut in each group."""
    if values is None:
        return []
    by_group = [
        pd.Series(values[side]).groupby(group[side]).agg(["min", "max"])
        for side in (~passes, passes)
    ]
    if all((own["min"] == own["max"]).all() for own in by_group):
        return [notice_of("score-is-verdict", column=repr(score))]
    fails, passed = (own.reindex(np.unique(group)) for own in by_group)
    return [notice_of("verdict-is-score-cut")] if (passed["min"] >= fails["max"]).all() else []


def shared_errors(item: Ints, groups: pd.DataFrame, place: Ints, passes: Bools) -> list[Notice]:
    """Notice of judges of the same outputs whose errors, given the label, go together."""
    group = group_numbers(groups)
    names = [" | ".join(map(as_text, row)) for row in groups.drop_duplicates().to_numpy(object)]
    if not 2 <= len(names) <= MOST_JUDGES:
        return []
    known = (item >= 0) & (place < 2)
    rows = pd.DataFrame({"group": group, "place": place, "wrong": passes != place})[known]
    excess = rows["wrong"] - rows.groupby(["group", "place"])["wrong"].transform("mean")
    where = (item[known], place[known], group[known])
    errors, outputs = np.zeros((2, item.max() + 1, 2, len(names)))
    np.add.at(errors, where, excess)
    np.add.at(outputs, where, 1)
    found = {}
    for a, b in combinations(range(len(names)), 2):
        both = (outputs[:, :, [a, b]].sum(axis=1) > 0).all(axis=1)
        one, other = (errors[both, :, i].ravel() for i in (a, b))
        spread = np.sqrt((one**2).sum() * (other**2).sum())
        # Systems that answered the same items have other outputs, with other labels.
        if spread > 0 and (outputs[both, :, a] == outputs[both, :, b]).all():
            phi = (one * other).sum() / spread
            if phi > max(limit("shared-errors"), CHANCE_Z / np.sqrt(both.sum())):
                found[f"{names[a]} and {names[b]} (φ = {phi:.2f})"] = phi
    listed = first_few(sorted(found, key=found.__getitem__, reverse=True))
    return [notice_of("shared-errors", listed=listed)] if found else []


def is_annotator(name: object) -> bool:
    """Whether a column is named like those who label."""
    return plain_name(name).removesuffix("_id") in ANNOTATORS


def check_copies(rows: Rows, by: Sequence[str], label: str) -> None:
    """Refuse an output that occurs twice, where a column names items, or has two labels."""
    if not any(is_item_name(name) for name in rows.columns):
        return
    frame = rows.frame()
    frame = frame[[name for name in frame if not is_nested(frame[name])]]
    if copies := int(frame.duplicated().sum()):
        step = "Drop the copies, or keep the column that tells outputs of an item apart."
        raise RepeatError("trials", f"{copies} rows that occur twice", "each output once", step)
    whose = [name for name in frame if is_annotator(name) and name not in by]
    output = frame.drop(columns=[label, *whose])
    if several := int(output.duplicated().sum()):
        ways = (
            f"Take their majority, add the annotator's column to {option}, or keep the column that "
            "tells outputs of an item apart."
            for option in ("by=", "--by")
        )
        got = f"{several} outputs with a second label"
        raise RepeatError("label", got, "one label for each output", *ways)


def shared_items(rows: pd.DataFrame, cell: Ints, labels: Sequence[str]) -> dict[str, Any]:
    """Attrs: the column of items that occur several times in a cell, and cells that share items."""
    name = next(filter(is_item_name, rows), None)
    if name is None:
        return {}
    item = pd.factorize(rows[name])[0]
    known = item >= 0
    shown = np.zeros((2, len(labels), item.max(initial=-1) + 1), dtype=bool)
    shown[0, cell[known], item[known]] = True
    groups = [[labels[i] for i in group] for group in groups_alike(shown)]
    attrs: dict[str, Any] = {"same_items": groups} if groups else {}
    return attrs | ({"repeated_items": name} if shown.sum() < known.sum() else {})
