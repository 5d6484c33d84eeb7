"""What a model is made of is right before it is sampled."""

from dataclasses import replace

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
