"""What a fit says of the items that it integrated out.

Fitted → log-likelihood of every item, which leaving items out needs; and the probabilities of
outcomes over items, which the counts of an observer have, for those of the average item are others.
"""

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.threads import in_threads
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import linear_predictor
from hmetad.likelihood.crossed import Effects
from hmetad.likelihood.tape import column_shapes
from hmetad.specs.crossing import Crossing

__all__ = ["item_log_likelihood", "log_probabilities"]

type Floats = NDArray[np.float64]

# Posterior draws that are looked at, about.
DRAWS = 1000
# Draws that are worked on together, in a thread.
TOGETHER = 50


def item_log_likelihood(fitted: Fitted) -> xr.DataArray:
    """log p(answers to an item | observers), dims (chain, draw, factor), at some of the draws."""
    crossing = fitted.crossing
    assert crossing is not None
    step = -(-fitted.number // DRAWS)
    thinned = fitted.at(fitted.posterior.isel(draw=slice(None, None, step)))
    parameters, effects = drawn_parameters(thinned), drawn_effects(thinned)

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
    dims = ("chain", "draw", *fitted.outcome)
    sizes = draws.sizes["chain"], draws.sizes["draw"]
    found = over_items(fitted.at(draws), fitted.crossing)
    coords = {"cell": fitted.counts["cell"].values, **fitted.labels}
    return xr.DataArray(found.reshape(*sizes, *found.shape[1:]), coords, dims)


def over_items(fitted: Fitted, crossing: Crossing) -> Floats:
    """log P of the outcomes of a trial over items, (draws, cells, *outcome)."""
    likelihood = crossing.likelihood(fitted.given, of_trials=True)
    parameters, effects = drawn_parameters(fitted), drawn_effects(fitted)
    weights = likelihood.grid.log_weights
    rows = [
        np.logaddexp.reduce(likelihood.outcomes(own, one).log_p + weights, axis=1)
        for own, one in zip(parameters, effects, strict=True)
    ]
    return np.stack(rows).reshape(len(rows), *fitted.counts.shape)


def drawn_effects(fitted: Fitted) -> list[Effects]:
    """SDs and correlation of the effects of items, at every draw."""
    layout = fitted.layout.integrated
    assert layout is not None
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


def drawn_parameters(fitted: Fitted) -> Floats:
    """Parameters of the cells as compiled code takes them, (draws, cells, columns)."""
    return np.concatenate([*columns_at(fitted)], axis=2)


def columns_at(fitted: Fitted) -> Iterator[Floats]:
    """The columns of each variable, (draws, cells, columns)."""
    of_variable = {p.variable: p.name for p in fitted.record.parameters}
    number, cells = fitted.number, len(fitted.counts)
    for name, shape in column_shapes(fitted.record, fitted.counts.sizes["rating"]).items():
        if name in fitted.given:
            own = np.broadcast_to(fitted.given[name], (number, cells))
        elif of_variable[name] in fitted.designs:
            design = fitted.designs[of_variable[name]]
            own = fitted.flat(
                linear_predictor(fitted.posterior, fitted.spec, design, group_terms=True)
            )
        else:
            own = fitted.flat(fitted.posterior[fitted.spec.named(name)])
        yield own.reshape(number, cells, math.prod(shape))
