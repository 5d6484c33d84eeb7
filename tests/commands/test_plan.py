"""`hmetad plan` says what `plan_trials` says."""

import pytest
from command_line import refused, run

import hmetad

ASK = "plan --trials 200,3200 --rope=-0.05,0.05 --draws 50"


def test_rows_are_those_of_the_plan(tmp_path):
    answer = run(tmp_path, f"{ASK} --seed 1 --json").answer
    plan = hmetad.simulate.plan_trials(trials=[200, 3200], rope=(-0.05, 0.05), n=50, seed=1)
    assert [row["trials"] for row in answer["rows"]] == [200, 3200]
    for verdict in plan["verdict"].values.tolist():
        expected = plan["probability"].sel(verdict=verdict).values.tolist()
        assert [row[f"probability_{verdict}"] for row in answer["rows"]] == expected
    bias = [row["bias_second"] for row in answer["rows"]]
    assert bias == plan["bias"].sel(condition="second").values.tolist()
    assert answer["truth"] == "different"
    assert answer["seed"] == 1


def test_a_seed_that_was_not_given_makes_the_same_plan(tmp_path):
    first = run(tmp_path, f"{ASK} --json").answer
    assert run(tmp_path, f"{ASK} --json --seed {first['seed']}").answer["rows"] == first["rows"]


def test_the_number_of_trials_needed_is_said(tmp_path):
    ask = "plan --trials 100,400,1600 --m-ratio 1 --half-width 0.3 --draws 50 --seed 1"
    plan = hmetad.simulate.plan_trials(trials=[100, 400, 1600], m_ratio=1.0, n=50, seed=1)
    needed = hmetad.simulate.trials_needed(plan, half_width=0.3)
    assert run(tmp_path, f"{ask} --json").answer["trials_needed"] == needed
    said = run(tmp_path, ask).stderr
    assert f"--half-width 0.3: about {needed} trials are needed." in said


def test_a_goal_beyond_the_plan_is_said_and_its_rows_are_kept(tmp_path):
    ask = f"{ASK} --seed 1 --probability 0.999 -o plan.csv --format json"
    done = run(tmp_path, ask)
    assert done.answer["trials_needed"] is None
    assert [row["trials"] for row in done.answer["rows"]] == [200, 3200]
    assert (tmp_path / "plan.csv").read_text(encoding="utf-8").count("\n") == 3
    assert "--probability: 0.999, which 3200 trials miss" in done.stderr
    assert "Plan with larger numbers of trials" in done.stderr


def test_rows_can_be_written(tmp_path):
    done = run(tmp_path, f"{ASK} --seed 1 --format csv -o plan.csv")
    assert (tmp_path / "plan.csv").read_text(encoding="utf-8") == done.stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("plan", "--rope: got none"),
        ("plan --rope=1,0", "Write --rope=0,1."),
        ("plan --trials many --rope=-1,1", "--trials"),
        ("plan --trials 10.5 --rope=-1,1", "whole numbers"),
        ("plan --trials 1 --rope=-1,1", "trials"),
        ("plan --trials inf --rope=-1,1", "whole numbers"),
        ("plan --m-ratio 1,2,3 --rope=-1,1", "--m-ratio"),
        ("plan --m-ratio 0 --rope=-1,1", "--m-ratio"),
        ("plan --dprime -1 --rope=-1,1", "--dprime"),
        ("plan --dprime 1,2 --m-ratio 1 --rope=-1,1", "--dprime"),
        ("plan --between-sd 1 --rope=-1,1", "--between-sd"),
        ("plan --subjects 0 --rope=-1,1", "--subjects"),
        ("plan --correlation 2 --rope=-1,1", "--correlation"),
        ("plan --ci-prob 95 --rope=-1,1", "--ci-prob"),
        ("plan --m-ratio 1 --probability 0.8", "Add --rope"),
        ("plan --probability 0.8 --half-width 1 --rope=-1,1", "one of the two"),
        ("plan --probability 1 --rope=-1,1", "--probability: got 1, allowed"),
        ("plan --half-width 0", "--half-width: got 0, allowed"),
        (f"{ASK} -o plan.html", ".csv, .json"),
        ("plan --trials 100 --rope=-1,1 --draws 1", "--draws"),
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, line, says):
    assert says in refused(tmp_path, line)
