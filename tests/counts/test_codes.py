"""What values of columns stand for: levels of confidence, codes for missing answers, names."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import refused, run

import hmetad
from hmetad import InputError, notices

SIZE = 4000


TRIALS = hmetad.simulate_trials(1.5, m_ratio=0.8, trials=SIZE, seed=1)
TRIALS = TRIALS.replace({role: {"S1": 1, "S2": 2} for role in ("stimulus", "response")})


def frame(**changes):
    """Trials of a simulated observer, confidence 1..4, some columns changed."""
    return TRIALS.assign(subject=np.tile(["1", "2"], SIZE // 2)).assign(**changes)


def judged(trials):
    return trials.assign(correct=trials["stimulus"] == trials["response"])


def codes_of(counts):
    return [notice.code for notice in hmetad.notices(counts)]


WORDS = {1: "guess", 2: "unsure", 3: "sure", 4: "certain"}


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        (WORDS, ["guess", "unsure", "sure", "certain"]),
        ({k: k - 1 for k in WORDS}, [0, 1, 2, 3]),
        ({k: (k - 1) / 3 for k in WORDS}, [k / 3 for k in range(4)]),
        ({k: f" {word.upper()}" for k, word in WORDS.items()}, list(WORDS.values())),
        ({k: 5 - k for k in WORDS}, [4, 3, 2, 1]),
        ({k: str(k - 1) for k in WORDS}, np.arange(4)),
    ],
)
def test_levels_in_their_order_are_the_ratings(names, levels):
    trials = frame()
    named = trials.assign(confidence=trials["confidence"].map(names))
    expected = hmetad.count_trials(trials, by="subject")
    assert (hmetad.count_trials(named, by="subject", levels=levels) == expected).all()
    table = pa.Table.from_pandas(judged(named))
    found = hmetad.count_correct(table, levels=levels)
    assert (found == hmetad.count_correct(judged(trials))).all()


def test_a_level_that_nobody_used_is_a_rating():
    counts = hmetad.count_trials(frame(), levels=[1, 2, 3, 4, 5])
    assert counts.sizes["rating"] == 5
    assert counts.attrs["ratings_rule"] == "K = 5, the levels 1, 2, 3, 4, 5 of column 'confidence'"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"levels": [1, 2, 3]}, r"Expected one of the levels 1, 2, 3.*4 \(\d+ trials\)"),
        ({"levels": [1, 2, 2]}, r"levels: .* two different levels"),
        ({"levels": 3}, r"levels: .* two different levels"),
        ({"levels": "guess"}, r"levels: .* two different levels"),
        ({"levels": [1, 2, 3, 4], "ratings": 4}, "levels does not go with ratings"),
        ({"levels": [1, 2, 3, 4], "quantiles": 2}, "levels does not go with quantiles"),
        ({"missing_codes": {4}}, r"missing_codes: "),
    ],
)
def test_levels_that_do_not_fit_are_refused(asked, says):
    with pytest.raises(hmetad.InputError, match=says):
        hmetad.count_trials(frame(), **asked)


def test_errors_offer_levels():
    trials = frame()
    with pytest.raises(hmetad.InputError, match=r"levels=\[0, 1, 2, 3\]"):
        hmetad.count_trials(trials.assign(confidence=trials["confidence"] - 1))
    with pytest.raises(hmetad.InputError, match=r"levels 'certain', .* with levels=\."):
        hmetad.count_trials(trials.assign(confidence=trials["confidence"].map(WORDS)))


@pytest.mark.parametrize("levels", [[10, 20, 30, 40], [0.25, 0.5, 0.75, 1], [-2, -1, 1, 2]])
def test_errors_list_the_levels_of_few_numbers(levels):
    trials = frame()
    named = trials.assign(confidence=np.array(levels)[trials["confidence"] - 1])
    with pytest.raises(hmetad.InputError, match=r"levels=\[") as error:
        hmetad.count_trials(named)
    if min(levels) > 0:
        assert f"levels={levels}" in str(error.value)
    counts = hmetad.count_trials(named, levels=levels)
    assert (counts == hmetad.count_trials(trials)).all()


def coded(code, column="confidence"):
    """Trials in which every tenth value of a column is a code, and the same with NaN there."""
    trials = frame()
    is_lost = np.arange(SIZE) % 10 == 3
    return (
        trials.assign(**{column: trials[column].mask(is_lost, code)}),
        trials.assign(**{column: trials[column].mask(is_lost)}),
    )


@pytest.mark.parametrize("column", ["confidence", "stimulus", "response"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table.from_pandas, "csv", "categorical"])
def test_missing_codes_are_missing_values(column, kind, tmp_path):
    trials, without = coded(999, column)
    if kind == "csv":
        trials.to_csv(tmp_path / "trials.csv", index=False)
        given = tmp_path / "trials.csv"
    else:
        given = trials.astype({column: "category"}) if kind == "categorical" else kind(trials)
    counts = hmetad.count_trials(given, by="subject", missing_codes=[999, -1])
    assert (counts == hmetad.count_trials(without, by="subject")).all()
    assert f"{SIZE // 10} of {SIZE:,} rows dropped" in str(hmetad.notices(counts)[0])


def test_missing_codes_are_no_confidence_where_ratings_are_quantiles():
    trials, without = coded(999)
    found = hmetad.count_trials(trials, quantiles=2, missing_codes=999)
    assert (found == hmetad.count_trials(without, quantiles=2)).all()
    found = hmetad.count_correct(judged(trials), quantiles=2, missing_codes=999)
    assert (found == hmetad.count_correct(judged(without), quantiles=2)).all()


def test_missing_codes_are_no_groups():
    trials = frame(subject=np.tile([1, 999], SIZE // 2))
    assert hmetad.count_trials(trials, by="subject", missing_codes=999).sizes["cell"] == 2


@pytest.mark.parametrize("code", [999, -1, -99])
def test_what_looks_like_a_code_is_named_and_never_a_rating_by_the_advice(code):
    trials, _ = coded(code)
    step = rf"{code} looks like a code for a missing answer.*missing_codes=\[{code}\]"
    assert "suspected-codes" in codes_of(hmetad.count_trials(coded(9)[0]))
    with pytest.raises(hmetad.InputError, match=step) as error:
        hmetad.count_trials(trials)
    assert "quantiles" not in str(error.value)
    assert f"{code} ({SIZE // 10} trials)" in str(error.value)


@pytest.mark.parametrize("code", [999, -1])
def test_a_code_among_quantiles_or_numbers_is_noticed(code):
    trials, without = coded(code)
    said = f"{code} ({SIZE // 10} trials)"
    for counts in (
        hmetad.count_trials(trials, quantiles=3),
        hmetad.count_correct(judged(trials), quantiles=3),
        hmetad.measures.measure_trials(judged(trials)),
    ):
        (found,) = [n for n in hmetad.notices(counts) if n.code == "suspected-codes"]
        assert said in found.message
    for counts in (
        hmetad.count_trials(without, quantiles=3),
        hmetad.measures.measure_trials(judged(without)),
    ):
        assert "suspected-codes" not in codes_of(counts)
    with pytest.warns(UserWarning, match=f"{code} looks like a code"):
        hmetad.bin_confidence(trials["confidence"], 3)


@pytest.mark.parametrize(
    "values",
    [range(1, 10), range(1, 12), np.arange(101), np.linspace(-1, 1, 9), np.r_[0:60, 99],
     np.linspace(0, 1, 5)],
)  # fmt: skip
def test_an_ordinary_scale_has_no_codes(values):
    trials = judged(frame(confidence=np.resize(np.asarray(values), SIZE)))
    assert "suspected-codes" not in codes_of(hmetad.measures.measure_trials(trials))


@pytest.mark.parametrize("code", ["none", "999", "?"])
def test_a_third_label_that_looks_like_a_code_is_named(code):
    trials, _ = coded(code, "response")
    words = {1: "left", 2: "right"}
    trials = trials.replace({"stimulus": words, "response": words})
    with pytest.raises(hmetad.InputError, match=rf"'{re.escape(code)}' looks like a code"):
        hmetad.count_trials(trials)
    assert hmetad.count_trials(trials, missing_codes=code).sum() == SIZE * 9 // 10


def test_a_code_in_right_and_wrong_is_named():
    trials = judged(frame()).astype({"correct": int})
    trials.loc[::100, "correct"] = -1
    with pytest.raises(hmetad.InputError, match=r"-1 looks like a code.*missing_codes=\[-1\]"):
        hmetad.count_correct(trials)
    assert hmetad.count_correct(trials, missing_codes=-1).sum() == SIZE * 99 // 100


UPPER = {"stimulus": "Stimulus", "response": "RESPONSE", "confidence": "Confidence"}


def test_case_of_names_does_not_matter_where_one_column_fits(tmp_path):
    trials = frame(subject=np.tile(["001", "1"], SIZE // 2))
    other = trials.rename(columns={**UPPER, "subject": "Subject"})
    expected = hmetad.count_trials(trials, by="subject")
    other.to_csv(tmp_path / "trials.csv", index=False)
    for given in (other, pa.Table.from_pandas(other), tmp_path / "trials.csv"):
        counts = hmetad.count_trials(given, by="subject", stimulus="stimulus")
        assert (counts == expected).all()
        assert counts["subject"].values.tolist() == ["001", "1"]
    found = hmetad.measures.measure_trials(
        judged(trials).rename(columns={**UPPER, "subject": "Subject"}), by={"person": "SUBJECT"}
    )
    assert found["person"].values.tolist() == ["001", "1"]
    options = {"quantiles": 2, "quantiles_within": "subject"}
    numbers = hmetad.count_trials(other, confidence="CONFIDENCE", **options)
    assert (numbers == hmetad.count_trials(trials, **options)).all()


def test_the_exact_name_comes_first_and_of_two_others_none():
    trials = frame(Stimulus="other", STIMULUS="another")
    assert hmetad.count_trials(trials).sum() == SIZE
    with pytest.raises(hmetad.InputError, match=r"'STIMULUS' and 'Stimulus'"):
        hmetad.count_trials(trials.drop(columns="stimulus"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with words.csv, zero.csv and coded.csv, their columns in capitals."""
    folder = tmp_path_factory.mktemp("codes")
    trials = judged(frame())
    names = {**UPPER, "subject": "Subj_idx"}
    levels = trials["confidence"]
    trials.to_csv(folder / "plain.csv", index=False)
    for name, confidence in (("words", levels.map(WORDS)), ("zero", levels - 1)):
        own = trials.assign(confidence=confidence).rename(columns=names)
        own.to_csv(folder / f"{name}.csv", index=False)
    judged(coded(999)[0]).rename(columns=names).to_csv(folder / "coded.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("measures zero.csv", "--levels 0,1,2,3"),
        ("measures coded.csv", "--missing-codes 999"),
        ("measures words.csv --levels guess,sure", "--levels"),
        ("measures zero.csv --levels 0,1,2,3 --quantiles 3", "--levels does not go with"),
    ],
)
def test_errors_of_commands_name_the_options(folder, line, says):
    assert says in refused(folder, line)


@pytest.mark.integration
def test_the_command_line_takes_levels_and_missing_codes(folder):
    expected = run(folder, "measures plain.csv --ratings 4 --json").answer
    line = "measures words.csv --levels guess,unsure,sure,certain --json"
    assert run(folder, line).answer["rows"] == expected["rows"]
    for options in ("", " --quantiles 3", " --correct correct"):
        done = run(folder, f"measures coded.csv --missing-codes 999{options} --json").answer
        assert "suspected-codes" not in [notice["code"] for notice in done["notices"]]
        assert done["rows"][0]["trials"] == SIZE * 9 // 10
    done = run(folder, "measures coded.csv --quantiles 3 --json").answer
    assert "suspected-codes" in [notice["code"] for notice in done["notices"]]


def test_logs_are_read_by_names_in_any_case(tmp_path):
    table = pd.DataFrame({"OK": [1, 0], "Confidence": ["85%", "20%"], "Item": ["a", "b"]})
    table.to_csv(tmp_path / "answers.csv", index=False)
    options = {"columns": {"correct": "ok"}, "scale": "percent"}
    trials = hmetad.logs.read_log("table", tmp_path / "answers.csv", **options)
    assert trials["confidence"].tolist() == [0.85, 0.2]
    said = pd.DataFrame({"ITEM": ["a"] * 3, "Answer": ["4", "4", "5"], "Correct": [1, 1, 0]})
    assert len(hmetad.logs.agreement(said, answer="answer")) == 1


def test_codes_are_named_and_missing_where_tables_are_imported(folder):
    said = run(folder, "import table coded.csv -o said.csv --json").answer
    assert "suspected-codes" in [notice["code"] for notice in said["notices"]]
    done = run(folder, "import table coded.csv --missing-codes 999 -o out.csv --json").answer
    assert {row["column"]: row["missing"] for row in done["rows"]}["confidence"] == SIZE // 10
    assert "suspected-codes" not in [notice["code"] for notice in done["notices"]]


def test_a_code_of_confidence_leaves_grades_and_labels(tmp_path):
    trials = pd.DataFrame({"correct": [0, 1] * 60, "confidence": [0, 1, 2, 3, 4, 3] * 20})
    counts = hmetad.count_correct(trials, missing_codes=[0])
    # 20 answers have no confidence, and no wrong one is taken for a missing grade.
    assert int(counts.sum()) == 100
    assert int(counts.sel(correct="wrong").sum()) == 40
    trials.to_csv(tmp_path / "zero.csv", index=False)
    read = hmetad.logs.read_trials(tmp_path / "zero.csv", missing_codes=[0])
    assert read["correct"].tolist() == trials["correct"].tolist()
    line = "measures zero.csv --correct correct --missing-codes 0 --json"
    assert run(tmp_path, line).answer["rows"][0]["trials"] == 100
    choices = {"stimulus": [-1, 1] * 60, "response": [-1, 1, 1, 1, -1, -1] * 20}
    signed = pd.DataFrame({**choices, "confidence": [-1, 1, 2, 3, 4, 3] * 20})
    assert int(hmetad.count_trials(signed, labels=(-1, 1), missing_codes=[-1]).sum()) == 100


def test_words_of_confidence_do_not_make_a_copy_of_them_a_difficulty():
    trials = hmetad.simulate_trials([1.2], m_ratio=0.9, trials=600, seed=2)
    trials["grade"] = trials["confidence"]
    words = ["guess", "unsure", "sure", "very"]
    said = trials.assign(confidence=[words[rating - 1] for rating in trials["confidence"]])
    for table, options in ((trials, {}), (said, {"levels": words})):
        counts = hmetad.count_trials(table, **options)
        assert "mixed-difficulty" not in [notice.code for notice in notices(counts)]


def test_codes_are_said_once_and_not_after_they_were_removed(tmp_path):
    trials = hmetad.simulate_trials([1.2], trials=300, seed=1)
    trials.loc[::40, "confidence"] = 9
    trials.to_csv(tmp_path / "nine.csv", index=False)
    read = hmetad.logs.read_trials(tmp_path / "nine.csv")
    said = hmetad.count_trials(read, quantiles=3)
    assert [notice.code for notice in notices(said)].count("suspected-codes") == 1
    gone = hmetad.count_trials(read, missing_codes=[9])
    assert "suspected-codes" not in [notice.code for notice in notices(gone)]


@pytest.mark.parametrize("word", ["missing", "skipped"])
@pytest.mark.parametrize("kind", ["frame", "file", "scanned"])
def test_a_column_that_a_word_for_missing_made_text_is_read_as_numbers(tmp_path, word, kind):
    trials = frame().astype({"response": object, "confidence": object})
    expected = count_by_subject(trials.drop(index=range(5)))
    trials.loc[range(5), ["response", "confidence"]] = word
    if kind == "frame":
        trials["confidence"] = trials["confidence"].astype(str)
        found = count_by_subject(trials, missing_codes=word)
    else:
        path = tmp_path / "trials.csv"
        trials.to_csv(path, index=False)
        roles = {"response": "response", "confidence": "confidence"}
        rows = hmetad.counts.without_codes(hmetad.logs.scan_table(path), [word], roles)
        found = count_by_subject(*([rows] if kind == "scanned" else [path, word]))
    np.testing.assert_array_equal(found, expected)
    correct = trials.assign(correct=[1, 0] * (SIZE // 2))
    table = hmetad.count_correct(correct, by="subject", missing_codes=[word])
    assert table.sum() == SIZE - 5


def test_labels_that_are_text_in_one_column_alone_are_the_numbers_of_the_other():
    trials = frame()
    as_text = trials.assign(stimulus=trials["stimulus"].astype(str))
    np.testing.assert_array_equal(count_by_subject(as_text), count_by_subject(trials))


def count_by_subject(trials, missing_codes=()):
    return hmetad.count_trials(trials, by="subject", missing_codes=missing_codes)


def test_a_word_for_missing_among_ratings_is_named_as_such_and_a_slip_by_its_row(tmp_path):
    slip = r"Correct it, or, if.*\(1 of 4,000 values is no number; row 18 of the data\)"
    for place, word, words in (
        (90, "missing", r"'missing' looks like a code for a missing answer: if so, give missing_"),
        (17, "high", slip),
    ):
        trials = frame().astype({"confidence": object})
        trials.loc[place, "confidence"] = word
        with pytest.raises(InputError, match=words) as raised:
            hmetad.count_trials(trials)
        assert "import table" not in str(raised.value)
    # A value of a row that is not counted makes the column text.
    survey = trials.astype({"confidence": str}).assign(stimulus=trials["stimulus"].astype(object))
    survey.loc[17, ["stimulus", "confidence"]] = None, '{"age": 20}'
    said = r"'\{\"age\": 20\}' is no number; row 18 of the data"
    with pytest.raises(InputError, match=said):
        hmetad.count_trials(survey)
    nested = trials.assign(confidence=[{"age": 20}, *trials["confidence"][1:]])
    nested.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for table in (nested, tmp_path / "t.jsonl"):
        with pytest.raises(InputError, match=r"got \{'age': 20\} in column 'confidence'"):
            hmetad.count_trials(table)
    # Percentages and sentences are read by import.
    trials["confidence"] = "about 80%"
    with pytest.raises(InputError, match="import table"):
        hmetad.count_trials(trials)


@pytest.mark.parametrize("label", ["NA", "None"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_label_that_the_user_named_is_one_from_every_source(tmp_path, label, suffix):
    trials = frame(confidence=TRIALS["confidence"].map({1: label, 2: "2", 3: "3", 4: "4"}))
    sides = {role: trials[role].map({1: label, 2: "2"}) for role in ("stimulus", "response")}
    trials, path = trials.assign(**sides), tmp_path / f"t.{suffix}"
    writers = {"jsonl": trials.to_json, "parquet": trials.to_parquet}
    options = {"tsv": {"sep": "\t"}, "jsonl": {"orient": "records", "lines": True}}
    writers.get(suffix, trials.to_csv)(path, **options.get(suffix, {}))
    named = {"levels": [label, 2, 3, 4], "labels": (label, 2)}
    expected = hmetad.count_trials(frame(), by="subject")
    for rows in (trials, path, str(path), hmetad.logs.scan_table(path)):
        found = hmetad.count_trials(rows, by="subject", **named)
        np.testing.assert_array_equal(found, expected)
    found = hmetad.count_trials(path, **named | {"labels": None, "options": [label, 2]})
    assert int(found.sum()) == SIZE


@pytest.mark.parametrize("sign", [",", ";"])
def test_a_word_or_grade_that_the_user_named_is_not_missing_in_a_file(tmp_path, sign):
    text = "ok;sure\nNone;0.4\n1;NA\n1;\n"
    (tmp_path / "t.csv").write_text(text.replace(";", sign))
    named = {"grades": {"none": False}, "words": {"na": 0.1}, "scale": "probability"}
    columns = {"correct": "OK", "confidence": "sure"}
    trials = hmetad.logs.read_trials(tmp_path / "t.csv", columns=columns, **named)
    assert trials["correct"].tolist() == [False, True, True]
    np.testing.assert_array_equal(trials["confidence"], [0.4, 0.1, np.nan])
