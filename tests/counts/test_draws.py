"""Tables that are drawn have the moments and the margins that their laws say."""

import numpy as np
from scipy import stats

from hmetad.counts.resample import cell_generator, draw_tables


def table(**sizes):
    shape = sizes["stimulus"], sizes["response"], sizes["rating"]
    return np.arange(1, 1 + np.prod(shape)).reshape(shape)


def test_bootstrap_draws_have_multinomial_moments():
    values = table(stimulus=2, response=2, rating=3)
    drawn = draw_tables(values, 40_000, cell_generator(3, 0))
    total, p = values.sum(), values / values.sum()
    # 4 standard errors of a mean, and 5 % of a variance: three and more of its errors.
    assert np.all(abs(drawn.mean(0) - values) < 4 * np.sqrt(total * p * (1 - p) / 40_000))
    np.testing.assert_allclose(drawn.var(0), total * p * (1 - p), rtol=0.05)
    assert np.all(drawn.sum((1, 2, 3)) == total)


def test_held_stimuli_keep_their_trials():
    values = table(stimulus=2, response=2, rating=3)
    drawn = draw_tables(values, 50, cell_generator(3, 0), hold="stimulus")
    np.testing.assert_array_equal(drawn.sum((2, 3)), np.tile(values.sum((1, 2)), (50, 1)))


def test_dirichlet_draws_have_the_moments_of_the_posterior():
    values = np.array([[3, 0, 7], [20, 4, 66]])
    drawn = draw_tables(values, 40_000, cell_generator(5, 0), kind="dirichlet") / 100
    law = stats.dirichlet(values[values > 0])
    np.testing.assert_allclose(drawn.mean(0)[values > 0], law.mean(), rtol=0.02)
    np.testing.assert_allclose(drawn.var(0)[values > 0], law.var(), rtol=0.06)
    assert np.all(drawn[:, 0, 1] == 0)


def test_permutations_keep_what_each_response_did():
    values = table(stimulus=2, response=2, rating=3)
    drawn = draw_tables(values, 500, cell_generator(3, 0), kind="permutation")
    assert np.all(drawn.sum(-1) == values.sum(-1))
    assert np.all(drawn.sum(1) == values.sum(0))
    # Mean of a hypergeometric law, within 5 of its standard errors.
    mean = values.sum(-1, keepdims=True) * values.sum(0) / values.sum((0, 2))[:, None]
    assert np.all(abs(drawn.mean(0) - mean) < 5 * np.sqrt(mean / 500))


def test_permutations_of_a_type2_table_keep_its_margins():
    values = np.array([[3, 2, 7], [20, 4, 66]])
    drawn = draw_tables(values, 20, cell_generator(3, 0), kind="permutation")
    assert np.all(drawn.sum(2) == values.sum(1))
    assert np.all(drawn.sum(1) == values.sum(0))
