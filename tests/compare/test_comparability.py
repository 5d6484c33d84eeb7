"""Differences in d′ and c are sought in all chains, at little cost."""

import numpy as np
import pytest
import xarray as xr
from scipy.sparse import csr_array
from scipy.stats import norm

from hmetad.compare.comparability import excludes_zero
from hmetad.compare.contrasts import contrast
from hmetad.notice import notices

PAIR = csr_array([[1.0, -1.0]])


def fit_of(dprime):
    """Posterior of two cells with these draws of d′, and others that do not differ."""
    noise = np.random.default_rng(1).normal(0, 0.1, (2, *dprime.shape))
    dims = ("chain", "draw", "cell")
    coords = {"cell": ["a", "b"], "model": ("cell", ["a", "b"])}
    values = {"log_m": noise[0], "c": noise[1], "dprime": dprime}
    return xr.Dataset({name: (dims, x) for name, x in values.items()}, coords)


def codes(fit):
    return [notice.code for notice in notices(contrast(fit, var="log_m", over="model"))]


@pytest.mark.parametrize("number", [500, 1000, 1001, 3999, 4000, 4001])
def test_of_many_draws_every_so_many_th_is_looked_at(number):
    """Differences in the draws that are left out do not show, those in the others do."""
    step = -(-number // 1000)
    draws = np.random.default_rng(1).normal(0, 0.01, (number, 2))
    for first in range(step):
        some = draws.copy()
        some[first::step, 0] += 1
        assert excludes_zero(some, PAIR, independent=False).tolist() == [first == 0]


def test_a_difference_is_that_of_all_chains_and_not_of_the_first():
    """25 chains of 160: two do not show it, a third of the first thousand draws."""
    dprime = np.random.default_rng(2).normal(1.5, 0.1, (25, 160, 2))
    assert codes(fit_of(dprime)) == []
    dprime[2:, :, 1] += 2
    assert codes(fit_of(dprime)) == ["type1-differs"]


def test_a_difference_is_clear_beyond_the_corrected_quantile_of_its_spread():
    """One contrast, sought in d′ and c: z of .05/4, of an SD that the covariance makes."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(500, 1))
    draws = shared + 0.1 * rng.normal(size=(500, 2))
    draws -= draws.mean(axis=0)
    spread = (draws[:, 0] - draws[:, 1]).std()
    for factor, expected in ((0.99, False), (1.01, True)):
        shift = [factor * norm.isf(0.05 / 4) * spread, 0]
        assert excludes_zero(draws + shift, PAIR, independent=False).tolist() == [expected]
    apart = np.sqrt(draws.var(axis=0).sum())
    for factor, expected in ((0.99, False), (1.01, True)):
        shift = [factor * norm.isf(0.05 / 4) * apart, 0]
        assert excludes_zero(draws + shift, PAIR, independent=True).tolist() == [expected]


def test_coefficients_are_of_no_cells_whose_d_could_differ():
    dprime = np.random.default_rng(2).normal([1.0, 3.0], 0.1, (4, 100, 2))
    fit = fit_of(dprime)
    assert codes(fit) == ["type1-differs"]
    named = {"cell": "log_m_task_dim"}
    effects = fit["log_m"].drop_vars("model").rename(named).assign_coords(log_m_task_dim=["x", "y"])
    both = fit.assign(log_m_task=effects)
    assert notices(contrast(both, var="log_m_task", over="task")) == []


def test_d_of_both_responses_is_compared_where_each_has_an_m():
    fits = {}
    for name, centre in (("young", 1.0), ("old", 3.0)):
        fit = fit_of(np.random.default_rng(2).normal(centre, 0.1, (4, 100, 2)))
        fits[name] = fit.assign(log_m=fit["log_m"].expand_dims(response=["S1", "S2"], axis=-1))
    asked = {"var": "log_m", "over": "fit", "within": ["model", "response"], "independent": True}
    found = {notice.code: notice.cells for notice in notices(contrast(fits, **asked))}
    pairs = contrast(fits, **asked)["pair"].values.tolist()
    assert len(pairs) == 4
    assert list(found["type1-differs"]) == pairs


def test_pairs_that_differ_are_named_and_no_others():
    # The first is known too badly to differ from the second.
    dprime = np.random.default_rng(2).normal([1.5, 1.0, 6.0], [1.0, 0.1, 0.1], (4, 100, 3))
    noise = np.random.default_rng(1).normal(0, 0.1, (2, *dprime.shape))
    values = {"log_m": noise[0], "c": noise[1], "dprime": dprime}
    coords = {"cell": list("abc"), "model": ("cell", list("abc"))}
    dims = ("chain", "draw", "cell")
    fit = xr.Dataset({name: (dims, x) for name, x in values.items()}, coords)
    (notice,) = notices(contrast(fit, var="log_m", over="model"))
    assert notice.cells == ("a − c", "b − c")
