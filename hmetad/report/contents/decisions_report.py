"""The report of decisions that rest on no fit: on resampling, or on estimates and their errors.

Decisions → Report.
"""

from collections.abc import Mapping
from importlib.metadata import version

import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.compare.decisions import Decisions
from hmetad.report.contents.decided import decision_blocks, question_of
from hmetad.report.contents.pairwise import is_many
from hmetad.report.contents.tables import early_notices, notice_block, with_words
from hmetad.report.page.blocks import Block, Prose
from hmetad.report.page.report import Report
from hmetad.text.names import symbol

__all__ = ["decisions_report"]


@check_inputs()
def decisions_report(
    decisions: Decisions,
    draws: xr.DataTree | xr.Dataset | Mapping[str, xr.DataTree] | None = None,
    *,
    title: str = "",
    question: str = "",
    method: str = "",
    command: str = "",
    labels: Mapping[str, str] | None = None,
    ranks: xr.Dataset | None = None,
) -> Report:
    """Report of decisions alone: question, verdicts, notices and method.

    Parameters
    ----------
    decisions : Decisions
        What `decide` returned for draws of `resample` or `measures.resample_trials`, or
        `decide_normal` for estimates. Of fits, `fit_report` says more.
    draws : DataTree or Dataset, or mapping of str to DataTree, optional
        What was contrasted, of several sources by name: many pairs of a measure that has a best
        end then have ranks.
    title, question : str, optional
        Of the page; by default of the decisions.
    method : str, optional
        How the draws or estimates were made, a paragraph.
    command : str, optional
        Command line that makes it again.
    labels : mapping of str to str, optional
        Words for levels, in the labels of at most 40 decisions.
    ranks : Dataset, optional
        What `hmetad.rank` returned for the same levels, shown after the decisions.

    Returns
    -------
    Report

    Examples
    --------
    >>> from hmetad.compare.verdicts import decide_normal
    >>> page = decisions_report(decide_normal([0.4], [0.05], rope=(-0.1, 0.1)), method="By hand.")
    >>> [block.heading for block in page.blocks if isinstance(block, Prose)]
    ['Question', 'Decisions: estimate', 'Method']
    """
    told = decisions if is_many(decisions) else with_words(decisions, labels)
    blocks: list[Block] = [
        Prose("Question", (question or question_of(decisions),)),
        *early_notices(decisions.results),
        *decision_blocks(told, as_tree(draws), ranks=ranks),
        *notice_block(decisions.results),
        *([Prose("Method", (method,))] if method else []),
        *([Prose("Session", (f"To run it again: {command}",))] if command else []),
    ]
    heading = title or f"Comparison of {symbol(decisions.quantity)}"
    return Report(heading, tuple(blocks), meta=(("hmetad", version("hmetad")),))


def as_tree(
    draws: xr.DataTree | xr.Dataset | Mapping[str, xr.DataTree] | None,
) -> xr.DataTree | Mapping[str, xr.DataTree] | None:
    """Draws in the form of a fit, or of several by name."""
    if isinstance(draws, xr.Dataset):
        return xr.DataTree.from_dict({"/posterior": draws})
    return draws
