"""A choice among m options against quadrature, published identities, and the model of two options.

Golden values are of mpmath and SciPy's quadrature, computed apart from the package.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from likelihood import mp_reference
from scipy.integrate import quad

from hmetad.likelihood import load_likelihood
from hmetad.likelihood.families.alternatives import (
    contrasts,
    log_biased_probabilities,
    log_gumbel_probabilities,
    log_margin_areas,
    log_probabilities,
)
from hmetad.likelihood.kernels import alternatives, biased_alternatives
from hmetad.likelihood.tape import add_value_and_gradient, tape_of

R2 = math.sqrt(2)
RIGHT = {
    2: 0.7602499389065233, 3: 0.6337020457780797, 4: 0.5520314384430163,
    5: 0.4936988624727356, 10: 0.3409357686607149,
}  # fmt: skip
DIGITS, NUDGE = 40, mp.mpf(10) ** -20


def exact_area(chosen, means, numbers, lower, upper):
    """P(an option wins by lower to upper), by mpmath; all terms are positive."""
    everyone = [mean for mean, n in zip(means, numbers, strict=True) for _ in range(int(n))]
    step = mp.mpf(1) / 4 / max(1, math.ceil(math.sqrt(len(everyone) / 4)))
    start = min(chosen, *means) - 12
    stop = max(chosen, max(means) + min(upper, lower + 3)) + 12
    total = mp.mpf(0)
    for i in range(math.ceil((stop - start) / step)):
        x = start + i * step
        inside = [mp.ncdf(x - lower - mean) for mean in everyone]
        if upper == math.inf:
            total += mp.npdf(x - chosen) * mp.fprod(inside)
            continue
        # The product falls from that of `inside` to that of `outside` in one step for each option.
        outside = [mp.ncdf(x - upper - mean) for mean in everyone]
        for j, mean in enumerate(everyone):
            fall = mp_reference.area(x - upper - mean, x - lower - mean)
            share = mp.fprod(outside[:j]) * fall * mp.fprod(inside[j + 1 :])
            total += mp.npdf(x - chosen) * share
    return total * step


def exact_slopes(function, at):
    """Log of a function of numbers, and its derivatives by them that are finite."""
    value = mp.log(function(at))
    slopes = []
    for j, x in enumerate(at):
        moved = [*at[:j], x + NUDGE, *at[j + 1 :]]
        slopes.append((mp.log(function(moved)) - value) / NUDGE if x < math.inf else mp.mpf(0))
    return float(value), [float(x) for x in slopes]


@pytest.mark.parametrize("options", RIGHT)
def test_share_of_right_answers_is_that_of_quadrature(options):
    p = np.exp(log_probabilities(R2, R2, np.array([0.3, 0.3]), float(options)))
    assert p[1].sum() == pytest.approx(RIGHT[options], abs=1e-14)


def test_margins_and_ratings_are_those_of_quadrature():
    p = np.exp(log_probabilities(1.5 * R2, 1.5 * R2, np.array([1 / R2]), 4.0))
    np.testing.assert_allclose(p[:, 1], [0.05686578237701001, 0.3933178428150768], atol=1e-14)
    p = np.exp(log_gumbel_probabilities(1.5 * R2, 1.5 * R2, np.array([1 / R2]), 4.0))
    np.testing.assert_allclose(p[:, 1], [0.1611252331675864, 0.3546612443924434], atol=1e-14)
    p = np.exp(log_probabilities(R2, R2, np.array([0.5, 0.5, 1.0]) / R2, 4.0))
    ratings = [
        [0.497980956229, 0.28317054563, 0.192337425336, 0.0265110728044],
        [0.287508255102, 0.259618986954, 0.329102846644, 0.123769911301],
    ]
    # Printed digits.
    np.testing.assert_allclose(p / p.sum(-1, keepdims=True), ratings, atol=1e-12)


def test_choices_with_biases_are_those_of_quadrature():
    b = np.array([0.5, 0.0, -0.2])
    p = np.exp(log_biased_probabilities(R2, b, R2, b, np.ones(1) / R2, options=3))[0]
    np.testing.assert_allclose(p.sum(-1), [0.7871322948, 0.1228807266, 0.0899869786], atol=5e-11)
    np.testing.assert_allclose(p[:, 1], [0.5117061648, 0.0277921644, 0.0177580435], atol=5e-11)


@pytest.mark.parametrize(
    ("noise", "options", "auroc2"),
    [
        ("normal", 2, 0.8140669), ("normal", 4, 0.7464554), ("normal", 5, 0.7319952),
        ("normal", 10, 0.6985987), ("gumbel", 4, 0.6259076561901843),
    ],
)  # fmt: skip
def test_the_margin_tells_right_from_wrong_as_by_quadrature(noise, options, auroc2):
    family, gaps = load_likelihood("alternatives", noise=noise), np.full(6000, 0.002)
    values = {"dprime": 1.5 * R2, "log_m": 0.0, "log_gap": np.log(gaps), "options": float(options)}
    wrong, right = np.exp(family.outcomes(values))
    beyond = np.cumsum(right[::-1])[::-1] - right / 2
    found = (wrong * beyond).sum() / wrong.sum() / right.sum()
    # Bins of 0.002: the error is of the order of their square.
    assert found == pytest.approx(auroc2, abs=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("chosen", "means", "numbers", "lower", "upper"),
    [
        (1.5, [0.0], [3.0], 0.0, 0.5),
        (0.0, [1.5, 0.0], [1.0, 18.0], 12.0, math.inf),
        (20.0, [0.0], [3.0], 0.0, 0.5),
        (0.0, [20.0, 0.0], [1.0, 8.0], 0.0, 1e-6),
        (-15.0, [0.0], [4.0], 3.0, 4.0),
        (3.0, [0.0, 2.0, -1.0], [1.0, 1.0, 1.0], 25.0, 26.0),
    ],
)
def test_single_areas_keep_their_digits_far_out(chosen, means, numbers, lower, upper):
    size, slopes = len(means), np.empty(len(means) + 2)
    found = alternatives.add_area(chosen, np.array([means, numbers]), lower, upper, slopes)
    with mp.workdps(DIGITS):
        value, exact = exact_slopes(
            lambda at: exact_area(chosen, at[:size], numbers, *at[size:]), [*means, lower, upper]
        )
    assert found == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(slopes, exact, rtol=1e-10, atol=1e-12)
    if upper - lower > 1e-3:
        own = [(np.array(mean), n) for mean, n in zip(means, numbers, strict=True)]
        edges = np.array([lower, *([upper] if upper < math.inf else [])])
        readable = log_margin_areas(np.array(chosen), own, edges)[0]
        # With 20 options its step is too coarse for a tail.
        assert readable == pytest.approx(value, rel=1e-6 if max(numbers) > 10 else 1e-9)


def exact_log_likelihood(counts, d, meta, b, meta_b, y):
    """ℓ of a table of m stimuli and responses, by mpmath; y by response and rating, from 0."""
    total, m = mp.mpf(0), len(b)
    for (s, r, k), n in np.ndenumerate(counts):
        if n == 0:
            continue

        def area(lead, biases, lower, upper, s=s, r=r):
            means = [biases[j] + (lead if j == s else 0) for j in range(m)]
            others = [means[j] for j in range(m) if j != r]
            return mp.log(exact_area(means[r], others, [1] * (m - 1), lower, upper))

        edges = [*y[r], math.inf]
        choice, rated = area(d, b, 0, math.inf), area(meta, meta_b, edges[k], edges[k + 1])
        total += int(n) * (choice + rated - area(meta, meta_b, 0, math.inf))
    return total


@pytest.mark.integration
@pytest.mark.parametrize(("d", "meta", "spread"), [(0.2, -2.0, 1.0), (19.0, 9.5, 0.1)])
def test_a_table_with_biases_has_the_value_and_slopes_of_mpmath(d, meta, spread):
    rng = np.random.default_rng(3)
    counts = np.zeros((3, 3, 2))
    counts[(0, 1, 2), (0, 2, 0), (0, 0, 1)] = [3, 4, 2]
    b, meta_b = spread * rng.normal(size=(2, 3))
    at = np.array([[d * R2, meta * R2, 3.0, *b, *meta_b, 0.7]])
    value, slopes = biased_alternatives.log_likelihood(counts.reshape(1, -1), at, True)

    def exact(free):
        y = [0, mp.mpf(free[8]) * mp.sqrt(2)]
        leads = [x / mp.sqrt(2) for x in free[:2]]
        return mp.exp(exact_log_likelihood(counts, *leads, free[2:5], free[5:8], [y] * 3))

    with mp.workdps(DIGITS):
        free = [mp.mpf(x) for x in np.delete(at[0], 2)]
        expected, by = exact_slopes(exact, free)
    assert value[0] == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(np.delete(slopes[0], 2), by, rtol=1e-9, atol=1e-10 * abs(expected))


@pytest.mark.parametrize("options", [2, 3, 10])
@pytest.mark.parametrize(("dprime", "meta_d"), [(1.4, 1.0), (-0.5, 3.0), (14.0, 11.0), (1.0, 25.0)])
def test_a_table_of_right_and_wrong_is_that_of_options_without_biases(options, dprime, meta_d):
    """The other kernel, which mpmath checks, with all options alike."""
    rng = np.random.default_rng(options)
    counts, gaps = rng.poisson(4, (1, 2, 4)).astype(float), np.array([0.3, 0.5, 2.5])
    at = np.array([[dprime, meta_d, options, 0.0, *gaps]])
    value, slopes = alternatives.log_likelihood(counts.reshape(1, -1), at, True)
    table = np.zeros((options, options, 4))
    table[0, 0], table[0, 1] = counts[0, 1], counts[0, 0]
    both = np.array([[dprime, meta_d, options, *np.zeros(2 * options), *gaps]])
    other, by = biased_alternatives.log_likelihood(table.reshape(1, -1), both, True)
    # There a wrong option is one of m - 1.
    other -= -counts[0, 0].sum() * math.log(options - 1)
    np.testing.assert_allclose(value, other, rtol=1e-11)
    by = np.delete(by[0], [2, *range(3, 3 + 2 * options)])
    np.testing.assert_allclose(np.delete(slopes[0], [2, 3]), by, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", ["relative", "absolute"])
@pytest.mark.parametrize("ratings", [2, 4])
def test_two_options_are_the_meta_d_model(rule, ratings):
    rng, gaps = np.random.default_rng(ratings), ratings - 1
    counts = rng.poisson(9, (20, 4 * ratings)).astype(float)
    rows = rng.normal([1, 0, -0.2, *[-0.7] * gaps], 0.4, (20, 3 + gaps))
    value, slopes = np.zeros(20), np.zeros(rows.shape)
    family = load_likelihood("biased-alternatives", options="2", meta_criterion=rule)
    add_value_and_gradient(rows, counts, tape_of(family, ratings), value, slopes)
    # Both responses have the same gaps.
    theirs = np.column_stack([rows, rows[:, 3:]])
    other, by = np.zeros(20), np.zeros(theirs.shape)
    tape = tape_of(load_likelihood("meta-d", meta_criterion=rule), ratings)
    add_value_and_gradient(theirs, counts, tape, other, by)
    by = np.column_stack([by[:, :3], by[:, 3 : 3 + gaps] + by[:, 3 + gaps :]])
    np.testing.assert_allclose(value, other, rtol=1e-12)
    np.testing.assert_allclose(slopes, by, rtol=1e-12, atol=1e-12)


def test_right_and_wrong_of_two_options_are_the_meta_d_model_without_a_criterion():
    rng = np.random.default_rng(1)
    counts = rng.poisson(9, (20, 2, 2, 3)).astype(float)
    rows = rng.normal([1, -0.2, -0.7, -0.5], 0.4, (20, 4))
    merged = np.stack([counts[:, 0, 1] + counts[:, 1, 0], counts[:, 0, 0] + counts[:, 1, 1]], 1)
    value, slopes = np.zeros(20), np.zeros((20, 5))
    own = np.column_stack([np.full(20, 2.0), rows])
    tape = tape_of(load_likelihood("alternatives"), 3)
    add_value_and_gradient(own, merged.reshape(20, -1), tape, value, slopes)
    other, by = np.zeros(20), np.zeros((20, 7))
    theirs = np.column_stack([rows[:, 0], np.zeros(20), rows[:, 1:], rows[:, 2:]])
    tape = tape_of(load_likelihood("meta-d"), 3)
    add_value_and_gradient(theirs, counts.reshape(20, -1), tape, other, by)
    np.testing.assert_allclose(value, other, rtol=1e-12)
    by_gaps = by[:, 3:5] + by[:, 5:]
    by = np.column_stack([by[:, 0], by[:, 2], by_gaps])
    np.testing.assert_allclose(slopes[:, 1:], by, rtol=1e-12, atol=1e-12)


def test_other_labels_of_the_options_permute_their_biases():
    rng = np.random.default_rng(2)
    counts, order = rng.poisson(5, (4, 4, 3)).astype(float), np.array([2, 0, 3, 1])
    b, meta_b, gaps = rng.normal(0, 0.5, 4), rng.normal(0, 0.5, 4), rng.uniform(0.2, 1, 2)
    parts = [[np.array([1.5, 1.2, 4]), b[p], meta_b[p], gaps] for p in (range(4), order)]
    one, two = (np.concatenate(part)[None] for part in parts)
    value, slopes = biased_alternatives.log_likelihood(counts.reshape(1, -1), one, True)
    moved = counts[order][:, order].reshape(1, -1)
    other, by = biased_alternatives.log_likelihood(moved, two, True)
    np.testing.assert_allclose(other, value, rtol=1e-13)
    np.testing.assert_allclose(by[0, 3:7], slopes[0, 3:7][order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by[0, :2], slopes[0, :2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [2, 4, 50])
@pytest.mark.parametrize("y", [0.0, 0.7, 3.0])
def test_gumbel_noise_has_the_closed_form_of_its_integral(options, y):
    d, m = 1.2, options

    def density(x):
        return math.exp(-x - math.exp(-x))

    def below(x):
        return math.exp(-math.exp(-x))

    right, _ = quad(lambda x: density(x - d) * below(x - y) ** (m - 1), -6, 45, epsabs=1e-13)
    wrong, _ = quad(
        lambda x: (m - 1) * density(x) * below(x - y - d) * below(x - y) ** (m - 2), -6, 45,
        epsabs=1e-13,
    )  # fmt: skip
    gaps = np.array([y / R2]) if y else np.array([1.0])
    p = np.exp(log_gumbel_probabilities(d * R2, d * R2, gaps, float(m)))
    found = p[:, 1] if y else p.sum(-1)
    np.testing.assert_allclose(found, [wrong, right], atol=1e-11)


ALL_AT_ONCE = {
    "near": [1.4, 1.0, 0.3, 0.5, 0.4],
    "far": [14.0, 11.0, 0.3, 2.5, 9.0],
    "beyond the sums": [26.0, -30.0, 0.3, 0.5, 0.4],
    "one rating": [1.4, 1.0],
}


@pytest.mark.parametrize("place", ALL_AT_ONCE)
@pytest.mark.parametrize("kernel", ["normal", "gumbel", "shared", "by response"])
def test_all_outcomes_at_once_are_those_one_by_one(kernel, place):
    """The log-likelihood of a single count, which mpmath checks."""
    dprime, meta_d, *gaps = ALL_AT_ONCE[place]
    levels, b = len(gaps) + 1, [0.5, -0.2, -0.3]
    if kernel in ("normal", "gumbel"):
        own, outcomes = alternatives, 2 * levels
        at = np.array([[dprime, meta_d, 3.0, float(kernel == "gumbel"), *gaps]])
    else:
        own, outcomes = biased_alternatives, 9 * levels
        all_gaps = gaps * 3 if kernel == "by response" else gaps
        at = np.array([[dprime, meta_d, 3.0, *b, *(0.7 * np.array(b)), *all_gaps]])
    # Of two cells, so that nothing of one is left for the other.
    both = np.vstack([at, at])
    both[1, :2] -= 0.3
    log_p, slopes = own.log_outcomes(both, levels, True)
    assert own.log_outcomes(both, levels, False)[1].size == 0
    expected, by = (
        np.stack(x)
        for x in zip(
            *(own.log_likelihood(np.eye(outcomes), np.tile(x, (outcomes, 1)), True) for x in both),
            strict=True,
        )
    )
    np.testing.assert_allclose(log_p.reshape(2, -1), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(slopes.reshape(by.shape), by, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("options", [2, 3, 10, 50])
def test_contrasts_are_orthonormal_and_biases_sum_to_zero(options):
    h = contrasts(options)
    np.testing.assert_allclose(h.T @ h, np.eye(options - 1), atol=1e-14)
    np.testing.assert_allclose(h.sum(0), 0, atol=1e-13)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e9, -1e9])
def test_values_far_outside_give_no_wrong_number(bad):
    for at, kernel, size in (
        ([bad, bad, 4.0, 0.0, 0.5], alternatives, 4),
        ([bad, bad, 2.0, 0.3, -0.3, 0.3, -0.3, 0.5], biased_alternatives, 8),
    ):
        value, slopes = kernel.log_likelihood(np.ones((1, size)), np.array([at]), True)
        assert not value[0] > -1e3
        assert slopes.shape == (1, len(at))
