"""A model of a count table, worked out once: counts, variables, where to begin, and arrays.

Count table and ModelSpec → Program. PyMC's model, samplers, importance sampling and what is made of
draws read it; formulas are evaluated and priors settled here. What only some of them need, such as
starting values, is computed when it is first asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import refuse_same_names
from hmetad.bayes.density import MODULES, pack
from hmetad.bayes.program_arrays import ProgramArrays, free_values, write_arrays
from hmetad.bayes.start import Start, starting_point
from hmetad.errors import InputError
from hmetad.likelihood.records import Likelihood
from hmetad.specs.design import Design, checked_counts, designs_of, given_of
from hmetad.specs.layout import Layout, layout_of
from hmetad.specs.spec import ModelSpec

__all__ = ["Program", "build_program"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Program:
    """A model of a count table, ready to be sampled.

    Parameters
    ----------
    counts : DataArray, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating.
    spec : ModelSpec
        With the prior of every variable that takes one, by its name in the posterior.
    designs : mapping of str to Design
        Formulas evaluated on the cells, by parameter.
    given : mapping of str to array, shape (cells,)
        Quantities that are set to their values from the counts.
    layout : Layout
        Its variables.
    known_start : Start, optional
        Where chains begin, if that is known.
    """

    counts: xr.DataArray
    spec: ModelSpec
    designs: Mapping[str, Design]
    given: Mapping[str, Floats]
    layout: Layout
    known_start: Start | None = None

    @cached_property
    def likelihood(self) -> Likelihood:
        """Record of the likelihood, with the model's choices."""
        return self.spec.record

    @cached_property
    def start(self) -> Start:
        """Where chains begin, and what the data say of every group's effects."""
        if self.known_start is not None:
            return self.known_start
        return starting_point(self.counts, self.spec, self.layout, self.given)

    @property
    def is_compiled(self) -> bool:
        """Whether its density is: its likelihood has one, which covers what its formulas say."""
        # The centre of a prior has no formula: each cell has its own, or it is known.
        centres = {p.prior_centre for p in self.likelihood.parameters}
        return self.likelihood.density in MODULES and not centres & {*self.designs}

    @cached_property
    def arrays(self) -> ProgramArrays:
        """The log posterior as arrays, where the density is compiled."""
        layout = self.layout
        following = {v.name for v in layout.variables} | {*self.likelihood.results}
        taken = {*layout.coords, *following} - {*self.counts.dims}
        refuse_same_names(self.counts.coords, taken)
        found = self.start.parametrisations
        return write_arrays(self.likelihood, layout, self.counts.values, self.given, found)

    @cached_property
    def packed(self) -> Integers:
        """The arrays in one row, as compiled code reads them."""
        return pack(self.arrays)

    @cached_property
    def first_point(self) -> Floats:
        """Free values (free,) of the start."""
        return free_values(self.arrays, self.start.values)

    @property
    def has_separate_cells(self) -> bool:
        """Whether cells share nothing: neither formulas nor hyperpriors."""
        return not self.designs and not any(p.hyperpriors for p in self.likelihood.parameters)

    def of_cells(self, places: Integers) -> "Program":
        """The program of some of the cells; only for cells that share nothing."""
        counts = self.counts.isel(cell=places)
        return replace(
            self,
            counts=counts,
            given={name: values[places] for name, values in self.given.items()},
            layout=layout_of(counts, self.spec, {}),
            known_start=Start({name: own[places] for name, own in self.start.values.items()}),
        )

    def without_offsets(self, posterior: xr.Dataset) -> xr.Dataset:
        """Posterior without what effects are made of while they are sampled, as fits have it."""
        kept = posterior.drop_vars(self.layout.offset_names, errors="ignore")
        used = {dim for values in kept.values() for dim in values.dims}
        return kept.drop_dims([dim for dim in kept.dims if dim not in used])


def build_program(counts: xr.DataArray, spec: ModelSpec) -> Program:
    """Work out everything that the model of a count table needs.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), K ≥ 2.
    spec : ModelSpec

    Returns
    -------
    Program

    Raises
    ------
    InputError
        If the table has no ratings to model, a cell lacks a stimulus, a formula does not fit
        the table's coordinates, or a prior is of a variable that the model lacks.
    """
    if not isinstance(spec, ModelSpec):
        raise InputError("spec", repr(spec), "a ModelSpec", "Read one with load_model.")
    counts = checked_counts(counts, spec)
    designs = designs_of(counts, spec)
    layout = layout_of(counts, spec, designs)
    spec = replace(spec, priors=layout.priors)
    return Program(counts, spec, designs, given_of(counts, spec), layout)
