"""Data whose truth is known: count tables and trials drawn from a likelihood.

Parameters → count table (cell, stimulus, response, rating), or → trials (pandas).
Source: the likelihoods of `hmetad.likelihood`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.arguments import arrays_of_numbers, check_inputs, refuse_same_names, seed_or_none
from hmetad.counts.checks import plain_array, whole_number
from hmetad.counts.names import column_names
from hmetad.counts.table import cell_values, from_nr
from hmetad.errors import InputError, nearest
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.registry import load_likelihood

__all__ = ["simulate_counts", "simulate_trials"]

type Floats = NDArray[np.float64]


@check_inputs(
    dprime=arrays_of_numbers,
    c=arrays_of_numbers,
    m_ratio=arrays_of_numbers,
    trials=arrays_of_numbers,
    gaps=arrays_of_numbers,
    s=arrays_of_numbers,
    seed=seed_or_none,
)
def simulate_counts(
    dprime: ArrayLike,
    c: ArrayLike = 0.0,
    m_ratio: ArrayLike = 1.0,
    *,
    trials: ArrayLike = 1000,
    gaps: ArrayLike | None = None,
    ratings: int = 4,
    meta_criterion: str = "relative",
    s: ArrayLike = 1.0,
    likelihood: str = "meta-d",
    coords: Mapping[str, Sequence[Any]] | None = None,
    covariates: Mapping[str, Sequence[Any]] | None = None,
    seed: int | np.random.Generator | None = None,
    **values: ArrayLike,
) -> xr.DataArray:
    """Draw a count table from the meta-d′ model, or another, one cell for each parameter set.

    Parameters
    ----------
    dprime, c, m_ratio, s : float or array, shape (cells,)
        Type-1 sensitivity and criterion, meta-d′/d′, and σ_S1/σ_S2 (1: equal variance);
        broadcast against each other. An `m_ratio` of shape (cells, 2) has one for each response.
    trials : int or array, shape (cells,) or (cells, 2)
        Trials of a cell, split as evenly as possible, or those of S1 and of S2.
    gaps : array, shape (..., 2, K - 1), optional
        Distances between type-2 criteria, per response, outward from κ; ½ each by default.
    ratings : int
        K, where `gaps` does not say it.
    meta_criterion : {"relative", "absolute"}
        κ = M·c or κ = c.
    likelihood : str, optional
        Name of another likelihood, which takes d′, c, gaps and its own quantities or parameters.
    coords : mapping of str to sequence, optional
        Coordinates of the cells, such as ``{"subject": [1, 2, 3]}``; they make the cells' labels.
    covariates : mapping of str to sequence, optional
        Coordinates that are no part of the labels, such as ``{"age": [31, 24, 58]}``, as in
        `count_trials`.
    seed : int or Generator, optional
        The same seed gives the same table.
    **values : float or array, shape (cells,)
        Quantities or parameters of the likelihood, by name.

    Returns
    -------
    DataArray
        Count table, dims (cell, stimulus, response, rating).

    Raises
    ------
    InputError
        If a parameter is no finite number, s or a gap is not positive, K < 1, trials are negative
        or not whole, or their sizes differ; if a coordinate or covariate has the wrong length, or
        a name that is taken; if the likelihood is unknown, or has other quantities.

    Examples
    --------
    >>> counts = simulate_counts([1.0, 2.0], m_ratio=0.8, trials=200, seed=1)
    >>> counts.sum("rating").values.tolist()
    [[[76, 24], [28, 72]], [[83, 17], [19, 81]]]
    """
    gaps = default_gaps(ratings) if gaps is None else given_gaps(gaps)
    totals = trials_per_stimulus(trials)
    given = {"dprime": per_cell("dprime", dprime), "c": per_cell("c", c)}
    given |= {name: per_cell(name, value) for name, value in values.items()}
    if likelihood == "meta-d":
        # With an M for each response, of which both may be the same.
        record = load_likelihood("response-conditional", meta_criterion=meta_criterion)
        given["s"] = per_cell("s", s, above=0)
        ratio = per_cell("m_ratio", m_ratio, most_dims=2)
        ratio = ratio if ratio.ndim == 2 else ratio[..., None]
    else:
        record = load_likelihood(likelihood)
        ratio = np.ones((1, 1))
        refuse_others(record, {"m_ratio": (m_ratio, 1.0), "s": (s, 1.0)})
    known = {*record.results, *(p.name for p in record.parameters)}
    known = set() if likelihood == "meta-d" else known
    for name in values:
        if name not in known:
            allowed = ", ".join(sorted(known)) or "m_ratio and s, of meta-d′"
            raise InputError("values", repr(name), allowed, nearest(name, known))
    sizes = {"m_ratio": ratio[..., 0], "trials": totals[:, 0], "gaps": np.zeros(gaps.shape[:-2])}
    cells = same_cells({**given, **sizes})
    by_cell = {name: np.broadcast_to(array, cells) for name, array in given.items()}
    if likelihood == "meta-d":
        by_cell["m_ratio"] = np.broadcast_to(ratio, (*cells, 2))
    by_cell["gaps"] = np.broadcast_to(gaps, (*cells, *gaps.shape[-2:]))
    log_p = outcome_probabilities(record, by_cell)
    outcomes = log_p.reshape(*log_p.shape[:-2], -1)
    drawn = np.random.default_rng(seed).multinomial(totals, np.exp(outcomes))
    counts = from_nr(*np.moveaxis(classic_order(drawn), 1, 0), **dict(coords or {}))
    return with_covariates(counts, dict(covariates or {}))


@check_inputs(
    dprime=arrays_of_numbers, c=arrays_of_numbers, m_ratio=arrays_of_numbers, seed=seed_or_none
)
def simulate_trials(
    dprime: ArrayLike,
    c: ArrayLike = 0.0,
    m_ratio: ArrayLike = 1.0,
    *,
    coords: Mapping[str, Sequence[Any]] | None = None,
    covariates: Mapping[str, Sequence[Any]] | None = None,
    seed: int | np.random.Generator | None = None,
    **design: Any,
) -> pd.DataFrame:
    """Draw single trials from the meta-d′ model, in random order.

    Parameters
    ----------
    dprime, c, m_ratio, coords, covariates, seed
        As in `simulate_counts`.
    **design
        The other arguments of `simulate_counts`.

    Returns
    -------
    DataFrame
        One row per trial: the columns of `coords` ("cell" if there are none and several
        cells) and of `covariates`, then stimulus and response ("S1", "S2") and confidence (1..K).

    Examples
    --------
    >>> trials = simulate_trials(1.5, trials=100, seed=1)
    >>> list(trials.columns), len(trials)
    (['stimulus', 'response', 'confidence'], 100)
    """
    rng = np.random.default_rng(seed)
    counts = simulate_counts(
        dprime, c, m_ratio, coords=coords, covariates=covariates, seed=rng, **design
    )
    outcomes = counts.to_series().reset_index()
    added = [*(coords or ()), *(covariates or ())]
    refuse_same_names(added, ["confidence"])
    names = [] if coords or counts.sizes["cell"] == 1 else ["cell"]
    for name in added:
        outcomes[name] = counts[name].sel(cell=outcomes["cell"].to_numpy()).to_numpy()
    rows = np.repeat(np.arange(len(outcomes)), outcomes["counts"])
    trials = outcomes.iloc[rng.permutation(rows)].rename(columns={"rating": "confidence"})
    return trials[[*names, *added, "stimulus", "response", "confidence"]].reset_index(drop=True)


def with_covariates(counts: xr.DataArray, covariates: Mapping[str, Sequence[Any]]) -> xr.DataArray:
    """Count table whose cells carry covariates beside what their labels are made of."""
    names = column_names("covariates", list(covariates))
    for name in names:
        if name in counts.coords:
            raise InputError("covariates", repr(name), "names other than those of coords")
    size = counts.sizes["cell"]
    added = {
        name: ("cell", plain_array(name, cell_values(f"covariates {name!r}", value, size)))
        for name, value in covariates.items()
    }
    return counts.assign_coords(added).assign_attrs(covariates=json.dumps(names))


def default_gaps(ratings: int) -> Floats:
    """Gaps of one half standard deviation."""
    return np.full((2, whole_number("ratings", ratings, 1) - 1), 0.5)


def given_gaps(gaps: ArrayLike) -> Floats:
    """Gaps as they were given, if they are gaps."""
    array = finite("gaps", gaps, above=0)
    if array.ndim < 2 or array.shape[-2] != 2:
        raise InputError("gaps", f"shape {array.shape}", "shape (..., 2, K - 1)")
    return array


def per_cell(name: str, values: ArrayLike, *, above: float = -np.inf, most_dims: int = 1) -> Floats:
    """Values of a parameter: one, or one a cell; with two dims, one a cell and response."""
    array = finite(name, values, above=above)
    if not array.size or array.ndim > most_dims or (array.ndim == 2 and array.shape[1] > 2):
        raise InputError(name, f"shape {array.shape}", "one number, or one for each cell")
    return array


def finite(name: str, values: ArrayLike, *, above: float) -> Floats:
    """Values as an array, if they are finite numbers above a bound."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(name, repr(values), "numbers") from error
    wrong = array[~(np.isfinite(array) & (array > above))]
    if wrong.size:
        allowed = "finite numbers" + (f" above {above:g}" if np.isfinite(above) else "")
        raise InputError(name, ", ".join(f"{value:g}" for value in wrong[:5]), allowed)
    return array


def refuse_others(likelihood: Likelihood, given: Mapping[str, tuple[ArrayLike, float]]) -> None:
    """Raise where a quantity that a likelihood lacks is other than its default."""
    for name, (value, usual) in given.items():
        if name not in likelihood.results and not np.array_equal(value, usual):
            raise InputError(name, repr(value), f"none: {likelihood.name!r} has no {name}")


def outcome_probabilities(likelihood: Likelihood, values: Mapping[str, Floats]) -> Floats:
    """log P of every outcome, or an error that names what is still needed."""
    known = likelihood.derived(values)
    missing = [name for name in likelihood.arguments if name not in known]
    if missing:
        needed = [p.name for p in likelihood.parameters if p.name not in known]
        got = f"no {missing[0]}, nor what it follows from"
        raise InputError("values", got, f"values of {', '.join(needed)}")
    return np.asarray(likelihood.outcomes(values))


def same_cells(given: Mapping[str, NDArray[Any]]) -> tuple[int, ...]:
    """Shape (cells,) that all that is given by cell broadcasts to."""
    try:
        return np.broadcast_shapes(*(array.shape for array in given.values()))
    except ValueError as error:
        got = ", ".join(f"{array.size} {name}" for name, array in given.items() if array.size != 1)
        allowed = "one of each, or one for each cell"
        raise InputError("parameters of the cells", got, allowed) from error


def trials_per_stimulus(trials: ArrayLike) -> NDArray[np.int64]:
    """Trials of S1 and S2, shape (cells, 2) or (1, 2); an odd one goes to S1."""
    given = np.asarray(trials)
    if not np.issubdtype(given.dtype, np.integer) or (given < 0).any():
        raise InputError("trials", repr(trials), "whole numbers of at least 0")
    if given.ndim > 2 or given.shape[1:] not in ((), (2,)):
        raise InputError("trials", f"shape {given.shape}", "shape (), (cells,) or (cells, 2)")
    if given.ndim == 2:
        return given
    given = np.atleast_1d(given)
    return np.stack([given - given // 2, given // 2], axis=-1)


def classic_order(outcomes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns response S1 rating 1..K, S2 1..K → S1 K..1, S2 1..K."""
    levels = outcomes.shape[-1] // 2
    return np.concatenate([outcomes[..., levels - 1 :: -1], outcomes[..., levels:]], axis=-1)
