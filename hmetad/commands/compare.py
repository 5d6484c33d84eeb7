"""The command that compares, and decides.

Fits and a question → decisions, on the terminal, as a table or as a report.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import hmetad
from hmetad.commands.answer import (
    Answer,
    chosen_format,
    command_line,
    give,
    write_answer,
)
from hmetad.commands.arguments import (
    DATA_FILES,
    REPORTS,
    parse_limits,
    refuse_idle,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.compare_options import (
    Against,
    Bonferroni,
    ContrastKind,
    FailIf,
    FailUnless,
    Files,
    Matrix,
    New,
    Null,
    Output,
    Over,
    Pool,
    Population,
    Rank,
    Rope,
    Sensitivity,
    Var,
    Weights,
    Within,
    Without,
)
from hmetad.commands.compared import (
    decisions_answer,
    superiorities,
    with_fits,
    with_left_out,
    with_new,
    with_others,
    with_outcome,
    with_ranks,
)
from hmetad.commands.contrasting import (
    Question,
    asked_draws,
    decided_otherwise,
    drawn_from,
    needs_over,
    one_or_all,
    ranks_of,
    read_weights,
)
from hmetad.commands.draws import are_resampled
from hmetad.commands.fits import fit_notices, judged_quantity, named_fits, read_fits
from hmetad.commands.gate import asked_gate, judge_gate
from hmetad.commands.options import AsJson, CiKind, CiProb, Format, Kind, PrintAs
from hmetad.errors import InputError
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.compare.decisions import Decisions

__all__ = ["EXAMPLES", "compare"]

EXAMPLES = """
hmetad compare fit.nc --over model --within task --rope=-0.05,0.05 -o page.html
hmetad compare fit.nc --over model --within task --reference GPT-5 \\
  --rope=-0.05,0.05 --rank
hmetad compare sets.nc --new set --over model --rope=-0.02,0.02
hmetad compare fit.nc --over model --within task --matrix weights.csv \\
  --rope=-0.05,0.05 --format markdown
hmetad compare draws.nc --var auroc2 --over model --pool set --weights trials \
  --rope=-0.02,0.02 --rank
hmetad compare fit.nc --var log_m_task --rope=-0.1,0.1
hmetad compare young=a.nc old=b.nc --over fit --var mu_log_m --rope=-0.1,0.1
hmetad compare draws.nc --var auroc2 --over model --within set --rope=-0.02,0.02 \
  --fail-if "new worse than old"
hmetad compare draws.nc --var auroc2 --over model --rope=-0.02,0.02 \
  --fail-unless "new not worse than old"
"""
type Fits = Mapping[str, "xr.DataTree"]


def compare(
    context: typer.Context,
    files: Files,
    over: Over = None,
    rope: Rope = None,
    var: Var = None,
    population: Population = False,
    new: New = None,
    within: Within = None,
    pool: Pool = None,
    weights: Weights = "equal",
    against: Against = None,
    without: Without = None,
    matrix: Matrix = None,
    kind: ContrastKind = "difference",
    null: Null = 0.0,
    ci_prob: CiProb = 0.95,
    ci_kind: CiKind = "eti",
    bonferroni: Bonferroni = False,
    rank: Rank = False,
    sensitivity: Sensitivity = None,
    fail_if: FailIf = None,
    fail_unless: FailUnless = None,
    output: Output = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Compare cells of fits, and judge each difference by a ROPE."""
    chosen = chosen_format(print_as, as_json)
    needs_over(over, kind, within=within, pool=pool, against=against, matrix=matrix, rank=rank)
    needs_over(over, "difference", without=without)
    refuse_together(weights, pool, population=population, new=new)
    limits = limits_for(kind, rope, bool(sensitivity))
    of_verdicts = "" if limits else "it beside verdicts, which --kind superiority has not"
    refuse_idle(context, **dict.fromkeys(("null", "ci_kind", "bonferroni"), of_verdicts))
    refuse_idle(context, ci_prob="" if limits or rank else "it beside verdicts, or --rank")
    path = None if output is None else writable_file(output, *suffixes_for(limits))
    refuse_csv(chosen, path, rank=rank, sensitivity=bool(sensitivity))
    paths = named_fits(files)
    if path is not None:
        refuse_inputs(path, *paths.values(), *([] if matrix is None else [matrix]))
    own = None if matrix is None else read_weights(matrix)
    fits = read_fits(paths)
    may_repeat = repeats_decisions(sensitivity, fits, path)
    asked = Question(
        var or judged_quantity(fits),
        over,
        split(within),
        against,
        own,
        kind,
        split(pool),
        weights,
        population,
        split(new),
        without or [],
    )
    sources = drawn_from(fits, asked)
    draws = asked_draws(sources, fits, asked)
    lacking = "--over and --rope" if limits is None or over is None else ""
    gate = asked_gate(fail_if, fail_unless, asked.var, lacking=lacking)
    decisions, others = None, {}
    if limits:
        decisions = hmetad.decide(
            draws,
            rope=limits,
            null=null,
            ci_prob=ci_prob,
            ci_kind=ci_kind,
            comparisons=number_of_places(draws) if bonferroni else 1,
        )
    answer = superiorities(draws) if decisions is None else decisions_answer(decisions)
    ranks = ranks_of(sources, asked, ci_prob) if rank else None
    if ranks is not None:
        answer = with_ranks(answer, ranks)
    if may_repeat and decisions is not None:
        others = decided_otherwise(fits, asked, decisions)
        answer = with_others(answer, others)
    answer = with_new(with_fits(answer, fits, paths), asked.new)
    answer = with_left_out(answer, asked.without)
    outcome = None
    if gate is not None and decisions is not None:
        outcome = judge_gate(gate, decisions, fits)
        answer = with_outcome(answer, gate, outcome)
    if path is not None:
        write(path, answer, fits, decisions, others, asked, ranks)
    give(answer, chosen, [] if path is None else [path])
    if outcome is not None:
        say(f"{outcome.word}: {outcome.sentence}")
        raise typer.Exit(outcome.status)


def refuse_together(
    weights: str, pool: list[str] | None, *, population: bool, new: list[str] | None
) -> None:
    """Refuse options that exclude each other, or need one that is not there."""
    if weights != "equal" and not pool:
        raise InputError("--weights", f"{weights} without --pool", "a pool", "Add --pool COLUMN.")
    if population and new:
        step = "--population is about average groups, --new about a single one."
        raise InputError("--population", "it beside --new", "one of the two", step)


def repeats_decisions(sensitivity: bool | None, fits: Fits, path: Path | None) -> bool:
    """Whether decisions are made again under other choices: as asked, else for a page of fits."""
    has_fits = not any(are_resampled(fit) for fit in fits.values())
    if sensitivity and not has_fits:
        raise InputError("--sensitivity", "draws without a model", "a fit", "Leave it out.")
    if sensitivity is not None:
        return sensitivity
    # Four more fits of thousands of cells would take an hour or more.
    are_small = all(one.code != "cells-not-kept" for one in fit_notices(fits))
    return path is not None and path.suffix in REPORTS and has_fits and are_small


def limits_for(kind: Kind, rope: str | None, sensitivity: bool) -> tuple[float, float] | None:
    """Limits of the ROPE; None where nothing is judged."""
    if kind == "superiority":
        if sensitivity:
            step = "Without verdicts none can change: leave --sensitivity out."
            raise InputError("--sensitivity", "it beside --kind superiority", "verdicts", step)
        if rope is not None:
            step = "A probability is not judged by a ROPE: leave --rope out."
            raise InputError("--rope", f"{rope!r} with --kind superiority", "none", step)
        return None
    if rope is None:
        step = "What is negligible is yours to say: --rope=-0.05,0.05."
        raise InputError("--rope", "nothing", "two numbers", step)
    return parse_limits(rope)


def suffixes_for(limits: tuple[float, float] | None) -> tuple[str, ...]:
    """Files that an answer can be written to: pages are about decisions."""
    return DATA_FILES if limits is None else (*DATA_FILES, *REPORTS)


def refuse_csv(chosen: Format, path: Path | None, **asked: bool) -> None:
    """Refuse a second table in CSV, which holds one."""
    for name in (name for name, value in asked.items() if value):
        step = f"One CSV is one table: take json, or leave --{name} out."
        if chosen == "csv":
            allowed = "table, json, markdown or latex"
            raise InputError("--format", f"csv with --{name}", allowed, step)
        if path is not None and path.suffix == ".csv":
            raise InputError("--output", f"{str(path)!r} with --{name}", "another suffix", step)


def number_of_places(draws: "xr.DataArray") -> int:
    """How many numbers are judged."""
    return draws.size // (draws.sizes["chain"] * draws.sizes["draw"])


def write(
    path: Path,
    answer: Answer,
    fits: Fits,
    decisions: "Decisions | None",
    others: "Mapping[str, Decisions]",
    asked: Question,
    ranks: "xr.Dataset | None",
) -> None:
    """Write the rows, or a page about the decisions, by the suffix of the path."""
    if decisions is None or path.suffix in DATA_FILES:
        write_answer(answer, path)
        return
    again = command_line()
    if any(are_resampled(fit) for fit in fits.values()):
        method = " ".join(filter(None, (method_of(fits), predicted_words(asked))))
        page = hmetad.report.decisions_report(
            decisions, one_or_all(fits), method=method, command=again, ranks=ranks
        )
    else:
        page = hmetad.report.fit_report(
            one_or_all(fits), decisions, sensitivity=others, command=again, ranks=ranks
        )
    page.save(path)


def predicted_words(asked: Question) -> str:
    """Sentence on what is predicted, where it is not what was estimated."""
    if asked.new:
        names = " and ".join(asked.new)
        return f"They are predictions for a new {names}, with effects drawn from its population."
    return "They are of the population: of groups as they are on average." * asked.is_population


def method_of(fits: Fits) -> str:
    """How draws were made, in a sentence for each that is compared."""
    said = {name: source_method(fit) for name, fit in fits.items()}
    if len(said) == 1:
        return f"{next(iter(said.values()))}; differences are taken draw by draw."
    each = " ".join(f"{name}: {words}." for name, words in said.items())
    return f"{each} Draws of one are paired with draws of another as independent ones."


def source_method(fit: "xr.DataTree") -> str:
    """How draws were made, in words."""
    sizes = fit["posterior"].sizes
    number = f"{sizes.get('chain', 1) * sizes['draw']:,}"
    seed = f"(seed {fit.attrs.get('seed', '')})"
    if not are_resampled(fit):
        return f"{number} posterior draws of a model of counts {seed}"
    if "formula" not in fit.attrs:
        unit = fit.attrs.get("cluster") or "trial"
        made = f"{fit.attrs.get('kind', '')} draws, with {unit} as the unit that is drawn"
        return f"{number} {made} {seed}"
    link = fit.attrs.get("link", "identity")
    scale = "" if link == "identity" else f" on the scale of the {link}"
    errors = "covariance of draws" if fit.attrs.get("source") == "draws" else "standard errors"
    return (
        f"{number} posterior draws of a hierarchical normal model, {fit.attrs['formula']}{scale}, "
        f"of estimates with the {errors} as their errors {seed}"
    )
