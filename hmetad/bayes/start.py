"""Where the chains begin, and which group effects are sampled centred: both from the data.

Count table, ModelSpec and Designs → Start: values of the free variables, and how each linear
predictor is sampled. Every cell is estimated by itself (`hmetad.mle.scoring`); formulas are then
fitted to those estimates, weighted by their precision, as a linear mixed model.

From a prior's centre, cells of 20,000 trials begin thousands of log-likelihood units away, and
a chain sometimes adapts its step size during that descent and then mixes slowly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.design import Block, Design
from hmetad.bayes.dims import is_single
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation, parametrise
from hmetad.bayes.spec import ModelSpec
from hmetad.mle.scoring import penalised_modes

__all__ = ["Start", "starting_point"]

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]

LIKELIHOOD_LOST = 8.0
EM_ROUNDS = 30
SMALLEST_SIGMA = 0.05
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
    """Starting values, and the way in which each effect is sampled.

    An effect is sampled centred where the data say clearly that groups differ: without a
    standard deviation between them the log-likelihood would be lower by at least 8. Centred,
    groups with much data mix best; but where the standard deviation may be near 0, a centred
    effect runs into a funnel, and is sampled non-centred. Each response and criterion is judged
    by itself.

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
    values: dict[str, Floats] = {}
    parametrisations: dict[str, Parametrisation] = {}
    for parameter in spec.record.parameters:
        name, estimates = parameter.variable, modes.values[parameter.variable]
        if parameter.name in designs:
            mixed = mixed_start(designs[parameter.name], estimates, modes.variances[name])
            values |= mixed.values
            parametrisations |= mixed.parametrisations
        elif parameter.truncated_at:
            values[name] = np.maximum(estimates, np.log(SMALLEST_GAP))
            values |= dict(zip(parameter.hyperpriors, CRITERIA_MOMENTS, strict=False))
        else:
            values[name] = estimates
    return Start({spec.named(n): v for n, v in values.items()}, parametrisations)


def mixed_start(design: Design, estimates: Floats, variances: Floats) -> Start:
    """Coefficients, effects and their standard deviations, from cells' estimates.

    Estimates and variances have shape (cells, *extra); every element of the extra dims is fitted
    by itself.
    """
    parameter, extra = design.parameter, estimates.shape[1:]
    y = estimates.reshape(len(estimates), -1)
    v = variances.reshape(len(variances), -1)
    fits = [fit_mixed(design, y[:, j], v[:, j]) for j in range(y.shape[1])]
    common = np.stack([fit.common for fit in fits], axis=-1)
    average = common.copy()
    values: dict[str, Floats] = {}
    centring: dict[str, Flags] = {}
    for b, block in enumerate(design.blocks):
        clarity = np.stack([fit.blocks[b].clarity for fit in fits], axis=-1)
        centring |= centred_effects(block, unflatten(clarity, extra))
    parametrisation = parametrise(design, centring, len(extra))
    for b, part in enumerate(parametrisation.blocks):
        effects = np.stack([fit.blocks[b].effects for fit in fits], axis=-1)
        sigmas = np.stack([fit.blocks[b].sigmas for fit in fits], axis=-1)
        own = effects + np.tensordot(part.mean_weights, common, axes=1)
        average += np.tensordot(part.average_weights, effects, axes=2)
        values |= block_values(parameter, part, effects, own, sigmas, extra)
    start = 0
    for term in design.common:
        stop = start + term.columns.shape[1]
        pick = slice(start, stop) if term.labels is not None else start
        values[f"{parameter}_{term.name}"] = unflatten(common[pick], extra)
        values[f"{parameter}_{term.name}_average"] = unflatten(average[pick], extra)
        start = stop
    return Start(values, {parameter: parametrisation})


@dataclass(frozen=True)
class BlockFit:
    """Effects (groups, effects), standard deviations (effects,), and how clear these are.

    Clarity is the log-likelihood that is lost where the standard deviation is 0, as expected of
    groups with the estimated one: Σ (r - log(1 + r)) / 2, r the ratio of the variance between
    groups to a group's own error.
    """

    effects: Floats
    sigmas: Floats
    clarity: Floats


@dataclass(frozen=True)
class MixedFit:
    """Common coefficients (coefficients,), and the blocks' effects."""

    common: Floats
    blocks: list[BlockFit]


def fit_mixed(design: Design, y: Floats, v: Floats) -> MixedFit:
    """Linear mixed model of one number per cell, by some rounds of EM and backfitting."""
    columns, between = design.columns, max(float(np.var(y) - np.mean(v)), 0.05**2)
    weights = 1 / (v + between)
    common = np.linalg.lstsq(columns * np.sqrt(weights)[:, None], y * np.sqrt(weights))[0]
    blocks = [b.columns for b in design.blocks]
    fits = [
        BlockFit(
            np.zeros((len(b.groups), z.shape[1])),
            np.full(z.shape[1], np.sqrt(between)),
            np.zeros(z.shape[1]),
        )
        for b, z in zip(design.blocks, blocks, strict=True)
    ]
    shares = [np.zeros(len(y)) for _ in design.blocks]
    for _ in range(EM_ROUNDS):
        for i, block in enumerate(design.blocks):
            rest = y - columns @ common - sum(shares) + shares[i]
            fits[i] = fit_block(block, blocks[i], rest, v, fits[i].sigmas)
            shares[i] = (blocks[i] * fits[i].effects[block.index]).sum(axis=1)
    return MixedFit(common, fits)


def fit_block(block: Block, columns: Floats, rest: Floats, v: Floats, sigmas: Floats) -> BlockFit:
    """Posterior of the effects at the present standard deviations, and their next values."""
    groups, effects = len(block.groups), columns.shape[1]
    information = np.zeros((groups, effects, effects))
    np.add.at(information, block.index, columns[:, :, None] * columns[:, None] / v[:, None, None])
    pull = np.zeros((groups, effects))
    np.add.at(pull, block.index, columns * (rest / v)[:, None])
    covariance = np.linalg.inv(information + np.diag(sigmas**-2.0))
    mean = (covariance @ pull[..., None])[..., 0]
    own_variance = np.diagonal(covariance, axis1=1, axis2=2)
    variance = np.maximum((mean**2 + own_variance).mean(axis=0), SMALLEST_SIGMA**2)
    # What the data alone would leave uncertain of each group's effect.
    precision = np.maximum(1 / own_variance - sigmas**-2.0, 1e-12)
    ratio = variance * precision
    clarity = (ratio - np.log1p(ratio)).sum(axis=0) / 2
    return BlockFit(mean, np.sqrt(variance), clarity)


def centred_effects(block: Block, clarity: Floats) -> dict[str, Flags]:
    """Which effects of a block clearly differ between groups, as in `starting_point`."""
    is_clear: Flags = clarity >= LIKELIHOOD_LOST
    if block.is_correlated:
        return {block.name: np.array(is_clear.all())}
    result, start = {}, 0
    for term in block.terms:
        stop = start + term.columns.shape[1]
        result[f"{term.name}|{block.factor}"] = is_clear[start:stop]
        start = stop
    return result


def block_values(
    parameter: str,
    part: BlockParametrisation,
    effects: Floats,
    own: Floats,
    sigmas: Floats,
    extra: tuple[int, ...],
) -> dict[str, Floats]:
    """Starting values of a block's variables; arrays (groups, effects, elements)."""
    block, values = part.block, {}
    start = 0
    for term in block.terms:
        pick = slice(start, start + term.columns.shape[1]) if term.labels is not None else start
        start += term.columns.shape[1]
        values[f"{parameter}_{term.name}|{block.factor}_sigma"] = unflatten(sigmas[pick], extra)
    if block.is_correlated:
        # No correlation.
        size = len(sigmas)
        values[f"{parameter}_{block.name}_partial"] = np.full(size * (size - 1) // 2, 0.5)
    offsets = effects / sigmas
    elements = np.broadcast_to(part.elements, (len(sigmas), *extra)).reshape(sigmas.shape)
    for end, kept, chosen in (
        ("coefficient", np.where(elements, own, offsets), part.is_centred),
        ("offset", offsets, ~part.is_centred),
    ):
        kept = kept[:, 0] if is_single(block) else kept[:, chosen]
        values[f"{parameter}_{block.name}_{end}"] = unflatten(kept, extra)
    return values


def unflatten(values: Floats, extra: tuple[int, ...]) -> Floats:
    """Last dim, the elements, in the shape of the extra dims; none where there are none."""
    return values.reshape((*values.shape[:-1], *extra))
