"""The likelihood of items against adaptive quadrature, exact kernels and differences.

Golden values are of SciPy's adaptive quadrature over the effects, computed apart from the package.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import roots_legendre
from scipy.stats import norm

from hmetad.likelihood import load_likelihood
from hmetad.likelihood.crossed import Answers, CrossedLikelihood, Effects, Grid
from hmetad.likelihood.kernels import alternatives, margin_tables

R2 = math.sqrt(2)
K = 3
# d of the right option, M and criteria of two observers, in SDs of one option.
D, M = np.array([1.4, 2.1]), np.array([0.8, 1.1])
CRITERIA = np.array([[0, 0.5, 1.2], [0, 0.7, 1.5]])
# Items: how often an observer gave an outcome, 0-2 wrong and 3-5 right, each with rating 1-3.
ITEMS = (
    {(0, 5): 1, (1, 5): 1},
    {(0, 0): 1, (1, 3): 1},
    {(0, 1): 1, (1, 2): 1},
    {(0, 3): 2, (0, 0): 1, (1, 5): 3},
)
ONE, TWO = Effects((0.9 * R2,)), Effects((0.9 * R2, 0.6), -0.3)
NONE = Effects((0.0,))
# Two observers that follow difficulty and confidence to different degrees.
LOG_LOADINGS = np.array([[0.4, -0.1], [-0.2, 0.5]])
LOADED = replace(TWO, log_loadings=LOG_LOADINGS)
GOLDEN = {
    (4, NONE): [-2.0899678300, -3.7570993752, -7.1028269427, -7.4738951833],
    (4, ONE): [-1.6954041912, -3.5851486259, -5.7588410141, -7.8176125518],
    (2, ONE): [-0.9731496881, -4.8249408400, -6.1319447265, -8.4170778205],
    (4, TWO): [-1.56898398, -3.01005152, -5.83534177, -8.31650731],
    (2, TWO): [-1.00099579, -3.93204465, -6.52669542, -8.77668266],
}
CASES = [*GOLDEN]


def answers_of(items, outcomes=2 * K):
    entries = [(i, j * outcomes + o, n) for i, one in enumerate(items) for (j, o), n in one.items()]
    item, rows, numbers = (np.array(x) for x in zip(*entries, strict=True))
    first = np.concatenate([[0], np.cumsum(np.bincount(item))])
    return Answers(first, rows, numbers.astype(float))


def likelihood_of(options, effects, *, has_tables, nodes=81):
    family = load_likelihood("alternatives", scale="m")
    places = np.linspace(-7, 7, nodes)
    grid = Grid(places, places if len(effects.sds) > 1 else np.zeros(1))
    # Columns: options, d′, M, log gaps.
    targets = [np.array([1]), np.array([3, 4])][: len(effects.sds)]
    tables = np.broadcast_to(options, 2) if has_tables else None
    return CrossedLikelihood(family, K, targets, answers_of(ITEMS), grid, tables)


def parameters_of(options):
    gaps = np.log(np.diff(CRITERIA) / R2)
    return np.column_stack([np.full(2, float(options)), R2 * D, M, gaps])


@pytest.mark.parametrize("has_tables", [False, True])
@pytest.mark.parametrize(("options", "effects"), CASES)
def test_items_are_those_of_adaptive_quadrature(options, effects, has_tables):
    likelihood = likelihood_of(options, effects, has_tables=has_tables)
    found = likelihood.value(parameters_of(options), effects)
    # Two effects have eight digits in the golden values; tables have some 1e-8.
    np.testing.assert_allclose(found, GOLDEN[options, effects], atol=2e-8)


@pytest.mark.parametrize("options", [2, 4])
def test_items_with_loadings_are_those_of_brute_force(options):
    likelihood = likelihood_of(options, LOADED, has_tables=True)
    found = likelihood.value(parameters_of(options), LOADED)
    np.testing.assert_allclose(
        found[:3], [brute_force(own, options) for own in ITEMS[:3]], atol=5e-8
    )


def brute_force(item, options):
    """log ∫∫ φ₂(b, ε) Π P(o | d + λ b, y exp(κ ε)) with probabilities by SciPy's normal alone."""
    places, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()
    loadings = np.exp(LOG_LOADINGS - LOG_LOADINGS.mean(axis=0))
    total = 0.0
    for x, first in zip(places, weights, strict=True):
        moves = 0.9 * x, 0.6 * (-0.3 * x + math.sqrt(1 - 0.09) * places)
        terms = weights.copy()
        for (observer, outcome), number in item.items():
            d = D[observer] + loadings[observer, 0] * moves[0]
            spread = np.exp(loadings[observer, 1] * moves[1])
            terms *= chance(outcome, d, M[observer], CRITERIA[observer], spread, options) ** number
        total += first * terms.sum()
    return math.log(total)


def chance(outcome, d, m_ratio, criteria, spread, options):
    """P of right or wrong with a rating, where criteria are multiplied by each spread."""
    is_right, k = outcome >= K, outcome % K
    tail = right_tail if is_right else wrong_tail
    share = tail(np.zeros(1), d, options) / tail(np.zeros(1), m_ratio * d, options)
    above = tail(criteria[k] * spread, m_ratio * d, options)
    beyond = tail(criteria[k + 1] * spread, m_ratio * d, options) if k + 1 < K else 0.0
    return share * (above - beyond)


GRID = np.linspace(-12, 12, 1201)


def right_tail(y, d, options):
    """P(the right option leads all others by more than y)."""
    x = GRID[:, None]
    return trapezoid(norm.pdf(x) * norm.cdf(x + d - y) ** (options - 1), GRID, axis=0)


def wrong_tail(y, d, options):
    """P(a wrong option leads all others by more than y)."""
    x = GRID[:, None]
    lead = norm.cdf(x - y - d) * norm.cdf(x - y) ** (options - 2)
    return trapezoid((options - 1) * norm.pdf(x) * lead, GRID, axis=0)


@pytest.mark.parametrize("effects", [ONE, TWO], ids=["one effect", "two effects"])
def test_equal_loadings_are_none(effects):
    likelihood = likelihood_of(4, effects, has_tables=True)
    equal = replace(effects, log_loadings=np.full((2, len(effects.sds)), 0.7))
    at = parameters_of(4)
    for own, other in zip(
        likelihood.value_and_slopes(at, effects),
        likelihood.value_and_slopes(at, equal),
        strict=True,
    ):
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("options", "effects"), [CASES[1], CASES[4], (4, LOADED)])
def test_slopes_are_those_of_the_value(options, effects):
    likelihood = likelihood_of(options, effects, has_tables=True)
    at = parameters_of(options)

    def total(moved, own):
        return likelihood.value(moved, own).sum()

    slopes = likelihood.value_and_slopes(at, effects)
    _, by_parameters, by_sds, by_correlation, by_logs = slopes
    step = 1e-5
    for i, j in np.ndindex(2, at.shape[1] - 1):
        nudge = np.zeros(at.shape)
        nudge[i, j + 1] = step
        slope = (total(at + nudge, effects) - total(at - nudge, effects)) / (2 * step)
        assert by_parameters[i, j + 1] == pytest.approx(slope, abs=1e-7)
    for k, own in enumerate(by_sds):
        up, down = (
            replace(effects, sds=tuple(x + s * (i == k) for i, x in enumerate(effects.sds)))
            for s in (step, -step)
        )
        assert own == pytest.approx((total(at, up) - total(at, down)) / (2 * step), abs=1e-7)
    if len(effects.sds) > 1:
        up, down = (replace(effects, correlation=effects.correlation + s) for s in (step, -step))
        slope = (total(at, up) - total(at, down)) / (2 * step)
        assert by_correlation == pytest.approx(slope, abs=1e-7)
    for place in np.ndindex(2, 2) if effects.log_loadings is not None else ():
        nudge = np.zeros((2, 2))
        nudge[place] = step
        up, down = (
            replace(effects, log_loadings=effects.log_loadings + x) for x in (nudge, -nudge)
        )
        slope = (total(at, up) - total(at, down)) / (2 * step)
        assert by_logs[place] == pytest.approx(slope, abs=1e-7)


# Second derivatives of tables jump a little from step to step. With 70 answers an item is summed
# between the nodes, where products of slopes are read off those around.
@pytest.mark.parametrize(
    ("repeats", "nodes", "tolerance"), [(1, (65, 49), 1e-4), (70, (129, 97), 1e-3)]
)
def test_curvature_and_slopes_of_items_are_differences(repeats, nodes, tolerance):
    family = load_likelihood("alternatives", scale="m")
    own = answers_of(ITEMS)
    own = replace(own, numbers=own.numbers * repeats)
    grid = Grid(*(np.linspace(-4.5, 4.5, number) for number in nodes))
    targets = [np.array([1]), np.array([3, 4])]
    likelihood = CrossedLikelihood(family, K, targets, own, grid, np.full(2, 4))
    at, step = parameters_of(4), 1e-4
    bend, scores = likelihood.curvature(at, LOADED)
    bend, scores = bend.reshape(2, 8, 2, 8), scores.reshape(-1, 2, 8)

    def check(own, up, down):
        (high, high_slopes), (low, low_slopes) = (
            likelihood.value_and_own_slopes(*x) for x in (up, down)
        )
        found = -bend[own].sum(axis=0).reshape(2, 8)
        expected = (high_slopes - low_slopes) / (2 * step)
        np.testing.assert_allclose(found, expected, atol=tolerance * abs(bend).max())
        found = scores[(slice(None), *own)].sum(axis=1)
        np.testing.assert_allclose(found, (high - low) / (2 * step), atol=2e-6 * repeats)

    for i in range(2):
        for column in range(1, 5):
            nudge = np.zeros(at.shape)
            nudge[i, column] = step
            check(([i], [column]), (at + nudge, LOADED), (at - nudge, LOADED))
        for k in range(2):
            check(([i], [5 + k]), *((at, scaled(i, k, x)) for x in (step, -step)))
    z = np.arctanh(LOADED.correlation) + step * np.array([1, -1])
    both = [(at, replace(LOADED, correlation=x)) for x in np.tanh(z).tolist()]
    check(([0, 1], [7, 7]), *both)


def scaled(observer, effect, by):
    """Effects of which one observer follows one by a larger scale, and no other differently."""
    logs, sds = LOG_LOADINGS.copy(), np.array(LOADED.sds)
    logs[observer, effect] += by
    sds[effect] *= np.exp(by / 2)
    return replace(LOADED, sds=tuple(sds.tolist()), log_loadings=logs)


def test_a_remembered_box_that_is_too_small_grows():
    likelihood = likelihood_of(4, TWO, has_tables=True)
    likelihood.boxes[:] = 10, 12, 60, 63
    found = likelihood.value(parameters_of(4), TWO)
    np.testing.assert_allclose(found, GOLDEN[4, TWO], atol=2e-8)
    # It is small the next time, with the same sum but for what its border has.
    sizes = likelihood.boxes[:, 1] - likelihood.boxes[:, 0]
    assert (sizes < 81).all()
    np.testing.assert_allclose(likelihood.value(parameters_of(4), TWO), found, rtol=1e-8)


def test_items_that_nothing_explains_leave_boxes_as_they_should_be():
    likelihood = likelihood_of(4, TWO, has_tables=True)
    far = parameters_of(4)
    far[:, 3:] = 50
    assert (likelihood.value(far, TWO) < -1e18).any()
    found = likelihood.value(parameters_of(4), TWO)
    np.testing.assert_allclose(found, GOLDEN[4, TWO], atol=2e-8)


@pytest.mark.parametrize("options", [2, 3, 4, 10, 26])
def test_tables_are_the_exact_kernel(options):
    rng = np.random.default_rng(options)
    n, levels = 400, 5
    at = np.column_stack(
        [
            rng.normal(2, 2, n),
            rng.normal(1.5, 2, n),
            np.full(n, float(options)),
            np.zeros(n),
            np.exp(rng.normal(-0.7, 0.6, (n, levels - 1))),
        ]
    )
    tables = margin_tables.tables_of(options)
    log_p, slopes = margin_tables.log_outcomes(at, levels, tables)
    exact, exact_slopes = alternatives.log_outcomes(at, levels, True)
    np.testing.assert_allclose(log_p, exact, atol=2e-6)
    assert np.quantile(abs(log_p - exact), 0.99) < 2e-8
    by = [0, 1, *range(4, at.shape[1])]
    assert np.quantile(abs(slopes - exact_slopes)[..., by], 0.99) < 1e-6


# Two alternatives: c, and gaps of both responses, of the two observers.
C = np.array([0.3, -0.2])
GAPS = np.array([[[0.4, 0.6], [0.3, 0.8]], [[0.5, 0.5], [0.7, 0.4]]])
# (observer, stimulus, response, rating), from 0 on: one stimulus an item, or both.
OF_TWO = (
    {(0, 0, 0, 2): 1, (1, 0, 1, 0): 1},
    {(0, 1, 1, 1): 1, (1, 1, 0, 2): 1},
    {(0, 0, 1, 1): 1, (0, 1, 1, 2): 2, (1, 1, 0, 0): 1, (1, 0, 0, 0): 1},
)


def likelihood_of_two(items, grid=None, **choices):
    family = load_likelihood("meta-d", scale="m", **choices)
    rows = [{(j, (2 * s + r) * K + k): n for (j, s, r, k), n in one.items()} for one in items]
    places = np.linspace(-7, 7, 81)
    # Columns: d′, c, M, log gaps of both responses.
    targets = [np.array([0]), np.arange(3, 7)]
    grid = grid or Grid(places, places)
    return CrossedLikelihood(family, K, targets, answers_of(rows, 4 * K), grid)


def probability(d, c, m, kappa, gaps, outcome):
    """P(response, rating | stimulus) by normal areas; gaps (2, K - 1, ...), outward."""
    stimulus, response, rating = outcome
    mean, side = (stimulus - 0.5) * d, 2 * response - 1
    edges = [*np.cumsum(gaps[response], axis=0), np.inf]
    inner, outer = ([0, *edges][rating + end] for end in (0, 1))
    start = side * (kappa - m * mean)
    share = (norm.sf(start + inner) - norm.sf(start + outer)) / norm.sf(start)
    return norm.sf(side * (c - mean)) * share


def test_two_alternatives_are_a_choice_among_two_options_without_bias():
    """Golden values hold with c = 0 and equal criteria on both sides, whatever the stimulus."""
    items = [
        {(j, i % 2, i % 2 if o >= K else 1 - i % 2, o % K): n for (j, o), n in one.items()}
        for i, one in enumerate(ITEMS)
    ]
    gaps = np.repeat(np.log(np.diff(CRITERIA) / R2), 2, axis=0).reshape(2, -1)
    at = np.column_stack([R2 * D, np.zeros(2), M, gaps])
    found = likelihood_of_two(items).value(at, TWO)
    np.testing.assert_allclose(found, GOLDEN[2, TWO], atol=2e-8)


def marginal_of_two(item, rule, centre=(0.0, 0.0), reach=8.0):
    """Log-likelihood of an item by Gauss and Legendre's rule of 200 nodes in each effect."""
    (sd, sd_spread), rho = TWO.sds, TWO.correlation
    x, weights = roots_legendre(200)
    b, e = centre[0] + reach * x[:, None], centre[1] + reach * x
    spread = np.exp(sd_spread * (rho * b + math.sqrt(1 - rho**2) * e))
    total = norm.logpdf(b) + norm.logpdf(e)
    for (j, *outcome), n in item.items():
        kappa = (M[j] if rule == "relative" else 1) * C[j]
        gaps = GAPS[j][..., None, None] * spread
        total = total + n * np.log(
            probability(R2 * D[j] + sd * b, C[j], M[j], kappa, gaps, outcome)
        )
    top = total.max()
    shares = np.exp(total - top) * np.outer(reach * weights, reach * weights)
    return top + math.log(shares.sum())


@pytest.mark.parametrize("rule", ["relative", "absolute"])
def test_two_alternatives_with_a_bias_are_those_of_quadrature(rule):
    at = np.column_stack([R2 * D, C, M, np.log(GAPS).reshape(2, -1)])
    found = likelihood_of_two(OF_TWO, meta_criterion=rule).value(at, TWO)
    with np.errstate(divide="ignore"):
        expected = [marginal_of_two(item, rule) for item in OF_TWO]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def share_of_margins(options, d, y):
    """P(a right, a wrong answer wins by more than y), by Gauss and Hermite's rule."""
    x, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    by_right = norm.cdf(x + d - y) ** (options - 1)
    others = norm.cdf(x - y) ** (options - 2)
    by_wrong = (options - 1) * norm.cdf(x - y - d) * others
    return (weights * by_right).sum(-1), (weights * by_wrong).sum(-1)


def test_items_of_different_numbers_of_options_are_those_of_quadrature():
    """Observers who choose among three and among five options in one likelihood."""
    options = np.array([3, 5])
    likelihood = likelihood_of(options, ONE, has_tables=True)
    at = parameters_of(4)
    at[:, 0] = options
    x, weights = roots_legendre(200)
    for own, item in zip(likelihood.value(at, ONE), ITEMS, strict=True):
        product = 8 * weights * norm.pdf(8 * x)
        for (j, outcome), n in item.items():
            d = (D[j] + 0.9 * 8 * x)[:, None]
            right, rating = divmod(outcome, K)
            areas = [share_of_margins(options[j], M[j] * d, y)[1 - right] for y in CRITERIA[j]]
            inner, outer = [*areas, 0.0][rating : rating + 2]
            choice = share_of_margins(options[j], d, 0)[1 - right]
            product *= (choice * (inner - outer) / areas[0]) ** n
        assert own == pytest.approx(math.log(product.sum()), abs=2e-8)


@pytest.mark.parametrize(("answers", "widths"), [(20, (33, 25)), (100, (41, 33)), (2000, (65, 49))])
def test_nodes_adapt_to_items_with_many_answers(answers, widths):
    """Few of these nodes, or none, are near the posterior of 2,000 answers.

    In a sum over 200 items an error of 2e-3 each is below the 0.5 at which nodes are too few.
    """
    b, e = 0.63, -0.41
    spread = np.exp(0.6 * (-0.3 * b + math.sqrt(1 - 0.09) * e))
    item = {}
    for j, s, r, k in np.ndindex(2, 2, 2, K):
        d, gaps = R2 * D[j] + 0.9 * R2 * b, GAPS[j][..., None, None] * spread
        share = probability(d, C[j], M[j], M[j] * C[j], gaps, (s, r, k)).item()
        item[j, s, r, k] = round(answers / 4 * share)
    item = {key: n for key, n in item.items() if n}
    likelihood = likelihood_of_two([item], grid=Grid(*(np.linspace(-5.5, 5.5, n) for n in widths)))
    at = np.column_stack([R2 * D, C, M, np.log(GAPS).reshape(2, -1)])
    expected = marginal_of_two(item, "relative", (b, e), min(4, 30 / math.sqrt(answers)))
    assert likelihood.value(at, TWO)[0] == pytest.approx(expected, abs=2e-3)
    # From the box that is remembered too; its slopes are those of the value.
    found, slopes, *_ = likelihood.value_and_slopes(at, TWO)
    assert found[0] == pytest.approx(expected, abs=2e-3)
    step = 1e-5
    for place in np.ndindex(at.shape):
        nudge = np.zeros(at.shape)
        nudge[place] = step
        up, down = (likelihood.value(at + s * nudge, TWO)[0] for s in (1, -1))
        assert slopes[place] == pytest.approx((up - down) / (2 * step), abs=1e-5 * answers)


def test_no_item_is_more_probable_than_1_however_far_a_search_goes():
    for far in (1.0, 2.0, 3.0, 5.0, 30.0):
        effects = replace(LOADED, log_loadings=far * LOG_LOADINGS / 0.4)
        found = likelihood_of(4, effects, has_tables=True, nodes=21).value(
            parameters_of(4), effects
        )
        assert (found <= 0).all()
