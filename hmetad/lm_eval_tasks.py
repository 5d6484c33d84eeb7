"""hmetad inside lm-evaluation-harness: what a task in YAML names by ``!function``.

A document and its results → correctness and confidence; those of all documents → metrics.
Source: lm-eval 0.4.13. It reads functions from a file beside the task, which imports these.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from hmetad.base.errors import ChoiceError
from hmetad.counts.columns import as_text
from hmetad.logs.answer_options import option_confidence
from hmetad.logs.inspect_ai import LETTERS
from hmetad.logs.stated import Scale
from hmetad.logs.statements import compile_pattern, fold_word, in_pattern, stated_wording
from hmetad.tool_metrics import metric_of, refuse_unknown, stated_confidence

type Results = Callable[[Mapping[str, Any], Sequence[Any]], dict[str, Any]]

USUAL = ("auroc2", "ece_debiased", "brier")


def aggregation_named(name: str, **options: float) -> Callable[[Sequence[Mapping[str, Any]]], Any]:
    """Aggregation of the harness: a metric of what `choice_results` or `stated_results` gave.

    It is NaN, with a warning, if the metric cannot be computed; an unknown name is an error at
    once.

    Examples
    --------
    >>> item = {"correct": True, "confidence": 0.9, "abstained": None}
    >>> errors = [{**item, "correct": False}] * 2
    >>> aggregation_named("expected_score", penalty=2.0)([item, item, *errors])
    -0.5
    """
    refuse_unknown(name, options)

    def aggregate(items: Sequence[Mapping[str, Any]]) -> Any:
        return metric_of(name, pd.DataFrame([*items]), **options)

    return aggregate


auroc2 = aggregation_named("auroc2")
ece_debiased = aggregation_named("ece_debiased")
brier = aggregation_named("brier")
coverage = aggregation_named("coverage")
expected_score = aggregation_named("expected_score")
meta_i = aggregation_named("meta_i")
dprime = aggregation_named("dprime")
m_ratio = aggregation_named("m_ratio")


def choice_results(target: str, metrics: Sequence[str] = USUAL) -> Results:
    """``process_results`` of a multiple choice: confidence is the probability of the choice.

    Parameters
    ----------
    target : str
        Field of a document with the correct option, its number from 0 or its letter. Another label
        is refused.
    metrics : sequence of str, optional
        Metrics of the task's ``metric_list`` whose aggregation is of this module.

    Returns
    -------
    callable
        Document and log-likelihoods → ``acc``, and each metric with what it is made of; for more
        than 26 options not what ``dprime`` and ``m_ratio`` are made of.

    Examples
    --------
    >>> found = choice_results("label")({"label": 1}, [(-2.0, False), (-1.0, True)])
    >>> found["acc"], round(found["auroc2"]["confidence"], 2)
    (1.0, 0.73)
    """

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        found = option_confidence([result[0] for result in results])
        right, chosen = right_option(doc, target, len(results)), found.get("chosen")
        item: dict[str, Any] = {"correct": chosen == right, "confidence": found.get("confidence")}
        # Options without a letter have no measures of choices.
        letters: dict[Any, str] = dict(enumerate(LETTERS if len(results) <= len(LETTERS) else ""))
        item |= {"answer": letters.get(chosen), "target": letters.get(right)}
        item |= {"abstained": None, "options": len(results)}
        return {"acc": float(chosen == right), **dict.fromkeys(metrics, item)}

    return process_results


def right_option(doc: Mapping[str, Any], field: str, number: int) -> int:
    """Number of the correct option, from 0, of so many options."""
    value = doc.get(field)
    label = as_text(int(value) if isinstance(value, bool) else value).strip().upper()
    # All numbers, and then the letters in the same order.
    names = [*map(str, range(number)), *LETTERS[:number]]
    if label not in names:
        allowed = f"one of {number} options, by its number from 0 or its letter"
        step = "Name the field of the correct option: choice_results(FIELD)."
        raise ChoiceError(f"field {field!r}", repr(value), allowed, step)
    return names.index(label) % number


def stated_results(
    target: str,
    metrics: Sequence[str] = USUAL,
    *,
    answer_pattern: str | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
) -> Results:
    r"""``process_results`` of generated answers that state their confidence.

    Parameters
    ----------
    target : str
        Field of a document with the correct answer, compared without case and quotes.
    metrics : sequence of str, optional
        Metrics of the task's ``metric_list`` whose aggregation is of this module.
    answer_pattern : str, optional
        Regular expression with one group, the answer; a response without it is an abstention. By
        default the first line of the response is the answer.
    field, pattern, words, scale
        Where and how confidence is stated, as for `hmetad.logs.parse_confidence`. The scale of bare
        numbers is not guessed from one response: without `scale` they are not read.

    Returns
    -------
    callable
        Document and responses → ``exact_match``, and each metric with what it is made of.

    Examples
    --------
    >>> results = stated_results("answer", answer_pattern=r"Answer: (\w+)")
    >>> found = results({"answer": "Bern"}, ["Answer: bern\nConfidence: 80%"])
    >>> found["exact_match"], found["auroc2"]["confidence"]
    (1.0, 0.8)
    """
    wording = stated_wording(field=field, pattern=pattern, words=words)
    expression = compile_pattern(answer_pattern, "answer_pattern") or re.compile(r"\A\s*(.+)")

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        text = results[0] if isinstance(results[0], str) else results[0][0]
        answer = next(reversed(in_pattern(text, expression)), None)
        is_right = answer is not None and fold_word(answer) == fold_word(str(doc[target]))
        item: dict[str, Any] = {"correct": None if answer is None else is_right, "confidence": None}
        item |= {"abstained": "no answer" if answer is None else None, "answer": answer}
        item |= {"target": str(doc[target]), **stated_confidence(text, wording, scale)}
        return {"exact_match": float(is_right), **dict.fromkeys(metrics, item)}

    return process_results
