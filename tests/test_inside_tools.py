"""Metrics inside Inspect and lm-eval are the package's own numbers; the tools run beside it."""

import json
import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hmetad
from hmetad.lm_eval_tasks import aggregation_named, auroc2, choice_results, coverage, stated_results
from hmetad.tool_metrics import metric_of, stated_confidence

ROOT = Path(__file__).parents[1]
INSPECT, LM_EVAL = "inspect-ai==0.3.285", "lm-eval==0.4.13"


@pytest.fixture
def beside(tmp_path):
    """Run a command with a tool that is installed beside this environment, never in it."""

    def run(tool, *command):
        uv = ["uv", "run", "--project", str(ROOT), "--no-sync", "--quiet", "--with", tool]
        names = {"UV_PROJECT_ENVIRONMENT": sys.prefix, "HF_HUB_OFFLINE": "1"}
        names |= {"HF_HOME": str(tmp_path / "hf"), "COLUMNS": "200"}
        done = subprocess.run(
            [*uv, *command],
            cwd=tmp_path,
            env=os.environ | names,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        run(INSPECT, "python", "-c", "pass")
    except (OSError, AssertionError) as error:
        pytest.skip(f"no uv or no registry: {str(error)[-200:]}")
    return run


def choices_of(options, n=400):
    """Trials among so many options whose confidence tells correct answers from errors."""
    rng = np.random.default_rng(1)
    letters = [*"ABCD"[:options]]
    target = rng.choice(letters, n)
    answer = np.where(rng.random(n) < 0.7, target, rng.choice(letters, n))
    correct = answer == target
    sure = np.where(correct, rng.uniform(0.4, 1, n), rng.uniform(0.2, 0.9, n))
    columns = {"target": target, "answer": answer, "correct": correct, "confidence": sure}
    return pd.DataFrame({**columns, "abstained": None, "options": options})


def test_a_metric_is_the_measure_of_that_name():
    trials = choices_of(2)
    measured = hmetad.measures.measure_trials(trials)
    for name in ("auroc2", "ece_debiased", "brier"):
        assert metric_of(name, trials) == measured[name].item()
    counts = hmetad.count_trials(trials, stimulus="target", response="answer", quantiles=4)
    signal = hmetad.sdt(counts)
    assert metric_of("dprime", trials) == pytest.approx(signal["dprime"].item(), rel=1e-12)
    assert metric_of("criterion", trials) == pytest.approx(signal["c"].item(), rel=1e-12)


@pytest.mark.integration
def test_metrics_of_choices_are_those_of_the_likelihood_fit():
    trials = choices_of(4)
    sides = {"stimulus": "target", "response": "answer"}
    fitted = hmetad.fit_mle(hmetad.count_trials(trials, **sides, options=4, quantiles=4))
    assert metric_of("m_ratio", trials) == fitted["m_ratio"].item()
    biases = metric_of("criterion", trials)
    assert biases == dict(zip("ABCD", fitted["biases"].sel(cell="all").values, strict=True))


def test_abstentions_count_for_coverage_and_not_as_errors():
    trials = choices_of(2).astype({"correct": object})
    trials.loc[:99, ["answer", "correct", "confidence"]] = None
    trials.loc[:99, "abstained"] = "refusal"
    answered = trials.iloc[100:]
    assert metric_of("coverage", trials) == 0.75
    score = (2 * answered["correct"].sum() - 300) / 400
    assert metric_of("expected_score", trials, penalty=1.0) == pytest.approx(score)
    assert metric_of("auroc2", trials) == metric_of("auroc2", answered)
    # An answer whose confidence was not read is an answer.
    assert metric_of("coverage", trials.assign(confidence=None)) == 0.75


@pytest.mark.parametrize("name", ["auroc2", "brier", "meta_i", "dprime", "m_ratio", "criterion"])
def test_without_confidence_or_targets_a_metric_is_nan(name):
    trials = choices_of(2).assign(confidence=None, target=None)
    assert math.isnan(metric_of(name, trials))


@pytest.mark.filterwarnings("ignore:Equal or too few values")
def test_a_metric_that_cannot_be_computed_is_nan_and_warns_once(caplog, monkeypatch):
    monkeypatch.setattr("hmetad.tool_metrics.WARNED", set())
    m_ratio = aggregation_named("m_ratio")
    assert math.isnan(m_ratio([]))
    items = choices_of(2).assign(confidence=0.8).to_dict("records")
    assert all(math.isnan(m_ratio(items)) for _ in range(2))
    (warning,) = (one for one in caplog.records if "m_ratio" in one.getMessage())
    assert "one rating" in warning.getMessage()


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("auroc", {}, "'auroc2'"),
        ("selective_accuracy", {}, "metric"),
        ("auroc2", {"penalty": 2.0}, "penalty"),
    ],
)
def test_an_unknown_metric_is_refused_when_the_task_is_loaded(name, options, says):
    with pytest.raises(hmetad.InputError, match=says):
        aggregation_named(name, **options)


def test_the_scale_of_a_bare_number_is_not_guessed():
    wording = hmetad.logs.statements.stated_wording()
    said = "Answer\nConfidence: 85"
    assert "scale" in stated_confidence(said, wording, None)["confidence_unread"]
    assert stated_confidence(said, wording, "percent") == {"confidence": 0.85}


def test_results_of_a_choice_are_its_probability_and_of_a_text_its_statement():
    of_choice = choice_results("label", ["auroc2"])
    items = [of_choice({"label": "B"}, [(-1.0, False), (x, False)]) for x in (-0.5, -2.0)]
    assert [one["acc"] for one in items] == [1.0, 0.0]
    expected = 1 / (1 + math.exp(-0.5))
    assert items[0]["auroc2"]["confidence"] == pytest.approx(expected)
    assert auroc2([one["auroc2"] for one in items]) == 0.0
    of_text = stated_results("answer", ["coverage"], answer_pattern=r"A: (\w+)")
    texts = ["A: 4\nConfidence: 90%", "A: five", "I cannot say."]
    items = [of_text({"answer": 4}, [text]) for text in texts]
    assert [one["exact_match"] for one in items] == [1.0, 0.0, 0.0]
    assert [one["coverage"]["correct"] for one in items] == [True, False, None]
    assert coverage([one["coverage"] for one in items]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("label", "right"), [(1, 1), ("1", 1), (1.0, 1), (True, 1), ("b", 1)])
def test_a_label_is_the_number_of_an_option_or_its_letter(label, right):
    found = choice_results("label")({"label": label}, [(-2.0, False), (-1.0, True)])
    assert found["brier"]["target"] == "AB"[right]


@pytest.mark.parametrize("label", ["paris", 7, -1, "C", 1.5, None])
def test_a_label_that_is_no_option_is_refused_with_its_field(label):
    says = rf"field 'key'.*2 options.*got {label!r}"
    with pytest.raises(hmetad.InputError, match=says):
        choice_results("key")({"key": label}, [(-2.0, False), (-1.0, True)])


def test_more_options_than_letters_have_a_confidence():
    found = choice_results("label")({"label": 30}, [(float(i == 30), False) for i in range(40)])
    assert (found["acc"], found["auroc2"]["target"]) == (1.0, None)


def test_the_entry_point_and_the_extra_name_what_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (module,) = project["entry-points"]["inspect_ai"].values()
    assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
    assert project["optional-dependencies"]["inspect"] == [INSPECT.replace("==", ">=")]
    # Nobody installs it who does not ask for it.
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "inspect" not in json.dumps(groups["dependency-groups"])


TASK = """
import random
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from hmetad.inspect_plugin import *


def said(messages, *others):
    number = int(messages[-1].text.split()[-1])
    draw = random.Random(number)
    sure = draw.randint(30, 99)
    word = "yes" if (number % 2 == 0) == (100 * draw.random() < sure) else "no"
    text = f"{word}\\nConfidence: {sure}%" if number % 7 else "I do not know."
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


@scorer(metrics=[accuracy()])
def word():
    async def score(state, target):
        first = state.output.completion.splitlines()[0]
        if first not in ("yes", "no"):
            return Score(value="N", answer=first, reason="refusal")
        return Score(value="C" if first == target.text else "I", answer=first)
    return score


@task
def parity():
    samples = [
        Sample(id=i, input=f"Is it even? {i}", target="no" if i % 2 else "yes") for i in range(80)
    ]
    metrics = [accuracy(), auroc2(), ece_debiased(), brier(), coverage()]
    return Task(
        dataset=MemoryDataset(samples),
        scorer=with_confidence(word()),
        metrics=[*metrics, expected_score(penalty=2.0), meta_i(), dprime(), criterion(), m_ratio()],
        model=get_model("mockllm/model", custom_outputs=said),
        epochs=2,
    )
"""
READ = """
import json
from inspect_ai.analysis import samples_df
from inspect_ai.log import list_eval_logs, read_eval_log
from hmetad.inspect_plugin import TrialColumns

log = read_eval_log(list_eval_logs("logs")[0])
samples_df("logs", columns=TrialColumns).to_parquet("samples.parquet")
print(json.dumps({k: x.value for score in log.results.scores for k, x in score.metrics.items()}))
"""


@pytest.mark.integration
def test_numbers_in_the_log_of_inspect_are_those_of_its_samples(beside, tmp_path):
    (tmp_path / "parity.py").write_text(TASK, encoding="utf-8")
    (tmp_path / "read.py").write_text(READ, encoding="utf-8")
    beside(INSPECT, "inspect", "eval", "parity.py", "--log-dir", "logs", "--display", "none")
    logged = json.loads(beside(INSPECT, "python", "read.py").splitlines()[-1])
    frame = pd.read_parquet(tmp_path / "samples.parquet")
    of_abstaining = {"abstained": "abstained", "penalty": 2.0}
    measured = hmetad.measures.measure_trials(frame, by="model", **of_abstaining)
    for name in ("auroc2", "ece_debiased", "brier", "coverage", "expected_score"):
        assert logged[name] == measured[name].item()
    assert logged["coverage"] == 136 / 160
    trials = hmetad.logs.trials_of(frame)
    assert set(trials["abstained"].dropna()) == {"refusal"}
    raw = hmetad.logs.read_inspect(tmp_path / "logs", source="score", field="confidence")
    key = ["item", "epoch"]
    one, other = (x.sort_values(key)["confidence"].to_numpy(float) for x in (trials, raw))
    assert np.array_equal(one, other, equal_nan=True)
    answered = raw.dropna(subset=["correct"]).assign(first=lambda x: x["answer"])
    sides = {"stimulus": "target", "response": "first", "quantiles": 4}
    counts = hmetad.count_trials(answered, **sides)
    assert logged["dprime"] == pytest.approx(hmetad.sdt(counts)["dprime"].item(), rel=1e-12)
    assert logged["m_ratio"] == pytest.approx(hmetad.fit_mle(counts)["m_ratio"].item(), rel=1e-6)


LETTERS = """
import json
import math
import random

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice, ChatMessageAssistant, Logprob, Logprobs, ModelOutput, ModelUsage,
    TopLogprob, get_model,
)
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

from hmetad import inspect_plugin as hm


def said(messages, *others):
    lines = [x for x in messages[-1].text.splitlines() if x[1:3] == ") "]
    draw = random.Random(lines[0][3:])
    weights = {x[0]: draw.random() + 0.4 * x.endswith("right") for x in lines}
    chances = {letter: x / sum(weights.values()) for letter, x in weights.items()}
    best = max(chances, key=chances.get)
    top = [TopLogprob(token=letter, logprob=math.log(p)) for letter, p in chances.items()]
    letter = Logprob(token=best, logprob=math.log(chances[best]), top_logprobs=top)
    tokens = Logprobs(content=[Logprob(token="ANSWER: ", logprob=0.0), letter])
    message = ChatMessageAssistant(content=f"ANSWER: {best}")
    made = ChatCompletionChoice(message=message, logprobs=tokens)
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ModelOutput(model="mockllm/model", choices=[made], usage=usage)


samples = []
for i in range(120):
    options = [f"{i} {word}" for word in ("a", "b", "c")]
    options.insert(i % 4, f"{i} right")
    samples.append(Sample(id=i, input="Which?", choices=options, target="ABCD"[i % 4]))
task = Task(
    dataset=MemoryDataset(samples),
    solver=multiple_choice(shuffle=random.Random(1)),
    scorer=hm.with_confidence(choice(), source="logprobs"),
    metrics=[hm.auroc2(), hm.brier(), hm.criterion()],
)
model = get_model("mockllm/model", custom_outputs=said)
[log] = eval(task, model=model, display="none", log_dir="logs", score_display=False)
print(json.dumps({k: x.value for score in log.results.scores for k, x in score.metrics.items()}))
"""


@pytest.mark.integration
def test_probabilities_of_shuffled_letters_are_those_of_the_log(beside, tmp_path):
    (tmp_path / "letters.py").write_text(LETTERS, encoding="utf-8")
    logged = json.loads(beside(INSPECT, "python", "letters.py").splitlines()[-1])
    measured = hmetad.measures.measure_trials(hmetad.logs.read_inspect(tmp_path / "logs"))
    assert measured["trials"].item() == 120
    for name in ("auroc2", "brier"):
        assert logged[name] == pytest.approx(measured[name].item(), rel=1e-12)
    assert set(logged) == {"auroc2", "brier", *"ABCD"}


UTILS = """
from hmetad.lm_eval_tasks import auroc2, brier, choice_results, coverage, dprime, stated_results

choices = choice_results("label", ["auroc2", "brier", "dprime"])
texts = stated_results("label", ["coverage"], answer_pattern=r"([0-9])")
"""
SUMS = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_target: "{{label}}"
doc_to_choice: ["A", "B", "C", "D"]
process_results: !function utils.choices
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: auroc2, aggregation: !function utils.auroc2, higher_is_better: true}
  - {metric: brier, aggregation: !function utils.brier, higher_is_better: false}
  - {metric: dprime, aggregation: !function utils.dprime, higher_is_better: true}
"""
TEXTS = """
task: texts
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{label}}"
process_results: !function utils.texts
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: coverage, aggregation: !function utils.coverage, higher_is_better: true}
"""


@pytest.mark.integration
def test_numbers_in_the_results_of_lm_eval_are_those_of_its_samples(beside, tmp_path):
    for name, text in (("utils.py", UTILS), ("sums.yaml", SUMS), ("texts.yaml", TEXTS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    lines = [json.dumps({"question": f"Question {i}", "label": i % 4}) for i in range(40)]
    (tmp_path / "sums.jsonl").write_text("\n".join(lines), encoding="utf-8")
    where = ["--include_path", ".", "--output_path", "out", "--log_samples"]
    beside(LM_EVAL, "lm_eval", "--model", "dummy", "--tasks", "sums,texts", *where)
    (file,) = (tmp_path / "out").rglob("results_*.json")
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    trials = hmetad.logs.read_lm_eval(file.parent, task="sums")
    measured = hmetad.measures.measure_trials(trials)
    for name in ("auroc2", "brier"):
        assert results["sums"][f"{name},none"] == pytest.approx(measured[name].item(), rel=1e-12)
    assert results["sums"]["acc,none"] == measured["accuracy"].item()
    # The dummy model never answers with a digit.
    assert results["texts"]["coverage,none"] == 0
