"""The command that says how many trials a study needs.

Truth, design and ROPE → what studies of several sizes would find.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, chosen_format, give, write_answer
from hmetad.commands.arguments import (
    DATA_FILES,
    given_options,
    parse_limits,
    parse_numbers,
    writable_file,
)
from hmetad.commands.options import AsJson, CiProb, PrintAs, Seed
from hmetad.errors import InputError
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EXAMPLES", "plan"]

EXAMPLES = """
hmetad plan --m-ratio 1,0.8 --rope=-0.05,0.05 --trials 400,1600,6400
hmetad plan --m-ratio 1,0.8 --subjects 40 --between-sd 0.3 --rope=-0.05,0.05 \\
  --probability 0.8
hmetad plan --m-ratio 0.9 --half-width 0.2 --seed 1
"""
PLANNED = {
    "trials": "trials",
    "probability_different": "different",
    "probability_negligible": "negligible",
    "probability_inconclusive": "inconclusive",
    "probability_unreliable": "unreliable",
    "half_width": "half-width",
}


def plan(
    trials: Annotated[
        str, typer.Option(metavar="N,…", help="Trials of a cell: of one subject, one condition.")
    ] = "100,200,400,800,1600",
    m_ratio: Annotated[
        str, typer.Option(metavar="M[,M]", help="True M of one condition, or of two to compare.")
    ] = "1,0.8",
    dprime: Annotated[
        str, typer.Option(metavar="D[,D]", help="True d′, of all conditions or of each.")
    ] = "1.5",
    c: Annotated[
        str, typer.Option("--criterion", metavar="C[,C]", help="True criterion c, likewise.")
    ] = "0",
    ratings: Annotated[int, typer.Option(min=2, metavar="K", help="Number of ratings.")] = 4,
    subjects: Annotated[
        int, typer.Option(min=1, metavar="N", help="Subjects; with several, their mean is judged.")
    ] = 1,
    between_sd: Annotated[
        float, typer.Option(metavar="SD", help="Of log M between subjects.")
    ] = 0.0,
    correlation: Annotated[
        float, typer.Option(metavar="R", help="Of a subject's log M in the two conditions.")
    ] = 0.0,
    rope: Annotated[
        str | None,
        typer.Option(metavar="LOW,HIGH", help="What is negligible in log M: --rope=-0.05,0.05."),
    ] = None,
    ci_prob: CiProb = 0.95,
    comparisons: Annotated[
        int, typer.Option(min=1, metavar="N", help="Comparisons to correct for (Bonferroni).")
    ] = 1,
    meta_criterion: Annotated[
        Literal["relative", "absolute"],
        typer.Option(metavar="RULE", help="relative, κ = M·c, or absolute, κ = c."),
    ] = "relative",
    probability: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Say how many trials give the true verdict with this probability."
        ),
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(metavar="W", help="Say how many trials give intervals with this half-width."),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=2, metavar="N", help="Studies simulated of each size.")
    ] = 1000,
    seed: Seed = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Rows: .csv or .json.")
    ] = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Say how many trials a question about M needs, by simulation."""
    chosen = chosen_format(print_as, as_json)
    path = None if output is None else writable_file(output, *DATA_FILES)
    needs_one_goal(probability, half_width, rope)
    # Without a seed one is drawn here, so that the answer can say it.
    drawn = secrets.randbelow(2**31) if seed is None else seed
    found = hmetad.simulate.plan_trials(
        trials=whole_numbers("--trials", trials),
        m_ratio=parse_numbers("--m-ratio", m_ratio),
        dprime=one_or_more(parse_numbers("--dprime", dprime)),
        c=one_or_more(parse_numbers("--criterion", c)),
        ratings=ratings,
        subjects=subjects,
        between_sd=between_sd,
        correlation=correlation,
        rope=None if rope is None else parse_limits(rope),
        ci_prob=ci_prob,
        comparisons=comparisons,
        meta_criterion=meta_criterion,
        n=draws,
        seed=drawn,
    )
    goal = given_options(probability=probability, half_width=half_width)
    needed, remark = needed_for(found, goal) if goal else (None, "")
    rows = rows_of_plan(found)
    shown = {name: heading for name, heading in PLANNED.items() if name in rows[0]}
    said = {str(name): value for name, value in found.attrs.items() if name != "seed"}
    answer = Answer(
        (Listing(rows, shown, title_of(found)),),
        hmetad.notices(found),
        drawn,
        more={**said, **({"trials_needed": needed} if goal else {})},
    )
    if path is not None:
        write_answer(answer, path)
    give(answer, chosen, [] if path is None else [path])
    if remark:
        say(remark)


def needs_one_goal(probability: float | None, half_width: float | None, rope: str | None) -> None:
    """Refuse two goals at once, an impossible one, and a verdict without a ROPE."""
    if probability is not None and half_width is not None:
        raise InputError("--probability", f"{probability:g} and --half-width", "one of the two")
    if probability is not None and rope is None:
        step = "Add --rope=-0.05,0.05, or ask for a --half-width."
        raise InputError("--probability", f"{probability:g} without --rope", "both", step)
    if probability is not None and not 0 < probability < 1:
        raise InputError("--probability", f"{probability:g}", "a number between 0 and 1")
    if half_width is not None and not half_width > 0:
        raise InputError("--half-width", f"{half_width:g}", "a number above 0")


def needed_for(found: "xr.Dataset", goal: Mapping[str, Any]) -> tuple[int | None, str]:
    """Trials that a goal takes, None where the plan stops short of it; and that in words."""
    ((name, wanted),) = goal.items()
    option = f"--{name.replace('_', '-')}"
    try:
        number = hmetad.simulate.trials_needed(found, **goal)
    except InputError as error:
        if error.argument not in goal:
            raise
        return None, f"{option}: {error.got}. {error.next_step}"
    return number, f"{option} {wanted:g}: about {number} trials are needed."


def whole_numbers(option: str, text: str) -> list[int]:
    """Whole numbers separated by commas."""
    numbers = parse_numbers(option, text)
    if not all(number.is_integer() for number in numbers):
        raise InputError(option, repr(text), "whole numbers, separated by commas")
    return [int(number) for number in numbers]


def one_or_more(numbers: list[float]) -> Any:
    """A number alone where there is one: it then holds of every condition."""
    return numbers[0] if len(numbers) == 1 else numbers


def rows_of_plan(found: "xr.Dataset") -> list[dict[str, Any]]:
    """A row per number of trials; results by verdict or condition have a column for each."""
    rows = []
    for number in found["trials"].values.tolist():
        row = {"trials": number}
        for name, values in found.sel(trials=number).data_vars.items():
            if not values.dims:
                row[str(name)] = values.item()
            for dim in values.dims:
                for place in values[dim].values.tolist():
                    row[f"{name}_{place}"] = values.sel({dim: place}).item()
        rows.append(row)
    return rows


def title_of(found: "xr.Dataset") -> str:
    """What is planned, and what the columns hold."""
    what = f"Studies of {found.attrs['judged']}"
    if "truth" in found.attrs:
        return f"{what}, in truth {found.attrs['truth']}: share of each verdict"
    return f"{what}: median half-width of the {100 * found.attrs['ci_prob']:g} % interval"
