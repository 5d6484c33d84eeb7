"""Bad chains are found, good ones left alone."""

import numpy as np
import pytest
import xarray as xr

from hmetad.bayes.checks import convergence_notices


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
    assert notice.message.startswith("7 divergent transitions:")
    (notice,) = convergence_notices(fake_fit(good, diverging=1))
    assert notice.message.startswith("1 divergent transition:")


def test_one_chain_cannot_be_checked(good):
    (notice,) = convergence_notices(fake_fit(good[:1]))
    assert notice.code == "one-chain"


def test_constants_that_were_plugged_in_are_not_judged(good):
    assert not any("plugged" in n.message for n in convergence_notices(fake_fit(good[:, :20])))
