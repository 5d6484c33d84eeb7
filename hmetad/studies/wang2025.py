"""Wang et al. (2025), DMC: whether its numbers add up, and what it decouples from sensitivity.

Seed → simulated measures of eight tasks, and scatter by sampling → what is printed, computed.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.likelihood.families.meta_d import log_joint_probabilities
from hmetad.measures.information import meta_information
from hmetad.measures.type2 import auroc2
from hmetad.mle.dmc import fit_dmc
from hmetad.mle.meta_d import fit_mle
from hmetad.simulate.simulate import simulate_counts
from hmetad.studies.comparison import Ours, frame_of

type Floats = NDArray[np.float64]

NAME = "wang2025"
DPRIMES = np.linspace(0.6, 3.0, 8)
# In an order that has little to do with d′.
BIASES = np.array([0.1, -0.5, 0.3, 0.6, -0.3, -0.1, 0.5, -0.6])
RATIOS = (0.3, 0.5, 0.7, 0.9)
RATINGS, GAP = 4, 0.5
# Distances of type-2 criteria where tasks differ in how much it takes to be confident.
GAPS = np.array([0.5, 0.2, 0.8, 0.3, 1.0, 0.6, 0.15, 0.4])
# Confidence that a rating states, the same in every task: middles of equal intervals of ½ to 1.
STATED = 0.5 + 0.5 * (np.arange(RATINGS) + 0.5) / RATINGS
# Of half the items of a mixed task d′ is so many times that of the task, of the others so many.
EASE = (0.4, 1.6)
SCENARIOS = (
    "meta-d′ model",
    "differing bias",
    "noisy confidence",
    "mixed items",
    "random ratings",
    "random, differing criteria",
)
MEASURES = {
    "dmc": "DMC",
    "m_ratio": "M-ratio",
    "rmi": "RMI",
    "auroc2": "AUROC2",
    "ece": "ECE",
    "brier": "Brier",
}
COUPLED = ("auroc2", "ece", "brier")  # what the paper compares DMC with
EXPECTED_TRIALS = 10**10  # of each stimulus: shares are probabilities then

# Sampling: as favourable as it gets to a small scatter of M.
DRAWS, SAMPLED_DPRIME, SAMPLED_RATINGS = 500, 2.5, 10
SHOWN = 0.5  # the M of the figure


@dataclass(frozen=True)
class Study:
    """Measures of simulated tasks, and scatter that sampling alone makes."""

    # `MEASURES` without sampling error, by scenario, ratio (M), task (with coordinate dprime).
    tasks: xr.Dataset
    # CV of DMC over eight data sets of the same M, by elicitation, draw.
    scatter: xr.DataArray
    seed: int


def analyse(*, seed: int = 1) -> Study:
    """Measure eight tasks in every scenario, and draw data sets of the sizes of the real ones."""
    return Study(task_measures(), sampled_scatter(np.random.default_rng(seed)), seed)


def task_measures() -> xr.Dataset:
    """All measures of all tasks, from tables without sampling error."""
    shares = [
        cell_probabilities(scenario, task, ratio)
        for scenario, ratio in product(SCENARIOS, RATIOS)
        for task in range(len(DPRIMES))
    ]
    counts = expected_counts(np.stack(shares))
    found = {
        "dmc": fit_dmc(counts)["m_ratio"],
        "m_ratio": fit_mle(counts)["m_ratio"],
        "rmi": meta_information(counts)["rmi"],
        "auroc2": auroc2(counts),
        **calibration_of(counts),
    }
    shape = len(SCENARIOS), len(RATIOS), len(DPRIMES)
    dims = ("scenario", "ratio", "task")
    coords = {"scenario": list(SCENARIOS), "ratio": list(RATIOS), "dprime": ("task", DPRIMES)}
    return xr.Dataset(
        {name: (dims, found[name].to_numpy().reshape(shape)) for name in MEASURES}, coords
    )


def cell_probabilities(scenario: str, task: int, ratio: float) -> Floats:
    """P(response, rating | stimulus) of a task, (2, 2, K)."""
    d = float(DPRIMES[task])
    if scenario == "noisy confidence":
        return noisy_probabilities(d, ratio)
    if scenario == "mixed items":
        kinds = [model_probabilities(ease * d, ratio) for ease in EASE]
        return np.mean(kinds, axis=0)
    if scenario.startswith("random"):
        gap = GAPS[task] if "differing" in scenario else GAP
        ideal = model_probabilities(d, 1.0, gap=gap)
        return ratio * ideal + (1 - ratio) * ideal.mean(axis=-1, keepdims=True)
    return model_probabilities(d, ratio, c=BIASES[task] if scenario == "differing bias" else 0.0)


def model_probabilities(d: float, ratio: float, *, c: float = 0.0, gap: float = GAP) -> Floats:
    """Cells of the meta-d′ model of DMC, whose criterion is c at the meta level too."""
    gaps = np.full((2, RATINGS - 1), gap)
    m, kappa = np.full(2, ratio * d), np.full(2, c)
    return np.exp(log_joint_probabilities(np.array(d), np.array(c), m, kappa, gaps))


def noisy_probabilities(d: float, ratio: float) -> Floats:
    """Cells where confidence sees the evidence of the choice through normal noise.

    Evidence alone would have d′, and with the noise ratio·d′; what confidence says against the
    choice is the lowest rating.
    """
    noise = np.sqrt(1 / ratio**2 - 1)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    reach = d / 2 + 9
    x = reach * (nodes + 1) / 2
    edges = np.r_[-np.inf, GAP * np.arange(1, RATINGS), np.inf]
    rating = np.diff(ndtr((edges - x[:, None]) / noise), axis=1)
    rows = []
    for mean in (-d / 2, d / 2):
        density = np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi)
        rows.append((weights * reach / 2 * density) @ rating)
    wrong, right = rows
    # Without bias S1 mirrors S2.
    return np.array([[right, wrong], [wrong, right]])


def expected_counts(shares: Floats) -> xr.DataArray:
    """Count table so large that its shares are those given, (cells, 2, 2, K)."""
    whole = np.round(EXPECTED_TRIALS * shares).astype(np.int64)
    vectors = np.concatenate([whole[:, :, 0, ::-1], whole[:, :, 1]], axis=-1)
    return from_nr(vectors[:, 0], vectors[:, 1])


def calibration_of(counts: xr.DataArray) -> dict[str, xr.DataArray]:
    """ECE with a bin per rating, and the Brier score, of what the ratings state."""
    table = type2_counts(counts)
    wrong, right = table.sel(correct="wrong"), table.sel(correct="right")
    n = wrong + right
    stated = xr.DataArray(STATED, {"rating": n["rating"]}, "rating")
    error = abs(right - n * stated).sum("rating")
    squares = right * (1 - stated) ** 2 + wrong * stated**2
    return {"ece": error / n.sum("rating"), "brier": squares.sum("rating") / n.sum("rating")}


def sampled_scatter(rng: np.random.Generator) -> xr.DataArray:
    """CV of DMC over data sets of the public sizes, whose M is the printed average of a method.

    Pairs of options are taken for independent, which makes the scatter too small.
    """
    sizes, methods = frame_of(NAME, "sizes"), frame_of(NAME, "table2")
    trials = (2 * sizes["questions"] * (sizes["options"] - 1)).to_numpy()
    gaps = np.full((2, SAMPLED_RATINGS - 1), 2.0 / SAMPLED_RATINGS)
    found = []
    for average in methods["average"]:
        counts = simulate_counts(
            np.full(DRAWS * len(trials), SAMPLED_DPRIME),
            m_ratio=average,
            trials=np.tile(trials, DRAWS),
            gaps=gaps,
            meta_criterion="absolute",
            seed=rng,
        )
        found.append(fit_dmc(counts)["m_ratio"].to_numpy().reshape(DRAWS, len(trials)))
    names = {"elicitation": methods["method"].tolist()}
    return variation(xr.DataArray(found, names, ("elicitation", "draw", "task")))


def variation(values: Any) -> Any:
    """Coefficient of variation over tasks: population SD over the mean."""
    return values.std("task") / values.mean("task")


def lowest_possible(cv: float) -> float:
    r"""What the least of positive values up to 1 cannot exceed, if they vary by so much.

    By Bhatia & Davis (2000) the CV of values in [a, 1] is at most (1 − a)/(2√a).
    """
    return float((np.sqrt(cv**2 + 1) - cv) ** 2)


def recompute(study: Study) -> Ours:
    """All that is printed, by table and quantity.

    CVs and averages are those of the printed values, by method and by model.
    """
    second = frame_of(NAME, "table2").set_index("method")["values"].map(np.array)
    sums = {str(name): (x.mean(), x.std()) for name, x in second.items()}
    third = frame_of(NAME, "table3")
    again = third[third["model"] == "GPT-3.5"].set_index("method")["values"]
    means = third["values"].map(np.mean)
    of_models = {model: own.to_numpy() for model, own in means.groupby(third["model"])}
    statistics: dict[str, Any] = {"mean": np.mean, "max": np.max, "min": np.min, "sd": np.std}
    # Entries that are off by .00005 move their SD by no more than that.
    reach = {name: 0.00005 / mean + 0.00005 for name, (mean, _) in sums.items()}
    return {
        ("Table 1", "CV of DMC"): ({name: sd / mean for name, (mean, sd) in sums.items()}, reach),
        ("Table 2", "average"): {name: mean for name, (mean, _) in sums.items()},
        ("Table 2", "entries as in Table 3"): {
            name: int(np.equal(second[name], again[name]).sum()) for name in again.index
        },
        ("Table 3", "average"): means.set_axis(third["model"] + ", " + third["method"]).to_dict(),
        **{
            ("RQ3", name): {model: function(own) for model, own in of_models.items()}
            for name, function in statistics.items()
        },
        ("RQ1", "DMC varies less than AUROC2, ECE and Brier"): claim(study),
    }


def claim(study: Study) -> xr.DataArray:
    """Whether DMC varies least over tasks of one M, in each scenario at every M."""
    cv = variation(study.tasks)
    least = cv[list(COUPLED)].to_dataarray("measure").min("measure")
    return xr.where((cv["dmc"] < least).all("ratio"), "yes", "no")


def contents(study: Study, _: pd.DataFrame) -> dict[str, Any]:
    """What the report shows."""
    values = study.tasks.sel(ratio=SHOWN)
    ends = values["dmc"].isel(task=[0, -1]).to_numpy()
    first = values["auroc2"].sel(scenario=SCENARIOS[0])
    relative = (values / values.mean("task")).rename(MEASURES).to_dataarray("measure")
    order = ("scenario", "measure", "task")
    cv = variation(study.tasks).rename(MEASURES).to_dataframe().reset_index()
    headings = {"scenario": "Scenario", "ratio": "M"}
    return {
        "draws": DRAWS,
        "sampled_dprime": SAMPLED_DPRIME,
        "sampled_ratings": SAMPLED_RATINGS,
        "shown": SHOWN,
        "tasks": relative.to_dataframe(name="value", dim_order=order).reset_index(),
        "ends": "; ".join(
            f"{name} {a:.2f} and {b:.2f}" for name, (a, b) in zip(SCENARIOS, ends, strict=True)
        ),
        "auroc2_cv": variation(first).item(),
        "moved_cv": variation(2 * first - 1).item(),
        "variation": cv.assign(ratio=cv["ratio"].map("{:.1f}".format)).rename(columns=headings),
        **scatter_found(study),
        **least_aurocs(),
        "seed": study.seed,
    }


def scatter_found(study: Study) -> dict[str, Any]:
    """Printed CV of each method beside that of samples."""
    low, middle, high = study.scatter.quantile([0.025, 0.5, 0.975], "draw").to_numpy()
    cv = frame_of(NAME, "table1")["DMC"].to_numpy()
    frame = pd.DataFrame(
        {
            "Method": study.scatter["elicitation"].to_numpy(),
            "M": frame_of(NAME, "table2")["average"],
            "Printed CV": cv,
            "CV of samples": middle,
            "95 % of samples": [f"{a:.3f} to {b:.3f}" for a, b in zip(low, high, strict=True)],
            # The SD of an estimate falls with the root of the number of trials.
            "Trials needed": [f"× {x:,.0f}" for x in (middle / cv) ** 2],
        }
    )
    return {
        "scatter": frame,
        "samples": study.scatter.size,
        "least": study.scatter.min().item(),
        "fewest_times": min(middle / cv),
        "most_times": max(middle / cv),
        "lowest_cv": min(cv),
        "highest_cv": max(cv),
    }


def least_aurocs() -> dict[str, Any]:
    """Methods whose printed CV of AUROC allows no least AUROC above chance."""
    table = frame_of(NAME, "table1")
    bounds = table.assign(least=table["AUROC"].map(lowest_possible))
    below = bounds[bounds["least"] < 0.5].to_dict("records")
    said = "; ".join(f"{row['method']} {row['AUROC']:.4f}: {row['least']:.2f}" for row in below)
    return {"below_chance": len(below), "least_aurocs": said}
