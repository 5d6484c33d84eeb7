"""Resample any measure of a count table: bootstrap, Dirichlet posterior, permutation null.

Count table and a statistic (count table → Dataset) → Dataset with dim draw.
Source: Efron & Tibshirani (1993) for the bootstrap; Rubin (1981) for the Dirichlet posterior.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, refuse_same_names, seed_or_none
from hmetad.counts.checks import TYPE2_DIMS, refuse_impossible_counts, table_dims, whole_number
from hmetad.counts.clusters import Clusters, clusters_of, weighted_tables
from hmetad.counts.draws import Hold, Kind, cell_generator, draw_tables, seed_entropy
from hmetad.errors import InputError
from hmetad.memory import refuse_memory
from hmetad.monte_carlo import INDEPENDENT
from hmetad.notice import Notice, notice_where, notices, with_notices

__all__ = ["Statistic", "as_dataset", "has_spread", "resample", "spreadless"]

type Floats = NDArray[np.float64]
type Statistic = Callable[[xr.DataArray], xr.Dataset | xr.DataArray]

# Tables that a statistic is given at once: enough to be fast, few enough for any memory.
AT_ONCE = 50_000
# Rounding error of equal draws, relative to their size.
ROUNDING = 1e-9


@check_inputs(skip=("counts", "statistic"), seed=seed_or_none)
def resample(
    counts: xr.DataArray,
    statistic: Statistic,
    *,
    n: int = 1000,
    kind: Kind = "bootstrap",
    hold: Hold = "none",
    cluster: str | None = None,
    seed: int | None = None,
) -> xr.Dataset:
    r"""Values of a statistic over tables drawn from the counts.

    Parameters
    ----------
    counts : DataArray
        Count table (cell, stimulus, response, rating), or type-2 table (cell, correct, rating). A
        Dask-backed one gives a Dask-backed result, computed where its scheduler says.
    statistic : callable
        Count table → Dataset or named DataArray. It is given tables with dims (cell, draw, ...)
        and keeps both: `fit_mle`, `sdt`, `auroc2`, ``lambda t: fit_mle(t, correction="cell")``.
    n : int, optional
        Number of draws.
    kind : {"bootstrap", "dirichlet", "permutation"}, optional
        ``"bootstrap"``: as many trials as there were, drawn with replacement. ``"dirichlet"``:
        the posterior of the probabilities of the outcomes under an improper prior, times the
        number of trials (the Bayesian bootstrap); counts are then fractions. ``"permutation"``:
        ratings are permuted among the trials of each response (of all trials, in a type-2
        table), whichever the stimulus: the null hypothesis that confidence has no information.
    hold : {"none", "stimulus"}, optional
        ``"stimulus"`` keeps the number of trials of each stimulus; ``"none"`` draws it too.
    cluster : str, optional
        Name of the coordinate whose levels are drawn, whole, in place of trials: ``"item"`` or
        ``"subject"``. Counts of the units drawn are added, so that the result has one cell for
        each combination of the other grouping columns. Units that several cells share are drawn
        for all of them at once, which keeps paired data paired.
    seed : int, optional
        Seed; a random one, found in the attrs, where none is given.

    Returns
    -------
    Dataset
        The variables of the statistic with dims (cell, draw, ...); attrs ``kind``, ``hold``,
        ``cluster``, ``n``, ``seed``. Same seed, same answer, whatever the chunks and workers.

    Raises
    ------
    InputError
        If `counts` is no count table, has further dims, no cells, or negative or missing counts;
        if trials are to be drawn from counts that are not whole; if the statistic drops cell or
        draw; if an argument is none of the above.

    Notes
    -----
    Of a cell with N trials of outcomes j, bootstrap and Dirichlet draws are

    .. math:: n^* \sim \mathrm{Multinomial}(N, n/N), \quad n^* \sim N\,\mathrm{Dirichlet}(n)

    Where a statistic is undefined in a draw it is NaN there; the notice ``"undefined-draws"`` has
    the share of such draws. A variable whose draws are all the same says so by ``"no-spread"``,
    which withholds verdicts on it.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.sdt import sdt
    >>> draws = resample(from_nr([80, 20], [30, 70]), sdt, n=2000, seed=1)
    >>> draws["dprime"].std().round(2).item()
    0.2
    """
    dims = check_arguments(counts, statistic, n, kind, hold, cluster)
    entropy = seed_entropy(seed)
    alone = "cell" not in counts.dims
    table = (counts.expand_dims("cell") if alone else counts).transpose("cell", *dims)
    table = table.rename("counts")
    if "cell" not in table.coords:
        table = table.assign_coords(cell=[str(i + 1) for i in range(table.sizes["cell"])])
    refuse_counts(table, kind)
    if cluster is None:
        result = by_trials(table, statistic, n, kind, hold, entropy)
    else:
        result = by_clusters(clusters_of(table, cluster), statistic, n, kind, entropy)
    result.attrs |= {
        "kind": kind,
        "hold": hold,
        "cluster": cluster or "",
        "n": n,
        "seed": str(entropy),
    }
    result = result if kind == "permutation" or table.chunks is not None else spreadless(result)
    return result.isel(cell=0) if alone else result


def check_arguments(
    counts: xr.DataArray, statistic: object, n: int, kind: str, hold: str, cluster: str | None
) -> tuple[str, ...]:
    """Dims of one table, or an error for an argument that is none of the legal ones."""
    dims = table_dims(counts, "resample")
    further = set(counts.dims) - {"cell", *dims}
    if further:
        got = f"further dims {sorted(map(str, further))}"
        raise InputError("counts", got, f"dims (cell, {', '.join(dims)})")
    if not callable(statistic):
        step = "Give the function itself: resample(counts, fit_mle)."
        raise InputError("statistic", type(statistic).__name__, "a function of a table", step)
    whole_number("n", n, 1)
    # All tables drawn of a cell are held together.
    refuse_memory("n", str(n), 8 * n * math.prod(counts.sizes[dim] for dim in dims))
    for name, given, legal in (("kind", kind, Kind), ("hold", hold, Hold)):
        if given not in get_args(legal):
            raise InputError(name, repr(given), f"one of {', '.join(map(repr, get_args(legal)))}")
    if hold == "stimulus" and (dims == TYPE2_DIMS or kind == "permutation" or cluster):
        allowed = "'none' for a type-2 table, for permutations and for clusters"
        raise InputError("hold", "'stimulus'", allowed)
    if cluster and kind == "permutation":
        raise InputError("kind", "'permutation' beside cluster=", "'bootstrap' or 'dirichlet'")
    return dims


def refuse_counts(table: xr.DataArray, kind: str) -> None:
    """Refuse counts that cannot be resampled; trials are drawn from whole numbers only."""
    if table.sizes["cell"] == 0:
        raise InputError("counts", "a table without cells", "at least one cell")
    is_whole = table.dtype.kind in "iu"
    # A lazy table of whole numbers is not read before its draws are.
    if table.chunks is not None and is_whole:
        return
    refuse_impossible_counts(table)
    if kind != "dirichlet" and not is_whole and bool((table != table.round()).any()):
        step = "Corrections belong in the statistic: lambda t: fit_mle(t, correction='cell')."
        raise InputError("counts", "counts that are not whole", "numbers of trials", step)


@dataclass(frozen=True)
class Job:
    """All that the draws of some cells need beside their counts and positions.

    Parameters
    ----------
    statistic : callable
    form : Dataset
        What the statistic gives for one table.
    cells, inner : Dataset
        Coordinates of the cells, and of the dims of a table.
    dims : tuple of str
        Dims of a table.
    n, kind, hold, entropy
        As in `resample`; entropy is its seed.
    """

    statistic: Statistic
    form: xr.Dataset
    cells: xr.Dataset
    inner: xr.Dataset
    dims: tuple[str, ...]
    n: int
    kind: Kind
    hold: Hold
    entropy: Any


def by_trials(
    table: xr.DataArray, statistic: Statistic, n: int, kind: Kind, hold: Hold, entropy: Any
) -> xr.Dataset:
    """Statistic over draws of trials, cell by cell; lazily where the table is."""
    dims = tuple(map(str, table.dims[1:]))
    first = table.isel(cell=[0]).compute()
    form = form_of(statistic, first)
    cells = table["cell"].coords.to_dataset().compute()
    inner = first.isel(cell=0, drop=True).coords.to_dataset()
    job = Job(statistic, form, cells, inner, dims, n, kind, hold, entropy)
    positions = xr.DataArray(np.arange(table.sizes["cell"]), dims="cell")
    if table.chunks is not None:
        table = table.chunk(dict.fromkeys(dims, -1))
        positions = positions.chunk({"cell": table.chunksizes["cell"]})
    sizes = {dim: form.sizes[dim] for dim in form.dims if dim not in ("cell", "draw")}
    arrays = xr.apply_ufunc(
        draws_of_cells,
        table.drop_vars(table.coords),
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
    return assemble_draws(arrays, form, table.assign_coords(cells.coords), n)


def draws_of_cells(
    values: NDArray[Any], positions: NDArray[np.int64], job: Job
) -> tuple[NDArray[Any], ...] | NDArray[Any]:
    """Values of every variable for some of the cells, (cells, draw, ...)."""
    step = max(1, AT_ONCE // job.n)
    found = []
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        drawn = [
            draw_tables(
                row, job.n, cell_generator(job.entropy, int(i)), kind=job.kind, hold=job.hold
            )
            for row, i in zip(values[part], positions[part], strict=True)
        ]
        own = job.cells.isel(cell=positions[part])
        coords = {**own.coords, **job.inner.coords}
        tables = xr.DataArray(np.stack(drawn), coords, ("cell", "draw", *job.dims), name="counts")
        found.append(in_slices(job.statistic, tables, job.form))
    arrays = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    # What apply_ufunc expects of one variable is no tuple.
    return arrays if len(arrays) > 1 else arrays[0]


def by_clusters(
    clusters: Clusters, statistic: Statistic, n: int, kind: Kind, entropy: Any
) -> xr.Dataset:
    """Statistic over draws of whole units."""
    form = form_of(statistic, clusters.pooled.isel(cell=[0]))
    generators = [cell_generator(entropy, i) for i in range(len(clusters.parts))]
    step = max(1, AT_ONCE // clusters.pooled.sizes["cell"])
    found = []
    for start in range(0, n, step):
        tables = weighted_tables(clusters, min(step, n - start), kind, generators)
        found.append(values_of(statistic, tables, form))
    arrays = [np.concatenate(parts, axis=1) for parts in zip(*found, strict=True)]
    labelled = [
        xr.DataArray(values, dims=("cell", "draw", *inner_dims(form[name])))
        for values, name in zip(arrays, form.data_vars, strict=True)
    ]
    return assemble_draws(labelled, form, clusters.pooled, n)


def form_of(statistic: Statistic, first: xr.DataArray) -> xr.Dataset:
    """What the statistic gives for one table: names, dims, types, attrs."""
    form = as_dataset(statistic(first.expand_dims("draw", axis=1)))
    for name, variable in form.data_vars.items():
        if not {"cell", "draw"} <= set(variable.dims):
            got = f"{name!r} with dims ({', '.join(map(str, variable.dims))})"
            step = "Average over cells afterwards, over the draws that come back."
            raise InputError("statistic", got, "variables that keep dims cell and draw", step)
    return form


def as_dataset(result: object) -> xr.Dataset:
    """Result of a statistic as a Dataset."""
    if isinstance(result, xr.DataArray):
        refuse_same_names(result.coords, [result.name or "statistic"])
        return result.to_dataset(name=result.name or "statistic")
    if not isinstance(result, xr.Dataset):
        raise InputError("statistic", f"a {type(result).__name__} from it", "a Dataset")
    return result


def in_slices(statistic: Statistic, tables: xr.DataArray, form: xr.Dataset) -> list[NDArray[Any]]:
    """Values of the statistic, not more than so many tables at once."""
    step = max(1, AT_ONCE // tables.sizes["cell"])
    starts = range(0, tables.sizes["draw"], step)
    found = [values_of(statistic, tables.isel(draw=slice(i, i + step)), form) for i in starts]
    return [np.concatenate(parts, axis=1) for parts in zip(*found, strict=True)]


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
    own = [name for name, values in form.coords.items() if not {"cell", "draw"} & set(values.dims)]
    kept = {name: form.coords[name] for name in own}
    result = xr.Dataset(coords={**table["cell"].coords, **kept, "draw": np.arange(n)})
    for name, values in zip(form.data_vars, arrays, strict=True):
        result[name] = values.assign_attrs(form[name].attrs | INDEPENDENT)
    result.attrs = {name: value for name, value in form.attrs.items() if name != "notices"}
    result.attrs |= {name: table.attrs[name] for name in ("coverage",) if name in table.attrs}
    result = with_notices(result, notices(table))
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
