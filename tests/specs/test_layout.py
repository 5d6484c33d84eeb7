"""Variables of a model have their names, dims and places from one table."""

import numpy as np
import pytest

from hmetad import build_model
from hmetad.likelihood.priors import Prior
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import designs_of
from hmetad.specs.layout import LINK_EXP, LINK_FOLDED, LINK_LOGISTIC, layout_of
from hmetad.specs.loading import load_model
from hmetad.specs.spec import ModelSpec

SD = "log_m_task|subject_sigma"


@pytest.fixture(scope="module")
def counts():
    coords = {"subject": np.repeat(list("abcdef"), 2), "task": ["x", "y"] * 6}
    return simulate_counts([1.5] * 12, m_ratio=0.8, trials=200, coords=coords, seed=1)


def layout(counts, **changes):
    spec = ModelSpec("own", **changes)
    return layout_of(counts, spec, designs_of(counts, spec))


def test_a_formula_has_the_variables_that_bambi_names(counts):
    own = layout(counts, formula={"log_m": "1 + task + (1 + task|subject)"})
    dims = {one.name: one.dims for one in own.variables if one.name.startswith("log_m")}
    effects = ("task|subject__effect", "task|subject__effect_bis")
    assert dims == {
        "log_m_Intercept": (),
        "log_m_task": ("task_dim",),
        "log_m_1|subject_sigma": (),
        SD: ("task__expr_dim",),
        "log_m_task|subject_partial": ("log_m_task|subject_partial_dim",),
        "log_m_task|subject_corr": effects,
        "log_m_task|subject_offset": ("subject__factor_dim", effects[0]),
        "log_m_1|subject": ("subject__factor_dim",),
        "log_m_task|subject": ("subject__factor_dim", "task__expr_dim"),
    }


def test_free_variables_fill_the_vector_without_a_gap(counts):
    own = layout(counts, formula={"log_m": "1 + task + (1 + task|subject)", "c": "1 + (1|task)"})
    places = np.concatenate([one.elements.ravel() for one in own.free])
    np.testing.assert_array_equal(places, np.arange(own.size))
    assert {one.first for one in own.variables if one not in own.free} == {-1}


def test_priors_say_how_a_variable_is_sampled(counts):
    formula = {"log_m": "1 + task + (1 + task|subject)"}
    own = {one.name: one.link for one in layout(counts, formula=formula).free}
    assert own[SD] == LINK_FOLDED
    assert own["log_m_task|subject_partial"] == LINK_LOGISTIC
    edged = layout(counts, formula=formula, priors={SD: Prior("Exponential", lam=2)})
    assert next(one.link for one in edged.free if one.name == SD) == LINK_EXP
    assert edged.priors[SD] == Prior("Exponential", lam=2)


def test_parameters_share_a_dim_only_where_its_labels_are_the_same(counts):
    same = layout(counts, formula={"log_m": "0 + task", "c": "0 + task"})
    assert {one.dims for one in same.variables if one.name.endswith("_task")} == {("task_dim",)}
    other = layout(counts, formula={"log_m": "0 + task", "c": "1 + task"})
    dims = {one.name: one.dims for one in other.variables}
    assert dims["c_task"] == ("task_dim",)
    assert dims["log_m_task"] == ("log_m_task_dim",)


def test_cards_rename_variables(counts):
    spec = load_model("hmetad_group")
    own = layout_of(counts, spec, designs_of(counts, spec))
    named = {"mu_log_m", "sigma_log_m", "mu_c2", "sigma_c2"}
    assert named <= {one.name for one in own.free}
    assert named <= {*build_model(counts, spec).named_vars}
