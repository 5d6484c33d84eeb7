"""Sample logs of lm-evaluation-harness.

Path of samples_<task>_<time>.jsonl, or of a folder with such files → DataFrame of trials.
Source: the layout of lm-evaluation-harness 0.4.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.errors import InputError, nearest
from hmetad.logs.lm_eval_files import Runs, SampleFile, sample_files
from hmetad.logs.lm_eval_samples import Choices, Normalise, sample_trial
from hmetad.logs.stated import Scale
from hmetad.logs.statements import stated_wording
from hmetad.logs.trials import TrialCollector, check_threshold, safe_text, sample_name
from hmetad.rows.limits import Limits, as_limits
from hmetad.rows.lines import Line, json_lines

__all__ = ["read_lm_eval"]

REQUIRED = ("doc_id", "resps", "filtered_resps")
LAYOUT = "a sample of lm-evaluation-harness 0.4, as --log_samples writes it"


@check_inputs()
def read_lm_eval(
    path: str | Path,
    *,
    task: str | None = None,
    runs: Runs | None = None,
    answer_filter: str | None = None,
    metric: str | None = None,
    normalise: Normalise = "none",
    threshold: float | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
    limits: Limits | Mapping[str, int] | None = None,
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
    answer_filter : str, optional
        The filter whose answers count ("strict-match"), where a task has several.
    metric : str, optional
        The metric that says right or wrong. By default acc, acc_norm or acc_bytes for multiple
        choice, as `normalise` has it; else the one of exact_match and acc that is there.
    normalise : {"none", "characters", "bytes"}, optional
        Length by which the log-likelihood of an option is divided, as for acc_norm or acc_bytes.
    threshold : float, optional
        Metric from which an answer is right. By default only 1 is right and 0 wrong.
    field, pattern, words, scale : optional
        Where the response to a generation task states its confidence, as in `parse_confidence`.
        Without any of them it is not looked for.
    limits : Limits or mapping of str to int, optional
        How much the log may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"values": 20_000_000}``.

    Returns
    -------
    DataFrame
        One row per sample: ``task``, ``model``, ``run`` (time, "" if unknown), ``filter``,
        ``doc_id``, ``repeat`` (1, 2, ... of a document within a run), ``item`` (hash of the
        document), ``chosen`` and ``target`` (number of the option from 0; text in generation
        tasks, cut after 1000 characters), ``correct``, ``confidence`` (probability) and
        ``option_probabilities`` (list; None in generation tasks). Attrs, JSON-able: ``files``,
        ``rejected`` (values left missing, per reason), ``duplicates`` (samples left out as exact
        copies), ``normalise``, and ``scale`` and ``examples`` of stated confidence.

    Raises
    ------
    InputError
        If nothing is found to read; if a line is no sample, is cut off, belongs to another task, or
        goes beyond a limit; if runs, filter or metric are several and none is chosen; if options
        are unusable.

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
    choices = Choices(metric, normalise, threshold, wording if is_stated else None)
    files = sample_files(Path(path), task, runs, within)
    trials = TrialCollector()
    for file in files:
        read_file(file, answer_filter, choices, trials, within)
    names = [safe_text(file.path) for file in files]
    return trials.frame(scale=scale, files=names, normalise=normalise)


def read_file(
    file: SampleFile,
    answer_filter: str | None,
    choices: Choices,
    trials: TrialCollector,
    limits: Limits,
) -> None:
    """Collect the samples of a file; copies are counted."""
    seen: dict[int | str, tuple[str, list[bytes]]] = {}
    for line in filter_samples(file, answer_filter, limits):
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


def filter_samples(file: SampleFile, answer_filter: str | None, limits: Limits) -> Iterator[Line]:
    """Samples of a file under the filter that counts."""
    names: set[str] = set()
    kept = 0
    for line in json_lines(file.path, limits):
        check_layout(line)
        name = str(line.record.get("filter", ""))
        names.add(name)
        if answer_filter is None and len(names) > 1:
            got = f"none, for samples filtered by {' and '.join(map(repr, sorted(names)))}"
            allowed = "one of them, or a single task= to read"
            raise InputError("answer_filter", f"{got} ({line.place})", allowed)
        if answer_filter in (None, name):
            kept += 1
            yield line
    if not names:
        raise InputError(str(file.path), "an empty file", "at least one sample")
    if not kept:
        got = f"{answer_filter!r}, which {file.path} does not have"
        raise InputError(
            "answer_filter", got, "a filter of the log", nearest(f"{answer_filter}", names)
        )


def check_layout(line: Line) -> None:
    """Refuse an object that is no sample of a known layout."""
    absent = [name for name in REQUIRED if name not in line.record]
    if absent:
        step = "Logs of other tools are read as tables."
        raise InputError(line.place, f"an object without {absent[0]!r}", LAYOUT, step)


def document(sample: dict[str, Any], place: str) -> tuple[int | str, str]:
    """Number of the document and a hash that tells documents apart across runs and models."""
    doc_id = sample_name(place, "doc_id", sample["doc_id"])
    item = sample.get("doc_hash")
    if isinstance(item, str):
        return doc_id, safe_text(item)
    try:
        text = json.dumps(sample.get("doc"), indent=2, ensure_ascii=False)
    except RecursionError as error:
        raise InputError(place, "a document nested too deep", LAYOUT) from error
    # The hash that newer versions write.
    return doc_id, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
