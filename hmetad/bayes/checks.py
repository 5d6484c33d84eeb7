"""Did the sampler do its work? Divergences, R̂ and effective sample size, as notices.

Fit (DataTree) → list of Notice. R̂ is the rank-normalised one, and it is read for d′ and c as
well as for M: the classic one passes while chains drift together.
Source: Vehtari et al. (2021).
"""

import arviz as az
import numpy as np
import xarray as xr

from hmetad.counts.notices import Notice

__all__ = ["MAX_RHAT", "MIN_ESS", "convergence_notices"]

MAX_RHAT = 1.01
MIN_ESS = 400
SOURCE = "Vehtari et al. 2021"
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
    if sampled.sizes["chain"] > 1:
        found += threshold_notice(sampled, "rhat")
    return found + threshold_notice(sampled, "ess")


def sampled_variables(posterior: xr.Dataset) -> xr.Dataset:
    """Variables that vary: constants that are plugged in have no R̂, undefined log M has none."""
    over = ["chain", "draw"]
    names = [
        name
        for name, values in posterior.items()
        if bool(values.notnull().all()) and bool((values.max(over) > values.min(over)).all())
    ]
    return posterior[names]


def divergence_notice(fit: xr.DataTree) -> list[Notice]:
    """Divergent transitions, counted."""
    number = int(fit["sample_stats"]["diverging"].sum())
    if number == 0:
        return []
    text = f"{number} divergent transitions: the posterior was not explored fully. "
    return [Notice("divergences", "error", text + "Raise target_accept or change a prior.")]


def one_chain_notice(sampled: xr.Dataset) -> list[Notice]:
    """A single chain cannot be checked against another."""
    if sampled.sizes["chain"] > 1:
        return []
    return [
        Notice("one-chain", "error", "One chain: R̂ cannot be computed. Sample four.", (), SOURCE)
    ]


def threshold_notice(sampled: xr.Dataset, diagnostic: str) -> list[Notice]:
    """R̂ too high, or effective sample size too low, with the variables and cells at fault."""
    if diagnostic == "rhat":
        bad = ~(az.rhat(sampled, method="rank") <= MAX_RHAT)
        text = (
            f"R̂ above {MAX_RHAT} for {{}}: the chains disagree. Draw longer, or look at the model."
        )
    else:
        bulk, tail = (az.ess(sampled, method=method) for method in ("bulk", "tail"))
        bad = ~((bulk >= MIN_ESS) & (tail >= MIN_ESS))
        text = f"Fewer than {MIN_ESS} effective draws of {{}}: intervals are rough. Draw longer."
    names = [str(name) for name, flags in bad.items() if bool(flags.any())]
    if not names:
        return []
    cells = [bad[name].any([d for d in bad[name].dims if d != "cell"]) for name in names]
    flagged = np.unique(np.concatenate([c["cell"].values[c.values] for c in cells if c.ndim]))
    message = text.format(", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else ""))
    return [Notice(diagnostic, "error", message, tuple(map(str, flagged)), SOURCE)]
