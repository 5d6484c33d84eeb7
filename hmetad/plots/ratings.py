"""Accuracy by confidence rating.

Count table (cell, stimulus, response, rating) → matplotlib Axes.
"""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hmetad.arguments import check_inputs
from hmetad.plots.frames import require_counts
from hmetad.plots.marks import line_with_whiskers, wilson
from hmetad.plots.style import (
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    reference_line,
    told_apart,
)

__all__ = ["accuracy_by_rating"]


@check_inputs()
def accuracy_by_rating(counts: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Accuracy at each confidence rating, one line per cell.

    Bars are 95 % Wilson intervals, the area of a marker grows with its number of trials, and a
    rating that was never used leaves a gap.

    Parameters
    ----------
    counts : xarray.DataArray
        Count table, dims (cell, stimulus, response, rating).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `counts` has other dims, or more cells than can be told apart.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> accuracy_by_rating(from_nr([84, 56, 48, 12], [4, 56, 64, 76])).get_ylabel()
    'accuracy'
    """
    require_counts(counts)
    cells, ratings = counts["cell"].to_numpy(), counts["rating"].to_numpy()
    told_apart("counts", len(cells), "cells")
    ax = ax if ax is not None else new_axes(5.6, 3.4)
    trials, correct = trials_and_correct(counts)
    # So far apart that whiskers do not cover each other.
    shifts = (np.arange(len(cells)) - (len(cells) - 1) / 2) * min(0.1, 0.5 / max(len(cells), 1))
    for place, cell in enumerate(cells):
        areas = 8 + 110 * trials[place] / max(trials[place].sum(), 1)
        accuracy = wilson(correct[place], trials[place])
        line_with_whiskers(ax, ratings + shifts[place], accuracy, place, str(cell), areas=areas)
    finish(ax, ratings)
    if not len(cells):
        nothing_to_draw(ax)
    return ax


def trials_and_correct(counts: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Trials and correct trials, shape (cells, ratings)."""
    correct = counts.where(counts["stimulus"] == counts["response"], 0)
    order = ("cell", "rating")
    trials, right = (c.sum(("stimulus", "response")).transpose(*order) for c in (counts, correct))
    return trials.to_numpy(), right.to_numpy()


def finish(ax: Axes, ratings: np.ndarray) -> None:
    """Chance, names and limits of the axes."""
    reference_line(ax, 0.5, vertical=False)
    dress(ax, grid="y")
    ax.set_xticks(ratings)
    name_axes(ax, "confidence rating", "accuracy")
    ax.set_ylim(min(ax.get_ylim()[0], 0.46), 1.03)
    put_legend(ax)
