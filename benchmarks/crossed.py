"""Observers who answer the same items: is M true, what misleads it, and how long it takes.

    python benchmarks/crossed.py recovery [--sets 200] [--out FILE]
    python benchmarks/crossed.py misspecified [--sets 20] [--out FILE]
    python benchmarks/crossed.py speed [--quick]
    python benchmarks/crossed.py gradient|draws [--base PYTHON]

`recovery` and `misspecified` simulate answers from evidence for each of four options, and not from
the model's probabilities, and fit each set by maximum likelihood: answers pooled over items (card
`alternatives`), items with an effect on d′ alone, items with effects on d′ and on confidence, and
the same with loadings of observers where elpd by item is better with them (card
`alternatives_crossed`). Every fit is a row of the file as soon as it is there, and
a run that was ended goes on where it stopped. `speed` samples posteriors at defaults. `gradient`
(33 models × 300 questions) and `draws` (10 × 100) have items with one effect, and compare with a
build that samples the effects of items, where its Python is named.
"""

import argparse
import csv
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from machine import CpuClock, best_of, describe_machine, print_table
from numpy.typing import NDArray

import hmetad
from hmetad.bayes.program import build_program

type Floats = NDArray[np.float64]

OPTIONS, RATINGS, Z = 4, 4, 1.959964
CARD = "alternatives_crossed"
COLUMNS = ("case", "observers", "items", "set", "model", "observer", "true_m", "m", "se", "d",
           "seconds", "converged")  # fmt: skip
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


@dataclass(frozen=True)
class Truth:
    """How items and observers differ.

    Parameters
    ----------
    tau, spread : float
        SDs of the effects of items on the lead d of the right option, and of log criteria.
    correlation : float
        Of the two.
    low, high : float
        M of the first and of the last observer; between them evenly spaced.
    shape : {"normal", "two points", "skewed"}
        Distribution of the effects on d.
    interaction : float
        SD of d between observers at an item, beyond the effects of both.
    ignores : bool
        Whether margins follow the d of the observer's average item.
    """

    tau: float = 1.0
    spread: float = 0.0
    correlation: float = 0.0
    low: float = 1.0
    high: float = 1.0
    shape: str = "normal"
    interaction: float = 0.0
    ignores: bool = False


RECOVERED = {
    "difficulty": Truth(),
    "difficulty and confidence": Truth(spread=0.7, correlation=-0.3, low=0.5, high=1.1),
}
DESIGNS = ((3, 300), (8, 300), (3, 1500), (8, 1500), (33, 300), (33, 1500))
MISSPECIFIED = {
    "as the model": Truth(),
    "two points, d ± 1": Truth(shape="two points"),
    "skewed (exponential)": Truth(shape="skewed"),
    "item × observer, SD .6": Truth(tau=0.8, interaction=0.6),
    "confidence ignores difficulty": Truth(ignores=True),
    "the same, both differ": Truth(ignores=True, spread=0.7),
}


def simulate(truth: Truth, observers: int, items: int, seed: int) -> tuple[xr.DataArray, Floats]:
    """Count table with a cell for each observer and item, and the true M of observers."""
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, items))
    if truth.shape == "two points":
        first = np.sign(first)
    elif truth.shape == "skewed":
        first = rng.standard_exponential(items) - 1
    rest = np.sqrt(1 - truth.correlation**2)
    spread = truth.spread * (truth.correlation * first + rest * second)
    average = np.linspace(1.0, 2.0, observers)[:, None] + np.zeros(items)
    d = average + truth.tau * first
    d += truth.interaction * rng.standard_normal(d.shape)
    m = np.linspace(truth.low, truth.high, observers)
    is_right, _ = decisions(d, rng)
    margin = margins(m[:, None] * (average if truth.ignores else d), is_right, rng)
    rated = margin / np.exp(spread)
    cuts = np.quantile(rated, np.arange(1, RATINGS) / RATINGS)
    return table_of(is_right, np.searchsorted(cuts, rated)), m


def decisions(d: Floats, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    """Whether the option with the most evidence is right, and its lead over the next."""
    evidence = rng.standard_normal((*d.shape, OPTIONS))
    evidence[..., 0] += d
    best = np.partition(evidence, -2, axis=-1)[..., -2:]
    return evidence.argmax(axis=-1) == 0, best[..., 1] - best[..., 0]


def margins(d: Floats, is_right: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Margins by a sensitivity, given whether answers are right: drawn until they agree."""
    found = np.full(d.shape, np.nan)
    while (left := np.isnan(found)).any():
        right, margin = decisions(d[left], rng)
        found[left] = np.where(right == is_right[left], margin, np.nan)
    return found


def table_of(is_right: NDArray[np.bool_], rating: NDArray[np.int64]) -> xr.DataArray:
    """Count table of (observers, items), one answer each."""
    observers, items = is_right.shape
    counts = np.zeros((is_right.size, 2, RATINGS), int)
    counts[np.arange(is_right.size), is_right.ravel().astype(int), rating.ravel()] = 1
    subject = np.repeat([f"m{j:02d}" for j in range(observers)], items)
    item = np.tile([f"q{i:04d}" for i in range(items)], observers)
    coords = {
        "cell": [f"{j} | {i}" for j, i in zip(subject, item, strict=True)],
        "correct": ["wrong", "right"],
        "rating": range(1, RATINGS + 1),
        "subject": ("cell", subject),
        "item": ("cell", item),
        "options": ("cell", np.full(is_right.size, OPTIONS)),
    }
    return xr.DataArray(counts, coords, ("cell", "correct", "rating"), name="counts")


def pooled(counts: xr.DataArray) -> xr.DataArray:
    """The table of observers alone."""
    own = counts.groupby("subject").sum()
    names = own["subject"].values
    options = ("cell", np.full(len(names), OPTIONS))
    own = own.rename(subject="cell").assign_coords(subject=("cell", names), options=options)
    return own.transpose("cell", "correct", "rating")


def one_effect() -> hmetad.ModelSpec:
    """The crossed card, in which items differ in d′ alone."""
    card = hmetad.load_model(CARD)
    formula = {name: text for name, text in card.formula.items() if name != "log_spread"}
    return replace(card, formula=formula, loadings=False)


def fits(counts: xr.DataArray) -> Iterator[tuple[str, xr.Dataset, float]]:
    """Name, estimates and seconds of the fits of a set."""
    equal = hmetad.load_model(CARD, loadings=False)
    models = {"pooled": "alternatives", "one effect": one_effect(), "both effects": equal}
    models |= {"chosen": CARD}
    for name, model in models.items():
        own = pooled(counts) if name == "pooled" else counts
        start = time.perf_counter()
        found = hmetad.fit_mle(own, model)
        yield name, found, time.perf_counter() - start


def run_sets(cases: dict[str, Truth], designs: dict[tuple[int, int], int], out: Path) -> None:
    """Simulate and fit sets of designs, and add a row for each observer to a file."""
    done = set()
    if out.exists():
        own = pd.read_csv(out)
        done = {*own[["case", "observers", "items", "set"]].itertuples(index=False, name=None)}
    else:
        out.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for (observers, items), sets in designs.items():
        for case, truth in cases.items():
            for number in range(sets):
                if (case, observers, items, number) in done:
                    continue
                counts, true = simulate(truth, observers, items, 1000 * items + number)
                rows = []
                for model, found, seconds in fits(counts):
                    is_good = bool(found["converged"].all())
                    columns = (true, found["m_ratio"], found["m_ratio_se"], found["option_d"])
                    for j, values in enumerate(zip(*map(np.asarray, columns), strict=True)):
                        first = (case, observers, items, number, model, j)
                        rows.append((*first, *values, seconds, is_good))
                with out.open("a", encoding="utf-8", newline="") as file:
                    csv.writer(file).writerows(rows)


def summarise(out: Path) -> None:
    """Bias of M, its error and the share of intervals that hold it, by case, design and model."""
    frame = pd.read_csv(out)
    frame["error"] = frame["m"] - frame["true_m"]
    frame["holds"] = frame["error"].abs() <= Z * frame["se"]
    rows = []
    for keys, own in frame.groupby(["case", "observers", "items", "model"], sort=False):
        by_set = own.groupby("set")[["error", "holds"]].mean()
        errors = by_set.std() / np.sqrt(len(by_set))
        case, observers, items, model = keys
        rows.append(
            [
                f"{case}, {observers} × {items:,}",
                len(by_set),
                model,
                f"{own['m'].mean():.3f}",
                f"{own['error'].mean():+.3f} ± {errors['error']:.3f}",
                f"{np.sqrt((own['error'] ** 2).mean()):.3f}",
                f"{own['holds'].mean():.3f} ± {errors['holds']:.3f}",
                f"{own['seconds'].median():.2f}",
                f"{own['converged'].mean():.3f}",
            ]
        )
    header = ["design", "sets", "model", "mean M", "bias", "RMSE", "coverage", "s", "converged"]
    print_table(header, rows)


def sampled_card() -> hmetad.ModelSpec:
    """The crossed card as it was when effects of items were sampled: one effect, on M itself."""
    formula = {
        "m": "1 + (1 | subject)",
        "dprime": "1 + (1 | subject) + (1 | item)",
        "log_gap": "1 + (1 | subject)",
    }
    return replace(hmetad.load_model(CARD, scale="m"), formula=formula)


def gradient_at(observers: int, items: int) -> dict[str, float]:
    """Milliseconds of a gradient of the posterior, of items with one effect."""
    counts, _ = simulate(Truth(), observers, items, 1)
    program = build_program(counts, sampled_card())
    x = np.asarray(program.first_point, dtype=float)
    program.log_density(x)
    seconds = best_of(lambda: program.log_density(x), rounds=5, calls=3)
    return {"free values": len(x), "ms a gradient": 1e3 * seconds}


def draws_at(observers: int, items: int) -> dict[str, float]:
    """ESS of M per CPU-second, the worst model, of items with one effect.

    Effects of items that are sampled are those of the card as it was, in two chains of 500 draws;
    where they are integrated out, observers have values of their own, and fits their defaults.
    """
    counts, _ = simulate(Truth(), observers, items, 1)
    is_integrated = "log_spread" in hmetad.load_model(CARD).formula
    card = one_effect() if is_integrated else sampled_card()
    options = {} if is_integrated else {"draws": 500, "tune": 500, "chains": 2}
    hmetad.fit(counts, card, draws=10, tune=10, chains=2, **QUIET)
    with CpuClock() as clock:
        drawn = hmetad.fit(counts, card, **options, **QUIET)
    posterior = drawn["posterior"].to_dataset()
    name = "m_ratio"
    ess = min(float(az.ess(posterior)[name].min()), worth_of(drawn))
    rhat = float(az.rhat(posterior)[name].max())
    return {"ESS of M": ess, "R-hat": rhat, "CPU s": clock.cpu, "ESS/CPU s": ess / clock.cpu}


def worth_of(drawn: xr.DataTree) -> float:
    """How many draws the weights of a fit are worth; of chains no limit."""
    stats = drawn["sample_stats"].to_dataset()
    return float(stats["effective_draws"].min()) if "effective_draws" in stats else np.inf


def against_base(what: str, base: Path | None) -> None:
    """Figures of this build, and of one that another Python has, in one run."""
    own = {"gradient": lambda: gradient_at(33, 300), "draws": lambda: draws_at(10, 100)}[what]()
    rows = {"this build": own}
    if base:
        command = [str(base), __file__, what, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows["base"] = json.loads(done.stdout.splitlines()[-1])
    table = [[name, *map(float, row.values())] for name, row in rows.items()]
    print_table(["", *own], table)


SPEED = ((3, 300), (10, 100), (10, 500), (33, 1500))


def print_speed(designs: tuple[tuple[int, int], ...]) -> None:
    """Time, ESS, memory and size of posteriors at defaults, and time of maximum likelihood."""
    rows = []
    for observers, items in designs:
        counts, _ = simulate(RECOVERED["difficulty and confidence"], observers, items, 1)
        with CpuClock() as first:
            hmetad.fit_mle(counts, CARD)
        with CpuClock() as mle:
            hmetad.fit_mle(counts, CARD)
        with CpuClock() as clock:
            drawn = hmetad.fit(counts, CARD, **QUIET)
        posterior = drawn["posterior"].to_dataset()
        ess = np.minimum(az.ess(posterior)["m_ratio"].to_numpy(), worth_of(drawn))
        rhat = az.rhat(posterior)["m_ratio"].to_numpy()
        with tempfile.TemporaryDirectory() as folder:
            size = hmetad.save_fit(drawn, Path(folder) / "fit.nc").stat().st_size
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        notices = ", ".join(sorted({notice.code for notice in hmetad.notices(drawn)}))
        row = [f"{observers} × {items:,}", mle.wall, clock.wall, clock.cpu, posterior.draw.size]
        row += [float(ess.min()), float(ess.min()) / clock.cpu, f"{rhat.max():.3f}"]
        rows.append([*row, peak, size / 2**20, notices or "none", first.wall])
        print(rows[-1], flush=True)
    header = ["design", "fit_mle s", "fit s", "CPU s", "draws", "ESS", "ESS/CPU s", "R-hat"]
    print_table([*header, "peak GB", "file MB", "notices", "first fit_mle s"], rows)


def main() -> None:
    """Run what is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    whats = ["recovery", "misspecified", "speed", "gradient", "draws"]
    parser.add_argument("what", choices=whats)
    parser.add_argument("--sets", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="without the largest design")
    parser.add_argument("--base", type=Path, help="Python of a build to compare with")
    parser.add_argument("--json", action="store_true", help="figures of this build alone")
    asked = parser.parse_args()
    if asked.json:
        own = gradient_at(33, 300) if asked.what == "gradient" else draws_at(10, 100)
        print(json.dumps(own))
        return
    print(describe_machine(), flush=True)
    if asked.what in ("gradient", "draws"):
        against_base(asked.what, asked.base)
        return
    if asked.what == "speed":
        print_speed(SPEED[: 3 if asked.quick else 4])
        return
    out = asked.out or Path(f"crossed_{asked.what}.csv")
    if asked.what == "recovery":
        sets = asked.sets or 200
        # As many answers in all designs as in the smallest, and five sets at least.
        shares = {size: max(sets * 900 // (size[0] * size[1]), 5) for size in DESIGNS}
        run_sets(RECOVERED, shares, out)
    else:
        run_sets(MISSPECIFIED, {(8, 1500): asked.sets or 20}, out)
    summarise(out)


if __name__ == "__main__":
    main()
