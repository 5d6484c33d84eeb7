"""Can a fit be trusted? Divergences, R̂ and effective draws.

Fit (DataTree) → list of Notice. R̂ is the rank-normalised one, and it is checked for d′ and c
as well as for M: the classic R̂ can be near 1 while chains drift together.
Source: Vehtari et al. (2021).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from hmetad.monte_carlo import check_chains
from hmetad.notice import Notice, first_few, notice_of, notices
from hmetad.notice_registry import about_alone, limit
from hmetad.specs.layout import FACTOR_DIM
from hmetad.specs.spec import spec_of
from hmetad.threads import in_threads

__all__ = [
    "Flags",
    "check_variable",
    "convergence_notices",
    "flagged_elements",
    "sampled_variables",
    "sampling_flags",
    "threshold_notices",
    "weight_notices",
]

# Diagnostic ("rhat", "ess") → variable → which of its elements are bad.
type Flags = Mapping[str, Mapping[str, xr.DataArray]]

# Divergences are charged to cells that have so many each, are such a share of the cells at most,
# and leave such a share of the divergences to others at most.
FEWEST_OF_A_CELL, MOST_CHARGED, MOST_ELSEWHERE = 5, 0.2, 0.1

# Rows that are checked together: their draws fit the processor's cache.
ROWS_AT_ONCE = 64


def convergence_notices(fit: xr.DataTree, flags: Flags | None = None) -> list[Notice]:
    """What is wrong with the sampling of a fit, if anything.

    Parameters
    ----------
    fit : DataTree
        With groups posterior and sample_stats.
    flags : mapping of str to mapping of str to DataArray, optional
        As `sampling_flags` returns them, where they are known.

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
    flags = flags if flags is not None else sampling_flags(fit)
    found = [*divergence_notice(fit), *one_chain_notice(fit), *weight_notices(fit)]
    if not sampled_variables(fit):
        names = first_few((p.variable for p in spec_of(fit).record.parameters), ", ")
        return [*found, notice_of("rhat", names=names)]
    return [*found, *(one for name, own in flags.items() for one in threshold_notices(own, name))]


def sampling_flags(fit: xr.DataTree) -> Flags:
    """Elements of the variables that chains have drawn whose R̂ or effective draws are bad."""
    sampled = sampled_variables(fit)
    if sampled and "by_chains" in fit["sample_stats"]:
        # The other draws are independent, and judged by their weights.
        sampled = sampled.isel(cell=fit["sample_stats"]["by_chains"].values)
    if not sampled or not sampled.sizes.get("cell", 1):
        return {}
    return flagged_elements(sampled)


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
        and bool((values != values[{"chain": 0, "draw": 0}]).any())
    ]
    return posterior[kept]


def divergence_notice(fit: xr.DataTree) -> list[Notice]:
    """Divergent transitions, counted; of some cells, where they are these cells' alone."""
    stats = fit["sample_stats"].to_dataset()
    # Cells that share nothing have divergences of their own.
    are_apart = "divergences" in stats
    number = int(stats["divergences"].sum() if are_apart else stats["diverging"].sum())
    if number == 0:
        return []
    said = {"number": number, "transitions": "transition" if number == 1 else "transitions"}
    if are_apart:
        return [notice_of("divergences", labels_where(stats["divergences"] > 0), where="", **said)]
    if "divergences_within" not in stats:
        return [notice_of("divergences", where="", **said)]
    within, nowhere = stats["divergences_within"], int(stats["divergences_nowhere"])
    cells = labels_where(charged_cells(fit, within, nowhere, number))
    if cells:
        return [notice_of("divergences.within", cells, labels=[*cells], **said)]
    most = within.sortby(within, ascending=False)
    where = [f"{cell} ({n})" for cell, n in zip(most["cell"].values, most.values, strict=True) if n]
    where += [f"nobody ({nowhere})"] if nowhere else []
    return [notice_of("divergences", where=f" By whose part: {first_few(where, ', ')}.", **said)]


def charged_cells(
    fit: xr.DataTree, within: xr.DataArray, nowhere: int, number: int
) -> xr.DataArray:
    """Cells to which divergences are charged: few, with nearly all of them, and not by chance.

    A step that is too long for all fails now here, now there. So a cell needs several of them, but
    for one whose M the counts do not determine, which is the first to be suspected.
    """
    suspects = {
        cell
        for one in notices(fit)
        if one.severity == "error" and about_alone(one.code)
        for cell in one.cells
    }
    fewest = np.where(np.isin(within["cell"].values, [*suspects]), 1, FEWEST_OF_A_CELL)
    charged = within >= fewest
    # Each step once, not once for every cell of a person.
    once = fit["sample_stats"].to_dataset().get("divergences_shared", within)
    elsewhere = nowhere + round(float(once.where(~charged, 0).sum()), 6)
    is_few = charged.mean() <= MOST_CHARGED and elsewhere <= MOST_ELSEWHERE * number
    return charged & bool(is_few)


def labels_where(mask: xr.DataArray) -> tuple[str, ...]:
    """Labels of the cells where it holds."""
    return tuple(map(str, mask["cell"].values[mask.values]))


def one_chain_notice(fit: xr.DataTree) -> list[Notice]:
    """A single chain cannot be checked against another."""
    return [] if fit["posterior"].sizes["chain"] > 1 else [notice_of("one-chain")]


def flagged_elements(sampled: xr.Dataset) -> Flags:
    """Which elements of each variable have a bad R̂ or too few effective draws."""
    flags: dict[str, dict[str, xr.DataArray]] = {"rhat": {}, "ess": {}}
    for name, values in sampled.items():
        rhat, bulk, tail = check_variable(values)
        # What does not vary, as the diagonal of a correlation, has no R̂ and needs none.
        changes = values.max(["chain", "draw"]) > values.min(["chain", "draw"])
        # A single chain has no R̂, which a notice of its own says.
        is_judged = changes & (sampled.sizes["chain"] > 1)
        flags["rhat"][str(name)] = ~(rhat <= limit("rhat")) & is_judged
        flags["ess"][str(name)] = ~((bulk >= limit("ess")) & (tail >= limit("ess"))) & changes
    return flags


def check_variable(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """R̂ and effective draws of bulk and tails of every element of a variable.

    Parameters
    ----------
    values : DataArray
        Dims chain, draw and others.

    Returns
    -------
    tuple of DataArray
        With the other dims, as `hmetad.monte_carlo.check_chains` gives them.
    """
    last = values.transpose(..., "chain", "draw")
    rows = last.values.reshape(-1, *last.shape[-2:])
    parts = [rows[i : i + ROWS_AT_ONCE] for i in range(0, len(rows), ROWS_AT_ONCE)]
    found = map(np.concatenate, zip(*in_threads(check_chains, parts), strict=True))
    template = last.isel(chain=0, draw=0, drop=True)
    rhat, bulk, tail = (template.copy(data=one.reshape(template.shape)) for one in found)
    return rhat, bulk, tail


def weight_notices(fit: xr.DataTree) -> list[Notice]:
    """Cells whose draws by importance sampling are bad, and that were not sampled by chains."""
    stats = fit["sample_stats"].to_dataset()
    if "pareto_k" not in stats:
        return []
    weighted = ~stats["by_chains"].values
    uneven = weighted & ~(stats["pareto_k"].values <= limit("pareto-k"))
    few = weighted & ~uneven & ~(stats["effective_draws"].values >= limit("ess"))
    names, cells = spec_of(fit).record.plotted, stats["cell"].values
    return [
        notice_of(code, tuple(map(str, cells[bad])), **said)
        for code, bad, said in (("pareto-k", uneven, {}), ("ess", few, {"names": names}))
        if bad.any()
    ]


def threshold_notices(flags: Mapping[str, xr.DataArray], diagnostic: str) -> list[Notice]:
    """Notices of R̂ or effective sample size: one of variables without a cell, one of cells."""
    wrong = {name: bad for name, bad in flags.items() if bool(bad.any())}
    # Variables without a cell have a notice of their own, because they concern all cells.
    of_cells = {name: bad for name, bad in wrong.items() if "cell" in bad.dims}
    of_all = {name: bad for name, bad in wrong.items() if name not in of_cells}
    return [
        notice_of(diagnostic, flagged_cells(some), names=first_few(some, ", "))
        for some in (of_all, of_cells)
        if some
    ]


def flagged_cells(wrong: Mapping[str, xr.DataArray]) -> tuple[str, ...]:
    """Labels of the cells in which any variable is flagged."""
    by_cell = [f.any([d for d in f.dims if d != "cell"]) for f in wrong.values()]
    return tuple(sorted({str(x) for c in by_cell if c.ndim for x in c["cell"].values[c.values]}))
