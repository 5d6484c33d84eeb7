"""Options of the command line, checked before the work begins.

Text of options → values, or an error that names the option.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmetad.commands.options import split
from hmetad.errors import InputError, nearest
from hmetad.files import found_in, is_table, refuse_place, would_find

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "DATA_FILES",
    "REPORTS",
    "STORE",
    "as_seed",
    "cell_heading",
    "columns_of",
    "given_options",
    "options_named",
    "output_file",
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
    "refuse_codes",
    "refuse_inputs",
    "refuse_kept",
    "sampling_options",
    "writable_file",
    "writable_folder",
]

# Suffixes of outputs: the rows of an answer, and pages about it.
DATA_FILES = (".csv", ".json")
REPORTS = (".html", ".md", ".tex", ".docx")
# What only a folder of draws holds. hmetad.bayes.store names it too, but takes seconds to import.
STORE = ("fit.json", "draws.zarr")
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


def parse_by(given: Iterable[str] | None) -> list[str] | dict[str, str]:
    """Columns, or the names that a model card has for them: ``subject=participant,task``."""
    parts = split([*(given or ())])
    if not any("=" in part for part in parts):
        return parts
    return {
        part.partition("=")[0].strip(): part.partition("=")[2].strip() or part for part in parts
    }


def columns_of(by: list[str] | dict[str, str]) -> list[str]:
    """Columns of the file that are grouped by."""
    return list(by.values()) if isinstance(by, dict) else by


def cell_heading(by: Iterable[str]) -> str:
    """Heading over labels of cells: the names of the columns that make them."""
    return " | ".join(parse_by(by)) or "cell"


def parse_formulas(given: list[str] | None) -> str | dict[str, str] | None:
    """Formula of M, or of each parameter named: ``dprime=1 + task + (1|subject)``."""
    if not given:
        return None
    # Options of functions have "=" too: T(task, ref='a').
    named = [text.partition("=") for text in given]
    is_named = [bool(sign) and name.strip().isidentifier() for name, sign, _ in named]
    if is_named == [False]:
        return given[0]
    formulas = {}
    for text, (name, _, formula) in zip(given, named, strict=True):
        if not all(is_named):
            step = "Write --formula 'log_m=1 + task + (1|subject)', once for each parameter."
            raise InputError("--formula", repr(text), "parameter=formula", step)
        formulas[name.strip()] = formula.strip()
    return formulas


def refuse_codes(formulas: Iterable[str], cells: "xr.DataArray | xr.Dataset") -> None:
    """Refuse codes that stand alone in a formula: in a file, numbers and names are both text."""
    # Their parser takes a second to import.
    reader = import_module("hmetad.specs.formula")
    for parsed in map(reader.parse_formula, formulas):
        for part in (parsed.common, *(term.expression for term in parsed.group_terms)):
            for name in sorted(part.bare & {*map(str, cells.coords)}):
                values = dict.fromkeys(cells[name].values.tolist())
                if all(isinstance(x, str) and is_number(x) for x in values):
                    got = f"{name!r} alone, whose values are numbers: {', '.join([*values][:3])}"
                    own = reader.quote(name)
                    allowed = f"C({own}), a value for each level, or scale({own}), a slope"
                    raise InputError("--formula", got, allowed)


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


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


def output_file(output: Path | None, suffixes: Iterable[str], *inputs: Path | None) -> list[Path]:
    """The output in a list, checked before the work begins: it is no input; or none."""
    if output is None:
        return []
    path = writable_file(output, *suffixes)
    refuse_inputs(path, *(given for given in inputs if given is not None))
    return [path]


def refuse_inputs(output: Path, *inputs: Path, is_read: Callable[[str], bool] = is_table) -> None:
    """Refuse an output that is an input, by whatever name or link, or would be one the next time.

    Inputs are files, folders and patterns, of which all files are read whose name `is_read`; and
    folders in which a fit is kept. Beside a page in Markdown or LaTeX go tables and figures.
    """
    beside = [output.with_name(f"{output.stem}_{kind}") for kind in ("tables", "figures")]
    for given in inputs:
        if any((given / name).exists() for name in STORE):
            refuse_kept(output, given)
        found = found_in(given)
        files = found if found == [given] else [file for file in found if is_read(file.name)]
        if output.exists() and any(file.exists() and output.samefile(file) for file in files):
            step = "It would be lost: name another."
            raise InputError("--output", f"the input {str(output)!r}", "another file", step)
        parents = {file.absolute().parent for file in files}
        if output.suffix in REPORTS and parents & {folder.absolute() for folder in beside}:
            step = "Tables and figures are written there: name another."
            raise InputError("--output", f"{str(output)!r} beside the input", "another file", step)
        new = beside[0] / "table.csv" if output.suffix in (".md", ".tex") else output
        if is_read(new.name) and would_find(given, new):
            got = f"{str(output)!r}, where {str(given)!r} would read it the next time"
            raise InputError("--output", got, "a file elsewhere", "Write it to another folder.")


def refuse_kept(output: Path, folder: Path) -> None:
    """Refuse an output in a folder in which draws or studies of a run are kept."""
    if Path(os.path.realpath(output)).is_relative_to(os.path.realpath(folder)):
        got = f"{str(output)!r}, in which folder {str(folder)!r} keeps a run"
        raise InputError("--output", got, "a file elsewhere", "Write it to another folder.")


def writable_folder(folder: Path) -> Path:
    """Folder that takes files, or could be made; nothing is made yet."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return folder
    except OSError as error:
        got = f"{str(folder)!r} ({error.strerror or type(error).__name__})"
        raise InputError("output folder", got, "a folder that can be written to") from error
