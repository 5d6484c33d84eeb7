"""Type-1 signal detection: how well the stimuli are told apart, and with what bias.

Count table (cell, stimulus, response, rating) → Dataset (cell).
Source: Green & Swets (1966); Macmillan & Creelman (2005); Hautus (1995); Gourevitch & Galanter
(1967) for the standard errors; Guggenmos (2021) and Rausch et al. (2023) for what M-ratio depends
on.
"""

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import is_number
from hmetad.base.errors import ChoiceError, LabelError, ShapeError, TooFewError, nearest
from hmetad.base.notice import Notice, copy_notices, notices_where
from hmetad.base.notice_registry import limit
from hmetad.base.results import about
from hmetad.base.untrusted import read_attr
from hmetad.counts.checks import TYPE1_DIMS, has_more_options, require_stimulus
from hmetad.counts.reversed_scales import FEWEST_CELLS, Flags, notice_of_levels
from hmetad.counts.tables import EXPECTED, items_together
from hmetad.measures.results import described, ratio
from hmetad.rows.duplicates import is_item_name

Named = Literal["none", "loglinear", "cell"]
Correction = Named | float
type Floats = NDArray[np.float64]
type Places = NDArray[np.int64]

LOG_2PI = np.log(2 * np.pi)
TYPE1 = ("dprime", "c")
# Of finding a difference in d′ or c in any of the pairs, where there is none.
FALSE_ALARM = 0.05


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
        number is added to each of the 2K. Nothing is added to a stimulus without trials. Recorded
        in the attrs.

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
        raise TooFewError("counts", "a table without ratings", "one rating or more")
    ordered = counts.transpose(..., *TYPE1_DIMS)
    rates = type1_rates(ordered.to_numpy(), correction)
    like = ordered.isel(dict.fromkeys(TYPE1_DIMS, 0), drop=True)
    said = correction if isinstance(correction, str) else float(correction)
    estimates = described(like, estimate(rates), "sdt").assign_attrs(correction=said)
    d = estimates["dprime"]
    masks = {"undefined-dprime.sdt": d.isnull(), "dprime-sign.below": d < 0}
    return copy_notices(estimates, counts, notices_where(masks))


def at_chance(
    counts: xr.DataArray,
    fitted: xr.Dataset | None = None,
    name: str = "at-chance.fitted",
    people: Collection[str] = (),
) -> list[Notice]:
    """Notice of a table, or of levels, in which responses do not follow the stimuli.

    The mean of d′ over cells, weighted by 1/SE², is nearer to 0 than any task is meant to be; of
    more options it is taken from a fit of them. Cells with fewer than ten trials of a stimulus are
    not asked: the correction makes their d′ small. Of a level, which has three cells at least, the
    SE of the mean is at most half of that.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> at_chance(from_nr([20, 10, 15, 15], [16, 14, 10, 21]))[0].code
    'at-chance'
    """
    is_of_two = {*counts.dims} == {"cell", *TYPE1_DIMS} and not has_more_options(counts)
    if (fitted is None and not is_of_two) or counts.sum() < limit("few-trials"):
        return []
    if fitted is None:
        table = items_together(counts).reset_coords(drop=True)
        has_enough = (table.sum(["response", "rating"]) >= EXPECTED).all("stimulus")
        fitted = sdt(table, correction="cell").where(has_enough)
    weight, nearest = 1 / fitted["dprime_se"] ** 2, limit("at-chance")
    product = fitted["dprime"] * weight

    def check(where: Flags, levels: int) -> tuple[bool, dict[str, Any]]:
        """Whether the mean of d′ over some cells is near 0, and what it is."""
        total = float(weight[where].sum())
        mean = float(product[where].sum()) / total if total > 0 else np.nan
        is_exact = total > 0 and total**-0.5 <= nearest / 2 and where.sum() >= FEWEST_CELLS
        is_known = bool(is_exact) if levels else total > 0
        return is_known and abs(mean) < nearest, {"mean": mean}

    return notice_of_levels(name, counts, people, check)


def type1_rates(counts: ArrayLike, correction: Correction = "none") -> Type1Rates:
    """Frequencies of the two responses to the two stimuli (..., 2, 2, K), corrected as by `sdt`.

    Examples
    --------
    >>> hits, misses, _, _ = type1_rates([[[5, 3], [1, 1]], [[1, 0], [4, 5]]], "loglinear")
    >>> float(hits), float(misses)
    (9.5, 1.5)
    """
    table = np.asarray(counts, dtype=float)
    said = table.sum(axis=-1)
    # A correction makes no rate of a stimulus without trials.
    added = added_per_response(correction, table.shape[-1])
    said = np.where(said.sum(axis=-1, keepdims=True) > 0, said + added, 0.0)
    return Type1Rates(said[..., 1, 1], said[..., 1, 0], said[..., 0, 1], said[..., 0, 0])


def z_scores(yes: ArrayLike, no: ArrayLike) -> tuple[Floats, Floats]:
    """Return z of the rate H = yes/(yes + no), and its variance H(1 − H)/(n φ(z)²).

    NaN where H is 0, 1 or undefined.

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
        comparisons. Warnings name the pairs of cells with the same items (``"paired-data"``), and
        pairs whose M is compared although d′ or c differ too (``"type1-differs"``).

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
            raise ChoiceError("var", repr(name), "a variable with a standard error", given)
    at_left, at_right = (
        cell_places(estimates, *side) for side in (("left", left), ("right", right))
    )
    if len(at_left) != len(at_right):
        got = f"{len(at_right)} cells for {len(at_left)} in left"
        raise ShapeError("right", got, "as many cells as left")
    labels = estimates["cell"].to_numpy()
    same = labels[at_left[at_left == at_right]]
    if same.size:
        got = f"{str(same[0])!r} on both sides"
        raise TooFewError("right", got, "two different, independent cells")
    values, errors = (
        estimates[name].drop_vars(estimates[name].coords) for name in (var, f"{var}_se")
    )
    first, second = (xr.DataArray(places, dims="pair") for places in (at_left, at_right))
    difference = values.isel(cell=first) - values.isel(cell=second)
    se = np.sqrt(errors.isel(cell=first) ** 2 + errors.isel(cell=second) ** 2)
    z = difference / se
    result = xr.Dataset(
        {"difference": difference, "se": se, "z": z, "p": 2 * ndtr(-np.abs(z))},
        coords={"left": ("pair", labels[at_left]), "right": ("pair", labels[at_right])},
        attrs={"test": "z, two-sided, independent cells", "variable": var},
    )
    long_name = estimates[var].attrs.get("long_name", var)
    own = {"units": estimates[var].attrs.get("units", "1"), "quantity": var}
    texts = {
        "difference": {"long_name": f"difference in {long_name}", **own},
        "se": {"long_name": f"standard error, difference in {long_name}", **own},
        "z": {"long_name": "difference over its standard error", "units": "1"},
        "p": {"long_name": "two-sided p of the normal test", "units": "1"},
    }
    for name, attrs in texts.items():
        result[name].attrs = attrs
    return copy_notices(result, estimates, pair_notices(estimates, var, at_left, at_right))


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


def corrected(counts: Floats, correction: Correction) -> Floats:
    """Counts (..., 2, 2, K) with what a correction adds; nothing to a stimulus without trials."""
    ratings = counts.shape[-1]
    has_trials = counts.sum(axis=(-2, -1), keepdims=True) > 0
    return counts + np.where(has_trials, added_per_response(correction, ratings) / ratings, 0.0)


def added_per_response(correction: Correction, K: int) -> float:
    """How much a correction adds to the frequency of a response, over its K ratings."""
    if isinstance(correction, str):
        # 1/(2K) in each of K cells is ½, said without rounding.
        added = {"none": 0.0, "loglinear": 0.5, "cell": 0.5}
        if correction in added:
            return added[correction]
    elif is_number(correction) and 0 < correction < np.inf:
        return K * float(correction)
    allowed = f"one of {', '.join(map(repr, get_args(Named)))}, or a number above 0"
    raise ChoiceError("correction", repr(correction), allowed)


def cell_places(estimates: xr.Dataset, argument: str, labels: str | Sequence[str]) -> Places:
    """Places of the cells, or an error that suggests the nearest label."""
    wanted = [labels] if isinstance(labels, str) else list(labels)
    if "cell" not in estimates.dims:
        dims = f"dims ({', '.join(map(str, estimates.dims))})"
        raise ShapeError("estimates", dims, "estimates with dim cell")
    if not wanted:
        raise LabelError(argument, "no cell", "at least one label")
    places = estimates.indexes["cell"].get_indexer(pd.Index(wanted, dtype=object))
    for label, place in zip(wanted, places, strict=True):
        if place < 0:
            known = map(str, estimates["cell"].to_numpy())
            raise LabelError(argument, repr(label), "a cell label", nearest(str(label), known))
    return places


def pair_notices(estimates: xr.Dataset, var: str, left: Places, right: Places) -> list[Notice]:
    """Notices of pairs of cells that a test of independent cells should not compare.

    Those that were given the same items, and those of which M or meta-d′ is compared and d′ or c
    differ too: z-tests at .05, Bonferroni-corrected for all pairs and both of them.

    Examples
    --------
    >>> cells = {"cell": ["a", "b"], "item": ("cell", ["q1", "q1"])}
    >>> here, there = np.array([0]), np.array([1])
    >>> pair_notices(xr.Dataset(coords=cells), "c", here, there)[0].cells
    ('a − b',)
    """
    labels = estimates["cell"].to_numpy()
    shared, differs = np.zeros((2, len(left)), dtype=bool)
    for name in filter(is_item_name, estimates["cell"].coords):
        item = estimates[name].to_numpy()
        shared |= item[left] == item[right]
    for group in read_attr(estimates.attrs, "same_items"):
        is_in = np.isin(labels, group)
        shared |= is_in[left] & is_in[right]
    if about(var) and {*TYPE1, *(f"{name}_se" for name in TYPE1)} <= set(estimates):
        clear_z = -ndtri(FALSE_ALARM / 2 / max(1, len(TYPE1) * len(left)))
        for name in TYPE1:
            value, se = (estimates[x].to_numpy() for x in (name, f"{name}_se"))
            differs |= abs(value[left] - value[right]) > clear_z * np.hypot(se[left], se[right])
    names = [f"{a} − {b}" for a, b in zip(labels[left], labels[right], strict=True)]
    masks = {"paired-data.test": shared, "type1-differs.test": differs}
    return notices_where({code: xr.DataArray(x, {"cell": names}) for code, x in masks.items()})
