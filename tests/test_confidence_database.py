"""The Confidence Database: what the records say of the files, and what is made of them."""

import gzip
import hashlib

import pandas as pd
import pytest

from hmetad import datasets as public
from hmetad.base.errors import InputError
from hmetad.counts.described import described_trials

RECORDS = {name: one["record"] for name, one in public.registry().items() if "record" in one}


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "confidence_database"


@pytest.fixture(scope="module")
def listed(folder):
    """What was counted of each file before the package could read it."""
    return pd.read_csv(folder / "files.csv", index_col="name")


def raw(folder, name):
    return gzip.decompress((folder / f"data_{name}.csv.gz").read_bytes())


# --- the records ----------------------------------------------------------------------------


def test_every_record_has_what_a_reader_needs_and_nothing_else():
    needed = {"title", "people", "trials", "rows", "columns", "labels", "by", "bytes", "sha256"}
    known = needed | {
        "domain",
        "citation",
        "levels",
        "quantiles",
        "range",
        "asked",
        "is_confidence",
    }
    known |= {"below_guessing", "leave_out", "missing_codes", "dropped", "difficulty"}
    for name, record in RECORDS.items():
        assert needed <= {*record} <= known, name
        assert ("levels" in record) != ("quantiles" in record), name
        assert record["rows"] - sum(record.get("dropped", {}).values()) == record["trials"], name
        assert {*record["by"]} <= {*record["columns"]}, name
        assert len(record["labels"]) == 2, name
        left_out = {*record.get("leave_out", {}), *record.get("missing_codes", {})}
        assert left_out <= {*record.get("dropped", {})}, name


def test_addresses_are_those_of_the_pinned_commit():
    entry = public.registry()["Rouault_2018_Expt1"]
    assert entry["files"][0]["path"] == "confidence data/data_Rouault_2018_Expt1.csv"
    table = public.datasets().set_index("name")
    address = table.loc["Rouault_2018_Expt1", "address"]
    assert address.startswith("https://github.com/singmann/Confidence-Data-Analysis/tree/ccb5298e")
    assert "Rahnev, Desender, Lee" in table.loc["Rouault_2018_Expt1", "citation"]


# --- trials of a table that a record describes ------------------------------------------------

TABLE = pd.DataFrame(
    {
        "who": ["a", "a", "b", "b", "b", "b"],
        "shown": [1, 2, 1, 2, 1, 1],
        "said": [1, 1, 2, 2, None, 1],
        "sure": [10, 20, 30, 99, 10, 20],
        "stage": [" main", "main", "main", "main", "main", "practice "],
    }
)
RECORD = {
    "columns": {"subject": "who", "stimulus": "shown", "response": "said", "confidence": "sure"},
    "labels": [1, 2],
    "levels": [10, 20, 30],
    "leave_out": {"stage": ["practice"]},
    "missing_codes": {"confidence": [99]},
}


def test_rows_that_are_no_trials_are_left_out_and_levels_become_ratings():
    trials = described_trials(TABLE, RECORD)
    assert trials.to_dict("list") == {
        "subject": ["a", "a", "b"],
        "stimulus": [1, 2, 1],
        "response": [1, 1, 2],
        "confidence": [1, 2, 3],
        "correct": [True, False, False],
    }
    assert trials["confidence"].dtype == trials["response"].dtype == "int64"


def test_responses_in_other_codes_are_put_into_those_of_the_stimulus():
    table = TABLE.assign(said=["right", "left", "left", "right", "left", "right"])
    trials = described_trials(table, RECORD | {"response_labels": ["left", "right"]})
    assert trials["response"].tolist() == [2, 1, 1, 1]
    assert trials["correct"].tolist() == [False, False, True, True]


@pytest.mark.parametrize("lacking", ["stimulus", "response"])
def test_correctness_tells_a_stimulus_or_response_that_is_not_there(lacking):
    table = TABLE.assign(right=[1, 0, 0, 1, 1, 1])
    columns = RECORD["columns"] | {"correct": "right"}
    del columns[lacking]
    trials = described_trials(table, RECORD | {"columns": columns})
    assert trials["correct"].tolist()[:3] == [True, False, False]
    assert trials["stimulus"].tolist()[:2] == [1, 2]
    assert trials["response"].tolist()[:2] == [1, 1]


def test_a_scale_that_both_responses_share_is_counted_from_its_middle():
    table = TABLE.assign(sure=[1, 2, 6, 5, 1, 1])
    trials = described_trials(table, RECORD | {"centre": 3.5, "levels": [0.5, 1.5, 2.5]})
    assert trials["confidence"].tolist() == [3, 2, 3, 2]


@pytest.mark.parametrize(
    ("table", "record", "said"),
    [
        (
            TABLE.assign(sure="high"),
            {},
            r"confidence: .*Expected numbers.*got the words 'high'",
        ),
        (
            TABLE.assign(shown=1),
            {"labels": [1]},
            r"stimulus: .*got the single label 1 in column 'sho",
        ),
        (TABLE.drop(columns="said"), {}, r"response: .*Expected a column of the tri.*, got 'said'"),
        (
            TABLE,
            {"columns": {"confidence": "sure"}, "labels": []},
            "neither stimulus nor correctness",
        ),
    ],
)
def test_a_table_that_is_none_of_trials_is_refused_in_one_line(table, record, said):
    with pytest.raises(InputError, match=said) as error:
        described_trials(table, RECORD | record)
    assert "\n" not in str(error.value)


# --- all sets, from the published bytes ---------------------------------------------------------


@pytest.mark.integration
def test_records_are_those_of_the_files(folder, listed):
    assert {*RECORDS} == {*listed.index}
    for name, record in RECORDS.items():
        content = raw(folder, name)
        assert hashlib.sha256(content).hexdigest() == record["sha256"] == listed["sha256"][name]
        assert len(content) == record["bytes"]
        assert record["rows"] == listed["trials"][name]
        path = public.registry()[name]["files"][0]["path"]
        assert path == listed["path"][name]


# People whom the file marks as excluded, and one who never rated confidence.
LEFT_OUT = {"Gherman_2018": 6, "OHora_unpub_1": 1, "OHora_unpub_2": 4, "Rouault_2019": 1}


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_set_loads_and_is_as_published(folder, listed, name, tmp_path):
    record = RECORDS[name]
    (tmp_path / name).mkdir()
    (tmp_path / name / f"data_{name}.csv").write_bytes(raw(folder, name))
    trials = public.load_trials(name, folder=tmp_path)
    people = trials["subject"].nunique()
    assert people == listed["people"][name] - LEFT_OUT.get(name, 0) == record["people"]
    assert len(trials) == record["trials"]
    assert {*trials["stimulus"]} == {*trials["response"]} == {*record["labels"]}
    assert (
        not trials[["subject", "stimulus", "response", "confidence", "correct"]]
        .isna()
        .any(axis=None)
    )
    if "levels" in record:
        assert {*trials["confidence"]} == {*range(1, len(record["levels"]) + 1)}
    table = pd.read_csv(folder / f"data_{name}.csv.gz", low_memory=False)
    own = record["columns"].get("correct")
    if own is not None:
        said = table[own].eq(1) & table["Response"].notna()
        same = (table["Stimulus"] == table["Response"])[table[own].notna()]
        assert (said[same.index] == same).mean() > 0.99
