"""The report of measures: counts, results, and what each number means.

Count table and Dataset of measures → Report.
"""

from collections.abc import Mapping
from importlib.metadata import version

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs, with_variables
from hmetad.counts.correct import refuse_no_counts
from hmetad.errors import InputError
from hmetad.plots import curves
from hmetad.plots.curves import MOST_CELLS
from hmetad.report.contents.estimates import estimate_table
from hmetad.report.contents.tables import notice_block
from hmetad.report.page.blocks import Block, Figure, Prose, table_from_frame
from hmetad.report.page.report import Report
from hmetad.results import Shown, results
from hmetad.text.names import heading, in_percent

__all__ = ["measures_report"]

NO_STIMULUS = (
    "There is no stimulus in these data: each trial is right or wrong, with a confidence. d′, "
    "meta-d′ and M-ratio do not exist for them; what stands here needs none."
)


@check_inputs(measures=with_variables("auroc2", dim="cell", made_by="measure"))
def measures_report(
    counts: xr.DataArray, measures: xr.Dataset, *, title: str = "Measures", command: str = ""
) -> Report:
    """Report of the measures of a table.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table with dim cell.
    measures : Dataset
        What `measure` gave for it, with `fit_mle`'s meta_d and m_ratio beside or not; or what
        `resample_interval` made of that.
    title : str, optional
        Of the page.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If `measures` has other cells than `counts`.
    """
    refuse_no_counts(counts)
    if not np.array_equal(measures["cell"], counts["cell"]):
        raise InputError("measures", "other cells than counts", "the measures of these counts")
    frame = estimate_table(measures).assign(trials=trials_of(counts))
    tables = [
        table for title, shown in groups().items() for table in group_table(frame, title, shown)
    ]
    blocks: list[Block] = [
        Prose("Measures", tuple(remarks(counts, measures))),
        *tables,
        *notice_block(measures),
        *figures(counts, measures),
        Prose("What the numbers mean", tuple([f"To run it again: {command}"] if command else [])),
        meaning_table(measures),
    ]
    meta = (
        ("Trials", f"{int(counts.sum()):,}"),
        ("Cells", f"{counts.sizes['cell']:,}"),
        ("hmetad", version("hmetad")),
    )
    return Report(title, tuple(blocks), meta=meta)


def trials_of(counts: xr.DataArray) -> np.ndarray:
    """Trials of each cell."""
    return counts.sum([dim for dim in counts.dims if dim != "cell"]).to_numpy().astype(int)


def remarks(counts: xr.DataArray, measures: xr.Dataset) -> list[str]:
    """Remarks before the tables: no stimulus, and the kind of intervals."""
    said = [] if "stimulus" in counts.dims else [NO_STIMULUS]
    if "summary" in measures.dims:
        level = in_percent(measures.attrs["ci_prob"])
        kind, draws = measures.attrs["kind"], measures.attrs["n"]
        said.append(f"Intervals: {level}, {kind} of {draws:,} draws, {measures.attrs['method']}.")
    if "correction" in measures.attrs:
        said.append(f"Correction of empty counts: {measures.attrs['correction']}.")
    return said


def groups() -> dict[str, dict[str, Shown]]:
    """Tables of a page by their titles, each with the measures that are read together."""
    found: dict[str, dict[str, Shown]] = {}
    for result in results():
        if result.page:
            found.setdefault(result.title, {})[result.name] = result.page
    return found


def group_table(frame: pd.DataFrame, title: str, shown: Mapping[str, Shown]) -> list[Block]:
    """Table of some of the measures, if there are any."""
    present = [name for name in shown if name in frame]
    if not present:
        return []
    columns = {"cell": "Cell", "trials": "Trials"}
    for name in present:
        columns[name] = heading(name)
        # Intervals of all would make the table too wide; those are in the CSV beside it.
        if shown[name] == "interval":
            sides = [side for side in ("lower", "upper") if f"{name}_{side}" in frame]
            columns |= {f"{name}_{side}": side for side in sides}
    return [table_from_frame(frame, f"{title}.", columns=columns, name=present[0])]


def figures(counts: xr.DataArray, measures: xr.Dataset) -> list[Block]:
    """ROC curves and the information plane, where cells are few enough to be told apart."""
    if counts.sizes["cell"] > MOST_CELLS:
        return []
    areas = at_estimate(measures["auroc2"]).to_numpy()
    cells = counts["cell"].to_numpy()
    said = "; ".join(f"{cell} {area:.3f}" for cell, area in zip(cells, areas, strict=True))
    drawn = [("Type-2 ROC of every cell.", curves.type2_roc(counts), "type2-roc")]
    if "stimulus" in counts.dims:
        drawn.append(
            ("ROC of response and rating together.", curves.type1_roc(counts), "type1-roc")
        )
        plane = curves.information_plane(at_estimate(measures[["info", "accuracy"]]))
        drawn.append(("Information over accuracy, between its bounds.", plane, "plane"))
    alt = f"Area under the type-2 ROC: {said}."
    return [
        Prose("Curves", ()),
        *(Figure(caption, f"{caption} {alt}", ax.figure, name) for caption, ax, name in drawn),
    ]


def at_estimate[Labelled: (xr.DataArray, xr.Dataset)](values: Labelled) -> Labelled:
    """Estimates alone, where there are intervals beside."""
    return values.sel(summary="estimate", drop=True) if "summary" in values.dims else values


def meaning_table(measures: xr.Dataset) -> Block:
    """Name, meaning, units and source of every measure."""
    rows = [
        {
            "Name": str(name),
            "Meaning": values.attrs.get("long_name", ""),
            "Units": values.attrs.get("units", ""),
            "Source": values.attrs.get("source", ""),
        }
        for name, values in measures.data_vars.items()
    ]
    return table_from_frame(pd.DataFrame(rows), "Every measure of the table.", name="meaning")
