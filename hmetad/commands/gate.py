"""A condition under which a comparison fails, for continuous integration.

Text such as "new worse than old" and decisions → outcome, its sentence and an exit status.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.base.errors import ChoiceError, ConflictError
from hmetad.base.notice_registry import short_words
from hmetad.base.results import best_end, refuse_biased
from hmetad.commands.answer import Answer
from hmetad.commands.options import options_named
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.compare.decisions import Decisions

    type Sources = Mapping[str, xr.DataTree | xr.Dataset]

CONDITION = re.compile(
    r"(.*?\S) (?P<not>not )?((worse|better|less|greater) than|different from) (.*\S.*)"
)
STATUS = {"passed": 0, "failed": 1, "not judged": 3}
MOST_SHOWN = 5


@dataclass(frozen=True)
class Gate:
    """How a level of the compared column may not stand to another, or has to.

    Parameters
    ----------
    level, other : str
    relation : str
        Of numbers: less than, greater than or different from, or "not" and one of these.
    text : str
        As it was written.
    option : str
        Option that it was written for.
    """

    level: str
    relation: str
    other: str
    text: str
    option: str = "--fail-if"

    @property
    def must_hold(self) -> bool:
        """Whether the comparison fails unless this is shown, and not if it is."""
        return self.option == "--fail-unless"


@dataclass(frozen=True)
class Outcome:
    """Whether a comparison passed, why, in a sentence, and the first contrast that decides it."""

    word: str
    sentence: str
    row: "pd.Series[Any]"

    @property
    def status(self) -> int:
        """Exit status of the command."""
        return STATUS[self.word]


def asked_gate(fail_if: str | None, fail_unless: str | None, quantity: str) -> Gate | None:
    """Condition that one of the options has."""
    if fail_if is not None and fail_unless is not None:
        raise ConflictError("--fail-unless", "--fail-if")
    if fail_unless is not None:
        return parse_gate(fail_unless, quantity, "--fail-unless")
    return None if fail_if is None else parse_gate(fail_if, quantity)


def parse_gate(text: str, quantity: str, option: str = "--fail-if") -> Gate:
    """Condition that was written, with "worse" and "better" said as less or greater.

    Examples
    --------
    >>> parse_gate("new worse than old", "auroc2").relation
    'less than'
    >>> parse_gate("new not worse than old", "brier", "--fail-unless").relation
    'not greater than'
    """
    found = CONDITION.fullmatch(text)
    if found is None:
        allowed = "LEVEL worse than LEVEL (or better, less, greater; or not worse than)"
        raise ChoiceError(option, repr(text), allowed)
    refuse_biased(quantity, "--var")
    level, other = found[1].strip(), found[5].strip()
    negation, words, quality = found["not"] or "", found[3], found[4]
    relation = words
    if quality in ("worse", "better"):
        best = best_end(quantity.removeprefix("log ratio of "))
        if not best:
            step = "Write less than, or greater than."
            raise ChoiceError(option, f"{words} of {quantity}", "a quantity with a best end", step)
        is_less = (quality == "worse") == (best == "more")
        relation = "less than" if is_less else "greater than"
    text = f"{level} {negation}{words} {other}"
    return Gate(level, negation + relation, other, text, option)


def judge_gate(gate: Gate, decisions: "Decisions", sources: "Sources") -> Outcome:
    """Outcome of a condition, which has to be shown of every contrast, or may be of none.

    One that breaks it fails. Else one without a verdict leaves it open. `sources` are the draws
    by name, whose numbers of trials the sentence says.
    """
    with options_named(dict.fromkeys(("decisions", "level", "other"), gate.option)):
        # The type checker knows relations as words alone.
        relation: Any = gate.relation
        rows = hmetad.compare.relation_table(decisions, gate.level, relation, gate.other)
    is_open, broken = rows["shown"].isna(), rows["shown"] == (not gate.must_hold)
    said, also = f"{gate.text} in {decisions.quantity}", coverage_words(gate, decisions)
    if is_open.any() and not broken.any():
        labels = "; ".join(rows["label"][is_open])
        text = f"{said}: no verdict on {labels}{why(rows, decisions)}.{also}"
        return Outcome("not judged", text, rows[is_open].iloc[0])
    concerned = rows[broken] if broken.any() else rows
    found = "shown by" if broken.any() != gate.must_hold else "not shown by"
    level = in_percent(1 - (1 - decisions.ci_prob) / decisions.comparisons)
    low, high = rows[["rope_lower", "rope_upper"]].iloc[0]
    basis = f"{level} intervals, ROPE {low:g} to {high:g}{trials_words(gate, decisions, sources)}"
    word = "failed" if broken.any() else "passed"
    text = f"{said}: {found} {numbers_of(concerned)} ({basis}).{also}"
    return Outcome(word, text, concerned.iloc[0])


def with_outcome(answer: Answer, gate: Gate, outcome: Outcome) -> Answer:
    """Answer with whether the comparison passed."""
    asked = gate.option.removeprefix("--").replace("-", "_")
    said = {asked: gate.text, "outcome": outcome.word, "because": outcome.sentence}
    numbers = outcome.row.rename({"label": "contrast", "mean": "difference"})
    fields = ["contrast", "difference", "lower", "upper", "verdict"]
    gated = {**said, **dict(zip(fields, numbers[fields], strict=True)), "exit": outcome.status}
    return answer.adding(gate=gated)


def coverage_words(gate: Gate, decisions: "Decisions") -> str:
    """Which level lacks items that the other has, in a sentence."""
    compared = {gate.level, gate.other}
    said = dict.fromkeys(
        f" {row[side]} has {min(100 * row[f'{side}_coverage'], 99.9):.3g} % of the items."
        for row in decisions.table().to_dict("records")
        for side in ("left", "right")
        if {str(row["left"]), str(row["right"])} == compared and row.get(f"{side}_coverage", 1) < 1
    )
    return "".join(said)


def numbers_of(rows: "pd.DataFrame") -> str:
    """Contrasts with their intervals, the first few of many."""
    ends = rows[["rope_lower", "rope_upper"]].abs().iloc[0]
    # As many as the ROPE has.
    digits = max(3, -math.floor(math.log10(min((x for x in ends if 0 < x < 1), default=1))))
    shown = [
        "{}, {} [{}, {}]".format(
            row.label, *(format_cell(x, f"z.{digits}f") for x in (row.mean, row.lower, row.upper))
        )
        for row in rows.head(MOST_SHOWN).itertuples()
    ]
    more = f"; and {len(rows) - MOST_SHOWN} more" if len(rows) > MOST_SHOWN else ""
    return "; ".join(shown) + more


def trials_words(gate: Gate, decisions: "Decisions", sources: "Sources") -> str:
    """Numbers of trials of the two levels, where draws have them."""
    found = hmetad.compare.trials_by_level(sources, str(decisions.results.attrs["over"]))
    levels = [level for level in (gate.level, gate.other) if level in found]
    counted = [f"{level} {found[level]:,.0f}" for level in levels]
    return f"; trials: {', '.join(counted)}" if counted else ""


def why(rows: "pd.DataFrame", decisions: "Decisions") -> str:
    """Why rows have no verdict, and how many draws would do where there are too few."""
    unknown = rows[rows["shown"].isna()]
    codes = [code for text in unknown["withheld"] for code in str(text).split(", ") if code]
    is_open = bool((unknown["withheld"] == "").any())
    words = dict.fromkeys(map(short_words, [*codes, *(["unsettled"] if is_open else [])]))
    found = hmetad.notices(decisions.results) if is_open else []
    few = [one.message.rstrip(".") for one in found if one.code == "draws-for-level"]
    return f" ({'; '.join([*words, *few])})"
