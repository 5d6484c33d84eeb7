"""Hierarchical normal models of estimates agree with Stan's, PyMC's and closed forms."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from drawn_cells import drawn_cells
from saved import as_saved
from scipy.stats import halfnorm, norm

import hmetad
from hmetad.base.errors import InputError
from hmetad.base.notice import notice_of, notices, with_notices
from hmetad.bayes.estimates import fit_estimates
from hmetad.bayes.predicted_estimates import predict_estimates
from hmetad.likelihood.priors import Prior
from hmetad.specs.spec import spec_of

MODELS, SETS = list("abc"), [f"s{i}" for i in range(6)]
BOTH = "y ~ 0 + model + (1 | set) + (1 | model:set)"


@pytest.fixture(scope="module")
def schools():
    """Coaching in eight schools (Rubin 1981b)."""
    effects = {"y": [28, 8, -3, 7, -1, 1, 18, 12], "se": [15, 10, 16, 11, 9, 11, 10, 18]}
    return pd.DataFrame({"school": list("ABCDEFGH"), **effects})


@pytest.fixture(scope="module")
def table():
    """Three models in six sets."""
    rng = np.random.default_rng(4)
    cells = [(m, s) for m in MODELS for s in SETS]
    frame = pd.DataFrame(cells, columns=["model", "set"])
    of_set = dict(zip(SETS, rng.normal(0, 0.3, len(SETS)), strict=True))
    frame["se"] = rng.uniform(0.05, 0.15, len(frame))
    true = [0.4 * MODELS.index(m) + of_set[s] for m, s in cells] + rng.normal(0, 0.1, len(frame))
    frame["y"] = true + frame["se"] * rng.normal(size=len(frame))
    return frame


@pytest.fixture(scope="module")
def fitted(table):
    """The three models in their sets, fitted once."""
    return fit_estimates(table, BOTH, se="se", seed=1)


def drawn_of(table, values):
    """Draws (cell, draw) of the cells of a table."""
    columns = {name: table[name].to_numpy(dtype=str) for name in ("model", "set")}
    return drawn_cells(values.T, "y", **columns).transpose("cell", "draw")


def moments(values):
    """Mean and SD over draws."""
    return np.array([values.mean(["chain", "draw"]), values.std(["chain", "draw"])])


def test_eight_schools_are_those_of_stan(schools):
    # mu ~ Normal(0, 5), tau ~ half-Cauchy(0, 5): Stan's example, with means and SDs as
    # posteriordb's reference draws have them, to the first decimal.
    priors = {
        "y_Intercept": Prior("Normal", mu=0, sigma=5),
        "y_1|school_sigma": Prior("StudentT", nu=1, mu=0, sigma=5),
    }
    fit = fit_estimates(schools, "y ~ 1 + (1 | school)", se="se", priors=priors, draws=5000, seed=1)
    posterior = fit["posterior"]
    np.testing.assert_allclose(moments(posterior["y_Intercept"]), [4.4, 3.3], atol=0.1)
    np.testing.assert_allclose(moments(posterior["y_1|school_sigma"]), [3.6, 3.2], atol=0.15)
    means = [6.2, 4.9, 3.9, 4.8, 3.6, 4.0, 6.3, 4.9]
    np.testing.assert_allclose(moments(posterior["y"])[0], means, atol=0.2)
    assert notices(fit) == []


@pytest.mark.integration
def test_draws_follow_quadrature_over_the_sd_and_closed_forms_given_it(schools):
    fit = fit_estimates(schools, "y ~ 1 + (1 | school)", se="se", draws=15_000, chains=4, seed=2)
    prior = {name: one.parameters for name, one in spec_of(fit).priors.items()}
    mu0, sd0 = (prior["y_Intercept"][name] for name in ("mu", "sigma"))
    scale = prior["y_1|school_sigma"]["sigma"]
    y, se = (schools[name].to_numpy(dtype=float) for name in ("y", "se"))
    tau = np.linspace(1e-6, 8 * scale, 4000)[:, None]
    # Gelman et al. (2013), equations 5.17, 5.20 and 5.21, with a normal prior of mu.
    weight = 1 / (se**2 + tau**2)
    precision = weight.sum(axis=1) + 1 / sd0**2
    centre = ((weight * y).sum(axis=1) + mu0 / sd0**2) / precision
    log_density = norm.logpdf(y, centre[:, None], 1 / np.sqrt(weight)).sum(axis=1)
    log_density += norm.logpdf(centre, mu0, sd0) - np.log(precision) / 2
    log_density += halfnorm.logpdf(tau[:, 0], scale=scale)
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    posterior = fit["posterior"]
    mean = (share * centre).sum()
    sd = np.sqrt((share * (1 / precision + (centre - mean) ** 2)).sum())
    np.testing.assert_allclose(moments(posterior["y_Intercept"]), [mean, sd], atol=0.1)
    tau_mean = (share * tau[:, 0]).sum()
    assert float(posterior["y_1|school_sigma"].mean()) == pytest.approx(tau_mean, abs=0.06)
    kept = tau**2 / (se**2 + tau**2)
    shrunk = (share[:, None] * (kept * y + (1 - kept) * centre[:, None])).sum(axis=0)
    np.testing.assert_allclose(moments(posterior["y"])[0], shrunk, atol=0.12)


@pytest.mark.integration
def test_the_truth_is_covered_as_often_as_it_should_be():
    rng, inside = np.random.default_rng(5), []
    frame = pd.DataFrame([(m, s) for m in MODELS for s in SETS], columns=["model", "set"])
    priors = {
        "y_model": Prior("Normal", mu=0, sigma=1),
        "y_1|set_sigma": Prior("HalfNormal", sigma=0.5),
        "y_1|model:set_sigma": Prior("HalfNormal", sigma=0.5),
    }
    for seed in range(60):
        mean, sigma = rng.normal(size=3), abs(rng.normal(0, 0.5, 2))
        of_set = dict(zip(SETS, sigma[0] * rng.normal(size=len(SETS)), strict=True))
        true = np.array([mean[MODELS.index(m)] + of_set[s] for m, s in frame.to_numpy()])
        true += sigma[1] * rng.normal(size=len(true))
        data = frame.assign(y=true + 0.2 * rng.normal(size=len(true)), se=0.2)
        fit = fit_estimates(data, BOTH, se="se", priors=priors, draws=500, chains=2, seed=seed)
        drawn = fit["posterior"].to_dataset()
        truths = {"y_model": mean, "y_1|set_sigma": sigma[0], "y_1|model:set_sigma": sigma[1]}
        ranks = [(drawn[x].values < value).mean(axis=(0, 1)) for x, value in truths.items()]
        inside.append(np.hstack(ranks))
    ranks = np.array(inside)
    # Ranks are uniform: SD of a mean of 60 is .037, of a share of one half .065.
    np.testing.assert_allclose(ranks.mean(axis=0), 0.5, atol=0.13)
    np.testing.assert_allclose((abs(ranks - 0.5) < 0.25).mean(axis=0), 0.5, atol=0.22)


def test_a_new_set_is_as_uncertain_as_sets_differ(table):
    fit = fit_estimates(table, BOTH, se="se", draws=5000, seed=1)
    posterior = fit["posterior"].to_dataset()
    average = predict_estimates(fit)["y"]
    np.testing.assert_allclose(average, posterior["y_model"])
    new = predict_estimates(fit, new="set", seed=1)["y"]
    expected = sum((posterior[f"y_1|{x}_sigma"] ** 2).mean() for x in ("set", "model:set"))
    more = new.var(["chain", "draw"]) - average.var(["chain", "draw"])
    np.testing.assert_allclose(more, float(expected), rtol=0.1)
    # One new set for all models: its own effect cancels in differences.
    apart = hmetad.contrast(new, over="model").var(["chain", "draw"])
    apart = apart - hmetad.contrast(average, over="model").var(["chain", "draw"])
    between = 2 * float((posterior["y_1|model:set_sigma"] ** 2).mean())
    np.testing.assert_allclose(apart, between, rtol=0.15)


def test_known_cells_are_predicted_as_they_were_fitted(table):
    fit = fit_estimates(table.iloc[1:], BOTH, se="se", seed=1)
    again = predict_estimates(fit, table[["model", "set"]], seed=1)["y"]
    np.testing.assert_allclose(again.isel(cell=slice(1, None)), fit["posterior"]["y"])
    # The combination that was not estimated knows its model and its set.
    missing = again.isel(cell=0)
    assert float(missing.std()) > float(again.isel(cell=1).std())
    whole = hmetad.contrast(again, over="model", pool="set")
    assert set(whole["not_pooled"].values) == {""}
    with pytest.raises(InputError, match="set 'unheard'"):
        predict_estimates(fit, {"model": ["a"], "set": ["unheard"]})
    with pytest.raises(InputError, match=r"cells: .*got True"):
        predict_estimates(fit, True)


@pytest.mark.integration
def test_draws_keep_their_covariance(table):
    rng = np.random.default_rng(6)
    shared = rng.normal(0, 0.5, (1, 4000))
    values = table["y"].to_numpy()[:, None] + shared + rng.normal(0, 0.05, (len(table), 4000))
    fit = fit_estimates(drawn_of(table, values), BOTH, seed=1)
    observed = fit["observed_data"].to_dataset()
    factor = 3999 / (4000 - len(table) - 2)
    np.testing.assert_allclose(observed["covariance"], np.cov(values) * factor)
    # What all cells share moves none of the differences.
    difference = hmetad.contrast(fit, var="y", over="model", within="set")
    assert float(difference.std("draw").max()) < 0.12
    assert float(fit["posterior"]["y"].std(["chain", "draw"]).min()) > 0.3
    alone = fit_estimates(table.assign(se=0.5), BOTH, se="se", seed=1)
    wide = hmetad.contrast(alone, var="y", over="model", within="set")
    assert float(wide.std("draw").min()) > float(difference.std("draw").max())


def test_a_link_takes_errors_along_and_comes_back(table, fitted):
    share = 1 / (1 + np.exp(-table["y"]))
    frame = table.assign(auroc2=share, se=table["se"] * share * (1 - share))
    fit = fit_estimates(frame, BOTH.replace("y ~", "auroc2 ~"), se="se", link="logit", seed=1)
    posterior = fit["posterior"]
    # Rounding of the scale is all that differs.
    for name in ("estimate", "se"):
        observed = fit["observed_data"][name], fitted["observed_data"][name]
        np.testing.assert_allclose(*observed, atol=1e-6)
    back = 1 / (1 + np.exp(-posterior["logit_auroc2"]))
    np.testing.assert_allclose(posterior["auroc2"], back)
    assert "logit_auroc2_1|set_sigma" in posterior
    predicted = predict_estimates(fit, new="set", seed=1)
    assert set(predicted.data_vars) == {"logit_auroc2", "auroc2"}


def test_undefined_estimates_are_left_out_and_said(table):
    bad = table.assign(y=table["y"].where(table.index != 2), se=table["se"].where(table.index != 5))
    fit = fit_estimates(bad, BOTH, se="se", seed=1)
    [notice] = notices(fit)
    assert notice.code == "estimates-left-out"
    assert notice.cells == ("a | s2", "a | s5")
    assert fit["posterior"].sizes["cell"] == len(table) - 2


def areas(edge=0, undefined=0):
    """Draws of an area in six sets of 50 answers; some of the last are 1, or undefined."""
    drawn = np.random.default_rng(1).beta(40, 10, (6, 1000))
    drawn[5, :edge], drawn[5, edge : edge + undefined] = 1.0, np.nan
    sets = [f"s{i}" for i in range(6)]
    coords = {"cell": sets, "set": ("cell", sets)}
    return xr.Dataset({"auroc2": (("cell", "draw"), drawn), "trials": ("cell", [50] * 6)}, coords)


def fit_areas(drawn, link="logit"):
    return fit_estimates(drawn, "auroc2 ~ 1 + (1 | set)", link=link, draws=500, seed=1)


@pytest.mark.parametrize("link", ["identity", "logit"])
def test_a_few_undefined_draws_leave_a_cell_its_others(link):
    fit = fit_areas(areas(undefined=50), link)
    observed = fit["observed_data"].to_dataset()
    assert observed.sizes["cell"] == 6
    kept = areas()["auroc2"].values[5, 50:]
    kept = np.log(kept / (1 - kept)) if link == "logit" else kept
    assert float(observed["estimate"][5]) == pytest.approx(kept.mean())
    factor = 999 / (1000 - 6 - 2)
    assert float(observed["se"][5]) == pytest.approx(kept.std() * np.sqrt(factor * 1000 / 999))
    # In so few draws some may diverge.
    [notice] = [own for own in notices(fit) if own.code != "divergences"]
    assert (notice.code, notice.cells) == ("undefined-draws", ("s5",))
    assert "5.0%" in notice.message
    rest, whole = (
        one["observed_data"]["covariance"].values for one in (fit, fit_areas(areas(), link))
    )
    np.testing.assert_allclose(rest[:5, :5], whole[:5, :5])
    assert np.linalg.eigvalsh(rest)[0] > 0


def test_a_cell_beyond_the_limit_is_left_out_by_name():
    [notice] = [one for one in notices(fit_areas(areas(undefined=51))) if one.code != "divergences"]
    assert (notice.code, notice.cells) == ("estimates-left-out", ("s5",))
    assert "because of their outcome" in notice.message


def test_draws_at_the_edge_are_moved_in_by_half_a_unit():
    fit = fit_areas(areas(edge=200))
    drawn = areas(edge=200)["auroc2"].values[5].clip(0.01, 0.99)
    estimate = float(fit["observed_data"]["estimate"][5])
    assert estimate == pytest.approx(np.log(drawn / (1 - drawn)).mean())
    [notice] = [one for one in notices(fit) if one.code != "divergences"]
    assert (notice.code, notice.cells) == ("estimates-at-edge", ("s5",))
    assert "20.0%" in notice.message
    # Without trials, by half the distance of the nearest draw.
    other = fit_areas(areas(edge=200)["auroc2"])
    nearest = np.sort(areas()["auroc2"].values[5, 200:])[-1]
    moved = np.where(drawn == 0.99, 1 - (1 - nearest) / 2, areas(edge=200)["auroc2"].values[5])
    expected = np.log(moved / (1 - moved)).mean()
    assert float(other["observed_data"]["estimate"][5]) == pytest.approx(expected, abs=1e-3)
    assert notices(fit_areas(areas(edge=200), "identity")) == []


def test_estimates_at_the_edge_are_moved_in_where_trials_say_how_far():
    of_cells = {"auroc2": [0.7, 0.8, 1.0], "auroc2_se": [0.05, 0.05, 0.02], "trials": [50] * 3}
    values = xr.Dataset({name: ("cell", x) for name, x in of_cells.items()}, {"cell": [*"abc"]})
    values = values.assign_coords(set=("cell", [*"abc"]))
    fit = fit_areas(values)
    assert float(fit["observed_data"]["estimate"][2]) == pytest.approx(np.log(99))
    without = fit_areas(values.drop_vars("trials"))
    found = [[one.code for one in notices(x)] for x in (fit, without)]
    assert found == [["estimates-at-edge"], ["estimates-left-out"]]


@pytest.mark.integration
def test_a_formula_that_explains_too_little_has_a_notice(table, fitted):
    found = notices(fit_estimates(table.assign(se=0.01), "y ~ 0 + model + (1 | set)", se="se"))
    assert {one.code for one in found} == {"estimates-misfit", "same-effect"}
    assert notices(fitted) == []


def test_fits_of_estimates_are_saved_compared_and_decided(table, fitted, tmp_path):
    again = hmetad.load_fit(hmetad.save_fit(fitted, tmp_path / "fit.nc"))
    draws = fitted["posterior"].to_dataset()
    xr.testing.assert_identical(again, as_saved(fitted))
    apart = hmetad.contrast(again, var="y_model", over="model", against="a")
    assert hmetad.decide(apart, rope=(-0.1, 0.1)).table()["label"].tolist() == ["b − a", "c − a"]
    ranks = hmetad.rank(again, var="y", over="model", pool="set")
    assert ranks["model"].values[np.argmax(ranks["p_best"].values)] == "c"
    repeated = fit_estimates(table, BOTH, se="se", seed=1)["posterior"].to_dataset()
    xr.testing.assert_equal(repeated, draws)
    decided = hmetad.decide(again["posterior"]["y_1|set_sigma"], rope=(-0.05, 0.05))
    assert decided.results["mean"].item() > 0


def changed(fit, **attrs):
    """Fit with other attrs."""
    other = fit.copy()
    other.attrs = {**fit.attrs, **attrs}
    return other


def test_a_changed_file_of_estimates_is_refused(fitted, tmp_path):
    posterior = fitted["posterior"].to_dataset()
    broken = [
        changed(fitted, formula="y ~ __import__('os')"),
        changed(fitted, link="exp"),
        changed(fitted, spec="{"),
        changed(fitted, spec=hmetad.load_model("individual").to_json()),
        changed(fitted, quantity="z"),
        fitted.assign(posterior=xr.DataTree(posterior.drop_vars("y_model"))),
        fitted.assign(posterior=xr.DataTree(posterior * np.nan)),
        fitted.assign(posterior=xr.DataTree(posterior.isel(cell=slice(3)))),
        fitted.drop_nodes("observed_data"),
    ]
    for other in broken:
        with pytest.raises(InputError):
            hmetad.save_fit(other, tmp_path / "fit.nc")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"formula": "model"}, "name ~ formula"),
        ({"formula": "y ~ 1 + eval(model)"}, "formula"),
        ({"formula": "y ~ 1 + (1 | sets)"}, "no column 'sets'"),
        ({"se": None}, "column of standard errors"),
        ({"priors": {"y_model": Prior("StudentT", nu=3, mu=0, sigma=1)}}, "Expected Normal"),
        ({"priors": {"y_1|set_sigma": Prior("StudentT", nu=3, mu=1, sigma=1)}}, "with mu=0"),
    ],
)
def test_what_cannot_be_fitted_is_refused(table, asked, says):
    with pytest.raises(InputError, match=says):
        fit_estimates(table, **{"formula": BOTH, "se": "se", **asked})


def test_too_few_draws_for_their_covariance_are_refused():
    drawn = drawn_cells(np.random.default_rng(1).normal(size=(60, 20)), "y")
    twice = drawn_cells(np.repeat(drawn.values[:, :1], 2, axis=1), "y")
    for draws, says in ((drawn, "at least 100"), (twice, "singular covariance")):
        with pytest.raises(InputError, match=says):
            fit_estimates(draws, "y ~ 1")


def test_errors_of_cells_that_are_kept_withhold_verdicts(table):
    values = np.random.default_rng(1).normal(table["y"].to_numpy()[:, None], 0.1, (18, 500))
    values[3] = np.nan
    drawn = drawn_of(table, values).to_dataset()
    said = [notice_of("ess", [str(drawn["cell"].values[k])], names="y") for k in (3, 0)]
    fit = fit_estimates(with_notices(drawn, said), BOTH, seed=1)
    assert [one.cells for one in notices(fit) if one.code == "ess"] == [said[1].cells]
    judged = hmetad.decide(fit["posterior"]["y"], rope=(-0.1, 0.1)).table()
    assert judged["verdict"].tolist()[0] == "unreliable"
    assert judged["withheld"].tolist()[1:] == [""] * 16


def test_what_needs_counts_is_refused_of_a_fit_of_estimates(fitted):
    for ask in (hmetad.loo, hmetad.sensitivity, hmetad.bayes.predicted_counts):
        with pytest.raises(InputError, match="fit of estimates"):
            ask(fitted)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_chains_draw_the_same_posterior_in_any_unit(table, fitted, unit):
    scaled = table.assign(y=unit * table["y"], se=unit * table["se"])
    fit = fit_estimates(scaled, BOTH, se="se", seed=1)
    assert notices(fit) == []
    for name in ("y_model", "y_1|set_sigma", "y_1|model:set_sigma", "y"):
        found, expected = moments(fit["posterior"][name]) / unit, moments(fitted["posterior"][name])
        # Four standard errors of means of 500 effective draws.
        np.testing.assert_allclose(found[0], expected[0], atol=0.18 * expected[1].max())
        np.testing.assert_allclose(found[1], expected[1], rtol=0.2)


@pytest.mark.integration
def test_many_correlated_effects_are_drawn_and_checked(tmp_path):
    rng, levels = np.random.default_rng(1), [f"m{i}" for i in range(6)]
    frame = pd.DataFrame([(m, s) for m in levels for s in "abcdefgh"], columns=["model", "set"])
    frame["se"] = 0.1
    frame["y"] = rng.normal(frame["model"].map(levels.index), 0.3)
    fit = fit_estimates(frame, "y ~ model + (1 + model | set)", se="se", draws=500, seed=1)
    assert hmetad.report.convergence_record(fit)["rhat"] < 1.02
    assert "chains were sampled by nutpie" in hmetad.report.fit_report(fit).html()
    again = hmetad.load_fit(hmetad.save_fit(fit, tmp_path / "fit.nc"))
    assert predict_estimates(again, new="set", seed=1)["y"].sizes["cell"] == 6
