"""Contrasts pair the cells that the coordinates say, or weigh them as a matrix does."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import hmetad
from hmetad.compare.contrasts import contrast, pair_cells
from hmetad.compare.verdicts import decide
from hmetad.errors import InputError
from hmetad.notice import notices


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


@pytest.mark.parametrize("name", ["label", "left", "right", "withheld", "left_cell"])
def test_what_pairs_are_called_by_may_be_compared_but_not_held_equal(draws, name):
    odd = draws.rename(model=name)
    plain = contrast(draws, over="model", within="task")
    xr.testing.assert_equal(contrast(odd, over=name, within="task"), plain)
    with pytest.raises(InputError, match=f"by: got '{name}'"):
        contrast(odd, over="task", within=name)


@pytest.mark.parametrize("name", ["rank", "kind", "accuracy", "trials"])
def test_other_names_may_be_held_equal_too(draws, name):
    plain = contrast(draws, over="task", within="model")
    odd = contrast(draws.rename(model=name), over="task", within=name)
    xr.testing.assert_equal(odd.rename({name: "model"}), plain)
    assert decide(odd, rope=(-1, 1)).table()[name].tolist() == plain["model"].values.tolist()


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
    with pytest.raises(InputError, match="'difference', 'log_ratio' or 'superiority'"):
        contrast(draws, over="model", within="task", kind="ratio")


def test_a_coordinate_with_one_level_has_nothing_to_compare(draws):
    with pytest.raises(InputError, match="two levels"):
        contrast(draws.isel(cell=[0]), over="model")


def test_draws_of_nothing_and_what_is_no_draws_are_refused(draws):
    for missing in ("cell", "draw"):
        with pytest.raises(InputError, match=f"draws: got none: {missing} of length 0"):
            contrast(draws.isel({missing: []}), over="model", within="task")
    for wrong in (None, [draws, draws]):
        with pytest.raises(
            InputError, match=f"draws: got {type(wrong).__name__}, allowed is a fit"
        ):
            contrast(wrong, over="model", within="task")


def test_a_coordinate_that_is_named_twice_is_held_once(draws):
    once = contrast(draws, over="model", within="task")
    xr.testing.assert_identical(contrast(draws, over="model", within=["task", "task"]), once)


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


def test_superiority_is_undefined_where_a_draw_is(draws):
    draws[0, 0, 0] = np.nan
    result = contrast(draws, over="model", within="task", kind="superiority")
    assert np.isnan(result).sum(["chain", "draw"]).values.tolist() == [1, 1, 0, 0]


def test_levels_of_a_coefficient_are_compared_by_the_name_of_the_factor():
    effect = xr.DataArray(
        np.random.default_rng(0).normal(size=(2, 50, 3)),
        dims=("chain", "draw", "task_dim"),
        coords={"task_dim": ["b", "c", "d"]},
        name="log_m_task",
    )
    fit = xr.DataTree.from_dict({"posterior": effect.to_dataset()})
    for over in ("task", "task_dim"):
        result = contrast(fit, var="log_m_task", over=over, against="b")
        assert result["left"].values.tolist() == ["c", "d"]
        np.testing.assert_array_equal(result[..., 1], effect[..., 2] - effect[..., 0])


def test_responses_of_a_cell_are_compared_within_it():
    m_ratio = xr.DataArray(
        np.random.default_rng(0).normal(size=(2, 50, 2, 2)),
        dims=("chain", "draw", "cell", "response"),
        coords={"cell": ["x", "y"], "model": ("cell", ["a", "b"]), "response": ["S1", "S2"]},
        name="m_ratio",
    )
    result = contrast(m_ratio, over="response", within="model")
    assert result["pair"].values.tolist() == ["S1 − S2 | a", "S1 − S2 | b"]
    np.testing.assert_array_equal(result[..., 1], m_ratio[..., 1, 0] - m_ratio[..., 1, 1])


def test_strata_without_the_reference_are_left_out_and_named(draws):
    result = contrast(draws, over="model", within="task", against="m3")
    assert result["task"].values.tolist() == ["A", "A"]
    (notice,) = notices(result)
    assert (notice.code, notice.message) == (
        "left-out",
        "Left out, since cells are missing: B.",
    )


def separate(seed, cells=("A", "B"), draws=50, extra=None):
    values = np.random.default_rng(seed).normal(size=(2, draws, len(cells)))
    coords = {"cell": list(cells), "task": ("cell", list(cells))}
    fit = xr.Dataset({"log_m": (("chain", "draw", "cell"), values)}, coords)
    return xr.DataTree.from_dict({"posterior": fit.assign(extra or {})})


def test_separate_fits_go_by_their_names():
    fits = {"o3": separate(1), "GPT-5": separate(2, draws=40)}
    result = contrast(fits, var="log_m", over="model", within="task", independent=True)
    assert result["pair"].values.tolist() == ["o3 − GPT-5 | A", "o3 − GPT-5 | B"]
    left, right = (fits[name]["posterior"]["log_m"][:, :40] for name in fits)
    # The mean does not depend on how draws are paired.
    np.testing.assert_allclose(
        result.mean(["chain", "draw"]), (left - right).mean(["chain", "draw"]), atol=1e-12
    )
    assert result.attrs["pairing"] == "independent"
    assert "moved on" in result.attrs["pairing_rule"]


def test_separate_fits_of_the_same_items_are_told_that_they_are_paired():
    fits = {"o3": separate(1), "GPT-5": separate(2)}
    result = contrast(fits, var="log_m", over="model", within="task", independent=True)
    (notice,) = notices(result)
    assert (notice.code, notice.severity) == ("separate-fits", "warning")
    assert "share task" in notice.message
    assert notices(contrast(fits["o3"], var="log_m", over="task")) == []


def test_separate_fits_that_share_subjects_are_told_so():
    fits = {}
    for seed, subjects in enumerate((["1", "2"], ["2", "3"])):
        effects = xr.DataArray(
            np.zeros((2, 50, 2)),
            dims=("chain", "draw", "subject__factor_dim"),
            coords={"subject__factor_dim": subjects},
        )
        mean = xr.DataArray(np.random.default_rng(seed).normal(size=(2, 50)), dims=effects.dims[:2])
        fits[f"g{seed}"] = xr.Dataset({"log_m_1|subject": effects, "log_m_Intercept": mean})
    result = contrast(fits, var="log_m_Intercept", over="group", independent=True)
    assert result["pair"].values.tolist() == ["g0 − g1"]
    assert "share subject" in notices(result)[0].message
    apart = {"g0": fits["g0"], "g1": fits["g1"].isel(subject__factor_dim=[1])}
    assert notices(contrast(apart, var="log_m_Intercept", over="group", independent=True)) == []


def test_errors_of_one_fit_do_not_touch_the_cells_of_another():
    said = json.dumps([{"code": "rhat", "severity": "error", "message": "", "cells": []}])
    fits = {"a": separate(1, ["A"]), "b": separate(2, ["A"]), "c": separate(3, ["A"])}
    fits["c"].attrs["notices"] = said
    result = contrast(fits, var="log_m", over="model", independent=True)
    assert result["withheld"].values.tolist() == ["", "rhat", "rhat"]


def test_separate_fits_are_not_taken_for_a_joint_one():
    with pytest.raises(InputError, match="independent=True"):
        contrast({"a": separate(1), "b": separate(2)}, var="log_m", over="model", within="task")
    with pytest.raises(InputError, match="two fits"):
        contrast({"a": separate(1)}, var="log_m", over="model", independent=True)


def test_weights_pair_levels_of_separate_fits_without_a_trace_of_equal_seeds():
    shared = np.random.default_rng(1).normal(size=(4, 1000, 1))
    draws = xr.DataArray(
        np.repeat(shared, 3, axis=2),
        dims=("chain", "draw", "cell"),
        coords={"cell": list("abc"), "model": ("cell", list("abc"))},
        name="log_m",
    )
    table = pd.DataFrame([[0.5, 0.5, -1]], ["x"], list("abc"))
    together = contrast(draws, over="model", matrix=table)
    apart = contrast(draws, over="model", matrix=table, independent=True)
    assert float(abs(together).max()) < 1e-12
    assert float(apart.std()) == pytest.approx(np.sqrt(1.5), rel=0.05)


def test_of_many_strata_left_out_five_are_named_and_the_others_counted():
    tasks = [f"task {number:02d}" for number in range(9)]
    cells = [("a", task) for task in tasks] + [("b", tasks[0])]
    coords = {
        "cell": [" | ".join(cell) for cell in cells],
        "model": ("cell", [model for model, _ in cells]),
        "task": ("cell", [task for _, task in cells]),
    }
    values = np.zeros((1, 4, len(cells)))
    draws = xr.DataArray(values, coords, ("chain", "draw", "cell"), name="log_m")
    (notice,) = notices(contrast(draws, over="model", within="task"))
    named = "; ".join(tasks[1:6])
    assert notice.message.startswith(f"Left out, since cells are missing: {named} and 3 more.")


def test_ten_thousand_pairs_need_little_more_memory_than_they_hold():
    cells = 142
    draws = xr.DataArray(
        np.random.default_rng(0).normal(size=(4, 1000, cells)),
        dims=("chain", "draw", "cell"),
        coords={"cell": [f"c{i}" for i in range(cells)], "model": ("cell", np.arange(cells))},
        name="log_m",
    )
    tracemalloc.start()
    result = contrast(draws, over="model")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.shape == (4, 1000, 10_011)
    # The draws themselves are .32 GB.
    assert peak < 0.5e9
    assert float(result[1, 2, 150]) == float(draws[1, 2, 1] - draws[1, 2, 11])


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


QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 100, "chains": 2}


@pytest.fixture(scope="module")
def counts():
    """Eighteen people with a score, a session, a sex and a block."""
    scores = np.random.default_rng(1).permutation(np.arange(10, 28)) + 1 / 3
    return hmetad.simulate_counts(
        np.full(18, 1.5),
        trials=400,
        coords={"subject": [f"s{i}" for i in range(18)], "block": [i // 6 for i in range(18)]},
        covariates={"AQ": scores.tolist(), "session": [1, 2, 3] * 6, "female": [0, 1] * 9},
        seed=1,
    )


@pytest.fixture(scope="module")
def fit(counts):
    return hmetad.fit(counts, formula={"log_m": "1 + AQ + C(session)"}, **QUIET)


def test_values_of_a_covariate_are_not_compared(counts, fit):
    for draws in (hmetad.resample(counts, hmetad.sdt, n=20, seed=1), fit):
        with pytest.raises(hmetad.InputError, match="over: got 'AQ', a covariate") as refused:
            hmetad.contrast(draws, var="dprime", over="AQ", within="subject")
        assert "dprime_AQ" in str(refused.value)
        with pytest.raises(hmetad.InputError, match="over: got 'AQ'"):
            hmetad.rank(draws, var="dprime", over="AQ", within="session")
    with pytest.raises(hmetad.InputError, match="over: got 'AQ'"):
        hmetad.contrast(hmetad.predict(fit), var="log_m", over="AQ", within="session")


def test_a_factor_that_is_coded_by_numbers_is_compared(fit):
    asked = {"trials": 400, "seed": 1}
    blocks = hmetad.simulate_counts([1.5] * 3, coords={"block": [1, 2, 3]}, **asked)
    sexes = hmetad.simulate_counts(
        [1.5] * 2, coords={"subject": ["a", "b"]}, covariates={"female": [0, 1]}, **asked
    )
    for counts, name, pairs in ((blocks, "block", 3), (sexes, "female", 1)):
        draws = hmetad.resample(counts, hmetad.sdt, n=20, seed=1)
        assert hmetad.contrast(draws, var="dprime", over=name).sizes["pair"] == pairs
    at = hmetad.predict(fit, {"AQ": [10] * 3, "session": [1, 2, 3]})
    assert hmetad.contrast(at, var="log_m", over="session").sizes["pair"] == 3
    with pytest.raises(hmetad.InputError, match="over and within: got session, alike"):
        hmetad.contrast(fit, var="log_m", over="session")


def test_chosen_values_of_a_covariate_are_compared(fit):
    at = hmetad.predict(fit, {"AQ": [10, 20], "session": [1, 1]})
    slope = fit["posterior"]["log_m_AQ"]
    found = hmetad.contrast(at, var="log_m", over="AQ", against=10)
    np.testing.assert_allclose(found.isel(pair=0), 10 * slope)


def test_labels_of_numbers_are_rounded_where_they_stay_unlike(fit):
    terms = hmetad.report.population_table(fit)["term"].tolist()
    assert "18.83 | 1" in terms
    near = hmetad.predict(fit, {"AQ": [1 / 3, 1 / 3 + 1e-9], "session": [1, 1]})
    assert len(set(near["cell"].values)) == 2
    assert hmetad.predict(fit, {"AQ": [0.125], "session": [2]})["cell"].values == ["0.125 | 2"]
