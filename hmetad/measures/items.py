"""Items of trials: which come again, which not all answered, and trials of those that all did.

Table of trials → notices, or trials.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.coverage import (
    CODE,
    Items,
    coverage_notices,
    distinct_pairs,
    item_coverage,
    shared_parts,
    strata_columns,
)
from hmetad.base.errors import ColumnError, EmptyError
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.base.notice_registry import limit
from hmetad.counts.columns import (
    check_roles,
    column_names,
    named_rows,
    several_columns,
    text_columns,
)
from hmetad.counts.items import apart_notices, item_parts, whole_items
from hmetad.counts.noticed import add_notices
from hmetad.counts.tables import cell_labels, cells_of
from hmetad.rows.duplicates import is_item_name, is_people_name
from hmetad.rows.queries import Rows
from hmetad.rows.tables import TableLike, rows_of

By = str | Sequence[str] | Mapping[str, str]
Units = str | Sequence[str] | None
type Ints = NDArray[np.int64]


@check_inputs(skip=("trials",))
def repeated_items(trials: TableLike, *, by: By = (), cluster: Units = None) -> list[Notice]:
    """Notice of a column of items that come again, where single trials are drawn.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns of the cells.
    cluster : str or sequence of str, optional
        Column whose levels are resampled as clusters, or columns that name together what is.

    Returns
    -------
    list of Notice
        Where units are resampled as clusters, at most that sets number items anew. Nothing where no
        column that is named like items has repeats. Repeats in a cell make its interval too narrow;
        the same items in several cells make their data paired.

    Raises
    ------
    InputError
        If `trials` is no table with rows.

    Examples
    --------
    >>> trials = pd.DataFrame({"model": ["a", "a", "b"], "item": [1, 2, 1]})
    >>> [notice.code for notice in repeated_items(trials, by="model")]
    ['repeated-items']
    >>> repeated_items(trials, by="model", cluster="item")
    []
    """
    rows = rows_of(trials).spelled(text_columns(by))
    columns = [name for name in text_columns(by) if name in rows.columns]
    if cluster:
        return units_of(rows, columns, cluster).found
    for name in rows.columns:
        if name in columns or not is_item_name(name) or rows.columns.count(name) > 1:
            continue
        parts = item_parts(rows, name)
        used = rows.frame([*columns, *parts])
        used = used[used[parts].notna().all(axis=1)]
        kind = pd.api.types.infer_dtype(used[name], skipna=True)
        if kind not in ("string", "integer", "categorical"):
            continue
        number = len(used[parts].drop_duplicates())
        if number == len(used):
            continue
        in_cells, across_cells = "repeated-items.in-cells", "repeated-items.across-cells"
        case = in_cells if used.duplicated().any() else across_cells
        said = {"column": repr(str(name)), "items": f"{number:,}", "trials": f"{len(used):,}"}
        return [notice_of(case, **said)]
    return []


def repeats_in_cells(trials: TableLike, by: By) -> list[Notice]:
    """Notice of items that come again in a cell; in several cells each is judged alone."""
    return [one for one in repeated_items(trials, by=by) if one.severity != "info"]


@check_inputs(skip=("trials",))
def common_items(
    trials: TableLike,
    *,
    by: By = (),
    over: str | None = None,
    item: Units = None,
    answered: Sequence[str] = ("correct", "confidence"),
) -> pd.DataFrame:
    """Trials of the items that all levels of a column answered, within each level of the others.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns of the cells, as for `measure_trials`.
    over : str, optional
        The one of them whose levels are compared; by default the first.
    item : str or sequence of str, optional
        Column that names the items, if it is not called like participants, or several that name
        them together; by default the first that is called like items. If sets number their items
        anew, set and item name one together, and a notice says so.
    answered : sequence of str, optional
        Columns in which a value is missing where an item was not answered.

    Returns
    -------
    DataFrame
        With all columns, by the names that they had; a notice reports how many items remain.

    Raises
    ------
    InputError
        If there is no such column, or no item that all levels answered.

    Examples
    --------
    >>> rows = {"model": ["a", "a", "b"], "item": [1, 2, 1], "correct": [1, 0, 1]}
    >>> trials = pd.DataFrame(rows).assign(confidence=0.9)
    >>> common_items(trials, by="model")["item"].tolist()
    [1, 1]
    """
    is_people = isinstance(item, str) and is_people_name(item)
    rows, names, units = named_trials(trials, by, None if is_people else item)
    needed_item(units.item)
    given = [*(("answered", name) for name in answered), *(("by", name) for name in names)]
    check_roles(rows.columns, [*given, *(("item", x) for x in units.parts if x not in names)])
    over = compared_column(over, names)
    frame = rows.frame()
    known = frame[frame[[*names, *units.parts, *answered]].notna().all(axis=1)]
    others = strata_columns(known[names].drop_duplicates(), over)
    # Numbers of the strata, the items and the levels that are compared.
    own = pd.DataFrame({"stratum": 0, "level": pd.factorize(known[over])[0]}, index=known.index)
    own["item"] = pd.factorize(whole_items(known, units.parts))[0]
    if others:
        own["stratum"] = known.groupby(others, observed=True, sort=False).ngroup()
    levels = own.groupby("stratum")["level"].transform("nunique")
    is_common = own.groupby(["stratum", "item"])["level"].transform("nunique") == levels
    if not is_common.any():
        numbers = own.groupby(known[over], observed=True)["item"].nunique()
        step = f"Leave out {numbers.idxmin()}, which answered fewest ({numbers.min():,})."
        raise EmptyError("trials", f"no item was answered by all levels of {over}", "", step)
    left, every = (
        f"{len(x[['stratum', 'item']].drop_duplicates()):,}" for x in (own[is_common], own)
    )
    said = notice_of("common-items", over=over, kept=left, all=every)
    before = trials.attrs if isinstance(trials, pd.DataFrame) else {}
    kept = known[is_common].reset_index(drop=True)
    kept = kept.rename(columns=dict(by)) if isinstance(by, Mapping) else kept
    kept.attrs = add_notices(before, [*units.found, said])
    return kept


@check_inputs(skip=("trials",))
def unequal_answers(
    trials: TableLike,
    *,
    by: By = (),
    over: str | None = None,
    answered: Sequence[str] = ("correct", "confidence"),
) -> list[Notice]:
    """Notice of cells that lack items, or have fewer trials where no column names the items.

    Parameters
    ----------
    trials, by, over, answered
        As for `common_items`.

    Returns
    -------
    list of Notice
        One ``"unequal-items"``, or none.

    Raises
    ------
    InputError
        If `trials` is no table with rows, or a column is missing.

    Examples
    --------
    >>> rows = {"model": ["a", "a", "b"], "item": [1, 2, 1], "correct": [1, 0, 1]}
    >>> trials = pd.DataFrame(rows).assign(confidence=0.9)
    >>> [notice.code for notice in unequal_answers(trials, by="model")]
    ['unequal-items']
    """
    rows, names, units = named_trials(trials, by)
    frame = with_units(rows.frame([*answered, *names, *units.parts]), units)
    kept = frame[[*answered, *names]].notna().all(axis=1).to_numpy()
    index, cells = cells_of(frame[kept].reset_index(drop=True), names, [])
    told, _ = told_of_items(index, item_codes(frame, units.item)[kept], cells, over)
    return [*units.found, *told]


class ItemNames(NamedTuple):
    """Columns that name what is drawn whole, and an item, each one or several together.

    `unit` and `item` are what a frame of `with_units` calls them, None for none; `found` says that
    sets number their items anew.
    """

    drawn: list[str]
    parts: list[str]
    found: list[Notice]

    @property
    def unit(self) -> str | None:
        """Column of what is drawn whole."""
        return ", ".join(self.drawn) or None

    @property
    def item(self) -> str | None:
        """Column of the items."""
        return ", ".join(self.parts) or None


def named_trials(
    trials: TableLike, by: By, cluster: Units = None
) -> tuple[Rows, list[str], ItemNames]:
    """Trials by the names that arguments use, grouping columns, and what names units and items."""
    rows = named_rows(rows_of(trials, text=text_columns(by)), by)
    names = column_names("by", by)
    return rows, names, units_of(rows, names, cluster)


def units_of(rows: Rows, by: Sequence[str], cluster: Units = None) -> ItemNames:
    """What names the units that are drawn, and the items: a column called so, or the units.

    People are no items. Where sets number their items anew, set and item name one together.
    """
    drawn = several_columns(cluster, rows.columns)
    is_told = len(drawn) > 1
    drawn = [name for name in drawn if name not in by] or drawn
    named = [str(name) for name in rows.columns if name not in by and is_item_name(name)]
    if drawn and (drawn[-1] in named or not named):
        parts = [] if is_people_name(drawn[-1]) else drawn
    else:
        parts = named[:1]
    whole = item_parts(rows, parts[0]) if len(parts) == 1 and parts[0] in rows.columns else parts
    found = []
    if len(whole) > len(parts) and not is_told:
        said = {"column": " and ".join(whole[:-1]), "names": " and ".join(whole)}
        found = [notice_of("items-numbered-anew", **said)]
    return ItemNames(whole if drawn == parts else drawn, whole, found)


def with_units(frame: pd.DataFrame, units: ItemNames) -> pd.DataFrame:
    """Trials with a column for each of the two that several columns name together."""
    both = {", ".join(parts): parts for parts in (units.drawn, units.parts) if len(parts) > 1}
    return frame.assign(**{name: whole_items(frame, parts) for name, parts in both.items()})


@check_inputs(skip=("trials",))
def unit_columns(trials: TableLike, *, by: By = (), cluster: Units = None) -> list[str]:
    """Columns that name together what is resampled as clusters, to count trials by.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns of the cells.
    cluster : str or sequence of str, optional
        Column whose levels are resampled as clusters, or columns that name together what is.

    Returns
    -------
    list of str
        Those that are given, apart from grouping columns; and, of items that sets number anew, the
        column of the sets.

    Raises
    ------
    InputError
        If `trials` is no table with rows.

    Examples
    --------
    >>> trials = pd.DataFrame({"set": ["boolq", "boolq", "sciq"], "item": [0, 1, 0]})
    >>> unit_columns(trials, cluster="item")
    ['set', 'item']
    """
    _, names, units = named_trials(trials, by, cluster)
    return [name for name in units.drawn if name not in names] or units.drawn


def needed_item(item: str | None) -> str:
    """Column of items, where one is needed."""
    if item is None:
        step = "Call the column of the items item."
        raise ColumnError("trials", "no column that names the items", "one such as item", step)
    return item


def compared_column(over: str | None, by: Sequence[str]) -> str:
    """Grouping column whose levels are compared: by default the first."""
    if not by or (over is not None and over not in by):
        raise ColumnError("over", repr(over), f"a grouping column, of {', '.join(by) or 'none'}")
    return over or by[0]


def absent_rows(frame: pd.DataFrame, by: list[str], over: str | None, item: str) -> pd.DataFrame:
    """Rows of the items that a cell lacks, and that cells which share items with it have."""
    known = frame[frame[[*by, item]].notna().all(axis=1)].reset_index(drop=True)
    if known.empty:
        return known
    over = compared_column(over, by)
    index, cells = cells_of(known, by, [])
    pairs = pd.DataFrame({"cell": index, "item": pd.factorize(known[item])[0]}).drop_duplicates()
    part, _, place = shared_parts(cells, over, pairs["cell"].to_numpy(), pairs["item"].to_numpy())
    if len(cells) > 1 and len(np.unique(part)) == len(cells):
        steps = ("Name another with over=.", "Name another with --over.")
        got = f"{over!r}, whose levels share no items"
        raise ColumnError("over", got, "the column that is compared", *steps)
    items = pd.DataFrame({"place": place, "row": pairs.index}).drop_duplicates("place")
    items["part"] = part[pairs["cell"].loc[items["row"]]]
    levels = pd.DataFrame({"cell": np.arange(len(cells)), "part": part})
    every = levels.merge(items, on="part")
    there = pd.MultiIndex.from_arrays([pairs["cell"], place])
    absent = every[~pd.MultiIndex.from_frame(every[["cell", "place"]]).isin(there)]
    rows = known.iloc[absent["row"]].reset_index(drop=True)
    own = cells.iloc[absent["cell"]].reset_index(drop=True)
    return rows.assign(**{name: own[name] for name in by})


def item_codes(frame: pd.DataFrame, item: str | None) -> Ints:
    """Number of each row's item, -1 for none; values such as lists name no items."""
    if item is not None:
        with suppress(TypeError):
            return pd.factorize(frame[item])[0]
    return np.full(len(frame), -1)


def told_of_items(
    cell: Ints, code: Ints, cells: pd.DataFrame, over: str | None
) -> tuple[list[Notice], dict[str, Items]]:
    """Notice of cells that lack items, or of unequal trials where none are known; and coverage.

    Of each trial `cell` is the number of its cell, and `code` that of its item, -1 for none.
    """
    labels, names = cell_labels(cells), [*map(str, cells)]
    if over is not None:
        compared_column(over, names)
    if not names or len(cells) < 2:
        return [], {}
    pairs = distinct_pairs(cell, code)
    coverage = item_coverage(cells, labels, *pairs)
    apart = apart_notices(cells, labels, *pairs, over)
    if coverage or apart:
        return [*apart, *coverage_notices(coverage, cells, labels, over)], coverage
    # Numbers that no two trials share tell trials apart, not items.
    if len(pairs[1]) and len(np.unique(code)) < len(code):
        return [], {}
    trials = pd.Series(np.bincount(cell, minlength=len(cells)))
    others = strata_columns(cells, compared_column(over, names))
    most = trials.groupby([cells[name].to_numpy() for name in others] or 0 * trials).transform(
        "max"
    )
    share = (trials / most).sort_values(kind="stable")
    short = share[share < 1 - limit(CODE)].index
    if not len(short):
        return [], {}
    listed = first_few([f"{labels[i]} {trials[i]:,} of {most[i]:,}" for i in short])
    return [notice_of("unequal-items.unknown", [labels[i] for i in short], listed=listed)], {}
