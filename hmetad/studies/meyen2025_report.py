"""The report of Meyen et al. (2025): what relative metainformation adds, and what is left of bias.

Study and its comparison → Report.
"""

from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from hmetad.measures.information import meta_information
from hmetad.report.page.report import Block, Figure, Prose, Report, Table, table_from_frame
from hmetad.report.plots.measures import (
    plot_group_accuracy,
    plot_information_plane,
    plot_type1_roc,
    plot_type2_roc,
)
from hmetad.report.plots.style import COLORS, INK, MARKERS, SIZE, dress
from hmetad.studies.meyen2025 import (
    ACCURACIES,
    DATA_SETS,
    MEASURES,
    NOISES,
    RESAMPLES,
    Study,
    example_counts,
    mean_ranges,
)
from hmetad.studies.tables import agreement, comparison_blocks

__all__ = ["report"]

MEANING = (
    "For one accuracy the confidence of an observer may carry little information or much: no more "
    "than the accuracy itself has (binary noise), or as much as an observer who either knows or "
    "guesses (uniform noise). RMI places an observer between the two, from 0 to 1."
)
BIAS = (
    "RMI of the two extreme observers should be the same at every accuracy. Estimated from 400 "
    "trials it is not quite: a response that is right half of the time looks better than that in a "
    "sample, since the likelier stimulus is taken from the sample. Reducing the bias by resampling "
    "removes most of it. The range of RMI with normal noise is no bias: such an observer is nearer "
    "to the upper bound where accuracy is higher."
)
RATIOS = (
    "meta-I₁ʳ divides by the information of a normal-noise observer of the same d′. Where d′ of a "
    "resampled table comes near 0 its bias is dominated by few draws, and the reduced values "
    "scatter widely: the ranges of the table show it."
)


def report(study: Study, comparison: pd.DataFrame) -> Report:
    """Report of the reproduction.

    Parameters
    ----------
    study : Study
        What `analyse` returned.
    comparison : DataFrame
        What `compare` returned.

    Returns
    -------
    Report
    """
    blocks: list[Block] = [
        Prose("In brief", (agreement(comparison), MEANING)),
        *comparison_blocks(comparison),
        Prose("The example", ()),
        *example_figures(),
        Prose("Measures and accuracy", (BIAS, RATIOS)),
        *(measures_figure(study, reduction) for reduction in ("plug-in", "bias reduced")),
        range_table(study),
        Prose("Groups", ()),
        group_figure(study),
    ]
    return Report(
        "Relative metainformation, computed and simulated again",
        tuple(blocks),
        subtitle="Meyen, Göppert, Schrenk, von Luxburg & Franz (2025)",
        meta=(
            ("Data sets", f"{DATA_SETS} of 400 trials in each of 12 conditions"),
            ("Resamples", f"{RESAMPLES:,} of each, to reduce bias"),
            ("Seed", str(study.seed)),
            ("hmetad", version("hmetad")),
        ),
    )


def example_figures() -> list[Figure]:
    """Table 1 in the information plane, and its two ROC curves."""
    counts = example_counts().assign_coords(cell=["Table 1"])
    measured = meta_information(counts)
    info, accuracy = measured["info"].item(), measured["accuracy"].item()
    plane = plot_information_plane(measured)
    said = f"Table 1 has accuracy {accuracy:.2f} and {info:.3f} bit."
    figures = [Figure("The example between its bounds.", said, plane.figure, name="plane")]
    kinds = {"pseudo type-1": plot_type1_roc, "type-2": plot_type2_roc}
    for name, plot in kinds.items():
        caption = f"The {name} ROC of the example, in the area that its accuracy leaves."
        figures.append(
            Figure(caption, f"{caption} {said}", plot(counts).figure, name=f"{name}-roc")
        )
    return figures


def measures_figure(study: Study, reduction: str) -> Figure:
    """Six panels: every data set's measure over its accuracy, and what theory expects."""
    axes = Canvas(figsize=(7.4, 5.4), layout="constrained").subplots(2, 3).ravel()
    for ax, (name, label) in zip(axes, MEASURES.items(), strict=True):
        draw_measure(ax, study, reduction, name)
        ax.set_title(label, fontsize=SIZE, fontweight="bold", color=INK, loc="left")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(
        handles, labels, loc="outside upper left", frameon=False, ncols=len(labels)
    )
    means = study.estimates.sel(reduction=reduction)["rmi"].mean("data_set")
    said = "; ".join(
        f"{noise} noise: {', '.join(f'{x:.2f}' for x in means.sel(noise=noise).to_numpy())}"
        for noise in NOISES
    )
    caption = (
        f"Measures of simulated data sets over their accuracy ({reduction}); lines are what theory "
        "expects of the binned confidence. What is far from most is beyond the axes."
    )
    at = ", ".join(f"{x:.1f}" for x in ACCURACIES)
    alt = f"Mean RMI at accuracies {at}: {said}."
    return Figure(caption, alt, axes[0].figure, name=f"measures-{reduction.replace(' ', '-')}")


def draw_measure(ax: Axes, study: Study, reduction: str, name: str) -> None:
    """One panel of `measures_figure`."""
    values = study.estimates.sel(reduction=reduction)[name]
    for place, noise in enumerate(NOISES):
        look: dict[str, Any] = {"color": COLORS[place], "marker": MARKERS[place]}
        across = study.estimates["observed"].sel(noise=noise).to_numpy().ravel()
        up = values.sel(noise=noise).to_numpy().ravel()
        ax.scatter(across, up, s=5, alpha=0.35, linewidth=0, rasterized=True, **look)
        line = study.expected[name].sel(noise=noise)
        label = f"{noise} noise"
        ax.plot(ACCURACIES, line, linewidth=1.3, markersize=4, label=label, **look)
    dress(ax, grid="y")
    # Of the plug-in, so that both figures have the same axes.
    low, high = np.nanpercentile(study.estimates[name].sel(reduction="plug-in"), [1, 99])
    edge = 0.12 * (high - low)
    ax.set(xlabel="accuracy", ylim=(low - edge, high + edge))


def range_table(study: Study) -> Table:
    """Range of means over accuracies: every measure, noise and reduction."""
    spans = mean_ranges(study)
    frame = pd.DataFrame(
        [
            {"Noise": noise, "Estimate": str(reduction)}
            | {
                MEASURES[name]: spans[name].sel(noise=noise, reduction=reduction).item()
                for name in MEASURES
            }
            for noise in NOISES
            for reduction in spans["reduction"].to_numpy()
        ]
    )
    caption = "Largest less smallest mean over the four accuracies."
    note = "Of RMI, theory has 0 for uniform and for binary noise."
    return table_from_frame(frame, caption, note=note, name="ranges")


def group_figure(study: Study) -> Figure:
    """Accuracy of groups by size and noise."""
    three = study.groups["accuracy"].sel(size=3)
    said = "; ".join(f"{noise} noise: {three.sel(noise=noise).item():.3f}" for noise in NOISES)
    caption = "Accuracy of groups of independent observers, each of accuracy .7."
    ax = plot_group_accuracy(study.groups["accuracy"])
    return Figure(caption, f"Groups of three: {said}.", ax.figure, name="groups")
