"""Decisions and reports as records that any program can read.

Decisions, or title, meta and blocks → dict that JSON has, every number in full.
"""

from typing import Any

from hmetad.arguments import check_inputs
from hmetad.compare.decisions import Decisions
from hmetad.report.page.blocks import Alerts, Block, Document, Figure, Matrix, Prose, Table
from hmetad.report.page.plain import strict
from hmetad.untrusted import read_attr

__all__ = ["decisions_record", "report_record"]


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
    made = distinct_decisions(document)
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


def distinct_decisions(document: Document) -> list[Decisions]:
    """Decisions that blocks of a report show, each once."""
    shown = [decisions_of(block) for block in document.blocks]
    return list({id(one): one for one in shown if one is not None}.values())


def decisions_of(block: Block) -> Decisions | None:
    """Decisions that a block shows, if any."""
    match block:
        case Table():
            return block.decisions
        case Matrix():
            return block.pairs.decisions
        case _:
            return None


def block_record(block: Block, made: list[Decisions]) -> dict[str, Any]:
    """What a block holds; its decisions by their place."""
    match block:
        case Prose():
            return {"kind": "prose", "heading": block.heading, "paragraphs": block.paragraphs}
        case Alerts():
            names = ("severity", "sentence", "cells")
            items = [dict(zip(names, item, strict=True)) for item in block.items]
            return {"kind": "notices", "heading": block.heading, "items": items}
        case Figure():
            shown = {"name": block.name, "caption": block.caption, "alt": block.alt}
            return {"kind": "figure", **shown}
        case Matrix():
            inside = table_record(block.pairs, made)
            levels = {"caption": block.caption, "levels": block.levels, "note": block.note}
            return {**inside, "kind": "matrix", **levels}
        case Table():
            return table_record(block, made)


def table_record(table: Table, made: list[Decisions]) -> dict[str, Any]:
    """Values of a table."""
    places = [place for place, one in enumerate(made) if one is table.decisions]
    return {
        "kind": "table",
        "name": table.name,
        "caption": table.caption,
        "columns": (table.numbers or table).columns,
        "rows": (table.numbers or table).rows,
        "note": table.note,
        "decisions": places[0] if places else None,
    }
