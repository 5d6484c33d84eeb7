"""Probabilities of options are the softmax of their log-likelihoods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from hmetad.logs.samples import option_lengths, option_probabilities

LOGS = arrays(float, st.tuples(st.integers(0, 3), st.integers(1, 6)), elements=st.floats(-1e3, 10))


@given(LOGS)
def test_it_is_scipys_softmax(logs):
    # Both sum a handful of exponentials: the last bits may differ.
    np.testing.assert_allclose(option_probabilities(logs), softmax(logs, axis=-1), rtol=1e-13)


def test_lengths_divide_before_the_softmax():
    logs, lengths = np.array([-4.0, -9.0]), [2, 9]
    np.testing.assert_allclose(option_probabilities(logs, lengths), softmax([-2.0, -1.0]))


def test_an_option_that_cannot_be_said_has_probability_0():
    np.testing.assert_array_equal(option_probabilities([-np.inf, 0, 0]), [0, 0.5, 0.5])


@pytest.mark.parametrize("logs", [[np.nan, 0], [np.inf, 0], [-np.inf, -np.inf]])
def test_without_a_largest_log_likelihood_all_are_missing(logs):
    assert np.isnan(option_probabilities(logs)).all()


def test_lengths_leave_the_delimiter_out():
    assert option_lengths([" ä", "ä"], "characters").tolist() == [1, 1]
    assert option_lengths([" ä", "  ä"], "bytes").tolist() == [2, 3]
    assert option_lengths(["\nab"], "characters", "\n").tolist() == [2]
