"""Attacks counted by how they end: a few in the default tests, minutes of them in the slow ones."""

import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, seed, settings


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
