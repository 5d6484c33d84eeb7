"""Coverage and width of corrected pass rates, by how the labels were chosen.

Labelled outputs of two published sets → Markdown tables. Rows are drawn with replacement, so that
the rate of the set is the truth. A: a random part keeps its label. B: as many good as bad ones do.
Widths are those of intervals relative to labels alone (A, by Wilson) or to Rogan–Gladen (B).
Sources: Kamalloo et al. (2023); Pagnoni et al. (2021).

    python benchmarks/judges.py --data FOLDER [--splits 400] [--balanced 200]
"""

import argparse
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from hmetad import count_judged, pass_rate
from hmetad.measures import judge

Z, LEVELS = norm.ppf(0.975), (0.025, 0.975)
type Interval = tuple[float, float]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with nq301 and frank")
    parser.add_argument("--splits", type=int, default=400)
    parser.add_argument("--balanced", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = judged_sets(options.data)
    small = {name: sets[name] for name in ("NQ301 BEM", "XSum BERTScore")}
    print("A: random labels, a fifth of the outputs; coverage, width relative to labels alone\n")
    for name in ("NQ301 BEM", "NQ301 GPT-4", "FRANK BERTScore"):
        table(name, sets[name], options.splits, len(sets[name]) // 5, False, options.seed)
    print("\nA: few labels\n")
    for (name, outputs), labels in zip(small.items(), (50, 100), strict=True):
        table(f"{name}, n = {labels}", outputs, options.splits, labels, False, options.seed)
    print("\nB: labels balanced by class; coverage, width relative to Rogan–Gladen\n")
    for name in ("NQ301 BEM", "NQ301 GPT-4", "FRANK BERTScore"):
        table(name, sets[name], options.balanced, len(sets[name]) // 5, True, options.seed)


def judged_sets(folder: Path) -> dict[str, pd.DataFrame]:
    """Columns human, verdict and score of each set."""
    nq = pd.read_csv(folder / "nq301" / "nq301.csv")
    frank = pd.read_csv(folder / "frank" / "frank.csv").rename(columns={"BertScore P Art": "score"})
    frank = frank.dropna(subset=["score", "human"])
    xsum = frank[frank["dataset"] == "bbc"]
    nq = nq.rename(columns={"bem_score": "score"})
    made = {
        "NQ301 BEM": nq.assign(verdict=(nq["score"] > 0.5).astype(int)),
        "NQ301 GPT-4": nq.assign(verdict=nq["gpt4"]),
        # Metrics have no threshold: the judge passes as many as there are.
        "FRANK BERTScore": frank.assign(verdict=passing(frank)),
        "XSum BERTScore": xsum.assign(verdict=passing(xsum)),
    }
    return {
        name: x[["human", "verdict", "score"]].reset_index(drop=True) for name, x in made.items()
    }


def passing(outputs: pd.DataFrame) -> pd.Series:
    """Verdicts that pass the share of outputs that is good."""
    least = outputs["score"].quantile(1 - outputs["human"].mean())
    return (outputs["score"] > least).astype(int)


def table(
    name: str, outputs: pd.DataFrame, splits: int, labels: int, balanced: bool, seed: int
) -> None:
    """Print, for each method, coverage of the rate of the set, and width."""
    rng = np.random.default_rng(seed)
    truth, found = outputs["human"].mean(), defaultdict(list)
    for split in range(splits):
        rows = outputs.iloc[rng.integers(0, len(outputs), len(outputs))].reset_index(drop=True)
        kept = rng.permutation(len(rows))[:labels]
        if balanced:
            sides = [np.flatnonzero(rows["human"] == side) for side in (0, 1)]
            kept = np.concatenate([rng.permutation(side)[: labels // 2] for side in sides])
            # The pool is another sample: labels are from elsewhere.
            pool = outputs.iloc[rng.integers(0, len(outputs), len(outputs))].assign(human=np.nan)
            rows = pd.concat([rows.iloc[kept], pool], ignore_index=True)
        else:
            rows["human"] = rows["human"].where(np.isin(np.arange(len(rows)), kept))
        for method, interval in intervals(rows, balanced, split).items():
            found[method].append(interval)
    relative = np.diff(found["Rogan–Gladen" if balanced else "labels only"], axis=1).mean()
    print(f"**{name}** ({splits} splits, {labels} labels, rate {truth:.3f})\n")
    print("| method | coverage | ± | width | mean |\n|---|--:|--:|--:|--:|")
    for method, ends in found.items():
        low, high = np.array(ends).T
        covered = ((low <= truth) & (truth <= high)).mean()
        error = np.sqrt(covered * (1 - covered) / splits)
        # Without a pass among few labels Rogan–Gladen is undefined.
        width, middle = np.nanmean(high - low) / relative, np.nanmean(low + high) / 2
        print(f"| {method} | {covered:.3f} | {error:.3f} | {width:.2f} | {middle:.3f} |")
    print(flush=True)


def intervals(rows: pd.DataFrame, balanced: bool, seed: int) -> dict[str, Interval]:
    """Intervals of 95 % by each method."""
    columns = {"by": (), "label": "human", "verdict": "verdict"}
    verdict = count_judged(rows, **columns)
    ratings = count_judged(rows, **columns, score="score", ratings=4)
    found = judge(verdict)
    rate, error = (found[f"rogan_gladen{end}"].item() for end in ("", "_se"))
    known = rows["human"].dropna()
    made = {
        "labels only": wilson(known.sum(), len(known)),
        "Rogan–Gladen": (rate - Z * error, rate + Z * error),
    }
    designs = ("random", "elsewhere") if balanced else ("random",)
    for design in designs:
        for name, counts in (("verdict", verdict), ("8 ratings", ratings)):
            draws = pass_rate(counts, labels=design, n=2000, seed=seed)
            low, high = np.quantile(draws, LEVELS)
            made[f"pass_rate {design}, {name}"] = (low, high)
    return made


def wilson(good: float, number: int) -> Interval:
    """Wilson's interval of a rate."""
    rate, square = good / number, Z**2 / number
    middle = (rate + square / 2) / (1 + square)
    half = Z * np.sqrt(rate * (1 - rate) / number + square / (4 * number)) / (1 + square)
    return middle - half, middle + half


if __name__ == "__main__":
    main()
