"""A condition under which a comparison fails, for continuous integration.

Text such as "new worse than old" and decisions → outcome, its sentence and an exit status.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hmetad
from hmetad.base.errors import (
    ChoiceError,
    ConflictError,
    EmptyError,
    KindError,
    UnknownError,
    nearest,
)
from hmetad.base.lazy import import_on_call
from hmetad.base.notice_registry import short_words
from hmetad.base.results import best_end, refuse_biased
from hmetad.commands.answer import Answer
from hmetad.commands.options import option_name, options_named, parse_limits
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.compare.decisions import Decisions

CONDITION = re.compile(
    r"(.*?\S) (?P<not>not )?((worse|better|less|greater) than|different from) (.*\S.*)"
)
# Exit status of each outcome, the worst last.
STATUS = {"passed": 0, "not judged": 3, "failed": 1}
MOST_SHOWN = 5
KINDS = ("fail_if", "fail_unless")
FIELDS = ("contrast", "difference", "lower", "upper", "rope_lower", "rope_upper", "verdict")
# Keys of a gate in a file.
KEYS = (*KINDS, "var", "rope")
read_toml: Callable[..., Any] = import_on_call("hmetad.specs.loading", "read_toml")


@dataclass(frozen=True)
class Gate:
    """How a level of the compared column may not stand to another, or has to.

    Parameters
    ----------
    level, other : str
    relation : str
        Of numbers: less than, greater than or different from, or "not" and one of these.
    quantity : str
    rope : tuple of float
    kind : str
        "fail_if" or "fail_unless": whether what is shown, or what is not, makes it fail.
    text : str
        As it was written.
    place : str
        Where it was written: an option, or a table of a file.
    """

    level: str
    relation: str
    other: str
    quantity: str
    rope: tuple[float, float]
    kind: str
    text: str
    place: str

    @property
    def must_hold(self) -> bool:
        """Whether the comparison fails unless this is shown, and not if it is."""
        return self.kind == "fail_unless"


@dataclass(frozen=True)
class Outcome:
    """Whether a comparison passed, why, in a sentence, and the first contrast that decides it."""

    gate: Gate
    word: str
    sentence: str
    row: "pd.Series[Any]"

    def record(self) -> dict[str, Any]:
        """The outcome for other programs; `exit` is the exit status."""
        said = {self.gate.kind: self.gate.text, "quantity": self.gate.quantity}
        said |= {"outcome": self.word, "because": self.sentence}
        numbers = self.row.rename({"label": "contrast", "mean": "difference"})
        return {**said, **{name: numbers[name] for name in FIELDS}, "exit": STATUS[self.word]}


def asked_gates(
    typed: Mapping[str, Iterable[str]], path: Path | None, quantity: str, rope: Any
) -> list[Gate]:
    """Gates of the options, then those of a file, which may name another quantity or ROPE."""
    tables: list[Any] = [{kind: text} for kind in typed for text in typed[kind]]
    places = [option_name(kind) for kind in typed for _ in typed[kind]]
    if path is not None:
        content = read_toml(path, "--gates", "gates in TOML")
        listed = content.get("gate")
        are_tables = isinstance(listed, list) and all(isinstance(one, dict) for one in listed)
        if [*content] != ["gate"] or not are_tables or not listed:
            got = f"{', '.join(map(repr, content)) or 'nothing'} in {path}"
            raise KindError("--gates", got, "a table [[gate]] for each gate")
        tables += listed
        places += [f"{path}, gate {number}" for number in range(1, len(listed) + 1)]
    first: dict[tuple[Any, ...], Gate] = {}
    for table, place in zip(tables, places, strict=True):
        gate = gate_of(table, place, quantity, rope)
        key = (gate.level, gate.relation, gate.other, gate.quantity, gate.rope)
        other = first.setdefault(key, gate)
        if other is not gate:
            got = f"{gate.text!r} for {gate.quantity} of {other.place}"
            raise ConflictError(f"{gate.text!r} of {place}", got, next_step="Give it once.")
    return [*first.values()]


def gate_of(table: Mapping[str, Any], place: str, quantity: str, rope: Any = None) -> Gate:
    """Gate of a table: a condition, and the quantity and ROPE where they are not those given.

    Examples
    --------
    >>> gate_of({"fail_if": "new worse than old"}, "", "auroc2", (-0.02, 0.02)).relation
    'less than'
    >>> table = {"fail_unless": "new not worse than old", "var": "brier", "rope": [-0.01, 0.01]}
    >>> gate_of(table, "", "auroc2").relation
    'not greater than'
    """
    for key, value in table.items():
        if key not in KEYS:
            raise UnknownError(place, repr(key), ", ".join(KEYS), nearest(key, KEYS))
        if key != "rope" and not isinstance(value, str):
            raise KindError(f"{place}, {key}", repr(value), "text in quotes")
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        raise ChoiceError(place, " and ".join(kinds) or "neither", "fail_if or fail_unless")
    if "rope" in table:
        with options_named({"--rope": f"{place}, rope"}):
            rope = parse_limits(str(table["rope"]).strip("[]"), "rope = [{}]")
    if rope is None:
        step = "Write rope = [-0.05, 0.05] there, or --rope=-0.05,0.05."
        raise EmptyError(place, "no ROPE", "two numbers", step)
    return parse_gate(table[kinds[0]], table.get("var", quantity), rope, kinds[0], place)


def parse_gate(text: str, quantity: str, rope: tuple[float, float], kind: str, place: str) -> Gate:
    """Condition that was written, with "worse" and "better" said as less or greater."""
    found = CONDITION.fullmatch(text)
    if found is None:
        allowed = "LEVEL worse than LEVEL (or better, less, greater; or not worse than)"
        raise ChoiceError(place, repr(text), allowed)
    refuse_biased(quantity, place)
    level, other = found[1].strip(), found[5].strip()
    negation, words, quality = found["not"] or "", found[3], found[4]
    relation = words
    if quality in ("worse", "better"):
        best = best_end(quantity)
        if not best:
            step = "Write less than, or greater than."
            raise ChoiceError(place, f"{words} of {quantity}", "a quantity with a best end", step)
        is_less = (quality == "worse") == (best == "more")
        relation = "less than" if is_less else "greater than"
    text = f"{level} {negation}{words} {other}"
    return Gate(level, negation + relation, other, quantity, rope, kind, text, place)


def judge_gate(gate: Gate, decisions: "Decisions") -> Outcome:
    """Outcome of a condition, which has to be shown of every contrast, or may be of none.

    One that breaks it fails. Else one without a verdict leaves it open.
    """
    with options_named(dict.fromkeys(("decisions", "level", "other"), gate.place)):
        # The type checker knows relations as words alone.
        relation: Any = gate.relation
        rows = hmetad.compare.relation_table(decisions, gate.level, relation, gate.other)
    is_open, broken = rows["shown"].isna(), rows["shown"] == (not gate.must_hold)
    penalty = decisions.results.attrs.get("penalty")
    at = "" if penalty is None else f" at penalty {penalty:g}"
    said = f"{gate.text} in {decisions.quantity}{at}"
    if is_open.any() and not broken.any():
        labels = "; ".join(rows["label"][is_open])
        text = f"{said}: no verdict on {labels}{why(rows, decisions)}."
        return Outcome(gate, "not judged", text, rows[is_open].iloc[0])
    concerned = rows[broken] if broken.any() else rows
    found = "shown by" if broken.any() != gate.must_hold else "not shown by"
    level = in_percent(1 - (1 - decisions.ci_prob) / decisions.comparisons)
    low, high = rows[["rope_lower", "rope_upper"]].iloc[0]
    basis = f"{level} intervals, ROPE {low:g} to {high:g}"
    word = "failed" if broken.any() else "passed"
    text = f"{said}: {found} {numbers_of(concerned)} ({basis})."
    return Outcome(gate, word, text, concerned.iloc[0])


def with_outcomes(answer: Answer, outcomes: Iterable[Outcome]) -> Answer:
    """Answer with what became of each gate, and of the worst, the first of equals."""
    records = [one.record() for one in outcomes]
    worst = max(records, key=lambda one: [*STATUS].index(one["outcome"]))
    return answer.adding(gate=worst, gates=records)


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


def why(rows: "pd.DataFrame", decisions: "Decisions") -> str:
    """Why rows have no verdict, and how many draws would do where there are too few."""
    unknown = rows[rows["shown"].isna()]
    codes = [code for text in unknown["withheld"] for code in str(text).split(", ") if code]
    is_open = bool((unknown["withheld"] == "").any())
    words = dict.fromkeys(map(short_words, [*codes, *(["unsettled"] if is_open else [])]))
    found = hmetad.notices(decisions.results) if is_open else []
    few = [one.message.rstrip(".") for one in found if one.code == "draws-for-level"]
    return f" ({'; '.join([*words, *few])})"
