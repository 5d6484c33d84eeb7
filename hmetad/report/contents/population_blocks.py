"""The population of a fit in a report.

Fit (DataTree) → blocks: a row per condition, a figure, effects and differences between people.
"""

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from hmetad.plots import intervals
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.population import population_table
from hmetad.report.contents.tables import INTERVALS
from hmetad.report.page.blocks import Block, Figure, Prose, Table, table_from_frame
from hmetad.specs.design import designs_of
from hmetad.specs.spec import spec_of
from hmetad.text.cells import format_cell
from hmetad.text.names import symbol

__all__ = ["population_blocks"]

DRAWN = "What holds of the population that the levels of {groups} were drawn from. "
MEDIAN = " Where people differ in log M-ratio, the M-ratio of the population is that of the median."
SHOWN = ("mean", "lower", "upper")


def population_blocks(fit: xr.DataTree, labels: Mapping[str, str] | None = None) -> list[Block]:
    """Population in a report: a row per condition, a figure, then effects and differences."""
    spec = spec_of(fit)
    if not spec.formula:
        return []
    table = population_table(fit, labels=labels)
    own = table[table["kind"] == "population"]
    names, main = list(dict.fromkeys(own["quantity"])), symbol(spec.record.plotted)
    rows = tuple(
        (
            str(term) or "population",
            *(interval_text(part[part["quantity"] == name]) for name in names),
        )
        for term, part in own.groupby("term", sort=False)
    )
    caption = "Population by condition." if len(rows) > 1 else "Population."
    designs = designs_of(fit["observed_data"].to_dataset()["counts"], spec)
    factors = dict.fromkeys(block.factor for one in designs.values() for block in one.blocks)
    groups = " and ".join((labels or {}).get(factor, factor) for factor in factors)
    said = (DRAWN.format(groups=groups) if groups else "") + INTERVALS
    said += MEDIAN if "log_m" in spec.formula else ""
    blocks: list[Block] = [
        Prose("Population", (said,)),
        Table(caption, ("Condition", *names), rows, name="population"),
    ]
    shown = own[own["quantity"] == main].rename(columns={"term": "label"})
    if len(shown) > 1:
        value, meaning = spec.record.reference or (None, "")
        ax = intervals.forest(
            shown[["label", "mean", "lower", "upper"]], xlabel=main, reference=value
        )
        alt = describe_intervals(shown, quantity=main)
        shown_words = f"{main} of the population" + (f"; {meaning}." if meaning else ".")
        blocks.append(Figure(shown_words, alt, ax.figure, "population-figure"))
    rest = table[table["kind"] != "population"]
    if len(rest):
        columns = {"quantity": "Quantity", "term": "Term", "mean": "Mean", "lower": "Lower"}
        columns |= {"upper": "Upper", "rhat": "R̂", "ess_bulk": "Bulk ESS", "ess_tail": "Tail ESS"}
        formats = {"rhat": ".4f", "ess_bulk": ",.0f", "ess_tail": ",.0f"}
        caption = "Effects, standard deviations and correlations."
        blocks.append(
            table_from_frame(
                rest, caption, columns=columns, formats=formats, name="population-terms"
            )
        )
    return blocks


def interval_text(rows: pd.DataFrame) -> str:
    """Mean and interval of one quantity, as text."""
    if len(rows) == 0:
        return ""
    mean, lower, upper = (format_cell(rows.iloc[0][name], "z.2f") for name in SHOWN)
    return f"{mean} [{lower}, {upper}]"
