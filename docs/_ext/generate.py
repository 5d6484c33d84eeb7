"""Parts of the site that are made from the package, so that they cannot fall behind it.

Public names, command line, model cards, notices, comparisons and notebooks → files of the site:
whole pages in `api/` and `notebooks/`, parts for other pages in `generated/`.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import typer

import hmetad
from hmetad.base.lazy import homes_in
from hmetad.base.notice_registry import codes
from hmetad.base.results import results
from hmetad.cli import app
from hmetad.commands.options import PLAIN
from hmetad.compare.words import COLUMNS
from hmetad.specs.loading import card_names, card_path
from hmetad.specs.spec import ModelSpec
from hmetad.studies.run import STUDIES

__all__ = ["write_all"]

# In the order of the data; every room and module that has public names must be here.
ROOMS = {
    "logs": "Evaluation logs and tables → trials",
    "datasets": "Public data sets → trials or counts",
    "counts": "Trials → count tables; resampling",
    "measures": "Count tables → measures, without fitting",
    "information": "Count tables → information in bits",
    "groups": "Several observers → one",
    "norms": "Published populations → norms",
    "specs": "Model cards and formulas → what is fitted",
    "mle": "Count tables → maximum likelihood and least squares",
    "bayes": "Count tables → posterior draws",
    "compare": "Draws → contrasts, decisions, ranks",
    "select": "Counts → which process of confidence made them",
    "likelihood": "Models of ratings as records; your own",
    "simulate": "Parameters → data; recovery and planning",
    "plots": "Results → figures",
    "report": "Results → reports",
    "base": "What results say about themselves; errors",
}

# What simulated studies were asked, by what is true.
ASKED = {
    "no difference": "Two groups of participants that do not differ in log M.",
    "difference": "Two groups of participants that differ in log M.",
    "mean": "The mean of log M in one group.",
    "no slope": "A covariate that log M does not depend on.",
    "tasks": "Two tasks of the same participants in which log M is the same.",
    "correlation": "The correlation of log M between two tasks.",
}
# Public modules, whose names bear theirs.
MODULES = sorted(set(dir(hmetad)) - set(hmetad.__all__))
TEXTS = (".ipynb", ".md", ".rst")


def write_all(docs: Path) -> None:
    """Write every generated file, and remove those of earlier builds that are no longer."""
    parts = {
        "api/index.rst": api_index(),
        "generated/command_line.md": command_line(),
        "generated/model_cards.md": model_cards(),
        "generated/decision_columns.md": decision_columns(),
        "generated/notices.md": notice_list(),
        "generated/results.md": result_list(),
        "generated/data_sets.md": data_sets(),
        "generated/norms.md": norms(),
        "generated/validation.md": validation(docs / "validation"),
        "generated/calibration.md": calibration(docs / "calibration"),
        "generated/coverage.md": coverage(docs / "calibration" / "coverage.csv"),
        **report_sections(docs / "example" / "report.md"),
        **notebooks(docs.parent / "notebooks"),
    }
    stubs = {f"api/hmetad.{name}.rst" for names in names_by_room().values() for name in names}
    for folder in ("api", "generated", "notebooks"):
        (docs / folder).mkdir(exist_ok=True)
        for path in (docs / folder).iterdir():
            if path.suffix in TEXTS and f"{folder}/{path.name}" not in {*parts, *stubs}:
                path.unlink()
    for name, text in parts.items():
        write_if_changed(docs / name, text)


def write_if_changed(path: Path, text: str) -> None:
    """Leave a file alone that is as it should be, so that Sphinx need not read it again."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def names_by_room() -> dict[str, list[str]]:
    """Public names of every room, sorted."""
    by_room: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name, home in sorted(homes_in(str(Path(hmetad.__file__).with_suffix(".pyi"))).items()):
        if home != "hmetad":
            by_room[home.split(".")[1]].append(name)
    for module in MODULES:
        by_room[module] += [f"{module}.{name}" for name in getattr(hmetad, module).__all__]
    return {room: names for room, names in by_room.items() if names}


def api_index() -> str:
    """Public names by room, each with a page of its own, in reStructuredText for autosummary."""
    title = "Reference of all public names"
    lines = [title, "=" * len(title), ""]
    for room, names in names_by_room().items():
        lines += [ROOMS[room], "-" * len(ROOMS[room]), ""]
        lines += [".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
        lines += [*(f"   ~hmetad.{name}" for name in names), ""]
    return "\n".join(lines)


def command_line() -> str:
    """Every command with its arguments and options."""
    group = typer.main.get_command(app)
    return "\n".join(commands(group, "hmetad"))


def commands(group: typer.core.TyperGroup, called: str) -> Iterable[str]:
    """Sections of the commands of a group, and of the groups in it."""
    for name, command in group.commands.items():
        full = f"{called} {name}"
        if isinstance(command, typer.core.TyperGroup):
            yield from commands(command, full)
            continue
        arguments = [p for p in command.params if not p.opts[0].startswith("-")]
        written = " ".join((p.metavar or p.name).strip("{}").upper() for p in arguments)
        yield from (f"## {full}", "", (command.help or "").strip().translate(PLAIN), "")
        yield from ("```text", f"{full} {written} [OPTIONS]".replace("  ", " "), "```", "")
        yield from table(("", "what", "default"), [parameter(p) for p in command.params])


def parameter(given: typer.core.TyperOption | typer.core.TyperArgument) -> tuple[str, str, str]:
    """Row of one argument or option: its names, what it is, its default."""
    if given.opts[0].startswith("-"):
        names = ", ".join(f"`{name}`" for name in (*given.opts, *given.secondary_opts))
    else:
        names = f"`{(given.metavar or given.name).strip('{}').upper()}`"
    default = "" if given.default in (None, False, ()) else f"`{given.default}`"
    return names, (given.help or "").translate(PLAIN), "required" if given.required else default


def model_cards() -> str:
    """Every card: its question, how to call it, and the file itself."""
    lines = []
    for name in card_names():
        text = card_path(name).read_text(encoding="utf-8")
        card = hmetad.load_model(name)
        lines += [f"(card-{name})=", f"### `{name}`: {card.title}", "", card.question, ""]
        lines += [f"*Source:* {card.reference}", "", *choices(card), ""]
        lines += ["```python", f'spec = hmetad.load_model("{name}")', "```", ""]
        lines += [":::{dropdown} The card", "```toml", text.strip(), "```", ":::", ""]
    return "\n".join(lines)


def choices(card: ModelSpec) -> list[str]:
    """What a card chooses, as a list."""
    rules = {"relative": "κ = M·c", "absolute": "κ = c"}
    scales = {"log_m": "prior on log M", "m": "prior on M", "meta_d": "prior on meta-d′"}
    said = [words.get(chosen) for chosen in card.choices.values() for words in (rules, scales)]
    said += [f"process `{card.choices['process']}`"] if "process" in card.choices else []
    lines = ["; ".join([f"- {card.likelihood} likelihood", *filter(None, said)])]
    lines += [f"- `{name}`: `{text}`" for name, text in card.formula.items()]
    return lines if card.formula else [*lines, "- every cell separately"]


def notice_list() -> str:
    """Codes with severities, traps they belong to, what they mean, withhold, and what to do."""
    lines = []
    for name, code in sorted(codes().items()):
        traps = [f"[trap {number}](#trap-{number})" for number in code.traps]
        found = {text.severity for text in code.texts.values()}
        severities = [word for word in ("info", "warning", "error") if word in found]
        kinds = " or ".join(severities) or "no notice, but a reason for a verdict withheld"
        subject = "As an error it" if len(severities) > 1 else "It"
        verdicts = {"M": "verdicts on M", "meta-d′": "verdicts on M and meta-d′"}
        may_withhold = not severities or "error" in severities
        withheld = f" {subject} withholds {verdicts.get(code.about, 'verdicts')}."
        withheld = withheld if may_withhold else ""
        withheld += " A comparison repeats it." if code.repeat_in_comparison else ""
        lines += [" · ".join([f"`{name}`{{#notice-{name}}}", kinds, *traps])]
        shell = "" if code.shell_do == code.do else f" *Command line*: {code.shell_do}"
        lines += [f": {code.means}{withheld} *Do*: {code.do}{shell}", ""]
    return "\n".join(lines)


def decision_columns() -> str:
    """Columns of a table of decisions, and what they are."""
    rows = [(f"`{column.name}`", column.means) for column in COLUMNS]
    return "\n".join(table(("column", "what it is"), rows))


def result_list() -> str:
    """Every variable of a result, by the functions that return it."""
    lines = []
    # Figures are called like what they show.
    public = [n for names in names_by_room().values() for n in names if n[:6] != "plots."]
    for section in dict.fromkeys(result.section for result in results()):
        found = [result for result in results() if result.section == section]
        functions = dict.fromkeys(result.function.rpartition(".")[2] for result in found)
        named = [*(["measure"] if found[0].measured else []), *functions]
        written = {name.rpartition(".")[2]: name for name in public}
        origin = ", ".join(f"`{written[name]}`" for name in named if name in written)
        lines += [f"## {found[0].title}", "", f"*From*: {origin}", ""]
        rows = [
            (f"`{x.name}`", x.symbol, shown_unit(x.unit), x.means, shown_source(x.source))
            for x in found
        ]
        lines += table(("name", "symbol", "unit", "what it is", "source"), rows)
    return "\n".join(lines)


def shown_unit(unit: str) -> str:
    """Unit of a result; none for a plain number."""
    return "" if unit == "1" else unit


def shown_source(source: str) -> str:
    """Source of a result, if it is the same for all that are asked for."""
    return "" if "{" in source else source


def report_sections(path: Path) -> dict[str, str]:
    """Sections of the example report, each a file, with figures where the page finds them."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r" \(\[CSV\]\([^)]*\)\)", "", text).replace(
        "](report_figures/", "](example/report_figures/"
    )
    _, *sections = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    pairs = zip(sections[::2], sections[1::2], strict=True)
    return {f"generated/report_{slug(name)}.md": body for name, body in pairs}


def slug(heading: str) -> str:
    """Heading as the part of a file's name."""
    return re.sub(r"\W+", "_", heading.lower()).strip("_")


def data_sets() -> str:
    """Public data sets that can be fetched, with licence and citation; the database as a table."""
    lines, found = [], hmetad.datasets.datasets()
    is_described = found["address"].str.contains("singmann/Confidence-Data-Analysis")
    for row in found[~is_described].astype(str).to_dict("records"):
        lines += [f"`{row['name']}` · {row['observers']}"]
        lines += [f": {row['title']}. {row['table'].capitalize()}. {row['citation']}."]
        lines += [f"  {row['licence']}, [from here]({row['address']}).", ""]
    names = ["name", "title", "people", "trials", "domain"]
    rows = found.loc[is_described, names].astype(object).fillna("").astype(str)
    lines += ["## Confidence Database", "", *table(names, rows.itertuples(index=False))]
    return "\n".join(lines)


def norms() -> str:
    """Quantiles of what published populations have, of all and of the domains with ten or more."""
    found = hmetad.norms.populations()
    sizes = found["domain"].value_counts()
    kinds = [None, *sizes.index[sizes >= 10]]
    lines = []
    for kind in kinds:
        own = hmetad.norms.populations(domain=kind)
        lines += [f"**{(kind or 'all').capitalize()}**: {len(own)} populations", ""]
        usual = hmetad.norms.usual((0.1, 0.25, 0.5, 0.75, 0.9), domain=kind)
        rows = [
            (hmetad.norms.QUANTITIES[x], *(f"{v:.2f}" for v in usual.loc[x])) for x in usual.index
        ]
        lines += [*table(("", "10 %", "25 %", "half below", "75 %", "90 %"), rows), ""]
    return "\n".join(lines)


def validation(folder: Path) -> str:
    """Agreement of every study with print, in one table, then row by row."""
    frames = {name: pd.read_csv(folder / f"{name}.csv", keep_default_na=False) for name in STUDIES}
    rows = []
    for name, frame in frames.items():
        agrees = frame["agrees"].astype(str) == "True"
        known = (~agrees & (frame["note"] != "")).sum()
        rows.append((f"[{name}](#study-{name})", str(len(frame)), str(agrees.sum()), str(known)))
    lines = list(table(("study", "published values", "agree", "differ, with the reason"), rows))
    for name, frame in frames.items():
        lines += [f"(study-{name})=", f"## {STUDIES[name]}", "", *differences(frame)]
        lines += [f":::{{dropdown}} All {len(frame)} values", "", *rows_of(frame), ":::", ""]
    return "\n".join(lines)


def calibration(folder: Path) -> str:
    """What simulation-based calibration found of every card."""
    frame = pd.read_csv(folder / "cards.csv")
    header = (
        *("card", "data sets", "quantities", "smallest p", "of", "by Bonferroni", "p < .001"),
        *("data sets with divergences", "divergent draws", "data sets with R̂ > 1.1"),
    )
    names = [*header[:7], "data sets with any", "divergences", "R-hat > 1.1"]
    names[0:2] = ["card", "n"]
    rows = [
        (
            f"[`{row[0]}`](#card-{row[0]})",
            *map(shown, row[1:4]),
            f"`{row[4]}`",
            *map(shown, row[5:]),
        )
        for row in frame[names].to_numpy().tolist()
    ]
    found, few = int(frame["quantities"].sum()), int(frame["p < .001"].sum())
    total = f"{few} of {found} quantities of {len(frame)} cards have a p-value below .001; "
    return "\n".join(
        [*table(header, rows), "", f"{total}chance alone gives {found / 1000:.1f}.", ""]
    )


def coverage(path: Path) -> str:
    """What verdicts and intervals of simulated studies came to, a table for each question."""
    frame = pd.read_csv(path)
    # Verdicts that no study came to have no column.
    verdicts = ("different", "negligible", "inconclusive", "unreliable")
    verdicts = tuple(name for name in verdicts if frame[name].any())
    header = ("people", "trials", *(f"{name}, %" for name in verdicts))
    header = (*header, "coverage, %", "bias", "half-width")
    lines: list[str] = []
    for question, rows in frame.groupby("question", sort=False):
        first = rows.iloc[0]
        said = f"True value {first['truth']:.2f}, {first['n']} studies a row."
        cells = [coverage_row(row, verdicts) for _, row in rows.iterrows()]
        lines += [f"**{ASKED[str(question)]}** {said}", "", *table(header, cells)]
    return "\n".join(lines)


def coverage_row(row: pd.Series, verdicts: Sequence[str]) -> list[str]:
    """A size of studies: shares in percent, coverage with its Monte Carlo error."""
    sizes = [str(row["people"]), str(row["trials"])]
    shares = [f"{100 * row[name]:.1f}" for name in verdicts]
    held = f"{100 * row['coverage']:.1f}&nbsp;±&nbsp;{100 * row['coverage_se']:.1f}"
    return [
        *sizes,
        *shares,
        held,
        f"{row['bias']:.3f}".replace("-", "−"),
        f"{row['half_width']:.2f}",
    ]


def differences(frame: pd.DataFrame) -> Iterable[str]:
    """Rows that differ from print, by the reason."""
    differ = frame[frame["agrees"].astype(str) != "True"]
    if differ.empty:
        yield from ("Every value agrees.", "")
    names = ["table", "row", "quantity", "printed", "ours"]
    for note, rows in differ.groupby("note", sort=False):
        yield from (f"**Differs:** {note}", "")
        values = [tuple(map(shown, row)) for row in rows[names].to_numpy()]
        yield from table(("table", "row", "quantity", "published", "ours"), values)


def rows_of(frame: pd.DataFrame) -> Iterable[str]:
    """All rows of a comparison."""
    names = ["table", "row", "quantity", "printed", "ours", "tolerance", "agrees"]
    values = [tuple(map(shown, row)) for row in frame[names].to_numpy()]
    return table(("table", "row", "quantity", "published", "ours", "tolerance", "agrees"), values)


def shown(value: object) -> str:
    """A number to five digits, or a text as it is."""
    try:
        return f"{float(str(value)):.5g}"
    except ValueError:
        return {"True": "yes", "False": "no"}.get(str(value), str(value))


def notebooks(source: Path) -> dict[str, str]:
    """Copies of the numbered notebooks, and a table of contents for the page that lists them."""
    found = sorted(source.glob("[0-9]*.ipynb")) if source.is_dir() else []
    copies = {f"notebooks/{path.name}": path.read_text(encoding="utf-8") for path in found}
    entries = [
        f"{int(Path(name).name[:2])}. {heading(text)} <{name.removesuffix('.ipynb')}>"
        for name, text in copies.items()
    ]
    contents = "\n".join(["```{toctree}", ":maxdepth: 1", "", *entries, "```", ""])
    return {"generated/notebooks.md": contents, **copies}


def heading(notebook: str) -> str:
    """First heading of a notebook."""
    cells = json.loads(notebook)["cells"]
    text = "".join(
        "".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "markdown"
    )
    return text.split("# ", 1)[1].splitlines()[0]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Markdown table; bars and line breaks in cells are escaped."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield "| " + " | ".join(" ".join(cell.replace("|", r"\|").split()) for cell in row) + " |"
    yield ""
