"""Every plot, of any number of things with any names; the first of them may have no value."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from plots.hostile_labels import VERDICTS

import hmetad
from hmetad import plots


@dataclass(frozen=True)
class SomeDecisions:
    """As much of decisions as a figure shows."""

    rows: pd.DataFrame
    rope: tuple[float, float] = (-0.05, 0.05)
    null: float = 0.0
    ci_prob: float = 0.95
    ci_kind: str = "eti"
    comparisons: int = 3
    quantity: str = "log_m"

    def table(self):
        return self.rows


def texts_of(names):
    return np.array(names, dtype=str)


def frame_of(names, missing=False):
    """A row per name with every column that a plot wants."""
    middle = np.linspace(-0.5, 0.5, len(names))
    if missing:
        middle[:1] = np.nan
    sides = {"lower": middle - 0.2, "upper": middle + 0.2}
    frame = pd.DataFrame({"label": list(names), "mean": middle, "c": middle, **sides})
    frame["verdict"] = [VERDICTS[place % 4] for place in range(len(names))]
    frame = frame.assign(number=np.arange(len(names)), hue=texts_of(names), panel="one")
    for name in ("dprime", "meta_d", "m_ratio"):
        frame[name] = middle
    return frame.assign(dprime_lower=frame["lower"], dprime_upper=frame["upper"])


def counts_of(names, missing=False):
    """A cell of four ratings per name."""
    rows = np.tile([36, 24, 17, 20, 10, 12, 9, 2], (max(len(names), 1), 1))
    rows[:, 2] += 5 * np.arange(len(rows))
    if missing:
        rows[:1] = 0
    table = hmetad.from_nr(rows, rows[:, ::-1], model=list(names) or ["none"])
    return table.isel(cell=slice(len(names)))


def of_each(one, varied, names, missing):
    """The result of one cell, once for each name, with a variable that becomes less."""
    several = one.isel(cell=[0] * len(names)).assign_coords(cell=texts_of(names))
    less = xr.DataArray(np.linspace(1, 0.7, len(names)), dims="cell")
    several = several.assign({varied: several[varied] * less})
    return several.where(several["cell"] != names[0]) if missing and names else several


def trials():
    confidence = np.tile(np.linspace(0.51, 0.99, 25), 8)
    return pd.DataFrame({"confidence": confidence, "correct": (np.arange(200) * 7) % 89 < 80})


def calibrated(names, missing):
    return of_each(hmetad.measures.calibration(trials(), bins=5), "bin_accuracy", names, missing)


def curves(names, missing):
    one = hmetad.measures.selective_prediction(trials())
    return of_each(one, "selective_accuracy", names, missing)


def scores(names, missing):
    trial = trials().assign(idk=np.arange(200) % 7 == 0)
    one = hmetad.measures.resample_trials(trial, abstained="idk", n=20, seed=1)
    own = one[["coverage", "effective_reliability"]]
    return of_each(own, "effective_reliability", names, missing)


def predicted(names, missing=False):
    table = counts_of(names, missing).astype(float)
    roc = hmetad.measures.type2_roc(counts_of(names, missing))
    mean = 0.9 * table + 3
    found = {"counts": table, "mean": mean, "lower": 0.6 * mean, "upper": 1.4 * mean + 2}
    for name in ("false_alarm_rate", "hit_rate"):
        found |= {name: roc[name], f"{name}_mean": 0.95 * roc[name]}
    return xr.Dataset(found | {f"hit_rate_{x}": roc["hit_rate"] for x in ("lower", "upper")})


def grown(names, missing):
    values = np.tile([0.7, np.nan if missing else 0.8], (len(names), 1))
    values[:, 1] += 0.01 * np.arange(len(names))
    return xr.DataArray(values, {"noise": list(names), "size": [1, 3]}, ("noise", "size"))


def shares(names, missing):
    values = np.linspace(0, 1, len(names) ** 2).reshape(len(names), len(names))
    if missing:
        values[:1] = np.nan
    return xr.DataArray(values, {"generating": texts_of(names), "winning": texts_of(names)})


def models(names):
    """Counts at three difficulties, and those that each model predicts."""
    table = counts_of(("a", "b", "c")).reset_coords("model", drop=True)
    table = table.assign_coords(soa=("cell", ["133.3", "16.7", "33.3"]))
    even = table.sum(["response", "rating"]) / 8
    each = [0.95 * table + 1, *[0.0 * table + even] * (len(names) - 1)]
    return table, xr.concat(each, pd.Index(list(names), name="model"))


FOREST = {"group": "verdict", "reference": 0.0, "rope": (-0.1, 0.1), "xlabel": "M-ratio"}
ROWS = {"rows": "label", "panels": "panel", "strong": "number", "xlabel": "hue"}
LINES = {"x": "label", "hue": "verdict", "panel": None}
BY_NUMBER = {"x": "number", "hue": "hue"}
INFORMATION = hmetad.information.meta_information
# The most names that each draws, and the plot of so many.
PLOTS = {
    "forest": (100, lambda n, m, ax: plots.forest(frame_of(n, m), ax=ax, **FOREST)),
    "decisions": (100, lambda n, m, ax: plots.decisions(SomeDecisions(frame_of(n, m)), ax=ax)),
    "interval_panels": (100, lambda n, m, ax: plots.interval_panels(
        frame_of(n, m), ax=ax, **ROWS)[0]),
    "by_name": (100, lambda n, m, ax: plots.by(frame_of(n, m), "mean", x="label", hue=None, ax=ax)),
    "by_number": (16, lambda n, m, ax: plots.by(frame_of(n, m), "mean", ax=ax, **BY_NUMBER)),
    "criterion": (100, lambda n, m, ax: plots.criterion(frame_of(n, m), ax=ax, **LINES)[0]),
    "accuracy_by_rating": (16, lambda n, m, ax: plots.accuracy_by_rating(counts_of(n, m), ax=ax)),
    "calibration": (16, lambda n, m, ax: plots.calibration(calibrated(n, m), ax=ax)),
    "fit_ratings": (24, lambda n, m, ax: plots.fit(predicted(n, m), ax=ax)[0]),
    "fit_roc": (24, lambda n, m, ax: plots.fit(predicted(n, m), kind="roc", ax=ax)[0]),
    "group_accuracy": (16, lambda n, m, ax: plots.group_accuracy(grown(n, m), ax=ax)),
    "information_plane": (8, lambda n, m, ax: plots.information_plane(
        INFORMATION(counts_of(n, m)), ax=ax)),
    "confusion": (16, lambda n, m, ax: plots.confusion(shares(n, m), ax=ax)),
    "type1_roc": (8, lambda n, m, ax: plots.type1_roc(counts_of(n, m), ax=ax)),
    "type2_roc": (8, lambda n, m, ax: plots.type2_roc(counts_of(n, m), ax=ax)),
    "expected_score": (100, lambda n, m, ax: plots.expected_score(scores(n, m), ax=ax)),
    "risk_coverage": (100, lambda n, m, ax: plots.risk_coverage(curves(n, m), ax=ax)),
    "calibration_panels": (40, lambda n, m, ax: plots.calibration_panels(
        calibrated(n, m), ax=ax)[0]),
}  # fmt: skip


def plot(name, names, *, missing=False, ax=None):
    """The plot of a name."""
    return PLOTS[name][1](names, missing, ax)
