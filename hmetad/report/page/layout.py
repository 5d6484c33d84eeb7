"""The order of a page: what is a section, and which number a table or figure has.

Blocks → views, in which every text is visible and every number written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hmetad.report.page.blocks import Alerts, Block, Figure, Judgement, Matrix, Prose, Table
from hmetad.text.cells import format_cell, is_number
from hmetad.text.escape import shorten, slug, visible

__all__ = [
    "SIGNS",
    "VERDICTS",
    "FigureView",
    "MatrixView",
    "NoticesView",
    "ProseView",
    "TableView",
    "View",
    "arrange",
]

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
# Where there is no room for the words.
SIGNS = dict(zip(VERDICTS, ("≠", "≈", "?", "!"), strict=True))
SEVERITIES = ("info", "warning", "error")
WIDE_TEXT = 24
# Rows beyond which a page scrolls a table in its place, and a printed one is cut.
LONG_TABLE = 60
# Cells of a notice that are listed whole, and those that stand for a longer list.
LONG_LIST, FIRST_CELLS = 8, 4


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

    anchor: str
    heading: str
    items: tuple[NoticeView, ...]
    kind: str = "notices"


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
        named = (("numeric", self.numeric), ("wide", self.wide), ("judged", self.judged))
        return " ".join(name for name, holds in named if holds)


@dataclass(frozen=True)
class CellView:
    """Text of a cell, its verdict where it is one, and the number to sort it by, as text."""

    text: str
    verdict: str
    key: str = ""


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
    is_folded: bool = False
    kind: str = "table"

    @property
    def label(self) -> str:
        """What a text calls it."""
        return f"Table {self.number}"

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
class SquareView:
    """One verdict of a matrix: its word, its sign, the difference and the whole in words."""

    verdict: str
    sign: str
    difference: str
    words: str


@dataclass(frozen=True)
class MatrixView:
    """A numbered matrix of verdicts, and every pair's values for a CSV file."""

    anchor: str
    number: int
    name: str
    caption: str
    levels: tuple[str, ...]
    cells: tuple[tuple[SquareView | None, ...], ...]
    note: str
    values: tuple[tuple[object, ...], ...]
    kind: str = "matrix"

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


type View = ProseView | NoticesView | TableView | MatrixView | FigureView


@dataclass
class Counter:
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
    counter = Counter()
    return tuple(view_of(block, counter, prefix) for block in blocks)


def view_of(block: Block, counter: Counter, prefix: str) -> View:
    """View of one block."""
    match block:
        case Prose():
            return prose_view(block, counter, prefix)
        case Alerts():
            return notices_view(block, counter, prefix)
        case Table():
            return table_view(block, counter, prefix)
        case Matrix():
            return matrix_view(block, counter, prefix)
        case Figure():
            return figure_view(block, counter, prefix)


def prose_view(block: Prose, counter: Counter, prefix: str) -> ProseView:
    """Paragraphs under their heading, with the anchor of the section."""
    counter.sections += 1
    return ProseView(
        f"{prefix}section-{counter.sections}",
        visible(block.heading),
        tuple(visible(paragraph) for paragraph in block.paragraphs),
    )


def notices_view(block: Alerts, counter: Counter, prefix: str) -> NoticesView:
    """Notices under their heading; a severity that is none of the known ones is info."""
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


def table_view(block: Table, counter: Counter, prefix: str) -> TableView:
    """Table with its number, every cell as text and every value for a file."""
    counter.tables += 1
    formats = dict(block.formats)
    specs = [formats.get(column, "") for column in block.columns]
    keys = sorting_keys(block)
    rows = tuple(
        tuple(
            replace(cell_view(value, spec, place), key=keys[place][number])
            for place, (value, spec) in enumerate(zip(row, specs, strict=True))
        )
        for number, row in enumerate(block.rows)
    )
    return TableView(
        f"{prefix}table-{counter.tables}",
        counter.tables,
        counter.name(block.name, f"table-{counter.tables}"),
        visible(block.caption),
        column_views(block, rows),
        rows,
        visible(block.note),
        csv_rows(block.numbers or block),
        block.is_folded,
    )


def sorting_keys(block: Table) -> list[list[str]]:
    """Text of the number that each cell of a column is sorted by; empty where it is its own."""
    known = dict(block.keys)
    found = []
    for column in block.columns:
        numbers = known.get(column, (None,) * len(block.rows))
        found.append(["" if x is None or x != x else repr(float(x)) for x in numbers])
    return found


def csv_rows(block: Table) -> tuple[tuple[object, ...], ...]:
    """Headings and values for a CSV file."""
    return (block.columns, *block.rows)


def matrix_view(block: Matrix, counter: Counter, prefix: str) -> MatrixView:
    """Matrix with its number, and the values of all pairs for a file."""
    counter.tables += 1
    return MatrixView(
        f"{prefix}table-{counter.tables}",
        counter.tables,
        counter.name(block.pairs.name, f"table-{counter.tables}"),
        visible(block.caption),
        tuple(visible(level) for level in block.levels),
        tuple(tuple(square_view(cell) for cell in row) for row in block.cells),
        visible(block.note),
        csv_rows(block.pairs),
    )


def square_view(cell: Judgement | None) -> SquareView | None:
    """Sign and difference of one pair."""
    if cell is None:
        return None
    verdict, difference, words = cell
    sign = SIGNS.get(verdict, visible(verdict))
    known = verdict if verdict in VERDICTS else ""
    return SquareView(known, sign, format_cell(difference, "z.2f"), visible(words))


def cell_view(value: object, spec: str, place: int) -> CellView:
    """Text of one cell; the first column names its row and has no verdicts."""
    text = visible(format_cell(value, spec))
    return CellView(text, text if place and text in VERDICTS else "")


def column_views(block: Table, rows: Sequence[Sequence[CellView]]) -> tuple[ColumnView, ...]:
    """Kind of every column, from its values."""
    places = range(len(block.columns))
    judged = [place for place in places if any(row[place].verdict for row in rows)]
    return tuple(column_view(block, place, place in judged[:1]) for place in places)


def column_view(block: Table, place: int, judged: bool) -> ColumnView:
    """Kind of one column, from its values."""
    values = [row[place] for row in block.rows if row[place] is not None]
    is_keyed = block.columns[place] in dict(block.keys)
    numeric = is_keyed or (bool(values) and all(is_number(value) for value in values))
    wide = not numeric and any(len(str(value)) > WIDE_TEXT for value in values)
    return ColumnView(visible(block.columns[place]), numeric, wide, judged)


def figure_view(block: Figure, counter: Counter, prefix: str) -> FigureView:
    """Figure with its number and its words; it is drawn by who renders it."""
    counter.figures += 1
    return FigureView(
        f"{prefix}figure-{counter.figures}",
        counter.figures,
        counter.name(block.name, f"figure-{counter.figures}"),
        visible(block.caption),
        visible(block.alt),
        block,
    )
