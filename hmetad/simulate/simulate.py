"""Data whose truth is known: count tables and trials drawn from a likelihood.

Parameters → count table (cell, stimulus, response, rating), or → trials (pandas).
Source: the likelihoods of `hmetad.likelihood`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.arguments import arrays_of_numbers, check_inputs, refuse_same_names, seed_or_none
from hmetad.counts.vectors import from_nr
from hmetad.errors import InputError
from hmetad.likelihood.registry import load_likelihood
from hmetad.simulate.values import design_values, log_outcomes, meta_d_values

__all__ = ["simulate_counts", "simulate_trials"]


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
        Name of another likelihood, which takes d′, c, gaps and its own choices, quantities or
        parameters: ``likelihood="linear-gaussian", process="wev", visibility=0.4, noise=0.6``.
        What it lacks, and what follows from values given, is not set to a default.
    coords : mapping of str to sequence, optional
        Coordinates of the cells, such as ``{"subject": [1, 2, 3]}``; they make the cells' labels.
    covariates : mapping of str to sequence, optional
        Coordinates that are no part of the labels, such as ``{"age": [31, 24, 58]}``, as in
        `count_trials`.
    seed : int or Generator, optional
        The same seed gives the same table.
    **values : float, str, or array, shape (cells,)
        Choices of the likelihood, and its quantities or parameters, by name; with their own dims
        last, where they have some.

    Returns
    -------
    DataArray
        Count table, dims (cell, stimulus, response, rating).

    Raises
    ------
    InputError
        If a parameter is no finite number, s or a gap is not positive, K < 1, trials are negative
        or not whole, or their sizes differ; if a coordinate or covariate has the wrong length, or
        a name that is taken; if the likelihood is unknown, or has other quantities; if a value
        follows from others, or probabilities do not sum to 1.

    Examples
    --------
    >>> counts = simulate_counts([1.0, 2.0], m_ratio=0.8, trials=200, seed=1)
    >>> counts.sum("rating").values.tolist()
    [[[76, 24], [28, 72]], [[83, 17], [19, 81]]]
    """
    totals = trials_per_stimulus(trials)
    usual = {"c": 0.0, "m_ratio": 1.0, "s": 1.0, "gaps": 0.5}
    came = {"c": c, "m_ratio": m_ratio, "s": s}
    others = {name: x for name, x in came.items() if not np.array_equal(x, usual[name])}
    others |= {} if gaps is None else {"gaps": gaps}
    chosen = {name: value for name, value in values.items() if isinstance(value, str)}
    values = {name: value for name, value in values.items() if name not in chosen}
    asked = {"dprime": dprime, **others, **values}
    if likelihood == "meta-d":
        if values or chosen:
            got = repr(next(iter({**values, **chosen})))
            raise InputError("values", got, "m_ratio and s, of meta-d′")
        # With an M for each response, of which both may be the same.
        record = load_likelihood("response-conditional", meta_criterion=meta_criterion)
        given = meta_d_values({"dprime": dprime, **usual, **others}, ratings)
    else:
        own_rule = {} if meta_criterion == "relative" else {"meta_criterion": meta_criterion}
        record = load_likelihood(likelihood, **own_rule, **chosen)
        given = design_values(record, asked, {**usual, "first_gap": 0.5}, ratings)
    own = {
        name: np.shape(value)[: np.ndim(value) - len(record.dims(name))]
        for name, value in given.items()
    }
    cells = same_cells({**own, "trials": totals.shape[:1]})
    by_cell = {
        name: np.broadcast_to(value, (*cells, *value.shape[len(own[name]) :]))
        for name, value in given.items()
    }
    outcomes = log_outcomes(record, by_cell)
    outcomes = outcomes.reshape(*outcomes.shape[:-2], -1)
    drawn = np.random.default_rng(seed).multinomial(totals, np.exp(outcomes))
    first, second = np.moveaxis(classic_order(drawn), 1, 0)
    named: dict[str, Any] = dict(coords or {})
    return from_nr(first, second, covariates=covariates, **named)


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


def same_cells(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Shape (cells,) that all that is given by cell broadcasts to."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        got = ", ".join(f"{shape[0]} {name}" for name, shape in shapes.items() if shape > (1,))
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
