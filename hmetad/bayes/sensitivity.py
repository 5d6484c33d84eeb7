"""Fit the same counts under other choices, to see whether the answer changes.

Fit (DataTree) → fits of the same counts, by the choice that differs: the rule for the meta-level
criterion, the scale on which M is normal between people, the width of the priors of M, and how fine
the ratings are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.base.errors import ChoiceError, KindError, nearest
from hmetad.bayes.convergence import pools_m
from hmetad.bayes.fit import AS_NEEDED
from hmetad.bayes.fit import fit as sample
from hmetad.bayes.fitted import Fitted
from hmetad.likelihood.priors import Prior
from hmetad.specs.crossing import unpooled_counts
from hmetad.specs.spec import ModelSpec, spec_of, variables_with_prior, with_changes

WIDTHS = {"half as wide": 0.5, "twice as wide": 2.0}
NORMAL_M = "M normal between people instead of log M"
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
        Passed on to `fit`; chains, seed and draws are those of the fit unless given. If the fit
        drew until draws were enough, so do these.

    Returns
    -------
    dict of str to DataTree
        Fits by the choice that differs, which is also their attr ``choice``. Decide on each
        as on the fit, and give these decisions to ``fit_report(sensitivity=...)``.

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
    if "spec" not in fit.attrs or "observed_data" not in fit.children:
        raise KindError("fit", type(fit).__name__, "what hmetad.fit returned")
    fitted = Fitted.of(fit)
    models: Mapping[str, ModelSpec] = models_of(fitted)
    if isinstance(choices, Mapping):
        models = choices
    elif choices is not None:
        names = [choices] if isinstance(choices, str) else choices
        for name in names:
            if name not in models:
                step = nearest(str(name), models)
                raise ChoiceError("choices", repr(name), "names of other choices", step)
        models = {name: models[name] for name in names}
    sizes, seed = fitted.posterior.sizes, fit.attrs["seed"]
    options: dict[str, Any] = {"chains": sizes["chain"]}
    options |= {} if fit.attrs.get("draws") == AS_NEEDED else {"draws": sizes["draw"]}
    options |= {"random_seed": int(seed)} if seed.isdigit() else {}
    options |= {} if fitted.has_cells else {"keep_cells": False}
    found, crossing = {}, fitted.crossing
    counts = fitted.counts if crossing is None else unpooled_counts(crossing)
    for name, spec in models.items():
        is_coarser = name == COARSER and models is not choices
        given = coarser(counts) if is_coarser else counts
        found[name] = sample(given, spec, **{**options, **sample_kwargs})
        found[name].attrs["choice"] = name
    return found


@check_inputs()
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
        HMeta-d's criteria, whose prior begins at κ = c); where log M is normal between
        participants, M itself; priors of M half and twice as wide: every scale among them, that of
        intercepts, slopes and standard deviations between groups. With four ratings or more also
        the model itself, for ratings taken together in pairs, the lowest two first.

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
    return models_of(Fitted.of(fit))


def models_of(fitted: Fitted) -> dict[str, ModelSpec]:
    """Models that differ from the model of a fit in one choice, by that choice."""
    spec, record = spec_of(fitted.tree), fitted.record
    models = {
        name: replace(spec, choices={**spec.choices, **choices})
        for name, choices in record.alternatives.items()
    }
    focus = record.parameter_of_interest
    # A card with names of its own is another package's model.
    if focus == "log_m" and pools_m(fitted) and not spec.names:
        models[NORMAL_M] = with_changes(spec, scale="m")
    own = {spec.named(x) for x, one in variables_with_prior(spec).items() if one.parameter == focus}
    of_focus = {name: prior for name, prior in spec.priors.items() if name in own}
    for width, factor in WIDTHS.items():
        widened = {name: widen(prior, factor) for name, prior in of_focus.items()}
        name = f"priors of {record.symbol} {width}"
        models[name] = replace(spec, priors={**spec.priors, **widened})
    if "observed_data" in fitted.tree.children and fitted.counts.sizes["rating"] >= FEWEST_RATINGS:
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
