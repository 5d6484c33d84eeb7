"""Every plot of a fixed input looks like its picture in `baseline/`.

After a wanted change of a plot make the pictures again, look at them, and commit them:

    uv run python tests/plots/test_images.py
"""

import io
import sys
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib import font_manager, rc_context, rcParamsDefault
from matplotlib.testing.compare import compare_images
from PIL import Image

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
from plots.drawn import PLOTS, PROCESSES, plot

from hmetad import plots

BASELINE = Path(__file__).parent / "baseline"
DPI = 50
# Root mean square over all levels (0 to 255). The same matplotlib with the FreeType in it
# gives 0 on one machine; rounding on another moves no edge by a visible part of a pixel. One letter
# more on an axis gives 2.9, a reference line that is moved by 0.05 gives 3.9.
TOLERANCE = 1.0
# Of another version text has another width, and with it the axes another place.
DRAWN_BY = "3.11."
FONT = "hmetad pictures"
NAMES = ("DeepSeek", "GPT", "Mistral", "B: oral or written")


def one_of(name):
    return plot(name, NAMES[:1])


def ordered_people():
    """Nine people with their population and separate estimates, one of them far away."""
    rng = np.random.default_rng(3)
    centres = np.linspace(0.5, 1.3, 9)[rng.permutation(9)]
    coords = {"cell": [f"s{place}" for place in range(1, 10)]}
    dims = ("chain", "draw", "cell")
    draws = xr.DataArray(rng.normal(centres, 0.12, (2, 400, 9)), coords, dims, "m_ratio")
    alone = xr.DataArray([*(1.4 * centres[:-1] - 0.35), 9.0], coords, "cell")
    return plots.people(draws, population=draws.mean("cell"), separate=alone, reference=1)


def correlated():
    """Correlations of three tasks, of which one is near 1."""
    z = np.random.default_rng(4).normal([0.2, 2.2, -0.6], 0.3, (2, 300, 3))
    values = np.zeros((2, 300, 3, 3)) + np.eye(3)
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        values[:, :, i, j] = values[:, :, j, i] = np.tanh(z[..., k])
    own = {"effect": ["memory", "vision", "1"], "effect_bis": ["memory", "vision", "1"]}
    return plots.correlations(xr.DataArray(values, own, ("chain", "draw", *own)))


PICTURES = {name: partial(plot, name, NAMES, missing=name == "forest") for name in PLOTS}
PICTURES |= {name: partial(drawn, NAMES[:2]) for name, drawn in PROCESSES.items()}
PICTURES |= {f"{x}_of_one": partial(one_of, x) for x in ("calibration", "type2_roc", "type1_roc")}
PICTURES |= {"people": ordered_people, "correlations": correlated}
PICTURES |= {"norms": partial(plots.norms, 0.74, 0.61, 0.88, domain="memory")}


def save_picture(name, path):
    """Draw with matplotlib's own DejaVu Sans, by a name that no installed font has."""
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    for file, weight in (("DejaVuSans.ttf", 400), ("DejaVuSans-Bold.ttf", 700)):
        entry = font_manager.FontEntry(fname=str(folder / file), name=FONT, weight=weight)
        if entry not in font_manager.fontManager.ttflist:
            font_manager.fontManager.ttflist.append(entry)
    settings = {k: v for k, v in rcParamsDefault.items() if not k.startswith("backend")}
    with rc_context({**settings, "font.family": FONT, "text.hinting": "none"}):
        content = io.BytesIO()
        PICTURES[name]().figure.savefig(content, dpi=DPI)
    Image.open(content).convert("RGB").save(path, optimize=True)


@pytest.mark.skipif(
    not mpl.__version__.startswith(DRAWN_BY), reason=f"pictures are of matplotlib {DRAWN_BY}x"
)
@pytest.mark.parametrize("name", PICTURES)
def test_plot_looks_like_its_picture(name, tmp_path):
    save_picture(name, tmp_path / f"{name}.png")
    expected = BASELINE / f"{name}.png"
    difference = compare_images(str(expected), str(tmp_path / f"{name}.png"), TOLERANCE)
    assert difference is None, difference


def test_every_public_plot_has_a_small_picture_and_no_other_file_is_there():
    missing = [x for x in plots.__all__ if not any(name.startswith(x) for name in PICTURES)]
    assert missing == ["save"]
    files = sorted(BASELINE.iterdir())
    assert [file.stem for file in files] == sorted(PICTURES)
    assert max(file.stat().st_size for file in files) < 30_000


if __name__ == "__main__":
    for picture in PICTURES:
        save_picture(picture, BASELINE / f"{picture}.png")
