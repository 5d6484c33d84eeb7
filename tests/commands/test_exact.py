"""Commands on trials whose confidence is numbers: nothing is binned unless asked."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

import hmetad
from hmetad.commands.gate import numbers_of
from hmetad.measures import measure_trials


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Two models that answered the same items, with a probability for each answer."""
    rng = np.random.default_rng(1)
    hard = rng.normal(size=400)
    parts = []
    for place, model in enumerate("ab"):
        signal = 0.6 + 0.5 * place - hard + rng.normal(size=400)
        confidence = 1 / (1 + np.exp(-signal - rng.normal(size=400) / (place + 1)))
        rows = {"model": model, "item": np.arange(400), "correct": (signal > 0).astype(int)}
        parts.append(pd.DataFrame({**rows, "confidence": confidence}))
    folder = tmp_path_factory.mktemp("answers")
    pd.concat(parts).to_csv(folder / "answers.csv", index=False)
    return folder


def test_measures_are_exact(answers):
    line = "measures answers.csv --by model --correct correct"
    expected = hmetad.measures.measure_trials(pd.read_csv(answers / "answers.csv"), by="model")
    for row in run(answers, f"{line} --json").answer["rows"]:
        one = expected.sel(cell=row["cell"])
        for name in ("auroc2", "auroc2_lower", "brier", "ece", "aurc"):
            assert row[name] == pytest.approx(one[name].item())
    shown = run(answers, f"{line} --ci-prob 0.8").stdout
    assert "AUROC2" in shown
    assert "from, to: 80 % interval" in shown


def test_ratings_are_counted_where_they_are_asked_for(answers):
    line = "measures answers.csv --by model --correct correct --quantiles"
    assert run(answers, f"{line} 50 --json").answer["rows"][0]["auroc2"] > 0.5
    line += " 4 --interval --draws 400 --seed 1 --json"
    done = run(answers, line).answer
    assert "gamma_trapezoid" in done["rows"][0]
    assert "repeated-items" in {one["code"] for one in done["notices"]}
    done = run(answers, f"{line} --cluster item").answer
    assert [row["cell"] for row in done["rows"]] == ["a", "b"]
    assert "repeated-items" not in {one["code"] for one in done["notices"]}
    run(answers, f"{line} --cluster item -o counted.nc")
    line = "compare counted.nc --over model --rope=-0.9,0.9 --json --var"
    assert run(answers, f"{line} gamma_trapezoid").answer["rows"][0]["label"] == "a − b"
    run(answers, f"{line} meta_i --fail-if 'a worse than b'", status=0)


@pytest.fixture(scope="module")
def draws(answers):
    """Draws of 2,000 resamplings of the items."""
    line = "measures answers.csv --by model --correct correct --interval --cluster item"
    run(answers, f"{line} --draws 2000 --seed 1 -o draws.nc")
    return answers


def test_draws_are_compared_like_fits(draws):
    line = "compare draws.nc --var auroc2 --over model --rope=-0.01,0.01 --json"
    answer = run(draws, f"{line} --rank -o page.html").answer
    (row,) = answer["rows"]
    trials = pd.read_csv(draws / "answers.csv")
    asked = {"by": "model", "cluster": "item", "n": 2000, "seed": 1}
    drawn = hmetad.measures.resample_trials(trials, **asked)
    made = hmetad.decide(hmetad.contrast(drawn, var="auroc2", over="model"), rope=(-0.01, 0.01))
    expected = made.table().iloc[0]
    assert (row["verdict"], row["direction"]) == (expected["verdict"], expected["direction"])
    assert row["mean"] == pytest.approx(expected["mean"])
    # Draws of resampling are independent.
    assert row["rhat"] is None
    assert (answer["fits"]["draws"]["cluster"], answer["seed"]) == ("item", 1)
    assert len(answer["ranks"]) == 2
    page = (draws / "page.html").read_text(encoding="utf-8")
    assert "with item as the unit" in page
    assert "To run it again" in page


@pytest.mark.parametrize(
    ("condition", "options", "status", "because"),
    [
        ("a worse than b", "--fail-if", 1, ": shown by a − b"),
        ("b less than a", "--fail-if", 0, "not shown by"),
        ("b not worse than a", "--fail-unless", 0, ": shown by"),
        ("a not worse than b", "--fail-unless", 1, "not shown by"),
        ("a not different from b", "--fail-unless", 1, "not shown by"),
        ("a not greater than b", "--fail-unless", 0, ": shown by"),
        # Twenty draws of tails tell nothing of an interval of 99.99 %.
        ("b worse than a", "--bonferroni --ci-prob 0.9999 --fail-if", 3, "no verdict on"),
    ],
)
def test_a_gate_has_an_exit_status_and_says_its_interval(
    draws, condition, options, status, because
):
    line = "compare draws.nc --var accuracy --over model --rope=-0.01,0.01 --json"
    done = run(draws, f'{line} {options} "{condition}"', status).answer
    gate = done["gate"]
    asked = "fail_unless" if "--fail-unless" in options else "fail_if"
    assert gate[asked] == condition
    assert gate["outcome"] == {0: "passed", 1: "failed", 3: "not judged"}[status]
    assert because in gate["because"]
    (row,) = done["rows"]
    ends = (
        (row["lower"], row["upper"])
        if gate["contrast"] == "a − b"
        else (-row["upper"], -row["lower"])
    )
    assert (gate["lower"], gate["upper"]) == ends
    assert abs(gate["difference"]) == abs(row["mean"])
    assert (gate["verdict"], gate["exit"]) == (row["verdict"], status)
    if (condition, status) == ("b less than a", 0):
        interval = f"{-row['mean']:.3f} [{-row['upper']:.3f}, {-row['lower']:.3f}]"
        assert f"b − a, {interval}" in gate["because"]


@pytest.mark.parametrize(
    ("rope", "says"),
    [((-0.01, 0.01), "0.000 [−0.002, 0.001]"), ((0, 2e-4), "−0.0004 [−0.0021, 0.0012]")],
)
def test_a_gate_has_the_digits_of_the_rope(rope, says):
    row = {"label": "b − a", "mean": -4e-4, "lower": -0.0021, "upper": 0.0012}
    row |= dict(zip(("rope_lower", "rope_upper"), rope, strict=True))
    assert numbers_of(pd.DataFrame([row])) == f"b − a, {says}"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("overconfidence --fail-if 'a worse than b'", "less than"),
        ("auroc2 --fail-if 'a worse than c'", "a level"),
        ("auroc2 --fail-if 'a less than b' --fail-unless 'a less than b'", "does not go with"),
        ("auroc2 --fail-if 'a less than b' --fail-if 'a worse than b'", "Give it once."),
        ("ece --rank", "Take ece_debiased"),
        ("auroc2 --bayes-factor", "For draws of resampling there is no prior"),
        ("reliability --fail-unless 'a less than b'", "Take reli"),
    ],
)
def test_what_draws_cannot_say_is_refused(draws, options, says):
    assert says in refused(
        draws, f"compare draws.nc --over model --rope=-0.01,0.01 --var {options}"
    )


ASK_GATES = "compare draws.nc --over model --gates gates.toml --json"
FAILS = '[[gate]]\nvar = "accuracy"\nrope = [-0.01, 0.01]\nfail_if = "a worse than b"\n'


def test_several_gates_end_with_the_status_of_the_worst_and_have_numbers_for_each(draws):
    quiet = "--var accuracy --rope=-0.01,0.01 --fail-unless 'b not worse than a'"
    answer = run(draws, f"compare draws.nc --over model --json {quiet}").answer
    assert (answer["gate"]["exit"], answer["gates"]) == (0, [answer["gate"]])
    own = FAILS.replace("accuracy", "auroc2").replace("fail_if", "fail_unless")
    (draws / "gates.toml").write_text(FAILS + own.replace("a worse than b", "b better than a"))
    done = run(draws, ASK_GATES, status=1)
    first, second = done.answer["gates"]
    assert first == done.answer["gate"]
    assert (first["exit"], second["exit"]) == (1, 0)
    for gate in (first, second):
        line = f"compare draws.nc --over model --json --var {gate['quantity']} --rope=-0.01,0.01"
        (row,) = run(draws, line).answer["rows"]
        turned = -1 if gate["contrast"] == "b − a" else 1
        assert gate["difference"] == turned * row["mean"]
        assert {gate["lower"], gate["upper"]} == {turned * row["lower"], turned * row["upper"]}
    assert [one["verdict"] for one in (first, second)] == ["different"] * 2
    assert re.findall("^(?:passed|failed)", done.stderr, re.MULTILINE) == ["failed", "passed"]
    # One without a verdict is worse than one that passed, and not as bad as one that failed.
    line = "compare draws.nc --var accuracy --over model --rope=-0.01,0.01 --json"
    run(draws, f"{line} --fail-if 'b worse than a' --fail-if 'a worse than b'", status=1)
    line += " --bonferroni --ci-prob 0.9999 --fail-if 'b worse than a'"
    run(draws, f"{line} --fail-unless 'b not less than a'", status=3)


@pytest.mark.parametrize(
    ("gates", "says"),
    [
        (FAILS.replace("fail_if", "fail_iff"), "gate 1: Did you mean 'fail_if'?"),
        (FAILS + FAILS.replace("worse", "less"), "gate 2 does not go with"),
        (FAILS.replace("than b", "than c"), "gates.toml, gate 1: There are: 'a', 'b'"),
        (FAILS.replace("accuracy", "dprime"), "gates.toml, gate 1: "),
        (FAILS.replace("[-0.01, 0.01]", "[0.01]"), "rope = [-0.05,0.05]"),
        (FAILS.replace("rope = [-0.01, 0.01]", ""), "got no ROPE"),
        (FAILS.replace('"accuracy"', "1"), "gate 1, var: Expected text"),
        (FAILS + 'fail_unless = "a less than b"', "got fail_if and fail_unless"),
        (FAILS.replace("[[gate]]", "[gates]"), "Expected a table [[gate]]"),
        ("gate = 1", "Expected a table [[gate]]"),
        ("[[gate]", "Expected gates in TOML"),
    ],
)
def test_a_file_of_gates_that_cannot_be_read_is_refused_in_a_line(draws, gates, says):
    (draws / "gates.toml").write_text(gates)
    assert says in refused(draws, ASK_GATES)


def test_errors_about_ratings_speak_of_options(answers):
    trials = pd.read_csv(answers / "answers.csv")
    whole = trials.assign(confidence=(100 * trials["confidence"]).round().astype(int))
    whole.assign(stimulus="A", response="B").to_csv(answers / "whole.csv", index=False)
    said = refused(answers, "measures whole.csv --by model")
    assert "--quantiles 4" in said
    assert not [name for name in ("ratings=", "bin_confidence") if name in said]
    # With right and wrong alone percentages are no ratings.
    line = "measures whole.csv --by model --correct correct --json"
    expected = measure_trials(whole, by="model")["auroc2"].to_numpy()
    assert [row["auroc2"] for row in run(answers, line).answer["rows"]] == pytest.approx(expected)
    assert "Expected 1..101" in refused(answers, f"{line} --ratings 101")


def test_less_aurc_is_better_in_a_gate_in_ranks_and_on_a_page(draws):
    """b is right more often, and has the better confidence."""
    line = "compare draws.nc --var aurc --over model --rope=-0.001,0.001"
    done = run(draws, f'{line} --fail-if "a worse than b" --rank --json', status=1)
    assert "shown by a − b, 0.079 [0.052, 0.109]" in done.answer["gate"]["because"]
    assert [row["cell"] for row in done.answer["ranks"]] == ["b", "a"]
    run(draws, f'{line} --fail-if "b worse than a"', status=0)
    line = "compare draws.nc --var ece_debiased --over model --rope=-0.5,0.5"
    run(draws, f'{line} --fail-if "a worse than b"', status=0)
    run(draws, "measures answers.csv --by model --correct correct --cluster item -o page.md")
    assert re.search(r"b is best by .*AURC", (draws / "page.md").read_text(encoding="utf-8"))


def test_too_few_trials_to_show_non_inferiority_do_not_pass(answers):
    """What is not shown stops nothing by --fail-if, and stops a release by --fail-unless."""
    rng = np.random.default_rng(1)
    rows = {"model": ["new", "old"] * 30, "confidence": rng.uniform(size=60).round(2)}
    pd.DataFrame({**rows, "correct": rng.integers(0, 2, 60)}).to_csv(answers / "few.csv")
    line = "measures few.csv --by model --correct correct --interval --draws 2000 --seed 1"
    run(answers, f"{line} -o few.nc")
    line = "compare few.nc --over model --var accuracy --rope=-0.02,0.02"
    run(answers, f'{line} --fail-if "new worse than old"', status=0)
    run(answers, f'{line} --fail-unless "new not worse than old"', status=1)


def test_a_page_of_two_sets_of_draws_says_how_each_was_made(draws):
    line = "measures answers.csv --by model --correct correct --interval --draws 500 --seed 2"
    run(draws, f"{line} -o trials.nc")
    line = "compare one=draws.nc two=trials.nc --var auroc2 --over fit --within model"
    run(draws, f"{line} --rope=-0.1,0.1 -o page.md")
    page = (draws / "page.md").read_text(encoding="utf-8")
    for words in ("one: 2,000 bootstrap draws, with item", "two: 500 bootstrap draws, with trial"):
        assert f"{words} as the unit" in page
