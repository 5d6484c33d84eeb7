"""What is asked of contrasts and of decisions once they are made.

Decisions, two levels and a relation → DataFrame: what intervals show and what they leave open. A
relation with "not", as "not less than", is non-inferiority: the interval does not reach beyond that
end of the ROPE. Draws of superiority → DataFrame of probabilities. Decisions and fits by name → the
same decisions on other fits.
Source: Piaggio et al. (2012) for non-inferiority.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import LevelError, ModelError, RepeatError, SourceError, nearest
from hmetad.base.labels import check_same_names
from hmetad.base.monte_carlo import effective_draws, has_chains, too_undefined, where_defined
from hmetad.base.untrusted import parse_json, read_attr
from hmetad.compare.cells import ONE_FIT, SAMPLE_DIMS, Fits, both_codes, one_variable
from hmetad.compare.contrasts import contrast
from hmetad.compare.decisions import Decisions
from hmetad.compare.verdicts import decide, nearby_intervals

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
Relation = Literal[
    "less than",
    "greater than",
    "different from",
    "not less than",
    "not greater than",
    "not different from",
]
SHOWN = (
    *("label", "mean", "lower", "upper", "rope_lower", "rope_upper", "verdict", "shown"),
    "withheld",
)
# What a contrast the other way round has in the place of each column.
TURNED = {"lower": "upper", "mcse_lower": "mcse_upper", "rope_lower": "rope_upper"}
TURNED |= {end: start for start, end in TURNED.items()}
SIGNED = ["mean", "lower", "upper", "rope_lower", "rope_upper"]


@check_inputs()
def relation_table(
    decisions: Decisions, level: str, relation: Relation, other: str
) -> pd.DataFrame:
    """Whether intervals show that a level stands in a relation to another, contrast by contrast.

    Parameters
    ----------
    decisions : Decisions
        What `decide` returned for contrasts.
    level, other : str
        Levels that are compared, as text.
    relation : str
        "less than", "greater than" and "different from": the interval of the level minus the other
        lies beyond that end of the ROPE, or beyond either. With "not " before it: the interval does
        not reach beyond that end (non-inferiority), or beyond either (equivalence).

    Returns
    -------
    DataFrame
        A row per contrast of the two levels: label, mean, lower, upper, and the ROPE as rope_lower
        and rope_upper, of the level minus the other, whichever way it was taken; verdict; shown:
        True, False, or None where the contrast is withheld or more draws could change the answer;
        and withheld, the codes of why.

    Raises
    ------
    InputError
        If the decisions are on no contrasts, or have none of these levels.

    Examples
    --------
    >>> import hmetad, xarray as xr
    >>> draws = xr.DataArray(
    ...     np.random.default_rng(1).normal([0.8, 0.81], 0.005, (4, 500, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
    ...     name="auroc2",
    ... )
    >>> made = hmetad.decide(hmetad.contrast(draws, over="model"), rope=(-0.02, 0.02))
    >>> relation_table(made, "b", "not less than", "a")[["label", "shown"]].values.tolist()
    [['b − a', True]]
    """
    rows = contrasts_of(decisions, level, other)
    if "ess_tail" not in rows:
        # Of estimates, which have no Monte Carlo error.
        rows = rows.assign(ess_tail=np.inf, mcse_lower=0.0, mcse_upper=0.0)
    outside = (1 - decisions.ci_prob) / decisions.comparisons / 2
    tail = rows["ess_tail"].to_numpy() * outside
    found = {name: rows[name].to_numpy() for name in ("lower", "upper", "mcse_lower", "mcse_upper")}
    rope = rows["rope_lower"].to_numpy(), rows["rope_upper"].to_numpy()

    def is_shown(lower: Floats, upper: Floats) -> Flags:
        """Whether intervals lie where the relation says, beyond the ROPE or not beyond it."""
        below, above = upper < rope[0], lower > rope[1]
        not_below, not_above = lower >= rope[0], upper <= rope[1]
        return {
            "less than": below,
            "greater than": above,
            "different from": below | above,
            "not less than": not_below,
            "not greater than": not_above,
            "not different from": not_below & not_above,
        }[relation]

    shown = is_shown(found["lower"], found["upper"])
    # What lies beyond the ROPE is what verdicts are about. What does not is asked of one end alone:
    # Monte Carlo error at the other may turn the verdict and not the answer.
    is_open = (rows["verdict"] == "unreliable").to_numpy()
    if relation.startswith("not "):
        near = nearby_intervals({**found, "tail_lower": tail, "tail_upper": tail})
        turns = [is_shown(*ends) != shown for ends in near]
        is_open = (rows["withheld"] != "").to_numpy() | np.any(turns, axis=0)
    told = [None if unknown else bool(one) for one, unknown in zip(shown, is_open, strict=True)]
    table = rows.assign(shown=pd.Series(told, rows.index, dtype=object))
    return table[[*SHOWN]].reset_index(drop=True)


def contrasts_of(decisions: Decisions, level: str, other: str) -> pd.DataFrame:
    """Contrasts of two levels, each as the first minus the other, with the ROPE of that."""
    table = decisions.table()
    if "left" not in table:
        steps = ("Call contrast with over=.", "Add --over.")
        raise SourceError("decisions", "those on no contrasts", "contrasts", *steps)
    table = table.assign(rope_lower=decisions.rope[0], rope_upper=decisions.rope[1])
    left, right = table["left"].astype(str), table["right"].astype(str)
    levels = list(dict.fromkeys([*left, *right]))
    for name, value in {"level": level, "other": other}.items():
        if value not in levels:
            raise LevelError(name, repr(value), "a level", nearest(value, levels))
    as_named, is_turned = (left == level) & (right == other), (left == other) & (right == level)
    if not (as_named | is_turned).any():
        raise LevelError("other", repr(other), f"a level that {level!r} is compared with")
    turned = table[is_turned].rename(columns=TURNED)
    turned[SIGNED] = -turned[SIGNED]
    turned["label"] = [
        f"{b} − {a}{label.removeprefix(f'{a} − {b}')}"
        for label, a, b in zip(turned["label"], turned["left"], turned["right"], strict=True)
    ]
    table.loc[is_turned] = turned[table.columns]
    return table[as_named | is_turned]


@check_inputs()
def superiority_table(draws: xr.DataArray) -> pd.DataFrame:
    r"""Probability that the left value is larger than the right one, a row per pair.

    Parameters
    ----------
    draws : DataArray
        What ``contrast(..., kind="superiority")`` returned, dims (chain, draw, pair).

    Returns
    -------
    DataFrame
        label and the coordinates of the pairs; p_superior, the probability; mcse, its Monte Carlo
        standard error, NaN where it is 0 or 1 in all draws; undefined, the share of the draws that
        are, which are left out; withheld, why the draws should not be relied upon. Where more than
        5 % are undefined there is no probability.

    Raises
    ------
    InputError
        If the draws are of another kind.

    Notes
    -----
    The error is :math:`\sqrt{p(1-p)/\mathrm{ESS}}`, with the effective sample size of the draws of
    0 and 1.

    Examples
    --------
    >>> draws = xr.DataArray(
    ...     np.random.default_rng(1).random((4, 500, 1)) < 0.8,
    ...     dims=("chain", "draw", "pair"),
    ...     coords={"pair": ["a − b"], "withheld": ("pair", [""])},
    ...     attrs={"kind": "superiority"},
    ... )
    >>> superiority_table(draws).round(2).to_dict("records")
    [{'label': 'a − b', 'p_superior': 0.8, 'mcse': 0.01, 'undefined': 0.0, 'withheld': ''}]
    """
    if draws.attrs.get("kind") != "superiority":
        step = "Ask for contrast(..., kind='superiority')."
        raise ModelError("draws", repr(draws.attrs.get("kind")), "draws of superiority", step)
    are_chains = has_chains(draws.attrs)

    def of_rows(rows: Floats) -> dict[str, Floats]:
        share, effective = rows.mean(axis=(1, 2)), np.full(len(rows), np.nan)
        varies = (share > 0) & (share < 1)
        effective[varies] = effective_draws(rows[varies], are_chains=are_chains)
        return {"p_superior": share, "mcse": np.sqrt(share * (1 - share) / effective)}

    found = where_defined(draws.transpose("pair", *SAMPLE_DIMS).values.astype(float), of_rows)
    beyond = np.where(too_undefined(found["undefined"]), "undefined", "")
    check_same_names(draws.coords, ["label", *found])
    coords = {str(k): v.values for k, v in draws.coords.items() if v.dims == ("pair",)}
    label, withheld = coords.pop("pair"), coords.pop("withheld").tolist()
    codes = both_codes(withheld, beyond.tolist())
    return pd.DataFrame({"label": label, **coords, **found, "withheld": codes})


@check_inputs()
def repeat_decisions(decisions: Decisions, fits: Mapping[str, Fits]) -> dict[str, Decisions]:
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
        raise ModelError("decisions", "those of estimates and errors", "those of draws", step)
    names = ("rope", "null", "ci_prob", "ci_kind", "comparisons")
    rule: dict[str, Any] = {name: getattr(decisions, name) for name in names}
    made = {}
    for name, fit in fits.items():
        if "over" in decisions.attrs:
            draws = contrasts_again(decisions, fit)
        elif isinstance(fit, ONE_FIT):
            draws = one_variable(fit, None if isinstance(fit, xr.DataArray) else decisions.quantity)
        else:
            raise RepeatError("fits", "several fits under a name", "one, as was judged")
        dim = str(next(iter(decisions.results.dims)))
        if dim in draws.dims:
            judged = decisions.results[dim].values
            lacking = [label for label in judged.tolist() if label not in draws[dim].values]
            if lacking:
                allowed = "fits with all that was judged"
                raise SourceError("fits", f"{name!r} without {lacking[0]!r}", allowed)
            draws = draws.sel({dim: judged})
        made[name] = decide(draws, **rule)
    return made


def contrasts_again(decisions: Decisions, fit: Fits) -> xr.DataArray:
    """Contrasts of a fit, formed as those that were judged."""
    results, said = decisions.results, decisions.results.attrs
    matrix, against = None, None
    if "matrix" in said:
        # Names stay as they were: "01" is no number, "2020-01" no date.
        matrix = pd.DataFrame(**parse_json(said["matrix"], "attrs['matrix']"))
    else:
        right = np.unique(results["right"].values)
        is_reference = len(right) == 1 and right[0] not in results["left"].values
        against = right[0].item() if is_reference else None
    weights: Any = dict(read_attr(said, "pool_weights")) if "pool_weights" in said else "equal"
    return contrast(
        fit,
        var=None if isinstance(fit, xr.DataArray) else said["quantity"],
        over=said["over"],
        within=[name for name in said["within"].split(", ") if name],
        against=against,
        matrix=matrix,
        kind=said["kind"],
        pool=[name for name in said.get("pool", "").split(", ") if name],
        weights=weights,
        independent=said["pairing"] == "independent",
    )
