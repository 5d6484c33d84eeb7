"""What holds of every plot: any labels, any number of them, any axes, the same every time."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plots.hostile_labels import HOSTILE, VERDICTS

import hmetad
from hmetad.errors import InputError
from hmetad.plots.style import drawable
from hmetad.report.page.blocks import Figure as Block
from hmetad.report.page.figures import figure_svg
from hmetad.text.escape import shorten

MANY = tuple(f"cell {place}" for place in range(100))
LABELS = (*HOSTILE[:7], "_hidden in legends")


@dataclass(frozen=True)
class SomeDecisions:
    rows: pd.DataFrame
    rope: tuple[float, float] = (-0.05, 0.05)
    null: float = 0.0
    ci_prob: float = 0.95
    ci_kind: str = "eti"
    comparisons: int = 3
    quantity: str = "log_m"

    def table(self):
        return self.rows


def frame_of(names, missing):
    """A row per name with every column that a plot wants; the first has no estimate."""
    middle = np.linspace(-0.5, 0.5, len(names))
    if missing:
        middle[:1] = np.nan
    sides = {"lower": middle - 0.2, "upper": middle + 0.2}
    frame = pd.DataFrame({"label": list(names), "mean": middle, "c": middle, **sides})
    frame["verdict"] = [VERDICTS[place % 4] for place in range(len(names))]
    for name in ("dprime", "meta_d", "m_ratio"):
        frame[name] = middle
    return frame.assign(dprime_lower=frame["lower"], dprime_upper=frame["upper"])


def counts_of(names, missing):
    """A cell per name; the first has no trials."""
    rows = np.tile([36, 24, 17, 20, 10, 12, 9, 2], (max(len(names), 1), 1))
    if missing:
        rows[:1] = 0
    table = hmetad.from_nr(rows, rows[:, ::-1], model=list(names) or ["none"])
    return table.isel(cell=slice(len(names)))


def calibrated(names, missing):
    trials = pd.DataFrame({"correct": [1, 0, 1, 1], "confidence": [0.6, 0.6, 0.9, 0.9]})
    one = hmetad.measures.calibration(trials, bins=2)
    several = one.isel(cell=[0] * len(names)).assign_coords(cell=np.array(names, dtype=str))
    return several.where(several["cell"] != names[0]) if missing and names else several


def predicted(names, missing):
    table = counts_of(names, missing).astype(float)
    roc = hmetad.measures.type2_roc(counts_of(names, missing))
    rates = {f"{name}_mean": roc[name] for name in ("false_alarm_rate", "hit_rate")}
    rates |= {f"hit_rate_{side}": roc["hit_rate"] for side in ("lower", "upper")}
    counts = dict.fromkeys(("counts", "mean", "lower", "upper"), table)
    return xr.Dataset(counts | rates | {n: roc[n] for n in ("false_alarm_rate", "hit_rate")})


def grown(names, missing):
    values = np.tile([0.7, np.nan if missing else 0.8], (len(names), 1))
    return xr.DataArray(values, {"noise": list(names), "size": [1, 3]}, ("noise", "size"))


def ranked(names, missing, ax=None):
    """Ranks that are heaped, so that every line is outside the band."""
    values = np.zeros((1 if missing else 30, len(names)), dtype=int)
    found = xr.Dataset({"rank": (("simulation", "parameter"), values)}, attrs={"ranks": 19})
    names = np.array(names, dtype=str)
    return hmetad.plots.ranks(found.assign_coords(parameter=names), ax=ax)


def confusion(names, missing, ax=None):
    shares = np.full((len(names), len(names)), 0.5)
    if missing:
        shares[:1] = np.nan
    coords = {"generating": np.array(names, dtype=str), "winning": np.array(names, dtype=str)}
    return hmetad.plots.confusion(xr.DataArray(shares, coords), ax=ax)


def criterion(names, missing, ax=None):
    columns = {"x": "label", "hue": "verdict", "panel": None}
    return hmetad.plots.criterion(frame_of(names, missing), ax=ax, **columns)[0]


def by_number(names, missing, ax=None):
    frame = frame_of(names, missing).assign(number=np.arange(len(names)), hue=np.array(names, str))
    return hmetad.plots.by(frame, "mean", x="number", hue="hue", ax=ax)


# The most names that each draws, and the plot of so many.
PLOTS = {
    "forest": (100, lambda n, m, ax=None: hmetad.plots.forest(frame_of(n, m), ax=ax)),
    "decisions": (100, lambda n, m, ax=None: hmetad.plots.decisions(
        SomeDecisions(frame_of(n, m)), ax=ax)),
    "bars": (100, lambda n, m, ax=None: hmetad.plots.sensitivity_bars(
        frame_of(n, m), label="label", ax=ax)),
    "by_name": (100, lambda n, m, ax=None: hmetad.plots.by(
        frame_of(n, m), "mean", x="label", hue=None, ax=ax)),
    "by_number": (16, by_number),
    "confusion": (16, confusion),
    "criterion": (100, criterion),
    "ratings": (16, lambda n, m, ax=None: hmetad.plots.accuracy_by_rating(counts_of(n, m), ax=ax)),
    "calibration": (16, lambda n, m, ax=None: hmetad.plots.calibration(calibrated(n, m), ax=ax)),
    "fit_ratings": (24, lambda n, m, ax=None: hmetad.plots.fit(predicted(n, m), ax=ax)[0]),
    "fit_roc": (24, lambda n, m, ax=None: hmetad.plots.fit(predicted(n, m), kind="roc", ax=ax)[0]),
    "groups": (16, lambda n, m, ax=None: hmetad.plots.group_accuracy(grown(n, m), ax=ax)),
    "plane": (8, lambda n, m, ax=None: hmetad.plots.information_plane(
        hmetad.information.meta_information(counts_of(n, m)), ax=ax)),
    "ranks": (100, ranked),
    "type1_roc": (8, lambda n, m, ax=None: hmetad.plots.type1_roc(counts_of(n, m), ax=ax)),
    "type2_roc": (8, lambda n, m, ax=None: hmetad.plots.type2_roc(counts_of(n, m), ax=ax)),
}  # fmt: skip
every_plot = pytest.mark.parametrize("name", PLOTS)


def plot(name, names, *, missing=False, ax=None):
    return PLOTS[name][1](names, missing, ax=ax)


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))]


def is_drawn(figure):
    """Whether a figure can be laid out and drawn; warnings are errors."""
    figure.draw_without_rendering()
    return True


@every_plot
def test_labels_of_any_kind_are_text(name):
    figure = plot(name, LABELS).figure
    assert is_drawn(figure)
    shown = [text.replace("\n", " ") for text in texts(figure)]
    assert any(r"\$x_1\$" in text for text in shown)
    assert any("U+5B50" in text for text in shown)
    assert any("hidden" in text for text in shown)


@every_plot
def test_labels_that_are_long_are_shortened(name):
    figure = plot(name, ("x" * 300, "子" * 300)).figure
    assert is_drawn(figure)
    assert max(len(text) for text in texts(figure)) < 130


@every_plot
def test_nothing_is_said_to_be_nothing(name):
    figure = plot(name, ()).figure
    assert is_drawn(figure)
    assert "nothing to draw" in texts(figure)


@every_plot
@pytest.mark.parametrize("missing", [False, True])
def test_one_is_drawn_also_where_it_has_no_value(name, missing):
    assert is_drawn(plot(name, ("one",), missing=missing).figure)


@every_plot
def test_one_without_value_among_others_is_drawn(name):
    assert is_drawn(plot(name, ("one", "two", "three"), missing=True).figure)


@every_plot
def test_many_are_drawn_or_refused_with_how_many_may_be(name):
    most = PLOTS[name][0]
    assert plot(name, MANY[:most]).figure
    if most < len(MANY):
        with pytest.raises(InputError, match=f"at most {most}"):
            plot(name, MANY)


@every_plot
def test_every_axis_has_a_name(name):
    ax = plot(name, ("one", "two"))
    is_in_rows = name in ("forest", "decisions")
    has_names_of_columns = name in ("bars", "criterion")
    assert ax.get_ylabel() or is_in_rows
    assert ax.get_xlabel() or name == "forest" or has_names_of_columns


@every_plot
def test_axes_that_are_given_are_drawn_into(name):
    ax = Figure().add_subplot()
    assert plot(name, ("one",), ax=ax) is ax


@every_plot
def test_small_axes_are_drawn_without_warning(name):
    figure = Figure(figsize=(3.2, 2.6), layout="constrained")
    plot(name, ("one",), ax=figure.add_subplot())
    assert is_drawn(figure)


@every_plot
def test_a_figure_is_the_same_every_time(name):
    first, second = (figure_svg(Block("F", "F", plot(name, LABELS).figure)) for _ in range(2))
    assert first == second


def test_a_figure_keeps_its_layout_after_it_is_written():
    figure = plot("forest", ("one",)).figure
    engine = figure.get_layout_engine()
    figure_svg(Block("F", "F", figure))
    assert figure.get_layout_engine() is engine


def test_plots_give_axes_on_a_figure_that_pyplot_does_not_know():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    axes = [plot(name, ("one",)) for name in PLOTS]
    assert all(isinstance(ax, Axes) and isinstance(ax.figure, Figure) for ax in axes)
    assert len({id(ax.figure) for ax in axes}) == len(PLOTS)
    assert plt.get_fignums() == before


def test_plots_leave_their_input_as_it_was():
    frame, table = frame_of(MANY[:4], missing=True), counts_of(MANY[:4], missing=True)
    before = frame.copy(), table.copy(deep=True)
    hmetad.plots.forest(frame, group="verdict")
    hmetad.plots.by(frame, "mean", x="c", hue="label")
    hmetad.plots.criterion(frame, x="label", hue="verdict", panel=None)
    hmetad.plots.accuracy_by_rating(table)
    pd.testing.assert_frame_equal(frame, before[0])
    xr.testing.assert_identical(table, before[1])


def test_label_is_never_mathematics_and_has_only_signs_of_the_font():
    for label in HOSTILE:
        shown = drawable(label, 400)
        assert shown.count("$") == shown.count(r"\$")
        assert "子" not in shown
    assert drawable("d′ − Müller α") == "d′ − Müller α"


def test_long_labels_are_cut_in_the_middle():
    assert len(drawable("x" * 300)) == 40
    assert len(drawable("子" * 300)) <= 40
    assert shorten("a" * 30 + "b" * 30, 21) == drawable("a" * 30 + "b" * 30, 21)


@pytest.mark.parametrize(
    "draw",
    [
        lambda frame: hmetad.plots.forest(frame, label="verdcit"),
        lambda frame: hmetad.plots.by(frame, x="verdcit"),
        lambda frame: hmetad.plots.criterion(frame, x="label", hue="verdcit", panel=None),
        lambda frame: hmetad.plots.sensitivity_bars(frame, label="verdcit"),
    ],
)
def test_missing_column_is_named_and_a_near_one_suggested(draw):
    with pytest.raises(InputError, match=r"'verdcit'.*'verdict'"):
        draw(frame_of(("one",), missing=False))


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_legend_beside_axes_that_are_given_stands_clear_of_their_titles(layout):
    figure = Figure(figsize=(9.0, 4.0), layout=layout)
    *given, other = figure.subplots(1, 4)
    names = ("one", "two", "three")
    hmetad.plots.fit(predicted(names, False), ax=given)
    figure.draw_without_rendering()
    legend = given[0].get_legend().get_window_extent()
    titles = figure.findobj(lambda artist: getattr(artist, "get_text", str)() in names)
    assert len(titles) == 3
    assert not any(legend.overlaps(title.get_window_extent()) for title in titles)
    assert legend.y1 <= figure.bbox.y1
    assert other.get_legend() is None
