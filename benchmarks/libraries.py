"""AUROC, Brier score and ECE of the same 10,000 answers, by each library that is installed.

python benchmarks/libraries.py, once with the Python of each library: docs/coming_from.md has the
numbers of scikit-learn 1.9.1, uqlm 0.6.7 and torchmetrics 1.9.0.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Rows = Iterator[tuple[str, list[float]]]
BINS = 10


def answers() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Stated probabilities, and which answers are correct."""
    rng = np.random.default_rng(1)
    correct = (rng.random(10_000) < 0.75).astype(np.int64)
    evidence = rng.normal(1.2 * correct, 1.0)
    return 1 / (1 + np.exp(-(1.6 * evidence + 0.6))), correct


def by_hmetad(p: NDArray[np.float64], y: NDArray[np.int64]) -> Rows:
    """Bins of equal mass, then of equal width."""
    import pandas as pd

    import hmetad

    trials = pd.DataFrame({"correct": y, "confidence": p})
    found = hmetad.measures.measure_trials(trials).squeeze()
    yield "hmetad, mass", [float(found[name]) for name in ("auroc2", "brier", "ece")]
    found = hmetad.measures.calibration(trials, method="width", bins=BINS)
    yield "hmetad, width", [float(found["ece"].squeeze())]


def by_scikit_learn(p: NDArray[np.float64], y: NDArray[np.int64]) -> Rows:
    """It has no ECE: that of its calibration curve, whose bins are cut as here."""
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss, roc_auc_score

    accuracy, stated = calibration_curve(y, p, n_bins=BINS)
    place = np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], p)
    share = np.unique(place, return_counts=True)[1] / len(p)
    ece = float(share @ np.abs(accuracy - stated))
    yield "scikit-learn", [roc_auc_score(y, p), brier_score_loss(y, p), ece]


def by_uqlm(p: NDArray[np.float64], y: NDArray[np.int64]) -> Rows:
    """Brier score and ECE."""
    from uqlm.calibration.evaluate import evaluate_calibration
    from uqlm.utils.results import UQResult

    result = UQResult({"data": {"responses": [""] * len(p), "score": p}})
    found = evaluate_calibration(result, y, plot=False).loc["score"]
    yield "uqlm", [found["brier_score"], found["ece"]]


def by_torchmetrics(p: NDArray[np.float64], y: NDArray[np.int64]) -> Rows:
    """AUROC, ECE of ten bins and of its 15; AUROC of percentages."""
    import torch
    import torchmetrics.functional.classification as functional

    right = torch.tensor(y)
    for kind in (torch.float32, torch.float64):
        stated = torch.tensor(p, dtype=kind)
        ece = functional.binary_calibration_error
        yield (
            f"torchmetrics, {kind}",
            [
                functional.binary_auroc(stated, right).item(),
                ece(stated, right, n_bins=BINS).item(),
                ece(stated, right).item(),
                functional.binary_auroc(100 * stated, right).item(),
            ],
        )


LIBRARIES: tuple[Callable[..., Rows], ...] = (
    by_hmetad,
    by_scikit_learn,
    by_uqlm,
    by_torchmetrics,
)

if __name__ == "__main__":
    p, correct = answers()
    for digits in (None, 2, 1):
        stated = p if digits is None else p.round(digits)
        print("all digits" if digits is None else f"{digits} decimals")
        for library in LIBRARIES:
            try:
                for name, numbers in library(stated, correct):
                    print(f"  {name}", *(f"{x:.6f}" for x in numbers))
            except ImportError as error:
                print(f"  {error}")
