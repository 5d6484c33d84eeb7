"""Answer of a command: one object for the terminal, for other programs and for files.

Answer → text on standard output, remarks on standard error, or the content of a file. Files are
checked before the work begins.
"""

import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hmetad.base.errors import ConflictError, OutputError
from hmetad.base.files import found_in, is_table, refuse_place, would_find, write_together
from hmetad.commands.options import Options
from hmetad.report.terminal import (
    csv_table,
    json_text,
    latex_table,
    markdown_table,
    print_table,
    print_text,
    say,
)

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.base.notice import Notice

Format = Literal["table", "json", "csv", "markdown", "latex"]
Output = Annotated[Path | None, typer.Option("--output", "-o")]
# Suffixes of outputs: the rows of an answer, and pages about it.
DATA_FILES = (".csv", ".json")
REPORTS = (".html", ".md", ".tex", ".docx")
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Listing:
    """Rows under a title, and the columns to show.

    Parameters
    ----------
    rows : sequence of mapping
    columns : mapping of str to str
        Keys of the rows to show, and their headings.
    title : str
    hint : str
        Where the rest is, in the words of a command line: for a terminal alone.
    """

    rows: Sequence[Mapping[str, Any]]
    columns: Mapping[str, str]
    title: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Answer:
    """Results of a command, with notices, seed and versions.

    Parameters
    ----------
    listings : tuple of Listing
        The first holds the rows of the answer; others are shown after it.
    notices : sequence of Notice
    said : sequence of Notice, optional
        Those that are said; None for all.
    whole : str
        Command that says them whole; none where only JSON and pages do.
    seed : int, optional
        What makes the same draws again; None where nothing was drawn.
    versions : mapping of str to str, optional
        Of the packages that computed it.
    more : mapping, optional
        Further keys of the JSON object.
    """

    listings: tuple[Listing, ...]
    notices: Sequence["Notice"] = ()
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: packages())
    more: Mapping[str, Any] = field(default_factory=dict)
    said: Sequence["Notice"] | None = None
    whole: str = ""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Rows of the answer itself."""
        return self.listings[0].rows

    def adding(self, *listings: Listing, **more: Any) -> "Answer":
        """The same with further listings, and further keys of the JSON object."""
        return replace(self, listings=(*self.listings, *listings), more={**self.more, **more})

    def record(self) -> dict[str, Any]:
        """The whole answer as an object of JSON: rows, notices, seed, versions, and more."""
        return {
            "rows": list(self.rows),
            "notices": [asdict(notice) for notice in self.notices],
            "seed": self.seed,
            "versions": dict(self.versions),
            **self.more,
        }


@dataclass(frozen=True, kw_only=True)
class PrintOptions(Options):
    """What is printed, and written."""

    print_as: Annotated[Format | None, typer.Option("--format")] = None
    as_json: Annotated[bool, typer.Option("--json")] = False

    def __post_init__(self) -> None:
        if self.as_json and self.print_as not in (None, "json"):
            raise ConflictError("--json", f"--format {self.print_as}")

    @property
    def format(self) -> Format:
        """Format requested by --format, or --json for short."""
        return "json" if self.as_json else self.print_as or "table"

    def deliver(
        self, answer: Answer, written: Sequence[Path], save: Callable[[Path], object] | None = None
    ) -> None:
        """Write an answer as .csv or .json, or by a function, and print it.

        A file is complete, or is not written.
        """
        for path in written:
            if path.suffix in DATA_FILES or save is None:
                write_together({path: WRITERS["csv" if path.suffix == ".csv" else "json"](answer)})
            else:
                save(path)
        self.give(answer, written)

    def give(self, answer: Answer, written: Sequence[Path] = ()) -> None:
        """Print an answer; print its notices, and which files were written."""
        if self.format == "table":
            for listing in answer.listings:
                print_table(listing.rows, listing.columns, listing.title + listing.hint)
        else:
            if written:
                answer = answer.adding(written=[str(path) for path in written])
            print_text(WRITERS[self.format](answer))
        say_notices(answer)
        if written:
            say(f"Written: {', '.join(map(str, written))}")


def say_notices(answer: Answer) -> None:
    """Say notices, the worst first, and how many more a command says."""
    # What concerns all is worse than what concerns some cells.
    told = joined(answer.notices if answer.said is None else answer.said)
    for notice in sorted(told, key=lambda x: (SEVERITIES.index(x.severity), bool(x.cells))):
        say(str(replace(notice, next_step=notice.shell_step or notice.next_step)))
    left = len(joined(answer.notices)) - len(told)
    if left and answer.whole:
        say(f"{left} more that bear{'s' * (left == 1)} on no verdict here: {answer.whole}")


def joined(notices: Iterable["Notice"]) -> list["Notice"]:
    """Notices, those that differ in cells alone as one with the cells of all.

    Examples
    --------
    >>> from hmetad.base.notice import Notice
    >>> few = Notice("few-trials", "warning", "12 trials.", ("a",))
    >>> [one.cells for one in joined([few, replace(few, cells=("b",)), few])]
    [('a', 'b')]
    """
    first: dict[Notice, dict[str, None]] = {}
    for notice in notices:
        first.setdefault(replace(notice, cells=()), {}).update(dict.fromkeys(notice.cells))
    return [replace(notice, cells=tuple(cells)) for notice, cells in first.items()]


def rows_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Rows of a data frame."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def packages() -> dict[str, str]:
    """Versions of the packages that compute without sampling."""
    named = {name: version(name) for name in ("hmetad", "numpy", "scipy")}
    return {**named, "python": platform.python_version()}


def command_line() -> str:
    """The command line, for the report."""
    return shlex.join(["hmetad", *sys.argv[1:]])


def page_text(table: Callable[..., str], answer: Answer, first: str = "") -> str:
    """All tables of the answer in the language of a page, after a first line."""
    tables = [table(part.rows, part.columns, part.title) for part in answer.listings]
    return first + "\n\n".join(tables) + "\n"


WRITERS: Mapping[str, Callable[[Answer], str]] = {
    "json": lambda answer: json_text(answer.record(), indent=2) + "\n",
    "csv": lambda answer: csv_table(answer.rows),
    "markdown": partial(page_text, markdown_table),
    "latex": partial(page_text, latex_table, first="% needs \\usepackage{booktabs}\n"),
}


def as_seed(recorded: Any) -> int | None:
    """Seed as a number, where a result has recorded one."""
    return int(recorded) if str(recorded).isdigit() else None


def writable_file(path: Path, *suffixes: str, option: str = "--output") -> Path:
    """Path of an output, checked before the work begins."""
    if path.suffix not in suffixes:
        raise OutputError(option, repr(str(path)), f"a name that ends in {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise OutputError(option, repr(str(path)), "a file in a folder that exists")
    refuse_place(path)
    writable_folder(Path(os.path.realpath(path)).parent, option)
    return path


def output_file(
    output: Path | None, suffixes: Iterable[str], *inputs: Path | None, option: str = "--output"
) -> list[Path]:
    """The output in a list, checked before the work begins: it is no input; or none."""
    if output is None:
        return []
    path = writable_file(output, *suffixes, option=option)
    refuse_inputs(path, *(given for given in inputs if given is not None), option=option)
    return [path]


def refuse_inputs(
    output: Path, *inputs: Path, is_read: Callable[[str], bool] = is_table, option: str = "--output"
) -> None:
    """Refuse an output that is an input, by whatever name or link, or would be one the next time.

    Inputs are files, folders and patterns, of which all files are read whose name `is_read`.
    Beside a page in Markdown or LaTeX go tables and figures.
    """
    beside = [output.with_name(f"{output.stem}_{kind}") for kind in ("tables", "figures")]
    for given in inputs:
        found = found_in(given)
        files = found if found == [given] else [file for file in found if is_read(file.name)]
        if output.exists() and any(file.exists() and output.samefile(file) for file in files):
            step = "It would be lost: name another."
            raise OutputError(option, f"the input {str(output)!r}", "another file", step)
        parents = {file.absolute().parent for file in files}
        if output.suffix in REPORTS and parents & {folder.absolute() for folder in beside}:
            step = "Tables and figures are written there: name another."
            got = f"{str(output)!r} in the folder of the input"
            raise OutputError(option, got, "another folder", step)
        new = beside[0] / "table.csv" if output.suffix in (".md", ".tex") else output
        if is_read(new.name) and would_find(given, new):
            got = f"{str(output)!r}, where {str(given)!r} would read it the next time"
            raise OutputError(option, got, "a file elsewhere", "Write it to another folder.")


def writable_folder(folder: Path, option: str = "--out") -> Path:
    """Folder that takes files, or could be made; nothing is made yet."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return folder
    except OSError as error:
        got = f"{str(folder)!r} ({error.strerror or type(error).__name__})"
        raise OutputError(option, got, "a folder that can be written to") from error
