"""Measures of trials against numbers that programs of others gave for the same trials.

pROC 1.18.0 (R): areas, DeLong's errors and intervals, a paired comparison. uncertainty-calibration
0.1.4: calibration errors, plain and debiased, and the area under the accuracy–coverage curve.
calikit 0.1.0: the parts of the Brier score. None of them is needed to run the tests.
"""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from hmetad import InputError, contrast, notices
from hmetad.measures import (
    accuracy_by_confidence,
    calibration,
    measure_trials,
    resample_trials,
    resample_trials_interval,
    selective_prediction,
)

# R prints ten digits.
PRINTED = 1e-9
ROUNDING = 1e-12


def answers(n, least=0.0, chance=(0.25, 0.5), decimals=9):
    """Trials without randomness, by multiples of irrational numbers modulo 1."""
    k = np.arange(1, n + 1)
    p = (least + (1 - least) * (k * 0.6180339887 % 1)).round(decimals)
    right = k * 0.7548776662 % 1 < chance[0] + chance[1] * p
    return pd.DataFrame({"confidence": p, "correct": right})


CASES = {
    "distinct": answers(1200),
    "ties": answers(1200, decimals=1),
    "hundredths": answers(730, decimals=2),
    "nearly all right": answers(600, least=0.9, chance=(0.8, 0.19), decimals=2),
    "nearly all wrong": answers(600, chance=(0, 0.08), decimals=2),
}


def measured(trials, **options):
    return measure_trials(trials, **options).sel(cell="all")


# pROC: auc, sqrt(var(delong)), ci.auc(delong) of 95 % and of 80 %.
AREAS = {
    "distinct": (0.6698639688, 0.01550126831, 0.6394820412, 0.7002458964, 0.6499982942),
    "ties": (0.6680458333, 0.01544751955, 0.6377692514, 0.6983224153, 0.6482490405),
    "hundredths": (0.6783087131, 0.01972865732, 0.6396412553, 0.716976171, 0.6530254215),
    "nearly all right": (0.6450538549, 0.08715771289, 0.4742278766, 0.8158798331, 0.5333567515),
    "nearly all wrong": (0.6927445023, 0.04254453897, 0.6093587382, 0.7761302664, 0.6382214818),
}


@pytest.mark.parametrize("case", AREAS)
def test_areas_errors_and_intervals_are_those_of_proc(case):
    found = measured(CASES[case])
    names = ("auroc2", "auroc2_se", "auroc2_lower", "auroc2_upper")
    ours = [found[name].item() for name in names]
    ours.append(measured(CASES[case], ci_prob=0.8)["auroc2_lower"].item())
    np.testing.assert_allclose(ours, AREAS[case], atol=PRINTED)


def test_the_published_images_have_the_error_and_interval_of_proc():
    """CT images of Hanley & McNeil (1982), Table I; printed in the manual of Stata (roctab)."""
    rated = np.tile(np.arange(1, 6), 2)
    times = [3, 2, 2, 11, 33, 33, 6, 6, 11, 2]
    trials = pd.DataFrame({"correct": np.repeat([1, 0], 5), "confidence": rated})
    found = measured(trials.loc[trials.index.repeat(times)])
    names = ("auroc2", "auroc2_se", "auroc2_lower", "auroc2_upper")
    printed = (0.8931710615, 0.03072440838, 0.8329523277, 0.9533897954)
    np.testing.assert_allclose([found[name].item() for name in names], printed, atol=PRINTED)


def test_differences_of_paired_areas_spread_as_proc_says():
    """Two confidences in the same answers: roc.test(paired=TRUE, method="delong")."""
    first = answers(500)
    k = np.arange(1, 501)
    other = 0.5 * first["confidence"] + 0.5 * (k * 0.4142135624 % 1)
    both = [first, first.assign(confidence=other)]
    trials = pd.concat(both, keys=["a", "b"], names=["source", "answer"]).round(2).reset_index()
    draws = resample_trials(trials, by="source", cluster="answer", n=4000, seed=1)
    spread = contrast(draws, var="auroc2", over="source").std("draw").item()
    areas = measure_trials(trials, by="source")["auroc2"]
    assert float(areas[0] - areas[1]) == pytest.approx(0.04719275508, abs=PRINTED)
    # The spread of 4000 draws is known to 1.1 %; were they not paired, it would be 0.0310.
    assert spread == pytest.approx(0.01946307627, rel=0.04)


# get_ece (intervals closed above, as method "width") with 4, 10 and 15 bins.
WIDTH = {
    "distinct": (0.11823132294333333, 0.118272905525, 0.12047019768833332),
    "ties": (0.12075, 0.12075, 0.12075),
    "hundredths": (0.1114246575342466, 0.1114246575342466, 0.11301369863013697),
    "nearly all right": (0.02995, 0.02995, 0.02995),
    "nearly all wrong": (0.4608833333333333, 0.46088333333333337, 0.4608833333333333),
}


@pytest.mark.parametrize("case", WIDTH)
def test_errors_in_equal_intervals_are_those_of_uncertainty_calibration(case):
    found = [calibration(CASES[case], bins=b, method="width")["ece"].item() for b in (4, 10, 15)]
    np.testing.assert_allclose(found, WIDTH[case], atol=ROUNDING)


# get_ece_em, plugin_ce(power=2)², unbiased_square_ce. With ties its bins differ from ours, which
# never part equal confidences; there only a bin for each confidence, below, is the same.
MASS = {
    4: (0.11906404535333331, 0.018996417429158873, 0.018228106392369575),
    10: (0.11906404535333333, 0.020029210612961278, 0.018108867475706378),
    15: (0.11958082744333334, 0.020398861974198025, 0.01750606134128663),
}


@pytest.mark.parametrize("bins", MASS)
def test_errors_in_bins_of_equal_mass_are_those_of_uncertainty_calibration(bins):
    found = measured(CASES["distinct"], bins=bins)
    ours = [found[name].item() for name in ("ece", "reliability", "reliability_debiased")]
    np.testing.assert_allclose(ours, MASS[bins], atol=ROUNDING)


def test_with_a_bin_for_each_confidence_errors_are_those_of_uncertainty_calibration():
    # 15 bins part all eleven confidences.
    found = measured(CASES["ties"], bins=15)
    ours = [found[name].item() for name in ("ece", "reliability", "reliability_debiased")]
    theirs = (0.12075, 0.021525604319609152, 0.019447771905342394)
    np.testing.assert_allclose(ours, theirs, atol=ROUNDING)


def test_the_debiased_error_is_that_of_uncertainty_calibration():
    """normal_debiased_ce with 200,000 draws, of nearly calibrated answers, where it says most.

    Theirs divides the variance in a bin by n, ours by n − 1: with 2,500 trials in a bin that
    moves it by less than 1e-6. The mean of their draws is known to 5e-6.
    """
    found = measured(answers(20_000, chance=(0.02, 0.97)), bins=8)
    assert found["ece"].item() == pytest.approx(0.00844054064159998, abs=ROUNDING)
    assert found["ece_debiased"].item() == pytest.approx(0.006133228641158206, abs=2e-5)


# decomposition: reliability, resolution, uncertainty. Its intervals are closed below and ours
# above, and its bins of mass part equal confidences: of distinct confidences they are the same.
PARTS = {
    ("mass", 4): (0.018996417429158863, 0.02026875, 0.24999375),
    ("mass", 10): (0.020029210612961274, 0.021472916666666668, 0.24999375),
    ("width", 4): (0.01883751687412728, 0.02046886123746101, 0.24999375),
    ("width", 10): (0.01994929578219666, 0.021573756520514544, 0.24999375),
}


@pytest.mark.parametrize(("method", "bins"), PARTS)
def test_parts_of_the_brier_score_are_those_of_calikit(method, bins):
    found = calibration(CASES["distinct"], bins=bins, method=method).sel(cell="all")
    ours = [found[name].item() for name in ("reliability", "resolution", "uncertainty")]
    np.testing.assert_allclose(ours, PARTS[method, bins], atol=ROUNDING)
    assert found["brier"].item() == pytest.approx(0.24837064256030914, abs=ROUNDING)


# get_selective_stats: the area under the accuracy–coverage curve, and its Monte Carlo error. It
# takes equal confidences in the order they have; so where there are, the mean over 4,000 random
# orders, which ours is the expectation of.
SELECTIVE = {
    "distinct": (0.6297686073216151, 0.0),
    "ties": (0.6244680968538026, 5.0e-5),
    "hundredths": (0.6327403023577205, 1.18e-5),
    "nearly all right": (0.9845482742324566, 2.61e-5),
    "nearly all wrong": (0.05842413641734191, 4.97e-6),
}


@pytest.mark.parametrize("case", SELECTIVE)
def test_areas_of_coverage_are_those_of_uncertainty_calibration(case):
    area, error = SELECTIVE[case]
    close = pytest.approx(area, abs=4 * error + ROUNDING)
    assert 1 - measured(CASES[case])["aurc"].item() == close
    assert 1 - selective_prediction(CASES[case])["aurc"].item() == close


# Areas and shares written from their definitions, answer by answer; equal confidences in all orders
# of few trials.


def by_definition(right):
    """Areas of one order of answers, the most confident first."""
    right = np.asarray(right, dtype=float)
    n, m = len(right), np.arange(1, len(right) + 1)
    wrong = np.cumsum(1 - right)
    best = np.cumsum(1 - np.sort(right)[::-1])
    # Fadeeva et al. (2023): mean quality of what is kept, over all numbers of rejected answers.
    quality, oracle = np.mean(np.cumsum(right) / m), np.mean(1 - best / m)
    points = np.concatenate([[0], wrong]) / n
    return {
        "aurc": np.mean(wrong / m),
        "aurc_excess": np.mean(wrong / m) - np.mean(best / m),
        "augrc": np.trapezoid(points, dx=1 / n),
        "prr": (quality - right.mean()) / (oracle - right.mean()),
    }


def test_areas_of_distinct_confidences_are_those_of_their_definitions():
    trials = CASES["distinct"]
    right = trials.sort_values("confidence", ascending=False)["correct"]
    found = measured(trials)
    for name, expected in by_definition(right).items():
        assert found[name].item() == pytest.approx(expected, abs=1e-12), name


def test_areas_of_equal_confidences_are_means_over_all_their_orders():
    groups = [[1, 0], [1, 1, 0, 0], [0, 1]]
    orders = product(*(sorted(set(permutations(group))) for group in groups))
    every = pd.DataFrame([by_definition(np.concatenate(order)) for order in orders]).mean()
    confidence = np.repeat([0.9, 0.6, 0.2], [2, 4, 2])
    found = measured(pd.DataFrame({"confidence": confidence, "correct": np.concatenate(groups)}))
    for name, expected in every.items():
        assert found[name].item() == pytest.approx(expected, abs=1e-12), name


def test_rejection_where_rejected_answers_count_as_right_is_the_trapezoid_gamma():
    """Malinin & Gales (2021), Fig. 2: areas between curves of the error over rejected answers."""
    trials = CASES["hundredths"].drop_duplicates("confidence")
    ranked = trials.sort_values("confidence")["correct"].to_numpy()
    n = len(ranked)

    def area(right):
        left = np.concatenate([np.cumsum((1 - right)[::-1])[::-1], [0]]) / n
        return np.trapezoid(left, dx=1 / n)

    random = (1 - ranked.mean()) / 2
    ratio = (random - area(ranked)) / (random - area(np.sort(ranked)))
    assert ratio == pytest.approx(2 * measured(trials)["auroc2"].item() - 1, abs=1e-12)


def test_the_generalized_area_follows_from_the_area_of_the_roc_as_printed():
    """Traub et al. (2024): (1 − AUROC) acc (1 − acc) + (1 − acc)²/2."""
    trials = CASES["ties"]
    acc = trials["correct"].mean()
    expected = (1 - roc_auc_score(trials["correct"], trials["confidence"])) * acc * (1 - acc)
    assert measured(trials)["augrc"].item() == pytest.approx(expected + (1 - acc) ** 2 / 2)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tolerance", [0.05, 0.3, 0.6])
def test_no_larger_share_has_so_few_errors(case, tolerance):
    trials = CASES[case]
    kept = [trials[trials["confidence"] >= x] for x in trials["confidence"].unique()]
    fits = [one for one in kept if (~one["correct"]).mean() <= tolerance]
    widest = max(fits, key=len, default=trials[:0])
    curve = selective_prediction(trials, tolerance=tolerance).sel(cell="all")
    share = len(widest) / len(trials)
    assert curve["tolerated_coverage"].item() == pytest.approx(share, abs=ROUNDING)
    np.testing.assert_equal(curve["tolerated_threshold"].item(), widest["confidence"].min())
    exact = measured(trials, tolerance=tolerance)["tolerated_coverage"].item()
    assert exact == curve["tolerated_coverage"].item()
    # The limits of SciPy, for all 20 coverages together.
    shares, limits = [0.0], []
    for least in curve["confidence_threshold"].values:
        one = trials[trials["confidence"] >= least]
        test = binomtest(int((~one["correct"]).sum()), len(one), alternative="less")
        limits.append(test.proportion_ci(1 - 0.05 / 20, method="exact").high)
        shares += [len(one) / len(trials)] if limits[-1] <= tolerance else []
    np.testing.assert_allclose(curve["risk_upper"], limits, rtol=1e-9)
    assert curve["guaranteed_coverage"].item() == pytest.approx(max(shares), abs=ROUNDING)
    assert curve["guaranteed_coverage"] <= curve["tolerated_coverage"]


def test_no_guarantee_is_given_where_an_item_was_answered_several_times():
    rng = np.random.default_rng(1)
    rows = {"item": np.arange(200), "confidence": rng.random(200), "correct": rng.random(200) < 0.9}
    trials = pd.DataFrame(rows)
    # Models that answer the same items once each are no repeats.
    both = pd.concat([trials.assign(model=name) for name in "ab"])
    assert "risk_upper" in selective_prediction(both, by="model", tolerance=0.2)
    for again, by in ((both, ()), (pd.concat([both, both]), "model")):
        with pytest.raises(InputError, match=r"one answer to each item.*got several answers"):
            selective_prediction(again, by=by, tolerance=0.2)
        assert "aurc" in selective_prediction(again, by=by)
        binned = accuracy_by_confidence(again, by=by)
        assert "repeated-items" in [notice.code for notice in notices(binned)]


def test_the_guarantee_holds_as_often_as_it_says():
    """A share is answered whose true risk is above the tolerance in at most 5 % of samples."""
    rng, broken, used = np.random.default_rng(1), 0, 0
    for _ in range(150):
        p = rng.uniform(size=400)
        trials = pd.DataFrame({"confidence": p, "correct": rng.uniform(size=400) < 0.5 + p / 2})
        found = selective_prediction(trials, tolerance=0.15, coverages=[0.25, 0.5, 0.75, 1])
        least = found["guaranteed_threshold"].item()
        # Wrong among those with p ≥ t: the mean of (1 − p)/2, (1 − t)/4.
        used, broken = used + np.isfinite(least), broken + ((1 - least) / 4 > 0.15)
    # Four standard errors above 5 %.
    assert broken <= 150 * 0.05 + 4 * np.sqrt(150 * 0.05 * 0.95)
    assert used > 75


def test_all_right_all_wrong_and_one_confidence():
    def of(correct, confidence):
        trials = pd.DataFrame({"correct": correct, "confidence": confidence})
        return measured(trials, at_coverage=0.3, tolerance=0.1)

    right, wrong = (of([x] * 7, np.arange(7) / 7) for x in (1, 0))
    same = of([1, 1, 0, 1], [0.5] * 4)
    expected = {
        "aurc_excess": (0, 0, same["aurc"] - (1 / 4) / 4),
        "augrc": (0, 0.5, 0.125),
        "prr": (np.nan, np.nan, 0),
        "selective_accuracy": (1, 0, 0.75),
        "tolerated_coverage": (1, 0, 0),
    }
    for name, values in expected.items():
        found = [one[name].item() for one in (right, wrong, same)]
        np.testing.assert_allclose(found, values, atol=ROUNDING, err_msg=name)


def test_draws_and_intervals_have_them_too_and_say_what_they_are_of():
    trials = CASES["ties"].assign(item=np.arange(1200) // 2)
    shared = {"at_coverage": 0.5, "tolerance": 0.4}
    draws = resample_trials(trials, cluster="item", n=200, seed=1, **shared)
    found = resample_trials_interval(trials, draws=draws, **shared).sel(cell="all")
    for name in ("prr", "aurc_excess", "augrc", "selective_accuracy", "tolerated_coverage"):
        lower, estimate, upper = found[name].sel(summary=["lower", "estimate", "upper"]).values
        assert lower < estimate <= upper, name
    assert (found.attrs["at_coverage"], found.attrs["tolerance"]) == (0.5, 0.4)


@pytest.mark.parametrize("name", ["at_coverage", "tolerance"])
@pytest.mark.parametrize("value", [0, 1.5, "half"])
def test_shares_that_are_none_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name}: .*a share above 0 and up to 1.*got"):
        measure_trials(CASES["ties"], **{name: value})
