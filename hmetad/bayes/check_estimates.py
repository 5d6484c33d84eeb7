"""Check a fit of estimates before it is used.

DataTree as it was read → its formula, or InputError.
"""

import numpy as np
import xarray as xr

from hmetad.bayes.estimates_data import LINKS
from hmetad.bayes.fit_files import ALLOWED
from hmetad.errors import InputError
from hmetad.specs.design import Design, cell_table, parse_design
from hmetad.specs.formula import parse_formula
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


def sizes_of(design: Design) -> dict[str, tuple[int, ...]]:
    """Variables that a formula makes, and their sizes beside chains and draws."""
    sizes: dict[str, tuple[int, ...]] = {}
    for term in design.common:
        own = () if term.labels is None else (len(term.labels),)
        sizes[f"{design.parameter}_{term.name}"] = own
    for block in design.blocks:
        for term in block.terms:
            own = () if term.labels is None else (len(term.labels),)
            name = f"{design.parameter}_{term.name}|{block.factor}"
            sizes |= {name: (len(block.groups), *own), f"{name}_sigma": own}
        if block.is_correlated:
            effects = block.columns.shape[1]
            sizes[f"{design.parameter}_{block.name}_corr"] = (effects, effects)
    return sizes


def check_variables(
    fit: xr.DataTree, parameter: str, quantity: str, right: str, source: str
) -> None:
    """Raise where variables are missing or undefined, or of other cells than the estimates."""
    posterior, observed = (fit[name].to_dataset() for name in ("posterior", "observed_data"))
    if "cell" not in posterior.coords or not posterior.indexes["cell"].is_unique:
        raise InputError(source, "no cells with names of their own", ALLOWED)
    design = parse_design(parameter, right, cell_table(posterior))
    for name, sizes in {parameter: None, quantity: None, **sizes_of(design)}.items():
        found = posterior.get(name)
        if found is None or found.dims[:2] != ("chain", "draw"):
            raise InputError(source, f"no variable {name!r} by chain and draw", ALLOWED)
        if sizes is not None and found.shape[2:] != sizes:
            raise InputError(source, f"{name} of shape {found.shape}", ALLOWED)
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
