"""Groups that log M cannot hold: what the scales of log M and of M say of them.

Groups of 20 to 80 people and 100 to 400 trials, of which none, 5 % and 20 % have a meta-d′ below
0, are fitted with the cards `group` and `group_m`. A row for each share and card: how far the mean
of M in the population is off, how often intervals hold the truth, and fits that did not converge.

    python benchmarks/negative.py [--groups 10]
"""

import argparse

import numpy as np
import xarray as xr
from machine import describe_machine, print_table
from numpy.typing import NDArray

import hmetad

type Floats = NDArray[np.float64]

SHARES = (0.0, 0.05, 0.2)
PEOPLE, TRIALS = (20, 40, 80), (100, 200, 400)
ERRORS = {"rhat", "ess", "divergences"}


def draw_group(share: float, number: int) -> tuple[Floats, xr.DataArray]:
    """True M of every person, and their counts."""
    rng = np.random.default_rng([number, int(100 * share)])
    people, trials = PEOPLE[number % 3], TRIALS[number // 3 % 3]
    m = np.exp(rng.normal(-0.2, 0.3, people))
    below = round(share * people)
    m[:below] = rng.uniform(-0.5, 0, below)
    counts = hmetad.simulate_counts(
        rng.normal(1.5, 0.3, people).clip(0.5),
        m_ratio=m,
        c=rng.normal(0, 0.2, people),
        trials=trials,
        ratings=4,
        coords={"subject": [str(i) for i in range(people)]},
        seed=number,
    )
    return m, counts


def judge(card: str, m: Floats, counts: xr.DataArray, seed: int) -> dict[str, float]:
    """What a fit says of the mean of M, of the people, and of itself."""
    fit = hmetad.fit(counts, card, random_seed=seed, progressbar=False, quiet=True)
    posterior = fit["posterior"]
    parameter = "log_m" if card == "group" else "m"
    mean, sd = (posterior[f"{parameter}_{end}"] for end in ("Intercept", "1|subject_sigma"))
    if card == "group":
        mean = np.exp(mean + sd**2 / 2)
    lower, upper = mean.quantile([0.025, 0.975]).values
    each = posterior["m_ratio"].quantile([0.025, 0.975], ["chain", "draw"]).values
    inside = (m >= each[0]) & (m <= each[1])
    error = posterior["m_ratio"].mean(["chain", "draw"]).values - m
    return {
        "off": float(mean.median()) - m.mean(),
        "held": lower <= m.mean() <= upper,
        "rmse": np.sqrt((error**2).mean()),
        "people held": inside.mean(),
        "below 0 held": inside[m <= 0].mean() if (m <= 0).any() else np.nan,
        "not converged": bool(ERRORS & {x.code for x in hmetad.notices(fit)}),
    }


def main() -> None:
    """Simulate, fit, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=10, help="of each share")
    groups = parser.parse_args().groups
    print(describe_machine())
    rows = []
    for share in SHARES:
        made = [draw_group(share, number) for number in range(groups)]
        for card in ("group", "group_m"):
            found = [judge(card, m, counts, seed) for seed, (m, counts) in enumerate(made)]
            means = [f"{np.mean([one[name] for one in found]):.3f}" for name in found[0]]
            rows.append([f"{share:.0%}", card, *means])
    print_table(["below 0", "card", *found[0]], rows)


if __name__ == "__main__":
    main()
