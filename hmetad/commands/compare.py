"""The command that compares, and decides.

Fits and a question → decisions, on the terminal, as a table or as a report.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.answer import Answer, command_line, give, write_answer
from hmetad.commands.arguments import (
    DATA_FILES,
    REPORTS,
    output_file,
    parse_limits,
    writable_file,
)
from hmetad.commands.compared import (
    decisions_answer,
    superiorities,
    with_fits,
    with_left_out,
    with_new,
    with_others,
    with_ranks,
)
from hmetad.commands.contrasting import (
    CompareOptions,
    asked_draws,
    decided_otherwise,
    drawn_from,
    one_or_all,
    ranks_of,
    read_weights,
)
from hmetad.commands.fits import (
    are_resampled,
    fit_notices,
    judged_quantity,
    named_fits,
    read_fits,
)
from hmetad.commands.gate import asked_gate, end_by, judge_gate, with_outcome
from hmetad.errors import InputError
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.compare.decisions import Decisions
    from hmetad.report.page.report import Report

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


def compare(asked: CompareOptions) -> None:
    """Compare cells of fits, and judge each difference by a ROPE."""
    chosen = asked.format
    limits = limits_for(asked)
    refuse_together(asked, has_verdicts=limits is not None)
    paths = named_fits(asked.files)
    suffixes = DATA_FILES if limits is None else (*DATA_FILES, *REPORTS)
    if asked.output is not None:
        writable_file(asked.output, *suffixes)
    refuse_csv(asked)
    written = output_file(asked.output, suffixes, *paths.values(), asked.matrix)
    own = None if asked.matrix is None else read_weights(asked.matrix)
    fits = read_fits(paths)
    may_repeat = repeats_decisions(asked, fits)
    asked = replace(asked, var=asked.var or judged_quantity(fits))
    sources = drawn_from(fits, asked)
    draws = asked_draws(sources, fits, asked, own)
    lacking = "--over and --rope" if limits is None or asked.over is None else ""
    gate = asked_gate(asked.fail_if, asked.fail_unless, str(asked.var), lacking=lacking)
    decisions = None if limits is None else decided(draws, asked, limits)
    answer = superiorities(draws) if decisions is None else decisions_answer(decisions)
    ranks = ranks_of(sources, asked) if asked.rank else None
    if ranks is not None:
        answer = with_ranks(answer, ranks)
    others = {}
    if may_repeat and decisions is not None:
        others = decided_otherwise(fits, asked, decisions)
        answer = with_others(answer, others)
    answer = with_fits(answer, fits, paths)
    answer = with_left_out(with_new(answer, asked.new), asked.without or ())
    outcome = None
    if gate is not None and decisions is not None:
        outcome = judge_gate(gate, decisions, fits)
        answer = with_outcome(answer, gate, outcome)
    for path in written:
        if decisions is None or path.suffix in DATA_FILES:
            write_answer(answer, path)
        else:
            page_of(fits, decisions, asked, sensitivity=others, ranks=ranks).save(path)
    give(answer, chosen, written)
    say_how_to_settle(answer, fits)
    end_by(outcome)


def decided(draws: "xr.DataArray", asked: CompareOptions, rope: tuple[float, float]) -> "Decisions":
    """Decisions on draws; the correction is for the number of them."""
    places = draws.size // (draws.sizes["chain"] * draws.sizes["draw"])
    return hmetad.decide(
        draws,
        rope=rope,
        null=asked.null,
        ci_prob=asked.ci_prob,
        ci_kind=asked.ci_kind,
        comparisons=places if asked.bonferroni else 1,
    )


def refuse_together(asked: CompareOptions, *, has_verdicts: bool) -> None:
    """Refuse options that exclude each other, or need one that is not there."""
    for name in ("within", "pool", "against", "matrix", "rank", "kind", "without"):
        is_given = asked.kind != "difference" if name == "kind" else getattr(asked, name)
        if asked.over is None and is_given:
            step = f"Add --over, or leave --{name} out."
            raise InputError("--over", f"nothing, with --{name}", "a coordinate of cells", step)
    if asked.weights != "equal" and not asked.pool:
        got = f"{asked.weights} without --pool"
        raise InputError("--weights", got, "a pool", "Add --pool COLUMN.")
    if asked.population and asked.new:
        step = "--population is about average groups, --new about a single one."
        raise InputError("--population", "it beside --new", "one of the two", step)
    lacking = "" if has_verdicts else "it beside verdicts, which --kind superiority has not"
    asked.refuse_idle(**dict.fromkeys(("null", "ci_kind", "bonferroni"), lacking))
    is_used = has_verdicts or asked.rank
    asked.refuse_idle(ci_prob="" if is_used else "it beside verdicts, or --rank")


def repeats_decisions(asked: CompareOptions, fits: Fits) -> bool:
    """Whether decisions are made again under other choices: as asked, else for a page of fits."""
    has_fits = not any(are_resampled(fit) for fit in fits.values())
    if asked.sensitivity and not has_fits:
        raise InputError("--sensitivity", "draws without a model", "a fit", "Leave it out.")
    if asked.sensitivity is not None:
        return asked.sensitivity
    # Four more fits of thousands of cells would take an hour or more.
    are_small = all(one.code != "cells-not-kept" for one in fit_notices(fits))
    has_page = asked.output is not None and asked.output.suffix in REPORTS
    return has_page and has_fits and are_small


def limits_for(asked: CompareOptions) -> tuple[float, float] | None:
    """Limits of the ROPE; None where nothing is judged."""
    if asked.kind == "superiority":
        if asked.sensitivity:
            step = "Without verdicts none can change: leave --sensitivity out."
            raise InputError("--sensitivity", "it beside --kind superiority", "verdicts", step)
        if asked.rope is not None:
            step = "A probability is not judged by a ROPE: leave --rope out."
            raise InputError("--rope", f"{asked.rope!r} with --kind superiority", "none", step)
        return None
    if asked.rope is None:
        step = "What is negligible is yours to say: --rope=-0.05,0.05."
        raise InputError("--rope", "nothing", "two numbers", step)
    return parse_limits(asked.rope)


def refuse_csv(asked: CompareOptions) -> None:
    """Refuse a second table in CSV, which holds one."""
    for name in ("rank", "sensitivity"):
        if not getattr(asked, name):
            continue
        step = f"One CSV is one table: take json, or leave --{name} out."
        if asked.format == "csv":
            allowed = "table, json, markdown or latex"
            raise InputError("--format", f"csv with --{name}", allowed, step)
        if asked.output is not None and asked.output.suffix == ".csv":
            got = f"{str(asked.output)!r} with --{name}"
            raise InputError("--output", got, "another suffix", step)


def page_of(
    fits: Fits, decisions: "Decisions", asked: CompareOptions, *, sensitivity: Any, ranks: Any
) -> "Report":
    """Page about decisions."""
    shared: dict[str, Any] = {"command": command_line(), "ranks": ranks}
    source = one_or_all(fits)
    if any(are_resampled(fit) for fit in fits.values()):
        method = " ".join(filter(None, (method_of(fits), predicted_words(asked))))
        return hmetad.report.decisions_report(decisions, source, method=method, **shared)
    return hmetad.report.fit_report(source, decisions, sensitivity=sensitivity, **shared)


def say_how_to_settle(answer: Answer, fits: Fits) -> None:
    """Say how many draws would do, where Monte Carlo error could change a verdict."""
    is_open = [
        row["label"]
        for row in answer.rows
        if row.get("verdict") == "unreliable" and "verdict" in str(row.get("unsettled", ""))
    ]
    if not is_open:
        return
    commands = dict.fromkeys(
        f"hmetad {command_of(fit)} --draws {4 * fit['posterior'].sizes['draw']}"
        for fit in fits.values()
    )
    say(
        f"{len(is_open)} of {len(answer.rows)} verdicts could change by Monte Carlo error: "
        f"draw longer, {' and '.join(commands)}."
    )


def command_of(fit: "xr.DataTree") -> str:
    """Command that makes such draws."""
    if not are_resampled(fit):
        return "fit"
    return "estimates" if "formula" in fit.attrs else "measures"


def predicted_words(asked: CompareOptions) -> str:
    """Sentence on what is predicted, where it is not what was estimated."""
    if asked.new:
        names = " and ".join(asked.new)
        return f"They are predictions for a new {names}, with effects drawn from its population."
    return "They are of the population: of groups as they are on average." * asked.population


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
        unit = (fit.attrs.get("cluster") or "trial").replace(", ", " and ")
        made = f"{fit.attrs.get('kind', '')} draws, with {unit} as the unit that is drawn"
        return f"{number} {made} {seed}"
    link = fit.attrs.get("link", "identity")
    scale = "" if link == "identity" else f" on the scale of the {link}"
    errors = "covariance of draws" if fit.attrs.get("source") == "draws" else "standard errors"
    return (
        f"{number} posterior draws of a hierarchical normal model, {fit.attrs['formula']}{scale}, "
        f"of estimates with the {errors} as their errors {seed}"
    )
