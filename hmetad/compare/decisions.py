"""Decisions: the one record of verdicts that tables, text, figures, pages and gates render.

Results of each quantity, with settings → table by its columns, and short text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.errors import one_line
from hmetad.base.labels import check_same_names
from hmetad.base.notice import notices
from hmetad.compare.words import BROUGHT, COLUMNS, correction_words, headings, setting_words

MOST_ROWS = 60


@dataclass(frozen=True)
class Decisions:
    """Verdicts on a set of quantities, with their settings and results.

    Tables, text and figures render this one object, so they cannot disagree. Its display is a short
    table; `table` has all columns, and `hmetad.notices` returns the notices.

    Parameters
    ----------
    results : Dataset
        One dim (pair or cell), with its labels, and a variable for each column of `table` that is a
        number or an answer; the attr long_name describes it. statistical is False if withheld.
        verdict is "different" (interval entirely outside the ROPE), "negligible" (entirely inside),
        "inconclusive", or "unreliable" (withheld: see `decide`); full_verdict the same words by the
        proportion of the posterior in the ROPE, below .025 and above .975.
    quantity : str
        The quantity of the verdicts, such as "log_m".
    rope : tuple of float
        Region of practical equivalence, on the scale of the quantity.
    null : float
        Null value of the statistical answer.
    ci_prob : float
        Probability of an interval before the correction for several comparisons.
    ci_kind : {"eti", "hdi", "normal"}
        Equal-tailed, highest density, or estimate ± z·SE.
    comparisons : int
        m: intervals have probability 1 - (1 - ci_prob)/m, p-values are multiplied by m.

    Examples
    --------
    >>> import hmetad
    >>> decisions = hmetad.decide_normal([0.3], [0.05], rope=(-0.1, 0.1), labels=["A - B"])
    >>> decisions.ci_kind, decisions.results["verdict"].item()
    ('normal', 'different')
    """

    results: xr.Dataset
    quantity: str
    rope: tuple[float, float]
    null: float
    ci_prob: float
    ci_kind: str
    comparisons: int

    def table(self) -> pd.DataFrame:
        """One row per quantity: label, its coordinates, then the results, and direction.

        direction is "greater" or "less" where the verdict is "different", else empty.

        Coefficients of a column in treatment coding are labelled as differences from its first
        level, as in "on − off".

        If there is no verdict, since it is withheld, `statistical` is None: no answer.
        """
        dim = next(iter(self.results.dims))
        frame = self.results.to_dataframe().reset_index().rename(columns={dim: "label"})
        frame["verdict"] = frame["verdict"].astype(str)
        if "reference" in self.attrs:
            reference = self.attrs["reference"]
            frame["label"] = [f"{label} − {reference}" for label in frame["label"]]
        withheld = self.results.coords["withheld"].values != ""
        if withheld.any():
            answers = zip(frame["statistical"], withheld, strict=True)
            told = [None if is_withheld else answer for answer, is_withheld in answers]
            frame["statistical"] = pd.Series(told, dtype=object)
        results = [str(name) for name in self.results.data_vars]
        frame = frame[[c for c in frame.columns if c not in results] + results]
        sides = np.where(frame["lower"] > self.rope[1], "greater", "less")
        directions = np.where(frame["verdict"] == "different", sides, "")
        frame.insert([*frame.columns].index("verdict") + 1, "direction", directions)
        return frame

    @property
    def attrs(self) -> Mapping[Any, Any]:
        """Attrs of the draws or estimates; `notices` reads the notices in them."""
        return self.results.attrs

    def __repr__(self) -> str:
        headline, shown, below = short_form(self)
        text = shown.to_string(index=False, float_format="{:.3f}".format, max_rows=MOST_ROWS)
        return "\n".join([headline, text, *below])

    def _repr_html_(self) -> str:
        headline, shown, below = short_form(self)
        # A label that is cut short may be that of another.
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(index=False, float_format="{:.3f}".format, max_rows=MOST_ROWS)
        first, *last = (f"<p>{escape(line)}</p>" for line in (headline, *below))
        return "\n".join([first, table, *last])


def short_form(decisions: Decisions) -> tuple[str, pd.DataFrame, list[str]]:
    """What is judged and how; the columns shown by default; and how many draws are needed."""
    low, high = decisions.rope
    level = 100 * (1 - (1 - decisions.ci_prob) / decisions.comparisons)
    number = decisions.results["verdict"].size
    parts = (
        f"{number} of {decisions.quantity}",
        f"ROPE {low:g} to {high:g}",
        f"null {decisions.null:g}",
        f"{level:.4g} % intervals ({decisions.ci_kind})",
        correction_words(decisions.comparisons, number),
        setting_words(decisions.attrs),
    )
    table = decisions.table()
    shown = table[[*headings(table.to_dict("records"), "terminal")]]
    shown = shown.map(lambda cell: one_line(cell, None) if isinstance(cell, str) else cell)
    found = notices(decisions.results)
    below = [notice.message for notice in found if notice.code == "draws-for-level"]
    return f"Decisions: {'; '.join(filter(None, parts))}", shown, below


def labelled_columns(
    found: Mapping[str, Any], judged: xr.DataArray, dim: str
) -> dict[str, tuple[str, Any, dict[str, str]]]:
    """Columns among what was found of what is judged: their dim, values, and what they are.

    Coordinates with the name of a column are refused, but those of contrasts, which bring some
    along; of cells they would be grouping columns.
    """
    brought = set() if "cell" in judged.dims else BROUGHT
    check_same_names(judged.coords, {column.name for column in COLUMNS} - brought)
    return {
        column.name: (dim, found[column.name], {"long_name": column.means})
        for column in COLUMNS
        if column.name in found
    }
