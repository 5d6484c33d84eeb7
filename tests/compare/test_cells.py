"""Any quantity of a fit becomes cells, and what its fit says stays with them."""

import numpy as np
import pytest
import xarray as xr
from drawn_cells import said

from hmetad import InputError, contrast
from hmetad.base.variable_roles import Identity


@pytest.fixture
def per_response():
    return xr.DataArray(
        np.random.default_rng(0).normal(size=(2, 5, 2, 2)),
        dims=("chain", "draw", "cell", "response"),
        coords={"cell": ["x", "y"], "model": ("cell", ["a", "b"]), "response": ["S1", "S2"]},
        name="m_ratio",
    )


def of_factor(name, levels, var, attrs=None):
    """Draws of the coefficients of a factor."""
    values = np.random.default_rng(0).normal(size=(2, 50, len(levels)))
    return xr.DataArray(values, {name: levels}, ("chain", "draw", name), var, attrs)


def test_every_place_of_further_dims_is_a_cell_whatever_their_order(per_response):
    found = contrast(per_response.to_dataset(), var="m_ratio", over="response", within="model")
    assert found["pair"].values.tolist() == ["S1 − S2 | a", "S1 − S2 | b"]
    np.testing.assert_array_equal(found, per_response[..., 0] - per_response[..., 1])
    turned = per_response.transpose("response", "draw", "cell", "chain")
    again = contrast(turned, over="response", within="model")
    xr.testing.assert_identical(again, found)


def test_errors_on_a_cell_concern_all_its_places(per_response):
    fit = per_response.to_dataset().assign_attrs(said(("rhat", ["y"]), ("ess", [])))
    found = contrast(fit, var="m_ratio", over="response", within="model")
    assert found["withheld"].values.tolist() == ["ess", "rhat, ess"]


def test_levels_of_a_coefficient_and_group_effects_go_by_the_name_of_their_factor():
    for dim, levels in (("task_dim", ["b", "c", "d"]), ("subject__factor_dim", ["1", "2", "3"])):
        effect = of_factor(dim, levels, "log_m_1|subject" if "__" in dim else "log_m_task")
        fit = xr.DataTree.from_dict({"posterior": effect.to_dataset()})
        for over in (dim, dim.split("_")[0]):
            result = contrast(fit, var=effect.name, over=over, against=levels[0])
            assert result["left"].values.tolist() == levels[1:]
            np.testing.assert_array_equal(result[..., 1], effect[..., 2] - effect[..., 0])


def test_where_attrs_say_whose_levels_a_dim_has_its_name_does_not_count():
    said = xr.Variable("d", ["b", "c"], Identity("coefficient", "", "task").attrs)
    effect = of_factor("d", said, "log_m_task")
    assert contrast(effect, over="task")["pair"].values.tolist() == ["b − c"]
    other = xr.Variable("my_task_dim", ["b", "c"], Identity("coefficient", "", "my_task").attrs)
    with pytest.raises(InputError, match="task"):
        contrast(of_factor("my_task_dim", other, "log_m_my_task"), over="task")


def test_errors_of_sampling_concern_a_coefficient_whole_and_those_of_signs_do_not():
    attrs = said(("rhat", ["y"]), ("dprime-sign", ["x"]))
    effect = of_factor("log_m_task_dim", ["b", "c"], "log_m_task", attrs)
    assert contrast(effect, over="task")["withheld"].values.tolist() == ["rhat"]


def test_a_single_number_and_other_objects_are_refused():
    slope = xr.DataArray(np.zeros((2, 5)), dims=("chain", "draw"), name="log_m_age")
    for draws, var, says in (
        (slope, "log_m_age", r"decide.*one number"),
        (slope.to_dataset(), "log_m_agee", "Did you mean 'log_m_age'"),
        (xr.DataTree(), "log_m", "without posterior"),
        ([1, 2], None, "draws: .*Expected a fit.*, got list"),
    ):
        with pytest.raises(InputError, match=says):
            contrast(draws, var=var, over="model")
