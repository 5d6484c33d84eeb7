"""Information-theoretic metacognition: what confidence adds, in bits and as a share.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → Dataset
(cell). Source: Dayan (2023) for meta-I and its ratios; Meyen et al. (2025) for the bounds, the
relative metainformation and the reduction of bias.
"""

from collections.abc import Callable
from typing import get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, refuse_same_names, seed_or_none
from hmetad.counts.checks import TYPE1_DIMS, TYPE2_DIMS, refuse_no_counts, table_dims, whole_number
from hmetad.counts.resample import Hold, cell_generator, draw_tables, seed_entropy
from hmetad.counts.tables import type2_counts
from hmetad.errors import InputError
from hmetad.measures.comparability import unequal_ratings
from hmetad.measures.information_estimates import (
    Estimates,
    has_rating_below_half,
    information_of_tables,
    information_of_type2_tables,
    told_by_response,
)
from hmetad.notice import Notice, notice_where, notices, notices_where, with_notices
from hmetad.results import attrs_of, names_of

__all__ = ["meta_information"]

type Floats = NDArray[np.float64]
type Measure = Callable[[Floats], Estimates]

# Counts that are drawn and measured at once: few enough for the caches of a processor.
AT_ONCE = 200_000
# Unequal accuracy of the responses is noticed beyond the 99 % point of χ² with one degree of
# freedom, where it makes up this share of meta-I.
CLEAR, CLEAR_SHARE = 6.635, 0.05

CORRECTED = ("meta_i", "meta_i1r", "meta_i1r_accuracy", "meta_i2r", "rmi")


@check_inputs(skip=("counts",), seed=seed_or_none)
def meta_information(
    counts: xr.DataArray, *, debias: int = 0, seed: int | None = None, hold: Hold = "none"
) -> xr.Dataset:
    r"""Transmitted information, its bounds, and what confidence adds to it, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or type-2 table with dims (cell,
        correct, rating); further dims are kept.
    debias : int, optional
        Number of tables to draw from each cell in order to estimate the bias of the five measures
        of metacognition and subtract it; 0 for the plug-in estimates.
    seed : int, optional
        Seed of these draws; a random one, found in the attrs, where none is given.
    hold : {"none", "stimulus"}, optional
        Whether the number of trials of each stimulus is held in these draws. ``"none"`` draws the
        whole table, as in the paper.

    Returns
    -------
    Dataset
        Of a count table, per cell: ``info``, its bounds ``lower`` and ``upper`` at the recoded
        ``accuracy``, and ``meta_i`` (all in bits, the accuracy a share); the ratios ``meta_i1r``
        (by the d′ of the type-1 table), ``meta_i1r_accuracy`` (by d′ = 2Φ⁻¹(accuracy)),
        ``meta_i2r`` and ``rmi``.

        Of a type-2 table: ``share_right``, the share of right trials; ``meta_i``, I(correct;
        confidence); ``meta_i2r``, its share of the entropy of correctness; ``rmi``, its share of
        the most that confidence can tell while no rating is right less than half of the time.

        Attrs of a variable: ``long_name``, ``units``, ``source``, ``estimate`` ("plug-in" or "bias
        reduced"); of the dataset: ``debias``, ``hold``, ``seed`` and ``notices``.

    Raises
    ------
    InputError
        If `counts` is neither kind of table or has negative or missing counts; if an argument is
        none of the above; if tables are to be drawn from counts that are not whole.

    Notes
    -----
    With m̂ᵢ the share of the trials that have the i-th pair of response and rating, ĉᵢ the share of
    the more frequent stimulus among them, and p₊ that of the more frequent stimulus at large:

    .. math::
        acc &= \sum_i \hat m_i \hat c_i, \quad
        info = H_2(p_+) - \sum_i \hat m_i H_2(\hat c_i), \\
        H_2(p_+) - H_2(acc) &\le info \le H_2(p_+) - 2(1 - acc), \\
        \text{meta-}I &= info - lower = H_2(acc) - \sum_i \hat m_i H_2(\hat c_i), \\
        RMI &= \frac{\text{meta-}I}{upper - lower}

    meta-I₁ʳ divides meta-I by meta-I(d′) of `normal_noise_information`, which ignores the sign of
    d′, meta-I₂ʳ by H₂(acc). Where such a divisor is 0 the ratio is NaN, and a notice says
    so; near d′ = 0 meta-I₁ʳ is unreliable, and its estimate of bias more so. meta-I counts also
    what unequal accuracy of the two responses tells (``"response-bias"``). All of these depend on
    the number of ratings.

    In a type-2 table wrong and right stand in the place of the two stimuli and ratings in that of
    the pairs, and acc is the share of right trials, which is not recoded. A rating that is right
    less than half of the time would have its answers turned round for the bounds to hold. That
    takes two alternatives, and then the count table shows it; here ``rmi`` is NaN.

    Plug-in estimates are biased, meta-I mostly upward. With θ̄ the mean over tables drawn with
    replacement the bias is estimated as θ̄ − θ̂, and θ̂ − (θ̄ − θ̂) = 2θ̂ − θ̄ is returned, which
    may lie outside the range of the measure.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([84, 56, 48, 12], [4, 56, 64, 76])
    >>> measures = meta_information(table)
    >>> measures["meta_i"].round(4).item(), measures["rmi"].round(4).item()
    (0.1403, 0.4988)
    >>> meta_information(table, debias=1000, seed=1)["rmi"].round(2).item()
    0.53
    """
    dims = table_dims(counts, "meta_information")
    n = whole_number("debias", debias, 0)
    table = checked_table(counts, dims, n, hold)
    like = table.isel(dict.fromkeys(dims, 0), drop=True)
    values = table.to_numpy().astype(float).reshape(-1, *table.shape[-len(dims) :])
    measure = information_of_tables if dims == TYPE1_DIMS else information_of_type2_tables
    estimates, lost = measure(values), np.zeros(len(values))
    attrs: dict[str, int | str] = {"debias": n, "hold": hold}
    if n and values.size:
        entropy = seed_entropy(seed)
        estimates, lost = bias_reduced(estimates, values, measure, n, entropy, hold)
        attrs["seed"] = str(entropy)
    if dims == TYPE2_DIMS:
        estimates["rmi"] = np.where(has_rating_below_half(values), np.nan, estimates["rmi"])
    result = label_estimates(estimates, like, dims, n).assign_attrs(attrs)
    raised = [
        *problems(result, values),
        *undefined_resamples(like, lost),
        *unequal_ratings(table),
    ]
    return with_notices(result, [*notices(table), *raised])


def bias_reduced(
    estimates: Estimates, tables: Floats, measure: Measure, n: int, entropy: int, hold: Hold
) -> tuple[Estimates, Floats]:
    """Estimates 2θ̂ − θ̄, and the largest share of resamples that left one of them undefined."""
    names = [name for name in CORRECTED if name in estimates]
    plug_in = np.stack([estimates[name] for name in names])
    step = max(1, AT_ONCE // (n * tables[0].size))
    parts = [np.arange(len(tables))[i : i + step] for i in range(0, len(tables), step)]
    found = [sums_of_resamples(tables, part, names, measure, n, entropy, hold) for part in parts]
    sums, defined = np.concatenate(found, axis=-1)
    reduced = 2 * plug_in - sums / np.where(defined > 0, defined, np.nan)
    lost = np.where(np.isfinite(plug_in), 1 - defined / n, 0.0).max(axis=0)
    return estimates | dict(zip(names, reduced, strict=True)), lost


def sums_of_resamples(
    tables: Floats,
    part: NDArray[np.int64],
    names: list[str],
    measure: Measure,
    n: int,
    entropy: int,
    hold: Hold,
) -> Floats:
    """Sums over n resamples and how many of them are defined, (2, names, cells of the part)."""
    totals = np.zeros((2, len(names), len(part)))
    generators = [cell_generator(entropy, int(i)) for i in part]
    most = max(1, AT_ONCE // tables[0].size)
    for done in range(0, n, most):
        size = min(most, n - done)
        cells = zip(tables[part], generators, strict=True)
        drawn = np.stack([draw_tables(table, size, one, hold=hold) for table, one in cells])
        found = measure(drawn.astype(float))
        values = np.stack([found[name] for name in names])
        is_defined = np.isfinite(values)
        totals[0] += np.where(is_defined, values, 0.0).sum(axis=-1)
        totals[1] += is_defined.sum(axis=-1)
    return totals


def checked_table(
    counts: xr.DataArray, dims: tuple[str, ...], debias: int, hold: str
) -> xr.DataArray:
    """Table with dim cell first and those of one cell last, if it is what the arguments need."""
    refuse_no_counts(counts)
    if hold not in get_args(Hold):
        allowed = " or ".join(map(repr, get_args(Hold)))
        raise InputError("hold", repr(hold), allowed)
    if hold == "stimulus" and dims == TYPE2_DIMS:
        raise InputError("hold", "'stimulus' for a type-2 table", "'none', as it has no stimulus")
    if debias and bool((counts != counts.round()).any()):
        step = "Leave debias at 0 for corrected counts, and for weights that were drawn."
        raise InputError("counts", "counts that are not whole", "numbers of trials", step)
    table = type2_counts(counts) if dims == TYPE2_DIMS else counts
    return table.transpose(*(["cell"] if "cell" in table.dims else []), ..., *dims)


def label_estimates(
    estimates: Estimates, like: xr.DataArray, dims: tuple[str, ...], debias: int
) -> xr.Dataset:
    """Dataset of the estimates, in the dims of the table."""
    result = xr.Dataset(coords=like.coords)
    section = "information" if dims == TYPE1_DIMS else "information_of_correctness"
    refuse_same_names(like.coords, names_of(section))
    for name in names_of(section):
        result[name] = (like.dims, estimates[name].reshape(like.shape))
        estimate = "bias reduced" if debias and name in CORRECTED else "plug-in"
        result[name].attrs = {**attrs_of(name, section), "estimate": estimate}
    return result


def problems(result: xr.Dataset, tables: Floats) -> list[Notice]:
    """Notices of cells without an answer, or with a doubtful one."""
    like = result["meta_i"]
    flat = {str(name): values.to_numpy().ravel() for name, values in result.data_vars.items()}
    own = problems_of_tables if "info" in flat else problems_of_type2_tables
    no_trials = tables.sum(axis=tuple(range(1, tables.ndim))) == 0
    masks = {"no-trials": no_trials, **own(flat, tables)}
    shape = like.shape
    return notices_where({code: like.copy(data=x.reshape(shape)) for code, x in masks.items()})


def problems_of_tables(found: Estimates, tables: Floats) -> dict[str, NDArray[np.bool_]]:
    """Where a notice of a count table applies, by its code."""
    has_trials = np.isfinite(found["accuracy"])
    told, chi_square = told_by_response(tables)
    is_unequal = (chi_square > CLEAR) & (told > CLEAR_SHARE * found["meta_i"])
    has_rmi = np.isfinite(found["rmi"])
    return {
        "undefined-rmi": has_trials & ~has_rmi,
        "undefined-dprime.information": has_rmi & ~np.isfinite(found["meta_i1r"]),
        "response-bias": is_unequal,
    }


def problems_of_type2_tables(found: Estimates, tables: Floats) -> dict[str, NDArray[np.bool_]]:
    """Where a notice of a type-2 table applies, by its code."""
    is_below = has_rating_below_half(tables)
    is_undefined = np.isnan(found["meta_i2r"]) | (np.isnan(found["rmi"]) & ~is_below)
    return {
        "undefined-rmi": np.isfinite(found["share_right"]) & is_undefined,
        "rating-below-half": is_below,
    }


def undefined_resamples(like: xr.DataArray, lost: Floats) -> list[Notice]:
    """Notice of cells where a divisor was 0 in some of the resamples."""
    if not lost.any():
        return []
    mask = like.copy(data=(lost > 0).reshape(like.shape))
    return notice_where(mask, "undefined-resamples", share=lost.max())
