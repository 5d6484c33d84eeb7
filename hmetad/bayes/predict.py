"""Parameters of the cells of a design, from a fit: of its own cells, or of a population.

Fit (DataTree) and cells → Dataset (chain, draw, cell).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs, refuse_same_names, row_labels, with_posterior
from hmetad.bayes.kept_cells import (
    columns_of_levels,
    derived_results,
    factors_of,
    has_cells,
    linear_predictor,
    whole_posterior,
)
from hmetad.bayes.reliance import notices_of_predictions
from hmetad.counts.table_notices import high_ratio_notices, is_high_ratio
from hmetad.errors import InputError, nearest
from hmetad.notice import Notice, notice_attrs, notices
from hmetad.specs.design import Design, cell_table, parse_design
from hmetad.specs.formula import formula_columns
from hmetad.specs.spec import ModelSpec, spec_of

__all__ = ["predict", "predict_levels"]


@check_inputs(skip=("cells",), fit=with_posterior)
def predict(
    fit: xr.DataTree,
    cells: Sequence[str] | pd.DataFrame | Mapping[str, Sequence[object]] | None = None,
    *,
    group_terms: bool = False,
) -> xr.Dataset:
    """Posterior draws of the parameters of cells.

    Where a model has formulas, parameters are those of the population: X β, without what is
    particular to a group, unless `group_terms`. On the scale of log M the population's value is
    its mean, so that `m_ratio` is the median of its members.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    cells : sequence of str, DataFrame or mapping, optional
        Labels of cells of the fit; or new cells, a row each, with the columns that the formulas
        name: ``{"task": ["memory", "vision"], "age": [40, 40]}``. By default every combination
        of the predictors that occurs in the fit ("population" where there are none), or all
        cells of the fit with `group_terms` and in models without formulas.
    group_terms : bool, optional
        Whether to add the effects of each cell's groups. Effects of factors whose columns new cells
        lack are left out: with observers crossed with items, ``{"subject": ["a", "b"]}`` are these
        two at an average item.

    Returns
    -------
    Dataset
        Quantities of the likelihood for every cell, dims (chain, draw, cell): with meta-d′ dprime,
        c, meta_d, m_ratio, log_m, meta_c and criteria. Only those whose parameters have formulas;
        with the coordinates of the cells. The Dataset and its variables carry the notices of the
        fit.

    Raises
    ------
    InputError
        If a cell is not in the fit, a column or a level is missing, a column or a group is not
        known, or with `group_terms` no column names a group.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> counts = simulate_counts([1.5, 2.0], coords={"task": ["a", "b"]}, trials=10_000, seed=1)
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> draws = fit(counts, formula="0 + task", draws=300, chains=2, **quiet)
    >>> predict(draws, {"task": ["b"]})["m_ratio"].mean(["chain", "draw"]).round(1).values
    array([1.])
    """
    posterior, spec = fit["posterior"].to_dataset(), spec_of(fit)
    own = cell_table(posterior)
    if cells is None and (group_terms or not spec.formula):
        return whole_posterior(fit)[list(spec.record.results)]
    if not spec.formula or (group_terms and is_labels(cells) and has_cells(fit)):
        results = posterior[list(spec.record.results)]
        return results.sel(cell=known_labels(cells, posterior))
    table, labels = wanted_cells(cells, posterior, spec, own)
    if group_terms:
        refuse_no_groups(table, spec, own)
    values = {}
    for name, formula in spec.formula.items():
        may_correlate = not spec.extra_dims(name)
        design = parse_design(
            name, formula, own, table, may_correlate=may_correlate, factors=spec.factors
        )
        if group_terms:
            design = with_named_groups(design, table)
        values[name] = linear_predictor(posterior, spec, design, group_terms=group_terms)
    left_out = {p.variable for p in spec.record.parameters if not p.in_posterior}
    names = dict.fromkeys([*values, *spec.record.results])
    found = derived_results(values, spec.record, [name for name in names if name not in left_out])
    refuse_same_names(table.columns, found)
    coords = cell_coords(table, labels)
    if is_labels(cells):
        # Values of covariates that occur are no levels; those that are asked for are.
        coords |= {x: (*coords[x], posterior[x].attrs) for x in map(str, table)}
    result = xr.Dataset(found).assign_coords(coords)
    # Each variable carries the notices that concern it, for users who take it out of the Dataset.
    said = {"sampling": fit.attrs.get("method", "nuts")}
    said |= {key: fit.attrs[key] for key in ("meta_criterion", "notices") if key in fit.attrs}
    concerning = notices_of_predictions(fit, {str(name): x for name, x in result.items()})
    high = high_predictions(fit, result)
    named = {
        name: x.assign_attrs(said | notice_attrs([*concerning[str(name)], *high]))
        for name, x in result.items()
    }
    return result.assign(named).assign_attrs(said | notice_attrs([*notices(fit), *high]))


@check_inputs(fit=with_posterior)
def predict_levels(fit: xr.DataTree) -> xr.Dataset:
    """Posterior draws of the levels that stand for cells, where these are too many to keep.

    A cell is a combination of the columns that formulas name and of grouping factors, those with
    the fewest groups first, as long as there are no more than 200: of 20 observers crossed with
    2,000 items an observer. It is at an average of the other factors.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned, of a model with formulas; it may keep its cells.

    Returns
    -------
    Dataset
        As `predict` returns it.

    Raises
    ------
    InputError
        If the model has no formulas.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 100, "chains": 2}
    >>> people = {"subject": ["a", "b", "c"]}
    >>> counts = simulate_counts([1.0, 1.5, 2.0], coords=people, trials=400, seed=1)
    >>> drawn = fit(counts, "group", keep_cells=False, **quiet)
    >>> "log_m" in drawn["posterior"], predict_levels(drawn)["log_m"].sizes["cell"]
    (False, 3)
    """
    if not spec_of(fit).formula:
        step = "Cells that stand for themselves are in the posterior."
        raise InputError("fit", "a model without formulas", "one with formulas", step)
    names = columns_of_levels(fit)
    if not names:
        return predict(fit)
    levels = cell_table(fit["posterior"].to_dataset())[names].drop_duplicates()
    has_groups = any(set(factor) <= {*names} for factor in factors_of(spec_of(fit)))
    return predict(fit, levels, group_terms=has_groups)


def high_predictions(fit: xr.DataTree, result: xr.Dataset) -> list[Notice]:
    """Notice of predicted cells whose M is clearly above 1.5, unless the fit says so itself."""
    told = any(one.code == "high-m-ratio" and not one.cells for one in notices(fit))
    if told or "m_ratio" not in result or "observed_data" not in fit:
        return []
    counts = fit["observed_data"].to_dataset()["counts"]
    return high_ratio_notices(is_high_ratio(result["m_ratio"]), counts)


def refuse_no_groups(table: pd.DataFrame, spec: ModelSpec, own: pd.DataFrame) -> None:
    """Raise where new cells have an unknown column, or none that names a group."""
    for name in map(str, table.columns):
        if name not in own:
            known = [*map(str, own)]
            raise InputError("cells", f"a column {name!r}", ", ".join(known), nearest(name, known))
    factors = factors_of(spec)
    if factors and not any(set(factor) <= set(table.columns) for factor in factors):
        named = " or ".join(":".join(factor) for factor in factors)
        step = "Leave out group_terms=True for the population's value."
        raise InputError("cells", ", ".join(map(str, table.columns)), f"a column {named}", step)


def with_named_groups(design: Design, table: pd.DataFrame) -> Design:
    """Design without the blocks of factors whose columns a table lacks."""
    there = set(map(str, table.columns))
    blocks = tuple(block for block in design.blocks if set(block.factor.split(":")) <= there)
    return replace(design, blocks=blocks)


def cell_coords(table: pd.DataFrame, labels: Sequence[str]) -> dict[str, Any]:
    """Coordinates of cells: their labels, and a column each."""
    columns = {str(name): ("cell", np.array(column.tolist())) for name, column in table.items()}
    return {"cell": list(labels), **columns}


def is_labels(cells: object) -> bool:
    """Whether cells are given by their labels."""
    return not isinstance(cells, pd.DataFrame | Mapping)


def known_labels(cells: Any, posterior: xr.Dataset) -> list[str]:
    """Labels of cells of the fit, or an error for one that is not."""
    if not is_labels(cells):
        step = "Models whose cells stand for themselves predict no others."
        raise InputError("cells", "new cells", "labels of cells of the fit", step)
    labels = [cells] if isinstance(cells, str) else list(cells)
    known = posterior["cell"].values.tolist()
    for label in labels:
        if label not in known:
            raise InputError("cells", repr(label), "cells of the fit", nearest(str(label), known))
    return labels


def wanted_cells(
    cells: Any, posterior: xr.Dataset, spec: ModelSpec, own: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Cells asked for, as a table."""
    if cells is None:
        names = [c for c in own.columns if c in formula_columns(spec.formula.values())]
        if not names:
            return pd.DataFrame(index=pd.RangeIndex(1)), ["population"]
        table = own[names].drop_duplicates().reset_index(drop=True)
        return table, joined_labels(table)
    if is_labels(cells):
        labels = known_labels(cells, posterior)
        place = {label: i for i, label in enumerate(posterior["cell"].values.tolist())}
        rows = own.iloc[[place[label] for label in labels]]
        return rows.reset_index(drop=True), labels
    table = new_cells(cells)
    missing = sorted(formula_columns(spec.formula.values()) - set(map(str, table.columns)))
    if missing:
        got = ", ".join(map(str, table.columns)) or "no columns"
        raise InputError("cells", got, f"a column for each of {', '.join(missing)} too")
    return table, joined_labels(table)


def new_cells(cells: pd.DataFrame | Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """New cells as a table, a row each."""
    try:
        return pd.DataFrame(cells).reset_index(drop=True)
    except ValueError as error:
        allowed = "as many values of each column: {'task': ['memory', 'vision'], 'age': [40, 40]}"
        raise InputError("cells", f"{cells!r} ({error})", allowed) from error


def joined_labels(table: pd.DataFrame) -> list[str]:
    """Label of each row: its values, joined."""
    labels = row_labels(table.itertuples(index=False))
    if len(set(labels)) < len(labels):
        raise InputError("cells", "the same cell twice", "each cell once")
    return labels
