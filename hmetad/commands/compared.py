"""Answers of `hmetad compare`.

Decisions, or draws of superiority, with ranks and other choices → Answer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.answer import Answer, Listing, rows_of
from hmetad.commands.fits import about_fits
from hmetad.compare.words import COLUMNS, correction_words, headings, pool_words, ranked_words
from hmetad.results import shown_in
from hmetad.text.names import column_name

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.compare.decisions import Decisions

__all__ = [
    "decisions_answer",
    "superiorities",
    "with_fits",
    "with_left_out",
    "with_new",
    "with_others",
    "with_ranks",
]

SUPERIORITY = {"label": "contrast", "p_superior": "P(left > right)", "mcse": "MC error"}
type Fits = Mapping[str, "xr.DataTree"]


def decisions_answer(decisions: "Decisions") -> Answer:
    """Decisions as an answer: a row for each, and the fits and settings."""
    record = hmetad.report.decisions_record(decisions)
    rows = record.pop("results")
    record.pop("notices")
    low, high = decisions.rope
    kind = record.get("kind", "value").replace("_", " ")
    of = "" if kind == "value" else " in"
    title = (
        f"{kind}{of} {decisions.quantity}; ROPE {low:g} to {high:g}"
        f"{remark(correction_words(decisions.comparisons, len(rows)))}"
        f"{remark(pool_words(record))}{separate_fits_remark(record)}"
    )
    found = hmetad.notices(decisions.results)
    return Answer((Listing(rows, headings(rows, "terminal"), title),), found, more=record)


def superiorities(draws: "xr.DataArray") -> Answer:
    """Probabilities of superiority as an answer, without verdicts."""
    rows = rows_of(hmetad.compare.superiority_table(draws))
    said = {str(name): value for name, value in draws.attrs.items() if name != "notices"}
    shown = {**SUPERIORITY, **reasons_in(rows)}
    remarks = remark(pool_words(said)) + separate_fits_remark(said)
    title = f"probability that {draws.name} is larger{remarks}"
    return Answer((Listing(rows, shown, title),), hmetad.notices(draws), more=said)


def with_ranks(answer: Answer, ranks: "xr.Dataset") -> Answer:
    """Answer with a table of ranks after its first."""
    rows = [with_whole_ranks(row) for row in rows_of(hmetad.compare.rank_table(ranks))]
    columns = {"cell": "cell", **{name: column_name(name, "rank") for name in shown_in("rank")}}
    pooled = remark(pool_words(ranks.attrs))
    first = "largest" if ranks.attrs["largest_first"] else "smallest"
    number = ranked_words(ranks["mean_rank"].values.tolist())
    title = f"Ranks{number} in {ranks.attrs['quantity']}, the {first} first{pooled}"
    if any(row.get("coverage", 1) < 1 for row in rows):
        columns["coverage"] = "coverage"
    listing = Listing(rows, {**columns, **reasons_in(rows)}, title)
    said = {(one.code, one.message) for one in answer.notices}
    new = [one for one in hmetad.notices(ranks) if (one.code, one.message) not in said]
    found, more = [*answer.notices, *new], {**answer.more, "ranks": rows}
    return replace(answer, listings=(*answer.listings, listing), notices=found, more=more)


def with_others(answer: Answer, others: "Mapping[str, Decisions]") -> Answer:
    """Answer with a table of the verdicts that other choices give."""
    records = {
        name: hmetad.report.decisions_record(decisions) for name, decisions in others.items()
    }
    columns = {"label": "contrast", "verdict": "as decided", **{name: name for name in records}}
    rows = [{"label": row["label"], "verdict": row["verdict"]} for row in answer.rows]
    for name, record in records.items():
        for row, other in zip(rows, record["results"], strict=True):
            row[name] = other["verdict"]
    listing = Listing(rows, columns, "Verdicts under other choices")
    more = {**answer.more, "sensitivity": records}
    return replace(answer, listings=(*answer.listings, listing), more=more)


def with_fits(answer: Answer, fits: Fits, paths: Mapping[str, Path]) -> Answer:
    """Answer with the names of its fits, its own notices before those that it has of them."""
    of_fits = [notice for fit in fits.values() for notice in hmetad.notices(fit)]
    found = sorted(answer.notices, key=of_fits.__contains__)
    return replace(answer, notices=found, more={**answer.more, **about_fits(fits, paths)})


def with_new(answer: Answer, new: Sequence[str]) -> Answer:
    """Answer that says for new levels of which columns it is, where it is for such."""
    if not new:
        return answer
    named = f"; for a new {' and '.join(new)}"
    listings = tuple(replace(one, title=one.title + named) for one in answer.listings)
    return replace(answer, listings=listings, more={**answer.more, "new": list(new)})


def with_left_out(answer: Answer, without: Sequence[str]) -> Answer:
    """Answer that says which levels were left out, where some were."""
    return replace(answer, more={**answer.more, "without": list(without)}) if without else answer


def reasons_in(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Columns that say why there is no verdict, where one is missing."""
    reasons = {column.name for column in COLUMNS if column.is_reason}
    return {k: text for k, text in headings(rows, "terminal").items() if k in reasons}


def with_whole_ranks(row: Mapping[str, Any]) -> dict[str, Any]:
    """Row whose limits of a rank are whole numbers, or None where they are undefined."""
    ends = {name: row[name] for name in ("rank_lower", "rank_upper")}
    return {**row, **{k: None if math.isnan(x) else int(x) for k, x in ends.items()}}


def remark(words: str) -> str:
    """Words as a further part of a title, where there are any."""
    return f"; {words}" if words else ""


def separate_fits_remark(said: Mapping[str, Any]) -> str:
    """Remark on separate fits, for a title."""
    return "; separate fits, as if independent" if said.get("pairing") == "independent" else ""
