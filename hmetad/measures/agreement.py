"""Split-half reliability: do measures of people come back in the other half of their trials.

Count table (cell, stimulus, response, rating) and a statistic → Dataset (group, quantity).
Source: Spearman (1910); Brown (1910).
"""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, seed_or_none, whole
from hmetad.base.errors import ChoiceError, EmptyError, NumberError, ShapeError, nearest
from hmetad.base.notice import first_few, notice_of, notices, with_notices
from hmetad.base.results import names_of
from hmetad.counts.checks import table_dims
from hmetad.counts.resample import as_dataset, cell_columns
from hmetad.measures.results import described

type Floats = NDArray[np.float64]
type Statistic = Callable[[xr.DataArray], xr.Dataset | xr.DataArray]

# People whose correlation is worth a number, and draws of people for its interval.
FEWEST, BOOTSTRAPS = 4, 2000


@check_inputs(
    skip=("counts", "statistic"),
    n=whole(1),
    goal=probability,
    ci_prob=probability,
    seed=seed_or_none,
)
def split_half(
    counts: xr.DataArray,
    statistic: Statistic,
    *,
    subject: str = "subject",
    n: int = 100,
    goal: float = 0.8,
    ci_prob: float = 0.95,
    seed: int | None = None,
) -> xr.Dataset:
    r"""Split-half reliability of measures over participants, by random halves of their trials.

    Parameters
    ----------
    counts : DataArray
        Count table (cell, stimulus, response, rating), or type-2 table (cell, correct, rating), of
        integers.
    statistic : callable
        Count table → Dataset or named DataArray. It receives tables with dims (cell, draw, ...) and
        keeps both, as for `hmetad.resample`: `measure`, `fit_mle`, `auroc2`.
    subject : str, optional
        Coordinate with the participants. Participants are correlated separately in each combination
        of the other coordinates of the cells, such as tasks.
    n : int, optional
        Number of random splits.
    goal : float, optional
        Reliability for which `trials_needed` are computed.
    ci_prob : float, optional
        Probability of the intervals.
    seed : int, optional
        Seed of splits and intervals.

    Returns
    -------
    Dataset
        Dims (group, quantity), group is the combination of the other coordinates ("all" without
        any): ``correlation`` between halves, the mean over splits; ``reliability`` for all trials,
        with ``reliability_lower`` and ``reliability_upper``; ``trials_needed`` of a participant for
        the goal; and ``people``, the number of participants with a defined measure in both halves,
        on average over splits. NaN for fewer than four, trials also if r ≤ 0. The notice
        ``"negative-reliability"`` names measures with a reliability that is not clearly above 0.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, has non-integer counts or no such coordinate, or
        the statistic drops a dim.

    Notes
    -----
    A split draws half of the trials of each stimulus (of each correctness in a type-2 table)
    without replacement; of an odd number, one half gets one more. With r the mean correlation over
    splits, the reliability of all trials is that of a test twice as long (Spearman 1910; Brown
    1910):

    .. math:: \rho = \frac{2r}{1 + r}

    and T trials per participant would have to be :math:`T\,g(1 - \rho)/(\rho(1 - g))` for a
    reliability of g, the goal: the same formula for a test of any length.

    The interval is from a bootstrap of participants: ρ ± z times its standard deviation, on the
    scale of Fisher's z of r. For M of a population, a `multitask` model of two halves or sessions
    estimates the correlation without the error of the halves.

    Examples
    --------
    >>> from hmetad.measures.sdt import sdt
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> d = np.random.default_rng(1).normal(1.5, 0.5, 200)
    >>> counts = simulate_counts(d, trials=400, coords={"subject": range(200)}, seed=1)
    >>> found = split_half(counts, sdt, n=20, seed=1)
    >>> found["reliability"].sel(group="all", quantity="dprime").round(2).item()
    0.92
    """
    dims = table_dims(counts, "split_half")
    if set(counts.dims) != {"cell", *dims}:
        raise ShapeError("counts", f"dims {counts.dims}", f"(cell, {', '.join(dims)})")
    table = counts.transpose("cell", *dims)
    groups = groups_of(table, subject)
    values = table.to_numpy()
    if (values < 0).any() or not (values == np.floor(values)).all():
        raise NumberError("counts", "counts that are no whole numbers", "trials")
    rng = np.random.default_rng(seed)
    first = halves(values.astype(np.int64), n, rng)
    sides = [
        named_values(statistic, table, drawn)
        for drawn in (first, values[:, None].astype(np.int64) - first)
    ]
    found = {name: np.full((len(groups), len(sides[0])), np.nan) for name in names_of("split_half")}
    for row, cells in enumerate(groups.values()):
        weights = rng.multinomial(len(cells), np.full(len(cells), 1 / len(cells)), BOOTSTRAPS)
        trials = values[cells].sum() / len(cells)
        for column, name in enumerate(sides[0]):
            x, y = (side[name][cells] for side in sides)
            for key, value in halves_agree(x, y, weights, ci_prob).items():
                found[key][row, column] = value
        # By the Spearman-Brown formula.
        whole = np.where(found["reliability"][row] > 0, found["reliability"][row], np.nan)
        found["trials_needed"][row] = trials * goal * (1 - whole) / (whole * (1 - goal))
    coords = {"group": list(groups), "quantity": list(sides[0])}
    like = xr.DataArray(found["people"], coords, ["group", "quantity"])
    result = described(like, found, "split_half")
    result.attrs = {"n": int(n), "goal": goal, "ci_prob": ci_prob}
    is_open = (result["reliability_lower"] <= 0).any("group")
    open_ones = map(str, result["quantity"].to_numpy()[is_open.to_numpy()])
    names = first_few((x for x in open_ones if x[-3:] != "_se" and x[:4] != "cov_"), ", ")
    said = [notice_of("negative-reliability", names=names)] if names else []
    return with_notices(result, [*notices(counts), *said])


def groups_of(table: xr.DataArray, subject: str) -> dict[str, NDArray[np.intp]]:
    """Places of the cells of people to be correlated, by the other coordinates of the cells."""
    own = cell_columns(table)
    if subject not in own:
        step = nearest(subject, own) or "Count by it: by=['subject']."
        raise ChoiceError("subject", repr(subject), "a coordinate of the cells", step)
    covariates = json.loads(table.attrs.get("covariates", "[]"))
    named = [name for name in own if name not in (subject, *covariates)]
    others = pd.DataFrame({name: table[name].to_numpy() for name in named})
    if others.empty:
        return {"all": np.arange(table.sizes["cell"])}
    labels = others.astype(str).agg(" | ".join, axis=1)
    return {str(label): np.flatnonzero(labels == label) for label in labels.unique()}


def halves(values: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Half of the trials of each stimulus, n times, without replacement: (cell, draw, ...)."""
    drawn = np.empty((len(values), n, *values.shape[1:]), dtype=np.int64)
    for cell, by_side in enumerate(values):
        for side, outcomes in enumerate(by_side):
            total = int(outcomes.sum())
            # The larger half goes to either side, split by split.
            sizes = total // 2 + (total % 2) * rng.integers(0, 2, n)
            for size in np.unique(sizes):
                at = np.flatnonzero(sizes == size)
                own = rng.multivariate_hypergeometric(
                    outcomes.ravel(), int(size), size=len(at), method="marginals"
                )
                drawn[cell, at, side] = own.reshape(len(at), *outcomes.shape)
    return drawn


def named_values(
    statistic: Statistic, table: xr.DataArray, drawn: NDArray[np.int64]
) -> dict[str, Floats]:
    """Values of a statistic by name, (cell, draw); only numbers that a cell has once."""
    tables = xr.DataArray(drawn, table.coords, ("cell", "draw", *table.dims[1:]), "counts")
    result = as_dataset(statistic(tables))
    found = {
        str(name): values.transpose("cell", "draw").to_numpy().astype(float)
        for name, values in result.data_vars.items()
        if {*values.dims} == {"cell", "draw"} and values.dtype.kind == "f"
    }
    if not found:
        allowed = "a function of a table that keeps its dims cell and draw"
        raise EmptyError("statistic", "nothing by cell and draw", allowed)
    return found


def halves_agree(
    x: Floats, y: Floats, weights: NDArray[np.int64], ci_prob: float
) -> dict[str, float]:
    """People with a value in both halves; of enough, mean correlation and reliability of all."""
    people = (np.isfinite(x) & np.isfinite(y)).sum(axis=0).mean()
    if people < FEWEST:
        return {"people": people}
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.nanmean(correlations(x, y, np.ones((1, len(x)))), axis=1)[0]
        drawn = np.arctanh(np.nanmean(correlations(x, y, weights.astype(float)), axis=1))
        # The bootstrap's error is that of n people; Fisher's z has that of n - 3.
        error = -ndtri((1 - ci_prob) / 2) * np.std(drawn[np.isfinite(drawn)])
        error *= np.sqrt(len(x) / (len(x) - 3))
        ends = np.tanh(np.arctanh(r) + error * np.array([0.0, -1.0, 1.0]))
        whole, lower, upper = 2 * ends / (1 + ends)
    return {
        "people": people,
        "correlation": r,
        "reliability": whole,
        "reliability_lower": lower,
        "reliability_upper": upper,
    }


def correlations(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted correlations over people: (people, n), (draws, people) → (draws, n)."""
    is_known = np.isfinite(x) & np.isfinite(y)
    # Near 0, so that sums of squares keep their digits.
    x, y = (np.where(is_known, v - np.nanmean(v), 0.0) for v in (x, y))
    n, sx, sy = weights @ is_known, weights @ x, weights @ y
    xx, yy, xy = weights @ x**2, weights @ y**2, weights @ (x * y)
    return (xy - sx * sy / n) / np.sqrt((xx - sx**2 / n) * (yy - sy**2 / n))
