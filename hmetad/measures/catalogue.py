"""Every measure that applies to a table, in one.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → Dataset
(cell). A new measure is registered in `CATALOGUE`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import xarray as xr

from hmetad.arguments import checked, seed_or_none
from hmetad.counts.checks import TYPE2_DIMS, table_dims
from hmetad.counts.correct import type2_counts
from hmetad.measures.information import meta_information
from hmetad.measures.sdt import Correction, sdt
from hmetad.measures.type2 import auroc2, gamma, mean_confidence, phi, v_statistic
from hmetad.notice import notices, with_notices

__all__ = ["CATALOGUE", "Entry", "measure"]


@dataclass(frozen=True)
class Entry:
    """A measure of the catalogue.

    Parameters
    ----------
    function : callable
        Table → DataArray or Dataset.
    needs_stimulus : bool
        Whether a type-2 table is not enough.
    name : str
        Under which a DataArray is listed; a Dataset has names of its own.
    """

    function: Callable[[xr.DataArray], xr.DataArray | xr.Dataset]
    needs_stimulus: bool = False
    name: str = ""


def numbers_of_trials(counts: xr.DataArray) -> xr.Dataset:
    """Trials, and the share of them that were right."""
    table = type2_counts(counts)
    # Cells first, as the others have them.
    by_correct = table.sum("rating").transpose("cell", ..., missing_dims="ignore")
    total = by_correct.sum("correct")
    right = by_correct.sel(correct="right", drop=True)
    result = xr.Dataset({"trials": total, "share_right": right / total.where(total > 0)})
    result["trials"].attrs = {"long_name": "number of trials", "units": "trials"}
    result["share_right"].attrs = {"long_name": "share of right trials", "units": "1"}
    return result


CATALOGUE = (
    Entry(numbers_of_trials),
    Entry(auroc2, name="auroc2"),
    Entry(partial(auroc2, response_conditional=True), True, "auroc2_by_response"),
    Entry(partial(gamma, estimator="trapezoid"), name="gamma_trapezoid"),
    Entry(partial(gamma, estimator="pairs"), name="gamma_pairs"),
    Entry(partial(gamma, estimator="gaussian"), name="gamma_gaussian"),
    Entry(v_statistic, name="v_statistic"),
    Entry(phi, name="phi"),
    Entry(mean_confidence),
)


@checked("counts", seed=seed_or_none)
def measure(
    counts: xr.DataArray,
    *,
    correction: Correction = "none",
    debias: int = 0,
    seed: int | None = None,
) -> xr.Dataset:
    """Every measure that applies to the table, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating) or type-2 table with dims (cell,
        correct, rating); further dims are kept.
    correction : {"none", "loglinear", "cell"} or float, optional
        Of the type-1 measures, as in `sdt`.
    debias, seed : int, optional
        Of the information measures, as in `meta_information`.

    Returns
    -------
    Dataset
        Number of trials and share of right ones; the measures of `sdt` where there is a stimulus;
        ``auroc2`` (and ``auroc2_by_response``), ``gamma_trapezoid``, ``gamma_pairs``,
        ``gamma_gaussian``, ``v_statistic``, ``phi``, mean confidence; and those of
        `meta_information`. Each has attrs ``long_name``, ``units`` and ``source``. What is fitted
        is found elsewhere: `fit_mle`, `fit_dmc`, `uvsdt`.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or an argument is none of the above.

    Examples
    --------
    >>> from hmetad.counts.table import from_nr
    >>> measures = measure(from_nr([84, 56, 48, 12], [4, 56, 64, 76]))
    >>> measures["dprime"].round(3).item(), measures["auroc2"].round(3).item()
    (1.049, 0.719)
    >>> measures["rmi"].round(3).item()
    0.499
    """
    has_stimulus = table_dims(counts, "measure") != TYPE2_DIMS
    entries = [
        Entry(partial(sdt, correction=correction), True),
        *CATALOGUE,
        Entry(partial(meta_information, debias=debias, seed=seed)),
    ]
    found = [as_dataset(x, counts) for x in entries if has_stimulus or not x.needs_stimulus]
    # Each carries the notices of the counts and its own; what only one says is kept.
    said = [notice for part in found for notice in notices(part)]
    bare = [part.assign_attrs(notices="[]") for part in found]
    # One name, one quantity: two measures that differ under one name are refused here.
    merged = xr.merge(bare, combine_attrs="drop_conflicts", compat="equals", join="exact")
    return with_notices(merged, said)


def as_dataset(entry: Entry, counts: xr.DataArray) -> xr.Dataset:
    """Result of an entry as a Dataset; a DataArray's notices become the Dataset's."""
    result = entry.function(counts)
    if isinstance(result, xr.Dataset):
        return result
    said = notices(result)
    bare = result.drop_attrs().assign_attrs(
        {name: value for name, value in result.attrs.items() if name != "notices"}
    )
    return with_notices(bare.to_dataset(name=entry.name), said)
