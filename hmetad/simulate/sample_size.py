"""How many trials, or people, reach a goal, read off a plan.

Dataset of `plan_trials` or `plan_groups` and what is wanted → number of trials, or of people.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import open_probability
from hmetad.errors import InputError
from hmetad.simulate.plan import VERDICTS

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
    >>> from hmetad.simulate.plan import plan_trials
    >>> plan = plan_trials(trials=[100, 400, 1600], m_ratio=1.0, n=200, seed=1)
    >>> 450 < trials_needed(plan, half_width=0.3) < 550
    True
    """
    goal, wanted, size, reached = read_goal(plan, "trials", probability, verdict, half_width)
    needed = size_reaching(goal, wanted, size, reached)
    if np.isnan(needed):
        got = f"{wanted:g}, which {size[-1]:.0f} trials miss ({reached[-1]:.3g})"
        step = "Plan with larger numbers of trials, or more subjects."
        raise InputError(goal, got, "what the largest number of the plan reaches", step)
    return int(needed)


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
    goal, wanted, size, reached = read_goal(plan, "subjects", probability, verdict, half_width)
    found = [size_reaching(goal, wanted, size, column) for column in reached.T]
    return xr.DataArray(
        np.array(found, dtype=float), {"trials": plan["trials"]}, name="subjects_needed"
    )


def read_goal(
    plan: xr.Dataset,
    over: str,
    probability: float | None,
    verdict: str | None,
    half_width: float | None,
) -> tuple[str, float, Floats, Floats]:
    """Name of the goal, what is wanted, and sizes in their order with what each reaches."""
    if "trials" not in plan.dims or ("subjects" in plan.dims) != (over == "subjects"):
        made_by = {"trials": "plan_trials", "subjects": "plan_groups"}
        other = "subjects_needed" if over == "trials" else "trials_needed"
        got = f"a Dataset with dims {', '.join(map(str, plan.dims)) or 'none'}"
        step = f"Of the other plan: {other}."
        raise InputError("plan", got, f"what {made_by[over]} returned", step)
    if (probability is None) == (half_width is None):
        got = "neither" if probability is None else "both"
        raise InputError("probability, half_width", got, "one of the two")
    if half_width is not None:
        if not half_width > 0:
            raise InputError("half_width", repr(half_width), "a number above 0")
        goal, wanted, reached = "half_width", half_width, plan["half_width"]
    else:
        goal, wanted = "probability", open_probability("probability", probability)
        if "probability" not in plan:
            raise InputError("plan", "one without a ROPE", "one with `probability`", "Give a rope.")
        judged = plan.attrs["truth"] if verdict is None else verdict
        if judged not in VERDICTS[:2]:
            raise InputError("verdict", repr(judged), "'different' or 'negligible'")
        reached = plan["probability"].sel(verdict=judged)
    size = plan[over].to_numpy()
    order = np.argsort(np.log(size))
    return goal, wanted, size[order], reached.to_numpy()[order]


def size_reaching(goal: str, wanted: float, size: Floats, reached: Floats) -> float:
    """Size at which a curve first reaches what is wanted, NaN where it does not."""
    if goal == "half_width":
        wanted, reached = float(-np.log(wanted)), -np.log(reached)
    enough = np.flatnonzero(reached >= wanted)
    if not len(enough):
        return np.nan
    logs, first = np.log(size), enough[0]
    if first == 0:
        return round(np.exp(logs[0]))
    low, high = reached[first - 1], reached[first]
    # A size at which nothing could be estimated says nothing of the way up.
    part = (wanted - low) / (high - low) if np.isfinite(low) else 1.0
    return float(np.ceil(np.exp(logs[first - 1] + part * (logs[first] - logs[first - 1])) - 1e-6))
