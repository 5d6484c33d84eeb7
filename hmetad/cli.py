"""The command line: parse, call, write.

Arguments → calls of the public functions → files, a table on the terminal, or JSON.
Bad input ends in one line on standard error and exit status 2, an interrupt in 130.
"""

import os
import shlex
import signal
import sys
import tempfile
import threading
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.exceptions import TyperException

import hmetad
from hmetad.bayes.spec import card_names, load_model
from hmetad.errors import InputError, nearest
from hmetad.report.terminal import print_json, print_table, say
from hmetad.studies.run import STUDIES, check_study
from hmetad.studies.run import reproduce as run_study

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)

USAGE, INTERRUPTED = 2, 130
INTERRUPTED_SAID = "interrupted; nothing was written"
GRACE_SECONDS = 10
ESTIMATES = {
    "cell": "cell",
    "dprime": "d′",
    "c": "c",
    "meta_d": "meta-d′",
    "m_ratio": "M-ratio",
    "m_ratio_lower": "lower",
    "m_ratio_upper": "upper",
}
DECISIONS = {
    "label": "contrast",
    "mean": "mean",
    "lower": "lower",
    "upper": "upper",
    "p_direction": "P(dir.)",
    "in_rope": "in ROPE",
    "statistical": "excludes null",
    "verdict": "verdict",
}
COMPARED = {
    "table": "table",
    "row": "row",
    "quantity": "quantity",
    "printed": "in print",
    "ours": "here",
}
MOST_ROWS = 40

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Draws = Annotated[int | None, typer.Option(min=4, help="Posterior draws of each chain.")]
Seed = Annotated[int | None, typer.Option(min=0, help="The same seed gives the same draws.")]
Kind = Literal["difference", "log_ratio"]
IntervalKind = Literal["eti", "hdi"]
Names = Annotated[
    list[str] | None, typer.Option(help="Columns, parted by commas; may be repeated.")
]


def main() -> NoReturn:
    """Run the command line, and turn what a user can mend into one line."""
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = end_if_interrupted
    try:
        status = app(standalone_mode=False)
    except (InputError, TyperException) as error:
        fail(error.format_message() if isinstance(error, TyperException) else str(error), USAGE)
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing may be flushed there any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(f"{error.filename or 'file'}: {error.strerror or error}", USAGE)
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:
        fail(INTERRUPTED_SAID, INTERRUPTED)
    sys.exit(status)


def interrupt(*_: object) -> NoReturn:
    """Raise KeyboardInterrupt, and make sure of the end: compiled callbacks may swallow it."""
    last_resort = threading.Timer(GRACE_SECONDS, end_at_once)
    last_resort.daemon = True
    last_resort.start()
    raise KeyboardInterrupt


def end_if_interrupted(unraisable: Any) -> None:
    """End where a compiled callback could not pass the interrupt on."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        end_at_once()
    sys.__unraisablehook__(unraisable)


def end_at_once() -> None:
    """End without unwinding; files are written beside and renamed, so none is half-written."""
    say(f"hmetad: {INTERRUPTED_SAID}")
    os._exit(INTERRUPTED)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Metacognitive efficiency (meta-d′, M-ratio) from counts to a decision report."""
    if version:
        print(distribution_version("hmetad"))
        raise typer.Exit


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help=f"One of: {', '.join(STUDIES)}.")],
    out: Annotated[Path, typer.Option(help="Folder for comparison.csv and report.html.")] = Path(
        "results"
    ),
    seed: Seed = 1,
    draws: Draws = None,
    as_json: AsJson = False,
) -> int:
    """Reproduce a paper: fit, and put every printed number beside ours.

    Exit status 0 if every number agrees or its difference is explained, else 1.
    """
    check_study(study)
    folder = writable_folder(out)
    chosen = given(seed=seed, draws=draws)
    comparison = run_study(study, folder, **chosen, **sampling_options())
    reproduced = bool((comparison["agrees"] | (comparison["note"] != "")).all())
    if as_json:
        print_json(records(comparison))
    else:
        print_comparison(records(comparison), folder)
    return 0 if reproduced else 1


@app.command()
def fit(
    file: Annotated[Path, typer.Argument(help="Trials: .csv, .tsv, .jsonl or .parquet.")],
    by: Names = None,
    covariates: Names = None,
    stimulus: str = "stimulus",
    response: str = "response",
    confidence: str = "confidence",
    ratings: Annotated[int | None, typer.Option(help="Number of confidence ratings, K.")] = None,
    labels: Annotated[str, typer.Option(help="Labels of S1 and S2, parted by a comma.")] = "",
    model: Annotated[str, typer.Option(help="Model card, by name or path.")] = "individual",
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the fit.")] = Path(
        "fit.nc"
    ),
    seed: Seed = None,
    draws: Draws = None,
    as_json: AsJson = False,
) -> None:
    """Count trials, fit a model card, and write the posterior."""
    path = writable_file(output, ".nc")
    spec = load_model(model)
    counts = hmetad.count_trials(
        hmetad.read_table(file, text=split(by)),
        by=split(by),
        covariates=split(covariates),
        stimulus=stimulus,
        response=response,
        confidence=confidence,
        ratings=ratings,
        labels=split([labels]) or None,
    )
    options = (
        sampling_options() | {"random_seed": seed} | ({} if draws is None else {"draws": draws})
    )
    result = hmetad.fit(counts, spec, **options)
    hmetad.save_fit(result, path)
    estimates = records(hmetad.estimate_frame(result))
    if as_json:
        print_json(estimates)
    else:
        title = f"{spec.title}: posterior means, 95 % intervals of M-ratio"
        print_table(estimates, ESTIMATES, title)
    say_notices(result)
    say(f"Written: {path}")


@app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="A fit, as `hmetad fit` writes it.")],
    over: Annotated[str, typer.Option(help="Coordinate whose levels are compared.")],
    rope: Annotated[str, typer.Option(help="Limits of practical equivalence: --rope=-0.05,0.05.")],
    var: Annotated[str, typer.Option(help="Quantity to compare.")] = "log_m",
    within: Names = None,
    against: Annotated[str | None, typer.Option(help="Level to compare all others with.")] = None,
    kind: Annotated[Kind, typer.Option(help="difference: left − right.")] = "difference",
    null: Annotated[float, typer.Option(help="Value of no effect.")] = 0.0,
    ci_prob: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.95,
    ci_kind: Annotated[IntervalKind, typer.Option(help="Kind of the intervals.")] = "eti",
    bonferroni: Annotated[bool, typer.Option(help="Correct for the number of contrasts.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Report: .html, .md or .tex.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare cells of a fit, and judge each difference against a ROPE."""
    limits = parse_limits(rope)
    path = None if output is None else writable_file(output, ".html", ".md", ".tex")
    result = hmetad.load_fit(file)
    level = parse_level(result, over, against)
    draws = hmetad.contrast(
        result, var=var, over=over, within=split(within), against=level, kind=kind
    )
    decisions = hmetad.decide(
        draws,
        rope=limits,
        null=null,
        ci_prob=ci_prob,
        ci_kind=ci_kind,
        comparisons=draws.sizes["pair"] if bonferroni else 1,
    )
    if path is not None:
        command = shlex.join(["hmetad", *sys.argv[1:]])
        hmetad.decision_report(result, decisions, command=command).save(path)
    rows = records(decisions.table())
    if as_json:
        print_json(rows)
    else:
        title = f"{kind} in {var}; ROPE {limits[0]:g} to {limits[1]:g}"
        print_table(rows, DECISIONS, title)
    say_notices(result)
    if path is not None:
        say(f"Written: {path}")


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the model cards."""
    cards = [
        {"model": spec.name, "title": spec.title, "question": spec.question}
        for spec in map(load_model, card_names())
    ]
    if as_json:
        print_json(cards)
    else:
        print_table(cards, {"model": "model", "title": "title", "question": "question"})


def fail(message: str, status: int) -> NoReturn:
    """End with one line on standard error."""
    if message:
        say("hmetad: " + " ".join(message.split()))
    sys.exit(status)


def print_comparison(rows: list[dict[str, Any]], folder: Path) -> None:
    """Print numbers side by side, then what disagrees, then where everything is."""
    agreeing = sum(row["agrees"] for row in rows)
    numbers = [row for row in rows if not isinstance(row["printed"], str)]
    print_table(numbers[:MOST_ROWS], COMPARED, "In print and here")
    if len(numbers) > MOST_ROWS:
        say(f"{len(numbers) - MOST_ROWS} more numbers are in comparison.csv.")
    differing = [row for row in rows if not row["agrees"]]
    for row in differing:
        for side in ("printed", "ours"):
            row[side] = row[side] if isinstance(row[side], str) else f"{row[side]:.5g}"
    if differing:
        print_table(differing, COMPARED | {"note": "why"}, "Disagreements")
    say(f"{agreeing} of {len(rows)} printed numbers and decisions agree.")
    say(f"Written: {folder / 'comparison.csv'}, {folder / 'report.html'}")


def say_notices(result: Any) -> None:
    """Notices of a result, one line each."""
    for notice in hmetad.notices(result):
        say(str(notice))


def sampling_options() -> dict[str, Any]:
    """Progress on a terminal, silence in a pipe."""
    shows_progress = sys.stderr.isatty()
    return {"progressbar": shows_progress, "quiet": not shows_progress}


def given(**options: Any) -> dict[str, Any]:
    """Options that were given; the others keep their defaults."""
    return {name: value for name, value in options.items() if value is not None}


def records(frame: Any) -> list[dict[str, Any]]:
    """Rows of a data frame."""
    rows: list[dict[str, Any]] = frame.to_dict("records")
    return rows


def split(names: list[str] | None) -> list[str]:
    """Names parted by commas, in one option or several."""
    return [name.strip() for part in names or () for name in part.split(",") if name.strip()]


def parse_limits(rope: str) -> tuple[float, float]:
    """Two numbers parted by a comma, the lower first."""
    try:
        lower, upper = map(float, rope.split(","))
    except ValueError as error:
        raise InputError("--rope", repr(rope), "two numbers", "Write --rope=-0.05,0.05.") from error
    if not lower < upper:
        step = f"Write --rope={upper:g},{lower:g}." if upper < lower else ""
        raise InputError("--rope", f"{lower:g},{upper:g}", "lower,upper with lower < upper", step)
    return lower, upper


def parse_level(result: Any, over: str, against: str | None) -> Any:
    """Level of a coordinate, in the type that the coordinate has."""
    cells = result["posterior"].to_dataset()
    if against is None or over not in cells.coords:
        return against
    levels = {str(level): level for level in cells[over].values.tolist()}
    if against not in levels:
        raise InputError("--against", repr(against), f"a level of {over}", nearest(against, levels))
    return levels[against]


def writable_file(path: Path, *suffixes: str) -> Path:
    """Path of an output, checked before the work begins."""
    if path.suffix not in suffixes:
        allowed = ", ".join(suffixes)
        raise InputError("--output", repr(str(path)), f"a name that ends in {allowed}")
    if path.is_dir():
        raise InputError("--output", f"the folder {str(path)!r}", "a file")
    if not path.parent.is_dir():
        raise InputError("--output", repr(str(path)), "a file in a folder that exists")
    writable_folder(path.parent)
    return path


def writable_folder(folder: Path) -> Path:
    """Folder that takes files, or could be made; nothing is made yet."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return folder
    except OSError as error:
        got = f"{str(folder)!r} ({error.strerror or type(error).__name__})"
        raise InputError("output folder", got, "a folder that can be written to") from error
