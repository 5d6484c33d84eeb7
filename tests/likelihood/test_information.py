"""Expected information against its definition, outcome by outcome."""

import numpy as np
import pytest
from likelihood.gradients import meta_d as log_likelihood_and_gradient

from hmetad.likelihood.families import meta_d
from hmetad.likelihood.kernels.meta_d import expected_information


def by_definition(trials, p):
    """Σ N P ∂log P ∂log Pᵀ: a table with one trial has ∂log P as its gradient."""
    ratings = p["gaps"].shape[-1] + 1
    probability = np.exp(meta_d.log_joint_probabilities(**p))
    total = 0
    for outcome in np.ndindex(2, 2, ratings):
        one_trial = np.zeros((len(p["d"]), 2, 2, ratings))
        one_trial[(slice(None), *outcome)] = 1
        g = log_likelihood_and_gradient(one_trial, **p)
        parts = (
            g.d[:, None],
            g.c[:, None],
            g.m,
            g.kappa,
            g.gaps.reshape(len(g.d), -1),
            g.s[:, None],
        )
        slope = np.concatenate(parts, axis=1)
        weight = trials[:, outcome[0]] * probability[(slice(None), *outcome)]
        total = total + weight[:, None, None] * slope[:, :, None] * slope[:, None, :]
    return total


@pytest.mark.parametrize("ratings", [2, 4, 11])
def test_information_is_the_expected_square_of_the_score(ratings):
    rng = np.random.default_rng(ratings)
    cells = 6
    p = {
        "d": rng.normal(1, 1, cells),
        "c": rng.normal(0, 1, cells),
        "m": rng.normal(1, 1, (cells, 2)),
        "kappa": rng.normal(0, 1, (cells, 2)),
        "gaps": np.exp(rng.normal(-1, 1, (cells, 2, ratings - 1))),
        "s": np.exp(rng.normal(0, 0.3, cells)),
    }
    trials = rng.integers(1, 300, (cells, 2)).astype(float)
    information = expected_information(trials, **p)
    np.testing.assert_allclose(information, by_definition(trials, p), rtol=1e-8, atol=1e-8)


def test_information_about_dprime_is_the_textbooks():
    """At c = 0, each stimulus gives φ(d/2)² / (4 H (1 - H)) per trial; 1 / it is var d′."""
    one, two = np.ones(1), np.ones((1, 2))
    information = expected_information(100 * two, one, 0 * one, two, 0 * two, two[..., None], one)
    density, hit = 0.3520653267642995, 0.6914624612740131  # φ(.5) and Φ(.5)
    expected = 2 * 100 * density**2 / (4 * hit * (1 - hit))
    assert information[0, 0, 0] == pytest.approx(expected, rel=1e-12)
    assert information[0, 0, 1] == pytest.approx(0, abs=1e-12)
