"""Many decisions in one figure: the pairs of each stratum as a matrix of verdicts.

Decisions on all pairs → Strata, and each of them → Matrix.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hmetad.compare.decisions import Decisions
from hmetad.compare.words import COLUMNS
from hmetad.report.contents.tables import decision_table, interval_note
from hmetad.report.page.blocks import Cell, Judgement, Matrix, Table
from hmetad.report.page.layout import SIGNS, VERDICTS
from hmetad.text.cells import format_cell

__all__ = ["Stratum", "counts_table", "is_many", "pair_matrix", "pair_strata"]

# Contrasts beyond which a table of them is not read, and levels from which a matrix says more.
MOST_CONTRASTS, FEWEST_LEVELS = 40, 4
LEGEND = (
    ", ".join(f"{sign} {word}" for word, sign in SIGNS.items())
    + " (withheld). A number is the mean of the row minus that of the column; the largest are "
    "first. The CSV file has every pair with its interval."
)


@dataclass(frozen=True)
class Stratum:
    """Contrasts that agree in everything held equal.

    Parameters
    ----------
    name : str
        What is held equal, such as "A"; empty where nothing is.
    held : dict
        Coordinates held equal, and their values.
    table : DataFrame
        Rows of `Decisions.table`.
    levels : tuple
        What is compared, the largest first.
    """

    name: str
    held: dict[str, Hashable]
    table: pd.DataFrame
    levels: tuple[Hashable, ...]


def is_many(decisions: Decisions) -> bool:
    """Whether there are more contrasts than a table of them is read for."""
    return decisions.results["verdict"].size > MOST_CONTRASTS


def pair_strata(decisions: Decisions) -> list[Stratum]:
    """Strata of contrasts of all pairs; none where they are not all pairs of a few levels or more.

    Examples
    --------
    >>> from hmetad.compare.verdicts import decide_normal
    >>> pair_strata(decide_normal([0.4], [0.05], rope=(-0.1, 0.1)))
    []
    """
    table = decisions.table()
    if "cell" in decisions.results.dims or not {"left", "right"} <= set(table.columns):
        return []
    held = held_equal(decisions)
    parts = [((), table)] if not held else list(table.groupby(held, sort=False, dropna=False))
    strata = []
    for key, part in parts:
        levels = ordered_levels(part)
        pairs = {frozenset(pair) for pair in zip(part["left"], part["right"], strict=True)}
        is_square = len(pairs) == len(part) == len(levels) * (len(levels) - 1) // 2
        if not is_square or len(levels) < FEWEST_LEVELS:
            return []
        values = dict(zip(held, key, strict=True))
        strata.append(Stratum(" | ".join(map(str, key)), values, part, levels))
    return strata


def held_equal(decisions: Decisions) -> list[str]:
    """Coordinates that both sides of a contrast agree in: all that say nothing of a contrast."""
    results = decisions.results
    dim = next(iter(results.dims))
    others = {dim, "left", "right", *(column.name for column in COLUMNS)}
    return [str(k) for k, v in results.coords.items() if v.dims == (dim,) and k not in others]


def ordered_levels(part: pd.DataFrame) -> tuple[Hashable, ...]:
    """Levels of a stratum, from the largest mean to the smallest; undefined ones last."""
    levels = list(dict.fromkeys([*part["left"], *part["right"]]))
    scores = dict.fromkeys(levels, 0.0)
    for row in part.to_dict("records"):
        difference = row["mean"] if np.isfinite(row["mean"]) else 0.0
        scores[row["left"]] += difference
        scores[row["right"]] -= difference
    return tuple(sorted(levels, key=lambda level: -scores[level]))


def pair_matrix(decisions: Decisions, stratum: Stratum, caption: str, *, name: str) -> Matrix:
    """Verdicts on all pairs of a stratum.

    Parameters
    ----------
    decisions : Decisions
    stratum : Stratum
        One of `pair_strata`.
    caption : str
        What is judged.
    name : str
        Stem of the file of all pairs.

    Returns
    -------
    Matrix
    """
    found = {}
    for row in stratum.table.to_dict("records"):
        words = judgement_in_words(row)
        found[row["left"], row["right"]] = (row["verdict"], float(row["mean"]), words)
        found[row["right"], row["left"]] = (row["verdict"], -float(row["mean"]), words)
    cells: list[tuple[Judgement | None, ...]] = [
        tuple(found.get((level, other)) for other in stratum.levels[:place])
        for place, level in enumerate(stratum.levels)
    ]
    note = f"{LEGEND} {interval_note(decisions, in_table=False)}"
    pairs = stratum_table(decisions, stratum, caption, name)
    return Matrix(caption, tuple(map(str, stratum.levels)), tuple(cells), pairs, note)


def judgement_in_words(row: Mapping[Hashable, object]) -> str:
    """One decision as a line."""
    mean, lower, upper = (format_cell(row[name]) for name in ("mean", "lower", "upper"))
    return f"{row['label']}: {mean} [{lower}, {upper}], {row['verdict']}"


def stratum_table(decisions: Decisions, stratum: Stratum, caption: str, name: str) -> Table:
    """Decisions of one stratum, one row per pair."""
    labels = list(stratum.table["label"])
    dim = next(iter(decisions.results.dims))
    part = replace(decisions, results=decisions.results.sel({dim: labels}))
    return replace(decision_table(part, caption, name=name), decisions=decisions)


def counts_table(strata: Sequence[Stratum], caption: str, *, name: str) -> Table:
    """How many pairs of each stratum have each verdict."""
    rows: list[tuple[Cell, ...]] = []
    for stratum in strata:
        verdicts = list(stratum.table["verdict"])
        counts = [verdicts.count(word) for word in VERDICTS]
        rows.append((stratum.name or "all", len(stratum.levels), len(verdicts), *counts))
    columns = ("Stratum", "Compared", "Pairs", *(word.capitalize() for word in VERDICTS))
    return Table(caption, columns, tuple(rows), name=name)
