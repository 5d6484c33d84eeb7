"""Sample logs of lm-evaluation-harness.

Path of samples_<task>_<time>.jsonl, or of a folder with such files → DataFrame of trials.
Source: the layout of lm-evaluation-harness 0.4.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from hmetad.arguments import check_inputs, with_submit
from hmetad.errors import InputError, nearest
from hmetad.logs.lm_eval_files import Runs, SampleFile, sample_files
from hmetad.logs.lm_eval_filters import chosen_filter, filter_notices, filter_samples, of_task
from hmetad.logs.lm_eval_samples import Choices, Normalise, sample_trial
from hmetad.logs.parts import Part, joined_parts, of_each
from hmetad.logs.stated import Scale
from hmetad.logs.statements import compile_pattern, stated_wording
from hmetad.logs.trials import (
    TrialCollector,
    check_threshold,
    choice_notices,
    safe_text,
    sample_name,
)
from hmetad.rows.limits import Limits, as_limits
from hmetad.rows.lines import Line

__all__ = ["read_lm_eval"]


@check_inputs(executor=with_submit)
def read_lm_eval(
    path: str | Path,
    *,
    task: str | None = None,
    runs: Runs | None = None,
    answer_filter: str | Mapping[str, str] | None = None,
    metric: str | Mapping[str, str] | None = None,
    normalise: Normalise = "none",
    threshold: float | None = None,
    answer_pattern: str | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
    limits: Limits | Mapping[str, int] | None = None,
    executor: Any = None,
) -> pd.DataFrame:
    """Trials of a sample log of lm-evaluation-harness, read line by line.

    Parameters
    ----------
    path : str or Path
        A file ``samples_<task>_<time>.jsonl``, or a folder with such files at any depth.
    task : str, optional
        The one task to read. By default all of them.
    runs : {"latest", "all"}, optional
        Which runs to read of a task that a model did several times.
    answer_filter : str or mapping of str to str, optional
        The filter whose answers count ("strict-match"), where a task has several; or one for each
        task. By default the first in the log of each task, which a notice says. Of several files
        those that have one filter only are read by it.
    metric : str or mapping of str to str, optional
        The metric that says right or wrong, or one for each task. By default acc, acc_norm or
        acc_bytes for multiple choice, as `normalise` has it; else the one of exact_match and acc
        that is there.
    normalise : {"none", "characters", "bytes"}, optional
        Length by which the log-likelihood of an option is divided, as for acc_norm or acc_bytes.
    threshold : float, optional
        Metric from which an answer is right. By default only 1 is right and 0 wrong.
    answer_pattern : str, optional
        Regular expression with one group: the answer in each of several responses to one prompt
        (``repeats`` of a task), of which the last match counts. By default a whole response is an
        answer.
    field, pattern, words, scale : optional
        Where the response to a generation task states its confidence, as in `parse_confidence`.
        Without any of them it is not looked for.
    limits : Limits or mapping of str to int, optional
        How much the log may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"values": 20_000_000}``.
    executor : Executor or Client, optional
        What reads the files of a folder side by side: an executor of `concurrent.futures`, a
        `distributed.Client`, or something else with ``submit``.

    Returns
    -------
    DataFrame
        One row per sample: ``task``, ``model``, ``run`` (time, "" if unknown), ``filter``,
        ``doc_id``, ``repeat`` (1, 2, ... of a document within a run), ``item`` (hash of the
        document), ``chosen`` and ``target`` (number of the option from 0; text in generation
        tasks, cut after 1000 characters), ``correct``, ``confidence`` (probability) and
        ``option_probabilities`` (list; None in generation tasks), and ``answers`` (list of the
        answers of several responses to one prompt, for `agreement`; None of one). Attrs,
        JSON-able: ``files``, ``filters`` (filter per task), ``rejected`` (values left missing, per
        reason), ``duplicates`` (samples left out as exact copies), ``normalise``, ``notices``, and
        ``scale`` and ``examples`` of stated confidence.

    Raises
    ------
    InputError
        If nothing is found to read; if a line is no sample, is cut off, belongs to another task, or
        goes beyond a limit; if runs or metric are several and none is chosen; if options are
        unusable.

    Notes
    -----
    Confidence in a multiple choice is the softmax of the log-likelihoods at the option chosen,
    the first of the largest: options are compared, so the most probable one is the answer. Where
    the recorded metric contradicts that option, the log ranked options by something else:
    confidence is then left missing, and counted.

    Examples
    --------
    >>> import math
    >>> from tempfile import TemporaryDirectory
    >>> scored = [[str(math.log(p)), "False"] for p in (0.2, 0.6)]
    >>> sample = {"doc_id": 0, "doc": {"q": "2 + 2 = ?"}, "target": "1", "acc": 1.0,
    ...           "resps": [[pair] for pair in scored], "filtered_resps": scored}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "samples_sums_2026-01-31T10-00-00.jsonl")
    ...     _ = file.write_text(json.dumps(sample))
    ...     trials = read_lm_eval(file)
    >>> trials[["task", "chosen", "target", "correct"]].to_dict("records")
    [{'task': 'sums', 'chosen': 1, 'target': 1, 'correct': True}]
    >>> trials["confidence"].round(3).tolist()
    [0.75]
    """
    within = as_limits(limits)
    if normalise not in get_args(Normalise):
        raise InputError("normalise", repr(normalise), "'none', 'characters' or 'bytes'")
    check_threshold(threshold)
    is_stated = any(option is not None for option in (field, pattern, words, scale))
    wording = stated_wording(field=field, pattern=pattern, words=words)
    choices = Choices(None, normalise, threshold, wording if is_stated else None)
    choices = choices._replace(answer=compile_pattern(answer_pattern, "answer_pattern"))
    files = sample_files(Path(path), task, runs, within)
    check_tasks("answer_filter", answer_filter, files)
    check_tasks("metric", metric, files)
    read = partial(part_of, answer_filter, metric, choices, within, len(files) == 1)
    trials, remarks = joined_parts(of_each(read, files, executor), Path(path), task)
    filters: dict[str, dict[str, None]] = {}
    for name, names in remarks.values():
        filters.setdefault(name, names).update(names)
    trials.notices += filter_notices({t: [*names] for t, names in filters.items()}, answer_filter)
    trials.notices += choice_notices(trials)
    used = {name: safe_text(next(iter(names))) for name, names in filters.items()}
    return trials.frame(scale=scale, files=[*remarks], filters=used, normalise=normalise)


def check_tasks(
    argument: str, choice: str | Mapping[str, str] | None, files: Sequence[SampleFile]
) -> None:
    """Refuse a choice for a task that is not read."""
    tasks = {file.task for file in files}
    for task in choice if isinstance(choice, Mapping) else ():
        if task not in tasks:
            raise InputError(argument, repr(task), "a task that is read", nearest(task, tasks))


def part_of(
    answer_filter: str | Mapping[str, str] | None,
    metric: str | Mapping[str, str] | None,
    choices: Choices,
    limits: Limits,
    alone: bool,
    file: SampleFile,
) -> Part:
    """Trials of a file under its filter; kept are its task and its filters, the used one first."""
    used = chosen_filter(file, answer_filter, limits, alone=alone)
    names: dict[str, None] = {used: None}
    own = choices._replace(metric=of_task(metric, file.task))
    trials = file_trials(file, filter_samples(file, used, names, limits), own)
    return Part(file.path, file.task, trials, (file.task, names))


def file_trials(file: SampleFile, samples: Iterable[Line], choices: Choices) -> TrialCollector:
    """Trials of the samples of a file; copies are counted."""
    trials = TrialCollector()
    seen: dict[int | str, tuple[str, list[bytes]]] = {}
    for line in samples:
        sample, place = line.record, line.place
        doc_id, item = document(sample, place)
        digest = hashlib.blake2b(line.content.strip(), digest_size=16).digest()
        first, digests = seen.setdefault(doc_id, (item, []))
        if first != item:
            got = f"doc_id {doc_id!r} again, of another document"
            raise InputError(place, got, "the samples of one task", "Read each task by itself.")
        if digest in digests:
            trials.duplicates += 1
            continue
        digests.append(digest)
        identity = {
            "task": file.task,
            "model": file.model,
            "run": file.run,
            "filter": safe_text(sample.get("filter", "")),
            "doc_id": doc_id,
            "repeat": len(digests),
            "item": item,
        }
        trials.add(identity, sample_trial(sample, place, file, choices))
    return trials


def document(sample: dict[str, Any], place: str) -> tuple[int | str, str]:
    """Number of the document and a hash that tells documents apart across runs and models."""
    doc_id = sample_name(place, "doc_id", sample["doc_id"])
    item = sample.get("doc_hash")
    if isinstance(item, str):
        return doc_id, safe_text(item)
    try:
        text = json.dumps(sample.get("doc"), indent=2, ensure_ascii=False)
    except RecursionError as error:
        raise InputError(place, "a document nested too deep", "a sample") from error
    # The hash that newer versions write.
    return doc_id, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
