"""Cells where d′ or meta-d′ may be zero or negative, so that M is undefined, or M is too high.

Count table and its fit (DataTree) → list of Notice. What to do about such a cell depends on
whether the model pools it with others: leaving out cells with a low M raises a population's mean.
Source: Fleming (2017); Guggenmos (2021).
"""

import xarray as xr

from hmetad.bayes.kept_cells import columns_of_levels, has_cells
from hmetad.bayes.pooling import pooled_over
from hmetad.bayes.predict import predict, predict_levels
from hmetad.counts.checks import STIMULI
from hmetad.counts.resample import counts_together
from hmetad.counts.table_notices import high_ratio_notices, is_high_ratio, items_together
from hmetad.measures.confidence_sign import CLEAR_Z, confidence_z, faint_confidence
from hmetad.measures.sdt import sdt
from hmetad.notice import Notice, first_few, notice_of, notice_where
from hmetad.notice_registry import sentence
from hmetad.specs.design import cell_table
from hmetad.specs.formula import formula_columns
from hmetad.specs.spec import spec_of

__all__ = ["high_notices", "sign_notices"]

NEGLIGIBLE_SHARE = 0.01
# Values of predictors at which M of the population is looked at.
MOST_POPULATIONS = 40


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


def high_notices(counts: xr.DataArray, fit: xr.DataTree) -> list[Notice]:
    """Cells, and populations, whose M is clearly above 1.5.

    Parameters
    ----------
    counts, fit
        As in `sign_notices`.

    Returns
    -------
    list of Notice
        ``"high-m-ratio"`` (warning) of cells, and of the values of predictors at which the
        population's M is so.
    """
    spec = spec_of(fit)
    if "m_ratio" not in spec.record.results:
        return []
    found = []
    if has_cells(fit) or columns_of_levels(fit):
        found = high_ratio_notices(is_high_ratio(drawn_levels(fit)["m_ratio"]), counts)
    columns = sorted(formula_columns(spec.formula.values()))
    number = len(cell_table(counts).groupby(columns)) if columns else 1
    if "m_ratio" not in pooled_over(spec) or number > MOST_POPULATIONS:
        return found
    population = predict(fit)["m_ratio"]
    is_high = is_high_ratio(population)
    middle = population.median(["chain", "draw"])
    high = middle[{"cell": is_high.any([dim for dim in is_high.dims if dim != "cell"]).to_numpy()}]
    where = [f"{one['cell'].item()}: {one.mean():.2f}" for one in high]
    return [*high_ratio_notices(is_high, counts, first_few(where)), *found]


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
    return (drawn_levels(fit)[name] <= 0).mean(["chain", "draw"]) > NEGLIGIBLE_SHARE


def drawn_levels(fit: xr.DataTree) -> xr.Dataset:
    """Draws of the quantities of cells, or of the levels in their place."""
    return fit["posterior"].to_dataset() if has_cells(fit) else predict_levels(fit)


def shown_counts(counts: xr.DataArray, fit: xr.DataTree) -> xr.DataArray:
    """Counts of all items of each cell; where cells are not kept, of the levels in their place."""
    if has_cells(fit):
        return items_together(counts)
    return counts_together(counts, columns_of_levels(fit))[0]
