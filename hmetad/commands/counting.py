"""Trials of a file, counted as the options say.

Path of trials and options → count table.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hmetad
from hmetad.commands.arguments import columns_of, parse_by, split
from hmetad.errors import InputError, nearest
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["count_file", "rated"]


def count_file(
    file: Path,
    *,
    by: list[str] | None,
    covariates: Sequence[str] = (),
    stimulus: str,
    response: str,
    confidence: str,
    correct: str | None = None,
    ratings: int | None,
    quantiles: int | None,
    labels: str,
) -> "xr.DataArray":
    """Count table of a file; with a column of right and wrong, a type-2 table."""
    columns = parse_by(by)
    trials = hmetad.read_table(file, text=columns_of(columns))
    if quantiles is not None:
        trials = with_ratings(trials, confidence, quantiles)
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
        labels=split([labels]) or None,
    )


def rated(confidence: "pd.Series", ratings: int) -> "pd.Series":
    """Ratings by quantiles of confidence; what binning warns of is said in a line."""
    if not confidence.notna().any():
        step = "Look at what was rejected; name the place of confidence by --field or --pattern."
        raise InputError("--ratings", "no confidence to make ratings of", "confidence", step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = hmetad.bin_confidence(confidence, ratings)
    for warning in caught:
        say(f"warning: {warning.message}")
    return found


def with_ratings(trials: "pd.DataFrame", confidence: str, ratings: int) -> "pd.DataFrame":
    """Trials whose column of confidence holds ratings, by its quantiles over all trials."""
    if confidence not in trials:
        step = nearest(confidence, trials.columns)
        raise InputError("--confidence", repr(confidence), "a column of the trials", step)
    return trials.assign(**{confidence: rated(trials[confidence], ratings)})
