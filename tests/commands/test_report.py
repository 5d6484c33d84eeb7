"""`hmetad report` writes the page of a fit, or of several, and prints all of it as JSON."""

import json

import pandas as pd
import pytest
from command_line import refused, run

import hmetad
from hmetad.commands.report import STORE


def test_the_report_of_a_fit_answers_a_question(folder):
    run(folder, "report fit.nc -o one.html --question 'Who knows more?'")
    assert "Who knows more?" in (folder / "one.html").read_text(encoding="utf-8")


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


def test_json_is_the_whole_report(folder):
    printed = run(folder, "report fit.nc --json").answer
    run(folder, "report fit.nc -o page.json")
    written = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert printed["report"]["title"] == written["title"]
    assert len(printed["report"]["blocks"]) == len(written["blocks"])
    assert printed["seed"] == 1
    assert printed["rows"][0]["cell"] == "good | A"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("report", "Missing argument"),
        ("report fit.nc", "Write -o page.html, or --json."),
        ("report nofile.nc -o page.html", "no such file"),
        ("report trials.csv -o page.html", "no netCDF"),
        ("report fit.nc -o page.odt", ".html, .md, .tex, .docx, .json"),
        ("report . -o nowhere/page.html", "a folder that exists"),
    ],
)
def test_what_cannot_be_reported_is_refused(folder, line, says):
    assert says in refused(folder, line)
