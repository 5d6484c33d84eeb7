"""Logs of Inspect: zip archives of JSON, or one JSON file.

Path of a log (.eval, .json), or of a folder of logs → DataFrame of trials.
Source: version 2 of the log format of Inspect. Members are read in memory; none is extracted.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import is_whole
from hmetad.base.errors import ChoiceError, FileError, InputError, UnknownError, nearest
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.logs.answer_options import letter_confidence
from hmetad.logs.choices import Choices
from hmetad.logs.json_files import UNREADABLE, json_file, json_object, member_content
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.limits import Limits, beyond, check_ratio
from hmetad.logs.samples import ALL, Format, Log, Sample, read_format
from hmetad.logs.trials import (
    ABSTAINED,
    Meaning,
    as_dict,
    as_list,
    clip_text,
    objects_in,
    sample_name,
)
from hmetad.rows.sample_frames import GRADES, WITHHELD
from hmetad.rows.values import safe_text

Place = tuple[str, dict[str, Any]]

VERSION = 2
ALLOWED = "a log of Inspect, .eval or .json"
CUT_OFF = "Perhaps it was cut off while it was written or copied; copy it again."
MEANINGS: dict[str, Meaning] = {**GRADES, WITHHELD: ABSTAINED}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST_SCORE = 80
ATTACHMENT = "attachment://"
# How the explanation of a score begins that lists shuffled options as shown, and what follows them.
SHUFFLED, ANSWERED = "Choices were shuffled before", "Shuffled answer:"
MOVED = "confidence: options were shuffled, and no score tells their order"


@check_inputs()
def read_inspect(path: str | Path, **options: Any) -> pd.DataFrame:
    """Trials of logs of Inspect, one row per sample and epoch.

    Parameters
    ----------
    path : str or Path
        A log .eval or .json, or a folder with logs at any depth. Of an archive memory holds one
        sample at a time; a .json is read as a whole. Below Python 3.14 archives need the extra
        ``logs``: ``pip install ".[logs]"`` in the clone.
    **options
        Those of all logs, as in `read_log`, and:

        - ``scorer``: the score that says correct or incorrect, where samples have several;
          ``"grader/accuracy"`` for one part of a score with several. ``"all"`` keeps every score
          as a column, for `count_judged`, and leaves `correct` missing. Grades with a meaning are
          then true or false, and the name of another column has ``score_`` before it;
        - ``source``: what confidence is read from: "completion" (the text of the model), "score"
          (the metadata of the score), "metadata" (that of the sample), "store" (the store of the
          sample), or "logprobs" (the log-probabilities of the letters of a multiple choice). By
          default the text if an option describes how confidence is stated, else the
          log-probabilities.

    Returns
    -------
    DataFrame
        One row per sample and epoch: ``task``, ``model``, ``log`` (name of the file), ``id``,
        ``epoch``, ``item`` (the id as text), ``target`` and ``answer`` (text, letters in multiple
        choice; cut after 1000 characters), ``score`` (text), ``correct``, ``confidence``
        (probability) and ``option_probabilities`` (list or None). Attrs, JSON-able: ``files``,
        ``unfinished`` (logs that did not end in success), ``rejected`` (values left missing, per
        reason), ``duplicates`` (samples excluded, whose id and epoch came before in the log),
        ``scale`` and ``examples`` of stated confidence, and ``notices``: one names finished logs
        that contain a different number of samples than they state.

    Raises
    ------
    InputError
        If nothing is found to read; if a log is none, is cut off, of another version, without
        samples, or goes beyond a limit; if there are several scores and none is chosen; if
        options are unusable.

    Notes
    -----
    Confidence in a multiple choice is the probability of the letter answered, which need not be
    the most probable one, for the model may draw it. Log-probabilities are those at the last token
    that is this letter, over the letters of the options, scaled to add up to 1; letters that were
    not among the top count as 0. Log-probabilities of shuffled options carry the letters
    that the model saw. If the explanation of the score lists the options as shown, probabilities
    are put into the order of the data set; where it does not, they are missing in all samples of
    the log.

    Examples
    --------
    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> sample = {"id": 1, "epoch": 1, "target": "4", "output": {"completion": "4, surely (90%)"},
    ...           "scores": {"match": {"value": "C", "answer": "4"}}}
    >>> log = {"version": 2, "eval": {"task": "sums", "model": "gpt"}, "samples": [sample]}
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "log.json").write_text(json.dumps(log))
    ...     trials = read_inspect(Path(folder, "log.json"), pattern=r"([0-9]+%)")
    >>> trials[["task", "answer", "correct", "confidence"]].to_dict("records")
    [{'task': 'sums', 'answer': '4', 'correct': True, 'confidence': 0.9}]
    """
    return read_format(FORMAT, path, options)


def record_of(
    _: Choices, remarks: Mapping[str, dict[str, str]]
) -> tuple[dict[str, Any], list[Notice]]:
    """Logs that did not end in success; notice of those that do not hold what they state."""
    unfinished = [name for name, said in remarks.items() if said["status"] != "success"]
    lost = [f"{name} {said['lost']}" for name, said in remarks.items() if said.get("lost")]
    found = [notice_of("samples-missing", listed=first_few(lost))] if lost else []
    return {"unfinished": unfinished}, found


# Files


def log_paths(path: Path, _: Choices) -> list[Path]:
    """The log itself, or the logs in a folder, sorted."""
    if path.is_file() and path.suffix not in (".eval", ".json"):
        raise FileError(str(path), f"suffix {path.suffix!r}", ALLOWED)
    return files_of_kind(path, "inspect", ALLOWED)


def log_of(choices: Choices, path: Path) -> Log:
    """Log whose samples come one at a time; kept are its status and what it lacks."""
    limits = choices.limits
    if path.suffix == ".eval":
        names = member_names(path, limits)
        head = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
        if head is None:
            raise FileError(str(path), "an archive without header.json", ALLOWED)
        ((place, header),) = members(path, [head], limits)
        inside = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
        found = members(path, inside, limits)
    else:
        place = str(path)
        header = json_object(place, json_file(path, ALLOWED, limits))
        inside = as_list(header.get("samples"))
        places = ((f"{path}, sample {number}", one) for number, one in enumerate(inside, 1))
        found = ((at, json_object(at, one)) for at, one in places)
    if not inside:
        step = "Logs keep their samples unless --no-log-samples says otherwise."
        raise FileError(str(path), "a log without samples", "at least one sample", step)
    if "version" not in header or "eval" not in header:
        raise FileError(place, "an object without 'version' and 'eval'", ALLOWED)
    version = header["version"]
    if isinstance(version, bool) or version != VERSION:
        step = "Inspect converts its logs: inspect log convert."
        raise FileError(place, f"log version {version!r}", f"version {VERSION}", step)
    task, model = (as_dict(header["eval"]).get(key) for key in ("task", "model"))
    if not isinstance(task, str) or not isinstance(model, str):
        raise FileError(place, "'eval' without a task and a model", ALLOWED)
    meta = {"task": safe_text(task), "model": safe_text(model), "log": safe_text(path.name)}
    # A log that was never finished has no status.
    remark = {"status": safe_text(header.get("status", "started"))}
    total = as_dict(header.get("results")).get("total_samples")
    samples = samples_of(found, meta, choices, total, remark)
    if choices.place == "logprobs":
        samples = with_known_order(samples)
    return Log(path, meta["task"], samples, remark)


def member_names(path: Path, limits: Limits) -> list[str]:
    """Names of the members; of several with one name the last counts, as in any archive."""
    try:
        with ZipFile(path) as archive:
            infos = archive.infolist()
    except UNREADABLE as error:
        raise unreadable(str(path), error) from error
    if len(infos) > limits.members:
        raise beyond(str(path), "members", f"{len(infos):,} members", limits)
    unpacked = sum(info.file_size for info in infos)
    check_ratio(str(path), path.stat().st_size, unpacked, limits)
    return [info.filename for info in infos]


def members(path: Path, names: list[str], limits: Limits) -> Iterator[Place]:
    """JSON objects of members, one at a time."""
    try:
        with ZipFile(path) as archive:
            for name in names:
                place = f"{path}, member {safe_text(name)}"
                info = archive.getinfo(name)
                if info.file_size > limits.unpacked:
                    raise beyond(place, "unpacked", f"{info.file_size:,} bytes unpacked", limits)
                check_ratio(place, info.compress_size, info.file_size, limits)
                yield place, json_object(place, member_content(archive, info), limits)
    except InputError:
        raise
    except UNREADABLE as error:
        raise unreadable(str(path), error) from error


def unreadable(place: str, error: Exception) -> InputError:
    """Error for an archive that cannot be read, with what would help."""
    reason = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, NotImplementedError):
        step = "Below Python 3.14 they need zipfile-zstd; in the clone: pip install '.[logs]'."
        return FileError(place, f"an archive of another kind ({reason})", ALLOWED, step)
    return FileError(place, f"an archive that cannot be read ({reason})", ALLOWED, CUT_OFF)


# Samples


def samples_of(
    found: Iterator[Place],
    meta: dict[str, Any],
    choices: Choices,
    total: Any,
    remark: dict[str, str],
) -> Iterator[Sample | None]:
    """Samples of a log; those whose id and epoch came before are copies.

    Remarks on finished logs that contain a different number of samples than they state.
    """
    seen: set[tuple[int | str, int]] = set()
    for place, sample in found:
        name, epoch = sample_name(place, "id", sample.get("id")), sample.get("epoch")
        if isinstance(epoch, bool) or not isinstance(epoch, int):
            raise FileError(place, f"epoch {epoch!r}", "a sample with an epoch, a whole number")
        if (name, epoch) in seen:
            yield None
            continue
        seen.add((name, epoch))
        own = {**meta, "id": name, "epoch": epoch, "item": safe_text(name)}
        yield sample_of(sample, place, own, choices)
    if remark["status"] == "success" and is_whole(total) and total != len(seen):
        remark["lost"] = f"states {total} and holds {len(seen)}"


def sample_of(sample: dict[str, Any], place: str, meta: dict[str, Any], choices: Choices) -> Sample:
    """Answer and target as the scorer has them: letters in multiple choice."""
    score, value = chosen_score(sample, place, choices.scorer)
    answer, target = score.get("answer"), sample.get("target")
    if isinstance(target, list):
        # As the scorer writes several answers.
        target = ", ".join(map(str, target))
    stated = {"completion": completion(sample), "score": score.get("metadata")}
    return Sample(
        place,
        meta,
        score_values(sample) if choices.scorer == ALL else {"score": value},
        ("score",),
        chosen=None if answer is None else safe_text(answer),
        target=None if target is None else safe_text(target),
        texts=[stated.get(choices.place, sample.get(choices.place))] if choices.wording else None,
        score=None if value is None else clip_text(value, LONGEST_SCORE),
        failed="no score, the sample ended in an error" if sample.get("error") else "",
        **letter_values(sample, answer),
    )


def chosen_score(
    sample: dict[str, Any], place: str, scorer: str | None
) -> tuple[dict[str, Any], Any]:
    """Record of the score that counts, and its value; empty where the sample was not scored."""
    scores = scores_of(sample)
    if not scores or scorer == ALL:
        return {}, None
    if scorer is None:
        if len(scores) > 1:
            got = f"none, for scores {', '.join(map(repr, scores))} ({place})"
            raise ChoiceError("scorer", got, "one of them, 'all', or a single task= to read")
        scorer = next(iter(scores))
    name, _, part = (scorer, "", "") if scorer in scores else scorer.partition("/")
    if name not in scores:
        got = f"{scorer!r}, which {place} does not have"
        raise UnknownError("scorer", got, "the name of a score", nearest(scorer, scores))
    value = scores[name].get("value")
    if not part and not isinstance(value, dict):
        return scores[name], value
    if part not in as_dict(value):
        got = f"{scorer!r}, for a score with {len(as_dict(value))} parts ({place})"
        allowed = "the name of a score, '/' and the name of its part"
        raise UnknownError("scorer", got, allowed, nearest(part, as_dict(value)))
    return scores[name], as_dict(value)[part]


def scores_of(sample: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Records of the scores of a sample."""
    scores = as_dict(sample.get("scores"))
    return {name: score for name, score in scores.items() if isinstance(score, dict)}


def score_values(sample: dict[str, Any]) -> dict[str, Any]:
    """Values of all scores; a score of several parts has one for each."""
    found: dict[str, Any] = {}
    for name, score in scores_of(sample).items():
        value = score.get("value")
        parts = {f"{name}/{part}": one for part, one in as_dict(value).items()}
        found |= parts or {name: value}
    return found


def with_known_order(samples: Iterator[Sample | None]) -> Iterator[Sample | None]:
    """Samples of a log; none has probabilities where options were shuffled in an unknown order.

    One whose letter stayed the same does not show it, so that all are read before the first is
    given.
    """
    known = [*samples]
    if any(one is not None and one.missing == MOVED for one in known):
        lost: dict[str, Any] = {"probabilities": None, "confidence": math.nan, "missing": MOVED}
        known = [one and (one._replace(**lost) if one.probabilities else one) for one in known]
    yield from known


def completion(sample: dict[str, Any]) -> str | None:
    """Text of the answer of the model, which may be kept beside the sample's other texts."""
    text = as_dict(sample.get("output")).get("completion")
    if isinstance(text, str) and text.startswith(ATTACHMENT):
        text = as_dict(sample.get("attachments")).get(text.removeprefix(ATTACHMENT), text)
    return text if isinstance(text, str) else None


def letter_values(sample: dict[str, Any], answer: Any) -> dict[str, Any]:
    """Probabilities of the letters and that of the answer, or why there are none."""
    options = sample.get("choices")
    if not isinstance(options, list) or not 2 <= len(options) <= len(LETTERS):
        return {"missing": "confidence: no choice of 2 to 26 options"}
    letters = LETTERS[: len(options)]
    if not isinstance(answer, str) or len(answer) != 1 or answer not in letters:
        return {"missing": "confidence: no single letter as the answer"}
    written = objects_in(as_dict(sample.get("output")).get("choices"))
    tokens = objects_in(as_dict(written[0].get("logprobs")).get("content")) if written else []
    if not tokens:
        return {"missing": "confidence: no log-probabilities"}
    order = shown_order(sample, [*map(str, options)])
    if order is None:
        return {"missing": "confidence: the order of shuffled options is ambiguous"}
    text = "".join(str(token.get("token")) for token in tokens)
    said = [token for token in tokens if str(token.get("token")).strip() in [*letters]]
    if order == sorted(order) and text.strip() != str(completion(sample)).strip():
        # Shuffled options are renamed in the completion afterwards, not in its tokens.
        is_moved = bool(said) and str(said[-1].get("token")).strip() != answer
        return {"missing": MOVED if is_moved else "confidence: log-probabilities of another text"}
    shown = letters[order.index(letters.index(answer))]
    at = [token for token in said if str(token.get("token")).strip() == shown]
    if not at:
        return {"missing": "confidence: the answer is no token of its own"}
    among = [at[-1], *objects_in(at[-1].get("top_logprobs"))]
    found = letter_confidence(
        {str(x.get("token")): x.get("logprob") for x in among}, letters, shown
    )
    if "probabilities" in found:
        found["probabilities"] = [found["probabilities"][order.index(i)] for i in sorted(order)]
    return found


def shown_order(sample: dict[str, Any], options: Sequence[str]) -> list[int] | None:
    """Numbers of the options in the order in which the model saw them, None if it is ambiguous."""
    scores = map(as_dict, as_dict(sample.get("scores")).values())
    texts = [str(score.get("explanation")) for score in scores]
    told = [text for text in texts if text.startswith(SHUFFLED)]
    if not told:
        return [*range(len(options))]
    order: list[int] = []
    rest = told[0].partition("\n\n")[2]
    starts = [f"{letter}) " for letter in LETTERS[: len(options)]]
    for start, after in pairwise([*starts, ANSWERED]):
        fitting = [i for i, x in enumerate(options) if rest.startswith(f"{start}{x}\n{after}")]
        if len(fitting) != 1 or fitting[0] in order:
            return None
        order += fitting
        rest = rest.removeprefix(f"{start}{options[fitting[0]]}\n")
    return order


COLUMNS = (
    *("task", "model", "log", "id", "epoch", "item", "target", "answer", "score", "correct"),
    *("confidence", "option_probabilities"),
)
FORMAT = Format("inspect", log_paths, log_of, COLUMNS, record_of, MEANINGS, "completion")
