"""A folder of logs is read by other processes as it is read here."""

import json
import os
import pickle
import shutil
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy.io import savemat

from hmetad.base.errors import InputError
from hmetad.logs import matlab, samples, trial_tables
from hmetad.logs.samples import read_log
from hmetad.logs.trials import of_each

LOGS = Path(__file__).parent / "data"
FOLDERS = {
    "lm-eval": ("lm_eval", {"runs": "all", "field": "confidence"}),
    "inspect": ("inspect", {"task": "colours"}),
    "lighteval": ("lighteval", {"field": "confidence"}),
    "helm": ("helm", {"words": {"sure": 0.9}}),
}


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def client():
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as found:
        yield found


@pytest.fixture
def not_here(monkeypatch):
    """In this process nothing can be read; others have the modules as they are."""

    def refuse(*_, **__):
        raise AssertionError("read in this process")

    monkeypatch.setattr(samples, "trial_of", refuse)
    monkeypatch.setattr(trial_tables, "read_table", refuse)
    monkeypatch.setattr(matlab, "read_variables", refuse)


def assert_same(found, expected):
    pd.testing.assert_frame_equal(found, expected)
    assert found.attrs == expected.attrs
    assert json.dumps(found.attrs) == json.dumps(expected.attrs)


def folder_of(kind, tmp_path):
    """A folder with several files of a kind, and options to read it with."""
    if kind == "table":
        for name in ("a", "b", "c"):
            Path(tmp_path, f"{name}.csv").write_text(f"correct;confidence\n1;{name}0\n0;50%\n")
        return tmp_path, {"scale": "percent"}
    if kind == "matlab":
        for name in ("a", "b"):
            savemat(tmp_path / f"{name}.mat", {"nR_S1": [3, 2, 1, 0], "nR_S2": [0, 1, 2, 4]})
        return tmp_path, {}
    name, options = FOLDERS[kind]
    return LOGS / name, options


@pytest.mark.integration
@pytest.mark.parametrize("kind", [*FOLDERS, "table", "matlab"])
@pytest.mark.parametrize("where", ["pool", "client"])
def test_other_processes_read_what_this_one_reads(kind, where, tmp_path, request):
    executor = request.getfixturevalue(where)
    path, options = folder_of(kind, tmp_path)
    expected = read_log(kind, path, **options)
    request.getfixturevalue("not_here")
    with pytest.raises(AssertionError, match="read in this process"):
        read_log(kind, path, **options)
    assert_same(read_log(kind, path, **options, executor=executor), expected)


@pytest.fixture
def two_filters(tmp_path):
    """Samples of two tasks by two models, one of them with two filters."""
    for model, task in [("one", "sums"), ("one", "arc"), ("two", "sums"), ("two", "arc")]:
        samples = [
            {"doc_id": i, "doc": {"q": i}, "target": "4", "resps": [["4"]], "filtered_resps": ["4"],
             "exact_match": 1.0, "filter": name}
            for name in (("loose", "strict") if task == "sums" else ("none",))
            for i in (0, 1, 1)
        ]  # fmt: skip
        file = tmp_path / model / f"samples_{task}_2026-01-31T10-00-00.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(map(json.dumps, samples)))
    return tmp_path


class Elsewhere:
    """An executor that gives and takes what another process would, one file after the other."""

    def __init__(self):
        self.futures = []

    def submit(self, function, file):
        self.futures.append(Future())
        try:
            value = copied(function)(copied(file))
            self.futures[-1].set_result(copied(value))
        except InputError as error:
            self.futures[-1].set_exception(copied(error))
        return self.futures[-1]


def copied(value):
    return pickle.loads(pickle.dumps(value))


def test_filters_runs_and_notices_are_chosen_over_all_files(two_filters):
    old = two_filters / "one" / "samples_sums_2026-01-31T10-00-00.jsonl"
    shutil.copy(old, old.with_name("samples_sums_2025-01-31T10-00-00.jsonl"))
    for options in ({"runs": "latest"}, {"runs": "latest", "answer_filter": "strict"}):
        expected = read_log("lm-eval", two_filters, **options)
        assert_same(read_log("lm-eval", two_filters, **options, executor=Elsewhere()), expected)
        assert expected.attrs["duplicates"] == 4


def test_an_error_is_the_one_of_the_first_file_that_has_it_and_others_are_not_read(two_filters):
    for name in ("one/samples_sums", "two/samples_arc"):
        two_filters.joinpath(f"{name}_2026-01-31T10-00-00.jsonl").write_text('{"doc_id": 1')
    with pytest.raises(InputError, match="samples_sums") as here:
        read_log("lm-eval", two_filters)
    with pytest.raises(InputError) as there:
        read_log("lm-eval", two_filters, executor=Elsewhere())
    assert str(there.value) == str(here.value)
    assert vars(there.value) == vars(here.value)


class Waiting(Elsewhere):
    """An executor whose futures never run, but for the first, which has an error."""

    def submit(self, *_):
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_exception(InputError("a.jsonl", "x", "y"))
        return self.futures[-1]


def test_files_that_wait_are_not_read_after_an_error(two_filters):
    waiting = Waiting()
    with pytest.raises(InputError):
        read_log("lm-eval", two_filters, executor=waiting)
    assert [future.cancelled() for future in waiting.futures] == [False, True, True, True]


def test_files_are_not_all_read_ahead():
    """What is read waits in memory, so that a slow first file could fill it."""
    executor = Elsewhere()
    values = of_each(str, range(1000), executor)
    assert [next(values) for _ in range(3)] == ["0", "1", "2"]
    assert len(executor.futures) < 100
    assert [*values][-1] == "999"


def test_a_worker_that_ends_is_an_error_in_words():
    executor = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with executor, pytest.raises(InputError, match=r"executor: .*got a worker that ended"):
        list(of_each(os._exit, [1, 2], executor))
