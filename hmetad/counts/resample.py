"""Resample any measure of a count table: bootstrap, Dirichlet posterior, permutation null.

Count table and a statistic (count table → Dataset) → Dataset with dim draw. What is drawn are
trials, or whole units that several trials share, as items and subjects are.
Source: Efron & Tibshirani (1993) for the bootstrap; Rubin (1981) for the Dirichlet posterior;
Davison & Hinkley (1997), section 3.8, for units.
"""

import math
import secrets
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, whole
from hmetad.base.coverage import coverage_attrs, coverage_notices, distinct_pairs, item_coverage
from hmetad.base.errors import (
    ChoiceError,
    ConflictError,
    KindError,
    NumberError,
    ShapeError,
    TooFewError,
    UnknownError,
    nearest,
)
from hmetad.base.labels import check_same_names
from hmetad.base.memory import refuse_memory
from hmetad.base.monte_carlo import INDEPENDENT
from hmetad.base.notice import Notice, notice_of, notice_where, notices, notices_but_m, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import about, depends_on_ratings
from hmetad.counts.abstained import NAME, abstentions_of, folded, unfolded
from hmetad.counts.checks import TYPE2_DIMS, refuse_impossible_counts, table_dims
from hmetad.counts.columns import group_numbers, several_columns
from hmetad.counts.items import apart_notices
from hmetad.counts.reversed_scales import with_scale_notices
from hmetad.counts.tables import cell_labels, count_notices, few_labels, rating_attrs, sums_by
from hmetad.rows.duplicates import is_people_name

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
type Statistic = Callable[[xr.DataArray], xr.Dataset | xr.DataArray]
type Draw = Callable[..., NDArray[Any]]
Kind = Literal["bootstrap", "dirichlet", "permutation"]
Hold = Literal["none", "stimulus"]

# Tables that a statistic is given at once: enough to be fast, few enough for any memory.
AT_ONCE = 50_000
# Rounding error of equal draws, relative to their size.
ROUNDING = 1e-9


@check_inputs(skip=("counts",), n=whole(1), seed=seed_or_none)
def resample(
    counts: xr.DataArray,
    statistic: Statistic,
    *,
    n: int = 1000,
    kind: Kind = "bootstrap",
    hold: Hold = "none",
    cluster: str | Sequence[str] | None = None,
    seed: int | None = None,
) -> xr.Dataset:
    r"""Values of a statistic over resampled count tables.

    Parameters
    ----------
    counts : DataArray
        Count table (cell, stimulus, response, rating), or type-2 table (cell, correct, rating). A
        Dask-backed table gives a Dask-backed result, computed by its scheduler.
    statistic : callable
        Count table → Dataset or named DataArray. It receives tables with dims (cell, draw, ...) and
        keeps both: `fit_mle`, `sdt`, `auroc2`, ``lambda t: fit_mle(t, correction="cell")``.
    n : int, optional
        Number of draws.
    kind : {"bootstrap", "dirichlet", "permutation"}, optional
        ``"bootstrap"``: as many trials as there were, drawn with replacement. ``"dirichlet"``:
        the posterior of the probabilities of the outcomes under an improper prior, times the
        number of trials (the Bayesian bootstrap); counts are then fractions. ``"permutation"``:
        ratings are permuted among the trials of each response (of all trials, in a type-2
        table), whichever the stimulus: the null hypothesis that confidence has no information.
    hold : {"none", "stimulus"}, optional
        ``"stimulus"`` keeps the number of trials of each stimulus; ``"none"`` resamples it too.
    cluster : str or sequence of str, optional
        Coordinate whose levels are resampled as clusters instead of trials: ``"item"`` or
        ``"subject"``; or several that identify a unit, such as set and item. Counts of the units
        drawn are added, so that the result has one cell for each combination of the other grouping
        columns. Units that several cells share are drawn for all of them at once, which keeps
        paired data paired: a participant in several levels of a column is one unit, and a notice
        ``"same-people"`` reports their number.
    seed : int, optional
        Seed; by default a random one, recorded in the attrs.

    Returns
    -------
    Dataset
        The variables of the statistic with dims (cell, draw, ...); attrs ``kind``, ``hold``,
        ``cluster``, ``n``, ``seed``. Same seed, same answer, whatever the chunks and workers.

    Raises
    ------
    InputError
        If `counts` is not a count table, has further dims, no cells, or negative or missing counts;
        if trials are resampled from non-integer counts; if the statistic drops cell or draw; if an
        argument is invalid.

    Notes
    -----
    For a cell with N trials of outcomes j, bootstrap and Dirichlet draws are

    .. math:: n^* \sim \mathrm{Multinomial}(N, n/N), \quad n^* \sim N\,\mathrm{Dirichlet}(n)

    If a statistic is undefined in a draw it is NaN there; the notice ``"undefined-draws"`` reports
    the proportion of such draws. If all draws of a variable are identical, the notice
    ``"no-spread"`` withholds verdicts on it.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.sdt import sdt
    >>> draws = resample(from_nr([80, 20], [30, 70]), sdt, n=2000, seed=1)
    >>> draws["dprime"].std().round(2).item()
    0.2
    """
    dims = table_dims(counts, "resample")
    further = {*counts.dims} - {"cell", *dims}
    if further:
        got = f"further dims {sorted(map(str, further))}"
        raise ShapeError("counts", got, f"dims (cell, {', '.join(dims)})")
    # All tables drawn of a cell are held together.
    refuse_memory("n", str(n), 8 * n * math.prod(counts.sizes[dim] for dim in dims))
    if hold == "stimulus" and (dims == TYPE2_DIMS or kind == "permutation" or cluster):
        allowed = "'none' for a type-2 table, for permutations and for clusters"
        raise ChoiceError("hold", "'stimulus'", allowed)
    if cluster and kind == "permutation":
        raise ConflictError("kind", "cluster", next_step="Take kind='bootstrap'.")
    entropy = seed_entropy(seed)
    alone = "cell" not in counts.dims
    table = (counts.expand_dims("cell") if alone else counts).transpose("cell", *dims)
    table = table.rename("counts")
    if "cell" not in table.coords:
        table = table.assign_coords(cell=[str(i + 1) for i in range(table.sizes["cell"])])
    refuse_undrawable(table, kind)
    if hold == "stimulus" and abstentions_of(table) is not None:
        raise ChoiceError("hold", "'stimulus'", "'none' for a table with abstentions")
    if not cluster:
        draw = partial(draw_tables, n=n, kind=kind, hold=hold)
        # Ratings are permuted among the trials that were answered.
        values = table if kind == "permutation" else folded(table)
        result = by_trials(table, values, statistic, n, draw, entropy)
    else:
        clusters = clusters_of(table, cluster)
        table = clusters.pooled
        result = by_clusters(clusters, statistic, n, kind, entropy)
    unit = ", ".join(several_columns(cluster, counts.coords))
    drawn = {"kind": kind, "hold": hold, "cluster": unit, "n": n, "seed": str(entropy)}
    result.attrs |= drawn
    if kind != "permutation" and counts.chunks is None:
        result = spreadless(with_scale_notices(result, table))
    return result.isel(cell=0) if alone else result


def refuse_undrawable(table: xr.DataArray, kind: Kind) -> None:
    """Refuse counts that cannot be resampled; trials are drawn from whole numbers only."""
    if table.sizes["cell"] == 0:
        raise TooFewError("counts", "a table without cells", "at least one cell")
    is_whole = table.dtype.kind in "iu"
    # A lazy table of whole numbers is not read before its draws are.
    if table.chunks is not None and is_whole:
        return
    refuse_impossible_counts(table)
    if kind != "dirichlet" and not is_whole and bool((table != table.round()).any()):
        step = "Corrections belong in the statistic: lambda t: fit_mle(t, correction='cell')."
        raise NumberError("counts", "counts that are not whole", "numbers of trials", step)


def seed_entropy(seed: int | None) -> int:
    """Seed as given, or one made up; a Generator, which has no number, is refused."""
    if isinstance(seed, np.random.Generator):
        raise KindError("seed", "a Generator", "None or a whole number of at least 0")
    return secrets.randbits(128) if seed is None else int(seed)


def cell_generator(seed: int, position: int) -> np.random.Generator:
    """Random numbers of one cell; they do not depend on the draws of other cells."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(position,)))


# Tables drawn of one cell


def draw_tables(
    values: NDArray[Any],
    n: int,
    generator: np.random.Generator,
    *,
    kind: Kind = "bootstrap",
    hold: Hold = "none",
) -> NDArray[Any]:
    """Tables (n, ...) drawn from the counts of one cell, (stimuli, responses, K) or (2, K)."""
    if kind == "permutation":
        # Of each response by itself; a type-2 table is one of them.
        sides = values[:, None] if values.ndim == 2 else values
        drawn = [permute_rows(sides[:, r], n, generator) for r in range(sides.shape[1])]
        return np.stack(drawn, axis=2).reshape(n, *values.shape)
    rows = values.reshape(len(values) if hold == "stimulus" else 1, -1)
    draw = multinomial if kind == "bootstrap" else dirichlet
    return np.stack([draw(row, n, generator) for row in rows], axis=1).reshape(n, *values.shape)


def permute_rows(table: NDArray[Any], n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Ratings (2, K) permuted between the rows, each with as many trials as before."""
    colors = table.sum(axis=0)
    first = generator.multivariate_hypergeometric(colors, int(table[0].sum()), size=n)
    return np.stack([first, colors - first], axis=1)


def multinomial(row: NDArray[Any], n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Bootstrap draws of a row of counts; a row without trials stays as it is."""
    total = row.sum()
    if total == 0:
        return np.zeros((n, len(row)), dtype=np.int64)
    return generator.multinomial(int(total), row / total, size=n)


def dirichlet(row: NDArray[Any], n: int, generator: np.random.Generator) -> NDArray[Any]:
    """Dirichlet draws of a row of counts, as counts; an outcome without trials stays 0."""
    gammas = generator.standard_gamma(row, size=(n, len(row)))
    sums = gammas.sum(axis=1, keepdims=True)
    return row.sum() * gammas / np.where(sums == 0, 1.0, sums)


# A statistic over draws of trials, or of units


class Job(NamedTuple):
    """All that the draws of some cells need beside their counts and positions.

    `form` is what the statistic gives for one table, `coords` those of all cells, and of the dims
    of a table.
    """

    statistic: Statistic
    form: xr.Dataset
    coords: xr.Dataset
    dims: tuple[str, ...]
    n: int
    draw: Draw
    entropy: int


def by_trials(
    table: xr.DataArray,
    values: xr.DataArray,
    statistic: Statistic,
    n: int,
    draw: Draw,
    entropy: int,
) -> xr.Dataset:
    """Statistic over draws of trials, cell by cell; lazily where the table is.

    `values` is what is drawn of the table, with its abstentions.
    """
    dims = tuple(map(str, table.dims[1:]))
    form, coords = form_of(statistic, table), table.coords.to_dataset().compute()
    job = Job(statistic, form, coords, dims, n, draw, entropy)
    positions = xr.DataArray(np.arange(table.sizes["cell"]), dims="cell")
    if table.chunks is not None:
        values = values.chunk(dict.fromkeys(dims, -1))
        positions = positions.chunk({"cell": values.chunksizes["cell"]})
    sizes = {dim: form.sizes[dim] for dim in form.dims if dim not in ("cell", "draw")}
    arrays = xr.apply_ufunc(
        draws_of_cells,
        values.drop_vars(values.coords),
        positions,
        kwargs={"job": job},
        input_core_dims=[dims, []],
        output_core_dims=[["draw", *inner_dims(form[name])] for name in form.data_vars],
        dask="parallelized",
        output_dtypes=[form[name].dtype for name in form.data_vars],
        dask_gufunc_kwargs={"output_sizes": {"draw": n, **sizes}},
        keep_attrs=False,
    )
    arrays = arrays if isinstance(arrays, tuple) else (arrays,)
    return assemble_draws(arrays, form, table.assign_coords(coords.coords), n)


def draws_of_cells(
    values: NDArray[Any], positions: Ints, job: Job
) -> tuple[NDArray[Any], ...] | NDArray[Any]:
    """Values of every variable for some of the cells, (cells, draw, ...)."""
    step = max(1, AT_ONCE // job.n)
    found = []
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        drawn = [
            job.draw(row, generator=cell_generator(job.entropy, int(i)))
            for row, i in zip(values[part], positions[part], strict=True)
        ]
        coords = job.coords.isel(cell=positions[part]).coords
        tables = unfolded(np.stack(drawn), coords, job.dims)
        # Of a single cell there may be more draws than a statistic is given at once.
        most = max(1, AT_ONCE // len(drawn))
        slices = [tables.isel(draw=slice(i, i + most)) for i in range(0, job.n, most)]
        found.append(together([values_of(job.statistic, x, job.form) for x in slices], axis=1))
    arrays = together(found, axis=0)
    # What apply_ufunc expects of one variable is no tuple.
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


def by_clusters(
    clusters: "Clusters", statistic: Statistic, n: int, kind: Kind, entropy: int
) -> xr.Dataset:
    """Statistic over draws of whole units."""
    form = form_of(statistic, clusters.pooled)
    generators = [cell_generator(entropy, i) for i in range(len(clusters.parts))]
    step = max(1, AT_ONCE // clusters.pooled.sizes["cell"])
    found = []
    for start in range(0, n, step):
        tables = weighted_tables(clusters, min(step, n - start), kind, generators)
        found.append(values_of(statistic, tables, form))
    labelled = [
        xr.DataArray(values, dims=("cell", "draw", *inner_dims(form[name])))
        for values, name in zip(together(found, axis=1), form.data_vars, strict=True)
    ]
    return assemble_draws(labelled, form, clusters.pooled, n)


def together(parts: Sequence[Sequence[NDArray[Any]]], *, axis: int) -> list[NDArray[Any]]:
    """Arrays of every variable, from those of several parts."""
    return [np.concatenate(arrays, axis=axis) for arrays in zip(*parts, strict=True)]


def form_of(statistic: Statistic, table: xr.DataArray) -> xr.Dataset:
    """What the statistic gives for the table of one cell: names, dims, types, attrs."""
    first = table.isel(cell=[0]).compute()
    form = as_dataset(statistic(first.expand_dims("draw", axis=1)))
    for name, variable in form.data_vars.items():
        if not {"cell", "draw"} <= {*variable.dims}:
            got = f"{name!r} with dims ({', '.join(map(str, variable.dims))})"
            step = "Average over cells afterwards, over the draws that come back."
            raise ShapeError("statistic", got, "variables that keep dims cell and draw", step)
    return form


def as_dataset(result: object) -> xr.Dataset:
    """Result of a statistic as a Dataset."""
    if isinstance(result, xr.DataArray):
        check_same_names(result.coords, [result.name or "statistic"])
        return result.to_dataset(name=result.name or "statistic")
    if not isinstance(result, xr.Dataset):
        raise KindError("statistic", f"a {type(result).__name__} from it", "a Dataset")
    return result


def values_of(statistic: Statistic, tables: xr.DataArray, form: xr.Dataset) -> list[NDArray[Any]]:
    """Values of every variable, dims (cell, draw, ...)."""
    result = as_dataset(statistic(tables))
    return [
        result[name].transpose("cell", "draw", *inner_dims(form[name])).to_numpy()
        for name in form.data_vars
    ]


def inner_dims(variable: xr.DataArray) -> list[Hashable]:
    """Dims beside cell and draw."""
    return [dim for dim in variable.dims if dim not in ("cell", "draw")]


def assemble_draws(
    arrays: Sequence[xr.DataArray], form: xr.Dataset, table: xr.DataArray, n: int
) -> xr.Dataset:
    """Dataset of the draws, with the cells' coordinates and the statistic's own."""
    kept = {name: x for name, x in form.coords.items() if not {"cell", "draw"} & {*x.dims}}
    result = xr.Dataset(coords={**table["cell"].coords, **kept, "draw": np.arange(n)})
    of_ratings = {} if table.chunks is not None else rating_attrs(table)
    for name, values in zip(form.data_vars, arrays, strict=True):
        own = of_ratings if depends_on_ratings(str(name)) else {}
        result[name] = values.assign_attrs(form[name].attrs | INDEPENDENT | own)
    result.attrs = {name: value for name, value in form.attrs.items() if name != "notices"}
    result.attrs |= {"coverage": table.attrs["coverage"]} if "coverage" in table.attrs else {}
    has_m = any(about(str(name)) for name in form.data_vars)
    result = with_notices(result, notices(table) if has_m else notices_but_m(table))
    return result if table.chunks is not None else with_notices(result, undefined_draws(result))


def undefined_draws(result: xr.Dataset) -> list[Notice]:
    """Notice of the variables that some draws left undefined, and of the cells."""
    shares = {
        str(name): values.isnull().mean("draw")
        for name, values in result.data_vars.items()
        if np.issubdtype(values.dtype, np.floating)
    }
    some = {name: x.where((x > 0) & (x < 1)) for name, x in shares.items()}
    some = {name: x for name, x in some.items() if x.notnull().any()}
    if not some:
        return []
    # What is undefined has no standard error either.
    named = [name for name in some if name.removesuffix("_se") not in {*some} - {name}]
    worst = ", ".join(f"{name} ({float(some[name].max()):.1%})" for name in named)
    by_cell = [x.notnull().any(inner_dims(x)) for x in some.values()]
    where = xr.concat(by_cell, "variable", join="exact", coords="minimal", compat="override")
    return notice_where(where.any("variable"), "undefined-draws", shares=worst)


def has_spread(values: Floats) -> NDArray[np.bool_]:
    """Where the draws, on the last axis, are not all the same: such say nothing of an error."""
    highest = np.where(np.isfinite(values), values, -np.inf).max(axis=-1)
    lowest = np.where(np.isfinite(values), values, np.inf).min(axis=-1)
    spread: NDArray[np.bool_] = highest - lowest > ROUNDING * np.maximum(abs(highest), abs(lowest))
    return spread & np.isfinite(highest)


def spreadless(draws: xr.Dataset) -> xr.Dataset:
    """Draws whose variables say of which cells all their draws are the same."""
    for name, one in draws.data_vars.items():
        if set(one.dims) != {"cell", "draw"} or one.dtype.kind != "f":
            continue
        by_cell = one.transpose("cell", "draw")
        is_same = by_cell.notnull().any("draw") & ~has_spread(by_cell.to_numpy())
        found = notice_where(is_same, "no-spread", names=name)
        if found:
            said = [*notices(one if "notices" in one.attrs else draws), *found]
            draws = draws.assign({name: with_notices(one, said)})
    return draws


# Units that are drawn whole


class Part(NamedTuple):
    """Units that are drawn together: positions of pooled cells, and counts (units, cells, ...)."""

    cells: Ints
    counts: NDArray[Any]


class Clusters(NamedTuple):
    """A table summed over units, and the parts that its draws are made of."""

    pooled: xr.DataArray
    parts: tuple[Part, ...]


@check_inputs()
def clusters_of(counts: xr.DataArray, cluster: str | Sequence[str]) -> Clusters:
    """Units of a count table, in parts that share no cell.

    Parameters
    ----------
    counts : DataArray
        Dims (cell, ...); one cell for each unit under each combination of the other coordinates.
    cluster : str or sequence of str
        Coordinate of the cells that names the unit, or several that name it together.

    Returns
    -------
    Clusters
        Cells of ``pooled`` are the combinations of the other coordinates.

    Raises
    ------
    InputError
        If there is no such coordinate, or it has a single level.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([[1, 2], [3, 4]], [[1, 0], [0, 1]], model="A", item=[1, 2])
    >>> clusters_of(table, "item").pooled["cell"].values
    array(['A'], dtype='<U1')
    """
    own = cell_columns(counts)
    names = several_columns(cluster, own)
    for name in names:
        if name not in own:
            step = nearest(name, own)
            raise ChoiceError("cluster", repr(name), "a coordinate of the cells", step)
    table = counts.compute()
    unit = group_numbers(pd.DataFrame({name: table[name].to_numpy() for name in names}))
    units_in_all = unit.max(initial=-1) + 1
    if units_in_all < 2:
        got = f"a single level of {', '.join(names)!r}"
        raise TooFewError("cluster", got, "at least two units")
    pooled, index = counts_together(table, [name for name in own if name not in names])
    # Units and pooled cells that trials connect are in one part.
    nodes = units_in_all + index.max() + 1
    joined = coo_array((np.ones(len(unit)), (unit, index + units_in_all)), shape=(nodes, nodes))
    connected = connected_components(joined, directed=False)[1][unit]
    parts, values = [], folded(table).to_numpy()
    for number in range(connected.max() + 1):
        rows = connected == number
        units, row = np.unique(unit[rows], return_inverse=True)
        cells, column = np.unique(index[rows], return_inverse=True)
        dense = np.zeros((len(units), len(cells), *values.shape[1:]))
        np.add.at(dense, (row, column), values[rows])
        parts.append(Part(cells, dense))
    left = cell_columns(pooled)
    columns = pd.DataFrame({name: pooled[name].values for name in left})
    if left and is_people_name(names[-1]):
        pooled = with_notices(pooled, same_people(columns.iloc[index], unit, names[-1]))
    elif left:
        labels = pooled["cell"].values.tolist()
        pairs = distinct_pairs(index, unit)
        coverage = item_coverage(columns, labels, *pairs)
        apart = apart_notices(columns, labels, *pairs)
        pooled = with_notices(pooled, [*apart, *coverage_notices(coverage, columns, labels, None)])
        pooled = pooled.assign_attrs(coverage_attrs(coverage))
    return Clusters(pooled, tuple(parts))


def same_people(rows: pd.DataFrame, unit: Ints, factor: str) -> list[Notice]:
    """Notices of columns of which people have several levels: all of them, or only some."""
    several = rows.groupby(unit).nunique() > 1
    found = []
    for name, own in several.items():
        code = "same-people" if own.all() else "same-people.some"
        about = {"factor": factor, "column": name, "number": own.sum(), "all": len(own)}
        found += [notice_of(code, **about)] if own.any() else []
    return found


def counts_together(counts: xr.DataArray, by: Sequence[str]) -> tuple[xr.DataArray, Ints]:
    """Counts of cells that agree in some columns, summed; and which sum each cell is in."""
    own = cell_columns(counts)
    for name in by:
        if name not in own:
            allowed = ", ".join(own) or "cells with coordinates"
            raise UnknownError("by", repr(name), allowed, nearest(str(name), own))
    values, index = sums_by(counts, by)
    _, first = np.unique(index, return_index=True)
    columns = pd.DataFrame({name: counts[name].to_numpy()[first] for name in by}, range(len(first)))
    # The same number of options everywhere tells no cells apart.
    named = [name for name in by if name != "options" or columns[name].nunique() > 1]
    labels = cell_labels(columns[named])
    pooled = counts.isel(cell=first).copy(data=values).assign_coords(cell=labels)
    pooled = pooled.drop_vars([name for name in own if name not in by])
    # Counts next to the table, such as those of outputs without a label, are summed as it is.
    for other, beside in counts.coords.items():
        if "cell" in beside.dims and (beside.ndim > 1 or "abstentions" in beside.attrs):
            sums = sums_by(beside, by)[0]
            pooled = pooled.assign_coords({other: (beside.dims, sums, beside.attrs)})
    # Notices of single units do not apply to their sum.
    pooled.attrs.pop("notices", None)
    kept = [notice for notice in notices(counts) if not notice.cells]
    has_few = xr.DataArray(np.bincount(index) < limit("few-units"), {"cell": labels}, "cell")
    # What few trials do to M does not concern judged outputs.
    thin = few_labels(pooled) if "pool" in pooled.coords else count_notices(pooled)
    of_sum = [*thin, *notice_where(has_few, "few-units")]
    return with_notices(pooled, [*kept, *of_sum]), index


def cell_columns(counts: xr.DataArray) -> list[str]:
    """Coordinates of the cells, apart from their labels and abstentions."""
    own = {"cell"} | ({NAME} if abstentions_of(counts) is not None else set())
    return [str(name) for name in counts["cell"].coords if name not in own]


def weighted_tables(
    clusters: Clusters, n: int, kind: str, generators: list[np.random.Generator]
) -> xr.DataArray:
    """Pooled tables (cell, draw, ...), each unit counted as often as it was drawn."""
    pooled = clusters.pooled
    values = np.zeros((pooled.sizes["cell"], n, *clusters.parts[0].counts.shape[2:]))
    for part, generator in zip(clusters.parts, generators, strict=True):
        units = len(part.counts)
        if kind == "bootstrap":
            weights = generator.multinomial(units, np.full(units, 1 / units), size=n).astype(float)
        else:
            weights = units * generator.dirichlet(np.ones(units), size=n)
        drawn = weights @ part.counts.reshape(units, -1)
        tables = drawn.reshape(n, *part.counts.shape[1:])
        values[part.cells] = np.moveaxis(tables, 1, 0)
    return unfolded(values, pooled.coords, pooled.dims[1:])
