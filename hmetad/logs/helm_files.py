"""The files of a run of HELM: what was asked and answered, and the scores beside.

Path of a run → `Run`: its task, model, and for each instance its requests and its scores.
Source: the output of crfm-helm 0.5.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hmetad.errors import InputError
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.trials import as_dict, safe_text, sample_name
from hmetad.rows.limits import Limits
from hmetad.rows.lines import json_value, parse_line
from hmetad.rows.packed import whole_file

__all__ = ["Key", "Run", "open_run", "run_paths"]

ALLOWED = "a run of HELM: a folder with scenario_state.json, or that file"
STATE = "scenario_state.json"
# Files with scores, the fuller one first.
SCORES = ("per_instance_stats.json", "display_predictions.json")
MODEL_ARGUMENT = re.compile(r"[:,]model(_deployment)?=[^,]*")

# Id of an instance, its perturbation ("" for none), and the training trial from 0.
type Key = tuple[int | str, str, int]


class Run(NamedTuple):
    """A run: its task, model, folder and method; requests and scores of each instance."""

    task: str
    model: str
    name: str
    method: str
    instances: Mapping[Key, list[dict[str, Any]]]
    scores: Mapping[Key, dict[str, Any]]
    duplicates: int


def run_paths(path: Path) -> list[Path]:
    """Files of the state of runs: the one that was named, or beside it, or those in a folder."""
    if path.is_file() and path.name != STATE:
        beside = path.with_name(STATE)
        if not beside.is_file():
            raise InputError(str(path), f"a file without {STATE} beside it", ALLOWED)
        return [beside]
    return files_of_kind(path, "helm", ALLOWED)


def open_run(path: Path, limits: Limits) -> Run:
    """Run of a scenario_state.json, with the files beside it.

    Parameters
    ----------
    path : Path
        The file.
    limits : Limits
        Of each file.

    Returns
    -------
    Run
        The task is the name of the run without its model.

    Raises
    ------
    InputError
        If a file is none of HELM's, is cut off, or goes beyond a limit.
    """
    state = parse_line(str(path), whole_file(path, ALLOWED, limits), limits)
    adapter, requests = state.get("adapter_spec"), state.get("request_states")
    if not isinstance(adapter, dict) or not isinstance(requests, list):
        raise InputError(str(path), "an object without adapter_spec and request_states", ALLOWED)
    if not requests:
        raise InputError(str(path), "no request states", "at least one")
    instances: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    duplicates = 0
    for number, request in enumerate(requests, 1):
        place = f"{path}, request {number}"
        if not isinstance(request, dict) or not isinstance(request.get("instance"), dict):
            raise InputError(place, "a request without an instance", ALLOWED)
        several = instances[key_of(request["instance"], request, place, "id")]
        part = (request.get("reference_index"), request.get("request_mode"))
        if part in [(one.get("reference_index"), one.get("request_mode")) for one in several]:
            duplicates += 1
        else:
            several.append({**request, "place": place})
    named = run_name(path, limits)
    model = adapter.get("model") or adapter.get("model_deployment") or path.absolute().parent.name
    return Run(
        safe_text(MODEL_ARGUMENT.sub("", named)),
        safe_text(model),
        safe_text(path.absolute().parent.name),
        safe_text(adapter.get("method", "")),
        instances,
        scores_beside(path, limits),
        duplicates,
    )


def run_name(path: Path, limits: Limits) -> str:
    """Name of the run by the file beside, else that of its folder."""
    beside = path.with_name("run_spec.json")
    name = None
    if beside.is_file():
        name = parse_line(str(beside), whole_file(beside, ALLOWED, limits), limits).get("name")
    return name if isinstance(name, str) and name else path.absolute().parent.name


def scores_beside(path: Path, limits: Limits) -> dict[Key, dict[str, Any]]:
    """Mean of each metric, by instance; none where there is no file of scores."""
    beside = next((path.with_name(n) for n in SCORES if path.with_name(n).is_file()), None)
    if beside is None:
        return {}
    listed = json_value(str(beside), whole_file(beside, ALLOWED, limits), limits)
    if not isinstance(listed, list):
        raise InputError(str(beside), f"a {type(listed).__name__}", "a list of instances")
    scores: dict[Key, dict[str, Any]] = {}
    for number, one in enumerate(listed, 1):
        place = f"{beside}, instance {number}"
        if not isinstance(one, dict):
            raise InputError(place, f"a {type(one).__name__}", "a JSON object")
        stats = one.get("stats")
        means = stats if isinstance(stats, dict) else means_of(stats)
        scores.setdefault(key_of(one, one, place, "instance_id"), {}).update(means)
    return scores


def means_of(stats: Any) -> dict[str, Any]:
    """Mean of each metric of a list of HELM's statistics."""
    found = {}
    for one in stats if isinstance(stats, list) else []:
        name = as_dict(as_dict(one).get("name")).get("name")
        if isinstance(name, str) and as_dict(one).get("count"):
            found[name] = one.get("mean")
    return found


def key_of(instance: dict[str, Any], whole: dict[str, Any], place: str, field: str) -> Key:
    """What tells an instance apart within a run."""
    name = sample_name(place, field, instance.get(field))
    perturbation = as_dict(instance.get("perturbation")).get("name")
    trial = whole.get("train_trial_index", 0)
    if isinstance(trial, bool) or not isinstance(trial, int) or not 0 <= trial < 2**31:
        raise InputError(place, f"train_trial_index {trial!r}", "a whole number from 0")
    return name, safe_text(perturbation or ""), trial
