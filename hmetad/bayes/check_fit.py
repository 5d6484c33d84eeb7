"""Check a saved fit before it is used.

DataTree as it was read → its model, or InputError.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from hmetad.bayes.containers import ALLOWED
from hmetad.bayes.kept_cells import follow_from_effects
from hmetad.counts.checks import TYPE1_DIMS, require_stimulus
from hmetad.errors import InputError
from hmetad.likelihood.records import dim_labels, dim_sizes
from hmetad.specs.loading import names_with_prior
from hmetad.specs.spec import ModelSpec
from hmetad.untrusted import read_attr

__all__ = ["check_attrs", "check_fit", "check_stats", "counts_of"]

# Statistics of importance sampling, and their kinds.
OF_WEIGHTS = {"pareto_k": "f", "effective_draws": "f", "by_chains": "b"}
# Of cells that chains have drawn; fits of earlier versions lack it.
OF_CHAINS = {"divergences": "i", "divergences_within": "i", "divergences_shared": "f"}
GROUPS = ("posterior", "sample_stats", "observed_data")
JSON_ATTRS = ("notices", "same_items", "versions", "by")
CHAIN_DRAW = ("chain", "draw")
MIN_RATINGS = 2


def check_fit(fit: xr.DataTree, source: str) -> ModelSpec:
    """Refuse what is no fit, or a fit whose draws do not belong to its model and its counts.

    Parameters
    ----------
    fit : DataTree
    source : str
        What to call it in an error: its file, or the argument.

    Returns
    -------
    ModelSpec
        The model that is recorded in the fit.

    Raises
    ------
    InputError
        If a group, a variable, a coordinate or an attr is missing or of the wrong kind, the cells
        of the draws are not those of the counts, or d′, c, meta-d′ or a criterion is not finite.
    """
    if not isinstance(fit, xr.DataTree):
        raise InputError(source, type(fit).__name__, "a fit, as hmetad.fit returned it")
    missing = [name for name in GROUPS if name not in fit.children]
    if missing:
        raise InputError(source, f"no group {missing[0]}", ALLOWED)
    try:
        spec = check_attrs(fit)
        counts = counts_of(fit)
        check_posterior(fit["posterior"].to_dataset(), spec, counts)
        check_stats(fit)
    except InputError as error:
        argument = error.argument if error.argument == source else f"{source}, {error.argument}"
        raise InputError(argument, error.got, error.allowed, error.next_step) from error
    return spec


def check_attrs(fit: xr.DataTree) -> ModelSpec:
    """Model of a fit, if its attrs are complete and legal."""
    for name in ("model", "spec", "seed", "sampler", "versions"):
        if not isinstance(fit.attrs.get(name), str):
            raise InputError(f"attrs[{name!r}]", repr(fit.attrs.get(name))[:80], "text")
    for attrs in every_attrs(fit):
        for name in JSON_ATTRS:
            read_attr(attrs, name)
    spec = ModelSpec.from_json(fit.attrs["spec"])
    for name, value in spec.choices.items():
        said = fit.attrs.get(name, value)
        if not isinstance(said, str) or said != value:
            raise InputError(f"attrs[{name!r}]", repr(said)[:80], f"{value}, as in the spec")
    return spec


def every_attrs(fit: xr.DataTree) -> Iterator[Mapping[Any, Any]]:
    """Attrs of a fit, of its groups, and of all their variables."""
    for group in fit.subtree:
        yield group.attrs
        yield from (values.attrs for values in group.to_dataset().variables.values())


def counts_of(fit: xr.DataTree) -> xr.DataArray:
    """Count table that a fit was made from, checked."""
    observed = fit["observed_data"].to_dataset()
    if "counts" not in observed:
        raise InputError("observed_data", f"{sorted(map(str, observed))[:5]}", "counts")
    counts = observed["counts"]
    require_stimulus(counts, "fit")
    if set(counts.dims) != {"cell", *TYPE1_DIMS} or "cell" not in counts.coords:
        raise InputError("counts", f"dims {counts.dims}", f"dims ('cell', {TYPE1_DIMS})")
    if counts.sizes["rating"] < MIN_RATINGS or not {"response", "rating"} <= set(counts.coords):
        raise InputError("counts", f"{counts.sizes['rating']} ratings", "two or more, with labels")
    if not counts.indexes["cell"].is_unique:
        raise InputError("counts", "a cell more than once", "cells with names of their own")
    return counts


def check_posterior(posterior: xr.Dataset, spec: ModelSpec, counts: xr.DataArray) -> None:
    """Raise where the draws do not belong to a model of these counts."""
    results = spec.record.results
    wanted = {name: ("cell", *quantity.dims) for name, quantity in results.items()}
    if follow_from_effects(spec) and not any(name in posterior for name in wanted):
        wanted = {}
    for name in (*wanted, *required_variables(spec)):
        if name not in posterior.data_vars:
            raise InputError("posterior", f"no variable {name!r}", f"what a {spec.name} fit has")
    for drawn in posterior:
        values = posterior[drawn]
        if values.dims[:2] != CHAIN_DRAW or values.dtype.kind not in "iuf":
            got = f"{drawn} with dims {values.dims} of type {values.dtype}"
            raise InputError("posterior", got, "numbers with dims chain, draw, …")
    for name, dims in wanted.items():
        if set(posterior[name].dims) != {*CHAIN_DRAW, *dims}:
            got = f"{name} with dims {posterior[name].dims}"
            raise InputError("posterior", got, f"dims chain, draw, {', '.join(dims)}")
    # With two ratings there is no gap between criteria.
    may_be_empty = {dim for dim, own in dim_sizes(counts.sizes["rating"]).items() if own == 0}
    if not all(size for dim, size in posterior.sizes.items() if dim not in may_be_empty):
        raise InputError(
            "posterior", f"sizes {dict(posterior.sizes)}"[:200], "one of each at least"
        )
    check_cells(posterior, counts)
    for name in (name for name in wanted if results[name].always_finite):
        if not np.isfinite(posterior[name].values).all():
            raise InputError("posterior", f"draws of {name} that are not finite", "finite numbers")


def required_variables(spec: ModelSpec) -> list[str]:
    """Variables that a model samples, whatever the cells; correlations depend on these."""
    return [name for name in names_with_prior(spec) if not name.endswith("_corr")]


def check_cells(posterior: xr.Dataset, counts: xr.DataArray) -> None:
    """Raise where cells, responses or criteria of the draws are not those of the counts."""
    expected = {
        "cell": counts["cell"].values.tolist(),
        "response": counts["response"].values.tolist() if "response" in counts.coords else None,
        "criterion": dim_labels(counts.sizes["rating"])["criterion"],
    }
    for name, labels in expected.items():
        found = posterior[name].values.tolist() if name in posterior.coords else None
        if labels is not None and found != labels:
            got = f"{name} {found!r:.80}"
            raise InputError("posterior", got, f"that of the counts, {labels!r:.80}")
    of_counts = {str(n): x for n, x in counts.coords.items() if x.dims == ("cell",)}
    for name, values in of_counts.items():
        # Draws of a store get the coordinates of its cells after this.
        if name in posterior.coords and not values.variable.equals(posterior[name].variable):
            raise InputError("posterior", f"other values of {name} than the counts", "the same")


def check_stats(fit: xr.DataTree) -> None:
    """Raise where the fit does not record which draws diverged."""
    stats = fit["sample_stats"].to_dataset()
    sizes = {dim: fit["posterior"].sizes[dim] for dim in CHAIN_DRAW}
    found = stats["diverging"].sizes if "diverging" in stats else {}
    if dict(found) != sizes or stats["diverging"].dtype.kind not in "biu":
        raise InputError("sample_stats", "no flag diverging for every draw", ALLOWED)
    # Of importance sampling there are all, a number a cell, or none.
    weights = OF_WEIGHTS if any(name in stats for name in OF_WEIGHTS) else {}
    known = weights | {name: kind for name, kind in OF_CHAINS.items() if name in stats}
    kinds = {name: stats[name].dtype.kind for name in known if name in stats}
    cells = {"cell": fit["posterior"].sizes["cell"]}
    if kinds != known or any(dict(stats[n].sizes) != cells for n in kinds):
        raise InputError("sample_stats", "weights that are not of every cell", ALLOWED)
