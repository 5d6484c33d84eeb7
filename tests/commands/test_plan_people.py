"""`hmetad plan` for people says what `plan_groups` says, and passes on what it is given."""

from unittest import mock

import numpy as np
import pytest
import xarray as xr
from command_line import refused, run

import hmetad

ASK = "plan --question mean --subjects 4,6 --trials 60 --rope=-0.1,0.1 --draws 2 --cores 1"


@pytest.mark.integration
def test_rows_are_those_of_the_plan_and_the_folder_is_taken_up_again(tmp_path):
    answer = run(tmp_path, f"{ASK} --seed 1 --resume kept --json").answer
    plan = hmetad.simulate.plan_groups(
        "mean", subjects=[4, 6], trials=[60], rope=(-0.1, 0.1), n=2, cores=1, seed=1
    )
    assert [(row["subjects"], row["trials"]) for row in answer["rows"]] == [(4, 60), (6, 60)]
    for verdict in plan["verdict"].values.tolist():
        expected = plan["probability"].sel(verdict=verdict).squeeze().values.tolist()
        assert [row[f"probability_{verdict}"] for row in answer["rows"]] == expected
    assert answer["seed"] == 1
    assert answer["judged"] == "mean of log M"
    studies = (tmp_path / "kept" / "studies.jsonl").read_bytes()
    # The seed is that of the folder.
    again = run(tmp_path, f"{ASK} --resume kept --json").answer
    assert again["rows"] == answer["rows"]
    assert (tmp_path / "kept" / "studies.jsonl").read_bytes() == studies


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


def test_several_numbers_of_subjects_ask_for_a_difference(tmp_path, asked):
    run(tmp_path, "plan --subjects 20,80 --effect 0.3 --dprime 2 --criterion 0.1 --dprime-sd 0.4")
    (call,) = asked
    assert call["question"] == "difference"
    assert call["subjects"] == [20, 80]
    assert call["trials"] == [200]
    assert call["n"] == 100
    given = {name: call[name] for name in ("effect", "dprime", "c", "dprime_sd")}
    assert given == {"effect": 0.3, "dprime": 2.0, "c": 0.1, "dprime_sd": 0.4}
    assert "m_ratio" not in call
    assert call["folder"] is None


def test_two_m_are_an_effect(tmp_path, asked):
    run(tmp_path, "plan --question tasks --subjects 20 --m-ratio 1,0.64")
    assert asked[0]["effect"] == pytest.approx(np.log(1 / 0.64))
    assert asked[0]["m_ratio"] == pytest.approx(0.8)


def test_people_needed_are_said(tmp_path, asked):
    line = "plan --subjects 20,80 --effect 0.3 --rope=-0.1,0.1 --probability 0.7"
    done = run(tmp_path, line)
    said = "more than 80 people in both groups with 100 trials, about 40 people in both groups"
    assert f"--probability 0.7: {said} with 200 trials." in done.stderr
    assert "people" in done.stdout
    answer = run(tmp_path, f"{line} --json").answer
    assert answer["subjects_needed"] == {"100": None, "200": 40}
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("plan --subjects 20,40", "--effect: got none"),
        ("plan --subjects 20,many", "--subjects"),
        ("plan --subjects 21,41 --effect 0.2", "--subjects: got 21"),
        ("plan --question age --subjects 20", "--question"),
        ("plan --question mean --effect 0.2", "--effect: got 0.2 of a mean"),
        ("plan --question mean --m-ratio 1,0.8", "--m-ratio"),
        ("plan --question tasks --m-ratio 1,0", "--m-ratio"),
        ("plan --question tasks --m-ratio 1,0.8 --effect 0.1", "--effect: got 0.1 beside two"),
        ("plan --question mean --dprime 1,2 --subjects 20", "--dprime"),
        ("plan --question mean --pilot none.nc --subjects 20", "none.nc"),
        ("plan --question mean --subjects 20 --trials 1", "--trials"),
        ("plan --effect 0.2 --rope=-1,1", "--effect with --question"),
        ("plan --resume here --rope=-1,1", "--resume with --question"),
        ("plan --cores 2 --rope=-1,1", "--cores"),
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, line, says):
    assert says in refused(tmp_path, line)


def test_a_folder_of_another_plan_is_refused_by_its_option(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "plan.json").write_text('{"seed": 1}', encoding="ascii")
    assert "--resume: got 'kept'" in refused(tmp_path, f"{ASK} --seed 1 --resume kept")
