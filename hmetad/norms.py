"""What is usual: published populations of people, and language models, and where a value lies.

Quantity of a population, or of a language model → share of published ones below it; domain or kind
of design → quantiles of what is usual there. ``benchmarks/confidence_database.py`` made the table
``norms.csv``, and ``hmetad reproduce atlas2026`` made ``norms_language_models.csv``; their first
lines give the date and the version.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike
from scipy.stats import t

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, SourceError, UnknownError, nearest

__all__ = [
    *("describe", "describe_measures", "language_models", "populations", "share_below", "usual"),
]

type Among = Literal["people", "language_models"]

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
# The same of language models.
OF_MODELS = {
    "accuracy": "accuracy",
    "auroc2": "AUROC2",
    "ece_debiased": "debiased ECE",
    "dprime": "d′",
    "m_ratio": "M",
}
# Those that are said of measures.
MEASURED = ("auroc2", "ece_debiased", "m_ratio")


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
        ``_lower`` and ``_upper`` of 95 %), ``log_m_sd``, ``dprime`` and the like. Where confidence
        is ``continuous`` it was cut by the quantiles of each participant, which makes the SD of
        log M too small: ``log_m_sd`` and ``m_reliability`` are missing.

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
    found = shipped("norms.csv")
    for name, value in (("domain", domain), ("difficulty", difficulty)):
        known = sorted(set(found[name].dropna()))
        if value is not None and value not in known:
            raise UnknownError(name, repr(value), ", ".join(known), nearest(value, known))
        found = found if value is None else found[found[name] == value]
    if found.empty:
        raise ChoiceError("domain", f"{domain!r} with {difficulty!r}", "a pair that some set has")
    return found.reset_index(drop=True)


def language_models() -> pd.DataFrame:
    """Language models, each on up to 1,500 questions of MMLU with four options.

    Confidence is what a model said beside its answer. Data of Cacioli (2026), arXiv:2605.06673.

    Returns
    -------
    DataFrame
        One row per model: ``model``, ``trials``, ``accuracy``, ``auroc2`` with ``_lower`` and
        ``_upper`` of 95 %, ``ece_debiased``, and by the card `alternatives` ``dprime`` and
        ``m_ratio`` with its interval, which are missing where the interval is wider than 1.

    Examples
    --------
    >>> found = language_models()
    >>> len(found), bool(found["auroc2"].between(0.4, 1).all())
    (33, True)
    """
    return shipped("norms_language_models.csv").copy()


@cache
def shipped(name: str) -> pd.DataFrame:
    """A table of the package."""
    with files("hmetad").joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#")


def quantities_of(among: Among) -> dict[str, str]:
    """Quantities with norms, and what they are called in a sentence."""
    return QUANTITIES if among == "people" else OF_MODELS


def published(quantity: str, among: Among, kind: dict[str, Any]) -> pd.Series:
    """Values of a quantity that are known."""
    known = quantities_of(among)
    if quantity not in known:
        raise UnknownError("quantity", repr(quantity), ", ".join(known), nearest(quantity, known))
    if among == "people":
        values = populations(**kind)[quantity].dropna()
        if values.empty:
            got = repr(kind.get("domain"))
            raise ChoiceError("domain", got, f"one of a population with a known {quantity}")
        return values
    for name, value in kind.items():
        if value is not None:
            raise ChoiceError(name, f"{value!r} among language models", "none")
    return language_models()[quantity].dropna()


@check_inputs(skip=("values",))
def share_below(
    values: ArrayLike, quantity: str = "m_ratio", *, among: Among = "people", **kind: Any
) -> Any:
    """Share of published populations, or of language models, that lie below a value.

    Parameters
    ----------
    values : float or array
        Of a population, not of one person, whose values are spread more; or of a language model.
    quantity : str, optional
        ``"m_ratio"``, ``"log_m_sd"``, ``"dprime"``, ``"dprime_sd"``, ``"c_sd"``, ``"auroc2"``,
        ``"auroc2_reliability"``, ``"m_reliability"`` or ``"not_positive"``; of language models
        ``"accuracy"``, ``"auroc2"``, ``"ece_debiased"``, ``"dprime"`` or ``"m_ratio"``.
    among : {"people", "language_models"}, optional
        Published populations of people, or the models of `language_models`.
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
    ordered = np.sort(published(quantity, among, kind).to_numpy())
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


@check_inputs()
def describe(
    value: float,
    lower: float | None = None,
    upper: float | None = None,
    quantity: str = "m_ratio",
    *,
    among: Among = "people",
    **kind: Any,
) -> str:
    """Where a population lies among published ones, or a language model among others.

    Parameters
    ----------
    value : float
        Estimate.
    lower, upper : float, optional
        Ends of its interval.
    quantity, among : str, optional
        As of `share_below`.
    **kind : str
        ``domain`` and ``difficulty``, as of `populations`.

    Returns
    -------
    str
        A sentence: the share of published ones with a lower value, and at both interval ends.

    Examples
    --------
    >>> describe(9.0, 8.0, 10.0).endswith("have a lower M (100 to 100 % over the interval).")
    True
    >>> describe(0.99, quantity="auroc2", among="language_models")
    'AUROC2 0.99: 100 % of 33 language models on questions of MMLU have a lower AUROC2.'
    """
    number, domain = len(published(quantity, among, kind)), kind.get("domain") or ""
    of = " ".join(["published", *([domain] if domain else []), "populations"])
    of = of if among == "people" else "language models on questions of MMLU"
    numbers = [value] if lower is None or upper is None else [value, lower, upper]
    below = [f"{100 * x:.0f}" for x in share_below(numbers, quantity, among=among, **kind)]
    name = quantities_of(among)[quantity]
    said, reach = f"{name} {value:.2f}", ""
    if len(numbers) > 1:
        said = f"{said} [{lower:.2f}, {upper:.2f}]"
        reach = f" ({below[1]} to {below[2]} % over the interval)"
    better = ", which is better" if quantity == "ece_debiased" else ""
    return f"{said}: {below[0]} % of {number} {of} have a lower {name}{reach}{better}."


@check_inputs()
def describe_measures(measures: xr.Dataset, *, among: Among) -> list[str]:
    """Where what was measured lies: the mean of people, or each language model.

    Parameters
    ----------
    measures : Dataset
        Of `measure`, `measure_trials` or the intervals of either, by cell: people of one
        population, or language models.
    among : {"people", "language_models"}

    Returns
    -------
    list of str
        Of people a sentence on their mean AUROC2, with the 95 % interval of its t-test; of
        language models one for each of AUROC2, debiased ECE and M that was measured, by cell.

    Raises
    ------
    InputError
        If the measures have no AUROC2 by cell.

    Examples
    --------
    >>> describe_measures(xr.Dataset({"auroc2": ("cell", [0.6, 0.7, 0.8])}), among="people")[0][:30]
    'Mean AUROC2 0.70 [0.45, 0.95]:'
    """
    if "auroc2" not in measures or "cell" not in measures["auroc2"].dims:
        raise SourceError("measures", "none with auroc2 by cell", "what measure returned")
    if among == "people":
        areas = measures["auroc2"]
        areas = areas.sel(summary="estimate") if "summary" in areas.dims else areas
        areas = areas.dropna("cell")
        number, mean = areas.sizes["cell"], float(areas.mean())
        if number < 2:
            return []
        reach = t.isf(0.025, number - 1) * float(areas.std(ddof=1)) / np.sqrt(number)
        return [f"Mean {describe(mean, mean - reach, mean + reach, 'auroc2')}"]
    sentences = []
    known = [name for name in MEASURED if name in measures]
    for cell, name in product(measures["cell"].values, known):
        own = measures.sel(cell=cell)
        if "summary" in own[name].dims:
            value, *ends = own[name].sel(summary=["estimate", "lower", "upper"]).values.tolist()
        else:
            value = own[name].item()
            ends = [own[x].item() for x in (f"{name}_lower", f"{name}_upper") if x in own]
        lower, upper = ends or (None, None)
        if np.isfinite([value, *ends]).all():
            sentences.append(f"{cell}: {describe(value, lower, upper, name, among=among)}")
    return sentences
