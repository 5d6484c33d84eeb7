"""Evidence for and against a null value, by the Savage-Dickey ratio.

Fit with a prior group (DataTree) → Dataset of Bayes factors. Where the null is one value of a
parameter, its Bayes factor is the density of the posterior there over that of the prior.
Source: Dickey (1971); Wagenmakers et al. (2010).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base import array_stats
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import finite
from hmetad.base.errors import ModelError, ShapeError, nearest
from hmetad.base.labels import check_same_names
from hmetad.base.monte_carlo import effective_draws
from hmetad.base.results import attrs_of, names_of
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    as_cells,
    both_codes,
    codes_on_draws,
    coordinates_of_places,
    one_variable,
)
from hmetad.compare.contrasts import contrast

type Floats = NDArray[np.float64]

HOW = (
    "Sample it: with hmetad.bayes.rebuild_model(fit): sampled = pymc.sample_prior_predictive(4000, "
    "var_names=[{!r}]); then fit['prior'] = sampled['prior']."
)


@check_inputs(skip=("fit",), null=finite)
def bayes_factor(
    fit: xr.DataTree,
    *,
    var: str,
    null: float = 0.0,
    over: str | None = None,
    within: str | Sequence[str] = (),
    against: str | float | bool | None = None,
    matrix: pd.DataFrame | None = None,
) -> xr.Dataset:
    r"""Bayes factor of a null value of coefficients, of cells, or of differences.

    Parameters
    ----------
    fit : DataTree
        With groups posterior and prior, both with `var`.
    var : str
        The quantity, such as "log_m_task" or "log_m".
    null : float
        The value of the null hypothesis.
    over, within, against, matrix : optional
        As in `contrast`: judge differences of `var` in place of its own values. The prior of a
        difference is that of the same difference of prior draws.

    Returns
    -------
    Dataset
        ``bf01`` (for the null) and ``bf10`` = 1/bf01, with ``mcse_bf01`` and ``mcse_bf10``;
        ``posterior_density`` and ``prior_density`` at the null; per pair of a difference, else per
        place of `var`. The coordinate withheld has the codes of the error notices of the fit on it;
        ``"outside"`` where the null lies beyond all draws, so that the density there is not known
        and results are NaN; ``"undefined"`` where draws are.

    Raises
    ------
    InputError
        If there is no prior group, or `var` is not in it.

    Notes
    -----
    .. math:: BF_{01} = p(\theta = \theta_0 \mid y) / p(\theta = \theta_0)

    with kernel densities by ArviZ. Errors are those of the kernel's mean over the effective draws;
    they leave out the bias of the kernel, a few percent. A Bayes factor is as good as its prior:
    a wider prior favours the null. Where the null is far in a tail of the posterior, its density
    depends on few draws: read "strong", not the digits.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> fit = xr.DataTree.from_dict({
    ...     group: xr.Dataset({"log_m_age": (("chain", "draw"), rng.normal(0, sd, (4, 1000)))})
    ...     for group, sd in {"posterior": 0.1, "prior": 1.0}.items()
    ... })
    >>> bayes_factor(fit, var="log_m_age")["bf01"].round(-1).item()  # exactly 10
    10.0
    """
    prior = prior_draws(fit, var)
    posterior = one_variable(fit, var)
    if over is not None:
        options: dict[str, Any] = {"over": over, "within": within, "against": against}
        posterior, prior = (
            contrast(draws, **options, matrix=matrix) for draws in (posterior, prior)
        )
    else:
        posterior, prior = single_dim(posterior), single_dim(prior)
    dim = next(str(d) for d in posterior.dims if d not in SAMPLE_DIMS)
    found = pd.DataFrame(
        densities(posterior.isel({dim: i}).values, prior.isel({dim: i}).values, null)
        for i in range(posterior.sizes[dim])
    )
    withheld = both_codes(codes_on_draws(posterior), found["reason"].tolist())
    result = labelled_factors(found, posterior, dim).assign_coords(withheld=(dim, withheld))
    attrs = {k: v for k, v in posterior.attrs.items() if k == "notices"}
    return result.assign_attrs(attrs | {"quantity": str(posterior.name), "null": null})


def prior_draws(fit: xr.DataTree, var: str) -> xr.DataArray:
    """Prior draws of a quantity, with the coordinates of the fit's cells."""
    if not isinstance(fit, xr.DataTree):
        raise ModelError("fit", type(fit).__name__, "a fit (DataTree) with a group prior")
    if "prior" not in fit.children:
        raise ModelError("fit", "a fit without prior draws", "a group prior", HOW.format(var))
    prior = fit["prior"].to_dataset()
    if var not in prior:
        step = f"{nearest(var, map(str, prior.data_vars))} {HOW.format(var)}"
        raise ModelError("var", repr(var), "a variable of the group prior", step)
    values = prior[var]
    posterior = one_variable(fit, var)
    if set(values.dims) != set(posterior.dims):
        raise ShapeError("fit", f"prior dims {values.dims}", f"dims {posterior.dims}")
    shared = [d for d in posterior.dims if d in posterior.coords and d in values.coords]
    aligned = values.sel({d: posterior[d].values for d in shared if d not in SAMPLE_DIMS})
    return aligned.assign_coords(coordinates_of_places(posterior))


def single_dim(draws: xr.DataArray) -> xr.DataArray:
    """Draws with one further dim: their own, that of stacked cells, or one for a single number."""
    others = [dim for dim in draws.dims if dim not in SAMPLE_DIMS]
    if not others:
        return draws.expand_dims(cell=[str(draws.name)])
    return draws if len(others) == 1 else as_cells(draws)


def densities(posterior: Floats, prior: Floats, null: float) -> dict[str, float | str]:
    """Densities at the null and their errors, (chain, draw) each; or why there are none."""
    names = ("posterior", "posterior_error", "prior", "prior_error")
    nothing: dict[str, float | str] = dict.fromkeys(names, np.nan)
    if not (np.isfinite(posterior).all() and np.isfinite(prior).all()):
        return {**nothing, "reason": "undefined"}
    if not all(draws.min() < null < draws.max() for draws in (posterior, prior)):
        return {**nothing, "reason": "outside"}
    found: dict[str, float | str] = {}
    for name, draws in {"posterior": posterior, "prior": prior}.items():
        grid, density, width = array_stats.kde(draws.ravel())
        found[name] = float(np.interp(null, grid, density))
        found[f"{name}_error"] = kernel_error(draws, null, float(width))
    # Between a few stray draws and the rest, a density of 0 means that it is not known.
    is_known = min(float(found["posterior"]), float(found["prior"])) > 0
    return {**found, "reason": ""} if is_known else {**nothing, "reason": "outside"}


def kernel_error(draws: Floats, null: float, width: float) -> float:
    """Monte Carlo standard error of the density at the null, a mean of Gaussian kernels."""
    kernel = np.exp(-(((draws - null) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    return float(kernel.std() / np.sqrt(effective_draws(kernel[None])[0]))


def labelled_factors(found: pd.DataFrame, posterior: xr.DataArray, dim: str) -> xr.Dataset:
    """Bayes factors, their errors and the densities, with the labels of what they are of."""
    bf01 = found["posterior"] / found["prior"]
    relative = np.hypot(
        found["posterior_error"] / found["posterior"], found["prior_error"] / found["prior"]
    )
    columns = {
        "bf01": bf01,
        "bf10": 1 / bf01,
        "mcse_bf01": bf01 * relative,
        "mcse_bf10": relative / bf01,
        "posterior_density": found["posterior"],
        "prior_density": found["prior"],
    }
    coords = coordinates_of_places(posterior)
    own = ["withheld"] if dim == "cell" else []
    check_same_names(coords, [*names_of("bayes_factor"), *own])
    data = {
        name: (dim, np.asarray(values), attrs_of(name, "bayes_factor"))
        for name, values in columns.items()
    }
    return xr.Dataset(data, coords)
