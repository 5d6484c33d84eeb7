"""Reports in three formats, as text and as files."""

import hashlib
import re
import shutil
import subprocess
from base64 import b64encode
from html.parser import HTMLParser
from importlib.resources import files
from itertools import product

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure as Drawing
from plots.hostile_labels import VERDICTS

from hmetad.base.errors import InputError
from hmetad.base.notice import notice_of
from hmetad.report.contents.tables import in_words
from hmetad.report.page.blocks import Alerts, Figure, Prose, Table, table_from_frame
from hmetad.report.page.figures import inline_svg
from hmetad.report.page.report import Report
from hmetad.text.cells import format_cell
from hmetad.text.escape import latex, latex_signs

SUFFIXES = (".html", ".md", ".tex", ".json")


class Page(HTMLParser):
    """Tags, attributes and words of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.styles = [], [], []
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag in ("style", "script")

    def handle_endtag(self, tag):
        self._in_style = self._in_style and tag not in ("style", "script")

    def handle_data(self, data):
        (self.styles if self._in_style else self.words).append(data)

    def named(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def small_report():
    drawing = Drawing(figsize=(2, 1))
    drawing.add_subplot().plot([0, 1], [1, 0], clip_on=True)
    return Report(
        "A report",
        (
            Prose("Question", ("Why?",)),
            Alerts("Notices", (("warning", "Look out.", ("GPT-5 | A",)),)),
            Table("Estimates", ("model", "value"), (("A", 0.5), ("B", None)), name="estimates"),
            Figure("A line.", "A line that falls.", drawing, name="line"),
        ),
        subtitle="In short",
        meta=(("Seed", "1"),),
    )


# HTML


def test_html_has_one_script_and_a_policy_that_allows_no_other(hostile_report):
    text = hostile_report.html()
    page = Page(text)
    assert page.named("script") == [{}]
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert page.named("meta")[1] == {
        "http-equiv": "Content-Security-Policy",
        "content": "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; img-src data:",
    }


def test_html_says_to_those_who_do_not_see_it_what_is_where():
    page = Page(small_report().html())
    assert page.named("html") == [{"lang": "en"}]
    assert all(len(page.named(tag)) == 1 for tag in ("main", "nav", "footer", "header", "h1"))
    links = [a["href"] for a in page.named("a")]
    assert page.named("a")[0] == {"class": "skip", "href": "#content"}
    assert links[1:] == ["#section-1", "#section-2", "#table-1", "#figure-1"]
    assert [len(page.named(tag)) for tag in ("caption", "figcaption")] == [1, 1]
    assert [th["scope"] for th in page.named("th")] == ["col", "col", "row", "row"]
    [image] = [attrs for _, attrs in page.tags if attrs.get("role") == "img"]
    assert image["aria-label"] == "A line that falls."
    assert [td.get("class") for td in page.named("td")] == ["numeric", "numeric"]
    assert "class" not in page.named("th")[0]


def test_verdicts_differ_in_more_than_colour_and_a_label_is_none():
    rows = tuple((word, word) for word in VERDICTS)
    page = Page(Report("R", (Table("T", ("label", "verdict"), rows),)).html())
    badges = [span["class"] for span in page.named("span") if "verdict" in span.get("class", "")]
    assert badges == [f"verdict {word}" for word in VERDICTS]
    assert set(VERDICTS) <= set(page.words)


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(sign * 2 for sign in colour[1:])
    channels = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize(
    ("words", "ground"),
    [*product(("ink", "soft", "link", "mark"), ("paper", "faint")), ("ink", "fill")],
)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_stand_out_as_wcag_aa_asks(mode, words, ground):
    css = files("hmetad.report.page").joinpath("templates/report.css").read_text()
    light, _, dark = css.partition("prefers-color-scheme: dark")
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})\b", light))
    if mode == "dark":
        colours |= dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})\b", dark.partition("@media")[0]))
    bright, dim = sorted((luminance(colours[words]), luminance(colours[ground])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 4.5


# Markdown


def rendered(text):
    return MarkdownIt("commonmark").enable("table").render(text)


# LaTeX


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (
            r"\input{x} % # & _ ^ ~",
            r"\textbackslash{}input\{x\} \% \# \& \_ \textasciicircum{} \textasciitilde{}",
        ),
        (
            "d′ −1 ± α ≥ Müller",
            r"d\ensuremath{'} \ensuremath{-}1 ± \ensuremath{\alpha} \ensuremath{\geq} Müller",
        ),
        ("子", "{[}U+5B50{]}"),
        ("R̂ 1.01", r"\^{R} 1.01"),
        ("x" * 40, r"\allowbreak{}".join(["x" * 8] * 5)),
    ],
)
def test_latex_prints_commands_from_outside_and_sets_the_notation_of_the_field(text, source):
    assert latex(text) == source


def compiled(path):
    """Size of the PDF that pdfLaTeX makes of a file; an error of LaTeX is an error."""
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-jobname=out", path.name]
    for _ in range(2):
        done = subprocess.run(
            command, cwd=path.parent, stdout=subprocess.PIPE, encoding="latin-1", timeout=120
        )
        assert done.returncode == 0, done.stdout[-2000:]
    return (path.parent / "out.pdf").stat().st_size


def latex_is_whole():
    """Whether pdfLaTeX and the packages that a report uses are here."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    command = ["kpsewhich", "booktabs.sty", "longtable.sty", "lmodern.sty"]
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


needs_latex = pytest.mark.skipif(not latex_is_whole(), reason="no pdfLaTeX with booktabs")


@needs_latex
def test_latex_compiles_with_hostile_labels(hostile_report, tmp_path):
    source = hostile_report.save(tmp_path / "my_report %1 #{}.tex")
    assert compiled(source.rename(tmp_path / "renamed.tex")) > 30_000


@needs_latex
def test_latex_compiles_every_sign_that_it_lets_pass(tmp_path):
    signs = "".join(sign for sign in latex_signs() if sign >= " ")
    table = Table(signs, tuple(signs[:20]), (tuple(signs[20:40]),), note=signs)
    report = Report(
        signs, (Prose(signs, (signs,)), Alerts(signs, ((signs, signs, (signs,)),)), table)
    )
    assert compiled(report.save(tmp_path / "signs.tex")) > 10_000


# Files


@pytest.mark.parametrize(
    ("suffix", "beside"),
    [
        (".html", set()),
        (".json", set()),
        (".md", {"out_figures/line.svg", "out_tables/estimates.csv"}),
        (".tex", {"out_figures/line.pdf", "out_tables/estimates.csv"}),
    ],
)
def test_save_writes_the_format_its_suffix_names_with_figures_and_tables(suffix, beside, tmp_path):
    path = small_report().save(str(tmp_path / f"out{suffix}"))
    assert path == tmp_path / f"out{suffix}"
    assert "A report" in path.read_text(encoding="utf-8")
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert written == {f"out{suffix}", *beside}


def test_every_file_that_a_text_refers_to_is_there(hostile_report, tmp_path):
    text = hostile_report.save(tmp_path / "my report.md").read_text(encoding="utf-8")
    page = Page(rendered(text))
    links = [a["href"] for a in page.named("a")] + [i["src"] for i in page.named("img")]
    assert len(links) == 4
    assert all((tmp_path / link.replace("%20", " ")).is_file() for link in links)
    source = hostile_report.save(tmp_path / "my report.tex").read_text(encoding="utf-8")
    drawings = re.findall(r"\\reportfigure\{([^}]*)\}\{", source)
    assert len(drawings) == 2
    assert all((tmp_path / f"{name}.pdf").is_file() for name in drawings)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("suffix", [".html", ".tex"])
def test_error_while_rendering_leaves_everything_as_it_was(suffix, error, tmp_path, monkeypatch):
    path = tmp_path / f"out{suffix}"
    path.write_text("old")

    def fail(*_, **__):
        raise error

    drawing = small_report().blocks[3].draw
    monkeypatch.setattr(drawing, "savefig", fail)
    report = Report("R", (Figure("F", "F", drawing),))
    with pytest.raises(error):
        report.save(path)
    assert [(p.name, p.read_text()) for p in tmp_path.rglob("*")] == [(path.name, "old")]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_saving_twice_gives_the_same_bytes(suffix, hostile_report, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        hostile_report.save(folder / f"out{suffix}")
    names = sorted(p.relative_to(first) for p in first.rglob("*.*"))
    assert names == sorted(p.relative_to(second) for p in second.rglob("*.*"))
    assert all((first / n).read_bytes() == (second / n).read_bytes() for n in names)


# Figures


def test_figures_of_a_page_share_no_ids_and_references_follow_them():
    drawn = [inline_svg(small_report().blocks[3], prefix) for prefix in ("a", "b")]
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in drawn]
    targets = [set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) for svg in drawn]
    assert not ids[0] & ids[1]
    assert all(set() < target <= own for target, own in zip(targets, ids, strict=True))


# Blocks


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (0.12345, "", "0.123"),
        (-0.12345, "", "−0.123"),
        (-0.0001, "", "0.000"),
        (np.int64(12), "", "12"),
        (20000, ",d", "20,000"),
        (1e12, "", "1.000e+12"),
        (float("nan"), "", "–"),
        (float("-inf"), "", "−∞"),
        (None, "", "–"),
        (True, "", "yes"),
    ],
)
def test_cell_is_written_for_a_reader(value, spec, text):
    assert format_cell(value, spec) == text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Table("T", ("a", "b"), (("x",),)), r"rows \(row 1\).*1 cells"),
        (lambda: Table("T", ("a",), ((1.5,),), formats=(("a", "d"),)), r"formats\['a'\].*'d'"),
        (lambda: Figure("F", " ", Drawing()), "alt"),
        (lambda: Figure("F", "F", "<svg/>"), "a matplotlib Figure"),
        (lambda: Report("R", ("text",)), r"blocks \(number 1\)"),
        (lambda: table_from_frame(pd.DataFrame({"mean": []}), "T", columns={"men": ""}), "mean"),
        *(
            (lambda name=name: Report("R", ()).save(name), r"\.html, \.md, \.tex, \.docx or \.json")
            for name in ("out.odt", "out", "out.html.bak")
        ),
        (lambda: Report("R", ()).save("none/out.html"), "folder that exists"),
    ],
)
def test_unusable_block_is_refused_by_name(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_report_of_nothing_and_no_notices_are_still_documents():
    empty, without = Report("Empty", ()), Report("R", (Alerts("Notices", ()),))
    assert empty.markdown() == "# Empty\n"
    assert "<nav" not in empty.html()
    assert r"\end{document}" in empty.latex()
    for text in (without.html(), without.markdown(), without.latex()):
        assert "Nothing to report." in text


def test_a_sentence_of_a_next_step_is_said_once_for_python_and_the_command_line():
    notice = notice_of("meta-d-sign.population", number=2, cells=8)
    text = in_words(notice)
    assert text.count("Keep the cells") == 1
    assert "Command line: If a population of M (--model group_m) differs" in text
    assert "hmetad.sensitivity(fit" in text
    other = in_words(notice_of("at-chance", mean=0.1, where=""))
    assert "Command line: Check the columns --stimulus" in other
