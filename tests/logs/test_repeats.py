"""How often answers agree is confidence, with the number of answers that it rests on."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from hmetad.base.errors import InputError
from hmetad.counts.noticed import frame_notices
from hmetad.logs.repeats import agreement
from hmetad.logs.samples import read_log

LOGS = Path(__file__).parent / "data"


def asked(*answers, target="4", **columns):
    """Trials of one item after the other, each with several answers."""
    rows = [
        {"item": f"q{i}", "answer": answer, "correct": answer == target, "target": target}
        for i, given in enumerate(answers)
        for answer in given
    ]
    return pd.DataFrame(rows).assign(**columns)


def test_the_share_of_the_modal_answer_is_confidence():
    trials = agreement(asked(["4", "5", "4", "4"], ["5", "5"], ["5", "4", "6"]))
    assert trials["item"].tolist() == ["q0", "q1", "q2"]
    assert trials["answer"].tolist() == ["4", "5", "5"]
    assert trials["correct"].tolist() == [True, False, False]
    np.testing.assert_allclose(trials["confidence"], [3 / 4, 1, 1 / 3])
    assert trials["samples"].tolist() == [4, 2, 3]
    assert trials["target"].tolist() == ["4"] * 3
    (notice,) = frame_notices(trials)
    assert notice.code == "tied-answers"
    assert notice.message.startswith("In 1 of 3 items")
    # The first answer is judged by the others.
    graded = agreement(asked(["4", "5", "4", "4"], ["5", "4", "4"]), of="graded")
    assert graded[["answer", "correct", "samples"]].values.tolist() == [
        ["4", True, 3],
        ["5", False, 2],
    ]
    np.testing.assert_allclose(graded["confidence"], [2 / 3, 0])


@pytest.mark.parametrize(
    ("answers", "target", "judged", "share"),
    [([" Paris.", "paris", "'PARIS'", "Lyon"], " Paris.", " Paris.", 0.75), ([2, 3], 2, 2, 0.5)],
)
def test_answers_are_the_same_whatever_their_case_and_what_is_around_them(
    answers, target, judged, share
):
    agreed = agreement(asked(answers, target=target))
    assert agreed["answer"].tolist() == [judged]
    assert agreed["confidence"].tolist() == [share]


def test_same_answers_with_other_grades_leave_correctness_open():
    agreed = agreement(asked(["4", "4", "4"]).assign(correct=[True, False, True]))
    assert agreed["correct"].isna().all()
    assert agreed.attrs["rejected"] == {"correct: the modal answer was judged differently": 1}


def test_the_share_of_the_other_answers_is_unbiased_and_the_modal_one_too_high():
    drawn = np.random.default_rng(1).choice(["a", "b", "c"], size=(4000, 5), p=[0.5, 0.3, 0.2])
    trials = asked(*drawn.tolist(), target="a")
    share = {of: agreement(trials, of=of).groupby("answer")["confidence"].mean() for of in
             ("graded", "modal")}  # fmt: skip
    # Standard errors of these means are below 0.01.
    np.testing.assert_allclose(share["graded"], [0.5, 0.3, 0.2], atol=0.03)
    assert (share["modal"] > [0.55, 0.35, 0.25]).all()


@pytest.mark.parametrize(("same", "samples"), [(4, 4), (3, 4), (1, 2), (20, 30)])
def test_the_standard_error_is_that_of_the_posterior_of_a_share(same, samples):
    trials = agreement(asked(["4"] * same + [str(9 + i) for i in range(samples - same)]))
    expected = beta(same + 1, samples - same + 1).std()
    np.testing.assert_allclose(trials["confidence_se"], expected, rtol=1e-12)
    assert expected > 0


def test_lists_of_answers_have_the_first_one_graded():
    lists = [["4", "4", None, "5"], ["5", "4", "4"], None]
    trials = pd.DataFrame({"item": [1, 2, 3], "correct": [True, False, True], "answers": lists})
    graded = agreement(trials, of="graded")
    assert graded["correct"].tolist()[:2] == [True, False]
    np.testing.assert_allclose(graded["confidence"], [0.5, 0, math.nan])
    assert graded.attrs["rejected"] == {
        "no answer": 2,
        "confidence: fewer than two answers to an item": 1,
    }
    modal = agreement(trials)
    assert modal["answer"].tolist()[:2] == ["4", "4"]
    assert modal["correct"].isna().tolist()[:2] == [False, True]
    assert modal.attrs["rejected"]["correct: the modal answer was not graded"] == 1
    written = trials.assign(answers=['["4", "4", null, "5"]', '["5", "4", "4"]', None])
    pd.testing.assert_frame_equal(agreement(written), modal)


def voted(**columns):
    """Lists of answers, of which the vote has the grade."""
    lists = [["1", "0", "0", "1", "0"], ["3", "3", "4"], ["6", "5", "6"]]
    chosen = {"item": [1, 2, 3], "chosen": ["0", "3", "6"], "correct": [True, False, True]}
    return pd.DataFrame(chosen | {"answers": lists} | columns)


@pytest.mark.parametrize("of", ["graded", "modal"])
def test_the_grade_of_a_vote_belongs_to_the_answer_that_won(of):
    agreed = agreement(voted(), of=of)
    assert agreed["answer"].tolist() == ["0", "3", "6"]
    assert agreed["correct"].tolist() == [True, False, True]
    np.testing.assert_allclose(agreed["confidence"], [3 / 5, 2 / 3, 2 / 3])
    assert agreed["samples"].tolist() == [5, 3, 3]


def test_a_filter_that_is_named_a_vote_grades_none_of_the_texts_without_a_pattern():
    whole = voted(answers=[["It is 1", "It is 0", "It is 0"]] * 3)
    agreed = agreement(whole.assign(filter="maj@3"), of="graded")
    assert agreed["correct"].isna().all()
    assert agreed.attrs["rejected"] == {"correct: no response is the graded answer": 3}
    # Other filters keep an answer of the first response, which has the grade then.
    first = agreement(whole.assign(filter="strict-match"), of="graded")
    assert first["correct"].tolist() == [True, False, True]


@pytest.mark.parametrize("of", ["graded", "modal"])
def test_answers_that_were_graded_together_have_no_grade_of_their_own(of):
    agreed = agreement(voted(chosen=[None, "3", None]), of=of)
    assert agreed["correct"].isna().tolist() == [True, False, True]
    np.testing.assert_allclose(agreed["confidence"][1], 1 / 2 if of == "graded" else 2 / 3)


def test_repeats_of_lm_eval_agree():
    options = {"answer_filter": "answer", "answer_pattern": 'answer": "([a-z ]+)'}
    trials = read_log("lm-eval", LOGS / "lm_eval" / "house__fixed", **options)
    agreed = agreement(trials, of="graded")
    assert agreed["samples"].tolist() == [1, 1, 1, 1, 1, 0]
    assert agreed["confidence"].tolist()[:5] == [1] * 5
    assert agreed["correct"].tolist() == trials["correct"].tolist()


@pytest.mark.parametrize(
    ("trials", "options", "message"),
    [
        (asked(["4", "4"]), {"of": "mean"}, "of: .*got 'mean'"),
        (asked(["4", "4"]), {"answer": "said"}, "answer: .*got 'said'"),
        (asked(["4", "4"]), {"item": "question"}, "item: .*got 'question'"),
        (asked(["4", "4"]), {"by": "correct"}, "by: .*got 'correct'"),
        (asked(["4", "4"]), {"by": "item"}, "'item' 2 times"),
        (asked(["4"], ["5"]), {}, "at most one answer to each of 2 items"),
        (pd.DataFrame({"item": [1]}), {}, "answer: .*got none, for columns 'item'"),
        *(
            (asked(["4", "4", "5"], **{name: values}), {}, f"'{name}' .in 1 items")
            for name, values in [("file", list("aba")), ("temperature", [0.5, 0.7, 0.5])]
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(trials, options, message):
    with pytest.raises(InputError, match=message):
        agreement(trials, **options)


def test_columns_of_the_question_are_kept_and_those_of_an_answer_may_differ():
    own = {"run": [1, 2, 1], "epoch": [1, 1, 2], "seed": [3, 4, 5], "reasoning": list("abc")}
    own |= {"log": "a.eval", "id": [1, 2, 3]}
    agreed = agreement(asked(["4", "4", "5"], **own, confidence=[0.1, 0.2, 0.3], language="en"))
    assert agreed["samples"].tolist() == [3]
    assert agreed["language"].tolist() == ["en"]
    assert not {*own} & {*agreed}


def two_sets(**columns):
    """Answers of one model to question q0 of one set, and to q0 of another."""
    sets = [asked(["4", "4", "5"], set="math"), asked(["7", "8", "7"], target="7", set="code")]
    return pd.concat(sets, ignore_index=True).assign(model="m", **columns)


def test_questions_of_the_same_name_in_two_sets_are_not_put_together():
    trials = two_sets(epoch=[1, 2, 3] * 2)
    with pytest.raises(
        InputError, match=r"by: .*got none, .* differ in 'target' \(in 1 items\); 'set'"
    ):
        agreement(trials)
    with pytest.raises(InputError, match=r"columns with by=\. Are .* give an empty list alone"):
        agreement(trials[["item", "answer", "target"]])
    agreed = agreement(trials, by=["model", "set"])
    assert agreed["set"].tolist() == ["math", "code"]
    assert agreed["samples"].tolist() == [3, 3]
    assert agreed.attrs.get("notices", "[]") == "[]"
    # Or they are put together on purpose, which is said.
    merged = frame_notices(agreement(two_sets(), by="model"))[0]
    assert merged.code == "merged-answers"
    assert "'target'; 'set'" in merged.message
    apart = pd.concat([asked(["4", "4"], model="A"), asked(["4", "5"], model="B")])
    assert agreement(apart)[["model", "confidence"]].values.tolist() == [["A", 1], ["B", 0.5]]
    together = agreement(apart, by=())
    assert together["confidence"].tolist() == [0.75]
    assert [one.code for one in frame_notices(together)] == ["merged-answers"]


def test_answers_of_one_epoch_to_one_item_are_said_to_be_perhaps_of_two_questions():
    trials = two_sets(epoch=[1, 2, 3] * 2).drop(columns=["set", "target"])
    said = frame_notices(agreement(trials))[0]
    assert said.code == "answers-of-one-time"
    assert said.message.startswith("3 answers have the same epoch")
    logged = agreement(trials.assign(log=["a"] * 3 + ["b"] * 3))
    assert "answers-of-one-time" not in [one.code for one in frame_notices(logged)]
