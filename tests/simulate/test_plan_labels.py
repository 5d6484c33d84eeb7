"""Numbers of labels against printed figures, simulated pools, and two judges of real answers."""

import numpy as np
import pytest
from scipy.stats import norm

from hmetad import InputError
from hmetad.simulate import labels_for_difference, labels_needed


@pytest.mark.parametrize(
    ("r2", "expected"), [(0, 896.340391), (0.466065, 499.452270), (0.5504, 423.907959)]
)
def test_labels_of_a_pool_are_those_of_the_variance_formula(r2, expected):
    """Golden values, computed apart from the package."""
    found = labels_needed(0.03, pass_rate=0.7, r2=r2, pool=10_000)
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_pool_that_is_too_small_is_refused():
    # Of 1,490 outputs 298 with a label give this half-width (NQ301, Kamalloo et al., 2023).
    half = norm.ppf(0.975) * 0.023863
    found = labels_needed(half, pass_rate=0.547651, r2=0.393746, pool=1490)
    assert found == pytest.approx(298, rel=1e-4)
    with pytest.raises(InputError, match=r"pool: .*100 outputs"):
        labels_needed(0.01, r2=0.9, pool=100)


def test_estimates_of_a_pool_with_so_many_labels_have_that_half_width():
    """2,000 pools of which as many are labelled; the post-stratified estimate in plain sums."""
    rng = np.random.default_rng(1)
    pool, hit, false_alarm, pass_rate = 4_000, 0.9, 0.2, 0.6
    q = pass_rate * hit + (1 - pass_rate) * false_alarm
    r2 = (hit - false_alarm) ** 2 * pass_rate * (1 - pass_rate) / (q * (1 - q))
    n = round(labels_needed(0.05, pass_rate=pass_rate, r2=r2, pool=pool))
    found = []
    for _ in range(2_000):
        good = rng.uniform(size=pool) < pass_rate
        passes = rng.uniform(size=pool) < np.where(good, hit, false_alarm)
        known_good, known_passes = good[:n], passes[:n]
        shares = [known_good[known_passes == v].mean() for v in (False, True)]
        found.append(passes.mean() * shares[1] + (1 - passes.mean()) * shares[0])
    # The Monte Carlo error is 1.6 %; the formula is of first order in 1/n.
    assert norm.ppf(0.975) * np.std(found) == pytest.approx(0.05, rel=0.05)


def test_labels_for_two_judges_are_those_of_published_judgements():
    """GPT-4 and davinci-003 on NQ301 (Kamalloo et al., 2023): ±.1 takes 3,226 labelled answers."""
    found = labels_for_difference(
        0.1,
        dprime=[2.07929294, 1.99493827],
        c=[0.07711821, 0.09196067],
        correlation=[0.725576, 0.909862],
        pass_rate=0.547651,
    )
    assert found == pytest.approx(3226, rel=0.001)


@pytest.mark.parametrize(
    "bad",
    [
        {"half_width": 0},
        {"correlation": 1},
        {"correlation": [-0.1, 0.5]},
        {"c": [0, 1, 2]},
        {"pass_rate": 1},
    ],
)
def test_what_no_study_can_have_is_refused_by_name(bad):
    given = {"half_width": 0.1, "dprime": [1, 2]} | bad
    with pytest.raises(InputError, match=next(iter(bad))):
        labels_for_difference(given.pop("half_width"), **given)
