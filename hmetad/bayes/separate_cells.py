"""Posterior of cells that share nothing: put together part by part, or by chains of each cell.

Program whose cells share nothing → DataTree as a sampler of all cells together gives it. What is
kept of a part of the cells is their result alone, so that thousands of cells take no more memory
than their result and one part.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.labels import check_same_names
from hmetad.bayes.chains import Request, posterior_of, sample_enough, tree_of
from hmetad.bayes.kept_cells import DRAWS, posterior_bytes
from hmetad.bayes.program import Program
from hmetad.bayes.rounds import Drawn

# Statistics of cells, and those of chains that are kept for every cell.
OF_CELLS = ("diverging", "divergences", "pareto_k", "effective_draws", "by_chains")
KEPT = ("step_size", "n_steps", "energy")

# Bytes of the quantities of all cells beyond which fewer draws are kept by default, and how many
# all chains keep at least: more than the effective draws that results need.
MANY_BYTES, FEWEST_DRAWS = 10**9, 1000


def draws_by_default(program: Program, chains: int) -> int:
    """Draws of a chain that are kept where none are asked for: half as often as cells are many.

    Those of importance sampling are independent, and chains of a cell go on until what is kept of
    them is enough, so that fewer do.
    """

    def is_much(draws: int) -> bool:
        return posterior_bytes(program.counts, program.likelihood, draws, chains) > MANY_BYTES

    draws = DRAWS
    while is_much(draws) and draws // 2 * chains >= FEWEST_DRAWS:
        draws //= 2
    return draws


class CellPosterior:
    """Posterior of all cells of a program, (chains, draws, cells, ...), filled in part by part."""

    def __init__(self, program: Program, request: Request) -> None:
        options, cells = request.options, program.counts.sizes["cell"]
        self.shape = int(options["chains"]), int(options["draws"])
        self.coords = {str(name): np.asarray(own) for name, own in program.layout.coords.items()}
        first = program.of_cells(np.array([0]))
        self.one = posterior_of(first, first.first_point[None, None])
        self.values = {
            str(name): np.empty((*self.shape, cells, *own.shape[3:]))
            for name, own in self.one.items()
        }
        self.diverging = np.zeros(self.shape, dtype=bool)
        self.divergences = np.zeros(cells, dtype=np.int64)

    def fill(self, places: NDArray[np.int64], found: xr.Dataset) -> None:
        """Take over the posterior of cells at these places, with draws of all chains in order."""
        for name, values in self.values.items():
            own = found[name].values
            values[:, :, places] = own.reshape(*self.shape, *own.shape[2:])

    def take(self, cell: int, found: xr.Dataset, drawn: Drawn) -> None:
        """Take over the posterior of a cell from its chains, and how often they diverged."""
        self.fill(np.array([cell]), found)
        self.divergences[cell] = drawn.divergences
        self.diverging |= drawn.statistics["diverging"].values

    @property
    def whole(self) -> xr.Dataset:
        """The posterior, once all cells are filled in."""
        found = {name: (self.one[name].dims, values) for name, values in self.values.items()}
        chains, draws = map(np.arange, self.shape)
        coords = {"chain": chains, "draw": draws, **self.coords}
        return xr.Dataset(found, {name: coords[str(name)] for name in self.one.coords})


def sample_cells_by_chains(program: Program, request: Request) -> xr.DataTree:
    """Draw from the posterior of every cell by chains of its own, where cells share nothing.

    A cell that is hard to sample, as one whose d′ is near 0, then has its own divergences, and
    leaves the others alone. sample_stats has ``diverging`` (any cell) and, by cell, ``divergences``
    and, of every draw, ``step_size``, ``n_steps`` and ``energy``.
    """
    check_same_names(program.counts.coords, [*KEPT, *OF_CELLS])
    posterior, seeds = CellPosterior(program, request), seeds_of_cells(program, request)
    kept = {name: np.zeros((*posterior.shape, len(seeds))) for name in KEPT}
    for cell, seed in enumerate(seeds):
        found, drawn = chains_of_cell(program, cell, seed, request)
        posterior.take(cell, found, drawn)
        for name, values in kept.items():
            values[..., cell] = drawn.statistics[name]
    statistics = statistics_of(program, posterior.diverging, divergences=posterior.divergences)
    statistics = statistics.assign(
        {name: (("chain", "draw", "cell"), values) for name, values in kept.items()}
    )
    tuning = {"tuning_steps": request.plan.tune}
    return tree_of(program, posterior.whole, statistics, "nutpie", tuning)


def seeds_of_cells(program: Program, request: Request) -> list[np.random.SeedSequence]:
    """A seed of its own for every cell."""
    cells = program.counts.sizes["cell"]
    return np.random.SeedSequence(int(request.options["random_seed"])).spawn(cells)


def chains_of_cell(
    program: Program,
    cell: int,
    seed: np.random.SeedSequence,
    request: Request,
    targets: tuple[float, ...] = (),
) -> tuple[xr.Dataset, Drawn]:
    """Posterior of a cell by itself, and as many of its draws as one round has.

    Its step size is its own, and so are its divergences. Chains go on until they are enough, as
    those of all cells together do.
    """
    part, plan = program.of_cells(np.array([cell])), request.plan
    own = replace(
        plan,
        seed=int(seed.spawn(1)[0].generate_state(1)[0] >> 1),
        # Each takes a moment: a bar would only flicker, and where steps diverge the shortest do.
        has_bar=False,
        targets=targets or tuple(dict.fromkeys((plan.targets[0], plan.targets[-1]))),
    )
    _, drawn, posterior, _ = sample_enough(part, request, own)
    return posterior, drawn.thinned(plan.draws)


def statistics_of(program: Program, diverging: NDArray[np.bool_], **by_cell: Any) -> xr.Dataset:
    """Draws (chains, draws) that diverged in any cell, and numbers of cells."""
    chains, draws = diverging.shape
    return xr.Dataset(
        {
            "diverging": (("chain", "draw"), diverging),
            **{name: ("cell", values) for name, values in by_cell.items()},
        },
        {
            "chain": np.arange(chains),
            "draw": np.arange(draws),
            "cell": program.counts["cell"].values,
        },
    )
