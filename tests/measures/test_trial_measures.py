"""Exact measures of trials: against scikit-learn, definitions, and the package's other measures."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from hmetad import InputError, contrast, decide, notices
from hmetad.measures import (
    calibration,
    measure_trials,
    resample_trials,
    resample_trials_interval,
    selective_prediction,
)
from hmetad.report import estimate_table


def answers(n=300, models=("a", "b"), seed=1, decimals=2):
    """Answers of models to the same items, confidence with ties."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    parts = []
    for place, model in enumerate(models):
        signal = 0.8 + 0.4 * place - hard + rng.normal(size=n)
        confidence = 1 / (1 + np.exp(-signal - rng.normal(size=n)))
        correct = signal > 0
        rows = {"model": model, "item": np.arange(n), "correct": correct}
        parts.append(pd.DataFrame({**rows, "confidence": confidence.round(decimals)}))
    return pd.concat(parts, ignore_index=True)


def test_gamma_counts_pairs():
    trials = answers(80, ("a",), decimals=1)
    right = trials.loc[trials["correct"], "confidence"].to_numpy()[:, None]
    wrong = trials.loc[~trials["correct"], "confidence"].to_numpy()
    more, less = (right > wrong).sum(), (right < wrong).sum()
    expected = (more - less) / (more + less)
    assert measure_trials(trials)["gamma_pairs"].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("decimals", [1, 9])
def test_others_are_those_of_the_functions_for_them(decimals):
    trials = answers(decimals=decimals)
    found = measure_trials(trials, by="model", bins=7)
    judged = calibration(trials, by="model", bins=7)
    parts = ("reliability", "resolution", "uncertainty", "residual")
    others = ("mean_confidence", "accuracy", "overconfidence", "trials")
    for name in ("ece", "brier", *parts, *others):
        np.testing.assert_allclose(found[name], judged[name], atol=1e-12)
    curve = selective_prediction(trials, by="model")
    np.testing.assert_allclose(found["aurc"], curve["aurc"], atol=1e-12)


def cells_of_five_confidences(cells, n, seed, gap=0.0):
    """Cells of trials that are right less often by a gap than five confidences say."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.55, 0.65, 0.75, 0.85, 0.95], cells * n)
    right, cell = rng.uniform(size=cells * n) < p - gap, np.repeat(np.arange(cells), n)
    return pd.DataFrame({"confidence": p, "correct": right, "run": cell})


def test_the_debiased_term_has_no_bias_where_confidence_is_calibrated():
    found = measure_trials(cells_of_five_confidences(400, 100, seed=5), by="run", bins=5)
    mended = found["reliability_debiased"]
    error = mended.std().item() / np.sqrt(400)
    assert abs(mended.mean().item()) < 3 * error
    assert found["reliability"].mean().item() > 10 * error


@pytest.mark.parametrize("kind", ["bootstrap", "dirichlet"])
def test_draws_spread_as_errors_say(kind):
    trials = answers()
    found = measure_trials(trials, by="model")
    draws = resample_trials(trials, by="model", n=2000, kind=kind, seed=1)
    np.testing.assert_allclose(draws["auroc2"].std("draw"), found["auroc2_se"], rtol=0.1)
    np.testing.assert_allclose(draws["brier"].mean("draw"), found["brier"], atol=0.003)


def test_models_that_answered_the_same_items_stay_paired():
    trials = answers()
    paired = resample_trials(trials, by="model", cluster="item", n=2000, seed=1)["auroc2"]
    apart = resample_trials(trials, by="model", n=2000, seed=1)["auroc2"]
    assert np.corrcoef(paired)[0, 1] > 0.1
    assert abs(np.corrcoef(apart)[0, 1]) < 0.06


@pytest.mark.integration
def test_intervals_of_repeated_items_hold_the_truth():
    """Each of 40 items is answered ten times; its difficulty is shared."""
    rng = np.random.default_rng(7)
    truth, held = [], {"item": [], None: []}

    def drawn(items, repeats):
        hard = np.repeat(rng.normal(size=items), repeats)
        confidence = rng.normal(size=items * repeats) - 1.5 * hard
        correct = rng.normal(size=items * repeats) - 1.5 * hard > 0
        unit = np.repeat(np.arange(items), repeats)
        return pd.DataFrame({"item": unit, "confidence": confidence, "correct": correct})

    truth = measure_trials(drawn(40_000, 1))["auroc2"].item()
    for seed in range(200):
        trials = drawn(40, 10)
        for cluster, own in held.items():
            draws = resample_trials(trials, cluster=cluster, n=300, seed=seed)["auroc2"]
            low, high = draws.quantile([0.025, 0.975]).values
            own.append(low <= truth <= high)
    assert 0.89 < np.mean(held["item"]) < 0.98
    assert np.mean(held[None]) < 0.85


def test_intervals_are_quantiles_of_the_draws_around_the_estimate():
    trials = answers()
    asked = {"by": "model", "cluster": "item", "n": 400, "seed": 3}
    found = resample_trials_interval(trials, ci_prob=0.9, **asked)
    draws = resample_trials(trials, **asked)
    exact = measure_trials(trials, by="model")
    for name in ("auroc2", "ece", "aurc"):
        np.testing.assert_allclose(found[name].sel(summary="estimate"), exact[name])
        upper = draws[name].quantile(0.95, "draw")
        np.testing.assert_allclose(found[name].sel(summary="upper"), upper)
    table = estimate_table(found)
    assert {"auroc2", "auroc2_lower", "auroc2_upper", "trials"} <= set(table)


def test_where_confidence_is_no_probability_only_its_order_counts():
    trials = answers().assign(confidence=lambda t: np.log(t["confidence"].clip(0.001)))
    found = measure_trials(trials, by="model")
    assert "brier" not in found
    np.testing.assert_allclose(found["auroc2"], measure_trials(answers(), by="model")["auroc2"])


def test_cells_without_errors_are_undefined_and_named():
    trials = answers().assign(correct=lambda t: t["correct"] | (t["model"] == "b"))
    for found in (
        measure_trials(trials, by="model"),
        resample_trials(trials, by="model", n=20, seed=1),
    ):
        assert found["auroc2"].sel(cell="b").isnull().all()
        said = {notice.code: notice.cells for notice in notices(found)}
        assert said["no-errors"] == ("b",)


def test_units_that_are_missing_or_one_are_refused():
    trials = answers(models=("a",))
    with pytest.raises(InputError, match="cluster"):
        resample_trials(trials, cluster="question", n=10)
    with pytest.raises(InputError, match="cluster"):
        resample_trials(trials, cluster="model", n=10)


def test_repeated_items_are_noticed_unless_they_are_drawn_whole():
    trials = answers()
    once = notices(resample_trials(trials, by="model", n=10, seed=1))
    (across,) = [one for one in once if one.code == "repeated-items"]
    assert (across.severity, "300 items in 600 trials" in across.message) == ("info", True)
    several = notices(measure_trials(trials))
    assert [one.severity for one in several if one.code == "repeated-items"] == ["warning"]
    assert "repeated-items" not in [one.code for one in notices(measure_trials(trials, by="model"))]
    whole = notices(resample_trials(trials, by="model", cluster="item", n=10, seed=1))
    assert "repeated-items" not in [one.code for one in whole]


def test_intervals_of_a_cell_without_errors_warn_by_notices_alone():
    trials = answers()
    trials.loc[trials["model"] == "b", "correct"] = True
    found = resample_trials_interval(trials, by="model", cluster="item", n=50, seed=1)
    assert found["auroc2"].sel(cell="b").isnull().all()
    # The limit of Clopper & Pearson, of 300 items that are all right.
    limits = [1, 0.025 ** (1 / 300), 1]
    np.testing.assert_allclose(found["accuracy"].sel(cell="b"), limits, rtol=1e-12)
    draws = resample_trials(trials, by="model", cluster="item", n=50, seed=1)
    ends = np.quantile(draws["auroc2"].sel(cell="a"), [0.025, 0.975])
    np.testing.assert_allclose(found["auroc2"].sel(cell="a")[1:], ends, rtol=1e-12)


def separated(errors, rights):
    """Answers of which confidence tells every error apart."""
    confidence = [*np.linspace(0.1, 0.3, errors), *np.linspace(0.5, 0.9, rights)]
    return pd.DataFrame({"correct": [0] * errors + [1] * rights, "confidence": confidence})


def newcombe_root(errors, rights, estimate=1.0):
    """Lower limit of method 5 of Newcombe (2006), by SciPy on the equation as it is printed."""
    mean = (errors + rights) / 2 - 1

    def distance(theta):
        parts = 1 + mean * (1 - theta) / (2 - theta) + mean * theta / (1 + theta)
        error = np.sqrt(theta * (1 - theta) * parts / (errors * rights))
        return estimate - theta - norm.ppf(0.975) * error

    return brentq(distance, 1e-9, estimate - 1e-9)


@pytest.mark.parametrize(("errors", "rights"), [(5, 60), (20, 100), (1, 30)])
def test_an_area_of_one_has_an_interval(errors, rights):
    trials = separated(errors, rights)
    found = measure_trials(trials).sel(cell="all")
    assert found["auroc2_lower"].item() == pytest.approx(newcombe_root(errors, rights), abs=1e-9)
    assert found["auroc2_upper"].item() == 1
    turned = measure_trials(trials.assign(confidence=1 - trials["confidence"])).sel(cell="all")
    assert turned["auroc2_lower"].item() == 0
    assert turned["auroc2_upper"].item() == pytest.approx(1 - found["auroc2_lower"].item())
    assert "no-spread" in {n.code for n in notices(found)}
    drawn = resample_trials_interval(trials, n=200, seed=1).sel(cell="all")
    ends = [1, found["auroc2_lower"].item(), 1]
    np.testing.assert_allclose(drawn["auroc2"], ends, rtol=1e-12)
    assert drawn["gamma_pairs"].sel(summary="lower").item() < 0.9
    assert "no-spread" in {n.code for n in notices(drawn)}


def test_intervals_of_areas_near_one_hold_what_they_promise():
    # Confidence that is normal, with an area of .97, of ten errors and fifty right answers.
    rng, held = np.random.default_rng(1), 0
    shift = np.sqrt(2) * norm.ppf(0.97)
    cells = np.repeat(np.arange(400), 60)
    correct = np.tile([0] * 10 + [1] * 50, 400)
    confidence = rng.normal(size=len(cells)) + shift * correct
    trials = pd.DataFrame({"person": cells, "correct": correct, "confidence": confidence})
    found = measure_trials(trials, by="person")
    held = ((found["auroc2_lower"] <= 0.97) & (found["auroc2_upper"] >= 0.97)).mean().item()
    # The error of 400 intervals is .011.
    assert held > 0.93


def test_draws_without_spread_are_not_compared():
    trials = pd.concat([separated(20, 60).assign(model="a"), separated(25, 60).assign(model="b")])
    draws = resample_trials(trials, by="model", n=200, seed=1)
    decided = decide(contrast(draws, var="auroc2", over="model"), rope=(-0.02, 0.02))
    assert "no-spread" in str(decided.table()["withheld"].item())
    told = decide(contrast(draws, var="accuracy", over="model"), rope=(-0.5, 0.5))
    assert "no-spread" not in str(told.table()["withheld"].item())


def test_a_single_confidence_can_tell_nothing_and_has_no_verdict():
    rng = np.random.default_rng(1)
    trials = pd.DataFrame({"model": ["one", "two"] * 100, "correct": rng.uniform(size=200) < 0.8})
    trials["confidence"] = np.where(trials["model"] == "one", 0.9, rng.uniform(0.5, 1, 200))
    draws = resample_trials(trials, by="model", n=50, seed=1)
    for found in (measure_trials(trials, by="model"), draws):
        (said,) = [one for one in notices(found["auroc2"]) or notices(found) if "one-c" in one.code]
        assert (said.cells, "one 0.9" in said.message) == (("one",), True)
    judged = {
        name: decide(contrast(draws, var=name, over="model"), rope=(-0.01, 0.01))
        for name in ("auroc2", "accuracy")
    }
    withheld = {name: one.table()["withheld"].item() for name, one in judged.items()}
    assert "one-confidence" in withheld["auroc2"]
    assert "one-confidence" not in withheld["accuracy"]


def test_confidence_that_runs_backward_is_said():
    rng = np.random.default_rng(3)
    confidence = rng.uniform(size=900)
    correct = rng.uniform(size=900) < np.repeat([0.7, 0.7, 0.7], 300)
    # Of the second model it is lower for right answers, of the third it tells nothing.
    confidence[300:600] -= 0.2 * correct[300:600]
    confidence[:300] += 0.2 * correct[:300]
    trials = pd.DataFrame({"model": np.repeat([*"abc"], 300), "correct": correct})
    found = measure_trials(trials.assign(confidence=confidence), by="model")
    (backward,) = [one for one in notices(found) if one.code == "confidence-backward"]
    assert backward.cells == ("b",)
