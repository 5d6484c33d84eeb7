"""Files of trials: CSV, Parquet and JSON Lines.

Trials → the text or bytes of a file.
"""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hmetad.report.terminal import strict
from hmetad.text.cells import csv_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WRITERS", "trials_csv", "trials_parquet"]


def trials_csv(trials: "pd.DataFrame") -> str:
    """Trials as CSV; a value that holds others becomes JSON."""
    plain = {
        str(name): [nested_json(value) if is_nested(value) else value for value in column]
        for name, column in trials.items()
        if column.map(is_nested).any()
    }
    return csv_frame(trials.assign(**plain))


def trials_parquet(trials: "pd.DataFrame") -> memoryview:
    """Trials as Parquet, lists as they are; text where a column holds values of several types."""
    trials = trials.copy(deep=False)
    # Notices and the record of the log are no part of a file of trials.
    trials.attrs = {}
    file = io.BytesIO()
    try:
        trials.to_parquet(file, index=False)
    except (TypeError, ValueError):
        # Arrow has one type for a column.
        columns = ((str(name), column) for name, column in trials.items())
        mixed = {name: plain_text(column) for name, column in columns if column.dtype == object}
        file = io.BytesIO()
        trials.assign(**mixed).to_parquet(file, index=False)
    return file.getbuffer()


def plain_text(column: "pd.Series") -> "pd.Series":
    """Column of objects as text or JSON, unless all its values are lists."""
    known = column.dropna()
    if known.map(is_nested).all():
        return column
    return column.map(lambda one: nested_json(one) if is_nested(one) else str(one), "ignore")


def trials_jsonl(trials: "pd.DataFrame") -> str:
    """Trials as JSON Lines, lists as they are, numbers in full precision."""
    columns = {
        str(name): [
            None if is_lost else value
            for value, is_lost in zip(column.tolist(), column.isna(), strict=True)
        ]
        for name, column in trials.items()
    }
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(f"{nested_json(row)}\n" for row in rows)


def is_nested(value: Any) -> bool:
    """Whether a value of a column holds others: a list or object of JSON or Parquet."""
    return isinstance(value, list | tuple | dict) or getattr(value, "ndim", 0) > 0


def nested_json(value: Any) -> str:
    """JSON of a value; NaN and infinities are null, and what JSON does not know is text."""
    return json.dumps(strict(value), default=str, allow_nan=False)


# Formats of trials, by suffix.
WRITERS: dict[str, Callable[["pd.DataFrame"], str | memoryview]] = {
    ".csv": trials_csv,
    ".parquet": trials_parquet,
    ".jsonl": trials_jsonl,
}
