"""What the probabilities of all options say of an answer: three numbers that may be its confidence.

DataFrame of questions with the probability of every option → the same with a column for each
signal. Source: Li & Ma (2020) for the best two options; Shannon (1948) for the entropy.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import InputError
from hmetad.base.notice import Notice, notice_of
from hmetad.base.notice_registry import limit
from hmetad.counts.columns import check_roles
from hmetad.counts.noticed import add_notices
from hmetad.logs.derived import ANSWERS
from hmetad.logs.pairs import probability_matrix, right_options
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["SIGNALS", "signals"]

type Floats = NDArray[np.float64]

SIGNALS = ("top_probability", "lead", "minus_entropy")
OPTIONS = "options"
# Decimals that are kept: what is equal on paper stays equal, as .7 - .2 and .6 - .1.
DECIMALS = 12


@check_inputs(skip=("trials",))
def signals(
    trials: TableLike,
    *,
    probabilities: str | Sequence[str] = "option_probabilities",
    chosen: str | None = None,
) -> pd.DataFrame:
    r"""Trials with three signals of confidence, from the probabilities of all options.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per question answered; the number of options may differ between questions.
    probabilities : str or sequence of str, optional
        Column of lists (or of JSON text of lists) with the probability of each option; or the
        columns of the options. A missing value says that the question has no such option; an
        option of probability 0 is one. They need not sum to 1.
    chosen : str, optional
        Column with the option that was answered: its number from 0, its letter from A, or the name
        of its column. By default the first of the columns chosen, answer and response that is
        there; without one the most probable option, of equal ones the first.

    Returns
    -------
    DataFrame
        The trials with four more columns: ``top_probability`` (probability, 0 to 1), ``lead``
        (difference of probabilities, -1 to 1) and ``minus_entropy`` (nats, -log m to 0), larger is
        more confident, and ``options``, the number m of options of the question. The signals are
        missing where nothing was chosen, where all probabilities are missing or 0, and where there
        is a single option. Attrs: ``notices`` (JSON): how many those are, how often the chosen
        option isn't the most probable one, whether probabilities did not sum to 1, and whether no
        column says what was chosen.

    Raises
    ------
    InputError
        If a column is missing or the trials have one of the new columns already; if probabilities
        are negative, no numbers or all missing; if what was chosen is none of the options.

    Notes
    -----
    Probabilities are divided by their sum. With :math:`p_r` of the chosen option,

    .. math:: p_r, \qquad p_r - \max_{j \ne r} p_j, \qquad \sum_j p_j \log p_j

    where :math:`0 \log 0 = 0`. All three are about the answer that was given: where another option
    is more probable than it, ``top_probability`` is that of the chosen option all the same, and the
    lead is negative; the entropy does not know what was chosen. Where two options are the most
    probable, the lead is 0. With two options the three have the same order, so that AUROC2 and
    ratings by quantiles are the same. Values are rounded to 12 decimals, for signals that are equal
    on paper must be ties.

    Examples
    --------
    >>> trials = pd.DataFrame({"option_probabilities": [[0.7, 0.2, 0.1], [0.5, 0.5, None]]})
    >>> signals(trials)[[*SIGNALS, OPTIONS]].round(3).values.tolist()
    [[0.7, 0.5, -0.802, 3.0], [0.5, 0.0, -0.693, 2.0]]
    """
    frame = trials if isinstance(trials, pd.DataFrame) else rows_of(trials).frame()
    if chosen is None:
        chosen = next((name for name in ANSWERS if name in frame.columns), None)
    columns = [probabilities] if isinstance(probabilities, str) else list(probabilities)
    used = [*(("probabilities", name) for name in columns), ("chosen", chosen)]
    check_roles(list(frame.columns), [(role, name) for role, name in used if name is not None])
    for name in (name for name in (*SIGNALS, OPTIONS) if name in frame.columns):
        raise InputError("trials", f"a column {name!r}", "none of that name: it is made here")
    matrix, names = probability_matrix(frame, probabilities)
    is_option = ~np.isnan(matrix)
    if chosen is None:
        answer = np.where(is_option, matrix, -1.0).argmax(axis=1)
    else:
        answer = right_options(frame[chosen], names, matrix, "chosen")
    # From the largest on, so that sums do not depend on the order of the options.
    ranked = -np.sort(-np.where(is_option, matrix, 0.0), axis=1)
    options, total = is_option.sum(axis=1), ranked.sum(axis=1)
    has_signals = (answer >= 0) & (options > 1) & (total > 0)
    own = np.where(has_signals, matrix[np.arange(len(matrix)), answer], np.nan)
    other = np.where(own >= ranked[:, 0], ranked[:, min(1, matrix.shape[1] - 1)], ranked[:, 0])
    divisor = np.where(has_signals, total, np.nan)
    entropy = entr(ranked / divisor[:, None]).sum(axis=1)
    values = (own / divisor, (own - other) / divisor, -entropy)
    # Adding 0 makes 0 of -0.
    made = {k: np.round(x, DECIMALS) + 0.0 for k, x in zip(SIGNALS, values, strict=True)}
    result = frame.assign(**made, **{OPTIONS: options})
    said = signal_notices(has_signals, own < ranked[:, 0], total)
    said += [notice_of("chosen-unknown")] if chosen is None else []
    result.attrs = add_notices(frame.attrs, said)
    return result


def signal_notices(
    has_signals: NDArray[np.bool_], is_lower: NDArray[np.bool_], total: Floats
) -> list[Notice]:
    """Notices of rows without signals, of other options more probable, and of unequal sums."""
    found, rows, known = [], len(has_signals), int(has_signals.sum())
    if known < rows:
        found.append(notice_of("rows-dropped.signals", dropped=rows - known, total=rows))
    if is_lower.any():
        found.append(notice_of("chosen-not-top", number=int(is_lower.sum()), all=known))
    sums = total[has_signals]
    is_off = np.abs(sums - 1) > limit("unequal-sums")
    if is_off.any():
        ends = {"least": f"{sums.min():.3g}", "most": f"{sums.max():.3g}"}
        found.append(notice_of("unequal-sums", number=int(is_off.sum()), all=known, **ends))
    return found
