"""Can a fit be trusted? Divergences, R̂, effective draws, and signs that M cannot have.

Fit (DataTree) → list of Notice. R̂ is the rank-normalised one, and it is read for d′ and c as
well as for M: the classic one passes while chains drift together.
Source: Vehtari et al. (2021).
"""

import numpy as np
import xarray as xr
from arviz_stats import ess, rhat

from hmetad.counts.notices import Notice, notice_where
from hmetad.measures.sdt import sdt

__all__ = ["MAX_RHAT", "MIN_ESS", "convergence_notices", "sampled_variables", "sign_notices"]

MAX_RHAT = 1.01
MIN_ESS = 400
NEGLIGIBLE_SHARE = 0.01
CLEAR_Z = 1.96
SOURCE = "Vehtari et al. 2021"
FLEMING = "Fleming 2017"
NAMED = 5


def convergence_notices(fit: xr.DataTree) -> list[Notice]:
    """What is wrong with the sampling of a fit, if anything.

    Parameters
    ----------
    fit : DataTree
        With groups posterior and sample_stats.

    Returns
    -------
    list of Notice
        ``"divergences"``, ``"rhat"`` (above 1.01 or not computable), ``"ess"`` (bulk or tail
        below 400) and ``"one-chain"``; empty if all is well. Errors, since no verdict should
        rest on such draws.
    """
    sampled = sampled_variables(fit["posterior"].to_dataset())
    found = [*divergence_notice(fit), *one_chain_notice(sampled)]
    # The diagonal of a correlation is constant, and its R̂ divides 0 by 0.
    with np.errstate(invalid="ignore"):
        if sampled.sizes["chain"] > 1:
            found += threshold_notice(sampled, "rhat")
        return found + threshold_notice(sampled, "ess")


def sign_notices(counts: xr.DataArray, fit: xr.DataTree) -> list[Notice]:
    """Cells where d′ or meta-d′ may be zero or negative, and what that does to M.

    Parameters
    ----------
    counts : DataArray
        The count table that was fitted: responses alone may say what the posterior cannot, for
        on the scale of log M meta-d′ takes the sign of d′, and the ratings then bend d′.
    fit : DataTree
        Its fit.

    Returns
    -------
    list of Notice
        ``"dprime-sign"`` (error where the responses give d′ ≤ 0, else warning);
        ``"meta-d-sign"`` (error where confidence is no higher for right answers, else warning);
        ``"confidence-sign"`` (warning where it is not clearly higher).
    """
    posterior = fit["posterior"].to_dataset()
    alone = sdt(counts, correction="cell")
    negative = alone["dprime"] <= 0
    unclear = alone["dprime"] < CLEAR_Z * alone["dprime_se"]
    unclear = (unclear | may_be_negative(posterior["dprime"])) & ~negative
    step = (
        "Leave the cell out, or fit it by itself with meta-d′ as the scale (card hmetad_single) "
        "and compare meta_d."
    )
    below = "The responses give d′ at or below 0. M-ratio = meta-d′/d′ has no meaning there."
    near = (
        "d′ is not clearly above 0: M-ratio = meta-d′/d′ divides by almost nothing, and its mean "
        "is not the ratio of the means."
    )
    meta = "meta-d′ may be negative, and then log M does not exist."
    z = confidence_z(counts)
    backward = (
        "Confidence is no higher for right answers than for wrong ones, so meta-d′ is at or below "
        "0, which log M cannot represent: M is then only close to 0."
    )
    faint = "Confidence is not clearly higher for right answers than for wrong ones."
    is_faint, may_be = (z > 0) & (z < CLEAR_Z), may_be_negative(posterior["meta_d"])
    near_source, other_scale = "Guggenmos 2021", "Compare meta_d, on the scale of meta-d′."
    return [
        *notice_where(z <= 0, "meta-d-sign", "error", backward, FLEMING, step),
        *notice_where(is_faint, "confidence-sign", "warning", faint, FLEMING, other_scale),
        *notice_where(negative, "dprime-sign", "error", below, FLEMING, step),
        *notice_where(unclear, "dprime-sign", "warning", near, near_source, step),
        *notice_where(may_be, "meta-d-sign", "warning", meta, FLEMING, other_scale),
    ]


def confidence_z(counts: xr.DataArray) -> xr.DataArray:
    """Rank test, per cell, of whether right answers are held with more confidence than wrong ones.

    Mann & Whitney's U of the ratings, within each response, summed over responses and divided by
    its standard deviation without ties; NaN where there are only right or only wrong answers.
    """
    right = xr.concat([counts.sel(stimulus=s, response=s, drop=True) for s in ("S1", "S2")], "of")
    wrong = counts.sum("stimulus").transpose("response", ...).rename(response="of") - right
    below = wrong.cumsum("rating") - wrong
    pairs = right.sum("rating") * wrong.sum("rating")
    excess = (right * (below + wrong / 2)).sum("rating") - pairs / 2
    variance = pairs * (right.sum("rating") + wrong.sum("rating") + 1) / 12
    total = variance.sum("of")
    return excess.sum("of") / np.sqrt(total.where(total > 0))


def may_be_negative(draws: xr.DataArray) -> xr.DataArray:
    """Whether more than one draw in a hundred is at or below zero, per cell."""
    return (draws <= 0).mean(["chain", "draw"]) > NEGLIGIBLE_SHARE


def sampled_variables(posterior: xr.Dataset) -> xr.Dataset:
    """Variables to be judged: those that vary, each once.

    Constants that are plugged in have no R̂, and undefined log M has none. Group effects in
    either form, meta-d′, κ, and M beside log M say again what d′, c, log M, the criteria and the
    population's coefficients say.
    """
    twice = {"meta_d", "meta_c"} | ({"log_gap"} if "criteria" in posterior else set())
    if "log_m" in posterior and bool(posterior["log_m"].notnull().all()):
        twice.add("m_ratio")
    names = [
        name
        for name, values in posterior.items()
        if name not in twice
        and not any(str(dim).endswith("__factor_dim") for dim in values.dims)
        and bool(values.notnull().all())
        and bool(varies(values).any())
    ]
    return posterior[names]


def varies(values: xr.DataArray) -> xr.DataArray:
    """Which elements are not constant over all draws, as the diagonal of a correlation is."""
    over = ["chain", "draw"]
    return values.max(over) > values.min(over)


def divergence_notice(fit: xr.DataTree) -> list[Notice]:
    """Divergent transitions, counted."""
    number = int(fit["sample_stats"]["diverging"].sum())
    if number == 0:
        return []
    text = f"{number} divergent transitions: the posterior was not explored fully."
    step = "Raise target_accept or change a prior."
    return [Notice("divergences", "error", text, (), "Betancourt 2017", step)]


def one_chain_notice(sampled: xr.Dataset) -> list[Notice]:
    """A single chain cannot be checked against another."""
    if sampled.sizes["chain"] > 1:
        return []
    text = "One chain: R̂ cannot be computed."
    return [Notice("one-chain", "error", text, (), SOURCE, "Sample four.")]


def threshold_notice(sampled: xr.Dataset, diagnostic: str) -> list[Notice]:
    """R̂ too high, or effective sample size too low, with the variables and cells at fault."""
    if diagnostic == "rhat":
        bad = ~(rhat(sampled, method="rank") <= MAX_RHAT)
        text = f"R̂ above {MAX_RHAT} for {{}}: the chains disagree."
        step = "Draw longer, or look at the model."
    else:
        bulk, tail = (ess(sampled, method=method) for method in ("bulk", "tail"))
        bad = ~((bulk >= MIN_ESS) & (tail >= MIN_ESS))
        text = f"Fewer than {MIN_ESS} effective draws of {{}}: intervals are rough."
        step = "Draw longer."
    bad = bad.map(lambda flags: flags & varies(sampled[flags.name]))
    names = [str(name) for name, flags in bad.items() if bool(flags.any())]
    if not names:
        return []
    cells = [bad[name].any([d for d in bad[name].dims if d != "cell"]) for name in names]
    flagged = sorted({str(x) for c in cells if c.ndim for x in c["cell"].values[c.values]})
    message = text.format(", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else ""))
    return [Notice(diagnostic, "error", message, tuple(flagged), SOURCE, step)]
