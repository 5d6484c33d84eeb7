"""Fits, and draws of resampling, on disk.

Fit (DataTree) → netCDF file, and back; sampler → folder of draws → fit. Draws are kept in a folder
while they come, so that a killed run loses little; counts and attrs of the fit lie beside them, so
that a run that was cut short can be read, and is marked as such.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import whole
from hmetad.base.errors import InputError
from hmetad.base.files import write_together
from hmetad.base.lazy import import_without
from hmetad.base.notice import notice_of
from hmetad.bayes.chains import posterior_of
from hmetad.bayes.check_fit import check_attrs, check_fit, counts_of, has_estimates
from hmetad.bayes.finish import finish, with_variable_notices
from hmetad.bayes.fit_files import (
    MAX_BYTES,
    netcdf_bytes,
    read_json,
    read_netcdf,
    reading,
    refuse_unusual_zarr,
    write_netcdf,
)
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.program import Program, build_program
from hmetad.bayes.small_files import with_results, without_results

if TYPE_CHECKING:
    from nutpie.compile_pymc import CompiledPyMCModel

__all__ = [
    "load_draws",
    "load_fit",
    "load_source",
    "refuse_store",
    "sample_to_folder",
    "save_draws",
    "save_fit",
]

# Bytes of a posterior that is written with all its variables.
MAX_WHOLE = 64 * 2**20

# Draws of resampling: their group, and what it may hold beside them.
GROUP, TRIALS = "resampled", "trials"
RESAMPLED = "draws that save_draws or hmetad measures wrote"

# Files of the folder of a run.
DRAWS, RECORD, COUNTS = "draws.zarr", "fit.json", "counts.nc"
MAX_DRAWS = 2**31
OPTIONS = {"draws", "tune", "chains", "cores", "random_seed", "progressbar", "target_accept"}
QUIETLY_LEFT_OUT = {"quiet", "compute_convergence_checks"}


@check_inputs()
def save_fit(fit: xr.DataTree, path: str | Path, *, whole: bool | None = None) -> Path:
    """Write a fit as netCDF; the file is complete, or is not written.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `bayes.fit_estimates` returned.
    path : str or Path
        The file, .nc; an existing one is kept until the new one is complete.
    whole : bool, optional
        Whether the file has all variables and all digits, for other programs that read it. Else
        those are left out that follow from others, such as M from log M, and draws of cells and
        of effects of groups are rounded to 1/14 of their standard deviation or less, at random, so
        that means and intervals move by less than their Monte Carlo errors; those of the
        population keep all digits. `load_fit` gives all variables again. By default files are
        whole where the posterior takes no more than 64 MiB.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If it is no fit, the name does not end in .nc, or its folder does not exist.
    OSError
        If the disk is full or cannot be written to; the fit is still there, to be saved elsewhere.
    """
    path = Path(path)
    spec = check_fit(fit, "fit")
    if not path.parent.is_dir():
        raise InputError(
            "path", repr(str(path)), "a file in a folder that exists", "Make the folder first."
        )
    is_small = fit["posterior"].nbytes <= MAX_WHOLE
    is_whole = is_small if whole is None else whole
    is_whole |= has_estimates(fit)
    kept = fit if is_whole else without_results(Fitted(fit, spec))
    return write_netcdf(kept, path)


@check_inputs(max_bytes=whole(1))
def load_fit(path: str | Path, *, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Read a fit that `save_fit` or `hmetad fit` wrote.

    Parameters
    ----------
    path : str or Path
        A netCDF file, or the folder that `hmetad.fit(store=...)` kept its draws in.
    max_bytes : int, optional
        How much memory its arrays may take; 16 GiB.

    Returns
    -------
    DataTree
        All of it in memory, notices and spec in the attrs. Of a run that was cut short, the
        draws that all chains have reached, with a notice "partial" of severity error.

    Raises
    ------
    InputError
        If there is no such file, it holds no fit of this package or more than allowed, its draws
        are not those of its model and its counts, or it is damaged.
    """
    path = Path(path)
    if path.is_dir():
        return read_run(path, max_bytes)
    if not path.is_file():
        step = "Write one with save_fit or hmetad fit."
        raise InputError(str(path), "no such file", "a fit", step)
    return checked_fit(read_netcdf(path, max_bytes), path, max_bytes)


@check_inputs()
def save_draws(draws: xr.Dataset, path: str | Path) -> Path:
    """Write draws of resampling as netCDF; the file is complete, or is not written.

    Parameters
    ----------
    draws : Dataset
        What `resample` or `measures.resample_trials` returned. Variables with dims (cell, draw) are
        written, and the numbers of trials of the cells, with their coordinates and notices.
    path : str or Path
        The file, .nc; an existing one is kept until the new one is complete.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If no variable has these dims, or the name does not end in .nc.
    OSError
        If the disk is full or cannot be written to.

    Examples
    --------
    >>> save_draws(xr.Dataset({"auroc2": ("draw", [0.7, 0.8])}), "never.nc")
    Traceback (most recent call last):
    hmetad.InputError: draws: got dims {'draw': 2}, allowed is variables by cell and draw. \
Draws of fits are written by save_fit.
    """
    drawn = [name for name, values in draws.items() if set(values.dims) == {"cell", "draw"}]
    counted = [name for name in draws if name == TRIALS and draws[name].dims == ("cell",)]
    if not drawn:
        step = "Draws of fits are written by save_fit."
        raise InputError("draws", f"dims {dict(draws.sizes)}", "variables by cell and draw", step)
    tree = xr.DataTree.from_dict({f"/{GROUP}": draws[[*drawn, *counted]]})
    return write_netcdf(tree, path)


@check_inputs()
def load_draws(path: str | Path) -> xr.Dataset:
    """Read what `save_draws` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Dataset
        Dims (cell, draw), as `contrast`, `rank` and `decide` take it.

    Raises
    ------
    InputError
        If there is no such file, it holds no draws of resampling, or it is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from hmetad.counts.resample import resample
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.sdt import sdt
    >>> drawn = resample(from_nr([80, 20], [30, 70]), sdt, n=50, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_draws(save_draws(drawn, Path(folder) / "draws.nc"))
    >>> bool((again["dprime"] == drawn["dprime"]).all()), again.attrs["kind"]
    (True, 'bootstrap')
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(str(path), "no such file", RESAMPLED)
    return draws_in(read_netcdf(path), path)


@check_inputs()
def load_source(path: str | Path) -> xr.DataTree:
    """Read a fit, or draws of resampling in the form of one.

    Parameters
    ----------
    path : str or Path
        As for `load_fit` or `load_draws`.

    Returns
    -------
    DataTree
        The fit; or draws as a group ``posterior`` of one chain, without a spec.

    Raises
    ------
    InputError
        As `load_fit` or `load_draws`.

    Examples
    --------
    >>> import tempfile
    >>> draws = xr.Dataset({"auroc2": (("cell", "draw"), [[0.7, 0.8]])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = load_source(save_draws(draws, Path(folder) / "draws.nc"))
    >>> dict(found["posterior"].sizes)
    {'chain': 1, 'cell': 1, 'draw': 2}
    """
    path = Path(path)
    if not path.is_file():
        return load_fit(path)
    tree = read_netcdf(path)
    if GROUP not in tree.children:
        return checked_fit(tree, path)
    draws = draws_in(tree, path)
    found = xr.DataTree.from_dict({"/posterior": draws.expand_dims(chain=[0])})
    found.attrs = draws.attrs
    return found


def checked_fit(tree: xr.DataTree, path: Path, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Fit of a file that was read, with all its variables, if it is one."""
    if not has_estimates(tree):
        tree = with_results(tree, path, max_bytes)
    check_fit(tree, str(path))
    return tree


def draws_in(tree: xr.DataTree, path: Path) -> xr.Dataset:
    """Draws of resampling in a file, if that is what it holds."""
    if GROUP not in tree.children:
        got = f"groups {', '.join(map(str, tree.children)) or 'none'}"
        raise InputError(str(path), got, RESAMPLED)
    draws = tree[GROUP].to_dataset()
    for name, values in draws.items():
        dims = {"cell"} if name == TRIALS and "draw" not in values.dims else {"cell", "draw"}
        if set(values.dims) != dims or values.dtype.kind not in "fiu":
            raise InputError(str(path), f"{name} with dims {values.dims}", RESAMPLED)
    return draws


# Folders of draws


def refuse_store(folder: str | Path, options: Mapping[str, Any]) -> None:
    """Raise where draws cannot be kept in a folder, or not with these options of sampling."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        step = "Read what is there with load_fit, or name another."
        raise InputError("store", repr(str(folder)), "a folder that is new or empty", step)
    for name in sorted(set(options) - OPTIONS - QUIETLY_LEFT_OUT):
        raise InputError(f"{name} with store", repr(options[name]), ", ".join(sorted(OPTIONS)))


def sample_to_folder(
    model: "CompiledPyMCModel",
    program: Program,
    folder: str | Path,
    attrs: Mapping[str, str],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """Sample with nutpie, writing draws to a new or empty folder as they come, and read them."""
    folder = Path(folder)
    nutpie = import_without("nutpie", "arviz")
    record = {"attrs": dict(attrs), "draws": options["draws"]}
    counts = xr.DataTree(program.counts.to_dataset(name="counts"))
    write_together({folder / COUNTS: netcdf_bytes(counts), folder / RECORD: json.dumps(record)})
    (folder / DRAWS).mkdir()
    tuning = {"target_accept": options["target_accept"]} if "target_accept" in options else {}
    nutpie.sample(
        model,
        draws=options["draws"],
        # nutpie cannot do without.
        tune=max(options["tune"], 1),
        chains=options["chains"],
        cores=options["cores"],
        seed=options["random_seed"],
        progress_bar=options.get("progressbar", True) and not options.get("quiet", False),
        save_warmup=False,
        zarr_store=nutpie.zarr_store.LocalStore(str(folder / DRAWS)),
        **tuning,
    )
    if not any((folder / DRAWS).iterdir()):
        raise KeyboardInterrupt("sampling was interrupted before its first draw")
    tree = drawn_tree(folder, program, attrs)
    if tree["posterior"].sizes["draw"] == options["draws"]:
        write_together({folder / RECORD: json.dumps({**record, "ended": True})})
    return tree


def read_run(folder: Path, max_bytes: int) -> xr.DataTree:
    """Fit from the draws of a folder that all chains have reached; a run cut short is marked."""
    if not (folder / RECORD).is_file():
        raise InputError(str(folder), "a folder without draws", "a store written by hmetad.fit")
    refuse_unusual_zarr(folder, max_bytes)
    attrs, wanted, is_ended = run_record(folder / RECORD)
    observed = read_netcdf(folder / COUNTS, max_bytes).to_dataset()
    tree = xr.DataTree(xr.Dataset(attrs=attrs), {"observed_data": xr.DataTree(observed)})
    with reading(folder):
        spec = check_attrs(tree)
        program = build_program(counts_of(tree, spec.record.layout), spec)
        tree = drawn_tree(folder, program, attrs)
    fit = finish(tree, observed["counts"], attrs, check_fit(tree, str(folder)), program.designs)
    done = fit["posterior"].sizes["draw"]
    if is_ended and done == wanted:
        return fit
    code = "partial.end" if done == wanted else "partial.draws"
    cut = notice_of(code, done=done, wanted=wanted)
    return with_variable_notices(Fitted(fit, program.spec, program.designs).saying([cut]))


def run_record(path: Path) -> tuple[dict[str, str], int, bool]:
    """What a run says of itself: its attrs, how many draws were wanted, whether it came to its end.

    Earlier versions wrote a checksum when a run had ended.
    """
    match read_json(path):
        case {"attrs": dict(attrs), "draws": int(wanted)} as record if (
            0 < wanted < MAX_DRAWS and all(isinstance(text, str) for text in attrs.values())
        ):
            return {"sampler": "nutpie", **attrs}, wanted, bool({"ended", "checksum"} & {*record})
    raise InputError(str(path), "no record of a run", "one written by hmetad.fit")


def drawn_tree(folder: Path, program: Program, attrs: Mapping[str, str]) -> xr.DataTree:
    """Posterior, statistics and counts of a run, as far as all chains have come."""
    try:
        place = folder / DRAWS
        stored = xr.open_datatree(place, engine="zarr", consolidated=False, zarr_format=3)
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise InputError(str(folder), "no draws yet", "a store with draws in it") from error
    with stored:
        stats = stored["sample_stats"].to_dataset()
        per_draw = [name for name, x in stats.items() if x.dims == ("chain", "draw")]
        stats = plain_names(stats[per_draw].load())
        kept = plain_names(stored["posterior"].to_dataset().load())
    done = finished_draws(kept.assign(logp=stats["logp"]))
    if done == 0:
        raise InputError(str(folder), "no draws yet", "a store with draws in it")
    kept, stats = (
        group.isel(draw=slice(done)).assign_coords(
            chain=np.arange(group.sizes["chain"]), draw=np.arange(done)
        )
        for group in (kept, stats)
    )
    observed = program.counts.to_dataset(name="counts")
    posterior = drawn_posterior(kept, program, attrs)
    groups = {"posterior": posterior, "sample_stats": stats}
    tree = xr.DataTree.from_dict({**groups, "observed_data": observed})
    tree.attrs = dict(attrs)
    return tree


def drawn_posterior(kept: xr.Dataset, program: Program, attrs: Mapping[str, str]) -> xr.Dataset:
    """Variables of the posterior, from what was kept of the draws."""
    if attrs.get("density") != "compiled":
        return program.without_offsets(kept)
    draws = kept["x"].transpose("chain", "draw", ...).to_numpy()
    length = program.arrays.size + len(program.arrays.offset_places)
    if draws.shape[2:] != (length,):
        raise ValueError(f"draws of shape {draws.shape}, not of {length} values")
    return posterior_of(program, draws).assign_attrs(kept.attrs)


def finished_draws(draws: xr.Dataset) -> int:
    """How many draws every chain has of every variable; they are written one after the other."""
    written = [
        values.notnull().any([dim for dim in values.dims if dim not in ("chain", "draw")])
        for values in draws.values()
    ]
    is_whole = np.logical_and.reduce([part.transpose("chain", "draw") for part in written])
    return int(np.logical_and.accumulate(is_whole, axis=1).sum(axis=1).min())


def plain_names(group: xr.Dataset) -> xr.Dataset:
    """Group whose names are not quoted for the file system, and whose text is NumPy's."""
    names = {name: unquote(str(name)) for name in [*group.variables, *group.dims]}
    plain = group.rename({old: new for old, new in names.items() if old != new})
    text = {
        name: (values.dims, np.array([str(label) for label in values.values]))
        for name, values in plain.coords.items()
        if values.dtype.kind == "T"
    }
    left = [dim for dim in plain.dims if dim == "unconstrained_parameter"]
    transformed = [name for name in plain.data_vars if str(name).endswith("__")]
    kept = plain.assign_coords(text).drop_vars(transformed).drop_dims(left)
    return kept[sorted(map(str, kept.data_vars))]  # A folder lists its entries in any order.
