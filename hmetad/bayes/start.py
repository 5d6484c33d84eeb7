"""Where chains begin, and what the data say of the effects of every group.

Count table, ModelSpec and Layout → Start: values of the free variables, and how each linear
predictor is sampled. Every cell is estimated by itself (`hmetad.mle.scoring`), and formulas are
then fitted to those estimates as linear mixed models whose errors are known. A cell of a few trials
has no estimate of its own that means anything: its likelihood is linearised where the cells around
it are, as in penalised quasi-likelihood.
Source: Breslow & Clayton (1993).

From a prior's centre, cells of 20,000 trials begin thousands of log-likelihood units away, and
a chain sometimes adapts its step size during that descent and then mixes slowly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.parametrisation import Parametrisation, parametrise
from hmetad.likelihood.tape import column_slices
from hmetad.mle.scoring import CellLikelihood, penalised_modes
from hmetad.specs.design import Block, Design, Term, places_of
from hmetad.specs.layout import FormulaLayout, Layout, Variable
from hmetad.specs.spec import ModelSpec

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Estimates = dict[str, tuple[Floats, Floats]]

SMALLEST_GAP = 0.05
# Mean and SD of the criteria of all cells, where they are estimated.
CRITERIA_MOMENTS = (np.array(1.0), np.array(0.5))
# Of a mixed model. It is where chains begin, so a few rounds do.
EM_ROUNDS = 30
SMALLEST_SIGMA = 0.05
# Information of an effect, times its variance, below which it is none but for rounding.
SMALLEST_RATIO = 1e-6
# Trials of a cell below which it is not estimated by itself.
FEW_TRIALS = 20
# Rounds of linearising and fitting, and of EM in each.
ROUNDS, EM_ROUNDS_EACH = 6, 4
# Variance between groups that EM then begins with: single cells vary by their errors alone.
BETWEEN = 0.25**2
# SD of effects that are integrated out.
BETWEEN_ITEMS = 0.8
# Largest change of a value in a round.
LARGEST_STEP = 1.0
# Least information of a cell, as a share of the mean.
SMALLEST_SHARE = 1e-6


@dataclass(frozen=True)
class Start:
    """Starting values by name of the free variable, and parametrisations by parameter."""

    values: dict[str, Floats] = field(default_factory=dict)
    parametrisations: dict[str, Parametrisation] = field(default_factory=dict)


def starting_point(
    counts: xr.DataArray, spec: ModelSpec, layout: Layout, given: Mapping[str, Floats]
) -> Start:
    """Starting values, and what the data say of every group's effects."""
    table = counts.values.astype(float)
    modes = penalised_modes(table, spec.record, given)
    estimates, between = modes.without_penalty, None
    is_sparse = float(counts.sum()) / counts.sizes["cell"] < FEW_TRIALS
    if layout.integrated is not None:
        # Without a penalty, the gap of a rating that an observer never gave is anywhere.
        estimates = {name: (modes.values[name], own[1]) for name, own in estimates.items()}
    elif is_sparse and not layout.own:
        designs = {name: formula.design for name, formula in layout.formulas.items()}
        estimates, between = linearised_estimates(table, spec, designs, given), BETWEEN
    values: dict[str, Floats] = {}
    parametrisations: dict[str, Parametrisation] = {}
    for parameter in spec.record.parameters:
        name = parameter.variable
        if parameter.name in layout.formulas:
            mixed = mixed_start(layout.formulas[parameter.name], *estimates[name], between)
            values |= mixed.values
            parametrisations |= mixed.parametrisations
            continue
        own, *hyper = layout.own[parameter.name]
        values[own.name] = modes.values[name]
        if parameter.truncated_at:
            values[own.name] = np.maximum(values[own.name], np.log(SMALLEST_GAP))
        values |= {v.name: x for v, x in zip(hyper, CRITERIA_MOMENTS, strict=False)}
    if layout.integrated is not None:
        values |= {sd.name: np.array(BETWEEN_ITEMS) for sd in layout.integrated.sds}
        if layout.integrated.partial is not None:
            values[layout.integrated.partial.name] = np.array(0.5)
    return Start(values, parametrisations)


def mixed_start(
    formula: FormulaLayout, estimates: Floats, variances: Floats, between: float | None
) -> Start:
    """Coefficients and standard deviations, and the effects that the data suggest.

    Estimates and variances have shape (cells, *extra); every element of the extra dims is fitted
    by itself, from a variance between groups if one is given.
    """
    design, extra = formula.design, estimates.shape[1:]
    plain, size = parametrise(design, extra), int(np.prod(extra, dtype=int))
    # With two ratings there is no gap between criteria; shapes are those of one element less.
    y, v = np.zeros((len(estimates), 1)), np.ones((len(estimates), 1))
    if size:
        y, v = estimates.reshape(len(y), -1), variances.reshape(len(v), -1)
    fits = [fit_mixed(plain, y[:, j], v[:, j], between=between) for j in range(y.shape[1])]

    def joined(found: list[Floats]) -> Floats:
        together = np.stack(found, axis=-1)[..., :size]
        return together.reshape((*together.shape[:-1], *extra))

    values = by_term(formula.coefficients, design.common, joined([fit.common for fit in fits]))
    parts = []
    for b, (part, own) in enumerate(zip(plain.blocks, formula.blocks, strict=True)):
        found = [fit.blocks[b] for fit in fits]
        suggested = joined([one.estimates for one in found])
        information = joined([one.information for one in found])
        parts.append(replace(part, estimates=suggested, information=information))
        values |= by_term(own.sds, part.block.terms, joined([one.sigmas for one in found]))
        if own.partial is not None:
            # No correlation.
            values[own.partial.name] = np.full(own.partial.shape, 0.5)
        # An offset of 0 is the effect that the data suggest.
        values[own.offset.name] = np.zeros(own.offset.shape)
    return Start(values, {design.parameter: Parametrisation(design, tuple(parts))})


def by_term(
    variables: Sequence[Variable], terms: Sequence[Term], together: Floats
) -> dict[str, Floats]:
    """Parts of the values of all columns (columns, *extra), by the variable of their term."""
    return {
        variable.name: together[place].reshape(variable.shape)
        for variable, place in zip(variables, places_of(terms), strict=True)
    }


@dataclass(frozen=True)
class BlockFit:
    """Effects of a block as the data suggest them.

    Parameters
    ----------
    effects : array, shape (groups, effects)
        Drawn towards 0.
    sigmas : array, shape (effects,)
        Standard deviations between groups.
    estimates, information : array, shape (groups, effects)
        The groups' own coefficients by their data alone, and the reciprocals of their variances.
    """

    effects: Floats
    sigmas: Floats
    estimates: Floats
    information: Floats


@dataclass(frozen=True)
class MixedFit:
    """Common coefficients (coefficients,), and the blocks' effects."""

    common: Floats
    blocks: list[BlockFit]


def fit_mixed(
    parametrisation: Parametrisation,
    y: Floats,
    v: Floats,
    *,
    between: float | None = None,
    rounds: int = EM_ROUNDS,
) -> MixedFit:
    """Linear mixed model of estimates y of variances v (cells,), by EM and backfitting.

    It begins with a variance between groups; by default what estimates vary beyond their errors.
    """
    columns, parts = parametrisation.design.columns, parametrisation.blocks
    if between is None:
        between = max(float(np.var(y) - np.mean(v)), SMALLEST_SIGMA**2)
    weights = 1 / (v + between)
    common = np.linalg.lstsq(columns * np.sqrt(weights)[:, None], y * np.sqrt(weights))[0]
    blocks = [part.block.columns for part in parts]
    sigmas = [np.full(z.shape[1], np.sqrt(between)) for z in blocks]
    effects = [
        np.zeros((len(p.block.groups), z.shape[1])) for p, z in zip(parts, blocks, strict=True)
    ]
    shares = [np.zeros(len(y)) for _ in parts]
    for _ in range(rounds):
        for i, part in enumerate(parts):
            rest = y - columns @ common - sum(shares) + shares[i]
            effects[i], variance = posterior_of_effects(part.block, rest, v, sigmas[i])
            second = (effects[i] ** 2 + variance).mean(axis=0)
            sigmas[i] = np.sqrt(np.maximum(second, SMALLEST_SIGMA**2))
            shares[i] = (blocks[i] * effects[i][part.block.index]).sum(axis=1)
    fits = []
    for i, part in enumerate(parts):
        # Effects of outer blocks are in the mean; those of all others are unknown.
        known = {i, *(outer.place for outer in part.outer)}
        spread = [blocks[k] ** 2 @ sigmas[k] ** 2 for k in range(len(parts)) if k not in known]
        rest = y - columns @ common - sum(shares) + shares[i]
        own, variance = posterior_of_effects(part.block, rest, v + sum(spread), sigmas[i])
        ratio = sigmas[i] ** 2 / variance - 1
        ratio = np.where(ratio < SMALLEST_RATIO, 0.0, ratio)
        alone = np.divide(own * (1 + ratio), ratio, where=ratio > 0, out=np.zeros(own.shape))
        alone += part.mean_weights @ common
        for outer in part.outer:
            theirs = effects[outer.place][outer.parents]
            alone += (outer.weights * theirs[:, None]).sum(axis=(2, 3))
        fits.append(BlockFit(effects[i], sigmas[i], alone, ratio / sigmas[i] ** 2))
    return MixedFit(common, fits)


def posterior_of_effects(
    block: Block, rest: Floats, v: Floats, sigmas: Floats
) -> tuple[Floats, Floats]:
    """Means and variances of the effects at these standard deviations, (groups, effects)."""
    columns = block.columns
    groups, effects = len(block.groups), columns.shape[1]
    information = np.zeros((groups, effects, effects))
    np.add.at(information, block.index, columns[:, :, None] * columns[:, None] / v[:, None, None])
    pull = np.zeros((groups, effects))
    np.add.at(pull, block.index, columns * (rest / v)[:, None])
    covariance = np.linalg.inv(information + np.diag(sigmas**-2.0))
    mean = (covariance @ pull[..., None])[..., 0]
    return mean, np.diagonal(covariance, axis1=1, axis2=2)


def predicted_by(parametrisation: Parametrisation, fit: MixedFit) -> Floats:
    """Value of every cell by a mixed model, (cells,)."""
    total = parametrisation.design.columns @ fit.common
    for part, own in zip(parametrisation.blocks, fit.blocks, strict=True):
        block = part.block
        total = total + (block.columns * own.effects[block.index]).sum(axis=1)
    return total


def linearised_estimates(
    table: Floats, spec: ModelSpec, designs: Mapping[str, Design], given: Mapping[str, Floats]
) -> Estimates:
    r"""Estimates of cells and their variances, by variable; only their means over groups say much.

    With score g and information I of a cell at the current values θ, and the information J of all
    cells together, the estimate of parameter p is θ + g*/h with

    .. math:: g^*_p = \frac{(J^{-1} g)_p}{(J^{-1})_{pp}}, \quad
              h_p = \frac{I_{pp}}{J_{pp} (J^{-1})_{pp}}

    so that what other parameters explain does not count as information on p.
    """
    mean = {name: values.mean(keepdims=True) for name, values in given.items()}
    together = penalised_modes(table.sum(axis=0)[None], spec.record, mean)
    problem = CellLikelihood(spec.record, table, given)
    theta = np.concatenate(
        [np.repeat(own.reshape(1, -1), len(table), axis=0) for own in together.values.values()],
        axis=1,
    )
    estimates = variances = theta
    for _ in range(ROUNDS):
        estimates, variances = linearise(problem, theta)
        change = fitted_by_designs(problem, designs, estimates, variances) - theta
        theta = theta + np.clip(change, -LARGEST_STEP, LARGEST_STEP)
    estimates, variances = linearise(problem, theta)
    own, spread = problem.split(estimates), problem.split(variances)
    return {name: (own[name], spread[name]) for name in own}


def linearise(problem: CellLikelihood, theta: Floats) -> tuple[Floats, Floats]:
    """Estimates and variances (cells, parameters) at these values."""
    _, score, information = problem.evaluate(theta)
    covariance = np.linalg.pinv(information.sum(axis=0), hermitian=True)
    alone = np.diagonal(covariance)
    efficient = score @ covariance / alone
    own = np.diagonal(information, axis1=1, axis2=2)
    share = 1 / (own.sum(axis=0) * alone)
    known = np.maximum(own * share, SMALLEST_SHARE * (own * share).mean(axis=0))
    return theta + efficient / known, 1 / known


def fitted_by_designs(
    problem: CellLikelihood, designs: Mapping[str, Design], estimates: Floats, variances: Floats
) -> Floats:
    """Values that linear mixed models of the estimates give every cell, (cells, parameters)."""
    found, places = np.empty_like(estimates), column_slices(problem.shapes)
    for parameter in problem.likelihood.parameters:
        plain, place = parametrise(designs[parameter.name]), places[parameter.variable]
        for j in range(place.start, place.stop):
            fit = fit_mixed(
                plain, estimates[:, j], variances[:, j], between=BETWEEN, rounds=EM_ROUNDS_EACH
            )
            found[:, j] = predicted_by(plain, fit)
    return found
