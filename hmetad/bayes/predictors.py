"""Linear predictors: a parameter of every cell from coefficients and effects of groups.

Parametrisation and priors → PyTensor variables, inside a PyMC model. Variables are named as Bambi
names them: ``log_m_Intercept``, ``log_m_task``, ``log_m_1|subject`` with ``log_m_1|subject_sigma``,
and ``log_m_task|subject_corr`` for correlated effects. To be sampled, effects are made of offsets
(``_offset``), as `hmetad.bayes.parametrisation` says; else they are normal variables.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.bayes.dims import FACTOR_DIM, choose_dim, effect_labels, is_single, offset_name
from hmetad.bayes.distributions import add_variable, lkj_cholesky
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation
from hmetad.likelihood.priors import Prior
from hmetad.specs.design import Block, Term

__all__ = ["linear_predictor"]

type Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Variables:
    """What the variables of a parameter have in common, in the current PyMC model.

    Parameters
    ----------
    parameter : str
    extra : tuple of str
        Dims of the parameter beside the cell: response, criterion.
    prior_of, named : callable
        Prior of a variable, and the name that it bears in the posterior, by its plain name.
    """

    parameter: str
    extra: tuple[str, ...]
    prior_of: Callable[[str], Prior]
    named: Callable[[str], str]

    def add(self, plain: str, dims: tuple[str, ...]) -> TensorVariable:
        """Free variable with its prior, (*dims, *extra)."""
        return add_variable(self.named(plain), self.prior_of(plain), (*dims, *self.extra))

    def label(self, dim: str, labels: NDArray[np.str_] | None) -> tuple[str, ...]:
        """Dim with these labels; none where there are no labels."""
        if labels is None:
            return ()
        model, own = pm.modelcontext(None), [str(label) for label in labels]
        name = choose_dim(model.coords, self.parameter, dim, own)
        if name not in model.coords:
            model.add_coord(name, own)
        return (name,)

    def of_groups(self, block: Block, end: str, labels: NDArray[np.str_] | None) -> tuple[str, ...]:
        """Dims of effects: of the groups of a block, of these labels, and the extra ones."""
        groups = self.label(f"{block.factor}{FACTOR_DIM}", block.groups)
        return (*groups, *self.label(end, labels), *self.extra)

    def terms(self, block: Block) -> Iterator[tuple[str, Term, slice | int]]:
        """Plain name of the effects of each term, and their place among all of a group."""
        start = 0
        for term in block.terms:
            stop = start + term.columns.shape[1]
            name = f"{self.parameter}_{term.name}|{block.factor}"
            yield name, term, slice(start, stop) if term.labels is not None else start
            start = stop


def linear_predictor(
    parametrisation: Parametrisation,
    extra: tuple[str, ...],
    prior_of: Callable[[str], Prior],
    named: Callable[[str], str],
    *,
    by_offsets: bool,
) -> TensorVariable:
    """X β + Σ Z u of every cell, (cells, *extra), with all its variables in the current model.

    `prior_of` and `named` take the plain name of a variable; `by_offsets` says whether effects are
    made of offsets, to be sampled, or are variables themselves.
    """
    design = parametrisation.design
    own = Variables(design.parameter, extra, prior_of, named)
    common = common_coefficients(own, design.common)
    effects: list[TensorVariable] = []
    for part in parametrisation.blocks:
        sigma = deviations_between(own, part.block)
        if by_offsets:
            effects.append(effects_by_offsets(own, part, sigma, common, effects))
        else:
            effects.append(plain_effects(own, part.block, sigma))
    total: TensorVariable | float = 0.0
    for part, values in zip(parametrisation.blocks, effects, strict=True):
        total = total + gathered(part.block, values)
    if common is not None:
        is_intercept = design.columns.shape[1] == 1 and (design.columns == 1).all()
        columns = pt.as_tensor(design.columns)
        total = total + (common if is_intercept else pt.tensordot(columns, common, axes=1))
    sizes = [len(pm.modelcontext(None).coords[dim]) for dim in extra]
    return pt.broadcast_to(total, (len(design.columns), *sizes))


def common_coefficients(own: Variables, terms: Sequence[Term]) -> TensorVariable | None:
    """Coefficients of all common terms, (columns, *extra); None without any."""
    found = []
    for term in terms:
        dims = own.label(f"{term.name}_dim", term.labels)
        values = own.add(f"{own.parameter}_{term.name}", dims)
        found.append(values if dims else values[None])
    return pt.concatenate(found, axis=0) if found else None


def deviations_between(own: Variables, block: Block) -> TensorVariable:
    """Standard deviations of a block's effects between groups, (effects, *extra)."""
    sigmas = []
    for name, term, _ in own.terms(block):
        dims = own.label(f"{term.name}__expr_dim", term.labels)
        sigma = own.add(f"{name}_sigma", dims)
        sigmas.append(sigma if dims else sigma[None])
    return pt.concatenate(sigmas) if len(sigmas) > 1 else sigmas[0]


def correlation_factor(own: Variables, block: Block) -> TensorVariable:
    """Cholesky factor of the correlations of a block's effects, which become a variable."""
    labels, name = effect_labels(block), f"{own.parameter}_{block.name}"
    eta = own.prior_of(f"{name}_corr").parameters["eta"]
    unit = lkj_cholesky(f"{name}_partial", len(labels), eta)
    dims = [own.label(f"{block.name}__{end}", labels)[0] for end in ("effect", "effect_bis")]
    pm.Deterministic(own.named(f"{name}_corr"), row_products(unit, unit), dims=dims)
    return unit


def effects_by_offsets(
    own: Variables,
    part: BlockParametrisation,
    sigma: TensorVariable,
    common: TensorVariable | None,
    others: Sequence[TensorVariable],
) -> TensorVariable:
    """Effects (groups, effects, *extra) made of offsets, each group's coefficients less means."""
    block = part.block
    mean = absorbed_mean(part.mean_weights, common, len(own.extra))
    for outer in part.outer:
        # Dims (groups, effects, parents, outer effects, *extra).
        theirs = others[outer.place][outer.parents][:, None]
        weights = pt.shape_padright(pt.as_tensor(outer.weights), len(own.extra))
        mean = mean + (weights * theirs).sum(axis=(2, 3))
    rest = part.estimates - mean
    if block.is_correlated:
        effects = correlated_by_offsets(own, part, sigma, rest)
    else:
        pick: int | slice = 0 if is_single(block) else slice(None)
        labels = None if is_single(block) else effect_labels(block)
        dims = own.of_groups(block, f"{block.name}__offset", labels)
        root = pt.sqrt(1 + part.information * sigma**2)
        pulled = part.information * rest * sigma / root
        name = offset_name(own.parameter, block)
        offset = pm.Normal(name, -pulled[:, pick], root[:, pick], dims=dims)
        offset = offset[:, None] if is_single(block) else offset
        effects = sigma * (offset + pulled) / root
    for name, term, place in own.terms(block):
        dims = own.of_groups(block, f"{term.name}__expr_dim", term.labels)
        pm.Deterministic(own.named(name), effects[:, place], dims=dims)
    return effects


def correlated_by_offsets(
    own: Variables, part: BlockParametrisation, sigma: TensorVariable, rest: TensorVariable
) -> TensorVariable:
    """Correlated effects: each given those before it, σ · L · score."""
    block, labels = part.block, effect_labels(part.block)
    unit = correlation_factor(own, block)
    alone = sigma * pt.diagonal(unit)
    root = pt.sqrt(1 + part.information * alone**2)
    pull = part.information * alone / root
    # offset = factor · score - pull · rest, of which factor is lower triangular.
    below = pt.tril(unit, -1) * sigma[:, None]
    factor = pull[:, :, None] * below + root[:, :, None] * np.eye(len(labels))
    dims = own.of_groups(block, f"{block.name}__effect", labels)
    name = offset_name(own.parameter, block)
    offset = pm.MvNormal(name, -pull * rest, chol=factor, dims=dims)
    pulled, scores = offset + pull * rest, list[TensorVariable]()
    for i in range(len(labels)):
        before = sum(factor[:, i, j] * score for j, score in enumerate(scores))
        scores.append((pulled[:, i] - before) / root[:, i])
    return row_products(pt.stack(scores, axis=1), unit) * sigma


def plain_effects(own: Variables, block: Block, sigma: TensorVariable) -> TensorVariable:
    """Effects as normal variables; correlated ones given those of the terms before."""
    unit = correlation_factor(own, block) if block.is_correlated else None
    found, scores = list[TensorVariable](), list[TensorVariable]()
    for name, term, place in own.terms(block):
        dims = own.of_groups(block, f"{term.name}__expr_dim", term.labels)
        if unit is None:
            effects = pm.Normal(own.named(name), 0, sigma[place], dims=dims)
            found.append(effects if isinstance(place, slice) else effects[:, None])
            continue
        first, last = len(scores), len(scores) + term.columns.shape[1]
        sigmas, rows = sigma[first:last], unit[first:last]
        mean = sum((score[:, None] * rows[:, j] for j, score in enumerate(scores)), 0.0)
        mean = sigmas * mean + pt.zeros((len(block.groups), last - first))
        factor = sigmas[:, None] * rows[:, first:last]
        if isinstance(place, slice):
            effects = pm.MvNormal(own.named(name), mean, chol=factor, dims=dims)
        else:
            effects = pm.Normal(own.named(name), mean[:, 0], factor[0, 0], dims=dims)[:, None]
        found.append(effects)
        for i in range(first, last):
            before = sum((unit[i, j] * score for j, score in enumerate(scores)), 0.0)
            scores.append((effects[:, i - first] / sigma[i] - before) / unit[i, i])
    return pt.concatenate(found, axis=1)


def absorbed_mean(weights: Floats, common: TensorVariable | None, extra: int) -> TensorVariable:
    """Mean of the groups' own coefficients, (groups or 1, effects, *extra)."""
    if common is None or not weights.any():
        return pt.zeros((1, weights.shape[1], *[1] * extra))
    used = np.flatnonzero(weights.any(axis=(0, 1)))
    part = weights[:, :, used]
    chosen = common if len(used) == weights.shape[2] else common[used]
    if (part == np.eye(*part.shape[1:])).all():
        return chosen[None]
    if (part == part[:1]).all():
        part = part[:1]
    return pt.tensordot(pt.as_tensor(part), chosen, axes=1)


def row_products(left: TensorVariable, right: TensorVariable) -> TensorVariable:
    """left @ rightᵀ of small matrices, without the BLAS that PyTensor may lack."""
    return (left[:, None, :] * right[None, :, :]).sum(axis=-1)


def gathered(block: Block, effects: TensorVariable) -> TensorVariable:
    """Σ of a block's columns times the effects (groups, effects, *extra) of each cell's group."""
    cells, columns = len(block.index), block.columns
    in_order = len(block.groups) == cells and (block.index == np.arange(cells)).all()
    per_cell = effects if in_order else effects[block.index]
    if columns.shape[1] == 1 and (columns == 1).all():
        return per_cell[:, 0]
    return (pt.shape_padright(pt.as_tensor(columns), effects.ndim - 2) * per_cell).sum(axis=1)
