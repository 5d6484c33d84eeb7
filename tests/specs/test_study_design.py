"""A study in words: the formulas that conditions, groups and predictors make for all parameters."""

import numpy as np
import pytest

from hmetad import InputError, build_model, fit_mle, load_model, notices, simulate_counts
from hmetad.specs.design import cell_table, parse_design
from hmetad.specs.spec import with_changes
from hmetad.specs.study_design import ROLES, study_of

ALL = load_model("group").formula_parameters


def study(card, counts, **words):
    return study_of(counts, load_model(card), *(words.get(role, ()) for role in ROLES))


def with_design(card, counts, **words):
    return study(card, counts, **words)[1]


def table(tasks=("a", "b"), people=6, **coords):
    """Counts of people by tasks: the first half are patients; ages and one easy and hard cell."""
    own = {"subject": np.repeat([f"p{i}" for i in range(people)], len(tasks))}
    own["task"] = np.tile(tasks, people)
    own["diagnosis"] = np.repeat(["patient", "control"], len(tasks) * people // 2)
    own["age"] = np.repeat(20.0 + np.arange(people) ** 2, len(tasks))
    made = {name: np.asarray(values) for name, values in (own | coords).items()}
    return simulate_counts(np.full(len(tasks) * people, 1.5), trials=200, coords=made, seed=1)


CROSSED = table(("a", "b", "c", "d"), difficulty=np.tile(["easy", "easy", "hard", "hard"], 6))
CROSSED = CROSSED.assign_coords(task=("cell", np.tile(["x", "y"], 12)))


@pytest.mark.parametrize(
    ("counts", "words", "formula"),
    [
        (table(), {"conditions": "task"}, "1 + S(task) + (1 + S(task) || subject)"),
        (table(), {"groups": "diagnosis"}, "1 + S(diagnosis) + (1 | subject)"),
        (table(), {"predictors": "age"}, "1 + scale(age) + (1 | subject)"),
        (table(), {"correlated": "task"}, "1 + S(task) + (0 + task | subject)"),
        (
            table(),
            {"groups": "diagnosis", "conditions": "task*diagnosis", "correlated": "task"},
            "1 + S(task)*S(diagnosis) + (0 + task | subject)",
        ),
        (
            CROSSED,
            {"conditions": "task*difficulty"},
            "1 + S(task)*S(difficulty) + (1 + S(task)*S(difficulty) || subject)",
        ),
        (
            CROSSED,
            {"conditions": ["task", "difficulty"], "correlated": "task", "predictors": ["age"]},
            "1 + S(task) + S(difficulty) + scale(age) + (0 + task + S(difficulty) | subject)",
        ),
        (
            CROSSED,
            {"conditions": "task * difficulty", "correlated": "task"},
            "1 + S(task)*S(difficulty) + (0 + task + task:(S(difficulty)) | subject)",
        ),
    ],
)
def test_words_make_the_formula_that_is_written_by_hand_for_every_parameter(counts, words, formula):
    spec = with_design("group", counts, **words)
    assert spec.formula == dict.fromkeys(ALL, formula)
    # Referee: contrasts written out, which sum to zero over the levels.
    design, cells = parse_design("log_m", formula, cell_table(counts)), cell_table(counts)
    for term in design.common:
        if term.name in ("S(task)", "S(difficulty)"):
            levels = cells[term.name[2:-1]]
            first = levels == levels.min()
            np.testing.assert_array_equal(term.columns[:, 0], np.where(first, 1, -1))


def test_three_levels_and_people_who_lack_one_have_sum_contrasts():
    counts = table(("a", "b", "c")).isel(cell=slice(2, None))
    spec = with_design("group", counts, conditions="task")
    cells = cell_table(counts)
    design = parse_design("log_m", spec.formula["log_m"], cells)
    expected = cells["task"].map({"a": (1, 0), "b": (0, 1), "c": (-1, -1)}).tolist()
    np.testing.assert_array_equal(design.columns[:, 1:], expected)
    build_model(counts, spec)
    said = [one.message for one in notices(study("group", counts, conditions="task")[0])]
    assert "1 of 6 subject have one level of task. Their effect of it" in said[-1]


def test_signs_in_names_of_columns_are_no_signs_between_them():
    counts = table().rename(task="a+b", diagnosis="c*d")
    spec = with_design("group", counts, conditions=["`a+b`*`c*d`"], groups="c*d")
    assert spec.formula["c"] == "1 + S(`a+b`)*S(`c*d`) + (1 + S(`a+b`) || subject)"


def test_a_few_whole_numbers_as_text_are_codes():
    counts = table(("1", "2"), diagnosis=np.repeat(["0", "1"], 6))
    spec = with_design("group", counts, conditions="task", groups="diagnosis")
    assert spec.formula["c"] == "1 + S(task) + S(diagnosis) + (1 + S(task) || subject)"


def test_a_predictor_that_varies_within_people_has_a_slope_for_each():
    counts = table(contrast=np.tile([0.1, 0.4], 6))
    spec = with_design("group", counts, predictors="contrast")
    assert spec.formula["c"] == "1 + scale(contrast) + (1 + scale(contrast) || subject)"


@pytest.mark.parametrize("card", ["hmetad_group", "response_conditional", "pda_group", "group_m"])
def test_every_card_of_a_population_takes_the_same_words(card):
    spec = with_design(card, table(), conditions="task")
    assert set(spec.formula) == set(load_model(card).formula)
    assert set(spec.formula.values()) == {"1 + S(task) + (1 + S(task) || subject)"}
    build_model(table(), spec)


def test_what_a_card_says_of_a_column_stays_as_it_is():
    counts = table(("a", "b"))
    assert with_design("multitask", counts, correlated="task") == load_model("multitask")
    spec = with_design("multitask", counts, correlated="task", groups="diagnosis")
    assert spec.formula["c"] == "0 + task + S(diagnosis) + (0 + task || subject)"


def test_one_observer_has_effects_without_a_population():
    counts = simulate_counts([1.5, 1.0], coords={"task": ["a", "b"]}, trials=400, seed=1)
    assert with_design("individual", counts, conditions="task").formula["log_m"] == "1 + S(task)"
    alone = fit_mle(counts, "individual")
    tied = fit_mle(counts, conditions="task")
    np.testing.assert_allclose(tied["m_ratio"], alone["m_ratio"], rtol=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"conditions": "tusk"}, "conditions: Did you mean 'task'.*'tusk'"),
        ({"conditions": "age"}, r"conditions: .*predictors=\['age'\].*numbers"),
        ({"groups": "age"}, r"groups: .*predictors=\['age'\]"),
        ({"conditions": "dose"}, r"conditions: .*predictors=\['dose'\].*numbers"),
        ({"groups": "years"}, r"groups: .*predictors=\['years'\].*numbers"),
        ({"predictors": "task"}, r"predictors: .*conditions=\['task'\].*text"),
        ({"groups": "task"}, r"groups: .*conditions=\['task'\].*6 of 6 subject"),
        ({"conditions": "diagnosis"}, r"conditions: .*groups=\['diagnosis'\]"),
        ({"conditions": "same"}, "conditions: .*one value"),
        ({"predictors": "flat"}, "predictors: .*one value"),
        ({"groups": "subject"}, "groups: Write another column.*'subject', the people"),
        ({"conditions": "task*subject"}, "conditions: Write another column.*'subject', the people"),
        ({"correlated": "task*diagnosis"}, "correlated: .*in conditions.*one condition, got task"),
        ({"conditions": "task", "groups": "task"}, "groups: .*'task' among conditions and groups"),
        ({"conditions": "task", "correlated": "diagnosis", "groups": "diagnosis"}, "diagnosis"),
    ],
)
def test_a_column_that_is_not_what_words_say_is_refused_with_what_to_do(words, message):
    counts = table(same=np.full(12, "x"), flat=np.full(12, 1.0), dose=np.tile(["0.1", "0.5"], 6))
    counts = counts.assign_coords(years=("cell", np.repeat([*"345678"], 2)))
    with pytest.raises(InputError, match=message):
        build_model(counts, with_design("group", counts, **words))


def test_an_interaction_with_a_combination_that_no_cell_has_is_refused_and_the_sum_is_not():
    lacking = CROSSED[(CROSSED["task"] == "x") | (CROSSED["difficulty"] == "easy")]
    with pytest.raises(InputError, match=r"Leave one of them out.*'S\(task\):S\(difficulty\)'"):
        build_model(lacking, with_design("group", lacking, conditions="task*difficulty"))
    build_model(lacking, with_design("group", lacking, conditions="task + difficulty"))


def test_a_group_in_which_some_people_have_two_levels_is_refused():
    counts = table().assign_coords(diagnosis=("cell", [*["patient", "control"], *["patient"] * 10]))
    with pytest.raises(InputError, match="1 of 6 subject, as in p0"):
        build_model(counts, with_design("group", counts, groups="diagnosis"))
    with_design("group", counts, conditions="diagnosis")


@pytest.mark.parametrize("card", ["individual", "wev"])
def test_a_card_without_a_population_is_refused_for_people(card):
    with pytest.raises(InputError, match=r"group.*subject"):
        with_design(card, table(), conditions="task")


@pytest.mark.parametrize("given", ["1 + task", "all=1 + task", {"all": "1 + task"}])
def test_a_bare_formula_and_all_are_of_every_parameter(given):
    spec = load_model("group", formula=given)
    assert spec.formula == dict.fromkeys(ALL, "1 + task")


def test_a_named_formula_goes_before_that_of_all():
    for given in ({"log_gap": "1", "all": "1 + task"}, ["log_gap=1", "1 + task"]):
        spec = with_changes(load_model("group"), formula=given)
        assert (spec.formula["log_gap"], spec.formula["c"]) == ("1", "1 + task")
    with pytest.raises(InputError, match=r"formula: .*by name, of dprime.*meta_d.*no formula"):
        load_model("hmetad_single", formula="1")
