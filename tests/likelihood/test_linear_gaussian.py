"""Linear-Gaussian confidence against golden values, identities and mpmath."""

import json

import mpmath as mp
import numpy as np
import pytest
from likelihood import mp_process
from likelihood.gradients import linear_gaussian as log_likelihood_and_gradient
from scipy.stats import norm

from hmetad.likelihood.kernels.linear_gaussian import log_probabilities

NAMES = ("d", "c", "a", "b", "w", "sigma")
D, C = 1.5, 0.2
THETA = np.array([[-0.4, -1.2], [0.9, 1.7]])
BOUNDS = norm.ppf([0.65, 0.85])

# Responses S1 with rating 3..1, then S2 with 1..3, of stimuli S1 and S2: PROCESS_MODELS.md.
GOLDEN = {
    "SDT": (
        ".3263552203 .3104754309 .1921132225 .1215846583 .0423286573 .0071428107",
        ".0255880595 .0994838761 .1660877512 .2684580056 .2693261813 .1710561263",
    ),
    "GN": (
        ".3493768574 .2589547745 .2206122419 .1036083863 .0499746726 .0174730675",
        ".0465177177 .0968598038 .1477821653 .2703383084 .2312226066 .2072793982",
    ),
    "WEV": (
        ".4205709562 .2958148666 .1125580509 .0718809137 .0722223844 .0269528282",
        ".0871723219 .1309462376 .0730411273 .1982920342 .2943292927 .2162189863",
    ),
    "logWEV": (
        ".7316434570 .0906764005 .0066240162 .0025575687 .0259272886 .1425712691",
        ".2268235716 .0589552521 .0053808631 .0053907746 .0641166384 .6393329002",
    ),
    "PDA": (
        ".4711468132 .2208819958 .1369150647 .1280741543 .0327054110 .0102765611",
        ".0283169928 .0680834998 .1947591942 .1746305309 .2196197808 .3145900015",
    ),
    "IG": (
        ".2273404418 .2528333456 .3487700863 .1596283452 .0095933563 .0018344247",
        ".0104614605 .0357325536 .2449656727 .4380005260 .1746742140 .0961655731",
    ),
    "RCE": (
        ".2600253456 .3888858259 .1800327022 .1058247487 .0578599891 .0073713886",
        ".0401592888 .1422182853 .1087821126 .3193552991 .3005773726 .0889076415",
    ),
    "CNCB": (
        ".4534614137 .2161100602 .1593723998 .1120828651 .0402232160 .0187500452",
        ".0479764879 .0791076463 .1640755526 .2012748790 .2088655138 .2986999204",
    ),
    "Fleming-Daw": (
        ".3425880411 .2311434724 .2552123602 .1229185489 .0331940203 .0149435571",
        ".0412681378 .0696869603 .1802045886 .3067569037 .1990237646 .2030596449",
    ),
}

# a, b, w, σ and the criteria on the axis of y. Those of logWEV are R·log of its own.
MEMBERS = {
    "SDT": (1, 0, 0, 0, THETA),
    "GN": (1, 0, 0, 0.6, THETA),
    "WEV": (0.6, 0, 0.4, 0.6, THETA),
    "logWEV": (0.6, 0, 0.4, 0.6, [[-np.log(0.6), -np.log(1.4)], np.log([0.7, 1.5])]),
    "PDA": (1, 0.5, 0, np.sqrt(0.5), THETA),
    "IG": (0, 0.8, 0, 1, THETA),
    "RCE": (2 / 3, 0, 1 / 3, 2 / 3, 4 / 3 * THETA),
    "CNCB": (0.7, 0.3, 0, 0.7, [C - BOUNDS, C + BOUNDS]),
    "Fleming-Daw": (0.72, 0.28, 0, 0.96, THETA),
}


def by_cell(**parameters):
    """Parameters of one cell as arrays of cells."""
    return {name: np.array([value], dtype=float) for name, value in parameters.items()}


def probabilities(**parameters):
    return np.exp(log_probabilities(**by_cell(**parameters)))[0]


def classic(p):
    """Ratings 3..1 of response S1, then 1..3 of S2, a line for each stimulus."""
    return np.concatenate([p[:, 0, ::-1], p[:, 1]], axis=1)


def member(name):
    a, b, w, sigma, theta = MEMBERS[name]
    return {"d": D, "c": C, "a": a, "b": b, "w": w, "sigma": sigma, "theta": theta}


def random_cells(rng, cells, ratings, spread):
    """Parameters whose ratings lie up to some 5·spread from the middle."""
    c = spread * rng.normal(0, 0.5, cells)
    gaps = spread * np.exp(rng.normal(-0.5, 0.7, (cells, 2, ratings - 1)))
    return {
        "d": spread * rng.normal(1, 1, cells),
        "c": c,
        "a": rng.uniform(-0.2, 1.3, cells),
        "b": rng.uniform(-0.2, 0.8, cells),
        "w": rng.uniform(0, 0.6, cells),
        "sigma": 10 ** rng.uniform(-2, 1, cells),
        "theta": c[:, None, None] + np.array([[-1.0], [1.0]]) * np.cumsum(gaps, -1),
    }


@pytest.mark.parametrize("name", GOLDEN)
def test_every_member_has_its_golden_values(name):
    printed = np.array([[float(p) for p in line.split()] for line in GOLDEN[name]])
    # Ten digits are printed.
    np.testing.assert_allclose(classic(probabilities(**member(name))), printed, rtol=0, atol=6e-11)


def test_all_digits_of_the_golden_values_agree(shared):
    file = shared / "reference" / "process_models" / "golden.json"
    golden = {key.split()[0]: p for key, p in json.loads(file.read_text()).items()}
    for name in GOLDEN:
        expected = np.array([golden[name]["S1"], golden[name]["S2"]])
        # Owen's T, by which these were made, has errors of some 1e-15.
        found = classic(probabilities(**member(name)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("spread", [0.5, 2, 6])
def test_probabilities_of_responses_and_ratings_sum_to_one(spread):
    p = np.exp(log_probabilities(**random_cells(np.random.default_rng(1), 300, 5, spread)))
    np.testing.assert_allclose(p.sum((2, 3)), 1, rtol=0, atol=1e-12)


def test_models_that_are_one_have_the_same_probabilities():
    """Section 0 of PROCESS_MODELS.md: y matters up to a positive factor only."""
    rng = np.random.default_rng(2)
    cells = random_cells(rng, 200, 4, 1.0)
    d, c, theta = cells["d"], cells["c"], cells["theta"]
    zero, bound = np.zeros(200), rng.uniform(0.1, 2, 200)

    def log_p(a, b, w, sigma, factor=1.0):
        stretched = theta * np.reshape(factor, (-1, 1, 1))
        return log_probabilities(d, c, a + zero, b + zero, w + zero, sigma + zero, stretched)

    pda = log_p(1, bound, 0, np.sqrt(bound))
    boost = bound / (1 + bound)
    same = log_p(1 - boost, boost, 0, np.sqrt(bound) / (1 + bound), 1 / (1 + bound))
    np.testing.assert_allclose(same, pda, rtol=1e-12, atol=1e-12)
    # Visibility moves the criteria: WEV is GN with noise s/(1 - w).
    w, shift = 0.3, np.array([-1.0, 1.0])[:, None] * 0.3 * d[:, None, None]
    wev = log_probabilities(d, c, zero + 0.7, zero, zero + w, bound, theta)
    gn = log_probabilities(d, c, zero + 1, zero, zero, bound / 0.7, (theta - shift) / 0.7)
    np.testing.assert_allclose(wev, gn, rtol=1e-11, atol=1e-12)
    # A superideal observer with noise s rates as IG with m = 1/s.
    np.testing.assert_allclose(
        log_p(0, 1, 0, bound), log_p(0, 1 / bound, 0, 1, 1 / bound), rtol=1e-12, atol=1e-12
    )


def test_without_noise_the_ratings_are_those_of_signal_detection():
    theta = np.array([[-0.5, -3.0, -9.0], [0.5, 3.0, 30.0]])
    found = log_probabilities(**by_cell(d=1.0, c=0.1, a=1, b=0, w=0, sigma=0, theta=theta))[0]
    for stimulus, mu in enumerate((-0.5, 0.5)):
        edges = np.array([0.1, *theta[1], np.inf]) - mu
        np.testing.assert_allclose(
            np.exp(found[stimulus, 1]), norm.sf(edges[:-1]) - norm.sf(edges[1:]), rtol=1e-13
        )
        assert found[stimulus, 1, 3] == pytest.approx(norm.logsf(30 - mu), rel=1e-13)
        assert found[stimulus, 0, 3] == pytest.approx(norm.logcdf(-9 - mu), rel=1e-13)


def test_at_zero_noise_the_gradient_is_that_of_almost_none():
    counts = np.arange(1.0, 13.0).reshape(1, 2, 2, 3)
    cell = by_cell(d=1.0, c=0.1, a=1.0, b=0.1, w=0.2, theta=THETA)
    none = log_likelihood_and_gradient(counts, **cell, sigma=np.zeros(1))
    little = log_likelihood_and_gradient(counts, **cell, sigma=np.array([1e-7]))
    assert none.sigma[0] == 0
    for one, other in zip(none, little, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-4)


def one_area(at, ratings):
    counts = np.zeros((1, 2, 2, ratings))
    counts[0][at] = 1
    return counts


def check_against_mpmath(parameters, at, value_tolerance, slope_tolerance):
    """Value and gradient of the log of one area; slopes relative to the largest of them."""
    counts = one_area(at, parameters["theta"].shape[1] + 1)
    found = log_likelihood_and_gradient(counts, **by_cell(**parameters))
    with mp.workdps(mp_process.DIGITS):
        exact = {name: mp.mpf(parameters[name]) for name in NAMES} | {"theta": parameters["theta"]}
        expected = mp_process.linear_gaussian(*at, **exact)
        slopes = mp_process.gradient(mp_process.linear_gaussian, at, parameters)
    assert abs(found.value[0] - expected) < value_tolerance
    size = max(np.abs(slope).max() for slope in slopes.values())
    for name, slope in slopes.items():
        np.testing.assert_allclose(
            getattr(found, name)[0], slope, rtol=slope_tolerance, atol=slope_tolerance * size
        )


@pytest.mark.parametrize("seed", range(3))
def test_value_and_gradient_agree_with_mpmath(seed):
    rng = np.random.default_rng(seed)
    cell = {k: v[0] for k, v in random_cells(rng, 1, 3, rng.choice([0.5, 1.5])).items()}
    at = tuple(rng.integers((2, 2, 3)))
    check_against_mpmath(cell, at, 1e-12, 1e-10)


# Probabilities from 1e-13 to 1e-250: far criteria, far means, narrow ratings, little noise. The
# numbers are d, c, a, b, w, σ; then the first criterion and the distance of the second.
TAILS = {
    "last rating": ((1, 0, 0.8, 0.2, 0, 0.5), (1, 0, 2), 9.0, 1.5),
    "wrong side": ((30, 0, 0.7, 0, 0.3, 0.6), (1, 0, 1), 3.0, 1e-3),
    "change of mind": ((2, 0, 1, 0, 0, 0.05), (0, 1, 0), -1.0, 1.5),
    "contrary": ((3, 1, -0.5, 0.3, 0.2, 0.3), (0, 1, 2), 5.0, 1.5),
    "no evidence": ((2, 5, 0.0, 1.0, 0.1, 2.0), (0, 1, 1), 30.0, 1e-3),
}


@pytest.mark.parametrize("name", TAILS)
def test_tails_keep_their_digits(name):
    numbers, at, start, width = TAILS[name]
    cell = dict(zip(NAMES, numbers, strict=True))
    theta = np.array([[-start, -start - width], [start, start + width]])
    check_against_mpmath(cell | {"theta": theta}, at, 1e-10, 1e-9)


@pytest.mark.parametrize(("name", "limit"), [("a", 0.0), ("sigma", 0.0)])
def test_the_limits_of_small_parameters_are_reached(name, limit):
    counts = np.arange(1.0, 13.0).reshape(1, 2, 2, 3)
    numbers = {"d": 1.0, "c": 0.1, "a": 0.7, "b": 0.3, "w": 0.1, "sigma": 0.5, "theta": THETA}
    expected = log_likelihood_and_gradient(counts, **by_cell(**(numbers | {name: limit})))
    for value in (1e-300, 1e-160, 1e-100, 1e-30):
        found = log_likelihood_and_gradient(counts, **by_cell(**(numbers | {name: value})))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [1e3, 1e8, 1e160, np.nan])
def test_far_out_the_value_is_finite_or_minus_infinity_and_nan_stays_nan(d):
    cell = by_cell(d=d, c=0.1, a=0.7, b=0.3, w=0.1, sigma=0.5, theta=THETA)
    value = log_likelihood_and_gradient(np.ones((1, 2, 2, 3)), **cell).value[0]
    assert np.isnan(value) if np.isnan(d) else value < 0


def test_empty_areas_matter_only_where_they_were_rated():
    """At σ = 0 no evidence beyond c = 1 has y < 0.5, so the lowest rating of S2 is empty."""
    cell = by_cell(d=1, c=1, a=1, b=0, w=0, sigma=0, theta=[[0.8, 0.2], [0.5, 2.0]])
    counts = np.ones((1, 2, 2, 3))
    with_it = log_likelihood_and_gradient(counts, **cell)
    assert with_it.value[0] == -np.inf
    counts[:, :, 1, 0] = 0
    without = log_likelihood_and_gradient(counts, **cell)
    assert np.isfinite(without.value).all()
    for one, other in zip(with_it[1:], without[1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_value_is_the_sum_over_areas_and_cells_do_not_touch_each_other():
    rng = np.random.default_rng(4)
    cells = random_cells(rng, 5, 4, 1.0)
    counts = rng.poisson(3, (5, 2, 2, 4)).astype(float)
    together = log_likelihood_and_gradient(counts, **cells)
    expected = (counts * log_probabilities(**cells)).sum((1, 2, 3))
    np.testing.assert_allclose(together.value, expected, rtol=1e-13)
    for i in range(5):
        alone = log_likelihood_and_gradient(
            counts[i : i + 1], **{k: v[i : i + 1] for k, v in cells.items()}
        )
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[i], part[0])
