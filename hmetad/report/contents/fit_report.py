"""The report of a fit: question, decisions, population, data, estimates, fit check and method.

Fit (DataTree), or separate fits by name, and Decisions → Report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import KindError, ModelError, SourceError, TooFewError
from hmetad.base.notice import Notice, notices, with_notices
from hmetad.base.untrusted import read_attr
from hmetad.bayes.check_fit import check_estimates, has_estimates
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predictive import MANY_OUTSIDE, predicted_counts
from hmetad.compare.decisions import Decisions
from hmetad.counts.resample import counts_together
from hmetad.mle.measure import measure
from hmetad.plots import fits as drawn_fits
from hmetad.plots.fits import Kind, describe_fit
from hmetad.report.contents.answer import answer_sentence, population_sentence
from hmetad.report.contents.crossed import crossed_blocks
from hmetad.report.contents.decided import (
    changed_verdicts,
    decision_blocks,
    question_of,
)
from hmetad.report.contents.estimates import cells_withheld, estimate_table
from hmetad.report.contents.estimates_fit import estimates_blocks, estimates_question
from hmetad.report.contents.paragraph import (
    estimates_alone,
    manuscript_details,
    paragraph_of,
)
from hmetad.report.contents.participants import (
    condition_figure,
    descriptives,
    population_blocks,
)
from hmetad.report.contents.population import plotted_rows, population_of
from hmetad.report.contents.tables import (
    INTERVALS,
    codes_in_words,
    early_notices,
    forest_figure,
    method_blocks,
    notice_block,
    session_block,
    with_words,
)
from hmetad.report.page.blocks import (
    Alerts,
    Block,
    Figure,
    Prose,
    Table,
    table_from_frame,
)
from hmetad.report.page.report import Report
from hmetad.specs.spec import spec_of
from hmetad.text.names import in_percent, symbol

SEPARATE = (
    "The fits are separate: their draws were paired as independent. If they share subjects or "
    "items the data are paired, and one joint model gives narrower intervals."
)

BACKWARD = (
    "M ≤ 0: in these counts confidence is no higher for correct answers than for errors. log M "
    "cannot express this: the M shown is above 0 whatever the counts are."
)

PREDICTED = (
    "Prediction of unseen trials: expected log predictive density (elpd), by leave-one-out "
    "cross-validation of single trials (PSIS; Vehtari et al., 2017)."
)
COMPARED = {
    "elpd": "elpd",
    "se": "SE",
    "elpd_diff": "Difference",
    "dse": "SE of difference",
    "weight": "Weight",
    "in_words": "In words",
}
# Panels of the fit check and rows of the forest, beyond which a page is not read.
SHOWN_CELLS, FOREST_ROWS = 9, 40
# Rows of a table of cells that stay open after the population.
UNFOLDED = 8
AT_AVERAGE = (
    " There are too many cells for a table: factors that are not named are at an average level."
)
CHECKED = (
    "Markers are observed, bands hold 95 % of the data that the posterior predicts: one marker in "
    "20 lies outside by chance. If more of a cell do, interpret its {symbol} with caution."
)
LEAVE = (
    " {poor} of {cells} cells leave the bands in more than {share} of their counts; shown are the "
    "{shown} that leave them most."
)


@check_inputs(skip=("fits", "models"))
def fit_report(
    fits: xr.DataTree | Mapping[str, xr.DataTree],
    decisions: Decisions | Sequence[Decisions] = (),
    *,
    title: str = "",
    question: str = "",
    sensitivity: Mapping[str, Decisions] | None = None,
    models: pd.DataFrame | None = None,
    command: str = "",
    labels: Mapping[str, str] | None = None,
    ranks: xr.Dataset | None = None,
) -> Report:
    """Report of a fit, or of separate fits, with the decisions that were made about them.

    Parameters
    ----------
    fits : DataTree or mapping of str to DataTree
        What `hmetad.fit`, `bayes.fit_estimates` or `hmetad.load_fit` returned; or several, by name,
        as given to `contrast`: then each has its own report after the decisions between them.
    decisions : Decisions or sequence of Decisions, optional
        What `decide` returned for contrasts of the cells; they come first. More than 40 are
        counted by verdict, and their table is folded away after ranks that are given.
    title, question : str, optional
        Of the page; by default of the decisions, or of the model card.
    sensitivity : mapping of str to Decisions, optional
        The decisions of the first set, made otherwise: under the other κ, another correction or
        prior. The report says which verdicts change, and counts apart those that are withheld.
    models : DataFrame, optional
        What `compare_models` returned: which model predicts better, this one among them.
    command : str, optional
        Command line that makes it again.
    labels : mapping of str to str, optional
        Words for columns and their levels in the tables of the population and of the cells, as in
        `population_table`, and in the labels of decisions.
    ranks : Dataset, optional
        What `hmetad.rank` returned for the levels of the first decisions, shown with these.

    Returns
    -------
    Report
        Of a model with formulas, the population comes before the cells. Of a fit of estimates:
        the population and a new group, notices, estimates before and after shrinkage, whether
        errors explain the rest, and method.

    Raises
    ------
    InputError
        If `fits` is neither; if `sensitivity` has other contrasts than the first decisions, or
        there are none; if `models` is not what `compare_models` returned.
    """
    by_name, words = named_fits(fits), labels or {}
    made = [decisions] if isinstance(decisions, Decisions) else list(decisions)
    told = [with_words(one, words) for one in made]
    again = {name: with_words(one, words) for name, one in (sensitivity or {}).items()}
    decided = decided_blocks(told, again, ranks, "" if len(by_name) == 1 else SEPARATE)
    answer: list[Block] = [Prose("Answer", (answer_sentence(told[0]),))] if told else []
    said = [notice for one in made for notice in notices(one.results)]
    of_fit, start = "", list[Block]()
    if len(by_name) == 1:
        (fit,) = by_name.values()
        of_fit = estimates_question(fit) if has_estimates(fit) else spec_of(fit).question
        heading, meta, start = title_of(fit), about(fit), [*early_notices(fit)]
        table = population_of(fit, words)
        blocks = fit_blocks(fit, said, models, command, words, table)
        if not has_estimates(fit):
            alone = estimates_alone(fit)
            sentence = population_sentence(plotted_rows(fit, table))
            answer = answer or ([Prose("Answer", (sentence,))] if sentence else [])
            answer += condition_figure(fit, table, alone, words)
            blocks += manuscript_blocks(fit, told, table, alone, words)
    else:
        heading, meta = "", (("Fits", ", ".join(by_name)), ("hmetad", version("hmetad")))
        blocks = fits_blocks(by_name, said, models, command, words)
    heading = f"Comparison of {symbol(made[0].quantity)}" if made else heading
    asked = question or (question_of(made[0]) if made else of_fit)
    return Report(title or heading, (*start, *answer, *decided, *blocks), asked, meta)


def decided_blocks(
    told: list[Decisions],
    again: Mapping[str, Decisions],
    ranks: xr.Dataset | None,
    remark: str,
) -> list[Block]:
    """Blocks of all decisions, and which of the first change under other choices."""
    each = [
        decision_blocks(one, remark, ranks if place == 0 else None)
        for place, one in enumerate(told)
    ]
    return [*chain(*each), *changed_verdicts(told, again)]


def fits_blocks(
    by_name: Mapping[str, xr.DataTree],
    said: list[Notice],
    models: pd.DataFrame | None,
    command: str,
    labels: Mapping[str, str],
) -> list[Block]:
    """Blocks of several fits, each with its own report."""
    reports = {name: fit_report(one, labels=labels) for name, one in by_name.items()}
    return [
        *notice_block(with_notices(xr.Dataset(), said)),
        *compared_models(models),
        *combine_reports("", reports).blocks,
        *session_block(command),
    ]


def manuscript_blocks(
    fit: xr.DataTree,
    told: Sequence[Decisions],
    table: pd.DataFrame,
    alone: xr.Dataset | None,
    labels: Mapping[str, str],
) -> list[Block]:
    """A paragraph for a manuscript, and a table of what it leaves out."""
    rows = tuple(manuscript_details(fit, labels=labels, alone=alone).items())
    caption = "Details for the manuscript or its supplement."
    return [
        Prose("For a manuscript", (paragraph_of(fit, told, table, labels),)),
        Table(caption, ("What", "Value"), rows, name="manuscript"),
    ]


def named_fits(fits: Any) -> dict[str, xr.DataTree]:
    """Fits by name; one fit, which is itself a mapping of its groups, has none."""
    is_one = isinstance(fits, xr.DataTree) or not isinstance(fits, Mapping)
    by_name: dict[str, xr.DataTree] = {"": fits} if is_one else dict(fits)
    for one in by_name.values():
        if has_estimates(one):
            check_estimates(one, "fits")
        elif not isinstance(one, xr.DataTree) or "spec" not in one.attrs:
            step = "Give the fit first, then the decisions about it."
            raise KindError("fits", type(one).__name__, "what hmetad.fit returned", step)
    if not by_name:
        raise ModelError("fits", "none", "a fit, or several by name")
    return by_name


def title_of(fit: xr.DataTree) -> str:
    """Heading of the page of a fit."""
    if has_estimates(fit):
        return f"{symbol(fit.attrs['quantity'])}: a model of estimates"
    return spec_of(fit).title or spec_of(fit).name


def fit_blocks(
    fit: xr.DataTree,
    said: list[Notice],
    models: pd.DataFrame | None,
    command: str,
    labels: Mapping[str, str],
    table: pd.DataFrame,
) -> list[Block]:
    """Blocks of one fit, after the decisions; `table` is its population."""
    if has_estimates(fit):
        told = notice_block(with_notices(fit, said))
        return [*estimates_blocks(fit, told, table, command), *compared_models(models)]
    fitted, spec = Fitted.of(fit), spec_of(fit)
    predicted = predicted_counts(fit, by=() if fitted.has_cells else fitted.columns_of_levels)
    return [
        *crossed_blocks(fit),
        *population_blocks(fit, table, labels),
        *notice_block(with_notices(predicted, said)),
        *data_blocks(fit, labels),
        *estimate_blocks(fit, labels),
        *check_blocks(predicted, spec.record.symbol),
        *compared_models(models),
        *method_blocks(fit, spec, command),
    ]


def data_blocks(fit: xr.DataTree, labels: Mapping[str, str]) -> list[Block]:
    """Trials, accuracy and empty ratings of every cell, or level that stands for cells."""
    counts = fit["observed_data"].to_dataset()["counts"]
    fitted = Fitted.of(fit)
    by = [] if fitted.has_cells else fitted.columns_of_levels
    if by:
        counts, _ = counts_together(counts, by)
    # Cells are named by their label alone: a grouping column may be called like a measure.
    measured = measure(counts.reset_coords(drop=True))
    described = descriptives(fitted, counts, measured, labels)
    others = [dim for dim in counts.dims if dim not in ("cell", "rating")]
    empty = (counts.sum(others) == 0).sum("rating").to_numpy()
    of_choices = {"d′": "dprime", "c": "c"}
    of_ratings = {"AUROC2": measured["auroc2"].to_numpy(), "Unused ratings": empty.astype(int)}
    frame = pd.DataFrame(
        {
            "Cell": counts["cell"].to_numpy(),
            "Trials": measured["trials"].to_numpy().astype(int),
            "Accuracy": measured["share_right"].to_numpy(),
            **{x: measured[name].to_numpy() for x, name in of_choices.items() if name in measured},
            **(of_ratings if counts.sizes["rating"] > 1 else {}),
        }
    )
    caption = "Data: trials, accuracy and measures that need no model, by cell."
    table = table_from_frame(frame, caption, name="data")
    return [Prose("Data", ()), *described, replace(table, is_folded=is_folded(fit))]


def is_folded(fit: xr.DataTree) -> bool:
    """Whether tables of cells are folded away: where the population stands before them."""
    return bool(spec_of(fit).formula) and fit["posterior"].sizes["cell"] > UNFOLDED


def estimate_blocks(fit: xr.DataTree, labels: Mapping[str, str]) -> list[Block]:
    """d′, c, meta-d′ and M of every cell, and a forest of M where it can be read."""
    frame = estimate_table(fit)
    withheld = {code: {*cells} for code, cells in cells_withheld(fit).items()}
    frame["withheld"] = [
        codes_in_words(", ".join(code for code, cells in withheld.items() if own in cells))
        for own in frame["cell"]
    ]
    frame["cell"] = [
        " | ".join(labels.get(x, x) for x in own.split(" | ")) for own in frame["cell"]
    ]
    columns = {"cell": "Cell"} | ({"response": "Response"} if "response" in frame else {})
    record = spec_of(fit).record
    for name in record.tabulated:
        columns |= {name: symbol(name), f"{name}_lower": "lower", f"{name}_upper": "upper"}
    columns |= {"withheld": "Withheld for"} if withheld else {}
    note = BACKWARD if "meta-d-sign" in withheld else ""
    caption = "Estimates of every cell."
    table = table_from_frame(frame, caption, columns=columns, note=note, name="estimates")
    blocks: list[Block] = [
        Prose("Estimates", (INTERVALS if Fitted.of(fit).has_cells else INTERVALS + AT_AVERAGE,)),
        replace(table, is_folded=is_folded(fit)),
    ]
    if 1 < len(frame) <= FOREST_ROWS:
        names = frame["cell"] + (" | " + frame["response"] if "response" in frame else "")
        main, quantity = record.plotted, symbol(record.plotted)
        sides = {side: frame[f"{main}_{side}"] for side in ("lower", "upper")}
        forest = pd.DataFrame({"label": names, "mean": frame[main], **sides})
        value, meaning = record.reference or (None, "")
        caption = f"{quantity} of every cell." + (f" {meaning}." if meaning else "")
        stem = main.replace("_", "-")
        blocks.append(forest_figure(forest, quantity, caption, stem, reference=value))
    return blocks


def check_blocks(predicted: xr.Dataset, symbol: str) -> list[Block]:
    """Observed and predicted ratings and type-2 ROC, of cells that leave the bands most."""
    order = np.argsort(-predicted["outside"].fillna(0).to_numpy(), kind="stable")[:SHOWN_CELLS]
    shown = predicted.isel(cell=np.sort(order))
    said = describe_fit(shown)
    cells, poor = predicted.sizes["cell"], int((predicted["outside"] > MANY_OUTSIDE).sum())
    share = in_percent(MANY_OUTSIDE)
    numbers = {"poor": poor or "None", "cells": cells, "share": share, "shown": SHOWN_CELLS}
    which = LEAVE.format(**numbers) if cells > SHOWN_CELLS else ""
    captions: dict[Kind, str] = {
        "ratings": "Trials of each response and rating, observed and predicted.",
    }
    if predicted.sizes["rating"] > 1:
        captions["roc"] = "Type-2 ROC, observed and predicted."
    return [
        Prose(
            "Does the model fit?", (CHECKED.format(symbol=symbol) + which * (cells > SHOWN_CELLS),)
        ),
        *(
            Figure(caption, said, drawn_fits.fit(shown, kind=kind)[0].figure, f"fit-{kind}")
            for kind, caption in captions.items()
        ),
    ]


@check_inputs()
def combine_reports(title: str, reports: Mapping[str, Report]) -> Report:
    """One report of several, each under its name, which begins all of its headings.

    Parameters
    ----------
    title : str
        Of the whole.
    reports : mapping of str to Report
        By the names under which they stand.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If there is none.
    """
    if not reports:
        raise TooFewError("reports", "none", "at least one report")
    blocks: list[Block] = []
    for name, report in reports.items():
        used = "; ".join(f"{key} {value}" for key, value in report.meta)
        blocks.append(Prose(f"{name}: {report.title}", (used,) if used else ()))
        blocks += [headed_by(name, block) for block in report.blocks]
    return Report(title, tuple(blocks))


def headed_by(name: str, block: Block) -> Block:
    """Block whose heading, if it has one, begins with a name."""
    if isinstance(block, Prose | Alerts) and block.heading:
        return replace(block, heading=f"{name}: {block.heading}")
    return block


def about(fit: xr.DataTree) -> tuple[tuple[str, str], ...]:
    """Data, model, seed and versions, for the head of the page."""
    versions, sampler = read_attr(fit.attrs, "versions"), fit.attrs["sampler"]
    if has_estimates(fit):
        data = ("Formula", fit.attrs["formula"])
    else:
        data = ("Trials", f"{int(fit['observed_data']['counts'].sum()):,}")
    return (
        ("Model", fit.attrs["model"]),
        data,
        ("Seed", fit.attrs["seed"]),
        *((x, versions[x]) for x in dict.fromkeys(("hmetad", sampler)) if x in versions),
    )


def compared_models(models: pd.DataFrame | None) -> list[Block]:
    """Which model predicts better, in numbers and in words."""
    if models is None:
        return []
    if not isinstance(models, pd.DataFrame) or not set(COMPARED) <= set(models.columns):
        step = "Give hmetad.compare_models({name: hmetad.loo(fit), ...})."
        raise SourceError("models", type(models).__name__, "what compare_models returned", step)
    frame = models[list(COMPARED)].rename_axis("Model").reset_index()
    caption = "Models by what they predict, the best first."
    columns = {"Model": "Model", **COMPARED}
    formats = dict.fromkeys(("elpd", "se", "elpd_diff", "dse"), ".1f")
    table = table_from_frame(frame, caption, columns=columns, formats=formats, name="models")
    return [Prose("Model comparison", (PREDICTED,)), table]
