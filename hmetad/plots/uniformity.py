"""Ranks of true values among posterior draws: how far they are from uniform.

Dataset of `calibrate_sampler` → matplotlib Axes. Source: Säilynoja et al. (2022).
"""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hmetad.arguments import check_inputs, with_variables
from hmetad.errors import InputError
from hmetad.plots.style import (
    BAND,
    COLORS,
    INK,
    LINES,
    drawable,
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    reference_line,
)
from hmetad.uniformity import cumulative_ranks, rank_band

__all__ = ["ranks"]

# More names than these do not fit above the axes.
MOST_NAMED = 8


@check_inputs(found=with_variables("rank", dim="parameter", made_by="calibrate_sampler"))
def ranks(found: xr.Dataset, *, prob: float = 0.95, ax: Axes | None = None) -> Axes:
    r"""Distribution functions of ranks less that of uniform ranks, with a simultaneous band.

    Parameters
    ----------
    found : Dataset
        What `hmetad.simulate.calibrate_sampler` returned, or some of its parameters.
    prob : float
        Probability that the line of a calibrated quantity stays inside the band at all points
        together. Of twenty quantities, one is outside a band of .95 by chance.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it. Lines
        that leave the band are coloured, and named where they are at most eight.

    Raises
    ------
    InputError
        If `found` is something else, or `prob` is not between 0 and 1.

    Notes
    -----
    With :math:`R_r` of n ranks at most r, out of `ranks` draws, the line is
    :math:`R_r / n - (r + 1)/(ranks + 1)`. It falls below 0 and rises above it again where the
    posterior is too wide, the other way about where it is too narrow, and stays on one side where
    it is shifted. Source: Säilynoja et al. (2022).

    Examples
    --------
    >>> uniform = np.random.default_rng(1).integers(0, 50, (200, 2))
    >>> found = xr.Dataset({"rank": (("simulation", "parameter"), uniform)}, attrs={"ranks": 49})
    >>> ranks(found.assign_coords(parameter=["c", "log_m"])).get_xlabel()
    'rank, as a share of the draws'
    """
    number = number_of_draws(found)
    if not 0 < prob < 1:
        raise InputError("prob", repr(prob), "a number between 0 and 1")
    values = found["rank"].transpose("simulation", "parameter").to_numpy()
    ax = ax if ax is not None else new_axes(4.6, 3.2)
    if values.size:
        draw_lines(ax, values.astype(int), number, prob, found["parameter"].to_numpy())
    else:
        nothing_to_draw(ax)
    dress(ax)
    name_axes(ax, "rank, as a share of the draws", "share of data sets, less that expected")
    put_legend(ax)
    return ax


def number_of_draws(found: xr.Dataset) -> int:
    """Draws among which truths were ranked."""
    number = found.attrs.get("ranks")
    if not isinstance(number, int | np.integer) or number < 1:
        allowed = "a Dataset of calibrate_sampler, which says how many draws there were"
        raise InputError("found", f"attrs['ranks'] of {number!r}", allowed)
    return int(number)


def draw_lines(ax: Axes, values: np.ndarray, number: int, prob: float, names: np.ndarray) -> None:
    """The band, and a line for every quantity."""
    simulations = len(values)
    x = np.arange(1, number + 1) / (number + 1)
    low, high = rank_band(simulations, number, prob)
    ax.fill_between(x, low / simulations - x, high / simulations - x, color=BAND, linewidth=0)
    reference_line(ax, 0.0, vertical=False)
    counts = cumulative_ranks(values, number)
    is_outside = ((counts < low) | (counts > high)).any(axis=1)
    lines = counts / simulations - x
    for line in lines[~is_outside]:
        ax.plot(x, line, color=INK, linewidth=0.6, alpha=0.45)
    are_named = is_outside.sum() <= MOST_NAMED
    for place, i in enumerate(np.flatnonzero(is_outside)):
        color, stroke = COLORS[1 + place % (len(COLORS) - 1)], LINES[place % len(LINES)]
        label = drawable(names[i]) if are_named else None
        ax.plot(x, lines[i], color=color, linestyle=stroke, linewidth=1.1, label=label)
