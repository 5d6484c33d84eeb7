"""`hmetad reliability` tells how measures of people come back."""

import json

import numpy as np
import pytest
from command_line import refused, run

import hmetad
from hmetad.measures import icc, split_half


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("reliability")
    d = np.random.default_rng(1).normal(1.5, 0.4, 40)
    days = {"subject": [f"s{i}" for i in range(40)] * 2, "day": ["one"] * 40 + ["two"] * 40}
    trials = hmetad.simulate_trials([*d, *d], coords=days, trials=200, seed=1)
    trials.to_csv(place / "trials.csv", index=False)
    return place


def test_halves_are_those_of_the_function(folder):
    said = json.loads(
        run(folder, "reliability trials.csv --by subject,day --splits 5 --seed 3 --json").stdout
    )
    counts = hmetad.count_trials(
        hmetad.logs.read_table(folder / "trials.csv"), by=["subject", "day"]
    )
    found = split_half(counts, hmetad.measures.auroc2, n=5, seed=3)
    (row,) = [x for x in said["rows"] if x["quantity"] == "AUROC2" and x["group"] == "one"]
    own = found.sel(group="one", quantity="auroc2")
    assert row["correlation"] == pytest.approx(own["correlation"].item())
    assert row["reliability"] == pytest.approx(own["reliability"].item())
    assert row["trials_needed"] == int(np.ceil(own["trials_needed"].item()))
    assert said["seed"] == 3
    assert {"M-ratio", "d′", "confidence"} <= {x["quantity"] for x in said["rows"]}


def test_sessions_have_intraclass_correlations(folder):
    said = json.loads(
        run(folder, "reliability trials.csv --by subject,day --session day --json").stdout
    )
    counts = hmetad.count_trials(
        hmetad.logs.read_table(folder / "trials.csv"), by=["subject", "day"]
    )
    found = icc(hmetad.sdt(counts)["dprime"], session="day").sel(kind="agreement")
    (row,) = [x for x in said["rows"] if (x["quantity"], x["kind"]) == ("d′", "agreement")]
    assert row["icc"] == pytest.approx(found["icc"].item())
    assert row["people"] == 40


def test_the_table_of_a_terminal(folder):
    said = run(folder, "reliability trials.csv --by subject --splits 2").stdout
    assert "Reliability by 2 random halves; trials a person for 0.8" in said
    assert "log M-ratio" in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("reliability trials.csv --by day", "--by: got day, allowed is subject among"),
        ("reliability trials.csv", "subject among the columns"),
        ("reliability trials.csv --by subject --session day", "--session: got 'day'"),
        ("reliability trials.csv --by subject --goal 1.5", "--goal"),
    ],
)
def test_what_cannot_be_told_is_refused(folder, line, says):
    assert says in refused(folder, line)
