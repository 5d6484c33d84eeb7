"""How a scale of confidence is used, and measures by its number of ratings."""

from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score

from hmetad import (
    InputError,
    bin_confidence,
    count_correct,
    count_trials,
    fit_mle,
    notices,
    simulate_trials,
)
from hmetad.measures import scale_report
from hmetad.select import measure_scales

NAMES = ("levels", "confidence_entropy", "share_top", "share_tens", "share_fives", "heaping")
RNG = np.random.default_rng(1)
PERCENT = pd.DataFrame(
    {
        "model": np.repeat(["a", "b"], 300),
        "confidence": np.where(
            RNG.uniform(size=600) < 0.7, 5 * RNG.integers(0, 21, 600), RNG.integers(0, 101, 600)
        ),
    }
)


def codes(result):
    return [notice.code for notice in notices(result)]


@pytest.mark.parametrize("scale", [1, 100])
def test_shares_and_entropy_are_those_of_single_trials(scale):
    trials = PERCENT.assign(confidence=PERCENT["confidence"] * scale / 100)
    found = scale_report(trials, by="model")
    assert found.attrs["top"] == scale
    for model in "ab":
        whole = PERCENT.loc[PERCENT["model"] == model, "confidence"].tolist()
        often, n = Counter(whole), len(whole)
        fives = sum(x % 5 == 0 for x in whole) / n
        expected = {
            "levels": len(often),
            "confidence_entropy": entropy([*often.values()], base=2),
            "share_top": often[100] / n,
            "share_tens": sum(x % 10 == 0 for x in whole) / n,
            "share_fives": fives,
            "heaping": 5 * fives,
        }
        assert {*expected} == {*NAMES}
        for name, value in expected.items():
            assert found[name].sel(cell=model).item() == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize(("values", "top"), [([1, 2, 3, 6, 6, None], 6), ([-1.5, 0.5, 2, 9, 9], 9)])
def test_ratings_and_logits_have_no_round_numbers(values, top):
    found = scale_report(pd.DataFrame({"confidence": values}))
    assert (found["levels"].item(), found.attrs["top"], found["trials"].item()) == (4, top, 5)
    assert found["share_top"].item() == pytest.approx(0.4)
    assert np.isnan([found[x].item() for x in ("share_tens", "share_fives", "heaping")]).all()
    assert "no-round-numbers" in codes(found)
    assert ("rows-dropped" in codes(found)) == (None in values)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, np.inf], {}, "confidence column 'confidence': .*got inf"),
        (["sure", "unsure"], {}, "confidence column 'confidence'"),
        ([None, None], {}, "trials|confidence"),
        ([0.5, 0.2], {"by": "model"}, "model"),
        ([0.5, 0.2], {"by": "confidence"}, "confidence.* 2 times"),
    ],
)
def test_what_is_no_scale_is_refused(values, options, message):
    with pytest.raises(InputError, match=message):
        scale_report(pd.DataFrame({"confidence": values}), **options)


@pytest.fixture(scope="module")
def trials():
    table = simulate_trials(1.5, m_ratio=0.8, trials=3000, ratings=12, seed=1)
    # Within a rating the order is by chance.
    table["confidence"] += np.random.default_rng(1).uniform(size=len(table))
    return table.assign(correct=(table["stimulus"] == table["response"]).astype(int))


def test_measures_of_each_number_of_ratings_are_those_of_ratings_made_beforehand(trials):
    found = measure_scales(partial(count_trials, trials), [2, 3, 5]).sel(cell="all")
    assert found["scale"].values.tolist() == [2, 3, 5]
    for place, ratings in enumerate((2, 3, 5)):
        rated = trials.assign(confidence=bin_confidence(trials["confidence"], ratings))
        area = roc_auc_score(rated["correct"], rated["confidence"])
        assert found["auroc2"][place].item() == pytest.approx(area, abs=1e-12)
        own = fit_mle(count_trials(rated))
        for name in ("m_ratio", "m_ratio_se"):
            assert found[name][place].item() == pytest.approx(own[name].item(), rel=1e-9)
    # The truth is .8, whatever the number of ratings.
    assert (abs(found["m_ratio"] - 0.8) < 4 * found["m_ratio_se"]).all()


def test_right_and_wrong_alone_have_no_m_and_equal_confidences_leave_ratings_unused(trials):
    flat = trials.assign(confidence=np.where(trials["confidence"] > 6, 0.9, 0.5))
    with pytest.warns(UserWarning, match="2 of 4 ratings remain"):
        found = measure_scales(partial(count_correct, flat), [2, 4])
    assert "m_ratio" not in found
    assert found["ratings_used"].values.tolist() == [[2, 2]]
    areas = found["auroc2"].values[0]
    assert areas[0] == areas[1]
