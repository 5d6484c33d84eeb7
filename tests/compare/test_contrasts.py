"""Contrasts pair the cells that the coordinates say, or weigh them as a matrix does."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from drawn_cells import drawn_cells, said
from hypothesis import given
from hypothesis import strategies as st

import hmetad
from hmetad import InputError, contrast, notices

WITHIN = {"over": "model", "within": "task"}


@pytest.fixture
def draws():
    """Three models × two tasks, one combination missing."""
    values = np.random.default_rng(0).normal(size=(2, 50, 5))
    return drawn_cells(values, model=["m1", "m2", "m3", "m1", "m2"], task=[*"AAABB"])


def shared_draws(cells, noise):
    """Cells that have nearly all of their spread in common."""
    shared = np.random.default_rng(1).normal(size=(4, 1000, 1))
    own = np.random.default_rng(2).normal(size=(4, 1000, len(cells)))
    return drawn_cells(shared + noise * own, model=cells)


@pytest.mark.parametrize("name", ["label", "left", "right", "withheld", "left_cell"])
def test_what_pairs_are_called_by_may_be_compared_but_not_held_equal(draws, name):
    odd = draws.rename(model=name)
    plain = contrast(draws, **WITHIN)
    xr.testing.assert_equal(contrast(odd, over=name, within="task"), plain)
    with pytest.raises(InputError, match=f"by: .*got '{name}'"):
        contrast(odd, over="task", within=name)


def test_all_pairs_of_a_coordinate_or_those_against_a_level(draws):
    result = contrast(draws, **WITHIN)
    expected = ["m1 − m2 | A", "m1 − m3 | A", "m2 − m3 | A", "m1 − m2 | B"]
    assert result["pair"].values.tolist() == expected
    assert result["left"].values.tolist() == ["m1", "m1", "m2", "m1"]
    assert result["right"].values.tolist() == ["m2", "m3", "m3", "m2"]
    assert result["task"].values.tolist() == ["A", "A", "A", "B"]
    assert result.dims == ("chain", "draw", "pair")
    difference = draws.sel(cell="m1 | B") - draws.sel(cell="m2 | B")
    np.testing.assert_array_equal(result.isel(pair=3), difference)
    xr.testing.assert_identical(contrast(draws, over="model", within=["task", "task"]), result)
    against = contrast(draws, **WITHIN, against="m2")
    assert against["pair"].values.tolist() == ["m1 − m2 | A", "m3 − m2 | A", "m1 − m2 | B"]


def test_pairs_of_all_strata_have_the_sign_that_complete_ones_have():
    """Neither a first person without a nor cells in another order turn a difference round."""
    values = np.random.default_rng(0).normal(size=(1, 8, 7))
    draws = drawn_cells(values, task=[*"babcacb"], subject=[*"1222333"])
    pairs = contrast(draws, over="task", within="subject")["pair"].values.tolist()
    expected = [f"{pair} | {who}" for who in "23" for pair in ("a − b", "a − c", "b − c")]
    assert pairs == expected
    pooled = contrast(draws, over="task", pool="subject")["pair"].values.tolist()
    assert pooled == ["a − b", "a − c", "b − c"]


def test_contrasts_of_contrasts_say_both(draws):
    both = contrast(contrast(draws.isel(cell=[0, 1, 3, 4]), **WITHIN), over="task")
    assert both["pair"].values.tolist() == ["(m1 − m2 | A) − (m1 − m2 | B)"]


def test_log_ratio_is_nan_where_a_ratio_has_no_logarithm(draws):
    result = contrast(draws.rename("m_ratio"), **WITHIN, kind="log_ratio")
    left, right = draws.sel(cell="m1 | A"), draws.sel(cell="m2 | A")
    positive = ((left > 0) & (right > 0)).values
    np.testing.assert_array_equal(np.isnan(result.isel(pair=0)), ~positive)
    expected = np.log(left.values[positive] / right.values[positive])
    np.testing.assert_allclose(result.isel(pair=0).values[positive], expected)


def test_joint_cells_keep_their_covariance_and_independent_ones_lose_it():
    """Whether they are paired or weighed: no trace of equal seeds stays."""
    table = pd.DataFrame([[0.5, 0.5, -1]], ["x"], list("abc"))
    for cells, matrix, norm in (("ab", None, np.sqrt(2)), ("abc", table, np.sqrt(1.5))):
        draws = shared_draws([*cells], 0.1)
        joint = contrast(draws, over="model", matrix=matrix)
        independent = contrast(draws, over="model", matrix=matrix, independent=True)
        assert (joint.attrs["pairing"], independent.attrs["pairing"]) == ("joint", "independent")
        assert float(joint.std()) == pytest.approx(0.1 * norm, rel=0.1)
        assert float(independent.std()) == pytest.approx(norm * np.sqrt(1.01), rel=0.05)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"within": ()}, "Add to within: task"),
        ({"over": "modell"}, "Did you mean 'model'"),
        ({"against": "x"}, "'m1', 'm2', 'm3'"),
        ({"var": "logm"}, "Did you mean 'log_m'"),
        ({"kind": "ratio"}, "'difference', 'log_ratio' or 'superiority'"),
        ({"kind": "log_ratio"}, "which is a logarithm"),
    ],
)
def test_what_cannot_be_compared_is_refused(draws, options, says):
    with pytest.raises(InputError, match=says):
        contrast(draws.to_dataset(), **{"var": "log_m"} | WITHIN | options)


def test_draws_of_nothing_of_one_level_and_what_is_no_draws_are_refused(draws):
    for missing in ("cell", "draw"):
        with pytest.raises(InputError, match=f"draws: .*got none: {missing} of length 0"):
            contrast(draws.isel({missing: []}), **WITHIN)
    for wrong in (None, [draws, draws]):
        with pytest.raises(InputError, match=f".*Expected a fit.*, got {type(wrong).__name__}"):
            contrast(wrong, **WITHIN)
    with pytest.raises(InputError, match="two levels"):
        contrast(draws.isel(cell=[0]), over="model")


def test_strata_without_the_reference_are_left_out_and_named(draws):
    result = contrast(draws, **WITHIN, against="m3")
    assert result["task"].values.tolist() == ["A", "A"]
    (notice,) = notices(result)
    assert (notice.code, notice.message) == ("left-out", "Excluded, because cells are missing: B.")
    tasks = [f"task {number:02d}" for number in range(9)]
    many = drawn_cells(np.zeros((1, 4, 10)), model=["a"] * 9 + ["b"], task=[*tasks, tasks[0]])
    (notice,) = notices(contrast(many, **WITHIN))
    named = "; ".join(tasks[1:6])
    assert notice.message.startswith(f"Excluded, because cells are missing: {named} and 3 more.")


def separate(seed, cells=("A", "B"), draws=50):
    values = np.random.default_rng(seed).normal(size=(2, draws, len(cells)))
    fit = drawn_cells(values, task=cells).to_dataset()
    return xr.DataTree.from_dict({"posterior": fit})


SEPARATE = {"var": "log_m", "over": "model", "within": "task", "independent": True}


def test_separate_fits_go_by_their_names_and_are_told_that_they_share_items():
    fits = {"o3": separate(1), "GPT-5": separate(2, draws=40)}
    result = contrast(fits, **SEPARATE)
    assert result["pair"].values.tolist() == ["o3 − GPT-5 | A", "o3 − GPT-5 | B"]
    left, right = (fits[name]["posterior"]["log_m"][:, :40] for name in fits)
    # The mean does not depend on how draws are paired.
    means = (left - right).mean(["chain", "draw"])
    np.testing.assert_allclose(result.mean(["chain", "draw"]), means, atol=1e-12)
    assert result.attrs["pairing"] == "independent"
    assert "moved on" in result.attrs["pairing_rule"]
    (notice,) = notices(result)
    assert (notice.code, notice.severity) == ("separate-fits", "warning")
    assert "share task" in notice.message
    assert notices(contrast(fits["o3"], var="log_m", over="task")) == []


def test_separate_fits_that_share_subjects_are_told_so():
    fits = {}
    for seed, subjects in enumerate((["1", "2"], ["2", "3"])):
        dims = ("chain", "draw", "subject__factor_dim")
        effects = xr.DataArray(np.zeros((2, 50, 2)), {dims[2]: subjects}, dims)
        mean = xr.DataArray(np.random.default_rng(seed).normal(size=(2, 50)), dims=dims[:2])
        fits[f"g{seed}"] = xr.Dataset({"log_m_1|subject": effects, "log_m_Intercept": mean})
    asked = {"var": "log_m_Intercept", "over": "group", "independent": True}
    result = contrast(fits, **asked)
    assert result["pair"].values.tolist() == ["g0 − g1"]
    assert "share subject" in notices(result)[0].message
    apart = {"g0": fits["g0"], "g1": fits["g1"].isel(subject__factor_dim=[1])}
    assert notices(contrast(apart, **asked)) == []


def test_errors_of_one_fit_do_not_touch_the_cells_of_another():
    fits = {"a": separate(1, ["A"]), "b": separate(2, ["A"]), "c": separate(3, ["A"])}
    fits["c"].attrs.update(said(("rhat", [])))
    result = contrast(fits, **SEPARATE)
    assert result["withheld"].values.tolist() == ["", "rhat", "rhat"]


def test_separate_fits_are_not_taken_for_a_joint_one():
    with pytest.raises(InputError, match="independent=True"):
        contrast({"a": separate(1), "b": separate(2)}, **SEPARATE | {"independent": False})
    with pytest.raises(InputError, match="two fits"):
        contrast({"a": separate(1)}, **SEPARATE)


def test_ten_thousand_pairs_need_little_more_memory_than_they_hold():
    draws = drawn_cells(np.random.default_rng(0).normal(size=(4, 1000, 142)), model=np.arange(142))
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


def ratios():
    """Three models in two tasks."""
    values = np.random.default_rng(0).lognormal(size=(2, 40, 6))
    return drawn_cells(values, "m_ratio", model=LEVELS * 2, task=[*"AAABBB"])


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3).filter(lambda w: np.ptp(w) > 1e-3))
def test_a_contrast_is_the_weighted_sum_of_its_cells(given_weights):
    weights = np.array(given_weights) - np.mean(given_weights)
    draws = ratios()
    result = contrast(draws, **WITHIN, matrix=pd.DataFrame([weights], ["mine"], LEVELS))
    assert result["pair"].values.tolist() == ["mine | A", "mine | B"]
    for place in range(2):
        expected = draws.values[..., 3 * place : 3 * place + 3] @ weights
        np.testing.assert_allclose(result[..., place], expected, atol=1e-12)


def test_weights_of_one_and_minus_one_are_a_pair_and_sides_are_named_with_others():
    draws = ratios()
    for kind in ("difference", "log_ratio", "superiority"):
        pairs = contrast(draws, **WITHIN, against="b", kind=kind)
        mine = contrast(draws, **WITHIN, matrix=HELMERT, kind=kind)
        np.testing.assert_allclose(mine.sel(pair="first | A"), pairs.sel(pair="a − b | A"))
    assert mine["left"].values.tolist()[:2] == ["a", "0.5·a + 0.5·b"]
    assert mine["right"].values.tolist()[:2] == ["b", "c"]


def test_an_undefined_draw_counts_only_where_it_has_weight():
    draws = ratios()
    for value, kind in ((np.nan, "difference"), (-1.0, "log_ratio")):
        draws[0, 0, 2] = value
        found = contrast(draws, **WITHIN, matrix=HELMERT, kind=kind)
        assert np.isnan(found).sum(["chain", "draw"]).values.tolist() == [0, 1, 0, 0]


def test_levels_that_are_numbers_stay_numbers():
    draws = drawn_cells(np.random.default_rng(0).normal(size=(2, 5, 2)), temperature=[0.5, 1.0])
    table = pd.DataFrame([[-1, 1]], ["per unit"], [0.5, 1.0])
    weighed = contrast(draws, over="temperature", matrix=table)
    np.testing.assert_allclose(weighed.isel(pair=0), draws[..., 1] - draws[..., 0])
    assert contrast(draws, over="temperature", against=0.5)["left"].values.tolist() == [1.0]


def of_two(weights, rows=("x",), columns=("a", "b")):
    return pd.DataFrame(weights, rows, columns)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (of_two([[1, -0.9]]), "sum 0.1"),
        (of_two([[0, 0]]), "not all 0"),
        (of_two([[np.nan, 1]]), "finite"),
        (of_two([["1", "-1"]]), "table of numbers"),
        (of_two([[1, -1]], columns=["a", "d"]), "level of model"),
        (of_two([[1, -1], [1, -1]], ["x", "x"]), "rows named alike"),
        (of_two([[1, -1]], columns=["a", "a"]), "columns named alike"),
        (pd.DataFrame(), "table of numbers"),
        ({"a": 1, "b": -1}, "DataFrame"),
    ],
)
def test_weights_that_make_no_contrast_are_refused(table, message):
    with pytest.raises(InputError, match=message):
        contrast(ratios(), **WITHIN, matrix=table)


def test_levels_that_are_never_together_are_refused():
    apart = ratios()[..., [0, 4]]
    with pytest.raises(InputError, match="never together"):
        contrast(apart, **WITHIN, matrix=of_two([[1, -1]]))
    with pytest.raises(InputError, match="does not go with matrix"):
        contrast(apart, **WITHIN, matrix=of_two([[1, -1]]), against="a")


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
        with pytest.raises(hmetad.InputError, match=r"over: .*got 'AQ', a covariate") as refused:
            hmetad.contrast(draws, var="dprime", over="AQ", within="subject")
        assert "dprime_AQ" in str(refused.value)
        with pytest.raises(hmetad.InputError, match=r"over: .*got 'AQ'"):
            hmetad.rank(draws, var="dprime", over="AQ", within="session")
    with pytest.raises(hmetad.InputError, match=r"over: .*got 'AQ'"):
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
    with pytest.raises(hmetad.InputError, match=r"over and within: .*got session, alike"):
        hmetad.contrast(fit, var="log_m", over="session")


def test_chosen_values_of_a_covariate_are_compared(fit):
    at = hmetad.predict(fit, {"AQ": [10, 20], "session": [1, 1]})
    slope = fit["posterior"]["log_m_AQ"]
    found = hmetad.contrast(at, var="log_m", over="AQ", against=10)
    np.testing.assert_allclose(found.isel(pair=0), 10 * slope)
