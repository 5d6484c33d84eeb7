"""Logs of Inspect are read without Inspect and without a file extracted, or refused."""

import json
import math
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from logs.log_claims import JSON, TEXTS, check_read_or_refused, check_texts

from hmetad.base.errors import InputError
from hmetad.counts.counting import count_correct
from hmetad.counts.noticed import frame_notices
from hmetad.logs.inspect_ai import read_inspect
from hmetad.measures.trial_measures import measure_trials

HEADER = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "house/one"}}


def sample(name=1, epoch=1, value="C", said='{"confidence": "80%"}', **fields):
    """A sample with one score."""
    made = {"id": name, "epoch": epoch, "target": "4", "output": {"completion": said}}
    made["scores"] = {"match": {"value": value, "answer": "4"}}
    return made | fields


def lettered(answer="A", logs=(-0.2, -1.8), said="ANSWER: A", options=2, **fields):
    """A sample of a multiple choice with log-probabilities."""
    top = [{"token": f" {'ABC'[i]}", "logprob": log} for i, log in enumerate(logs)]
    tokens = [{"token": "ANSWER:", "logprob": 0.0}]
    tokens += [{"token": " A", "logprob": logs[0], "top_logprobs": top}]
    answers = [{"logprobs": {"content": tokens}}]
    made = sample(said=said, choices=["x"] * options, target=["A"])
    made["output"]["choices"] = answers
    made["scores"]["match"]["answer"] = answer
    return made | fields


@pytest.fixture
def write(tmp_path):
    def written(samples, name="log.json", header=HEADER, compression=zipfile.ZIP_DEFLATED):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".json":
            path.write_text(json.dumps(header | {"samples": samples}))
            return path
        with zipfile.ZipFile(path, "w", compression) as archive:
            for number, made in enumerate(samples):
                archive.writestr(f"samples/{number}.json", json.dumps(made))
            archive.writestr("header.json", json.dumps(header))
        return path

    return written


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93])
def test_an_archive_and_a_json_file_hold_the_same_trials(compression, write):
    samples = [sample("a"), sample(7, 1, "I"), sample(7, 2)]
    trials = read_inspect(write(samples, "log.eval", compression=compression), field="confidence")
    other = read_inspect(write(samples, "log.json"), field="confidence")
    pd.testing.assert_frame_equal(trials.drop(columns="log"), other.drop(columns="log"))
    assert trials[["id", "epoch"]].values.tolist() == [["a", 1], [7, 1], [7, 2]]
    assert trials["correct"].tolist() == [True, False, True]
    assert trials["confidence"].tolist() == [0.8] * 3


PARTIAL = {"grades": {"P": True, "N": False}}
SCORES = {
    True: ["C", 1, True, "correct"],
    False: ["I", 0.0],
    None: ["P", 0.5, math.nan, [1], None],
}


@pytest.mark.parametrize(
    ("value", "options", "correct"),
    [
        *((value, {}, correct) for correct, values in SCORES.items() for value in values),
        ("P", PARTIAL, True),
        ("N", PARTIAL, False),
        (0.5, {"threshold": 0.5}, True),
        (0.4, {"threshold": 0.5}, False),
        ({"a": 1, "b": 0}, {"scorer": "match/b"}, False),
    ],
)
def test_a_score_is_right_or_wrong_or_counted(value, options, correct, write):
    trials = read_inspect(write([sample(value=value)]), field="confidence", **options)
    found = trials["correct"].item()
    assert found is correct if correct is not None else pd.isna(found)
    assert sum(trials.attrs["rejected"].values()) == (correct is None)


def test_no_answer_is_an_abstention_and_so_is_a_grade_that_is_said_to_be(write):
    path = write([sample(1, value="C"), sample(2, value="N"), sample(3, value="P")])
    trials = read_inspect(path)
    assert trials["abstained"].tolist() == [False, True, False]
    assert trials["correct"].isna().tolist() == [False, True, True]
    assert "abstained" in [one.code for one in frame_notices(trials)]
    both = read_inspect(path, grades={"p": "abstained"})
    assert both["abstained"].tolist() == [False, True, True]


def test_the_column_of_abstentions_is_there_where_nobody_abstained(write):
    trials = read_inspect(write([sample(1), sample(2, value="I")]), field="confidence")
    assert trials["abstained"].tolist() == [False, False]
    assert measure_trials(trials, abstained="abstained")["coverage"].item() == 1
    assert "abstained" not in [one.code for one in frame_notices(trials)]
    # No score of several says what was abstained from.
    assert "abstained" not in read_inspect(write([sample()]), scorer="all")


def test_a_sample_that_failed_is_kept_without_a_score(write):
    failed = sample(2, scores={}, error={"message": "out of memory"}, output={})
    trials = read_inspect(write([sample(), failed]), field="confidence")
    assert trials["correct"].isna().tolist() == [False, True]
    counts = count_correct(trials.assign(confidence=[1, 1]), by="model", ratings=2)
    assert (counts.sum(), counts.attrs["rows_dropped"]) == (1, 1)
    expected = {"no score, the sample ended in an error": 1, "confidence: missing": 1}
    assert trials.attrs["rejected"] == expected


def test_several_scores_need_a_choice(write):
    scores = {"match": {"value": "C"}, "grader": {"value": {"kind": 1, "apt": 0}}}
    path = write([sample(scores=scores)])
    with pytest.raises(InputError, match=r"scorer: .*got none, for scores 'match', 'grader'"):
        read_inspect(path)
    assert read_inspect(path, scorer="match")["correct"].tolist() == [True]
    assert read_inspect(path, scorer="grader/apt")["correct"].tolist() == [False]
    for wrong in ("grade", "grader", "grader/app", "match/apt"):
        with pytest.raises(InputError, match="scorer"):
            read_inspect(path, scorer=wrong)


def test_scores_are_columns_with_grades_in_words_and_gaps_where_a_sample_has_none(write):
    graded = {"human": {"value": "C"}, "answer": {"value": {"tone": "P", "facts": 0.5}}}
    path = write([sample(1, scores=graded), sample(2, scores={"human": {"value": math.nan}})])
    trials = read_inspect(path, scorer="all", grades={"P": False})
    assert trials["human"].tolist() == [True, pd.NA]
    assert trials["answer/tone"].tolist() == [False, pd.NA]
    assert trials["answer/facts"].tolist() == [0.5, None]
    assert trials["correct"].isna().all()
    named = read_inspect(write([sample(scores={"answer": {"value": "I"}})]), scorer="all")
    assert (named["score_answer"].tolist(), named["answer"].tolist()) == ([False], [None])


def test_text_is_data_and_copies_are_counted(write):
    made = [sample(i, scores={"a": {"value": "C", "answer": t}}) for i, t in enumerate(TEXTS)]
    trials = read_inspect(write([*made, sample(0, value="I"), sample(epoch=2)], "log.eval"))
    check_texts(trials["answer"].tolist())
    assert trials["correct"].tolist() == [True] * 6
    assert trials.attrs["duplicates"] == 1


def test_confidence_stands_where_the_source_says(write):
    made = sample(said="80%", metadata={"confidence": 0.1}, store={"confidence": 0.2})
    made["scores"]["match"]["metadata"] = {"x": {"confidence": 0.3}}
    path = write([made])
    stated = {"metadata": 0.1, "store": 0.2, "score": 0.3, "completion": 0.8}
    for source, expected in stated.items():
        assert read_inspect(path, source=source)["confidence"].tolist() == [expected]
    # A long completion is kept beside the sample's other texts.
    made = sample(said="attachment://ab12", attachments={"ab12": "Confidence: 70%"})
    assert read_inspect(write([made]), field="confidence")["confidence"].tolist() == [0.7]


def test_log_probabilities_of_the_letters_become_probabilities(write):
    # The letter written need not be the most probable one.
    trials = read_inspect(write([lettered(logs=(math.log(0.2), math.log(0.6)))]))
    np.testing.assert_allclose(trials["option_probabilities"].item(), [0.25, 0.75])
    assert trials["confidence"].item() == pytest.approx(0.25)
    assert trials[["target", "answer"]].values.tolist() == [["A", "A"]]
    three = read_inspect(write([lettered(options=3)]))
    assert three["option_probabilities"].item()[2] == 0


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (sample(), "no choice of 2 to 26 options"),
        (lettered(answer="A, B"), "no single letter as the answer"),
        (lettered(answer="C"), "no single letter as the answer"),
        (lettered(said="ANSWER: B"), "log-probabilities of another text"),
        (lettered(answer="B"), "the answer is no token of its own"),
        (lettered(logs=(math.nan, 0)), "log-probabilities are not finite"),
        (lettered(logs=(3.0, 0)), "log-probabilities are not finite"),
        (sample(choices=["x", "y"], scores={"a": {"value": 1, "answer": "A"}}),
         "no log-probabilities"),
    ],
)  # fmt: skip
def test_without_usable_log_probabilities_confidence_is_missing(made, reason, write):
    trials = read_inspect(write([made]))
    assert trials["confidence"].isna().all()
    assert trials["option_probabilities"].tolist() == [None]
    assert trials.attrs["rejected"] == {f"confidence: {reason}": 1}


def shuffled(shown, answer, logs=(-0.4, -1.2, -4.0), options=("x", "y\nB) z", "w"), **fields):
    """A sample whose options were shown in another order; its text was rewritten afterwards."""
    letter = "ABC"[shown.index("ABC".index(answer))]
    listed = "".join(f"{'ABC'[place]}) {options[i]}\n" for place, i in enumerate(shown))
    made = lettered(answer, logs, f"ANSWER: {answer}", choices=list(options))
    tokens = made["output"]["choices"][0]["logprobs"]["content"]
    tokens[0]["token"] = "ANSWER:"
    tokens[1]["token"] = f" {letter}"
    tokens[1]["logprob"] = logs["ABC".index(letter)]
    before = "Choices were shuffled before generating a response, the following was sent:\n\n"
    said = f"{before}{listed}Shuffled answer:\nANSWER: {letter}"
    made["scores"]["match"]["explanation"] = said
    return made | fields


@pytest.mark.parametrize("shown", [(2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("answer", "ABC")
def test_shuffled_options_have_their_probabilities_in_the_order_of_the_data_set(
    shown, answer, write
):
    trials = read_inspect(write([shuffled(shown, answer)]))
    odds = dict(zip(shown, np.exp([-0.4, -1.2, -4.0]), strict=True))
    expected = [odds[option] / sum(odds.values()) for option in range(3)]
    np.testing.assert_allclose(trials["option_probabilities"].item(), expected)
    assert trials["confidence"].item() == pytest.approx(expected["ABC".index(answer)])


@pytest.mark.parametrize(
    ("unknown", "reason"),
    [
        ({"scores": {"own": {"value": "I", "answer": "B"}}}, "were shuffled, and no score tells"),
        ({"choices": ["x", "x", "w"]}, "order of shuffled options is ambiguous"),
        ({"choices": ["x", "y", "w"]}, "order of shuffled options is ambiguous"),
    ],
)
def test_no_row_has_probabilities_where_the_order_of_shuffled_options_is_not_known(
    unknown, reason, write
):
    # The letter of the first stays the same: the log alone tells that its options were shuffled.
    made = [shuffled(shown, "B", **unknown, id=i) for i, shown in enumerate([(2, 1, 0), (2, 0, 1)])]
    trials = read_inspect(write(made))
    assert trials["confidence"].isna().all()
    ((found, number),) = trials.attrs["rejected"].items()
    assert (reason in found, number) == (True, 2)


def test_logs_of_a_folder_are_told_apart(write, tmp_path):
    other = HEADER | {"eval": {"task": "other", "model": "two"}, "status": "error"}
    write([sample()], "a/2026-01-31T10-00-00_sums_x.json")
    write([sample()], "b/two.eval", other)
    (tmp_path / "logs.json").write_text("{}")
    trials = read_inspect(tmp_path)
    assert trials[["task", "model"]].values.tolist() == [["sums", "house/one"], ["other", "two"]]
    assert [path[-8:] for path in trials.attrs["unfinished"]] == ["two.eval"]
    assert read_inspect(tmp_path, task="other")["model"].tolist() == ["two"]
    with pytest.raises(InputError, match="Did you mean 'other'"):
        read_inspect(tmp_path, task="others")


def test_logs_that_were_not_finished_are_read_and_cut_off_or_unknown_ones_refused(write, tmp_path):
    path = write([sample()], "log.eval", compression=93)
    (tmp_path / "cut.eval").write_bytes(path.read_bytes()[:-30])
    other = write([sample()], "other.eval").read_bytes()
    other = other.replace(b"\x14\x00\x00\x00\x08\x00", b"\x14\x00\x00\x00\x62\x00")
    (tmp_path / "other.eval").write_bytes(other)
    for name, options, said in [
        ("cut", {}, r"cut off.*cannot be read"),
        ("other", {}, r"pip install '\.\[logs\]'"),
        ("log", {"limits": {"unpacked": 100}}, r"limits=.'unpacked'.*bytes unpacked"),
    ]:
        with pytest.raises(InputError, match=said):
            read_inspect(tmp_path / f"{name}.eval", **options)
    with zipfile.ZipFile(tmp_path / "open.eval", "w") as archive:
        archive.writestr("_journal/start.json", json.dumps(HEADER | {"status": "started"}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample()))
    trials = read_inspect(tmp_path / "open.eval")
    assert trials.attrs["unfinished"] == trials.attrs["files"]


STATED = HEADER | {"results": {"total_samples": 4}}


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_a_log_that_holds_another_number_of_samples_than_it_states_is_named(name, write):
    some = [sample(1), sample("b"), sample("b", 2), sample("b", 2)]
    trials = read_inspect(write(some, name, STATED), field="confidence")
    assert (len(trials), trials.attrs["duplicates"]) == (3, 1)
    (notice,) = [one for one in frame_notices(trials) if one.code == "samples-missing"]
    assert notice.message.endswith(f"{name} states 4 and holds 3.")
    for header in (
        HEADER,
        STATED | {"results": {"total_samples": 3}},
        STATED | {"status": "error"},
    ):
        assert not frame_notices(read_inspect(write(some, name, header), field="confidence"))


def test_a_damaged_entry_of_an_archive_is_refused_in_one_line(write):
    path = write([sample(1, said="x" * 999)], "log.eval", compression=93)
    content = bytearray(path.read_bytes())
    start = content.index(b"(\xb5/\xfd")
    for place in range(start + 5, start + 60):
        damaged = content.copy()
        damaged[place] ^= 255
        path.write_bytes(damaged)
        with pytest.raises(InputError):
            read_inspect(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_an_archive_has_twice_is_a_copy(write):
    path = write([sample(1), sample(2)], "log.eval")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/1.json", json.dumps(sample(2, value="I")))
    trials = read_inspect(path, field="confidence")
    assert trials["correct"].tolist() == [True, False]
    assert trials.attrs["duplicates"] == 1


def test_a_member_that_points_out_of_the_archive_is_written_nowhere(write, tmp_path):
    path = write([sample()], "in/log.eval")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/../../evil.json", json.dumps(sample(2)))
    before = sorted(tmp_path.rglob("*"))
    read_inspect(path)
    assert sorted(tmp_path.rglob("*")) == before


FIELDS = st.dictionaries(
    st.sampled_from([*lettered(), "attachments", "metadata", "error"]), JSON, max_size=4
)
TOKENS = st.lists(st.fixed_dictionaries({"token": st.sampled_from(["A", " B"]), "logprob": JSON}))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(fields=FIELDS, tokens=TOKENS, options=st.sampled_from([{}, {"field": "confidence"}]))
def test_any_sample_is_read_or_refused(fields, tokens, options, write):
    made = lettered(said="".join(token["token"] for token in tokens))
    made["output"]["choices"][0]["logprobs"]["content"] = tokens
    check_read_or_refused("inspect", write([made | fields, sample(2)]), options)
