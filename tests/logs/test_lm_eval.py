"""Sample logs of lm-evaluation-harness are read line by line, or refused with their line."""

import hashlib
import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from logs.log_claims import JSON, TEXTS, check_read_or_refused, check_texts
from scipy.special import softmax

from hmetad.base.errors import InputError
from hmetad.counts.noticed import frame_notices
from hmetad.logs.answer_options import option_probabilities
from hmetad.logs.lm_eval import read_lm_eval

NAME = "samples_colours_2026-01-31T10-00-00.123456.jsonl"
STATED = '{"answer": "green", "confidence": "80%"}'


def choice(doc_id=0, logs=(-1.0, -2.0), target="0", **fields):
    """A sample of a multiple choice between options of growing length."""
    scored = [[str(log), "False"] for log in logs]
    texts = {
        f"gen_args_{i}": {"arg_0": "?", "arg_1": " " + "x" * (i + 1)} for i in range(len(logs))
    }
    sample = {"doc_id": doc_id, "doc": {"q": doc_id}, "target": target, "arguments": texts}
    sample |= {"resps": [[pair] for pair in scored], "filtered_resps": scored, "filter": "none"}
    return sample | fields


def response(doc_id=0, said=STATED, answer="green", **fields):
    """A sample of a generation task."""
    sample = {"doc_id": doc_id, "doc": {"q": doc_id}, "target": "green", "arguments": {}}
    sample |= {"resps": [[said]], "filtered_resps": [answer], "filter": "none"}
    return sample | {"metrics": ["exact_match"], "exact_match": 1.0} | fields


@pytest.fixture
def write(tmp_path):
    def written(samples, name=NAME):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        return path

    return written


SURE = 1 / (1 + math.exp(-1))
ODDS = np.exp([-1.0, -0.75])
NO_TEXT = {"gen_args_0": {"arg_0": "?", "arg_1": " "}, "gen_args_1": {"arg_0": "?", "arg_1": " x"}}
NUMBERS = {f"gen_args_{i}": {"arg_0": "?", "arg_1": f" {i + 1}"} for i in range(2)}


@pytest.mark.parametrize(
    ("sample", "options", "kept", "confidence", "reason"),
    [
        (choice(logs=(math.log(0.1), math.log(0.3)), target="1", acc=1.0), {},
         [1, 1, True], 0.75, ""),
        # The first of several best options; several targets; an option that cannot be said.
        (choice(logs=(-2.0, -2.0), acc=1.0), {}, [0, 0, True], 0.5, ""),
        (choice(logs=(0.0, -math.inf), target="[0, 1]", acc=1.0), {}, [0, "[0, 1]", True], 1, ""),
        (choice(target="1"), {}, [0, 1, False], SURE, ""),
        (choice(target="xx"), {}, [0, 1, False], SURE, ""),
        (choice(target=None, acc=1.0, arguments={"gen_args_0": {}}), {}, [0, None, True], SURE, ""),
        # A number is always that of an option, even where the options are numbers.
        (choice(target="1", arguments=NUMBERS), {}, [0, 1, False], SURE, ""),
        (choice(target="[0, 1]"), {}, [0, "[0, 1]", None], SURE, "no metric 'acc'"),
        # Lengths change the choice, as acc_norm does.
        (choice(logs=(-1.0, -1.5), target="1", acc_norm=1.0), {"normalise": "characters"},
         [1, 1, True], ODDS[1] / ODDS.sum(), ""),
        (choice(logs=(-1.0, -1.5), target="1", acc_bytes=1.0), {"normalise": "bytes"},
         [1, 1, True], ODDS[1] / ODDS.sum(), ""),
        (choice(acc_norm=1.0, arguments=NO_TEXT), {"normalise": "characters"},
         [None, 0, True], math.nan, "an option without text"),
        # The second half are the options without the question.
        (choice(logs=(-1.0, -2.0, -0.1, -0.1), acc=1.0, acc_mutual_info=1.0), {},
         [0, 0, True], SURE, ""),
        (choice(target="1", acc=1.0), {}, [None, 1, True], math.nan,
         "the option chosen contradicts the metric"),
        (choice(logs=(-1.0,), acc=1.0), {}, [None, 0, True], math.nan,
         "log-likelihood of a single option"),
        *((choice(filtered_resps=[[log, False] for log in logs], acc=1.0), {},
           [None, 0, True], math.nan, "log-likelihoods are not finite")
          for logs in [("nan", -1), (math.nan, -1), (None, -1), (math.inf, 0), ("-inf",) * 2]),
    ],
)  # fmt: skip
def test_options_are_compared(sample, options, kept, confidence, reason, write):
    trials = read_lm_eval(write([sample]), **options)
    found = trials[["chosen", "target", "correct"]].astype(object).iloc[0]
    assert [None if pd.isna(one) else one for one in found] == kept
    np.testing.assert_allclose(trials["confidence"], [confidence])
    assert trials.attrs["rejected"] == ({reason: 1} if reason else {})
    probabilities = trials["option_probabilities"].item()
    assert probabilities is None if math.isnan(confidence) else len(probabilities) == 2


@given(arrays(float, st.integers(2, 6), elements=st.floats(-1e3, 0)))
def test_probabilities_of_options_are_scipys_softmax(logs):
    # Both sum a handful of exponentials: the last bits may differ.
    np.testing.assert_allclose(option_probabilities(logs), softmax(logs), rtol=1e-13)


def test_a_delimiter_of_the_task_is_left_out_of_lengths(write, tmp_path):
    sample = choice(0, (-1.0, -1.5))
    for text, request in zip(("\nxx", "\nx"), sample["arguments"].values(), strict=True):
        request["arg_1"] = text
    path = write([sample])
    results = tmp_path / "results_2026-01-31T10-00-00.123456.json"
    config = {"colours": {"target_delimiter": "\n"}}
    results.write_text(json.dumps({"model_name": "house/one", "configs": config}))
    trials = read_lm_eval(path, normalise="characters")
    odds = np.exp([-0.5, -1.5])
    np.testing.assert_allclose(trials["option_probabilities"][0], odds / odds.sum())
    assert trials["model"].tolist() == ["house/one"]
    results.write_text('{"model_na')
    with pytest.raises(InputError, match=r"results_2026.*no JSON"):
        read_lm_eval(path)
    with pytest.raises(InputError, match=r"line 1: .*got 0 texts in 'arguments' for 2 options"):
        read_lm_eval(write([choice(arguments={})], "gpt/mine.jsonl"), normalise="characters")
    named = read_lm_eval(tmp_path / "gpt" / "mine.jsonl")
    assert named[["model", "task"]].values.tolist() == [["gpt", "mine"]]


TAKEN = [["take_first"], ["regex", "take_first"], ["majority_vote", "take_first"]]


@pytest.mark.parametrize(
    ("said", "functions", "expected"),
    [(["80%", "80%"], None, 0.8), (["80%", "90%"], None, np.nan), (["80%", "no"], None, np.nan),
     ([], None, np.nan), *((["80%", "90%"], names, one) for names, one in
                           zip(TAKEN, (0.8, 0.8, np.nan), strict=True))],
)  # fmt: skip
def test_several_responses_count_if_they_say_the_same_or_the_filter_took_the_first(
    said, functions, expected, write, tmp_path
):
    steps = [{"function": name} for name in functions or ()]
    config = {"filter_list": [{"name": "none", "filter": steps}]} if functions else {}
    results = tmp_path / "results_2026-01-31T10-00-00.123456.json"
    results.write_text(json.dumps({"configs": {"colours": config}}))
    trials = read_lm_eval(write([response(resps=[said])]), pattern="([0-9]+%)")
    np.testing.assert_allclose(trials["confidence"], [expected])


def test_confidence_of_a_response_is_read_only_where_asked_on_one_scale(write):
    said = ["sure: 90", "no", "sure: 20"]
    path = write([choice(9, acc=1.0), *(response(i, text) for i, text in enumerate(said))])
    trials = read_lm_eval(path)
    assert trials["confidence"].isna().tolist() == [False, True, True, True]
    assert trials.attrs["rejected"] == {}
    assert "no-confidence" not in [one.code for one in frame_notices(trials)]
    (none,) = frame_notices(read_lm_eval(write([response(i, x) for i, x in enumerate(said)])))
    assert (none.code, "--field" in none.shell_step) == ("no-confidence", True)
    path = write([choice(9, acc=1.0), *(response(i, text) for i, text in enumerate(said))])
    trials = read_lm_eval(path, field="sure")
    np.testing.assert_allclose(trials["confidence"], [SURE, 0.9, np.nan, 0.2])
    assert trials.attrs["scale"] == "percent"
    assert trials.attrs["rejected"] == {"confidence: no field 'sure'": 1}
    json.dumps(trials.attrs)


def test_text_is_data_and_partial_credit_needs_a_threshold(write):
    path = write([response(i, answer=t, f1=0.4 + i / 10) for i, t in enumerate(TEXTS)])
    trials = read_lm_eval(path, metric="f1", threshold=0.5)
    check_texts(trials["chosen"].tolist())
    assert trials["correct"].tolist() == [False, True, True, True, True]
    trials = read_lm_eval(write([response(f1=0.4), response(1, f1=math.nan)]), metric="f1")
    assert trials["correct"].isna().all()
    assert trials.attrs["rejected"] == {"score is partial credit": 1, "score is NaN": 1}


def test_copies_are_counted_and_items_have_the_hash_that_newer_logs_write(write):
    doc = {"question": "Zürich?", "n": [1, 2.5, None]}
    text = json.dumps(doc, indent=2, ensure_ascii=False)
    first, other = choice(doc=doc), choice(0, (-1.0, -3.0), doc=doc)
    trials = read_lm_eval(write([first, choice(1), first, other, other]))
    assert trials["item"][0] == hashlib.sha256(text.encode()).hexdigest()
    assert trials[["doc_id", "repeat"]].values.tolist() == [[0, 1], [1, 1], [0, 2]]
    assert trials.attrs["duplicates"] == 2


def test_models_tasks_and_runs_of_a_folder_are_told_apart(write, tmp_path):
    write([choice(0), choice(1)], f"gpt/{NAME}")
    write([choice(0)], f"llama/{NAME}")
    sample = response(f1=0.0, metrics=["f1"])
    del sample["exact_match"]
    write([sample], f"llama/{NAME.replace('colours', 'spans')}")
    with pytest.raises(InputError, match=r"metric: .*got none, for a sample with 'f1' \(.*line 1"):
        read_lm_eval(tmp_path)
    trials = read_lm_eval(tmp_path, metric={"spans": "f1"})
    keys = trials[["model", "task", "doc_id"]].values.tolist()
    assert keys[:2] == [["gpt", "colours", 0], ["gpt", "colours", 1]]
    assert keys[2:] == [["llama", "colours", 0], ["llama", "spans", 0]]
    assert trials["correct"].tolist() == [True, True, True, False]
    write([choice(0)], "gpt/samples_colours_2026-02-01T10-00-00.jsonl")
    with pytest.raises(InputError, match=r"runs: .*got none, for 2 runs of task 'colours'"):
        read_lm_eval(tmp_path)
    assert len(read_lm_eval(tmp_path, runs="latest", task="colours")) == 2
    every = read_lm_eval(tmp_path, runs="all", task="colours")
    assert every["run"].nunique() == 2
    assert every["repeat"].tolist() == [1] * 4


def test_the_first_filter_of_a_task_counts_or_the_one_chosen_for_it(write, tmp_path):
    write([response(filter="strict"), response(filter="loose", answer="red")])
    for task, filters in (("choices", ["none"]), ("sums", ["exact", "loose"])):
        name = NAME.replace("colours", task)
        write([choice(0) if f == "none" else response(filter=f, answer=f) for f in filters], name)

    def used(**options):
        trials = read_lm_eval(tmp_path, **options)
        assert trials.groupby("task")["filter"].first().to_dict() == trials.attrs["filters"]
        return trials.attrs["filters"], [one.code for one in frame_notices(trials)]

    said = "confidence-of-the-choice"
    first = {"choices": "none", "colours": "strict", "sums": "exact"}
    assert used() == (first, ["filter-chosen", said])
    (notice, _) = frame_notices(read_lm_eval(tmp_path))
    assert "colours: strict, not loose; sums: exact, not loose" in notice.message
    assert used(answer_filter="loose")[0] == first | {"colours": "loose", "sums": "loose"}
    each = {"sums": "loose", "colours": "strict"}
    assert used(answer_filter=each) == (first | each, [said])
    for choice_of, match in [
        ("strict", r"A mapping of task to filter.*'strict', which .*sums"),
        ({"sum": "loose"}, r"answer_filter: Did you mean 'sums'.*got 'sum'"),
        ({"sums": "lose"}, "Did you mean 'loose'"),
    ]:
        with pytest.raises(InputError, match=match):
            read_lm_eval(tmp_path, answer_filter=choice_of)


def unnamed(doc_id, answer, said="It is 4", **fields):
    """A sample of a log whose rows do not name their filter."""
    made = response(doc_id, said, answer, exact_match=float(answer == "4"), **fields)
    return {name: value for name, value in made.items() if name != "filter"}


def test_the_same_responses_filtered_otherwise_are_another_filter_and_no_repeat(write):
    strict = [unnamed(0, "[invalid]"), unnamed(1, "4"), unnamed(2, "[invalid]")]
    flexible = [unnamed(i, "4") for i in range(3)]
    trials = read_lm_eval(write([*strict, *flexible]))
    assert trials["correct"].tolist() == [False, True, False]
    assert trials["repeat"].tolist() == [1] * 3
    assert trials.attrs["duplicates"] == 0
    (notice, _) = frame_notices(trials)
    assert (notice.code, "colours: the first, not 2" in notice.message) == ("filter-chosen", True)
    second = read_lm_eval(write([*strict, *flexible]), answer_filter="2")
    assert second[["filter", "correct"]].values.tolist() == [["2", True]] * 3
    # Copies stay copies, and other responses are repeats.
    again = read_lm_eval(write([*strict, *strict, unnamed(0, "4", "4")]))
    assert again["repeat"].tolist() == [1, 1, 1, 2]
    assert again.attrs["duplicates"] == 3


def test_answers_of_several_responses_are_kept_for_their_agreement(write):
    said = ["So 3. #### 4", "#### 5", "no idea", "#### 7 or rather #### 4"]
    path = write([response(0, resps=[said]), response(1, resps=[["one"]])])
    trials = read_lm_eval(path, answer_pattern="#### ([0-9]+)")
    assert trials["answers"].tolist() == [["4", "5", None, "4"], None]
    assert read_lm_eval(path)["answers"][0] == said


def generated_log(path, size):
    """A log of about `size` bytes: long prompts and responses, as in practice."""
    padding, number = "so it goes " * 400, 0
    with path.open("w") as file:
        while file.tell() < size:
            said = f"{padding} {STATED}"
            file.write(json.dumps(response(number, said, doc={"q": padding, "n": number})) + "\n")
            number += 1
    return number


def test_memory_grows_with_the_trials_not_with_the_file(tmp_path):
    size = 8 * 2**20
    number = generated_log(tmp_path / NAME, size)
    tracemalloc.start()
    try:
        trials = read_lm_eval(tmp_path / NAME, field="confidence")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(trials) == number
    # A trial takes about 850 bytes at the peak, a line 9 KB, and what is set up once some MB.
    assert peak < 1_500 * number + 4 * 2**20 < size


FIELDS = st.dictionaries(
    st.sampled_from([*choice(), *response(), "doc_hash", "acc", "acc_norm", "acc_mutual_info"]),
    JSON | st.lists(st.tuples(st.floats() | st.text(), st.booleans()), max_size=3),
    max_size=4,
)
OPTIONS = st.sampled_from([{}, {"normalise": "bytes"}, {"pattern": "(.)"}, {"metric": "acc"}])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(samples=st.lists(st.tuples(st.booleans(), FIELDS), max_size=3), options=OPTIONS)
def test_any_sample_is_read_or_refused(samples, options, write):
    made = [(choice if mc else response)(i) | f for i, (mc, f) in enumerate(samples)]
    check_read_or_refused("lm-eval", write(made), options)
