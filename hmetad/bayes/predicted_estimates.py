"""What a hierarchical normal model predicts: for a population, for known groups, for new ones.

Fit of estimates (DataTree) and cells → Dataset (chain, draw, cell).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, with_posterior
from hmetad.base.errors import ColumnError, LevelError, nearest
from hmetad.base.labels import check_same_names
from hmetad.base.variable_roles import Role
from hmetad.bayes.check_fit import check_estimates
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import derived_results, linear_predictor
from hmetad.bayes.predict import cell_coords, wanted_cells, with_concerning
from hmetad.counts.resample import seed_entropy
from hmetad.specs.design import Block, parse_design

type Floats = NDArray[np.float64]

# Level of a column of which nothing is known.
NEW = "new"


@check_inputs(skip=("cells",), fit=with_posterior, seed=seed_or_none)
def predict_estimates(
    fit: xr.DataTree,
    cells: pd.DataFrame | Mapping[str, Sequence[object]] | None = None,
    *,
    new: str | Sequence[str] = (),
    seed: int | None = None,
) -> xr.Dataset:
    r"""Posterior draws of a quantity in cells that were not estimated.

    Parameters
    ----------
    fit : DataTree
        What `bayes.fit_estimates` returned.
    cells : DataFrame or mapping, optional
        Cells, a row each, with the columns that the formula names:
        ``{"model": ["a", "b"]}``. Effects of factors whose columns are not there are left out: what
        is predicted is an average group. Those of combinations that were not estimated, as of a
        model and a set, are drawn from their population. By default every combination of the
        columns of the common part ("population" where there are none).
    new : str or sequence of str, optional
        Columns that have one new level, the same in all cells, such as a set that nobody has
        answered yet. Its effects, and those of its combinations with other columns, are drawn from
        the population of groups.
    seed : int, optional
        Seed of the effects that are drawn; by default the number after the seed of the fit.

    Returns
    -------
    Dataset
        The quantity, dims (chain, draw, cell), with a link also on its scale; as `contrast`,
        `rank` and `decide` take it. With the notices of the fit.

    Raises
    ------
    InputError
        If a column is missing, a level or a group is not known, or `fit` is of another kind.

    Notes
    -----
    .. math:: \tilde\theta = \tilde x \beta + \sum_b \tilde z_b \tilde u_b, \quad
              \tilde u_b \sim N(0, \Omega_b)

    With a link, what is predicted without new levels is the median of groups, not their mean. It is
    the true value of a cell: an estimate of it has its own error besides. Source: Higgins,
    Thompson & Spiegelhalter (2009).

    Examples
    --------
    >>> from hmetad.bayes.estimates import fit_estimates
    >>> table = pd.DataFrame({"set": list("ABCD"), "d": [0.1, 0.5, 0.3, 0.4], "se": 0.1})
    >>> found = fit_estimates(table, "d ~ 1 + (1 | set)", se="se", seed=1)
    >>> mean = predict_estimates(found)["d"]
    >>> one = predict_estimates(found, new="set", seed=1)["d"]
    >>> bool(one.std() > mean.std())
    True
    """
    fitted = Fitted(fit, check_estimates(fit, "fit"))
    spec, own, [(parameter, right)] = fitted.spec, fitted.cells, fitted.spec.formula.items()
    fresh = [new] if isinstance(new, str) else list(dict.fromkeys(new))
    for column in fresh:
        if column not in own.columns:
            raise ColumnError("new", repr(column), "a column", nearest(column, own.columns))
        if column in fitted.predictors:
            got = f"{column!r}, which has coefficients"
            raise ColumnError("new", got, "a column that is a factor of groups alone")
    table, labels = wanted_cells(cells, fitted)
    if not len(table) or {*fresh} & {*table.columns}:
        without = f", and no column {' or '.join(fresh)}" if fresh else ""
        got = ", ".join(map(str, table.columns)) or "no columns"
        raise LevelError("cells", got, f"a row for each cell{without}")
    asked = table.assign(**dict.fromkeys(fresh, NEW))
    design = parse_design(parameter, right, own, asked)
    total = linear_predictor(fitted.posterior, spec, design, group_terms=False)
    used = str(fit.attrs["seed"])
    after = int(used) + 1 if used.isdigit() else None
    rng = np.random.default_rng(seed_entropy(after if seed is None else seed))
    for block in design.blocks:
        if {*block.factor.split(":")} <= {*asked.columns}:
            refuse_unknown_levels(asked, own, block)
            total = total + block_part(fitted, parameter, block, asked, rng)
    found = derived_results({parameter: total}, spec.record, spec.record.results)
    check_same_names(table.columns, found)
    return with_concerning(fitted, xr.Dataset(found).assign_coords(cell_coords(table, labels)))


def refuse_unknown_levels(asked: pd.DataFrame, own: pd.DataFrame, block: Block) -> None:
    """Raise where a level is not that of a cell of the fit, and not said to be new."""
    for column in block.factor.split(":"):
        levels = {str(x) for x in own[column]} | {NEW}
        unknown = [str(x) for x in asked[column] if str(x) not in levels]
        if unknown:
            step = f"Of a level that nothing is known of, leave the column out: new={column!r}."
            raise LevelError("cells", f"{column} {unknown[0]!r}", "levels of the fit", step)


def block_part(
    fitted: Fitted,
    parameter: str,
    block: Block,
    asked: pd.DataFrame,
    rng: np.random.Generator,
) -> xr.DataArray:
    """What a block adds to cells: effects of known groups, and drawn ones of the others."""

    def by_column(role: Role) -> Floats:
        """Draws of all terms side by side, (chain, draw, effects) or (chain, draw, groups, …)."""
        own = [fitted.layout.variable(role, parameter, t.name, block.factor) for t in block.terms]
        drawn = [fitted.posterior[x.name].transpose("chain", "draw", *x.dims).values for x in own]
        kept = 3 if role == "effect" else 2
        return np.concatenate([x.reshape(*x.shape[:kept], -1) for x in drawn], axis=-1)

    labels = asked[block.factor.split(":")].astype(str).agg(":".join, axis=1)
    places = np.where(block.index < 0, len(block.groups), block.index)
    fresh, number = np.unique(labels[block.index < 0], return_inverse=True)
    places[block.index < 0] += number
    effects, sigma = by_column("effect"), by_column("sd")
    if len(fresh):
        unit = np.eye(sigma.shape[-1])
        if block.is_correlated:
            correlation = fitted.drawn("correlation", parameter, block.written, block.factor)
            unit = np.linalg.cholesky(correlation.transpose("chain", "draw", ...).values)
        scores = rng.normal(size=(*effects.shape[:2], len(fresh), sigma.shape[-1]))
        drawn = scores @ np.swapaxes(sigma[..., None] * unit, -1, -2)
        effects = np.concatenate([effects, drawn], axis=2)
    added = (effects[:, :, places] * block.columns).sum(axis=-1)
    return xr.DataArray(added, dims=("chain", "draw", "cell"))
