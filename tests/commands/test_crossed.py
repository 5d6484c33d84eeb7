"""Models that answered the same questions: from a file of trials to which model is best."""

import json

import pandas as pd
import pytest
from bayes.test_crossed import answers
from command_line import run

FIT = "fit trials.csv --by subject=model,item --options 4 --model alternatives_crossed --seed 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crossed")
    answers().rename(columns={"subject": "model"}).to_csv(folder / "trials.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    return json.loads(run(folder, f"{FIT} --draws 100 --items items.csv -o fit.nc --json").stdout)


@pytest.mark.integration
def test_a_fit_prints_models_with_items_apart_and_pooled_and_writes_items(folder, fitted):
    assert [row["cell"] for row in fitted["rows"]] == ["m0", "m1", "m2"]
    for row in fitted["rows"]:
        for name in ("share_right", "dprime", "m_ratio"):
            assert row[f"{name}_lower"] < row[name] < row[f"{name}_upper"]
        assert 0 <= row["auroc2_dprime"] <= 1
        assert 0 <= row["auroc2_log_spread"] <= 1
    assert any(row["pooled_m_ratio"] for row in fitted["rows"])
    kinds = [row["kind"] for row in fitted["population"] if row["kind"] != "population"]
    assert kinds == ["sd", "sd", "correlation"]
    of_m, of_areas = fitted["about"]
    assert "pooled over item" in of_m
    assert "from the item alone" in of_areas
    items = pd.read_csv(folder / "items.csv")
    assert [*items] == ["item", "dprime", "log_spread", "dprime_sd", "log_spread_sd"]
    assert len(items) == 40


@pytest.mark.integration
def test_models_of_a_crossed_fit_are_compared_ranked_and_reported(folder, fitted):
    done = run(folder, "compare fit.nc --over subject --rope=-0.2,0.2 --rank --json")
    compared = json.loads(done.stdout)
    assert len(compared["rows"]) == len(compared["ranks"]) == 3
    run(folder, "report fit.nc -o page.md")
    page = (folder / "page.md").read_text(encoding="utf-8")
    for sentence in fitted["about"]:
        assert sentence in page
    assert "| Observer |" in page
    assert "of 3 participants and 40 levels of item" in page
