"""Commands on trials whose confidence is numbers: nothing is binned unless asked."""

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

import hmetad


@pytest.fixture
def answers(tmp_path):
    """Two models that answered the same items, with a probability for each answer."""
    rng = np.random.default_rng(1)
    hard = rng.normal(size=400)
    parts = []
    for place, model in enumerate("ab"):
        signal = 0.6 + 0.5 * place - hard + rng.normal(size=400)
        confidence = 1 / (1 + np.exp(-signal - rng.normal(size=400) / (place + 1)))
        rows = {"model": model, "item": np.arange(400), "correct": (signal > 0).astype(int)}
        parts.append(pd.DataFrame({**rows, "confidence": confidence}))
    pd.concat(parts).to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path


def test_measures_are_exact(answers):
    done = run(answers, "measures answers.csv --by model --correct correct --json")
    expected = hmetad.measures.measure_trials(pd.read_csv(answers / "answers.csv"), by="model")
    for row in done.answer["rows"]:
        one = expected.sel(cell=row["cell"])
        for name in ("auroc2", "auroc2_lower", "brier", "ece", "selective_area"):
            assert row[name] == pytest.approx(one[name].item())
    assert "AUROC2" in run(answers, "measures answers.csv --by model --correct correct").stdout


def test_intervals_draw_items_whole(answers):
    line = "measures answers.csv --by model --correct correct --interval --cluster item"
    rows = run(answers, f"{line} --draws 200 --seed 1 --json").answer["rows"]
    asked = {"by": "model", "cluster": "item", "n": 200, "seed": 1}
    expected = hmetad.measures.resample_trials_interval(
        pd.read_csv(answers / "answers.csv"), **asked
    )
    for row in rows:
        upper = expected["ece"].sel(cell=row["cell"], summary="upper").item()
        assert row["ece_upper"] == pytest.approx(upper)


def test_ratings_are_counted_where_they_are_asked_for(answers):
    line = "measures answers.csv --by model --correct correct --quantiles 4 --json"
    assert "gamma_trapezoid" in run(answers, line).answer["rows"][0]
    clustered = f"{line} --interval --cluster item --draws 50 --seed 1"
    assert [row["cell"] for row in run(answers, clustered).answer["rows"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("measures answers.csv --correct correct --meta-d", "--meta-d"),
        ("measures answers.csv --correct correct -o page.html", "--output"),
        ("measures answers.csv --correct correct --cluster item", "--interval"),
        ("measures answers.csv --correct correct --interval --cluster question", "question"),
    ],
)
def test_what_needs_ratings_is_refused(answers, line, says):
    assert says in refused(answers, line)
