"""Sampling in rounds: chains go on until draws are enough, and take shorter steps where they fail.

Program and what a posterior has to meet → draws of free values. The chains of a round stand still
while their draws are judged, and go on from where they stand if these are too few; nothing is tuned
again. Where steps diverged, chains are tuned anew for steps that are accepted more often. The same
seed gives the same draws, however many cores there are: every chain has a seed of its own, and of a
chain that has run ahead the draws of the round are taken.
Source: Vehtari et al. (2021), for what is enough; Beskos et al. (2013), for the length of steps.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pyarrow import record_batch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hmetad.base.errors import FormulaError

type Floats = NDArray[np.float64]
# Makes the sampler of a chain, which runs from then on, from options of nutpie.
type Start = Callable[..., Any]

# Of nutpie's statistics of a draw those that say how it came about.
STATISTICS = (
    "depth", "maxdepth_reached", "step_size", "step_size_bar", "mean_tree_accept", "n_steps",
    "index_in_trajectory", "logp", "energy", "energy_error", "max_energy_error", "diverging",
)  # fmt: skip
# What nutpie says if the density is not finite at any point where a chain may begin.
NOWHERE_TO_BEGIN = "All initialization points failed"
# How often steps are to be accepted: at first, and where some diverged.
TARGETS = (0.8, 0.95, 0.99)
# The more values there are the shorter are steps, and the less does a refused one cost beside them:
# from so many values on, the share that is best in the limit (Beskos et al., 2013).
LARGE, TARGET_OF_LARGE = 4000, 0.65
# So many values take so long that draws are judged before the first round ends: at the first look,
# and after so many times its draws.
EARLIER = (1.4, 2.0, 2.8)
# Draws of a chain in all rounds, at most.
MOST_DRAWS = 8000
# Bytes of all draws, at most.
MOST_BYTES = 1024**3
# Seconds between two looks at the chains, and milliseconds between two of their messages.
SECONDS, MILLISECONDS = 0.005, 10


@dataclass(frozen=True)
class Plan:
    """How much is sampled.

    Parameters
    ----------
    tune, chains, cores, seed : int
    draws : int
        Draws of a chain, in the first round.
    may_go_on : bool
        Whether further rounds may follow.
    targets : tuple of float
        How often steps are to be accepted, one after the other.
    has_bar : bool
        Whether progress is shown on a terminal.
    judges_early : bool
        Whether draws are judged before the first round ends: where they take long.
    """

    tune: int
    chains: int
    cores: int
    seed: int
    draws: int
    may_go_on: bool
    targets: tuple[float, ...]
    has_bar: bool = False
    judges_early: bool = False

    @property
    def seeds(self) -> list[int]:
        """A seed for every chain."""
        return [int(x) for x in np.random.SeedSequence(self.seed).generate_state(self.chains) >> 1]

    @property
    def look(self) -> int:
        """Draws of a chain at a first look, which says whether to begin anew; 0 for none."""
        return self.draws // 4 if self.may_go_on else 0

    def rounds(self, size: int) -> list[int]:
        """Draws of a chain after each round, with so many free values."""
        if not self.may_go_on:
            return [self.draws]
        most = min(MOST_DRAWS, MOST_BYTES // (self.chains * size * 8))
        first = max(self.look + 1, min(self.draws, most))
        numbers = [self.look, first]
        if self.judges_early:
            numbers[1:1] = [n for n in (round(by * self.look) for by in EARLIER) if n < first]
        while 2 * numbers[-1] <= most:
            numbers.append(2 * numbers[-1])
        return numbers

    def suited_to(self, size: int) -> "Plan":
        """The plan for so many free values: when to judge, and the first target."""
        if size < LARGE:
            return self
        targets = (TARGET_OF_LARGE, *TARGETS[1:]) if self.targets == TARGETS else self.targets
        return replace(self, targets=targets, judges_early=True)


@dataclass(frozen=True)
class Drawn:
    """What chains have drawn.

    Parameters
    ----------
    x : array, shape (chains, draws, free)
    statistics : Dataset
        Of every draw.
    steps : array, shape (divergences, 2, free)
        What chains move, at the start and the end of every step that diverged; NaN where it ended
        nowhere.
    target : float
    """

    x: Floats
    statistics: xr.Dataset
    steps: Floats
    target: float

    @property
    def divergences(self) -> int:
        """Number of steps that diverged."""
        return len(self.steps)

    def thinned(self, kept: int) -> "Drawn":
        """Every k-th draw, so that no more are kept than one round has; divergences stay."""
        draws = self.x.shape[1]
        every = max(1, draws // kept)
        if every == 1:
            return self
        last = slice(every - 1, None, every)
        statistics = self.statistics.isel(draw=last).assign_coords(draw=np.arange(draws // every))
        shape = (len(self.x), draws // every, every)
        diverging = self.statistics["diverging"].values[:, : draws // every * every]
        own = ("chain", "draw"), diverging.reshape(shape).any(axis=2)
        return Drawn(self.x[:, last], statistics.assign(diverging=own), self.steps, self.target)


@dataclass
class Chain:
    """A chain that can be halted and go on.

    Parameters
    ----------
    start : callable
        Makes its sampler.
    tune : int
        Draws of tuning.
    finished : int
        All draws that it has, as far as is known.
    whole : list, optional
        All that it has drawn, once it has ended: of draws, and of their statistics.
    """

    start: Start
    tune: int
    finished: int = 0
    whole: list[Any] | None = None

    @cached_property
    def sampler(self) -> Any:
        """nutpie's sampler of this chain alone, which runs from the moment it is there."""
        return self.start(progress_callback=self.hear)

    def hear(self, messages: Sequence[Any]) -> None:
        """Take note of how far it is."""
        self.finished = messages[0].finished_draws

    def has(self, number: int) -> bool:
        """Whether it has so many draws after tuning, or has ended."""
        return self.finished >= self.tune + number or self.is_over

    def go_on(self) -> None:
        """Run, in the background."""
        if "sampler" in vars(self):
            self.sampler.resume()
        else:
            _ = self.sampler

    @property
    def is_over(self) -> bool:
        """Whether it has ended, with all its draws or by an error."""
        try:
            return bool(self.sampler.is_finished)
        except TimeoutError:
            # It is busy.
            return False

    def halt(self) -> None:
        """Stand still; a chain that has ended does."""
        if not self.is_over:
            self.sampler.pause()

    def take(self, x: Floats) -> tuple[dict[str, NDArray[Any]], list[Any]]:
        """Fill in its first draws after tuning (draws, free); their statistics, divergent steps."""
        number, size = x.shape
        if self.whole is None and self.is_over:
            self.whole = batches(self.sampler.wait())
        draws, statistics = self.whole or batches(self.sampler.inspect())
        places = np.flatnonzero(~np.asarray(statistics.column("tuning")))[:number]
        if len(places) < number:
            raise KeyboardInterrupt("sampling was interrupted; the draws are incomplete")
        np.asarray(draws.column("x").flatten()).reshape(-1, size).take(places, axis=0, out=x)
        own = {name: np.asarray(statistics.column(name))[places] for name in STATISTICS}
        # Of a step that left all that has a density there is no end.
        nothing = [np.nan] * size
        ends = [statistics.column(f"divergence_{end}") for end in ("start", "end")]
        failed = [
            [end[i].as_py() or nothing for end in ends] for i in places[own["diverging"]].tolist()
        ]
        return own, failed

    def end(self) -> None:
        """Let go of it and of its draws."""
        if "sampler" in vars(self):
            if self.whole is None:
                self.sampler.cancel()
            del self.sampler
        self.whole = None


def batches(trace: Any) -> list[Any]:
    """Arrow's batches of draws and of statistics; a trace gives them once."""
    return [record_batch(one[0]) for one in trace.get_arrow_trace()]


def sample_rounds(
    start: Start, plan: Plan, size: int, target: float
) -> Generator[Drawn, None, None]:
    """What chains have drawn after each round; who has enough asks for no more.

    Parameters
    ----------
    start : callable
        Makes the sampler of one chain.
    plan : Plan
    size : int
        Number of free values.
    target : float
        How often steps are to be accepted.

    Raises
    ------
    InputError
        If there is no density where chains begin.
    """
    numbers = plan.rounds(size)
    options = {"target_accept": target, "tune": plan.tune}
    begin = partial(start, draws=numbers[-1], **options)
    chains = [Chain(partial(begin, seed=seed), plan.tune) for seed in plan.seeds]
    try:
        for number in numbers:
            with progress_of(chains, number, target, has_bar=plan.has_bar) as show:
                advance(chains, number, plan.cores, show)
            # No name for it here, so that it is let go of before chains go on.
            yield drawn_so_far(chains, (number, size), target, is_last=number == numbers[-1])
    except RuntimeError as error:
        # Errors of the sampler have no type of their own, but texts.
        if type(error) is not RuntimeError or not str(error).startswith(NOWHERE_TO_BEGIN):
            raise
        step = "Standardise what is a number in formulas: scale(x); or say that it is levels: C(x)."
        got, allowed = "no finite density where chains begin", "a model that can be sampled"
        raise FormulaError("formula", got, allowed, step) from error
    finally:
        for chain in chains:
            chain.end()


def advance(chains: Sequence[Chain], number: int, cores: int, show: Callable[[], None]) -> None:
    """Let chains go on to so many draws each, some at a time."""
    waiting, running = list(chains), list[Chain]()
    while waiting or running:
        while waiting and len(running) < cores:
            running.append(waiting.pop(0))
            running[-1].go_on()
        time.sleep(SECONDS)
        done = [chain.has(number) for chain in running]
        for chain in compress(running, done):
            chain.halt()
        running = [chain for chain, is_done in zip(running, done, strict=True) if not is_done]
        show()


def drawn_so_far(
    chains: Sequence[Chain], shape: tuple[int, int], target: float, *, is_last: bool
) -> Drawn:
    """First draws (draws, free) of every chain after tuning, with what the chains say of them."""
    x, parts = np.empty((len(chains), *shape)), []
    for chain, own in zip(chains, x, strict=True):
        parts.append(chain.take(own))
        if is_last:
            # What it holds takes as much room again.
            chain.end()
    statistics = {
        name: (("chain", "draw"), np.stack([own[name] for own, _ in parts])) for name in STATISTICS
    }
    sizes = {"chain": np.arange(len(x)), "draw": np.arange(x.shape[1])}
    steps = [step for _, failed in parts for step in failed]
    ends = np.array(steps, dtype=float).reshape(-1, 2, x.shape[2])
    return Drawn(x, xr.Dataset(statistics, sizes), ends, target)


@contextmanager
def progress_of(
    chains: Sequence[Chain], number: int, target: float, *, has_bar: bool
) -> Iterator[Callable[[], None]]:
    """Bar of a round on a terminal or in a notebook, and what brings it up to date."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    is_shown = has_bar and (console.is_terminal or console.is_jupyter)
    with Progress(*columns, console=console, disable=not is_shown, transient=True) as bar:
        said = f"{len(chains)} chains to {number:,} draws, steps accepted at {target:g}"
        total = sum(number + chain.tune for chain in chains)
        task = bar.add_task(said, total=total)

        def show() -> None:
            bar.update(task, completed=sum(chain.finished for chain in chains))

        yield show
