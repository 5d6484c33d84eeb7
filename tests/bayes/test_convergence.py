"""Bad chains are found, good ones left alone."""

import numpy as np
import pytest
import xarray as xr
from arviz_stats import ess
from scipy.signal import lfilter

from hmetad import ModelSpec, decide, notices, predict
from hmetad.bayes.convergence import convergence_notices
from hmetad.notice import with_notices


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
    tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})
    tree.attrs = {"spec": ModelSpec("fake").to_json()}
    return tree


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


def test_draws_of_which_none_varies_have_no_rhat(good):
    (notice,) = convergence_notices(fake_fit(np.zeros_like(good)))
    assert (notice.code, notice.severity) == ("rhat", "error")
    assert "dprime" in notice.message


def autocorrelated(rng, chains=2, draws=10_000):
    """Chains that agree and hold few effective draws: AR(1) with ρ = .97."""
    noise = rng.normal(size=(chains, draws + 500))
    return lfilter([1], [1, -0.97], noise)[:, 500:]


def population_fit(is_slow):
    """A fit of a population and three cells, the second of which has few effective draws."""
    rng = np.random.default_rng(4)
    cells = rng.normal(size=(2, 10_000, 3))
    cells[..., 1] = autocorrelated(rng)
    mean = autocorrelated(rng) if is_slow else rng.normal(size=(2, 10_000))
    posterior = xr.Dataset(
        {"log_m_Intercept": (("chain", "draw"), mean + 5)}
        | {"log_m": (("chain", "draw", "cell"), cells)},
        coords={"cell": [*"abc"], "subject": ("cell", [*"abc"])},
    )
    stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 10_000), dtype=bool))})
    tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})
    spec = ModelSpec("population", formula={"log_m": "1 + (1 | subject)"})
    tree.attrs = {"spec": spec.to_json()}
    return with_notices(tree, convergence_notices(tree))


@pytest.mark.parametrize("is_slow", [True, False])
def test_a_population_that_fails_beside_one_of_its_cells_gets_no_verdict(is_slow):
    fit = population_fit(is_slow)
    posterior = fit["posterior"].to_dataset()
    # The referee: ArviZ, of the very draws that are judged.
    assert (float(ess(posterior)["log_m_Intercept"]) < 400) is is_slow
    assert float(ess(posterior)["log_m"][1]) < 400
    said = {notice.cells: notice.message for notice in notices(fit)}
    assert ("log_m_Intercept" in said.get((), "")) is is_slow
    assert "log_m:" in said[("b",)]
    population = predict(fit)["log_m"]
    judged = decide(population, rope=(-0.1, 0.1)).table()
    assert judged["verdict"].tolist() == ["unreliable" if is_slow else "different"]
