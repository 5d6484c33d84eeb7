"""The command that says how many trials, or people, a study needs.

Truth, design and ROPE → what studies of several sizes would find.
"""

import secrets
from collections.abc import Mapping
from itertools import product
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
    sampling_options,
    writable_file,
    writable_folder,
)
from hmetad.commands.options import AsJson, CiProb, PrintAs, Seed
from hmetad.commands.plan_people import (
    people_options,
    people_remark,
    plan_people,
    refuse_people_options,
)
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
hmetad plan --question difference --subjects 20,40,80 --trials 100,200 --effect 0.4 \\
  --rope=-0.1,0.1 --probability 0.8 --resume plan
"""
Question = Literal["mean", "difference", "tasks", "correlation", "slope"]
PLANNED = {
    "subjects": "people",
    "trials": "trials",
    "probability_different": "different",
    "probability_negligible": "negligible",
    "probability_inconclusive": "inconclusive",
    "probability_unreliable": "unreliable",
    "half_width": "half-width",
    "coverage": "coverage",
}
# Studies of each size: of single cells, and of people, of which each is sampled.
STUDIES, STUDIES_OF_PEOPLE = 1000, 100


def plan(
    trials: Annotated[
        str | None,
        typer.Option(
            metavar="N,…",
            help="Trials of a cell: of one subject, one condition; 100,200,400,800,1600, or 200 "
            "where people are planned for.",
        ),
    ] = None,
    m_ratio: Annotated[
        str | None,
        typer.Option(
            metavar="M[,M]", help="True M of one condition, or of two to compare; 1,0.8 if none."
        ),
    ] = None,
    dprime: Annotated[
        str | None,
        typer.Option(metavar="D[,D]", help="True d′, of all conditions or of each; 1.5."),
    ] = None,
    c: Annotated[
        str | None,
        typer.Option("--criterion", metavar="C[,C]", help="True criterion c, likewise; 0."),
    ] = None,
    ratings: Annotated[
        int | None, typer.Option(min=2, metavar="K", help="Number of ratings; 4.")
    ] = None,
    subjects: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N…]",
            help="Subjects, 1 if none; with several, their mean is judged. Several numbers, or "
            "--question, plan for people, 20,40,80 if none, and fit each study with a "
            "hierarchical model.",
        ),
    ] = None,
    between_sd: Annotated[
        float | None, typer.Option(metavar="SD", help="Of log M between subjects.")
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(metavar="R", help="Of a subject's log M in the two conditions or tasks."),
    ] = None,
    question: Annotated[
        Question | None,
        typer.Option(
            metavar="WHAT",
            help="Of people: the mean of a group; the difference between two groups, or two tasks "
            "of the same people; the correlation between tasks; the slope on a covariate.",
        ),
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(metavar="E", help="Of people: true difference, correlation or slope."),
    ] = None,
    dprime_sd: Annotated[
        float | None,
        typer.Option("--dprime-sd", metavar="SD", help="Of people: of d′ between them."),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="FIT", help="Of people: a fit to take what is not given from."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Of people: keep the studies that are done there, and go on from them.",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Of people: processes, one a CPU if none."),
    ] = None,
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
            metavar="P",
            help="Say how many trials, or people, give the true verdict with this probability.",
        ),
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            help="Say how many trials, or people, give intervals with this half-width.",
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=2, metavar="N", help="Studies simulated of each size; 1000, of people 100."
        ),
    ] = None,
    seed: Seed = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Rows: .csv or .json.")
    ] = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Say how many trials or people a question about M needs, by simulation."""
    chosen = chosen_format(print_as, as_json)
    path = None if output is None else writable_file(output, *DATA_FILES)
    needs_one_goal(probability, half_width, rope)
    numbers = whole_numbers("--subjects", subjects or ("1" if question is None else "20,40,80"))
    shared = {
        **given_options(ratings=ratings, between_sd=between_sd, correlation=correlation),
        "rope": None if rope is None else parse_limits(rope),
        "ci_prob": ci_prob,
        "comparisons": comparisons,
        "meta_criterion": meta_criterion,
    }
    if question is None and len(numbers) == 1:
        own = {"effect": effect, "dprime_sd": dprime_sd, "cores": cores}
        refuse_people_options({**own, "pilot": pilot, "resume": resume})
        found = hmetad.simulate.plan_trials(
            trials=whole_numbers("--trials", trials or "100,200,400,800,1600"),
            m_ratio=parse_numbers("--m-ratio", m_ratio or "1,0.8"),
            dprime=one_or_more(parse_numbers("--dprime", dprime or "1.5")),
            c=one_or_more(parse_numbers("--criterion", c or "0")),
            subjects=numbers[0],
            n=STUDIES if draws is None else draws,
            # Without a seed one is drawn here, so that the answer can say it.
            seed=secrets.randbelow(2**31) if seed is None else seed,
            **shared,
        )
    else:
        asked = question or "difference"
        found = plan_people(
            asked,
            pilot,
            subjects=numbers,
            trials=whole_numbers("--trials", trials or "200"),
            n=STUDIES_OF_PEOPLE if draws is None else draws,
            folder=None if resume is None else writable_folder(resume),
            progressbar=sampling_options()["progressbar"],
            seed=seed,
            **given_options(dprime_sd=dprime_sd, cores=cores),
            **people_options(asked, m_ratio, effect, dprime, c),
            **shared,
        )
    goal = given_options(probability=probability, half_width=half_width)
    answer, remark = answer_of(found, goal)
    if path is not None:
        write_answer(answer, path)
    give(answer, chosen, [] if path is None else [path])
    if remark:
        say(remark)


def answer_of(found: "xr.Dataset", goal: Mapping[str, Any]) -> tuple[Answer, str]:
    """The answer of a plan, and what it says of a goal in words."""
    rows = rows_of_plan(found)
    shown = {name: heading for name, heading in PLANNED.items() if name in rows[0]}
    said = {str(name): value for name, value in found.attrs.items() if name != "seed"}
    remark = ""
    if goal and "subjects" in found.dims:
        said["subjects_needed"], remark = people_remark(found, goal)
    elif goal:
        said["trials_needed"], remark = needed_for(found, goal)
    listing = Listing(rows, shown, title_of(found))
    seed = int(found.attrs["seed"])
    return Answer((listing,), hmetad.notices(found), seed, more=said), remark


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
    """A row per size; results by verdict or condition have a column for each."""
    dims = [dim for dim in ("subjects", "trials") if dim in found.dims]
    rows = []
    for size in product(*(found[dim].values.tolist() for dim in dims)):
        row = dict(zip(dims, size, strict=True))
        for name, values in found.sel(row).data_vars.items():
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
