"""Figures of the report of Cacioli (2026), and in words what they show.

Study, deposit and simulation → Figure.
"""

from typing import Any

import numpy as np
import xarray as xr

from hmetad.report.page.report import Figure
from hmetad.report.plots.by import plot_by
from hmetad.report.plots.panels import panel_axes, share_legend
from hmetad.report.plots.style import COLORS, INK, LINES, MARKERS, dress, new_axes, put_legend
from hmetad.studies.cacioli2026_deposit import Deposit
from hmetad.studies.cacioli2026_pipeline import ranks
from hmetad.studies.cacioli2026_printed import by_model, printed, tempered
from hmetad.studies.cacioli2026_simulation import TRIALS, Simulation
from hmetad.studies.cacioli2026_tables import revised_at_one

__all__ = [
    "ANALYSES",
    "measures_figure",
    "ranking_figure",
    "simulation_said",
    "temperature_figure",
    "truth_figure",
]

ANALYSES = {
    "real": "by the decision",
    "withdrawn": "correctness as the stimulus (withdrawn)",
}


def ranking_figure() -> Figure:
    """Ranks of the models by three measures, joined by lines."""
    table = by_model("aggregate")
    revised = revised_at_one()
    columns = {
        "AUROC2": table["auroc2"],
        "AUROC2, revised": revised["auroc2"],
        "I₂ʳ, revised": revised["meta_i2r"],
        "M-ratio, withdrawn": table["m_ratio"],
    }
    placed = {name: ranks(values) for name, values in columns.items()}
    ax = new_axes(6.4, 2.9)
    for place, model in enumerate(printed()["models"]):
        up = [placed[name].sel(model=model).item() for name in columns]
        # Equal ranks would hide each other.
        shifted = np.array(up, dtype=float) + (place - 1.5) * 0.05
        ax.plot(range(len(up)), shifted, label=model, linewidth=1.6, **look(place))
    dress(ax, grid="y")
    ax.set(ylabel="rank", yticks=[1, 2, 3, 4], xlim=(-0.3, len(columns) - 0.7))
    ax.set_xticks(range(len(columns)), list(columns))
    ax.invert_yaxis()
    put_legend(ax)
    said = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{model} {placed[name].sel(model=model).item()}" for model in table["model"].data
        )
        for name in columns
    )
    caption = "Ranks of the four models on TriviaQA at T = 1, the largest value first."
    return Figure(caption, f"Ranks. {said}.", ax.figure, name="ranks")


def temperature_figure() -> Figure:
    """d′ and meta-d′ of the withdrawn analysis over temperature; I₂ʳ of the revised one."""
    table = tempered()
    revised = by_model("revised_temperature", "temperature", printed()["temperatures"])
    panels = {
        "d′ (withdrawn)": table["dprime"],
        "meta-d′ (withdrawn)": table["meta_d"],
        "I₂ʳ (revised)": revised["meta_i2r"],
    }
    axes = drawn_over_temperature(panels)
    for ax in axes[:2]:
        ax.set_ylim(0.85, 1.65)
    said = "; ".join(
        f"{model}: d′ {ends(table['dprime'], model)}, meta-d′ {ends(table['meta_d'], model)}, "
        f"I₂ʳ {ends(revised['meta_i2r'], model)}"
        for model in printed()["models"]
    )
    caption = (
        "The printed d′ and meta-d′ (K = 4), and the author's revised I₂ʳ (eight ratings), over "
        "temperature; TriviaQA."
    )
    return Figure(caption, f"From T = 0.3 to 1. {said}.", axes[0].figure, name="temperature")


def measures_figure(deposit: Deposit) -> Figure:
    """AUROC2 and I₂ʳ of the deposited bins over all temperatures."""
    own = deposit.measures.sel(dataset="TriviaQA")
    panels = {
        "accuracy": own["accuracy"],
        "AUROC2": own["auroc2"],
        "I₂ʳ less its null": own["less_null"],
    }
    axes = drawn_over_temperature(panels)
    said = "; ".join(
        f"{model}: AUROC2 {ends(own['auroc2'], model)}, I₂ʳ {ends(own['less_null'], model)}"
        for model in printed()["models"]
    )
    caption = (
        "Measures of the deposited 20 bins over seven temperatures, TriviaQA. Models may not be "
        "compared by their level: the bins lose much of three of them."
    )
    return Figure(caption, f"From T = 0.1 to 2. {said}.", axes[0].figure, name="measures")


def truth_figure(simulation: Simulation) -> Figure:
    """M found over M that is true, by the decision and by the withdrawn analysis."""
    curve = simulation.curve
    ax = new_axes(6.4, 4.0)
    truth = curve["m_ratio"].to_numpy()
    ax.plot(truth, truth, color=INK, linewidth=1.0, linestyle=LINES[1], label="truth")
    for place, d in enumerate(curve["dprime"].to_numpy().tolist()):
        label = f"withdrawn, expected at d′ = {d:g}"
        ax.plot(truth, curve.sel(dprime=d), color=COLORS[1], linestyle=LINES[place], label=label)
    shift = np.linspace(-0.03, 0.03, simulation.truth.sizes["temperature"])
    for place, (name, words) in enumerate(ANALYSES.items()):
        found = getattr(simulation, name)
        for i, t in enumerate(found["temperature"].to_numpy()):
            own = found.sel(temperature=t)
            ax.errorbar(
                simulation.truth["m_ratio"].sel(temperature=t) + shift[i],
                own["m_ratio"],
                [own["m_ratio"] - own["lower"], own["upper"] - own["m_ratio"]],
                fmt=MARKERS[place],
                color=COLORS[place],
                markersize=4,
                linewidth=0.9,
                label=words if i == 0 else None,
            )
    dress(ax, grid="y")
    ax.set(xlabel="true M", ylabel="M found", ylim=(0, 1.65))
    put_legend(ax)
    caption = (
        "Simulated models with a decision between two alternatives: M found, over the truth, with "
        "95 % bootstrap intervals; four temperatures side by side. Lines: what the withdrawn "
        "analysis finds of ever so many trials."
    )
    return Figure(caption, simulation_said(simulation), ax.figure, name="truth")


def simulation_said(simulation: Simulation) -> str:
    """What known truth shows."""
    curve, truth = simulation.curve, simulation.curve["m_ratio"]
    return (
        f"On simulated models whose true M is {float(truth.min()):.1f} to {float(truth.max()):.1f} "
        f"the withdrawn analysis finds, but for sampling error, {float(curve.min()):.2f} to "
        f"{float(curve.max()):.2f}: a little below 1 whatever the truth, and if anything the "
        f"lower the higher it is. Of {simulation.real['m_ratio'].size} intervals of M, of "
        f"{TRIALS:,} trials each, "
        f"{covering(simulation, 'real')} cover the truth by the decision that was made, "
        f"{covering(simulation, 'withdrawn')} by the withdrawn analysis."
    )


def covering(simulation: Simulation, name: str) -> int:
    """How many intervals of M cover the truth."""
    found, truth = getattr(simulation, name), simulation.truth["m_ratio"]
    return int(((found["lower"] <= truth) & (truth <= found["upper"])).sum())


def drawn_over_temperature(panels: dict[str, xr.DataArray]) -> np.ndarray:
    """A panel per measure, in it a line per model."""
    axes = panel_axes(None, len(panels), (2.4, 2.7), margins=(0.2, 0.3))
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        plot_by(values.to_dataset(name=name), name, x="temperature", ax=ax)
        ax.get_legend().remove()
    share_legend(axes)
    return axes


def look(place: int) -> dict[str, Any]:
    """Colour, marker and line of one of several."""
    return {"color": COLORS[place], "marker": MARKERS[place], "linestyle": LINES[place]}


def ends(values: xr.DataArray, model: str) -> str:
    """First and last value of a model."""
    own = values.sel(model=model)
    return f"{own[0].item():.2f} to {own[-1].item():.2f}"
