"""Check a fit of estimates before it is used.

DataTree as it was read → its formula, or InputError.
"""

import numpy as np
import xarray as xr

from hmetad.bayes.containers import ALLOWED
from hmetad.bayes.estimates_data import LINKS
from hmetad.errors import InputError
from hmetad.specs.formula import prior_names
from hmetad.specs.grammar import parse_formula
from hmetad.untrusted import parse_json, read_attr

__all__ = ["check_estimates", "has_estimates"]

TEXTS = ("quantity", "formula", "link", "priors", "seed", "versions", "kind", "cluster", "method")
GROUPS = ("posterior", "sample_stats", "observed_data")


def has_estimates(tree: object) -> bool:
    """Whether a tree says that it is a fit of estimates."""
    return isinstance(tree, xr.DataTree) and tree.attrs.get("model") == "estimates"


def check_estimates(fit: xr.DataTree, source: str) -> str:
    """Refuse what is no fit of estimates, or has other variables than its formula says.

    Parameters
    ----------
    fit : DataTree
    source : str
        What to call it in an error: its file, or the argument.

    Returns
    -------
    str
        The formula, without the quantity.
    """
    if not has_estimates(fit) or any(name not in fit.children for name in GROUPS):
        step = "bayes.fit_estimates makes one."
        raise InputError(source, "another kind of tree", "a fit of estimates", step)
    for name in TEXTS:
        if not isinstance(fit.attrs.get(name), str):
            raise InputError(f"{source}, attrs[{name!r}]", "no text", ALLOWED)
    for group in fit.subtree:
        for attrs in (group.attrs, *(x.attrs for x in group.to_dataset().variables.values())):
            for name in ("notices", "versions"):
                read_attr(attrs, name)
    parse_json(fit.attrs["priors"], f"{source}, attrs['priors']")
    quantity, tilde, right = fit.attrs["formula"].partition(" ~ ")
    link = fit.attrs["link"]
    if not tilde or quantity != fit.attrs["quantity"] or link not in LINKS:
        raise InputError(f"{source}, attrs['formula']", repr(fit.attrs["formula"])[:80], ALLOWED)
    parse_formula(right)
    parameter = quantity if link == "identity" else f"{link}_{quantity}"
    check_variables(fit, parameter, quantity, right, source)
    return right


def check_variables(
    fit: xr.DataTree, parameter: str, quantity: str, right: str, source: str
) -> None:
    """Raise where variables are missing or undefined, or of other cells than the estimates."""
    posterior, observed = (fit[name].to_dataset() for name in ("posterior", "observed_data"))
    named = [name for name in prior_names(parameter, right) if not name.endswith("_corr")]
    for name in (parameter, quantity, *named):
        if name not in posterior or posterior[name].dims[:2] != ("chain", "draw"):
            raise InputError(source, f"no variable {name!r} by chain and draw", ALLOWED)
    for drawn, values in posterior.items():
        is_defined = values.dtype.kind in "iuf" and bool(np.isfinite(values.values).all())
        if not is_defined or not values.size:
            raise InputError(source, f"{drawn} that is not finite", ALLOWED)
    for name in (parameter, quantity):
        if posterior[name].dims != ("chain", "draw", "cell"):
            raise InputError(source, f"{name} with dims {posterior[name].dims}", ALLOWED)
    for name in ("estimate", "se"):
        if name not in observed or observed[name].dims != ("cell",):
            raise InputError(source, f"no {name} of every cell", ALLOWED)
    if observed["cell"].values.tolist() != posterior["cell"].values.tolist():
        raise InputError(source, "other cells than the estimates", ALLOWED)
