"""Names, notes and notices act in no format, whatever stands in them; parsers are the referees."""

import contextlib
import csv
import io
import json
import re
import shlex
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from attacks.hostile_texts import FRAGMENTS, texts
from command_line import refused, run
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from matplotlib.figure import Figure as Drawing

from hmetad.base.errors import InputError
from hmetad.base.notice import Notice
from hmetad.base.spreadsheets import guard, unguard
from hmetad.cli import report_failure
from hmetad.commands.answer import Answer, Listing, PrintOptions
from hmetad.commands.import_log import trials_csv
from hmetad.report.page.report import Alerts, Figure, Prose, Report, Table, files_beside
from hmetad.report.terminal import (
    csv_table,
    json_text,
    latex_table,
    markdown_table,
    print_table,
    say,
)
from hmetad.text.escape import latex, latex_signs, slug, visible

DRAWING = Drawing(figsize=(1, 1))
DRAWING.patch.set_visible(False)


def report_of(label):
    """Every kind of block, with the label in every place that takes text."""
    table = Table(label, (label, "n", "mean"), ((label, 1, -0.5), ("b", 2, None)), label, label)
    return Report(
        label,
        (
            Prose(label, (label, f"{label} {label}")),
            Alerts("Notices", ((label, label, (label, "b")), ("warning", label, ()))),
            table,
            Figure(label, f"x{label}", DRAWING, name=label),
        ),
        subtitle=label,
        meta=((label, label),),
    )


class Tags(HTMLParser):
    """Tags with their attributes, and words, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data}")

    unknown_decl = handle_pi


def tags_of(page):
    """Each tag with the names of its attributes, without what depends on the length of a text."""
    return {(tag, tuple(name for name in attrs if name != "class")) for tag, attrs in page.tags}


def links_of(page):
    places = ("href", "src", "action", "srcset", "poster", "data", "xlink:href", "style")
    return [attrs[name] for _, attrs in page.tags for name in places if attrs.get(name)]


PLAIN = report_of("label")
PLAIN_TAGS = tags_of(Tags(PLAIN.html()))


def in_html(label):
    report = report_of(label)
    for text in (report.html(), report._repr_html_()):
        page = Tags(text)
        assert tags_of(page) <= PLAIN_TAGS
        assert all(link.startswith("#") for link in links_of(page))
        assert visible(label) in "".join(page.words)
        text.encode()
    return "words"


READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def in_markdown(label):
    for text in (report_of(label).markdown(), markdown_table([{"a": label}], {"a": label}, label)):
        tokens = [
            inner for token in READER.parse(text) for inner in (token, *(token.children or ()))
        ]
        assert not {token.type for token in tokens} & {"html_block", "html_inline", "fence"}
        page = Tags(READER.render(text))
        assert all(link.startswith(("report_", "text-align:")) for link in links_of(page))
        assert visible(label) in re.sub("[ \n]+", " ", " ".join(page.words)) or not visible(label)
        text.encode()
    return "words"


def in_a_table_of_markdown(label):
    page = Tags(READER.render(markdown_table([{"a": label, "b": 1.5}], {"a": "x", "b": "y"})))
    tags = "table thead tr th th tbody tr td td"
    assert [tag for tag, _ in page.tags] == tags.split()
    assert visible(label) in [*map(str.strip, page.words), ""]
    return "words"


COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)", re.DOTALL)
KNOWN = set(COMMAND.findall("".join((*latex_signs().values(), r"\^"))))


def in_latex(label):
    source = latex(label)
    assert set(COMMAND.findall(source)) <= KNOWN
    bare = COMMAND.sub("", source)
    assert not re.search(r"[\\%#&$_\"`\n\r]", bare)
    assert "^^" not in bare
    assert bare.count("{") == bare.count("}")
    for text in (report_of(label).latex(), latex_table([{"a": label}], {"a": label}, label)):
        assert not re.search(r"\\(?:input\b(?!enc)|include\b|write|openout|catcode)", text)
        text.encode()
    return "words"


def would_run(cell):
    """Whether a text begins as formulas do; + and - also begin usual labels."""
    return unicodedata.normalize("NFKC", cell)[:1] in ("=", "@")


def in_csv(labels):
    """In all writers; what was written can be had back."""
    frame = pd.DataFrame({"@label": pd.Series(labels, dtype=object), "n": range(len(labels))})
    report = Report("R", (Table("T", ("@label", "n"), tuple(frame.itertuples(index=False))),))
    (written,) = files_beside(report, Path(), "out").values()
    by_records, by_frame = csv_table(frame.to_dict("records")), trials_csv(frame)
    plain = str.maketrans("\ud800\udfff", "??")
    assert by_records.translate(plain) == written.translate(plain)
    whole = [label.encode("utf-8", "replace").decode() for label in labels]
    for text in (by_records, by_frame):
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert not [cell for row in rows for cell in row if would_run(cell)]
        assert unguard(rows[0]) == ["@label", "n"]
        found = [str(text) for text in unguard(row[0] for row in rows[1:])]
        assert [text.encode("utf-8", "replace").decode() for text in found] == whole
    return "given back"


def in_json(label):
    for text in (json_text({label: [label]}, 2), json_text(report_of(label).to_dict(), 1)):
        assert not hidden_in(text)
        text.encode()
    # JSON has no two halves side by side: they are the sign that they make.
    whole = label.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(json_text({label: [label]}, 2)) == {whole: [whole]}
    return "given back"


def hidden_in(text):
    """Signs that would act on a terminal, turn what follows, or never show; not line ends, tabs."""
    tags = range(0xE0000, 0xE0080)
    bidi = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI", "AL_MARK")
    return {
        sign
        for sign in text
        if sign not in "\n\t"
        and (
            unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(sign) in bidi
            or ord(sign) in tags
            or sign in "\u200e\u200f\u061c\ufeff"
        )
    }


class Screen(io.StringIO):
    """What is printed to a terminal."""

    def isatty(self):
        return True


@contextlib.contextmanager
def printed():
    """Standard output and standard error, both a terminal's."""
    out, err = Screen(), Screen()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def on_a_terminal(label):
    with printed() as (out, err):
        print_table([{"a": label, "b": 1.5}], {"a": label, "b": "b"}, label)
        say(label)
        report_failure(str(InputError(label, label, repr(label), label)), 2)
        notice = Notice("few-trials", "warning", label, (label,), label)
        answer = Answer((Listing([{label: label}], {label: label}, label),), [notice])
        for chosen in ("table", "csv", "json", "markdown", "latex"):
            PrintOptions(print_as=chosen).give(answer, [Path("out", label)])
    styles = re.compile("\x1b\\[[0-9;]*m")
    assert not hidden_in(styles.sub("", out.getvalue()))
    assert not hidden_in(err.getvalue())
    assert err.getvalue().count("\n") == 12
    (out.getvalue() + err.getvalue()).encode()
    return "shown"


def in_a_file_name(label):
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", slug(label, "table-1"))
    assert not re.fullmatch(r"con|prn|aux|nul|(com|lpt)\d", slug(label, "table-1"))
    return "a name"


ATTACKS = {
    "html": (texts, in_html, 25),
    "markdown": (texts, in_markdown, 20),
    "markdown table": (texts, in_a_table_of_markdown, 100),
    "latex": (texts, in_latex, 25),
    "csv": (st.lists(texts, min_size=1, max_size=4), in_csv, 100),
    "json": (texts, in_json, 50),
    "terminal": (texts, on_a_terminal, 40),
    "file name": (texts, in_a_file_name, 200),
}


@pytest.mark.integration
@pytest.mark.parametrize("place", ATTACKS)
def test_any_text_is_only_text(tally, place):
    strategy, attack, examples = ATTACKS[place]
    for fragment in FRAGMENTS:
        attack([fragment] if place == "csv" else fragment)
    tally(strategy, attack, examples=examples, minutes=2)


LABELS = (
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "+",
    "-",
    "-1",
    "'-x",
    "＝1",
    "a;=1",
    'say "=1"',
    "plain",
)


def hostile_trials(folder):
    """Trials of models whose names a spreadsheet would run, in a column that it would run too."""
    answers = [
        {"stimulus": i % 2, "response": i // 2 % 2, "confidence": 1 + i % 3} for i in range(12)
    ]
    rows = [{"@model": label, **answer} for label in LABELS for answer in answers]
    (folder / "raw.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def harmless_rows(text):
    """Rows of a CSV none of whose cells would run."""
    rows = list(csv.reader(io.StringIO(text)))
    assert not [cell for row in rows for cell in row if would_run(cell)]
    return rows


def test_labels_come_back_from_the_trials_and_rows_that_were_written(tmp_path):
    hostile_trials(tmp_path)
    columns = "stimulus=stimulus,response=response,confidence=confidence"
    run(tmp_path, f"import table raw.jsonl --columns {columns} -o trials.csv")
    harmless_rows((tmp_path / "trials.csv").read_text(encoding="utf-8"))
    direct = run(tmp_path, "measures raw.jsonl --by @model --json").answer["rows"]
    again = run(tmp_path, "measures trials.csv --by @model --json").answer["rows"]
    assert [row["@model"] for row in again] == sorted(LABELS) == [row["@model"] for row in direct]
    assert again == direct
    printed = run(tmp_path, "measures raw.jsonl --by @model --format csv").stdout
    run(tmp_path, "measures raw.jsonl --by @model -o rows.csv")
    for text in (printed, (tmp_path / "rows.csv").read_text(encoding="utf-8")):
        rows = harmless_rows(text)
        place = unguard(rows[0]).index("@model")
        assert sorted(unguard(row[place] for row in rows[1:])) == sorted(LABELS)


def test_names_of_files_stay_on_the_line_of_an_error(tmp_path):
    for name in ("a\x1b[2Jb.csv", "a\u202eb.csv", "a\nhmetad: all is well.csv", "a\x9bb.csv"):
        said = refused(tmp_path, f"measures {shlex.quote(name)} --by model")
        assert not hidden_in(said)
        (tmp_path / name).write_text("a,b\n")
        assert not hidden_in(refused(tmp_path, f"measures {shlex.quote(name)} --by model"))
        (tmp_path / name).unlink()


def test_only_texts_that_begin_with_an_equals_or_at_sign_get_an_apostrophe():
    plain = ("-1 SD", "+x", "-", "+", "a;=1", " =1", "\t=1", "'tis", "'-x", "")
    assert [guard(text) for text in plain] == [*plain]
    assert [guard(text) for text in ("=1", "@x", "＝1", "'=1")] == ["'=1", "'@x", "'＝1", "''=1"]
    # A column with such a text was not guarded.
    assert unguard(["'=1", "=1"]) == ["'=1", "=1"]


def test_long_runs_take_no_longer_than_they_are_long():
    visible("a" + "\u0316\u0300" * 10**5)
    slug("a" + "\u0316\u0300" * 10**5, "x")
