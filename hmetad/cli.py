"""The command line: parse, call, write.

Arguments → calls of the public functions → files, a table on the terminal, or JSON.
Bad input ends in one line on standard error and exit status 2, an interrupt in 130.
"""

import json
import os
import shlex
import signal
import sys
import threading
import warnings
from functools import partial
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.exceptions import TyperException

import hmetad
from hmetad.arguments import (
    columns_of,
    given,
    parse_by,
    parse_correction,
    parse_formulas,
    parse_grades,
    parse_level,
    parse_limits,
    parse_pairs,
    parse_scale,
    parse_words,
    split,
    writable_file,
    writable_folder,
)
from hmetad.bayes.spec import card_names, load_model
from hmetad.errors import InputError, nearest
from hmetad.report.files import write_together
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
# Those of `read_log`; by hand, since to ask it would take a second.
KINDS = ("lm-eval", "inspect", "table")
REPORTS = (".html", ".md", ".tex")
MEASURED = {
    "cell": "cell",
    "trials": "trials",
    "share_right": "right",
    "dprime": "d′",
    "c": "c",
    "meta_d": "meta-d′",
    "m_ratio": "M-ratio",
    "m_ratio_lower": "from",
    "m_ratio_upper": "to",
    "auroc2": "AUROC2",
    "auroc2_lower": "from",
    "auroc2_upper": "to",
    "gamma_trapezoid": "G_trap",
    "rmi": "RMI",
    "rmi_lower": "from",
    "rmi_upper": "to",
}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Draws = Annotated[int | None, typer.Option(min=4, help="Posterior draws of each chain.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Same seed, same draws (same versions and caches).")
]
Kind = Literal["difference", "log_ratio"]
IntervalKind = Literal["eti", "hdi"]
IntervalMethod = Literal["percentile", "basic", "bca"]
Names = Annotated[
    list[str] | None, typer.Option(help="Columns, parted by commas; may be repeated.")
]
Quantiles = Annotated[
    int | None, typer.Option(help="Make so many ratings of confidence that is no rating yet.")
]
By = Annotated[
    list[str] | None, typer.Option(help="Columns, parted by commas; subject=column renames one.")
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
    data: Annotated[
        Path | None, typer.Option(help="What the authors deposited, where a study takes it.")
    ] = None,
    seed: Seed = 1,
    draws: Draws = None,
    as_json: AsJson = False,
) -> int:
    """Reproduce a paper: fit, and put every printed number beside ours.

    Exit status 0 if every number agrees or its difference is explained, else 1.
    """
    check_study(study)
    folder = writable_folder(out)
    chosen = given(seed=seed, draws=draws, data=data)
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
    by: By = None,
    covariates: Names = None,
    stimulus: str = "stimulus",
    response: str = "response",
    confidence: str = "confidence",
    ratings: Annotated[int | None, typer.Option(help="Number of confidence ratings, K.")] = None,
    quantiles: Quantiles = None,
    labels: Annotated[str, typer.Option(help="Labels of S1 and S2, parted by a comma.")] = "",
    model: Annotated[str, typer.Option(help="Model card, by name or path.")] = "individual",
    formula: Annotated[
        list[str] | None,
        typer.Option(help="Formula of M, or parameter=formula; may be repeated."),
    ] = None,
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
    columns = parse_by(by)
    trials = hmetad.read_table(file, text=columns_of(columns))
    if quantiles is not None:
        trials = with_ratings(trials, confidence, quantiles)
    counts = hmetad.count_trials(
        trials,
        by=columns,
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
    result = hmetad.fit(counts, spec, formula=parse_formulas(formula), **options)
    hmetad.save_fit(result, path)
    estimates = records(hmetad.estimate_frame(result))
    if as_json:
        print_json(estimates)
    else:
        title = f"{spec.title}: posterior means, 95 % intervals of M-ratio"
        print_table(estimates, ESTIMATES, title)
    say_notices(result)
    say(f"Written: {path}")


@app.command("import")
def import_log(
    kind: Annotated[str, typer.Argument(help="lm-eval, inspect, table or dataset.")],
    source: Annotated[
        Path, typer.Argument(metavar="PATH", help="A log, a folder of them, or a data set's name.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Trials: .csv.")],
    ratings: Annotated[
        int | None, typer.Option(help="Add a column `rating` of so many quantiles of confidence.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Task to read, of several.")] = None,
    runs: Annotated[str | None, typer.Option(help="lm-eval: latest or all.")] = None,
    answer_filter: Annotated[str | None, typer.Option(help="lm-eval: filter of answers.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="lm-eval: metric that says what is right.")
    ] = None,
    normalise: Annotated[
        str | None, typer.Option(help="lm-eval: none, characters or bytes of an option.")
    ] = None,
    scorer: Annotated[str | None, typer.Option(help="Inspect: scorer, or scorer/part.")] = None,
    grades: Annotated[
        list[str] | None, typer.Option(help="Inspect: grades that are right, P=false,N=false.")
    ] = None,
    confidence_from: Annotated[
        str | None,
        typer.Option(help="Inspect: completion, score, metadata, store or logprobs."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Score from which on it is right.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="Table: name=column, parted by commas.")
    ] = None,
    wide: Annotated[
        list[str] | None, typer.Option(help="Table with a row per item: correct={model}_ok.")
    ] = None,
    keep: Names = None,
    field: Annotated[str | None, typer.Option(help="Field that states confidence.")] = None,
    pattern: Annotated[str | None, typer.Option(help="Regular expression, one group.")] = None,
    words: Annotated[list[str] | None, typer.Option(help="very likely=0.9,unsure=0.5")] = None,
    scale: Annotated[
        str | None, typer.Option(help="probability, percent, its top (10), or both ends (1,7).")
    ] = None,
) -> None:
    """Read an evaluation log, or fetch a public data set, and write its trials as a table."""
    path = writable_file(output, ".csv")
    options = given(
        task=task,
        runs=runs,
        answer_filter=answer_filter,
        metric=metric,
        normalise=normalise,
        scorer=scorer,
        grades=parse_grades(grades),
        source=confidence_from,
        threshold=threshold,
        columns=parse_pairs("--columns", columns),
        wide=parse_pairs("--wide", wide),
        keep=split(keep) or None,
        field=field,
        pattern=pattern,
        words=parse_words(words),
        scale=parse_scale(scale),
    )
    if kind == "dataset":
        refuse_options(options)
        trials = hmetad.datasets.load_trials(str(source))
    elif kind in KINDS:
        trials = hmetad.read_log(kind, source, **options)
    else:
        raise InputError("kind", repr(kind), f"one of {', '.join([*KINDS, 'dataset'])}")
    for name in ("rejected", "duplicates", "unfinished", "examples"):
        if trials.attrs.get(name):
            say(f"{name}: {json.dumps(trials.attrs[name], ensure_ascii=False)}")
    if ratings is not None:
        trials["rating"] = rated(trials["confidence"], ratings)
    write_together({path: trials_csv(trials).encode()})
    say(f"Written: {path}, {len(trials)} trials")


@app.command()
def measures(
    file: Annotated[Path, typer.Argument(help="Trials: .csv, .tsv, .jsonl or .parquet.")],
    by: By = None,
    stimulus: str = "stimulus",
    response: str = "response",
    confidence: str = "confidence",
    correct: Annotated[
        str | None, typer.Option(help="Column of right and wrong, where there is no stimulus.")
    ] = None,
    ratings: Annotated[int | None, typer.Option(help="Number of confidence ratings, K.")] = None,
    quantiles: Quantiles = None,
    labels: Annotated[str, typer.Option(help="Labels of S1 and S2, parted by a comma.")] = "",
    correction: Annotated[str, typer.Option(help="none, loglinear, cell or a number.")] = "none",
    meta_d: Annotated[bool, typer.Option("--meta-d", help="meta-d′ by likelihood too.")] = False,
    interval: Annotated[bool, typer.Option("--interval", help="Bootstrap intervals.")] = False,
    method: Annotated[
        IntervalMethod, typer.Option(help="Of intervals; basic suits the information measures.")
    ] = "percentile",
    draws: Annotated[int, typer.Option(min=10, help="Bootstrap draws of each cell.")] = 1000,
    ci_prob: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.95,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table: .csv. Report: .html, .md, .tex."),
    ] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Count trials, and write every measure that needs no sampling."""
    path = None if output is None else writable_file(output, ".csv", *REPORTS)
    columns = parse_by(by)
    trials = hmetad.read_table(file, text=columns_of(columns))
    if quantiles is not None:
        trials = with_ratings(trials, confidence, quantiles)
    if correct is None:
        counts = hmetad.count_trials(
            trials,
            by=columns,
            stimulus=stimulus,
            response=response,
            confidence=confidence,
            ratings=ratings,
            labels=split([labels]) or None,
        )
    else:
        counts = hmetad.count_correct(
            trials, by=columns, correct=correct, confidence=confidence, ratings=ratings
        )
    statistic = partial(
        hmetad.measure_all,
        correction=parse_correction(correction),
        meta_d=meta_d,
        errors=not interval,
    )
    again = command_line()
    if interval:
        result = hmetad.resample_interval(
            counts, statistic, n=draws, ci_prob=ci_prob, method=method, seed=seed
        )
        again += "" if seed is not None else f" --seed {result.attrs['seed']}"
    else:
        result = statistic(counts)
    frame = hmetad.measure_frame(result)
    rows = records(frame)
    if path is not None and path.suffix == ".csv":
        write_together({path: frame.to_csv(index=False).encode()})
    elif path is not None:
        title = f"Measures of {file.name}"
        hmetad.measures_report(counts, result, title=title, command=again).save(path)
    if as_json:
        print_json(rows)
    else:
        shown = {name: heading for name, heading in MEASURED.items() if name in rows[0]}
        print_table(rows, shown, "Measures; all of them by -o table.csv or --json")
    say_notices(result)
    if path is not None:
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
    path = None if output is None else writable_file(output, *REPORTS)
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
        hmetad.fit_report(result, decisions, command=command_line()).save(path)
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
def report(
    file: Annotated[Path, typer.Argument(help="A fit, a folder of draws, or a folder of fits.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Report: .html, .md or .tex.")],
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    question: Annotated[str, typer.Option(help="What the page answers.")] = "",
) -> None:
    """Write the report of a fit, or of all fits (.nc) in a folder."""
    path = writable_file(output, *REPORTS)
    fits = sorted(file.glob("*.nc")) if file.is_dir() else []
    if not fits:
        result = hmetad.load_fit(file)
        page = hmetad.fit_report(result, title=title, question=question, command=command_line())
    else:
        pages = {one.stem: hmetad.fit_report(hmetad.load_fit(one)) for one in fits}
        page = hmetad.combine_reports(title or f"Fits in {file.name}", pages)
    page.save(path)
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


def rated(confidence: Any, ratings: int) -> Any:
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


def with_ratings(trials: Any, confidence: str, ratings: int) -> Any:
    """Trials whose column of confidence holds ratings, by its quantiles over all trials."""
    if confidence not in trials:
        step = nearest(confidence, trials.columns)
        raise InputError("--confidence", repr(confidence), "a column of the trials", step)
    return trials.assign(**{confidence: rated(trials[confidence], ratings)})


def refuse_options(options: dict[str, Any]) -> None:
    """Refuse options of logs where a data set is fetched."""
    for name in options:
        raise InputError(f"--{name.replace('_', '-')}", "an option", "none for a data set")


def trials_csv(trials: Any) -> str:
    """Trials as CSV; a list in a column becomes JSON."""
    plain = {
        name: [json.dumps(value) if isinstance(value, list) else value for value in column]
        for name, column in trials.items()
        if column.map(lambda value: isinstance(value, list)).any()
    }
    text: str = trials.assign(**plain).to_csv(index=False)
    return text


def command_line() -> str:
    """What was typed, for the report that comes of it."""
    return shlex.join(["hmetad", *sys.argv[1:]])


def records(frame: Any) -> list[dict[str, Any]]:
    """Rows of a data frame."""
    rows: list[dict[str, Any]] = frame.to_dict("records")
    return rows
