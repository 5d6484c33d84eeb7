"""The command as a process: how it starts and ends, what its help and the README promise."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import refused
from typer.main import get_command

from hmetad.cli import COMMANDS, app
from hmetad.commands.options import PLAIN

HMETAD = [sys.executable, "-c", "from hmetad.cli import main; main()"]
README = Path(__file__).parents[1] / "README.md"
# Says when the main thread is inside of a library, so that no time has to be guessed.
WATCHED = """
import sys, threading, time
from hmetad.cli import main
main_thread = threading.get_ident()

def is_inside(name):
    frame = sys._current_frames()[main_thread]
    while frame is not None:
        if f"/{name}/" in frame.f_code.co_filename or frame.f_code.co_name == name:
            return True
        frame = frame.f_back
    return False

def watch(name):
    while not is_inside(name):
        time.sleep(0.01)
    print("inside", flush=True)

threading.Thread(target=watch, args=(sys.argv.pop(1),), daemon=True).start()
main()
"""


def run(*arguments, status=0):
    """Run the command in a process of its own."""
    done = subprocess.run([*HMETAD, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


def test_the_version_is_printed():
    assert run("--version").stdout.strip()


def test_bad_input_ends_in_one_line_and_status_two(tmp_path):
    done = run("fitt", status=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert "No such command" in done.stderr
    assert "hmetad fit" in refused(tmp_path, "compare nofile.nc --rope=-1,1")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["pandas", "fill_cells"])
def test_an_interrupt_ends_with_status_130_and_leaves_nothing(tmp_path, name):
    command = [sys.executable, "-c", WATCHED, name, "reproduce", "servajean2026"]
    pipe = subprocess.PIPE
    options = ["--draws", "500000", "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, *options], stdout=pipe, stderr=pipe, text=True)
    try:
        # While it loads its libraries, and while it samples; however busy the machine is.
        assert process.stdout.readline() == "inside\n"
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    assert (printed, said) == ("", "hmetad: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_the_command_starts_without_the_libraries_that_count():
    heavy = ("numpy", "pandas", "xarray", "scipy", "matplotlib", "rich", "pydantic")
    code = f"import sys, hmetad.cli; print([x for x in {heavy} if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def lines_of(text):
    """Command lines of a text, with those that go on put together."""
    joined = re.sub(r"\\\n\s*", "", text)
    found = [re.search(r"(?:^|run )hmetad (.+)", line) for line in joined.splitlines()]
    return [shlex.split(match[1].partition(" | jq")[0], comments=True) for match in found if match]


def readme_lines():
    """Command lines of the README's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in lines_of(block)]


def commands_of(group, *above):
    """Every command, with the names that lead to it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, *above, name)
        else:
            yield " ".join((*above, name)), command


BUILT = dict(commands_of(get_command(app)))


def example_lines():
    """Command lines at the foot of each command's help."""
    return [line for command in BUILT.values() for line in lines_of(command.epilog)]


def test_the_readme_shows_the_commands_it_speaks_of():
    assert {line[0] for line in readme_lines()} >= {"fit", "measures", "compare", "import"}


@pytest.mark.parametrize("line", [*readme_lines(), *example_lines()], ids=shlex.join)
def test_every_command_line_that_is_shown_can_be_parsed(line):
    command = get_command(app)
    while hasattr(command, "commands"):
        name, *line = line
        command = command.commands[name]
    command.make_context(name, line)


def test_groups_list_what_the_help_of_each_command_begins_with():
    assert {name: COMMANDS[name] for name in BUILT} == {
        name: command.help.translate(PLAIN).partition("\n")[0] for name, command in BUILT.items()
    }
    assert set(COMMANDS) == {*BUILT, "import", "plan"}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_its_width_and_says_all_there_is_of_each_option_without_a_broken_name(
    name, width
):
    command = get_command(app)
    for part in name.split():
        command = command.commands[part]
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=width)
    text, _, examples = command.get_help(context).partition("Examples:")
    assert max(map(len, text.splitlines())) <= width
    assert "..." not in text.replace("]...", "").replace("}...", "")
    words = " ".join(text.split())
    for parameter in command.params:
        assert parameter.help
        assert " ".join(parameter.help.translate(PLAIN).split()) in words
    assert (f"hmetad {name}" in examples) == (name in BUILT)


# What the columns and ratings of a file are; and what is drawn, printed and written.
SHARED = {
    *("--ratings", "--levels", "--quantiles", "--quantiles-within", "--labels", "--options"),
    *("--missing-codes", "--grades", "--seed", "--output", "--format", "--json", "--help"),
}


@pytest.mark.parametrize("command", [pytest.param(one, id=name) for name, one in BUILT.items()])
def test_a_command_has_few_options_of_its_own(command):
    options = [one for one in command.params if one.param_type_name == "option"]
    own = [one for one in options if not str(one.metavar).startswith("COLUMN")]
    assert len([one for one in own if one.opts[0] not in SHARED]) <= 14
