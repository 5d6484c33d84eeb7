"""Effects of groups in a linear predictor.

BlockParametrisation → PyTensor variables, inside a PyMC model: standard deviations, correlations
and effects of every group. To be sampled, effects are made of offsets (``_offset``), as
`hmetad.bayes.parametrisation` says; else they are normal variables.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.bayes.dims import FACTOR_DIM, choose_dim, effect_labels, is_single, offset_name
from hmetad.bayes.distributions import add_variable, lkj_cholesky
from hmetad.bayes.parametrisation import BlockParametrisation
from hmetad.likelihood.priors import Prior
from hmetad.specs.design import Block

__all__ = ["GroupEffects", "NameOf", "PriorOf", "gather_effects", "label_dim"]

type Floats = NDArray[np.float64]
type PriorOf = Callable[[str], Prior]
type NameOf = Callable[[str], str]


class GroupEffects:
    """Variables of a block: standard deviations, correlations and effects.

    Parameters
    ----------
    parameter : str
    part : BlockParametrisation
    extra : tuple of str
        Dims of the parameter beside the cell.
    common : tensor, shape (coefficients, *extra), or None
        Common coefficients.
    others : sequence of GroupEffects
        Of the blocks before this one.
    prior_of, named : callable
    by_offsets : bool
        As in `linear_predictor`.

    Attributes
    ----------
    deviation : tensor, shape (groups, effects, *extra)
        Effects, each group's own coefficients less their means.
    """

    def __init__(
        self,
        parameter: str,
        part: BlockParametrisation,
        extra: tuple[str, ...],
        common: TensorVariable | None,
        others: Sequence["GroupEffects"],
        prior_of: PriorOf,
        named: NameOf,
        *,
        by_offsets: bool,
    ) -> None:
        self.parameter, self.part, self.extra, self.named = parameter, part, extra, named
        self.block = part.block
        self.name = f"{parameter}_{self.block.name}"
        self.sigma = block_sigmas(parameter, self.block, extra, prior_of, named)
        self.deviation: TensorVariable
        if not by_offsets:
            self.deviation = self.plain_effects(prior_of)
            return
        mean = absorbed_mean(part.mean_weights, common, len(extra))
        for outer in part.outer:
            # Dims (groups, effects, parents, outer effects, *extra).
            theirs = others[outer.place].deviation[outer.parents][:, None]
            weights = pt.shape_padright(pt.as_tensor(outer.weights), len(extra))
            mean = mean + (weights * theirs).sum(axis=(2, 3))
        is_correlated = self.block.is_correlated
        self.deviation = (
            self.correlated_deviations(mean, prior_of) if is_correlated else self.deviations(mean)
        )
        self.give_effects()

    def deviations(self, mean: TensorVariable) -> TensorVariable:
        """Independent effects."""
        name, dims = offset_name(self.parameter, self.block), self.dims()
        information, rest = self.part.information, self.part.estimates - mean
        pick: int | slice = 0 if is_single(self.block) else slice(None)
        root = pt.sqrt(1 + information * self.sigma**2)
        pulled = information * rest * self.sigma / root
        offset = pm.Normal(name, -pulled[:, pick], root[:, pick], dims=dims)
        offset = offset[:, None] if is_single(self.block) else offset
        return self.sigma * (offset + pulled) / root

    def correlated_deviations(self, mean: TensorVariable, prior_of: PriorOf) -> TensorVariable:
        """Correlated effects: each given those before it, σ · L · score."""
        labels, unit = effect_labels(self.block), self.correlation_factor(prior_of)
        information, rest = self.part.information, self.part.estimates - mean
        own = self.sigma * pt.diagonal(unit)
        root = pt.sqrt(1 + information * own**2)
        pull = information * own / root
        # offset = factor · score - pull · rest, of which factor is lower triangular.
        below = pt.tril(unit, -1) * self.sigma[:, None]
        factor = pull[:, :, None] * below + root[:, :, None] * np.eye(len(labels))
        name = offset_name(self.parameter, self.block)
        offset = pm.MvNormal(name, -pull * rest, chol=factor, dims=self.dims("effect"))
        pulled = offset + pull * rest
        scores: list[TensorVariable] = []
        for i in range(len(labels)):
            before = sum(factor[:, i, j] * score for j, score in enumerate(scores))
            scores.append((pulled[:, i] - before) / root[:, i])
        return row_products(pt.stack(scores, axis=1), unit) * self.sigma

    def correlation_factor(self, prior_of: PriorOf) -> TensorVariable:
        """Cholesky factor of the correlations of the effects, which become a variable."""
        labels = effect_labels(self.block)
        eta = prior_of(f"{self.name}_corr").parameters["eta"]
        unit = lkj_cholesky(f"{self.name}_partial", len(labels), eta)
        dims = [self.label_dim(end, labels)[0] for end in ("effect", "effect_bis")]
        pm.Deterministic(self.named(f"{self.name}_corr"), row_products(unit, unit), dims=dims)
        return unit

    def give_effects(self) -> None:
        """The effects as variables of the model, a term each."""
        for name, dims, place in self.terms():
            pm.Deterministic(name, self.deviation[:, place], dims=dims)

    def terms(self) -> Iterator[tuple[str, tuple[str, ...], slice | int]]:
        """Name and dims of the effects of each term, and their place among all of a group."""
        parameter, start = self.parameter, 0
        for term in self.block.terms:
            stop = start + term.columns.shape[1]
            expression = label_dim(parameter, f"{term.name}__expr_dim", term.labels)
            dims = (*factor_dim(parameter, self.block), *expression, *self.extra)
            name = self.named(f"{parameter}_{term.name}|{self.block.factor}")
            yield name, dims, slice(start, stop) if expression else start
            start = stop

    def plain_effects(self, prior_of: PriorOf) -> TensorVariable:
        """Effects as normal variables; correlated ones given those of the terms before."""
        if not self.block.is_correlated:
            parts = [
                (pm.Normal(name, 0, self.sigma[place], dims=dims), place)
                for name, dims, place in self.terms()
            ]
            return pt.concatenate([with_effect(*part) for part in parts], axis=1)
        unit = self.correlation_factor(prior_of)
        columns: list[TensorVariable] = []
        scores: list[TensorVariable] = []
        for name, dims, place in self.terms():
            first = len(columns)
            last = place.stop if isinstance(place, slice) else first + 1
            sigma = self.sigma[first:last]
            mean = sum((z[:, None] * unit[first:last, j] for j, z in enumerate(scores)), 0.0)
            mean = sigma * mean + pt.zeros((len(self.block.groups), last - first))
            factor = sigma[:, None] * unit[first:last, first:last]
            if isinstance(place, slice):
                effects = pm.MvNormal(name, mean, chol=factor, dims=dims)
            else:
                effects = pm.Normal(name, mean[:, 0], factor[0, 0], dims=dims)
            own = with_effect(effects, place)
            for i in range(first, last):
                columns.append(own[:, i - first])
                before = sum((unit[i, j] * z for j, z in enumerate(scores)), 0.0)
                scores.append((columns[i] / self.sigma[i] - before) / unit[i, i])
        return pt.stack(columns, axis=1)

    def dims(self, end: str = "offset") -> tuple[str, ...]:
        """Dims of the offsets."""
        labels = None if is_single(self.block) else effect_labels(self.block)
        effect = self.label_dim(end, labels)
        return (*factor_dim(self.parameter, self.block), *effect, *self.extra)

    def label_dim(self, end: str, labels: NDArray[np.str_] | None) -> tuple[str, ...]:
        """Dim of the block's effects."""
        return label_dim(self.parameter, f"{self.block.name}__{end}", labels)


def with_effect(effects: TensorVariable, place: slice | int) -> TensorVariable:
    """Effects of a term, (groups, effects, *extra)."""
    return effects if isinstance(place, slice) else effects[:, None]


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


def block_sigmas(
    parameter: str, block: Block, extra: tuple[str, ...], prior_of: PriorOf, named: NameOf
) -> TensorVariable:
    """Standard deviations of a block's effects between groups, (effects, *extra)."""
    sigmas = []
    for term in block.terms:
        name = f"{parameter}_{term.name}|{block.factor}_sigma"
        expression = label_dim(parameter, f"{term.name}__expr_dim", term.labels)
        sigma = add_variable(named(name), prior_of(name), (*expression, *extra))
        sigmas.append(sigma if expression else sigma[None])
    return pt.concatenate(sigmas) if len(sigmas) > 1 else sigmas[0]


def row_products(left: TensorVariable, right: TensorVariable) -> TensorVariable:
    """left @ rightᵀ of small matrices, without the BLAS that PyTensor may lack."""
    return (left[:, None, :] * right[None, :, :]).sum(axis=-1)


def gather_effects(block: Block, effects: TensorVariable) -> TensorVariable:
    """Σ over effects of the block's columns times the effects of the cell's group.

    `effects` has dims (groups, effects, *extra).
    """
    cells, columns = len(block.index), block.columns
    in_order = len(block.groups) == cells and (block.index == np.arange(cells)).all()
    per_cell = effects if in_order else effects[block.index]
    if columns.shape[1] == 1 and (columns == 1).all():
        return per_cell[:, 0]
    return (pt.shape_padright(pt.as_tensor(columns), effects.ndim - 2) * per_cell).sum(axis=1)


def factor_dim(parameter: str, block: Block) -> tuple[str, ...]:
    """Dim of the groups of a block."""
    return label_dim(parameter, f"{block.factor}{FACTOR_DIM}", block.groups)


def label_dim(parameter: str, dim: str, labels: NDArray[np.str_] | None) -> tuple[str, ...]:
    """Dim with these labels in the current model; none where there are no labels."""
    if labels is None:
        return ()
    model = pm.modelcontext(None)
    own = [str(label) for label in labels]
    name = choose_dim(model.coords, parameter, dim, own)
    if name not in model.coords:
        model.add_coord(name, own)
    return (name,)
