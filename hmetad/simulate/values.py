"""What was asked for the cells of a design → values of a likelihood by name, one a cell.

A thing has one value: what follows from other values that were asked for is refused.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hmetad.counts.checks import whole_number
from hmetad.errors import InputError, nearest
from hmetad.likelihood.checks import sums_other_than_one
from hmetad.likelihood.records import Likelihood, dim_sizes

__all__ = ["design_values", "log_outcomes", "meta_d_values"]

type Floats = NDArray[np.float64]

POSITIVE = ("gaps", "s")
SIZES = {"response": "2", "criterion": "K - 1", "criterion_gap": "K - 2"}


def meta_d_values(asked: Mapping[str, ArrayLike], ratings: int) -> dict[str, Floats]:
    """Values of the meta-d′ model with an M for each response, of which both may be the same."""
    dims = {"gaps": ("response", "criterion")}
    values = {
        name: with_dims(name, value, dims.get(name, ()), ratings)
        for name, value in asked.items()
        if name != "m_ratio"
    }
    ratio = numbers("m_ratio", asked["m_ratio"])
    own = ("response",) if ratio.ndim == 2 else ()
    ratio = with_dims("m_ratio", ratio, own, ratings)
    return values | {"m_ratio": ratio if own else np.stack([ratio, ratio], axis=-1)}


def design_values(
    likelihood: Likelihood,
    asked: Mapping[str, ArrayLike],
    usual: Mapping[str, ArrayLike],
    ratings: int,
) -> dict[str, Floats]:
    """Values by name, each with the dims of its own last.

    Parameters
    ----------
    likelihood : Likelihood
    asked : mapping of str to array
        By name of a parameter or quantity.
    usual : mapping of str to array
        Values of what the likelihood has and what does not follow from those asked for.
    ratings : int
        K, where no array says it.
    """
    # Criteria on the wrong side of κ, or out of order, are no criteria: gaps cannot be so.
    if "criteria" in asked:
        raise InputError("criteria", "type-2 criteria", "the distances between them", "Use gaps=.")
    known = {p.name for p in likelihood.parameters} | {q.name for q in likelihood.quantities}
    known.discard("criteria")
    for name in asked:
        if name not in known:
            raise InputError("values", repr(name), ", ".join(sorted(known)), nearest(name, known))
    levels = ratings_of(likelihood, asked, ratings)
    values = {
        name: with_dims(name, value, likelihood.dims(name), levels) for name, value in asked.items()
    }
    for name, value in usual.items():
        if name in known and name not in likelihood.following(values):
            values[name] = with_dims(name, value, likelihood.dims(name), levels)
    refuse_twice_said(likelihood, values)
    return values


def ratings_of(likelihood: Likelihood, asked: Mapping[str, ArrayLike], ratings: int) -> int:
    """K of the arrays of criteria or gaps, or the one given where all are single numbers."""
    lacking = {"criterion": 1, "criterion_gap": 2}
    sizes = {
        name: np.shape(value)[-1] + lacking[dim]
        for name, value in asked.items()
        for dim in likelihood.dims(name)[-1:]
        if dim in lacking and np.ndim(value)
    }
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise InputError("numbers of ratings", got, "the same of all")
    return next(iter(sizes.values()), ratings)


def refuse_twice_said(likelihood: Likelihood, values: Mapping[str, Floats]) -> None:
    """Raise where a value was asked for that follows from the others."""
    for name in values:
        others = [other for other in values if other != name]
        if name in likelihood.following(others):
            got = f"a value beside those of {', '.join(others)}, from which it follows"
            raise InputError(name, got, "one value for one thing", "Leave one of them out.")


def with_dims(name: str, value: ArrayLike, dims: tuple[str, ...], ratings: int) -> Floats:
    """Value of a cell, or values one a cell, with dims of its own: one number is that of all."""
    array = numbers(name, value, above=0.0 if name in POSITIVE else -np.inf)
    if not array.ndim:
        sizes = dim_sizes(whole_number("ratings", ratings, 1))
        return np.full([sizes[dim] for dim in dims], array)
    leading = array.ndim - len(dims)
    own = dict(zip(dims, array.shape[max(leading, 0) :], strict=False))
    if leading not in (0, 1) or 0 in array.shape[:leading] or own.get("response", 2) != 2:
        one = f", or shape ({', '.join(SIZES[dim] for dim in dims)})" if dims else ""
        allowed = f"one number{one}, or as much for each cell"
        raise InputError(name, f"shape {array.shape}", allowed)
    return array


def numbers(name: str, values: ArrayLike, *, above: float = -np.inf) -> Floats:
    """Values as an array, if they are finite numbers above a bound."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(name, repr(values), "numbers") from error
    wrong = array[~(np.isfinite(array) & (array > above))]
    if wrong.size:
        allowed = "finite numbers" + (f" above {above:g}" if np.isfinite(above) else "")
        raise InputError(name, ", ".join(f"{value:g}" for value in wrong[:5]), allowed)
    return array


def log_outcomes(likelihood: Likelihood, values: Mapping[str, Floats]) -> Floats:
    """log P of every outcome, or an error that names what is still needed."""
    known = likelihood.following(values)
    for name in likelihood.arguments:
        if name not in known:
            needed = " and ".join(needed_for(likelihood, name, known))
            allowed = name if name == needed else f"{name}, or {needed}"
            raise InputError("values", f"no {name}, nor what it follows from", allowed)
    # What is out of its range is answered below.
    with np.errstate(all="ignore"):
        log_p = np.asarray(likelihood.outcomes(values))
    wrong = sums_other_than_one(log_p)
    if wrong.size:
        got = f"values whose probabilities sum to {wrong[0]:g}"
        raise InputError("values", got, "a sum of 1 for each stimulus", "Is each in its range?")
    return log_p


def needed_for(likelihood: Likelihood, name: str, known: set[str]) -> list[str]:
    """Parameters that are not known, and that a quantity follows from."""
    found, rest = set(known), [name]
    while rest:
        one = rest.pop()
        if one not in found:
            found.add(one)
            rest += [need for q in likelihood.quantities if q.name == one for need in q.needs]
    return [p.name for p in likelihood.parameters if p.name in found - known]
