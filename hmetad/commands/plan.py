"""The command that says how many trials, or people, a study needs.

Truth, design and ROPE → what studies of several sizes would find.
"""

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import InputError
from hmetad.commands.answer import (
    DATA_FILES,
    Answer,
    Listing,
    give,
    output_file,
    refuse_kept,
    writable_folder,
    write_files,
)
from hmetad.commands.options import (
    CiProb,
    Output,
    PrintOptions,
    Seed,
    given_options,
    option_name,
    options_named,
    parse_limits,
    parse_numbers,
    sampling_options,
)
from hmetad.report.terminal import say
from hmetad.simulate.plan_questions import AskedQuestion

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["plan"]

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
PLANNED = {"subjects": "people", "trials": "trials"}
PLANNED |= {f"probability_{verdict}": verdict for verdict in VERDICTS}
PLANNED |= {"half_width": "half-width", "coverage": "coverage"}
# Options that have a meaning only where hierarchical fits are planned.
ONLY_PEOPLE = ("effect", "dprime_sd", "pilot", "resume", "cores")
PAIRED = ("difference", "tasks")
# Studies of each size: of single cells, and of people, of which each is sampled.
STUDIES, STUDIES_OF_PEOPLE = 1000, 100


@dataclass(frozen=True, kw_only=True)
class PlanOptions(PrintOptions):
    """What is true, how a study is made, and what it should find.

    Parameters
    ----------
    trials : N,…
        Trials of each subject in each condition. Default: 100,200,400,800,1600 (people: 200).
    m_ratio : M[,M]
        True M-ratio of one condition, or of two to compare. Default: 1,0.8.
    dprime : D[,D]
        True d′, of all conditions or of each. Default: 1.5.
    c : C[,C]
        True criterion c, in units of d′, of all conditions or of each. Default: 0.
    options : M
        Options of the task: with more than two, answers are right or wrong. Default: 2.
    ratings : K
        Number of confidence ratings. Default: 4.
    subjects : N[,N…]
        Subjects: with one number their mean is judged (default: 1). Several numbers, or
        --question, plan the number of people and fit each study with a hierarchical model
        (default: 20,40,80).
    between_sd : SD
        SD of log M between subjects.
    correlation : R
        Correlation of a subject's log M between the two conditions or tasks.
    question : WHAT
        People: the mean of a group; the difference between two groups, or two tasks of the same
        people; the correlation between tasks; the slope on a covariate.
    effect : E
        People: true difference in log M, correlation or slope.
    dprime_sd : SD
        People: SD of d′ between them.
    pilot : FIT
        People: fit (.nc) that supplies the parameters that are not given; or published, perception,
        memory and the like: medians of published populations.
    resume : FOLDER
        People: folder that keeps finished studies; a run that was stopped goes on from there.
    cores : N
        People: number of processes. Default: one per CPU.
    rope : LOW,HIGH
        Differences in log M that you call negligible: --rope=-0.05,0.05.
    comparisons : N
        Number of comparisons to correct for (Bonferroni).
    meta_criterion : RULE
        Rule for the criterion κ of meta-d′: relative (κ = M·c) or absolute (κ = c).
    probability : P
        Report how many trials, or people, give the true verdict with this probability.
    half_width : W
        Report how many trials, or people, give intervals of log M with this half-width.
    draws : N
        Simulated studies of each size. Default: 1000 (people: 100).
    output : FILE
        Rows: .csv or .json.
    """

    trials: str | None = None
    m_ratio: str | None = None
    dprime: str | None = None
    c: Annotated[str | None, typer.Option("--criterion")] = None
    options: Annotated[int, typer.Option(min=2)] = 2
    ratings: Annotated[int | None, typer.Option(min=2)] = None
    subjects: str | None = None
    between_sd: float | None = None
    correlation: float | None = None
    question: AskedQuestion | None = None
    effect: float | None = None
    dprime_sd: float | None = None
    pilot: str | None = None
    resume: Path | None = None
    cores: Annotated[int | None, typer.Option(min=1)] = None
    rope: str | None = None
    comparisons: Annotated[int, typer.Option(min=1)] = 1
    meta_criterion: Literal["relative", "absolute"] = "relative"
    probability: Annotated[float | None, typer.Option(min=0.001, max=0.999)] = None
    half_width: Annotated[float | None, typer.Option(min=0.001)] = None
    ci_prob: CiProb = 0.95
    draws: Annotated[int | None, typer.Option(min=2)] = None
    seed: Seed = None
    output: Output = None

    @property
    def goal(self) -> dict[str, float]:
        """What is to be reached, by name, where something is."""
        return given_options(probability=self.probability, half_width=self.half_width)

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments of both planners."""
        return {
            **given_options(
                ratings=self.ratings, between_sd=self.between_sd, correlation=self.correlation
            ),
            "rope": None if self.rope is None else parse_limits(self.rope),
            "ci_prob": self.ci_prob,
            "comparisons": self.comparisons,
            "meta_criterion": self.meta_criterion,
        }


def plan(asked: PlanOptions) -> None:
    r"""Plan a study: how many trials or people are needed, by simulation.

    Examples
    --------
    hmetad plan --m-ratio 1,0.8 --rope=-0.05,0.05 --trials 400,1600,6400
    hmetad plan --m-ratio 1,0.8 --subjects 40 --between-sd 0.3 --rope=-0.05,0.05 \
      --probability 0.8
    hmetad plan --m-ratio 0.9 --half-width 0.2 --seed 1
    hmetad plan --options 4 --m-ratio 0.8 --half-width 0.2 --draws 200
    hmetad plan --question difference --subjects 20,40,80 --trials 100,200 --effect 0.4 \
      --rope=-0.1,0.1 --probability 0.8 --resume plan
    """
    chosen = asked.format
    pilot = None if asked.pilot is None else Path(asked.pilot)
    written = output_file(asked.output, DATA_FILES, pilot)
    if written and asked.resume is not None:
        refuse_kept(written[0], asked.resume)
    if len(asked.goal) > 1:
        raise InputError("--probability", "it beside --half-width", "one of the two")
    if asked.probability is not None and asked.rope is None:
        step = "Add --rope=-0.05,0.05, or ask for a --half-width."
        raise InputError("--probability", f"{asked.probability:g} without --rope", "both", step)
    numbers = whole_numbers("--subjects", asked.subjects or ("20,40,80" if asked.question else "1"))
    if asked.question is None and len(numbers) == 1:
        found = plan_cells(asked, numbers[0])
    else:
        found = plan_people(asked, numbers)
    answer, remark = answer_of(found, asked.goal)
    write_files(answer, written)
    give(answer, chosen, written)
    if remark:
        say(remark)


def plan_cells(asked: PlanOptions, subjects: int) -> "xr.Dataset":
    """The plan of studies whose cells are fitted by maximum likelihood."""
    asked.refuse_idle(**dict.fromkeys(ONLY_PEOPLE, "with --question, or several --subjects"))
    if asked.options > 2:
        asked.refuse_idle(meta_criterion="with two options")
    with options_named({"c": "--criterion"}):
        return hmetad.simulate.plan_trials(
            trials=whole_numbers("--trials", asked.trials or "100,200,400,800,1600"),
            m_ratio=parse_numbers("--m-ratio", asked.m_ratio or "1,0.8"),
            dprime=one_or_more(parse_numbers("--dprime", asked.dprime or "1.5")),
            c=one_or_more(parse_numbers("--criterion", asked.c or "0")),
            options=asked.options,
            subjects=subjects,
            n=asked.draws or STUDIES,
            # Without a seed one is drawn here, so that the answer can say it.
            seed=secrets.randbelow(2**31) if asked.seed is None else asked.seed,
            **asked.shared,
        )


def plan_people(asked: PlanOptions, subjects: list[int]) -> "xr.Dataset":
    """The plan of studies that are fitted with a hierarchical model."""
    asked.refuse_idle(options="without --question, with one number of --subjects")
    question = asked.question or "difference"
    own = given_options(dprime_sd=asked.dprime_sd, cores=asked.cores)
    with options_named({"folder": "--resume"}):
        return hmetad.simulate.plan_groups(
            question,
            subjects=subjects,
            trials=whole_numbers("--trials", asked.trials or "200"),
            n=asked.draws or STUDIES_OF_PEOPLE,
            seed=asked.seed,
            pilot=pilot_of(asked.pilot),
            folder=None if asked.resume is None else writable_folder(asked.resume),
            progressbar=sampling_options()["progressbar"],
            **guesses_of(asked, question),
            **own,
            **asked.shared,
        )


def pilot_of(given: str | None) -> "xr.DataTree | str | None":
    """A fit, where a file is named; else the published populations that are."""
    if given is None or Path(given).suffix != ".nc":
        return given
    return hmetad.load_fit(given)


def guesses_of(asked: PlanOptions, question: str) -> dict[str, Any]:
    """Guesses of `plan_groups`; of two M the ratio is the effect."""
    found = given_options(effect=asked.effect)
    for name, option in (("dprime", "--dprime"), ("c", "--criterion")):
        text = getattr(asked, name)
        if text is not None:
            found[name], *more = parse_numbers(option, text)
            if more:
                raise InputError(option, repr(text), "one number, where people are planned for")
    if asked.m_ratio is None:
        return found
    ratios = parse_numbers("--m-ratio", asked.m_ratio)
    if len(ratios) == 1:
        return found | {"m_ratio": ratios[0]}
    if len(ratios) > 2 or question not in PAIRED or not min(ratios) > 0:
        allowed = "one M above 0, or two to compare with --question difference or tasks"
        raise InputError("--m-ratio", repr(asked.m_ratio), allowed)
    if asked.effect is not None:
        raise InputError("--effect", f"{asked.effect:g} beside two --m-ratio", "one of the two")
    first, second = map(math.log, ratios)
    return found | {"m_ratio": math.exp((first + second) / 2), "effect": first - second}


def answer_of(found: "xr.Dataset", goal: Mapping[str, float]) -> tuple[Answer, str]:
    """The answer of a plan, and what it says of a goal in words."""
    rows = rows_of_plan(found)
    shown = {name: heading for name, heading in PLANNED.items() if name in rows[0]}
    said = {str(name): value for name, value in found.attrs.items() if name != "seed"}
    remark = ""
    if goal and "subjects" in found.dims:
        said["subjects_needed"], remark = people_remark(found, goal)
    elif goal:
        said["trials_needed"], remark = needed_for(found, goal)
    title = f"Simulated studies of {found.attrs['judged']}"
    if "truth" in found.attrs:
        title += f" (true verdict: {found.attrs['truth']}): share of each verdict"
    else:
        title += f": median half-width of the {100 * found.attrs['ci_prob']:g} % interval"
    listing = Listing(rows, shown, title)
    seed = int(found.attrs["seed"])
    return Answer((listing,), hmetad.notices(found), seed, more=said), remark


def needed_for(found: "xr.Dataset", goal: Mapping[str, Any]) -> tuple[int | None, str]:
    """Trials that a goal takes, None where the plan stops short of it; and that in words."""
    ((name, wanted),) = goal.items()
    option = option_name(name)
    try:
        number = hmetad.simulate.trials_needed(found, **goal)
    except InputError as error:
        if error.argument not in goal:
            raise
        return None, f"{option}: {error.got}. {error.next_step}"
    return number, f"{option} {wanted:g}: about {number} trials are needed."


def people_remark(
    found: "xr.Dataset", goal: Mapping[str, Any]
) -> tuple[dict[str, int | None], str]:
    """People that a goal takes with each number of trials, None where none suffices; in words."""
    ((name, wanted),) = goal.items()
    numbers = hmetad.simulate.subjects_needed(found, **goal)
    most = int(found["subjects"].max())
    who = "people in both groups" if found.attrs["question"] == "difference" else "people"
    needed: dict[str, int | None] = {}
    parts = []
    for trials, number in zip(numbers["trials"].values.tolist(), numbers.values, strict=True):
        is_enough = math.isfinite(number)
        needed[str(trials)] = int(number) if is_enough else None
        said = f"about {number:.0f} {who}" if is_enough else f"more than {most} {who}"
        parts.append(f"{said} with {trials} trials")
    return needed, f"{option_name(name)} {wanted:g}: {', '.join(parts)}."


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
