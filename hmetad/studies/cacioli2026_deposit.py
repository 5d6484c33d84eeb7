"""What the deposited counts of Cacioli (2026) say, of what was published and of what was revised.

Path of roc_data.json → type-2 table (cell, correct, rating) of 20 bins of log-probability of equal
width, per model, data set and temperature → measures (cell) and the withdrawn analysis (model,
temperature). Source: github.com/synthiumjp/sdt_calibration (MIT).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from hmetad.counts.resample import resample
from hmetad.errors import InputError
from hmetad.measures.information import meta_information
from hmetad.measures.type2 import auroc2
from hmetad.mle.uvsdt import uvsdt
from hmetad.studies.cacioli2026_pipeline import (
    bootstrapped,
    estimates,
    merged,
    nearest_edges,
    withdrawn,
)
from hmetad.studies.cacioli2026_printed import cells_as, printed, table_of

__all__ = ["Deposit", "analyse_deposit", "read_deposit"]

BINS = 20
TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
# In the folder of the file, or in a clone of the repository.
PLACES = ("roc_data.json", "results/analysis/roc_data.json")
STEP = (
    "It is results/analysis/roc_data.json of github.com/synthiumjp/sdt_calibration: give the file, "
    "its folder or a clone of the repository."
)


@dataclass(frozen=True)
class Deposit:
    """The deposited counts and what comes of them.

    Parameters
    ----------
    tables : DataArray
        Type-2 table of 56 cells: model, dataset, temperature.
    measures : Dataset
        Per dataset, model and temperature: ``accuracy``, ``trials``, ``auroc2``; ``meta_i2r`` as it
        is, ``less_null`` (the mean of permutations subtracted) and ``reduced`` (2θ̂ − θ̄); ``top``,
        the share of the trials in the fullest bin; ``s``, ``d_a`` and ``a_z`` of the
        unequal-variance ROC.
    withdrawn : Dataset
        Of TriviaQA, dims model, temperature: what `bootstrapped` gives; ``below``, the share of
        trials below the cut at T = 1; ``ratings_above``, how many ratings the bins leave above it.
    robustness : DataArray
        M at T = 1, dims model, variant.
    """

    tables: xr.DataArray
    measures: xr.Dataset
    withdrawn: xr.Dataset
    robustness: xr.DataArray


def read_deposit(data: str | Path) -> xr.DataArray:
    """Type-2 table of the deposited counts of the four models.

    Parameters
    ----------
    data : str or Path
        The file roc_data.json, its folder, or a clone of the repository.

    Returns
    -------
    DataArray
        Dims cell (with coordinates model, dataset, temperature), correct, rating (20 bins).

    Raises
    ------
    InputError
        If there is no such file, or it holds something else.
    """
    path = deposited_file(Path(data))
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError("data", f"{path}, which is no JSON", "roc_data.json", STEP) from error
    names = printed()["deposit"]
    values, rows = [], []
    for model, key in zip(printed()["models"], names["models"], strict=True):
        for dataset, name in zip(printed()["datasets"], names["datasets"], strict=True):
            for temperature in TEMPERATURES:
                values.append(counts_at(content, (key, name, str(temperature)), path))
                rows.append((dataset, model, temperature))
    datasets, models, temperatures = zip(*rows, strict=True)
    coords = {"dataset": datasets, "model": models, "temperature": temperatures}
    return table_of(np.array(values), **coords)


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
    """Whether it is a list with a number of trials for each bin."""
    return isinstance(side, list) and len(side) == BINS and all(map(is_count, side))


def is_count(value: object) -> bool:
    """Whether it is a whole number of at least 0."""
    # JSON has 1.0 for what NumPy counted in floats; NaN and Infinity are no integers.
    if isinstance(value, float):
        return value.is_integer() and value >= 0
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def analyse_deposit(data: str | Path, seed: int) -> Deposit:
    """Measure the deposited counts, and run the withdrawn analysis on them.

    Parameters
    ----------
    data : str or Path
        As in `read_deposit`.
    seed : int

    Returns
    -------
    Deposit
    """
    tables = read_deposit(data)
    of_measures, *of_models = np.random.SeedSequence(seed).generate_state(5).tolist()
    tempered = [
        at_temperatures(tables, model, own)
        for model, own in zip(printed()["models"], of_models, strict=True)
    ]
    pipeline = xr.concat(tempered, "model", combine_attrs="drop_conflicts")
    return Deposit(tables, measured(tables, of_measures), pipeline, robustness(tables))


def measured(tables: xr.DataArray, seed: int) -> xr.Dataset:
    """Measures of confidence that need no stimulus, per dataset, model and temperature."""
    null, bias = np.random.SeedSequence(seed).generate_state(2).tolist()
    n = printed()["revised"]["permutations"]
    plain = meta_information(tables)
    permuted = resample(tables, share_told, n=n, kind="permutation", seed=null)["meta_i2r"]
    reduced = meta_information(tables, debias=n, seed=bias)["meta_i2r"]
    roc = uvsdt(withdrawn(tables))
    trials = tables.sum(["correct", "rating"])
    result = xr.Dataset(
        {
            "accuracy": plain["share_right"],
            "trials": trials,
            "auroc2": auroc2(tables),
            "meta_i2r": plain["meta_i2r"],
            "less_null": plain["meta_i2r"] - permuted.mean("draw"),
            "reduced": reduced,
            "top": tables.sum("correct").max("rating") / trials,
            **{name: roc[name] for name in ("s", "d_a", "a_z")},
        }
    )
    return cells_as(result, "dataset", "model", "temperature")


def share_told(tables: xr.DataArray) -> xr.DataArray:
    """Meta-I₂ʳ, as a statistic to resample."""
    return meta_information(tables)["meta_i2r"]


def at_temperatures(tables: xr.DataArray, model: str, seed: int) -> xr.Dataset:
    """Withdrawn analysis of a model on TriviaQA, the edges of T = 1 held over temperatures."""
    own = of_model(tables, model)
    own = own.sel(cell=own["temperature"].isin(printed()["temperatures"]))
    reference = own.sel(cell=own["temperature"] == 1.0).isel(cell=0).sum("correct").to_numpy()
    edges, cut = nearest_edges(reference, ratings=4)
    counts = withdrawn(merged(own, edges), cut)
    # Ratings that the bins cannot give are empty, and ½ in each of them would be a pretence.
    found, _ = bootstrapped(counts, "loglinear", seed=seed)
    below = reference.cumsum()[edges[cut - 1] - 1] / reference.sum()
    result = found.assign(below=below, ratings_above=len(edges) + 1 - cut)
    return cells_as(result, "temperature").drop_vars("dataset").assign_coords(model=model)


def of_model(tables: xr.DataArray, model: str, dataset: str = "TriviaQA") -> xr.DataArray:
    """Cells of a model and data set."""
    return tables.sel(cell=(tables["model"] == model) & (tables["dataset"] == dataset))


def robustness(tables: xr.DataArray) -> xr.DataArray:
    """M at T = 1: numbers of ratings (R1), unequal variance (R2), equal widths (R3), NQ (R4)."""
    at_one = tables.sel(cell=tables["temperature"] == 1.0)
    rows = []
    for model in printed()["models"]:
        own, other = of_model(at_one, model), of_model(at_one, model, "NQ")
        found = {f"K = {K}": m_of(own, K) for K in (3, 4, 6)}
        found |= {"unequal variance": m_of(own, 4, "estimate"), "equal width": m_of(own, None)}
        rows.append(found | {"NQ": m_of(other, 4)})
    values = np.array([list(row.values()) for row in rows])
    coords = {"model": printed()["models"], "variant": list(rows[0])}
    return xr.DataArray(values, coords, ("model", "variant"), name="m_ratio")


def m_of(table: xr.DataArray, ratings: int | None, s: float | Literal["estimate"] = 1.0) -> float:
    """M of the withdrawn analysis of a cell, with ratings by quantiles, or with all the bins."""
    edges, cut = nearest_edges(table.sum(["cell", "correct"]).to_numpy(), ratings or 4)
    if ratings is None:
        edges, cut = list(range(1, BINS)), edges[cut - 1]
    counts = withdrawn(merged(table, edges), cut)
    return float(estimates(counts, "loglinear", s)["m_ratio"].item())
