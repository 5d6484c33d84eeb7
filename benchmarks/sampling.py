"""What the benchmarks of sampling share: counts of a group, and posterior draws with their cost.

Model card and count table → draws by nutpie, as `hmetad.fit` takes them, in steps that can be
timed by themselves.
"""

import os
from pathlib import Path

import numpy as np
import nutpie
import pandas as pd
import xarray as xr
from arviz_stats import ess
from machine import CpuClock
from nutpie.sample import CompiledModel

import hmetad
from hmetad.bayes.model import initial_values, pymc_model
from hmetad.bayes.problem import build_problem

__all__ = ["bulk_ess", "compiled_model", "group_counts", "timed_draws"]


def compiled_model(counts: xr.DataArray, spec: hmetad.ModelSpec) -> CompiledModel:
    """Model of a count table, ready to sample."""
    problem = build_problem(counts, spec)
    model = pymc_model(problem)
    return nutpie.compile_pymc_model(model, initial_points=initial_values(problem, model))


def timed_draws(compiled: CompiledModel, seed: int = 1) -> tuple[xr.DataTree, CpuClock]:
    """4 chains of 1000 draws after 1000 of tuning, and the time they took."""
    with CpuClock() as clock:
        tree = nutpie.sample(
            compiled,
            draws=1000,
            tune=1000,
            chains=4,
            cores=os.cpu_count(),
            seed=seed,
            progress_bar=False,
        )
    return tree, clock


def bulk_ess(draws: xr.Dataset, name: str) -> float:
    """Bulk effective sample size of a scalar variable."""
    return float(ess(draws[[name]], method="bulk")[name])


def group_counts(subjects: int, folder: Path | None, seed: int = 1) -> xr.DataArray:
    """Count table of a group: ``g{subjects}.csv`` of a folder, else simulated."""
    return simulated_group(subjects, seed) if folder is None else read_group(folder, subjects)


def simulated_group(subjects: int, seed: int) -> xr.DataArray:
    """Group of 300 trials and 4 ratings a subject, with log M ~ N(log 0.8, 0.3) and κ = c."""
    rng = np.random.default_rng(seed)
    return hmetad.simulate_counts(
        dprime=rng.normal(1.5, 0.3, subjects),
        c=rng.normal(0, 0.3, subjects),
        m_ratio=np.exp(rng.normal(np.log(0.8), 0.3, subjects)),
        gaps=rng.lognormal(np.log(0.5), 0.2, (subjects, 2, 3)),
        trials=300,
        meta_criterion="absolute",
        coords={"subject": [str(i) for i in range(1, subjects + 1)]},
        seed=rng,
    )


def read_group(folder: Path, subjects: int) -> xr.DataArray:
    """Count table from a file of columns subject, stimulus, response, rating, count."""
    table = pd.read_csv(folder / f"g{subjects}.csv")
    index = ["subject", "stimulus", "response", "rating"]
    n = table.set_index(index)["count"].to_xarray().fillna(0).astype(int)
    classic = np.concatenate([n[:, :, 0, ::-1], n[:, :, 1]], axis=-1)
    return hmetad.from_nr(classic[:, 0], classic[:, 1], subject=n["subject"].astype(str).values)
