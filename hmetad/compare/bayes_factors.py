"""Evidence for and against a null value, by the Savage–Dickey density ratio.

Draws and prior of one quantity → Dataset of Bayes factors, by width of the prior. If the null
hypothesis is one value of a parameter, its Bayes factor is the density of the posterior there over
the density of the prior.
Source: Dickey (1971); Wagenmakers et al. (2010).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats
from numpy.typing import NDArray
from scipy.stats import beta

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import finite, with_variables
from hmetad.base.errors import ModelError, ShapeError, SourceError, TooFewError
from hmetad.base.labels import check_same_names
from hmetad.base.monte_carlo import effective_draws, has_chains
from hmetad.base.notice import notice_of, notices, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import attrs_of, names_of
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    as_cells,
    both_codes,
    codes_on_draws,
    coordinates_of_places,
    one_variable,
)
from hmetad.compare.decisions import Decisions
from hmetad.compare.words import COLUMNS

type Floats = NDArray[np.float64]
type Density = Callable[[Any], Any]

FEWEST = 100
# Widths of the prior, as multiples of its own.
WIDTHS = (0.5, 1.0, 2.0)
# The draw, counted from the null towards the other draws, to which a bound looks.
NEAREST = 10
# A reweighted Bayes factor is given up to this Monte Carlo error of its logarithm.
MOST_ERROR = 0.2
# Evidence from this Bayes factor on is called moderate (Jeffreys 1961).
MODERATE = 3.0


class Distribution(Protocol):
    """A distribution with a density, as those of scipy.stats."""

    pdf: Density


type Prior = xr.DataArray | Distribution


@check_inputs(skip=("draws", "prior"), null=finite)
def bayes_factor(draws: xr.DataArray, *, prior: Prior, null: float = 0.0) -> xr.Dataset:
    r"""Bayes factor of a null value, for each place of draws, such as the pairs of a contrast.

    Parameters
    ----------
    draws : DataArray
        Posterior draws of one quantity with dim draw: from `contrast` or `pass_rate`, or
        ``fit["posterior"]["log_m_task"]``. At least 100 draws.
    prior : DataArray or distribution
        Prior draws of the same quantity; for a difference, the prior draws of this difference:
        the same `contrast` of `hmetad.bayes.draw_prior`. Or its distribution with a method pdf,
        such as ``scipy.stats.norm(0, 0.5)``, the same at all places.
    null : float
        Value of the null hypothesis: 0 for "no difference" and, in log M, for "M = 1".

    Returns
    -------
    Dataset
        Per place ``bf10`` (evidence against the null), ``bf01`` = 1/bf10, ``log_bf10`` (natural
        logarithm) and ``mcse``, the Monte Carlo standard error of log_bf10;
        ``posterior_density`` and ``prior_density`` at the null; ``bound``: "at least" if fewer than
        20 draws lie beyond the null, so that bf10 is a lower bound. ``bf10_by_width`` (place,
        prior_width): bf10 if the prior is half, 1 and 2 times as wide; NaN if the draws cannot tell
        it. The coordinate withheld has the codes of the error notices of the draws, and
        ``"undefined"`` or ``"constant"`` if draws are. The notice ``"null-in-tail"`` names places
        with a bound, ``"prior-width"`` places whose evidence these widths change.

    Raises
    ------
    InputError
        If these are not draws, there are fewer than 100, the prior does not cover the null, or the
        prior is neither draws of these places nor a distribution.

    Notes
    -----
    .. math:: BF_{10} = p(\theta = \theta_0) \,/\, p(\theta = \theta_0 \mid y)

    with the kernel densities of ArviZ, as ``arviz.bayes_factor`` has them. The error is that of
    the kernel's mean over the ESS; it excludes the bias of the kernel, a few per cent near the
    mode, more in a tail. For the prior :math:`p_s(\theta) = p(\theta_0 + (\theta - \theta_0)/s)/s`
    of s times the width, the posterior draws are reweighted:

    .. math:: BF_{10}(s) = BF_{10} \; \mathrm{E}[p_s(\theta) / p(\theta) \mid y].

    This is exact if only the prior of this quantity changes, and the rest keeps its prior given
    the quantity. It is NaN if its error is above .2 or draws lie beyond those of the prior.

    If few draws lie beyond the null, their density there is unknown. With the k-th draw from the
    null towards the other draws at the distance w, and n effective draws, the density at the null
    of a posterior with one mode is at most the .975 quantile of Beta(k, n − k + 1) over w; k is 10.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> draws = np.random.default_rng(1).normal(0, 0.1, (4, 4000, 1))
    >>> slope = xr.DataArray(draws, {"cell": ["age"]}, ("chain", "draw", "cell"), name="slope")
    >>> found = bayes_factor(slope, prior=norm(0, 1))
    >>> found["bf01"].round(-1).values  # exactly 10
    array([10.])
    >>> found["bf10_by_width"].round(2).values.tolist()
    [[0.2, 0.1, 0.05]]
    """
    posterior = single_dim(one_variable(draws, None))
    dim = next(str(d) for d in posterior.dims if d not in SAMPLE_DIMS)
    rows = posterior.transpose(dim, *SAMPLE_DIMS).to_numpy().astype(float)
    if rows[0].size < FEWEST:
        raise TooFewError("draws", f"{rows[0].size}", f"at least {FEWEST} draws", "Increase draws.")
    priors = prior_of_places(prior, posterior, dim)
    are_chains = has_chains(posterior.attrs)
    found = [factor_of(*pair, null, are_chains) for pair in zip(rows, priors, strict=True)]
    columns: dict[str, Any] = {name: np.array([one[name] for one in found]) for name in found[0]}
    is_defined = np.isfinite(rows).all(axis=(1, 2))
    reasons = np.where(is_defined, np.where(np.isnan(columns["bf10"]), "constant", ""), "undefined")
    coords = coordinates_of_places(posterior)
    own = ["withheld", "prior_width"] if dim == "cell" else ["prior_width"]
    check_same_names(coords, [*names_of("bayes_factor"), *own])
    dims = {"bf10_by_width": (dim, "prior_width")}
    data = {
        name: (dims.get(name, dim), values, attrs_of(name, "bayes_factor"))
        for name, values in columns.items()
    }
    codes = both_codes(codes_on_draws(posterior), reasons.tolist())
    attrs = {k: v for k, v in posterior.attrs.items() if k == "notices"}
    attrs |= {"quantity": str(posterior.name), "null": null}
    labels = {**coords, "prior_width": [*WIDTHS], "withheld": (dim, codes)}
    result = xr.Dataset(data, labels, attrs)
    by_width = columns["bf10_by_width"]
    known = np.where(np.isnan(by_width), columns["bf10"][:, None], by_width)
    evidence = np.digitize(known, [1 / MODERATE, MODERATE])
    flags = {
        "null-in-tail": columns["bound"] != "",
        # Of lower bounds nobody knows where the evidence lies.
        "prior-width": (evidence != evidence[:, :1]).any(axis=1) & (columns["bound"] == ""),
    }
    names = np.asarray(posterior[dim]).astype(str)
    told = [notice_of(code, names[flag].tolist()) for code, flag in flags.items() if flag.any()]
    return with_notices(result, told)


OF_FACTORS = with_variables("bf10", "bf10_by_width", dim="prior_width", made_by="bayes_factor")


@check_inputs(factors=OF_FACTORS)
def add_bayes_factors(decisions: Decisions, factors: xr.Dataset) -> Decisions:
    """Add Bayes factors to the table of decisions on the same draws.

    Parameters
    ----------
    decisions : Decisions
        What `decide` returned.
    factors : Dataset
        What `bayes_factor` returned for the same draws.

    Returns
    -------
    Decisions
        With the columns bf10, bf10_bound, bf10_half and bf10_double (bf10 if the prior is half and
        twice as wide), log_bf10 and mcse_log_bf10, NaN where the verdict is withheld; and the
        notices of `factors`.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from hmetad.compare.verdicts import decide
    >>> draws = xr.DataArray(
    ...     np.random.default_rng(1).normal(0, 0.1, (4, 1000, 1)),
    ...     {"cell": ["a"]},
    ...     ("chain", "draw", "cell"),
    ... )
    >>> factors = bayes_factor(draws, prior=norm(0, 1))
    >>> add_bayes_factors(decide(draws, rope=(-0.1, 0.1)), factors).table()["bf10"].round(1).item()
    0.1
    """
    dim = str(next(iter(decisions.results.dims)))
    is_given = decisions.results["withheld"].values == ""
    columns = {x: factors[x] for x in ("bf10", "log_bf10")}
    columns |= {"bf10_bound": factors["bound"], "mcse_log_bf10": factors["mcse"]}
    for name, width in {"bf10_half": 0.5, "bf10_double": 2.0}.items():
        columns[name] = factors["bf10_by_width"].sel(prior_width=width)
    means = {column.name: column.means for column in COLUMNS}
    added = {}
    for name, values in columns.items():
        shown = np.where(is_given, values, "" if name == "bf10_bound" else np.nan)
        added[name] = (dim, shown, {"long_name": means[name]})
    results = with_notices(decisions.results.assign(added), notices(factors))
    return replace(decisions, results=results)


def prior_of_places(prior: Prior, posterior: xr.DataArray, dim: str) -> list[Density | Floats]:
    """Prior of each place: a density, or its draws (chain, draw)."""
    places = posterior.sizes[dim]
    if callable(density := getattr(prior, "pdf", None)):
        return [density] * places
    if not isinstance(prior, xr.DataArray) or "draw" not in prior.dims:
        got = type(prior).__name__
        step = "Sample the prior, or give its distribution: scipy.stats.norm(0, 0.5)."
        raise ModelError("prior", got, "draws of the prior, or a distribution with pdf", step)
    values = single_dim(one_variable(prior, None))
    own = next(str(d) for d in values.dims if d not in SAMPLE_DIMS)
    are_named = own == dim and own in values.coords and dim in posterior.coords
    if are_named and {*posterior[dim].values} <= {*values[own].values}:
        values = values.sel({own: posterior[dim].values})
    if values.sizes[own] > 1 and (own != dim or values.sizes[own] != places):
        got = f"dims {prior.dims} with {values.sizes[own]} places"
        raise ShapeError("prior", got, f"{dim} with {places} places, or none")
    rows = values.transpose(own, *SAMPLE_DIMS).to_numpy()
    return [*np.broadcast_to(rows, (places, *rows.shape[1:]))]


def single_dim(draws: xr.DataArray) -> xr.DataArray:
    """Draws with one further dim: their own, that of stacked cells, or one for a single number."""
    others = [dim for dim in draws.dims if dim not in SAMPLE_DIMS]
    if not others:
        return draws.expand_dims(cell=[str(draws.name)])
    return draws if len(others) == 1 else as_cells(draws)


def factor_of(
    draws: Floats, prior: Density | Floats, null: float, are_chains: bool
) -> dict[str, Any]:
    """Bayes factors of the draws (chain, draw) of one place, and their errors, by column."""
    density, at_null, error = prior_density(prior, null)
    found = {"bf10": np.nan, "bf01": np.nan, "log_bf10": np.nan, "mcse": np.nan}
    found |= {"posterior_density": np.nan, "prior_density": at_null}
    if not np.isfinite(draws).all() or np.ptp(draws) == 0:
        return {**found, "bound": "", "bf10_by_width": np.full(len(WIDTHS), np.nan)}
    below = int((draws < null).sum())
    is_bound = min(below, draws.size - below) < limit("null-in-tail")
    if is_bound:
        at_posterior, error = most_density(draws, null, are_chains), np.nan
    else:
        grid, kernel, width = array_stats.kde(draws.ravel())
        at_posterior = float(np.interp(null, grid, kernel))
        error = float(np.hypot(error, kernel_error(draws, null, float(width), are_chains)))
    factor = at_null / at_posterior
    found |= {"bf10": factor, "bf01": 1 / factor, "log_bf10": np.log(factor), "mcse": error}
    found["posterior_density"] = np.nan if is_bound else at_posterior
    by_width = [factor * reweighted(draws, density, null, one, are_chains) for one in WIDTHS]
    return {**found, "bound": "at least" * is_bound, "bf10_by_width": np.array(by_width)}


def prior_density(prior: Density | Floats, null: float) -> tuple[Density, float, float]:
    """Density of a prior; its value at the null, which it has to cover, and the relative error."""
    if callable(prior):
        at_null = float(prior(null))
        if not (np.isfinite(at_null) and at_null > 0):
            raise SourceError("prior", f"a density of {at_null:g} at {null:g}", "one above 0 there")
        return prior, at_null, 0.0
    if not np.isfinite(prior).all():
        raise SourceError("prior", "undefined draws", "finite numbers")
    below = int((prior < null).sum())
    if min(below, prior.size - below) < limit("null-in-tail"):
        got = f"{below} of {prior.size} draws below {null:g}"
        allowed = f"{limit('null-in-tail'):g} draws or more on both sides of the null"
        step = "A prior that does not cover the null has no Bayes factor. Else sample more of it."
        raise SourceError("prior", got, allowed, step)
    grid, kernel, width = array_stats.kde(prior.ravel())
    at_null = float(np.interp(null, grid, kernel))
    error = kernel_error(prior, null, float(width), True)
    return lambda x: np.interp(x, grid, kernel, left=0, right=0), at_null, error


def kernel_error(draws: Floats, null: float, width: float, are_chains: bool) -> float:
    """Relative Monte Carlo error of the density at the null, a mean of Gaussian kernels."""
    kernel = np.exp(-(((draws - null) / width) ** 2) / 2)
    effective = effective_draws(kernel[None], are_chains=are_chains)[0]
    return float(kernel.std() / kernel.mean() / np.sqrt(effective))


def most_density(draws: Floats, null: float, are_chains: bool) -> float:
    """What the density at a null in the tail is at most, if it rises towards the other draws."""
    away = draws - null if (draws > null).mean() > 0.5 else null - draws
    distance = np.sort(away[away > 0])[:NEAREST][-1]
    near = ((away > 0) & (away <= distance)).astype(float)
    effective = effective_draws(near[None], are_chains=are_chains)[0]
    k = NEAREST * effective / draws.size
    return float(beta.ppf(0.975, k, max(effective - k, 0) + 1) / distance)


def reweighted(
    draws: Floats, density: Density, null: float, width: float, are_chains: bool
) -> float:
    """By how much a prior of so many times the width changes bf10; NaN if draws cannot tell."""
    own = density(draws)
    if width == 1 or not (own > 0).all():
        return 1.0 if width == 1 else np.nan
    weights = density(null + (draws - null) / width) / width / own
    effective = effective_draws(weights[None], are_chains=are_chains)[0]
    mean, error = float(weights.mean()), float(weights.std() / np.sqrt(effective))
    return mean if mean > 0 and error <= MOST_ERROR * mean else np.nan
