"""How often the rules of convergence raise a false alarm, and how often they find a stuck chain.

Autoregressive chains of known mean → Markdown table of shares. A rule flags a value if its bulk or
tail ESS is below 400 or its R̂ is above a limit: 1.01 for every value, or the limit for that number
of values. Chains that agree are flagged falsely; a chain moved by part of an SD should be flagged.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from hmetad.base.monte_carlo import check_chains, rhat_limit
from hmetad.base.notice_registry import limit

type Floats = NDArray[np.float64]

# Draws of a chain, and correlation of a draw with the one before.
CHAINS = ((250, -0.4), (250, 0.3), (500, 0.3), (400, 0.6), (1000, 0.3), (1000, 0.8))
SHIFTS = (0.3, 0.5, 0.7)


def main() -> None:
    """Print a row for each kind of chain."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=4500, help="values that are judged together")
    parser.add_argument("--moved", type=int, default=500, help="values of which a chain is moved")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = ["draws × 4, ρ", "ESS", "R̂ > 1.01", "above limit"]
    names += [f"found at {shift} SD: 1.01, limit" for shift in SHIFTS]
    print(f"| {' | '.join(names)} |", "|---" * len(names) + "|", sep="\n")
    for draws, rho in CHAINS:
        rng = np.random.default_rng(options.seed)
        is_high, is_above, ess = flags(chains(rng, options.values, draws, rho), options.values)
        row = [f"{draws}, {rho}", f"{np.median(ess):,.0f}", f"{is_high.mean():.1%}"]
        row.append(f"{is_above.sum()}")
        for shift in SHIFTS:
            moved = chains(rng, options.moved, draws, rho)
            moved[:, 0] += shift
            is_high, is_above, ess = flags(moved, options.values)
            few = ess < limit("ess")
            row.append(f"{(is_high | few).mean():.0%}, {(is_above | few).mean():.0%}")
        print(f"| {' | '.join(row)} |")


def chains(rng: np.random.Generator, values: int, draws: int, rho: float) -> Floats:
    """Rows of four chains that sample Normal(0, 1), (values, 4, draws)."""
    rows = rng.normal(size=(values, 4, draws))
    for t in range(1, draws):
        rows[..., t] = rho * rows[..., t - 1] + np.sqrt(1 - rho**2) * rows[..., t]
    return rows


def flags(rows: Floats, values: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]:
    """Whether R̂ is above 1.01, and above the limit for so many values too; the smaller ESS."""
    rhat, bulk, tail = check_chains(rows)
    is_high = rhat > limit("rhat")
    return is_high, is_high & (rhat > rhat_limit(rows, values)), np.minimum(bulk, tail)


if __name__ == "__main__":
    main()
