"""Files are written whole or not at all, beside others that write there too."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from hmetad.base import files
from hmetad.base.files import write_together, written_files


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def ended_process():
    """Number of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_text_and_bytes_are_written_and_nothing_beside_them(tmp_path):
    write_together({tmp_path / "new" / "a.txt": "d′\ud800", tmp_path / "b.bin": memoryview(b"\0")})
    assert names(tmp_path) == ["b.bin", "new", "new/a.txt"]
    assert (tmp_path / "new" / "a.txt").read_bytes() == "d′?".encode()
    assert written_files()[-2:] == (tmp_path / "new" / "a.txt", tmp_path / "b.bin")


def test_names_of_any_length_and_letters_can_be_written(tmp_path):
    for name in ("x" * 255, "é" * 127, ".hidden", "a\nb", os.fsdecode(b"\xff.csv")):
        write_together({tmp_path / name: name.encode("utf-8", "surrogateescape")})
        assert (tmp_path / name).is_file()
    assert len(names(tmp_path)) == 5


def test_what_a_killed_run_left_is_removed_by_the_next_and_what_others_write_is_not(tmp_path):
    def left_over(host, process):
        path = tmp_path / f".page.html.{host}-{process}-0123abcd.hmetad"
        path.write_text("half of")
        return path.name

    left_over(files.HOST, ended_process())
    left_over(files.HOST, os.getpid())
    living = left_over(files.HOST, os.getppid())
    elsewhere = left_over(f"{files.HOST}x", ended_process())
    thesis = tmp_path / f"thesis.{files.HOST}-{ended_process()}-0123abcd.hmetad"
    thesis.write_text("theirs")
    write_together({tmp_path / "other.html": "whole"})
    assert names(tmp_path) == sorted(["other.html", living, elsewhere, thesis.name])


def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(tmp_path):
    (tmp_path / "disk").mkdir()
    target, link = tmp_path / "disk" / "fit.nc", tmp_path / "fit.nc"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    write_together({link: "new"})
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["folder", "pipe", "read-only"])
def test_what_may_not_be_changed_is_left_as_it_is(kind, tmp_path, monkeypatch):
    place = tmp_path / "out.csv"
    {"folder": place.mkdir, "pipe": lambda: os.mkfifo(place), "read-only": place.touch}[kind]()
    if kind == "read-only":
        # Root may change every file, whatever its permissions.
        monkeypatch.setattr(os, "access", lambda path, _: path != place)
    with pytest.raises(OSError, match=r"out\.csv"):
        write_together({tmp_path / "first.csv": "new", place: "new"})
    assert names(tmp_path) == ["out.csv"]
    assert kind != "read-only" or place.read_text() == ""


def test_threads_do_not_clear_away_what_others_write(tmp_path):
    problems = []

    def write(number):
        for _ in range(10):
            write_together({tmp_path / f"{number}.txt": f"{number}"})
            try:
                write_together({tmp_path / f"{number}.txt": "bad", tmp_path: "a folder"})
                problems.append(number)
            except IsADirectoryError:
                continue

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        f"{n}.txt": f"{n}" for n in range(4)
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_two_files_waits_for_the_second(number, tmp_path, monkeypatch):
    came = []
    monkeypatch.setattr(files.os, "replace", disturbed(number, os.replace))
    before = signal.signal(number, lambda *_: came.append(names(tmp_path)))
    try:
        write_together({tmp_path / "a": "new", tmp_path / "b": "new"})
    finally:
        signal.signal(number, before)
    assert came == [["a", "b"]]


def disturbed(number, replace):
    """A function that moves files, and gets a signal after each."""

    def move(old, new):
        replace(old, new)
        signal.raise_signal(number)

    return move
