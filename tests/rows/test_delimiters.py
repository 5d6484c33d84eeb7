"""Tables are read from folders and patterns, whatever separates their columns."""

import numpy as np
import pytest

from hmetad.base.errors import InputError
from hmetad.counts.counting import count_correct
from hmetad.logs.samples import read_log
from hmetad.logs.trial_tables import read_trials
from hmetad.rows.files import read_table
from hmetad.rows.texts import sniffed_delimiter

TEXTS = {
    "t.csv": "item;sure\n1;0.5\n2;0.75\n",
    "t.tsv": "item|sure\n1|0.5\n2|0.75\n",
    "t.txt": "item   sure\n1      0.5\n  2 \t 0.75 \n",
    "t.dat": "item\tsure\n1\t0.5\n2\t0.75\n",
    "u.txt": "item,sure\n1,0.5\n2,0.75\n",
}
NAMES = {"t.csv": "semicolon", "t.tsv": "bar", "t.txt": "space", "t.dat": "tab", "u.txt": "comma"}


@pytest.mark.parametrize("name", TEXTS)
def test_a_delimiter_is_found_or_named_and_said(name, tmp_path):
    (tmp_path / name).write_text(TEXTS[name])
    for delimiter in (None, NAMES[name]):
        trials = read_trials(tmp_path / name, delimiter=delimiter)
        assert trials.to_dict("list") == {"item": [1, 2], "sure": [0.5, 0.75]}
        assert trials.attrs["delimiter"] == NAMES[name]


def test_a_delimiter_within_quotes_is_none(tmp_path):
    (tmp_path / "t.csv").write_text('a;b\n1;"x;\ny"\n2;z\n')
    found = read_table(tmp_path / "t.csv", text=["a"])
    assert found.to_dict("list") == {"a": ["1", "2"], "b": ["x;\ny", "z"]}


def test_the_usual_delimiter_is_not_sniffed_away(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"1;2",x\n"3;4",y\n')
    assert sniffed_delimiter(path) is None
    assert "delimiter" not in read_trials(path).attrs


@pytest.mark.parametrize("content", ["a;b\n1;2\n3\n", "a;b\n1\n", "text\nwith; a sign\n"])
def test_lines_that_do_not_split_alike_are_not_split(content, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    assert sniffed_delimiter(tmp_path / "t.csv") is None


def test_a_named_delimiter_is_one_of_a_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"delimiter: .*Expected one of semicolon.*, got 'slash'"):
        read_trials(tmp_path / "t.csv", delimiter="slash")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(InputError, match=r"delimiter: .*a text table.*got 'tab', for "):
        read_trials(tmp_path / "t.jsonl", delimiter="tab")
    for delimiter in ("", ";;", "\n", '"'):
        with pytest.raises(InputError, match="delimiter"):
            read_table(tmp_path / "t.csv", delimiter=delimiter)


def test_folders_and_patterns_are_read_as_one_table(tmp_path):
    (tmp_path / "more").mkdir()
    for i, name in enumerate(("a.csv", "b.csv", "more/c.csv")):
        (tmp_path / name).write_text(f"item,ok\n{i},1\n")
    (tmp_path / "notes.md").write_text("nothing")
    trials = read_trials(tmp_path)
    assert trials["item"].tolist() == [0, 1, 2]
    assert trials["file"].tolist() == [str(tmp_path / n) for n in ("a.csv", "b.csv", "more/c.csv")]
    assert trials.attrs["files"] == trials["file"].tolist()
    assert read_trials(tmp_path / "*.csv")["item"].tolist() == [0, 1]
    assert read_trials(tmp_path / "**" / "[bc].csv")["item"].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"Expected files ending in .*\.dat.*no table there"):
        read_trials(tmp_path / "x*.csv")


@pytest.mark.parametrize("place", [".", "*/*.txt", "*/?.t*t", "**/*", "**/*.[ct]*"])
def test_texts_of_folders_and_of_patterns_with_several_stars_are_one_table(place, tmp_path):
    for name in ("a/x", "b/y"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.txt").write_text("correct sure\n1 0.9\n0 0.2\n")
    assert len(read_trials(tmp_path / place)) == 4
    assert count_correct(tmp_path / place, confidence="sure", quantiles=2).sum() == 4
    (tmp_path / "a" / "z.csv").write_text("correct,sure\n1,0.9\n")
    assert len(read_trials(tmp_path)) == 1


def test_a_pattern_of_tables_is_recognised_and_one_of_logs_asks_for_a_folder(tmp_path):
    for name in ("a/x.csv", "b/x.csv", "b/y.eval"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("correct,sure\n1,0.9\n")
    assert len(read_log("auto", tmp_path / "*" / "*.csv")) == 2
    with pytest.raises(InputError, match="Name the kind"):
        read_log("auto", tmp_path / "*" / "*")


def test_a_pattern_means_tables_that_are_not_hidden(tmp_path):
    for name in ("a.csv", "b.txt", "_c.csv", ".d.csv", "notes.md"):
        (tmp_path / name).write_text("item,ok\n1,1\n")
    found = [str(tmp_path / name) for name in ("a.csv", "b.txt")]
    assert read_trials(tmp_path / "*").attrs["files"] == found


def test_grades_say_what_is_right_and_the_rest_is_counted(tmp_path):
    (tmp_path / "t.csv").write_text("ok,x\nYes,1\nno,1\nright,1\nmaybe,1\n,1\n1,1\n")
    grades = {"yes": True, "no": False}
    trials = read_trials(tmp_path / "t.csv", columns={"correct": "ok"}, grades=grades)
    assert trials["correct"].isna().tolist() == [False, False, False, True, True, False]
    assert trials["correct"].dropna().tolist() == [True, False, True, True]
    assert trials.attrs["rejected"] == {"correct: score 'maybe'": 1, "correct: no score": 1}
    with pytest.raises(InputError, match=r"grades: .*got no column 'correct'"):
        read_trials(tmp_path / "t.csv", grades=grades)


def test_numbers_are_graded_by_a_word_or_a_threshold(tmp_path):
    (tmp_path / "t.csv").write_text("correct,x\n2,1\n1,1\n0.4,1\n")
    trials = read_trials(tmp_path / "t.csv", grades={"2": False})
    assert trials["correct"].tolist()[:2] == [False, True]
    assert trials.attrs["rejected"] == {"correct: score is partial credit": 1}
    trials = read_trials(tmp_path / "t.csv", threshold=0.5)
    np.testing.assert_array_equal(trials["correct"], [True, True, False])
