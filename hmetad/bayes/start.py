"""Where the chains begin, and what the data say of every group's effects.

Count table, ModelSpec and Designs → Start: values of the free variables, and how each linear
predictor is sampled. Every cell is estimated by itself (`hmetad.mle.scoring`); formulas are then
fitted to those estimates, weighted by their precision, as a linear mixed model.

From a prior's centre, cells of 20,000 trials begin thousands of log-likelihood units away, and
a chain sometimes adapts its step size during that descent and then mixes slowly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.dims import is_single, offset_name
from hmetad.bayes.linearised import BETWEEN, are_sparse, linearised_estimates
from hmetad.bayes.mixed import fit_mixed
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation, parametrise
from hmetad.mle.scoring import penalised_modes
from hmetad.specs.design import Design
from hmetad.specs.spec import ModelSpec

__all__ = ["Start", "starting_point"]

type Floats = NDArray[np.float64]

SMALLEST_GAP = 0.05
# Mean and SD of the criteria of all cells, where they are estimated.
CRITERIA_MOMENTS = (np.array(1.0), np.array(0.5))


@dataclass(frozen=True)
class Start:
    """Starting point of a model.

    Parameters
    ----------
    values : dict of str to array
        By name of the free variable.
    parametrisations : dict of str to Parametrisation
        Of the parameters that have a formula.
    """

    values: dict[str, Floats] = field(default_factory=dict)
    parametrisations: dict[str, Parametrisation] = field(default_factory=dict)


def starting_point(
    counts: xr.DataArray,
    spec: ModelSpec,
    designs: Mapping[str, Design],
    given: Mapping[str, Floats],
) -> Start:
    """Starting values, and what the data say of every group's effects.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating).
    spec : ModelSpec
    designs : mapping of str to Design
        The formulas, by parameter.
    given : mapping of str to array, shape (cells,)
        Quantities that are set to their values from the counts.

    Returns
    -------
    Start
    """
    modes = penalised_modes(counts.values.astype(float), spec.record, given)
    seen, between = modes.without_penalty, None
    if are_sparse(counts, spec):
        seen, between = linearised_estimates(counts, spec, designs, given), BETWEEN
    values: dict[str, Floats] = {}
    parametrisations: dict[str, Parametrisation] = {}
    for parameter in spec.record.parameters:
        name, estimates = parameter.variable, modes.values[parameter.variable]
        if parameter.name in designs:
            mixed = mixed_start(designs[parameter.name], *seen[name], between)
            values |= mixed.values
            parametrisations |= mixed.parametrisations
        elif parameter.truncated_at:
            values[name] = np.maximum(estimates, np.log(SMALLEST_GAP))
            values |= dict(zip(parameter.hyperpriors, CRITERIA_MOMENTS, strict=False))
        else:
            values[name] = estimates
    return Start({spec.named(n): v for n, v in values.items()}, parametrisations)


def mixed_start(
    design: Design, estimates: Floats, variances: Floats, between: float | None
) -> Start:
    """Coefficients and standard deviations, and the effects that the data suggest.

    Estimates and variances have shape (cells, *extra); every element of the extra dims is fitted
    by itself, from a variance between groups if one is given.
    """
    parameter, extra = design.parameter, estimates.shape[1:]
    y = estimates.reshape(len(estimates), -1)
    v = variances.reshape(len(variances), -1)
    plain, size = parametrise(design, extra), y.shape[1]
    if not size:
        # With two ratings there is no gap between criteria; shapes are those of one element less.
        y, v = np.zeros((len(y), 1)), np.ones((len(y), 1))
    fits = [fit_mixed(plain, y[:, j], v[:, j], between=between) for j in range(y.shape[1])]
    common = unflatten(np.stack([fit.common for fit in fits], axis=-1)[..., :size], extra)
    values: dict[str, Floats] = {}
    parts = []
    for b, part in enumerate(plain.blocks):
        own, information, sigmas = (
            unflatten(
                np.stack([getattr(fit.blocks[b], name) for fit in fits], axis=-1)[..., :size], extra
            )
            for name in ("estimates", "information", "sigmas")
        )
        parts.append(replace(part, estimates=own, information=information))
        values |= block_values(parameter, parts[-1], sigmas)
    start = 0
    for term in design.common:
        stop = start + term.columns.shape[1]
        pick = slice(start, stop) if term.labels is not None else start
        values[f"{parameter}_{term.name}"] = common[pick]
        start = stop
    return Start(values, {parameter: Parametrisation(design, tuple(parts))})


def block_values(parameter: str, part: BlockParametrisation, sigmas: Floats) -> dict[str, Floats]:
    """Starting values of a block's variables; sigmas (effects, *extra)."""
    block, values = part.block, {}
    start = 0
    for term in block.terms:
        pick = slice(start, start + term.columns.shape[1]) if term.labels is not None else start
        start += term.columns.shape[1]
        values[f"{parameter}_{term.name}|{block.factor}_sigma"] = sigmas[pick]
    if block.is_correlated:
        # No correlation.
        size = len(sigmas)
        values[f"{parameter}_{block.name}_partial"] = np.full(size * (size - 1) // 2, 0.5)
    # An offset of 0 is the effect that the data suggest.
    offsets = np.zeros(part.estimates.shape)
    values[offset_name(parameter, block)] = offsets[:, 0] if is_single(block) else offsets
    return values


def unflatten(values: Floats, extra: tuple[int, ...]) -> Floats:
    """Last dim, the elements, in the shape of the extra dims; none where there are none."""
    return values.reshape((*values.shape[:-1], *extra))
