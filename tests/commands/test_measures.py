"""`hmetad measures` prints and writes what `measure` gives."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

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


@pytest.mark.parametrize("output", ["page.md", "draws.nc", "table.csv"])
@pytest.mark.parametrize("ratings", ["", "--quantiles 4"])
def test_trials_are_counted_and_resampled_once_a_run(tmp_path, monkeypatch, ratings, output):
    """Intervals, a gate and a file of one run are of the same draws; warnings are said once."""
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
    condition = "--rope=-0.9,0.9 --var auroc2 --fail-if 'a worse than b'"
    done = run(tmp_path, f"{line} --cluster item --json {condition} -o {output}")
    assert calls == [name]
    assert done.answer["gate"]["outcome"] == "passed"
    assert done.stderr.count("Ask for fewer by --quantiles.") == bool(ratings)


def test_a_cluster_asks_for_intervals_whatever_is_written(folder):
    line = "measures trials.csv --by model --cluster task --draws 20 --seed 1"
    rows = run(folder, f"{line} --json").answer["rows"]
    assert rows == run(folder, f"{line} --interval --json").answer["rows"]
    run(folder, f"{line} -o clustered.csv")
    assert "auroc2_lower" in pd.read_csv(folder / "clustered.csv")


@pytest.fixture(scope="module")
def options_folder(tmp_path_factory):
    """Two models that answered the same questions, with the probability of every option."""
    folder = tmp_path_factory.mktemp("options")
    rng = np.random.default_rng(6)
    right, frames = rng.integers(0, 4, 200), []
    for model in ("a", "b"):
        p = rng.dirichlet(np.full(4, 0.6), size=200)
        p[np.arange(200), right] += rng.uniform(0, 1.2, 200)
        p /= p.sum(axis=1, keepdims=True)
        own = {"model": model, "item": np.arange(200), "hit": p.argmax(axis=1) == right}
        lists = {"option_probabilities": p.tolist(), **{f"p{k}": p[:, k] for k in range(4)}}
        frames.append(pd.DataFrame(own | lists))
    pd.concat(frames).to_csv(folder / "answers.csv", index=False)
    return folder


SIGNALS = "measures answers.csv --by model --correct hit --draws 60 --seed 1 --signals"


def test_signals_are_compared_in_one_command(options_folder):
    answer = run(options_folder, f"{SIGNALS} option_probabilities --json -o page.md").answer
    trials = hmetad.logs.signals(pd.read_csv(options_folder / "answers.csv"))
    asked = {"by": "model", "correct": "hit", "n": 60, "seed": 1}
    found, draws = hmetad.select.compare_signals(trials, **asked)
    assert [row["cell"] for row in answer["rows"]] == found["cell"].values.tolist()
    assert [row["signal"] for row in answer["rows"]] == 2 * [*trials.columns[-4:-1]]
    for name in ("auroc2", "m_ratio"):
        own = [[row[name], row[f"{name}_lower"], row[f"{name}_upper"]] for row in answer["rows"]]
        assert np.array(own) == pytest.approx(found[name].to_numpy(), nan_ok=True)
    differences = hmetad.select.signal_differences(found, draws)
    assert len(answer["differences"]) == len(differences) == 6
    assert answer["differences"][0]["auroc2"] == pytest.approx(differences["auroc2"][0])
    page = (options_folder / "page.md").read_text(encoding="utf-8")
    assert r"| a | top\_probability |" in page
    assert r"| a | top\_probability | lead |" in page
    assert "--draws 60 --seed 1 --signals" in page


def test_signals_with_few_values_are_said_to_have_fewer_ratings(options_folder):
    trials = pd.read_csv(options_folder / "answers.csv")
    is_sure = trials["p0"] > trials["p0"].median()
    others = {name: np.where(is_sure, 0.1, 0.3) for name in ("p1", "p2", "p3")}
    trials.assign(p0=1.0, **others).to_csv(options_folder / "few.csv", index=False)
    line = SIGNALS.replace("answers.csv", "few.csv")
    said = run(options_folder, f"{line} p0,p1,p2,p3 --json").stderr
    assert "warning: Equal or too few values: " in said
    assert "UserWarning" not in said


def test_columns_of_options_are_the_lists(options_folder):
    lists, columns = (
        run(options_folder, f"{SIGNALS} {named} --json").answer["rows"]
        for named in ("option_probabilities", "p0,p1,p2,p3")
    )
    assert lists == columns
    shown = run(options_folder, f"{SIGNALS} option_probabilities").stdout
    assert "model | signal" in shown
    assert "left" in shown


def test_draws_of_signals_are_compared_and_gate(options_folder):
    run(options_folder, f"{SIGNALS} option_probabilities -o draws.nc")
    line = "compare draws.nc --var auroc2 --rope=-0.01,0.01 --json"
    signals = run(options_folder, f"{line} --over signal --within model").answer["rows"]
    models = run(options_folder, f"{line} --over model --within signal").answer["rows"]
    assert (len(signals), len(models)) == (6, 3)
    gate = "--rope=-0.5,0.5 --fail-if 'lead worse than top_probability'"
    # So few draws give no verdict; the pairs are those of signals, in each model.
    said = run(options_folder, f"{SIGNALS} option_probabilities {gate}", status=3).stderr
    assert "no verdict on lead − top_probability | a; lead − top_probability | b" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--signals nope", "--signals: got 'nope'"),
        ("--signals item", "a list of numbers per row"),
        ("--signals option_probabilities --confidence p0", "--confidence without --signals"),
        ("--signals option_probabilities --ratings 4", "--ratings without --signals"),
        ("--signals option_probabilities --options 4", "--options without --signals"),
        ("--signals option_probabilities --cluster model", "columns beside that of --cluster"),
    ],
)
def test_signals_that_cannot_be_had_are_refused(options_folder, line, said):
    assert said in refused(options_folder, f"measures answers.csv --by model --correct hit {line}")
