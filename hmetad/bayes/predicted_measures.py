"""Posterior draws of measures of counts, such as AUROC2, from a fit.

Fit (DataTree) and names of measures → Dataset (chain, draw, cell).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs, refuse_same_names, with_posterior
from hmetad.bayes.loo import OUTCOME
from hmetad.bayes.predict import predict
from hmetad.bayes.reliance import notices_of_predictions
from hmetad.errors import InputError, nearest
from hmetad.measures.catalogue import measure_result
from hmetad.notice import notice_attrs
from hmetad.results import Result, attrs_of, results
from hmetad.specs.spec import ModelSpec, spec_of

__all__ = ["predict_measures"]

# Tables that are measured together.
AT_ONCE = 20_000


@check_inputs(skip=("cells",), fit=with_posterior)
def predict_measures(
    fit: xr.DataTree,
    names: str | Sequence[str],
    cells: Sequence[str] | pd.DataFrame | Mapping[str, Sequence[object]] | None = None,
    *,
    group_terms: bool = False,
) -> xr.Dataset:
    r"""Posterior draws of measures: those of the counts that each draw of a fit expects.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    names : str or sequence of str
        Results of `hmetad.measure`, such as ``"auroc2"``, ``"gamma_pairs"``, ``"phi"``,
        ``"confidence_mean"``, ``"share_right"`` or ``"meta_i"``.
    cells, group_terms : optional
        As in `hmetad.predict`: by default every condition of a population, with `group_terms` the
        cells of the fit.

    Returns
    -------
    Dataset
        A variable for each name, dims (chain, draw, cell) and those that the measure has, as
        `contrast`, `decide` and `rank` take them, with the notices of the fit. NaN where a measure
        is undefined.

    Raises
    ------
    InputError
        If a name is unknown, a cell is, or the model has no ratings for a population: its criteria
        belong to the cells, as those of ``hmetad_group`` do.

    Notes
    -----
    With the parameters θ of a draw, the measure is that of a table with half of the trials of each
    stimulus, whose counts are in the ratio of :math:`P(r, k \mid s, \theta)`: there is no sampling
    error in it. Of a population these are the parameters of its average member; the mean of a
    measure over people differs from the measure at the mean of the parameters.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=5000, seed=1), draws=300, chains=2, **quiet)
    >>> predict_measures(drawn, "auroc2")["auroc2"].mean(["chain", "draw"]).round(2).values
    array([0.72])
    """
    wanted = (names,) if isinstance(names, str) else tuple(names)
    by_name = {name: known_measure(name) for name in wanted}
    if not by_name:
        raise InputError("names", "none", "names of measures")
    spec = spec_of(fit)
    predicted = predict(fit, cells, group_terms=group_terms)
    refuse_same_names(predicted.coords, by_name)
    shares = expected_shares(predicted, spec)
    parts = [measured(part, by_name) for part in pieces(shares)]
    whole = xr.concat(parts, "sample", coords="minimal", compat="override", combine_attrs="drop")
    found = {name: unstacked(whole[name], shares) for name in by_name}
    concerning = notices_of_predictions(fit, found)
    own = {
        name: values.assign_attrs(notice_attrs(concerning[name])) for name, values in found.items()
    }
    coords = {name: x for name, x in predicted.coords.items() if x.dims == ("cell",)}
    return xr.Dataset(own).assign_coords(coords).assign_attrs(predicted.attrs)


def known_measure(name: object) -> Result:
    """Result of `measure` by its name."""
    known = [x for x in results() if x.measured and not x.name.endswith("_se")]
    found = next((x for x in known if x.name == name and x.name != "trials"), None)
    if found is None:
        step = nearest(str(name), [x.name for x in known])
        raise InputError("names", repr(name), "results of hmetad.measure", step)
    return found


def expected_shares(predicted: xr.Dataset, spec: ModelSpec) -> xr.DataArray:
    """Shares of outcomes in all trials, dims (chain, draw, *OUTCOME), stimuli as often."""
    likelihood, values = spec.record, dict[str, Any]()
    for name, quantity in likelihood.results.items():
        if name in predicted:
            order = ("chain", "draw", "cell", *quantity.dims)
            values[name] = predicted[name].transpose(*order).to_numpy()
    missing = [name for name in likelihood.results if name not in values]
    try:
        log_p = likelihood.outcomes(values)
    except KeyError as error:
        got = f"a population without {', '.join(missing)}"
        step = "Give group_terms=True for the cells of the fit."
        raise InputError("cells", got, "cells whose parameters are all known", step) from error
    ratings = np.arange(1, log_p.shape[-1] + 1)
    coords = {"stimulus": ["S1", "S2"], "response": ["S1", "S2"], "rating": ratings}
    coords |= {name: predicted[name].values for name in ("chain", "draw", "cell")}
    return xr.DataArray(np.exp(log_p) / 2, coords, ("chain", "draw", *OUTCOME))


def pieces(shares: xr.DataArray) -> Iterator[xr.DataArray]:
    """Tables of some of the draws at a time, dims (sample, *OUTCOME)."""
    flat = shares.to_numpy().reshape(-1, *shares.shape[2:])
    coords = {name: shares[name] for name in OUTCOME}
    step = max(1, AT_ONCE // shares.sizes["cell"])
    for start in range(0, len(flat), step):
        yield xr.DataArray(flat[start : start + step], coords, ("sample", *OUTCOME))


def measured(tables: xr.DataArray, by_name: Mapping[str, Result]) -> xr.Dataset:
    """Measures of tables by name, without attrs."""
    calls = {(x.function, x.options): x for x in by_name.values()}
    found = {key: measure_result(tables, x, {}) for key, x in calls.items()}
    return xr.Dataset(
        {name: found[x.function, x.options][name].drop_attrs() for name, x in by_name.items()}
    )


def unstacked(values: xr.DataArray, shares: xr.DataArray) -> xr.DataArray:
    """Values with chains and draws in place of samples, and what they mean."""
    others = [dim for dim in values.dims if dim not in ("sample", "cell")]
    ordered = values.transpose("sample", "cell", *others)
    data = ordered.to_numpy().reshape(*shares.shape[:2], *ordered.shape[1:])
    coords = {name: ordered[name] for name in others if name in ordered.coords}
    coords |= {name: shares[name] for name in ("chain", "draw", "cell")}
    name = str(values.name)
    return xr.DataArray(data, coords, ("chain", "draw", "cell", *others), name, attrs_of(name))
