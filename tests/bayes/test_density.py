"""The compiled log posterior is that of the PyMC model, in value and gradient."""

from dataclasses import replace

import numpy as np
import pytest
from pytensor.compile.mode import Mode
from scipy.special import exp1

from hmetad.bayes.chains import posterior_of
from hmetad.bayes.density import log_exponential_integral
from hmetad.bayes.model import pymc_model
from hmetad.bayes.program import build_program, unfold
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.registry import REGISTERED, load_likelihood, register
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.layout import LINK_FOLDED
from hmetad.specs.loading import card_names, load_model
from hmetad.specs.spec import OF_ITEMS, ModelSpec

# PyTensor's own evaluation, without compiling.
MODE = Mode(linker="py", optimizer=None)
ENDINGS = ("", "_log__", "_logodds__", "_log__")
MOST_OPERANDS = 32
# It has more variables than PyTensor can add up without compiling, which takes minutes.
# PyMC's model has no effect of items on all criteria together, or on the evidence.
NAMES = [name for name in card_names() if not {*OF_ITEMS} & {*load_model(name).formula}]
MARKS = dict.fromkeys(NAMES, pytest.mark.integration) | {"within_subject": pytest.mark.slow}
# Of each kind one is tried by default.
USUAL = ("individual", "group", "hmetad_group", "gaussian_noise_group")
CARDS = [name if name in USUAL else pytest.param(name, marks=MARKS[name]) for name in MARKS]
SD = "log_m_1|subject_sigma"
# PyMC takes the reciprocals of rates in single precision: these are powers of two.
PRIORS = {
    "StudentT": {"log_m_Intercept": Prior("StudentT", nu=3, mu=0.2, sigma=0.7)},
    "LogNormal": {SD: Prior("LogNormal", mu=-1, sigma=0.5)},
    "Gamma": {SD: Prior("Gamma", alpha=2.5, beta=4)},
    "Exponential": {SD: Prior("Exponential", lam=2)},
    "UniformTimesHalfNormal": {SD: Prior("UniformTimesHalfNormal", sigma=0.8)},
    "positive": {"log_m_Intercept": Prior("HalfNormal", sigma=1)},
}
FORMULAS = {
    "0 + task": "0 + task + (1|subject)",
    "two factors": "1 + (1|subject) + (1|task)",
    "nested": "1 + (1|subject) + (1|subject:task)",
    "independent": "1 + task + (1 + task||subject)",
    "correlated": "1 + task + (1 + task|subject)",
    "correlated levels": "0 + task + age + (0 + task|subject)",
    "covariate": "1 + age + (1|subject)",
    "more effects than coefficients": "1 + (1 + task|subject)",
}


def table(name):
    """Small count table of a card's example."""
    example = {key: plain(value) for key, value in load_model(name).example.items()}
    return simulate_counts(**(example | {"trials": 300}), seed=3)


def plain(value):
    if hasattr(value, "items"):
        return {key: plain(own) for key, own in value.items()}
    return list(value) if isinstance(value, tuple) else value


def people_in_tasks():
    rng = np.random.default_rng(2)
    coords = {"subject": np.repeat(list("abcdef"), 2), "task": ["x", "y"] * 6}
    ages = {"age": np.repeat(rng.normal(size=6), 2)}
    d, m = rng.uniform(1, 2, 12), rng.uniform(0.5, 1.2, 12)
    return simulate_counts(d, m_ratio=m, trials=200, coords=coords, covariates=ages, seed=4)


def with_information(program, choose):
    """The program with other estimates of its effects, of a known information."""
    found = {}
    for name, old in program.start.parametrisations.items():
        parts = []
        for part in old.blocks:
            shape = part.estimates.shape
            estimates = np.random.default_rng(3).normal(0, 0.5, shape)
            parts.append(replace(part, estimates=estimates, information=choose(shape)))
        found[name] = replace(old, blocks=tuple(parts))
    return replace(program, known_start=replace(program.start, parametrisations=found))


def assert_equal(program, seed=1):
    """Differences between two points, and all slopes: PyMC's constants have 7 digits."""
    density, model = program.log_density, pymc_model(program)
    mode = MODE if len(model.free_RVs) <= MOST_OPERANDS else None
    value_of, slopes_of = (f(mode=mode) for f in (model.compile_logp, model.compile_dlogp))
    points = points_of(program, seed)
    names = [model.rvs_to_values[v].name for v in model.free_RVs]
    assert sorted(names) == sorted(v.name + ENDINGS[v.link] for v in program.layout.free)
    values, expected = [], []
    for x in points:
        named, folded = pymc_point(program, x), x[program.arrays.links == LINK_FOLDED]
        value, gradient = density(x)
        values.append(value)
        # Half of it on either side of 0; PyMC has the logarithm, whose Jacobian is the SD.
        expected.append(float(value_of(named)) - np.log(2 * folded).sum())
        parts = np.split(slopes_of(named), np.cumsum([named[name].size for name in names])[:-1])
        slopes = dict(zip(names, parts, strict=True))
        for v in program.layout.free:
            theirs = slopes[v.name + ENDINGS[v.link]].reshape(v.shape)
            if v.link == LINK_FOLDED:
                theirs = (theirs - 1) / x[v.elements]
            np.testing.assert_allclose(gradient[v.elements], theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)
    assert values[1] - values[0] == pytest.approx(expected[1] - expected[0], rel=1e-9, abs=1e-9)


def points_of(program, seed):
    """Two points, of positive standard deviations."""
    points = np.random.default_rng(seed).normal(0, 0.3, (2, program.arrays.size))
    folded = program.arrays.links == LINK_FOLDED
    points[:, folded] = np.exp(points[:, folded])
    return points


def pymc_point(program, x):
    """Values of PyMC's variables."""
    return {
        v.name + ENDINGS[v.link]: (np.log if v.link == LINK_FOLDED else np.array)(x[v.elements])
        for v in program.layout.free
    }


def assert_same_variables(program, seed=2):
    """All variables of the posterior at a point, as PyMC computes them."""
    model = pymc_model(program)
    x = points_of(program, seed)[0]
    ours = posterior_of(program, x[None, None])
    named = pymc_point(program, x)
    variables = model.unobserved_value_vars
    values = model.compile_fn(variables, mode=MODE, on_unused_input="ignore")(named)
    theirs = {v.name: value for v, value in zip(variables, values, strict=True)}
    names = {name for name in theirs if not name.endswith("__")}
    assert {*ours.data_vars} == names - program.layout.offset_names
    for name, own in ours.items():
        assert own.dims[2:] == tuple(model.named_vars_to_dims.get(name, ()))
        np.testing.assert_allclose(own.values[0, 0], theirs[name], rtol=1e-9, atol=1e-12)
    for dim in {*ours.dims} - {"chain", "draw"}:
        assert [*ours[dim].values] == [*model.coords[dim]]


@pytest.mark.parametrize("formula", FORMULAS)
def test_standard_deviations_of_either_sign_are_the_same_posterior(formula):
    model = load_model(
        "individual", formula={"log_m": FORMULAS[formula], "log_gap": "1 + (1|subject)"}
    )
    program = build_program(people_in_tasks(), model)
    rng = np.random.default_rng(6)
    folded = program.arrays.links == LINK_FOLDED
    assert folded.any()
    for x in rng.normal(0, 0.5, (5, program.arrays.size)):
        x[np.flatnonzero(folded)[0]] = -0.3
        positive = unfold(program.arrays, x)
        assert (positive[folded] > 0).all()
        density = program.log_density
        assert density(positive)[0] == pytest.approx(density(x)[0], rel=1e-12)
        one, other = (posterior_of(program, point[None, None]) for point in (x, positive))
        assert one.identical(other)


@pytest.mark.integration
@pytest.mark.parametrize("name", CARDS)
def test_it_is_pymcs_density_of_every_card(name):
    assert_equal(build_program(table(name), load_model(name)))


@pytest.mark.parametrize("name", [*CARDS[:-1], "within_subject"])
def test_draws_have_the_variables_of_the_pymc_model(name):
    assert_same_variables(build_program(table(name), load_model(name)))


@pytest.mark.parametrize(
    "priors",
    [
        *("StudentT", "LogNormal", "UniformTimesHalfNormal"),
        *(pytest.param(x, marks=pytest.mark.integration) for x in ("Gamma", "Exponential")),
        pytest.param("positive", marks=pytest.mark.integration),
    ],
)
def test_it_is_pymcs_density_with_every_prior(priors):
    model = load_model("group", priors=PRIORS[priors])
    assert_equal(build_program(table("group"), model))


@pytest.mark.integration
@pytest.mark.parametrize("known", ["nothing", "little", "much", "differs"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_it_is_pymcs_density_of_every_formula_and_parametrisation(formula, known):
    rng = np.random.default_rng(5)

    def choose(shape):
        much = {"nothing": 0.0, "little": 0.5, "much": 400.0}
        return rng.gamma(0.3, 30, shape) if known == "differs" else np.full(shape, much[known])

    model = load_model(
        "individual", formula={"log_m": FORMULAS[formula], "log_gap": "1 + (1|subject)"}
    )
    program = with_information(build_program(people_in_tasks(), model), choose)
    assert_equal(program)
    assert_same_variables(program)


@pytest.mark.parametrize("scale", ["m", "meta_d", "log_m"])
@pytest.mark.parametrize("rule", ["relative", "absolute"])
def test_it_is_pymcs_density_on_every_scale(scale, rule):
    model = load_model("individual", formula={}, scale=scale, meta_criterion=rule)
    program = build_program(table("individual"), model)
    assert_equal(program)
    assert_same_variables(program)


@pytest.mark.parametrize("name", ["individual", "hmetad_single", "hmetad_group"])
def test_it_is_pymcs_density_where_dprime_and_c_are_plugged_in(name):
    program = build_program(table(name), load_model(name, type1="plug_in"))
    assert_equal(program)
    assert_same_variables(program)


def test_responses_may_have_a_meta_d_each_around_dprime():
    model = ModelSpec("mine", likelihood="response-conditional", scale="meta_d")
    assert_equal(build_program(table("response_conditional"), model))


def test_a_prior_around_a_parameter_with_a_formula_is_left_to_pymc():
    model = load_model("individual", formula={"dprime": "1 + (1|subject)"}, scale="meta_d")
    assert not build_program(people_in_tasks(), model).is_compiled


def test_the_exponential_integral_is_scipys():
    for x in (1e-12, 0.01, 0.7, 1.49, 1.51, 4.0, 30.0, 300.0):
        value, slope = log_exponential_integral(x)
        assert value == pytest.approx(np.log(exp1(x)), rel=1e-13)
        assert slope == pytest.approx(-np.exp(-x) / (x * exp1(x)), rel=1e-12)


def test_likelihoods_without_a_compiled_density_are_not_covered():
    program = build_program(table("individual"), load_model("individual"))
    assert program.is_compiled
    own = register(replace(load_likelihood("signal-detection"), name="mine", compiled_kernel=""))
    own_model = ModelSpec("x", likelihood=own.name)
    assert not build_program(table("individual"), own_model).is_compiled
    REGISTERED.pop("mine")
