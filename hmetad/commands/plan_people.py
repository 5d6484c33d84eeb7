"""How many people a study needs: the options of `hmetad plan` for hierarchical fits.

Text of options → plan of `plan_groups`, and what it says of a goal.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.arguments import (
    given_options,
    options_named,
    parse_numbers,
    sampling_options,
    writable_folder,
)
from hmetad.errors import InputError
from hmetad.simulate.plan_questions import AskedQuestion

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["people_remark", "plan_people", "refuse_people_options"]

# Options that have a meaning only where hierarchical fits are planned.
ONLY_PEOPLE = ("effect", "dprime_sd", "pilot", "resume", "cores")
PAIRED = ("difference", "tasks")


def refuse_people_options(given: Mapping[str, Any]) -> None:
    """Refuse options of hierarchical fits where none are planned."""
    for name in ONLY_PEOPLE:
        if given.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            step = "Add --question, or several numbers of --subjects."
            raise InputError(option, f"{given[name]} without --question", "both", step)


def plan_people(question: AskedQuestion, given: Mapping[str, Any], **options: Any) -> "xr.Dataset":
    """The plan of studies that are fitted with a hierarchical model.

    Parameters
    ----------
    question : str
    given : mapping of str to object
        m_ratio, dprime and c as texts; pilot and resume as paths; None where not given.
    **options
        Others of `plan_groups`.

    Returns
    -------
    Dataset
    """
    with options_named({"folder": "--resume"}):
        return hmetad.simulate.plan_groups(
            question,
            pilot=None if given["pilot"] is None else hmetad.load_fit(given["pilot"]),
            folder=None if given["resume"] is None else writable_folder(given["resume"]),
            progressbar=sampling_options()["progressbar"],
            **guesses_of(question, given, options.pop("effect", None)),
            **options,
        )


def guesses_of(
    question: str, given: Mapping[str, str | None], effect: float | None
) -> dict[str, Any]:
    """Guesses of `plan_groups`; of two M the ratio is the effect."""
    found = given_options(effect=effect)
    for name, option in (("dprime", "--dprime"), ("c", "--criterion")):
        text = given[name]
        if text is not None:
            found[name] = one_number(option, text)
    m_ratio = given["m_ratio"]
    if m_ratio is None:
        return found
    ratios = parse_numbers("--m-ratio", m_ratio)
    if len(ratios) == 1:
        return found | {"m_ratio": ratios[0]}
    if len(ratios) > 2 or question not in PAIRED or not min(ratios) > 0:
        allowed = "one M above 0, or two to compare with --question difference or tasks"
        raise InputError("--m-ratio", repr(m_ratio), allowed)
    if effect is not None:
        raise InputError("--effect", f"{effect:g} beside two --m-ratio", "one of the two")
    first, second = map(math.log, ratios)
    return found | {"m_ratio": math.exp((first + second) / 2), "effect": first - second}


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
    return needed, f"--{name.replace('_', '-')} {wanted:g}: {', '.join(parts)}."


def one_number(option: str, text: str) -> float:
    """The one number of an option that may hold several elsewhere."""
    numbers = parse_numbers(option, text)
    if len(numbers) != 1:
        raise InputError(option, repr(text), "one number, where people are planned for")
    return numbers[0]
