"""The blocks that a report is made of.

Words, numbers and figures → frozen blocks, checked when they are made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import pandas as pd

from hmetad.base.errors import ColumnError, EmptyError, KindError, nearest
from hmetad.compare.decisions import Decisions
from hmetad.text.cells import format_cell

type Cell = str | float | int | bool | Numbers | None


@dataclass(frozen=True)
class Numbers:
    """Numbers that stand in one cell, and how a reader has them.

    A page sorts by the first of them. In files each has a column of its own.

    Parameters
    ----------
    text : str
    values : tuple of float or None
        One number; or estimate, lower and upper.
    """

    text: str
    values: tuple[float | None, ...]

    def __str__(self) -> str:
        """What a reader has."""
        return self.text


def interval_cell(values: Iterable[float], spec: str = "z.3f", mark: str = "") -> Numbers:
    """Estimate, perhaps with its interval and a mark after it.

    Parameters
    ----------
    values : iterable of float
        Estimate alone, or with lower and upper.
    spec : str, optional
        Format specification.
    mark : str, optional
        Written after it.

    Examples
    --------
    >>> interval_cell([0.5, 0.4, 0.6], ".2f").text, interval_cell([float("nan")]).text
    ('0.50 [0.40, 0.60]', '–')
    """
    numbers = tuple(float(value) if isfinite(value) else None for value in values)
    text, *ends = (format_cell(number, spec) for number in numbers)
    if ends and None not in numbers:
        text += f" [{ends[0]}, {ends[1]}]"
    return Numbers(f"{text} {mark}" if mark and numbers[0] is not None else text, numbers)


def interval_column(frame: pd.DataFrame, name: str, spec: str = "z.3f") -> list[Numbers]:
    """A column of a frame with those of its interval, which end in _lower and _upper, as cells."""
    parts = frame[[name, f"{name}_lower", f"{name}_upper"]].to_numpy(dtype=float)
    return [interval_cell(row, spec) for row in parts]


@dataclass(frozen=True)
class Prose:
    """Paragraphs under a heading.

    Parameters
    ----------
    heading : str
        Opens a section of the report; empty continues the section before.
    paragraphs : tuple of str
        Plain text. Nothing in it is read as markup.

    Raises
    ------
    InputError
        When `paragraphs` is one text instead of a tuple of texts.

    Examples
    --------
    >>> Prose("Question", ("Do the models know when they are right?",)).heading
    'Question'
    """

    heading: str
    paragraphs: tuple[str, ...]

    def __post_init__(self) -> None:
        refuse_text("paragraphs", self.paragraphs)


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Parameters
    ----------
    caption : str
        What the table shows.
    columns : tuple of str
        Column headings.
    rows : tuple of tuple
        One tuple per row; a cell is text, a number, True or False, or None for "no value".
    note : str, optional
        Printed under the table.
    name : str, optional
        Stem of the CSV file beside a Markdown or LaTeX report; the default is the table's number.
    formats : tuple of (column, format specification), optional
        How numbers of a column are written; the default is three decimals, and whole numbers as
        they are.
    decisions : Decisions, optional
        What the table shows, for the record that `Report.to_dict` gives.
    is_folded : bool, optional
        Whether a page shows its caption alone until it is opened.
    stems : tuple of (column, name), optional
        Names in files of columns of `Numbers`; the default is the heading.

    Raises
    ------
    InputError
        When a row has another length than `columns`, or a format does not fit its column.

    Examples
    --------
    >>> Table("Efficiency", ("model", "m_ratio"), (("GPT-5", 0.8563),)).rows
    (('GPT-5', 0.8563),)
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    name: str = ""
    formats: tuple[tuple[str, str], ...] = ()
    decisions: Decisions | None = field(default=None, repr=False, compare=False)
    is_folded: bool = False
    stems: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        refuse_text("columns", self.columns)
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                got, allowed = f"{len(row)} cells", f"{len(self.columns)}, one per column"
                step = "Give None where there is no value."
                raise KindError(f"rows (row {number})", got, allowed, step)
        for column, spec in self.formats:
            check_format(self, column, spec)

    def plain(self) -> tuple[tuple[object, ...], ...]:
        """Headings and rows as files have them: every number in a cell of its own.

        Examples
        --------
        >>> rows = (("A", interval_cell([0.5, 0.4, 0.6])), ("B", None))
        >>> Table("T", ("model", "m"), rows).plain()
        (('model', 'm', 'm_lower', 'm_upper'), ('A', 0.5, 0.4, 0.6), ('B', None, None, None))
        """
        stems, columns = dict(self.stems), list[tuple[object, ...]]()
        for place, heading in enumerate(self.columns):
            cells = [row[place] for row in self.rows]
            widths = [len(cell.values) for cell in cells if isinstance(cell, Numbers)]
            if not widths:
                columns.append((heading, *cells))
                continue
            stem = stems.get(heading, heading)
            names = (stem, f"{stem}_lower", f"{stem}_upper")[: max(widths)]
            rows = [cell.values if isinstance(cell, Numbers) else () for cell in cells]
            columns += [
                (name, *(row[side] if side < len(row) else None for row in rows))
                for side, name in enumerate(names)
            ]
        return tuple(zip(*columns, strict=True))


@dataclass(frozen=True)
class Figure:
    """A drawing, with words for those who do not see it.

    Parameters
    ----------
    caption : str
        What the figure shows, printed under it.
    alt : str
        The figure in words, for screen readers; see `describe_intervals` of
        `hmetad.plots.intervals`.
    draw : matplotlib.figure.Figure
    name : str, optional
        Stem of the file beside a Markdown or LaTeX report; the default is the figure's number.

    Raises
    ------
    InputError
        When `draw` is not a matplotlib figure, or `alt` is empty.

    Examples
    --------
    >>> from matplotlib.figure import Figure as Drawing
    >>> Figure("A line.", "A line from left to right.", Drawing()).name
    ''
    """

    caption: str
    alt: str
    draw: Any
    name: str = ""

    def __post_init__(self) -> None:
        if not hasattr(self.draw, "savefig"):
            step = "For axes `ax`, give `ax.figure`."
            raise KindError("draw", type(self.draw).__name__, "a matplotlib Figure", step)
        if not self.alt.strip():
            raise EmptyError("alt", "no text", "the figure in words", "Say what it shows.")


@dataclass(frozen=True)
class Alerts:
    """Warnings that a reader needs before trusting the numbers.

    Parameters
    ----------
    heading : str
        Opens a section of the report; empty continues the section before.
    items : tuple of (severity, sentence, cells)
        Severity is one word such as "info", "warning" or "error"; cells are the labels concerned.

    Raises
    ------
    InputError
        When an item is not a triple, or its cells are one text.

    Examples
    --------
    >>> Alerts("Notices", (("warning", "Ratings 1 and 5 are never used.", ("GPT-5 | A",)),)).heading
    'Notices'
    """

    heading: str
    items: tuple[tuple[str, str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        for item in self.items:
            if len(item) != 3:
                raise KindError(
                    "items", f"{len(item)} parts", "(severity, sentence, cells)", "Give () for all."
                )
            refuse_text("cells", item[2])


type Block = Prose | Table | Figure | Alerts


@dataclass(frozen=True)
class Document:
    """What can be rendered: its name, content, a line under the title, and names and values."""

    title: str
    blocks: tuple[Block, ...]
    subtitle: str = ""
    meta: tuple[tuple[str, str], ...] = ()


def table_from_frame(
    frame: pd.DataFrame,
    caption: str,
    *,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, str] | None = None,
    note: str = "",
    name: str = "",
) -> Table:
    """Table of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its columns become the table's; the index is left out.
    caption : str
        What the table shows.
    columns : mapping of column to heading, optional
        The columns wanted, in this order, and their headings; the default is all, as named.
    formats : mapping of column to format specification, optional
        Such as ``{"p_direction": ".4f"}``, by the names in `frame`.
    note, name : str, optional
        As in `Table`.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        When `columns` or `formats` names a column that the frame does not have.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["GPT-5"], "m_ratio": [0.8563], "n": [20000]})
    >>> headings = {"model": "Model", "m_ratio": "M-ratio"}
    >>> table = table_from_frame(frame, "Efficiency", columns=headings)
    >>> table.columns, table.rows
    (('Model', 'M-ratio'), (('GPT-5', 0.8563),))
    """
    headings = dict(columns) if columns is not None else {c: str(c) for c in frame.columns}
    for argument, named in (("columns", headings), ("formats", formats or {})):
        for column in named:
            if column not in frame.columns:
                step = nearest(column, frame.columns)
                raise ColumnError(argument, repr(column), "a column of the frame", step)
    values = [[plain_value(value) for value in frame[column]] for column in headings]
    return Table(
        caption,
        tuple(headings.values()),
        tuple(zip(*values, strict=True)),
        note,
        name,
        tuple((headings[c], spec) for c, spec in (formats or {}).items() if c in headings),
    )


def plain_value(value: object) -> Cell:
    """Python's own value of a data frame's cell; None where it is missing."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, str | float | int | bool | Numbers) else str(value)


def refuse_text(argument: str, value: object) -> None:
    """Raise where one text came for a tuple of texts: it would be read letter by letter."""
    if isinstance(value, str):
        raise KindError(
            argument, f"the text {value[:40]!r}", "a tuple of texts", "Put it into a tuple."
        )


def check_format(table: Table, column: str, spec: str) -> None:
    """Raise unless `spec` can write every number of the column."""
    if column not in table.columns:
        step = nearest(column, table.columns)
        raise ColumnError("formats", repr(column), "a column of the table", step)
    place = table.columns.index(column)
    for row in table.rows:
        try:
            format_cell(row[place], spec)
        except ValueError as error:
            got, allowed = f"{spec!r} for {row[place]!r}", "a format for numbers such as '.2f'"
            raise KindError(f"formats[{column!r}]", got, allowed) from error
