"""What a fit is of, worked out once: data, formulas on these data, priors, and where to begin.

Count table and ModelSpec → Problem. The PyMC model, its start, prediction and cross-validation take
it as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.dims import offset_name
from hmetad.bayes.start import Start, starting_point
from hmetad.errors import InputError
from hmetad.likelihood.priors import POSITIVE, Prior
from hmetad.likelihood.records import Likelihood, Parameter
from hmetad.specs.design import Design
from hmetad.specs.designs import checked_counts, designs_of, given_of
from hmetad.specs.spec import CORRELATION, ModelSpec, free_priors, refuse_unknown_priors

__all__ = ["Problem", "build_problem"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """A model of a count table, ready to be built and sampled.

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
    start : Start
        Where chains begin, and what the data say of every group's effects.
    """

    counts: xr.DataArray
    spec: ModelSpec
    designs: Mapping[str, Design]
    given: Mapping[str, Floats]
    start: Start

    @property
    def likelihood(self) -> Likelihood:
        """Record of the likelihood, with the model's choices."""
        return self.spec.record

    @property
    def offset_names(self) -> set[str]:
        """Names of the variables that effects are made of while they are sampled."""
        designs = self.designs.values()
        return {offset_name(design.parameter, b) for design in designs for b in design.blocks}

    def without_offsets(self, posterior: xr.Dataset) -> xr.Dataset:
        """Posterior without them, as fits have it."""
        kept = posterior.drop_vars(self.offset_names, errors="ignore")
        used = {dim for values in kept.values() for dim in values.dims}
        return kept.drop_dims([dim for dim in kept.dims if dim not in used])

    def prior(self, variable: str) -> Prior:
        """Prior of a variable, by its plain name."""
        return self.spec.priors[self.spec.named(variable)]

    def of_cells(self, places: Integers) -> "Problem":
        """The problem of some of the cells; only for cells that share nothing."""
        return replace(
            self,
            counts=self.counts.isel(cell=places),
            given={name: values[places] for name, values in self.given.items()},
            start=Start({name: values[places] for name, values in self.start.values.items()}),
        )


def build_problem(counts: xr.DataArray, spec: ModelSpec) -> Problem:
    """Work out everything that the model of a count table needs.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), K ≥ 2.
    spec : ModelSpec

    Returns
    -------
    Problem

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
    spec = replace(spec, priors=priors_of(spec, designs))
    given = given_of(counts, spec)
    return Problem(counts, spec, designs, given, starting_point(counts, spec, designs, given))


def priors_of(spec: ModelSpec, designs: Mapping[str, Design]) -> dict[str, Prior]:
    """Prior of every variable that takes one: the model's own, else the likelihood's.

    Raises
    ------
    InputError
        If the model has a prior for a variable that is not among them, a correlation has one of
        a number or a number one of a correlation, or a standard deviation one of any sign.
    """
    defaults: dict[str, Prior] = {}
    for parameter in spec.record.parameters:
        if parameter.name in designs:
            defaults |= default_priors(designs[parameter.name], parameter)
        else:
            defaults |= free_priors(spec, parameter.name)
    legal = {spec.named(name): prior for name, prior in defaults.items()}
    refuse_unknown_priors(spec, legal)
    scales = {spec.named(name) for name, p in defaults.items() if p.is_positive and "sigma" in name}
    for name, prior in spec.priors.items():
        if (prior.dist == "LKJ") != (legal[name].dist == "LKJ"):
            raise InputError(f"prior of {name}", prior.dist, f"as {legal[name].dist}")
        if name in scales and not prior.is_positive:
            allowed = f"{', '.join(POSITIVE)}: a standard deviation is positive"
            raise InputError(f"prior of {name}", prior.dist, allowed)
    return {**legal, **spec.priors}


def default_priors(design: Design, parameter: Parameter) -> dict[str, Prior]:
    """Default priors of all variables of a parameter's formula, by name."""
    name = design.parameter
    priors = {
        f"{name}_{term.name}": parameter.prior if term.is_level else parameter.slope
        for term in design.common
    }
    for block in design.blocks:
        for term in block.terms:
            priors[f"{name}_{term.name}|{block.factor}_sigma"] = parameter.sigma
        if block.is_correlated:
            priors[f"{name}_{block.name}_corr"] = CORRELATION
    return priors
