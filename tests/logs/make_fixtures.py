"""Make logs with the real tools, on a small task and with models that cost nothing.

Run by a Python that has the tools, which is not the Python of the tests:

    uv venv /tmp/log-tools
    uv pip install -p /tmp/log-tools --group tests/logs/tools/pyproject.toml:log-tools
    /tmp/log-tools/bin/python tests/logs/make_fixtures.py tests/logs/data

The folder then holds lm_eval/<model>/ and inspect/, without any path of this machine.
"""

import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

QUESTIONS = [
    ("What colour is grass?", 0),
    ("What colour is blood?", 1),
    ("What colour is the <b>sea</b>?\u0007", 2),
    ("What colour is snow?", 3),
    ("What colour is a frog?", 0),
    ("What colour is a poppy?", 1),
]
COLOURS = ["green", "red", "deep blue", "white"]
STATED = [
    '```json\n{"answer": "green", "confidence": 85}\n```',
    '{"answer": "red", "confidence": "70%"}',
    '{"result": {"answer": "deep blue", "confidence": "9/10"}}',
    '{"answer": "green", "confidence": 40}',
    '{"answer": "green", "confidence": "<script>alert(1)</script>"}',
    "I would rather not say.",
]
MULTIPLE_CHOICE = """
task: colours
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/colours.jsonl}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list:
  - {metric: acc}
  - {metric: acc_norm}
  - {metric: acc_bytes}
  - {metric: brier_score}
"""
OPEN = """
task: colours_open
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/colours.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{choices[answer]}}"
repeats: 2
metric_list:
  - {metric: exact_match}
filter_list:
  - {name: first, filter: [{function: take_first}]}
  - name: answer
    filter:
      - {function: regex, regex_pattern: 'answer": "([a-z ]+)'}
      - {function: take_first}
"""


def make_lm_eval(folder, scratch):
    """Run lm-evaluation-harness: its own dummy on options, a model of fixed text on the rest."""
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.registry import register_model
    from lm_eval.models.dummy import DummyLM

    @register_model("fixed")
    class Fixed(DummyLM):
        @classmethod
        def create_from_arg_string(cls, *_):
            return cls()

        @classmethod
        def create_from_arg_obj(cls, *_):
            return cls()

        def generate_until(self, requests, **_):
            numbers = {question: i for i, (question, _) in enumerate(QUESTIONS)}
            return [STATED[numbers[request.arguments[0].strip()]] for request in requests]

    rows = [{"question": q, "choices": COLOURS, "answer": answer} for q, answer in QUESTIONS]
    (scratch / "colours.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, text in (("colours", MULTIPLE_CHOICE), ("colours_open", OPEN)):
        (scratch / f"{name}.yaml").write_text(text.replace("FOLDER", str(scratch)))
    for model, task in (("dummy", "colours"), ("fixed", "colours_open")):
        arguments = f"run --model {model} --model_args model=house/{model} --include_path {scratch}"
        arguments += f" --tasks {task} --log_samples --output_path {folder}"
        sys.argv = ["lm-eval", *arguments.split()]
        cli_evaluate()
    for path in folder.rglob("*.json*"):
        path.write_text(path.read_text().replace(str(scratch), "tasks"))


def make_inspect(folder, scratch):
    """Run Inspect: options with log-probabilities in an archive, stated confidence in JSON."""
    os.chdir(scratch)
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        Logprob,
        Logprobs,
        ModelOutput,
        ModelUsage,
        TopLogprob,
        get_model,
    )
    from inspect_ai.scorer import Score, accuracy, choice, includes, scorer
    from inspect_ai.solver import generate, multiple_choice

    def output(text, logprobs=None):
        made = ModelOutput.from_content("mockllm/model", text)
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        made.choices[0].logprobs = logprobs
        return made

    def letter(log_a, log_b):
        top = [TopLogprob(token=" A", logprob=log_a), TopLogprob(token=" B", logprob=log_b)]
        tokens = [
            Logprob(token="ANSWER", logprob=-0.01),
            Logprob(token=":", logprob=0.0),
            Logprob(token=" A", logprob=log_a, top_logprobs=top),
        ]
        return output("ANSWER: A", Logprobs(content=tokens))

    @scorer(metrics=[accuracy()])
    def sure():
        async def score(state, target):
            right = target.text in state.output.completion
            return Score(value=1.0 if right else 0.0, metadata={"confidence": 0.25 + 0.5 * right})

        return score

    two = [
        Sample(input="Grass?", choices=["green", "red"], target="A", id="grass"),
        Sample(input="Blood?", choices=["green", "red"], target="B", id=7),
    ]
    options = Task(dataset=two, solver=multiple_choice(), scorer=choice(), name="colours")
    model = get_model("mockllm/model", custom_outputs=lambda *_: letter(-0.2, -1.8))
    run(evaluate, options, model, folder, log_format="eval", epochs=2)

    asked = [
        Sample(input=q, target=COLOURS[answer], id=i, metadata={"sure": 10 * i + 45})
        for i, (q, answer) in enumerate(QUESTIONS)
    ]
    task = Task(dataset=asked, solver=generate(), scorer=[includes(), sure()], name="colours_open")
    numbers = {question: i for i, (question, _) in enumerate(QUESTIONS)}
    model = get_model(
        "mockllm/model", custom_outputs=lambda given, *_: output(STATED[numbers[given[-1].text]])
    )
    run(evaluate, task, model, folder, log_format="json", epochs=1)


def run(evaluate, task, model, folder, **options):
    """One evaluation, which has to succeed."""
    (log,) = evaluate(task, model=model, log_dir=str(folder), display="none", **options)
    assert log.status == "success", log.error


def make(folder):
    """All logs, in place of those that were there."""
    folder = Path(folder).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"HF_HOME": scratch, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        for name, tool in (("lm_eval", make_lm_eval), ("inspect", make_inspect)):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir(parents=True)
            tool(folder / name, Path(scratch))
        os.chdir(folder)
    refuse_traces(folder, scratch)


def refuse_traces(folder, scratch):
    """Fail if a log is large, or names a folder of this machine."""
    for path in (path for path in folder.rglob("*") if path.is_file()):
        assert path.stat().st_size < 100_000, path
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                contents = [archive.read(name) for name in archive.namelist()]
        else:
            contents = [path.read_bytes()]
        for trace in (scratch, str(folder), str(Path.home()), sys.prefix):
            assert not any(trace.encode() in content for content in contents), (path, trace)


if __name__ == "__main__":
    make(sys.argv[1])
