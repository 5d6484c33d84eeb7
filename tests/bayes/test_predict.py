"""Predictions: of the cells of a fit, of its conditions, and of a population; and of measures.

Measures of the counts that each draw expects are checked against SciPy and brute force.
"""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm, somersd

import hmetad
from hmetad.base.errors import InputError
from hmetad.bayes import predict_measures
from hmetad.bayes.fit import fit
from hmetad.bayes.predict import predict
from hmetad.compare.contrasts import contrast
from hmetad.simulate.simulate import simulate_counts

SUBJECTS = [str(i) for i in range(6) for _ in range(2)]
TASKS = ["memory", "vision"] * 6
SILENT = {"progressbar": False, "quiet": True, "random_seed": 1}
QUIET = {**SILENT, "draws": 200, "chains": 2}


@pytest.fixture(scope="module")
def draws():
    counts = simulate_counts(
        np.linspace(1, 2, 12),
        m_ratio=np.tile([0.9, 0.6], 6),
        trials=600,
        coords={"subject": SUBJECTS, "task": TASKS, "age": np.repeat(np.arange(20.0, 80, 10), 2)},
        seed=1,
    )
    formula = "1 + task + scale(age) + (1|subject)"
    terms = {"log_m": formula, "dprime": formula, "c": "1 + (1|subject)", "log_gap": "1"}
    return fit(counts, formula=terms, tune=500, **QUIET)


@pytest.mark.integration
def test_cells_with_their_groups_are_those_of_the_posterior(draws):
    """The formulas, evaluated in NumPy, give what the model computed while sampling."""
    posterior = draws["posterior"].to_dataset()
    cells = {name: posterior[name].values for name in ("subject", "task", "age")}
    again = predict(draws, cells, group_terms=True)
    for name in ("dprime", "c", "log_m", "m_ratio", "meta_d", "meta_c", "criteria"):
        np.testing.assert_allclose(again[name].values, posterior[name].values, rtol=1e-10)
    assert again["task"].values.tolist() == TASKS


@pytest.mark.integration
def test_the_population_is_the_common_part(draws):
    posterior = draws["posterior"].to_dataset()
    new = predict(draws, {"task": ["vision"], "age": [45.0]})
    expected = posterior["log_m_Intercept"] + posterior["log_m_task"].sel(task_dim="vision")
    np.testing.assert_allclose(new["log_m"].isel(cell=0), expected)  # 45 is the mean age.
    xr.testing.assert_allclose(new["m_ratio"], np.exp(new["log_m"]))


@pytest.mark.integration
def test_by_default_every_condition_is_predicted_once(draws):
    conditions = predict(draws)
    assert conditions.sizes["cell"] == 12
    assert set(conditions.coords) >= {"task", "age", "cell"}
    effect = contrast(conditions, var="log_m", over="task", within="age")
    coefficient = draws["posterior"]["log_m_task"].squeeze("task_dim", drop=True)
    for pair in range(effect.sizes["pair"]):
        assert abs(effect.isel(pair=pair) + coefficient).max() < 1e-9


@pytest.mark.integration
def test_a_model_without_predictors_predicts_its_population():
    counts = simulate_counts(
        np.linspace(1, 2, 6), trials=600, coords={"subject": list("abcdef")}, seed=1
    )
    group = fit(counts, "group", tune=300, **QUIET)
    population = predict(group)
    assert population["cell"].values.tolist() == ["population"]
    np.testing.assert_allclose(
        population["log_m"].values[..., 0], group["posterior"]["log_m_Intercept"].values
    )
    assert predict(group, group_terms=True)["log_m"].sizes["cell"] == 6
    one = predict(group, ["c"], group_terms=True)
    xr.testing.assert_equal(one["log_m"], group["posterior"]["log_m"].sel(cell=["c"]))


@pytest.mark.integration
def test_a_factor_is_not_taken_for_one_whose_name_ends_alike():
    coords = {"subject": ["1", "1", "2", "2"], "lab": ["a", "b", "a", "b"]}
    counts = simulate_counts([1.0, 1.4, 1.8, 1.6], trials=600, coords=coords, seed=1)
    formula = {"log_m": "1 + (1|lab:subject) + (1|subject)"}
    few = {**QUIET, "draws": 20, "tune": 50}
    posterior = fit(counts, formula=formula, **few)
    again = predict(posterior, coords, group_terms=True)["log_m"]
    np.testing.assert_allclose(again.values, posterior["posterior"]["log_m"].values, rtol=1e-10)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        ({"task": "vision", "age": 40.0}, {}, "as many values of each column"),
        ({"task": ["hearing"], "age": [40.0]}, {}, r"levels \(hearing\)"),
        ({"task": ["vision"]}, {}, "a column for each of age too"),
        ({"task": ["vision"] * 2, "age": [40.0] * 2}, {}, "each cell once"),
        (
            {"task": ["vision"], "age": [40.0], "subject": ["9"]},
            {"group_terms": True},
            "a subject that the fit does not have",
        ),
    ],
)
def test_what_cannot_be_predicted_is_said(draws, cells, options, message):
    with pytest.raises(InputError, match=message):
        predict(draws, cells, **options)


@pytest.fixture(scope="module")
def counts():
    people = [f"s{i}" for i in range(8)]
    coords = {"subject": people * 2, "task": ["memory"] * 8 + ["vision"] * 8}
    return hmetad.simulate_counts([1.5] * 16, 0.2, 0.8, coords=coords, trials=500, seed=2)


@pytest.fixture(scope="module")
def fitted(counts):
    formula = {"log_m": "1 + task + (1 | subject)"}
    return hmetad.fit(counts, "group", formula=formula, draws=60, tune=150, chains=2, **SILENT)


def table_of(draw):
    """P(stimulus, response, rating) of one draw of one cell, by SciPy's normal distribution."""
    d, c, m, kappa = (draw[name].item() for name in ("dprime", "c", "meta_d", "meta_c"))
    below, above = draw["criteria"].values
    edges = {0: [kappa, *sorted(below, reverse=True), -np.inf], 1: [kappa, *sorted(above), np.inf]}
    shares = np.empty((2, 2, 4))
    for s, sign in ((0, -1), (1, 1)):
        right = norm.sf(c, sign * d / 2)
        for r, whole in ((0, 1 - right), (1, right)):
            at = norm.cdf(edges[r], sign * m / 2)
            parts = np.abs(np.diff(at))
            shares[s, r] = whole * parts / parts.sum() / 2
    return shares


@pytest.mark.parametrize("place", [0, 5, 15])
def test_measures_of_a_draw_are_those_of_its_table(fitted, place):
    found = predict_measures(fitted, ["auroc2", "confidence_mean", "share_right"], group_terms=True)
    at = {"chain": 1, "draw": 17, "cell": place}
    shares = table_of(fitted["posterior"].to_dataset().isel(at))
    assert shares.sum() == pytest.approx(1)
    right = shares[0, 0] + shares[1, 1]
    wrong = shares[0, 1] + shares[1, 0]
    own = found.isel(at)
    assert own["share_right"].item() == pytest.approx(right.sum(), abs=1e-9)
    mean = ((right + wrong) * np.arange(1, 5)).sum()
    assert own["confidence_mean"].item() == pytest.approx(mean, abs=1e-9)
    # Somers' D of the ratings by correctness is 2 AUROC - 1; it takes whole numbers of trials.
    trials = np.round(1e9 * np.stack([wrong, right])).astype(np.int64)
    assert own["auroc2"].item() == pytest.approx((somersd(trials).statistic + 1) / 2, abs=1e-6)


def test_an_unknown_measure_is_refused(fitted):
    with pytest.raises(InputError, match=r"results of hmetad\.measure"):
        predict_measures(fitted, "dprime_se")


def test_a_population_without_criteria_is_refused(counts):
    some = counts.isel(cell=slice(0, 8))
    drawn = hmetad.fit(some, "hmetad_group", draws=30, tune=60, chains=2, **SILENT)
    with pytest.raises(InputError, match="group_terms=True"):
        predict_measures(drawn, "auroc2")
    assert predict_measures(drawn, "auroc2", group_terms=True)["auroc2"].sizes["cell"] == 8


def test_columns_that_stand_in_brackets_alone_are_not_needed_for_an_average_group():
    coords = {"subject": list("aabbccdd"), "task": ["x", "y"] * 4, "item": [1, 2, 2, 1] * 2}
    counts = simulate_counts(1.5, trials=100, ratings=3, coords=coords, m_ratio=[0.8] * 8)
    formula = {"log_m": "1 + item + (1 + item + task | subject)"}
    quiet = {"draws": 10, "tune": 20, "chains": 2, "progressbar": False, "quiet": True}
    drawn = fit(counts, "group", formula=formula, random_seed=1, **quiet)
    found = predict(drawn, {"item": [1, 2]})
    assert found.sizes["cell"] == 2


def has_log_ratio(values):
    """Whether the cells of a quantity, at the first of its other places, have a log ratio."""
    others = [dim for dim in values.dims if dim not in ("chain", "draw", "cell")]
    try:
        contrast(values.isel(dict.fromkeys(others, 0), drop=True), over="model", kind="log_ratio")
    except InputError as error:
        return "which is a logarithm" not in str(error)
    return True


@pytest.mark.parametrize(
    "card", ["individual", pytest.param("gaussian_noise", marks=pytest.mark.integration)]
)
def test_what_is_a_logarithm_has_no_log_ratio_and_what_follows_from_one_has(card):
    models = {"model": ["a", "b"]}
    counts = simulate_counts([1.5, 2], trials=2000, coords=models, seed=1)
    drawn = fit(counts, card, **QUIET)
    for draws in (drawn["posterior"].to_dataset(), predict(drawn, group_terms=True)):
        found = {name for name, values in draws.items() if has_log_ratio(values)}
        assert found == {name for name in draws if not str(name).startswith("log_")}


def test_logarithms_of_a_formula_and_of_separate_fits_have_no_log_ratio_either():
    counts = simulate_counts([1.5, 2], trials=2000, coords={"model": ["a", "b"]}, seed=1)
    drawn = fit(counts, formula=dict.fromkeys(["log_m", "log_gap"], "0 + model"), **QUIET)
    assert not has_log_ratio(predict(drawn)["log_m"])
    options = {"kind": "log_ratio", "var": "log_gap_model", "within": ["response", "criterion"]}
    with pytest.raises(InputError, match="which is a logarithm"):
        contrast(drawn, over="model", **options)
    options["within"].append("model")
    with pytest.raises(InputError, match="which is a logarithm"):
        contrast({"x": drawn, "y": drawn}, over="fit", independent=True, **options)


@pytest.mark.integration
def test_a_population_has_its_conditions_in_the_order_in_which_people_have_them():
    coords = {"subject": [*"12233"], "cond": [*"babab"]}
    counts = simulate_counts([1.5] * 5, m_ratio=0.8, trials=300, coords=coords, seed=1)
    drawn = fit(counts, "group", formula={"log_m": "1 + cond + (1 | subject)"}, **QUIET)
    assert predict(drawn)["cond"].values.tolist() == ["a", "b"]
    for draws, options in ((predict(drawn), {}), (drawn, {"pool": "subject"})):
        pairs = contrast(draws, var="log_m", over="cond", **options)
        assert pairs["pair"].values.tolist() == ["a − b"]
