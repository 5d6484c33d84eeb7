"""CASANDRE's published fits, by 100 quantiles as they were made, and by the exact expectation.

Folder with Adler_2018_Expt1_sorted.mat (gorislab/CASANDRE) → a table: negative log-likelihoods as
published and by 100 equal-mass quantiles, exact at the same parameters, and refitted with the exact
expectation, with the meta-uncertainty of both.

    python benchmarks/casandre.py FOLDER
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from machine import describe_machine, print_table
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

from hmetad.likelihood.kernels.lognormal import C, Q, T, log_likelihood, log_probabilities

type Floats = NDArray[np.float64]

RATINGS, QUANTILES = 4, 100
# Bounds of the published fits: guesses, meta-uncertainty, sensitivities, criteria, gaps.
BOUNDS = [(0, 0.1), (0.1, 5), *[(0.005, 1)] * 6, *[(-20, 20)] * 6, *[(1e-6, 10)] * 3]


@dataclass(frozen=True)
class Person:
    """Trials of task A of one person, and what was published of them.

    Parameters
    ----------
    stimulus, sign : array, shape (trials,)
        Orientation in degrees; response, -1 or 1.
    reliability, rating : array of int, shape (trials,)
        Counted from 0.
    parameters : array, shape (17,)
        Best ones: guesses, meta-uncertainty, six sensitivities, six criteria, three gaps.
    cost : float
        Negative log-likelihood there.
    """

    stimulus: Floats
    sign: Floats
    reliability: NDArray[np.int64]
    rating: NDArray[np.int64]
    parameters: Floats
    cost: float

    def mean(self, parameters: Floats) -> Floats:
        """Mean of the evidence in each trial."""
        own = parameters[2:8][self.reliability]
        return own * (self.stimulus - parameters[8:14][self.reliability])

    def by_quantiles(self, parameters: Floats) -> float:
        """Cost with the scale's distribution as 100 equally likely values, as published."""
        guess, q = parameters[0], np.sqrt(np.log1p(parameters[1] ** 2))
        z = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
        scale = np.exp(q * z - q * q / 2)
        edges = np.append(np.cumsum(np.append(0, parameters[14:])), np.inf)
        inner, outer = edges[self.rating][:, None], edges[self.rating + 1][:, None]
        side = (self.sign * self.mean(parameters))[:, None]
        with np.errstate(invalid="ignore"):
            p = (ndtr(side - inner * scale) - ndtr(side - outer * scale)).mean(axis=1)
        return -float(np.log(guess / (2 * RATINGS) + (1 - guess) * p).sum())

    def exact(self, parameters: Floats) -> tuple[float, Floats]:
        """Cost with the exact expectation, and its gradient."""
        guess, uncertainty = parameters[0], parameters[1]
        trials = len(self.sign)
        q = np.full(trials, np.sqrt(np.log1p(uncertainty**2)))
        mean, zero = self.mean(parameters), np.zeros(trials)
        t = np.tile(np.cumsum(parameters[14:]), (trials, 2, 1))
        place = np.arange(trials), 0, (self.sign > 0).astype(int), self.rating
        at = np.column_stack([zero, -mean, q, t.reshape(trials, -1)])
        p = np.exp(log_probabilities(at, RATINGS)[place])
        whole = guess / (2 * RATINGS) + (1 - guess) * p
        weights = np.zeros((trials, 2, 2, RATINGS))
        weights[place] = (1 - guess) * p / whole
        slopes = log_likelihood(weights, at, True)[1]
        by_c, by_q, by_t = slopes[:, C], slopes[:, Q], slopes[:, T:].reshape(t.shape)
        by_mean, gradient = -by_c, np.zeros(17)
        gradient[0] = ((1 / (2 * RATINGS) - p) / whole).sum()
        gradient[1] = by_q.sum() * uncertainty / ((1 + uncertainty**2) * q[0])
        away = self.stimulus - parameters[8:14][self.reliability]
        for k in range(6):
            own = self.reliability == k
            gradient[2 + k] = (by_mean * away)[own].sum()
            gradient[8 + k] = -by_mean[own].sum() * parameters[2 + k]
        gradient[14:] = by_t.sum(axis=(0, 1))[::-1].cumsum()[::-1]
        return -float(np.log(whole).sum()), -gradient


def read_people(folder: Path) -> list[Person]:
    """Everybody in the file of symmetric fits."""
    file = loadmat(folder / "Adler_2018_Expt1_sorted.mat")
    people = []
    for trials, best, cost in zip(
        file["trials"][0], file["bestParamEst"][0], file["bestNLL"][0], strict=True
    ):
        parts = list(trials[0, 0][0])
        rows = np.concatenate(parts)
        people.append(
            Person(
                rows[:, 1],
                np.sign(rows[:, 2]),
                np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
                np.abs(rows[:, 2]).astype(int) - 1,
                best[0, 0].ravel(),
                float(np.squeeze(cost[0, 0])),
            )
        )
    return people


def refit(person: Person) -> tuple[float, Floats]:
    """Lowest cost with the exact expectation, from the published parameters."""
    scale = np.maximum(np.abs(person.parameters), 0.05)

    def cost(x: Floats) -> tuple[float, Floats]:
        value, slope = person.exact(x * scale)
        return value, slope * scale

    found = minimize(
        cost,
        person.parameters / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(low / s, high / s) for (low, high), s in zip(BOUNDS, scale, strict=True)],
        options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-7},
    )
    return float(found.fun), found.x * scale


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    rows = []
    print(describe_machine())
    for number, person in enumerate(read_people(parser.parse_args().folder), start=1):
        exact = person.exact(person.parameters)[0]
        best, parameters = refit(person)
        rows.append(
            {
                "person": number,
                "published": f"{person.cost:.4f}",
                "100 quantiles": f"{person.by_quantiles(person.parameters):.4f}",
                "exact": f"{exact:.4f}",
                "refitted": f"{best:.4f}",
                "meta-uncertainty": f"{person.parameters[1]:.4f}",
                "of the refit": f"{parameters[1]:.4f}",
            }
        )
    print_table([*rows[0]], [[*row.values()] for row in rows])


if __name__ == "__main__":
    main()
