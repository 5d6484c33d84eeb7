"""What `hmetad import` makes of trials once they are read.

Trials of a log → pairs of options, or one row per item with the agreement of its answers.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import hmetad
from hmetad.commands.arguments import options_named
from hmetad.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.notice import Notice

__all__ = ["Judged", "Orders", "Reshaping", "reshaped_trials"]

# Columns that tell apart whose answers to which questions they are.
GROUPS = ("task", "model", "prompt", "filter", "run", "log", "perturbation", "repeat", "epoch")

# Arguments of either that are columns of the trials, and what asks for them.
COLUMNS = ("answer", "trials", "target", "item")

# What is said of the confidence that a log has, and does not hold for that of agreement or pairs.
OF_THE_LOG = ("confidence-of-the-choice", "no-confidence")

Orders = Literal["both", "listed"]
Judged = Literal["modal", "graded"]


class Reshaping(NamedTuple):
    """What is asked for of trials that are read.

    Parameters
    ----------
    option_pairs : {"both", "listed"} or None
        Orders of pairs of options.
    agreement : {"modal", "graded"} or None
        Answer that is judged by the others.
    by : list of str or None
        Columns that tell whose answers to which question they are; None: the known ones.
    keep : list of str
        Further columns of the result.
    """

    option_pairs: Orders | None
    agreement: Judged | None
    by: list[str] | None
    keep: list[str]


def reshaped_trials(
    trials: "pd.DataFrame", asked: Reshaping
) -> tuple["pd.DataFrame", list["Notice"]]:
    """Trials as read, or as one of the two options asks, with the log's record; their notices."""
    if asked.option_pairs is not None and asked.agreement is not None:
        got = "--option-pairs beside it"
        raise InputError("--agreement", got, "one of the two")
    if asked.option_pairs is None and asked.agreement is None:
        if asked.by is not None:
            got = "columns, without --agreement or --option-pairs"
            raise InputError("--by", got, "one of the two beside it", "All columns are kept.")
        return trials, hmetad.logs.frame_notices(trials)
    before = dict(trials.attrs)
    if asked.option_pairs is not None:
        with options_named(dict.fromkeys(COLUMNS, "--option-pairs")):
            made = made_pairs(trials, asked.option_pairs, asked.by or [], asked.keep)
    elif asked.agreement is not None:
        with options_named(dict.fromkeys(COLUMNS, "--agreement")):
            made = hmetad.logs.agreement(trials, of=asked.agreement, by=asked.by)
        check_kept(asked.keep, trials, made)
    counted = {**before.get("rejected", {}), **made.attrs.get("rejected", {})}
    # Agreement is no confidence of the choice, and pairs say themselves that they have it.
    kept = [one for one in hmetad.logs.frame_notices(trials) if one.code not in OF_THE_LOG]
    found = [*kept, *hmetad.logs.frame_notices(made)]
    made.attrs = {**before, **made.attrs, "rejected": counted}
    return made, found


def check_kept(keep: Sequence[str], trials: "pd.DataFrame", made: "pd.DataFrame") -> None:
    """Refuse columns to keep that agreement cannot keep, for they differ between answers."""
    for name in (name for name in keep if name not in made):
        if name not in trials:
            step = nearest(name, map(str, trials.columns))
            raise InputError("--keep", repr(name), "a column of the table", step)
        allowed = "columns that are the same in all answers to an item"
        raise InputError("--keep", repr(name), allowed, "Name it in --by if it tells items apart.")


def made_pairs(
    trials: "pd.DataFrame", orders: Orders, by: Sequence[str], keep: Sequence[str]
) -> "pd.DataFrame":
    """Right option against each wrong one, with what tells answers and questions apart."""
    if "option_probabilities" not in trials or not trials["option_probabilities"].notna().any():
        got = "no probabilities of options"
        step = "Multiple choice with log-probabilities has them."
        raise InputError("--option-pairs", got, "a column option_probabilities", step)
    item = "item" if "item" in trials else None
    groups = [*(name for name in GROUPS if name in trials), *by]
    groups = list(dict.fromkeys(groups))
    own = [*keep, *hmetad.logs.columns_of_questions(trials)]
    kept = [name for name in dict.fromkeys(own) if name not in (*groups, item)]
    return hmetad.logs.option_pairs(trials, item=item, by=groups, keep=kept, orders=orders)
