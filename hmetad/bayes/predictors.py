"""Linear predictors: a parameter of every cell from the coefficients of its formula.

Design and priors → PyTensor variables, inside a PyMC model. Variables are named as Bambi names
them: ``log_m_Intercept``, ``log_m_task``, ``log_m_1|subject`` with ``log_m_1|subject_sigma``, and
``log_m_task|subject_corr`` for correlated effects.

Effects of groups are sampled in one of two ways, which give the same posterior: *centred*, as
the group's own coefficient with the population's as its mean (``_coefficient``), or *non-centred*,
as a standard normal times the standard deviation (``_offset``). `hmetad.bayes.start` says which.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.bayes.design import Block, Design, Term
from hmetad.bayes.distributions import draw, lkj_cholesky
from hmetad.bayes.spec import (
    CORRELATION,
    DEFAULT_PRIORS,
    DEFAULT_SIGMAS,
    DEFAULT_SLOPES,
    SIGMA,
    SLOPE,
    Prior,
)

__all__ = ["Predictor", "absorbed_columns", "default_priors", "linear_predictor"]

type Floats = NDArray[np.float64]
type PriorOf = Callable[[str], Prior]
type NameOf = Callable[[str], str]


@dataclass(frozen=True)
class Predictor:
    """How the linear predictor of a parameter is sampled.

    Parameters
    ----------
    design : Design
    extra : tuple of str
        Dims of the parameter beside the cell: response, criterion.
    is_centred : mapping of str to bool
        By effect of a group (``"1|subject"``), or by block where it is correlated.
    """

    design: Design
    extra: tuple[str, ...]
    is_centred: Mapping[str, bool] = field(default_factory=dict)


def default_priors(design: Design) -> dict[str, Prior]:
    """Default priors of all variables of a formula, by name."""
    name = design.parameter
    priors = {
        f"{name}_{term.name}": DEFAULT_PRIORS[name]
        if term.is_level
        else DEFAULT_SLOPES.get(name, SLOPE)
        for term in design.common
    }
    for block in design.blocks:
        for term in block.terms:
            priors[f"{name}_{term.name}|{block.factor}_sigma"] = DEFAULT_SIGMAS.get(name, SIGMA)
        if block.is_correlated:
            priors[f"{name}_{block.name}_corr"] = CORRELATION
    return priors


def linear_predictor(predictor: Predictor, prior_of: PriorOf, named: NameOf) -> TensorVariable:
    """X β + Σ Z u of every cell, (cells, *extra), with all its variables in the current model.

    Parameters
    ----------
    predictor : Predictor
    prior_of : callable
        Prior of a variable, by its plain name.
    named : callable
        The name that a variable bears in the posterior, from its plain name.

    Returns
    -------
    tensor, shape (cells, *extra)
    """
    design, extra = predictor.design, predictor.extra
    coefficients = [common_term(design.parameter, t, extra, prior_of, named) for t in design.common]
    common = pt.concatenate(coefficients, axis=0) if coefficients else None
    taken: set[int] = set()
    total: TensorVariable | float = 0.0
    for block in design.blocks:
        weights = absorbed_columns(design, block, predictor.is_centred, taken)
        taken |= set(np.flatnonzero(weights.any(axis=(0, 1))).tolist())
        total = total + block_effects(predictor, block, weights, common, prior_of, named)
    left = [j for j in range(design.columns.shape[1]) if j not in taken]
    if left and common is not None:
        total = total + weighted_sum(design.columns[:, left], common[left])
    cells = len(design.blocks[0].index) if design.blocks else len(design.columns)
    sizes = [len(pm.modelcontext(None).coords[dim]) for dim in extra]
    return pt.broadcast_to(total, (cells, *sizes))


def common_term(
    parameter: str, term: Term, extra: tuple[str, ...], prior_of: PriorOf, named: NameOf
) -> TensorVariable:
    """Coefficients of a common term, (columns, *extra)."""
    name = f"{parameter}_{term.name}"
    dims = (*label_dim(parameter, f"{term.name}_dim", term.labels), *extra)
    values = draw(named(name), prior_of(name), dims)
    return values if term.labels is not None else values[None]


def block_effects(
    predictor: Predictor,
    block: Block,
    weights: Floats,
    common: TensorVariable | None,
    prior_of: PriorOf,
    named: NameOf,
) -> TensorVariable:
    """What a block adds to the predictor of every cell."""
    parameter, extra = predictor.design.parameter, predictor.extra
    sigma = block_sigmas(parameter, block, extra, prior_of, named)
    centred = centred_columns(block, predictor.is_centred)
    mean = absorbed_mean(weights, common, len(extra))
    if block.is_correlated:
        own = correlated_effects(
            parameter, block, sigma, mean if centred.any() else None, prior_of, named
        )
    else:
        own = independent_effects(parameter, block, extra, sigma, mean, centred)
    deviation = own - mean if centred.any() else own
    start = 0
    for term in block.terms:
        stop = start + term.columns.shape[1]
        expression = label_dim(parameter, f"{term.name}__expr_dim", term.labels)
        part = deviation[:, start:stop] if expression else deviation[:, start]
        dims = (*factor_dim(parameter, block), *expression, *extra)
        pm.Deterministic(named(f"{parameter}_{term.name}|{block.factor}"), part, dims=dims)
        start = stop
    return gathered(block, own)


def block_sigmas(
    parameter: str, block: Block, extra: tuple[str, ...], prior_of: PriorOf, named: NameOf
) -> TensorVariable:
    """Standard deviations of a block's effects between groups, (effects, *extra)."""
    sigmas = []
    for term in block.terms:
        name = f"{parameter}_{term.name}|{block.factor}_sigma"
        expression = label_dim(parameter, f"{term.name}__expr_dim", term.labels)
        sigma = draw(named(name), prior_of(name), (*expression, *extra))
        sigmas.append(sigma if expression else sigma[None])
    return pt.concatenate(sigmas) if len(sigmas) > 1 else sigmas[0]


def independent_effects(
    parameter: str,
    block: Block,
    extra: tuple[str, ...],
    sigma: TensorVariable,
    mean: TensorVariable,
    centred: NDArray[np.bool_],
) -> TensorVariable:
    """Effects of a block, (groups, effects, *extra): coefficients if centred, else deviations."""
    name, place = f"{parameter}_{block.name}", factor_dim(parameter, block)
    labels = effect_labels(block)
    is_single = len(block.terms) == 1 and block.terms[0].labels is None
    parts = []
    for is_centred, end in ((True, "coefficient"), (False, "offset")):
        chosen = np.flatnonzero(centred == is_centred)
        if not chosen.size:
            continue
        effect = () if is_single else label_dim(parameter, f"{block.name}__{end}", labels[chosen])
        dims = (*place, *effect, *extra)
        pick = 0 if is_single else chosen
        if is_centred:
            part = pm.Normal(f"{name}_{end}", mean[:, pick], sigma[pick], dims=dims)
        else:
            part = pm.Normal(f"{name}_{end}", 0, 1, dims=dims) * sigma[pick]
        parts.append(part if effect else part[:, None])
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([np.flatnonzero(centred), np.flatnonzero(~centred)]))
    return pt.concatenate(parts, axis=1)[:, order]


def correlated_effects(
    parameter: str,
    block: Block,
    sigma: TensorVariable,
    mean: TensorVariable | None,
    prior_of: PriorOf,
    named: NameOf,
) -> TensorVariable:
    """Effects of a block under one covariance matrix, (groups, effects); centred at a mean."""
    name, labels = f"{parameter}_{block.name}", effect_labels(block)
    corr_dims = [
        label_dim(parameter, f"{block.name}__{end}", labels)[0] for end in ("effect", "effect_bis")
    ]
    eta = prior_of(f"{name}_corr").parameters["eta"]
    unit = lkj_cholesky(f"{name}_partial", len(labels), eta)
    pm.Deterministic(named(f"{name}_corr"), row_products(unit, unit), dims=corr_dims)
    dims = (*factor_dim(parameter, block), corr_dims[0])
    if mean is None:
        return row_products(pm.Normal(f"{name}_offset", 0, 1, dims=dims), unit) * sigma
    centre = pt.broadcast_to(mean, (len(block.groups), len(labels)))
    return pm.MvNormal(f"{name}_coefficient", centre, chol=sigma[:, None] * unit, dims=dims)


def factor_dim(parameter: str, block: Block) -> tuple[str, ...]:
    """Dim of the groups of a block."""
    return label_dim(parameter, f"{block.factor}__factor_dim", block.groups)


def centred_columns(block: Block, is_centred: Mapping[str, bool]) -> NDArray[np.bool_]:
    """Which effects of a block are sampled centred, (effects,)."""
    if block.is_correlated:
        return np.full(block.columns.shape[1], is_centred.get(block.name, False))
    flags = [is_centred.get(f"{t.name}|{block.factor}", False) for t in block.terms]
    return np.repeat(flags, [t.columns.shape[1] for t in block.terms])


def row_products(left: TensorVariable, right: TensorVariable) -> TensorVariable:
    """left @ rightᵀ of small matrices, without the BLAS that PyTensor may lack."""
    return (left[:, None, :] * right[None, :, :]).sum(axis=-1)


def effect_labels(block: Block) -> NDArray[np.str_]:
    """Names of the effects of a block, one for each column."""
    if len(block.terms) == 1 and block.terms[0].labels is not None:
        return block.terms[0].labels
    return np.array(
        [
            name
            for term in block.terms
            for name in (
                [term.name] if term.labels is None else [f"{term.name}[{x}]" for x in term.labels]
            )
        ]
    )


def label_dim(parameter: str, dim: str, labels: NDArray[np.str_] | None) -> tuple[str, ...]:
    """Dim with these labels in the current model; none where there are no labels.

    Parameters share a dim where its labels are the same; else its name begins with the parameter.
    """
    if labels is None:
        return ()
    model = pm.modelcontext(None)
    own = [str(label) for label in labels]
    for name in (dim, f"{parameter}_{dim}"):
        if name not in model.coords:
            model.add_coord(name, own)
        if list(model.coords[name]) == own:
            return (name,)
    raise AssertionError(f"{parameter}_{dim} stands for two sets of labels")


def absorbed_columns(
    design: Design, block: Block, is_centred: Mapping[str, bool], taken: set[int]
) -> Floats:
    """Which common columns are the mean of a centred effect, (groups, effects, coefficients).

    Common column X belongs to effect E of a group if X = a_group · E in all cells: the intercept
    to an intercept per group, a covariate of subjects to their intercepts, and a condition to the
    effect of the condition. Then the group's own coefficient has mean Σ a·β, and X leaves the
    predictor: nothing is said twice, and the sampler has no ridge to follow.
    """
    columns, groups = design.columns, len(block.groups)
    weights = np.zeros((groups, block.columns.shape[1], columns.shape[1]))
    for effect in np.flatnonzero(centred_columns(block, is_centred)):
        for j in range(columns.shape[1]):
            ratio = ratio_by_group(columns[:, j], block.columns[:, effect], block.index, groups)
            if ratio is not None and j not in taken and not weights[:, :, j].any():
                weights[:, effect, j] = ratio
    return weights


def ratio_by_group(
    common: Floats, effect: Floats, index: NDArray[np.int64], groups: int
) -> Floats | None:
    """a with common = a[group] · effect in all cells, or None."""
    is_used = effect != 0
    if common[~is_used].any():
        return None
    ratio = np.zeros(groups)
    ratio[index[is_used]] = common[is_used] / effect[is_used]
    return ratio if np.allclose(ratio[index] * effect, common) and ratio.any() else None


def absorbed_mean(weights: Floats, common: TensorVariable | None, extra: int) -> TensorVariable:
    """Mean of the groups' own coefficients, (groups or 1, effects, *extra)."""
    if common is None or not weights.any():
        return pt.zeros((1, weights.shape[1], *[1] * extra))
    used = np.flatnonzero(weights.any(axis=(0, 1)))
    part = weights[:, :, used]
    if (part == part[:1]).all():
        part = part[:1]
    return pt.tensordot(pt.as_tensor(part), common[used], axes=1)


def gathered(block: Block, effects: TensorVariable) -> TensorVariable:
    """Σ over effects of the block's columns times the effects of the cell's group.

    `effects` has dims (groups, effects, *extra).
    """
    cells, columns = len(block.index), block.columns
    in_order = len(block.groups) == cells and (block.index == np.arange(cells)).all()
    per_cell = effects if in_order else effects[block.index]
    if columns.shape[1] == 1 and (columns == 1).all():
        return per_cell[:, 0]
    return (pt.shape_padright(pt.as_tensor(columns), effects.ndim - 2) * per_cell).sum(axis=1)


def weighted_sum(columns: Floats, coefficients: TensorVariable) -> TensorVariable:
    """Σ columns · coefficients; (1, *extra) for an intercept alone, else (cells, *extra)."""
    if columns.shape[1] == 1 and (columns == 1).all():
        return coefficients
    return pt.tensordot(pt.as_tensor(columns), coefficients, axes=1)
