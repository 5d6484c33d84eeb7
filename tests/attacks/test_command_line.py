"""Whatever is typed, a command ends with 0 or 2, and says in one line what is wrong."""

import contextlib
import io
import shutil
from itertools import chain
from unicodedata import category
from unittest import mock

from hypothesis import strategies as st

import hmetad
from hmetad.base.errors import InputError
from hmetad.cli import COMMANDS, outcome

# Of every command, options by their kind; `fit` and `plan` do not get as far as drawing.
FLAGS = ["--json", "--rank", "--sensitivity", "--meta-d", "--interval", "--help", "--version"]
WORDS = """
--by --var --over --within --rope --format -o --output --seed --draws --model --formula --stimulus
--response --confidence --ratings --quantiles --labels --correct --against --null --columns
--words --scale --m-ratio --trials --data --out --ci-prob --subjects --question --effect --pilot
--resume --pool --se --link --matrix --bayes-factor --cluster --target-accept
--covariates
"""
OPTIONS = WORDS.split()
VALUES = ["trials.csv", "made.nc", "none.csv", "model", "domain", "model,domain", "log_m", "dprime"]
VALUES += ["", " ", ",", "=", "a=b", "0", "-1", "4", "1e11", "nan", "inf", "1e400", "0.95"]
VALUES += ["20,40", "-0.1,0.1", "0.1,-0.1", "table", "inspect", "csv", "json", "latex", "x=1"]
VALUES += ["out.csv", "out.html", "out.nc", "no/out.csv", "trials.csv/x", ".", "/", "/dev/null"]
VALUES += ["log_m=1 + os.system('touch owned')", "1 + (1|subject)", "columns=0", "columns=5"]
VALUES += ["\x00", "\x1b[31m", "é", "\ud800", "x" * 5000, "-", "--", "~", "$HOME", "*", "'", '"']


# What takes long, or a network.
LONG = [(hmetad, "fit"), (hmetad, "sensitivity"), (hmetad.bayes, "fit_estimates")]
LONG += [(hmetad.simulate, "plan_trials"), (hmetad.datasets, "load_trials")]
LONG += [(hmetad.simulate, "plan_groups")]
commands = st.sampled_from([name for name in COMMANDS if name != "reproduce"])
words = st.one_of(st.sampled_from(VALUES), st.sampled_from(VALUES), st.text(max_size=6))
options = st.one_of(
    st.sampled_from(FLAGS).map(lambda flag: [flag]),
    st.tuples(st.sampled_from(OPTIONS), words).map(list),
    words.map(lambda word: [word]),
)
SENSIBLE = [
    ["measures", "trials.csv", "--by", "model"],
    ["compare", "made.nc", "--over", "model", "--rope=-0.1,0.1"],
    ["fit", "trials.csv", "--by", "model"],
    ["import", "table", "trials.csv", "-o", "out.csv"],
    ["report", "made.nc", "-o", "out.html"],
    ["reproduce", "none"],
    ["estimates", "trials.csv", "--formula", "confidence ~ 1 + (1 | model)", "--se", "confidence"],
    ["models"],
]
lines = st.one_of(
    st.tuples(commands.map(str.split), st.lists(options, max_size=5)),
    st.tuples(st.sampled_from(SENSIBLE), st.lists(options, max_size=2)),
).map(lambda x: [*x[0], *chain.from_iterable(x[1])])


def attack_in(inputs, folder):
    """What becomes of a command line: its exit status, said in one line where it is 2."""
    shutil.copytree(inputs, folder, dirs_exist_ok=True)
    before = {path.name: path.read_bytes() for path in inputs.iterdir()}
    not_drawn = mock.Mock(side_effect=InputError("draws", "a call", "none in this test"))

    def attack(arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.chdir(folder))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            for module, name in LONG:
                stack.enter_context(mock.patch.object(module, name, not_drawn))
            status = outcome(arguments)
        assert {name: (folder / name).read_bytes() for name in before} == before, arguments
        assert not (folder / "owned").exists(), arguments
        said = err.getvalue()
        if status == 2:
            lines = [line for line in said.splitlines() if line.startswith("hmetad: ")]
            assert len(lines) == 1, (arguments, said)
            assert not {category(sign) for sign in lines[0]} & {"Cc", "Cs"}, (arguments, said)
        return f"exit {status}"

    return attack


def test_any_command_line_ends_well(tally, inputs, tmp_path):
    # PyTensor, which some of them import, raises the recursion limit that hypothesis keeps.
    assert callable(hmetad.build_model)
    ends = tally(lines, attack_in(inputs, tmp_path), examples=50, minutes=4)
    assert set(ends) == {"exit 0", "exit 2"}
