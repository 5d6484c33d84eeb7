"""Pictures of the pages, drawn by the package while the site is built.

Known truth → SVG files. Counts are expected counts, so that a picture shows the model and no noise.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import process_picture
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import norm

import hmetad
from hmetad.likelihood.families.meta_d import log_joint_probabilities, meta_criterion_value
from hmetad.plots.panels import name_outer_axes, name_panel, panel_axes
from hmetad.plots.style import BAND, COLORS, INK, LINES, SOFT, dress, reference_line

__all__ = ["draw_all"]

S1, S2 = COLORS[0], COLORS[1]
TRIALS = 1e6


def draw_all(folder: Path) -> None:
    """Write every picture into the folder."""
    drawn = {
        "distributions": distributions(),
        "type2_roc": type2_curves(),
        "accuracy_leaks": accuracy_leaks(),
        "correctness_as_stimulus": correctness_as_stimulus(),
        "kappa_rules": kappa_rules(),
        "processes": process_picture.processes(),
        "model_recovery": model_recovery(folder.parent / "model_recovery.csv"),
        "verdicts": verdicts(),
        "norms": hmetad.plots.norms(0.74, 0.61, 0.88).figure,
        "calibration": calibration(folder.parent / "calibration" / "ranks.npz"),
    }
    for name, figure in drawn.items():
        with rc_context({"svg.hashsalt": name}):
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    (folder / "choosing.svg").write_text(decision_chart(), encoding="utf-8")


def calibration(path: Path) -> Figure:
    """Ranks of every card, a panel each."""
    with np.load(path, allow_pickle=False) as kept:
        draws = int(kept["draws"])
        cards = [name.removesuffix(" band") for name in kept.files if name.endswith(" band")]
        axes = panel_axes(None, len(cards), (2.5, 1.9), share_y=True)
        for ax, card in zip(axes, cards, strict=True):
            draw_ranks(ax, kept[card], kept[f"{card} band"], draws)
            dress(ax)
            name_panel(ax, f"{card}, n = {len(kept[card])}")
        name_outer_axes(axes, "rank, as a proportion", "proportion − expected", share_y=True)
    axes[0].figure.set_dpi(150)
    return axes[0].figure


def draw_ranks(ax: Axes, ranks: NDArray[np.uint8], band: NDArray[np.int64], draws: int) -> None:
    """Distribution functions (a quantity each) less that of uniform ranks, and their band."""
    expected = np.arange(1, draws + 1) / (draws + 1)
    lower, upper = band / len(ranks) - expected
    ax.fill_between(expected, lower, upper, color=BAND, linewidth=0)
    reference_line(ax, 0.0, vertical=False)
    counts = np.array([(ranks <= rank).sum(axis=0) for rank in range(draws)]).T
    is_outside = ((counts < band[0]) | (counts > band[1])).any(axis=1)
    lines = counts / len(ranks) - expected
    # Hundreds of lines that nobody has to distinguish are an image.
    quiet = {"color": INK, "linewidth": 0.6, "alpha": 0.45, "rasterized": True}
    for line in lines[~is_outside]:
        ax.plot(expected, line, **quiet)
    for place, line in enumerate(lines[is_outside]):
        look = {"color": COLORS[1 + place % (len(COLORS) - 1)], "linewidth": 1.1}
        ax.plot(expected, line, linestyle=LINES[place % len(LINES)], **look)


def model_recovery(path: Path) -> Figure:
    """Shares of people whose best model is each, a panel for each number of trials."""
    shares = pd.read_csv(path)
    sizes = shares["trials"].unique()
    figure = Figure(figsize=(9.4, 2.8 * len(sizes)), layout="constrained")
    for ax, trials in zip(figure.subplots(len(sizes)), sizes, strict=True):
        chosen = shares[shares["trials"] == trials].set_index(["generating", "winning"])["people"]
        order = list(dict.fromkeys(chosen.index.get_level_values("generating")))
        table = chosen.to_xarray().sel(generating=order, winning=order)
        hmetad.plots.confusion(table.reindex(generating=order, winning=order), ax=ax)
        name_panel(ax, f"{trials} trials per participant")
    return figure


def expected_counts(
    dprime: float, m_ratio: float, *, c: float = 0.0, rule: str = "relative", gap: float = 0.5
) -> xr.DataArray:
    """Count table that the model expects of a million trials a stimulus, four ratings."""
    kappa = meta_criterion_value(np.array(c), np.array(m_ratio), rule)
    gaps = np.full((2, 3), gap)
    log_p = log_joint_probabilities(
        np.array(dprime), np.array(c), np.array([m_ratio * dprime]), kappa[None], gaps
    )
    p = np.exp(log_p)
    n = np.round(TRIALS * p).astype(int)
    vectors = [np.concatenate([row[0, ::-1], row[1]]) for row in n]
    return hmetad.from_nr(*vectors)


def distributions() -> Figure:
    """Evidence as responses use it, and as confidence behaves."""
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    evidence(above, 1.8, "d′ = 1.8: evidence of the responses")
    evidence(below, 1.08, "meta-d′ = 1.08: implied by the confidence")
    for criterion in (-1.1, -0.55, 0.55, 1.1):
        below.axvline(criterion, ymax=0.62, color=SOFT, linewidth=0.9, linestyle=(0, (3, 2)))
    for place, number in zip((-1.5, -0.82, -0.27, 0.27, 0.82, 1.5), "321123", strict=True):
        below.text(place, 0.012, number, ha="center", fontsize=9, color=INK)
    below.text(-3.9, 0.05, "rating", fontsize=9, color=SOFT)
    below.set_xlabel("evidence (standard deviations)")
    return figure


def evidence(ax: Axes, distance: float, title: str) -> None:
    """Two normal distributions that far apart, and the criterion between the responses."""
    x = np.linspace(-4, 4, 401)
    for mean, color, name in ((-distance / 2, S1, "S1"), (distance / 2, S2, "S2")):
        y = norm.pdf(x, mean)
        ax.plot(x, y, color=color)
        ax.fill_between(x, y, color=color, alpha=0.12)
        ax.text(mean + np.sign(mean) * 1.25, 0.24, name, color=color, ha="center")
    ax.axvline(0, color=INK, linewidth=1.2)
    ax.annotate("", (-distance / 2, 0.425), (distance / 2, 0.425), arrowprops={"arrowstyle": "<->"})
    ax.set(ylim=(0, 0.47), yticks=[], title=title)
    dress(ax)
    ax.spines["left"].set_visible(False)


def type2_curves() -> Figure:
    """Type-2 ROC of three observers of the same d′."""
    ratios = {"M = 1.2": 1.2, "M = 1": 1.0, "M = 0.6": 0.6, "M = 0.2": 0.2}
    tables = [expected_counts(1.5, m).assign_coords(cell=[name]) for name, m in ratios.items()]
    return hmetad.plots.type2_roc(xr.concat(tables, "cell", combine_attrs="drop")).figure


def accuracy_leaks() -> Figure:
    """AUROC2 and meta-d′ rise with d′ while M stays."""
    figure = Figure(figsize=(6.4, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    dprimes = np.linspace(0.5, 3.5, 13)
    for place, m in enumerate((1.0, 0.6)):
        tables = [expected_counts(d, m) for d in dprimes]
        area = [hmetad.measures.auroc2(table).item() for table in tables]
        ratio = [hmetad.fit_mle(table)["m_ratio"].item() for table in tables]
        look = {"color": COLORS[place], "marker": "os"[place], "markersize": 3.5}
        left.plot(dprimes, area, label=f"M = {m:g}", **look)
        right.plot(dprimes, ratio, label=f"M = {m:g}", **look)
    left.set(xlabel="d′", ylabel="AUROC2", ylim=(0.5, 1))
    right.set(xlabel="d′", ylabel="M-ratio", ylim=(0, 1.3))
    for ax in (left, right):
        dress(ax, grid="y")
    left.legend(loc="upper left", frameon=False, fontsize=9)
    return figure


def correctness_as_stimulus() -> Figure:
    """True M against M of correctness in the place of the stimulus."""
    figure = Figure(figsize=(4.4, 3.6), layout="constrained")
    ax = figure.subplots()
    truth = np.linspace(0.2, 1.4, 13)
    tables = [expected_counts(1.5, m) for m in truth]
    said = "M-ratio near 1 by construction"
    recoded = [
        hmetad.counts.as_detection(hmetad.counts.type2_counts(t), acknowledge=said) for t in tables
    ]
    series: dict[str, list[xr.DataArray]] = {"true stimulus": tables, "correctness": recoded}
    for place, (name, several) in enumerate(series.items()):
        fitted = [hmetad.fit_mle(table)["m_ratio"].item() for table in several]
        ax.plot(truth, fitted, color=COLORS[place], marker="os"[place], markersize=4, label=name)
    ax.set(xlabel="true M-ratio", ylabel="M-ratio of the fit", ylim=(0, 1.6))
    dress(ax, grid="y")
    ax.legend(loc="lower right", frameon=False, fontsize=9, title="as the stimulus")
    return figure


def kappa_rules() -> Figure:
    """M of either rule, where data follow the other."""
    figure = Figure(figsize=(4.4, 3.3), layout="constrained")
    ax = figure.subplots()
    criteria = np.linspace(-1, 1, 21)
    pairs = (("relative", "absolute"), ("absolute", "relative"))
    for place, (true, fitted) in enumerate(pairs):
        tables = [expected_counts(1.5, 0.6, c=c, rule=true) for c in criteria]
        ratio = [hmetad.fit_mle(t, meta_criterion=fitted)["m_ratio"].item() for t in tables]
        label = f"data {true}, fit {fitted}"
        ax.plot(
            criteria, ratio, color=COLORS[place], marker="os"[place], markersize=3.5, label=label
        )
    reference_line(ax, 0.6, vertical=False)
    ax.set(xlabel="c", ylabel="M-ratio", title="true M = 0.6, d′ = 1.5")
    dress(ax, grid="y")
    ax.legend(frameon=False, fontsize=9)
    return figure


def verdicts() -> Figure:
    """One interval for each word."""
    quantiles: NDArray[np.float64] = norm.ppf((np.arange(4000) + 0.5) / 4000)
    draws = np.random.default_rng(1).permuted(np.tile(quantiles, (4, 1)), axis=1)[..., :1000]
    means = np.array([0.30, 0.14, 0.13, 0.01])
    sds = np.array([0.06, 0.05, 0.14, 0.03])
    values = xr.DataArray(
        means + sds * draws[..., None],
        dims=("chain", "draw", "cell"),
        coords={"cell": ["A − B", "A − C", "A − D", "A − E"]},
        name="log_m",
    )
    return hmetad.plots.decisions(hmetad.decide(values, rope=(-0.1, 0.1))).figure


QUESTIONS = (
    (
        ("Is there a stimulus with two", "alternatives on every trial?"),
        "no",
        ("count_correct", "no d′ and no M-ratio"),
    ),
    (
        ("Observers as a sample of a", "population?"),
        "no",
        ("individual", "each cell separately"),
    ),
    (
        ("Groups of observers, or a", "covariate such as age?"),
        "yes",
        ("group", "groups= or predictors="),
    ),
    (
        ("The same observers in several", "conditions?"),
        "yes",
        ("group", "conditions="),
    ),
    (
        ("Tasks whose log M correlates", "over observers?"),
        "yes",
        ("group", "correlated="),
    ),
    (("The same items for all", "observers?"), "yes", ("crossed_items", "observers × items")),
    (
        ("One stimulus more variable (old,", "new), or one response of interest?"),
        "yes",
        ("unequal_variance", "response_conditional"),
    ),
    (
        ("Comparison with a published", "HMeta-d analysis?"),
        "yes",
        ("hmetad_group", "hmetad_single"),
    ),
)


def decision_chart() -> str:
    """Questions from above, the card that ends each at the side."""
    step, height, last = 74, 48, ("group", "no further option")
    tall = len(QUESTIONS) * step + height + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 {tall}" width="480" '
        'font-family="sans-serif" font-size="13" role="img">',
        f'<rect width="480" height="{tall}" fill="#fff"/>',
    ]
    for place, (question, aside, answer) in enumerate(QUESTIONS):
        top = 10 + place * step
        onward = {"no": "yes", "yes": "no"}[aside]
        parts += box(8, top, 240, height, question, "#f4f6f8", SOFT)
        parts += box(308, top, 164, height, answer, "#e3eff7", S1, strong=True)
        parts += arrow((248, top + 24), (306, top + 24), aside)
        parts += arrow((128, top + height), (128, top + step - 2), onward)
    parts += box(8, 10 + len(QUESTIONS) * step, 240, height, last, "#e3eff7", S1, strong=True)
    return "\n".join([*parts, "</svg>"])


def box(
    x: float, y: float, wide: float, high: float, lines: tuple[str, str], fill: str, edge: str,
    *, strong: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Rounded box with two lines; the first is a name where `strong`."""
    yield (
        f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="6" fill="{fill}" '
        f'stroke="{edge}"/>'
    )
    for number, line in enumerate(lines):
        is_name = strong and " " not in line
        font = ' font-family="monospace" font-weight="bold"' if is_name else ""
        yield (
            f'<text x="{x + wide / 2}" y="{y + 20 + 18 * number}" text-anchor="middle" '
            f'fill="{INK}"{font}>{escape(line)}</text>'
        )


def arrow(start: tuple[float, float], end: tuple[float, float], word: str) -> Iterator[str]:
    """Arrow with a word beside it."""
    (x0, y0), (x1, y1) = start, end
    is_level = y0 == y1
    head = f"{x1 - 7},{y1 - 4} {x1},{y1} {x1 - 7},{y1 + 4}"
    if not is_level:
        head = f"{x1 - 4},{y1 - 7} {x1},{y1} {x1 + 4},{y1 - 7}"
    yield f'<path d="M{x0},{y0} L{x1},{y1}" stroke="{SOFT}"/>'
    yield f'<polygon points="{head}" fill="{SOFT}"/>'
    x, y = ((x0 + x1) / 2 - 3, y0 - 5) if is_level else (x0 + 16, (y0 + y1) / 2 + 4)
    yield f'<text x="{x}" y="{y}" text-anchor="middle" fill="{SOFT}">{word}</text>'
