"""Small files of large fits: what follows from other draws is left out, and the rest is rounded.

Fit → the same without what reading computes, and with draws of cells and of effects of groups as
whole numbers of steps; and back. A step s is a share of the standard deviation of an element. Each
draw has a number u of its own, and x is read back as s (⌊x/s + u⌉ - u), so that what is lost is
uniform between -s/2 and s/2 and does not depend on x: with 16 steps in a standard deviation it adds
1/3000 to the variance. Of an effect, x is in standard deviations of its group at the same draw.
Values of a population, of which there are few, are kept to the last digit.
Source: Schuchman (1964); Gray & Stockham (1993), on subtractive dither.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import InputError
from hmetad.base.threads import in_threads
from hmetad.base.untrusted import parse_json
from hmetad.bayes.check_fit import check_attrs, counts_of
from hmetad.bayes.finish import with_variable_notices
from hmetad.bayes.fit_files import ALLOWED, ITEM_BYTES, reading, refuse_too_large
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import cell_results, following_names
from hmetad.specs.layout import LINK_IDENTITY, layout_of

__all__ = ["with_results", "without_results"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Piece = Mapping[str, slice]


class Rounded(NamedTuple):
    """How a variable is rounded.

    Parameters
    ----------
    levels : array of int, shape (cells,)
        Which of its elements a cell has: itself, or that of a group.
    unit : str
        The standard deviation that it is divided by, whose draws its spread follows; or none.
    """

    levels: Integers
    unit: str


# Attr of a small file: all variables of the fit, in their order.
VARIABLES = "variables"
# Groups of a small file: numbers of steps; and the attrs of each variable that the posterior lacks,
# with the first number of each element, and the step, where it is rounded.
ROUNDED, LEFT_OUT = "rounded", "left_out"
# Attr of a rounded variable, and coordinate of the draws.
UNIT, DITHER = "unit", "dither"
# Steps in the standard deviation of an element, by some of its draws; and what rounding may do to
# what follows from it: the median error as a share of the median distance from the median.
STEPS, MOST_NOISE = 16, 1 / 20
# Steps become at most so many times finer: more than half of the draws may be the same.
MOST_FINER = 64
# Most draws are less than so many steps from their mean: the higher of two bytes is then 0.
MIDDLE = 128
# Multiples of it are spread evenly over 0 to 1, however many there are.
GOLDEN = (5**0.5 - 1) / 2
# Steps and their effects are judged by so many draws, or by fewer where cells are many.
MOST_JUDGED, FEWEST_JUDGED, JUDGED_BYTES = 256, 32, 2**28
# Draws are worked on in pieces that caches hold.
PIECE_BYTES = 16 * 2**20
# Quantities of cells are of the order of 1, or have no upper bound.
SAME = 1e-9
# Bytes of what is compressed at once.
CHUNK_BYTES = 2**20


def without_results(fitted: Fitted) -> xr.DataTree:
    """Fit whose posterior lacks what follows from the rest, and has fewer digits of the cells.

    The same where cells do not follow: where draws are not those of `hmetad.fit`.
    """
    posterior = fitted.posterior
    follow = [name for name in following_names(fitted.spec) if name in posterior]
    if not is_recomputed(fitted, follow):
        return fitted.tree
    rounded, scales = rounded_draws(fitted)
    left_out = scales.assign({name: xr.Variable((), 0, posterior[name].attrs) for name in follow})
    rest = posterior.drop_vars([*left_out])
    groups = {"posterior": rest, ROUNDED: rounded, LEFT_OUT: left_out}
    tree = fitted.tree.assign({name: xr.DataTree(group) for name, group in groups.items()})
    tree.attrs = {**tree.attrs, VARIABLES: json.dumps([*map(str, posterior)])}
    return tree


def with_results(fit: xr.DataTree, path: Path, max_bytes: int) -> xr.DataTree:
    """Fit with all variables, from one that `without_results` made and a file has kept."""
    if VARIABLES not in fit.attrs:
        return fit
    order = parse_json(fit.attrs[VARIABLES], f"{path}, attrs[{VARIABLES!r}]")
    spec = check_attrs(fit)
    counts_of(fit, spec.record.layout)
    groups = {str(name): group.to_dataset() for name, group in fit.children.items()}
    # Files of earlier versions have all digits, and no attrs of what they lack.
    is_earlier = LEFT_OUT not in groups
    rounded, left_out = (groups.pop(name, xr.Dataset()) for name in (ROUNDED, LEFT_OUT))
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {name: said for name, said in fit.attrs.items() if name != VARIABLES}
    fitted = Fitted(tree, spec)
    posterior, follow = fitted.posterior, {*following_names(spec)}
    known = {*posterior, *rounded}
    if not isinstance(order, list) or {*order} - known - follow or known - {*order}:
        raise InputError(str(path), f"a posterior of {order!r:.80}", ALLOWED)
    if other := [d for d, size in rounded.sizes.items() if posterior.sizes.get(d, size) != size]:
        raise InputError(str(path), f"draws of two sizes of {other[0]}", ALLOWED)
    has_cells = not follow.isdisjoint(order)
    size = posterior.nbytes + ITEM_BYTES * sum(values.size for values in rounded.values())
    size += fitted.bytes_of_cells(posterior) if has_cells else 0
    refuse_too_large(path, size, max_bytes)
    with reading(path):
        recompute = cells_of(fitted)
        dithered = posterior.assign_coords({DITHER: dither(posterior)})

        def missing_in(piece: Piece) -> dict[str, xr.DataArray]:
            """What a piece of the posterior lacks."""
            draws = dithered.isel(piece)
            own = rounded.isel(piece, missing_dims="ignore")  # There may be none.
            draws = draws.assign(unrounded(own, left_out, draws))
            read = {str(name): draws[name] for name in rounded}
            return read | (recompute(draws) if has_cells else {})

        missing = [name for name in order if name not in posterior]
        found = joined(missing_in, posterior, missing, size)
        for name, values in found.items():
            values.attrs = {} if is_earlier else left_out[name].attrs
        whole = fitted.at(posterior.assign(found)[order].assign_coords(posterior.coords))
        return with_variable_notices(whole) if is_earlier else whole.tree


def cells_of(fitted: Fitted) -> Callable[[xr.Dataset], dict[str, xr.DataArray]]:
    """Function of draws of a fit: what follows from the rest of its variables.

    Formulas are evaluated here: no two threads may do so at once.
    """
    spec, designs, given = fitted.spec, fitted.designs, fitted.given
    follow = [*following_names(spec)]

    def recompute(draws: xr.Dataset) -> dict[str, xr.DataArray]:
        # Labels would be compared in every sum.
        rest = draws.drop_vars([*draws.coords, *follow], errors="ignore")
        return cell_results(rest, spec, designs, given)

    return recompute


def is_recomputed(fitted: Fitted, names: Sequence[str]) -> bool:
    """Whether these variables are what follows from the others."""

    def is_same(piece: Piece) -> bool:
        draws = fitted.posterior.isel(piece)
        found = recompute(draws)
        return all(
            found[name].dims == draws[name].dims
            and np.allclose(found[name], draws[name], rtol=SAME, atol=SAME, equal_nan=True)
            for name in names
        )

    try:
        recompute = cells_of(fitted)
        parts = pieces(fitted.posterior, fitted.posterior.nbytes)
        return not names or all(in_threads(is_same, parts))
    except (InputError, KeyError, ValueError):
        return False


# Pieces of the draws


def pieces(posterior: xr.Dataset, size: int) -> list[Piece]:
    """Parts of the draws of each chain, of some megabytes where all take `size` bytes."""
    chains, draws = (posterior.sizes[dim] for dim in ("chain", "draw"))
    length = max(1, PIECE_BYTES * chains * draws // max(size, 1))
    return [
        {"chain": slice(chain, chain + 1), "draw": slice(first, first + length)}
        for chain in range(chains)
        for first in range(0, draws, length)
    ]


def joined(
    work: Callable[[Piece], Mapping[str, xr.DataArray]],
    posterior: xr.Dataset,
    names: Iterable[str],
    size: int,
) -> dict[str, xr.Variable]:
    """Variables of these names, of which `work` makes pieces (chain, draw, ...)."""
    shape = tuple(posterior.sizes[dim] for dim in ("chain", "draw"))
    one = work({"chain": slice(1), "draw": slice(1)})
    whole = {
        name: xr.Variable(one[name].dims, np.empty((*shape, *one[name].shape[2:])))
        for name in names
    }

    def fill(piece: Piece) -> None:
        made = work(piece)
        for name, values in whole.items():
            values.values[piece["chain"], piece["draw"]] = made[name].values

    in_threads(fill, pieces(posterior, size))
    return whole


# Rounding


def rounded_draws(fitted: Fitted) -> tuple[xr.Dataset, xr.Dataset]:
    """Draws of cells and effects as numbers of steps; the first of these, and the steps."""
    posterior, numbers, scales = fitted.posterior, {}, {}
    rounded = rounded_variables(fitted)
    for name, (first, step) in scales_of(fitted, rounded).items():
        made = numbers_of_steps(posterior, name, rounded[name].unit, first, step)
        if made is not None:
            dims, attrs = posterior[name].dims, {UNIT: rounded[name].unit}
            numbers[name] = xr.Variable(dims, made, attrs, compression(made))
            both = np.stack([first, step])
            scales[name] = xr.Variable(("scale", *dims[2:]), both, posterior[name].attrs)
    return xr.Dataset(numbers), xr.Dataset(scales)


def compression(values: NDArray[np.int16]) -> dict[str, object]:
    """How a netCDF file keeps draws: some of a chain together, high bytes apart from low ones."""
    together = min(values.shape[1], max(1, CHUNK_BYTES // values[0, 0].nbytes))
    chunks = (1, together, *values.shape[2:])
    return {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": chunks}


def numbers_of_steps(
    posterior: xr.Dataset, name: str, unit: str, first: Floats, step: Floats
) -> NDArray[np.int16] | None:
    """Draws of a variable in steps, from the first one; None where one is undefined or far away."""
    numbers, dithers = np.empty(posterior[name].shape, np.int16), dither(posterior).values

    def fill(piece: Piece) -> float:
        place = piece["chain"], piece["draw"]
        values = in_units(posterior.isel(piece), name, unit)
        found = np.rint(values / step + (over_elements(dithers[place], values) - first))
        with np.errstate(invalid="ignore"):
            numbers[place] = found
        return float(np.abs(found).max())

    largest = np.max(in_threads(fill, pieces(posterior, posterior[name].nbytes)))
    return numbers if largest < np.iinfo(np.int16).max else None


def unrounded(rounded: xr.Dataset, scales: xr.Dataset, draws: xr.Dataset) -> dict[str, xr.Variable]:
    """Draws from numbers of steps, at some draws of the others, with their dithers."""
    found = {}
    for name, numbers in rounded.items():
        first, step = scales[name].transpose("scale", *numbers.dims[2:]).values
        values = numbers.values + first
        values -= over_elements(draws[DITHER].values, values)
        values *= step
        if unit := numbers.attrs[UNIT]:
            values *= np.expand_dims(draws[unit].values, 2)
        found[str(name)] = xr.Variable(numbers.dims, values)
    return found


def in_units(draws: xr.Dataset, name: str, unit: str) -> Floats:
    """Values of a variable; of effects, by the standard deviation of their groups."""
    values: Floats = draws[name].values
    # Another density may have draws of a standard deviation of 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        return values / np.expand_dims(draws[unit].values, 2) if unit else values


def dither(posterior: xr.Dataset) -> xr.DataArray:
    """u of each draw, dims (chain, draw)."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    numbers = np.arange(np.prod(shape)).reshape(shape)
    return xr.DataArray(numbers * GOLDEN % 1, dims=("chain", "draw"))


def over_elements(of_draws: Floats, values: Floats) -> Floats:
    """Numbers (chain, draw) with a dim of size 1 for each further one of the values."""
    return of_draws.reshape(*of_draws.shape, *[1] * (values.ndim - 2))


# Steps


@np.errstate(divide="ignore", invalid="ignore")
def scales_of(fitted: Fitted, rounded: Mapping[str, Rounded]) -> dict[str, tuple[Floats, Floats]]:
    """First number of steps of each element, and the step, of the variables that can be rounded.

    A variable with an element that is constant, or undefined, cannot.
    """
    posterior = fitted.posterior
    one_draw = fitted.bytes_of_cells(posterior.isel(chain=[0], draw=[0]))
    number = np.clip(JUDGED_BYTES // one_draw, FEWEST_JUDGED, MOST_JUDGED)
    some = {"draw": slice(None, None, max(1, fitted.number // int(number)))}
    judged, dithers = posterior.isel(some), dither(posterior).isel(some).values
    steps, means, moved = {}, {}, {}
    for name, (_, unit) in rounded.items():
        values = in_units(judged, name, unit)
        step = even_steps(values.std(axis=(0, 1)) / STEPS)
        if (step > 0).all() and np.isfinite(step).all():
            u = over_elements(dithers, values)
            error = step * (np.rint(values / step + u) - u) - values
            if unit:
                error *= np.expand_dims(judged[unit].values, 2)
            moved[name] = judged[name] + error
            steps[name], means[name] = step, values.mean(axis=(0, 1))
    recompute = cells_of(fitted)
    noise = noise_of_cells(recompute(judged.assign(moved)), recompute(judged))
    # Powers of 2, so that a fit that is written again has the same steps.
    needed = np.exp2(np.ceil(np.log2(np.clip(noise / MOST_NOISE, 1, MOST_FINER))))
    found = {}
    for name, step in steps.items():
        finer = np.ones(len(step))
        np.maximum.at(finer, rounded[name].levels, needed)
        step = step / finer.reshape(-1, *[1] * (step.ndim - 1))
        found[name] = np.rint(means[name] / step) - MIDDLE, step
    return found


def even_steps(step: Floats) -> Floats:
    """Steps cut to three binary digits, so that nearly the same draws have the same steps."""
    mantissa, exponent = np.frexp(step)
    return np.ldexp(np.floor(8 * mantissa) / 8, exponent)


def noise_of_cells(moved: Mapping[str, xr.DataArray], exact: Mapping[str, xr.DataArray]) -> Floats:
    """How far rounding moves draws of each cell's quantities, as a share of their spread."""
    found = []
    for name, values in exact.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            error = abs(moved[name].values - values.values)
            spread = abs(values.values - np.median(values.values, axis=(0, 1)))
            share = np.median(error, axis=(0, 1)) / np.median(spread, axis=(0, 1))
        found.append(
            np.nan_to_num(share, nan=0, posinf=1).reshape(len(share), -1).max(axis=1, initial=0)
        )
    return np.max(found, axis=0)


def rounded_variables(fitted: Fitted) -> dict[str, Rounded]:
    """Variables of cells and of groups, but for those that are positive."""
    layout = layout_of(fitted.counts, fitted.spec, fitted.designs)
    cells = np.arange(fitted.counts.sizes["cell"])
    found = [
        (variable, Rounded(cells, ""))
        for own in layout.own.values()
        for variable in own
        if variable.role == "cell" and variable.link == LINK_IDENTITY
    ]
    blocks = [block for formula in layout.formulas.values() for block in formula.blocks]
    found += [
        (effect, Rounded(block.block.index, sd.name))
        for block in blocks
        for effect, sd in zip(block.effects, block.sds, strict=True)
    ]
    dims = {name: values.dims[2:] for name, values in fitted.posterior.items()}
    return {one.name: how for one, how in found if dims.get(one.name) == one.dims}
