"""What a reader sees in a browser."""

import html
import re

from report.hostile_labels import HOSTILE

from hmetad.report.escape import visible


def test_hostile_labels_are_text_and_no_script_runs(hostile_report, browser, tmp_path):
    dom = browser(hostile_report.save(tmp_path / "page.html"))
    assert "<title>owned" not in dom
    assert not re.search("<(script|img|input)", dom)
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
        "[...d.querySelectorAll('[href]')].map(e => e.getAttribute('href'))"
        ".filter(to => !d.getElementById(to.slice(1)))"
    )
    page = hostile_report.html()
    assert measured_in_frame(page, f"[{twice}.length, {lost}.length]", 1280) == "0,0"


def test_embedded_report_leaves_the_rest_of_a_page_as_it_was(hostile_report, measured_in_frame):
    style = (
        "['body', 'h1', 'table', 'a'].map(n => { const s = w.getComputedStyle("
        "d.querySelector('#mine').querySelector(n) ?? d.body); return [s.color, s.font, s.margin,"
        " s.backgroundColor].join() }).join(';')"
    )
    mine = "<div id=mine><h1>T</h1><table><tr><td>1</table><a href='#x'>a</a></div>"
    before = measured_in_frame(mine, style, 800)
    after = measured_in_frame(mine + hostile_report._repr_html_(), style, 800)
    assert after == before != ""


def test_page_is_dark_where_the_reader_prefers_it(hostile_report, measured_in_frame):
    paper = "w.getComputedStyle(d.querySelector('.hmetad-report')).backgroundColor"
    page = hostile_report.html()
    light = measured_in_frame(page, paper, 800, "--blink-settings=preferredColorScheme=1")
    dark = measured_in_frame(page, paper, 800, "--blink-settings=preferredColorScheme=0")
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(21, 24, 27)")
