"""The likelihood of a model card as a function of its coefficients, unit by unit.

Count table and ModelSpec → Units: sets of cells that share coefficients, such as the difficulties
of a person. Nothing is shared between units, so each is maximised by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hmetad.base.errors import FormulaError
from hmetad.likelihood.family import Family, Parameter
from hmetad.likelihood.tape import add_value_and_gradient, column_shapes, column_slices, tape_of
from hmetad.mle.scoring import CellLikelihood
from hmetad.mle.search import Stop, best_of, maximise
from hmetad.specs.design import Design
from hmetad.specs.spec import ModelSpec

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Of the differences of gradients that give second derivatives.
DIFFERENCE = 1e-4
# Near a maximum Newton's method needs fewer steps with small slopes than these; on a plateau it
# goes on for hundreds.
SLOPE, SMALL_SLOPE, FLAT_STEPS = 1e-6, 1e-3, 6
# A coefficient on a log scale beyond the first is at an edge if the slope is small, as noise of
# e^-15. Beyond the second, or of another scale beyond the third, the search is lost in any case.
LARGEST_LOG, FARTHEST_LOG, FARTHEST = 15.0, 30.0, 300.0
# Standard errors of coefficients, on their own scale, above which counts do not determine them.
LARGEST_ERROR = 5.0
SMALLEST_CURVATURE = 1e-9


@dataclass(frozen=True)
class Units:
    """Units with as many cells and the same coefficients each, so that they are computed together.

    Parameters
    ----------
    likelihood : Family
    cells : array of int, shape (units, cells)
        Places in the count table.
    counts : array, shape (units, cells, 2, 2, K)
    given : mapping of str to array, shape (units, cells)
        Quantities that are no parameters.
    matrix, offsets : array, shape (units, cells, columns, coefficients) and (…, columns)
        Parameters of the cells are offsets + matrix · coefficients.
    names : tuple of str
        Parameter of each coefficient.
    places : array of int, shape (units,)
        Among all units, in the order of their first cells.
    """

    likelihood: Family
    cells: Integers
    counts: Floats
    given: Mapping[str, Floats]
    matrix: Floats
    offsets: Floats
    names: tuple[str, ...]
    places: Integers = field(default_factory=lambda: np.zeros(1, np.int64))

    def parameters(self, points: Floats, unit: Integers) -> Floats:
        """Parameters (n, cells, columns) at points (n, coefficients) of units (n,)."""
        return self.offsets[unit] + (self.matrix[unit] @ points[:, None, :, None])[..., 0]

    def cells_at(self, parameters: Floats, unit: Integers) -> tuple[Floats, CellLikelihood]:
        """Parameters of all cells of units (n,), one after the other, and their likelihood."""
        counts = np.ascontiguousarray(self.counts[unit]).reshape(-1, *self.counts.shape[2:])
        given = {name: own[unit].ravel() for name, own in self.given.items()}
        rows = parameters.reshape(len(counts), -1)
        return rows, CellLikelihood(self.likelihood, counts, given)

    def log_likelihood(
        self, parameters: Floats, unit: Integers, *, is_sloped: bool = False
    ) -> tuple[Floats, Floats]:
        """ℓ (n,) at parameters (n, cells, columns), and its slopes by them, if asked for."""
        rows, part = self.cells_at(parameters, unit)
        slopes = np.zeros(rows.shape if is_sloped else (0, 0))
        if self.likelihood.compiled_kernel:
            value, tape = np.zeros(len(rows)), tape_of(self.likelihood, part.counts.shape[-1])
            add_value_and_gradient(rows, part.counts.reshape(len(rows), -1), tape, value, slopes)
        else:
            value, slopes, _ = part.evaluate(rows)
        return value.reshape(len(unit), -1).sum(axis=1), slopes

    def value_and_gradient(self, points: Floats, unit: Integers) -> tuple[Floats, Floats]:
        """ℓ (n,) and its gradient (n, coefficients), at points (n, coefficients) of units (n,)."""
        parameters = self.parameters(points, unit)
        value, slopes = self.log_likelihood(parameters, unit, is_sloped=True)
        gradient = slopes.reshape(parameters.shape)[..., None, :] @ self.matrix[unit]
        return value, gradient[..., 0, :].sum(axis=1)

    def information(self, points: Floats, unit: Integers, slopes: Floats | None = None) -> Floats:
        """-∂²ℓ at points of units, by central differences.

        With slopes it is quicker, as a search may have it: its expectation, or one-sided
        differences.
        """
        if slopes is not None and self.likelihood.is_costly:
            matrix, parameters = self.matrix[unit], self.parameters(points, unit)
            rows, part = self.cells_at(parameters, unit)
            found = part.evaluate(rows)[2].reshape(*parameters.shape, -1)
            return (matrix.swapaxes(-1, -2) @ found @ matrix).sum(axis=1)
        number, size = points.shape
        steps = DIFFERENCE * np.eye(size)
        if slopes is None:
            steps = np.vstack([steps, -steps])
        around = (points[:, None] + steps).reshape(-1, size)
        value, found = self.value_and_gradient(around, np.repeat(unit, len(steps)))
        is_finite = np.isfinite(value) & np.isfinite(found).all(axis=1)
        found = np.where(is_finite[:, None], found, 0.0).reshape(number, -1, size)
        if slopes is None:
            bend = (found[:, size:] - found[:, :size]) / (2 * DIFFERENCE)
        else:
            bend = (slopes[:, None] - found) / DIFFERENCE
        return (bend + bend.transpose(0, 2, 1)) / 2

    def coefficients(self, values: Mapping[str, Floats]) -> Floats:
        """Coefficients of each unit nearest to values of the parameters in all cells, by name."""
        shape = self.cells.shape
        rows = [
            np.reshape(values[name][self.cells], (*shape, -1))
            if name in values
            else np.zeros((*shape, int(np.prod(own, dtype=int))))
            for name, own in column_shapes(self.likelihood, self.counts.shape[-1]).items()
        ]
        target = (np.concatenate(rows, axis=-1) - self.offsets).reshape(len(self.cells), -1)
        flat = self.matrix.reshape(*target.shape, -1)
        return np.stack([np.linalg.lstsq(a, b)[0] for a, b in zip(flat, target, strict=True)])

    def quantities(self, points: Floats) -> dict[str, Floats]:
        """Quantities (units, cells, …) by name, at a point of each unit."""
        shapes = column_shapes(self.likelihood, self.counts.shape[-1])
        values: dict[str, Any] = {name: own.ravel() for name, own in self.given.items()}
        rows = self.parameters(points, np.arange(len(points))).reshape(self.cells.size, -1)
        own, places = {p.variable for p in self.likelihood.parameters}, column_slices(shapes)
        values |= {
            x: rows[:, at].reshape(len(rows), *shapes[x]) for x, at in places.items() if x in own
        }
        found = self.likelihood.derived(values).items()
        return {
            name: np.asarray(value, dtype=float).reshape(*self.cells.shape, *np.shape(value)[1:])
            for name, value in found
        }


@dataclass(frozen=True)
class Maxima:
    """Maxima of units.

    Parameters
    ----------
    points : array, shape (units, coefficients)
    value : array, shape (units,)
        ℓ, without multinomial coefficients.
    covariance : array, shape (units, coefficients, coefficients)
        Inverse of the observed information; where that is next to nothing, it is huge.
    is_open : array of bool, shape (units, coefficients)
        Coefficients that counts do not determine: ℓ rises to an edge, or is flat.
    converged : array of bool, shape (units,)
    """

    points: Floats
    value: Floats
    covariance: Floats
    is_open: NDArray[np.bool_]
    converged: NDArray[np.bool_]


def maximise_units(units: Units, starts: Floats) -> Maxima:
    """The highest maximum of each unit, from starts (units, starts, coefficients)."""
    number, each, size = starts.shape
    unit = np.repeat(np.arange(number), each)
    is_log = np.array([name.startswith(("log_", "logit_")) for name in units.names])
    stop = Stop(
        slope=SLOPE,
        far=np.where(is_log, FARTHEST_LOG, FARTHEST),
        edge=np.where(is_log, LARGEST_LOG, np.inf),
        flat_steps=FLAT_STEPS,
        radius=0.5,
    )
    found = maximise(
        lambda points, rows: (*units.value_and_gradient(points, unit[rows]), None),
        starts.reshape(number * each, size),
        stop,
        lambda points, rows, slopes: units.information(points, unit[rows], slopes),
    )
    best = best_of(found.value.reshape(number, each))
    points, value = found.points[best], found.value[best]
    covariance, is_open = inverse_of(units.information(points, np.arange(number)))
    converged = np.isfinite(value) & (
        np.abs(found.slopes[best]).max(axis=1, initial=0.0) < SMALL_SLOPE
    )
    return Maxima(points, value, covariance, is_open, converged)


def inverse_of(information: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Covariances of coefficients from their information, and which the counts leave open."""
    curvature, vectors = np.linalg.eigh(information)
    known = np.maximum(curvature, SMALLEST_CURVATURE)
    covariance = (vectors / known[:, None]) @ vectors.transpose(0, 2, 1)
    return covariance, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)) > LARGEST_ERROR


def units_of(
    spec: ModelSpec,
    designs: Mapping[str, Design],
    given: Mapping[str, Floats],
    table: Floats,
    most: int,
    *,
    is_one: bool = False,
) -> list[Units]:
    """Units of a model on a count table, those alike together but at most so many.

    With `is_one` all cells are one unit.

    `designs` has the formulas by parameter; `given` the quantities (cells,) that are set to their
    values from the counts; `table` is the counts (cells, 2, 2, K), corrected.
    """
    likelihood, cells = spec.record, len(table)
    slices = column_slices(column_shapes(likelihood, table.shape[-1]))
    places = {name: np.arange(own.start, own.stop) for name, own in slices.items()}
    width = sum(map(len, places.values()))
    offsets = np.zeros((cells, width))
    for name in {*places} & {*given}:
        offsets[:, places[name][0]] = given[name]
    matrix, names = coefficient_matrix(likelihood, designs, places, cells)
    row, column = (x.astype(np.int64) for x in matrix.coords)
    if is_one:
        row = np.concatenate([row, np.arange(cells) * width])
        column = np.concatenate([column, np.zeros(cells, np.int64)])
    alike, rows, found = units_alike(row // width, column, cells, names), matrix.tocsr(), []
    for (_, own_names), members in alike.items():
        for start in range(0, len(members), most):
            part = members[start : start + most]
            own = np.stack([unit for _, unit, _ in part])
            own_rows = own[..., None] * width + np.arange(width)
            blocks = [
                rows[r.ravel()][:, free].toarray().reshape(*r.shape, len(free))
                for r, (_, _, free) in zip(own_rows, part, strict=True)
            ]
            quantities = {name: values[own] for name, values in given.items()}
            place = np.array([place for place, _, _ in part])
            counts, block, offset = table[own], np.stack(blocks), offsets[own]
            found.append(
                Units(likelihood, own, counts, quantities, block, offset, own_names, place)
            )
    return found


def coefficient_matrix(
    likelihood: Family, designs: Mapping[str, Design], places: Mapping[str, Integers], cells: int
) -> tuple[coo_array, list[str]]:
    """Columns of parameters of all cells by coefficients, and the parameter of each coefficient.

    `places` has the columns of each variable.
    """
    width = sum(map(len, places.values()))
    row, column, weight, names = list[Integers](), list[Integers](), list[Floats](), list[str]()
    parameters = {p.variable: p for p in likelihood.parameters}
    for name in [variable for variable in places if variable in parameters]:
        parameter, size = parameters[name], len(places[name])
        at = np.arange(cells)[:, None] * width + places[name]
        for own in columns_of(parameter, designs.get(parameter.name), cells).T:
            used = np.flatnonzero(own)
            row.append(at[used].ravel())
            column.append(np.tile(len(names) + np.arange(size), len(used)))
            weight.append(np.repeat(own[used], size))
            names += [parameter.name] * size
    entries = np.concatenate(row), np.concatenate(column)
    return coo_array((np.concatenate(weight), entries), shape=(cells * width, len(names))), names


def columns_of(parameter: Parameter, design: Design | None, cells: int) -> Floats:
    """Columns of a parameter's coefficients; without a formula one for each cell."""
    if design is None:
        return np.eye(cells)
    if design.blocks:
        allowed = "a formula without groups in brackets: nothing is drawn to a population here"
        step = "Use hmetad.fit for a group, or 0 + subject for values of each person."
        raise FormulaError(f"formula of {parameter.name}", repr(design.formula), allowed, step)
    return design.columns


def units_alike(
    cell: Integers, coefficient: Integers, cells: int, names: list[str]
) -> dict[tuple[int, tuple[str, ...]], list[tuple[int, Integers, Integers]]]:
    """Units by number of cells and names of coefficients: place, cells and coefficients of each.

    Cells and coefficients of a unit belong together, directly or through others.
    """
    size = cells + len(names)
    graph = coo_array((np.ones(len(cell)), (cell, cells + coefficient)), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    found: dict[tuple[int, tuple[str, ...]], list[tuple[int, Integers, Integers]]] = {}
    for place, label in enumerate(dict.fromkeys(part[:cells].tolist())):
        own, free = (np.flatnonzero(x == label) for x in (part[:cells], part[cells:]))
        key = len(own), tuple(names[k] for k in free)
        found.setdefault(key, []).append((place, own, free))
    return found
