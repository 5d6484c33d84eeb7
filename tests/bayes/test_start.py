"""Chains begin near the data."""

import numpy as np
import pandas as pd
import pytest
from pymc.initial_point import make_initial_point_fns_per_chain
from scipy.stats import norm

from hmetad.bayes.design import parse_design
from hmetad.bayes.loading import load_model
from hmetad.bayes.model import initial_values, pymc_model
from hmetad.bayes.problem import build_problem
from hmetad.bayes.start import fit_mixed
from hmetad.simulate.simulate import simulate_counts


@pytest.mark.integration
@pytest.mark.parametrize("card", ["individual", "hmetad_single", "group", "hmetad_group"])
def test_the_start_lies_far_closer_to_the_data_than_the_priors_centre(card):
    counts = simulate_counts(
        [3.2, 1.2], [0.3, 0.5], 0.8, trials=20_000, coords={"subject": ["a", "b"]}, seed=1
    )
    problem = build_problem(counts, load_model(card))
    model = pymc_model(problem)
    start = initial_values(problem, model)
    log_p = model.compile_logp()
    centre = {name: np.zeros_like(value) for name, value in model.initial_point().items()}
    (begin,) = make_initial_point_fns_per_chain(
        model=model, overrides=start, jitter_rvs=set(), chains=1
    )
    assert log_p(begin(None)) - log_p(centre) > 5_000


def subjects_and_tasks(subjects, sd, trials, seed=1):
    """Groups of observers in two tasks, log M normal between them."""
    rng = np.random.default_rng(seed)
    log_m = np.repeat(rng.normal(-0.3, sd, subjects), 2)
    coords = {
        "subject": np.repeat([str(i) for i in range(subjects)], 2),
        "task": np.tile(["a", "b"], subjects),
    }
    return simulate_counts(1.8, m_ratio=np.exp(log_m), trials=trials, coords=coords, seed=seed)


@pytest.mark.parametrize(
    ("subjects", "sd", "trials", "expected"),
    [(100, 0.4, 1000, True), (20, 0.05, 200, False), (200, 0.0, 500, False)],
)
def test_effects_are_centred_where_their_variance_is_clear(subjects, sd, trials, expected):
    spec = load_model("individual", formula={"log_m": "1 + (1|subject)"})
    counts = subjects_and_tasks(subjects, sd, trials)
    (block,) = build_problem(counts, spec).start.parametrisations["log_m"].blocks
    assert block.is_centred.tolist() == [expected]


@pytest.mark.parametrize("groups", [5, 20, 200])
@pytest.mark.parametrize("ratio", [0.5, 2.0, 20.0])
def test_clarity_is_the_likelihood_lost_where_groups_do_not_differ(groups, ratio):
    """Estimates of groups whose spread is that of the variances: SciPy's normal densities."""
    error = 0.2
    spread = np.sqrt(error**2 * (1 + ratio))
    estimates = np.random.default_rng(1).normal(size=groups)
    estimates = spread * (estimates - estimates.mean()) / estimates.std()
    cells = pd.DataFrame({"subject": [f"{i:03d}" for i in range(groups)]})
    design = parse_design("log_m", "1 + (1|subject)", cells)
    found = fit_mixed(design, estimates, np.full(groups, error**2))
    lost = norm.logpdf(estimates, 0, spread).sum() - norm.logpdf(estimates, 0, error).sum()
    assert found.blocks[0].clarity == pytest.approx([lost], rel=1e-9)


def test_the_start_of_a_formula_is_near_its_truth():
    counts = subjects_and_tasks(100, 0.4, 2000)
    spec = load_model("individual", formula={"log_m": "1 + task + (1|subject)"})
    problem = build_problem(counts, spec)
    values = problem.start.values
    assert float(values["log_m_Intercept"]) == pytest.approx(-0.3, abs=0.1)
    assert float(values["log_m_task"][0]) == pytest.approx(0, abs=0.1)
    assert float(values["log_m_1|subject_sigma"]) == pytest.approx(0.4, abs=0.1)
    assert values["log_m_1|subject_coefficient"].shape == (100,)
    assert set(values) >= {v.name for v in pymc_model(problem).free_RVs}


def test_ratings_that_nobody_used_have_a_start():
    counts = simulate_counts([2.0], trials=500, ratings=5, seed=1)
    counts[..., 2] = 0
    values = build_problem(counts, load_model("individual")).start.values
    assert all(np.isfinite(v).all() for v in values.values())
    assert values["log_gap"].shape == (1, 2, 4)
