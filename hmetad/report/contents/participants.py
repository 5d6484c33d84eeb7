"""Population and participants on a page: answer, figure, tables and descriptives by group.

Fit (DataTree) → blocks.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import covariate_means
from hmetad.plots.posteriors import people
from hmetad.plots.style import MOST_LINES
from hmetad.report.contents.answer import population_sentence
from hmetad.report.contents.population import (
    among_published,
    marked_term,
    plotted_rows,
    with_marks,
)
from hmetad.report.contents.tables import INTERVALS
from hmetad.report.page.blocks import (
    Block,
    Cell,
    Figure,
    Numbers,
    Prose,
    Table,
    interval_cell,
    table_from_frame,
)
from hmetad.rows.duplicates import is_people_name
from hmetad.specs.design import cell_table, left_out_level
from hmetad.specs.spec import spec_of
from hmetad.text.names import symbol

SAMPLED = "Estimates for the population {groups} were sampled from. "
PUBLISHED = (
    "Published populations are from the Confidence Database, each fitted by the same model. "
    "They differ in task, difficulty and scale: a usual value is not evidence of a correct one."
)
MEDIAN = " The population M-ratio is the value of the median participant."
TERMS = {"quantity": "Quantity", "term": "Term", "mean": "Mean", "lower": "Lower", "upper": "Upper"}
TERMS |= {"rhat": "R̂", "ess_bulk": "Bulk ESS", "ess_tail": "Tail ESS"}
BEHIND = (
    "{name} of the population{by} ({mark} with 95 % interval), and of each participant: partially "
    "pooled (filled){alone}.{reference}"
)


def condition_figure(
    fit: xr.DataTree, table: pd.DataFrame, alone: xr.Dataset | None, labels: Mapping[str, str]
) -> list[Block]:
    """Population by condition with participants behind, alone and partially pooled."""
    spec, fitted = spec_of(fit), Fitted.of(fit)
    main = spec.record.plotted
    is_drawn = spec.formula and fitted.has_cells and fitted.shrunk_over.get(main)
    if (
        not is_drawn
        or fitted.crossing
        or {*fitted.posterior[main].dims} != {"chain", "draw", "cell"}
    ):
        return []
    rows = plotted_rows(fit, table)
    if len(rows) > MOST_LINES:
        return []
    value, meaning = spec.record.reference or (None, "")
    separate = None if alone is None or main not in alone else alone[main]
    ax = people(fit, var=main, separate=separate, labels=labels, reference=value)
    caption = BEHIND.format(
        name=symbol(main),
        by=" by condition" if fitted.predictors else "",
        mark="line" if covariate_means(fit) else "diamond",
        alone=""
        if separate is None
        else ", and by maximum likelihood alone (open; arrows: outside)",
        reference=f" {meaning}." if meaning else "",
    )
    return [Figure(caption, population_sentence(rows), ax.figure, "conditions")]


def population_blocks(
    fit: xr.DataTree, table: pd.DataFrame, labels: Mapping[str, str]
) -> list[Block]:
    """Population in a report: a row per condition, then effects and differences."""
    spec, fitted = spec_of(fit), Fitted.of(fit)
    if not spec.formula:
        return []
    own = table[table["kind"] == "population"]
    if fitted.crossing is not None:
        # Observers with values of their own stand above.
        own = own[~own["term"].isin(fitted.counts["cell"].values)]
    factors = dict.fromkeys(x.factor for one in fitted.designs.values() for x in one.blocks)
    are_people = len(factors) == 1 and is_people_name(*factors)
    grouping = " and ".join(labels.get(factor, factor) for factor in factors)
    groups = "the participants" if are_people else f"the levels of {grouping}"
    said = (SAMPLED.format(groups=groups) if factors else "") + INTERVALS
    said += MEDIAN if "log_m" in spec.formula and are_people else ""
    blocks: list[Block] = [Prose("Population" if len(own) else "Effects of items", (said,))]
    if len(own):
        blocks.append(conditions_table(own, symbol(spec.record.plotted)))
    if placed := among_published(fit):
        blocks.append(Prose("", (*placed, PUBLISHED)))
    rest = with_marks(table[table["kind"] != "population"])
    return [*blocks, *([terms_table(fitted, rest, labels)] if len(rest) else [])]


def conditions_table(own: pd.DataFrame, main: str) -> Table:
    """Quantities of the population, a row per condition, which says why one has no verdict."""
    names, terms = dict.fromkeys(own["quantity"]), dict.fromkeys(own["term"])
    cells, marked = {}, dict(zip(terms, terms, strict=True))
    for row in own.to_dict("records"):
        ends = (row[x] for x in ("mean", "lower", "upper"))
        cells[row["term"], row["quantity"]] = interval_cell(ends, "z.2f")
        if row["quantity"] == main:
            marked[row["term"]] = marked_term(row)
    rows = tuple(
        (marked[term] or "population", *(cells.get((term, x), "") for x in names)) for term in terms
    )
    caption = "Population by condition." if len(rows) > 1 else "Population."
    return Table(caption, ("Condition", *names), rows, name="population")


def terms_table(fitted: Fitted, rest: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """Effects, standard deviations and correlations, with their diagnostics."""
    left_out = {
        term.name: level
        for design in fitted.designs.values()
        for term in design.common
        if term.name.startswith("S(") and (level := left_out_level(term, cell_table(fitted.counts)))
    }
    note = " ".join(
        f"{name}: effects sum to 0, and the effect of {labels.get(level, level)} is minus the sum "
        "of those shown."
        for name, level in left_out.items()
    )
    formats = {"rhat": ".4f", "ess_bulk": ",.0f", "ess_tail": ",.0f"}
    named: dict[str, Any] = {"formats": formats, "note": note, "name": "population-terms"}
    caption = "Effects, standard deviations and correlations."
    return table_from_frame(rest, caption, columns=TERMS, **named)


def descriptives(
    fitted: Fitted, counts: xr.DataArray, measured: xr.Dataset, labels: Mapping[str, str]
) -> list[Block]:
    """Numbers of participants and trials, accuracy, confidence and d′, by condition."""
    people = next((x for own in fitted.factors for x in own if is_people_name(x)), None)
    if people is None or people not in counts.coords:
        return []
    texts = [x for x in fitted.predictors if counts[x].dtype.kind not in "if"]
    confidence = (counts * counts["rating"]).sum([x for x in counts.dims if x != "cell"])
    named = {"share_right": "Accuracy", "dprime": "d′"}
    numbers = {words: measured[x].to_numpy() for x, words in named.items() if x in measured}
    if counts.sizes["rating"] > 1:
        numbers["Mean confidence"] = confidence.to_numpy() / measured["trials"].to_numpy()
    words = [
        " | ".join(labels.get(str(x), str(x)) for x in row)
        for row in zip(*(counts[x].to_numpy() for x in texts), strict=True)
    ] or ["all"] * counts.sizes["cell"]
    frame = pd.DataFrame({"Condition": words, "who": counts[people].to_numpy(), **numbers})
    frame["Trials"] = measured["trials"].to_numpy()
    rows: list[tuple[Cell, ...]] = []
    for condition, own in frame.groupby("Condition", sort=False):
        sizes = (int(own["who"].nunique()), int(own["Trials"].sum()))
        rows.append((str(condition), *sizes, *(mean_and_sd(own[x].to_numpy()) for x in numbers)))
    caption = "Descriptives: means of participants, with standard deviations in brackets."
    columns = ("Condition", "Participants", "Trials", *numbers)
    return [Table(caption, columns, tuple(rows), name="descriptives")]


def mean_and_sd(values: np.ndarray) -> Numbers:
    """Mean and standard deviation of the values that are defined."""
    known = values[np.isfinite(values)]
    mean = interval_cell([known.mean() if len(known) else np.nan], "z.2f")
    spread = interval_cell([known.std(ddof=1) if len(known) > 1 else np.nan], "z.2f")
    return Numbers(f"{mean} ({spread})", mean.values)
