"""Formulas say which columns and groups a parameter has, and errors say what is wrong with them."""

import numpy as np
import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.specs.design import parse_design

CELLS = pd.DataFrame(
    {
        "subject": ["10", "10", "2", "2", "3", "3"],
        "task": ["b", "a", "b", "a", "b", "a"],
        "item": ["x", "y", "y", "z", "z", "x"],
        "lab": ["u", "u", "u", "u", "v", "v"],
        "age": [20.0, 20.0, 30.0, 30.0, 70.0, 70.0],
        "sex": [True, True, False, False, True, True],
    }
)


def design(formula, **options):
    return parse_design("log_m", formula, CELLS, **options)


@pytest.mark.parametrize(
    ("formula", "labels", "columns"),
    [
        ("1 + task", ["b"], [[1], [0]]),
        ("0 + task", ["a", "b"], [[0, 1], [1, 0]]),
        ("1 + S(task)", ["a"], [[-1], [1]]),
    ],
)
def test_a_factor_is_coded_against_its_first_level_by_all_levels_or_to_sum_to_zero(
    formula, labels, columns
):
    term = design(formula).common[-1]
    assert (term.labels.tolist(), term.is_level) == (labels, formula[0] == "0")
    assert term.columns.tolist() == columns * 3


def test_covariates_are_standardised_on_request():
    column = design("1 + scale(age)").common[1].columns[:, 0]
    assert (column.mean(), column.std()) == (pytest.approx(0), pytest.approx(1))


def test_groups_keep_the_order_in_which_they_appear():
    (block,) = design("1 + (1|subject)").blocks
    assert block.groups.tolist() == ["10", "2", "3"]
    assert block.index.tolist() == [0, 0, 1, 1, 2, 2]
    assert block.name == "1|subject"
    assert not block.is_correlated


@pytest.mark.parametrize(
    ("written", "name", "is_correlated"),
    [
        ("(task|subject)", "task|subject", True),
        ("(1 + task | subject)", "task|subject", True),
        ("(0 + task|subject)", "task|subject", True),
        ("(0 + task || subject)", "task|subject", False),
        ("(1 + S(task) + age | subject)", "S(task)+age|subject", True),
        ("(0 + I(age) | subject)", "I(age)|subject", False),
    ],
)
def test_a_block_is_named_as_it_is_written(written, name, is_correlated):
    (block,) = design(f"1 + {written}").blocks
    assert (block.name, block.is_correlated) == (name, is_correlated)
    # Parameters of several numbers keep their effects independent.
    assert not design(f"1 + {written}", may_correlate=False).blocks[0].is_correlated


def test_factors_cross_and_nest():
    crossed = design("1 + (1|subject) + (1|item)").blocks
    assert [block.factor for block in crossed] == ["subject", "item"]
    nested = design("1 + (1|lab/subject)").blocks
    assert [block.factor for block in nested] == ["lab", "lab:subject"]
    assert nested[1].groups.tolist() == ["u:10", "u:2", "v:3"]


def test_new_cells_are_coded_and_standardised_as_the_old_ones():
    new = pd.DataFrame({"subject": ["2", "9"], "task": ["b", "b"], "age": [40.0, 20.0]})
    evaluated = parse_design("log_m", "1 + task + scale(age) + (1|subject)", CELLS, new)
    np.testing.assert_allclose(evaluated.columns[:, 1], [1, 1])
    np.testing.assert_allclose(evaluated.columns[:, 2], [0, -20 / CELLS["age"].std(ddof=0)])
    assert evaluated.blocks[0].index.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("1 + tsk", "Did you mean 'task'"),
        ("1 + mood", "Others come by count_trials"),
        ("1 + subject + age", "'age', whose columns are sums of those of Intercept, subject"),
        ("0", "at least an intercept"),
        ("1 + (0|subject)", "an effect before the bar"),
        ("1 + (1|subject) + (task|subject)", "each effect of a factor once"),
    ],
)
def test_what_a_formula_may_not_say_is_an_error_with_a_way_out(formula, message):
    with pytest.raises(InputError, match=message):
        design(formula)


def test_one_group_and_a_level_that_the_fit_lacks_are_refused():
    with pytest.raises(InputError, match=r"at least two groups.*one subject: '10'"):
        parse_design("c", "1 + (1|subject)", CELLS[:2])
    with pytest.raises(InputError, match=r"levels \(c\) in 'task'"):
        parse_design("c", "1 + task", CELLS, pd.DataFrame({"task": ["c"]}))


def test_nested_groups_whose_names_would_be_the_same_are_refused():
    cells = pd.DataFrame({"lab": ["a", "a", "a:b", "c"], "subject": ["b:c", "d", "c", "c"]})
    with pytest.raises(InputError, match=r"Rename.*groups of lab:subject with the same name"):
        parse_design("log_m", "1 + (1 | lab/subject)", cells)
    apart = parse_design("log_m", "1 + (1 | lab:subject)", cells.replace({"b:c": "bc"}))
    assert apart.blocks[0].groups.tolist() == ["a:bc", "a:d", "a:b:c", "c:c"]


def test_what_is_common_to_all_groups_needs_no_columns_of_brackets():
    cells = pd.DataFrame({"subject": list("aabbcc"), "task": list("xyxyxy"), "age": range(6)})
    new, formula = pd.DataFrame({"age": [30.0]}), "1 + age + (1 + task | subject)"
    with pytest.raises(InputError, match="cells"):
        parse_design("log_m", formula, cells, new)
    design = parse_design("log_m", formula, cells, new, with_groups=False)
    np.testing.assert_array_equal(design.columns, [[1.0, 30.0]])
    assert design.blocks == ()
