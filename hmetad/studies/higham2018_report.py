"""The report of Higham & Higham (2018): which estimate of gamma is nearer the truth, and by chance.

Study and its comparison → Report.
"""

from importlib.metadata import version

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.report.page.report import Block, Figure, Prose, Report, Table, table_from_frame
from hmetad.report.plots.by import plot_criterion
from hmetad.studies.higham2018 import (
    GROUPS,
    RESOLUTIONS,
    SCALES,
    SDS,
    Study,
    flat,
    nearness,
    repeated_nearness,
)
from hmetad.studies.tables import agreement, comparison_blocks

__all__ = ["report"]

NAMES = {"trapezoid": "G_trap", "pairs": "G_pairs"}
UNSTABLE = (
    "In some models the two estimates are as far from the truth, all but for chance, and who wins "
    "is chance too. "
    "How many times nearer the trapezoid is, is a mean of ratios whose denominators are deviations "
    "of the trapezoid, some of them no larger than the Monte Carlo error of the simulation that "
    "finds them. It says little: simulations like the printed one scatter as the table shows; "
    "the ratio of the mean deviations, beside it, hardly moves."
)
MEANING = (
    "Gamma by pairs leaves out ties, and is too large; gamma by the trapezoid cuts corners of the "
    "ROC, and is too small. With 6 to 101 points of confidence the second error is the smaller one "
    "in most models, but not where resolution is low, variances are unequal and responding is "
    "liberal: there the points of the ROC leave out the part where it is bowed."
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
        Prose("Means and the truth", ()),
        *(means_figure(study, sd, x) for sd in SDS for x in RESOLUTIONS),
        Prose("How much nearer", (UNSTABLE,)),
        nearness_table(study),
    ]
    return Report(
        "New improved gamma, simulated again",
        tuple(blocks),
        subtitle="Higham & Higham (2018): 36 models of right and wrong items",
        meta=(
            ("Source", "Behavior Research Methods, doi:10.3758/s13428-018-1125-5"),
            ("Seed", str(study.seed)),
            ("hmetad", version("hmetad")),
        ),
    )


def means_figure(study: Study, sd: str, resolution: str) -> Figure:
    """Mean estimates less the truth over bias, a line per estimator and a panel per scale."""
    models = study.models.sel(sd=sd, resolution=resolution)
    variance = xr.dot(models["covariance"], identity(models), dim="other")
    values = xr.Dataset({"error": models["mean"] - models["truth"], "se": np.sqrt(variance)})
    frame = values.to_dataframe().reset_index()
    frame["lower"] = frame["error"] - 1.96 * frame["se"]
    frame["upper"] = frame["error"] + 1.96 * frame["se"]
    frame["line"] = frame["estimator"].map(NAMES)
    frame["panel"] = frame["scale"].astype(str) + " points"
    axes = plot_criterion(
        frame, x="bias", hue="line", panel="panel", estimate="error", ylabel="mean less the truth"
    )
    worst = models["deviation"].max("bias")
    said = "; ".join(
        f"{scale} points, {NAMES[name]}: up to {worst.sel(scale=scale, estimator=name).item():.3f}"
        for scale in SCALES
        for name in NAMES
    )
    caption = (
        f"Mean estimates less the true gamma of {models['truth'].item():.3f}; {sd}, {resolution}. "
        "Bars, where they can be seen, are 95 % Monte Carlo intervals."
    )
    alt = f"Largest distance from the truth, {sd}, {resolution}. {said}."
    return Figure(caption, alt, axes[0].figure, name=f"means-{sd}-{resolution}".replace(" ", "-"))


def identity(models: xr.Dataset) -> xr.DataArray:
    """Picks the variances from the covariance of the two estimators."""
    names = models["estimator"].to_numpy()
    coords = {"estimator": names, "other": names}
    return xr.DataArray(np.eye(len(names)), coords, ("estimator", "other"))


def nearness_table(study: Study) -> Table:
    """Wins and times nearer with their ranges over repeats, and the ratio of mean deviations."""
    deviation = study.models["deviation"]
    wins, nearer = nearness(deviation)
    ranges = [x.quantile([0.025, 0.975], "repeat") for x in repeated_nearness(study)]
    (fewest, most), (least, largest) = map(flat, ranges)
    is_won = deviation.sel(estimator="pairs") > deviation.sel(estimator="trapezoid")
    means = deviation.where(is_won).mean(["scale", "bias"])
    stable = means.sel(estimator="pairs") / means.sel(estimator="trapezoid")
    frame = pd.DataFrame(
        {
            "Models": GROUPS,
            "Wins of 9": flat(wins),
            "Wins in repeats": [f"{x:.0f} to {y:.0f}" for x, y in zip(fewest, most, strict=True)],
            "Times nearer": flat(nearer),
            "Times in repeats": [
                f"{x:.1f} to {y:.1f}" for x, y in zip(least, largest, strict=True)
            ],
            "Ratio of means": flat(stable),
        }
    )
    caption = (
        "In how many of nine models the trapezoid is nearer the truth, and how many times nearer "
        "there; 95 % of repeats of such a simulation lie in the ranges."
    )
    return table_from_frame(frame, caption, name="nearness")
