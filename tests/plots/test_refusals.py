"""What cannot be drawn is refused, with what can be."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure
from plots.drawn import calibrated, counts_of, frame_of, grown, models, predicted
from plots.drawn import shares as shares_of

from hmetad import plots
from hmetad.base.errors import InputError

COUNTS, SHARES = (of(("a", "b"), False) for of in (counts_of, shares_of))
CALIBRATED, PREDICTED = (of(("a", "b"), False) for of in (calibrated, predicted))
FRAME = pd.DataFrame({"task": ["A", "A"], "model": ["x", "y"], "m_ratio": [0.8, 0.9]})
COLUMNS = {"panel": None, "lower": "m_ratio", "upper": "m_ratio", "estimate": "m_ratio"}
MATRIX = xr.DataArray(
    np.full((2, 9, 2, 2), 0.5), {"e": ["a", "b"], "f": ["a", "b"]}, ("chain", "draw", "e", "f")
)
CASES = {
    "a level twice": (lambda: plots.by(pd.concat([FRAME] * 2).assign(risk="none")),
        r"risk.*several rows of task 'A' and model 'x'"),
    "a place twice": (lambda: plots.criterion(pd.concat([FRAME] * 2), x="task", **COLUMNS),
        "several rows"),
    "no such label": (lambda: plots.forest(frame_of("ab"), label="verdcit"),
        r"'verdict'.*'verdcit'"),
    "no such variable": (lambda: plots.by(xr.Dataset({"m_ratio": ("cell", [1.0])}), "m_ratoi"),
        r"'m_ratio'.*'m_ratoi'"),
    "an array": (lambda: plots.by(np.zeros(3)), "a fit, a Dataset or a data frame"),
    "too few axes": (lambda: plots.criterion(frame_of("abcd"), panel="verdict", ax=Figure()
        .subplots(), x="label", hue="panel"), "one per panel"),
    "no cell dim": (lambda: plots.type2_roc(COUNTS.isel(cell=0)), "a dim cell"),
    "no stimulus": (lambda: plots.accuracy_by_rating(COUNTS.sum("stimulus")), "stimulus"),
    "groups without size": (lambda: plots.group_accuracy(grown("ab", False)
        .rename(size="members")), "one of them size"),
    "a cell that is not there": (lambda: plots.risk_coverage(xr.Dataset(
        {"selective_accuracy": (("cell", "coverage"), [[1.0]])}, {"cell": ["one"]}),
        strong=["onne"]), r"strong: .*'one'.*got 'onne'"),
    "no trials of bins": (lambda: plots.calibration(CALIBRATED.drop_vars("bin_trials")),
        "no variable 'bin_trials'"),
    "calibration of draws": (lambda: plots.calibration(CALIBRATED.expand_dims(draw=2)),
        r"Choose one of each further dim.*dims \(.*\).*draw"),
    "fewer axes than cells": (lambda: plots.fit(PREDICTED, ax=plots.fit(PREDICTED)[:1]),
        "one per panel"),
    "a kind of fit": (lambda: plots.fit(PREDICTED, kind="bars"), "kind: .*got 'bars'"),
    "no difficulty": (lambda: plots.rating_residuals(*models("ab"), difficulty="hardness"),
        "difficulty"),
    "winners by criterion": (lambda: plots.confusion(SHARES.expand_dims(criterion_of=["aic"])),
        r"found\['people'\]"),
    "winners without names": (lambda: plots.confusion(SHARES.drop_vars("winning")),
        "no names along winning"),
    "correlations beyond 1": (lambda: plots.correlations(3 * MATRIX), "from -1 to 1"),
    "a format": (lambda: plots.save(Figure(), "x", formats=("pdf", "jpg")), "formats: .*got 'jpg'"),
    "no figure": (lambda: plots.save(3, "x"), "drawn: .*got int"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_drawn_is_refused_with_what_can(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = CASES[case]
    with pytest.raises(InputError, match=words):
        call()
    assert not list(tmp_path.iterdir())
