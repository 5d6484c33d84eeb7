"""Trials of a table whose columns and codes a record describes.

DataFrame and a record (roles of columns, labels, levels, what to leave out) → DataFrame of trials
under the names that `count_trials` expects.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hmetad.base.errors import ColumnError, LabelError, NumberError
from hmetad.counts.columns import as_correct, refuse_absent

__all__ = ["described_trials"]

BY = ("subject", "task", "condition", "group")
# What a trial must have, as far as the table has it.
NEEDED = ("subject", "stimulus", "response", "confidence", "correct")


def described_trials(table: pd.DataFrame, record: Mapping[str, Any]) -> pd.DataFrame:
    """Trials under the usual names; rows that are no trials, or lack something, are left out.

    Confidence becomes a rating 1..K where the record has levels, and stays a number elsewhere.
    """
    trials = with_answers(trial_rows(table, record), record)
    if "confidence" in trials:
        trials["confidence"] = rated(trials["confidence"], record)
    first = [role for role in NEEDED if role in trials]
    trials = trials.dropna(subset=first, ignore_index=True)
    rest = [role for role in trials if role not in first]
    kinds = {role: whole_type(trials[role]) for role in first}
    return trials[[*first, *rest]].astype(kinds)


def trial_rows(table: pd.DataFrame, record: Mapping[str, Any]) -> pd.DataFrame:
    """Columns by role, without the rows that are no trials; codes for none are missing."""
    columns = record["columns"]
    for role, name in columns.items():
        refuse_absent(role, name, [*table.columns])
    kept = pd.Series(True, index=table.index)
    for name, values in record.get("leave_out", {}).items():
        kept &= ~plain_column(table[name]).isin(values)
    codes = record.get("missing_codes", {})
    plain = {role: plain_column(table[name])[kept] for role, name in columns.items()}
    return pd.DataFrame({x: one.mask(one.isin(codes.get(x, []))) for x, one in plain.items()})


def with_answers(trials: pd.DataFrame, record: Mapping[str, Any]) -> pd.DataFrame:
    """Trials with stimulus and response in the same labels, and whether they agree.

    Of a missing one of the two, where there are two labels, correctness tells the other.
    """
    labels = record.get("labels", ())
    right = trials["correct"].map(as_correct) if "correct" in trials else None
    if not labels:
        if right is None:
            step = "Name the columns by hmetad import table FILE --columns stimulus=NAME."
            raise ColumnError("table", "neither stimulus nor correctness", "one of the two", step)
        return trials.assign(correct=right)
    if len(labels) == 1:
        got = f"the single label {labels[0]!r} in column {record['columns']['stimulus']!r}"
        raise LabelError("stimulus", got, "two labels at least")
    if "cut" in record:
        above = pd.to_numeric(trials["stimulus"], errors="coerce") - record["cut"]
        trials = trials.assign(stimulus=np.sign(above).map({-1: labels[0], 1: labels[1]}))
    for role in {"stimulus", "response"} & {*trials}:
        own = zip(record.get(f"{role}_labels", labels), labels, strict=True)
        trials = trials.assign(**{role: trials[role].map(dict(own))})
    for role, other in (("stimulus", "response"), ("response", "stimulus")):
        if role not in trials and right is not None:
            turned = trials[other].map(dict(zip(labels, labels[::-1], strict=True)))
            trials[role] = turned.where(right.eq(False), trials[other]).where(right.notna())
    answered = trials["stimulus"].notna() & trials["response"].notna()
    return trials.assign(correct=(trials["stimulus"] == trials["response"]).where(answered))


def rated(confidence: pd.Series, record: Mapping[str, Any]) -> pd.Series:
    """Ratings 1..K of levels, or numbers; from the middle outward where responses share a scale."""
    numbers = pd.to_numeric(confidence, errors="coerce")
    words = confidence[numbers.isna() & confidence.notna()].unique()
    if len(words):
        shown, name = ", ".join(map(repr, words[:6])), record["columns"]["confidence"]
        step = f"Count the table itself: count_trials(table, confidence={name!r}, levels=[...])."
        raise NumberError("confidence", f"the words {shown}", "numbers", step)
    if "centre" in record:
        numbers = (numbers - record["centre"]).abs().round(9)
    if record.get("reversed"):
        numbers = -numbers
    if "levels" not in record:
        return numbers
    return numbers.map({level: 1 + i for i, level in enumerate(record["levels"])})


def plain_column(column: pd.Series) -> pd.Series:
    """Column without spaces around its texts; numbers as such, whatever else stands beside them."""
    if pd.api.types.is_numeric_dtype(column):
        return column.where(np.isfinite(column))
    text = column.astype(object).map(lambda one: one.strip() if isinstance(one, str) else one)
    numbers = pd.to_numeric(text, errors="coerce")
    return numbers if numbers.notna().equals(text.notna()) else text


def whole_type(column: pd.Series) -> Any:
    """Type of a column: truth, or whole numbers where it holds no others."""
    if column.name == "correct":
        return bool
    is_number = pd.api.types.is_numeric_dtype(column)
    return np.int64 if is_number and (column % 1 == 0).all() else column.dtype
