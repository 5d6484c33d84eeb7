"""`hmetad report` writes the page of a fit, or of several, and prints all of it as JSON."""

import json

import pandas as pd
from command_line import run

import hmetad
from hmetad.commands.report import STORE


def test_the_report_of_a_fit_answers_a_question(folder):
    printed = run(folder, "report fit.nc --question 'Who knows more?' -o one.json --json").answer
    written = json.loads((folder / "one.json").read_text(encoding="utf-8"))
    assert printed["report"]["title"] == written["title"]
    assert len(printed["report"]["blocks"]) == len(written["blocks"])
    assert "Who knows more?" in json.dumps(written)
    assert (printed["seed"], printed["rows"][0]["cell"]) == (1, "good | A")


def test_a_folder_of_fits_makes_one_report(folder):
    fits = folder / "fits"
    fits.mkdir(exist_ok=True)
    for name in ("first", "second"):
        (fits / f"{name}.nc").write_bytes((folder / "fit.nc").read_bytes())
    done = run(folder, "report fits -o all.md --json")
    page = (folder / "all.md").read_text(encoding="utf-8")
    assert page.count("Does the model fit") == 2
    assert {row["fit"] for row in done.answer["rows"]} == {"first", "second"}


def test_a_folder_of_draws_is_one_fit(folder):
    trials = pd.read_csv(folder / "trials.csv")
    counts = hmetad.count_trials(trials, by=["model", "task"])
    options = {"draws": 100, "chains": 2, "random_seed": 1, "progressbar": False}
    hmetad.fit(counts, store=folder / "draws", **options)
    assert set(STORE) <= {path.name for path in (folder / "draws").iterdir()}
    done = run(folder, "report draws -o draws.html --json")
    assert list(done.answer["fits"]) == ["draws"]
    assert done.answer["rows"][0]["cell"] == "good | A"
    assert "Does the model fit" in (folder / "draws.html").read_text(encoding="utf-8")
