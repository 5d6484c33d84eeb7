"""From estimates and their standard errors to verdicts.

Estimates (pair or cell) and errors → Decisions, by the normal distribution.
Source: Kruschke (2018), with p-values of the two-sided z-test.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from hmetad.arguments import arrays_of_numbers, check_inputs
from hmetad.compare.columns import labelled_columns
from hmetad.compare.decisions import Decisions, check_arguments, refuse_taken
from hmetad.compare.estimates import shrunken_notice, withheld_codes
from hmetad.compare.quantities import both_codes
from hmetad.compare.verdicts import answers, with_withheld
from hmetad.errors import InputError
from hmetad.notice import notice_attrs, notices

__all__ = ["decide_normal"]

type Floats = NDArray[np.float64]


@check_inputs(skip=("rope",), estimate=arrays_of_numbers, se=arrays_of_numbers)
def decide_normal(
    estimate: ArrayLike | xr.DataArray,
    se: ArrayLike | xr.DataArray,
    *,
    rope: tuple[float, float],
    null: float = 0.0,
    ci_prob: float = 0.95,
    comparisons: int = 1,
    labels: Sequence[str] | None = None,
) -> Decisions:
    """Judge quantities by their estimates and standard errors.

    Parameters
    ----------
    estimate, se : array or DataArray, shape (n,)
        Estimates and their standard errors, or one error for all. An estimate that is a DataArray
        keeps its dim, coordinates and notices.
    rope, null, ci_prob, comparisons
        As in `decide`. The p-value is that of the two-sided z-test, multiplied by the number
        of comparisons (at most 1); the interval is widened to match.
    labels : sequence of str, optional
        Names of the quantities, where `estimate` has none.

    Returns
    -------
    Decisions
        With p_value in place of the Monte Carlo errors. The coordinate withheld says why there is
        no verdict: codes of the errors that the estimates carry for their cells, as in `decide`, or
        ``"undefined"``. Estimates for cells of a model with grouping factors are not independent:
        notice ``"shrunken-estimates"`` (Boehm et al. 2018).

    Raises
    ------
    InputError
        If an argument is out of range, or errors or labels are not those of the estimates.

    Examples
    --------
    >>> decide_normal([0.02, 0.4], [0.02, 0.05], rope=(-0.1, 0.1)).table()["verdict"].tolist()
    ['negligible', 'different']
    """
    check_arguments(rope, null, ci_prob, comparisons)
    values = labelled_estimate(estimate, labels)
    dim = values.dims[0]
    errors = errors_of(values, se)
    is_defined = np.isfinite(values.values) & np.isfinite(errors.values)
    own = ["" if holds else "undefined" for holds in is_defined]
    withheld = both_codes(withheld_codes(values), own)
    z = norm.isf((1 - ci_prob) / comparisons / 2)
    found = normal_summary(values.values, errors.values, z, rope, null, comparisons)
    judgement = with_withheld(answers(found, rope, null), withheld != "")
    refuse_taken(values)
    found = {"mean": values.values, "sd": errors.values, **found}
    columns = labelled_columns({**found, **judgement}, str(dim))
    # These two bring labels along, and attrs of their own.
    results = xr.Dataset({**columns, "mean": values, "sd": errors})
    said = notice_attrs([*notices(values), *shrunken_notice(values)])
    results = results.assign_coords(withheld=(dim, withheld)).assign_attrs(said)
    return Decisions(results, str(values.name), rope, null, ci_prob, "normal", comparisons)


def normal_summary(
    mean: Floats,
    sd: Floats,
    z: float,
    rope: tuple[float, float],
    null: float,
    comparisons: int,
) -> dict[str, Floats]:
    """Interval, p-value, and shares of normal distributions."""
    distance = abs(mean - null) / sd
    return {
        "lower": mean - z * sd,
        "upper": mean + z * sd,
        "p_value": np.minimum(1.0, comparisons * 2 * norm.sf(distance)),
        "p_direction": norm.cdf(distance),
        "in_rope": np.asarray(norm.cdf(rope[1], mean, sd) - norm.cdf(rope[0], mean, sd)),
    }


def labelled_estimate(
    estimate: ArrayLike | xr.DataArray, labels: Sequence[str] | None
) -> xr.DataArray:
    """Estimates with one labelled dim."""
    if isinstance(estimate, xr.DataArray):
        if estimate.ndim != 1:
            raise InputError("estimate", f"dims {estimate.dims}", "one dim")
        return estimate.astype(float)
    values = np.atleast_1d(np.asarray(estimate, dtype=float))
    if values.ndim != 1:
        raise InputError("estimate", f"shape {values.shape}", "one dim")
    names = [str(i + 1) for i in range(len(values))] if labels is None else list(labels)
    if len(names) != len(values):
        raise InputError("labels", f"{len(names)} labels", f"one for each of {len(values)}")
    return xr.DataArray(values, dims="pair", coords={"pair": names}, name="estimate")


def errors_of(values: xr.DataArray, se: ArrayLike | xr.DataArray) -> xr.DataArray:
    """Standard errors of labelled estimates, one each."""
    dim, labels = values.dims[0], values.indexes
    theirs = se.indexes if isinstance(se, xr.DataArray) else {}
    if dim in labels and dim in theirs and not labels[dim].equals(theirs[dim]):
        step = f"Select them alike: se.sel({dim}=estimate[{dim!r}])."
        raise InputError("se", "other labels than those of estimate", "the same labels", step)
    numbers = np.asarray(se, dtype=float)
    if numbers.shape not in ((), (1,), values.shape):
        raise InputError("se", f"shape {numbers.shape}", f"one number, or {values.size}")
    if (numbers <= 0).any():
        raise InputError("se", f"{np.nanmin(numbers)}", "standard errors above 0")
    return values.copy(data=np.broadcast_to(numbers, values.shape))
