"""People in order, and figures saved in several formats."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from hmetad import InputError
from hmetad.plots import people, save

CENTRES = np.array([0.9, 0.4, 0.7])


@pytest.fixture
def draws():
    values = np.random.default_rng(1).normal(CENTRES, 0.05, (2, 400, 3))
    coords = {"cell": ["a", "b", "c"]}
    return xr.DataArray(values, dims=("chain", "draw", "cell"), coords=coords, name="m_ratio")


def markers(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xdata(), line.get_ydata()


def test_people_stand_in_the_order_of_their_means(draws):
    ax = people(draws)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["b", "c", "a"]
    x, y = markers(ax, "posterior")
    assert x.tolist() == [0, 1, 2]
    np.testing.assert_allclose(y, np.sort(draws.mean(["chain", "draw"])))
    assert ax.get_ylabel() == "M-ratio"


def test_separate_estimates_stand_at_their_person_and_far_ones_at_the_edge(draws):
    separate = xr.DataArray([0.95, 30.0, 0.6], {"cell": ["a", "b", "c"]}, "cell")
    ax = people(draws, separate=separate)
    x, y = markers(ax, "alone")
    assert dict(zip(x.tolist(), y.tolist(), strict=True)) == {1: 0.6, 2: 0.95}
    assert ax.get_ylim()[1] < 2
    (arrow,) = [line for line in ax.lines if line.get_marker() == "^" and len(line.get_xdata())]
    assert arrow.get_xdata().tolist() == [0]


def test_the_population_is_a_band_with_its_interval(draws):
    population = draws.mean("cell")
    ax = people(draws, population=population, reference=1)
    (band,) = [patch for patch in ax.patches if patch.get_label() == "population"]
    low, high = np.quantile(population, [0.025, 0.975])
    assert band.get_extents().height > 0
    corners = band.get_xy() if hasattr(band, "get_xy") else None
    assert corners is None or low == pytest.approx(np.ravel(corners)[1], abs=1e-9)
    assert high > low


def test_what_cannot_be_drawn_is_refused(draws):
    with pytest.raises(InputError, match="draws"):
        people(draws.mean("chain"))
    with pytest.raises(InputError, match="separate"):
        people(draws, separate=xr.DataArray([1.0], {"cell": ["a"]}, "cell"))
    with pytest.raises(InputError, match="population"):
        people(draws, population=draws)
    empty = people(draws * np.nan)
    assert "nothing to draw" in [text.get_text() for text in empty.texts]


def test_a_figure_is_saved_in_all_formats_or_none(draws, tmp_path):
    ax = people(draws)
    files = save(ax, tmp_path / "m", formats=("pdf", "svg", "png"))
    assert [file.name for file in files] == ["m.pdf", "m.svg", "m.png"]
    assert files[0].read_bytes().startswith(b"%PDF")
    # Text stays text.
    assert "M-ratio" in files[1].read_text(encoding="utf-8")
    assert save(ax.figure, tmp_path / "n", formats=["pdf"])[0].name == "n.pdf"
    assert save([ax], tmp_path / "o.v2")[0].name == "o.v2.pdf"
    with pytest.raises(InputError, match="formats: got 'jpg'"):
        save(ax, tmp_path / "x", formats=("pdf", "jpg"))
    with pytest.raises(InputError, match="folder that exists"):
        save(ax, tmp_path / "none" / "x")
    with pytest.raises(InputError, match="drawn: got int"):
        save(3, tmp_path / "x")
    assert not list(tmp_path.glob("x*"))
    assert save(Figure(), tmp_path / "empty")[0].exists()
