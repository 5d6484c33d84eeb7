"""What `hmetad import` makes of trials once they are read.

Trials of a log → pairs of options, or one row per item with the agreement of its answers.
"""

from typing import TYPE_CHECKING, Literal

import hmetad
from hmetad.commands.arguments import options_named
from hmetad.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.notice import Notice

__all__ = ["Judged", "Orders", "reshaped_trials"]

# Columns that tell apart whose answers to which questions they are.
GROUPS = ("task", "model", "prompt", "filter", "run", "log", "perturbation", "repeat", "epoch")

# Arguments of either that are columns of the trials, and what asks for them.
COLUMNS = ("answer", "trials", "target", "item", "by")

CHOICE = "confidence-of-the-choice"

Orders = Literal["both", "listed"]
Judged = Literal["modal", "graded"]


def reshaped_trials(
    trials: "pd.DataFrame", option_pairs: Orders | None, agreement: Judged | None
) -> tuple["pd.DataFrame", list["Notice"]]:
    """Trials as read, or as one of the two options asks, with the log's record; their notices."""
    if option_pairs is not None and agreement is not None:
        got = "--option-pairs beside it"
        raise InputError("--agreement", got, "one of the two")
    before = dict(trials.attrs)
    if option_pairs is not None:
        with options_named(dict.fromkeys(COLUMNS, "--option-pairs")):
            made = made_pairs(trials, option_pairs)
    elif agreement is not None:
        with options_named(dict.fromkeys(COLUMNS, "--agreement")):
            made = hmetad.logs.agreement(trials, of=agreement)
    else:
        return trials, hmetad.logs.frame_notices(trials)
    counted = {**before.get("rejected", {}), **made.attrs.get("rejected", {})}
    # Agreement is no confidence of the choice, and pairs say themselves that they have it.
    kept = [one for one in hmetad.logs.frame_notices(trials) if one.code != CHOICE]
    found = [*kept, *hmetad.logs.frame_notices(made)]
    made.attrs = {**before, **made.attrs, "rejected": counted}
    return made, found


def made_pairs(trials: "pd.DataFrame", orders: Orders) -> "pd.DataFrame":
    """Right option against each wrong one, with what tells answers apart."""
    if "option_probabilities" not in trials or not trials["option_probabilities"].notna().any():
        got = "no probabilities of options"
        step = "Multiple choice with log-probabilities has them."
        raise InputError("--option-pairs", got, "a column option_probabilities", step)
    item = "item" if "item" in trials else None
    by = [name for name in GROUPS if name in trials]
    return hmetad.logs.option_pairs(trials, item=item, by=by, orders=orders)
