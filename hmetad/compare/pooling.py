"""Estimates of many studies as a sample of studies.

Estimates and their standard errors → mean of all studies, spread between them, what a new one would
have, and each study with what the others say of it.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.special import ndtr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, positive, probability
from hmetad.base.errors import MissingError, ShapeError

type Floats = NDArray[np.float64]

# Values of the spread between studies at which its density is computed, and halvings of a search
# for a quantile: of a range of some thousand units 2⁻⁴⁰ are left.
NODES = 200
HALVINGS = 50
# Scales of the prior beyond which nothing of its density is left.
WIDEST = 6.0


@check_inputs(
    estimates=arrays_of_numbers, se=arrays_of_numbers, scale=positive, ci_prob=probability
)
def pool_studies(
    estimates: xr.DataArray, se: xr.DataArray, *, scale: float = 1.0, ci_prob: float = 0.95
) -> xr.Dataset:
    r"""Random-effects analysis of studies, by its exact posterior.

    Parameters
    ----------
    estimates, se : DataArray
        Dims (study,): an estimate of each study, such as a mean log M-ratio, and its standard error
        (or the mean and SD of its posterior), in the same units.
    scale : float, optional
        Of the half-normal prior of the spread between studies, in these units.
    ci_prob : float, optional
        Probability of the intervals, which leave out the same on both sides.

    Returns
    -------
    Dataset
        Medians of the posterior, each with ``_lower`` and ``_upper``: ``mean`` of all studies,
        ``spread``, the SD between them, ``new``, the true value of a further study, and
        ``effect``, dims (study,), that of each study.

    Raises
    ------
    InputError
        If there are fewer than two studies, the two differ in size, or a standard error is not
        above 0 or is missing.

    Notes
    -----
    :math:`y_i \sim N(\theta_i, s_i^2)`, :math:`\theta_i \sim N(\mu, \tau^2)`, a flat prior of
    :math:`\mu` and a half-normal one of :math:`\tau`. Given :math:`\tau` all is normal, and the
    density of :math:`\tau` is (Gelman et al., Bayesian Data Analysis, 3rd ed., section 5.4)

    .. math:: p(\tau \mid y) \propto p(\tau)\, V_\mu^{1/2} \prod_i (s_i^2 + \tau^2)^{-1/2}
        \exp\left(-\frac{(y_i - \hat\mu)^2}{2 (s_i^2 + \tau^2)}\right).

    Results are mixtures of normals over a grid of :math:`\tau`; nothing is drawn.

    Examples
    --------
    >>> means = xr.DataArray([-0.3, -0.1, -0.2, 0.12], dims="study")
    >>> found = pool_studies(means, xr.full_like(means, 0.1))
    >>> round(float(found["mean"]), 2), bool(found["new_upper"] > found["mean_upper"])
    (-0.12, True)
    """
    y, s = (np.asarray(values, dtype=float) for values in (estimates, se))
    if y.ndim != 1 or y.shape != s.shape or y.size < 2:
        raise ShapeError("estimates", f"shapes {y.shape} and {s.shape}", "two studies or more")
    if not (np.isfinite(y).all() and np.isfinite(s).all() and (s > 0).all()):
        step = "Leave out studies without an estimate."
        raise MissingError("se", "values missing or not above 0", "numbers above 0", step)
    tau = np.linspace(0, WIDEST * scale, NODES)[:, None]
    variance = s**2 + tau**2
    precision = (1 / variance).sum(axis=1)
    centre = (y / variance).sum(axis=1) / precision
    log_p = (
        -(tau[:, 0] ** 2) / (2 * scale**2)
        - np.log(precision) / 2
        - np.log(variance).sum(axis=1) / 2
        - ((y - centre[:, None]) ** 2 / variance).sum(axis=1) / 2
    )
    density = np.exp(log_p - log_p.max())
    levels = cumulative_trapezoid(density, initial=0)
    density[0] /= 2
    weights = density / density.sum()
    own = s**2 / variance
    shrunken = own * centre[:, None] + (1 - own) * y
    spread_of_own = np.sqrt(own**2 / precision[:, None] + own * tau**2)
    tails = np.array([0.5, (1 - ci_prob) / 2, (1 + ci_prob) / 2])
    parts = {
        "mean": mixture_quantiles(weights, centre, precision**-0.5, tails),
        "spread": np.interp(tails, levels / levels[-1], tau[:, 0]),
        "new": mixture_quantiles(weights, centre, np.sqrt(1 / precision + tau[:, 0] ** 2), tails),
    }
    pairs = zip(shrunken.T, spread_of_own.T, strict=True)
    effects = np.stack([mixture_quantiles(weights, *of, tails) for of in pairs], axis=-1)
    data: dict[str, Any] = {}
    for i, end in enumerate(("", "_lower", "_upper")):
        data |= {name + end: values[i] for name, values in parts.items()}
        data["effect" + end] = (estimates.dims, effects[i])
    return xr.Dataset(data, estimates.coords).assign_attrs(ci_prob=ci_prob, prior_scale=scale)


def mixture_quantiles(weights: Floats, means: Floats, sds: Floats, tails: Floats) -> Floats:
    """Quantiles of a mixture of normals, by halving a range that has them."""
    low = np.full(tails.shape, (means - 10 * sds).min())
    high = np.full(tails.shape, (means + 10 * sds).max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_below = ndtr((middle[:, None] - means) / sds) @ weights < tails
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return (low + high) / 2
