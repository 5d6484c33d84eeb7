"""Meta-d′ with m alternatives: what other observers look like through it, and how well it recovers.

`python benchmarks/alternatives.py` simulates answers from evidence for every option, and not from
the model's probabilities, and prints the tables of docs/multiple_choice.md: M of observers whose
confidence follows something else than the margin (m = 2, 4, 10; 1.5 million trials each), what
noise, mixed difficulty, a bias that is left out and a wrong number of options do to it, and how
well maximum likelihood recovers d′, M and biases.

    python benchmarks/alternatives.py [--trials 1500000] [--cells 400] [--skip-observers]
"""

import argparse
from collections.abc import Callable

import numpy as np
import xarray as xr
from machine import CpuClock, describe_machine, print_table
from numpy.typing import NDArray

import hmetad
from hmetad.likelihood.families.alternatives import contrasts as of_options
from hmetad.likelihood.families.alternatives import log_probabilities

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

LEAD, RATINGS, SEED = 1.5, 4, 1
OPTIONS = (2, 4, 10)


def log_posterior(evidence: Floats) -> Floats:
    """log of the probability of each option, by an observer who knows the lead d."""
    scaled = LEAD * evidence
    top = scaled.max(axis=1, keepdims=True)
    return scaled - top - np.log(np.exp(scaled - top).sum(axis=1, keepdims=True))


def lead_of_best(values: Floats) -> Floats:
    """Largest value less the second."""
    best = np.partition(values, -2, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0]


# Of the evidence of all options, (trials, m), whose largest is chosen.
OBSERVERS: dict[str, Callable[[Floats], Floats]] = {
    "the margin of the best two (the model)": lead_of_best,
    "the posterior probability of the choice": lambda x: log_posterior(x).max(axis=1),
    "the difference of the best two posteriors": lambda x: lead_of_best(np.exp(log_posterior(x))),
    "minus the entropy of the posterior": lambda x: (
        np.exp(log_posterior(x)) * log_posterior(x)
    ).sum(axis=1),
    "the largest evidence alone": lambda x: x.max(axis=1),
}


def evidence_of(
    options: int, trials: int, rng: np.random.Generator, *, spread: float = 0.0
) -> tuple[Floats, Integers]:
    """Evidence (trials, m) and the right option; half of d is 1.5 less `spread`, half more."""
    right = rng.integers(options, size=trials)
    evidence = rng.standard_normal((trials, options))
    evidence[np.arange(trials), right] += LEAD + rng.choice([-spread, spread], trials)
    return evidence, right


def rated(confidence: Floats) -> Integers:
    """Ratings 0 to K - 1, all given equally often."""
    cuts = np.quantile(confidence, np.arange(1, RATINGS) / RATINGS)
    return np.searchsorted(cuts, confidence, side="right")


def symmetric_table(is_right: NDArray[np.bool_], ratings: Integers, options: int) -> xr.DataArray:
    """Counts of wrong and right answers by rating."""
    counts = np.zeros((1, 2, RATINGS), int)
    np.add.at(counts[0], (is_right.astype(int), ratings), 1)
    return xr.DataArray(
        counts,
        {"cell": ["one"], "correct": ["wrong", "right"], "rating": range(1, RATINGS + 1)},
    ).assign_coords(options=("cell", [options]))


def fitted_m(is_right: NDArray[np.bool_], confidence: Floats, options: int) -> float:
    """M by maximum likelihood."""
    counts = symmetric_table(is_right, rated(confidence), options)
    return float(hmetad.fit_mle(counts)["m_ratio"].item())


def print_observers(trials: int) -> None:
    """M of observers whose confidence follows other things, by the number of options."""
    rows = {name: [name] for name in OBSERVERS}
    for options in OPTIONS:
        evidence, right = evidence_of(options, trials, np.random.default_rng(SEED))
        is_right = evidence.argmax(axis=1) == right
        for name, confidence_of in OBSERVERS.items():
            rows[name].append(f"{fitted_m(is_right, confidence_of(evidence), options):.3f}")
    print_table(["confidence follows", *(f"m = {m}" for m in OPTIONS)], [*rows.values()])


def print_violations(trials: int) -> None:
    """What noise, mixed difficulty and a bias that is left out do to M of four options."""
    rng = np.random.default_rng(SEED)
    rows = []
    evidence, right = evidence_of(4, trials, rng)
    is_right, margin = evidence.argmax(axis=1) == right, lead_of_best(evidence)
    noisy = margin + rng.normal(0, 0.7, trials)
    rows.append(["noise of SD .7 on the margin", f"{fitted_m(is_right, noisy, 4):.3f}", ""])
    evidence, right = evidence_of(4, trials, rng, spread=1.0)
    is_right = evidence.argmax(axis=1) == right
    rows.append(["d of .5 and 2.5", f"{fitted_m(is_right, lead_of_best(evidence), 4):.3f}", ""])
    for bias in (0.25, 0.5, 1.0):
        evidence, right = evidence_of(4, trials, rng)
        evidence[:, 0] += bias
        chosen = evidence.argmax(axis=1)
        ratings = rated(lead_of_best(evidence))
        counts = np.zeros((1, 4, 4, RATINGS), int)
        np.add.at(counts[0], (right, chosen, ratings), 1)
        labels = [*"ABCD"]
        table = xr.DataArray(
            counts,
            {
                "cell": ["one"],
                "stimulus": labels,
                "response": labels,
                "rating": range(1, RATINGS + 1),
            },
        )
        alone = evidence - bias * np.eye(4)[0]
        own = alone[np.arange(trials), chosen]
        alone[np.arange(trials), chosen] = -np.inf
        decision = fitted_m(chosen == right, own - alone.max(axis=1), 4)
        whole = hmetad.fit_mle(table, "alternatives_biased")["m_ratio"].item()
        without = fitted_m(chosen == right, lead_of_best(evidence), 4)
        rows.append([f"a bias of {bias} for one option", f"{without:.3f}", f"{whole:.3f}"])
        rows.append(["the same, of the decision alone", f"{decision:.3f}", ""])
    print_table(["", "M", "M with biases"], rows)


def print_recovery(cells: int) -> None:
    """Bias and error of d′ and M by maximum likelihood, and how often intervals hold M."""
    rows = []
    for options in (3, 4, 5, 10):
        for trials in (200, 1000, 5000):
            counts = hmetad.simulate_counts(
                likelihood="alternatives",
                dprime=np.full(cells, np.sqrt(2) * LEAD),
                m_ratio=np.full(cells, 0.8),
                options=options,
                trials=trials,
                ratings=RATINGS,
                seed=SEED,
            )
            with CpuClock() as clock:
                found = hmetad.fit_mle(counts)
            log_m = found["log_m"].to_numpy()
            kept = np.isfinite(log_m)
            off = log_m[kept] - np.log(0.8)
            se = found["m_ratio_se"].to_numpy()[kept] / found["m_ratio"].to_numpy()[kept]
            dprime = found["dprime"].to_numpy()
            row = [
                options,
                trials,
                f"{dprime.mean() - np.sqrt(2) * LEAD:.3f}",
                f"{dprime.std():.3f}",
                f"{off.mean():.3f}",
                f"{off.std():.3f}",
                f"{np.mean(np.abs(off) < 1.96 * se):.3f}",
                cells - int(kept.sum()),
                f"{1e3 * clock.cpu / cells:.2f}",
            ]
            rows.append([*map(str, row)])
    print_table(
        ["m", "trials", "d′ bias", "d′ SD", "log M bias", "log M SD", "95 % holds", "M ≤ 0", "ms"],
        rows,
    )


def print_recovery_of_biases(cells: int) -> None:
    """Bias and error of d′, M and biases of four options, which have an SD of 0.3."""
    rows = []
    contrasts = np.random.default_rng(SEED).normal(0, 0.3, (cells, 3))
    for trials in (200, 1000, 5000):
        counts = hmetad.simulate_counts(
            likelihood="biased-alternatives",
            options="4",
            dprime=np.full(cells, np.sqrt(2) * LEAD),
            m_ratio=np.full(cells, 0.8),
            bias=contrasts,
            trials=trials,
            ratings=RATINGS,
            seed=SEED,
        )
        with CpuClock() as clock:
            found = hmetad.fit_mle(counts)
        off = found["log_m"].to_numpy() - np.log(0.8)
        biases = found["biases"].to_numpy() - contrasts @ of_options(4).T
        dprime = found["dprime"].to_numpy()
        row = [
            trials,
            f"{dprime.mean() - np.sqrt(2) * LEAD:.3f}",
            f"{dprime.std():.3f}",
            f"{np.nanmean(off):.3f}",
            f"{np.nanstd(off):.3f}",
            f"{np.abs(biases.mean(axis=0)).max():.3f}",
            f"{biases.std():.3f}",
            f"{1e3 * clock.cpu / cells:.1f}",
        ]
        rows.append([*map(str, row)])
    print_table(
        ["trials", "d′ bias", "d′ SD", "log M bias", "log M SD", "b bias", "b SD", "ms"], rows
    )


def print_wrong_numbers() -> None:
    """d and M of four options, d = 1.5, by a number of options that is not theirs."""
    rows = []
    for m_ratio in (1.0, 0.7):
        d = np.sqrt(2) * np.array(LEAD)
        p = np.exp(log_probabilities(d, m_ratio * d, np.array([0.35, 0.35, 0.5]), np.array(4.0)))
        row = [f"{m_ratio:g}"]
        for options in (2, 3, 4, 5, 10):
            counts = symmetric_table(np.ones(1, bool), np.zeros(1, int), options)
            found = hmetad.fit_mle(counts.copy(data=np.round(1e6 * p[None]).astype(int)))
            row.append(f"{found['option_d'].item():.2f}, {found['m_ratio'].item():.2f}")
        rows.append(row)
    print_table(["M", *(f"m = {m}" for m in (2, 3, 4, 5, 10))], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1_500_000)
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--skip-observers", action="store_true")
    given = parser.parse_args()
    print(describe_machine())
    if not given.skip_observers:
        print_observers(given.trials)
        print_violations(given.trials)
        print_wrong_numbers()
    print_recovery(given.cells)
    print_recovery_of_biases(given.cells)


if __name__ == "__main__":
    main()
