"""`hmetad select` says which process made the ratings, on the terminal and as a page."""

import json

import pytest
from command_line import run

import hmetad

QUICK = "select trials.csv --by subject --difficulty level --models sdt,wev,ig --quick"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("select")
    coords = {"subject": ["a"] * 2 + ["b"] * 2, "level": ["hard", "easy"] * 2}
    hmetad.simulate_trials(
        [0.8, 2.0, 1.0, 2.2], likelihood="linear-gaussian", process="wev", visibility=0.5,
        noise=0.7, trials=4000, coords=coords, seed=1,
    ).to_csv(path / "trials.csv", index=False)  # fmt: skip
    return path


def test_the_answer_is_what_the_function_gives(folder):
    answer = run(folder, f"{QUICK} --json -o rows.json").answer
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert rows == answer["rows"]
    assert next(row["model"] for row in rows) == "wev"
    assert "Evidence and visibility describes these ratings best" in answer["conclusion"][0]
    assert answer["seed"] == 0
    assert {"aic", "difference", "best_for", "protected_exceedance"} <= {*rows[0]}


def test_the_terminal_has_a_table_and_a_sentence(folder):
    done = run(folder, QUICK)
    assert "nats below best" in done.stdout
    assert "describes these ratings best" in done.stdout
    assert "(3 of 3)" in done.stderr


@pytest.mark.parametrize("options", ["--difficulty level --models sdt,wev", "--models sdt,ig"])
def test_the_report_shows_where_models_fail(folder, options):
    line = "select trials.csv --by subject --quick -o page.html"
    if "difficulty" not in options:
        # Each person at both difficulties together.
        options += " --correction cell"
    run(folder, f"{line} {options}")
    page = (folder / "page.html").read_text(encoding="utf-8")
    for heading in ("Where each model fails", "What the best model means for M-ratio"):
        assert heading in page
    assert page.count("<svg") == 2
    assert "To run it again" in page
