"""Studies that are done, kept in a folder: a plan that was ended goes on where it was.

Arguments of a plan and results of studies → ``plan.json`` and ``studies.jsonl``, a line for each
study. A line that was cut short by a kill is left out and done again.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hmetad.errors import InputError
from hmetad.files import write_together
from hmetad.simulate.group_study import NUMBERS
from hmetad.untrusted import parse_json

__all__ = ["Key", "append_study", "open_folder", "read_studies", "seed_of_folder"]

# Number of people, of trials, and of the study.
type Key = tuple[int, int, int]

PLAN, STUDIES = "plan.json", "studies.jsonl"
KEY = ("subjects", "trials", "study")


def open_folder(folder: Path, arguments: Mapping[str, Any]) -> None:
    """Make a folder for the studies of a plan, or take up that of an earlier run.

    Parameters
    ----------
    folder : Path
        Missing, empty, or of a plan with the same arguments.
    arguments : mapping of str to object
        All that a study depends on but its size and number, as JSON has it.

    Raises
    ------
    InputError
        If something else is in the folder, or studies of a plan with other arguments.
    OSError
        If it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("folder", f"the file {str(folder)!r}", "a folder")
    stated = stated_arguments(folder)
    if stated is None:
        others = sorted(path.name for path in folder.glob("[!.]*")) if folder.exists() else []
        if others:
            got = f"{str(folder)!r} with {others[0]!r} in it"
            raise InputError("folder", got, "an empty or new folder, or one of an earlier plan")
    elif stated != json.loads(json.dumps(arguments)):
        differing = [k for k in {**stated, **arguments} if stated.get(k) != plain(arguments.get(k))]
        name = differing[0]
        got = f"{str(folder)!r}, whose studies have {name} {stated.get(name)!r}"
        allowed = f"studies with {name} {arguments.get(name)!r}"
        raise InputError("folder", got, allowed, "Name another folder, or plan as before.")
    write_together({folder / PLAN: json.dumps(arguments, indent=2) + "\n"})
    cut_unfinished(folder / STUDIES)


def seed_of_folder(folder: Path) -> int | None:
    """Seed of the studies in a folder, None where there are none yet."""
    seed = (stated_arguments(folder) or {}).get("seed")
    return seed if isinstance(seed, int) else None


def read_studies(folder: Path) -> dict[Key, dict[str, float]]:
    """Results of the studies in a folder, by size and number.

    Raises
    ------
    InputError
        If a line is no result of a study.
    """
    path = folder / STUDIES
    if not path.exists():
        return {}
    found = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            place = f"{path}, line {number}"
            study = parse_json(line, place)
            if not is_study(study):
                allowed = f"an object with {', '.join((*KEY, *NUMBERS))}"
                raise InputError(place, repr(line[:80]), allowed, "Delete the line.")
            key = (study["subjects"], study["trials"], study["study"])
            found[key] = {
                name: math.nan if study[name] is None else float(study[name]) for name in NUMBERS
            }
    return found


def append_study(folder: Path, key: Key, found: Mapping[str, float]) -> None:
    """Add the result of one study, and bring it to the disk."""
    # What is undefined is null: JSON has no NaN.
    known = {name: value if math.isfinite(value) else None for name, value in found.items()}
    line = json.dumps({**dict(zip(KEY, key, strict=True)), **known}, allow_nan=False) + "\n"
    with (folder / STUDIES).open("ab", buffering=0) as file:
        file.write(line.encode("ascii"))
        os.fsync(file.fileno())


def stated_arguments(folder: Path) -> dict[str, Any] | None:
    """What the plan in a folder was made with; None where there is no plan."""
    path = folder / PLAN
    if not path.is_file():
        return None
    stated = parse_json(path.read_text(encoding="utf-8", errors="replace"), str(path))
    if not isinstance(stated, dict):
        raise InputError(str(path), type(stated).__name__, "an object", "Name another folder.")
    return stated


def cut_unfinished(path: Path) -> None:
    """Take away a last line that was not written to its end."""
    if path.exists():
        whole = path.read_bytes().rpartition(b"\n")
        if whole[2]:
            os.truncate(path, len(whole[0]) + len(whole[1]))


def is_study(value: object) -> bool:
    """Whether a value is what `append_study` writes."""
    if not isinstance(value, dict) or set(value) != {*KEY, *NUMBERS}:
        return False
    sizes = [value[name] for name in KEY]
    numbers = [value[name] for name in NUMBERS]
    return all(type(size) is int for size in sizes) and all(
        number is None or type(number) in (int, float) for number in numbers
    )


def plain(value: Any) -> Any:
    """A value as JSON gives it back."""
    return json.loads(json.dumps(value))
