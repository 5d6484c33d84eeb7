"""What is usual: populations of published data sets, and where a value lies among them.

Quantity of a population → share of published populations below it; domain or kind of design →
quantiles of what is usual there. The table ``norms.csv`` is what ``hmetad reproduce
confidence_database`` finds; its first lines say when and by which version.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from hmetad.arguments import check_inputs
from hmetad.errors import InputError, nearest

__all__ = ["describe", "populations", "share_below", "usual"]

# Quantities with norms, and what they are called in a sentence.
QUANTITIES = {
    "m_ratio": "M",
    "log_m_sd": "SD of log M between people",
    "dprime": "d′",
    "dprime_sd": "SD of d′ between people",
    "c_sd": "SD of c between people",
    "auroc2": "AUROC2",
    "auroc2_reliability": "reliability of AUROC2",
    "m_reliability": "reliability of M",
    "not_positive": "share of people whose M is at or below 0",
}


@check_inputs()
def populations(*, domain: str | None = None, difficulty: str | None = None) -> pd.DataFrame:
    """Published populations, each found by the card `group` with its defaults.

    Parameters
    ----------
    domain : str, optional
        ``"perception"``, ``"memory"``, ... Default: all.
    difficulty : str, optional
        How hard trials were: ``"levels"`` or ``"varied"`` (mixed within people), ``"staircase"`` or
        ``"none"``. Default: all.

    Returns
    -------
    DataFrame
        One row per task, condition or group of a set of the Confidence Database (Rahnev et al.,
        2020) whose fit met the thresholds: ``set``, ``population``, ``domain``, ``difficulty``,
        ``people``, ``trials``, ``ratings``; median M of the population (``m_ratio``, with
        ``_lower`` and ``_upper`` of 95 %), ``log_m_sd``, ``dprime`` and the like.

    Raises
    ------
    InputError
        If no population is of that domain or difficulty.

    Examples
    --------
    >>> found = populations(domain="memory")
    >>> set(found["domain"]), bool((found["m_ratio"] > 0).all())
    ({'memory'}, True)
    """
    found = shipped()
    for name, value in (("domain", domain), ("difficulty", difficulty)):
        known = sorted(set(found[name].dropna()))
        if value is not None and value not in known:
            raise InputError(name, repr(value), ", ".join(known), nearest(value, known))
        found = found if value is None else found[found[name] == value]
    if found.empty:
        raise InputError("domain", f"{domain!r} with {difficulty!r}", "a pair that some set has")
    return found.reset_index(drop=True)


@cache
def shipped() -> pd.DataFrame:
    """The table of the package."""
    with files("hmetad").joinpath("norms.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#")


@check_inputs(skip=("values",))
def share_below(values: ArrayLike, quantity: str = "m_ratio", **kind: Any) -> Any:
    """Share of published populations that lie below a value.

    Parameters
    ----------
    values : float or array
        Of a population: not of one person, whose values are spread more.
    quantity : str, optional
        ``"m_ratio"``, ``"log_m_sd"``, ``"dprime"``, ``"dprime_sd"``, ``"c_sd"``, ``"auroc2"``,
        ``"auroc2_reliability"``, ``"m_reliability"`` or ``"not_positive"``.
    **kind : str
        ``domain`` and ``difficulty``, as of `populations`.

    Returns
    -------
    float or array
        From 0 to 1, in the shape of the values; those that are equal count by half.

    Raises
    ------
    InputError
        If the quantity has no norms, or no population is of that kind.

    Examples
    --------
    >>> bool(share_below(0.2) < 0.1), bool(share_below(3.0) > 0.95)
    (True, True)
    """
    if quantity not in QUANTITIES:
        known = ", ".join(QUANTITIES)
        raise InputError("quantity", repr(quantity), known, nearest(quantity, QUANTITIES))
    ordered = np.sort(populations(**kind)[quantity].dropna().to_numpy())
    given = np.asarray(values, dtype=float)
    places = (np.searchsorted(ordered, given, side) for side in ("left", "right"))
    shares = sum(places) / (2 * len(ordered))
    return np.where(np.isfinite(given), shares, np.nan)[()]


@check_inputs()
def usual(probs: Sequence[float] = (0.1, 0.5, 0.9), **kind: Any) -> pd.DataFrame:
    """Quantiles of what published populations have.

    Parameters
    ----------
    probs : sequence of float, optional
        Probabilities from 0 to 1.
    **kind : str
        ``domain`` and ``difficulty``, as of `populations`.

    Returns
    -------
    DataFrame
        A row per quantity of `share_below`, a column per probability.

    Examples
    --------
    >>> float(usual([0.5]).loc["m_ratio", 0.5]) < float(usual([0.9]).loc["m_ratio", 0.9])
    True
    """
    return populations(**kind)[[*QUANTITIES]].quantile([*probs]).T


def describe(
    value: float, lower: float, upper: float, quantity: str = "m_ratio", **kind: Any
) -> str:
    """Where a population lies among published ones, in a sentence.

    Parameters
    ----------
    value, lower, upper : float
        Estimate of a population, and the ends of its interval.
    quantity : str, optional
        As of `share_below`.
    **kind : str
        ``domain`` and ``difficulty``, as of `populations`.

    Examples
    --------
    >>> describe(9.0, 8.0, 10.0).endswith("published populations 100 % (100 to 100 %) lie below.")
    True
    """
    shares = share_below([value, lower, upper], quantity, **kind)
    below, low, high = (f"{100 * share:.0f}" for share in shares)
    number, domain = len(populations(**kind)), kind.get("domain") or ""
    of = " ".join(["published", *([domain] if domain else []), "populations"])
    return (
        f"{QUANTITIES[quantity]} {value:.2f} [{lower:.2f}, {upper:.2f}]: of {number} {of} "
        f"{below} % ({low} to {high} %) lie below."
    )
