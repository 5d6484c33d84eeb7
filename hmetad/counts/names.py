"""Names of columns: which ones results need, and under which names columns go.

Names, or a DataFrame of trials and {new name: column} → the same checked, or InputError.
"""

from collections.abc import Iterable, KeysView, Mapping, Sequence, Set

import pandas as pd

from hmetad.counts.alike import refuse_unwritable
from hmetad.counts.checks import TYPE1_DIMS, refuse_no_table
from hmetad.errors import InputError, nearest

__all__ = ["RESERVED_NAMES", "column_names", "renamed_columns"]

# No grouping column may be called what its results are. By hand, since the rooms that make the
# results import this one.
DIM_NAMES = ["cell", *TYPE1_DIMS, "correct", "chain", "draw", "pair", "criterion", "summary"]
TYPE1_RESULTS = ["hit_rate", "false_alarm_rate", "dprime", "c", "c_prime", "ln_beta"]
META_RESULTS = ["meta_d", "m_ratio", "log_m", "meta_c", "criteria", "loglik", "converged", "loss"]
INFORMATION_RESULTS = ["info", "accuracy", "lower", "upper", "meta_i", "meta_i1r", "meta_i2r"]
ROC_RESULTS = ["s", "d_a", "a_z", "g_squared", "df"]
OTHER_RESULTS = ["counts", "cov_dprime_c", "rmi", "meta_i1r_accuracy", "log_gap"]
TYPE2_RESULTS = ["auroc2", "gamma", "v_statistic", "phi", "hits", "false_alarms"]
ROC_COORDS = ["point", "at_least"]
RANK_RESULTS = ["rank", "other", "mean_rank", "rank_lower", "rank_upper", "p_best", "mcse_best"]
ORDER_RESULTS = ["p_rank", "p_superior", "rhat", "ess_tail", "unsettled", "quantity"]
FACTOR_RESULTS = ["bf01", "bf10", "mcse_bf01", "mcse_bf10", "posterior_density", "prior_density"]
MEASURE_RESULTS = ["trials", "share_right", "auroc2_by_response", "gamma_trapezoid"]
GAMMA_RESULTS = ["gamma_pairs", "gamma_gaussian"]
GROUP_RESULTS = ["member", "majority_vote", "confidence_weighted_vote", "predictionwise_vote"]
CONFIDENCE_RESULTS = ["confidence_right", "confidence_wrong", "confidence_difference"]
PAIR_NAMES = ["left", "right", "label", "kind", "withheld"]
VERDICT_NAMES = ["verdict", "full_verdict", "statistical", "p_direction", "p_value", "in_rope"]
SUMMARY_NAMES = ["mean", "sd", "mcse_lower", "mcse_upper"]
RESERVED_NAMES = frozenset(
    [
        *DIM_NAMES,
        *TYPE1_RESULTS,
        *META_RESULTS,
        *INFORMATION_RESULTS,
        *ROC_RESULTS,
        *OTHER_RESULTS,
        *TYPE2_RESULTS,
        *ROC_COORDS,
        *RANK_RESULTS,
        *ORDER_RESULTS,
        *FACTOR_RESULTS,
        *MEASURE_RESULTS,
        *GAMMA_RESULTS,
        *GROUP_RESULTS,
        *CONFIDENCE_RESULTS,
        *PAIR_NAMES,
        *VERDICT_NAMES,
        *SUMMARY_NAMES,
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
