"""A hierarchical normal model, with all coefficients and effects integrated out.

Estimates, Design and priors → NormalModel; standard deviations of groups → log posterior density.
Source: Gelman et al. (2013), sections 5.4 and 15.2; Lewandowski, Kurowicka & Joe (2009) for
correlations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp1, expit, log_expit
from scipy.stats import expon, gamma, halfnorm, lognorm, t

from hmetad.bayes.estimates_data import Estimates
from hmetad.bayes.normal_blocks import (
    Members,
    covariance_blocks,
    determinant_and_form,
    members_of,
)
from hmetad.errors import InputError, nearest
from hmetad.likelihood.priors import Prior
from hmetad.specs.design import Block, Design
from hmetad.specs.spec import CORRELATION

__all__ = [
    "NormalModel",
    "block_parts",
    "block_scales",
    "log_posterior",
    "normal_model",
    "parts_of",
]

type Floats = NDArray[np.float64]

# Prior SDs of coefficients, in standard deviations of the estimates.
WIDE = 5.0
# Group SDs are looked for up to this, in the same unit.
MOST = 1e4
# Logit of a partial correlation that is 1 within rounding.
EDGE = 30.0
AT_ONCE = 2**20
SD_PRIORS = (
    *("HalfNormal", "StudentT", "Exponential", "Gamma", "LogNormal"),
    "UniformTimesHalfNormal",
)


@dataclass(frozen=True)
class NormalModel:
    """What the density of group SDs needs.

    Parameters
    ----------
    design : Design
    values, covariance : array, shape (cells,) and (cells, cells)
        Estimates and their sampling covariance.
    mean, sd : array, shape (coefficients,)
        Normal prior of the coefficients.
    priors : mapping of str to Prior
        Of all variables.
    scale : float
        Standard deviation of the estimates.
    members : tuple of array of int
        Cells that share nothing but coefficients with others, as `members_of` gives them.
    """

    design: Design
    values: Floats
    covariance: Floats
    mean: Floats
    sd: Floats
    priors: Mapping[str, Prior]
    scale: float
    members: tuple[Members, ...]

    @property
    def size(self) -> int:
        """How many numbers say what the SDs and correlations are."""
        return sum(block_size(block) for block in self.design.blocks)


def normal_model(
    estimates: Estimates, design: Design, given: Mapping[str, Prior] | None
) -> NormalModel:
    """Model of estimates, with default priors where none are given.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.specs.design import parse_design
    >>> cells = pd.DataFrame({"school": list("abc")})
    >>> own = Estimates(np.array([1.0, 2, 3]), np.eye(3), cells, None, "errors", ())
    >>> normal_model(own, parse_design("y", "1 + (1 | school)", cells), None).priors
    {'y_Intercept': Prior('Normal', mu=2.0, sigma=5.0), 'y_1|school_sigma': \
Prior('HalfNormal', sigma=1.0)}
    """
    values = estimates.values
    scale = float(values.std(ddof=1)) or float(np.sqrt(estimates.covariance.diagonal().mean()))
    priors, mean, sd = {}, [], []
    for term in design.common:
        name = f"{design.parameter}_{term.name}"
        centre = float(values.mean()) if term.is_level else 0.0
        spread = float(term.columns.std(axis=0).max())
        width = WIDE * scale / (1 if term.is_level or spread == 0 else spread)
        own = taken(given, name, Prior("Normal", mu=centre, sigma=width), ("Normal",))
        priors[name] = own
        mean += [own.parameters["mu"]] * term.columns.shape[1]
        sd += [own.parameters["sigma"]] * term.columns.shape[1]
    for block in design.blocks:
        for term in block.terms:
            name = f"{design.parameter}_{term.name}|{block.factor}_sigma"
            priors[name] = taken(given, name, Prior("HalfNormal", sigma=scale), SD_PRIORS)
        if block.is_correlated:
            name = f"{design.parameter}_{block.name}_corr"
            priors[name] = taken(given, name, CORRELATION, ("LKJ",))
    unknown = sorted(set(given or {}) - set(priors))
    if unknown:
        raise InputError("priors", repr(unknown[0]), "a variable", nearest(unknown[0], priors))
    normal = np.array(mean, dtype=float), np.array(sd, dtype=float)
    members = members_of(estimates.covariance, design.blocks)
    return NormalModel(design, values, estimates.covariance, *normal, priors, scale, members)


def taken(
    given: Mapping[str, Prior] | None, name: str, default: Prior, allowed: tuple[str, ...]
) -> Prior:
    """Prior of a variable, of a kind that the model can have."""
    prior = (given or {}).get(name, default)
    if prior.dist not in allowed:
        raise InputError(f"prior of {name}", prior.dist, ", ".join(allowed))
    if prior.dist == "StudentT" and prior.parameters["mu"] != 0:
        raise InputError(f"prior of {name}", repr(prior), "a StudentT with mu=0, taken above 0")
    return prior


def log_sd_prior(prior: Prior, sigma: Floats) -> Floats:
    """Log density of a standard deviation, with its constant but for products."""
    p = prior.parameters
    if prior.dist == "HalfNormal":
        found = halfnorm.logpdf(sigma, scale=p["sigma"])
    elif prior.dist == "StudentT":
        found = t.logpdf(sigma, p["nu"], scale=p["sigma"])
    elif prior.dist == "Exponential":
        found = expon.logpdf(sigma, scale=1 / p["lam"])
    elif prior.dist == "Gamma":
        found = gamma.logpdf(sigma, p["alpha"], scale=1 / p["beta"])
    elif prior.dist == "LogNormal":
        found = lognorm.logpdf(sigma, p["sigma"], scale=np.exp(p["mu"]))
    else:
        with np.errstate(divide="ignore"):
            found = np.log(exp1((sigma / p["sigma"]) ** 2 / 2))
    return np.asarray(found, dtype=float)


def block_size(block: Block) -> int:
    """Numbers of a block: an SD for each effect, and their partial correlations."""
    effects = block.columns.shape[1]
    return effects + (effects * (effects - 1) // 2 if block.is_correlated else 0)


def block_scales(model: NormalModel, points: Floats) -> list[Floats]:
    """Factors L of the covariance L Lᵀ of a group's effects, of every block, (points, k, k).

    Parameters
    ----------
    model : NormalModel
    points : array, shape (points, size)
        Block by block: SDs, then logits of (partial correlation + 1)/2, by rows.
    """
    found, start = [], 0
    for block in model.design.blocks:
        effects = block.columns.shape[1]
        own = points[:, start : start + block_size(block)]
        start += block_size(block)
        unit = unit_factors(own[:, effects:], effects)
        found.append(own[:, :effects, None] * unit)
    return found


def unit_factors(logits: Floats, effects: int) -> Floats:
    """Cholesky factors of correlation matrices, (points, effects, effects)."""
    lower = np.zeros((len(logits), effects, effects))
    if logits.shape[1]:
        row, column = np.tril_indices(effects, -1)
        lower[:, row, column] = 2 * expit(logits) - 1
    left = np.cumsum(np.log1p(-(lower**2)), axis=2) / 2
    before = np.concatenate([np.zeros((len(logits), effects, 1)), left[..., :-1]], axis=2)
    return np.asarray((lower + np.eye(effects)) * np.exp(before))


def log_posterior(model: NormalModel, points: Floats) -> Floats:
    r"""Log density of the SDs and of the logits of correlations; -inf where there is none.

    Parameters
    ----------
    model : NormalModel
    points : array, shape (points, size)
        As in `block_scales`.

    Returns
    -------
    array, shape (points,)

    Notes
    -----
    With :math:`V = \Sigma + X B X^T + \sum_b Z_b \Omega_b Z_b^T`,

    .. math:: \log p = -\tfrac12 \log|V| - \tfrac12 (y - X b)^T V^{-1} (y - X b) + \log p(\sigma)
    """
    result, inside = log_prior(model, points)
    places = np.flatnonzero(inside)
    rest = model.values - model.design.columns @ model.mean
    for part in parts_of(model, places):
        log_size, form = determinant_and_form(
            block_parts(model, points[part]), model.design.columns, rest, model.sd, model.covariance
        )
        result[part] -= (log_size + form) / 2
    return result


def parts_of(model: NormalModel, places: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Points that are computed together."""
    held = sum(members.size * members.shape[1] for members in model.members)
    step = max(1, AT_ONCE // (held + len(model.values) * (len(model.sd) + 1)))
    yield from (places[i : i + step] for i in range(0, len(places), step))


def block_parts(model: NormalModel, points: Floats) -> Iterator[tuple[Members, Floats]]:
    """Cells of blocks of one size, and their covariance at each point."""
    blocks, factors = model.design.blocks, block_scales(model, points)
    for members in model.members:
        found = covariance_blocks(model.covariance, blocks, factors, members)
        yield members, np.broadcast_to(found, (len(points), *found.shape[1:]))


def log_prior(model: NormalModel, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Log prior of points, and which are within range."""
    total, start = np.zeros(len(points)), 0
    inside = np.ones(len(points), dtype=bool)
    for block in model.design.blocks:
        for term in block.terms:
            name = f"{model.design.parameter}_{term.name}|{block.factor}_sigma"
            for place in range(start, start + term.columns.shape[1]):
                sigma = points[:, place]
                near = (sigma > 0) & (sigma < MOST * model.scale)
                inside &= near
                total += log_sd_prior(model.priors[name], np.where(near, sigma, model.scale))
            start += term.columns.shape[1]
        if block.is_correlated:
            effects = block.columns.shape[1]
            eta = model.priors[f"{model.design.parameter}_{block.name}_corr"].parameters["eta"]
            for column in np.tril_indices(effects, -1)[1]:
                shape = eta + (effects - 2 - column) / 2
                own = points[:, start]
                inside &= abs(own) < EDGE
                total += shape * (log_expit(own) + log_expit(-own))
                start += 1
    inside &= np.isfinite(total)
    return np.where(inside, total, -np.inf), inside
