"""Columns of trials that a table does not spell out: of its path, a key, or a column per option.

Path → columns; trials and a key → trials with the columns of the key; a column of probabilities for
each option → list, choice and its probability.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import InputError, nearest
from hmetad.base.notice import first_few
from hmetad.counts.columns import as_text
from hmetad.logs.option_signals import ANSWERS, probability_matrix
from hmetad.logs.statements import fold_word, is_missing
from hmetad.logs.trials import safe_text

__all__ = ["columns_of_path", "with_correct", "with_key", "with_options"]

HOLE = re.compile(r"\{([^{}]*)\}")
OPTION = "{option}"
# What is made of a column for each option.
MADE = ("option_probabilities", "confidence")


def columns_of_path(template: str, path: Path) -> dict[str, str]:
    """What the end of a path has for the names in braces, if it fits in one way.

    Examples
    --------
    >>> columns_of_path("{model}/{set}.csv", Path("runs/gpt-4/math.csv"))
    {'model': 'gpt-4', 'set': 'math'}
    """
    names: list[str] = HOLE.findall(template)
    if not names or len({*names}) < len(names) or not all(name.isidentifier() for name in names):
        allowed = "a path with different names in braces, such as {model}_{set}.csv"
        raise InputError("path_columns", repr(template), allowed)
    found = []
    parts = [re.escape(part) for part in HOLE.split(template)[::2]]
    for filled in ("([^/]+?)", "([^/]+)"):
        # The first takes as little as it can, the other as much: only one way leaves them alike.
        match = re.fullmatch(f"(?:.*/)?{filled.join(parts)}", safe_text(path.as_posix()), re.DOTALL)
        if match is None:
            got = f"{template!r}, for {path}"
            raise InputError("path_columns", got, "a pattern that all files fit")
        found.append(dict(zip(names, match.groups(), strict=True)))
    if found[0] != found[1]:
        got = f"{template!r}, which {path} fits as {found[0]} and as {found[1]}"
        raise InputError("path_columns", got, "a pattern that each file fits in one way")
    return found[0]


def with_key(
    trials: pd.DataFrame, key: pd.DataFrame, on: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Trials with the columns of an answer key beside them, and how many have no row of it."""
    for table, argument in ((trials, "the trials"), (key, "the key")):
        for name in (name for name in on if name not in table.columns):
            step = nearest(name, map(str, table.columns))
            raise InputError("on", repr(name), f"a column of {argument}", step)
    new = [name for name in key.columns if name not in on]
    both = [name for name in new if name in trials.columns]
    if both or not new:
        got = f"columns {first_few([repr(x) for x in both])} of the trials" if both else "no others"
        allowed = "a table whose other columns the trials do not have"
        raise InputError("key", got, allowed, "Rename them, or name them too by on=.")
    rows: dict[tuple[str, ...], int] = {}
    for number, names in enumerate(names_of_rows(key, on)):
        if names is not None and rows.setdefault(names, number) != number:
            got = f"several rows of {', '.join(names)}"
            raise InputError("key", got, "one row of each", "Name by on= what tells them apart.")
    at = [-1 if names is None else rows.get(names, -1) for names in names_of_rows(trials, on)]
    lost = at.count(-1)
    if lost == len(at):
        got = f"no value of {', '.join(map(repr, on))} that stands in both"
        raise InputError("key", got, "the key of these trials")
    # Where nothing is found, reindexing leaves the row empty.
    beside = key[new].reset_index(drop=True).reindex(at).set_axis(trials.index)
    return pd.concat([trials, beside], axis="columns"), {"key: no row of it": lost} if lost else {}


def names_of_rows(table: pd.DataFrame, on: Sequence[str]) -> list[tuple[str, ...] | None]:
    """Values that name the rows, as text; None where one of them is missing."""
    rows = zip(*(table[name].tolist() for name in on), strict=True)
    return [None if any(map(is_missing, row)) else tuple(map(as_text, row)) for row in rows]


def with_options(trials: pd.DataFrame, template: str) -> tuple[pd.DataFrame, list[str]]:
    """Trials with the probabilities of the options as a list, and of the one chosen; the options.

    Chosen is what the column of answers says, or without one the most probable option. It is the
    number of an option from 0, and so is the target.
    """
    before, hole, after = template.partition(OPTION)
    if not hole or OPTION in after:
        raise InputError("option_columns", repr(template), f"a name with {OPTION} in it, once")
    pattern = re.compile(f"{re.escape(before)}(.+){re.escape(after)}", re.DOTALL)
    matches = [(name, pattern.fullmatch(str(name))) for name in trials.columns]
    names = {match[1]: name for name, match in matches if match}
    if len(names) < 2:
        step = f"There are: {first_few(list(map(repr, trials.columns)))}."
        raise InputError("option_columns", repr(template), "columns of two options or more", step)
    for name in (name for name in MADE if name in trials.columns):
        raise InputError("option_columns", f"a column {name!r} beside them", "one of the two")
    matrix, _ = probability_matrix(trials, [*names.values()])
    if (matrix > 1).any():
        step = "Percentages are divided by 100."
        got = f"{matrix[matrix > 1][0]:g}"
        raise InputError("option_columns", got, "probabilities from 0 to 1", step)
    labels = {fold_word(label): number for number, label in enumerate(names)}
    if len(labels) < len(names):
        raise InputError(
            "option_columns", f"options {[*names]}", "names that differ in more than case"
        )
    answer = next((name for name in ANSWERS if name in trials.columns), None)
    if answer is None:
        filled = ~np.isnan(matrix).all(axis=1)
        chosen = np.where(filled, np.nan_to_num(matrix, nan=-1.0).argmax(axis=1), -1)
    else:
        chosen = option_numbers(trials[answer], labels)
    sure = np.where(chosen >= 0, matrix[np.arange(len(matrix)), chosen], np.nan)
    lists = [None if np.isnan(row).all() else row.tolist() for row in matrix]
    made = {"chosen": numbers_or_none(chosen, trials.index)}
    if "target" in trials.columns:
        made["target"] = numbers_or_none(option_numbers(trials["target"], labels), trials.index)
    made["option_probabilities"] = pd.Series(lists, index=trials.index, dtype=object)
    kept = trials.drop(columns=[*names.values()])
    return with_correct(kept.assign(**made, confidence=sure)), [*names]


def option_numbers(column: pd.Series, labels: Mapping[str, int]) -> NDArray[np.int64]:
    """Number of the option that each value names, in either case; -1 for a missing one."""
    numbers = []
    for value in column.tolist():
        text = "" if is_missing(value) else fold_word(as_text(value))
        if text and text not in labels:
            allowed = f"an option: {first_few(list(map(repr, labels)))}"
            raise InputError("option_columns", f"{text!r} in column {column.name!r}", allowed)
        numbers.append(labels[text] if text else -1)
    return np.array(numbers, dtype=np.int64)


def numbers_or_none(numbers: NDArray[np.int64], index: pd.Index) -> pd.Series:
    """Column of numbers in which -1 is a missing one."""
    column = pd.Series(numbers, index=index, dtype="Int64")
    return column.mask(column < 0)


def with_correct(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials with whether the answer is the target, either case, unless a column says it."""
    answer = next((name for name in ANSWERS if name in trials.columns), None)
    if answer is None or "target" not in trials.columns or "correct" in trials.columns:
        return trials
    pairs = zip(trials[answer].tolist(), trials["target"].tolist(), strict=True)
    same: list[Any] = [
        None if is_missing(said) or is_missing(right) else same_text(said, right)
        for said, right in pairs
    ]
    return trials.assign(correct=pd.Series(same, index=trials.index, dtype="boolean"))


def same_text(said: Any, right: Any) -> bool:
    """Whether two values are the same, whatever their case and what is around them."""
    return fold_word(as_text(said)) == fold_word(as_text(right))
