"""A formula by itself says which variables it makes, and what it may not say."""

import numpy as np
import pandas as pd
import pytest

from hmetad.bayes.design import parse_design
from hmetad.bayes.formula import prior_names
from hmetad.bayes.predictors import default_priors
from hmetad.errors import InputError

CELLS = pd.DataFrame(
    {
        "subject": np.repeat([f"s{i}" for i in range(6)], 4),
        "task": np.tile(["x", "x", "y", "y"], 6),
        "level": np.tile(["u", "v"], 12),
        "age": np.repeat([20.0, 25, 31, 33, 40, 52], 4),
        "字": np.tile([1.0, 2, 4, 8], 6),
    }
)


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
    ],
)
def test_variables_that_take_a_prior_are_known_without_the_cells(formula):
    design = parse_design("log_m", formula, CELLS)
    assert prior_names("log_m", formula) == list(default_priors(design))


def test_only_the_cells_say_whether_a_term_has_several_columns_to_correlate():
    formula = "1 + (0 + age | subject)"
    extra = {*prior_names("dprime", formula)} - {
        *default_priors(parse_design("dprime", formula, CELLS))
    }
    assert extra == {"dprime_age|subject_corr"}
    assert "dprime_age|subject_corr" not in prior_names("dprime", formula, may_correlate=False)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("1 + 1|subject", r"in brackets of their own: 1 \+ task \+ \(1 \| subject\)"),
        ("1 + (task | level | subject)", "in brackets of their own"),
        ("log_m ~ 1 + task", "Leave out the ~"),
        ("1 + task +", "Wilkinson's notation"),
        ("1 + (1|subject", "Wilkinson's notation"),
    ],
)
def test_what_no_cells_could_mend_is_refused_without_them(formula, message):
    with pytest.raises(InputError, match=f"formula of c: got .*{message}"):
        prior_names("c", formula)
    with pytest.raises(InputError, match=f"formula of c: got .*{message}"):
        parse_design("c", formula, CELLS)
