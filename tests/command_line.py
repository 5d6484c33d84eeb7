"""Commands run in this process, as `main` runs them, and what they print."""

import contextlib
import io
import json
import shlex
import sys
from dataclasses import dataclass
from unittest import mock

import xarray as xr

from hmetad.cli import outcome


@dataclass(frozen=True)
class Done:
    """What a command left: exit status, standard output and standard error."""

    status: int
    stdout: str
    stderr: str

    @property
    def answer(self):
        return json.loads(self.stdout)


def changed_fit(fit, change, **attrs):
    """A fit whose groups with cells are changed, and that says the same of itself."""
    groups = {name: group.to_dataset() for name, group in fit.children.items()}
    changed = {name: change(part) if "cell" in part.dims else part for name, part in groups.items()}
    result = xr.DataTree.from_dict(changed)
    result.attrs = {**fit.attrs, **attrs}
    return result


def run(folder, line, status=0):
    """Run a command line in a folder; its words are parted as a shell parts them."""
    arguments = shlex.split(line)
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["hmetad", *arguments]),
    ):
        ended = outcome(arguments)
    assert ended == status, err.getvalue()
    return Done(ended, out.getvalue(), err.getvalue())


def refused(folder, line):
    """What a command says that ends in one line and status 2, and leaves no file behind."""
    before = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
    done = run(folder, line, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("hmetad: ")
    assert done.stderr.count("\n") == 1
    after = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
    assert after == before, "nothing is left behind"
    return done.stderr


def tells(line, text):
    """Whether a line has all parts of a text, which ".*" separates."""
    return all(part in line for part in text.split(".*"))
