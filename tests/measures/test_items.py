"""Levels that answered other items than those they are compared with: what results say of it."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from command_line import refused, run

import hmetad
from hmetad import InputError, contrast, count_correct, notices, rank
from hmetad.measures import common_items, measure_trials, resample_trials

N = 600


def answers(seed=1, sets=("",), n=N):
    """Two models on the same items, of which the weaker one leaves out the harder half."""
    rng = np.random.default_rng(seed)
    parts = []
    for name in sets:
        hard = rng.normal(size=n)
        for model, gain in (("whole", 0.8), ("skipper", 0.0)):
            signal = 0.8 + gain - 1.2 * hard + rng.normal(size=n)
            confidence = 1 / (1 + np.exp(-signal - rng.normal(size=n)))
            rows = {"model": model, "set": name, "item": [f"{name}{i}" for i in range(n)]}
            part = pd.DataFrame({**rows, "correct": signal > 0, "confidence": confidence})
            part["hard"] = hard > np.median(hard)
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def skipped(trials):
    """Answers without the rows that the weaker model leaves out."""
    return trials[(trials["model"] == "whole") | ~trials["hard"]].drop(columns="hard")


def left_empty(trials):
    """Answers in which these rows are there, without answer and confidence."""
    gone = (trials["model"] == "skipper") & trials["hard"]
    columns = {"correct": trials["correct"].astype(object).mask(gone)}
    columns["confidence"] = trials["confidence"].mask(gone)
    return trials.assign(**columns).drop(columns="hard")


def coded(result, code):
    return [one for one in notices(result) if one.code == code]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("items")
    trials = answers()
    skipped(trials).to_csv(tmp_path / "skip.csv", index=False)
    skipped(trials).drop(columns="item").to_csv(tmp_path / "unnamed.csv", index=False)
    return tmp_path


MEASURES = "--by model --correct correct --interval --cluster item --draws 400 --seed 1"
COMPARE = "--var accuracy --over model --rope=-0.02,0.02"


# --- what is said ---------------------------------------------------------------------------


@pytest.mark.parametrize("change", [skipped, left_empty])
def test_who_answered_half_of_the_items_is_named_with_the_number(change):
    trials = change(answers())
    for result in (
        measure_trials(trials, by="model"),
        resample_trials(trials, by="model", cluster="item", n=20, seed=1),
        resample_trials(trials, by="model", n=20, seed=1),
    ):
        (said,) = coded(result, "unequal-items")
        assert (said.severity, said.cells) == ("warning", ("skipper",))
        assert "skipper 300 of 600" in said.message
        assert "--common-items" in said.shell_step


def test_the_same_items_are_nothing_to_say_and_a_few_less_are_an_info():
    trials = answers()
    assert not coded(measure_trials(trials, by="model"), "unequal-items")
    assert not coded(
        measure_trials(trials.sample(frac=1, random_state=1), by="model"), "unequal-items"
    )
    (said,) = coded(measure_trials(trials.iloc[3:], by="model"), "unequal-items")
    assert (said.severity, said.cells) == ("info", ("whole",))


def test_items_are_those_of_a_set_and_sets_of_other_items_are_not_compared():
    trials = answers(sets="xy")
    small = trials[(trials["set"] == "x") | (trials["item"] < "y3")]
    for by in (["model", "set"], ["set", "model"]):
        assert not coded(measure_trials(small, by=by), "unequal-items")
    (said,) = coded(measure_trials(skipped(small), by=["model", "set"]), "unequal-items")
    assert said.cells == ("skipper | x", "skipper | y")


def test_without_a_column_of_items_unequal_numbers_are_told():
    trials = skipped(answers()).drop(columns="item")
    (said,) = coded(measure_trials(trials, by="model"), "unequal-items")
    assert (said.severity, said.cells) == ("warning", ("skipper",))
    assert "no column names the items" in said.message
    same = answers().drop(columns="item")
    assert not coded(measure_trials(same, by="model"), "unequal-items")


def test_a_pooled_comparison_has_the_coverage_over_its_sets():
    trials = answers(sets="xy")
    gone = (trials["model"] == "skipper") & trials["hard"] & (trials["set"] == "y")
    draws = resample_trials(trials[~gone], by=["set", "model"], cluster="item", n=50, seed=1)
    pooled = contrast(draws, var="accuracy", over="model", pool="set")
    assert {pooled["left_coverage"].item(), pooled["right_coverage"].item()} == {0.75, 1.0}
    ranks = rank(draws, var="accuracy", over="model", pool="set")
    assert ranks["coverage"].sel(cell="skipper").item() == 0.75
    within = contrast(draws, var="accuracy", over="model", within="set")
    assert sorted(within["right_coverage"].values) in ([0.5, 1.0], [1.0, 1.0])


def test_what_shares_no_items_has_no_coverage():
    draws = resample_trials(answers(sets="xy"), by=["set", "model"], cluster="item", n=20, seed=1)
    over = contrast(draws, var="accuracy", over="set", within="model")
    assert "left_coverage" not in over.coords


def test_coverage_is_on_the_terminal_in_files_ranks_and_gates(folder):
    run(folder, f"measures skip.csv {MEASURES} -o draws.nc")
    done = run(folder, f'compare draws.nc {COMPARE} --rank --fail-if "whole worse than skipper"', 1)
    assert "unequal-items" in done.stderr
    assert "overage" in done.stdout
    answer = run(folder, f"compare draws.nc {COMPARE} --rank --json").answer
    assert {row["cell"]: row["coverage"] for row in answer["ranks"]} == {"skipper": 0.5, "whole": 1}
    row = answer["rows"][0]
    sides = {row["left"]: row["left_coverage"], row["right"]: row["right_coverage"]}
    assert sides == {"skipper": 0.5, "whole": 1}


def test_tables_of_counts_carry_coverage_and_take_items_by_set_and_number():
    of_skipper = count_correct(skipped(answers()), by=["model", "item"], quantiles=4)
    draws = hmetad.resample(of_skipper, hmetad.measures.auroc2, cluster="item", n=20, seed=1)
    found = contrast(draws, var="auroc2", over="model")
    assert {found["left_coverage"].item(), found["right_coverage"].item()} == {0.5, 1}
    assert coded(draws, "unequal-items")
    anew = count_correct(numbered(), by=["model", "set", "item"], quantiles=4)
    named = count_correct(told_apart(numbered()), by=["model", "item"], quantiles=4)
    of_both = hmetad.counts.clusters_of(anew, ["set", "item"])
    of_one = hmetad.counts.clusters_of(named, "item")
    np.testing.assert_array_equal(of_both.pooled, of_one.pooled)
    assert of_both.pooled.attrs["coverage"] == of_one.pooled.attrs["coverage"]
    assert [x.counts.shape for x in of_both.parts] == [x.counts.shape for x in of_one.parts]


# --- rows that are not graded ----------------------------------------------------------------


@pytest.mark.parametrize(
    "measure", [measure_trials, hmetad.measures.calibration, hmetad.measures.selective_prediction]
)
def test_rows_without_right_or_wrong_are_told_by_cell(measure):
    (said,) = coded(measure(left_empty(answers()), by="model"), "correct-missing")
    assert (said.severity, said.cells) == ("warning", ("skipper",))
    assert "skipper (50 % of 600 rows)" in said.message


def test_a_model_without_any_grade_and_ratings_that_are_not_graded_are_told_too():
    trials = answers()
    trials["correct"] = trials["correct"].astype(object).mask(trials["model"] == "skipper")
    found = measure_trials(trials, by="model")
    assert found["cell"].values.tolist() == ["whole"]
    assert coded(found, "correct-missing")[0].cells == ("skipper",)
    trials = left_empty(answers())
    trials["confidence"] = (trials["confidence"] * 4).round().clip(1, 4)
    assert coded(count_correct(trials, by="model"), "correct-missing")[0].cells == ("skipper",)


# --- the same items for all -------------------------------------------------------------------


def test_common_items_are_those_that_all_answered():
    trials = skipped(answers())
    common = common_items(trials, by="model")
    kept = trials[trials["item"].isin(trials.loc[trials["model"] == "skipper", "item"])]
    expected, found = (measure_trials(x, by="model") for x in (kept, common))
    for name in ("accuracy", "auroc2", "trials"):
        assert found[name].values.tolist() == expected[name].values.tolist()
    assert not coded(found, "unequal-items")
    (said,) = coded(found, "common-items")
    assert "300 of 600 items" in said.message
    # On the items that both answered the abler model is right more often.
    assert found["accuracy"].sel(cell="whole") > found["accuracy"].sel(cell="skipper")


def test_common_items_are_found_within_sets_and_need_an_answer():
    trials = answers(sets="xy")
    gone = (trials["model"] == "skipper") & trials["hard"] & (trials["set"] == "y")
    found = common_items(
        trials.assign(correct=trials["correct"].astype(object).mask(gone)), by=["model", "set"]
    )
    assert found.groupby(["set", "model"]).size().tolist() == [600, 600, 300, 300]


def test_no_common_item_is_an_error_that_names_who_answered_fewest():
    trials = answers()
    one = trials["item"].str.len() > 2
    with pytest.raises(InputError, match="no item was answered by all levels of model"):
        common_items(trials[(trials["model"] == "whole") == one], by="model")
    with pytest.raises(InputError, match="no column that names the items"):
        common_items(trials.drop(columns="item"), by="model")
    # Set and number name an item together.
    anew = numbered()
    apart = anew[(anew["model"] == "a") == (anew["item"] % 2 == 0)]
    with pytest.raises(InputError, match="Leave out b, which answered fewest"):
        common_items(apart, by="model")


def test_the_option_for_common_items(folder):
    answer = run(folder, f"measures skip.csv {MEASURES} --common-items --json").answer
    assert [row["trials"] for row in answer["rows"]] == [300, 300]
    codes = {one["code"] for one in answer["notices"]}
    assert codes & {"unequal-items", "common-items"} == {"common-items"}


# --- what is missing is wrong -----------------------------------------------------------------


@pytest.mark.parametrize("change", [skipped, left_empty])
def test_what_is_missing_counts_as_wrong_in_accuracy_alone(change):
    trials = answers()
    own = trials[trials["model"] == "skipper"]
    truth = (own["correct"] & ~own["hard"]).mean()
    plain, found = (
        measure_trials(change(trials), by="model", missing=how) for how in ("drop", "wrong")
    )
    one = found.sel(cell="skipper")
    assert one["accuracy"].item() == pytest.approx(truth)
    assert one["trials"].item() == N
    for name in ("auroc2", "brier", "ece", "mean_confidence"):
        np.testing.assert_array_equal(found[name], plain[name])
    assert found["accuracy"].sel(cell="whole") == plain["accuracy"].sel(cell="whole")
    (said,) = coded(found, "counted-wrong")
    assert "skipper (300 of 600)" in said.message
    assert said.cells == ("skipper",)


def test_draws_count_it_as_wrong_for_the_items_that_are_drawn():
    trials = answers()
    wrong = trials.assign(
        correct=trials["correct"] & ~(trials["hard"] & (trials["model"] == "skipper"))
    )
    asked = {"by": "model", "cluster": "item", "n": 200, "seed": 1}
    found = resample_trials(skipped(trials), missing="wrong", **asked)
    truth = resample_trials(wrong, **asked)
    np.testing.assert_allclose(found["accuracy"], truth["accuracy"])
    plain = resample_trials(skipped(trials), **asked)
    np.testing.assert_allclose(found["auroc2"], plain["auroc2"])
    accuracy = contrast(found, var="accuracy", over="model")
    assert "unequal-items" not in {one.code for one in notices(accuracy)}
    area = contrast(found, var="auroc2", over="model")
    assert {one.code for one in notices(area)} >= {"unequal-items", "counted-wrong"}


def test_a_graded_answer_without_confidence_keeps_its_grade():
    trials = answers().drop(columns="hard")
    trials["confidence"] = trials["confidence"].mask(trials["model"] == "skipper")
    found = measure_trials(trials, by="model", missing="wrong").sel(cell="skipper")
    own = trials[trials["model"] == "skipper"]
    assert found["accuracy"].item() == pytest.approx(own["correct"].mean())
    assert np.isnan(found["auroc2"].item())


def test_sets_that_a_model_was_not_given_are_not_filled():
    trials = answers(sets="xy")
    trials = trials[(trials["model"] == "whole") | (trials["set"] == "x")]
    found = measure_trials(trials, by=["model", "set"], missing="wrong")
    assert found["cell"].values.tolist() == ["skipper | x", "whole | x", "whole | y"]
    assert not coded(found, "counted-wrong")


def test_what_a_column_determines_makes_no_further_cells():
    trials = skipped(answers()).assign(family=lambda x: x["model"].str[0])
    found = measure_trials(trials, by=["model", "family"], missing="wrong")
    assert found["cell"].values.tolist() == ["skipper | s", "whole | w"]
    assert found["trials"].values.tolist() == [N, N]
    bare = measure_trials(trials.drop(columns="item"), by=["model", "family"])
    assert coded(bare, "unequal-items")[0].cells == ("skipper | s",)


def test_levels_that_share_no_items_are_not_filled_in_silence():
    trials = skipped(answers(sets="xy"))
    with pytest.raises(InputError, match=r"over: .*got 'set', whose levels share no items"):
        measure_trials(trials, by=["set", "model"], missing="wrong")
    found = measure_trials(trials, by=["set", "model"], missing="wrong", over="model")
    assert found["trials"].values.tolist() == [N] * 4


def test_the_option_for_missing_answers_turns_the_verdict(folder):
    run(folder, f"measures skip.csv {MEASURES} --missing wrong -o draws.nc")
    gate = f'compare draws.nc {COMPARE} --fail-if "whole worse than skipper"'
    assert run(folder, gate).status == 0


def test_what_cannot_be_counted_as_wrong_is_refused(folder):
    line = "measures skip.csv --by model --correct correct"
    assert "--missing" in refused(folder, f"{line} --quantiles 4 --missing wrong")
    assert "--common-items" in refused(folder, f"{line} --common-items --missing wrong")
    assert "item" in refused(
        folder, "measures unnamed.csv --by model --correct correct --missing wrong"
    )


# --- real data --------------------------------------------------------------------------------


def test_a_model_that_answered_598_of_1500_items_is_told(shared):
    folder = shared / "data" / "cacioli2026_profile_atlas" / "raw"
    names = {"item_id": "item", "is_correct": "correct"}
    raw = [pd.read_csv(path) for path in sorted(folder.glob("*.csv.gz"))]
    trials = pd.concat(raw, ignore_index=True).rename(columns=names)
    trials = trials.drop_duplicates(["model", "item", "domain"])
    (said,) = coded(measure_trials(trials, by=["model", "domain"]), "unequal-items")
    assert "zai/glm-5 598 of 1,500" in said.message
    filled = measure_trials(trials, by="model", missing="wrong")
    assert filled["accuracy"].sel(cell="zai/glm-5") < 0.4
    assert set(filled["trials"].values.tolist()) == {1500}


def test_the_column_that_is_drawn_names_the_items_of_the_estimates_too():
    trials = skipped(answers()).rename(columns={"item": "question_id"})
    trials["item"] = np.arange(len(trials))
    asked = {"by": "model", "cluster": "question_id", "missing": "wrong", "seed": 1, "n": 200}
    found = hmetad.measures.resample_trials_interval(trials, **asked)
    estimate, lower, upper = found["accuracy"].sel(cell="skipper").values
    assert lower < estimate < upper
    assert found["trials"].values.tolist() == [N, N]
    named = skipped(answers()).rename(columns={"item": "probe"})
    plain = {**asked, "cluster": "probe"}
    again = hmetad.measures.resample_trials_interval(named, **plain)
    np.testing.assert_allclose(again["accuracy"].sel(summary="estimate"), found["accuracy"][:, 0])


def test_common_items_pass_over_columns_that_levels_determine():
    trials = skipped(answers())
    owned = trials.assign(vendor=trials["model"].str[0])
    kept = common_items(owned, by=["model", "vendor"])
    assert len(kept) == len(common_items(trials, by="model"))
    with pytest.raises(InputError, match="over"):
        measure_trials(trials, by="model", over="modle")


def test_a_page_takes_a_model_without_any_confidence():
    trials = answers()
    trials.loc[trials["model"] == "skipper", "confidence"] = np.nan
    report = hmetad.report.measures_report(trials, by="model", missing="wrong", n=50, seed=1)
    assert "skipper" in report.markdown()


# --- items that sets number anew ----------------------------------------------------------------


def numbered(n=(300, 200, 120), seed=3):
    """Two models on three sets that number their questions from 0; one skips a quarter of them."""
    rng = np.random.default_rng(seed)
    parts = []
    for name, number in zip(("boolq", "sciq", "sat"), n, strict=True):
        hard = rng.normal(size=number)
        for model, gain in (("a", 0.6), ("b", 0.0)):
            signal = 0.8 + gain - 2 * hard + rng.normal(size=number)
            confidence = 1 / (1 + np.exp(-signal - rng.normal(size=number)))
            rows = {"model": model, "set": name, "item": np.arange(number)}
            parts.append(pd.DataFrame({**rows, "correct": signal > 0, "confidence": confidence}))
    trials = pd.concat(parts, ignore_index=True)
    return trials[(trials["model"] == "a") | (rng.uniform(size=len(trials)) < 0.75)]


def told_apart(trials):
    """The same answers, an item being named by set and number in one column."""
    return trials.assign(item=trials["set"] + " " + trials["item"].astype(str)).drop(columns="set")


@pytest.mark.parametrize("name", ["set", "Benchmark", "source"])
def test_items_that_sets_number_anew_are_named_by_set_and_item(name):
    trials, truth = numbered(), told_apart(numbered())
    given = trials.rename(columns={"set": name})
    asked = {"by": "model", "n": 100, "seed": 1}
    kept = common_items(given, by="model")
    assert len(kept) == len(common_items(truth, by="model"))
    assert coded_in(kept) == ["items-numbered-anew", "common-items"]
    for cluster in ("item", f"{name},item", [name, "item"]):
        draws = resample_trials(given, cluster=cluster, **asked)
        by_name = resample_trials(truth, cluster="item", **asked)
        assert draws.attrs["cluster"] == f"{name}, item"
        xr.testing.assert_equal(draws["auroc2"].variable, by_name["auroc2"].variable)
        assert draws.attrs["coverage"] == by_name.attrs["coverage"]
    for missing in ("drop", "wrong"):
        found = measure_trials(given, by="model", missing=missing)
        expected = measure_trials(truth, by="model", missing=missing)
        xr.testing.assert_equal(found["accuracy"].variable, expected["accuracy"].variable)
        assert coded(found, "items-numbered-anew")


def coded_in(trials):
    return [one.code for one in notices(xr.Dataset(attrs=trials.attrs))]


def test_the_same_questions_under_several_conditions_stay_the_same_items():
    trials = pd.concat([answers().assign(condition=x) for x in ("plain", "hinted")])
    asked = {"by": "model", "cluster": "item", "n": 20, "seed": 1}
    assert resample_trials(trials, **asked).attrs["cluster"] == "item"
    target = np.arange(N) % 4
    tasks = numbered((N, N, N)).assign(target=lambda x: target[x["item"]])
    assert resample_trials(tasks, **asked).attrs["cluster"] == "item"
    others = tasks.assign(target=np.random.default_rng(1).integers(0, 4, len(tasks)))
    assert resample_trials(others, **asked).attrs["cluster"] == "set, item"


# --- levels without an item in common -----------------------------------------------------------


def test_models_that_answered_different_questions_have_no_verdict(tmp_path):
    trials = answers().drop(columns="hard")
    number = trials["item"].astype(int)
    trials = trials.assign(item=number)[(trials["model"] == "whole") == (number < N // 2)]
    trials.to_csv(tmp_path / "apart.csv", index=False)
    draws = resample_trials(trials, by="model", cluster="item", n=50, seed=1)
    counts = count_correct(trials, by=["model", "item"], quantiles=4)
    pooled = hmetad.counts.clusters_of(counts, "item").pooled
    for found in (draws, measure_trials(trials, by="model"), pooled):
        (said,) = coded(found, "different-items")
        assert said.severity == "error"
        assert "whole and skipper answered different questions" in said.message
    run(tmp_path, f"measures apart.csv {MEASURES} -o draws.nc")
    gate = '--fail-unless "skipper not worse than whole"'
    done = run(tmp_path, f"compare draws.nc {COMPARE} {gate}", status=3)
    assert "different questions" in done.stderr.splitlines()[-1]


def test_conditions_without_an_item_in_common_are_warned_of_and_sets_and_people_are_not():
    trials = answers(sets="xy").drop(columns="hard")
    trials["item"] += trials["model"]
    for column, number in (("version", 1), ("set", 0), ("subject", 0)):
        renamed = trials.rename(columns={"model": column} if column != "set" else {})
        found = measure_trials(renamed, by=column)
        assert [x.severity for x in coded(found, "different-items")] == ["warning"] * number
    # Two models that share items stand apart from a third.
    third = answers(seed=2, sets="z").query("model == 'whole'").assign(model="third")
    both = pd.concat([answers(sets="xy"), third])
    (said,) = coded(measure_trials(both, by="model"), "different-items")
    assert said.cells == ("third",)


def test_a_share_below_1_is_never_said_as_all_of_it():
    trials = answers(n=2000).query("model == 'whole' or item != '7'")
    (said,) = coded(measure_trials(trials, by="model"), "unequal-items")
    assert "skipper 1,999 of 2,000 (99.9 %)" in said.message


def test_columns_of_lists_name_no_sets():
    trials = answers()
    lists = trials.assign(set=[["a"], ["b"]] * N, task=[[1]] * len(trials))
    assert not coded(measure_trials(lists, by="model"), "items-numbered-anew")
