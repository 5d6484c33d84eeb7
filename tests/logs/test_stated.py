"""Stated confidence is read where its meaning is plain, and counted where it is not."""

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
        "85%", "85 %", " 85.0% ", "**85%**", "85%.", "85 percent", "85 per cent", "8.5/10",
        "85/100", "8.5 out of 10", "8.5 of 10", '"85%"', 0.85, "0.85", ".85", "8.5e-1",
        np.float32(0.85), '{"confidence": 0.85}', '{"confidence": "85%"}',
        '{"Confidence": "8.5/10", "answer": 3}',
        'I think so.\n```json\n{"result": {"answer": "B", "confidence": 0.85}}\n```',
        'First {"confidence": 0.85}, as I said: {"confidence": 0.85}',
        'First {"confidence": 85e-2}; then {"confidence": 0.850}',
        r"$\frac{1}{2}$ " * 5000 + '{"confidence": 0.85}',
        'An empty set {} and {"steps": [{"confidence": 0.85}]}', {"answer": {"confidence": 0.85}},
        [{"confidence": 0.85}], "Answer: B\nConfidence: 85%", "Answer: B\n- **Confidence:** 0.85",
        "confidence = 85%", "about 85%", "~85%", "(85%)", "I'm 85% sure",
        "I'm about 85 % sure that it is 20%.",
        "Frogs are green in 20% of cases; I am **85%** certain of it.",
        "I'm sure (85%) that it is B", "B (85%)", "Answer: C (85%)",
        "My confidence in this answer is 8.5 out of 10.", "confidence level: 0.85",
        "Answer: 20% Confidence: 85%", "I would answer B with 85% confidence, not 10%.",
        "<confidence>85%</confidence> and <answer>20%</answer>", "Confidence - 85%",
        "Confidence: I would say about 85%", "I was 60% sure at first. Now I'm 85% sure.",
        "Confidence: 60%\nNo.\nConfidence: 85%",
        'First {"confidence": 0.6}, then {"confidence": 0.85}', "\uff18\uff15\uff05",
        "\u0668\u0665\u066a", "Confidence\uff1a85%",
    ],
)  # fmt: skip
def test_the_same_confidence_in_many_words(said):
    assert one(said) == pytest.approx(0.85, rel=1e-6)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "missing"), (None, "missing"), (math.nan, "missing"), (pd.NA, "missing"),
        ('{"confidence": null}', "missing"), ("dunno", "not understood"),
        ("0,85", "not understood"), ("80-90%", "not understood"),
        ("85% of frogs are green", "not understood"), ("The answer is 85%", "not understood"),
        ("The answer is 85% (of all)", "not understood"), ("I'm not 85% sure", "not understood"),
        ("95% confidence interval", "not understood"), ("The share rose (80%)", "not understood"),
        ("confidence of 3 people", "not understood"),
        ("high", "a word without a number (words=)"),
        ("I am very sure.", "a word without a number (words=)"),
        ("Confidence - high", "a word without a number (words=)"), ("8/0", "not understood"),
        ("1e999/1e999", "not understood"), (True, "not understood"),
        ('{"confidence": true}', "not understood"),
        ('{"confidence": {"value": 0.8}}', "not understood"), ("{" * 5000, "not understood"),
        ("1" * 1_000_000, "not understood"), ("1" * 300 + "%", "not understood"),
        ('{"confidence": ' * 3000, "not understood"), ('{"confidence": 0.8', "not understood"),
        ("<b>85%</b>", "not understood"),
        ('{"a": {"confidence": 0.8}, "confidence": 0.9}', "several different confidences"),
        ("110%", "outside its scale"), ("-5%", "outside its scale"),
        ("12/10", "outside its scale"),
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


FIELD_FIRST = ['{"sure": 0.8} I am 90% sure', "maybe: 70 points, I am likely", "I am likely", "20%"]
SURE_WORDS = {"sure": 0.7, "very sure": 0.9, "high": 0.8}


@pytest.mark.parametrize(
    ("said", "options", "expected", "rejected"),
    [
        # A field is looked for, and nothing else.
        (['{"sure": 0.8, "confidence": 0.1}', "0.7", "Sure: 60%", '{"a": [{"SURE": "1/2"}]}'],
         {"field": "sure"}, [0.8, np.nan, 0.6, 0.5], {"no field 'sure'": 1}),
        # A pattern holds the confidence in its group.
        (["I am 80% sure", "no", "80% of them; 80% sure", "80% sure, no, 90% sure"],
         {"pattern": "([0-9]+%) sure"}, [0.8, np.nan, 0.8, 0.9], {"pattern not found": 1}),
        # A field goes before a pattern, and a pattern before words.
        (FIELD_FIRST, {"field": "sure", "words": {"likely": 0.6}}, [0.8, 0.6, 0.6, np.nan],
         {"no field 'sure'": 1}),
        (FIELD_FIRST, {"field": "sure", "words": {"likely": 0.6}, "pattern": "([0-9]+) points",
                       "scale": "percent"}, [np.nan, 0.7, 0.6, np.nan], {"pattern not found": 2}),
        # A pattern within a field is found there only.
        (['{"confidence": "I would say 70%", "reason": "90% of frogs"}'],
         {"field": "confidence", "pattern": "([0-9]+%)"}, [0.7], {}),
        # Words mean what the caller says, in either case, and their accents may stand apart.
        (["Very likely.", "unlikely", "likely", '{"confidence": "very likely"}'],
         {"words": {"very likely": 0.9, "Unlikely": 0.2}}, [0.9, 0.2, np.nan, 0.9],
         {"not understood": 1}),
        (["I'm very sure it's B", "Confidence - high", "with high confidence", "very sure.",
          "I am sure", "high blood pressure", "I'm not sure"],
         {"words": SURE_WORDS}, [0.9, 0.8, 0.8, 0.9, 0.7, np.nan, np.nan],
         {"not understood": 1, "a word without a number (words=)": 1}),
        (["SU\u0301re"], {"words": {"s\xfare": 0.7}}, [0.7], {}),
    ],
)  # fmt: skip
def test_confidence_is_looked_for_where_the_caller_says(said, options, expected, rejected):
    parsed = parse_confidence(pd.Series(said, index=[f"i{i}" for i in range(len(said))]), **options)
    np.testing.assert_allclose(parsed["confidence"], expected)
    assert parsed.attrs["rejected"] == rejected
    assert parsed.index[0] == "i0"


def test_how_many_texts_restate_their_confidence_is_said():
    parsed = parse_confidence(["60% sure. No, 85% sure", "I'm 70% sure, as I said: 70% sure"])
    assert parsed["confidence"].tolist() == [0.85, 0.7]
    (notice,) = frame_notices(parsed)
    assert notice.code == "restated-confidence"
    assert notice.message.startswith("1 of 2 texts")


def test_two_scales_in_a_column_are_never_read_as_one_silently():
    with pytest.raises(
        InputError, match=r": 1 lie between 0 and 1, and 2 above 1.*mixes two scales"
    ):
        parse_confidence([0.9, 85, 70])
    parsed = parse_confidence([0.9, 85, 70], scale="percent")
    (notice,) = frame_notices(parsed)
    assert (notice.code, notice.severity) == ("mixed-scales", "warning")
    assert "1 between 0 and 1 beside 2 above 1: all were read on one, percent" in notice.message
    assert frame_notices(parse_confidence([90, 85, 1], scale="percent")) == []


@pytest.mark.parametrize(
    ("values", "scale", "expected", "name"),
    [
        ([0.3, 1, 0], None, [0.3, 1, 0], "probability"),
        (["85", "70", "100", "0"], None, [0.85, 0.7, 1, 0], "percent"),
        (["85", "70%", "9/10"], None, [0.85, 0.7, 0.9], "percent"),
        (["0.5", "70%"], None, [0.5, 0.7], "probability"),
        (["70%", "1/2"], None, [0.7, 0.5], "stated"),
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
    with pytest.raises(InputError, match=r"scale: got none, for [0-9] bare numbers"):
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
    assert "mixed-scales" in count_trials(trials, quantiles=2).attrs["notices"]
    (named,) = frame_notices(read_trials(tmp_path / "t.csv", scale="percent"))
    assert "all were read on one" in named.message


def test_the_step_that_a_notice_of_texts_names_reads_them(tmp_path):
    said = ["I'm 85% sure", "<confidence>0.85</confidence>", "85%", "0.85"]
    pd.DataFrame({"confidence": said}).to_csv(tmp_path / "t.csv", index=False)
    (notice,) = frame_notices(read_trials(tmp_path / "t.csv"))
    assert "scale='probability'" in notice.next_step
    read = read_trials(tmp_path / "t.csv", scale="probability")
    assert read["confidence"].tolist() == [0.85] * 4
    assert frame_notices(read) == []


def test_a_scale_outside_of_which_most_numbers_lie_is_refused():
    ratings = [1, 2, 3, 4] * 5 + ["high"]
    with pytest.raises(
        InputError, match=r"15 of 20 numbers lie outside of it.*are ratings"
    ) as told:
        parse_confidence(ratings, scale="probability")
    assert "--scale 1,4" in str(told.value)
    assert parse_confidence(ratings, scale=(1, 4))["confidence"].notna().sum() == 20
    # A minority is counted as it was, and so are few.
    mixed = parse_confidence([0.2] * 15 + [3] * 5, scale="probability")
    assert mixed.attrs["rejected"] == {"outside its scale": 5}
    assert parse_confidence([3, 4, 0.5], scale="probability")["confidence"].notna().sum() == 1
