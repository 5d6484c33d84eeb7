#!/bin/sh
# Guess: a 95 % interval of the pass rate behind a judge's verdicts holds the true rate in 95 of 100
# studies, however many verdicts there are.
# What happens: the interval resamples the labelled outputs alone. With 1,000 labelled outputs and
# 100 verdicts it holds the rate of the population in a third of the studies, and that of these very
# outputs in four of ten; with 10,000 verdicts in 95 of 100.
# Why it matters: confidence in a rate is read off this interval, and it shrinks with labels alone.
# judgy 0.1.0; its docstring says "bootstrap resampling", and not of what.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q judgy==0.1.0 numpy==2.2.6
cat > pool.py <<'PYTHON'
import sys
from importlib.metadata import version

import numpy as np
from judgy import estimate_success_rate

RATE, HIT, FALSE_ALARM, LABELS, STUDIES = 0.6, 0.85, 0.1, 1000, 200
rng = np.random.default_rng(1)
np.random.seed(1)


def outputs(number):
    """Labels and verdicts of so many outputs."""
    good = rng.uniform(size=number) < RATE
    return good.astype(int), (rng.uniform(size=number) < np.where(good, HIT, FALSE_ALARM)).astype(int)


print("judgy", version("judgy"))
held = {}
for pool in (100, 10_000):
    found = []
    for _ in range(STUDIES):
        labels, verdicts = outputs(LABELS)
        good, unlabelled = outputs(pool)
        _, low, high = estimate_success_rate(labels, verdicts, unlabelled, bootstrap_iterations=300)
        found.append([low <= RATE <= high, low <= good.mean() <= high])
    held[pool] = np.mean(found, axis=0)
    print(f"{pool} verdicts: 95 % intervals hold the rate of the population in {held[pool][0]:.2f}, "
          f"of these outputs in {held[pool][1]:.2f} of {STUDIES} studies")
same = held[100][0] < 0.5 and held[100][1] < 0.6 and held[10_000].min() > 0.9
sys.exit(0 if same else 1)
PYTHON
venv/bin/python pool.py
