"""The PyMC model of a model card.

Count table and ModelSpec → pm.Model. Every parameter is written per cell; links and the rule
for κ stand here in PyTensor, the likelihood itself is the compiled kernel.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pymc.distributions.dist_math import normal_lcdf
from pytensor.tensor.variable import TensorVariable
from scipy.stats import truncnorm

from hmetad.bayes.spec import ModelSpec
from hmetad.bayes.start import starting_values
from hmetad.counts.checks import require_stimulus
from hmetad.errors import InputError
from hmetad.likelihood.op import log_likelihood
from hmetad.likelihood.theory import LOG_SQRT_2PI, log_joint_probabilities, meta_criterion_value
from hmetad.measures.sdt import sdt

__all__ = ["build_model"]

COUNT_DIMS = ("cell", "stimulus", "response", "rating")
PER_GAP = ("cell", "response", "criterion")
OUTWARD = np.array([-1.0, 1.0])[:, None]


def build_model(counts: xr.DataArray, spec: ModelSpec) -> pm.Model:
    """Build the PyMC model of a card for a count table.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), K ≥ 2.
    spec : ModelSpec
        A model card.

    Returns
    -------
    pm.Model
        Free variables by the spec's parametrisation; per cell also dprime, c, meta_d, m_ratio,
        log_m, meta_c (κ) and criteria (cell, response, criterion), and the observed counts.

    Raises
    ------
    InputError
        If the table has no ratings to model, or a cell lacks a stimulus.

    Examples
    --------
    >>> from hmetad.bayes.spec import load_model
    >>> from hmetad.counts.table import from_nr
    >>> counts = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> sorted(v.name for v in build_model(counts, load_model("individual")).free_RVs)
    ['c', 'dprime', 'log_gap', 'log_m']
    """
    if not isinstance(spec, ModelSpec):
        raise InputError("spec", repr(spec), "a ModelSpec", "Read one with load_model.")
    counts = checked_counts(counts)
    criteria = np.arange(1, counts.sizes["rating"])
    coords = {name: counts[name].values for name in counts.dims} | {"criterion": criteria}
    with pm.Model(coords=coords) as model:
        dprime, c = type1_parameters(counts, spec)
        meta_d, m_ratio = meta_parameters(dprime, spec)
        kappa = meta_criterion_value(c, m_ratio, spec.meta_criterion)
        gaps = gap_parameters(kappa, spec)
        pm.Deterministic("meta_c", kappa, dims="cell")
        edges = kappa[:, None, None] + OUTWARD * pt.cumsum(gaps, axis=-1)
        pm.Deterministic("criteria", edges, dims=PER_GAP)
        observe(counts, dprime, c, meta_d, kappa, gaps)
        start_near(counts, spec, model)
    return model


def start_near(counts: xr.DataArray, spec: ModelSpec, model: pm.Model) -> None:
    """Give every free variable its starting value."""
    values = starting_values(counts, spec)
    for variable in model.free_RVs:
        model.set_initval(variable, values[variable.name])


def checked_counts(counts: xr.DataArray) -> xr.DataArray:
    """Count table in its own order of dims, or the reason why it cannot be modelled."""
    require_stimulus(counts, "the meta-d′ model")
    if set(counts.dims) != set(COUNT_DIMS) or counts.sizes["stimulus"] != 2:
        raise InputError("counts", f"sizes {dict(counts.sizes)}", f"dims {COUNT_DIMS}")
    if counts.dtype.kind not in "iu" or bool((counts < 0).any()) or counts.sizes["response"] != 2:
        got = f"{counts.dtype} with minimum {float(counts.min()):g}"
        raise InputError("counts", got, "raw counts: whole numbers of at least 0")
    if counts.sizes["rating"] < 2:
        raise InputError("counts", "one rating", "at least two", "sdt() needs no ratings.")
    shown = counts.sum(["response", "rating"])
    lacking = counts["cell"].values[(shown == 0).any("stimulus").values]
    if lacking.size:
        raise InputError(
            "counts",
            f"a stimulus never shown in {', '.join(map(str, lacking[:5]))}",
            "trials of S1 and of S2 in every cell",
            "Drop those cells, or group the trials otherwise.",
        )
    return counts.transpose(*COUNT_DIMS)


def type1_parameters(
    counts: xr.DataArray, spec: ModelSpec
) -> tuple[TensorVariable, TensorVariable]:
    """d′ and c: estimated, or plugged in from counts with 1/(2K) added (HMeta-d)."""
    if spec.type1 == "joint":
        return draw("dprime", spec, dims="cell"), draw("c", spec, dims="cell")
    plugged = sdt(counts, correction="cell")
    return tuple(
        pm.Deterministic(name, pt.as_tensor(plugged[name].values), dims="cell")
        for name in ("dprime", "c")
    )


def meta_parameters(
    dprime: TensorVariable, spec: ModelSpec
) -> tuple[TensorVariable, TensorVariable]:
    """meta-d′ and M, from the scale that carries the prior; log M is NaN where M ≤ 0."""
    if spec.scale == "log_m":
        m_ratio = pt.exp(draw("log_m", spec, dims="cell"))
        pm.Deterministic("m_ratio", m_ratio, dims="cell")
        return pm.Deterministic("meta_d", m_ratio * dprime, dims="cell"), m_ratio
    if spec.scale == "m":
        m_ratio = draw("m", spec, dims="cell")
        meta_d = pm.Deterministic("meta_d", m_ratio * dprime, dims="cell")
    else:
        meta_d = draw("meta_d", spec, dims="cell", centre=dprime)
        m_ratio = meta_d / dprime
    pm.Deterministic("m_ratio", m_ratio, dims="cell")
    pm.Deterministic("log_m", pt.log(pt.switch(m_ratio > 0, m_ratio, np.nan)), dims="cell")
    return meta_d, m_ratio


def gap_parameters(kappa: TensorVariable, spec: ModelSpec) -> TensorVariable:
    """Distances between type-2 criteria, (cell, response, criterion)."""
    if spec.criteria == "log_gap":
        return pt.exp(draw("log_gap", spec, dims=PER_GAP))
    prior = spec.prior("criteria").parameters
    shape = tuple(len(pm.modelcontext(None).coords[dim]) for dim in PER_GAP)
    log_gap = pm.CustomDist(
        "log_gap",
        kappa,
        np.full(shape[1:], prior["mu"]),
        np.full(shape[1:], prior["sigma"]),
        logp=sorted_normal_logp,
        random=sorted_normal_random,
        signature="(),(r,k),(r,k)->(r,k)",
        dims=PER_GAP,
    )
    return pt.exp(log_gap)


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
    log_beyond = normal_lcdf(0.0, 1.0, inward)
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


def observe(
    counts: xr.DataArray,
    dprime: TensorVariable,
    c: TensorVariable,
    meta_d: TensorVariable,
    kappa: TensorVariable,
    gaps: TensorVariable,
) -> None:
    """Tie the parameters to the observed counts."""
    per_response = pt.ones(2)
    pm.CustomDist(
        "counts",
        dprime,
        c,
        meta_d[:, None] * per_response,
        kappa[:, None] * per_response,
        gaps,
        pt.ones(counts.sizes["cell"]),
        counts.sum(["response", "rating"]).values,
        counts["rating"].values,
        logp=counts_logp,
        random=counts_random,
        signature="(),(),(r),(r),(r,g),(),(s),(k)->(s,r,k)",
        dtype="int64",
        observed=counts.values,
        dims=counts.dims,
    )


def counts_logp(value: TensorVariable, *parameters: TensorVariable) -> TensorVariable:
    """ℓ of each cell; the last two parameters only tell how to draw new counts."""
    return log_likelihood(value, *parameters[:-2])


def counts_random(
    *parameters: Any,
    rng: np.random.Generator,
    size: tuple[int, ...] | None = None,  # noqa: ARG001
) -> NDArray[np.int64]:
    """New counts with the observed numbers of trials of each stimulus."""
    d, c, m, kappa, gaps, s, trials, _ = parameters
    p = np.exp(log_joint_probabilities(d, c, m, kappa, gaps, s))
    flat = p.reshape(*p.shape[:-2], -1)
    return rng.multinomial(trials, flat / flat.sum(-1, keepdims=True)).reshape(p.shape)


def draw(
    parameter: str,
    spec: ModelSpec,
    *,
    dims: str | tuple[str, ...],
    centre: TensorVariable | float = 0.0,
) -> TensorVariable:
    """Free variable with the prior that the model gives to a parameter, moved to a centre."""
    prior = spec.prior(parameter)
    values = dict(prior.parameters)
    if "mu" in values:
        values["mu"] = values["mu"] + centre
    return getattr(pm, prior.dist)(parameter, **values, dims=dims)
