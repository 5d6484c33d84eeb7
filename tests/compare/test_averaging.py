"""Contrasts over sets are weighted means of those within sets, over the same sets on both sides."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from drawn_cells import drawn_cells

from hmetad import InputError, contrast, decide, notices, rank, simulate_counts

MODELS, SETS = ("m1", "m2", "m3"), ("A", "B", "C", "D")
TRIALS = {"A": 100, "B": 300, "C": 500, "D": 100}
OVER_SETS = {"var": "auroc2", "over": "model", "pool": "set"}


@pytest.fixture
def draws():
    """Draws of three models in four sets, with their trials."""
    cells = [(m, s) for m in MODELS for s in SETS]
    rng = np.random.default_rng(1)
    shared = {s: rng.normal(0, 0.1, 400) for s in SETS}
    rows = [0.6 + 0.1 * MODELS.index(m) + shared[s] + rng.normal(0, 0.02, 400) for m, s in cells]
    columns = {"model": [m for m, _ in cells], "set": [s for _, s in cells]}
    found = drawn_cells(np.transpose(rows), "auroc2", **columns).to_dataset()
    return found.assign(trials=("cell", [TRIALS[s] for s in columns["set"]]))


def with_undefined(draws, where, draw=slice(None)):
    """The same with undefined draws in some cells."""
    values = draws["auroc2"].copy(deep=True)
    values[draw, where] = np.nan
    return draws.assign(auroc2=values)


def by_hand(draws, left, right, shares):
    """Weighted mean of the differences within sets, set by set."""
    of_cell = draws["auroc2"].sel
    parts = [
        share * (of_cell(cell=f"{left} | {s}") - of_cell(cell=f"{right} | {s}")).values
        for s, share in shares.items()
    ]
    return sum(parts) / sum(shares.values())


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ("equal", dict.fromkeys(SETS, 1)),
        ("trials", TRIALS),
        (dict(zip(SETS, (1, 2, 3, 10), strict=True)),) * 2,
    ],
)
def test_pooled_contrasts_are_weighted_means_of_those_within_sets(draws, weights, shares):
    found = contrast(draws, **OVER_SETS, weights=weights)
    assert found["pair"].values.tolist() == ["m1 − m2", "m1 − m3", "m2 − m3"]
    for place, (left, right) in enumerate([("m1", "m2"), ("m1", "m3"), ("m2", "m3")]):
        expected = by_hand(draws, left, right, shares)
        np.testing.assert_allclose(found.values[0, :, place], expected, atol=1e-12)
    recorded = json.loads(found.attrs["pool_weights"])
    assert recorded == pytest.approx({s: x / sum(shares.values()) for s, x in shares.items()})
    assert found.attrs["pool"] == "set"
    assert set(found["pooled"].values) == {"A, B, C, D"}


def test_a_pair_is_compared_on_the_sets_that_both_have(draws):
    some = with_undefined(draws, draws["cell"].values == "m2 | B", slice(21))
    found = contrast(some.sel(cell=draws["cell"] != "m3 | D"), **OVER_SETS, weights="trials")
    kept = {"m1 − m2": "ACD", "m1 − m3": "ABC", "m2 − m3": "AC"}
    assert found["pair"].values.tolist() == list(kept)
    assert found["pooled"].values.tolist() == [", ".join(sets) for sets in kept.values()]
    for place, (label, sets) in enumerate(kept.items()):
        expected = by_hand(draws, *label.split(" − "), {s: TRIALS[s] for s in sets})
        np.testing.assert_allclose(found.values[0, :, place], expected, atol=1e-12)
    [notice] = notices(found)
    assert (notice.code, notice.cells) == ("not-pooled", tuple(kept))
    table = decide(found, rope=(-0.02, 0.02)).table()
    assert table["not_pooled"].tolist() == ["B", "D", "B, D"]
    assert set(table["verdict"]) == {"different"}
    assert set(table["direction"]) == {"less"}


def test_pooling_goes_within_strata_and_with_ones_own_contrasts(draws):
    halves = {"A": "easy", "B": "easy", "C": "hard", "D": "hard"}
    kinds = draws.assign_coords(kind=("cell", [halves[s] for s in draws["set"].values]))
    found = contrast(kinds, **OVER_SETS, within="kind", against="m1")
    expected = ["m2 − m1 | easy", "m3 − m1 | easy", "m2 − m1 | hard", "m3 − m1 | hard"]
    assert found["pair"].values.tolist() == expected
    hard = by_hand(draws, "m2", "m1", {"C": 1, "D": 1})
    np.testing.assert_allclose(found.values[0, :, 2], hard, atol=1e-12)
    assert found["pooled"].values.tolist() == ["A, B", "A, B", "C, D", "C, D"]
    assert set(found["not_pooled"].values) == {""}
    matrix = pd.DataFrame({"m1": [1], "m2": [-0.5], "m3": [-0.5]}, index=["first | rest"])
    own = contrast(draws, **OVER_SETS, weights="trials", matrix=matrix)
    by_two = [by_hand(draws, "m1", other, TRIALS) for other in ("m2", "m3")]
    np.testing.assert_allclose(own.values[0, :, 0], np.mean(by_two, axis=0), atol=1e-12)
    assert own["pair"].values.tolist() == ["first | rest"]


def test_superiority_log_ratios_and_ranks_are_of_pooled_values(draws):
    above = contrast(draws, **OVER_SETS, kind="superiority")
    np.testing.assert_array_equal(above, contrast(draws, **OVER_SETS) > 0)
    ratios = contrast(draws, **OVER_SETS, kind="log_ratio")
    expected = by_hand(np.log(draws[["auroc2"]]), "m1", "m3", dict.fromkeys(SETS, 1))
    np.testing.assert_allclose(ratios.values[0, :, 1], expected, atol=1e-12)
    found = rank(draws.sel(cell=draws["cell"] != "m3 | D"), **OVER_SETS, weights="trials")
    both = {s: TRIALS[s] for s in "ABC"}
    m2, m3 = (by_hand(draws, m, "m1", both) for m in MODELS[1:])
    best = np.argmax([0 * m2, m2, m3], axis=0)
    np.testing.assert_allclose(found["p_best"], [(best == i).mean() for i in range(3)])
    assert found["model"].values.tolist() == list(MODELS)
    [notice] = notices(found)
    assert (notice.code, "D" in notice.message) == ("not-pooled", True)


def test_fits_know_their_trials_and_separate_fits_keep_their_covariance():
    columns = {"model": ["m1", "m2", "m1", "m2"], "set": ["A", "A", "B", "B"]}
    counts = simulate_counts([1.0] * 4, trials=[100, 100, 300, 300], coords=columns, seed=1)
    shared = np.random.default_rng(2).normal(size=(2, 500, 1))
    log_m = drawn_cells(np.array([1, -1, -1, 1]) * shared + [0, 0.5, 0, 0.5], **columns)
    groups = {"posterior": log_m.to_dataset(), "observed_data": counts.to_dataset(name="counts")}
    asked = OVER_SETS | {"var": "log_m"}
    found = contrast(xr.DataTree.from_dict(groups), **asked, weights="trials")
    assert json.loads(found.attrs["pool_weights"]) == {"A": 0.25, "B": 0.75}
    # The sets of one fit cancel; those of another fit are independent of them.
    each = {name: log_m.sel(cell=log_m["model"] == name).to_dataset() for name in ("m1", "m2")}
    apart = contrast(each, **asked, independent=True)
    np.testing.assert_allclose(apart, -0.5, atol=1e-12)
    assert "separate-fits" in [one.code for one in notices(apart)]


BY_SET = {"pool": "set"}


@pytest.mark.parametrize(
    ("change", "asked", "says"),
    [
        (None, BY_SET | {"weights": "size"}, "weights: .*got 'size'"),
        (None, BY_SET | {"weights": {"A": 1}}, "none for 'B'"),
        (None, BY_SET | {"weights": {**TRIALS, "E": 1}}, r"weights: .*got 'E'"),
        (None, {"pool": "model"}, "pool: .*got 'model'"),
        (lambda x: x.isel(cell=[0, 5, 10]), BY_SET, "two levels|no level with all that is ranked"),
        (lambda x: x["auroc2"], BY_SET | {"weights": "trials"}, "'trials' of draws without them"),
    ],
)
def test_what_cannot_be_pooled_is_refused(draws, change, asked, says):
    for function in (contrast, rank):
        with pytest.raises(InputError, match=says):
            function(change(draws) if change else draws, var="auroc2", over="model", **asked)


def test_pooling_over_two_columns_is_over_their_combinations(draws):
    parts = {"A": ("x", "1"), "B": ("x", "2"), "C": ("y", "1"), "D": ("y", "2")}
    both = [("cell", [parts[s][k] for s in draws["set"].values]) for k in range(2)]
    two = draws.assign_coords(half=both[0], part=both[1])
    found = contrast(two, **OVER_SETS | {"pool": ["half", "part"]}, weights="trials")
    whole = contrast(draws, **OVER_SETS, weights="trials")
    np.testing.assert_allclose(found, whole)
    assert found["pair"].values.tolist() == whole["pair"].values.tolist()
    assert found["pooled"].values[0] == "x | 1, x | 2, y | 1, y | 2"
    within = contrast(two, **OVER_SETS | {"pool": "part"}, within="half")
    assert within.sizes["pair"] == 6


def test_levels_whose_texts_are_alike_stay_apart(draws):
    odd = draws.assign_coords(model=("cell", [f"m − {m}" for m in draws["model"].values]))
    np.testing.assert_allclose(contrast(odd, **OVER_SETS), contrast(draws, **OVER_SETS))
    values = np.arange(12.0).reshape(1, 3, 4) ** 2
    columns = {"first": ["a", "a", "a | b", "a | b"], "second": ["b | c", "b | c", "c", "c"]}
    alike = drawn_cells(values, "auroc2", **columns, model=["m1", "m2"] * 2, set=["s"] * 4)
    alike = alike.assign_coords(cell=list("wxyz"))
    result = contrast(alike, over="model", within=["first", "second"], pool="set")
    plain = contrast(alike, over="model", within=["first", "second", "set"])
    np.testing.assert_array_equal(result, plain)
