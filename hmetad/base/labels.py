"""Labels of cells, and the names that they may have.

Rows of values → one label each; names of columns → nothing, or `InputError`.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from hmetad.base.errors import ChoiceError


def row_labels(rows: Iterable[Iterable[object]]) -> list[str]:
    """Labels of rows: their values, joined; long numbers are rounded where labels stay unlike.

    Examples
    --------
    >>> row_labels([("a", 19.88888888888889), ("b", 0.125)])
    ['a | 19.89', 'b | 0.125']
    """
    table = [list(row) for row in rows]
    exact = [" | ".join(map(str, row)) for row in table]
    short = [" | ".join(map(number_text, row)) for row in table]
    return short if len(set(short)) == len(set(exact)) else exact


def number_text(value: object) -> str:
    """A value as text; numbers of more than six digits are rounded to four, or to whole ones."""
    if not isinstance(value, float) or not np.isfinite(value) or float(f"{value:.6g}") == value:
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def level_order(cells: pd.DataFrame, column: str) -> list[Any]:
    """Levels of a column in one order for all cells: that of their first appearance.

    But for levels that cells which agree in all else, such as those of a person, have in another
    order: a first person who lacks a level turns no difference round.

    Examples
    --------
    >>> table = pd.DataFrame({"subject": [1, 2, 2], "task": ["b", "a", "b"]})
    >>> level_order(table, "task")
    ['a', 'b']
    """
    others = [name for name in cells if name != column]
    left, order = cells[column].drop_duplicates().tolist(), dict[Any, None]()
    before = defaultdict[Any, set[Any]](set)
    for _, own in cells.groupby(others, sort=False, dropna=False)[column] if others else ():
        for first, then in pairwise(own.tolist()):
            before[then].add(first)
    while left:
        level = next((x for x in left if before[x] <= order.keys()), left[0])
        left.remove(level)
        order[level] = None
    return [*order]


def check_same_names(columns: Iterable[Hashable], results: Iterable[Hashable]) -> None:
    """Refuse grouping columns, or coordinates of cells, with the name of a variable of the result.

    Examples
    --------
    >>> check_same_names(["model", "trials"], ["trials", "auroc2"])
    Traceback (most recent call last):
    hmetad.InputError: by: Rename it, by={'my_trials': 'trials'} when counting or \
.rename(trials='my_trials') later. Expected a name that no result has, got 'trials'.
    """
    taken = {*results}
    for name in columns:
        if name in taken:
            counting = f"by={{'my_{name}': {name!r}}} when counting"
            step = f"Rename it, {counting} or .rename({name}='my_{name}') later."
            raise ChoiceError("by", repr(name), "a name that no result has", step)
