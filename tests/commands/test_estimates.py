"""Sets pooled, and estimates modelled, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

import hmetad


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models that answered the items of three sets, and draws of their measures."""
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(1)
    parts = []
    for place, model in enumerate("ab"):
        for name, number in (("x", 150), ("y", 300), ("z", 450)):
            signal = 0.5 + rng.normal(size=number)
            sure = 1 / (1 + np.exp(-signal - rng.normal(size=number) / (2 * place + 1)))
            items = [f"{name}{i}" for i in range(number)]
            rows = {"model": model, "set": name, "item": items, "correct": (signal > 0).astype(int)}
            parts.append(pd.DataFrame({**rows, "confidence": sure}))
    pd.concat(parts).to_csv(folder / "answers.csv", index=False)
    line = "measures answers.csv --by model,set --correct correct --interval --cluster item"
    run(folder, f"{line} --draws 1000 --seed 1 -o draws.nc")
    return folder


def test_contrasts_are_pooled_over_sets(folder):
    line = "compare draws.nc --over model --pool set --rope=-0.02,0.02 --rank"
    done = run(folder, f"{line} --bonferroni --json")
    draws = hmetad.bayes.load_draws(folder / "draws.nc")
    pooled = hmetad.contrast(draws, var="auroc2", over="model", pool="set")
    [row] = done.answer["rows"]
    assert row["label"] == "a − b"
    assert row["mean"] == pytest.approx(float(pooled.mean()))
    assert (row["pooled"], row["not_pooled"], row["direction"]) == ("x, y, z", "", "less")
    shares = json.loads(done.answer["pool_weights"])
    assert shares == pytest.approx({"x": 1 / 3, "y": 1 / 3, "z": 1 / 3})
    assert [one["model"] for one in done.answer["ranks"]] == ["b", "a"]
    assert "pooled over set with equal weights of 3 levels" in run(folder, line).stdout


def test_a_gate_without_a_verdict_says_how_many_draws_would_do(folder):
    line = "compare draws.nc --over model --pool set --rope=-0.02,0.02 --ci-prob 0.9999 --rank"
    done = run(folder, f"{line} --fail-if 'a worse than b' --json", status=3)
    because = done.answer["gate"]["because"]
    assert "about 200,000 are enough" in because
    assert "Monte Carlo error" in because
    shown = run(folder, line)
    assert "MC error" in shown.stdout
    assert "1 of 1 verdicts could change by Monte Carlo error" in shown.stderr
    assert "hmetad measures --draws 4000." in shown.stderr
    codes = [notice["code"] for notice in done.answer["notices"]]
    assert codes.count("draws-for-level") == 2
    run(folder, f"{line[:-7]} -o page.md")
    assert "about 200,000 are enough" in (folder / "page.md").read_text(encoding="utf-8")


@pytest.mark.integration
def test_estimates_are_modelled_and_compared(folder):
    asked = "estimates draws.nc --formula 'auroc2 ~ 0 + model + (1 | set)' --link logit"
    done = run(folder, f"{asked} --seed 1 -o fit.nc --json")
    rows = {(row["variable"], row["term"]): row for row in done.answer["rows"]}
    assert rows["logit_auroc2_model", "b"]["mean"] > rows["logit_auroc2_model", "a"]["mean"]
    assert ("logit_auroc2_1|set_sigma", "") in rows
    line = "compare fit.nc --over model --within set --rope=-0.02,0.02 -o fit.md --json"
    found = run(folder, line).answer
    assert {row["verdict"] for row in found["rows"]} == {"different"}
    assert found["fits"]["fit"]["formula"] == "auroc2 ~ 0 + model + (1 | set)"
    assert "hierarchical normal model" in (folder / "fit.md").read_text(encoding="utf-8")
    both = (
        "compare one=draws.nc two=fit.nc --over fit --within model --pool set --rank -o both.html"
    )
    assert len(run(folder, f"{both} --rope=-0.02,0.02 --json").answer["rows"]) == 2
    population = run(folder, "compare fit.nc --population --over model --rope=-0.02,0.02 --json")
    assert len(population.answer["rows"]) == 1


@pytest.mark.integration
def test_a_set_that_nobody_has_answered_is_predicted(folder):
    formula = "auroc2 ~ 0 + model + (1 | set) + (1 | model:set)"
    run(folder, f"estimates draws.nc --formula '{formula}' --seed 1 -o sets.nc")
    line = "sets.nc --over model --rope=-0.02,0.02 --rank --json"
    average = run(folder, f"compare --population {line}").answer["rows"][0]
    done = run(folder, f"compare --new set {line} -o new.md")
    [another] = done.answer["rows"]
    assert another["sd"] > 1.2 * average["sd"]
    assert done.answer["new"] == ["set"]
    assert run(folder, f"compare --new set {line}").answer["rows"] == [another]
    fit = hmetad.load_fit(folder / "sets.nc")
    drawn = hmetad.bayes.predict_estimates(fit, new="set", seed=2)
    assert another["mean"] == float(hmetad.contrast(drawn, var="auroc2", over="model").mean())
    assert "for a new set" in run(folder, f"compare --new set {line[:-7]}").stdout
    assert "predictions for a new set" in (folder / "new.md").read_text(encoding="utf-8")


def test_a_fit_of_estimates_has_a_report(folder):
    run(folder, "estimates draws.nc --formula 'auroc2 ~ 1 + (1 | set)' --seed 1 -o own.nc")
    run(folder, "report own.nc -o own.html")
    assert (folder / "own.html").stat().st_size > 1000
    answer = run(folder, "report own.nc --json").answer
    assert [row["cell"] for row in answer["rows"]][:2] == ["a | x", "a | y"]
    assert answer["population"][0]["kind"] == "population"


def test_a_table_of_estimates_is_modelled(folder):
    studies = pd.DataFrame({"study": list("abcde"), "effect": [1, 2, 1.5, 0.5, 2], "error": 0.5})
    studies.to_csv(folder / "studies.csv", index=False)
    asked = "estimates studies.csv --formula 'effect ~ 1 + (1 | study)' --seed 1"
    done = run(folder, f"{asked} --se error -o studies.nc --json")
    assert done.answer["rows"][0]["mean"] == pytest.approx(1.4, abs=0.1)


@pytest.fixture(scope="module")
def with_fit(folder):
    """The folder, with a fit of its draws."""
    run(folder, "estimates draws.nc --formula 'auroc2 ~ 0 + model + (1 | set)' --seed 1 -o fit.nc")
    return folder


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("compare draws.nc --over model --pool no --rope=-1,1", "coordinate"),
        ("compare draws.nc --new set --over model --rope=-1,1", "hmetad estimates"),
        ("compare draws.nc --population --over model --rope=-1,1", "hmetad estimates"),
        ("compare fit.nc --new model --over model --rope=-1,1", "a factor of groups"),
        ("compare fit.nc --new sat --over model --rope=-1,1", "set"),
        ("estimates draws.nc --formula auroc2", "formula"),
        ("estimates draws.nc --formula auroc2~1 --ci-prob 2", "--ci-prob"),
        ("estimates answers.csv --formula confidence~1", "se"),
        ("report draws.nc -o page.html", "hmetad compare"),
    ],
)
def test_what_cannot_be_done_is_said(with_fit, line, says):
    assert says in refused(with_fit, line)
