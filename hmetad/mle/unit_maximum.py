"""Maximum of the likelihood of a unit: Newton's method in a trust region, from several starts.

Unit and starting points → UnitMaximum.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

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
# A coefficient on a log scale beyond this is at an edge, such as noise of e^-15 or e^15.
LARGEST_LOG = 15.0
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

    is_log = np.array([name.startswith(("log_", "logit_")) for name in unit.names])

    def stop_on_plateau() -> Callable[[OptimizeResult], None]:
        flat = 0

        def look(intermediate_result: OptimizeResult) -> None:
            nonlocal flat
            x = intermediate_result.x
            flat = flat + 1 if np.abs(cost(x)[1]).max() < SMALL_SLOPE else 0
            is_far = (np.abs(x[is_log]) > LARGEST_LOG).any()
            if flat >= (1 if is_far else FLAT_STEPS):
                raise StopIteration

        return look

    best = None
    for start in starts:
        found = minimize(
            cost,
            start,
            jac=True,
            hess=curvature,
            method="trust-exact",
            callback=stop_on_plateau(),
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
