"""Fits without what follows from the rest, so that their files are small.

Fit ↔ fit whose posterior lacks the variables that can be computed from the others again.
"""

import json
from pathlib import Path

import xarray as xr

from hmetad.bayes.check_fit import check_attrs, counts_of
from hmetad.bayes.containers import ALLOWED, reading, refuse_too_large
from hmetad.bayes.finish import with_variable_notices
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import cell_results, following_names, posterior_bytes
from hmetad.errors import InputError
from hmetad.specs.design import designs_of, given_of
from hmetad.specs.spec import ModelSpec
from hmetad.untrusted import parse_json

__all__ = ["with_results", "without_results"]

VARIABLES = "variables"


def without_results(fit: xr.DataTree, spec: ModelSpec) -> xr.DataTree:
    """Fit whose posterior lacks what follows from the rest, to the last digit.

    Parameters
    ----------
    fit : DataTree
    spec : ModelSpec
        Its model.

    Returns
    -------
    DataTree
        The same where nothing follows: where draws are not those of `hmetad.fit`, or the cells are
        not kept.
    """
    if not Fitted(fit, spec).has_cells:
        return fit
    posterior = fit["posterior"].to_dataset()
    names = following_names(spec)
    rest = posterior.drop_vars(names, errors="ignore")
    try:
        found = recompute(rest, spec, counts_of(fit))
    except (InputError, KeyError, ValueError):
        return fit
    same = [
        name
        for name, values in found.items()
        if name in posterior and values.variable.equals(posterior[name].variable)
    ]
    if not same:
        return fit
    tree = fit.assign(posterior=xr.DataTree(posterior.drop_vars(same)))
    tree.attrs = {**fit.attrs, VARIABLES: json.dumps([*map(str, posterior)])}
    return tree


def with_results(fit: xr.DataTree, path: Path, max_bytes: int) -> xr.DataTree:
    """Fit with all variables, from one that `without_results` made and a file has kept.

    Parameters
    ----------
    fit : DataTree
        As it was read.
    path : Path
        What to call it in an error.
    max_bytes : int
        How much memory its arrays may take.

    Returns
    -------
    DataTree
        The same where nothing was left out.

    Raises
    ------
    InputError
        If something is left out that does not follow from the rest, or it takes too much memory.
    """
    if VARIABLES not in fit.attrs:
        return fit
    attrs = {name: value for name, value in fit.attrs.items() if name != VARIABLES}
    order = parse_json(fit.attrs[VARIABLES], f"{path}, attrs[{VARIABLES!r}]")
    spec, counts = check_attrs(fit), counts_of(fit)
    posterior = fit["posterior"].to_dataset()
    names = following_names(spec)
    if not isinstance(order, list) or {*order} - {*posterior} - {*names} or {*posterior} - {*order}:
        raise InputError(str(path), f"a posterior of {order!r:.80}", ALLOWED)
    draws, chains = posterior.sizes["draw"], posterior.sizes["chain"]
    needed = posterior_bytes(counts, spec.record, draws, chains)
    refuse_too_large(path, posterior.nbytes + needed, max_bytes)
    with reading(path):
        found = recompute(posterior.drop_vars(names, errors="ignore"), spec, counts)
        missing = {name: found[name] for name in order if name not in posterior}
        whole = posterior.assign(missing)[order]
    tree = fit.assign(posterior=xr.DataTree(whole))
    tree.attrs = attrs
    return with_variable_notices(Fitted(tree, spec))


def recompute(
    posterior: xr.Dataset, spec: ModelSpec, counts: xr.DataArray
) -> dict[str, xr.DataArray]:
    """What follows from the rest of a posterior."""
    return cell_results(posterior, spec, designs_of(counts, spec), given_of(counts, spec))
