"""Data whose truth is known: count tables and trials drawn from a likelihood.

Parameters → count table (cell, stimulus, response, rating), or → trials (pandas).
Source: the likelihoods of `hmetad.likelihood`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, seed_or_none, whole
from hmetad.base.errors import (
    CardError,
    EmptyError,
    NumberError,
    ShapeError,
    SourceError,
    TooFewError,
    UnknownError,
    nearest,
)
from hmetad.base.labels import check_same_names
from hmetad.counts.checks import whole_options
from hmetad.counts.tables import cell_coords, plain_attrs
from hmetad.counts.vectors import from_nr, labelled_cells
from hmetad.likelihood.family import TWO_ALTERNATIVES, Family, OutcomeLayout
from hmetad.likelihood.registry import load_likelihood, sums_other_than_one

type Floats = NDArray[np.float64]

POSITIVE = ("gaps", "s")
# Sizes of dims of criteria, less than the number of ratings by this.
LESS_THAN_K = {"criterion": 1, "criterion_gap": 2}


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
    dprime: ArrayLike | None = None,
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
        broadcast against each other; `dprime` is optional if the likelihood lacks it. An `m_ratio`
        of shape (cells, 2) has a value per response.
    trials : int or array, shape (cells,) or (cells, 2)
        Trials of a cell, split as evenly as possible, or those of S1 and of S2.
    gaps : array, shape (..., 2, K - 1), optional
        Distances between type-2 criteria, per response, outward from κ; ½ each by default.
    ratings : int
        K, if `gaps` does not determine it.
    meta_criterion : {"relative", "absolute"}
        κ = M·c or κ = c.
    likelihood : str, optional
        Name of another likelihood, which takes d′, c, gaps and its own choices, quantities or
        parameters: ``likelihood="linear-gaussian", process="wev", visibility=0.4, noise=0.6``, or
        ``likelihood="alternatives", options=4``.
        Quantities that it lacks, or that follow from given values, have no default; biases are 0 by
        default.
    coords : mapping of str to sequence, optional
        Coordinates of the cells, such as ``{"subject": [1, 2, 3]}``; they make the labels of cells.
    covariates : mapping of str to sequence, optional
        Coordinates that are not part of the labels, such as ``{"age": [31, 24, 58]}``, as in
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
        If a parameter is not a finite number, s or a gap is not positive, K < 1, trials are
        negative or non-integer, or their sizes differ; if a coordinate or covariate has the wrong
        length, or a name that is taken; if the likelihood is unknown, or has other quantities; if a
        value follows from others, or probabilities do not sum to 1.

    Examples
    --------
    >>> counts = simulate_counts([1.0, 2.0], m_ratio=0.8, trials=200, seed=1)
    >>> counts.sum("rating").values.tolist()
    [[[76, 24], [28, 72]], [[83, 17], [19, 81]]]
    """
    defaults = {"c": 0.0, "m_ratio": 1.0, "s": 1.0}
    named = {"dprime": dprime, "c": c, "m_ratio": m_ratio, "s": s, "gaps": gaps}
    asked: dict[str, Any] = {
        name: value
        for name, value in named.items()
        if value is not None and not np.array_equal(value, defaults.get(name, np.nan))
    }
    chosen = chosen_values(likelihood, values)
    asked |= {name: value for name, value in values.items() if name not in chosen}
    fixed: dict[str, Floats] = {}
    if likelihood == "meta-d":
        likelihood = "response-conditional"
        asked, fixed = meta_d_values(asked, [name for name in values if name not in chosen])
    own_rule = {} if meta_criterion == "relative" else {"meta_criterion": meta_criterion}
    record = load_likelihood(likelihood, **own_rule, **chosen)
    usual = (
        defaults
        | {"gaps": 0.5, "first_gap": 0.5, "item_shift": 0.0}
        | ({} if "biases" in asked else {"bias": 0.0})
    )
    given = design_values(record, asked, usual, ratings) | fixed
    if "options" in given:
        whole_options(np.ravel(given["options"]), "the values")
    stimuli = math.prod(record.layout.shape(ratings)[: len(record.layout.given)])
    totals = trials_per_stimulus(trials, stimuli)
    by_cell = values_of_cells(record, given, totals)
    log_p = log_outcomes(record, by_cell)
    outcomes = np.exp(log_p).reshape(len(log_p), stimuli, -1)
    drawn = np.random.default_rng(seed).multinomial(totals, outcomes)
    drawn = drawn.reshape(len(drawn), *log_p.shape[1:])
    known = by_cell.get("options"), coords or {}, covariates or {}
    return labelled_counts(drawn, record.layout, *known)


def meta_d_values(
    asked: Mapping[str, Any], others: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Values of meta-d′ for the likelihood with an M for each response, and those it has fixed.

    Its formulas have s = 1, from which simulated data may differ.
    """
    if "dprime" not in asked:
        raise SourceError("dprime", "None", "d′ of every cell")
    if others:
        raise SourceError("values", repr(others[0]), "m_ratio and s, of meta-d′")
    m_ratio = asked.get("m_ratio", 1.0)
    # An M for each response, of which both may be the same.
    both = {"m_ratio": np.stack([m_ratio, m_ratio], axis=-1)} if np.ndim(m_ratio) == 1 else {}
    rest = {name: value for name, value in asked.items() if name != "s"}
    return rest | both, {"s": with_dims("s", asked.get("s", 1.0), (), {})}


def labelled_counts(
    drawn: NDArray[np.int64],
    layout: OutcomeLayout,
    options: NDArray[np.float64] | None,
    coords: Mapping[str, Sequence[Any]],
    covariates: Mapping[str, Sequence[Any]],
) -> xr.DataArray:
    """Count table of counts (cells, ...) of a layout; a fit has to know the numbers of options."""
    if layout == TWO_ALTERNATIVES:
        rows = np.concatenate([drawn[:, :, 0, ::-1], drawn[:, :, 1]], axis=-1)
        own = dict[str, Any](coords)
        return from_nr(rows[:, 0], rows[:, 1], covariates=covariates or None, **own)
    table, labels = labelled_cells(len(drawn), coords, covariates)
    known = {} if options is None else {"options": ("cell", whole_options(options, "the values"))}
    check_same_names(table, known)
    return xr.DataArray(
        drawn,
        {**cell_coords(table), **known, "cell": labels, **layout.labels(drawn.shape[-1])},
        ("cell", *layout.dims),
        "counts",
        plain_attrs({"by": [*coords], "covariates": [*covariates]}),
    )


@check_inputs(
    dprime=arrays_of_numbers, c=arrays_of_numbers, m_ratio=arrays_of_numbers, seed=seed_or_none
)
def simulate_trials(
    dprime: ArrayLike | None = None,
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
        cells) and of `covariates`, then stimulus and response ("S1", "S2") and confidence (1..K);
        of a likelihood of correct and incorrect, options and correct ("wrong", "right").

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
    outcomes = counts.drop_vars(["options"], errors="ignore").to_series().reset_index()
    answers = [str(dim) for dim in counts.dims if dim not in ("cell", "rating")]
    added = [*(coords or ()), *(covariates or ()), *(x for x in ("options",) if x in counts.coords)]
    check_same_names(added, ["confidence"])
    names = [] if coords or counts.sizes["cell"] == 1 else ["cell"]
    for name in added:
        outcomes[name] = counts[name].sel(cell=outcomes["cell"].to_numpy()).to_numpy()
    rows = np.repeat(np.arange(len(outcomes)), outcomes["counts"])
    trials = outcomes.iloc[rng.permutation(rows)].rename(columns={"rating": "confidence"})
    return trials[[*names, *added, *answers, "confidence"]].reset_index(drop=True)


def chosen_values(likelihood: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Choices of the likelihood among the values, as text; other text is no number, except m."""
    names = [choice.name for choice in load_likelihood(likelihood).choices]
    names += [name for name, x in values.items() if isinstance(x, str) and name != "options"]
    return {name: str(x) for name, x in values.items() if name in names}


def values_of_cells(
    record: Family, given: Mapping[str, Floats], totals: NDArray[np.int64]
) -> dict[str, Floats]:
    """Values by name with the dim of cells in front, as many as values and trials have."""
    leading = {name: np.ndim(value) - len(record.dims(name)) for name, value in given.items()}
    shapes = {name: np.shape(value)[: leading[name]] for name, value in given.items()}
    shapes["trials"] = totals.shape[:1]
    try:
        cells = np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        got = ", ".join(f"{shape[0]} {name}" for name, shape in shapes.items() if shape > (1,))
        allowed = "one of each, or one for each cell"
        raise CardError("parameters of the cells", got, allowed) from error
    return {
        name: np.broadcast_to(value, (*cells, *np.shape(value)[leading[name] :]))
        for name, value in given.items()
    }


def trials_per_stimulus(trials: ArrayLike, stimuli: int = 2) -> NDArray[np.int64]:
    """Trials of each stimulus, shape (cells, stimuli) or (1, stimuli); odd ones go to the first."""
    given = np.asarray(trials)
    if not np.issubdtype(given.dtype, np.integer) or (given < 0).any():
        raise TooFewError("trials", repr(trials), "whole numbers of at least 0")
    if given.ndim > 2 or given.shape[1:] not in ((), (stimuli,)):
        allowed = f"shape (), (cells,) or (cells, {stimuli})"
        raise ShapeError("trials", f"shape {given.shape}", allowed)
    if given.ndim == 2:
        return given
    given = np.atleast_1d(given)[:, None]
    return given // stimuli + (np.arange(stimuli) < given % stimuli)


def design_values(
    likelihood: Family,
    asked: Mapping[str, ArrayLike],
    usual: Mapping[str, ArrayLike],
    ratings: int,
) -> dict[str, Floats]:
    """Values asked for, else the usual ones that do not follow from them, with their own dims."""
    # Criteria on the wrong side of κ, or out of order, are no criteria: gaps cannot be so.
    if "criteria" in asked:
        raise NumberError("criteria", "type-2 criteria", "the distances between them", "Use gaps=.")
    known = {p.name for p in likelihood.parameters} | {q.name for q in likelihood.quantities}
    known.discard("criteria")
    for name in asked:
        if name not in known:
            raise UnknownError("values", repr(name), ", ".join(sorted(known)), nearest(name, known))
    levels = ratings_of(likelihood, asked, ratings)
    whole(1)("ratings", levels)
    dims, sizes = likelihood.dims, likelihood.layout.sizes(levels)
    values = {name: with_dims(name, value, dims(name), sizes) for name, value in asked.items()}
    for name, value in usual.items():
        if name in known and name not in likelihood.following(values):
            values[name] = with_dims(name, value, dims(name), sizes)
    for name in values:
        others = [other for other in values if other != name]
        if name in likelihood.following(others):
            got = f"a value beside those of {', '.join(others)}, from which it follows"
            raise SourceError(name, got, "one value for one thing", "Leave one of them out.")
    return values


def ratings_of(likelihood: Family, asked: Mapping[str, ArrayLike], ratings: int) -> int:
    """K of the arrays of criteria or gaps, or the one given where all are single numbers."""
    sizes = {
        name: np.shape(value)[-1] + LESS_THAN_K[dim]
        for name, value in asked.items()
        for dim in likelihood.dims(name)[-1:]
        if dim in LESS_THAN_K and np.ndim(value)
    }
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise SourceError("numbers of ratings", got, "the same of all")
    return next(iter(sizes.values()), ratings)


def with_dims(
    name: str, value: ArrayLike, dims: tuple[str, ...], sizes: Mapping[str, int]
) -> Floats:
    """Value of a cell, or values one a cell, with dims of its own: one number is that of all."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise NumberError(name, repr(value), "numbers") from error
    above = 0.0 if name in POSITIVE else -np.inf
    wrong = array[~(np.isfinite(array) & (array > above))]
    if wrong.size:
        allowed = "finite numbers" + (" above 0" if name in POSITIVE else "")
        raise NumberError(name, ", ".join(f"{value:g}" for value in wrong[:5]), allowed)
    if not array.ndim:
        return np.full([sizes[dim] for dim in dims], array)
    leading = array.ndim - len(dims)
    own = dict(zip(dims, array.shape[max(leading, 0) :], strict=False))
    is_wrong = any(size != sizes[dim] for dim, size in own.items() if dim not in LESS_THAN_K)
    if leading not in (0, 1) or 0 in array.shape[:leading] or is_wrong:
        allowed = f"one number, or dims {', '.join(dims) or 'of cells'}, or as much for each cell"
        raise ShapeError(name, f"shape {array.shape}", allowed)
    return array


def log_outcomes(likelihood: Family, values: Mapping[str, Floats]) -> Floats:
    """log P of every outcome, or an error that names what is still needed."""
    known = likelihood.following(values)
    for name in likelihood.arguments:
        if name not in known:
            needed = " and ".join(needed_for(likelihood, name, known))
            allowed = name if needed in (name, "") else f"{name}, or {needed}"
            raise EmptyError("values", f"no {name}, nor what it follows from", allowed)
    # What is out of its range is answered below.
    with np.errstate(all="ignore"):
        log_p = np.asarray(likelihood.outcomes(values))
    wrong = sums_other_than_one(likelihood.layout, log_p)
    if wrong.size:
        got = f"values whose probabilities sum to {wrong[0]:g}"
        raise SourceError("values", got, "a sum of 1 for each stimulus", "Is each in its range?")
    return log_p


def needed_for(likelihood: Family, name: str, known: set[str]) -> list[str]:
    """Parameters that are not known, and that a quantity follows from."""
    found, rest = set(known), [name]
    while rest:
        one = rest.pop()
        if one not in found:
            found.add(one)
            rest += [need for q in likelihood.quantities if q.name == one for need in q.needs]
    return [p.name for p in likelihood.parameters if p.name in found - known]
