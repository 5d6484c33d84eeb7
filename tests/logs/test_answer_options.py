"""Signals of confidence are those of the answer that was given, and ties on paper are ties."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score

from hmetad.base.errors import InputError
from hmetad.logs import frame_notices, signals

NAMES = ["top_probability", "lead", "minus_entropy"]


def table(*rows, **columns):
    return pd.DataFrame({"option_probabilities": list(rows), **columns})


def codes(frame):
    return {notice.code: notice.message for notice in frame_notices(frame)}


def test_signals_are_those_of_numpy_and_scipy():
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(5), size=300) * rng.uniform(0.5, 200, size=(300, 1))
    found = signals(table(*probabilities.tolist()))
    shares = probabilities / probabilities.sum(axis=1, keepdims=True)
    first, second = np.sort(shares, axis=1)[:, ::-1][:, :2].T
    assert found["top_probability"].to_numpy() == pytest.approx(first, abs=1e-12)
    assert found["lead"].to_numpy() == pytest.approx(first - second, abs=1e-12)
    assert found["minus_entropy"].to_numpy() == pytest.approx(-entropy(shares.T), abs=1e-12)
    assert (found["options"] == 5).all()
    assert "In 300 of 300 answers" in codes(found)["unequal-sums"]


def test_a_missing_option_is_none_and_one_of_no_probability_is():
    found = signals(table([0.6, 0.4, None], [0.6, 0.4, 0.0], [0.5, None, 0.5]))
    assert found["options"].tolist() == [2, 3, 2]
    assert found["minus_entropy"][0] == found["minus_entropy"][1]
    assert found["lead"].tolist() == [0.2, 0.2, 0.0]


def test_certainty_and_ignorance_are_the_ends_of_the_scales():
    found = signals(table([0.0, 1.0, 0.0, 0.0], [0.25] * 4))
    assert found[NAMES].values.tolist()[0] == [1.0, 1.0, 0.0]
    assert found[NAMES].values.tolist()[1] == pytest.approx([0.25, 0.0, -np.log(4)])
    assert not np.signbit(found["minus_entropy"][0])


def test_what_is_equal_on_paper_is_a_tie():
    # 0.7 - 0.2 is not 0.6 - 0.1 in binary fractions; nor is the sum of 0.7, 0.2 and 0.1 one.
    assert 0.7 - 0.2 != 0.6 - 0.1
    rows = [[0.7, 0.2, 0.1], [0.6, 0.1, 0.1, 0.2 - 1e-17], [0.1, 0.7, 0.2], [70, 20, 10]]
    found = signals(table(*rows))
    assert found["lead"][0] == found["lead"][2] == found["lead"][3] == 0.5
    for name in NAMES:
        assert found[name][0] == found[name][2] == found[name][3]
    leads = signals(table([0.7, 0.2, 0.1], [0.6, 0.1, 0.3]))["lead"]
    assert leads.tolist() == [0.5, 0.3]


def test_signals_are_about_the_answer_that_was_given():
    rows = [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]
    found = signals(table(*rows, chosen=[0, 1, 1, None]))
    assert found["top_probability"].tolist()[:3] == [0.5, 0.3, 0.5]
    assert found["lead"].tolist()[:3] == pytest.approx([0.2, -0.2, 0.0], abs=1e-12)
    assert found["minus_entropy"][0] == found["minus_entropy"][1]
    assert found.loc[3, NAMES].isna().all()
    said = codes(found)
    assert said["chosen-not-top"].startswith("In 1 of 3 answers")
    assert said["rows-dropped"].startswith("1 of 4 rows have no signals")
    assert "unequal-sums" not in said


def test_letters_and_columns_name_what_was_chosen():
    frame = pd.DataFrame({"A": [0.2, 0.6], "B": [0.7, 0.3], "answer": ["B", "B"]})
    found = signals(frame, probabilities=["A", "B"])
    assert found["lead"].tolist() == pytest.approx([5 / 9, -1 / 3])
    wide = frame.rename(columns={"A": "p_yes", "B": "p_no"}).assign(answer=["no", "yes"])
    assert signals(wide, probabilities=["p_yes", "p_no"])["lead"].tolist() == pytest.approx(
        [5 / 9, 1 / 3]
    )
    # Without the column, the most probable option is taken for the answer.
    assert signals(frame.drop(columns="answer"), probabilities=["A", "B"])["lead"].min() > 0


def test_lists_may_be_json_as_in_a_csv_and_other_columns_stay():
    rows = [json.dumps([0.7, 0.3]), json.dumps([0.5, None])]
    frame = pd.DataFrame({"item": ["a", "b"], "p": rows}, index=[4, 9])
    found = signals(frame, probabilities="p")
    assert found["item"].tolist() == ["a", "b"]
    assert found.index.tolist() == [4, 9]
    assert found["options"].tolist() == [2, 1]
    assert found["lead"].isna().tolist() == [False, True]
    assert [*frame.columns] == ["item", "p"]


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (table([0.5, -0.5]), {}, "finite numbers of 0 or more"),
        (table([0.5, np.inf]), {}, ".*Expected finite.*, got inf"),
        *((table(value), {}, "a list of numbers") for value in ("yes", 0.4, '{"A": 1}', ["a"])),
        (table(None), {}, "no probability in any row"),
        (table([0.5, None], chosen=["B"]), {}, r"one of its 1 options.*'B', which has no prob"),
        (table([0.5, 0.5], chosen=["-1"]), {}, r"Expected the number of an option from 0.*'-1'"),
        (table([0.5, 0.5], chosen=[2]), {}, "chosen column 'chosen': .*got 2, which has no prob"),
        (table([0.5, 0.5], answer=["four"]), {}, "chosen: .*got 'four'"),
        (table([0.5, 0.5], lead=[1]), {}, "trials: .*got a column 'lead'"),
        (table([0.5, 0.5]), {"probabilities": "p"}, "probabilities: .*got 'p'"),
        (table([0.5, 0.5]), {"chosen": "choice"}, "chosen: .*got 'choice'"),
        (table([0.5, 0.5]), {"chosen": "option_probabilities"}, "2 times"),
    ],
)
def test_what_is_refused(frame, options, message):
    with pytest.raises(InputError, match=message):
        signals(frame, **options)


def test_with_two_options_the_three_are_in_one_order():
    p = np.random.default_rng(2).uniform(0.5, 1, 400)
    found = signals(table(*np.stack([p, 1 - p], axis=1).tolist()))
    assert (found[NAMES].rank() == found[["lead"]].rank().values).all().all()


def test_where_the_lead_of_evidence_is_confidence_the_lead_is_the_best_signal():
    """Right answers are drawn so that only the lead of the evidence says how likely they are."""
    rng = np.random.default_rng(3)
    evidence = rng.normal(size=(20_000, 4)) * 2
    best, second = np.sort(evidence, axis=1)[:, ::-1][:, :2].T
    lead = softmax(np.stack([best, second]), axis=0)[0]
    correct = rng.uniform(size=len(lead)) < lead
    probabilities = softmax(evidence, axis=1)
    found = signals(table(*probabilities.tolist()))
    areas = {name: roc_auc_score(correct, found[name]) for name in NAMES}
    true = roc_auc_score(correct, best - second)
    assert areas["lead"] > max(areas["top_probability"], areas["minus_entropy"]) + 0.005
    assert areas["lead"] == pytest.approx(true, abs=0.02)
