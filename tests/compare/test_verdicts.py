"""Words follow from where bounds lie, at the limits too."""

import numpy as np
import pytest

from hmetad.compare.verdicts import (
    answers,
    interval_words,
    nearby_intervals,
    share_words,
    unsettled_answers,
    with_withheld,
)

ROPE = (-0.1, 0.1)


def one(lower, upper, in_rope, **errors):
    """What is found of a single quantity, with Monte Carlo errors of 0 but those given."""
    settled = {"mcse_lower": 0.0, "mcse_upper": 0.0, "tail_lower": 100.0, "tail_upper": 100.0}
    settled |= {"in_rope_least": in_rope, "in_rope_most": in_rope}
    values = {"lower": lower, "upper": upper, "in_rope": in_rope} | settled | errors
    return {name: np.array([value]) for name, value in values.items()}


def flags(found):
    given = answers(found, ROPE, 0.0)
    return {name: flag.item() for name, flag in unsettled_answers(found, given, ROPE, 0.0).items()}


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        (-0.1, 0.1, "negligible"),
        (0.1, 0.2, "inconclusive"),
        (0.101, 0.2, "different"),
        (-0.2, -0.1, "inconclusive"),
        (-0.2, -0.101, "different"),
        (-0.2, 0.2, "inconclusive"),
        (-0.101, 0.1, "inconclusive"),
        (-0.1, 0.101, "inconclusive"),
    ],
)
def test_an_interval_that_ends_on_a_limit_touches_the_region(lower, upper, word):
    assert interval_words(np.array([lower]), np.array([upper]), ROPE).tolist() == [word]


def test_a_null_on_the_bound_is_not_excluded():
    for lower, upper, expected in ((0.0, 1.0, False), (-1.0, 0.0, False), (0.01, 1.0, True)):
        assert answers(one(lower, upper, 0.0), ROPE, 0.0)["statistical"].tolist() == [expected]


def test_shares_of_the_margin_itself_are_inconclusive():
    shares = np.array([0.024, 0.025, 0.5, 0.975, 0.976])
    expected = ["different", *["inconclusive"] * 3, "negligible"]
    assert share_words(shares).tolist() == expected


def test_each_answer_is_unsettled_by_the_bound_that_it_hangs_on():
    nothing = {"statistical": False, "verdict": False, "full_verdict": False}
    assert flags(one(0.3, 0.5, 0.0)) == nothing
    near_limit = one(0.12, 0.5, 0.0, mcse_lower=0.011)
    assert flags(near_limit) == nothing | {"verdict": True}
    assert flags(one(0.12, 0.5, 0.0, mcse_upper=0.011)) == nothing
    assert flags(one(-0.5, -0.12, 0.0, mcse_upper=0.011)) == nothing | {"verdict": True}
    assert flags(one(0.01, 0.5, 0.4, mcse_lower=0.006)) == nothing | {"statistical": True}
    assert flags(one(0.3, 0.5, 0.02, in_rope_most=0.03)) == nothing | {"full_verdict": True}
    assert flags(one(-0.05, 0.05, 0.98, in_rope_least=0.97)) == nothing | {"full_verdict": True}


def test_a_bound_with_few_draws_beyond_it_may_lie_anywhere_further_out():
    sure, unsure = one(0.3, 0.5, 0.0, tail_upper=4.9), one(0.3, 0.5, 0.0, tail_lower=4.9)
    # Further out on the far side is away from the region; on the near side it is across it.
    assert flags(sure) == dict.fromkeys(("statistical", "verdict", "full_verdict"), False)
    assert flags(unsure) == {"statistical": True, "verdict": True, "full_verdict": False}
    assert not any(flags(one(0.3, 0.5, 0.0, tail_lower=5.0)).values())


def test_withheld_answers_say_nothing_and_unsettled_ones_keep_the_others():
    given = answers(one(0.3, 0.5, 0.0), ROPE, 0.0)
    plain = {
        name: values.item() for name, values in with_withheld(given, np.array([False])).items()
    }
    assert plain == {"statistical": True, "verdict": "different", "full_verdict": "different"}
    none = {name: values.item() for name, values in with_withheld(given, np.array([True])).items()}
    assert none == {"statistical": False, "verdict": "unreliable", "full_verdict": "unreliable"}
    unsure = {"full_verdict": np.array([True])}
    part = with_withheld(given, np.array([False]), unsure)
    assert part["verdict"].item() == "different"
    assert part["full_verdict"].item() == "unreliable"


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_a_bound_with_five_draws_beyond_it_has_an_error_and_one_with_fewer_has_none(side):
    found = {"lower": 0.1, "upper": 0.9, "mcse_lower": 0.01, "mcse_upper": 0.01}
    found |= {"tail_lower": 10.0, "tail_upper": 10.0}
    for number, is_known in ((5.0, True), (4.9, False)):
        rows = {name: np.array([x]) for name, x in (found | {f"tail_{side}": number}).items()}
        assert np.isfinite(list(nearby_intervals(rows))).all() == is_known
