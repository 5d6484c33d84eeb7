"""Whole groups are left out: their effects are integrated, and the population predicts them."""

import numpy as np
import pytest
from scipy.special import logsumexp

import hmetad
from hmetad import InputError, load_model, loo
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.loo import group_log_likelihood
from hmetad.likelihood.tape import compiled_outcomes

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


def people(number, trials, **coords):
    rng = np.random.default_rng(4)
    subject = [f"s{i}" for i in range(number)]
    return hmetad.simulate_counts(
        rng.normal(1.4, 0.4, number), rng.normal(0, 0.3, number), likelihood="signal-detection",
        gaps=np.exp(rng.normal(-0.6, 0.3, (number, 2, 1))), trials=trials,
        coords={"subject": subject, **coords}, seed=5,
    )  # fmt: skip


def choosing_people():
    rng = np.random.default_rng(4)
    return hmetad.simulate_counts(
        rng.normal(1.6, 0.4, 8), m_ratio=np.exp(rng.normal(-0.2, 0.3, 8)),
        likelihood="alternatives", ratings=3, options=4, trials=40,
        coords={"subject": [f"s{i}" for i in range(8)]}, seed=5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return hmetad.fit(people(12, 30), "sdt_group", draws=1000, chains=2, **QUIET)


def by_simulation(fit, counts, draws, points=40_000):
    """Mean likelihood of people with such counts, drawn from the population."""
    posterior = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    spec, rng = load_model(fit.attrs["model"]), np.random.default_rng(1)
    given = {"options": counts["options"].values} if "options" in counts.coords else {}
    found = []
    for k in draws:
        values = dict(given)
        for name in spec.formula:
            mean = posterior[f"{name}_Intercept"].isel(sample=k).values
            sd = posterior[f"{name}_1|subject_sigma"].isel(sample=k).values
            values[name] = mean + sd * rng.normal(size=(points, *mean.shape))
        if given:
            # The readable way takes 100 times as long.
            log_p = compiled_outcomes(spec.record, values, counts.sizes["rating"])
        else:
            log_p = spec.record.outcomes(values)
        log_l = (counts.values * log_p).sum(tuple(range(1, log_p.ndim)))
        found.append(logsumexp(log_l) - np.log(points))
    return np.array(found)


def test_effects_are_integrated_as_by_drawing_people(fitted):
    ours = group_log_likelihood(Fitted.of(fitted), "subject")
    values = ours.stack(sample=("chain", "draw"))
    # Every second draw is looked at.
    draws = np.array([4, 500, 1200, 1990])
    for place in (0, 5, 11):
        theirs = by_simulation(fitted, fitted["observed_data"]["counts"][place], draws)
        # Errors: about .02 of 40,000 people, .1 of ours, of 60 points.
        ours_there = values.isel(subject=place, sample=draws // 2)
        np.testing.assert_allclose(ours_there, theirs, atol=0.3)


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.parametrize(
    ("card", "made"),
    [("sdt_group", lambda: people(12, 30)), ("alternatives_group", choosing_people)],
)
def test_a_group_left_out_is_predicted_as_by_a_fit_without_it(card, made):
    counts = made()
    found = loo(hmetad.fit(counts, card, draws=1000, chains=2, **QUIET), by="subject")
    number = counts.sizes["cell"]
    assert found.n_data_points == number
    assert found.elpd == pytest.approx(float(found.elpd_i.sum()))
    for place in (2, 7):
        others = counts.isel(cell=np.arange(number) != place)
        refit = hmetad.fit(others, card, draws=1000, chains=2, **QUIET)
        draws = np.linspace(0, 1999, 250).astype(int)
        log_p = by_simulation(refit, counts[place], draws, points=8_000)
        theirs = logsumexp(log_p) - np.log(len(draws))
        assert float(found.elpd_i[place]) == pytest.approx(theirs, abs=0.15)


@pytest.mark.parametrize(
    ("card", "tasks", "by", "said"),
    [
        ("group", {}, "task", "subject"),
        ("hmetad_group", {}, "subject", "group"),
        # Groups that cut across all effects.
        ("group", {"task": [*"xyxy"]}, "task", r"Expected subject.*without effects of their own"),
    ],
)
def test_what_cannot_be_left_out_is_refused(card, tasks, by, said):
    people = {"subject": [*"aabb"] if tasks else [*"abcd"], **tasks}
    counts = hmetad.simulate_counts(np.full(4, 1.5), coords=people, seed=1)
    fit = hmetad.fit(counts, card, draws=50, tune=50, chains=2, **QUIET)
    with pytest.raises(InputError, match=said):
        loo(fit, by=by)
