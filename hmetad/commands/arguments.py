"""Options of the command line, checked before the work begins.

Text of options → values, or an error that names the option.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from hmetad.errors import InputError, nearest
from hmetad.files import refuse_place

__all__ = [
    "DATA_FILES",
    "REPORTS",
    "as_seed",
    "columns_of",
    "given_options",
    "options_named",
    "parse_by",
    "parse_choices",
    "parse_correction",
    "parse_formulas",
    "parse_grades",
    "parse_level",
    "parse_limits",
    "parse_numbers",
    "parse_pairs",
    "parse_scale",
    "parse_words",
    "refuse_idle",
    "refuse_inputs",
    "sampling_options",
    "split",
    "writable_file",
    "writable_folder",
]

# Suffixes of outputs: the rows of an answer, and pages about it.
DATA_FILES = (".csv", ".json")
REPORTS = (".html", ".md", ".tex", ".docx")
# Scales of stated confidence that have a name.
SCALES = ("probability", "percent")


@contextmanager
def options_named(names: Mapping[str, str]) -> Iterator[None]:
    """Errors name what was typed, where the argument at fault is called otherwise."""
    try:
        yield
    except InputError as error:
        if error.argument not in names:
            raise
        named = names[error.argument]
        raise InputError(named, error.got, error.allowed, error.next_step) from error


def given_options(**options: Any) -> dict[str, Any]:
    """Options that were given; the others keep their defaults."""
    return {name: value for name, value in options.items() if value is not None}


def refuse_idle(context: typer.Context, **needs: str) -> None:
    """Refuse options that were typed and have no effect: by name, what they need, or nothing."""
    for name, lacking in needs.items():
        source = context.get_parameter_source(name)
        if lacking and source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise InputError(option, "it without effect", lacking, f"Else leave {option} out.")


def split(names: list[str] | None) -> list[str]:
    """Names separated by commas, in one option or several."""
    return [name.strip() for part in names or () for name in part.split(",") if name.strip()]


def parse_correction(correction: str) -> Any:
    """Correction by its name, or as a number."""
    try:
        return float(correction)
    except ValueError:
        return correction


def parse_limits(rope: str) -> tuple[float, float]:
    """Two numbers separated by a comma, the lower first."""
    try:
        lower, upper = map(float, rope.split(","))
    except ValueError as error:
        raise InputError("--rope", repr(rope), "two numbers", "Write --rope=-0.05,0.05.") from error
    if not lower < upper:
        step = f"Write --rope={upper:g},{lower:g}." if upper < lower else ""
        raise InputError("--rope", f"{lower:g},{upper:g}", "lower,upper with lower < upper", step)
    return lower, upper


def parse_numbers(option: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(option, repr(text), "numbers, separated by commas") from error


def parse_pairs(option: str, given: list[str] | None) -> dict[str, str] | None:
    """Names and values, ``a=b``, separated by commas, in one option or several."""
    if not given:
        return None
    pairs = [part.partition("=") for part in split(given)]
    for name, sign, _ in pairs:
        if not sign or not name:
            raise InputError(option, repr(name), "name=value, separated by commas")
    return {name.strip(): value.strip() for name, _, value in pairs}


def parse_by(given: list[str] | None) -> list[str] | dict[str, str]:
    """Columns, or the names that a model card has for them: ``subject=participant,task``."""
    parts = split(given)
    if not any("=" in part for part in parts):
        return parts
    return {
        part.partition("=")[0].strip(): part.partition("=")[2].strip() or part for part in parts
    }


def columns_of(by: list[str] | dict[str, str]) -> list[str]:
    """Columns of the file that are grouped by."""
    return list(by.values()) if isinstance(by, dict) else by


def parse_formulas(given: list[str] | None) -> str | dict[str, str] | None:
    """Formula of M, or of each parameter named: ``dprime=1 + task + (1|subject)``."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    formulas = {}
    for text in given:
        name, sign, formula = text.partition("=")
        if not sign:
            step = "Write --formula 'log_m=1 + task + (1|subject)', once for each parameter."
            raise InputError("--formula", repr(text), "parameter=formula", step)
        formulas[name.strip()] = formula.strip()
    return formulas


def parse_words(given: list[str] | None) -> dict[str, float] | None:
    """Words for confidence and the probabilities they stand for."""
    pairs = parse_pairs("--words", given)
    if pairs is None:
        return None
    try:
        return {name: float(value) for name, value in pairs.items()}
    except ValueError as error:
        step = 'Write --words "very likely=0.9,unsure=0.5".'
        raise InputError("--words", repr(given), "a number for each word", step) from error


def parse_grades(given: list[str] | None) -> dict[str, bool] | None:
    """Grades of a scorer, and whether they are right."""
    pairs = parse_pairs("--grades", given)
    if pairs is None:
        return None
    meaning = {"true": True, "false": False, "right": True, "wrong": False}
    meaning |= {"correct": True, "incorrect": False}
    for name, value in pairs.items():
        if value.lower() not in meaning:
            step = "Write --grades yes=true,no=false."
            raise InputError("--grades", f"{name}={value}", "true or false for each grade", step)
    return {name: meaning[value.lower()] for name, value in pairs.items()}


def parse_choices(option: str, given: str | None) -> str | dict[str, str] | None:
    """One choice for all tasks, or one for each: ``gsm8k=strict-match,arc=none``."""
    return parse_pairs(option, [given]) if given and "=" in given else given


def parse_scale(scale: str | None) -> Any:
    """Scale of stated confidence: its name, its top, or both ends."""
    if scale is None:
        return None
    try:
        ends = [float(end) for end in scale.split(",")]
    except ValueError:
        ends = []
    if scale not in SCALES and len(ends) not in (1, 2):
        allowed = f"{', '.join(SCALES)}, a number that is its top, or both ends such as 1,7"
        raise InputError("--scale", repr(scale), allowed)
    return scale if scale in SCALES else ends[0] if len(ends) == 1 else tuple(ends)


def parse_level(levels: Mapping[str, Any], over: str, against: str | None) -> Any:
    """Level of a coordinate, in the type that the coordinate has; as it is where none is known."""
    if against is None or not levels:
        return against
    if against not in levels:
        raise InputError("--against", repr(against), f"a level of {over}", nearest(against, levels))
    return levels[against]


def as_seed(recorded: Any) -> int | None:
    """Seed as a number, where a result has recorded one."""
    return int(recorded) if str(recorded).isdigit() else None


def sampling_options() -> dict[str, Any]:
    """Progress on a terminal, silence in a pipe."""
    shows_progress = sys.stderr.isatty()
    return {"progressbar": shows_progress, "quiet": not shows_progress}


def writable_file(path: Path, *suffixes: str) -> Path:
    """Path of an output, checked before the work begins."""
    if path.suffix not in suffixes:
        allowed = ", ".join(suffixes)
        raise InputError("--output", repr(str(path)), f"a name that ends in {allowed}")
    if path.is_dir():
        raise InputError("--output", f"the folder {str(path)!r}", "a file")
    if not path.parent.is_dir():
        raise InputError("--output", repr(str(path)), "a file in a folder that exists")
    refuse_place(path)
    writable_folder(Path(os.path.realpath(path)).parent)
    return path


def refuse_inputs(output: Path, *inputs: Path) -> None:
    """Refuse an output that is one of the inputs, by whatever name or link, or a fit in one."""
    beside = {output.with_name(f"{output.stem}_{kind}") for kind in ("figures", "tables")}
    for given in inputs:
        is_folder = given.is_dir()
        files = [*given.rglob("*.nc"), *given.rglob("fit.json")] if is_folder else [given]
        if output.exists() and any(file.exists() and output.samefile(file) for file in files):
            step = "It would be lost: name another."
            raise InputError("--output", f"the input {str(output)!r}", "another file", step)
        if output.suffix in REPORTS and given.absolute().parent in {
            folder.absolute() for folder in beside
        }:
            step = "Tables and figures are written there: name another."
            raise InputError("--output", f"{str(output)!r} beside the input", "another file", step)


def writable_folder(folder: Path) -> Path:
    """Folder that takes files, or could be made; nothing is made yet."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return folder
    except OSError as error:
        got = f"{str(folder)!r} ({error.strerror or type(error).__name__})"
        raise InputError("output folder", got, "a folder that can be written to") from error
