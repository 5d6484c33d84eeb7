"""Fits and decisions as blocks of a report: the tables and figures that every report shares.

DataTree or Decisions → data frame, Table, Figure or Alerts.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

from hmetad.bayes.checks import MAX_RHAT, sampled_variables
from hmetad.compare.decisions import Decisions
from hmetad.counts.notices import Notice, notices
from hmetad.report.blocks import Alerts, Cell, Figure, Table, table_from_frame
from hmetad.report.names import interval_kind, symbol
from hmetad.report.plots_intervals import describe_intervals, plot_decisions

__all__ = [
    "convergence_record",
    "convergence_table",
    "decision_figure",
    "decision_table",
    "estimate_frame",
    "measure_frame",
    "notice_block",
]

# Codes of `Decisions`, in words.
REASONS = {
    "rhat": "R̂ above 1.01",
    "ess": "few effective draws",
    "few-draws": "few effective draws",
    "one-chain": "one chain",
    "divergences": "divergences",
    "dprime-sign": "d′ not above 0",
    "undefined": "undefined draws",
    "constant": "all draws alike",
    "alone": "nothing to compare with",
    "partial": "a run cut short",
    "unsettled": "Monte Carlo error could change it",
}
ESTIMATED = ("dprime", "c", "meta_d", "m_ratio")


def estimate_frame(fit: xr.DataTree, *, ci_prob: float = 0.95) -> pd.DataFrame:
    """Posterior means and equal-tailed intervals, one row per cell.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    ci_prob : float
        Probability of the intervals.

    Returns
    -------
    DataFrame
        cell and its coordinates, then dprime, c, meta_d and m_ratio, each with columns of the
        same name and _lower and _upper. Where each response has an M of its own there is a row
        for each.
    """
    posterior = fit["posterior"].to_dataset()[list(ESTIMATED)]
    bounds = az.eti(posterior, prob=ci_prob)
    summary = posterior.mean(["chain", "draw"])
    for name in ESTIMATED:
        for side in ("lower", "upper"):
            summary[f"{name}_{side}"] = bounds[name].sel(ci_bound=side, drop=True)
    return summary.to_dataframe().reset_index()


def measure_frame(measures: xr.Dataset | xr.DataArray) -> pd.DataFrame:
    """Measures as a plain table, one row per cell.

    Parameters
    ----------
    measures : Dataset or DataArray
        What `measure`, `auroc2`, `fit_mle`, `resample_interval` and the like returned, with dim
        cell.

    Returns
    -------
    DataFrame
        cell and its coordinates, then a column per number: ``auroc2``; where a variable has dims of
        its own, one for each place, such as ``auroc2_by_response_S1``; of an interval
        ``auroc2``, ``auroc2_lower`` and ``auroc2_upper``.

    Examples
    --------
    >>> from hmetad.counts.table import from_nr
    >>> from hmetad.measures.type2 import auroc2
    >>> area = auroc2(from_nr([6, 2, 1, 1], [1, 1, 2, 6])).to_dataset()
    >>> measure_frame(area).to_dict("records")
    [{'cell': 'all', 'auroc2': 0.625}]
    """
    if isinstance(measures, xr.DataArray):
        measures = measures.to_dataset(name=measures.name or "measure")
    cells = [name for name, values in measures.coords.items() if values.dims == ("cell",)]
    columns = {str(name): measures[name].to_numpy() for name in ["cell", *cells]}
    for name, values in measures.data_vars.items():
        others = [dim for dim in values.dims if dim != "cell"]
        flat = values.transpose("cell", *others).stack(place=others) if others else values
        if not others:
            columns[str(name)] = flat.to_numpy()
            continue
        for i, place in enumerate(flat["place"].to_numpy()):
            parts = [str(x) for x in np.atleast_1d(np.asarray(place, dtype=object))]
            kept = [part for part in parts if part != "estimate"]
            columns["_".join([str(name), *kept])] = flat.isel(place=i).to_numpy()
    return pd.DataFrame(columns)


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
    frame["excludes"] = np.where(frame["statistical"], "yes", "no")
    columns = {
        "label": "Contrast",
        "mean": "Mean",
        "lower": "Lower",
        "upper": "Upper",
        "p_direction": "P(dir.)",
        "in_rope": "In ROPE",
        "excludes": f"≠ {decisions.null:g}",
        "verdict": "Verdict",
    }
    why = reasons_withheld(decisions)
    if any(why):
        frame["why"] = why
        columns["why"] = "Withheld for"
    if in_print is not None:
        frame["in_print"] = list(in_print)
        columns["in_print"] = "In print"
    table = table_from_frame(
        frame, caption, columns=columns, note=interval_note(decisions), name=name
    )
    return replace(table, decisions=decisions)


def reasons_withheld(decisions: Decisions) -> list[str]:
    """Why there is no verdict, in words; empty where there is one."""
    table = decisions.table()
    said = []
    for row in table.to_dict("records"):
        codes = [str(row.get("withheld", "")), *unsettled_codes(row)]
        is_told = row["verdict"] == "unreliable"
        said.append(codes_in_words(", ".join(codes)) if is_told else "")
    return said


def unsettled_codes(row: Mapping[Hashable, object]) -> list[str]:
    """Code of a verdict that Monte Carlo error could change."""
    return ["unsettled"] if "verdict" in str(row.get("unsettled", "")) else []


def codes_in_words(codes: str) -> str:
    """Codes of a withheld verdict, as `Decisions` joins them, in words.

    Examples
    --------
    >>> codes_in_words("rhat, ess, few-draws")
    'R̂ above 1.01; few effective draws'
    """
    named = [code for code in codes.split(", ") if code]
    return "; ".join(dict.fromkeys(REASONS.get(code, code) for code in named))


def decision_figure(decisions: Decisions, caption: str, *, name: str = "") -> Figure:
    """Intervals of decisions against the region of practical equivalence."""
    quantity = symbol(decisions.quantity)
    alt = describe_intervals(decisions.table(), group="verdict", quantity=quantity)
    return Figure(caption, alt, plot_decisions(decisions).figure, name)


def interval_note(decisions: Decisions, *, in_table: bool = True) -> str:
    """What interval, what ROPE, what correction and, of a table, what the columns mean."""
    level = 100 * (1 - (1 - decisions.ci_prob) / decisions.comparisons)
    rope = " to ".join(f"{limit:g}".replace("-", "−") for limit in decisions.rope)
    null = f"{decisions.null:g}"
    note = f"{level:.4g} % {interval_kind(decisions.ci_kind)} intervals; ROPE {rope}."
    if in_table:
        note += " P(dir.): probability of the more likely sign."
        note += f" ≠ {null}: does the interval exclude {null}?"
    if decisions.comparisons > 1:
        note += f" Bonferroni's correction for {decisions.comparisons} comparisons."
    return note


def convergence_record(fit: xr.DataTree) -> dict[str, float]:
    """Diagnostics of the sampling of a fit, in one number each.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.

    Returns
    -------
    dict
        draws, of all chains; rhat, the largest of d′, c and M; ess_bulk and ess_tail, the least
        of M; divergences.
    """
    posterior = fit["posterior"].to_dataset()[list(ESTIMATED)]
    sampled = sampled_variables(posterior)
    rhat = az.rhat(sampled, method="rank").to_array().max()
    bulk, tail = (az.ess(posterior["m_ratio"], method=kind).min() for kind in ("bulk", "tail"))
    return {
        "draws": sampled.sizes["chain"] * sampled.sizes["draw"],
        "rhat": float(rhat),
        "ess_bulk": int(bulk),
        "ess_tail": int(tail),
        "divergences": int(fit["sample_stats"]["diverging"].sum()),
    }


def convergence_table(fits: Mapping[str, xr.DataTree]) -> Table:
    """Draws, R̂, effective sample sizes and divergences of fits, by name."""
    rows: list[tuple[Cell, ...]] = []
    for name, fit in fits.items():
        rows.append((name, *convergence_record(fit).values()))
    headings = ("Model", "Draws", "Largest R̂", "Least bulk ESS of M", "Least tail ESS of M",
                "Divergences")  # fmt: skip
    whole = tuple((heading, ",d") for heading in (headings[1], *headings[3:]))
    caption = f"Convergence. R̂ (rank-normalised, of d′, c and M) should be ≤ {MAX_RHAT}."
    formats = ((headings[2], ".4f"), *whole)
    return Table(caption, headings, tuple(rows), name="convergence", formats=formats)


def notice_block(result: xr.DataTree | xr.Dataset | xr.DataArray) -> tuple[Alerts, ...]:
    """Notices of a fit, a count table or decisions, with what to do and the source, if any."""
    items = tuple((n.severity, in_words(n), n.cells) for n in notices(result))
    return (Alerts("Notices", items),) if items else ()


def in_words(notice: Notice) -> str:
    """What a notice says, what to do about it, and where the rule comes from."""
    source = f"({notice.source})" if notice.source else ""
    return " ".join(filter(None, [notice.message, notice.next_step, source]))
