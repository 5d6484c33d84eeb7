"""How many people a study needs: the options of `hmetad plan` for hierarchical fits.

Text of options → plan of `plan_groups`, and what it says of a goal.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.commands.arguments import given_options, parse_numbers
from hmetad.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["people_options", "people_remark", "plan_people", "refuse_people_options"]

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


def people_options(
    question: str, m_ratio: str | None, effect: float | None, dprime: str | None, c: str | None
) -> dict[str, Any]:
    """Guesses of `plan_groups`; of two M the ratio is the effect."""
    found = given_options(effect=effect)
    for name, option, text in (("dprime", "--dprime", dprime), ("c", "--criterion", c)):
        if text is not None:
            found[name] = one_number(option, text)
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


def plan_people(question: str, pilot: Path | None, **options: Any) -> "xr.Dataset":
    """The plan, with a pilot that is read from its file."""
    read = {} if pilot is None else {"pilot": hmetad.load_fit(pilot)}
    try:
        # Typer has refused questions that are none; their type is lost on the way.
        return hmetad.simulate.plan_groups(question, **read, **options)  # type: ignore[arg-type]
    except InputError as error:
        if error.argument != "folder":
            raise
        raise InputError("--resume", error.got, error.allowed, error.next_step) from error


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
