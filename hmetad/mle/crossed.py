"""Maximum likelihood of observers crossed with items, whose effects are integrated out.

Crossing → the units of `hmetad.mle.units` with the integrated likelihood, as one unit, and their
maximum. Coefficients are those of the observers, and of the items the logarithms of the standard
deviations and Fisher's z of the correlation.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hmetad.base.threads import in_threads, usable_cpus
from hmetad.likelihood.crossed import Effects
from hmetad.mle.units import DIFFERENCE, Maxima, Units, inverse_of, units_of
from hmetad.specs.crossing import Crossing
from hmetad.specs.design import Design

__all__ = ["CrossedUnits", "crossed_units", "maximise_crossed"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Standard deviation of effects where the search begins.
START = 0.8
# Of the search, in coefficients that have curvature 1 if items are alike.
SEARCH = {"maxiter": 500, "maxcor": 30, "ftol": 1e-12, "gtol": 1e-3}
# Curvature of coefficients of the observers at the start, at least; that of the items' is this many
# items.
SMALLEST, SHARE = 1.0, 0.5


@dataclass(frozen=True)
class CrossedUnits(Units):
    """One unit, whose likelihood is that of the items."""

    crossing: Crossing | None = None

    @property
    def quantities_given(self) -> dict[str, Floats]:
        """Quantities of the observers that are no parameters, (observers,) each."""
        return {name: values[0] for name, values in self.given.items()}

    def density(self, coefficients: Floats, likelihood: Any) -> tuple[float, Floats]:
        """ℓ and its gradient (coefficients,), by the likelihood of a thread."""
        assert self.crossing is not None
        effects, number = len(self.crossing.parameters), len(coefficients)
        first = number - (1 if effects == 1 else 3)
        sds = np.exp(coefficients[first : first + effects])
        rho = float(np.tanh(coefficients[-1])) if effects > 1 else 0.0
        parameters = self.parameters(coefficients[None], np.zeros(1, np.int64))[0]
        found, slopes, by_sds, by_rho = likelihood.value_and_slopes(
            parameters, Effects(tuple(sds.tolist()), rho)
        )
        gradient = np.einsum("cp,cpk->k", slopes, self.matrix[0])
        gradient[first : first + effects] = by_sds * sds
        if effects > 1:
            gradient[-1] = by_rho * (1 - rho * rho)
        return float(found.sum()), gradient

    def slopes_at(self, points: Floats) -> Floats:
        """Gradients (points, coefficients), in as many threads as there are cores."""
        crossing = self.crossing
        assert crossing is not None

        def some(part: Floats) -> list[Floats]:
            likelihood = crossing.likelihood(self.quantities_given)
            return [self.density(point, likelihood)[1] for point in part]

        parts = np.array_split(points, usable_cpus())
        return np.array([row for part in in_threads(some, parts) for row in part])


def crossed_units(
    crossing: Crossing, designs: dict[str, Design], given: dict[str, Floats]
) -> CrossedUnits:
    """Observers of a crossing as one unit."""
    table = crossing.counts.to_numpy().astype(float)
    [own] = units_of(crossing.spec, designs, given, table, 1, is_one=True)
    factor, extra = crossing.factor, 1 if len(crossing.parameters) == 1 else 3
    names = [f"log_sd_{parameter}|{factor}" for parameter in crossing.parameters]
    names += [f"z_correlation|{factor}"] if extra == 3 else []
    matrix = np.concatenate([own.matrix, np.zeros((*own.matrix.shape[:-1], extra))], axis=-1)
    return CrossedUnits(
        **{**vars(own), "matrix": matrix, "names": (*own.names, *names)}, crossing=crossing
    )


def maximise_crossed(units: CrossedUnits, start: Floats) -> Maxima:
    """The maximum of the likelihood of items, from coefficients (coefficients,) of the observers.

    Pooled over items the observers have a curvature that whitens the search.
    """
    assert units.crossing is not None
    effects, levels = len(units.crossing.parameters), len(units.crossing.levels)
    of_items = np.array([np.log(START)] * effects + [0.0] * (effects - 1))
    first = np.concatenate([start[: len(start) - len(of_items)], of_items])
    curvature = Units.information(units, first[None], np.zeros(1, np.int64))[0]
    # Pooled counts say nothing of the items.
    last = np.arange(len(first) - len(of_items), len(first))
    curvature[last, last] = SHARE * levels
    values, vectors = np.linalg.eigh(curvature)
    factor = vectors / np.sqrt(np.maximum(values, SMALLEST))
    likelihood = units.crossing.likelihood(units.quantities_given)

    def fall(z: Floats) -> tuple[float, Floats]:
        value, gradient = units.density(first + factor @ z, likelihood)
        return -value, -factor.T @ gradient

    search: Any = minimize
    found = search(fall, np.zeros(len(first)), jac=True, method="L-BFGS-B", options=SEARCH)
    point = first + factor @ found.x
    value, gradient = units.density(point, likelihood)
    around = units.slopes_at(point + DIFFERENCE * np.eye(len(point)))
    bend = (gradient - around) / DIFFERENCE
    covariance, is_open = inverse_of((bend + bend.T)[None] / 2)
    converged = np.array([bool(np.isfinite(value) and found.success)])
    return Maxima(point[None], np.array([value]), covariance, is_open, converged)
