"""Families whose outcomes have another layout than two stimuli, two responses and ratings."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad.base.errors import InputError
from hmetad.likelihood import Family, OutcomeLayout, Parameter, Quantity, register
from hmetad.likelihood.family import TWO_ALTERNATIVES
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.registry import REGISTERED

OPTIONS = ("A", "B", "C")
LAYOUT = OutcomeLayout({"stimulus": OPTIONS, "response": OPTIONS, "rating": ()})
SENSITIVITY, LOG_M = np.array([1.2, 1.6]), np.array([0.0, -0.3])


def log_probabilities(d, log_m, log_gap, xp):
    """Choices by softmax of a lead d, and ratings by criteria of a logistic lead M·d."""
    leads = xp.cumulative_sum(xp.exp(log_gap), axis=-1)
    rows = []
    for stimulus in range(3):
        own = []
        for response in range(3):
            is_right = float(stimulus == response)
            choice = is_right * d - xp.log(xp.exp(d) + 2)
            shift = ((is_right - 0.5) * xp.exp(log_m) * d)[..., None]
            share = (1 + xp.exp(-shift)) / (1 + xp.exp(leads - shift))
            share = xp.concat([xp.ones_like(share[..., :1]), share], axis=-1)
            parts = xp.concat([share[..., :-1] - share[..., 1:], share[..., -1:]], axis=-1)
            own.append(choice[..., None] + xp.log(parts))
        rows.append(xp.stack(own, axis=-2))
    return xp.stack(rows, axis=-3)


THREE_OPTIONS = Family(
    name="three-options",
    title="Three options.",
    parameters=(
        Parameter("lead", "lead of the right option", Prior("Normal", mu=1, sigma=1)),
        Parameter("log_m", "log M", Prior("Normal", mu=0, sigma=1)),
        Parameter(
            "log_gap",
            "log distance between criteria",
            Prior("Normal", mu=-0.7, sigma=1),
            dims=("criterion",),
        ),
    ),
    quantities=(
        Quantity("lead", "lead of the right option", parameter="lead"),
        Quantity("log_m", "log M", parameter="log_m"),
        Quantity("log_gap", "log distance between criteria", dims=("criterion",)),
    ),
    arguments=("lead", "log_m", "log_gap"),
    log_probabilities=log_probabilities,
    parameter_of_interest="log_m",
    symbol="M",
    plotted="log_m",
    compared="log_m",
    tabulated=("lead", "log_m"),
    layout=LAYOUT,
)


@pytest.fixture
def family():
    """A family of three options, forgotten afterwards."""
    yield register(THREE_OPTIONS)
    REGISTERED.pop("three-options")


@pytest.fixture
def counts(family):
    """Expected counts of two cells, as a table made by hand."""
    values = {"lead": SENSITIVITY, "log_m": LOG_M, "log_gap": np.full((2, 3), -0.7)}
    p = np.exp(family.outcomes(values))
    labels = {"cell": ["a", "b"], **family.layout.labels(4)}
    table = np.round(20_000 * p).astype(int)
    return xr.DataArray(table, labels, ("cell", *family.layout.dims), "counts")


def test_a_layout_names_its_dims_and_their_sizes():
    assert LAYOUT.shape(4) == (3, 3, 4)
    assert LAYOUT.answers == ("response", "rating")
    assert LAYOUT.labels(2) == {"stimulus": [*OPTIONS], "response": [*OPTIONS], "rating": [1, 2]}
    assert TWO_ALTERNATIVES.sizes(4) == {
        "stimulus": 2, "response": 2, "rating": 4, "criterion": 3, "criterion_gap": 2
    }  # fmt: skip


def test_probabilities_are_checked_against_the_layout():
    wrong = replace(THREE_OPTIONS, name="mine", layout=TWO_ALTERNATIVES)
    with pytest.raises(InputError, match=r" shape \(5, 2, 2, 4\).*got shape \(5, 3, 3, 4\) "):
        register(wrong)


def test_tables_are_simulated_with_the_labels_of_the_layout(family):
    table = hmetad.simulate_counts(
        likelihood=family.name, lead=SENSITIVITY, log_m=0.0, log_gap=-0.7, trials=301, seed=1,
        coords={"task": ["x", "y"]},
    )  # fmt: skip
    assert table.sizes == {"cell": 2, "stimulus": 3, "response": 3, "rating": 4}
    assert table["stimulus"].values.tolist() == [*OPTIONS]
    assert table["task"].values.tolist() == table["cell"].values.tolist() == ["x", "y"]
    assert table.sum(["response", "rating"]).values.tolist() == [[101, 100, 100]] * 2


def test_expected_counts_have_the_truth_as_their_maximum(family, counts):
    found = hmetad.fit_mle(counts, hmetad.ModelSpec("three", likelihood=family.name))
    assert found["converged"].all()
    # Counts are rounded: one of 20,000 trials.
    np.testing.assert_allclose(found["lead"], SENSITIVITY, atol=1e-3)
    np.testing.assert_allclose(found["log_m"], LOG_M, atol=5e-3)


@pytest.mark.integration
def test_such_a_family_is_fitted_saved_and_predicted(family, counts, tmp_path):
    model = hmetad.ModelSpec("three", likelihood=family.name)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    hmetad.save_fit(
        hmetad.fit(counts, model, draws=200, tune=200, chains=2, **quiet), tmp_path / "fit.nc"
    )
    fit = hmetad.load_fit(tmp_path / "fit.nc")
    middle = fit["posterior"]["log_m"].mean(["chain", "draw"])
    # 60,000 trials: log M is known to some 0.03.
    np.testing.assert_allclose(middle, LOG_M, atol=0.1)
    assert hmetad.loo(fit).n_data_points == counts.sum()
