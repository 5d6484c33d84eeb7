"""Bad chains are found, good ones left alone."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import mannwhitneyu

from hmetad.bayes.checks import confidence_z, convergence_notices
from hmetad.bayes.fit import fit
from hmetad.compare.decisions import decide
from hmetad.counts.notices import notices
from hmetad.counts.table import from_nr
from hmetad.simulate.simulate import simulate_counts


def fake_fit(values, diverging=0):
    """A fit with given draws of d′ (chain, draw, cell)."""
    dims = ("chain", "draw", "cell")
    cells = [f"c{i}" for i in range(values.shape[-1])]
    posterior = xr.Dataset(
        {"dprime": (dims, values), "plugged": (dims, np.ones_like(values))},
        coords={"cell": cells, "chain": range(values.shape[0]), "draw": range(values.shape[1])},
    )
    flags = np.zeros(values.shape[:2], dtype=bool)
    flags.ravel()[:diverging] = True
    stats = xr.Dataset({"diverging": (dims[:2], flags)})
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})


@pytest.fixture
def good():
    return np.random.default_rng(0).normal(size=(4, 1000, 2))


def test_good_chains_raise_nothing(good):
    assert convergence_notices(fake_fit(good)) == []


def test_chains_that_drift_together_are_found_in_their_cell(good):
    good[..., 1] = good[..., 1] * 0.1 + np.linspace(0, 3, 1000)
    found = {notice.code: notice for notice in convergence_notices(fake_fit(good))}
    assert found["rhat"].cells == ("c1",)
    assert found["ess"].cells == ("c1",)
    assert "dprime" in found["rhat"].message


def test_divergences_are_counted(good):
    (notice,) = convergence_notices(fake_fit(good, diverging=7))
    assert notice.message.startswith("7 divergent")


def test_one_chain_cannot_be_checked(good):
    (notice,) = convergence_notices(fake_fit(good[:1]))
    assert notice.code == "one-chain"


def test_constants_that_were_plugged_in_are_not_judged(good):
    assert not any("plugged" in n.message for n in convergence_notices(fake_fit(good[:, :20])))


def test_confidence_is_tested_by_ranks_within_each_response():
    counts = from_nr([40, 30, 20, 10, 5, 6, 9, 12], [9, 8, 6, 5, 12, 22, 30, 41])
    right = np.repeat([1, 2, 3, 4], [10, 20, 30, 40]), np.repeat([1, 2, 3, 4], [12, 22, 30, 41])
    wrong = np.repeat([1, 2, 3, 4], [5, 6, 8, 9]), np.repeat([1, 2, 3, 4], [5, 6, 9, 12])
    excess = variance = 0.0
    for r, w in zip(right, wrong, strict=True):
        excess += mannwhitneyu(r, w).statistic - len(r) * len(w) / 2
        variance += len(r) * len(w) * (len(r) + len(w) + 1) / 12
    assert float(confidence_z(counts)[0]) == pytest.approx(excess / np.sqrt(variance))


def test_confidence_that_runs_backward_is_an_error_that_log_m_hides():
    counts = simulate_counts(1.5, m_ratio=-0.5, trials=4000, seed=1)
    options = {"draws": 200, "tune": 300, "chains": 2, "random_seed": 1}
    draws = fit(counts, progressbar=False, quiet=True, **options)
    assert float(draws["posterior"]["m_ratio"].mean()) > 0
    severities = {n.code: n.severity for n in notices(draws)}
    assert severities["meta-d-sign"] == "error"
    verdict = decide(draws["posterior"]["log_m"], rope=(-0.1, 0.1)).table()["verdict"]
    assert verdict.tolist() == ["unreliable"]
