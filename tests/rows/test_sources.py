"""Every kind of table is counted alike, in memory or piece by piece."""

import gzip
import json
import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from hmetad import bin_confidence, count_correct, count_trials, notices
from hmetad.base.errors import InputError
from hmetad.logs import scan_table
from hmetad.measures import calibration, measure_trials, resample_trials, scale_report
from hmetad.rows import queries
from hmetad.rows.database import shared
from hmetad.rows.tables import rows_of

N = 6000
BY = ["model", "set"]


@pytest.fixture(scope="module")
def trials():
    """Answers of two models to items of two sets, with text that needs care, and gaps."""
    rng = np.random.default_rng(1)
    stimulus = rng.choice(["A", "B"], N)
    right = rng.random(N) < 0.8
    frame = pd.DataFrame(
        {
            "model": rng.choice(["m 4.10", "None", 'say "x",\n y'], N),
            "set": rng.choice(["2", "10"], N),
            "item": rng.integers(0, 300, N),
            "stimulus": stimulus,
            "response": np.where(right, stimulus, np.where(stimulus == "A", "B", "A")),
            "correct": right,
            "rating": rng.integers(1, 5, N).astype(float),
            "confidence": np.round(rng.random(N), rng.choice([1, 9])),
            "text": "a long answer",
            # No two rows are the same.
            "row": np.arange(N),
        }
    )
    frame.loc[rng.random(N) < 0.02, "rating"] = np.nan
    frame.loc[rng.random(N) < 0.02, "confidence"] = np.nan
    frame.loc[::7, "confidence"] = -0.0
    return frame


@pytest.fixture(scope="module")
def written(trials, tmp_path_factory):
    """The trials as files of all kinds, which no test changes."""
    return files(trials, tmp_path_factory.mktemp("written"))


def as_json_lines(frame):
    records = json.loads(frame.to_json(orient="records"))
    return "".join(f"{json.dumps(record)}\n" for record in records)


def files(frame, folder):
    """The trials as files of several kinds, each by the name of the kind."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";")
    (folder / "t.jsonl").write_text(as_json_lines(frame), encoding="utf-8")
    frame.to_parquet(folder / "t.parquet", row_group_size=1000)
    with gzip.open(folder / "t.csv.gz", "wb") as file:
        file.write((folder / "t.csv").read_bytes())
    hive = folder / "hive"
    for number, part in frame.groupby("set"):
        (hive / f"set={number}").mkdir(parents=True)
        part.drop(columns="set").to_parquet(hive / f"set={number}" / "part.parquet")
    parts = folder / "parts"
    parts.mkdir()
    for i in range(3):
        frame.iloc[i::3].to_csv(parts / f"part-{i}.csv", index=False)
    (parts / "_log.csv").write_text("no,table\n")
    names = ("t.csv", "t.tsv", "semicolons.csv", "t.jsonl", "t.parquet", "t.csv.gz")
    found = {name: folder / name for name in names}
    found |= {"folder": parts, "pattern": f"{parts}/*.csv", "hive": hive}
    return found | {"list": sorted(parts.glob("p*.csv"))}


def tables(frame, folder):
    """Makers of the trials as tables of several packages, in memory and not."""
    table = pa.Table.from_pandas(frame)
    path = folder / "table.parquet"
    frame.to_parquet(path, row_group_size=1000)
    return {
        "pandas": lambda: frame,
        "arrow": lambda: table,
        "arrow batches": lambda: pa.Table.from_batches(table.to_batches(700)),
        "arrow reader": lambda: pa.RecordBatchReader.from_batches(
            table.schema, table.to_batches(700)
        ),
        "arrow dataset": lambda: ds.dataset(path),
        "polars": lambda: pl.from_arrow(table),
        "duckdb": lambda: duckdb.sql(f"select * from '{path}'"),
        "dask": lambda: dd.from_pandas(frame, npartitions=5),
    }


@pytest.fixture(scope="module")
def given(trials, written, tmp_path_factory):
    """Tables of all kinds, each anew."""
    made = tables(trials, tmp_path_factory.mktemp("tables"))
    return made | {name: lambda path=path: path for name, path in written.items()}


def same(found, expected):
    xr_same = found.drop_vars(BY).equals(expected.drop_vars(BY))
    labels = [[str(x) for x in table[name].values] for table in (found, expected) for name in BY]
    assert xr_same
    assert labels[:2] == labels[2:]
    assert [(n.code, n.cells) for n in notices(found)] == [
        (n.code, n.cells) for n in notices(expected)
    ]
    for name in ("rows_dropped", "labels", "ratings_rule", "same_items"):
        assert found.attrs.get(name) == expected.attrs.get(name), name


KINDS = [
    *("arrow", "arrow batches", "arrow reader", "arrow dataset", "polars"),
    *("duckdb", "dask"),
]
FILES = [
    *("t.csv", "t.tsv", "semicolons.csv", "t.jsonl", "t.parquet", "t.csv.gz"),
    *("folder", "pattern", "hive", "list"),
]


@pytest.fixture(scope="module")
def counted(trials):
    """What counting the DataFrame gives."""
    asked = {"by": BY, "confidence": "rating"}
    return count_trials(trials, **asked), count_correct(trials, **asked)


@pytest.mark.parametrize("kind", [*KINDS, *FILES])
def test_tables_of_every_kind_are_counted_alike(given, counted, monkeypatch, kind):
    monkeypatch.setattr("hmetad.rows.tables.BATCH", 500)
    asked = {"by": BY, "confidence": "rating"}
    for count, expected in zip((count_trials, count_correct), counted, strict=True):
        same(count(given[kind](), **asked), expected)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "within"),
    [
        *((kind, ["model", "set"]) for kind in ["pandas", "arrow", "duckdb", "dask", *FILES]),
        *((kind, within) for kind in ("pandas", "t.csv", "hive") for within in ((), "model")),
    ],
)
def test_quantiles_of_every_table_are_those_of_all_values(trials, given, kind, within):
    by = [within] if isinstance(within, str) else list(within)
    groups = trials.groupby(by).ngroup() if by else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rated = trials.assign(confidence=bin_confidence(trials["confidence"], 5, within=groups))
        expected = count_trials(rated, by=BY)
        found = count_trials(given[kind](), by=BY, quantiles=5, quantiles_within=within)
    np.testing.assert_array_equal(found, expected)
    assert found.attrs["rows_dropped"] == expected.attrs["rows_dropped"]
    rule, _, cuts = found.attrs["ratings_rule"].partition(", cut at ")
    named = f", within {' and '.join(by)}" if by else ""
    assert rule == f"K = 5, quantiles of column 'confidence'{named}"
    if not by:
        edges = [float(cut) for cut in cuts.split(", ")]
        again = bin_confidence(trials["confidence"], 5, method="edges", edges=edges)
        # The cuts are told by six digits.
        assert (again == rated["confidence"])[trials["confidence"].notna()].mean() > 0.99


def test_quantiles_of_hard_numbers_are_exact():
    rng = np.random.default_rng(2)
    values = np.concatenate(
        [rng.normal(size=500) * 10.0 ** rng.integers(-300, 300, 500), np.repeat([0.3, -7], 90)]
    )
    values = np.concatenate([values, np.nextafter(0.3, [0, 1]), [-0.0, 0.0, 5e-324, 1.7e308]])
    frame = pd.DataFrame({"correct": rng.random(len(values)) < 0.7, "confidence": values})
    for number in (2, 3, 50):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rated = frame.assign(confidence=bin_confidence(frame["confidence"], number))
            found = count_correct(pa.Table.from_pandas(frame), quantiles=number)
        np.testing.assert_array_equal(found, count_correct(rated, ratings=found.sizes["rating"]))


@pytest.mark.parametrize("sign", [";", "\t"])
def test_names_with_decimal_commas_stay_text(tmp_path, sign):
    """As by write.csv2 of R, with confidence in whole percent."""
    rng = np.random.default_rng(3)
    n = 2400
    names = {"model": ["4,1", "4,10"] * (n // 2), "item": [f"1,{1 + i % 40}" for i in range(n)]}
    sure = rng.choice([25, 50, 75, 100], n)
    frame = pd.DataFrame({**names, "correct": 100 * rng.random(n) < sure, "sure": sure})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=sign)
    asked = {"by": "model", "confidence": "sure"}
    found, expected = (measure_trials(x, **asked) for x in (path, frame))
    np.testing.assert_array_equal(found["auroc2"], expected["auroc2"])
    assert found["model"].values.tolist() == ["4,1", "4,10"]
    drawn, again = (
        resample_trials(x, cluster="item", n=20, seed=1, **asked) for x in (path, frame)
    )
    np.testing.assert_array_equal(drawn["auroc2"], again["auroc2"])


@pytest.mark.parametrize("values", [["1", "0,85", "0,5"], ["1", "1,234"]])
@pytest.mark.parametrize(
    "count",
    [
        measure_trials,
        count_correct,
        partial(count_correct, quantiles=2),
        scale_report,
    ],
)
def test_decimal_commas_are_refused_with_the_first_value_and_its_row(tmp_path, count, values):
    path = tmp_path / "t.csv"
    pd.DataFrame({"correct": 1, "confidence": values}).to_csv(path, index=False, sep=";")
    step = "hmetad import table FILE --decimal comma"
    with pytest.raises(InputError, match=rf"{step}.*such as '{values[1]}'.*row 2"):
        count(path)


def test_rows_may_stand_for_many_trials(trials, tmp_path):
    complete = trials.dropna(subset=["rating"])
    columns = [*BY, "stimulus", "response", "rating"]
    weighted = complete.groupby(columns).size().rename("n").reset_index()
    zero = weighted.iloc[:1].assign(n=0, model="never")
    weighted = pd.concat([weighted, zero])
    weighted.to_csv(tmp_path / "weighted.csv", index=False)
    expected = count_trials(complete[columns], by=BY, confidence="rating")
    for given in (weighted, pl.from_pandas(weighted), tmp_path / "weighted.csv"):
        same(count_trials(given, by=BY, confidence="rating", n="n"), expected)
    rated = bin_confidence(complete["confidence"].fillna(0.5), 4)
    values = complete.assign(confidence=complete["confidence"].fillna(0.5))
    by_value = values.groupby(["model", "correct", "confidence"]).size().rename("n").reset_index()
    np.testing.assert_array_equal(
        count_correct(by_value, by="model", quantiles=4, n="n"),
        count_correct(values.assign(confidence=rated), by="model"),
    )


def test_rows_that_stand_for_no_trial_have_no_part_in_quantiles():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"model": "a", "correct": rng.random(500) < 0.7})
    frame["confidence"], frame["n"] = rng.random(500), rng.integers(0, 3, 500)
    never = pd.DataFrame({"model": ["a", "b"], "correct": True, "confidence": [9.0, -9.0], "n": 0})
    asked = {"by": "model", "quantiles": 4, "quantiles_within": "model"}
    found = count_correct(pa.Table.from_pandas(pd.concat([frame, never])), n="n", **asked)
    plain = count_correct(frame.loc[frame.index.repeat(frame["n"])], **asked)
    np.testing.assert_array_equal(found, plain)
    for kind in ("Int64", object, str):
        together = pd.concat([frame, never]).assign(n=lambda own, kind=kind: own["n"].astype(kind))
        np.testing.assert_array_equal(count_correct(together, n="n", **asked), plain)


@pytest.mark.parametrize(
    ("weights", "says"),
    [([1, 0.5], "0.5"), ([1, -1], "-1"), (["a", "a"], "'a'"), ([True, True], "True")],
)
def test_weights_are_whole_numbers(weights, says):
    frame = pd.DataFrame({"correct": [1, 0], "confidence": [1, 2], "n": weights})
    with pytest.raises(InputError, match="n column 'n'") as error:
        count_correct(frame, n="n")
    assert says in str(error.value)
    with pytest.raises(InputError, match="weights that are all 0"):
        count_correct(frame.assign(n=0), n="n")


@pytest.mark.integration
def test_dask_counts_on_its_cluster(trials):
    given = dd.from_pandas(trials, npartitions=4)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        cluster.get_client() as client,
    ):
        found = count_trials(given, by=BY, quantiles=4, quantiles_within="model")
        done = client.run(lambda dask_worker: dask_worker.state.executed_count)
    # Two passes over four partitions.
    assert sum(done.values()) >= 8
    same(found, count_trials(trials, by=BY, quantiles=4, quantiles_within="model"))


def test_measures_of_trials_take_any_table(trials, given):
    expected = measure_trials(trials, by=BY)["auroc2"]
    drawn = resample_trials(trials, by="model", n=20, seed=1)["auroc2"]
    ece = calibration(trials, by="model")["ece"]
    for table in (given["t.parquet"](), given["polars"]()):
        np.testing.assert_array_equal(measure_trials(table, by=BY)["auroc2"], expected)
        again = resample_trials(table, by="model", n=20, seed=1)["auroc2"]
        np.testing.assert_array_equal(again, drawn)
        found = calibration(table, by="model", correct="correct")["ece"]
        np.testing.assert_array_equal(found, ece)


def test_confidence_that_is_no_rating_is_refused_in_pieces(trials, monkeypatch):
    table = pa.Table.from_pandas(trials.assign(confidence=np.random.default_rng(1).random(N)))
    with pytest.raises(InputError, match="quantiles=4"):
        count_trials(table, by=BY)
    monkeypatch.setattr(queries, "MOST_ROWS", 1000)
    with pytest.raises(InputError, match=r"quantiles=4.*over 1,000 different rows"):
        count_trials(table, by=BY)


def test_files_that_lack_a_column_or_are_of_several_kinds_are_refused(trials, tmp_path):
    parts = files(trials, tmp_path)["folder"]
    trials.drop(columns="rating").to_csv(parts / "part-9.csv", index=False)
    with pytest.raises(InputError, match=r"part-9.csv: .*got no column 'rating'"):
        count_trials(parts, by=BY, confidence="rating")
    trials.to_parquet(parts / "more.parquet")
    with pytest.raises(InputError, match=r"files ending in \.csv, \.parquet"):
        scan_table(parts)
    with pytest.raises(InputError, match="no table there"):
        scan_table(f"{parts}/*.jsonl")


@pytest.mark.parametrize(
    "content",
    [
        b"model,correct,confidence\r\na,1,2\r\nb,0,1\r\n",
        b"\xef\xbb\xbfmodel,correct,confidence\na,1,2\nb,0,1",
        b"\n \nmodel,correct,confidence\n\na,1,2\n\nb,0,1\n",
        b"\xef\xbb\xbf\nmodel,correct,confidence\na,1,2\nb,0,1\n",
        b"model,correct,confidence,\na,1,2,\nb,0,1,\n",
        b"model,MODEL,correct,confidence\na,z,1,2\nb,z,0,1\n",
    ],
    ids=[
        "returns",
        "mark of the encoding",
        "blank lines",
        "mark alone",
        "comma at the end",
        "case",
    ],
)
def test_texts_as_programs_write_them_are_read_whatever_their_size(tmp_path, content):
    path = tmp_path / "it's [1]*?.csv"
    path.write_bytes(content)
    found = count_correct(path, by="model")
    assert found["model"].values.tolist() == ["a", "b"]
    assert found.values.tolist() == [[[0, 0], [0, 1]], [[1, 0], [0, 0]]]


@pytest.mark.parametrize("suffix", [".zip", ".bz2", ".xz"])
def test_other_packings_are_refused_by_name(tmp_path, suffix):
    pd.DataFrame({"correct": [1, 0], "confidence": [1, 2]}).to_csv(tmp_path / f"t.csv{suffix}")
    with pytest.raises(InputError, match=rf"Unpack it first.*packed as {re.escape(suffix)}"):
        count_correct(tmp_path / f"t.csv{suffix}")


def test_tables_of_other_engines_are_grouped_there(trials):
    lazy = pl.from_pandas(trials).lazy()
    with pytest.raises(InputError, match=r"Group there.*n=.*another engine .LazyFrame"):
        count_trials(lazy, by=BY, confidence="rating")
    columns = [*BY, "stimulus", "response", "rating"]
    counted = lazy.group_by(columns).len(name="n").collect()
    same_counts = count_trials(counted, by=BY, confidence="rating", n="n")
    np.testing.assert_array_equal(same_counts, count_trials(trials, by=BY, confidence="rating"))


@pytest.mark.filterwarnings("ignore:Equal values of confidence")
def test_quantiles_are_cut_where_values_in_memory_are():
    """As a query, of ties, gaps and 100,000 rows in groups, in which some are far from others."""
    rng = np.random.default_rng(4)
    n = 100_000
    values = np.where(rng.random(n) < 0.5, np.round(rng.random(n), 1), rng.standard_cauchy(n))
    values[rng.random(n) < 0.03] = np.nan
    frame = pd.DataFrame({"g": rng.integers(0, 7, n), "correct": rng.random(n) < 0.7})
    frame = frame.assign(confidence=values)
    for number in (2, 7, 30):
        for within in ((), "g"):
            group = frame["g"] if within else None
            rated = frame.assign(
                confidence=bin_confidence(frame["confidence"], number, within=group)
            )
            found = count_correct(frame, by="g", quantiles=number, quantiles_within=within)
            np.testing.assert_array_equal(found, count_correct(rated, by="g", ratings=number))


def test_json_that_arrow_cannot_read_is_read_by_python(tmp_path):
    lines = [
        '{"correct": true, "confidence": 1, "score": NaN, "day": "2024-01-01"}',
        '{"correct": false, "confidence": 2, "day": "2024-01-02", "more": {"x": [1]}}',
        '{"correct": true, "confidence": 2, "day": "2024-01-01"}',
    ]
    path = tmp_path / "a.jsonl"
    for chosen in (lines, lines[1:]):
        path.write_text("\n".join(chosen))
        found = count_correct(path, by="day")
        assert int(found.sum()) == len(chosen)
        assert set(found["day"].values) == {"2024-01-01", "2024-01-02"}


def test_tables_that_are_none_or_have_lists_are_refused(trials):
    columns = (trials["correct"], pl.Series([1.0, 2.0]))
    for given in ([1, 2], {"correct": [1]}, 3, None, [], *columns):
        with pytest.raises(InputError, match="Expected a DataFrame of pandas, Polars or Dask"):
            rows_of(given)
    nested = pa.table({"correct": [[True], [False]], "confidence": [1, 2]})
    with pytest.raises(InputError, match="one text or number per value"):
        count_correct(nested)
    for empty in (trials.head(0), pl.from_pandas(trials.head(0))):
        for more in ({}, {"quantiles": 4}):
            with pytest.raises(InputError, match="no rows"):
                count_correct(empty, confidence="rating", **more)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([1])], ["correct", "correct"])
    with pytest.raises(InputError, match="more than once"):
        count_correct(twice)


@pytest.mark.parametrize("code", [np.nan, -1, 9], ids=str)
def test_trials_without_a_stimulus_tell_nothing_of_items(code):
    shown = [(model, item, item % 2) for model in "ab" for item in range(60) for _ in range(3)]
    frame = pd.DataFrame(shown, columns=["model", "item", "stimulus"])
    frame["response"] = (frame["stimulus"] + (frame.index % 3 == 0)) % 2
    frame["confidence"] = frame.index % 4 + 1
    some = (frame["model"] == "b") & (frame.index % 11 == 0)
    coded = frame.assign(stimulus=frame["stimulus"].where(~some, code))
    found = count_trials(coded, by="model", missing_codes=[] if np.isnan(code) else code)
    assert found.attrs["same_items"] == '[["a", "b"]]'
    one = coded.assign(item=frame["stimulus"])
    found = count_trials(one, by="model", missing_codes=[] if np.isnan(code) else code)
    assert "mixed-items" not in [notice.code for notice in notices(found)]


@pytest.mark.parametrize("values", [None, np.nan, pd.NA], ids=repr)
def test_a_column_of_items_may_be_empty(trials, values):
    empty = trials.assign(item=pd.Series([values] * N, dtype=object))
    for table in (empty, empty.assign(item=pd.array([values] * N, "Int64")), pl.from_pandas(empty)):
        for by in (BY, ()):
            found = count_trials(table, by=by, confidence="rating")
            assert "mixed-items" not in [notice.code for notice in notices(found)]


def test_items_numbered_from_the_lowest_whole_number_are_counted(trials):
    lowest = trials.assign(item=np.resize(np.array([-128, 5], dtype="int8"), len(trials)))
    for table in (lowest, pa.Table.from_pandas(lowest)):
        assert int(count_trials(table, by=BY, confidence="rating").sum()) > 0


@pytest.fixture
def large(tmp_path):
    """Table of pandas → Arrow's, and a file of Parquet."""

    def kinds(frame):
        table = pa.table({name: pa.array(frame[name].array, from_pandas=False) for name in frame})
        pq.write_table(table, tmp_path / "large.parquet")
        return {"arrow": table, "parquet": tmp_path / "large.parquet"}

    return kinds


def test_nan_of_large_tables_is_missing(trials, large):
    gaps = trials.assign(group=np.where(trials["row"] % 3, 1.0, np.nan), confidence=trials["row"])
    gaps["confidence"] = gaps["confidence"].where(trials["row"] % 5 > 0)
    asked = {"by": "model", "quantiles": 4, "quantiles_within": "group"}
    expected = count_correct(gaps, **asked)
    assert expected.attrs["rows_dropped"] == N // 5
    for table in large(gaps.drop(columns="rating")).values():
        same_counts = count_correct(table, **asked)
        np.testing.assert_array_equal(same_counts, expected)
    item = trials["item"].where(trials["stimulus"] == "A").where(trials["item"] == 1)
    for table in large(trials.assign(item=item, rating=trials["rating"].fillna(1))).values():
        found = count_trials(table, by="model", confidence="rating")
        assert "mixed-items" not in [notice.code for notice in notices(found)]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("code", "value"),
    [
        *[(np.inf, np.inf), (999, 999.0), ("refused", "\tRefused "), ("WEISS", "weiß")],
        *[("9,5", "9,5"), (9.5, "9.5")],
    ],
    ids=repr,
)
def test_codes_are_missing_in_quantiles_of_every_table(trials, large, code, value):
    coded = trials.assign(confidence=trials["confidence"].fillna(0.5))
    known = coded["row"] % 4 > 0
    expected = count_correct(coded[known], by="model", quantiles=4)
    if isinstance(value, str):
        coded["confidence"] = coded["confidence"].map(str)
    coded["confidence"] = coded["confidence"].where(known, value)
    for table in (coded, *large(coded).values()):
        found = count_correct(table, by="model", quantiles=4, missing_codes=code)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["1_000", "1", "2"], r"import table.*text such as '1_000'"),
        (["+-1", "1", "2"], r"import table.*text such as '\+-1'"),
        (["low", "mid", "high"], "Name the levels 'high', 'low', 'mid'"),
        ([[1], [2], [3]], "one text or number per value"),
        ([True, False, True], "booleans"),
        ([1.0, np.inf, 2.0], "infinite"),
    ],
    ids=repr,
)
def test_confidence_that_is_no_number_has_no_quantiles(large, values, says):
    frame = pd.DataFrame({"correct": [1, 0, 1], "confidence": values})
    for table in (frame, *large(frame).values()):
        with pytest.raises(InputError, match=says):
            count_correct(table, quantiles=2)


def test_bytes_and_lists_are_no_labels(large):
    for values in ([b"1", b"2"], [[1], [2]]):
        frame = pd.DataFrame({"correct": [1, 0], "confidence": [1, 2], "model": values})
        for table in (frame, *large(frame).values()):
            for more in ({}, {"quantiles": 2}):
                with pytest.raises(InputError, match="Expected one"):
                    count_correct(table, by="model", **more)


def test_groups_of_long_numbers_stay_apart(trials, large):
    first = 2**53
    frame = trials.assign(model=trials["row"] % 3 + first, part=trials["model"])
    gaps = frame.assign(model=frame["model"].astype("Int64").where(frame["row"] % 5 > 0))
    asked = {"by": "model", "quantiles": 4, "quantiles_within": "model"}
    expected = count_correct(frame[frame["row"] % 5 > 0], **asked)
    for table in large(gaps).values():
        found = count_correct(table, **asked)
        np.testing.assert_array_equal(found, expected)
        assert found["model"].values.tolist() == [first, first + 1, first + 2]
    values = [Decimal(int(value)) / 100 for value in frame["model"]]
    longest = pa.table({"model": pa.array(values, pa.decimal128(30, 2))} | table_of(frame))
    for more in ({}, {"quantiles": 4}):
        with pytest.raises(InputError, match="beyond their first 15 digits"):
            count_correct(longest, by="model", confidence="few", **more)


def table_of(frame):
    """Columns of correctness and of confidence of few values."""
    return {"correct": frame["correct"].array, "few": (frame["row"] % 4 + 1).array}


def test_difficulty_is_found_in_partitions_too():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"stimulus": np.resize([0, 1], N), "kind": rng.integers(0, 3, N)})
    right = rng.random(N) < np.where(frame["kind"] == 1, 0.9, 0.7)
    frame["response"] = np.where(right, frame["stimulus"], 1 - frame["stimulus"])
    frame["confidence"] = rng.integers(1, 5, N)
    for table in (frame, dd.from_pandas(frame, npartitions=3)):
        assert "mixed-difficulty" in [notice.code for notice in notices(count_trials(table))]


def test_an_interrupt_is_no_error():
    # What DuckDB raises on Ctrl-C.
    with pytest.raises(KeyboardInterrupt), shared():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="else"), shared():
        raise RuntimeError("something else")


FORKED = """
import os, sys
import numpy as np
from hmetad import count_correct
from hmetad.logs import read_table, scan_table
trials = read_table(sys.argv[1])
expected = count_correct(trials, by="set", confidence="rating")
rows = scan_table(sys.argv[1])
child = os.fork()
counted = [count_correct(one, by="set", confidence="rating") for one in (trials, rows)]
assert all(np.array_equal(one, expected) for one in counted)
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert int(count_correct(rows, confidence="rating").sum()) == int(expected.sum())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_ends_and_leaves_the_copies_of_files(written):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(written["t.csv.gz"])]
    assert subprocess.run(command, timeout=100, check=False).returncode == 0


def test_rows_of_files_are_counted_in_several_threads(trials, written):
    scanned = scan_table(written["t.csv"], text=["set"])
    expected = count_correct(trials, by="set", confidence="rating")
    with ThreadPoolExecutor(4) as pool:
        counted = pool.map(
            lambda _: count_correct(scanned, by="set", confidence="rating"), range(4)
        )
        for found in counted:
            np.testing.assert_array_equal(found, expected)


def test_a_category_keeps_its_order_and_text_is_sorted_by_its_numbers(trials):
    ordered = trials.assign(set=pd.Categorical(trials["set"], ["10", "2"], ordered=True))
    assert count_trials(ordered, by="set", confidence="rating")["set"].values.tolist() == [
        "10",
        "2",
    ]
    table = pa.Table.from_pandas(trials)
    assert count_trials(table, by="set", confidence="rating")["set"].values.tolist() == ["2", "10"]


def test_a_sample_of_several_files_needs_little_memory(tmp_path, monkeypatch):
    """Numbering the rows of all files together, DuckDB would keep every row."""
    for part in range(2):
        rows = (
            f"SELECT range % 7 AS a, random() AS b, 'text ' || range AS c FROM range({2 * 10**6})"
        )
        duckdb.sql(rows).write_parquet(str(tmp_path / f"{part}.parquet"))
    monkeypatch.setattr("hmetad.rows.database.MEMORY", "40MiB")
    monkeypatch.setattr("hmetad.rows.database.usable_cpus", lambda: 2)
    # There is no place for what does not fit into memory.
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    sample, n = scan_table(tmp_path).sample(("a", "b", "c"), 1000)
    assert 800 < len(sample) < 1200
    assert (n == 1).all()
    assert 0.4 < sample["b"].mean() < 0.6
