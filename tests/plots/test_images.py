"""Every plot of a fixed input looks like its picture in `baseline/`.

After a wanted change of a plot make the pictures again, look at them, and commit them:

    uv run python tests/plots/test_images.py
"""

import io
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import font_manager, rc_context, rcParamsDefault
from matplotlib.testing.compare import compare_images
from PIL import Image

import hmetad
from hmetad import plots

BASELINE = Path(__file__).parent / "baseline"
DPI = 50
# Root mean square over all levels (0 to 255). The same matplotlib with the FreeType in it
# gives 0 on one machine; rounding on another moves no edge by a visible part of a pixel. One letter
# more on an axis gives 2.9, a reference line that is moved by 0.05 gives 3.9.
TOLERANCE = 1.0
# Of another version text has another width, and with it the axes another place.
DRAWN_BY = "3.11."
FONT = "hmetad pictures"

MODELS = ("DeepSeek", "GPT", "Mistral")
TASKS = ("A: sentiment", "B: oral or written", "C: removed")


@dataclass(frozen=True)
class SomeDecisions:
    """As much of decisions as a figure shows."""

    rows: pd.DataFrame
    rope: tuple[float, float] = (-0.1, 0.1)
    null: float = 0.0
    ci_prob: float = 0.95
    ci_kind: str = "eti"
    comparisons: int = 3
    quantity: str = "log_m"

    def table(self):
        return self.rows


def estimates():
    """M of three models in three tasks; one is missing."""
    frame = pd.DataFrame(product(TASKS, MODELS), columns=["task", "model"])
    frame["m_ratio"] = [0.86, 0.9, 0.55, 0.87, 1.1, np.nan, 0.95, 0.99, 0.7]
    frame["m_ratio_lower"] = frame["m_ratio"] - 0.12
    frame["m_ratio_upper"] = frame["m_ratio"] + 0.2
    return frame


def decisions():
    """A decision of each kind, of which one interval is open at an end."""
    verdicts = ["different", "negligible", "inconclusive", "unreliable"]
    middle = np.array([0.5, 0.02, 0.1, -0.2])
    columns = {"label": [f"{one} − other" for one in "ABCD"], "left": "x", "verdict": verdicts}
    bounds = {"mean": middle, "lower": [0.3, -0.05, -0.2, -np.inf], "upper": middle + 0.1}
    return SomeDecisions(pd.DataFrame(columns | bounds))


def sensitivities():
    """d′ and meta-d′ of three models, d′ with intervals."""
    columns = {"dprime": [2.6, 2.0, 1.0], "meta_d": [2.2, 1.5, 1.3], "m_ratio": [0.85, 0.75, 1.3]}
    frame = pd.DataFrame({"model": MODELS} | columns)
    return frame.assign(dprime_lower=frame["dprime"] - 0.2, dprime_upper=frame["dprime"] + 0.3)


def counts(cells=3):
    """Counts of four ratings; the second cell never uses rating 3 for S1."""
    first = [
        [36, 24, 17, 20, 10, 12, 9, 2],
        [60, 0, 20, 30, 12, 6, 0, 2],
        [50, 9, 8, 7, 6, 5, 4, 3],
    ]
    second = [
        [3, 7, 10, 16, 19, 25, 26, 40],
        [2, 8, 9, 11, 12, 25, 0, 60],
        [2, 4, 4, 5, 9, 6, 9, 40],
    ]
    return hmetad.from_nr(first[:cells], second[:cells], model=list(MODELS[:cells]))


def calibrated():
    """Two models whose confidence is too high."""
    confidence = np.tile(np.linspace(0.51, 0.99, 25), 8)
    correct = (np.arange(200) * 7) % 89 < 100 * confidence**2
    model = np.repeat(MODELS[:2], 100)
    trials = pd.DataFrame({"confidence": confidence, "correct": correct, "model": model})
    return hmetad.measures.calibration(trials, by="model", bins=5)


def predicted():
    """Counts and ROC curves beside predicted ones that are a little off."""
    table = counts().astype(float)
    mean = 0.9 * table + 3
    roc = hmetad.measures.type2_roc(counts())
    found = {"counts": table, "mean": mean, "lower": 0.6 * mean, "upper": 1.4 * mean + 2}
    for name, far in (("false_alarm_rate", 1.0), ("hit_rate", 0.95)):
        found |= {name: roc[name], f"{name}_mean": far * roc[name]}
    found |= {"hit_rate_lower": 0.9 * roc["hit_rate"], "hit_rate_upper": roc["hit_rate"]}
    return xr.Dataset(found)


def over_temperature():
    """M of two models over temperature."""
    frame = pd.DataFrame(
        product((0.1, 0.5, 1.0, 2.0), MODELS[:2]), columns=["temperature", "model"]
    )
    frame["m_ratio"] = 1 - 0.2 * frame["temperature"] * (frame["model"] == MODELS[0])
    frame["m_ratio_lower"] = frame["m_ratio"] - 0.1 - 0.1 * frame["temperature"]
    return frame.assign(m_ratio_upper=frame["m_ratio"] + 0.1)


def criteria():
    """c of two models in two tasks under three risks."""
    frame = pd.DataFrame(product(("none", "S1", "S2"), MODELS[:2], TASKS[:2]))
    frame.columns = ["risk", "model", "task"]
    frame["c"] = np.linspace(-0.5, 0.6, len(frame))
    return frame.assign(lower=frame["c"] - 0.1, upper=frame["c"] + 0.15)


def group_accuracy():
    """Accuracy of groups of two kinds."""
    coords = {"noise": ["uniform", "binary"], "size": [1, 3, 5]}
    return xr.DataArray([[0.7, 0.89, 0.95], [0.7, 0.784, 0.84]], coords, ("noise", "size"))


def ranked():
    """Ranks of three quantities, of which one is shifted and one heaped in the middle."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(*ends, 100) for ends in ((0, 50), (0, 40), (12, 38))]
    found = xr.Dataset({"rank": (("simulation", "parameter"), np.stack(columns, axis=1))})
    found.attrs["ranks"] = 49
    return found.assign_coords(parameter=["c", "log_m_Intercept", "log_m_1|subject_sigma"])


def by_difficulty():
    """Counts at three difficulties, and those that two models predict."""
    table = counts().reset_coords("model", drop=True)
    table = table.assign_coords(soa=("cell", ["133.3", "16.7", "33.3"]))
    even = 0.0 * table + table.sum(["response", "rating"]) / 8
    return table, xr.concat([0.95 * table + 1, even], pd.Index(["near", "even"], name="model"))


def winners():
    """Shares of three models that win on data of two; one is missing."""
    names = {"generating": ["sdt", "wev"], "winning": ["sdt", "wev", "lognormal_noise"]}
    return xr.DataArray([[0.9, 0.1, 0.0], [0.25, 0.65, np.nan]], names)


def forest():
    bounds = {"estimate": "m_ratio", "lower": "m_ratio_lower", "upper": "m_ratio_upper"}
    look = {"group": "task", "reference": 1.0, "rope": (0.9, 1.1), "xlabel": "M-ratio"}
    return hmetad.plots.forest(estimates(), label="model", **bounds, **look)


def ordered_people():
    """Nine people with their population and separate estimates, one of them far away."""
    rng = np.random.default_rng(3)
    centres = np.linspace(0.5, 1.3, 9)[rng.permutation(9)]
    coords = {"cell": [f"s{place}" for place in range(1, 10)]}
    dims = ("chain", "draw", "cell")
    draws = xr.DataArray(rng.normal(centres, 0.12, (2, 400, 9)), coords, dims, "m_ratio")
    alone = xr.DataArray([*(1.4 * centres[:-1] - 0.35), 9.0], coords, "cell")
    middle = draws.mean("cell")
    return hmetad.plots.people(draws, population=middle, separate=alone, reference=1)


def correlated():
    """Correlations of three tasks, of which one is near 1."""
    rng = np.random.default_rng(4)
    z = rng.normal([0.2, 2.2, -0.6], 0.3, (2, 300, 3))
    values = np.zeros((2, 300, 3, 3)) + np.eye(3)
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        values[:, :, i, j] = values[:, :, j, i] = np.tanh(z[..., k])
    own = {"effect": ["memory", "vision", "1"], "effect_bis": ["memory", "vision", "1"]}
    return xr.DataArray(values, own, ("chain", "draw", *own))


def stated_confidence():
    """Answers of three models with stated confidence, one of them over-confident."""
    rng = np.random.default_rng(3)
    stated = rng.choice(np.linspace(0.5, 1.0, 11), 900)
    model = np.repeat(MODELS, 300)
    right = rng.random(900) < np.where(model == "GPT", stated - 0.15, stated)
    return pd.DataFrame({"model": model, "confidence": stated, "correct": right})


PICTURES = {
    "accuracy_by_rating": lambda: hmetad.plots.accuracy_by_rating(counts()),
    "by_name": lambda: hmetad.plots.by(estimates(), reference=1.0),
    "by_number": lambda: hmetad.plots.by(over_temperature(), x="temperature"),
    "calibration": lambda: hmetad.plots.calibration(calibrated()),
    "calibration_of_one": lambda: hmetad.plots.calibration(calibrated().isel(cell=[0])),
    "confusion": lambda: hmetad.plots.confusion(winners()),
    "correlations": lambda: hmetad.plots.correlations(correlated()),
    "calibration_panels": lambda: hmetad.plots.calibration_panels(
        hmetad.measures.calibration(stated_confidence(), by="model", bins=5)
    )[0],
    "criterion": lambda: hmetad.plots.criterion(criteria(), xlabel="risk")[0],
    "decisions": lambda: hmetad.plots.decisions(decisions()),
    "fit_ratings": lambda: hmetad.plots.fit(predicted())[0],
    "fit_roc": lambda: hmetad.plots.fit(predicted(), kind="roc")[0],
    "forest": forest,
    "group_accuracy": lambda: hmetad.plots.group_accuracy(group_accuracy()),
    "information_plane": lambda: hmetad.plots.information_plane(
        hmetad.information.meta_information(counts())
    ),
    "interval_panels": lambda: hmetad.plots.interval_panels(
        estimates().assign(best=lambda rows: rows["model"] == "GPT"),
        rows="model",
        panels="task",
        estimate="m_ratio",
        lower="m_ratio_lower",
        upper="m_ratio_upper",
        strong="best",
    )[0],
    "people": ordered_people,
    "predicted_ratings": lambda: hmetad.plots.predicted_ratings(*by_difficulty(), difficulty="soa")[
        0
    ],
    "ranks": lambda: hmetad.plots.ranks(ranked()),
    "rating_residuals": lambda: hmetad.plots.rating_residuals(*by_difficulty(), difficulty="soa")[
        0
    ],
    "risk_coverage": lambda: hmetad.plots.risk_coverage(
        hmetad.measures.selective_prediction(stated_confidence(), by="model"), strong=MODELS[:2]
    ),
    "sensitivity_bars": lambda: hmetad.plots.sensitivity_bars(sensitivities()),
    "type1_roc": lambda: hmetad.plots.type1_roc(counts(1)),
    "type2_roc": lambda: hmetad.plots.type2_roc(counts()),
    "type2_roc_of_one": lambda: hmetad.plots.type2_roc(counts(1)),
}


def add_font():
    """Make matplotlib's own DejaVu Sans known by a name that no installed font has."""
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    for file, weight in (("DejaVuSans.ttf", 400), ("DejaVuSans-Bold.ttf", 700)):
        entry = font_manager.FontEntry(fname=str(folder / file), name=FONT, weight=weight)
        if entry not in font_manager.fontManager.ttflist:
            font_manager.fontManager.ttflist.append(entry)


def save_picture(name, path):
    add_font()
    settings = {k: v for k, v in rcParamsDefault.items() if not k.startswith("backend")}
    with rc_context({**settings, "font.family": FONT, "text.hinting": "none"}):
        content = io.BytesIO()
        PICTURES[name]().figure.savefig(content, dpi=DPI)
    Image.open(content).convert("RGB").save(path, optimize=True)


@pytest.mark.skipif(
    not mpl.__version__.startswith(DRAWN_BY), reason=f"pictures are of matplotlib {DRAWN_BY}x"
)
@pytest.mark.parametrize("name", PICTURES)
def test_plot_looks_like_its_picture(name, tmp_path):
    save_picture(name, tmp_path / f"{name}.png")
    expected = BASELINE / f"{name}.png"
    difference = compare_images(str(expected), str(tmp_path / f"{name}.png"), TOLERANCE)
    assert difference is None, difference


def test_every_public_plot_has_a_picture():
    missing = [
        plot
        for plot in plots.__all__
        if plot != "save" and not any(name.startswith(plot) for name in PICTURES)
    ]
    assert missing == []


def test_pictures_are_small_and_each_is_of_a_plot():
    files = sorted(BASELINE.iterdir())
    assert [file.stem for file in files] == sorted(PICTURES)
    assert max(file.stat().st_size for file in files) < 30_000


if __name__ == "__main__":
    for picture in PICTURES:
        save_picture(picture, BASELINE / f"{picture}.png")
