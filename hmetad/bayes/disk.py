"""Draws kept on disk while they are drawn, so that a killed run loses little.

PyMC model → folder with a zarr store → DataTree. Beside the draws lie the counts and what a fit
says of itself, so that a run that was cut short can be read, and says that it was.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import nutpie
import pymc as pm
import xarray as xr

from hmetad.errors import InputError
from hmetad.files import write_together

__all__ = ["read_folder", "sample_to_folder"]

DRAWS = "draws.zarr"
RECORD = "fit.json"
COUNTS = "counts.nc"
OPTIONS = {"draws", "tune", "chains", "cores", "random_seed", "progressbar", "target_accept"}
QUIETLY_LEFT_OUT = {"quiet", "compute_convergence_checks", "initvals"}


def sample_to_folder(
    model: pm.Model,
    start: Mapping[str, Any],
    counts: xr.DataArray,
    folder: str | Path,
    attrs: Mapping[str, str],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """Sample with nutpie, writing draws to a folder as they come.

    Parameters
    ----------
    model : pm.Model
    start : mapping of str to array
        Values to begin at, by variable.
    counts : DataArray
        The count table, written beside the draws.
    folder : str or Path
        It must not exist yet, or be empty.
    attrs : mapping of str to str
        What the fit says of itself, written before sampling begins.
    options : mapping of str to object
        draws, tune, chains, cores, random_seed, progressbar, target_accept.

    Returns
    -------
    DataTree
        As `read_folder` gives it.

    Raises
    ------
    InputError
        If the folder holds something, or an option is not among those above.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        step = "Read what is there with load_fit, or name another."
        raise InputError("store", repr(str(folder)), "a folder that is new or empty", step)
    for name in sorted(set(options) - OPTIONS - QUIETLY_LEFT_OUT):
        raise InputError(f"{name} with store", repr(options[name]), ", ".join(sorted(OPTIONS)))
    compiled = nutpie.compile_pymc_model(model, initial_points=dict(start))
    record = {"attrs": dict(attrs), "draws": options["draws"]}
    table = bytes(counts.to_netcdf(engine="h5netcdf"))
    write_together({folder / COUNTS: table, folder / RECORD: json.dumps(record)})
    (folder / DRAWS).mkdir()
    tuning = {"target_accept": options["target_accept"]} if "target_accept" in options else {}
    nutpie.sample(
        compiled,
        draws=options["draws"],
        tune=options["tune"],
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
    return read_folder(folder)


def read_folder(folder: str | Path) -> xr.DataTree:
    """Read the draws of a folder, whole or cut short.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    DataTree
        posterior, sample_stats and observed_data; attrs as written, and ``draws_wanted``. Draws
        that not every chain has reached are left out.

    Raises
    ------
    InputError
        If the folder is no store of a fit, or no draw was finished.
    """
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise InputError(str(folder), "a folder without draws", "a store written by hmetad.fit")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    try:
        stored = xr.open_datatree(folder / DRAWS, engine="zarr", consolidated=False)
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise InputError(str(folder), "no draws yet", "a store with draws in it") from error
    stats = plain_names(stored["sample_stats"].to_dataset().load())
    posterior = plain_names(stored["posterior"].to_dataset().load())
    done = finished_draws(posterior.assign(logp=stats["logp"]))
    if done == 0:
        raise InputError(str(folder), "no draws yet", "a store with draws in it")
    per_draw = [n for n, v in stats.items() if v.dims == ("chain", "draw")]
    groups = {"posterior": posterior, "sample_stats": stats[per_draw]}
    numbered = {
        name: group.isel(draw=slice(done)).assign_coords(
            chain=np.arange(group.sizes["chain"]), draw=np.arange(done)
        )
        for name, group in groups.items()
    }
    stored.close()
    counts = xr.load_dataarray(folder / COUNTS, engine="h5netcdf")
    tree = xr.DataTree.from_dict({**numbered, "observed_data": counts.to_dataset(name="counts")})
    tree.attrs = {**record["attrs"], "draws_wanted": int(record["draws"])}
    return tree


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
