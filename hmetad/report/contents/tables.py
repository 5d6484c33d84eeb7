"""Decisions, convergence and notices as blocks of a report, which every report shares.

Decisions, or fits → Table, Figure or Alerts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.notice import Notice, notices, with_notices
from hmetad.base.notice_registry import limit, short_words
from hmetad.compare.decisions import Decisions
from hmetad.compare.words import correction_words, headings
from hmetad.plots import intervals
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.estimates import convergence_record
from hmetad.report.page.blocks import Alerts, Cell, Figure, Table, table_from_frame
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent, interval_kind, symbol

__all__ = [
    "INTERVALS",
    "convergence_table",
    "decision_figure",
    "decision_table",
    "early_notices",
    "forest_figure",
    "notice_block",
    "with_words",
]

# What stands above estimates.
INTERVALS = "Posterior means with 95 % equal-tailed intervals."

# Notices without which an answer is misread: they stand before it, and with the others at the end.
BEFORE_THE_ANSWER = (
    *("mixed-scales", "confidence-missing", "correct-missing", "not-probabilities"),
    *("unequal-items", "counted-wrong", "reversed-scale"),
)
# Starts of the names of logarithms.
LOGS = ("log_", "log ratio of ")
# Between the levels in the label of a contrast.
SEPARATORS = re.compile(r"( − | \| |[()])")


def decision_table(
    decisions: Decisions, caption: str, *, in_print: Sequence[str] | None = None, name: str = ""
) -> Table:
    """Decisions, one row per contrast or cell.

    Parameters
    ----------
    decisions : Decisions
    caption : str
        What is judged.
    in_print : sequence of str, optional
        What a paper says of each, for a last column.
    name : str
        Stem of the table's file.

    Returns
    -------
    Table
    """
    frame = decisions.table()
    words = {True: "yes", False: "no"}
    frame["statistical"] = [words.get(answer) for answer in frame["statistical"]]
    frame["withheld"] = reasons_withheld(decisions)
    columns = headings(frame.to_dict("records"), "page", format_cell(decisions.null, "g"))
    if in_print is not None:
        frame["in_print"] = list(in_print)
        columns["in_print"] = "In print"
    table = table_from_frame(
        frame, caption, columns=columns, note=interval_note(decisions), name=name
    )
    return replace(table, decisions=decisions)


def reasons_withheld(decisions: Decisions) -> list[str]:
    """Why there is no verdict, in words; empty where there is one."""
    said = []
    for row in decisions.table().to_dict("records"):
        is_unsettled = "verdict" in str(row.get("unsettled", ""))
        codes = f"{row.get('withheld', '')}, {'unsettled' if is_unsettled else ''}"
        said.append(codes_in_words(codes) if row["verdict"] == "unreliable" else "")
    return said


def codes_in_words(codes: str) -> str:
    """Codes of a withheld verdict, as `Decisions` joins them, in words.

    Examples
    --------
    >>> codes_in_words("rhat, ess, few-draws")
    'R̂ above 1.01; few effective draws'
    """
    named = [code for code in codes.split(", ") if code]
    return "; ".join(dict.fromkeys(map(short_words, named)))


def decision_figure(decisions: Decisions, caption: str, *, name: str = "") -> Figure:
    """Intervals of decisions against the region of practical equivalence."""
    quantity = symbol(decisions.quantity)
    alt = describe_intervals(decisions.table(), group="verdict", quantity=quantity)
    return Figure(caption, alt, intervals.decisions(decisions).figure, name)


def forest_figure(
    frame: pd.DataFrame, quantity: str, caption: str, name: str, *, alt: str = "", **options: Any
) -> Figure:
    """Intervals of a quantity in rows; options are those of `forest`."""
    ax = intervals.forest(frame, xlabel=quantity, **options)
    return Figure(caption, describe_intervals(frame, quantity=alt or quantity), ax.figure, name)


def interval_note(decisions: Decisions, *, in_table: bool = True) -> str:
    """What interval, what ROPE, what correction and, of a table, what the columns mean."""
    level = in_percent(1 - (1 - decisions.ci_prob) / decisions.comparisons)
    kind = interval_kind(decisions.ci_kind)
    note = f"{level} {kind} intervals; ROPE {rope_in_words(decisions)}."
    if in_table:
        note += " P(dir.): probability of the more likely sign."
    said = correction_words(decisions.comparisons, decisions.results["verdict"].size)
    return f"{note} {said[0].upper()}{said[1:]}." if said else note


def with_words(decisions: Decisions, labels: Mapping[str, str] | None) -> Decisions:
    """Decisions whose labels have words in place of the names of levels."""
    if not labels:
        return decisions
    results = decisions.results
    dim = next(iter(results.dims))
    written = [
        "".join(labels.get(part, part) for part in SEPARATORS.split(str(label)))
        for label in results[dim].values
    ]
    named = results.assign_coords({dim: (dim, np.array(written), results[dim].attrs)})
    if "reference" in named.attrs:
        first = str(named.attrs["reference"])
        named = named.assign_attrs(reference=labels.get(first, first))
    return replace(decisions, results=named)


def rope_in_words(decisions: Decisions) -> str:
    """Limits of the region of practical equivalence; of a logarithm also in percent."""
    shown = " to ".join(format_cell(limit, "g") for limit in decisions.rope)
    quantity = decisions.quantity
    if not quantity.startswith(LOGS) or max(map(abs, decisions.rope)) > 1:
        return shown
    percent = " to ".join(f"{100 * np.expm1(end):+.0f} %" for end in decisions.rope)
    return f"{shown} on the log scale ({percent.replace('-', '−')})"


def convergence_table(fits: Mapping[str, xr.DataTree]) -> Table:
    """Draws, R̂, effective sample sizes and divergences of fits, by name."""
    rows: list[tuple[Cell, ...]] = []
    for name, fit in fits.items():
        rows.append((name, *convergence_record(fit).values()))
    headings = ("Model", "Draws", "Largest R̂", "Least bulk ESS", "Least tail ESS", "Divergences")
    whole = tuple((heading, ",d") for heading in (headings[1], *headings[3:]))
    caption = (
        "Convergence of all that was sampled. R̂ (rank-normalised) should be ≤ "
        f"{limit('rhat')}, effective draws (ESS) ≥ {limit('ess')}, without divergences."
    )
    formats = ((headings[2], ".4f"), *whole)
    return Table(caption, headings, tuple(rows), name="convergence", formats=formats)


def notice_block(
    result: xr.DataTree | xr.Dataset | xr.DataArray, heading: str = "Notices"
) -> tuple[Alerts, ...]:
    """Notices of a fit, a count table or decisions, with what to do and the source, if any."""
    items = tuple((n.severity, in_words(n), n.cells) for n in notices(result))
    return (Alerts(heading, items),) if items else ()


def early_notices(
    result: xr.DataTree | xr.Dataset | xr.DataArray, more: Sequence[Notice] = ()
) -> tuple[Alerts, ...]:
    """Notices that a reader needs before the answer."""
    said = [one for one in (*notices(result), *more) if one.code in BEFORE_THE_ANSWER]
    said = [one for one in said if one.severity != "info"]
    return notice_block(with_notices(xr.Dataset(), said), "Before the answer")


def in_words(notice: Notice) -> str:
    """Message of a notice, next step and source, as one text."""
    source = f"({notice.source})" if notice.source else ""
    return " ".join(filter(None, [notice.message, notice.next_step, source]))
