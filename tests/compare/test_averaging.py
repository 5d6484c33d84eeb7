"""Contrasts over sets are weighted means of those within sets, over the same sets on both sides."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hmetad.compare.contrasts import contrast
from hmetad.compare.follow_ups import repeat_decisions
from hmetad.compare.ranking import rank
from hmetad.compare.verdicts import decide
from hmetad.errors import InputError
from hmetad.notice import notices
from hmetad.simulate.simulate import simulate_counts

MODELS, SETS = ("m1", "m2", "m3"), ("A", "B", "C", "D")
TRIALS = {"A": 100, "B": 300, "C": 500, "D": 100}


def design(left_out=()):
    """Cells of all models in all sets but some."""
    return [(m, s) for m in MODELS for s in SETS if (m, s) not in left_out]


def values_of(cells, values, name="auroc2"):
    """Draws of cells, with their trials."""
    coords = {
        "cell": [" | ".join(c) for c in cells],
        "model": ("cell", [c[0] for c in cells]),
        "set": ("cell", [c[1] for c in cells]),
    }
    trials = ("cell", [TRIALS[c[1]] for c in cells])
    return xr.Dataset({name: (("cell", "draw"), values), "trials": trials}, coords)


@pytest.fixture
def draws():
    """Draws of three models in four sets."""
    cells = design()
    rng = np.random.default_rng(1)
    shared = {s: rng.normal(0, 0.1, 400) for s in SETS}
    rows = [0.6 + 0.1 * MODELS.index(m) + shared[s] + rng.normal(0, 0.02, 400) for m, s in cells]
    return values_of(cells, np.array(rows))


def by_hand(draws, left, right, shares):
    """Weighted mean of the differences within sets, set by set."""
    total = sum(shares.values())
    return sum(
        share / total
        * (draws["auroc2"].sel(cell=f"{left} | {s}") - draws["auroc2"].sel(cell=f"{right} | {s}"))
        for s, share in shares.items()
    ).values  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "shares"),
    [("equal", dict.fromkeys(SETS, 1)), ("trials", TRIALS)]
    + [(one, one) for one in [{"A": 1, "B": 2, "C": 3, "D": 10}]],
)
def test_pooled_contrasts_are_weighted_means_of_those_within_sets(draws, weights, shares):
    found = contrast(draws, var="auroc2", over="model", pool="set", weights=weights)
    assert found["pair"].values.tolist() == ["m1 − m2", "m1 − m3", "m2 − m3"]
    for place, (left, right) in enumerate([("m1", "m2"), ("m1", "m3"), ("m2", "m3")]):
        expected = by_hand(draws, left, right, shares)
        np.testing.assert_allclose(found.values[0, :, place], expected, atol=1e-12)
    said = json.loads(found.attrs["pool_weights"])
    assert said == pytest.approx({s: x / sum(shares.values()) for s, x in shares.items()})
    assert found.attrs["pool"] == "set"
    assert set(found["pooled"].values) == {"A, B, C, D"}


def test_a_pair_is_compared_on_the_sets_that_both_have(draws):
    values = draws["auroc2"].values.copy()
    values[draws["cell"].values == "m2 | B", :21] = np.nan
    some = values_of(design(), values).sel(cell=draws["cell"] != "m3 | D")
    found = contrast(some, var="auroc2", over="model", pool="set", weights="trials")
    kept = {"m1 − m2": "ACD", "m1 − m3": "ABC", "m2 − m3": "AC"}
    for place, (label, sets) in enumerate(kept.items()):
        assert found["pair"].values[place] == label
        assert found["pooled"].values[place] == ", ".join(sets)
        assert found["not_pooled"].values[place] == ", ".join(s for s in SETS if s not in sets)
        expected = by_hand(draws, *label.split(" − "), {s: TRIALS[s] for s in sets})
        np.testing.assert_allclose(found.values[0, :, place], expected, atol=1e-12)
    [notice] = notices(found)
    assert (notice.code, notice.cells) == ("not-pooled", tuple(kept))
    table = decide(found, rope=(-0.02, 0.02)).table()
    assert table["not_pooled"].tolist() == ["B", "D", "B, D"]
    assert set(table["verdict"]) == {"different"}
    assert set(table["direction"]) == {"less"}


def test_what_is_undefined_in_all_sets_stays_undefined(draws):
    values = draws["auroc2"].values.copy()
    values[draws["model"].values == "m2"] = np.nan
    table = decide(
        contrast(values_of(design(), values), var="auroc2", over="model", pool="set"),
        rope=(-0.02, 0.02),
    ).table()
    assert table["withheld"].tolist() == ["undefined", "", "undefined"]


def test_pooling_goes_within_strata_and_with_ones_own_contrasts(draws):
    halves = {"A": "easy", "B": "easy", "C": "hard", "D": "hard"}
    kinds = draws.assign_coords(kind=("cell", [halves[s] for s in draws["set"].values]))
    found = contrast(kinds, var="auroc2", over="model", within="kind", pool="set", against="m1")
    expected = ["m2 − m1 | easy", "m3 − m1 | easy", "m2 − m1 | hard", "m3 − m1 | hard"]
    assert found["pair"].values.tolist() == expected
    np.testing.assert_allclose(
        found.values[0, :, 2], by_hand(draws, "m2", "m1", {"C": 1, "D": 1}), atol=1e-12
    )
    assert found["pooled"].values.tolist() == ["A, B", "A, B", "C, D", "C, D"]
    assert set(found["not_pooled"].values) == {""}
    matrix = pd.DataFrame({"m1": [1], "m2": [-0.5], "m3": [-0.5]}, index=["first | rest"])
    own = contrast(draws, var="auroc2", over="model", pool="set", weights="trials", matrix=matrix)
    by_two = [by_hand(draws, "m1", other, TRIALS) for other in ("m2", "m3")]
    np.testing.assert_allclose(own.values[0, :, 0], np.mean(by_two, axis=0), atol=1e-12)
    assert own["pair"].values.tolist() == ["first | rest"]


def test_superiority_and_log_ratios_are_of_pooled_values(draws):
    asked = {"var": "auroc2", "over": "model", "pool": "set"}
    difference = contrast(draws, **asked)
    above = contrast(draws, **asked, kind="superiority")
    np.testing.assert_array_equal(above, difference > 0)
    ratios = contrast(draws, **asked, kind="log_ratio")
    logs = np.log(draws["auroc2"])
    expected = logs.sel(cell=[f"m1 | {s}" for s in SETS]).mean("cell").values
    expected = expected - logs.sel(cell=[f"m3 | {s}" for s in SETS]).mean("cell").values
    np.testing.assert_allclose(ratios.values[0, :, 1], expected, atol=1e-12)


def test_ranks_are_of_pooled_values_over_the_same_sets(draws):
    some = draws.sel(cell=draws["cell"] != "m3 | D")
    found = rank(some, var="auroc2", over="model", pool="set", weights="trials")
    kept = {s: TRIALS[s] for s in "ABC"}
    means = np.array(
        [
            sum(x * draws["auroc2"].sel(cell=f"{m} | {s}").values for s, x in kept.items())
            for m in MODELS
        ]
    )
    expected = [(means.argmax(axis=0) == i).mean() for i in range(3)]
    np.testing.assert_allclose(found["p_best"], expected)
    assert found["model"].values.tolist() == list(MODELS)
    assert [one.code for one in notices(found)] == ["not-pooled"]
    assert "D" in notices(found)[0].message


def test_a_ranking_needs_a_set_with_all_levels(draws):
    lone = draws.isel(cell=[0, 5, 10])
    with pytest.raises(InputError, match="pool: got no level with all that is ranked"):
        rank(lone, var="auroc2", over="model", pool="set")
    with pytest.raises(InputError, match="two levels"):
        contrast(lone, var="auroc2", over="model", pool="set")


def test_fits_know_their_trials_and_separate_fits_keep_their_covariance():
    names = [("m1", "A"), ("m2", "A"), ("m1", "B"), ("m2", "B")]
    coords = {"model": [m for m, _ in names], "set": [s for _, s in names]}
    counts = simulate_counts([1.0] * 4, trials=[100, 100, 300, 300], coords=coords, seed=1)
    shared = np.random.default_rng(2).normal(size=(2, 500, 1))
    log_m = xr.DataArray(
        np.array([1, -1, -1, 1]) * shared + [0, 0.5, 0, 0.5],
        dims=("chain", "draw", "cell"),
        coords=counts["cell"].coords,
        name="log_m",
    )
    groups = {"posterior": log_m.to_dataset(), "observed_data": counts.to_dataset(name="counts")}
    fit = xr.DataTree.from_dict(groups)
    found = contrast(fit, var="log_m", over="model", pool="set", weights="trials")
    assert json.loads(found.attrs["pool_weights"]) == {"A": 0.25, "B": 0.75}
    # The sets of one fit cancel; those of another fit are independent of them.
    each = {name: log_m.sel(cell=log_m["model"] == name).to_dataset() for name in ("m1", "m2")}
    apart = contrast(each, var="log_m", over="model", pool="set", independent=True)
    np.testing.assert_allclose(apart, -0.5, atol=1e-12)
    assert "separate-fits" in [one.code for one in notices(apart)]


def test_decisions_on_pooled_contrasts_are_repeated_as_they_were(draws):
    pooled = contrast(draws, var="auroc2", over="model", pool="set", weights={**TRIALS, "D": 7})
    made = decide(pooled, rope=(-0.02, 0.02), comparisons=3)
    again = repeat_decisions(made, {"same": draws})["same"]
    np.testing.assert_allclose(again.results["mean"], made.results["mean"])
    assert "pooled over set with weights as given: A 11" in repr(made)
    assert "Bonferroni's correction for 3 comparisons" in repr(made)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"pool": "set", "weights": "size"}, "weights: got 'size'"),
        ({"weights": "trials", "within": "set"}, "weights without pool"),
        ({"pool": "set", "weights": {"A": 1}}, "none for 'B'"),
        ({"pool": "set", "weights": {**TRIALS, "E": 1}}, "'E', allowed is a level"),
        ({"pool": "set", "weights": {**TRIALS, "D": 0}}, "finite numbers above 0"),
        ({"pool": "model"}, "pool: got 'model'"),
        ({"pool": "sett"}, "Did you mean 'set'"),
    ],
)
def test_what_cannot_be_pooled_is_refused(draws, asked, says):
    for function in (contrast, rank):
        with pytest.raises(InputError, match=says):
            function(draws, var="auroc2", over="model", **asked)


def test_weights_by_trials_need_trials(draws):
    for lacking in (draws.drop_vars("trials"), draws["auroc2"]):
        with pytest.raises(InputError, match="'trials' of draws without them"):
            contrast(lacking, var="auroc2", over="model", pool="set", weights="trials")


def test_pooling_over_two_columns_is_over_their_combinations(draws):
    parts = {"A": ("x", "1"), "B": ("x", "2"), "C": ("y", "1"), "D": ("y", "2")}
    both = [("cell", [parts[s][k] for s in draws["set"].values]) for k in range(2)]
    two = draws.assign_coords(half=both[0], part=both[1])
    found = contrast(two, var="auroc2", over="model", pool=["half", "part"], weights="trials")
    whole = contrast(draws, var="auroc2", over="model", pool="set", weights="trials")
    np.testing.assert_allclose(found, whole)
    assert found["pair"].values.tolist() == whole["pair"].values.tolist()
    assert found["pooled"].values[0] == "x | 1, x | 2, y | 1, y | 2"
    within = contrast(two, var="auroc2", over="model", within="half", pool="part")
    assert within.sizes["pair"] == 6


def test_levels_whose_texts_are_alike_stay_apart(draws):
    odd = draws.assign_coords(model=("cell", [f"m − {m}" for m in draws["model"].values]))
    found = contrast(odd, var="auroc2", over="model", pool="set")
    np.testing.assert_allclose(found, contrast(draws, var="auroc2", over="model", pool="set"))
    columns = [("a", "b | c"), ("a | b", "c")]
    rows = [(f, s, m) for f, s in columns for m in ("m1", "m2") for _ in (0,)]
    names = ["first", "second", "model"]
    coords = {name: ("cell", [row[i] for row in rows]) for i, name in enumerate(names)}
    values = xr.DataArray(
        np.arange(12.0).reshape(1, 3, 4) ** 2,
        dims=("chain", "draw", "cell"),
        coords={"cell": list("wxyz"), **coords, "set": ("cell", ["s"] * 4)},
        name="auroc2",
    )
    result = contrast(values, over="model", within=["first", "second"], pool="set")
    plain = contrast(values, over="model", within=["first", "second", "set"])
    np.testing.assert_array_equal(result, plain)
