"""Seconds and bytes of a large report: 100 cells, five tables, 30 figures.

Numbers are made up; nothing is sampled.

    python benchmarks/report.py
"""

import numpy as np
import pandas as pd
from machine import CpuClock, calibrating_loop, describe_machine, print_table

import hmetad
from hmetad.plots.intervals import describe_intervals
from hmetad.report.page.blocks import Block, Figure, Prose
from hmetad.report.page.report import Report, table_from_frame

CELLS, TABLES, FIGURES, SHOWN = 100, 5, 30, 12


def main() -> None:
    """Print a row for each format."""
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s\n")
    with CpuClock() as clock:
        report = large_report(np.random.default_rng(1))
    rows: list[list[object]] = [["made, with its figures", clock.wall, clock.cpu, ""]]
    tasks = {
        "html, first time": report.html,
        "html, again": report.html,
        "in a notebook": report._repr_html_,
        "markdown": report.markdown,
        "latex": report.latex,
    }
    for name, function in tasks.items():
        with CpuClock() as clock:
            text = function()
        rows.append([name, clock.wall, clock.cpu, f"{len(text.encode()) / 1e6:.2f}"])
    print_table(["", "wall s", "CPU s", "MB"], rows)


def large_report(rng: np.random.Generator) -> Report:
    """Tables of all cells; forests, ROC curves and lines of accuracy of some."""
    names = [f"model {i // 4:02d} | task {i % 4}" for i in range(CELLS)]
    blocks: list[Block] = []
    for number in range(TABLES):
        frame = cells_frame(names, rng)
        blocks += [Prose(f"Table {number}", ()), table_from_frame(frame, "All cells.")]
    for number in range(FIGURES):
        blocks.append(drawn(number, names, rng))
    return Report("A large report", tuple(blocks))


def cells_frame(names: list[str], rng: np.random.Generator) -> pd.DataFrame:
    """Estimates and intervals of four quantities of every cell."""
    mean = rng.normal(size=(len(names), 4))
    columns = {"cell": names}
    for place, name in enumerate(("dprime", "c", "meta_d", "m_ratio")):
        for side, shift in (("", 0), ("_lower", -0.3), ("_upper", 0.3)):
            columns[name + side] = mean[:, place] + shift
    return pd.DataFrame(columns)


def drawn(number: int, names: list[str], rng: np.random.Generator) -> Figure:
    """Forest, type-2 ROC or accuracy by rating, in turn."""
    if number % 3 == 0:
        mean = rng.normal(size=2 * SHOWN)
        frame = pd.DataFrame({"label": names[: 2 * SHOWN], "mean": mean})
        frame = frame.assign(lower=mean - 0.3, upper=mean + 0.3)
        ax = hmetad.plots.forest(frame, xlabel="M-ratio", reference=1.0)
        return Figure("Forest.", describe_intervals(frame), ax.figure)
    counts = hmetad.simulate_counts([1.5] * 6, 0.2, 0.8, trials=400, seed=number)
    if number % 3 == 1:
        return Figure("ROC.", "Type-2 ROC.", hmetad.plots.type2_roc(counts).figure)
    return Figure("Accuracy.", "Accuracy.", hmetad.plots.accuracy_by_rating(counts).figure)


if __name__ == "__main__":
    main()
