"""The report of a study, from the blocks that its file lists.

Name of a study, what its analysis found by name, comparison with print → Report.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure as Drawing
from numpy.typing import NDArray

from hmetad.plots import conditions, curves, intervals, reliability
from hmetad.plots.panels import name_outer_axes, name_panel, panel_axes, share_legend
from hmetad.plots.style import dress, look_of, reference_line
from hmetad.report.contents.tables import convergence_table, decision_table, notice_block
from hmetad.report.contents.tables import decision_figure as figure_of_decisions
from hmetad.report.page.blocks import Block, Figure, Prose, table_from_frame
from hmetad.report.page.report import Report
from hmetad.studies.comparison import compare_with_print, file_of
from hmetad.text.names import symbol

type Entry = Mapping[str, Any]
type Contents = Mapping[str, Any]


def compare_and_report(study: ModuleType, results: Any) -> tuple[pd.DataFrame, Report]:
    """Everything printed beside what a study computed, and the report of both.

    The module of a study has NAME, `recompute`, which gives what is printed by table, quantity and
    row, and `contents`, which gives what the blocks of the report name.
    """
    comparison = compare_with_print(study.NAME, study.recompute(results))
    contents = study.contents(results, comparison)
    return comparison, build_report(study.NAME, contents, comparison)


def build_report(study: str, contents: Contents, comparison: pd.DataFrame) -> Report:
    """Report of a study, from contents: all that blocks name, and that texts have in braces.

    The file has the title under ``report``, sentences that stand in several places under ``said``,
    and the blocks, each of one of `KINDS`. One with ``needs`` is left out where the contents lack
    it; one with ``each`` is repeated for every member of these contents, with what the member has.
    """
    plan = file_of(study)
    head = plan["report"]
    known = {**contents, "where": head.get("where", {})}
    known |= {"comparison": comparison, "agreement": agreement(comparison)}
    known |= {name: fill(text, known) for name, text in plan.get("said", {}).items()}
    blocks = [block for entry in plan["block"] for block in blocks_of(entry, known)]
    meta = [(name, fill(text, known)) for name, text in head["meta"].items()]
    meta += [("Seed", str(contents["seed"])), ("hmetad", version("hmetad"))]
    return Report(head["title"], tuple(blocks), subtitle=head["subtitle"], meta=tuple(meta))


def blocks_of(entry: Entry, known: Contents) -> Iterator[Block]:
    """Blocks of an entry: none, one, or one for each member of what it is repeated for."""
    if "needs" in entry and known.get(entry["needs"]) is None:
        return
    kind = next(kind for kind in KINDS if kind in entry)
    for own in known[entry["each"]] if "each" in entry else [{}]:
        yield from KINDS[kind](entry, {**known, **own})


def fill(text: str, known: Contents) -> str:
    """Text on one line, with what it has in braces."""
    return re.sub(r"\s*\n\s*", " ", text.strip("\n")).format_map(known)


def prose(entry: Entry, known: Contents) -> Iterator[Block]:
    """Paragraphs, which empty lines separate, under a heading."""
    parts = [part for part in entry.get("text", "").split("\n\n") if part.strip()]
    yield Prose(entry.get("heading", ""), tuple(fill(part, known) for part in parts))


def table(entry: Entry, known: Contents) -> Iterator[Block]:
    """A data frame with chosen columns under headings."""
    yield table_from_frame(
        known[entry["table"]],
        fill(entry["caption"], known),
        columns=entry.get("columns"),
        formats=entry.get("formats"),
        note=fill(entry.get("note", ""), known),
        name=fill(entry.get("name", entry["table"]), known),
    )


def decisions(entry: Entry, known: Contents) -> Iterator[Block]:
    """Decisions, beside words of a paper if any; against the ROPE, where a figure is asked for."""
    name, comparison = entry["decisions"], known["comparison"]
    # The comparison has them in the same order.
    words = comparison.loc[comparison["table"] == name, "printed"]
    judged, caption = known["decided"][name], entry["caption"]
    yield decision_table(judged, f"{caption}.", in_print=list(words) or None, name=name)
    if entry.get("figure", False):
        yield figure_of_decisions(judged, f"{caption}, against the ROPE (band).", name=name)


def figure(entry: Entry, known: Contents) -> Iterator[Block]:
    """A plot of `PLOTS`, of contents and with options that the entry names."""
    caption, alt, name = (fill(entry[key], known) for key in ("caption", "alt", "figure"))
    of = [known[name] for name in entry["of"]]
    axes = np.ravel(np.asarray(PLOTS[entry["plot"]](*of, **entry.get("options", {})), dtype=object))
    yield Figure(caption, alt, axes[0].figure, name)


def differing(_: Entry, known: Contents) -> Iterator[Block]:
    """What disagrees with print and why, if anything does."""
    rows = known["comparison"].query("not agrees")
    if len(rows):
        shown = places_and_values(rows, known["where"]).assign(Cause=rows["note"])
        caption = "Every disagreement with print, and its cause."
        yield table_from_frame(shown, caption, name="differences")


def everything(_: Entry, known: Contents) -> Iterator[Block]:
    """Every printed value beside ours."""
    rows = known["comparison"]
    verdict = rows["agrees"].map({True: "yes", False: "no"})
    shown = places_and_values(rows, known["where"]).assign(Agrees=verdict)
    yield table_from_frame(shown, "Every printed value, and ours.", name="comparison")


def alerts(entry: Entry, known: Contents) -> Iterator[Block]:
    """Notices that travel with a result."""
    yield from notice_block(known[entry["notices"]], entry.get("heading", "Notices"))


def convergence(entry: Entry, known: Contents) -> Iterator[Block]:
    """Diagnostics of fits, by name."""
    yield convergence_table(known[entry["convergence"]])


# Key that an entry of this kind has → its blocks.
KINDS: Mapping[str, Callable[[Entry, Contents], Iterator[Block]]] = {
    "table": table,
    "decisions": decisions,
    "figure": figure,
    "notices": alerts,
    "convergence": convergence,
    "differing": differing,
    "everything": everything,
    "heading": prose,
    "text": prose,
}


def places_and_values(comparison: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    """Printed values and ours, and where they stand."""
    what = comparison["row"] + ": " + comparison["quantity"].map(symbol)
    shown = pd.DataFrame({"Where": comparison["table"].replace(where), "What": what})
    names = {"In print": "printed", "Here": "ours"}
    return shown.assign(**{name: comparison[side].map(in_short) for name, side in names.items()})


def in_short(value: object) -> str:
    """Number with five significant digits; words as they are."""
    return value if isinstance(value, str) else f"{value:.5g}"


def agreement(comparison: pd.DataFrame) -> str:
    """How many printed values agree, and where the others are found.

    Examples
    --------
    >>> agreement(pd.DataFrame({"agrees": [True, False], "note": ["", "A misprint."]}))
    '1 of 2 printed values agree with ours, within the tolerances given. The other 1 stands below, \
with its cause.'
    """
    others = comparison[~comparison["agrees"]]
    agreeing = f"{len(comparison) - len(others)} of {len(comparison)} printed values"
    start = f"{agreeing} agree with ours, within the tolerances given."
    if others.empty:
        return start
    verb, cause = ("stands", "with") if len(others) == 1 else ("stand", "each with")
    unexplained = int((others["note"] == "").sum())
    said = f"{unexplained} of them unexplained" if unexplained else f"{cause} its cause"
    return f"{start} The other {len(others)} {verb} below, {said}."


# --- plots that studies alone have ----------------------------------------------------------------


def plot_lines(
    lines: pd.DataFrame,
    points: pd.DataFrame | None = None,
    limits: Mapping[str, Sequence[float]] | None = None,
    *,
    x: str,
    y: str,
    hue: str,
    panel: str | None = None,
    size: tuple[float, float] = (2.5, 2.7),
    columns: int = 3,
    share_y: bool = False,
    reference: float | None = None,
    xlabel: str = "",
    ylabel: str = "",
    **axis: Any,
) -> NDArray[Any]:
    """A line per hue, with axes per panel; faint points.

    `limits` are those of the vertical axis, by panel.
    """
    names = list(lines[panel].unique()) if panel else [""]
    axes = panel_axes(None, len(names), (size[0], size[1]), columns=columns, share_y=share_y)
    hues = [name for one in (lines, points) if one is not None for name in one[hue].unique()]
    looks = {name: look_of(i) | {"markersize": 4} for i, name in enumerate(dict.fromkeys(hues))}
    for ax, name in zip(axes, names, strict=True):
        dress(ax, grid="y")
        if reference is not None:
            reference_line(ax, reference, vertical=False)
        part = lines[lines[panel] == name] if panel else lines
        if points is not None:
            here = points[points[panel] == name] if panel else points
            for label, own in here.groupby(hue, sort=False):
                look = {name: looks[str(label)][name] for name in ("color", "marker")}
                ax.scatter(own[x], own[y], s=5, alpha=0.35, linewidth=0, rasterized=True, **look)
        for order, (label, line) in enumerate(part.groupby(hue, sort=False)):
            # Where lines meet, the first are on top.
            ax.plot(line[x], line[y], label=label, zorder=3 - 0.1 * order, **looks[label])
        ax.set(**axis)
        if limits and name in limits:
            ax.set_ylim(*limits[name])
        name_panel(ax, name)
    name_outer_axes(axes, xlabel, ylabel, share_y=share_y)
    share_legend(axes)
    return axes


def plot_sensitivity_and_accuracy(frame: pd.DataFrame, counts: xr.DataArray) -> NDArray[Any]:
    """d′ and meta-d′ beside lines of accuracy by rating, a row of two panels per task."""
    tasks = list(frame["task"].unique())
    page = Drawing(figsize=(7.8, 8.8), layout="constrained")
    axes = page.subplots(len(tasks), 2, width_ratios=[1.15, 1])
    for task, (left, right) in zip(tasks, axes, strict=True):
        own = frame[frame["task"] == task]
        sides = {"mean": "", "lower": "_lower", "upper": "_upper"}
        both = [
            pd.DataFrame({side: own[f"{name}{end}"] for side, end in sides.items()}).assign(
                model=own["model"], quantity=symbol(name)
            )
            for name in ("dprime", "meta_d")
        ]
        look: dict[str, Any] = {"x": "model", "hue": "quantity", "lower": "lower", "upper": "upper"}
        conditions.by(pd.concat(both), "mean", **look, ylabel="Sensitivity", ax=left)
        left.set_title(task, loc="left", fontweight="bold", fontsize=9, pad=22)
        own = counts.isel(cell=(counts["task"] == task).to_numpy())
        reliability.accuracy_by_rating(own.assign_coords(cell=own["model"].to_numpy()), ax=right)
        if task != tasks[0]:
            right.get_legend().remove()
    return np.asarray(axes)


PLOTS: Mapping[str, Callable[..., Any]] = {
    "conditions": conditions.criterion,
    "forest": intervals.forest,
    "groups": curves.group_accuracy,
    "information plane": curves.information_plane,
    "lines": plot_lines,
    "sensitivity and accuracy": plot_sensitivity_and_accuracy,
    "type-1 ROC": curves.type1_roc,
    "type-2 ROC": curves.type2_roc,
}
