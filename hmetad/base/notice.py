"""Notices: what a reader has to know about a result, kept in its attrs.

DataArray, Dataset or DataTree → list of Notice, and back: a result with more notices.
The notices lie in ``attrs["notices"]`` as JSON text, the form that netCDF keeps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, get_args, runtime_checkable

import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, KindError
from hmetad.base.notice_registry import Severity, about_alone, text_of
from hmetad.base.untrusted import read_attr

NAMED = 5
# Attrs that a result takes from its source: notices, and which cells were given the same items.
CARRIED_ATTRS = ("notices", "same_items")


@runtime_checkable
class Labelled(Protocol):
    """An object with attrs: objects of xarray, and `Decisions`."""

    @property
    def attrs(self) -> Mapping[Any, Any]:
        """Texts and numbers by name."""


@dataclass(frozen=True)
class Notice:
    """One thing that a reader of a result has to know; `str` makes it one line for a terminal.

    Parameters
    ----------
    code : str
        Short stable name, such as ``"few-trials"``.
    severity : {"info", "warning", "error"}
        ``"error"``: the result must not be used for a verdict.
    message : str
        A sentence for a reader. It does not list the cells: show `cells` with it.
    cells : tuple of str, optional
        Labels of the cells concerned, or of the pairs, where pairs of cells are compared; empty
        when it concerns the entire result.
    source : str, optional
        Where the rule comes from.
    next_step : str, optional
        What to do about it; it names arguments of Python.
    shell_step : str, optional
        The same for the command line, with options; empty if `next_step` serves there too.

    Raises
    ------
    InputError
        If the severity is not one of the three words.

    Examples
    --------
    >>> cells = ("GPT-5 | A", "o3 | A")
    >>> few = Notice("few-trials", "warning", "12 trials.", cells, "Rahnev 2025", "Collect 100.")
    >>> print(few)
    warning: 12 trials. Collect 100. [few-trials; cells GPT-5 | A; o3 | A; Rahnev 2025]
    """

    code: str
    severity: Severity
    message: str
    cells: tuple[str, ...] = ()
    source: str = ""
    next_step: str = ""
    shell_step: str = ""

    def __post_init__(self) -> None:
        if self.severity not in get_args(Severity):
            raise ChoiceError("severity", repr(self.severity), "'info', 'warning' or 'error'")

    def __str__(self) -> str:
        cells = f"cell{'s' * (len(self.cells) > 1)} {first_few(self.cells)}" if self.cells else ""
        origin = "; ".join(filter(None, [self.code, cells, self.source]))
        text = " ".join(filter(None, [self.message, self.next_step]))
        line = f"{self.severity}: {text} [{origin}]"
        # Labels come from data: a line break or an escape code in them must not reach a terminal.
        return "".join(letter if letter.isprintable() else " " for letter in line)


@check_inputs(skip=("counts_or_fit",))
def notices(counts_or_fit: Labelled) -> list[Notice]:
    """Notices that a count table or a result carries, in the order they were raised.

    Parameters
    ----------
    counts_or_fit : DataArray, Dataset, DataTree or Decisions
        Any object of this package; any shape.

    Returns
    -------
    list of Notice
        Empty when there are none.

    Raises
    ------
    InputError
        If the object has no attrs to read, or notices that hmetad did not write.

    Examples
    --------
    >>> import xarray as xr
    >>> notices(xr.Dataset())
    []
    """
    # A data frame has attrs as well, but the package writes no notices there.
    is_frame = type(counts_or_fit).__name__ in ("DataFrame", "Series")
    if is_frame or not isinstance(counts_or_fit, Labelled):
        allowed = "a count table or a result (DataArray, Dataset, DataTree or Decisions)"
        raise KindError("counts_or_fit", type(counts_or_fit).__name__, allowed)
    records = read_attr(counts_or_fit.attrs, "notices")
    return [Notice(**{"message": "", **x, "cells": tuple(x["cells"])}) for x in records]


def with_notices[Result: (xr.DataArray, xr.Dataset, xr.DataTree)](
    obj: Result, new: Iterable[Notice]
) -> Result:
    """Shallow copy of the object that carries the new notices after its own.

    Parameters
    ----------
    obj : DataArray, Dataset or DataTree
        Any object of this package; it is not changed.
    new : iterable of Notice
        What to append; an exact duplicate is skipped.

    Returns
    -------
    DataArray, Dataset or DataTree
        Same type and same data as `obj`.

    Raises
    ------
    InputError
        If the object has no attrs to write to.

    Examples
    --------
    >>> import xarray as xr
    >>> table = xr.Dataset()
    >>> warned = with_notices(table, [Notice("ceiling", "warning", "All correct.")])
    >>> [notice.code for notice in notices(warned)], notices(table)
    (['ceiling'], [])
    """
    said = notice_attrs([*notices(obj), *new])
    copy = obj.copy(deep=False)
    copy.attrs = {**obj.attrs, **said}
    return copy


def notice_attrs(found: Iterable[Notice]) -> dict[str, str]:
    """Attrs that carry notices, each once; none where there are no notices.

    Examples
    --------
    >>> notice_attrs([])
    {}
    """
    # dict.fromkeys keeps the order and drops exact duplicates.
    records = [asdict(notice) for notice in dict.fromkeys(found)]
    return {"notices": json.dumps(records, ensure_ascii=False)} if records else {}


def copy_notices(
    result: xr.Dataset, source: xr.DataArray | xr.Dataset, new: Iterable[Notice]
) -> xr.Dataset:
    """Dataset with the notices of its source and new ones, on itself and on each variable.

    Parameters
    ----------
    result : Dataset
        It is not changed.
    source : DataArray or Dataset
        What it was made from: its notices are kept, and which cells were given the same items.
    new : iterable of Notice
        What to append.

    Returns
    -------
    Dataset
        Same data as `result`. A variable that is taken out of it keeps the notices.

    Examples
    --------
    >>> import xarray as xr
    >>> result = xr.Dataset({"dprime": 1.0})
    >>> new = [Notice("ceiling", "warning", "All correct.")]
    >>> result = copy_notices(result, xr.Dataset(), new)
    >>> [notice.code for notice in notices(result["dprime"])]
    ['ceiling']
    """
    noticed = with_notices(result, [*notices(source), *new])
    if "same_items" in source.attrs:
        noticed.attrs["same_items"] = source.attrs["same_items"]
    attrs = {name: noticed.attrs[name] for name in CARRIED_ATTRS if name in noticed.attrs}
    return noticed.assign({name: x.assign_attrs(attrs) for name, x in noticed.data_vars.items()})


def notice_of(name: str, cells: Iterable[str] = (), /, **values: object) -> Notice:
    """Notice of a code, with its text from notices.toml.

    Parameters
    ----------
    name : str
        A code of notices.toml, or "code.case".
    cells : iterable of str, optional
        Labels of the cells or pairs concerned; none where it concerns all.
    **values : object
        Values of the names in braces in the text.

    Returns
    -------
    Notice

    Examples
    --------
    >>> notice_of("left-out", strata="A | 1").message
    'Excluded, because cells are missing: A | 1.'
    """
    text = text_of(name, values)
    code, steps = name.partition(".")[0], (text.next_step, text.shell_step)
    return Notice(code, text.severity, text.message, tuple(cells), text.source, *steps)


def notice_where(mask: xr.DataArray, name: str, /, **values: object) -> list[Notice]:
    """One notice for all the cells where `mask` holds; none where it holds nowhere.

    Parameters
    ----------
    mask : DataArray of bool
        Dims start with cell, or there is no cell dim (the notice then names no cell).
    name, **values
        As in `notice_of`.

    Returns
    -------
    list of Notice
        One or none, ready for `with_notices`.

    Examples
    --------
    >>> import xarray as xr
    >>> mask = xr.DataArray([True, False], coords={"cell": ["A", "B"]})
    >>> notice_where(mask, "ceiling")[0].cells
    ('A',)
    """
    if not mask.any():
        return []
    if "cell" not in mask.dims:
        return [notice_of(name, **values)]
    by_cell = mask.any([dim for dim in mask.dims if dim != "cell"])
    return [notice_of(name, map(str, by_cell["cell"].to_numpy()[by_cell.to_numpy()]), **values)]


def notices_where(masks: Mapping[str, xr.DataArray]) -> list[Notice]:
    """Notices of several codes, each of the cells where its mask holds.

    Examples
    --------
    >>> import xarray as xr
    >>> cells = xr.DataArray([True, False], coords={"cell": ["A", "B"]})
    >>> [notice.code for notice in notices_where({"no-errors": cells, "ceiling": cells & ~cells})]
    ['no-errors']
    """
    return [notice for name, mask in masks.items() for notice in notice_where(mask, name)]


def notices_but_m(values: Labelled) -> list[Notice]:
    """Notices of an object except errors about M alone, which do not concern results without M."""
    return [x for x in notices(values) if x.severity != "error" or about_alone(x.code) != "M"]


def undetermined_cells(values: Labelled) -> set[str]:
    """Labels of cells whose data do not determine meta-d′ and M, as notices on draws of a fit say.

    Examples
    --------
    >>> import xarray as xr
    >>> undetermined_cells(with_notices(xr.Dataset(), [notice_of("no-errors.fitted", ["a"])]))
    {'a'}
    """
    errors = [one for one in notices(values) if one.severity == "error"]
    return {cell for one in errors if about_alone(one.code) == "meta-d′" for cell in one.cells}


def first_few(names: Iterable[str], separator: str = "; ") -> str:
    """Names for a line: the first few, then how many more.

    Examples
    --------
    >>> first_few("abcdefg", ", ")
    'a, b, c, d, e and 2 more'
    """
    names = [*names]
    text = separator.join(names[:NAMED])
    return text if len(names) <= NAMED else f"{text} and {len(names) - NAMED} more"
