"""Options of commands: a record whose fields are the options, and its docstring their help.

Function of a record → function of the options themselves, as typer reads them. Under "Parameters"
of the docstring, ``name : METAVAR`` and the help below it describe a field, its annotation and
default say the rest. A tuple of names is typed with commas; a bool that is False is a flag.
"""

import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from hmetad.errors import InputError

__all__ = [
    "CellOptions",
    "Format",
    "Limit",
    "MissingCodes",
    "Options",
    "Output",
    "PrintOptions",
    "TrialOptions",
    "as_command",
    "option_name",
    "split",
]

Format = Literal["table", "json", "csv", "markdown", "latex"]
Output = Annotated[Path | None, typer.Option("--output", "-o")]
MissingCodes = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUES", help="Codes that stand for a missing answer: 999,-1."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=N", help="Read larger files: set a limit that an error named."),
]
PrintAs = Annotated[
    Format | None,
    typer.Option(
        "--format", metavar="FORMAT", help=f"What is printed: {', '.join(get_args(Format))}."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Short for --format json.")]

# Options that begin each help, and those that end it: how an answer is drawn and given.
FIRST = ("by",)
LAST = ("ci_prob", "ci_kind", "draws", "seed", "output", "print_as", "as_json")
DESCRIBED = re.compile(r"^(\w+) : (\S+)\n((?:    .*\n?)+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a command, and the names of those that were typed."""

    typed: frozenset[str] = frozenset()

    def refuse_idle(self, **needs: str) -> None:
        """Refuse typed options that have no effect: by name, what they need, or nothing."""
        for name, lacking in needs.items():
            if lacking and name in self.typed:
                option = option_name(name)
                step = f"Else leave {option} out."
                raise InputError(option, "it without effect", lacking, step)


@dataclass(frozen=True, kw_only=True)
class PrintOptions(Options):
    """What is printed."""

    print_as: PrintAs = None
    as_json: AsJson = False

    @property
    def format(self) -> Format:
        """Format asked for by --format, or --json for short."""
        if self.as_json and self.print_as not in (None, "json"):
            got = f"--format {self.print_as} beside it"
            raise InputError("--json", got, "one of the two")
        return "json" if self.as_json else self.print_as or "table"


@dataclass(frozen=True, kw_only=True)
class TrialOptions(PrintOptions):
    """Files of trials, and how they are counted.

    Parameters
    ----------
    file : FILE
        Trials: .csv, .tsv, .jsonl or .parquet; a folder of them; or 'a quoted/*.pattern'.
    stimulus : COLUMN
        What was shown.
    response : COLUMN
        What was answered.
    confidence : COLUMN
        Ratings 1 to K.
    ratings : K
        Number of ratings; by default the largest rating in the file.
    levels : VALUES
        Values of confidence that are not 1 to K, the least confident first: 0,1,2,3 or
        guess,unsure,sure.
    quantiles : K
        Make K ratings from continuous confidence.
    quantiles_within : COLUMNS
        Take the quantiles within each level of these columns, such as model; not for models of
        people who differ.
    labels : S1,S2
        Labels of the stimuli; by default in sorted order.
    seed : N
        Same seed, same draws (same versions and caches).
    """

    file: Annotated[Path, typer.Argument()]
    stimulus: str = "stimulus"
    response: str = "response"
    confidence: str = "confidence"
    ratings: int | None = None
    levels: tuple[str, ...] = ()
    missing_codes: MissingCodes = None
    quantiles: int | None = None
    quantiles_within: tuple[str, ...] = ()
    limit: Limit = None
    labels: str = ""
    seed: Annotated[int | None, typer.Option(min=0)] = None


@dataclass(frozen=True, kw_only=True)
class CellOptions(TrialOptions):
    """Trials, and the columns that make cells of them.

    Parameters
    ----------
    by : COLUMNS
        Columns whose combinations are cells, comma-separated; subject=column renames one.
    """

    by: tuple[str, ...] = ()


def as_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Function whose arguments are the fields of the record it takes; any other as it is."""
    record: Any = next(iter(get_type_hints(function).values()))
    if not (isinstance(record, type) and issubclass(record, Options)):
        return function
    described = {
        name: (metavar, " ".join(text.split()))
        for one in reversed(record.__mro__)
        for name, metavar, text in DESCRIBED.findall(cleandoc(one.__doc__ or "") + "\n")
    }
    hints = get_type_hints(record, include_extras=True)
    options = [one for one in fields(record) if one.name != "typed"]
    options.sort(key=lambda one: rank_in_help(one.name))
    of_names = [one.name for one in options if get_origin(hints[one.name]) is tuple]

    def command(context: typer.Context, **given: Any) -> Any:
        given |= {name: tuple(split(given[name])) for name in of_names}
        return function(record(**given, typed=frozenset(typed_names(context))))

    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for one in options:
        annotation = typer_annotation(one.name, hints[one.name], *described.get(one.name, ("", "")))
        default = typer_default(one, is_names=one.name in of_names)
        parameters.append(
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    command.__doc__ = function.__doc__
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    # Typer reads it; type checkers do not know that functions have it.
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


def typer_annotation(name: str, hint: Any, metavar: str, text: str) -> Any:
    """Type and description of an option."""
    kind, info = hint, typer.Option()
    if get_origin(hint) is Annotated:
        kind, info = get_args(hint)[0], copy(get_args(hint)[1])
    elif kind is bool:
        info = typer.Option(option_name(name))
    elif get_origin(kind) is tuple:
        kind = list[str] | None
    info.help = info.help or text
    if kind is not bool:
        info.metavar = info.metavar or metavar or None
    return Annotated[kind, info]


def typer_default(one: "Field[Any]", *, is_names: bool) -> Any:
    """Default of a field; none of no names."""
    if one.default is MISSING:
        return Parameter.empty
    return None if is_names else one.default


def rank_in_help(name: str) -> int:
    """Where an option stands among those of a command; most are between the two ends, in order."""
    return LAST.index(name) + 1 if name in LAST else -(name in FIRST)


def typed_names(context: typer.Context) -> Iterator[str]:
    """Names of the options that were typed."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            yield name


def option_name(name: str) -> str:
    """Name of an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def split(names: list[str] | None) -> list[str]:
    """Names separated by commas, in one option or several."""
    return [name.strip() for part in names or () for name in part.split(",") if name.strip()]
