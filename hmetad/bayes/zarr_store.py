"""Draws kept on disk while they are drawn, so that a killed run loses little.

Model as nutpie samples it → folder with a zarr store → DataTree. Counts and attrs of the fit
lie beside the draws, so that a run that was cut short can be read, and is marked as such.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import xarray as xr

from hmetad.bayes.chains import posterior_of
from hmetad.bayes.check_fit import check_attrs, counts_of
from hmetad.bayes.checksums import folder_checksum, refuse_changed_folder
from hmetad.bayes.containers import MAX_BYTES, files_in, read_text, reading, refuse_unusual_zarr
from hmetad.bayes.netcdf import netcdf_bytes, read_netcdf
from hmetad.bayes.program import build_program
from hmetad.errors import InputError
from hmetad.files import write_together
from hmetad.lazy import import_without
from hmetad.untrusted import parse_json

if TYPE_CHECKING:
    from nutpie.compile_pymc import CompiledPyMCModel

__all__ = ["read_folder", "sample_to_folder"]

DRAWS = "draws.zarr"
RECORD = "fit.json"
COUNTS = "counts.nc"
MAX_DRAWS = 2**31
OPTIONS = {"draws", "tune", "chains", "cores", "random_seed", "progressbar", "target_accept"}
QUIETLY_LEFT_OUT = {"quiet", "compute_convergence_checks"}


def sample_to_folder(
    model: "CompiledPyMCModel",
    counts: xr.DataArray,
    folder: str | Path,
    attrs: Mapping[str, str],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """Sample with nutpie, writing draws to a folder as they come.

    Parameters
    ----------
    model : CompiledPyMCModel
        As nutpie samples it.
    counts : DataArray
        The count table, written beside the draws.
    folder : str or Path
        It must not exist yet, or be empty.
    attrs : mapping of str to str
        Attrs of the fit, written before sampling begins.
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
    nutpie = import_without("nutpie", "arviz")
    record = {"attrs": dict(attrs), "draws": options["draws"]}
    table = netcdf_bytes(xr.DataTree(counts.to_dataset(name="counts")))
    write_together({folder / COUNTS: table, folder / RECORD: json.dumps(record)})
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
    tree = read_folder(folder)
    if tree["posterior"].sizes["draw"] == options["draws"]:
        record["checksum"] = folder_checksum(folder, RECORD)
        write_together({folder / RECORD: json.dumps(record)})
    return tree


def read_folder(folder: str | Path, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Read the draws of a folder, of a complete run or of one that was cut short.

    Parameters
    ----------
    folder : str or Path
    max_bytes : int, optional
        How much memory its arrays may take.

    Returns
    -------
    DataTree
        posterior, sample_stats and observed_data; attrs as written, with ``draws_wanted``, and
        ``is_closed``, whether the run came to its end. Draws that not every chain has reached
        are left out.

    Raises
    ------
    InputError
        If the folder is no store of a fit, is damaged or holds more than allowed, or no draw was
        finished.
    """
    folder = Path(folder)
    if not (folder / RECORD).is_file():
        raise InputError(str(folder), "a folder without draws", "a store written by hmetad.fit")
    for _ in files_in(folder):
        pass  # None of them is a link or a pipe.
    record = fit_record(folder / RECORD)
    if "checksum" in record:
        refuse_changed_folder(folder, record["checksum"], RECORD)
    if not (folder / COUNTS).is_file():
        raise InputError(str(folder), f"no {COUNTS}", "a store written by hmetad.fit")
    observed = read_netcdf(folder / COUNTS, max_bytes).to_dataset()
    with reading(folder):
        refuse_unusual_zarr(folder, max_bytes)
        tree = xr.DataTree.from_dict({**read_draws(folder), "observed_data": observed})
        tree.attrs = {"sampler": "nutpie", **record["attrs"]}
        tree = tree.assign(posterior=xr.DataTree(posterior_of_run(tree)))
    # Only a run that came to its end has a checksum.
    ended = {"draws_wanted": record["draws"], "is_closed": "checksum" in record}
    tree.attrs |= ended
    return tree


def posterior_of_run(run: xr.DataTree) -> xr.Dataset:
    """Variables of the posterior, from what was kept of the draws."""
    kept = run["posterior"].to_dataset()
    spec = check_attrs(run)
    program = build_program(counts_of(run, spec.record.layout), spec)
    if run.attrs.get("density") != "compiled":
        return program.without_offsets(kept)
    draws = kept["x"].transpose("chain", "draw", ...).to_numpy()
    length = program.arrays.size + len(program.arrays.offset_places)
    if draws.shape[2:] != (length,):
        raise ValueError(f"draws of shape {draws.shape}, not of {length} values")
    return posterior_of(program, draws).assign_attrs(kept.attrs)


def fit_record(path: Path) -> dict[str, Any]:
    """Record of a run: its attrs, and how many draws were wanted."""
    record = parse_json(read_text(path), str(path))
    is_record = (
        isinstance(record, dict)
        and isinstance(record.get("draws"), int)
        and 0 < record["draws"] < MAX_DRAWS
        and isinstance(record.get("attrs"), dict)
        and all(isinstance(text, str) for text in record["attrs"].values())
    )
    if not is_record:
        raise InputError(str(path), "no record of a run", "one written by hmetad.fit")
    return record


def read_draws(folder: Path) -> dict[str, xr.Dataset]:
    """Posterior and sample_stats of a store, as far as all chains have come."""
    try:
        stored = xr.open_datatree(folder / DRAWS, engine="zarr", consolidated=False)
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise InputError(str(folder), "no draws yet", "a store with draws in it") from error
    with stored:
        stats = stored["sample_stats"].to_dataset()
        per_draw = [n for n, v in stats.items() if v.dims == ("chain", "draw")]
        stats = plain_names(stats[per_draw].load())
        posterior = plain_names(stored["posterior"].to_dataset().load())
    done = finished_draws(posterior.assign(logp=stats["logp"]))
    if done == 0:
        raise InputError(str(folder), "no draws yet", "a store with draws in it")
    return {
        name: group.isel(draw=slice(done)).assign_coords(
            chain=np.arange(group.sizes["chain"]), draw=np.arange(done)
        )
        for name, group in {"posterior": posterior, "sample_stats": stats}.items()
    }


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
