"""The report of a fit: question, data, model, estimates, decisions, fit check and method.

Fit (DataTree) and Decisions → Report.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.bayes.predictive import predicted_counts
from hmetad.compare.decisions import Decisions
from hmetad.errors import InputError
from hmetad.measures.catalogue import measure
from hmetad.report.blocks import Block, Figure, Prose, Table, table_from_frame
from hmetad.report.names import symbol
from hmetad.report.plots import describe_intervals, plot_forest
from hmetad.report.plots_fit import Kind, describe_fit, plot_fit
from hmetad.report.report import Report
from hmetad.report.tables import (
    convergence_table,
    decision_figure,
    decision_table,
    estimate_frame,
    notice_block,
)

__all__ = ["combine_reports", "fit_report"]

# Panels of the fit check and rows of the forest, beyond which a page is not read.
SHOWN_CELLS, FOREST_ROWS = 9, 40
RULE = (
    "Two questions are answered for each contrast. Statistical: does its interval exclude {null}? "
    "Practical: where does the interval lie against the region of practical equivalence (ROPE), "
    "{rope}? Outside: different. Inside: negligible. Otherwise: inconclusive. A verdict is "
    "withheld (unreliable) where the chains did not mix or its Monte Carlo error could turn it."
)
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


def fit_report(
    fit: xr.DataTree,
    decisions: Decisions | Sequence[Decisions] = (),
    *,
    title: str = "",
    question: str = "",
    sensitivity: Mapping[str, Decisions] | None = None,
    command: str = "",
) -> Report:
    """Report of a fit, with the decisions that were made about it.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    decisions : Decisions or sequence of Decisions, optional
        What `decide` returned for contrasts of its cells; they come first.
    title, question : str, optional
        Of the page; by default of the decisions, or of the model card.
    sensitivity : mapping of str to Decisions, optional
        The decisions of the first set, made otherwise: under the other κ, another correction or
        prior. The report says which verdicts change.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If `sensitivity` has other contrasts than the first decisions, or there are none.
    """
    if not isinstance(fit, xr.DataTree) or "spec" not in fit.attrs:
        step = "Give the fit first, then the decisions about it."
        raise InputError("fit", type(fit).__name__, "what hmetad.fit returned", step)
    made = [decisions] if isinstance(decisions, Decisions) else list(decisions)
    spec = json.loads(fit.attrs["spec"])
    predicted = predicted_counts(fit)
    blocks: list[Block] = [
        Prose("Question", (question or asked(made, spec),)),
        *(block for one in made for block in decided(one)),
        *changed_verdicts(made, sensitivity or {}),
        *notice_block(predicted),
        *data_blocks(fit),
        *estimate_blocks(fit),
        *check_blocks(predicted),
        *method_blocks(fit, spec, command),
    ]
    heading = f"Comparison of {symbol(made[0].quantity)}" if made else spec["title"]
    return Report(title or heading, tuple(blocks), meta=about(fit))


def combine_reports(title: str, reports: Mapping[str, Report]) -> Report:
    """One report of several, each under its name.

    Parameters
    ----------
    title : str
        Of the whole.
    reports : mapping of str to Report

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If there is none.
    """
    if not reports:
        raise InputError("reports", "none", "at least one report")
    blocks: list[Block] = []
    for name, report in reports.items():
        used = "; ".join(f"{key} {value}" for key, value in report.meta)
        blocks += [Prose(f"{name}: {report.title}", (used,) if used else ()), *report.blocks]
    return Report(title, tuple(blocks))


def asked(made: list[Decisions], spec: Mapping[str, str]) -> str:
    """Question of the first decisions, or of the model card."""
    if not made:
        return spec["question"]
    return f"Which differences in {symbol(made[0].quantity)} are more than negligible?"


def about(fit: xr.DataTree) -> tuple[tuple[str, str], ...]:
    """What was used, for the head of the page."""
    versions = json.loads(fit.attrs["versions"])
    return (
        ("Model", fit.attrs["model"]),
        ("Trials", f"{int(fit['observed_data']['counts'].sum()):,}"),
        ("Seed", fit.attrs["seed"]),
        *((name, versions[name]) for name in ("hmetad", "pymc")),
    )


def decided(decisions: Decisions) -> list[Block]:
    """Rule, table and figure of one set of decisions."""
    quantity = symbol(decisions.quantity)
    caption = f"Differences in {quantity}"
    name = f"decisions-{decisions.quantity}"
    return [
        Prose(f"Decisions: {quantity}", (rule(decisions),)),
        decision_table(decisions, f"{caption}.", name=name),
        decision_figure(decisions, f"{caption}, against the ROPE (band).", name=name),
    ]


def rule(decisions: Decisions) -> str:
    """How verdicts come about, with the numbers used."""
    rope = " to ".join(f"{limit:g}".replace("-", "−") for limit in decisions.rope)
    return RULE.format(null=f"{decisions.null:g}", rope=rope)


def changed_verdicts(made: list[Decisions], others: Mapping[str, Decisions]) -> list[Block]:
    """Which of the first verdicts are others under another choice."""
    if not others:
        return []
    if not made:
        raise InputError("sensitivity", "no decisions to compare with", "decisions")
    base = made[0].table()[["label", "verdict"]].rename(columns={"verdict": "as decided"})
    frame = base
    for name, decisions in others.items():
        table = decisions.table()[["label", "verdict"]]
        if table["label"].tolist() != base["label"].tolist():
            raise InputError("sensitivity", f"other contrasts in {name!r}", "those of decisions")
        frame = frame.assign(**{name: table["verdict"].to_numpy()})
    differ = frame[list(others)].ne(frame["as decided"], axis=0)
    shown = frame[differ.any(axis=1)]
    counted = "; ".join(f"{name}: {int(differ[name].sum())}" for name in others)
    said = f"Of {len(frame)} verdicts change: {counted}."
    blocks: list[Block] = [Prose("Sensitivity", (said,))]
    if len(shown):
        columns = {"label": "Contrast"} | {name: name for name in shown.columns[1:]}
        caption = "Verdicts that another choice changes."
        blocks.append(table_from_frame(shown, caption, columns=columns, name="sensitivity"))
    return blocks


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
    versions = ", ".join(f"{k} {v}" for k, v in json.loads(fit.attrs["versions"]).items())
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
        inside = ", ".join(f"{k} {v:.4g}" for k, v in prior.items() if k != "dist")
        rows.append((name, f"{prior['dist']}({inside})"))
    return Table("Priors.", ("Variable", "Prior"), tuple(rows), name="priors")
