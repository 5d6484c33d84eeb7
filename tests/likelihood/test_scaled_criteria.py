"""Criteria of random scale against golden values, mpmath and Gauss-Hermite sums."""

import json
import math

import mpmath as mp
import numpy as np
import pytest
from likelihood import gradients, mp_process
from likelihood.gradients import lognormal as log_likelihood_and_gradient
from scipy.special import ndtr
from scipy.stats import norm

from hmetad.likelihood.kernels.lognormal import (
    SMALL,
    evaluate,
    expected_information,
    log_scaled_area,
)

DISTANCES = np.array([[0.6, 1.4], [0.7, 1.5]])

# Responses S1 with rating 3..1, then S2 with 1..3, of stimuli S1 and S2: PROCESS_MODELS.md.
# CASANDRE's σ is the SD of the scale itself.
GOLDEN = {
    "logN": (
        0.5,
        ".3695055268 .2639831532 .1954551936 .1120652202 .0400060607 .0189848454",
        ".0488638188 .0869414795 .1553543886 .2610682703 .2197739681 .2279980748",
    ),
    "CAS": (
        np.sqrt(np.log1p(0.5**2)),
        ".3650637406 .2685092695 .1953708636 .1130074923 .0402127918 .0178358422",
        ".0467102555 .0879619455 .1564874857 .2621494332 .2238808092 .2228100709",
    ),
}
# CASANDRE's published recovery setting: mean evidence, then S1 with rating 3..1, S2 with 1..3.
RECOVERY = {
    -1.5: ".44448612 .31714320 .17156348 .05059284 .01308193 .00313244",
    -0.3: ".12730219 .21160619 .27900304 .22017557 .11352736 .04838565",
    0.6: ".02707796 .07432087 .17285429 .27806122 .25914803 .18853762",
}


def by_cell(**parameters):
    """Parameters of one cell as arrays of cells."""
    return {name: np.array([value], dtype=float) for name, value in parameters.items()}


def one_area(at, ratings):
    counts = np.zeros((1, 2, 2, ratings))
    counts[0][at] = 1
    return counts


def log_probabilities(d, c, q, t):
    """Log P of every stimulus, response and rating of one cell, each from counts of its own."""
    shape = (2, 2, np.shape(t)[1] + 1)
    cells = np.prod(shape)
    counts = np.eye(cells).reshape(cells, *shape)
    repeated = (np.repeat(x, cells, axis=0) for x in by_cell(d=d, c=c, q=q, t=t).values())
    return evaluate(counts, *repeated)[0].reshape(shape)


def classic(p):
    """Ratings 3..1 of response S1, then 1..3 of S2, a line for each stimulus."""
    return np.concatenate([p[:, 0, ::-1], p[:, 1]], axis=1)


def random_cell(rng, spread):
    return {
        "d": spread * rng.normal(1, 1),
        "c": spread * rng.normal(0, 0.5),
        "q": 10 ** rng.uniform(-1.5, 0.3),
        "t": spread * np.cumsum(np.exp(rng.normal(-0.5, 0.7, (2, 2))), -1),
    }


@pytest.mark.parametrize("name", GOLDEN)
def test_both_members_have_their_golden_values(name):
    q, *lines = GOLDEN[name]
    printed = np.array([[float(p) for p in line.split()] for line in lines])
    found = classic(np.exp(log_probabilities(1.5, 0.2, q, DISTANCES)))
    # Ten digits are printed.
    np.testing.assert_allclose(found, printed, rtol=0, atol=6e-11)


def test_all_digits_of_the_golden_values_agree(shared):
    file = shared / "reference" / "process_models" / "golden.json"
    golden = {key.split()[0]: p for key, p in json.loads(file.read_text()).items()}
    for name, (q, *_) in GOLDEN.items():
        expected = np.array([golden[name]["S1"], golden[name]["S2"]])
        found = classic(np.exp(log_probabilities(1.5, 0.2, q, DISTANCES)))
        # Those are sums of 1e-15 exactness, too.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("mean", RECOVERY)
def test_casandre_has_the_probabilities_of_its_published_setting(mean):
    """Sensitivity 0.5 at stimuli -3, -0.6 and 1.2; gaps of 0.75 and 1 from the decision."""
    t = np.array([[0.75, 1.75], [0.75, 1.75]])
    p = np.exp(log_probabilities(2 * mean, 0, GOLDEN["CAS"][0], t))
    printed = [float(x) for x in RECOVERY[mean].split()]
    # The printed ones are means over 200,000 quantiles, to eight digits.
    np.testing.assert_allclose(classic(p)[1], printed, rtol=0, atol=2e-7)


@pytest.mark.parametrize("q", [0, 0.3, 1.5])
def test_probabilities_of_responses_and_ratings_sum_to_one(q):
    rng = np.random.default_rng(1)
    for _ in range(20):
        cell = random_cell(rng, 1.0) | {"q": q}
        total = np.exp(log_probabilities(**cell)).sum((1, 2))
        np.testing.assert_allclose(total, 1, rtol=0, atol=1e-12)


def test_without_spread_the_ratings_are_those_of_signal_detection():
    rng = np.random.default_rng(2)
    counts = rng.poisson(5, (30, 2, 2, 4)).astype(float)
    d, c, zero = rng.normal(1, 1, 30), rng.normal(0, 0.5, 30), np.zeros(30)
    t = np.cumsum(np.exp(rng.normal(-0.5, 0.7, (30, 2, 3))), -1)
    found = log_likelihood_and_gradient(counts, d, c, zero, t)
    theta = c[:, None, None] + np.array([[-1.0], [1.0]]) * t
    sdt = gradients.linear_gaussian(counts, d, c, zero + 1, zero, zero, zero, theta)
    np.testing.assert_allclose(found.value, sdt.value, rtol=1e-12)
    np.testing.assert_allclose(found.d, sdt.d, rtol=1e-9, atol=1e-9)
    # Criteria move with c there, but not here.
    by_c = sdt.c + sdt.theta.sum((1, 2))
    np.testing.assert_allclose(found.c, by_c, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.q, 0, atol=1e-8)


def test_probabilities_beyond_a_criterion_are_gauss_hermite_sums():
    """With K = 2 the upper rating is a smooth expectation, which 100 nodes give for small q."""
    z, weights = np.polynomial.hermite_e.hermegauss(100)
    weights = weights / weights.sum()
    rng = np.random.default_rng(3)
    for _ in range(50):
        d, c, q = rng.normal(1, 1), rng.normal(0, 0.3), rng.uniform(0, 0.5)
        t = np.exp(rng.normal(-0.3, 0.5, (2, 1)))
        p = np.exp(log_probabilities(d, c, q, t))
        for (stimulus, response), beyond in np.ndenumerate(p[:, :, 1]):
            h = (2 * response - 1) * ((stimulus - 0.5) * d - c)
            scale = np.exp(q * z - q * q / 2)
            assert beyond == pytest.approx(weights @ ndtr(h - t[response] * scale), rel=1e-9)


@pytest.mark.parametrize("q", [0.03, 0.4, 1.2])
def test_the_fast_and_the_exact_way_agree_where_one_takes_over(q):
    rng = np.random.default_rng(4)
    compared = 0
    for _ in range(300):
        h, lower = rng.normal(-3, 1), rng.uniform(0, 1.5)
        upper = lower + rng.exponential(0.5)
        log_p, by_h, by_lower, by_upper, by_q = log_scaled_area(h, lower, upper, q)
        if not SMALL < np.exp(log_p) < 1e-3:
            continue
        compared += 1
        t = np.array([[1.0, 2.0], [lower, upper]])
        fast = log_likelihood_and_gradient(
            one_area((1, 1, 1), 3), **by_cell(d=2 * h, c=0, q=q, t=t)
        )
        # The fast way has errors of 1e-16 in areas above 1e-5.
        assert fast.value[0] == pytest.approx(log_p, abs=1e-10)
        found = [-fast.c[0], *fast.t[0, 1], fast.q[0]]
        np.testing.assert_allclose(found, [by_h, by_lower, by_upper, by_q], rtol=1e-9, atol=1e-9)
    assert compared > 20


def check_against_mpmath(cell, at, value_tolerance, slope_tolerance):
    """Value and gradient of the log of one area; slopes relative to the largest of them."""
    found = log_likelihood_and_gradient(one_area(at, 3), **by_cell(**cell))
    with mp.workdps(mp_process.DIGITS):
        exact = {name: mp.mpf(cell[name]) for name in ("d", "c", "q")} | {"t": cell["t"]}
        expected = mp_process.scaled_criteria(*at, **exact)
        slopes = mp_process.gradient(mp_process.scaled_criteria, at, cell)
    assert abs(found.value[0] - expected) < value_tolerance
    size = max(np.abs(slope).max() for slope in slopes.values())
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            getattr(found, name)[0], slope, rtol=slope_tolerance, atol=slope_tolerance * size
        )


@pytest.mark.parametrize("seed", range(3))
def test_value_and_gradient_agree_with_mpmath(seed):
    rng = np.random.default_rng(seed)
    check_against_mpmath(random_cell(rng, 1.5), tuple(rng.integers((2, 2, 3))), 1e-11, 1e-9)


# Probabilities from 1e-10 to 1e-200: far criteria, far means, narrow ratings, small and large q.
TAILS = {
    "last rating": ({"d": 1, "c": 0, "q": 0.2}, (0, 1, 2), 7.0, 4.0),
    "wrong side": ({"d": 20, "c": 0, "q": 0.5}, (0, 1, 1), 0.5, 1.0),
    "narrow": ({"d": 8, "c": 3, "q": 0.5}, (0, 1, 1), 2.0, 1e-4),
    "inner": ({"d": 20, "c": 0, "q": 0.3}, (1, 1, 0), 0.5, 0.5),
    "large scale": ({"d": 14, "c": 1, "q": 1.8}, (1, 1, 0), 1e-3, 1.0),
}


@pytest.mark.parametrize("name", TAILS)
def test_tails_keep_their_digits(name):
    cell, at, start, width = TAILS[name]
    t = np.array([[start, start + width]] * 2)
    check_against_mpmath(cell | {"t": t}, at, 1e-10, 1e-9)


def test_a_rating_that_nobody_used_and_a_stimulus_never_shown_are_finite():
    rng = np.random.default_rng(5)
    counts = rng.poisson(4, (3, 2, 2, 3)).astype(float)
    counts[0, :, :, 1] = 0
    counts[1, 0] = 0
    counts[2] = 0
    cells = [random_cell(rng, 1.0) for _ in range(3)]
    stacked = {name: np.array([cell[name] for cell in cells]) for name in cells[0]}
    together = log_likelihood_and_gradient(counts, **stacked)
    assert all(np.isfinite(part).all() for part in together)
    assert together.value[2] == 0
    for i in range(3):
        alone = log_likelihood_and_gradient(
            counts[i : i + 1], **{k: v[i : i + 1] for k, v in stacked.items()}
        )
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[i], part[0])
        log_p = log_probabilities(**cells[i])
        assert together.value[i] == pytest.approx((counts[i] * log_p).sum(), rel=1e-13)


@pytest.mark.parametrize(("d", "q"), [(1e4, 0.5), (1e8, 0.5), (1e160, 0.5), (1, 50), (np.nan, 1)])
def test_far_out_the_value_is_finite_or_minus_infinity_and_nan_stays_nan(d, q):
    cell = by_cell(d=d, c=0, q=q, t=DISTANCES)
    value = log_likelihood_and_gradient(np.ones((1, 2, 2, 3)), **cell).value[0]
    assert np.isnan(value) if np.isnan(d) else value < 0


def test_a_negative_spread_mirrors_a_positive_one():
    counts = np.arange(1.0, 13.0).reshape(1, 2, 2, 3)
    found, mirrored = (
        log_likelihood_and_gradient(counts, **by_cell(d=1, c=0.1, q=q, t=DISTANCES))
        for q in (0.5, -0.5)
    )
    assert mirrored.value == pytest.approx(found.value, rel=1e-13)
    assert mirrored.q == pytest.approx(-found.q, rel=1e-12)


def test_a_mean_far_out_is_taken_the_exact_way():
    """At 35 SDs from the criterion the fast sums would be of zeros."""
    found = log_probabilities(70.0, 0.0, 0.0, DISTANCES)
    assert found[0, 1, 2] == pytest.approx(norm.logsf(35 + 1.5), rel=1e-12)
    assert found[1, 1, 2] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("distance", [1e12, 1e20, 1e28])
@pytest.mark.parametrize("q", [0.013, 0.7])
def test_areas_beyond_the_farthest_edges_are_finite_and_right(distance, q):
    h = 2.0

    def log_value(z):
        return mp.log(mp.ncdf(h - distance * mp.exp(q * (z - q / 2)))) - z**2 / 2

    with mp.workdps(40):
        # The integrand has one peak, near where the scale brings the edge back to the evidence.
        near = q / 2 - mp.log(distance) / q
        grid = [near + step for step in mp.linspace(-40, 40 + 8 / q, 4000)]
        peak = max(grid, key=log_value)
        top = log_value(peak)
        points = [peak + step for step in mp.linspace(-12, 12, 49)]
        area = mp.quad(lambda z: mp.exp(log_value(z) - top), points)
        expected = float(top + mp.log(area / mp.sqrt(2 * mp.pi)))
    found = log_scaled_area(h, distance, math.inf, q)
    assert found[0] == pytest.approx(expected, rel=1e-12)
    assert all(map(math.isfinite, found))


def test_expected_information_is_the_mean_curvature():
    """-E ∂²ℓ: differences of the gradient where counts are those that the model expects."""
    at = by_cell(d=1.2, c=0.3, q=0.6, t=DISTANCES)
    trials = np.array([[300.0, 200.0]])
    p = np.exp(log_probabilities(1.2, 0.3, 0.6, DISTANCES))
    counts = (trials[0][:, None, None] * p)[None]
    point = np.concatenate([np.ravel(x) for x in at.values()])

    def gradient(x):
        return np.concatenate(
            [
                np.ravel(part)
                for part in evaluate(counts, x[:1], x[1:2], x[2:3], x[3:].reshape(1, 2, 2))[1:]
            ]
        )

    steps = 1e-5 * np.eye(len(point))
    bend = [(gradient(point - step) - gradient(point + step)) / 2e-5 for step in steps]
    found = expected_information(trials, *at.values())[0]
    np.testing.assert_allclose(found, np.array(bend), rtol=1e-6, atol=1e-6 * np.abs(found).max())
