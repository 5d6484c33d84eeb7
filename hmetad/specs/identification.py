"""Parameters that a table cannot tell, whatever its numbers: too few ratings, or one difficulty.

Count table, ModelSpec and formulas → list of Notice.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.notice import Notice, notice_of
from hmetad.specs.design import Design
from hmetad.specs.formula import formula_columns
from hmetad.specs.spec import ModelSpec

__all__ = ["identification_notices"]


def identification_notices(
    counts: xr.DataArray, spec: ModelSpec, designs: Mapping[str, Design]
) -> list[Notice]:
    """Notices of parameters that rest on their priors, or that have no maximum.

    Parameters
    ----------
    counts : DataArray
        Count table.
    spec : ModelSpec
    designs : mapping of str to Design
        The formulas, by parameter.

    Returns
    -------
    list of Notice
        ``"not-identified"``, for each such parameter, and for each factor whose effects on d′ and c
        cannot be told apart; ``"held-equal"`` where conditions differ in M alone.
    """
    said, ratings = list[Notice](), counts.sizes["rating"]
    needed = max(p.levels_needed for p in spec.record.parameters)
    levels = most_levels(counts.sizes["cell"], spec, designs) if needed > 1 else needed
    for parameter in spec.record.parameters:
        if ratings < parameter.ratings_needed:
            said.append(
                notice_of(
                    "not-identified.ratings",
                    parameter=parameter.name,
                    needed=parameter.ratings_needed,
                    ratings=ratings,
                )
            )
        if levels < parameter.levels_needed:
            said.append(
                notice_of(
                    "not-identified.levels",
                    parameter=parameter.name,
                    needed=parameter.levels_needed,
                )
            )
    said += held_equal_notices(counts, spec, designs)
    factors = one_stimulus_factors(counts, designs)
    return said + [notice_of("not-identified.stimulus", factor=factor) for factor in factors]


def held_equal_notices(
    counts: xr.DataArray, spec: ModelSpec, designs: Mapping[str, Design]
) -> list[Notice]:
    """Notice of parameters that are held equal over conditions between which M may differ.

    What conditions do to d′ or to criteria then comes out as a difference in M.
    """
    focus, cells = spec.record.parameter_of_interest, counts.sizes["cell"]
    named = formula_columns([spec.formula.get(focus, "1")])
    columns = [str(name) for name, x in counts.coords.items() if x.dims == ("cell",)]
    found: dict[str, None] = {}
    parameters = [name for name in ("dprime", "c", "log_gap") if name in designs]
    held = []
    for parameter in parameters if focus in ("log_m", "m") else []:
        own = groups_of([designs[parameter]], cells)
        varied = [
            name
            for name in columns
            if name in named
            and len({*zip(own.tolist(), counts[name].values.tolist(), strict=True)}) > len({*own})
        ]
        held += [parameter] if varied else []
        found |= dict.fromkeys(varied)
    if not held:
        return []
    return [notice_of("held-equal", parameters=", ".join(held), columns=", ".join(found))]


def one_stimulus_factors(counts: xr.DataArray, designs: Mapping[str, Design]) -> list[str]:
    """Factors with effects on d′ and on c whose groups were each shown one stimulus alone.

    The likelihood has d′/2 - c of stimulus S2 and d′/2 + c of S1, and nothing else of the two.
    """
    if not {"dprime", "c"} <= set(designs):
        return []
    shown = counts.sum(["response", "rating"]).transpose("cell", "stimulus").values
    both = {block.factor for block in designs["c"].blocks}
    found = []
    for block in designs["dprime"].blocks:
        by_group = np.zeros((len(block.groups), shown.shape[1]))
        np.add.at(by_group, block.index, shown)
        if block.factor in both and not (by_group > 0).all(axis=1).any():
            found.append(block.factor)
    return found


def most_levels(cells: int, spec: ModelSpec, designs: Mapping[str, Design]) -> int:
    """Largest number of values of d′ that cells may have which share all other parameters."""
    others = [p.name for p in spec.record.parameters if p.name != "dprime"]
    shared = groups_of([designs.get(name) for name in others], cells)
    own = groups_of([designs.get("dprime")], cells)
    return max(len(set(own[shared == group])) for group in set(shared))


def groups_of(designs: list[Design | None], cells: int) -> NDArray[np.int64]:
    """Number of a cell's group: cells of a group have the same rows in all designs."""
    rows = [np.zeros((cells, 0))]
    for design in designs:
        if design is None:
            rows.append(np.arange(cells, dtype=float)[:, None])
            continue
        rows.append(design.columns)
        for block in design.blocks:
            rows += [block.columns, block.index[:, None].astype(float)]
    return np.unique(np.hstack(rows), axis=0, return_inverse=True)[1].ravel()
