"""The deposited counts of the paper.

roc_data.json → measures that need no stimulus, and the withdrawn analysis, by model.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.counts.resample import resample
from hmetad.measures.information import meta_information
from hmetad.measures.type2 import auroc2
from hmetad.mle.uvsdt import uvsdt
from hmetad.studies.cacioli.roc_data import read_deposit
from hmetad.studies.cacioli.tables import NAME, cells_as
from hmetad.studies.cacioli.withdrawn import (
    RATINGS,
    bootstrap,
    m_of,
    merge_bins,
    nearest_edges,
    withdrawn_counts,
)
from hmetad.studies.printed import file_of

__all__ = ["Deposit", "analyse_deposit"]


@dataclass(frozen=True)
class Deposit:
    """The deposited counts and what comes of them."""

    # Type-2 table of 56 cells: model, dataset, temperature.
    tables: xr.DataArray
    # By dataset, model, temperature: accuracy, trials, auroc2; meta_i2r as it is, less_null (less
    # the mean of permutations) and reduced (2θ̂ − θ̄); top, the share of the fullest bin; s, d_a and
    # a_z of the unequal-variance ROC.
    measures: xr.Dataset
    # Of TriviaQA, by model, temperature: what `bootstrap` gives; below, the share of trials
    # below the cut at T = 1; ratings_above, how many ratings the bins leave above it.
    withdrawn: xr.Dataset
    # M at T = 1 by model, variant.
    robustness: xr.DataArray


def analyse_deposit(data: str | Path, seed: int) -> Deposit:
    """Measure the deposited counts, and run the withdrawn analysis on them."""
    tables = read_deposit(data)
    of_measures, *of_models = np.random.SeedSequence(seed).generate_state(5).tolist()
    by_model = [
        at_temperatures(tables, model, own)
        for model, own in zip(file_of(NAME)["models"], of_models, strict=True)
    ]
    pipeline = xr.concat(by_model, "model", combine_attrs="drop_conflicts")
    return Deposit(tables, measures_of(tables, of_measures), pipeline, robustness_of_bins(tables))


def measures_of(tables: xr.DataArray, seed: int) -> xr.Dataset:
    """Measures of confidence that need no stimulus, per dataset, model and temperature."""
    null, bias = np.random.SeedSequence(seed).generate_state(2).tolist()
    n = file_of(NAME)["revised"]["permutations"]
    plain = meta_information(tables)
    permuted = resample(tables, information_told, n=n, kind="permutation", seed=null)["meta_i2r"]
    roc = uvsdt(withdrawn_counts(tables))
    trials = tables.sum(["correct", "rating"])
    result = xr.Dataset(
        {
            "accuracy": plain["share_right"],
            "trials": trials,
            "auroc2": auroc2(tables),
            "meta_i2r": plain["meta_i2r"],
            "less_null": plain["meta_i2r"] - permuted.mean("draw"),
            "reduced": meta_information(tables, debias=n, seed=bias)["meta_i2r"],
            "top": tables.sum("correct").max("rating") / trials,
            **{name: roc[name] for name in ("s", "d_a", "a_z")},
        }
    )
    return cells_as(result, "dataset", "model", "temperature")


def information_told(tables: xr.DataArray) -> xr.DataArray:
    """Meta-I₂ʳ, as a statistic to resample."""
    return meta_information(tables)["meta_i2r"]


def at_temperatures(tables: xr.DataArray, model: str, seed: int) -> xr.Dataset:
    """Withdrawn analysis of a model on TriviaQA, the edges of T = 1 held over temperatures."""
    own = of_model(tables, model)
    own = own.sel(cell=own["temperature"].isin(file_of(NAME)["labels"]["temperature"]))
    reference = own.sel(cell=own["temperature"] == 1.0).isel(cell=0).sum("correct").to_numpy()
    edges, cut = nearest_edges(reference, ratings=4)
    # Ratings that the bins cannot give are empty, and ½ in each of them would be a pretence.
    found, _ = bootstrap(withdrawn_counts(merge_bins(own, edges), cut), "loglinear", seed=seed)
    below = reference.cumsum()[edges[cut - 1] - 1] / reference.sum()
    result = found.assign(below=below, ratings_above=len(edges) + 1 - cut)
    return cells_as(result, "temperature").drop_vars("dataset").assign_coords(model=model)


def of_model(tables: xr.DataArray, model: str, dataset: str = "TriviaQA") -> xr.DataArray:
    """Cells of a model and data set."""
    return tables.sel(cell=(tables["model"] == model) & (tables["dataset"] == dataset))


def robustness_of_bins(tables: xr.DataArray) -> xr.DataArray:
    """M at T = 1: numbers of ratings (R1), unequal variance (R2), equal widths (R3), NQ (R4)."""
    at_one, found = tables.sel(cell=tables["temperature"] == 1.0), {}
    for model in file_of(NAME)["models"]:
        own, other = of_model(at_one, model), of_model(at_one, model, "NQ")
        numbers = {f"K = {K}": m_of(own, K) for K in RATINGS}
        unequal = {"unequal variance": m_of(own, s="estimate"), "equal width": m_of(own, None)}
        found[model] = numbers | unequal | {"NQ": m_of(other)}
    return xr.DataArray(pd.DataFrame.from_dict(found, "index"), dims=("model", "variant"))
