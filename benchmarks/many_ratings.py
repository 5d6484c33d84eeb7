"""Confidence in 101 levels, whole and binned: recovery of M per person, and of a group's mean.

`python benchmarks/many_ratings.py` prints the tables of docs/ratings.md (trials, ratings → error
of log M; sliders and thresholds → the same; seed, ratings → posterior of the mean of log M, and
seconds; seed, whose quantiles → posterior of the SD of log M). Truth is known.
"""

import time

import numpy as np
import xarray as xr
from scipy.optimize import minimize
from scipy.special import ndtri

import hmetad
from hmetad.likelihood.kernels.meta_d import GAPS, log_likelihood

LEVELS, WIDTH = 101, 2.2
PEOPLE, GROUP, SEEDS = 400, 20, range(1, 6)
BINS = (2, 3, 4, 6, 8, 12)
# Ratio of the median absolute deviation to the SD of a normal distribution.
TO_SD = 1.4826
# Structured thresholds: the logarithm of the gaps is linear between so many places of the scale.
KNOTS = 5
# Share of the answers that go to the nearest multiple of ten.
HEAPED = 0.7


def simulated(
    people: int, trials: int, seed: int, spread: float = 0.15
) -> tuple[xr.DataArray, np.ndarray]:
    """Count table of people with a slider, and their log M, which has this SD."""
    rng = np.random.default_rng(seed)
    dprime, c = rng.normal(1.5, 0.2, people), rng.normal(0, 0.2, people)
    log_m = rng.normal(np.log(0.8), spread, people)
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
    return table_of(made, counts)


def binned_alike(counts: xr.DataArray, bins: int) -> xr.DataArray:
    """The table with ratings by the quantiles of everybody's confidence, the same cuts for all."""
    values = counts.to_numpy()
    share = values.sum(axis=(0, 1, 2)).cumsum() / values.sum()
    cuts = np.searchsorted(share, np.arange(1, bins) / bins) + 1
    place = np.searchsorted(cuts, np.arange(LEVELS), side="right")
    made = np.zeros((*values.shape[:3], bins), dtype=int)
    for k in range(LEVELS):
        made[..., place[k]] += values[..., k]
    return table_of(made, counts)


def table_of(values: np.ndarray, like: xr.DataArray) -> xr.DataArray:
    """Count table of the same people."""
    rows = np.concatenate([values[:, :, 0, ::-1], values[:, :, 1]], axis=2)
    return hmetad.from_nr(rows[:, 0], rows[:, 1], subject=like["subject"].values.tolist())


def heaped(counts: xr.DataArray, rng: np.random.Generator) -> xr.DataArray:
    """The table where most answers went to the nearest multiple of ten."""
    values = counts.to_numpy()
    moved = rng.binomial(values, HEAPED)
    made = values - moved
    nearest = (np.round(np.arange(LEVELS) / 10) * 10).astype(int)
    for k in range(LEVELS):
        made[..., nearest[k]] += moved[..., k]
    return counts.copy(data=made)


def fit_structured(table: np.ndarray) -> float:
    """log M of one person by penalised maximum likelihood, with structured thresholds."""
    places = np.linspace(0, LEVELS - 2, KNOTS)
    basis = np.stack(
        [np.interp(np.arange(LEVELS - 1), places, row) for row in np.eye(KNOTS)], axis=1
    )
    responses = table.sum(axis=2)
    false_alarms, hits = ndtri((responses[:, 1] + 0.5) / (responses.sum(axis=1) + 1))
    centre = np.log(0.5)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        d, c, m, heights = x[0], x[1], np.exp(x[2]), x[3:].reshape(2, KNOTS)
        gaps = np.exp(heights @ basis.T + np.log(3 / (LEVELS - 1)))
        of_both = np.full(2, m)
        at = np.hstack([d, c, of_both * d, of_both * c, gaps.ravel(), 1.0])
        (value,), (own,) = log_likelihood(table[None], at[None], True)
        by_d, by_c, by_m, by_kappa = own[0], own[1], own[2:4], own[4:GAPS]
        by_gaps = own[GAPS:-1].reshape(gaps.shape)
        slopes = [by_d + m * by_m.sum(), by_c + m * by_kappa.sum()]
        slopes += [m * (d * by_m + c * by_kappa).sum()]
        by_heights = (by_gaps * gaps) @ basis - (heights - centre)
        penalty = ((heights - centre) ** 2).sum() / 2
        return float(penalty - value), -np.concatenate([slopes, by_heights.ravel()])

    start = [hits - false_alarms, -(hits + false_alarms) / 2, 0, *[centre] * 2 * KNOTS]
    bounds = [(-4, 6), (-3, 3), (-4, 3), *[(-6, 4)] * 2 * KNOTS]
    return float(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[2])


def errors_by_thresholds() -> None:
    """Error of log M with free criteria, structured ones, and six quantiles."""
    print("trials slider thresholds bias spread")
    for trials in (100, 400):
        smooth, truth = simulated(PEOPLE, trials, seed=7)
        sliders = {"smooth": smooth, "heaped": heaped(smooth, np.random.default_rng(3))}
        for slider, counts in sliders.items():
            tables = counts.to_numpy().astype(float)
            found = {
                "free": hmetad.fit_mle(counts)["log_m"].to_numpy(),
                "structured": np.array([fit_structured(table) for table in tables]),
                "six quantiles": hmetad.fit_mle(binned(counts, 6))["log_m"].to_numpy(),
            }
            for name, own in found.items():
                middle, spread = middle_and_spread(own - truth)
                print(trials, slider, name, f"{middle:.3f} {spread:.3f}", flush=True)


def middle_and_spread(errors: np.ndarray) -> tuple[float, float]:
    """Median, and the SD of a normal distribution with the same median absolute deviation."""
    known = errors[np.isfinite(errors)]
    middle = float(np.median(known))
    return middle, TO_SD * float(np.median(np.abs(known - middle)))


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
            middle, spread = middle_and_spread(found)
            print(trials, ratings, f"{middle:.3f} {spread:.3f} {seconds:.2f}")


def posteriors_of_groups() -> None:
    """Mean of log M in a population, by the card group."""
    print("seed ratings truth mean sd rhat seconds")
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    for seed in SEEDS:
        counts, truth = simulated(GROUP, 400, seed)
        for ratings in (4, 6, LEVELS):
            table = counts if ratings == LEVELS else binned_alike(counts, ratings)
            start = time.perf_counter()
            fit = hmetad.fit(table, "group", **quiet)
            seconds = time.perf_counter() - start
            rows = hmetad.report.population_table(fit)
            sd = fit["posterior"]["log_m_Intercept"]
            rhat = rows["rhat"].max()
            said = f"{truth.mean():.3f} {float(sd.mean()):.3f} {float(sd.std()):.3f} {rhat:.3f}"
            print(seed, ratings, said, f"{seconds:.1f}", flush=True)


def spreads_of_groups() -> None:
    """SD of log M in a population, by whose quantiles the ratings are."""
    print("seed true_sd quantiles sd lower upper")
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    for seed in SEEDS:
        counts, truth = simulated(30, 400, seed, spread=0.3)
        tables = {
            "of each person": binned(counts, 6),
            "of all": binned_alike(counts, 6),
            "none": counts,
        }
        for name, table in tables.items():
            sd = hmetad.fit(table, "group", **quiet)["posterior"]["log_m_1|subject_sigma"]
            low, high = sd.quantile([0.025, 0.975]).values
            said = f"{truth.std(ddof=1):.2f} {name}: {float(sd.mean()):.2f} {low:.2f} {high:.2f}"
            print(seed, said, flush=True)


if __name__ == "__main__":
    errors_by_person()
    errors_by_thresholds()
    posteriors_of_groups()
    spreads_of_groups()
