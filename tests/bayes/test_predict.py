"""Predictions: of the cells of a fit, of its conditions, and of a population."""

import numpy as np
import pytest
import xarray as xr

from hmetad.bayes.fit import fit
from hmetad.bayes.predict import predict
from hmetad.compare.contrasts import contrast
from hmetad.errors import InputError
from hmetad.simulate.simulate import simulate_counts

pytestmark = pytest.mark.integration

SUBJECTS = [str(i) for i in range(6) for _ in range(2)]
TASKS = ["memory", "vision"] * 6
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 200, "chains": 2}


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


def test_cells_with_their_groups_are_those_of_the_posterior(draws):
    """The formulas, evaluated in NumPy, give what the model computed while sampling."""
    posterior = draws["posterior"].to_dataset()
    cells = {name: posterior[name].values for name in ("subject", "task", "age")}
    again = predict(draws, cells, group_terms=True)
    for name in ("dprime", "c", "log_m", "m_ratio", "meta_d", "meta_c", "criteria"):
        np.testing.assert_allclose(again[name].values, posterior[name].values, rtol=1e-10)
    assert again["task"].values.tolist() == TASKS


def test_the_population_is_the_common_part(draws):
    posterior = draws["posterior"].to_dataset()
    new = predict(draws, {"task": ["vision"], "age": [45.0]})
    expected = posterior["log_m_Intercept"] + posterior["log_m_task"].sel(task_dim="vision")
    np.testing.assert_allclose(new["log_m"].isel(cell=0), expected)  # 45 is the mean age.
    xr.testing.assert_allclose(new["m_ratio"], np.exp(new["log_m"]))


def test_by_default_every_condition_is_predicted_once(draws):
    conditions = predict(draws)
    assert conditions.sizes["cell"] == 12
    assert set(conditions.coords) >= {"task", "age", "cell"}
    effect = contrast(conditions, var="log_m", over="task", within="age")
    coefficient = draws["posterior"]["log_m_task"].squeeze("task_dim", drop=True)
    for pair in range(effect.sizes["pair"]):
        assert abs(effect.isel(pair=pair) + coefficient).max() < 1e-9


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


def test_a_factor_is_not_taken_for_one_whose_name_ends_alike():
    coords = {"subject": ["1", "1", "2", "2"], "lab": ["a", "b", "a", "b"]}
    counts = simulate_counts([1.0, 1.4, 1.8, 1.6], trials=600, coords=coords, seed=1)
    formula = {"log_m": "1 + (1|lab:subject) + (1|subject)"}
    few = {**QUIET, "draws": 20, "tune": 50}
    posterior = fit(counts, formula=formula, **few)
    again = predict(posterior, coords, group_terms=True)["log_m"]
    np.testing.assert_allclose(again.values, posterior["posterior"]["log_m"].values, rtol=1e-10)


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        ({"task": "vision", "age": 40.0}, {}, "as many values of each column"),
        ({"task": ["vision"], "age": [40.0, 50.0]}, {}, "as many values of each column"),
        ({"task": ["hearing"], "age": [40.0]}, {}, r"levels \(hearing\)"),
        ({"task": ["vision"]}, {}, "a column for each of age too"),
        (["0 | memori | 20"], {}, "Did you mean"),
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
