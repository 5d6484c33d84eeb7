"""What a hierarchical normal model predicts: for a population, for known groups, for new ones.

Fit of estimates (DataTree) and cells → Dataset (chain, draw, cell).
"""

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, with_posterior
from hmetad.bayes.check_fit import check_estimates
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import new_cells


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
        ``{"model": ["a", "b"]}``. Effects of factors whose columns are not there are excluded: what
        is predicted is an average group. Those of combinations that were not estimated, as of a
        model and a set, are drawn from their population. By default every combination of the
        columns of the common part ("population" if there are none).
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
    return new_cells(Fitted(fit, check_estimates(fit, "fit")), cells, new, seed)
