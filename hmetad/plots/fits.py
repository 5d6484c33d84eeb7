"""Figures that show whether a model fits: observed counts and type-2 ROC beside predicted ones.

Dataset of `predicted_counts` → matplotlib Axes, one for each cell.
"""

from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_variables
from hmetad.base.errors import ChoiceError, TooManyError
from hmetad.counts.checks import CORRECT, STIMULI, has_more_options
from hmetad.counts.tables import type2_counts
from hmetad.plots.panels import (
    AxesLike,
    name_outer_axes,
    name_panel,
    panel_axes,
    share_legend,
)
from hmetad.plots.style import (
    BAND,
    COLORS,
    INK,
    LINES,
    MARKERS,
    SMALL,
    SOFT,
    dress,
    nothing_to_draw,
)
from hmetad.text.names import in_percent

Kind = Literal["ratings", "roc"]
type Floats = NDArray[np.float64]

MOST_CELLS = 24
PANEL = {"ratings": (2.4, 1.8), "roc": (2.3, 2.2)}
NAMES = {
    "ratings": ("rating of S1 | of S2", "trials"),
    "roc": ("P(confident | wrong)", "P(confident | right)"),
}
DRAWN = {
    "ratings": ("counts", "mean", "lower", "upper"),
    "roc": (
        *("false_alarm_rate", "hit_rate", "false_alarm_rate_mean", "hit_rate_mean"),
        *("hit_rate_lower", "hit_rate_upper"),
    ),
}


@check_inputs(
    predicted=with_variables("counts", "mean", "hit_rate", dim="cell", made_by="predicted_counts")
)
def fit(
    predicted: xr.Dataset,
    *,
    kind: Kind = "ratings",
    ax: AxesLike | None = None,
) -> NDArray[Any]:
    """Observed next to predicted, a panel for each cell.

    Parameters
    ----------
    predicted : Dataset
        What `predicted_counts` returned, of at most 24 cells.
    kind : {"ratings", "roc"}, optional
        Trials of each response and rating, from sure S1 to sure S2, with a colour per stimulus; or
        the type-2 ROC. Markers are observed, bands and lines predicted. With more options, the
        figure has ratings of errors and of correct answers.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per cell; a new figure by default.

    Returns
    -------
    numpy.ndarray of Axes
        Of a figure outside pyplot: in a notebook ``axes[0].figure`` as the last line shows it.

    Raises
    ------
    InputError
        If there are more cells than panels fit, `kind` is none of the above, or there are not
        as many axes as cells.
    """
    if kind not in get_args(Kind):
        raise ChoiceError("kind", repr(kind), f"one of {get_args(Kind)}")
    cells = predicted["cell"].to_numpy()
    if len(cells) > MOST_CELLS:
        step = "Select some, such as those with the largest `outside`: .isel(cell=...)."
        raise TooManyError("predicted", f"{len(cells)} cells", f"at most {MOST_CELLS}", step)
    axes = panel_axes(ax, len(cells), PANEL[kind], margins=(0.3, 0.6))
    draw = draw_ratings if kind == "ratings" else draw_roc
    arrays = {name: array_of(predicted[name]) for name in DRAWN[kind]}
    for place, (axis, cell) in enumerate(zip(axes, cells, strict=False)):
        draw(axis, {name: values[place] for name, values in arrays.items()})
        name_panel(axis, cell)
        dress(axis, grid="y" if kind == "ratings" else None)
    is_pair = predicted.sizes.get("stimulus") == 2
    x_name, y_name = NAMES[kind] if is_pair or kind == "roc" else ("rating", NAMES[kind][1])
    name_outer_axes(axes, x_name, y_name, share_y=kind == "roc")
    if not len(cells):
        nothing_to_draw(axes[0])
    share_legend(axes)
    return axes


def describe_fit(predicted: xr.Dataset) -> str:
    """Words for those who do not see the figure: where the counts lie outside their intervals.

    Parameters
    ----------
    predicted : Dataset
        What `predicted_counts` returned.
    """
    level = in_percent(predicted.attrs["ci_prob"])
    said = [
        f"{cell}: {100 * share:.0f} %"
        for cell, share in zip(
            predicted["cell"].to_numpy(), predicted["outside"].to_numpy(), strict=True
        )
    ]
    return f"Share of counts outside their {level} predictive interval. {'; '.join(said)}."


def array_of(values: xr.DataArray) -> Floats:
    """Values with dim cell first, and of counts stimulus, response and rating after it.

    Those of more than two options are summed to wrong and right; sums of limits are no limits.
    """
    if has_more_options(values):
        is_summed = values.name in ("counts", "mean")
        values = type2_counts(values.reset_coords(drop=True)) * (1.0 if is_summed else np.nan)
    order = ("cell", "correct", "stimulus", "response", "rating")
    return values.transpose(*(x for x in order if x in values.dims), ...).to_numpy().astype(float)


def draw_ratings(ax: Axes, one: dict[str, Floats]) -> None:
    """Counts of each response and rating of one cell, by stimulus; of ratings, by correctness."""
    number, is_pair = one["counts"].shape[-1], one["counts"].ndim == 3
    x = np.arange(2 * number if is_pair else number)
    for place, stimulus in enumerate(STIMULI if is_pair else CORRECT):
        own = (one[name][place] for name in DRAWN["ratings"])
        observed, mean, lower, upper = (on_one_axis(y) if is_pair else y for y in own)
        color, marker = COLORS[place], MARKERS[place]
        ax.fill_between(x, lower, upper, color=color, alpha=0.18, linewidth=0)
        look: dict[str, Any] = {"color": color, "linestyle": LINES[place], "linewidth": 1.1}
        ax.plot(x, mean, label=f"{stimulus} predicted", **look)
        ax.plot(x, observed, marker, color=color, markersize=3.8, label=f"{stimulus} observed")
    labels = np.array([*range(number, 0, -1), *range(1, number + 1)])[-len(x) :]
    # Of many ratings only the ends are named, for the others would touch.
    named = (number < 6) | (labels == 1) | (labels == number)
    ax.set_xticks(x[named], labels[named].astype(str), fontsize=SMALL)
    if is_pair:
        ax.axvline(number - 0.5, color=SOFT, linewidth=0.7)
    ax.set_ylim(bottom=0)


def on_one_axis(counts: Floats) -> Floats:
    """Ratings of response S1 falling, then of response S2 rising, of shape (response, rating)."""
    return np.concatenate([counts[0, ::-1], counts[1]])


def draw_roc(ax: Axes, one: dict[str, Floats]) -> None:
    """Type-2 ROC of one cell, with the range of the predicted hit rates."""
    x, y, across, up, lower, upper = (one[name] for name in DRAWN["roc"])
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.fill_between(across, lower, upper, color=BAND, linewidth=0)
    ax.plot(across, up, color=COLORS[0], linewidth=1.1, label="predicted")
    ax.plot(x, y, "o", color=INK, markersize=3.8, label="observed")
    # Of an equal aspect, constrained layout would cut names off; panels are nearly square anyway.
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
