"""Fit the same counts under other choices, to see whether the answer changes.

Fit (DataTree) → fits of the same counts, by the choice that differs: the rule for the meta-level
criterion, the width of the priors of M, and how fine the ratings are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from hmetad.arguments import check_inputs, with_posterior
from hmetad.bayes.fit import fit as sample
from hmetad.bayes.kept_cells import has_cells
from hmetad.errors import InputError, nearest
from hmetad.likelihood.priors import Prior
from hmetad.specs.spec import ModelSpec, spec_of

__all__ = ["other_choices", "sensitivity"]

WIDTHS = {"half as wide": 0.5, "twice as wide": 2.0}
COARSER, FEWEST_RATINGS = "ratings taken together in pairs", 4


@check_inputs(fit=with_posterior)
def sensitivity(
    fit: xr.DataTree,
    choices: Sequence[str] | Mapping[str, ModelSpec] | None = None,
    **sample_kwargs: Any,
) -> dict[str, xr.DataTree]:
    """Fit the same counts again, each time with one different choice.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    choices : sequence of str, or mapping of str to ModelSpec, optional
        Some of the names that `other_choices` has for the fit, by default all; or your own models,
        by name.
    **sample_kwargs
        Passed on to `fit`; draws, chains and seed are those of the fit unless given.

    Returns
    -------
    dict of str to DataTree
        Fits by the choice that differs, which is also their attr ``choice``. Give them to
        `repeat_decisions`, and what that returns to ``fit_report(sensitivity=...)``.

    Raises
    ------
    InputError
        If the fit has no record of its model, or a choice is unknown.

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True}
    >>> counts = simulate_counts(1.5, trials=400, seed=1)
    >>> draws = sample(counts, draws=200, chains=2, random_seed=1, **quiet)
    >>> list(sensitivity(draws, ["priors of M twice as wide"], **quiet))
    ['priors of M twice as wide']
    """
    if not is_fit(fit):
        raise InputError("fit", type(fit).__name__, "what hmetad.fit returned")
    counts, posterior = fit["observed_data"].to_dataset()["counts"], fit["posterior"]
    options: dict[str, Any] = {
        "draws": posterior.sizes["draw"],
        "chains": posterior.sizes["chain"],
        **({"random_seed": int(fit.attrs["seed"])} if fit.attrs["seed"].isdigit() else {}),
        **({} if has_cells(fit) else {"keep_cells": False}),
        **sample_kwargs,
    }
    found = {}
    for name, spec in chosen_models(fit, choices).items():
        is_coarser = name == COARSER and not isinstance(choices, Mapping)
        found[name] = sample(coarser(counts) if is_coarser else counts, spec, **options)
        found[name].attrs["choice"] = name
    return found


@check_inputs(skip=("fit",))
def other_choices(fit: xr.DataTree) -> dict[str, ModelSpec]:
    """Models that differ from the model of a fit in one choice, by that choice.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.

    Returns
    -------
    dict of str to ModelSpec
        Other choices of the likelihood that matter, of meta-d′ the other rule for κ (not for
        HMeta-d's criteria, whose prior begins at κ = c); priors of M half and twice as wide: every
        scale among them, that of intercepts, slopes and standard deviations between groups. With
        four ratings or more also the model itself, for ratings taken together in pairs, the lowest
        two first.

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> draws = sample(simulate_counts(1.5, seed=1), draws=100, chains=2, **quiet)
    >>> for name in other_choices(draws):
    ...     print(name)
    κ = c instead of κ = M·c
    priors of M half as wide
    priors of M twice as wide
    ratings taken together in pairs
    """
    if not isinstance(fit, xr.DataTree):
        raise InputError("fit", type(fit).__name__, "what hmetad.fit returned")
    spec = spec_of(fit)
    record = spec.record
    models = {
        name: replace(spec, choices={**spec.choices, **choices})
        for name, choices in record.alternatives.items()
    }
    for width, factor in WIDTHS.items():
        priors = {
            name: widen(prior, factor)
            if spec.parameter_of(name) == record.parameter_of_interest
            else prior
            for name, prior in spec.priors.items()
        }
        models[f"priors of {record.symbol} {width}"] = replace(spec, priors=priors)
    if is_fit(fit) and fit["observed_data"].sizes["rating"] >= FEWEST_RATINGS:
        models[COARSER] = spec
    return models


def coarser(counts: xr.DataArray) -> xr.DataArray:
    """Count table whose ratings are taken together in pairs, the lowest two first."""
    table = counts.transpose(..., "rating")
    sums = np.add.reduceat(table.values, np.arange(0, table.sizes["rating"], 2), axis=-1)
    found = table.isel(rating=slice(sums.shape[-1])).copy(data=sums)
    return found.assign_coords(rating=np.arange(1, sums.shape[-1] + 1))


def widen(prior: Prior, factor: float) -> Prior:
    """Prior of `factor` times the scale; correlations have none, and stay."""
    values = dict(prior.parameters)
    if prior.dist in ("Exponential", "Gamma"):
        rate = "lam" if prior.dist == "Exponential" else "beta"
        values[rate] /= factor
    elif prior.dist == "LogNormal":
        values["mu"] += math.log(factor)
    elif "sigma" in values:
        values["sigma"] *= factor
    return Prior(prior.dist, **values)


def is_fit(fit: object) -> bool:
    """Whether this is a fit with a record of its model."""
    return isinstance(fit, xr.DataTree) and "spec" in fit.attrs and "observed_data" in fit.children


def chosen_models(
    fit: xr.DataTree, choices: Sequence[str] | Mapping[str, ModelSpec] | None
) -> dict[str, ModelSpec]:
    """Models to fit, by name."""
    if isinstance(choices, Mapping):
        return dict(choices)
    models = other_choices(fit)
    if choices is None:
        return models
    names = [choices] if isinstance(choices, str) else choices
    for name in names:
        if name not in models:
            step = nearest(str(name), models)
            raise InputError("choices", repr(name), "names of other choices", step)
    return {name: models[name] for name in names}
