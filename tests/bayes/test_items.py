"""How much items differ: observed, in replicated sets, and left out; against plain arithmetic."""

from dataclasses import replace

import arviz_stats
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import hmetad
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import item_log_likelihood, item_statistics
from hmetad.specs.loading import load_model

RATINGS, OPTIONS = 4, 4
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
FORMULA = {
    "m": "0 + subject",
    "dprime": "0 + subject + (1 | item)",
    "log_gap": "0 + subject",
}
BOTH = FORMULA | {"log_spread": "0 + (1 | item)"}


def answers(items):
    """Count table of three ideal observers; items differ in d′ and in confidence."""
    rng = np.random.default_rng(1)
    lead = np.array([[1.2], [1.6], [2.0]]) + rng.normal(0, 1, items)
    evidence = rng.normal(size=(*lead.shape, OPTIONS))
    evidence[..., 0] += lead
    ordered = np.sort(evidence, axis=-1)
    margin = (ordered[..., -1] - ordered[..., -2]) * np.exp(rng.normal(0, 1, items))
    rating = np.searchsorted([0.5, 1.0, 1.8], margin.ravel())
    is_right = (evidence.argmax(axis=-1) == 0).ravel().astype(int)
    table = np.zeros((lead.size, 2, RATINGS), int)
    table[np.arange(lead.size), is_right, rating] = 1
    coords = {
        "cell": [str(cell) for cell in range(lead.size)],
        "subject": ("cell", np.repeat([*"abc"], items)),
        "item": ("cell", np.tile([f"q{i:03d}" for i in range(items)], 3)),
        "options": ("cell", [OPTIONS] * lead.size),
        "correct": ["wrong", "right"],
        "rating": range(1, RATINGS + 1),
    }
    return xr.DataArray(table, coords, ("cell", "correct", "rating"), "counts")


def brute_pairs(table):
    """Pairs that ratings order, and all: of answers of one observer to other items, to the same."""
    answers = [
        (item, correct, rating)
        for (item, correct, rating), n in np.ndenumerate(table)
        for _ in range(n)
    ]
    won, pairs = [0.0, 0.0], [0, 0]
    for item, correct, rating in answers:
        for other, is_right, theirs in answers:
            if correct and not is_right:
                own = int(item == other)
                pairs[own] += 1
                won[own] += (rating > theirs) + 0.5 * (rating == theirs)
    return np.array([won, pairs])


def test_statistics_of_items_are_those_of_single_answers():
    table = np.random.default_rng(1).poisson(0.7, (3, 6, 2, RATINGS))
    labels = {"correct": ["wrong", "right"], "rating": range(1, RATINGS + 1)}
    counts = xr.DataArray(table, labels, ("cell", "item_level", "correct", "rating"))
    found = item_statistics(counts).to_series()
    number = table.sum(axis=(0, 2, 3))
    accuracy = table[:, :, 1].sum(axis=(0, 2)) / number
    rating = table.sum(axis=(0, 2)) @ np.arange(1, RATINGS + 1) / number
    areas = np.divide(*sum(brute_pairs(own) for own in table))
    expected = [accuracy.std(), rating.std(), np.corrcoef(accuracy, rating)[0, 1], *areas]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def fitted_statistics(formula, items):
    model = replace(load_model("alternatives_crossed", loadings=False), formula=formula)
    drawn = hmetad.fit(answers(items), model, draws=100, tune=200, chains=2, **QUIET)
    return drawn, hmetad.bayes.predicted_counts(drawn, draws=100)


@pytest.mark.integration
def test_a_model_without_an_effect_on_confidence_misses_how_ratings_differ_between_items():
    _, both = fitted_statistics(BOTH, 120)
    assert both["p_items"].sel(statistic="rating_sd").item() > 0.1
    assert not [x for x in hmetad.notices(both) if "items differ" in x.message.lower()]
    # One answer of an observer to an item has no pair.
    assert np.isnan(both["items"].sel(statistic="auroc2_within").item())
    _, one = fitted_statistics(FORMULA, 120)
    assert one["p_items"].sel(statistic="rating_sd").item() < 0.05
    [notice] = [x for x in hmetad.notices(one) if "items differ" in x.message.lower()]
    assert "rating_sd" in notice.message


# So few draws are enough for sums of the same numbers, and too few for an elpd.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.integration
def test_elpd_of_items_is_that_of_quadrature_at_the_same_draws():
    """Ten items at 40 draws: probabilities and the integral over the effect by plain sums."""
    drawn, _ = fitted_statistics(FORMULA, 60)
    posterior = drawn["posterior"].to_dataset().isel(draw=slice(None, None, 5))
    thinned = drawn.assign(posterior=xr.DataTree(posterior))
    found = hmetad.loo(thinned).elpd_i[:10]
    # Effects in units of their SD, far out.
    z = np.linspace(-8, 8, 97)
    outcome = answers(60).values.reshape(3, 60, -1).argmax(axis=-1)[:, :10]
    expected = np.empty((2, 20, 10))
    for chain, draw in np.ndindex(2, 20):
        at = posterior.isel(chain=chain, draw=draw)
        effect = at["dprime_1|item_sigma"].item() * z
        p = np.stack([outcomes(at.isel(cell=j), effect) for j in range(3)])
        of_items = p[np.arange(3)[:, None], outcome].prod(axis=0)
        expected[chain, draw] = np.log(of_items @ norm.pdf(z) * (z[1] - z[0]))
    log_p = xr.DataArray(expected, dims=("chain", "draw", "item"))
    np.testing.assert_allclose(item_log_likelihood(Fitted.of(thinned))[..., :10], log_p, atol=1e-5)
    groups = {"posterior": thinned["posterior"], "log_likelihood": log_p.to_dataset(name="counts")}
    again = arviz_stats.loo(xr.DataTree.from_dict(groups), pointwise=True)
    np.testing.assert_allclose(found, again.elpd_i, atol=1e-4)


def outcomes(cell, effect):
    """P of wrong and right answers with each rating, (outcomes, nodes), by the trapezoid."""
    d = (cell["dprime"].item() + effect[:, None]) / np.sqrt(2)
    meta, x = cell["m_ratio"].item() * d, np.linspace(-10, 16, 521)

    def leads(d, y):
        """P(wrong, margin > y) and P(right, margin > y)."""
        below = norm.cdf(x - y)
        right = norm.pdf(x - d) * below ** (OPTIONS - 1)
        wrong = norm.pdf(x) * norm.cdf(x - y - d) * below ** (OPTIONS - 2) * (OPTIONS - 1)
        return np.trapezoid([wrong, right], x, axis=-1)

    edges = [leads(meta, y) for y in (0, *cell["criteria"].values * np.sqrt(2))]
    parts = np.stack([*edges, np.zeros_like(edges[0])])
    p = leads(d, 0) / edges[0] * (parts[:-1] - parts[1:])
    return p.swapaxes(0, 1).reshape(2 * RATINGS, -1)
