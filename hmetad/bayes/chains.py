"""Sampling a posterior whose density is compiled, by nutpie's chains.

Program and Request → DataTree as PyMC's sampler gives it. nutpie draws the free values, of all
cells together or of each cell by itself; all other variables are computed from the draws. A step
of leapfrog keeps the energy as long as the log density is quadratic along it. That density is a sum
over cells: how far each cell's term is from quadratic says in whose part a divergent step failed.
Source: Betancourt (2017).
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.labels import check_same_names
from hmetad.base.lazy import import_without
from hmetad.base.memory import in_words
from hmetad.base.threads import in_threads
from hmetad.bayes.centring import learn_centring
from hmetad.bayes.convergence import AGREE, ENOUGH, Flags, flagged_elements, sampled_variables
from hmetad.bayes.density import CELLS, c_functions, evaluate_parts, expand, unwarp, warped
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import cell_results
from hmetad.bayes.parametrisation import correlation_factors
from hmetad.bayes.program import Program, unfold
from hmetad.bayes.rounds import (
    MILLISECONDS,
    STATISTICS,
    TARGETS,
    Drawn,
    Plan,
    Start,
    sample_rounds,
)
from hmetad.specs.crossing import ANSWERS, answers_table
from hmetad.specs.design import places_of

if TYPE_CHECKING:
    from nutpie.compile_pymc import CompiledPyMCModel
    from nutpie.compiled_pyfunc import PyFuncModel

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Options of `pymc.sample` that nutpie takes too; the others are PyMC's.
OPTIONS = {
    "draws", "tune", "chains", "cores", "random_seed", "progressbar", "quiet", "target_accept",
    "compute_convergence_checks",
}  # fmt: skip
OF_DIVERGENCES = ("divergences_within", "divergences_nowhere", "divergences_shared")
# Attr of the statistics: draws of a chain, of which some are kept.
SAMPLED = "draws_sampled"
# Attr: whether effects are centred as the data suggest, or as earlier draws did.
CENTRING = "centring"
# Numbers that are computed from free values together: 16 MB, and some ten times that for cells.
VALUES_AT_ONCE = 2**21
# Of a divergent step, for the slope at its ends by central differences.
NUDGE = 1e-4
HUGE = 1e300
# Chains begin at the starting point moved by a uniform number from -1 to 1, as PyMC's do.
JITTER = 1.0
# Memory that one answer to an item takes, table included.
BYTES_OF_ANSWER = 1000


@dataclass(frozen=True)
class Request:
    """What is asked of a sampler.

    Parameters
    ----------
    options : mapping of str to object
        draws, tune, chains, cores, random_seed; progressbar, quiet, target_accept; of `pymc.sample`
        any other.
    keep_cells : bool, optional
        Whether the posterior has the quantities of every cell.
    may_use_chains : bool, optional
        Whether cells with bad weights are sampled again, by chains.
    may_go_on : bool, optional
        Whether more is drawn than the options say, if that is not enough.
    """

    options: Mapping[str, Any]
    keep_cells: bool = True
    may_use_chains: bool = True
    may_go_on: bool = False

    @property
    def plan(self) -> Plan:
        """How much is sampled."""
        given = self.options
        return Plan(
            # nutpie cannot do without.
            tune=max(int(given["tune"]), 1),
            chains=int(given["chains"]),
            cores=int(given["cores"]),
            seed=int(given["random_seed"]),
            draws=int(given["draws"]),
            may_go_on=self.may_go_on,
            targets=(given["target_accept"],) if "target_accept" in given else TARGETS,
            has_bar=bool(given.get("progressbar", True)) and not given.get("quiet", False),
        )


def sample_together(program: Program, request: Request) -> xr.DataTree:
    """Draw from the posterior of all cells in one run."""
    check_same_names(program.counts.coords, [*STATISTICS, *OF_DIVERGENCES])
    plan = request.plan.suited_to(program.arrays.size)
    if program.crossing is not None:
        plan = replace(plan, judges_early=True)
    program, drawn, posterior, said = sample_enough(program, request, plan)
    statistics = drawn.thinned(plan.draws).statistics.merge(
        divergences_by_cell(program, drawn.steps)
    )
    said |= {"tuning_steps": plan.tune, "target_accept": drawn.target}
    return tree_of(program, posterior, statistics, "nutpie", said | {SAMPLED: drawn.x.shape[1]})


@dataclass(frozen=True)
class Attempt:
    """What chains with steps of one length have drawn, and whether it is enough.

    Parameters
    ----------
    drawn : Drawn
    posterior : Dataset, optional
        None where a first look was enough to begin anew.
    is_enough : bool
    better : Program
        With effects centred as these draws suggest: another one where they suggest it.
    """

    drawn: Drawn
    posterior: xr.Dataset | None
    is_enough: bool
    better: Program

    @property
    def rate(self) -> float:
        """Divergences for each draw of a chain."""
        return self.drawn.divergences / self.drawn.x.shape[1]


def sample_enough(
    program: Program, request: Request, plan: Plan
) -> tuple[Program, Drawn, xr.Dataset, dict[str, Any]]:
    """Draws that are enough, as far as may be; of which program, their posterior, and attrs.

    Where draws say that effects should be centred in another way, or steps diverged, chains begin
    anew. Divergences withhold nothing that is the same with longer steps, of which more diverged.
    """
    targets, earlier, centring = [*plan.targets], None, "estimated"
    while True:
        # Whitened, what chains move is near normal however effects are centred.
        may_learn = (
            program.crossing is None
            and centring == "estimated"
            and len(program.arrays.offset_places) > 0
        )
        own = replace(plan, targets=tuple(targets))
        found, agreeing = attempt(program, request, own, may_learn=may_learn), ""
        posterior, is_last = found.posterior, len(targets) == 1
        if posterior is not None and found.rate > 0 and (found.is_enough or is_last):
            earlier = earlier or round_of_longer_steps(program, request, plan, found.drawn)
            if earlier is not None and found.rate < earlier[0]:
                agreeing = agreeing_part(program, earlier[1], posterior)
        is_clean = found.rate == 0 or bool(agreeing and found.is_enough)
        is_learned = found.better is not program and not found.is_enough and plan.may_go_on
        if posterior is not None and (is_clean or is_last) and not is_learned:
            said = {ENOUGH: int(found.is_enough), AGREE: agreeing, CENTRING: centring}
            return program, found.drawn, posterior, said
        if not is_clean and not is_last:
            del targets[0]
        earlier = None if posterior is None else (found.rate, posterior)
        if found.better is not program:
            program, centring = found.better, "learned"


def attempt(program: Program, request: Request, plan: Plan, *, may_learn: bool) -> Attempt:
    """Sample with steps of the plan's first target until it is enough, or time to begin anew."""
    start, size, is_last = sampler_of(program), program.arrays.size, len(plan.targets) == 1
    with closing(sample_rounds(start, plan, size, plan.targets[0])) as rounds:
        for drawn in rounds:
            draws = drawn.x.shape[1]
            has_failed = drawn.divergences > 0 and not is_last
            may_begin_anew = may_learn and (plan.may_go_on or has_failed)
            better = learn_centring(program, drawn.x) if may_begin_anew else program
            begins_anew = has_failed or better is not program
            if draws == plan.look and begins_anew:
                return Attempt(drawn, None, False, better)
            if draws == plan.look and not plan.judges_early:
                del drawn
                continue
            x = drawn.thinned(plan.draws).x
            posterior, is_enough = judged_posterior(program, x, keep_cells=request.keep_cells)
            if is_enough or begins_anew:
                break
    if posterior is None:
        posterior = posterior_of(program, x, keep_cells=request.keep_cells)
    return Attempt(drawn, posterior, is_enough, better)


def judged_posterior(
    program: Program, draws: Floats, *, keep_cells: bool
) -> tuple[xr.Dataset | None, bool]:
    """Posterior from draws of free values, and whether they are enough.

    Cells, of which there may be thousands, are computed only if draws of the population are enough.
    """
    shared, _ = judged_variables(program, posterior_of(program, draws, keep_cells=False))
    if has_flags(flagged_elements(shared)):
        return None, False
    posterior = posterior_of(program, draws, keep_cells=keep_cells)
    _, of_cells = judged_variables(program, posterior)
    return posterior, not (of_cells and has_flags(flagged_elements(of_cells)))


def round_of_longer_steps(
    program: Program, request: Request, plan: Plan, drawn: Drawn
) -> tuple[float, xr.Dataset] | None:
    """Rate of divergences of a round whose steps are the next longer ones, and its posterior.

    It is drawn for a comparison where a first look at longer steps was enough to take shorter ones.
    """
    if not (plan.may_go_on and drawn.target in plan.targets[1:]):
        return None
    longer = plan.targets[plan.targets.index(drawn.target) - 1]
    draws = min(plan.draws, drawn.x.shape[1])
    alone = replace(plan, targets=(longer, drawn.target), draws=draws, may_go_on=False)
    found = attempt(program, request, alone, may_learn=False)
    return None if found.posterior is None else (found.rate, found.posterior)


def judged_variables(program: Program, posterior: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Variables whose convergence is checked: those that all cells share, and those of cells."""
    tree = xr.DataTree.from_dict({"posterior": posterior})
    sampled = sampled_variables(Fitted(tree, program.spec, program.layout))
    of_cells = [name for name, values in sampled.items() if "cell" in values.dims]
    return sampled.drop_vars(of_cells), sampled[of_cells]


def has_flags(flags: Flags) -> bool:
    """Whether anything is bad."""
    return any(bool(bad.any()) for own in flags.values() for bad in own.values())


def agreeing_part(program: Program, one: xr.Dataset, other: xr.Dataset) -> str:
    """What chains of two posteriors agree on, by R̂: "all", the "population", or nothing."""
    draws = slice(min(one.sizes["draw"], other.sizes["draw"]))
    both = xr.concat([one.isel(draw=draws), other.isel(draw=draws)], "chain", join="override")
    differ, cells_differ = (
        any(bool(bad.any()) for bad in flagged_elements(part)["rhat"].values())
        for part in judged_variables(program, both)
    )
    return "" if differ else "population" if cells_differ else "all"


def tree_of(
    program: Program,
    posterior: xr.Dataset,
    statistics: xr.Dataset,
    library: str,
    attrs: Mapping[str, Any],
) -> xr.DataTree:
    """Posterior, statistics of the sampler and counts, with what is said of the sampler."""
    said = {
        "created_at": datetime.now(UTC).isoformat(),
        "inference_library": library,
        "inference_library_version": version(library),
        **attrs,
    }
    counts = program.counts
    index = {str(dim): counts[dim] for dim in counts.dims}
    groups = {
        "posterior": posterior.assign_attrs(said),
        "sample_stats": statistics.assign_attrs(said),
        "observed_data": xr.Dataset({"counts": (counts.dims, counts.values)}, index),
    }
    if program.crossing is not None:
        groups[ANSWERS] = answers_table(program.crossing)
    return xr.DataTree.from_dict(groups)


def sampler_of(program: Program) -> Start:
    """What makes nutpie's sampler of a chain, which runs in the background."""
    # nutpie imports ArviZ, which takes seconds, for conversions that are not asked for here.
    nutpie, model = import_without("nutpie", "arviz"), nutpie_model(program)

    return partial(
        nutpie.sample,
        model,
        chains=1,
        cores=1,
        progress_bar=False,
        progress_rate=MILLISECONDS,
        return_raw_trace=True,
        store_divergences=True,
        blocking=False,
    )


def nutpie_model(program: Program) -> "CompiledPyMCModel | PyFuncModel":
    """Model that nutpie samples: its one variable is x, the free values of the program."""
    import_without("nutpie", "arviz")
    if program.crossing is not None:
        return crossed_model(program)
    model = import_module("nutpie.compile_pymc").CompiledPyMCModel
    size = program.arrays.size
    evaluate, copy = c_functions()
    return model(
        dims={},
        reparameterized_names=(),
        compiled_logp_func=evaluate,
        compiled_expand_func=copy,
        initial_point_func=initial_points(program),
        shared_data={},
        shared_var_keys={},
        # Its memory is read while chains run: the model holds it.
        user_data=program.packed,
        n_expanded=size,
        shape_info=(["x"], [slice(0, size)], [(size,)]),
        logp_func=None,
        expand_func=None,
        _n_dim=size,
        _shapes={"x": (size,)},
        _coords={},
    )


def crossed_model(program: Program) -> "PyFuncModel":
    """The same where a factor is integrated out, moved in values that are near standard normal."""
    size, packed, whitening = program.arrays.size, program.packed, program.whitening

    def evaluator() -> Callable[[Floats], tuple[float, Floats]]:
        density = program.crossed_density()

        def evaluate(values: Floats) -> tuple[float, Floats]:
            value, gradient, _ = density.at_moved(whitening.moved(values))
            return value, gradient @ whitening.factor

        return evaluate

    def expander(*_: Any) -> Callable[[Floats], dict[str, Floats]]:
        def free_values(values: Floats) -> dict[str, Floats]:
            x = np.empty(size)
            unwarp(whitening.moved(values), packed, x)
            return {"x": x}

        return free_values

    def begin(seed: int) -> Floats:
        return np.random.default_rng(seed).uniform(-JITTER, JITTER, size)

    return import_module("nutpie.compiled_pyfunc").from_pyfunc(
        size, evaluator, expander, [np.dtype("float64")], [(size,)], ["x"],
        make_initial_point_fn=begin,
    )  # fmt: skip


def initial_points(program: Program) -> Callable[[int], Floats]:
    """What a chain moves when it begins, from a seed."""
    start = warped(program.first_point, program.packed)

    def begin(seed: int) -> Floats:
        return start + np.random.default_rng(seed).uniform(-JITTER, JITTER, len(start))

    return begin


def announce(program: Program, plan: Plan) -> None:
    """Print what is sampled where a factor is integrated out: the search for a mode has no bar."""
    assert program.crossing is not None
    answers, levels = len(program.crossing.answers.rows), len(program.crossing.levels)
    if plan.has_bar:
        said = f"Sampling {len(program.counts):,} cells over {levels:,} items: {answers:,} answers,"
        size = in_words(BYTES_OF_ANSWER * answers)
        print(said, f"{size} of memory. A search for the mode comes first.", file=sys.stderr)


def divergences_by_cell(program: Program, steps: Floats) -> xr.Dataset:
    """How many divergent steps, (divergences, 2, free), failed in what is each cell's own.

    A step from start to end is that of a group, such as a person, and of all cells of it, where its
    part of the error is larger than all others together; else it is one of
    ``divergences_nowhere``, a number.
    """
    blocks = [block for design in program.designs.values() for block in design.blocks]
    cells = np.arange(program.counts.sizes["cell"])
    # Each factor once; cells that no factor groups are groups of their own.
    groupings = list({block.factor: block.index for block in blocks}.values()) or [cells]
    found, shared = np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells))
    # Where cells share items, no step is a single cell's.
    is_whole = np.isfinite(steps).all(axis=(1, 2)) & (program.crossing is None)
    nowhere = int((~is_whole).sum())
    for start, end in steps[is_whole]:
        errors = step_errors(start, end, program.packed)
        for group in groupings:
            of_groups = np.bincount(group, errors[:-1])
            if 2 * of_groups.max() > errors.sum():
                own = group == of_groups.argmax()
                found, shared = found + own, shared + own / own.sum()
                break
        else:
            nowhere += 1
    counted = dict(zip(OF_DIVERGENCES, (("cell", found), nowhere, ("cell", shared)), strict=True))
    return xr.Dataset(counted, {"cell": program.counts["cell"].values})


def step_errors(start: Floats, end: Floats, packed: Integers) -> Floats:
    """How far each term of the log density is from quadratic along a step: cells, then the rest."""
    step = end - start

    def terms(u: Floats) -> Floats:
        by_cell, x = np.zeros(packed[CELLS]), np.empty(len(u))
        shared = unwarp(u, packed, x)
        return np.append(by_cell, shared + evaluate_parts(x, packed, by_cell, np.empty(0)))

    with np.errstate(all="ignore"):
        at_start, at_end = (
            (terms(u + NUDGE * step) - terms(u - NUDGE * step)) / (2 * NUDGE) for u in (start, end)
        )
        error = np.abs((at_start + at_end) / 2 - (terms(end) - terms(start)))
    # A term that is not finite is the one that failed.
    return np.nan_to_num(error, nan=HUGE, posinf=HUGE)


def posterior_of(program: Program, draws: Floats, *, keep_cells: bool = True) -> xr.Dataset:
    """Variables of the posterior, except offsets, from draws of free values.

    Draws have the dims (chains, draws, free).
    """
    chains, number, _ = draws.shape
    size = max(1, VALUES_AT_ONCE // (program.arrays.size + len(program.arrays.offset_places)))
    template = block_of(program, draws[0, :1], keep_cells)
    found = {
        name: (own.dims, np.empty((chains, number, *own.shape[2:]), own.dtype))
        for name, own in template.items()
    }

    def fill(place: tuple[int, slice]) -> None:
        for name, own in block_of(program, draws[place], keep_cells).items():
            found[name][1][place] = own.values[0]

    in_threads(
        fill, [(i, slice(j, j + size)) for i in range(chains) for j in range(0, number, size)]
    )
    sizes = {"chain": np.arange(chains), "draw": np.arange(number)}
    return xr.Dataset(found, template.drop_vars("draw").coords).assign_coords(sizes)


def block_of(program: Program, draws: Floats, keep_cells: bool) -> xr.Dataset:
    """Variables of the posterior at some draws of a chain (draws, free)."""
    values = expand(unfold(program.arrays, draws), program.packed)
    return labelled_posterior(program, values[None], keep_cells)


def labelled_posterior(program: Program, values: Floats, keep_cells: bool) -> xr.Dataset:
    """Variables of the posterior from values and deviations, (chains, draws, values)."""
    chains, draws, number = values.shape
    found = {
        name: (("chain", "draw", *dims), own.reshape(chains, draws, *own.shape[1:]))
        for name, dims, own in variables(program, values.reshape(-1, number))
    }
    whole = sampled = xr.Dataset(found, {"draw": np.arange(draws)})
    if keep_cells:
        whole = whole.assign(cell_results(sampled, program.spec, program.designs, program.given))
    coords = {d: np.asarray(own) for d, own in program.layout.coords.items() if d in whole.dims}
    return whole.assign_coords(coords)


def variables(program: Program, values: Floats) -> Iterator[tuple[str, tuple[str, ...], Floats]]:
    """Name, dims and draws of what is sampled, of effects and of correlations."""
    number, layout = len(values), program.layout
    for free in layout.free:
        if free.role != "offset":
            own = values[:, free.first : free.first + free.size]
            if free.role == "loading":
                own = own - own.mean(axis=1, keepdims=True)
            yield free.name, free.dims, own.reshape(number, *free.shape)
    blocks = [block for formula in layout.formulas.values() for block in formula.blocks]
    first = layout.size
    for one in blocks:
        groups, effects = len(one.block.groups), one.block.columns.shape[1]
        deviations = values[:, first : first + one.offset.size]
        deviations = deviations.reshape(number, groups, effects, -1)
        for variable, place in zip(one.effects, places_of(one.block.terms), strict=True):
            own = deviations[:, :, place].reshape(number, *variable.shape)
            yield variable.name, variable.dims, own
        first += one.offset.size
    items = layout.integrated
    if items is not None and items.partial is not None and items.correlation is not None:
        yield items.correlation.name, (), 2 * values[:, items.partial.first] - 1
    for one in blocks:
        if one.partial is not None and one.correlation is not None:
            own = values[:, one.partial.first : one.partial.first + one.partial.size]
            factors = correlation_factors(own, one.correlation.shape[0])
            yield one.correlation.name, one.correlation.dims, factors @ factors.transpose(0, 2, 1)
