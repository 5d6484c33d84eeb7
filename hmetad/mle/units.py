"""The likelihood of a model card as a function of its coefficients, unit by unit.

Count table and ModelSpec → Units: sets of cells that share coefficients, such as the difficulties
of a person. Nothing is shared between units, so each is maximised by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hmetad.errors import InputError
from hmetad.likelihood.family import Family, Parameter
from hmetad.likelihood.tape import add_value_and_gradient, column_shapes, tape_of
from hmetad.mle.scoring import CellLikelihood, kernel_of
from hmetad.specs.design import Design
from hmetad.specs.spec import ModelSpec

__all__ = ["AlikeUnits", "Unit", "alike_units", "units_of"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Unit:
    """Cells that share coefficients, and the likelihood of their counts.

    Parameters
    ----------
    likelihood : Family
    cells : array of int
        Places in the count table.
    counts : array, shape (cells, 2, 2, K)
    given : mapping of str to array, shape (cells,)
        Quantities that are no parameters.
    matrix, offsets : array, shape (cells, columns, coefficients) and (..., cells, columns)
        Parameters of the cells are offsets + matrix · coefficients; offsets may differ between the
        points at which they are asked for.
    names : tuple of str
        Parameter of each coefficient.
    """

    likelihood: Family
    cells: Integers
    counts: Floats
    given: Mapping[str, Floats]
    matrix: Floats
    offsets: Floats
    names: tuple[str, ...]

    def value(self, points: Floats) -> Floats:
        """ℓ (n,) at points (n, coefficients)."""
        return self.evaluate(points, is_sloped=False)[0]

    def value_and_gradient(self, points: Floats) -> tuple[Floats, Floats]:
        """ℓ (n,) and its gradient (n, coefficients), at points (n, coefficients)."""
        value, slopes = self.evaluate(points, is_sloped=True)
        by_cell = slopes.reshape(len(points), len(self.cells), -1)
        return value, np.einsum("nck,ckf->nf", by_cell, self.matrix)

    def evaluate(self, points: Floats, *, is_sloped: bool) -> tuple[Floats, Floats]:
        """ℓ (n,), and its slopes by the parameters of all cells of all points, if asked for."""
        number, cells = len(points), len(self.cells)
        rows = self.parameters(points).reshape(number * cells, -1)
        counts = np.tile(self.counts, (number, *[1] * (self.counts.ndim - 1)))
        given = {name: np.tile(own, number) for name, own in self.given.items()}
        value, slopes = evaluate_cells(self.likelihood, rows, counts, given, is_sloped=is_sloped)
        return value.reshape(number, cells).sum(axis=1), slopes

    def parameters(self, points: Floats) -> Floats:
        """Parameters (n, cells, columns) at points (n, coefficients)."""
        return self.offsets + np.einsum("ckf,nf->nck", self.matrix, points)

    def coefficients(self, values: Mapping[str, Floats]) -> Floats:
        """Coefficients nearest to values of the parameters in the cells, by variable."""
        shapes = column_shapes(self.likelihood, self.counts.shape[-1])
        known = {name: own[self.cells] for name, own in values.items()}
        rows = [
            np.reshape(known.get(name, np.zeros((len(self.cells), *shape))), (len(self.cells), -1))
            for name, shape in shapes.items()
        ]
        target = np.hstack(rows) - self.offsets
        flat = self.matrix.reshape(-1, self.matrix.shape[-1])
        return np.linalg.lstsq(flat, target.ravel())[0]


@dataclass(frozen=True)
class AlikeUnits:
    """Units with as many cells and the same coefficients each, so that they are computed together.

    Parameters
    ----------
    likelihood : Family
    cells : array of int, shape (units, cells)
    counts : array, shape (units, cells, 2, 2, K)
    given : mapping of str to array, shape (units, cells)
    matrix : array, shape (units, cells, columns, coefficients)
    offsets : array, shape (units, cells, columns)
    names : tuple of str
        Parameter of each coefficient.
    """

    likelihood: Family
    cells: Integers
    counts: Floats
    given: Mapping[str, Floats]
    matrix: Floats
    offsets: Floats
    names: tuple[str, ...]

    def value_and_gradient(self, points: Floats, unit: Integers) -> tuple[Floats, Floats]:
        """ℓ (n,) and its gradient (n, coefficients), at points (n, coefficients) of units (n,)."""
        matrix, cells = self.matrix[unit], self.cells.shape[1]
        rows = self.parameters(points, unit)
        value, slopes = evaluate_cells(
            self.likelihood,
            rows.reshape(len(points) * cells, -1),
            np.ascontiguousarray(self.counts[unit]).reshape(-1, *self.counts.shape[2:]),
            {name: own[unit].ravel() for name, own in self.given.items()},
            is_sloped=True,
        )
        gradient = slopes.reshape(rows.shape)[..., None, :] @ matrix
        return value.reshape(-1, cells).sum(axis=1), gradient[..., 0, :].sum(axis=1)

    @property
    def has_information(self) -> bool:
        """Whether the expected information is computed without differences of gradients."""
        likelihood = self.likelihood
        return (
            likelihood.is_costly
            and hasattr(kernel_of(likelihood), "expected_information")
            and not any(p.prior_centre for p in likelihood.parameters)
        )

    def expected_information(self, points: Floats, unit: Integers) -> Floats:
        """Expected information (n, coefficients, coefficients) at points of units (n,)."""
        matrix, cells = self.matrix[unit], self.cells.shape[1]
        rows = self.parameters(points, unit)
        counts = np.ascontiguousarray(self.counts[unit]).reshape(-1, *self.counts.shape[2:])
        given = {name: own[unit].ravel() for name, own in self.given.items()}
        part = CellLikelihood(self.likelihood, counts, given)
        found = part.expected_information(rows.reshape(len(points) * cells, -1))
        by_cell = found.reshape(*rows.shape, rows.shape[-1])
        return (matrix.swapaxes(-1, -2) @ by_cell @ matrix).sum(axis=1)

    def parameters(self, points: Floats, unit: Integers) -> Floats:
        """Parameters (n, cells, columns) at points (n, coefficients) of units (n,)."""
        return self.offsets[unit] + (self.matrix[unit] @ points[:, None, :, None])[..., 0]

    def quantities(self, points: Floats) -> dict[str, Floats]:
        """Quantities (units, cells, …) by name, at a point of each unit."""
        shapes = column_shapes(self.likelihood, self.counts.shape[-1])
        values: dict[str, Any] = {name: own.ravel() for name, own in self.given.items()}
        number, start = self.cells.size, 0
        rows = self.parameters(points, np.arange(len(points))).reshape(number, -1)
        own = {p.variable for p in self.likelihood.parameters}
        for name, shape in shapes.items():
            stop = start + int(np.prod(shape, dtype=int))
            if name in own:
                values[name] = rows[:, start:stop].reshape(number, *shape)
            start = stop
        found = self.likelihood.derived(values).items()
        return {
            name: np.asarray(value, dtype=float).reshape(*self.cells.shape, *np.shape(value)[1:])
            for name, value in found
        }


def alike_units(units: Sequence[Unit], most: int) -> list[tuple[Integers, AlikeUnits]]:
    """Units alike with their places in a list, at most so many together."""
    places: dict[tuple[tuple[int, ...], tuple[str, ...]], list[int]] = {}
    for place, unit in enumerate(units):
        places.setdefault((unit.matrix.shape, unit.names), []).append(place)
    parts = [
        np.array(own[start : start + most])
        for own in places.values()
        for start in range(0, len(own), most)
    ]
    return [(part, stack_units([units[place] for place in part])) for part in parts]


def stack_units(units: Sequence[Unit]) -> AlikeUnits:
    """Arrays of units that are alike, with a dim for the units."""
    first = units[0]
    return AlikeUnits(
        first.likelihood,
        np.stack([unit.cells for unit in units]),
        np.stack([unit.counts for unit in units]),
        {name: np.stack([unit.given[name] for unit in units]) for name in first.given},
        np.stack([unit.matrix for unit in units]),
        np.stack([unit.offsets for unit in units]),
        first.names,
    )


def evaluate_cells(
    likelihood: Family,
    rows: Floats,
    counts: Floats,
    given: Mapping[str, Floats],
    *,
    is_sloped: bool,
) -> tuple[Floats, Floats]:
    """ℓ of cells (n,) from their parameters (n, columns), and its slopes, if asked for."""
    slopes = np.zeros(rows.shape if is_sloped else (0, 0))
    if likelihood.density:
        value, tape = np.zeros(len(rows)), tape_of(likelihood, counts.shape[-1])
        add_value_and_gradient(rows, counts.reshape(len(rows), -1), tape, value, slopes)
    else:
        part = CellLikelihood(likelihood, counts, given)
        value = part.value(rows)
        slopes = part.score_and_information(rows)[0] if is_sloped else slopes
    return value, slopes


def units_of(
    spec: ModelSpec,
    designs: Mapping[str, Design],
    given: Mapping[str, Floats],
    table: Floats,
) -> list[Unit]:
    """Units of a model on a count table.

    Parameters
    ----------
    spec : ModelSpec
    designs : mapping of str to Design
        The formulas, by parameter.
    given : mapping of str to array, shape (cells,)
        Quantities that are set to their values from the counts.
    table : array, shape (cells, 2, 2, K)
        The counts, corrected.

    Returns
    -------
    list of Unit
        In the order of their first cells.
    """
    likelihood, (cells, ratings) = spec.record, (len(table), table.shape[-1])
    shapes = column_shapes(likelihood, ratings)
    width = sum(int(np.prod(shape, dtype=int)) for shape in shapes.values())
    offsets = np.zeros((cells, width))
    row, column, weight, names = list[Integers](), list[Integers](), list[Floats](), list[str]()
    start = 0
    for name, shape in shapes.items():
        size = int(np.prod(shape, dtype=int))
        places = np.arange(cells)[:, None] * width + start + np.arange(size)
        if name in given:
            offsets[:, start] = given[name]
        parameter = next((p for p in likelihood.parameters if p.variable == name), None)
        if parameter is not None:
            columns = columns_of(parameter, designs.get(parameter.name), cells)
            for own in columns.T:
                used = np.flatnonzero(own)
                first = len(names) + np.arange(size)
                row.append(places[used].ravel())
                column.append(np.tile(first, len(used)))
                weight.append(np.repeat(own[used], size))
                names += [parameter.name] * size
        start += size
    shape = (cells * width, len(names))
    entries = np.concatenate(row), np.concatenate(column)
    matrix = coo_array((np.concatenate(weight), entries), shape=shape).tocsr()
    return [
        Unit(
            likelihood,
            own,
            np.ascontiguousarray(table[own]),
            {name: values[own] for name, values in given.items()},
            matrix[rows_of(own, width)][:, free].toarray().reshape(len(own), width, len(free)),
            offsets[own],
            tuple(names[k] for k in free),
        )
        for own, free in parts_of(entries[0] // width, entries[1], cells, len(names))
    ]


def columns_of(parameter: Parameter, design: Design | None, cells: int) -> Floats:
    """Columns of a parameter's coefficients; without a formula one for each cell."""
    if design is None:
        return np.eye(cells)
    if design.blocks:
        raise InputError(
            f"formula of {parameter.name}",
            repr(design.formula),
            "a formula without groups in brackets: nothing is drawn to a population here",
            "Use hmetad.fit for a group, or 0 + subject for values of each person.",
        )
    return design.columns


def rows_of(cells: Integers, width: int) -> Integers:
    """Rows of the matrix of all cells that belong to some."""
    return (cells[:, None] * width + np.arange(width)).ravel()


def parts_of(
    cell: Integers, coefficient: Integers, cells: int, coefficients: int
) -> list[tuple[Integers, Integers]]:
    """Cells and coefficients that belong together, directly or through others."""
    size = cells + coefficients
    graph = coo_array((np.ones(len(cell)), (cell, cells + coefficient)), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    order = dict.fromkeys(part[:cells].tolist())
    return [
        (np.flatnonzero(part[:cells] == own), np.flatnonzero(part[cells:] == own)) for own in order
    ]
