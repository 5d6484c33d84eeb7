"""Bayes factors of known posteriors are those of theory."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import norm

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.bayes.fit import fit
from hmetad.bayes.model import rebuild_model
from hmetad.compare.contrasts import contrast
from hmetad.compare.savage_dickey import bayes_factor, kernel_error
from hmetad.simulate.simulate import simulate_counts


def arrays(posterior, prior, dims=(), coords=None):
    """Draws and prior of one quantity."""
    sampled = [
        xr.DataArray(x, coords, ("chain", "draw", *dims), name="slope") for x in (posterior, prior)
    ]
    return {"draws": sampled[0], "prior": sampled[1]}


def conjugate(mean, sd, draws=4000, prior_draws=None, seed=0):
    """Draws of the posterior and prior of a normal mean, given its estimate and standard error."""
    precision = 1 / sd**2 + 1
    rng = np.random.default_rng(seed)
    posterior = rng.normal(mean / sd**2 / precision, precision**-0.5, (4, draws))
    return posterior, rng.normal(0, 1, (1, prior_draws or 4 * draws))


@pytest.mark.parametrize("mean", [0.0, 0.1, -0.2, 0.4])
def test_conjugate_normal(mean):
    sd = 0.2
    found = bayes_factor(**arrays(*conjugate(mean, sd)))
    exact = norm.pdf(mean, 0, sd) / norm.pdf(mean, 0, np.hypot(1, sd))
    # 16,000 draws: a kernel's bias is about 2 %, beside its Monte Carlo error.
    error = float(found["mcse_bf01"][0])
    assert float(found["bf01"][0]) == pytest.approx(exact, abs=3 * error + 0.03 * exact)
    assert float(found["bf01"][0] * found["bf10"][0]) == pytest.approx(1)
    relative = found["mcse_bf10"] / found["bf10"]
    assert float(relative[0]) == pytest.approx(error / float(found["bf01"][0]))


@pytest.mark.parametrize(("draws", "prior_draws"), [(500, 2000), (500, 200), (50, 4000)])
def test_errors_are_the_scatter_over_repetitions(draws, prior_draws):
    repeated = [
        bayes_factor(**arrays(*conjugate(0.2, 0.2, draws, prior_draws, seed))) for seed in range(60)
    ]
    bf01, error = (np.array([float(r[k][0]) for r in repeated]) for k in ("bf01", "mcse_bf01"))
    # The SD of 60 is known within a tenth; kernels choose their width anew each time.
    assert bf01.std() == pytest.approx(error.mean(), rel=0.3)


@pytest.mark.parametrize("width", [0.05, 0.5])
def test_the_error_of_a_density_is_that_of_a_mean_of_kernels(width):
    """Of standard normal draws: the mean and the mean square of a kernel are normal densities."""
    draws = np.random.default_rng(1).normal(size=(4, 20_000))
    mean = norm.pdf(0.7, scale=np.sqrt(1 + width**2))
    square = norm.pdf(0.7, scale=np.sqrt(1 + width**2 / 2)) / (2 * width * np.sqrt(np.pi))
    expected = np.sqrt((square - mean**2) / draws.size)
    # The effective number of draws is itself an estimate.
    assert kernel_error(draws, 0.7, width) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 0.2), (0.3, 0.2), (-0.1, 0.05)])
def test_a_prior_that_is_known_needs_no_draws(mean, sd):
    draws = arrays(*conjugate(mean, sd))["draws"]
    found = bayes_factor(draws, prior=norm(0, 1))
    exact = norm.pdf(mean, 0, sd) / norm.pdf(mean, 0, np.hypot(1, sd))
    error = float(found["mcse_bf01"][0])
    assert float(found["bf01"][0]) == pytest.approx(exact, abs=3 * error + 0.03 * exact)
    assert float(found["prior_density"][0]) == norm.pdf(0)


def test_it_is_arviz_s_bayes_factor():
    given = arrays(*conjugate(0.1, 0.2))
    data = xr.DataTree.from_dict(
        {"posterior": given["draws"].to_dataset(), "prior": given["prior"].to_dataset()}
    )
    expected = az.bayes_factor(data, var_names="slope", ref_vals=0.1)["slope"]
    found = bayes_factor(**given, null=0.1)
    assert float(found["bf01"][0]) == pytest.approx(float(expected.sel(bf_type="BF01")))


def test_a_difference_is_held_against_the_prior_of_the_difference():
    rng = np.random.default_rng(0)
    coords = {"cell": ["x", "y"], "model": ("cell", ["a", "b"])}
    data = arrays(
        rng.normal([0.3, 0.4], 0.1, (4, 4000, 2)),
        rng.normal(0, 1, (1, 16_000, 2)),
        ("cell",),
        coords,
    )
    found = bayes_factor(**{name: contrast(x, over="model") for name, x in data.items()})
    exact = norm.pdf(-0.1, 0, 0.1 * 2**0.5) / norm.pdf(0, 0, 2**0.5)
    assert found["pair"].values.tolist() == ["a − b"]
    assert float(found["bf01"][0]) == pytest.approx(exact, rel=0.06)


def test_what_cannot_be_estimated_is_withheld_and_says_why():
    posterior, prior = conjugate(3.0, 0.2)
    stray, undefined = posterior.copy(), posterior.copy()
    stray[0, 0], undefined[0, 0] = -1, np.nan
    for draws, code in ((posterior, "outside"), (stray, "outside"), (undefined, "undefined")):
        found = bayes_factor(**arrays(draws, prior))
        assert np.isnan(found["bf01"]).all()
        assert found["withheld"].values.tolist() == [code]


def test_a_null_in_the_tail_is_noticed():
    for mean, told in ((0.2, []), (0.65, ["null-in-tail"])):
        found = bayes_factor(**arrays(*conjugate(mean, 0.2)))
        assert [one.code for one in notices(found)] == told
        assert np.isfinite(found["bf01"]).all()


def test_what_is_no_prior_is_refused():
    given = arrays(*conjugate(0, 1))
    many = arrays(*(x[..., None].repeat(2, -1) for x in conjugate(0, 1)), ("cell",))
    for options, says in (
        ({"prior": 1.0}, "scipy.stats.norm"),
        ({"prior": many["prior"]}, "places"),
        ({"draws": 1.0}, "dim draw"),
        ({"null": np.nan}, "finite"),
    ):
        with pytest.raises(InputError, match=says):
            bayes_factor(**given | options)


@pytest.mark.integration
def test_prior_draws_of_a_fit_have_its_difference():
    counts = simulate_counts(
        [1.5] * 3, m_ratio=[0.8] * 3, trials=2000, coords={"task": ["a", "b", "c"]}, seed=1
    )
    options = {"draws": 500, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True}
    draws = fit(counts, formula={"log_m": "1 + task"}, **options)
    with rebuild_model(draws):
        sampled = pm.sample_prior_predictive(4000, var_names=["log_m_task", "log_m"], random_seed=1)
    posterior, prior = draws["posterior"], sampled["prior"]
    effect = posterior["log_m_task"]
    found = bayes_factor(effect, prior=prior["log_m_task"])
    assert found["task_dim"].values.tolist() == ["b", "c"]
    # The posterior is normal to a good approximation: SD .07, prior N(0, 1).
    mean, sd = (f(["chain", "draw"]).values for f in (effect.mean, effect.std))
    np.testing.assert_allclose(found["bf01"], norm.pdf(0, mean, sd) / norm.pdf(0), rtol=0.25)
    cells = {name: x for name, x in posterior["log_m"].coords.items() if x.dims == ("cell",)}
    both = [posterior["log_m"], prior["log_m"].assign_coords(cells)]
    pairs = [contrast(x, over="task", against="a") for x in both]
    different = bayes_factor(pairs[0], prior=pairs[1])
    np.testing.assert_allclose(different["bf01"], found["bf01"], rtol=0.01)
