"""How often a model gives the same answer again: confidence without log-probabilities.

Trials with several answers to each item → DataFrame, one row per item, with the share that agrees.
Source: self-consistency, Wang et al. (2023); the share as confidence, Xiong et al. (2024).
"""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, ColumnError, InputError, TakenError, TooFewError
from hmetad.base.notice import first_few, notice_of
from hmetad.counts.columns import as_correct, as_text, check_roles
from hmetad.counts.items import (
    GROUPS,
    answers_of_one_time,
    columns_of_questions,
    columns_that_differ,
)
from hmetad.counts.noticed import add_notices
from hmetad.logs.json_files import json_value
from hmetad.logs.statements import fold_word, is_missing
from hmetad.rows.tables import rows_of

Judged = Literal["modal", "graded"]

# What readers call the parts of a trial, in the order in which they are looked for.
LISTS = "answers"
ANSWERS = (LISTS, "answer", "chosen", "response")
FEWEST = 2
OWN = ("item", "target", "answer", "correct", "confidence", "confidence_se", "samples")


# How filters are named whose grade is that of the answer given most often.
VOTES = re.compile(r"maj|vot", re.IGNORECASE)


class Answer(NamedTuple):
    """An answer to an item, as it is compared and as it was written, and whether it is right.

    `won` is whether it has the grade of a vote among the answers; None where the first has it.
    """

    key: str | None
    text: Any
    correct: bool | None
    won: bool | None = None


@check_inputs(skip=("trials",))
def agreement(
    trials: pd.DataFrame,
    *,
    answer: str | None = None,
    item: str = "item",
    by: str | Sequence[str] | None = None,
    correct: str = "correct",
    of: Judged = "modal",
) -> pd.DataFrame:
    r"""Proportion of a model's answers to an item that agree, as its confidence.

    Parameters
    ----------
    trials : DataFrame
        One row per answer, several of each item (Inspect's epochs, several runs of lm-eval); or
        one row per item, with a column of lists of answers (lm-eval's repeats).
    answer : str, optional
        Column of the answers: text or numbers, or lists of them. By default "answers" if it holds
        lists, else "answer", "chosen" or "response".
    item : str, optional
        Column that names the item.
    by : str or sequence of str, optional
        Grouping columns: answers are compared within them. With the item, they identify the
        observer and the question. By default those of "task", "model", "prompt", "filter" and
        "perturbation" that exist; other columns that differ among the answers to an item then raise
        an error (see Notes).
    correct : str, optional
        Column of correctness of the answer; for lists, of the first answer or, if a filter voted,
        of the answer in column "chosen". If that column exists and is missing, the answers of a
        list were graded together, and none has a separate grade.
    of : {"modal", "graded"}, optional
        Which answer is evaluated: the most frequent one (of several the first given); or the graded
        one, which is the first or, if a filter voted, the winning one.

    Returns
    -------
    DataFrame
        One row per item: the columns of `by`, ``item``, ``answer``, ``correct`` (of that answer),
        ``confidence`` (proportion of the answers that agree with it), ``samples`` (number of
        answers compared) and ``confidence_se``; and ``target``, if there is one, and the other
        columns that are the same in all answers to an item. Attrs, JSON-able: ``agreement`` (`of`),
        ``rejected`` (values left missing, per reason), ``notices``, and ``files`` of the trials.

    Raises
    ------
    InputError
        If a column is missing, a grouping column has the name of a result, no item has two answers,
        or, without `by`, answers to an item may be answers to different questions.

    Notes
    -----
    Of n answers, k agree with the evaluated one:

    .. math:: \hat p = k / n, \qquad
        \mathrm{se} = \sqrt{\frac{\tilde p (1 - \tilde p)}{n + 3}}, \quad
        \tilde p = \frac{k + 1}{n + 2}

    the standard deviation of the posterior under a uniform prior, which is not 0 if all agree. The
    modal answer is chosen because it is frequent, so its proportion is too high on average, by at
    most about one standard error, and at least 1/n. The first answer is chosen independently of the
    others: k and n count the other answers, and the proportion is unbiased. A filter of lm-eval
    voted if its name says so ("maj@8", "vote"), or if it chose an answer that several responses
    have and the first has not; the winning answer is treated like the modal answer.

    Two answers are the same if they differ only in case, spaces, quotation marks or a final full
    stop. Missing answers are not in ``samples``. An item with fewer than two answers has no
    confidence. Confidence has few levels with few samples, of n answers at most n + 1.

    Different questions may have the same item, such as number 0 in each of two sets. So without
    `by` the answers to an item may differ only in columns that describe an answer: the repeat
    ("run", "log", "repeat", "epoch", "sample", "seed", and in logs with a "run" or "log" "id" and
    "doc_id"), the answer and its grade, confidence, lists, and measured numbers (more than 20
    different ones with fractions, such as times). Another column that differs, also "target",
    raises an error: name in `by` the columns that distinguish questions, or omit it from `by` on
    purpose. Then a notice names the merged columns. Another (``"answers-of-one-time"``) reports
    answers to an item with the same "repeat", "epoch" or "sample", whose questions cannot be
    distinguished.

    Examples
    --------
    >>> said = pd.DataFrame({"item": ["a"] * 4, "answer": ["4", "4", "5", "4"]})
    >>> agreed = agreement(said.assign(correct=said["answer"] == "4"))
    >>> agreed[["answer", "correct", "confidence", "samples"]].to_dict("records")
    [{'answer': '4', 'correct': True, 'confidence': 0.75, 'samples': 4}]
    >>> float(agreed["confidence_se"].round(3).item())
    0.178
    """
    given = [by] if isinstance(by, str) else list(by or ())
    trials = rows_of(trials).spelled([answer, item, correct, *given]).frame()
    column = answer_column(trials, answer)
    groups = [name for name in GROUPS if name in trials] if by is None else given
    roles = [("answer", column), ("item", item), *(("by", name) for name in groups)]
    check_roles(list(trials.columns), roles)
    for name in (name for name in groups if name in OWN):
        raise TakenError("by", repr(name), f"names other than {', '.join(OWN)}", "Rename it.")
    keys = [*groups, item]
    names = columns_of_questions(trials, [column, correct, *keys])
    checked = [*(name for name in (*GROUPS, "target") if name in trials), *names]
    checked = [name for name in dict.fromkeys(checked) if name not in groups]
    apart = columns_that_differ(trials, keys, checked)
    if by is None and apart:
        raise several_questions(apart, groups)
    same = [name for name in names if name not in apart]
    rejected: Counter[str] = Counter()
    rows, ties = [], 0
    for first, answers in items_of(trials, column, keys, correct):
        row, is_tie = judged_row(answers, of, rejected)
        ties += is_tie
        place = {name: first[name] for name in groups} | {"item": first[item]}
        target = {"target": first["target"]} if "target" in first else {}
        rows.append({**place, **target, **row, **{name: first[name] for name in same}})
    frame = pd.DataFrame(rows)
    if not frame["confidence"].notna().any():
        got, allowed = f"at most one answer to each of {len(frame)} items", "several answers"
        steps = (
            f"Ask each question several times (epochs, repeats), or name the columns with {way}."
            for way in ("item= and by=", "--item and --by")
        )
        raise TooFewError("trials", got, allowed, *steps)
    frame["correct"] = frame["correct"].astype("boolean")
    kept: dict[Hashable | None, Any] = {n: trials.attrs[n] for n in ("files",) if n in trials.attrs}
    kept |= {"agreement": of, "rejected": dict(rejected)}
    at_once = answers_of_one_time(trials, keys)
    found = [notice_of("merged-answers", columns=first_few([*map(repr, apart)]))] if apart else []
    found += [notice_of("answers-of-one-time", number=at_once)] if at_once else []
    found += [notice_of("tied-answers", number=ties, all=len(frame))] if ties else []
    frame.attrs = add_notices(kept, found)
    return frame


def several_questions(apart: Mapping[str, int], groups: Sequence[str]) -> InputError:
    """Error for answers to an item that may be answers to different questions."""
    found = first_few([f"{name!r} (in {number} items)" for name, number in apart.items()])
    got = f"none, where answers to one item differ in {found}"
    known = ", ".join(map(repr, groups)) or "an empty list"
    named = ", ".join(map(repr, (*groups, *(name for name in apart if name not in OWN))))
    such = f", for instance {named}" if named else ""
    allowed = "the columns that tell whose answers to which question they are"
    steps = (
        "Are these different questions, or asked in different ways? Name all such columns with "
        f"{way}{such}. Are they answers to the same question? Then give {known} alone."
        for way in ("by=", "--by")
    )
    return ChoiceError("by", got, allowed, *steps)


def answer_column(trials: pd.DataFrame, answer: str | None) -> str:
    """Column of the answers: the one that was named, or the first that readers give."""
    there = (name for name in ANSWERS if name in trials and trials[name].notna().any())
    column = next(there, None) if answer is None else answer
    if column is not None:
        return column
    got = f"none, for columns {', '.join(map(repr, list(trials.columns)[:10]))}"
    raise ColumnError("answer", got, f"the column of the answers; {', '.join(ANSWERS)} are known")


def items_of(
    trials: pd.DataFrame, column: str, keys: Sequence[str], correct: str
) -> list[tuple[dict[Any, Any], list[Answer]]]:
    """For each item its first row, and its answers in their order."""
    items: dict[tuple[Any, ...], tuple[dict[Any, Any], list[Answer]]] = {}
    rows = [(row, answers_in(column, row[column])) for row in trials.to_dict("records")]
    voting = {filter_of(row) for row, answers in rows if is_vote(row, answers)}
    for row, answers in rows:
        key = tuple(as_text(row[name]) for name in keys)
        verdict = row.get(correct)
        verdict = None if is_missing(verdict) else as_correct(verdict)
        won = answer_key(row.get("chosen", ""))
        # Several answers without a chosen one were graded together: none has the grade.
        if filter_of(row) in voting or ("chosen" in row and won is None and len(answers) > 1):
            answers = [one._replace(won=one.key == won) for one in answers]
        graded = [place == 0 if a.won is None else a.won for place, a in enumerate(answers)]
        items.setdefault(key, (row, []))[1].extend(
            answer._replace(correct=verdict if is_graded else None)
            for answer, is_graded in zip(answers, graded, strict=True)
        )
    return list(items.values())


def answers_in(column: str, value: Any) -> list[Answer]:
    """Answers in a cell: one, or a list of them."""
    if column == LISTS and isinstance(value, str):
        value = json_value(f"column {column!r}", value)
    values = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    return [Answer(answer_key(one), None if is_missing(one) else one, None) for one in values]


def answer_key(value: Any) -> str | None:
    """Answer as it is compared: text without what is around it, in one case."""
    if is_missing(value):
        return None
    return fold_word(value if isinstance(value, str) else as_text(value))


def filter_of(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """What tells filters of answers apart."""
    return tuple(str(row.get(name)) for name in ("task", "model", "filter"))


def is_vote(row: Mapping[Any, Any], answers: Sequence[Answer]) -> bool:
    """Whether the grade of several responses is that of the answer that won a vote among them."""
    keys, won = [answer.key for answer in answers], answer_key(row.get("chosen"))
    is_outvoted = won != keys[0] and keys.count(won) > 1 if won is not None and keys else False
    return len(keys) > 1 and (is_outvoted or bool(VOTES.search(str(row.get("filter", "")))))


def judged_row(
    answers: Sequence[Answer], of: Judged, rejected: Counter[str]
) -> tuple[dict[str, Any], bool]:
    """Values of an item, and whether several of its answers are equally frequent."""
    given = [answer for answer in answers if answer.key is not None]
    rejected.update(["no answer"] * (len(answers) - len(given)))
    judged = next(iter(answers if of == "graded" else given), Answer(None, None, None))
    if of == "graded" and judged.won is not None:
        judged = next((one for one in given if one.won), judged)
        if not judged.won:
            rejected["correct: no response is the graded answer"] += 1
    correct = judged.correct
    if len(given) < FEWEST or judged.key is None:
        rejected["confidence: fewer than two answers to an item"] += 1
        return row_of(judged, correct, 0, 0), False
    counts = Counter(answer.key for answer in given)
    if of == "graded":
        others = 0 if judged.won else 1
        return row_of(judged, correct, counts[judged.key] - others, len(given) - others), False
    # Of equal numbers that of the answer which came first.
    modal, same = counts.most_common(1)[0]
    judged = next(answer for answer in given if answer.key == modal)
    verdicts = {a.correct for a in given if a.key == modal and a.correct is not None}
    correct = verdicts.pop() if len(verdicts) == 1 else None
    if correct is None:
        found = "judged differently" if verdicts else "not graded"
        rejected[f"correct: the modal answer was {found}"] += 1
    return row_of(judged, correct, same, len(given)), [*counts.values()].count(same) > 1


def row_of(answer: Answer, correct: bool | None, same: int, samples: int) -> dict[str, Any]:
    """Columns of an item: its answer, and the share that agrees with it."""
    smoothed = (same + 1) / (samples + 2)
    return {
        "answer": answer.text,
        "correct": correct,
        "confidence": same / samples if samples else np.nan,
        "samples": samples,
        "confidence_se": np.sqrt(smoothed * (1 - smoothed) / (samples + 3)) if samples else np.nan,
    }
