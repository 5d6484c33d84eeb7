"""Trials of a table whose columns and codes a record describes, and guesses at such a record.

DataFrame and a record (roles of columns, labels, levels, what to leave out) → DataFrame of trials
under the names that `count_trials` expects. DataFrame that nobody described → list of Guess, each
with its reason, and the record that they make together. Names are looked at first, then values:
stimulus and response must have the same codes, and agree as often as correctness says.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hmetad.base.errors import ColumnError, LabelError, NumberError
from hmetad.counts.columns import as_correct, refuse_absent, suspected_codes
from hmetad.counts.tables import below_half
from hmetad.rows.duplicates import plain_name

BY = ("subject", "task", "condition", "group")
# What a trial must have, as far as the table has it.
NEEDED = ("subject", "stimulus", "response", "confidence", "correct")
# What of it is of the answer.
ANSWERED = ("response", "confidence", "correct")
# Response times, which follow from the answer.
RESPONSE_TIME = re.compile(r"(.*_)?(rts?|latency|(response|reaction|decision)_?times?)(_.*)?")
# Confidence of so many values or fewer is levels; of more, quantiles are made.
MOST_LEVELS, SURELY_MANY, QUANTILES = 12, 20, 6
# Stimulus and response have at most so many codes, in most rows; rarer codes stand for no answer.
MOST_OPTIONS, MOST, RARE = 12, 0.75, 0.05
# A scale from 1 to at most 7 has no 0 where 0 is rarer than this.
LONGEST, RAREST = 7, 0.005
# Agreement with correctness that settles what codes mean; standard errors of a clear difference.
AGREES, CLEAR = 0.95, 3.0


# Trials by a record


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


# Guesses at a record


class Guess(NamedTuple):
    """What is taken for a fact of a table, whether that is sure, and why."""

    fact: str
    value: Any
    is_sure: bool
    reason: str


def guess_table(table: pd.DataFrame) -> list[Guess]:
    """All guesses about a table: roles of columns, rows that are no trials, codes, and levels."""
    guesses = [*named_roles(table)]
    lost = {"subject", "confidence", "stimulus", "response"} - {one.fact for one in guesses}
    guesses += [Guess(role, None, False, "no column is named so") for role in sorted(lost)]
    guesses += rows_left_out(table, [one.value for one in guesses if one.fact in NEEDED])
    trials = trial_rows(table, guessed_record(guesses))
    guesses += answer_codes(trials)
    record = guessed_record(guesses)
    is_known = len(record.get("labels", [])) > 1 or "correct" in record["columns"]
    right = with_answers(trials, record)["correct"] if is_known else pd.Series(dtype=object)
    times = [x for x in table if RESPONSE_TIME.fullmatch(plain_name(x))]
    is_silent = table.loc[trials.index, times].isna().any(axis=1)
    return [*guesses, *rating_codes(trials, right.map({True: 1.0, False: 0.0}), is_silent)]


def guessed_record(guesses: Sequence[Guess]) -> dict[str, Any]:
    """Record of a table, in the form of those of the Confidence Database."""
    facts: dict[str, Any] = {}
    for one in guesses:
        is_part = isinstance(one.value, dict)
        facts[one.fact] = facts.get(one.fact, {}) | one.value if is_part else one.value
    columns = {role: facts.pop(role) for role in names()["names"] if role in facts}
    columns = {role: name for role, name in columns.items() if name is not None}
    return {**facts, "columns": columns, "by": [role for role in BY if role in columns]}


@cache
def names() -> dict[str, Any]:
    """Names and words of columns, by role."""
    return tomllib.loads((files("hmetad.counts") / "guesses.toml").read_text(encoding="utf-8"))


def is_answer_name(name: object) -> bool:
    """Whether a column is named like an answer, its confidence or its time."""
    plain = plain_name(name)
    whole = plain.strip("_0123456789")
    is_one = any(whole in names()["names"][role] for role in ANSWERED)
    words = {*whole.split("_")}
    # A rating of difficulty is one of the item.
    has_word = "difficulty" not in words and bool(words & {*names()["words"]["confidence"]})
    return is_one or has_word or bool(RESPONSE_TIME.fullmatch(plain))


def may_be(role: str, column: pd.Series) -> bool:
    """Whether the values of a column can be those of a role."""
    levels = column.dropna().unique().tolist()
    if role == "correct":
        return bool(levels) and all(as_correct(x) is not None for x in levels)
    most = MOST_OPTIONS if role in BY[1:] else len(column) / (1 + (role not in NEEDED[1:4]))
    return (role in BY[1:]) < len(levels) <= most


def named_roles(table: pd.DataFrame) -> Iterator[Guess]:
    """Columns that are named like a role and have its values, one for each; whole names first."""
    plain = {name: plain_name(name).strip("_0123456789") for name in table.columns}
    others, taken = {*names()["others"]["all"]}, dict[str, Any]()
    for kind in ("names", "words"):
        words = {x: [name] if kind == "names" else name.split("_") for x, name in plain.items()}
        free = [x for x in plain if kind == "names" or not {*words[x]} & others]
        for role, own in names()[kind].items():
            places = {
                x: min(map(own.index, {*words[x]} & {*own}))
                for x in free
                if {*words[x]} & {*own} and x not in taken.values() and may_be(role, table[x])
            }
            if places and role not in taken:
                taken[role] = min(places, key=places.__getitem__)
                is_sure = kind == "names" and (len(places) == 1 or role not in NEEDED)
                reason = f"named like {role}" + ", as others are" * (len(places) > 1)
                yield Guess(role, taken[role], is_sure, reason)


def rows_left_out(table: pd.DataFrame, main: Sequence[Any]) -> Iterator[Guess]:
    """Rows of training, calibration and catch trials."""
    rules, gone = names()["no_trial"], np.zeros(len(table), dtype=bool)
    for name in (x for x in table if x not in main):
        column, words = plain_column(table[name]), {*plain_name(name).split("_")}
        times, is_named = column.value_counts(), bool(words & {*rules["words"]})
        levels = times.index.tolist()
        few = levels if len(levels) <= MOST_OPTIONS else []
        said = [x for x in few if re.match(rules["values"], str(x).lower())]
        reason, is_sure = "named like trials of training, or catch trials", True
        if not said and is_named:
            said, is_sure = levels_of_practice(levels, bool(column.isna().any()))
        if not said and few and "block" in words and 0 < times.get(0, 0) < 0.7 * times.median():
            said, reason, is_sure = [0], "block 0 is shorter than the others", False
        own = column.isin(said).to_numpy()
        # The counters of a loop tell the same rows.
        if (own & ~gone).any() and not own.all():
            gone |= own
            is_sure &= bool(own.sum() < len(table) / 2)
            yield Guess("leave_out", {name: said}, is_sure, reason)


def levels_of_practice(levels: list[Any], has_blanks: bool) -> tuple[list[Any], bool]:
    """Values, the most frequent first, of practice in a column named so; whether that is sure.

    Flags say it of each trial. Counters of practice are blank or 0 in other trials.
    """
    flags = [x for x in levels if as_correct(x) or str(x).lower() == "yes"]
    others = [x for x in levels if as_correct(x) is False or str(x).lower() == "no"]
    is_flag = len(flags) + len(others) == len(levels)
    if has_blanks and not (is_flag and others):
        return levels, is_flag
    if not is_flag and levels and levels[0] == 0:
        return levels[1:], False
    return flags, is_flag


def answer_codes(trials: pd.DataFrame) -> Iterator[Guess]:
    """Labels of stimulus and response, and values that stand for no answer."""
    shown, said = (
        sorted(trials[role].dropna().unique().tolist(), key=lambda x: (isinstance(x, str), x))
        if role in trials
        else []
        for role in ("stimulus", "response")
    )
    shared = [x for x in shown if x in said]
    covers = 1 < len(shared) <= MOST_OPTIONS and trials["stimulus"].isin(shared).mean() > MOST
    if not shown or not said:
        lost = [role for role, x in (("stimulus", shown), ("response", said)) if not x]
        yield from (Guess(x, None, False, "none in the trials") for x in lost if x in trials)
        if "correct" in trials and len(shown or said) == 2:
            yield Guess("labels", shown or said, True, "correctness tells the other one")
    elif len(shown) == 1:
        yield Guess("labels", shown, False, "a single stimulus")
    elif covers or (len(shared) < 2 and len(shown) == len(said) <= MOST_OPTIONS):
        yield from paired_codes(trials, *((shared, shared) if covers else (shown, said)))
    elif len(said) == 2 and "correct" in trials:
        yield Guess("stimulus", None, False, "other values; correctness tells what was shown")
        yield Guess("labels", said, False, "values of the response")
    elif len(said) == 2 and not isinstance(shown[-1], str) and shown[0] < 0 < shown[-1]:
        yield Guess("labels", said, False, "of the response; the second for a stimulus above 0")
        yield Guess("cut", 0, False, "the stimulus has numbers on both sides of 0")
    else:
        reason = f"{len(shown)} values shown and {len(said)} said: not a few options"
        yield from (Guess(role, None, False, reason) for role in ("stimulus", "response"))


def paired_codes(trials: pd.DataFrame, labels: list[Any], own: list[Any]) -> Iterator[Guess]:
    """Labels, those of the response where they differ, and other values: no answers."""
    for role, codes in (("stimulus", labels), ("response", own)):
        others = trials.loc[trials[role].notna() & ~trials[role].isin(codes), role]
        if len(others):
            is_rare = len(others) < RARE * len(trials)
            reason = f"in {len(others)} rows, and never in the other column"
            yield Guess("missing_codes", {role: others.unique().tolist()}, is_rare, reason)
    same = trials["response"].map(dict(zip(own, labels, strict=True))) == trials["stimulus"]
    both = trials["stimulus"].isin(labels) & trials["response"].isin(own)
    is_known = "correct" in trials
    right = trials["correct"].map(as_correct) if is_known else pd.Series(True, index=trials.index)
    agrees = float((same == right)[both & right.notna()].mean())
    is_sure = max(agrees, 1 - agrees) > AGREES if is_known else labels is own and agrees > 0.5
    what = "correctness is their agreement" if is_known else "they agree"
    reason = f"{what} in {agrees:.1%} of trials"
    is_turned = len(labels) == 2 and agrees < (1 - AGREES if labels is own else 0.5)
    if labels is own and len(labels) == 2 and not is_turned and are_opposite(trials[both], labels):
        is_turned, is_sure = True, False
        reason += ", and most people choose the other label: its codes may be swapped"
    if is_known and not is_sure and labels is not own and len(own) == 2:
        yield Guess("stimulus", None, False, reason)
        yield Guess("labels", own, False, "correctness tells what was shown")
        return
    yield Guess("labels", labels, is_sure, reason)
    if is_turned or labels is not own:
        yield Guess("response_labels", own[::-1] if is_turned else own, is_sure, reason)


def are_opposite(trials: pd.DataFrame, labels: Sequence[Any]) -> bool:
    """Whether most people choose the label that was not shown."""
    who = trials["subject"] if "subject" in trials else pd.Series(0, trials.index)
    unit, people = pd.factorize(who)
    is_second = [
        (trials[role] == labels[1]).to_numpy(dtype=int) for role in ("stimulus", "response")
    ]
    values = np.zeros((len(people), 2, 2, 1), dtype=np.int64)
    np.add.at(values, (unit, *is_second, 0), unit >= 0)
    return len(people) > 0 and below_half(values) is not None


def rating_codes(trials: pd.DataFrame, right: pd.Series, is_silent: pd.Series) -> Iterator[Guess]:
    """Levels of confidence or quantiles, codes for none, and which way the scale goes.

    A confidence of 0 is a code where rows without a response time, and hardly others, have it.
    """
    if "confidence" not in trials:
        return
    numbers = pd.to_numeric(trials["confidence"], errors="coerce")
    words = trials["confidence"][numbers.isna()].dropna().unique().tolist()
    if words and numbers.notna().mean() < 0.5:
        yield Guess("levels", words, False, "words, whose order is not known")
        return
    values, times = np.unique(numbers.dropna(), return_counts=True)
    codes = [*words, *suspected_codes(values, times)]
    if [*values] == [*range(len(values))] and 2 < len(values) <= LONGEST + 1:
        codes += [0] * bool(times[0] < RAREST * times.sum())
    zero = numbers == 0
    if 0 not in codes and zero.any() and (is_silent == zero).mean() > AGREES:
        codes += [0] * bool(is_silent[zero].mean() > AGREES)
    if codes:
        reason = "no numbers, far from the others, far rarer, or without a response time"
        yield Guess("missing_codes", {"confidence": codes}, 0 not in codes, reason)
    numbers = numbers.mask(numbers.isin(codes))
    centre = shared_centre(numbers, trials["response"]) if "response" in trials else None
    if centre is not None:
        yield Guess("centre", centre, True, "each response has its side of the scale")
        numbers = (numbers - centre).abs().round(9)
    who = trials["subject"] if "subject" in trials else pd.Series(0, index=trials.index)
    tells = (numbers - numbers.groupby(who).transform("mean")).corr(right) * np.sqrt(len(trials))
    if tells < -CLEAR:
        yield Guess("reversed", True, False, "wrong answers have larger values than right ones")
    values = np.unique(numbers.dropna() * (-1 if tells < -CLEAR else 1))
    is_sure = bool(tells > CLEAR) and not MOST_LEVELS < len(values) <= SURELY_MANY
    unclear = "" if abs(tells) > CLEAR else ", perhaps the larger the surer"
    reason = f"{len(values)} values{unclear}"
    is_few = len(values) <= MOST_LEVELS
    fact, value = ("levels", values.tolist()) if is_few else ("quantiles", QUANTILES)
    yield Guess(fact, value, is_sure, reason)


def shared_centre(numbers: pd.Series, response: pd.Series) -> float | None:
    """Middle of a scale of which each of two responses has one side, but for 1 % of trials."""
    sides = sorted((side.dropna() for _, side in numbers.groupby(response)), key=pd.Series.median)
    if len(sides) != 2 or min(side.nunique() for side in sides) < 2:
        return None
    ends = float(sides[0].quantile(0.99)), float(sides[1].quantile(0.01))
    middles = (0.0, float(numbers.min() + numbers.max()) / 2, sum(ends) / 2)
    return next((x for x in middles if ends[0] <= x <= ends[1] > ends[0]), None)
