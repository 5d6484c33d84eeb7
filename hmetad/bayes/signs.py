"""Cells where d′ or meta-d′ may be zero or negative, so that M is undefined.

Count table and its fit (DataTree) → list of Notice. What to do about such a cell depends on
whether the model pools it with others: leaving out cells with a low M raises a population's mean.
Source: Fleming (2017); Guggenmos (2021).
"""

import xarray as xr

from hmetad.bayes.kept_cells import columns_of_levels, has_cells
from hmetad.bayes.pooling import pooled_over
from hmetad.bayes.predict import predict_levels
from hmetad.counts.checks import STIMULI
from hmetad.counts.clusters import counts_together
from hmetad.counts.table_notices import items_together
from hmetad.measures.confidence_sign import CLEAR_Z, confidence_z, faint_confidence
from hmetad.measures.sdt import sdt
from hmetad.notice import Notice, notice_of, notice_where
from hmetad.notice_registry import sentence
from hmetad.specs.spec import spec_of

__all__ = ["sign_notices"]

NEGLIGIBLE_SHARE = 0.01


def sign_notices(counts: xr.DataArray, fit: xr.DataTree) -> list[Notice]:
    """Cells where d′ or meta-d′ may be zero or negative, and what that does to M.

    Parameters
    ----------
    counts : DataArray
        The count table that was fitted: responses alone may say what the posterior cannot, for
        on the scale of log M meta-d′ takes the sign of d′, and the ratings then bend d′.
    fit : DataTree
        Its fit, with its model card in the attrs.

    Returns
    -------
    list of Notice
        ``"dprime-sign"`` (error where the responses give d′ ≤ 0, else warning);
        ``"meta-d-sign"`` (where confidence is no higher for right answers an error, or a warning
        where the scale of the model allows for it; else warning); ``"confidence-sign"`` (warning
        where it is not clearly higher); ``"negative-in-population"`` (warning, of the whole fit:
        how many cells of a population log M cannot represent); ``"no-errors"`` (error: meta-d′ and
        M are left to priors). None for a likelihood without meta-d′.
    """
    spec = spec_of(fit)
    if "meta_d" not in spec.record.results or not (has_cells(fit) or columns_of_levels(fit)):
        return []
    pooled, scale = pooled_over(spec), spec.record.parameter_of_interest
    dprime_step = sentence("keep-and-say" if "dprime" in pooled else "by-itself")
    # One observer has too few trials of one item to show a sign.
    # Grouping columns are dropped, since one may have the name of an estimate.
    counts = shown_counts(counts, fit).reset_coords(drop=True)
    right = sum(counts.sel(stimulus=s, response=s, drop=True).sum("rating") for s in STIMULI)
    total = counts.sum(["stimulus", "response", "rating"])
    return [
        *notice_where((right == total) & (total > 0), "no-errors.fitted"),
        *confidence_notices(counts, scale, "meta_d" in pooled),
        *dprime_notices(counts, fit, dprime_step),
        *meta_d_notice(fit, next_step(scale, "meta_d" in pooled)),
    ]


def next_step(scale: str, is_pooled: bool) -> str:
    """What to do about a cell whose meta-d′ may be negative."""
    if is_pooled:
        return sentence("keep-on-log" if scale == "log_m" else "keep-or-judge-m")
    return sentence("more-trials")


def confidence_notices(counts: xr.DataArray, scale: str, is_pooled: bool) -> list[Notice]:
    """Notices on the sign of meta-d′ in the ratings, and on a population with such cells."""
    backward = confidence_z(counts) <= 0
    step = next_step(scale, is_pooled)
    found = faint_confidence(counts, backward, step)
    if scale != "log_m":
        return [*notice_where(backward, "meta-d-sign.backward", step=step), *found]
    step = step if is_pooled else sentence("by-itself")
    found = [*notice_where(backward, "meta-d-sign.backward-on-log", step=step), *found]
    number = int(backward.sum())
    if not is_pooled or not number:
        return found
    return [*found, notice_of("negative-in-population", number=number, cells=backward.size)]


def dprime_notices(counts: xr.DataArray, fit: xr.DataTree, step: str) -> list[Notice]:
    """Notices of cells whose d′ is not above 0, or not clearly."""
    alone = sdt(counts, correction="cell")
    negative = alone["dprime"] <= 0
    unclear = alone["dprime"] < CLEAR_Z * alone["dprime_se"]
    unclear = (unclear | may_be_negative(fit, "dprime")) & ~negative
    return [
        *notice_where(negative, "dprime-sign.fitted", step=step),
        *notice_where(unclear, "dprime-sign.near", step=step),
    ]


def meta_d_notice(fit: xr.DataTree, step: str) -> list[Notice]:
    """Notice of cells whose draws of meta-d′ are negative too often to be ignored."""
    may_be = may_be_negative(fit, "meta_d")
    return notice_where(may_be, "meta-d-sign.possible", step=step)


def may_be_negative(fit: xr.DataTree, name: str) -> xr.DataArray:
    """Whether more than one draw in a hundred is at or below zero, per cell or level."""
    drawn = fit["posterior"].to_dataset() if has_cells(fit) else predict_levels(fit)
    return (drawn[name] <= 0).mean(["chain", "draw"]) > NEGLIGIBLE_SHARE


def shown_counts(counts: xr.DataArray, fit: xr.DataTree) -> xr.DataArray:
    """Counts of all items of each cell; where cells are not kept, of the levels in their place."""
    if has_cells(fit):
        return items_together(counts)
    return counts_together(counts, columns_of_levels(fit))[0]
