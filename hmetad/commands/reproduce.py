"""The command that reproduces a paper.

Name of a study → printed numbers beside ours, comparison.csv and report.html.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hmetad.base.files import refuse_place
from hmetad.commands.answer import (
    Answer,
    Listing,
    PrintOptions,
    refuse_inputs,
    rows_of,
    writable_folder,
)
from hmetad.commands.options import FixedSeed, given_options, sampling_options
from hmetad.report.terminal import say
from hmetad.studies.run import STUDIES, TABLES, check_study
from hmetad.studies.run import reproduce as run_study

COMPARED = {name: name for name in ("table", "row", "quantity")}
COMPARED |= {"printed": "in print", "ours": "here"}
MOST_ROWS = 40
type Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(PrintOptions):
    """A study, its data and where its page goes.

    Parameters
    ----------
    out : DIR
        Folder for comparison.csv, report.html and, for atlas2026, models.csv.
    data : PATH
        File or folder that the authors deposited, for studies that take one. For atlas2026, the
        folder that keeps data sets (see HMETAD_DATA): missing ones are fetched.
    draws : N
        Posterior draws per chain. Default: those of the study.
    seed : N
        Random seed; the same seed repeats the result (same versions and caches).
    """

    study: Annotated[str, typer.Argument(metavar="STUDY", help=f"{', '.join(STUDIES)}.")]
    out: Path = Path("results")
    data: Path | None = None
    draws: Annotated[int | None, typer.Option(min=4)] = None
    seed: FixedSeed = 1


def reproduce(asked: ReproduceOptions) -> int:
    """Recompute a paper, and compare each published number with ours.

    Exit status 0 if every number agrees or its difference is explained, else 1.

    Examples
    --------
    hmetad reproduce servajean2026 --out results
    hmetad reproduce cacioli2026 --data roc_data.json --json
    """
    study = asked.study
    check_study(study)
    folder = writable_folder(asked.out)
    more_files = [f"{name}.csv" for name in TABLES.get(study, ())]
    files = [folder / name for name in ("comparison.csv", "report.html", *more_files)]
    inputs = [] if asked.data is None else [asked.data]
    for path in files:
        refuse_place(path)
        refuse_inputs(path, *inputs, is_read=lambda name: ".json" in name, option="--out")
    options = given_options(seed=asked.seed, draws=asked.draws, data=asked.data)
    comparison = run_study(study, folder, **options, **sampling_options())
    explained = bool((comparison["agrees"] | (comparison["note"] != "")).all())
    rows = rows_of(comparison)
    shown = (
        compared_rows(rows)
        if asked.format == "table"
        else (Listing(rows, {**COMPARED, "note": "why"}),)
    )
    agreeing = sum(row["agrees"] for row in rows)
    more = {"study": study, "agreeing": agreeing, "explained": explained}
    say(f"{agreeing} of {len(rows)} printed numbers and decisions agree.")
    asked.give(Answer(shown, seed=asked.seed, more=more), files)
    return 0 if explained else 1


def compared_rows(rows: Rows) -> tuple[Listing, ...]:
    """First numbers side by side, then all that disagrees."""
    numbers = [row for row in rows if not isinstance(row["printed"], str)]
    if len(numbers) > MOST_ROWS:
        say(f"{len(numbers) - MOST_ROWS} more numbers are in comparison.csv.")
    first = Listing(numbers[:MOST_ROWS], COMPARED, "In print and here")
    differing = [
        {**row, **{side: in_short(row[side]) for side in ("printed", "ours")}}
        for row in rows
        if not row["agrees"]
    ]
    others = Listing(differing, {**COMPARED, "note": "why"}, "Disagreements")
    return (first, others) if differing else (first,)


def in_short(value: str | float) -> str:
    """Five digits of a number; a text as it is."""
    return value if isinstance(value, str) else f"{value:.5g}"
