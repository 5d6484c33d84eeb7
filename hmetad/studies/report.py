"""The report of a study, from the blocks that its file lists.

Name of a study, what its analysis found by name, comparison with print → Report.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd

from hmetad.report.contents.tables import convergence_table, decision_table, notice_block
from hmetad.report.contents.tables import decision_figure as figure_of_decisions
from hmetad.report.page.report import Block, Figure, Prose, Report, table_from_frame
from hmetad.studies.figures import draw
from hmetad.studies.printed import file_of
from hmetad.text.names import symbol

__all__ = ["agreement", "build_report"]

type Entry = Mapping[str, Any]
type Contents = Mapping[str, Any]


def build_report(study: str, contents: Contents, comparison: pd.DataFrame) -> Report:
    """Report of a study, from contents: all that blocks name, and that texts have in braces.

    The file has the title under ``report``, sentences that stand in several places under ``said``,
    and the blocks, each of one of `KINDS`. One with ``needs`` is left out where the contents lack
    it; one with ``each`` is repeated for every member of these contents, with what the member has.
    """
    plan = file_of(study)
    head = plan["report"]
    known = {**contents, "agreement": agreement(comparison)}
    known |= {"comparison": comparison, "where": head.get("where", {})}
    known |= {name: fill(text, known) for name, text in plan.get("said", {}).items()}
    blocks = [block for entry in plan["block"] for block in blocks_of(entry, known)]
    meta = [(name, fill(text, known)) for name, text in head["meta"].items()]
    meta += [("Seed", str(contents["seed"])), ("hmetad", version("hmetad"))]
    return Report(head["title"], tuple(blocks), subtitle=head["subtitle"], meta=tuple(meta))


def blocks_of(entry: Entry, known: Contents) -> Iterator[Block]:
    """Blocks of an entry: none, one, or one for each member of what it is repeated for."""
    if "needs" in entry and known.get(entry["needs"]) is None:
        return
    kind = next(kind for kind in KINDS if kind in entry)
    for own in known[entry["each"]] if "each" in entry else [{}]:
        yield from KINDS[kind](entry, {**known, **own})


def fill(text: str, known: Contents) -> str:
    """Text on one line, with what it has in braces."""
    return re.sub(r"\s*\n\s*", " ", text.strip("\n")).format_map(known)


def prose(entry: Entry, known: Contents) -> Iterator[Block]:
    """Paragraphs, which empty lines separate, under a heading."""
    parts = [part for part in entry.get("text", "").split("\n\n") if part.strip()]
    yield Prose(entry.get("heading", ""), tuple(fill(part, known) for part in parts))


def table(entry: Entry, known: Contents) -> Iterator[Block]:
    """A data frame with chosen columns under headings."""
    yield table_from_frame(
        known[entry["table"]],
        fill(entry["caption"], known),
        columns=entry.get("columns"),
        formats=entry.get("formats"),
        note=fill(entry.get("note", ""), known),
        name=fill(entry.get("name", entry["table"]), known),
    )


def decisions(entry: Entry, known: Contents) -> Iterator[Block]:
    """Decisions beside the words of the paper; against the ROPE, where a figure is asked for."""
    name, comparison = entry["decisions"], known["comparison"]
    # The comparison has them in the same order.
    words = comparison.loc[comparison["table"] == name, "printed"]
    judged, caption = known["decided"][name], entry["caption"]
    yield decision_table(judged, f"{caption}.", in_print=list(words), name=name)
    if entry.get("figure", False):
        yield figure_of_decisions(judged, f"{caption}, against the ROPE (band).", name=name)


def figure(entry: Entry, known: Contents) -> Iterator[Block]:
    """A plot of `hmetad.studies.figures`, of contents and with options that the entry names."""
    drawn = draw(entry["plot"], [known[name] for name in entry["of"]], entry.get("options", {}))
    caption, name = fill(entry["caption"], known), fill(entry["figure"], known)
    yield Figure(caption, fill(entry["alt"], known), drawn, name)


def differing(_: Entry, known: Contents) -> Iterator[Block]:
    """What disagrees with print and why, if anything does."""
    comparison = known["comparison"]
    rows = comparison[~comparison["agrees"].astype(bool)]
    if len(rows):
        shown = places_and_values(rows, known["where"]).assign(Cause=rows["note"])
        caption = "Every disagreement with print, and its cause."
        yield table_from_frame(shown, caption, name="differences")


def everything(_: Entry, known: Contents) -> Iterator[Block]:
    """Every printed value beside ours."""
    comparison = known["comparison"]
    verdict = ["yes" if one else "no" for one in comparison["agrees"]]
    shown = places_and_values(comparison, known["where"]).assign(Agrees=verdict)
    yield table_from_frame(shown, "Every printed value, and ours.", name="comparison")


def alerts(entry: Entry, known: Contents) -> Iterator[Block]:
    """Notices that travel with a result."""
    yield from notice_block(known[entry["notices"]], entry.get("heading", "Notices"))


def convergence(entry: Entry, known: Contents) -> Iterator[Block]:
    """Diagnostics of fits, by name."""
    yield convergence_table(known[entry["convergence"]])


# Key that an entry of this kind has → its blocks.
KINDS: Mapping[str, Callable[[Entry, Contents], Iterator[Block]]] = {
    "table": table,
    "decisions": decisions,
    "figure": figure,
    "notices": alerts,
    "convergence": convergence,
    "differing": differing,
    "everything": everything,
    "heading": prose,
    "text": prose,
}


def places_and_values(comparison: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    """Printed values and ours, and where they stand."""
    what = comparison["row"] + ": " + comparison["quantity"].map(symbol)
    shown = {"Where": [where.get(name, name) for name in comparison["table"]], "What": what}
    for side, heading in (("printed", "In print"), ("ours", "Here")):
        shown[heading] = [in_short(value) for value in comparison[side]]
    return pd.DataFrame(shown)


def in_short(value: object) -> str:
    """Number with five significant digits; words as they are."""
    return value if isinstance(value, str) else f"{value:.5g}"


def agreement(comparison: pd.DataFrame) -> str:
    """How many printed values agree, and where the others are found.

    Examples
    --------
    >>> agreement(pd.DataFrame({"agrees": [True, False], "note": ["", "A misprint."]}))
    '1 of 2 printed values agree with ours, within the tolerances given. The other 1 stands below, \
with its cause.'
    """
    others = comparison[~comparison["agrees"].astype(bool)]
    start = (
        f"{len(comparison) - len(others)} of {len(comparison)} printed values agree with ours, "
        "within the tolerances given."
    )
    if others.empty:
        return start
    verb, cause = ("stands", "with") if len(others) == 1 else ("stand", "each with")
    unexplained = int((others["note"] == "").sum())
    said = f"{unexplained} of them unexplained" if unexplained else f"{cause} its cause"
    return f"{start} The other {len(others)} {verb} below, {said}."
