"""How long a posterior will be sampled, told before it begins.

Program, place and options of the sampler → seconds, at least and at most, and a sentence.
"""

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.density import log_density
from hmetad.bayes.program import Program

__all__ = ["duration_sentence", "expected_seconds"]

# Gradients of a draw: trees of these depths are what groups and crossed items need.
GRADIENTS = (2**4 - 1, 2**5 - 1)
# The median of so many evaluations; the first one may compile, or read a cache.
EVALUATIONS = 3
# What takes less is not announced.
SHORT = 120.0
MINUTE, HOUR = 60.0, 3600.0


def expected_seconds(
    program: Program, place: NDArray[np.float64], options: Mapping[str, Any]
) -> tuple[float, float]:
    """Seconds of sampling, by the time that a gradient takes and what a draw usually needs.

    Parameters
    ----------
    program : Program
    place : array, shape (free,)
        Where the chains begin.
    options : mapping of str to object
        draws, tune, chains, cores.

    Returns
    -------
    tuple of float
        At least and at most; chains that are hard to sample may take longer.
    """
    density = log_density(program)
    density(place)
    taken = []
    for _ in range(EVALUATIONS):
        begun = time.perf_counter()
        density(place)
        taken.append(time.perf_counter() - begun)
    rounds = math.ceil(int(options["chains"]) / max(1, int(options["cores"])))
    draws = (int(options["draws"]) + int(options["tune"])) * rounds
    least, most = (draws * number * float(np.median(taken)) for number in GRADIENTS)
    return least, most


def duration_sentence(seconds: tuple[float, float], cells: int, options: Mapping[str, Any]) -> str:
    """Sentence on how long it will take; empty where that is short.

    Examples
    --------
    >>> options = {"draws": 1000, "tune": 500, "chains": 4, "cores": 2}
    >>> duration_sentence((3, 6), 40, options)
    ''
    >>> duration_sentence((600, 1250), 9_000, options)
    'Sampling 9,000 cells, 4 chains of 1,500 draws: some 10 to 21 minutes where cores are free.'
    """
    least, most = seconds
    if most < SHORT:
        return ""
    unit, word = (HOUR, "hours") if least > HOUR else (MINUTE, "minutes")
    draws = int(options["draws"]) + int(options["tune"])
    size = f"Sampling {cells:,} cells, {options['chains']} chains of {draws:,} draws"
    least, most = max(1, round(least / unit)), max(2, round(most / unit))
    return f"{size}: some {least} to {most} {word} where cores are free."
