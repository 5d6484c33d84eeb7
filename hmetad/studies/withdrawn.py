"""The withdrawn analysis of Cacioli (2026): correctness in the place of the stimulus.

Type-2 tables → d′, meta-d′ and M with limits, as in the first version of the paper, and verdicts on
its hypotheses. Path of the deposit → its counts in 20 bins. Known M → M that the analysis gives.
"""

import hashlib
import json
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from hmetad.base.errors import ChoiceError
from hmetad.counts.resample import resample
from hmetad.counts.tables import ACKNOWLEDGEMENT, as_detection, type2_counts
from hmetad.datasets import registry
from hmetad.mle.meta_d import fit_mle
from hmetad.simulate.simulate import simulate_counts
from hmetad.studies.comparison import file_of

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Correction = float | Literal["none", "loglinear"]

NAME, DATA = "cacioli2026", "cacioli2026_calibration"

SAMPLES = 10_000
# Of M, beyond which print leaves an estimate out.
LARGEST = 10.0

# A normal 95 % interval reaches so many standard errors to either side.
Z_95 = float(norm.isf(0.025))
# Of meta-d′ over temperatures.
DELTA = 0.3

# Of the deposit, its file in its folder or in a clone of the repository.
BINS = 20
TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
PLACES = ("roc_data.json", "results/analysis/roc_data.json")
STEP = (
    "It is results/analysis/roc_data.json of github.com/synthiumjp/sdt_calibration: give the file, "
    "its folder or a clone of the repository."
)

# Levels of confidence: so many, so close that ratings by quantile have as many trials.
LEVELS, STEP_OF_LEVELS = 200, 0.016
RATINGS = 4
MANY = 10**9
CURVE_M = np.arange(0.2, 1.61, 0.1)
CURVE_D = (1.0, 1.5, 2.0)


def table_of(values: Integers, **coords: Any) -> xr.DataArray:
    """Type-2 table of counts (cells, 2, ratings), wrong before right, with coordinates of cells."""
    columns = {name: np.asarray(list(column)) for name, column in coords.items()}
    labels = [" | ".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    cells = {name: ("cell", column) for name, column in columns.items()}
    table = xr.DataArray(values, cells | {"cell": labels}, ("cell", "correct", "rating"))
    return type2_counts(table.assign_coords(correct=["wrong", "right"]).rename("counts"))


def withdrawn_counts(table: xr.DataArray, cut: int | None = None) -> xr.DataArray:
    """Count table of the withdrawn analysis, with its notice; `cut` as in `as_detection`."""
    return as_detection(table, acknowledge=ACKNOWLEDGEMENT, cut=cut)


def estimates(counts: xr.DataArray, correction: Correction = 0.5) -> xr.Dataset:
    """Maximum-likelihood d′, meta-d′ and M; M is NaN where print leaves it out as unstable.

    The correction is what is added to every rating, ½ in print.
    """
    fitted = fit_mle(counts, correction=correction)
    names = ["dprime", "meta_d", "meta_d_se", "m_ratio", "m_ratio_se"]
    return fitted[names].assign(m_ratio=fitted["m_ratio"].where(abs(fitted["m_ratio"]) <= LARGEST))


def bootstrap(
    counts: xr.DataArray, correction: Correction = 0.5, *, seed: int
) -> tuple[xr.Dataset, xr.DataArray]:
    """Estimates with the limits of M's 95 % percentile interval, and the draws of M (cell, draw).

    Trials are drawn; the edges of ratings stay.
    """
    statistic = partial(estimates, correction=correction)
    draws = resample(counts, statistic, n=SAMPLES, seed=seed)["m_ratio"]
    limits = draws.quantile([0.025, 0.975], "draw", skipna=True).drop_attrs()
    lower, upper = (limits.isel(quantile=i, drop=True) for i in (0, 1))
    return statistic(counts).assign(lower=lower, upper=upper), draws


def nearest_edges(trials: Integers, ratings: int) -> tuple[list[int], int]:
    """Edges of bins that are nearest to the quantiles of 2K ratings, and the one of the median.

    An edge is how many bins are below it; quantiles with the same nearest edge lose a rating. The
    second number is how many ratings are left below the edge that is nearest to the median.

    Examples
    --------
    >>> nearest_edges(np.array([5, 20, 25, 50]), 2)
    ([2, 3], 2)
    """
    shares = trials.cumsum()[:-1] / trials.sum()
    quantiles = np.arange(1, 2 * ratings) / (2 * ratings)
    nearest = abs(shares - quantiles[:, None]).argmin(axis=1) + 1
    edges = np.unique(nearest).tolist()
    return edges, edges.index(int(nearest[ratings - 1])) + 1


def merge_bins(table: xr.DataArray, edges: list[int]) -> xr.DataArray:
    """Type-2 table of the ratings that the edges leave of the bins.

    Examples
    --------
    >>> bins = xr.DataArray([[5, 4, 3, 1], [1, 2, 5, 9]], dims=["correct", "rating"])
    >>> merge_bins(bins, [1, 3]).values.tolist()
    [[5, 7, 1], [1, 7, 9]]
    """
    values = table.transpose(..., "correct", "rating")
    sums = np.add.reduceat(values.to_numpy(), [0, *edges], axis=-1)
    fewer = values.isel(rating=slice(len(edges) + 1))
    return fewer.copy(data=sums).assign_coords(rating=np.arange(1, len(edges) + 2))


# --- hypotheses -----------------------------------------------------------------------------------


def h1(upper: xr.DataArray) -> xr.DataArray:
    """H1, suboptimal metacognition: whether the interval of M ends below 1."""
    return xr.where(upper < 1, "supported", "not supported")


def h3(found: xr.Dataset) -> xr.Dataset:
    """H3, dissociation by temperature, by the rules of print and by `equivalence`.

    Of dprime, meta_d and meta_d_se by model, temperature: ``range`` of meta-d′ (largest less
    smallest); ``stable``, whether it is below .3, which print calls TOST; Spearman's ``rho_meta_d``
    and ``rho_dprime`` with temperature; ``relative``, whether the first is the nearer to 0;
    ``supported``, whether both rules pass.
    """
    dprime, meta_d = found["dprime"], found["meta_d"]
    span = meta_d.max("temperature", skipna=False) - meta_d.min("temperature", skipna=False)
    rho_meta_d, rho_dprime = spearman(meta_d), spearman(dprime)
    is_stable = span < DELTA
    # Ranks correlate to within rounding: equal is not less.
    is_relative = abs(rho_meta_d) < abs(rho_dprime) - 1e-9
    rules = {
        "range": span,
        "stable": verdict_on(is_stable),
        "rho_meta_d": rho_meta_d,
        "rho_dprime": rho_dprime,
        "relative": verdict_on(is_relative),
        "supported": verdict_on(is_stable & is_relative),
    }
    return equivalence(meta_d, found["meta_d_se"]).assign(rules)


def verdict_on(rule: xr.DataArray) -> xr.DataArray:
    """Verdict on a rule in one word."""
    return xr.where(rule, "passed", "failed")


def spearman(values: xr.DataArray) -> xr.DataArray:
    """Rank correlation with temperature."""
    rank = values.copy(data=rankdata(values, axis=values.get_axis_num("temperature")))
    order = values["temperature"].copy(data=rankdata(values["temperature"]))
    return xr.corr(rank, order.drop_attrs(), "temperature")


def chance_of_relative_rule(temperatures: int = 4) -> float:
    """Probability of the rule |ρ(meta-d′)| < |ρ(d′)| where the orders of both are chance.

    Examples
    --------
    >>> round(chance_of_relative_rule(), 2)
    0.39
    """
    orders = np.array(list(permutations(range(temperatures))))
    rho = abs(np.corrcoef(orders, np.arange(temperatures))[-1, :-1])
    return float((rho[:, None] < rho - 1e-9).mean())


def equivalence(meta_d: xr.DataArray, se: xr.DataArray) -> xr.Dataset:
    """Interval TOST: whether all differences of meta-d′ between temperatures are shown to be small.

    ``reach`` is the end that is farthest from 0 of the 90 % intervals of all pairwise differences,
    taken as independent; ``equivalent``, whether all of them are inside ±.3. Two one-sided tests at
    α = .05 are the 1 − 2α interval inside ±δ. That all pairs pass is an intersection, which needs
    no correction for their number. Temperatures share their questions, and estimates that covary
    differ by less than independent ones: the test is conservative.
    """
    other = {"temperature": "other"}
    difference = abs(meta_d - meta_d.rename(other))
    is_other = difference["temperature"] != difference["other"]
    ends = difference + norm.isf(0.05) * np.hypot(se, se.rename(other))
    reach = ends.where(is_other, 0.0).max(["temperature", "other"], skipna=False).drop_attrs()
    return xr.Dataset({"reach": reach, "equivalent": verdict_on(reach < DELTA)})


def pairwise(found: xr.Dataset) -> pd.DataFrame:
    """H4, hidden structure: M of every two models, by the rule of print and by their difference.

    Of m_ratio, lower and upper by model, a row per pair: left, right, difference, ``overlap`` of
    the two intervals (negative: apart), lower and upper limit of the difference: of bootstrap
    draws, or without them normal, with standard errors from the widths of the intervals.
    """
    models, se = found["model"].to_numpy(), normal_error(found).to_numpy()
    i, j = np.triu_indices(len(models), 1)
    m, low, high = (found[name].to_numpy() for name in ("m_ratio", "lower", "upper"))
    difference = m[i] - m[j]
    if "draws" not in found:
        limits = difference + Z_95 * np.hypot(se[i], se[j]) * np.array([[-1], [1]])
    else:
        drawn = found["draws"].transpose("model", "draw").to_numpy()
        limits = np.nanquantile(drawn[i] - drawn[j], [0.025, 0.975], axis=1)
    names = {"left": models[i], "right": models[j], "difference": difference}
    overlap = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
    return pd.DataFrame({**names, "overlap": overlap, "lower": limits[0], "upper": limits[1]})


def normal_error(found: xr.Dataset) -> xr.DataArray:
    """Standard error of an estimate whose normal 95 % interval has these limits."""
    return (found["upper"] - found["lower"]) / (2 * Z_95)


def ranks(values: xr.Dataset) -> pd.DataFrame:
    """Ranks of the models by each variable, the largest first; equal ones share the better rank."""
    return values.to_dataframe().rank(ascending=False, method="min").astype(np.int64)


# --- the deposit ----------------------------------------------------------------------------------


def read_deposit(data: str | Path) -> xr.DataArray:
    """Type-2 table of the deposited counts of the four models, in 20 bins.

    Raises InputError if there is no such file, or it is another one.
    """
    path = deposited_file(Path(data))
    content, (pinned,) = path.read_bytes(), registry()[DATA]["files"]
    found = hashlib.sha256(content).hexdigest()
    if found != pinned["sha256"]:
        allowed = f"the file with SHA-256 {pinned['sha256']}"
        raise ChoiceError("data", f"{path} with SHA-256 {found}", allowed, STEP)
    published, numbers = json.loads(content), file_of(NAME)
    models, datasets = (
        zip(numbers[what], numbers["deposit"][what], strict=True) for what in ("models", "datasets")
    )
    values, places = [], []
    for (model, key), (dataset, name), t in product(models, datasets, TEMPERATURES):
        cell = published[key][name][str(t)]
        values.append([cell["noise_counts"], cell["signal_counts"]])
        places.append((dataset, model, t))
    dataset, model, temperature = zip(*places, strict=True)
    return table_of(np.array(values), dataset=dataset, model=model, temperature=temperature)


def deposited_file(path: Path) -> Path:
    """File at the path, in that folder, or in that clone of the repository."""
    if path.is_file():
        return path
    for place in PLACES:
        if (path / place).is_file():
            return path / place
    got = f"{path}, a folder without it" if path.is_dir() else f"{path}, which does not exist"
    raise ChoiceError("data", got, "the file roc_data.json", STEP)


# --- known truth ----------------------------------------------------------------------------------


def expected_mapping() -> xr.DataArray:
    """M of the withdrawn analysis of so many trials that sampling error is gone."""
    d, m = np.meshgrid(CURVE_D, CURVE_M, indexing="ij")
    gaps = np.full((2, LEVELS - 1), STEP_OF_LEVELS)
    tables = type2_counts(
        simulate_counts(d.ravel(), 0.0, m.ravel(), trials=MANY, gaps=gaps, seed=0)
    )
    values = []
    for i in range(d.size):
        table = tables.isel(cell=[i])
        edges, cut = nearest_edges(table.sum(["cell", "correct"]).to_numpy(), RATINGS)
        found = estimates(withdrawn_counts(merge_bins(table, edges), cut))
        values.append(found["m_ratio"].item())
    coords = {"dprime": list(CURVE_D), "m_ratio": CURVE_M}
    return xr.DataArray(np.reshape(values, d.shape), coords, ("dprime", "m_ratio"))
