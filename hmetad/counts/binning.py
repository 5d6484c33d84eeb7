"""Continuous confidence becomes ratings.

Values and a number of ratings → integer ratings 1..K, K the most confident.
"""

import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.columns import code_step, suspected_codes
from hmetad.errors import InputError

__all__ = ["bin_confidence", "check_ratings", "quantile_of", "without_gaps"]

# A warning points to the first caller outside of it.
PACKAGE = str(Path(__file__).parents[1])
Method = Literal["quantile", "width", "edges"]


@overload
def bin_confidence(
    values: pd.Series,
    ratings: int,
    *,
    method: Method = ...,
    edges: Sequence[float] | None = ...,
    within: Sequence[Hashable] | ArrayLike | None = ...,
) -> pd.Series: ...
@overload
def bin_confidence(
    values: ArrayLike,
    ratings: int,
    *,
    method: Method = ...,
    edges: Sequence[float] | None = ...,
    within: Sequence[Hashable] | ArrayLike | None = ...,
) -> NDArray[Any]: ...
@check_inputs(skip=("edges",))
def bin_confidence(
    values: pd.Series | ArrayLike,
    ratings: int,
    *,
    method: Method = "quantile",
    edges: Sequence[float] | None = None,
    within: Sequence[Hashable] | ArrayLike | None = None,
) -> pd.Series | NDArray[Any]:
    r"""Ratings 1..K of continuous confidence; equal values of a group get the same rating.

    Parameters
    ----------
    values : Series or array_like of float, shape (trials,)
        Confidence in any unit, larger is more confident. Missing values stay missing.
    ratings : int
        K, at least 2.
    method : {"quantile", "width", "edges"}, optional
        ``"quantile"``: about as many trials in each rating. ``"width"``: intervals of equal width
        between the smallest and the largest value. ``"edges"``: cuts at `edges`.
    edges : sequence of float, shape (K - 1,), optional
        Interior cuts, strictly rising, for ``method="edges"``. A value equal to a cut goes up.
    within : sequence, shape (trials,), optional
        Group of each trial (such as the model); each group is binned by itself. Fixed edges are
        the same in every group. Not for models of people who differ: they take the equal shares of
        ratings for people who are alike.

    Returns
    -------
    Series or ndarray, shape (trials,)
        Ratings 1..K: a Series with the index of `values` for a Series, else an array. int64, or
        float64 with NaN where a value is missing.

    Raises
    ------
    InputError
        If `values` are no finite numbers or all missing; if K, `method`, `edges` or `within` do
        not fit.

    Warns
    -----
    UserWarning
        If a value looks like a code for a missing answer, such as 999 beside 1 to 4. If ties, or
        fewer values than ratings, leave a group with fewer than K quantiles, or equal values leave
        no width to divide.

    Notes
    -----
    Quantiles go by rank: with average rank :math:`\rho_i` among the n values of a group, the
    rating is :math:`\lceil K(\rho_i - 1/2)/n \rceil`. Ties share a rank, so they get the same
    rating. Where they leave a quantile empty, the ratings above move down, so that a group has
    1..K' with no gap. Intervals of equal width keep their numbers, empty or not; a value on a cut
    goes up.

    Examples
    --------
    >>> bin_confidence([0.1, 0.9, 0.5, 0.7], 2)
    array([1, 2, 1, 2])
    >>> bin_confidence([0, 50, 99, 100], 2, method="edges", edges=[50])
    array([1, 2, 2, 2])
    """
    check_ratings(ratings, method, edges)
    numbers = finite_numbers(values)
    group = group_codes(values, within, len(numbers))
    known = ~np.isnan(numbers)
    step = code_step(suspected_codes(numbers[known], known[known].astype(np.int64)))
    if step and method != "edges":
        said = step.partition(": if so")[0]
        text = f"{said}, and is taken as confidence: replace it by NaN if it is one."
        warnings.warn(text, UserWarning, skip_file_prefixes=(PACKAGE,))
    result = np.full(len(numbers), np.nan)
    if method == "edges":
        result[known] = np.searchsorted(np.asarray(edges), numbers[known], side="right") + 1
    elif method == "width":
        result[known] = width_ratings(numbers[known], group[known], ratings)
    else:
        result[known] = quantile_ratings(numbers[known], group[known], ratings)
    binned = result.astype(np.int64) if known.all() else result
    if isinstance(values, pd.Series):
        return pd.Series(binned, index=values.index, name=values.name)
    return binned


def quantile_ratings(
    values: NDArray[np.float64], group: NDArray[np.int64], ratings: int
) -> NDArray[np.int64]:
    """Ratings by rank within each group, without gaps."""
    by_group = pd.Series(values).groupby(group)
    n = by_group.transform("size").to_numpy()
    # Twice the average rank is whole, which keeps the quantile exact.
    odd = (2 * by_group.rank(method="average").to_numpy()).astype(np.int64) - 1
    return without_gaps(quantile_of(odd, n, ratings), group, ratings)


def quantile_of(odd: NDArray[np.int64], n: NDArray[np.int64], ratings: int) -> NDArray[np.int64]:
    """Quantile of values from twice their average rank, less 1, and the size of their group.

    Parameters
    ----------
    odd, n : array of int, shape (values,)
    ratings : int

    Returns
    -------
    array of int, shape (values,)
        From 1 to `ratings`; some may be left empty.

    Examples
    --------
    >>> quantile_of(np.array([1, 3, 5, 7]), np.array([4, 4, 4, 4]), 2)
    array([1, 1, 2, 2])
    """
    return -(-ratings * odd // (2 * n))


def without_gaps(
    quantile: NDArray[np.int64], group: NDArray[np.int64], ratings: int
) -> NDArray[np.int64]:
    """Ratings 1, 2, ... of the quantiles that a group has; warns where some are lost.

    Examples
    --------
    >>> without_gaps(np.array([1, 2, 1]), np.array([0, 0, 0]), 2)
    array([1, 2, 1])
    """
    by_group = pd.Series(quantile).groupby(group)
    warn_of_lost_ratings(by_group.nunique().to_numpy(), ratings)
    return by_group.rank(method="dense").to_numpy().astype(np.int64)


def width_ratings(
    values: NDArray[np.float64], group: NDArray[np.int64], ratings: int
) -> NDArray[np.int64]:
    """Ratings by equal intervals between the extremes of each group."""
    by_group = pd.Series(values).groupby(group)
    low, high = (by_group.transform(name).to_numpy() for name in ("min", "max"))
    warn_of_lost_ratings(np.where(low == high, 1, ratings), ratings)
    rating = np.ones(len(values), dtype=np.int64)
    for k in range(1, ratings):
        # A weighted mean, since high - low can overflow.
        rating += (values >= low * (1 - k / ratings) + high * (k / ratings)) & (low < high)
    return rating


def warn_of_lost_ratings(remaining: NDArray[np.integer], ratings: int) -> None:
    """Warn once where equal values give fewer ratings than requested."""
    if remaining.min() < ratings:
        warnings.warn(
            f"Equal or too few values: {remaining.min()} of {ratings} ratings remain where the "
            "fewest do. Choose the cuts with method='edges' and edges=, or ask for fewer ratings.",
            UserWarning,
            skip_file_prefixes=(PACKAGE,),
        )


def check_ratings(ratings: int, method: str, edges: Sequence[float] | None) -> None:
    """Refuse K, a method or edges that do not fit together."""
    if isinstance(ratings, bool) or not isinstance(ratings, int | np.integer) or ratings < 2:
        raise InputError("ratings", repr(ratings), "a whole number of at least 2")
    if (edges is not None) != (method == "edges"):
        got = f"edges={edges!r} with method={method!r}"
        raise InputError("edges", got, "edges together with method='edges', and only there")
    if edges is None:
        return
    allowed = f"{ratings - 1} strictly rising numbers (ratings - 1)"
    try:
        cuts = np.asarray(edges, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("edges", repr(edges), allowed) from error
    if cuts.shape != (ratings - 1,) or not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
        raise InputError("edges", repr(edges), allowed)


def finite_numbers(values: Any) -> NDArray[np.float64]:
    """Values as floats, NaN where missing."""
    if np.ndim(values) != 1 or np.size(values) == 0:
        raise InputError("values", f"shape {np.shape(values)}", "one value per trial, shape (n,)")
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    if pd.api.types.is_object_dtype(series.dtype):
        series = series.infer_objects()
    if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        step = "Turn text into numbers first, for instance by pd.to_numeric."
        raise InputError("values", f"values of type {series.dtype}", "numbers", step)
    numbers = np.asarray(series.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)
    if np.isinf(numbers).any():
        raise InputError("values", f"{np.isinf(numbers).sum()} infinite values", "finite numbers")
    if np.isnan(numbers).all():
        raise InputError("values", "only missing values", "at least one number")
    return numbers


def group_codes(values: Any, within: Any, size: int) -> NDArray[np.int64]:
    """Whole number per trial that names its group."""
    if within is None:
        return np.zeros(size, dtype=np.int64)
    if isinstance(within, str) or np.shape(within) != (size,):
        got = repr(within) if isinstance(within, str) else f"shape {np.shape(within)}"
        step = "Pass the column itself, such as within=trials['subject']."
        raise InputError("within", got, f"one group label for each of {size} trials", step)
    both = isinstance(values, pd.Series) and isinstance(within, pd.Series)
    if both and not values.index.equals(within.index):
        raise InputError("within", "another index than values", "the index of values")
    codes, _ = pd.factorize(pd.Series(within))
    if (codes < 0).any():
        got = f"{(codes < 0).sum()} missing labels"
        raise InputError("within", got, f"one group label for each of {size} trials")
    return codes.astype(np.int64)
