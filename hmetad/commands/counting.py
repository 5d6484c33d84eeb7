"""Trials of a file, counted as the options say.

Path of trials and options → count table.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.arguments import columns_of, parse_by, parse_pairs, split
from hmetad.errors import InputError, nearest
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = [
    "are_numbers",
    "chosen_limits",
    "count_file",
    "count_read",
    "quantile_ratings",
    "read_trials",
]

# More are likely percentages.
MOST_RATINGS = 20


def read_trials(file: Path, by: list[str] | None, limit: list[str] | None) -> "pd.DataFrame":
    """Trials of a file, with grouping columns as text."""
    limits = chosen_limits(limit)
    return hmetad.logs.read_table(file, text=columns_of(parse_by(by)), limits=limits)


def are_numbers(trials: "pd.DataFrame", confidence: str) -> bool:
    """Whether confidence is numbers that are no ratings."""
    if confidence not in trials or trials[confidence].dtype.kind != "f":
        return False
    known = trials[confidence].dropna()
    return bool((known != known.round()).any())


def count_file(
    file: Path, *, by: list[str] | None, limit: list[str] | None = None, **asked: Any
) -> "xr.DataArray":
    """Count table of a file, as of `count_read`."""
    return count_read(read_trials(file, by, limit), by=by, **asked)


def count_read(
    trials: "pd.DataFrame",
    *,
    by: list[str] | None,
    covariates: Sequence[str] = (),
    stimulus: str,
    response: str,
    confidence: str,
    correct: str | None = None,
    ratings: int | None,
    quantiles: int | None,
    quantiles_within: Sequence[str] = (),
    labels: str,
) -> "xr.DataArray":
    """Count table of trials; with a column of right and wrong, a type-2 table."""
    columns = parse_by(by)
    if quantiles is not None:
        trials = with_ratings(trials, confidence, quantiles, quantiles_within)
        ratings = ratings or largest_rating(trials, confidence)
    elif quantiles_within:
        step = "Add --quantiles, or leave it out."
        raise InputError("--quantiles-within", "no --quantiles", "how many ratings to make", step)
    elif ratings is None:
        refuse_many_ratings(trials, confidence)
    if correct is not None:
        return hmetad.count_correct(
            trials, by=columns, correct=correct, confidence=confidence, ratings=ratings
        )
    return hmetad.count_trials(
        trials,
        by=columns,
        covariates=covariates,
        stimulus=stimulus,
        response=response,
        confidence=confidence,
        ratings=ratings,
        labels=labels_of(trials, (stimulus, response), labels) or None,
    )


def chosen_limits(given: list[str] | None) -> dict[str, int] | None:
    """Limits of what a file may hold, as numbers."""
    pairs = parse_pairs("--limit", given)
    for name, value in (pairs or {}).items():
        if not (value.isascii() and value.isdecimal() and len(value) < 19):
            raise InputError("--limit", f"{name}={value}", "a whole number, as in columns=20000")
    return {name: int(value) for name, value in pairs.items()} if pairs else None


def labels_of(trials: "pd.DataFrame", columns: Sequence[str], text: str) -> list[Any]:
    """Labels separated by commas, in the type that the columns have."""
    known: dict[str, Any] = {}
    for column in columns:
        if column in trials:
            there = trials[column].dropna().drop_duplicates()
            # Beside a missing value whole numbers are read as floats.
            for values in (there.convert_dtypes(), there):
                known |= {str(value): value for value in values.tolist()}
    return [known.get(label, label) for label in split([text])]


def quantile_ratings(confidence: "pd.Series", ratings: int, within: Any = None) -> "pd.Series":
    """Ratings by quantiles of confidence; warnings become one line each."""
    if not confidence.notna().any():
        step = "Look at what was rejected; name the place of confidence by --field or --pattern."
        raise InputError("--ratings", "no confidence to make ratings of", "confidence", step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = hmetad.bin_confidence(confidence, ratings, within=within)
    for warning in caught:
        # What follows is about arguments in Python.
        said = str(warning.message).partition(" Choose the cuts")[0]
        say(f"warning: {said} Ask for fewer by --quantiles.")
    return found


def largest_rating(trials: "pd.DataFrame", confidence: str) -> int:
    """Number of the ratings that quantiles made."""
    return int(trials[confidence].max())


def refuse_many_ratings(trials: "pd.DataFrame", confidence: str) -> None:
    """Refuse whole numbers that are likely no ratings, in words of the command line."""
    if confidence not in trials or trials[confidence].dtype.kind not in "iuf":
        return
    most = trials[confidence].max()
    if most > MOST_RATINGS:
        step = "Percentages and the like become ratings by --quantiles 4."
        allowed = f"ratings up to {MOST_RATINGS}, unless --ratings says how many there are"
        raise InputError("--confidence", f"values up to {most:g} in {confidence!r}", allowed, step)


def with_ratings(
    trials: "pd.DataFrame", confidence: str, ratings: int, within: Sequence[str]
) -> "pd.DataFrame":
    """Trials whose column of confidence holds ratings, by its quantiles over all or each group."""
    named = {"--confidence": [confidence], "--quantiles-within": within}
    for option, names in named.items():
        for name in names:
            if name not in trials:
                step = nearest(name, trials.columns)
                raise InputError(option, repr(name), "a column of the trials", step)
    groups = trials.groupby(list(within), dropna=False).ngroup() if within else None
    return trials.assign(**{confidence: quantile_ratings(trials[confidence], ratings, groups)})
