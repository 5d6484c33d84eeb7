"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    parse_correction,
    parse_limits,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.compared import with_outcome
from hmetad.commands.counting import are_numbers, count_scanned, scan_trials
from hmetad.commands.draws import DRAWS_FILE
from hmetad.commands.gate import judge_gate, parse_gate
from hmetad.commands.options import (
    AsJson,
    By,
    CiProb,
    Confidence,
    Labels,
    Limit,
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
from hmetad.text.names import column_name

if TYPE_CHECKING:
    from hmetad.notice import Notice
    from hmetad.rows.rows import Rows

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
    correct: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with right or wrong, where there is no stimulus."
        ),
    ] = None,
    ratings: Ratings = None,
    quantiles: Quantiles = None,
    quantiles_within: QuantilesWithin = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Of intervals: draw these whole, such as item or subject."
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of --by whose levels a page or --fail-if compares; by default its first.",
        ),
    ] = None,
    var: Annotated[
        str, typer.Option(metavar="NAME", help="Of --fail-if: the measure, such as auroc2.")
    ] = "auroc2",
    rope: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Of --fail-if: differences that are negligible."),
    ] = None,
    fail_if: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help='With --interval, such as "new worse than old": the exit status is 1 where a '
            "verdict shows it, 3 where there is no verdict, else 0.",
        ),
    ] = None,
    limit: Limit = None,
    labels: Labels = "",
    correction: Annotated[
        str, typer.Option(metavar="NAME", help="none, loglinear, cell or a number.")
    ] = "none",
    meta_d: Annotated[
        bool, typer.Option("--meta-d", help="Add meta-d′ by maximum likelihood.")
    ] = False,
    expected: Annotated[
        bool,
        typer.Option("--expected", help="Add what signal detection expects of type-2 measures."),
    ] = False,
    meta_noise: Annotated[
        bool,
        typer.Option("--meta-noise", help="Add meta noise and meta-uncertainty (lognormal model)."),
    ] = False,
    interval: Annotated[bool, typer.Option("--interval", help="Bootstrap intervals.")] = False,
    method: Annotated[
        Literal["percentile", "basic", "bca"],
        typer.Option(
            metavar="NAME",
            help="Of intervals: percentile, basic (suits the information measures) or bca.",
        ),
    ] = "percentile",
    draws: Annotated[
        int, typer.Option(min=10, metavar="N", help="Bootstrap draws of each cell.")
    ] = 1000,
    ci_prob: CiProb = 0.95,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Rows: .csv, .json. Report: .html, .md, .tex, .docx. Draws, for hmetad compare: "
            ".nc, with --interval.",
        ),
    ] = None,
    seed: Seed = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Compute all measures that need no posterior.

    Confidence that is numbers, with --correct, is taken as it is; else trials are counted by
    rating.
    """
    chosen = chosen_format(print_as, as_json)
    path = None if output is None else writable_file(output, *DATA_FILES, *REPORTS, DRAWS_FILE)
    if path is not None:
        refuse_inputs(path, file)
    is_page = path is not None and path.suffix in REPORTS
    trials = scan_trials(file, by, limit, split(quantiles_within))
    is_exact = (
        correct is not None
        and quantiles is None
        and ratings is None
        and are_numbers(trials, confidence)
    )
    # A page of confidence as it is says which is best, which takes draws.
    has_draws = interval or (is_exact and is_page)
    if not has_draws:
        refuse_without_draws(cluster, path)
    gate = None if fail_if is None else parse_gate(fail_if, var)
    if gate is not None and (rope is None or not has_draws or not by):
        raise InputError("--fail-if", "it without verdicts", "--by, --interval and --rope")
    drawn: dict[str, Any] = {"n": draws, "cluster": cluster, "seed": seed}
    titled: dict[str, Any] = {"over": over, "title": f"Measures of {file.name}"}
    if is_exact:
        refuse_with_numbers(
            meta_d=meta_d,
            expected=expected,
            meta_noise=meta_noise,
            method=method != "percentile",
        )
        asked: dict[str, Any] = {"by": parse_by(by), "correct": correct, "confidence": confidence}
        resampled = partial(hmetad.measures.resample_trials, trials, **asked)
        result = (
            hmetad.measures.resample_trials_interval(trials, **asked, **drawn, ci_prob=ci_prob)
            if has_draws
            else hmetad.measures.measure_trials(trials, **asked, ci_prob=ci_prob)
        )
        page = partial(hmetad.report.measures_report, trials, **asked, **titled, ci_prob=ci_prob)
        found = []
    else:
        named: dict[str, Any] = {
            "stimulus": stimulus,
            "response": response,
            "confidence": confidence,
            "correct": correct,
            "ratings": ratings,
            "quantiles": quantiles,
            "quantiles_within": split(quantiles_within),
            "labels": labels,
        }
        counts = count_scanned(trials, by=[*(by or []), *([cluster] if cluster else [])], **named)
        statistic = partial(
            hmetad.measure,
            correction=parse_correction(correction),
            meta_d=meta_d,
            expected=expected,
            meta_noise=meta_noise,
            errors=not interval,
        )
        resampled = partial(hmetad.resample, counts, statistic)
        result = (
            hmetad.resample_interval(counts, statistic, **drawn, ci_prob=ci_prob, method=method)
            if interval
            else statistic(counts)
        )
        found = repeats(trials, parse_by(by), cluster) if interval else []
        # Of units drawn whole the counts are those of all of them.
        pooled = counts if cluster is None else count_scanned(trials, by=by, **named)
        page = partial(hmetad.report.measures_report, pooled, result, **titled, notices=found)
    again = command_line()
    if has_draws:
        again += f" --seed {result.attrs['seed']}" if seed is None else ""
        drawn["seed"] = as_seed(result.attrs["seed"])
    if path is not None and path.suffix == DRAWS_FILE:
        hmetad.bayes.save_draws(resampled(**drawn), path)
    rows = rows_of(hmetad.report.estimate_table(result))
    shown = {name: title for name, title in columns(is_exact).items() if name in rows[0]}
    listing = Listing(rows, shown, "Measures; all of them by -o table.csv or --json")
    intervals = {"method": method, "ci_prob": ci_prob, "draws": draws}
    said = {"intervals": intervals} if has_draws else {}
    used = drawn["seed"] if has_draws else None
    answer = Answer((listing,), [*hmetad.notices(result), *found], used, more=said)
    outcome = None
    if gate is not None and rope is not None:
        columns_of_cells = list(parse_by(by))
        compared = over or columns_of_cells[0]
        within = [name for name in columns_of_cells if name != compared]
        differences = hmetad.contrast(resampled(**drawn), var=var, over=compared, within=within)
        outcome = judge_gate(gate, hmetad.decide(differences, rope=parse_limits(rope)))
        answer = with_outcome(answer, gate, outcome)
    if path is not None and path.suffix in DATA_FILES:
        write_answer(answer, path)
    elif path is not None and is_page:
        more: dict[str, Any] = drawn if is_exact else {}
        if interval and not is_exact:
            more = {"draws": resampled(**drawn)}
        page(command=again, **more).save(path)
    give(answer, chosen, [] if path is None else [path])
    if outcome is not None:
        say(f"{outcome.word}: {outcome.sentence}")
        raise typer.Exit(outcome.status)


def repeats(trials: "Rows", by: Any, cluster: str | None) -> "list[Notice]":
    """Notice of items that come again, where the intervals of counts take trials as independent."""
    return hmetad.measures.repeated_items(trials, by=by, cluster=cluster)


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


def refuse_without_draws(cluster: str | None, path: Path | None) -> None:
    """Refuse what asks for draws, where none are made."""
    if cluster is not None:
        raise InputError("--cluster", "it without --interval", "draws", "Add --interval.")
    if path is not None and path.suffix == DRAWS_FILE:
        raise InputError(
            "--output", f"{str(path)!r} without --interval", "draws", "Add --interval."
        )


def refuse_with_numbers(**asked: bool) -> None:
    """Refuse what needs ratings, where confidence is numbers."""
    for name, value in asked.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            step = "Make ratings: --quantiles 4."
            raise InputError(option, "confidence that is no rating", "ratings", step)
