"""Columns of trials, read as the levels of an experiment: names, labels, right or wrong, codes.

Names of columns, or distinct rows of trials with the number n of trials that each stands for →
names as tables have them, labels, notices; or InputError that says what to do next.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import (
    ChoiceError,
    ColumnError,
    ConflictError,
    FileError,
    InputError,
    KindError,
    LabelError,
    NumberError,
    StimulusError,
    TakenError,
    nearest,
)
from hmetad.base.notice import Notice, notice_of
from hmetad.counts.checks import STIMULI, TYPE1_DIMS, TYPE2_DIMS, type2_measures, whole_options
from hmetad.rows.queries import Rows, Tally, plain_value
from hmetad.rows.sample_frames import tool_of
from hmetad.rows.tables import TableLike, rows_of
from hmetad.rows.values import are_gaps, refuse_unwritable

By = str | Sequence[str] | Mapping[str, str]
Label = str | int | float | bool
type Codes = str | float | Sequence[str | float]
type Ints = NDArray[np.int64]

# Of count tables and fits. Other names that results need are refused where columns meet them.
OF_FITS = ("chain", "draw", "pair", "criterion", "criterion_gap", "summary", "counts")
DIM_NAMES = frozenset(["cell", *TYPE1_DIMS, *TYPE2_DIMS, *OF_FITS])

MEANINGS = dict.fromkeys(("correct", "right", "true", "1"), True)
MEANINGS |= dict.fromkeys(("incorrect", "wrong", "false", "error", "0"), False)

# Where -1 may be a missing answer too.
SIGNED_GRADES = (
    "If -1 is the score of an error, and 0 that of no answer: `hmetad import table FILE --grades "
    "1=true,-1=false -o trials.csv`."
)

CORRECTNESS_NAMES = frozenset(
    [
        *("correct", "correctness", "is_correct", "iscorrect", "was_correct", "resp_correct"),
        *("response_correct", "accuracy", "accurate", "is_accurate", "acc", "acc_norm"),
        "exact_match",
    ]
)

# For more than two alternatives, in the words of Python and of the command line.
MULTIPLE = tuple(
    f"More than two alternatives: give {options}, or all labels, for M-ratio. Trials that are "
    f"selected by their answer give a wrong one. Or count correct answers and errors with "
    f"{correct}; to that table apply {{measures}}."
    for options, correct in (
        ("options={number}", "count_correct"),
        ("--options {number}", "--correct COLUMN"),
    )
)
# Numbers that questionnaires and programs of experiments write for no answer, and texts.
REPEATED = [digit * (10**size - 1) // 9 for digit in (7, 8, 9) for size in range(1, 6)]
USUAL_CODES = np.array(sorted({-1, *REPEATED, *(-one for one in REPEATED)}), dtype=np.float64)
USUAL_TEXTS = frozenset(["", "-", ".", "?", "missing", "n/a", "na", "nan", "none", "null", "x"])


# Names of columns, and rows that have them


class Trials(NamedTuple):
    """Rows of trials, and which of their columns are counted; `n` has how many each stands for.

    `silent` has the groups of trials that were abstained from, with the reason and their number.
    """

    rows: Rows
    roles: Mapping[str, str]
    by: list[str]
    covariates: list[str]
    n: str | None
    silent: Tally | None = None

    @property
    def used(self) -> list[str]:
        """Columns that tell rows apart."""
        return [*self.roles.values(), *self.by, *self.covariates]


def trials_in_use(
    table: TableLike,
    roles: Mapping[str, str],
    groupings: Mapping[str, By],
    n: str | None,
    others: Sequence[object],
    missing_codes: Codes,
    words: Mapping[str, Sequence[Label] | None],
) -> Trials:
    """Trials whose columns have the names that are in use.

    Codes of the columns with a role are missing values; `others` are columns that group nothing.
    `words` are the labels or levels that the user named, by role: a file has them as they stand,
    even "None".
    """
    rows = rows_of(table, text=text_columns(groupings["by"]))
    rows = named_rows(rows, roles.values(), *groupings.values(), n, *others)
    names = {argument: column_names(argument, given) for argument, given in groupings.items()}
    grouping = [(argument, name) for argument, own in names.items() for name in own]
    check_roles(rows.columns, [*roles.items(), *grouping, *([] if n is None else [("n", n)])])
    rows = rows.with_texts(column for role, column in roles.items() if are_gaps(words.get(role)))
    rows = without_codes(rows, missing_codes, roles, words.get("stimulus"))
    return Trials(rows, roles, names["by"], names.get("covariates", []), n)


def column_names(argument: str, given: By) -> list[str]:
    """Columns to group by, or an error for a name that means something else here."""
    names = [given] if isinstance(given, str) else list(given)
    refuse_unwritable(argument, names)
    for name in names:
        if name in DIM_NAMES or "/" in name:
            step = f"Rename the column, say {'my_' + name.replace('/', '_')!r}."
            allowed = "a name without '/' that no dim of a table or a fit has"
            raise ChoiceError(argument, repr(name), allowed, step)
    return names


def named_rows(rows: Rows, *given: object) -> Rows:
    """Rows as of `renamed_rows`, whose named columns have no texts that files do not keep."""
    names = [name for one in given for name in named_columns(one)]
    rows = rows.spelled(names)
    rows.source.refuse_unwritable(rows.own_names(x for x in names if x in rows.columns))
    return renamed_rows(rows, *given)


def renamed_rows(rows: Rows, *given: object) -> Rows:
    """Rows whose columns bear the names that arguments call them by; mappings say {new: column}.

    The case of names does not matter where one column fits.
    """
    rows = rows.spelled(name for one in given for name in named_columns(one))
    pairs = {new: old for one in given if isinstance(one, Mapping) for new, old in one.items()}
    for new, old in pairs.items():
        argument = f"column for {new!r}"
        refuse_absent(argument, old, rows.columns)
        first = next(name for name, column in pairs.items() if column == old)
        if first != new:
            got = f"{old!r}, which is named {first!r} already"
            raise ColumnError(argument, got, "a different column for each")
        if new in rows.columns and new not in pairs.values():
            step = f"Drop or rename the column {new!r}."
            raise ConflictError(f"{argument}={old!r}", f"a column {new!r}", next_step=step)
    return rows.rename({old: new for new, old in pairs.items()}) if pairs else rows


def named_columns(given: object) -> list[object]:
    """Columns that an argument names: itself, each of several, or the values of a mapping."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    return [*given.values()] if isinstance(given, Mapping) else [*given]


def several_columns(given: str | Sequence[str] | None, columns: Iterable[object]) -> list[str]:
    """Columns that are named: none, one, several, or several in one text with commas between.

    Examples
    --------
    >>> several_columns("set,item", ["set", "item"]), several_columns("a,b", ["a,b"])
    (['set', 'item'], ['a,b'])
    """
    if given is None or not isinstance(given, str):
        return [*(given or ())]
    if given in columns or "," not in given:
        return [given]
    return [part for name in given.split(",") if (part := name.strip())]


def text_columns(*given: object) -> list[str]:
    """Columns that keys and values of arguments name: in a CSV they are text as it stands."""
    names: list[object] = []
    for one in given:
        names += [*(one if isinstance(one, Mapping) else ()), *named_columns(one)]
    return [name for name in names if isinstance(name, str)]


def check_roles(columns: Sequence[object], used: Sequence[tuple[str, str]]) -> None:
    """Refuse a missing column, and a column with two roles; `used` pairs argument and column."""
    for argument, name in used:
        refuse_absent(argument, name, columns)
    for name, times in Counter(name for _, name in used).items():
        if times > 1:
            where = ", ".join(dict.fromkeys(said for said, column in used if column == name))
            step = f"Name {name!r} once, and leave it out of the others."
            raise FileError(where, f"{name!r} {times} times", "a different column for each", step)


def refuse_absent(argument: str, name: object, columns: Sequence[object]) -> None:
    """Refuse the name of a column that is not there, and suggest the nearest."""
    if not isinstance(name, Hashable) or name not in columns:
        steps = [nearest(str(name), map(str, columns))]
        if (tool := tool_of(columns)) is not None:
            ways = (
                "hmetad.logs.trials_of(frame, model=, scorer=, failed=)",
                "import its log, hmetad import LOG --scorer NAME -o trials.csv",
            )
            steps = [f"This is a frame of {tool}. Choose what is read of it: {x}." for x in ways]
        raise ColumnError(argument, repr(name), "a column of the trials", *steps)


# Values as they are read, written and seen


def plain_array(name: str, values: Iterable[object]) -> NDArray[Any]:
    """NumPy array of text, integers, floats or booleans; one of them, never objects."""
    items = [value.item() if isinstance(value, np.generic) else value for value in list(values)]
    kinds = {type(value) for value in items}
    dtypes: dict[type, type] = {str: np.str_, bool: np.bool_, int: np.int64, float: np.float64}
    refuse_unwritable(name, (value for value in items if isinstance(value, str)))
    if len(kinds) == 1 and kinds <= dtypes.keys():
        try:
            return np.array(items, dtype=dtypes[kinds.pop()])
        except OverflowError as error:
            raise KindError(name, "integers beyond 64 bits", "64-bit integers or text") from error
    if kinds <= {int, float}:
        return np.array(items, dtype=np.float64)
    got = "values of type " + " and ".join(sorted(kind.__name__ for kind in kinds))
    allowed = "one of text, integers, numbers and booleans"
    raise KindError(name, got, allowed, "Convert the column, for instance by .astype(str).")


def group_numbers(columns: pd.DataFrame, *, sort: bool = False) -> Ints:
    """Number of each row's group, all columns together, in the order in which groups come."""
    if columns.columns.empty:
        return np.zeros(len(columns), dtype=np.int64)
    groups = columns.groupby([*columns], dropna=False, observed=True, sort=sort)
    return groups.ngroup().to_numpy().astype(np.int64)


def frequencies_of(values: Iterable[Any], n: Ints) -> Counter[Any]:
    """Trials per value."""
    frequencies: Counter[Any] = Counter()
    for value, times in zip(values, n.tolist(), strict=True):
        frequencies[value] += times
    return frequencies


def with_trials(times: Mapping[Any, int], most: int = 10, unit: str = "trials") -> str:
    """Values with their numbers of trials, for a message."""
    return ", ".join(f"{value!r} ({n} {unit})" for value, n in [*times.items()][:most])


def as_text(value: object) -> str:
    """Text of a value; a column of integers that became floats reads as integers."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def as_seen(text: str) -> str:
    """Text as a reader sees it: accents composed, no invisible characters, single spaces."""
    composed = unicodedata.normalize("NFC", text)
    return " ".join("".join(x for x in composed if unicodedata.category(x) != "Cf").split())


def alike_notices(cells: pd.DataFrame, labels: Sequence[str]) -> list[Notice]:
    """Notice of cells whose values of some column look alike and differ; one row per cell."""
    columns, concerned = [], np.zeros(len(cells), dtype=bool)
    for name in cells:
        seen: defaultdict[str, set[str]] = defaultdict(set)
        for value in cells[name].unique().tolist():
            if isinstance(value, str):
                seen[as_seen(value)].add(value)
        alike = [text for group in seen.values() if len(group) > 1 for text in group]
        columns += [repr(str(name))] if alike else []
        concerned |= cells[name].isin(alike).to_numpy()
    where = np.asarray(labels, dtype=object)[concerned]
    return [notice_of("labels-alike", where, columns=", ".join(columns))] if columns else []


# The labels of stimuli and responses, and numbers of options


def option_labels(
    groups: pd.DataFrame,
    n: Ints,
    stimulus: str,
    response: str,
    labels: Sequence[Label] | None,
    number: int | None = None,
    where: str = "",
) -> list[Label]:
    """Labels of so many options, or of two: those given, or those in the data, sorted.

    If fewer than `number` are in the data, which are two at least, the others are named "unseen 1",
    .... `where` names the rows, if these are a part.
    """
    most = number or 2
    shown, said = (
        frequencies_of(plain_array(column, groups[column]).tolist(), n)
        for column in (stimulus, response)
    )
    seen = {*shown, *said}
    if labels is None:
        legal, is_covered = {*shown}, len(seen) <= most and not {*said}.isdisjoint(shown)
    else:
        # Where the data have numbers, "1" is 1.
        named = {text(label): label for label in seen for text in (str, as_text)}
        given = given_labels(labels, most)
        labels = [label if label in seen else named.get(str(label), label) for label in given]
        legal, is_covered = {*labels}, seen <= {*labels}
    says_right = all(as_correct(label) is not None for label in said)
    if not is_covered and not {*said} <= legal and says_right:
        got = f"values {[*said]}, not those of the stimulus"
        raise correctness_error("response", got, stimulus)
    counted = ", ".join(
        f"{label!r} (stimulus {shown[label]}, response {said[label]})"
        for label in sorted(seen, key=repr)[:10]
    )
    if labels is not None and not is_covered:
        raise LabelError("labels", f"{labels!r} but in the data {counted}", "all that is there")
    if labels is not None:
        return [*labels]
    columns = f"{stimulus!r} and {response!r}{where}"
    if len(seen) == 1:
        steps: tuple[str, ...] = ("Name both: labels=(S1, S2).", "Name both: --labels S1,S2.")
        steps = ("Exclude these trials.",) if where else steps
        if most > 2:
            steps = ("Name all: options=[...].", "Name all: --options A,B,C.")
        raise LabelError(columns, f"the single label {counted}", "two labels", *steps)
    of_one_type = len({isinstance(label, str) for label in seen}) == 1
    if len(seen) > most or not of_one_type:
        # Trials that are selected by their answer say nothing true of any measure.
        several = len(shown) > 2 and of_one_type and number is None
        steps = code_steps(label_codes(shown + said, most)) or (
            tuple(x.format(number=len(seen), measures=type2_measures()) for x in MULTIPLE)
            if several
            else ("Recode both columns to the same labels.",)
        )
        allowed = "the same two labels" if most == 2 else f"at most {most} labels"
        raise LabelError(columns, f"{len(seen)} labels: {counted}", allowed, *steps)
    refuse_alike(columns, sorted(seen))
    return [*sorted(seen), *(f"unseen {k}" for k in range(1, most - len(seen) + 1))]


def with_sides(
    groups: pd.DataFrame, n: Ints, sides: Sequence[str], within: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, list[Label]]]:
    """Rows in which the two labels of each group are S1 and S2, and the labels by group."""
    parts, labels = [], dict[str, list[Label]]()
    for key, rows in groups.groupby([*within], observed=True, sort=False):
        name = " | ".join(map(as_text, key))
        own = option_labels(rows, n[rows.index], sides[0], sides[1], None, None, f" of {name}")
        labels[name], meaning = own, dict(zip(own, STIMULI, strict=True))
        parts.append(rows.assign(**{side: rows[side].map(meaning) for side in sides}))
    return pd.concat(parts).sort_index(), labels


def with_response_labels(
    groups: pd.DataFrame,
    sides: Sequence[str],
    labels: Sequence[Label] | None,
    response_labels: Sequence[Label],
) -> pd.DataFrame:
    """Rows whose responses have the labels of the stimuli that they stand for, in order."""
    stimulus, response = sides
    shown = {as_text(label): label for label in groups[stimulus].unique()}
    order = (
        sorted({*plain_array(stimulus, groups[stimulus]).tolist()}) if labels is None else labels
    )
    own = given_labels(response_labels, len(order), "response_labels")
    stands_for = [shown.get(as_text(label), label) for label in order]
    meaning = dict(zip(map(as_text, own), stands_for, strict=True))
    said = groups[response].map(as_text)
    if unknown := sorted({*said} - {*meaning}):
        got = f"{response_labels!r} but in the data also {', '.join(unknown[:10])}"
        raise LabelError("response_labels", got, "all that is there")
    return groups.assign(**{response: said.map(meaning)})


def given_labels(labels: Sequence[Label], number: int = 2, argument: str = "labels") -> list[Label]:
    """Labels as given, if they are so many and differ."""
    # A set has no order that says which is S1.
    has_order = isinstance(labels, Iterable) and not isinstance(labels, str | Set | Mapping)
    given = labels if has_order else []
    own = [label.item() if isinstance(label, np.generic) else label for label in given]
    are_labels = all(isinstance(x, Label) for x in own)
    if len(own) != number or not are_labels or len({*map(as_text, own)}) < number:
        allowed = "two different labels, (S1, S2)" if number == 2 else f"{number} different labels"
        raise LabelError(argument, repr(labels), allowed)
    refuse_alike(argument, own)
    return own


def refuse_alike(argument: str, labels: Sequence[object]) -> None:
    """Refuse labels of which two look the same."""
    first: dict[object, object] = {}
    for label in labels:
        other = first.setdefault(as_seen(label) if isinstance(label, str) else label, label)
        if other is not label:
            step = "Recode the column: .str.strip() and .str.normalize('NFC')."
            got = f"{other!a} and {label!a}, which look alike"
            raise LabelError(argument, got, "labels that a reader can tell apart", step)


def options_of_trials(
    options: int | Sequence[Label] | None, labels: Sequence[Label] | None
) -> tuple[Sequence[Label] | None, int | None]:
    """Labels and number of options, as `count_trials` was given them, by a list or a number."""
    if options is None:
        return labels, None
    if isinstance(options, int | np.integer) and not isinstance(options, bool):
        return labels, int(whole_options(np.array([options]), "the argument")[0])
    if isinstance(options, str | Set | Mapping) or not isinstance(options, Iterable):
        raise LabelError("options", repr(options), "a number, or a list of all labels in order")
    if labels is not None:
        raise ConflictError("labels", "a list of options")
    own = [*options]
    if len(own) < 2:
        raise LabelError("options", repr(own), "at least two labels")
    return own, len(own)


def with_options_column(by: By, options: int | str | None) -> By:
    """Grouping columns, and the column of numbers of options, which tells cells apart too."""
    if not isinstance(options, str):
        return by
    if options.strip().isdigit() or "," in options:
        steps = (
            "Write options=4; labels of options belong to count_trials.",
            "Write --options 4; labels of options do not go with --correct.",
        )
        raise ColumnError("options", repr(options), "a number, or the column that has it", *steps)
    named = dict(by) if isinstance(by, Mapping) else {x: x for x in listed("by", by)}
    own = {options if old == options else new: old for new, old in named.items()}
    return own | {options: options}


def with_options(
    groups: pd.DataFrame, by: Sequence[str], options: int | str | None
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Rows with the column ``options``, names of the grouping columns, and of covariates.

    Numbers of options that are read from a column are called ``options`` from here on.
    """
    if options is None:
        return groups, [*by], []
    if isinstance(options, str):
        if options != "options" and "options" in groups:
            step = "Rename the column 'options'."
            raise TakenError("by", "'options'", "another name", step)
        source = f"column {options!r}"
        number = whole_options(plain_array(source, groups[options]), source)
        groups = groups.rename(columns={options: "options"}).assign(options=number)
        return groups, ["options" if name == options else name for name in by], []
    if "options" in by:
        steps = ("", "Name the column: options='options'.", "Name the column: --options options.")
        raise ConflictError("options", "a column 'options' in by", *steps)
    number = whole_options(np.array([options]), "the argument")
    return groups.assign(options=np.repeat(number, len(groups))), [*by], ["options"]


# Right or wrong, also where that stands for stimulus or response


def as_correct(value: object) -> bool | None:
    """Right or wrong, or None for a value that says neither."""
    if isinstance(value, str):
        return MEANINGS.get(value.strip().lower())
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else None


def right_trials(groups: pd.DataFrame, n: Ints, correct: str) -> tuple[Ints, list[list[Label]]]:
    """Return 1 for the rows that are right and 0 for the others, and the values behind 0 and 1."""
    argument = f"correct column {correct!r}"
    values = plain_array(argument, groups[correct]).tolist()
    meaning = {value: as_correct(value) for value in values}
    if None in meaning.values():
        frequencies = frequencies_of(values, n)
        neither = {value: frequencies[value] for value in meaning if meaning[value] is None}
        step = "Decide for each trial whether it was right, or drop it."
        if any(isinstance(value, str) for value in neither):
            step = (
                "Say which word means right: `hmetad import table FILE --grades C=true,I=false -o "
                "trials.csv`, or trials[...].map({'C': True, 'I': False})."
            )
        if any(isinstance(value, float) and 0 < value < 1 for value in neither):
            step = "Partial credit becomes right or wrong by a cut, such as score >= 0.5."
        steps = code_steps(label_codes(frequencies)) or (step,)
        if any(as_text(value) == "-1" for value in neither):
            steps = tuple(f"{SIGNED_GRADES} {one}" for one in steps)
        allowed = "True or False, 1 or 0, or words such as 'correct' and 'incorrect'"
        raise KindError(argument, with_trials(neither, 5), allowed, *steps)
    is_right = np.array([meaning[value] for value in values], dtype=np.int64)
    return is_right, [sorted(x for x in meaning if meaning[x] is side) for side in (False, True)]


def is_correctness_name(name: object) -> bool:
    """Whether a column is named like correctness: correct, accuracy, is_correct, acc, ..."""
    return re.sub(r"[\W_]+", "_", str(name).strip().lower()) in CORRECTNESS_NAMES


def refuse_correctness(
    seen: Mapping[str, pd.DataFrame], few: bool, stimulus: str, response: str
) -> None:
    """Refuse correctness as the stimulus or the response, told by other columns.

    `seen` has for columns named like correctness the distinct rows of stimulus, response and the
    column; with `few` trials of a stimulus nothing is said of it.
    """
    for name, found in seen.items():
        shown, said, values = (found.dropna().iloc[:, i].tolist() for i in range(3))
        right = [as_correct(value) for value in values]
        if None in right or right == [s == r for s, r in zip(shown, said, strict=True)]:
            continue
        if [as_correct(answer) for answer in said] == right:
            got = f"column {response!r}, the same as {name!r} in every row"
            raise correctness_error("response", got, stimulus)
        pairs = {*zip(shown, right, strict=True)}
        if len(pairs) == len({*shown}) == len({*right}) == 2 and not few:
            got = f"column {stimulus!r}, which goes with {name!r} in every row"
            raise correctness_error("stimulus", got, stimulus)


def correctness_error(role: str, got: str, stimulus: str) -> InputError:
    """Error for correctness in the place of the stimulus or the response, with the next step."""
    if role == "response":
        step = (
            f"Rebuild the choice: the label in {stimulus!r} where the trial was correct, the other "
            f"label where it was not. With no two alternatives use {type2_measures()}."
        )
        return LabelError(role, got, "the choice made, in the labels of the stimulus", step)
    step = (
        f"Where only correctness is known use {type2_measures()}; count_correct makes their table. "
        "With correctness as the stimulus M-ratio is nearly the same whatever the truth."
    )
    return StimulusError(role, got, "what was shown, in two labels", step)


# Codes for missing answers


# Names and labels are looked at where they are counted by.
@check_inputs(skip=("labels",))
def without_codes(
    rows: Rows,
    missing_codes: Codes,
    columns: Mapping[str, str],
    labels: Sequence[str | float] | None = None,
) -> Rows:
    """Rows in which values that are codes are missing.

    Parameters
    ----------
    rows : Rows
        What `hmetad.logs.scan_table` gave.
    missing_codes : str, float or sequence of these
        Values that stand for a missing answer; "1" is 1.
    columns : mapping of str to str
        Columns by role: "stimulus", "response", "confidence", "correct". A code of confidence, such
        as 0, is none in the column of correctness where it says either, and none in those of
        stimulus and response where it is a label.
    labels : sequence, optional
        Labels of stimulus and response.

    Returns
    -------
    Rows

    Raises
    ------
    InputError
        If `missing_codes` are no list, or `columns` no mapping.

    Examples
    --------
    >>> from hmetad.rows.tables import rows_of
    >>> import pandas as pd
    >>> rows = rows_of(pd.DataFrame({"ok": [0, 1], "sure": [0, 3]}))
    >>> without_codes(rows, 0, {"correct": "ok", "confidence": "sure"}).frame().values.tolist()
    [[0.0, nan], [1.0, 3.0]]
    """
    named = {*map(plain_value, labels)} if isinstance(labels, list | tuple) else set()
    for role, column in columns.items():
        codes = listed("missing_codes", missing_codes)
        if role == "correct":
            codes = [code for code in codes if as_correct(code) is None]
        elif role in ("stimulus", "response"):
            codes = [code for code in codes if plain_value(code) not in named]
        rows = rows.without(codes, [column])
    return rows


def with_numbers(groups: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Table whose columns of numbers as text are numbers, where others of them are, or it is one.

    A word for a missing value makes the whole column of a file text; without it numbers are left.

    Examples
    --------
    >>> with_numbers(pd.DataFrame({"s": ["1", "2"], "r": [1.0, 2.0]}), ["s", "r"])["s"].tolist()
    [1, 2]
    """
    text = [x for x in columns if all(isinstance(value, str) for value in groups[x].tolist())]
    if not text or (len(columns) > 1 and len(text) == len(columns)):
        return groups
    numbers = {name: pd.to_numeric(groups[name], errors="coerce") for name in text}
    return groups.assign(**{name: x for name, x in numbers.items() if x.notna().all()})


def listed(argument: str, given: Any) -> list[Any]:
    """Values as a list, a single one too."""
    if isinstance(given, Mapping | Set) or (np.ndim(given) != 1 and not np.isscalar(given)):
        raise NumberError(argument, repr(given), "a list of texts or numbers")
    return [given] if np.isscalar(given) else list(given)


def suspected_codes(values: NDArray[Any], n: Ints) -> dict[float, int]:
    """Values that look like codes for missing ones, and how many trials have each.

    Usual codes (-1, 9, 99, -999, ...) that are further from the others than these are from each
    other, or the only ones below 0.
    """
    given = np.asarray(values, dtype=np.float64)
    place, numbers = pd.factorize(given, sort=True, use_na_sentinel=False)
    usual = np.isin(numbers, USUAL_CODES)
    others = numbers[~usual & np.isfinite(numbers)]
    if len(others) < 2:
        return {}
    # Halves, since the range of floats can overflow.
    low, high = others[0] / 2, others[-1] / 2
    is_far = np.maximum(numbers / 2 - high, low - numbers / 2) > high - low
    odd = usual & (is_far | ((numbers < 0) & (low >= 0)))
    times = np.bincount(place, n)
    return {float(numbers[i]): int(times[i]) for i in np.flatnonzero(odd)}


def label_codes(labels: Mapping[Any, int], number: int = 2) -> dict[Any, int]:
    """Labels that look like codes for missing answers, where the others are so many."""
    odd = {}
    for label, times in labels.items():
        value = plain_value(label)
        is_usual = isinstance(value, float) and value in USUAL_CODES
        if is_usual or str(label).strip().casefold() in USUAL_TEXTS:
            odd[label] = times
    return odd if len(labels) - len(odd) == number else {}


def code_steps(suspects: Mapping[Any, int]) -> tuple[str, ...]:
    """Next steps of an error: which values look like codes, and how to declare them."""
    named = ", ".join(map(code_text, suspects))
    ways = (f"missing_codes=[{named}]", f"--missing-codes {named.replace(', ', ',')}")
    steps = tuple(f"{looks_like_codes(suspects)}: if so, give {way}." for way in ways)
    return steps if suspects else ()


def looks_like_codes(suspects: Mapping[Any, int]) -> str:
    """The beginning of a sentence on values that may stand for missing answers."""
    named = ", ".join(map(code_text, suspects))
    who = "looks like a code" if len(suspects) == 1 else "look like codes"
    return f"{named} {who} for a missing answer"


def code_notices(column: str, values: NDArray[Any], n: Ints) -> list[Notice]:
    """Notice of values that look like codes for missing ones and were taken as confidence."""
    suspects = suspected_codes(values, n)
    if not suspects:
        return []
    named = ", ".join(f"{code_text(value)} ({times:,} trials)" for value, times in suspects.items())
    return [notice_of("suspected-codes", column=repr(column), listed=named)]


def code_text(value: Any) -> str:
    """Text of a value: numbers without a point that says nothing, words in quotes."""
    return f"{value:g}" if isinstance(value, float) else repr(value)
