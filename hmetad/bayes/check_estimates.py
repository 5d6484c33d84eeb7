"""Check a fit of estimates before it is used.

DataTree as it was read → its model, or InputError.
"""

import numpy as np
import xarray as xr

from hmetad.bayes.check_fit import check_attrs, check_stats
from hmetad.bayes.fit_files import ALLOWED
from hmetad.errors import InputError
from hmetad.specs.design import designs_of
from hmetad.specs.layout import layout_of
from hmetad.specs.spec import ModelSpec

__all__ = ["check_estimates", "has_estimates"]

GROUPS = ("posterior", "sample_stats", "observed_data")


def has_estimates(tree: object) -> bool:
    """Whether a tree says that it is a fit of estimates."""
    return isinstance(tree, xr.DataTree) and tree.attrs.get("model") == "estimates"


def check_estimates(fit: xr.DataTree, source: str) -> ModelSpec:
    """Refuse what is no fit of estimates, or has other variables than its formula says.

    Parameters
    ----------
    fit : DataTree
    source : str
        What to call it in an error: its file, or the argument.

    Returns
    -------
    ModelSpec
    """
    if not has_estimates(fit) or any(name not in fit.children for name in GROUPS):
        step = "bayes.fit_estimates makes one."
        raise InputError(source, "another kind of tree", "a fit of estimates", step)
    spec = check_attrs(fit)
    posterior, observed = (fit[name].to_dataset() for name in ("posterior", "observed_data"))
    if spec.record.name != "normal" or len(spec.formula) != 1:
        raise InputError(f"{source}, attrs['spec']", repr(spec.likelihood), ALLOWED)
    [right] = spec.formula.values()
    if fit.attrs.get("formula") != f"{spec.record.plotted} ~ {right}":
        raise InputError(f"{source}, attrs['formula']", "no text of its model", ALLOWED)
    stats, is_weighed = fit["sample_stats"].to_dataset(), fit.attrs.get("method") == "importance"
    check_stats(stats, posterior)
    if "p_fit" not in stats or ("pareto_k" in stats) != is_weighed:
        raise InputError(f"{source}, sample_stats", "statistics of another fit", ALLOWED)
    for name in ("estimate", "se"):
        if name not in observed or observed[name].dims != ("cell",):
            raise InputError(source, f"no {name} of every cell", ALLOWED)
    if "cell" not in posterior.coords or not posterior.indexes["cell"].is_unique:
        raise InputError(source, "no cells with names of their own", ALLOWED)
    if observed["cell"].values.tolist() != posterior["cell"].values.tolist():
        raise InputError(source, "other cells than the estimates", ALLOWED)
    cells = posterior["cell"]
    layout = layout_of(cells, spec, designs_of(cells, spec))
    wanted = {one.name: one.dims for one in layout.variables if one.role != "offset"}
    wanted |= dict.fromkeys(spec.record.results, ("cell",))
    for name, dims in wanted.items():
        sizes = tuple(len(layout.coords[dim]) for dim in dims)
        found = posterior.get(name)
        if found is None or (found.dims, found.shape[2:]) != (("chain", "draw", *dims), sizes):
            got = f"no variable {name!r} by chain, draw{''.join(f', {dim}' for dim in dims)}"
            raise InputError(source, got, ALLOWED)
    for drawn, values in posterior.items():
        is_defined = values.dtype.kind in "iuf" and bool(np.isfinite(values.values).all())
        if not is_defined or not values.size:
            raise InputError(source, f"{drawn} that is not finite", ALLOWED)
    return spec
