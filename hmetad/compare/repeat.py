"""The same decisions on other fits, to see whether another choice changes a verdict.

Decisions and fits by name → Decisions by name. The comparison and the rule are read from the
first decisions, so that they cannot differ by mistake.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.compare.contrasts import contrast
from hmetad.compare.decisions import Decisions, IntervalKind, decide
from hmetad.compare.quantities import Draws, one_variable
from hmetad.errors import InputError
from hmetad.untrusted import parse_json, read_attr

__all__ = ["repeat_decisions"]


@check_inputs()
def repeat_decisions(
    decisions: Decisions, fits: Mapping[str, Draws | Mapping[str, Draws]]
) -> dict[str, Decisions]:
    """Make decisions again on other fits of the same cells.

    Parameters
    ----------
    decisions : Decisions
        What `decide` returned for a contrast, or for a quantity of each cell or coefficient.
    fits : mapping of str to DataTree, Dataset or DataArray
        Fits by the choice that they differ in, such as `sensitivity` returns; or their draws in
        the form that the first decisions came from: `predict` of each, or, where separate fits
        were compared, a mapping of fits for each.

    Returns
    -------
    dict of str to Decisions
        Of the same quantity, pairs, ROPE, null, interval and number of comparisons, ready for
        ``fit_report(sensitivity=...)``.

    Raises
    ------
    InputError
        If the decisions are not of draws, or a fit lacks the quantity or one of the pairs.

    Examples
    --------
    >>> log_m = xr.DataArray(
    ...     np.random.default_rng(1).normal([0.5, 0.1], 0.1, (2, 500, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
    ...     name="log_m",
    ... )
    >>> decisions = decide(contrast(log_m, over="model"), rope=(-0.05, 0.05))
    >>> again = repeat_decisions(decisions, {"other": log_m / 4})
    >>> decisions.results["verdict"].item(), again["other"].results["verdict"].item()
    ('different', 'inconclusive')
    """
    if decisions.ci_kind == "normal":
        step = "Call decide_normal with the other estimates."
        raise InputError("decisions", "those of estimates and errors", "those of draws", step)
    return {name: repeat_on(decisions, fit, name) for name, fit in fits.items()}


def repeat_on(decisions: Decisions, fit: Draws | Mapping[str, Draws], name: str) -> Decisions:
    """The decisions, made on one fit."""
    results = decisions.results
    dim = str(next(iter(results.dims)))
    draws = contrast_again(decisions, fit) if "over" in results.attrs else as_judged(decisions, fit)
    if dim in draws.dims:
        lacking = [x for x in results[dim].values.tolist() if x not in draws[dim].values.tolist()]
        if lacking:
            allowed = "fits with all that was judged"
            raise InputError("fits", f"{name!r} without {lacking[0]!r}", allowed)
        draws = draws.sel({dim: results[dim].values})
    kind: IntervalKind = "hdi" if decisions.ci_kind == "hdi" else "eti"
    return decide(
        draws,
        rope=decisions.rope,
        null=decisions.null,
        ci_prob=decisions.ci_prob,
        ci_kind=kind,
        comparisons=decisions.comparisons,
    )


def contrast_again(decisions: Decisions, fit: Draws | Mapping[str, Draws]) -> xr.DataArray:
    """Contrasts of a fit, formed as those that were judged."""
    results, said = decisions.results, decisions.results.attrs
    matrix = recorded_matrix(said["matrix"]) if "matrix" in said else None
    return contrast(
        fit,
        var=None if isinstance(fit, xr.DataArray) else said["quantity"],
        over=said["over"],
        within=[name for name in said["within"].split(", ") if name],
        against=reference_level(results) if matrix is None else None,
        matrix=matrix,
        kind=said["kind"],
        pool=[name for name in said.get("pool", "").split(", ") if name],
        weights=recorded_weights(said),
        independent=said["pairing"] == "independent",
    )


def recorded_weights(said: Mapping[Any, Any]) -> str | dict[str, float]:
    """Weights of pooled levels as they were used."""
    if "pool_weights" not in said:
        return "equal"
    return dict(read_attr(said, "pool_weights"))


def recorded_matrix(text: str) -> pd.DataFrame:
    """Weights of contrasts, with names as they were: "01" is no number, "2020-01" no date."""
    return pd.DataFrame(**parse_json(text, "attrs['matrix']"))


def reference_level(results: xr.Dataset) -> str | float | bool | None:
    """Level that all others were compared with; None where it was each with each."""
    right = np.unique(results["right"].values)
    is_one = len(right) == 1 and right[0] not in results["left"].values
    return right[0].item() if is_one else None


def as_judged(decisions: Decisions, fit: Draws | Mapping[str, Draws]) -> xr.DataArray:
    """Draws of a quantity that was judged as it is."""
    if not isinstance(fit, xr.DataTree | xr.Dataset | xr.DataArray):
        raise InputError("fits", "several fits under a name", "one, as was judged")
    return one_variable(fit, None if isinstance(fit, xr.DataArray) else decisions.quantity)
