"""Parameters drawn from the prior of a model card, and a count table from each.

Design (a count table, whose responses do not matter) and card → DataTree with the groups ``prior``
and ``prior_predictive``. PyMC's own `sample_prior_predictive` takes the model that
`hmetad.build_model` makes; here counts are drawn from the readable probabilities instead.
"""

from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr

from hmetad import ModelSpec
from hmetad.bayes import model_of
from hmetad.bayes.kept_cells import drawn_counts, outcome_draws
from hmetad.bayes.model import pymc_model
from hmetad.bayes.parametrisation import parametrise
from hmetad.bayes.program import build_program
from hmetad.bayes.start import Start
from hmetad.specs.design import given_of

# Compiled to machine code, each variable of a prior would take longer than all of its draws.
WITHOUT_COMPILING = "FAST_COMPILE"


def draw_prior(
    design: xr.DataArray, spec: ModelSpec, *, draws: int, seed: int | np.random.Generator
) -> xr.DataTree:
    """So many draws of the parameters and the counts of a design; chains have size 1."""
    spec = model_of(design, spec)
    layout = spec.record.layout
    program = build_program(design, spec, integrates=False)
    coords = program.layout.coords
    # What responses say of groups does not matter.
    plain = {
        name: parametrise(own.design, [len(coords[dim]) for dim in spec.extra_dims(name)])
        for name, own in program.layout.formulas.items()
    }
    built = pymc_model(replace(program, known_start=Start({}, plain)))
    rng = np.random.default_rng(seed)
    per_cell = {str(name): v for name, v in design.coords.items() if v.dims == ("cell",)}
    prior = program.without_offsets(prior_draws(built, draws, rng)).assign_coords(per_cell)
    labels = {dim: design[dim].values for dim in layout.dims if dim in design.coords}
    log_p = outcome_draws(prior, spec.record, given_of(design, spec), labels)
    totals = design.sum(layout.answers).transpose("cell", *layout.given).to_numpy()
    drawn = drawn_counts(rng, totals, log_p.to_numpy(), len(layout.answers))
    counts = log_p.copy(data=drawn).assign_coords(per_cell).rename("counts")
    groups = {"prior": prior, "prior_predictive": counts.to_dataset()}
    return xr.DataTree.from_dict(groups)


def prior_draws(model: pm.Model, number: int, rng: np.random.Generator) -> xr.Dataset:
    """Draws (chain, draw, ...) of all variables but the counts."""
    variables = [*model.free_RVs, *model.deterministics]
    drawn = pm.draw(variables, draws=number, random_seed=rng, mode=WITHOUT_COMPILING)
    found = {}
    for variable, values in zip(variables, drawn, strict=True):
        dims = model.named_vars_to_dims.get(variable.name, ())
        # A single draw comes without a dim of draws.
        shape = np.shape(values)[np.ndim(values) - variable.ndim :]
        found[variable.name] = (("chain", "draw", *dims), np.reshape(values, (1, number, *shape)))
    used = {dim for dims, _ in found.values() for dim in dims}
    coords = {dim: np.array(own) for dim, own in model.coords.items() if dim in used}
    return xr.Dataset(found, {"chain": [0], "draw": np.arange(number), **coords})
