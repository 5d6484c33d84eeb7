"""The command about judges: verdicts of models, classifiers and other graders on outputs.

File of outputs with verdicts, some with a human label → d′, c, pass rates and decisions.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

import hmetad
from hmetad.base.errors import EmptyError, NeedError
from hmetad.base.lazy import import_on_call
from hmetad.commands.answer import (
    DATA_FILES,
    REPORTS,
    Answer,
    Listing,
    Output,
    PrintOptions,
    command_line,
    output_file,
    rows_of,
)
from hmetad.commands.fits import DRAWS_FILE
from hmetad.commands.options import Seed, options_named, parse_correction, parse_limits
from hmetad.commands.trials import cell_heading, columns_of, parse_by
from hmetad.compare.words import headings
from hmetad.text.names import column_name

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.compare.decisions import Decisions

rate_intervals: Callable[..., Any] = import_on_call(
    "hmetad.report.contents.judge_report", "rate_intervals"
)
Design = Literal["random", "by_rating", "known", "elsewhere"]
SHOWN = ("verdict_rate", "hit_rate", "false_alarm_rate", "dprime", "c", "auroc", "r2_ratings")
# What is resampled for comparisons.
COMPARED = ("dprime", "c")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(PrintOptions):
    """Outputs with verdicts, and what is asked of them.

    Parameters
    ----------
    file : FILE
        One row per output and judge: .csv, .tsv, .jsonl or .parquet; a folder of them; or a quoted
        pattern.
    by : COLUMNS
        Columns that define the cells, one estimate each: judge, or judge,domain. The levels of the
        first are compared.
    label : COLUMN
        Human label, two values; empty where an output has none.
    verdict : COLUMN
        Verdict of the judge, two values. May be omitted with --score and --threshold.
    score : COLUMN
        Score of the judge, larger for better outputs.
    threshold : X
        An output passes if its score is at least this.
    good : VALUES
        Values that mean good, if they are no usual words such as 1, pass or yes.
    ratings : K
        Ratings of each verdict, quantiles of the score. Default: 4, or the grades.
    cluster : COLUMN
        Items: outputs of an item belong together, and judges of the same items are paired.
    labels : DESIGN
        How outputs were chosen to be labelled, for --pass-rate: random, by_rating, known (see
        --label-probability), or elsewhere, such as other outputs or as many of each class.
    label_probability : COLUMN
        Probability with which an output was chosen, for --labels known.
    pass_rate : flag
        Add the pass rate behind the verdicts.
    correction : NAME
        Correction of d′ and c in the table, for rates of 0 and 1: none, loglinear, cell, or a
        number that is added to each count. Comparisons have none.
    against : LEVEL
        Compare all other levels with this one. Default: all pairs.
    rope : LOW,HIGH
        Differences in d′, and in c, that you call negligible: --rope=-0.1,0.1. Judges are compared.
    rate_rope : LOW,HIGH
        The same of pass rates: --rate-rope=-0.02,0.02.
    draws : N
        Draws of intervals and comparisons.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx. Draws for hmetad compare: .nc.
    """

    file: Annotated[Path, typer.Argument()]
    by: tuple[str, ...] = ()
    label: str
    verdict: str | None = None
    score: str | None = None
    threshold: float | None = None
    good: tuple[str, ...] = ()
    ratings: Annotated[int | None, typer.Option(min=1)] = None
    cluster: str | None = None
    labels: Design | None = None
    label_probability: str | None = None
    pass_rate: bool = False
    correction: str = "none"
    against: str | None = None
    rope: str | None = None
    rate_rope: str | None = None
    ci_prob: float = 0.95
    draws: Annotated[int, typer.Option(min=10)] = 2000
    seed: Seed = None
    output: Output = None


def judge(asked: JudgeOptions) -> None:
    r"""Measure judges of outputs: how well they tell good from bad, strictness, pass rates.

    Examples
    --------
    hmetad judge answers.csv --label human --verdict verdict --by judge --cluster item
    hmetad judge answers.csv --label human --verdict verdict --score score --by judge \
      --cluster item --labels random --pass-rate -o page.html
    hmetad judge answers.csv --label human --verdict verdict --by judge --cluster item \
      --against old --rope=-0.1,0.1 -o page.html
    hmetad judge answers.csv --label human --verdict verdict --by model --cluster item \
      --labels random --pass-rate --rate-rope=-0.02,0.02 -o draws.nc
    """
    refuse_idle(asked)
    suffixes = (*DATA_FILES, *REPORTS, DRAWS_FILE)
    written = output_file(asked.output, suffixes, asked.file)
    limits = {} if asked.rope is None else dict.fromkeys(COMPARED, parse_limits(asked.rope))
    if asked.rate_rope is not None:
        with options_named({"--rope": "--rate-rope"}):
            limits["pass_rate"] = parse_limits(asked.rate_rope)
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    by = parse_by(asked.by)
    items = [] if asked.cluster is None else columns_of([asked.cluster])
    if isinstance(by, dict):
        by |= {name: name for name in items}
    else:
        by = [*by, *(name for name in items if name not in by)]
    with options_named({f"labels={x!r}": f"--labels {x}" for x in get_args(Design)}):
        judged = hmetad.count_judged(
            hmetad.logs.scan_table(asked.file, text=columns_of(asked.by)),
            by=by,
            label=asked.label,
            verdict=asked.verdict,
            score=asked.score,
            threshold=asked.threshold,
            ratings=asked.ratings,
            good=[*asked.good] or None,
            label_probability=asked.label_probability,
        )
        correction = parse_correction(asked.correction)
        estimates = hmetad.measures.judge(judged, cluster=asked.cluster, correction=correction)
        rates = None
        if asked.pass_rate and asked.labels is not None:
            shared: dict[str, Any] = {"cluster": asked.cluster, "n": asked.draws, "seed": seed}
            rates = hmetad.pass_rate(judged, labels=asked.labels, **shared)
    is_drawn = "dprime" in limits or (asked.output and asked.output.suffix == DRAWS_FILE)
    draws = all_draws(judged, rates, asked, seed) if limits or is_drawn else None
    decisions = {} if draws is None else decided(draws, asked, limits)
    answer = judge_answer(asked, estimates, rates, decisions, seed)

    def save(path: Path) -> None:
        if path.suffix == DRAWS_FILE and draws is not None:
            hmetad.bayes.save_draws(draws, path)
            return
        page = hmetad.report.judge_report(
            judged,
            estimates=estimates,
            rates=rates,
            decisions=decisions,
            ci_prob=asked.ci_prob,
            title=f"Judges of {asked.file.name}",
            command=command_line() + ("" if asked.seed is not None else f" --seed {seed}"),
        )
        page.save(path)

    asked.deliver(answer, written, save)


def refuse_idle(asked: JudgeOptions) -> None:
    """Refuse options that need one that is not there."""
    if asked.pass_rate and asked.labels is None:
        step = (
            "Say how outputs were chosen to be labelled: --labels random, by_rating, known or "
            "elsewhere. The wrong one is wrong by much."
        )
        raise NeedError("--pass-rate", "--labels", next_step=step)
    of_rates = "" if asked.pass_rate else "with --pass-rate"
    has_rope = asked.rope is not None or asked.rate_rope is not None
    against = "" if has_rope else "with --rope"
    asked.refuse_idle(labels=of_rates, rate_rope=of_rates, against=against)
    if has_rope and not asked.by:
        raise EmptyError(
            "--by", "nothing", "a column whose levels are compared", "Give --by judge."
        )


def all_draws(
    judged: "xr.DataArray", rates: "xr.DataArray | None", asked: JudgeOptions, seed: int
) -> "xr.Dataset":
    """Draws of d′ and c by the bootstrap, and of pass rates, (draw, cell)."""
    drawn: xr.Dataset = hmetad.resample(
        judged,
        lambda one: hmetad.measures.judge(one)[[*COMPARED]],
        n=asked.draws,
        cluster=asked.cluster,
        seed=seed,
    )
    if rates is None:
        return drawn
    return drawn.assign(
        pass_rate=rates.isel(chain=0, drop=True).assign_coords(drawn["draw"].coords)
    )


def decided(
    draws: "xr.Dataset", asked: JudgeOptions, limits: Mapping[str, tuple[float, float]]
) -> "dict[str, Decisions]":
    """Decisions on contrasts of the levels of the first column, by quantity."""
    over, *within = [*parse_by(asked.by)] or [""]
    made = {}
    for name, rope in limits.items():
        contrasts = hmetad.contrast(
            draws, var=name, over=over, within=within, against=asked.against
        )
        made[name] = hmetad.decide(contrasts, rope=rope, ci_prob=asked.ci_prob)
    return made


def judge_answer(
    asked: JudgeOptions,
    estimates: "xr.Dataset",
    rates: "xr.DataArray | None",
    decisions: "Mapping[str, Decisions]",
    seed: int,
) -> Answer:
    """Estimates of each cell, then decisions."""
    rows = rows_of(hmetad.report.estimate_table(estimates))
    shown = {"cell": cell_heading(asked.by), "labelled": "labelled", "pooled": "unlabelled"}
    if rates is not None:
        intervals = rate_intervals(rates, asked.ci_prob)
        for row, ends in zip(rows, intervals.tolist(), strict=True):
            row |= dict(zip(("pass_rate", "pass_rate_lower", "pass_rate_upper"), ends, strict=True))
        shown |= {"pass_rate": "pass rate", "pass_rate_lower": "from", "pass_rate_upper": "to"}
    shown |= {name: column_name(name, "judge") for name in SHOWN}
    listings = [Listing(rows, shown, "Judges", "; all measures by -o table.csv or --json")]
    for name, one in decisions.items():
        table = rows_of(one.table())
        low, high = one.rope
        title = f"Differences in {column_name(name, 'judge')}; ROPE {low:g} to {high:g}"
        listings.append(Listing(table, headings(table, "terminal", "0"), title))
    sources = [estimates, rates, *(one.results for one in decisions.values())]
    found = [x for one in sources if one is not None for x in hmetad.notices(one)]
    unique = [*{str(one): one for one in found}.values()]
    more: dict[str, Any] = {name: rows_of(one.table()) for name, one in decisions.items()}
    more["correction"] = estimates.attrs["correction"]
    return Answer(tuple(listings), unique, seed, more=more)
