"""The figure of ranks: lines, band, and what leaves it."""

import numpy as np
import pytest
import xarray as xr

from hmetad import plots
from hmetad.errors import InputError
from hmetad.uniformity import uniformity


def found_of(columns, number=19):
    values = np.stack(list(columns.values()), axis=1)
    found = xr.Dataset({"rank": (("simulation", "parameter"), values)}, attrs={"ranks": number})
    return found.assign_coords(parameter=list(columns))


def legend(ax):
    drawn = ax.get_legend()
    return [] if drawn is None else [text.get_text() for text in drawn.get_texts()]


def test_lines_are_the_distribution_functions_less_that_of_uniform_ranks():
    ax = plots.ranks(found_of({"one": np.array([0, 0, 1, 3])}, number=3))
    line = ax.lines[-1]
    np.testing.assert_allclose(line.get_xdata(), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(line.get_ydata(), [0.5 - 0.25, 0.75 - 0.5, 0.75 - 0.75])


def test_what_leaves_the_band_is_named_and_nothing_else():
    rng = np.random.default_rng(3)
    columns = {"fair": np.arange(200) % 20, "low": rng.integers(0, 14, 200)}
    found = found_of(columns)
    assert legend(plots.ranks(found)) == ["low"]
    assert legend(plots.ranks(found.sel(parameter=["fair"]))) == []


def test_lines_leave_the_band_where_the_p_value_is_small():
    ranks = np.random.default_rng(4).integers(0, 20, (100, 400))
    ranks[:, ::4] = np.minimum(ranks[:, ::4] + 2, 19)
    p = uniformity(ranks, 19)[1]
    for prob in (0.5, 0.9, 0.95):
        # Statistics have few values: where a p-value is next to the level, either may be.
        is_clear = abs(p - (1 - prob)) > 0.02
        found = found_of({str(i): ranks[:, i] for i in np.flatnonzero(is_clear)})
        coloured = [line.get_linewidth() > 1 for line in plots.ranks(found, prob=prob).lines[1:]]
        assert sum(coloured) == (p[is_clear] < 1 - prob).sum()


def test_many_lines_outside_are_coloured_without_names():
    ax = plots.ranks(found_of({str(i): np.zeros(50, int) for i in range(9)}))
    assert legend(ax) == []
    assert len(ax.lines) == 10


def test_wrong_input_is_refused():
    found = found_of({"one": np.arange(20)})
    with pytest.raises(InputError, match="prob: got 95"):
        plots.ranks(found, prob=95)
    with pytest.raises(InputError, match="calibrate_sampler"):
        plots.ranks(found.drop_vars("rank"))
    with pytest.raises(InputError, match="attrs"):
        plots.ranks(found.assign_attrs(ranks="many"))
