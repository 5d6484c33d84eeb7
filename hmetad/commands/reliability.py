"""The command that says how reliable measures of people are.

File of trials → reliability of each measure by split halves, or over sessions.
"""

from collections.abc import Mapping
from functools import partial
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, chosen_format, give, rows_of, write_answer
from hmetad.commands.arguments import (
    DATA_FILES,
    as_seed,
    columns_of,
    parse_by,
    parse_correction,
    refuse_idle,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import (
    AsJson,
    By,
    CiProb,
    Confidence,
    Labels,
    Levels,
    Limit,
    MissingCodes,
    PrintAs,
    Quantiles,
    QuantilesWithin,
    Ratings,
    Response,
    Seed,
    Stimulus,
    Trials,
)
from hmetad.errors import InputError
from hmetad.results import results
from hmetad.text.names import column_name

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EXAMPLES", "reliability"]

EXAMPLES = """
hmetad reliability trials.csv --by subject,task
hmetad reliability trials.csv --by subject=participant,session=day --session session
hmetad reliability sliders.csv --by subject --quantiles 6 --json
"""

HALVES = {"quantity": "measure", "group": "group", "correlation": "r", "reliability": "reliability"}
HALVES |= {"reliability_lower": "lower", "reliability_upper": "upper", "people": "people"}
SESSIONS = {"quantity": "measure", "group": "group", "kind": "kind", "icc": "ICC"}
SESSIONS |= {"icc_lower": "lower", "icc_upper": "upper", "people": "people"}
# Measures of the terminal's table that are no measure of a person's confidence or sensitivity.
FITTED = ("meta_d", "m_ratio", "log_m")
BESIDE = ("confidence_mean", "phi")

# Options of this command alone.
Session = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of --by with sessions: ICC over them."),
]
Correction = Annotated[str, typer.Option(metavar="NAME", help="none, loglinear, cell or a number.")]
Splits = Annotated[int, typer.Option(min=1, metavar="N", help="Random splits.")]
Goal = Annotated[float, typer.Option(metavar="R", help="Reliability that trials should reach.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Rows: .csv, .json."),
]


def reliability(
    context: typer.Context,
    file: Trials,
    by: By = None,
    session: Session = None,
    stimulus: Stimulus = "stimulus",
    response: Response = "response",
    confidence: Confidence = "confidence",
    ratings: Ratings = None,
    levels: Levels = None,
    missing_codes: MissingCodes = None,
    quantiles: Quantiles = None,
    quantiles_within: QuantilesWithin = None,
    limit: Limit = None,
    labels: Labels = "",
    correction: Correction = "none",
    splits: Splits = 50,
    goal: Goal = 0.8,
    ci_prob: CiProb = 0.95,
    output: Output = None,
    seed: Seed = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Say how reliable measures of people are, between halves of trials or sessions."""
    chosen = chosen_format(print_as, as_json)
    path = None if output is None else writable_file(output, *DATA_FILES)
    if path is not None:
        refuse_inputs(path, file)
    check_by(by, session)
    of_halves = "it without --session" if session is not None else ""
    refuse_idle(context, **dict.fromkeys(("splits", "goal", "seed"), of_halves))
    counts = count_file(
        file,
        by=by,
        stimulus=stimulus,
        response=response,
        confidence=confidence,
        ratings=ratings,
        levels=levels,
        missing_codes=missing_codes,
        quantiles=quantiles,
        quantiles_within=split(quantiles_within),
        limit=limit,
        labels=labels,
    )
    statistic = partial(
        hmetad.measure, correction=parse_correction(correction), meta_d=True, errors=False
    )
    if session is not None:
        rows = session_rows(statistic(counts), session, ci_prob)
        title = f"Intraclass correlations over {session}"
        answer = Answer((Listing(rows, SESSIONS, title),), hmetad.notices(counts))
    else:
        found = hmetad.measures.split_half(
            counts, statistic, n=splits, goal=goal, ci_prob=ci_prob, seed=seed or 0
        )
        answer = halves_answer(found, splits, goal, seed or 0)
    if path is not None:
        write_answer(answer, path)
    give(answer, chosen, [] if path is None else [path])


def halves_answer(found: "xr.Dataset", splits: int, goal: float, seed: int) -> Answer:
    """Reliability by halves, and how many trials reach the goal."""
    rows = rows_of(found.to_dataframe().reset_index())
    shown = [named(row) for row in rows if row["quantity"] in shown_measures()]
    title = f"Reliability by {splits} random halves; trials a person for {goal:g}"
    columns = {**HALVES, "trials_needed": "trials needed"}
    if len(found["group"]) == 1:
        columns.pop("group")
    more = {"splits": splits, "goal": goal, "measures": rows}
    return Answer(
        (Listing(shown, columns, title),), hmetad.notices(found), as_seed(seed), more=more
    )


def check_by(by: list[str] | None, session: str | None) -> None:
    """Refuse to go on without people, and a session that is not counted by."""
    columns = parse_by(by)
    names = [*columns] if isinstance(columns, dict) else columns_of(columns)
    if "subject" not in names:
        step = "Name the column of people: --by subject=participant."
        raise InputError("--by", ",".join(names) or "nothing", "subject among the columns", step)
    if session is not None and session not in names:
        step = f"Write --by subject,{session} --session {session}."
        raise InputError("--session", repr(session), "a column of --by", step)


def shown_measures() -> list[str]:
    """Names of measures that a terminal shows."""
    own = [x.name for x in results() if x.terminal and not x.name.startswith("share")]
    return [*dict.fromkeys((*own, *BESIDE, *FITTED))]


def named(row: Mapping[str, Any]) -> dict[str, Any]:
    """Row with the name of its measure as tables have it, and whole numbers of trials."""
    needed = row["trials_needed"]
    trials = ceil(needed) if isfinite(needed) else None
    whole = {"people": round(row["people"]), "trials_needed": trials}
    return {**row, **whole, "quantity": column_name(str(row["quantity"]))}


def session_rows(measured: "xr.Dataset", session: str, ci_prob: float) -> list[dict[str, Any]]:
    """ICC of each measure in each combination of the other columns."""
    others = [
        str(name)
        for name, values in measured.coords.items()
        if values.dims == ("cell",) and name not in ("cell", "subject", session)
    ]
    labels = [
        " | ".join(map(str, x)) for x in zip(*(measured[n].values for n in others), strict=True)
    ]
    groups = dict.fromkeys(labels or ["all"])
    rows = []
    for group in groups:
        own = [not labels or label == group for label in labels or ["all"] * len(measured["cell"])]
        for name in shown_measures():
            if name not in measured:
                continue
            values = measured[name].isel(cell=own)
            found = hmetad.measures.icc(values, session=session, ci_prob=ci_prob)
            for kind in found["kind"].values:
                one = {str(k): x.item() for k, x in found.sel(kind=kind).data_vars.items()}
                said = {"quantity": column_name(name), "group": group, "kind": str(kind)}
                rows.append({**said, **one, "people": found.attrs["people"]})
    return rows
