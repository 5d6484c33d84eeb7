"""Maximum of the likelihood of a unit: Newton's method in a trust region, from several starts.

Unit and starting points → UnitMaximum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hmetad.mle.units import Unit

__all__ = ["UnitMaximum", "maximise_unit"]

type Floats = NDArray[np.float64]

# Of the central differences of gradients that give second derivatives.
DIFFERENCE = 1e-4
STEPS = 300
SLOPE = 1e-6
# A slope as small as this is that of a maximum, or of a plateau that ends at an edge.
SMALL_SLOPE = 1e-3
# So many steps with such slopes end the search: near a maximum Newton's method needs fewer, and on
# a plateau it goes on for hundreds.
FLAT_STEPS = 6
# A coefficient on a log scale beyond the first is at an edge if the slope is small, as noise of
# e^-15. Beyond the second, or of another scale beyond the third, the search is lost in any case.
LARGEST_LOG, FARTHEST_LOG, FARTHEST = 15.0, 30.0, 300.0
# Standard errors of coefficients, on their own scale, above which counts do not determine them.
LARGEST_ERROR = 5.0
SMALLEST_CURVATURE = 1e-9
# Value where there is none.
NOWHERE = -1e12


@dataclass(frozen=True)
class UnitMaximum:
    """Maximum of a unit.

    Parameters
    ----------
    point : array, shape (coefficients,)
    value : float
        ℓ, without multinomial coefficients.
    covariance : array, shape (coefficients, coefficients)
        Inverse of the observed information; where that is next to nothing, it is huge.
    is_open : array of bool, shape (coefficients,)
        Coefficients that counts do not determine: ℓ rises to an edge, or is flat.
    converged : bool
    """

    point: Floats
    value: float
    covariance: Floats
    is_open: NDArray[np.bool_]
    converged: bool


class Plateau:
    """Ends a search that goes on along a plateau."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.is_log = np.array([name.startswith(("log_", "logit_")) for name in unit.names])
        self.steps = 0

    def __call__(self, xk: Floats) -> None:
        slopes = self.unit.value_and_gradient(xk[None])[1]
        self.steps = self.steps + 1 if np.abs(slopes).max() < SMALL_SLOPE else 0
        far = np.abs(xk[self.is_log]).max(initial=0.0)
        is_lost = far > FARTHEST_LOG or np.abs(xk[~self.is_log]).max(initial=0.0) > FARTHEST
        if is_lost or self.steps >= (1 if far > LARGEST_LOG else FLAT_STEPS):
            raise StopIteration


def maximise_unit(unit: Unit, starts: Floats) -> UnitMaximum:
    """The highest of the maxima that are found from starting points (starts, coefficients)."""

    def cost(x: Floats) -> tuple[float, Floats]:
        value, gradient = unit.value_and_gradient(x[None])
        if not np.isfinite(value[0]) or not np.isfinite(gradient).all():
            return -NOWHERE, np.zeros_like(x)
        return -value[0], -gradient[0]

    def curvature(x: Floats) -> Floats:
        steps = DIFFERENCE * np.eye(len(x))
        slopes = unit.value_and_gradient(np.concatenate([x + steps, x - steps]))[1]
        found = np.nan_to_num((slopes[len(x) :] - slopes[: len(x)]) / (2 * DIFFERENCE))
        return (found + found.T) / 2

    best = None
    for start in starts:
        found = minimize(
            cost,
            start,
            jac=True,
            hess=curvature,
            method="trust-exact",
            callback=Plateau(unit),
            options={"maxiter": STEPS, "gtol": SLOPE, "initial_trust_radius": 0.5},
        )
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    size, vectors = np.linalg.eigh(curvature(best.x))
    known = np.maximum(size, SMALLEST_CURVATURE)
    covariance = (vectors / known) @ vectors.T
    slope = float(np.abs(np.asarray(best.jac)).max())
    return UnitMaximum(
        best.x,
        -float(best.fun),
        covariance,
        np.sqrt(np.diagonal(covariance)) > LARGEST_ERROR,
        bool(slope < SMALL_SLOPE and best.fun < -NOWHERE),
    )
