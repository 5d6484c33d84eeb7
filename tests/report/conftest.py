"""Hostile labels, a small report, and a browser to look at it."""

import html
import shutil
import subprocess

import pytest
from plots.hostile_labels import HOSTILE, hostile_table

from hmetad import plots
from hmetad.plots.intervals import describe_intervals
from hmetad.report.page.blocks import Alerts, Figure, Prose, table_from_frame
from hmetad.report.page.report import Report


@pytest.fixture
def hostile_frame():
    return hostile_table()


@pytest.fixture
def hostile_report(hostile_frame):
    """Every kind of block, with hostile text in every place that takes text."""
    everything = " ".join(HOSTILE)
    forest = plots.forest(hostile_frame, xlabel=HOSTILE[3]).figure
    second = plots.forest(hostile_frame.head(3), reference=0.0, rope=(-0.1, 0.1)).figure
    return Report(
        HOSTILE[0],
        (
            *(Prose(label, (label, everything)) for label in HOSTILE),
            Alerts("Notices", tuple((label, label, (label, everything)) for label in HOSTILE)),
            table_from_frame(hostile_frame, everything, note=everything, name="../../etc"),
            table_from_frame(
                hostile_frame, "Renamed", columns=dict(zip(hostile_frame, HOSTILE, strict=False))
            ),
            Figure(everything, describe_intervals(hostile_frame), forest, name="a/b"),
            Figure("Second", everything, second, name="a/b"),
        ),
        subtitle=everything,
        meta=tuple((label, label) for label in HOSTILE),
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a function that opens a file in headless chromium and gives the resulting DOM."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    profile = tmp_path_factory.mktemp("profile")
    switches = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        "--virtual-time-budget=5000",
    )

    def dump(path, *more):
        command = [program, *switches, f"--user-data-dir={profile}", *more, "--dump-dom"]
        done = subprocess.run(
            [*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout

    return dump


@pytest.fixture
def measured_in_frame(browser, tmp_path):
    """Return a function that gives a JavaScript value of a page shown at a width in pixels."""

    def measure(page, expression, width, *more):
        wrapper = tmp_path / "wrapper.html"
        wrapper.write_text(
            f"<!doctype html><body><iframe style='width:{width}px;height:900px;border:0' "
            f'srcdoc="{html.escape(page)}"></iframe><pre id="out"></pre><script>'
            "const frame = document.querySelector('iframe');"
            "frame.onload = () => { const w = frame.contentWindow, d = frame.contentDocument;"
            f"document.getElementById('out').textContent = String({expression}); }};"
            "</script>",
            encoding="utf-8",
        )
        dom = browser(wrapper, *more)
        return html.unescape(dom.rpartition('<pre id="out">')[2].partition("</pre>")[0])

    return measure
