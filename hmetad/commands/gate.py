"""A condition under which a comparison fails, for continuous integration.

Text such as "new worse than old" and decisions → outcome, its sentence and an exit status.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import hmetad
from hmetad.directions import LESS_IS_BETTER, MORE_IS_BETTER
from hmetad.errors import InputError, nearest
from hmetad.notice_registry import short_words

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.compare.decisions import Decisions

__all__ = ["STATUS", "Gate", "Outcome", "judge_gate", "parse_gate"]

WORDS = ("worse than", "better than", "less than", "greater than", "different from")
STATUS = {"passed": 0, "failed": 1, "not judged": 3}


@dataclass(frozen=True)
class Gate:
    """What must not be: a level of the compared column, and how it may not stand to another.

    Parameters
    ----------
    level, other : str
    relation : str
        Of numbers: less than, greater than, or different from.
    text : str
        As it was written.
    """

    level: str
    relation: str
    other: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """Whether a comparison passed, and why, in a sentence."""

    word: str
    sentence: str

    @property
    def status(self) -> int:
        """Exit status of the command."""
        return STATUS[self.word]


def parse_gate(text: str, quantity: str) -> Gate:
    """Condition that was written, with "worse" and "better" said as less or greater.

    Examples
    --------
    >>> parse_gate("new worse than old", "auroc2").relation
    'less than'
    >>> parse_gate("new worse than old", "ece").relation
    'greater than'
    """
    for words in WORDS:
        level, found, other = text.partition(f" {words} ")
        if found and level.strip() and other.strip():
            level, other = level.strip(), other.strip()
            relation = plain_relation(words, quantity)
            return Gate(level, relation, other, f"{level} {words} {other}")
    raise InputError("--fail-if", repr(text), "LEVEL worse than LEVEL (or better, less, greater)")


def plain_relation(words: str, quantity: str) -> str:
    """Relation of numbers that stands for one of quality."""
    if words not in ("worse than", "better than"):
        return words
    name = quantity.removeprefix("log ratio of ")
    if name not in (*MORE_IS_BETTER, *LESS_IS_BETTER):
        step = "Write less than, or greater than."
        raise InputError("--fail-if", f"{words} of {quantity}", "a quantity with a best end", step)
    is_less = (words == "worse than") == (name in MORE_IS_BETTER)
    return "less than" if is_less else "greater than"


def judge_gate(gate: Gate, decisions: "Decisions") -> Outcome:
    """Outcome of a condition: of all contrasts of the two levels, each must pass.

    One that is so fails. Else one without a verdict leaves it open. An interval that reaches into
    the region of practical equivalence passes: the condition was not shown.
    """
    table = decisions.table()
    if "left" not in table:
        raise InputError("--fail-if", "values that are no contrasts", "levels", "Add --over.")
    levels = list(dict.fromkeys([*map(str, table["left"]), *map(str, table["right"])]))
    for level in (gate.level, gate.other):
        if level not in levels:
            raise InputError("--fail-if", repr(level), "a level", nearest(level, levels))
    rows = contrasts_of(table, gate)
    if rows.empty:
        raise InputError("--fail-if", gate.text, "levels that are compared with each other")
    broken = rows[rows["relation"].isin(relations(gate))]
    open_rows = rows[rows["verdict"] == "unreliable"]
    said, also = f"{gate.text} in {decisions.quantity}", coverage_words(rows)
    if len(broken):
        shown = "; ".join(
            f"{label}, {direction}"
            for label, direction in zip(broken["label"], broken["direction"], strict=True)
        )
        return Outcome("failed", f"{said}: shown by {shown} than the ROPE.{also}")
    if len(open_rows):
        named = "; ".join(open_rows["label"])
        return Outcome(
            "not judged", f"{said}: no verdict on {named}{why(open_rows, decisions)}.{also}"
        )
    return Outcome("passed", f"{said}: not shown in {len(rows)} contrast(s).{also}")


def why(rows: "pd.DataFrame", decisions: "Decisions") -> str:
    """Why rows have no verdict, and how many draws would do where there are too few."""
    codes = [code for text in rows["withheld"] for code in str(text).split(", ") if code]
    is_open = bool((rows["withheld"] == "").any())
    words = dict.fromkeys(map(short_words, [*codes, *(["unsettled"] if is_open else [])]))
    found = hmetad.notices(decisions.results) if is_open else []
    few = [one.message.rstrip(".") for one in found if one.code == "draws-for-level"]
    return f" ({'; '.join([*words, *few])})"


def coverage_words(rows: "pd.DataFrame") -> str:
    """Which level lacks items that the other has, in a sentence."""
    said = dict.fromkeys(
        f" {row[side]} has {100 * row[f'{side}_coverage']:.0f} % of the items."
        for row in rows.to_dict("records")
        for side in ("left", "right")
        if row.get(f"{side}_coverage", 1) < 1
    )
    return "".join(said)


def contrasts_of(table: "pd.DataFrame", gate: Gate) -> "pd.DataFrame":
    """Contrasts of the two levels, with how the first stands to the second."""
    left, right = table["left"].astype(str), table["right"].astype(str)
    is_so = (left == gate.level) & (right == gate.other)
    is_turned = (left == gate.other) & (right == gate.level)
    turned = {"greater": "less", "less": "greater", "": ""}
    direction = table["direction"].where(~is_turned, table["direction"].map(turned))
    return table.assign(relation=direction)[is_so | is_turned]


def relations(gate: Gate) -> tuple[str, ...]:
    """Directions that break a condition."""
    directions = {"less than": ("less",), "greater than": ("greater",)}
    return directions.get(gate.relation, ("less", "greater"))
