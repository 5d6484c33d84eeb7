"""Parameters that a table cannot tell are named before they are believed."""

import numpy as np
import pytest
from sampled_items import sampled_items

from hmetad.base.errors import InputError
from hmetad.likelihood.family import TWO_ALTERNATIVES
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import designs_of
from hmetad.specs.identification import identification_notices
from hmetad.specs.loading import card_names, load_model
from hmetad.specs.spec import ModelSpec, with_changes

COORDS = {"subject": [*"aaabbb"], "item": [*"xyzxyz"]}


def said(counts, **formula):
    spec = sampled_items(**formula)
    return identification_notices(counts, spec, designs_of(counts, spec))


def one_stimulus_an_item(counts, stimuli):
    """The same counts, of each item those of one stimulus."""
    values = counts.values.copy()
    values[np.arange(len(stimuli)), 1 - np.array(stimuli)] = 0
    return counts.copy(data=values)


def test_items_of_one_stimulus_cannot_have_effects_on_both_dprime_and_c():
    both = simulate_counts([1.5] * 6, m_ratio=0.8, trials=20, coords=COORDS, seed=1)
    assert said(both) == []
    single = one_stimulus_an_item(both, [0, 1, 1, 0, 1, 1])
    (notice,) = said(single)
    assert notice.code == "not-identified"
    assert "item" in notice.message
    assert said(single, c="1 + (1|subject)") == []
    # An item that is old to one observer and new to another tells them apart.
    assert said(one_stimulus_an_item(both, [0, 1, 1, 1, 0, 0])) == []


PEOPLE = {"subject": [*"aabbccdd"], "condition": ["x", "y"] * 4, "group": [*"mmmmnnnn"]}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("1 + S(condition) + (1 | subject)", "(1 + S(condition) | subject)"),
        ("0 + condition + (1 | subject)", "(0 + condition | subject)"),
        ("1 + S(condition)*group + (1 | subject)", "(1 + S(condition) + S(condition):group | "),
        ("1 + condition + (1 + condition | subject)", ""),
        ("0 + condition + (0 + condition || subject)", ""),
        ("1 + S(condition) + (1 + S(condition) || subject)", ""),
        ("1 + condition + (1 | subject) + (1 | subject:condition)", ""),
        ("1 + group + (1 | subject)", ""),
        ("1 + condition", ""),
    ],
)
def test_a_condition_within_people_whose_effect_is_the_same_in_all_is_noticed(formula, expected):
    counts = simulate_counts([1.5] * 8, m_ratio=0.8, trials=200, coords=PEOPLE, seed=1)
    spec = with_changes(load_model("group"), formula={"log_m": formula})
    found = identification_notices(counts, spec, designs_of(counts, spec))
    steps = [one.next_step for one in found if one.code == "same-effect"]
    assert len(steps) == bool(expected)
    assert all(f"Let it differ in formula=: {expected}" in step for step in steps)


TWO_GROUPS = {"subject": [*"abcdabed"], "group": [*"mmmmnnnn"], "age": [20, 30, 40, 50] * 2}


@pytest.mark.parametrize(
    ("formula", "number"),
    [
        ("1 + group + (1 | subject)", 3),
        ("1 + group * scale(age) + (1 | subject)", 3),
        ("1 + group + (1 | subject:group)", 0),
    ],
)
def test_people_of_two_groups_with_the_same_name_are_counted_in_a_formula_of_ones_own(
    formula, number
):
    """Both groups have an a, a b and a d."""
    counts = simulate_counts([1.5] * 8, m_ratio=0.8, trials=200, coords=TWO_GROUPS, seed=1)
    spec = with_changes(load_model("group"), formula={"log_m": formula})
    found = identification_notices(counts, spec, designs_of(counts, spec))
    messages = [one.message for one in found if one.code == "same-effect"]
    assert [f"{number} of 5 levels of subject" in text for text in messages] == [True] * bool(
        number
    )


FORMULA = dict.fromkeys(["log_m", "dprime", "c", "log_gap"], "0 + group + (1 | subject)")


@pytest.mark.parametrize(
    ("card", "formula", "got"),
    [
        ("group_comparison", {}, "several levels of group in 3 of 5 subject, as in a"),
        ("group_comparison", {"log_m": FORMULA["log_m"]}, "several levels of group in 3"),
        ("group_comparison", FORMULA, ""),
        ("group_comparison", {x: f.replace("ect)", "ect:group)") for x, f in FORMULA.items()}, ""),
        ("regression", {}, "several levels of covariate in 1 of 5 subject, as in d"),
        ("hmetad_regression", {}, "several levels of covariate in 1 of 5 subject"),
    ],
)
def test_a_card_of_what_lies_between_people_refuses_people_with_two_levels_of_it(
    card, formula, got
):
    age = [20, 30, 40, 50, 20, 30, 60, 55]
    coords = {**TWO_GROUPS, "covariate": age}
    counts = simulate_counts([1.5] * 8, m_ratio=0.8, trials=200, coords=coords, seed=1)
    spec = with_changes(load_model(card), formula=formula)
    assert load_model(card).from_json(spec.to_json()) == spec
    if not got:
        assert designs_of(counts, spec)
        return
    with pytest.raises(InputError, match=got) as refused:
        designs_of(counts, spec)
    assert "trials.assign(subject=" in refused.value.next_step
    assert "(1 | subject:" in refused.value.shell_step


@pytest.mark.parametrize(
    ("formula", "meant"),
    [
        ("1 + group + (1 + group || subject)", "1 + group + (1 | subject)"),
        (
            "1 + group * condition + (1 + group * condition || subject)",
            "1 + group * condition + (1 + condition || subject)",
        ),
        ("0 + group + (1 | subject) + (0 + group || subject)", "0 + group + (1 | subject)"),
        ("1 + condition + (1 + condition | subject)", ""),
        ("0 + group + (0 + group || subject)", ""),
    ],
)
def test_effects_of_people_of_what_is_constant_in_them_are_noticed_with_the_formula_meant(
    formula, meant
):
    counts = simulate_counts([1.5] * 8, m_ratio=0.8, trials=200, coords=PEOPLE, seed=1)
    spec = with_changes(load_model("group"), formula={"log_m": formula, "dprime": formula})
    found = identification_notices(counts, spec, designs_of(counts, spec))
    steps = [one for one in found if one.code == "constant-slope"]
    assert len(steps) == bool(meant)
    for one in steps:
        assert one.next_step == f"Write the formula {meant}."
        assert "The formula of log_m, dprime has random effects" in one.message


def test_an_item_is_no_person_in_whom_an_effect_may_differ():
    coords = {"item": [*"xxyyzz"], "condition": ["x", "y"] * 3}
    counts = simulate_counts([1.5] * 6, m_ratio=0.8, trials=200, coords=coords, seed=1)
    spec = sampled_items(log_m="1 + condition + (1|item)")
    spec = with_changes(spec, formula=dict.fromkeys(("dprime", "c", "log_gap"), "1 + (1|item)"))
    codes = {one.code for one in identification_notices(counts, spec, designs_of(counts, spec))}
    assert "same-effect" not in codes


@pytest.mark.parametrize("card", card_names())
def test_no_card_holds_an_effect_on_m_equal_in_all_people(card):
    spec = load_model(card)
    counts = simulate_counts(**spec.example, seed=1)
    found = identification_notices(counts, spec, designs_of(counts, spec))
    assert not {"same-effect", "constant-slope"} & {one.code for one in found}


def test_conditions_in_the_formula_of_m_alone_are_said():
    who = {"subject": [*"aabbccdd"], "task": ["easy", "hard"] * 4}
    counts = simulate_counts([2.2, 1.0] * 4, m_ratio=0.8, trials=300, coords=who, seed=1)
    terms = "1 + task + (1 | subject)"
    every = dict.fromkeys(["log_m", "dprime", "c", "log_gap"], terms)
    cases = ("group", {"log_m": terms}), ("group", every), ("multitask", None), ("group", None)
    found = []
    for card, formula in cases:
        spec = with_changes(load_model(card), formula=formula)
        said = identification_notices(counts, spec, designs_of(counts, spec))
        found.append([one.message for one in said if one.code == "held-equal"])
    assert [len(messages) for messages in found] == [1, 0, 0, 0]
    assert "dprime, c, log_gap" in found[0][0]
    assert "task" in found[0][0]


@pytest.mark.parametrize(
    "card", [name for name in card_names() if load_model(name).record.layout == TWO_ALTERNATIVES]
)
def test_every_family_is_told_what_its_formula_holds_equal(card):
    who = {"subject": [*"aabbccdd"], "task": ["easy", "hard"] * 4}
    counts = simulate_counts([2.2, 1.0] * 4, trials=300, coords=who, seed=1)
    bare = with_changes(load_model(card), priors={})
    names, focus = bare.formula_parameters, bare.record.parameter_of_interest
    if focus not in names:
        return
    pooled, apart = "1 + (1 | subject)", "1 + task + (1 | subject)"
    for others, is_held in ((pooled, True), (apart, False)):
        formula = dict.fromkeys(names, others) | {focus: apart}
        spec = ModelSpec("own", likelihood=bare.likelihood, choices=bare.choices, formula=formula)
        said = identification_notices(counts, spec, designs_of(counts, spec))
        steps = [one for one in said if one.code == "held-equal"]
        assert len(steps) == is_held
        for one in steps:
            assert f"of {bare.record.symbol} has task" in one.message
            assert all(name in one.message for name in {*names} - {focus})
            assert all(name in one.next_step for name in names)
