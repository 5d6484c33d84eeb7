"""What measures of confidence say where a process is known: one picture of many panels.

Process of confidence and its parameters → expected counts → figure. No trial is drawn at random.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

import hmetad
from hmetad.likelihood import load_likelihood
from hmetad.plots.style import COLORS, INK, LINES, MARKERS, dress, reference_line

__all__ = ["processes"]

type Floats = NDArray[np.float64]
# Place of the panels, values across, values of `expected_counts`, number of the process, is dashed.
type Line = tuple[int, Floats, dict[str, ArrayLike | str], int, bool]

TRIALS = 1e6
SIDES = np.array([[-1.0], [1.0]])
NAMES = (
    "signal detection",
    "Gaussian noise",
    "visibility",
    "boost",
    "later evidence",
    "independent evidence",
    "meta-uncertainty",
)
SDT, NOISE, VISIBILITY, BOOST, LATER, INDEPENDENT, UNCERTAINTY = range(7)
INKS = (INK, *COLORS[:3], COLORS[3], COLORS[5], COLORS[4])
# Each at one value of its parameters.
FIXED: tuple[dict[str, ArrayLike | str], ...] = (
    {"likelihood": "signal-detection"},
    {"process": "gaussian_noise", "noise": 0.5},
    {"process": "wev", "visibility": 0.4, "noise": 0.5},
    {"process": "cncb", "boost": 0.4, "noise": 0.5},
    {"process": "pda", "later": 0.5},
    {"process": "ig", "relative_dprime": 1.0},
    {"likelihood": "lognormal", "meta_noise": 0.5},
)
ACROSS = ("noise, meta noise", "visibility", "boost", "d′", "step between criteria")
MEASURES = ("M-ratio", "meta-I (bit)", "AUROC2", "gamma")


def expected_counts(
    dprime: ArrayLike = 1.5,
    step: ArrayLike = 0.5,
    likelihood: str = "linear-gaussian",
    process: str = "",
    **values: ArrayLike | str,
) -> xr.DataArray:
    """Count table that a process expects: c = 0, four ratings, equal steps between criteria."""
    record = load_likelihood(likelihood, **({"process": process} if process else {}))
    numbers = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    arrays = np.broadcast_arrays(np.atleast_1d(dprime), step, *numbers.values())
    d, steps, *own = (np.asarray(x, dtype=float) for x in arrays)
    known = {"dprime": d, "c": np.zeros_like(d), **dict(zip(numbers, own, strict=True))}
    criteria = steps[:, None, None] * SIDES * np.arange(1.0, 4.0)
    n = np.round(TRIALS * np.exp(record.outcomes(known | {"criteria": criteria}))).astype(int)
    classic = np.concatenate([n[..., 0, ::-1], n[..., 1, :]], axis=-1)
    return hmetad.from_nr(classic[:, 0], classic[:, 1])


def measured(counts: xr.DataArray) -> Iterator[Floats]:
    """The measures of every cell, in the order of the rows of panels."""
    yield hmetad.fit_mle(counts)["m_ratio"].to_numpy()
    yield hmetad.information.meta_information(counts)["meta_i"].to_numpy()
    yield hmetad.measures.auroc2(counts).to_numpy()
    yield hmetad.measures.gamma(counts, estimator="pairs").to_numpy()


def lines_of_parameters() -> Iterator[Line]:
    """Lines of the panels in which a parameter of the process changes."""
    noise, weight = np.linspace(0, 2, 21), np.linspace(0, 0.9, 19)
    boost = np.linspace(0, 1, 21)
    yield 0, noise, {"process": "gaussian_noise", "noise": noise}, NOISE, False
    spread = np.maximum(noise, 1e-3)
    yield 0, noise, {"likelihood": "lognormal", "meta_noise": spread}, UNCERTAINTY, False
    for sd in (0.5, 1.0):
        own = {"process": "wev", "visibility": weight, "noise": sd}
        yield 1, weight, own, VISIBILITY, sd == 1
        yield 2, boost, {"process": "cncb", "boost": boost, "noise": sd}, BOOST, sd == 1
    # Evidence that goes on, on the scale of boost: b/(1 + b), with criteria that go along.
    share = np.linspace(0, 0.75, 16)[1:]
    b = share / (1 - share)
    yield 2, share, {"process": "pda", "later": b, "step": 0.5 * (1 + b)}, LATER, False


def lines_of_tasks() -> Iterator[Line]:
    """Lines of the panels in which d′ or the criteria change, a line for each process."""
    dprime, step = np.linspace(0.3, 3, 19), np.linspace(0.15, 1, 18)
    for number, fixed in enumerate(FIXED):
        yield 3, dprime, fixed | {"dprime": dprime}, number, False
        yield 4, step, fixed | {"step": step}, number, False


def processes() -> Figure:
    """Four measures across the parameters of processes, d′ and the criteria."""
    figure = Figure(figsize=(8.6, 7.2), layout="constrained")
    panels = figure.subplots(len(MEASURES), len(ACROSS), sharex="col", sharey="row")
    for place, x, values, number, is_dashed in (*lines_of_parameters(), *lines_of_tasks()):
        # Every sixth point has a marker, so that colours are not needed.
        look = look_of_process(number, is_dashed) | {"markevery": (number % 6, 6)}
        for ax, y in zip(panels[:, place], measured(expected_counts(**values)), strict=True):
            ax.plot(x, y, **look)
    for ax in panels[0]:
        reference_line(ax, 1, vertical=False)
    for ax in panels.ravel():
        dress(ax, grid="y")
    name_panels(panels)
    figure.legend(handles=list(legend_lines()), loc="outside lower center", ncols=4, frameon=False,
                  fontsize=9.5, handlelength=2.6, columnspacing=1.6)  # fmt: skip
    return figure


def look_of_process(number: int, is_dashed: bool = False) -> dict[str, Any]:
    """Colour, marker and line of a process."""
    return {
        "color": INKS[number],
        "marker": MARKERS[number],
        "markersize": 3.8,
        "linestyle": LINES[int(is_dashed)],
        "linewidth": 1.4,
    }


def name_panels(panels: Iterable[Iterable[Axes]]) -> None:
    """Names at the left of rows and below columns; limits of the measures."""
    rows = [list(row) for row in panels]
    for row, name, high in zip(rows, MEASURES, (3, 0.32, 1, 1), strict=True):
        row[0].set(ylabel=name, ylim=(0.5 if name == "AUROC2" else 0, high))
    rows[0][0].set_yticks([0, 1, 2, 3])
    for ax, name, right in zip(rows[-1], ACROSS, (2, 1, 1, 3, 1), strict=True):
        ax.set_xlabel(name)
        ax.set(xlim=(-0.03 * right, 1.03 * right), xticks=[0, right / 2, right])
        ax.xaxis.set_major_formatter("{x:g}")


def legend_lines() -> Iterator[Line2D]:
    """A line for each process, and what is dashed."""
    for number, name in enumerate(NAMES):
        yield Line2D([], [], label=name, **look_of_process(number))
    yield Line2D(
        [], [], color=INK, linestyle=LINES[1], linewidth=1.4, label="with noise 1, not 0.5"
    )
