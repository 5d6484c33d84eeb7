"""How many trials, or people, reach a goal, read off a plan.

Dataset of `plan_trials` or `plan_groups` and what is wanted → number of trials, or of people.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import open_probability
from hmetad.errors import InputError
from hmetad.simulate.outcomes import VERDICTS

__all__ = ["subjects_needed", "trials_needed"]

type Floats = NDArray[np.float64]


@check_inputs()
def trials_needed(
    plan: xr.Dataset,
    *,
    probability: float | None = None,
    verdict: str | None = None,
    half_width: float | None = None,
) -> int:
    """Trials of a cell with which a study decides as often, or measures as precisely, as wanted.

    Parameters
    ----------
    plan : Dataset
        What `plan_trials` returned.
    probability : float, optional
        Wanted probability of the verdict.
    verdict : {"different", "negligible"}, optional
        By default the true one.
    half_width : float, optional
        Wanted half-width of the interval, in place of `probability`.

    Returns
    -------
    int
        Interpolated on the logarithm of the number of trials (of a half-width, on both
        logarithms), where the plan first reaches what is wanted; the first number of the plan,
        where that suffices.

    Raises
    ------
    InputError
        If not one of `probability` and `half_width` is given, the plan has no ROPE, or none of its
        numbers of trials suffices.

    Examples
    --------
    >>> from hmetad.simulate.power import plan_trials
    >>> plan = plan_trials(trials=[100, 400, 1600], m_ratio=1.0, n=200, seed=1)
    >>> 450 < trials_needed(plan, half_width=0.3) < 550
    True
    """
    refuse_other_plan(plan, "trials")
    name, wanted, reached, rising, goal = goal_of(plan, probability, verdict, half_width)
    size = np.log(plan["trials"].to_numpy())
    order = np.argsort(size)
    return number_reaching(size[order], rising[order], goal, (name, wanted, reached[order]))


@check_inputs()
def subjects_needed(
    plan: xr.Dataset,
    *,
    probability: float | None = None,
    verdict: str | None = None,
    half_width: float | None = None,
) -> xr.DataArray:
    """People with whom a study decides as often, or measures as precisely, as wanted.

    Parameters
    ----------
    plan : Dataset
        What `plan_groups` returned.
    probability : float, optional
        Wanted probability of the verdict.
    verdict : {"different", "negligible"}, optional
        By default the true one.
    half_width : float, optional
        Wanted half-width of the interval, in place of `probability`.

    Returns
    -------
    DataArray
        Dim trials: people of a study, in all its groups. Interpolated as in `trials_needed`
        where the plan first reaches what is wanted; NaN where none of its numbers of people does.

    Raises
    ------
    InputError
        If not one of `probability` and `half_width` is given, or the plan has no ROPE.

    Examples
    --------
    >>> share = [[[0.1, 0.0, 0.9, 0.0]], [[0.9, 0.0, 0.1, 0.0]]]
    >>> plan = xr.Dataset(
    ...     {"probability": (("subjects", "trials", "verdict"), share)},
    ...     {"subjects": [20, 80], "trials": [200], "verdict": list(VERDICTS)},
    ...     {"truth": "different"},
    ... )
    >>> subjects_needed(plan, probability=0.5).values.tolist()
    [40.0]
    """
    refuse_other_plan(plan, "subjects")
    name, wanted, reached, rising, goal = goal_of(plan, probability, verdict, half_width)
    size = np.log(plan["subjects"].to_numpy())
    order = np.argsort(size)
    found = []
    for i in range(plan.sizes["trials"]):
        said = (name, wanted, reached[order, i])
        is_reached = bool((rising[order, i] >= goal).any())
        column = rising[order, i]
        found.append(number_reaching(size[order], column, goal, said) if is_reached else np.nan)
    return xr.DataArray(
        np.array(found, dtype=float), {"trials": plan["trials"]}, name="subjects_needed"
    )


def refuse_other_plan(plan: xr.Dataset, over: str) -> None:
    """Refuse a plan of other sizes, and what is no plan."""
    has_people = "subjects" in plan.dims
    if "trials" not in plan.dims or has_people != (over == "subjects"):
        function, other = "plan_trials", "subjects_needed"
        if over == "subjects":
            function, other = "plan_groups", "trials_needed"
        got = f"a Dataset with dims {', '.join(map(str, plan.dims)) or 'none'}"
        step = f"Of the other plan: {other}."
        raise InputError("plan", got, f"what {function} returned", step)


def goal_of(
    plan: xr.Dataset, probability: float | None, verdict: str | None, half_width: float | None
) -> tuple[str, float, Floats, Floats, float]:
    """Name of the goal, what is wanted and reached, and both as they rise with the size."""
    if (probability is None) == (half_width is None):
        got = "neither" if probability is None else "both"
        raise InputError("probability, half_width", got, "one of the two")
    if half_width is not None:
        if not half_width > 0:
            raise InputError("half_width", repr(half_width), "a number above 0")
        reached = plan["half_width"].to_numpy()
        return "half_width", half_width, reached, -np.log(reached), float(-np.log(half_width))
    wanted = open_probability("probability", probability)
    reached = probability_of(plan, verdict)
    return "probability", wanted, reached, reached, wanted


def probability_of(plan: xr.Dataset, verdict: str | None) -> Floats:
    """Probability of a verdict, the true one by default, at each number of trials."""
    if "probability" not in plan:
        raise InputError("plan", "one without a ROPE", "one with `probability`", "Give a rope.")
    wanted = plan.attrs["truth"] if verdict is None else verdict
    if wanted not in VERDICTS[:2]:
        raise InputError("verdict", repr(wanted), "'different' or 'negligible'")
    return plan["probability"].sel(verdict=wanted).to_numpy()


def number_reaching(
    size: Floats, rising: Floats, goal: float, said: tuple[str, float, Floats]
) -> int:
    """Number of trials at which a curve first reaches the goal."""
    enough = np.flatnonzero(rising >= goal)
    if not len(enough):
        name, wanted, reached = said
        got = f"{wanted:g}, which {np.exp(size[-1]):.0f} trials miss ({reached[-1]:.3g})"
        step = "Plan with larger numbers of trials, or more subjects."
        raise InputError(name, got, "what the largest number of the plan reaches", step)
    first = enough[0]
    if first == 0:
        return round(np.exp(size[0]))
    low, high = rising[first - 1], rising[first]
    # A size at which nothing could be estimated says nothing of the way up.
    part = (goal - low) / (high - low) if np.isfinite(low) else 1.0
    return int(np.ceil(np.exp(size[first - 1] + part * (size[first] - size[first - 1])) - 1e-6))
