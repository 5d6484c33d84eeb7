"""Confidence that stays as it is says where it is no number, or of two scales."""

import numpy as np
import pandas as pd
import pytest

from hmetad.counts.counting import count_trials
from hmetad.counts.noticed import frame_notices
from hmetad.logs.stated import unread_notices
from hmetad.logs.wide import read_trials


@pytest.mark.parametrize(
    "values",
    [
        [0.2, 0.9, 1, 0],
        [1, 2, 3, 4],
        [0, 50, 100],
        [True, False],
        [None, np.nan],
        ["0.5", " 1 ", ""],
    ],
)
@pytest.mark.parametrize("dtype", [None, object])
def test_ratings_and_probabilities_have_no_notice(values, dtype):
    assert unread_notices(pd.Series(values, dtype=dtype)) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.83, 71, 0.5, 100, 1], "2 numbers between 0 and 1 beside 2 above 1"),
        (["0.83", "71"], "1 numbers between 0 and 1 beside 1 above 1"),
        ([0.5, -0.5, -2], "2 of 3 values are below 0"),
        (["I'm 85% sure", None, "0.5", {"confidence": 3}], "2 of 4 values are texts"),
        (["85%", "high"], "2 of 2 values are texts"),
    ],
)
def test_what_is_no_number_or_of_two_scales_is_said(values, said):
    (notice,) = unread_notices(pd.Series(values))
    assert said in notice.message
    assert notice.severity == "warning"


def test_the_notice_is_that_of_the_trials_and_of_their_counts_until_a_scale_is_named(tmp_path):
    rows = ["stimulus,response,confidence", "a,a,0.25", "b,b,71", "a,b,0.5", "b,b,90"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    trials = read_trials(tmp_path / "t.csv")
    assert [one.code for one in frame_notices(trials)] == ["mixed-scales"]
    counts = count_trials(trials, quantiles=2)
    assert "mixed-scales" in counts.attrs["notices"]
    (named,) = frame_notices(read_trials(tmp_path / "t.csv", scale="percent"))
    assert "all were read on one" in named.message


def test_the_step_that_a_notice_of_texts_names_reads_them(tmp_path):
    said = ["I'm 85% sure", "<confidence>0.85</confidence>", "85%", "0.85"]
    pd.DataFrame({"confidence": said}).to_csv(tmp_path / "t.csv", index=False)
    (notice,) = frame_notices(read_trials(tmp_path / "t.csv"))
    assert "3 of 4 values are texts" in notice.message
    assert "scale='probability'" in notice.next_step
    read = read_trials(tmp_path / "t.csv", scale="probability")
    assert read["confidence"].tolist() == [0.85] * 4
    assert frame_notices(read) == []
