"""A figure as files for a manuscript.

matplotlib Axes or Figure and a path → files of several formats.
"""

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, KindError, OutputError, nearest
from hmetad.base.files import write_together

FORMATS = ("pdf", "svg", "png", "eps", "tiff")
# Of pictures in dots, per inch.
DOTS = 300
# Text stays text, in fonts that journals take.
SETTINGS = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}


@check_inputs(skip=("drawn",))
def save(
    drawn: Axes | Figure | Sequence[Axes],
    path: str | Path,
    *,
    formats: Sequence[str] = ("pdf", "svg"),
) -> list[Path]:
    """Write a figure in several formats by one call; all files are written, or none.

    Parameters
    ----------
    drawn : Axes, Figure or sequence of Axes
        What functions of `hmetad.plots` return.
    path : str or Path
        Folder and name without a suffix: ``"figures/m_ratio"``.
    formats : sequence of str, optional
        Of ``"pdf"``, ``"svg"``, ``"png"``, ``"eps"`` and ``"tiff"``. Text stays text in the first
        two; pictures have 300 dots per inch.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If this is no figure, a format is none of these, or the folder does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> ax = Figure().add_subplot()
    >>> with TemporaryDirectory() as folder:
    ...     [file.name for file in save(ax, f"{folder}/m_ratio")]
    ['m_ratio.pdf', 'm_ratio.svg']
    """
    figure = figure_of(drawn)
    for name in formats:
        if name not in FORMATS:
            step = nearest(name, FORMATS)
            raise ChoiceError("formats", repr(name), ", ".join(FORMATS), step)
    stem = Path(path)
    if not stem.parent.is_dir():
        raise OutputError("path", repr(str(path)), "a name in a folder that exists")
    files: dict[Path, bytes] = {}
    with rc_context(SETTINGS):
        for name in formats:
            content = io.BytesIO()
            figure.savefig(content, format=name, dpi=DOTS, bbox_inches="tight")
            files[stem.with_name(f"{stem.name}.{name}")] = content.getvalue()
    write_together(files)
    return list(files)


def figure_of(drawn: object) -> Figure:
    """The figure that axes belong to."""
    first = drawn[0] if isinstance(drawn, Sequence) and drawn else drawn
    figure = first.get_figure(root=True) if isinstance(first, Axes) else first
    if not isinstance(figure, Figure):
        raise KindError("drawn", type(drawn).__name__, "Axes or a Figure of matplotlib")
    return figure
