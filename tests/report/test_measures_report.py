"""The page that a model is chosen by: its numbers, its verdicts, and what it does not say."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from hmetad import (
    InputError,
    count_correct,
    count_trials,
    from_nr,
    measure,
    resample,
    simulate_trials,
)
from hmetad.counts.tables import type2_counts
from hmetad.measures import calibration, measure_trials, resample_trials_interval
from hmetad.report import measures_report
from hmetad.report.page.blocks import Figure, Table

ASKED = {"by": ["model", "set"], "cluster": "item", "n": 400, "seed": 1}


def answers(n=300, noises=(0.5, 4.0, 4.0)):
    """Answers of models to the items of two sets; the first has the better confidence."""
    rng = np.random.default_rng(4)
    parts = []
    for name in ("x", "y"):
        hard = rng.normal(size=n)
        for model, noise in zip("abc", noises, strict=False):
            signal = 0.7 - hard + rng.normal(size=n)
            confidence = 1 / (1 + np.exp(-signal - noise * rng.normal(size=n)))
            rows = {"model": model, "set": name, "item": [f"{name}{i}" for i in range(n)]}
            rows |= {"correct": signal > 0, "confidence": confidence.round(2)}
            parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def trials():
    return answers()


@pytest.fixture(scope="module")
def report(trials):
    return measures_report(trials, **ASKED)


def table(report, name):
    (found,) = [x for x in report.blocks if isinstance(x, Table) and x.name == name]
    return found


def headings_of(page):
    return [getattr(block, "heading", "") for block in page.blocks]


def best_of(page):
    """Level that is marked as the best by each measure that has one."""
    found = table(page, "leaderboard")
    return {
        heading: row[0]
        for row in found.rows
        for heading, cell in zip(found.columns, row, strict=True)
        if str(cell).endswith("*")
    }


def answer_of(page):
    return next(x for x in page.blocks if getattr(x, "heading", "") == "Answer").paragraphs[0]


def test_question_answer_and_evidence_come_first_and_figures_before_tables_of_numbers(report):
    kinds = [type(block).__name__ for block in report.blocks[:4]]
    assert kinds == ["Prose", "Prose", "Table", "Figure"]
    assert [x for x in headings_of(report) if x] == [
        *("Question", "Answer", "Calibration", "Answers withheld"),
        *("Numbers with intervals", "How it was computed", "Notices"),
    ]
    assert sum(isinstance(block, Figure) for block in report.blocks) == 5
    assert "too high and often miss the true value" in report.markdown()
    meanings = {row[0]: row[1] for row in table(report, "meaning").rows}
    assert meanings["Accuracy"].startswith("proportion correct of the answers")
    assert meanings["AURC"].startswith("area under the risk–coverage curve")


def test_a_level_is_called_best_where_it_is_and_columns_sort_by_the_number(report):
    assert re.search(r"a is best by .*AUROC2", answer_of(report))
    assert best_of(report)["AUROC2"] == "a"
    board = table(report, "leaderboard")
    assert board.rows[0][0] == "a"
    page = report.html()
    assert all(f'data-key="{cell.values[0]!r}"' in page for row in board.rows for cell in row[1:])
    assert table(report, "leaderboard-sets").is_folded


def test_nobody_is_best_where_nothing_is_decided():
    alike = measures_report(answers(120, (4.0, 4.0, 4.0)), **ASKED)
    assert "By Accuracy the best is not decided: " in answer_of(alike)
    assert "Accuracy" not in best_of(alike)


def test_numbers_of_the_page_are_those_of_the_functions(report, trials):
    found = resample_trials_interval(trials, **ASKED)
    columns, *rows = table(report, "mean_confidence").plain()
    frame = pd.DataFrame(rows, columns=columns)
    for row in frame.to_dict("records"):
        own = found.sel(cell=f"{row['Model']} | {row['Set']}")
        for name in ("mean_confidence", "overconfidence", "ece", "ece_debiased"):
            values = [row[name], row[f"{name}_lower"], row[f"{name}_upper"]]
            np.testing.assert_allclose(values, own[name], atol=1e-12)
    text = table(report, "mean_confidence").rows[0][2]
    estimate, lower, upper = found["mean_confidence"].values[0]
    assert str(text) == f"{estimate:.3f} [{lower:.3f}, {upper:.3f}]"


def test_nobody_at_chance_is_best():
    """Confidence that says nothing, or the opposite: the first is no good choice."""
    trials = answers(2000, (1.0,))
    rng = np.random.default_rng(3)
    trials["confidence"] = rng.uniform(size=len(trials)).round(2)
    worse = trials.assign(model="b", confidence=1 - 0.6 * trials["correct"])
    page = measures_report(pd.concat([trials, worse]), **ASKED)
    assert "By AUROC2 there is no verdict: a, the first, is at chance" in answer_of(page)


def test_a_model_without_errors_does_not_stop_the_others(trials):
    perfect = trials[trials["model"] == "c"].assign(model="d", correct=True)
    page = measures_report(pd.concat([trials, perfect]), **ASKED)
    best = best_of(page)
    assert (best["Accuracy"], best["AUROC2"]) == ("d", "a")
    assert "Not ranked by AUROC2: d (undefined in 100% of the draws)" in page.markdown()
    columns, *rows = table(page, "accuracy").plain()
    (row,) = [x for x in rows if x[:2] == ("d", "x")]
    places = [i for i, name in enumerate(columns) if name.startswith("auroc2")]
    assert [row[i] for i in places] == [None, None, None]


def test_a_model_with_few_errors_is_ranked_by_the_draws_in_which_it_has_some(trials):
    rng = np.random.default_rng(5)
    few = trials[trials["model"] == "a"].assign(model="d", correct=True)
    # Four errors are none in one draw of fifty.
    for name in few["set"].unique():
        few.loc[rng.choice(few.index[few["set"] == name], 4, replace=False), "correct"] = False
    page = measures_report(pd.concat([trials, few]), **ASKED).markdown()
    assert "Draws in which AUROC2 is undefined are left out: d (" in page
    assert "Not ranked by AUROC2" not in page


def counted(dprimes, m_ratios):
    trials = simulate_trials(
        dprimes, 0.0, m_ratios, trials=1500, coords={"model": list("abc")}, seed=2
    )
    counts = count_trials(trials, by="model")
    draws = resample(counts, lambda t: measure(t, meta_d=True, errors=False), n=300, seed=1)
    return counts, measure(counts, meta_d=True, errors=False), draws


def test_m_has_d_and_accuracy_beside_it_and_chance_is_left_out():
    counts, found, draws = counted([1.5, 1.5, 0.0], [1.0, 0.4, 1.0])
    page = measures_report(counts, found, draws=draws)
    board = table(page, "leaderboard")
    assert board.columns[:5] == ("Model", "Accuracy", "d′", "AUROC2", "M-ratio")
    assert best_of(page)["M-ratio"] == "a"
    assert "Not ranked by M-ratio: c (d′ not above 0)." in answer_of(page)


def shy_and_honest():
    """Answers of two models, of which one leaves out confidence where it is wrong."""
    trials = answers(noises=(0.5, 4.0))
    wrong = trials.index[(trials["model"] == "b") & ~trials["correct"]]
    trials.loc[wrong[::2], "confidence"] = np.nan
    return trials


def test_missing_confidence_is_said_before_the_answer():
    page = measures_report(shy_and_honest(), by="model", n=50, seed=1)
    assert headings_of(page)[:3] == ["Question", "Before the answer", "Answer"]
    item, fewer = page.blocks[1].items
    assert (item[0], fewer[0]) == ("warning", "warning")
    assert "b (" in item[1]
    assert "not measured on the same items: b " in fewer[1]
    assert "is that of answers with a confidence" in page.markdown()


def test_two_scales_leave_no_verdict_but_that_on_accuracy(trials):
    is_percent = (trials["model"] == "a") & (trials["set"] == "x") & (trials.index % 2 == 0)
    percent = (100 * trials["confidence"]).round()
    mixed = trials.assign(confidence=trials["confidence"].where(~is_percent, percent))
    page = measures_report(mixed, **ASKED)
    assert page.blocks[1].items[0][0] == "error"
    words = answer_of(page)
    assert "By AUROC2 there is no verdict: two scales of confidence." in words
    assert "By Accuracy there is no verdict" not in words
    assert "*" in str(table(page, "leaderboard-sets").rows)


def test_levels_that_confidence_tells_apart_wholly_have_no_interval_and_are_not_best():
    trials = answers(200, noises=(0.5, 4.0))
    # Errors of a are all less confident than its right answers.
    is_low = (trials["model"] == "a") & ~trials["correct"]
    is_high = (trials["model"] == "a") & trials["correct"]
    trials.loc[is_low, "confidence"] *= 0.4
    trials.loc[is_high, "confidence"] = 0.5 + trials["confidence"] / 2
    report = measures_report(trials, by="model", n=100, seed=1)
    reason = "a, the first, has draws that are all the same"
    assert f"By AUROC2 there is no verdict: {reason}." in answer_of(report)
    assert "[1.000, 1.000]" not in report.markdown()


def test_confidence_that_is_no_probability_has_no_calibration_and_no_word_of_it(trials):
    page = measures_report(trials.assign(confidence=100 * trials["confidence"]), **ASKED)
    assert "Calibration" not in headings_of(page)
    assert table(page, "leaderboard").columns == ("Model", "Accuracy", "AUROC2", "AURC")
    assert "--scale percent" in page.blocks[1].items[0][1]
    assert "read as a probability" not in page.blocks[0].paragraphs[0]
    said = next(x for x in page.blocks if getattr(x, "heading", "") == "How it was computed")
    assert "there are no ECE and Brier score" in " ".join(said.paragraphs)
    assert "bins" not in " ".join(said.paragraphs)


def test_what_is_missing_is_refused_with_what_gives_it(trials):
    counts, found, draws = counted([1.5, 1.5, 1.0], [1.0, 0.4, 1.0])
    by_model = calibration(trials, by="model")
    for given, asked, words in (
        ((counts, by_model), {}, r"measures_report\(trials, by=...\) has calibration"),
        ((counts, found), {"cluster": "item"}, "cluster does not go with a count table"),
        ((counts, found), {"draws": draws, "over": "task"}, "over: .*got 'task'"),
        ((counts, found), {"draws": draws.isel(cell=[0])}, "draws: .*got other cells"),
        ((trials,), {"by": "model", "draws": draws}, "what resample_trials returned"),
    ):
        with pytest.raises(InputError, match=words):
            measures_report(*given, **asked)
    # Without information there is no plane.
    page = measures_report(counts, found[["auroc2", "trials"]])
    assert "plane" not in [x.name for x in page.blocks if isinstance(x, Figure)]


COUNTS = from_nr(
    [[84, 56, 48, 12], [36, 24, 17, 20]], [[4, 56, 64, 76], [9, 2, 28, 39]], model=["a", "b"]
)


def test_every_measure_of_counts_is_explained_and_right_and_wrong_alone_say_what_they_lack():
    found = measure(COUNTS)
    report = measures_report(COUNTS, found, command="hmetad measures t.csv")
    page = report.html()
    for name, values in found.data_vars.items():
        assert html.escape(values.attrs["long_name"]) in page, name
    assert "hmetad measures t.csv" in page
    assert report.markdown().count("**Figure") == 3
    judged = type2_counts(COUNTS)
    page = measures_report(judged, measure(judged)).markdown()
    assert "There is no stimulus in these data" in page
    assert "Type 1" not in page
    assert page.count("**Figure") == 1
    rows = np.tile([36, 24, 17, 20], (9, 1))
    many = from_nr(rows, rows[:, ::-1], model=list("abcdefghi"))
    assert "**Figure" not in measures_report(many, measure(many)).markdown()


@pytest.mark.parametrize("has_confidence", [True, False])
def test_abstentions_have_scores_first_and_a_curve_by_penalty(trials, has_confidence):
    silent = (trials["confidence"] < 0.6) & (trials["model"] == "a")
    own = trials.assign(idk=silent)
    own = own if has_confidence else own.drop(columns="confidence")
    report = measures_report(own, **ASKED, abstained="idk", penalty=2)
    page = report.markdown()
    assert "Score by penalty" in headings_of(report)
    assert ("Answers withheld" in headings_of(report)) == has_confidence
    assert "Penalty of a wrong answer" in page
    found = measure_trials(own, by=ASKED["by"], abstained="idk", penalty=2)
    shown = table(report, "coverage")
    assert len(shown.rows) == found.sizes["cell"]
    assert best_of(report)["Expected score"] in answer_of(report)
    words = next(x for x in report.blocks if getattr(x, "heading", "") == "Score by penalty")
    right = (found["coverage"] * found["accuracy"]).sel(cell=found["set"] == "x")
    first = str(right["model"].values[right.to_numpy().argmax()])
    assert words.paragraphs[1].startswith(
        f"x: By the estimates {first} scores most up to a penalty"
    )
    assert ("Confidence is taken as it is" in page) == has_confidence


def test_a_page_of_counts_has_the_trials_that_were_abstained_from_too(trials):
    rated = trials.assign(confidence=(trials["confidence"] * 3.99).astype(int) + 1)
    rated["idk"] = rated["confidence"] == 1
    counts = count_correct(rated, by="model", abstained="idk")
    page = measures_report(counts)
    assert dict(page.meta)["Trials"] == f"{len(rated):,}"
    shown = table(page, "coverage")
    place = shown.columns.index("Trials")
    assert [str(row[place]) for row in shown.rows] == ["600"] * 3
