"""What is thin in a count table: empty ratings, unseen stimuli, few trials or errors, ceiling.

Count table (cell, stimulus, response, rating) → list of Notice.
Source: Rahnev (2025) for how many trials it takes.
"""

import xarray as xr

from hmetad.counts.checks import require_stimulus
from hmetad.counts.notices import Notice, Severity, notice_where

__all__ = ["FEW_TRIALS", "MESSAGES", "STIMULI", "count_notices"]

STIMULI = ("S1", "S2")
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
        "Guggenmos 2021",
        "Harder trials tell more; read the interval of M-ratio, not its estimate.",
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
    """Notices of any count table: empty ratings, unseen stimuli, few trials or errors, ceiling.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or one cell of it.

    Returns
    -------
    list of Notice
        ``"empty-ratings"`` (info: a rating that nobody used in a cell), ``"sparse-ratings"`` (more
        than half of them), ``"one-stimulus"``, ``"few-trials"`` (fewer than 100, Rahnev 2025),
        ``"few-errors"`` (fewer than 10 where there are trials enough) and ``"ceiling"`` (hit or
        false-alarm rate of 0 or 1), all warnings; each once, with its cells.

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
        "few-errors": (wrong < FEW_ERRORS) & (total >= FEW_TRIALS),
        "ceiling": one_sided,
    }
    return [
        notice
        for code, (severity, *words) in MESSAGES.items()
        for notice in notice_where(where[code], code, severity, *words)
    ]
