"""A report: blocks of words, numbers and figures for a reader.

Blocks → HTML, Markdown, LaTeX or JSON, as text or as files. It only renders: decisions are
made before.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, KindError, OutputError
from hmetad.base.files import write_together
from hmetad.base.untrusted import read_attr
from hmetad.compare.decisions import Decisions
from hmetad.report.page.blocks import (
    Alerts,
    Block,
    Document,
    Figure,
    Prose,
    Table,
)
from hmetad.report.page.figures import figure_pdf, figure_svg
from hmetad.report.page.layout import FigureView, TableView, arrange
from hmetad.report.page.render import render_html, render_latex, render_markdown, render_word
from hmetad.report.terminal import json_text, strict
from hmetad.text.cells import csv_text

type Files = dict[Path, str | bytes]

SUFFIXES = (".html", ".md", ".tex", ".docx", ".json")


@dataclass(frozen=True)
class Report(Document):
    r"""A document that can be shown, written and printed.

    Every text in it is plain text: nothing is read as markup, in any format.

    Parameters
    ----------
    title : str
        Its name.
    blocks : tuple of Prose, Table, Figure or Alerts
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

    def __post_init__(self) -> None:
        for number, block in enumerate(self.blocks, start=1):
            if not isinstance(block, (Prose, Table, Figure, Alerts)):
                raise KindError(
                    f"blocks (number {number})",
                    type(block).__name__,
                    "Prose, Table, Figure or Alerts",
                    "For a data frame, use table_from_frame.",
                )

    def __repr__(self) -> str:
        """One line: a notebook keeps it beside the page."""
        tables = sum(isinstance(block, Table) for block in self.blocks)
        figures = sum(isinstance(block, Figure) for block in self.blocks)
        found = sum(len(block.items) for block in self.blocks if isinstance(block, Alerts))
        numbers = {"table": tables, "figure": figures, "notice": found}
        parts = ", ".join(f"{x} {noun}{'' if x == 1 else 's'}" for noun, x in numbers.items())
        return f"Report({self.title!r}: {parts})"

    def html(self) -> str:
        """HTML page that needs nothing from outside: figures and styles are in it."""
        return render_html(self)

    def markdown(self) -> str:
        """Markdown that refers to figures and tables next to it, as `save` writes them."""
        return render_markdown(self, "report")

    def latex(self) -> str:
        """LaTeX article that refers to figures next to it, as `save` writes them."""
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

        Markdown and LaTeX come with `<stem>_figures/` (SVG, PDF) and `<stem>_tables/` (CSV) next
        to; JSON holds what `to_dict` gives. Nothing is written before everything is rendered, and a
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
        if path.suffix.lower() not in SUFFIXES:
            allowed = "a name that ends in .html, .md, .tex, .docx or .json"
            raise ChoiceError("path", repr(str(path)), allowed, "Add a suffix.")
        if not path.parent.is_dir() or path.is_dir():
            step = "Make the folder first."
            raise OutputError("path", repr(str(path)), "a file in a folder that exists", step)
        write_together(files_of(self, path))
        return path

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Write every figure as SVG and PDF, to insert into a manuscript; text stays text.

        Parameters
        ----------
        folder : str or Path
            Folder of the files, which are named after the figures; it is made if it is missing.

        Returns
        -------
        list of Path
            The files.
        """
        files = figure_files(self, Path(folder), ".svg", ".pdf")
        write_together(files)
        return [*files]


def figure_files(document: Document, folder: Path, *suffixes: str) -> Files:
    """Every figure of a document as SVG or PDF, by the paths of their files."""
    drawn = {".svg": figure_svg, ".pdf": figure_pdf}
    return {
        folder / f"{view.name}{suffix}": drawn[suffix](view.figure)
        for view in arrange(document.blocks)
        if isinstance(view, FigureView)
        for suffix in suffixes
    }


def files_of(report: Report, path: Path) -> Files:
    """All files of a report, by their paths."""
    # The names of folders beside have no signs that LaTeX would act upon.
    stem = re.sub(r"[^\w. -]", "-", path.stem)
    match path.suffix.lower():
        case ".html":
            return {path: report.html()}
        case ".docx":
            return {path: render_word(report)}
        case ".json":
            return {path: f"{json_text(report.to_dict(), indent=1)}\n"}
        case ".md":
            return {**files_beside(report, path.parent, stem), path: render_markdown(report, stem)}
    beside = files_beside(report, path.parent, stem, as_pdf=True)
    return {**beside, path: render_latex(report, stem)}


def files_beside(report: Report, folder: Path, stem: str, *, as_pdf: bool = False) -> Files:
    """Figures as SVG, or as PDF, and tables in full precision."""
    tables = {
        folder / f"{stem}_tables" / f"{view.name}.csv": csv_text(view.values)
        for view in arrange(report.blocks)
        if isinstance(view, TableView)
    }
    return figure_files(report, folder / f"{stem}_figures", ".pdf" if as_pdf else ".svg") | tables


@check_inputs()
def decisions_record(decisions: Decisions) -> dict[str, Any]:
    """Everything that decisions hold, as JSON has it.

    Parameters
    ----------
    decisions : Decisions
        What `decide` or `decide_normal` returned.

    Returns
    -------
    dict
        quantity; rope, null, ci_prob, ci_kind and comparisons, as in `Decisions`; level, the
        probability of the intervals after the correction; attrs of `contrast`, such as
        over, within, kind and pairing; notices, each with code, severity, message, cells and
        source; and results, a record per contrast or cell: label, its coordinates, withheld, the
        numbers, the verdicts and, of draws, unsettled. What is not a finite number is None: the
        open end of a one-sided ROPE, or a result that does not exist.

    Examples
    --------
    >>> from hmetad.compare.verdicts import decide_normal
    >>> record = decisions_record(decide_normal([0.4], [0.05], rope=(-0.1, 0.1)))
    >>> record["rope"], record["results"][0]["verdict"]
    ([-0.1, 0.1], 'different')
    """
    said = dict(decisions.results.attrs)
    found = read_attr(said, "notices")
    judged = {
        "quantity": decisions.quantity,
        "rope": decisions.rope,
        "null": decisions.null,
        "ci_prob": decisions.ci_prob,
        "ci_kind": decisions.ci_kind,
        "comparisons": decisions.comparisons,
        "level": 1 - (1 - decisions.ci_prob) / decisions.comparisons,
    }
    rows = decisions.table().to_dict("records")
    record: dict[str, Any] = strict({**said, **judged, "notices": found, "results": rows})
    return record


def report_record(document: Document) -> dict[str, Any]:
    """Everything that a report holds, as `Report.to_dict` says."""
    shown = [
        block.decisions
        for block in document.blocks
        if isinstance(block, Table) and block.decisions is not None
    ]
    made = list({id(one): one for one in shown}.values())
    blocks = [block_record(block, made) for block in document.blocks]
    record: dict[str, Any] = strict(
        {
            "title": document.title,
            "subtitle": document.subtitle,
            "meta": [{"name": name, "value": value} for name, value in document.meta],
            "blocks": blocks,
            "notices": [item for block in blocks for item in block.get("items", [])],
            "decisions": [decisions_record(decisions) for decisions in made],
        }
    )
    return record


def block_record(block: Block, made: list[Decisions]) -> dict[str, Any]:
    """What a block holds; its decisions by their place."""
    match block:
        case Prose():
            return {"kind": "prose", **vars(block)}
        case Alerts():
            names = ("severity", "sentence", "cells")
            items = [dict(zip(names, item, strict=True)) for item in block.items]
            return {"kind": "notices", "heading": block.heading, "items": items}
        case Figure():
            return {"kind": "figure", **{x: getattr(block, x) for x in ("name", "caption", "alt")}}
        case Table():
            columns, *rows = block.plain()
            places = [place for place, one in enumerate(made) if one is block.decisions]
            return {
                "kind": "table",
                "name": block.name,
                "caption": block.caption,
                "columns": columns,
                "rows": rows,
                "note": block.note,
                "decisions": places[0] if places else None,
            }
