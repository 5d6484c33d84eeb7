"""Whether decisions show that a level stands in a relation to another.

Decisions, two levels and a relation → DataFrame: what intervals show and what they leave open. A
relation with "not", as "not less than", is non-inferiority: the interval does not reach beyond that
end of the ROPE.
Source: Piaggio et al. (2012) for non-inferiority.
"""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import LevelError, SourceError, nearest
from hmetad.compare.decisions import Decisions
from hmetad.compare.verdicts import nearby_intervals

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
