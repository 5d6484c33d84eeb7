"""Sampling cells that share nothing: by importance, and by chains where its weights are bad.

Problem and options → DataTree as a sampler of chains gives it.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from hmetad.arguments import refuse_same_names
from hmetad.bayes.compiled_sampling import sample_values, tree_of
from hmetad.bayes.expand import posterior_of
from hmetad.bayes.importance import fill_cells
from hmetad.bayes.problem import Problem
from hmetad.bayes.program_writer import write_program

__all__ = ["sample_cells"]

# Cells that need chains have long tails, in which larger steps diverge. Each takes a moment: a bar
# would only flicker.
OF_CHAINS = {"target_accept": 0.99, "progressbar": False}


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
    program = write_program(problem)
    refuse_same_names(problem.counts.coords, [*program.names, *problem.likelihood.results])
    cells, chains, draws = len(program.counts), int(options["chains"]), int(options["draws"])
    own = np.argsort(program.owners, kind="stable").reshape(cells, -1)
    x = np.empty((chains, draws, program.size))
    seeds = np.random.SeedSequence(int(options["random_seed"])).spawn(cells)
    found = fill_cells(problem, x.reshape(chains * draws, -1), own, seeds)
    again = np.flatnonzero(found.are_bad) if may_use_chains else np.array([], dtype=int)
    diverging = np.zeros((cells, chains, draws), dtype=bool)
    for cell in again:
        # By itself: its step size is its own, and so are its divergences.
        part = problem.of_cells(np.array([cell]))
        theirs = write_program(part)
        seed = seeds[cell].spawn(1)[0].generate_state(1)[0] >> 1
        values, drawn = sample_values(part, theirs, {**options, **OF_CHAINS, "random_seed": seed})
        x[..., own[cell]] = values[..., np.argsort(theirs.owners, kind="stable")]
        diverging[cell] = drawn["diverging"].values
    statistics = xr.Dataset(
        {
            "diverging": (("chain", "draw"), diverging.any(axis=0)),
            "divergences": ("cell", diverging.sum(axis=(1, 2))),
            "pareto_k": ("cell", found.pareto_k),
            "effective_draws": ("cell", np.minimum(found.effective, chains * draws)),
            "by_chains": ("cell", np.isin(np.arange(cells), again)),
        },
        {
            "chain": np.arange(chains),
            "draw": np.arange(draws),
            "cell": problem.counts["cell"].values,
        },
    )
    said = {"inference_library": "hmetad", "inference_library_version": version("hmetad")}
    return tree_of(problem, posterior_of(problem, program, x), statistics, said)
