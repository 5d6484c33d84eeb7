"""Calibration, accuracy over confidence and selective prediction of trials.

Against scikit-learn, SciPy, published values, brute force, Murphy's identity and cases by hand.
"""

import json
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss

from hmetad import InputError, bin_confidence, count_correct, notices
from hmetad.measures import accuracy_by_confidence, calibration, selective_prediction

TOY = pd.DataFrame({"correct": [1, 1, 0, 0, 1], "confidence": [0.9, 0.9, 0.9, 0.5, 0.5]})
FOUR = pd.DataFrame({"correct": [1, 1, 0, 0], "confidence": [0.9, 0.8, 0.8, 0.3]})
# Accuracies 1/4, 3/4, 2/4 and 4/4 at rising confidence.
RIGHT = [1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1]
STEPS = pd.DataFrame({"correct": RIGHT, "confidence": np.repeat([-7.0, 0.5, 2.0, 90.0], 4)})
# Summing in another order: 1e-12 is thousands of roundings of numbers below 1.
ROUNDING = 1e-12
LEVELS = st.sampled_from([0.0, 0.1, 0.3, 1 / 3, 0.5, 0.7, 0.95, 1.0])
FORECASTS = st.lists(st.tuples(st.booleans(), LEVELS), min_size=1, max_size=60)
FUNCTIONS = [calibration, accuracy_by_confidence, selective_prediction]


def trials_of(pairs):
    return pd.DataFrame(pairs, columns=["correct", "confidence"])


def sure(n=1000, seed=0, models=("A", "B")):
    """Trials of overconfident models, with a confidence of their own each."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    right, model = rng.random(n) < p**1.5, rng.choice(models, n)
    return pd.DataFrame({"correct": right, "confidence": p, "model": model})


def one(trials, function=calibration, **options):
    return function(trials, **options).sel(cell="all")


def codes(result):
    return [notice.code for notice in notices(result)]


# --- calibration by hand --------------------------------------------------------------------


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


def test_all_right_all_wrong_one_confidence_one_trial_and_a_rounding_above_one():
    for right in (0, 1):
        judged = one(TOY.assign(correct=right))
        assert judged["accuracy"].item() == right
        assert judged["uncertainty"].item() == judged["resolution"].item() == 0
        assert np.isfinite(judged["ece"])
    judged = one(TOY.assign(confidence=0.8))
    assert judged["ece"].item() == pytest.approx(0.2)
    assert "empty-bins" in codes(judged)
    assert one(TOY.assign(confidence=1 + 1e-15))["mean_confidence"].item() == 1


def test_a_confidence_on_a_cut_goes_down():
    rows = pd.DataFrame({"correct": [1, 0, 1, 0], "confidence": [0.0, 0.3, 0.7, 1.0]})
    assert np.flatnonzero(one(rows, method="width")["bin_trials"]).tolist() == [0, 2, 6, 9]
    hundred = pd.DataFrame({"correct": 1, "confidence": np.arange(1, 101) / 100})
    assert (one(hundred, method="width", bins=100)["bin_trials"] == 1).all()


# --- calibration against referees -----------------------------------------------------------


@pytest.mark.parametrize(("method", "strategy"), [("mass", "quantile"), ("width", "uniform")])
def test_brier_score_and_reliability_table_are_scikit_learns(method, strategy):
    # 1000 distinct values in 10 bins: the only quantiles on which all definitions agree.
    trials = sure()
    judged = one(trials, method=method)
    right, stated = trials["correct"], trials["confidence"]
    table = calibration_curve(right, stated, n_bins=10, strategy=strategy)
    for name, theirs in zip(("bin_accuracy", "bin_confidence"), table, strict=True):
        np.testing.assert_allclose(judged[name], theirs, atol=ROUNDING)
    theirs = brier_score_loss(right, stated)
    assert judged["brier"].item() == pytest.approx(theirs, abs=ROUNDING)
    counts, _ = np.histogram(stated, bins=20, range=(0, 1))
    assert judged["histogram"].values.tolist() == counts.tolist()
    assert judged["histogram_bin"].values[[0, -1]].tolist() == [0.05, 1.0]


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
@settings(max_examples=60)
@given(pairs=FORECASTS, bins=st.integers(1, 12))
def test_brute_force_and_murphys_identity(method, pairs, bins):
    judged = one(trials_of(pairs), method=method, bins=bins)
    groups = brute_groups(pairs, bins, method)
    N, accuracy = len(pairs), np.mean([o for o, _ in pairs])
    expected = dict.fromkeys(("ece", "reliability", "resolution"), 0.0)
    for group in groups.values():
        (o, p), share = np.mean(group, axis=0), len(group) / N
        expected["ece"] += share * abs(p - o)
        expected["reliability"] += share * (p - o) ** 2
        expected["resolution"] += share * (o - accuracy) ** 2
    expected["brier"] = np.mean([(p - o) ** 2 for o, p in pairs])
    for name, value in expected.items():
        assert judged[name].item() == pytest.approx(value, abs=ROUNDING), name
    assert judged["bins_used"].item() == len(groups)
    parts = judged["reliability"] - judged["resolution"] + judged["uncertainty"]
    assert float(parts + judged["residual"]) == pytest.approx(float(judged["brier"]), abs=ROUNDING)
    if method == "distinct":
        assert judged["residual"].item() == pytest.approx(0, abs=1e-15)
    assert 0 <= judged["ece"] <= 1
    assert abs(judged["overconfidence"]) <= judged["ece"] + ROUNDING
    # Means of bins of which none shares a value rise strictly.
    means = judged["bin_confidence"].values[judged["bin_trials"].values > 0]
    assert (np.diff(means) > 0).all()
    assert judged["bin_trials"].sum() == N


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


# --- cells, rows and columns ----------------------------------------------------------------


@pytest.mark.parametrize("function", [calibration, selective_prediction])
def test_a_cell_is_the_same_beside_others_alone_and_in_any_order(function):
    trials = sure()
    both = function(trials, by="model")
    shuffled = trials.sample(frac=1, random_state=1)
    xr.testing.assert_allclose(both, function(shuffled, by="model"), rtol=ROUNDING)
    alone = one(trials[trials["model"] == "A"], function).drop_vars("cell")
    beside = both.sel(cell="A").drop_vars(["cell", "model"])
    xr.testing.assert_allclose(beside, alone, rtol=ROUNDING)


def test_rows_with_a_missing_value_are_left_out_and_noticed():
    rows = sure(400).assign(model=lambda t: t["model"].where(t.index != 3))
    rows.loc[[0, 1], "confidence"] = np.nan
    rows = rows.assign(correct=rows["correct"].astype(object).where(rows.index != 2, None))
    judged = calibration(rows, by="model")
    assert (judged["trials"].sum(), judged.attrs["rows_dropped"]) == (396, 4)
    message = next(n.message for n in notices(judged) if n.code == "rows-dropped")
    assert "correct (1), confidence (2), model (1)" in message
    xr.testing.assert_allclose(judged, calibration(rows.dropna(), by="model"))


def test_cells_and_coordinates_are_those_of_count_correct():
    trials = sure().assign(year=2024).rename(columns={"model": "llm"})
    judged = calibration(trials, by={"model": "llm", "year": "year"})
    table = count_correct(trials.assign(confidence=1), by={"model": "llm", "year": "year"})
    assert judged["cell"].to_numpy().tolist() == ["A | 2024", "B | 2024"]
    for name in ("cell", "model", "year"):
        xr.testing.assert_identical(judged[name], table[name])
    for name in ("by", "labels", "columns"):
        assert judged.attrs[name] == table.attrs[name]
    few = pd.concat([sure(500, models=("A",)), sure(50, models=("B",))])
    said = [n.cells for n in notices(calibration(few, by="model")) if n.code == "few-trials"]
    assert said == [("B",)]


@pytest.mark.parametrize("dtype", ["Float64", "float32", object])
def test_any_kind_of_number_column_is_confidence(dtype):
    trials = TOY.assign(confidence=pd.Series([0.75, 0.5, 0.25, 0.25, np.nan], dtype=dtype))
    assert one(trials)["mean_confidence"].item() == 0.4375


def test_rules_are_recorded():
    judged = calibration(sure(), bins=7)
    assert (judged.attrs["bins"], judged.attrs["method"]) == (7, "mass")
    assert "never part" in judged.attrs["binning"]
    assert json.loads(judged.attrs["columns"])["confidence"] == "confidence"
    found = accuracy_by_confidence(sure(), by="model", interval="exact", ci_prob=0.9)
    assert "90 % exact" in found["lower"].attrs["long_name"]
    assert "random order" in selective_prediction(sure()).attrs["ties"]


# --- accuracy over rising confidence --------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "inversions", "rises", "spearman"),
    [
        # Ranks 1, 3, 2, 4 against 1, 2, 3, 4: 1 − 6·2/(4·15).
        ([1, 3, 2, 4], 1, False, 0.8),
        ([0, 1, 2, 4], 0, True, 1),
        ([1, 1, 2, 2], 0, True, np.sqrt(0.8)),
        ([4, 2, 1, 0], 6, False, -1),
        ([2, 2, 2, 2], 0, False, np.nan),
        ([0, 0, 0, 0], 0, False, np.nan),
        ([4, 4, 4, 4], 0, False, np.nan),
    ],
)
def test_steps_by_hand(right, inversions, rises, spearman):
    correct = np.concatenate([np.repeat([1, 0], [r, 4 - r]) for r in right])
    result = accuracy_by_confidence(STEPS.assign(correct=correct), bins=4)
    found = result.sel(cell="all")
    assert found["bin_accuracy"].values.tolist() == [r / 4 for r in right]
    assert (found["inversions"].item(), found["rises"].item()) == (inversions, rises)
    assert found["spearman"].item() == pytest.approx(spearman, abs=1e-15, nan_ok=True)
    assert ("undefined-spearman" in codes(result)) == np.isnan(spearman)
    assert np.isfinite(found["lower"]).all()


def test_one_confidence_leaves_one_bin():
    found = accuracy_by_confidence(STEPS.assign(confidence=1.0), bins=4)
    assert found["bins_used"].item() == 1
    assert np.isnan(found["lower"]).sum() == np.isnan(found["upper"]).sum() == 3
    assert {"empty-bins", "undefined-spearman", "few-trials"} <= {*codes(found)}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(-3, 8)), min_size=1, max_size=50),
    st.integers(2, 9),
)
def test_inversions_and_correlation_are_those_of_the_bins_that_are_used(pairs, bins):
    found = one(trials_of(pairs), accuracy_by_confidence, bins=bins)
    accuracy = found["bin_accuracy"].values
    accuracy = accuracy[~np.isnan(accuracy)]
    expected = np.triu(accuracy[:, None] > accuracy, 1).sum()
    assert found["inversions"].item() == expected
    is_flat = len(set(accuracy)) == 1
    theirs = np.nan if is_flat else spearmanr(np.arange(len(accuracy)), accuracy).statistic
    assert found["spearman"].item() == pytest.approx(theirs, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("interval", ["wilson", "exact"])
@pytest.mark.parametrize("ci_prob", [0.5, 0.95, 0.999])
def test_intervals_are_scipys(interval, ci_prob):
    right = [0, 1, 3, 4, 7]
    correct = np.concatenate([np.repeat([1, 0], [r, 7 - r]) for r in right])
    trials = pd.DataFrame({"correct": correct, "confidence": np.repeat(range(5), 7)})
    found = one(trials, accuracy_by_confidence, bins=5, interval=interval, ci_prob=ci_prob)
    theirs = [binomtest(r, 7).proportion_ci(ci_prob, method=interval) for r in right]
    # SciPy finds the exact limits by a root search, to about 1e-9.
    np.testing.assert_allclose(found["lower"], [x.low for x in theirs], atol=1e-8)
    np.testing.assert_allclose(found["upper"], [x.high for x in theirs], atol=1e-8)
    assert (found["lower"][0], found["upper"][-1]) == (0, 1)


def test_bins_are_those_of_bin_confidence_and_of_calibration():
    trials = sure()
    found = one(trials, accuracy_by_confidence)
    by_rating = trials.groupby(bin_confidence(trials["confidence"], 10))["correct"].mean()
    np.testing.assert_array_equal(found["bin_accuracy"], by_rating)
    xr.testing.assert_equal(found["bin_accuracy"], one(trials)["bin_accuracy"])


def test_only_the_order_of_confidence_counts():
    trials = sure()
    other = trials.assign(confidence=np.log(trials["confidence"]))
    ours, theirs = (accuracy_by_confidence(t, by="model") for t in (trials, other))
    xr.testing.assert_equal(ours.drop_vars("bin_confidence"), theirs.drop_vars("bin_confidence"))
    ours, theirs = (selective_prediction(t)["aurc"] for t in (trials, other))
    xr.testing.assert_equal(ours, theirs)


# --- selective prediction -------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 2])), min_size=1, max_size=6))
def test_ties_are_averaged_over_every_order(pairs):
    n = len(pairs)
    orders = [p for p in permutations(pairs) if all(a[1] >= b[1] for a, b in pairwise(p))]
    right = np.array(orders)[..., 0].cumsum(axis=1).mean(axis=0)
    expected, shares = right / np.arange(1, n + 1), np.arange(1, n + 1) / n
    curve = one(trials_of(pairs), selective_prediction, coverages=shares)
    np.testing.assert_allclose(curve["selective_accuracy"], expected, atol=ROUNDING)
    assert 1 - curve["aurc"].item() == pytest.approx(expected.mean(), abs=ROUNDING)


def test_accuracy_above_a_threshold_is_scikit_learns():
    trials = sure()
    trials["confidence"] = trials["confidence"].round(2)
    for cut in (0.9, 0.5, 0.2):
        kept = trials[trials["confidence"] >= cut]
        curve = one(trials, selective_prediction, coverages=[len(kept) / len(trials)])
        theirs = accuracy_score(kept["correct"], np.ones(len(kept), dtype=bool))
        assert curve["selective_accuracy"].item() == pytest.approx(theirs, abs=ROUNDING)
        assert curve["confidence_threshold"].item() == kept["confidence"].min()


# --- refused --------------------------------------------------------------------------------

RATED = TOY.assign(stimulus=[0, 1, 0, 1, 0], response=[0, 1, 1, 0, 0], confidence=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([90, 80, 100, 55, 0], r".*scale='percent' for percentages.*got 4 values such as 90"),
        ([1, 2, 3, 4, 4], r"If the ends of the ratings mean 0 and 1.*scale=\(1, 7\)"),
        ([-0.1, -2, -3, -0.5, 0], r"Convert log probabilities to probabilities with numpy\.exp"),
        ([-0.1, 0.5, 1.2, 0.5, 0.5], r".*Expected probabilities.*, got 2 values such as -0\.1"),
        (["90%", "80%", "1%", "5%", "2%"], r"import table FILE --sc.*text such as '90%' \(5 of 5 "),
        ([True, False, True, True, True], r"got values such as \[True\]"),
    ],
)
def test_what_is_no_probability_is_refused_with_the_way_out(values, message):
    with pytest.raises(InputError, match=message):
        calibration(TOY.assign(confidence=values))


COVERED = r"coverages: .*rising numbers above 0 and up to 1.*got "
NO_SHARES = [[], [0, 0.5], [0.9, 0.2], [np.nan]]


@pytest.mark.parametrize(
    ("function", "trials", "options", "message"),
    [
        *[(f, count_correct(RATED), {}, r"auroc2, gamma.*type-2 table") for f in FUNCTIONS],
        (calibration, TOY.head(0), {}, "trials"),
        (calibration, TOY.assign(correct="maybe"), {}, "correct"),
        (calibration, TOY.assign(m=[[1]] * 5), {"by": "m"}, "one text or number per value"),
        (calibration, TOY, {"confidence": "confidnce"}, r"Did you mean 'confidence'\?"),
        (accuracy_by_confidence, STEPS, {"bins": 1}, "at least 2"),
        *[(selective_prediction, FOUR, {"coverages": x}, COVERED) for x in NO_SHARES],
        (selective_prediction, FOUR, {"coverages": [50, 100]}, "Divide percentages by 100"),
    ],
)
def test_what_cannot_be_judged_is_refused(function, trials, options, message):
    with pytest.raises(InputError, match=message):
        function(trials, **options)
