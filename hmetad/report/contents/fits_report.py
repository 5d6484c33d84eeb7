"""The report of a comparison of separate fits: decisions first, then every fit.

Fits by name and Decisions → Report.
"""

from collections.abc import Mapping
from importlib.metadata import version

import xarray as xr

from hmetad.arguments import checked
from hmetad.compare.decisions import Decisions
from hmetad.errors import InputError
from hmetad.report.contents.decided import asked, changed_verdicts, decided
from hmetad.report.contents.fit_report import combine_reports, fit_report
from hmetad.report.contents.tables import notice_block
from hmetad.text.names import symbol
from hmetad.report.page.blocks import Block, Prose
from hmetad.report.page.report import Report

__all__ = ["fits_report"]

SEPARATE = (
    "The fits are separate: their draws were paired as independent ones. Where they hold the same "
    "subjects or items the data are paired, and one joint model gives narrower intervals."
)


@checked()
def fits_report(
    fits: Mapping[str, xr.DataTree],
    decisions: Decisions,
    *,
    title: str = "",
    question: str = "",
    sensitivity: Mapping[str, Decisions] | None = None,
    command: str = "",
) -> Report:
    """Report of decisions between separate fits.

    Parameters
    ----------
    fits : mapping of str to DataTree
        What was compared, by name, as given to `contrast`.
    decisions : Decisions
        What `decide` returned for contrasts between them; many are shown as in `fit_report`.
    title, question : str, optional
        Of the page; by default of the decisions.
    sensitivity : mapping of str to Decisions, optional
        The decisions, made otherwise, as in `fit_report`.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report
        The decisions, then the report of each fit under its name.

    Raises
    ------
    InputError
        If there are fewer than two fits, or `sensitivity` has other contrasts.
    """
    if len(fits) < 2:
        step = "For one fit use fit_report."
        raise InputError("fits", f"{len(fits)}", "two fits or more, by name", step)
    each = combine_reports("", {label: fit_report(fit) for label, fit in fits.items()})
    again = (Prose("Session", (f"To run it again: {command}",)),) if command else ()
    blocks: list[Block] = [
        Prose("Question", (question or asked(decisions),)),
        *decided(decisions, fits, SEPARATE),
        *changed_verdicts([decisions], sensitivity or {}),
        *notice_block(decisions.results),
        *each.blocks,
        *again,
    ]
    meta = (("Fits", ", ".join(fits)), ("hmetad", version("hmetad")))
    heading = title or f"Comparison of {symbol(decisions.quantity)}"
    return Report(heading, tuple(blocks), meta=meta)
