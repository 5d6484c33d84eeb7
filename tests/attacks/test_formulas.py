"""A formula from a stranger runs nothing, whichever way it comes in."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import refused
from hypothesis import strategies as st

import hmetad
from hmetad.base.errors import InputError
from hmetad.specs.design import parse_design
from hmetad.specs.formula import FUNCTIONS, MAX_LENGTH

# {run} stands for a command that leaves a file behind.
HOSTILE = [
    *("1 + pd.io.common.os.system({run})", "1 + np.lib.npyio.os.system({run})"),
    "1 + xr.backends.file_manager.atexit.os.system({run})",
    "1 + scale(pd.io.common.os.system({run}))",
    *("1 + scale(np.lib.npyio.os.system({run}) + age)", "1 + C(np.lib.npyio.os.system({run}))"),
    "1 + C(task, pd.io.common.os.system({run}))",
    *("1 + (pd.io.common.os.system({run}) | subject)", "1 + (1 | pd.io.common.os.system({run}))"),
    "1 + (1 + np.lib.npyio.os.system({run}) || subject)",
    *("0 + np.lib.npyio.os.system({run}):task", "task * pd.io.common.os.system({run})"),
    *("1 + I(pd.io.common.os.system({run}))", "1 + {{pd.io.common.os.system({run})}}"),
    "1 + center(xr.backends.file_manager.atexit.os.system({run}))",
    *("1 + math.os.system({run})", "1 + poly(age, pd.io.common.os.system({run}))"),
    *("1 + bs(age, df=np.lib.npyio.os.system({run}))", "1 + pd.eval({run})"),
    *("1 + np.fromfile({run})", "1 + np.load({run})", "1 + pd.read_pickle({run})"),
    *("1 + __import__({run})", "1 + eval({run})", "1 + exec({run})", "1 + open({run})"),
    "1 + S(task, omit=pd.io.common.os.system({run}))",
    "1 + T(task, pd.io.common.os.system({run}))",
    "1 + C(task, Treatment(pd.io.common.os.system({run})))",
    "1 + C(task, levels=pd.io.common.os.system({run}))",
    *("1 + log(np.lib.npyio.os.system({run}))", "1 + scale(age, pd.io.common.os.system({run}))"),
    *("1 + age[pd.io.common.os.system({run})]", "1 + (lambda: pd.io.common.os.system({run}))()"),
    *("1 + `age`.apply({run})", "1 + age.map(pd.io.common.os.system)({run})"),
    *("1 + scale(age)(pd.io.common.os.system({run}))", "pd.io.common.os.system({run}) ~ 1"),
    *("1 + offset(pd.io.common.os.system({run}))", "1 + (age == pd.io.common.os.system({run}))"),
]
CELLS = pd.DataFrame(
    {"subject": [*"aabbcc"], "task": ["x", "y"] * 3, "age": np.repeat([20, 30, 70], 2)}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with trials of two people."""
    place = tmp_path_factory.mktemp("trials")
    trials = hmetad.simulate_trials([1.5, 1.6], trials=40, coords={"subject": ["a", "b"]}, seed=1)
    trials.to_csv(place / "trials.csv", index=False)
    return place


@pytest.mark.parametrize("formula", HOSTILE)
def test_it_is_refused_and_runs_nothing(formula, tmp_path):
    marker = tmp_path / "owned"
    with pytest.raises(InputError, match="formula of log_m"):
        parse_design("log_m", formula.format(run=f"'touch {marker}'"), CELLS)
    assert not marker.exists(), "the formula ran"


@pytest.mark.parametrize("formula", HOSTILE[::8])
def test_it_is_refused_in_a_card_the_record_of_a_fit_and_a_command(formula, folder):
    marker, card = folder / "owned", folder / "card.toml"
    hostile = formula.format(run=f"'touch {marker}'")
    card.write_text(f"[formula]\nlog_m = {json.dumps(hostile)}\n", encoding="utf-8")
    record = json.loads(hmetad.load_model("group").to_json())
    record["formula"]["log_m"] = hostile
    for use in (
        lambda: hmetad.ModelSpec("x", formula={"log_m": hostile}),
        lambda: hmetad.load_model("group", formula=hostile),
        lambda: hmetad.load_model(card),
        lambda: hmetad.ModelSpec.from_json(json.dumps(record)),
    ):
        with pytest.raises(InputError, match="formula of log_m"):
            use()
    line = f"fit trials.csv --by subject --model group --formula {json.dumps('log_m=' + hostile)}"
    assert "formula" in refused(folder, line)
    assert not marker.exists(), "the formula ran"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("1 + np.log(age)", r"Write log\(\.\.\.\)"),
        ("1 + lgo(age)", r"Did you mean 'log'\?"),
        ("1" + " + age" * MAX_LENGTH, f"at most {MAX_LENGTH} characters"),
        ("(" * 11 + "age" + ")" * 11, "11 brackets inside each other"),
        ("*".join("abcdefgh"), "at most 200 terms"),
        ("(a + b + c + d + e + f + g)**6", "at most 200 terms"),
        ("(" * 10 + "a + b" + ")**6" * 10, "at most 200 terms"),
        ("I(" + "-" * 1500 + "age)", "one sign before a number"),
        ("bs(age, lower_bound=" + "-" * 1500 + "5)", "a number"),
        ("a**`2`", "a whole number from 1 to 6"),
        ("1 - " + "*".join(f"a{i}" for i in range(14)), "at most 200 terms"),
        ("bs(age, df=50, degree=50)", "a whole number up to 5"),
        ("poly(age, `2`)", "a whole number up to 50"),
        ("I(-age**2)", "brackets around what is raised"),
        ("I(age**7)", "a whole number from 1 to 6"),
        ("I(9**6)", "a power of a column"),
        ("poly(age, 51)", "a whole number up to 50"),
        ("scale(3)", r"a column inside scale\(\)"),
        ("1 + 2.5", "columns"),
        ("1 + age + 9999999999999999", "columns"),
        *[(text, "at least an intercept") for text in ("", "1 - 1", "task - task - 1", "0 + 0")],
        (None, "a formula, as text"),
        ("1 + log(age - 20)", "finite numbers in every cell"),
        ("1 + I(1 / (age - 30))", "finite numbers in every cell"),
        ("exp(age**5)", "finite numbers in every cell"),
        ("I(task * 100000000)", r"S\(column\).*text in 'task' to calculate with"),
        ("I(task + task)", r"S\(column\).*text in 'task' to calculate with"),
        ("scale(task)", r"S\(column\).*text in 'task' to calculate with"),
    ],
)
def test_what_no_formula_may_say_is_named(formula, message):
    with pytest.raises(InputError, match=message):
        parse_design("log_m", formula, CELLS)


def columns(formula, cells=CELLS):
    return parse_design("log_m", formula, cells).columns


def test_every_function_does_what_its_name_says():
    age = CELLS["age"].to_numpy(dtype=float)
    for formula, values in {
        "0 + log(age)": np.log(age),
        "0 + exp(age)": np.exp(age),
        "0 + sqrt(age)": np.sqrt(age),
        "0 + I(age**2 / 4 - 1)": age**2 / 4 - 1,
        "0 + center(log(age))": np.log(age) - np.log(age).mean(),
        "0 + scale(age)": (age - age.mean()) / age.std(),
        "0 + scale(-(age + 1) * 2)": (age.mean() - age) / age.std(),
    }.items():
        np.testing.assert_allclose(columns(formula)[:, 0], values, atol=1e-12)
    quadratic = columns("0 + poly(age, 2)")
    np.testing.assert_allclose(quadratic.T @ quadratic, np.eye(2), atol=1e-12)
    assert columns("0 + bs(age, df=2, degree=2)").shape == (6, 2)
    for coding, values in {
        "S(task)": [1, -1],
        "T(task, 'y')": [1, 0],
        "C(task, Treatment)": [0, 1],
        "C(task, Treatment(reference='y'))": [1, 0],
        "C(task, Sum(omit='x'))": [-1, 1],
    }.items():
        assert columns(f"1 + {coding}")[:, 1].tolist() == values * 3


def test_names_in_back_ticks_are_columns_whatever_they_are():
    cells = CELLS.rename(columns={"age": "age in years", "task": "_task"})
    cells["True"] = cells["age in years"]
    assert columns("1 + scale(`age in years`) + _task", cells).shape == (6, 3)
    assert columns("1 + `True`", cells)[:, 1].tolist() == CELLS["age"].tolist()
    grouped = parse_design("log_m", "1 + (1 | `_task`)", cells)
    assert grouped.blocks[0].name == "1|_task"
    cells = CELLS.rename(columns={"task": "1"})
    grouped = parse_design("log_m", "1 + (0 + `1` | subject)", cells)
    assert grouped.blocks[0].name == "1|subject"
    assert grouped.blocks[0].columns[:, 0].tolist() == [1, 0] * 3
    with pytest.raises(InputError, match="columns"):
        columns("-`1`", cells)


def test_powers_of_whole_numbers_do_not_wrap():
    cells = pd.DataFrame({"income": [100_000, 200_000]})
    assert columns("0 + I(income**4)", cells)[:, 0].tolist() == [1e20, 1.6e21]


def test_more_columns_than_could_be_are_refused_before_they_are_made():
    many = [str(i) for i in range(101)]
    cells = pd.DataFrame({"a": np.repeat(many, 101), "b": np.tile(many, 101)})
    with pytest.raises(InputError, match=r"\(1 \| subject\).*at most 10000.*10201 columns"):
        parse_design("log_m", "0 + a:b", cells)


words = st.one_of(
    st.sampled_from([*CELLS.columns, *FUNCTIONS, "np.log", "os.system", "Treatment", "True"]),
    st.sampled_from([*"+-*/:|()~,=.`'\"[]{}@%^&!<>\\\x00\n", "**", "||", "//", "  ", "#"]),
    st.sampled_from(["0", "1", "2", ".5", "1e5", "1" * 400, "0x1", "²", "٣"]),
    st.text(max_size=4),
)
texts = st.one_of(st.text(max_size=40), st.lists(words, max_size=25).map(" ".join))


def attack(formula):
    """What becomes of a formula: refused in one line, or a design of finite numbers."""
    try:
        design = parse_design("log_m", formula, CELLS)
    except InputError as error:
        return "refused" if error.argument == "formula of log_m" else str(error)
    assert np.isfinite(design.columns).all()
    return "a design"


def test_any_text_is_refused_or_a_design(tally):
    assert set(tally(texts, attack, examples=400, minutes=3)) == {"refused", "a design"}
