"""hmetad inside Inspect: metrics, a scorer that reads confidence, and columns for `samples_df`.

Scores of samples → numbers in the log of the evaluation; a completion → its stated confidence.
Inspect finds the names by the entry point of the package: ``hmetad/auroc2``.
Source: inspect-ai 0.3.285.
"""

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, Literal

import pandas as pd
from inspect_ai import scorer as scoring
from inspect_ai.analysis import Column, EvalModel, EvalTask, SampleScores, SampleSummary
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target
from inspect_ai.solver import TaskState

from hmetad.logs.inspect_ai import letter_values
from hmetad.logs.stated import Scale, parse_confidence
from hmetad.logs.statements import as_number, stated_wording
from hmetad.logs.trials import verdict
from hmetad.rows.sample_frames import GRADES, WITHHELD
from hmetad.tool_metrics import metric_of, refuse_unknown, stated_confidence

# Metadata of a score: what a scorer of this module adds.
CONFIDENCE, UNREAD, TARGET, OPTIONS = "confidence", "confidence_unread", "target", "options"


def metric_named(name: str) -> Callable[..., Metric]:
    """Metric of this package, registered with Inspect, of the scores of all samples and epochs."""

    def create(**options: float) -> Metric:
        refuse_unknown(name, options)

        def compute(scores: list[SampleScore]) -> scoring.Value:
            return metric_of(name, trials_of_scores(scores), **options) if scores else nan

        return compute

    # Reduced scores have neither abstentions nor the confidence of an epoch.
    return scoring.metric(name=name, scores="unreduced")(create)


auroc2 = metric_named("auroc2")
ece_debiased = metric_named("ece_debiased")
brier = metric_named("brier")
coverage = metric_named("coverage")
expected_score = metric_named("expected_score")
meta_i = metric_named("meta_i")
dprime = metric_named("dprime")
criterion = metric_named("criterion")
m_ratio = metric_named("m_ratio")


USUAL = [scoring.accuracy(), scoring.stderr(), auroc2(), ece_debiased(), brier(), coverage()]


@scoring.scorer(metrics=USUAL)
def with_confidence(
    graded: Scorer,
    source: Literal["completion", "logprobs"] = "completion",
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
) -> Scorer:
    """Scores of another scorer, with the confidence of the answer in their metadata.

    Parameters
    ----------
    graded : Scorer
        Scorer that says what is correct, such as ``match()``.
    source : {"completion", "logprobs"}, optional
        What confidence is read from: a statement in the completion, or the log-probabilities of the
        letters of a multiple choice.
    field, pattern, words, scale
        Where and how confidence is stated, as for `hmetad.logs.parse_confidence`. The scale of bare
        numbers is not guessed from one sample: without `scale` they are not read.

    Returns
    -------
    Scorer
        Its scores have in their metadata ``confidence`` (probability), or ``confidence_unread``
        (the reason), and ``target`` and ``options``, which metrics of choices need.
    """
    wording = stated_wording(field=field, pattern=pattern, words=words)

    async def score(state: TaskState, target: Target) -> Score | None:
        found = await graded(state, target)
        if found is None:
            return None
        if source == "logprobs":
            read = of_letters(state, found)
        else:
            read = stated_confidence(state.output.completion, wording, scale)
        more = {TARGET: target.text, OPTIONS: len(state.choices) or None}
        return found.model_copy(update={"metadata": {**(found.metadata or {}), **more, **read}})

    return score


def of_letters(state: TaskState, found: Score) -> dict[str, Any]:
    """Probability of the letter that was answered, or why there is none."""
    options = sorted(state.choices, key=lambda choice: choice.original_position)
    sample = {
        "choices": [choice.value for choice in options],
        "output": state.output.model_dump(),
        "scores": {"score": found.model_dump()},
    }
    read = letter_values(sample, found.answer)
    return {CONFIDENCE: read[CONFIDENCE]} if CONFIDENCE in read else {UNREAD: read["missing"]}


def trials_of_scores(scores: list[SampleScore]) -> pd.DataFrame:
    """Trials of the scores of samples, as the metrics take them."""
    rows = []
    for one in scores:
        grade, own = one.score.value, one.score.metadata or {}
        is_withheld = grade == WITHHELD
        rows.append(
            {
                "item": str(one.sample_id),
                "correct": None if is_withheld else verdict(grade, None, GRADES)[0],
                "confidence": own.get(CONFIDENCE, (one.sample_metadata or {}).get(CONFIDENCE)),
                "abstained": (one.score.reason or "no answer") if is_withheld else None,
                "answer": one.score.answer,
                TARGET: own.get(TARGET),
                OPTIONS: own.get(OPTIONS),
            }
        )
    trials = pd.DataFrame(rows).astype({"correct": "boolean"})
    if any(isinstance(one, str) for one in trials["confidence"]):
        trials["confidence"] = parse_confidence(trials["confidence"])["confidence"]
    return trials.assign(confidence=trials["confidence"].map(as_number))


# Samples with their model, task, scores and confidence: measures take the frame as it is.
TrialColumns: list[Column] = [*EvalModel, *EvalTask, *SampleSummary, *SampleScores]
