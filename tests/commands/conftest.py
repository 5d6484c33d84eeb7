"""Trials of two models in two tasks, and fits of them, as the commands write them."""

import numpy as np
import pandas as pd
import pytest
from command_line import changed_fit, run

import hmetad


def of_model(part, name):
    """Cells of one model, which they no longer say."""
    return part.isel(cell=part["model"].values == name).drop_vars("model")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with trials.csv, fit.nc, and separate fits good.nc and poor.nc."""
    folder = tmp_path_factory.mktemp("commands")
    models, tasks = ["good", "poor", "good", "poor"], ["A", "A", "B", "B"]
    trials = hmetad.simulate_trials(
        [1.5, 1.5, 2.0, 2.0],
        m_ratio=[1.0, 0.3, 1.0, 0.9],
        trials=2000,
        coords={"model": models, "task": tasks},
        seed=1,
    )
    trials.to_csv(folder / "trials.csv", index=False)
    run(folder, "fit trials.csv --by model,task --seed 1 -o fit.nc")
    whole = hmetad.load_fit(folder / "fit.nc")
    for name in ("good", "poor"):
        hmetad.save_fit(
            changed_fit(whole, lambda part, name=name: of_model(part, name)), folder / f"{name}.nc"
        )
    judged = trials.assign(hit=(trials["stimulus"] == trials["response"]).astype(int))
    judged[["model", "hit", "confidence"]].to_csv(folder / "judged.csv", index=False)
    rng = np.random.default_rng(1)
    unrated = trials.assign(confidence=(trials["confidence"] + rng.random(len(trials))) / 5)
    unrated.to_csv(folder / "continuous.csv", index=False)
    weights = pd.DataFrame({"contrast": ["half"], "good": [0.5], "poor": [-0.5]})
    weights.to_csv(folder / "weights.csv", index=False)
    return folder
