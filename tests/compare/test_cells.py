"""Any quantity of a fit becomes cells, and what its fit says stays with them."""

import json

import numpy as np
import pytest
import xarray as xr

from hmetad.compare.cells import cells_of, error_flags, joined_codes, leave_out, one_variable
from hmetad.errors import InputError


def said(*errors):
    records = [{"code": c, "severity": "error", "message": "", "cells": x} for c, x in errors]
    return json.dumps(records)


@pytest.fixture
def per_response():
    return xr.DataArray(
        np.random.default_rng(0).normal(size=(2, 5, 2, 2)),
        dims=("chain", "draw", "cell", "response"),
        coords={"cell": ["x", "y"], "model": ("cell", ["a", "b"]), "response": ["S1", "S2"]},
        name="m_ratio",
    )


def test_every_place_of_further_dims_is_a_cell(per_response):
    cells = cells_of(per_response.to_dataset(), "m_ratio")
    assert cells["cell"].values.tolist() == ["x | S1", "x | S2", "y | S1", "y | S2"]
    assert cells["model"].values.tolist() == ["a", "a", "b", "b"]
    expected = per_response.sel(cell="y", response="S1", drop=True).values
    np.testing.assert_array_equal(cells.sel(cell="y | S1").values, expected)


def test_the_order_of_dims_does_not_matter(per_response):
    turned = per_response.transpose("response", "draw", "cell", "chain")
    xr.testing.assert_identical(cells_of(turned, None), cells_of(per_response, None))


def test_errors_on_a_cell_concern_all_its_places(per_response):
    fit = per_response.to_dataset().assign_attrs(notices=said(("rhat", ["y"]), ("ess", [])))
    cells = cells_of(fit, "m_ratio")
    codes, flags = error_flags(cells)
    assert joined_codes(codes, flags) == ["ess", "ess", "rhat, ess", "rhat, ess"]


def test_errors_of_sampling_concern_a_coefficient_whole_and_those_of_signs_do_not():
    effect = xr.DataArray(
        np.zeros((2, 5, 2)),
        dims=("chain", "draw", "log_m_task_dim"),
        coords={"log_m_task_dim": ["b", "c"]},
        name="log_m_task",
        attrs={"notices": said(("rhat", ["y"]), ("dprime-sign", ["x"]))},
    )
    cells = cells_of(effect, None, ["task"])
    assert cells["task"].values.tolist() == ["b", "c"]
    assert joined_codes(*error_flags(cells)) == ["rhat", "rhat"]


def test_group_effects_go_by_the_name_of_their_group():
    effects = xr.DataArray(
        np.zeros((2, 5, 3)),
        dims=("chain", "draw", "subject__factor_dim"),
        coords={"subject__factor_dim": ["1", "2", "3"]},
        name="log_m_1|subject",
    )
    assert cells_of(effects, None, ["subject"])["subject"].values.tolist() == ["1", "2", "3"]
    assert "subject__factor_dim" in cells_of(effects, None).coords


def test_a_single_number_and_other_objects_are_refused():
    slope = xr.DataArray(np.zeros((2, 5)), dims=("chain", "draw"), name="log_m_age")
    with pytest.raises(InputError, match=r"one number.*decide"):
        cells_of(slope, None)
    with pytest.raises(InputError, match="without posterior"):
        cells_of(xr.DataTree(), "log_m")
    with pytest.raises(InputError, match="list"):
        one_variable([1, 2], None)
    with pytest.raises(InputError, match="Did you mean 'log_m_age'"):
        cells_of(slope.to_dataset(), "log_m_agee")


def test_levels_to_leave_out_are_a_list(per_response):
    assert leave_out(per_response, "model", ["b"])["cell"].values.tolist() == ["x"]
    for wrong in (None, "b", {"b"}):
        with pytest.raises(InputError, match=r"levels: got .*, allowed is a list"):
            leave_out(per_response, "model", wrong)
