"""Items that shift the evidence of all observers: against quadrature, and what is marginal."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import hmetad
from hmetad.likelihood import load_likelihood
from hmetad.likelihood.crossed import Answers, CrossedLikelihood, Effects, Grid
from hmetad.likelihood.tape import column_shapes, column_slices

D, C, SD = np.array([4.0, 4.8]), np.array([0.3, -0.3]), np.array([1.7, 2.6])
FAMILY = load_likelihood("signal-detection-items")
PLACES = column_slices(column_shapes(FAMILY, 1))
ONE = Effects((1.0,))
VALUES = {"dprime": D, "c": C, "item_sd": np.tile(SD, (2, 1))}


def of_pattern(label, verdicts):
    """Probability of the verdicts of two judges on an item, by adaptive quadrature."""

    def integrand(x):
        shift = (label - 0.5) * D - C + SD[label] * x
        return norm.pdf(x) * np.prod(norm.cdf(np.where(verdicts, shift, -shift)))

    return quad(integrand, -9, 9, epsabs=1e-13, limit=200)[0]


def likelihood_of(items):
    """Likelihood of items, each of which has (judge, label, verdict) of judges who answered."""
    rows = [4 * judge + 2 * label + verdict for one in items for judge, label, verdict in one]
    first = np.cumsum([0, *map(len, items)])
    answers = Answers(first, np.array(rows), np.ones(len(rows)))
    grid, target = Grid(np.linspace(-6, 6, 81), np.zeros(1)), PLACES["item_shift"]
    return CrossedLikelihood(FAMILY, 1, [np.arange(target.start, target.stop)], answers, grid)


def columns():
    """Parameters of both judges as compiled code takes them."""
    found = np.zeros((2, max(own.stop for own in PLACES.values())))
    found[:, PLACES["dprime"]], found[:, PLACES["c"]] = D[:, None], C[:, None]
    found[:, PLACES["log_item_sd"]] = np.log(SD)
    return found


PATTERNS = [
    [(judge, label, verdict) for judge, verdict in enumerate(verdicts)]
    for label in (0, 1)
    for verdicts in product((0, 1), repeat=2)
]


def test_patterns_of_verdicts_have_the_probabilities_of_adaptive_quadrature():
    found = likelihood_of(PATTERNS).value(columns(), ONE)
    expected = [of_pattern(one[0][1], [x[2] for x in one]) for one in PATTERNS]
    np.testing.assert_allclose(found, np.log(expected), atol=1e-9)
    # Of each label they sum to 1, and without one judge's verdicts to the other's marginal rate.
    np.testing.assert_allclose(np.exp(found).reshape(2, 4).sum(axis=1), 1, atol=1e-9)
    alone = likelihood_of([[(1, 1, 1)]]).value(columns(), ONE)
    assert np.exp(alone[0]) == pytest.approx(np.exp(found)[[5, 7]].sum(), abs=1e-9)


def test_marginal_quantities_are_those_of_rates_over_items():
    found = FAMILY.derived(VALUES)
    both = [likelihood_of([[(judge, label, 1)] for label in (0, 1)]) for judge in (0, 1)]
    false_alarms, hits = norm.ppf(np.exp([one.value(columns(), ONE) for one in both])).T
    np.testing.assert_allclose(found["dprime_marginal"], hits - false_alarms, atol=1e-8)
    np.testing.assert_allclose(found["c_marginal"], -(hits + false_alarms) / 2, atol=1e-8)


def test_names_of_bad_and_good_may_be_swapped():
    swapped = {"dprime": D, "c": -C, "item_sd": np.tile(SD[::-1], (2, 1))}
    here, there = FAMILY.derived(VALUES), FAMILY.derived(swapped)
    np.testing.assert_allclose(here["dprime_marginal"], there["dprime_marginal"], rtol=1e-12)
    np.testing.assert_allclose(here["c_marginal"], -there["c_marginal"], rtol=1e-12)


def test_compiled_outcomes_of_an_item_are_the_readable_ones():
    moved = columns()
    moved[:, PLACES["item_shift"]] = 0.7
    known = VALUES | {"item_shift": np.full(2, 0.7), "log_gap": np.zeros((2, 2, 0))}
    likelihood = likelihood_of(PATTERNS)
    # At the only node, 0, nothing is added.
    likelihood.grid = Grid(np.zeros(1), np.zeros(1))
    compiled = likelihood.outcomes(moved, ONE).log_p.reshape(2, 2, 2, 1)
    np.testing.assert_allclose(compiled, FAMILY.outcomes(known), atol=1e-12)


def test_slopes_are_those_of_differences_and_of_every_copy_of_an_item():
    items = [*PATTERNS, *PATTERNS[:3], PATTERNS[5], [(0, 1, 1)], [(0, 1, 1)]]
    likelihood, at, step = likelihood_of(items), columns(), 1e-5
    values, slopes, *_ = likelihood.value_and_slopes(at, ONE)
    assert len(likelihood.boxes) == len(PATTERNS) + 1
    each = [likelihood_of([one]).value_and_slopes(at, ONE) for one in items]
    np.testing.assert_allclose(values, [one[0][0] for one in each], rtol=1e-12)
    np.testing.assert_allclose(slopes, sum(one[1] for one in each), rtol=1e-9, atol=1e-12)
    bend, scores = likelihood.curvature(at, ONE)
    parts = [likelihood_of([one]).curvature(at, ONE) for one in items]
    np.testing.assert_allclose(bend, sum(one[0] for one in parts), atol=1e-6)
    np.testing.assert_allclose(scores, np.concatenate([one[1] for one in parts]), atol=1e-9)
    for place in np.ndindex(at.shape):
        nudge = np.zeros(at.shape)
        nudge[place] = step
        up, down = (likelihood.value(at + x, ONE).sum() for x in (nudge, -nudge))
        assert slopes[place] == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_a_shift_of_items_is_integrated_out_or_refused():
    counts = hmetad.simulate_counts(**hmetad.load_model("judge_crossed").example, seed=1)
    with pytest.raises(hmetad.InputError, match=r"item_shift, which PyMC's model does not have"):
        hmetad.build_model(counts, "judge_crossed")
    both = {"dprime": "0 + judge + (1 | item)"}
    with pytest.raises(hmetad.InputError, match="formula of item_shift"):
        hmetad.fit(counts, "judge_crossed", formula=both)
