"""What a paper prints, as transcribed in the TOML file of its study.

Name of a study → its numbers, and its tables as data frames and labelled arrays.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

__all__ = ["arrays_of", "file_of", "frame_of"]


@cache
def file_of(study: str) -> Mapping[str, Any]:
    """Everything in the file of a study: numbers, what is compared, and the plan of the report.

    Examples
    --------
    >>> file_of("wang2025")["table2"]["columns"]
    ['method', 'values', 'average', 'repeated']
    """
    text = files("hmetad.studies").joinpath(f"{study}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def frame_of(study: str, table: str) -> pd.DataFrame:
    """Table of a study; where its cells are lists over a label, with a row per label.

    Examples
    --------
    >>> frame_of("cacioli2026", "binning").to_dict("records")[1]
    {'model': 'Llama-3-Instruct', 'm_ratio': 0.983, 'ratings': 4}
    """
    numbers = file_of(study)
    section = numbers[table]
    frame = pd.DataFrame(section["rows"], columns=section["columns"])
    if "over" not in section:
        return frame
    lists = [column for column in frame if isinstance(frame[column].iloc[0], list)]
    frame[section["over"]] = [numbers["labels"][section["over"]]] * len(frame)
    return frame.explode([*lists, section["over"]], ignore_index=True).infer_objects()


def arrays_of(study: str, table: str, *dims: str) -> xr.Dataset:
    """Table of a study as arrays, whose dims are columns; its rows run over them in that order.

    Examples
    --------
    >>> arrays_of("cacioli2026", "temperature", "model", "temperature")["meta_d"].sizes
    Frozen({'model': 4, 'temperature': 4})
    """
    frame = frame_of(study, table)
    labels = {dim: frame[dim].unique().tolist() for dim in dims}
    shape = [len(values) for values in labels.values()]
    columns = {name: np.array(frame[name].tolist()) for name in frame if name not in dims}
    return xr.Dataset({name: (dims, x.reshape(shape)) for name, x in columns.items()}, labels)
