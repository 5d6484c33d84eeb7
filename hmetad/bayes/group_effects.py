"""Effects of groups in a linear predictor, and how they are sampled.

BlockParametrisation → PyTensor variables, inside a PyMC model: standard deviations, correlations
and effects of every group. Effects are sampled in one of two ways, which give the same posterior:
*centred*, as the group's own coefficient with the population's as its mean (``_coefficient``), or
*non-centred*, as a standard normal times the standard deviation (``_offset``).
`hmetad.bayes.start` says which.

The data identify the mean of the observed groups, and the mean of their population only through
it. Where an effect is non-centred, the coefficient of the population and all offsets are strongly
correlated. So the mean of the observed groups is sampled (``_average``), and the coefficient of
the population is that less the mean of the deviations.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.bayes.design import Block
from hmetad.bayes.dims import FACTOR_DIM, choose_dim, effect_labels, is_single
from hmetad.bayes.distributions import add_variable, lkj_cholesky
from hmetad.bayes.parametrisation import BlockParametrisation
from hmetad.likelihood.priors import Prior

__all__ = [
    "GroupEffects",
    "NameOf",
    "PriorOf",
    "average_deviations",
    "label_dim",
]

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
type PriorOf = Callable[[str], Prior]
type NameOf = Callable[[str], str]


class GroupEffects:
    """Variables of a block: standard deviations and offsets first, then its effects.

    Parameters
    ----------
    parameter : str
    part : BlockParametrisation
    extra : tuple of str
        Dims of the parameter beside the cell.
    prior_of, named : callable
        As in `linear_predictor`.

    Attributes
    ----------
    deviation : tensor, shape (groups, non-centred effects, *extra), or None
    """

    def __init__(
        self,
        parameter: str,
        part: BlockParametrisation,
        extra: tuple[str, ...],
        prior_of: PriorOf,
        named: NameOf,
    ) -> None:
        self.parameter, self.part, self.extra, self.named = parameter, part, extra, named
        self.block, self.is_centred = part.block, part.is_centred
        self.name = f"{parameter}_{self.block.name}"
        self.labels = effect_labels(self.block)
        self.is_single = is_single(self.block)
        self.sigma = block_sigmas(parameter, self.block, extra, prior_of, named)
        self.unit = self.correlation_factor(prior_of) if self.block.is_correlated else None
        self.deviation: TensorVariable | None = None
        if not self.is_centred.all():
            self.deviation = self.deviations()

    def correlation_factor(self, prior_of: PriorOf) -> TensorVariable:
        """Cholesky factor of the correlations between effects."""
        eta = prior_of(f"{self.name}_corr").parameters["eta"]
        unit = lkj_cholesky(f"{self.name}_partial", len(self.labels), eta)
        dims = [self.label_dim(end)[0] for end in ("effect", "effect_bis")]
        pm.Deterministic(self.named(f"{self.name}_corr"), row_products(unit, unit), dims=dims)
        return unit

    def deviations(self) -> TensorVariable:
        """What the non-centred effects of a group add to the population's."""
        chosen = np.flatnonzero(~self.is_centred)
        name, dims = f"{self.name}_offset", self.dims("offset", chosen)
        if self.unit is not None:
            return row_products(pm.Normal(name, 0, 1, dims=dims), self.unit) * self.sigma
        offset = pm.Normal(name, 0, 1, dims=dims)
        return offset[:, None] * self.sigma if self.is_single else offset * self.sigma[chosen]

    def coefficients(self, mean: TensorVariable) -> TensorVariable:
        """Centred effects of every group, around their mean."""
        chosen = np.flatnonzero(self.is_centred)
        name, dims = f"{self.name}_coefficient", self.dims("coefficient", chosen)
        if self.unit is not None:
            centre = pt.broadcast_to(mean, (len(self.block.groups), len(self.labels)))
            return pm.MvNormal(name, centre, chol=self.sigma[:, None] * self.unit, dims=dims)
        pick = 0 if self.is_single else chosen
        centre, sigma = mean[:, pick], self.sigma[pick]
        is_centred = self.part.elements[pick]
        if is_centred.all():
            own = pm.Normal(name, centre, sigma, dims=dims)
        else:
            scale = pt.switch(is_centred, sigma, 1.0)
            free = pm.Normal(name, pt.switch(is_centred, centre, 0.0), scale, dims=dims)
            own = pt.switch(is_centred, free, centre + free * sigma)
        return own[:, None] if self.is_single else own

    def effects(self, common: TensorVariable | None) -> TensorVariable:
        """What the block adds to the predictor of every cell."""
        mean = absorbed_mean(self.part.mean_weights, common, len(self.extra))
        own = self.own_effects(mean)
        deviation = own - mean if self.is_centred.any() else own
        parameter, start = self.parameter, 0
        for term in self.block.terms:
            stop = start + term.columns.shape[1]
            expression = label_dim(parameter, f"{term.name}__expr_dim", term.labels)
            part = deviation[:, start:stop] if expression else deviation[:, start]
            dims = (*factor_dim(parameter, self.block), *expression, *self.extra)
            name = f"{parameter}_{term.name}|{self.block.factor}"
            pm.Deterministic(self.named(name), part, dims=dims)
            start = stop
        return gather_effects(self.block, own)

    def own_effects(self, mean: TensorVariable) -> TensorVariable:
        """Coefficients of the centred effects and deviations of the others, in their order."""
        if not self.is_centred.any():
            return self.deviation
        if self.deviation is None:
            return self.coefficients(mean)
        both = pt.concatenate([self.coefficients(mean), self.deviation], axis=1)
        return both[:, np.argsort(np.argsort(~self.is_centred, kind="stable"))]

    def dims(self, end: str, chosen: NDArray[np.int64]) -> tuple[str, ...]:
        """Dims of the coefficients or offsets of some of the effects."""
        place = factor_dim(self.parameter, self.block)
        if self.unit is not None:
            return (*place, *self.label_dim("effect"))
        effect = () if self.is_single else self.label_dim(end, self.labels[chosen])
        return (*place, *effect, *self.extra)

    def label_dim(self, end: str, labels: NDArray[np.str_] | None = None) -> tuple[str, ...]:
        """Dim of the block's effects, or of some of them."""
        labels = self.labels if labels is None else labels
        return label_dim(self.parameter, f"{self.block.name}__{end}", labels)


def average_deviations(effects: Sequence[GroupEffects]) -> dict[int, TensorVariable]:
    """Weighted sums of the deviations by common column, (*extra,): average less coefficient."""
    averages: dict[int, TensorVariable] = {}
    for own in effects:
        if (deviation := own.deviation) is None:
            continue
        weights = own.part.average_weights[..., ~own.is_centred]
        for j, effect in np.argwhere(weights.any(axis=1)).tolist():
            average = weighted_average(weights[j, :, effect], deviation[:, effect])
            averages[j] = averages[j] + average if j in averages else average
    return averages


def weighted_average(weights: Floats, deviation: TensorVariable) -> TensorVariable:
    """Σ over groups of weight · deviation, (*extra,); equal weights are one multiplication."""
    if np.allclose(weights, weights[0]):
        return deviation.sum(axis=0) * weights.mean()
    return (pt.shape_padright(weights, deviation.ndim - 1) * deviation).sum(axis=0)


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
