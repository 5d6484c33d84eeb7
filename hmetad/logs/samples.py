"""One sample of a log, whatever tool wrote it, and the one way from samples to trials.

Format, path and choices → DataFrame with a row per sample. A `Format` says which files there are,
and which samples stand in a file; everything after that is the same for all tools.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, InputError, UnknownError, nearest
from hmetad.base.notice import Notice, notice_of
from hmetad.counts.noticed import add_notices
from hmetad.logs.choices import Choices, make_choices, of_task
from hmetad.logs.kinds import READERS, recognise_kind
from hmetad.logs.stated import record_stated, statement_frame
from hmetad.logs.statements import Statement, agree_on, in_pattern, read_statement
from hmetad.logs.trials import (
    ABSTAINED,
    Meaning,
    Verdict,
    clip_text,
    grade_key,
    of_each,
    silence_notices,
    typed,
    verdict,
)
from hmetad.rows.duplicates import file_notices, row_notices
from hmetad.rows.values import safe_text

LONGEST_ANSWER = 1000
# Columns of most tools, after those that say which sample it is.
ANSWERED = ("chosen", "target", "correct", "confidence", "option_probabilities", "answers")
# Scorer, or metric, that keeps all scores of a log as columns.
ALL = "all"
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


type Record = Callable[[Choices, Mapping[str, Any]], tuple[dict[str, Any], list[Notice]]]


class Format(NamedTuple):
    """How the logs of a tool are read.

    Parameters
    ----------
    kind : str
        A name of ``READERS``.
    files : callable
        Path and `Choices` → the files, of any type that another process can be given.
    samples : callable
        `Choices` and a file → `Log`.
    columns : tuple of str
        Those of a trial, first those that say which sample it is.
    record : callable, optional
        `Choices` and what is kept of each file, by its name → more attrs, and notices.
    grades : mapping of str to bool, optional
        What grades of the tool mean.
    text : str, optional
        Where the text of the model stands, for the notice that nothing else gives a confidence.
    """

    kind: str
    files: Callable[[Path, Choices], Sequence[Any]]
    samples: Callable[[Choices, Any], Log]
    columns: tuple[str, ...]
    record: Record | None = None
    grades: Mapping[str, Meaning] | None = None
    text: str = ""


class Trial(NamedTuple):
    """A sample as trials have it: a row, stated confidence, and why values are missing."""

    row: tuple[Any, ...]
    statement: Statement | None
    reasons: list[str]
    scores: dict[str, Any]


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
        - ``threshold``: score from which an answer is correct. By default only 1 is correct and 0
          wrong;
        - ``grades``: what scores mean, words in either case and numbers, such as ``{"P": False}``
          (partial credit), ``{"1": True, "-1": False}`` and ``{"NOT_ATTEMPTED": "abstained"}``,
          which adds the column ``abstained``. A number below 0 or above 1 needs a
          meaning or a threshold; where one below 0 has a meaning, 0 is missing without one. Words
          that are neither correct nor incorrect are left missing;
        - ``field``, ``pattern``, ``words``, ``scale``: where and how confidence is stated, as in
          `parse_confidence`. Without any of them it is not looked for in text.

        Of all kinds but tables and lighteval's:

        - ``limits``: how much a file may hold, the names and numbers of `Limits` that should differ
          from its defaults, such as ``{"values": 20_000_000}``.

        Of all kinds:

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


def read_format(form: Format, path: str | Path, options: Mapping[str, Any]) -> pd.DataFrame:
    """Trials of all files of a log in their order, with its record in attrs."""
    choices, place = make_choices(form.kind, options), Path(path)
    files = form.files(place, choices)
    # An executor cannot be handed to its own workers.
    read = partial(part_of, form, replace(choices, executor=None))
    trials: list[Trial | None] = []
    remarks: dict[str, Any] = {}
    tasks = set()
    for file, task, some, remark in of_each(read, files, choices.executor):
        tasks.add(task)
        if some is not None:
            trials += some
            remarks[safe_text(file)] = remark
    if not remarks:
        raise unknown_task(choices.task, tasks, place)
    kept = [trial for trial in trials if trial is not None]
    record, found = form.record(choices, remarks) if form.record else ({}, [])
    attrs: dict[Any, Any] = {"duplicates": len(trials) - len(kept), "files": [*remarks]}
    if "normalise" in READERS[form.kind].options:
        attrs["normalise"] = choices.normalise
    frame = trial_frame(form, kept, choices, add_notices(attrs | record, found))
    frame.attrs = add_notices(frame.attrs, [*file_notices(map(Path, remarks)), *row_notices(frame)])
    return frame


def unknown_task(task: str | None, tasks: Iterable[str], path: Path) -> InputError:
    """Error for a task that the logs do not have."""
    return ChoiceError("task", repr(task), f"a task in {path}", nearest(str(task), tasks))


def part_of(
    form: Format, choices: Choices, file: Any
) -> tuple[Path, str, list[Trial | None] | None, Any]:
    """File, task, trials (None: another task is asked for), and what else is kept."""
    log = form.samples(choices, file)
    if choices.task not in (None, log.task):
        return log.path, log.task, None, None
    trials = [None if one is None else trial_of(one, choices, form) for one in log.samples]
    return log.path, log.task, trials, log.remark


def trial_frame(
    form: Format, trials: Sequence[Trial], choices: Choices, attrs: dict[Any, Any]
) -> pd.DataFrame:
    """Trials as a table; attrs have what is missing by reason, and how confidence was stated."""
    columns = zip(form.columns, zip(*(one.row for one in trials), strict=True), strict=False)
    frame, found = pd.DataFrame({name: typed(values) for name, values in columns}), []
    for name in dict.fromkeys(name for one in trials for name in one.scores):
        frame[name] = typed([one.scores.get(name) for one in trials])
    silent = [ABSTAINED in one.reasons for one in trials]
    known = {**(form.grades or {}), **(choices.grades or {})}
    # Where all scores are columns, none says what was abstained from.
    is_graded = not trials or not all(one.scores for one in trials)
    if any(silent) or (ABSTAINED in known.values() and is_graded):
        frame[ABSTAINED] = silent
    found += silence_notices(silent)
    if len(frame) and (not form.text or choices.wording is None):
        of_two = (one is not None and len(one) == 2 for one in frame["option_probabilities"])
        found += [notice_of("confidence-of-the-choice")] if any(of_two) else []
    is_looked_for = choices.source is None and not choices.is_stated
    if is_looked_for and len(frame) and frame["confidence"].isna().all():
        # Without a place, field= and pattern= say what is read of the text.
        place = {"text": form.text} if form.text else {}
        code = "no-confidence" if form.text else "no-confidence.text"
        found.append(notice_of(code, all=len(frame), **place))
    reasons = (reason for one in trials for reason in one.reasons if reason != ABSTAINED)
    attrs["rejected"] = dict(Counter(reasons))
    attrs = add_notices(attrs, found)
    statements = {row: one.statement for row, one in enumerate(trials) if one.statement is not None}
    if statements:
        stated = statement_frame(list(statements.values()), scale=choices.scale)
        frame.loc[[*statements], "confidence"] = stated["confidence"].to_numpy()
        attrs = record_stated(attrs, stated)
    frame.attrs = attrs
    return frame


def trial_of(sample: Sample, choices: Choices, form: Format) -> Trial:
    """Row of a sample, its stated confidence, and why values are missing."""
    correct, unscored = judged(sample, choices, form.grades or {})
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
        **sample.meta,
        "chosen": answer,
        "answer": answer,
        "target": clip_text(target, LONGEST_ANSWER) if isinstance(target, str) else target,
        "score": sample.score,
        "correct": correct,
        "confidence": sure,
        "option_probabilities": probabilities,
        "answers": repeated_answers(sample.responses, choices.answer),
    }
    row = tuple(values[name] for name in form.columns)
    is_open = keeps_all(choices, str(sample.meta["task"]))
    scores = score_columns(sample, choices, form) if is_open else {}
    return Trial(row, statement, [reason for reason in reasons if reason], scores)


def keeps_all(choices: Choices, task: str) -> bool:
    """Whether all scores of a task are kept, each as a column, and none says what is correct."""
    return ALL in (choices.scorer, of_task(choices.metric, task))


def score_columns(sample: Sample, choices: Choices, form: Format) -> dict[str, Any]:
    """Scores of a sample by the names of their columns; grades with a meaning as true or false."""
    known = {**(form.grades or {}), **(choices.grades or {})}
    meaning = {grade_key(grade): right for grade, right in known.items()}
    found = {}
    for name, value in sample.scores.items():
        column = f"score_{name}" if name in form.columns else safe_text(name)
        value = meaning.get(grade_key(value), value)
        is_missing = isinstance(value, float) and math.isnan(value)
        text = clip_text(value, LONGEST_ANSWER) if isinstance(value, str) else value
        found[column] = None if is_missing else text
    return found


def judged(sample: Sample, choices: Choices, grades: Mapping[str, Meaning]) -> Verdict:
    """Right or wrong by the metric that counts, or else by the option chosen."""
    metric = of_task(choices.metric, str(sample.meta["task"]))
    if keeps_all(choices, str(sample.meta["task"])):
        return None, "no score was chosen"
    names = sample.metrics if metric is None else (metric,)
    name = next((name for name in names if name in sample.scores), None)
    if name is not None:
        known = {**grades, **(choices.grades or {})}
        found = verdict(sample.scores[name], choices.threshold, known, sample.place)
        return (None, sample.failed) if sample.failed and found[1] == "no score" else found
    if metric is not None:
        got = f"{metric!r}, which {sample.place} does not have"
        raise ChoiceError("metric", got, "one of its metrics", nearest(metric, sample.scores))
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
            found = in_pattern(text, pattern)
        answers.append(clip_text(found[-1], LONGEST_ANSWER) if found else None)
    return answers


# Files


def chosen_runs(found: Sequence[LogFile], path: Path, choices: Choices) -> list[LogFile]:
    """Files of the task, one run of each unless the caller wants all; which, the caller says."""
    if choices.task is not None:
        tasks = {file.task for file in found}
        if choices.task not in tasks:
            raise unknown_task(choices.task, tasks, path)
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
