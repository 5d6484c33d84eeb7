"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import hmetad
from hmetad.commands.answer import (
    Answer,
    Listing,
    chosen_format,
    command_line,
    give,
    rows_of,
    write_answer,
)
from hmetad.commands.arguments import (
    DATA_FILES,
    REPORTS,
    as_seed,
    parse_by,
    parse_limits,
    refuse_aurc,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.compared import with_outcome
from hmetad.commands.counting import scan_trials
from hmetad.commands.draws import DRAWS_FILE
from hmetad.commands.gate import Gate, judge_gate, parse_gate
from hmetad.commands.measures_options import (
    Cluster,
    Correct,
    Correction,
    Draws,
    Expected,
    FailIf,
    Interval,
    MetaD,
    MetaNoise,
    Method,
    Output,
    Over,
    Rope,
    Var,
)
from hmetad.commands.measuring import (
    Measured,
    Request,
    has_exact_confidence,
    measured_trials,
)
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
from hmetad.report.terminal import say
from hmetad.results import results
from hmetad.text.names import column_name, in_percent

if TYPE_CHECKING:
    from hmetad.compare.decisions import Decisions

__all__ = ["EXAMPLES", "measures"]

# Columns of a terminal where confidence is numbers.
EXACT = (
    *("cell", "trials", "accuracy", "auroc2", "auroc2_lower", "auroc2_upper", "gamma_pairs"),
    *("selective_area", "brier", "ece"),
)
EXAMPLES = """
hmetad measures trials.csv --by model,task --meta-d -o measures.csv
hmetad measures trials.csv --by model --quantiles 4 --interval -o page.html
hmetad measures answers.csv --by model --correct correct --quantiles 4
hmetad measures answers.csv --by model,set --correct correct --cluster item -o page.html
hmetad measures answers.csv --by model --correct correct --interval --cluster item
hmetad measures answers.csv --by model,set --correct correct --interval --cluster item \
  --draws 4000 -o draws.nc
hmetad measures answers.csv --by model --correct correct --interval --cluster item \
  --rope=-0.02,0.02 --fail-if "new worse than old"
"""


def measures(
    file: Trials,
    by: By = None,
    stimulus: Stimulus = "stimulus",
    response: Response = "response",
    confidence: Confidence = "confidence",
    correct: Correct = None,
    ratings: Ratings = None,
    levels: Levels = None,
    missing_codes: MissingCodes = None,
    quantiles: Quantiles = None,
    quantiles_within: QuantilesWithin = None,
    cluster: Cluster = None,
    over: Over = None,
    var: Var = "auroc2",
    rope: Rope = None,
    fail_if: FailIf = None,
    limit: Limit = None,
    labels: Labels = "",
    correction: Correction = "none",
    meta_d: MetaD = False,
    expected: Expected = False,
    meta_noise: MetaNoise = False,
    interval: Interval = False,
    method: Method = "percentile",
    draws: Draws = 1000,
    ci_prob: CiProb = 0.95,
    output: Output = None,
    seed: Seed = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Compute all measures that need no posterior.

    Confidence that is numbers, with --correct, is taken as it is; else trials are counted by
    rating.
    """
    chosen = chosen_format(print_as, as_json)
    path = output_path(output, file)
    within = split(quantiles_within)
    columns = [*([correct] if correct else [stimulus, response]), confidence]
    trials = scan_trials(file, by, limit, within, columns=columns, codes=missing_codes)
    trials = trials.spelled([cluster])
    counted: dict[str, Any] = {
        "stimulus": stimulus,
        "response": response,
        "confidence": confidence,
        "correct": correct,
        "ratings": ratings,
        "levels": split(levels) or None,
        "quantiles": quantiles,
        "quantiles_within": within,
        "labels": labels,
    }
    is_exact = has_exact_confidence(trials, counted)
    asked = Request(
        trials,
        by,
        counted,
        {
            "correction": correction,
            "meta_d": meta_d,
            "expected": expected,
            "meta_noise": meta_noise,
        },
        {"n": draws, "cluster": cluster, "seed": seed},
        ci_prob,
        method,
        {"over": over, "title": f"Measures of {file.name}"},
        is_exact,
        # A page of confidence as it is says which is best, which takes draws.
        has_draws=interval or (is_exact and path is not None and path.suffix in REPORTS),
    )
    refuse_without_draws(asked, path)
    gate = asked_gate(asked, fail_if, var, rope)
    measured = measured_trials(asked)
    answer = measures_answer(asked, measured)
    outcome = None
    if gate is not None and rope is not None:
        outcome = judge_gate(gate, decided(asked, measured, var, rope))
        answer = with_outcome(answer, gate, outcome)
    if path is not None:
        write(path, answer, asked, measured)
    give(answer, chosen, [] if path is None else [path])
    if outcome is not None:
        say(f"{outcome.word}: {outcome.sentence}")
        raise typer.Exit(outcome.status)


def output_path(output: Path | None, file: Path) -> Path | None:
    """Path to write, once it is sure that it can be written and is no input."""
    if output is None:
        return None
    path = writable_file(output, *DATA_FILES, *REPORTS, DRAWS_FILE)
    refuse_inputs(path, file)
    return path


def asked_gate(asked: Request, fail_if: str | None, var: str, rope: str | None) -> Gate | None:
    """Condition under which the command fails, where there are verdicts to see it by."""
    if fail_if is None:
        return None
    if asked.is_exact:
        refuse_aurc(var)
    gate = parse_gate(fail_if, var)
    if rope is None or not asked.has_draws or not asked.by:
        raise InputError("--fail-if", "it without verdicts", "--by, --interval and --rope")
    return gate


def measures_answer(asked: Request, measured: Measured) -> Answer:
    """Measures as an answer: a row for each cell, and how intervals were made."""
    rows = rows_of(hmetad.report.estimate_table(measured.result))
    shown = {name: title for name, title in columns(asked.is_exact).items() if name in rows[0]}
    listing = Listing(rows, shown, titled(asked, shown))
    found = [*hmetad.notices(measured.result), *measured.notices]
    if not asked.has_draws:
        return Answer((listing,), found)
    how = {"method": asked.method, "ci_prob": asked.ci_prob, "draws": asked.drawn["n"]}
    used = as_seed(measured.result.attrs["seed"])
    return Answer((listing,), found, used, more={"intervals": how})


def titled(asked: Request, shown: Mapping[str, str]) -> str:
    """Title of the table on a terminal, with what "from" and "to" are."""
    said = f"; from, to: {in_percent(asked.ci_prob)} interval" if "from" in shown.values() else ""
    return f"Measures; all of them by -o table.csv or --json{said}"


def decided(asked: Request, measured: Measured, var: str, rope: str) -> "Decisions":
    """Decisions on the levels of one column of cells, within those of the others."""
    names = list(parse_by(asked.by))
    over = asked.titled["over"] or names[0]
    within = [name for name in names if name != over]
    differences = hmetad.contrast(measured.draw(), var=var, over=over, within=within)
    return hmetad.decide(differences, rope=parse_limits(rope))


def write(path: Path, answer: Answer, asked: Request, measured: Measured) -> None:
    """Write the draws, the rows or a page, by the suffix of the path."""
    if path.suffix == DRAWS_FILE:
        hmetad.bayes.save_draws(measured.draw(), path)
    elif path.suffix in DATA_FILES:
        write_answer(answer, path)
    else:
        is_given = not asked.has_draws or asked.drawn["seed"] is not None
        seed = "" if is_given else f" --seed {measured.result.attrs['seed']}"
        measured.page(command=command_line() + seed).save(path)


def columns(is_exact: bool = False) -> dict[str, str]:
    """Columns that a terminal shows, and their headings."""
    if is_exact:
        ends = {"auroc2_lower": "from", "auroc2_upper": "to"}
        return {"cell": "cell"} | {
            name: ends.get(name) or column_name(name, "measure_trials") for name in EXACT[1:]
        }
    shown = {name: column_name(name) for name in ("cell", "trials", "share_right")}
    for result in results():
        if result.terminal:
            shown[result.name] = column_name(result.name)
        if result.terminal == "interval":
            shown |= {f"{result.name}_lower": "from", f"{result.name}_upper": "to"}
    return shown


def refuse_without_draws(asked: Request, path: Path | None) -> None:
    """Refuse what asks for draws, where none are made."""
    if asked.has_draws:
        return
    if asked.drawn["cluster"] is not None:
        raise InputError("--cluster", "it without --interval", "draws", "Add --interval.")
    if path is not None and path.suffix == DRAWS_FILE:
        raise InputError(
            "--output", f"{str(path)!r} without --interval", "draws", "Add --interval."
        )
