"""Linear predictors: a parameter of every cell from the coefficients of its formula.

Design and priors → PyTensor variables, inside a PyMC model. Variables are named as Bambi names
them: ``log_m_Intercept``, ``log_m_task``, ``log_m_1|subject`` with ``log_m_1|subject_sigma``, and
``log_m_task|subject_corr`` for correlated effects.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.bayes.distributions import add_variable
from hmetad.bayes.group_effects import (
    GroupEffects,
    NameOf,
    PriorOf,
    gather_effects,
    label_dim,
)
from hmetad.bayes.parametrisation import Parametrisation
from hmetad.specs.design import Design

__all__ = ["linear_predictor"]

type Floats = NDArray[np.float64]


def linear_predictor(
    parametrisation: Parametrisation,
    extra: tuple[str, ...],
    prior_of: PriorOf,
    named: NameOf,
    *,
    by_offsets: bool,
) -> TensorVariable:
    """X β + Σ Z u of every cell, (cells, *extra), with all its variables in the current model.

    Parameters
    ----------
    parametrisation : Parametrisation
    extra : tuple of str
        Dims of the parameter beside the cell: response, criterion.
    prior_of : callable
        Prior of a variable, by its plain name.
    named : callable
        The name that a variable bears in the posterior, from its plain name.
    by_offsets : bool
        Whether effects are made of offsets, to be sampled; else they are the variables.

    Returns
    -------
    tensor, shape (cells, *extra)
    """
    design = parametrisation.design
    common = common_coefficients(design, extra, prior_of, named)
    parts: list[GroupEffects] = []
    for part in parametrisation.blocks:
        own = GroupEffects(
            design.parameter, part, extra, common, parts, prior_of, named, by_offsets=by_offsets
        )
        parts.append(own)
    total: TensorVariable | float = 0.0
    for own in parts:
        total = total + gather_effects(own.block, own.deviation)
    if common is not None:
        total = total + weighted_sum(design.columns, common)
    sizes = [len(pm.modelcontext(None).coords[dim]) for dim in extra]
    return pt.broadcast_to(total, (len(design.columns), *sizes))


def common_coefficients(
    design: Design, extra: tuple[str, ...], prior_of: PriorOf, named: NameOf
) -> TensorVariable | None:
    """Coefficients of all common terms, (columns, *extra); None without any."""
    terms = []
    for term in design.common:
        plain = f"{design.parameter}_{term.name}"
        dims = (*label_dim(design.parameter, f"{term.name}_dim", term.labels), *extra)
        values = add_variable(named(plain), prior_of(plain), dims)
        terms.append(values if term.labels is not None else values[None])
    return pt.concatenate(terms, axis=0) if terms else None


def weighted_sum(columns: Floats, coefficients: TensorVariable) -> TensorVariable:
    """Σ columns · coefficients; (1, *extra) for an intercept alone, else (cells, *extra)."""
    if columns.shape[1] == 1 and (columns == 1).all():
        return coefficients
    return pt.tensordot(pt.as_tensor(columns), coefficients, axes=1)
