"""Correctness does not pass for a stimulus, by any door but the one that says what comes of it."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from counts.trials import frame
from hypothesis import given
from hypothesis import strategies as st
from real_data import bang2019, hellmann2023_counts, mazancieux2020, michael2026, rouault2018
from scipy.stats import norm

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.bayes.fit import fit
from hmetad.bayes.model import build_model
from hmetad.compare.cells import error_flags
from hmetad.counts.counting import count_correct, count_trials
from hmetad.counts.resample import resample
from hmetad.counts.tables import ACKNOWLEDGEMENT, as_detection, type2_counts
from hmetad.counts.vectors import from_nr, to_nr
from hmetad.measures.sdt import sdt
from hmetad.mle.dmc import fit_dmc
from hmetad.mle.meta_d import fit_mle
from hmetad.mle.uvsdt import uvsdt
from hmetad.simulate.simulate import simulate_trials
from hmetad.specs.loading import load_model

CUT = "response-is-confidence-cut"


def type2_table(values):
    """One cell: wrong and right by rating."""
    values = np.asarray(values)[None]
    ratings = np.arange(1, values.shape[-1] + 1)
    coords = {"cell": ["all"], "correct": ["wrong", "right"], "rating": ratings}
    return xr.DataArray(values, coords, ("cell", "correct", "rating"), name="counts")


def gaussian_table(d, ratings, trials=10**10):
    """Right and wrong answers whose confidence is normal with equal variance."""
    edges = norm.ppf(np.arange(ratings + 1) / ratings) + d / 2
    shares = [np.diff(norm.cdf(edges, mean)) for mean in (0, d)]
    return type2_table(np.round(trials * np.array(shares)).astype(np.int64))


def answers(n=2000, seed=1, **columns):
    """Open questions: a continuous confidence that is higher where the answer is right."""
    rng = np.random.default_rng(seed)
    correct = rng.random(n) < 0.6
    sure = rng.normal(1.2 * correct)
    octile = np.searchsorted(np.quantile(sure, np.arange(1, 8) / 8), sure) + 1
    return pd.DataFrame({"correct": correct, "octile": octile} | columns)


def codes(counts):
    return {notice.code for notice in notices(counts)}


# --- what needs a stimulus ------------------------------------------------------------------


@pytest.mark.parametrize("function", [sdt, fit_mle, fit_dmc, uvsdt, fit, build_model, to_nr])
def test_whatever_needs_a_stimulus_says_why_it_refuses_right_and_wrong(function):
    table = type2_table([[30, 9, 7, 4], [6, 14, 20, 60]])
    arguments = [load_model("individual")] if function is build_model else []
    message = (
        r" needs the stimulus, which a table of right and wrong answers does not have\. With "
        r"correctness in its place M-ratio is nearly the same whatever the truth\. To this table "
        r"apply .*auroc2, gamma, type2_zroc, v_statistic, phi, mean_confidence and"
        r".*a type-2 table with dims \(cell, correct, rating\)"
    )
    with pytest.raises(InputError, match=message):
        function(table, *arguments)


# --- the door -------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["", "yes", True, None, "m-ratio near 1 by construction"])
def test_nothing_but_the_literal_acknowledgement_opens(said):
    message = r"functions of one table.*auroc2.*Expected 'M-ratio near 1 by construction'"
    with pytest.raises(InputError, match=message):
        as_detection(type2_table([[3, 1], [1, 4]]), acknowledge=said)
    with pytest.raises(InputError, match=r"acknowledge: .*got ''"):
        as_detection(type2_table([[3, 1], [1, 4]]))


def test_wrong_and_right_become_s1_and_s2_and_ratings_fold_at_the_middle():
    wrong, right = [41, 31, 21, 11, 7, 5, 3, 2], [1, 4, 6, 8, 12, 22, 32, 42]
    counts = as_detection(type2_table([wrong, right]), acknowledge=ACKNOWLEDGEMENT)
    # The classic vectors run from sure S1 to sure S2, as the octiles do.
    assert to_nr(counts)[0].tolist() == [wrong]
    assert to_nr(counts)[1].tolist() == [right]
    assert counts.dims == ("cell", "stimulus", "response", "rating")
    assert json.loads(counts.attrs["labels"]) == ["wrong", "right"]
    assert (counts.attrs["cut"], counts.name, counts.dtype) == (4, "counts", np.int64)


@given(st.integers(2, 9), st.data())
def test_any_cut_keeps_every_trial_and_its_order(ratings, data):
    cut = data.draw(st.integers(1, ratings - 1))
    values = np.arange(1, 2 * ratings + 1).reshape(2, ratings)
    counts = as_detection(type2_table(values), acknowledge=ACKNOWLEDGEMENT, cut=cut)
    assert counts.sizes["rating"] == max(cut, ratings - cut)
    for side, row in enumerate(values):
        low, high = counts.values[0, side]
        assert low[low > 0].tolist() == row[:cut][::-1].tolist()
        assert high[high > 0].tolist() == row[cut:].tolist()
        # What a side lacks is at its confident end.
        assert (np.flatnonzero(low == 0) >= cut).all()


def test_further_dims_coordinates_and_notices_are_carried_along():
    table = count_correct(frame(correct=frame()["stimulus"] == frame()["response"]), by="model")
    draws = xr.concat([table, 2 * table], "draw", combine_attrs="override")
    counts = as_detection(draws.transpose("rating", ...), acknowledge=ACKNOWLEDGEMENT)
    assert counts.dims[-3:] == ("stimulus", "response", "rating")
    assert counts["model"].values.tolist() == ["GPT-5", "Mistral"]
    np.testing.assert_array_equal(counts.isel(draw=1), 2 * counts.isel(draw=0))
    few = as_detection(type2_table([[3, 1], [1, 4]]), acknowledge=ACKNOWLEDGEMENT)
    assert [n.code for n in notices(few)].count("few-trials") == 1


@pytest.mark.parametrize(
    ("ratings", "cut", "message"),
    [
        (5, None, r"cut: An odd number.*Expected 1 to 4, got none for 5 ratings"),
        (5, 5, "cut: Expected a whole number from 1 to 4, got 5"),
        (4, 0, "cut: .*Expected a whole number.*, got 0"),
        (4, 1.5, "cut: .*got 1.5"),
        (1, None, "none for 1 ratings"),
    ],
)
def test_a_cut_leaves_ratings_on_both_sides(ratings, cut, message):
    table = type2_table(np.ones((2, ratings), int))
    with pytest.raises(InputError, match=message):
        as_detection(table, acknowledge=ACKNOWLEDGEMENT, cut=cut)


def test_a_count_table_needs_no_door():
    with pytest.raises(InputError, match=r"type2_counts makes a type-2 table.*a count table"):
        as_detection(from_nr([5, 3, 2, 1], [1, 2, 4, 6]), acknowledge=ACKNOWLEDGEMENT)
    with pytest.raises(InputError, match=r"counts: .*got dict"):
        as_detection({}, acknowledge=ACKNOWLEDGEMENT)


@pytest.mark.parametrize(("d", "ratings"), [(0.3, 8), (2.5, 4)])
def test_m_ratio_is_one_by_construction_however_good_confidence_is(d, ratings):
    counts = as_detection(gaussian_table(d, ratings), acknowledge=ACKNOWLEDGEMENT)
    fitted = fit_mle(counts)
    assert fitted["dprime"].item() == pytest.approx(d, abs=1e-6)
    # Counts of 1e10 are rounded to whole ones.
    assert fitted["m_ratio"].item() == pytest.approx(1, abs=1e-5)


def test_m_ratio_of_the_withdrawn_analysis_is_near_one(shared):
    folder = shared / "data" / "cacioli2026_sdt_calibration"
    data = json.loads((folder / "roc_data.json").read_text())
    for model, printed in (("llama3_base", 1.407), ("gemma2_instruct", 0.946)):
        cell = data[model]["triviaqa"]["1.0"]
        table = np.array([cell["noise_counts"], cell["signal_counts"]], int)
        # Bins of equal width are what was deposited: the cut is at the one nearest the median.
        shares = table.sum(axis=0).cumsum() / table.sum()
        cut = int(abs(shares - 0.5).argmin()) + 1
        counts = as_detection(type2_table(table), acknowledge=ACKNOWLEDGEMENT, cut=cut)
        fitted = fit_mle(counts, correction="cell")
        # A cut that is off by .03 of the trials moves d′ by a few hundredths, finer bins M by less
        # than .1.
        assert fitted["dprime"].item() == pytest.approx(printed, abs=0.03)
        assert fitted["m_ratio"].item() == pytest.approx(1, abs=0.1)


def test_the_notice_travels_as_an_error_that_withholds_verdicts():
    counts = as_detection(gaussian_table(1.0, 8, trials=400), acknowledge=ACKNOWLEDGEMENT)
    codes, flags = error_flags(counts)
    assert codes == ["correctness-as-stimulus"]
    assert flags.all()
    for result in (
        counts,
        sdt(counts),
        fit_mle(counts),
        fit_dmc(counts),
        type2_counts(counts),
        resample(counts, sdt, n=5, seed=1),
    ):
        noticed = [n for n in notices(result) if n.code == "correctness-as-stimulus"]
        assert [(n.severity, n.cells) for n in noticed] == [("error", ())]


# --- disguises ------------------------------------------------------------------------------


def test_a_response_that_is_a_cut_of_the_rating_is_refused_with_the_way_out():
    trials = answers()
    trials["stimulus"] = np.where(trials.pop("correct"), "b", "a")
    trials["response"] = np.where(trials["octile"] > 4, "b", "a")
    message = (
        r"response: .*near 1, whatever the true value.*auroc2.*distance from its middle\. "
        r"response_from_confidence=True counts all the same.*got a choice that the rating alone "
        "determines, in every cell"
    )
    with pytest.raises(InputError, match=message):
        count_trials(trials, confidence="octile")
    counts = count_trials(trials, confidence="octile", response_from_confidence=True)
    noticed = next(notice for notice in notices(counts) if notice.code == CUT)
    assert (noticed.severity, noticed.cells) == ("error", ())
    assert counts.sum() == len(trials)


@pytest.mark.parametrize("flipped", [False, True])
def test_each_cell_may_have_its_own_cut(flipped):
    trials = frame()
    cut = np.where(trials["model"] == "GPT-5", 2, 3)
    # Both responses with two ratings at least: five are in use.
    trials["confidence"] = np.tile([1, 2, 3, 4, 5], 80)
    trials["response"] = np.where((trials["confidence"] > cut) ^ flipped, "pos", "neg")
    trials["item"] = np.arange(400) // 4
    for by in ("model", ["model", "task"], ["model", "item"]):
        with pytest.raises(InputError, match="rating alone determines, in "):
            count_trials(trials, by=by)
    # Together they overlap.
    assert CUT not in codes(count_trials(trials))
    # A scale that is folded at its middle is confidence.
    scale = np.tile(np.arange(1, 9), 50)
    folded = np.where(scale > 4, scale - 4, 5 - scale)
    trials = trials.assign(response=np.where(scale > 4, "pos", "neg"), confidence=folded)
    assert CUT not in codes(count_trials(trials, by="model"))


def test_a_task_that_is_a_cut_beside_one_that_is_none_is_refused_and_named():
    trials = frame()
    is_open = trials["task"] == "B"
    cut = np.where(trials["confidence"] > 2, "pos", "neg")
    trials["response"] = trials["response"].mask(is_open, cut)
    with pytest.raises(InputError, match=r"determines, in cell 'GPT-5 \| B' and 1 more"):
        count_trials(trials, by=["model", "task"])
    counts = count_trials(trials, by=["model", "task"], response_from_confidence=True)
    noticed = next(notice for notice in notices(counts) if notice.code == CUT)
    assert noticed.cells == ("GPT-5 | B", "Mistral | B")


def test_a_cut_of_confidence_is_noticed_where_its_quantiles_straddle_it():
    """Correctness as the stimulus, sure or unsure as the response, ratings by quantiles."""
    rng = np.random.default_rng(3)
    correct, confidence = rng.integers(0, 2, 2000), rng.beta(4, 2, 2000)
    sure = (confidence > 0.6).astype(int)
    trials = pd.DataFrame({"stimulus": correct, "response": sure, "confidence": confidence})
    (noticed,) = (x for x in notices(count_trials(trials, quantiles=4)) if x.code == CUT)
    assert noticed.severity == "warning"
    assert "one rating that both responses share" in noticed.message
    # A few trials with other ratings, and it may be a bias.
    trials.loc[:3, "confidence"] = [0.01, 0.99, 0.01, 0.99]
    trials.loc[:3, "response"] = [1, 0, 1, 0]
    assert CUT not in codes(count_trials(trials, quantiles=4))


def test_a_handful_of_trials_is_no_proof_of_a_cut():
    trials = frame(18, confidence=np.tile([1, 2, 3], 6))
    trials["confidence"] = np.r_[np.tile([1, 2], 5)[:9], np.tile([3, 4], 5)[:9]]
    trials["response"] = np.repeat(["neg", "pos"], 9)
    assert CUT not in codes(count_trials(trials))
    more = pd.concat([trials, trials])
    with pytest.raises(InputError, match="rating alone determines"):
        count_trials(more)
    # Of many subjects with few trials each, some look like it.
    many = pd.concat([frame(400, subject=0), trials.assign(subject=1)])
    assert CUT not in codes(count_trials(many, by="subject"))


def test_one_small_cell_of_many_stops_no_table_and_is_noticed():
    small = pd.DataFrame(
        {
            "stimulus": ["neg", "pos"] * 12,
            "response": ["neg"] * 12 + ["pos"] * 12,
            "confidence": [1, 2] * 6 + [3, 4] * 6,
            "subject": 9,
        }
    )
    many = [frame(400, subject=i) for i in range(3)]
    counts = count_trials(pd.concat([*many, small]), by="subject")
    (said,) = [one for one in notices(counts) if one.code == CUT]
    assert (said.severity, said.cells) == ("warning", ("9",))
    # Of more trials it is proof, and so are most of the cells.
    for others, times in ((many, 3), (many[:1], 1)):
        own = [small.assign(subject=10 + i) for i in range(2 if times == 1 else 1)]
        with pytest.raises(InputError, match="rating alone determines"):
            count_trials(pd.concat([*others, *own * times]), by="subject")


def test_a_strong_bias_with_one_rating_for_a_response_is_no_proof():
    trials = frame()
    is_biased = trials["model"] == "Mistral"
    rating = np.where(trials["response"] == "neg", 2, 3)
    trials["confidence"] = trials["confidence"].mask(is_biased, rating)
    assert CUT not in codes(count_trials(trials, by="model"))
    # Of all the trials there are, it is noticed.
    alone = count_trials(trials[is_biased], by="model")
    assert CUT in codes(alone)


@pytest.mark.parametrize("labels", [(False, True), ("b", "a")])
def test_a_stimulus_that_goes_with_correctness_is_refused(labels):
    trials = answers()
    trials["answer"] = np.where(trials["correct"], labels[1], labels[0])
    guess = np.random.default_rng(2).random(len(trials)) < 0.5
    trials["said"] = np.where(guess, labels[1], labels[0])
    message = (
        r"stimulus: .*count_correct.*got column 'answer', which goes with 'correct' in every row"
    )
    with pytest.raises(InputError, match=message):
        count_trials(trials, stimulus="answer", response="said", confidence="octile")


def test_a_stimulus_that_goes_with_correctness_by_nature_is_left_alone():
    trials = frame(response="pos")
    trials["correct"] = trials["stimulus"] == trials["response"]
    assert count_trials(trials).sum() == 400
    trials = frame()
    trials["correct"] = trials["stimulus"] == trials["response"]
    assert count_trials(trials).sum() == 400
    # Few trials do not show it.
    trials = frame(6, stimulus=["neg", "pos"] * 3, response=["neg", "pos", "pos"] * 2)
    assert count_trials(trials.assign(accuracy=trials["stimulus"] == "pos")).sum() == 6


def response_coded(slips, turned=False, m_ratio=0.9, group=("A",) * 6):
    """Trials of six people; a scale of 1 sure S1 to 6 sure S2 in group A, with slips."""
    coords = {"subject": [*"abcdef"], "group": [*group]}
    trials = simulate_trials(
        1.5, m_ratio=[m_ratio] * 6, trials=400, ratings=3, coords=coords, seed=4
    )
    is_upper = trials["response"] == ("S1" if turned else "S2")
    coded = np.where(is_upper, trials["confidence"] + 3, 4 - trials["confidence"])
    is_slip = np.random.default_rng(0).uniform(size=len(trials)) < slips
    coded = np.where(is_slip, 7 - coded, coded)
    is_coded = trials["group"] == "A"
    return trials.assign(confidence=np.where(is_coded, coded, 2 * trials["confidence"]))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("slips", [0.002, 0.01, 0.08, 0.18])
def test_slips_do_not_make_confidence_of_a_scale_that_runs_over_both_responses(slips, turned):
    trials = response_coded(slips, turned)
    with pytest.raises(InputError, match=r"got a choice .* determines.* every cell") as refused:
        count_trials(trials, by="subject")
    assert "the distance from its middle" in refused.value.next_step
    allowed = count_trials(trials, by="subject", response_from_confidence=True)
    severities = {one.code: one.severity for one in notices(allowed)}
    assert severities[CUT] == "error"


def test_a_scale_over_both_responses_is_refused_in_the_group_that_has_it():
    trials = response_coded(0.05, group=[*"AABBBB"])
    counts = count_trials(trials, by=["subject", "group"], response_from_confidence=True)
    (notice,) = (one for one in notices(counts) if one.code == CUT)
    assert notice.cells == ("a | A", "b | A")


def test_ratings_that_differ_by_response_are_no_scale_over_both():
    rng, trials = np.random.default_rng(1), response_coded(0, group="B" * 6)
    is_yes = trials["response"] == "S2"
    # Whoever says yes is sure, and says no with doubt: nine ratings in ten lie apart.
    apart = trials["confidence"] // 2 + np.where(is_yes ^ (rng.random(len(trials)) < 0.1), 3, 0)
    counts = count_trials(trials.assign(confidence=apart), by="subject")
    assert CUT not in codes(counts)


def test_no_real_data_are_refused(shared):
    folder = shared / "data"
    rouault = rouault2018(folder)
    tables = [
        count_trials(rouault, by="subject", ratings=5),
        count_trials(mazancieux2020(folder), by=["subject", "task"], ratings=4),
        count_trials(bang2019(folder), by=["subject", "task"], ratings=4),
        count_trials(michael2026(folder), by=["llm", "task"], confidence="rating", ratings=4),
        hellmann2023_counts(folder),
    ]
    assert [counts.sizes["cell"] for counts in tables] == [498, 724, 350, 22, 16]
    assert not any(CUT in codes(counts) for counts in tables)
