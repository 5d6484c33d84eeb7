"""Inputs, and attacks counted by how they end: a few by default, minutes in the slow tests."""

import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, seed, settings
from report.made_fit import made_fit

import hmetad


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """Folder with trials, the same as raw data, and a fit that nobody sampled."""
    folder = tmp_path_factory.mktemp("inputs")
    coords = {"model": ["a", "b"], "domain": ["x", "x"]}
    trials = hmetad.simulate_trials([1.5, 1.2], 0, 0.8, trials=300, coords=coords, seed=1)
    trials["right"] = (trials["stimulus"] == trials["response"]).astype(int)
    trials.to_csv(folder / "trials.csv", index=False)
    raw = trials[["right", "confidence"]].assign(confidence=trials["confidence"] / 4)
    raw.to_csv(folder / "raw.csv", index=False)
    hmetad.save_fit(made_fit(["a", "b"], ["x", "y"], draws=50, chains=2), folder / "made.nc")
    return folder


def tally_once(strategy, attack, examples, start):
    """How many examples ended in each way that `attack` names; the same `start` tries the same."""
    ends, checks = Counter(), [*HealthCheck]
    quiet = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=checks
    )

    @seed(start)
    @quiet
    @given(strategy)
    def each(example):
        ends[attack(example)] += 1

    each()
    return ends


@pytest.fixture(params=["few", pytest.param("for minutes", marks=pytest.mark.slow)])
def tally(request):
    """Return a function that counts how attacks end; what an attack raises fails the test."""

    def count(strategy, attack, *, examples, minutes):
        if request.param == "few":
            return tally_once(strategy, attack, examples, 0)
        ends, end, start = Counter(), time.monotonic() + 60 * minutes, 1
        while time.monotonic() < end:
            ends += tally_once(strategy, attack, 500, start)
            start += 1
        figures = ", ".join(f"{number} {how}" for how, number in ends.most_common())
        print(f"{request.node.name}: {ends.total()} tried, {figures}, in {minutes} minutes")
        return ends

    return count
