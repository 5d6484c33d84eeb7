"""Trials of files, counted as the options say.

Path of trials and options → count table.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.base.errors import ColumnError, ConflictError, EmptyError, LabelError, nearest
from hmetad.commands.options import (
    TrialOptions,
    columns_of,
    options_named,
    parse_by,
    split,
)
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.rows.queries import Rows

__all__ = [
    "are_numbers",
    "count_file",
    "count_scanned",
    "quantile_ratings",
    "scan_trials",
    "warnings_said",
]

# More are likely percentages.
MOST_RATINGS = 20


def scan_trials(asked: TrialOptions, by: Sequence[str], columns: Mapping[str, str]) -> "Rows":
    """Trials of files, not yet read, with grouping columns as text.

    `columns` are the others in use, by role, in which codes are missing values.
    """
    asked.refuse_idle(quantiles_within="" if asked.quantiles else "with --quantiles")
    text = [*columns_of(by), *asked.quantiles_within]
    rows = hmetad.logs.scan_table(asked.file, text=text)
    rows = rows.spelled([*columns.values(), *text])
    codes = split(asked.missing_codes)
    rows = hmetad.counts.without_codes(rows, codes, columns, split([asked.labels]))
    return rows.with_points([columns["confidence"]])


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
    by: Sequence[str],
    covariates: Sequence[str] = (),
    correct: str | None = None,
) -> "xr.DataArray":
    """Count table of files; with a column of right and wrong, a type-2 table."""
    columns = {"stimulus": asked.stimulus, "response": asked.response} if not correct else {}
    columns |= {"correct": correct} if correct else {}
    trials = scan_trials(asked, by, {**columns, "confidence": asked.confidence})
    correct = judged_column(trials, asked, correct)
    return count_scanned(trials, asked, by, covariates=covariates, correct=correct)


def judged_column(trials: "Rows", asked: TrialOptions, correct: str | None) -> str | None:
    """Column of right or wrong: the one named, or "correct" of options without a stimulus."""
    has_some = {asked.stimulus, asked.response} & {*trials.columns}
    if correct is not None or has_some or "correct" not in trials.columns:
        return correct
    if not options_of(asked):
        step = "If trials say only right or wrong: --correct correct, and for M --options 4."
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
    trials: "Rows | pd.DataFrame",
    asked: TrialOptions,
    by: Sequence[str],
    *,
    covariates: Sequence[str] = (),
    correct: str | None = None,
) -> "xr.DataArray":
    """Count table of trials; with a column of right and wrong, a type-2 table."""
    for name in asked.quantiles_within:
        if name not in trials.columns:
            step = nearest(name, trials.columns)
            raise ColumnError("--quantiles-within", repr(name), "a column of the trials", step)
    shared: dict[str, Any] = {
        "by": parse_by(by),
        "confidence": asked.confidence,
        "ratings": asked.ratings,
        "levels": asked.levels or None,
        "quantiles": asked.quantiles,
        "quantiles_within": [*asked.quantiles_within],
    }
    options = shared["options"] = parsed_options(options_of(asked), correct)
    typed = {"labels": "--options"} if isinstance(options, list) else {}
    with warnings_said(), options_named(typed):
        if correct is not None:
            if covariates:
                raise ConflictError("--covariates", "--correct")
            return hmetad.count_correct(trials, correct=correct, **shared)
        return hmetad.count_trials(
            trials,
            covariates=covariates,
            stimulus=asked.stimulus,
            response=asked.response,
            labels=split([asked.labels]) or None,
            **shared,
        )


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
