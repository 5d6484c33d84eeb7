"""The figure of winners: a number for each pair of models, and a frame where both are the same."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.patches import Rectangle

from hmetad import InputError, plots

NAMES = {"generating": ["sdt", "wev"], "winning": ["wev", "sdt", "ig"]}
SHARES = xr.DataArray([[0.1, 0.85, 0.05], [np.nan, 0.0, 1.0]], NAMES)


def numbers(ax):
    return {text.get_position(): text.get_text() for text in ax.texts}


def test_numbers_stand_in_their_squares():
    # A column of what wins, a row of where data come from, first on top.
    expected = {(0, 0): "10", (1, 0): "85", (2, 0): "5", (0, 1): "–", (1, 1): "0", (2, 1): "100"}
    for shares in (SHARES, SHARES.T):
        ax = plots.confusion(shares)
        assert numbers(ax) == expected
        assert [x.get_text() for x in ax.get_xticklabels()] == NAMES["winning"]
        assert [y.get_text() for y in ax.get_yticklabels()] == NAMES["generating"]
        assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_squares_of_the_same_model_have_a_frame():
    framed = [p.get_xy() for p in plots.confusion(SHARES).patches if isinstance(p, Rectangle)]
    assert framed == [(0.5, -0.5), (-0.5, 0.5)]


def test_figures_on_dark_squares_are_white():
    colors = {text.get_text(): text.get_color() for text in plots.confusion(SHARES).texts}
    assert colors["85"] == colors["100"] == "white"
    assert colors["10"] == colors["–"] != "white"


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="found\\['people'\\]"):
        plots.confusion(SHARES.expand_dims(criterion_of=["aic"]))
    with pytest.raises(InputError, match="shares: got dict"):
        plots.confusion({"sdt": 1.0})
    with pytest.raises(InputError, match="no names along winning"):
        plots.confusion(SHARES.drop_vars("winning"))
    with pytest.raises(InputError, match="numbers from 0 to 1"):
        plots.confusion(100 * SHARES)
