"""Items: the columns that tell questions apart, and the cells that mix or share items.

Table of trials → names of columns; columns that are named like items, with their values in the
cells → list of Notice, and cells that share items.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.base.arguments import check_inputs
from hmetad.base.coverage import MOST_CELLS, shared_parts, strata_columns
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.counts.columns import as_text, group_numbers
from hmetad.rows.duplicates import is_item_name, is_name_of_who, is_people_name, plain_name
from hmetad.rows.queries import Rows, Values

type Ints = NDArray[np.int64]

# What readers of logs call whose answers they are, to which version of a question.
GROUPS = ("task", "model", "prompt", "filter", "perturbation")
# What tables call a set of questions, which may number its items from 0 as all others do.
SETS = frozenset(
    [
        *("bench", "benchmark", "corpus", "data_set", "dataset", "exam", "item_set"),
        *("question_set", "set", "subset", "suite", "task", "test_set"),
    ]
)
# Most of the items with the same number have the same right answer where they are one question.
SHARE_SAME, SHARE_FILLED = 0.9, 0.9
# What says which of several times it was; some of these count the answers to one question.
TIMES = ("run", "log", "repeat", "epoch", "sample", "seed")
COUNTERS = ("repeat", "epoch", "sample")
# Numbers of questions beside their item, in logs; a table may mean something else by them.
LOGGED, NUMBERS = ("run", "log"), ("id", "doc_id")
# What belongs to an answer.
ANSWERED = (
    *("answer", "answers", "chosen", "response", "completion", "output", "reasoning"),
    *("explanation", "score", "correct", "confidence", "confidence_se", "samples", "rating"),
    *("option_probabilities", "options", "stimulus"),
)
# A column of so many different numbers with fractions is measured, such as a time.
MEASURED = 20
# Rows that show what a column of a large table is.
LOOKED_AT = 1000
# Identifiers may be alike by accident, as row numbers are; the stimuli that go with as many of
# them are not.
FEWEST_ITEMS = 20
# Columns of sets that are looked at, and the most texts that are no names.
MOST_COLUMNS, MOST_TEXTS = 60, 50


# Columns that tell questions apart


@check_inputs()
def columns_of_questions(trials: pd.DataFrame, known: Sequence[str] = ()) -> list[str]:
    """Columns that may be about the question, for nothing says that they are about something else.

    Parameters
    ----------
    trials : DataFrame
        One row per answer.
    known : sequence of str, optional
        Further columns that are about something else.

    Returns
    -------
    list of str
        Not those that readers of logs name for whose answer it is, which time it was and the answer
        itself ("output", "completion", "reasoning" and "explanation" too); nor columns of lists, or
        of more than 20 different numbers with fractions, such as times.

    Examples
    --------
    >>> trials = pd.DataFrame({"model": ["a"], "set": ["math"], "epoch": [1], "answer": ["4"]})
    >>> columns_of_questions(trials)
    ['set']
    """
    others = {*known, *GROUPS, *TIMES, *ANSWERED, "item", "target"}
    others |= {*NUMBERS} if {*LOGGED} & {*trials.columns} else set()
    names = [name for name in trials.columns if name not in others]
    return [name for name in names if not (is_nested(trials[name]) or is_measured(trials[name]))]


def item_parts(rows: Rows, item: str) -> list[str]:
    """Columns that name an item together: those of sets that number their items anew, and its own.

    Item 0 of one set is another question than item 0 of the next. A set is a column that is named
    like one; or texts in whose levels one model has items that are numbered from 0 or 1, more in
    one than in another. Not so where the right answers to the same number are the same.

    Examples
    --------
    >>> from hmetad.rows.tables import rows_of
    >>> trials = pd.DataFrame({"set": ["boolq", "boolq", "sciq"], "item": [0, 1, 0]})
    >>> item_parts(rows_of(trials), "item")
    ['set', 'item']
    """
    names = columns_beside_items(rows, item)
    whose = [name for name in names if name in GROUPS[1:] or is_name_of_who(name)]
    sets, parts = [name for name in names if name != "target" and name not in whose], [item]
    if not sets:
        return parts
    frame = rows.frame([item, *names])
    for name in sets:
        if are_numbered_anew(frame, parts, name, whose):
            parts = [name, *parts]
    return parts


def columns_beside_items(rows: Rows, item: str) -> list[str]:
    """Columns that may number items anew, those of who answered, and of the right answer."""
    names = [name for name in unused_columns(rows, [item]) if not is_item_name(name)]
    named = {"target", *GROUPS}
    named |= {name for name in names if plain_name(name) in SETS or is_name_of_who(name)}
    others = [name for name in names if name not in (*named, *ANSWERED, *TIMES)][:MOST_COLUMNS]
    first = rows.first_rows([item, *(x for x in names if x in named or x in others)], LOOKED_AT)
    first = first[[name for name in first if not is_nested(first[name])]]
    # Of other columns those of a few texts, where whole numbers can run from the start on.
    if item not in first or pd.to_numeric(first[item], errors="coerce").isna().any():
        others = []
    is_text = {x: pd.api.types.infer_dtype(first[x], skipna=True) == "string" for x in first}
    few = [x for x in others if is_text.get(x) and first[x].nunique() <= MOST_TEXTS]
    return [name for name in first if name != item and (name in named or name in few)]


def unused_columns(rows: Rows, used: Sequence[str]) -> list[str]:
    """Columns that are not in use and cost little to read."""
    return [name for name in rows.cheap_columns if isinstance(name, str) and name not in used]


def are_numbered_anew(
    frame: pd.DataFrame, parts: Sequence[str], name: str, whose: Sequence[str]
) -> bool:
    """Whether each level of a column numbers its items, named by other columns, from the start."""
    is_set = plain_name(name) in SETS
    within = [*parts] if is_set else [*whose, *parts]
    rows = frame[[*dict.fromkeys([*within, name])]].drop_duplicates().dropna()
    again = rows[rows.groupby(within, observed=True, sort=False)[name].transform("nunique") > 1]
    if again.empty or not (is_set or are_filled(rows, parts[-1], name)):
        return False
    if "target" not in frame:
        return True
    answers = frame[[*parts, "target"]].drop_duplicates().dropna()
    answers = answers.merge(again[[*parts]].drop_duplicates(), on=[*parts])
    different = written_values(answers, [*parts, "target"])
    targets = different.groupby([*parts])["target"].nunique()
    is_telling = different["target"].nunique() > 1
    return not (is_telling and (targets == 1).mean() > SHARE_SAME)


def are_filled(rows: pd.DataFrame, item: str, name: str) -> bool:
    """Whether the items of each level are whole numbers from 0 or 1 on, of unequal lengths."""
    number = pd.to_numeric(rows[item], errors="coerce")
    if number.isna().any() or (number % 1 != 0).any() or number.min() < 0:
        return False
    by_level = number.groupby(rows[name], observed=True)
    lengths = by_level.nunique()
    filled = lengths >= SHARE_FILLED * (by_level.max() - by_level.min() + 1)
    return bool((by_level.min() <= 1).all() and filled.all() and lengths.nunique() > 1)


def whole_items(frame: pd.DataFrame, parts: Sequence[str]) -> pd.Series:
    """What tells the items apart that columns name together; missing where one of them is."""
    if len(parts) == 1:
        return frame[parts[0]]
    number = frame.groupby([*parts], observed=True, sort=False).ngroup()
    return number.where(frame[[*parts]].notna().all(axis=1)).astype("Int64")


def columns_that_differ(
    trials: pd.DataFrame, within: Sequence[str], columns: Sequence[str]
) -> Mapping[str, int]:
    """Columns with several values in one group, and in how many groups each has them.

    A missing value is one that differs from others.
    """
    coded = written_values(trials, [*within, *columns])
    groups = coded.groupby(group_numbers(coded[[*within]]))
    several = {name: int((groups[name].nunique() > 1).sum()) for name in columns}
    return {name: number for name, number in several.items() if number}


def answers_of_one_time(trials: pd.DataFrame, within: Sequence[str]) -> int:
    """Answers in a group that came at the same time as another, where columns count the times."""
    if not {*COUNTERS} & {*trials.columns}:
        return 0
    names = [name for name in (*TIMES, *NUMBERS) if name in trials]
    return int(written_values(trials, [*within, *names]).duplicated().sum())


def written_values(trials: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Whole numbers for the values of columns, the same for values that are written alike."""
    texts = {name: [*map(as_text, trials[name].tolist())] for name in dict.fromkeys(columns)}
    codes = {name: pd.factorize(np.array(x, dtype=object))[0] for name, x in texts.items()}
    return pd.DataFrame(codes)


def is_nested(column: pd.Series) -> bool:
    """Whether values of a column hold others."""
    known = column.dropna() if column.dtype == object else column.iloc[:0]
    return any(isinstance(value, list | tuple | dict | np.ndarray) for value in known.tolist())


def is_measured(column: pd.Series) -> bool:
    """Whether a column holds numbers with fractions, most of them different, such as times."""
    known = column.dropna()
    if not pd.api.types.is_float_dtype(column) or (known % 1 == 0).all():
        return False
    return known.nunique() > MEASURED and 2 * known.nunique() > len(known)


# Items of cells


def item_notices(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str], code: str
) -> list[Notice]:
    """Notice of cells whose trials are of several items for one stimulus, or of right answers.

    `columns` has, of those that are named like items, what they hold within the grouping columns
    and the stimulus; `cells` one row of grouping columns per cell. Numbers that no two trials
    share number the trials.
    """
    mixed = {}
    for name, values in real_items(columns).items():
        where = in_cells(values.several[values.several["several"]], cells)["cell"]
        if len(where):
            mixed[name] = np.isin(np.arange(len(cells)), where)
    if not mixed:
        return []
    together = np.any([*mixed.values()], axis=0)
    told = [label for label, holds in zip(labels, together, strict=True) if holds]
    return [notice_of(code, told, columns=", ".join(mixed))]


def same_item_cells(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[list[str]]:
    """Groups of cells, two at least, that were given the same items: their data are paired.

    The first column that is named like items is used. Two cells are of one group where they have
    twenty items in common or more, each with the same stimulus in both. Of more than 2000 items
    some 2000 are looked at; with more than 3000 cells, none.
    """
    items = [*real_items(columns).values()]
    if not items or not 1 < len(cells) <= MOST_CELLS:
        return []
    rows = in_cells(items[0].sample, cells)
    # After the grouping columns comes the stimulus.
    stimulus, (item, _) = pd.factorize(rows[cells.shape[1]])[0], pd.factorize(rows["value"])
    shown = np.zeros((2, len(cells), item.max(initial=0) + 1), dtype=bool)
    shown[(stimulus == 1).astype(np.int64), rows["cell"], item] = True
    return [[labels[i] for i in group] for group in groups_alike(shown)]


def real_items(columns: Mapping[str, Values]) -> dict[str, Values]:
    """Columns of items, but for numbers that no two trials share: these number the trials."""
    return {k: x for k, x in columns.items() if not (x.are_numbers and x.are_unique)}


def in_cells(rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Rows of groups, numbered 0, 1, ... in the order of the cells' columns, with their cell."""
    keys = list(range(cells.shape[1]))
    if not keys:
        return rows.assign(cell=0)
    # Numbers of options are numbers in cells, also where the file has them as text.
    alike = cells.set_axis(keys, axis=1).astype({key: rows[key].dtype for key in keys})
    return rows.merge(alike.assign(cell=np.arange(len(cells))), on=keys)


def groups_alike(shown: NDArray[np.bool_]) -> list[list[int]]:
    """Cells connected by items in common; `shown` is (stimulus, cell, item)."""
    first, second = shown
    # As 4-byte floats a product of matrices is fast, and counts are exact up to 2²⁴.
    patterns = [x.astype(np.float32) for x in (first & ~second, second & ~first, first & second)]
    alike = sum(x @ x.T for x in patterns)
    present = (first | second).astype(np.float32)
    together = present @ present.T
    is_paired = (together >= FEWEST_ITEMS) & (alike == together)
    np.fill_diagonal(is_paired, False)
    _, group = connected_components(csr_array(is_paired), directed=False)
    members = [np.flatnonzero(group == i).tolist() for i in np.unique(group)]
    return [cells for cells in members if len(cells) > 1]


def apart_notices(
    cells: pd.DataFrame, labels: Sequence[str], cell: Ints, item: Ints, over: str | None = None
) -> list[Notice]:
    """Notices of levels that share no item with those that they are compared with.

    `cells` has one row of grouping columns per cell; `cell` and `item` are numbers of each pair of
    these that occurs, as of `distinct_pairs`. Models are compared, the levels of
    `over`, and those of a single column. Each side has twenty items or more. People and sets of
    questions need not have the same items.
    """
    number = np.bincount(cell, minlength=len(cells))
    compared = [name for name in map(str, cells) if is_name_of_who(name) or name == over]
    compared = compared if cells.shape[1] > 1 else [*map(str, cells)]
    if len(cells) > MOST_CELLS or not number.any():
        return []
    found = []
    for over in compared:
        if is_people_name(over) or plain_name(over) in SETS:
            continue
        part = shared_parts(cells, over, cell, item)[0]
        stratum = group_numbers(cells[strata_columns(cells, over)])
        rows = pd.DataFrame({"part": part, "items": number, "stratum": stratum})
        of_part = rows.groupby(["stratum", "part"])["items"].transform("sum")
        rows = rows.assign(items=of_part)[of_part >= FEWEST_ITEMS]
        first = rows.loc[rows.groupby("stratum")["items"].idxmax()]
        largest = rows["stratum"].map(first.set_index("stratum")["part"])
        apart = rows[rows["part"] != largest].index
        if len(apart):
            levels = cells[over].astype(str)
            beside = rows[rows["stratum"].isin(stratum[apart])].index.difference(apart)
            said = {"over": over, "apart": first_few([*levels[apart].unique()])}
            said["others"] = first_few([*levels[beside].unique()])
            code = "different-items" if is_name_of_who(over) else "different-items.conditions"
            found.append(notice_of(code, [labels[i] for i in apart], **said))
    return found
