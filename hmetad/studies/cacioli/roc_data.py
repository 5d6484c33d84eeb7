"""Reading the deposited counts.

Path of roc_data.json, of its folder or of a clone of the repository → type-2 table in 20 bins.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hmetad.errors import InputError
from hmetad.studies.cacioli.tables import NAME, table_of
from hmetad.studies.printed import file_of

__all__ = ["BINS", "read_deposit"]

BINS = 20
TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
# In the folder of the file, or in a clone of the repository.
PLACES = ("roc_data.json", "results/analysis/roc_data.json")
STEP = (
    "It is results/analysis/roc_data.json of github.com/synthiumjp/sdt_calibration: give the file, "
    "its folder or a clone of the repository."
)


def read_deposit(data: str | Path) -> xr.DataArray:
    """Type-2 table of the deposited counts of the four models, in 20 bins.

    Raises InputError if there is no such file, or it holds something else.
    """
    path = deposited_file(Path(data))
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError("data", f"{path}, which is no JSON", "roc_data.json", STEP) from error
    numbers = file_of(NAME)
    names, models, datasets = numbers["deposit"], numbers["models"], numbers["datasets"]
    rows = [
        ((dataset, model, temperature), counts_at(content, (key, name, str(temperature)), path))
        for model, key in zip(models, names["models"], strict=True)
        for dataset, name in zip(datasets, names["datasets"], strict=True)
        for temperature in TEMPERATURES
    ]
    places, values = zip(*rows, strict=True)
    coords = zip(("dataset", "model", "temperature"), zip(*places, strict=True), strict=True)
    return table_of(np.array(values), **dict(coords))


def deposited_file(path: Path) -> Path:
    """File at the path, in that folder, or in that clone of the repository."""
    if path.is_file():
        return path
    for place in PLACES:
        if (path / place).is_file():
            return path / place
    got = f"{path}, a folder without it" if path.is_dir() else f"{path}, which does not exist"
    raise InputError("data", got, "the file roc_data.json", STEP)


def counts_at(content: Any, keys: tuple[str, str, str], path: Path) -> list[list[int]]:
    """Wrong and right answers by bin of one model, data set and temperature."""
    entry = content
    for key in keys:
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
    sides: list[Any] = [fields.get(name) for name in ("noise_counts", "signal_counts")]
    if not all(map(is_counts, sides)):
        got = f"{path}, without noise_counts and signal_counts at {', '.join(keys)}"
        raise InputError("data", got, f"two lists of {BINS} numbers of trials there", STEP)
    return [[int(count) for count in side] for side in sides]


def is_counts(side: object) -> bool:
    """Whether it is a list with a whole number of at least 0 for each bin."""
    # JSON has 1.0 for what NumPy counted in floats; NaN and Infinity leave NaN.
    return (
        isinstance(side, list)
        and len(side) == BINS
        and all(type(x) in (int, float) and x >= 0 and x % 1 == 0 for x in side)
    )
