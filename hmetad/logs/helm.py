"""Runs of HELM.

Path of a run's folder, of its scenario_state.json, or of a folder of runs → DataFrame of trials.
Source: the output of crfm-helm 0.5 (its types ScenarioState and PerInstanceStats, its adapters and
its basic metrics).
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import is_whole
from hmetad.base.errors import FileError
from hmetad.logs.answer_options import LARGEST_LOG_PROBABILITY, letter_confidence, option_confidence
from hmetad.logs.choices import Choices
from hmetad.logs.json_files import json_file, json_object
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.limits import Limits
from hmetad.logs.samples import ANSWERED, Format, Log, Sample, read_format
from hmetad.logs.statements import as_number
from hmetad.logs.trials import as_dict, as_list, objects_in, sample_name
from hmetad.rows.values import safe_text

ALLOWED = "a run of HELM: a folder with scenario_state.json, or that file"
STATE = "scenario_state.json"
# Files with scores, the fuller one first.
SCORES = ("per_instance_stats.json", "display_predictions.json")
MODEL_ARGUMENT = re.compile(r"[:,]model(_deployment)?=[^,]*")
METRICS = ("exact_match", "quasi_exact_match")
CORRECT = "correct"
CALIBRATED = "multiple_choice_separate_calibrated"

# Id of an instance, its perturbation ("" for none), and the training trial from 0.
type Key = tuple[int | str, str, int]


@check_inputs()
def read_helm(path: str | Path, **options: Any) -> pd.DataFrame:
    """Trials of runs of HELM, one row per instance and trial.

    Parameters
    ----------
    path : str or Path
        The folder of a run, its ``scenario_state.json``, or a folder with runs at any depth. Next
        to it ``per_instance_stats.json`` has the scores, and ``run_spec.json`` the name of the run.
    **options
        Those of all logs, as in `read_log`, and:

        - ``metric``: the metric that says correct or incorrect, or one for each task. By default
          exact_match, else quasi_exact_match, else whether the option chosen is a correct one.
          "all" keeps every one, as in `read_lm_eval`;
        - ``answer_pattern``: as in `read_lm_eval`, in each of several completions.

        ``task`` is the name of a run without its model.

    Returns
    -------
    DataFrame
        One row per instance: ``task``, ``model``, ``run`` (name of the folder), ``id``,
        ``perturbation`` ("" for none), ``repeat`` (number of the training trial from 1), ``item``
        (id as text), ``chosen`` and ``target`` (number of the option from 0; text in generation
        tasks, cut after 1000 characters), ``correct``, ``confidence`` (probability),
        ``option_probabilities`` (list or None) and ``answers`` (list, of several completions).
        Attrs, JSON-able: ``files``, ``rejected`` (values left missing, per reason), ``duplicates``
        (instances excluded as copies), ``notices``, and ``scale`` and ``examples`` of stated
        confidence.

    Raises
    ------
    InputError
        If nothing is found to read; if a file is none of HELM's, is cut off, or goes beyond a
        limit; if the metric is not there; if options are unusable.

    Notes
    -----
    Where each option was scored by itself (multiple_choice_separate_original, ..._calibrated)
    confidence is the softmax of HELM's own scores, log-probabilities per token or less those
    without the question, at the option with the largest: HELM's max_prob. In a joint multiple
    choice it is the probability of the letter that the model wrote, over the letters where HELM
    kept those of the others. If all log-probabilities are 0 the model gave none.

    Examples
    --------
    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> options = [{"output": {"text": "3"}, "tags": []},
    ...            {"output": {"text": "4"}, "tags": ["correct"]}]
    >>> said = {"text": " B", "logprob": -0.5, "tokens": [{"text": " B", "logprob": -0.5}]}
    >>> state = {"instance": {"id": "id1", "input": {"text": "2 + 2"}, "references": options},
    ...          "train_trial_index": 0, "output_mapping": {"A": "3", "B": "4"},
    ...          "result": {"success": True, "completions": [said]}}
    >>> adapter = {"method": "multiple_choice_joint", "model": "openai/gpt"}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "scenario_state.json")
    ...     _ = file.write_text(json.dumps({"adapter_spec": adapter, "request_states": [state]}))
    ...     trials = read_helm(folder)
    >>> trials[["model", "chosen", "target", "correct"]].to_dict("records")
    [{'model': 'openai/gpt', 'chosen': 1, 'target': 1, 'correct': True}]
    >>> trials["confidence"].round(3).tolist()
    [0.607]
    """
    return read_format(FORMAT, path, options)


# Files


def run_paths(path: Path, _: Choices) -> list[Path]:
    """Files of the state of runs: the one that was named, or beside it, or those in a folder."""
    if path.is_file() and path.name != STATE:
        beside = path.with_name(STATE)
        if not beside.is_file():
            raise FileError(str(path), f"a file without {STATE} beside it", ALLOWED)
        return [beside]
    return files_of_kind(path, "helm", ALLOWED)


def log_of(choices: Choices, path: Path) -> Log:
    """Run of a scenario_state.json, with the files beside it.

    The task is the name of the run without its model.
    """
    limits = choices.limits
    state = json_object(str(path), json_file(path, ALLOWED, limits))
    adapter, requests = state.get("adapter_spec"), state.get("request_states")
    if not isinstance(adapter, dict) or not isinstance(requests, list):
        raise FileError(str(path), "an object without adapter_spec and request_states", ALLOWED)
    if not requests:
        raise FileError(str(path), "no request states", "at least one")
    folder, beside = path.absolute().parent.name, path.with_name("run_spec.json")
    spec = json_object(str(beside), json_file(beside, ALLOWED, limits)) if beside.is_file() else {}
    name = spec.get("name")
    task = safe_text(MODEL_ARGUMENT.sub("", name if isinstance(name, str) and name else folder))
    model = safe_text(adapter.get("model") or adapter.get("model_deployment") or folder)
    meta = {"task": task, "model": model, "run": safe_text(folder)}
    instances = requests_by_instance(path, requests)
    method = safe_text(adapter.get("method", ""))
    return Log(path, task, samples_of(instances, scores_beside(path, limits), method, meta))


def requests_by_instance(path: Path, requests: list[Any]) -> dict[Key, list[dict[str, Any] | None]]:
    """Requests of each instance, with their places; None for a copy."""
    instances: dict[Key, list[dict[str, Any] | None]] = defaultdict(list)
    seen = set()
    for number, request in enumerate(requests, 1):
        place = f"{path}, request {number}"
        if not isinstance(request, dict) or not isinstance(request.get("instance"), dict):
            raise FileError(place, "a request without an instance", ALLOWED)
        key = key_of(request["instance"], request, place, "id")
        part = (key, repr(request.get("reference_index")), repr(request.get("request_mode")))
        instances[key].append(None if part in seen else {**request, "place": place})
        seen.add(part)
    return instances


def scores_beside(path: Path, limits: Limits) -> dict[Key, dict[str, Any]]:
    """Mean of each metric, by instance; none where there is no file of scores."""
    beside = next((path.with_name(n) for n in SCORES if path.with_name(n).is_file()), None)
    if beside is None:
        return {}
    listed = json_file(beside, ALLOWED, limits)
    if not isinstance(listed, list):
        raise FileError(str(beside), f"a {type(listed).__name__}", "a list of instances")
    scores: dict[Key, dict[str, Any]] = {}
    for number, one in enumerate(listed, 1):
        place = f"{beside}, instance {number}"
        stats = json_object(place, one).get("stats")
        means = {**as_dict(stats)}
        for metric in objects_in(stats):
            name = as_dict(metric.get("name")).get("name")
            if isinstance(name, str) and metric.get("count"):
                means[name] = metric.get("mean")
        scores.setdefault(key_of(one, one, place, "instance_id"), {}).update(means)
    return scores


def key_of(instance: dict[str, Any], whole: dict[str, Any], place: str, field: str) -> Key:
    """What tells an instance apart within a run."""
    name = sample_name(place, field, instance.get(field))
    perturbation = as_dict(instance.get("perturbation")).get("name")
    trial = whole.get("train_trial_index", 0)
    if not is_whole(trial) or not 0 <= trial < 2**31:
        raise FileError(place, f"train_trial_index {trial!r}", "a whole number from 0")
    return name, safe_text(perturbation or ""), trial


# Samples


def samples_of(
    instances: Mapping[Key, list[dict[str, Any] | None]],
    scores: Mapping[Key, dict[str, Any]],
    method: str,
    meta: dict[str, Any],
) -> Iterator[Sample | None]:
    """Samples of the instances of a run, None for each copy of a request."""
    for key, requests in instances.items():
        name, perturbation, trial = key
        own = {**meta, "id": name, "perturbation": perturbation, "repeat": trial + 1}
        own["item"] = safe_text(name)
        distinct = [request for request in requests if request is not None]
        yield from [None] * (len(requests) - len(distinct))
        found = values_of(method, distinct)
        yield Sample(distinct[0]["place"], own, scores.get(key, {}), METRICS, **found)


def values_of(method: str, requests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is kept of an instance: numbers of options in multiple choice, else text."""
    references = [as_dict(one) for one in as_list(requests[0]["instance"].get("references"))]
    texts = [safe_text(as_dict(one.get("output")).get("text", "")) for one in references]
    right = [i for i, one in enumerate(references) if CORRECT in as_list(one.get("tags"))]
    mapping = as_dict(requests[0].get("output_mapping"))
    if method.startswith("multiple_choice_separate"):
        found = separate_choice(requests, texts, method == CALIBRATED)
    elif method.startswith("multiple_choice_joint") and mapping:
        written = map(safe_text, mapping.values())
        numbers = [texts.index(text) if text in texts else -1 for text in written]
        right = [i for i, number in enumerate(numbers) if number in right]
        found = joint_choice(requests[0], list(mapping))
    else:
        completions = objects_in(as_dict(requests[0].get("result")).get("completions"))
        said = [one.get("text") for one in completions]
        whole = [text for text in said if isinstance(text, str)]
        return {
            "chosen": whole[0].strip() if whole else None,
            "target": "; ".join(texts[i] for i in right) if right else None,
            "missing": "" if whole else "no completion",
            "texts": said,
            "responses": said,
        }
    return {**found, "right": right, "texts": [first_of(requests[0])[0]]}


def separate_choice(
    requests: Sequence[dict[str, Any]], texts: Sequence[str], is_calibrated: bool
) -> dict[str, Any]:
    """Option with the largest score, and probabilities of all, where each was scored by itself."""
    scores: dict[tuple[str, int], tuple[float, int]] = {}
    for request in requests:
        number, mode = request.get("reference_index"), request.get("request_mode")
        if isinstance(number, int) and 0 <= number < len(texts):
            scores[str(mode), number] = option_score(request, texts[number])
    originals = [scores.get(("original", i), (math.nan, 1)) for i in range(len(texts))]
    values = [total / tokens for total, tokens in originals]
    if is_calibrated:
        bare = [scores.get(("calibration", i), (math.nan, 1))[0] for i in range(len(texts))]
        values = [total - other for (total, _), other in zip(originals, bare, strict=True)]
    if len(values) < 2 or np.isnan(values).any():
        return {"missing": "confidence: no log-probabilities of all options"}
    found = option_confidence(values)
    return {"missing": f"confidence: {found['missing']}"} if "missing" in found else found


def option_score(request: dict[str, Any], text: str) -> tuple[float, int]:
    """Log-probability of the tokens at the end that are the option, and their number."""
    total, number, found = 0.0, 0, ""
    for token in reversed(first_of(request)[1]):
        found = str(token.get("text")) + found
        total, number = total + as_number(token.get("logprob")), number + 1
        if found.strip() == text.strip() and found != found.strip():
            return total, number
        if len(found) > len(text) + 1:
            break
    return math.nan, 1


def joint_choice(request: dict[str, Any], letters: Sequence[str]) -> dict[str, Any]:
    """Option whose letter was written, probabilities of the options, and that of the letter."""
    text, tokens = first_of(request)
    written = (text or "").strip().rstrip(".)").lstrip("(")
    if written not in letters:
        return {"missing": "no single letter as the answer"}
    chosen = letters.index(written)
    at = [token for token in tokens if str(token.get("text")).strip() == written]
    if not at or all(as_number(token.get("logprob")) == 0 for token in tokens):
        return {"chosen": chosen, "missing": "confidence: no log-probabilities"}
    number = as_number(at[-1].get("logprob"))
    # Older versions keep the most probable tokens at each place.
    top = as_dict(at[-1].get("top_logprobs"))
    if top and all(len(one) == 1 for one in letters):
        said = {**top, str(at[-1].get("text")): number}
        return {"chosen": chosen, **letter_confidence(said, letters, written)}
    if number <= LARGEST_LOG_PROBABILITY:
        return {"chosen": chosen, "confidence": min(1.0, math.exp(number))}
    return {"chosen": chosen, "missing": "confidence: log-probabilities are not finite"}


def first_of(request: dict[str, Any]) -> tuple[str | None, list[dict[str, Any]]]:
    """Text of the first completion, and its tokens with their log-probabilities."""
    # A request that failed has none.
    first = next(iter(objects_in(as_dict(request.get("result")).get("completions"))), {})
    text = first.get("text")
    return text if isinstance(text, str) else None, objects_in(first.get("tokens"))


COLUMNS = ("task", "model", "run", "id", "perturbation", "repeat", "item", *ANSWERED)
FORMAT = Format("helm", run_paths, log_of, COLUMNS)
