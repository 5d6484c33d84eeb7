"""What a model takes from a count table: the counts, its formulas on the cells, quantities set.

Count table and ModelSpec → checked counts, a Design for each formula, and quantities from the
counts. Fits of all kinds begin here.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.checks import (
    Axes,
    refuse_falling_ratings,
    refuse_impossible_counts,
    refuse_other_dims,
    require_stimulus,
)
from hmetad.counts.columns import as_text
from hmetad.errors import InputError
from hmetad.likelihood.family import TWO_ALTERNATIVES, OutcomeLayout
from hmetad.measures.sdt import sdt
from hmetad.specs.design import Design, Term, cell_table, parse_design
from hmetad.specs.spec import ModelSpec

__all__ = [
    "checked_counts",
    "designs_of",
    "given_of",
    "reference_level",
    "refuse_other_outcomes",
    "refuse_other_tables",
]

type Floats = NDArray[np.float64]


def refuse_other_outcomes(counts: xr.DataArray, layout: OutcomeLayout, used_by: str) -> None:
    """Raise where a table does not count the outcomes of a layout."""
    if layout == TWO_ALTERNATIVES:
        require_stimulus(counts, used_by)
        return
    allowed = f"a count table with dims {', '.join(layout.dims)}"
    axes = Axes({dim: labels for dim, labels in layout.axes.items() if labels})
    refuse_other_dims(counts, allowed, f"{used_by} needs them.", axes)
    for dim, labels in layout.axes.items():
        if labels and counts[dim].values.tolist() != [*labels]:
            raise InputError(
                "counts", f"{dim} {counts[dim].values.tolist()}", f"{', '.join(labels)}"
            )
    refuse_falling_ratings(counts)
    refuse_impossible_counts(counts)


def refuse_other_tables(counts: xr.DataArray, layout: OutcomeLayout = TWO_ALTERNATIVES) -> None:
    """Raise where counts are no count table of cells alone, or have one rating."""
    refuse_other_outcomes(counts, layout, "A model of ratings")
    dims = ("cell", *layout.dims)
    if set(counts.dims) != set(dims):
        raise InputError("counts", f"sizes {dict(counts.sizes)}", f"dims {dims}")
    if counts.dtype.kind not in "iu":
        raise InputError("counts", f"type {counts.dtype}", "raw counts, as whole numbers")
    if counts.sizes["rating"] < 2:
        raise InputError("counts", "one rating", "at least two", "sdt() needs no ratings.")


def checked_counts(counts: xr.DataArray, spec: ModelSpec) -> xr.DataArray:
    """Count table in its own order of dims, or the reason why it cannot be modelled."""
    layout = spec.record.layout
    if not spec.record.has_ratings:
        step = "bayes.fit_estimates fits it."
        raise InputError("model", "a model of estimates", "a model of counts", step)
    refuse_other_tables(counts, layout)
    shown = counts.sum(layout.answers)
    lacking = counts["cell"].values[(shown == 0).any(layout.given).values]
    # Where d′ and c have formulas, cells borrow from each other: one trial of an item is enough.
    if lacking.size and not {"dprime", "c"} <= set(spec.formula):
        labels = [label for dim in layout.given for label in layout.axes[dim]]
        raise InputError(
            "counts",
            f"a stimulus never shown in {', '.join(map(str, lacking[:5]))}",
            f"trials of {' and of '.join(labels)} in every cell",
            "Drop those cells, group the trials otherwise, or give dprime and c formulas.",
        )
    return counts.transpose("cell", *layout.dims)


def given_of(counts: xr.DataArray, spec: ModelSpec) -> dict[str, Floats]:
    """Quantities that a model sets to their values from the counts, (cells,) each."""
    if not spec.record.from_counts:
        return {}
    # HMeta-d adds 1/(2K) to every count.
    estimates = sdt(counts, correction="cell")
    return {name: estimates[name].to_numpy() for name in spec.record.from_counts}


def reference_level(term: Term, cells: pd.DataFrame) -> str:
    """Level of a column that the coefficients of a term lack; empty for other terms.

    Examples
    --------
    >>> cells = pd.DataFrame({"task": ["a", "b", "a"]})
    >>> reference_level(Term("task", np.zeros((3, 1)), np.array(["b"]), False), cells)
    'a'
    """
    if term.is_level or term.labels is None or term.name not in cells:
        return ""
    left = set(map(as_text, cells[term.name])) - set(map(str, term.labels))
    return left.pop() if len(left) == 1 else ""


def designs_of(counts: xr.DataArray, spec: ModelSpec) -> dict[str, Design]:
    """Formulas of a model, evaluated on the cells of a table, by parameter."""
    for variable, name in spec.names.items():
        if name in counts.coords:
            got = f"{name!r}, which is a coordinate of the cells"
            raise InputError(f"name of {variable}", got, "another name")
    if not spec.formula:
        return {}
    cells = cell_table(counts)
    return {
        name: parse_design(
            name,
            formula,
            cells,
            may_correlate=not spec.extra_dims(name),
            factors=spec.factors,
        )
        for name, formula in spec.formula.items()
    }
