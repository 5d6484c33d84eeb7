"""Penalised estimates of every cell at once, by Fisher scoring, for any likelihood.

Counts (NumPy) and a Family → parameters and their variances. The penalty is a weak normal
prior, so that ratings nobody used, or confidence that runs backward, still have a finite answer.
Hierarchical models start from these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.likelihood.family import NUMPY, TWO_ALTERNATIVES, Family
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import LOG_GAP, log_likelihood
from hmetad.likelihood.tape import column_slices, sloped_outcomes
from hmetad.mle.search import Stop, maximise

type Floats = NDArray[np.float64]

STOP = Stop(step=1e-7, steps=60)
# Where the first step starts at the penalty's centre, it may be so long.
FIRST_STEP = 3.0
# What the ratings say of a parameter is at least this share of what the penalty says.
SMALLEST_SHARE = 0.02
# Standard deviations of the penalty from an estimate to that without it, at most: where a slope
# meets next to no curvature, the normal that has both lies a hundred away, and means nothing.
FARTHEST_WITHOUT = 3.0
SMALL_DPRIME = 0.01
# Of central differences: the cube root of double precision.
DIFFERENCE = 6e-6
# Points at which a function is asked for together, and slopes that are computed together.
AT_ONCE, SLOPES_AT_ONCE = 20_000, 4_000_000


@dataclass(frozen=True)
class CellModes:
    """Estimates of every cell.

    Parameters
    ----------
    values, variances : dict of str to array
        By variable of a parameter; first dim cell, then those of the parameter. Variances are
        those of the normal that has the curvature of likelihood and penalty together.
    is_converged : array of bool, shape (cells,)
    without_penalty : dict of str to tuple of arrays
        Values and variances of the normal that has the slope and the curvature of the likelihood
        alone at the estimate, marginal to the other parameters.
    """

    values: dict[str, Floats]
    variances: dict[str, Floats]
    is_converged: NDArray[np.bool_]
    without_penalty: dict[str, tuple[Floats, Floats]]

    def at(self, rows: NDArray[np.int64]) -> "CellModes":
        """Estimates of some cells, any of them more than once."""
        return CellModes(
            {name: own[rows] for name, own in self.values.items()},
            {name: own[rows] for name, own in self.variances.items()},
            self.is_converged[rows],
            {name: (own[rows], v[rows]) for name, (own, v) in self.without_penalty.items()},
        )


@dataclass(frozen=True)
class CellLikelihood:
    """A likelihood of some cells, as functions of one vector of parameters a cell.

    Parameters
    ----------
    likelihood : Family
    counts : array, shape (cells, 2, 2, K)
    given : mapping of str to array, shape (cells,)
        Quantities that are no parameters.
    penalty : mapping of str to Prior
        By variable; mean 0 and SD 1 where a prior has no `mu` or `sigma`.
    """

    likelihood: Family
    counts: Floats
    given: Mapping[str, Floats] = field(default_factory=dict)
    penalty: Mapping[str, Prior] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape per cell of each variable, in the order of the vector."""
        ratings = self.counts.shape[-1]
        family = self.likelihood
        return {p.variable: family.shape(p.name, ratings) for p in family.parameters}

    @property
    def trials(self) -> Floats:
        """Numbers of trials that the experimenter chose, (cells, stimuli)."""
        answers = len(self.likelihood.layout.answers)
        return self.counts.sum(axis=tuple(range(-answers, 0)))

    def of(self, rows: NDArray[np.int64]) -> "CellLikelihood":
        """The same for some of the cells."""
        given = {name: values[rows] for name, values in self.given.items()}
        return CellLikelihood(self.likelihood, self.counts[rows], given, self.penalty)

    def moment(self, name: str, default: float) -> Floats:
        """Mean or SD of the penalty, (parameters,)."""
        own = [
            np.full(int(np.prod(shape)), self.penalty[variable].parameters.get(name, default))
            for variable, shape in self.shapes.items()
        ]
        return np.concatenate(own)

    def split(self, vectors: Floats) -> dict[str, Floats]:
        """Parts of vectors (cells, parameters), by variable."""
        places = column_slices(self.shapes).items()
        return {x: vectors[:, at].reshape(len(vectors), *self.shapes[x]) for x, at in places}

    def values(self, vectors: Floats) -> dict[str, Floats]:
        """Values of all parameters; a vector has those around another as distances from it."""
        values = {**self.given, **self.split(vectors)}
        for parameter in self.likelihood.parameters:
            if parameter.prior_centre:
                own = values[parameter.variable]
                centre = values[parameter.prior_centre].reshape(-1, *[1] * (own.ndim - 1))
                values[parameter.variable] = own + centre
        return values

    def arguments(self, vectors: Floats) -> list[Floats]:
        """Arguments of the probabilities, each (cells, *its dims)."""
        values = self.likelihood.derived(self.values(vectors))
        names = self.likelihood.arguments
        return [np.ascontiguousarray(values[name], dtype=float) for name in names]

    def evaluate(self, vectors: Floats) -> tuple[Floats, Floats, Floats]:
        """ℓ of each cell, its gradient (cells, parameters), and its expected information."""
        kernel = kernel_of(self.likelihood)
        if not kernel and self.is_compiled:
            return self.scored_outcomes(vectors)
        at = joined_arguments(self, vectors)
        if kernel:
            value, partials = kernel.log_likelihood(self.counts, at, True)
        if hasattr(kernel, "expected_information"):
            slopes = slopes_of(joined_arguments, self, vectors)
            information = kernel.expected_information(self.trials, at)
            gradient = np.einsum("inp,in->ip", slopes, partials)
            return value, gradient, slopes.transpose(0, 2, 1) @ information @ slopes
        log_p = self.log_outcomes(vectors)
        if not kernel:
            outcomes = log_p.reshape(self.counts.shape)
            value = log_likelihood(self.counts, outcomes, axes=self.counts.ndim - 1)
        slopes = slopes_of(CellLikelihood.log_outcomes, self, vectors)
        gradient = np.einsum("inp,in->ip", slopes, self.counts.reshape(log_p.shape))
        expected = self.expected(log_p)
        return value, gradient, np.einsum("inp,in,inq->ipq", slopes, expected, slopes)

    def expected(self, log_p: Floats) -> Floats:
        """Expected counts of the outcomes, of which each stimulus has as many."""
        trials = self.trials.reshape(len(log_p), -1)
        return np.exp(log_p) * np.repeat(trials, log_p.shape[1] // trials.shape[1], axis=1)

    @property
    def is_compiled(self) -> bool:
        """Whether a tape leads from vectors to probabilities, of more outcomes than two by two."""
        own = self.likelihood
        is_plain = own.compiled_kernel and not any(p.prior_centre for p in own.parameters)
        return bool(is_plain) and own.layout != TWO_ALTERNATIVES

    def scored_outcomes(self, vectors: Floats) -> tuple[Floats, Floats, Floats]:
        """`evaluate` by the compiled probability of each outcome."""
        rows = np.hstack([*(own[:, None] for own in self.given.values()), vectors])
        each = max(1, SLOPES_AT_ONCE // (self.counts[0].size * rows.shape[1]))
        parts = [
            sloped_outcomes(self.likelihood, rows[start : start + each], self.counts.shape[-1])
            for start in range(0, len(rows), each)
        ]
        log_p, slopes = (np.concatenate(own) for own in zip(*parts, strict=True))
        slopes = slopes[..., len(self.given) :]
        counts, expected = self.counts.reshape(log_p.shape), self.expected(log_p)
        # What never came may be as improbable as it likes.
        value = np.where(counts > 0, counts * log_p, 0.0).sum(axis=1)
        gradient = np.einsum("inp,in->ip", slopes, counts)
        return value, gradient, slopes.mT @ (expected[..., None] * slopes)

    def log_outcomes(self, vectors: Floats) -> Floats:
        """log P of every outcome, (cells, outcomes)."""
        log_p = self.likelihood.log_probabilities(*self.arguments(vectors), xp=NUMPY)
        return np.broadcast_to(log_p, self.counts.shape).reshape(len(vectors), -1)


def penalised_modes(
    counts: Floats, likelihood: Family, given: Mapping[str, Floats] | None = None
) -> CellModes:
    """Maximise ℓ(θ) - Σ (θ - µ)² / (2 σ²) for every cell, with the default priors as penalty.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
    likelihood : Family
    given : mapping of str to array, shape (cells,), optional
        Quantities that are no parameters of the likelihood, by name.

    Returns
    -------
    CellModes

    Examples
    --------
    >>> from hmetad.likelihood.registry import load_likelihood
    >>> s1, s2 = [[26, 37, 35, 87], [12, 4, 2, 1]], [[22, 15, 5, 2], [33, 38, 40, 45]]
    >>> modes = penalised_modes(np.array([[s1, s2]]), load_likelihood("meta-d"))
    >>> modes.values["dprime"].round(1), bool(modes.is_converged.all())
    (array([2.1]), True)
    """
    penalty = {
        p.variable: LOG_GAP.prior if p.truncated_at else p.prior for p in likelihood.parameters
    }
    counts = np.ascontiguousarray(counts, dtype=float)
    problem = CellLikelihood(likelihood, counts, given or {}, penalty)
    # Cells of one trial each, of which there may be thousands, are of a few kinds.
    columns = [counts.reshape(len(counts), -1), *(x[:, None] for x in problem.given.values())]
    _, first, kind = np.unique(np.hstack(columns), axis=0, return_index=True, return_inverse=True)
    if 2 * len(first) > len(counts):
        return modes_of(problem)
    return modes_of(problem.of(first)).at(kind)


def modes_of(problem: CellLikelihood) -> CellModes:
    """Maximum of every cell, each reached separately."""
    middle, precision = problem.moment("mu", 0.0), problem.moment("sigma", 1.0) ** -2.0

    def penalised(vectors: Floats, rows: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        value, gradient, information = problem.of(rows).evaluate(vectors)
        away = vectors - middle
        value = value - (away**2 * precision).sum(axis=1) / 2
        return value, gradient - away * precision, information + np.diag(precision)

    is_near = problem.likelihood.layout == TWO_ALTERNATIVES
    stop = STOP if is_near else replace(STOP, radius=FIRST_STEP)
    found = maximise(penalised, starting_vectors(problem, middle), stop)
    theta = found.points
    variances = np.diagonal(np.linalg.inv(found.bend), axis1=1, axis2=2)
    values = {name: problem.values(theta)[name] for name in problem.shapes}
    known = np.maximum(1 / variances - precision, SMALLEST_SHARE * precision)
    farthest = FARTHEST_WITHOUT / np.sqrt(precision)
    outward = np.clip((theta - middle) * precision / known, -farthest, farthest)
    alone = problem.values(theta + outward)
    split = problem.split(1 / known)
    return CellModes(
        values,
        problem.split(variances),
        found.is_done,
        {name: (alone[name], split[name]) for name in values},
    )


def starting_vectors(problem: CellLikelihood, middle: Floats) -> Floats:
    """The penalty's centre, but d′ and c from the rates, which half a trial keeps off 0 and 1."""
    if problem.likelihood.layout != TWO_ALTERNATIVES:
        return np.tile(middle, (len(problem.counts), 1))
    responses = problem.counts.sum(axis=3)
    false_alarms, hits = ndtri((responses[:, :, 1] + 0.5) / (responses.sum(axis=2) + 1)).T
    theta = np.tile(middle, (len(problem.counts), 1))
    parts = problem.split(theta)
    # At a d′ of 0 there is no M, if meta-d′ is the parameter.
    sensitivity = np.where(hits == false_alarms, SMALL_DPRIME, hits - false_alarms)
    for name, seen in (("dprime", sensitivity), ("c", -(hits + false_alarms) / 2)):
        if name in parts:
            parts[name][...] = seen
    return theta


def slopes_of(
    function: Callable[[CellLikelihood, Floats], Floats], problem: CellLikelihood, vectors: Floats
) -> Floats:
    """Derivatives (cells, outputs, parameters) of a function of cells, by central differences."""
    cells, size = vectors.shape
    columns, each = list[Floats](), max(1, AT_ONCE // (2 * cells))
    for start in range(0, size, each):
        shifts = DIFFERENCE * np.eye(size)[start : start + each]
        around = vectors[:, None] + np.concatenate([shifts, -shifts])
        part = problem.of(np.repeat(np.arange(cells), 2 * len(shifts)))
        found = function(part, around.reshape(-1, size)).reshape(cells, 2, len(shifts), -1)
        columns.append((found[:, 0] - found[:, 1]) / (2 * DIFFERENCE))
    return np.concatenate(columns, axis=1).transpose(0, 2, 1)


def joined_arguments(problem: CellLikelihood, vectors: Floats) -> Floats:
    """Arguments of the probabilities side by side, (cells, numbers)."""
    arrays = problem.arguments(vectors)
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)


def kernel_of(likelihood: Family) -> Any:
    """Module with the compiled functions of a likelihood, if it has one."""
    return import_module(likelihood.kernel_module) if likelihood.kernel_module else None
