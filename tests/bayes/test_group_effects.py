"""Effects of groups: however they are sampled, they have the same distribution."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.stats import ks_2samp

from hmetad.bayes.model import linear_predictor
from hmetad.bayes.parametrisation import parametrise
from hmetad.likelihood.priors import Prior
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import designs_of, parse_design
from hmetad.specs.layout import layout_of
from hmetad.specs.spec import CORRELATION, ModelSpec

# PyMC's own random multivariate normal is what Numba would like contiguous.
CONTIGUOUS = "ignore:.*np.dot:numba.core.errors.NumbaPerformanceWarning"
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings(CONTIGUOUS)]

SUBJECTS = 7
CELLS = pd.DataFrame(
    {
        "subject": np.repeat([f"s{i}" for i in range(SUBJECTS)], 2),
        "task": ["x", "y"] * SUBJECTS,
        "item": [f"i{i % 3}" for i in range(2 * SUBJECTS)],
        "age": np.repeat([20.0, 25, 31, 33, 40, 52, 70], 2),
    }
)
COMMON = Prior("Normal", mu=0.3, sigma=0.7)
FORMULAS = [
    "1 + (1|subject)",
    "1 + scale(age) + (1|subject)",
    "1 + (1|subject) + (1|item)",
    "1 + (1|subject/task)",
    "0 + task + (0 + task|subject)",
    "0 + task + (1|subject)",
    "0 + task + scale(age) + (0 + task|subject)",
    "1 + S(task) + (1 + S(task)||subject)",
]


def prior_of(name):
    if name.endswith("_corr"):
        return CORRELATION
    return Prior("HalfNormal", sigma=0.5) if name.endswith("_sigma") else COMMON


def with_information(parametrisation, much):
    """As if the data had said something, which differs between groups and effects."""
    rng, parts = np.random.default_rng(8), []
    for part in parametrisation.blocks:
        shape = part.estimates.shape
        own = {"estimates": rng.normal(0.3, 1, shape), "information": rng.gamma(1, much, shape)}
        parts.append(replace(part, **own))
    return replace(parametrisation, blocks=tuple(parts))


def formula_layout(formula, likelihood):
    """Variables of a formula of log M with the priors above, and labels of all dims."""
    coords = {name: CELLS[name].to_numpy() for name in ("subject", "task", "item")}
    counts = simulate_counts(
        [1.5] * len(CELLS), coords=coords, covariates={"age": CELLS["age"].to_numpy()}, seed=1
    )
    spec = ModelSpec("own", likelihood=likelihood, formula={"log_m": formula})
    designs = designs_of(counts, spec)
    names = [name for name in layout_of(counts, spec, designs).priors if name.startswith("log_m_")]
    spec = replace(spec, priors={name: prior_of(name) for name in names})
    layout = layout_of(counts, spec, designs)
    return layout.formulas["log_m"], layout.coords


def prior_draws(formula, much=0.0, draws=4000, seed=1, extra=()):
    """Draws from the prior of a linear predictor's variables, by name, (draws, ...)."""
    own, coords = formula_layout(formula, "response-conditional" if extra else "meta-d")
    parametrisation = parametrise(own.design, [2] * len(extra))
    if much:
        parametrisation = with_information(parametrisation, much)
    with pm.Model(coords=coords) as model:
        value = linear_predictor(own, parametrisation)
        pm.Deterministic("value", value, dims=("cell", *extra))
    prior = pm.sample_prior_predictive(draws, model=model, random_seed=seed)["prior"]
    return {str(name): prior[name].values[0] for name in prior.data_vars}


@pytest.mark.parametrize("much", [pytest.param(1.0, marks=pytest.mark.slow), 30.0])
@pytest.mark.parametrize("formula", FORMULAS)
def test_whatever_the_data_say_the_prior_is_the_same(formula, much):
    ours, theirs = prior_draws(formula, draws=3000), prior_draws(formula, much, 3000, seed=2)
    for first, second in ((0, 1), (0, 2)):
        for sign in (1, -1):
            mine, other = (
                x["value"][:, first] + sign * x["value"][:, second] for x in (ours, theirs)
            )
            assert ks_2samp(mine, other).pvalue > 1e-3


def test_effects_of_a_group_have_those_of_the_larger_group_in_their_mean():
    design = parse_design("log_m", "1 + (1|subject:task) + (1|subject)", CELLS)
    larger, smaller = parametrise(design).blocks
    assert (larger.block.factor, smaller.block.factor) == ("subject", "subject:task")
    assert larger.outer == ()
    (outer,) = smaller.outer
    assert outer.place == 0
    assert (outer.weights == 1).all()
    assert (outer.parents[smaller.block.index, 0] == larger.block.index).all()


def test_effects_of_crossed_groups_are_in_the_mean_as_often_as_their_cells_are():
    design = parse_design("log_m", "1 + (1|subject) + (1|item)", CELLS)
    items, subjects = parametrise(design).blocks
    assert (items.block.factor, subjects.block.factor) == ("item", "subject")
    (outer,) = subjects.outer
    for group in range(SUBJECTS):
        met = items.block.index[subjects.block.index == group]
        assert {*outer.parents[group]} == {*met}
    np.testing.assert_allclose(outer.weights, 0.5)


@pytest.mark.parametrize("formula", ["1 + (1|subject)", "0 + task + (0 + task||subject)"])
def test_each_response_has_effects_of_its_own(formula):
    options = {"draws": 3000, "extra": ("response",)}
    ours, theirs = prior_draws(formula, **options), prior_draws(formula, 3.0, seed=2, **options)
    for response in (0, 1):
        for first, second in ((0, 1), (0, 2)):
            mine, other = (
                x["value"][:, first, response] - x["value"][:, second, response]
                for x in (ours, theirs)
            )
            assert ks_2samp(mine, other).pvalue > 1e-3
        mine, other = (x["value"][..., response].mean(axis=1) for x in (ours, theirs))
        assert ks_2samp(mine, other).pvalue > 1e-3
