"""Contrasts pair the cells that the coordinates say."""

import json

import numpy as np
import pytest
import xarray as xr

from hmetad.compare.contrasts import contrast, pair_cells
from hmetad.compare.decisions import decide
from hmetad.errors import InputError


@pytest.fixture
def draws():
    """Three models × two tasks, one combination missing."""
    cells = [("m1", "A"), ("m2", "A"), ("m3", "A"), ("m1", "B"), ("m2", "B")]
    return xr.DataArray(
        np.random.default_rng(0).normal(size=(2, 50, 5)),
        dims=("chain", "draw", "cell"),
        coords={
            "chain": [0, 1],
            "draw": range(50),
            "cell": [" | ".join(c) for c in cells],
            "model": ("cell", [c[0] for c in cells]),
            "task": ("cell", [c[1] for c in cells]),
        },
        name="log_m",
    )


def test_all_pairs_of_a_coordinate_within_another(draws):
    result = contrast(draws, over="model", within="task")
    assert list(zip(result["left"].values, result["right"].values, strict=True)) == [
        ("m1", "m2"),
        ("m1", "m3"),
        ("m2", "m3"),
        ("m1", "m2"),
    ]
    assert result["task"].values.tolist() == ["A", "A", "A", "B"]
    assert result.dims == ("chain", "draw", "pair")
    expected = draws.sel(cell="m1 | B") - draws.sel(cell="m2 | B")
    np.testing.assert_array_equal(result.isel(pair=3), expected)


def test_against_a_level_gives_every_other_level_minus_it(draws):
    result = contrast(draws, over="model", within="task", against="m2")
    assert result["pair"].values.tolist() == ["m1 − m2 | A", "m3 − m2 | A", "m1 − m2 | B"]


def test_log_ratio_is_nan_where_a_ratio_has_no_logarithm(draws):
    draws = draws.rename("m_ratio")
    result = contrast(draws, over="model", within="task", kind="log_ratio")
    left, right = draws.sel(cell="m1 | A"), draws.sel(cell="m2 | A")
    positive = ((left > 0) & (right > 0)).values
    np.testing.assert_array_equal(np.isnan(result.isel(pair=0)), ~positive)
    expected = np.log(left.values[positive] / right.values[positive])
    np.testing.assert_allclose(result.isel(pair=0).values[positive], expected)


def test_superiority_averages_to_the_share_of_draws(draws):
    result = contrast(draws, over="task", within="model", kind="superiority")
    left, right = draws.sel(cell="m1 | A"), draws.sel(cell="m1 | B")
    assert float(result.isel(pair=0).mean()) == pytest.approx(float((left > right).mean()))


def test_joint_cells_keep_their_covariance_and_independent_ones_lose_it():
    shared = np.random.default_rng(1).normal(size=(4, 1000, 1))
    draws = xr.DataArray(
        shared + 0.1 * np.random.default_rng(2).normal(size=(4, 1000, 2)),
        dims=("chain", "draw", "cell"),
        coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
        name="log_m",
    )
    joint = contrast(draws, over="model")
    independent = contrast(draws, over="model", independent=True)
    assert (joint.attrs["pairing"], independent.attrs["pairing"]) == ("joint", "independent")
    assert float(joint.std()) == pytest.approx(np.hypot(0.1, 0.1), rel=0.1)
    assert float(independent.std()) == pytest.approx(np.sqrt(2 * 1.01), rel=0.1)


def test_cells_that_are_not_told_apart_are_refused_with_what_to_add(draws):
    with pytest.raises(InputError, match="Add to within: task"):
        contrast(draws, over="model")


def test_unknown_names_are_answered_with_the_nearest(draws):
    with pytest.raises(InputError, match="Did you mean 'model'"):
        contrast(draws, over="modell", within="task")
    with pytest.raises(InputError, match="'m1', 'm2', 'm3'"):
        contrast(draws, over="model", within="task", against="x")
    with pytest.raises(InputError, match="Did you mean 'log_m'"):
        contrast(draws.to_dataset(), var="logm", over="model", within="task")
    with pytest.raises(InputError, match="difference, log_ratio, superiority"):
        contrast(draws, over="model", within="task", kind="ratio")


def test_a_coordinate_with_one_level_has_nothing_to_compare(draws):
    with pytest.raises(InputError, match="two levels"):
        contrast(draws.isel(cell=[0]), over="model")


def test_numeric_levels_stay_numbers():
    cells = xr.Dataset(coords={"cell": ["a", "b"], "temperature": ("cell", [0.5, 1.0])})
    pairs = pair_cells(cells, over="temperature", against=0.5)
    assert pairs["left"].tolist() == [1.0]


def test_a_log_ratio_of_logarithms_is_refused(draws):
    with pytest.raises(InputError, match="its difference is the log ratio"):
        contrast(draws, over="model", within="task", kind="log_ratio")


def test_errors_that_a_fit_says_of_a_cell_are_carried_to_its_pairs(draws):
    said = [
        {"code": "rhat", "severity": "error", "message": "", "cells": ["m1 | A"], "source": ""},
        {"code": "few-trials", "severity": "warning", "message": "", "cells": [], "source": ""},
    ]
    fit = draws.to_dataset().assign_attrs(notices=json.dumps(said))
    result = contrast(fit, var="log_m", over="model", within="task")
    assert result["withheld"].values.tolist() == ["rhat", "rhat", "", ""]
    assert decide(result, rope=(-0.1, 0.1)).table()["verdict"].tolist()[:2] == ["unreliable"] * 2
    said[0]["cells"] = []
    everywhere = contrast(
        fit.assign_attrs(notices=json.dumps(said)), var="log_m", over="model", within="task"
    )
    assert everywhere["withheld"].values.tolist() == ["rhat"] * 4


def test_errors_about_signs_concern_m_alone(draws):
    said = [{"code": "dprime-sign", "severity": "error", "cells": ["m1 | A"]}]
    notices = json.dumps(said)
    for name, withheld in (("log_m", "dprime-sign"), ("dprime", "")):
        of_var = draws.rename(name).assign_attrs(notices=notices)
        result = contrast(of_var, over="model", within="task")
        assert result["withheld"].values.tolist() == [withheld, withheld, "", ""]
