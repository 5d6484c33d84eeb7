"""`hmetad reliability` tells how measures of people come back."""

import numpy as np
import pandas as pd
import pytest
from command_line import run

import hmetad
from hmetad.measures import split_half


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("reliability")
    d = np.random.default_rng(1).normal(1.5, 0.4, 40)
    days = {"subject": [f"s{i}" for i in range(40)] * 2, "day": ["one"] * 40 + ["two"] * 40}
    trials = hmetad.simulate_trials([*d, *d], coords=days, trials=200, seed=1)
    trials.to_csv(place / "trials.csv", index=False)
    return place


def counted(folder):
    return hmetad.count_trials(pd.read_csv(folder / "trials.csv"), by=["subject", "day"])


def test_halves_are_those_of_the_function(folder):
    line = "reliability trials.csv --by subject,day --splits 5 --seed 3 --json"
    said, counts = run(folder, line).answer, counted(folder)
    found = split_half(counts, hmetad.measures.auroc2, n=5, seed=3)
    (row,) = [x for x in said["rows"] if x["quantity"] == "AUROC2" and x["group"] == "one"]
    own = found.sel(group="one", quantity="auroc2")
    assert row["correlation"] == pytest.approx(own["correlation"].item())
    assert row["reliability"] == pytest.approx(own["reliability"].item())
    assert row["trials_needed"] == int(np.ceil(own["trials_needed"].item()))
    assert said["seed"] == 3
    assert {"M-ratio", "d′", "confidence"} <= {x["quantity"] for x in said["rows"]}


def test_the_table_of_a_terminal(folder):
    said = run(folder, "reliability trials.csv --by subject --splits 2").stdout
    assert "Reliability by 2 random halves; trials per person for 0.8" in said
    assert "log M-ratio" in said
