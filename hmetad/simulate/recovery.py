"""How well estimators find a truth that is known: bias and error by d′ and number of trials.

Estimators (count table → Dataset) and a design → Dataset (estimator, true_dprime, trials).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.arguments import arrays_of_numbers, check_inputs, seed_or_none
from hmetad.counts.checks import whole_number
from hmetad.errors import InputError, nearest
from hmetad.likelihood.registry import load_likelihood
from hmetad.results import attrs_of
from hmetad.simulate.simulate import simulate_counts

__all__ = ["recover"]

type Estimator = Callable[[xr.DataArray], xr.Dataset]


@check_inputs(dprime=arrays_of_numbers, trials=arrays_of_numbers, seed=seed_or_none)
def recover(
    estimators: Mapping[str, Estimator],
    *,
    dprime: ArrayLike,
    trials: ArrayLike,
    m_ratio: float = 0.8,
    c: float = 0.0,
    n: int = 200,
    var: str = "m_ratio",
    likelihood: str = "meta-d",
    seed: int | None = None,
    **design: Any,
) -> xr.Dataset:
    r"""Bias and error of estimators on cells drawn from the meta-d′ model, or another.

    Parameters
    ----------
    estimators : mapping of str to callable
        Count table → Dataset with `var` per cell: ``{"ML": fit_mle, "DMC": fit_dmc}``; of a
        Bayesian fit, ``lambda t: fit(t)["posterior"].dataset.mean(["chain", "draw"])``. All see
        the same tables, those of all designs at once.
    dprime : array_like, shape (sensitivities,)
        True d′.
    trials : array_like of int, shape (numbers,)
        Trials of a cell.
    m_ratio, c : float, optional
        True M, of the meta-d′ model alone, and c.
    n : int, optional
        Cells of each design.
    var : str, optional
        What is estimated: ``"m_ratio"``, ``"log_m"``, ``"meta_d"``, ``"dprime"`` or ``"c"``; of
        another likelihood, one of its quantities whose truth is given or follows.
    likelihood : str, optional
        Name of another likelihood, as in `simulate_counts`.
    seed : int, optional
        Seed of the simulation.
    **design
        Further arguments of `simulate_counts`: ``ratings``, ``meta_criterion``, ``s``, ``gaps``; of
        another likelihood, its choices and values, each one number.

    Returns
    -------
    Dataset
        Dims (estimator, true_dprime, trials): ``bias``, ``bias_se``, ``median_bias`` and
        ``rmse`` in the units of `var`, over the cells with an estimate, and ``undefined``, the
        share of those without. Attrs ``var``, ``m_ratio`` or ``likelihood``, ``c``, ``n``.

    Raises
    ------
    InputError
        If `var` is none of the above, an estimator does not return it, or `n` is no whole number.

    Examples
    --------
    >>> from hmetad.mle.meta_d import fit_mle
    >>> found = recover({"ML": fit_mle}, dprime=[1.5], trials=[10_000], n=50, seed=1)
    >>> bool(abs(found["bias"].item()) < 0.05)
    True
    >>> found = recover(
    ...     {"ML": lambda counts: fit_mle(counts, "gaussian_noise")}, dprime=[1.5], trials=[10_000],
    ...     n=20, likelihood="linear-gaussian", noise=0.7, var="noise", seed=1,
    ... )
    >>> bool(abs(found["bias"].item()) < 0.1)
    True
    """
    sensitivity, number = np.atleast_1d(dprime).astype(float), np.atleast_1d(trials)
    size = whole_number("n", n, 2)
    for argument, values in (("dprime", sensitivity), ("trials", number)):
        if values.ndim > 1:
            raise InputError(argument, f"shape {values.shape}", "numbers in one row")
    d, per_cell = (
        np.repeat(x.ravel(), size) for x in np.meshgrid(sensitivity, number, indexing="ij")
    )
    truths = true_values(likelihood, d, c, m_ratio, design)
    if var not in truths:
        allowed = f"a quantity whose truth is known: {', '.join(truths)}"
        raise InputError("var", repr(var), allowed, nearest(str(var), truths))
    given: dict[str, Any] = (
        {"m_ratio": m_ratio} if likelihood == "meta-d" else {"likelihood": likelihood}
    )
    counts = simulate_counts(d, c, trials=per_cell, seed=seed, **given, **design)
    errors = [
        estimates_of(name, estimator, counts, var) - truths[var]
        for name, estimator in estimators.items()
    ]
    grid = np.reshape(errors, (len(errors), len(sensitivity), len(number), size))
    dims = ("estimator", "true_dprime", "trials")
    coords = {"estimator": list(estimators), "true_dprime": sensitivity, "trials": number}
    result = xr.Dataset({name: (dims, x) for name, x in summaries(grid).items()}, coords)
    for name in map(str, result):
        long_name = attrs_of(name, "recover")["long_name"]
        result[name].attrs = {"long_name": f"{long_name}, {var}"}
    result.attrs = {"var": var, **given, "c": c, "n": size}
    return result


def true_values(
    likelihood: str, d: NDArray[np.float64], c: float, m_ratio: float, design: Mapping[str, Any]
) -> dict[str, NDArray[np.float64]]:
    """True values of each cell, by name."""
    if likelihood == "meta-d":
        return {
            "m_ratio": np.full_like(d, m_ratio),
            "log_m": np.full_like(d, np.log(m_ratio) if m_ratio > 0 else np.nan),
            "meta_d": m_ratio * d,
            "dprime": d,
            "c": np.full_like(d, c),
        }
    chosen = {name: value for name, value in design.items() if isinstance(value, str)}
    record = load_likelihood(likelihood, **chosen)
    names = {p.name for p in record.parameters} | {q.name for q in record.quantities}
    known = {"dprime": d, "c": np.full_like(d, c)}
    for name, value in design.items():
        if name in names and np.ndim(value) == 0 and not record.dims(name):
            known[name] = np.full_like(d, value)
    found = record.derived(known)
    return {name: own for name, own in found.items() if np.shape(own) == d.shape and name in names}


def estimates_of(
    name: str, estimator: Estimator, counts: xr.DataArray, var: str
) -> NDArray[np.float64]:
    """Estimates per cell, or an error that says which estimator gave none."""
    result = estimator(counts)
    if var not in result or result[var].dims != ("cell",):
        got = f"{name!r}, which returns no {var!r} of dims (cell)"
        raise InputError("estimators", got, f"functions that return {var!r} per cell")
    return result[var].sel(cell=counts["cell"]).to_numpy()


def summaries(errors: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Summaries over the last axis, NaN where no cell has an estimate."""
    defined = np.isfinite(errors)
    number = np.where(defined.any(axis=-1), defined.sum(axis=-1), np.nan)
    kept = np.where(defined, errors, 0.0)
    bias = kept.sum(axis=-1) / number
    around = np.where(defined, errors - bias[..., None], 0.0)
    others = np.where(number > 1, number - 1, np.nan)
    ordered = np.sort(np.where(defined, errors, np.nan), axis=-1)
    return {
        "bias": bias,
        "bias_se": np.sqrt((around**2).sum(axis=-1) / number / others),
        "median_bias": median_of_first(ordered, defined.sum(axis=-1)),
        "rmse": np.sqrt((kept**2).sum(axis=-1) / number),
        "undefined": 1 - defined.mean(axis=-1),
    }


def median_of_first(ordered: NDArray[np.float64], number: NDArray[np.int64]) -> NDArray[np.float64]:
    """Median of the first `number` of the sorted values."""
    low, high = np.maximum(number - 1, 0) // 2, number // 2
    high = np.minimum(high, np.maximum(number - 1, 0))
    pair = [np.take_along_axis(ordered, i[..., None], axis=-1)[..., 0] for i in (low, high)]
    return np.mean(pair, axis=0)
