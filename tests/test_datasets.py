"""Public data sets, fetched from a server on this machine."""

import gzip
import hashlib
import socket
import tarfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from unittest import mock
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pooch
import pytest
import real_data
import xarray as xr

import hmetad
from hmetad import datasets as public
from hmetad.base.errors import InputError
from hmetad.measures import measure_trials

HEADER = "Subj_idx,Stimulus,Response,Confidence,RT_decision,RT_confidence,Difficulty\n"
FINE = (HEADER + "1,1,1,4,1.0,1.0,1\n1,2,1,2,1.0,1.0,1\n1,2,-10,-10,1.0,1.0,1\n").encode()
COARSE = (HEADER + "1,2,2,3,1.0,1.0,1\n").encode()
PATHS = ("Data base/one (1).csv", "Data base/two.csv")
ADDRESSES = tuple(f"/someone/data/0123abc/{path}" for path in PATHS)


class Site:
    """What a server on this machine gives, and what it was asked for."""

    def __init__(self, content):
        self.content, self.asked, self.failing, self.cut = content, [], 0, False
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = unquote(self.path)
                site.asked.append(path)
                found = site.content.get(path)
                if site.failing or found is None:
                    site.failing = max(site.failing - 1, 0)
                    self.send_error(404 if found is None else 503)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found[: len(found) // 2] if site.cut else found)

            def log_message(self, *args):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Return a function that serves content at its paths; the cache is a folder of the test."""
    sites = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HMETAD_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(public, "RETRIES", 0)

    def start(content):
        sites.append(Site(content))
        monkeypatch.setenv("HMETAD_DATA_URL", sites[-1].address)
        return sites[-1]

    yield start
    for site in sites:
        site.close()


@pytest.fixture
def small(serve, monkeypatch):
    """Server of a data set of two small files, pinned under the name of a real one."""
    files = [
        {"path": path, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in zip(PATHS, (FINE, COARSE), strict=True)
    ]
    entry = public.registry()["bang2019"]
    entry = {**entry, "repository": "someone/data", "commit": "0123abc", "files": files}
    monkeypatch.setattr(public, "registry", lambda: {"bang2019": entry})
    return serve(dict(zip(ADDRESSES, (FINE, COARSE), strict=True)))


def cached(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


# --- fetching -------------------------------------------------------------------------------


def test_files_are_fetched_once_from_their_pinned_addresses_and_quietly(small, monkeypatch, capfd):
    level = pooch.get_logger().level
    trials = public.load_trials("bang2019")
    assert small.asked == list(ADDRESSES)
    assert trials["task"].tolist() == ["fine", "fine", "coarse"]
    assert pooch.get_logger().level == level
    first = public.load("bang2019")
    monkeypatch.setenv("HMETAD_DATA_URL", "http://127.0.0.1:1")
    xr.testing.assert_identical(public.load("bang2019"), first)
    assert small.asked == list(ADDRESSES)
    # Nobody watches.
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("small")
def test_a_folder_given_comes_before_the_environment_and_the_users_cache_last(
    tmp_path, monkeypatch
):
    public.load("bang2019", folder=tmp_path / "mine")
    files = {path.name for path in (tmp_path / "mine" / "bang2019").iterdir()}
    assert files == {"one (1).csv", "two.csv"}
    assert not (tmp_path / "cache").exists()
    monkeypatch.delenv("HMETAD_DATA")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "users" / name)
    public.load("bang2019")
    assert (tmp_path / "users" / "hmetad" / "bang2019" / "two.csv").is_file()


def test_a_file_put_there_by_hand_is_taken_and_one_that_was_changed_is_fetched_again(
    small, tmp_path
):
    by_hand = tmp_path / "cache" / "bang2019"
    by_hand.mkdir(parents=True)
    (by_hand / "one (1).csv").write_bytes(FINE)
    public.load("bang2019")
    (by_hand / "two.csv").write_bytes(b"changed")
    public.load("bang2019")
    assert small.asked == [ADDRESSES[1]] * 2
    assert (by_hand / "two.csv").read_bytes() == COARSE


def test_a_server_that_fails_once_is_asked_again(small, monkeypatch):
    monkeypatch.setattr(public, "RETRIES", 1)
    small.failing = 1
    public.load("bang2019")
    assert small.asked == [ADDRESSES[0], *ADDRESSES]


# --- what can go wrong ----------------------------------------------------------------------


def test_an_interrupted_download_leaves_whole_files_and_says_what_to_do(small, tmp_path):
    small.cut = True
    with pytest.raises(InputError, match=r"by hand and save it as.*no file from ") as error:
        public.load("bang2019")
    assert str(tmp_path / "cache" / "bang2019" / "one (1).csv") in str(error.value)
    assert cached(tmp_path) == []
    small.cut, second = False, small.content.pop(ADDRESSES[1])
    with pytest.raises(InputError, match="404"):
        public.load("bang2019")
    assert cached(tmp_path) == ["one (1).csv"]
    small.content[ADDRESSES[1]] = second
    assert public.load("bang2019").sum() == 3


def test_another_file_than_the_pinned_one_is_refused_and_not_kept(small, tmp_path):
    other = b"another file"
    small.content[ADDRESSES[0]] = other
    came, wanted = (hashlib.sha256(x).hexdigest() for x in (other, FINE))
    with pytest.raises(InputError) as error:
        public.load("bang2019")
    assert f"got SHA-256 {came} from {small.address}" in str(error.value)
    assert f"Expected the file with SHA-256 {wanted}" in str(error.value)
    assert cached(tmp_path) == []


@pytest.mark.usefixtures("small")
def test_no_server_is_an_input_error_with_the_way_out(monkeypatch, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv("HMETAD_DATA_URL", f"http://127.0.0.1:{port}/")
    address = f"http://127.0.0.1:{port}/someone/data/0123abc/Data%20base/one%20%281%29.csv"
    with pytest.raises(InputError) as error:
        public.load("bang2019")
    assert f"Fetch {address} by hand" in str(error.value)
    assert "HMETAD_DATA_URL" in str(error.value)
    assert cached(tmp_path) == []


@pytest.mark.usefixtures("small")
def test_an_address_that_is_none_and_a_folder_that_cannot_be_written_are_refused(
    monkeypatch, tmp_path
):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InputError, match=r"folder: .*HMETAD_DATA.*got .*cannot be written"):
        public.load("bang2019", folder=tmp_path / "file")
    with monkeypatch.context() as patch:
        refuse = mock.Mock(side_effect=PermissionError("no permission to write here"))
        patch.setattr(pooch.core, "make_local_storage", refuse)
        with pytest.raises(InputError, match=r"cannot be written .no permission"):
            public.load("bang2019")
    monkeypatch.setenv("HMETAD_DATA_URL", "mirror.example")
    with pytest.raises(InputError, match=r"HMETAD_DATA_URL: .*https://.*got 'mirror\.example'"):
        public.load("bang2019")


@pytest.mark.parametrize("ask", [public.load, public.load_trials])
def test_an_unknown_name_is_refused_and_a_near_one_suggested(ask):
    with pytest.raises(InputError, match=r"name: .*'mazancieux2020'.*got 'mazancieux'"):
        ask("mazancieux")


def test_a_reader_that_is_not_installed_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(public, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"\.\[r\].*no package rdata"):
        public.read_hellmann2023([tmp_path / "MaskOri.RData"])


# --- the registry ---------------------------------------------------------------------------


def test_the_list_says_what_each_data_set_is():
    table = public.datasets()
    columns = ["name", "title", "observers", "people", "trials", "domain", "table"]
    assert table.columns.tolist() == [*columns, "licence", "citation", "address", "size"]
    assert table["name"].is_unique
    own = sorted(public.READERS)
    assert table["name"].tolist()[: len(own)] == own
    texts = ["name", "title", "observers", "table", "licence", "citation", "address"]
    assert (table[texts].map(len) > 0).all(axis=None)
    described = table.set_index("name").drop(index=own)
    assert len(described) == 87
    assert (described[["people", "trials"]] > 0).all(axis=None)
    assert (
        table["domain"].dropna().isin(["perception", "memory", "cognition", "motor", "mixed"]).all()
    )
    assert table["size"].between(10_000, 20_000_000).all()


def test_every_file_is_pinned_to_a_commit_and_a_hash():
    for name, entry in public.registry().items():
        assert len(entry["commit"]) == 40, name
        places = [file.get("as", Path(file["path"]).name) for file in entry["files"]]
        assert len(set(places)) == len(places)
        assert all(len(bytes.fromhex(file["sha256"])) == 32 for file in entry["files"])


# --- each data set, from the published bytes --------------------------------------------------


@pytest.fixture(scope="module")
def contents(shared):
    """Path on the server → bytes, of every file that the registry pins."""
    data = shared / "data"
    folders = {
        "bang2019": data / "bang2019_exp2",
        "cacioli2026_atlas": data / "cacioli2026_profile_atlas" / "raw",
        "cacioli2026_calibration": data / "cacioli2026_sdt_calibration",
        "hellmann2023": data / "hellmann2023_maskori",
        "mazancieux2020": data / "mazancieux2020",
        "metadpy_simulated": data / "metadpy_rm_simulated",
        "michael2026": data / "michael2026_comparing_confidence",
    }
    content = {}
    for name, entry in public.registry().items():
        start = f"/{entry['repository']}/{entry['commit']}/"
        if name in folders:
            for file in entry["files"]:
                content[start + file["path"]] = unpacked(folders[name], file["path"])
    entry = public.registry()["cacioli2026_battery"]
    start = f"/{entry['repository']}/{entry['commit']}/data/"
    with tarfile.open(data / "cacioli2026_monitoring_battery" / "csvs.tar.gz") as archive:
        for member in archive.getmembers():
            if member.isfile():
                content[start + member.name] = archive.extractfile(member).read()
    return content


def unpacked(folder: Path, path: str) -> bytes:
    """Bytes of a file as published; it may lie here gzipped."""
    plain = folder / Path(path).name
    if plain.is_file():
        return plain.read_bytes()
    return gzip.decompress(plain.with_name(plain.name + ".gz").read_bytes())


@pytest.fixture
def all_published(contents, serve):
    return serve(contents)


@pytest.mark.usefixtures("all_published")
@pytest.mark.parametrize(
    ("name", "cells", "trials"),
    [("bang2019", 350, 97), ("mazancieux2020", 724, 40)],
)
def test_counts_of_human_tasks_have_the_published_numbers_of_trials(name, cells, trials):
    counts = public.load(name)
    assert counts.sizes["cell"] == cells
    assert (counts.sum(["stimulus", "response", "rating"]) == trials).all()


@pytest.mark.usefixtures("all_published")
def test_masked_orientations_are_read_from_rs_own_format(shared):
    pytest.importorskip("rdata")
    counts = public.load("hellmann2023")
    xr.testing.assert_equal(counts, real_data.hellmann2023_counts(shared / "data"))


@pytest.mark.usefixtures("all_published")
def test_simulated_trials_give_metadpys_estimates():
    counts = public.load("metadpy_simulated")
    assert counts.sizes["cell"] == 40
    # metadpy pads twice: as it counts the trials, and as it fits the counts.
    fitted = hmetad.fit_mle(counts.isel(cell=slice(4)), correction=0.25)
    # Printed to six decimals by another optimiser.
    meta_d, dprime = (
        [0.739642, 0.790893, 1.084441, 0.869539],
        [0.959244, 1.00631, 1.117543, 0.967871],
    )
    np.testing.assert_allclose(fitted["meta_d"], meta_d, atol=2e-5)
    np.testing.assert_allclose(fitted["dprime"], dprime, atol=1e-6)


@pytest.mark.usefixtures("all_published")
def test_language_models_in_two_alternatives():
    stated = public.load_trials("michael2026")
    assert (stated["correct"] == (stated["stimulus"] == stated["response"])).all()
    assert public.load("michael2026").sizes["cell"] == 22
    # In HaluEval a model always answers what it finds more probable.
    assert (stated.loc[stated["task"] == "HaluEval", "confidence"] > 0.5).all()


@pytest.mark.usefixtures("all_published")
def test_ratings_of_the_atlas_are_cuts_of_its_percentages():
    trials = public.load_trials("cacioli2026_atlas")
    lowest = trials.groupby("rating")["confidence"].min()
    assert lowest.tolist()[1:] == [0.8, 0.9, 0.95, 0.99]
    counts = public.load("cacioli2026_atlas")
    assert counts.dims == ("cell", "correct", "rating")
    assert (counts.sizes["cell"], int(counts.sum())) == (198, 47_151)
    assert (counts["options"] == 4).all()


# Names in the published table of results, where they are not those of the files.
SHORT = {
    "DeepSeek R1": "DeepSeek-R1",
    "Gemini 3 Flash": "Gemini 3 Flash Preview",
    "Gemini 3.1 Pro": "Gemini 3.1 Pro Preview",
    "Qwen 235B": "Qwen 3 235B A22B Instruct",
    "Qwen 80B Inst": "Qwen 3 Next 80B Instruct",
    "Qwen 80B Think": "Qwen 3 Next 80B Thinking",
    "Qwen Coder 480B": "Qwen 3 Coder 480B",
}
TASKS = ("Overhypothesis", "Meta Cog", "Social Cognition", "Attention", "Executive", "Prospective")


@pytest.mark.usefixtures("all_published")
def test_published_results_of_the_battery_follow_from_its_trials(shared):
    trials = public.load_trials("cacioli2026_battery")
    assert len(trials) == 10_480
    folder = shared / "data" / "cacioli2026_monitoring_battery"
    printed = pd.read_csv(folder / "all_tracks_probe_results.csv")
    printed["task"] = printed["track"].str[1:].astype(int).map(lambda k: TASKS[k - 1])
    printed["model"] = printed["model"].replace(SHORT)
    printed = printed.set_index(["model", "task"]).sort_index()
    # A withdrawn answer is an abstention, whose correctness is known.
    withdrawn = trials["keep_withdraw"] == "WITHDRAW"
    options = {"by": ["model", "task"], "abstained": "withdrawn", "forced_correct": "forced"}
    answers = trials.assign(withdrawn=withdrawn, forced=trials["correct"])
    found = measure_trials(answers, **options).to_dataframe().set_index(["model", "task"])
    found = found.loc[printed.index]
    shares = {"kept": found["coverage"], "withdrawn": 1 - found["coverage"]}
    right = shares["kept"] * found["accuracy"].fillna(0)
    right_withdrawn = shares["withdrawn"] * found["forced_accuracy"].fillna(0)
    wrong, wrong_withdrawn = shares["kept"] - right, shares["withdrawn"] - right_withdrawn
    n_right = found["trials"] * (right + right_withdrawn)
    np.testing.assert_allclose(n_right, printed["n_correct"], atol=1e-9)
    np.testing.assert_allclose(found["trials"] - n_right, printed["n_incorrect"], atol=1e-9)
    rates = 100 * right / (right + right_withdrawn)
    of_errors = 100 * wrong / (wrong + wrong_withdrawn).where(printed["n_incorrect"] > 0)
    # Printed to two decimals; of no errors print has a rate of 0, and no difference.
    np.testing.assert_allclose(rates, printed["kc_rate"], atol=0.0051)
    np.testing.assert_allclose(of_errors.fillna(0), printed["ki_rate"], atol=0.0051)
    np.testing.assert_allclose(rates - of_errors, printed["withdraw_delta"], atol=0.0051)
    leaders = pd.read_csv(folder / "probe_adjusted_leaderboard.csv").replace({"model": SHORT})
    means = (rates - of_errors).drop("Prospective", level="task").groupby("model").mean()
    means = means[leaders["model"]]
    # Printed to one decimal.
    np.testing.assert_allclose(means, leaders["mean_withdraw_delta"], atol=0.051)
    # Its ratings count KEEP and BET.
    count = 1 + (trials["keep_withdraw"] == "KEEP") + (trials["bet_nobet"] == "BET")
    assert (trials["confidence"] == count).all()
    assert public.load("cacioli2026_battery").sizes == {"cell": 120, "correct": 2, "rating": 3}


@pytest.mark.usefixtures("all_published")
def test_counts_of_log_probabilities_are_the_published_ones(shared):
    counts = public.load("cacioli2026_calibration")
    assert counts.sizes == {"cell": 57, "correct": 2, "rating": 20}
    folder = shared / "data" / "cacioli2026_sdt_calibration"
    cell = pd.read_json(folder / "roc_data.json")["gemma2_instruct"]["nq"]["0.7"]
    ours = counts.sel(cell="gemma2_instruct | nq | 0.7")
    assert ours.sel(correct="right").values.tolist() == cell["signal_counts"]
    assert ours.sel(correct="wrong").values.tolist() == cell["noise_counts"]


@pytest.mark.usefixtures("all_published")
def test_a_table_says_where_it_comes_from_and_survives_a_file(tmp_path):
    counts = public.load("metadpy_simulated")
    assert counts.attrs["dataset"] == "metadpy_simulated"
    assert counts.attrs["licence"] == "GPL-3.0"
    assert counts.attrs["address"].startswith("https://github.com/embodied-computation-group/")
    counts.to_netcdf(tmp_path / "counts.nc", engine="h5netcdf")
    read = xr.load_dataarray(tmp_path / "counts.nc", engine="h5netcdf")
    assert read.attrs == counts.attrs
