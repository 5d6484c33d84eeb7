"""Bayes factors of known posteriors are those of theory."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import hmetad
from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.compare import add_bayes_factors, bayes_factor
from hmetad.compare.contrasts import contrast
from hmetad.simulate.simulate import simulate_counts

QUIET = {"random_seed": 1, "progressbar": False, "quiet": True}


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


def exact(mean, sd, width=1.0):
    """log BF10 of a mean of 0 against N(0, width²), given an estimate and its standard error."""
    return norm.logpdf(mean, 0, np.hypot(width, sd)) - norm.logpdf(mean, 0, sd)


@pytest.mark.parametrize("prior", [None, norm(0, 1)])
@pytest.mark.parametrize("mean", [0.0, 0.1, -0.2, 0.4])
def test_conjugate_normal_with_priors_of_other_widths(mean, prior):
    given = arrays(*conjugate(mean, 0.2))
    found = bayes_factor(given["draws"], prior=given["prior"] if prior is None else prior)
    # 16,000 draws: a kernel's bias is about 2 %, beside its Monte Carlo error.
    error = 3 * float(found["mcse"][0]) + 0.03
    assert float(found["log_bf10"][0]) == pytest.approx(exact(mean, 0.2), abs=error)
    assert float(found["bf10"][0]) == pytest.approx(1 / float(found["bf01"][0]))
    assert float(found["log_bf10"][0]) == pytest.approx(np.log(float(found["bf10"][0])))
    for width, factor in zip((0.5, 1, 2), found["bf10_by_width"][0].values, strict=True):
        assert np.log(factor) == pytest.approx(exact(mean, 0.2, width), abs=error + 0.02)


@pytest.mark.parametrize(("draws", "prior_draws"), [(500, 2000), (500, 400), (50, 4000)])
def test_errors_are_the_scatter_over_repetitions(draws, prior_draws):
    repeated = [
        bayes_factor(**arrays(*conjugate(0.2, 0.2, draws, prior_draws, seed))) for seed in range(60)
    ]
    log, error = (np.array([float(r[k][0]) for r in repeated]) for k in ("log_bf10", "mcse"))
    # The SD of 60 is known within a tenth; kernels choose their width anew each time.
    assert log.std() == pytest.approx(error.mean(), rel=0.3)


def test_chains_that_move_slowly_have_a_larger_error():
    noise = np.random.default_rng(1).normal(size=(4, 4000))
    slow = noise.copy()
    for t in range(1, 4000):
        slow[:, t] = 0.9 * slow[:, t - 1] + noise[:, t] * np.sqrt(1 - 0.81)
    errors = [
        float(bayes_factor(arrays(x, x)["draws"], prior=norm(0, 9))["mcse"][0])
        for x in (noise, slow)
    ]
    assert errors[1] > 1.4 * errors[0]


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
    expected = norm.pdf(0, 0, 2**0.5) / norm.pdf(-0.1, 0, 0.1 * 2**0.5)
    assert found["pair"].values.tolist() == ["a − b"]
    assert float(found["bf10"][0]) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("mean", [0.65, 1.0, 3.0])
def test_with_few_draws_beyond_the_null_the_ratio_is_a_bound(mean):
    found = bayes_factor(**arrays(*conjugate(mean, 0.2)))
    assert found["bound"].values.tolist() == ["at least"]
    assert 1 < float(found["log_bf10"][0]) < exact(mean, 0.2)
    assert np.isnan(found["mcse"]).all()
    # Whether the width matters is unknown: also with other widths these are bounds.
    assert [one.code for one in notices(found)] == ["null-in-tail"]


def test_evidence_that_hangs_on_the_width_of_the_prior_is_noticed():
    for mean, told in ((0.2, ["prior-width"]), (0.4, [])):
        found = bayes_factor(**arrays(*conjugate(mean, 0.2)))
        assert [one.code for one in notices(found)] == told


def test_what_cannot_be_estimated_is_withheld_and_says_why():
    posterior, prior = conjugate(0.2, 0.2)
    undefined = posterior.copy()
    undefined[0, 0] = np.nan
    for draws, code in ((undefined, "undefined"), (0 * posterior, "constant")):
        found = bayes_factor(**arrays(draws, prior))
        assert np.isnan(found[["bf10", "bf10_by_width"]].to_dataarray()).all()
        assert found["withheld"].values.tolist() == [code]


def test_what_is_no_prior_of_the_draws_is_refused():
    given = arrays(*conjugate(0, 1))
    many = arrays(*(x[..., None].repeat(2, -1) for x in conjugate(0, 1)), ("cell",))
    for options, says in (
        ({"prior": 1.0}, "scipy.stats.norm"),
        ({"prior": many["prior"]}, "places"),
        ({"prior": given["prior"] ** 2}, "both sides of the null"),
        ({"prior": given["prior"] * np.nan}, "undefined draws"),
        ({"prior": norm(np.nan, 1)}, "above 0"),
        ({"draws": 1.0}, "dim draw"),
        ({"draws": given["draws"][:1, :1]}, "at least 100 draws"),
        ({"null": np.nan}, "finite"),
    ):
        with pytest.raises(InputError, match=says):
            bayes_factor(**given | options)


def test_decisions_have_the_factors_of_what_is_not_withheld():
    rng = np.random.default_rng(1)
    draws = rng.normal([0.0, 0.0], 0.1, (4, 1000, 2))
    draws[0, :, 1] += 1
    both = arrays(draws, rng.normal(0, 1, (4, 4000, 2)), ("cell",), {"cell": ["x", "y"]})
    made = hmetad.decide(both["draws"], rope=(-0.1, 0.1))
    table = add_bayes_factors(made, bayes_factor(**both)).table().set_index("label")
    assert table.loc["x", "bf10"] == pytest.approx(0.1, rel=0.1)
    widths = table.loc["x", ["bf10_half", "bf10_double"]].tolist()
    assert widths == pytest.approx([0.2, 0.05], rel=0.1)
    assert table.loc["y", "withheld"] == "rhat"
    assert np.isnan(table.loc["y", "bf10"])


@pytest.mark.integration
@pytest.mark.parametrize(("difference", "least", "most"), [(0.0, 0.0, 0.3), (0.8, 10.0, np.inf)])
def test_evidence_is_for_the_hypothesis_under_which_data_were_simulated(difference, least, most):
    ratios = 0.9 * np.exp(difference * np.array([0.5, -0.5]))
    counts = simulate_counts(
        [1.5] * 2, m_ratio=ratios, trials=4000, coords={"task": ["a", "b"]}, seed=1
    )
    of_formula = hmetad.fit(counts, formula={"log_m": "1 + task"}, **QUIET)
    for fit, ask in (
        (hmetad.fit(counts, **QUIET), {"var": "log_m"}),
        (of_formula, {"var": "log_m", "population": True}),
    ):
        ways = [fit, hmetad.bayes.draw_prior(fit, draws=20_000)]
        if ask.pop("population", False):
            ways = [hmetad.predict(one, {"task": ["a", "b"]}) for one in ways]
        drawn, prior = (contrast(one, over="task", **ask) for one in ways)
        found = bayes_factor(drawn, prior=prior)
        assert least < float(found["bf10"][0]) < most
        # Both posteriors are normal to a good approximation.
        mean, sd = float(drawn.mean()), float(drawn.std())
        approximate = norm.pdf(0, 0, float(prior.std())) / norm.pdf(0, mean, sd)
        if not difference:
            assert float(found["bf10"][0]) == pytest.approx(approximate, rel=0.25)
    # The prior of a coefficient of a task is its own, N(0, 1).
    assert float(prior.std()) == pytest.approx(1, rel=0.03)
