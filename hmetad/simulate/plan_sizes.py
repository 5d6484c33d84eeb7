"""Sizes of a plan of hierarchical fits, checked before the work begins.

Numbers of people, trials, studies and draws → the same, or an error that names what is too much.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hmetad.bayes.kept_cells import posterior_bytes
from hmetad.counts.checks import open_probability, whole_number
from hmetad.errors import InputError, nearest
from hmetad.likelihood.registry import load_likelihood
from hmetad.memory import refuse_memory
from hmetad.simulate.questions import Question

__all__ = ["people_of", "planned_sizes", "refuse_large", "sampling_of"]

SHORT_RUNS = {"draws": 500, "tune": 300, "chains": 2}
FEWEST = {"draws": 4, "tune": 1, "chains": 2}
# Of a study that is kept: some numbers, each an object of Python.
STUDY_BYTES = 1000


def people_of(question: Question, given: Sequence[int]) -> list[int]:
    """Numbers of people to plan for, which can be parted into the groups of a question.

    Examples
    --------
    >>> from hmetad.simulate.questions import QUESTIONS
    >>> people_of(QUESTIONS["difference"], [15])
    Traceback (most recent call last):
    hmetad.errors.InputError: subjects: got 15, allowed is even numbers. Half of the people are \
in each group.
    """
    people = planned_sizes("subjects", given, question.fewest)
    for number in people:
        if number % question.groups:
            step = "Half of the people are in each group."
            raise InputError("subjects", str(number), "even numbers", step)
    return people


def planned_sizes(argument: str, given: Sequence[int], least: int) -> list[int]:
    """Numbers to plan for, each once and in their order; there is one at least.

    Examples
    --------
    >>> planned_sizes("subjects", [80, 20, 20], 2)
    [20, 80]
    """
    sizes = [whole_number(argument, number, least) for number in np.atleast_1d(given).tolist()]
    if not sizes:
        raise InputError(argument, "none", "at least one number")
    return sorted(set(sizes))


def sampling_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the fits; what the studies need themselves is refused.

    Examples
    --------
    >>> sampling_of({"draws": 1000})
    {'draws': 1000, 'tune': 300, 'chains': 2}
    """
    known = [*SHORT_RUNS, "target_accept"]
    for name, value in given.items():
        if name not in known:
            raise InputError("sample_kwargs", repr(name), ", ".join(known), nearest(name, known))
        if name in SHORT_RUNS:
            whole_number(name, value, FEWEST[name])
        else:
            open_probability(name, value)
    return {**SHORT_RUNS, **{k: v.item() if hasattr(v, "item") else v for k, v in given.items()}}


def refuse_large(
    question: Question,
    people: Sequence[int],
    studies: int,
    ratings: int,
    sampling: Mapping[str, Any],
    processes: int,
) -> None:
    """Raise where the fits that are done at once, or all results, do not fit into memory.

    Parameters
    ----------
    question : Question
    people : sequence of int
    studies : int
        Of all sizes together.
    ratings : int
        K.
    sampling : mapping
        draws, tune and chains.
    processes : int
        Fits that are done at once.

    Raises
    ------
    InputError
        If so.
    """
    refuse_memory("n", f"{studies} studies", STUDY_BYTES * studies)
    cells = max(people) * question.tasks
    dims = ("cell", "stimulus", "response", "rating")
    counts = xr.DataArray(np.broadcast_to(0, (cells, 2, 2, ratings)), dims=dims)
    drawn = sampling["draws"] + sampling["tune"]
    size = posterior_bytes(counts, load_likelihood("meta-d"), drawn, sampling["chains"])
    got = f"{max(people)}, fitted {processes} at once"
    # Draws are held twice: as the sampler keeps them, and as they are labelled.
    refuse_memory("subjects", got, 2 * size * processes)
