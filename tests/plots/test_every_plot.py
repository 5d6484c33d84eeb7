"""What holds of every plot: any labels, any number of them, any axes, the same every time."""

import re

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plots.drawn import PLOTS, plot, predicted
from plots.hostile_labels import HOSTILE

from hmetad import plots
from hmetad.base.errors import InputError
from hmetad.plots.style import drawable
from hmetad.report.page.blocks import Figure as Block
from hmetad.report.page.figures import figure_svg
from hmetad.text.escape import shorten

MANY = tuple(f"cell {place}" for place in range(101))
LABELS = (*HOSTILE[:6], "_hidden in legends", "x" * 150 + "子" * 150)
every_plot = pytest.mark.parametrize("name", PLOTS)


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))]


@every_plot
def test_labels_of_any_kind_are_short_text_and_the_same_every_time(name):
    figures = [plot(name, LABELS).figure for _ in range(2)]
    first, second = (figure_svg(Block("F", "F", figure)) for figure in figures)
    assert first == second
    assert not re.search(rb"<(script|img)", first)
    shown = [text.replace("\n", " ") for text in texts(figures[0])]
    for part in (r"\$x_1\$", "hidden", "U+5B50"):
        assert any(part in text for text in shown)
    assert max(len(text) for text in shown) < 130


@every_plot
def test_nothing_is_said_to_be_nothing(name):
    figure = plot(name, ()).figure
    figure.draw_without_rendering()
    assert "nothing to draw" in texts(figure)


@every_plot
def test_what_has_no_value_is_drawn(name):
    for names in (("one",), ("one", "two", "three")):
        plot(name, names, missing=True).figure.draw_without_rendering()


@every_plot
def test_many_are_drawn_or_refused_with_how_many_may_be(name):
    most = PLOTS[name][0]
    assert plot(name, MANY[:most]).figure
    if most < 100:
        with pytest.raises(InputError, match=f"at most {most}"):
            plot(name, MANY)


@every_plot
def test_small_axes_that_are_given_are_drawn_into_without_warning(name):
    figure = Figure(figsize=(3.2, 2.6), layout="constrained")
    ax = figure.add_subplot()
    assert plot(name, ("one",), ax=ax) is ax
    figure.draw_without_rendering()


def test_every_public_plot_is_tested_here_or_by_itself():
    alone = {"save", "norms", "correlations", "people"}
    alone |= {"predicted_ratings", "rating_residuals"}
    assert {x for x in plots.__all__ if not any(y.startswith(x) for y in PLOTS)} == alone


def test_plots_give_axes_on_figures_of_their_own_that_pyplot_does_not_know():
    before = plt.get_fignums()
    axes = [plot(name, ("one",)) for name in PLOTS]
    assert all(isinstance(ax, Axes) and isinstance(ax.figure, Figure) for ax in axes)
    assert len({id(ax.figure) for ax in axes}) == len(PLOTS)
    assert plt.get_fignums() == before
    engine = axes[0].figure.get_layout_engine()
    figure_svg(Block("F", "F", axes[0].figure))
    assert axes[0].figure.get_layout_engine() is engine


def test_labels_are_never_mathematics_have_only_signs_of_the_font_and_lose_their_middle():
    for label in HOSTILE:
        shown = drawable(label, 400)
        assert shown.count("$") == shown.count(r"\$")
        assert "子" not in shown
    assert drawable("d′ − Müller α") == "d′ − Müller α"
    assert [len(drawable("x" * 300)), len(drawable("子" * 300)) <= 40] == [40, True]
    assert shorten("a" * 30 + "b" * 30, 21) == drawable("a" * 30 + "b" * 30, 21)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_legend_beside_axes_that_are_given_stands_clear_of_their_titles(layout):
    figure = Figure(figsize=(9.0, 4.0), layout=layout)
    *given, other = figure.subplots(1, 4)
    names = ("one", "two", "three")
    plots.fit(predicted(names), ax=given)
    figure.draw_without_rendering()
    legend = given[0].get_legend().get_window_extent()
    titles = figure.findobj(lambda artist: getattr(artist, "get_text", str)() in names)
    assert len(titles) == 3
    assert not any(legend.overlaps(title.get_window_extent()) for title in titles)
    assert legend.y1 <= figure.bbox.y1
    assert other.get_legend() is None
