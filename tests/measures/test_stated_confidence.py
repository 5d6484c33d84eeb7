"""Confidence that is left out, on two scales, or no probability: what results say of it."""

import numpy as np
import pandas as pd
import pytest

from hmetad import contrast, count_correct, decide, notices
from hmetad.measures import (
    calibration,
    measure_trials,
    resample_trials,
    scale_report,
    selective_prediction,
)


def answers(n=400, seed=1):
    """Answers of two models with stated confidence, right as often as it says."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.3, 1, 2 * n).round(2)
    correct = rng.uniform(size=2 * n) < confidence
    rows = {"model": np.repeat(["honest", "shy"], n), "item": np.tile(np.arange(n), 2)}
    return pd.DataFrame({**rows, "correct": correct, "confidence": confidence})


def withheld_where_wrong(share):
    """Answers of which one model leaves out confidence in a share of its wrong ones."""
    trials = answers()
    wrong = trials.index[(trials["model"] == "shy") & ~trials["correct"]]
    trials.loc[wrong[: int(share * len(wrong))], "confidence"] = np.nan
    return trials


def coded(result, code):
    return [one for one in notices(result) if one.code == code]


@pytest.mark.parametrize("measure", [measure_trials, calibration, selective_prediction])
def test_the_model_without_confidence_is_named_with_what_it_leaves_out(measure):
    trials = withheld_where_wrong(0.6)
    own = trials[trials["model"] == "shy"]
    silent = own["confidence"].isna()
    (said,) = coded(measure(trials, by="model"), "confidence-missing")
    assert (said.severity, said.cells) == ("warning", ("shy",))
    shares = [silent.mean(), own["correct"][~silent].mean(), 0, own["correct"].mean()]
    share, stated, unstated, of_all = (f"{x:.0%}".replace("%", " %") for x in shares)
    assert f"shy ({share} of 400 answers; correct: {stated} with, " in said.message
    assert f"{unstated} without, {of_all} of all)" in said.message


def test_a_model_without_any_confidence_is_named_though_it_has_no_cell():
    trials = answers()
    trials.loc[trials["model"] == "shy", "confidence"] = np.nan
    found = measure_trials(trials, by="model")
    assert found["cell"].values.tolist() == ["honest"]
    assert coded(found, "confidence-missing")[0].cells == ("shy",)


def test_few_answers_and_rows_that_are_not_graded_do_not_count_as_without_confidence():
    found = measure_trials(withheld_where_wrong(0.05), by="model")
    assert not coded(found, "confidence-missing")
    assert coded(found, "rows-dropped")
    trials = withheld_where_wrong(0.6).astype({"correct": object})
    trials.loc[trials["confidence"].isna(), "correct"] = None
    assert not coded(measure_trials(trials, by="model"), "confidence-missing")


def test_ratings_that_are_missing_are_named_too():
    trials = withheld_where_wrong(0.6)
    trials["confidence"] = (trials["confidence"] * 4).round().clip(1, 4)
    assert coded(count_correct(trials, by="model"), "confidence-missing")[0].cells == ("shy",)


def on_two_scales(decimals=0):
    """Answers of which one model states half of its confidence in percent."""
    trials = answers()
    part = (trials["model"] == "shy") & (trials["item"] % 2 == 0)
    percent = (100 * trials["confidence"]).round(decimals)
    return trials.assign(confidence=trials["confidence"].where(~part, percent))


def test_two_scales_in_a_cell_are_an_error_of_that_cell():
    for measure in (measure_trials, selective_prediction):
        (said,) = coded(measure(on_two_scales(), by="model"), "mixed-scales")
        assert (said.severity, said.cells) == ("error", ("shy",))
        assert "200 above 1" in said.message


def test_two_scales_withhold_verdicts_but_not_on_accuracy():
    draws = resample_trials(on_two_scales(), by="model", cluster="item", n=200, seed=1)
    for name, is_withheld in (("auroc2", True), ("accuracy", False)):
        judged = decide(contrast(draws, var=name, over="model"), rope=(-0.02, 0.02)).table()
        assert (judged["verdict"] == "unreliable").all() == is_withheld


@pytest.mark.parametrize(
    "confidence",
    [
        np.random.default_rng(1).uniform(0, 100, 800),
        100 * np.random.default_rng(2).beta(0.2, 0.2, 800),
        np.random.default_rng(3).integers(0, 101, 800),
        np.random.default_rng(4).integers(0, 15, 800) / 2,
        np.random.default_rng(5).integers(1, 7, 800),
    ],
    ids=["percent", "percent at its ends", "whole percent", "steps of a half", "ratings"],
)
def test_one_wide_scale_is_not_taken_for_two(confidence):
    trials = answers().assign(confidence=confidence)
    assert not coded(measure_trials(trials, by="model"), "mixed-scales")


def test_confidence_beyond_probabilities_is_said_with_the_next_step():
    trials = answers()
    percent = trials.assign(confidence=(100 * trials["confidence"]).round())
    (said,) = coded(measure_trials(percent, by="model"), "not-probabilities")
    assert (said.severity, said.cells) == ("warning", ("honest", "shy"))
    assert "800 of 800" in said.message
    assert "--scale percent" in said.shell_step


def test_a_single_number_below_0_is_said_where_it_is():
    trials = answers()
    trials.loc[500, "confidence"] = -0.2
    found = measure_trials(trials, by="model")
    assert "ece" not in found
    (said,) = coded(found, "not-probabilities")
    assert said.cells == ("shy",)
    assert "1 of 800 answers is outside 0 to 1, such as -0.2" in said.message
    assert said.next_step.startswith("Check these rows")


def test_ratings_and_log_probabilities_have_next_steps_of_their_own():
    trials = answers()
    ratings = trials.assign(confidence=(6 * trials["confidence"]).round().clip(1))
    (said,) = coded(measure_trials(ratings), "not-probabilities")
    assert (said.severity, "--scale 1,7" in said.shell_step) == ("info", True)
    logs = trials.assign(confidence=np.log(trials["confidence"]))
    assert "numpy.exp" in coded(measure_trials(logs), "not-probabilities")[0].next_step


@pytest.mark.parametrize("excess", [1e-12, 2.4e-7])
def test_an_error_of_rounding_leaves_a_probability(excess):
    trials = answers()
    trials.loc[3, "confidence"] = 1 + excess
    found = measure_trials(trials)
    assert "ece" in found
    assert not coded(found, "not-probabilities")
    assert "ece" in resample_trials(trials, cluster="item", n=20, seed=1)
    assert calibration(trials)["bin_confidence"].max() <= 1


def test_round_numbers_are_found_in_single_precision_too():
    exact = pd.DataFrame({"confidence": [0.9, 0.95, 1, 1, 0.83, 0.7, 0.5, 0.35]})
    single = exact.astype("float32")
    single.loc[2, "confidence"] = 1.0000002
    pd.testing.assert_frame_equal(*(scale_report(x).to_dataframe() for x in (exact, single)))


def test_draws_that_chance_raises_are_named_once_and_on_these_measures_alone():
    draws = resample_trials(answers(), by="model", cluster="item", n=400, seed=1)
    (said,) = coded(draws, "biased-draws")
    assert "ece" in said.message
    assert "ece_debiased" in said.next_step
    assert coded(contrast(draws, var="ece", over="model"), "biased-draws")
    for name in ("auroc2", "ece_debiased", "accuracy", "brier"):
        assert not coded(contrast(draws, var=name, over="model"), "biased-draws")


def test_draws_of_a_large_calibration_error_are_not_called_biased():
    trials = answers(2000)
    trials["correct"] = np.random.default_rng(1).uniform(size=4000) < trials["confidence"] - 0.3
    draws = resample_trials(trials, by="model", n=200, seed=1)
    assert all("ece" not in one.message for one in coded(draws, "biased-draws"))


def test_models_on_different_scales_are_named_and_nothing_that_spoils_one_is_advised():
    trials = answers()
    is_percent = trials["model"] == "shy"
    mixed = trials.assign(confidence=trials["confidence"] * np.where(is_percent, 100, 1))
    (said,) = coded(measure_trials(mixed, by="model"), "not-probabilities")
    assert "0 to 1 in honest; beyond 0 to 1 in shy" in said.message
    assert "--scale percent" not in said.next_step
