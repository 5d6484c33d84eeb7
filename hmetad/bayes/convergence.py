"""Can a fit be trusted? Divergences, R̂ and effective draws.

Fit (DataTree) → list of Notice. R̂ is the rank-normalised one, and it is checked for d′ and c
as well as for M: the classic R̂ can be near 1 while chains drift together.
Source: Vehtari et al. (2021).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from arviz_stats import ess, rhat

from hmetad.bayes.dims import FACTOR_DIM
from hmetad.bayes.spec import spec_of
from hmetad.notice import Notice, first_few, notice_of
from hmetad.notice_registry import limit

__all__ = ["convergence_notices", "sampled_variables"]


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
        below 400) and ``"one-chain"``; empty if all is well. Errors, since no verdict should rest
        on such draws. Draws of which none varies have no R̂. Group-level effects are not checked;
        their standard deviations and correlations are. Variables that belong to no cell, such as
        the coefficients of a population, have a notice of their own that names no cell, because
        they concern all cells.
    """
    sampled = sampled_variables(fit)
    found = [*divergence_notice(fit), *one_chain_notice(fit)]
    if not sampled:
        names = first_few((p.variable for p in spec_of(fit).record.parameters), ", ")
        return [*found, notice_of("rhat", names=names)]
    # The diagonal of a correlation is constant, and its R̂ divides 0 by 0.
    with np.errstate(invalid="ignore"):
        if sampled.sizes["chain"] > 1:
            found += threshold_notice(sampled, "rhat")
        return found + threshold_notice(sampled, "ess")


def sampled_variables(fit: xr.DataTree, names: Sequence[str] | None = None) -> xr.Dataset:
    """Variables whose convergence is checked: those that vary, each once.

    Left out: constants, variables with undefined draws, group-level effects, and quantities that
    are functions of others in the list.
    """
    likelihood = spec_of(fit).record
    posterior = fit["posterior"].to_dataset()
    is_whole = posterior.notnull().all()
    twice = {p.variable for p in likelihood.parameters if not p.in_posterior} | {
        name
        for name, quantity in likelihood.results.items()
        if quantity.convergence_of
        and all(is_whole.get(other, False) for other in quantity.convergence_of)
    }
    kept = [
        name
        for name, values in posterior.items()
        if name not in twice
        and (names is None or name in names)
        and not any(str(dim).endswith(FACTOR_DIM) for dim in values.dims)
        and bool(is_whole[name])
        and bool(varies(values).any())
    ]
    return posterior[kept]


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


def one_chain_notice(fit: xr.DataTree) -> list[Notice]:
    """A single chain cannot be checked against another."""
    return [] if fit["posterior"].sizes["chain"] > 1 else [notice_of("one-chain")]


def threshold_notice(sampled: xr.Dataset, diagnostic: str) -> list[Notice]:
    """Notices of R̂ or effective sample size: one of variables without a cell, one of cells."""
    if diagnostic == "rhat":
        bad = ~(rhat(sampled, method="rank") <= limit("rhat"))
    else:
        bulk, tail = (ess(sampled, method=method) for method in ("bulk", "tail"))
        bad = ~((bulk >= limit("ess")) & (tail >= limit("ess")))
    bad = bad.map(lambda flags: flags & varies(sampled[flags.name]))
    wrong = {str(name): flags for name, flags in bad.items() if bool(flags.any())}
    # Variables without a cell have a notice of their own, because they concern all cells.
    of_cells = {name: flags for name, flags in wrong.items() if "cell" in flags.dims}
    of_all = {name: flags for name, flags in wrong.items() if name not in of_cells}
    return [
        notice_of(diagnostic, flagged_cells(some), names=first_few(some, ", "))
        for some in (of_all, of_cells)
        if some
    ]


def flagged_cells(wrong: Mapping[str, xr.DataArray]) -> tuple[str, ...]:
    """Labels of the cells in which any variable is flagged."""
    by_cell = [f.any([d for d in f.dims if d != "cell"]) for f in wrong.values()]
    return tuple(sorted({str(x) for c in by_cell if c.ndim for x in c["cell"].values[c.values]}))
