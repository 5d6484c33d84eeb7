"""Results as plain tables and numbers.

Fit (DataTree), or Dataset of measures → data frame; and fit → diagnostics by name.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, with_posterior
from hmetad.base.errors import ShapeError, TooFewError
from hmetad.base.labels import check_same_names
from hmetad.base.lazy import import_on_call
from hmetad.base.monte_carlo import mean_and_interval
from hmetad.base.notice import notices, undetermined_cells
from hmetad.base.results import about

# Tables of measures need none of these, which import the compiled likelihoods.
check_variable: Callable[..., Any] = import_on_call("hmetad.bayes.convergence", "check_variable")
sampled_variables: Callable[..., Any] = import_on_call(
    "hmetad.bayes.convergence", "sampled_variables"
)
fitted_of: Callable[..., Any] = import_on_call("hmetad.bayes.fitted", "Fitted.of")
predict_levels: Callable[..., Any] = import_on_call("hmetad.bayes.predict", "predict_levels")
spec_of: Callable[..., Any] = import_on_call("hmetad.specs.spec", "spec_of")

SAMPLED = ("chain", "draw", "cell")


@check_inputs(ci_prob=probability)
def estimate_table(
    results: xr.DataTree | xr.Dataset | xr.DataArray, *, ci_prob: float = 0.95
) -> pd.DataFrame:
    """Estimates as a plain table, one row per cell.

    Parameters
    ----------
    results : DataTree, Dataset or DataArray
        What `hmetad.fit`, `bayes.fit_estimates` or `hmetad.predict` returned; or what `measure`,
        `auroc2`, `fit_mle`, `resample_interval` and the like returned, with dim cell.
    ci_prob : float, optional
        Probability of the equal-tailed intervals of a fit or prediction.

    Returns
    -------
    DataFrame
        cell and its coordinates, then numbers. For a fit, posterior means of the quantities that
        the likelihood tabulates (for meta-d′ dprime, c, meta_d, m_ratio and log_m), each with
        columns _lower and _upper, over the defined draws. They are NaN if more than 5 % are
        undefined, and for M and meta-d′ of cells without errors (notice ``"no-errors"``). If each
        response has an M, it has a row. If a fit does not keep its cells, the rows are levels of
        the factors with few groups, averaged over the others. For predictions, the same for all
        variables with one number per cell. For measures, a column per number: ``auroc2``; for a
        variable with further dims one per element, such as ``auroc2_by_response_S1``; for an
        interval ``auroc2``, ``auroc2_lower`` and ``auroc2_upper``.

    Raises
    ------
    InputError
        If `results` is neither.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.type2 import auroc2
    >>> area = auroc2(from_nr([6, 2, 1, 1], [1, 1, 2, 6]))
    >>> estimate_table(area).to_dict("records")
    [{'cell': 'all', 'auroc2': 0.625}]
    """
    if isinstance(results, xr.DataTree):
        with_posterior("results", results)
        sampled, record = shown_draws(results), spec_of(results).record
        wanted = dict.fromkeys((*record.tabulated, record.plotted, record.compared))
        return summary_table(sampled[[name for name in wanted if name in sampled]], ci_prob)
    if {"chain", "draw", "cell"} <= set(results.dims):
        if isinstance(results, xr.DataArray):
            results = results.to_dataset(name=results.name or "value")
        names = [name for name, x in results.items() if set(x.dims) == {*SAMPLED}]
        kept = results[names]
        return summary_table(kept.drop_dims([x for x in kept.dims if x not in SAMPLED]), ci_prob)
    return measure_table(results)


def shown_draws(fit: xr.DataTree) -> xr.Dataset:
    """Draws of the cells of a fit; where they are not kept, of the levels that stand for them."""
    return fit["posterior"].to_dataset() if fitted_of(fit).has_cells else predict_levels(fit)


@check_inputs(fit=with_posterior)
def cells_withheld(fit: xr.DataTree) -> dict[str, list[str]]:
    """Cells without a verdict on what the model is about, such as M: their labels, by the reason.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.

    Returns
    -------
    dict of str to list of str
        By codes of notices, such as ``"no-errors"``.

    Examples
    --------
    >>> import hmetad
    >>> counts = hmetad.from_nr([[20, 10, 5, 5], [40, 0, 0, 0]], [[5, 5, 10, 20], [0, 0, 0, 40]])
    >>> quiet = {"draws": 100, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 1}
    >>> cells_withheld(hmetad.fit(counts, **quiet))["no-errors"]
    ['2']
    """
    found: dict[str, list[str]] = {}
    for notice in notices(shown_draws(fit)[spec_of(fit).record.plotted]):
        if notice.severity == "error" and notice.cells:
            found.setdefault(notice.code, []).extend(notice.cells)
    return found


def summary_table(posterior: xr.Dataset, ci_prob: float) -> pd.DataFrame:
    """Means and equal-tailed intervals of draws, one row per cell."""
    each = {
        name: mean_and_interval(
            x.where(~x["cell"].isin([*undetermined_cells(x)])) if about(str(name)) else x,
            ["chain", "draw"],
            ci_prob,
        )
        for name, x in posterior.items()
    }
    sides = {f"{n}_{s}": one[s] for n, one in each.items() for s in ("lower", "upper")}
    check_same_names(posterior.coords, sides)
    summary = xr.Dataset({**{name: one["mean"] for name, one in each.items()}, **sides})
    frame = summary.to_dataframe().reset_index()
    numbers = [name for name in frame if name in summary.data_vars]
    return frame[["cell", *(x for x in frame if x != "cell" and x not in numbers), *numbers]]


def measure_table(measures: xr.Dataset | xr.DataArray) -> pd.DataFrame:
    """Measures, one row per cell."""
    if isinstance(measures, xr.DataArray):
        check_same_names(measures.coords, [measures.name or "measure"])
        measures = measures.to_dataset(name=measures.name or "measure")
    if "cell" not in measures.coords or "cell" not in measures.dims:
        dims = f"dims ({', '.join(map(str, measures.dims))})"
        raise ShapeError("results", dims, "measures of cells, with dim cell")
    if not measures.sizes["cell"]:
        raise TooFewError("results", "no cells", "at least one cell")
    cells = [name for name, values in measures.coords.items() if values.dims == ("cell",)]
    own = {str(name): measures[name].to_numpy() for name in ["cell", *cells]}
    columns: dict[str, np.ndarray] = {}
    for name, values in measures.data_vars.items():
        others = [dim for dim in values.dims if dim != "cell"]
        flat = values.transpose("cell", *others).stack(place=others) if others else values
        if not others:
            columns[str(name)] = flat.to_numpy()
            continue
        for i, place in enumerate(flat["place"].to_numpy()):
            parts = [str(x) for x in np.atleast_1d(np.asarray(place, dtype=object))]
            kept = [part for part in parts if part != "estimate"]
            columns["_".join([str(name), *kept])] = flat.isel(place=i).to_numpy()
    check_same_names(own, columns)
    return pd.DataFrame(own | columns)


@check_inputs(fit=with_posterior)
def convergence_record(fit: xr.DataTree) -> dict[str, float]:
    """Diagnostics of the sampling of a fit, in one number each.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.

    Returns
    -------
    dict
        draws, of all chains; rhat, the largest, ess_bulk and ess_tail, the least, of all that is
        sampled, of cells and of the population; divergences. Cells drawn by importance sampling
        have no R̂ (NaN if all are), and for their effective draws what their weights are worth.
    """
    checks, stats = convergence_by_variable(fit), fit["sample_stats"].to_dataset()
    # Of cells that share nothing a draw may have diverged in several.
    diverged = stats.get("divergences", stats["diverging"])
    return {
        "draws": int(np.prod([fit["posterior"].sizes[dim] for dim in ("chain", "draw")])),
        "rhat": float(checks["rhat"].max()),
        "ess_bulk": int(checks["ess_bulk"].min()),
        "ess_tail": int(checks["ess_tail"].min()),
        "divergences": int(diverged.sum()),
    }


def convergence_by_variable(fit: xr.DataTree) -> pd.DataFrame:
    """The worst rhat, ess_bulk and ess_tail of each variable that was sampled, by its name.

    Of cells drawn by importance sampling, a row "weights" with what their draws are worth.
    """
    sampled, stats = sampled_variables(fitted_of(fit)), fit["sample_stats"].to_dataset()
    rows = {}
    if "by_chains" in stats:
        chains = stats["by_chains"].values
        if not chains.all():
            worth = float(stats["effective_draws"].values[~chains].min())
            rows["weights"] = (np.nan, worth, worth)
        sampled = sampled.isel(cell=chains) if chains.any() else xr.Dataset()
    for name, values in sampled.items():
        if values.size:
            rhat, bulk, tail = check_variable(values)
            rows[str(name)] = (float(rhat.max()), float(bulk.min()), float(tail.min()))
    return pd.DataFrame.from_dict(rows, "index", columns=["rhat", "ess_bulk", "ess_tail"])
