#!/bin/sh
# Guess: a metric of Inspect is given the scores as the scorer wrote them: C, I, P, or N for no
# answer, with their own metadata. Without epochs there is nothing to reduce.
# What happens: scores are reduced first, also with one epoch. N arrives as 0, as I does, and P as
# 0.5; with epochs the score is their mean, and the metadata are those of the first. Only a metric
# that is declared with scores="unreduced" is given the scores themselves.
# Why it matters: coverage cannot be counted, a refusal is an error, and a confidence in the
# metadata is that of the first epoch next to the mean grade of all.
# Inspect 0.3.285; scores= is documented, but not what the default does to N with one epoch.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q inspect-ai==0.3.285
cat > reduced.py <<'PYTHON'
import sys

import inspect_ai
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score, Value, metric, scorer

SEEN = {"reduced": [], "unreduced": []}
CONFIDENCE = {1: 0.9, 2: 0.1}


def recorder(name, **how):
    def create():
        def compute(scores: list[SampleScore]) -> Value:
            SEEN[name] = [(s.score.value, s.score.metadata["confidence"]) for s in scores]
            return len(scores)

        return compute

    return metric(name=name, **how)(create)


reduced, unreduced = recorder("reduced"), recorder("unreduced", scores="unreduced")


@scorer(metrics=[reduced(), unreduced()])
def grade():
    async def score(state, target):
        own = {"confidence": CONFIDENCE[state.epoch]}
        return Score(value=state.metadata["grade"][state.epoch - 1], metadata=own)

    return score


def output(*given):
    made = ModelOutput.from_content("mockllm/model", "An answer.")
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made


print("Inspect", inspect_ai.__version__)
samples = [
    Sample(id=i, input="A question.", target="", metadata={"grade": grades})
    for i, grades in enumerate(["CI", "IC", "PP", "NN"])
]
found = {}
for epochs in (1, 2):
    task = Task(dataset=MemoryDataset(samples), scorer=grade(), epochs=epochs)
    model = get_model("mockllm/model", custom_outputs=output)
    eval(task, model=model, display="none", log_dir="logs", score_display=False)
    for name, seen in SEEN.items():
        print(f"{epochs} epochs, {name}: {seen}")
        found[epochs, name] = seen
one, two = found[1, "reduced"], found[2, "reduced"]
is_so = one == [(1.0, 0.9), (0.0, 0.9), (0.5, 0.9), (0.0, 0.9)] and two[0] == (0.5, 0.9)
print("no answer is an error to a metric, and epochs have the first one's confidence:", is_so)
sys.exit(0 if is_so and ("N", 0.9) in found[1, "unreduced"] else 1)
PYTHON
venv/bin/python reduced.py
