"""Correlations between people: against a joint model that PyMC samples, and against known ones."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.stats import multivariate_normal

import hmetad
from hmetad import InputError
from hmetad.bayes import group_correlation, rebuild_model
from hmetad.bayes.group_correlations import GRID, correlation_draws, log_ratio

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
PEOPLE, TRIALS, RHO = 12, 1000, 0.6


def correlated(people=PEOPLE, trials=TRIALS, rho=RHO, seed=1, **columns):
    """Counts of people whose d′ and log M have a correlation, and these values."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], people)
    dprime, log_m = 1.5 + 0.4 * z[:, 0], -0.2 + 0.3 * z[:, 1]
    coords = {"subject": [f"s{i}" for i in range(people)], **columns}
    counts = hmetad.simulate_counts(
        dprime, m_ratio=np.exp(log_m), trials=trials, coords=coords, seed=seed
    )
    return counts, log_m


@pytest.fixture(scope="module")
def fitted():
    return hmetad.fit(correlated()[0], "group", draws=1000, chains=4, **QUIET)


def sampled_jointly(fit):
    """Draws of the correlation in the same model with a joint normal, sampled by PyMC."""
    with rebuild_model(fit) as model:
        rho = pm.Deterministic("rho", 2 * pm.Beta("half", 2, 2) - 1)
        u, v = (
            model[f"{name}_1|subject"] / model[f"{name}_1|subject_sigma"]
            for name in ("log_m", "dprime")
        )
        independent = -(u**2 + v**2) / 2
        joint = -(u**2 - 2 * rho * u * v + v**2) / (2 * (1 - rho**2)) - pt.log(1 - rho**2) / 2
        pm.Potential("together", (joint - independent).sum())
        options = {"draws": 1500, "tune": 1000, "chains": 2, "cores": 1, "random_seed": 2}
        return pm.sample(**options, target_accept=0.9, progressbar=False)["posterior"]["rho"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_is_that_of_a_joint_model_that_was_sampled(fitted):
    ours, theirs = group_correlation(fitted), sampled_jointly(fitted)
    # Some 1,300 effective draws there: quantiles are known to some .02.
    assert ours.mean().item() == pytest.approx(theirs.mean().item(), abs=0.04)
    assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.1)
    for p in (0.025, 0.25, 0.75, 0.975):
        assert float(ours.quantile(p)) == pytest.approx(float(theirs.quantile(p)), abs=0.06)


@pytest.mark.integration
def test_draws_are_judged_and_repeated(fitted):
    found = group_correlation(fitted)
    assert found.dims == ("chain", "draw")
    assert found.shape == (4, 1000)
    assert found.attrs["pareto_k"] < 0.7
    assert (abs(found) < 1).all()
    # What a joint model that PyMC sampled said of these counts: .47, SD .27.
    assert found.mean().item() == pytest.approx(0.47, abs=0.05)
    assert found.std().item() == pytest.approx(0.27, abs=0.03)
    judged = hmetad.decide(found, rope=(-0.1, 0.1))
    assert judged.table()["mean"].item() == pytest.approx(found.mean().item())
    np.testing.assert_array_equal(found, group_correlation(fitted))
    other = group_correlation(fitted, seed=5)
    assert other.mean().item() == pytest.approx(found.mean().item(), abs=0.03)
    turned = group_correlation(fitted, "dprime", "log_m")
    assert turned.mean().item() == pytest.approx(found.mean().item(), abs=0.02)


def test_without_any_data_the_prior_comes_back():
    draws, k = correlation_draws(np.zeros((500, len(GRID))), (4, 5000), 2.0, 1)
    # (ρ + 1)/2 is Beta(2, 2), whose variance is 1/20.
    assert draws.mean() == pytest.approx(0, abs=0.02)
    assert draws.var() == pytest.approx(4 / 20, abs=0.01)
    assert not k > 0.7


def test_values_that_are_known_have_the_posterior_of_their_correlation():
    x = np.random.default_rng(3).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 25)
    ours = np.stack([log_ratio(*x.T, r).sum() for r in np.tanh(GRID)])
    draws, _ = correlation_draws(np.tile(ours, (200, 1)), (4, 5000), 1.0, 1)
    fine = np.linspace(-0.99, 0.99, 2001)
    log_l = [multivariate_normal([0, 0], [[1, r], [r, 1]]).logpdf(x).sum() for r in fine]
    weights = np.exp(np.array(log_l) - max(log_l))
    mean, square = (np.average(fine**power, weights=weights) for power in (1, 2))
    assert draws.mean() == pytest.approx(mean, abs=0.01)
    assert draws.std() == pytest.approx(np.sqrt(square - mean**2), abs=0.01)


def test_a_column_of_people_is_correlated_with_their_log_m():
    rng = np.random.default_rng(2)
    log_m = correlated(40, 2000, seed=7)[1]
    age = rng.normal(40, 10, 40)
    score = 20 + 5 * (0.8 * (log_m + 0.2) / 0.3 + 0.6 * rng.normal(size=40)) + 0.5 * age
    counts = correlated(40, 2000, seed=7, score=score, age=age)[0]
    for term, of_others in (("scale(score)", ()), ("scale(score) + scale(age)", (age,))):
        formula = {"log_m": f"1 + {term} + (1|subject)"}
        fit = hmetad.fit(counts, "group", formula=formula, draws=500, chains=2, **QUIET)
        found = group_correlation(fit, "log_m", "score")
        columns = np.stack([np.ones(40), *of_others], axis=1)
        left = [x - columns @ np.linalg.lstsq(columns, x)[0] for x in (log_m, score)]
        truth = np.corrcoef(*left)[0, 1]
        # The prior of the slope pulls it towards 0.
        low, high = np.quantile(found, [0.025, 0.975])
        assert low < truth < high
        assert found.mean().item() == pytest.approx(truth, abs=0.15)


def test_uneven_weights_withhold_verdicts(fitted, monkeypatch):
    monkeypatch.setattr("hmetad.bayes.group_correlations.limit", lambda _: -1.0)
    found = group_correlation(fitted)
    assert "correlation-k" in [one.code for one in hmetad.notices(found)]


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("log_m", "log_m"), {}, "another parameter"),
        (("m_ratio", "dprime"), {}, "first"),
        (("log_m", "log_gap"), {}, "second"),
        (("log_m", "age"), {}, "second"),
        (("log_m", "subject"), {}, "second"),
        (("log_gap", "dprime"), {}, "first"),
        ((), {"by": "task"}, "first"),
        ((), {"eta": 0}, "eta"),
        ((), {"eta": -1}, "eta"),
        ((), {"eta": np.inf}, "eta"),
        ((), {"eta": "2"}, "eta"),
        ((), {"seed": -1}, "seed"),
    ],
)
def test_what_has_no_such_correlation_is_refused(fitted, arguments, options, said):
    with pytest.raises(InputError, match=said):
        group_correlation(fitted, *arguments, **options)


def test_models_whose_cells_stand_alone_have_none():
    counts = correlated(2, 300)[0]
    fit = hmetad.fit(counts, draws=50, chains=2, **QUIET)
    with pytest.raises(InputError, match="first"):
        group_correlation(fit)
