"""Sample logs of lm-evaluation-harness.

Path of samples_<task>_<time>.jsonl, or of a folder with such files → DataFrame of trials.
Source: the layout and the rules of lm-evaluation-harness 0.4.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, FileError, UnknownError, nearest
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.logs.answer_options import OPTION_METRICS, log_likelihood, option_confidence
from hmetad.logs.choices import Choices, of_task
from hmetad.logs.json_files import json_file, json_lines, json_object
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.limits import Limits
from hmetad.logs.samples import ANSWERED, Format, Log, LogFile, Sample, chosen_runs, read_format
from hmetad.logs.trials import as_dict, as_list, sample_name
from hmetad.rows.values import safe_text

ALLOWED = "a file samples_<task>_<time>.jsonl, as lm-evaluation-harness writes by --log_samples"
NAME = re.compile(r"(?:samples_)?(?P<task>.+)_(?P<run>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.+-]+)\.jsonl")
REQUIRED = ("doc_id", "resps", "filtered_resps")
LAYOUT = "a sample of lm-evaluation-harness 0.4, as --log_samples writes it"
# Of a sample, beside its metrics.
FIELDS = {*REQUIRED, "doc", "target", "arguments", "filter", "metrics"}
FIELDS |= {"doc_hash", "prompt_hash", "target_hash"}
GENERATION_METRICS = ("exact_match", "acc")
# Filters that treat each response by itself, so that the first to go in is the first to come out.
ELEMENTWISE = {"regex", "regex_pos", "multi_choice_regex", "format_span", "map", "lowercase"}
ELEMENTWISE |= {"uppercase", "remove_whitespace", "take_first"}


@check_inputs()
def read_lm_eval(path: str | Path, **options: Any) -> pd.DataFrame:
    """Trials of a sample log of lm-evaluation-harness, read line by line.

    Parameters
    ----------
    path : str or Path
        A file ``samples_<task>_<time>.jsonl``, or a folder with such files at any depth.
    **options
        Those of all logs, as in `read_log`, and:

        - ``runs``: "latest" or "all", which runs to read of a task that a model did several times;
        - ``answer_filter``: the filter whose answers count ("strict-match"), where a task has
          several; or one for each task. By default the first in the log of each task, which a
          notice names. Old logs do not name filters: the second is "2". If several files are read,
          those that have one filter only are read by it;
        - ``metric``: the metric that says correct or incorrect, or one for each task. By default
          acc, acc_norm or acc_bytes for multiple choice, as `normalise` has it; else the one of
          exact_match and acc that is there. "all" keeps every metric as a column, for
          `count_judged`, and leaves `correct` missing;
        - ``normalise``: "none" (default), "characters" or "bytes", the length by which the
          log-likelihood of an option is divided, as acc_norm and acc_bytes rank options;
        - ``answer_pattern``: regular expression with one group, the answer in each of several
          responses to one prompt, of which the last match counts. By default an entire response is
          an answer.

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
        reason), ``duplicates`` (samples excluded as exact copies), ``normalise``, ``notices``, and
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
    return read_format(FORMAT, path, options)


def record_of(
    choices: Choices, remarks: Mapping[str, tuple[str, dict[str, None]]]
) -> tuple[dict[str, Any], list[Notice]]:
    """Filters that were used; notice of the tasks that have several, if none was chosen."""
    filters: dict[str, dict[str, None]] = {}
    for task, names in remarks.values():
        filters.setdefault(task, {}).update(names)
    said = []
    for task, (first, *others) in filters.items():
        if others and of_task(choices.answer_filter, task) is None:
            said.append(f"{task}: {first or 'the first'}, not {' or '.join(others)}")
    used = {task: safe_text(next(iter(names))) for task, names in filters.items()}
    found = [notice_of("filter-chosen", tasks=first_few(said))] if said else []
    return {"filters": used}, found


# Files


def sample_files(path: Path, choices: Choices) -> list[tuple[LogFile, bool]]:
    """Sample files of a path, and whether each is the only one."""
    found = [described(file, choices.limits) for file in files_of_kind(path, "lm-eval", ALLOWED)]
    files = chosen_runs(found, path, choices)
    tasks = {file.task for file in files}
    for argument in ("answer_filter", "metric"):
        choice = getattr(choices, argument)
        for task in choice if isinstance(choice, Mapping) else ():
            if task not in tasks:
                step = nearest(task, tasks)
                raise UnknownError(argument, repr(task), "a task that is read", step)
    return [(file, len(files) == 1) for file in files]


def described(path: Path, limits: Limits) -> LogFile:
    """Task and time from the name of a file, model and configuration from the results beside."""
    named = NAME.fullmatch(path.name)
    task, run = (named["task"], named["run"]) if named else (path.stem, "")
    beside = sorted(path.parent.iterdir()) if run else []
    written = [f for f in beside if f.name.endswith(f"_{run}.json") and f.is_file()]
    results: dict[str, Any] = {}
    for file in written[:1]:
        results = json_object(str(file), json_file(file, "results as JSON", limits))
    model = results.get("model_name") or path.absolute().parent.name
    config = as_dict(as_dict(results.get("configs")).get(task))
    return LogFile(path, safe_text(task), safe_text(model), run, str(path.parent), config)


def chosen_filter(file: LogFile, choices: Choices, *, alone: bool) -> str:
    """Filter of a file whose answers count: the caller's, else the first of the file.

    Of several files, one that has one filter only is read by that one.
    """
    wanted = of_task(choices.answer_filter, file.task)
    names: dict[str, None] = {}
    for _, _, _, name in samples_by_filter(file.path, choices.limits):
        if wanted in (None, name):
            return name
        names[name] = None
    if not names:
        raise FileError(str(file.path), "an empty file", "at least one sample")
    if len(names) == 1 and not alone and not isinstance(choices.answer_filter, Mapping):
        return next(iter(names))
    got = f"{wanted!r}, which {file.path} does not have"
    step = nearest(f"{wanted}", names)
    if not alone:
        step += " A mapping of task to filter names one for each task."
    raise ChoiceError("answer_filter", got, "a filter of the log", step.strip())


def samples_by_filter(path: Path, limits: Limits) -> Iterator[tuple[str, bytes, Any, str]]:
    """Places, lines, samples and their filters, if they have a known layout.

    Old logs name no filter: the same responses to a document again are those of filter "2", "3".
    """
    times: Counter[bytes] = Counter()
    for place, content, sample in json_lines(path, limits):
        for name in (name for name in REQUIRED if name not in sample):
            step = "Logs of other tools are read as tables."
            raise FileError(place, f"an object without {name!r}", LAYOUT, step)
        used = str(sample.get("filter", ""))
        if "filter" not in sample:
            key = hashlib.sha256(json.dumps([sample["doc_id"], sample["resps"]]).encode()).digest()
            times[key] += 1
            used = f"{times[key]}" if times[key] > 1 else ""
        yield place, content, sample, used


# Samples


def log_of(choices: Choices, known: tuple[LogFile, bool]) -> Log:
    """Samples of a file under its filter; kept are its task and its filters, the used one first."""
    file, alone = known
    used = chosen_filter(file, choices, alone=alone)
    names: dict[str, None] = {used: None}
    return Log(file.path, file.task, samples_of(file, choices, used, names), (file.task, names))


def samples_of(
    file: LogFile, choices: Choices, used: str, names: dict[str, None]
) -> Iterator[Sample | None]:
    """Samples under a filter; `names` gets the names of all filters of the file, in their order."""
    items: dict[int | str, str] = {}
    repeats: Counter[int | str] = Counter()
    lines: set[bytes] = set()
    copies = 0
    for place, content, sample, name in samples_by_filter(file.path, choices.limits):
        digest = hashlib.blake2b(content.strip(), digest_size=16).digest()
        if digest in lines:
            copies += 1
            continue
        names[name] = None
        if name != used:
            continue
        doc_id, item = document(sample, place)
        if items.setdefault(doc_id, item) != item:
            got = f"doc_id {doc_id!r} again, of another document"
            raise FileError(place, got, "the samples of one task", "Read each task by itself.")
        lines.add(digest)
        repeats[doc_id] += 1
        meta: dict[str, Any] = {"task": file.task, "model": file.model, "run": file.run}
        meta |= {"filter": safe_text(name), "doc_id": doc_id}
        meta |= {"repeat": repeats[doc_id], "item": item}
        yield sample_of(sample, place, meta, file, choices)
    # Where filters without a name agree, their lines are the same, and no copies.
    if len(names) == 1 or "filter" in sample:
        yield from [None] * copies


def document(sample: dict[str, Any], place: str) -> tuple[int | str, str]:
    """Number of the document and a hash that tells documents apart across runs and models."""
    doc_id = sample_name(place, "doc_id", sample["doc_id"])
    item = sample.get("doc_hash")
    if isinstance(item, str):
        return doc_id, safe_text(item)
    text = json.dumps(sample.get("doc"), indent=2, ensure_ascii=False)
    # The hash that newer versions write.
    return doc_id, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sample_of(
    sample: dict[str, Any], place: str, meta: dict[str, Any], file: LogFile, choices: Choices
) -> Sample:
    """Multiple choice or generation task, by what the answers are."""
    answers = sample["filtered_resps"]
    scores = {name: value for name, value in sample.items() if name not in FIELDS}
    if not isinstance(answers, list) or not answers:
        raise FileError(place, "'filtered_resps' without an answer", "one or more")
    if all(map(is_scored, answers)):
        return Sample(place, meta, scores, **option_values(sample, place, file, choices))
    if any(map(is_scored, answers)):
        raise FileError(place, "log-likelihoods beside text", "one or the other")
    metrics: tuple[str, ...] = ()
    if of_task(choices.metric, file.task) is None:
        metrics = (generation_metric(sample, place),)
    answer, target = only_one(only_one(answers)), sample.get("target")
    # Newer logs put the responses to one prompt into a list of their own.
    responses = only_one(sample["resps"])
    responses = responses if isinstance(responses, list) else [responses]
    first = takes_first(str(sample.get("filter", "")), file.config)
    return Sample(
        place,
        meta,
        scores,
        metrics,
        chosen=answer if isinstance(answer, str) else None,
        target=None if target is None else safe_text(target),
        missing="" if isinstance(answer, str) else "several answers",
        texts=responses[:1] if first else responses,
        responses=responses,
    )


def only_one(value: Any) -> Any:
    """The value of a list of one; else what was given."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def option_values(
    sample: dict[str, Any], place: str, file: LogFile, choices: Choices
) -> dict[str, Any]:
    """What is kept of a multiple choice."""
    values = (log_likelihood(pair[0]) for pair in sample["filtered_resps"])
    scored = [value for value in values if value is not None]
    if "acc_mutual_info" in sample and len(scored) % 2 == 0:
        # The second half are the options without the question.
        scored = scored[: len(scored) // 2]
    texts = option_texts(sample)[: len(scored)]
    target = target_option(sample.get("target"), texts)
    found: dict[str, Any] = {"missing": "log-likelihood of a single option"}
    if len(scored) > 1:
        if choices.normalise != "none" and len(texts) != len(scored):
            got = f"{len(texts)} texts in 'arguments' for {len(scored)} options"
            ways = ("normalise='none'", "--normalise none")
            steps = (f"Give {way}, which needs no lengths." for way in ways)
            raise FileError(place, got, "one for each", *steps)
        delimiter = file.config.get("target_delimiter")
        delimiter = delimiter if isinstance(delimiter, str) else " "
        found = option_confidence(scored, texts, choices.normalise, delimiter)
    right = (target,) if isinstance(target, int) else ()
    metrics = (OPTION_METRICS[choices.normalise],)
    return {**found, "target": target, "right": right, "metrics": metrics}


def generation_metric(sample: dict[str, Any], place: str) -> str:
    """The metric that says right or wrong, if it is one."""
    there = [name for name in GENERATION_METRICS if name in sample]
    if len(there) != 1:
        known = sample.get("metrics")
        names = known if isinstance(known, list) else there
        got = f"none, for a sample with {', '.join(map(repr, names)) or 'no known metric'}"
        steps = (
            f"Choose with {metric}. A task of perplexities has none: exclude it with {task}."
            for metric, task in (("metric=", "task="), ("--metric", "--task"))
        )
        raise ChoiceError("metric", f"{got} ({place})", "the name of a metric, or 'all'", *steps)
    return there[0]


def takes_first(used: str, config: dict[str, Any]) -> bool:
    """Whether the configuration says that the filter kept the first response."""
    filters = config.get("filter_list")
    if not filters:
        return bool(config)
    for entry in filters if isinstance(filters, list) else []:
        if as_dict(entry).get("name") == used:
            names = [as_dict(step).get("function") for step in as_list(entry.get("filter"))]
            return "take_first" in names and all(name in ELEMENTWISE for name in names)
    return False


def is_scored(answer: Any) -> bool:
    """Whether an answer is a log-likelihood and whether it was the greedy choice."""
    if not isinstance(answer, list) or len(answer) != 2:
        return False
    return log_likelihood(answer[0]) is not None and answer[1] in (True, False, "True", "False")


def option_texts(sample: dict[str, Any]) -> list[str]:
    """Options as they were scored, or fewer where the sample does not hold them."""
    arguments = sample.get("arguments")
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    texts = []
    for request in requests if isinstance(requests, list) else []:
        parts = list(request.values()) if isinstance(request, dict) else request
        if not isinstance(parts, list) or len(parts) < 2 or not isinstance(parts[1], str):
            break
        texts.append(parts[1])
    return texts


def target_option(target: Any, texts: Sequence[str]) -> int | str | None:
    """Number of the right option; text where there are several, or it is not known which."""
    if target is None:
        return None
    text, number = str(target).strip(), target
    digits = text.removeprefix("-")
    if isinstance(target, str) and digits.isascii() and digits.isdigit() and len(digits) < 19:
        number = int(text)
    # A number is always that of an option, even where the options are numbers themselves.
    if isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**63:
        return number
    same = [i for i, option in enumerate(texts) if option.strip() == text]
    if len(same) == 1:
        return same[0]
    return safe_text(target if isinstance(target, str) else json.dumps(target))


COLUMNS = ("task", "model", "run", "filter", "doc_id", "repeat", "item", *ANSWERED)
FORMAT = Format("lm-eval", sample_files, log_of, COLUMNS, record_of)
