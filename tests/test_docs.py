"""The site builds without a warning, its code runs, and its tables are as long as the package."""

import doctest
import html
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import yaml
from public_names import PUBLIC_NAMES
from scipy.special import expit
from typer.testing import CliRunner

import hmetad
from hmetad.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = Path(hmetad.__file__).parent
if not DOCS.is_dir():
    pytest.skip("no documentation beside the tests", allow_module_level=True)
# README tells how to build the others.
PAGES = sorted({*DOCS.glob("*.md")} - {DOCS / "README.md"})
SEVERITIES = {"info", "warning", "error"}
# Code in a page that is executed: ```python and ```pycon. {code-block} needs data or minutes.
EXECUTED = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


# What a page would fetch from elsewhere to be shown.
FETCHED = re.compile(r'<(?:script|img|iframe|link)[^>]*\s(?:src|href)="https?:[^"]*"[^>]*>')


@pytest.mark.integration
def test_the_site_is_built_without_a_warning_and_holds_together(tmp_path):
    """One test, so that tests in parallel build it once."""
    if find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed: uv sync --group docs")
    site = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(site)]
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert built.returncode == 0, built.stderr[-6000:]
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {path.stem for path in PAGES} <= {path.stem for path in pages if path.parent == site}
    for name in PUBLIC_NAMES:
        assert f'id="hmetad.{name}"' in pages[site / "api" / f"hmetad.{name}.html"]
    assert {"auroc2", "rope", "diverg", "hmeta", "metadpi"} <= searchable_terms(site)
    assert list(broken_links(pages)) == []
    assert [link for text in pages.values() for link in FETCHED.findall(text)] == []


def searchable_terms(site):
    """Stems of words that the search finds."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    return set(json.loads(text[text.index("(") + 1 : text.rindex(")")])["terms"])


def broken_links(pages):
    """Links between pages that lead to no file, or to no place in it."""
    places = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in pages.items()}
    for path, text in pages.items():
        for link in re.findall(r'<a[^>]*\shref="([^"]+)"', text):
            address, _, place = unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:", address):
                continue
            target = (path.parent / address.split("?")[0]).resolve() if address else path
            is_known = target in pages and (not place or place in places[target])
            if not is_known and (place or not target.is_file()):
                yield f"{path.name}: {link}"


@pytest.mark.integration
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page):
    space = {}
    for kind, code in EXECUTED.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(code, page.name, "exec"), space)
            continue
        example = doctest.DocTestParser().get_doctest(code, space, page.name, page.name, 0)
        said = []
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(example, out=said.append, clear_globs=False)
        space |= example.globs
        assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.integration
def test_what_the_readme_runs_prints_what_it_shows(tmp_path):
    """Its Python in its order, then each command line that is followed by its output."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    with chdir(tmp_path):
        space = {}
        for code in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            exec(compile(code, "README", "exec"), space)
        shown = re.findall(r"^```sh\n([^`]*)^```\n\n```text\n([^`]*)^```$", text, re.MULTILINE)
        assert len(shown) == 2
        for lines, output in shown:
            commands = [shlex.split(line)[1:] for line in lines.splitlines()]
            said = [CliRunner().invoke(app, command).stdout for command in commands][-1]
            expected = [numbers_and_words(line) for line in output.splitlines() if "─" not in line]
            found = [numbers_and_words(line) for line in said.splitlines()]
            # Draws of other machines differ by Monte Carlo error.
            assert all(
                any(row == pytest.approx(one, abs=0.02) for one in found) for row in expected
            )


@pytest.mark.integration
def test_the_steps_of_the_github_action_run_and_its_gates_stop_a_worse_model(tmp_path):
    """All steps but those that fetch something, as a runner executes them, with the gates shown."""
    page = (DOCS / "gates.md").read_text(encoding="utf-8")
    gates, action = (
        re.search(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1]
        for kind in ("toml", "yaml")
    )
    (tmp_path / "gates.toml").write_text(gates)
    steps = yaml.safe_load(action)["jobs"]["gates"]["steps"]
    local = [one for one in steps if "run" in one and "pip install" not in one["run"]]
    assert [one["name"].split()[0] for one in local] == ["Draws", "Gates", "Summary"]
    rng = np.random.default_rng(1)
    for skill, status in ((1.2, 0), (0.2, 1)):
        parts = []
        for model, own in (("old", 1.0), ("new", skill)):
            confidence = expit(own + 2 * rng.normal(size=4000))
            columns = {"model": model, "item": range(4000), "confidence": confidence.round(3)}
            correct = (rng.random(4000) < confidence).astype(int)
            parts.append(pd.DataFrame({**columns, "correct": correct}))
        pd.concat(parts).to_csv(tmp_path / "answers.csv", index=False)
        place = {"GITHUB_STEP_SUMMARY": str(tmp_path / f"{status}.md")}
        place["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        ended = [
            subprocess.run(
                ["bash", "-e", "-c", one["run"]], cwd=tmp_path, env=os.environ | place, check=False
            ).returncode
            for one in local
        ]
        assert ended == [0, status, 0]
        summary = (tmp_path / f"{status}.md").read_text(encoding="utf-8")
        assert summary.count("\n") == gates.count("[[gate]]")
        assert summary.startswith("- failed:" if status else "- passed:")


def numbers_and_words(line):
    """Words of a line by their places, those that are numbers as numbers."""
    words = line.split()
    return {place: number_of(word) for place, word in enumerate(words)}


def number_of(word):
    """Number that a word says, or the word."""
    try:
        return float(word)
    except ValueError:
        return word


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda path: path.stem)
def test_names_that_a_page_mentions_exist(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"\bhmetad\.([a-z_A-Z]\w*(?:\.\w+)?)\b(?!\.(?:toml|py|nc))", text))
    files = {path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.*")}
    inside = {".".join(parts[:2]) for parts in files} | {parts[0] for parts in files}
    own = {f"{x}.{name}" for x in ("datasets", "norms") for name in getattr(hmetad, x).__all__}
    assert named - set(PUBLIC_NAMES) - inside - own == set()


def test_the_report_page_shows_every_section_of_a_report():
    report = (DOCS / "example" / "report.md").read_text(encoding="utf-8")
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    headings = [line[3:].split(":")[0] for line in report.splitlines() if line.startswith("## ")]
    assert "Notices" in headings
    for heading in headings:
        assert f"\n## {heading}\n" in page


def test_every_card_is_in_the_table_of_choices():
    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    for card in (ROOT / "models").glob("*.toml"):
        assert f"(#card-{card.stem})" in page


def test_every_room_is_in_the_table_of_rooms():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for room in PACKAGE.glob("*/__init__.py"):
        assert f"`{room.parent.name}`" in page
