"""Simulated models whose metacognition is known.

Seed → what the analysis by the decision and the withdrawn analysis find of the true M.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.counting import count_correct, count_trials
from hmetad.counts.ratings import bin_confidence
from hmetad.counts.tables import type2_counts
from hmetad.measures.type2 import auroc2
from hmetad.simulate.simulate import simulate_counts, simulate_trials
from hmetad.studies.cacioli.tables import NAME, cells_as
from hmetad.studies.cacioli.withdrawn import (
    RATINGS,
    Scale,
    bootstrap,
    estimates,
    m_of,
    withdrawn_counts,
)
from hmetad.studies.printed import file_of

__all__ = ["ANALYSES", "CURVE_D", "CURVE_M", "TRIALS", "Simulation", "analyse_simulation"]

type Floats = NDArray[np.float64]

TRIALS = 5000
# Name → M and d′ at the lowest temperature; what M is, d′ does not tell.
TRUTH = {"A": (0.4, 2.0), "B": (0.7, 1.8), "C": (1.0, 1.4), "D": (1.2, 1.2)}
BIAS = (0.1, -0.1, 0.2, 0.0)
# Share of d′ that is lost from the lowest to the highest temperature.
LOSS = 0.2
# Levels of confidence: so many, so close that ratings by quantile have as many trials.
LEVELS, STEP_OF_LEVELS = 200, 0.016
MANY = 10**9
CURVE_M = np.arange(0.2, 1.61, 0.1)
CURVE_D = (1.0, 1.5, 2.0)
ANALYSES = {"real": "by the decision", "withdrawn": "correctness as the stimulus (withdrawn)"}


@dataclass(frozen=True)
class Simulation:
    """Simulated models, with what is true and what two analyses find."""

    # m_ratio, dprime and meta_d by model, temperature.
    truth: xr.Dataset
    # `estimates` by the decision that was made, with limits of M.
    real: xr.Dataset
    # The same with correctness in the place of the stimulus; auroc2.
    withdrawn: xr.Dataset
    # real and withdrawn: M at T = 1 by model, variant.
    robustness: xr.Dataset
    # M of the withdrawn analysis without sampling error, by dprime, m_ratio (the true one).
    curve: xr.DataArray


def analyse_simulation(seed: int) -> Simulation:
    """Simulate trials of four models, and analyse them by their decision and without it."""
    drawn, by_decision, by_correctness = np.random.SeedSequence(seed).generate_state(3).tolist()
    trials = simulated_trials(drawn)
    decided, judged = count_both(trials, 4)
    real, _ = bootstrap(decided, seed=by_decision)
    mapped, _ = bootstrap(withdrawn_counts(judged), seed=by_correctness)
    mapped = mapped.assign(auroc2=auroc2(judged))
    dims = ("model", "temperature")
    return Simulation(
        truth=true_values(),
        real=cells_as(real, *dims),
        withdrawn=cells_as(mapped, *dims),
        robustness=robustness_of_trials(trials[trials["temperature"] == 1.0]),
        curve=expected_mapping(),
    )


def true_values() -> xr.Dataset:
    """Parameters of every model and temperature: M stays, d′ falls."""
    t, models = np.array(file_of(NAME)["labels"]["temperature"]), {"model": list(TRUTH)}
    m, d = (xr.DataArray([values[i] for values in TRUTH.values()], models) for i in (0, 1))
    share = xr.DataArray(1 - LOSS * progress(), {"temperature": t})
    dprime, m_ratio = d * share, m * xr.ones_like(share)
    return xr.Dataset({"m_ratio": m_ratio, "dprime": dprime, "meta_d": m_ratio * dprime})


def progress() -> Floats:
    """Place of each temperature between the lowest (0) and the highest (1)."""
    t = np.array(file_of(NAME)["labels"]["temperature"])
    return (t - t[0]) / (t[-1] - t[0])


def simulated_trials(seed: int) -> pd.DataFrame:
    """Trials of all models and temperatures, with confidence 1..200 and whether they are correct.

    Columns model, temperature, stimulus, response, confidence, correct.
    """
    truth = true_values()
    models, temperatures = np.meshgrid(*(truth[dim] for dim in truth.dims), indexing="ij")
    # Higher temperatures are less confident: the same evidence is fewer steps from the criterion.
    step = STEP_OF_LEVELS * np.tile(1 + 0.5 * progress(), len(TRUTH))
    trials = simulate_trials(
        truth["dprime"].to_numpy().ravel(),
        np.repeat(BIAS, truth.sizes["temperature"]),
        truth["m_ratio"].to_numpy().ravel(),
        trials=TRIALS,
        gaps=np.broadcast_to(step[:, None, None], (len(step), 2, LEVELS - 1)),
        coords={"model": models.ravel().tolist(), "temperature": temperatures.ravel().tolist()},
        seed=seed,
    )
    return trials.assign(correct=trials["stimulus"] == trials["response"])


def count_both(trials: pd.DataFrame, ratings: int, method: str = "quantile") -> list[xr.DataArray]:
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


def robustness_of_trials(trials: pd.DataFrame) -> xr.Dataset:
    """M by number of ratings (R1), with unequal variance (R2) and by equal widths (R3)."""
    variants: dict[str, tuple[int, str, Scale]] = {
        **{f"K = {K}": (K, "quantile", 1.0) for K in RATINGS},
        "unequal variance": (4, "quantile", "estimate"),
        "equal width": (4, "width", 1.0),
    }
    found = []
    for ratings, method, s in variants.values():
        decided, judged = count_both(trials, ratings, method)
        both = {"real": decided, "withdrawn": withdrawn_counts(judged)}
        m = {name: estimates(table, s=s)["m_ratio"].drop_attrs() for name, table in both.items()}
        found.append(cells_as(xr.Dataset(m), "model"))
    return xr.concat(found, pd.Index(list(variants), name="variant"), join="exact")


def expected_mapping() -> xr.DataArray:
    """M of the withdrawn analysis of so many trials that sampling error is gone."""
    d, m = np.meshgrid(CURVE_D, CURVE_M, indexing="ij")
    gaps = np.full((2, LEVELS - 1), STEP_OF_LEVELS)
    tables = type2_counts(
        simulate_counts(d.ravel(), 0.0, m.ravel(), trials=MANY, gaps=gaps, seed=0)
    )
    values = [m_of(tables.isel(cell=[i]), correction=0.5) for i in range(d.size)]
    coords = {"dprime": list(CURVE_D), "m_ratio": CURVE_M}
    return xr.DataArray(np.reshape(values, d.shape), coords, ("dprime", "m_ratio"))
