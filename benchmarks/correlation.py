"""Whether the correlation of log M with d′ between people comes back.

Groups are simulated with a known correlation, fitted with the card `group`, whose effects are
independent, and `hmetad.bayes.group_correlation` is asked. Beside it: the mean over draws of the
correlation of the people's own values, which are pulled towards independent means, and the
correlation of maximum-likelihood estimates.

    uv run python benchmarks/correlation.py [groups] [people] [trials]
"""

import sys

import numpy as np
import pandas as pd
import xarray as xr

import hmetad
from hmetad.bayes import group_correlation

MEANS, SDS = np.array([1.5, -0.2]), np.array([0.4, 0.3])


def one_group(rho: float, people: int, trials: int, seed: int) -> dict[str, float]:
    """Estimates of one group with this correlation."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], people)
    dprime, log_m = (MEANS + SDS * z).T
    counts = hmetad.simulate_counts(
        dprime,
        rng.normal(0, 0.2, people),
        np.exp(log_m),
        trials=trials,
        coords={"subject": range(people)},
        seed=seed,
    )
    quiet = {"progressbar": False, "quiet": True, "random_seed": seed}
    fit = hmetad.fit(counts, "group", draws=1000, chains=2, **quiet)
    found = group_correlation(fit)
    low, high = np.quantile(found, [0.025, 0.975])
    own = xr.corr(fit["posterior"]["log_m"], fit["posterior"]["dprime"], "cell")
    mle = hmetad.fit_mle(counts)
    usable = np.isfinite(mle["log_m"].values)
    return {
        "rho": rho,
        "mean": float(found.mean()),
        "held": float(low <= rho <= high),
        "width": high - low,
        "above_0": float(low > 0),
        "k": found.attrs["pareto_k"],
        "withheld": float("correlation-k" in found.attrs.get("notices", "")),
        "own_values": float(own.mean()),
        "maximum_likelihood": np.corrcoef(mle["log_m"][usable], mle["dprime"][usable])[0, 1],
    }


def main(groups: int = 40, people: int = 30, trials: int = 400) -> None:
    """Print means over groups, by the true correlation."""
    rows = [
        one_group(rho, people, trials, seed) for rho in (0.0, 0.5, 0.8) for seed in range(groups)
    ]
    table = pd.DataFrame(rows)
    print(f"{groups} groups of {people} people with {trials} trials")
    print(table.groupby("rho").mean().round(3).to_string())
    print("SD of the posterior mean:", table.groupby("rho")["mean"].std().round(3).to_dict())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
