"""Type-1 signal detection: how well the stimuli are told apart, and with what bias.

Count table (cell, stimulus, response, rating) → Dataset (cell).
Source: Green & Swets (1966); Macmillan & Creelman (2005); Hautus (1995); Gourevitch & Galanter
(1967) for the standard errors.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from hmetad.arguments import check_inputs, refuse_same_names
from hmetad.counts.checks import TYPE1_DIMS, require_stimulus
from hmetad.errors import InputError, nearest
from hmetad.measures.comparability import pair_notices
from hmetad.measures.results import ratio
from hmetad.notice import copy_notices, notices_where
from hmetad.results import attrs_of, names_of

__all__ = [
    "Correction",
    "Type1Rates",
    "added_per_response",
    "is_positive",
    "sdt",
    "type1_rates",
    "z_scores",
    "z_test",
]

Named = Literal["none", "loglinear", "cell"]
Correction = Named | float
Floats = NDArray[np.float64]

LOG_2PI = np.log(2 * np.pi)


class Type1Rates(NamedTuple):
    """Corrected response frequencies per stimulus, each of the shape of the cells.

    `hits` and `misses` count responses S2 and S1 to S2; `false_alarms` and `rejections`
    (correct rejections) to S1.
    """

    hits: Floats
    misses: Floats
    false_alarms: Floats
    rejections: Floats


@check_inputs(skip=("counts", "correction"))
def sdt(counts: xr.DataArray, *, correction: Correction = "none") -> xr.Dataset:
    r"""Sensitivity, bias and their standard errors, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating); further dims are kept.
    correction : {"none", "loglinear", "cell"} or float, optional
        ``"loglinear"`` adds ½ to each of the four response frequencies (Hautus 1995); ``"cell"``
        adds 1/(2K) to each of the 2K frequencies of a stimulus, which is the same at type 1; a
        number is added to each of the 2K. Recorded in the attrs.

    Returns
    -------
    Dataset
        Per cell: ``hit_rate`` and ``false_alarm_rate`` (probabilities), ``dprime`` and ``c`` (SD
        of the evidence), ``c_prime`` (ratio), ``ln_beta`` (nat), ``dprime_se``, ``c_se``,
        ``c_prime_se``, ``ln_beta_se`` and ``cov_dprime_c``. Every variable has attrs
        ``long_name``, ``units``, ``source``; the dataset has ``correction`` and ``notices``.

    Raises
    ------
    InputError
        If the table has no stimulus, or `correction` is none of the above.

    Notes
    -----
    With H = P(S2 | S2), F = P(S2 | S1) and z the normal quantile function:

    .. math::
        d' = z(H) - z(F), \quad c = -\tfrac12 (z(H) + z(F)), \quad c' = c/d', \quad
        \ln\beta = c\,d'

    The variance of z(H) is :math:`v_H = H(1-H)/(n\,\varphi(z(H))^2)`, with H and n as corrected,
    and likewise v_F; then var d′ = v_H + v_F, var c = (v_H + v_F)/4, cov(d′, c) = −(v_H − v_F)/2,
    and c′ and ln β follow by their gradients. Where H or F is 0 or 1 these are NaN, and a notice
    ``"undefined-dprime"`` says so; c′ is NaN also where d′ is 0.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> estimates = sdt(from_nr([3943, 722], [534, 4801]))
    >>> estimates["c"].round(4).item(), estimates["dprime"].round(3).item()
    (-0.1324, 2.297)
    """
    require_stimulus(counts, "sdt")
    if counts.sizes["rating"] == 0:
        raise InputError("counts", "a table without ratings", "one rating or more")
    ordered = counts.transpose(..., *TYPE1_DIMS)
    rates = type1_rates(ordered.to_numpy(), correction)
    like = ordered.isel(dict.fromkeys(TYPE1_DIMS, 0), drop=True)
    refuse_same_names(like.coords, names_of("sdt"))
    estimates = xr.Dataset(
        {name: like.copy(data=values) for name, values in estimate(rates).items()},
        attrs={"correction": correction if isinstance(correction, str) else float(correction)},
    )
    for name in map(str, estimates):
        estimates[name].attrs = attrs_of(name, "sdt")
    d = estimates["dprime"]
    masks = {"undefined-dprime.sdt": d.isnull(), "dprime-sign.below": d < 0}
    return copy_notices(estimates, counts, notices_where(masks))


def type1_rates(counts: ArrayLike, correction: Correction = "none") -> Type1Rates:
    """Corrected frequencies of the two responses to the two stimuli.

    Parameters
    ----------
    counts : array_like, shape (..., 2, 2, K)
        Trials by stimulus, response and rating.
    correction : {"none", "loglinear", "cell"} or float, optional
        As in `sdt`.

    Returns
    -------
    Type1Rates
        Hits, misses, false alarms and correct rejections (trials), each of shape (...).

    Raises
    ------
    InputError
        If `correction` is none of those.

    Examples
    --------
    >>> hits, misses, _, _ = type1_rates([[[5, 3], [1, 1]], [[1, 0], [4, 5]]], "loglinear")
    >>> float(hits), float(misses)
    (9.5, 1.5)
    """
    table = np.asarray(counts, dtype=float)
    said = table.sum(axis=-1) + added_per_response(correction, table.shape[-1])
    return Type1Rates(said[..., 1, 1], said[..., 1, 0], said[..., 0, 1], said[..., 0, 0])


def z_scores(yes: ArrayLike, no: ArrayLike) -> tuple[Floats, Floats]:
    r"""Return z of the rate yes/(yes + no), and its variance by the delta method.

    Parameters
    ----------
    yes, no : array_like, same shape
        Frequencies of the two outcomes (trials).

    Returns
    -------
    z, variance : ndarray
        z = Φ⁻¹(H) and H(1 − H)/(n φ(z)²), of the shape of `yes`; NaN where H is 0, 1 or undefined.

    Examples
    --------
    >>> z, variance = z_scores([84, 10], [16, 0])
    >>> z.round(4), variance.round(4)
    (array([0.9945,    nan]), array([0.0227,    nan]))
    """
    defined = (np.asarray(yes) > 0) & (np.asarray(no) > 0)
    h = np.where(defined, yes, 1.0)
    m = np.where(defined, no, 1.0)
    n = h + m
    # The smaller of the two tails: a rate that rounds to 1 still has its z.
    z = np.where(h <= m, ndtri(h / n), -ndtri(m / n))
    # By logarithms: φ² underflows where the quotient is still finite.
    variance = np.exp(np.log(h) + np.log(m) - 3 * np.log(n) + z**2 + LOG_2PI)
    return np.where(defined, z, np.nan), np.where(defined, variance, np.nan)


@check_inputs()
def z_test(
    estimates: xr.Dataset, var: str, left: str | Sequence[str], right: str | Sequence[str]
) -> xr.Dataset:
    r"""Differences between independent cells, each with its normal test.

    Parameters
    ----------
    estimates : Dataset
        Estimates with dim cell, with the variables `var` and ``f"{var}_se"``.
    var : str
        The variable to compare, such as ``"c"``.
    left, right : str or sequence of str
        Cell labels, paired in order. The two cells of a pair must share no trials and no items.

    Returns
    -------
    Dataset
        Dim pair with text coordinates ``left`` and ``right``: ``difference`` (left − right) and
        ``se`` in the units of `var`, ``z``, and two-sided ``p``. No correction for the number of
        comparisons. Warnings name the pairs of cells that were given the same items
        (``"paired-data"``), and those of which M is compared and d′ or c differ too
        (``"type1-differs"``).

    Raises
    ------
    InputError
        If a variable or cell is unknown, the two lists differ in length, or a cell is compared
        with itself.

    Notes
    -----
    .. math:: z = \frac{\hat\theta_l - \hat\theta_r}{\sqrt{se_l^2 + se_r^2}}, \quad p = 2\Phi(-|z|)

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([[80, 20], [60, 40]], [[20, 80], [20, 80]], model=["A", "B"])
    >>> z_test(sdt(table), "dprime", "A", "B")["p"].round(4).values
    array([0.0344])
    """
    for name in (var, f"{var}_se"):
        if name not in estimates.data_vars:
            given = nearest(name, map(str, estimates.data_vars))
            raise InputError("var", repr(name), "a variable with a standard error", given)
    pairs = [cell_positions(estimates, *side) for side in (("left", left), ("right", right))]
    if len(pairs[0]) != len(pairs[1]):
        got = f"{len(pairs[1])} cells for {len(pairs[0])} in left"
        raise InputError("right", got, "as many cells as left")
    if (pairs[0] == pairs[1]).any():
        same = estimates["cell"].to_numpy()[pairs[0][pairs[0] == pairs[1]][0]]
        raise InputError(
            "right", f"{str(same)!r} on both sides", "two different, independent cells"
        )
    return differences(estimates, var, pairs[0], pairs[1])


def estimate(rates: Type1Rates) -> dict[str, Floats]:
    """All the quantities of `sdt`, under their names."""
    z_H, v_H = z_scores(rates.hits, rates.misses)
    z_F, v_F = z_scores(rates.false_alarms, rates.rejections)
    d, c = z_H - z_F, -(z_H + z_F) / 2
    var_d, var_c, cov = v_H + v_F, (v_H + v_F) / 4, (v_F - v_H) / 2
    safe_d = np.where(d == 0, np.nan, d)
    # Gradients over (z_H, z_F): c′ has (z_F, −z_H)/d², ln β has (−z_H, z_F).
    var_c_prime = (z_F**2 * v_H + z_H**2 * v_F) / safe_d**4
    var_ln_beta = z_H**2 * v_H + z_F**2 * v_F
    return {
        "hit_rate": ratio(rates.hits, rates.hits + rates.misses),
        "false_alarm_rate": ratio(rates.false_alarms, rates.false_alarms + rates.rejections),
        "dprime": d,
        "c": c,
        "c_prime": c / safe_d,
        "ln_beta": c * d,
        "dprime_se": np.sqrt(var_d),
        "c_se": np.sqrt(var_c),
        "c_prime_se": np.sqrt(var_c_prime),
        "ln_beta_se": np.sqrt(var_ln_beta),
        "cov_dprime_c": cov,
    }


def added_per_response(correction: Correction, K: int) -> float:
    """How much a correction adds to the frequency of a response, over its K ratings."""
    if isinstance(correction, str):
        # 1/(2K) in each of K cells is ½, said without rounding.
        added = {"none": 0.0, "loglinear": 0.5, "cell": 0.5}
        if correction in added:
            return added[correction]
    elif is_positive(correction):
        return K * float(correction)
    allowed = f"one of {', '.join(map(repr, get_args(Named)))}, or a number above 0"
    raise InputError("correction", repr(correction), allowed)


def is_positive(number: object) -> bool:
    """Whether it is a finite number above 0, and no boolean."""
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        return False
    return bool(0 < number < np.inf)


def cell_positions(
    estimates: xr.Dataset, argument: str, labels: str | Sequence[str]
) -> NDArray[np.int64]:
    """Positions of the cells, or an error that suggests the nearest label."""
    wanted = [labels] if isinstance(labels, str) else list(labels)
    if "cell" not in estimates.dims:
        dims = f"dims ({', '.join(map(str, estimates.dims))})"
        raise InputError("estimates", dims, "estimates with dim cell")
    if not wanted:
        raise InputError(argument, "no cell", "at least one label")
    positions = estimates.indexes["cell"].get_indexer(pd.Index(wanted, dtype=object))
    for label, position in zip(wanted, positions, strict=True):
        if position < 0:
            known = map(str, estimates["cell"].to_numpy())
            raise InputError(argument, repr(label), "a cell label", nearest(str(label), known))
    return positions


def differences(
    estimates: xr.Dataset, var: str, left: NDArray[np.int64], right: NDArray[np.int64]
) -> xr.Dataset:
    """Difference, standard error, z and p for the positions in `left` and `right`."""
    values, errors = (
        estimates[name].drop_vars(estimates[name].coords) for name in (var, f"{var}_se")
    )
    at_left, at_right = xr.DataArray(left, dims="pair"), xr.DataArray(right, dims="pair")
    difference = values.isel(cell=at_left) - values.isel(cell=at_right)
    se = np.sqrt(errors.isel(cell=at_left) ** 2 + errors.isel(cell=at_right) ** 2)
    z = difference / se
    labels = estimates["cell"].to_numpy()
    long_name = estimates[var].attrs.get("long_name", var)
    units = estimates[var].attrs.get("units", "1")
    result = xr.Dataset(
        {"difference": difference, "se": se, "z": z, "p": 2 * ndtr(-np.abs(z))},
        coords={"left": ("pair", labels[left]), "right": ("pair", labels[right])},
        attrs={"test": "z, two-sided, independent cells", "variable": var},
    )
    for name, text in (("difference", "difference in"), ("se", "standard error, difference in")):
        result[name].attrs = {"long_name": f"{text} {long_name}", "units": units, "quantity": var}
    result["z"].attrs = {"long_name": "difference over its standard error", "units": "1"}
    result["p"].attrs = {"long_name": "two-sided p of the normal test", "units": "1"}
    return copy_notices(result, estimates, pair_notices(estimates, var, left, right))
