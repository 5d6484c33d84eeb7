"""The log posterior of observers crossed with items, whose effects are integrated out.

Program with a crossing, and free values → log posterior density and gradient, as
`hmetad.bayes.density` has them for cells that have their own counts. The parameters of observers
are moved to the nodes of a grid of item effects; `hmetad.likelihood.crossed` adds up the items.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hmetad.base.threads import in_threads, usable_cpus
from hmetad.bayes.density import CELLS, add_rest, parameters_at, pull_back, unwarp
from hmetad.likelihood.crossed import CrossedLikelihood, Effects
from hmetad.specs.crossing import elpd_of_levels, inverse_root
from hmetad.specs.layout import IntegratedLayout

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Of the climb to the highest point, and of differences of slopes there.
CLIMB: dict[str, Any] = {"maxiter": 300, "maxcor": 30, "ftol": 1e-10, "gtol": 1e-2}
NUDGE = 1e-4
# A direction that the data leave open has at least this curvature.
SMALLEST_CURVATURE = 0.25


class CrossedDensity:
    """Log posterior of a program with a crossing; one object for each thread.

    Parameters
    ----------
    packed : array of int
        The program's arrays in one row.
    layout : IntegratedLayout
        Its variables of the factor that is integrated out.
    likelihood : CrossedLikelihood
    """

    def __init__(
        self, packed: Integers, layout: IntegratedLayout, likelihood: CrossedLikelihood
    ) -> None:
        self.packed, self.layout, self.likelihood = packed, layout, likelihood

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Log posterior density of free values, and its gradient."""
        return self.parts(x)[:2]

    def parts(self, x: Floats) -> tuple[float, Floats, Floats]:
        """The same, and the log-likelihood of items."""
        shared, values, work, parameters = parameters_at(x, self.packed)
        layout, partial = self.layout, self.layout.partial
        found, by_parameters, by_sds, by_rho, by_logs = self.likelihood.value_and_slopes(
            parameters, self.effects(values)
        )
        slopes, gradient = np.zeros(len(values)), np.empty(len(x))
        for own, by_log in zip(layout.loadings, by_logs.T, strict=False):
            slopes[own.elements] = by_log
        slopes[[sd.first for sd in layout.sds]] = by_sds[: len(layout.sds)]
        if partial is not None:
            slopes[partial.first] = 2 * by_rho
        by_cell = np.zeros(self.packed[CELLS])
        shared += add_rest(x, values, work, self.packed, by_parameters, slopes, by_cell, gradient)
        return shared + by_cell.sum() + found.sum(), gradient, found

    def effects(self, values: Floats) -> Effects:
        """Standard deviations, correlation and loadings among values."""
        layout, partial = self.layout, self.layout.partial
        rho = 0.0 if partial is None else 2 * float(values[partial.first]) - 1
        logs = [values[own.elements] for own in layout.loadings]
        loadings = np.stack(logs, axis=1) if logs else None
        sds = tuple(float(values[sd.first]) for sd in layout.sds)
        return Effects(sds or (1.0,), rho, loadings)

    def value(self, x: Floats) -> float:
        """Log posterior density of free values alone, in less time."""
        shared, values, work, parameters = parameters_at(x, self.packed)
        found = self.likelihood.value(parameters, self.effects(values))
        none, by_cell = np.empty(0), np.zeros(self.packed[CELLS])
        shared += add_rest(
            x, values, work, self.packed, np.empty((0, 0)), np.zeros(len(values)), by_cell, none
        )
        return float(shared + by_cell.sum() + found.sum())

    def at_moved(self, u: Floats) -> tuple[float, Floats, Floats]:
        """The same of what chains move."""
        x = np.empty(len(u))
        jacobian = unwarp(u, self.packed, x)
        value, gradient, found = self.parts(x)
        pull_back(u, x, self.packed, gradient)
        return value + jacobian, gradient, found


@dataclass(frozen=True)
class Whitening:
    """What chains move as a linear function of values that are near standard normal.

    Parameters
    ----------
    centre : array, shape (free,)
        Where the density of what chains move is highest.
    factor : array, shape (free, free)
        What they move is centre + factor @ values.
    elpd : array, shape (levels,)
        Log predictive density of each level of the factor that is integrated out, by the rest.
    """

    centre: Floats
    factor: Floats
    elpd: Floats

    def moved(self, values: Floats) -> Floats:
        """What chains move."""
        return self.centre + self.factor @ values


def whitening_of(
    make: Callable[[], CrossedDensity], start: Floats, factor: Floats | None = None
) -> Whitening:
    """Whitening by the curvature of the log density at its highest point, found from a start.

    `make` makes the density for a thread; a factor is a first guess of the whitening's.
    """
    density, scale = make(), np.eye(len(start)) if factor is None else factor

    def fall(z: Floats) -> Any:
        value, gradient, _ = density.at_moved(start + scale @ z)
        return -value, -gradient @ scale

    search: Any = minimize
    found = search(fall, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=CLIMB)
    centre = start + scale @ found.x

    def around(steps: Floats) -> list[tuple[Floats, Floats]]:
        own = make()
        return [own.at_moved(centre + step)[1:] for step in steps]

    parts = np.array_split(NUDGE * np.eye(len(centre)), usable_cpus())
    slopes, moved = map(np.array, zip(*chain(*in_threads(around, parts)), strict=True))
    _, slope, of_items = density.at_moved(centre)
    curvature = (slope - slopes) / NUDGE
    factor = inverse_root((curvature + curvature.T) / 2, SMALLEST_CURVATURE)
    elpd = elpd_of_levels(of_items, (moved - of_items) / NUDGE, factor)
    return Whitening(centre, factor, elpd)


def fitted_to_slopes(
    make: Callable[[], CrossedDensity], whitening: Whitening, points: Floats
) -> Whitening:
    """Whitening by the mean curvature over points (number, free), which are standard normal in it.

    The curvature at the mode says less of a skewed posterior, whose mean is elsewhere. Slopes of a
    normal density are linear: their regression on the points has its mean and its curvature.
    """

    def slopes_at(some: Floats) -> list[Floats]:
        density = make()
        return [density.at_moved(whitening.moved(z))[1] @ whitening.factor for z in some]

    parts = np.array_split(points, usable_cpus())
    slopes = np.array([*chain(*in_threads(slopes_at, parts))])
    is_known = np.isfinite(slopes).all(axis=1)
    design = np.column_stack([np.ones(len(points)), points])
    found = np.linalg.lstsq(design[is_known], slopes[is_known])[0]
    factor = inverse_root(-(found[1:] + found[1:].T) / 2, SMALLEST_CURVATURE)
    centre = whitening.moved(factor @ factor.T @ found[0])
    return replace(whitening, centre=centre, factor=whitening.factor @ factor)
