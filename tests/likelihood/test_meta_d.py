"""The readable likelihood against printed values and against mpmath."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likelihood import mp_reference
from scipy.special import gammaln

from hmetad.base.errors import InputError
from hmetad.likelihood.families.meta_d import (
    log_conditional_probabilities,
    log_joint_probabilities,
    log_response_probabilities,
    meta_criterion_value,
)
from hmetad.likelihood.ratings import (
    log_interval_area,
    log_likelihood,
)

# Response S1 with rating 1..4, then S2 with rating 1..4.
COUNTS_A = np.array([[[37, 35, 32, 52], [26, 12, 4, 2]], [[22, 15, 5, 2], [33, 38, 40, 45]]])
GAPS_A = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.6]])


def multinomial_constant(counts):
    """log of the multinomial coefficients over the last axis."""
    return float(np.sum(gammaln(counts.sum(-1) + 1)) - np.sum(gammaln(counts + 1)))


def test_joint_probabilities_are_those_of_the_printed_example():
    gaps = np.full((2, 2), 0.5)
    p = np.exp(log_joint_probabilities(2.0, 0.5, 1.0, 0.5, gaps))
    expected = [
        [[0.166244657, 0.212364065, 0.554584077], [0.038675753, 0.018551730, 0.009579718]],
        [[0.118146713, 0.092488622, 0.097902203], [0.264778209, 0.207275947, 0.219408305]],
    ]
    np.testing.assert_allclose(p, expected, atol=6e-10)


def test_log_likelihood_with_coefficients_is_conditional_plus_binomial():
    conditional = log_conditional_probabilities(1.2, 0.1, GAPS_A)
    binomial = log_response_probabilities(1.5, 0.1)
    by_response = COUNTS_A.sum(-1)
    type2 = log_likelihood(COUNTS_A, conditional) + multinomial_constant(COUNTS_A)
    type1 = float(np.sum(by_response * binomial)) + multinomial_constant(by_response)
    np.testing.assert_allclose(type2, -32.009490803, atol=1e-8)
    np.testing.assert_allclose(type1, -6.458489368, atol=1e-8)


@pytest.mark.parametrize(
    ("rule", "printed"), [("absolute", -38.467980171), ("relative", -38.189286067)]
)
def test_both_rules_for_kappa_give_the_printed_log_likelihood(rule, printed):
    kappa = meta_criterion_value(0.1, 0.8, rule)
    joint = log_likelihood(COUNTS_A, log_joint_probabilities(1.5, 0.1, 1.2, kappa, GAPS_A))
    constants = multinomial_constant(COUNTS_A) + multinomial_constant(COUNTS_A.sum(-1))
    np.testing.assert_allclose(joint + constants, printed, atol=1e-8)
    assert meta_criterion_value(0.0, 0.7, rule) == 0
    with pytest.raises(InputError, match="'relative' or 'absolute'"):
        meta_criterion_value(0.1, 0.8, rule[:-1])


@pytest.mark.parametrize("lower", [-36.0, -20.0, -5.0, -0.5, -1e-9, 0.0, 0.3, 6.0, 20.0, 35.0])
@pytest.mark.parametrize("width", [1e-12, 1e-6, 9e-4, 2e-3, 0.1, 1.0, 8.0, 40.0])
def test_log_interval_area_agrees_with_mpmath(lower, width):
    exact = mp.log(mp_reference.area(mp.mpf(lower), mp.mpf(lower) + mp.mpf(width)))
    # log_ndtr carries a relative error of some 1e-16 of |log area| ≤ 640, and the difference
    # of two tails a millionfold more at the narrowest width that takes that path.
    assert float(log_interval_area(lower, width)) == pytest.approx(float(exact), abs=1e-9)


@settings(max_examples=40)
@given(
    d=st.floats(-20, 20),
    c=st.floats(-20, 20),
    m=st.lists(st.floats(-20, 20), min_size=2, max_size=2),
    kappa=st.lists(st.floats(-20, 20), min_size=2, max_size=2),
    s=st.floats(0.5, 1.5),
    gaps=st.lists(st.floats(1e-3, 3), min_size=4, max_size=4),
)
def test_log_likelihood_agrees_with_mpmath_in_the_tails(d, c, m, kappa, s, gaps):
    counts = np.arange(1, 13).reshape(2, 2, 3)
    gaps = np.reshape(gaps, (2, 2))
    ours = log_likelihood(counts, log_joint_probabilities(d, c, np.array(m), kappa, gaps, s))
    exact = float(mp_reference.log_likelihood(counts, d, c, m, kappa, gaps, s))
    assert float(ours) == pytest.approx(exact, rel=1e-9)


def test_impossible_outcomes_that_never_happened_contribute_nothing():
    log_p = np.log([[[0.5, 0.5], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]])
    log_p[0, 0, 1] = -np.inf
    counts = np.zeros((2, 2, 2))
    counts[0, 0, 0] = 3
    assert float(log_likelihood(counts, log_p)) == pytest.approx(3 * np.log(0.5))


def test_cells_broadcast():
    d, c, m = np.array([1.0, 2.0]), np.array([0.0, 0.3]), np.array([0.8, 1.5])
    gaps = np.full((2, 2, 3), 0.4)
    both = log_joint_probabilities(d, c, m[:, None], c[:, None], gaps)
    shared = log_joint_probabilities(d, c, m[:, None], c[:, None], gaps[0])
    np.testing.assert_array_equal(both, shared)
    for i in range(2):
        one = log_joint_probabilities(d[i], c[i], m[i], c[i], gaps[i])
        np.testing.assert_array_equal(both[i], one)


def test_the_last_dim_of_meta_parameters_is_the_response():
    gaps = np.full((2, 3), 0.4)
    own = log_conditional_probabilities(np.array([0.8, 1.5]), 0.1, gaps)
    for response, m in enumerate((0.8, 1.5)):
        shared = log_conditional_probabilities(m, 0.1, gaps)
        np.testing.assert_array_equal(own[:, response], shared[:, response])
