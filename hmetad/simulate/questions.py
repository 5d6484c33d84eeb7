"""Questions about people that a study can answer, and where the answer stands in a fit.

Name of a question → record: model card, what is judged, draws of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import xarray as xr

__all__ = ["QUESTIONS", "Question"]


@dataclass(frozen=True)
class Question:
    """A question about people, as one model card answers it.

    Parameters
    ----------
    card : str
        Model that is fitted.
    judged : str
        What is judged, in words.
    draws : callable
        Posterior → its draws, dims (chain, draw).
    groups, tasks : int
        Groups of people, and tasks of each person.
    fewest : int
        People without whom there is no answer.
    has_effect : bool
        Whether the truth is an effect; else it is log M itself.
    """

    card: str
    judged: str
    draws: Callable[[xr.Dataset], xr.DataArray]
    groups: int = 1
    tasks: int = 1
    fewest: int = 2
    has_effect: bool = True


def first_less_second(posterior: xr.Dataset, name: str) -> xr.DataArray:
    """Difference of the two levels of a coefficient."""
    values = posterior[name].transpose("chain", "draw", ...)
    return values[..., 0] - values[..., 1]


QUESTIONS: Mapping[str, Question] = {
    "mean": Question(
        "group", "mean of log M", lambda posterior: posterior["log_m_Intercept"], has_effect=False
    ),
    "difference": Question(
        "group_comparison",
        "difference in log M between two groups",
        lambda posterior: first_less_second(posterior, "log_m_group"),
        groups=2,
        fewest=4,
    ),
    "tasks": Question(
        "multitask",
        "difference in log M between two tasks",
        lambda posterior: first_less_second(posterior, "log_m_task"),
        tasks=2,
    ),
    "correlation": Question(
        "multitask",
        "correlation of log M between two tasks",
        lambda posterior: posterior["log_m_task|subject_corr"].transpose("chain", "draw", ...)[
            ..., 0, 1
        ],
        tasks=2,
        fewest=3,
    ),
    "slope": Question(
        "regression",
        "slope of log M, for each SD of the covariate",
        lambda posterior: posterior["log_m_scale(covariate)"],
        fewest=3,
    ),
}
