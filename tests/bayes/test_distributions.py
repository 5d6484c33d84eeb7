"""HMeta-d's priors against SciPy and against draws."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy.special import exp1
from scipy.stats import beta, kstest, norm

from hmetad.bayes.distributions import (
    add_variable,
    lkj_cholesky,
    log_exponential_integral,
    sorted_normal,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.tensors import log_ndtr

# PyMC draws from a CustomDist by calling Python, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:Numba will use object mode:UserWarning")


def test_the_exponential_integral_is_that_of_scipy():
    x = np.concatenate([np.logspace(-12, 2.5, 200), [1.5 - 1e-12, 1.5, 1.5 + 1e-12]])
    ours = log_exponential_integral(pt.as_tensor(x)).eval()
    np.testing.assert_allclose(ours, np.log(exp1(x)), rtol=1e-13, atol=1e-13)


def test_the_normal_cdf_and_its_gradient_are_those_of_scipy():
    z, given = pt.dvector(), np.array([-1e6, -50.0, -9.0, -1.0, -0.999, 0.0, 5.0, 9.0, 50.0, 1e6])
    value = log_ndtr(z)
    evaluate = pytensor.function([z], [value, pytensor.grad(value.sum(), z)], mode="NUMBA")
    ours, slope = evaluate(given)
    np.testing.assert_allclose(ours, norm.logcdf(given), rtol=1e-12, atol=1e-17)
    ratio = np.exp(norm.logpdf(given) - norm.logcdf(given))
    np.testing.assert_allclose(slope[1:], ratio[1:], rtol=1e-11)
    assert slope[0] == pytest.approx(1e6, rel=1e-3)


@pytest.fixture(scope="module")
def group_sd():
    with pm.Model() as model:
        variable = add_variable("sd", Prior("UniformTimesHalfNormal", sigma=1.5), ())
    return model, variable


def test_the_prior_of_a_group_sd_is_the_density_of_its_product(group_sd):
    model, variable = group_sd
    drawn = pm.draw(variable, draws=4000, random_seed=1)
    rng = np.random.default_rng(2)
    product = rng.uniform(size=4000) * abs(rng.normal(0, 1.5, 4000))
    value = pt.dvector()
    log_density = pm.logp(variable, value)
    # It has a pole at 0: on a grid of roots it is smooth enough.
    grid = np.linspace(1e-7, 12**0.25, 8001) ** 4
    density = np.exp(log_density.eval({value: grid}))
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert below[-1] == pytest.approx(1, abs=1e-5)
    for sample in (drawn, product):
        assert kstest(sample, lambda x: np.interp(x, grid, below)).pvalue > 1e-3
    assert np.exp(log_density.eval({value: [-1.0]}))[0] == 0
    start = model.compile_logp(mode=Mode(linker="py", optimizer=None))(model.initial_point())
    assert np.isfinite(start)


def test_sorted_criteria_of_a_group_lie_around_its_mean_on_both_sides():
    with pm.Model(coords={"cell": range(3000), "response": ["S1", "S2"], "criterion": [1, 2, 3]}):
        kappa = pt.as_tensor(np.full(3000, 0.2))
        gaps = sorted_normal("log_gap", kappa, 1.0, 0.5, ("cell", "response", "criterion"))
    edges = 0.2 + np.array([-1, 1])[:, None] * np.exp(pm.draw(gaps, random_seed=1)).cumsum(-1)
    for side, sign in ((0, -1), (1, 1)):
        beyond = norm(sign * 1.0, 0.5)
        share = beyond.cdf(0.2) if sign < 0 else beyond.sf(0.2)
        truncated = lambda x, b=beyond, p=share, s=sign: (  # noqa: E731
            b.cdf(x) / p if s < 0 else 1 - b.sf(x) / p
        )
        assert kstest(edges[:, side].ravel(), truncated).pvalue > 1e-3


@pytest.mark.integration
def test_correlations_have_the_marginals_of_lkj():
    """Of an LKJ(η) matrix of size n, every correlation is 2 Beta(a, a) - 1, a = η - 1 + n/2."""
    with pm.Model():
        cholesky = lkj_cholesky("partial", 4, 2.0)
    drawn = pm.draw(cholesky, draws=4000, random_seed=1)
    corr = drawn @ drawn.transpose(0, 2, 1)
    np.testing.assert_allclose(np.diagonal(corr, axis1=1, axis2=2), 1)
    for i, j in [(1, 0), (2, 1), (3, 0), (3, 2)]:
        assert kstest((corr[:, i, j] + 1) / 2, beta(3, 3).cdf).pvalue > 1e-3
