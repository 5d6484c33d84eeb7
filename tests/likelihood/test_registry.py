"""Likelihoods by name, and one that a user brings."""

import contextlib
import io
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import hmetad
from hmetad.base.errors import InputError
from hmetad.likelihood.family import Quantity
from hmetad.likelihood.registry import (
    REGISTERED,
    choice_parameters,
    likelihood_names,
    load_likelihood,
    register,
)
from hmetad.text.names import axis_name, heading, symbol

PAGE = Path(__file__).parents[2] / "docs" / "likelihoods.md"
QUIET = {
    "draws": 300,
    "tune": 200,
    "chains": 2,
    "progressbar": False,
    "quiet": True,
    "random_seed": 1,
}


@pytest.fixture
def own():
    """A likelihood of one's own, forgotten afterwards."""
    likelihood = replace(load_likelihood("signal-detection"), name="mine")
    yield likelihood
    REGISTERED.pop("mine", None)


@pytest.mark.parametrize("name", [*likelihood_names(), "normal"])
def test_every_variable_that_is_called_a_logarithm_has_its_link_with_all_choices(name):
    likelihood = load_likelihood(name)
    open_choices = {"quantity": ("auroc2",), "options": ("3",)}
    legal = {one.name: one.values or open_choices[one.name] for one in likelihood.choices}
    for chosen in product(*legal.values()):
        choices = dict(zip(legal, chosen, strict=True))
        if choices.get("type1") == "plug_in" and choices["noise"] != "normal":
            # What is plugged in is the d′ of normal evidence.
            continue
        own = load_likelihood(name, **choices)
        variables = {*own.results, *(p.variable for p in own.parameters)}
        called = {x: re.match("(log|logit|fisher_z)_", x) for x in variables}
        assert own.links == {x: found[1] for x, found in called.items() if found}


@pytest.mark.parametrize("name", likelihood_names())
def test_probabilities_of_every_likelihood_sum_to_one_and_follow_from_what_a_fit_keeps(name):
    likelihood, rng = load_likelihood(name), np.random.default_rng(1)
    values = {
        p.variable: rng.normal(0, 0.5, (20, *likelihood.shape(p.name, 4)))
        for p in likelihood.parameters
    }
    given = {name: rng.uniform(2, 5, 20) for name in likelihood.from_counts}
    values |= given
    log_p, everything = likelihood.outcomes(values), likelihood.derived(values)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=(-2, -1)), 1, rtol=1e-12)
    kept = {name: everything[name] for name in likelihood.results} | given
    np.testing.assert_allclose(likelihood.outcomes(kept), log_p, rtol=1e-9)


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
    other_unit = replace(own, quantities=(replace(first, unit="1"), *others))
    assert register(other_unit).compiled_kernel == ""
    meta_d = load_likelihood("meta-d")
    assert register(replace(meta_d, name="mine")).kernel_module == meta_d.kernel_module

    def same(*arguments, xp):
        return meta_d.log_probabilities(*arguments, xp=xp)

    other = register(replace(meta_d, name="mine", log_probabilities=same))
    assert (other.kernel_module, other.compiled_kernel) == ("", "")


def test_the_name_of_a_likelihood_in_the_place_of_a_card_is_told_apart(own):
    register(own)
    step = r"'mine' is a likelihood: write a card that has likelihood = 'mine'"
    with pytest.raises(InputError, match=step):
        hmetad.load_model("mine")


def test_tables_and_axes_know_the_symbols_of_a_registered_likelihood(own, monkeypatch):
    monkeypatch.setattr("hmetad.base.results.REGISTERED", known := {})
    monkeypatch.setattr("hmetad.likelihood.registry.RESULTS", known)
    share = Quantity(
        "lapse", "share of lapses", "trials", needs=("c",), compute=lambda v, _: v["c"], symbol="λ"
    )
    again = Quantity("c", "criterion c", parameter="c", symbol="C")
    register(replace(own, quantities=(own.quantities[0], again, *own.quantities[2:], share)))
    assert (symbol("lapse"), heading("lapse"), axis_name("lapse")) == ("λ", "λ", "λ (trials)")
    assert symbol("c") == "c"


def with_probabilities(change):
    """The same likelihood whose probabilities are changed."""

    def change_of(own):
        def changed(*arguments, xp):
            return change(own.log_probabilities(*arguments, xp=xp))

        return replace(own, log_probabilities=changed)

    return change_of


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: "mine", "a Family"),
        (
            lambda own: replace(own, name="meta-d"),
            "name: .*Expected a name other than those of.*, got 'meta-d'",
        ),
        (
            with_probabilities(lambda p: p + 0.1),
            r"log_probabilities: .*got .* sum to 1\.10517",
        ),
        (
            with_probabilities(lambda p: p[..., 0]),
            r".*Expected shape \(5, 2, 2, 4.*, got shape \(5, 2, 2\) where .*",
        ),
    ],
)
def test_what_cannot_be_registered_is_refused(own, change, message):
    with pytest.raises(InputError, match=message):
        register(change(own))


@pytest.mark.parametrize("name", likelihood_names())
@pytest.mark.parametrize("scale", ["log_m", "m", "meta_d"])
@pytest.mark.parametrize("criteria", ["log_gap", "group_sorted_normal"])
def test_those_of_the_package_with_any_choices_could_be_registered(own, name, scale, criteria):
    choices = {"scale": scale, "criteria": criteria, "type1": "plug_in"}
    legal = {choice.name: choice.values for choice in load_likelihood(name).choices}
    own_choices = {key: value for key, value in choices.items() if value in legal.get(key, ())}
    likelihood = load_likelihood(name, **own_choices)
    assert register(replace(likelihood, name=own.name)).name == "mine"


@pytest.mark.parametrize(
    ("name", "choices", "message"),
    [
        ("meta-d", {"meta_criterion": "relativ"}, "meta_criterion: .*got 'relativ'"),
        ("signal-detection", {"scale": "m"}, "has no choices"),
        ("meta-c", {}, "meta-d"),
    ],
)
def test_choices_are_those_of_the_likelihood(name, choices, message):
    with pytest.raises(InputError, match=message):
        load_likelihood(name, **choices)


def test_a_family_says_itself_on_what_its_choices_depend():
    found = {name: choice_parameters(load_likelihood(name)) for name in likelihood_names()}
    assert found["biased-alternatives"] == {"dprime", "bias"}
    assert found["unequal-variance"] == {"dprime", "c", "log_s"}
    assert choice_parameters(load_likelihood("linear-gaussian", process="wev")) == {"dprime", "c"}
    assert choice_parameters(load_likelihood("meta-d", type1="plug_in")) == set()
