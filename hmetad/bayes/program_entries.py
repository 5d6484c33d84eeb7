"""A program while it is written: free variables, priors, and entries of its matrices.

Variables and places of values → Program.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import gammaln

from hmetad.bayes.dims import choose_dim
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import (
    LINK_EXP,
    LINK_FOLDED,
    LINK_IDENTITY,
    PRIOR_CODES,
    Correlation,
    FreeVariable,
    Output,
    Program,
    Rows,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import LOG_SQRT_2PI
from hmetad.likelihood.records import dim_labels

__all__ = ["DEVIATION", "Entries", "Writer"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Labels = NDArray[np.str_] | None

# Order of the parameters of a prior in a program.
PRIOR_PARAMETERS = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma", "nu"),
    "HalfNormal": ("sigma",),
    "Exponential": ("lam",),
    "Gamma": ("alpha", "beta"),
    "LogNormal": ("mu", "sigma"),
    "UniformTimesHalfNormal": ("sigma",),
}
# While a program is written, the size of y is not known: places of deviations begin far above.
DEVIATION = 1 << 40


@dataclass
class Entries:
    """Entries of a sparse matrix while it is written."""

    row: list[Integers] = field(default_factory=list)
    column: list[Integers] = field(default_factory=list)
    weight: list[Floats] = field(default_factory=list)

    def add(self, row: Integers, column: Integers, weight: Floats | float) -> None:
        """Add entries; arrays that broadcast, of which those with weight 0 are left out."""
        r, c, w = np.broadcast_arrays(row, column, weight)
        used = w != 0
        self.row.append(r[used].astype(np.int64))
        self.column.append(c[used].astype(np.int64))
        self.weight.append(w[used].astype(float))

    def rows(self, count: int) -> Rows:
        """The matrix by rows; entries of one place are added up."""
        if not self.row:
            return Rows(np.zeros(count + 1, np.int64), np.zeros(0, np.int64), np.zeros(0))
        row, column = np.concatenate(self.row), np.concatenate(self.column)
        weight, width = np.concatenate(self.weight), int(column.max(initial=0)) + 1
        matrix = coo_array((weight, (row, column)), shape=(count, width)).tocsr()
        matrix.sum_duplicates()
        return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)


class Writer:
    """A program while it is written."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.spec = problem, problem.spec
        self.module = import_module(problem.likelihood.density)
        self.free: list[FreeVariable] = []
        self.size = 0
        self.priors: list[tuple[Integers, int, tuple[float, ...]]] = []
        # Places, standard deviations and means.
        self.around: list[tuple[Integers, Floats, Floats]] = []
        self.around_count = 0
        self.blocks: list[tuple[int, int, int, int]] = []
        # Places of offsets and of standard deviations, estimates and information.
        self.deviations: list[tuple[Integers, Integers, Floats, Floats]] = []
        self.deviation_count = 0
        self.around_rows, self.mean_rows = Entries(), Entries()
        self.rows, self.output_rows = Entries(), Entries()
        self.outputs: list[Output] = []
        self.correlations: list[Correlation] = []
        self.output_count = 0
        counts = problem.counts
        self.coords: dict[str, list[object]] = {
            str(dim): list(counts[dim].values) for dim in counts.dims
        }
        self.coords |= {dim: [*own] for dim, own in dim_labels(counts.sizes["rating"]).items()}
        self.constant = 0.0
        self.cells, ratings = problem.counts.sizes["cell"], problem.counts.sizes["rating"]
        self.ratings = ratings
        self.columns: dict[str, Integers] = {}
        start = 0
        for name, shape in self.module.parameter_shapes(problem.likelihood, ratings).items():
            size = int(np.prod(shape, dtype=int))
            self.columns[name] = start + np.arange(size).reshape(shape)
            start += size
        self.width = start
        self.offsets = np.zeros((self.cells, start))
        for name, values in problem.given.items():
            self.offsets[:, self.columns[name]] = values

    def sample(self, name: str, dims: tuple[str, ...], link: int = LINK_IDENTITY) -> Integers:
        """Add a free variable; places of its elements."""
        shape = tuple(len(self.coords[dim]) for dim in dims)
        variable = FreeVariable(name, self.size, dims, shape, link)
        self.free.append(variable)
        self.size += variable.elements.size
        return variable.elements

    def sample_prior(self, plain: str, dims: tuple[str, ...], may_fold: bool = False) -> Integers:
        """Add a free variable with its prior; places of its elements."""
        prior = self.problem.prior(plain)
        link = LINK_EXP if prior.is_positive else LINK_IDENTITY
        # A normal density is smooth at 0; others have an edge there.
        is_folded = may_fold and prior.dist == "HalfNormal"
        places = self.sample(self.spec.named(plain), dims, LINK_FOLDED if is_folded else link)
        self.add_prior(places, prior)
        if is_folded:
            self.constant -= places.size * math.log(2)
        return places

    def add_prior(self, places: Integers, prior: Prior) -> None:
        """Prior of values."""
        values = tuple(prior.parameters[name] for name in PRIOR_PARAMETERS[prior.dist])
        self.priors.append((places.ravel(), PRIOR_CODES[prior.dist], values))
        self.constant += places.size * log_constant(prior)

    def label_dim(self, parameter: str, dim: str, labels: Labels) -> tuple[str, ...]:
        """Dim with these labels; none where there are no labels."""
        if labels is None:
            return ()
        own = [str(label) for label in labels]
        name = choose_dim(self.coords, parameter, dim, own)
        self.coords[name] = [*own]
        return (name,)

    def give(self, plain: str, dims: tuple[str, ...]) -> Integers:
        """Add a variable of the posterior that is no free one; its rows, of its shape."""
        shape = tuple(len(self.coords[dim]) for dim in dims)
        rows = self.output_count + np.arange(np.prod(shape, dtype=int)).reshape(shape)
        self.outputs.append(Output(self.spec.named(plain), self.output_count, dims, shape))
        self.output_count += rows.size
        return rows

    def place(self, variable: str) -> Integers:
        """Rows of the cells' parameters that a variable fills, (cells, *its shape)."""
        columns = self.columns[variable]
        own = np.arange(self.cells).reshape(-1, *[1] * columns.ndim) * self.width
        return own + columns

    def free_of(self, name: str) -> Integers:
        """Places of a parameter that each cell has of its own."""
        return next(v.elements for v in self.free if v.name == self.spec.named(name))

    def finish(self) -> Program:
        """The program, with places of all values in one row."""
        cells = self.problem.counts.values.astype(float)
        links = np.concatenate([np.full(v.elements.size, v.link) for v in self.free])
        around = [join(part) for part in zip(*self.around, strict=True)] or [np.zeros(0)] * 3
        own = [join(part) for part in zip(*self.deviations, strict=True)] or [np.zeros(0)] * 4
        sizes = [len(places) for places, _, _ in self.priors]
        parameters = np.zeros((sum(sizes), 3))
        codes = np.repeat(np.array([code for _, code, _ in self.priors], np.int64), sizes)
        places = np.concatenate([np.zeros(0, np.int64), *(place for place, _, _ in self.priors)])
        start = 0
        for size, (_, _, values) in zip(sizes, self.priors, strict=True):
            parameters[start : start + size, : len(values)] = values
            start += size
        return Program(
            free=tuple(self.free),
            links=links.astype(np.int64),
            owners=np.concatenate([owners(variable) for variable in self.free]),
            prior_places=places,
            prior_codes=codes,
            prior_parameters=parameters,
            around_places=around[0].astype(np.int64),
            around_sd=around[1],
            around_mean=around[2],
            around_rows=self.settle(self.around_rows.rows(self.around_count)),
            blocks=np.array(self.blocks, np.int64).reshape(-1, 4),
            offset_places=own[0].astype(np.int64),
            sd_places=own[1].astype(np.int64),
            estimates=own[2],
            information=own[3],
            mean_rows=self.settle(self.mean_rows.rows(self.deviation_count)),
            offsets=self.offsets.ravel(),
            rows=self.settle(self.rows.rows(self.cells * self.width)),
            density=self.problem.likelihood.density,
            counts=cells,
            choices=np.array(self.module.choices(self.problem.likelihood), np.int64),
            outputs=tuple(self.outputs),
            output_rows=self.settle(self.output_rows.rows(self.output_count)),
            correlations=tuple(self.correlations),
            coords=self.coords,
            constant=self.constant - (self.around_count + self.deviation_count) * LOG_SQRT_2PI,
        )

    def settle(self, rows: Rows) -> Rows:
        """Matrix whose columns are places in the row of all values."""
        places = rows.column
        places = np.where(places >= DEVIATION, places - DEVIATION + self.size, places)
        return rows._replace(column=places)


def join(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays one after the other, without their shapes."""
    return np.concatenate([part.ravel() for part in parts])


def owners(variable: FreeVariable) -> Integers:
    """Places of the cells that the elements of a variable belong to; -1 where they are shared."""
    if variable.dims[:1] != ("cell",):
        return np.full(variable.elements.size, -1)
    cells = variable.shape[0]
    return np.repeat(np.arange(cells), variable.elements.size // cells)


def log_constant(prior: Prior) -> float:
    """Log density of a prior less its part that depends on the value."""
    own = prior.parameters
    if prior.dist == "Exponential":
        return float(np.log(own["lam"]))
    if prior.dist == "Gamma":
        return float(own["alpha"] * np.log(own["beta"]) - gammaln(own["alpha"]))
    scale = float(np.log(own["sigma"]))
    if prior.dist == "HalfNormal":
        return float(0.5 * np.log(2 / np.pi)) - scale
    if prior.dist == "StudentT":
        nu = own["nu"]
        return float(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)) - scale
    # Normal, log-normal, and half a normal times a uniform variable.
    return -float(LOG_SQRT_2PI) - scale
