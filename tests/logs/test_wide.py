"""Tables get the names and the shape that counting expects."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmetad.base.errors import InputError
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


def test_a_wide_table_becomes_long_as_melt_has_it(tmp_path):
    long = long_table(WIDE, wide=TEMPLATES, keep=["item"])
    melted = WIDE.melt(id_vars="item", value_vars=["gpt-4.1_ok", "llama_ok"], value_name="correct")
    assert long[["correct", "item"]].equals(melted[["correct", "item"]])
    assert long["model"].tolist() == ["gpt-4.1"] * 2 + ["llama"] * 2
    WIDE.to_csv(tmp_path / "t.csv", index=False)
    trials = read_trials(tmp_path / "t.csv", wide=TEMPLATES, keep=["item"], scale="percent")
    assert trials["confidence"].tolist() == [0.9, 0.6, 0.8, 0.2]
    # Columns that are kept are no models.
    own = long_table(WIDE[["item", "llama_ok"]], wide={"ok": "{who}"}, keep="item", name="who")
    assert own["who"].tolist() == ["llama_ok"] * 2


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


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        # Ratings stay as they are unless a scale is named; columns may swap their names.
        ({"confidence": [4, 2]}, {}, {"confidence": [4, 2]}),
        ({"confidence": [4, 2]}, {"scale": (1, 5)}, {"confidence": [0.75, 0.25]}),
        ({"a": [1], "b": [2]}, {"columns": {"a": "b", "b": "a"}}, {"b": [1], "a": [2]}),
    ],
)
def test_a_table_is_kept_but_for_what_is_asked(table, options, expected, tmp_path):
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    assert read_trials(tmp_path / "t.csv", **options).to_dict("list") == expected


def test_a_table_is_read_renamed_and_parsed(tmp_path):
    table = pd.DataFrame({"acc": [1, 0, 1], "sure": ["very", "8/10", "?"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    columns = {"correct": "acc", "confidence": "sure"}
    trials = read_trials(tmp_path / "t.csv", columns=columns, words={"very": 0.95})
    np.testing.assert_allclose(trials["confidence"], [0.95, 0.8, np.nan])
    assert trials["correct"].tolist() == [1, 0, 1]
    assert trials.attrs["rejected"] == {"confidence: not understood": 1}
    assert trials.attrs["examples"][0]["said"] == "?"


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


@pytest.mark.parametrize(("column", "named"), [("model", "of small"), ("item", "of the table")])
def test_a_scale_that_spoils_numbers_from_0_to_1_is_refused(tmp_path, column, named):
    rows = {column: ["small"] * 12 + ["large"] * 12, "correct": [1, 0] * 12}
    table = pd.DataFrame(rows).assign(confidence=[0.9] * 12 + [90.0] * 12)
    table = table if column == "model" else table.head(12)
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=rf"scale: got 'percent', where all numbers {named} are"):
        read_trials(tmp_path / "t.csv", scale="percent")
