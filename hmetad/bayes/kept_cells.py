"""Whether a posterior has the quantities of its cells, which follow from coefficients and effects.

Model, sizes and what was asked for → bool; fit → posterior with the quantities of all cells.
"""

import xarray as xr

from hmetad.bayes.cell_results import cell_results, following_names
from hmetad.bayes.size import posterior_bytes
from hmetad.errors import InputError
from hmetad.memory import in_words, refuse_memory
from hmetad.notice import Notice, notice_of
from hmetad.notice_registry import limit
from hmetad.specs.design import cell_table
from hmetad.specs.designs import designs_of, given_of
from hmetad.specs.formula import formula_columns
from hmetad.specs.grammar import parse_formula
from hmetad.specs.spec import ModelSpec, spec_of

__all__ = [
    "columns_of_levels",
    "factors_of",
    "follow_from_effects",
    "has_cells",
    "keeps_cells",
    "not_kept_notice",
    "whole_posterior",
]

# Tables in the place of those of cells have so many rows at most.
MOST_LEVELS = 200


def follow_from_effects(spec: ModelSpec) -> bool:
    """Whether all quantities of cells follow from others: where every parameter has a formula.

    Examples
    --------
    >>> from hmetad.specs.loading import load_model
    >>> follow_from_effects(load_model("group")), follow_from_effects(load_model("individual"))
    (True, False)
    """
    return all(parameter.name in spec.formula for parameter in spec.record.parameters)


def keeps_cells(
    asked: bool | None, counts: xr.DataArray, spec: ModelSpec, draws: int, chains: int
) -> bool:
    """Whether a fit keeps the quantities of its cells.

    Parameters
    ----------
    asked : bool or None
        What the user wants; None leaves it to the size.
    counts : DataArray
        Count table.
    spec : ModelSpec
    draws, chains : int

    Returns
    -------
    bool

    Raises
    ------
    InputError
        If they are not wanted, and do not follow from the rest.
    """
    can_go = follow_from_effects(spec)
    if asked is False and not can_go:
        without = [p.name for p in spec.record.parameters if p.name not in spec.formula]
        got = f"False, for a card without a formula of {', '.join(without)}"
        raise InputError("keep_cells", got, "a card whose cells follow from effects, or True")
    if asked is not None or not can_go:
        return asked is not False
    size = posterior_bytes(counts, spec.record, draws, chains)
    return size <= limit("cells-not-kept") * 10**9


def has_cells(fit: xr.DataTree) -> bool:
    """Whether the posterior of a fit has the quantities of its cells."""
    return any(name in fit["posterior"] for name in spec_of(fit).record.results)


def not_kept_notice(fit: xr.DataTree) -> Notice:
    """Notice that quantities of cells are not in the posterior, and how large they would be."""
    number = fit["observed_data"].sizes["cell"]
    return notice_of("cells-not-kept", number=f"{number:,}", size=in_words(bytes_of_cells(fit)))


def bytes_of_cells(fit: xr.DataTree) -> int:
    """Bytes of the quantities of all cells."""
    sizes = fit["posterior"].sizes
    counts = fit["observed_data"].to_dataset()["counts"]
    return posterior_bytes(counts, spec_of(fit).record, sizes["draw"], sizes["chain"])


def factors_of(spec: ModelSpec) -> list[tuple[str, ...]]:
    """Columns of each grouping factor of a model's formulas.

    Examples
    --------
    >>> from hmetad.specs.loading import load_model
    >>> factors_of(load_model("crossed_items"))
    [('subject',), ('item',)]
    """
    formulas = [parse_formula(formula) for formula in spec.formula.values()]
    return list(dict.fromkeys(x for one in formulas for t in one.group_terms for x in t.factors))


def columns_of_levels(fit: xr.DataTree) -> list[str]:
    """Columns whose combinations are shown in the place of cells that are not kept.

    Those of the formulas, and of grouping factors, the fewest groups first, while there are no
    more than 200 combinations: of 20 observers crossed with 2,000 items the observers.
    """
    table, spec = cell_table(fit["posterior"].to_dataset()), spec_of(fit)
    found = dict.fromkeys(sorted(formula_columns(spec.formula.values())))
    grouping = {name for factor in factors_of(spec) for name in factor}
    for name in sorted(grouping, key=lambda name: table[name].nunique()):
        if len(table[[*found, name]].drop_duplicates()) <= MOST_LEVELS:
            found[name] = None
    return list(found)


def whole_posterior(fit: xr.DataTree) -> xr.Dataset:
    """Posterior of a fit with the quantities of all cells, computed where they are not kept.

    Parameters
    ----------
    fit : DataTree

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If they do not fit into memory.
    """
    posterior = fit["posterior"].to_dataset()
    if has_cells(fit):
        return posterior
    spec, counts = spec_of(fit), fit["observed_data"].to_dataset()["counts"]
    cells = f"the quantities of {counts.sizes['cell']:,} cells"
    refuse_memory("fit", cells, 2 * bytes_of_cells(fit))
    found = cell_results(posterior, spec, designs_of(counts, spec), given_of(counts, spec))
    return posterior.assign({name: found[name] for name in following_names(spec)})
