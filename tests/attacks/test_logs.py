"""Logs and tables of strangers are read or refused: no other error, no memory, no silent loss."""

import bz2
import gzip
import io
import json
import lzma
import struct
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from command_line import refused, run
from hypothesis import strategies as st
from scipy.io import savemat
from tally import tally, tally_for

from hmetad.errors import InputError
from hmetad.logs.kinds import READERS
from hmetad.logs.pairs import option_pairs
from hmetad.logs.samples import read_log
from hmetad.logs.stated import parse_confidence
from hmetad.rows.limits import Limits, as_limits
from hmetad.rows.lines import parse_line
from hmetad.rows.tables import read_table

LOGS = Path(__file__).parents[1] / "logs" / "data"
EVAL, WHOLE = sorted((LOGS / "inspect").iterdir())
DETAILS = sorted((LOGS / "lighteval").rglob("details_*.parquet"))[0]
HELM = LOGS / "helm" / "colours_joint" / "scenario_state.json"
PROMPTFOO = LOGS / "promptfoo" / "colours.json"
SAMPLES = sorted((LOGS / "lm_eval").rglob("samples_*.jsonl"))
HEADER = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "one"}}
TABLE = b"model,stimulus,response,confidence\n" + b"gpt,S1,S2,3\nllama,S2,S2,1\n" * 3
MEBIBYTE = 2**20


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    """An archive of Inspect with members besides its header."""
    with zipfile.ZipFile(path, "w", compression) as made:
        made.writestr("header.json", json.dumps(HEADER))
        for name, content in members.items():
            made.writestr(name, content)
    return path


def read_with_peak(read):
    """The error of a reader, and the memory that it took."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read()
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- memory ---------------------------------------------------------------------------------


def small_bomb(path, size=190 * 10**6):
    """Some 190 kB that become 63 million empty objects, and would take 4.8 GB."""
    return archive(path, {"samples/1.json": b'{"id": 1, "a": [' + b"{}," * (size // 3) + b"{}]}"})


def test_a_small_archive_of_many_objects_is_refused_before_it_is_unpacked(tmp_path):
    path = small_bomb(tmp_path / "log.eval")
    assert path.stat().st_size < 200_000
    said, peak = read_with_peak(lambda: read_log("inspect", path))
    assert "allowed is at most 200 (limit 'ratio')" in said
    assert "--limit ratio=N" in said
    assert peak < 2 * MEBIBYTE


def test_objects_are_counted_before_they_are_made(tmp_path):
    path = small_bomb(tmp_path / "log.eval")
    said, peak = read_with_peak(lambda: read_log("inspect", path, limits={"ratio": 10_000}))
    assert "more values in one JSON text, allowed is at most 5,000,000 (limit 'values')" in said
    # The text itself, and its commas and brackets; no object.
    assert peak < 3 * 190 * 10**6 + 20 * MEBIBYTE


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 93]
)
def test_an_archive_that_lies_about_its_sizes_takes_little_memory(compression, tmp_path):
    path = archive(tmp_path / "log.eval", {"samples/1.json": b" " * 2**26}, compression)
    lie = path.read_bytes().replace(struct.pack("<L", 2**26), struct.pack("<L", 2**16))
    path.write_bytes(lie)
    said, peak = read_with_peak(lambda: read_log("inspect", path))
    assert "cannot be read" in said
    # What a piece of 4 KiB becomes.
    assert peak < 150 * MEBIBYTE


def test_archives_of_too_many_members_are_refused(tmp_path):
    path = archive(tmp_path / "log.eval", {f"samples/{i}.json": b"{}" for i in range(30)})
    with pytest.raises(InputError, match=r"31 members, allowed is at most 20 \(limit 'members'\)"):
        read_log("inspect", path, limits=Limits(members=20))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_a_compressed_table_that_becomes_too_large_is_refused(suffix, tmp_path):
    path = tmp_path / f"t.csv{suffix}"
    pack(path, b"a,b\n" + b"1,1\n" * (45 * 10**5))
    said, peak = read_with_peak(lambda: read_table(path))
    assert "(limit 'ratio')" in said
    assert peak < 150 * MEBIBYTE
    with pytest.raises(InputError, match="limit 'unpacked'"):
        read_table(path, limits={"unpacked": 10**6})


def test_words_that_stand_once_in_a_parquet_file_do_not_fill_memory(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"a": ["x" * 10**5] * 2000, "b": [["q", "r"]] * 2000, "c": [{"d": 1}] * 2000})
    for options in ({}, {"use_dictionary": ["b"], "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}):
        pq.write_table(table, path, **options)
        assert path.stat().st_size < 250_000
        limits = {"unpacked": 10**8}
        said, peak = read_with_peak(lambda given=limits: read_table(path, limits=given))
        assert "bytes of text, allowed is at most 100,000,000 (limit 'unpacked')" in said
        assert peak < 10 * MEBIBYTE
        assert pa.total_allocated_bytes() < 300 * 10**6
        assert read_table(path)["a"].str.len().sum() == 2 * 10**8


def test_tables_of_many_cells_in_few_bytes_are_refused(tmp_path):
    wide = ",".join(f"c{i}" for i in range(9000))
    (tmp_path / "t.csv").write_text(wide + "\n" + "1\n" * 30_000)
    with pytest.raises(InputError, match=r"30,001 rows of 9,000 columns.*limit 'cells'"):
        read_table(tmp_path / "t.csv")
    pq.write_table(pa.table({"a": np.zeros(1000)}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="limit 'cells'"):
        read_table(tmp_path / "t.parquet", limits={"cells": 999})
    lines = "".join(json.dumps({f"c{i}": 1}) + "\n" for i in range(300))
    (tmp_path / "t.jsonl").write_text(lines)
    with pytest.raises(InputError, match=r"90,000 values.*limit 'cells'"):
        read_table(tmp_path / "t.jsonl", limits={"cells": 10_000})


def test_options_of_one_question_do_not_widen_a_long_table():
    frame = pd.DataFrame({"item": range(2000), "target": 0, "p": [[0.5, 0.5]] * 2000})
    frame.at[0, "p"] = [0.1] * 200_000
    with pytest.raises(InputError, match="200,000 options in a row"):
        option_pairs(frame, probabilities="p")


# --- time -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz"])
def test_a_table_of_100_000_columns_is_refused_at_once(name, tmp_path):
    # To write a Parquet file of 100,000 takes longer than to refuse it.
    number = 12_000 if name.endswith(".parquet") else 100_000
    names = [f"c{i}" for i in range(number)]
    path = tmp_path / name
    if name.endswith(".parquet"):
        pq.write_table(pa.table({n: [1] for n in names}), path)
    elif name.endswith(".jsonl"):
        path.write_text(json.dumps(dict.fromkeys(names, 1)) * 1 + "\n")
    else:
        sep = "\t" if "tsv" in name else ","
        pack(path, (sep.join(names) + "\n" + sep.join("1" * 100_000) + "\n").encode())
    start = time.process_time()
    with pytest.raises(InputError, match=rf"{number:,} columns, allowed is at most 10,000"):
        read_table(path)
    # Of CPU; reading them took over 60 s.
    assert time.process_time() - start < 10


def test_text_that_is_made_to_be_slow_is_not():
    start = time.process_time()
    nested = '{"a": [' * 1500 + "1," * 10**6
    accents = "a" + "\u0301\u0323" * 10**6
    many = '{"a": [' + '{"b": 1},' * 10**6
    said = parse_confidence([nested, accents, many, "80%"], field="confidence")
    assert said["confidence"].isna().tolist() == [True] * 4
    said = parse_confidence([accents, "80%"], words={"likely": 0.7})
    assert said["confidence"].tolist()[1] == 0.8
    assert time.process_time() - start < 10


# --- JSON -----------------------------------------------------------------------------------

DEEP = {
    "lists": lambda n: b"[" * n + b"]" * n,
    "objects": lambda n: b'{"a":' * n + b"1" + b"}" * n,
    "behind text": lambda n: rb'["\\", "]\"", "\\\"[",' + b"[" * n + b"]" * n + b"]",
    "cut off": lambda n: b"[" * n,
}


@pytest.mark.parametrize("depth", [250, 20_000, 200_000])
@pytest.mark.parametrize("made", DEEP.values(), ids=DEEP)
def test_deep_json_is_refused(made, depth, tmp_path):
    inner = made(depth)
    for encoding in ("utf-8", "utf-16", "utf-32-le"):
        with pytest.raises(InputError, match="nested deeper, allowed is at most 200"):
            parse_line(
                "here", b'{"a": '.decode().encode(encoding) + inner.decode().encode(encoding)
            )
    sample = b'{"id": 1, "epoch": 1, "store": ' + inner + b"}"
    path = archive(tmp_path / "log.eval", {"samples/1.json": sample})
    with pytest.raises(InputError, match="limit 'nesting'"):
        read_log("inspect", path)
    if made is not DEEP["cut off"]:
        with pytest.raises(InputError, match=r"nested deeper|no JSON"):
            parse_line("here", sample, as_limits({"nesting": depth // 2}))


def test_brackets_and_commas_in_text_are_no_structure():
    text = '[{",' * 3000 + "\\" * 7
    record = {"a": text, "b": [text, {"c": text}]}
    content = json.dumps(record).encode()
    assert parse_line("here", content, Limits(nesting=3, values=8)) == record
    for limits in ({"nesting": 2}, {"values": 4}):
        with pytest.raises(InputError, match=next(iter(limits))):
            parse_line("here", content, as_limits(limits))


def test_what_is_just_within_the_limits_is_read():
    nested = b'{"a":' + b"[" * 199 + b"]" * 199 + b"}"
    assert parse_line("here", nested)
    assert parse_line("here", b'{"a": [' + b"1," * 10_000 + b"1]}", Limits(values=10_003))


@pytest.mark.parametrize("digits", [400, 4000, 5000, 10**6])
def test_huge_numbers_are_missing_or_refused(digits, tmp_path):
    number = "9" * digits
    sample = json.loads(SAMPLES[-1].read_text(encoding="utf-8").splitlines()[0])
    for key in ("target", "exact_match", "doc_id", "doc", "filtered_resps"):
        line = json.dumps(sample | {key: "HUGE"}).replace('"HUGE"', number)
        ended(lambda text=line: read_lines(tmp_path, text), allow_answer=digits <= 4300)
    (tmp_path / "t.jsonl").write_text(f'{{"a": {number}, "b": 1}}\n')
    ended(lambda: read_table(tmp_path / "t.jsonl"), allow_answer=digits <= 4300)
    for text in (f"[0.5, {number}]", f'["{number}", 1]'):
        frame = pd.DataFrame({"item": [1], "target": [0], "p": [text]})
        ended(lambda made=frame: option_pairs(made, probabilities="p"), allow_answer=False)
    frame = pd.DataFrame({"item": [1], "target": [number], "p": [[0.5, 0.5]]})
    ended(lambda: option_pairs(frame, probabilities="p"), allow_answer=False)
    assert parse_confidence([number, "80%"])["confidence"].tolist()[1] == 0.8


def read_lines(folder, text):
    path = folder / "samples_colours_2026-01-31T10-00-00.jsonl"
    path.write_text(text, encoding="utf-8")
    return read_log("lm-eval", path, answer_filter=None, field="confidence", scale="percent")


def ended(read, *, allow_answer=True):
    """How reading ends: "answered" with a table that can be written, or "refused" in one line."""
    try:
        trials = read()
    except InputError as error:
        return "refused" if "\n" not in str(error) else "more than one line"
    assert allow_answer
    assert trials.to_csv(index=False).encode()
    json.dumps(trials.attrs)
    return "answered"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_lines_beyond_all_measure_are_refused(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    path.write_text('{"a": "' + "x" * (3 * MEBIBYTE) + '"}\n' if kind == "jsonl" else
                    "a,b\n1," + "x" * (3 * MEBIBYTE) + "\n")  # fmt: skip
    with pytest.raises(InputError, match=r"a longer line, allowed is at most 1,048,576"):
        read_table(path, limits={"line": MEBIBYTE})


# --- tables ---------------------------------------------------------------------------------


def pack(path, content):
    """Write bytes as the suffix says."""
    packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    packers[".zst"] = zstandard.ZstdCompressor().compress
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr(path.stem, content)
    else:
        path.write_bytes(packers.get(path.suffix, bytes)(content))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_a_compressed_table_is_that_table_and_a_damaged_one_is_refused(suffix, tmp_path):
    path = tmp_path / f"t.csv{suffix}"
    content = TABLE + b"gpt,S1,S1,2\n" * 5000
    pack(path, content)
    pack(tmp_path / "plain.csv", content)
    pd.testing.assert_frame_equal(read_table(path), read_table(tmp_path / "plain.csv"))
    if suffix in ("", ".zip"):
        return
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole[: len(whole) // 2], b"rubbish", whole[:20] + whole[30:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be read"):
            read_table(path)


def test_a_zst_in_several_frames_is_read_to_its_end(tmp_path):
    path = tmp_path / "t.csv.zst"
    frame = zstandard.ZstdCompressor().compress
    path.write_bytes(frame(TABLE) + frame(b"gpt,S1,S1,4\n"))
    assert read_table(path)["confidence"].tolist()[-1] == 4
    path.write_bytes(frame(TABLE) + frame(b"gpt,S1,S1,4\n")[:-3])
    with pytest.raises(InputError, match="cut off"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE + TABLE, "its header again in row 7, allowed is one header"),
        (b"a,b\na,b\n1,2\n", "its header again in row 1"),
        (b",b,NA\n0,1,2\n,b,NA\n", "its header again in row 2"),
        (b"item,1\nx,2\nitem,1\n", "its header again in row 2"),
        (b"a,b,a\n1,2,3\n", "column 'a' twice"),
        (b"a,b\n1,2,3\n", "cannot be read"),
        (b"a,b\n1,2\n1,2,3\n", "cannot be read"),
        (b'a,b\n"1,2\n3,4\n', "cannot be read"),
        (b"a,b\n1,\x002\n", "NUL bytes, allowed is text in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "NUL bytes"),
        ("a,b\n1,2\n".encode("utf-16-le"), "NUL bytes"),
        ("modèle,b\n1,2\n".encode("latin-1"), "in UTF-8. Save it as text in UTF-8"),
        ("model,b\nclé,2\n".encode("latin-1"), "in UTF-8. Save it as text in UTF-8"),
        (b"a" * 200_000 + b",b\n1,2\n", "cannot be read"),
    ],
)
def test_tables_that_would_be_misread_are_refused(content, message, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        (b"\xef\xbb\xbfa,b\n1,2\n", ["a", "b"], [[1, 2]]),
        (b'\xef\xbb\xbf"a",b\n1,2\n', ["a", "b"], [[1, 2]]),
        (b"\n\n  \na,b\n1,2\n", ["a", "b"], [[1, 2]]),
        (b"a,b\r1,2\r", ["a", "b"], [[1, 2]]),
        (b'"a\nx",b\n1,2\n', ["a\nx", "b"], [[1, 2]]),
        (b"1,2\n1,2\n3,4\n", ["1", "2"], [[1, 2], [3, 4]]),
        (b"a,b\na,1\nb,2\n", ["a", "b"], [["a", 1], ["b", 2]]),
        (b",,x\n1,2,3\n", ["Unnamed: 0", "Unnamed: 1", "x"], [[1, 2, 3]]),
    ],
)
def test_tables_that_only_look_odd_are_read(content, columns, rows, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    table = read_table(tmp_path / "t.csv")
    assert table.columns.tolist() == columns
    assert table.values.tolist() == rows


def test_parquet_names_are_one_for_each_column(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(InputError, match="column 'a' twice"):
        read_table(path)
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    pd.DataFrame([[1, 2]], columns=columns).to_parquet(path)
    with pytest.raises(InputError, match="names of several levels"):
        read_table(path)


def test_text_of_json_lines_can_be_written_whatever_is_in_it(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": "\\ud800", "\\udfff": "\\u0000"}\n{"a": 1}\n')
    assert ended(lambda: read_log("table", tmp_path / "t.jsonl")) in ("answered", "refused")


# --- limits are the caller's -----------------------------------------------------------------


@pytest.mark.parametrize(
    "limits", [{"column": 3}, {"columns": 0}, {"columns": 2.5}, {"columns": True}, ["columns"], 3]
)
def test_limits_that_are_none_are_refused(limits, tmp_path):
    (tmp_path / "t.csv").write_bytes(TABLE)
    for kind in ("table", "inspect", "lm-eval"):
        with pytest.raises(InputError, match=r"^limits"):
            read_log(kind, tmp_path / "t.csv", limits=limits)
    with pytest.raises(InputError, match=r"^limits"):
        read_table(tmp_path / "t.csv", limits=limits)


def test_limits_are_set_on_the_command_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(TABLE)
    for command in ("import table t.csv -o out.csv", "measures t.csv"):
        said = refused(tmp_path, f"{command} --limit columns=3,cells=90")
        assert "got 4 columns, allowed is at most 3 (limit 'columns')" in said
        assert "--limit columns=N" in said
        assert "--limit" in refused(tmp_path, f"{command} --limit columns=many")
        assert "Did you mean 'columns'?" in refused(tmp_path, f"{command} --limit colums=3")
    run(tmp_path, "import table t.csv -o out.csv --limit columns=4 --limit line=100")


def test_ratings_without_confidence_are_refused_by_name(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"sure,ok\n1,1\n2,0\n")
    said = refused(tmp_path, "import table t.csv --ratings 2 -o out.csv")
    assert "--ratings: got no column 'confidence'" in said
    run(tmp_path, "import table t.csv --columns confidence=sure --ratings 2 -o out.csv")
    (tmp_path / "t.csv").write_bytes(b"confidence,ok\nhigh,1\nlow,0\n")
    refused(tmp_path, "import table t.csv --ratings 2 -o other.csv")


# --- fuzz -----------------------------------------------------------------------------------


def members_of(path):
    with zipfile.ZipFile(path) as made:
        return {name: made.read(name) for name in made.namelist()}


def write_members(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members:
            made.writestr(name, content)


def matlab_file(variables):
    """Bytes of a .mat file."""
    made = io.BytesIO()
    savemat(made, variables, do_compression=True)
    return made.getvalue()


PARQUET = "t.parquet"
SOURCES = {
    "a.eval": ("inspect", EVAL.read_bytes()),
    "members.eval": ("inspect", b""),
    "b.json": ("inspect", WHOLE.read_bytes()),
    **{f"samples_colours_{i}.jsonl": ("lm-eval", p.read_bytes()) for i, p in enumerate(SAMPLES)},
    DETAILS.name: ("lighteval", DETAILS.read_bytes()),
    HELM.name: ("helm", HELM.read_bytes()),
    PROMPTFOO.name: ("promptfoo", PROMPTFOO.read_bytes()),
    "t.csv": ("table", TABLE),
    "t.tsv": ("table", TABLE.replace(b",", b"\t")),
    "t.jsonl": ("table", b'{"a": 1, "b": "x"}\n{"a": 2.5, "b": null}\n'),
    "t.csv.gz": ("table", gzip.compress(TABLE, mtime=0)),
    "t.csv.zst": ("table", zstandard.ZstdCompressor().compress(TABLE)),
    PARQUET: ("table", b""),
    "people.mat": (
        "matlab",
        matlab_file({"nR_S1": [[3, 2, 1, 0]] * 2, "nR_S2": [[0, 1, 2, 4]] * 2}),
    ),
    "trials.mat": (
        "matlab",
        matlab_file({"DATA": {"stimID": [0, 1, 1], "response": [0, 1, 0], "rating": [1, 2, 2]}}),
    ),
}
OPTIONS = {
    "matlab": [{}, {"columns": {"stimulus": "stimID"}}, {"limits": {"unpacked": 1000}}],
    "inspect": [{"task": "colours"}, {"field": "confidence", "scorer": "includes"}, {}],
    "lm-eval": [{}, {"field": "confidence", "scale": "percent"}, {"normalise": "bytes"}],
    "lighteval": [{}, {"field": "confidence"}, {"normalise": "bytes"}],
    "helm": [{}, {"field": "confidence"}, {"metric": "exact_match"}],
    "promptfoo": [{}, {"field": "confidence", "scale": "percent"}, {"threshold": 0.5}],
    "table": [{}, {"columns": {"confidence": "a"}}, {"scale": "percent"}],
}
PIECES = [b"{", b"}", b"[", b"]", b",", b'"', b"\\", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf"]
PIECES += [b"NaN", b"-Infinity", b"1e400", b"9" * 400, b"9" * 5000, b"null", b"true", b'""', b"{}"]
PIECES += [b"[" * 300, b'{"a":' * 5000, b"\\ud800", b'"' + b"x" * 5000 + b'"', b"\n" + TABLE]

place = st.floats(0, 1, exclude_max=True)
change = st.one_of(
    st.tuples(st.just("flip"), place, st.integers(1, 255)),
    st.tuples(st.just("cut"), place, place),
    st.tuples(st.just("end"), place, st.none()),
    st.tuples(st.just("again"), place, place),
    st.tuples(st.just("nest"), place, st.integers(1, 3000)),
    st.tuples(st.just("enlarge"), place, st.integers(2, 300)),
    st.tuples(st.just("insert"), place, st.sampled_from(PIECES)),
)
attacks = st.tuples(
    st.sampled_from(sorted(SOURCES)), st.lists(change, min_size=1, max_size=4), st.integers(0, 2)
)


def test_every_kind_of_log_is_attacked():
    assert {kind for kind, _ in SOURCES.values()} == OPTIONS.keys() == READERS.keys()


def changed(content, change):
    """Bytes with one change."""
    how, where, what = change
    at = int(where * len(content))
    if how == "flip" and content:
        return content[:at] + bytes([content[at] ^ what]) + content[at + 1 :]
    if how in ("cut", "again"):
        end = at + int(what * min(200, len(content)))
        return content[:at] + (content[at:end] * 2 if how == "again" else b"") + content[end:]
    if how == "end":
        return content[:at]
    if how == "nest":
        # What a value begins with, and what would close it.
        start = max(content.find(b": ", at), 0)
        return content[:start] + b": " + b"[" * what + b"1" + b"]" * what + content[start + 3 :]
    if how == "enlarge":
        return content[:at] + content[at : at + 300] * what + content[at + 300 :]
    return content[:at] + what + content[at:] if how == "insert" else content


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    members = members_of(EVAL)
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"], "c": [[1.0], []]}), folder / PARQUET)
    parquet = (folder / PARQUET).read_bytes()

    def read(example):
        name, changes, number = example
        kind, content = SOURCES[name]
        path = folder / name
        if name == "members.eval":
            target = sorted(members)[int(changes[0][1] * len(members))]
            parts = [(n, damaged(c, changes if n == target else ())) for n, c in members.items()]
            write_members(path, parts)
        else:
            path.write_bytes(damaged(parquet if name == PARQUET else content, changes))
        return ended(lambda: read_log(kind, path, **OPTIONS[kind][number]))

    return read


def damaged(content, changes):
    for one in changes:
        content = changed(content, one)
    return content


def test_damaged_logs_and_tables_are_read_or_refused(attack):
    ends = tally(attacks, attack, examples=400)
    assert set(ends) == {"answered", "refused"}


@pytest.mark.slow
def test_damaged_logs_and_tables_are_read_or_refused_for_minutes(attack):
    tally_for(5, attacks, attack, name="logs and tables")
