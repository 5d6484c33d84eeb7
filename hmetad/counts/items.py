"""Columns that nothing is counted by: which tell questions apart, and which make trials unequal.

Table of trials → names of columns; columns that are named like items, with their values in the
cells, → list of Notice, and cells that share items; other columns → list of Notice of mixed
difficulty. Of difficulty the data decide; names decide only where trials are too few, or where a
column may have been measured after the answer.
Source: Rahnev & Fleming (2019) for what mixtures do to M-ratio; Mantel (1963) and Landis, Heyman &
Koch (1978) for tests of all strata together.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import batched

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc, chndtrinc, entr

from hmetad.base.arguments import check_inputs
from hmetad.base.coverage import MOST_CELLS, shared_parts, strata_columns
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.counts.columns import as_text, group_numbers
from hmetad.rows.duplicates import is_item_name, is_name_of_who, is_people_name, plain_name
from hmetad.rows.rows import PLAIN_KINDS, Rows, Tally, Values

__all__ = [
    "ANSWERED",
    "FEWEST_ITEMS",
    "GROUPS",
    "answers_of_one_time",
    "apart_notices",
    "columns_beside_items",
    "columns_of_questions",
    "columns_that_differ",
    "difficulty_columns",
    "difficulty_notices",
    "item_columns",
    "item_notices",
    "item_parts",
    "same_item_cells",
    "unused_columns",
    "whole_items",
]

type Floats = NDArray[np.float64]
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
    *("option_probabilities", "stimulus"),
    *("top_probability", "lead", "minus_entropy", "options", "signal"),
)
# A column of so many different numbers with fractions is measured, such as a time.
MEASURED = 20
# Rows that show what a column of a large table is.
LOOKED_AT = 1000
# Identifiers may be alike by accident, as row numbers are; the stimuli that go with as many of
# them are not.
FEWEST_ITEMS = 20
DIFFICULTY_WORDS = frozenset(
    ["coherence", "contrast", "difficulty", "intensity", "snr", "staircase"],
)
DIFFICULTY_NAMES = frozenset(
    [
        *("evidence_strength", "noise_level", "signal_level", "signal_strength"),
        *("stim_level", "stim_strength", "stimulus_level", "stimulus_strength"),
    ]
)
# Words of what comes with the answer or after it.
ANSWER_WORDS = frozenset(
    [
        *("rt", "rts", "reaction", "latency", "response", "resp", "decision"),
        *("accuracy", "correct", "error", "feedback", "points", "score", "reward", "bonus"),
        *("payoff", "outcome", "key", "keypress", "button", "click", "clicked", "mouse"),
        *("confidence", "conf", "certainty", "rating", "wager", "awareness", "visibility", "pas"),
    ]
)
# Words of names that number the trials.
NUMBERED = frozenset(["trial", "block", "session", "run", "date", "day", "time", "timestamp"])
NUMBERING = frozenset(["number", "num", "nr", "no", "n", "count", "index", "idx", "id", "in", "of"])
# Columns that are looked at, and how many together.
MOST_COLUMNS, TOGETHER = 60, 20
# More different numbers than this are taken in groups; more different texts are names.
MOST_NUMBERS, RANK_GROUPS, MOST_TEXTS = 12, 10, 50
# In so many trials of a cell, numbers that are measured, as times are, have more different values
# than this, and more than this share of all.
FIRST_TRIALS, FEWEST_MEASURED, SHARE_MEASURED = 200, 20, 0.4
# What explains more than this of accuracy, or of confidence, is made of it.
MADE_OF_ACCURACY, MADE_OF_CONFIDENCE = 0.5, 0.8
# Chance of a false alarm, all columns of a table together; the smallest standard deviation of
# accuracy that matters, as of two halves that differ by 0.04; the chance that it is larger.
FALSE_ALARM, SMALLEST, UNSURE = 0.001, 0.02, 0.05


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


def item_columns(trials: pd.DataFrame, known: Sequence[str] = ()) -> list[str]:
    """Columns that tell items apart: their name, and what may be about the question.

    Not those that are known to be about something else, and no numbers with fractions.
    """
    first = trials.head(LOOKED_AT)
    names = ["task", *columns_of_questions(first, [*known, "task"])]
    return ["item", *(name for name in names if name in first and not has_fractions(first[name]))]


def item_parts(rows: Rows, item: str) -> list[str]:
    """Columns that name an item together: those of sets that number their items anew, and its own.

    Item 0 of one set is another question than item 0 of the next. A set is a column that is named
    like one; or texts in whose levels one model has items that are numbered from 0 or 1, more in
    one than in another. Not so where the right answers to the same number are the same.

    Examples
    --------
    >>> from hmetad.rows.sources import rows_of
    >>> trials = pd.DataFrame({"set": ["boolq", "boolq", "sciq"], "item": [0, 1, 0]})
    >>> item_parts(rows_of(trials), "item")
    ['set', 'item']
    """
    names = columns_beside_items(rows, item)
    if not names:
        return [item]
    frame = rows.frame([item, *names])
    kind = pd.api.types.infer_dtype(frame[item], skipna=True)
    if kind not in ("string", "integer", "categorical", "floating"):
        return [item]
    whose = [name for name in names if name in GROUPS[1:] or is_name_of_who(name)]
    parts = [item]
    for name in names:
        if name not in whose and name != "target" and are_numbered_anew(frame, parts, name, whose):
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
    different = column.nunique() if has_fractions(column) else 0
    return different > MEASURED and 2 * different > column.notna().sum()


def has_fractions(column: pd.Series) -> bool:
    """Whether a column holds numbers with fractions."""
    return pd.api.types.is_float_dtype(column) and bool((column.dropna() % 1 != 0).any())


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
    numbered = cells.set_axis(keys, axis=1).assign(cell=np.arange(len(cells)))
    return rows.merge(numbered, on=keys)


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

    `cells` has one row of grouping columns per cell; of each trial `cell` is the number of its
    cell, `item` a number that names its item, -1 for none. Models are compared, the levels of
    `over`, and those of a single column. Each side has twenty items or more. People and sets of
    questions need not have the same items.
    """
    known = pd.DataFrame({"cell": cell, "item": item})[item >= 0].drop_duplicates()
    number = np.bincount(known["cell"], minlength=len(cells))
    compared = [name for name in map(str, cells) if is_name_of_who(name) or name == over]
    compared = compared if cells.shape[1] > 1 else [*map(str, cells)]
    if len(cells) > MOST_CELLS or known.empty:
        return []
    found = []
    for over in compared:
        if is_people_name(over) or plain_name(over) in SETS:
            continue
        part = shared_parts(cells, over, known)[0][: len(cells)]
        stratum = group_numbers(cells[strata_columns(cells, over)])
        rows = pd.DataFrame({"part": part, "items": number, "stratum": stratum})
        of_part = rows.groupby(["stratum", "part"])["items"].transform("sum")
        rows = rows.assign(items=of_part)[of_part >= FEWEST_ITEMS]
        sizes = rows.groupby("stratum")["items"].transform("max")
        first = rows.loc[rows["items"] == sizes].groupby("stratum")["part"].transform("first")
        largest = rows["stratum"].map(dict(zip(rows["stratum"][first.index], first, strict=True)))
        apart = rows[rows["part"] != largest].index
        if len(apart):
            levels = cells[over].astype(str)
            beside = rows[rows["stratum"].isin(stratum[apart])].index.difference(apart)
            said = {"over": over, "apart": first_few([*levels[apart].unique()])}
            said["others"] = first_few([*levels[beside].unique()])
            code = "different-items" if is_name_of_who(over) else "different-items.conditions"
            found.append(notice_of(code, [labels[i] for i in apart], **said))
    return found


# Columns that may be about difficulty


def difficulty_columns(rows: Rows, used: Sequence[str], by: Sequence[str] = ()) -> list[str]:
    """Names of columns, apart from those in use, that may be about how difficult trials are.

    Not those whose name or first values, in groups of `by`, say that they are about the answer, the
    item or the time; and 60 at most.
    """
    unused = unused_columns(rows, used)
    names = [name for name in unused if not (is_item_name(name) or is_about_the_answer(name))]
    found = []
    for part in batched(names[:MOST_COLUMNS], TOGETHER):
        first = rows.first_rows([*by, *part], LOOKED_AT)
        # As text, for what cannot be grouped by is refused elsewhere.
        cell = group_numbers(first[list(by)].map(str))
        levels = [name for name in part if holds_levels(first[name])]
        found += [name for name in levels if not is_no_condition(name, first[name], cell)]
    return found


def unused_columns(rows: Rows, used: Sequence[str]) -> list[str]:
    """Columns that are not in use and cost little to read; a name that comes twice is no column."""
    times = Counter(rows.columns)
    names = [name for name in rows.cheap_columns if isinstance(name, str) and name not in used]
    return [name for name in names if times[name] == 1]


def is_difficulty_name(name: str) -> bool:
    """Whether a column is named like difficulty: contrast, coherence, staircase_level, ..."""
    plain = plain_name(name)
    return plain in DIFFICULTY_NAMES or not DIFFICULTY_WORDS.isdisjoint(plain.split("_"))


def is_about_the_answer(name: str) -> bool:
    """Whether a column is named like what comes with or after the answer, or numbers the trials."""
    words = [re.sub(r"(?<=trial|block)[is\d]+$", "", word) for word in plain_name(name).split("_")]
    numbers = not NUMBERED.isdisjoint(words) and (NUMBERED | NUMBERING).issuperset(words)
    return numbers or name in (*ANSWERED, *TIMES) or not ANSWER_WORDS.isdisjoint(words)


def holds_levels(values: pd.Series) -> bool:
    """Whether a column holds numbers, or few texts."""
    if is_nested(values) or pd.api.types.infer_dtype(values, skipna=True) not in PLAIN_KINDS:
        return False
    return is_number(values) or values.nunique() <= MOST_TEXTS


def is_no_condition(name: str, values: pd.Series, cell: Ints) -> bool:
    """Whether a column holds numbers that hardly two trials of a cell share, as times are.

    These may be measured after the answer: nothing but a name can say that they are of difficulty.
    """
    if not is_number(values) or is_difficulty_name(name):
        return False
    rows = pd.DataFrame({"cell": cell, "value": pd.factorize(values)[0]})
    first = rows[rows.groupby("cell").cumcount().to_numpy() < FIRST_TRIALS]
    different = len(first.drop_duplicates())
    is_many = different > FEWEST_MEASURED * first["cell"].nunique()
    return is_many and different > SHARE_MEASURED * len(first)


def is_number(values: pd.Series) -> bool:
    """Whether a column holds numbers."""
    is_bool = pd.api.types.is_bool_dtype(values.dtype)
    return pd.api.types.is_numeric_dtype(values.dtype) and not is_bool


# Cells whose trials are of several difficulties


def difficulty_notices(
    sample: Tally, by: Sequence[str], roles: Mapping[str, str], labels: Sequence[str]
) -> list[Notice]:
    """Notice of cells whose trials are of several difficulties; a sample of trials decides.

    A column is of difficulty where accuracy differs between its values within cell and stimulus:
    by the generalised Mantel-Haenszel test at 0.001 over all columns, and by a standard deviation
    of 0.02. Numbers of more than 12 values are taken in ten groups of the cell. What all but
    determines accuracy or confidence is made of the answer. Numbers that hardly two trials share
    may be measured after the answer; these need a name of difficulty as well. Such a name suffices
    where trials cannot exclude that accuracy differs, and where confidence goes with the column.
    """
    frame, n = sample
    used = [*by, *roles.values()]
    known = (frame[used].notna().all(axis=1) & (n > 0)).to_numpy()
    frame, n = frame[known], n[known]
    answers, cells = answers_of(frame, n, by, roles)
    columns = {str(name): frame[name] for name in frame if name not in used}
    found = {name: association(values, answers, name) for name, values in columns.items()}
    tests = {name: test for name, test in found.items() if test is not None}
    level, case = FALSE_ALARM / max(len(tests), 1), "mixed-difficulty"
    names = [name for name, test in tests.items() if test.differs(level)]
    names.sort(key=lambda name: -tests[name].sd)
    if not names:
        case = "mixed-difficulty.named"
        named = [name for name in columns if is_difficulty_name(name)]
        names = [x for x in named if x not in tests or tests[x].may_differ(level)]
        # The sign of a number often is the stimulus, or a side.
        columns |= {name: columns[name].abs() for name in names if is_number(columns[name])}
    mixed = {name: mixed_cells(columns[name], answers, cells) for name in names}
    if case != "mixed-difficulty":
        mixed = {name: where for name, where in mixed.items() if where}
    if not mixed:
        return []
    where = [label for label in labels if any(label in cells for cells in mixed.values())]
    return [notice_of(case, where, columns=", ".join(mixed), first=next(iter(mixed)))]


def answers_of(
    frame: pd.DataFrame, n: Ints, by: Sequence[str], roles: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Trials without a missing value, as numbers, and the labels of the cells.

    Of each trial the cell, the stratum, which is twice that plus the stimulus, whether it is right,
    the rank of its confidence in the cell, and how often it counts.
    """
    cell = group_numbers(frame[list(by)])
    first = frame.loc[~pd.Series(cell, frame.index).duplicated(), list(by)]
    labels = [" | ".join(map(as_text, row)) or "all" for row in first.to_numpy(dtype=object)]
    shown, said = (frame[roles[role]].astype(object) for role in ("stimulus", "response"))
    confidence = pd.to_numeric(frame[roles["confidence"]], errors="coerce").astype(float)
    answers = {
        "cell": cell,
        "stratum": 2 * cell + (pd.factorize(shown)[0] > 0),
        "right": shown.map(as_text).to_numpy() == said.map(as_text).to_numpy(),
        "confidence": confidence.fillna(0).groupby(cell).rank().to_numpy(dtype=np.float64),
        "n": n.astype(np.float64),
    }
    return pd.DataFrame(answers, frame.index), labels


def mixed_cells(values: pd.Series, answers: pd.DataFrame, cells: Sequence[str]) -> set[str]:
    """Labels of the cells that have several values of a column for one stimulus."""
    pairs = answers[["stratum"]].assign(value=pd.factorize(values)[0])[values.notna().to_numpy()]
    several = pairs.drop_duplicates().groupby("stratum").size()
    return {cells[stratum // 2] for stratum in several.index[several > 1]}


@dataclass(frozen=True)
class Association:
    """How accuracy differs between the levels of a column, within cell and stimulus.

    The statistic has a χ² distribution with `df` where accuracy does not differ, and `variance` is
    that of accuracy between the levels for each unit that chance does not explain. Levels explain
    shares of accuracy (entropy) and of the ranks of confidence (variance), in n trials.
    """

    statistic: float
    df: int
    variance: float
    of_accuracy: float
    of_confidence: float
    n: float

    @property
    def sd(self) -> float:
        """Standard deviation of accuracy between the levels, without that of chance."""
        return float(np.sqrt(max(self.statistic - self.df, 0) * self.variance))

    @property
    def is_made_of_the_answer(self) -> bool:
        """Whether the levels all but determine accuracy or confidence."""
        return self.of_accuracy > MADE_OF_ACCURACY or self.of_confidence > MADE_OF_CONFIDENCE

    def differs(self, level: float) -> bool:
        """Whether accuracy differs, at this chance of a false alarm, and by enough to matter."""
        is_sure = chdtrc(self.df, self.statistic) < level and self.sd >= SMALLEST
        return bool(is_sure and not self.is_made_of_the_answer)

    def may_differ(self, level: float) -> bool:
        """Whether trials cannot exclude that accuracy differs, or confidence goes with the levels.

        A staircase holds accuracy where it is, whatever the difficulty.
        """
        largest = chndtrinc(self.statistic, self.df, UNSURE) * self.variance
        goes_along = chdtrc(self.df, self.n * self.of_confidence) < level
        is_open = goes_along or not largest < SMALLEST**2
        return bool(is_open and not self.is_made_of_the_answer)


def association(values: pd.Series, answers: pd.DataFrame, name: str) -> Association | None:
    """How accuracy goes with a column; None where its values do not vary or cannot say."""
    known = values.notna().to_numpy()
    values, answers = values[known], answers[known]
    cell, stratum, right, _, n = (answers[column].to_numpy() for column in answers)
    level = levels_of(values, cell)
    if level is None or not len(level) or is_no_condition(name, values, cell):
        return None
    size = (2 * (int(cell.max()) + 1), int(level.max()) + 1)
    trials, hits = (cross_table(stratum, level, weight, size) for weight in (n, n * right))
    all_trials, all_hits = (table.sum(axis=1, keepdims=True) for table in (trials, hits))
    some = ((all_hits > 0) & (all_hits < all_trials))[:, 0]
    m, N, a = trials[some], all_trials[some], all_hits[some]
    # Moments of the hypergeometric distribution that permutations within the strata have.
    weight = a * (N - a) / (N * N * (N - 1))
    apart = (hits[some] - m * a / N).sum(axis=0)
    statistic, df = quadratic_form(apart, (weight * N * m).sum(axis=0), (weight * m).T @ m)
    if not df:
        return None
    of_answers = (a * (N - a) / N).sum() / N.sum()
    return Association(
        statistic,
        df,
        float(of_answers / N.sum()),
        explained_accuracy(trials, hits),
        explained_confidence(level, answers),
        float(n.sum()),
    )


def explained_accuracy(trials: Floats, right: Floats) -> float:
    """Share of the entropy of accuracy, given the stimulus, that levels explain in all cells."""
    by_level = [table.reshape(-1, 2, table.shape[1]).sum(axis=0) for table in (trials, right)]
    without = [table.sum(axis=1, keepdims=True) for table in by_level]
    left, before = (entropy(n, hits) for n, hits in (by_level, without))
    return 1 - left / before if before > 0 else 0.0


def entropy(trials: Floats, right: Floats) -> float:
    """Entropy of accuracy in all trials, by the accuracy of each group."""
    p = right / np.maximum(trials, 1e-300)
    return float((trials * (entr(p) + entr(1 - p))).sum())


def explained_confidence(level: Ints, answers: pd.DataFrame) -> float:
    """Share of the variance of confidence, given stimulus and accuracy, that levels explain."""
    _, stratum, right, confidence, n = (answers[column].to_numpy() for column in answers)
    outcome = 2 * stratum + right
    trials = np.bincount(outcome, n)
    mean = np.bincount(outcome, n * confidence) / np.maximum(trials, 1e-300)
    apart = confidence - mean[outcome]
    m = cross_table(outcome, level, n, (len(trials), int(level.max()) + 1))
    shared = (m / np.maximum(trials, 1e-300)[:, None]).T @ m
    explained, _ = quadratic_form(np.bincount(level, n * apart), m.sum(axis=0), shared)
    variation = float((n * apart**2).sum())
    return explained / variation if variation > 0 else 0.0


def cross_table(rows: Ints, columns: Ints, n: Floats, size: tuple[int, int]) -> Floats:
    """Trials by row and column of a table."""
    flat = np.bincount(rows * size[1] + columns, n, minlength=size[0] * size[1])
    return flat.reshape(size)


def quadratic_form(sums: Floats, diagonal: Floats, shared: Floats) -> tuple[float, int]:
    """Sums in units of their covariance, a diagonal less what is shared; squared, and its rank."""
    variances, axes = np.linalg.eigh(np.diag(diagonal) - shared)
    # Of a column that does not vary within strata all but rounding is shared.
    is_kept = variances > 1e-9 * diagonal.max(initial=0)
    return float(((axes.T @ sums)[is_kept] ** 2 / variances[is_kept]).sum()), int(is_kept.sum())


def levels_of(values: pd.Series, cell: Ints) -> Ints | None:
    """Number of each value, or of its group in the cell; None for many texts."""
    codes, different = pd.factorize(values)
    if len(different) <= MOST_NUMBERS:
        return codes.astype(np.int64)
    if not is_number(values):
        return codes.astype(np.int64) if len(different) <= MOST_TEXTS else None
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    place = pd.Series(numbers).groupby(cell).rank(pct=True).to_numpy()
    return np.minimum(place * RANK_GROUPS, RANK_GROUPS - 1).astype(np.int64)
