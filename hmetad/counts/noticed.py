"""Notices of tables of trials, which are data frames.

Attrs of a DataFrame → list of Notice, and back: attrs with more notices.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_attrs, notices

__all__ = ["add_notices", "frame_notices"]


@check_inputs(skip=("trials",))
def frame_notices(trials: pd.DataFrame) -> list[Notice]:
    """Notices that a table of trials carries in its attrs.

    Parameters
    ----------
    trials : DataFrame
        What a reader of logs, `option_pairs` or `agreement` returned.

    Returns
    -------
    list of Notice
        Empty where there are none.

    Raises
    ------
    InputError
        If it is no DataFrame, or has notices that hmetad did not write.

    Examples
    --------
    >>> frame_notices(pd.DataFrame())
    []
    """
    if not isinstance(trials, pd.DataFrame):
        raise InputError("trials", type(trials).__name__, "a DataFrame of trials")
    said = trials.attrs.get("notices")
    return [] if said is None else notices(xr.Dataset(attrs={"notices": said}))


def add_notices(attrs: Mapping[Hashable | None, Any], new: Iterable[Notice]) -> dict[Any, Any]:
    """Attrs of a table of trials with more notices, each once.

    Parameters
    ----------
    attrs : mapping
        Attrs of a DataFrame; not changed.
    new : iterable of Notice
        What to append.

    Returns
    -------
    dict
        No key ``notices`` where there are none.

    Examples
    --------
    >>> add_notices({"files": []}, [])
    {'files': []}
    """
    said = attrs.get("notices")
    before = [] if said is None else notices(xr.Dataset(attrs={"notices": said}))
    return {**attrs, **notice_attrs([*before, *new])}
