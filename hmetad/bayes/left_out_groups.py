"""The likelihood of a whole group's counts, given the population: its own effects integrated out.

Fit (DataTree) and a grouping column → log p(counts of a group | population) at posterior draws,
which leave-one-group-out cross-validation needs. The likelihood given a group's effects would say
how well the model describes people it has seen, not those it has not.

The integral over the effects is taken by importance sampling. Source: Merkle, Furr & Rabe-Hesketh
(2019), for conditional and marginal likelihoods.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.group_integrals import each_group, integral_of, proposed
from hmetad.bayes.group_parts import Model, groups_of

__all__ = ["GroupLikelihood", "group_log_likelihood"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Posterior draws that are looked at, about, and points at each.
DRAWS, POINTS = 1000, 60


@dataclass(frozen=True)
class GroupLikelihood:
    """Marginal likelihoods of groups.

    Parameters
    ----------
    values : DataArray
        log p(counts | population), dims (chain, draw, group), without multinomial coefficients.
    effective : DataArray
        Points that an integral is worth, the mean over draws, dim group.
    """

    values: xr.DataArray
    effective: xr.DataArray


def group_log_likelihood(fit: xr.DataTree, by: str, seed: int = 0) -> GroupLikelihood:
    """Marginal likelihood of every group of a column, at some of the posterior draws.

    Parameters
    ----------
    fit : DataTree
    by : str
        Column of the cells: ``"subject"``.
    seed : int, optional
        Of the points.

    Returns
    -------
    GroupLikelihood

    Raises
    ------
    InputError
        If the cells have no such column, no formula has its groups, or the likelihood has priors of
        its own.
    """
    model, places = groups_of(fit, by, DRAWS)
    posterior, names = model.posterior, [*places]
    found = each_group(lambda cells, rng: integrate(model, cells, rng), places, seed)
    chains = {"chain": posterior["chain"].values, "draw": posterior["draw"].values}
    values = np.stack([value for value, _ in found], axis=-1)
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], len(names))
    return GroupLikelihood(
        xr.DataArray(values.reshape(shape), {**chains, by: names}, ("chain", "draw", by)),
        xr.DataArray([effective for _, effective in found], {by: names}, (by,)),
    )


def integrate(model: Model, cells: Integers, rng: np.random.Generator) -> tuple[Floats, float]:
    """Log marginal likelihood of some cells at each draw, and the points that it is worth."""
    integral = integral_of(model, cells)
    centre, axes = integral.proposal(integral.population.precision)
    points, log_q = proposed(centre, axes, POINTS, rng)
    log_w = integral.log_joint(points) - log_q
    highest = log_w.max(axis=1, keepdims=True)
    weights = np.exp(log_w - highest)
    effective = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    return highest[:, 0] + np.log(weights.mean(axis=1)), float(effective.mean())
