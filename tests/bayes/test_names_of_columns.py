"""A column named like a variable of a result is refused: no result loses a variable to it."""

import numpy as np
import pytest

import hmetad
from hmetad import InputError

SHORT = {"draws": 10, "tune": 20, "chains": 1, "random_seed": 1, "progressbar": False}
SHORT |= {"quiet": True}
TAKEN = "Expected a name that no result has"


def named(name):
    """Cells of four people with a covariate of this name."""
    return hmetad.simulate_counts(
        [1.0, 1.5, 2.0, 1.2],
        coords={"subject": ["a", "b", "c", "d"]},
        covariates={name: [31.0, 24.0, 58.0, 40.0]},
        trials=200,
        seed=1,
    )


@pytest.mark.parametrize("name", ["c", "log_m_Intercept", "dprime_1|subject_sigma"])
def test_a_fit_keeps_its_variables(name):
    with pytest.raises(InputError, match=TAKEN):
        hmetad.fit(named(name), "group", **SHORT)


def test_a_grouping_column_is_refused_as_a_covariate_is():
    trials = hmetad.simulate_trials([1.0, 1.5], coords={"c": ["a", "b"]}, trials=100, seed=1)
    counts = hmetad.count_trials(trials, by="c")
    for call in (
        lambda: hmetad.fit(counts, **SHORT),
        lambda: hmetad.fit_mle(counts),
        lambda: hmetad.measure(counts),
        lambda: hmetad.resample(counts, hmetad.sdt, n=2, seed=1),
    ):
        with pytest.raises(InputError, match=f"by: .*my_c.*{TAKEN}"):
            call()


@pytest.mark.parametrize("name", ["log_gap", "pareto_k", "diverging"])
def test_a_fit_of_cells_keeps_their_variables_and_statistics(name):
    with pytest.raises(InputError, match=TAKEN):
        hmetad.fit(named(name), **SHORT)


@pytest.mark.parametrize(
    ("card", "name"),
    [("individual", "energy"), ("group", "step_size"), ("group", "divergences_within")],
)
def test_chains_keep_theirs(card, name):
    with pytest.raises(InputError, match=TAKEN):
        hmetad.fit(named(name), card, method="nuts", **SHORT)


def test_a_fit_of_estimates_keeps_its_variables():
    name = "covariance"
    with pytest.raises(InputError, match=TAKEN):
        hmetad.bayes.fit_estimates(hmetad.fit_mle(named(name)), "log_m ~ 1", seed=1, draws=50)


@pytest.mark.parametrize("name", ["pareto_k", "divergences"])
def test_columns_of_a_group_may_be_called_like_statistics_of_cells_alone(name):
    fit = hmetad.fit(named(name), "group", **SHORT)
    np.testing.assert_array_equal(fit["posterior"][name], [31.0, 24.0, 58.0, 40.0])
    assert "one-chain" in {one.code for one in hmetad.notices(fit)}
