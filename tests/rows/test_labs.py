"""Files of PsychoPy, jsPsych, Gorilla, Qualtrics, SPSS, Stata and Excel: one row per trial."""

import json
import sys
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import hmetad
from hmetad import InputError, count_correct, count_trials
from hmetad.logs import read_trials

WITHOUT_EXTRA = find_spec("pyreadstat") is None or find_spec("openpyxl") is None
needs_extra = pytest.mark.skipif(WITHOUT_EXTRA, reason="needs the extra labs")
OWN = {"stimulus": "stim", "response": "resp", "confidence": "conf"}
PSYCHOPY = (
    "word,corrAns,key_resp.keys,key_resp.corr,key_resp.rt,rating.response,practice.thisN,trials.thisN,\n"
    "dog,left,left,1,.5,,,,\n"  # a routine outside of the loops
    "cat,left,left,1,.5,3,0,,\n"
    "cat,left,left,1,.5,4,,0,\n"
    "dog,right,left,0,.7,1,,1,\n"
    "cat,right,right,1,.6,2,,2,\n"
    "dog,left,None,0,,2,,3,\n"
    "dog,left,left,1,.4,,,4,\n"
)


def said(counts):
    """What the notice of files of labs says."""
    return next(one.message for one in hmetad.notices(counts) if one.code == "lab-file")


def decision(shown, response, **more):
    """Row of jsPsych with a decision between two buttons."""
    key = {"shown": shown, "correct_response": ["left", "right"].index(shown)}
    is_right = key["correct_response"] == response
    return {"task": "decision", **key, "stimulus": f"<p>{shown}</p>", "response": response,
            "trial_type": "html-button-response", "correct": is_right, **more}  # fmt: skip


def screen(task, response, kind="html-button-response"):
    """Row of jsPsych that follows a decision."""
    return {"task": task, "stimulus": f"How {task}?", "response": response, "trial_type": kind}


def jspsych(*rows):
    """Rows as jsPsych numbers them."""
    return [{"time_elapsed": 9 * i, "trial_index": i, **row} for i, row in enumerate(rows)]


SURE = [(0, "left", 0, 3), (1, "left", 1, 0), (2, "right", 1, None), (3, "right", 1, 2)]
TRIALS = jspsych(
    screen("confidence", 2),  # without a decision before it
    *(row for _, shown, response, sure in SURE
      for row in (decision(shown, response), screen("fixation", None), screen("confidence", sure))),
    {"response": {"age": 30}, "trial_type": "survey-text"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "columns", "trials", "dropped"),
    [
        ("pp.csv", {}, 480, 0),
        ("js.csv", {}, 35, 5),
        ("js.json", {}, 35, 5),
        ("qualtrics.csv", OWN, 188, 12),
        ("gorilla.csv", {}, 196, 4),
        pytest.param("a.sav", OWN, 396, 4, marks=needs_extra),
    ],
)
def test_files_that_real_programs_wrote_have_the_right_trials(
    shared, name, columns, trials, dropped
):
    counts = count_trials(shared / "cases" / "labs" / name, **columns)
    assert int(counts.sum()) == trials
    assert counts.attrs["rows_dropped"] == dropped
    if name == "pp.csv":
        right = counts.values[0, [0, 1], [0, 1]].sum() / trials
        found = hmetad.sdt(counts)["dprime"].item(), hmetad.measures.auroc2(counts).item()
        assert np.round([right, *found], 3).tolist() == [0.733, 1.246, 0.485]


def test_psychopys_practice_loop_is_excluded_and_its_columns_become_those_of_trials(tmp_path):
    path = tmp_path / "pp.csv"
    path.write_text(PSYCHOPY)
    counts = count_trials(path)
    assert said(counts) == (
        "Read as a file of PsychoPy: rows of practice (loop practice) excluded: 1; rows outside of "
        "all loops excluded: 1; correct is key_resp.corr; response is key_resp.keys; trials "
        "without a response, so without correctness: 1; stimulus is corrAns, which equals the "
        "response where that is correct; confidence is rating.response; trials without "
        "confidence: 1."
    )
    # Of five trials one has no key, and another no rating.
    assert counts.values.tolist() == [[[[0, 0, 0, 1], [0, 0, 0, 0]], [[1, 0, 0, 0], [0, 1, 0, 0]]]]
    assert int(count_correct(path).sum()) == 3


def test_practice_in_a_frame_is_counted_and_noticed(tmp_path):
    (tmp_path / "pp.csv").write_text(PSYCHOPY)
    trials = pd.read_csv(tmp_path / "pp.csv", keep_default_na=True)
    columns = {"stimulus": "corrAns", "response": "key_resp.keys", "confidence": "rating.response"}
    counts = count_trials(trials, **columns, ratings=4)
    (one,) = (one for one in hmetad.notices(counts) if one.code == "practice-rows")
    assert one.message.startswith("1 of 7 rows are practice, with a value in practice.thisN")
    rest = count_trials(trials[trials["practice.thisN"].isna()], **columns, ratings=4)
    assert "practice-rows" not in [one.code for one in hmetad.notices(rest)]


def test_a_component_of_the_practice_alone_does_not_count(tmp_path):
    path = tmp_path / "pp.csv"
    rows = ["corrAns,a.keys,a.corr,b.keys,b.corr,s.response,practice_loop.thisN,main.thisN",
            "x,x,1,,,,0,", "x,,,x,1,3,,0", "y,,,x,0,1,,1", "y,,,y,1,2,,2"]  # fmt: skip
    path.write_text("\n".join(rows))
    assert int(count_trials(path).sum()) == 3
    path.write_text("\n".join([rows[0], "x,x,1,x,1,3,,0", "y,x,0,y,1,2,,1"]))
    (notice,) = hmetad.logs.frame_notices(read_trials(path))
    assert "correct may be a; b: name it, --columns correct=NAME.corr" in notice.message


def test_columns_of_psychopy_that_already_have_the_names_of_trials_stay(tmp_path):
    path = tmp_path / "pp.csv"
    own = (
        "stimulus,response,confidence,trials.thisN,key_resp.corr,key_resp.keys,s.rating,t.rating\n"
    )
    path.write_text(own + "b,a,1,0,1,x,8,4\na,a,2,1,0,y,9,5\n")
    trials = read_trials(path)
    assert trials["response"].tolist() == ["a", "a"]
    assert trials["confidence"].tolist() == [1, 2]
    assert "confidence may be" not in str(hmetad.logs.frame_notices(trials))


def test_a_folder_of_psychopys_files_has_one_sentence_for_all_participants(tmp_path):
    for name in ("p1", "p2"):
        (tmp_path / f"{name}.csv").write_text(PSYCHOPY.replace("dog", name))
    trials = read_trials(tmp_path)
    assert len(trials) == 10
    (one,) = [x for x in hmetad.logs.frame_notices(trials) if x.code == "lab-file"]
    assert "rows of practice (loop practice) excluded: 2;" in one.message
    assert said(count_trials(tmp_path)) == one.message


@pytest.mark.parametrize("kind", ["csv", "json", "nested"])
def test_jspsychs_decisions_are_joined_with_the_confidence_that_follows(tmp_path, kind):
    path = tmp_path / ("data.csv" if kind == "csv" else "data.json")
    if kind == "csv":
        names = dict.fromkeys(name for row in TRIALS for name in row)
        cells = [{x: json.dumps(row[x]) if x in row else "" for x in names} for row in TRIALS]
        pd.DataFrame(cells).map(lambda x: x.strip('"')).to_csv(path, index=False)
    else:
        path.write_text(json.dumps([TRIALS, TRIALS] if kind == "nested" else TRIALS))
    trials = read_trials(path)
    times = 2 if kind == "nested" else 1
    assert trials["confidence"].fillna(0).tolist() == [4, 1, 0, 3] * times
    assert trials["stimulus"].tolist() == [0, 0, 1, 1] * times
    assert trials["stimulus_shown"].tolist()[:3] == ["<p>left</p>", "<p>left</p>", "<p>right</p>"]
    counts = count_trials(path, by="run") if kind == "nested" else count_trials(path)
    assert counts.sum(["stimulus", "response", "rating"]).values.tolist() == [3] * times
    assert "responses in rows 'confidence' count from 1 instead of 0" in said(counts)
    assert f"trials without confidence: {times}" in said(counts)


def test_of_several_ratings_the_one_that_is_named_like_confidence_counts_or_the_user_names_it(
    tmp_path,
):
    path = tmp_path / "data.json"
    for first, known in (("certainty", True), ("liking", False)):
        rows = [decision("left", 0), screen(first, 1), screen("clarity", 70, "slider"),
                decision("right", 0), screen(first, 0), screen("clarity", 30, "slider"),
                ]  # fmt: skip
        path.write_text(json.dumps(jspsych(*rows)))
        trials = read_trials(path)
        if known:
            assert trials["confidence"].tolist() == [2, 1]
            assert trials["clarity"].tolist() == [70, 30]
            continue
        message = hmetad.logs.frame_notices(trials)[0].message
        assert "confidence may be clarity; liking: name it, --columns confidence=NAME" in message
        named = read_trials(path, columns={"confidence": "clarity"})
        assert named["confidence"].tolist() == [70, 30]


def test_confidence_of_some_trials_only_belongs_to_these(tmp_path):
    rows = []
    for number in range(40):
        asked = [screen("sure", 3)] if number % 5 == 0 else []
        rows += [decision("left" if number % 2 else "right", number // 2 % 2), *asked]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(jspsych(*rows)))
    counts = count_trials(path, ratings=4)
    assert counts.sel(cell="all", rating=4).values.tolist() == [[2, 2], [2, 2]]
    assert "trials without confidence: 32" in said(counts)


def test_gorillas_screens_of_a_trial_are_one_row_and_the_end_of_the_file_none(tmp_path):
    path = tmp_path / "gorilla.csv"
    header = "Event Index,Participant Private ID,Trial Number,Zone Type,Response,Correct,ANSWER,X"
    rows = ["1,8,1,key,a,1,a,", "2,8,1,slider,60,,,", "3,8,2,key,a,0,b,", "4,9,1,slider,99,,,",
            "5,9,1,key,b,1,b,", "6,9,1,continue,Next,,,", "7,9,1,slider,20,,,",
            "END OF FILE" + 7 * ","]  # fmt: skip
    path.write_text("\n".join([header, *rows]))
    trials = read_trials(path)
    names = ["Participant Private ID", "stimulus", "response", "correct", "confidence"]
    # The second trial of participant 8 has no rating: the next one is another participant's.
    assert trials[names].fillna(0).values.tolist() == [
        [8, "a", "a", 1, 60],
        [8, "b", "a", 0, 0],
        [9, "b", "b", 1, 20],
    ]


def test_qualtrics_labels_are_excluded_and_its_code_for_no_answer_is_missing(tmp_path):
    path = tmp_path / "survey.csv"
    ids = '"{""ImportId"": ""QID1""}","{""ImportId"": ""QID2""}"'
    path.write_text(f"correct,confidence\nWas it?,Sure?\n{ids}\n1,3\n0,-99\n1,2\n")
    assert read_trials(path)["confidence"].fillna(0).tolist() == [3, 0, 2]
    path.write_text(f"correct,confidence\n{ids}\n1,3\n0,1\n")
    assert int(count_correct(path).sum()) == 2


@needs_extra
@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta"])
def test_labels_and_user_missing_codes_of_spss_and_stata(tmp_path, suffix):
    pyreadstat = import_module("pyreadstat")
    path = tmp_path / f"people{suffix}"
    frame = pd.DataFrame({"stim": [1, 2, 2, 1.0], "resp": [1, 2, 1, 1.0], "ok": [1, 1, 0, 1.0],
                          "conf": [1, 2, 4, 99.0]})  # fmt: skip
    sides = {1: "left", 2: "right"}
    labels = {"stim": sides, "resp": sides, "ok": {0: "no", 1: "yes"}, "conf": {1: "un", 4: "sure"}}
    if suffix == ".dta":
        lost = {"missing_user_values": {"extra": ["a"]}}
        frame["extra"] = [1.0, 2.0, 3.0, "a"]
        pyreadstat.write_dta(frame, path, variable_value_labels=labels, **lost)
    else:
        ranges = {"conf": [{"lo": 98, "hi": 99}]}
        pyreadstat.write_sav(
            frame,
            path,
            variable_value_labels=labels,
            missing_ranges=ranges,
            compress=suffix[1] == "z",
        )
    trials = read_trials(path)
    assert trials["stim"].tolist() == ["left", "right", "right", "left"]
    assert trials["ok"].tolist() == [1, 1, 0, 1]
    if suffix == ".dta":
        assert trials["extra"].fillna(0).tolist() == [1, 2, 3, 0]
    last = 99 if suffix == ".dta" else 0
    assert trials["conf"].fillna(0).tolist() == [1, 2, 4, last]
    codes = [99] if suffix == ".dta" else []
    counts = count_trials(path, **OWN, missing_codes=codes)
    assert int(counts.sum()) == 3
    assert "codes of stim replaced by their labels" in said(counts)
    assert ("user-missing values of conf (99): 1" in said(counts)) is (suffix != ".dta")


@needs_extra
def test_the_filled_sheet_of_excel_is_read_and_of_two_one_is_asked_for(tmp_path):
    path = tmp_path / "trials.xlsx"
    table = pd.DataFrame({"correct": [True, False], "confidence": [2, None], "id": ["01", "02"]})
    with pd.ExcelWriter(path) as book:
        table.to_excel(book, sheet_name="trials", index=False)
        pd.DataFrame().to_excel(book, sheet_name="notes")
    trials = read_trials(path)
    assert trials["correct"].tolist() == [True, False]
    assert int(count_correct(path, by="id").sel(cell="01").sum()) == 1
    with pd.ExcelWriter(path) as book:
        for name in ("one", "two {n}"):
            table.to_excel(book, sheet_name=name, index=False)
    with pytest.raises(InputError, match=r"sheet_name='one'.*got sheets 'one', 'two \{n\}'"):
        read_trials(path)


def test_several_experiments_in_a_file_are_named(tmp_path):
    path = tmp_path / "pp.csv"
    path.write_text("correct,confidence,expName,trials.thisN\n1,1,a,0\n0,2,a,1\n1,2,b,0\n")
    assert "several experiments in column expName, a (2 rows); b (1 rows)" in said(
        count_correct(path)
    )
    assert count_correct(path, by="expName").sizes["cell"] == 2


def test_a_code_in_the_key_is_named_with_what_declares_it_missing(tmp_path):
    path = tmp_path / "pp.csv"
    path.write_text(PSYCHOPY + "dog,-99,right,0,.6,2,,5,\ncat,-99,left,0,.6,3,,6,\n")
    with pytest.raises(InputError, match=r"-99.*looks like a code.*missing_codes"):
        count_trials(path)
    assert int(count_trials(path, missing_codes=-99).sum()) == 3


@needs_extra
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.sav", b"$FL2@(#) IBM SPSS"),
        ("no.xlsx", b"no archive"),
        ("cut.json", b'[{"a": 1}'),
        ("deep.json", b"[" * 100_000),
        ("object.json", b'{"a": 1}'),
        ("empty.json", b""),
    ],
)
def test_damaged_files_of_labs_are_refused_in_one_line(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=name) as error:
        count_trials(path)
    assert "\n" not in str(error.value)


@needs_extra
def test_a_sav_that_was_cut_off_is_refused(tmp_path):
    pyreadstat = import_module("pyreadstat")
    path = tmp_path / "cut.sav"
    pyreadstat.write_sav(pd.DataFrame({"a": np.arange(500.0)}), path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="cannot be read"):
        read_trials(path)


def test_without_the_package_that_reads_a_format_the_error_says_what_to_install(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    path = tmp_path / "a.sav"
    path.write_bytes(b"$FL2")
    with pytest.raises(InputError, match=r"pip install.*labs"):
        read_trials(path)


def test_the_description_of_a_file_says_what_was_taken(tmp_path):
    path = tmp_path / "pp.csv"
    path.write_text(PSYCHOPY)
    first = hmetad.datasets.describe(path).iloc[0]
    assert first["fact"] == "file"
    assert "rows of practice (loop practice) excluded: 1" in first["guess"]
