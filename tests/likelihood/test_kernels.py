"""Compiled likelihoods against mpmath, by the definition of information, and in their limits."""

import mpmath as mp
import numpy as np
import pytest
from likelihood import mp_process, mp_reference
from likelihood.gradients import ARGUMENTS, GRADIENTS, KERNELS, log_probabilities, side_by_side

from hmetad.likelihood.families.meta_d import log_joint_probabilities
from hmetad.likelihood.tails import FAR, NARROW


def meta_d_cells(rng, cells, ratings, spread):
    """Parameters that reach |z| of some 12·spread."""
    return {
        "d": spread * rng.normal(1, 1, cells),
        "c": spread * rng.normal(0, 1, cells),
        "m": spread * rng.normal(1, 1, (cells, 2)),
        "kappa": spread * rng.normal(0, 1, (cells, 2)),
        "gaps": spread * np.exp(rng.normal(-1, 1, (cells, 2, ratings - 1))),
        "s": np.exp(rng.normal(0, 0.3, cells)),
    }


def linear_gaussian_cells(rng, cells, ratings, spread):
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


def lognormal_cells(rng, cells, ratings, spread):
    return {
        "d": spread * rng.normal(1, 1, cells),
        "c": spread * rng.normal(0, 0.5, cells),
        "q": 10 ** rng.uniform(-1.5, 0.3, cells),
        "t": spread * np.cumsum(np.exp(rng.normal(-0.5, 0.7, (cells, 2, ratings - 1))), -1),
    }


CELLS = dict(zip(ARGUMENTS, (meta_d_cells, linear_gaussian_cells, lognormal_cells), strict=True))


def of_areas(log_area):
    """ℓ of one cell by the logs of its areas."""
    return lambda counts, **p: sum(n * log_area(*at, **p) for at, n in np.ndenumerate(counts) if n)


# ℓ of one cell, its digits, and the step of central differences in them.
EXACT = {
    "meta_d": (mp_reference.log_likelihood, 60, mp.mpf(10) ** -20),
    "linear_gaussian": (of_areas(mp_process.linear_gaussian), mp_process.DIGITS, mp_process.STEP),
    "lognormal": (of_areas(mp_process.scaled_criteria), mp_process.DIGITS, mp_process.STEP),
}


def compared(kernel, counts, parameters):
    """Value of one cell and in mpmath; and slopes, the kernel's beside those of mpmath."""
    cell = {name: np.array([x], dtype=float) for name, x in parameters.items()}
    found = GRADIENTS[kernel](np.array([counts], dtype=float), **cell)
    likelihood, digits, step = EXACT[kernel]
    with mp.workdps(digits):
        given = {k: mp.mpf(x) if np.ndim(x) == 0 else x for k, x in parameters.items()}
        exact = likelihood(counts, **given)
        slopes = mp_process.gradient(likelihood, (counts,), parameters, step)
    error = float(abs(found.value[0] - exact))
    return error, float(exact), [(getattr(found, n)[0], slope) for n, slope in slopes.items()]


def one_area(at, ratings=3):
    counts = np.zeros((2, 2, ratings))
    counts[at] = 1
    return counts


def some_counts(rng, cells, ratings, mean=5):
    """Counts, some of them zero."""
    counts = rng.poisson(mean, (cells, 2, 2, ratings)).astype(float)
    return np.where(rng.random(counts.shape) < 0.2, 0, counts)


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("seed", range(4))
def test_value_and_gradient_of_meta_d_agree_with_mpmath(seed, spread):
    rng = np.random.default_rng(seed)
    counts = some_counts(rng, 1, 3)[0]
    cell = {name: x[0] for name, x in meta_d_cells(rng, 1, 3, spread).items()}
    error, exact, slopes = compared("meta_d", counts, cell)
    assert error <= 1e-12 * abs(exact)
    for found, expected in slopes:
        # Terms of either sign add up, each exact to 1e-13 of its size, at most |ℓ|·|z|.
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * abs(exact))


@pytest.mark.parametrize("gap", [1e-9, 1e-5, 5e-4, 1.5e-3, 0.1])
@pytest.mark.parametrize("kappa", [-30.0, -3.0, -1e-4, 0.0, 2.0, 30.0])
@pytest.mark.parametrize("low", [0.0, 1.0], ids=["never used", "used"])
def test_narrow_intervals_keep_value_and_gradient(gap, kappa, low):
    p = {"d": 1.0, "c": 0.0, "m": np.ones(2), "kappa": np.full(2, kappa), "s": 1.0}
    counts = np.full((2, 2, 2), (low, 1.0))
    error, exact, slopes = compared("meta_d", counts, p | {"gaps": [[gap], [gap]]})
    assert error <= 1e-12 * abs(exact)
    for found, expected in slopes:
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("log_m", [3.0, 8.0, 14.0, 19.0])
@pytest.mark.parametrize("s", [1.0, 1.3])
def test_shares_keep_their_digits_where_tails_are_too_small_for_any(log_m, s):
    """The log of the tail beyond κ is about -10^16 there, and that of the share in it about -1."""
    ratio, gap = np.exp(log_m), 1e-8 * 2.0 ** np.array([[0, 3], [2, 1]])
    counts = np.array([[[0, 0, 30], [7.0, 0.0, 1.0]], [[0, 0, 14], [3.0, 1.0, 9.0]]])
    # Both means lie below κ, so that response S2 is in the tail for both stimuli.
    one = {"d": 0.5, "c": 1.75, "m": [0.5 * ratio] * 2, "kappa": [1.75 * ratio] * 2}
    error, exact, slopes = compared("meta_d", counts, one | {"gaps": gap, "s": s})
    assert error <= 1e-9 * abs(exact)
    for (found, expected), at in zip(slopes[2:5], ([1], [1], [(1, 0)]), strict=True):
        np.testing.assert_allclose(found[at[0]], expected[at[0]], rtol=1e-6, atol=1e-6)


def row(kernel, numbers, at, first, width):
    """Parameters and place of a narrow or far area, whose criteria lie at `first` and beyond."""
    names, edges = ARGUMENTS[kernel].split(), np.array([first, first + width])
    sides = [[-1], [1]] if kernel == "linear_gaussian" else [[1], [1]]
    return kernel, dict(zip(names, (*numbers, edges * sides), strict=True)), at


# Probabilities from 1e-10 to 1e-250: far criteria, far means, narrow ratings, little noise. The
# numbers are d, c, a, b, w, σ, or d, c, q; then the first criterion and the distance of the second.
TAILS = {
    "last rating": row("linear_gaussian", (1, 0, 0.8, 0.2, 0, 0.5), (1, 0, 2), 9.0, 1.5),
    "wrong side": row("linear_gaussian", (30, 0, 0.7, 0, 0.3, 0.6), (1, 0, 1), 3.0, 1e-3),
    "change of mind": row("linear_gaussian", (2, 0, 1, 0, 0, 0.05), (0, 1, 0), -1.0, 1.5),
    "contrary": row("linear_gaussian", (3, 1, -0.5, 0.3, 0.2, 0.3), (0, 1, 2), 5.0, 1.5),
    "no evidence": row("linear_gaussian", (2, 5, 0.0, 1.0, 0.1, 2.0), (0, 1, 1), 30.0, 1e-3),
    "scaled, last rating": row("lognormal", (1, 0, 0.2), (0, 1, 2), 7.0, 4.0),
    "scaled, wrong side": row("lognormal", (20, 0, 0.5), (0, 1, 1), 0.5, 1.0),
    "scaled, narrow": row("lognormal", (8, 3, 0.5), (0, 1, 1), 2.0, 1e-4),
    "scaled, inner": row("lognormal", (20, 0, 0.3), (1, 1, 0), 0.5, 0.5),
    "large scale": row("lognormal", (14, 1, 1.8), (1, 1, 0), 1e-3, 1.0),
}


def check_area(kernel, cell, at, tolerance, slope_tolerance):
    """Value and gradient of the log of one area; slopes relative to the largest of them."""
    error, _, slopes = compared(kernel, one_area(at), cell)
    assert error < tolerance
    size = slope_tolerance * max(np.abs(slope).max() for _, slope in slopes)
    for found, expected in slopes:
        np.testing.assert_allclose(found, expected, rtol=slope_tolerance, atol=size)


@pytest.mark.integration
@pytest.mark.parametrize("name", TAILS)
def test_tails_keep_their_digits(name):
    check_area(*TAILS[name], 1e-10, 1e-9)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kernel", "tolerances"),
    [("meta_d", (1e-12, 1e-10)), ("linear_gaussian", (1e-12, 1e-10)), ("lognormal", (1e-11, 1e-9))],
)
@pytest.mark.parametrize("seed", range(3))
def test_one_area_agrees_with_mpmath(seed, kernel, tolerances):
    rng = np.random.default_rng(seed)
    cell = {name: x[0] for name, x in CELLS[kernel](rng, 1, 3, rng.choice([0.5, 1.5])).items()}
    check_area(kernel, cell, tuple(rng.integers((2, 2, 3))), *tolerances)


@pytest.mark.parametrize(
    ("kernel", "ratings", "spread"),
    [
        *[("meta_d", ratings, spread) for ratings in (2, 4, 11) for spread in (0.3, 1, 5)],
        *[("linear_gaussian", 4, 1.0), ("lognormal", 3, 1.0)],
    ],
)
def test_the_value_is_the_sum_over_outcomes_and_cells_do_not_touch_each_other(
    kernel, ratings, spread
):
    """Stimuli and responses without counts are left out of the work, and out of nothing else."""
    rng = np.random.default_rng(ratings)
    counts, p = some_counts(rng, 60, ratings), CELLS[kernel](rng, 60, ratings, spread)
    counts[0, :, :, 1] = 0
    counts[1, 0] = 0
    counts[2] = 0
    counts[3:20] = [one_area(tuple(rng.integers((2, 2, ratings))), ratings) for _ in range(17)]
    together = GRADIENTS[kernel](counts, **p)
    is_readable = kernel == "meta_d"
    log_p = log_joint_probabilities(**p) if is_readable else log_probabilities(kernel, **p)
    expected = np.where(counts > 0, counts * log_p, 0).sum((1, 2, 3))
    np.testing.assert_allclose(
        together.value, expected, rtol=1e-12 if kernel == "meta_d" else 1e-13
    )
    assert all(np.isfinite(part).all() for part in together)
    assert not any(part[2].any() for part in together)
    for i in range(5):
        alone = GRADIENTS[kernel](counts[i : i + 1], **{k: v[i : i + 1] for k, v in p.items()})
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[i], part[0])


LINEAR = {"c": 0.1, "a": 0.7, "b": 0.3, "w": 0.1, "sigma": 0.5}
LINEAR |= {"theta": [[-0.4, -1.2], [0.9, 1.7]]}
SCALED = {"c": 0, "t": [[0.6, 1.4], [0.7, 1.5]]}


@pytest.mark.parametrize(
    ("kernel", "cell"),
    [
        *[("linear_gaussian", LINEAR | {"d": d}) for d in (1e3, 1e8, 1e160, np.nan)],
        *[("lognormal", SCALED | {"d": d, "q": 0.5}) for d in (1e4, 1e8, 1e160, np.nan)],
        ("lognormal", SCALED | {"d": 1, "q": 50}),
    ],
)
def test_far_out_the_value_is_finite_or_minus_infinity_and_nan_stays_nan(kernel, cell):
    arrays = {name: np.array([x], dtype=float) for name, x in cell.items()}
    value = GRADIENTS[kernel](np.ones((1, 2, 2, 3)), **arrays).value[0]
    assert np.isnan(value) if np.isnan(cell["d"]) else value < 0


@pytest.mark.parametrize("edge", [FAR, -FAR])
@pytest.mark.parametrize("gap", [NARROW, 1.0])
def test_the_fast_and_the_exact_way_meet_where_one_takes_over(edge, gap):
    """A step of 1e-9 across the border moves value and gradient by as little as that."""
    one, results = np.ones(1), []
    for step in (-1e-9, 1e-9):
        kappa, gaps = np.full((1, 2), edge + step), np.full((1, 2, 2), gap + step)
        counts = np.ones((1, 2, 2, 3))
        results.append(GRADIENTS["meta_d"](counts, one, 0 * one, 0 * kappa, kappa, gaps, one))
    for inside, outside in zip(*results, strict=True):
        np.testing.assert_allclose(inside, outside, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "ratings"), [("meta_d", 2), ("meta_d", 4), ("meta_d", 11), ("lognormal", 3)]
)
def test_information_is_the_expected_square_of_the_score(kernel, ratings):
    """Σ N P ∂log P ∂log Pᵀ: a table with one trial has ∂log P as its gradient."""
    rng, cells = np.random.default_rng(ratings), 6
    p = CELLS[kernel](rng, cells, ratings, 1)
    trials = rng.integers(1, 300, (cells, 2)).astype(float)
    expected = 0
    for outcome in np.ndindex(2, 2, ratings):
        one_trial = np.tile(one_area(outcome, ratings), (cells, 1, 1, 1))
        log_p, *slopes = GRADIENTS[kernel](one_trial, **p)
        slope = np.concatenate([part.reshape(cells, -1) for part in slopes], axis=1)
        weight = (trials[:, outcome[0]] * np.exp(log_p))[:, None, None]
        expected = expected + weight * slope[:, :, None] * slope[:, None, :]
    found = KERNELS[kernel].expected_information(trials, side_by_side(kernel, **p)[0])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_information_about_dprime_is_the_textbooks():
    """At c = 0, each stimulus gives φ(d/2)² / (4 H (1 - H)) per trial; 1 / it is var d′."""
    at = np.array([[1.0, 0, 1, 1, 0, 0, 1, 1, 1]])
    information = KERNELS["meta_d"].expected_information(np.full((1, 2), 100.0), at)
    density, hit = 0.3520653267642995, 0.6914624612740131  # φ(.5) and Φ(.5)
    expected = 2 * 100 * density**2 / (4 * hit * (1 - hit))
    assert information[0, 0, 0] == pytest.approx(expected, rel=1e-12)
    assert information[0, 0, 1] == pytest.approx(0, abs=1e-12)
