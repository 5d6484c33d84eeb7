"""Stated confidence is read where its meaning is plain, and counted where it is not."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmetad.counts.noticed import frame_notices
from hmetad.errors import InputError
from hmetad.logs.stated import parse_confidence
from hmetad.logs.statements import read_statement, stated_wording


def one(value, **options):
    return parse_confidence([value], **options)["confidence"].item()


@pytest.mark.parametrize(
    "said",
    [
        "85%",
        "85 %",
        " 85.0% ",
        "**85%**",
        "85%.",
        "85 percent",
        "85 per cent",
        "8.5/10",
        "85/100",
        "8.5 out of 10",
        "8.5 of 10",
        '"85%"',
        0.85,
        "0.85",
        ".85",
        "8.5e-1",
        np.float32(0.85),
        '{"confidence": 0.85}',
        '{"confidence": "85%"}',
        '{"Confidence": "8.5/10", "answer": 3}',
        'I think so.\n```json\n{"result": {"answer": "B", "confidence": 0.85}}\n```',
        'First {"confidence": 0.85}, as I said: {"confidence": 0.85}',
        'First {"confidence": 85e-2}; then {"confidence": 0.850}',
        r"$\frac{1}{2}$ " * 5000 + '{"confidence": 0.85}',
        'An empty set {} and {"steps": [{"confidence": 0.85}]}',
        {"answer": {"confidence": 0.85}},
        [{"confidence": 0.85}],
        "Answer: B\nConfidence: 85%",
        "Answer: B\n- **Confidence:** 0.85",
        "confidence = 85%",
        "about 85%",
        "~85%",
        "(85%)",
        "I'm 85% sure",
        "I'm about 85 % sure that it is 20%.",
        "Frogs are green in 20% of cases; I am **85%** certain of it.",
        "I'm sure (85%) that it is B",
        "B (85%)",
        "Answer: C (85%)",
        "My confidence in this answer is 8.5 out of 10.",
        "confidence level: 0.85",
        "Answer: 20% Confidence: 85%",
        "I would answer B with 85% confidence, not 10%.",
        "<confidence>85%</confidence> and <answer>20%</answer>",
        "Confidence - 85%",
        "Confidence: I would say about 85%",
        "I was 60% sure at first. Now I'm 85% sure.",
        "Confidence: 60%\nNo.\nConfidence: 85%",
        'First {"confidence": 0.6}, then {"confidence": 0.85}',
        "\uff18\uff15\uff05",
        "\u0668\u0665\u066a",
        "Confidence\uff1a85%",
    ],
)
def test_the_same_confidence_in_many_words(said):
    assert one(said) == pytest.approx(0.85, rel=1e-6)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "missing"),
        (None, "missing"),
        (math.nan, "missing"),
        (pd.NA, "missing"),
        ('{"confidence": null}', "missing"),
        ("dunno", "not understood"),
        ("0,85", "not understood"),
        ("80-90%", "not understood"),
        ("85% of frogs are green", "not understood"),
        ("The answer is 85%", "not understood"),
        ("The answer is 85% (of all)", "not understood"),
        ("I'm not 85% sure", "not understood"),
        ("95% confidence interval", "not understood"),
        ("The share rose (80%)", "not understood"),
        ("confidence of 3 people", "not understood"),
        ("high", "a word without a number (words=)"),
        ("I am very sure.", "a word without a number (words=)"),
        ("Confidence - high", "a word without a number (words=)"),
        ("8/0", "not understood"),
        ("1e999/1e999", "not understood"),
        (True, "not understood"),
        ('{"confidence": true}', "not understood"),
        ('{"confidence": {"value": 0.8}}', "not understood"),
        ("{" * 5000, "not understood"),
        ("1" * 1_000_000, "not understood"),
        ("1" * 300 + "%", "not understood"),
        ('{"confidence": ' * 3000, "not understood"),
        ('{"confidence": 0.8', "not understood"),
        ("<b>85%</b>", "not understood"),
        ('{"a": {"confidence": 0.8}, "confidence": 0.9}', "several different confidences"),
        ("110%", "outside its scale"),
        ("-5%", "outside its scale"),
        ("12/10", "outside its scale"),
    ],
)
def test_what_cannot_be_read_is_rejected_with_a_reason(said, reason):
    parsed = parse_confidence([said, "50%"])
    assert parsed["rejected"].tolist() == [reason, ""]
    assert parsed["confidence"].isna().tolist() == [True, False]
    assert parsed.attrs["rejected"] == {reason: 1}
    (example,) = parsed.attrs["examples"]
    assert (example["reason"], example["count"]) == (reason, 1)
    json.dumps(parsed.attrs)


def test_a_field_is_looked_for_and_nothing_else():
    parsed = parse_confidence(
        ['{"sure": 0.8, "confidence": 0.1}', "0.7", "Sure: 60%", '{"a": [{"SURE": "1/2"}]}'],
        field="sure",
    )
    np.testing.assert_allclose(parsed["confidence"], [0.8, np.nan, 0.6, 0.5])
    assert parsed.attrs["rejected"] == {"no field 'sure'": 1}


def test_a_pattern_holds_the_confidence_in_its_group():
    said = ["I am 80% sure", "no", "80% of them; 80% sure", "80% sure, no, 90% sure"]
    parsed = parse_confidence(said, pattern=r"([0-9]+%) sure")
    np.testing.assert_allclose(parsed["confidence"], [0.8, np.nan, 0.8, 0.9])
    assert parsed.attrs["rejected"] == {"pattern not found": 1}


def test_a_field_goes_before_a_pattern_and_a_pattern_before_words():
    said = ['{"sure": 0.8} I am 90% sure', "maybe: 70 points, I am likely", "I am likely", "20%"]
    options = {"field": "sure", "words": {"likely": 0.6}}
    parsed = parse_confidence(said, **options)
    np.testing.assert_allclose(parsed["confidence"], [0.8, 0.6, 0.6, np.nan])
    parsed = parse_confidence(said, pattern="([0-9]+) points", scale="percent", **options)
    np.testing.assert_allclose(parsed["confidence"], [np.nan, 0.7, 0.6, np.nan])


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


def test_a_pattern_within_a_field_is_found_there_only():
    said = '{"confidence": "I would say 70%", "reason": "90% of frogs"}'
    assert one(said, field="confidence", pattern=r"([0-9]+%)") == pytest.approx(0.7)


def test_words_mean_what_the_caller_says():
    words = {"very likely": 0.9, "Unlikely": 0.2}
    parsed = parse_confidence(["Very likely.", "unlikely", "likely"], words=words)
    np.testing.assert_allclose(parsed["confidence"], [0.9, 0.2, np.nan])
    assert one('{"confidence": "very likely"}', words=words) == 0.9
    words = {"sure": 0.7, "very sure": 0.9, "high": 0.8}
    said = ["I'm very sure it's B", "Confidence - high", "with high confidence", "very sure."]
    parsed = parse_confidence(
        [*said, "I am sure", "high blood pressure", "I'm not sure"], words=words
    )
    np.testing.assert_allclose(parsed["confidence"], [0.9, 0.8, 0.8, 0.9, 0.7, np.nan, np.nan])


def test_a_word_is_the_same_with_its_accents_apart():
    assert one("SU\u0301re", words={"s\xfare": 0.7}) == 0.7


@pytest.mark.parametrize(
    ("values", "expected", "scale"),
    [
        ([0.3, 1, 0], [0.3, 1, 0], "probability"),
        (["85", "70", "100", "0"], [0.85, 0.7, 1, 0], "percent"),
        (["85", "70%", "9/10"], [0.85, 0.7, 0.9], "percent"),
        (["0.5", "70%"], [0.5, 0.7], "probability"),
        (["70%", "1/2"], [0.7, 0.5], "stated"),
        ([85, 70, 250], [0.85, 0.7, np.nan], "percent"),
    ],
)
def test_the_scale_is_read_from_a_column_that_leaves_no_doubt(values, expected, scale):
    parsed = parse_confidence(values)
    np.testing.assert_allclose(parsed["confidence"], expected)
    assert parsed.attrs["scale"] == scale


@pytest.mark.parametrize(
    "values",
    [["1"], [0, 1, 1], [1, 85], [0.5, 85], [7, 8, 9], [10, 20, 30], [150, 300], [-3], [0]],
)
def test_a_column_that_leaves_doubt_asks_for_its_scale(values):
    with pytest.raises(InputError, match=r"scale: got none, for [0-9] bare numbers"):
        parse_confidence(values)


@pytest.mark.parametrize(
    ("scale", "values", "expected"),
    [
        ("percent", [1, 85, 0.5], [0.01, 0.85, 0.005]),
        ("probability", [1, 85, 0.5], [1, np.nan, 0.5]),
        (10, [1, 7, 11], [0.1, 0.7, np.nan]),
        ((1, 7), [1, 4, 7, 0], [0, 0.5, 1, np.nan]),
        (0.7, [0.7], [1]),
    ],
)
def test_a_stated_scale_holds_for_the_whole_column(scale, values, expected):
    parsed = parse_confidence(values, scale=scale)
    np.testing.assert_allclose(parsed["confidence"], expected, rtol=1e-12)


def test_rejects_are_listed_once_with_their_number_and_cut_short():
    parsed = parse_confidence(["no"] * 3 + ["x" * 10_000, "\ud800", "50%"])
    assert parsed.attrs["examples"][0] == {"said": "no", "reason": "not understood", "count": 3}
    assert max(len(example["said"]) for example in parsed.attrs["examples"]) == 80
    assert "\\ud800" in {example["said"] for example in parsed.attrs["examples"]}


def test_a_series_keeps_its_index():
    values = pd.Series(["85%", None], index=["a", "b"])
    parsed = parse_confidence(values)
    assert parsed.index.tolist() == ["a", "b"]
    assert parse_confidence([]).empty


@pytest.mark.parametrize(
    "options",
    [
        {"scale": "promille"},
        {"scale": 0},
        {"scale": (7, 1)},
        {"scale": (1, 2, 3)},
        {"scale": math.inf},
        {"scale": True},
        {"field": ""},
        {"field": 3},
        {"pattern": "("},
        {"pattern": "[0-9]"},
        {"pattern": "(a)(b)"},
        {"pattern": 3},
        {"pattern": b"(a)"},
        {"words": {"likely": 75}},
        {"words": {"likely": "0.75"}},
        {"words": {"likely": 0.7, "LIKELY": 0.8}},
        {"words": ["likely"]},
    ],
)
def test_unusable_options_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        parse_confidence(["0.5"], **options)


def test_a_single_text_is_no_column():
    with pytest.raises(InputError, match="one value per trial"):
        parse_confidence("85%")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("confidence"), inner),
    max_leaves=8,
)


@given(st.lists(ANY | ANY.map(json.dumps) | st.text('{}[]":,.%/0189e confidence-')))
def test_any_value_is_a_probability_or_rejected(values):
    parsed = parse_confidence(values, scale="percent")
    known = parsed["confidence"].notna()
    assert parsed["confidence"][known].between(0, 1).all()
    assert (known == (parsed["rejected"] == "")).all()
    assert sum(parsed.attrs["rejected"].values()) == (~known).sum()
    json.dumps(parsed.attrs, ensure_ascii=False).encode()


@given(st.floats(0, 100))
def test_a_percentage_reads_back(percent):
    assert one(f"{percent!r}%") == pytest.approx(percent / 100, abs=1e-15)
    assert one(json.dumps({"confidence": percent}), scale="percent") == percent / 100


@given(ANY, st.sampled_from([{}, {"field": "confidence"}, {"pattern": "(.+)"}]))
def test_a_statement_is_a_number_or_says_why_not(value, options):
    statement = read_statement(value, stated_wording(**options))
    assert math.isnan(statement.number) == bool(statement.reason)
