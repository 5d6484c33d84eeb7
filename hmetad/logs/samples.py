"""One sample of a log, whatever tool wrote it, and the one way from samples to trials.

Format, path and choices → DataFrame with a row per sample. A `Format` says which files there are,
and which samples stand in a file; everything after that is the same for all tools.
Source: the softmax, and the lengths that divide, are those of lm-evaluation-harness.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, UnknownError, nearest
from hmetad.logs.choices import Choices, Normalise, of_task
from hmetad.logs.kinds import READERS, recognise_kind
from hmetad.logs.statements import Statement, agree_on, as_number, read_statement
from hmetad.logs.trials import (
    TrialCollector,
    Verdict,
    choice_notices,
    clip_text,
    confidence_notices,
    of_each,
    safe_text,
    verdict,
)

__all__ = [
    "LARGEST_LOG_PROBABILITY",
    "LONGEST_ANSWER",
    "OPTION_METRICS",
    "Format",
    "Log",
    "LogFile",
    "Sample",
    "chosen_runs",
    "letter_confidence",
    "log_likelihood",
    "option_confidence",
    "option_probabilities",
    "read_log",
    "read_samples",
    "trials_of",
]

LONGEST_ANSWER = 1000
# Rounding may lead past 0.
LARGEST_LOG_PROBABILITY = 1e-6
# Metrics of multiple choice, by what divides the log-likelihoods.
OPTION_METRICS = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}
CONTRADICTION = "the option chosen contradicts the metric"


class Sample(NamedTuple):
    """A sample as every format gives it.

    Parameters
    ----------
    place : str
        File and line, for messages.
    meta : dict
        Columns that say which sample it is: task, model, item, repeat and whatever else there is.
    scores : mapping of str to value
        Metrics, and `metrics` those of them that count, unless the caller names one.
    chosen, target : int, str or None
        Number of an option from 0 in multiple choice, else text; without a target it is `right`.
    right : sequence of int
        Numbers of the right options, as far as the log has numbers.
    probabilities : list of float or None
        Of the options.
    confidence : float
        Probability of what was chosen.
    missing : str
        Why there is no answer or no probability, which is counted.
    texts : sequence or None
        Where confidence may be stated; None where it never is.
    responses : sequence
        All responses to the prompt, whose answers may agree.
    score, failed : str or None
        Score as the log has it; why there is none.
    """

    place: str
    meta: dict[str, Any]
    scores: Mapping[str, Any]
    metrics: tuple[str, ...]
    chosen: int | str | None = None
    target: int | str | None = None
    right: Sequence[int] = ()
    probabilities: list[float] | None = None
    confidence: float = math.nan
    missing: str = ""
    texts: Sequence[Any] | None = None
    responses: Sequence[Any] = ()
    score: str | None = None
    failed: str = ""


class Log(NamedTuple):
    """A file of a log: its samples, None for a copy that is left out, and what is kept of it."""

    path: Path
    task: str
    samples: Iterable[Sample | None]
    remark: Any = None


class LogFile(NamedTuple):
    """A file with its task, model and time of the run, by its name and place; config of the task.

    Of the same `origin` and task are runs of each other.
    """

    path: Path
    task: str
    model: str
    run: str
    origin: str
    config: dict[str, Any]


class Format(NamedTuple):
    """How the logs of a tool are read.

    Parameters
    ----------
    files : callable
        Path and `Choices` → the files, of any type that another process can be given.
    samples : callable
        `Choices` and a file → `Log`.
    columns : tuple of str
        Those of a trial, after those that say which sample it is.
    text : str, optional
        Where the text of the model stands, for the notice that nothing else gives a confidence.
    """

    files: Callable[[Path, Choices], Sequence[Any]]
    samples: Callable[[Choices, Any], Log]
    columns: tuple[str, ...] = (
        "chosen",
        "target",
        "correct",
        "confidence",
        "option_probabilities",
        "answers",
    )
    text: str = ""


@check_inputs()
def read_log(kind: str, path: str | Path, **options: Any) -> pd.DataFrame:
    r"""Trials of a log of a kind, ready to be counted.

    Parameters
    ----------
    kind : str
        ``"lm-eval"``, ``"inspect"``, ``"lighteval"``, ``"helm"``, ``"matlab"``, ``"table"``; or
        ``"auto"``, which goes by the names of the files.
    path : str or Path
        File or folder.
    **options
        Of all kinds but Matlab's:

        - ``task``: the one task to read, not of tables. By default all of them;
        - ``threshold``: score from which an answer is right. By default only 1 is right and 0
          wrong;
        - ``field``, ``pattern``, ``words``, ``scale``: where and how confidence is stated, as in
          `parse_confidence`. Without any of them it is not looked for in text.

        Of all kinds:

        - ``limits``: how much a file may hold, the names and numbers of `Limits` that should differ
          from its defaults, such as ``{"values": 20_000_000}``;
        - ``executor``: what reads the files of a folder side by side: an executor of
          `concurrent.futures`, a `distributed.Client`, or something else with ``submit``. Its
          processes see the files under the same path.

        The function of each kind, such as `read_lm_eval` and `read_trials`, describes the others.

    Returns
    -------
    DataFrame
        One row per trial; logs have at least ``task``, ``model``, ``item``, ``target``,
        ``correct`` and ``confidence`` (probability). Attrs: ``files``, ``rejected`` (dict of
        reason to number of values left missing).

    Raises
    ------
    InputError
        If the kind or an option is unknown, the names of the files do not say which kind it is,
        or the log cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hmetad.counts.ratings import bin_confidence
    >>> from hmetad.counts.counting import count_correct
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "trials.csv")
    ...     _ = file.write_text("correct,sure\n1,85%\n0,20%\n1,60%\n0,70%\n")
    ...     trials = read_log("table", file, columns={"confidence": "sure"}, scale="percent")
    >>> trials.attrs["rejected"]
    {}
    >>> trials["confidence"] = bin_confidence(trials["confidence"], 2)
    >>> count_correct(trials).sel(cell="all").values
    array([[1, 1],
           [1, 1]])
    """
    if kind not in READERS and kind != "auto":
        kinds = ["auto", *READERS]
        raise UnknownError("kind", repr(kind), ", ".join(map(repr, kinds)), nearest(kind, kinds))
    kind = recognise_kind(Path(path)) if kind == "auto" else kind
    return READERS[kind].read(path, **options)


def trials_of(form: Format, path: Path, choices: Choices) -> pd.DataFrame:
    """Trials of a log with the record that most formats have."""
    trials, remarks = read_samples(form, path, choices)
    return trials.frame(scale=choices.scale, files=[*remarks])


def read_samples(
    form: Format, path: Path, choices: Choices
) -> tuple[TrialCollector, dict[str, Any]]:
    """Trials of all files in their order, and what is kept of each file of the task, by its name.

    The file is named as attrs have it.
    """
    trials, remarks, tasks = TrialCollector(), {}, set()
    files = form.files(path, choices)
    # An executor cannot be handed to its own workers.
    read = partial(part_of, form, replace(choices, executor=None))
    for file, task, found, remark in of_each(read, files, choices.executor):
        tasks.add(task)
        if found is not None:
            trials.extend(found)
            remarks[safe_text(file)] = remark
    if not remarks:
        step = nearest(str(choices.task), tasks)
        raise ChoiceError("task", repr(choices.task), f"a task in {path}", step)
    if not form.text or choices.wording is None:
        trials.notices += choice_notices(trials)
    if choices.source is None and not choices.is_stated:
        trials.notices += confidence_notices(trials, form.text)
    return trials, remarks


def part_of(
    form: Format, choices: Choices, file: Any
) -> tuple[Path, str, TrialCollector | None, Any]:
    """File, task, trials (None: another task is asked for), and what else is kept."""
    log = form.samples(choices, file)
    if choices.task not in (None, log.task):
        return log.path, log.task, None, None
    trials = TrialCollector()
    for sample in log.samples:
        if sample is None:
            trials.duplicates += 1
        else:
            trials.add(*trial_of(sample, choices, form.columns))
    return log.path, log.task, trials, log.remark


def trial_of(
    sample: Sample, choices: Choices, columns: Sequence[str]
) -> tuple[dict[str, Any], Statement | None, list[str]]:
    """Row of a sample, its stated confidence, and why values are missing."""
    correct, unscored = judged(sample, choices)
    chosen, probabilities, sure = sample.chosen, sample.probabilities, sample.confidence
    reasons, statement = [sample.missing, unscored], None
    if isinstance(chosen, int) and sample.right and correct not in (None, chosen in sample.right):
        chosen, probabilities, sure = None, None, math.nan
        reasons.append(CONTRADICTION)
    if choices.wording is not None and sample.texts is not None:
        read = [read_statement(text, choices.wording) for text in sample.texts or [None]]
        sure, statement = math.nan, agree_on(read, "several responses to one prompt")
        reasons = [reason for reason in reasons if not reason.startswith("confidence")]
    answer = clip_text(chosen, LONGEST_ANSWER) if isinstance(chosen, str) else chosen
    target = sample.target
    if target is None and sample.right:
        target = sample.right[0] if len(sample.right) == 1 else json.dumps(sample.right)
    values = {
        "chosen": answer,
        "answer": answer,
        "target": clip_text(target, LONGEST_ANSWER) if isinstance(target, str) else target,
        "score": sample.score,
        "correct": correct,
        "confidence": sure,
        "option_probabilities": probabilities,
        "answers": repeated_answers(sample.responses, choices.answer),
    }
    row = {**sample.meta, **{name: values[name] for name in columns}}
    return row, statement, [reason for reason in reasons if reason]


def judged(sample: Sample, choices: Choices) -> Verdict:
    """Right or wrong by the metric that counts, or else by the option chosen."""
    metric = of_task(choices.metric, str(sample.meta["task"]))
    names = sample.metrics if metric is None else (metric,)
    name = next((name for name in names if name in sample.scores), None)
    if name is not None:
        found = verdict(sample.scores[name], choices.threshold, choices.grades)
        return (None, sample.failed) if sample.failed and found[1] == "no score" else found
    if metric is not None:
        got = f"{metric!r}, which {sample.place} does not have"
        step = nearest(metric, sample.scores)
        raise ChoiceError("metric", got, "one of its metrics", step)
    if sample.chosen is not None and sample.right:
        return sample.chosen in sample.right, ""
    return None, f"no metric {names[0]!r}"


def repeated_answers(
    responses: Sequence[Any], pattern: re.Pattern[str] | None
) -> list[str | None] | None:
    """Answers of several responses, None for one without an answer; None where there is one.

    An answer is the last match of the caller's expression, or all of the response without one.
    """
    if len(responses) < 2:
        return None
    answers: list[str | None] = []
    for text in responses:
        found = [text] if isinstance(text, str) else []
        if pattern is not None and found:
            found = [match[1] for match in pattern.finditer(text) if match[1] is not None]
        answers.append(clip_text(found[-1], LONGEST_ANSWER) if found else None)
    return answers


# Options


def option_confidence(
    log_likelihoods: Sequence[float],
    texts: Sequence[str] = (),
    unit: Normalise = "none",
    delimiter: str = " ",
) -> dict[str, Any]:
    """Fields of a sample whose options were compared: the most probable one is the answer.

    In another unit than none, log-likelihoods are divided by the lengths of the options' texts.
    """
    lengths = None if unit == "none" else option_lengths(texts, unit, delimiter)
    if lengths is not None and not lengths.all():
        return {"missing": "an option without text"}
    probabilities = option_probabilities(log_likelihoods, lengths).tolist()
    if math.isnan(probabilities[0]):
        return {"missing": "log-likelihoods are not finite"}
    chosen = int(np.argmax(probabilities))
    return {"chosen": chosen, "probabilities": probabilities, "confidence": probabilities[chosen]}


def option_probabilities(
    log_likelihoods: ArrayLike, lengths: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Probability of each option, given that one of them is said, (..., options).

    Log-likelihoods :math:`\ell_i` (nat; -inf is an option that cannot be said) and lengths
    :math:`n_i` (1 by default) give :math:`p_i = e^{\ell_i / n_i} / \sum_j e^{\ell_j / n_j}`; NaN in
    all options where a log-likelihood is NaN or positively infinite, or all of them are -inf.
    Divided by their lengths, options are ranked as acc_norm ranks them.

    Examples
    --------
    >>> option_probabilities(np.log([0.2, 0.1, 0.1])).round(3)
    array([0.5 , 0.25, 0.25])
    """
    values = np.asarray(log_likelihoods, dtype=np.float64)
    if lengths is not None:
        values = values / np.asarray(lengths, dtype=np.float64)
    top = values.max(axis=-1, keepdims=True)
    known = np.isfinite(top)
    odds = np.exp(np.where(known, values, 0) - np.where(known, top, 0))
    return np.where(known, odds / odds.sum(axis=-1, keepdims=True), np.nan)


def letter_confidence(
    tokens: Mapping[str, Any], letters: Sequence[str], written: str
) -> dict[str, Any]:
    """Fields of a sample whose answer is a letter: probabilities of all, and of the one written.

    `tokens` are log-probabilities by token: "A" and " A" are the same letter, and letters that are
    not there have probability 0.
    """
    totals = dict.fromkeys(letters, 0.0)
    for text, value in tokens.items():
        if text.strip() in totals:
            number = as_number(value)
            is_log_probability = number <= LARGEST_LOG_PROBABILITY
            totals[text.strip()] += math.exp(number) if is_log_probability else math.nan
    logs = [-math.inf if total == 0 else math.log(total) for total in totals.values()]
    probabilities = option_probabilities(logs).tolist()
    if math.isnan(probabilities[0]):
        return {"missing": "confidence: log-probabilities are not finite"}
    return {"probabilities": probabilities, "confidence": probabilities[letters.index(written)]}


def option_lengths(
    texts: Sequence[str], unit: Normalise, delimiter: str = " "
) -> NDArray[np.float64]:
    """Length of each option in characters, or bytes of UTF-8, without the delimiter before it.

    Examples
    --------
    >>> option_lengths([" Zürich", " Bern"], "bytes")
    array([7., 4.])
    """
    bare = [text.removeprefix(delimiter) for text in texts]
    if unit == "bytes":
        return np.array([len(text.encode("utf-8", "surrogatepass")) for text in bare], dtype=float)
    return np.array([len(text) for text in bare], dtype=float)


def log_likelihood(value: Any) -> float | None:
    """Log-likelihood, which logs hold as text, NaN included; None for what is no number."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


# Files


def chosen_runs(found: Sequence[LogFile], path: Path, choices: Choices) -> list[LogFile]:
    """Files of the task, one run of each unless the caller wants all; which, the caller says."""
    if choices.task is not None:
        tasks = {file.task for file in found}
        if choices.task not in tasks:
            step = nearest(choices.task, tasks)
            raise ChoiceError("task", repr(choices.task), f"a task in {path}", step)
        found = [file for file in found if file.task == choices.task]
    if choices.runs == "all":
        return list(found)
    by_source: dict[tuple[str, str], list[LogFile]] = defaultdict(list)
    for file in found:
        by_source[file.origin, file.task].append(file)
    for (_, task), several in by_source.items():
        if len(several) > 1 and choices.runs is None:
            got = f"none, for {len(several)} runs of task {task!r} by {several[0].model!r}"
            step = "'all' keeps them apart in column 'run'."
            raise ChoiceError("runs", got, "'latest' or 'all'", step)
    return [max(several, key=lambda file: file.run) for several in by_source.values()]
