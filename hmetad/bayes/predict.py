"""Posterior draws of cells of a design, from a fit: parameters, and measures of expected counts.

Fit (DataTree) and cells → Dataset (chain, draw, cell): of the fit's own cells, or of a population.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs, of_type
from hmetad.base.checks import seed_or_none, with_posterior
from hmetad.base.errors import (
    ColumnError,
    EmptyError,
    LabelError,
    LevelError,
    ModelError,
    RepeatError,
    SourceError,
    UnknownError,
    nearest,
)
from hmetad.base.labels import check_same_names, level_order, row_labels
from hmetad.base.notice import notice_attrs, notices
from hmetad.base.results import Result, attrs_of, depends_on_ratings, results
from hmetad.base.variable_roles import Role
from hmetad.bayes.convergence import prediction_notices
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import log_probabilities
from hmetad.bayes.kept_cells import derived_results, linear_predictor, outcome_draws
from hmetad.counts.resample import counts_together, seed_entropy
from hmetad.counts.tables import high_ratio_notices, is_high_ratio, rating_attrs
from hmetad.measures.catalogue import measure_result
from hmetad.specs.design import Block, Design, parse_design
from hmetad.specs.formula import level_columns

# Level of a column of which nothing is known.
NEW = "new"
# Tables that are measured together.
TABLES_AT_ONCE = 20_000


@check_inputs(skip=("cells",), fit=with_posterior, seed=seed_or_none)
def predict(
    fit: xr.DataTree,
    cells: Sequence[str] | pd.DataFrame | Mapping[str, Sequence[object]] | None = None,
    *,
    group_terms: bool = False,
    new: str | Sequence[str] = (),
    seed: int | None = None,
) -> xr.Dataset:
    """Posterior draws of the parameters of cells.

    If a model has formulas, parameters describe the population: X β, without random effects, unless
    `group_terms`. On the scale of log M the population value is the mean, so `m_ratio` is the
    median of its members.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    cells : sequence of str, DataFrame or mapping, optional
        Labels of cells of the fit; or new cells, a row each, with the columns that the formulas
        name: ``{"task": ["memory", "vision"], "age": [40, 40]}``. By default every combination
        of the predictors that occurs in the fit ("population" if there are none), or all
        cells of the fit with `group_terms` and in models without formulas.
    group_terms : bool, optional
        Whether to add the effects of each cell's groups. Effects of factors whose columns new cells
        lack are excluded: with observers crossed with items, ``{"subject": ["a", "b"]}`` are these
        two at an average item.
    new : str or sequence of str, optional
        Columns that have one new level, the same in all cells, such as a domain without labels. Its
        effects, and the effects of its combinations with other columns, are drawn from their
        population, so draws vary as such groups do. Effects of other groups are added if cells name
        them.
    seed : int, optional
        Seed of the effects that are drawn; by default the number after the seed of the fit.

    Returns
    -------
    Dataset
        Quantities of the likelihood for every cell, dims (chain, draw, cell): with meta-d′ dprime,
        c, meta_d, m_ratio, log_m, meta_c and criteria. Only those whose parameters have formulas;
        with the coordinates of the cells. The Dataset and its variables have the notices of the
        fit.

    Raises
    ------
    InputError
        If a cell is not in the fit, a column or a level is missing, a column or a group is not
        known, cells name items that were integrated out, or with `group_terms` no column names a
        group; if `new` does not name a factor of random effects.

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
    fitted = Fitted.of(fit)
    if new:
        return new_cells(fitted, cells, new, seed)
    return predicted_cells(fitted, cells, group_terms=group_terms)


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
    fitted = Fitted.of(fit)
    if not fitted.spec.formula:
        step = "Cells that stand for themselves are in the posterior."
        raise ModelError("fit", "a model without formulas", "one with formulas", step)
    return level_draws(fitted)


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
    measure over participants differs from the measure at the mean of the parameters. Observers
    crossed with items that a fit integrated out have the probabilities over items.

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
        raise EmptyError("names", "none", "names of measures")
    fitted = Fitted.of(fit)
    predicted = predicted_cells(fitted, cells, group_terms=group_terms)
    check_same_names(predicted.coords, by_name)
    shares = expected_shares(predicted, fitted)
    step = max(1, TABLES_AT_ONCE // (shares.sizes["chain"] * shares.sizes["cell"]))
    calls = {(x.function, x.options): x for x in by_name.values()}
    parts = []
    for i in range(0, shares.sizes["draw"], step):
        tables = shares.isel(draw=slice(i, i + step))
        each = {key: measure_result(tables, x, {}) for key, x in calls.items()}
        named = {name: each[x.function, x.options][name] for name, x in by_name.items()}
        parts.append(xr.Dataset({name: x.drop_attrs() for name, x in named.items()}))
    whole = xr.concat(parts, "draw", coords="minimal", compat="override", combine_attrs="drop")
    whole = whole.transpose("chain", "draw", "cell", ...)
    coords = {name: x for name, x in predicted.coords.items() if x.dims == ("cell",)}
    table = fitted.counts
    if not predicted["cell"].isin(table["cell"]).all():
        columns = [str(name) for name in coords if name in {*table.coords} - {"cell"}]
        table, _ = counts_together(table, columns)
    said = {name: rating_attrs(table) if depends_on_ratings(name) else {} for name in by_name}
    found = {name: whole[name].assign_attrs(attrs_of(name) | said[name]) for name in by_name}
    concerning = prediction_notices(fitted, found)
    own = {name: x.assign_attrs(notice_attrs(concerning[name])) for name, x in found.items()}
    return xr.Dataset(own).assign_coords(coords).assign_attrs(predicted.attrs)


@check_inputs(fit=with_posterior)
def covariate_means(fit: xr.DataTree, *, keep: Sequence[str] = ()) -> dict[str, float]:
    """Mean over cells of each column of numbers that formulas name, unless it stands for levels.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned, of a model with formulas.
    keep : sequence of str, optional
        Columns whose values are conditions that are compared.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"draws": 100, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 1}
    >>> counts = simulate_counts([1.5, 1.0], coords={"age": [20, 40]}, seed=1)
    >>> covariate_means(fit(counts, formula={"c": "1 + scale(age)"}, **quiet))
    {'age': 30.0}
    """
    fitted = Fitted.of(fit)
    levels = {*level_columns(fitted.spec.formula, fitted.spec.factors), *keep}
    numbers = fitted.cells[fitted.predictors].select_dtypes("number")
    return {str(name): float(own.mean()) for name, own in numbers.items() if name not in levels}


@check_inputs(fit=with_posterior)
def average_conditions(fit: xr.DataTree, *, keep: Sequence[str] = ()) -> pd.DataFrame | None:
    """Combinations of the levels that formulas name, each at the means of the covariates.

    Parameters
    ----------
    fit, keep
        As for `covariate_means`.

    Returns
    -------
    DataFrame or None
        Cells for `predict` and `predict_measures`; None if formulas name no columns.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"draws": 100, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 1}
    >>> cells = {"age": [20, 40, 20, 40], "task": [*"aabb"]}
    >>> counts = simulate_counts([1.5, 1.0, 1.2, 1.4], coords=cells, seed=1)
    >>> drawn = fit(counts, formula={"c": "1 + scale(age) + task"}, **quiet)
    >>> average_conditions(drawn).to_dict("list")
    {'age': [30.0, 30.0], 'task': ['a', 'b']}
    """
    fitted, means = Fitted.of(fit), covariate_means(fit, keep=keep)
    names = [name for name in fitted.cells if name in fitted.predictors]
    table = fitted.cells[names].assign(**means)
    return table.drop_duplicates().reset_index(drop=True) if names else None


def predicted_cells(fitted: Fitted, cells: Any, *, group_terms: bool) -> xr.Dataset:
    """Draws of the quantities of cells, with the notices that concern them, as `predict` has it."""
    spec, posterior, record = fitted.spec, fitted.posterior, fitted.record
    are_labels = not isinstance(cells, pd.DataFrame | Mapping)
    if cells is None and (group_terms or not spec.formula):
        return fitted.with_cells(posterior)[list(record.results)]
    if not spec.formula and not are_labels:
        step = "Models whose cells stand for themselves predict no others."
        raise LabelError("cells", "new cells", "labels of cells of the fit", step)
    if not spec.formula or (group_terms and are_labels and fitted.has_cells):
        return posterior[list(record.results)].sel(cell=known_labels(cells, fitted))
    table, labels = wanted_cells(cells, fitted)
    if fitted.crossing and {*fitted.crossing.factor.split(":")} <= {*table.columns}:
        step, got = "bayes.item_effects has their effects.", "items that were integrated out"
        raise LevelError("cells", got, "cells at an average item", step)
    if group_terms:
        refuse_no_groups(table, fitted)
    if not len(table):
        raise EmptyError("cells", "no rows", "a row for each cell")
    values = {
        name: linear_predictor(posterior, spec, design, group_terms=group_terms)
        for name, design in designs_at(fitted, table, with_groups=group_terms)
    }
    coords = cell_coords(table, labels)
    if are_labels:
        # Values of covariates that occur are no levels; those that are asked for are.
        coords |= {x: (*coords[x], posterior[x].attrs) for x in map(str, table)}
    return from_predictors(fitted, values, table, coords)


def designs_at(
    fitted: Fitted, table: pd.DataFrame, *, with_groups: bool
) -> Iterator[tuple[str, Design]]:
    """Formulas on other cells, by parameter, with the blocks whose columns the cells have.

    Of other blocks nothing is added: an average group.
    """
    spec, there = fitted.spec, {*map(str, table.columns)}
    for name, formula in spec.formula.items():
        options = {"may_correlate": not spec.extra_dims(name), "with_groups": with_groups}
        design = parse_design(name, formula, fitted.cells, table, factors=spec.factors, **options)
        named = tuple(b for b in design.blocks if {*b.factor.split(":")} <= there)
        yield name, replace(design, blocks=named)


def from_predictors(
    fitted: Fitted, values: dict[str, xr.DataArray], table: pd.DataFrame, coords: dict[str, Any]
) -> xr.Dataset:
    """Quantities that follow from linear predictors, by parameter, with notices."""
    record = fitted.record
    left_out = {p.variable for p in record.parameters if not p.in_posterior}
    names = [x for x in dict.fromkeys([*values, *record.results]) if x not in left_out]
    found = derived_results(values, record, names)
    check_same_names(table.columns, found)
    return with_concerning(fitted, xr.Dataset(found).assign_coords(coords))


def new_cells(fitted: Fitted, cells: Any, new: str | Sequence[str], seed: int | None) -> xr.Dataset:
    """Draws of the quantities of cells that have a new level in some columns.

    Effects of groups that cells name are added, and drawn from their population where the fit does
    not have them.
    """
    fresh = [new] if isinstance(new, str) else list(dict.fromkeys(new))
    grouping = {column for factor in fitted.factors for column in factor}
    for column in fresh:
        if column not in fitted.cells.columns:
            known = [*map(str, fitted.cells)]
            raise ColumnError("new", repr(column), "a column", nearest(column, known))
        if column in fitted.predictors or column not in grouping:
            got = (
                f"{column!r}, which has {'' if column in fitted.predictors else 'no '}coefficients"
            )
            raise ColumnError("new", got, "a column that is a factor of groups alone")
    table, labels = wanted_cells(cells, fitted)
    if not len(table) or {*fresh} & {*table.columns}:
        without = f", and no column {' or '.join(fresh)}" if fresh else ""
        got = ", ".join(map(str, table.columns)) or "no columns"
        raise LevelError("cells", got, f"a row for each cell{without}")
    asked, values = table.assign(**dict.fromkeys(fresh, NEW)), {}
    used = str(fitted.tree.attrs["seed"])
    after = int(used) + 1 if used.isdigit() else None
    rng = np.random.default_rng(seed_entropy(after if seed is None else seed))
    for name, design in designs_at(fitted, asked, with_groups=True):
        values[name] = linear_predictor(fitted.posterior, fitted.spec, design, group_terms=False)
        for block in design.blocks:
            refuse_unknown_levels(asked, fitted.cells, block)
            values[name] = values[name] + block_part(fitted, name, block, asked, rng)
    return from_predictors(fitted, values, table, cell_coords(table, labels))


def refuse_unknown_levels(asked: pd.DataFrame, own: pd.DataFrame, block: Block) -> None:
    """Raise where a level is not that of a cell of the fit, and not said to be new."""
    for column in block.factor.split(":"):
        levels = {str(x) for x in own[column]} | {NEW}
        unknown = [str(x) for x in asked[column] if str(x) not in levels]
        if unknown:
            step = f"Of a level that nothing is known of, leave the column out: new={column!r}."
            raise LevelError("cells", f"{column} {unknown[0]!r}", "levels of the fit", step)


def block_part(
    fitted: Fitted,
    parameter: str,
    block: Block,
    asked: pd.DataFrame,
    rng: np.random.Generator,
) -> xr.DataArray:
    """What a block adds to cells: effects of known groups, and drawn ones of the others."""
    extra = fitted.spec.extra_dims(parameter)

    def by_column(role: Role, kept: int) -> NDArray[np.float64]:
        """Draws of all terms side by side, (chain, draw, effects, …), or with groups before."""
        flat = []
        for term in block.terms:
            own = fitted.layout.variable(role, parameter, term.name, block.factor)
            x = fitted.posterior[own.name].transpose("chain", "draw", *own.dims).values
            last = x.ndim - len(extra)
            shape = (*x.shape[:kept], math.prod(x.shape[kept:last]), *x.shape[last:])
            flat.append(x.reshape(shape))
        return np.concatenate(flat, axis=kept)

    labels = asked[block.factor.split(":")].astype(str).agg(":".join, axis=1)
    places = np.where(block.index < 0, len(block.groups), block.index)
    fresh, number = np.unique(labels[block.index < 0], return_inverse=True)
    places[block.index < 0] += number
    effects, sigma = by_column("effect", 3), by_column("sd", 2)
    if len(fresh):
        scores = rng.normal(size=(*effects.shape[:2], len(fresh), *sigma.shape[2:]))
        if block.is_correlated:
            correlation = fitted.drawn("correlation", parameter, block.written, block.factor)
            unit = np.linalg.cholesky(correlation.transpose("chain", "draw", ...).values)
            drawn = scores @ np.swapaxes(sigma[..., None] * unit, -1, -2)
        else:
            drawn = sigma[:, :, None] * scores
        effects = np.concatenate([effects, drawn], axis=2)
    columns = block.columns.reshape(*block.columns.shape, *[1] * len(extra))
    added = (effects[:, :, places] * columns).sum(axis=3)
    return xr.DataArray(added, dims=("chain", "draw", "cell", *extra))


def level_draws(fitted: Fitted) -> xr.Dataset:
    """Draws of the cells that stand for those of the fit, as `predict_levels` has them."""
    names = fitted.columns_of_levels
    if not names:
        return predicted_cells(fitted, None, group_terms=False)
    has_groups = any({*factor} <= {*names} for factor in fitted.factors)
    levels = fitted.cells[names].drop_duplicates()
    return predicted_cells(fitted, levels, group_terms=has_groups)


def with_concerning(fitted: Fitted, result: xr.Dataset) -> xr.Dataset:
    """Predictions with the notices of the fit, each variable with those that concern it."""
    attrs = fitted.tree.attrs
    said = fitted.sampling
    said |= {key: attrs[key] for key in ("meta_criterion", "notices") if key in attrs}
    given = notices(fitted.tree)
    concerning = prediction_notices(fitted, {str(name): x for name, x in result.items()})
    told = any(one.code == "high-m-ratio" and not one.cells for one in given)
    high = []
    if not told and "m_ratio" in result and fitted.record.has_ratings:
        high = high_ratio_notices(is_high_ratio(result["m_ratio"]), fitted.counts)
    links = fitted.record.links
    own = {name: {"link": links[str(name)]} if name in links else {} for name in result}
    named = {
        name: x.assign_attrs(said | own[name] | notice_attrs([*concerning[str(name)], *high]))
        for name, x in result.items()
    }
    return result.assign(named).assign_attrs(said | notice_attrs([*given, *high]))


def wanted_cells(cells: Any, fitted: Fitted) -> tuple[pd.DataFrame, list[str]]:
    """Cells of a model with formulas that were asked for, as a table, and their labels."""
    if cells is None:
        names = [name for name in fitted.cells if name in fitted.predictors]
        if not names:
            return pd.DataFrame(index=pd.RangeIndex(1)), ["population"]
        table = fitted.cells[names].drop_duplicates()
        own = fitted.posterior["cell"].coords
        factors = [x for x in fitted.cells if own[x].attrs.get("role") != "covariate"]
        for name in names:
            # In the order in which contrasts of the cells have the levels.
            order = level_order(fitted.cells[factors], name) if name in factors else []
            if order and order != table[name].drop_duplicates().tolist():
                places = pd.Index(order).get_indexer(pd.Index(table[name]))
                table = table.iloc[np.argsort(places, kind="stable")]
        table = table.reset_index(drop=True)
        return table, joined_labels(table)
    if not isinstance(cells, pd.DataFrame | Mapping):
        labels = known_labels(cells, fitted)
        places = fitted.posterior.indexes["cell"].get_indexer(pd.Index(labels))
        return fitted.cells.iloc[places].reset_index(drop=True), labels
    try:
        table = pd.DataFrame(cells).reset_index(drop=True)
    except ValueError as error:
        allowed = "as many values of each column: {'task': ['memory', 'vision'], 'age': [40, 40]}"
        raise LevelError("cells", f"{cells!r} ({error})", allowed) from error
    columns = [*map(str, table.columns)]
    missing = [name for name in fitted.predictors if name not in columns]
    if missing:
        got = ", ".join(columns) or "no columns"
        raise ColumnError("cells", got, f"a column for each of {', '.join(missing)} too")
    return table, joined_labels(table)


def known_labels(cells: str | Sequence[str], fitted: Fitted) -> list[str]:
    """Labels of cells of the fit, or an error for one that is not."""
    labels = [cells] if isinstance(cells, str) else cells
    of_type(Sequence[str])("cells", labels)
    known = fitted.posterior["cell"].values.tolist()
    for label in labels:
        if label not in known:
            raise LabelError("cells", repr(label), "cells of the fit", nearest(str(label), known))
    return [*labels]


def refuse_no_groups(table: pd.DataFrame, fitted: Fitted) -> None:
    """Raise where new cells have an unknown column, or none that names a group."""
    columns, known = [*map(str, table.columns)], [*map(str, fitted.cells)]
    for name in columns:
        if name not in known:
            raise UnknownError(
                "cells", f"a column {name!r}", ", ".join(known), nearest(name, known)
            )
    if fitted.factors and not any({*factor} <= {*columns} for factor in fitted.factors):
        named = " or ".join(":".join(factor) for factor in fitted.factors)
        step = "Leave out group_terms=True for the population's value."
        raise ColumnError("cells", ", ".join(columns), f"a column {named}", step)


def joined_labels(table: pd.DataFrame) -> list[str]:
    """Label of each row: its values, joined."""
    labels = row_labels(table.itertuples(index=False))
    if len(set(labels)) < len(labels):
        raise RepeatError("cells", "the same cell twice", "each cell once")
    return labels


def cell_coords(table: pd.DataFrame, labels: Sequence[str]) -> dict[str, Any]:
    """Coordinates of cells: their labels, and a column each."""
    columns = {str(name): ("cell", np.array(column.tolist())) for name, column in table.items()}
    return {"cell": list(labels), **columns}


def known_measure(name: object) -> Result:
    """Result of `measure` by its name."""
    known = [x for x in results() if x.measured and not x.name.endswith("_se")]
    found = next((x for x in known if x.name == name and x.name != "trials"), None)
    if found is None:
        step = nearest(str(name), [x.name for x in known])
        raise SourceError("names", repr(name), "results of hmetad.measure", step)
    return found


def expected_shares(predicted: xr.Dataset, fitted: Fitted) -> xr.DataArray:
    """Shares of outcomes in all trials, dims (chain, draw, cell, ...), stimuli as often.

    Cells of a fit that integrated items out have trials of all items, not of an average one.
    """
    is_own = bool(predicted["cell"].isin(fitted.counts["cell"]).all())
    try:
        if fitted.crossing is not None and is_own:
            log_p = log_probabilities(fitted, fitted.posterior).sel(cell=predicted["cell"].values)
        else:
            given = given_cells(predicted, fitted)
            log_p = outcome_draws(predicted, fitted.record, given, fitted.labels)
    except KeyError as error:
        missing = [name for name in fitted.record.results if name not in predicted]
        got = f"a population without {', '.join(missing)}"
        step = "Give group_terms=True for the cells of the fit."
        raise LevelError("cells", got, "cells whose parameters are all known", step) from error
    samples = {name: predicted[name].values for name in ("chain", "draw")}
    layout = fitted.record.layout
    stimuli = math.prod(len(layout.axes[dim]) for dim in layout.given)
    return log_p.copy(data=np.exp(log_p.to_numpy()) / stimuli).assign_coords(samples)


def given_cells(predicted: xr.Dataset, fitted: Fitted) -> dict[str, NDArray[np.float64]]:
    """What predicted cells are given: as they say themselves, or as all cells of the fit have it.

    d′ and c that are set from counts are among the results of the cells.
    """
    found = {}
    for name in fitted.given:
        if name in fitted.record.results:
            continue
        known = np.unique(fitted.given[name])
        if name in predicted.coords:
            found[name] = predicted[name].to_numpy().astype(float)
        elif len(known) == 1:
            found[name] = np.full(predicted.sizes["cell"], known[0])
        else:
            allowed = f"a column {name}, since cells of the fit differ in it"
            raise EmptyError("cells", f"no {name}", allowed)
    return found
