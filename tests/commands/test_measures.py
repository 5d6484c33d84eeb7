"""`hmetad measures` prints and writes what `measure` gives."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import run

import hmetad


def test_every_measure_is_written(folder):
    done = run(folder, "measures trials.csv --by model,task --meta-d --format csv -o measures.csv")
    assert (folder / "measures.csv").read_text(encoding="utf-8") == done.stdout
    table = pd.read_csv(folder / "measures.csv")
    counts = hmetad.count_trials(pd.read_csv(folder / "trials.csv"), by=["model", "task"])
    assert table["m_ratio"].to_numpy() == pytest.approx(hmetad.fit_mle(counts)["m_ratio"])
    assert table["rmi"].to_numpy() == pytest.approx(hmetad.measure(counts)["rmi"])
    shown = run(folder, "measures trials.csv --by model,task -o rows.json").stdout
    assert "AUROC2" in shown
    assert " model | task " in shown
    answer = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    assert list(answer) == ["rows", "notices", "seed", "versions"]
    assert answer["seed"] is None


def test_right_and_wrong_alone_have_intervals(folder):
    options = "measures judged.csv --by model --correct hit --interval --draws 50 --json"
    answer = run(folder, options).answer
    rows = answer["rows"]
    assert [row["cell"] for row in rows] == ["good", "poor"]
    assert all(row["auroc2_lower"] < row["auroc2"] < row["auroc2_upper"] for row in rows)
    assert "dprime" not in rows[0]
    assert answer["intervals"] == {"method": "percentile", "ci_prob": 0.95, "draws": 50}
    assert run(folder, f"{options} --seed {answer['seed']}").answer["rows"] == rows


def test_the_page_can_be_made_again(folder):
    run(folder, "measures trials.csv --by model --interval --draws 20 -o again.html")
    page = (folder / "again.html").read_text(encoding="utf-8")
    assert "--draws 20 -o again.html --seed " in page


@pytest.mark.parametrize("output", ["page.md", "draws.nc"])
@pytest.mark.parametrize("ratings", ["", "--quantiles 4"])
def test_trials_are_counted_and_resampled_once_a_run(tmp_path, monkeypatch, ratings, output):
    """Intervals and a file of one run are of the same draws; warnings are said once."""
    rng = np.random.default_rng(1)
    rows = {"model": ["a", "b"] * 100, "item": np.repeat(np.arange(100), 2)}
    rows |= {"correct": rng.integers(0, 2, 200), "confidence": rng.choice([0.25, 0.5], 200)}
    pd.DataFrame(rows).to_csv(tmp_path / "answers.csv")
    home, name = (hmetad, "resample") if ratings else (hmetad.measures, "resample_trials")
    function, calls = getattr(home, name), []

    def counted(*given, **options):
        calls.append(name)
        return function(*given, **options)

    known = [one for key, one in [*sys.modules.items()] if key.startswith("hmetad")]
    for module in known:
        if vars(module).get(name) is function:
            monkeypatch.setattr(module, name, counted)
    line = f"measures answers.csv --by model --correct correct {ratings} --interval --draws 2000"
    done = run(tmp_path, f"{line} --cluster item --json -o {output}")
    assert calls == [name]
    assert done.stderr.count("request fewer ratings.") == bool(ratings)


def test_a_cluster_asks_for_intervals_whatever_is_written(folder):
    line = "measures trials.csv --by model --cluster task --draws 20 --seed 1"
    rows = run(folder, f"{line} --json").answer["rows"]
    assert rows == run(folder, f"{line} --interval --json").answer["rows"]
    run(folder, f"{line} -o clustered.csv")
    assert "auroc2_lower" in pd.read_csv(folder / "clustered.csv")
