"""Sampling cells that share nothing: by importance sampling, or each by chains of its own.

Problem and options → DataTree as a sampler of chains gives it.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import refuse_same_names
from hmetad.bayes.compiled_sampling import sample_values, tree_of
from hmetad.bayes.expand import posterior_of
from hmetad.bayes.importance import fill_cells
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import Program
from hmetad.bayes.program_writer import write_program

__all__ = ["sample_cells", "sample_cells_by_chains"]

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
type Integers = NDArray[np.int64]

# Cells that need chains have long tails, in which larger steps diverge. Each takes a moment: a bar
# would only flicker.
OF_CHAINS = {"target_accept": 0.99, "progressbar": False}
# Statistics of cells, and those of chains that are kept for every cell.
OF_CELLS = ("diverging", "divergences", "pareto_k", "effective_draws", "by_chains")
KEPT = ("step_size", "n_steps", "energy")


def sample_cells(
    problem: Problem, options: Mapping[str, Any], *, may_use_chains: bool
) -> xr.DataTree:
    """Draw from the posterior of every cell by importance sampling.

    Parameters
    ----------
    problem : Problem
        With separate cells.
    options : mapping of str to object
        draws, tune, chains, cores, random_seed; progressbar, quiet.
    may_use_chains : bool
        Whether cells with bad weights are sampled again, by nutpie.

    Returns
    -------
    DataTree
        Groups posterior, sample_stats and observed_data; sample_stats has, by cell, ``pareto_k``,
        ``effective_draws``, ``by_chains`` and ``divergences``.
    """
    program, own, seeds, x = prepare(problem, options)
    chains, draws, cells = len(x), len(x[0]), len(own)
    found = fill_cells(problem, x.reshape(chains * draws, -1), own, seeds)
    again = np.flatnonzero(found.are_bad) if may_use_chains else np.array([], dtype=int)
    diverging = np.zeros((cells, chains, draws), dtype=bool)
    for cell in again:
        x[..., own[cell]], drawn = chains_of_cell(
            problem, cell, seeds[cell], {**options, **OF_CHAINS}
        )
        diverging[cell] = drawn["diverging"]
    statistics = statistics_of(
        problem,
        diverging,
        pareto_k=found.pareto_k,
        effective_draws=np.minimum(found.effective, chains * draws),
        by_chains=np.isin(np.arange(cells), again),
    )
    said = {"inference_library": "hmetad", "inference_library_version": version("hmetad")}
    return tree_of(problem, posterior_of(problem, program, x), statistics, said)


def sample_cells_by_chains(problem: Problem, options: Mapping[str, Any]) -> xr.DataTree:
    """Draw from the posterior of every cell by chains of its own.

    A cell that is hard to sample, as one whose d′ is near 0, then has its own divergences, and
    leaves the others alone.

    Parameters
    ----------
    problem : Problem
        Whose cells share nothing.
    options : mapping of str to object
        draws, tune, chains, cores, random_seed; progressbar, quiet, target_accept.

    Returns
    -------
    DataTree
        Groups posterior, sample_stats and observed_data; sample_stats has ``diverging`` (any cell)
        and, by cell, ``divergences`` and, of every draw, ``step_size``, ``n_steps`` and ``energy``.
    """
    refuse_same_names(problem.counts.coords, KEPT)
    program, own, seeds, x = prepare(problem, options)
    chains, draws, cells = len(x), len(x[0]), len(own)
    diverging = np.zeros((cells, chains, draws), dtype=bool)
    kept = {name: np.zeros((chains, draws, cells)) for name in KEPT}
    for cell in range(cells):
        x[..., own[cell]], drawn = chains_of_cell(
            problem, cell, seeds[cell], {**options, "progressbar": False}
        )
        diverging[cell] = drawn["diverging"]
        for name, values in kept.items():
            values[..., cell] = drawn[name]
    statistics = statistics_of(problem, diverging).assign(
        {name: (("chain", "draw", "cell"), values) for name, values in kept.items()}
    )
    said = {"inference_library": "nutpie", "inference_library_version": version("nutpie")}
    said["tuning_steps"] = options["tune"]
    return tree_of(problem, posterior_of(problem, program, x), statistics, said)


class Prepared(NamedTuple):
    """What cells are sampled into: x (chains, draws, free), of each cell its places and seed."""

    program: Program
    own: Integers
    seeds: list[np.random.SeedSequence]
    x: Floats


def prepare(problem: Problem, options: Mapping[str, Any]) -> Prepared:
    """Program of a problem, and room for its draws."""
    program = write_program(problem)
    refuse_same_names(problem.counts.coords, OF_CELLS)
    cells = len(program.counts)
    own = np.argsort(program.owners, kind="stable").reshape(cells, -1)
    x = np.empty((int(options["chains"]), int(options["draws"]), program.size))
    seeds = np.random.SeedSequence(int(options["random_seed"])).spawn(cells)
    return Prepared(program, own, seeds, x)


def statistics_of(problem: Problem, diverging: Flags, **by_cell: Any) -> xr.Dataset:
    """Divergences (cells, chains, draws), of all cells and of each, and other numbers of cells."""
    numbers = {"divergences": diverging.sum(axis=(1, 2)), **by_cell}
    _, chains, draws = diverging.shape
    return xr.Dataset(
        {
            "diverging": (("chain", "draw"), diverging.any(axis=0)),
            **{name: ("cell", values) for name, values in numbers.items()},
        },
        {
            "chain": np.arange(chains),
            "draw": np.arange(draws),
            "cell": problem.counts["cell"].values,
        },
    )


def chains_of_cell(
    problem: Problem, cell: int, seed: np.random.SeedSequence, options: Mapping[str, Any]
) -> tuple[Floats, xr.Dataset]:
    """Free values of a cell (chains, draws, own), in rising order, and the sampler's statistics.

    By itself: its step size is its own, and so are its divergences.
    """
    part = problem.of_cells(np.array([cell]))
    program = write_program(part)
    number = seed.spawn(1)[0].generate_state(1)[0] >> 1
    values, drawn, _ = sample_values(part, program, {**options, "random_seed": number})
    return values[..., np.argsort(program.owners, kind="stable")], drawn
