"""Tables get the names and the shape that counting expects."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmetad.errors import InputError
from hmetad.logs.wide import long_table, read_trials

WIDE = pd.DataFrame(
    {
        "item": ["a", "b"],
        "gpt-4.1_ok": [1, 0],
        "gpt-4.1_conf": [90, 60],
        "llama_ok": [0, 0],
        "llama_conf": [80, 20],
    }
)
TEMPLATES = {"correct": "{model}_ok", "confidence": "{model}_conf"}


def test_a_wide_table_becomes_long_as_melt_has_it():
    long = long_table(WIDE, wide=TEMPLATES, keep=["item"])
    melted = WIDE.melt(id_vars="item", value_vars=["gpt-4.1_ok", "llama_ok"], value_name="correct")
    assert long["correct"].tolist() == melted["correct"].tolist()
    assert long["item"].tolist() == melted["item"].tolist()
    assert long["model"].tolist() == ["gpt-4.1"] * 2 + ["llama"] * 2
    assert long["confidence"].tolist() == [90, 60, 80, 20]


def test_columns_that_are_kept_are_no_models():
    table = pd.DataFrame({"item": ["a"], "gpt": [1], "llama": [0]})
    long = long_table(table, wide={"correct": "{who}"}, keep="item", name="who")
    assert long.to_dict("list") == {"item": ["a", "a"], "who": ["gpt", "llama"], "correct": [1, 0]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wide": {"correct": "{model}_acc"}}, "templates that some columns fit.*'item'"),
        ({"wide": {"correct": "model_ok"}}, r"a name with \{model\} in it"),
        ({"wide": {"correct": "{model}_{model}"}}, r"a name with \{model\} in it"),
        ({"wide": {}}, "new columns"),
        ({"wide": "{model}_ok"}, "wide: got '{model}_ok', allowed is a mapping"),
        ({"wide": {"model": "{model}_ok"}}, "new columns"),
        ({"wide": TEMPLATES, "keep": ["itm"]}, "Did you mean 'item'"),
        ({"wide": {"correct": "{model}", "confidence": "{model}_conf"}}, "tell the columns apart"),
        ({"wide": {"correct": "{model}_ok", "confidence": "l{model}_conf"}}, "no column"),
    ],
)
def test_templates_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        long_table(WIDE, **options)


def test_a_table_is_read_renamed_and_parsed(tmp_path):
    table = pd.DataFrame({"acc": [1, 0, 1], "sure": ["very", "8/10", "?"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    columns = {"correct": "acc", "confidence": "sure"}
    trials = read_trials(tmp_path / "t.csv", columns=columns, words={"very": 0.95})
    np.testing.assert_allclose(trials["confidence"], [0.95, 0.8, np.nan])
    assert trials["correct"].tolist() == [1, 0, 1]
    assert trials.attrs["rejected"] == {"confidence: not understood": 1}
    assert trials.attrs["examples"][0]["said"] == "?"


def test_ratings_stay_as_they_are_unless_a_scale_is_named(tmp_path):
    pd.DataFrame({"correct": [1, 0], "confidence": [4, 2]}).to_csv(tmp_path / "t.csv", index=False)
    assert read_trials(tmp_path / "t.csv")["confidence"].tolist() == [4, 2]
    assert read_trials(tmp_path / "t.csv", scale=(1, 5))["confidence"].tolist() == [0.75, 0.25]


def test_a_wide_table_of_a_file_is_read_and_parsed(tmp_path):
    WIDE.to_csv(tmp_path / "t.csv", index=False)
    trials = read_trials(tmp_path / "t.csv", wide=TEMPLATES, keep=["item"], scale="percent")
    np.testing.assert_allclose(trials["confidence"], [0.9, 0.6, 0.8, 0.2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"correct": "acc"}}, "Did you mean|There are"),
        ({"columns": ["acc"]}, "allowed is a mapping such as"),
        ({"columns": {"item": "llama_ok"}}, "beside a column 'item'"),
        ({"columns": {"x": "item", "y": "item"}}, "each column once"),
        ({"scale": "percent"}, "confidence: got no such column"),
    ],
)
def test_columns_that_are_not_there_are_refused(options, message, tmp_path):
    WIDE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=message):
        read_trials(tmp_path / "t.csv", **options)


def test_columns_may_swap_their_names(tmp_path):
    pd.DataFrame({"a": [1], "b": [2]}).to_csv(tmp_path / "t.csv", index=False)
    trials = read_trials(tmp_path / "t.csv", columns={"a": "b", "b": "a"})
    assert trials.iloc[0].to_dict() == {"a": 2, "b": 1}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.text("ab,1.5%\n\"'_conf", max_size=60) | st.binary(max_size=40).map(repr),
    wide=st.none() | st.dictionaries(st.text("ab", min_size=1), st.text("{model}_ab", max_size=9)),
)
def test_any_table_is_read_or_refused(content, wide, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    with suppress(InputError):
        read_trials(tmp_path / "t.csv", wide=wide)
    with suppress(InputError):
        read_trials(tmp_path / "t.csv", columns={"confidence": "a"}, scale="percent")
