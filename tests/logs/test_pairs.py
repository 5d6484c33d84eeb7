"""The right option meets each wrong one, and their table knows that they are not independent."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from hmetad import bin_confidence, measure, rank
from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.counting import count_trials
from hmetad.counts.resample import resample
from hmetad.logs import frame_notices
from hmetad.logs.pairs import count_pairs, option_pairs
from hmetad.measures.sdt import sdt
from hmetad.mle.meta_d import fit_mle
from hmetad.report import measures_report

DELTA = 1.0


def questions(n=500, options=4, seed=1, noise="normal", **columns):
    """Options with evidence; the right one has DELTA more. Probabilities are their softmax."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if noise == "normal" else lambda size: rng.standard_t(2, size)
    evidence = draw((n, options))
    right = rng.integers(options, size=n)
    evidence[np.arange(n), right] += DELTA
    p = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    base = {"item": np.arange(n), "target": right, "option_probabilities": p.tolist()}
    return pd.DataFrame(base | columns)


def one(p, target=0, **options):
    """Pairs of a single question."""
    frame = pd.DataFrame({"item": ["q"], "target": [target], "option_probabilities": [p]})
    return option_pairs(frame, **options)


def codes(counts):
    return [notice.code for notice in notices(counts)]


# --- the pairs ------------------------------------------------------------------------------


def test_the_right_option_meets_each_wrong_one_in_both_orders():
    pairs = one([0.1, 0.4, 0.2, 0.3], target=2)
    columns = ["item", "wrong_option", "stimulus", "response", "confidence"]
    assert pairs.columns.tolist() == columns
    assert pairs["wrong_option"].tolist() == [0, 0, 1, 1, 3, 3]
    assert pairs["stimulus"].tolist() == ["A", "B"] * 3
    is_right = (pairs["stimulus"] == pairs["response"]).tolist()
    assert is_right == [True, True, False, False, False, False]
    # The larger of the two over their sum: .2 with .1, .4 and .3.
    np.testing.assert_allclose(pairs["confidence"][::2], [2 / 3, 2 / 3, 0.6], rtol=1e-12)
    np.testing.assert_array_equal(pairs["confidence"][::2], pairs["confidence"][1::2])
    listed = one([0.1, 0.4, 0.2, 0.3], target=2, orders="listed")
    assert listed["stimulus"].tolist() == ["B", "B", "A"]
    assert listed["response"].tolist() == ["B", "A", "B"]


def test_of_tied_pairs_half_are_right_and_no_place_is_favoured():
    pairs = one([0.0, 0.0, 1.0, 0.0], target=0)
    assert pairs["wrong_option"].tolist() == [1, 1, 2, 2, 3, 3]
    assert pairs["confidence"].tolist() == [0.5, 0.5, 1, 1, 0.5, 0.5]
    is_right = (pairs["stimulus"] == pairs["response"]).to_numpy().reshape(-1, 2)
    assert is_right.sum(axis=1).tolist() == [1, 0, 1]
    said = [notice for notice in frame_notices(pairs) if notice.code == "pairs-tied"]
    assert [(one.severity, "2 of 3 pairs" in one.message) for one in said] == [("warning", True)]
    # In each group for itself.
    frame = questions(4, model=["x", "x", "y", "y"])
    frame = frame.assign(option_probabilities=[[0.5, 0.5]] * 4, target=0)
    by_model = option_pairs(frame, by="model").groupby("model")["response"]
    assert by_model.agg(lambda said: (said == "B").mean()).tolist() == [0.5, 0.5]


def test_ties_in_the_order_of_the_question_favour_neither_option_nor_place():
    frame = questions(400).assign(option_probabilities=[[0.0, 0.0, 1.0, 0.0]] * 400)
    frame["target"] = [0, 1] * 200
    pairs = option_pairs(frame, orders="listed").query("confidence == 0.5")
    is_right = pairs["stimulus"] == pairs["response"]
    for place in "AB":
        own = is_right[pairs["stimulus"] == place]
        assert len(own)
        assert abs(own.sum() - len(own) / 2) <= 0.5


def test_where_probabilities_were_rounded_to_0_dprime_is_that_of_who_guesses_at_ties():
    # Sure answers: softmax of evidence times six, logged with three digits.
    frame = questions(5_000)
    p = np.array(frame["option_probabilities"].tolist()) ** 6
    p = (p / p.sum(axis=1, keepdims=True)).round(3)
    right = np.take_along_axis(p, frame["target"].to_numpy()[:, None], axis=1)
    is_wrong = np.arange(4) != frame["target"].to_numpy()[:, None]
    assert ((p == 0) & (right == 0) & is_wrong).sum() > 500
    share = ((right > p) + (right == p) / 2)[is_wrong].mean()
    found = sdt(count_pairs(option_pairs(frame.assign(option_probabilities=list(p)), ratings=2)))
    assert found["dprime"].item() == pytest.approx(2 * norm.ppf(share), abs=1e-9)


def test_both_orders_favour_no_place_and_listed_order_keeps_a_bias():
    biased = questions(2000)
    tilt = np.array([4, 1, 1, 1])
    biased["option_probabilities"] = [
        list(np.array(p) * tilt) for p in biased["option_probabilities"]
    ]
    both = sdt(count_pairs(option_pairs(biased, ratings=4)))
    listed = sdt(count_pairs(option_pairs(biased, ratings=4, orders="listed")))
    assert both["c"].item() == pytest.approx(0, abs=1e-12)
    # The bias is for A.
    assert listed["c"].item() > 3 * listed["c_se"].item()


@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.floats(0.01, 100), st.integers(0, 5)
)
def test_probabilities_need_not_sum_to_one(p, factor, place):
    target = place % len(p)
    plain, scaled = one(p, target), one([factor * x for x in p], target)
    np.testing.assert_allclose(plain["confidence"], scaled["confidence"], rtol=1e-12)
    assert len(plain) == 2 * (len(p) - 1)
    assert plain["confidence"].between(0.5, 1).all()


# --- what comes in --------------------------------------------------------------------------


ROWS = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
LISTS = pd.DataFrame({"item": ["q", "r"], "target": [1, 2], "option_probabilities": ROWS})


@pytest.mark.parametrize(
    "targets",
    [["p_B", "p_C"], ["B", "C"], ["b", " c "], [1, 2], ["1", "2"], [1.0, 2.0]],
)
def test_columns_lists_and_their_text_give_the_same_pairs_under_any_name_of_the_target(targets):
    expected = option_pairs(LISTS)
    wide = pd.DataFrame(ROWS, columns=["p_A", "p_B", "p_C"]).assign(item=["q", "r"], target=targets)
    before = wide.copy(deep=True)
    found = option_pairs(wide, probabilities=["p_A", "p_B", "p_C"])
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(wide, before)
    if "p_B" not in targets:
        text = LISTS.assign(option_probabilities=[json.dumps(row) for row in ROWS], target=targets)
        pd.testing.assert_frame_equal(option_pairs(text), expected)


def test_questions_may_have_different_numbers_of_options():
    ragged = [[0.6, 0.4], [0.5, 0.3, 0.2]]
    lists = pd.DataFrame({"item": [1, 2], "target": 0, "option_probabilities": ragged})
    pairs = option_pairs(lists)
    assert pairs["item"].tolist() == [1, 1, 2, 2, 2, 2]
    filled = [[0.6, 0.4, np.nan], ragged[1]]
    wide = pd.DataFrame(filled, columns=["a", "b", "c"]).assign(item=[1, 2], target="a")
    pd.testing.assert_frame_equal(option_pairs(wide, probabilities=["a", "b", "c"]), pairs)


def test_names_of_wide_columns_come_before_numbers_where_all_targets_are_such():
    wide = pd.DataFrame({"o1": [0.9, 0.9], "o2": [0.1, 0.1], "item": [1, 2]})
    by_name = option_pairs(wide.assign(target=[1, 2]), probabilities=["o1", "o2"])
    assert (by_name["stimulus"] == by_name["response"]).tolist() == [True, True, False, False]
    by_number = option_pairs(wide.assign(target=[0, 1]), probabilities=["o1", "o2"])
    pd.testing.assert_frame_equal(by_name, by_number)
    yes_no = pd.DataFrame({"yes": [0.9], "no": [0.1], "item": [1], "target": ["no"]})
    wrong = option_pairs(yes_no, probabilities=["yes", "no"])
    assert (wrong["stimulus"] != wrong["response"]).all()


def test_columns_are_kept_and_renamed_and_ratings_are_quantiles_of_all_pairs():
    frame = questions(300, llm=list("xyz") * 100, level=2.5)
    pairs = option_pairs(frame, by={"model": "llm", "level": "level"})
    assert pairs.columns.tolist()[:3] == ["model", "level", "item"]
    assert pairs["model"].tolist()[:18] == np.repeat(list("xyz"), 6).tolist()
    rated = option_pairs(frame, ratings=4)
    assert rated["confidence"].tolist() == bin_confidence(pairs["confidence"], 4).tolist()
    assert option_pairs(frame, item=None)["item"].tolist() == np.repeat(range(300), 6).tolist()


def test_items_of_the_same_name_in_two_sets_are_counted_apart_in_pairs_and_in_their_file(tmp_path):
    frame = questions(6, set=list("aaabbb"), model=list("xyxyxy")).assign(item=[0, 1, 2] * 2)
    pairs = option_pairs(frame, by="model", keep="set", ratings=4)
    assert pairs.columns.tolist()[:3] == ["model", "set", "item"]
    assert pairs["set"].tolist() == ["a"] * 18 + ["b"] * 18
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    for counts in (count_pairs(pairs), count_trials(tmp_path / "pairs.csv")):
        (said,) = (one for one in notices(counts) if one.code == "paired-options")
        assert said.message.startswith("36 pairs of 6 items")


def test_rows_without_probabilities_target_or_second_option_are_left_out_and_counted():
    frame = questions(7).astype({"target": object})
    rows = [None, np.nan, [0.5, 0.5], [0.7], [0.0, 0.0, 1.0], [0.6, 0.4], []]
    frame["option_probabilities"] = rows
    frame["target"] = ["Paris", "Rome", None, 0, 0, 0, 0]
    pairs = option_pairs(frame, ratings=2)
    assert pairs["item"].tolist() == [4, 4, 4, 4, 5, 5]
    counts = count_pairs(pairs)
    said = {notice.code: notice.message for notice in notices(counts)}
    assert said["rows-dropped"].startswith("5 of 7 rows left out")
    assert said["pairs-tied"].startswith("In 1 of 3 pairs")


LISTED = "allowed is a list of numbers"
QUESTION = {"item": ["q"], "target": [0], "option_probabilities": [[0.3, 0.7]]}


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"option_probabilities": [[-0.1, -2.0]]}, {}, r"got -0\.1, .*by numpy\.exp"),
        ({"option_probabilities": [[0.1, np.inf]]}, {}, "got inf, allowed is finite"),
        *(({"option_probabilities": [value]}, {}, LISTED)
          for value in ("yes", 0.4, '{"A": 1}', ["a", "b"])),
        ({"option_probabilities": [None]}, {}, "no probability in any row"),
        *(({"option_probabilities": [value]}, {}, "no row with a right and a wrong option")
          for value in ([0.0, 0.0], [0.3])),
        ({"target": [2]}, {}, "target column 'target': got 2, which has no probability in row 0"),
        ({"target": ["C"]}, {}, "'C', which has no probability in row 0, allowed is one of its 2"),
        ({"target": ["-1"]}, {}, "target: got '-1', allowed is the number of an option from 0"),
        ({"target": ["Paris"]}, {}, "target: got 'Paris'"),
        ({"target": [0.5]}, {}, r"target: got '0\.5'"),
        ({}, {"orders": "one"}, "orders: got 'one', allowed is 'both' or 'listed'"),
        ({}, {"ratings": 1}, "ratings: got 1"),
        ({}, {"ratings": True}, "ratings: got True"),
        ({}, {"target": "targets"}, "target: got 'targets'.*Did you mean 'target'"),
        ({}, {"item": "id"}, "item: got 'id'"),
        ({}, {"probabilities": ["target"]}, "a column of lists, or two or more columns"),
        ({}, {"by": "item"}, "2 times"),
        ({}, {"by": "item", "item": None}, r"by: got 'item'.*The item is kept in any case"),
        ({}, {"by": "dprime"}, "by: got 'dprime'"),
        *(({"response": ["a"]}, {"keep": name}, f"keep.*: got '{name}'")
          for name in ("set", "item", "response")),
    ],
)  # fmt: skip
def test_what_is_no_question_and_wrong_arguments_are_refused(change, arguments, message):
    with pytest.raises(InputError, match=message):
        option_pairs(pd.DataFrame(QUESTION).assign(**change), **arguments)


# --- the table ------------------------------------------------------------------------------


def test_the_table_is_that_of_the_trials_with_what_they_share():
    pairs = option_pairs(questions(200, model=list("xy") * 100), by="model", ratings=4)
    counts, plain = count_pairs(pairs, by="model", ratings=4), count_trials(pairs, by="model")
    np.testing.assert_array_equal(counts, plain)
    # Only what concerns pairs is said, and nothing against it.
    assert "mixed-items" in codes(plain)
    assert codes(counts) == ["paired-options", "confidence-of-the-choice"]
    assert codes(count_pairs(pairs, by=["model", "item"])) == codes(counts)
    shared = notices(counts)[-2]
    assert (shared.severity, shared.cells) == ("warning", ())
    assert shared.message.startswith("1,200 pairs of 200 items, in the whole table")
    assert json.loads(counts.attrs["labels"]) == ["A", "B"]
    with pytest.raises(InputError, match="pairs: got 'item', allowed is a column of the trials"):
        count_pairs(pairs.drop(columns="item"))


def test_pairs_have_no_headline_and_no_ranks_by_m():
    frames = [questions(200, seed=k, model=name) for k, name in enumerate("xy")]
    pairs = option_pairs(pd.concat(frames), by="model", ratings=4)
    statistic = partial(measure, meta_d=True, errors=False)
    counts, by_item = count_pairs(pairs, by="model"), count_pairs(pairs, by=["model", "item"])
    draws = resample(by_item, statistic, n=50, cluster="item", seed=1)
    for result in (sdt(counts), draws):
        assert "paired-options" in codes(result)
    page = measures_report(counts, statistic(counts), draws=draws)
    assert "ranks-m" not in [getattr(block, "name", "") for block in page.blocks]
    first = next(block for block in page.blocks if getattr(block, "name", "") == "answer")
    assert "M-ratio" not in [row[1] for row in first.rows]
    assert "depends on where their confidence is cut" in page.markdown()
    ranks = rank(draws, var="m_ratio", over="model")
    assert ranks["verdict"].values.tolist() == ["unreliable"] * 2
    assert ranks["withheld"].values.tolist() == ["cuts-of-pairs"] * 2
    assert ranks["p_best"].isnull().all()
    assert rank(draws, var="auroc2", over="model")["withheld"].values.tolist() == [""] * 2


# --- known truth ----------------------------------------------------------------------------


def test_items_of_known_evidence_give_their_two_alternative_truth():
    # The difference of two options is N(±DELTA, 2): d′ = 2·DELTA/√2, no bias, and confidence, which
    # rises with its size, is that of an ideal observer.
    pairs = option_pairs(questions(40_000), ratings=4)
    counts = count_pairs(pairs)
    fitted = fit_mle(counts)
    by_item = count_pairs(pairs.assign(item=pairs["item"] // 100), by="item")
    spread = resample(by_item, fit_mle, n=100, cluster="item", seed=1).std("draw")
    dprime, m_ratio = (fitted[name].item() for name in ("dprime", "m_ratio"))
    assert dprime == pytest.approx(np.sqrt(2) * DELTA, abs=4 * spread["dprime"].item())
    assert m_ratio == pytest.approx(1, abs=4 * spread["m_ratio"].item())
    assert spread["m_ratio"].item() < 0.02


def test_m_ratio_departs_from_one_by_the_shape_of_the_evidence_alone():
    heavy = count_pairs(option_pairs(questions(40_000, noise="heavy"), ratings=4))
    fitted = fit_mle(heavy)
    # As little is lost between choice and confidence as with normal evidence: nothing.
    assert abs(fitted["m_ratio"].item() - 1) > 10 * fitted["m_ratio_se"].item()


@pytest.mark.integration
def test_the_bootstrap_of_items_is_as_wide_as_samples_of_items_are_and_that_of_pairs_too_narrow():
    spread = []
    for seed in range(200):
        counts = count_pairs(option_pairs(questions(150, seed=seed), ratings=4))
        spread.append(sdt(counts)["dprime"].item())
    truth = np.std(spread)
    pairs = option_pairs(questions(150, seed=1000), ratings=4)
    by_item = resample(count_pairs(pairs, by="item"), sdt, n=1000, cluster="item", seed=1)
    by_pair = resample(count_pairs(pairs), sdt, n=1000, seed=1)
    widths = [draws["dprime"].std().item() for draws in (by_item, by_pair)]
    # An SD from 200 samples is off by 5 %, one from a single data set by about 7 %.
    assert widths[0] == pytest.approx(truth, rel=0.25)
    # Two orders alone make it narrower by √2.
    assert widths[1] < truth / np.sqrt(2)
    assert widths[1] < widths[0] / np.sqrt(2)
