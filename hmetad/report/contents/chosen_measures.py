"""Measures that a model is chosen by.

Nothing → measures of trials with confidence as it is, and of counts of ratings.
"""

from hmetad.report.contents.standings import Measure

__all__ = ["OF_COUNTS", "OF_TRIALS"]

ACCURACY = Measure(
    "accuracy", "Accuracy", "Which is right most often?", "share right (more is better)"
)
OF_TRIALS = (
    ACCURACY,
    Measure(
        "auroc2",
        "AUROC2",
        "Whose confidence tells its right from its wrong answers?",
        "probability (more is better; 0.5 is chance)",
        chance=("auroc2", 0.5),
    ),
    Measure(
        "aurc",
        "AURC",
        "Which is wrong least often when the least confident answers are withheld?",
        "mean share wrong (less is better)",
    ),
    Measure(
        "ece_debiased",
        "Debiased ECE",
        "Whose stated confidence is nearest to how often it is right?",
        "probability (less is better)",
    ),
    Measure(
        "brier",
        "Brier score",
        "Whose confidence, answer by answer, is nearest to what happens?",
        "squared probability (less is better)",
    ),
)
OF_COUNTS = (
    Measure("share_right", "Accuracy", ACCURACY.question, ACCURACY.axis),
    Measure("dprime", "d′", "Which tells the stimuli apart best?", "SD (more is better)"),
    OF_TRIALS[1],
    Measure(
        "m_ratio",
        "M-ratio",
        "Whose confidence uses most of what its answers use?",
        "meta-d′/d′ (more is better)",
        chance=("dprime", 0.0),
        needs_chance=True,
    ),
    Measure(
        "rmi",
        "RMI",
        "Whose ratings add most information, for its accuracy?",
        "share of the possible (more is better)",
    ),
)
