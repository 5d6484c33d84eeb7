"""Published data, from the file to a count table and a fit: a function each, as in a notebook.

Folder of the data → trials (pandas) → count table → DataTree.
"""

from pathlib import Path

import pandas as pd

import hmetad
from hmetad.datasets import (
    read_bang2019,
    read_mazancieux2020,
    read_michael2026,
    tidy_hellmann2023,
)


def rouault2018(folder: Path) -> pd.DataFrame:
    """Perceptual decisions of 498 people, Experiment 1; confidence in five levels."""
    trials = pd.read_csv(folder / "rouault2018" / "trials_exp1.csv.gz")
    names = {"target_left": "stimulus", "response_left": "response", "confidence5": "confidence"}
    return trials.drop(columns="confidence").rename(columns=names)


def fit_rouault2018(folder: Path, card: str = "regression", **options):
    """Regression of log M on age, or the group alone (card "group")."""
    counts = hmetad.count_trials(
        rouault2018(folder), by="subject", covariates={"covariate": "age"}, ratings=5
    )
    return hmetad.fit(counts, card, **options)


def mazancieux2020(folder: Path) -> pd.DataFrame:
    """Four tasks of 181 people; eleven levels of confidence, cut to 0-3, 4-6, 7-9 and 10."""
    return read_mazancieux2020([folder / "mazancieux2020" / "data_Mazancieux_2018.csv"])


def fit_mazancieux2020(folder: Path, **options):
    """All six correlations of log M between the tasks; 40 trials a cell take many draws."""
    counts = hmetad.count_trials(mazancieux2020(folder), by=["subject", "task"], ratings=4)
    return hmetad.fit(counts, "multitask", **{"draws": 3000, "tune": 1500, **options})


def bang2019(folder: Path) -> pd.DataFrame:
    """Fine and coarse discrimination of 175 people; catch trials (-10) left out."""
    source = folder / "bang2019_exp2"
    return read_bang2019([source / "dataset1.csv", source / "dataset2.csv"])


def fit_bang2019(folder: Path, **options):
    """Correlation of log M between two tasks."""
    counts = hmetad.count_trials(bang2019(folder), by=["subject", "task"], ratings=4)
    return hmetad.fit(counts, "multitask", **options)


def michael2026(folder: Path) -> pd.DataFrame:
    """Eleven language models in the two tasks with two alternatives, as the data's README says."""
    source = folder / "michael2026_comparing_confidence"
    answers, questions = "llm-confidence-correct.csv.gz", "boolq_valid_formatted.csv"
    trials = read_michael2026([source / answers, source / questions])
    return trials[["llm", "task", "stimulus", "response", "rating"]]


def fit_michael2026(folder: Path, **options):
    """Models crossed with tasks: effects of the task, of the models, and of their combination."""
    counts = hmetad.count_trials(
        michael2026(folder), by=["llm", "task"], confidence="rating", ratings=4
    )
    formula = "1 + S(task) + (1|llm) + (1|llm:task)"
    return hmetad.fit(counts, formula={"log_m": formula}, **options)


def hellmann2023_counts(folder: Path):
    """Masked orientations: count table of 16 participants, five ratings."""
    trials = tidy_hellmann2023(pd.read_csv(folder / "hellmann2023_maskori" / "MaskOri.csv.gz"))
    return hmetad.count_trials(trials, by="subject", ratings=5)
