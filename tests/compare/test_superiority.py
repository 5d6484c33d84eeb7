"""Probabilities of superiority are shares of draws, with the error that ArviZ gives them."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

import hmetad


def draws_of(values, **attrs):
    cells = [f"model {i}" for i in range(values.shape[-1])]
    return xr.DataArray(
        values,
        dims=("chain", "draw", "cell"),
        coords={"cell": cells, "model": ("cell", cells)},
        name="log_m",
        attrs=attrs,
    )


def superior(values, **options):
    draws = hmetad.contrast(draws_of(values), over="model", kind="superiority", **options)
    return draws, hmetad.compare.superiority_table(draws)


def test_the_probability_is_the_share_of_draws_and_its_error_is_arviz_s():
    values = np.random.default_rng(1).normal([0.3, 0.0, 0.1], 0.5, (4, 500, 3)).cumsum(axis=1)
    values /= np.sqrt(np.arange(1, 501))[:, None]
    draws, table = superior(values)
    expected = [(values[..., a] > values[..., b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert table["p_superior"].to_numpy() == pytest.approx(expected)
    errors = az.mcse(draws.astype(float).rename("p").to_dataset(), method="mean")["p"]
    assert table["mcse"].to_numpy() == pytest.approx(errors.to_numpy(), rel=0.01)


def test_a_row_says_what_was_compared_and_what_was_held_equal():
    values = np.random.default_rng(1).normal(size=(4, 100, 4))
    coords = {"model": ("cell", list("aabb")), "task": ("cell", list("xyxy"))}
    draws = draws_of(values).assign_coords(coords)
    contrast = hmetad.contrast(draws, over="model", within="task", kind="superiority")
    said = hmetad.compare.superiority_table(contrast)[["label", "left", "right", "task"]]
    assert said.to_numpy().tolist() == [["a − b | x", "a", "b", "x"], ["a − b | y", "a", "b", "y"]]


def test_certainty_has_no_error_and_what_is_undefined_has_no_probability():
    values = np.random.default_rng(1).normal([9.0, 0.0, 0.1], 0.5, (4, 100, 3))
    values[0, :21, 2] = np.nan
    table = superior(values)[1].set_index("label")
    assert table.loc["model 0 − model 1", "p_superior"] == 1
    assert np.isnan(table.loc["model 0 − model 1", "mcse"])
    assert np.isnan(table.loc["model 0 − model 2", "p_superior"])


def test_draws_of_a_difference_are_refused():
    values = np.random.default_rng(1).normal(size=(4, 100, 2))
    with pytest.raises(hmetad.InputError, match="draws of superiority"):
        hmetad.compare.superiority_table(hmetad.contrast(draws_of(values), over="model"))


@pytest.mark.parametrize("name", ["p_superior", "mcse"])
def test_a_column_held_equal_is_not_called_like_the_probability(name):
    values = np.random.default_rng(1).normal(size=(4, 100, 2))
    draws = draws_of(values).assign_coords({name: ("cell", ["x", "x"])})
    found = hmetad.contrast(draws, over="model", within=name, kind="superiority")
    with pytest.raises(hmetad.InputError, match=f"by: got '{name}'"):
        hmetad.compare.superiority_table(found)
