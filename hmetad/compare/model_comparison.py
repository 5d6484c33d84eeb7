"""Which model predicts trials better, in numbers and in words.

Results of `loo` by name → DataFrame, ArviZ's comparison with a column of words.
Source: Vehtari, Gelman & Gabry (2017); Sivula et al. (2025).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import arviz_stats
import pandas as pd
from arviz_stats.utils import ELPDData

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.notice import notices
from hmetad.notice_registry import short_words

__all__ = ["compare_models"]

# Sivula et al.: below this the models predict alike, and the standard error is unreliable.
SMALL_DIFFERENCE = 4
ERRORS = 2


@check_inputs(skip=("results",))
def compare_models(results: Mapping[str, ELPDData], **compare_kwargs: Any) -> pd.DataFrame:
    """Compare models by their predictions of trials that they have not seen.

    Parameters
    ----------
    results : mapping of str to ELPDData
        What `hmetad.loo` returned for each model, all fitted to one count table:
        ``{"equal variance": loo(fit1), "unequal variance": loo(fit2)}``.
    **compare_kwargs
        Passed on to `arviz.compare`: method, reference, round_to.

    Returns
    -------
    DataFrame
        A row per model, the best first, as `arviz.compare` returns it, unrounded: rank,
        elpd_diff (to the best) and its standard error dse, p_worse, diag_diff, diag_elpd, p,
        elpd, se, weight; and in_words.

    Raises
    ------
    InputError
        If fits come in place of results, there is one model, or trials differ in number.

    Notes
    -----
    In words: a difference of elpd below 4 is small whatever its standard error; a larger one
    counts if it is more than 2 standard errors. Results with high Pareto k, and those of fits with
    divergences, R̂ above 1.01 or few effective draws, are named as unreliable.

    Examples
    --------
    >>> import arviz as az
    >>> import numpy as np
    >>> log_p = np.random.default_rng(1).normal(-1.5, 0.01, (4, 100, 200))
    >>> groups = {"posterior": {"d": log_p[..., 0]}, "log_likelihood": {"y": log_p}}
    >>> one = az.loo(az.from_dict(groups), pointwise=True)
    >>> two = az.loo(az.from_dict({**groups, "log_likelihood": {"y": log_p - 0.1}}), pointwise=True)
    >>> compare_models({"one": one, "two": two})["in_words"].tolist()
    ['predicts best', 'predicts worse: by 20.0, 2 SE are 0.0']
    """
    check_results(results)
    table = arviz_stats.compare(dict(results), **{"round_to": "none", **compare_kwargs})
    reference = table["elpd_diff"] == 0
    words = [
        in_words(row, bool(reference[name]), doubts_of(row, results[name]))
        for name, row in table.iterrows()
    ]
    return table.assign(in_words=words)


def check_results(results: Mapping[str, ELPDData]) -> None:
    """Refuse fits, a single model, and results on different numbers of trials."""
    if not isinstance(results, Mapping) or len(results) < 2:
        got = f"{len(results)} models" if isinstance(results, Mapping) else type(results).__name__
        raise InputError("results", got, "a mapping of two names or more to results of loo")
    for name, result in results.items():
        if not isinstance(result, ELPDData):
            step = f"Pass {{{name!r}: hmetad.loo(fit), ...}}."
            raise InputError("results", f"{type(result).__name__} for {name!r}", "ELPDData", step)
    trials = {name: result.n_data_points for name, result in results.items()}
    if len(set(trials.values())) > 1:
        step = "Models are compared on the same data: fit them to one count table."
        raise InputError("results", f"numbers of trials {trials}", "one number", step)


def doubts_of(row: pd.Series, result: ELPDData) -> list[str]:
    """Why an estimate is not to be relied on: Pareto k, or a fit that was sampled badly."""
    said = [] if result.elpd_i is None else notices(result.elpd_i)
    sampled = list(dict.fromkeys(short_words(notice.code) for notice in said))
    own = [f"its fit: {', '.join(sampled)}"] if sampled else []
    return [*([str(row["diag_elpd"])] if row["diag_elpd"] else []), *own]


def in_words(row: pd.Series, is_reference: bool, doubts: Sequence[str]) -> str:
    """Row of a model in words."""
    margin = ERRORS * row["dse"]
    size = abs(row["elpd_diff"])
    if is_reference:
        said = "predicts best" if row["rank"] == 0 else "the reference"
    elif size < SMALL_DIFFERENCE:
        said = f"predicts as well: the difference, {size:.1f}, is below {SMALL_DIFFERENCE}"
    elif size <= margin:
        said = f"not told apart: the difference, {size:.1f}, is within 2 SE, {margin:.1f}"
    else:
        word = "worse" if row["elpd_diff"] < 0 else "better"
        said = f"predicts {word}: by {size:.1f}, 2 SE are {margin:.1f}"
    if doubts:
        said += f"; not to be relied on ({'; '.join(doubts)})"
    return said
