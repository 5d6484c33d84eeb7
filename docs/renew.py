"""Renew what the site shows and is too slow to make in each build.

Nothing → the comparisons of all studies with print in `validation/`, the report in `example/`, and
figures of fits in `drawn/`.

    uv run python docs/renew.py              # everything: some minutes
    uv run python docs/renew.py example      # the report alone
    uv run python docs/renew.py drawn        # figures that pages draw from their fits
    uv run python docs/renew.py meyen2025    # one study
"""

import doctest
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes

import hmetad
from hmetad.studies.run import STUDIES, reproduce

DOCS = Path(__file__).parent
SCREENSHOT = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--hide-scrollbars",
    "--window-size=1280,1120",
]
QUESTION = "Does the confidence of B, C, D and E follow what they know as well as that of A?"


def main(names: list[str]) -> None:
    """Renew what is named, or all."""
    for name in names or ["example", "drawn", *STUDIES]:
        if name == "example":
            write_example(DOCS / "example")
            write_screenshot(DOCS / "example" / "answers.png")
        elif name == "drawn":
            write_figures(
                {"people": ["people", "conditions"], "llm": ["calibration", "differences"]}
            )
        else:
            write_comparison(name)
        print(f"{name}: renewed")


def write_comparison(name: str) -> None:
    """Table of printed and computed values of a study."""
    with tempfile.TemporaryDirectory() as folder:
        reproduce(name, Path(folder))
        shutil.copyfile(Path(folder) / "comparison.csv", DOCS / "validation" / f"{name}.csv")


def write_figures(figures: dict[str, list[str]]) -> None:
    """Each `ax` that the code of a page makes, in its order, under the names given for the page."""
    for page, names in figures.items():
        space: dict[str, Any] = {}
        drawn: list[Axes] = []
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for kind, code in re.findall(
            r"^```(python|pycon)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE
        ):
            examples = doctest.DocTestParser().get_examples(code)
            for source in [code] if kind == "python" else [one.source for one in examples]:
                exec(source, space)
            drawn += [space.pop("ax")] if "ax" in space else []
        for name, ax in zip(names, drawn, strict=True):
            with rc_context({"svg.hashsalt": name}):
                ax.figure.savefig(DOCS / "drawn" / f"{name}.svg", metadata={"Date": None})


def write_example(folder: Path) -> None:
    """Report of five simulated models, of which one is below chance."""
    counts = hmetad.simulate_counts(
        dprime=[1.5, 1.6, 1.7, 1.4, -0.4],
        c=[0.0, 0.1, 0.2, 0.0, 0.0],
        m_ratio=[0.85, 0.85, 0.55, 0.74, 0.8],
        trials=[60_000, 60_000, 12_000, 4000, 600],
        coords={"model": ["A", "B", "C", "D", "E"]},
        seed=3,
    )
    options = {"draws": 2000, "target_accept": 0.99, "random_seed": 1}
    draws = hmetad.fit(counts, **options, progressbar=False, quiet=True)
    differences = hmetad.contrast(draws, var="log_m", over="model", against="A")
    verdicts = hmetad.decide(differences, rope=(-0.1, 0.1))
    report = hmetad.report.fit_report(draws, verdicts, title="Five models", question=QUESTION)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    report.save(folder / "five_models.html")
    report.save(folder / "report.md")
    shutil.rmtree(folder / "report_tables")


def write_screenshot(path: Path) -> None:
    """First page of the report on the three models of llm.md, as Chromium shows it."""
    page = (DOCS / "llm.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], space)
    with tempfile.TemporaryDirectory() as folder:
        space["trials"].to_csv(Path(folder) / "answers.csv", index=False)
        asked = ["--by", "model", "--correct", "correct", "--cluster", "item", "--seed", "1"]
        command = [
            sys.executable,
            "-m",
            "hmetad",
            "measures",
            "answers.csv",
            *asked,
            "-o",
            "a.html",
        ]
        subprocess.run(command, cwd=folder, check=True)
        shown = [f"--screenshot={path}", f"file://{folder}/a.html"]
        subprocess.run([*SCREENSHOT, *shown], check=True, capture_output=True)


if __name__ == "__main__":
    main(sys.argv[1:])
