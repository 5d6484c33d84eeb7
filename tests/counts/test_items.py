"""Columns that may tell questions apart are known by what they are not."""

import numpy as np
import pandas as pd

from hmetad.counts.items import columns_of_questions, columns_that_differ


def test_columns_of_the_answer_of_times_and_of_who_was_asked_are_not_of_the_question():
    names = ["model", "prompt", "epoch", "seed", "item", "target", "answer", "confidence", "rating"]
    trials = pd.DataFrame({name: [1, 2] for name in [*names, "set", "subject"]})
    assert columns_of_questions(trials) == ["set", "subject"]
    assert columns_of_questions(trials, ["subject"]) == ["set"]


def test_lists_and_measured_numbers_are_of_the_answer_and_levels_of_a_number_are_not():
    seconds = np.random.default_rng(1).exponential(size=40)
    levels = {"temperature": [0.5, 0.7] * 20, "shot": range(40), "gap": [np.nan, 0.25] * 20}
    trials = pd.DataFrame({"seconds": seconds, "tokens": [[1, 2]] * 40} | levels)
    assert columns_of_questions(trials) == [*levels]


def test_the_number_of_a_sample_counts_as_a_question_only_without_a_log():
    trials = pd.DataFrame({"id": [1], "doc_id": [2]})
    assert columns_of_questions(trials) == ["id", "doc_id"]
    assert columns_of_questions(trials.assign(log="a.eval")) == []


def test_columns_differ_where_a_group_has_several_values_and_missing_is_one_of_them():
    trials = pd.DataFrame({"item": [0, 0, 1, 1], "set": ["a", None, "b", "b"], "n": [1, 1.0, 2, 2]})
    assert columns_that_differ(trials, ["item"], ["set", "n"]) == {"set": 1}
    assert columns_that_differ(trials, [], ["set", "n"]) == {"set": 1, "n": 1}
    assert columns_that_differ(trials, ["item"], []) == {}
