#!/bin/sh
# Guess: AUROC uses the order of confidence alone, so percentages give what probabilities give.
# What happens: values outside 0 to 1 go through a sigmoid first, where all above 17 (single
# precision) or 37 (double) become 1 and tie: 0.54 and 0.61 in place of 0.81, without a warning.
# Fed in batches, those whose log odds lie within 0 to 1 stay as they are: 0.80 in place of 0.81.
# Why it matters: a model that states its confidence in percent seems to know nothing.
# torchmetrics 1.9.0; the docstring names the sigmoid, and neither ties nor batches (issues 2819 and
# 2195 of its repository, open). PyTorch is 200 MB where a wheel for CPUs is at hand, else 3 GB.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q torchmetrics==1.9.0 torch==2.13.0 scikit-learn==1.9.1
cat > percent.py <<'PYTHON'
import sys
import warnings

import numpy as np
import torch
import torchmetrics
from sklearn.metrics import roc_auc_score
from torchmetrics.classification import BinaryAUROC

warnings.simplefilter("error")
print("torchmetrics", torchmetrics.__version__)
rng = np.random.default_rng(1)
correct = (rng.random(10_000) < 0.75).astype(int)
log_odds = 1.6 * rng.normal(1.2 * correct, 1.0) + 0.6
percent = 100 / (1 + np.exp(-log_odds))
right = roc_auc_score(correct, percent)
print(f"scikit-learn: {right:.4f} of percentages, {roc_auc_score(correct, percent / 100):.4f} of "
      f"probabilities, {roc_auc_score(correct, log_odds):.4f} of log odds")


def auroc(values, batches=1, kind=torch.float64):
    """What torchmetrics has of values that arrive in their order, in so many batches."""
    metric = BinaryAUROC()
    for part in np.array_split(np.argsort(values), batches):
        metric.update(torch.tensor(values[part], dtype=kind), torch.tensor(correct[part]))
    return metric.compute().item()


found = {
    "probabilities": auroc(percent / 100),
    "percentages, double precision": auroc(percent),
    "percentages, single precision": auroc(percent, kind=torch.float32),
    "log odds": auroc(log_odds),
    "log odds in 100 batches": auroc(log_odds, batches=100),
}
for name, value in found.items():
    print(f"torchmetrics, {name}: {value:.4f}")
good = all(abs(found[name] - right) < 1e-6 for name in ("probabilities", "log odds"))
ties = max(found["percentages, double precision"], found["percentages, single precision"]) < 0.65
sys.exit(0 if good and ties and found["log odds in 100 batches"] < right - 0.005 else 1)
PYTHON
venv/bin/python percent.py
