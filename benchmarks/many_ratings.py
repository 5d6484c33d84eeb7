"""Confidence in 101 levels, whole and binned: recovery of M per person, and of a group's mean.

`python benchmarks/many_ratings.py` prints the tables of docs/choosing.md (trials, ratings → error
of log M; seed, ratings → posterior of the mean of log M, and seconds). Truth is known.
"""

import time

import numpy as np
import xarray as xr

import hmetad

LEVELS, WIDTH = 101, 2.2
PEOPLE, GROUP, SEEDS = 400, 20, range(1, 6)
BINS = (2, 3, 4, 6, 8, 12)
# Ratio of the median absolute deviation to the SD of a normal distribution.
TO_SD = 1.4826


def simulated(people: int, trials: int, seed: int) -> tuple[xr.DataArray, np.ndarray]:
    """Count table of people with a slider, and their log M."""
    rng = np.random.default_rng(seed)
    dprime, c = rng.normal(1.5, 0.2, people), rng.normal(0, 0.2, people)
    log_m = rng.normal(np.log(0.8), 0.15, people)
    # People differ in how wide they cut the evidence.
    gaps = np.full((people, 2, LEVELS - 1), WIDTH / (LEVELS - 1))
    gaps = gaps * rng.lognormal(0, 0.25, (people, 1, 1))
    coords = {"subject": [f"s{i}" for i in range(people)]}
    options = {"ratings": LEVELS, "coords": coords, "trials": trials, "seed": seed}
    return hmetad.simulate_counts(dprime, c, np.exp(log_m), gaps=gaps, **options), log_m


def binned(counts: xr.DataArray, bins: int) -> xr.DataArray:
    """The table with ratings by the quantiles of each person's own confidence."""
    values = counts.to_numpy()
    of_rating = values.sum(axis=(1, 2))
    share = of_rating.cumsum(axis=1) / of_rating.sum(axis=1, keepdims=True)
    place = np.minimum(np.ceil(share * bins - 1e-9).astype(int) - 1, bins - 1).clip(0)
    made = np.zeros((*values.shape[:3], bins), dtype=int)
    for k in range(LEVELS):
        for cell in range(len(values)):
            made[cell, :, :, place[cell, k]] += values[cell, :, :, k]
    rows = np.concatenate([made[:, :, 0, ::-1], made[:, :, 1]], axis=2)
    return hmetad.from_nr(rows[:, 0], rows[:, 1], subject=counts["subject"].values.tolist())


def errors_by_person() -> None:
    """Error of log M by maximum likelihood."""
    print("trials ratings bias spread seconds")
    for trials in (100, 400, 1600):
        counts, truth = simulated(PEOPLE, trials, seed=7)
        for ratings in (*BINS, LEVELS):
            table = counts if ratings == LEVELS else binned(counts, ratings)
            start = time.perf_counter()
            found = hmetad.fit_mle(table)["log_m"].to_numpy() - truth
            seconds = time.perf_counter() - start
            known = found[np.isfinite(found)]
            middle = np.median(known)
            spread = TO_SD * np.median(np.abs(known - middle))
            print(trials, ratings, f"{middle:.3f} {spread:.3f} {seconds:.2f}")


def posteriors_of_groups() -> None:
    """Mean of log M in a population, by the card group."""
    print("seed ratings truth mean sd rhat seconds")
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    for seed in SEEDS:
        counts, truth = simulated(GROUP, 400, seed)
        for ratings in (4, 6, LEVELS):
            table = counts if ratings == LEVELS else binned(counts, ratings)
            start = time.perf_counter()
            fit = hmetad.fit(table, "group", **quiet)
            seconds = time.perf_counter() - start
            rows = hmetad.report.population_table(fit)
            sd = fit["posterior"]["log_m_Intercept"]
            rhat = rows["rhat"].max()
            said = f"{truth.mean():.3f} {float(sd.mean()):.3f} {float(sd.std()):.3f} {rhat:.3f}"
            print(seed, ratings, said, f"{seconds:.1f}", flush=True)


if __name__ == "__main__":
    errors_by_person()
    posteriors_of_groups()
