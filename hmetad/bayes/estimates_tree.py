"""A fit of estimates as a tree of labelled draws.

Estimates, NormalModel and NormalDraws → DataTree, with names and dims as fits of counts have them.
"""

import json
import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import chi2

from hmetad.arguments import refuse_same_names
from hmetad.bayes.estimates_data import LINKS, Estimates
from hmetad.bayes.normal_model import NormalModel
from hmetad.bayes.normal_sampling import NormalDraws
from hmetad.monte_carlo import INDEPENDENT
from hmetad.notice import Notice, notice_attrs, notice_of
from hmetad.notice_registry import limit
from hmetad.specs.design import Block
from hmetad.specs.layout import FACTOR_DIM, effect_labels, label_dim

__all__ = ["estimates_tree"]

type Floats = NDArray[np.float64]
type Variables = dict[str, tuple[tuple[str, ...], Floats]]

MODEL = "estimates"
PACKAGES = ("hmetad", "numpy", "scipy", "xarray")


def estimates_tree(
    data: Estimates,
    model: NormalModel,
    found: NormalDraws,
    name: str,
    link: str,
    sizes: tuple[int, int],
    said: Mapping[str, str],
) -> xr.DataTree:
    """Draws with names and labels, and what is to be known of them.

    Parameters
    ----------
    data : Estimates
    model : NormalModel
    found : NormalDraws
    name, link : str
        The quantity, and the link of its scale.
    sizes : tuple of int
        Chains and draws.
    said : mapping of str to str
        More attrs.
    """
    coords: dict[str, Any] = {"chain": np.arange(sizes[0]), "draw": np.arange(sizes[1])}
    coords["cell"] = data.cells.index.to_numpy(dtype=str)
    per_cell = {str(k): ("cell", np.array(x.tolist())) for k, x in data.cells.items()}
    parameter = model.design.parameter
    values: Variables = {parameter: (("cell",), found.cells)}
    if parameter != name:
        values[name] = (("cell",), LINKS[link].inverse(found.cells))
    values |= common_variables(model, found, coords)
    for place, block in enumerate(model.design.blocks):
        drawn = found.effects[place], found.factors[place]
        values |= block_variables(parameter, block, *drawn, coords)
    refuse_same_names(per_cell, [*values, *coords])
    p_fit = fit_probability(data, found)
    notices = [*data.found, *own_notices(found, p_fit)]
    # Draws with uneven weights come more than once.
    are_even = found.effective_draws >= math.prod(sizes)
    attrs = notice_attrs(notices) | (INDEPENDENT if are_even else {})
    factors = ", ".join(block.factor for block in model.design.blocks)
    pooled = {"pooled_over": factors} if factors else {}
    variables = {
        key: (
            ("chain", "draw", *dims),
            x.reshape(*sizes, *x.shape[1:]),
            attrs | (pooled if dims == ("cell",) else {}),
        )
        for key, (dims, x) in values.items()
    }
    posterior = xr.Dataset(variables, {**coords, **per_cell}, attrs)
    stats = {"pareto_k": found.pareto_k, "effective_draws": found.effective_draws, "p_fit": p_fit}
    tree = xr.DataTree.from_dict(
        {
            "posterior": posterior,
            "sample_stats": xr.Dataset({key: float(x) for key, x in stats.items()}),
            "observed_data": observed(data, {"cell": coords["cell"], **per_cell}),
        }
    )
    priors = {key: [p.dist, dict(p.parameters)] for key, p in model.priors.items()}
    versions = {key: version(key) for key in PACKAGES}
    tree.attrs = {
        **{"model": MODEL, "quantity": name, "link": link, "kind": "posterior", "cluster": ""},
        **{"sampler": "hmetad", "method": "importance", "source": data.source},
        **{"priors": json.dumps(priors), "versions": json.dumps(versions)},
        **said,
        **attrs,
    }
    return tree


def common_variables(model: NormalModel, found: NormalDraws, coords: dict[str, Any]) -> Variables:
    """Coefficients, term by term."""
    values: Variables = {}
    start = 0
    for term in model.design.common:
        stop = start + term.columns.shape[1]
        dims = label_dim(coords, model.design.parameter, f"{term.name}_dim", term.labels)
        own = found.coefficients[:, start:stop]
        values[f"{model.design.parameter}_{term.name}"] = dims, own if dims else own[:, 0]
        start = stop
    return values


def block_variables(
    parameter: str, block: Block, effects: Floats, factor: Floats, coords: dict[str, Any]
) -> Variables:
    """Effects of the groups of a factor, their SDs and correlations."""
    values: Variables = {}
    covariance = factor @ factor.transpose(0, 2, 1)
    sigma = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    groups = label_dim(coords, parameter, f"{block.factor}{FACTOR_DIM}", block.groups)
    start = 0
    for term in block.terms:
        stop = start + term.columns.shape[1]
        dims = label_dim(coords, parameter, f"{term.name}__expr_dim", term.labels)
        name = f"{parameter}_{term.name}|{block.factor}"
        own, sd = effects[:, :, start:stop], sigma[:, start:stop]
        values[name] = (*groups, *dims), own if dims else own[:, :, 0]
        values[f"{name}_sigma"] = dims, sd if dims else sd[:, 0]
        start = stop
    if block.is_correlated:
        name, labels = f"{parameter}_{block.name}", effect_labels(block)
        ends = [f"{name}_{end}" for end in ("effect", "effect_bis")]
        both = [dim for end in ends for dim in label_dim(coords, parameter, end, labels)]
        values[f"{name}_corr"] = tuple(both), covariance / sigma[:, :, None] / sigma[:, None]
    return values


def observed(data: Estimates, coords: Mapping[str, Any]) -> xr.Dataset:
    """Estimates, as they were modelled."""
    values: dict[str, Any] = {
        "estimate": ("cell", data.values),
        "se": ("cell", np.sqrt(data.covariance.diagonal())),
        "covariance": (("cell", "cell_bis"), data.covariance),
    }
    if data.trials is not None:
        values["trials"] = ("cell", data.trials)
    return xr.Dataset(values, {**coords, "cell_bis": coords["cell"]})


def fit_probability(data: Estimates, found: NormalDraws) -> float:
    """Posterior predictive probability of errors that are larger than those of the estimates.

    Source: Gelman et al. (2013), section 6.3, with χ² as the discrepancy.
    """
    rest = np.linalg.solve(np.linalg.cholesky(data.covariance), (data.values - found.cells).T)
    return float(chi2.sf((rest**2).sum(axis=0), len(data.values)).mean())


def own_notices(found: NormalDraws, p_fit: float) -> list[Notice]:
    """Notices of draws that are bad, and of a model that leaves too much to errors."""
    is_bad = found.pareto_k > limit("pareto-k") or found.effective_draws < limit("ess")
    is_worse = p_fit < limit("estimates-misfit")
    return [
        *([notice_of("pareto-k.estimates")] if is_bad else []),
        *([notice_of("estimates-misfit", p=f"{p_fit:.2g}")] if is_worse else []),
    ]
