"""Every writer against disks that are full or read-only, and against ends while it writes."""

import errno
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from unittest import mock

import matplotlib.pyplot as plt
import pytest
import xarray as xr
from command_line import refused, run, tells
from full_disk import largest_file
from report.made_fit import made_fit
from saved import as_saved

import hmetad
from hmetad.base import files
from hmetad.report.page.blocks import Figure, Prose, Table
from hmetad.report.page.report import Report

OLD = "what was there before"
HMETAD = [sys.executable, "-m", "hmetad"]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
COMPARED = "compare made.nc --over model --within domain --rope=-0.05,0.05"
# What is written, by the commands that write it without sampling.
WRITERS = {
    "measures.csv": "measures trials.csv",
    "measures.md": "measures trials.csv",
    "rows.json": COMPARED,
    "report.html": "report made.nc",
    "trials.csv": "import table trials.csv --columns correct=right,confidence=confidence",
}
WRITING = """
import sys
from pathlib import Path
from hmetad.base.process import begin_command
begin_command()
from hmetad.base.files import write_together
folder = Path(sys.argv[1])
print("begun", flush=True)
for _ in range(10_000):
    write_together({folder / "new" / "table.csv": b"n" * 200_000, folder / "page": b"n" * 200_000})
"""


@pytest.fixture(scope="module")
def compiled(inputs, tmp_path_factory):
    """What is compiled is kept in files too, which a limit on the size of files forbids."""
    kept = tmp_path_factory.mktemp("compiled")
    for name, line in WRITERS.items():
        run(inputs, f"{line} -o {kept / name}", status=0)


@pytest.fixture
def out(inputs, tmp_path):
    """Folder with old outputs, beside links to the inputs."""
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    folder = tmp_path / "out"
    folder.mkdir()
    for name in (*WRITERS, "fit.nc", "comparison.csv"):
        (folder / name).write_text(OLD)
    return folder


def untouched(folder):
    """Whether all files are the old ones, and there are no others."""
    files = [path for path in folder.rglob("*") if not path.is_symlink()]
    return bool(files) and all(path.is_file() and path.read_text() == OLD for path in files)


@pytest.mark.integration
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", WRITERS)
def test_a_command_that_cannot_write_says_so_in_a_line(name, out):
    with largest_file(10):
        done = run(out.parent, f"{WRITERS[name]} -o out/{name}", status=2)
    # Pages in Markdown and LaTeX come with files beside them, which are written first.
    stem, suffix = name.split(".")
    place = rf"{stem}(_tables/[\w.-]+|_figures/[\w.-]+|\.{suffix})"
    assert re.fullmatch(rf"hmetad: out/{place}: File too large", done.stderr.splitlines()[-1])
    assert untouched(out)


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_writers_leave_all_as_it_was_wherever_they_fail(step, out, monkeypatch):
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    plt.close(figure)
    table = Table("T", ("a", "b"), ((1, 2),))
    page = Report("R", (Prose("P", ("text",)), table, Figure("F", "figure", figure)))
    saves = dict.fromkeys((".html", ".md", ".tex", ".json"), page.save)
    saves[".nc"] = partial(hmetad.save_fit, made_fit(["a"], ["x"], draws=5))
    for suffix, save in saves.items():
        path = out / f"report{suffix}"
        if step != "open":
            path.write_text(OLD)
        with monkeypatch.context() as patch:
            fail = mock.Mock(side_effect=FULL)
            patch.setattr(*((Path, "open") if step == "open" else (files.os, step)), fail)
            with pytest.raises(OSError, match="No space left"):
                save(path)
        assert untouched(out), suffix


@pytest.mark.parametrize("place", ["temporary", "home", "here", "nowhere"])
def test_a_fit_that_cannot_be_saved_is_kept_elsewhere(place, out, monkeypatch):
    fit, saved = made_fit(["a", "b"], ["x"], draws=50), hmetad.save_fit
    places = ["temporary", "home", "here"]
    # Of those places the first that exists; here is always.
    for name in {*places[places.index(place) if place in places else 2 :], "here"}:
        (out.parent / name).mkdir()

    def save(fit, path):
        if path.parent == out or place == "nowhere":
            raise FULL
        return saved(fit, path)

    monkeypatch.setattr(hmetad, "save_fit", save)
    monkeypatch.setattr(hmetad, "fit", lambda *_, **__: fit)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(out.parent / "temporary"))
    monkeypatch.setenv("HOME", str(out.parent / "home"))
    for path in ("trials.csv", "out"):
        (out.parent / "here" / path).symlink_to(out.parent / path)
    monkeypatch.setattr(hmetad.bayes.store, "save_fit", save, raising=False)
    done = run(out.parent / "here", f"fit trials.csv -o {out}/fit.nc", status=2)
    line = done.stderr.splitlines()[-1]
    assert "No space left on device" in line
    kept = list(out.parent.rglob("hmetad-fit-*/fit.nc"))
    if place == "nowhere":
        assert "The fit is lost" in line
        assert kept == []
        assert list(out.parent.rglob("hmetad-fit-*")) == []
    else:
        assert [path.parent.parent.name for path in kept] == [place]
        assert str(kept[0]) in line
        assert hmetad.load_fit(kept[0]).equals(as_saved(fit))
    assert untouched(out)


@pytest.mark.parametrize("draws", [10**11, 10**18])
def test_draws_that_no_memory_holds_are_refused_with_the_numbers(draws, out):
    counts = hmetad.simulate_counts(1.5, m_ratio=0.8, trials=300, seed=1)
    with pytest.raises(hmetad.InputError, match=rf"draws: .*got {draws} .* takes .* TB or more"):
        hmetad.fit(counts, draws=draws)
    with pytest.raises(hmetad.InputError, match=r"tune.*got"):
        hmetad.fit(counts, tune=draws)
    with pytest.raises(hmetad.InputError, match=r"n: .*got"):
        hmetad.resample(counts, hmetad.sdt, n=draws)
    said = run(out.parent, f"measures trials.csv --interval --draws {draws}", status=2).stderr
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "given", "link"),
    [
        *[("measures {} -o {}", "trials.csv", x) for x in ("itself", "symbolic", "hard", "folder")],
        ("import table {} --columns correct=right -o {}", "trials.csv", "itself"),
        ("report {} -o {}", "page.html", "hard"),
        ("compare {} --over model --rope=-1,1 -o {}", "page.html", "symbolic"),
        ("compare made.nc --over model --rope=-1,1 --matrix {} -o {}", "trials.csv", "itself"),
        ("fit {} --model {} -o {}", "card.nc", "folder"),
    ],
)
def test_an_output_that_is_an_input_is_refused(line, given, link, inputs, tmp_path):
    raw = inputs / ("made.nc" if given == "page.html" else "trials.csv")
    for name in ("made.nc", "trials.csv"):
        (tmp_path / name).write_bytes((inputs / name).read_bytes())
    source = tmp_path / given
    source.write_bytes(raw.read_bytes())
    other = source.with_stem("other")
    if link == "folder":
        (tmp_path / "same").symlink_to(tmp_path)
    elif link != "itself":
        (other.hardlink_to if link == "hard" else other.symlink_to)(source)
    output = {"itself": given, "folder": f"same/{given}"}.get(link, other.name)
    words = [given] * (line.count("{}") - 1)
    done = run(tmp_path, line.format(*words, output), status=2)
    assert "the input" in done.stderr
    assert source.read_bytes() == raw.read_bytes()


def test_a_table_of_a_page_is_not_overwritten_by_the_page_about_it(inputs, tmp_path):
    folder = tmp_path / "page_tables"
    folder.mkdir()
    (folder / "table-1.csv").write_bytes((inputs / "trials.csv").read_bytes())
    said = run(tmp_path, "measures page_tables/table-1.csv -o page.md", status=2).stderr
    assert "in the folder of the input" in said


@pytest.fixture
def raw(inputs, tmp_path):
    """Folder of files in folders, as raw data lie, and of what commands read beside them."""
    for name in ("raw/a.csv", "raw/deep/b.csv", "plan/plan.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((inputs / "trials.csv").read_bytes())
    (tmp_path / "made.nc").write_bytes((inputs / "made.nc").read_bytes())
    (tmp_path / "link").symlink_to(tmp_path / "raw")
    (tmp_path / "other.csv").symlink_to(tmp_path / "raw" / "deep" / "b.csv")
    os.link(tmp_path / "raw" / "a.csv", tmp_path / "hard.nc")
    os.link(tmp_path / "made.nc", tmp_path / "made.csv")
    return tmp_path


SAME = "--output: .*got the input"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("measures 'raw/*.csv' -o raw/a.csv", SAME),
        ("measures 'raw/*/*.csv' -o link/deep/../deep/b.csv", SAME),
        ("measures 'r?w/**/*.csv' -o other.csv", SAME),
        ("select --by confidence raw -o other.csv", SAME),
        ("reliability --by subject=confidence raw -o other.csv", SAME),
        ("import table raw -o other.csv", SAME),
        ("measures 'raw/*.csv' -o raw/new.csv", "'raw/*.csv' would read"),
        ("measures raw -o link/deep/new.csv", "'raw' would read"),
        ("import table raw -o raw/new.parquet", "'raw' would read"),
        ("import dataset raw -o raw/new.csv", "'raw' would read"),
        ("import lighteval raw -o raw/details_x_2026-01-01t00.parquet", "'raw' would read"),
        ("fit 'raw/*.csv' -o hard.nc", "the input"),
        ("plan groups --question mean --pilot made.nc -o made.csv", "the input"),
    ],
)
def test_no_output_is_or_becomes_an_input(words, says, raw):
    assert tells(refused(raw, words), says)


def test_an_output_beside_inputs_can_be_written_again(raw):
    before = (raw / "raw" / "deep" / "b.csv").read_bytes()
    for line in (
        *["measures 'raw/*.csv' -o raw/deep/new.csv"] * 2,
        *["import table raw/deep/b.csv -o raw/deep/new.csv"] * 2,
    ):
        run(raw, line)
    (raw / "raw" / "deep" / "new.csv").unlink()
    for _ in range(2):
        run(raw, "measures raw -o raw/measures.json")
    assert (raw / "raw" / "deep" / "b.csv").read_bytes() == before


@pytest.mark.parametrize("save", [hmetad.save_fit, hmetad.bayes.save_draws])
def test_a_fit_does_not_replace_a_table(save, raw):
    draws = xr.Dataset({"auroc2": (("cell", "draw"), [[0.7, 0.8]])})
    thing = draws if save is hmetad.bayes.save_draws else hmetad.load_fit(raw / "made.nc")
    with pytest.raises(hmetad.InputError, match=r"a name that ends in \.nc"):
        save(thing, raw / "raw" / "a.csv")
    assert (raw / "raw" / "a.csv").read_bytes() == (raw / "raw" / "deep" / "b.csv").read_bytes()


def said_at_the_end(number, after, *arguments):
    """What a program in Python says that is sent a signal some seconds after its first line."""
    line = [sys.executable, "-c", *map(str, arguments)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(after)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert said.count("\n") == (number != signal.SIGKILL)
    return said


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_runs_that_are_ended_while_they_write_leave_whole_files(number, tmp_path):
    moments = random.Random(int(number))
    for _ in range(10):
        (tmp_path / "page").write_bytes(b"o" * 100)
        said_at_the_end(number, moments.uniform(0, 0.05), WRITING, tmp_path)
        there = {path for path in tmp_path.rglob("*") if path.is_file()}
        left = {path for path in there if path.suffix == ".hmetad"}
        assert number == signal.SIGKILL or not left
        assert {path.read_bytes() for path in there - left} <= {b"o" * 100, b"n" * 200_000}
    files.write_together({tmp_path / "page": "new", tmp_path / "new" / "table.csv": "new"})
    assert {path.name for path in tmp_path.rglob("*")} == {"page", "new", "table.csv"}


@pytest.mark.integration
def test_two_runs_into_one_place_never_mix(tmp_path):
    line = [sys.executable, "-c", WRITING.replace("10_000", "30"), str(tmp_path)]
    other = [word.replace('b"n"', 'b"m"') for word in line]
    runs = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in (line, other) * 2]
    assert [process.wait() for process in runs] == [0] * 4
    written = {path.name: path for path in tmp_path.rglob("*")}
    assert written.keys() == {"page", "new", "table.csv"}
    found = {written[name].read_bytes() for name in ("page", "table.csv")}
    assert found <= {b"n" * 200_000, b"m" * 200_000}


# What a process finds around it


def shell(line, **environment):
    """Status, output and errors of a line of the shell."""
    done = subprocess.run(
        ["bash", "-c", line.replace("hmetad", shlex.join(HMETAD))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("line", "status", "lines"),
    [
        ("hmetad models >&-", 0, 0),
        ("hmetad models >&- 2>&- <&-", 0, 0),
        ("hmetad fitt 2>&-", 2, 0),
        ("hmetad fitt 2>/dev/full", 2, 0),
        ("hmetad models >/dev/full", 2, 1),
        ("hmetad --help >/dev/full", 2, 1),
        ("set -o pipefail; hmetad models --json | head -1 >/dev/null", 0, 0),
        ("set -o pipefail; hmetad fitt 2>&1 | true", 2, 0),
    ],
)
def test_streams_that_are_closed_or_full_end_quietly(line, status, lines):
    ended, printed, said = shell(line)
    assert (ended, printed) == (status, "")
    assert said.count("\n") == lines, said


@pytest.mark.integration
def test_nothing_that_is_printed_goes_into_a_file_that_took_the_place_of_a_stream(inputs, tmp_path):
    line = f"hmetad measures {inputs}/trials.csv -o {tmp_path}/rows.json >&- 2>&-"
    assert shell(line) == (0, "", "")
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]


@pytest.mark.integration
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-16"])
def test_signs_that_an_encoding_lacks_are_replaced(encoding):
    for line in ("hmetad fit --help", "hmetad models", "hmetad measures nö′.csv"):
        ended, _, said = shell(line, PYTHONIOENCODING=encoding, LC_ALL="C", PYTHONUTF8="0", TERM="")
        assert ended == (2 if "csv" in line else 0), said


@pytest.mark.integration
def test_a_run_works_where_nothing_but_its_output_can_be_written(inputs, tmp_path):
    nowhere = dict.fromkeys(("HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "TMPDIR"), "/dev/null/x")
    nowhere |= {"XDG_CACHE_HOME": "/dev/null/x", "XDG_CONFIG_HOME": "/dev/null/x", "PATH": "/bin"}
    line = f"hmetad measures {inputs}/trials.csv -o {tmp_path}/page.html"
    ended, _, said = shell(line, **nowhere)
    # A slow machine is told first that fonts are looked for.
    assert (ended, said.splitlines()[-1]) == (0, f"Written: {tmp_path}/page.html")


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_libraries_are_imported_ends_in_a_line(number):
    moments = random.Random(int(number))
    code = "from hmetad.base.process import begin_command; "
    code += "begin_command(); print('begun', flush=True); "
    code += "from hmetad.cli import main; main()"
    line = ["plan", "trials", "--m-ratio", "0.8", "--dprime", "1.5"]
    for _ in range(10):
        said = said_at_the_end(number, moments.uniform(0, 0.3), code, *line)
        assert "nothing was written" in said


@pytest.mark.parametrize("disk", ["full", "read-only"])
def test_caches_that_cannot_be_written_are_reported_in_a_line(disk, tmp_path, monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path) if disk == "full" else "/dev/null/x")
    monkeypatch.setenv("PYTENSOR_FLAGS", f"base_compiledir={tmp_path}")
    with largest_file(10_000 if disk == "full" else resource.RLIM_INFINITY):
        done = run(tmp_path, "models --format csv")
    assert done.stderr.startswith("hmetad: No room for caches")
    assert ("PYTENSOR_FLAGS" in done.stderr) == (disk == "full")
    assert done.stderr.count("\n") == 1
    assert Path(os.environ["NUMBA_CACHE_DIR"]).is_dir()
