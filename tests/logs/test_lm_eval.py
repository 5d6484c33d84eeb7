"""Sample logs of lm-evaluation-harness are read line by line, or refused with their line."""

import hashlib
import json
import math
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmetad.counts.noticed import frame_notices
from hmetad.errors import InputError
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


def test_confidence_is_the_probability_of_the_first_of_the_best_options(write):
    logs = [(math.log(0.1), math.log(0.3)), (-2.0, -2.0), (0.0, -math.inf)]
    targets = ["1", "0", "[0, 1]"]
    samples = [choice(i, logs[i], targets[i], acc=1.0) for i in range(3)]
    trials = read_lm_eval(write(samples))
    assert trials["chosen"].tolist() == [1, 0, 0]
    np.testing.assert_allclose(trials["confidence"], [0.75, 0.5, 1])


def test_a_metric_that_contradicts_the_log_likelihoods_leaves_no_confidence(write):
    samples = [choice(0, target="1", acc=1.0), choice(1, target="0", acc=1.0)]
    trials = read_lm_eval(write(samples))
    assert trials["correct"].tolist() == [True, True]
    assert trials["chosen"].isna().tolist() == [True, False]
    assert trials["confidence"].isna().tolist() == [True, False]
    assert trials.attrs["rejected"] == {"the option chosen contradicts the metric": 1}


def test_without_a_metric_the_choice_is_compared_with_the_target(write):
    trials = read_lm_eval(
        write([choice(0, target="0"), choice(1, target="1"), choice(2, target=0)])
    )
    assert trials["correct"].tolist() == [True, False, True]
    trials = read_lm_eval(write([choice(0, target="xx"), choice(1, target="[0, 1]")]))
    assert trials["target"].tolist() == [1, "[0, 1]"]
    assert trials["correct"].tolist()[0] is False
    assert trials.attrs["rejected"] == {"no metric 'acc'": 1}


def test_a_number_is_that_of_an_option_even_if_the_options_are_numbers(write):
    sample = choice(0, (-1.0, -2.0, -3.0), target="1")
    for i, request in enumerate(sample["arguments"].values()):
        request["arg_1"] = f" {i + 1}"
    assert read_lm_eval(write([sample]))["target"].tolist() == [1]


def test_lengths_change_the_choice_as_acc_norm_does(write):
    samples = [choice(0, (-1.0, -1.5), target="1", acc=0.0, acc_norm=1.0, acc_bytes=1.0)]
    for normalise, chosen in (("none", 0), ("characters", 1), ("bytes", 1)):
        trials = read_lm_eval(write(samples), normalise=normalise)
        assert trials["chosen"].tolist() == [chosen]
        assert trials["correct"].tolist() == [bool(chosen)]
    odds = np.exp([-1.0, -0.75])
    np.testing.assert_allclose(trials["option_probabilities"][0], odds / odds.sum())


def test_the_options_without_the_question_are_no_options(write):
    sample = choice(0, (-1.0, -2.0, -0.1, -0.1), acc=1.0, acc_mutual_info=1.0)
    trials = read_lm_eval(write([sample]))
    assert len(trials["option_probabilities"][0]) == 2


@pytest.mark.parametrize(
    "logs", [("nan", -1), (math.nan, -1), (None, -1), (math.inf, 0), ("-inf", "-inf")]
)
def test_log_likelihoods_that_are_not_finite_are_counted(logs, write):
    sample = choice(0, acc=1.0, filtered_resps=[[log, False] for log in logs])
    trials = read_lm_eval(write([sample, choice(1, acc=1.0)]))
    assert trials["confidence"].isna().tolist() == [True, False]
    assert trials["chosen"].isna().tolist() == [True, False]
    assert trials["option_probabilities"][0] is None
    assert trials.attrs["rejected"] == {"log-likelihoods are not finite": 1}


def test_a_single_log_likelihood_is_no_choice(write):
    trials = read_lm_eval(write([choice(0, (-1.0,), acc=1.0)]))
    assert trials["correct"].tolist() == [True]
    assert trials["confidence"].isna().all()
    assert trials.attrs["rejected"] == {"log-likelihood of a single option": 1}


def test_an_option_without_text_has_no_length(write):
    sample = choice(0, acc_norm=1.0)
    sample["arguments"]["gen_args_0"]["arg_1"] = " "
    trials = read_lm_eval(write([sample]), normalise="characters")
    assert trials.attrs["rejected"] == {"an option without text": 1}
    with pytest.raises(InputError, match=r"line 1: got 0 texts in 'arguments' for 2 options"):
        read_lm_eval(write([choice(0, arguments={})]), normalise="characters")


def test_a_delimiter_of_the_task_is_left_out_of_lengths(write, tmp_path):
    sample = choice(0, (-1.0, -1.5))
    for text, request in zip(("\nxx", "\nx"), sample["arguments"].values(), strict=True):
        request["arg_1"] = text
    path = write([sample])
    results = {"model_name": "house/one", "configs": {"colours": {"target_delimiter": "\n"}}}
    (tmp_path / "results_2026-01-31T10-00-00.123456.json").write_text(json.dumps(results))
    trials = read_lm_eval(path, normalise="characters")
    odds = np.exp([-0.5, -1.5])
    np.testing.assert_allclose(trials["option_probabilities"][0], odds / odds.sum())
    assert trials["model"].tolist() == ["house/one"]


def test_without_results_the_folder_names_the_model(write):
    assert read_lm_eval(write([choice()], f"gpt/{NAME}"))["model"].tolist() == ["gpt"]
    assert read_lm_eval(write([choice()], "gpt/mine.jsonl"))["task"].tolist() == ["mine"]


def test_confidence_of_a_response_is_read_only_where_asked(write):
    path = write([response(0), response(1, "no", exact_match=0.0)])
    trials = read_lm_eval(path)
    assert trials["confidence"].isna().all()
    assert trials.attrs["rejected"] == {}
    trials = read_lm_eval(path, field="confidence")
    np.testing.assert_allclose(trials["confidence"], [0.8, np.nan])
    assert trials["chosen"].tolist() == ["green", "green"]
    assert trials["correct"].tolist() == [True, False]
    assert trials.attrs["rejected"] == {"confidence: no field 'confidence'": 1}
    json.dumps(trials.attrs)


@pytest.mark.parametrize(
    ("said", "expected"),
    [(["80%", "80%"], 0.8), (["80%", "90%"], np.nan), (["80%", "no"], np.nan), ([], np.nan)],
)
def test_several_responses_count_if_they_say_the_same(said, expected, write):
    trials = read_lm_eval(write([response(resps=[said])]), pattern="([0-9]+%)")
    np.testing.assert_allclose(trials["confidence"], [expected])


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        (["take_first"], 0.8),
        (["regex", "take_first"], 0.8),
        (["majority_vote", "take_first"], None),
    ],
)
def test_of_several_responses_the_filter_may_have_taken_the_first(
    functions, expected, write, tmp_path
):
    path = write([response(resps=[["80%", "90%"]])])
    steps = [{"function": name} for name in functions]
    config = {"filter_list": [{"name": "none", "filter": steps}]}
    results = {"configs": {"colours": config}}
    (tmp_path / "results_2026-01-31T10-00-00.123456.json").write_text(json.dumps(results))
    trials = read_lm_eval(path, pattern="([0-9]+%)")
    np.testing.assert_allclose(trials["confidence"], [expected or np.nan])


def test_partial_credit_needs_a_threshold(write):
    path = write([response(0, f1=0.4), response(1, f1=0.9), response(2, f1=math.nan)])
    trials = read_lm_eval(path, metric="f1", threshold=0.5)
    assert trials["correct"].tolist()[:2] == [False, True]
    trials = read_lm_eval(path, metric="f1")
    assert trials["correct"].isna().all()
    assert trials.attrs["rejected"] == {"score is partial credit": 2, "score is NaN": 1}


def test_text_is_data_whatever_is_in_it(write):
    texts = ["<script>alert(1)</script>", "\x00\x07\x1b[31m", "=1+1", "\ud800", "́́", "y" * 5000]
    trials = read_lm_eval(write([response(i, answer=text) for i, text in enumerate(texts)]))
    assert trials["chosen"].tolist()[:3] == texts[:3]
    assert trials["chosen"][3] == "\\ud800"
    assert len(trials["chosen"][5]) == 1000


def test_items_have_the_hash_that_newer_logs_write(write):
    doc = {"question": "Zürich?", "n": [1, 2.5, None]}
    text = json.dumps(doc, indent=2, ensure_ascii=False)
    trials = read_lm_eval(write([choice(doc=doc)]))
    assert trials["item"].tolist() == [hashlib.sha256(text.encode()).hexdigest()]


def test_copies_are_counted_and_repeats_kept(write):
    first, other = choice(0), choice(0, (-1.0, -3.0))
    trials = read_lm_eval(write([first, choice(1), first, other, other]))
    assert trials[["doc_id", "repeat"]].values.tolist() == [[0, 1], [1, 1], [0, 2]]
    assert trials.attrs["duplicates"] == 2


def test_tasks_and_models_of_a_folder_are_told_apart(write, tmp_path):
    write([choice(0), choice(1)], f"gpt/{NAME}")
    write([choice(0)], f"llama/{NAME}")
    write([response(0)], "llama/samples_open_2026-01-31T10-00-00.jsonl")
    trials = read_lm_eval(tmp_path)
    keys = trials[["model", "task", "doc_id"]].values.tolist()
    assert keys[:2] == [["gpt", "colours", 0], ["gpt", "colours", 1]]
    assert keys[2:] == [["llama", "colours", 0], ["llama", "open", 0]]
    assert read_lm_eval(tmp_path, task="open")["chosen"].tolist() == ["green"]


def test_several_runs_of_a_task_need_a_choice(write, tmp_path):
    write([choice(0)], "samples_colours_2026-01-31T10-00-00.jsonl")
    write([choice(0), choice(1)], "samples_colours_2026-02-01T10-00-00.jsonl")
    with pytest.raises(InputError, match="runs: got none, for 2 runs of task 'colours'"):
        read_lm_eval(tmp_path)
    assert len(read_lm_eval(tmp_path, runs="latest")) == 2
    trials = read_lm_eval(tmp_path, runs="all")
    assert trials["run"].nunique() == 2
    assert trials["repeat"].tolist() == [1, 1, 1]


def test_of_several_filters_the_first_counts_and_that_is_said(write):
    path = write([response(filter="strict"), response(filter="loose", answer="red")])
    trials = read_lm_eval(path)
    assert trials["filter"].tolist() == ["strict"]
    assert trials.attrs["filters"] == {"colours": "strict"}
    (notice,) = frame_notices(trials)
    assert notice.code == "filter-chosen"
    assert "the first of the log counts (colours: strict, not loose)" in notice.message
    chosen = read_lm_eval(path, answer_filter="loose")
    assert chosen["chosen"].tolist() == ["red"]
    assert frame_notices(chosen) == []
    with pytest.raises(InputError, match="Did you mean 'loose'"):
        read_lm_eval(path, answer_filter="lose")


def test_a_folder_of_tasks_is_read_at_once_with_a_filter_for_each(write, tmp_path):
    write([response(filter="strict"), response(filter="loose", answer="red")])
    for task, filters in (("choices", ["none"]), ("sums", ["exact", "loose"])):
        name = NAME.replace("colours", task)
        write([choice(0) if f == "none" else response(filter=f, answer=f) for f in filters], name)

    def used(**options):
        trials = read_lm_eval(tmp_path, **options)
        assert trials.groupby("task")["filter"].first().to_dict() == trials.attrs["filters"]
        return trials.attrs["filters"]

    assert used() == {"choices": "none", "colours": "strict", "sums": "exact"}
    loose = {"choices": "none", "colours": "loose", "sums": "loose"}
    assert used(answer_filter="loose") == loose
    each = {"sums": "loose", "colours": "strict"}
    assert used(answer_filter=each) == {"choices": "none", **each}
    codes = [n.code for n in frame_notices(read_lm_eval(tmp_path, answer_filter=each))]
    assert codes == ["confidence-of-the-choice"]
    with pytest.raises(InputError, match=r"'strict', which .*sums.*For each task its own"):
        read_lm_eval(tmp_path, answer_filter="strict")
    with pytest.raises(InputError, match=r"answer_filter: got 'sum'.*Did you mean 'sums'"):
        read_lm_eval(tmp_path, answer_filter={"sum": "loose"})


def test_a_metric_is_chosen_for_each_task(write, tmp_path):
    write([response(exact_match=1.0)])
    sample = response(f1=0.0, metrics=["f1"])
    del sample["exact_match"]
    write([sample], NAME.replace("colours", "spans"))
    with pytest.raises(InputError, match="metric: got none"):
        read_lm_eval(tmp_path)
    trials = read_lm_eval(tmp_path, metric={"spans": "f1"})
    assert dict(zip(trials["task"], trials["correct"], strict=True)) == {
        "colours": True,
        "spans": False,
    }


def test_answers_of_several_responses_are_kept_for_their_agreement(write):
    said = ["So 3. #### 4", "#### 5", "no idea", "#### 7 or rather #### 4"]
    path = write([response(0, resps=[said]), response(1, resps=[["one"]])])
    trials = read_lm_eval(path, answer_pattern="#### ([0-9]+)")
    assert trials["answers"].tolist() == [["4", "5", None, "4"], None]
    assert read_lm_eval(path)["answers"][0] == said
    for pattern in ("(", "a"):
        with pytest.raises(InputError, match="answer_pattern"):
            read_lm_eval(path, answer_pattern=pattern)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"doc_id": 1, "resps": [["gr', r"line 2: got text that is no JSON .*cut off"),
        ("[1, 2]", "line 2: got a list"),
        ("{}", "line 2: got an object without 'doc_id'"),
        ('{"doc_id": 1, "resps": []}', "line 2: got an object without 'filtered_resps'"),
        ("[" * 100_000, "line 2: got JSON that is nested deeper.*--limit nesting=N"),
        ("1" * 5000, "line 2: got a longer number, allowed is whole numbers of at most 4300"),
        (json.dumps(choice(0, doc={"q": "other"})), "line 2: got doc_id 0 again, of another doc"),
        (json.dumps(choice([])), r"line 2: got doc_id \[\]"),
        (json.dumps(choice(1, filtered_resps=[])), "line 2: got 'filtered_resps' without"),
        (json.dumps(choice(1, filtered_resps=[[-1, False], "a"])), "line 2: got log-likelihoods"),
        (json.dumps(response(1, metrics=["word_perplexity"]) | {"exact_match": 1, "acc": 1}),
         r"metric: got none, for a sample with 'word_perplexity' \(.*line 2\)"),
    ],
)  # fmt: skip
def test_what_is_no_sample_is_refused_with_its_line(line, message, write):
    path = write([choice(0)])
    path.write_text(path.read_text() + line)
    with pytest.raises(InputError, match=message):
        read_lm_eval(path)


def test_bytes_that_are_no_text_are_refused(write):
    path = write([choice(0)])
    path.write_bytes(path.read_bytes() + b'{"doc_id": "\xff\xfe"}\n')
    with pytest.raises(InputError, match="line 2: got text that is no JSON"):
        read_lm_eval(path)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_refused(content, tmp_path):
    (tmp_path / NAME).write_text(content)
    with pytest.raises(InputError, match="an empty file"):
        read_lm_eval(tmp_path / NAME)


def test_folders_without_samples_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"a folder without logs.*--log_samples"):
        read_lm_eval(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_lm_eval(tmp_path / "nowhere")


def test_broken_results_beside_are_refused(write, tmp_path):
    path = write([choice(0)])
    (tmp_path / "results_2026-01-31T10-00-00.123456.json").write_text('{"model_na')
    with pytest.raises(InputError, match=r"results_2026.*no JSON"):
        read_lm_eval(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "colour"}, "Did you mean 'colours'"),
        ({"metric": "acc_nor"}, "metric: got 'acc_nor'"),
        ({"normalise": "words"}, "normalise"),
        ({"runs": "first"}, "runs"),
        ({"threshold": "high"}, "threshold"),
        ({"threshold": math.nan}, "threshold"),
        ({"pattern": "("}, "pattern"),
    ],
)
def test_unusable_options_are_refused(options, message, write):
    with pytest.raises(InputError, match=message):
        read_lm_eval(write([choice(0)]), **options)


def test_a_metric_that_is_absent_names_those_that_are_there(write):
    with pytest.raises(InputError, match="Did you mean 'exact_match'"):
        read_lm_eval(write([response()]), metric="exactmatch")


def generated_log(path, size):
    """A log of about `size` bytes: long prompts and responses, as in practice."""
    padding, number = "so it goes " * 400, 0
    with path.open("w") as file:
        while file.tell() < size:
            said = f"{padding} {STATED}"
            file.write(json.dumps(response(number, said, doc={"q": padding, "n": number})) + "\n")
            number += 1
    return number


@pytest.mark.parametrize("mebibytes", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_memory_grows_with_the_trials_not_with_the_file(mebibytes, tmp_path):
    size = mebibytes * 2**20
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.sampled_from([*choice(), *response(), "doc_hash", "acc", "acc_norm", "acc_mutual_info"]),
    JSON | st.lists(st.tuples(st.floats() | st.text(), st.booleans()), max_size=3),
    max_size=4,
)
OPTIONS = st.sampled_from(
    [{}, {"normalise": "bytes"}, {"field": "confidence"}, {"pattern": "(.)"}, {"metric": "acc"}]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(samples=st.lists(st.tuples(st.booleans(), FIELDS), max_size=3), options=OPTIONS)
def test_any_sample_is_read_or_refused(samples, options, write):
    made = [(choice if mc else response)(i) | f for i, (mc, f) in enumerate(samples)]
    path = write(made)
    try:
        trials = read_lm_eval(path, **options)
    except InputError:
        return
    json.dumps(trials.attrs)
    assert trials.to_csv(index=False).encode()
    known = trials["confidence"].dropna()
    assert known.between(0, 1).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_are_read_or_refused(data, tmp_path):
    whole = "".join(json.dumps(made) + "\n" for made in (choice(0), response(1))).encode()
    at = data.draw(st.integers(0, len(whole)))
    some = data.draw(st.binary(max_size=8))
    (tmp_path / NAME).write_bytes(whole[:at] + some + whole[at + data.draw(st.integers(0, 8)) :])
    with suppress(InputError):
        read_lm_eval(tmp_path / NAME)
