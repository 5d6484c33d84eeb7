"""How a scale of confidence is used: levels, round numbers, entropy, and the top of the scale.

DataFrame of trials → Dataset (cell). Source: Shannon (1948); Shryock & Siegel (1976) for Whipple's
index of round numbers.
"""

import numpy as np
import xarray as xr
from scipy.special import entr

from hmetad.arguments import check_inputs
from hmetad.counts.columns import check_roles, column_names, named_rows, text_columns
from hmetad.counts.counting import complete_rows
from hmetad.counts.tables import cells_of
from hmetad.errors import InputError
from hmetad.measures.items import By
from hmetad.measures.stated_confidence import (
    MOST_RATING,
    Judged,
    Placed,
    count_forecasts,
    describe_results,
    finite_confidence,
)
from hmetad.notice import notice_of, with_notices
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["scale_report"]

# What a decimal fraction may be beside a multiple of a twentieth.
ROUNDING = 1e-9


@check_inputs(skip=("trials",))
def scale_report(
    trials: TableLike, *, by: By = (), confidence: str = "confidence", top: float | None = None
) -> xr.Dataset:
    r"""Levels of confidence that are used, how often round numbers and the top are, per cell.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes. Rows with a missing value
        in a used column are left out, and a notice says how many.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, one cell per combination that occurs, as for `count_correct`.
    confidence : str, optional
        Column with confidence in any unit, larger is more confident.
    top : float, optional
        Highest value of the scale, whose lowest is 0 where it has round numbers. By default 1 where
        all confidence is from 0 to 1; 100 where it is from 0 to 100 and exceeds 20; else, as of
        ratings, the highest that occurs, without round numbers. Recorded in the attrs.

    Returns
    -------
    Dataset
        Per cell: ``levels`` (distinct values), ``confidence_entropy`` (bit), ``share_top`` (share
        of trials with the highest value), ``share_tens`` and ``share_fives`` (shares with a
        multiple of 10 and of 5 % of the scale), ``heaping`` (Whipple's index) and ``trials``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a name with a meaning of its own; if confidence is
        no finite number, or beyond 0 to `top`.

    Notes
    -----
    With shares f of the L distinct values, the entropy is :math:`-\sum f \log_2 f`, at most
    log₂ L. Whipple's index is 5 times ``share_fives``: 1 where all whole percents are as frequent,
    5 where each value is a multiple of 5. AUROC2, information and M depend on the number of levels:
    `hmetad.select.measure_scales` shows how much.

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame({"confidence": [0.9, 0.95, 1, 1, 0.83, 0.9, 0.5, 0.9]})
    >>> found = scale_report(trials).sel(cell="all")
    >>> found["levels"].item(), found["share_tens"].item(), found["share_top"].item()
    (5, 0.75, 0.25)
    """
    rows = named_rows(rows_of(trials, text=text_columns(by)), [confidence], by)
    names = column_names("by", by)
    check_roles(rows.columns, [("confidence", confidence), *(("by", name) for name in names)])
    frame = rows.with_points([confidence]).frame([confidence, *names])
    frame = frame.assign(**{confidence: finite_confidence(frame[confidence])})
    once = np.ones(len(frame), dtype=np.int64)
    frame, right, found = complete_rows(frame, once, frame.isna())
    cell, cells = cells_of(frame, names, [])
    value = frame[confidence].to_numpy()
    # Nothing is said of right and wrong.
    judged = Judged(cell, right, value, cell, cells, cells, {}, [*rows.notices, *found])
    forecasts, highest = count_forecasts(judged), float(value.max())
    is_share = bool(value.min() >= 0) and (highest <= 1 or MOST_RATING < highest <= 100)
    if top is not None and not (value.min() >= 0 and highest <= top < np.inf):
        beyond = highest if highest > top else float(value.min())
        raise InputError("top", f"{top:g}, and confidence of {beyond:g}", "confidence from 0 to it")
    has_round = is_share or top is not None
    top = top or ((1.0 if highest <= 1 else 100.0) if is_share else highest)
    n = forecasts.sums(forecasts.trials)
    share = forecasts.trials / n[forecasts.cell, 0]
    twentieths = 20 * forecasts.value / top if has_round else np.full(len(share), np.nan)
    near = abs(twentieths - np.round(twentieths)) <= ROUNDING
    is_ten = near & (np.round(twentieths) % 2 == 0)
    fives, tens = (np.where(has_round, share * x, np.nan) for x in (near, is_ten))
    parts = (share > 0, entr(share) / np.log(2), share * (forecasts.value == top), tens, fives)
    levels, entropy, at_top, tens, fives = (forecasts.sums(x)[:, 0] for x in parts)
    values: dict[str, Placed] = {
        "levels": levels.astype(np.int64),
        "confidence_entropy": entropy,
        "share_top": at_top,
        "share_tens": tens,
        "share_fives": fives,
        "heaping": 5 * fives,
        "trials": n[:, 0].astype(np.int64),
    }
    result = describe_results(judged, values, "scale_report").assign_attrs(top=top)
    new = [] if has_round else [notice_of("no-round-numbers", highest=highest)]
    return with_notices(result, [*judged.found, *new])
