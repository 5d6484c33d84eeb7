"""Names of columns: which ones results need, and under which names columns go.

Names, or a DataFrame of trials and {new name: column} → the same checked, or InputError.
"""

from collections.abc import Iterable, KeysView, Mapping, Sequence, Set

import pandas as pd

from hmetad.counts.alike import refuse_unwritable
from hmetad.counts.checks import TYPE1_DIMS, refuse_no_table
from hmetad.errors import InputError, nearest
from hmetad.results import results

__all__ = ["RESERVED_NAMES", "column_names", "renamed_columns"]

# No grouping column may be called what its results are.
DIM_NAMES = ("cell", *TYPE1_DIMS, "correct", "chain", "draw", "pair", "criterion", "summary")
OTHER_NAMES = ("point", "at_least", "rank", "other", "member", "counts", "gamma", "log_gap")
PAIR_NAMES = ("left", "right", "label", "kind", "withheld", "quantity", "unsettled")
VERDICT_NAMES = ("verdict", "full_verdict", "statistical", "p_direction", "p_value", "in_rope")
SUMMARY_NAMES = ("mean", "sd", "mcse_lower", "mcse_upper", "rhat", "ess_tail")
# Of results that are not made of a count table, or have these names in a fit alone.
ELSEWHERE = (
    "posterior",
    *("calibration", "accuracy_by_confidence", "selective_prediction", "combine_predictions"),
    *("normal_noise_information", "noise_information"),
    *("plan_trials", "recover", "calibrate_sampler"),
)
RESERVED_NAMES = frozenset(
    [
        *(*DIM_NAMES, *OTHER_NAMES, *PAIR_NAMES, *VERDICT_NAMES, *SUMMARY_NAMES),
        *(result.name for result in results() if result.section not in ELSEWHERE),
    ]
)


def column_names(argument: str, given: str | Sequence[str] | Mapping[str, str]) -> list[str]:
    """Columns to group by, or an error for a name that means something else here.

    Examples
    --------
    >>> column_names("by", "model")
    ['model']
    >>> column_names("by", ["model", "dprime"])
    Traceback (most recent call last):
    hmetad.errors.InputError: by: got 'dprime', allowed is a name without '/' that is no dim and \
no result of hmetad. The name is taken, by a dim or a result. Rename the column, say 'my_dprime'.
    """
    if not isinstance(given, Iterable):
        raise InputError(argument, repr(given), "names of columns, as text")
    if isinstance(given, Set) and not isinstance(given, Mapping | KeysView):
        step = "A set has no order: pass a list."
        raise InputError(argument, repr(given), "names of columns, as text", step)
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if not isinstance(name, str):
            raise InputError(argument, repr(name), "the name of a column, as text")
        allowed = "a name without '/' that is no dim and no result of hmetad"
        if name in RESERVED_NAMES or name.endswith("_se"):
            step = f"The name is taken, by a dim or a result. Rename the column, say 'my_{name}'."
            raise InputError(argument, repr(name), allowed, step)
        refuse_unwritable(argument, [name])
        if "/" in name:
            raise InputError(argument, repr(name), allowed, "Rename the column.")
    return names


def renamed_columns(trials: pd.DataFrame, *given: object) -> pd.DataFrame:
    """Trials whose columns bear the names that mappings among the arguments give them.

    Parameters
    ----------
    trials : DataFrame
    *given
        Anything; mappings say {new name: column}.

    Raises
    ------
    InputError
        If a column is missing or named twice, or the new name is that of another column.

    Examples
    --------
    >>> list(renamed_columns(pd.DataFrame({"id": [1], "task": ["a"]}), {"subject": "id"}, "task"))
    ['subject', 'task']
    """
    pairs = {new: old for one in given if isinstance(one, Mapping) for new, old in one.items()}
    if not pairs:
        return trials
    refuse_no_table(trials)
    columns = list(trials.columns)
    for new, old in pairs.items():
        if old not in columns:
            step = nearest(str(old), columns)
            raise InputError(f"column for {new!r}", repr(old), "a column of the trials", step)
        first = next(name for name, column in pairs.items() if column == old)
        if first != new:
            got = f"{old!r}, which is named {first!r} already"
            raise InputError(f"column for {new!r}", got, "a different column for each")
        if new in columns and new != old:
            step = f"Drop or rename the column {new!r}."
            raise InputError(f"column for {new!r}", f"{old!r} beside a column {new!r}", "one", step)
    return trials.rename(columns={old: new for new, old in pairs.items()})
