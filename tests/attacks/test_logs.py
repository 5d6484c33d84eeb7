"""Logs and tables of strangers are read or refused: no other error, no memory, no silent loss."""

import gzip
import io
import json
import re
import struct
import time
import tracemalloc
import zipfile
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from attacks.damage import changes, damaged
from command_line import refused, run
from hypothesis import strategies as st
from scipy.io import savemat

from hmetad import count_correct, count_trials
from hmetad.base.errors import InputError
from hmetad.logs import parse_confidence, read_log, read_table
from hmetad.logs.json_files import json_value
from hmetad.logs.kinds import READERS
from hmetad.logs.limits import Limits
from hmetad.measures import measure_trials

LOGS = Path(__file__).parents[1] / "logs" / "data"
EVAL, WHOLE = sorted((LOGS / "inspect").iterdir())
DETAILS = sorted((LOGS / "lighteval").rglob("details_*.parquet"))[0]
HELM = LOGS / "helm" / "colours_joint" / "scenario_state.json"
SAMPLES = sorted((LOGS / "lm_eval").rglob("samples_*.jsonl"))
HEADER = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "one"}}
TABLE = b"model,stimulus,response,confidence\n" + b"gpt,S1,S2,3\nllama,S2,S2,1\n" * 3
MEBIBYTE = 2**20
zstd = zstandard.ZstdCompressor().compress
PACKERS = {".gz": gzip.compress, ".zst": zstd}


def write(path, content, compression=zipfile.ZIP_DEFLATED, **options):
    """Path of bytes as its suffix says, of a Parquet table, or of an archive of Inspect."""
    if isinstance(content, pd.DataFrame):
        content.to_parquet(path)
    elif isinstance(content, pa.Table):
        pq.write_table(content, path, **options)
    elif isinstance(content, dict) or path.suffix == ".zip":
        members = {"header.json": json.dumps(HEADER)} | content if path.suffix == ".eval" else None
        with zipfile.ZipFile(path, "w", compression) as made:
            for name, part in (members or {path.stem: content}).items():
                made.writestr(name, part)
    else:
        path.write_bytes(PACKERS.get(path.suffix, bytes)(content))
    return path


def read(path, **options):
    """A log of Inspect or a table, by its name."""
    reader = partial(read_log, "inspect") if path.suffix == ".eval" else read_table
    return reader(path, **options)


def refusal(path, limits=None):
    """What is said of a file that is refused, and the MiB of memory and seconds that it took."""
    start = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read(path, **({} if limits is None else {"limits": limits}))
        peak = tracemalloc.get_traced_memory()[1] / MEBIBYTE
    finally:
        tracemalloc.stop()
    return str(caught.value), peak, time.process_time() - start


def ended(reading, *, allow_answer=True):
    """How reading ends: "answered" with a table that can be written, or "refused" in one line."""
    try:
        trials = reading()
    except InputError as error:
        return "refused" if "\n" not in str(error) else "more than one line"
    assert allow_answer
    assert trials.to_csv(index=False).encode()
    json.dumps(trials.attrs)
    return "answered"


# --- memory and time ------------------------------------------------------------------------

# Some 50 kB that become 16 million empty objects, and would take over 1 GB.
OBJECTS = 48 * 10**6
BOMB = {"samples/1.json": b'{"id": 1, "a": [' + b"{}," * (OBJECTS // 3) + b"{}]}"}
# 18 MB that compress to next to nothing.
ROWS = b"a,b\n" + b"1,1\n" * (45 * 10**5)
NAMES = [f"c{i}" for i in range(12_000)]
ALL_NAMES = {sign: f"{sign.join(NAMES)}\n{sign.join('1' * 12_000)}\n".encode() for sign in ",\t"}
ONE_ROW = json.dumps(dict.fromkeys(NAMES, 1)).encode()
MANY_COLUMNS = "Expected at most 10,000, got 12,000 columns"
MEMBERS_OF_30 = {f"samples/{i}.json": b"{}" for i in range(30)}
LONG = b"x" * (3 * MEBIBYTE)
# File, content, limits, what is said, and the MiB of memory that it may take.
LARGE = [
    ("a.eval", BOMB, None, r"limits=.'ratio': N.*at most 200 \(limit 'ratio'\)", 2),
    # The text itself, and its commas and brackets; no object.
    ("b.eval", BOMB, {"ratio": 10_000}, "5,000,000 .limit 'values'", 3 * OBJECTS / MEBIBYTE + 20),
    ("c.eval", MEMBERS_OF_30, {"members": 20}, "at most 20 .limit 'members'., got 31 members", 2),
    *[(f"t.csv{x}", ROWS, None, "more than 200 times its size", 150) for x in PACKERS],
    # Reading 100,000 of these took over 60 s.
    *[
        (name, ALL_NAMES[sign], None, MANY_COLUMNS, 150)
        for name, sign in (("t.csv", ","), ("t.tsv", "\t"), ("t.csv.gz", ","))
    ],
    ("t.jsonl", ONE_ROW, None, MANY_COLUMNS, 150),
    ("t.parquet", pa.table({n: [1] for n in NAMES}), None, MANY_COLUMNS, 150),
    ("t.csv", b"a,b\n1," + LONG + b"\n", None, "Maximum line size of 2097152", 150),
]


@pytest.mark.parametrize(("name", "content", "limits", "message", "most"), LARGE)
def test_what_would_fill_memory_or_hours_is_refused_at_once(
    name, content, limits, message, most, tmp_path
):
    path = write(tmp_path / name, content)
    assert path.stat().st_size < 200_000 or content is not BOMB
    said, peak, seconds = refusal(path, limits)
    assert re.search(message, said)
    assert peak < most
    assert seconds < 10


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 93]
)
def test_an_archive_that_lies_about_its_sizes_takes_little_memory(compression, tmp_path):
    path = write(tmp_path / "log.eval", {"samples/1.json": b" " * 2**26}, compression)
    lie = path.read_bytes().replace(struct.pack("<L", 2**26), struct.pack("<L", 2**16))
    path.write_bytes(lie)
    said, peak, _ = refusal(path)
    assert "cannot be read" in said
    # What a piece of 4 KiB becomes.
    assert peak < 150


def test_text_that_is_made_to_be_slow_is_not():
    start = time.process_time()
    nested, many = '{"a": [' * 1500 + "1," * 10**6, '{"a": [' + '{"b": 1},' * 10**6
    accents = "a" + "\u0301\u0323" * 10**6
    said = parse_confidence([nested, accents, many, "80%"], field="confidence")
    assert said["confidence"].isna().tolist() == [True] * 4
    said = parse_confidence([accents, "80%"], words={"likely": 0.7})
    assert said["confidence"].tolist()[1] == 0.8
    assert time.process_time() - start < 10


# --- JSON -----------------------------------------------------------------------------------

DEEP = {
    "lists": lambda n: "[" * n + "]" * n,
    "objects": lambda n: '{"a":' * n + "1" + "}" * n,
    "behind text": lambda n: r'["\\", "]\"", "\\\"[",' + "[" * n + "]" * n + "]",
    "cut off": lambda n: "[" * n,
}


@pytest.mark.parametrize("depth", [250, 20_000, 200_000])
@pytest.mark.parametrize("made", DEEP.values(), ids=DEEP)
def test_deep_json_is_refused(made, depth, tmp_path):
    sample = f'{{"id": 1, "epoch": 1, "store": {made(depth)}}}'
    for encoding in ("utf-8", "utf-16", "utf-32-le"):
        path = write(tmp_path / "log.eval", {"samples/1.json": sample.encode(encoding)})
        with pytest.raises(InputError, match=r"at most 200 \(limit 'nesting'\).*nested deeper"):
            read(path)
    if depth > 250:
        with pytest.raises(InputError, match=r"nested|no JSON"):
            read(path, limits={"nesting": 10 * depth})


def test_limits_count_values_and_brackets_and_nothing_in_text():
    def value(content, **limits):
        return json_value("t", content, Limits(**limits))

    text = '[{",' * 3000 + "\\" * 7
    record = {"a": text, "b": [text, {"c": text}]}
    written = json.dumps(record).encode()
    assert value(written, nesting=3, values=8) == record
    for limits in ({"nesting": 2}, {"values": 4}):
        with pytest.raises(InputError, match=f"limit '{next(iter(limits))}'"):
            value(written, **limits)
    assert value(b'{"a":' + b"[" * 199 + b"]" * 199 + b"}")
    assert value(b'{"a": [' + b"1," * 10_000 + b"1]}", values=10_003)


@pytest.mark.parametrize("digits", [400, 4000, 5000, 10**6])
def test_huge_numbers_are_missing_or_refused(digits, tmp_path):
    number, may_answer = "9" * digits, digits <= 4300
    sample = json.loads(SAMPLES[-1].read_text(encoding="utf-8").splitlines()[0])
    path, options = tmp_path / "samples_colours_2026-01-31T10-00-00.jsonl", OPTIONS["lm-eval"][1]
    for key in ("target", "exact_match", "doc_id", "doc", "filtered_resps"):
        line = json.dumps(sample | {key: "HUGE"}).replace('"HUGE"', number)
        path.write_text(line, encoding="utf-8")
        ended(
            lambda: read_log("lm-eval", path, answer_filter=None, **options),
            allow_answer=may_answer,
        )
    table = write(tmp_path / "t.jsonl", f'{{"a": {number}, "b": 1}}\n'.encode())
    ended(lambda: read_table(table), allow_answer=may_answer)
    assert parse_confidence([number, "80%"])["confidence"].tolist()[1] == 0.8


# --- tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_a_compressed_table_is_that_table_and_a_damaged_one_is_refused(suffix, tmp_path):
    content = TABLE + b"gpt,S1,S1,2\n" * 5000
    path, plain = write(tmp_path / f"t.csv{suffix}", content), write(tmp_path / "p.csv", content)
    pd.testing.assert_frame_equal(read_table(path), read_table(plain))
    whole = path.read_bytes()
    damages = whole[:-5], whole[: len(whole) // 2], b"rubbish", whole[:20] + whole[30:]
    for damage in damages if suffix in PACKERS else ():
        path.write_bytes(damage)
        with pytest.raises(InputError, match="cannot be read"):
            read_table(path)


def test_a_zst_in_several_frames_is_read_to_its_end(tmp_path):
    path = tmp_path / "t.csv.zst"
    path.write_bytes(zstd(TABLE) + zstd(b"gpt,S1,S1,4\n"))
    assert read_table(path)["confidence"].tolist()[-1] == 4
    path.write_bytes(zstd(TABLE) + zstd(b"gpt,S1,S1,4\n")[:-3])
    with pytest.raises(InputError, match="Truncated"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b,a\n1,2,3\n", "column 'a' twice"),
        (b"a,b\n1,2,3\n", "cannot be read"),
        (b"a,b\n1,2\n1,2,3\n", "cannot be read"),
        (b'a,b\n"1,2\n3,4\n', "cannot be read"),
        (b"a,b\n1,\x002\n", r"Expected text in UTF-8.*NUL bytes"),
        ("a,b\n1,2\n".encode("utf-16"), "Save it as text in UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "NUL bytes"),
        ("modèle,b\n1,2\n".encode("latin-1"), "Save it as text in UTF-8"),
        ("model,b\nclé,2\n".encode("latin-1"), "Save it as text in UTF-8"),
        (b"a" * 200_000 + b",b\n1,2\n", "cannot be read"),
        (pa.table([[1], [2]], names=["a", "a"]), "column 'a' twice"),
    ],
)
def test_tables_that_would_be_misread_are_refused(content, message, tmp_path):
    path = write(tmp_path / f"t.{'csv' if isinstance(content, bytes) else 'parquet'}", content)
    with pytest.raises(InputError, match=message):
        read_table(path)


def test_trials_with_their_header_again_among_the_rows_are_not_counted(tmp_path):
    path = write(tmp_path / "t.csv", TABLE + TABLE)
    with pytest.raises(InputError, match=r"got 4 labels: .*'stimulus' \(stimulus 1, response 0\)"):
        count_trials(path, by="model")
    rows = b"correct,confidence\n" + b"1,0.5\n0,0.2\n" * 3
    path = write(tmp_path / "t.csv", rows + rows)
    for count in (measure_trials, partial(count_correct, quantiles=2)):
        with pytest.raises(InputError, match=r"text such as 'confidence'.*row 7"):
            count(path)


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
    table = read_table(write(tmp_path / "t.csv", content))
    assert table.columns.tolist() == columns
    assert table.values.tolist() == rows


def test_text_of_json_lines_can_be_written_whatever_is_in_it(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": "\\ud800", "\\udfff": "\\u0000"}\n{"a": 1}\n')
    assert ended(lambda: read_log("table", tmp_path / "t.jsonl")) in ("answered", "refused")


# --- limits are the caller's -----------------------------------------------------------------


@pytest.mark.parametrize(
    "limits", [{"lines": 3}, {"line": 0}, {"line": 2.5}, {"line": True}, ["line"], 3]
)
def test_limits_that_are_none_are_refused(limits, tmp_path):
    path = write(tmp_path / "t.csv", TABLE)
    with pytest.raises(InputError, match=r"^limits"):
        read_log("lm-eval", path, limits=limits)


def test_limits_are_set_on_the_command_line(tmp_path):
    write(tmp_path / "log.eval", MEMBERS_OF_30)
    command = "import inspect log.eval -o out.csv"
    said = refused(tmp_path, f"{command} --limit members=20")
    assert "Expected at most 20 (limit 'members'), got 31 members" in said
    assert "--limit members=N" in said
    assert "--limit" in refused(tmp_path, f"{command} --limit members=many")
    assert "Did you mean 'members'?" in refused(tmp_path, f"{command} --limit membrs=3")


def test_ratings_without_confidence_are_refused_by_name(tmp_path):
    write(tmp_path / "t.csv", b"sure,ok\n1,1\n2,0\n")
    said = refused(tmp_path, "import table t.csv --ratings 2 -o out.csv")
    assert "got no column 'confidence'" in said
    run(tmp_path, "import table t.csv --columns confidence=sure --ratings 2 -o out.csv")
    write(tmp_path / "t.csv", b"confidence,ok\nhigh,1\nlow,0\n")
    refused(tmp_path, "import table t.csv --ratings 2 -o other.csv")


# --- fuzz -----------------------------------------------------------------------------------


def bytes_of(save, content):
    """What a writer of files writes."""
    made = io.BytesIO()
    save(made, content)
    return made.getvalue()


PEOPLE = {"nR_S1": [[3, 2, 1, 0]] * 2, "nR_S2": [[0, 1, 2, 4]] * 2}
DATA = {"DATA": {"stimID": [0, 1, 1], "response": [0, 1, 0], "rating": [1, 2, 2]}}
matlab_file = partial(bytes_of, partial(savemat, do_compression=True))
LISTS = pa.table({"a": [1.0, 2.0], "b": ["x", "y"], "c": [[1.0], []]})
with zipfile.ZipFile(EVAL) as made:
    MEMBERS = {name: made.read(name) for name in made.namelist()}
SOURCES = {
    "a.eval": ("inspect", EVAL.read_bytes()),
    "members.eval": ("inspect", b""),
    "b.json": ("inspect", WHOLE.read_bytes()),
    **{f"samples_colours_{i}.jsonl": ("lm-eval", p.read_bytes()) for i, p in enumerate(SAMPLES)},
    DETAILS.name: ("lighteval", DETAILS.read_bytes()),
    HELM.name: ("helm", HELM.read_bytes()),
    "t.csv": ("table", TABLE),
    "t.tsv": ("table", TABLE.replace(b",", b"\t")),
    "t.jsonl": ("table", b'{"a": 1, "b": "x"}\n{"a": 2.5, "b": null}\n'),
    "t.csv.gz": ("table", gzip.compress(TABLE, mtime=0)),
    "t.csv.zst": ("table", zstd(TABLE)),
    "t.parquet": ("table", bytes_of(lambda file, table: pq.write_table(table, file), LISTS)),
    "pp.csv": (
        "table",
        b"corrAns,k.keys,k.corr,s.response,practice.thisN,trials.thisN\n"
        b"x,x,1,2,0,\nx,x,1,2,,0\ny,x,0,1,,1\n",
    ),
    "js.json": (
        "table",
        b'[{"correct": true, "response": 1, "key": 1, "trial_type": "x", '
        b'"trial_index": 0, "time_elapsed": 3}]',
    ),
    "people.mat": ("matlab", matlab_file(PEOPLE)),
    "trials.mat": ("matlab", matlab_file(DATA)),
}
OPTIONS = {
    "matlab": [{}, {"columns": {"stimulus": "stimID"}}, {"limits": {"unpacked": 1000}}],
    "inspect": [{"task": "colours"}, {"field": "confidence", "scorer": "includes"}, {}],
    "lm-eval": [{}, {"field": "confidence", "scale": "percent"}, {"normalise": "bytes"}],
    "lighteval": [{}, {"field": "confidence"}, {"normalise": "bytes"}],
    "helm": [{}, {"field": "confidence"}, {"metric": "exact_match"}],
    "table": [{}, {"columns": {"confidence": "a"}}, {"scale": "percent"}],
}
attacks = st.tuples(st.sampled_from(sorted(SOURCES)), changes, st.integers(0, 2))


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")

    def read_damaged(example):
        name, changed, number = example
        kind, content = SOURCES[name]
        if name == "members.eval":
            target = sorted(MEMBERS)[int(changed[0][1] * len(MEMBERS)) if changed else 0]
            write(folder / name, MEMBERS | {target: damaged(MEMBERS[target], changed)})
        else:
            (folder / name).write_bytes(damaged(content, changed))
        return ended(lambda: read_log(kind, folder / name, **OPTIONS[kind][number]))

    return read_damaged


@pytest.mark.integration
def test_damaged_logs_and_tables_are_read_or_refused(tally, attack):
    assert {kind for kind, _ in SOURCES.values()} == OPTIONS.keys() == READERS.keys()
    for name in SOURCES:
        assert "answered" in {attack((name, [], number)) for number in range(3)}, name
    ends = tally(attacks, attack, examples=100, minutes=5)
    assert set(ends) == {"answered", "refused"}
