"""Ideal observers against the paper, formulas, random observers, mpmath and simulation."""

import mpmath
import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy, norm

from hmetad.base.errors import InputError
from hmetad.measures.ideal_observers import (
    binary_entropy,
    information_bounds,
    meta_i_of_dprime,
    noise_information,
    normal_noise_information,
    type1_roc_bounds,
    type2_roc_bounds,
)

# Sums of a few logarithms of numbers near 1.
ROUNDING = 1e-12
PRIORS = st.lists(st.integers(1, 50), min_size=2, max_size=6)
TABLES = arrays(np.int64, (2, 5), elements=st.integers(0, 60))


def bits(p):
    """Entropy of a distribution, in bits."""
    return entropy(p, base=2)


def distribution(weights):
    return np.array(weights) / sum(weights)


# --- information ------------------------------------------------------------------------------


def test_bounds_of_the_papers_example():
    bounds = information_bounds(0.7, 0.5)
    assert bounds["lower"].item() == pytest.approx(0.1187091, abs=5e-8)
    assert bounds["upper"].item() == pytest.approx(0.4, abs=ROUNDING)


def test_four_equal_labels_at_accuracy_point_four():
    bounds = information_bounds(0.4, [0.25] * 4)
    # The best excludes all but two or three labels, with weights .4 and .6.
    assert bounds["upper"].item() == pytest.approx(2 - (0.4 + 0.6 * np.log2(3)), abs=ROUNDING)
    # The worst is right with .4, and gives .2 to each of the others.
    assert bounds["lower"].item() == pytest.approx(2 - bits([0.4, 0.2, 0.2, 0.2]), abs=ROUNDING)


def test_a_rare_label_keeps_its_prior_in_the_worst_case():
    # The paper: priors .32, .32, .32, .04 and accuracy .4 leave .28 to two labels, .04 to the last.
    p = [0.32, 0.32, 0.32, 0.04]
    lower = information_bounds(0.4, p)["lower"].item()
    assert lower == pytest.approx(bits(p) - bits([0.4, 0.28, 0.28, 0.04]), abs=ROUNDING)


@given(st.floats(0.5, 1), st.floats(0, 1))
def test_two_labels_have_the_binary_bounds(prior, share):
    accuracy = prior + share * (1 - prior)
    lower = binary_entropy(prior) - binary_entropy(accuracy)
    upper = binary_entropy(prior) - 2 * (1 - accuracy)
    for given_prior in (prior, 1 - prior, [prior, 1 - prior], [1 - prior, prior]):
        bounds = information_bounds(accuracy, given_prior)
        assert bounds["lower"].item() == pytest.approx(lower, abs=ROUNDING)
        assert bounds["upper"].item() == pytest.approx(upper, abs=ROUNDING)


@given(PRIORS)
def test_always_the_same_label_may_tell_nothing_and_all_right_tells_all(weights):
    p = distribution(weights)
    # Where priors are equal the first of them is below the mean by rounding.
    assert information_bounds(p.max(), p)["lower"].item() == pytest.approx(0, abs=1e-9)
    for bound in information_bounds(1.0, p).data_vars.values():
        assert bound.item() == pytest.approx(bits(p), abs=ROUNDING)


@given(arrays(np.int64, (4, 6), elements=st.integers(0, 30)))
def test_observers_of_four_labels_keep_within_the_bounds(n):
    """Four labels by six responses, each a prediction of the label that is most frequent there."""
    assume(n.sum() > 0)
    joint = n / n.sum()
    p, given_response = joint.sum(axis=1), joint.sum(axis=0)
    info = bits(p) + bits(given_response) - bits(joint.ravel())
    bounds = information_bounds(joint.max(axis=0).sum(), p)
    assert bounds["lower"].item() <= info + 1e-9
    assert info <= bounds["upper"].item() + 1e-9


@given(PRIORS, st.floats(0, 1))
def test_some_observer_is_at_the_lower_bound(weights, share):
    """Reversed water-filling: the best label has acc, the others as much as fits below a level."""
    p = np.sort(distribution(weights))[::-1]
    accuracy = p[0] + share * (1 - p[0])
    level_low, level_high = 0.0, 1.0
    for _ in range(200):
        level = (level_low + level_high) / 2
        is_too_high = np.minimum(p[1:], level).sum() > 1 - accuracy
        level_low, level_high = (level_low, level) if is_too_high else (level, level_high)
    # The rest of each label, p₁ in excess of what is spread over, sits where it is predicted.
    posterior = np.append(accuracy, np.minimum(p[1:], level))
    lower = information_bounds(accuracy, p)["lower"].item()
    assert posterior.sum() == pytest.approx(1, abs=1e-9)
    assert lower == pytest.approx(bits(p) - bits(posterior), abs=1e-6)


def test_labels_of_the_inputs_are_kept():
    accuracy = xr.DataArray([0.7, 0.9, np.nan], coords={"cell": ["A", "B", "C"]})
    prior = xr.DataArray([[0.5, 0.5], [0.6, 0.4]], dims=("task", "label"))
    bounds = information_bounds(accuracy, prior)
    assert bounds["upper"].dims == ("cell", "task")
    assert bounds["upper"].sel(cell="B", task=1).item() == pytest.approx(binary_entropy(0.6) - 0.2)
    assert bounds["lower"].isnull().sum("task").values.tolist() == [0, 0, 2]
    per_cell = information_bounds(accuracy, xr.DataArray([0.5, 0.6, 0.5], dims="cell"))
    assert per_cell["lower"].dims == ("cell",)
    assert information_bounds([[0.7], [0.8]], [0.5, 0.5])["lower"].shape == (2, 1)


@pytest.mark.parametrize(
    ("accuracy", "prior", "message"),
    [
        (0.55, 0.6, r"accuracy: .*Expected from the largest prior, 0.6, to 1.*, got 0.55"),
        (0.7, 1.2, "prior: .*got 1.2"),
        (0.7, [0.5, 0.4], "prior: .*got a sum of 0.9"),
        (0.7, [1.0], "single label"),
        ("high", 0.5, "accuracy: .*got 'high'"),
        ([0.7, 0.8, 0.9], [[0.5, 0.5], [0.6, 0.4]], "shapes"),
    ],
)
def test_impossible_bounds_are_refused(accuracy, prior, message):
    with pytest.raises(InputError, match=message):
        information_bounds(accuracy, prior)


# --- ROC curves -------------------------------------------------------------------------------


def observed_roc(signal, noise):
    """Rates of both above every threshold, by the values of the observation, highest first."""
    return np.cumsum(signal[::-1]), np.cumsum(noise[::-1])


def calibrated_observer(n):
    """Joint probabilities (label, response) of a table with equally probable labels."""
    n = n + 1e-3
    return n / n.sum(axis=1, keepdims=True) / 2


@given(TABLES)
def test_random_observers_keep_within_the_bounds_of_proposition_4(n):
    joint = calibrated_observer(n)
    # Sorted by the signed confidence that the prediction of the more probable label has.
    share = joint[1] / joint.sum(axis=0)
    confidence = np.where(share > 0.5, share, share - 1)
    minus, plus = 2 * joint[:, np.argsort(confidence)]
    tpr, fpr = observed_roc(plus, minus)
    bounds = type1_roc_bounds(np.minimum(fpr, 1), joint.max(axis=0).sum())
    assert (bounds["lower"] <= tpr + 1e-9).all()
    assert (tpr <= bounds["upper"] + 1e-9).all()


@given(TABLES)
def test_random_observers_keep_within_the_bounds_of_proposition_5(n):
    joint = calibrated_observer(n)
    confidence = joint.max(axis=0) / joint.sum(axis=0)
    right, wrong = (part[np.argsort(confidence)] for part in (joint.max(axis=0), joint.min(axis=0)))
    tpr, fpr = observed_roc(right / right.sum(), wrong / wrong.sum())
    bounds = type2_roc_bounds(np.minimum(fpr, 1), right.sum())
    assert (bounds["lower"] <= tpr + 1e-9).all()
    assert (tpr <= bounds["upper"] + 1e-9).all()


def test_who_guesses_or_knows_is_at_the_upper_bounds():
    # Accuracy .7: knows .2 of each label, guesses .6; signed confidence 1, ½ or −½, −1.
    bounds = type1_roc_bounds([0.0, 0.3, 0.6], 0.7)
    np.testing.assert_allclose(bounds["upper"], [0.4, 0.7, 1.0], atol=ROUNDING)
    # Of the right ones 4/7 are known; all the wrong ones are guesses.
    assert type2_roc_bounds(0.0, 0.7)["upper"].item() == pytest.approx(4 / 7, abs=ROUNDING)


@pytest.mark.parametrize("bounds_of", [type1_roc_bounds, type2_roc_bounds])
def test_roc_bounds_meet_at_chance_and_at_the_corner(bounds_of):
    fpr = np.linspace(0, 1, 11)
    chance = bounds_of(fpr, 0.5)
    np.testing.assert_allclose(chance["lower"], fpr, atol=ROUNDING)
    np.testing.assert_allclose(chance["upper"], fpr, atol=ROUNDING)
    corner = bounds_of(1.0, [0.6, 1.0])
    np.testing.assert_allclose(corner["lower"], 1.0, atol=ROUNDING)
    np.testing.assert_allclose(corner["upper"], 1.0, atol=ROUNDING)


def test_roc_bounds_where_all_is_right():
    bounds = type1_roc_bounds([0.0, 0.2], 1.0)
    np.testing.assert_array_equal(bounds["lower"], [0, 1])
    np.testing.assert_array_equal(bounds["upper"], [1, 1])
    assert type2_roc_bounds(0.2, 1.0)["upper"].item() == 1


@pytest.mark.parametrize("bounds_of", [type1_roc_bounds, type2_roc_bounds])
def test_roc_bounds_pass_nan_on_and_refuse_what_is_no_rate(bounds_of):
    bounds = bounds_of([0.2, np.nan, 0.2], [np.nan, 0.7, 0.7])
    assert bounds["lower"].isnull().values.tolist() == [True, True, False]
    assert bounds["upper"].isnull().values.tolist() == [True, True, False]
    with pytest.raises(InputError, match=r"fpr: .*got 1\.5"):
        bounds_of(1.5, 0.7)
    with pytest.raises(InputError, match=r"accuracy: .*got 0\.4"):
        bounds_of(0.5, 0.4)


# --- noise -------------------------------------------------------------------------------------


def uncertainty(p):
    """H₂ of a small probability p, in bits, by mpmath."""
    return -(p * mpmath.log(p) + (1 - p) * mpmath.log1p(-p)) / mpmath.log(2)


def by_mpmath(dprime):
    """Information and surplus of the normal-noise observer to 40 digits."""
    with mpmath.workdps(40):
        d = mpmath.mpf(dprime)

        def integrand(x):
            density = mpmath.npdf(x - d / 2) + mpmath.npdf(x + d / 2)
            return density * uncertainty(1 / (1 + mpmath.exp(d * x)))

        scale = max(1, d / 8)
        left = mpmath.quad(integrand, [mpmath.mpf(k) / scale for k in (0, 1, 2, 4, 8, 12, 20)])
        return float(1 - left), float(uncertainty(mpmath.ncdf(-d / 2)) - left)


@pytest.mark.parametrize("dprime", [1e-4, 0.05, 0.7, 1.99, 2.01, 3.5, 7.4, 9.0, 16.0])
def test_normal_noise_equals_40_digits_of_mpmath(dprime):
    info, meta_i = by_mpmath(dprime)
    observer = normal_noise_information(dprime)
    # The trapezoidal rule leaves rounding errors alone.
    assert observer["info"].item() == pytest.approx(info, rel=1e-13)
    assert observer["meta_i"].item() == pytest.approx(meta_i, rel=1e-13)
    assert meta_i_of_dprime(np.array([dprime, -dprime])) == pytest.approx([meta_i] * 2, rel=1e-10)


def test_interpolation_is_as_good_between_its_knots():
    d = np.random.default_rng(1).uniform(0, 12, 20_000)
    exact = normal_noise_information(d)["meta_i"].values
    np.testing.assert_allclose(meta_i_of_dprime(d), exact, rtol=1e-10)
    near_0 = np.geomspace(1e-7, 0.1, 500)
    exact = normal_noise_information(near_0)["meta_i"].values
    np.testing.assert_allclose(meta_i_of_dprime(near_0), exact, rtol=1e-10)


def test_values_of_figure_2_and_of_table_1():
    at = noise_information(0.7)
    assert at["dprime"].item() == pytest.approx(1.0488010, abs=5e-8)
    assert at["normal"].item() == pytest.approx(0.174948, abs=5e-7)
    assert at["binary"].item() == pytest.approx(0.118709, abs=5e-7)
    assert at["uniform"].item() == pytest.approx(0.4, abs=1e-12)
    meta_i = normal_noise_information(at["dprime"])["meta_i"].item()
    assert meta_i == pytest.approx(0.0562388, abs=5e-8)


def test_binary_and_uniform_noise_are_the_bounds_and_normal_noise_lies_between():
    accuracy = xr.DataArray(np.linspace(0.5, 1, 101), dims="accuracy")
    at, bounds = noise_information(accuracy), information_bounds(accuracy, 0.5)
    np.testing.assert_allclose(at["binary"], bounds["lower"], atol=1e-14)
    np.testing.assert_allclose(at["uniform"], bounds["upper"], atol=1e-14)
    inner = at.isel(accuracy=slice(1, -1))
    assert (inner["binary"] < inner["normal"]).all()
    assert (inner["normal"] < inner["uniform"]).all()
    ends = at["normal"].values[[0, -1]]
    np.testing.assert_allclose(ends, [0, 1], atol=1e-14)


def test_accuracy_information_and_surplus_belong_together():
    observer = normal_noise_information(xr.DataArray([0.3, -1.2, 2.5], dims="cell"))
    np.testing.assert_allclose(observer["accuracy"], norm.cdf([0.15, 0.6, 1.25]), rtol=1e-14)
    least = information_bounds(observer["accuracy"], 0.5)["lower"]
    np.testing.assert_allclose(observer["meta_i"], observer["info"] - least, atol=1e-14)
    assert observer["info"].dims == ("cell",)


def test_no_sensitivity_tells_nothing_and_an_infinite_one_all():
    observer = normal_noise_information([0.0, np.inf, np.nan])
    np.testing.assert_array_equal(observer["accuracy"], [0.5, 1, np.nan])
    np.testing.assert_array_equal(observer["info"], [0, 1, np.nan])
    np.testing.assert_allclose(observer["meta_i"], [0, 0, np.nan], atol=1e-300)


def test_the_sign_of_dprime_is_of_no_account():
    d = np.array([0.4, 3.0, 9.0, 30.0])
    assert normal_noise_information(d).identical(normal_noise_information(-d))
    np.testing.assert_array_equal(meta_i_of_dprime(d), meta_i_of_dprime(-d))


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match=r"dprime: .*got 'large'"):
        normal_noise_information("large")
    with pytest.raises(
        InputError, match=r"accuracy: .*Expected numbers from 0\.5 to 1.*, got 0\.3"
    ):
        noise_information(0.3)
