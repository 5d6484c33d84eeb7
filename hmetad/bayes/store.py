"""Fits, and draws of resampling, on disk.

DataTree → netCDF file, complete or not written; path → DataTree, or InputError for what is damaged,
too large or not a fit. Draws of what every cell or person has are written in single precision, the
others in double, and long ones thinned. Every value that is read has double precision.
"""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, unquote

import h5py
import numpy as np
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import whole
from hmetad.base.errors import DamagedError, InputError, OutputError
from hmetad.base.files import no_file_error, write_together
from hmetad.base.memory import in_words
from hmetad.base.notice import notice_of, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.variable_roles import identity_of
from hmetad.bayes.check_fit import ALLOWED, check_fit, has_estimates, with_odd_draws

MAX_BYTES = 16 * 2**30
# Draws of resampling: their group, and what it may hold beside them.
GROUP, TRIALS = "resampled", "trials"
RESAMPLED = "draws that save_draws or hmetad measures wrote"
# HDF5 runs without end on some damaged bytes, so damage is looked for before. Readers of netCDF
# leave alone what stands after the end of their data.
MARK = b"\nhmetad sha256 "
# netCDF lists the coordinates of a variable with blanks between their names.
BLANK = re.compile(r"[\s%]")
COMPRESSED = {"zlib": True, "complevel": 1, "shuffle": True}
ITEM_BYTES = 8


@check_inputs()
def save_fit(fit: xr.DataTree, path: str | Path) -> Path:
    """Write a fit as netCDF; the file is complete, or is not written.

    Draws of cells, and of effects of groups, keep seven digits; those of the population keep all.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `bayes.fit_estimates` returned. Of more than 200 MB of draws, every
        k-th is written, as `bayes.thin_draws` has them.
    path : str or Path
        The file, .nc; an existing one is kept until the new one is complete.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If it is not a fit, the name does not end in .nc, or its folder does not exist.
    OSError
        If the disk is full or cannot be written to; the fit is still there, to be saved elsewhere.
    """
    path = Path(path)
    check_fit(fit, "fit")
    if not path.parent.is_dir():
        raise OutputError(
            "path", repr(str(path)), "a file in a folder that exists", "Make the folder first."
        )
    return write_netcdf(changed_groups(thin_draws(fit), as_written), path)


@check_inputs()
def thin_draws(fit: xr.DataTree) -> xr.DataTree:
    """Fit with every k-th draw, where all would take more than 200 MB in a file.

    All variables keep the same draws, so that they remain draws of one posterior. The size is that
    before compression, in the precision of the file.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `bayes.fit_estimates` returned.

    Returns
    -------
    DataTree
        The same object if it is small enough; else with a notice "draws-thinned".

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> counts = simulate_counts(1.5, trials=400, seed=1)
    >>> drawn = fit(counts, draws=50, chains=2, random_seed=1, progressbar=False, quiet=True)
    >>> thin_draws(drawn) is drawn
    True
    """
    size = sum(written_bytes(node.to_dataset(inherit=False)) for node in fit.subtree)
    step = math.ceil(size / (limit("draws-thinned") * 10**6))
    if step <= 1:
        return fit

    def thin(group: xr.Dataset) -> xr.Dataset:
        return group.isel(draw=slice(None, None, step)) if "draw" in group.dims else group

    thinned = notice_of("draws-thinned", step=step, size=in_words(size))
    return with_notices(changed_groups(fit, thin), [thinned])


@check_inputs(max_bytes=whole(1))
def load_fit(path: str | Path, *, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Read a fit that `save_fit` or `hmetad fit` wrote.

    Parameters
    ----------
    path : str or Path
        A netCDF file.
    max_bytes : int, optional
        How much memory its arrays may take; 16 GiB.

    Returns
    -------
    DataTree
        All of it in memory, in double precision, notices and spec in the attrs.

    Raises
    ------
    InputError
        If there is no such file, it holds no fit of this package or more than allowed, its draws
        are not those of its model and its counts, or it is damaged.
    """
    path = Path(path)
    return checked_fit(read_netcdf(path, max_bytes), path)


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
    hmetad.InputError: draws: Draws of fits are written by save_fit. Expected variables by cell \
and draw, got dims {'draw': 2}.
    """
    drawn = [name for name, values in draws.items() if set(values.dims) == {"cell", "draw"}]
    counted = [name for name in draws if name == TRIALS and draws[name].dims == ("cell",)]
    if not drawn:
        step = "Draws of fits are written by save_fit."
        raise DamagedError("draws", f"dims {dict(draws.sizes)}", "variables by cell and draw", step)
    tree = xr.DataTree.from_dict({f"/{GROUP}": draws[[*drawn, *counted]]})
    return write_netcdf(tree, Path(path))


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
    return draws_in(read_netcdf(Path(path)), Path(path))


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
    tree = read_netcdf(path)
    if GROUP not in tree.children:
        return checked_fit(tree, path)
    draws = draws_in(tree, path)
    found = xr.DataTree.from_dict({"/posterior": draws.expand_dims(chain=[0])})
    found.attrs = draws.attrs
    return found


def checked_fit(tree: xr.DataTree, path: Path) -> xr.DataTree:
    """Fit of a file that was read, if it is one."""
    spec = check_fit(tree, str(path))
    return tree if has_estimates(tree) else with_odd_draws(tree, spec)


def draws_in(tree: xr.DataTree, path: Path) -> xr.Dataset:
    """Draws of resampling in a file, if that is what it holds."""
    if GROUP not in tree.children:
        got = f"groups {', '.join(map(str, tree.children)) or 'none'}"
        raise DamagedError(str(path), got, RESAMPLED)
    draws = tree[GROUP].to_dataset()
    for name, values in draws.items():
        dims = {"cell"} if name == TRIALS and "draw" not in values.dims else {"cell", "draw"}
        if set(values.dims) != dims or values.dtype.kind not in "fiu":
            raise DamagedError(str(path), f"{name} with dims {values.dims}", RESAMPLED)
    return draws


# netCDF


def changed_groups(tree: xr.DataTree, change: Callable[[xr.Dataset], xr.Dataset]) -> xr.DataTree:
    """Tree whose groups are what a function makes of them."""
    groups = {node.path: change(node.to_dataset(inherit=False)) for node in tree.subtree}
    return xr.DataTree.from_dict(groups)


def is_single(values: xr.Variable) -> bool:
    """Whether draws are written in single precision: those of cells, and effects of groups."""
    own, is_drawn = identity_of(values.attrs), "draw" in values.dims and values.dtype == np.float64
    return is_drawn and ("cell" in values.dims or (own is not None and own.role == "effect"))


def written_bytes(group: xr.Dataset) -> int:
    """Bytes of the draws of a group in a file, before compression."""
    drawn = [values for values in group.variables.values() if "draw" in values.dims]
    return sum(values.nbytes // (2 if is_single(values) else 1) for values in drawn)


def as_written(group: xr.Dataset) -> xr.Dataset:
    """Group in the precision of a file; a variable with values that are too large keeps its own."""
    found = {}
    for name, values in group.variables.items():
        if is_single(values):
            with np.errstate(over="ignore"):
                single = values.astype(np.float32)
            if np.array_equal(np.isinf(single.values), np.isinf(values.values)):
                found[name] = single
    return group.assign(found)


def as_read(group: xr.Dataset) -> xr.Dataset:
    """Group of a file in double precision, without the names that `quoted_name` made."""
    double = {
        name: values.astype(np.float64)
        for name, values in group.data_vars.items()
        if values.dtype == np.float32
    }
    return renamed(group.assign(double), unquote)


def renamed(group: xr.Dataset, new_name: Callable[[str], str]) -> xr.Dataset:
    """Group whose coordinates that are no dims bear other names."""
    names = [str(name) for name in group.coords if name not in group.dims]
    return group.rename({x: new_name(x) for x in names if new_name(x) != x})


def quoted_name(name: str) -> str:
    """Name without blanks, which `unquote` brings back."""
    return quote(name, safe="|:()") if BLANK.search(name) else name


def write_netcdf(tree: xr.DataTree, path: Path) -> Path:
    """Write a netCDF file, complete or not at all; its suffix keeps tables from being replaced."""
    if path.suffix != ".nc":
        raise DamagedError("path", repr(str(path)), "a name that ends in .nc")
    write_together({path: netcdf_bytes(tree)})
    return path


def netcdf_bytes(tree: xr.DataTree) -> bytes:
    """Content of a netCDF file, and its SHA-256 after it.

    It is made in memory, since HDF5 would end the whole process where the disk is full, and as
    bytes of its own, since a view that an error keeps alive hinders the buffer behind it from
    being closed. They are copied once.
    """
    tree = changed_groups(tree, lambda group: renamed(group.drop_encoding(), quoted_name))
    encoding = {
        node.path: {
            name: COMPRESSED
            for name, values in node.to_dataset(inherit=False).variables.items()
            if values.ndim and values.dtype.kind in "biuf"
        }
        for node in tree.subtree
    }
    with tree.to_netcdf(engine="h5netcdf", encoding=encoding) as content:
        return b"".join((content, ending(content)))


def ending(content: bytes | memoryview) -> bytes:
    """What stands after the content of a file: a checksum, which is not a signature."""
    return MARK + sha256(content).hexdigest().encode() + b"\n"


def read_netcdf(path: Path, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Tree of a netCDF file, in memory, if it is undamaged and no larger than allowed."""
    if not path.is_file():
        got = no_file_error(path, "a saved fit").got
        steps = ("Write one with save_fit.", "Write one with hmetad fit -o.")
        raise DamagedError(str(path), got, "a saved fit (.nc)", *steps)
    with reading(path):
        check_size(path, path.stat().st_size, max_bytes)
        if not h5py.is_hdf5(path):
            raise ValueError("no netCDF")
        content = path.read_bytes()
        # Files of other programs have no checksum after their content.
        size = content.rfind(MARK)
        if size >= 0 and content[size:] != ending(memoryview(content)[:size]):
            raise ValueError("its content does not match its checksum")
        names = ["/", *names_of_groups(content, path, max_bytes)]
        return xr.DataTree.from_dict({name: read_group(content, name) for name in names})


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn every error that reading a damaged file can raise into InputError.

    Examples
    --------
    >>> with reading(Path("fit.nc")):
    ...     raise KeyError("posterior")
    Traceback (most recent call last):
    hmetad.InputError: fit.nc: It is damaged, or no fit: copy it again from its source. Expected \
a fit as hmetad wrote it, got a file that cannot be read (KeyError: 'posterior').
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # HDF5, h5py, NumPy and xarray each raise different errors on damaged bytes.
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        step = "It is damaged, or no fit: copy it again from its source."
        raise DamagedError(
            str(path), f"a file that cannot be read ({said})", ALLOWED, step
        ) from error


def check_size(path: Path, size: int, max_bytes: int) -> None:
    """Raise if arrays take more memory than allowed."""
    if size > max_bytes:
        step = "Raise max_bytes of load_fit, if there is the memory."
        got = f"arrays of {size / 2**30:.1f} GiB"
        raise DamagedError(str(path), got, f"at most {max_bytes / 2**30:.1f} GiB", step)


def names_of_groups(content: bytes, path: Path, max_bytes: int) -> list[str]:
    """Groups of a file, if its arrays take no more memory than allowed and lie in it."""
    sizes = list[int]()

    def add_size(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            if item.external:
                raise DamagedError(str(path), f"{name!r}, whose data lie elsewhere", ALLOWED)
            # Numbers may be made wider when they are read; a text counts as a pointer.
            sizes.append(math.prod(item.shape or ()) * max(item.dtype.itemsize, ITEM_BYTES))

    with h5py.File(BytesIO(content), "r") as file:
        file.visititems(add_size)
        check_size(path, sum(sizes), max_bytes)
        return [name for name in file if isinstance(file[name], h5py.Group)]


def read_group(content: bytes, name: str) -> xr.Dataset:
    """Group of a netCDF file; links of the bytes in memory reach no other file."""
    file = BytesIO(content)
    with xr.open_dataset(file, engine="h5netcdf", group=name, phony_dims="access") as group:
        return as_read(group.load().drop_encoding())
