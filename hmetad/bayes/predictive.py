"""What a model predicts: counts beside the observed ones, and of every trial.

Fit (DataTree) → Dataset (cell, stimulus, response, rating), or groups for ArviZ's own functions.
Source: Gelman, Meng & Stern (1996) for the comparison with replicated data.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, seed_or_none, whole, with_posterior
from hmetad.base.errors import UnknownError, nearest
from hmetad.base.labels import check_same_names
from hmetad.base.memory import refuse_memory
from hmetad.base.notice import notice_of, notice_where, notices, with_notices
from hmetad.base.notice_registry import limit
from hmetad.bayes.density import log_prior_sums
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import (
    at_some_draws,
    item_log_likelihood,
    log_probabilities,
    replicated_items,
)
from hmetad.bayes.kept_cells import drawn_counts
from hmetad.bayes.program import prior_row
from hmetad.counts.columns import column_names
from hmetad.counts.resample import counts_together
from hmetad.counts.tables import type2_counts
from hmetad.measures.type2 import type2_roc

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Groups of ArviZ that a fit has only when asked, since they are large.
GROUPS, BYTES = ("log_likelihood", "posterior_predictive", "log_prior"), 8
# Outcomes whose probabilities are computed together: some ten arrays of 64 MB.
MOST_AT_ONCE = 2**23
# Share of a cell's intervals that miss the observed count, above which there is a notice.
MANY_OUTSIDE = 0.2
# Replicated sets of items, at most: each has probabilities of all observers at all nodes.
MOST_SETS = 200
# Statistics of items whose replications say whether the model describes how they differ.
OF_ITEMS = ("accuracy_sd", "rating_sd", "correlation")
CURVES = ("false_alarm_rate", "hit_rate")
SUMMARIES = ("mean", "lower", "upper")
BESIDE = tuple(f"{curve}_{name}" for curve in CURVES for name in SUMMARIES)


@check_inputs(fit=with_posterior, ci_prob=probability, draws=whole(2), seed=seed_or_none)
def predicted_counts(
    fit: xr.DataTree,
    *,
    by: str | Sequence[str] = (),
    ci_prob: float = 0.95,
    draws: int = 500,
    seed: int = 0,
) -> xr.Dataset:
    r"""Observed counts and type-2 ROC next to those of replicated data.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    by : str or sequence of str, optional
        Columns of the cells: cells that agree in them are pooled, such as all items of an observer.
        By default every cell is separate.
    ci_prob : float, optional
        Probability of the predictive intervals.
    draws : int, optional
        Number of posterior draws to replicate, evenly spaced; each gives one table.
    seed : int, optional
        Seed of the replications.

    Returns
    -------
    Dataset
        Dims (cell, stimulus, response, rating): ``counts`` (observed trials), ``mean``, ``lower``
        and ``upper`` (predicted). Per cell and point of the type-2 ROC: ``false_alarm_rate`` and
        ``hit_rate``, and their predictions with ``_mean``, ``_lower`` and ``_upper``. Per
        cell ``outside``, the proportion of outcomes whose interval misses the count, and
        ``p_ratings``, the proportion of replicated tables whose ratings of correct answers and
        errors are as far from their mean as the observed ones, by χ². If the first is more than a
        fifth or the second below .05, there is a notice ``"poor-fit"``.

        Where the fit integrated the effects of items out, also by statistic: ``items``, with
        ``items_mean``, ``items_lower`` and ``items_upper`` of replicated sets of new items, and
        ``p_items``, twice the smaller proportion of sets on one side of what is observed.
        Statistics are SDs over items of accuracy and of the mean rating, the correlation of both,
        and AUROC2 of an observer's answers to different items and, where an item has several, to
        the same.

    Raises
    ------
    InputError
        If an argument is none of the above.

    Notes
    -----
    A replicated table has the observed number of trials of each stimulus, with the probabilities of
    a posterior draw θ:

    .. math:: n^{rep}_{s} \sim \mathrm{Multinomial}(n_s, P(r, k \mid s, \theta))

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=400, seed=1), draws=500, chains=2, **quiet)
    >>> bool(predicted_counts(drawn)["outside"].item() < 0.2)
    True
    """
    fitted = Fitted.of(fit)
    outcome, layout = fitted.outcome, fitted.record.layout
    cells = fitted.counts.transpose(*outcome)
    check_same_names(cells.coords, [*SUMMARIES, "outside", "p_ratings", *CURVES, *BESIDE])
    names = column_names("by", by)
    observed, index = counts_together(cells, names) if names else (cells, None)
    replicated = replicate(fitted, cells, index, draws, np.random.default_rng(seed))
    levels = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    lower, upper = np.quantile(replicated, levels, axis=0)
    summary = {"mean": replicated.mean(axis=0), "lower": lower, "upper": upper}
    result = xr.Dataset({"counts": observed} | {k: (outcome, v) for k, v in summary.items()})
    misses = (result["counts"] < result["lower"]) | (result["counts"] > result["upper"])
    shown = observed.sum(layout.answers) > 0
    result["outside"] = misses.where(shown).mean(outcome[1:])
    result = result.assign(predicted_curve(observed, replicated, levels))
    result.attrs = {"ci_prob": ci_prob, "draws": int(draws), "seed": seed}
    result["p_ratings"] = p_of_ratings(observed, replicated)
    is_poor = result["outside"] > MANY_OUTSIDE
    poor = notice_where(is_poor, "poor-fit")
    is_odd = (result["p_ratings"] < limit("poor-fit")) & ~is_poor
    if fitted.crossing is not None:
        result = result.assign(predicted_items(fitted, min(draws, MOST_SETS), levels, seed))
        p = result["p_items"].sel(statistic=[*OF_ITEMS])
        names = p["statistic"].values[(p < limit("poor-fit")).values]
        poor += [notice_of("poor-fit.items", [], statistics=", ".join(names))] if len(names) else []
    return with_notices(result, [*notices(fit), *poor, *notice_where(is_odd, "poor-fit.ratings")])


@check_inputs(fit=with_posterior)
def add_groups(
    fit: xr.DataTree, groups: str | Sequence[str] = GROUPS, *, seed: int = 0
) -> xr.DataTree:
    r"""DataTree of a fit with the groups that ArviZ's checks, comparisons and plots need.

    Counts stay counts: an observation is the count of an outcome, or all counts of a cell.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    groups : str or sequence of str, optional
        Some of ``"log_likelihood"``, ``"posterior_predictive"`` and ``"log_prior"``.
    seed : int, optional
        Seed of the predicted counts.

    Returns
    -------
    DataTree
        A copy. ``posterior_predictive`` has ``counts``, dims (chain, draw, outcome): for every draw
        a count of each outcome of each cell, with the observed numbers of trials of each stimulus;
        along outcome are cell, stimulus, response and rating. With it, ``observed_data`` has the
        same dim, so that functions of hmetad take the fit itself.
        ``log_likelihood`` has ``counts``, dims (chain, draw, cell): Σ n log P(response, rating |
        stimulus); dim item instead of cell if the fit integrated the effects of items out.
        ``log_prior`` has the variables with a prior, dims (chain, draw), without constants:
        coefficients, standard deviations and correlations, or values of cells without a formula
        (the criteria of HMeta-d's cards through their hyperparameters).

    Raises
    ------
    InputError
        If there is no such group, or it does not fit into memory.

    See Also
    --------
    hmetad.loo : Leave one trial out; ``arviz.compare`` takes what it returns. ``arviz.loo`` leaves
        a cell out, which often has a high Pareto k.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=300, seed=1), draws=100, chains=2, **quiet)
    >>> tree = add_groups(drawn)
    >>> dict(tree["posterior_predictive"]["counts"].sizes)
    {'chain': 2, 'draw': 100, 'outcome': 16}
    >>> bool((tree["posterior_predictive"]["counts"].sum("outcome") == 300).all())
    True
    """
    wanted = [groups] if isinstance(groups, str) else list(groups)
    for name in wanted:
        if name not in GROUPS:
            hint = nearest(str(name), GROUPS)
            raise UnknownError("groups", repr(name), ", ".join(map(repr, GROUPS)), hint)
    fitted = Fitted.of(fit)
    outcome, samples = fitted.outcome, fitted.number
    answers, observed = fitted.record.layout.answers, fitted.counts.transpose(*outcome)
    refuse_memory(
        "groups", f"{observed.size} outcomes at {samples} draws", BYTES * samples * observed.size
    )
    # ArviZ cannot stack what is empty, such as criteria of a single rating.
    empty = [name for name, values in fitted.posterior.items() if not values.size]
    made = fit.assign(posterior=xr.DataTree(fitted.posterior.drop_vars(empty)))
    log_p = log_probabilities(fitted, fitted.posterior)
    if "log_likelihood" in wanted and fitted.crossing is not None:
        by_item = item_log_likelihood(fitted, samples)
        made["log_likelihood"] = xr.DataTree(by_item.to_dataset(name="counts"))
    elif "log_likelihood" in wanted:
        # What never came may be impossible.
        by_cell = (log_p.where(observed > 0, 0.0) * observed).sum(outcome[1:])
        made["log_likelihood"] = xr.DataTree(by_cell.to_dataset(name="counts"))
    if "log_prior" in wanted:
        made["log_prior"] = xr.DataTree(log_prior(fitted))
    if "posterior_predictive" in wanted:
        totals, rng = observed.sum(answers).to_numpy(), np.random.default_rng(seed)
        drawn = drawn_counts(rng, totals, log_p.to_numpy(), len(answers))
        predicted = {"posterior_predictive": log_p.copy(data=drawn), "observed_data": observed}
        for name, counts in predicted.items():
            by_outcome = counts.stack(outcome=outcome).reset_index("outcome")
            made[name] = xr.DataTree(by_outcome.to_dataset(name="counts"))
    return made


def log_prior(fitted: Fitted) -> xr.Dataset:
    """Log prior density of each variable that has a prior, (chain, draw), without its constant."""
    found, parameters = {}, {p.name: p for p in fitted.record.parameters}
    for variable in fitted.layout.variables:
        if (prior := variable.prior) is None:
            continue
        values = fitted.posterior[variable.name]
        if variable.role == "cell":
            parameter = parameters[variable.identity.parameter]
            if parameter.truncated_at:
                continue
            if parameter.prior_centre:
                values = values - fitted.posterior[parameter.prior_centre]
        x = fitted.flat(values)
        if prior.dist == "LKJ":
            # Two effects that are integrated out have one correlation.
            size = np.linalg.slogdet(x)[1] if x.ndim > 1 else np.log1p(-(x**2))
            density = (prior.parameters["eta"] - 1) * size
        else:
            density = log_prior_sums(*prior_row(prior), x.reshape(len(x), -1))
        found[variable.name] = (
            ("chain", "draw"),
            density.reshape(fitted.posterior.sizes["chain"], -1),
        )
    coords = {name: fitted.posterior[name].values for name in ("chain", "draw")}
    return xr.Dataset(found, coords)


def mean_counts(fit: xr.DataTree, draws: int = 500) -> xr.DataArray:
    """Mean predicted counts of every outcome of cells, at so many evenly spaced draws."""
    fitted = Fitted.of(fit)
    observed = fitted.counts.transpose(*fitted.outcome)
    log_p = outcomes_at(fitted, thinned_draws(fitted, draws))
    share = log_p.copy(data=np.exp(log_p.to_numpy())).mean("draw")
    trials = observed.sum(fitted.record.layout.answers)
    return (share * trials).transpose(*fitted.outcome)


def replicate(
    fitted: Fitted,
    cells: xr.DataArray,
    index: Integers | None,
    number: int,
    rng: np.random.Generator,
) -> Floats:
    """Replicated tables, (draw, cell, stimulus, response, rating); summed by an index of cells."""
    answers = fitted.record.layout.answers
    totals, tables = cells.sum(answers).to_numpy(), []
    chosen = thinned_draws(fitted, number)
    # Probabilities of all cells at some draws fit into memory, at all draws they may not.
    pieces = 1 + len(chosen) * cells.size // MOST_AT_ONCE
    for some in np.array_split(chosen, min(pieces, len(chosen))):
        log_p = outcomes_at(fitted, some).to_numpy()
        drawn = drawn_counts(rng, totals, log_p, len(answers)).astype(float)
        if index is not None:
            together = np.zeros((index.max() + 1, len(drawn), *drawn.shape[2:]))
            np.add.at(together, index, np.moveaxis(drawn, 1, 0))
            drawn = np.moveaxis(together, 0, 1)
        tables.append(drawn)
    return np.concatenate(tables)


def predicted_items(
    fitted: Fitted, number: int, levels: list[float], seed: int
) -> dict[str, xr.DataArray]:
    """How much items differ, observed and in replicated sets, by statistic."""
    found = replicated_items(at_some_draws(fitted, number), np.random.default_rng(seed))
    drawn, own = found["drawn"], found["items"]
    lower, upper = (
        drawn.quantile(level, "draw", skipna=False).drop_vars("quantile") for level in levels
    )
    sides = ((drawn <= own).mean("draw"), (drawn >= own).mean("draw"))
    p = (2 * xr.where(sides[0] < sides[1], *sides)).clip(max=1).where(own.notnull())
    summary = {"items": own, "items_mean": drawn.mean("draw", skipna=False), "items_lower": lower}
    return {**summary, "items_upper": upper, "p_items": p}


def thinned_draws(fitted: Fitted, number: int) -> Integers:
    """Places of so many draws, evenly spaced over all chains."""
    there = fitted.number
    return np.unique(np.linspace(0, there - 1, min(number, there)).astype(np.int64))


def outcomes_at(fitted: Fitted, chosen: Integers) -> xr.DataArray:
    """log P of every outcome of cells at draws by their places."""
    posterior = fitted.posterior
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    chain, draw = (xr.DataArray(x, dims="sample") for x in np.unravel_index(chosen, shape))
    picked = posterior.isel(chain=chain, draw=draw).drop_vars(["chain", "draw"], errors="ignore")
    thin = picked.rename(sample="draw").expand_dims("chain").transpose("chain", "draw", ...)
    return log_probabilities(fitted, thin).isel(chain=0).transpose("draw", *fitted.outcome)


def predicted_curve(
    observed: xr.DataArray, replicated: Floats, levels: list[float]
) -> dict[str, xr.DataArray]:
    """Type-2 ROC of the observed counts, and mean and quantiles of the replicated ones."""
    # Grouping columns may be called like its counts.
    observed = observed.reset_coords(drop=True)
    curve = type2_roc(type2_counts(observed))
    drawn = type2_roc(xr.DataArray(replicated, dict(observed.coords), ("draw", *observed.dims)))
    found = {name: curve[name] for name in CURVES}
    for name in CURVES:
        quantiles = drawn[name].quantile(levels, "draw")
        sides = (quantiles.isel(quantile=place, drop=True) for place in (0, 1))
        of_curve = (drawn[name].mean("draw"), *sides)
        found |= {f"{name}_{k}": own for k, own in zip(SUMMARIES, of_curve, strict=True)}
    return {name: values.drop_attrs() for name, values in found.items()}


def p_of_ratings(observed: xr.DataArray, replicated: Floats) -> xr.DataArray:
    """Share of replicated tables whose ratings of right and wrong answers, by χ², are as far off.

    The distance is that from the mean of the tables, in which responses are put together.
    """
    coords = dict(observed.reset_coords(drop=True).coords)
    drawn = type2_counts(xr.DataArray(replicated, coords, ("draw", *observed.dims)))
    expected = drawn.mean("draw")
    seen, ours = (
        ((table - expected) ** 2 / expected.where(expected > 0)).sum(["correct", "rating"])
        for table in (type2_counts(observed), drawn)
    )
    return (ours >= seen).mean("draw").drop_attrs()
