"""Numbers of a paper as transcribed, in a TOML file beside the study.

Name of a study → mapping of its tables; a table with columns and rows → data frame.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

__all__ = ["frame_of", "transcribed"]


@cache
def transcribed(study: str) -> Mapping[str, Any]:
    """Tables and single numbers of the paper that a study reproduces.

    Examples
    --------
    >>> transcribed("wang2025")["table2"]["columns"]
    ['method', 'values', 'average']
    """
    text = files("hmetad.studies").joinpath(f"{study}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def frame_of(table: Mapping[str, Any]) -> pd.DataFrame:
    """Data frame of a table with columns and rows.

    Examples
    --------
    >>> frame_of({"columns": ["model", "d"], "rows": [["a", 1.5]]})["d"].tolist()
    [1.5]
    """
    return pd.DataFrame(table["rows"], columns=table["columns"])
