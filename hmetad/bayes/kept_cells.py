"""Quantities of the cells in a posterior: how large they are, whether they are kept, what they are.

Where every parameter has a formula they follow from its coefficients and effects. Draws of what is
sampled → Dataset (chain, draw, cell) of what follows from them.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError
from hmetad.base.memory import refuse_memory
from hmetad.base.notice_registry import limit
from hmetad.base.variable_roles import FACTOR_DIM, Identity
from hmetad.likelihood.family import TWO_ALTERNATIVES, Family
from hmetad.likelihood.tape import compiled_outcomes
from hmetad.specs.design import Design
from hmetad.specs.layout import dim_names
from hmetad.specs.spec import ModelSpec

type Floats = NDArray[np.float64]

BYTES = 8
# Defaults of a fit.
DRAWS, CHAINS = 1000, 4
OUTCOME = ("cell", "stimulus", "response", "rating")


@check_inputs(skip=("counts",))
def posterior_bytes(
    counts: xr.DataArray, likelihood: Family, draws: int = DRAWS, chains: int = CHAINS
) -> int:
    """Bytes of the draws of the quantities that a fit has for each cell.

    Parameters
    ----------
    counts : DataArray
        Count table.
    likelihood : Family
        ``spec.record`` of a model.
    draws, chains : int
        Draws of each chain, and chains.

    Returns
    -------
    int
        A fit is larger: it also has coefficients and statistics of the sampler.

    Examples
    --------
    >>> from hmetad.likelihood.registry import load_likelihood
    >>> dims = ("cell", "stimulus", "response", "rating")
    >>> counts = xr.DataArray(np.ones((10, 2, 2, 4)), dims=dims)
    >>> posterior_bytes(counts, load_likelihood("meta-d"), draws=1000, chains=4)
    3840000
    """
    ratings = counts.sizes["rating"]
    numbers = sum(math.prod(likelihood.shape(name, ratings)) for name in likelihood.results)
    return BYTES * int(draws) * int(chains) * counts.sizes["cell"] * numbers


def follow_from_effects(spec: ModelSpec) -> bool:
    """Whether all quantities of cells follow from others: where every parameter has a formula.

    Examples
    --------
    >>> from hmetad.specs.loading import load_model
    >>> follow_from_effects(load_model("group")), follow_from_effects(load_model("individual"))
    (True, False)
    """
    return all(parameter.name in spec.formula for parameter in spec.record.parameters)


def keeps_cells(
    asked: bool | None, counts: xr.DataArray, spec: ModelSpec, options: Mapping[str, Any]
) -> bool:
    """Whether a fit keeps the quantities of its cells; None leaves it to the size.

    An error where they are to be kept and cannot be: samplers then end the whole process.
    """
    draws, tune, chains = (int(options[name]) for name in ("draws", "tune", "chains"))
    can_go = follow_from_effects(spec)
    if asked is False and not can_go:
        without = [p.name for p in spec.record.parameters if p.name not in spec.formula]
        got = f"False, for a card without a formula of {', '.join(without)}"
        raise ChoiceError("keep_cells", got, "a card whose cells follow from effects, or True")
    most = limit("cells-not-kept") * 10**9
    if asked is False or (
        asked is None and can_go and posterior_bytes(counts, spec.record, draws, chains) > most
    ):
        return False
    # They are held twice: as the sampler keeps them, and as they are labelled.
    needed = 2 * posterior_bytes(counts, spec.record, draws + tune, chains)
    largest = max(("draws", "tune", "chains"), key=lambda name: int(options[name]))
    cells = counts.sizes["cell"]
    got = f"{draws} draws and {tune} of tuning of {chains} chains for {cells} cell"
    refuse_memory(largest, got + ("" if cells == 1 else "s"), needed)
    return True


def following_names(spec: ModelSpec) -> dict[str, str]:
    """Variables of a fit that follow from others: name in the posterior → name in the likelihood.

    Examples
    --------
    >>> from hmetad.specs.loading import load_model
    >>> [*following_names(load_model("individual"))]
    ['m_ratio', 'meta_d', 'meta_c', 'criteria']
    """
    record = spec.record
    own = [p.name for p in record.parameters if p.name in spec.formula and p.in_posterior]
    sampled = {p.variable for p in record.parameters if p.name not in spec.formula}
    results = {name: name for name in record.results if name not in sampled}
    given = {name: name for name in record.from_counts if name in record.results}
    return given | {spec.named(n): n for n in own} | results


def cell_results(
    posterior: xr.Dataset,
    spec: ModelSpec,
    designs: Mapping[str, Design],
    given: Mapping[str, Floats],
) -> dict[str, xr.DataArray]:
    """Variables of a fit that follow from others, those of `following_names`."""
    values, names = parameter_draws(posterior, spec, designs, given), following_names(spec)
    found = derived_results(values, spec.record, names.values())
    return {name: found[plain] for name, plain in names.items()}


def parameter_draws(
    posterior: xr.Dataset,
    spec: ModelSpec,
    designs: Mapping[str, Design],
    given: Mapping[str, Floats],
) -> dict[str, xr.DataArray]:
    """What cells are given, and their parameters, (chain, draw, cell, ...)."""
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    values = {
        name: xr.DataArray(np.tile(own, (*sizes, 1)), dims=("chain", "draw", "cell"))
        for name, own in given.items()
    }
    for p in spec.record.parameters:
        values[p.variable] = (
            linear_predictor(posterior, spec, designs[p.name], group_terms=True)
            if p.name in designs
            else posterior[spec.named(p.variable)]
        )
    return values


def linear_predictor(
    posterior: xr.Dataset, spec: ModelSpec, design: Design, *, group_terms: bool
) -> xr.DataArray:
    """Linear predictor of a parameter, dims (chain, draw, cell, *extra)."""
    known = {"chain", "draw", *spec.extra_dims(design.parameter)}
    total = xr.DataArray(0.0)
    for term in design.common:
        beta = posterior[spec.named(Identity("coefficient", design.parameter, term.name).name)]
        total = total + weighted_sum(term.columns, beta, known)
    if group_terms:
        for block in design.blocks:
            if (block.index < 0).any():
                raise ChoiceError(
                    "cells",
                    f"a {block.factor} that the fit does not have",
                    f"one of its {len(block.groups)}",
                    "Leave out group_terms=True for the population's value.",
                )
            dims = dim_names(design.parameter, f"{block.factor}{FACTOR_DIM}")
            for term in block.terms:
                identity = Identity("effect", design.parameter, term.name, block.factor)
                effects = posterior[spec.named(identity.name)]
                dim = next(dim for dim in dims if dim in effects.dims)
                own = effects.isel({dim: xr.DataArray(block.index, dims="cell")})
                total = total + weighted_sum(
                    term.columns, own.drop_vars(dim, errors="ignore"), known | {"cell"}
                )
    return total.transpose("chain", "draw", "cell", *spec.extra_dims(design.parameter))


def weighted_sum(columns: Floats, coefficients: xr.DataArray, known: set[str]) -> xr.DataArray:
    """Σ columns (cells, k) times coefficients, over the one dim of theirs that is not known."""
    over = [dim for dim in coefficients.dims if dim not in known]
    if not over:
        return xr.DataArray(columns[:, 0], dims="cell") * coefficients
    return xr.dot(xr.DataArray(columns, dims=("cell", *over)), coefficients, dim=over)


def derived_results(
    values: Mapping[str, xr.DataArray], likelihood: Family, names: Iterable[str]
) -> dict[str, xr.DataArray]:
    """Those of the named parameters and quantities that follow from values, or are among them."""
    found = likelihood.derived({name: own.to_numpy() for name, own in values.items()})
    coords = {name: own for value in values.values() for name, own in value.coords.items()}
    result = {}
    for name in names:
        if name in found:
            dims = ("chain", "draw", "cell", *likelihood.dims(name))
            own = {k: v for k, v in coords.items() if set(v.dims) <= set(dims)}
            result[name] = xr.DataArray(np.ascontiguousarray(found[name]), own, dims)
    return result


def outcome_draws(
    draws: xr.Dataset,
    likelihood: Family,
    given: Mapping[str, Floats],
    labels: Mapping[str, Any] | None = None,
) -> xr.DataArray:
    """log P of answers, dims (chain, draw, cell, *outcome), of quantities and what is given.

    Labels of outcomes are those of the likelihood unless others are named.
    """
    values = {
        name: draws[name].transpose("chain", "draw", "cell", *quantity.dims).to_numpy()
        for name, quantity in likelihood.results.items()
        if name in draws
    }
    known = {**given, **values}
    is_plain = not likelihood.compiled_kernel or likelihood.layout == TWO_ALTERNATIVES
    ratings = 1 + draws.sizes.get("criterion", 0)
    log_p = (
        likelihood.outcomes(known) if is_plain else compiled_outcomes(likelihood, known, ratings)
    )
    own = {**likelihood.layout.labels(log_p.shape[-1]), **(labels or {})}
    coords = {"cell": draws["cell"].values, **{dim: own[dim] for dim in likelihood.layout.dims}}
    return xr.DataArray(log_p, coords, ("chain", "draw", *coords))


def drawn_counts(
    rng: np.random.Generator, trials: NDArray[np.int64], log_p: Floats, answers: int = 2
) -> NDArray[np.int64]:
    """Counts of log P's shape from trials of each stimulus; so many last axes are its answers."""
    p = np.exp(log_p)
    outcomes = p.reshape(*p.shape[:-answers], -1)
    # Rounding may leave a sum a hair above 1.
    outcomes /= outcomes.sum(axis=-1, keepdims=True)
    return rng.multinomial(trials, outcomes).reshape(p.shape)
