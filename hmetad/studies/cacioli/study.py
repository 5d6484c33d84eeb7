"""The whole study: what is printed, what is deposited and what is simulated.

Seed, and path of the deposit → results.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from hmetad.studies.cacioli.deposit import Deposit, analyse_deposit
from hmetad.studies.cacioli.simulation import Simulation, analyse_simulation
from hmetad.studies.cacioli.tables import cells_as, quartile_counts
from hmetad.studies.cacioli.withdrawn import bootstrap, withdrawn_counts

__all__ = ["Study", "analyse"]

# ½ in each of eight ratings is what print adds; here there are four.
QUARTILE_CORRECTION = 1.0


@dataclass(frozen=True)
class Study:
    """What the printed tables, the deposit and the simulation give."""

    # Withdrawn analysis of the quartiles of Table 5, by dataset, model: `estimates`, limits of M,
    # and draws, its bootstrap.
    quartiles: xr.Dataset
    # None where no path was given.
    deposit: Deposit | None
    simulation: Simulation
    seed: int


def analyse(*, data: str | Path | None = None, seed: int = 1) -> Study:
    """Run the withdrawn analysis on what is printed, what is deposited and what is simulated.

    `data` is the file roc_data.json of the deposit, its folder, or a clone of the repository.
    """
    of_quartiles, of_deposit, of_trials = np.random.SeedSequence(seed).generate_state(3).tolist()
    deposit = None if data is None else analyse_deposit(data, of_deposit)
    counts = withdrawn_counts(quartile_counts())
    found, draws = bootstrap(counts, QUARTILE_CORRECTION, seed=of_quartiles)
    quartiles = cells_as(found.assign(draws=draws), "dataset", "model")
    return Study(quartiles, deposit, analyse_simulation(of_trials), seed)
