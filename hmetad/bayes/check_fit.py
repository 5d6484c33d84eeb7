"""Check a fit, of counts or of estimates, before it is used.

DataTree as it was read → its model, or InputError.
"""

from collections.abc import Hashable

import numpy as np
import xarray as xr

from hmetad.base.errors import DamagedError, InputError
from hmetad.base.notice import first_few, notice_attrs, notice_of, notices, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.untrusted import read_attr
from hmetad.base.variable_roles import identity_of
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import follow_from_effects
from hmetad.likelihood.family import OutcomeLayout, Quantity
from hmetad.specs.crossing import ANSWERS, read_answers
from hmetad.specs.design import refuse_other_tables
from hmetad.specs.spec import OF_ITEMS, ModelSpec, variables_with_prior

ALLOWED = "a fit as hmetad wrote it"

GROUPS = ("posterior", "sample_stats", "observed_data")
TEXTS = ("model", "spec", "seed", "sampler", "versions")
JSON_ATTRS = ("notices", "same_items", "versions", "by")
CHAIN_DRAW = ("chain", "draw")
# Statistics of every cell, and their kinds: of importance sampling all or none, of chains what
# their version wrote.
OF_WEIGHTS = {"pareto_k": "f", "effective_draws": "f", "by_chains": "b"}
# Statistics of every draw that are finite whoever has sampled.
FINITE = ("energy", "logp", "lp", "step_size")
OF_CHAINS = {"divergences": "i", "divergences_within": "i", "divergences_shared": "f"}


def check_fit(fit: xr.DataTree, source: str) -> ModelSpec:
    """Model of a fit, if its attrs are legal and its draws are those of its model and its counts.

    Parameters
    ----------
    fit : DataTree
    source : str
        What to call it in an error: its file, or the argument.

    Raises
    ------
    InputError
        If a group, a variable, a coordinate or an attr is missing or of the wrong kind, the cells
        of the draws are not those of the counts, or d′, c, meta-d′ or a criterion is not finite.
    """
    if not isinstance(fit, xr.DataTree):
        raise DamagedError(source, type(fit).__name__, "a fit, as hmetad.fit returned it")
    missing = [name for name in GROUPS if name not in fit.children]
    if missing:
        raise DamagedError(source, f"no group {missing[0]}", ALLOWED)
    if has_estimates(fit):
        return check_estimates(fit, source)
    try:
        spec = check_attrs(fit)
        layout = spec.record.layout
        counts, posterior = counts_of(fit, layout), fit["posterior"].to_dataset()
        check_posterior(posterior, spec, counts)
        check_labels(posterior, counts, layout)
        check_stats(fit["sample_stats"].to_dataset().reset_coords(drop=True), posterior)
        if ANSWERS in fit.children:
            read_answers(fit[ANSWERS].to_dataset(), counts, spec)
        elif {*OF_ITEMS} & {*spec.formula}:
            raise DamagedError(ANSWERS, "no such group", "answers to each item")
    except InputError as error:
        argument = error.argument if error.argument == source else f"{source}, {error.argument}"
        raise InputError(argument, error.got, error.allowed, error.next_step) from error
    return spec


def check_attrs(fit: xr.DataTree) -> ModelSpec:
    """Model of a fit, if its attrs are complete and legal."""
    for name in TEXTS:
        if not isinstance(fit.attrs.get(name), str):
            raise DamagedError(f"attrs[{name!r}]", repr(fit.attrs.get(name))[:80], "text")
    for group in fit.subtree:
        for attrs in (group.attrs, *(x.attrs for x in group.to_dataset().variables.values())):
            for name in JSON_ATTRS:
                read_attr(attrs, name)
            identity_of(attrs)
    spec = ModelSpec.from_json(fit.attrs["spec"])
    for name, value in spec.choices.items():
        said = fit.attrs.get(name, value)
        if not isinstance(said, str) or said != value:
            raise DamagedError(f"attrs[{name!r}]", repr(said)[:80], f"{value}, as in the spec")
    return spec


def counts_of(fit: xr.DataTree, layout: OutcomeLayout) -> xr.DataArray:
    """Count table that a fit was made from, checked."""
    observed = fit["observed_data"].to_dataset()
    if "counts" not in observed:
        raise DamagedError("observed_data", f"{sorted(map(str, observed))[:5]}", "counts")
    counts = observed["counts"]
    refuse_other_tables(counts, layout)
    unlabelled = {"cell", *layout.dims} - {*counts.coords}
    if unlabelled or not counts.indexes["cell"].is_unique:
        got = f"no labels of {', '.join(unlabelled)}" if unlabelled else "a cell more than once"
        raise DamagedError("counts", got, "cells and outcomes with names of their own")
    return counts


def check_posterior(posterior: xr.Dataset, spec: ModelSpec, counts: xr.DataArray) -> None:
    """Raise where a variable of the model is missing, has other dims or is undefined."""
    results: dict[Hashable, Quantity] = dict(spec.record.results.items())
    if follow_from_effects(spec) and not any(name in posterior for name in results):
        results = {}
    # What is sampled whatever the cells; correlations depend on these.
    known = variables_with_prior(spec).items()
    sampled = [spec.named(name) for name, own in known if own.role != "correlation"]
    for name in (*results, *sampled):
        if name not in posterior.data_vars:
            raise DamagedError("posterior", f"no variable {name!r}", f"what a {spec.name} fit has")
    for drawn, values in posterior.items():
        dims = (*CHAIN_DRAW, "cell", *results[drawn].dims) if drawn in results else values.dims
        is_drawn = values.dims[:2] == CHAIN_DRAW and values.dtype.kind in "iuf"
        if not is_drawn or {*values.dims} != {*dims}:
            got = f"{drawn} with dims {values.dims} of type {values.dtype}"
            needed = ", ".join(map(str, dims[2:])) if drawn in results else "…"
            raise DamagedError("posterior", got, f"numbers with dims chain, draw, {needed}")
    # With two ratings there is no gap between criteria.
    layout = spec.record.layout
    may_be_empty = {dim for dim, own in layout.sizes(counts.sizes["rating"]).items() if own == 0}
    if not all(size for dim, size in posterior.sizes.items() if dim not in may_be_empty):
        got = f"sizes {dict(posterior.sizes)}"[:200]
        raise DamagedError("posterior", got, "one of each at least")
    for name, quantity in results.items():
        if quantity.always_finite and not np.isfinite(posterior[name].values).all():
            raise DamagedError(
                "posterior", f"draws of {name} that are not finite", "finite numbers"
            )


def check_labels(posterior: xr.Dataset, counts: xr.DataArray, layout: OutcomeLayout) -> None:
    """Raise where labels of the draws' dims are not those of the counts."""
    expected = {name: counts[name].values.tolist() for name in ("cell", *layout.dims)}
    expected |= layout.further_labels(counts.sizes["rating"])
    for name, labels in expected.items():
        found = posterior[name].values.tolist() if name in posterior.coords else None
        if name in posterior.dims and found != labels:
            got = f"{name} {found!r:.80}"
            raise DamagedError("posterior", got, f"that of the counts, {labels!r:.80}")
    of_cells = {str(name): x for name, x in counts.coords.items() if x.dims == ("cell",)}
    for name, values in of_cells.items():
        if name in posterior.coords and not values.variable.equals(posterior[name].variable):
            raise DamagedError("posterior", f"other values of {name} than the counts", "the same")


def check_stats(stats: xr.Dataset, posterior: xr.Dataset) -> None:
    """Raise where a fit does not say which draws diverged, or says of some cells how sampled."""
    wanted = {name: kinds for name, kinds in OF_CHAINS.items() if name in stats}
    wanted |= OF_WEIGHTS if any(name in stats for name in OF_WEIGHTS) else {}
    for name, kinds in {"diverging": "biu", **wanted}.items():
        dims = CHAIN_DRAW if name == "diverging" else ("cell",)
        sizes = {dim: posterior.sizes[dim] for dim in dims}
        if (
            name not in stats
            or dict(stats[name].sizes) != sizes
            or stats[name].dtype.kind not in kinds
        ):
            raise DamagedError("sample_stats", f"no {name} by {', '.join(dims)}", ALLOWED)


def with_odd_draws(fit: xr.DataTree, spec: ModelSpec) -> xr.DataTree:
    """The fit of a file, with notices if another program wrote draws that no sampler returns.

    On the scale of log M all is finite; on others M may be negative, and its logarithm undefined.
    """
    posterior, stats = fit["posterior"].to_dataset(), fit["sample_stats"].to_dataset()
    record, odd = spec.record, dict[str, xr.DataArray]()
    for name, values in posterior.items():
        quantity = record.results.get(str(name))
        may_be_undefined = quantity is not None and not quantity.always_finite
        if record.parameter_of_interest == "log_m" or not may_be_undefined:
            is_odd = ~(abs(values) <= limit("odd-draws"))
            odd |= {str(name): is_odd} if is_odd.any() else {}
    found, cells = [], list[str]()
    if odd:
        if all("cell" in is_odd.dims for is_odd in odd.values()):
            flags = [x.any([dim for dim in x.dims if dim != "cell"]) for x in odd.values()]
            cells = sorted({str(x) for own in flags for x in own["cell"].values[own.values]})
        found.append(notice_of("odd-draws", cells, names=first_few(odd, ", ")))
    names = [x for x in FINITE if x in stats and not np.isfinite(stats[x].values).all()]
    if names:
        found.append(notice_of("odd-draws.statistics", names=first_few(names, ", ")))
    if not found:
        return fit
    concerned = [x for x in posterior if x in odd or not cells]
    said = {x: notice_attrs([*notices(posterior[x]), *found]) for x in concerned}
    posterior = posterior.assign({x: posterior[x].assign_attrs(said[x]) for x in concerned})
    return with_notices(fit.assign(posterior=xr.DataTree(posterior)), found)


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
    if not has_estimates(fit) or any(x not in fit.children for x in GROUPS):
        step = "bayes.fit_estimates makes one."
        raise DamagedError(source, "another kind of tree", "a fit of estimates", step)
    spec = check_attrs(fit)
    posterior, observed = (fit[name].to_dataset() for name in ("posterior", "observed_data"))
    if spec.record.name != "normal" or len(spec.formula) != 1:
        raise DamagedError(f"{source}, attrs['spec']", repr(spec.likelihood), ALLOWED)
    [right] = spec.formula.values()
    if fit.attrs.get("formula") != f"{spec.record.plotted} ~ {right}":
        raise DamagedError(f"{source}, attrs['formula']", "no text of its model", ALLOWED)
    stats = fit["sample_stats"].to_dataset()
    check_stats(stats, posterior)
    if "p_fit" not in stats:
        raise DamagedError(f"{source}, sample_stats", "statistics of another fit", ALLOWED)
    for name in ("estimate", "se"):
        if name not in observed or observed[name].dims != ("cell",):
            raise DamagedError(source, f"no {name} of every cell", ALLOWED)
    if "cell" not in posterior.coords or not posterior.indexes["cell"].is_unique:
        raise DamagedError(source, "no cells with names of their own", ALLOWED)
    if observed["cell"].values.tolist() != posterior["cell"].values.tolist():
        raise DamagedError(source, "other cells than the estimates", ALLOWED)
    layout = Fitted(fit, spec).layout
    wanted = {one.name: one.dims for one in layout.variables if one.role != "offset"}
    wanted |= dict.fromkeys(spec.record.results, ("cell",))
    for name, dims in wanted.items():
        sizes = tuple(len(layout.coords[dim]) for dim in dims)
        found = posterior.get(name)
        if found is None or (found.dims, found.shape[2:]) != (("chain", "draw", *dims), sizes):
            got = f"no variable {name!r} by chain, draw{''.join(f', {dim}' for dim in dims)}"
            raise DamagedError(source, got, ALLOWED)
    for drawn, values in posterior.items():
        is_defined = values.dtype.kind in "iuf" and bool(np.isfinite(values.values).all())
        if not is_defined or not values.size:
            raise DamagedError(source, f"{drawn} that is not finite", ALLOWED)
    return spec
