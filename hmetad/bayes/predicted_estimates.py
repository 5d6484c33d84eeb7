"""What a hierarchical normal model predicts: for a population, for known groups, for new ones.

Fit of estimates (DataTree) and cells → Dataset (chain, draw, cell).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, refuse_same_names, seed_or_none, with_posterior
from hmetad.bayes.check_estimates import check_estimates
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import derived_results, linear_predictor
from hmetad.bayes.predict import cell_coords, joined_labels, new_cells, with_concerning
from hmetad.counts.resample import seed_entropy
from hmetad.errors import InputError, nearest
from hmetad.specs.design import Block, parse_design
from hmetad.specs.formula import formula_columns
from hmetad.specs.layout import FACTOR_DIM

__all__ = ["predict_estimates"]

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
    spec = check_estimates(fit, "fit")
    fitted = Fitted(fit, spec)
    [(parameter, right)] = spec.formula.items()
    posterior, own = fitted.posterior, fitted.cells
    fresh = [new] if isinstance(new, str) else list(dict.fromkeys(new))
    table = asked_cells(cells, own, right, fresh)
    labels = joined_labels(table) if len(table.columns) else ["population"]
    for column in fresh:
        table = table.assign(**{column: NEW})
    design = parse_design(parameter, right, own, table)
    total = linear_predictor(posterior, spec, design, group_terms=False)
    used = str(fit.attrs["seed"])
    after = int(used) + 1 if used.isdigit() else None
    rng = np.random.default_rng(seed_entropy(after if seed is None else seed))
    for block in design.blocks:
        if set(block.factor.split(":")) <= set(table.columns):
            total = total + block_part(posterior, parameter, block, table, own, rng)
    found = derived_results({parameter: total}, spec.record, [*spec.record.results])
    plain = table.drop(columns=fresh)
    refuse_same_names(plain.columns, found)
    result = xr.Dataset(found).assign_coords(cell_coords(plain, labels))
    return with_concerning(fitted, result)


def asked_cells(cells: Any, own: pd.DataFrame, formula: str, fresh: Sequence[str]) -> pd.DataFrame:
    """Cells asked for, as a table, without columns of new levels."""
    common = sorted(formula_columns([formula]))
    for column in fresh:
        if column not in own.columns:
            raise InputError("new", repr(column), "a column", nearest(column, own.columns))
        if column in common:
            got = f"{column!r}, which has coefficients"
            raise InputError("new", got, "a column that is a factor of groups alone")
    if cells is None:
        names = [column for column in own.columns if column in common]
        if not names:
            return pd.DataFrame(index=pd.RangeIndex(1))
        return own[names].drop_duplicates().reset_index(drop=True)
    if not isinstance(cells, pd.DataFrame | Mapping) or (
        hasattr(cells, "attrs") and not isinstance(cells, pd.DataFrame)
    ):
        raise InputError("cells", type(cells).__name__, "a DataFrame, or a mapping of columns")
    table = new_cells(cells)
    missing = sorted(set(common) - set(map(str, table.columns)))
    twice = [column for column in fresh if column in table.columns]
    if missing or twice or not len(table):
        got = ", ".join(map(str, table.columns)) or "no columns"
        needed = ", ".join(missing or common) or "the formula"
        without = f", and none of {', '.join(fresh)}" if fresh else ""
        raise InputError("cells", got, f"rows, a column for each of {needed}{without}")
    return table


def block_part(
    posterior: xr.Dataset,
    parameter: str,
    block: Block,
    table: pd.DataFrame,
    own: pd.DataFrame,
    rng: np.random.Generator,
) -> xr.DataArray:
    """What a block adds to cells: effects of known groups, and drawn ones of the others."""
    parts = block.factor.split(":")
    labels = [":".join(map(str, row)) for row in table[parts].itertuples(index=False)]
    refuse_unknown_levels(table, own, parts)
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    known = known_effects(posterior, parameter, block, sizes)
    fresh = [x for x, place in zip(labels, block.index, strict=True) if place < 0]
    groups = list(dict.fromkeys(fresh))
    if groups:
        factor = np.linalg.cholesky(effect_covariance(posterior, parameter, block, sizes))
        scores = rng.normal(size=(*sizes, len(groups), factor.shape[-1]))
        known = np.concatenate([known, scores @ np.swapaxes(factor, -1, -2)], axis=2)
    places = [
        len(block.groups) + groups.index(x) if place < 0 else place
        for x, place in zip(labels, block.index, strict=True)
    ]
    added = (known[:, :, places] * block.columns).sum(axis=-1)
    return xr.DataArray(added, dims=("chain", "draw", "cell"))


def refuse_unknown_levels(table: pd.DataFrame, own: pd.DataFrame, parts: Sequence[str]) -> None:
    """Raise where a level is not that of a cell of the fit, and not said to be new."""
    for column in parts:
        levels = {str(x) for x in own[column]} | {NEW}
        unknown = [str(x) for x in table[column] if str(x) not in levels]
        if unknown:
            step = f"Of a level that nothing is known of, leave the column out: new={column!r}."
            raise InputError("cells", f"{column} {unknown[0]!r}", "levels of the fit", step)


def known_effects(
    posterior: xr.Dataset, parameter: str, block: Block, sizes: tuple[int, int]
) -> Floats:
    """Effects of the groups of the fit, (chain, draw, groups, effects)."""
    found = []
    for term in block.terms:
        effects = posterior[f"{parameter}_{term.name}|{block.factor}"]
        dim = next(d for d in map(str, effects.dims) if d.endswith(FACTOR_DIM))
        ordered = effects.transpose("chain", "draw", dim, ...).values
        found.append(ordered.reshape(*sizes, len(block.groups), -1))
    return np.concatenate(found, axis=-1)


def effect_covariance(
    posterior: xr.Dataset, parameter: str, block: Block, sizes: tuple[int, int]
) -> Floats:
    """Covariance of the effects of a group, (chain, draw, effects, effects)."""
    sigmas = []
    for term in block.terms:
        own = posterior[f"{parameter}_{term.name}|{block.factor}_sigma"]
        sigmas.append(own.transpose("chain", "draw", ...).values.reshape(*sizes, -1))
    sigma = np.concatenate(sigmas, axis=-1)
    effects = sigma.shape[-1]
    correlation: Floats = np.broadcast_to(np.eye(effects), (*sizes, effects, effects))
    if block.is_correlated:
        found = posterior[f"{parameter}_{block.name}_corr"]
        correlation = found.transpose("chain", "draw", ...).values
    return np.asarray(sigma[..., None] * correlation * sigma[..., None, :])
