"""Outputs with labels and verdicts, as tests of judges count them."""

import numpy as np
import pandas as pd


def nq301(shared):
    """Answers to open questions: human label, and verdict of the judge BEM, a cut of its score."""
    trials = pd.read_csv(shared / "data" / "nq301" / "nq301.csv")
    return trials.assign(bem=(trials["bem_score"] > 0.5).astype(int))


def partly_labelled(trials, number=298, seed=1):
    """Trials of which so many random ones keep their label."""
    is_labelled = np.zeros(len(trials), dtype=bool)
    is_labelled[np.random.default_rng(seed).permutation(len(trials))[:number]] = True
    return trials.assign(human=trials["human"].where(is_labelled))


def outputs(**columns):
    """Eight outputs, six of them labelled."""
    made = {
        "human": [1, 1, 1, 0, 0, 0, None, None],
        "verdict": [1, 1, 0, 0, 0, 1, 1, 0],
        "score": [0.9, 0.8, 0.2, 0.1, 0.3, 0.7, 0.6, 0.4],
    }
    return pd.DataFrame({**made, **columns})
