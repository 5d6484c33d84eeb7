"""What a reader sees in a browser."""

import html
import json
import re

import pytest
from matplotlib.figure import Figure as Drawing
from plots.hostile_labels import HOSTILE

from hmetad.report.page.report import Figure, Report, Table
from hmetad.text.escape import visible

pytestmark = pytest.mark.integration


def test_hostile_labels_are_text_and_no_script_runs(hostile_report, browser, tmp_path):
    dom = browser(hostile_report.save(tmp_path / "page.html"))
    assert "<title>owned" not in dom
    assert re.findall("<(script|img|input)", dom) == ["script"]
    for label in HOSTILE:
        assert html.escape(visible(label), quote=False) in dom.replace("&quot;", '"')


def test_without_the_policy_still_nothing_runs(hostile_report, browser, tmp_path):
    page = re.sub("<meta http-equiv=[^>]*>", "", hostile_report.html())
    path = tmp_path / "unprotected.html"
    path.write_text(page, encoding="utf-8")
    assert "<title>owned" not in browser(path)


def test_page_does_not_scroll_sideways_on_a_phone(hostile_report, measured_in_frame):
    widths = "[d.documentElement.scrollWidth, w.innerWidth]"
    inner, outer = measured_in_frame(hostile_report.html(), widths, 390).split(",")
    assert outer == "390"
    assert int(inner) <= int(outer)


def test_wide_tables_scroll_in_a_place_that_has_focus(hostile_report, measured_in_frame):
    wide = "[...d.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    found = measured_in_frame(hostile_report.html(), f"{wide}.map(e => e.tabIndex)", 390)
    assert set(found.split(",")) == {"0"}


def test_every_id_is_unique_and_every_reference_has_its_target(hostile_report, measured_in_frame):
    twice = (
        "[...d.querySelectorAll('[id]')].map(e => e.id)"
        ".filter((id, place, all) => all.indexOf(id) !== place)"
    )
    lost = (
        "[...d.querySelectorAll('[href^=\"#\"]')].map(e => e.getAttribute('href'))"
        ".filter(to => !d.getElementById(to.slice(1)))"
    )
    page = hostile_report.html()
    assert measured_in_frame(page, f"[{twice}.length, {lost}.length]", 1280) == "0,0"


SORTED = (
    "(() => {{ const head = d.querySelectorAll('th button')[{place}], seen = [];"
    " for (let i = 0; i < 3; i++) {{ head.focus(); d.activeElement.click();"
    " seen.push(head.parentElement.getAttribute('aria-sort'),"
    " [...d.querySelector('tbody').rows].map(row => row.cells[{place}].textContent)); }}"
    " return JSON.stringify(seen) }})()"
)
ROWS = (("b", 1e7), ("a", -0.5), ("d", None), ("c", 0.25), ("e", float("inf")))


@pytest.mark.parametrize(
    ("place", "upwards", "downwards"),
    [
        (0, ["a", "b", "c", "d", "e"], ["e", "d", "c", "b", "a"]),
        (1, ["−0.500", "0.250", "1.000e+07", "∞", "–"], ["∞", "1.000e+07", "0.250", "−0.500", "–"]),
    ],
)
def test_headings_sort_a_table_up_and_down_and_back(place, upwards, downwards, measured_in_frame):
    page = Report("R", (Table("T", ("label", "value"), ROWS),)).html()
    seen = json.loads(measured_in_frame(page, SORTED.format(place=place), 800))
    as_it_was = (
        ["b", "a", "d", "c", "e"] if place == 0 else ["1.000e+07", "−0.500", "–", "0.250", "∞"]
    )
    assert seen == ["ascending", upwards, "descending", downwards, None, as_it_was]


@pytest.mark.parametrize("width", [390, 320])
def test_verdict_is_in_view_on_a_phone(width, measured_in_frame):
    row = ("GPT-5 − Mistral-Medium-2508 | A", 0.1, 0.1, 0.1, 0.5, 0.5, "yes", "inconclusive", "why")
    heads = ("Contrast", *("Mean", "Lower", "Upper", "P(dir.)", "In ROPE"))
    heads += ("Excludes 0", "Verdict", "For")
    page = Report("R", (Table("T", heads, (row,) * 5),)).html()
    place = "(r => [r.left, r.right])(d.querySelector('.verdict').getBoundingClientRect())"
    left, right = map(float, measured_in_frame(page, place, width).split(","))
    name = "d.querySelector('tbody th').getBoundingClientRect().right"
    assert float(measured_in_frame(page, name, width)) <= left < right <= width


def test_upper_ends_and_figures_are_in_view_on_a_phone_without_scrolling(measured_in_frame):
    heads = ("Contrast", "Mean", "Lower", "Upper", "P(dir.)", "In ROPE", "Excludes 0", "Verdict")
    rows = tuple(
        (label, -0.146, -0.497, 0.2, 0.81, 0.317, "no", "inconclusive")
        for label in ("patient − control | perception", "hard − easy")
    )
    drawing = Drawing(figsize=(7.4, 2))
    drawing.add_subplot().plot([0, 1])
    page = Report("R", (Table("T", heads, rows), Figure("F", "F", drawing))).html()
    box = "(s => d.querySelector(s).getBoundingClientRect())"
    places = f"[{box}('tbody td:nth-child(4)').right, {box}('.verdict').left, {box}('svg').right]"
    upper, verdict, figure = map(float, measured_in_frame(page, places, 420).split(","))
    assert upper <= verdict
    assert figure <= 420


# Of notebooks: lists of terms in two columns, tables to the right, bullets.
NOTEBOOK = """<style>
.out.page dt, .out dl dt { float: left; width: 20%; font-weight: bold; display: inline-block }
.out.page dd, .out dl dd { float: left; width: 80%; margin-left: 25% }
:not(.other).out td, :not(.other).out th { text-align: right; border: 1px solid }
.out table { table-layout: fixed; width: 100%; margin-left: auto }
.out ul:not(.list-inline) { padding-left: 2em; list-style: disc }
.out figure { float: right; width: 50%; border: 1px solid } .out p { color: green }
</style>"""


def test_embedded_report_looks_the_same_in_a_notebook(hostile_report, measured_in_frame):
    boxes = (
        "[...d.querySelectorAll('.hmetad-report *')].filter(e => !e.closest('svg')).map(e => {"
        " const s = w.getComputedStyle(e), r = e.getBoundingClientRect(); return [e.tagName,"
        " r.width, r.height, s.textAlign, s.color, s.listStyleType, s.borderLeftWidth].join()"
        " }).join(';')"
    )
    page = f"<!doctype html><div class='out page'>{hostile_report._repr_html_()}</div>"
    alone = measured_in_frame(page, boxes, 900)
    assert measured_in_frame(NOTEBOOK + page, boxes, 900) == alone != ""
