"""Higham & Higham (2018), "New improved gamma": which estimate of gamma is nearer the truth.

Seed → simulated estimates of 36 models → what is printed, computed. Participants rate right and
wrong items whose evidence is normal; the truth follows from the two distributions.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.base.threads import in_threads
from hmetad.counts.reversed_scales import pairs
from hmetad.measures.results import ratio
from hmetad.measures.type2 import gamma
from hmetad.studies.comparison import Ours, arrays_of, frame_of

type Floats = NDArray[np.float64]
# SD, resolution, points of the scale and bias of a model, and a seed.
type Given = tuple[tuple[float, float, int, str], np.random.SeedSequence]

NAME = "higham2018"
PARTICIPANTS, ITEMS = 100_000, 50  # and as many wrong items
# The smaller experiment: participants, and items that were right, or wrong.
FEW_PARTICIPANTS, FEW_ITEMS = 40, 10
SDS = {"equal variance": 1.0, "unequal variance": 1.25}
RESOLUTIONS = {"low resolution": 0.5, "high resolution": 2.0}
SCALES = (6, 10, 101)
BIASES = ("liberal", "unbiased", "conservative")
AT_ONCE = 2500
# Groups of nine models, and the estimate that varies less, by resolution.
GROUPS = list(product(SDS, RESOLUTIONS))
STEADIER = {"low resolution": "trapezoid", "high resolution": "pairs"}
NAMES = {"trapezoid": "G_trap", "pairs": "G_pairs"}


@dataclass(frozen=True)
class Study:
    """Simulated estimates and their truth; dims sd, resolution, scale, bias, estimator."""

    # mean of the estimates, spread (SD over participants), covariance of the two means (estimator,
    # other), truth and unsigned deviation of the mean from it.
    models: xr.Dataset
    # SD over participants with few items, in many experiments of 40 participants (experiment).
    few: xr.DataArray
    seed: int


def analyse(*, participants: int = PARTICIPANTS, seed: int = 1) -> Study:
    """Simulate the 36 models with many items, and again with few."""
    many, few = np.random.SeedSequence(seed).spawn(2)
    models = summary(simulate(participants, ITEMS, many))
    size = participants // FEW_PARTICIPANTS
    estimates = simulate(size * FEW_PARTICIPANTS, FEW_ITEMS, few)
    parts = {"participant": ("experiment", "participant")}
    by_experiment = estimates.coarsen(participant=FEW_PARTICIPANTS).construct(parts)
    return Study(models, by_experiment.std("participant", ddof=1), seed)


def simulate(participants: int, items: int, seed: np.random.SeedSequence) -> xr.DataArray:
    """Both estimates of gamma of every participant in every model."""
    models = list(product(SDS.values(), RESOLUTIONS.values(), SCALES, BIASES))
    seeds = seed.spawn(len(models))
    work = partial(estimates_of_model, participants, items)
    found = in_threads(work, [*zip(models, seeds, strict=True)])
    coords: dict[str, list[Any]] = {
        "sd": list(SDS),
        "resolution": list(RESOLUTIONS),
        "scale": list(SCALES),
        "bias": list(BIASES),
        "estimator": list(NAMES),
    }
    shape = [*(len(labels) for labels in coords.values()), participants]
    return xr.DataArray(np.reshape(found, shape), coords, (*coords, "participant"))


def estimates_of_model(participants: int, items: int, given: Given) -> Floats:
    """Gamma by trapezoid and by pairs, (2, participants), of a model and a seed."""
    (sd, resolution, scale, bias), seed = given
    # On the axis of evidence, where wrong items are N(0, 1), right ones N(resolution, sd).
    lowest = 0.0 if bias == "conservative" else -2.0
    highest = resolution if bias == "liberal" else resolution + 2 * sd
    criteria = np.linspace(lowest, highest, scale - 1)
    edges = [criteria, (criteria - resolution) / sd]
    shares = [np.diff(ndtr(edge), prepend=0.0, append=1.0) for edge in edges]
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, participants, AT_ONCE):
        number = min(AT_ONCE, participants - start)
        tables = xr.DataArray(
            np.stack([rng.multinomial(items, share, size=number) for share in shares], axis=1),
            {"correct": ["wrong", "right"], "rating": np.arange(1, scale + 1)},
            ("cell", "correct", "rating"),
        )
        concordant, discordant, tied = pairs(tables)
        difference, untied = concordant - discordant, concordant + discordant
        parts.append([ratio(difference, untied + tied), ratio(difference, untied)])
    return np.concatenate(parts, axis=1)


def summary(estimates: xr.DataArray) -> xr.Dataset:
    """Means over participants beside the truth, 2A_z − 1."""
    mean = estimates.mean("participant")
    centred = estimates - mean
    other = centred.rename(estimator="other")
    number = estimates.notnull().sum("participant")
    resolution = xr.DataArray(list(RESOLUTIONS.values()), {"resolution": list(RESOLUTIONS)})
    sd = xr.DataArray(list(SDS.values()), {"sd": list(SDS)})
    truth = 2 * ndtr(resolution / np.sqrt(1 + sd**2)) - 1
    return xr.Dataset(
        {
            "mean": mean,
            "spread": estimates.std("participant", ddof=1),
            "covariance": xr.dot(centred.fillna(0), other.fillna(0), dim="participant") / number**2,
            "truth": truth,
            "deviation": abs(mean - truth),
        }
    )


def recompute(study: Study) -> Ours:
    """All that is printed, by table and quantity."""
    return {**worked_example(), **wins_and_nearness(study), **variability(study)}


def worked_example() -> dict[tuple[str, str], Any]:
    """Gamma, ties and A_g of the example of 30 right and 20 wrong answers."""
    worked = frame_of(NAME, "worked").set_index("bins")
    concordant, discordant = worked["concordant"], worked["discordant"]
    of_pairs = (concordant - discordant) / (concordant + discordant)
    ties = 50 * 49 // 2 - concordant - discordant
    pairs_of_both = 30 * 20
    area = (concordant + (pairs_of_both - concordant - discordant) / 2) / pairs_of_both
    counts = xr.DataArray([[17, 3], [5, 25]], dims=("correct", "rating"))
    of_counts = {"counts in two bins": gamma(counts, estimator="pairs").item()}
    found = {"gamma": of_pairs.to_dict() | of_counts, "ties": ties.to_dict(), "A_g": area.to_dict()}
    return {("worked example", name): values for name, values in found.items()}


def wins_and_nearness(study: Study) -> dict[tuple[str, str], Any]:
    """In how many models the trapezoid is nearer the truth, and how much nearer it is there."""
    in_print, where = arrays_of(NAME, "nearness", "group"), "Figures 5 and 6"
    ours, repeats = nearness(study.models["deviation"]), repeated_nearness(study)
    reach = reach_towards(in_print, ours, repeats)
    wins = [values[["wins"]].sum("group") for values in (in_print, ours, repeats)]
    reach_of_all = {"all models": reach_towards(*wins)["wins"]}
    return {
        (where, "wins of 9"): (ours["wins"], reach["wins"]),
        (where, "times nearer"): (ours["times"], reach["times"]),
        (where, "wins of 36"): ({"all models": wins[1]["wins"]}, reach_of_all),
    }


def reach_towards(printed: xr.Dataset, ours: xr.Dataset, repeats: xr.Dataset) -> xr.Dataset:
    """Distance from ours to where 95 % of repeats end, on the side of the printed value.

    Print is a simulation like this one, and no nearer to the truth.
    """
    ours, repeats = ours[list(printed)], repeats[list(printed)]
    low, high = limits_of(repeats)
    reach: xr.Dataset = xr.where(printed < ours, ours - low, high - ours).clip(min=0.0)
    return reach


def limits_of(repeats: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Where the middle 95 % of repeats begin and end."""
    limits = repeats.quantile([0.025, 0.975], "repeat")
    return limits.isel(quantile=0, drop=True), limits.isel(quantile=1, drop=True)


def nearness(deviation: xr.DataArray) -> xr.Dataset:
    """Wins of the trapezoid among the models of a group, and how many times nearer it is there.

    ``times`` is the mean over those models of the ratio of the two deviations, which print has;
    ``of_means`` the ratio of their mean deviations.
    """
    of_pairs, trapezoid = (deviation.sel(estimator=x, drop=True) for x in ("pairs", "trapezoid"))
    ratios, models = of_pairs / trapezoid, ["scale", "bias"]
    means = [x.where(ratios > 1).mean(models) for x in (of_pairs, trapezoid)]
    found = xr.Dataset(
        {
            "wins": (ratios > 1).sum(models),
            "times": ratios.where(ratios > 1).mean(models),
            "of_means": means[0] / means[1],
        }
    )
    groups = found.stack(group=("sd", "resolution"), create_index=False)
    return groups.assign_coords(group=list(map(", ".join, GROUPS)))


def repeated_nearness(study: Study, repeats: int = 4000) -> xr.Dataset:
    """As `nearness`, in simulations like this one, by the Monte Carlo error of two of them."""
    models = study.models.transpose(..., "estimator", "other")
    factor = np.linalg.cholesky(models["covariance"].to_numpy())
    rng = np.random.default_rng(study.seed)
    noise = rng.standard_normal((repeats, *factor.shape[:-1], 1))
    # Both print and ours are off by chance.
    error = np.sqrt(2) * (factor @ noise)[..., 0]
    moved = models["mean"].expand_dims(repeat=repeats).copy(data=models["mean"].to_numpy() + error)
    return nearness(abs(moved - models["truth"]))


def variability(study: Study) -> dict[tuple[str, str], Any]:
    """Which estimate varies less over participants, and by how much."""
    many, few = advantage(study.models["spread"]), advantage(study.few)
    found: dict[str, Any] = {}
    for name, better in STEADIER.items():
        sign = 1 if better == "trapezoid" else -1
        of_many, of_few = sign * many.sel(resolution=name), sign * few.sel(resolution=name)
        several = of_few.mean(["sd", "scale", "bias"])
        # One experiment of 40 participants is printed: two of its standard deviations.
        reach = {name: 2 * several.std("experiment").item()}
        size, what = f"advantage in SD of {better}", f"models in which {better} varies less"
        found[f"{size}, 100 items"] = {name: of_many.mean().item()}
        found[f"{size}, 20 items"] = {name: several.mean().item()}, reach
        for items, own in ((100, of_many), (20, of_few.mean("experiment"))):
            found[f"{what}, {items} items"] = {name: f"{int((own > 0).sum())} of 18"}
    return {("Variability", quantity): values for quantity, values in found.items()}


def advantage(spread: xr.DataArray) -> xr.DataArray:
    """How much smaller the SD of the trapezoid is."""
    return spread.sel(estimator="pairs") - spread.sel(estimator="trapezoid")


def contents(study: Study, _: pd.DataFrame) -> dict[str, Any]:
    """What the report shows."""
    return {
        "groups": [means_of(study, *group) for group in GROUPS],
        "nearness": nearness_frame(study),
        "seed": study.seed,
    }


def means_of(study: Study, sd: str, resolution: str) -> dict[str, Any]:
    """Mean estimates less the truth of a group of models, with Monte Carlo intervals."""
    models = study.models.sel(sd=sd, resolution=resolution)
    dims = ("scale", "bias", "estimator")
    variance = np.diagonal(models["covariance"].transpose(*dims, "other"), axis1=-2, axis2=-1)
    error = models["mean"].transpose(*dims) - models["truth"]
    frame = error.to_dataframe(name="error").reset_index()
    half = 1.96 * np.sqrt(variance).ravel()
    worst = models["deviation"].max("bias")
    largest = (
        f"{scale} points, {short}: up to {worst.sel(scale=scale, estimator=name).item():.3f}"
        for scale in SCALES
        for name, short in NAMES.items()
    )
    return {
        "means": frame.assign(
            lower=frame["error"] - half,
            upper=frame["error"] + half,
            line=frame["estimator"].map(NAMES),
            panel=frame["scale"].astype(str) + " points",
        ),
        "name": f"{sd}-{resolution}".replace(" ", "-"),
        "group": f"{sd}, {resolution}",
        "truth": models["truth"].item(),
        "largest": "; ".join(largest),
    }


def nearness_frame(study: Study) -> pd.DataFrame:
    """Wins and times nearer with their ranges over repeats, and the ratio of mean deviations."""
    ours, (low, high) = nearness(study.models["deviation"]), limits_of(repeated_nearness(study))

    def ranges(name: str, form: str) -> list[str]:
        ends = zip(low[name].to_numpy(), high[name].to_numpy(), strict=True)
        return [f"{x:{form}} to {y:{form}}" for x, y in ends]

    return pd.DataFrame(
        {
            "Models": ours["group"],
            "Wins of 9": ours["wins"],
            "Wins in repeats": ranges("wins", ".0f"),
            "Times nearer": ours["times"],
            "Times in repeats": ranges("times", ".1f"),
            "Ratio of means": ours["of_means"],
        }
    )
