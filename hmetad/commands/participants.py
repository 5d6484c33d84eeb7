"""The commands about trials of participants: how reliable their measures are, and by which model.

File of trials → reliability of each measure by split halves; or the model that made these ratings,
on the terminal and as a report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hmetad
from hmetad.base.errors import ColumnError
from hmetad.base.results import results
from hmetad.commands.answer import (
    DATA_FILES,
    REPORTS,
    Answer,
    Listing,
    Output,
    command_line,
    output_file,
    rows_of,
)
from hmetad.commands.options import (
    Chains,
    FixedSeed,
    given_options,
    parse_correction,
    sampling_options,
)
from hmetad.commands.trials import CellOptions, TrialOptions, count_file, parse_by
from hmetad.report.terminal import print_text, say
from hmetad.text.names import column_name

if TYPE_CHECKING:
    import xarray as xr

HALVES = {"quantity": "measure", "group": "group", "correlation": "r", "reliability": "reliability"}
HALVES |= {"reliability_lower": "lower", "reliability_upper": "upper", "people": "people"}
# Measures of the terminal's table that are no measure of a person's confidence or sensitivity.
FITTED = ("meta_d", "m_ratio", "log_m")
BESIDE = ("confidence_mean", "phi")


@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(CellOptions):
    """Trials of people, and what their measures are held against.

    Parameters
    ----------
    splits : N
        Number of random splits into halves.
    goal : R
        Target reliability, from 0 to 1: the table reports the number of trials that reaches it.
    seed : N
        Random seed; the same seed repeats the result (same versions and caches).
    output : FILE
        Rows: .csv, .json.
    """

    correction: str = "none"
    splits: Annotated[int, typer.Option(min=1)] = 50
    goal: float = 0.8
    ci_prob: float = 0.95
    seed: FixedSeed = 0
    output: Output = None


def reliability(asked: ReliabilityOptions) -> None:
    """Estimate the reliability of measures, from halves of trials.

    Examples
    --------
    hmetad reliability trials.csv --by subject,task
    hmetad reliability sliders.csv --by subject --quantiles 6 --json
    """
    written = output_file(asked.output, DATA_FILES, asked.file)
    names = [*parse_by(asked.by)]
    if "subject" not in names:
        step = "Name the column of people: --by subject=participant."
        raise ColumnError("--by", ",".join(names) or "nothing", "subject among the columns", step)
    counts = count_file(asked, asked.by)
    statistic = partial(
        hmetad.measure, correction=parse_correction(asked.correction), meta_d=True, errors=False
    )
    found = hmetad.measures.split_half(
        counts, statistic, n=asked.splits, goal=asked.goal, ci_prob=asked.ci_prob, seed=asked.seed
    )
    asked.deliver(halves_answer(found, asked), written)


def halves_answer(found: "xr.Dataset", asked: ReliabilityOptions) -> Answer:
    """Reliability by halves, and how many trials reach the goal."""
    rows = rows_of(found.to_dataframe().reset_index())
    known = {x.name for x in results() if x.terminal and not x.name.startswith("share")}
    shown = [named(row) for row in rows if row["quantity"] in known.union(BESIDE, FITTED)]
    title = f"Reliability by {asked.splits} random halves; trials per person for {asked.goal:g}"
    columns = {**HALVES, "trials_needed": "trials needed"}
    if len(found["group"]) == 1:
        columns.pop("group")
    more = {"splits": asked.splits, "goal": asked.goal, "measures": rows}
    return Answer((Listing(shown, columns, title),), hmetad.notices(found), asked.seed, more=more)


def named(row: Mapping[str, Any]) -> dict[str, Any]:
    """Row with the name of its measure as tables have it, and whole numbers of trials."""
    needed = row["trials_needed"]
    trials = ceil(needed) if isfinite(needed) else None
    whole = {"people": round(row["people"]), "trials_needed": trials}
    return {**row, **whole, "quantity": column_name(str(row["quantity"]))}


HEADINGS = {
    "model": "model",
    "elpd": "elpd",
    "aic": "AIC",
    "difference": "nats below best",
    "se": "SE",
    "best_for": "best for",
    "protected_exceedance": "prot. exceed.",
    "at_edge": "at an edge",
    "high_k": "k > .7",
}


@dataclass(frozen=True, kw_only=True)
class SelectOptions(TrialOptions):
    """Trials of people, the models to compare, and how they are fitted.

    Parameters
    ----------
    by : COLUMN
        Column of participants; subject=column renames it.
    difficulty : COLUMN
        Column with the difficulty of the trial (stimulus strength), if it varies.
    models : NAMES
        Models to compare: sdt,wev,meta_d. Default: all that the data identify; an unknown name
        lists them.
    quick : flag
        Use maximum likelihood and AIC, not sampling: seconds, not minutes.
    seed : N
        Random seed; the same seed repeats the result (same versions and caches).
    """

    by: str
    difficulty: str | None = None
    models: tuple[str, ...] = ()
    quick: bool = False
    correction: str = "none"
    draws: Chains = None
    seed: FixedSeed = 0
    output: Output = None


def select(asked: SelectOptions) -> None:
    """Compare ten models of how confidence arises, fitted to each participant.

    Examples
    --------
    hmetad select trials.csv --by subject --difficulty level --quick -o report.html
    hmetad select trials.csv --by subject --difficulty level -o report.html
    hmetad select trials.csv --by participant --models sdt,gaussian_noise,meta_d --quick
    """
    of_method = {"draws": "without --quick"} if asked.quick else {"correction": "with --quick"}
    asked.refuse_idle(**of_method)
    written = output_file(asked.output, (*DATA_FILES, *REPORTS), asked.file)
    if "," in asked.by:
        step = "Name the other --difficulty."
        raise ColumnError("--by", repr(asked.by), "one column, the people", step)
    # The name that each column gets: new=old renames one.
    subject, *difficulty = parse_by([asked.by, asked.difficulty or ""])
    counts = count_file(asked, [asked.by, asked.difficulty or ""])
    options = {} if asked.quick else {**sampling_options(), **given_options(draws=asked.draws)}
    found = hmetad.select.select_models(
        counts,
        [*asked.models] or None,
        subject=subject,
        difficulty=difficulty[0] if difficulty else None,
        quick=asked.quick,
        correction=parse_correction(asked.correction),
        seed=asked.seed,
        say=say,
        **options,
    )
    rows = rows_of(found.table.reset_index())
    shown = {name: title for name, title in HEADINGS.items() if name in rows[0]}
    title = f"Models of confidence, the best first ({found.method})"
    said = hmetad.report.conclusion(found)
    more = {"conclusion": said}
    answer = Answer((Listing(rows, shown, title),), found.notices, asked.seed, more=more)

    def save_page(path: Path) -> None:
        title = f"Models of confidence: {asked.file.name}"
        hmetad.report.selection_report(found, title=title, command=command_line()).save(path)

    asked.deliver(answer, written, save_page)
    if asked.format == "table":
        for paragraph in said:
            print_text(f"{paragraph}\n")
