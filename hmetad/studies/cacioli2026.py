"""Cacioli (2026), "Do LLMs know what they know?", as published before its author withdrew it.

Printed tables, deposited counts where there are any, and seed → the withdrawn analysis and its
hypotheses → what is printed, computed. Correctness stands in it for the stimulus; simulated models
whose truth is known show what M-ratio then says. What the author put in its place is compared too.
Source: arXiv:2603.25112, first version; github.com/synthiumjp/sdt_calibration (MIT).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from hmetad.counts.binning import bin_confidence
from hmetad.counts.correct import count_correct, type2_counts
from hmetad.counts.detection import ACKNOWLEDGEMENT, as_detection
from hmetad.counts.resample import resample
from hmetad.counts.table import count_trials
from hmetad.errors import InputError
from hmetad.measures.information import meta_information
from hmetad.measures.information_bounds import binary_entropy
from hmetad.measures.type2 import auroc2
from hmetad.mle.meta_d import fit_mle
from hmetad.mle.uvsdt import uvsdt
from hmetad.report.page.report import Report
from hmetad.simulate.simulate import simulate_counts, simulate_trials
from hmetad.studies.comparison import by_row, compare_with_print
from hmetad.studies.printed import arrays_of, file_of
from hmetad.studies.report import build_report

__all__ = ["Deposit", "Simulation", "Study", "analyse", "compare", "report"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Correction = float | Literal["none", "loglinear"]
type Scale = float | Literal["estimate"]

NAME = "cacioli2026"
MISTRAL, BASE = "Mistral-Instruct", "Llama-3-Base"
INSTRUCT, GEMMA = "Llama-3-Instruct", "Gemma-2-Instruct"
PASSED, FAILED = "passed", "failed"
HALF_DIGIT = 0.0005

# --- the withdrawn analysis
SAMPLES = 10_000
# Of M, beyond which print leaves an estimate out.
LARGEST = 10.0
# ½ in each of eight ratings is what print adds; here there are four.
QUARTILE_CORRECTION = 1.0
# A normal 95 % interval reaches so many standard errors to either side.
Z_95 = float(norm.isf(0.025))
# Of meta-d′ over temperatures.
DELTA = 0.3

# --- the deposit
BINS = 20
TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
# In the folder of the file, or in a clone of the repository.
PLACES = ("roc_data.json", "results/analysis/roc_data.json")
STEP = (
    "It is results/analysis/roc_data.json of github.com/synthiumjp/sdt_calibration: give the file, "
    "its folder or a clone of the repository."
)

# --- the simulation
TRIALS = 5000
# Name → M and d′ at the lowest temperature; what M is, d′ does not tell.
TRUTH = {"A": (0.4, 2.0), "B": (0.7, 1.8), "C": (1.0, 1.4), "D": (1.2, 1.2)}
BIAS = (0.1, -0.1, 0.2, 0.0)
# Share of d′ that is lost from the lowest to the highest temperature.
LOSS = 0.2
# Levels of confidence: so many, so close that ratings by quantile have as many trials.
LEVELS, STEP_OF_LEVELS = 200, 0.016
RATINGS = (3, 4, 6)
MANY = 10**9
CURVE_M = np.arange(0.2, 1.61, 0.1)
CURVE_D = (1.0, 1.5, 2.0)
ANALYSES = {"real": "by the decision", "withdrawn": "correctness as the stimulus (withdrawn)"}


@dataclass(frozen=True)
class Deposit:
    """The deposited counts and what comes of them."""

    # Type-2 table of 56 cells: model, dataset, temperature.
    tables: xr.DataArray
    # By dataset, model, temperature: accuracy, trials, auroc2; meta_i2r as it is, less_null (less
    # the mean of permutations) and reduced (2θ̂ − θ̄); top, the share of the fullest bin; s, d_a and
    # a_z of the unequal-variance ROC.
    measures: xr.Dataset
    # Of TriviaQA, by model, temperature: what `bootstrap` gives; below, the share of trials
    # below the cut at T = 1; ratings_above, how many ratings the bins leave above it.
    withdrawn: xr.Dataset
    # M at T = 1 by model, variant.
    robustness: xr.DataArray


@dataclass(frozen=True)
class Simulation:
    """Simulated models, with what is true and what two analyses find."""

    # m_ratio, dprime and meta_d by model, temperature.
    truth: xr.Dataset
    # `estimates` by the decision that was made, with limits of M.
    real: xr.Dataset
    # The same with correctness in the place of the stimulus; auroc2.
    withdrawn: xr.Dataset
    # real and withdrawn: M at T = 1 by model, variant.
    robustness: xr.Dataset
    # M of the withdrawn analysis without sampling error, by dprime, m_ratio (the true one).
    curve: xr.DataArray


@dataclass(frozen=True)
class Study:
    """What the printed tables, the deposit and the simulation give."""

    # Withdrawn analysis of the quartiles of Table 5, by dataset, model: `estimates`, limits of M,
    # and draws, its bootstrap.
    quartiles: xr.Dataset
    # None where no path was given.
    deposit: Deposit | None
    simulation: Simulation
    seed: int


def analyse(*, data: str | Path | None = None, seed: int = 1) -> Study:
    """Run the withdrawn analysis on what is printed, what is deposited and what is simulated.

    `data` is the file roc_data.json of the deposit, its folder, or a clone of the repository.
    """
    of_quartiles, of_deposit, of_trials = np.random.SeedSequence(seed).generate_state(3).tolist()
    deposit = None if data is None else analyse_deposit(data, of_deposit)
    counts = withdrawn_counts(quartile_counts())
    found, draws = bootstrap(counts, QUARTILE_CORRECTION, seed=of_quartiles)
    quartiles = cells_as(found.assign(draws=draws), "dataset", "model")
    return Study(quartiles, deposit, analyse_simulation(of_trials), seed)


# --- what is printed, as counts -----------------------------------------------------------------


def quartile_counts() -> xr.DataArray:
    """Right and wrong answers by quartile of confidence at T = 1: Table 5 in whole trials.

    Shares of three digits give the number of right answers of 1,250 or 750 to a trial.
    """
    shares = arrays_of(NAME, "quartiles", "dataset", "model", "quartile")["accuracy"]
    size = arrays_of(NAME, "revised", "dataset", "model")["trials"] // 4
    right = (shares * size).round().astype(np.int64)
    both = xr.concat([size - right, right], "correct").stack(cell=("dataset", "model"))
    coords = {name: both[name].to_numpy() for name in ("dataset", "model")}
    return table_of(both.transpose("cell", "correct", "quartile").to_numpy(), **coords)


def table_of(values: Integers, **coords: Any) -> xr.DataArray:
    """Type-2 table of counts (cells, 2, ratings), wrong before right, with coordinates of cells."""
    columns = {name: np.asarray(list(column)) for name, column in coords.items()}
    labels = [" | ".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    cells = {name: ("cell", column) for name, column in columns.items()}
    table = xr.DataArray(values, cells | {"cell": labels}, ("cell", "correct", "rating"))
    return type2_counts(table.assign_coords(correct=["wrong", "right"]).rename("counts"))


def cells_as[Labelled: (xr.DataArray, xr.Dataset)](values: Labelled, *dims: str) -> Labelled:
    """Values with dims in place of cell, in the order of their coordinates; no cell may lack."""
    # Labels keep their order: models are neither sorted nor renamed.
    order = {dim: pd.unique(values[dim].to_numpy()) for dim in dims}
    index = pd.MultiIndex.from_arrays([values[dim].to_numpy() for dim in dims], names=list(dims))
    bare = values.drop_vars([*{*values.coords} & {*dims, "cell"}])
    shape = [len(labels) for labels in order.values()]
    position = index.get_indexer(pd.MultiIndex.from_product(list(order.values()), names=list(dims)))
    return bare.isel(cell=xr.DataArray(position.reshape(shape), order, dims))


# --- the withdrawn analysis ---------------------------------------------------------------------


def withdrawn_counts(table: xr.DataArray, cut: int | None = None) -> xr.DataArray:
    """Count table of the withdrawn analysis, with its notice; `cut` as in `as_detection`."""
    return as_detection(table, acknowledge=ACKNOWLEDGEMENT, cut=cut)


def estimates(counts: xr.DataArray, correction: Correction = 0.5, s: Scale = 1.0) -> xr.Dataset:
    """Maximum-likelihood d′, meta-d′ and M; M is NaN where print leaves it out as unstable.

    The correction is what is added to every rating, ½ in print.
    """
    fitted = fit_mle(counts, correction=correction, s=s)
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


# --- its hypotheses -----------------------------------------------------------------------------


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
    return xr.where(rule, PASSED, FAILED)


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


# --- the deposit --------------------------------------------------------------------------------


def read_deposit(data: str | Path) -> xr.DataArray:
    """Type-2 table of the deposited counts of the four models, in 20 bins.

    Raises InputError if there is no such file, or it holds something else.
    """
    path = deposited_file(Path(data))
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError("data", f"{path}, which is no JSON", "roc_data.json", STEP) from error
    numbers = file_of(NAME)
    names, models, datasets = numbers["deposit"], numbers["models"], numbers["datasets"]
    rows = [
        ((dataset, model, temperature), counts_at(content, (key, name, str(temperature)), path))
        for model, key in zip(models, names["models"], strict=True)
        for dataset, name in zip(datasets, names["datasets"], strict=True)
        for temperature in TEMPERATURES
    ]
    places, values = zip(*rows, strict=True)
    coords = zip(("dataset", "model", "temperature"), zip(*places, strict=True), strict=True)
    return table_of(np.array(values), **dict(coords))


def deposited_file(path: Path) -> Path:
    """File at the path, in that folder, or in that clone of the repository."""
    if path.is_file():
        return path
    for place in PLACES:
        if (path / place).is_file():
            return path / place
    got = f"{path}, a folder without it" if path.is_dir() else f"{path}, which does not exist"
    raise InputError("data", got, "the file roc_data.json", STEP)


def counts_at(content: Any, keys: tuple[str, str, str], path: Path) -> list[list[int]]:
    """Wrong and right answers by bin of one model, data set and temperature."""
    entry = content
    for key in keys:
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
    sides: list[Any] = [fields.get(name) for name in ("noise_counts", "signal_counts")]
    if not all(map(is_counts, sides)):
        got = f"{path}, without noise_counts and signal_counts at {', '.join(keys)}"
        raise InputError("data", got, f"two lists of {BINS} numbers of trials there", STEP)
    return [[int(count) for count in side] for side in sides]


def is_counts(side: object) -> bool:
    """Whether it is a list with a whole number of at least 0 for each bin."""
    # JSON has 1.0 for what NumPy counted in floats; NaN and Infinity leave NaN.
    return (
        isinstance(side, list)
        and len(side) == BINS
        and all(type(x) in (int, float) and x >= 0 and x % 1 == 0 for x in side)
    )


def analyse_deposit(data: str | Path, seed: int) -> Deposit:
    """Measure the deposited counts, and run the withdrawn analysis on them."""
    tables = read_deposit(data)
    of_measures, *of_models = np.random.SeedSequence(seed).generate_state(5).tolist()
    by_model = [
        at_temperatures(tables, model, own)
        for model, own in zip(file_of(NAME)["models"], of_models, strict=True)
    ]
    pipeline = xr.concat(by_model, "model", combine_attrs="drop_conflicts")
    return Deposit(tables, measures_of(tables, of_measures), pipeline, robustness_of_bins(tables))


def measures_of(tables: xr.DataArray, seed: int) -> xr.Dataset:
    """Measures of confidence that need no stimulus, per dataset, model and temperature."""
    null, bias = np.random.SeedSequence(seed).generate_state(2).tolist()
    n = file_of(NAME)["revised"]["permutations"]
    plain = meta_information(tables)
    permuted = resample(tables, information_told, n=n, kind="permutation", seed=null)["meta_i2r"]
    roc = uvsdt(withdrawn_counts(tables))
    trials = tables.sum(["correct", "rating"])
    result = xr.Dataset(
        {
            "accuracy": plain["share_right"],
            "trials": trials,
            "auroc2": auroc2(tables),
            "meta_i2r": plain["meta_i2r"],
            "less_null": plain["meta_i2r"] - permuted.mean("draw"),
            "reduced": meta_information(tables, debias=n, seed=bias)["meta_i2r"],
            "top": tables.sum("correct").max("rating") / trials,
            **{name: roc[name] for name in ("s", "d_a", "a_z")},
        }
    )
    return cells_as(result, "dataset", "model", "temperature")


def information_told(tables: xr.DataArray) -> xr.DataArray:
    """Meta-I₂ʳ, as a statistic to resample."""
    return meta_information(tables)["meta_i2r"]


def at_temperatures(tables: xr.DataArray, model: str, seed: int) -> xr.Dataset:
    """Withdrawn analysis of a model on TriviaQA, the edges of T = 1 held over temperatures."""
    own = of_model(tables, model)
    own = own.sel(cell=own["temperature"].isin(file_of(NAME)["labels"]["temperature"]))
    reference = own.sel(cell=own["temperature"] == 1.0).isel(cell=0).sum("correct").to_numpy()
    edges, cut = nearest_edges(reference, ratings=4)
    # Ratings that the bins cannot give are empty, and ½ in each of them would be a pretence.
    found, _ = bootstrap(withdrawn_counts(merge_bins(own, edges), cut), "loglinear", seed=seed)
    below = reference.cumsum()[edges[cut - 1] - 1] / reference.sum()
    result = found.assign(below=below, ratings_above=len(edges) + 1 - cut)
    return cells_as(result, "temperature").drop_vars("dataset").assign_coords(model=model)


def of_model(tables: xr.DataArray, model: str, dataset: str = "TriviaQA") -> xr.DataArray:
    """Cells of a model and data set."""
    return tables.sel(cell=(tables["model"] == model) & (tables["dataset"] == dataset))


def robustness_of_bins(tables: xr.DataArray) -> xr.DataArray:
    """M at T = 1: numbers of ratings (R1), unequal variance (R2), equal widths (R3), NQ (R4)."""
    at_one, found = tables.sel(cell=tables["temperature"] == 1.0), {}
    for model in file_of(NAME)["models"]:
        own, other = of_model(at_one, model), of_model(at_one, model, "NQ")
        numbers = {f"K = {K}": m_of(own, K) for K in RATINGS}
        unequal = {"unequal variance": m_of(own, s="estimate"), "equal width": m_of(own, None)}
        found[model] = numbers | unequal | {"NQ": m_of(other)}
    return xr.DataArray(pd.DataFrame.from_dict(found, "index"), dims=("model", "variant"))


def m_of(
    table: xr.DataArray,
    ratings: int | None = 4,
    correction: Correction = "loglinear",
    s: Scale = 1.0,
) -> float:
    """M of the withdrawn analysis of a cell, with ratings by quantiles, or with all the bins."""
    edges, cut = nearest_edges(table.sum(["cell", "correct"]).to_numpy(), ratings or 4)
    if ratings is None:
        edges, cut = list(range(1, table.sizes["rating"])), edges[cut - 1]
    counts = withdrawn_counts(merge_bins(table, edges), cut)
    return float(estimates(counts, correction, s)["m_ratio"].item())


# --- known truth --------------------------------------------------------------------------------


def analyse_simulation(seed: int) -> Simulation:
    """Simulate trials of four models, and analyse them by their decision and without it."""
    drawn, by_decision, by_correctness = np.random.SeedSequence(seed).generate_state(3).tolist()
    trials = simulated_trials(drawn)
    decided, judged = count_both(trials, 4)
    real, _ = bootstrap(decided, seed=by_decision)
    mapped, _ = bootstrap(withdrawn_counts(judged), seed=by_correctness)
    mapped = mapped.assign(auroc2=auroc2(judged))
    dims = ("model", "temperature")
    return Simulation(
        truth=true_values(),
        real=cells_as(real, *dims),
        withdrawn=cells_as(mapped, *dims),
        robustness=robustness_of_trials(trials[trials["temperature"] == 1.0]),
        curve=expected_mapping(),
    )


def true_values() -> xr.Dataset:
    """Parameters of every model and temperature: M stays, d′ falls."""
    t, models = np.array(file_of(NAME)["labels"]["temperature"]), {"model": list(TRUTH)}
    m, d = (xr.DataArray([values[i] for values in TRUTH.values()], models) for i in (0, 1))
    share = xr.DataArray(1 - LOSS * progress(), {"temperature": t})
    dprime, m_ratio = d * share, m * xr.ones_like(share)
    return xr.Dataset({"m_ratio": m_ratio, "dprime": dprime, "meta_d": m_ratio * dprime})


def progress() -> Floats:
    """Place of each temperature between the lowest (0) and the highest (1)."""
    t = np.array(file_of(NAME)["labels"]["temperature"])
    return (t - t[0]) / (t[-1] - t[0])


def simulated_trials(seed: int) -> pd.DataFrame:
    """Trials of all models and temperatures, with confidence 1..200 and whether they are correct.

    Columns model, temperature, stimulus, response, confidence, correct.
    """
    truth = true_values()
    models, temperatures = np.meshgrid(*(truth[dim] for dim in truth.dims), indexing="ij")
    # Higher temperatures are less confident: the same evidence is fewer steps from the criterion.
    step = STEP_OF_LEVELS * np.tile(1 + 0.5 * progress(), len(TRUTH))
    trials = simulate_trials(
        truth["dprime"].to_numpy().ravel(),
        np.repeat(BIAS, truth.sizes["temperature"]),
        truth["m_ratio"].to_numpy().ravel(),
        trials=TRIALS,
        gaps=np.broadcast_to(step[:, None, None], (len(step), 2, LEVELS - 1)),
        coords={"model": models.ravel().tolist(), "temperature": temperatures.ravel().tolist()},
        seed=seed,
    )
    return trials.assign(correct=trials["stimulus"] == trials["response"])


def count_both(trials: pd.DataFrame, ratings: int, method: str = "quantile") -> list[xr.DataArray]:
    """Count table with K ratings, and type-2 table with 2K: edges are those of T = 1, per model."""
    by = ["model", "temperature"]
    tables = []
    for number, count in ((ratings, count_trials), (2 * ratings, count_correct)):
        rated = trials.groupby("model", group_keys=False)["confidence"].transform(
            held_edges, trials["temperature"], number, method
        )
        tables.append(
            count(trials.assign(rating=rated), by=by, confidence="rating", ratings=number)
        )
    return tables


def held_edges(
    confidence: pd.Series, temperature: pd.Series, ratings: int, method: str
) -> pd.Series:
    """Ratings of one model's trials, by quantiles or by equal widths of its confidence at T = 1."""
    reference = confidence[temperature.loc[confidence.index] == 1.0]
    within = np.arange(1, ratings) / ratings
    if method == "quantile":
        # A level is on one side of an edge: equal confidence has equal ratings.
        edges = np.unique(np.quantile(reference, within, method="higher"))
    else:
        edges = reference.min() + within * (reference.max() - reference.min())
    return bin_confidence(confidence, len(edges) + 1, method="edges", edges=edges.tolist())


def robustness_of_trials(trials: pd.DataFrame) -> xr.Dataset:
    """M by number of ratings (R1), with unequal variance (R2) and by equal widths (R3)."""
    variants: dict[str, tuple[int, str, Scale]] = {
        **{f"K = {K}": (K, "quantile", 1.0) for K in RATINGS},
        "unequal variance": (4, "quantile", "estimate"),
        "equal width": (4, "width", 1.0),
    }
    found = []
    for ratings, method, s in variants.values():
        decided, judged = count_both(trials, ratings, method)
        both = {"real": decided, "withdrawn": withdrawn_counts(judged)}
        m = {name: estimates(table, s=s)["m_ratio"].drop_attrs() for name, table in both.items()}
        found.append(cells_as(xr.Dataset(m), "model"))
    return xr.concat(found, pd.Index(list(variants), name="variant"), join="exact")


def expected_mapping() -> xr.DataArray:
    """M of the withdrawn analysis of so many trials that sampling error is gone."""
    d, m = np.meshgrid(CURVE_D, CURVE_M, indexing="ij")
    gaps = np.full((2, LEVELS - 1), STEP_OF_LEVELS)
    tables = type2_counts(
        simulate_counts(d.ravel(), 0.0, m.ravel(), trials=MANY, gaps=gaps, seed=0)
    )
    values = [m_of(tables.isel(cell=[i]), correction=0.5) for i in range(d.size)]
    coords = {"dprime": list(CURVE_D), "m_ratio": CURVE_M}
    return xr.DataArray(np.reshape(values, d.shape), coords, ("dprime", "m_ratio"))


# --- what is printed, computed ------------------------------------------------------------------


def compare(study: Study) -> pd.DataFrame:
    """Table of everything printed beside ours."""
    ours = {**of_quartiles(study), **of_models(), **of_pairs(), **of_variants()}
    numbers = {}
    if study.deposit is not None:
        ours |= of_deposit(study.deposit)
        numbers = numbers_of_notes(study.deposit)
    return compare_with_print(NAME, ours, numbers)


def accuracy_of_quartiles() -> xr.DataArray:
    """Accuracies of Table 5, dims dataset, model, quartile."""
    table = cells_as(quartile_counts(), "dataset", "model").rename(rating="quartile")
    return table.sel(correct="right") / table.sum("correct")


def of_quartiles(study: Study) -> dict[tuple[str, str], Any]:
    """Numbers of trials; Table 5, and what it says of Table 2 with two ratings a side."""
    shares, found = accuracy_of_quartiles(), study.quartiles.sel(dataset="TriviaQA")
    of_trivia = shares.sel(dataset="TriviaQA")
    is_rising = (shares.diff("quartile") > 0).all("quartile")
    words = xr.where(is_rising, "strictly monotonic", "not monotonic")
    return {
        ("3.1", "trials"): {"all": shares.sizes["model"] * 8000 * 7},
        ("3.1", "questions"): {"TriviaQA": sum(file_of(NAME)["domain_questions"])},
        ("5.1", "accuracy at half coverage"): surer_half(of_trivia),
        ("Table 5", "accuracy"): {
            f"{model} | {dataset}": words.sel(model=model, dataset=dataset).item()
            for dataset, model in product(*(words[dim].to_numpy() for dim in words.dims))
        },
        ("Tables 2 and 5", "accuracy"): of_trivia.mean("quartile"),
        ("Tables 2 and 5", "d′"): found["dprime"],
        ("Tables 2 and 5", "M-ratio, K = 2"): found["m_ratio"],
        ("Tables 2 and 5", "H1, K = 2"): h1(found["upper"]),
    }


def surer_half(shares: xr.DataArray) -> xr.DataArray:
    """Accuracy of the two upper quartiles of confidence."""
    return shares.isel(quartile=slice(2, None)).mean("quartile")


def of_models() -> dict[tuple[str, str], Any]:
    """Tables 2, 3 and 7, H1 and H3, by the printed numbers alone; expected bias of I₂ʳ."""
    table, by_t = arrays_of(NAME, "aggregate", "model"), table_7()
    both = table[["auroc2", "m_ratio"]]
    ranked, rising = ranks(both), both.to_dataframe().rank()
    found = h3(by_t)
    names = {
        "range of meta-d′": "range",
        "ρ(meta-d′, T)": "rho_meta_d",
        "ρ(d′, T)": "rho_dprime",
        "range below .3": "stable",
        "|ρ(meta-d′, T)| < |ρ(d′, T)|": "relative",
        "interval TOST, ±.3": "equivalent",
    }
    return {
        ("Table 2", "meta-d′/d′"): quotient(table),
        ("4.2", "H1, M-ratio below 1"): h1(table["upper"]),
        ("Table 3", "rank by auroc2"): ranked["auroc2"].to_dict(),
        ("Table 3", "rank by m_ratio"): ranked["m_ratio"].to_dict(),
        ("Table 3", "rank correlation of AUROC2 and M-ratio"): {
            "all": rising["auroc2"].corr(rising["m_ratio"])
        },
        ("Table 7", "meta-d′/d′"): quotient(by_t),
        **{("4.5", quantity): found[name] for quantity, name in names.items()},
        ("revised", "mean of the null of I₂ʳ"): expected_null(),
    }


def by_temperature(table: str) -> xr.Dataset:
    """A table of the study over models and temperatures."""
    return arrays_of(NAME, table, "model", "temperature")


def quotient(table: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """M as meta-d′/d′, and how far it is known from three rounded numbers."""
    reach = HALF_DIGIT * (1 + (1 + table["m_ratio"]) / table["dprime"])
    return table["meta_d"] / table["dprime"], reach


def table_7() -> xr.Dataset:
    """Table 7, with standard errors of meta-d′: those of M at T = 1, times d′."""
    table, by_t = arrays_of(NAME, "aggregate", "model"), by_temperature("temperature")
    return by_t.assign(meta_d_se=normal_error(table) * by_t["dprime"])


def expected_null() -> tuple[xr.DataArray, xr.DataArray]:
    """Expected bias of I₂ʳ, (K − 1)/(2N ln 2 H₂), and what chance and its order leave open."""
    revised, table = file_of(NAME)["revised"], arrays_of(NAME, "revised", "dataset", "model")
    df = revised["ratings"] - 1
    entropy = binary_entropy(table["accuracy"].to_numpy())
    bits = (2 * table["trials"] * np.log(2) * entropy).transpose("model", "dataset")
    # Under the null N·I is χ²/(2 ln 2): 4 standard errors of a mean, and the order 1/N².
    return df / bits, (4 * np.sqrt(2 * df / revised["permutations"]) + 0.02 * df) / bits


def of_pairs() -> dict[tuple[str, str], Any]:
    """H4, and the instructed model less its base (4.7), by the printed numbers alone."""
    table = arrays_of(NAME, "aggregate", "model")
    pairs = pairwise(table)
    pairs.index = pd.Index(pairs["left"] + ", " + pairs["right"])
    apart, near = f"{MISTRAL}, {BASE}", f"{MISTRAL}, {GEMMA}"
    is_different = (pairs["lower"] > 0) | (pairs["upper"] < 0)
    words = {True: "significant", False: "not significant"}
    overlap = "apart" if pairs["overlap"][apart] < 0 else "overlapping"
    estimated = table[["dprime", "meta_d", "m_ratio"]]
    gained = estimated.sel(model=INSTRUCT) - estimated.sel(model=BASE)
    return {
        ("4.6", "95 % intervals of M-ratio"): {apart: overlap},
        ("4.6", "overlap"): {near: pairs["overlap"][near]},
        ("4.6", "difference of M-ratio"): {near: words[is_different[near]]},
        ("4.6", "H4, a difference excludes 0"): {
            "all": "supported" if is_different.any() else "not supported"
        },
        **{("4.7", str(name)): {"Llama-3, instruct − base": x} for name, x in gained.items()},
    }


def of_variants() -> dict[tuple[str, str], Any]:
    """Tables 4 and 6: how far M moves with the number of ratings, and with domains."""
    m = arrays_of(NAME, "binning", "model", "ratings")["m_ratio"]
    primary, other = m.sel(ratings=4), {"model": "other"}
    before, after = primary - primary.rename(other), m - m.rename(other)
    is_kept = (before * after >= 0).all(["model", "other"])
    order = {f"K = {K}": "preserved" if is_kept.sel(ratings=K) else "changed" for K in (3, 6)}
    domains = arrays_of(NAME, "domains", "model", "domain")["m_ratio"]
    science, arts = (domains.sel(domain=x) for x in ("Science & Technology", "Arts & Literature"))
    gained = science.sel(model=INSTRUCT) - science.sel(model=BASE)
    return {
        ("Table 4", "largest change"): {"all": abs(m - primary).max()},
        ("Table 4", "order of the models"): order,
        ("Table 6", "weakest domain"): domains.idxmin("domain"),
        ("Table 6", "range of M-ratio"): domains.max("domain") - domains.min("domain"),
        ("4.4", "M-ratio, arts − science"): arts - science,
        ("4.7", "M-ratio"): {"Science & Technology": gained},
    }


def of_deposit(deposit: Deposit) -> dict[tuple[str, str], Any]:
    """What the deposited bins give: d_a and s of the ROC, the revised measures, d′, M and H3."""
    at_one = deposit.measures.sel(temperature=1.0).transpose("model", "dataset")
    others = deposit.measures.sel(dataset="TriviaQA", temperature=[0.3, 0.5, 0.7])
    found, roc = deposit.withdrawn, at_one.sel(dataset="TriviaQA")
    return {
        ("4.1", "d_a"): roc["d_a"],
        ("4.1", "s"): roc["s"],
        ("revised", "accuracy"): by_row(at_one["accuracy"]) | by_row(others["accuracy"]),
        ("revised", "AUROC2"): at_one["auroc2"],
        ("revised", "I₂ʳ less its null"): at_one["less_null"],
        ("revised", "slope of the zROC"): at_one["s"],
        ("revised", "d_a"): at_one["d_a"],
        ("deposit", "d′"): found["dprime"],
        ("deposit", "M-ratio"): found["m_ratio"],
        ("deposit", "H3, both rules"): h3(found)["supported"],
    }


def numbers_of_notes(deposit: Deposit) -> dict[str, xr.DataArray]:
    """Share of the fullest bin, and the d_a of print's formula, for the notes on differences."""
    at_one = deposit.measures.sel(temperature=1.0).transpose("model", "dataset")
    roc = at_one.sel(dataset="TriviaQA")
    s, distance = roc["s"], roc["d_a"] / np.sqrt(2 / (1 + 1 / roc["s"] ** 2))
    return {"top": 100 * at_one["top"], "formula": distance * np.sqrt((1 + s**2) / 2)}


# --- the report ---------------------------------------------------------------------------------


def report(study: Study, comparison: pd.DataFrame) -> Report:
    """Report of the reproduction."""
    contents = {
        "deposit": study.deposit,
        "deposited": "not given" if study.deposit is None else f"{BINS} bins",
        "withdrawn": study.quartiles,
        "quartiles": quartile_frame(study),
        **ranking(),
        "chance": chance_of_relative_rule(),
        **temperatures_in_print(),
        "h3": rows_of(h3(table_7()), "model"),
        "pairs": pair_frame(study),
        "domains": domain_frame(),
        **(deposit_contents(study.deposit) if study.deposit is not None else {}),
        **simulation_contents(study.simulation),
        "seed": study.seed,
    }
    return build_report(NAME, contents, comparison)


def quartile_frame(study: Study) -> pd.DataFrame:
    """Withdrawn analysis of Table 5 with two ratings a side; what abstaining gains."""
    shares, found = accuracy_of_quartiles(), study.quartiles
    accuracy, half = shares.mean("quartile"), surer_half(shares)
    values = {"m": interval(found), "h1": h1(found["upper"]), "accuracy": accuracy, "half": half}
    values["gain"] = half - accuracy
    frame = rows_of(found[["dprime"]].assign(values), "dataset", "model")
    return frame.assign(model=frame["model"] + ", " + frame["dataset"])


def rows_of(values: xr.Dataset, *dims: str) -> pd.DataFrame:
    """A row per place, in the order of the dims."""
    return values.to_dataframe(dim_order=list(dims)).reset_index()


def interval(found: xr.Dataset) -> xr.DataArray:
    """M and its limits in words."""
    return xr.apply_ufunc(
        in_words, found["m_ratio"], found["lower"], found["upper"], vectorize=True
    )


def in_words(value: float, lower: float, upper: float) -> str:
    """Value and interval with true minus signs."""
    return f"{value:.3f} [{lower:.3f}, {upper:.3f}]".replace("-", "−")


def ranking() -> dict[str, Any]:
    """Ranks of the models by four measures, a line per model, and in words."""
    table, revised = arrays_of(NAME, "aggregate", "model"), by_temperature("revised_temperature")
    columns = {
        "AUROC2": table["auroc2"],
        "AUROC2, revised": revised["auroc2"].sel(temperature=1.0, drop=True),
        "I₂ʳ, revised": revised["meta_i2r"].sel(temperature=1.0, drop=True),
        "M-ratio, withdrawn": table["m_ratio"],
    }
    placed = ranks(xr.Dataset(columns))
    said = "; ".join(
        f"{name}: {', '.join(f'{model} {rank}' for model, rank in placed[name].items())}"
        for name in columns
    )
    # Equal ranks would hide each other.
    apart = placed.add((np.arange(len(placed)) - 1.5) * 0.05, axis="index")
    lines = apart.rename_axis("model").reset_index().melt("model", var_name="measure")
    return {"ranks": lines, "ranks_said": said}


def temperatures_in_print() -> dict[str, Any]:
    """d′ and meta-d′ of the withdrawn analysis over temperature, and I₂ʳ of the revised one."""
    table, revised = by_temperature("temperature"), by_temperature("revised_temperature")
    d, meta_d, told = table["dprime"], table["meta_d"], revised["meta_i2r"]
    panels = {"d′ (withdrawn)": d, "meta-d′ (withdrawn)": meta_d, "I₂ʳ (revised)": told}
    said = ends({"d′": d, "meta-d′": meta_d, "I₂ʳ": told})
    return {"temperature": over_temperature(panels), "temperature_said": said}


def over_temperature(panels: Mapping[str, xr.DataArray]) -> pd.DataFrame:
    """Values of several measures over temperature, by model."""
    values = xr.Dataset(dict(panels)).to_dataarray("measure").to_dataset(name="value")
    return rows_of(values, "measure", "model", "temperature")


def ends(measures: Mapping[str, xr.DataArray]) -> str:
    """First and last values over temperature of every model, in words."""
    said = [
        [f"{name} {a:.2f} to {b:.2f}" for a, b in values.isel(temperature=[0, -1]).to_numpy()]
        for name, values in measures.items()
    ]
    by_model = zip(file_of(NAME)["models"], zip(*said, strict=True), strict=True)
    return "; ".join(f"{model}: {', '.join(parts)}" for model, parts in by_model)


def pair_frame(study: Study) -> pd.DataFrame:
    """Every two models: overlap and difference, of print and of the quartiles."""
    in_print = pairwise(arrays_of(NAME, "aggregate", "model"))
    ours = pairwise(study.quartiles.sel(dataset="TriviaQA"))
    said = {
        name: [in_words(*row) for row in frame[["difference", "lower", "upper"]].to_numpy()]
        for name, frame in (("print", in_print), ("quartiles", ours))
    }
    return in_print.assign(models=in_print["left"] + " − " + in_print["right"], **said)


def domain_frame() -> pd.DataFrame:
    """M of the withdrawn and I₂ʳ of the revised analysis by domain, and their rank correlation."""
    m, told = (
        arrays_of(NAME, table, "model", "domain")[name].to_dataframe()[name].unstack(sort=False)
        for table, name in (("domains", "m_ratio"), ("revised_domains", "meta_i2r"))
    )
    both = m.map("{:.3f}; ".format) + told.map("{:.3f}".format)
    rho = m.rank(axis="columns").corrwith(told.rank(axis="columns"), axis="columns")
    return both.assign(ρ=rho).rename_axis("Model").reset_index()


def deposit_contents(deposit: Deposit) -> dict[str, Any]:
    """Tables of the deposited counts, and measures over all temperatures."""
    found, own = deposit.withdrawn, deposit.measures.sel(dataset="TriviaQA")
    in_print = by_temperature("temperature")[["dprime", "m_ratio"]]
    in_print = in_print.rename(dprime="dprime_printed", m_ratio="m_printed")
    at_one = found.merge(in_print).assign(m=interval(found)).sel(temperature=1.0)
    revised = by_temperature("revised_temperature").sel(temperature=1.0)
    published = {
        "auroc2_printed": arrays_of(NAME, "aggregate", "model")["auroc2"],
        "auroc2_revised": revised["auroc2"],
        "meta_i2r_revised": revised["meta_i2r"],
    }
    panels = {"accuracy": "accuracy", "AUROC2": "auroc2", "I₂ʳ less its null": "less_null"}
    said = ends({"AUROC2": own["auroc2"], "I₂ʳ": own["less_null"]})
    return {
        "deposit_withdrawn": rows_of(at_one, "model"),
        "deposit_h3": rows_of(h3(found), "model"),
        "deposit_robustness": variants(deposit.robustness),
        "measures": over_temperature({label: own[name] for label, name in panels.items()}),
        "measures_said": said,
        "loss": rows_of(own.sel(temperature=1.0).assign(published), "model"),
    }


def variants(m: xr.DataArray) -> pd.DataFrame:
    """M by model and variant of the analysis."""
    table = m.to_dataframe(name="m", dim_order=["model", "variant"])["m"].unstack(sort=False)
    return table.rename_axis("Model").reset_index()


def simulation_contents(simulation: Simulation) -> dict[str, Any]:
    """Truth, what both analyses find of it, and what H3 and the robustness of M say there."""
    truth, real, mapped = (
        part.sel(temperature=1.0)
        for part in (simulation.truth, simulation.real, simulation.withdrawn)
    )
    found = mapped[["dprime", "auroc2"]].assign(
        true_d=truth["dprime"],
        true_m=truth["m_ratio"],
        real=interval(real),
        withdrawn=interval(mapped),
        h1=h1(mapped["upper"]),
    )
    meta_d, curve = simulation.truth["meta_d"], simulation.curve
    spans = (meta_d.max("temperature") - meta_d.min("temperature")).to_numpy()
    return {
        **truth_lines(simulation),
        "truth": rows_of(found, "model"),
        "trials": TRIALS,
        "true_range": ", ".join(f"{span:.2f}" for span in spans),
        "analyses": [one_analysis(simulation, name) for name in ANALYSES],
        "least_truth": CURVE_M.min(),
        "largest_truth": CURVE_M.max(),
        "least_found": curve.min().item(),
        "largest_found": curve.max().item(),
        "intervals": simulation.real["m_ratio"].size,
        **{f"covering_{name}": covering(simulation, name) for name in ANALYSES},
    }


def one_analysis(simulation: Simulation, name: str) -> dict[str, Any]:
    """H3 and the robustness of M by one of `ANALYSES`."""
    own = getattr(simulation, name)
    return {
        "name": name,
        "analysis": ANALYSES[name],
        "found_h3": rows_of(h3(own), "model"),
        "found_robustness": variants(simulation.robustness[name]),
    }


def covering(simulation: Simulation, name: str) -> int:
    """How many intervals of M cover the truth."""
    found, truth = getattr(simulation, name), simulation.truth["m_ratio"]
    return int(((found["lower"] <= truth) & (truth <= found["upper"])).sum())


def truth_lines(simulation: Simulation) -> dict[str, pd.DataFrame]:
    """M found over M that is true: what is expected, and points of both analyses."""
    curve = simulation.curve.assign_coords(
        dprime=[f"withdrawn, expected at d′ = {d:g}" for d in CURVE_D]
    )
    lines = rows_of(curve.to_dataset(name="found").rename(dprime="line"), "line", "m_ratio")
    ideal = pd.DataFrame({"line": "truth", "m_ratio": CURVE_M, "found": CURVE_M})
    shift = np.linspace(-0.03, 0.03, simulation.truth.sizes["temperature"])
    points = []
    for name, words in ANALYSES.items():
        found = getattr(simulation, name)[["m_ratio", "lower", "upper"]]
        place = simulation.truth["m_ratio"] + xr.DataArray(shift, dims="temperature")
        own = rows_of(found.rename(m_ratio="found").assign(m_ratio=place), "model", "temperature")
        points.append(own.assign(line=words))
    return {"truth_lines": pd.concat([ideal, lines]), "truth_points": pd.concat(points)}
