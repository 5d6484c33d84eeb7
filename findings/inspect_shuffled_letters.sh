#!/bin/sh
# Guess: in a log of Inspect the letter of the answer and the letters of its log-probabilities are
# the same letters.
# What happens: with multiple_choice(shuffle=) the answer, the target and even the text of the
# completion are written with the letters of the data set. The log-probabilities keep the letters
# that the model saw.
# Why it matters: a confidence read as the probability of the answer's letter is that of another
# option: here .1 for .7 in most samples, although every answer is right.
# Inspect 0.3.285; shuffle= is deprecated and works, and no docstring mentions the rewriting.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q inspect-ai==0.3.285
cat > shuffled.py <<'PYTHON'
import math
import random
import sys

import inspect_ai
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice, ChatMessageAssistant, Logprob, Logprobs, ModelOutput, ModelUsage,
    TopLogprob, get_model,
)
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

SURE, OTHERS = 0.7, 0.1


def answer(messages, tools, tool_choice, config):
    """A model that gives the right option a probability of .7, whatever its letter."""
    lines = [x for x in messages[-1].text.splitlines() if x[1:3] == ") "]
    chances = {x[0]: SURE if x[3:] == "right" else OTHERS for x in lines}
    best = max(chances, key=chances.get)
    top = [TopLogprob(token=x, logprob=math.log(p)) for x, p in chances.items()]
    token = Logprob(token=best, logprob=math.log(SURE), top_logprobs=top)
    message = ChatMessageAssistant(content=f"ANSWER: {best}")
    made = ChatCompletionChoice(message=message, logprobs=Logprobs(content=[token]))
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ModelOutput(model="mockllm/model", choices=[made], usage=usage)


samples = [
    Sample(input=f"Question {i}", choices=["right", "x", "y", "z"], target="A") for i in range(12)
]
task = Task(
    dataset=MemoryDataset(samples),
    solver=multiple_choice(shuffle=random.Random(1)),
    scorer=choice(),
)
model = get_model("mockllm/model", custom_outputs=answer)
[log] = eval(task, model=model, display="none", log_dir="logs")
print("Inspect", inspect_ai.__version__)
read = []
for sample in log.samples:
    score = sample.scores["choice"]
    [token] = sample.output.choices[0].logprobs.content
    chances = {x.token: math.exp(x.logprob) for x in token.top_logprobs}
    read.append(chances[score.answer])
    print(
        f"answer {score.answer}, grade {score.value}, completion {sample.output.completion!r}, "
        f"token {token.token}, probability of the answer's letter {read[-1]:.1f}"
    )
all_right = all(x.scores["choice"].value == "C" for x in log.samples)
moved = sum(p < 0.5 for p in read)
print(f"all right: {all_right}; probability of another option in {moved} of {len(read)}")
sys.exit(0 if all_right and moved > 0 else 1)
PYTHON
venv/bin/python shuffled.py
