"""What is thin in a count table: empty ratings, unseen stimuli, few or no errors, ceiling.

Count table (cell, stimulus, response, rating) → list of Notice.
Source: Rahnev (2025) for how many trials it takes.
"""

import json

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.counts.checks import STIMULI, require_stimulus
from hmetad.counts.mixtures import is_item_name
from hmetad.counts.notices import Notice, Severity, notice_where
from hmetad.errors import InputError

__all__ = ["FEW_TRIALS", "MESSAGES", "count_notices", "items_together"]

FEW_TRIALS = 100
FEW_ERRORS = 10
# code → severity, message, source, next step
MESSAGES: dict[str, tuple[Severity, str, str, str]] = {
    "empty-ratings": (
        "info",
        "A rating was used by no trial.",
        "Maniscalco & Lau 2012",
        "Fewer, fuller ratings are made by bin_confidence.",
    ),
    "sparse-ratings": (
        "warning",
        "More than half of the ratings are unused: M-ratio then leans on the prior of the criteria "
        "between them.",
        "Maniscalco & Lau 2012",
        "Fewer, fuller ratings are made by bin_confidence.",
    ),
    "one-stimulus": (
        "warning",
        "One stimulus was never shown: d′ and c do not exist.",
        "Macmillan & Creelman 2005",
        "Look whether a stimulus was filtered out, or whether `by` tells the stimuli apart.",
    ),
    "few-trials": (
        "warning",
        f"Fewer than {FEW_TRIALS} trials: metacognitive measures are unreliable.",
        "Rahnev 2025",
        "Model many such cells together; to tell observers apart takes some 400 trials of each.",
    ),
    "few-errors": (
        "warning",
        f"Fewer than {FEW_ERRORS} trials were wrong: what confidence does with errors rests on a "
        "handful.",
        "Fleming & Lau 2014",
        "Harder trials tell more; read the interval of M-ratio, not its estimate.",
    ),
    "no-errors": (
        "warning",
        "No trial was wrong: how well confidence tells right from wrong cannot be measured.",
        "Fleming & Lau 2014",
        "Pool cells, or take harder trials.",
    ),
    "ceiling": (
        "warning",
        "A hit or false-alarm rate is 0 or 1: without a correction d′ is undefined.",
        "Hautus 1995",
        "Fit the counts by `fit`, which needs none, or name a correction and say how far it moves "
        "M-ratio.",
    ),
}


def count_notices(counts: xr.DataArray) -> list[Notice]:
    """Notices of any count table: empty ratings, unseen stimuli, few or no errors, ceiling.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or one cell of it.

    Returns
    -------
    list of Notice
        ``"empty-ratings"`` (info: a rating that nobody used in a cell), ``"sparse-ratings"`` (more
        than half of them), ``"one-stimulus"``, ``"few-trials"`` (fewer than 100, Rahnev 2025),
        ``"few-errors"`` (1 to 9 where there are trials enough), ``"no-errors"`` and ``"ceiling"``
        (hit or false-alarm rate of 0 or 1), all warnings; each once, with its cells. Cells of
        single items are judged by all the items that go with their other grouping columns.

    Raises
    ------
    InputError
        If the table has no stimulus.

    Examples
    --------
    >>> values = [[[7, 8], [1, 4]], [[0, 0], [3, 9]]]
    >>> coords = {"stimulus": ["S1", "S2"], "response": ["S1", "S2"]}
    >>> counts = xr.DataArray(values, coords, ["stimulus", "response", "rating"])
    >>> [notice.code for notice in count_notices(counts)]
    ['few-trials', 'ceiling']
    """
    require_stimulus(counts, "count_notices")
    counts = items_together(counts)
    shown = counts.sum(["response", "rating"])
    one_sided = ((counts.sum("rating") == 0).any("response") & (shown > 0)).any("stimulus")
    empty = counts.sum(["stimulus", "response"]) == 0
    sparse = (empty.mean("rating") > 0.5) & (shown.sum("stimulus") > 0)
    total = shown.sum("stimulus")
    wrong = total - sum(
        counts.sel(stimulus=s, response=s, drop=True).sum("rating") for s in STIMULI
    )
    where = {
        "empty-ratings": empty.any("rating"),
        "sparse-ratings": sparse,
        "one-stimulus": (shown == 0).any("stimulus"),
        "few-trials": total < FEW_TRIALS,
        "few-errors": (wrong > 0) & (wrong < FEW_ERRORS) & (total >= FEW_TRIALS),
        "no-errors": (wrong == 0) & (total > 0),
        "ceiling": one_sided,
    }
    return [
        notice
        for code, (severity, *words) in MESSAGES.items()
        for notice in notice_where(where[code], code, severity, *words)
    ]


def items_together(counts: xr.DataArray) -> xr.DataArray:
    """Count table in which each cell of an item has the counts of all items that go with it.

    Parameters
    ----------
    counts : DataArray
        Count or type-2 table with dim cell. An item is a grouping column that is named like one:
        item, question_id, image, ... A subject is none.

    Returns
    -------
    DataArray
        The same cells, each with the sum over those that differ from it in the item alone; the
        table itself where no grouping column is an item.

    Examples
    --------
    >>> coords = {"cell": ["m | 1", "m | 2"], "model": ("cell", ["m", "m"])}
    >>> coords["item"] = "cell", [1, 2]
    >>> by = {"by": '["model", "item"]'}
    >>> table = xr.DataArray([[1, 0], [2, 3]], coords, ["cell", "rating"], attrs=by)
    >>> items_together(table).values
    array([[3, 3],
           [3, 3]])
    """
    by = grouping_columns(counts)
    items = [name for name in by if is_item_name(name)]
    if not items or "cell" not in counts.dims or not {*by} <= {*counts.coords}:
        return counts
    others = {name: counts[name].to_numpy() for name in by if name not in items}
    index = np.zeros(counts.sizes["cell"], dtype=np.int64)
    if others:
        index = pd.DataFrame(others).groupby(list(others)).ngroup().to_numpy().astype(np.int64)
    values = counts.transpose("cell", ...).to_numpy()
    sums = np.zeros((index.max(initial=0) + 1, *values.shape[1:]), dtype=values.dtype)
    np.add.at(sums, index, values)
    return counts.transpose("cell", ...).copy(data=sums[index])


def grouping_columns(counts: xr.DataArray) -> list[str]:
    """Names of the grouping columns, from the attrs that `count_trials` writes."""
    text = counts.attrs.get("by", "[]")
    try:
        by = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        by = None
    if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
        raise InputError("attrs['by']", f"{text!r:.80}", "a JSON list of names of columns")
    return by
