"""What is no log, and options that cannot be used, are refused in words, whatever the kind."""

import json
import math
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.logs import read_log

LOGS = Path(__file__).parent / "data"

CHOICE = {
    "doc_id": 0,
    "doc": {"q": 0},
    "target": "0",
    "arguments": {},
    "resps": [[["-1", "False"]], [["-2", "False"]]],
    "filtered_resps": [["-1", "False"], ["-2", "False"]],
    "filter": "none",
}
LOG = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "one"}}
SAMPLE = {"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}}
REQUESTS = '{"adapter_spec": {}, "request_states": '

# Second lines of a log of lm-eval.
LINES = [
    ('{"doc_id": 1, "resps": [["gr', r"cut off.*text that is no JSON"),
    ("[1, 2]", "a list"),
    ("{}", "an object without 'doc_id'"),
    ('{"doc_id": 1, "resps": []}', "an object without 'filtered_resps'"),
    ("[" * 100_000, "limits=.*got JSON that is nested deeper"),
    ("1" * 5000, "Exceeds the limit"),
    (json.dumps(CHOICE | {"doc": {"q": "other"}}), "doc_id 0 again, of another doc"),
    (json.dumps(CHOICE | {"doc_id": []}), r"doc_id \[\]"),
    (json.dumps(CHOICE | {"doc_id": 1, "filtered_resps": []}), "'filtered_resps' without"),
    (json.dumps(CHOICE | {"doc_id": 1, "filtered_resps": [[-1, False], "a"]}), "log-likelihoods"),
]
HEADERS = [
    (LOG | {"version": 3}, "log version 3"),
    (LOG | {"version": 1}, r"inspect log convert.*log version 1"),
    (LOG | {"version": True}, "log version True"),
    (LOG | {"version": "2"}, "log version '2'"),
    (LOG | {"eval": {}}, "without a task and a model"),
    (LOG | {"eval": None}, "without a task and a model"),
    ({"answers": 3}, "without 'version' and 'eval'"),
]
# Kind, name of a file, its content, and what is said.
CONTENTS = [
    *(
        ("lm-eval", "samples_a.jsonl", f"{json.dumps(CHOICE)}\n{line}", f"line 2: .*{said}")
        for line, said in LINES
    ),
    ("lm-eval", "samples_a.jsonl", "", "an empty file"),
    ("lm-eval", "samples_a.jsonl", "\n \n", "an empty file"),
    ("lm-eval", "samples_a.jsonl", b'{"doc_id": "\xff\xfe"}\n', "text that is no JSON"),
    *(("inspect", "log.json", json.dumps(head | {"samples": [SAMPLE]}), said)
      for head, said in HEADERS),
    ("inspect", "log.json", "", "an empty file"),
    ("inspect", "log.json", '{"version": 2, "ev', "text that is no JSON"),
    ("inspect", "log.json", "[]", "a list"),
    ("inspect", "log.json", json.dumps(LOG | {"samples": None}), "without samples"),
    ("inspect", "log.json", json.dumps(LOG | {"samples": []}), "without samples"),
    ("inspect", "log.json", json.dumps(LOG | {"samples": [3]}), "sample 1: .*got a int"),
    ("inspect", "log.json", json.dumps(LOG | {"samples": [{}]}), "sample 1: .*got id None"),
    ("inspect", "log.json", json.dumps(LOG | {"samples": [{"id": 1}]}), "got epoch None"),
    *(("inspect", "log.eval", content, "an archive that cannot be read")
      for content in (b"", b"no archive", b"PK\x03\x04 cut off")),
    ("inspect", "log.txt", "", r"suffix '\.txt'"),
    ("helm", "scenario_state.json", "[]", "a list"),
    ("helm", "scenario_state.json", "{}", "without adapter_spec and request_states"),
    ("helm", "scenario_state.json", f"{REQUESTS}[]}}", "no request states"),
    ("helm", "scenario_state.json", f"{REQUESTS}[1]}}", "request 1: .*got a request without"),
    ("helm", "scenario_state.json", f'{REQUESTS}[{{"instance": {{}}}}]}}',
     "request 1: .*got id None"),
    ("helm", "scenario_state.json", '{"adapter_spec": {', "no JSON"),
    ("helm", "stats.json", "[]", r"a file without scenario_state\.json beside it"),
    ("lighteval", "a.csv", "a,b", "a header without rows"),
]  # fmt: skip
KINDS = ("lm-eval", "inspect", "lighteval", "helm")
FOLDERS = {kind: LOGS / kind.replace("-", "_") for kind in KINDS}
OPTIONS = [
    *((kind, {"task": "colour"}, "Did you mean 'colours") for kind in KINDS if kind != "helm"),
    ("helm", {"task": "colours_opne"}, "Did you mean 'colours_open'"),
    *(("lm-eval", {"threshold": value}, "threshold") for value in ("high", math.nan)),
    ("lm-eval", {"metric": "acc_nor"}, "metric: .*got 'acc_nor'"),
    ("lm-eval", {"metric": "exactmatch", "task": "colours_open"}, "Did you mean 'exact_match'"),
    ("lm-eval", {"answer_pattern": "("}, "answer_pattern"),
    ("lm-eval", {"answer_pattern": "a"}, "answer_pattern: .*got 'a' with 0 groups"),
    ("lm-eval", {"normalise": "words"}, "normalise: .*got 'words'"),
    ("lm-eval", {"runs": "first"}, "runs: .*got 'first'"),
    ("inspect", {"source": "text"}, "source: .*got 'text'"),
    ("inspect", {"source": "logprobs", "field": "sure"}, "'logprobs' with a field"),
    ("inspect", {"grades": {"P": 0.5}}, "grades"),
    ("inspect", {"grades": ["P"]}, "grades"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "content", "said"), CONTENTS)
def test_what_is_no_log_is_refused_with_its_place(kind, name, content, said, tmp_path):
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_log(kind, tmp_path / name)


@pytest.mark.parametrize(("header", "said"), [*HEADERS, (None, r"without header\.json")])
def test_archives_of_another_kind_are_refused(header, said, tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("samples/1.json", json.dumps(SAMPLE))
        if header is not None:
            archive.writestr("header.json", json.dumps(header))
    with pytest.raises(InputError, match=said):
        read_log("inspect", tmp_path)


def test_details_of_lighteval_have_a_document_and_metrics(tmp_path):
    pd.DataFrame([{"a": 1}]).to_parquet(tmp_path / "details_a_2026-01-31T10-00-00.parquet")
    with pytest.raises(InputError, match=r"row 1: .*got a row without 'doc' and 'metric'"):
        read_log("lighteval", tmp_path)


@pytest.mark.parametrize(("kind", "options", "said"), OPTIONS)
def test_unusable_options_are_refused(kind, options, said):
    with pytest.raises(InputError, match=said):
        read_log(kind, FOLDERS[kind], **options)
