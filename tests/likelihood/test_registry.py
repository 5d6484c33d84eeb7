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
from hmetad.likelihood.family import Quantity
from hmetad.likelihood.registry import REGISTERED, likelihood_names, load_likelihood, register
from hmetad.text.names import axis_name, heading, symbol

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
    values = {
        p.variable: rng.normal(0, 0.5, (20, *likelihood.shape(p.name, 4)))
        for p in likelihood.parameters
    }
    total = np.exp(likelihood.outcomes(values)).sum(axis=(-2, -1))
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@pytest.mark.parametrize("name", likelihood_names())
def test_probabilities_follow_from_what_a_fit_keeps(name):
    likelihood = load_likelihood(name)
    rng = np.random.default_rng(2)
    values = {
        p.variable: rng.normal(0, 0.5, (20, *likelihood.shape(p.name, 4)))
        for p in likelihood.parameters
    }
    everything = likelihood.derived(values)
    kept = {name: everything[name] for name in likelihood.results}
    np.testing.assert_allclose(likelihood.outcomes(kept), likelihood.outcomes(values), rtol=1e-9)


@pytest.mark.integration
def test_the_example_of_the_documentation_runs_and_prints_what_it_says():
    if not PAGE.is_file():
        pytest.skip("no documentation beside the tests")
    one, group = re.findall(
        r"```\{code-block\} python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    space = {"quiet": QUIET}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(one.replace("random_seed=1", "**quiet"), space)
    # The group is built, and not sampled: that takes a minute.
    exec(group[: group.index("fit = ")], space)
    model = hmetad.build_model(space["counts"], space["people"])
    REGISTERED.pop("guessing")
    assert float(printed.getvalue()) == pytest.approx(0.1, abs=0.02)
    assert "logit_guess_1|subject_sigma" in model.named_vars


def test_a_fit_of_a_likelihood_that_is_not_registered_says_so(own):
    register(own)
    text = hmetad.ModelSpec("my model", likelihood="mine").to_json()
    REGISTERED.pop("mine")
    with pytest.raises(InputError, match=r"hmetad\.likelihood\.register"):
        hmetad.ModelSpec.from_json(text)


def test_other_probabilities_are_not_computed_by_the_code_of_a_likelihood_of_the_package(own):
    assert register(own).compiled_kernel == own.compiled_kernel

    def flatter(d, c, gaps, xp):
        return own.log_probabilities(d / 2, c, gaps, xp=xp)

    assert register(replace(own, log_probabilities=flatter)).compiled_kernel == ""
    first, *others = own.quantities
    assert (
        register(replace(own, quantities=(replace(first, unit="1"), *others))).compiled_kernel == ""
    )
    meta_d = load_likelihood("meta-d")
    assert register(replace(meta_d, name="mine")).kernel_module == meta_d.kernel_module

    def same(*arguments, xp):
        return meta_d.log_probabilities(*arguments, xp=xp)

    other = register(replace(meta_d, name="mine", log_probabilities=same))
    assert (other.kernel_module, other.compiled_kernel) == ("", "")


def test_what_cannot_be_registered_is_refused(own):
    with pytest.raises(InputError, match="a Family"):
        register("mine")
    with pytest.raises(
        InputError, match="name: got 'meta-d', allowed is a name other than those of"
    ):
        register(replace(own, name="meta-d"))
    with pytest.raises(InputError, match="arguments: got 'noise'"):
        register(replace(own, arguments=("dprime", "c", "gaps", "noise")))


def test_the_name_of_a_likelihood_in_the_place_of_a_card_is_told_apart(own):
    register(own)
    step = r"'mine' is a likelihood: ModelSpec\('mine', likelihood='mine'\)"
    with pytest.raises(InputError, match=step):
        hmetad.load_model("mine")


def test_tables_and_axes_know_the_symbols_of_a_registered_likelihood(own, monkeypatch):
    monkeypatch.setattr("hmetad.results.REGISTERED", known := {})
    monkeypatch.setattr("hmetad.likelihood.registry.RESULTS", known)
    share = Quantity(
        "lapse", "share of lapses", "trials", needs=("c",), compute=lambda v, _: v["c"], symbol="λ"
    )
    again = Quantity("c", "criterion c", parameter="c", symbol="C")
    register(replace(own, quantities=(own.quantities[0], again, *own.quantities[2:], share)))
    assert (symbol("lapse"), heading("lapse"), axis_name("lapse")) == ("λ", "λ", "λ (trials)")
    assert symbol("c") == "c"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parameter_of_interest", "dprim"),
        ("plotted", "dprim"),
        ("compared", "dprim"),
        ("tabulated", ("c", "dprim")),
        ("arguments", ("dprim", "c", "gaps")),
    ],
)
def test_names_in_a_likelihood_are_looked_up_when_it_is_registered(own, field, value):
    with pytest.raises(InputError, match=f"{field}: got 'dprim', .* Did you mean 'dprime'"):
        register(replace(own, **{field: value}))


def test_a_likelihood_whose_probabilities_do_not_sum_to_one_is_refused(own):
    def shifted(*values, xp):
        return own.log_probabilities(*values, xp=xp) + 0.1

    with pytest.raises(InputError, match=r"log_probabilities: got .* sum to 1\.10517"):
        register(replace(own, log_probabilities=shifted))
    with pytest.raises(InputError, match="sum to nan"):
        register(replace(own, log_probabilities=lambda *v, xp: shifted(*v, xp=xp) * np.nan))


def test_a_likelihood_that_is_wrong_for_several_cells_is_refused(own):
    def one_cell(d, c, gaps, xp):
        return own.log_probabilities(d, c, gaps, xp=xp) + 0 * d

    def without_ratings(d, c, gaps, xp):
        return own.log_probabilities(d, c, gaps, xp=xp)[..., 0]

    with pytest.raises(InputError, match="log_probabilities: got ValueError: operands could not"):
        register(replace(own, log_probabilities=one_cell))
    with pytest.raises(
        InputError, match=r"got shape \(5, 2, 2\) where .*, allowed is shape \(5, 2, 2, 4"
    ):
        register(replace(own, log_probabilities=without_ratings))


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda v, _: v["log_gap"], r"quantity extra: got shape \(5, 2, 3\) .* shape \(5,\)"),
        (lambda v, xp: xp.log(-abs(v["dprime"])), "quantity extra: got a value that is not finite"),
        (lambda v, _: v["absent"], "quantities: got KeyError: 'absent'"),
    ],
)
def test_quantities_of_another_shape_than_they_say_are_refused(own, compute, message):
    extra = Quantity("extra", needs=("dprime", "log_gap"), compute=compute)
    with pytest.raises(InputError, match=message):
        register(replace(own, quantities=(*own.quantities, extra)))


@pytest.mark.parametrize("name", likelihood_names())
@pytest.mark.parametrize("scale", ["log_m", "m", "meta_d"])
@pytest.mark.parametrize("criteria", ["log_gap", "group_sorted_normal"])
def test_those_of_the_package_with_any_choices_could_be_registered(own, name, scale, criteria):
    choices = {"scale": scale, "criteria": criteria, "type1": "plug_in"}
    legal = {choice.name for choice in load_likelihood(name).choices}
    own_choices = {key: value for key, value in choices.items() if key in legal}
    likelihood = load_likelihood(name, **own_choices)
    assert register(replace(likelihood, name=own.name)).name == "mine"


def test_choices_are_those_of_the_likelihood():
    with pytest.raises(InputError, match="meta_criterion: got 'relativ'"):
        load_likelihood("meta-d", meta_criterion="relativ")
    with pytest.raises(InputError, match="has no choices"):
        load_likelihood("signal-detection", scale="m")
    with pytest.raises(InputError, match="meta-d"):
        load_likelihood("meta-c")
