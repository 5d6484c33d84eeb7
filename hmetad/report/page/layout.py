"""The order of a page: what is a section, and which number a table or figure has.

Blocks → views, in which every text is visible and every number written.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hmetad.report.page.blocks import Alerts, Block, Figure, Numbers, Prose, Table
from hmetad.text.cells import format_cell, is_number
from hmetad.text.escape import shorten, slug, visible

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
SEVERITIES = ("info", "warning", "error")
WIDE_TEXT = 24
# Rows beyond which a page scrolls a table in its place, and a printed one is cut.
LONG_TABLE = 60
# Cells of a notice that are listed whole, and those that stand for a longer list.
LONG_LIST, FIRST_CELLS = 8, 4


@dataclass(frozen=True)
class ProseView:
    """Paragraphs, perhaps under a heading."""

    kind: ClassVar = "prose"
    anchor: str
    heading: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class NoticeView:
    """One notice; `severity` is a known word for the style sheet, `word` what came."""

    severity: str
    word: str
    sentence: str
    cells: tuple[str, ...]

    @property
    def is_long(self) -> bool:
        """Whether there are more cells than are read at a time."""
        return len(self.cells) > LONG_LIST

    @property
    def printed(self) -> tuple[str, ...]:
        """Cells for a text that does not unfold, and how many more there are."""
        if not self.is_long:
            return self.cells
        return (*self.cells[:FIRST_CELLS], f"and {len(self.cells) - FIRST_CELLS} more")


@dataclass(frozen=True)
class NoticesView:
    """Notices, perhaps under a heading."""

    kind: ClassVar = "notices"
    anchor: str
    heading: str
    items: tuple[NoticeView, ...]


@dataclass(frozen=True)
class ColumnView:
    """Heading of a column; whether it holds numbers, needs room, or has the first verdicts."""

    heading: str
    numeric: bool
    wide: bool
    judged: bool

    @property
    def role(self) -> str:
        """Names for the style sheet."""
        return " ".join(name for name in ("numeric", "wide", "judged") if getattr(self, name))


@dataclass(frozen=True)
class CellView:
    """Text of a cell, its verdict where it is one, and the number to sort it by, as text."""

    text: str
    verdict: str
    key: str


@dataclass(frozen=True)
class Numbered:
    """What a text refers to by its number."""

    word: ClassVar = "Table"
    anchor: str
    number: int
    name: str
    caption: str

    @property
    def label(self) -> str:
        """What a text calls it."""
        return f"{self.word} {self.number}"


@dataclass(frozen=True)
class TableView(Numbered):
    """A numbered table, and its values for a CSV file."""

    kind: ClassVar = "table"
    columns: tuple[ColumnView, ...]
    rows: tuple[tuple[CellView, ...], ...]
    note: str
    values: tuple[tuple[object, ...], ...]
    is_folded: bool

    @property
    def is_long(self) -> bool:
        """Whether there are more rows than are read at a time."""
        return len(self.rows) > LONG_TABLE

    @property
    def printed(self) -> tuple[tuple[CellView, ...], ...]:
        """Rows for a text that cannot scroll."""
        return self.rows[:LONG_TABLE]

    @property
    def rest(self) -> str:
        """Where the rows are that are not printed."""
        return f"The first {LONG_TABLE} of {len(self.rows)} rows; all are in {self.name}.csv."


@dataclass(frozen=True)
class FigureView(Numbered):
    """A numbered figure; it is drawn by who renders it."""

    kind: ClassVar = "figure"
    word: ClassVar = "Figure"
    alt: str
    figure: Figure = field(repr=False)


type View = ProseView | NoticesView | TableView | FigureView


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
    numbers, names, views = Counter[str](), set[str](), list[View]()
    for block in blocks:
        kind = {Prose: "section", Alerts: "section", Figure: "figure"}.get(type(block), "table")
        numbers[kind] += 1
        default = f"{kind}-{numbers[kind]}"
        anchor = f"{prefix}{default}"
        if isinstance(block, Prose):
            paragraphs = tuple(map(visible, block.paragraphs))
            views.append(ProseView(anchor, visible(block.heading), paragraphs))
        elif isinstance(block, Alerts):
            items = tuple(notice_view(*item) for item in block.items)
            views.append(NoticesView(anchor, visible(block.heading), items))
        else:
            name = new_name(slug(block.name, default), names)
            views.append(numbered_view(block, anchor, numbers[kind], name))
    return tuple(views)


def new_name(stem: str, names: set[str]) -> str:
    """File stem that no other table or figure has, which is added to those that are given."""
    name, copies = stem, 1
    while name in names:
        copies += 1
        name = f"{stem}-{copies}"
    names.add(name)
    return name


def notice_view(severity: str, sentence: str, cells: tuple[str, ...]) -> NoticeView:
    """Notice; a severity that is none of the known ones is info."""
    known = severity if severity in SEVERITIES else "info"
    return NoticeView(known, shorten(severity, 20), visible(sentence), tuple(map(visible, cells)))


def numbered_view(
    block: Table | Figure, anchor: str, number: int, name: str
) -> TableView | FigureView:
    """View of a table or a figure."""
    start = (anchor, number, name, visible(block.caption))
    if isinstance(block, Figure):
        return FigureView(*start, visible(block.alt), block)
    formats = dict(block.formats)
    specs = [formats.get(column, "") for column in block.columns]
    rows = tuple(
        tuple(cell_view(row[place], spec, place) for place, spec in enumerate(specs))
        for row in block.rows
    )
    columns = column_views(block, rows)
    return TableView(*start, columns, rows, visible(block.note), block.plain(), block.is_folded)


def cell_view(value: object, spec: str, place: int) -> CellView:
    """Text of one cell; the first column names its row and has no verdicts."""
    text = visible(format_cell(value, spec))
    first = value.values[0] if isinstance(value, Numbers) else None
    verdict = text if place and text in VERDICTS else ""
    return CellView(text, verdict, "" if first is None else repr(first))


def column_views(block: Table, rows: Sequence[Sequence[CellView]]) -> tuple[ColumnView, ...]:
    """Kind of every column, from its values."""
    judged = min((i for row in rows for i, cell in enumerate(row) if cell.verdict), default=None)
    found = []
    for place, heading in enumerate(block.columns):
        values = [row[place] for row in block.rows if row[place] is not None]
        numeric = bool(values) and all(is_number(x) or isinstance(x, Numbers) for x in values)
        wide = not numeric and any(len(str(value)) > WIDE_TEXT for value in values)
        found.append(ColumnView(visible(heading), numeric, wide, place == judged))
    return tuple(found)
