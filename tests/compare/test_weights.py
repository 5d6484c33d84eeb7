"""Contrasts of one's own are weighted sums of draws, within each stratum."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from hmetad.compare.contrasts import contrast
from hmetad.errors import InputError
from hmetad.notice import notices

LEVELS = ["a", "b", "c"]
HELMERT = pd.DataFrame([[1, -1, 0], [0.5, 0.5, -1]], ["first", "second"], LEVELS)


def draws_of(strata=("A", "B"), seed=0, name="m_ratio"):
    cells = [(level, stratum) for stratum in strata for level in LEVELS]
    return xr.DataArray(
        np.random.default_rng(seed).lognormal(size=(2, 40, len(cells))),
        dims=("chain", "draw", "cell"),
        coords={
            "cell": [" | ".join(c) for c in cells],
            "model": ("cell", [c[0] for c in cells]),
            "task": ("cell", [c[1] for c in cells]),
        },
        name=name,
    )


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3).filter(lambda w: np.ptp(w) > 1e-3))
def test_a_contrast_is_the_weighted_sum_of_its_cells(given_weights):
    weights = np.array(given_weights) - np.mean(given_weights)
    draws = draws_of()
    table = pd.DataFrame([weights], ["mine"], LEVELS)
    result = contrast(draws, over="model", within="task", matrix=table)
    assert result["pair"].values.tolist() == ["mine | A", "mine | B"]
    for task in ("A", "B"):
        cells = draws.isel(cell=np.flatnonzero(draws["task"].values == task))
        expected = (cells * weights).sum("cell")
        np.testing.assert_allclose(result.sel(pair=f"mine | {task}"), expected, atol=1e-12)


def test_weights_of_one_and_minus_one_are_a_pair():
    draws = draws_of()
    for kind in ("difference", "log_ratio", "superiority"):
        pairs = contrast(draws, over="model", within="task", against="b", kind=kind)
        mine = contrast(draws, over="model", within="task", matrix=HELMERT, kind=kind)
        ours, theirs = mine.sel(pair="first | A"), pairs.sel(pair="a − b | A")
        np.testing.assert_allclose(ours, theirs)
        assert ours["left"].item() == theirs["left"].item() == "a"


def test_sides_are_named_with_their_weights():
    result = contrast(draws_of(), over="model", within="task", matrix=HELMERT)
    assert result["left"].values.tolist()[:2] == ["a", "0.5·a + 0.5·b"]
    assert result["right"].values.tolist()[:2] == ["b", "c"]


def test_a_data_array_says_by_its_dims_what_its_columns_are():
    turned = xr.DataArray(
        HELMERT.to_numpy().T, dims=("model", "row"), coords={"model": LEVELS, "row": HELMERT.index}
    )
    expected = contrast(draws_of(), over="model", within="task", matrix=HELMERT)
    got = contrast(draws_of(), over="model", within="task", matrix=turned)
    xr.testing.assert_identical(got, expected)
    unnamed = turned.rename(model="level").transpose("row", "level")
    got = contrast(draws_of(), over="model", within="task", matrix=unnamed)
    xr.testing.assert_identical(got, expected)


def test_an_undefined_draw_counts_only_where_it_has_weight():
    draws = draws_of()
    draws[0, 0, 2] = np.nan
    result = contrast(draws, over="model", within="task", matrix=HELMERT)
    assert np.isnan(result).any(["chain", "draw"]).values.tolist() == [False, True, False, False]
    draws[0, 0, 2] = -1.0
    ratios = contrast(draws, over="model", within="task", matrix=HELMERT, kind="log_ratio")
    assert np.isnan(ratios).sum(["chain", "draw"]).values.tolist() == [0, 1, 0, 0]


def test_a_stratum_without_a_level_of_a_contrast_is_left_out_and_named():
    draws = draws_of().isel(cell=[0, 1, 2, 3, 4])
    result = contrast(draws, over="model", within="task", matrix=HELMERT)
    assert result["pair"].values.tolist() == ["first | A", "second | A", "first | B"]
    (notice,) = notices(result)
    assert (notice.code, "second | B" in notice.message) == ("left-out", True)


def test_levels_that_are_numbers_are_matched_as_numbers():
    draws = xr.DataArray(
        np.random.default_rng(0).normal(size=(2, 5, 2)),
        dims=("chain", "draw", "cell"),
        coords={"cell": ["x", "y"], "temperature": ("cell", [0.5, 1.0])},
        name="log_m",
    )
    table = pd.DataFrame([[-1, 1]], ["per unit"], [0.5, 1.0])
    result = contrast(draws, over="temperature", matrix=table)
    np.testing.assert_allclose(result.isel(pair=0), draws[..., 1] - draws[..., 0])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame([[1, -0.9]], ["x"], ["a", "b"]), "sum 0.1"),
        (pd.DataFrame([[0, 0]], ["x"], ["a", "b"]), "not all 0"),
        (pd.DataFrame([[np.nan, 1]], ["x"], ["a", "b"]), "finite"),
        (pd.DataFrame([["1", "-1"]], ["x"], ["a", "b"]), "table of numbers"),
        (pd.DataFrame([[1, -1]], ["x"], ["a", "d"]), "level of model"),
        (pd.DataFrame([[1, -1], [1, -1]], ["x", "x"], ["a", "b"]), "rows named alike"),
        (pd.DataFrame([[1, -1]], ["x"], ["a", "a"]), "columns named alike"),
        (pd.DataFrame(), "table of numbers"),
        ({"a": 1, "b": -1}, "DataFrame"),
        (xr.DataArray([1, -1], dims="model"), "two dims"),
    ],
)
def test_weights_that_make_no_contrast_are_refused(table, message):
    with pytest.raises(InputError, match=message):
        contrast(draws_of(), over="model", within="task", matrix=table)


def test_levels_that_are_never_together_are_refused():
    draws = draws_of().isel(cell=[0, 4])
    table = pd.DataFrame([[1, -1]], ["x"], ["a", "b"])
    with pytest.raises(InputError, match="never together"):
        contrast(draws, over="model", within="task", matrix=table)
    with pytest.raises(InputError, match="one of the two"):
        contrast(draws, over="model", within="task", matrix=table, against="a")
