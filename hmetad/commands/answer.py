"""Answer of a command: one object for the terminal, for other programs and for files.

Answer → text on standard output, remarks on standard error, or the content of a file.
"""

import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmetad.commands.options import Format
from hmetad.files import write_together
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

    from hmetad.notice import Notice

__all__ = [
    "Answer",
    "Listing",
    "command_line",
    "give",
    "packages",
    "rows_of",
    "write_answer",
]


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

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Rows of the answer itself."""
        return self.listings[0].rows

    def record(self) -> dict[str, Any]:
        """The whole answer as an object of JSON: rows, notices, seed, versions, and more."""
        return {
            "rows": list(self.rows),
            "notices": [asdict(notice) for notice in self.notices],
            "seed": self.seed,
            "versions": dict(self.versions),
            **self.more,
        }


def give(answer: Answer, chosen: Format = "table", written: Sequence[Path] = ()) -> None:
    """Print an answer; say its notices, and which files were written."""
    if chosen == "table":
        for listing in answer.listings:
            print_table(listing.rows, listing.columns, listing.title + listing.hint)
    else:
        if written:
            files = {"written": [str(path) for path in written]}
            answer = Answer(**{**vars(answer), "more": {**answer.more, **files}})
        print_text(WRITERS[chosen](answer))
    for notice in joined(answer.notices):
        say(str(notice))
    if written:
        say(f"Written: {', '.join(map(str, written))}")


def joined(notices: Iterable["Notice"]) -> list["Notice"]:
    """Notices, those that differ in cells alone as one with the cells of all.

    Examples
    --------
    >>> from hmetad.notice import Notice
    >>> few = Notice("few-trials", "warning", "12 trials.", ("a",))
    >>> [one.cells for one in joined([few, replace(few, cells=("b",)), few])]
    [('a', 'b')]
    """
    first: dict[Notice, dict[str, None]] = {}
    for notice in notices:
        first.setdefault(replace(notice, cells=()), {}).update(dict.fromkeys(notice.cells))
    return [replace(notice, cells=tuple(cells)) for notice, cells in first.items()]


def write_answer(answer: Answer, path: Path) -> None:
    """Write an answer as .csv or .json; the file is complete, or is not written."""
    chosen: Format = "csv" if path.suffix == ".csv" else "json"
    write_together({path: WRITERS[chosen](answer)})


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


def whole_text(answer: Answer) -> str:
    """The whole answer as JSON; what is not a number is null."""
    return json_text(answer.record(), indent=2) + "\n"


def csv_text(answer: Answer) -> str:
    """Rows of the answer with all their columns."""
    return csv_table(answer.rows)


def page_text(table: Callable[..., str], answer: Answer, first: str = "") -> str:
    """All tables of the answer in the language of a page, after a first line."""
    tables = [table(part.rows, part.columns, part.title) for part in answer.listings]
    return first + "\n\n".join(tables) + "\n"


WRITERS: Mapping[str, Callable[[Answer], str]] = {
    "json": whole_text,
    "csv": csv_text,
    "markdown": partial(page_text, markdown_table),
    "latex": partial(page_text, latex_table, first="% needs \\usepackage{booktabs}\n"),
}
