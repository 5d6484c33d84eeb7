"""What a report says of a fit: data, estimates, whether the model fits, and method.

Fit (DataTree) → blocks.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.measures.catalogue import measure
from hmetad.report.contents.estimates import estimate_frame
from hmetad.report.contents.tables import convergence_table
from hmetad.report.names import symbol
from hmetad.report.page.blocks import Block, Figure, Prose, Table, table_from_frame
from hmetad.report.page.cells import format_cell
from hmetad.report.plots.fit import Kind, describe_fit, plot_fit
from hmetad.report.plots.intervals import describe_intervals, plot_forest
from hmetad.untrusted import read_attr

__all__ = ["check_blocks", "data_blocks", "estimate_blocks", "method_blocks"]

# Panels of the fit check and rows of the forest, beyond which a page is not read.
SHOWN_CELLS, FOREST_ROWS = 9, 40
METHOD = (
    "Counts were modelled by the card {name!r} ({title}) of hmetad: d′ and c of the responses, and "
    "meta-d′ and criteria of the ratings given stimulus and response (Maniscalco & Lau, 2012), in "
    "Bayesian form (Fleming, 2017); meta-level criterion {meta_criterion}. M-ratio is meta-d′/d′. "
    "{draws} draws of {chains} chains were sampled by {sampler} (seed {seed}) and checked by "
    "rank-normalised R̂ and effective sample sizes (Vehtari et al., 2021). Cells of one fit are "
    "compared draw by draw; verdicts follow Kruschke (2018)."
)
LIMITS = (
    "M-ratio is not free of d′, criterion and confidence bias under most generative models: M "
    "below 1 is no proof of loss, nor M above 1 of gain. Items of mixed difficulty inflate it."
)
CHECKED = (
    "Markers are observed, bands hold 95 % of the data that the posterior predicts. Where markers "
    "leave the bands, the evidence is not as the model has it, and M means less."
)
FIELDS = {
    "likelihood": "Likelihood",
    "meta_criterion": "Meta-level criterion κ",
    "scale": "Scale of M",
    "criteria": "Criteria",
    "type1": "d′ and c",
}


def data_blocks(fit: xr.DataTree) -> list[Block]:
    """Trials, accuracy and empty ratings of every cell."""
    counts = fit["observed_data"].to_dataset()["counts"]
    measured = measure(counts)
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
    return [Prose("Data", ()), table_from_frame(frame, caption, name="data")]


def estimate_blocks(fit: xr.DataTree) -> list[Block]:
    """d′, c, meta-d′ and M of every cell, and a forest of M where it can be read."""
    frame = estimate_frame(fit)
    columns = {"cell": "Cell"} | ({"response": "Response"} if "response" in frame else {})
    for name in ("dprime", "c", "meta_d", "m_ratio"):
        columns |= {name: symbol(name), f"{name}_lower": "lower", f"{name}_upper": "upper"}
    blocks: list[Block] = [
        Prose("Estimates", ("Posterior means with 95 % equal-tailed intervals.",)),
        table_from_frame(frame, "Estimates of every cell.", columns=columns, name="estimates"),
    ]
    if 1 < len(frame) <= FOREST_ROWS:
        names = frame["cell"] + (" | " + frame["response"] if "response" in frame else "")
        sides = {side: frame[f"m_ratio_{side}"] for side in ("lower", "upper")}
        forest = pd.DataFrame({"label": names, "mean": frame["m_ratio"], **sides})
        ax = plot_forest(forest, xlabel="M-ratio", reference=1.0)
        alt = describe_intervals(forest, quantity="M-ratio")
        caption = "M-ratio of every cell; at 1 confidence has all that the responses had."
        blocks.append(Figure(caption, alt, ax.figure, "m-ratio"))
    return blocks


def check_blocks(predicted: xr.Dataset) -> list[Block]:
    """Observed and predicted ratings and type-2 ROC, of the cells that fit worst."""
    order = np.argsort(-predicted["outside"].fillna(0).to_numpy(), kind="stable")[:SHOWN_CELLS]
    shown = predicted.isel(cell=np.sort(order))
    said = describe_fit(shown)
    which = ""
    if predicted.sizes["cell"] > SHOWN_CELLS:
        which = f" The {SHOWN_CELLS} cells that fit worst of {predicted.sizes['cell']} are shown."
    captions: dict[Kind, str] = {
        "ratings": "Trials of each response and rating, observed and predicted.",
        "roc": "Type-2 ROC, observed and predicted.",
    }
    return [
        Prose("Does the model fit?", (CHECKED + which,)),
        *(
            Figure(caption, said, plot_fit(shown, kind=kind)[0].figure, f"fit-{kind}")
            for kind, caption in captions.items()
        ),
    ]


def method_blocks(fit: xr.DataTree, spec: Mapping[str, object], command: str) -> list[Block]:
    """Model, priors, convergence, a paragraph to cite from, and how to run it again."""
    posterior = fit["posterior"]
    said = METHOD.format(
        **{**spec, **{k: fit.attrs[k] for k in ("sampler", "seed")}},
        draws=f"{posterior.sizes['chain'] * posterior.sizes['draw']:,}",
        chains=posterior.sizes["chain"],
    )
    versions = ", ".join(f"{k} {v}" for k, v in read_attr(fit.attrs, "versions").items())
    session = [f"Versions: {versions}."]
    if command:
        session.append(f"To run it again: {command}")
    return [
        Prose("Method", (said, LIMITS)),
        model_table(spec),
        prior_table(spec),
        convergence_table({fit.attrs["model"]: fit}),
        Prose("Session", tuple(session)),
    ]


def model_table(spec: Mapping[str, object]) -> Table:
    """Choices of the model card, and its formulas."""
    formulas = spec["formula"]
    assert isinstance(formulas, dict)
    rows = [(text, str(spec[name])) for name, text in FIELDS.items()]
    rows += [(f"Formula of {symbol(name)}", str(text)) for name, text in formulas.items()]
    rows.append(("Reference", str(spec["reference"])))
    caption = f"Model card {spec['name']}."
    return Table(caption, ("Choice", "Value"), tuple(rows), name="model")


def prior_table(spec: Mapping[str, object]) -> Table:
    """Prior of each variable."""
    priors = spec["priors"]
    assert isinstance(priors, dict)
    rows = []
    for name, prior in priors.items():
        inside = ", ".join(f"{k} {format_cell(v, '.4g')}" for k, v in prior.items() if k != "dist")
        rows.append((name, f"{prior['dist']}({inside})"))
    return Table("Priors.", ("Variable", "Prior"), tuple(rows), name="priors")
