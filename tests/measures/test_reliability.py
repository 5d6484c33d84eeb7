"""Calibration against scikit-learn, published values, brute force and Murphy's identity."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from hmetad.counts.counting import count_correct, count_trials
from hmetad.errors import InputError
from hmetad.measures.reliability import calibration
from hmetad.notice import notices

TOY = pd.DataFrame({"correct": [1, 1, 0, 0, 1], "confidence": [0.9, 0.9, 0.9, 0.5, 0.5]})
# Summing in another order: 1e-12 is thousands of roundings of numbers below 1.
ROUNDING = 1e-12
FORECASTS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.3, 1 / 3, 0.5, 0.7, 0.95, 1.0])),
    min_size=1,
    max_size=60,
)


def trials_of(pairs):
    return pd.DataFrame(pairs, columns=["correct", "confidence"])


def sure(n=1000, seed=0, models=("A", "B")):
    """Trials of overconfident models, with a confidence of their own each."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return pd.DataFrame(
        {"correct": rng.random(n) < p**1.5, "confidence": p, "model": rng.choice(models, n)}
    )


def one(trials, **options):
    return calibration(trials, **options).sel(cell="all")


def codes(result):
    return [notice.code for notice in notices(result)]


# --- worked by hand -------------------------------------------------------------------------


def test_five_trials_by_hand():
    judged = one(TOY, method="distinct")
    expected = {
        "ece": Fraction(2, 5) * 0 + Fraction(3, 5) * (Fraction(9, 10) - Fraction(2, 3)),
        "brier": Fraction(2 * 1 + 81 + 2 * 25, 100) / 5,
        "reliability": Fraction(3, 5) * Fraction(7, 30) ** 2,
        "resolution": Fraction(2, 5) * Fraction(1, 100) + Fraction(3, 5) * Fraction(1, 15) ** 2,
        "uncertainty": Fraction(3, 5) * Fraction(2, 5),
        "residual": 0,
        "mean_confidence": Fraction(37, 50),
        "accuracy": Fraction(3, 5),
        "overconfidence": Fraction(7, 50),
    }
    for name, value in expected.items():
        assert judged[name].item() == pytest.approx(float(value), abs=1e-15), name
    assert judged["bin_confidence"].values == pytest.approx([0.5, 0.9])
    assert judged["bin_trials"].values.tolist() == [2, 3]
    assert (judged["trials"], judged["bins_used"]) == (5, 2)


def test_two_bins_of_equal_mass_by_hand():
    judged = one(TOY, bins=2)
    assert judged["bin_confidence"].values == pytest.approx([0.5, 0.9])
    assert judged["ece"].item() == pytest.approx(0.14)


def test_one_bin_has_the_overconfidence_as_its_error():
    judged = one(TOY, bins=1)
    assert judged["ece"].item() == pytest.approx(0.14)
    assert judged["overconfidence"].item() == pytest.approx(0.14)
    assert judged["resolution"].item() == 0


# --- outside referees -----------------------------------------------------------------------


def test_brier_score_is_scikit_learns():
    trials = sure()
    ours = calibration(trials, by="model")["brier"]
    for model in ("A", "B"):
        rows = trials[trials["model"] == model]
        theirs = brier_score_loss(rows["correct"], rows["confidence"])
        assert ours.sel(cell=model).item() == pytest.approx(theirs, abs=ROUNDING)


@pytest.mark.parametrize(("method", "strategy"), [("mass", "quantile"), ("width", "uniform")])
def test_reliability_table_is_scikit_learns(method, strategy):
    # 1000 distinct values in 10 bins: the only quantiles on which all definitions agree.
    trials = sure()
    judged = one(trials, method=method)
    accuracy, confidence = calibration_curve(
        trials["correct"], trials["confidence"], n_bins=10, strategy=strategy
    )
    np.testing.assert_allclose(judged["bin_accuracy"], accuracy, atol=ROUNDING)
    np.testing.assert_allclose(judged["bin_confidence"], confidence, atol=ROUNDING)


@pytest.mark.parametrize(
    ("task", "name_in_print", "items"),
    [("boolq_valid", "BoolQ", 2503), ("halu_eval_qa", "HaluEval", 1790)],
)
def test_published_errors_of_language_models_are_met(shared, task, name_in_print, items):
    folder = shared / "data" / "michael2026_comparing_confidence"
    trials = pd.read_csv(folder / "llm-confidence-correct.csv.gz", dtype={"question_id": str})
    by_question = trials.groupby(["qset", "question_id"])["llm"]
    common = trials[(by_question.transform("nunique") == 11) & (trials["qset"] == task)]
    judged = calibration(common, by="llm", confidence="stated_confidence", method="width")
    printed = pd.read_csv(folder / "table1-info.csv")
    printed = printed[printed["qset"] == name_in_print].sort_values("ece")
    ours = judged.sortby("ece")
    assert (ours["trials"] == items).all()
    names = {"confidence": "mean_confidence", "ece": "ece", "overconfidence": "overconfidence"}
    for theirs, name in (names | {"accuracy": "accuracy"}).items():
        np.testing.assert_allclose(ours[name], printed[theirs], atol=ROUNDING, err_msg=name)


@pytest.mark.parametrize("method", ["mass", "width", "distinct"])
@given(pairs=FORECASTS, bins=st.integers(1, 12))
def test_brute_force_agrees(method, pairs, bins):
    judged = one(trials_of(pairs), method=method, bins=bins)
    groups = brute_groups(pairs, bins, method)
    N, accuracy = len(pairs), np.mean([o for o, _ in pairs])
    ece = reliability = resolution = 0.0
    for group in groups.values():
        o, p = np.mean([o for o, _ in group]), np.mean([p for _, p in group])
        ece += len(group) / N * abs(p - o)
        reliability += len(group) / N * (p - o) ** 2
        resolution += len(group) / N * (o - accuracy) ** 2
    assert judged["ece"].item() == pytest.approx(ece, abs=ROUNDING)
    assert judged["reliability"].item() == pytest.approx(reliability, abs=ROUNDING)
    assert judged["resolution"].item() == pytest.approx(resolution, abs=ROUNDING)
    assert judged["bins_used"].item() == len(groups)
    brier = np.mean([(p - o) ** 2 for o, p in pairs])
    assert judged["brier"].item() == pytest.approx(brier, abs=ROUNDING)


def brute_groups(pairs, bins, method):
    """Trials by bin, each bin found by counting or by comparing fractions."""
    groups = {}
    values = [p for _, p in pairs]
    for o, p in pairs:
        if method == "mass":
            rank = sum(q < p for q in values) + Fraction(sum(q == p for q in values) + 1, 2)
            place = -((-bins * (rank - Fraction(1, 2))) // len(pairs))
        elif method == "width":
            place = next(b for b in range(1, bins + 1) if p <= b / bins)
        else:
            place = p
        groups.setdefault(place, []).append((o, p))
    return groups


# --- identities -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mass", "width", "distinct"])
@given(pairs=FORECASTS, bins=st.integers(1, 12))
def test_brier_score_is_reliability_minus_resolution_plus_uncertainty_plus_residual(
    method, pairs, bins
):
    judged = one(trials_of(pairs), method=method, bins=bins)
    parts = judged["reliability"] - judged["resolution"] + judged["uncertainty"]
    assert float(parts + judged["residual"]) == pytest.approx(float(judged["brier"]), abs=ROUNDING)
    if method == "distinct":
        assert judged["residual"].item() == pytest.approx(0, abs=1e-15)
    assert 0 <= judged["ece"] <= 1
    assert abs(judged["overconfidence"]) <= judged["ece"] + ROUNDING


@given(pairs=FORECASTS, bins=st.integers(1, 12))
def test_equal_confidences_are_never_in_two_bins(pairs, bins):
    judged = one(trials_of(pairs), bins=bins)
    # Means of bins of which none shares a value rise strictly.
    means = judged["bin_confidence"].values[judged["bin_trials"].values > 0]
    assert (np.diff(means) > 0).all()
    assert judged["bin_trials"].sum() == len(pairs)


def test_order_of_trials_does_not_matter():
    trials = sure()
    shuffled = trials.sample(frac=1, random_state=1)
    xr.testing.assert_allclose(
        calibration(trials, by="model"), calibration(shuffled, by="model"), rtol=ROUNDING
    )


def test_a_cell_is_the_same_beside_others_and_alone():
    trials = sure()
    both = calibration(trials, by="model").sel(cell="A").drop_vars("model")
    alone = one(trials[trials["model"] == "A"])
    xr.testing.assert_allclose(both.drop_vars("cell"), alone.drop_vars("cell"), rtol=ROUNDING)


def test_a_confidence_on_a_cut_goes_down():
    rows = pd.DataFrame({"correct": [1, 0, 1, 0], "confidence": [0.0, 0.3, 0.7, 1.0]})
    assert np.flatnonzero(one(rows, method="width")["bin_trials"]).tolist() == [0, 2, 6, 9]
    hundred = pd.DataFrame({"correct": 1, "confidence": np.arange(1, 101) / 100})
    assert (one(hundred, method="width", bins=100)["bin_trials"] == 1).all()


def test_histogram_has_every_trial_once():
    trials = sure()
    histogram = one(trials)["histogram"]
    counts, _ = np.histogram(trials["confidence"], bins=20, range=(0, 1))
    assert histogram.values.tolist() == counts.tolist()
    assert histogram["histogram_bin"].values[[0, -1]].tolist() == [0.05, 1.0]


# --- edges ----------------------------------------------------------------------------------


def test_all_right_and_all_wrong_have_no_uncertainty():
    for right in (0, 1):
        judged = one(TOY.assign(correct=right))
        assert judged["accuracy"].item() == right
        assert judged["uncertainty"].item() == judged["resolution"].item() == 0
        assert np.isfinite(judged["ece"])


def test_one_confidence_fills_one_bin():
    judged = one(TOY.assign(confidence=0.8))
    assert judged["bins_used"].item() == 1
    assert judged["ece"].item() == pytest.approx(0.2)
    assert np.isnan(judged["bin_accuracy"]).sum() == 9
    assert "empty-bins" in codes(judged)


def test_one_trial_is_a_cell():
    assert one(TOY.head(1))["ece"].item() == pytest.approx(0.1)


def test_rounding_beyond_one_is_set_right():
    rows = TOY.assign(confidence=1 + 1e-15)
    assert one(rows)["mean_confidence"].item() == 1


def test_few_trials_are_noticed_with_their_cells():
    trials = pd.concat([sure(500, models=("A",)), sure(50, models=("B",))])
    few = next(n for n in notices(calibration(trials, by="model")) if n.code == "few-trials")
    assert few.cells == ("B",)


def test_rows_with_a_missing_value_are_left_out_and_noticed():
    rows = sure(400).assign(model=lambda t: t["model"].where(t.index != 3))
    rows.loc[[0, 1], "confidence"] = np.nan
    rows = rows.assign(correct=rows["correct"].astype(object).where(rows.index != 2, None))
    judged = calibration(rows, by="model")
    assert judged["trials"].sum() == 396
    assert judged.attrs["rows_dropped"] == 4
    message = next(n.message for n in notices(judged) if n.code == "rows-dropped")
    assert "correct (1), confidence (2), model (1)" in message
    expected = calibration(rows.dropna(), by="model")
    xr.testing.assert_allclose(judged, expected)


# --- labels ---------------------------------------------------------------------------------


def test_cells_and_coordinates_are_those_of_count_correct():
    trials = sure().assign(year=2024).rename(columns={"model": "llm"})
    judged = calibration(trials, by={"model": "llm", "year": "year"})
    rated = trials.assign(confidence=1)
    table = count_correct(rated, by={"model": "llm", "year": "year"})
    assert judged["cell"].to_numpy().tolist() == ["A | 2024", "B | 2024"]
    for name in ("cell", "model", "year"):
        xr.testing.assert_identical(judged[name], table[name])
    for name in ("by", "labels", "columns"):
        assert judged.attrs[name] == table.attrs[name]


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_any_kind_of_text_column_groups(dtype):
    trials = sure()
    other = trials.assign(model=trials["model"].astype(dtype))
    other.loc[0, "model"] = np.nan
    judged = calibration(other, by="model")
    xr.testing.assert_identical(judged["ece"], calibration(trials.iloc[1:], by="model")["ece"])


@pytest.mark.parametrize("dtype", ["Float64", "float32", object])
def test_any_kind_of_number_column_is_confidence(dtype):
    trials = TOY.assign(confidence=pd.Series([0.75, 0.5, 0.25, 0.25, np.nan], dtype=dtype))
    assert one(trials)["mean_confidence"].item() == 0.4375


def test_every_variable_says_what_it_is():
    judged = calibration(sure(), by="model")
    for name, variable in judged.data_vars.items():
        assert set(variable.attrs) == {"long_name", "units", "source"}, name


def test_the_rule_of_the_bins_is_recorded():
    judged = calibration(sure(), bins=7)
    assert (judged.attrs["bins"], judged.attrs["method"]) == (7, "mass")
    assert "never part" in judged.attrs["binning"]
    assert json.loads(judged.attrs["columns"])["confidence"] == "confidence"


def test_result_survives_a_file(tmp_path):
    judged = calibration(sure(), by="model")
    judged.to_netcdf(tmp_path / "calibration.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "calibration.nc", engine="h5netcdf")
    xr.testing.assert_equal(read, judged)
    assert notices(read) == notices(judged)


def test_the_trials_are_not_changed():
    trials = sure()
    before = trials.copy()
    calibration(trials, by={"llm": "model"})
    pd.testing.assert_frame_equal(trials, before)


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([90, 80, 100, 55, 0], r"got 4 values such as 90.*Divide percentages by 100"),
        (
            [1, 2, 3, 4, 4],
            r"Ratings are no probabilities: .*count_correct apply measures of .*auroc2",
        ),
        ([-0.1, -2, -3, -0.5, 0], r"Log probabilities become probabilities by numpy\.exp"),
        ([-0.1, 0.5, 1.2, 0.5, 0.5], r"got 2 values such as -0\.1, allowed is probabilities"),
        ([np.inf, 0.5, 0.5, 0.5, 0.5], "got inf, allowed is finite numbers"),
        (
            ["90%", "80%", "1%", "5%", "2%"],
            r"text such as '90%' \(5 of 5 .*import table FILE --scale",
        ),
        ([True, False, True, True, True], r"got values such as \[True\]"),
        (pd.Series(["a", 0.5, 0.5, 0.5, 0.5], dtype=object), r"text such as 'a' \(1 of 5 "),
        (pd.Series([True, False] * 2 + [None], dtype=object), "values such as True"),
        ([np.nan] * 5, "a missing value in each of the 5 rows"),
    ],
)
def test_what_is_no_probability_is_refused_with_the_way_out(values, message):
    with pytest.raises(InputError, match=message):
        calibration(TOY.assign(confidence=values))


def test_a_table_of_ratings_is_refused_and_told_what_applies():
    counts = count_correct(TOY.assign(confidence=[1, 2, 3, 4, 4]))
    with pytest.raises(InputError, match=r"type-2 table.*auroc2, gamma"):
        calibration(counts)
    shown = TOY.assign(stimulus=[0, 1, 0, 1, 0], response=[0, 1, 1, 0, 0], confidence=1)
    with pytest.raises(InputError, match=r"a table with dims.*auroc2, gamma"):
        calibration(count_trials(shown))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 0}, "bins: got 0, allowed is a whole number of at least 1"),
        ({"bins": 2.5}, "bins: got 2.5"),
        ({"method": "quantile"}, "method: got 'quantile', allowed is 'mass', 'width' or"),
        ({"by": "model"}, "by: got 'model', allowed is a column"),
        ({"by": "correct"}, "by: got 'correct'"),
        ({"confidence": "confidnce"}, r"Did you mean 'confidence'\?"),
        ({"confidence": "correct"}, "2 times"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        calibration(TOY, **options)


@pytest.mark.parametrize("trials", [[1, 2], TOY.head(0), TOY.assign(correct="maybe")])
def test_trials_that_cannot_be_judged_are_refused(trials):
    with pytest.raises(InputError):
        calibration(trials)


def test_columns_of_lists_are_refused_as_input():
    with pytest.raises(InputError, match="one text or number per value"):
        calibration(TOY.assign(model=[[1]] * 5), by="model")
