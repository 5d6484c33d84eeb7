"""The order of a page: what is a section, and which number a table or figure has.

Blocks → views, in which every text is visible and every number written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hmetad.report.blocks import Alerts, Block, Figure, Prose, Table
from hmetad.report.cells import csv_value, format_cell, is_number
from hmetad.report.escape import shorten, slug, visible

__all__ = ["VERDICTS", "FigureView", "NoticesView", "ProseView", "TableView", "View", "arrange"]

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
SEVERITIES = ("info", "warning", "error")
WIDE_TEXT = 24


@dataclass(frozen=True)
class ProseView:
    """Paragraphs, perhaps under a heading."""

    anchor: str
    heading: str
    paragraphs: tuple[str, ...]
    kind: str = "prose"


@dataclass(frozen=True)
class NoticeView:
    """One notice; `severity` is a known word for the style sheet, `word` what came."""

    severity: str
    word: str
    sentence: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class NoticesView:
    """Notices, perhaps under a heading."""

    anchor: str
    heading: str
    items: tuple[NoticeView, ...]
    kind: str = "notices"


@dataclass(frozen=True)
class ColumnView:
    """Heading of a column, whether it holds numbers, and whether its text needs room."""

    heading: str
    numeric: bool
    wide: bool


@dataclass(frozen=True)
class CellView:
    """Text of a cell, and its verdict where it is one."""

    text: str
    verdict: str


@dataclass(frozen=True)
class TableView:
    """A numbered table, and its values for a CSV file."""

    anchor: str
    number: int
    name: str
    caption: str
    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[CellView, ...], ...]
    note: str
    values: tuple[tuple[object, ...], ...]
    kind: str = "table"

    @property
    def label(self) -> str:
        """What a text calls it."""
        return f"Table {self.number}"


@dataclass(frozen=True)
class FigureView:
    """A numbered figure."""

    anchor: str
    number: int
    name: str
    caption: str
    alt: str
    figure: Figure = field(repr=False)
    kind: str = "figure"

    @property
    def label(self) -> str:
        """What a text calls it."""
        return f"Figure {self.number}"


type View = ProseView | NoticesView | TableView | FigureView


@dataclass
class _Counter:
    """Numbers and file names given so far."""

    sections: int = 0
    tables: int = 0
    figures: int = 0
    names: set[str] = field(default_factory=set)

    def name(self, wanted: str, default: str) -> str:
        """File stem that no other table or figure has."""
        stem = slug(wanted, default)
        name, copies = stem, 1
        while name in self.names:
            copies += 1
            name = f"{stem}-{copies}"
        self.names.add(name)
        return name


def arrange(blocks: Sequence[Block], prefix: str = "") -> tuple[View, ...]:
    """Numbered views of blocks.

    Parameters
    ----------
    blocks : sequence of Block
    prefix : str, optional
        Start of every anchor, for several reports on one page.

    Returns
    -------
    tuple of View

    Examples
    --------
    >>> [view.anchor for view in arrange((Prose("Data", ()), Table("Counts", ("n",), ())))]
    ['section-1', 'table-1']
    """
    counter = _Counter()
    return tuple(_view(block, counter, prefix) for block in blocks)


def _view(block: Block, counter: _Counter, prefix: str) -> View:
    """View of one block."""
    match block:
        case Prose():
            return _prose(block, counter, prefix)
        case Alerts():
            return _notices(block, counter, prefix)
        case Table():
            return _table(block, counter, prefix)
        case Figure():
            return _figure(block, counter, prefix)


def _prose(block: Prose, counter: _Counter, prefix: str) -> ProseView:
    counter.sections += 1
    return ProseView(
        f"{prefix}section-{counter.sections}",
        visible(block.heading),
        tuple(visible(paragraph) for paragraph in block.paragraphs),
    )


def _notices(block: Alerts, counter: _Counter, prefix: str) -> NoticesView:
    counter.sections += 1
    items = tuple(
        NoticeView(
            severity if severity in SEVERITIES else "info",
            shorten(severity, 20),
            visible(sentence),
            tuple(visible(cell) for cell in cells),
        )
        for severity, sentence, cells in block.items
    )
    return NoticesView(f"{prefix}section-{counter.sections}", visible(block.heading), items)


def _table(block: Table, counter: _Counter, prefix: str) -> TableView:
    counter.tables += 1
    formats = dict(block.formats)
    specs = [formats.get(column, "") for column in block.columns]
    rows = tuple(
        tuple(
            _cell(value, spec, place)
            for place, (value, spec) in enumerate(zip(row, specs, strict=True))
        )
        for row in block.rows
    )
    return TableView(
        f"{prefix}table-{counter.tables}",
        counter.tables,
        counter.name(block.name, f"table-{counter.tables}"),
        visible(block.caption),
        tuple(_column(block, place) for place in range(len(block.columns))),
        rows,
        visible(block.note),
        (block.columns, *(tuple(csv_value(value) for value in row) for row in block.rows)),
    )


def _cell(value: object, spec: str, place: int) -> CellView:
    """Text of one cell; the first column names its row and has no verdicts."""
    text = visible(format_cell(value, spec))
    return CellView(text, text if place and text in VERDICTS else "")


def _column(block: Table, place: int) -> ColumnView:
    """Kind of one column, from its values."""
    values = [row[place] for row in block.rows if row[place] is not None]
    numeric = bool(values) and all(is_number(value) for value in values)
    wide = not numeric and any(len(str(value)) > WIDE_TEXT for value in values)
    return ColumnView(visible(block.columns[place]), numeric, wide)


def _figure(block: Figure, counter: _Counter, prefix: str) -> FigureView:
    counter.figures += 1
    return FigureView(
        f"{prefix}figure-{counter.figures}",
        counter.figures,
        counter.name(block.name, f"figure-{counter.figures}"),
        visible(block.caption),
        visible(block.alt),
        block,
    )
