"""Likelihoods by name, and one that a user brings."""

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hmetad
from hmetad.errors import InputError
from hmetad.likelihood.registry import REGISTERED, likelihood_names, load_likelihood, register

PAGE = Path(__file__).parents[2] / "docs" / "likelihoods.md"
QUIET = {"draws": 300, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 1}


@pytest.fixture
def own():
    """A likelihood of one's own, forgotten afterwards."""
    likelihood = replace(load_likelihood("signal-detection"), name="mine")
    yield likelihood
    REGISTERED.pop("mine", None)


@pytest.mark.parametrize("name", likelihood_names())
def test_probabilities_of_every_likelihood_sum_to_one(name):
    likelihood = load_likelihood(name)
    rng = np.random.default_rng(1)
    values = {p.variable: rng.normal(0, 0.5, (20, *p.shape(4))) for p in likelihood.parameters}
    total = np.exp(likelihood.outcomes(values)).sum(axis=(-2, -1))
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@pytest.mark.parametrize("name", likelihood_names())
def test_probabilities_follow_from_what_a_fit_keeps(name):
    likelihood = load_likelihood(name)
    rng = np.random.default_rng(2)
    values = {p.variable: rng.normal(0, 0.5, (20, *p.shape(4))) for p in likelihood.parameters}
    everything = likelihood.derived(values)
    kept = {name: everything[name] for name in likelihood.results}
    np.testing.assert_allclose(likelihood.outcomes(kept), likelihood.outcomes(values), rtol=1e-9)


@pytest.mark.integration
def test_the_example_of_the_documentation_runs_and_prints_what_it_says():
    if not PAGE.is_file():
        pytest.skip("no documentation beside the tests")
    (code,) = re.findall(r"```\{code-block\} python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    code = code.replace("random_seed=1", "**quiet")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"quiet": QUIET})
    REGISTERED.pop("guessing")
    assert float(printed.getvalue()) == pytest.approx(0.1, abs=0.02)


def test_a_fit_of_a_likelihood_that_is_not_registered_says_so(own):
    register(own)
    text = hmetad.ModelSpec("my model", likelihood="mine").to_json()
    REGISTERED.pop("mine")
    with pytest.raises(InputError, match=r"hmetad\.likelihood\.register"):
        hmetad.ModelSpec.from_json(text)


def test_what_cannot_be_registered_is_refused(own):
    with pytest.raises(InputError, match="a Likelihood"):
        register("mine")
    with pytest.raises(InputError, match="name: got 'meta-d'"):
        register(replace(own, name="meta-d"))
    with pytest.raises(InputError, match="arguments: got 'noise'"):
        register(replace(own, arguments=("dprime", "c", "gaps", "noise")))


def test_choices_are_those_of_the_likelihood():
    with pytest.raises(InputError, match="meta_criterion: got 'relativ'"):
        load_likelihood("meta-d", meta_criterion="relativ")
    with pytest.raises(InputError, match="has no choices"):
        load_likelihood("signal-detection", scale="m")
    with pytest.raises(InputError, match="meta-d"):
        load_likelihood("meta-c")
