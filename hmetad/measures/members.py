"""Arguments about the members of a group → labelled arrays, checked.

DataArray with dim member, or array_like whose last axis it is → DataArray (..., member), checked.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.counts.checks import open_probability
from hmetad.counts.columns import Label, given_labels
from hmetad.errors import InputError

__all__ = [
    "Values",
    "is_s2",
    "label_pair",
    "member_array",
    "one_group",
    "outer_dim",
    "prior_given",
    "refuse_other_prior",
    "refuse_shares",
    "same_shape",
    "with_dims",
]

Floats = NDArray[np.float64]
Values = xr.DataArray | ArrayLike

# What sums may miss their 1, or their prior, by: the digits of a table written by hand.
SLACK = 1e-6
# What a sum of probabilities may be beyond 0 or 1.
ROUNDING = 1e-9


def with_dims(argument: str, values: Values, outer: str, *dims: str) -> xr.DataArray:
    """Values as a DataArray that ends with the dims; an array may have one more, the outer.

    Examples
    --------
    >>> with_dims("accuracy", [[0.7, 0.8]], "cell", "member").dims
    ('cell', 'member')
    """
    if isinstance(values, xr.Dataset | xr.DataTree):
        step = "Take a variable out of it."
        raise InputError(argument, f"a {type(values).__name__}", "an array of numbers", step)
    if isinstance(values, xr.DataArray):
        if not set(dims) <= set(values.dims):
            got = f"dims ({', '.join(map(str, values.dims))})"
            raise InputError(argument, got, f"dims ({', '.join(dims)}) and maybe more")
        array = values.transpose(..., *dims)
    else:
        try:
            numbers = np.asarray(values)
        except ValueError as error:
            raise InputError(argument, "rows of different length", "one shape for all") from error
        names = (outer, *dims)[-numbers.ndim :] if numbers.ndim else ()
        if not len(dims) <= numbers.ndim <= len(dims) + 1:
            step = "Further dims need names: pass a DataArray."
            allowed = f"axes ({', '.join(dims)}), or ({', '.join((outer, *dims))})"
            raise InputError(argument, f"{numbers.ndim} axes", allowed, step)
        array = xr.DataArray(numbers, dims=names)
    if array.sizes["member"] == 0:
        raise InputError(argument, "no members", "at least one")
    return array


def member_array(argument: str, values: Values, *dims: str, outer: str = "cell") -> xr.DataArray:
    """Probabilities, 0 to 1 or missing, that end with the dims.

    Examples
    --------
    >>> member_array("accuracy", [70, 80], "member")
    Traceback (most recent call last):
    hmetad.errors.InputError: accuracy: got 70, allowed is probabilities from 0 to 1. Divide \
percentages by 100.
    """
    array = with_dims(argument, values, outer, *dims)
    allowed = "probabilities from 0 to 1"
    if array.dtype.kind not in "iufb":
        raise InputError(argument, f"values of type {array.dtype}", allowed)
    numbers = array.to_numpy().astype(float)
    off = numbers[(numbers < -ROUNDING) | (numbers > 1 + ROUNDING)]
    if off.size:
        step = "Divide percentages by 100." if (off > 1).all() and (off <= 100).all() else ""
        raise InputError(argument, f"{off[0]:g}", allowed, step)
    return array.copy(data=np.clip(numbers, 0.0, 1.0))


def same_shape(
    first: xr.DataArray, argument: str, second: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Both arrays in all their dims, those of the first last; labels must be the same.

    Examples
    --------
    >>> a, b = xr.DataArray([[1, 2]], dims=["cell", "member"]), xr.DataArray([3, 4], dims="member")
    >>> same_shape(a, "confidence", b)[1].values
    array([[3, 4]])
    """
    sizes, known = (", ".join(f"{d} {n}" for d, n in x.sizes.items()) for x in (second, first))
    # Dims of different names would silently make every combination of the two.
    if not (set(second.dims) <= set(first.dims) or set(first.dims) <= set(second.dims)):
        raise InputError(argument, f"dims {sizes}", f"the dims {known}")
    try:
        one, other = xr.broadcast(*xr.align(first, second, join="exact"))
    except ValueError as error:
        got = f"dims {sizes}, with other sizes or labels"
        raise InputError(argument, got, f"those of {known}") from error
    return one.transpose(..., *first.dims), other.transpose(..., *first.dims)


def outer_dim(first: xr.DataArray, dims: int, otherwise: str) -> str:
    """Name of the one dim that comes before the last ones, for an array that has no names.

    Examples
    --------
    >>> outer_dim(xr.DataArray([[0.7]], dims=["question", "member"]), 1, "trial")
    'question'
    """
    return str(first.dims[0]) if first.ndim == dims + 1 else otherwise


def prior_given(prior: object) -> float:
    """P(S2) as given, if it is a number between 0 and 1.

    Examples
    --------
    >>> prior_given(0.6)
    0.6
    """
    return open_probability("prior", prior, "P(S2), a number between 0 and 1")


def refuse_shares(share: Floats) -> None:
    """Refuse shares of levels, (..., levels), that are not 1 in all."""
    total = share.sum(axis=-1)
    off = total[abs(total - 1) > SLACK]
    if off.size:
        step = "Divide each member's frequencies by their sum."
        raise InputError("share", f"shares that add up to {off.flat[0]:g}", "1 in all", step)


def refuse_other_prior(share: Floats, posterior: Floats, prior: float) -> None:
    """Refuse members, (..., levels), whose posteriors of S2 are not the prior on average."""
    implied = (share * posterior).sum(axis=-1)
    off = implied[abs(implied - prior) > SLACK]
    if off.size:
        got = f"confidence that makes S2 true with {off.flat[0]:g} on average"
        step = "Pass this prior, or weigh the trials of S1 and S2 so that all members have one."
        raise InputError("confidence", got, f"the prior {prior:g}", step)


def is_s2(prediction: Values, like: xr.DataArray) -> NDArray[np.bool_]:
    """Whether each level predicts S2, in the shape of `like`.

    Examples
    --------
    >>> is_s2(["S1", "S2"], xr.DataArray([[0.4, 0.6]], dims=["member", "level"]))
    array([[False,  True]])
    """
    if not isinstance(prediction, xr.DataArray):
        array = np.asarray(prediction)
        if array.ndim > like.ndim:
            raise InputError("prediction", f"{array.ndim} axes", f"at most {like.ndim}")
        prediction = xr.DataArray(array, dims=like.dims[like.ndim - array.ndim :])
    full = same_shape(like, "prediction", prediction)[1]
    if full.sizes != like.sizes:
        got = ", ".join(map(str, full.dims))
        raise InputError("prediction", f"dims ({got})", f"dims ({', '.join(map(str, like.dims))})")
    words = full.to_numpy()
    other = words[(words != "S1") & (words != "S2")]
    if other.size:
        raise InputError("prediction", repr(other.flat[0]), "'S1' or 'S2' for each level")
    return words == "S2"


def label_pair(said: xr.DataArray, labels: Sequence[Label] | None) -> list[Label]:
    """Labels (S1, S2) of responses: those given, or the two that were said, sorted.

    Examples
    --------
    >>> label_pair(xr.DataArray(["yes", "no", "yes"], dims="member"), None)
    ['no', 'yes']
    """
    values = said.to_numpy()
    seen: set[Label] = set(values[said.notnull().to_numpy()].tolist())
    in_order = sorted(seen, key=lambda label: (isinstance(label, str), label))
    pair = in_order if labels is None else given_labels(labels)
    listed = ", ".join(sorted(map(repr, seen))[:5])
    if labels is None and len(pair) != 2:
        step = "Name both: labels=(S1, S2)." if len(pair) < 2 else "Leave out the others."
        raise InputError("responses", f"{len(pair)} labels: {listed or 'none'}", "two", step)
    if not seen <= set(pair):
        raise InputError("labels", f"{labels!r} for responses {listed}", "all that were said")
    return pair


def one_group(members: xr.DataArray) -> xr.DataArray:
    """Array of the dims and coordinates that a group has, from one of its members."""
    return members.isel(member=0, drop=True)
