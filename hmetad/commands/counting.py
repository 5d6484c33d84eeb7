"""Trials of files, counted as the options say.

Path of trials and options → count table.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.arguments import columns_of, parse_by, parse_pairs, split
from hmetad.errors import InputError, nearest
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.rows.rows import Rows

__all__ = [
    "are_numbers",
    "chosen_limits",
    "count_file",
    "count_scanned",
    "quantile_ratings",
    "scan_trials",
]

# More are likely percentages.
MOST_RATINGS = 20


def scan_trials(
    file: Path,
    by: list[str] | None,
    limit: list[str] | None,
    within: Sequence[str] = (),
    *,
    columns: Mapping[str, str],
    codes: list[str] | None = None,
    labels: str = "",
) -> "Rows":
    """Trials of files, not yet read, with grouping columns as text.

    `columns` are the others in use, by role, in which codes are missing values.
    """
    text = [*columns_of(parse_by(by)), *within]
    rows = hmetad.logs.scan_table(file, text=text, limits=chosen_limits(limit))
    rows = rows.spelled([*columns.values(), *text])
    rows = hmetad.counts.without_codes(rows, split(codes), columns, split([labels]))
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
    file: Path,
    *,
    by: list[str] | None,
    limit: list[str] | None = None,
    quantiles_within: Sequence[str] = (),
    levels: list[str] | None = None,
    missing_codes: list[str] | None = None,
    **asked: Any,
) -> "xr.DataArray":
    """Count table of files, as of `count_scanned`."""
    columns = {name: asked[name] for name in ("stimulus", "response", "confidence")}
    coded: dict[str, Any] = {"codes": missing_codes, "labels": asked["labels"]}
    trials = scan_trials(file, by, limit, quantiles_within, columns=columns, **coded)
    asked |= {"quantiles_within": quantiles_within, "levels": split(levels) or None}
    return count_scanned(trials, by=by, **asked)


def count_scanned(
    trials: "Rows | pd.DataFrame",
    *,
    by: list[str] | None,
    covariates: Sequence[str] = (),
    stimulus: str,
    response: str,
    confidence: str,
    correct: str | None = None,
    ratings: int | None,
    levels: Sequence[str] | None = None,
    quantiles: int | None,
    quantiles_within: Sequence[str] = (),
    labels: str,
) -> "xr.DataArray":
    """Count table of trials; with a column of right and wrong, a type-2 table."""
    if quantiles_within and quantiles is None:
        step = "Add --quantiles, or leave it out."
        raise InputError("--quantiles-within", "no --quantiles", "how many ratings to make", step)
    for name in quantiles_within:
        if name not in trials.columns:
            step = nearest(name, trials.columns)
            raise InputError("--quantiles-within", repr(name), "a column of the trials", step)
    asked: dict[str, Any] = {
        "by": parse_by(by),
        "confidence": confidence,
        "ratings": ratings,
        "levels": levels,
        "quantiles": quantiles,
        "quantiles_within": list(quantiles_within),
    }
    with warnings_said():
        if correct is not None:
            return hmetad.count_correct(trials, correct=correct, **asked)
        return hmetad.count_trials(
            trials,
            covariates=covariates,
            stimulus=stimulus,
            response=response,
            labels=split([labels]) or None,
            **asked,
        )


def chosen_limits(given: list[str] | None) -> dict[str, int] | None:
    """Limits of what a file may hold, as numbers."""
    pairs = parse_pairs("--limit", given)
    for name, value in (pairs or {}).items():
        if not (value.isascii() and value.isdecimal() and len(value) < 19):
            raise InputError("--limit", f"{name}={value}", "a whole number, as in columns=20000")
    return {name: int(value) for name, value in pairs.items()} if pairs else None


def quantile_ratings(confidence: "pd.Series", ratings: int) -> "pd.Series":
    """Ratings by quantiles of confidence; warnings become one line each."""
    if not confidence.notna().any():
        step = "Look at what was rejected; name the place of confidence by --field or --pattern."
        raise InputError("--ratings", "no confidence to make ratings of", "confidence", step)
    with warnings_said():
        return hmetad.bin_confidence(confidence, ratings)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Warnings as one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        # What follows is about arguments in Python.
        said, sign, _ = str(warning.message).partition(" Choose the cuts")
        say(f"warning: {said}{' Ask for fewer by --quantiles.' if sign else ''}")
