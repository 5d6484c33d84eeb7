"""Penalised modes against SciPy's optimiser, and on tables that plain likelihood can't do."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hmetad.likelihood import theory
from hmetad.mle.scoring import Layout, penalised_modes

A = np.array([[[26, 37, 35, 52], [12, 4, 2, 2]], [[22, 15, 5, 2], [33, 38, 40, 45]]], float)
SPREAD = {"dprime": 1.0, "c": 1.0, "log_m": 1.0, "m": 1.0, "log_gap": 1.0, "log_s": 0.5}
CENTRE = {"dprime": 1.0, "c": 0.0, "log_m": 0.0, "m": 1.0, "log_gap": -0.7, "log_s": 0.0}
LAYOUTS = [
    Layout(4),
    Layout(4, is_relative=False),
    Layout(4, scale="m"),
    Layout(4, responses=2),
    Layout(4, has_s=True),
    Layout(4, scale="m", is_relative=False, responses=2, has_s=True),
]


def penalised(vector, counts, layout):
    """ℓ less the penalty, by the readable likelihood."""
    parts = {name: value[0] for name, value in layout.split(vector[None]).items()}
    ratio = np.exp(parts["log_m"]) if layout.scale == "log_m" else parts["m"]
    ratio = np.broadcast_to(ratio, 2)
    kappa = parts["c"] * (ratio if layout.is_relative else np.ones(2))
    s = np.exp(parts.get("log_s", 0.0))
    log_p = theory.log_joint_probabilities(
        parts["dprime"], parts["c"], ratio * parts["dprime"], kappa, np.exp(parts["log_gap"]), s
    )
    penalty = ((vector - layout.join(CENTRE)) / layout.join(SPREAD)) ** 2
    return theory.log_likelihood(counts, log_p) - penalty.sum() / 2


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_mode_is_that_of_scipys_optimiser(layout):
    modes = penalised_modes(A[None], layout, CENTRE, SPREAD)
    assert modes.is_converged.all()
    ours = np.concatenate([modes.values[name][0].ravel() for name in layout.sizes])
    found = minimize(
        lambda v: -penalised(v, A, layout),
        layout.join(CENTRE),
        method="BFGS",
        options={"gtol": 1e-6},
    )
    assert penalised(ours, A, layout) >= -found.fun - 1e-9
    # BFGS with differences for a gradient stops within 1e-4.
    np.testing.assert_allclose(ours, found.x, atol=3e-4)


def test_variances_are_those_of_the_inverse_hessian():
    layout = Layout(4)
    many = 1000 * A  # Expected and observed information meet in large tables that fit.
    modes = penalised_modes(many[None], layout, CENTRE, SPREAD)
    p = {name: value[0] for name, value in modes.values.items()}
    fitted = many.sum((1, 2))[:, None, None] * np.exp(
        theory.log_joint_probabilities(
            p["dprime"],
            p["c"],
            np.exp(p["log_m"]) * p["dprime"],
            np.exp(p["log_m"]) * p["c"],
            np.exp(p["log_gap"]),
        )
    )
    vector = np.concatenate([p[name].ravel() for name in layout.sizes])
    step = 1e-4 * np.eye(len(vector))
    hessian = np.array(
        [
            [
                (
                    penalised(vector + a + b, fitted, layout)
                    - penalised(vector + a - b, fitted, layout)
                    - penalised(vector - a + b, fitted, layout)
                    + penalised(vector - a - b, fitted, layout)
                )
                / 4e-8
                for a in step
            ]
            for b in step
        ]
    )
    ours = np.concatenate([modes.variances[name][0].ravel() for name in layout.sizes])
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
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_degenerate_tables_have_a_finite_answer(table, layout):
    modes = penalised_modes(np.array([table], float), layout, CENTRE, SPREAD)
    assert modes.is_converged.all()
    for name in layout.sizes:
        assert np.isfinite(modes.values[name]).all()
        assert (modes.variances[name] > 0).all()
        assert (modes.variances[name] <= SPREAD[name] ** 2 + 1e-9).all()
