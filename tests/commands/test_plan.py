"""`hmetad plan` says what its functions say: of trials, people and labels."""

from typing import get_args
from unittest import mock

import numpy as np
import pytest
import xarray as xr
from command_line import refused, run

import hmetad
from hmetad.commands.plan import Question
from hmetad.simulate.people import QUESTIONS

ASK = "plan trials --trials 200,3200 --rope=-0.05,0.05 --draws 50"
PEOPLE = "plan groups --question mean --subjects 4,6 --trials 60 --rope=-0.1,0.1 --draws 2"


def test_rows_are_those_of_the_plan(tmp_path):
    answer = run(tmp_path, f"{ASK} --json").answer
    seed = answer["seed"]
    plan = hmetad.simulate.plan_trials(trials=[200, 3200], rope=(-0.05, 0.05), n=50, seed=seed)
    assert [row["trials"] for row in answer["rows"]] == [200, 3200]
    for verdict in plan["verdict"].values.tolist():
        expected = plan["probability"].sel(verdict=verdict).values.tolist()
        assert [row[f"probability_{verdict}"] for row in answer["rows"]] == expected
    bias = [row["bias_second"] for row in answer["rows"]]
    assert bias == plan["bias"].sel(condition="second").values.tolist()
    assert answer["truth"] == "different"
    errors = plan[["probability_se", "coverage_se"]].to_dataarray().max(["variable", "verdict"])
    assert [row["mc_error"] for row in answer["rows"]] == errors.values.tolist()
    assert [row["studies"] for row in answer["rows"]] == [50, 50]


def test_the_number_of_trials_needed_is_said(tmp_path):
    ask = (
        "plan trials --trials 100,400,1600 --m-ratio 1 --half-width 0.3 --draws 50 --seed 1 --json"
    )
    plan = hmetad.simulate.plan_trials(trials=[100, 400, 1600], m_ratio=1.0, n=50, seed=1)
    needed = int(hmetad.simulate.size_needed(plan, half_width=0.3))
    done = run(tmp_path, ask)
    assert done.answer["trials_needed"] == needed
    assert f"--half-width 0.3: about {needed} trials are needed." in done.stderr
    assert "Monte Carlo error of proportions: at most 0.0" in done.stderr
    line = ask.replace("--draws 50 ", "").replace("100,400,1600", "100")
    assert "; the goal was 0.05 within 10 minutes." in run(tmp_path, line).stderr


def test_two_conditions_without_a_rope_are_refused_before_anything_is_imported(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(hmetad, "simulate", None)
    assert "--rope=-0.05,0.05, or plan for one condition" in refused(tmp_path, "plan trials")


def test_a_goal_beyond_the_plan_is_said_and_its_rows_are_kept(tmp_path):
    ask = f"{ASK} --seed 1 --probability 0.999 -o plan.csv --format json"
    done = run(tmp_path, ask)
    assert done.answer["trials_needed"] is None
    assert [row["trials"] for row in done.answer["rows"]] == [200, 3200]
    assert (tmp_path / "plan.csv").read_text(encoding="utf-8").count("\n") == 3
    assert "--probability 0.999: more than 3200 trials are needed." in done.stderr


@pytest.mark.integration
def test_rows_are_those_of_the_plan_of_people(tmp_path):
    answer = run(tmp_path, f"{PEOPLE} --seed 1 --json").answer
    plan = hmetad.simulate.plan_groups(
        "mean", subjects=[4, 6], trials=[60], rope=(-0.1, 0.1), n=2, seed=1
    )
    assert [(row["subjects"], row["trials"]) for row in answer["rows"]] == [(4, 60), (6, 60)]
    for verdict in plan["verdict"].values.tolist():
        expected = plan["probability"].sel(verdict=verdict).squeeze().values.tolist()
        assert [row[f"probability_{verdict}"] for row in answer["rows"]] == expected
    assert answer["seed"] == 1
    assert answer["judged"] == "mean of log M"


@pytest.fixture
def asked():
    """What `plan_groups` is called with; it answers with a plan that was made before."""
    calls = []
    share = np.array([[[0.1, 0, 0.9, 0], [0.5, 0, 0.5, 0]], [[0.5, 0, 0.5, 0], [0.9, 0, 0.1, 0]]])
    verdicts = ["different", "negligible", "inconclusive", "unreliable"]
    plan = xr.Dataset(
        {
            "probability": (("subjects", "trials", "verdict"), share),
            "half_width": (("subjects", "trials"), [[0.4, 0.3], [0.2, 0.1]]),
        },
        {"subjects": [20, 80], "trials": [100, 200], "verdict": verdicts},
        {"truth": "different", "judged": "difference", "seed": "1", "question": "difference"},
    )

    def remembered(question, **options):
        calls.append({"question": question, **options})
        return plan

    with mock.patch.object(hmetad.simulate, "plan_groups", remembered):
        yield calls


def test_what_is_given_is_planned_with(tmp_path, asked):
    line = "plan groups --question difference --subjects 20,80"
    run(tmp_path, f"{line} --effect 0.3 --dprime 2 --pilot memory")
    expected = {"question": "difference", "subjects": [20, 80], "trials": [200]}
    expected |= {"effect": 0.3, "dprime": 2.0, "pilot": "memory", "rope": None}
    assert {name: asked[0][name] for name in expected} == expected
    # Without --draws the function decides.
    assert not {"m_ratio", "n"} & {*asked[0]}


def test_people_needed_are_said(tmp_path, asked):
    line = "plan groups --question difference --subjects 20,80 --effect 0.3"
    line += " --rope=-0.1,0.1 --probability 0.7 --json"
    done = run(tmp_path, line)
    said = "more than 80 people in both groups with 100 trials, about 40 people in both groups"
    assert f"--probability 0.7: {said} with 200 trials." in done.stderr
    assert done.answer["subjects_needed"] == {"100": None, "200": 40}
    assert len(asked) == 1


def test_the_questions_are_those_of_the_function():
    assert get_args(Question) == tuple(QUESTIONS)


@pytest.mark.integration
def test_items_that_all_answer_are_planned_from_the_command_line(tmp_path):
    ask = "plan trials --options 4 --item-sds 1,0.7 --m-ratio 1,0.5 --rope=-0.1,0.1 --trials 60"
    answer = run(tmp_path, f"{ask} --others 1 --draws 3 --seed 1 --json").answer
    plan = hmetad.simulate.plan_trials(
        options=4, item_sds=(1.0, 0.7), others=1, m_ratio=(1.0, 0.5), rope=(-0.1, 0.1),
        trials=[60], n=3, seed=1,
    )  # fmt: skip
    assert answer["rows"][0]["half_width"] == plan["half_width"].item()
    assert answer["item_sds"] == [1.0, 0.7]


def test_labels_needed_are_those_of_the_functions(tmp_path):
    rate = run(tmp_path, "plan pass-rate --half-width 0.03 --pass-rate 0.7 --pool 10000 --json")
    [row] = rate.answer["rows"]
    # 896.34 are needed, and labels are whole.
    assert (row["labels"], row["pool"], row["r2"]) == (897, 10000, 0.0)
    ask = (
        "plan judges --half-width 0.1 --dprime 1.9,2.0 --criterion 0.1 --correlation 0.7,0.9 --json"
    )
    [row] = run(tmp_path, ask).answer["rows"]
    expected = hmetad.simulate.labels_for_difference(
        0.1, dprime=[1.9, 2.0], c=0.1, correlation=[0.7, 0.9]
    )
    assert row["labels"] == np.ceil(expected)
    assert "--criterion" in refused(tmp_path, ask.replace("--criterion 0.1", "--criterion 1,2,3"))
