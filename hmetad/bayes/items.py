"""What a fit says of the items that it integrated out.

Fitted → log-likelihood of every item, which leaving items out needs; the probabilities of outcomes
over items, which the counts of an observer have, for those of the average item are others; the
posterior of the effects of items; how well these foretell who is right; and how much items differ,
observed and in replicated sets of new items.
"""

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.base.errors import ModelError
from hmetad.base.threads import in_threads
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import drawn_counts, parameter_draws
from hmetad.counts.tables import type2_counts
from hmetad.likelihood.crossed import CrossedLikelihood, Effects
from hmetad.likelihood.tape import column_shapes
from hmetad.specs.crossing import Crossing
from hmetad.specs.spec import SPREAD

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Posterior draws that are looked at, about.
DRAWS = 1000
# Draws that are worked on together, in a thread.
TOGETHER = 50
# Draws at which effects of items are computed, about; and items that are worked on together.
OF_EFFECTS, LEVELS = 200, 2000
# Digits to which effects of items that were answered alike agree.
DIGITS = 9


@check_inputs(fit=with_posterior)
def item_effects(fit: xr.DataTree) -> xr.Dataset:
    r"""Posterior means and SDs of the effects of items that a fit integrated out.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned, with a card such as
        ``"alternatives_crossed"``.

    Returns
    -------
    Dataset
        Dim of the items: ``dprime``, in the unit of d′, above 0 for easy items; ``log_spread``, in
        logarithms of the criteria, above 0 where everybody is less confident; each with ``_sd``.

    Raises
    ------
    InputError
        If the fit integrated nothing out.

    Notes
    -----
    With the parameters θ of a draw, the posterior of an item's effects is known on a grid of nodes.
    Means and variances are those of the mixture of about 200 draws.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> fitted = fit(simulate_counts([1.5], seed=1), progressbar=False, quiet=True)
    >>> item_effects(fitted)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hmetad.InputError: fit: Fit the card alternatives_crossed. Expected items that ...
    """
    fitted = Fitted.of(fit)
    crossing = crossing_in(fitted)
    # Moments take denser nodes than the likelihood.
    crossing = crossing.finer or crossing
    thinned = at_some_draws(fitted, OF_EFFECTS)
    parameters, effects, answers = *drawn_at(thinned), answers_matrix(crossing)

    def moments(place: int) -> Floats:
        likelihood = crossing.likelihood(fitted.given)
        log_p, values = at_nodes(likelihood, parameters[place], effects[place])
        both = np.column_stack([values, values**2])
        parts = [answers[i : i + LEVELS] for i in range(0, answers.shape[0], LEVELS)]
        weights = likelihood.grid.log_weights
        return np.concatenate([shares(own @ log_p + weights) @ both for own in parts])

    found = np.mean(in_threads(moments, range(len(effects))), axis=0)
    mean, square = np.split(found.T, 2)
    columns = dict(zip(crossing.parameters, mean, strict=True))
    sds = zip(crossing.parameters, np.sqrt(np.maximum(square - mean**2, 0)), strict=True)
    columns |= {f"{name}_sd": sd for name, sd in sds}
    given = {name: (crossing.factor, own) for name, own in columns.items()}
    return xr.Dataset(given, {crossing.factor: crossing.levels})


def auroc2_by_items(fitted: Fitted) -> dict[str, Floats]:
    """AUROC2 (observers,) of each effect of items, estimated without the observer's own answers.

    At posterior means of the parameters of observers. An effect that makes everybody less confident
    stands for low confidence.
    """
    crossing = crossing_in(fitted)
    likelihood, answers = crossing.likelihood(fitted.given), answers_matrix(crossing)
    parameters, drawn = drawn_at(fitted)
    sds = tuple(np.mean([one.sds for one in drawn], axis=0).tolist())
    logs = [one.log_loadings for one in drawn if one.log_loadings is not None]
    rho = float(np.mean([one.correlation for one in drawn]))
    effects = Effects(sds, rho, np.mean(logs, axis=0) if logs else None)
    log_p, values = at_nodes(likelihood, parameters.mean(axis=0), effects)
    signs = np.array([-1 if name == SPREAD else 1 for name in crossing.parameters])
    is_right, found = right_outcomes(fitted.counts), np.empty((len(fitted.counts), len(signs)))
    together = answers @ log_p + likelihood.grid.log_weights
    for observer in range(len(found)):
        place = slice(observer * len(is_right), (observer + 1) * len(is_right))
        own = answers[:, place]
        scores = shares(together - own @ log_p[place]) @ (values * signs)
        for k, score in enumerate(scores.T.round(DIGITS)):
            found[observer, k] = area_under(score, own @ is_right, own @ (1 - is_right))
    return dict(zip(crossing.parameters, found.T, strict=True))


def crossing_in(fitted: Fitted) -> Crossing:
    """The factor that a fit integrated out; raise where there is none."""
    if fitted.crossing is None:
        step, allowed = "Fit the card alternatives_crossed.", "items that were integrated out"
        raise ModelError("fit", "effects that were not", allowed, step)
    return fitted.crossing


def area_under(score: Floats, right: Floats, wrong: Floats) -> float:
    """Probability that a score is higher where an answer is right; NaN without both kinds."""
    _, place = np.unique(score, return_inverse=True)
    right, wrong = np.bincount(place, right), np.bincount(place, wrong)
    pairs = right.sum() * wrong.sum()
    return float(right @ (wrong.cumsum() - wrong / 2) / pairs) if pairs else math.nan


def right_outcomes(counts: xr.DataArray) -> Floats:
    """1 for each outcome of a trial that is right, (outcomes,)."""
    places = np.indices(counts.shape[1:]).reshape(counts.ndim - 1, -1)
    is_right = places[0] == 1 if "correct" in counts.dims else places[0] == places[1]
    return is_right.astype(float)


def answers_matrix(crossing: Crossing) -> csr_array:
    """How often observers gave which outcome to items, (items, observers * outcomes)."""
    own, shape = crossing.answers, (len(crossing.levels), crossing.counts.size)
    return csr_array((own.numbers, own.rows, own.first), shape=shape)


def at_nodes(
    likelihood: CrossedLikelihood, parameters: Floats, effects: Effects
) -> tuple[Floats, Floats]:
    """Log P of outcomes (observers * outcomes, nodes), and the effects (nodes, effects) there."""
    values = np.stack(effects.moves(likelihood.grid), axis=1) * effects.sds
    return likelihood.outcomes(parameters, effects).log_p, values


def shares(log_weights: Floats) -> Floats:
    """Weights that sum to 1 in each row."""
    found = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def at_some_draws(fitted: Fitted, number: int) -> Fitted:
    """The fit at about so many of its draws, evenly spaced."""
    step = -(-fitted.number // number)
    return fitted.at(fitted.posterior.isel(draw=slice(None, None, step)))


def drawn_at(fitted: Fitted) -> tuple[Floats, list[Effects]]:
    """Parameters of observers as compiled code takes them, and effects of items, at every draw."""
    return np.concatenate([*columns_at(fitted)], axis=2), drawn_effects(fitted)


def item_log_likelihood(fitted: Fitted, number: int = DRAWS) -> xr.DataArray:
    """log p(answers to an item | observers), (chain, draw, factor), at about so many draws."""
    crossing = crossing_in(fitted)
    thinned = at_some_draws(fitted, number)
    parameters, effects = drawn_at(thinned)

    def compute(places: range) -> Floats:
        likelihood = crossing.likelihood(fitted.given)
        return np.stack([likelihood.value(parameters[i], effects[i]) for i in places])

    every = range(len(effects))
    parts = [every[i : i + TOGETHER] for i in range(0, len(every), TOGETHER)]
    found = np.concatenate(in_threads(compute, parts))
    drawn = thinned.posterior
    coords = {name: drawn[name].values for name in ("chain", "draw")}
    values = found.reshape(drawn.sizes["chain"], -1, found.shape[1])
    return xr.DataArray(
        values, coords | {crossing.factor: crossing.levels}, ("chain", "draw", crossing.factor)
    )


def log_probabilities(fitted: Fitted, draws: xr.Dataset) -> xr.DataArray:
    """log P of the outcomes of a trial at draws, over items where these are integrated out."""
    if fitted.crossing is None:
        return fitted.log_probabilities(draws)
    fitted = fitted.at(draws)
    likelihood = crossing_in(fitted).likelihood(fitted.given, of_trials=True)
    parameters, effects = drawn_at(fitted)
    weights = likelihood.grid.log_weights
    rows = [
        np.logaddexp.reduce(likelihood.outcomes(own, one).log_p + weights, axis=1)
        for own, one in zip(parameters, effects, strict=True)
    ]
    values = np.reshape(rows, (fitted.posterior.sizes["chain"], -1, *fitted.counts.shape))
    coords = {"cell": fitted.counts["cell"].values, **fitted.labels}
    return xr.DataArray(values, coords, ("chain", "draw", *fitted.outcome))


def drawn_effects(fitted: Fitted) -> list[Effects]:
    """SDs and correlation of the effects of items, at every draw."""
    layout = fitted.layout.integrated
    assert layout is not None
    sds = np.ones((fitted.number, 1))
    if layout.sds:
        sds = np.stack([fitted.flat(fitted.posterior[sd.name]) for sd in layout.sds], axis=-1)
    rho, logs = np.zeros(len(sds)), [None] * len(sds)
    if layout.correlation is not None:
        rho = fitted.flat(fitted.posterior[layout.correlation.name])
    if layout.loadings:
        drawn = [fitted.flat(fitted.posterior[own.name]) for own in layout.loadings]
        logs = [*np.stack(drawn, axis=-1)]
    return [
        Effects(tuple(own), float(r), theirs)
        for own, r, theirs in zip(sds.tolist(), rho, logs, strict=True)
    ]


def columns_at(fitted: Fitted) -> Iterator[Floats]:
    """The columns of each variable, (draws, cells, columns)."""
    values = parameter_draws(fitted.posterior, fitted.spec, fitted.designs, fitted.given)
    sizes = fitted.number, len(fitted.counts)
    for name, shape in column_shapes(fitted.record, fitted.counts.sizes["rating"]).items():
        yield fitted.flat(values[name]).reshape(*sizes, math.prod(shape))


def replicated_items(fitted: Fitted, rng: np.random.Generator) -> xr.Dataset:
    """How much items differ, as `item_statistics`: ``items``, and ``drawn`` with a dim of draws.

    A replicated set has the observed numbers of answers, to new items with effects of a draw.
    """
    crossing, like, answers = crossing_in(fitted), fitted.counts, len(fitted.record.layout.answers)
    items = len(crossing.levels)
    table = answers_matrix(crossing).toarray().astype(np.int64).reshape(items, *like.shape)
    labels = {name: like[name].values for name in like.dims if name != "cell"}

    def statistics(values: NDArray[np.int64]) -> xr.DataArray:
        return item_statistics(xr.DataArray(values, labels, ("item_level", *like.dims)))

    trials = table.sum(axis=tuple(range(-answers, 0)))
    likelihood, drawn = crossing.likelihood(fitted.given), []
    weights = np.exp(likelihood.grid.log_weights)
    for parameters, effects in zip(*drawn_at(fitted), strict=True):
        at_new = rng.choice(len(weights), items, p=weights)
        log_p = likelihood.outcomes(parameters, effects).log_p[:, at_new].T.reshape(table.shape)
        drawn.append(statistics(drawn_counts(rng, trials, log_p, answers)))
    return xr.Dataset({"items": statistics(table), "drawn": xr.concat(drawn, "draw")})


def item_statistics(counts: xr.DataArray) -> xr.DataArray:
    """How much items differ, and what ratings say of answers to different items and to the same.

    Count table (cell, item_level, ...) → SDs over items of accuracy and of the mean rating, their
    correlation, and AUROC2 of pairs of an observer's answers, NaN where there is no pair.
    """
    table = type2_counts(counts).transpose("cell", "item_level", "correct", "rating").to_numpy()
    of_item = table.sum(axis=0)
    number = of_item.sum(axis=(1, 2))
    accuracy = of_item[:, 1].sum(axis=1) / number
    rating = of_item.sum(axis=1) @ np.arange(table.shape[-1]) / number
    to_any, to_same = won_pairs(table.sum(axis=1)), won_pairs(table)
    with np.errstate(invalid="ignore"):
        r = np.corrcoef(accuracy, rating)[0, 1]
        between, within = (won / pairs for won, pairs in (to_any - to_same, to_same))
    values = {"accuracy_sd": accuracy.std(), "rating_sd": rating.std(), "correlation": r}
    values |= {"auroc2_between": between, "auroc2_within": within}
    return xr.DataArray([*values.values()], {"statistic": [*values]}, "statistic")


def won_pairs(table: NDArray[np.int64]) -> Floats:
    """Pairs of a right and a wrong answer in one table that ratings order, ties half; all pairs."""
    wrong, right = np.moveaxis(table.astype(float), -2, 0)
    below = wrong.cumsum(axis=-1) - wrong / 2
    return np.array([(right * below).sum(), (right.sum(axis=-1) * wrong.sum(axis=-1)).sum()])
