"""What a model is made of is right before it is sampled."""

from dataclasses import replace

import numpy as np
import pytest

from hmetad.base.errors import InputError
from hmetad.bayes.model import initial_values, pymc_model
from hmetad.bayes.program import build_program
from hmetad.likelihood.priors import Prior
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.loading import load_model

SD = "log_m_1|subject_sigma"


@pytest.fixture(scope="module")
def counts():
    people = {"subject": list("abcdef")}
    return simulate_counts([1.5] * 6, m_ratio=0.8, trials=400, seed=1, coords=people)


@pytest.mark.parametrize("dist", ["Normal", "StudentT"])
def test_a_standard_deviation_has_no_prior_of_either_sign(counts, dist):
    parameters = {"mu": 0, "sigma": 1} | ({"nu": 4} if dist == "StudentT" else {})
    model = load_model("group", priors={SD: Prior(dist, **parameters)})
    with pytest.raises(InputError, match="a standard deviation is positive"):
        build_program(counts, model)
    renamed = load_model("hmetad_group", priors={"sigma_c2": Prior(dist, **parameters)})
    with pytest.raises(InputError, match="a standard deviation is positive"):
        build_program(counts, renamed)


def test_hyperparameters_of_criteria_take_a_name(counts):
    card = load_model("hmetad_group")
    priors = {name: prior for name, prior in card.priors.items() if name != "mu_c2"}
    names = {**card.names, "mu_c2": "middle"}
    program = build_program(counts, replace(card, names=names, priors=priors))
    model = pymc_model(program)
    assert "middle" in model.named_vars
    assert "middle" in initial_values(program, model)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("individual", None),
        ("individual", "1 + age + (1 + age || subject)"),
        ("group", None),
        ("hmetad_group", None),
        ("hmetad_single", None),
        ("unequal_variance", None),
    ],
)
def test_every_variable_has_a_start_of_its_shape(counts, name, formula):
    counts = counts.assign_coords(age=("cell", np.arange(6.0)))
    program = build_program(counts, load_model(name, formula=formula))
    model = pymc_model(program)
    own = model.eval_rv_shapes()
    shapes = {v.name: own[v.name] for v in model.free_RVs}
    start = initial_values(program, model)
    assert {n: np.broadcast_shapes(v.shape, shapes[n]) for n, v in start.items()} == shapes
