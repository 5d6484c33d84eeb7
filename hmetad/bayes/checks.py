"""Can a fit be trusted? Divergences, R̂ and effective draws.

Fit (DataTree) → list of Notice. R̂ is the rank-normalised one, and it is read for d′ and c as
well as for M: the classic one passes while chains drift together.
Source: Vehtari et al. (2021).
"""

import numpy as np
import xarray as xr
from arviz_stats import ess, rhat

from hmetad.codes import limit
from hmetad.notice import Notice, notice_of

__all__ = ["convergence_notices", "sampled_variables"]

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
    transitions = "transition" if number == 1 else "transitions"
    return [notice_of("divergences", number=number, transitions=transitions)]


def one_chain_notice(sampled: xr.Dataset) -> list[Notice]:
    """A single chain cannot be checked against another."""
    return [] if sampled.sizes["chain"] > 1 else [notice_of("one-chain")]


def threshold_notice(sampled: xr.Dataset, diagnostic: str) -> list[Notice]:
    """R̂ too high, or effective sample size too low, with the variables and cells at fault."""
    if diagnostic == "rhat":
        bad = ~(rhat(sampled, method="rank") <= limit("rhat"))
    else:
        bulk, tail = (ess(sampled, method=method) for method in ("bulk", "tail"))
        bad = ~((bulk >= limit("ess")) & (tail >= limit("ess")))
    bad = bad.map(lambda flags: flags & varies(sampled[flags.name]))
    names = [str(name) for name, flags in bad.items() if bool(flags.any())]
    if not names:
        return []
    cells = [bad[name].any([d for d in bad[name].dims if d != "cell"]) for name in names]
    flagged = sorted({str(x) for c in cells if c.ndim for x in c["cell"].values[c.values]})
    listed = ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")
    return [notice_of(diagnostic, flagged, names=listed)]
