"""A fit in a report: data, estimates, whether the model fits, and method.

Fit (DataTree) → blocks.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predictive import MANY_OUTSIDE
from hmetad.counts.resample import counts_together
from hmetad.mle.measure import measure
from hmetad.plots import fits, intervals
from hmetad.plots.fits import Kind, describe_fit
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.estimates import estimate_table
from hmetad.report.contents.tables import INTERVALS, convergence_table
from hmetad.report.page.blocks import Block, Figure, Prose, Table, table_from_frame
from hmetad.specs.spec import ModelSpec, spec_of
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent, symbol
from hmetad.untrusted import read_attr

__all__ = [
    "check_blocks",
    "data_blocks",
    "estimate_blocks",
    "method_blocks",
    "method_text",
]

# Panels of the fit check and rows of the forest, beyond which a page is not read.
SHOWN_CELLS, FOREST_ROWS = 9, 40
# Rows of a table of cells that stay open after the population.
UNFOLDED = 8
METHOD = (
    "Counts were modelled by the card {card} of hmetad: {method} {draws} draws of {sampling}. "
    "Cells of one fit are compared draw by draw; verdicts follow Kruschke (2018)."
)
SAMPLING = {
    "nuts": "{chains} chains were sampled by {sampler} (seed {seed}) and checked by "
    "rank-normalised R̂ and effective sample sizes (Vehtari et al., 2021)",
    "importance": "each cell were made by importance sampling (seed {seed}) and checked by the "
    "Pareto k of their weights (Vehtari et al., 2024){again}",
}
AT_AVERAGE = (
    " There are too many cells for a table: what is shown is at an average level of the factors "
    "that are not named."
)
CHECKED = (
    "Markers are observed, bands hold 95 % of the data that the posterior predicts. Where markers "
    "leave the bands, the evidence is not as the model has it, and {symbol} means less."
)


def data_blocks(fit: xr.DataTree) -> list[Block]:
    """Trials, accuracy and empty ratings of every cell, or level that stands for cells."""
    counts = fit["observed_data"].to_dataset()["counts"]
    fitted = Fitted.of(fit)
    by = [] if fitted.has_cells else fitted.columns_of_levels
    if by:
        counts, _ = counts_together(counts, by)
    # Cells are named by their label alone: a grouping column may be called like a measure.
    measured = measure(counts.reset_coords(drop=True))
    empty = (counts.sum(["stimulus", "response"]) == 0).sum("rating")
    frame = pd.DataFrame(
        {
            "Cell": counts["cell"].to_numpy(),
            "Trials": measured["trials"].to_numpy().astype(int),
            "Right": measured["share_right"].to_numpy(),
            "d′": measured["dprime"].to_numpy(),
            "c": measured["c"].to_numpy(),
            "AUROC2": measured["auroc2"].to_numpy(),
            "Unused ratings": empty.to_numpy().astype(int),
        }
    )
    caption = "Data: trials, share of right ones and measures that need no model, by cell."
    table = table_from_frame(frame, caption, name="data")
    return [Prose("Data", ()), replace(table, is_folded=is_folded(fit))]


def is_folded(fit: xr.DataTree) -> bool:
    """Whether tables of cells are folded away: where the population stands before them."""
    return bool(spec_of(fit).formula) and fit["posterior"].sizes["cell"] > UNFOLDED


def estimate_blocks(fit: xr.DataTree, labels: Mapping[str, str]) -> list[Block]:
    """d′, c, meta-d′ and M of every cell, and a forest of M where it can be read."""
    frame = estimate_table(fit)
    frame["cell"] = [
        " | ".join(labels.get(x, x) for x in own.split(" | ")) for own in frame["cell"]
    ]
    columns = {"cell": "Cell"} | ({"response": "Response"} if "response" in frame else {})
    record = spec_of(fit).record
    for name in record.tabulated:
        columns |= {name: symbol(name), f"{name}_lower": "lower", f"{name}_upper": "upper"}
    blocks: list[Block] = [
        Prose("Estimates", (INTERVALS if Fitted.of(fit).has_cells else INTERVALS + AT_AVERAGE,)),
        replace(
            table_from_frame(frame, "Estimates of every cell.", columns=columns, name="estimates"),
            is_folded=is_folded(fit),
        ),
    ]
    if 1 < len(frame) <= FOREST_ROWS:
        names = frame["cell"] + (" | " + frame["response"] if "response" in frame else "")
        main, quantity = record.plotted, symbol(record.plotted)
        sides = {side: frame[f"{main}_{side}"] for side in ("lower", "upper")}
        forest = pd.DataFrame({"label": names, "mean": frame[main], **sides})
        value, meaning = record.reference or (None, "")
        ax = intervals.forest(forest, xlabel=quantity, reference=value)
        alt = describe_intervals(forest, quantity=quantity)
        caption = f"{quantity} of every cell" + (f"; {meaning}." if meaning else ".")
        blocks.append(Figure(caption, alt, ax.figure, main.replace("_", "-")))
    return blocks


def check_blocks(predicted: xr.Dataset, symbol: str) -> list[Block]:
    """Observed and predicted ratings and type-2 ROC, of cells that leave the bands most."""
    order = np.argsort(-predicted["outside"].fillna(0).to_numpy(), kind="stable")[:SHOWN_CELLS]
    shown = predicted.isel(cell=np.sort(order))
    said = describe_fit(shown)
    which = ""
    cells, poor = predicted.sizes["cell"], int((predicted["outside"] > MANY_OUTSIDE).sum())
    if cells > SHOWN_CELLS:
        which = (
            f" {poor} of {cells} cells leave the bands in more than {in_percent(MANY_OUTSIDE)} of "
            f"their counts. The {SHOWN_CELLS} that leave them most are shown."
            if poor
            else f" None of the {cells} cells leaves the bands in more than "
            f"{in_percent(MANY_OUTSIDE)} of its counts; {SHOWN_CELLS} are shown."
        )
    captions: dict[Kind, str] = {
        "ratings": "Trials of each response and rating, observed and predicted.",
        "roc": "Type-2 ROC, observed and predicted.",
    }
    return [
        Prose("Does the model fit?", (CHECKED.format(symbol=symbol) + which,)),
        *(
            Figure(caption, said, fits.fit(shown, kind=kind)[0].figure, f"fit-{kind}")
            for kind, caption in captions.items()
        ),
    ]


def method_blocks(fit: xr.DataTree, spec: ModelSpec, command: str, text: str = "") -> list[Block]:
    """Model, priors, convergence, a paragraph to cite from, and how to run it again."""
    versions = ", ".join(f"{k} {v}" for k, v in read_attr(fit.attrs, "versions").items())
    session = [f"Versions: {versions}."]
    if command:
        session.append(f"To run it again: {command}")
    return [
        Prose("Method", tuple(filter(None, (text or method_text(fit, spec), spec.record.limits)))),
        model_table(spec),
        prior_table(spec),
        convergence_table({fit.attrs["model"]: fit}),
        Prose("Session", tuple(session)),
    ]


def method_text(fit: xr.DataTree, spec: ModelSpec) -> str:
    """How the counts were modelled and the posterior was sampled."""
    posterior, stats = fit["posterior"], fit["sample_stats"].to_dataset()
    # Fits of older versions do not say how they were sampled: by chains.
    sampling = SAMPLING[fit.attrs.get("method", "nuts")]
    number = int(stats["by_chains"].sum()) if "by_chains" in stats else 0
    return METHOD.format(
        sampling=sampling.format(
            **{k: fit.attrs[k] for k in ("sampler", "seed")},
            chains=posterior.sizes["chain"],
            again=f"; {number} with uneven weights by chains" if number else "",
        ),
        card=f"{spec.name!r} ({spec.title})" if spec.title else repr(spec.name),
        method=method_of(spec),
        draws=f"{posterior.sizes['chain'] * posterior.sizes['draw']:,}",
    )


def method_of(spec: ModelSpec) -> str:
    """How counts are modelled, with what was chosen; other braces may be those of LaTeX."""
    said = spec.record.method
    for name, value in spec.choices.items():
        said = said.replace(f"{{{name}}}", value)
    return said


def model_table(spec: ModelSpec) -> Table:
    """Choices of the model card, and its formulas."""
    rows = [("Likelihood", spec.likelihood)]
    rows += [(choice.description, spec.choices[choice.name]) for choice in spec.record.choices]
    rows += [(f"Formula of {symbol(name)}", text) for name, text in spec.formula.items()]
    rows += [("Reference", spec.reference)] if spec.reference else []
    caption = f"Model card {spec.name}."
    return Table(caption, ("Choice", "Value"), tuple(rows), name="model")


def prior_table(spec: ModelSpec) -> Table:
    """Prior of each variable."""
    rows = []
    for name, prior in spec.priors.items():
        inside = ", ".join(f"{k} {format_cell(v, '.4g')}" for k, v in prior.parameters.items())
        rows.append((name, f"{prior.dist}({inside})"))
    return Table("Priors.", ("Variable", "Prior"), tuple(rows), name="priors")
