"""The command line: parse, call a command, and end well.

Arguments → exit status. Bad input ends in one line on standard error and exit status 2, an
interrupt in 130, termination in 143.
"""

import atexit
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version as distribution_version
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from hmetad.base.errors import FileError, InputError
from hmetad.base.lazy import import_on_call, postpone
from hmetad.base.process import USAGE, at_the_end, begin_command, end, said_of_end, silence
from hmetad.commands.options import KNOWN, PLAIN, as_command, option_name

INTERRUPTED = 130
# Bytes that a cache takes at least.
ROOM = 1_000_000
PACKAGE = str(Path(__file__).parent)
# Summary of each command, in the order of the work.
COMMANDS = {
    "import": "Convert evaluation logs, tables and public data sets to trials.",
    "import lm-eval": "Convert sample logs of lm-evaluation-harness to trials.",
    "import inspect": "Convert logs of Inspect, .eval or .json, to trials.",
    "import lighteval": "Convert details of lighteval, .parquet, to trials.",
    "import helm": "Convert runs of HELM to trials.",
    "import matlab": "Convert Matlab files of HMeta-d, .mat, to trials.",
    "import table": "Convert tables to trials, or guess what their columns are.",
    "import dataset": "Fetch a public data set, and write its trials.",
    "fit": "Fit a Bayesian meta-d′ model, individual or hierarchical, and save it.",
    "measures": "Compute d′, AUROC2, meta-d′, calibration and other measures of each cell.",
    "judge": "Measure judges of outputs: how well they tell good from bad, strictness, pass rates.",
    "compare": "Compare models, conditions or groups, and decide each difference by a ROPE.",
    "report": "Write a report of one fit, or of all fits in a folder.",
    "estimates": "Fit a hierarchical model (meta-analysis) to estimates with standard errors.",
    "select": "Compare ten models of how confidence arises, fitted to each participant.",
    "reliability": "Estimate the reliability of measures, from halves of trials.",
    "plan": "Plan a study: its trials, its participants, or the labels of a judge.",
    "plan trials": "Plan the number of trials of single cells, by simulation.",
    "plan groups": "Plan the number of participants of a hierarchical model, by simulation.",
    "plan pass-rate": "Plan the number of human labels for a pass rate by a judge's verdicts.",
    "plan judges": "Plan the number of human labels that tell the d′ of two judges apart.",
    "models": "List the models that hmetad fit has (model cards).",
    "notices": "Explain notices: what a code means, and what to do about it.",
    "reproduce": "Recompute a paper, and compare each published number with ours.",
}
MORE_HELP = {
    "import": "\n\nThe kind may be omitted if the name of the file shows it: hmetad import "
    "run.eval -o trials.csv.",
    "plan": "",
}
# Modules of commands that are not called like the first word of the command.
MODULES = {"import": "import_log", "estimates": "fit", "models": "fit"}
MODULES |= {"report": "fits", "notices": "fits"}
MODULES |= {"select": "participants", "reliability": "participants"}
# Help without boxes: in 80 columns their frames leave no room for words.
PLAIN_HELP: dict[str, Any] = {"rich_markup_mode": None}
named_kind: Callable[..., Any] = import_on_call("hmetad.commands.import_log", "named_kind")
say: Callable[..., Any] = import_on_call("hmetad.report.terminal", "say")


class Commands(Mapping[str, Any]):
    """Commands of a group by name, each imported and built when it is used."""

    def __init__(self, group: str) -> None:
        paths = [(path, *path.rpartition(" ")) for path in COMMANDS]
        self.paths = {name: path for path, parent, _, name in paths if parent == group}

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, name: str) -> Any:
        path = self.paths[name]
        if path in MORE_HELP:
            kind = ImportGroup if path == "import" else Group
            return kind(name=path, help=COMMANDS[path] + MORE_HELP[path], **PLAIN_HELP)
        first = path.split()[0]
        module = import_module(f"hmetad.commands.{MODULES.get(first, first)}")
        command, examples = as_command(getattr(module, re.sub("[ -]", "_", path)))
        built = typer.Typer(add_completion=False, **PLAIN_HELP)
        # \b keeps lines as they are.
        built.command(name, cls=Command, epilog=f"\b\nExamples:\n{examples}")(command)
        return typer.main.get_command(built)


class ReadableHelp:
    """Help that has no types of Python, and breaks no line within a name."""

    def get_help(self, ctx: Any) -> str:
        """Help as it is printed."""
        # It stands before a class of typer, which has the method.
        text: str = super().get_help(ctx)  # type: ignore[misc]
        text = re.sub(r" <[a-z\[\]]+>", lambda found: " " * len(found[0]), text)
        return text.translate(PLAIN)


class Command(ReadableHelp, TyperCommand):
    """A command."""


class Group(ReadableHelp, TyperGroup):
    """Commands, whose help is printed if none is named."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Typer declares a dict; this mapping imports a command when it is looked up.
        self.commands = Commands(self.name or "")  # type: ignore[assignment]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Arguments that are left for the command."""
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, _: Any) -> list[str]:
        """Names of the commands."""
        return [*self.commands]

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write names and summaries, without importing the commands."""
        paths = Commands(self.name or "").paths
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[path]) for name, path in paths.items()])


class ImportGroup(Group):
    """A command for each kind of log; the name of a file may stand for its kind."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Arguments that are left for the command."""
        if args and args[0].startswith("-") and args[0] != "--help":
            step = "Write: hmetad import PATH -o trials.csv."
            raise FileError("KIND", args[0], "a kind of log, or the path, before options", step)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first argument, or of the kind of log that it names."""
        is_kind = args[0] in self.commands
        return super().resolve_command(ctx, args if is_kind else [named_kind(args), *args])


app = typer.Typer(
    cls=Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    **PLAIN_HELP,
)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Measure metacognitive efficiency (meta-d′, M-ratio) of people and language models."""
    if version:
        print(distribution_version("hmetad"))
        raise typer.Exit


def main() -> NoReturn:
    """Run the command line, and end the process with its status."""
    begin_command()
    postpone("pandas", "xarray")
    # No command has arrays of Dask, which xarray would import to recognise them. None, which types
    # of sys.modules do not allow, makes that import fail.
    sys.modules["dask"] = None  # type: ignore[assignment]
    # Semaphores of workers that are interrupted are freed for us; that is no news to a user.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    warnings.showwarning = lambda message, *_, **__: say(f"hmetad: {message}")
    end(outcome(sys.argv[1:]))


def outcome(arguments: Sequence[str]) -> int:
    """Exit status of a command; what a user can mend is said in one line."""
    try:
        keep_caches()
        status: int | None = app(list(arguments), standalone_mode=False)
    except InputError as error:
        option = option_name(error.argument)
        named = option if option in KNOWN.get() else error.argument
        step = error.shell_step or error.next_step
        return report_failure(error.message(named, step), USAGE)
    except TyperException as error:
        return report_failure(error.format_message(), USAGE)
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing may be flushed there any more.
        silence(sys.stdout)
        return 0
    except OSError as error:
        return report_failure(f"{error.filename or 'output'}: {error.strerror or error}", USAGE)
    except MemoryError as error:
        return report_failure(f"There is not enough memory. {error}", USAGE)
    except KeyboardInterrupt:
        status = INTERRUPTED
    return report_failure(said_of_end(), INTERRUPTED) if status == INTERRUPTED else status or 0


def keep_caches() -> None:
    """Name a temporary folder, and report it, for caches that cannot be written.

    PyTensor, Numba and matplotlib would stop, or print several lines. The folder is of this run
    alone, and goes when it ends: what is compiled there is run, and nobody else may put it there.
    """
    parts = (part.partition("=") for part in os.environ.get("PYTENSOR_FLAGS", "").split(","))
    flags = {name.strip(): value.strip() for name, _, value in parts if name.strip()}
    # Without a folder named for it Numba takes one beside the code, else one at home.
    numba, figures = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("MPLCONFIGDIR")
    is_kept = {
        "PYTENSOR_FLAGS": is_usable(flags.get("base_compiledir", "~/.pytensor")),
        "NUMBA_CACHE_DIR": any(map(is_usable, [numba] if numba else [PACKAGE, "~/.cache"])),
        "MPLCONFIGDIR": all(map(is_usable, [figures] if figures else ["~/.config", "~/.cache"])),
    }
    if all(is_kept.values()):
        return
    lost = [name for name, kept in is_kept.items() if not kept]
    say(f"hmetad: No room for caches: this run keeps none. Free space, or set {', '.join(lost)}.")
    try:
        folder = Path(tempfile.mkdtemp(prefix="hmetad-"))
    except OSError:
        return
    for name in lost:
        part = folder / name.lower()
        part.mkdir()
        os.environ[name] = str(part)
        if name == "PYTENSOR_FLAGS":
            named = {**flags, "base_compiledir": str(part)}
            os.environ[name] = ",".join(f"{flag}={value}" for flag, value in named.items())
    remove = partial(rmtree, folder, ignore_errors=True)
    at_the_end.append(remove)
    atexit.register(remove)


def is_usable(folder: str) -> bool:
    """Whether a folder has room, or can be made where it is missing; "~" may be nobody's home.

    Examples
    --------
    >>> is_usable(tempfile.gettempdir()), is_usable(__file__)
    (True, False)
    """
    path = Path(os.path.expanduser(folder))
    if path.parts[:1] == ("~",):
        return False
    path = path.absolute()
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    try:
        with tempfile.TemporaryFile(dir=there, buffering=0) as file:
            return file.write(bytes(ROOM)) == ROOM
    except OSError:
        return False


def report_failure(message: str, status: int) -> int:
    """The status, after one line on standard error."""
    if message:
        say("hmetad: " + " ".join(message.split()))
    return status
