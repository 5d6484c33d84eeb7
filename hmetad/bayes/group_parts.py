"""A group's coefficients: how its cells follow from them, and their distribution in the population.

Fit (DataTree) and a grouping column → Model and the cells of each group; Model and the cells of a
group → Unit, what is fixed at each draw, and list of Part.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.kept_cells import linear_predictor
from hmetad.errors import InputError, nearest
from hmetad.likelihood.records import Parameter
from hmetad.mle.units import Unit, column_shapes
from hmetad.specs.design import Block, Design, cell_table
from hmetad.specs.designs import designs_of, given_of
from hmetad.specs.layout import FACTOR_DIM
from hmetad.specs.spec import ModelSpec, free_priors, spec_of

__all__ = ["Model", "Part", "groups_of", "unit_of"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Model:
    """A fit's model with the posterior draws that are looked at."""

    spec: ModelSpec
    counts: xr.DataArray
    posterior: xr.Dataset
    designs: Mapping[str, Design]
    given: Mapping[str, Floats]

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(self.posterior.sizes["chain"] * self.posterior.sizes["draw"])

    def flat(self, values: xr.DataArray) -> Floats:
        """Values with chains and draws as one dim."""
        array = values.transpose("chain", "draw", ...).to_numpy()
        return array.reshape(self.draws, *array.shape[2:])


@dataclass(frozen=True)
class Part:
    """Some coefficients of a group: effects of a block, or values of cells without a formula.

    Parameters
    ----------
    columns : array, shape (cells, columns, coefficients)
        How parameters of the cells follow from them.
    draws, mean, sd : array, shape (draws, coefficients)
        Posterior draws; mean and standard deviation in the population at those draws.
    correlation : array, shape (draws, coefficients, coefficients), or None
        Of coefficients in the population.
    name : str
        Of a block: ``"log_m_1|subject"``.
    """

    columns: Floats
    draws: Floats
    mean: Floats
    sd: Floats
    correlation: Floats | None
    name: str = ""

    @property
    def precision(self) -> Floats:
        """Inverse covariance in the population, (draws, coefficients, coefficients)."""
        scale = 1 / self.sd
        if self.correlation is None:
            return scale[:, :, None] * np.eye(scale.shape[1]) * scale[:, None]
        return scale[:, :, None] * np.linalg.inv(self.correlation) * scale[:, None]


def groups_of(fit: xr.DataTree, by: str, most: int) -> tuple[Model, dict[str, Integers]]:
    """A fit's model with at most about so many draws of each chain together, and cells by group."""
    spec = spec_of(fit)
    observed = fit["observed_data"].to_dataset()["counts"]
    cells = cell_table(observed)
    refuse_unfit(spec, by, list(map(str, cells)))
    posterior = fit["posterior"].to_dataset()
    step = -(-posterior.sizes["chain"] * posterior.sizes["draw"] // most)
    posterior = posterior.isel(draw=slice(None, None, step))
    model = Model(spec, observed, posterior, designs_of(observed, spec), given_of(observed, spec))
    labels = dict.fromkeys(cells[by])
    return model, {str(label): np.flatnonzero(cells[by] == label) for label in labels}


def refuse_unfit(spec: ModelSpec, by: str, columns: list[str]) -> None:
    """Raise where groups of a column cannot be left out of a model."""
    if by not in columns:
        raise InputError("by", repr(by), ", ".join(columns) or "trial", nearest(by, columns))
    for parameter in spec.record.parameters:
        if parameter.truncated_at or parameter.prior_centre:
            step = "Use the card group, or another with criteria = 'log_gap' and scale = 'log_m'."
            got = f"a {spec.name} fit, whose {parameter.name} has a prior around another value"
            raise InputError("fit", got, "normal effects of groups", step)
        prior = next(iter(free_priors(spec, parameter.name).values()))
        own = spec.priors.get(parameter.name, prior)
        if parameter.name not in spec.formula and own.dist != "Normal":
            raise InputError(f"prior of {parameter.name}", own.dist, "Normal")


def unit_of(model: Model, cells: Integers) -> tuple[Unit, Floats, list[Part]]:
    """Likelihood of some cells by their own coefficients, what is fixed, and the coefficients."""
    likelihood, ratings = model.spec.record, model.counts.sizes["rating"]
    shapes = column_shapes(likelihood, ratings)
    width = sum(int(np.prod(shape, dtype=int)) for shape in shapes.values())
    rest, parts, start = np.zeros((model.draws, len(cells), width)), list[Part](), 0
    for name, shape in shapes.items():
        place = slice(start, start + int(np.prod(shape, dtype=int)))
        start = place.stop
        if name in model.given:
            rest[:, :, place] = model.given[name][cells][:, None]
        parameter = next((p for p in likelihood.parameters if p.variable == name), None)
        if parameter is None:
            continue
        if parameter.name in model.designs:
            fixed, own = of_formula(model, parameter, cells)
            rest[:, :, place] = fixed
        else:
            own = [of_cells(model, parameter, cells)]
        for part in own:
            columns = np.zeros((len(cells), width, part.columns.shape[2]))
            columns[:, place] = part.columns
            parts.append(replace(part, columns=columns))
    unit = Unit(
        likelihood,
        cells,
        model.counts.to_numpy()[cells].astype(float),
        {name: own[cells] for name, own in model.given.items()},
        np.concatenate([part.columns for part in parts], axis=2),
        rest[0],
        (),
    )
    return unit, rest, parts


def of_cells(model: Model, parameter: Parameter, cells: Integers) -> Part:
    """Values of a parameter that each cell has of its own."""
    prior = model.spec.priors.get(parameter.name, parameter.prior).parameters
    values = model.flat(model.posterior[model.spec.named(parameter.name)].isel(cell=cells))
    draws = values.reshape(model.draws, -1)
    size = draws.shape[1] // len(cells)
    columns = np.eye(len(cells) * size).reshape(len(cells), size, -1)
    mean, sd = np.full(draws.shape, prior["mu"]), np.full(draws.shape, prior["sigma"])
    return Part(columns, draws, mean, sd, None)


def of_formula(model: Model, parameter: Parameter, cells: Integers) -> tuple[Floats, list[Part]]:
    """What of a linear predictor is fixed, (draws, cells, elements), and effects of the cells."""
    design = model.designs[parameter.name]
    own = [(block, group) for block in design.blocks for group in groups_inside(block, cells)]
    blocks = {block.name for block, _ in own}
    others = tuple(block for block in design.blocks if block.name not in blocks)
    fixed = model.flat(
        linear_predictor(
            model.posterior, model.spec, replace(design, blocks=others), group_terms=True
        ).isel(cell=cells)
    ).reshape(model.draws, len(cells), -1)
    parts = []
    for block, group in own:
        inside = block.index[cells] == group
        columns = block.columns[cells] * inside[:, None]
        # What the population's part has in these columns moves into the mean of the effects.
        mean = np.einsum("kc,sce->ske", np.linalg.pinv(columns), fixed)
        fixed = fixed - np.einsum("ck,ske->sce", columns, mean)
        parts.append(of_block(model, parameter, block, group, columns, mean))
    return fixed, parts


def groups_inside(block: Block, cells: Integers) -> Iterator[int]:
    """Groups of a block all of whose cells are among some."""
    for group in np.unique(block.index[cells]):
        if np.isin(np.flatnonzero(block.index == group), cells).all():
            yield int(group)


def of_block(
    model: Model, parameter: Parameter, block: Block, group: int, columns: Floats, mean: Floats
) -> Part:
    """Effects of a group of a block, as totals with their mean (draws, effects, elements)."""
    spec, (draws, effects, elements) = model.spec, mean.shape
    drawn, sds = [], []
    for term in block.terms:
        name = f"{parameter.name}_{term.name}|{block.factor}"
        effect = model.posterior[spec.named(name)]
        dim = next(d for d in map(str, effect.dims) if d.endswith(FACTOR_DIM))
        width = term.columns.shape[1]
        drawn.append(model.flat(effect.isel({dim: group})).reshape(draws, width, -1))
        sd = model.posterior[spec.named(f"{name}_sigma")]
        sds.append(model.flat(sd).reshape(draws, width, -1))
    correlation = None
    if block.is_correlated:
        correlation = model.flat(model.posterior[spec.named(f"{parameter.name}_{block.name}_corr")])
    size = effects * elements
    # Effects and elements side by side: the columns of an effect are the same for each element.
    own = np.einsum("ck,ef->cekf", columns, np.eye(elements))
    return Part(
        own.reshape(len(columns), elements, size),
        (np.concatenate(drawn, axis=1) + mean).reshape(draws, size),
        mean.reshape(draws, size),
        np.concatenate(sds, axis=1).reshape(draws, size),
        correlation,
        f"{parameter.name}_{block.name}",
    )
