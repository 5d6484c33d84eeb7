"""Selective prediction against brute force over every order of ties, and cases made by hand."""

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from hmetad.counts.counting import count_correct
from hmetad.errors import InputError
from hmetad.measures.reliability import COVERAGES, selective_prediction
from hmetad.notice import notices

TOY = pd.DataFrame({"correct": [1, 1, 0, 0], "confidence": [0.9, 0.8, 0.8, 0.3]})
ROUNDING = 1e-12


def one(trials, **options):
    return selective_prediction(trials, **options).sel(cell="all")


def codes(result):
    return {notice.code for notice in notices(result)}


def sure(n=600, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return pd.DataFrame(
        {
            "correct": rng.random(n) < p,
            "confidence": p,
            "model": rng.choice(["A", "B"], n),
            "abstained": p < 0.3,
        }
    )


# --- the curve ------------------------------------------------------------------------------


def test_four_trials_by_hand():
    curve = one(TOY, coverages=[0.25, 0.5, 0.75, 1])
    # The two ties are half right: 1, 1.5, 2 and 2 right among 1, 2, 3 and 4.
    assert curve["selective_accuracy"].values == pytest.approx([1, 0.75, 2 / 3, 0.5])
    assert 1 - curve["aurc"].item() == pytest.approx((1 + 0.75 + 2 / 3 + 0.5) / 4)
    assert curve["confidence_threshold"].values.tolist() == [0.9, 0.8, 0.8, 0.3]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 2])), min_size=1, max_size=6))
def test_ties_are_averaged_over_every_order(pairs):
    n = len(pairs)
    expected = np.zeros(n)
    orders = [p for p in permutations(pairs) if all(a[1] >= b[1] for a, b in pairwise(p))]
    for order in orders:
        expected += np.cumsum([o for o, _ in order]) / np.arange(1, n + 1)
    expected /= len(orders)
    shares = np.arange(1, n + 1) / n
    curve = one(pd.DataFrame(pairs, columns=["correct", "confidence"]), coverages=shares)
    np.testing.assert_allclose(curve["selective_accuracy"], expected, atol=ROUNDING)
    assert 1 - curve["aurc"].item() == pytest.approx(expected.mean(), abs=ROUNDING)


def test_accuracy_above_a_threshold_is_scikit_learns():
    trials = sure()
    for cut in (0.9, 0.5, 0.2):
        kept = trials[trials["confidence"] >= cut]
        curve = one(trials, coverages=[len(kept) / len(trials)])
        theirs = accuracy_score(kept["correct"], np.ones(len(kept), dtype=bool))
        assert curve["selective_accuracy"].item() == pytest.approx(theirs, abs=ROUNDING)
        assert curve["confidence_threshold"].item() == kept["confidence"].min()


def test_full_coverage_has_the_overall_accuracy():
    trials = sure()
    curve = one(trials)
    assert curve["coverage"].values.tolist() == list(COVERAGES)
    assert curve["selective_accuracy"].values[-1] == pytest.approx(curve["accuracy"].item())
    assert curve["accuracy"].item() == pytest.approx(trials["correct"].mean())


def test_confidence_that_says_nothing_has_a_flat_curve():
    curve = one(sure().assign(confidence=0.7))
    accuracy = curve["accuracy"].item()
    np.testing.assert_allclose(curve["selective_accuracy"], accuracy, atol=ROUNDING)
    assert 1 - curve["aurc"].item() == pytest.approx(accuracy, abs=ROUNDING)


def test_perfect_confidence_has_the_least_aurc_and_its_reverse_the_greatest():
    right = np.repeat([1, 0], [30, 70])
    trials = pd.DataFrame({"correct": right, "confidence": right})
    best = (30 + sum(Fraction(30, m) for m in range(31, 101))) / 100
    least = sum(Fraction(m - 70, m) for m in range(71, 101)) / 100
    assert 1 - one(trials)["aurc"].item() == pytest.approx(float(best), abs=ROUNDING)
    turned = trials.assign(confidence=1 - right)
    assert 1 - one(turned)["aurc"].item() == pytest.approx(float(least), abs=ROUNDING)


def test_less_than_one_trial_has_the_accuracy_of_the_most_confident():
    curve = one(TOY, coverages=[0.01, 0.375])
    # 1.5 of 4 trials: the right one, and half of one that is right half of the time.
    assert curve["selective_accuracy"].values == pytest.approx([1, 1.25 / 1.5])


def test_a_cell_is_the_same_beside_others_and_alone():
    trials = sure()
    both = selective_prediction(trials, by="model", abstained="abstained").sel(cell="B")
    alone = one(trials[trials["model"] == "B"], abstained="abstained")
    xr.testing.assert_allclose(
        both.drop_vars(["cell", "model"]), alone.drop_vars("cell"), rtol=ROUNDING
    )


def test_only_the_order_of_confidence_counts():
    trials = sure()
    ours = selective_prediction(trials)["aurc"]
    theirs = selective_prediction(trials.assign(confidence=100 * trials["confidence"] - 7))
    xr.testing.assert_equal(ours, theirs["aurc"])


# --- abstaining -----------------------------------------------------------------------------


def abstaining(A, B, C, D):
    """Trials with so many of each outcome."""
    return pd.DataFrame(
        {
            "correct": np.repeat([1, 1, 0, 0], [A, B, C, D]),
            "abstained": np.repeat([False, True, False, True], [A, B, C, D]),
            "confidence": 0.5,
        }
    )


def test_abstention_by_hand():
    found = one(abstaining(50, 10, 15, 25), abstained="abstained")
    assert found["abstention_trials"].values.tolist() == [50, 10, 15, 25]
    assert found["reliable_accuracy"].item() == pytest.approx(50 / 65)
    assert found["abstain_accuracy"].item() == pytest.approx(75 / 100)
    assert found["effective_reliability"].item() == pytest.approx(35 / 100)


@given(st.tuples(*[st.integers(0, 9)] * 4).filter(any))
def test_abstention_is_counted_as_defined(times):
    A, _, C, D = times
    N = sum(times)
    found = one(abstaining(*times), abstained="abstained")
    assert found["abstention_trials"].values.tolist() == list(times)
    assert found["abstain_accuracy"].item() == pytest.approx((A + D) / N)
    assert found["effective_reliability"].item() == pytest.approx((A - C) / N)
    reliable = found["reliable_accuracy"].item()
    assert np.isnan(reliable) if A + C == 0 else reliable == pytest.approx(A / (A + C))


def test_who_never_abstains_has_its_accuracy_as_reliable_accuracy():
    found = one(sure().assign(abstained=0), abstained="abstained")
    for name in ("reliable_accuracy", "abstain_accuracy"):
        assert found[name].item() == pytest.approx(found["accuracy"].item())


def test_who_answers_nothing_has_no_reliable_accuracy_and_is_noticed():
    found = selective_prediction(sure().assign(abstained=True), by="model", abstained="abstained")
    assert found["reliable_accuracy"].isnull().all()
    silent = next(n for n in notices(found) if n.code == "nothing-answered")
    assert silent.cells == ("A", "B")


def test_abstained_trials_without_an_answer_are_left_out_with_a_warning():
    trials = abstaining(50, 10, 15, 25)
    unknown = trials["correct"].astype(float).where(trials.index < 90)
    found = selective_prediction(trials.assign(correct=unknown), abstained="abstained")
    assert found["trials"].item() == 90
    message = next(n.message for n in notices(found) if n.code == "abstained-left-out")
    assert message.startswith("10 of 35 abstentions")
    assert "rows-dropped" in codes(found)


def test_without_the_column_there_is_nothing_of_abstaining():
    found = selective_prediction(sure())
    assert "abstention" not in found.dims
    assert "reliable_accuracy" not in found


@pytest.mark.parametrize("values", [["yes", "no", "no", "no"], [0, 1, 2, 0], [0.5, 0, 1, 0]])
def test_what_says_not_whether_it_was_answered_is_refused(values):
    with pytest.raises(InputError, match=r"abstained column 'abstained': got .*True or False"):
        selective_prediction(TOY.assign(abstained=values), abstained="abstained")


# --- arguments and labels -------------------------------------------------------------------


@pytest.mark.parametrize(
    "coverages", [[], [0, 0.5], [0.5, 0.5], [0.9, 0.2], [np.nan], "half", 0.5, [[0.5]]]
)
def test_coverages_that_are_no_rising_shares_are_refused(coverages):
    with pytest.raises(InputError, match=r"coverages: got .*rising numbers above 0 and up to 1"):
        selective_prediction(TOY, coverages=coverages)


def test_coverages_in_percent_are_told_to_be_divided():
    with pytest.raises(InputError, match="Divide percentages by 100"):
        selective_prediction(TOY, coverages=[50, 100])


def test_a_table_of_ratings_is_refused():
    with pytest.raises(InputError, match=r"type-2 table.*auroc2"):
        selective_prediction(count_correct(TOY.assign(confidence=1)))


def test_variables_are_described_and_the_rule_for_ties_recorded():
    found = selective_prediction(sure(), by="model", abstained="abstained")
    assert "random order" in found.attrs["ties"]
    assert found["selective_accuracy"].dims == ("cell", "coverage")
    assert all(set(x.attrs) == {"long_name", "units", "source"} for x in found.data_vars.values())


def test_result_survives_a_file(tmp_path):
    found = selective_prediction(sure(), by="model", abstained="abstained")
    found.to_netcdf(tmp_path / "selection.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "selection.nc", engine="h5netcdf")
    xr.testing.assert_equal(read, found)
    assert notices(read) == notices(found)
