"""Published data, from the file to a count table and a fit: a function each, as in a notebook.

Folder of the data → trials (pandas) → count table → DataTree.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import hmetad

CUTS = [0.85, 0.925, 0.975]


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
    trials = pd.read_csv(folder / "mazancieux2020" / "data_Mazancieux_2018.csv")
    names = {"Subj_idx": "subject", "Stimulus": "stimulus", "Response": "response", "Task": "task"}
    rating = hmetad.bin_confidence(trials["Confidence"], 4, method="edges", edges=[4, 7, 10])
    return trials.rename(columns=names).assign(confidence=rating)


def fit_mazancieux2020(folder: Path, **options):
    """All six correlations of log M between the tasks; 40 trials a cell take many draws."""
    counts = hmetad.count_trials(mazancieux2020(folder), by=["subject", "task"], ratings=4)
    return hmetad.fit(counts, "multitask", **{"draws": 3000, "tune": 1500, **options})


def bang2019(folder: Path) -> pd.DataFrame:
    """Fine and coarse discrimination of 175 people; catch trials (-10) left out."""
    files = {"fine": "dataset1.csv", "coarse": "dataset2.csv"}
    tables = [
        pd.read_csv(folder / "bang2019_exp2" / file).assign(task=task)
        for task, file in files.items()
    ]
    names = {"Subj_idx": "subject"}
    trials = pd.concat(tables, ignore_index=True)
    trials = trials[trials["Response"] > 0].rename(columns=names)
    return trials.rename(columns=str.lower)


def fit_bang2019(folder: Path, **options):
    """Correlation of log M between two tasks."""
    counts = hmetad.count_trials(bang2019(folder), by=["subject", "task"], ratings=4)
    return hmetad.fit(counts, "multitask", **options)


def michael2026(folder: Path) -> pd.DataFrame:
    """Eleven language models in the two tasks with two alternatives, as the data's README says."""
    source = folder / "michael2026_comparing_confidence"
    trials = pd.read_csv(source / "llm-confidence-correct.csv.gz", dtype={"question_id": str})
    questions = pd.read_csv(source / "boolq_valid_formatted.csv", dtype={"Question ID": str})
    both = pd.concat([boolq(trials, questions), halueval(trials)])
    return both[["llm", "task", "stimulus", "response", "rating"]]


def boolq(trials: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The stimulus is the right answer; the response is that, or its opposite where wrong."""
    answers = questions.set_index("Question ID")["Correct Answer"].astype(bool)
    rows = trials[trials["qset"] == "boolq_valid"]
    truth = rows["question_id"].map(answers)
    response = np.where(rows["correct"], truth, ~truth)
    rating = 1 + np.searchsorted(CUTS, rows["stated_confidence"], side="right")
    return rows.assign(task="BoolQ", stimulus=truth, response=response, rating=rating)


def halueval(trials: pd.DataFrame) -> pd.DataFrame:
    """The stimulus is whether the answer shown is right; ties at one half are left out."""
    rows = trials[(trials["qset"] == "halu_eval_qa") & (trials["stated_confidence"] != 0.5)]
    said = rows["stated_confidence"]
    rating = 1 + np.searchsorted(CUTS, np.maximum(said, 1 - said), side="right")
    truth = rows["question_id"].str.endswith("_r")
    return rows.assign(task="HaluEval", stimulus=truth, response=said > 0.5, rating=rating)


def fit_michael2026(folder: Path, **options):
    """Models crossed with tasks: effects of the task, of the models, and of their combination."""
    counts = hmetad.count_trials(
        michael2026(folder), by=["llm", "task"], confidence="rating", ratings=4
    )
    formula = "1 + S(task) + (1|llm) + (1|llm:task)"
    return hmetad.fit(counts, formula={"log_m": formula}, **options)


def hellmann2023_counts(folder: Path):
    """Masked orientations: count table of 16 participants, five ratings."""
    trials = pd.read_csv(folder / "hellmann2023_maskori" / "MaskOri.csv.gz")
    is_right = trials.pop("correct") == 1
    trials["response"] = np.where(is_right, trials["stimulus"], 90 - trials["stimulus"])
    trials["confidence"] = trials["rating"] + 1
    return hmetad.count_trials(trials, by={"subject": "participant"}, ratings=5)
