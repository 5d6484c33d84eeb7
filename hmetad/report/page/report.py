"""A report: blocks of words, numbers and figures for a reader.

Blocks → HTML, Markdown, LaTeX or JSON, as text or as files. It only renders: decisions are
made before.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmetad.errors import InputError
from hmetad.files import write_together
from hmetad.report.page.blocks import (
    Alerts,
    Block,
    Cell,
    Figure,
    Matrix,
    Prose,
    Table,
    table_from_frame,
)
from hmetad.report.page.figures import figure_pdf, figure_svg
from hmetad.report.page.layout import FigureView, MatrixView, TableView, arrange
from hmetad.report.page.plain import json_text
from hmetad.report.page.records import report_record
from hmetad.report.page.render import render_html, render_latex, render_markdown
from hmetad.report.page.word import render_word
from hmetad.text.cells import csv_text

__all__ = [
    "Alerts",
    "Block",
    "Cell",
    "Figure",
    "Matrix",
    "Prose",
    "Report",
    "Table",
    "table_from_frame",
]


type Files = dict[Path, str | bytes]


@dataclass(frozen=True)
class Report:
    r"""A document that can be shown, written and printed.

    Every text in it is plain text: nothing is read as markup, in any format.

    Parameters
    ----------
    title : str
        Its name.
    blocks : tuple of Prose, Table, Matrix, Figure or Alerts
        Its content, in order.
    subtitle : str, optional
        A line under the title.
    meta : tuple of (name, value), optional
        What was used: data, model, seed, versions.

    Raises
    ------
    InputError
        When `blocks` holds something else.

    Examples
    --------
    >>> table = Table("Efficiency", ("model", "m_ratio"), (("GPT-5", 0.8563),))
    >>> report = Report("Metacognition", (Prose("Result", ("Below one.",)), table))
    >>> print(report.markdown())
    # Metacognition
    <BLANKLINE>
    ## Result
    <BLANKLINE>
    Below one.
    <BLANKLINE>
    **Table 1.** Efficiency ([CSV](report_tables/table-1.csv))
    <BLANKLINE>
    | model | m\_ratio |
    | :--- | ---: |
    | GPT-5 | 0.856 |
    <BLANKLINE>
    """

    title: str
    blocks: tuple[Block, ...]
    subtitle: str = ""
    meta: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for number, block in enumerate(self.blocks, start=1):
            if not isinstance(block, (Prose, Table, Matrix, Figure, Alerts)):
                raise InputError(
                    f"blocks (number {number})",
                    type(block).__name__,
                    "Prose, Table, Matrix, Figure or Alerts",
                    "For a data frame, use table_from_frame.",
                )

    def __repr__(self) -> str:
        """One line: a notebook keeps it beside the page."""
        tables = sum(isinstance(block, (Table, Matrix)) for block in self.blocks)
        figures = sum(isinstance(block, Figure) for block in self.blocks)
        found = sum(len(block.items) for block in self.blocks if isinstance(block, Alerts))
        parts = (
            count_noun(tables, "table"),
            count_noun(figures, "figure"),
            count_noun(found, "notice"),
        )
        return f"Report({self.title!r}: {', '.join(parts)})"

    def html(self) -> str:
        """HTML page that needs nothing from outside: figures and styles are in it."""
        return render_html(self)

    def markdown(self) -> str:
        """Markdown that refers to figures and tables beside it, as `save` writes them."""
        return render_markdown(self, "report")

    def latex(self) -> str:
        """LaTeX article that refers to figures beside it, as `save` writes them."""
        return render_latex(self, "report")

    def to_dict(self) -> dict[str, Any]:
        """Every word and number of the report, in full, as JSON has them.

        Returns
        -------
        dict
            title, subtitle, meta (name and value), blocks in their order (kind, and what the block
            holds; of tables the values, not their text), notices of all blocks, and decisions: the
            records of `decisions_record`, to which the blocks refer by their place.
        """
        return report_record(self)

    def _repr_html_(self) -> str:
        """Part of a page, for a notebook; its styles touch nothing else there."""
        return render_html(self, embedded=True)

    def save(self, path: str | Path) -> Path:
        """Write the report, in the format that the suffix of the path names.

        Markdown and LaTeX come with `<stem>_figures/` (SVG, PDF) and `<stem>_tables/` (CSV) beside;
        JSON holds what `to_dict` gives. Nothing is written before everything is rendered, and a
        file that is there stays whole until the new one replaces it.

        Parameters
        ----------
        path : str or Path
            Ends in .html, .md, .tex, .docx (needs ``pip install ".[word]"``) or .json.

        Returns
        -------
        Path
            The file written.

        Raises
        ------
        InputError
            When the suffix is another one, or the folder does not exist.
        """
        path = Path(path)
        files = writers().get(path.suffix.lower())
        if files is None:
            raise InputError(
                "path",
                repr(str(path)),
                "a name that ends in .html, .md, .tex, .docx or .json",
                "Add a suffix.",
            )
        if not path.parent.is_dir() or path.is_dir():
            raise InputError(
                "path", repr(str(path)), "a file in a folder that exists", "Make the folder first."
            )
        write_together(files(self, path))
        return path


def count_noun(number: int, noun: str) -> str:
    """Number and noun, in the plural where it is not one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def writers() -> dict[str, Callable[[Report, Path], Files]]:
    """Find the writer of each suffix."""
    return {
        ".html": html_files,
        ".md": markdown_files,
        ".tex": latex_files,
        ".docx": word_files,
        ".json": json_files,
    }


def html_files(report: Report, path: Path) -> Files:
    """Render the page alone."""
    return {path: report.html()}


def word_files(report: Report, path: Path) -> Files:
    """Render the document of Word alone."""
    return {path: render_word(report)}


def json_files(report: Report, path: Path) -> Files:
    """Write what the report holds as JSON."""
    return {path: f"{json_text(report.to_dict(), indent=1)}\n"}


def markdown_files(report: Report, path: Path) -> Files:
    """Render figures as SVG and tables as CSV, then the text."""
    stem = folder_stem(path)
    figures: Files = {
        path.parent / f"{stem}_figures" / f"{view.name}.svg": figure_svg(view.figure)
        for view in arrange(report.blocks)
        if isinstance(view, FigureView)
    }
    return figures | csv_files(report, path) | {path: render_markdown(report, stem)}


def latex_files(report: Report, path: Path) -> Files:
    """Render figures as PDF (as SVG where they came so) and tables as CSV, then the text."""
    stem = folder_stem(path)
    figures: Files = {}
    for view in arrange(report.blocks):
        if isinstance(view, FigureView):
            beside = path.parent / f"{stem}_figures" / view.name
            pdf = figure_pdf(view.figure)
            if pdf is None:
                figures[beside.with_name(f"{view.name}.svg")] = figure_svg(view.figure)
            else:
                figures[beside.with_name(f"{view.name}.pdf")] = pdf
    return figures | csv_files(report, path) | {path: render_latex(report, stem)}


def csv_files(report: Report, path: Path) -> Files:
    """Every table with its values in full precision."""
    files: Files = {}
    for view in arrange(report.blocks):
        if isinstance(view, (TableView, MatrixView)):
            folder = path.parent / f"{folder_stem(path)}_tables"
            files[folder / f"{view.name}.csv"] = csv_text(view.values)
    return files


def folder_stem(path: Path) -> str:
    """Start of the names of the folders beside, without signs that LaTeX would act upon."""
    return re.sub(r"[^\w. -]", "-", path.stem)
