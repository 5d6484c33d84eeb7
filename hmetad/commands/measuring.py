"""Measures of trials as options ask for them: of confidence as it is, or of counts by rating.

Trials and options → measures, how to draw them again, and a page about them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.arguments import columns_of, parse_by, parse_correction
from hmetad.commands.counting import are_numbers, count_scanned
from hmetad.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.notice import Notice
    from hmetad.report.page.report import Report
    from hmetad.rows.rows import Rows

__all__ = [
    "Measured",
    "Request",
    "has_exact_confidence",
    "measured_trials",
    "trials_of_common_items",
]


@dataclass(frozen=True)
class Request:
    """What is measured, as the options say it.

    Parameters
    ----------
    trials : Rows or DataFrame
    by : list of str or None
        Grouping columns, as they are typed.
    counted : mapping
        Columns, ratings and labels, as `count_scanned` takes them.
    measured : mapping
        Options of `measure`; the correction as it is typed.
    drawn : mapping
        Options of resampling: n, cluster and seed.
    ci_prob : float
    method : str
        Of intervals.
    titled : mapping
        Options of a page: over and title.
    missing : {"drop", "wrong"}
        What trials without an answer count as.
    is_exact : bool
        Whether confidence is taken as it is.
    has_draws : bool
        Whether it is resampled.
    """

    trials: "Rows | pd.DataFrame"
    by: list[str] | None
    counted: Mapping[str, Any]
    measured: Mapping[str, Any]
    drawn: Mapping[str, Any]
    ci_prob: float
    method: str
    titled: Mapping[str, Any]
    missing: str
    is_exact: bool
    has_draws: bool


@dataclass(frozen=True)
class Measured:
    """Measures, and what else is made of the same trials.

    Parameters
    ----------
    result : Dataset
    draws : Dataset or None
        Draws of the intervals, where there are some.
    page : callable
        ``command=`` that made it → Report.
    notices : list of Notice
        Beside those of the result.
    """

    result: "xr.Dataset"
    draws: "xr.Dataset | None"
    page: Callable[..., "Report"]
    notices: "list[Notice]"


def has_exact_confidence(trials: "Rows", counted: Mapping[str, Any]) -> bool:
    """Whether confidence is taken as it is: numbers, with right and wrong, and no ratings made."""
    return (
        counted["correct"] is not None
        and counted["quantiles"] is None
        and counted["ratings"] is None
        and counted["levels"] is None
        and are_numbers(trials, counted["confidence"])
    )


def measured_trials(asked: Request) -> Measured:
    """Measures of trials, by confidence as it is or by rating."""
    refuse_grouped_cluster(asked)
    return measured_exactly(asked) if asked.is_exact else measured_counts(asked)


def refuse_grouped_cluster(asked: Request) -> None:
    """Refuse to group by what is drawn whole: a cell that is one unit has no spread."""
    cluster = asked.drawn["cluster"]
    if cluster is not None and cluster in columns_of(parse_by(asked.by)):
        step = f"Leave {cluster} out of --by: --cluster draws it whole, for all cells at once."
        got = f"{cluster!r}, which --cluster names too"
        raise InputError("--by", got, "columns beside that of --cluster", step)


def measured_exactly(asked: Request) -> Measured:
    """Measures of trials whose confidence is taken as it is."""
    refuse_with_numbers(asked)
    columns: dict[str, Any] = {
        "by": parse_by(asked.by),
        "correct": asked.counted["correct"],
        "confidence": asked.counted["confidence"],
        "missing": asked.missing,
    }
    shared = {**columns, "over": asked.titled["over"]}
    trials, ci_prob, draws = asked.trials, asked.ci_prob, None
    if asked.has_draws:
        draws = hmetad.measures.resample_trials(trials, **shared, **asked.drawn)
        result = hmetad.measures.resample_trials_interval(
            trials, **shared, ci_prob=ci_prob, draws=draws
        )
    else:
        result = hmetad.measures.measure_trials(trials, **shared, ci_prob=ci_prob)
    options: dict[str, Any] = {**columns, **asked.titled, "ci_prob": ci_prob, "draws": draws}
    page = partial(hmetad.report.measures_report, trials, **options)
    return Measured(result, draws, page, [])


def measured_counts(asked: Request) -> Measured:
    """Measures of trials that are counted by rating."""
    cluster = asked.drawn["cluster"]
    by = [*(asked.by or []), *([cluster] if cluster else [])]
    counts = count_scanned(asked.trials, by=by, **asked.counted)
    statistic = counts_statistic(asked)
    draws, found, result = None, [], None
    if asked.has_draws:
        draws = hmetad.resample(counts, statistic, **asked.drawn)
        options: dict[str, Any] = {"ci_prob": asked.ci_prob, "method": asked.method}
        result = hmetad.resample_interval(counts, statistic, **options, draws=draws)
        found = repeated_items(asked)
    found = [*found, *unequal_items(asked)]
    # Of units drawn whole the counts are those of all of them.
    pooled = counts if cluster is None else hmetad.counts.clusters_of(counts, cluster).pooled
    measured = statistic(pooled) if result is None else result
    more = {**asked.titled, "draws": draws, "notices": found}
    page = partial(hmetad.report.measures_report, pooled, measured, **more)
    return Measured(measured, draws, page, found)


def repeated_items(asked: Request) -> "list[Notice]":
    """Notice of items that come again, where the intervals of counts take trials as independent."""
    by, cluster = parse_by(asked.by), asked.drawn["cluster"]
    return hmetad.measures.repeated_items(asked.trials, by=by, cluster=cluster)


def unequal_items(asked: Request) -> "list[Notice]":
    """Notice of levels with other items than those that they stand beside, unless draws say it."""
    if asked.drawn["cluster"] is not None and asked.has_draws:
        return []
    found = hmetad.measures.unequal_answers(
        asked.trials,
        by=parse_by(asked.by),
        over=asked.titled["over"],
        answered=answered_columns(asked.counted),
    )
    # People need not have equal numbers of trials.
    is_judged = asked.counted["correct"] is not None
    return [one for one in found if is_judged or "no column" not in one.message]


def answered_columns(counted: Mapping[str, Any]) -> list[str]:
    """Columns without which a trial has no answer."""
    judged = (
        [counted["correct"]] if counted["correct"] else [counted["stimulus"], counted["response"]]
    )
    return [*judged, counted["confidence"]]


def trials_of_common_items(
    trials: "Rows",
    by: list[str] | None,
    counted: Mapping[str, Any],
    cluster: str | None,
    over: str | None,
) -> "pd.DataFrame":
    """Trials of the items that all compared levels answered."""
    answered = answered_columns(counted)
    return hmetad.measures.common_items(
        trials, by=parse_by(by), over=over, item=cluster, answered=answered
    )


def counts_statistic(asked: Request) -> Callable[["xr.DataArray"], "xr.Dataset"]:
    """All measures of counts, as a function of them; with intervals they need no errors."""
    correction = parse_correction(asked.measured["correction"])
    options = {**asked.measured, "correction": correction, "errors": not asked.has_draws}
    return partial(hmetad.measure, **options)


def refuse_with_numbers(asked: Request) -> None:
    """Refuse what needs ratings, where confidence is numbers."""
    needs = ("meta_d", "expected", "meta_noise")
    named = {name: asked.measured[name] for name in needs}
    for name, value in {**named, "method": asked.method != "percentile"}.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            step = "Make ratings: --quantiles 4."
            raise InputError(option, "confidence that is no rating", "ratings", step)
