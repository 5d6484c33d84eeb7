"""Linear predictors: a parameter of every cell from the coefficients of its formula.

Design and priors → PyTensor variables, inside a PyMC model. Variables are named as Bambi names
them: ``log_m_Intercept``, ``log_m_task``, ``log_m_1|subject`` with ``log_m_1|subject_sigma``, and
``log_m_task|subject_corr`` for correlated effects.
"""

from collections.abc import Mapping

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.bayes.design import Design, Term
from hmetad.bayes.distributions import LOCATION_FAMILIES, add_variable
from hmetad.bayes.group_effects import (
    GroupEffects,
    NameOf,
    PriorOf,
    average_deviations,
    label_dim,
)
from hmetad.bayes.parametrisation import Parametrisation

__all__ = ["linear_predictor"]

type Floats = NDArray[np.float64]


def linear_predictor(
    parametrisation: Parametrisation, extra: tuple[str, ...], prior_of: PriorOf, named: NameOf
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

    Returns
    -------
    tensor, shape (cells, *extra)
    """
    design, columns = parametrisation.design, parametrisation.columns
    parts = [
        GroupEffects(design.parameter, part, extra, prior_of, named)
        for part in parametrisation.blocks
    ]
    used = columns.any(axis=0)
    averages = average_deviations(parts)
    common = common_coefficients(design, extra, averages, prior_of, named)
    total: TensorVariable | float = 0.0
    for part in parts:
        total = total + part.effects(common)
    if used.any() and common is not None:
        total = total + weighted_sum(columns[:, used], common[np.flatnonzero(used)])
    sizes = [len(pm.modelcontext(None).coords[dim]) for dim in extra]
    return pt.broadcast_to(total, (len(columns), *sizes))


def common_coefficients(
    design: Design,
    extra: tuple[str, ...],
    averages: Mapping[int, TensorVariable],
    prior_of: PriorOf,
    named: NameOf,
) -> TensorVariable | None:
    """Coefficients of all common terms, (columns, *extra); None without any."""
    terms, start = [], 0
    for term in design.common:
        columns = range(start, start + term.columns.shape[1])
        start = columns.stop
        shift = None
        if any(j in averages for j in columns):
            nothing = pt.zeros_like(next(iter(averages.values())))
            shift = pt.stack([averages.get(j, nothing) for j in columns])
        terms.append(common_term(design.parameter, term, extra, shift, prior_of, named))
    return pt.concatenate(terms, axis=0) if terms else None


def common_term(
    parameter: str,
    term: Term,
    extra: tuple[str, ...],
    shift: TensorVariable | None,
    prior_of: PriorOf,
    named: NameOf,
) -> TensorVariable:
    """Coefficients of a common term, (columns, *extra)."""
    plain = f"{parameter}_{term.name}"
    name, prior = named(plain), prior_of(plain)
    dims = (*label_dim(parameter, f"{term.name}_dim", term.labels), *extra)
    if shift is None or prior.dist not in LOCATION_FAMILIES:
        values = add_variable(name, prior, dims)
    else:
        shift = shift if term.labels is not None else shift[0]
        # average = coefficient + shift: its prior is the coefficient's, moved by the shift.
        average = add_variable(f"{plain}_average", prior, dims, centre=shift)
        values = pm.Deterministic(name, average - shift, dims=dims or None)
    return values if term.labels is not None else values[None]


def weighted_sum(columns: Floats, coefficients: TensorVariable) -> TensorVariable:
    """Σ columns · coefficients; (1, *extra) for an intercept alone, else (cells, *extra)."""
    if columns.shape[1] == 1 and (columns == 1).all():
        return coefficients
    return pt.tensordot(pt.as_tensor(columns), coefficients, axes=1)
