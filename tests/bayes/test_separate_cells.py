"""Cells that share nothing take little memory, and chains of each go on until they are enough."""

import tracemalloc

import numpy as np
import pytest
import xarray as xr

from hmetad import fit, load_model, notices, simulate_counts
from hmetad.bayes import importance
from hmetad.bayes.program import build_program
from hmetad.bayes.separate_cells import draws_by_default

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


@pytest.mark.parametrize(
    ("cells", "ratings", "chains", "expected"),
    [
        (100, 4, 4, 1000),
        (3000, 4, 4, 500),
        (10_000, 4, 4, 250),
        # All chains keep 1,000 at least.
        (10_000, 4, 2, 500),
        (10_000, 4, 1, 1000),
        (2000, 11, 4, 500),
    ],
)
def test_fewer_draws_are_kept_of_thousands_of_cells(cells, ratings, chains, expected):
    counts = simulate_counts(np.full(cells, 1.0), trials=10, ratings=ratings, seed=1)
    assert draws_by_default(build_program(counts, load_model("individual")), chains) == expected


@pytest.mark.integration
def test_a_fit_holds_little_more_than_its_result(monkeypatch):
    monkeypatch.setattr(importance, "CELLS_AT_ONCE", 2)
    counts = simulate_counts(np.full(30, 1.5), m_ratio=0.8, trials=200, seed=1)
    fit(counts[:2], draws=1000, **QUIET)
    tracemalloc.start()
    try:
        found = fit(counts, draws=1000, cores=1, **QUIET)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A part more: what two cells of thirty take while they are at work.
    assert peak < 1.5 * found["posterior"].nbytes


@pytest.mark.integration
def test_chains_of_a_hard_cell_go_on_until_they_are_enough():
    """One person of experiment 1 of Rouault et al. (2018): confidence from 1 to 11, d′ near 0."""
    table = simulate_counts([1.5, 1.5], m_ratio=0.8, trials=200, ratings=11, seed=1)
    table[0] = [
        [[0, 0, 0, 0, 0, 17, 8, 11, 16, 20, 15], [0, 0, 0, 0, 0, 15, 1, 1, 1, 0, 0]],
        [[0, 0, 0, 0, 0, 25, 5, 10, 14, 8, 0], [0, 0, 0, 0, 0, 27, 4, 4, 5, 3, 0]],
    ]

    def troubled(tree):
        return {cell for one in notices(tree) if one.code in {"rhat", "ess"} for cell in one.cells}

    once = fit(table, method="nuts", draws=1000, **QUIET)
    assert troubled(once) == {table["cell"].values[0]}
    found, alone = (fit(table, method="nuts", cores=cores, **QUIET) for cores in (2, 1))
    assert not troubled(found)
    assert found["posterior"].sizes["draw"] == 1000
    # Whatever the cores; and who has enough by one round has the draws of it.
    for group in ("posterior", "sample_stats"):
        xr.testing.assert_equal(found[group].to_dataset(), alone[group].to_dataset())
    easy = (tree["posterior"]["log_m"].isel(cell=1) for tree in (once, found))
    xr.testing.assert_equal(*easy)
