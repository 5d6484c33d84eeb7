"""Coordinates in which chains move: the same posterior, and near normal for few groups."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from hmetad.base.monte_carlo import check_chains
from hmetad.bayes.chains import Request, sampler_of
from hmetad.bayes.density import evaluate, evaluate_warped, unwarp, warped
from hmetad.bayes.program import build_program, unfold
from hmetad.bayes.rounds import sample_rounds
from hmetad.likelihood.priors import Prior
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.loading import load_model

FORMULAS = {
    "intercept": "1 + (1|subject)",
    "slopes": "1 + task + (1 + task|subject)",
    "crossed": "1 + age + (1|subject) + (1|task)",
    "nested": "1 + (1|subject) + (1|subject:task)",
    "no groups": "1 + task",
}
# A standard deviation that is sampled as its logarithm.
POSITIVE = {"log_m_1|subject_sigma": Prior("LogNormal", mu=-1, sigma=0.5)}


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(2)
    coords = {"subject": np.repeat(list("abc"), 2), "task": ["x", "y"] * 3}
    ages = {"age": np.repeat(rng.normal(size=3), 2)}
    dprime, m_ratio = rng.uniform(1, 2, 6), rng.uniform(0.5, 1.2, 6)
    return simulate_counts(
        dprime, m_ratio=m_ratio, trials=2000, coords=coords, covariates=ages, seed=4
    )


def points_of(program):
    start = warped(program.first_point, program.packed)
    return start + np.random.default_rng(5).uniform(-1.5, 1.5, (4, len(start)))


def free_values(program, u):
    x = np.empty(len(u))
    return x, unwarp(u, program.packed, x)


@pytest.mark.parametrize(
    ("formula", "priors"),
    [*((formula, {}) for formula in FORMULAS), ("slopes", POSITIVE)],
    ids=[*FORMULAS, "positive"],
)
def test_it_is_a_change_of_variables(counts, formula, priors):
    model = load_model("individual", formula={"log_m": FORMULAS[formula]}, priors=priors)
    program = build_program(counts, model)
    for u in points_of(program):
        x, jacobian = free_values(program, u)
        np.testing.assert_allclose(warped(x, program.packed), u, rtol=1e-9, atol=1e-12)
        slopes = np.empty(len(u))
        value = evaluate_warped(u, program.packed, slopes)
        assert value == pytest.approx(evaluate(x, program.packed, np.empty(len(u))) + jacobian)
        numeric = approx_fprime(
            u, lambda at: evaluate_warped(at, program.packed, np.empty(len(at))), 1e-6
        )
        np.testing.assert_allclose(slopes, numeric, rtol=1e-3, atol=1e-3 * abs(slopes).max())
    # The Jacobian against that of SciPy's differences.
    columns = [free_values(program, u + e)[0] - free_values(program, u - e)[0] for e in near(u)]
    sign, size = np.linalg.slogdet(np.array(columns) / 2e-5)
    at_start = warped(program.first_point, program.packed)
    base = [
        free_values(program, at_start + e)[0] - free_values(program, at_start - e)[0]
        for e in near(u)
    ]
    expected = size - np.linalg.slogdet(np.array(base) / 2e-5)[1]
    assert sign > 0
    found = jacobian - free_values(program, at_start)[1]
    assert found == pytest.approx(expected, abs=1e-5)


def near(u):
    return 1e-5 * np.eye(len(u))


def test_three_people_are_sampled_as_well_as_many(counts):
    program = build_program(counts, load_model("group", formula={"c": "1 + (1|subject)"}))
    options = {"draws": 500, "tune": 500, "chains": 4, "cores": 2, "random_seed": 1}
    plan = Request(options | {"quiet": True}).plan
    drawn = next(sample_rounds(sampler_of(program), plan, program.arrays.size, 0.9))
    x = unfold(program.arrays, drawn.x)
    shared = [
        place
        for v in program.layout.free
        if v.role in ("coefficient", "sd")
        for place in v.elements.ravel()
    ]
    _, bulk, tail = check_chains(np.moveaxis(x[..., shared], -1, 0))
    # Of 2,000 draws; without the change of variables, standard deviations have some 100.
    assert min(bulk.min(), tail.min()) > 400
