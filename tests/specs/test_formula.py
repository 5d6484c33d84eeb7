"""A formula by itself says which variables it makes, and what it may not say."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from formulae import design_matrices

from hmetad.base.errors import InputError
from hmetad.base.variable_roles import Identity
from hmetad.specs.design import designs_of, parse_design
from hmetad.specs.layout import layout_of
from hmetad.specs.spec import ModelSpec, formula_variables

CELLS = pd.DataFrame(
    {
        "subject": np.repeat([f"s{i}" for i in range(6)], 4),
        "task": np.tile(["x", "x", "y", "y"], 6),
        "level": np.tile(["u", "v"], 12),
        "age": np.repeat([20.0, 25, 31, 33, 40, 52], 4),
        "字": np.tile([1.0, 2, 4, 8], 6),
    }
)


def variables_with_prior(parameter, formula):
    """Those of a formula on the cells, as the layout of its model has them."""
    coords = {name: ("cell", values.to_numpy()) for name, values in CELLS.items()}
    table = np.ones((len(CELLS), 2, 2, 4), dtype=int)
    counts = xr.DataArray(table, coords, ("cell", "stimulus", "response", "rating"))
    counts = counts.assign_coords({dim: np.arange(n) for dim, n in counts.sizes.items()})
    spec = ModelSpec("own", formula={parameter: formula})
    layout = layout_of(counts, spec, designs_of(counts, spec))
    known = {variable.name: variable.identity for variable in layout.variables}
    return [known[name] for name in layout.priors if known[name].parameter == parameter]


@pytest.mark.parametrize(
    "formula",
    [
        "1",
        "task",
        "0 + task + (0 + task | subject)",
        "1 + S(task)*S(level) + (1 + S(task)*S(level) || subject)",
        "task/level + (1 | subject/task)",
        "1 + scale(age) + log(age) + (task - 1 | subject)",
        "1 + C(task,Treatment('y')) + (1 + task | subject) + (1 | subject:level)",
        "1 + 字 + (字 | subject)",
        "0 + (1 | subject)",
        "(1|subject) - 1",
        "1 + (1|subject) - 1",
    ],
)
def test_variables_that_take_a_prior_are_known_without_the_cells(formula):
    assert formula_variables("log_m", formula) == variables_with_prior("log_m", formula)


def test_only_the_cells_say_whether_a_term_has_several_columns_to_correlate():
    formula = "1 + (0 + I(age) | subject)"
    known = {*variables_with_prior("dprime", formula)}
    assert {*formula_variables("dprime", formula)} - known == {
        Identity("correlation", "dprime", "I(age)", "subject")
    }
    assert {*formula_variables("dprime", formula, may_correlate=False)} == known


@pytest.mark.parametrize(
    "formula",
    [
        "task + (1|subject) - 1",
        "(1 + level|subject) - 1 + task",
        "task + (1|subject) + level - task",
        "task*level - task:level + (1|subject) - 1 + (0 + level|subject:task)",
        "-1 + (1|subject) + scale(age)",
        "1 - 1 + (1|subject) + (0 + age|subject) + level + 0 + 1",
        "`a+b`",
        "`a+b` + (1 + `a+b`|subject) - 1 + task",
        "`a+b`*task - `a+b` + (`a - b`|subject)",
        "scale(`a+b`) - 1 + task + `1` + (1|`(1|x)`)",
        "I(`a+b` / 2 - age) + `a:b`:task + (1|subject)",
    ],
)
def test_signs_and_back_ticks_are_read_as_formulae_reads_them(formula):
    numbers = np.random.default_rng(1).normal(size=(4, len(CELLS)))
    odd = dict(zip(["a+b", "a - b", "a:b", "1"], numbers, strict=True))
    cells = CELLS.assign(**odd, **{"(1|x)": CELLS["subject"]})
    ours, theirs = parse_design("log_m", formula, cells), design_matrices(formula, cells)
    assert [term.name for term in ours.common] == list(theirs.common.terms)
    np.testing.assert_array_equal(ours.columns, np.asarray(theirs.common))
    effects = [f"{term.name}|{block.factor}" for block in ours.blocks for term in block.terms]
    assert effects == list(theirs.group.terms if theirs.group else [])


@pytest.mark.parametrize("formula", ["`a:b` + a:b", "1 + (1 + a:b + `a:b`|subject)"])
def test_two_terms_of_one_name_are_refused(formula):
    rng = np.random.default_rng(1)
    cells = CELLS.assign(**{name: rng.normal(size=len(CELLS)) for name in ("a", "b", "a:b")})
    for read in (formula_variables, lambda *given: parse_design(*given, cells)):
        with pytest.raises(InputError, match=r"Rename the column.*two terms called 'a:b'"):
            read("log_m", formula)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("task - (1|subject)", "in brackets of their own"),
        ("task + (1|subject) - age:", "the end too early"),
        ("(1|subject) - task", "'-'"),
        ("1 + 1|subject", r"in brackets of their own: 1 \+ task \+ \(1 \| subject\)"),
        ("log_m ~ 1 + task", "Leave out the ~"),
        ("1 + (1|subject", "Wilkinson's notation"),
    ],
)
def test_what_no_cells_could_mend_is_refused_without_them(formula, message):
    for read in (formula_variables, lambda *given: parse_design(*given, CELLS)):
        with pytest.raises(InputError, match=f"formula of c: .*{message}"):
            read("c", formula)
