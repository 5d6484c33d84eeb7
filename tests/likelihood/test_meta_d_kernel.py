"""The compiled likelihood against the readable one and against mpmath."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likelihood import mp_reference
from likelihood.gradients import meta_d as log_likelihood_and_gradient

from hmetad.likelihood.families import meta_d
from hmetad.likelihood.ratings import log_likelihood
from hmetad.likelihood.tails import FAR, NARROW

NAMES = ("d", "c", "m", "kappa", "gaps", "s")
STEP = mp.mpf(10) ** -20


def random_cells(rng, cells, ratings, spread):
    """Counts, some of them zero, and parameters that reach |z| of some 12·spread."""
    counts = rng.poisson(5, (cells, 2, 2, ratings)).astype(float)
    counts[rng.random(counts.shape) < 0.2] = 0
    return counts, {
        "d": spread * rng.normal(1, 1, cells),
        "c": spread * rng.normal(0, 1, cells),
        "m": spread * rng.normal(1, 1, (cells, 2)),
        "kappa": spread * rng.normal(0, 1, (cells, 2)),
        "gaps": spread * np.exp(rng.normal(-1, 1, (cells, 2, ratings - 1))),
        "s": np.exp(rng.normal(0, 0.3, cells)),
    }


def mp_gradient(counts, parameters, name, index):
    """Central difference in 60 digits, for one cell's parameter."""
    values = []
    for sign in (1, -1):
        moved = {k: np.array(v, dtype=object) for k, v in parameters.items()}
        moved[name][index] += sign * STEP
        one = {k: v[()] if v.ndim == 0 else v for k, v in moved.items()}
        values.append(mp_reference.log_likelihood(counts, **one))
    return (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("ratings", [2, 4, 11])
@pytest.mark.parametrize("spread", [0.3, 1, 5])
def test_value_is_that_of_the_readable_likelihood(ratings, spread):
    counts, p = random_cells(np.random.default_rng(ratings), 200, ratings, spread)
    log_p = meta_d.log_joint_probabilities(*(p[name] for name in NAMES))
    value = log_likelihood_and_gradient(counts, **p).value
    np.testing.assert_allclose(value, log_likelihood(counts, log_p), rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.1, 1.0, 3.0, 8.0]))
def test_value_and_gradient_agree_with_mpmath(seed, spread):
    counts, p = random_cells(np.random.default_rng(seed), 1, 3, spread)
    result = log_likelihood_and_gradient(counts, **p)
    one = {name: values[0] for name, values in p.items()}
    exact = float(mp_reference.log_likelihood(counts[0], **one))
    assert result.value[0] == pytest.approx(exact, rel=1e-12)
    for name in NAMES:
        gradient = getattr(result, name)[0]
        for index in np.ndindex(np.shape(one[name])):
            expected = float(mp_gradient(counts[0], one, name, index))
            # Terms of either sign add up, each exact to 1e-13 of its size, at most |ℓ|·|z|.
            assert gradient[index] == pytest.approx(expected, rel=1e-9, abs=1e-10 * abs(exact))


@pytest.mark.parametrize("gap", [1e-9, 1e-5, 5e-4, 1.5e-3, 0.1])
@pytest.mark.parametrize("kappa", [-30.0, -3.0, -1e-4, 0.0, 2.0, 30.0])
def test_narrow_intervals_keep_value_and_gradient(gap, kappa):
    counts = np.ones((1, 2, 2, 2))
    p = {
        "d": np.ones(1),
        "c": np.zeros(1),
        "m": np.ones((1, 2)),
        "kappa": np.full((1, 2), kappa),
        "gaps": np.full((1, 2, 1), gap),
        "s": np.ones(1),
    }
    one = {name: values[0] for name, values in p.items()}
    result = log_likelihood_and_gradient(counts, **p)
    exact = float(mp_reference.log_likelihood(counts[0], **one))
    assert result.value[0] == pytest.approx(exact, rel=1e-12)
    for name, index in (("m", (0,)), ("kappa", (1,)), ("gaps", (0, 0)), ("gaps", (1, 0))):
        expected = float(mp_gradient(counts[0], one, name, index))
        assert getattr(result, name)[0][index] == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("log_m", [3.0, 8.0, 14.0, 19.0])
@pytest.mark.parametrize("s", [1.0, 1.3])
def test_shares_keep_their_digits_where_tails_are_too_small_for_any(log_m, s):
    """The log of the tail beyond κ is about -10^16 there, and that of the share in it about -1."""
    ratio, gap = np.exp(log_m), 1e-8 * 2.0 ** np.array([[0, 3], [2, 1]])
    counts = np.array([[[[20.0, 9.0, 5.0], [7.0, 0.0, 1.0]], [[8.0, 4.0, 2.0], [3.0, 1.0, 9.0]]]])
    # Both means lie below κ, so that response S2 is in the tail for both stimuli.
    one = {"d": 0.5, "c": 1.75, "m": [0.5 * ratio] * 2, "kappa": [1.75 * ratio] * 2}
    one |= {"gaps": gap.tolist(), "s": s}
    counts[0, :, 0] = [[0, 0, 30], [0, 0, 14]]
    arrays = {name: np.array([value]) for name, value in one.items()}
    found = log_likelihood_and_gradient(counts, **arrays)
    exact = float(mp_reference.log_likelihood(counts[0], **one))
    assert found.value[0] == pytest.approx(exact, rel=1e-9)
    for name, index in (("kappa", 1), ("m", 1), ("gaps", (1, 0))):
        expected = float(mp_gradient(counts[0], one, name, index))
        assert getattr(found, name)[0][index] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_rating_that_nobody_used_and_a_stimulus_never_shown_are_finite():
    counts, p = random_cells(np.random.default_rng(3), 3, 4, 1)
    counts[0, :, :, 2] = 0
    counts[1, 0] = 0
    counts[2] = 0
    result = log_likelihood_and_gradient(counts, **p)
    assert all(np.isfinite(part).all() for part in result)
    assert result.value[2] == 0
    assert not result.m[2].any()


def test_cells_do_not_touch_each_other():
    counts, p = random_cells(np.random.default_rng(4), 5, 4, 1)
    together = log_likelihood_and_gradient(counts, **p)
    for i in range(5):
        alone = log_likelihood_and_gradient(
            counts[i : i + 1], **{k: v[i : i + 1] for k, v in p.items()}
        )
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[i], part[0])


@pytest.mark.parametrize("edge", [FAR, -FAR])
@pytest.mark.parametrize("gap", [NARROW, 1.0])
def test_the_fast_and_the_exact_way_meet_where_one_takes_over(edge, gap):
    """A step of 1e-9 across the border moves value and gradient by as little as that."""
    results = []
    for step in (-1e-9, 1e-9):
        p = {
            "d": np.ones(1),
            "c": np.zeros(1),
            "m": np.zeros((1, 2)),
            "kappa": np.full((1, 2), edge + step),
            "gaps": np.full((1, 2, 2), gap + step),
            "s": np.ones(1),
        }
        results.append(log_likelihood_and_gradient(np.ones((1, 2, 2, 3)), **p))
    for inside, outside in zip(*results, strict=True):
        np.testing.assert_allclose(inside, outside, rtol=1e-5, atol=1e-6)


def test_cells_of_one_trial_have_its_log_probability_and_the_gradient_of_mpmath():
    """Stimuli and responses without counts are left out of the work, and out of nothing else."""
    _, p = random_cells(np.random.default_rng(3), 32, 4, 1)
    counts = np.zeros((32, 16))
    counts[np.arange(32), np.random.default_rng(4).integers(0, 16, 32)] = 1
    counts = counts.reshape(32, 2, 2, 4)
    found = log_likelihood_and_gradient(counts, **p)
    log_p = meta_d.log_joint_probabilities(*(p[name] for name in NAMES))
    np.testing.assert_allclose(found.value, log_p[counts > 0], rtol=1e-12)
    for cell in (0, 17, 31):
        own = {name: p[name][cell] for name in NAMES}
        for name, index in (("d", ()), ("c", ()), ("m", (0,)), ("gaps", (1, 1)), ("s", ())):
            expected = float(mp_gradient(counts[cell], own, name, index))
            value = getattr(found, name)[(cell, *index)]
            assert value == pytest.approx(expected, rel=1e-10, abs=1e-12)
