"""Where intervals lie, in words: against the null, and against the region of equivalence (ROPE).

Bounds and shares, an element per quantity → answers, and which of them Monte Carlo error could
change. Source: Kruschke (2018); Makowski et al. (2019).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FEWEST_IN_TAIL",
    "answers",
    "interval_words",
    "nearby_intervals",
    "unsettled_answers",
    "with_withheld",
]

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
type Answers = dict[str, NDArray[Any]]

FULL_RULE_MARGIN = 0.025
# Monte Carlo errors by which a bound may be off: 19 in 20 are nearer.
ERRORS = 2
FEWEST_IN_TAIL = 5


def answers(found: Mapping[str, Floats], rope: tuple[float, float], null: float) -> Answers:
    """The three answers to each interval and share of the posterior in the ROPE.

    Parameters
    ----------
    found : mapping of array, shape (n,)
        lower and upper, the bounds of the intervals; in_rope, the shares.
    rope : tuple of float
    null : float

    Returns
    -------
    dict of array, shape (n,)
        statistical: whether the interval excludes the null; verdict: where it lies against the
        ROPE; full_verdict: the same words by the share, below .025 and above .975.

    Examples
    --------
    >>> found = {"lower": [0.2, -0.01], "upper": [0.3, 0.02], "in_rope": [0.0, 1.0]}
    >>> found = {name: np.array(values) for name, values in found.items()}
    >>> answers(found, (-0.1, 0.1), 0.0)["verdict"].tolist()
    ['different', 'negligible']
    """
    lower, upper = found["lower"], found["upper"]
    return {
        "statistical": excludes(lower, upper, null),
        "verdict": interval_words(lower, upper, rope),
        "full_verdict": share_words(found["in_rope"]),
    }


def unsettled_answers(
    found: Mapping[str, Floats], given: Answers, rope: tuple[float, float], null: float
) -> dict[str, Flags]:
    """Which answers could change with more draws.

    Parameters
    ----------
    found : mapping of array, shape (n,)
        What `summarise` returns.
    given : dict of array, shape (n,)
        Its `answers`.
    rope, null
        As in `answers`.

    Returns
    -------
    dict of array of bool, shape (n,)
        By the names of the answers.
    """
    near = list(nearby_intervals(found))
    others = {
        "statistical": [excludes(*bounds, null) for bounds in near],
        "verdict": [interval_words(*bounds, rope) for bounds in near],
        "full_verdict": [share_words(found[end]) for end in ("in_rope_least", "in_rope_most")],
    }
    return {name: (np.array(others[name]) != given[name]).any(axis=0) for name in given}


def with_withheld(
    given: Answers, is_withheld: Flags, unsure: Mapping[str, Flags] | None = None
) -> Answers:
    """Answers with none where they are withheld, and no verdict where it is not settled.

    Examples
    --------
    >>> given = {"statistical": [True], "verdict": ["different"], "full_verdict": ["different"]}
    >>> given = {name: np.array(values) for name, values in given.items()}
    >>> with_withheld(given, np.array([True]))["verdict"].tolist()
    ['unreliable']
    """
    none = dict.fromkeys(given, np.zeros_like(is_withheld)) | dict(unsure or {})
    words = {
        name: np.where(is_withheld | none[name], "unreliable", given[name])
        for name in ("verdict", "full_verdict")
    }
    return {"statistical": given["statistical"] & ~is_withheld, **words}


def nearby_intervals(found: Mapping[str, Floats]) -> Iterator[tuple[Floats, Floats]]:
    """The four intervals with each bound moved in or out by `ERRORS` Monte Carlo errors."""
    lower, upper = found["lower"], found["upper"]
    moves = ERRORS * found["mcse_lower"], ERRORS * found["mcse_upper"]
    few = found["tail_lower"] < FEWEST_IN_TAIL, found["tail_upper"] < FEWEST_IN_TAIL
    lows = np.where(few[0], -np.inf, lower - moves[0]), lower + moves[0]
    highs = np.where(few[1], np.inf, upper + moves[1]), upper - moves[1]
    for low in lows:
        for high in highs:
            yield low, high


def excludes(lower: Floats, upper: Floats, null: float) -> Flags:
    """Whether intervals exclude the null."""
    return (lower > null) | (upper < null)


def interval_words(lower: Floats, upper: Floats, rope: tuple[float, float]) -> NDArray[np.str_]:
    """Verdicts by where intervals lie against the ROPE."""
    outside = (lower > rope[1]) | (upper < rope[0])
    inside = (lower >= rope[0]) & (upper <= rope[1])
    return np.select([outside, inside], ["different", "negligible"], "inconclusive")


def share_words(in_rope: Floats) -> NDArray[np.str_]:
    """Verdicts by the share of the posterior in the ROPE."""
    cases = [in_rope < FULL_RULE_MARGIN, in_rope > 1 - FULL_RULE_MARGIN]
    return np.select(cases, ["different", "negligible"], "inconclusive")
