"""Every measure that applies to a table, in one.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → Dataset
(cell). The table of results lists the functions to call: a new measure is an entry there.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import xarray as xr

from hmetad.base.labels import check_same_names
from hmetad.base.notice import notices, with_notices
from hmetad.base.results import Result, results
from hmetad.counts.abstained import NAME, abstentions_of
from hmetad.counts.checks import TYPE2_DIMS, has_more_options, table_dims
from hmetad.counts.reversed_scales import with_scale_notices
from hmetad.counts.tables import type2_counts
from hmetad.measures.results import described
from hmetad.measures.scores import answer_scores
from hmetad.measures.sdt import Correction, at_chance

type Measure = Callable[..., xr.DataArray | xr.Dataset]


def numbers_of_trials(counts: xr.DataArray, *, penalty: float | None = None) -> xr.Dataset:
    """Trials, the share of them that were right, and scores that count abstentions too."""
    table = type2_counts(counts)
    # Cells first, as the others have them.
    by_correct = table.sum("rating").transpose("cell", ..., missing_dims="ignore")
    total = by_correct.sum("correct")
    right = by_correct.sel(correct="right", drop=True)
    share = right / total.where(total > 0)
    values = {"trials": total.to_numpy(), "share_right": share.to_numpy()}
    silent_trials = abstentions_of(counts)
    if silent_trials is None and penalty is None:
        return described(total, values)
    like = total if silent_trials is None else total.drop_vars(NAME)
    abstained = xr.zeros_like(total) if silent_trials is None else silent_trials
    abstained = abstained.broadcast_like(total)
    sides = (total - right, right, abstained.transpose(*total.dims))
    wrong, known, silent = (side.to_numpy().astype(float) for side in sides)
    cost = 1.0 if penalty is None else penalty
    values |= {"trials": wrong + known + silent, **answer_scores(wrong, known, silent, cost)}
    if total.dtype.kind in "iu":
        values["trials"] = values["trials"].astype(total.dtype)
    found = described(like, values)
    found["expected_score"].attrs["penalty"] = cost
    return found


def measures_of(
    counts: xr.DataArray, *, correction: Correction, **more: float | None
) -> xr.Dataset:
    """Every measure that applies to the table, per cell; arguments as in `hmetad.measure`.

    `more` has the penalty of a wrong answer, and debias, permutations and seed of the information
    measures.
    """
    has_stimulus = table_dims(counts, "measure") != TYPE2_DIMS and not has_more_options(counts)
    counts = counts if has_stimulus else type2_counts(counts)
    options = {"correction": correction, **more}
    calls: dict[object, Result] = {}
    for result in results():
        if result.measured and (has_stimulus or not result.stimulus):
            calls.setdefault((result.function, result.options), result)
    found = [measure_result(counts, result, options) for result in calls.values()]
    # Each part carries the notices of the counts and its own; duplicates are dropped.
    said = [notice for part in found for notice in notices(part)]
    said = [*at_chance(counts), *said]
    known: dict[str, xr.DataArray] = {}
    parts = []
    for part in found:
        # One name, one quantity, but for rounding where counts are no whole numbers.
        twice = [str(name) for name in part.data_vars if name in known]
        if not all(np.allclose(part[name], known[name], equal_nan=True) for name in twice):
            raise ValueError(f"measures differ under one of the names {', '.join(twice)}")
        known |= {str(name): values for name, values in part.data_vars.items()}
        parts.append(part.drop_vars(twice).assign_attrs(notices="[]"))
    merged = xr.merge(parts, combine_attrs="drop_conflicts", compat="equals", join="exact")
    merged = merged if abstentions_of(counts) is None else merged.drop_vars(NAME, errors="ignore")
    return with_scale_notices(with_notices(merged, said), counts)


def measure_result(counts: xr.DataArray, result: Result, options: Mapping[str, Any]) -> xr.Dataset:
    """What the function of a result gives for a table, with those of the options that it takes.

    A DataArray gets the name of the result; its notices become the Dataset's.
    """
    function = function_of(result)
    taken = {name: x for name, x in options.items() if name in signature(function).parameters}
    value = function(counts, **dict(result.options), **taken)
    if isinstance(value, xr.Dataset):
        return value
    check_same_names(value.coords, [result.name])
    said = notices(value)
    attrs = {name: x for name, x in value.attrs.items() if name != "notices"}
    return with_notices(value.drop_attrs().assign_attrs(attrs).to_dataset(name=result.name), said)


def function_of(result: Result) -> Measure:
    """Function that returns a result.

    Examples
    --------
    >>> from hmetad.base.results import find_result
    >>> function_of(find_result("phi")).__name__
    'phi'
    """
    module, _, name = result.function.rpartition(".")
    function: Measure = getattr(import_module(f"hmetad.{module}"), name)
    return function
