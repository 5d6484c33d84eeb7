"""Prior distributions in PyMC: those it has, by name, and two of HMeta-d's that it lacks.

Prior and dims → random variable of the current model.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.transforms import log as log_transform
from pytensor.tensor.variable import TensorVariable
from scipy.special import factorial, roots_laguerre
from scipy.stats import truncnorm

from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import LOG_SQRT_2PI
from hmetad.likelihood.tensors import log_ndtr

LOCATION_FAMILIES = ("Normal", "StudentT")
OUTWARD = np.array([-1.0, 1.0])[:, None]
EULER = 0.5772156649015329
SERIES_BELOW = 1.5
POWERS = np.arange(1.0, 25.0)
SERIES = -((-1) ** POWERS) / (POWERS * factorial(POWERS))
NODES, WEIGHTS = roots_laguerre(60)


def add_variable(
    name: str, prior: Prior, dims: tuple[str, ...], centre: TensorVariable | float = 0.0
) -> TensorVariable:
    """Free variable with a prior, moved to a centre if it is of a location family."""
    if prior.dist == "UniformTimesHalfNormal":
        return uniform_times_half_normal(name, prior.parameters["sigma"], dims)
    values = dict(prior.parameters)
    if prior.dist in LOCATION_FAMILIES:
        values["mu"] = values["mu"] + centre
    return getattr(pm, prior.dist)(name, **values, dims=dims or None)


def uniform_times_half_normal(name: str, sigma: float, dims: tuple[str, ...]) -> TensorVariable:
    """ε·δ with ε ~ U(0, 1) and δ ~ HalfNormal(sigma), sampled by its own density.

    p(x) = E₁(x²/(2 sigma²)) / (sigma √(2π)). HMeta-d samples ε and δ, between which a ridge
    runs that no gradient follows. Source: Fleming (2017); the density by integrating over ε.
    """

    def logp(value: TensorVariable, sigma: TensorVariable) -> TensorVariable:
        density = log_exponential_integral((value / sigma) ** 2 / 2) - pt.log(sigma) - LOG_SQRT_2PI
        return pt.switch(value > 0, density, -np.inf)

    def random(
        sigma: Any, rng: np.random.Generator, size: tuple[int, ...] | None = None
    ) -> NDArray[np.float64]:
        shape = np.shape(sigma) if size is None else size
        return rng.uniform(size=shape) * abs(rng.normal(0, sigma, size=shape))

    return pm.CustomDist(
        name,
        np.float64(sigma),
        logp=logp,
        random=random,
        support_point=lambda rv, _, sigma: pt.full(rv.shape, sigma),
        default_transform=log_transform,
        signature="()->()",
        dims=dims or None,
    )


def lkj_cholesky(
    name: str, size: int, eta: float, dims: tuple[str, ...] | None = None
) -> TensorVariable:
    """Cholesky factor of a correlation matrix with an LKJ(eta) prior, by partial correlations.

    That of i and j < i, given those before j, is 2·Beta(b, b) - 1 with b = eta + (size - 2 - j)/2
    (j from 0), all independent. PyMC's own LKJCorr compiles C code, which takes a BLAS.
    Source: Lewandowski, Kurowicka & Joe (2009), C-vine.

    The free variable is (partial correlations + 1)/2, in the order of rows; the factor, (size,
    size), is lower triangular, with rows of unit length.
    """
    row, column = np.tril_indices(size, -1)
    shape = eta + (size - 2 - column) / 2
    partial = 2 * pm.Beta(name, shape, shape, dims=dims) - 1
    lower = pt.set_subtensor(pt.zeros((size, size))[row, column], partial)
    # What the entries before leave of a row's unit length.
    left = pt.cumsum(pt.log1p(-(lower**2)), axis=1) / 2
    left = pt.concatenate([pt.zeros((size, 1)), left[:, :-1]], axis=1)
    return (lower + pt.eye(size)) * pt.exp(left)


def log_exponential_integral(x: TensorVariable) -> TensorVariable:
    """log E₁(x) for x > 0: its power series near 0, Gauss-Laguerre quadrature beyond.

    E₁(x) = -γ - log x - Σ (-x)ᵏ/(k k!) = e⁻ˣ ∫ e⁻ᵗ/(x + t) dt; relative error below 1e-13.
    Source: Abramowitz & Stegun (1964), 5.1.11 and 5.1.1.
    """
    small = pt.minimum(x, SERIES_BELOW)[..., None]
    near = -EULER - pt.log(small[..., 0]) + (SERIES * small**POWERS).sum(-1)
    large = pt.maximum(x, SERIES_BELOW)
    far = (WEIGHTS / (large[..., None] + NODES)).sum(-1)
    return pt.switch(x < SERIES_BELOW, pt.log(near), pt.log(far) - large)


def sorted_normal(
    name: str,
    kappa: TensorVariable,
    mu: TensorVariable | float,
    sigma: TensorVariable | float,
    dims: tuple[str, ...],
) -> TensorVariable:
    """Log gaps between criteria that are sorted draws of a normal cut off at κ.

    Beyond κ, (cells,), on the side of S2 the normal is N(mu, sigma), on that of S1 N(-mu, sigma).
    Dims are cell, response and criterion.
    """
    shape = tuple(len(pm.modelcontext(None).coords[dim]) for dim in dims)[1:]
    return pm.CustomDist(
        name,
        kappa,
        OUTWARD * pt.ones(shape) * mu,
        pt.ones(shape) * sigma,
        logp=sorted_normal_logp,
        random=sorted_normal_random,
        signature="(),(r,k),(r,k)->(r,k)",
        dims=dims,
    )


def sorted_normal_logp(
    log_gap: TensorVariable, kappa: TensorVariable, mu: TensorVariable, sigma: TensorVariable
) -> TensorVariable:
    """Log density, per cell, of log gaps between sorted criteria drawn from a normal beyond κ.

    (K - 1)! Π N(t; µ, σ) gap / P(beyond κ), per response: criteria are sums of gaps, which has
    unit Jacobian, and the gap is that of the logarithm. Source: Fleming (2017), whose JAGS
    model sorts truncated normals.
    """
    gaps = pt.exp(log_gap)
    count = gaps.shape[-1]
    criteria = kappa[..., None, None] + OUTWARD * pt.cumsum(gaps, -1)
    scores = (criteria - mu) / sigma
    log_density = (-(scores**2) / 2 - pt.log(sigma) - LOG_SQRT_2PI).sum(-1)
    inward = -OUTWARD[:, 0] * (kappa[..., None] - mu[..., 0]) / sigma[..., 0]
    log_beyond = log_ndtr(inward)
    per_response = log_density + log_gap.sum(-1) + pt.gammaln(count + 1) - count * log_beyond
    return per_response.sum(-1)


def sorted_normal_random(
    kappa: NDArray[np.float64],
    mu: NDArray[np.float64],
    sigma: NDArray[np.float64],
    rng: np.random.Generator,
    size: tuple[int, ...] | None = None,
) -> NDArray[np.float64]:
    """Log gaps between criteria drawn from a normal cut off at κ, and sorted outward."""
    shape = np.shape(kappa) if size is None else tuple(size)
    start = np.broadcast_to(kappa, shape)[..., None, None]
    # Mirrored for response S1, so that all draws lie above their start.
    low = (OUTWARD * (start - mu)) / sigma
    scores = truncnorm.rvs(low, np.inf, size=low.shape, random_state=rng)
    edges = np.sort(scores * sigma + OUTWARD * mu, axis=-1)
    return np.log(np.diff(edges, axis=-1, prepend=OUTWARD * start))
