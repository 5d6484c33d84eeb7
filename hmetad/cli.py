"""The command line: parse, call a command, and end well.

Arguments → exit status. Bad input ends in one line on standard error and exit status 2, an
interrupt in 130, termination in 143.
"""

import atexit
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version as distribution_version
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from hmetad.base.errors import InputError
from hmetad.base.process import USAGE, at_the_end, begin_command, end, said_of_end, silence
from hmetad.commands import (
    compare,
    fit,
    import_log,
    measures,
    notices,
    plan,
    reliability,
    report,
    reproduce,
    select,
)
from hmetad.commands.options import (
    KNOWN,
    Command,
    Group,
    as_command,
    option_name,
)
from hmetad.report.terminal import say

__all__ = ["app", "main", "outcome"]

INTERRUPTED = 130
PACKAGE = str(Path(__file__).parent)
COMMANDS: dict[str, Callable[..., Any]] = {
    "import lm-eval": import_log.import_lm_eval,
    "import inspect": import_log.import_inspect,
    "import lighteval": import_log.import_lighteval,
    "import helm": import_log.import_helm,
    "import matlab": import_log.import_matlab,
    "import table": import_log.import_table,
    "import dataset": import_log.import_dataset,
    "measures": measures.measures,
    "reliability": reliability.reliability,
    "fit": fit.fit,
    "estimates": fit.estimates,
    "compare": compare.compare,
    "select": select.select,
    "report": report.report,
    "models": fit.models,
    "notices": notices.notices,
    "plan trials": plan.plan_trials,
    "plan groups": plan.plan_groups,
    "reproduce": reproduce.reproduce,
}


# Help without boxes: in 80 columns their frames leave no room for words.
PLAIN_HELP: dict[str, Any] = {"cls": Group, "rich_markup_mode": None}
app = typer.Typer(
    **PLAIN_HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)
IMPORT_HELP = (
    "Convert evaluation logs, tables and public data sets to trials. The kind may be left out if "
    "the name of the file shows it: hmetad import run.eval -o trials.csv."
)
GROUPS = {
    "import": typer.Typer(
        **{**PLAIN_HELP, "cls": import_log.ImportGroup},
        help=IMPORT_HELP,
        short_help="Convert logs, tables and data sets to trials.",
    ),
    "plan": typer.Typer(
        **PLAIN_HELP, help="Plan a study, by simulation: its trials, or its people."
    ),
}


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Measure metacognitive efficiency (meta-d′, M-ratio) of people and language models."""
    if version:
        print(distribution_version("hmetad"))
        raise typer.Exit


for name, command in COMMANDS.items():
    function, examples = as_command(command)
    # Typer cuts a sentence short that is not given as one; \b keeps lines as they are.
    first = (function.__doc__ or "").partition("\n")[0]
    group, _, own = name.rpartition(" ")
    parent = GROUPS[group] if group else app
    parent.command(
        own,
        cls=Command,
        short_help=first,
        epilog=f"\b\nExamples:\n{examples}",
    )(function)

for name, commands in GROUPS.items():
    app.add_typer(commands, name=name)


def main() -> NoReturn:
    """Run the command line, and end the process with its status."""
    begin_command()
    end(outcome(sys.argv[1:]))


def outcome(arguments: Sequence[str]) -> int:
    """Exit status of a command; what a user can mend is said in one line."""
    try:
        keep_caches()
        status: int | None = app(list(arguments), standalone_mode=False)
    except InputError as error:
        return report_failure(as_typed(error), USAGE)
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
    """Name a temporary folder for caches of compiled code that cannot be written.

    PyTensor, Numba and matplotlib would stop, or say so in several lines. The folder is of this run
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
    folder = Path(tempfile.mkdtemp(prefix="hmetad-"))
    for name in (name for name, kept in is_kept.items() if not kept):
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
    """Whether a folder can be written to, or made where it is missing; "~" may be nobody's home.

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
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def report_failure(message: str, status: int) -> int:
    """The status, after one line on standard error."""
    if message:
        say("hmetad: " + " ".join(message.split()))
    return status


def as_typed(error: InputError) -> str:
    """Text of an error in the words of the command line."""
    option = option_name(error.argument)
    named = option if option in KNOWN.get() else error.argument
    return error.message(named, error.shell_step or error.next_step)
