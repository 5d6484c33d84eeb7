"""Runs of HELM.

Path of a run's folder, of its scenario_state.json, or of a folder of runs → DataFrame of trials.
Source: the output of crfm-helm 0.5 (its types ScenarioState and PerInstanceStats).
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from hmetad.arguments import check_inputs, with_submit
from hmetad.logs.helm_files import Run, open_run, run_paths
from hmetad.logs.helm_samples import Choices, helm_trial
from hmetad.logs.lm_eval_filters import of_task
from hmetad.logs.parts import Part, joined_parts, of_each
from hmetad.logs.stated import Scale
from hmetad.logs.statements import compile_pattern, stated_wording
from hmetad.logs.trials import TrialCollector, check_threshold, choice_notices, safe_text
from hmetad.rows.limits import Limits, as_limits

__all__ = ["read_helm"]


@check_inputs(executor=with_submit)
def read_helm(
    path: str | Path,
    *,
    task: str | None = None,
    metric: str | Mapping[str, str] | None = None,
    threshold: float | None = None,
    answer_pattern: str | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
    limits: Limits | Mapping[str, int] | None = None,
    executor: Any = None,
) -> pd.DataFrame:
    """Trials of runs of HELM, one row per instance and trial.

    Parameters
    ----------
    path : str or Path
        The folder of a run, its ``scenario_state.json``, or a folder with runs at any depth. Beside
        it ``per_instance_stats.json`` has the scores, and ``run_spec.json`` the name of the run.
    task : str, optional
        The one task to read: the name of a run without its model. By default all of them.
    metric : str or mapping of str to str, optional
        The metric that says right or wrong, or one for each task. By default exact_match, else
        quasi_exact_match, else whether the option chosen is a right one.
    threshold : float, optional
        Metric from which an answer is right. By default only 1 is right and 0 wrong.
    answer_pattern : str, optional
        Regular expression with one group: the answer in each of several completions, of which the
        last match counts. By default a whole completion is an answer.
    field, pattern, words, scale : optional
        Where a completion states its confidence, as in `parse_confidence`. Without any of them it
        is not looked for.
    limits : Limits or mapping of str to int, optional
        How much a file may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"values": 20_000_000}``.
    executor : Executor or Client, optional
        What reads the files of a folder side by side: an executor of `concurrent.futures`, a
        `distributed.Client`, or something else with ``submit``.

    Returns
    -------
    DataFrame
        One row per instance: ``task``, ``model``, ``run`` (name of the folder), ``id``,
        ``perturbation`` ("" for none), ``repeat`` (number of the training trial from 1), ``item``
        (id as text), ``chosen`` and ``target`` (number of the option from 0; text in generation
        tasks, cut after 1000 characters), ``correct``, ``confidence`` (probability),
        ``option_probabilities`` (list or None) and ``answers`` (list, of several completions).
        Attrs, JSON-able: ``files``, ``rejected`` (values left missing, per reason), ``duplicates``
        (instances left out as copies), ``notices``, and ``scale`` and ``examples`` of stated
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
    kept those of the others. Where all log-probabilities are 0 the model gave none.

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
    within = as_limits(limits)
    check_threshold(threshold)
    wording = stated_wording(field=field, pattern=pattern, words=words)
    is_stated = any(option is not None for option in (field, pattern, words, scale))
    answer = compile_pattern(answer_pattern, "answer_pattern")
    choices = Choices(None, threshold, wording if is_stated else None, answer)
    read = partial(part_of, task, metric, choices, within)
    parts = of_each(read, run_paths(Path(path)), executor)
    trials, files = joined_parts(parts, Path(path), task)
    trials.notices += choice_notices(trials)
    return trials.frame(scale=scale, files=[*files])


def part_of(
    task: str | None,
    metric: str | Mapping[str, str] | None,
    choices: Choices,
    limits: Limits,
    file: Path,
) -> Part:
    """Trials of a run, if it is of the task."""
    run = open_run(file, limits)
    own = choices._replace(metric=of_task(metric, run.task))
    return Part(file, run.task, run_trials(run, own) if task in (None, run.task) else None)


def run_trials(run: Run, choices: Choices) -> TrialCollector:
    """Trials of the instances of a run; copies are counted."""
    trials = TrialCollector()
    for (name, perturbation, trial), requests in run.instances.items():
        scores: dict[str, Any] = dict(run.scores.get((name, perturbation, trial), {}))
        identity = {
            "task": run.task,
            "model": run.model,
            "run": run.name,
            "id": name,
            "perturbation": perturbation,
            "repeat": trial + 1,
            "item": safe_text(name),
        }
        trials.add(identity, helm_trial(run.method, requests, scores, choices))
    trials.duplicates += run.duplicates
    return trials
