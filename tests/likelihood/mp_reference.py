"""The likelihood in mpmath, straight from the definition, with 60 digits."""

from collections.abc import Sequence

import mpmath as mp

mp.mp.dps = 60


def area(lower, upper):
    """Area of N(0, 1) between two edges, on the side of the axis where it is small."""
    if lower > 0:
        lower, upper = -upper, -lower
    return (mp.erfc(-upper / mp.sqrt(2)) - mp.erfc(-lower / mp.sqrt(2))) / 2


def log_likelihood(counts, d, c, m, kappa, gaps, s=1.0):
    """ℓ of one cell: counts (2, 2, K), m and kappa (2), gaps (2, K - 1)."""
    total = mp.mpf(0)
    for stimulus, (sign, scale) in enumerate(((-1, mp.mpf(1)), (1, mp.mpf(s)))):
        for response, side in enumerate((-1, 1)):

            def beyond(edge, mean, scale=scale, side=side):
                return area(side * scale * (edge - mean), mp.inf)

            share = beyond(mp.mpf(c), sign * mp.mpf(d) / 2)
            mean = sign * mp.mpf(m[response]) / 2
            start = mp.mpf(kappa[response])
            steps: Sequence = [mp.mpf(g) for g in gaps[response]]
            edges = [start + side * mp.fsum(steps[:k]) for k in range(len(steps) + 1)]
            z = [side * scale * (edge - mean) for edge in edges] + [mp.inf]
            for k, n in enumerate(counts[stimulus][response]):
                p = share * area(z[k], z[k + 1]) / area(z[0], mp.inf)
                total += int(n) * mp.log(p)
    return total
