"""Signs that M cannot have: cells where d′ or meta-d′ may be zero or negative.

Count table and its fit (DataTree) → list of Notice. What to do about such a cell depends on
whether the model drew it to others: leaving out those with a low M lifts a population's mean.
Source: Fleming (2017); Guggenmos (2021).
"""

import xarray as xr

from hmetad.bayes.pooling import pooled_over
from hmetad.bayes.spec import spec_of
from hmetad.counts.notices import Notice, notice_where
from hmetad.counts.table_notices import items_together
from hmetad.measures.confidence_sign import ALONE, CLEAR_Z, FLEMING, confidence_z, faint_confidence
from hmetad.measures.sdt import sdt

__all__ = ["sign_notices"]

NEGLIGIBLE_SHARE = 0.01
NEAR_SOURCE = "Guggenmos 2021"
BY_ITSELF = (
    "Leave the cell out, or fit it by itself with meta-d′ as the scale (card hmetad_single) and "
    "compare meta_d."
)
# What to do in a model of a population.
KEEP = "Keep the cell, for leaving out those with a low M lifts the population's mean"
KEEP_ON_LOG = f"{KEEP}; say so, or fit the population on the scale of M (scale='m')."
KEEP_AS_IT_IS = f"{KEEP}; judge m_ratio or meta_d, not log_m."
KEEP_DPRIME = (
    "The others hold its d′ up: keep the cell and say so, or leave it out by a rule on d′ alone, "
    "made beforehand."
)


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
        how many cells a population of log M holds that it cannot represent). None of a likelihood
        without meta-d′.
    """
    spec = spec_of(fit)
    if "meta_d" not in spec.record.results:
        return []
    pooled, scale = pooled_over(spec), spec.record.focus
    # The few trials of an item with an observer show no sign of their own.
    counts = items_together(counts)
    return [
        *confidence_notices(counts, scale, "meta_d" in pooled),
        *dprime_notices(counts, fit, KEEP_DPRIME if "dprime" in pooled else BY_ITSELF),
        *meta_d_notice(fit, next_step(scale, "meta_d" in pooled)),
    ]


def next_step(scale: str, is_pooled: bool) -> str:
    """What to do about a cell whose meta-d′ may be negative."""
    if is_pooled:
        return KEEP_ON_LOG if scale == "log_m" else KEEP_AS_IT_IS
    return ALONE


def confidence_notices(counts: xr.DataArray, scale: str, is_pooled: bool) -> list[Notice]:
    """Notices of what the ratings say of the sign of meta-d′, and of a population that holds it."""
    backward = confidence_z(counts) <= 0
    step = next_step(scale, is_pooled)
    found = faint_confidence(counts, backward, step)
    text = "Confidence is no higher for right answers than for wrong ones: meta-d′ is at or below 0"
    if scale != "log_m":
        text += ", and log M does not exist."
        return [*notice_where(backward, "meta-d-sign", "warning", text, FLEMING, step), *found]
    text += ", which log M cannot represent. M is then only close to 0."
    own = step if is_pooled else BY_ITSELF
    found = [*notice_where(backward, "meta-d-sign", "error", text, FLEMING, own), *found]
    number = int(backward.sum())
    if not is_pooled or not number:
        return found
    of_all = (
        f"Confidence is no higher for right answers than for wrong ones in {number} of "
        f"{backward.size} cells. A population of log M holds them as an M close to 0, and its mean "
        "and SD rest on that."
    )
    step = "Say how many they are; where they are more than a few, fit with scale='m' beside it."
    return [*found, Notice("negative-in-population", "warning", of_all, (), FLEMING, step)]


def dprime_notices(counts: xr.DataArray, fit: xr.DataTree, step: str) -> list[Notice]:
    """Notices of cells whose d′ is not above 0, or not clearly."""
    alone = sdt(counts, correction="cell")
    negative = alone["dprime"] <= 0
    unclear = alone["dprime"] < CLEAR_Z * alone["dprime_se"]
    unclear = (unclear | may_be_negative(fit["posterior"].to_dataset()["dprime"])) & ~negative
    below = "The responses give d′ at or below 0. M-ratio = meta-d′/d′ has no meaning there."
    near = (
        "d′ is not clearly above 0: M-ratio = meta-d′/d′ divides by almost nothing, and its mean "
        "is not the ratio of the means."
    )
    return [
        *notice_where(negative, "dprime-sign", "error", below, FLEMING, step),
        *notice_where(unclear, "dprime-sign", "warning", near, NEAR_SOURCE, step),
    ]


def meta_d_notice(fit: xr.DataTree, step: str) -> list[Notice]:
    """Notice of cells whose draws of meta-d′ are negative too often to be ignored."""
    text = "meta-d′ may be negative, and then log M does not exist."
    may_be = may_be_negative(fit["posterior"].to_dataset()["meta_d"])
    return notice_where(may_be, "meta-d-sign", "warning", text, FLEMING, step)


def may_be_negative(draws: xr.DataArray) -> xr.DataArray:
    """Whether more than one draw in a hundred is at or below zero, per cell."""
    return (draws <= 0).mean(["chain", "draw"]) > NEGLIGIBLE_SHARE
