"""A plan of studies of people says what their fits would find, whatever does the work."""

import json
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster
from scipy import stats

from hmetad import InputError, fit
from hmetad.simulate import plan_groups, size_needed
from hmetad.simulate.people import QUESTIONS, judged_draws, population_of, simulate_people
from hmetad.simulate.plan_people import summarise_studies

ROPE = (-0.1, 0.1)
GOOD = {"rhat": 1.0, "ess": 900.0, "divergences": 0.0}
ASK = {"subjects": [20, 40], "trials": [100, 200], "effect": 0.4, "rope": ROPE, "n": 6, "seed": 1}
SMALL = {"subjects": [4], "trials": [60], "rope": ROPE, "n": 2, "seed": 1, "progressbar": False}


class Instant:
    """Client that answers at once with the interval of a normal mean, and remembers the tasks."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, study):
        assert callable(function)
        future = Future()
        self.tasks.append(study)
        key = [study.seed, study.subjects, study.trials, study.number]
        se = 1 / np.sqrt(study.subjects)
        mean = study.population.effect + se * np.random.default_rng(key).normal()
        half = stats.norm.isf((1 - study.level) / 2) * se
        future.set_result({"mean": mean, "lower": mean - half, "upper": mean + half, **GOOD})
        return future


def planned(executor=None, question="difference", **changes):
    return plan_groups(question, **{**ASK, "executor": executor or Instant(), **changes})


def test_dims_attrs_and_long_names():
    plan = planned()
    assert plan["probability"].dims == ("subjects", "trials", "verdict")
    assert plan["coverage"].dims == ("subjects", "trials")
    np.testing.assert_allclose(plan["probability"].sum("verdict"), 1)
    told = {name: plan.attrs[name] for name in ("truth", "truth_value", "judged")}
    judged = "difference in log M between two groups"
    assert told == {"truth": "different", "truth_value": 0.4, "judged": judged}
    assert all(values.attrs["long_name"] for values in plan.values())
    assert json.loads(json.dumps(plan.attrs)) == plan.attrs
    precise = planned(rope=None)
    assert "probability" not in precise
    assert "truth" not in precise.attrs
    assert (precise["half_width"] > 0).all()


def test_results_of_a_size_are_those_of_its_intervals():
    # Verdicts by hand: outside, inside, across an end, and two fits that cannot be relied on.
    bounds = [(0.2, 0.6), (-0.05, 0.05), (0.0, 0.4), (0.2, 0.6), (0.2, 0.6)]
    studies = [{"mean": (a + b) / 2, "lower": a, "upper": b, **GOOD} for a, b in bounds]
    studies[3]["rhat"], studies[4]["divergences"] = 1.02, 1.0
    found = summarise_studies(studies, 0.3, ROPE)
    np.testing.assert_allclose(found["probability"][0], [0.2, 0.2, 0.2, 0.4])
    assert found["unreliable"][0] == 0.4
    assert found["half_width"][0] == pytest.approx(0.2)
    assert found["coverage"][0] == pytest.approx(2 / 3)
    assert found["bias"][0] == pytest.approx(0.2 - 0.3)
    low, high = stats.binomtest(2, 5).proportion_ci(method="wilson")
    assert found["unreliable"][1] == pytest.approx((high - low) / 2 / stats.norm.isf(0.025))
    # Where no fit can be relied on, nothing else is said.
    bad = {"mean": 0.1, "lower": 0.0, "upper": 0.2, **GOOD, "ess": 10.0}
    found = summarise_studies([bad, bad], 0.1, ROPE)
    assert found["unreliable"][0] == 1
    assert np.isnan([found[name][0] for name in ("half_width", "coverage", "bias")]).all()


def test_comparisons_widen_the_intervals_and_other_sizes_change_nothing():
    one, five = planned(), planned(comparisons=5)
    ratio = stats.norm.isf(0.005) / stats.norm.isf(0.025)
    np.testing.assert_allclose(five["half_width"] / one["half_width"], ratio)
    alone = planned(subjects=[40], trials=[200])
    xr.testing.assert_equal(one.sel(subjects=[40], trials=[200]), alone)
    # A plan without a seed says the one it drew.
    plan = planned(seed=None)
    xr.testing.assert_identical(planned(seed=int(plan.attrs["seed"])), plan)


def test_studies_are_simulated_until_errors_are_small_or_time_is_over():
    plan = planned(n=None, subjects=[4, 40], effect=0.3)
    most = np.fmax(plan["probability_se"].max("verdict"), plan["coverage_se"])
    assert (most <= 0.05).all()
    # One round less would not have been enough, and no more than 100 are needed.
    assert ((plan["studies"] % 20 == 0) & (plan["studies"] <= 100)).all()
    assert len({*plan["studies"].values.ravel().tolist()}) > 1
    of_all = planned(n=int(plan["studies"].max()), subjects=[4, 40], effect=0.3)
    complete = (plan["studies"] == plan["studies"].max()).values
    for name in ("probability", "coverage_se"):
        np.testing.assert_array_equal(plan[name].values[complete], of_all[name].values[complete])
    ended = planned(n=None, minutes=1e-9)
    assert (ended["studies"] == 20).all()
    assert ended["probability_se"].max() > 0.05
    assert (ended.attrs["minutes"], ended.attrs["most_error"]) == (1e-9, 0.05)


@pytest.mark.integration
@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_every_question_is_fitted_and_judged(question):
    effect = {} if question == "mean" else {"effect": 0.3}
    plan = plan_groups(question, **{**SMALL, **effect, "n": 2})
    reliable = 2 * (1 - plan["probability"].sel(verdict="unreliable").item())
    assert plan["bias"].notnull().item() == (reliable > 0)
    assert plan["half_width"].notnull().item() == (reliable == 2)
    assert plan.attrs["question"] == question


def test_the_judged_draws_are_those_of_the_labelled_levels():
    population = population_of("tasks", {"effect": 0.3})
    counts = simulate_people(population, "tasks", 4, 60, np.random.default_rng(1))
    quiet = {"draws": 20, "tune": 50, "chains": 2, "progressbar": False, "quiet": True}
    drawn = fit(counts, "multitask", random_seed=1, **quiet)
    posterior = drawn["posterior"].to_dataset()
    level = posterior["log_m_task"].sel
    expected = level(task_dim="a", drop=True) - level(task_dim="b", drop=True)
    np.testing.assert_array_equal(judged_draws("tasks", drawn), expected)
    correlation = posterior["log_m_task|subject_corr"].sel(
        {"task|subject__effect": "a", "task|subject__effect_bis": "b"}
    )
    np.testing.assert_array_equal(judged_draws("correlation", drawn), correlation)


@pytest.mark.integration
def test_the_same_seed_gives_the_same_table_in_threads_too():
    one = plan_groups("mean", **SMALL)
    with ThreadPoolExecutor(2) as pool:
        xr.testing.assert_identical(plan_groups("mean", executor=pool, **SMALL), one)
    other = plan_groups("mean", **{**SMALL, "seed": 2})
    assert not other["bias"].equals(one["bias"])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"subjects": [21]}, "Half of the people are in each group"),
        ({"subjects": [2]}, "at least 4"),
        ({"trials": [1]}, "trials: .*got 1"),
        ({"n": 1}, "n: .*got 1"),
        ({"minutes": 0}, "minutes: .*got 0"),
        ({"effect": None}, "effect: .*got none"),
        ({"ci_prob": 95}, "ci_prob"),
        ({"cores": 2}, "sample_kwargs: .*got 'cores'"),
        ({"executor": 3}, "executor: .*got 3"),
        ({"pilot": xr.Dataset()}, "pilot"),
        ({"seed": -1}, "seed"),
        ({"target_accept": 1.0}, "target_accept"),
        ({"subjects": [10**9]}, "subjects: .*got 1000000000"),
        ({"n": 10**12}, "n: .*got"),
    ],
)
def test_what_cannot_be_planned_is_refused_before_any_work(changes, says):
    client = Instant()
    with pytest.raises(InputError, match=says):
        planned(**{"executor": client, **changes})
    assert client.tasks == []


def a_plan(share, half_width):
    return xr.Dataset(
        {
            "probability": (("subjects", "trials", "verdict"), share),
            "half_width": (("subjects", "trials"), half_width),
        },
        {"subjects": [20, 80], "trials": [100, 400], "verdict": ["different", "negligible"]},
        {"truth": "different"},
    )


def test_people_needed_are_said_for_each_number_of_trials():
    share = [[[0.1, 0], [0.5, 0]], [[0.9, 0], [0.6, 0]]]
    plan = a_plan(share, [[0.4, 0.2], [0.2, 0.1]])
    np.testing.assert_array_equal(size_needed(plan, probability=0.5), [40, 20])
    np.testing.assert_array_equal(size_needed(plan, probability=0.8), [68, np.nan])
    # Half-widths fall with the root of the number: half of it takes four times as many.
    np.testing.assert_array_equal(size_needed(plan, half_width=0.4 / 2**0.5), [40, 20])
    of_trials = plan.isel(subjects=0, drop=True)
    assert size_needed(of_trials, half_width=0.4 / 2**0.5) == 200
    for given, wish, says in (
        (plan, {}, "one of the two"),
        (of_trials.drop_dims("trials"), {"probability": 0.5}, "what plan_trials or plan_groups"),
    ):
        with pytest.raises(InputError, match=says):
            size_needed(given, **wish)


@pytest.mark.integration
def test_a_cluster_gives_the_same_table():
    one = plan_groups("mean", **SMALL)
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0"}
    with LocalCluster(processes=False, **options) as cluster, Client(cluster) as client:
        xr.testing.assert_identical(plan_groups("mean", executor=client, **SMALL), one)


@pytest.mark.integration
def test_with_many_trials_the_half_width_is_that_of_the_t_test():
    people, sd = 20, 0.4
    plan = plan_groups(
        "difference", subjects=[people], trials=[40_000], effect=0.3, between_sd=sd, n=30, seed=1
    )
    # The pooled SD of 18 degrees of freedom has the median √(χ² median / 18).
    pooled = sd * np.sqrt(stats.chi2.median(people - 2) / (people - 2))
    expected = stats.t.isf(0.025, people - 2) * pooled * np.sqrt(4 / people)
    found, error = plan["half_width"].item(), plan["half_width_se"].item()
    # The prior of the SD, half-normal, moves it by a few hundredths; draws by two.
    assert found == pytest.approx(expected, abs=3 * error + 0.05 * expected)
    assert plan["coverage"].item() > 0.95 - 4 * plan["coverage_se"].item()
    assert abs(plan["bias"].item()) < 4 * plan["bias_se"].item()


@pytest.mark.integration
def test_a_pilot_that_was_fitted_gives_a_population_like_its_own():
    population = population_of("difference", {"effect": 0.5, "dprime": 1.8})
    counts = simulate_people(population, "difference", 30, 1000, np.random.default_rng(3))
    quiet = {"draws": 300, "tune": 300, "chains": 2, "progressbar": False, "quiet": True}
    pilot = fit(counts, "group_comparison", random_seed=1, **quiet)
    found = population_of("difference", {}, None, pilot)
    assert found.effect == pytest.approx(0.5, abs=0.35)
    assert found.dprime == pytest.approx(1.8, abs=0.25)
    assert found.between_sd == pytest.approx(0.3, abs=0.2)
    assert len(found.gaps[0]) == 3
    plan = plan_groups("difference", pilot=pilot, executor=Instant(), n=2, seed=1)
    assert plan.attrs["dprime"] == found.dprime
