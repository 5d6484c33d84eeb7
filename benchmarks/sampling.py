"""What the benchmarks of sampling share: counts of a group, and posterior draws with their cost.

Model card and count table → draws by nutpie, as `hmetad.fit` takes them, in steps that can be
timed by themselves.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import nutpie
import pandas as pd
import xarray as xr
from arviz_stats import ess
from machine import CpuClock
from nutpie.sample import CompiledModel

import hmetad
from hmetad.bayes.chains import nutpie_model, posterior_of
from hmetad.bayes.model import initial_values, pymc_model
from hmetad.bayes.program import build_program

__all__ = ["DENSITIES", "Compiled", "bulk_ess", "compiled_model", "group_counts", "timed_draws"]

DENSITIES = ("compiled", "pymc")


class Compiled(NamedTuple):
    """A model that is ready to sample, and what makes its variables of the draws."""

    model: CompiledModel
    finish: Callable[[xr.DataTree], xr.Dataset]


def compiled_model(counts: xr.DataArray, spec: hmetad.ModelSpec, density: str) -> Compiled:
    """Model of a count table, ready to sample, with one of `DENSITIES`."""
    program = build_program(counts, spec)
    if density == "pymc":
        model = pymc_model(program)
        initial = initial_values(program, model)
        compiled = nutpie.compile_pymc_model(model, initial_points=initial)
        return Compiled(compiled, lambda tree: tree["posterior"].to_dataset())
    return Compiled(
        nutpie_model(program),
        lambda tree: posterior_of(program, tree["posterior"]["x"].to_numpy()),
    )


def timed_draws(compiled: Compiled, seed: int = 1) -> tuple[xr.Dataset, int, CpuClock]:
    """4 chains of 1000 draws after 1000 of tuning, their divergences, and the time they took."""
    with CpuClock() as clock:
        tree = nutpie.sample(
            compiled.model,
            draws=1000,
            tune=1000,
            chains=4,
            cores=os.cpu_count(),
            seed=seed,
            progress_bar=False,
        )
        draws = compiled.finish(tree)
    return draws, int(tree["sample_stats"]["diverging"].sum()), clock


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
