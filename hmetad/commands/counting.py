"""Trials of files, counted as the options say.

Path of trials and options → count table.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.base.errors import ColumnError, ConflictError, EmptyError, LabelError
from hmetad.base.lazy import import_on_call
from hmetad.commands.options import TrialOptions, columns_of, options_named, parse_by, split
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.counts.columns import Trials
    from hmetad.rows.queries import Rows

__all__ = ["are_numbers", "count_file", "count_scanned", "quantile_ratings", "scan_trials"]

trials_in_use: Callable[..., Any] = import_on_call("hmetad.counts.columns", "trials_in_use")
# More are likely percentages.
MOST_RATINGS = 20


def scan_trials(
    asked: TrialOptions,
    by: Iterable[str],
    correct: str | None = None,
    covariates: Sequence[str] = (),
    others: Sequence[str] = (),
) -> "Trials":
    """Trials of files, not yet read, whose columns have the names that are in use.

    Grouping columns are text; `others` group nothing.
    """
    asked.refuse_idle(quantiles_within="" if asked.quantiles else "with --quantiles")
    within = asked.quantiles_within
    rows = hmetad.logs.scan_table(asked.file, text=[*columns_of(by), *within])
    roles = {"correct": correct_column(rows, asked, correct)}
    if roles["correct"] is None:
        roles = {"stimulus": asked.stimulus, "response": asked.response}
    roles |= {"confidence": asked.confidence}
    groupings = {"by": parse_by(by), "covariates": covariates}
    codes = split(asked.missing_codes)
    labels = split([asked.labels])
    found: Trials = trials_in_use(rows, roles, groupings, None, [*within, *others], codes, labels)
    return found


def are_numbers(trials: "Rows", confidence: str) -> bool:
    """Whether confidence is numbers that are no ratings: fractions, or percentages."""
    if confidence not in trials.columns:
        return False
    known = trials.first_rows([confidence])[confidence].dropna()
    if known.dtype.kind not in "iuf":
        return False
    return bool((known != known.round()).any() or known.max() > MOST_RATINGS)


def count_file(
    asked: TrialOptions,
    by: Iterable[str],
    covariates: Sequence[str] = (),
    correct: str | None = None,
) -> "xr.DataArray":
    """Count table of files; with a column of right and wrong, a type-2 table."""
    trials = scan_trials(asked, by, correct, covariates)
    return count_scanned(trials.rows, trials, asked, trials.by)


def correct_column(rows: "Rows", asked: TrialOptions, correct: str | None) -> str | None:
    """Column of right or wrong: the one named, or "correct" of options without a stimulus."""
    columns = {name.casefold() for name in map(str, rows.columns)}
    has_some = {asked.stimulus.casefold(), asked.response.casefold()} & columns
    if correct is not None or has_some or "correct" not in columns:
        return correct
    if not options_of(asked):
        step = "If trials have only correct or incorrect: --correct correct, for M --options 4 too."
        raise ColumnError("--stimulus", repr(asked.stimulus), "a column of the trials", step)
    return "correct"


def options_of(asked: TrialOptions) -> str:
    """Number of options, their labels or a column, as they were typed; empty without."""
    return getattr(asked, "options", "")


def parsed_options(text: str, correct: str | None) -> int | str | list[str] | None:
    """Number of options, a column of numbers, or labels in order; None without."""
    if not text:
        return None
    if text.strip().isdecimal():
        return int(text)
    labels = split([text])
    if correct is None and len(labels) < 2:
        step = "A column of numbers of options goes with --correct."
        raise LabelError("--options", repr(text), "a number, or labels: A,B,C,D", step)
    return text if correct is not None else labels


def count_scanned(
    table: "Rows | pd.DataFrame", trials: "Trials", asked: TrialOptions, by: Sequence[str]
) -> "xr.DataArray":
    """Count table of trials, all or some; with a column of right and wrong, a type-2 table."""
    options = parsed_options(options_of(asked), trials.roles.get("correct"))
    shared: dict[str, Any] = {
        **trials.roles,
        "by": by,
        "ratings": asked.ratings,
        "levels": asked.levels or None,
        "quantiles": asked.quantiles,
        "quantiles_within": [*asked.quantiles_within],
        "options": options,
    }
    typed = {"labels": "--options"} if isinstance(options, list) else {}
    with warnings_said(), options_named(typed):
        if "correct" not in trials.roles:
            more: dict[str, Any] = {
                "covariates": trials.covariates,
                "labels": split([asked.labels]) or None,
            }
            return hmetad.count_trials(table, **shared, **more)
        if trials.covariates:
            raise ConflictError("--covariates", "--correct")
        return hmetad.count_correct(table, **shared)


def quantile_ratings(confidence: "pd.Series", ratings: int) -> "pd.Series":
    """Ratings by quantiles of confidence; warnings become one line each."""
    if not confidence.notna().any():
        step = "Look at what was rejected; name the place of confidence by --field or --pattern."
        raise EmptyError("--ratings", "no confidence to make ratings of", "confidence", step)
    with warnings_said():
        return hmetad.bin_confidence(confidence, ratings)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Warnings as one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        say(f"warning: {warning.message}")
