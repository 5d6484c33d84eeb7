"""Names of columns: which ones tables need, and under which names columns go.

Names, or rows and {new name: column} → the same checked, or InputError.
"""

from collections.abc import Hashable, Iterable, KeysView, Mapping, Sequence, Set

from hmetad.counts.alike import refuse_unwritable
from hmetad.counts.checks import TYPE1_DIMS
from hmetad.errors import InputError, nearest
from hmetad.rows.rows import Rows

__all__ = ["DIM_NAMES", "column_names", "named_rows", "text_columns"]

# Of count tables and fits. Other names that results need are refused where columns meet them.
DIM_NAMES = frozenset(
    [
        "cell",
        *TYPE1_DIMS,
        "correct",
        "chain",
        "draw",
        "pair",
        "criterion",
        "criterion_gap",
        "summary",
        "counts",
    ]
)


def column_names(argument: str, given: str | Sequence[str] | Mapping[str, str]) -> list[str]:
    """Columns to group by, or an error for a name that means something else here.

    Examples
    --------
    >>> column_names("by", "model")
    ['model']
    >>> column_names("by", ["model", "rating"])
    Traceback (most recent call last):
    hmetad.errors.InputError: by: got 'rating', allowed is a name without '/' that no dim of a \
table or a fit has. Rename the column, say 'my_rating'.
    """
    # An array without dims is an iterable by its class alone.
    if not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        raise InputError(argument, repr(given), "names of columns, as text")
    if isinstance(given, Set) and not isinstance(given, Mapping | KeysView):
        step = "A set has no order: pass a list."
        raise InputError(argument, repr(given), "names of columns, as text", step)
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(argument, repr(name), "the name of a column, as text")
        allowed = "a name without '/' that no dim of a table or a fit has"
        if name in DIM_NAMES:
            raise InputError(argument, repr(name), allowed, f"Rename the column, say 'my_{name}'.")
        refuse_unwritable(argument, [name])
        if "/" in name:
            raise InputError(argument, repr(name), allowed, "Rename the column.")
    return names


def named_rows(rows: Rows, *given: object) -> Rows:
    """Rows whose columns bear the names that arguments call them by, or give them.

    Parameters
    ----------
    rows : Rows
    *given
        Names of columns, whose case does not matter; mappings say {new name: column}.

    Raises
    ------
    InputError
        If a column is missing or named twice, or the new name is that of another column; if a
        name is that of several columns but for its case.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.rows.sources import rows_of
    >>> rows = rows_of(pd.DataFrame({"id": [1], "task": ["a"]}))
    >>> named_rows(rows, {"subject": "id"}, "task").columns
    ('subject', 'task')
    """
    rows = rows.spelled(name for one in given for name in named_columns(one))
    pairs = {new: old for one in given if isinstance(one, Mapping) for new, old in one.items()}
    for new, old in pairs.items():
        if not isinstance(old, Hashable) or old not in rows.columns:
            step = nearest(str(old), map(str, rows.columns))
            raise InputError(f"column for {new!r}", repr(old), "a column of the trials", step)
        first = next(name for name, column in pairs.items() if column == old)
        if first != new:
            got = f"{old!r}, which is named {first!r} already"
            raise InputError(f"column for {new!r}", got, "a different column for each")
        if new in rows.columns and new != old:
            step = f"Drop or rename the column {new!r}."
            raise InputError(f"column for {new!r}", f"{old!r} beside a column {new!r}", "one", step)
    return rows.rename({old: new for new, old in pairs.items()}) if pairs else rows


def named_columns(given: object) -> list[object]:
    """Columns that an argument names: itself, each of several, or the values of a mapping."""
    if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        return [given]
    return [*given.values()] if isinstance(given, Mapping) else [*given]


def text_columns(*given: object) -> list[str]:
    """Columns that keys and values of arguments name: in a CSV they are text as it stands.

    Examples
    --------
    >>> text_columns("task", {"subject": "id"})
    ['task', 'subject', 'id']
    """
    names: list[object] = []
    for one in given:
        if isinstance(one, Mapping):
            names += [*one, *one.values()]
        else:
            names += [one] if isinstance(one, str) or not isinstance(one, Iterable) else [*one]
    return [name for name in names if isinstance(name, str)]
