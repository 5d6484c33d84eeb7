"""Sampling a posterior whose density is compiled already.

Problem and options → DataTree as PyMC's sampler gives it. nutpie draws the free values; all other
variables are computed from the draws.
"""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pyarrow import record_batch

from hmetad.arguments import refuse_same_names
from hmetad.bayes.divergences import OF_DIVERGENCES, divergences_by_cell
from hmetad.bayes.duration import duration_sentence, expected_seconds
from hmetad.bayes.expand import posterior_of
from hmetad.bayes.packing import MODULES, pack
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import LINK_FOLDED, Program, free_values
from hmetad.bayes.program_writer import covers, write_program
from hmetad.errors import InputError
from hmetad.lazy import import_without

if TYPE_CHECKING:
    from nutpie.compile_pymc import CompiledPyMCModel

__all__ = ["can_sample", "nutpie_model", "sample_compiled", "sample_values", "tree_of"]

type Floats = NDArray[np.float64]

# Options of `pymc.sample` that nutpie takes too; the others are PyMC's.
OPTIONS = {
    "draws",
    "tune",
    "chains",
    "cores",
    "random_seed",
    "progressbar",
    "quiet",
    "target_accept",
    "compute_convergence_checks",
}
# Of nutpie's statistics of a draw those that say how it came about.
STATISTICS = (
    "depth",
    "maxdepth_reached",
    "step_size",
    "step_size_bar",
    "mean_tree_accept",
    "n_steps",
    "index_in_trajectory",
    "logp",
    "energy",
    "energy_error",
    "max_energy_error",
    "diverging",
)
# Chains begin at the starting point moved by a uniform number from -1 to 1, as PyMC's do.
JITTER = 1.0


def can_sample(problem: Problem, options: Mapping[str, Any]) -> bool:
    """Whether a problem can be sampled here with these options of `pymc.sample`."""
    return problem.likelihood.density in MODULES and covers(problem) and set(options) <= OPTIONS


def sample_compiled(
    problem: Problem, options: Mapping[str, Any], *, keep_cells: bool = True
) -> xr.DataTree:
    """Draw from the posterior of a problem with nutpie.

    Parameters
    ----------
    problem : Problem
    options : mapping of str to object
        draws, tune, chains, cores, random_seed; progressbar, quiet, target_accept.
    keep_cells : bool, optional
        Whether the posterior has the quantities of every cell.

    Returns
    -------
    DataTree
        Groups posterior, sample_stats and observed_data.

    Raises
    ------
    KeyboardInterrupt
        If sampling was interrupted.
    """
    program = write_program(problem)
    refuse_same_names(problem.counts.coords, [*STATISTICS, *OF_DIVERGENCES])
    x, statistics, steps = sample_values(problem, program, options)
    statistics = statistics.merge(divergences_by_cell(problem, program, steps))
    said = {"inference_library_version": version("nutpie"), "tuning_steps": options["tune"]}
    posterior = posterior_of(problem, program, x, keep_cells=keep_cells)
    return tree_of(problem, posterior, statistics, {"inference_library": "nutpie", **said})


def sample_values(
    problem: Problem, program: Program, options: Mapping[str, Any]
) -> tuple[Floats, xr.Dataset, Floats]:
    """Free values (chain, draw, size) by nutpie, its statistics and the steps that diverged."""
    tuning = {"target_accept": options["target_accept"]} if "target_accept" in options else {}
    has_bar = bool(options.get("progressbar", True)) and not options.get("quiet", False)
    if has_bar:
        place = free_values(program, problem.start.values)
        seconds = expected_seconds(program, place, options)
        if told := duration_sentence(seconds, problem.counts.sizes["cell"], options):
            print(told, file=sys.stderr)
    # nutpie imports ArviZ, which takes seconds, for conversions that are not asked for here.
    nutpie = import_without("nutpie", "arviz")
    try:
        trace = nutpie.sample(
            nutpie_model(problem, program),
            draws=int(options["draws"]),
            # nutpie cannot do without.
            tune=max(int(options["tune"]), 1),
            chains=int(options["chains"]),
            cores=int(options["cores"]),
            seed=int(options["random_seed"]),
            progress_bar=has_bar,
            return_raw_trace=True,
            store_divergences=True,
            **tuning,
        )
    except BaseException as error:
        # The sampler's own panics are no exceptions of Python.
        if type(error).__name__ != "PanicException":
            raise
        step = "Standardise what is a number in formulas: scale(x); or say that it is levels: C(x)."
        got, allowed = "no finite density where chains begin", "a model that can be sampled"
        raise InputError("formula", got, allowed, step) from error
    return values_of(trace, program.size, int(options["draws"]))


def tree_of(
    problem: Problem, posterior: xr.Dataset, statistics: xr.Dataset, said: Mapping[str, Any]
) -> xr.DataTree:
    """Posterior, statistics of the sampler and counts, with what is said of the sampler."""
    said = {"created_at": datetime.now(UTC).isoformat(), **said}
    index = {str(dim): problem.counts[dim] for dim in problem.counts.dims}
    observed = xr.Dataset({"counts": (problem.counts.dims, problem.counts.values)}, index)
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign_attrs(said),
            "sample_stats": statistics.assign_attrs(said),
            "observed_data": observed,
        }
    )


def values_of(trace: Any, size: int, draws: int) -> tuple[Floats, xr.Dataset, Floats]:
    """Free values (chain, draw, size) and the sampler's statistics, after tuning.

    And the free values at the start and the end of every step that diverged.
    """
    # Arrow's batches, a pair for each chain.
    pairs = [tuple(map(record_batch, pair)) for pair in zip(*trace.get_arrow_trace(), strict=True)]
    kept = [~np.asarray(statistics.column("tuning")) for _, statistics in pairs]
    if not kept or min(chain.sum() for chain in kept) < draws:
        raise KeyboardInterrupt("sampling was interrupted; the draws are incomplete")
    chains = list(zip(pairs, kept, strict=True))
    x = [np.asarray(one.column("x").flatten()).reshape(-1, size)[k] for (one, _), k in chains]
    statistics = {
        name: (
            ("chain", "draw"),
            np.stack([np.asarray(one.column(name))[k] for (_, one), k in chains]),
        )
        for name in STATISTICS
    }
    sizes = {"chain": np.arange(len(x)), "draw": np.arange(draws)}
    # Of a step that left all that has a density there is no end.
    nothing = [np.nan] * size
    failed = [
        [one.column(f"divergence_{end}")[i].as_py() or nothing for end in ("start", "end")]
        for (_, one), k in chains
        for i in np.flatnonzero(k & np.asarray(one.column("diverging"))).tolist()
    ]
    steps = np.array(failed, dtype=float).reshape(-1, 2, size)
    return np.stack(x), xr.Dataset(statistics, sizes), steps


def nutpie_model(
    problem: Problem, program: Program, *, with_deviations: bool = False
) -> "CompiledPyMCModel":
    """Model that nutpie samples: its one variable is x, the free values of the program.

    With deviations, they follow the free values in what is kept.
    """
    import_without("nutpie", "arviz")
    model = import_module("nutpie.compile_pymc").CompiledPyMCModel
    size, packed = program.size, pack(program)
    length = size + len(program.offset_places) if with_deviations else size
    # They are compiled when they are imported.
    callbacks = import_module("hmetad.bayes.callbacks")
    return model(
        dims={},
        reparameterized_names=(),
        compiled_logp_func=callbacks.evaluate_at,
        compiled_expand_func=callbacks.copy_deviations if with_deviations else callbacks.copy_draw,
        initial_point_func=initial_points(problem, program),
        shared_data={},
        shared_var_keys={},
        # Its memory is read while chains run: the model holds it.
        user_data=packed,
        n_expanded=length,
        shape_info=(["x"], [slice(0, length)], [(length,)]),
        logp_func=None,
        expand_func=None,
        _n_dim=size,
        _shapes={"x": (length,)},
        _coords={},
    )


def initial_points(problem: Problem, program: Program) -> Callable[[int], Floats]:
    """Free values that a chain begins at, from a seed."""
    start = free_values(program, problem.start.values)
    is_folded = program.links == LINK_FOLDED

    def begin(seed: int) -> Floats:
        moved = start + np.random.default_rng(seed).uniform(-JITTER, JITTER, program.size)
        moved[is_folded] = np.exp(moved[is_folded])
        return moved

    return begin
