"""How many trials reach a goal, read off a plan.

Dataset of `plan_trials` and what is wanted → number of trials.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import open_probability
from hmetad.errors import InputError
from hmetad.simulate.outcomes import VERDICTS

__all__ = ["trials_needed"]

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
    if (probability is None) == (half_width is None):
        got = "neither" if probability is None else "both"
        raise InputError("probability, half_width", got, "one of the two")
    size = np.log(plan["trials"].to_numpy())
    order = np.argsort(size)
    if half_width is not None:
        name, wanted, reached = "half_width", half_width, plan["half_width"].to_numpy()
        if not half_width > 0:
            raise InputError("half_width", repr(half_width), "a number above 0")
        rising, goal = -np.log(reached), -np.log(half_width)
    else:
        name, wanted = "probability", open_probability("probability", probability)
        reached = probability_of(plan, verdict)
        rising, goal = reached, wanted
    return number_reaching(size[order], rising[order], goal, (name, wanted, reached[order]))


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
