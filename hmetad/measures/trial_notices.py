"""Notices of measures of trials with confidence as it is, and which measures they are about.

Judged trials, draws and estimates → notices; draws with notices → draws that say them by variable.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.intervals import biased_draws, is_beside
from hmetad.measures.confidence_scale import not_probabilities
from hmetad.measures.forecasts import Judged, few_trials
from hmetad.notice import Notice, notice_attrs, notices, notices_where
from hmetad.results import debiased_names, is_raised_by_chance

__all__ = ["cell_notices", "noticed_by_measure", "raised_by_chance"]

# Measures that need no confidence.
OF_ALL = ("accuracy", "trials")


def cell_notices(result: xr.Dataset, judged: Judged) -> list[Notice]:
    """Notices of confidence that is no probability, and of few trials, or none right, or wrong."""
    labels = result["cell"].values.tolist()
    stated = ~np.isnan(judged.value)
    cell, is_right = judged.cell[stated], judged.right[stated]
    right, wrong = (
        xr.DataArray(np.bincount(cell, x, len(labels)), {"cell": labels}, "cell")
        for x in (is_right, 1 - is_right)
    )
    masks = {"no-rights": right == 0, "no-errors": wrong == 0}
    off = not_probabilities(cell, judged.value[stated], labels)
    return [*off, *few_trials(right + wrong), *notices_where(masks)]


def raised_by_chance(
    draws: xr.Dataset, estimates: Mapping[str, NDArray[np.float64]]
) -> list[Notice]:
    """Notice of measures whose draws lie above an estimate that chance has made too large."""
    beside = {}
    for name in estimates:
        if is_raised_by_chance(name):
            drawn = draws[name].transpose("cell", "draw")
            estimate = drawn.isel(draw=0, drop=True).copy(data=estimates[name])
            beside[name] = is_beside(drawn.to_numpy(), estimate)
    return biased_draws(beside, "biased-draws.trials")


def noticed_by_measure(draws: xr.Dataset) -> xr.Dataset:
    """Draws whose variables say by themselves which notices are about them, where not all are."""
    said = notices(draws)
    filled = {one.code for one in said} & {"counted-wrong"}
    if all(is_about(one, str(name), filled) for one in said for name in draws.data_vars):
        return draws
    own = {}
    for name in map(str, draws.data_vars):
        about = [one for one in said if is_about(one, name, filled)]
        own[name] = notice_attrs(about) or {"notices": "[]"}
        # What counts as wrong is an item that was answered.
        own[name] |= {"coverage": "{}"} if filled and name in OF_ALL else {}
    return draws.assign({name: x.assign_attrs(own[str(name)]) for name, x in draws.items()})


def is_about(notice: Notice, name: str, filled: set[str]) -> bool:
    """Whether a notice of trials is about a measure."""
    # The share of right answers does not depend on the scale of confidence.
    if notice.code == "mixed-scales" or (notice.code == "unequal-items" and filled):
        return name not in OF_ALL
    # Draws of what is debiased are about its estimate.
    is_shifted = is_raised_by_chance(name) and name not in debiased_names()
    return notice.code != "biased-draws" or is_shifted
