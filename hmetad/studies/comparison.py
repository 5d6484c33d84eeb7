"""Printed against computed: the table that says whether a paper is reproduced.

Name of a study and what is computed → data frame, and a verdict on the whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.compare.decisions import Decisions
from hmetad.studies.printed import file_of, frame_of

__all__ = [
    "ComparisonRow",
    "by_row",
    "compare_with_print",
    "comparison_frame",
    "is_reproduced",
    "verdict_words",
]

DIRECTIONS = ("greater, ", "less, ")
UNDIRECTED = ("different", "inconclusive", "negligible")

type Place = tuple[str, str, str]
# Of rows by name, or with coordinates that name them.
type Values = Mapping[str, Any] | xr.DataArray
# Values, or values and tolerances, by table and quantity.
type Ours = Mapping[tuple[str, str], Values | tuple[Values, Values]]


@dataclass(frozen=True)
class ComparisonRow:
    """One printed value and ours: where it stands, and how far numbers that agree may differ."""

    table: str
    row: str
    quantity: str
    printed: float | str
    ours: float | str
    # NaN for words.
    tolerance: float = nan

    @property
    def agrees(self) -> bool:
        """Whether the numbers are within the tolerance, or the words are the same."""
        if isinstance(self.printed, str) or isinstance(self.ours, str):
            return self.printed == self.ours
        # A hair more than the tolerance, for decimal numbers that binary ones only approach.
        return abs(self.ours - self.printed) <= self.tolerance * (1 + 1e-9)


def compare_with_print(
    study: str, ours: Ours, numbers: Mapping[str, Values] | None = None
) -> pd.DataFrame:
    """Table of everything that the file of a study lists under `compare`, beside ours.

    What the file calls optional may be missing. `numbers` are what notes on differences have in
    braces, by row.
    """
    rows = []
    for entry in file_of(study)["compare"]:
        for (table, row, quantity), value, limits in printed_values(study, entry, ours):
            values, *reach = map(by_row, as_tuple(ours.get((table, quantity), {})))
            if row in values or "optional" not in entry:
                limit = reach[0][row] if reach else [*limits, nan][0]
                here = in_words_of(value, values[row])
                rows.append(ComparisonRow(table, row, quantity, value, here, limit))
    differs = file_of(study)["differs"]
    frame = comparison_frame(rows, {tuple(at): one["note"] for one in differs for at in one["at"]})
    said = {name: by_row(values) for name, values in (numbers or {}).items()}
    notes = [
        note.format_map({name: own[row] for name, own in said.items() if row in own})
        for note, row in zip(frame["note"], frame["row"], strict=True)
    ]
    return frame.assign(note=notes)


def printed_values(
    study: str, entry: Mapping[str, Any], ours: Ours
) -> Iterator[tuple[Place, Any, list[float]]]:
    """Place, printed value and tolerance, if any, of all values of one entry."""
    if "values" in entry:
        for row, quantity, value, *limit in entry["values"]:
            yield (entry["table"], row, quantity), value, limit
    elif "cells" in entry:
        for record in frame_of(study, entry["of"]).to_dict("records"):
            own = {str(name): value for name, value in record.items()}
            for table, quantity, column, *limit in entry["cells"]:
                if is_printed(own[column]):
                    yield (table, entry["row"].format(**own), quantity), own[column], limit
    else:
        table, quantity, words = entry["table"], entry["quantity"], entry.get("words", {})
        for row in by_row(as_tuple(ours[table, quantity])[0]):
            yield (table, row, quantity), words.get(row, entry["otherwise"]), []


def is_printed(value: str | float) -> bool:
    """Whether a cell has a value: neither an empty text nor NaN."""
    return value != "" if isinstance(value, str) else not isnan(value)


def as_tuple(values: Any) -> tuple[Any, ...]:
    """Values, and tolerances if there are any."""
    return values if isinstance(values, tuple) else (values,)


def by_row(values: Values) -> dict[str, Any]:
    """Values by the names of their rows, which are coordinates joined by bars.

    Examples
    --------
    >>> by_row(xr.DataArray([[1.5, 2.0]], {"model": ["A"], "t": [0.3, 1.0]}))
    {'A | 0.3': 1.5, 'A | 1.0': 2.0}
    """
    if isinstance(values, Mapping):
        return {row: np.asarray(value).item() for row, value in values.items()}
    places = product(*(values[dim].to_numpy().tolist() for dim in values.dims))
    names = [" | ".join(map(str, place)) for place in places]
    return dict(zip(names, values.to_numpy().ravel().tolist(), strict=True))


def in_words_of(said: float | str, ours: Any) -> Any:
    """Our verdict without its direction where print gives none."""
    if said in UNDIRECTED:
        for direction in DIRECTIONS:
            ours = ours.removeprefix(direction)
    return ours


def comparison_frame(
    rows: Iterable[ComparisonRow], known_differences: Mapping[Place, str]
) -> pd.DataFrame:
    """Table of all rows, with a note where one differs; an asterisk in a place is any text."""
    records = []
    for r in rows:
        place = (r.table, r.row, r.quantity)
        known = (note for at, note in known_differences.items() if all(map(fnmatchcase, place, at)))
        note = "" if r.agrees else next(known, "")
        records.append((*place, r.printed, r.ours, r.tolerance, r.agrees, note))
    names = ("table", "row", "quantity", "printed", "ours", "tolerance", "agrees", "note")
    return pd.DataFrame.from_records(records, columns=list(names))


def is_reproduced(frame: pd.DataFrame) -> bool:
    """Whether every row agrees, or its note says why it does not."""
    return bool((frame["agrees"] | (frame["note"] != "")).all())


def verdict_words(decisions: Decisions) -> dict[str, str]:
    """Verdicts in the words of a paper, by label: "greater, different", "not significant"."""
    words = {}
    for record in decisions.table().to_dict("records"):
        # Where there is no verdict there is no answer to the statistical question either.
        said = "not significant" if record["statistical"] is not None else record["verdict"]
        if record["statistical"]:
            direction = DIRECTIONS[0] if record["mean"] > decisions.null else DIRECTIONS[1]
            said = direction + record["verdict"]
        words[str(record["label"])] = said
    return words
