"""How two compared levels stand to each other: what intervals show, and what they leave open.

Decisions on contrasts, two levels and a relation → DataFrame. A relation with "not", as "not less
than", is non-inferiority: the interval does not reach beyond that end of the ROPE.
Source: Piaggio et al. (2012).
"""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.compare.decisions import Decisions
from hmetad.compare.verdicts import nearby_intervals
from hmetad.errors import InputError, nearest

__all__ = ["Relation", "relation_table"]

type Floats = NDArray[np.float64]
Relation = Literal[
    "less than",
    "greater than",
    "different from",
    "not less than",
    "not greater than",
    "not different from",
]
SHOWN = ("label", "mean", "lower", "upper", "rope_lower", "rope_upper", "shown", "withheld")
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
        and rope_upper, of the level minus the other, whichever way it was taken; shown: True,
        False, or None where the contrast is withheld or more draws could change the answer; and
        withheld, the codes of why.

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
    outside = (1 - decisions.ci_prob) / decisions.comparisons / 2
    shown, is_open = answers_of(rows, relation, outside)
    told = [None if unknown else bool(one) for one, unknown in zip(shown, is_open, strict=True)]
    table = rows.assign(shown=pd.Series(told, rows.index, dtype=object))
    return table[[*SHOWN]].reset_index(drop=True)


def answers_of(
    rows: pd.DataFrame, relation: str, outside: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether intervals show a relation, and whether they leave it open.

    What lies beyond the ROPE is what verdicts are about. What does not is asked of one end alone:
    Monte Carlo error at the other may turn the verdict and not the answer.
    """
    if "ess_tail" not in rows:
        # Of estimates, which have no Monte Carlo error.
        rows = rows.assign(ess_tail=np.inf, mcse_lower=0.0, mcse_upper=0.0)
    tail = rows["ess_tail"].to_numpy() * outside
    named = ("lower", "upper", "mcse_lower", "mcse_upper")
    found = {**{name: rows[name].to_numpy() for name in named}, "tail_lower": tail}
    rope = rows["rope_lower"].to_numpy(), rows["rope_upper"].to_numpy()
    shown = is_shown(relation, found["lower"], found["upper"], rope)
    near = nearby_intervals({**found, "tail_upper": tail})
    could_turn = [is_shown(relation, *ends, rope) != shown for ends in near]
    if relation.startswith("not "):
        return shown, (rows["withheld"] != "").to_numpy() | np.any(could_turn, axis=0)
    return shown, (rows["verdict"] == "unreliable").to_numpy()


def is_shown(
    relation: str,
    lower: Floats,
    upper: Floats,
    rope: tuple[Floats, Floats],
) -> NDArray[np.bool_]:
    """Whether intervals lie where a relation says, beyond the ROPE or not beyond it."""
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


def contrasts_of(decisions: Decisions, level: str, other: str) -> pd.DataFrame:
    """Contrasts of two levels, each as the first minus the other, with the ROPE of that."""
    table = decisions.table()
    if "left" not in table:
        raise InputError("decisions", "those on no contrasts", "contrasts", "Add over (--over).")
    table = table.assign(rope_lower=decisions.rope[0], rope_upper=decisions.rope[1])
    left, right = table["left"].astype(str), table["right"].astype(str)
    levels = list(dict.fromkeys([*left, *right]))
    for name, value in {"level": level, "other": other}.items():
        if value not in levels:
            raise InputError(name, repr(value), "a level", nearest(value, levels))
    as_named, turned = (left == level) & (right == other), (left == other) & (right == level)
    if not (as_named | turned).any():
        raise InputError("other", repr(other), f"a level that {level!r} is compared with")
    table.loc[turned] = turned_round(table[turned])
    return table[as_named | turned]


def turned_round(rows: pd.DataFrame) -> pd.DataFrame:
    """Contrasts of the right side minus the left one."""
    turned = rows.rename(columns=TURNED)
    turned[SIGNED] = -turned[SIGNED]
    labels = [
        f"{right} − {left}{label.removeprefix(f'{left} − {right}')}"
        for label, left, right in zip(rows["label"], rows["left"], rows["right"], strict=True)
    ]
    return turned.assign(label=labels)[rows.columns]
