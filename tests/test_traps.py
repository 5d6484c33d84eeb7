"""Each of the twelve traps is said where it is fallen into, and nowhere near it.

A notice has a code, a severity, a sentence, the cells, a source and a next step; it travels with
counts, fits, contrasts and decisions, into files and reports.
"""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hmetad import (
    Notice,
    contrast,
    count_correct,
    count_trials,
    decide,
    decide_normal,
    fit,
    fit_dmc,
    fit_mle,
    from_nr,
    load_fit,
    measure,
    notices,
    predict,
    resample,
    save_fit,
    sdt,
    simulate_counts,
    simulate_trials,
)
from hmetad.bayes import predicted_counts
from hmetad.counts import as_detection
from hmetad.counts.items import FEWEST_ITEMS
from hmetad.information import meta_information
from hmetad.measures import auroc2, z_test
from hmetad.report import fit_report

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
ROPE = (-0.1, 0.1)
A = ([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])


def said(result, code):
    """The notices of a code, each complete."""
    found = [notice for notice in notices(result) if notice.code == code]
    for notice in found:
        assert notice.message.endswith("."), notice
        assert notice.source, notice
        assert notice.next_step.endswith("."), notice
        assert len(set(notice.cells)) == len(notice.cells), notice
    return found


def the(result, code):
    """Severity and cells of the only notice of a code."""
    (notice,) = said(result, code)
    return notice.severity, notice.cells


@pytest.fixture(scope="module")
def four_models():
    """Models with d′ 1.5, 1.5 and 2.5; and one whose responses have an M each."""
    m_ratio = [[0.8, 0.8], [0.8, 0.8], [0.8, 0.8], [0.1, 1.9]]
    coords = {"model": ["a", "b", "far", "two"]}
    counts = simulate_counts(
        [1.5, 1.5, 2.5, 1.5], m_ratio=m_ratio, trials=4000, coords=coords, seed=1
    )
    return fit(counts, **QUIET)


@pytest.fixture(scope="module")
def observers():
    """A group of observers, fitted in one model; too few draws to be believed."""
    coords = {"subject": ["s1", "s2", "s3", "s4"]}
    counts = simulate_counts([1.2, 1.5, 1.8, 1.4], trials=400, coords=coords, seed=1)
    return fit(counts, "group", draws=60, tune=300, chains=2, **QUIET)


@pytest.fixture(scope="module")
def warned():
    """A fit with much to say, of trials of known items and mixed contrasts."""
    coords = {"model": ["m1", "m2", "chance"]}
    drawn = simulate_trials([1.5, 2.5, 0.05], trials=90, coords=coords, seed=1)
    drawn = drawn.sort_values(["model", "stimulus"], kind="stable")
    drawn = drawn.assign(contrast=np.arange(270) % 3, item=np.arange(270) % 90)
    counts = count_trials(drawn, by="model", difficulty="contrast")
    return fit(counts, draws=60, tune=200, chains=2, **QUIET)


@pytest.fixture
def trials():
    """Two models, two hundred items each, told apart by difficulty."""
    coords = {"model": ["m1", "m2"]}
    drawn = simulate_trials([1.5, 1.5], trials=200, coords=coords, seed=1)
    return drawn.sort_values(["model", "stimulus"], kind="stable").reset_index(drop=True)


# 1 — log M cannot be negative


def test_1_meta_d_below_zero_is_said():
    counts = simulate_counts(
        1.5, m_ratio=[0.8, -0.5], trials=4000, coords={"model": ["a", "b"]}, seed=1
    )
    assert the(fit_mle(counts), "negative-meta-d") == ("warning", ("b",))


def test_1_meta_d_above_zero_is_not():
    assert not said(
        fit_mle(simulate_counts(1.5, m_ratio=0.3, trials=4000, seed=1)), "negative-meta-d"
    )


# 2 — d′ near 0


def test_2_a_dprime_that_may_be_zero_is_said():
    chance = [26, 24, 25, 25], [22, 25, 26, 27]
    clear = [60, 25, 10, 5], [4, 11, 30, 55]
    counts = from_nr(*zip(chance, clear, strict=True), model=["chance", "clear"])
    fitted = fit_mle(counts)
    assert 0 < float(fitted["dprime"].sel(cell="chance")) < 0.2
    assert the(fitted, "dprime-sign") == ("warning", ("chance",))
    assert "divides by almost nothing" in said(fitted, "dprime-sign")[0].message


def test_2_a_small_dprime_of_many_trials_is_not():
    assert not said(fit_mle(simulate_counts(0.3, trials=20_000, seed=1)), "dprime-sign")


# 3 — correctness as the stimulus


def test_3_a_response_that_is_a_cut_of_the_rating_is_said():
    n = 60
    rating = np.tile([1, 2, 3, 4], n)
    choice = np.random.default_rng(1).integers(0, 2, 4 * n)
    trials = pd.DataFrame(
        {
            "model": np.repeat(["cut", "free"], 4 * n),
            "stimulus": np.tile(np.repeat([0, 1], 2 * n), 2),
            "response": [*(rating > 2).astype(int), *choice],
            "confidence": np.tile(rating, 2),
        }
    )
    counts = count_trials(trials, by="model", response_from_confidence=True)
    assert the(counts, "response-is-confidence-cut") == ("error", ("cut",))
    assert the(fit_mle(counts), "response-is-confidence-cut") == ("error", ("cut",))
    free = count_trials(trials[trials["model"] == "free"], by="model")
    assert not said(free, "response-is-confidence-cut")


def test_3_correctness_in_the_place_of_the_stimulus_withholds_verdicts():
    table = xr.DataArray(
        [[[30, 9, 7, 4], [6, 14, 20, 60]]], {"cell": ["x"]}, ["cell", "correct", "rating"]
    )
    counts = as_detection(table, acknowledge="M-ratio near 1 by construction")
    assert the(counts, "correctness-as-stimulus") == ("error", ())
    fitted = fit_mle(counts)
    judged = decide_normal(fitted["log_m"], fitted["log_m_se"], rope=ROPE)
    assert judged.table()[["verdict", "withheld"]].values.tolist() == [
        ["unreliable", "correctness-as-stimulus"]
    ]
    assert not said(auroc2(table), "correctness-as-stimulus")


# 4 — few trials, empty ratings, ceiling


def test_4_thin_tables_are_said():
    few = [6, 3, 2, 1, 1, 0], [0, 1, 2, 2, 4, 6]
    perfect = [60, 50, 40, 0, 0, 0], [0, 0, 0, 40, 50, 60]
    good = [60, 50, 40, 3, 1, 1], [1, 1, 2, 40, 50, 60]
    able = [40, 30, 20, 10, 6, 4], [4, 6, 10, 20, 30, 40]
    names = ["few", "perfect", "good", "able"]
    counts = from_nr(*zip(few, perfect, good, able, strict=True), model=names)
    assert the(counts, "few-trials") == ("warning", ("few",))
    assert the(counts, "few-errors") == ("warning", ("good",))
    assert the(counts, "no-errors") == ("warning", ("perfect",))
    assert the(counts, "ceiling") == ("warning", ("perfect",))
    gap = from_nr([40, 0, 30, 20, 0, 10], [10, 0, 20, 30, 0, 40])
    assert the(gap, "empty-ratings") == ("info", ("all",))


def test_4_a_full_table_is_clean():
    assert notices(from_nr(*A)) == []
    assert notices(measure(from_nr(*A))) == []


def test_4_one_sided_answers_of_a_type_2_table_are_said():
    judged = pd.DataFrame({"correct": [True] * 200, "confidence": [1, 2] * 100})
    assert the(count_correct(judged), "no-errors") == ("warning", ("all",))


def test_4_items_are_judged_together_and_subjects_one_by_one(trials):
    items = trials.assign(item=np.arange(400) % 200)
    counts = count_trials(items, by=["model", "item"])
    assert counts.sizes["cell"] == 400
    assert notices(counts) == []
    few = count_trials(items[items["item"] < 40], by=["model", "item"])
    assert the(few, "few-trials") == ("warning", tuple(map(str, few["cell"].values)))
    people = count_trials(items.rename(columns={"item": "subject"}), by=["model", "subject"])
    assert the(people, "few-trials") == ("warning", tuple(map(str, people["cell"].values)))
    judged = items.assign(correct=items["stimulus"] == items["response"])
    assert notices(count_correct(judged, by=["model", "item"])) == []


# 5 — mixed difficulty, staircases, items


def test_5_a_difficulty_that_varies_within_a_cell_is_noticed(trials):
    levels = np.where(trials["model"] == "m1", np.arange(400) % 2 + 1, 1)
    counts = count_trials(trials.assign(contrast=levels), by="model", difficulty="contrast")
    assert the(counts, "mixed-difficulty") == ("warning", ("m1",))
    assert "contrast" in said(counts, "mixed-difficulty")[0].message


def test_5_a_difficulty_that_cells_are_grouped_by_is_not(trials):
    graded = trials.assign(contrast=np.arange(400) % 2 + 1)
    assert notices(count_trials(graded, by=["model", "contrast"])) == []
    renamed = count_trials(graded, by={"model": "model", "level": "contrast"})
    assert not said(renamed, "mixed-difficulty")


def test_5_items_are_a_mixture_and_a_column_of_something_else_is_none(trials):
    items = trials.assign(item_id=np.arange(400) % 200)
    assert the(count_trials(items, by="model"), "mixed-items") == ("info", ("m1", "m2"))
    assert notices(count_trials(trials.assign(trial=np.arange(400)), by="model")) == []
    judged = items.assign(correct=items["stimulus"] == items["response"])
    assert not said(count_correct(judged, by="model"), "mixed-items")
    for options in (4, "m"):
        counts = count_correct(judged.assign(m=4), by="model", options=options)
        assert the(counts, "mixed-items")[0] == "info"
        assert len(said(counts, "mixed-items")[0].cells) == 2
        assert "alternatives_crossed" in said(counts, "mixed-items")[0].next_step
    assert the(count_correct(judged, options=4), "mixed-items") == ("info", ("all",))
    lists = trials.assign(question=[["a"], ["b"]] * 200)
    assert notices(count_trials(lists, by="model")) == []


# 6 — separate fits, and tests of shrunken estimates


def draws_of(cells, seed):
    values = np.random.default_rng(seed).normal(size=(2, 50, len(cells)))
    coords = {"cell": list(cells), "task": ("cell", list(cells))}
    return xr.Dataset({"log_m": (("chain", "draw", "cell"), values)}, coords)


def test_6_separate_fits_of_one_task_are_said():
    fits = {"o3": draws_of("AB", 1), "GPT-5": draws_of("AB", 2)}
    apart = contrast(fits, var="log_m", over="model", within="task", independent=True)
    labels = ("o3 | A", "o3 | B", "GPT-5 | A", "GPT-5 | B")
    assert the(apart, "separate-fits") == ("warning", labels)
    assert the(decide(apart, rope=ROPE).results, "separate-fits") == ("warning", labels)


def test_6_cells_of_one_fit_are_not():
    assert not said(contrast(draws_of("AB", 1), var="log_m", over="task"), "separate-fits")


@pytest.mark.integration
def test_6_shrunken_estimates_are_no_sample(observers):
    log_m = observers["posterior"]["log_m"]
    mean, sd = log_m.mean(["chain", "draw"]), log_m.std(["chain", "draw"])
    judged = decide_normal(mean, sd, rope=ROPE).results
    assert the(judged, "shrunken-estimates") == ("warning", ("s1", "s2", "s3", "s4"))
    average = mean.mean("cell").expand_dims(pair=["all observers"])
    judged = decide_normal(average, 0.1, rope=ROPE).results
    assert the(judged, "shrunken-estimates") == ("warning", ("all observers",))


@pytest.mark.integration
def test_6_estimates_of_cells_by_themselves_are(four_models):
    log_m = four_models["posterior"]["log_m"]
    mean, sd = log_m.mean(["chain", "draw"]), log_m.std(["chain", "draw"])
    judged = decide_normal(mean, sd, rope=ROPE)
    assert not said(judged.results, "shrunken-estimates")
    assert judged.table()["withheld"].tolist() == [""] * 4


# 7 — corrections move M


@pytest.mark.parametrize(
    ("correction", "moved"), [("cell", 1.070878 - 1.064343), (0.25, 1.070878 - 1.058)]
)
def test_7_how_far_a_correction_moves_m_is_said(correction, moved):
    fitted = fit_mle(from_nr(*A, model="m1"), correction=correction)
    assert the(fitted, "correction-moves-m") == ("info", ("m1",))
    number = float(
        re.search(r"by up to (\d\.\d+)", said(fitted, "correction-moves-m")[0].message)[1]
    )
    # Three decimals are said, and the last of M for ¼ is printed with three.
    assert number == pytest.approx(moved, abs=0.001)


def test_7_the_least_squares_fit_says_it_too():
    assert the(fit_dmc(from_nr(*A), correction="cell"), "correction-moves-m") == ("info", ("all",))
    assert not said(fit_dmc(from_nr(*A)), "correction-moves-m")


def test_7_an_m_that_the_correction_alone_makes_is_a_warning():
    perfect = from_nr([60, 50, 40, 0, 0, 0], [0, 0, 5, 40, 50, 60])
    assert the(fit_mle(perfect, correction="cell"), "correction-moves-m") == ("warning", ("all",))


def test_7_no_correction_and_many_trials_move_nothing():
    assert not said(fit_mle(from_nr(*A)), "correction-moves-m")
    many = simulate_counts(1.5, trials=100_000, seed=1)
    assert not said(fit_mle(many, correction="cell"), "correction-moves-m")


# 8 — the evidence is not as the model has it


def test_8_counts_that_the_model_does_not_predict_are_said(four_models):
    assert the(predicted_counts(four_models), "poor-fit") == ("warning", ("two",))


def test_8_counts_that_it_predicts_are_not(four_models):
    others = predicted_counts(four_models)["outside"].drop_sel(cell="two")
    assert float(others.max()) < 0.2


# 9 — chains that cannot be trusted


def test_9_few_draws_are_an_error_that_withholds_the_verdict(observers):
    found = said(observers, "ess")
    assert {notice.severity for notice in found} == {"error"}
    # One of the population, which names no cell, and one of cells.
    assert len(found) <= 2
    assert {cell for notice in found for cell in notice.cells} <= {"s1", "s2", "s3", "s4"}
    table = decide(observers["posterior"]["c"], rope=ROPE).table()
    assert set(table["verdict"]) == {"unreliable"}


def test_9_enough_draws_are_not(four_models):
    assert not {n.code for n in notices(four_models)} & {"ess", "rhat", "divergences", "one-chain"}


# 10 — M depends on d′ and c


def test_10_cells_whose_dprime_differs_are_said_by_pairs(four_models):
    differences = contrast(four_models, var="log_m", over="model", against="a")
    assert the(differences, "type1-differs") == ("warning", ("far − a",))
    judged = decide(differences, rope=ROPE)
    assert the(judged.results, "type1-differs") == ("warning", ("far − a",))


def test_10_cells_of_the_same_dprime_are_not(four_models):
    alike = four_models["posterior"].to_dataset().sel(cell=["a", "b"])
    for name in ("log_m", "m_ratio", "meta_d"):
        assert not said(contrast(alike, var=name, over="model"), "type1-differs")


def test_10_a_contrast_of_something_else_is_not(four_models):
    assert not said(contrast(four_models, var="c", over="model"), "type1-differs")


def test_10_weights_and_separate_fits_are_looked_at_too(four_models):
    halves = pd.DataFrame({"a": [0.5, 1], "b": [0.5, -1], "far": [-1, 0]}, index=["half", "alike"])
    weighted = contrast(four_models, var="log_m", over="model", matrix=halves)
    assert the(weighted, "type1-differs") == ("warning", ("half",))
    posterior = four_models["posterior"].to_dataset()
    fits = {name: posterior.sel(cell=[name]) for name in ("a", "far")}
    apart = contrast(fits, var="log_m", over="model", independent=True)
    assert the(apart, "type1-differs") == ("warning", ("a − far",))


def test_10_estimates_are_compared_with_the_same_caution():
    coords = {"model": ["a", "b", "far"]}
    counts = simulate_counts([1.5, 1.5, 2.5], trials=4000, coords=coords, seed=1)
    tested = z_test(fit_mle(counts), "log_m", ["a", "a"], ["b", "far"])
    assert the(tested, "type1-differs") == ("warning", ("a − far",))
    assert not said(z_test(fit_mle(counts), "dprime", "a", "far"), "type1-differs")


def test_10_many_cells_of_the_same_dprime_are_not_said_by_chance():
    """The level is that of all contrasts together: of 80 designs, 4 at .05, and hardly 12."""
    left, right = np.triu_indices(6, 1)
    alike = 0
    for seed in range(80):
        coords = {"model": list("abcdef")}
        fitted = fit_mle(simulate_counts([1.5] * 6, trials=400, coords=coords, seed=seed))
        names = fitted["cell"].values
        alike += bool(said(z_test(fitted, "log_m", names[left], names[right]), "type1-differs"))
    assert alike < 12


def test_10_many_draws_of_the_same_dprime_are_not_said_by_chance():
    coords = {"cell": list("abcdef"), "model": ("cell", list("abcdef"))}
    alike = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        centre = rng.normal(0, 0.1, (2, 6))
        draws = rng.normal(centre[:, None, None], 0.1, (2, 2, 200, 6))
        names = ("dprime", "c", "log_m")
        values = [*draws, draws[0]]
        dims = ("chain", "draw", "cell")
        posterior = xr.Dataset(
            {name: (dims, x) for name, x in zip(names, values, strict=True)}, coords
        )
        alike += bool(said(contrast(posterior, var="log_m", over="model"), "type1-differs"))
    assert alike < 12


def test_10_estimates_without_errors_of_dprime_and_c_are_compared_all_the_same():
    coords = {"model": ["a", "far"]}
    fitted = fit_mle(simulate_counts([1.5, 2.5], trials=4000, coords=coords, seed=1))
    tested = z_test(fitted.drop_vars(["dprime_se", "c_se"]), "log_m", "a", "far")
    assert not said(tested, "type1-differs")
    assert tested["difference"].equals(z_test(fitted, "log_m", "a", "far")["difference"])


# 11 — the same items


def with_items(trials, *, same=True):
    """Trials of items, which the second model was given too, or other ones."""
    number = np.arange(len(trials)) % 200
    shift = 0 if same else 200 * (trials["model"] == "m2")
    return trials.assign(item=number + shift)


def test_11_cells_of_the_same_items_are_no_independent_cells(trials):
    counts = count_trials(with_items(trials), by="model")
    assert json.loads(counts.attrs["same_items"]) == [["m1", "m2"]]
    for estimates in (sdt(counts), fit_mle(counts)):
        tested = z_test(estimates, "dprime", "m1", "m2")
        assert the(tested, "paired-data") == ("warning", ("m1 − m2",))
        judged = decide_normal(tested["difference"], tested["se"], rope=ROPE)
        assert the(judged.results, "paired-data") == ("warning", ("m1 − m2",))


def test_11_cells_of_other_items_are(trials):
    counts = count_trials(with_items(trials, same=False), by="model")
    assert "same_items" not in counts.attrs
    assert not said(z_test(sdt(counts), "dprime", "m1", "m2"), "paired-data")


def test_11_numbers_that_are_alike_by_accident_are_no_items_in_common(trials):
    mixed = trials.sample(frac=1, random_state=1).sort_values("model", kind="stable")
    counts = count_trials(with_items(mixed.reset_index(drop=True)), by="model")
    assert "same_items" not in counts.attrs


def test_11_items_are_the_same_where_some_answers_are_missing(trials):
    some = with_items(trials).sample(frac=0.8, random_state=1)
    assert "same_items" in count_trials(some, by="model").attrs
    few = with_items(trials).query(f"item < {FEWEST_ITEMS - 1}")
    assert "same_items" not in count_trials(few, by="model", labels=["S1", "S2"]).attrs


@pytest.mark.integration
def test_11_draws_of_the_same_items_that_are_taken_for_independent_are_said(warned):
    posterior = warned["posterior"].to_dataset()
    fits = {name: posterior.sel(cell=[name]) for name in ("m1", "m2")}
    apart = contrast(fits, var="log_m", over="model", independent=True)
    assert the(apart, "paired-data") == ("warning", ("m1", "m2"))
    assert not said(contrast(warned, var="log_m", over="model"), "paired-data")


# 12 — numbers of ratings


def four_and_six():
    four, six = (
        simulate_counts(1.5, ratings=K, trials=2000, coords={"model": [f"K = {K}"]}, seed=1)
        for K in (4, 6)
    )
    return xr.concat([four.reindex(rating=six["rating"], fill_value=0), six], "cell")


def test_12_cells_with_other_numbers_of_ratings_are_said():
    together = four_and_six()
    for result in (auroc2(together), meta_information(together), measure(together)):
        assert the(result, "unequal-ratings") == ("warning", ("K = 4",))


def test_12_cells_with_the_same_ratings_are_not():
    counts = simulate_counts([1.5, 2.0], trials=2000, seed=1)
    assert not said(measure(counts), "unequal-ratings")
    # Of few trials a rating may be missing by chance.
    rare = from_nr([[40, 30, 20, 10], [4, 0, 2, 3]], [[10, 20, 30, 40], [3, 0, 2, 4]])
    assert not said(auroc2(rare), "unequal-ratings")
    assert not said(resample(four_and_six(), auroc2, n=5, seed=1), "unequal-ratings")
    # Of ten ratings the highest are rare, and often missing among some hundred trials.
    ten = simulate_counts([1.5] * 10, ratings=10, trials=200, seed=1)
    assert ((ten.sum(["stimulus", "response"]) > 0).sum("rating") < 10).any()
    assert not said(auroc2(ten), "unequal-ratings")


# Notices travel


def test_notices_survive_the_disk(warned, tmp_path):
    read = load_fit(save_fit(warned, tmp_path / "fit.nc"))
    codes = {notice.code for notice in notices(warned)}
    assert {"few-trials", "mixed-difficulty", "mixed-items", "dprime-sign", "ess"} <= codes
    assert notices(read) == notices(warned)
    differences = contrast(read, var="log_m", over="model")
    assert set(notices(warned)) < set(notices(differences))


def longest_words(text):
    """Longest stretch of a text that no format writes otherwise."""
    return max(re.findall(r"[A-Za-z, ]+", text), key=len).strip()


@pytest.mark.integration
def test_notices_reach_reports_in_every_format(warned, tmp_path):
    judged = decide(contrast(warned, var="log_m", over="model"), rope=ROPE)
    report = fit_report(warned, judged)
    told = {*notices(warned), *notices(judged.results)}
    assert "type1-differs" in {notice.code for notice in told}
    for suffix in (".html", ".md", ".tex"):
        path = tmp_path / f"report{suffix}"
        report.save(path)
        text = " ".join(path.read_text(encoding="utf-8").split())
        for notice in told:
            for words in filter(None, (notice.message, notice.next_step, notice.source)):
                assert longest_words(words) in text, (suffix, notice.code)


def test_population_contrasts_carry_what_their_fit_says(observers):
    population = predict(observers)
    assert set(notices(observers)) <= set(notices(population))


def test_notices_of_older_files_are_still_read():
    old = [{"code": "few-trials", "severity": "warning", "message": "Few.", "cells": ["a"]}]
    table = xr.Dataset(attrs={"notices": json.dumps(old)})
    assert notices(table) == [Notice("few-trials", "warning", "Few.", ("a",))]


def test_the_next_step_is_part_of_the_line():
    notice = Notice("ceiling", "warning", "All right.", ("a",), "Hautus 1995", "Name a correction.")
    assert str(notice) == ("warning: All right. Name a correction. [ceiling; cell a; Hautus 1995]")
    assert dataclasses.asdict(notice)["next_step"] == "Name a correction."


def test_every_measure_of_a_clean_table_is_clean():
    counts = simulate_counts([1.5, 1.5], trials=2000, coords={"model": ["a", "b"]}, seed=3)
    assert notices(measure(counts, meta_d=True)) == []
    assert notices(z_test(fit_mle(counts), "log_m", "a", "b")) == []
