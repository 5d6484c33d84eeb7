"""Trials to count."""

import numpy as np
import pandas as pd


def frame(n=400, seed=1, **columns):
    """Trials with four ratings and no pattern; `columns` replace or add."""
    rng = np.random.default_rng(seed)
    base = {
        "stimulus": rng.choice(["neg", "pos"], n),
        "response": rng.choice(["neg", "pos"], n),
        "confidence": rng.integers(1, 5, n),
        "model": rng.choice(["GPT-5", "Mistral"], n),
        "task": rng.choice(["A", "B"], n),
    }
    return pd.DataFrame(base | columns)
