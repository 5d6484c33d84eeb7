"""Effects of groups: however they are sampled, they have the same distribution."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.stats import ks_2samp, kstest, norm, t

from hmetad.bayes.design import parse_design
from hmetad.bayes.parametrisation import parametrise
from hmetad.bayes.predictors import linear_predictor
from hmetad.bayes.spec import CORRELATION
from hmetad.likelihood.priors import Prior

pytestmark = pytest.mark.integration

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
FORMULAS = {
    "1 + (1|subject)": ["1|subject"],
    "1 + scale(age) + (1|subject)": ["1|subject"],
    "1 + (1|subject) + (1|item)": ["1|subject", "1|item"],
    "0 + task + (0 + task|subject)": ["task|subject"],
    "0 + task + (1|subject)": ["1|subject"],
    "0 + task + scale(age) + (0 + task|subject)": ["task|subject"],
    "1 + S(task) + (1 + S(task)||subject)": ["1|subject", "S(task)|subject"],
}


def prior_of(name):
    if name.endswith("_corr"):
        return CORRELATION
    return Prior("HalfNormal", sigma=0.5) if name.endswith("_sigma") else COMMON


def prior_draws(formula, is_centred=None, draws=4000, prior_of=prior_of, seed=1, extra=()):
    """Draws from the prior of a linear predictor's variables, by name, (draws, ...)."""
    design = parse_design("log_m", formula, CELLS)
    parametrisation = parametrise(design, is_centred or {}, len(extra))
    with pm.Model(coords={"cell": range(len(CELLS)), "response": ["S1", "S2"]}) as model:
        value = linear_predictor(parametrisation, extra, prior_of, lambda name: name)
        pm.Deterministic("value", value, dims=("cell", *extra))
    prior = pm.sample_prior_predictive(draws, model=model, random_seed=seed)["prior"]
    return {str(name): prior[name].values[0] for name in prior.data_vars}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_coefficient_derived_from_the_average_has_its_own_prior(formula):
    prior = prior_draws(formula)
    averages = [name for name in prior if name.endswith("_average")]
    assert averages
    offsets = [prior[name] for name in prior if name.endswith("_offset")]
    moved = np.concatenate([x.reshape(len(x), -1) for x in offsets], axis=1)
    for name in averages:
        coefficient = prior[name.removesuffix("_average")].reshape(len(moved), -1)
        for values in coefficient.T:
            assert kstest(values, norm(0.3, 0.7).cdf).pvalue > 1e-3
            among = np.corrcoef(values, moved.T)[0, 1:]
            assert (abs(among) < 4.5 / np.sqrt(len(values))).all()


def test_the_average_is_the_least_squares_fit_of_the_groups_own_coefficients():
    prior = prior_draws("1 + scale(age) + (1|subject)", draws=5)
    own = prior["value"][:, ::2]
    age = CELLS["age"].to_numpy()
    columns = np.stack([np.ones(SUBJECTS), ((age - age.mean()) / age.std())[::2]], axis=1)
    expected = np.linalg.lstsq(columns, own.T)[0]
    np.testing.assert_allclose(prior["log_m_Intercept_average"], expected[0], rtol=1e-10)
    np.testing.assert_allclose(prior["log_m_scale(age)_average"], expected[1], rtol=1e-10)


# PyMC's own random multivariate normal is what Numba would like contiguous.
@pytest.mark.filterwarnings("ignore:.*np.dot:numba.core.errors.NumbaPerformanceWarning")
@pytest.mark.parametrize(("formula", "effects"), FORMULAS.items())
def test_centred_or_not_the_prior_is_the_same(formula, effects):
    # The last effect centred, so that one block of several is each.
    ours = prior_draws(formula, draws=3000)
    for chosen in (effects, effects[-1:]):
        theirs = prior_draws(formula, dict.fromkeys(chosen, True), draws=3000, seed=2)
        assert any(name.endswith("_coefficient") for name in theirs)
        for first, second in ((0, 1), (0, 2)):
            for sign in (1, -1):
                mine, other = (
                    x["value"][:, first] + sign * x["value"][:, second] for x in (ours, theirs)
                )
                assert ks_2samp(mine, other).pvalue > 1e-3


@pytest.mark.parametrize("formula", list(FORMULAS))
def test_what_common_columns_and_centred_effects_share_is_in_the_effects_alone(formula):
    design = parse_design("log_m", formula, CELLS)
    found = parametrise(design, dict.fromkeys(FORMULAS[formula], True))
    for block in design.blocks:
        for group in range(len(block.groups)):
            own = block.index == group
            np.testing.assert_allclose(block.columns[own].T @ found.columns[own], 0, atol=1e-9)


def test_a_prior_that_is_no_location_family_stays_with_the_coefficient():
    def positive(name):
        is_common = not name.endswith("_sigma")
        return Prior("HalfNormal", sigma=0.5) if is_common else prior_of(name)

    prior = prior_draws("1 + (1|subject)", prior_of=positive, draws=500)
    assert "log_m_Intercept_average" not in prior
    assert (prior["log_m_Intercept"] > 0).all()


def test_a_t_distribution_moves_with_the_average():
    def wide(name):
        return prior_of(name) if name.endswith("_sigma") else Prior("StudentT", nu=3, mu=0, sigma=1)

    prior = prior_draws("1 + (1|subject)", prior_of=wide)
    assert kstest(prior["log_m_Intercept"], t(3).cdf).pvalue > 1e-3


@pytest.mark.parametrize("formula", ["1 + (1|subject)", "0 + task + (0 + task||subject)"])
def test_one_response_may_be_centred_and_the_other_not(formula):
    name = "1|subject" if formula.startswith("1") else "task|subject"
    flags = [[True, False]] if formula.startswith("1") else [[True, False], [False, False]]
    options = {"draws": 3000, "extra": ("response",)}
    ours = prior_draws(formula, **options)
    theirs = prior_draws(formula, {name: np.array(flags)}, seed=2, **options)
    assert f"log_m_{name}_coefficient" in theirs
    for response in (0, 1):
        for first, second in ((0, 1), (0, 2)):
            mine, other = (
                x["value"][:, first, response] - x["value"][:, second, response]
                for x in (ours, theirs)
            )
            assert ks_2samp(mine, other).pvalue > 1e-3
        mine, other = (x["value"][..., response].mean(axis=1) for x in (ours, theirs))
        assert ks_2samp(mine, other).pvalue > 1e-3
