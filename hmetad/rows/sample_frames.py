"""Frames of samples that other tools make, with the columns of trials.

DataFrame of Inspect (`samples_df`), Every Eval Ever (instances) or uqlm (`UQResult.to_df`) → the
same rows with model, item and correct, and with confidence and abstained if the frame has them.
Source: inspect-ai 0.3.285; every-eval-ever 0.3.0 (schema 0.3.0); uqlm 0.6.7.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, ColumnError, KindError, nearest
from hmetad.base.notice import Notice, first_few, notice_attrs, notice_of

type Tool = Literal["Inspect", "Every Eval Ever", "uqlm"]
Failed = Literal["missing", "abstained"]

# Columns by which the frame of a tool is recognised, and columns of trials by their names there.
COLUMNS: dict[Tool, set[str]] = {
    "Inspect": {"sample_id", "eval_id", "id", "epoch"},
    "Every Eval Ever": {"evaluation_id", "model_id", "sample_id", "evaluation"},
    "uqlm": {"prompt", "response"},
}
NAMES: dict[Tool, dict[str, str]] = {
    "Inspect": {"model": "model", "task": "task_name", "item": "id"},
    "Every Eval Ever": {"model": "model_id", "task": "evaluation_name", "item": "sample_id"},
    "uqlm": {"model": "model", "item": "prompt"},
}
# Grades of Inspect that are correct or an error, partial credit, and an answer withheld.
GRADES, PARTIAL, WITHHELD = {"C": True, "I": False}, "P", "N"
# Reasons of Inspect for a missing score that are the model's own.
OF_MODEL = ("refusal", "no_response", "invalid_response_format")
DETAILS = ("_answer", "_explanation", "_metadata", "_reason")
# Grades of uqlm's users, and its numbers that are not a confidence.
GRADED, NO_CONFIDENCE = ("correct", "is_correct", "response_correct"), ("_set", "entropy_value")


class Graded(NamedTuple):
    """Rows of a frame and the column of their grades, as they are; reasons for no answer.

    `places` are the columns where confidence may be, the first before the others.
    """

    frame: pd.DataFrame
    source: str
    grades: pd.Series
    reasons: pd.Series
    places: dict[str, pd.Series]


@check_inputs()
def trials_of(
    frame: pd.DataFrame,
    *,
    model: str | None = None,
    scorer: str | None = None,
    correct: str | None = None,
    confidence: str | None = None,
    failed: Failed | None = None,
) -> pd.DataFrame:
    """Trials from a frame of samples of Inspect, Every Eval Ever or uqlm.

    Parameters
    ----------
    frame : DataFrame
        What ``inspect_ai.analysis.samples_df`` or uqlm's ``UQResult.to_df`` returns, or the rows of
        an instance file of Every Eval Ever (``pandas.read_json(file, lines=True)``).
    model : str, optional
        Name of the model, for a frame without a column of models.
    scorer : str, optional
        Score that counts, if there are several: the name of Inspect's scorer, the
        ``evaluation_result_id`` of Every Eval Ever, or the column of uqlm that is the confidence.
    correct : str, optional
        Column that is 1 for a correct answer and 0 for an error, for uqlm, which has none. By
        default ``correct``, ``is_correct`` or ``response_correct``.
    confidence : str, optional
        Column of confidence. By default ``confidence``; the key of that name in the metadata of the
        score, or else of the sample (Inspect); ``confidence`` in ``evaluation``, or else in
        ``metadata`` (Every Eval Ever).
    failed : {"missing", "abstained"}, optional
        Meaning of samples that ended in an error. By default they are missing; the argument is
        required if half of the samples failed.

    Returns
    -------
    DataFrame
        The columns of the frame and ``model``, ``item`` (text) and ``correct`` (missing for partial
        credit and without a grade); if there are values, also ``task``, ``epoch`` and
        ``confidence``; of Inspect and Every Eval Ever also ``abstained`` (the reason, such as
        "no answer"; missing for other trials, which may be all). Attrs:
        ``rejected`` (samples without a grade, per reason), and ``notices``, of which one names
        the columns that were read.

    Raises
    ------
    InputError
        If the frame is of another tool, there is no model, score or grade, there are several
        scores, or half of the samples failed.

    Notes
    -----
    Inspect's grades C and I are correct and an error, P is partial credit, and N is an abstention.
    A missing score is an abstention if its reason is the model's (a refusal, an empty or unreadable
    response) or if the sample reached a limit. Instance files count partial credit as correct, and
    no answer and a failed sample as errors: here a score between 0 and 1 and a failed sample are
    missing. They have a row of each sample for each metric; metrics that agree are read once.

    Examples
    --------
    >>> ids = {"sample_id": ["x", "y", "z"], "eval_id": "e", "id": [1, 2, 3], "epoch": 1}
    >>> frame = pd.DataFrame({**ids, "model": "gpt", "score_match": ["C", "I", "N"]})
    >>> trials = trials_of(frame)
    >>> trials[["model", "item", "correct", "abstained"]].to_dict("split")["data"][1:]
    [['gpt', '2', False, None], ['gpt', '3', None, 'no answer']]
    """
    tool = tool_of(frame.columns)
    if tool is None:
        got = f"columns {first_few([*map(repr, frame.columns)])}"
        raise KindError("frame", got, f"a frame of {', '.join(COLUMNS)}")
    if model is not None:
        frame = frame.assign(**{NAMES[tool]["model"]: model})
    elif NAMES[tool]["model"] not in frame:
        way = "model='NAME' if there is one model"
        if tool == "Inspect":
            way += ", or read it with samples_df(logs, columns=[*EvalModel, *SampleSummary])"
        got = "none, for a frame without a column of models"
        raise ChoiceError("model", got, "a name", f"Give {way}.")
    graded = graded_rows(frame, tool, scorer, correct, confidence)
    if confidence is not None:
        column = graded.frame[known_name("confidence", confidence, frame.columns)]
        graded = graded._replace(places={confidence: column})
    trials, found = graded_trials(graded, tool, failed)
    trials.attrs |= notice_attrs(found)
    return trials


def tool_of(columns: Iterable[Hashable]) -> Tool | None:
    """The tool whose frames have such columns.

    Examples
    --------
    >>> tool_of(["prompt", "response", "noncontradiction"]), tool_of(["item", "correct"])
    ('uqlm', None)
    """
    there = {*columns}
    return next((tool for tool, names in COLUMNS.items() if names <= there), None)


def graded_rows(frame: pd.DataFrame, tool: Tool, scorer: str | None = None, *own: Any) -> Graded:
    """Rows of the frame of a tool with their grades; `own` are what uqlm alone needs."""
    if tool == "uqlm":
        return uqlm_rows(frame, scorer, *own)
    return inspect_rows(frame, scorer) if tool == "Inspect" else instance_rows(frame, scorer)


def graded_trials(
    graded: Graded, tool: Tool, failed: Failed | None = None
) -> tuple[pd.DataFrame, list[Notice]]:
    """Rows with the columns of trials, and a notice of what was read and what has no grade."""
    frame, source, grades, reasons, places = graded
    is_failed = ~objects(frame, "error").isin([None, ""])
    if failed is None and is_failed.any() and is_failed.mean() >= 1 / 2:
        got = f"none, for {is_failed.sum():,} of {len(frame):,} samples that ended in an error"
        step = "Give hmetad.logs.trials_of failed='missing' to exclude them."
        shell = "Import the log: hmetad import excludes them."
        raise ChoiceError("failed", got, "'missing' or 'abstained'", step, shell)
    is_partial = grades.map(is_between) & ~is_failed
    grades = grades.mask(is_failed | is_partial, None)
    reasons = reasons.mask(is_failed, "error" if failed == "abstained" else None)
    is_graded = grades.notna()
    are_truths = grades[is_graded].isin([True, False]).all()
    names = {new: old for new, old in NAMES[tool].items() if old in frame}
    values = {new: frame[old] for new, old in names.items()}
    values |= {"item": values["item"].astype(str)}
    values |= {"correct": grades.astype("boolean") if are_truths else grades}
    # The column is there where nobody abstained too: programs name it before they see a log.
    if tool != "uqlm" or reasons.notna().any():
        values["abstained"] = reasons
    read = f"correct from {source!r}"
    place = next((name for name, found in places.items() if found.notna().any()), None)
    if place is not None:
        numbers = pd.to_numeric(places[place], errors="coerce")
        has_texts = numbers.notna().sum() < places[place].notna().sum()
        values["confidence"] = places[place] if has_texts else numbers
        read += f", confidence from {place!r}"
    why = reasons.where(reasons.notna(), "no grade").mask(is_failed, "error")
    rejected = Counter(why.mask(is_partial, "partial credit")[~is_graded].tolist())
    listed = first_few([f"{why} {number:,}" for why, number in rejected.items()])
    # A user's own columns of items, tasks and abstentions stay.
    kept = {"item", "task", "abstained"} & {*frame}
    trials = frame.assign(**{name: x for name, x in values.items() if name not in kept})
    trials.attrs = {**frame.attrs, "rejected": dict(rejected)}
    return trials, [notice_of("samples-read", tool=tool, read=read, reasons=listed or "none")]


def is_between(grade: object) -> bool:
    """Whether a grade is partial credit."""
    return grade == PARTIAL if isinstance(grade, str) else grade not in (None, 0, 1)


def known_name(argument: str, name: str, names: Iterable[Hashable]) -> str:
    """The name, if it is one of the names."""
    if name not in (known := [*map(str, names)]):
        raise ColumnError(argument, repr(name), "a name that the frame has", nearest(name, known))
    return name


def chosen_name(scorer: str | None, names: list[str], what: str) -> str:
    """The name that was chosen, or the only one."""
    if scorer is not None:
        return known_name("scorer", scorer, names)
    if len(names) != 1:
        got = f"none, for {what} {first_few([*map(repr, names)])}" if names else f"no {what}"
        step = f"Choose one: hmetad.logs.trials_of(frame, scorer={names[0]!r})." if names else ""
        shell = "Import the log with hmetad import, which has --scorer and --metric."
        raise ChoiceError("scorer", got, "one of them", step, shell)
    return names[0]


def under_key(column: pd.Series, key: str) -> pd.Series:
    """Values under a key of objects, or of JSON texts of objects; None for others."""

    def value_of(cell: Any) -> Any:
        if isinstance(cell, str) and key in cell:
            with suppress(ValueError, RecursionError):
                cell = json.loads(cell)
        return cell.get(key) if isinstance(cell, dict) else None

    return pd.Series([value_of(cell) for cell in column], column.index, dtype=object)


def objects(frame: pd.DataFrame, name: str) -> pd.Series:
    """Column as objects, None where it is missing; all None without the column."""
    column = frame[name] if name in frame else pd.Series(None, frame.index)
    return column.astype(object).where(column.notna(), None)


def as_scalars(column: pd.Series) -> pd.Series:
    """Values of one number or text each: of a list or an object its text."""
    cells = (cell if pd.api.types.is_scalar(cell) else str(cell) for cell in column)
    return pd.Series([*cells], column.index, dtype=object)


# Tools


def inspect_rows(frame: pd.DataFrame, scorer: str | None) -> Graded:
    """Samples of Inspect's `samples_df`."""
    there = [str(name) for name in frame if str(name).startswith("score_")]
    there = [x for x in there if not x.startswith("score_headline_") and not x.endswith(DETAILS)]
    own = [x.removeprefix("score_") for x in there]
    column = f"score_{chosen_name(scorer, own, 'scores')}"
    score, limit = as_scalars(objects(frame, column)), objects(frame, "limit")
    reason, is_withheld = objects(frame, f"{column}_reason"), score == WITHHELD
    said = reason.where(reason.isin(OF_MODEL) & score.isna(), None)
    said = said.mask(said.isna() & score.isna() & limit.notna(), "limit: " + limit.astype(str))
    said = said.mask(is_withheld, reason.where(reason.notna(), "no answer"))
    grades = score.map(lambda grade: GRADES.get(grade, grade)).mask(is_withheld, None)
    details = f"{column}_metadata"
    places = {
        "confidence": objects(frame, "confidence"),
        details: under_key(objects(frame, details), "confidence"),
        "metadata_confidence": objects(frame, "metadata_confidence"),
    }
    return Graded(frame, column, grades, said, places)


def instance_rows(frame: pd.DataFrame, scorer: str | None) -> Graded:
    """Rows of instance files of Every Eval Ever, one for each sample of a metric."""
    names, metadata = ["evaluation_id", "model_id", "sample_id"], objects(frame, "metadata")
    rows = frame[names].assign(
        epoch=under_key(metadata, "epoch"),
        result=objects(frame, "evaluation_result_id"),
        score=as_scalars(under_key(frame["evaluation"], "score")),
    )
    results = rows["result"].dropna().unique().tolist()
    counted = rows.groupby("evaluation_id")["result"].transform("first")
    scores = rows.groupby([*names, "epoch"], dropna=False)["score"].nunique()
    if scorer is not None or (len(results) > 1 and (scores > 1).any()):
        counted = pd.Series(chosen_name(scorer, results, "results"), frame.index)
    kept = rows["result"].isna() | (rows["result"] == counted)
    frame = frame[kept].assign(epoch=rows["epoch"])
    evaluation, score = frame["evaluation"], rows["score"][kept]
    correct = as_scalars(under_key(evaluation, "is_correct"))
    places = {
        "evaluation.confidence": under_key(evaluation, "confidence"),
        "metadata.confidence": under_key(metadata[kept], "confidence"),
    }
    reasons = pd.Series(None, frame.index, dtype=object)
    grades = correct.mask(score.map(is_between), score)
    return Graded(frame, "evaluation.is_correct", grades, reasons, places)


def uqlm_rows(
    frame: pd.DataFrame, scorer: str | None, correct: str | None, confidence: str | None
) -> Graded:
    """Prompts of uqlm's `UQResult.to_df`, with a column of grades that the user added."""
    there = [name for name in GRADED if name in frame] if correct is None else [correct]
    if not there:
        step = "Grade the responses: frame.assign(correct=...)."
        raise ChoiceError("correct", "none, for a frame without grades", "a column of them", step)
    column = known_name("correct", there[0], frame.columns)
    if scorer is not None or confidence is None:
        numbers = map(str, frame.select_dtypes("float").drop(columns=column, errors="ignore"))
        others = [name for name in numbers if not name.endswith(NO_CONFIDENCE)]
        confidence = chosen_name(scorer, others, "scores")
    reasons = pd.Series(None, frame.index, dtype=object)
    grades, places = as_scalars(objects(frame, column)), {confidence: objects(frame, confidence)}
    return Graded(frame, column, grades, reasons, places)
