"""Abstention as an outcome: against the definitions, scikit-learn and SciPy, in all front ends."""

import numpy as np
import pandas as pd
import pytest
from command_line import run
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import hmetad
from hmetad import InputError, contrast, count_correct, count_trials, measure, notices, resample
from hmetad.measures import (
    measure_trials,
    resample_trials,
    resample_trials_interval,
    selective_prediction,
)

PRESENTED = ["coverage", "expected_score", "effective_reliability"]


def answers(n=300, seed=1, columns=()):
    """Answers of two models to the same items, one of which abstains where it is unsure."""
    rng = np.random.default_rng(seed)
    hard, parts = rng.normal(size=n), []
    for place, model in enumerate("ab"):
        signal = 0.5 - hard + rng.normal(size=n)
        confidence = (1 / (1 + np.exp(-signal - rng.normal(size=n)))).round(2)
        silent = (confidence < 0.4) & (place == 1)
        reason = np.where(silent, np.where(rng.random(n) < 0.3, "timeout", "refused"), None)
        rows = {"model": model, "item": np.arange(n), "correct": (signal > 0).astype(int)}
        rows |= {"confidence": confidence, "reason": reason, "abstained": silent}
        parts.append(pd.DataFrame(rows).assign(forced=lambda t: t["correct"]))
    return pd.concat(parts, ignore_index=True).drop(columns=[*columns])


def codes(result):
    return [notice.code for notice in notices(result)]


@pytest.mark.parametrize(
    ("wrong", "right", "silent", "penalty", "score"),
    # A target of confidence t is a penalty of t/(1 - t): 1, 3 and 9 for .5, .75 and .9.
    [(2, 6, 2, 1, 0.4), (2, 6, 2, 3, 0.0), (1, 4, 5, 9, -0.5), (0, 0, 4, 9, 0), (3, 7, 0, 0, 0.7)],
)
def test_scores_are_those_of_the_definition(wrong, right, silent, penalty, score):
    columns = {"correct": [0] * wrong + [1] * right + [0] * silent, "confidence": 0.5}
    trials = pd.DataFrame(columns).assign(idk=[0] * (wrong + right) + [1] * silent)
    found = measure_trials(trials, abstained="idk", penalty=penalty).sel(cell="all")
    n = wrong + right + silent
    assert found["expected_score"].item() == pytest.approx(score)
    assert found["coverage"].item() == pytest.approx((wrong + right) / n)
    assert found["effective_reliability"].item() == pytest.approx((right - wrong) / n)


def test_a_column_of_abstentions_that_is_not_used_is_noticed(tmp_path):
    trials = answers(columns=["reason"])
    (said,) = notices(measure_trials(trials, by="model"))[:1]
    assert (said.code, said.severity) == ("abstained", "info")
    assert "'abstained' is not used" in said.message
    for options in ({"by": ["model", "abstained"]}, {"by": "model", "abstained": "abstained"}):
        assert all("not used" not in x.message for x in notices(measure_trials(trials, **options)))
    trials.to_csv(tmp_path / "answers.csv", index=False)
    assert "not used" in run(tmp_path, "measures answers.csv --by model --correct correct").stderr


def test_measures_of_confidence_are_those_of_the_answered_trials():
    trials = answers()
    found = measure_trials(trials, by="model", abstained="reason")
    kept = trials[trials["reason"].isna()]
    alone = measure_trials(kept, by="model")
    for name in {*alone.data_vars} - {"trials"}:
        np.testing.assert_array_equal(found[name], alone[name])
    np.testing.assert_allclose(found["trials"] * found["coverage"], alone["trials"])
    own = kept[kept["model"] == "b"]
    area = roc_auc_score(own["correct"], own["confidence"])
    assert found["auroc2"].sel(cell="b").item() == pytest.approx(area, abs=1e-12)


def test_answers_count_without_any_confidence_and_without_its_column():
    trials = answers()
    full = measure_trials(trials, by="model", abstained="reason")
    some = trials.assign(confidence=trials["confidence"].mask(trials["item"] < 50))
    found = measure_trials(some, by="model", abstained="reason")
    without = measure_trials(trials.drop(columns="confidence"), by="model", abstained="reason")
    for name in [*PRESENTED, "accuracy"]:
        np.testing.assert_array_equal(found[name], full[name])
        np.testing.assert_array_equal(without[name], full[name])
    assert "auroc2" not in without
    assert "confidence-missing" in codes(found)
    assert "confidence-missing" not in codes(without)


def test_reasons_truth_values_numbers_and_words_say_the_same():
    trials = answers()
    by_reason = measure_trials(trials, by="model", abstained="reason")
    words = trials["abstained"].map({True: " Yes", False: "no"})
    for column in (trials["abstained"], trials["abstained"].astype(float), words):
        own = measure_trials(trials.assign(idk=column), by="model", abstained="idk")
        np.testing.assert_array_equal(own["expected_score"], by_reason["expected_score"])
    message = next(n.message for n in notices(by_reason) if n.code == "abstained")
    times = trials["reason"].value_counts()
    assert f"refused {times['refused']}, timeout {times['timeout']}" in message


def test_grades_of_abstained_trials_never_count():
    trials = answers()
    silent = trials["abstained"]
    found = measure_trials(trials, by="model", abstained="abstained")
    graded = trials.assign(correct=trials["correct"].astype(object).mask(silent, "NOT_ATTEMPTED"))
    for other in (trials.assign(correct=trials["correct"].mask(silent, 1)), graded):
        own = measure_trials(other, by="model", abstained="abstained")
        np.testing.assert_array_equal(own["expected_score"], found["expected_score"])
    wrong = measure_trials(trials, by="model", abstained="abstained", missing="wrong")
    np.testing.assert_array_equal(wrong["expected_score"], found["expected_score"])


def test_abstaining_has_its_own_sensitivity_and_criterion():
    trials = answers()
    names = {"abstained": "abstained", "forced_correct": "forced"}
    found = measure_trials(trials, by="model", **names).sel(cell="b")
    own = trials[trials["model"] == "b"]
    right, silent = own["forced"] == 1, own["abstained"]
    hit = (sum(silent & ~right) + 0.5) / (sum(~right) + 1)
    false_alarm = (sum(silent & right) + 0.5) / (sum(right) + 1)
    assert found["abstention_dprime"].item() == pytest.approx(norm.ppf(hit) - norm.ppf(false_alarm))
    expected = -(norm.ppf(hit) + norm.ppf(false_alarm)) / 2
    assert found["abstention_c"].item() == pytest.approx(expected)
    assert found["forced_accuracy"].item() == pytest.approx(right[silent].mean())
    assert found["abstain_accuracy"].item() == pytest.approx((right != silent).mean())
    never = measure_trials(trials, by="model", **names).sel(cell="a")
    assert never["abstention_dprime"].isnull()
    lost = trials["forced"].astype(float).mask(trials["item"] < 100)
    some = measure_trials(trials.assign(forced=lost), by="model", **names)
    assert "forced-missing" in codes(some)
    known = measure_trials(
        trials[~(trials["abstained"] & (trials["item"] < 100))], by="model", **names
    )
    np.testing.assert_array_equal(some["abstention_dprime"], known["abstention_dprime"])


def test_a_model_that_never_answers_and_one_that_always_does_are_told():
    trials = answers()
    trials.loc[trials["model"] == "b", "reason"] = "refused"
    found = resample_trials_interval(trials, by="model", abstained="reason", n=50, seed=1)
    assert found["coverage"].sel(summary="estimate").values.tolist() == [1, 0]
    assert found["accuracy"].sel(cell="b").isnull().all()
    assert [x.cells for x in notices(found) if x.code == "nothing-answered"] == [("b",)]
    assert "no-errors" not in codes(found)
    # What was not observed may yet occur.
    lower, upper = found["expected_score"].sel(cell="b", summary=["lower", "upper"]).values
    assert lower < 0 < upper


def test_draws_by_item_have_the_spread_of_a_paired_difference():
    trials = answers(600)
    names = {"by": "model", "abstained": "reason", "penalty": 2.0, "cluster": "item"}
    draws = resample_trials(trials, **names, n=4000, seed=1)
    score = np.where(trials["abstained"], 0, np.where(trials["correct"] == 1, 1, -2))
    wide = trials.assign(score=score).pivot(index="item", columns="model", values="score")
    differences = contrast(draws, var="expected_score", over="model")
    theirs = (wide["a"] - wide["b"]).std(ddof=0) / np.sqrt(600)
    assert differences.std().item() == pytest.approx(theirs, rel=0.04)
    assert differences.mean().item() == pytest.approx((wide["a"] - wide["b"]).mean(), abs=0.01)


def test_comparisons_know_what_each_measure_was_measured_on():
    trials = answers()
    draws = resample_trials(trials, by="model", abstained="reason", cluster="item", n=20, seed=1)
    assert "abstained" in codes(draws["accuracy"])
    assert "abstained" in codes(draws["auroc2"])
    for name in PRESENTED:
        assert not {"unequal-items", "abstained"} & {*codes(draws[name])}
    lacking = trials.drop(index=range(250, 300))
    draws = resample_trials(lacking, by="model", abstained="reason", cluster="item", n=20, seed=1)
    assert "unequal-items" in codes(draws["expected_score"])


# Count tables


@pytest.mark.parametrize("source", ["pandas", "csv", "polars", "dask"])
def test_a_table_carries_abstentions_from_every_source(source, tmp_path):
    trials = answers(columns=["abstained"]).assign(confidence=lambda t: t["confidence"] * 100 // 30)
    trials["confidence"] += 1
    expected = count_correct(trials[trials["reason"].isna()], by="model")
    table = trials
    if source == "csv":
        table = tmp_path / "trials.csv"
        trials.to_csv(table, index=False)
    if source == "polars":
        table = pytest.importorskip("polars").from_pandas(trials)
    if source == "dask":
        table = pytest.importorskip("dask.dataframe").from_pandas(trials, npartitions=3)
    counts = count_correct(table, by="model", abstained="reason")
    np.testing.assert_array_equal(counts, expected)
    assert counts["abstained"].values.tolist() == [0, trials["reason"].notna().sum()]
    assert "abstained" in codes(counts)


def test_quantiles_are_those_of_the_answered_trials():
    trials = answers()
    kept = trials[~trials["abstained"]]
    counts = count_correct(trials, by="model", quantiles=4, abstained="abstained")
    np.testing.assert_array_equal(counts, count_correct(kept, by="model", quantiles=4))


def test_scores_of_counts_are_those_of_trials_and_so_are_their_draws():
    trials = answers().assign(confidence=lambda t: (t["confidence"] * 3.99).astype(int) + 1)
    exact = measure_trials(trials, by="model", abstained="reason", penalty=3)
    single = count_correct(trials, by=["model", "item"], abstained="reason")
    counts = count_correct(trials, by="model", abstained="reason")
    found = measure(counts, penalty=3)
    draws = resample(single, lambda t: measure(t, penalty=3), n=2000, cluster="item", seed=1)
    free = resample(counts, lambda t: measure(t, penalty=3), n=2000, seed=1)
    theirs = resample_trials(
        trials, by="model", abstained="reason", penalty=3, cluster="item", n=2000, seed=2
    )
    for name in PRESENTED:
        np.testing.assert_allclose(found[name], exact[name])
        np.testing.assert_allclose(draws[name].std("draw"), theirs[name].std("draw"), rtol=0.1)
        np.testing.assert_allclose(free[name].mean("draw"), exact[name], atol=0.02)
    np.testing.assert_array_equal(
        measure(counts)["auroc2"], measure(counts.drop_vars("abstained"))["auroc2"]
    )


def test_tasks_with_a_stimulus_and_cells_that_only_abstain():
    rng = np.random.default_rng(1)
    columns = {"stimulus": rng.integers(0, 2, 400), "confidence": rng.integers(1, 4, 400)}
    trials = pd.DataFrame(columns).assign(model=["a", "b"] * 200)
    trials["response"] = np.where(rng.random(400) < 0.8, trials["stimulus"], 1 - trials["stimulus"])
    trials["idk"] = np.where(trials["model"] == "b", "refused", "")
    counts = count_trials(trials, by="model", abstained="idk")
    expected = count_trials(trials[trials["model"] == "a"], by="model")
    np.testing.assert_array_equal(counts.sel(cell=["a"]), expected)
    assert int(counts.sel(cell="b").sum()) == 0
    assert counts["abstained"].values.tolist() == [0, 200]
    assert measure(counts)["coverage"].values.tolist() == [1, 0]
    assert hmetad.fit_mle(counts.sel(cell=["a"]))["m_ratio"].notnull().all()


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"abstained": "idl"}, r"abstained: .*Did you mean 'idk'"),
        ({"abstained": "half"}, r"abstained column 'half': .*True or False, 1 or 0.*got 0.5"),
        ({"abstained": "correct"}, "correct"),
        ({"abstained": "idk", "penalty": -1}, "penalty: .*≥ 0.*got -1"),
        ({"forced_correct": "idk"}, "abstained"),
        ({"abstained": "idk", "confidence": "sure"}, "sure"),
    ],
)
def test_what_cannot_be_scored_is_refused(options, message):
    rows = {"correct": [0, 1, 1, 0], "idk": [0, 0, 1, 1], "half": [0, 0.5, 1, 0]}
    with pytest.raises(InputError, match=message):
        measure_trials(pd.DataFrame(rows), **options)


def test_a_table_of_abstentions_alone_is_refused_where_it_is_counted():
    trials = pd.DataFrame({"correct": [0, 1], "confidence": [1, 2], "idk": [True, True]})
    with pytest.raises(InputError, match="abstentions in all 2 trials"):
        count_correct(trials, abstained="idk")


def test_curves_of_selective_prediction_are_of_confidence_alone():
    assert {"coverage"} == {*selective_prediction(answers()).dims} - {"cell"}


# The command line


def test_the_command_gives_scores_with_intervals_and_says_the_coverage(tmp_path):
    trials = answers(columns=["confidence", "abstained", "forced"])
    trials.to_csv(tmp_path / "answers.csv", index=False)
    line = "measures answers.csv --by model --abstained reason --penalty 2"
    said = run(tmp_path, f"{line} --cluster item --json")
    rows = said.answer["rows"]
    expected = measure_trials(trials, by="model", abstained="reason", penalty=2)
    for row in rows:
        for name in PRESENTED:
            assert row[name] == pytest.approx(expected[name].sel(cell=row["cell"]).item())
            assert row[f"{name}_lower"] <= row[name] <= row[f"{name}_upper"]
    assert "abstained" in said.stderr
    common = run(tmp_path, f"{line.removesuffix(' --penalty 2')} --common-items --json")
    numbers = {row["trials"] for row in common.answer["rows"]}
    assert numbers == {int((trials["reason"].isna() & (trials["model"] == "b")).sum())}


def test_a_penalty_is_said_wherever_a_score_is_compared(tmp_path):
    answers(columns=["abstained", "forced"]).to_csv(tmp_path / "answers.csv", index=False)
    line = "measures answers.csv --by model --abstained reason --penalty 4 --cluster item"
    run(tmp_path, f"{line} --seed 1 --draws 200 -o draws.nc")
    compare = "compare draws.nc --var expected_score --over model --rope=-0.02,0.02"
    said = run(tmp_path, f"{compare} --rank --fail-unless 'b better than a' -o page.md")
    assert said.stdout.count("penalty 4") == 2
    assert "in expected_score at penalty 4" in said.stderr
    assert run(tmp_path, f"{compare} --json").answer["penalty"] == 4
    assert "at a penalty of 4" in (tmp_path / "page.md").read_text()


def test_a_penalty_without_the_abstentions_of_the_table_is_refused(tmp_path):
    trials = answers(columns=["reason", "forced"])
    with pytest.raises(InputError, match=r"penalty: .*Give abstained='abstained'"):
        measure_trials(trials, by="model", penalty=2)
    trials.to_csv(tmp_path / "answers.csv", index=False)
    line = "measures answers.csv --by model --correct correct --penalty 2"
    assert "Give --abstained abstained" in run(tmp_path, line, status=2).stderr
    assert (
        "--penalty"
        in run(tmp_path, f"{line} --abstained abstained --common-items", status=2).stderr
    )


def test_grades_are_no_reasons():
    trials = answers().assign(grade=lambda t: t["correct"].map({1: "C", 0: "I"}))
    with pytest.raises(InputError, match=r"abstained column 'grade': .*got the grades c, i"):
        measure_trials(trials, by="model", abstained="grade")


def test_items_that_only_abstaining_makes_unequal_are_told_once():
    trials = answers()
    found = codes(measure_trials(trials, by="model", abstained="reason"))
    assert "unequal-items" not in found
    assert "abstained" in found
    lacking = trials.drop(index=range(250, 300))
    assert "unequal-items" in codes(measure_trials(lacking, by="model", abstained="reason"))


# Names, spellings, and other kinds of draws


def test_permutations_leave_abstentions_alone_and_other_kinds_say_what_they_cannot_do():
    trials = answers().assign(confidence=lambda t: (t["confidence"] * 3.99).astype(int) + 1)
    counts = count_correct(trials, by="model", abstained="reason")
    null = resample(counts, measure, kind="permutation", n=50, seed=1)
    for name in ("share_right", "expected_score", "coverage"):
        np.testing.assert_allclose(null[name].std("draw"), 0, atol=1e-12)
        np.testing.assert_allclose(null[name].isel(draw=0), measure(counts)[name])
    assert abs(null["auroc2"].mean() - 0.5) < 0.02
    chunked = resample(counts.chunk({"cell": 1}), measure, n=20, seed=1)["expected_score"]
    alike = resample(counts, measure, n=20, seed=1)["expected_score"]
    np.testing.assert_allclose(chunked.compute(), alike)
    shown = trials.assign(stimulus=trials["correct"], response=1)
    task = count_trials(shown, by="model", abstained="reason", response_from_confidence=True)
    with pytest.raises(InputError, match=r"hold: .*'none' for a table with abstentions"):
        resample(task, measure, hold="stimulus")


def test_columns_of_the_same_names_mean_what_they_meant():
    trials = answers(columns=["reason"]).assign(confidence=lambda t: t["confidence"].round() + 1)
    renamed = {"reason": trials["model"], "idk": trials["abstained"]}
    by_reason = count_correct(trials.assign(**renamed), by="reason", abstained="idk")
    by_model = count_correct(trials.assign(**renamed), by="model", abstained="idk")
    assert by_reason["abstained"].values.tolist() == by_model["abstained"].values.tolist()
    grouped = count_correct(trials, by="abstained")
    assert "coverage" not in measure(grouped)
    assert resample(grouped, measure, n=5, seed=1)["abstained"].values.tolist() == [False, True]
    with pytest.raises(InputError, match=r"by: .*Rename the column 'abstained'"):
        count_correct(trials.assign(**renamed), by="abstained", abstained="idk")


@pytest.mark.parametrize("word", ["no\t", "NA", "-0.0", "f", " n/a ", "00", ""])
def test_words_for_an_answer_are_the_same_in_files_and_in_memory(word, tmp_path):
    trials = answers(columns=["reason", "forced"]).assign(confidence=1)
    silent = trials.pop("abstained")
    table = trials.assign(idk=np.where(silent, "refused", word))
    table.to_csv(tmp_path / "trials.csv", index=False)
    for source in (table, tmp_path / "trials.csv"):
        counts = count_correct(source, by="model", abstained="idk")
        assert int(counts.sum()) == (~silent).sum()
        assert int(counts["abstained"].sum()) == silent.sum()
        found = measure_trials(source, by="model", abstained="idk")
        assert found["coverage"].values.tolist() == [1, 1 - silent.sum() / 300]


def test_intervals_are_of_the_penalty_of_the_draws():
    trials = answers(columns=["confidence"])
    names = {"by": "model", "abstained": "reason"}
    draws = resample_trials(trials, **names, penalty=3, n=50, seed=1)
    found = resample_trials_interval(trials, **names, penalty=1, draws=draws)
    assert found.attrs["penalty"] == 3
    estimate = measure_trials(trials, **names, penalty=3)["expected_score"]
    np.testing.assert_array_equal(found["expected_score"].sel(summary="estimate"), estimate)
    more = resample_trials(trials, **names, forced_correct="forced", n=50, seed=1)
    with pytest.raises(InputError, match=r"draws: .*other measures"):
        resample_trials_interval(trials, **names, draws=more)


def test_abstentions_without_a_group_are_reported():
    trials = answers(columns=["abstained"]).assign(confidence=1)
    trials["set"] = np.where(trials["reason"].notna() & (trials["item"] < 150), None, "x")
    counts = count_correct(trials, by="set", abstained="reason")
    lost = int(trials["set"].isna().sum())
    assert any(f"{lost} abstentions have no value" in one.message for one in notices(counts))


def test_common_items_need_an_answer_of_every_level(tmp_path):
    trials = answers(columns=["abstained", "forced"])
    trials.loc[trials["model"] == "b", "reason"] = "refused"
    trials.to_csv(tmp_path / "answers.csv", index=False)
    line = "measures answers.csv --by model --correct correct --abstained reason --common-items"
    assert "b answered nothing" in run(tmp_path, line, status=2).stderr
