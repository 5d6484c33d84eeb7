"""Decisions and reports as records that any program can read.

Decisions, or title, meta and blocks → dict that JSON has, every number in full.
"""

from typing import Any

from hmetad.base.arguments import check_inputs
from hmetad.base.untrusted import read_attr
from hmetad.compare.decisions import Decisions
from hmetad.report.page.blocks import Alerts, Block, Document, Figure, Matrix, Prose, Table
from hmetad.report.terminal import strict

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
    shown = [
        table.decisions
        for block in document.blocks
        for table in (block.pairs if isinstance(block, Matrix) else block,)
        if isinstance(table, Table) and table.decisions is not None
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
            return {"kind": "prose", "heading": block.heading, "paragraphs": block.paragraphs}
        case Alerts():
            names = ("severity", "sentence", "cells")
            items = [dict(zip(names, item, strict=True)) for item in block.items]
            return {"kind": "notices", "heading": block.heading, "items": items}
        case Figure():
            shown = {"name": block.name, "caption": block.caption, "alt": block.alt}
            return {"kind": "figure", **shown}
        case Matrix():
            inside = block_record(block.pairs, made)
            levels = {"caption": block.caption, "levels": block.levels, "note": block.note}
            return {**inside, "kind": "matrix", **levels}
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
