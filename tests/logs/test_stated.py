"""Stated confidence is read where it stands by itself or is labelled, and counted elsewhere."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmetad.base.errors import InputError
from hmetad.counts.counting import count_trials
from hmetad.counts.noticed import frame_notices
from hmetad.logs.stated import parse_confidence, unread_notices
from hmetad.logs.trial_tables import read_trials


def one(value, **options):
    return parse_confidence([value], **options)["confidence"].item()


@pytest.mark.parametrize(
    "said",
    [
        # The whole answer
        "85%", "85 %", " 85.0% ", "**85%**", "85%.", "85 percent", "85 per cent", "8.5/10",
        "85/100", "8.5 out of 10", '"85%"', 0.85, "0.85", ".85", "8.5e-1", np.float32(0.85),
        "0,85", "85,0 %", "8,5/10", "\uff18\uff15\uff05", "\u0668\u0665\u066a",
        # A field of JSON
        {"answer": {"confidence": 0.85}}, [{"confidence": 0.85}],
        '{"confidence": 0.85}', '{"confidence": "85%"}', '{"confidence": "0,85"}',
        '{"Confidence": "8.5/10", "answer": 3}',
        'I think so.\n```json\n{"result": {"answer": "B", "confidence": 0.85}}\n```',
        'First {"confidence": 0.85}, as I said: {"confidence": 0.85}',
        'First {"confidence": 85e-2}; then {"confidence": 0.850}',
        'First {"confidence": 0.6}, then {"confidence": 0.85}',
        r"$\frac{1}{2}$ " * 5000 + '{"confidence": 0.85}',
        'An empty set {} and {"steps": [{"confidence": 0.85}]}',
        # A tag
        "<confidence>85%</confidence> and <answer>20%</answer>", "<Confidence>0,85</Confidence>",
        # A labelled line
        "Answer: B\nConfidence: 85%", "Answer: B\n- **Confidence:** 0.85", "confidence = 85%",
        "Confidence - 85%", "Confidence: 60%\nNo.\nConfidence: 85%", "Confidence\uff1a85%",
        "Confidence: 8,5/10", "Confidence: 0,85.\nAnswer: 20%",
    ],
)  # fmt: skip
def test_a_confidence_is_read_in_an_answer_a_field_a_tag_or_a_labelled_line(said):
    assert one(said) == pytest.approx(0.85, rel=1e-6)


@pytest.mark.parametrize(
    ("said", "expected"),
    [("Confidence: 87,5 %", 0.875), ("Confidence: 4/5", 0.8), ("6/7", 6 / 7), ("0/10", 0),
     ("100/100", 1), ("0,850", 0.85), ("0,7 ", 0.7), ("100%", 1)],
)  # fmt: skip
def test_numbers_have_a_comma_or_a_point_and_four_scales(said, expected):
    assert one(said) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "said",
    [
        # Denials, odds, ranges and guesses are not interpreted.
        "I can't be 100 % sure", "I'm not 100% sure", "hardly 100% sure", "I'm 85% sure",
        "I'm 70% confident, as I can't be 100% sure.", "I'm less than 50% sure", "about 0.7 sure",
        "about 85%", "~85%", "B (85%)", "50/50", "1/2", "3/4", "12/10", "8/0", "9 of 10",
        "80-90%", "Confidence: 80-90%", "Confidence: about 85%", "Confidence: 85%, or 90%",
        "My confidence in this answer is 8.5 out of 10.", "Answer: B. Confidence: 85%",
        "85% of frogs are green", "The answer is 85%", "95% confidence interval",
        # Perhaps a thousand
        "1,234", "1,234%", "Confidence: 1,000",
    ],
)  # fmt: skip
def test_running_text_and_what_may_mean_something_else_are_unread(said):
    parsed = parse_confidence([said, "50%"])
    assert parsed["rejected"].tolist() == ["not understood", ""]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "missing"), (None, "missing"), (math.nan, "missing"), (pd.NA, "missing"),
        ('{"confidence": null}', "missing"), ("dunno", "not understood"), ("..", "not understood"),
        ("high", "a word without a number (words=)"),
        ("very sure", "a word without a number (words=)"),
        ("Confidence - high", "a word without a number (words=)"),
        ("1e999/10", "not understood"), (True, "not understood"),
        ('{"confidence": true}', "not understood"),
        ('{"confidence": {"value": 0.8}}', "not understood"), ("{" * 5000, "not understood"),
        ("1" * 1_000_000, "not understood"), ("1" * 300 + "%", "not understood"),
        ('{"confidence": ' * 3000, "not understood"), ('{"confidence": 0.8', "not understood"),
        ("<b>85%</b>", "not understood"),
        ('{"a": {"confidence": 0.8}, "confidence": 0.9}', "several different confidences"),
        ("110%", "outside its scale"), ("-5%", "outside its scale"),
        ("Confidence: -5/10", "outside its scale"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_rejected_with_a_reason(said, reason):
    parsed = parse_confidence([said, "50%"])
    assert parsed["rejected"].tolist() == [reason, ""]
    assert parsed["confidence"].isna().tolist() == [True, False]
    assert parsed.attrs["rejected"] == {reason: 1}
    (example,) = parsed.attrs["examples"]
    assert (example["reason"], example["count"]) == (reason, 1)
    json.dumps(parsed.attrs)


FIELD_FIRST = ['{"sure": 0.8} I am 90% sure', "maybe: 70 points, I am likely", "likely", "20%"]


@pytest.mark.parametrize(
    ("said", "options", "expected", "rejected"),
    [
        # A field is looked for, and nothing else.
        (['{"sure": 0.8, "confidence": 0.1}', "0.7", "Sure: 60%", '{"a": [{"SURE": "5/10"}]}'],
         {"field": "sure"}, [0.8, np.nan, 0.6, 0.5], {"no field 'sure'": 1}),
        # A pattern holds the confidence in its group.
        (["I am 80% sure", "no", "80% of them; 80% sure", "80% sure, no, 90% sure"],
         {"pattern": "([0-9]+%) sure"}, [0.8, np.nan, 0.8, 0.9], {"pattern not found": 1}),
        # A field goes before a pattern.
        (FIELD_FIRST, {"field": "sure", "words": {"likely": 0.6}}, [0.8, np.nan, np.nan, np.nan],
         {"no field 'sure'": 3}),
        (FIELD_FIRST, {"field": "sure", "words": {"likely": 0.6}, "pattern": "([0-9]+) points",
                       "scale": "percent"}, [np.nan, 0.7, np.nan, np.nan],
         {"pattern not found": 3}),
        # A pattern within a field is found there only.
        (['{"confidence": "I would say 70%", "reason": "90% of frogs"}'],
         {"field": "confidence", "pattern": "([0-9]+%)"}, [0.7], {}),
        # Words mean what the caller says, in either case, and their accents may stand apart.
        (["Very likely.", "unlikely", "likely", '{"confidence": "very likely"}', "Very likely so",
          "Confidence: unlikely"],
         {"words": {"very likely": 0.9, "Unlikely": 0.2}}, [0.9, 0.2, np.nan, 0.9, np.nan, 0.2],
         {"not understood": 2}),
        (["SU\u0301re"], {"words": {"s\xfare": 0.7}}, [0.7], {}),
    ],
)  # fmt: skip
def test_confidence_is_looked_for_where_the_caller_says(said, options, expected, rejected):
    parsed = parse_confidence(pd.Series(said, index=[f"i{i}" for i in range(len(said))]), **options)
    np.testing.assert_allclose(parsed["confidence"], expected)
    assert parsed.attrs["rejected"] == rejected
    assert parsed.index[0] == "i0"


def test_how_many_texts_restate_their_confidence_is_said():
    parsed = parse_confidence(
        ["Confidence: 60%\nConfidence: 85%", "Confidence: 70%\nConfidence: 7/10"]
    )
    assert parsed["confidence"].tolist() == [0.85, 0.7]
    (notice,) = frame_notices(parsed)
    assert notice.code == "restated-confidence"
    assert notice.message.startswith("1 of 2 texts")


def test_two_scales_in_a_column_are_never_read_as_one_silently():
    with pytest.raises(InputError, match=r"mixes two scales.*1 lie between 0 and 1, and 2 above 1"):
        parse_confidence([0.9, 85, 70])
    parsed = parse_confidence([0.9, 85, 70], scale="percent")
    (notice,) = frame_notices(parsed)
    assert (notice.code, notice.severity) == ("mixed-scales", "warning")
    assert "1 between 0 and 1 and 2 above 1: all were read on one, percent" in notice.message
    assert frame_notices(parse_confidence([90, 85, 1], scale="percent")) == []


@pytest.mark.parametrize(
    ("values", "scale", "expected", "name"),
    [
        ([0.3, 1, 0], None, [0.3, 1, 0], "probability"),
        (["85", "70", "100", "0"], None, [0.85, 0.7, 1, 0], "percent"),
        (["85", "70%", "9/10"], None, [0.85, 0.7, 0.9], "percent"),
        (["0.5", "70%"], None, [0.5, 0.7], "probability"),
        (["70%", "5/10"], None, [0.7, 0.5], "stated"),
        ([85, 70, 250], None, [0.85, 0.7, np.nan], "percent"),
        ([1, 85, 0.5], "percent", [0.01, 0.85, 0.005], "percent"),
        ([1, 85, 0.5], "probability", [1, np.nan, 0.5], "probability"),
        ([1, 7, 11], 10, [0.1, 0.7, np.nan], "0 to 10"),
        ([1, 4, 7, 0], (1, 7), [0, 0.5, 1, np.nan], "1 to 7"),
        ([0.7], 0.7, [1], "0 to 0.7"),
    ],
)
def test_one_scale_holds_for_a_column_the_callers_or_one_that_leaves_no_doubt(
    values, scale, expected, name
):
    parsed = parse_confidence(values, scale=scale)
    np.testing.assert_allclose(parsed["confidence"], expected, rtol=1e-12)
    assert parsed.attrs["scale"] == name


@pytest.mark.parametrize(
    "values",
    [["1"], [0, 1, 1], [1, 85], [0.5, 85], [7, 8, 9], [10, 20, 30], [150, 300], [-3], [0]],
)
def test_a_column_that_leaves_doubt_asks_for_its_scale(values):
    with pytest.raises(InputError, match=r"scale: .*got none, for [0-9] bare numbers"):
        parse_confidence(values)


def test_rejects_are_listed_once_with_their_number_and_cut_short():
    parsed = parse_confidence(["no"] * 3 + ["x" * 10_000, "\ud800", "50%"])
    assert parsed.attrs["examples"][0] == {"said": "no", "reason": "not understood", "count": 3}
    assert max(len(example["said"]) for example in parsed.attrs["examples"]) == 80
    assert "\\ud800" in {example["said"] for example in parsed.attrs["examples"]}


REFUSED = {
    "scale": ["promille", 0, (7, 1), (1, 2, 3), math.inf, True],
    "field": ["", 3],
    "pattern": ["(", "[0-9]", "(a)(b)", 3, b"(a)"],
    "words": [{"likely": 75}, {"likely": "0.75"}, {"likely": 0.7, "LIKELY": 0.8}, ["likely"]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_unusable_options_are_refused(name, value):
    with pytest.raises(InputError, match=name):
        parse_confidence(["0.5"], **{name: value})
    with pytest.raises(InputError, match="one value per trial"):
        parse_confidence("85%")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("confidence"), inner),
    max_leaves=8,
)


# Of ten numbers, most of which are on no scale, none is read.
@given(st.lists(ANY | ANY.map(json.dumps) | st.text('{}[]":,.%/0189e confidence-'), max_size=9))
def test_any_value_is_a_probability_or_rejected(values):
    parsed = parse_confidence(values, scale="percent")
    known = parsed["confidence"].notna()
    assert parsed["confidence"][known].between(0, 1).all()
    assert (known == (parsed["rejected"] == "")).all()
    assert sum(parsed.attrs["rejected"].values()) == (~known).sum()
    json.dumps(parsed.attrs, ensure_ascii=False).encode()


# --- columns that stay as they are ----------------------------------------------------------


@pytest.mark.parametrize("dtype", [None, object])
def test_ratings_and_probabilities_have_no_notice(dtype):
    plain = [[0.2, 0.9, 1, 0], [1, 2, 3, 4], [0, 50, 100], [True, False], [None, np.nan]]
    for values in (*plain, ["0.5", " 1 ", ""]):
        assert unread_notices(pd.Series(values, dtype=dtype)) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.83, 71, 0.5, 100, 1], "2 numbers between 0 and 1 and 2 above 1"),
        (["0.83", "71"], "1 numbers between 0 and 1 and 1 above 1"),
        ([0.5, -0.5, -2], "2 of 3 values are below 0"),
        (["I'm 85% sure", None, "0.5", {"confidence": 3}], "2 of 4 values are non-numeric text"),
        (["85%", "high"], "2 of 2 values are non-numeric text"),
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
    assert "mixed-scales" in count_trials(trials, quantiles=2).attrs["notices"]
    (named,) = frame_notices(read_trials(tmp_path / "t.csv", scale="percent"))
    assert "all were read on one" in named.message


def test_the_step_that_a_notice_of_texts_names_reads_them(tmp_path):
    said = ["Confidence: 85%", "<confidence>0.85</confidence>", "85%", "0.85"]
    pd.DataFrame({"confidence": said}).to_csv(tmp_path / "t.csv", index=False)
    (notice,) = frame_notices(read_trials(tmp_path / "t.csv"))
    assert "scale='probability'" in notice.next_step
    read = read_trials(tmp_path / "t.csv", scale="probability")
    assert read["confidence"].tolist() == [0.85] * 4
    assert frame_notices(read) == []


def test_a_scale_outside_of_which_most_numbers_lie_is_refused():
    ratings = [1, 2, 3, 4] * 5 + ["high"]
    with pytest.raises(
        InputError, match=r"are ratings.*15 of 20 numbers lie outside of it"
    ) as told:
        parse_confidence(ratings, scale="probability")
    assert "--scale 1,4" in str(told.value)
    assert parse_confidence(ratings, scale=(1, 4))["confidence"].notna().sum() == 20
    # A minority is counted as it was, and so are few.
    mixed = parse_confidence([0.2] * 15 + [3] * 5, scale="probability")
    assert mixed.attrs["rejected"] == {"outside its scale": 5}
    assert parse_confidence([3, 4, 0.5], scale="probability")["confidence"].notna().sum() == 1
