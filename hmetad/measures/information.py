"""Information-theoretic metacognition: what confidence adds, in bits and as a share.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → Dataset
(cell). Source: Dayan (2023) for meta-I and its ratios; Meyen et al. (2025) for the bounds, the
relative metainformation and the reduction of bias.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, whole
from hmetad.base.errors import NumberError, StimulusError
from hmetad.base.notice import notice_where, notices, notices_where, with_notices
from hmetad.base.results import names_of
from hmetad.counts.checks import (
    TYPE1_DIMS,
    TYPE2_DIMS,
    has_more_options,
    refuse_no_counts,
    table_dims,
)
from hmetad.counts.resample import Hold, cell_generator, draw_tables, resample, seed_entropy
from hmetad.counts.tables import type2_counts, unequal_ratings
from hmetad.measures.ideal_observers import binary_entropy, meta_i_of_dprime, times_log2
from hmetad.measures.results import described
from hmetad.measures.sdt import type1_rates, z_scores

type Floats = NDArray[np.float64]
type Estimates = dict[str, Floats]
type Masks = dict[str, NDArray[np.bool_]]
type Measure = Callable[[Floats], Estimates]

# Counts that are drawn and measured at once: few enough for the caches of a processor.
AT_ONCE = 200_000
# Unequal accuracy of the responses is noticed beyond the 99 % point of χ² with one degree of
# freedom, where it makes up this share of meta-I.
CLEAR, CLEAR_SHARE = 6.635, 0.05
# A divisor below this many bits is 0 but for rounding.
LEAST = 1e-12
# A difference of entropies of n trials is 0 but for rounding below this share of log₂ n bits: what
# sums of n log₂ n lose to rounding grows with log₂ n.
ROUNDING = 16 * np.finfo(float).eps

CORRECTED = ("meta_i", "meta_i1r", "meta_i1r_accuracy", "meta_i2r", "rmi")


@check_inputs(skip=("counts",), debias=whole(0), permutations=whole(0), seed=seed_or_none)
def meta_information(
    counts: xr.DataArray,
    *,
    debias: int = 0,
    permutations: int = 0,
    seed: int | None = None,
    hold: Hold = "none",
) -> xr.Dataset:
    r"""Transmitted information, its bounds, and the information that confidence adds, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or type-2 table with dims (cell,
        correct, rating); further dims are kept.
    debias : int, optional
        Number of tables to draw from each cell in order to estimate the bias of the five measures
        of metacognition and subtract it; 0 for the plug-in estimates.
    permutations : int, optional
        Number of tables with permuted ratings, as by `resample`, to compare ``meta_i2r`` with
        chance; 0 for none.
    seed : int, optional
        Seed of these draws; by default a random one, recorded in the attrs.
    hold : {"none", "stimulus"}, optional
        Whether these draws keep the number of trials of each stimulus. ``"none"`` resamples the
        entire table, as in the paper.

    Returns
    -------
    Dataset
        For a count table, per cell: ``info``, its bounds ``lower`` and ``upper`` at the recoded
        ``accuracy``, and ``meta_i`` (all in bits, the accuracy a proportion); the ratios
        ``meta_i1r`` (by the d′ of the type-1 table), ``meta_i1r_accuracy`` (by d′ =
        2Φ⁻¹(accuracy)), ``meta_i2r`` and ``rmi``.

        For a type-2 table: ``share_right``, the proportion of correct trials; ``meta_i``,
        I(correct; confidence); ``meta_i2r``, its proportion of the entropy of correctness; ``rmi``,
        its proportion of the maximum for ratings that are each correct at least half of the time.

        With `permutations` also ``meta_i2r_null``, the mean of ``meta_i2r`` in the permuted tables;
        ``meta_i2r_excess``, the plug-in estimate minus it; and ``meta_i2r_p``, the probability of a
        value at least as large if ratings are independent of correctness (one-sided).

        Attrs of a variable: ``long_name``, ``units``, ``source``, ``estimate`` ("plug-in" or "bias
        reduced"); of the dataset: ``debias``, ``hold``, ``seed`` and ``notices``.

    Raises
    ------
    InputError
        If `counts` is neither kind of table or has negative or missing counts; if an argument is
        invalid; if tables are resampled from non-integer counts.

    Notes
    -----
    With m̂ᵢ the proportion of the trials that have the i-th pair of response and rating, ĉᵢ the
    proportion of the more frequent stimulus among them, and p₊ the overall proportion of the more
    frequent stimulus:

    .. math::
        acc &= \sum_i \hat m_i \hat c_i, \quad
        info = H_2(p_+) - \sum_i \hat m_i H_2(\hat c_i), \\
        H_2(p_+) - H_2(acc) &\le info \le H_2(p_+) - 2(1 - acc), \\
        \text{meta-}I &= info - lower = H_2(acc) - \sum_i \hat m_i H_2(\hat c_i), \\
        RMI &= \frac{\text{meta-}I}{upper - lower}

    meta-I₁ʳ divides meta-I by meta-I(d′) of `normal_noise_information`, which ignores the sign of
    d′, meta-I₂ʳ by H₂(acc). If such a divisor is 0 the ratio is NaN, with a notice; near d′ = 0
    meta-I₁ʳ is unreliable, and its estimate of bias even more so. meta-I also includes the
    information in unequal accuracy of the two responses (``"response-bias"``). All of these depend
    on the number of ratings.

    In a type-2 table, incorrect and correct replace the two stimuli, and ratings replace the pairs;
    acc is the proportion of correct trials, not recoded. If a rating is correct less than half of
    the time, the bounds hold only after recoding its answers, which needs two alternatives and a
    count table; here ``rmi`` is NaN. With more than two options this is expected, and the notice is
    an info.

    Plug-in estimates are biased, meta-I mostly upward. With θ̄ the mean over tables drawn with
    replacement the bias is estimated as θ̄ − θ̂, and θ̂ − (θ̄ − θ̂) = 2θ̂ − θ̄ is returned, which
    may lie outside the range of the measure.

    Permutations exchange the ratings of the trials of each response, of all trials in a type-2
    table, so that accuracy and the proportion of each rating stay. Of B tables, b of which reach
    the estimate, :math:`p = (1 + b)/(1 + B)`, which is never 0 (Phipson & Smyth 2010). The mean of
    the null is the bias of the plug-in estimate if ratings are uninformative. If they are
    informative, the bias is nearly as large if all ratings have many correct and many error trials;
    otherwise `debias` estimates it.

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
    if has_more_options(counts):
        counts, dims = type2_counts(counts), TYPE2_DIMS
    has_stimulus = dims == TYPE1_DIMS
    refuse_no_counts(counts)
    if hold == "stimulus" and not has_stimulus:
        raise StimulusError(
            "hold", "'stimulus' for a type-2 table", "'none', as it has no stimulus"
        )
    if (debias or permutations) and bool((counts != counts.round()).any()):
        step = "Leave debias and permutations at 0 for corrected counts, and for drawn weights."
        raise NumberError("counts", "counts that are not whole", "numbers of trials", step)
    table = counts if has_stimulus else type2_counts(counts)
    table = table.transpose(*(["cell"] if "cell" in table.dims else []), ..., *dims)
    values = table.to_numpy().astype(float).reshape(-1, *table.shape[-len(dims) :])
    measure = information_of_tables if has_stimulus else information_of_type2_tables
    estimates, lost = measure(values), np.zeros(len(values))
    attrs: dict[str, int | str] = {"debias": int(debias), "hold": hold}
    like = table.isel(dict.fromkeys(dims, 0), drop=True)
    entropy, null = seed_entropy(seed), xr.Dataset()
    if permutations:
        plain = like.copy(data=estimates["meta_i2r"].reshape(like.shape))
        null = against_chance(table, plain, permutations, entropy)
    if debias and values.size:
        estimates, lost = bias_reduced(estimates, values, measure, debias, entropy, hold)
    if permutations or (debias and values.size):
        attrs |= {"permutations": int(permutations), "seed": str(entropy)}
    problems = problems_of_tables if has_stimulus else problems_of_type2_tables
    masks = {"no-trials": values.sum(axis=tuple(range(1, values.ndim))) == 0}
    masks |= problems(estimates, values)
    # A rating below half is turned round, which takes two alternatives.
    is_turned = masks.get("rating-below-half", np.zeros(len(values), dtype=bool))
    estimates = estimates | {"rmi": np.where(is_turned, np.nan, estimates["rmi"])}
    if is_turned.any() and "options" in like.coords:
        # Guesses are right less often than half of the time.
        is_many = (like["options"].broadcast_like(like) > 2).to_numpy().ravel()
        masks["rating-below-half"] = is_turned & ~is_many
        masks["rating-below-half.options"] = is_turned & is_many
    section = "information" if has_stimulus else "information_of_correctness"
    named = {name: estimates[name].reshape(like.shape) for name in names_of(section)}
    result = described(like, named, section).assign(null.data_vars).assign_attrs(attrs)
    for name, one in result.items():
        one.attrs["estimate"] = "bias reduced" if debias and name in CORRECTED else "plug-in"
    raised = notices_where(
        {code: like.copy(data=x.reshape(like.shape)) for code, x in masks.items()}
    )
    is_lost = like.copy(data=(lost > 0).reshape(like.shape))
    raised += notice_where(is_lost, "undefined-resamples", share=lost.max(initial=0.0))
    return with_notices(result, [*notices(table), *raised, *unequal_ratings(table)])


def problems_of_tables(found: Estimates, tables: Floats) -> Masks:
    """Where a notice of a count table applies, by its code."""
    # The part of meta-I that the response tells without the rating, in bits, and its χ².
    given = tables.sum(axis=(-3, -1))
    right = tables.max(axis=-3).sum(axis=-1)
    trials = positive(given.sum(axis=-1))
    left = np.where(given > 0, given * binary_entropy(right / positive(given)), 0.0).sum(axis=-1)
    told = binary_entropy(right.sum(axis=-1) / trials) - left / trials
    is_clear = 2 * np.log(2) * trials * told > CLEAR
    has_rmi = np.isfinite(found["rmi"])
    return {
        "undefined-rmi": np.isfinite(found["accuracy"]) & ~has_rmi,
        "undefined-dprime.information": has_rmi & ~np.isfinite(found["meta_i1r"]),
        "response-bias": is_clear & (told > CLEAR_SHARE * found["meta_i"]),
    }


def problems_of_type2_tables(found: Estimates, tables: Floats) -> Masks:
    """Where a notice of a type-2 table applies, by its code."""
    is_below = (tables[..., 0, :] > tables[..., 1, :]).any(axis=-1)
    is_undefined = np.isnan(found["meta_i2r"]) | (np.isnan(found["rmi"]) & ~is_below)
    return {
        "undefined-rmi": np.isfinite(found["share_right"]) & is_undefined,
        "rating-below-half": is_below,
    }


def bias_reduced(
    estimates: Estimates, tables: Floats, measure: Measure, n: int, entropy: int, hold: Hold
) -> tuple[Estimates, Floats]:
    """Estimates 2θ̂ − θ̄, and the largest share of resamples that left one of them undefined."""
    names = [name for name in CORRECTED if name in estimates]
    plug_in = np.stack([estimates[name] for name in names])
    sums, defined = np.zeros((2, *plug_in.shape))
    cells, draws = (max(1, AT_ONCE // x) for x in (n * tables[0].size, tables[0].size))
    for start in range(0, len(tables), cells):
        part = slice(start, start + cells)
        generators = [cell_generator(entropy, start + i) for i in range(len(tables[part]))]
        for done in range(0, n, draws):
            size = min(draws, n - done)
            pairs = zip(tables[part], generators, strict=True)
            drawn = np.stack([draw_tables(table, size, one, hold=hold) for table, one in pairs])
            found = measure(drawn.astype(float))
            values = np.stack([found[name] for name in names])
            is_defined = np.isfinite(values)
            sums[:, part] += np.where(is_defined, values, 0.0).sum(axis=-1)
            defined[:, part] += is_defined.sum(axis=-1)
    reduced = 2 * plug_in - sums / positive(defined)
    lost = np.where(np.isfinite(plug_in), 1 - defined / n, 0.0).max(axis=0)
    return estimates | dict(zip(names, reduced, strict=True)), lost


def against_chance(table: xr.DataArray, plug_in: xr.DataArray, n: int, entropy: int) -> xr.Dataset:
    """Mean of meta-I₂ʳ in tables with permuted ratings, what is above it, and its p."""
    drawn = resample(table, meta_information, n=n, kind="permutation", seed=entropy)["meta_i2r"]
    mean = drawn.mean("draw")
    # The same table may differ by rounding.
    p = (1 + (drawn >= plug_in - LEAST).sum("draw")) / (1 + n)
    values = {"meta_i2r_null": mean, "meta_i2r_excess": plug_in - mean, "meta_i2r_p": p}
    known = {name: x.where(plug_in.notnull()).to_numpy() for name, x in values.items()}
    return described(plug_in, known, "information_by_permutation")


# Plug-in estimates of many tables


def information_of_tables(tables: Floats) -> Estimates:
    """Estimates of count tables (..., 2, 2, K); NaN without trials or where a divisor is 0."""
    # By stimulus and pair of response and rating.
    n = tables.reshape(*tables.shape[:-2], 2 * tables.shape[-1])
    trials = positive(n.sum(axis=(-2, -1)))
    accuracy = n.max(axis=-2).sum(axis=-1) / trials
    entropy, at_large = binary_entropy(accuracy), binary_entropy(n[..., 0, :].sum(-1) / trials)
    left = uncertainty(n, trials)
    surplus = entropy_lost(entropy, left, trials)
    rates = type1_rates(tables)
    yes, no = z_scores(rates.hits, rates.misses), z_scores(rates.false_alarms, rates.rejections)
    short_of_1: Floats = np.where(accuracy < 1, accuracy, np.nan)
    return {
        "info": entropy_lost(at_large, left, trials),
        "accuracy": accuracy,
        "lower": at_large - entropy,
        "upper": at_large - 2 * (1 - accuracy),
        "meta_i": surplus,
        "meta_i1r": bits_ratio(surplus, meta_i_of_dprime(yes[0] - no[0])),
        "meta_i1r_accuracy": bits_ratio(surplus, meta_i_of_dprime(2 * ndtri(short_of_1))),
        "meta_i2r": bits_ratio(surplus, entropy),
        "rmi": bits_ratio(surplus, entropy - 2 * (1 - accuracy)),
    }


def information_of_type2_tables(tables: Floats) -> Estimates:
    """Estimates of type-2 tables (..., 2, K); in rmi ratings below half are turned round."""
    trials = positive(tables.sum(axis=(-2, -1)))
    left = uncertainty(tables, trials)
    share_right = tables[..., 1, :].sum(axis=-1) / trials
    entropy = binary_entropy(share_right)
    surplus = entropy_lost(entropy, left, trials)
    turned = tables.max(axis=-2).sum(axis=-1) / trials
    entropy_turned = binary_entropy(turned)
    surplus_turned = entropy_lost(entropy_turned, left, trials)
    return {
        "share_right": share_right,
        "meta_i": surplus,
        "meta_i2r": bits_ratio(surplus, entropy),
        "rmi": bits_ratio(surplus_turned, entropy_turned - 2 * (1 - turned)),
    }


def positive(n: Floats) -> Floats:
    """Numbers to divide by, NaN where there are none."""
    return np.where(n > 0, n, np.nan)


def uncertainty(n: Floats, trials: Floats) -> Floats:
    """Entropy of the row of a table, given its column: Σ m̂ᵢ H₂(ĉᵢ), in bits."""
    columns = times_log2(n.sum(axis=-2)).sum(axis=-1)
    return (columns - times_log2(n).sum(axis=(-2, -1))) / trials


def entropy_lost(before: Floats, after: Floats, trials: Floats) -> Floats:
    """Bits by which an entropy falls, 0 where that is rounding; NaN without trials."""
    lost = before - after
    is_rounding = lost <= ROUNDING * np.log2(trials + 1)
    return np.where(is_rounding, 0.0, lost)


def bits_ratio(of: Floats, to: Floats) -> Floats:
    """Quotient of bits, NaN where the divisor is 0 but for rounding."""
    return of / np.where(to > LEAST, to, np.nan)
