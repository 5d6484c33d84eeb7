"""The command that says how many trials, or people, a study needs.

Truth, design and ROPE → what studies of several sizes would find.
"""

import secrets
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.answer import Answer, Listing, chosen_format, give, write_answer
from hmetad.commands.arguments import (
    DATA_FILES,
    given_options,
    parse_limits,
    parse_numbers,
    refuse_inputs,
    refuse_kept,
    writable_file,
)
from hmetad.commands.options import AsJson, CiProb, PrintAs, Seed
from hmetad.commands.plan_options import (
    BetweenSd,
    Comparisons,
    Cores,
    CorrelationOfTasks,
    Criterion,
    Dprime,
    DprimeSd,
    Effect,
    HalfWidth,
    MetaCriterion,
    MRatio,
    NumberOfRatings,
    Output,
    Pilot,
    Probability,
    Question,
    Resume,
    Rope,
    Studies,
    Subjects,
    TrialsOfACell,
)
from hmetad.commands.plan_people import people_remark, plan_people, refuse_people_options
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
    trials: TrialsOfACell = None,
    m_ratio: MRatio = None,
    dprime: Dprime = None,
    c: Criterion = None,
    ratings: NumberOfRatings = None,
    subjects: Subjects = None,
    between_sd: BetweenSd = None,
    correlation: CorrelationOfTasks = None,
    question: Question = None,
    effect: Effect = None,
    dprime_sd: DprimeSd = None,
    pilot: Pilot = None,
    resume: Resume = None,
    cores: Cores = None,
    rope: Rope = None,
    ci_prob: CiProb = 0.95,
    comparisons: Comparisons = 1,
    meta_criterion: MetaCriterion = "relative",
    probability: Probability = None,
    half_width: HalfWidth = None,
    draws: Studies = None,
    seed: Seed = None,
    output: Output = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Say how many trials or people a question about M needs, by simulation."""
    chosen = chosen_format(print_as, as_json)
    written = [] if output is None else [writable_file(output, *DATA_FILES)]
    for path in written:
        refuse_inputs(path, *([] if pilot is None else [pilot]))
        if resume is not None:
            refuse_kept(path, resume)
    needs_one_goal(probability, half_width, rope)
    numbers = whole_numbers("--subjects", subjects or ("1" if question is None else "20,40,80"))
    truth = {"m_ratio": m_ratio, "dprime": dprime, "c": c}
    shared = {
        **given_options(ratings=ratings, between_sd=between_sd, correlation=correlation),
        "rope": None if rope is None else parse_limits(rope),
        "ci_prob": ci_prob,
        "comparisons": comparisons,
        "meta_criterion": meta_criterion,
        "seed": seed,
    }
    own = {"effect": effect, "dprime_sd": dprime_sd, "cores": cores}
    if question is None and len(numbers) == 1:
        refuse_people_options({**own, "pilot": pilot, "resume": resume})
        found = plan_cells(truth, numbers[0], trials, draws or STUDIES, **shared)
    else:
        found = plan_people(
            question or "difference",
            {**truth, "pilot": pilot, "resume": resume},
            subjects=numbers,
            trials=whole_numbers("--trials", trials or "200"),
            n=draws or STUDIES_OF_PEOPLE,
            **given_options(**own),
            **shared,
        )
    answer, remark = answer_of(found, probability=probability, half_width=half_width)
    for path in written:
        write_answer(answer, path)
    give(answer, chosen, written)
    if remark:
        say(remark)


def plan_cells(
    truth: Mapping[str, str | None],
    subjects: int,
    trials: str | None,
    studies: int,
    *,
    seed: int | None,
    **shared: Any,
) -> "xr.Dataset":
    """The plan of studies whose cells are fitted by maximum likelihood, from texts of options."""
    return hmetad.simulate.plan_trials(
        trials=whole_numbers("--trials", trials or "100,200,400,800,1600"),
        m_ratio=parse_numbers("--m-ratio", truth["m_ratio"] or "1,0.8"),
        dprime=one_or_more(parse_numbers("--dprime", truth["dprime"] or "1.5")),
        c=one_or_more(parse_numbers("--criterion", truth["c"] or "0")),
        subjects=subjects,
        n=studies,
        # Without a seed one is drawn here, so that the answer can say it.
        seed=secrets.randbelow(2**31) if seed is None else seed,
        **shared,
    )


def answer_of(found: "xr.Dataset", **wanted: float | None) -> tuple[Answer, str]:
    """The answer of a plan, and what it says of a goal in words."""
    goal = given_options(**wanted)
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
