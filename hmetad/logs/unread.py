"""What a column of confidence shows that is kept as it is, without being read as a statement.

Column of numbers or texts → list of Notice.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.columns import code_notices
from hmetad.logs.stated import is_fraction
from hmetad.logs.statements import as_number, is_missing
from hmetad.notice import Notice, notice_of

__all__ = ["unread_notices"]


def unread_notices(confidence: pd.Series) -> list[Notice]:
    """Notices of texts, of numbers of two scales, of likely codes, and of numbers below 0.

    Parameters
    ----------
    confidence : Series
        As it stands in a table.

    Returns
    -------
    list of Notice
        None for ratings, and for probabilities.

    Examples
    --------
    >>> [notice.code for notice in unread_notices(pd.Series([0.83, 71, 0.6]))]
    ['mixed-scales']
    >>> [notice.code for notice in unread_notices(pd.Series(["I'm 85% sure", "0.6"]))]
    ['confidence-text']
    """
    numbers = bare_numbers(confidence)
    found = []
    texts = int((np.isnan(numbers) & ~missing(confidence)).sum())
    if texts:
        found.append(notice_of("confidence-text", number=texts, all=len(numbers)))
    small, large = int(is_fraction(numbers).sum()), int((numbers > 1).sum())
    if small and large:
        found.append(notice_of("mixed-scales.unread", small=small, large=large))
    known = numbers[np.isfinite(numbers)]
    found += code_notices("confidence", known, np.ones(len(known), dtype=np.int64))
    below = int((numbers < 0).sum())
    if below:
        found.append(notice_of("negative-confidence", number=below, all=len(numbers)))
    return found


def missing(column: pd.Series) -> NDArray[np.bool_]:
    """Where a column has no value."""
    if column.dtype != object and not pd.api.types.is_string_dtype(column):
        return column.isna().to_numpy()
    return np.array([is_missing(value) for value in column.tolist()], dtype=bool)


def bare_numbers(column: pd.Series) -> NDArray[np.float64]:
    """Values that are numbers, also as text; NaN for others."""
    if column.dtype != object and not pd.api.types.is_string_dtype(column):
        return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan)
    return np.array([number_of(value) for value in column.tolist()], dtype=float)


def number_of(value: Any) -> float:
    """Number that a value is, or that its text is."""
    if not isinstance(value, str):
        return float(value) if isinstance(value, bool) else as_number(value)
    try:
        return float(value)
    except ValueError:
        return math.nan
