"""Wang et al. (2025), DMC: whether its numbers add up, and what it decouples from sensitivity.

Seed → simulated measures of eight tasks, and scatter by sampling → table of printed and computed
values. Printed numbers are in wang2025.toml.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.counts.correct import type2_counts
from hmetad.counts.table import from_nr
from hmetad.likelihood.theory import log_joint_probabilities
from hmetad.measures.information import meta_information
from hmetad.measures.type2 import auroc2
from hmetad.mle.dmc import fit_dmc
from hmetad.mle.meta_d import fit_mle
from hmetad.simulate.simulate import simulate_counts
from hmetad.studies.comparison import ComparisonRow, comparison_frame
from hmetad.studies.transcribed import transcribed

__all__ = ["MEASURES", "SCENARIOS", "Study", "analyse", "compare", "printed", "variation"]

type Floats = NDArray[np.float64]

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

CLAIM = "DMC varies less than AUROC2, ECE and Brier"
# Of a mean, entries and print are rounded to 4 digits each, or print is cut.
OF_MEAN = 0.0001
DATE = (
    "Table 2 has .5944 for Date where Table 3 has .5994, and only that gives the printed mean of "
    ".5986 and CV of .0063."
)
KNOWN_DIFFERENCES = {
    ("Table 2", "Self Random", "average"): DATE,
    ("Table 2", "Self Random", "entries as in Table 3"): DATE,
    ("Table 1", "Self Random", "CV of DMC"): DATE,
    ("Table 1", "Verb-Vanilla", "CV of DMC"): (
        "The entries of Table 2 have .0097, more than rounding them can make of .0092. Either an "
        "entry or the CV is a misprint."
    ),
    ("Table 2", "Misleading", "average"): (
        "The entries have .5603: .0003 is more than rounding explains, though their CV agrees. "
        "Either an entry or the average is a misprint."
    ),
    ("RQ1", "random, differing criteria", CLAIM): (
        "Where a share of the ratings is random, M depends on how much it takes to be confident, "
        "and tasks that differ in that differ in M: with half of the ratings random or more, DMC "
        "varies more than AUROC2."
    ),
}


@dataclass(frozen=True)
class Study:
    """Measures of simulated tasks, and scatter that sampling alone makes.

    Parameters
    ----------
    tasks : Dataset
        `MEASURES` without sampling error; dims scenario, ratio (M), task (with coordinate dprime).
    scatter : DataArray
        CV of DMC over eight data sets of the same M; dims elicitation, draw.
    seed : int
    """

    tasks: xr.Dataset
    scatter: xr.DataArray
    seed: int


def analyse(*, seed: int = 1) -> Study:
    """Measure eight tasks in every scenario, and draw data sets of the sizes of the real ones.

    Parameters
    ----------
    seed : int, optional

    Returns
    -------
    Study
    """
    return Study(task_measures(), sampled_scatter(np.random.default_rng(seed)), seed)


def printed(table: str) -> list[dict[str, Any]]:
    """Rows of a printed table, by the names of its columns in wang2025.toml."""
    section = transcribed("wang2025")[table]
    return [dict(zip(section["columns"], row, strict=True)) for row in section["rows"]]


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
    trials = [2 * row["questions"] * (row["options"] - 1) for row in printed("sizes")]
    methods = printed("table2")
    gaps = np.full((2, SAMPLED_RATINGS - 1), 2.0 / SAMPLED_RATINGS)
    found = []
    for row in methods:
        counts = simulate_counts(
            np.full(DRAWS * len(trials), SAMPLED_DPRIME),
            m_ratio=row["average"],
            trials=np.tile(trials, DRAWS),
            gaps=gaps,
            meta_criterion="absolute",
            seed=rng,
        )
        found.append(fit_dmc(counts)["m_ratio"].to_numpy().reshape(DRAWS, len(trials)))
    names = [row["method"] for row in methods]
    values = xr.DataArray(found, {"elicitation": names}, ("elicitation", "draw", "task"))
    return variation(values)


def variation(values: Any) -> Any:
    """Coefficient of variation over tasks: population SD over the mean."""
    return values.std("task") / values.mean("task")


def lowest_possible(cv: float) -> float:
    r"""What the least of positive values up to 1 cannot exceed, if they vary by so much.

    By Bhatia & Davis (2000) the CV of values in [a, 1] is at most (1 − a)/(2√a).
    """
    return float((np.sqrt(cv**2 + 1) - cv) ** 2)


def compare(study: Study) -> pd.DataFrame:
    """Table of everything printed beside ours.

    Parameters
    ----------
    study : Study
        What `analyse` returned.

    Returns
    -------
    DataFrame
        Columns table, row, quantity, printed, ours, tolerance, agrees, note.
    """
    rows = [*variation_rows(), *average_rows(), *model_rows(), *claim_rows(study)]
    return comparison_frame(rows, KNOWN_DIFFERENCES)


def variation_rows() -> Iterator[ComparisonRow]:
    """CVs of Table 1 from the entries of Table 2."""
    entries = {row["method"]: np.array(row["values"]) for row in printed("table2")}
    for row in printed("table1"):
        values = entries[row["method"]]
        ours = values.std() / values.mean()
        # Entries that are off by .00005 move their SD by no more than that.
        reach = 0.00005 / values.mean() + 0.00005
        yield ComparisonRow("Table 1", row["method"], "CV of DMC", row["DMC"], float(ours), reach)


def average_rows() -> Iterator[ComparisonRow]:
    """Averages of Tables 2 and 3, and the entries that the two have in common."""
    third = {(row["model"], row["method"]): row for row in printed("table3")}
    for row in printed("table2"):
        ours = float(np.mean(row["values"]))
        yield ComparisonRow("Table 2", row["method"], "average", row["average"], ours, OF_MEAN)
        again = third.get(("GPT-3.5", row["method"]))
        if again:
            same = int(np.sum(np.equal(row["values"], again["values"])))
            quantity = "entries as in Table 3"
            entries = len(row["values"])
            yield ComparisonRow("Table 2", row["method"], quantity, entries, same, 0)
    for (model, method), row in third.items():
        ours = float(np.mean(row["values"]))
        name = f"{model}, {method}"
        yield ComparisonRow("Table 3", name, "average", row["average"], ours, OF_MEAN)


def model_rows() -> Iterator[ComparisonRow]:
    """Means of three models over three methods, and their range and SD."""
    for row in printed("models"):
        means = [np.mean(x["values"]) for x in printed("table3") if x["model"] == row["model"]]
        ours = {"mean": np.mean(means), "max": max(means), "min": min(means), "sd": np.std(means)}
        for name, value in ours.items():
            if not np.isnan(row[name]):
                yield ComparisonRow("RQ3", row["model"], name, row[name], float(value), OF_MEAN)


def claim_rows(study: Study) -> Iterator[ComparisonRow]:
    """Whether DMC varies least over tasks of one M, in each scenario at every M."""
    cv = variation(study.tasks)
    least = xr.concat([cv[name] for name in COUPLED], "measure").min("measure")
    is_less = (cv["dmc"] < least).all("ratio")
    for scenario in SCENARIOS:
        ours = "yes" if is_less.sel(scenario=scenario) else "no"
        yield ComparisonRow("RQ1", scenario, CLAIM, "yes", ours)
