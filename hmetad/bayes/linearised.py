"""What cells of a few trials say together of their groups.

Count table, ModelSpec and Designs → an estimate and its variance for every cell and parameter. A
cell of one trial has no estimate of its own that means anything; its likelihood is linearised where
the cells around it are, as in penalised quasi-likelihood. Source: Breslow & Clayton (1993).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.kept_cells import follow_from_effects
from hmetad.bayes.mixed import fit_mixed, predicted_by
from hmetad.bayes.parametrisation import parametrise
from hmetad.mle.scoring import CellLikelihood, penalised_modes
from hmetad.specs.design import Design
from hmetad.specs.spec import ModelSpec

__all__ = ["BETWEEN", "are_sparse", "linearised_estimates"]

type Floats = NDArray[np.float64]
type Estimates = dict[str, tuple[Floats, Floats]]

# Trials of a cell below which it is not estimated by itself.
FEW_TRIALS = 20
# Rounds of linearising and fitting, and of EM in each.
ROUNDS, EM_ROUNDS = 6, 4
# Variance between groups that EM begins with: single cells vary by their errors alone.
BETWEEN = 0.25**2
# Largest change of a value in a round.
LARGEST_STEP = 1.0
# Least information of a cell, as a share of the mean.
SMALLEST_SHARE = 1e-6


def are_sparse(counts: xr.DataArray, spec: ModelSpec) -> bool:
    """Whether cells have few trials, and all of their parameters are those of groups."""
    mean = float(counts.sum()) / counts.sizes["cell"]
    return mean < FEW_TRIALS and follow_from_effects(spec)


def linearised_estimates(
    counts: xr.DataArray,
    spec: ModelSpec,
    designs: Mapping[str, Design],
    given: Mapping[str, Floats],
) -> Estimates:
    r"""Estimates of cells and their variances, by variable; only their means over groups say much.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating).
    spec : ModelSpec
        With a formula of every parameter.
    designs : mapping of str to Design
    given : mapping of str to array, shape (cells,)

    Returns
    -------
    dict of str to tuple of array
        Each of shape (cells, *dims of the parameter).

    Notes
    -----
    With score g and information I of a cell at the current values θ, and the information J of all
    cells together, the estimate of parameter p is θ + g*/h with

    .. math:: g^*_p = \frac{(J^{-1} g)_p}{(J^{-1})_{pp}}, \quad
              h_p = \frac{I_{pp}}{J_{pp} (J^{-1})_{pp}}

    so that what other parameters explain does not count as information on p.
    """
    table = counts.values.astype(float)
    together = penalised_modes(table.sum(axis=0)[None], spec.record, mean_of(given))
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


def mean_of(given: Mapping[str, Floats]) -> dict[str, Floats]:
    """Mean of what is set from the counts, as of one cell."""
    return {name: values.mean(keepdims=True) for name, values in given.items()}


def linearise(problem: CellLikelihood, theta: Floats) -> tuple[Floats, Floats]:
    """Estimates and variances (cells, parameters) at these values."""
    score, information = problem.score_and_information(theta)
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
    found, start = np.empty_like(estimates), 0
    for parameter in problem.likelihood.parameters:
        plain = parametrise(designs[parameter.name])
        stop = start + int(np.prod(problem.shapes[parameter.variable], dtype=int))
        for j in range(start, stop):
            fit = fit_mixed(
                plain, estimates[:, j], variances[:, j], between=BETWEEN, rounds=EM_ROUNDS
            )
            found[:, j] = predicted_by(plain, fit)
        start = stop
    return found
