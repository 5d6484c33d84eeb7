"""A fit, read once: its model, counts, formulas on its cells, and draws.

DataTree → Fitted. All that is made of a fit takes this record, so that the text of its model is
read and its formulas are evaluated once in a call.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import ModelError
from hmetad.base.memory import refuse_memory
from hmetad.base.notice import Notice, with_notices
from hmetad.base.variable_roles import Identity, Role, identity_of
from hmetad.bayes.kept_cells import (
    cell_results,
    following_names,
    outcome_draws,
    posterior_bytes,
)
from hmetad.likelihood.family import Family
from hmetad.specs.crossing import ANSWERS, Crossing, read_answers
from hmetad.specs.design import Design, cell_table, designs_of, given_of
from hmetad.specs.formula import ParsedFormula, parse_formula
from hmetad.specs.layout import Layout, layout_of, pooled_over
from hmetad.specs.spec import ModelSpec, spec_of

type Floats = NDArray[np.float64]

# Tables in the place of those of cells have so many rows at most.
MOST_LEVELS = 200


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit with its model; what follows from both is worked out at most once.

    Parameters
    ----------
    tree : DataTree
    spec : ModelSpec
        Its model.
        Without a factor that is integrated out, of which cells have no columns.
    known : Layout, optional
        Its variables, where they are known.
    crossing : Crossing, optional
        That factor, and what the cells answered to each of its levels.
    """

    tree: xr.DataTree
    spec: ModelSpec
    known: Layout | None = None
    crossing: Crossing | None = None

    @classmethod
    def of(cls, fit: xr.DataTree) -> "Fitted":
        """A fit as `hmetad.fit` or `hmetad.load_fit` returned it."""
        spec = spec_of(fit)
        if ANSWERS not in fit.children:
            return cls(fit, spec)
        counts = fit["observed_data"].to_dataset()["counts"]
        crossing = read_answers(fit[ANSWERS].to_dataset(), counts, spec)
        return cls(fit, crossing.spec, crossing=crossing)

    def saying(self, found: Iterable[Notice]) -> "Fitted":
        """The fit with more notices."""
        return replace(self, tree=with_notices(self.tree, found))

    def at(self, posterior: xr.Dataset) -> "Fitted":
        """The fit at some of its draws."""
        tree = self.tree.assign(posterior=xr.DataTree(posterior))
        return replace(self, tree=tree, known=self.layout)

    @cached_property
    def record(self) -> Family:
        """Likelihood of the model, with its choices."""
        return self.spec.record

    @cached_property
    def posterior(self) -> xr.Dataset:
        """Draws."""
        return self.tree["posterior"].to_dataset()

    @cached_property
    def statistics(self) -> xr.Dataset:
        """What the sampler said of draws and cells, without the columns of these."""
        return self.tree["sample_stats"].to_dataset().reset_coords(drop=True)

    @cached_property
    def counts(self) -> xr.DataArray:
        """Count table that was fitted."""
        if not self.record.has_ratings:
            raise ModelError("fit", "a fit of estimates", "a fit of counts")
        return self.tree["observed_data"].to_dataset()["counts"]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Coordinates of the cells, a row each."""
        return cell_table(self.posterior)

    @cached_property
    def layout(self) -> Layout:
        """Its variables."""
        if self.known is not None:
            return self.known
        cells = self.counts if self.record.has_ratings else self.posterior["cell"]
        integrated = self.crossing.integrated if self.crossing else None
        return layout_of(cells, self.spec, designs_of(cells, self.spec), integrated)

    @cached_property
    def identities(self) -> dict[str, Identity]:
        """What each variable of the posterior is, as its attrs say; without any, by the layout."""
        said = {str(name): identity_of(own.attrs) for name, own in self.posterior.items()}
        return {name: own for name, own in said.items() if own} or self.identities_of_layout

    @property
    def identities_of_layout(self) -> dict[str, Identity]:
        """The same by the layout and the likelihood, also of what the posterior lacks."""
        cells = {name: Identity("cell", x.parameter) for name, x in self.record.results.items()}
        return cells | {variable.name: variable.identity for variable in self.layout.variables}

    @property
    def links(self) -> dict[str, str]:
        """Links of the variables of the posterior that have one: they are logarithms."""
        of_parameters = {p.name: self.record.links.get(p.variable) for p in self.record.parameters}
        scaled = [v for v in self.layout.variables if v.role in ("cell", "coefficient", "effect")]
        found = {v.name: of_parameters[v.identity.parameter] for v in scaled}
        return self.record.links | {name: link for name, link in found.items() if link}

    @property
    def designs(self) -> Mapping[str, Design]:
        """Formulas evaluated on the cells, by parameter."""
        return {name: own.design for name, own in self.layout.formulas.items()}

    @cached_property
    def given(self) -> Mapping[str, Floats]:
        """Quantities that were set to their values from the counts, (cells,) each."""
        return given_of(self.counts, self.spec)

    @property
    def number(self) -> int:
        """Number of draws of all chains."""
        return int(self.posterior.sizes["chain"] * self.posterior.sizes["draw"])

    @property
    def sampling(self) -> dict[str, str]:
        """What variables say of their draws: by what they were made, or that none has a chain."""
        method = self.tree.attrs.get("method", "nuts")
        return {"sampling": self.tree.attrs.get("sampling", method)}

    def drawn(self, role: Role, parameter: str, term: str = "", factor: str = "") -> xr.DataArray:
        """Draws of the variable with this role, parameter, term and factor."""
        return self.posterior[self.layout.variable(role, parameter, term, factor).name]

    def flat(self, values: xr.DataArray) -> Floats:
        """Draws (draws, ...) of all chains in one dim."""
        array = values.transpose("chain", "draw", ...).to_numpy()
        return array.reshape(self.number, *array.shape[2:])

    @cached_property
    def formulas(self) -> dict[str, ParsedFormula]:
        """Formulas as they were read, by parameter."""
        return {name: parse_formula(formula) for name, formula in self.spec.formula.items()}

    @cached_property
    def predictors(self) -> list[str]:
        """Columns that the formulas name outside of brackets."""
        return sorted({x for one in self.formulas.values() for x in one.common.columns})

    @cached_property
    def factors(self) -> list[tuple[str, ...]]:
        """Columns of each grouping factor: subject and item in the card crossed_items."""
        terms = [term for one in self.formulas.values() for term in one.group_terms]
        return list(dict.fromkeys(factor for term in terms for factor in term.factors))

    @cached_property
    def shrunk_over(self) -> dict[str, str]:
        """Grouping factors over which each quantity of a cell is partially pooled, as text.

        Source: Boehm et al. (2018), for what goes wrong when such estimates are tested.
        """
        return pooled_over(self.spec)

    @cached_property
    def has_cells(self) -> bool:
        """Whether the posterior has the quantities of its cells."""
        return any(name in self.posterior for name in self.record.results)

    @cached_property
    def columns_of_levels(self) -> list[str]:
        """Columns whose combinations are shown in the place of cells that are not kept.

        Those of the formulas, and of grouping factors, the fewest groups first, while there are no
        more than 200 combinations: of 20 observers crossed with 2,000 items the observers.
        """
        table, found = self.cells, [*self.predictors]
        grouping = dict.fromkeys(name for factor in self.factors for name in factor)
        for name in sorted(grouping, key=lambda name: table[name].nunique()):
            is_new = name not in found
            if is_new and len(table[[*found, name]].drop_duplicates()) <= MOST_LEVELS:
                found.append(name)
        return found

    def bytes_of_cells(self, draws: xr.Dataset) -> int:
        """Bytes of the quantities of all cells at these draws."""
        numbers = draws.sizes["draw"], draws.sizes["chain"]
        return posterior_bytes(self.counts, self.record, *numbers)

    def with_cells(self, draws: xr.Dataset) -> xr.Dataset:
        """Draws of this fit with the quantities of all cells, computed where they are not kept."""
        if self.has_cells:
            return draws
        cells = f"the quantities of {self.counts.sizes['cell']:,} cells"
        refuse_memory("fit", cells, 2 * self.bytes_of_cells(draws))
        found = cell_results(draws, self.spec, self.designs, self.given)
        return draws.assign({name: found[name] for name in following_names(self.spec)})

    def log_probabilities(self, draws: xr.Dataset) -> xr.DataArray:
        """log P(response, rating | stimulus) of a trial at draws of this fit, all outcomes."""
        drawn = self.with_cells(draws)
        places = self.counts.indexes["cell"].get_indexer(drawn.indexes["cell"])
        given = {name: own[places] for name, own in self.given.items()}
        return outcome_draws(drawn, self.record, given, self.labels)

    @property
    def outcome(self) -> tuple[str, ...]:
        """Dims of the count table: the cell, and what can happen in a trial."""
        return ("cell", *self.record.layout.dims)

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """Labels of the outcomes, by dim."""
        return {dim: self.counts[dim].values for dim in self.record.layout.dims}
