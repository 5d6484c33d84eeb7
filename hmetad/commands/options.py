"""Options of commands: a record whose fields are the options, and its docstring their help.

Function of a record → function of the options themselves, as typer reads them. Under "Parameters"
of the docstring, ``name : METAVAR`` and the help below it describe a field, its annotation and
default say the rest. A tuple of names is typed with commas; a bool that is False is a flag. Below
are the readers of texts that commands share.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature, cleandoc
from textwrap import indent
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from hmetad.base.errors import ChoiceError, InputError, NumberError, UnusedError

Chains = Annotated[int | None, typer.Option(min=4)]
Seed = Annotated[int | None, typer.Option(min=0)]
FixedSeed = Annotated[int, typer.Option(min=0)]

# Options of the command that runs.
KNOWN: ContextVar[Set[str]] = ContextVar("known", default=frozenset())
# Options that begin each help, and those that end it: how an answer is drawn and given.
FIRST = ("by",)
LAST = (
    *("probability", "half_width", "fail_if", "fail_unless", "gates", "ci_prob", "draws", "seed"),
    *("output", "print_as", "as_json"),
)
DESCRIBED = re.compile(r"^(\w+) : (\S+)\n((?:    .*\n?)+)", re.MULTILINE)
# Lines of help are broken after a hyphen or space, but not after these.
HYPHEN, SPACE = "\u2011", "\u00a0"
# For `str.translate`: what is printed in their place.
PLAIN = {ord(HYPHEN): "-", ord(SPACE): " "}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a command, and the names of those that were typed.

    What several commands have is described here.

    Parameters
    ----------
    correct : COLUMN
        Column that is 1 for a correct answer and 0 for an error.
    correction : NAME
        Correction for rates of 0 and 1: none, loglinear, cell, or a number that is added to each
        count.
    ci_prob : P
        Probability of the intervals.
    draws : N
        Posterior draws per chain. Default: 1000 or, if too few, more.
    seed : N
        Random seed; the same seed repeats the result (same versions and caches). Default: a new
        one, which --json prints.
    missing_codes : VALUES
        Values that stand for a missing answer: 999,-1.
    limit : NAME=N
        Raise a limit on file size that an error named: line=20000.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx.
    print_as : FORMAT
        Format to print: table, json, csv, markdown, latex. Default: table.
    as_json : FLAG
        Short for --format json.
    """

    typed: frozenset[str] = frozenset()

    def refuse_idle(self, **needs: str) -> None:
        """Refuse typed options that have no effect: by name, when they have one, or nothing."""
        for name, condition in needs.items():
            if condition and name in self.typed:
                raise UnusedError(option_name(name), condition)


def as_command(function: Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    """Function whose arguments are the fields of the record that it takes, and its examples.

    Of `Annotated[record, names]` they are the fields with these names.
    """
    hint = next(iter(get_type_hints(function, include_extras=True).values()))
    record, *names = get_args(hint) or (hint,)
    texts = {
        name: (metavar, " ".join(text.split()))
        for one in reversed(record.__mro__)
        for name, metavar, text in DESCRIBED.findall(cleandoc(one.__doc__ or "") + "\n")
    }
    hints = get_type_hints(record, include_extras=True)
    own = {*names[0]} if names else {*hints} - {"typed"}
    options = sorted((one for one in fields(record) if one.name in own), key=rank_in_help)
    of_names = [one.name for one in options if get_origin(hints[one.name]) is tuple]

    def command(context: typer.Context, **given: Any) -> Any:
        KNOWN.set({text for one in context.command.params for text in one.opts})
        given |= {name: tuple(split(given[name])) for name in of_names}
        return function(record(**given, typed=frozenset(typed_names(context))))

    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for one in options:
        annotation = typer_annotation(one.name, hints[one.name], *texts.get(one.name, ("", "")))
        default = Parameter.empty if one.default is MISSING else one.default
        default = None if one.name in of_names else default
        parameters.append(
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    text, _, examples = cleandoc(function.__doc__ or "").partition("\n\nExamples\n--------\n")
    command.__doc__ = unbroken(text)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    # Typer reads it; type checkers do not know that functions have it.
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command, indent(examples, "  ")


def typer_annotation(name: str, hint: Any, metavar: str, text: str) -> Any:
    """Type and description of an option."""
    kind, info = hint, typer.Option()
    if get_origin(hint) is Annotated:
        kind, info = get_args(hint)[0], copy(get_args(hint)[1])
    elif kind is bool:
        info = typer.Option(option_name(name))
    elif get_origin(kind) is tuple:
        kind = list[str] | None
    info.help = unbroken(text or info.help or "")
    if kind is not bool:
        info.metavar = metavar or info.metavar
    return Annotated[kind, info]


def unbroken(text: str) -> str:
    """Text of help whose names and examples in quotes or brackets are not broken over lines."""
    kept = re.sub(r"(?<!\w)'[^']*'|\([^()]{,12}\)", lambda it: it[0].replace(" ", SPACE), text)
    return kept.replace("-", HYPHEN)


def rank_in_help(option: Any) -> int:
    """Where an option stands among those of a command; most are between the two ends, in order."""
    name = option.name
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


def split(names: Iterable[str] | None) -> list[str]:
    """Names separated by commas, in one option or several."""
    return [name.strip() for part in names or () for name in part.split(",") if name.strip()]


@contextmanager
def options_named(names: Mapping[str, str]) -> Iterator[None]:
    """Errors name the option that was typed, where the argument at fault is called otherwise."""
    try:
        yield
    except InputError as error:
        error.argument = names.get(error.argument, error.argument)
        raise


def given_options(**options: Any) -> dict[str, Any]:
    """Options that were given; the others keep their defaults."""
    return {name: value for name, value in options.items() if value is not None}


def sampling_options() -> dict[str, Any]:
    """Progress on a terminal, silence in a pipe."""
    shows_progress = sys.stderr.isatty()
    return {"progressbar": shows_progress, "quiet": not shows_progress}


def parse_correction(correction: str) -> Any:
    """Correction by its name, or as a number."""
    try:
        return float(correction)
    except ValueError:
        return correction


def parse_limits(rope: str, form: str = "--rope={}") -> tuple[float, float]:
    """Two numbers separated by a comma, the lower first; errors write them in a form."""
    try:
        lower, upper = map(float, rope.split(","))
    except ValueError as error:
        step = f"Write {form.format('-0.05,0.05')}."
        raise NumberError("--rope", repr(rope), "two numbers", step) from error
    if not lower < upper:
        step = f"Write {form.format(f'{upper:g},{lower:g}')}." if upper < lower else ""
        raise NumberError("--rope", f"{lower:g},{upper:g}", "lower,upper with lower < upper", step)
    return lower, upper


def parse_numbers(option: str, text: str, kind: type[float] = float) -> list[Any]:
    """Numbers separated by commas, all of them integers if `kind` is int."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError as error:
        allowed = "integers" if kind is int else "numbers"
        raise NumberError(option, repr(text), f"{allowed}, separated by commas") from error


def parse_pairs(option: str, given: list[str] | None) -> dict[str, str] | None:
    """Names and values, ``a=b``, separated by commas, in one option or several."""
    if not given:
        return None
    pairs = [part.partition("=") for part in split(given)]
    for name, sign, _ in pairs:
        if not sign or not name:
            raise ChoiceError(option, repr(name), "name=value, separated by commas")
    return {name.strip(): value.strip() for name, _, value in pairs}
