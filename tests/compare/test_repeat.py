"""Decisions made again are those that the same calls would give."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hmetad import InputError, contrast, decide, decide_normal
from hmetad.compare import repeat_decisions

ROPE = (-0.1, 0.1)


def draws_of(seed, name="log_m", levels=("a", "b", "c"), tasks=(1, 2)):
    """Cells of a design levels × tasks, with means that differ."""
    rng = np.random.default_rng(seed)
    cells = [(level, task) for level in levels for task in tasks]
    means = 1 + rng.normal(size=len(cells))
    return xr.DataArray(
        np.abs(rng.normal(means, 0.1, (2, 400, len(cells)))),
        dims=("chain", "draw", "cell"),
        coords={
            "cell": [f"{a} | {b}" for a, b in cells],
            "model": ("cell", [a for a, _ in cells]),
            "task": ("cell", [b for _, b in cells]),
        },
        name=name,
    )


MATRIX = pd.DataFrame({"a": [1, 1 / 3], "b": [-0.5, 1 / 3], "c": [-0.5, -2 / 3]}, index=["p", "q"])


@pytest.mark.parametrize(
    "request_",
    [
        {"over": "model", "within": "task"},
        {"over": "model", "within": "task", "against": "b"},
        {"over": "model", "within": ["task"], "against": "a"},
        {"over": "task", "within": "model"},
        {"over": "task", "within": "model", "against": 2},
        {"over": "model", "within": "task", "kind": "log_ratio"},
        {"over": "model", "within": "task", "matrix": MATRIX},
        {"over": "model", "within": "task", "independent": True},
    ],
    ids=str,
)
def test_a_repeated_contrast_is_that_of_the_same_call(request_):
    name = "m_ratio" if request_.get("kind") else "log_m"
    first, other = draws_of(1, name), draws_of(2, name)
    rule = {"rope": ROPE, "null": 0.05, "ci_prob": 0.9, "ci_kind": "hdi", "comparisons": 3}
    made = decide(contrast(first, **request_), **rule)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(contrast(other, **request_), **rule)
    pd.testing.assert_frame_equal(again.table(), expected.table())
    assert not again.table()["mean"].equals(made.table()["mean"])
    for field in ("quantity", "rope", "null", "ci_prob", "ci_kind", "comparisons"):
        assert getattr(again, field) == getattr(made, field)


@pytest.mark.parametrize(
    "levels", [("1", "02", "1e3"), ("2020-01", "2021-01", "2022-01"), (1, 2, 4), (1.5, 2.5, 3.5)]
)
def test_levels_that_look_like_something_else_are_found_again_in_a_matrix(levels):
    draws = draws_of(1, levels=levels, tasks=(1,))
    matrix = pd.DataFrame(MATRIX.to_numpy(), index=["1", "2021-01"], columns=levels)
    made = decide(contrast(draws, over="model", matrix=matrix), rope=ROPE)
    again = repeat_decisions(made, {"same": draws})["same"]
    pd.testing.assert_frame_equal(again.table(), made.table())


def test_the_same_draws_give_the_same_decisions():
    draws = draws_of(1)
    made = decide(contrast(draws, over="model", within="task"), rope=ROPE)
    again = repeat_decisions(made, {"same": draws})["same"]
    pd.testing.assert_frame_equal(again.table(), made.table())


def test_pairs_that_were_chosen_stay_chosen():
    first, other = draws_of(1), draws_of(2)
    chosen = contrast(first, over="model", within="task").isel(pair=[1, 4])
    made = decide(chosen, rope=ROPE)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(contrast(other, over="model", within="task").isel(pair=[1, 4]), rope=ROPE)
    pd.testing.assert_frame_equal(again.table(), expected.table())


def test_fits_and_posteriors_are_found_by_the_quantity():
    first, other = draws_of(1), draws_of(2)
    made = decide(contrast(first, over="model", within="task"), rope=ROPE)
    dataset = other.to_dataset().assign(dprime=other + 1)
    tree = xr.DataTree.from_dict({"posterior": dataset})
    again = repeat_decisions(made, {"array": other, "dataset": dataset, "fit": tree})
    tables = [one.table() for one in again.values()]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    pd.testing.assert_frame_equal(tables[0], tables[2])


def test_separate_fits_are_compared_as_separate_again():
    first, other = (
        {level: draws_of(seed, levels=(level,), tasks=(1,)) for level in "ab"} for seed in (1, 2)
    )
    request_ = {"var": "log_m", "over": "model", "independent": True}
    made = decide(contrast(first, **request_), rope=ROPE)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(contrast(other, **request_), rope=ROPE)
    pd.testing.assert_frame_equal(again.table(), expected.table())


def test_quantities_of_cells_and_single_numbers_are_judged_again():
    first, other = draws_of(1), draws_of(2)
    made = decide(first.isel(cell=[0, 3]), rope=ROPE)
    again = repeat_decisions(made, {"other": other})["other"]
    pd.testing.assert_frame_equal(again.table(), decide(other.isel(cell=[0, 3]), rope=ROPE).table())
    number = first.isel(cell=0, drop=True).rename("mu_log_m")
    made = decide(number, rope=ROPE)
    again = repeat_decisions(made, {"other": (number + 1).to_dataset(name="mu_log_m")})["other"]
    assert again.results["mean"].item() == pytest.approx(made.results["mean"].item() + 1)


def test_what_cannot_be_repeated_is_refused():
    made = decide(contrast(draws_of(1), over="model", within="task"), rope=ROPE)
    fewer = draws_of(2, levels=("a", "b"))
    with pytest.raises(InputError, match="fits: got 'fewer' without 'a − c"):
        repeat_decisions(made, {"fewer": fewer})
    normal = decide_normal([0.1], [0.2], rope=ROPE)
    with pytest.raises(InputError, match="decide_normal"):
        repeat_decisions(normal, {"other": fewer})
