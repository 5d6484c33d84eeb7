"""Maximum likelihood of observers crossed with items, whose effects are integrated out.

Crossing → the units of `hmetad.mle.units` with the integrated likelihood, as one unit, and their
maximum. Coefficients are those of the observers, and of the items the logarithms of the standard
deviations, Fisher's z of the correlation, and the logarithms of the observers' loadings. These have
their prior: of a few items their likelihood often rises to an edge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, helmert
from scipy.optimize import minimize

from hmetad.base.variable_roles import Identity
from hmetad.likelihood.crossed import Effects
from hmetad.mle.units import Maxima, Units, inverse_of, units_of
from hmetad.specs.crossing import ENOUGH, Comparison, Crossing, elpd_of_levels, inverse_root
from hmetad.specs.design import Design
from hmetad.specs.spec import LOADING

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Standard deviation of effects where the search begins.
START = 0.8
# Logarithm of a standard deviation that a search may try.
LARGEST = 4.0
# Of the search, in coefficients that have curvature 1 if items are alike.
SEARCH = {"maxiter": 500, "maxcor": 30, "ftol": 1e-12, "gtol": 1e-3}
# Curvature of coefficients of the observers at the start, at least; that of the items' is this many
# items.
SMALLEST, SHARE = 1.0, 0.5
PRECISION = LOADING.parameters["sigma"] ** -2


@dataclass(frozen=True)
class CrossedUnits(Units):
    """One unit, whose likelihood is that of the items."""

    crossing: Crossing | None = None
    """Observers, and what they answered to the items."""
    own: Floats = field(default_factory=lambda: np.empty(0))
    """What each observer has, as `CrossedLikelihood.own_slopes` has it, by coefficients."""

    @property
    def quantities_given(self) -> dict[str, Floats]:
        """Quantities of the observers that are no parameters, (observers,) each."""
        return {name: values[0] for name, values in self.given.items()}

    @property
    def precisions(self) -> Floats:
        """Of the priors of coefficients, (coefficients,): only loadings have one."""
        return np.array([PRECISION * name.startswith("log_loading") for name in self.names])

    def at(self, coefficients: Floats) -> tuple[Floats, Effects]:
        """Parameters of observers, and effects of items."""
        assert self.crossing is not None
        parameters = self.parameters(coefficients[None], np.zeros(1, np.int64))[0]
        number = len(self.crossing.parameters)
        rest = self.own[:, parameters.shape[1] :] @ coefficients
        logs = rest[:, :number]
        sds = np.exp(np.minimum(logs.mean(axis=0), LARGEST))
        rho = float(np.tanh(rest[0, number])) if number > 1 else 0.0
        return parameters, Effects(
            tuple(sds.tolist()), rho, logs if self.crossing.has_loadings else None
        )

    def density(self, coefficients: Floats, likelihood: Any) -> tuple[float, Floats, Floats]:
        """ℓ and log prior of loadings; gradient (coefficients,); ℓ of items.

        By the likelihood of a thread.
        """
        found, slopes = likelihood.value_and_own_slopes(*self.at(coefficients))
        pull = self.precisions * coefficients
        gradient = np.einsum("jo,jok->k", slopes, self.own) - pull
        return float(found.sum() - pull @ coefficients / 2), gradient, found

    def curvature(self, coefficients: Floats, likelihood: Any) -> tuple[Floats, Floats]:
        """Curvature of the density, and slopes of ℓ of each item, (items, coefficients)."""
        bend, scores = likelihood.curvature(*self.at(coefficients))
        own = self.own.reshape(-1, len(coefficients))
        return own.T @ bend @ own + np.diag(self.precisions), scores @ own

    def of_items(self, found: Maxima) -> Iterator[tuple[Identity, Floats, Floats]]:
        """What a posterior has of the effects of items: estimates with standard errors."""
        assert self.crossing is not None
        factor, names = self.crossing.factor, np.array(self.names)
        point, covariance = found.points[0], found.covariance[0]
        for name in self.crossing.of_sds:
            place = (names == f"log_sd_{name}|{factor}").argmax()
            sd = np.exp(np.minimum(point[place], LARGEST))
            yield Identity("sd", name, "1", factor), sd, sd * np.sqrt(covariance[place, place])
        for k in np.flatnonzero(names == f"z_correlation|{factor}"):
            rho = np.tanh(point[k])
            se = (1 - rho**2) * np.sqrt(covariance[k, k])
            yield Identity("correlation", "", "1", factor), rho, se
        contrasts = helmert(len(self.crossing.counts))
        for name in self.crossing.parameters if self.crossing.has_loadings else ():
            own = np.flatnonzero(names == f"log_loading_{name}|{factor}")
            variances = (contrasts.T @ covariance[np.ix_(own, own)] @ contrasts).diagonal()
            yield Identity("loading", name, "", factor), point[own] @ contrasts, np.sqrt(variances)


def crossed_units(
    crossing: Crossing, designs: dict[str, Design], given: dict[str, Floats]
) -> CrossedUnits:
    """Observers of a crossing as one unit."""
    table = crossing.counts.to_numpy().astype(float)
    [own] = units_of(crossing.spec, designs, given, table, 1, is_one=True)
    factor, number = crossing.factor, len(crossing.parameters)
    names = [f"log_sd_{parameter}|{factor}" for parameter in crossing.of_sds]
    names += [f"z_correlation|{factor}"] * (number - 1)
    # An effect whose standard deviation is 1 has no coefficient.
    unit = np.eye(2 * number - 1)[:, : len(names)]
    if crossing.has_loadings:
        each = [f"log_loading_{parameter}|{factor}" for parameter in crossing.parameters]
        names += [name for name in each for _ in range(len(table) - 1)]
    matrix = np.concatenate([own.matrix, np.zeros((*own.matrix.shape[:-1], len(names)))], axis=-1)
    moved = np.broadcast_to(unit, (len(table), *unit.shape))
    if crossing.has_loadings:
        # Log loadings that sum to 0, of one coefficient less than there are observers.
        loaded = np.einsum("wj,kl->jklw", helmert(len(table)), unit[:, :number])
        moved = np.concatenate([moved, loaded.reshape(*moved.shape[:2], -1)], axis=-1)
    before = np.zeros((*moved.shape[:2], len(own.names)))
    every = np.concatenate([matrix[0], np.concatenate([before, moved], axis=-1)], axis=1)
    further = {"matrix": matrix, "names": (*own.names, *names)}
    return CrossedUnits(**vars(own) | further, crossing=crossing, own=every)


def best_crossed(
    crossing: Crossing, designs: dict[str, Design], given: dict[str, Floats], values: Any
) -> tuple[CrossedUnits, Maxima, Comparison | None]:
    """Units and their maximum, with loadings where these predict items clearly better."""
    units = crossed_units(crossing, designs, given)
    # Pooled over items the observers have a curvature that whitens the search.
    start = units.coefficients(values)
    effects, number = len(crossing.of_sds), start.shape[1]
    last = np.arange(number - max(2 * effects - 1, 0), number)
    start[0, last] = [np.log(START)] * effects + [0.0] * (effects - 1)
    curvature = Units.information(units, start, np.zeros(1, np.int64))[0]
    # Pooled counts say nothing of the items.
    curvature[last, last] = SHARE * len(crossing.levels)
    equal, curvature, elpd = maximise_crossed(units, start[0], curvature)
    if not crossing.may_have_loadings:
        return units, equal, None
    loaded = crossed_units(replace(crossing, has_loadings=True), designs, given)
    further = len(loaded.names) - number
    curvature = block_diag(curvature, SHARE * len(crossing.levels) * np.eye(further))
    point = np.append(equal.points, np.zeros(further))
    free, _, elpd_loadings = maximise_crossed(loaded, point, curvature)
    compared = Comparison.of(elpd, elpd_loadings)
    is_chosen = crossing.spec.loadings and compared.is_clear
    return (loaded, free, compared) if is_chosen else (units, equal, compared)


def maximise_crossed(
    units: CrossedUnits, start: Floats, curvature: Floats
) -> tuple[Maxima, Floats, Floats]:
    """The maximum of the likelihood of items, the curvature there, and elpd by item.

    From coefficients and about their curvature.
    """
    assert units.crossing is not None
    factor = inverse_root(curvature, SMALLEST)
    likelihood = units.crossing.likelihood(units.quantities_given)

    def fall(z: Floats) -> tuple[float, Floats]:
        value, gradient, _ = units.density(start + factor @ z, likelihood)
        return -value, -factor.T @ gradient

    search: Any = minimize
    found = search(fall, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=SEARCH)
    point = start + factor @ found.x
    _, gradient, of_items = units.density(point, likelihood)
    if (finer := units.crossing.finer) is not None:
        other = units.density(point, finer.likelihood(units.quantities_given))[1]
        # How far that moves the maximum, by the curvature that the search has found.
        inverse = found.hess_inv.todense()
        moved_by = inverse @ factor.T @ (other - gradient)
        if (abs(moved_by) > ENOUGH * np.sqrt(np.diag(inverse))).any():
            return maximise_crossed(replace(units, crossing=finer), point, curvature)
    bend, scores = units.curvature(point, likelihood)
    covariance, is_open = inverse_of(bend[None])
    value = of_items.sum()
    converged = np.array([bool(np.isfinite(value) and found.success)])
    maxima = Maxima(point[None], np.array([value]), covariance, is_open, converged)
    elpd = elpd_of_levels(of_items, scores.T, inverse_root(bend, SMALLEST))
    return maxima, bend, elpd
