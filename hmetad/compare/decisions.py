"""From draws to verdicts.

Draws (chain, draw, pair or cell) → Decisions. Two answers are kept apart: the statistical one
(does the interval exclude the null?) and the practical one (where does it lie against the
region of practical equivalence?).
Source: Kruschke (2018); Makowski et al. (2019).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, refuse_same_names
from hmetad.compare.columns import COLUMNS, headings, labelled_columns
from hmetad.compare.quantities import (
    SAMPLE_DIMS,
    as_cells,
    both_codes,
    check_not_empty,
    error_flags,
    in_chains,
    joined_codes,
    undefined_notice,
)
from hmetad.compare.summaries import summarise
from hmetad.compare.verdicts import FEWEST_IN_TAIL, answers, unsettled_answers, with_withheld
from hmetad.compare.wording import correction_words, pool_words
from hmetad.errors import InputError, one_line
from hmetad.monte_carlo import has_chains, too_undefined
from hmetad.notice import Notice, notice_of, notices, with_notices
from hmetad.notice_registry import limit

__all__ = [
    "Decisions",
    "IntervalKind",
    "check_arguments",
    "decide",
    "refuse_taken",
]

IntervalKind = Literal["eti", "hdi"]
type Floats = NDArray[np.float64]

# Attrs of a contrast that the decisions on it keep.
CONTRAST_ATTRS = (
    *("quantity", "kind", "over", "within", "matrix"),
    *("pairing", "pairing_rule", "units", "notices", "reference"),
    *("pool", "pool_rule", "pool_weights", "pool_levels"),
)
# Columns that contrasts bring along.
BROUGHT = {"withheld", "pooled", "not_pooled", "left_coverage", "right_coverage"}
MOST_ROWS = 60


@dataclass(frozen=True)
class Decisions:
    """Verdicts on a set of quantities, with the settings and results that they are based on.

    Tables, text and figures render this one object, so that they cannot disagree. It shows itself
    as a short table; `table` has everything, and `hmetad.notices` reads the notices.

    Parameters
    ----------
    results : Dataset
        One dim (pair or cell), with its labels, and a variable for each column of `table` that is
        a number or an answer; the attr long_name says what it is. statistical is False where
        withheld. verdict is "different" (interval entirely outside the ROPE), "negligible"
        (entirely inside), "inconclusive", or "unreliable" (withheld: see `decide`); full_verdict
        the same words by the share of the posterior in the ROPE, below .025 and above .975.
    quantity : str
        What is judged, such as "log_m".
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

        Where there is no verdict, since it is withheld, `statistical` is None: no answer.
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
        shown = short_table(self)
        text = shown.to_string(index=False, float_format="{:.3f}".format, max_rows=MOST_ROWS)
        return "\n".join([headline(self), text, *draws_needed(self)])

    def _repr_html_(self) -> str:
        shown = short_table(self)
        # A label that is cut short may be that of another.
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(index=False, float_format="{:.3f}".format, max_rows=MOST_ROWS)
        below = [f"<p>{escape(line)}</p>" for line in draws_needed(self)]
        return "\n".join([f"<p>{escape(headline(self))}</p>", table, *below])


@check_inputs(skip=("rope",))
def decide(
    draws: xr.DataArray,
    *,
    rope: tuple[float, float],
    null: float = 0.0,
    ci_prob: float = 0.95,
    ci_kind: IntervalKind = "eti",
    comparisons: int = 1,
) -> Decisions:
    """Judge quantities by their posterior draws.

    Parameters
    ----------
    draws : DataArray
        Dims chain, draw and at most one more, such as pair (from `contrast`), cell, or the
        levels of a coefficient. Draws whose attr ``sampling`` is ``"independent"``, as those of
        `resample` and `bayes.fit_estimates`, have no chains to check.
    rope : tuple of float
        Region of practical equivalence, on the scale of the draws. There is no default: what
        is negligible is for the analyst to decide.
    null : float
        Value of "no effect".
    ci_prob : float
        Probability of the interval.
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.
    comparisons : int
        Number of comparisons m: intervals at 1 - (1 - ci_prob)/m (Bonferroni).

    Returns
    -------
    Decisions
        With rhat, ess_tail, and the coordinate withheld: why there is no verdict at all, as codes:
        those of `contrast` or of the fit, ``"undefined"`` (more than 5 % of its draws),
        ``"constant"``, ``"rhat"`` (above 1.01, of the contrast itself; independent draws have
        none) or ``"few-draws"`` (fewer than four a chain). Up to 5 % of undefined draws are left
        out, of that quantity alone; `undefined` is their share, and a notice says so. Where the
        draws are good but not enough of them, `unsettled` names the answers that 2 Monte Carlo
        errors could change; verdict and full_verdict are then "unreliable"; more draws help.
        `notices` reads the notices of the draws, and ``"draws-for-level"`` where there are too few
        for intervals of this probability, with the number that would do.

    Raises
    ------
    InputError
        If an argument is out of range, there are no draws, or they have other dims.

    Notes
    -----
    The error of a bound is that of the quantile it is (for ``"hdi"``, of the quantile at which it
    lies, which is less than its whole error). With fewer than five effective draws beyond a bound,
    as after a strict correction, the bound is taken to lie anywhere further out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draws = xr.DataArray(
    ...     rng.normal(0.3, 0.05, (4, 500, 1)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a"]},
    ... )
    >>> decide(draws, rope=(-0.1, 0.1)).table()[["label", "verdict"]].values.tolist()
    [['a', 'different']]
    """
    check_arguments(rope, null, ci_prob, comparisons)
    if ci_kind not in get_args(IntervalKind):
        raise InputError("ci_kind", repr(ci_kind), "'eti' or 'hdi'")
    if draws.attrs.get("kind") == "superiority":
        step = "The probability of superiority is the mean of these draws."
        raise InputError("draws", "superiority (0 or 1)", "draws of a difference", step)
    draws = with_one_dim(draws)
    dim = judged_dim(draws)
    check_not_empty(draws)
    rows = draws.transpose(dim, *SAMPLE_DIMS).values
    level = 1 - (1 - ci_prob) / comparisons
    found = summarise(
        rows,
        level=level,
        is_hdi=ci_kind == "hdi",
        null=null,
        rope=rope,
        are_chains=has_chains(draws.attrs),
    )
    withheld = reasons(draws, found)
    values = {**found, **judge(found, rope, null, withheld != "")}
    coords = {k: v for k, v in draws.coords.items() if not set(v.dims) & set(SAMPLE_DIMS)}
    refuse_taken(draws)
    results = xr.Dataset(labelled_columns(values, dim), coords)
    said = {k: v for k, v in draws.attrs.items() if k in CONTRAST_ATTRS}
    results = results.assign_coords(withheld=(dim, withheld)).assign_attrs(said)
    labels = draws[dim].values if dim in draws.coords else np.arange(len(withheld))
    said_too = [*undefined_notice(labels, found["undefined"]), *draws_notice(rows, level)]
    results = with_notices(results, [*notices(results), *said_too]) if said_too else results
    return Decisions(results, str(draws.name), rope, null, ci_prob, ci_kind, comparisons)


def draws_notice(rows: Floats, level: float) -> list[Notice]:
    """Notice where an interval has too few draws beyond its ends, and how many would do."""
    draws, outside = rows.shape[1] * rows.shape[2], (1 - level) / 2
    if draws * outside >= FEWEST_IN_TAIL:
        return []
    # Twice as many leave room for draws that are less than independent.
    needed = 1000 * math.ceil(round(2 * FEWEST_IN_TAIL / outside / 1000, 6))
    return [
        notice_of("draws-for-level", level=f"{100 * level:.4g}", draws=draws, needed=f"{needed:,}")
    ]


def refuse_taken(judged: xr.DataArray) -> None:
    """Refuse coordinates with the name of a column: the table would have two of it."""
    # Contrasts have such coordinates; of cells they would be grouping columns.
    brought = set() if "cell" in judged.dims else BROUGHT
    refuse_same_names(judged.coords, {column.name for column in COLUMNS} - brought)


def short_table(decisions: Decisions) -> pd.DataFrame:
    """Columns of the table that are shown by default; reasons where there are any."""
    table = decisions.table()
    shown = table[[*headings(table.to_dict("records"), "terminal")]]
    return shown.map(lambda cell: one_line(cell, None) if isinstance(cell, str) else cell)


def headline(decisions: Decisions) -> str:
    """What is judged, against which region, with which intervals."""
    low, high = decisions.rope
    level = 100 * (1 - (1 - decisions.ci_prob) / decisions.comparisons)
    number = decisions.results["verdict"].size
    parts = (
        f"{number} of {decisions.quantity}",
        f"ROPE {low:g} to {high:g}",
        f"null {decisions.null:g}",
        f"{level:.4g} % intervals ({decisions.ci_kind})",
        correction_words(decisions.comparisons, number),
        pool_words(decisions.attrs),
    )
    return f"Decisions: {'; '.join(filter(None, parts))}"


def draws_needed(decisions: Decisions) -> list[str]:
    """How many draws the intervals need, in a sentence, where there are too few."""
    found = notices(decisions.results)
    return [notice.message for notice in found if notice.code == "draws-for-level"]


def check_arguments(
    rope: tuple[float, float], null: float, ci_prob: float, comparisons: int
) -> None:
    """Refuse a ROPE with its ends swapped, and probabilities and numbers out of range."""
    if not isinstance(rope, Sequence) or len(rope) != 2 or not rope[0] < rope[1]:
        step = "Write both limits, as in rope=(-0.05, 0.05)."
        raise InputError("rope", repr(rope), "(lower, upper) with lower < upper", step)
    if not np.isfinite(null):
        raise InputError("null", str(null), "a finite number")
    if not 0 < ci_prob < 1:
        raise InputError("ci_prob", str(ci_prob), "a probability above 0 and below 1")
    if comparisons < 1 or comparisons != int(comparisons):
        raise InputError("comparisons", str(comparisons), "a whole number of at least 1")


def with_one_dim(draws: xr.DataArray) -> xr.DataArray:
    """Draws of a single number with a dim: its cell, else its name."""
    draws = in_chains(draws)
    if set(draws.dims) != set(SAMPLE_DIMS):
        return draws
    if "cell" in draws.coords:
        return draws.expand_dims("cell")
    return draws.expand_dims(pair=[str(draws.name)])


def judged_dim(draws: xr.DataArray) -> str:
    """The one dim besides chain and draw."""
    others = [str(dim) for dim in draws.dims if dim not in SAMPLE_DIMS]
    if len(others) != 1 or not set(SAMPLE_DIMS) <= set(draws.dims):
        step = "Select one element of the others by .sel()."
        raise InputError("draws", f"dims {draws.dims}", "chain, draw and one more dim", step)
    return others[0]


def reasons(draws: xr.DataArray, found: dict[str, Floats]) -> NDArray[np.str_]:
    """Codes of why there is no verdict on each quantity; empty text where there is one."""
    number = len(found["mean"])
    is_contrast = "withheld" in draws.coords
    fit_says = joined_codes(*error_flags(as_cells(draws))) if not is_contrast else []
    said = draws["withheld"].values.tolist() if is_contrast else fit_says
    with np.errstate(invalid="ignore"):
        drifts = found["rhat"] > limit("rhat")
    is_undefined = too_undefined(found["undefined"])
    is_defined = ~is_undefined & (found["constant"] == 0)
    flags = {
        "undefined": is_undefined,
        "constant": found["constant"] == 1,
        "rhat": drifts & is_defined,
        "few-draws": np.isnan(found["ess_tail"]) & is_defined,
    }
    own = joined_codes(list(flags), np.array(list(flags.values())).reshape(len(flags), number))
    return both_codes(said, own)


def judge(
    found: dict[str, Floats],
    rope: tuple[float, float],
    null: float,
    is_withheld: NDArray[np.bool_],
) -> dict[str, NDArray[Any]]:
    """The answers, those withheld that Monte Carlo error could change, and their names."""
    given = answers(found, rope, null)
    unsure = {k: v & ~is_withheld for k, v in unsettled_answers(found, given, rope, null).items()}
    names = joined_codes(list(unsure), np.array(list(unsure.values())))
    return {**with_withheld(given, is_withheld, unsure), "unsettled": np.array(names, dtype=str)}
