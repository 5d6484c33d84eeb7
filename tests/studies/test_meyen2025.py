"""The example and the simulations of relative metainformation are those of the paper."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from hmetad.measures import ideal_observers
from hmetad.studies import meyen2025


@pytest.fixture(scope="module")
def study():
    return meyen2025.analyse(seed=1)


@pytest.mark.integration
def test_everything_printed_comes_out_but_for_two_known_differences(check_differences):
    check_differences(46)


def test_probabilities_of_normal_noise_are_those_of_calibrated_confidence():
    accuracy, d = 0.8, 2 * norm.ppf(0.8)

    def share(is_right, is_high):
        def density(x):
            confidence = 1 / (1 + np.exp(-d * abs(x)))
            here = (x > 0) == is_right and (confidence >= 0.75) == is_high
            return norm.pdf(x, d / 2) * here

        cut = np.log(3) / d
        return quad(density, -10, 10, points=[-cut, 0, cut], limit=200)[0]

    expected = [share(True, False), share(True, True), share(False, False), share(False, True)]
    found = meyen2025.response_probabilities("normal", accuracy)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("noise", meyen2025.NOISES)
@pytest.mark.parametrize("accuracy", meyen2025.ACCURACIES)
def test_observers_have_their_accuracy_and_uniform_and_binary_noise_their_rmi(
    study, noise, accuracy
):
    p = meyen2025.response_probabilities(noise, accuracy)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p[:2].sum() == pytest.approx(accuracy, abs=1e-12)
    expected = study.expected["rmi"].sel(noise=noise, accuracy=accuracy).item()
    if noise == "normal":
        assert 0.01 < expected < 0.4
    else:
        assert expected == pytest.approx({"uniform": 1.0, "binary": 0.0}[noise], abs=1e-6)


def test_reducing_the_bias_brings_extreme_observers_nearer_to_theory(study):
    means = study.estimates["rmi"].mean("data_set")
    error = abs(means - study.expected["rmi"]).sel(noise=["uniform", "binary"])
    assert bool((error.sel(reduction="bias reduced") < error.sel(reduction="plug-in")).all())


def test_tables_hold_the_trials_and_their_conditions():
    counts = meyen2025.simulated_counts(np.random.default_rng(1))
    per_label = counts.sum(["response", "rating"])
    assert bool((per_label == meyen2025.TRIALS).all())
    right = sum(counts.sel(stimulus=s, response=s) for s in ("S1", "S2")).sum("rating") / 400
    by_condition = right.groupby(["noise", "true_accuracy"]).mean()
    for accuracy in meyen2025.ACCURACIES:
        # 200 data sets of 400 trials: 5 errors of a mean over 80,000 trials.
        found = by_condition.sel(true_accuracy=accuracy)
        np.testing.assert_allclose(found, accuracy, atol=5 * 0.5 / np.sqrt(80_000))


def test_random_classifiers_touch_no_bound_but_a_wrong_bound_would_be_seen(study):
    assert float(study.outside.max().to_array().max()) < 1e-12
    bounds = ideal_observers.type2_roc_bounds(np.array([[0.2]]), np.array([[0.7]]))
    assert meyen2025.distance_outside(bounds, np.array([[0.99]])).item() > 0.3


def test_larger_groups_are_better_and_within_their_bounds(study):
    accuracy = study.groups["accuracy"]
    assert bool((accuracy.diff("size") > -1e-12).all())
    assert bool((accuracy <= study.groups["upper"] + 1e-12).all())
    assert bool((accuracy >= study.groups["lower"] - 1e-12).all())


def test_the_report_has_the_figures_and_the_ranges(shown):
    page = shown[1].markdown()
    assert page.count("**Figure") == 6
    assert "Largest less smallest mean" in page
    assert "1.8 is the quotient" in page
