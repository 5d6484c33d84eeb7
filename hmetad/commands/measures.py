"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from collections.abc import Mapping, Sequence
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
    refuse_idle,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.compared import with_outcome
from hmetad.commands.counting import scan_trials
from hmetad.commands.draws import DRAWS_FILE
from hmetad.commands.gate import asked_gate, judge_gate
from hmetad.commands.measures_options import (
    Cluster,
    CommonItems,
    Correct,
    Correction,
    Draws,
    Expected,
    FailIf,
    FailUnless,
    Interval,
    MetaD,
    MetaNoise,
    Method,
    Missing,
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
    trials_of_common_items,
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
    import xarray as xr

    from hmetad.compare.decisions import Decisions

__all__ = ["EXAMPLES", "measures"]

# Columns of a terminal where confidence is numbers.
EXACT = (
    *("cell", "trials", "accuracy", "auroc2", "auroc2_lower", "auroc2_upper", "gamma_pairs"),
    *("aurc", "brier", "ece"),
)
EXAMPLES = """
hmetad measures trials.csv --by model,task --meta-d -o measures.csv
hmetad measures trials.csv --by model --quantiles 4 --interval -o page.html
hmetad measures answers.csv --by model --correct correct --quantiles 4
hmetad measures answers.csv --by model,set --correct correct --cluster item -o page.html
hmetad measures answers.csv --by model --correct correct --interval --cluster item
hmetad measures answers.csv --by model --correct correct --missing wrong
hmetad measures answers.csv --by model,set --correct correct --interval --cluster item \
  --draws 4000 -o draws.nc
hmetad measures answers.csv --by model --correct correct --interval --cluster item \
  --rope=-0.02,0.02 --fail-if "new worse than old"
"""


def measures(
    context: typer.Context,
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
    common_items: CommonItems = False,
    missing: Missing = "drop",
    var: Var = "auroc2",
    rope: Rope = None,
    fail_if: FailIf = None,
    fail_unless: FailUnless = None,
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
    choices = {"correct": correct} if correct else {"stimulus": stimulus, "response": response}
    columns = choices | {"confidence": confidence}
    coded: dict[str, Any] = {"codes": missing_codes, "labels": labels}
    trials = scan_trials(file, by, limit, within, columns=columns, **coded)
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
    refuse_missing(missing, is_exact, common_items)
    asked = Request(
        trials_of_common_items(trials, by, counted, cluster, over) if common_items else trials,
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
        missing,
        is_exact,
        # A page of confidence as it is says which is best, which takes draws.
        has_draws=interval or (is_exact and path is not None and path.suffix in REPORTS),
    )
    refuse_without_draws(asked, path)
    refuse_idle(context, **needs_of_options(asked, path, fail_if or fail_unless, common_items))
    are_judged = rope is not None and asked.has_draws and asked.by
    lacking = "" if are_judged else "--by, --interval and --rope"
    gate = asked_gate(fail_if, fail_unless, var, lacking=lacking)
    refuse_no_stimulus(trials.columns, counted)
    measured = measured_trials(asked)
    answer = measures_answer(asked, measured)
    outcome = None
    if gate is not None and rope is not None and measured.draws is not None:
        decisions = decided(asked, measured.draws, var, rope)
        outcome = judge_gate(gate, decisions, {"": measured.draws})
        answer = with_outcome(answer, gate, outcome)
    if path is not None:
        write(path, answer, asked, measured)
    give(answer, chosen, [] if path is None else [path])
    if outcome is not None:
        say(f"{outcome.word}: {outcome.sentence}")
        raise typer.Exit(outcome.status)


def refuse_no_stimulus(columns: Sequence[object], counted: Mapping[str, Any]) -> None:
    """Refuse trials that say right or wrong alone, where they are to have a stimulus."""
    has_some = {counted["stimulus"], counted["response"]} & {*columns}
    if counted["correct"] is None and not has_some and "correct" in columns:
        step = "Where trials say right or wrong alone: --correct correct."
        raise InputError("--stimulus", repr(counted["stimulus"]), "a column of the trials", step)


def output_path(output: Path | None, file: Path) -> Path | None:
    """Path to write, once it is sure that it can be written and is no input."""
    if output is None:
        return None
    path = writable_file(output, *DATA_FILES, *REPORTS, DRAWS_FILE)
    refuse_inputs(path, file)
    return path


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


def decided(asked: Request, draws: "xr.Dataset", var: str, rope: str) -> "Decisions":
    """Decisions on the levels of one column of cells, within those of the others."""
    names = list(parse_by(asked.by))
    over = asked.titled["over"] or names[0]
    within = [name for name in names if name != over]
    differences = hmetad.contrast(draws, var=var, over=over, within=within)
    return hmetad.decide(differences, rope=parse_limits(rope), ci_prob=asked.ci_prob)


def write(path: Path, answer: Answer, asked: Request, measured: Measured) -> None:
    """Write the draws, the rows or a page, by the suffix of the path."""
    if path.suffix == DRAWS_FILE and measured.draws is not None:
        hmetad.bayes.save_draws(measured.draws, path)
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


def refuse_missing(missing: str, is_exact: bool, common_items: bool) -> None:
    """Refuse to count as wrong what ratings leave out, or what is left out for all."""
    if missing == "drop":
        return
    if common_items:
        raise InputError("--common-items", "it beside --missing wrong", "one of the two")
    if not is_exact:
        step = "Give confidence as numbers with --correct, without --quantiles and --ratings."
        raise InputError("--missing", "'wrong' with ratings", "'drop'", step)


def needs_of_options(
    asked: Request, path: Path | None, condition: str | None, has_common_items: bool
) -> dict[str, str]:
    """What options would need to have an effect; empty for those that have one."""
    has_page = asked.has_draws and path is not None and path.suffix in REPORTS
    # Levels that are compared share items, of which trials as they are say the coverage.
    is_compared = has_page or condition or asked.is_exact or has_common_items
    of_gate = "" if condition else "it beside --fail-if or --fail-unless"
    of_draws = "" if asked.has_draws else "it beside --interval"
    of_stimulus = "it without --correct" if asked.counted["correct"] is not None else ""
    return {
        **dict.fromkeys(("var", "rope"), of_gate),
        **dict.fromkeys(("method", "draws", "seed"), of_draws),
        **dict.fromkeys(("stimulus", "response", "labels", "correction"), of_stimulus),
        "ci_prob": "" if asked.is_exact else of_draws,
        "over": "" if is_compared else "it beside a page of intervals, or a condition",
        "quantiles_within": "" if asked.counted["quantiles"] else "it beside --quantiles",
    }


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
