"""The command that compares models of confidence.

File of trials → which process made these ratings, on the terminal and as a report.
"""

from dataclasses import dataclass
from pathlib import Path

import hmetad
from hmetad.base.errors import ColumnError
from hmetad.commands.answer import (
    DATA_FILES,
    REPORTS,
    Answer,
    Listing,
    command_line,
    deliver,
    output_file,
    rows_of,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import (
    Chains,
    Correction,
    FixedSeed,
    Output,
    TrialOptions,
    given_options,
    parse_by,
    parse_correction,
    sampling_options,
)
from hmetad.report.terminal import print_text, say

__all__ = ["select"]

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
        Column of people; subject=column renames it.
    difficulty : COLUMN
        Column with the difficulty of the trial (stimulus strength), if it varies.
    models : NAMES
        Models to compare: sdt,wev,meta_d. Default: all that the data can tell apart; a wrong
        name lists them.
    quick : flag
        Use maximum likelihood and AIC, not sampling: seconds, not minutes.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx.
    """

    by: str
    difficulty: str | None = None
    models: tuple[str, ...] = ()
    quick: bool = False
    correction: Correction = "none"
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
    chosen = asked.format
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

    deliver(answer, chosen, written, save_page)
    if chosen == "table":
        for paragraph in said:
            print_text(f"{paragraph}\n")
