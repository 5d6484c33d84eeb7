"""What comparisons say of themselves: records of notices, as results carry them in their attrs.

Draws or estimates, labelled → list of records, and back → attrs.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import xarray as xr

from hmetad.untrusted import read_attr

__all__ = ["carried", "record", "said_of", "same_items"]

type Record = dict[str, Any]


def record(
    code: str,
    severity: str,
    message: str,
    cells: Sequence[str] = (),
    source: str = "",
    next_step: str = "",
) -> Record:
    """Record of a notice.

    Examples
    --------
    >>> record("left-out", "warning", "A stratum lacks a level.")["cells"]
    []
    """
    return {
        "code": code,
        "severity": severity,
        "message": message,
        "cells": list(cells),
        "source": source,
        "next_step": next_step,
    }


def said_of(obj: xr.DataTree | xr.Dataset | xr.DataArray) -> list[Record]:
    """Records of the notices that an object carries."""
    found: list[Record] = read_attr(obj.attrs, "notices")
    return found


def same_items(obj: xr.DataTree | xr.Dataset | xr.DataArray) -> list[list[str]]:
    """Groups of cells that were given the same items, as their counts say."""
    found: list[list[str]] = read_attr(obj.attrs, "same_items")
    return found


def carried(found: Iterable[Record]) -> dict[str, str]:
    """Attrs with the notices, each once; without any where there are none.

    Examples
    --------
    >>> carried([])
    {}
    """
    texts = dict.fromkeys(json.dumps(one, ensure_ascii=False) for one in found)
    return {"notices": f"[{', '.join(texts)}]"} if texts else {}
