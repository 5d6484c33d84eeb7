"""Chains begin near the data."""

import numpy as np
import pandas as pd
import pytest
from sampled_items import sampled_items

from hmetad.bayes.chains import initial_points
from hmetad.bayes.model import pymc_model
from hmetad.bayes.parametrisation import parametrise
from hmetad.bayes.program import build_program
from hmetad.bayes.start import fit_mixed
from hmetad.measures.sdt import sdt
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import parse_design
from hmetad.specs.loading import load_model


def subjects_and_tasks(subjects, sd, trials, seed=1):
    """Groups of observers in two tasks, log M normal between them."""
    rng = np.random.default_rng(seed)
    log_m = np.repeat(rng.normal(-0.3, sd, subjects), 2)
    coords = {
        "subject": np.repeat([str(i) for i in range(subjects)], 2),
        "task": np.tile(["a", "b"], subjects),
    }
    return simulate_counts(1.8, m_ratio=np.exp(log_m), trials=trials, coords=coords, seed=seed)


def test_what_the_data_say_of_a_group_is_the_estimate_of_its_cells_alone():
    """Two cells a group, whose precision adds up, and a model of the intercept alone."""
    estimates = np.random.default_rng(1).normal(size=60)
    variances = np.random.default_rng(2).uniform(0.1, 0.5, 60)
    cells = pd.DataFrame({"subject": np.repeat([f"{i:03d}" for i in range(30)], 2)})
    design = parse_design("log_m", "1 + (1|subject)", cells)
    (block,) = fit_mixed(parametrise(design), estimates, variances).blocks
    precision = (1 / variances).reshape(30, 2)
    own = (estimates.reshape(30, 2) * precision).sum(axis=1) / precision.sum(axis=1)
    np.testing.assert_allclose(block.information[:, 0], precision.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(block.estimates[:, 0], own, rtol=1e-9)


def test_what_is_said_of_a_larger_group_leaves_room_for_the_smaller_ones():
    """Labs of 4 subjects of one cell each: a lab's mean is no surer than its subjects are alike."""
    rng = np.random.default_rng(3)
    estimates = np.repeat(rng.normal(size=40), 4) + rng.normal(0, 0.5, 160)
    cells = pd.DataFrame({"lab": np.repeat(range(40), 4), "subject": range(160)}).astype(str)
    design = parse_design("log_m", "1 + (1|lab) + (1|subject)", cells)
    labs, subjects = fit_mixed(parametrise(design), estimates, np.full(160, 0.04)).blocks
    between = float(subjects.sigmas[0]) ** 2
    np.testing.assert_allclose(labs.information, 4 / (0.04 + between), rtol=1e-9)
    np.testing.assert_allclose(subjects.information, 1 / 0.04, rtol=1e-9)
    np.testing.assert_allclose(subjects.estimates[:, 0], estimates, rtol=1e-9)


def test_the_start_of_a_formula_is_near_its_truth():
    counts = subjects_and_tasks(100, 0.4, 2000)
    spec = load_model("individual", formula={"log_m": "1 + task + (1|subject)"})
    program = build_program(counts, spec)
    values = program.start.values
    assert float(values["log_m_Intercept"]) == pytest.approx(-0.3, abs=0.1)
    assert float(values["log_m_task"][0]) == pytest.approx(0, abs=0.1)
    assert float(values["log_m_1|subject_sigma"]) == pytest.approx(0.4, abs=0.1)
    assert (values["log_m_1|subject_offset"] == np.zeros(100)).all()
    assert set(values) >= {v.name for v in pymc_model(program).free_RVs}


def test_people_whose_ratings_say_nothing_do_not_carry_the_population_away():
    """Their estimates have errors without end: the population's SD of log M was once 50 there."""
    rows = [
        [177, 8, 0, 0, 214, 1, 0, 0, 35, 0, 0, 0, 364, 0, 1, 0],
        [2, 0, 0, 0, 396, 1, 0, 1, 1, 0, 0, 0, 397, 2, 0, 0],
        [0, 0, 0, 0, 396, 3, 1, 0, 0, 0, 0, 0, 400, 0, 0, 0],
        [7, 0, 0, 0, 382, 8, 2, 1, 11, 0, 0, 0, 387, 2, 0, 0],
        [0, 0, 0, 0, 37, 18, 34, 311, 0, 0, 0, 0, 1, 1, 4, 394],
        [1, 0, 0, 0, 383, 11, 5, 0, 1, 0, 0, 0, 366, 20, 13, 0],
    ]
    counts = simulate_counts([1.0] * 6, coords={"subject": [*"123456"]}, seed=1)
    counts = counts.copy(data=np.array(rows).reshape(6, 2, 2, 4))
    program = build_program(counts, load_model("group"))
    values = program.start.values
    assert abs(values["log_m_Intercept"]) < 3
    assert values["log_m_1|subject_sigma"] < 3
    begin, density = initial_points(program), program.log_density
    for seed in range(20):
        value, gradient = density(begin(seed))
        assert value > -1e6
        assert np.isfinite(gradient).all()


def test_cells_of_one_trial_start_at_the_estimates_of_their_groups():
    """30 observers crossed with 40 items, one trial each: their own d′ within its error."""
    rng = np.random.default_rng(2)
    d = 1.5 + 0.4 * np.repeat(rng.standard_normal(30), 40)
    coords = {
        "subject": np.repeat([f"{i:02d}" for i in range(30)], 40),
        "item": np.tile([f"{i:02d}" for i in range(40)], 30),
    }
    counts = simulate_counts(d, m_ratio=0.8, trials=2, coords=coords, seed=2)
    spec = sampled_items(c="1 + (1|subject)")
    start = build_program(counts, spec).start
    (block,) = [b for b in start.parametrisations["dprime"].blocks if b.block.factor == "subject"]
    pooled = counts.groupby("subject").sum()
    alone = sdt(pooled.rename(subject="cell"), correction="loglinear")
    # Within the error of 80 trials, and with about the precision that a signal detection fit has.
    error = alone["dprime_se"].values
    assert np.abs(block.estimates[:, 0] - alone["dprime"].values).max() < 2 * error.max()
    assert np.corrcoef(block.estimates[:, 0], alone["dprime"].values)[0, 1] > 0.9
    ratio = block.information[:, 0] * error**2
    assert 0.4 < np.median(ratio) < 2.5
