"""Trials of files: the options that say what their columns are, and counting by these.

Path of trials and options → count table.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hmetad
from hmetad.base.errors import ColumnError, ConflictError, LabelError
from hmetad.base.lazy import import_on_call
from hmetad.commands.answer import PrintOptions
from hmetad.commands.options import Seed, options_named, split
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.counts.columns import Trials
    from hmetad.rows.queries import Rows

trials_in_use: Callable[..., Any] = import_on_call("hmetad.counts.columns", "trials_in_use")
rows_of: Callable[..., Any] = import_on_call("hmetad.rows.tables", "rows_of")
# More are likely percentages.
MOST_RATINGS = 20


@dataclass(frozen=True, kw_only=True)
class TrialOptions(PrintOptions):
    """Files of trials, and how they are counted.

    Parameters
    ----------
    file : FILE
        Trials: .csv, .tsv, .jsonl or .parquet; a folder of them; a quoted pattern such as
        'data/*.csv'; or a file of PsychoPy, jsPsych, Gorilla, Qualtrics, SPSS, Stata or Excel.
    stimulus : COLUMN
        Column with the stimulus that was shown, one of two.
    response : COLUMN
        Column with the response, labelled as the stimulus is.
    confidence : COLUMN
        Column with confidence: ratings from 1 to K, unless --levels or --quantiles is given.
    ratings : K
        Number of confidence ratings. Default: the highest in the file.
    levels : VALUES
        All ratings, from least to most confident, if they are not 1 to K: guess,unsure,sure or
        0,1,2,3,4,5,6,7,8,9,10.
    quantiles : K
        Convert continuous confidence to K ratings by its quantiles.
    quantiles_within : COLUMNS
        Take the quantiles separately within each level of these columns, such as model. Not for the
        participants of a group model.
    labels : S1,S2
        The two values of the stimulus, S1 first. Default: sorted.
    response_labels : VALUES
        Values of the response, in the order of those of the stimulus that they stand for. Default:
        the same values.
    labels_within : COLUMNS
        Columns of --by, such as task, whose levels have different labels.
    """

    file: Annotated[Path, typer.Argument()]
    stimulus: str = "stimulus"
    response: str = "response"
    confidence: str = "confidence"
    ratings: int | None = None
    levels: tuple[str, ...] = ()
    missing_codes: list[str] | None = None
    quantiles: int | None = None
    quantiles_within: tuple[str, ...] = ()
    labels: str = ""
    response_labels: tuple[str, ...] = ()
    labels_within: tuple[str, ...] = ()
    seed: Seed = None


@dataclass(frozen=True, kw_only=True)
class CellOptions(TrialOptions):
    """Trials, and the columns that make cells of them.

    Parameters
    ----------
    by : COLUMNS
        Columns that define the cells, one estimate each: subject,task; subject=column renames
        one. Default: all trials are one cell.
    options : M
        Number of answer options, or all their labels: A,B,C,D. With --correct, also the column that
        holds the number.
    """

    by: tuple[str, ...] = ()
    options: str = ""


def scan_trials(
    asked: TrialOptions,
    by: Iterable[str],
    correct: str | None = None,
    covariates: Sequence[str] = (),
    others: Sequence[str] = (),
    needs_confidence: bool = True,
) -> "Trials":
    """Trials of files, not yet read, whose columns have the names that are in use.

    Grouping columns are text; `others` group nothing. The usual column of confidence may be absent
    where it is not needed.
    """
    asked.refuse_idle(quantiles_within="" if asked.quantiles else "with --quantiles")
    within = asked.quantiles_within
    rows = rows_of(hmetad.logs.scan_table(asked.file, text=[*columns_of(by), *within]))
    roles = {"correct": correct_column(rows, asked, correct)}
    if roles["correct"] is None:
        roles = {"stimulus": asked.stimulus, "response": asked.response}
    is_there = asked.confidence in rows.columns or asked.confidence != "confidence"
    roles |= {"confidence": asked.confidence} if is_there or needs_confidence else {}
    groupings = {"by": parse_by(by), "covariates": covariates}
    codes = split(asked.missing_codes)
    words = dict.fromkeys(("stimulus", "response"), split([asked.labels]))
    found: Trials = trials_in_use(rows, roles, groupings, None, [*within, *others], codes, words)
    return found


def are_numbers(trials: "Rows", confidence: str) -> bool:
    """Whether confidence is numbers that are no ratings: fractions, or percentages."""
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
    if not options_of(asked) and getattr(asked, "abstained", None) is None:
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
    table: "Rows | pd.DataFrame",
    trials: "Trials",
    asked: TrialOptions,
    by: Sequence[str],
    abstained: str | None = None,
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
        "abstained": abstained,
    }
    typed = {"labels": "--options"} if isinstance(options, list) else {}
    with warnings_said(), options_named(typed):
        if "correct" not in trials.roles:
            more: dict[str, Any] = {
                "covariates": trials.covariates,
                "labels": split([asked.labels]) or None,
                "response_labels": asked.response_labels or None,
                "labels_within": [*asked.labels_within],
            }
            return hmetad.count_trials(table, **shared, **more)
        if trials.covariates:
            raise ConflictError("--covariates", "--correct")
        return hmetad.count_correct(table, **shared)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Warnings as one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        say(f"warning: {warning.message}")


def parse_by(given: Iterable[str] | None) -> list[str] | dict[str, str]:
    """Columns, or the names that a model card has for them: ``subject=participant,task``."""
    pairs = [part.partition("=") for part in split(given)]
    if not any(sign for _, sign, _ in pairs):
        return [name for name, _, _ in pairs]
    return {name.strip(): column.strip() or name for name, _, column in pairs}


def columns_of(by: Iterable[str] | None) -> list[str]:
    """Columns of the file that are grouped by."""
    parsed = parse_by(by)
    return [*parsed.values()] if isinstance(parsed, dict) else parsed


def cell_heading(by: Iterable[str], options: str = "") -> str:
    """Heading over labels of cells: the names of the columns that make them.

    The column of the number of options, if `options` names one, is the last unless it is among
    these.
    """
    own = [*parse_by(by)]
    is_column = options and not options.strip().isdecimal() and "," not in options
    more = [options] if is_column and options not in own else []
    return " | ".join([*own, *more]) or "cell"
