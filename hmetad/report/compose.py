"""The report of a comparison: from a fit and its decisions to a page.

Fit (DataTree) and Decisions → Report.
"""

import json

import xarray as xr

from hmetad.compare.decisions import Decisions
from hmetad.report.blocks import Block, Prose, table_from_frame
from hmetad.report.names import symbol
from hmetad.report.report import Report
from hmetad.report.tables import (
    convergence_table,
    decision_figure,
    decision_table,
    estimate_frame,
    notice_block,
)

__all__ = ["decision_report"]

RULE = (
    "Two questions are answered for each contrast. Statistical: does its interval exclude {null}? "
    "Practical: where does the interval lie against the region of practical equivalence (ROPE), "
    "{rope}? Outside: different. Inside: negligible. Otherwise: inconclusive."
)
METHOD = (
    "Posterior draws of the model card {name!r} ({title}), sampled by {sampler} with seed {seed}; "
    "meta-level criterion {meta_criterion}. Cells of one fit are compared draw by draw."
)
PRIORS = "Priors: {priors}."


def decision_report(fit: xr.DataTree, decisions: Decisions, *, command: str = "") -> Report:
    """Report of decisions about a fit.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    decisions : Decisions
        What `decide` returned for a contrast of its cells.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report
    """
    quantity = symbol(decisions.quantity)
    caption = f"Differences in {quantity}"
    versions = json.loads(fit.attrs["versions"])
    blocks: list[Block] = [
        Prose("Decisions", (rule(decisions),)),
        *notice_block(fit),
        decision_table(decisions, f"{caption}.", name="decisions"),
        decision_figure(decisions, f"{caption}, against the ROPE (band).", name="decisions"),
        Prose("Estimates", ("Posterior means with 95 % equal-tailed intervals.",)),
        estimate_table(fit),
        Prose("Method", (method(fit), *([f"To run it again: {command}"] if command else []))),
        convergence_table({fit.attrs["model"]: fit}),
    ]
    meta = (
        ("Model", fit.attrs["model"]),
        ("Trials", f"{int(fit['observed_data']['counts'].sum()):,}"),
        ("Seed", fit.attrs["seed"]),
        *((name, versions[name]) for name in ("hmetad", "pymc")),
    )
    return Report(f"Comparison of {quantity}", tuple(blocks), meta=meta)


def rule(decisions: Decisions) -> str:
    """How verdicts come about, with the numbers used."""
    rope = " to ".join(f"{limit:g}".replace("-", "−") for limit in decisions.rope)
    return RULE.format(null=f"{decisions.null:g}", rope=rope)


def method(fit: xr.DataTree) -> str:
    """Model, priors and sampler of a fit, in a paragraph."""
    spec = json.loads(fit.attrs["spec"])
    said = METHOD.format(**{**spec, **{k: fit.attrs[k] for k in ("sampler", "seed")}})
    written = []
    for parameter, prior in spec["priors"].items():
        inside = ", ".join(f"{k} {v:.4g}" for k, v in prior.items() if k != "dist")
        written.append(f"{parameter} {prior['dist']}({inside})")
    return f"{said} {PRIORS.format(priors='; '.join(written))}"


def estimate_table(fit: xr.DataTree) -> Block:
    """d′, c, meta-d′ and M of every cell."""
    columns = {"cell": "Cell"}
    for name in ("dprime", "c", "meta_d", "m_ratio"):
        columns |= {name: symbol(name), f"{name}_lower": "lower", f"{name}_upper": "upper"}
    return table_from_frame(
        estimate_frame(fit), "Estimates of every cell.", columns=columns, name="estimates"
    )
