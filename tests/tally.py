"""Attacks counted by how they end: a few in the default tests, minutes of them in the slow ones."""

import time
from collections import Counter

from hypothesis import HealthCheck, given, seed, settings

EXAMPLES = 100


def tally(strategy, attack, *, examples=EXAMPLES, start=0):
    """How many examples ended in each way that `attack` names; what it raises fails the test.

    The same `start` tries the same examples.
    """
    ends = Counter()
    quiet = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=[*HealthCheck]
    )

    @seed(start)
    @quiet
    @given(strategy)
    def each(example):
        ends[attack(example)] += 1

    each()
    return ends


def tally_for(minutes, strategy, attack, *, name):
    """The same for some minutes, with other examples in every round; prints the figures."""
    ends, end, start = Counter(), time.monotonic() + 60 * minutes, 1
    while time.monotonic() < end:
        ends += tally(strategy, attack, examples=500, start=start)
        start += 1
    figures = ", ".join(f"{number} {how}" for how, number in ends.most_common())
    print(f"{name}: {ends.total()} tried, {figures}, in {minutes} minutes")
    return ends
