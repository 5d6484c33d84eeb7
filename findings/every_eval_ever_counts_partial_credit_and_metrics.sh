#!/bin/sh
# Guess: an instance file of Every Eval Ever has a row for each answer, and is_correct says whether
# the answer is correct.
# What happens: the converter of Inspect's logs writes a row of each answer for each metric of its
# scorer but stderr. is_correct is true for any score above 0, so partial credit is correct; no
# answer (N) and a sample that failed are errors.
# Why it matters: with a second metric every answer counts twice, and intervals are too narrow by
# √2; partial credit, abstentions and failures cannot be told from correct answers and errors.
# every-eval-ever 0.3.0, Inspect 0.3.285; the schema describes a row for each result, and says
# nothing of partial credit.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q inspect-ai==0.3.285 every-eval-ever==0.3.0
cat > graded.py <<'PYTHON'
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr


@scorer(metrics=[accuracy(), stderr(), mean()])
def grade():
    async def score(state, target):
        if state.metadata["grade"] == "failed":
            raise RuntimeError("The sandbox is gone.")
        return Score(value=state.metadata["grade"])

    return score


def output(*given):
    made = ModelOutput.from_content("mockllm/gpt-4o", "An answer.")
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made


samples = [
    Sample(id=one, input=f"Question {one}.", target="", metadata={"grade": one})
    for one in ("C", "I", "P", "N", "failed")
]
model = get_model("mockllm/gpt-4o", custom_outputs=output)
task = Task(name="graded", dataset=MemoryDataset(samples), scorer=grade())
eval(task, model=model, display="none", log_dir="logs", log_format="json", fail_on_error=False)
PYTHON
venv/bin/python graded.py
# The converter wants to know who made the model.
sed -i 's#mockllm/gpt-4o#openai/gpt-4o#g' logs/*.json
venv/bin/every_eval_ever convert inspect --log_path logs --output_dir out \
    --source_organization_name example --evaluator_relationship other
cat > rows.py <<'PYTHON'
import json
import sys
from pathlib import Path

rows = [json.loads(x) for path in Path("out").rglob("*.jsonl") for x in path.open()]
for row in rows:
    found = row["evaluation"]
    print(row["sample_id"], row["evaluation_result_id"], found["score"], found["is_correct"])
correct = {row["sample_id"]: row["evaluation"]["is_correct"] for row in rows}
expected = {"C": True, "I": False, "P": True, "N": False, "failed": False}
print(f"{len(rows)} rows of {len(correct)} answers; partial credit is correct: {correct['P']}")
sys.exit(0 if correct == expected and len(rows) == 9 else 1)
PYTHON
venv/bin/python rows.py
