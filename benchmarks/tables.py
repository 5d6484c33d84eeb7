"""Seconds and memory of counting trials, by the kind of table and the number of rows.

Each kind is counted in a process of its own; what a table in memory takes before it is counted is
told apart. The last column says whether the counts are those of the first kind.

    python benchmarks/tables.py 10_000 1_000_000 20_000_000
"""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from machine import calibrating_loop, describe_machine, print_table

import hmetad

BY = ["model", "set", "prompt"]
COLUMNS = [*BY, "stimulus", "response", "rating"]
STEP = 1_000_000
PARTS = 8
KINDS = (
    *("duckdb's own", "parquet", "csv", "jsonl", "folder", "pattern", "pandas", "arrow"),
    *("arrow dataset", "polars", "duckdb", "dask"),
    *("parquet, 4 quantiles", "folder, 4 quantiles", "csv, 4 quantiles"),
)


def main(sizes: list[int]) -> None:
    """Print a table for each number of rows."""
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s")
    for size in sizes:
        with TemporaryDirectory() as folder:
            write_files(size, Path(folder))
            files = {path.name: path.stat().st_size for path in Path(folder).glob("t.*")}
            told = ", ".join(f"{name} {n / 1e6:,.0f} MB" for name, n in files.items())
            print(f"\n{size:,} rows; {told}\n")
            rows = [measured(kind, folder) for kind in KINDS]
        print_table(["", "loading s", "counting s", "before MB", "peak MB", "sum"], rows)


def measured(kind: str, folder: str) -> list[object]:
    """Row of one kind, from a process of its own."""
    command = [sys.executable, __file__, "--kind", kind, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [kind, *done.stdout.split()[-5:]]


def count_one(kind: str, folder: Path) -> None:
    """Count one kind of table; print seconds, megabytes and a sum that tells counts apart."""
    began = time.perf_counter()
    given = table_of(kind, folder)
    loaded, before = time.perf_counter(), peak()
    asked: dict[str, Any] = {"by": BY, "confidence": "rating"}
    if "quantiles" in kind:
        asked |= {"confidence": "confidence", "quantiles": 4}
    if kind == "duckdb's own":
        total = duckdb_sum(folder / "t.parquet")
    else:
        total = weighted_sum(hmetad.count_trials(given, **asked).to_numpy())
    counted = time.perf_counter()
    print(f"{loaded - began:.2f} {counted - loaded:.2f} {before:.0f} {peak():.0f} {total}")


def weighted_sum(counts: np.ndarray) -> int:
    """Sum of counts by their place, which other counts would hardly have."""
    flat = counts.ravel()
    return int(flat @ (np.arange(len(flat)) % 997 + 1))


def duckdb_sum(path: Path) -> str:
    """Distinct rows as DuckDB's GROUP BY finds them."""
    named = ", ".join(COLUMNS)
    found = duckdb.sql(f"select {named}, count(*) as n from '{path}' group by {named}").fetchall()
    return f"{len(found)}_rows"


def table_of(kind: str, folder: Path) -> Any:
    """Table of a kind, as its package reads it."""
    path = folder / "t.parquet"
    own, suffix = kind.split(",")[0], {"parquet": "parquet", "csv": "csv", "jsonl": "jsonl"}
    if own in suffix:
        return folder / f"t.{suffix[own]}"
    makers = {
        "folder": lambda: folder / "parts",
        "pattern": lambda: f"{folder}/parts/*.parquet",
        "pandas": lambda: pd.read_parquet(path),
        "arrow": lambda: pq.read_table(path),
        "arrow dataset": lambda: ds.dataset(path),
        "polars": lambda: pl.read_parquet(path),
        "duckdb": lambda: duckdb.sql(f"select * from '{path}'"),
        "dask": lambda: dd.read_parquet(folder / "parts"),
        "duckdb's own": lambda: None,
    }
    return makers[own]()


def peak() -> float:
    """Megabytes that this process had at most, since it began."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def write_files(size: int, folder: Path) -> None:
    """Answers of 14 models to five sets with two prompts, as files of several kinds."""
    rng = np.random.default_rng(1)
    (folder / "parts").mkdir()
    writers: list[Any] = []
    with (folder / "t.jsonl").open("w", encoding="utf-8") as lines:
        for start in range(0, size, STEP):
            table = answers(min(STEP, size - start), rng)
            if not writers:
                parts = [folder / "parts" / f"part-{i}.parquet" for i in range(PARTS)]
                paths = [folder / "t.parquet", *parts]
                writers = [pq.ParquetWriter(path, table.schema) for path in paths]
                writers.append(pa_csv.CSVWriter(folder / "t.csv", table.schema))
            for writer in (writers[0], writers[-1]):
                writer.write_table(table)
            for i, writer in enumerate(writers[1:-1]):
                writer.write_table(table.slice(i * len(table) // PARTS, len(table) // PARTS))
            table.to_pandas().to_json(lines, orient="records", lines=True)
    for writer in writers:
        writer.close()


def answers(size: int, rng: np.random.Generator) -> pa.Table:
    """Some answers; confidence is any number, and rating one of four."""
    truth = rng.integers(0, 2, size)
    evidence = rng.normal(size=size) + (2 * truth - 1) * 0.7
    says = (evidence > 0).astype(int)
    confidence = 1 / (1 + np.exp(-1.4 * np.abs(evidence) - 0.3 * rng.normal(size=size)))
    models = np.array([f"model-{i}" for i in range(14)])
    options = np.array(["A", "B"])
    columns = {
        "model": models[rng.integers(0, 14, size)],
        "set": np.array(["arc", "csqa", "gpqa", "hella", "mmlu"])[rng.integers(0, 5, size)],
        "prompt": np.array(["plain", "cot"])[rng.integers(0, 2, size)],
        "item": rng.integers(0, 50_000, size),
        "stimulus": options[truth],
        "response": options[says],
        "correct": truth == says,
        "confidence": confidence,
        "rating": np.searchsorted([0.6, 0.75, 0.9], confidence) + 1,
    }
    return pa.table(columns)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kind"]:
        count_one(sys.argv[2], Path(sys.argv[3]))
    else:
        main([int(size) for size in sys.argv[1:]] or [10_000, 1_000_000])
