"""Questions about people that a study can be planned for, each as one model card answers it.

No array is needed for that, so that the command line starts without NumPy.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["QUESTIONS", "AskedQuestion", "Question"]

AskedQuestion = Literal["mean", "difference", "tasks", "correlation", "slope"]


@dataclass(frozen=True)
class Question:
    """A question about people.

    Parameters
    ----------
    card : str
        Model that is fitted.
    judged : str
        What is judged, in words.
    term : str
        Term of the formula of log M whose coefficient is judged, of two levels the first less the
        second; empty for the correlation of its effects.
    groups, tasks : int
        Groups of people, and tasks of each person.
    fewest : int
        People without whom there is no answer.
    has_effect : bool
        Whether the truth is an effect; else it is log M itself.
    """

    card: str
    judged: str
    term: str = ""
    groups: int = 1
    tasks: int = 1
    fewest: int = 2
    has_effect: bool = True


QUESTIONS: dict[AskedQuestion, Question] = {
    "mean": Question("group", "mean of log M", "Intercept", has_effect=False),
    "difference": Question(
        "group_comparison", "difference in log M between two groups", "group", groups=2, fewest=4
    ),
    "tasks": Question("multitask", "difference in log M between two tasks", "task", tasks=2),
    "correlation": Question(
        "multitask", "correlation of log M between two tasks", tasks=2, fewest=3
    ),
    "slope": Question(
        "regression", "slope of log M, for each SD of the covariate", "scale(covariate)", fewest=3
    ),
}
