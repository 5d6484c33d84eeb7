"""Penalised modes against SciPy's optimiser, and on tables that plain likelihood can't do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from hmetad.likelihood.ratings import log_likelihood
from hmetad.likelihood.registry import load_likelihood
from hmetad.mle.scoring import penalised_modes

A = np.array([[[26, 37, 35, 52], [12, 4, 2, 2]], [[22, 15, 5, 2], [33, 38, 40, 45]]], float)
LIKELIHOODS = {
    "meta-d": load_likelihood("meta-d"),
    "absolute": load_likelihood("meta-d", meta_criterion="absolute"),
    "M": load_likelihood("meta-d", scale="m"),
    "meta-d′": load_likelihood("meta-d", scale="meta_d"),
    "response-conditional": load_likelihood("response-conditional"),
    "unequal-variance": load_likelihood("unequal-variance", scale="m", meta_criterion="absolute"),
}
# What has no compiled kernel is differentiated by differences.
LIKELIHOODS |= {
    f"{k}, readable": replace(x, kernel_module="") for k, x in [*LIKELIHOODS.items()][:5:4]
}
SIDES = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
each = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=list(LIKELIHOODS))


def moments(likelihood):
    """Mean and SD of the default priors, as vectors."""
    sizes = [int(np.prod(likelihood.shape(p.name, 4))) for p in likelihood.parameters]
    for name in ("mu", "sigma"):
        yield np.repeat([p.prior.parameters[name] for p in likelihood.parameters], sizes)


def as_values(vector, likelihood):
    """Values of parameters, by name."""
    values, start = {}, 0
    for p in likelihood.parameters:
        size = int(np.prod(likelihood.shape(p.name, 4)))
        values[p.name] = vector[start : start + size].reshape(likelihood.shape(p.name, 4))
        start += size
    return values


def penalised(vector, counts, likelihood):
    """ℓ less the penalty, by the readable likelihood."""
    centre, spread = moments(likelihood)
    values = as_values(vector, likelihood)
    penalty = (vector - centre) / spread
    if "meta_d" in values:
        # The prior of meta-d′ lies about d′.
        penalty[2] = (values["meta_d"] - values["dprime"]) / spread[2]
    return log_likelihood(counts, likelihood.outcomes(values)) - (penalty**2).sum() / 2


@pytest.mark.integration
@each
def test_the_mode_is_that_of_scipys_optimiser(likelihood):
    modes = penalised_modes(A[None], likelihood)
    assert modes.is_converged.all()
    ours = np.concatenate([modes.values[p.name][0].ravel() for p in likelihood.parameters])
    found = minimize(
        lambda v: -penalised(v, A, likelihood),
        next(iter(moments(likelihood))),
        method="BFGS",
        options={"gtol": 1e-6},
    )
    assert penalised(ours, A, likelihood) >= -found.fun - 1e-9
    # BFGS with differences for a gradient stops within 1e-4.
    np.testing.assert_allclose(ours, found.x, atol=3e-4)


@pytest.mark.parametrize("name", ["meta-d", "meta-d, readable"])
def test_variances_are_those_of_the_inverse_hessian(name):
    likelihood = LIKELIHOODS[name]
    many = 1000 * A  # Expected and observed information meet in large tables that fit.
    modes = penalised_modes(many[None], likelihood)
    at = {key: value[0] for key, value in modes.values.items()}
    fitted = many.sum((1, 2))[:, None, None] * np.exp(likelihood.outcomes(at))
    vector = np.concatenate([at[p.name].ravel() for p in likelihood.parameters])
    step = 1e-4 * np.eye(len(vector))

    def second(a, b):
        ends = [(i * j, penalised(vector + i * a + j * b, fitted, likelihood)) for i, j in SIDES]
        return sum(sign * value for sign, value in ends) / 4e-8

    hessian = np.array([[second(a, b) for a in step] for b in step])
    ours = np.concatenate([modes.variances[p.name][0].ravel() for p in likelihood.parameters])
    np.testing.assert_allclose(ours, np.diag(np.linalg.inv(-hessian)), rtol=2e-3)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((2, 2, 4)),
        np.array([[[0, 0, 0, 50], [0, 0, 0, 0]], [[0, 0, 0, 0], [0, 0, 0, 50]]]),
        np.array([[[9, 9, 9, 9], [0, 0, 0, 90]], [[0, 0, 0, 90], [9, 9, 9, 9]]]),
        np.array([[[0, 0, 0, 0], [9, 9, 9, 9]], [[0, 0, 0, 0], [9, 9, 9, 9]]]),
    ],
    ids=["no trials", "no errors", "more wrong than right", "one response"],
)
@each
def test_degenerate_tables_have_a_finite_answer(table, likelihood):
    modes = penalised_modes(np.array([table], float), likelihood)
    assert modes.is_converged.all()
    for p in likelihood.parameters:
        assert np.isfinite(modes.values[p.name]).all()
        assert (modes.variances[p.name] > 0).all()
        assert (modes.variances[p.name] <= p.prior.parameters["sigma"] ** 2 + 1e-9).all()


def test_estimates_without_penalty_stay_where_a_normal_can_say_something():
    """Confidence that runs backward where errors are rare: M has a slope and no curvature."""
    tables = [
        [[[0, 0, 0, 0], [37, 18, 34, 311]], [[0, 0, 0, 0], [1, 1, 4, 394]]],
        [[[7, 0, 0, 0], [382, 8, 2, 1]], [[11, 0, 0, 0], [387, 2, 0, 0]]],
        [[[20, 2, 1, 0], [33, 46, 298, 0]], [[62, 37, 46, 24], [227, 4, 0, 0]]],
    ]
    likelihood = load_likelihood("meta-d")
    modes = penalised_modes(np.array(tables, float), likelihood)
    for p in likelihood.parameters:
        moved = modes.without_penalty[p.name][0] - modes.values[p.name]
        # Three standard deviations of the prior; before, an estimate could be a hundred away.
        assert abs(moved).max() <= 3 * p.prior.parameters["sigma"] + 1e-9


def test_cells_that_are_alike_have_the_modes_of_one():
    likelihood = LIKELIHOODS["meta-d"]
    kinds = np.array([A, A[::-1, ::-1], A * 2])
    order = np.array([0, 1, 2, 1, 0, 0, 2, 1, 1])
    many = penalised_modes(kinds[order], likelihood)
    for name, values in penalised_modes(kinds, likelihood).values.items():
        np.testing.assert_allclose(many.values[name], values[order], rtol=1e-9)
