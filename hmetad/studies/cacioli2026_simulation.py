"""The withdrawn analysis of Cacioli (2026) on trials whose truth is known.

Seed → trials of four models with a decision between two alternatives, at four temperatures → M by
that decision, and M by the withdrawn analysis of the same trials (model, temperature).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.binning import bin_confidence
from hmetad.counts.correct import count_correct, type2_counts
from hmetad.counts.table import count_trials
from hmetad.measures.type2 import auroc2
from hmetad.simulate.simulate import simulate_counts, simulate_trials
from hmetad.studies.cacioli2026_pipeline import (
    bootstrapped,
    estimates,
    merged,
    nearest_edges,
    withdrawn,
)
from hmetad.studies.cacioli2026_printed import cells_as

__all__ = ["TRUTH", "Simulation", "analyse_simulation", "expected_mapping", "simulated_trials"]

TRIALS = 5000
TEMPERATURES = (0.3, 0.5, 0.7, 1.0)
# Name → M and d′ at the lowest temperature; what M is, d′ does not tell.
TRUTH = {"A": (0.4, 2.0), "B": (0.7, 1.8), "C": (1.0, 1.4), "D": (1.2, 1.2)}
BIAS = (0.1, -0.1, 0.2, 0.0)
# Share of d′ that is lost from the lowest to the highest temperature.
LOSS = 0.2
# Levels of confidence: so many, so close that ratings by quantile have as many trials.
LEVELS, STEP = 200, 0.016
RATINGS = (3, 4, 6)
MANY = 10**9
CURVE_M = np.arange(0.2, 1.61, 0.1)
CURVE_D = (1.0, 1.5, 2.0)


@dataclass(frozen=True)
class Simulation:
    """Simulated models, with what is true and what two analyses find.

    Parameters
    ----------
    truth : Dataset
        ``m_ratio``, ``dprime`` and ``meta_d``, dims model, temperature.
    real : Dataset
        `estimates` by the decision that was made, with ``lower`` and ``upper`` of M.
    withdrawn : Dataset
        The same with correctness in the place of the stimulus; ``auroc2``.
    robustness : Dataset
        ``real`` and ``withdrawn``: M at T = 1, dims model, variant.
    curve : DataArray
        M of the withdrawn analysis without sampling error, dims dprime, m_ratio (the true one).
    """

    truth: xr.Dataset
    real: xr.Dataset
    withdrawn: xr.Dataset
    robustness: xr.Dataset
    curve: xr.DataArray


def analyse_simulation(seed: int) -> Simulation:
    """Simulate the trials, and analyse them by their decision and without it.

    Parameters
    ----------
    seed : int

    Returns
    -------
    Simulation
    """
    drawn, by_decision, by_correctness = np.random.SeedSequence(seed).generate_state(3).tolist()
    trials = simulated_trials(drawn)
    decided, judged = counted(trials, 4)
    real, _ = bootstrapped(decided, seed=by_decision)
    mapped, _ = bootstrapped(withdrawn(judged), seed=by_correctness)
    mapped = mapped.assign(auroc2=auroc2(judged))
    dims = ("model", "temperature")
    return Simulation(
        truth=true_values(),
        real=cells_as(real, *dims),
        withdrawn=cells_as(mapped, *dims),
        robustness=robustness(trials[trials["temperature"] == 1.0]),
        curve=expected_mapping(),
    )


def true_values() -> xr.Dataset:
    """Parameters of every model and temperature: M stays, d′ falls."""
    m, d = (np.array([values[i] for values in TRUTH.values()]) for i in (0, 1))
    share = 1 - LOSS * progress()
    dprime = d[:, None] * share
    m_ratio = np.broadcast_to(m[:, None], dprime.shape)
    dims = ("model", "temperature")
    return xr.Dataset(
        {
            "m_ratio": (dims, m_ratio.copy()),
            "dprime": (dims, dprime),
            "meta_d": (dims, m_ratio * dprime),
        },
        {"model": list(TRUTH), "temperature": list(TEMPERATURES)},
    )


def progress() -> NDArray[np.float64]:
    """Place of each temperature between the lowest (0) and the highest (1)."""
    t = np.array(TEMPERATURES)
    return (t - t[0]) / (t[-1] - t[0])


def simulated_trials(seed: int) -> pd.DataFrame:
    """Trials of all models and temperatures, with confidence 1..200 and whether they are correct.

    Parameters
    ----------
    seed : int

    Returns
    -------
    DataFrame
        Columns model, temperature, stimulus, response, confidence, correct.
    """
    truth = true_values()
    models, temperatures = np.meshgrid(list(TRUTH), TEMPERATURES, indexing="ij")
    # Higher temperatures are less confident: the same evidence is fewer steps from the criterion.
    step = STEP * np.tile(1 + 0.5 * progress(), len(TRUTH))
    trials = simulate_trials(
        truth["dprime"].to_numpy().ravel(),
        np.repeat(BIAS, len(TEMPERATURES)),
        truth["m_ratio"].to_numpy().ravel(),
        trials=TRIALS,
        gaps=np.broadcast_to(step[:, None, None], (len(step), 2, LEVELS - 1)),
        coords={"model": models.ravel().tolist(), "temperature": temperatures.ravel().tolist()},
        seed=seed,
    )
    return trials.assign(correct=trials["stimulus"] == trials["response"])


def counted(trials: pd.DataFrame, ratings: int, method: str = "quantile") -> list[xr.DataArray]:
    """Count table with K ratings, and type-2 table with 2K: edges are those of T = 1, per model."""
    by = ["model", "temperature"]
    tables = []
    for number, count in ((ratings, count_trials), (2 * ratings, count_correct)):
        rated = trials.groupby("model", group_keys=False)["confidence"].transform(
            held_edges, trials["temperature"], number, method
        )
        tables.append(
            count(trials.assign(rating=rated), by=by, confidence="rating", ratings=number)
        )
    return tables


def held_edges(
    confidence: pd.Series, temperature: pd.Series, ratings: int, method: str
) -> pd.Series:
    """Ratings of one model's trials, by quantiles or by equal widths of its confidence at T = 1."""
    reference = confidence[temperature.loc[confidence.index] == 1.0]
    within = np.arange(1, ratings) / ratings
    if method == "quantile":
        # A level is on one side of an edge: equal confidence has equal ratings.
        edges = np.unique(np.quantile(reference, within, method="higher"))
    else:
        edges = reference.min() + within * (reference.max() - reference.min())
    return bin_confidence(confidence, len(edges) + 1, method="edges", edges=edges.tolist())


def robustness(trials: pd.DataFrame) -> xr.Dataset:
    """M by number of ratings (R1), with unequal variance (R2) and by equal widths (R3)."""
    variants: dict[str, tuple[int, str, float | Literal["estimate"]]] = {
        **{f"K = {K}": (K, "quantile", 1.0) for K in RATINGS},
        "unequal variance": (4, "quantile", "estimate"),
        "equal width": (4, "width", 1.0),
    }
    found = []
    for ratings, method, s in variants.values():
        decided, judged = counted(trials, ratings, method)
        both = {"real": decided, "withdrawn": withdrawn(judged)}
        m = {name: estimates(table, s=s)["m_ratio"].drop_attrs() for name, table in both.items()}
        found.append(cells_as(xr.Dataset(m), "model"))
    return xr.concat(found, pd.Index(list(variants), name="variant"), join="exact")


def expected_mapping() -> xr.DataArray:
    """M of the withdrawn analysis of so many trials that sampling error is gone.

    Returns
    -------
    DataArray
        Dims dprime, m_ratio.
    """
    d, m = np.meshgrid(CURVE_D, CURVE_M, indexing="ij")
    gaps = np.full((2, LEVELS - 1), STEP)
    tables = type2_counts(
        simulate_counts(d.ravel(), 0.0, m.ravel(), trials=MANY, gaps=gaps, seed=0)
    )
    values = [mapped_m(tables.isel(cell=[i])) for i in range(d.size)]
    coords = {"dprime": list(CURVE_D), "m_ratio": CURVE_M}
    return xr.DataArray(np.reshape(values, d.shape), coords, ("dprime", "m_ratio"))


def mapped_m(table: xr.DataArray) -> float:
    """M of the withdrawn analysis of one cell with all levels of confidence."""
    edges, cut = nearest_edges(table.sum(["cell", "correct"]).to_numpy(), 4)
    return float(estimates(withdrawn(merged(table, edges), cut))["m_ratio"].item())
