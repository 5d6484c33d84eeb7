"""Published sets of people: the population of each, by one fit of the same model.

Name of a public data set → records of its populations (one for each task, condition or group), with
M, what goes with it, and how well it was found; many sets → a data frame, resumable.
"""

import json
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_submit
from hmetad.base.errors import ChoiceError, InputError
from hmetad.base.files import write_together
from hmetad.base.notice import notices
from hmetad.base.threads import in_order_of_end
from hmetad.bayes.fit import fit
from hmetad.datasets import load, registry
from hmetad.measures.agreement import split_half
from hmetad.measures.type2 import auroc2
from hmetad.mle.meta_d import fit_mle
from hmetad.report.contents.estimates import convergence_record

__all__ = ["describe_set", "populations_of", "survey"]

# What tells people of a set apart, rather than populations.
SUBJECT = "subject"
FEWEST_PEOPLE = 5
SPLITS = 20
# What a page groups populations by, of the record of a set.
KNOWN = ("domain", "difficulty", "below_guessing")


def describe_set(name: str, seed: int = 1, folder: str | None = None) -> list[dict[str, Any]]:
    """Records of the populations of a set, or one record with why there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            counts = load(name, folder=folder)
        except InputError as error:
            return [{"set": name, "population": "", "excluded": str(error)}]
    record = registry()[name].get("record", {})
    known = {key: record[key] for key in KNOWN if key in record}
    known |= {"continuous": "quantiles" in record, "remarks": " ".join(remarks_of(caught))}
    return [
        {"set": name, "population": label, **known, **describe_population(part, seed)}
        for label, part in populations_of(counts)
    ]


def remarks_of(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Warnings in words, each once."""
    return list(dict.fromkeys(str(one.message) for one in caught))


def populations_of(counts: xr.DataArray) -> Iterator[tuple[str, xr.DataArray]]:
    """Cells of each task, condition or group of a table, under its name ("" where it is one)."""
    names = [str(name) for name in counts.coords if counts[name].dims == ("cell",)]
    apart = [name for name in names if name not in ("cell", SUBJECT)]
    if not apart:
        yield "", counts
        return
    parts = [[f"{name} {value}" for value in counts[name].values] for name in apart]
    labels = np.array([", ".join(row) for row in zip(*parts, strict=True)])
    for label in np.unique(labels):
        yield str(label), counts.isel(cell=labels == label).drop_vars(apart)


def describe_population(counts: xr.DataArray, seed: int) -> dict[str, Any]:
    """Numbers of people and trials, M and its like, and how well chains converged."""
    started = time.perf_counter()
    people = counts.sizes["cell"]
    size = {"people": people, "trials": int(counts.sum()), "ratings": counts.sizes["rating"]}
    if people < FEWEST_PEOPLE:
        return size | {"excluded": f"people: {people}, of {FEWEST_PEOPLE} that are needed"}
    try:
        fitted = fit(counts, "group", random_seed=seed, progressbar=False, quiet=True)
    except InputError as error:
        return size | {"excluded": str(error)}
    return {
        **size,
        **of_posterior(fitted["posterior"].to_dataset()),
        **of_people(counts, seed),
        **of_convergence(fitted),
        "seconds": time.perf_counter() - started,
    }


def of_posterior(posterior: xr.Dataset) -> dict[str, float]:
    """Medians and 95 % intervals of the population: median M, SD of log M, d′, c, reliability."""
    log_m, sd = posterior["log_m_Intercept"], posterior[f"log_m_1|{SUBJECT}_sigma"]
    found: dict[str, xr.DataArray] = {
        "log_m": log_m,
        "m_ratio": xr.DataArray(np.exp(log_m)),
        "log_m_sd": sd,
        "dprime": posterior["dprime_Intercept"],
        "dprime_sd": posterior[f"dprime_1|{SUBJECT}_sigma"],
        "c": posterior["c_Intercept"],
        "c_sd": posterior[f"c_1|{SUBJECT}_sigma"],
    }
    rows: dict[str, float] = {}
    for name, draws in found.items():
        middle, lower, upper = np.quantile(draws.to_numpy(), [0.5, 0.025, 0.975])
        rows |= {name: float(middle), f"{name}_lower": float(lower), f"{name}_upper": float(upper)}
    effects = posterior[f"log_m_1|{SUBJECT}"]
    # Variance of people's posterior means, of all that is between and within people.
    between, within = effects.mean(("chain", "draw")).var(), effects.var(("chain", "draw")).mean()
    reliability = float(between / (between + within))
    return rows | {"log_m_error": float(log_m.std()), "m_reliability": reliability}


def of_people(counts: xr.DataArray, seed: int) -> dict[str, float]:
    """AUROC2 and its split-half reliability, and maximum likelihood, over people."""
    found = fit_mle(counts)["m_ratio"]
    m_ratio = found.values[np.isfinite(found.values)]
    area = auroc2(counts)
    halves = split_half(counts, auroc2, n=SPLITS, seed=seed)
    return {
        "auroc2": float(area.mean()),
        "auroc2_sd": float(area.std(ddof=1)),
        "auroc2_reliability": float(halves["reliability"].squeeze()),
        "m_ratio_ml": float(np.median(m_ratio)) if m_ratio.size else math.nan,
        "not_positive": float((m_ratio <= 0).mean()) if m_ratio.size else math.nan,
        "no_estimate": float(1 - m_ratio.size / counts.sizes["cell"]),
    }


def of_convergence(fitted: xr.DataTree) -> dict[str, Any]:
    """Diagnostics, and codes of what is wrong with the draws ("" where nothing is)."""
    wrong = {one.code for one in notices(fitted) if one.severity == "error"}
    failed = sorted(wrong & {"divergences", "ess", "one-chain", "rhat"})
    return {**convergence_record(fitted), "failed": ", ".join(failed)}


@check_inputs(executor=with_submit)
def survey(
    sets: Sequence[str],
    folder: str | Path,
    *,
    seed: int = 1,
    resume: bool = False,
    executor: Any = None,
    progress: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Populations of published sets, each found by the card `group` with its defaults.

    Parameters
    ----------
    sets : sequence of str
        Names of `hmetad.datasets.datasets`.
    folder : str or Path
        Where what was found of a set is kept as soon as it is, in ``sets/NAME.json``.
    seed : int, optional
        Of every fit.
    resume : bool, optional
        Whether sets of which the folder has results, of this seed and version, are left as they
        are.
    executor : optional
        Something with ``submit``, as of `concurrent.futures` or a Dask client, to which each set
        goes; without it sets are fitted here, one after the other.
    progress : callable, optional
        Given a line on each set when it is done.

    Returns
    -------
    DataFrame
        One row per population, in the order of the sets: ``set``, ``population``, what is known of
        the design, ``people``, ``trials``, ``ratings``; median ``m_ratio`` and the SD of log M
        (``log_m_sd``), ``dprime``, ``c`` and their SDs over people, each with ``_lower`` and
        ``_upper`` of 95 %; ``m_reliability``, the share of the variance of log M between people in
        what a fit says of them; ``auroc2``, its SD and split-half reliability; ``m_ratio_ml``, the
        median of estimates by maximum likelihood, and the shares of people in whom it is not
        positive and in whom there is none; diagnostics of the chains; ``excluded``, why there is no
        fit.

    Raises
    ------
    InputError
        If the folder has results and `resume` is false, or a worker ended.
    """
    place = Path(folder) / "sets"
    made = {"seed": seed, "version": version("hmetad")}
    if not resume and any(place.glob("*.json")):
        ways = ("resume=True", "--resume")
        steps = (f"Continue from them with {way}, or name another folder." for way in ways)
        raise ChoiceError("folder", f"{place} with results", "a folder without", *steps)
    kept = {name: read_rows(place / f"{name}.json", made) for name in sets}
    missing = [name for name in sets if kept[name] is None]
    work = partial(describe_set, seed=seed)
    with closing(in_order_of_end(work, missing, executor)) as ended:
        for number, rows in ended:
            name = missing[number]
            kept[name] = rows
            text = json.dumps({"made": made, "rows": rows}, indent=1)
            write_together({place / f"{name}.json": text})
            if progress is not None:
                progress(f"{name}: {len(rows)} population{'s' * (len(rows) != 1)}")
    return pd.DataFrame([row for name in sets for row in kept[name] or ()])


def read_rows(path: Path, made: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Rows of a set that a run with the same settings left; None if there are none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("made") != made:
        return None
    rows: list[dict[str, Any]] = found["rows"]
    return rows
