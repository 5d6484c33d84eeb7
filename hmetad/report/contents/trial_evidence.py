"""What a page says of trials: estimates, draws and standings.

DataFrame of trials → Evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.errors import InputError, nearest
from hmetad.measures.of_trials import measure_trials, resample_trials
from hmetad.notice import notices
from hmetad.notice_registry import short_words
from hmetad.report.contents.chosen_measures import OF_TRIALS
from hmetad.report.contents.standings import (
    Measure,
    Standing,
    Stratum,
    measure_strata,
    standing_of,
)

__all__ = ["Evidence", "cells_by_stratum", "cells_of_strata", "compared_columns", "evidence_of"]

# Errors of trials are about confidence: the share of right answers does not depend on them.
RIGHT = "accuracy"


@dataclass(frozen=True)
class Evidence:
    """All that a page shows of trials."""

    estimates: xr.Dataset
    draws: xr.Dataset
    over: str
    ci_prob: float
    measures: tuple[Measure, ...]
    strata: tuple[Stratum, ...]
    standings: Mapping[tuple[str, str], Standing]

    @property
    def first(self) -> Stratum:
        """What the first screen is about."""
        return self.strata[0]

    @property
    def single(self) -> list[Stratum]:
        """Strata that are no mean."""
        return [one for one in self.strata if not one.averaged]

    def standing(self, stratum: Stratum) -> list[Standing]:
        """Standings of a stratum, measure by measure."""
        return [self.standings[stratum.name, one.name] for one in self.measures]


def evidence_of(
    trials: pd.DataFrame,
    over: str | None,
    asked: Mapping[str, Any],
    draws: xr.Dataset | None = None,
) -> Evidence:
    """Estimates, draws and standings of trials; draws are made where none are given."""
    ci_prob = asked.get("ci_prob", 0.95)
    named = ("by", "correct", "confidence", "missing", "bins")
    shared = {k: asked[k] for k in named if k in asked} | {"over": over}
    if draws is None:
        options = {k: asked[k] for k in ("cluster", "n", "kind", "seed") if k in asked}
        draws = resample_trials(trials, **shared, **options)
    cluster = str(draws.attrs["cluster"]) or None
    estimates = measure_trials(trials, cluster=cluster, ci_prob=ci_prob, **shared)
    if not np.array_equal(draws["cell"], estimates["cell"]):
        raise InputError("draws", "other cells than trials", "what resample_trials gave for them")
    if not compared_columns(draws):
        draws, estimates = (one.assign_coords(all=("cell", ["all"])) for one in (draws, estimates))
    over = compared(draws, over)
    measures = tuple(one for one in OF_TRIALS if one.name in draws)
    names = [str(name) for name, drawn in draws.data_vars.items() if "draw" in drawn.dims]
    strata = tuple(measure_strata(estimates, draws, over, names))
    reasons = reasons_withheld(draws, over)
    standings = {
        (stratum.name, one.name): Standing(one, stratum, {}, reason=reason)
        if (reason := reasons.get("" if stratum.averaged else stratum.name)) and one.name != RIGHT
        else standing_of(stratum, one, ci_prob)
        for stratum in strata
        for one in measures
    }
    return Evidence(estimates, draws, over, ci_prob, measures, strata, standings)


def compared_columns(draws: xr.Dataset) -> list[str]:
    """Grouping columns of the cells."""
    return [str(k) for k, v in draws.coords.items() if v.dims == ("cell",) and k != "cell"]


def compared(draws: xr.Dataset, over: str | None) -> str:
    """Column whose levels are compared."""
    columns = compared_columns(draws)
    if over is None:
        return columns[0]
    if over not in columns:
        raise InputError("over", repr(over), "a grouping column", nearest(over, columns))
    return over


def cells_of_strata(found: Evidence) -> dict[str, list[str]]:
    """Labels of the cells of each stratum, by its name."""
    return cells_by_stratum(found.draws, found.over)


def cells_by_stratum(draws: xr.Dataset, over: str) -> dict[str, list[str]]:
    """Labels of the cells that differ in one column alone, by the levels of the others."""
    others = [name for name in compared_columns(draws) if name != over]
    keys = zip(*(draws[name].to_numpy().tolist() for name in others), strict=True)
    names = [" | ".join(map(str, key)) for key in keys] or [""] * draws.sizes["cell"]
    cells: dict[str, list[str]] = {}
    for name, label in zip(names, draws["cell"].to_numpy().tolist(), strict=True):
        cells.setdefault(name, []).append(label)
    return cells


def reasons_withheld(draws: xr.Dataset, over: str) -> dict[str, str]:
    """Why strata have no verdict, by name; that of their mean has no name."""
    reasons: dict[str, str] = {}
    for notice in notices(draws):
        for name, cells in cells_by_stratum(draws, over).items():
            if notice.severity == "error" and (not notice.cells or {*notice.cells} & {*cells}):
                reasons |= {name: short_words(notice.code), "": short_words(notice.code)}
    return reasons
