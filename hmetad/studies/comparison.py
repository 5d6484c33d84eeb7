"""Printed against computed: the table that says whether a paper is reproduced.

Name of a study → what its TOML file has of print, as data frames and labelled arrays; with what is
computed → data frame of both side by side, and a verdict on the whole.
"""

import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from itertools import product
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

UNDIRECTED = ("different", "inconclusive", "negligible")
COLUMNS = ["table", "row", "quantity", "printed", "ours", "tolerance", "agrees", "note"]
# Of numbers that notes on differences have in braces.
NOTE = "note"

# Of rows by name, or with coordinates that name them.
type Values = Mapping[Any, Any] | xr.DataArray
# Values, or values and tolerances, by table and quantity.
type Ours = Mapping[tuple[str, str], Values | tuple[Values, Values]]


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
    """Table of a study as arrays, whose dims are columns.

    Examples
    --------
    >>> arrays_of("cacioli2026", "temperature", "model", "temperature")["meta_d"].sizes
    Frozen({'model': 4, 'temperature': 4})
    """
    frame = frame_of(study, table)
    columns = {name: ("cell", np.array(frame[name].tolist())) for name in frame}
    return cells_as(xr.Dataset(columns).set_coords(dims), *dims)


def cells_as[Labelled: (xr.DataArray, xr.Dataset)](values: Labelled, *dims: str) -> Labelled:
    """Values with dims in place of cell, in the order of their coordinates; no cell may lack."""
    # Labels keep their order: models are neither sorted nor renamed.
    order: dict[str, list[Any]] = {
        dim: list(dict.fromkeys(values[dim].to_numpy().tolist())) for dim in dims
    }
    levels = list(order.values())
    index = pd.MultiIndex.from_arrays([values[dim].to_numpy() for dim in dims])
    position = index.get_indexer(pd.MultiIndex.from_product(levels))
    places = xr.DataArray(position.reshape([len(one) for one in levels]), order, dims)
    return values.drop_vars([*{*values.coords} & {*dims, "cell"}]).isel(cell=places)


def rows_of(values: xr.Dataset, *dims: str) -> pd.DataFrame:
    """Data frame with a row per place, in the order of the dims."""
    return values.to_dataframe(dim_order=list(dims)).reset_index()


def compare_with_print(study: str, ours: Ours) -> pd.DataFrame:
    """Table of everything that the file of a study lists under `compare`, beside ours.

    What the file calls optional may be missing. What notes on differences have in braces is ours
    under the table `NOTE`, by quantity and row.
    """
    noted = {name: by_row(one) for (where, name), one in ours.items() if where == NOTE}
    records = []
    for entry in file_of(study)["compare"]:
        for (table, row, quantity), printed, limits in printed_values(study, entry, ours):
            values, *reach = map(by_row, as_tuple(ours.get((table, quantity), {})))
            if row not in values and "optional" in entry:
                continue
            value, tolerance = values[row], reach[0][row] if reach else [*limits, nan][0]
            if printed in UNDIRECTED:
                # Print gives no direction.
                value = value.rpartition(", ")[2]
            place, agrees = (table, row, quantity), is_near(printed, value, tolerance)
            said = {name: own[row] for name, own in noted.items() if row in own}
            note = "" if agrees else known_cause(study, place).format_map(said)
            records.append((*place, printed, value, tolerance, agrees, note))
    return pd.DataFrame.from_records(records, columns=COLUMNS)


def printed_values(
    study: str, entry: Mapping[str, Any], ours: Ours
) -> Iterator[tuple[tuple[str, str, str], Any, list[float]]]:
    """Table, row and quantity, printed value and tolerance, if any, of all values of one entry."""
    if "values" in entry:
        for row, quantity, value, *limit in entry["values"]:
            yield (entry["table"], row, quantity), value, limit
    elif "cells" in entry:
        for record in frame_of(study, entry["of"]).to_dict("records"):
            own = {str(name): value for name, value in record.items()}
            for table, quantity, column, *limit in entry["cells"]:
                if own[column] != "" and pd.notna(own[column]):
                    yield (table, entry["row"].format(**own), quantity), own[column], limit
    else:
        table, quantity, words = entry["table"], entry["quantity"], entry.get("words", {})
        for row in by_row(as_tuple(ours[table, quantity])[0]):
            yield (table, row, quantity), words.get(row, entry["otherwise"]), []


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Values, and tolerances if there are any."""
    return values if isinstance(values, tuple) else (values,)


def by_row(values: Any) -> dict[str, Any]:
    """Values by the names of their rows, which are coordinates joined by bars.

    Examples
    --------
    >>> by_row(xr.DataArray([[1.5, 2.0]], {"model": ["A"], "t": [0.3, 1.0]}))
    {'A | 0.3': 1.5, 'A | 1.0': 2.0}
    """
    if isinstance(values, Mapping):
        return {row: np.asarray(value).item() for row, value in values.items()}
    places = product(*(values[dim].to_numpy().tolist() for dim in values.dims))
    names = [" | ".join(map(str, place)) for place in places]
    return dict(zip(names, values.to_numpy().ravel().tolist(), strict=True))


def is_near(printed: float | str, ours: float | str, tolerance: float) -> bool:
    """Whether words are the same, or numbers within the tolerance."""
    if isinstance(printed, str) or isinstance(ours, str):
        return printed == ours
    # A hair more than the tolerance, for decimal numbers that binary ones only approach.
    return abs(ours - printed) <= tolerance * (1 + 1e-9)


def known_cause(study: str, place: tuple[str, str, str]) -> str:
    """Note of the file on a difference; empty where it lists none. Asterisks are any text."""
    for entry in file_of(study)["differs"]:
        if any(all(map(fnmatchcase, place, at)) for at in entry["at"]):
            return str(entry["note"])
    return ""


def is_reproduced(frame: pd.DataFrame) -> bool:
    """Whether every row agrees, or its note says why it does not."""
    return bool((frame["agrees"] | (frame["note"] != "")).all())
