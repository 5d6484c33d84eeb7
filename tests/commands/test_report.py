"""`hmetad report` writes the page of a fit, or of several, and prints all of it as JSON."""

import json

from command_line import run


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


def test_figures_are_written_beside_the_page_where_they_are_wanted(folder):
    run(folder, "report fit.nc -o page.html --figures drawn")
    assert {path.suffix for path in (folder / "drawn").iterdir()} == {".svg", ".pdf"}
