"""Meyen, Göppert, Schrenk, von Luxburg & Franz (2025), relative metainformation.

Seed → simulated classifiers and their measures → what is printed, computed. The paper's example is
a table of 400 trials; its simulations have observers with uniform, normal and binary noise, whose
confidence is calibrated.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from hmetad.counts.vectors import from_nr, to_nr
from hmetad.measures import ideal_observers
from hmetad.measures.groups import confidence_weighted_vote, group_bounds, predictionwise_vote
from hmetad.measures.information import meta_information
from hmetad.measures.sdt import sdt
from hmetad.mle.meta_d import fit_mle
from hmetad.studies.comparison import Ours, cells_as, file_of

type Floats = NDArray[np.float64]

NAME = "meyen2025"
NOISES = ("uniform", "normal", "binary")
ACCURACIES = (0.6, 0.7, 0.8, 0.9)
CONDITIONS = list(product(NOISES, ACCURACIES))
DATA_SETS, TRIALS = 200, 200  # of each condition; of each label
RESAMPLES = 1000
HIGH = 0.75  # confidence from here on is the higher of two ratings
CLASSIFIERS = 1000
GROUP_SIZES = range(1, 12)
# In the order of the paper's Figures 6 and 7.
MEASURES = {
    "meta_d": "meta-d′",
    "m_ratio": "M-ratio",
    "meta_i": "meta-I",
    "meta_i1r": "meta-I₁ʳ",
    "meta_i2r": "meta-I₂ʳ",
    "rmi": "RMI",
}
REDUCTIONS = ("plug-in", "bias reduced")


@dataclass(frozen=True)
class Study:
    """The simulations and the groups."""

    # `MEASURES` by reduction, noise, accuracy, data_set; and observed, the accuracy of the data
    # set with its responses recoded.
    estimates: xr.Dataset
    # `MEASURES` without sampling error, by noise, accuracy.
    expected: xr.Dataset
    # Accuracy of groups of observers with accuracy .7, by noise, size; and its bounds.
    groups: xr.Dataset
    # type1 and type2: by how much the ROC of a random classifier is outside its bounds.
    outside: xr.Dataset
    seed: int


def analyse(*, seed: int = 1) -> Study:
    """Simulate the classifiers, measure them, and combine them to groups."""
    data, bias, classifiers = np.random.SeedSequence(seed).generate_state(3)
    counts = simulated_counts(np.random.default_rng(data))
    return Study(
        estimates=measures_of(counts, debias_seed=int(bias)),
        expected=expected_measures(),
        groups=groups_of_each_size(),
        outside=outside_of_bounds(np.random.default_rng(classifiers)),
        seed=seed,
    )


def example_counts() -> xr.DataArray:
    """Table 1: two ratings, S1 the label −1."""
    counts = file_of(NAME)["table1"]
    return from_nr(counts["nR_S1"], counts["nR_S2"]).assign_coords(cell=["Table 1"])


def response_probabilities(noise: str, accuracy: float) -> Floats:
    """P(response, rating) under the label S2: right low, right high, wrong low, wrong high.

    Label S1 is its mirror image.
    """
    wrong = 1 - accuracy
    if noise == "uniform":
        # Certain where the two uniform distributions do not overlap, guessing where they do.
        return np.array([wrong, 2 * accuracy - 1, wrong, 0.0])
    if noise == "binary":
        # One confidence for all, dealt out at random to the two ratings.
        return np.array([accuracy, accuracy, wrong, wrong]) / 2
    d = 2 * ndtri(accuracy)
    # Confidence 1/(1 + exp(−d|x|)) reaches the higher rating here.
    cut = np.log(HIGH / (1 - HIGH)) / d
    edges = np.array([np.inf, cut, 0.0, -cut, -np.inf])
    high, low, wrong_low, wrong_high = np.diff(ndtr(d / 2 - edges))
    return np.array([low, high, wrong_low, wrong_high])


def simulated_counts(rng: np.random.Generator) -> xr.DataArray:
    """Count table of all data sets of all conditions."""
    size = DATA_SETS, 2
    tables = [
        rng.multinomial(TRIALS, response_probabilities(*condition), size)
        for condition in CONDITIONS
    ]
    return labelled_counts(np.stack(tables))


def labelled_counts(outcomes: NDArray[np.int64]) -> xr.DataArray:
    """Count table of outcomes in the order of `response_probabilities`.

    Outcomes have axes condition, data set, label, outcome.
    """
    right, wrong = np.split(outcomes, 2, axis=-1)
    s1 = np.concatenate([right[..., 0, ::-1], wrong[..., 0, :]], axis=-1)
    s2 = np.concatenate([wrong[..., 1, ::-1], right[..., 1, :]], axis=-1)
    rows = product(CONDITIONS, range(outcomes.shape[1]))
    noise, accuracy, number = zip(*((*condition, i) for condition, i in rows), strict=True)
    s1, s2 = (side.reshape(len(noise), -1) for side in (s1, s2))
    return from_nr(s1, s2, noise=noise, true_accuracy=accuracy, data_set=number)


def measures_of(counts: xr.DataArray, debias_seed: int | None = None) -> xr.Dataset:
    """All six measures of every data set, as they are and with reduced bias."""
    fitted = fit_mle(counts, correction="cell")[["meta_d", "m_ratio"]].drop_attrs()
    plain = meta_information(counts)
    versions = [plain]
    if debias_seed is not None:
        versions.append(meta_information(counts, debias=RESAMPLES, seed=debias_seed))
    names = ["meta_i", "meta_i1r", "meta_i2r", "rmi"]
    both = [fitted.merge(one[names].drop_attrs(), compat="override") for one in versions]
    result = xr.concat(both, pd.Index(REDUCTIONS[: len(both)], name="reduction"))
    result = result.assign(observed=plain["accuracy"].drop_attrs())
    by_condition = cells_as(result, "noise", "true_accuracy", "data_set")
    return by_condition.rename(true_accuracy="accuracy")


def expected_measures() -> xr.Dataset:
    """Measures of tables so large that their shares are the probabilities."""
    shares = [np.tile(response_probabilities(*condition), (1, 2, 1)) for condition in CONDITIONS]
    counts = labelled_counts(np.round(10**12 * np.stack(shares)).astype(np.int64))
    return measures_of(counts).isel(data_set=0, reduction=0, drop=True)


def groups_of_each_size() -> xr.Dataset:
    """Accuracy of groups whose members have accuracy .7, by noise and size."""
    accuracy, d = 0.7, 2 * ndtri(0.7)
    rows = []
    for size in GROUP_SIZES:
        members = np.full(size, accuracy)
        shares = np.tile([2 * (1 - accuracy), 2 * accuracy - 1], (size, 1))
        certain = predictionwise_vote(shares, np.tile([0.5, 1.0], (size, 1))).item()
        # Evidence with normal noise adds up.
        normal = ndtr(np.sqrt(size) * d / 2)
        rows.append([certain, normal, confidence_weighted_vote(members).item()])
    bounds = [group_bounds(np.full(size, accuracy)) for size in GROUP_SIZES]
    coords = {"noise": list(NOISES), "size": list(GROUP_SIZES)}
    return xr.Dataset(
        {
            "accuracy": (("noise", "size"), np.transpose(rows)),
            "lower": ("size", [bound["lower"].item() for bound in bounds]),
            "upper": ("size", [bound["upper"].item() for bound in bounds]),
        },
        coords,
    )


def outside_of_bounds(rng: np.random.Generator) -> xr.Dataset:
    """By how much ROC points of random calibrated classifiers leave Propositions 4 and 5."""
    # P(response | label) of both labels, which are equally frequent; responses are few or many.
    few = rng.gamma(0.3, size=(2, CLASSIFIERS, 8))
    p1, p2 = few / few.sum(axis=-1, keepdims=True)
    likelier, other = np.maximum(p1, p2), np.minimum(p1, p2)
    accuracy = likelier.sum(axis=-1, keepdims=True) / 2
    by_label = np.argsort(-p2 / (p1 + p2), axis=-1)
    by_confidence = np.argsort(-likelier / (p1 + p2), axis=-1)
    type1 = roc(p1, by_label), roc(p2, by_label)
    wrong, right = (x / x.sum(axis=-1, keepdims=True) for x in (other, likelier))
    type2 = roc(wrong, by_confidence), roc(right, by_confidence)
    found = {
        "type1": distance_outside(ideal_observers.type1_roc_bounds(type1[0], accuracy), type1[1]),
        "type2": distance_outside(ideal_observers.type2_roc_bounds(type2[0], accuracy), type2[1]),
    }
    return xr.Dataset({name: ("classifier", values) for name, values in found.items()})


def roc(p: Floats, order: NDArray[np.int64]) -> Floats:
    """Rates from the first response in the order on, without the last, which is 1."""
    return np.minimum(np.take_along_axis(p, order, axis=-1).cumsum(axis=-1)[..., :-1], 1.0)


def distance_outside(bounds: xr.Dataset, rate: Floats) -> Floats:
    """Largest distance of a curve from the region between its bounds."""
    below, above = bounds["lower"].to_numpy() - rate, rate - bounds["upper"].to_numpy()
    return np.maximum(np.maximum(below, above).max(axis=-1), 0.0)


def recompute(study: Study) -> Ours:
    """All that is printed, by table and quantity."""
    spans, three = mean_ranges(study)["rmi"], study.groups.sel(size=3)
    ours = {**figures_1_and_2(), **example()}
    # A point of a ROC that is outside is outside by more than rounding.
    for name, proposition in (("type1", "Proposition 4"), ("type2", "Proposition 5")):
        inside = (study.outside[name] < 1e-12).sum()
        ours[proposition, "classifiers inside the bounds"] = {"random": inside}
    for figure, reduction in zip(("Figure 6", "Figure 7"), REDUCTIONS, strict=True):
        ours[figure, "range of mean RMI over accuracies"] = spans.sel(reduction=reduction)
    accuracy = three["accuracy"].assign_coords(noise=[f"three, {noise}" for noise in NOISES])
    ours["Figure 8", "accuracy"] = accuracy
    for side in ("lower", "upper"):
        ours["Theorem 8", f"{side} bound"] = {"three": three[side]}
    return ours


def figures_1_and_2() -> dict[tuple[str, str], Any]:
    """The two ratings of Figure 1, and the three observers of Figure 2."""
    confidence, weight = np.array([0.6, 0.9]), np.array([2, 1]) / 3
    bits = 1 - ideal_observers.binary_entropy(confidence)
    # Print gives d′ as 1.05, not as the 1.0488 of an accuracy of .7.
    normal, others = (
        ideal_observers.normal_noise_information(1.05),
        ideal_observers.noise_information(0.7),
    )
    return {
        ("Figure 1", "accuracy"): {"all": weight @ confidence},
        ("Figure 1", "information"): {"c = 0.6": bits[0], "c = 0.9": bits[1], "all": weight @ bits},
        ("Figure 2", "accuracy"): {"normal": normal["accuracy"]},
        ("Figure 2", "information"): {"normal": normal["info"], **others[["binary", "uniform"]]},
        ("Figure 2", "d′"): {"normal": others["dprime"]},
    }


def example() -> dict[tuple[str, str], Any]:
    """Table 2, and the numbers of the example."""
    counts = example_counts()
    outcomes = np.concatenate(to_nr(counts))
    confidence = outcomes.max(axis=0) / outcomes.sum(axis=0)
    table_2 = {
        "share of responses": outcomes.sum(axis=0) / outcomes.sum(),
        "calibrated confidence": confidence,
        "predictionwise information": 1 - ideal_observers.binary_entropy(confidence),
    }
    found: dict[tuple[str, str], Any] = {
        ("Table 2", name): xr.DataArray(values, {"response": ["r1", "r2", "r3", "r4"]})
        for name, values in table_2.items()
    }
    # statConfR, which the paper used, adds to every cell.
    fitted = fit_mle(counts, correction="cell")[["meta_d", "m_ratio"]]
    dprime = sdt(counts)["dprime"]
    own = meta_information(counts).merge(fitted, compat="override").assign(dprime=dprime)
    own["meta_i at d′"] = ideal_observers.normal_noise_information(dprime.item())["meta_i"]
    bounds = ideal_observers.information_bounds(0.7, 0.5)
    found |= {("example", str(name)): {"Table 1": value} for name, value in own.items()}
    for side in ("lower", "upper"):
        found["example", side]["bounds"] = bounds[side]
    return found


def mean_ranges(study: Study) -> xr.Dataset:
    """Largest less smallest mean over accuracies, of each measure and noise."""
    means = study.estimates[list(MEASURES)].mean("data_set")
    return means.max("accuracy") - means.min("accuracy")


def contents(study: Study, _: pd.DataFrame) -> dict[str, Any]:
    """What the report shows."""
    counts = example_counts()
    measures = meta_information(counts)
    three = study.groups["accuracy"].sel(size=3)
    ranges = mean_ranges(study).rename(MEASURES).to_dataframe(dim_order=["noise", "reduction"])
    headings = {"noise": "Noise", "reduction": "Estimate"}
    return {
        "data_sets": DATA_SETS,
        "resamples": RESAMPLES,
        "example": measures,
        "example_counts": counts,
        "example_accuracy": measures["accuracy"].item(),
        "example_info": measures["info"].item(),
        "expected": long_frame(study.expected),
        "limits": limits_of_panels(study),
        "reductions": [points_of(study, reduction) for reduction in REDUCTIONS],
        "ranges": ranges.reset_index().rename(columns=headings),
        "group_accuracy": study.groups["accuracy"],
        "groups_of_three": "; ".join(
            f"{noise} noise: {x:.3f}" for noise, x in zip(NOISES, three.to_numpy(), strict=True)
        ),
        "seed": study.seed,
    }


def limits_of_panels(study: Study) -> dict[str, tuple[float, float]]:
    """Where most plug-in estimates of a measure lie; both figures have the same axes."""
    plain, limits = study.estimates.sel(reduction="plug-in"), {}
    for name, label in MEASURES.items():
        low, high = np.nanpercentile(plain[name], [1, 99])
        edge = 0.12 * (high - low)
        limits[label] = (low - edge, high + edge)
    return limits


def points_of(study: Study, reduction: str) -> dict[str, Any]:
    """Measures of every data set over its accuracy, and the mean RMI in words."""
    own = study.estimates.sel(reduction=reduction)
    points = long_frame(own)
    rmi = own["rmi"].mean("data_set")
    means = (
        f"{noise} noise: {', '.join(f'{x:.2f}' for x in rmi.sel(noise=noise).to_numpy())}"
        for noise in NOISES
    )
    return {
        "estimates": points.drop(columns="accuracy").rename(columns={"observed": "accuracy"}),
        "name": reduction.replace(" ", "-"),
        "reduction": reduction,
        "means": "; ".join(means),
    }


def long_frame(measures: xr.Dataset) -> pd.DataFrame:
    """A row per measure and place, with what does not hang on the measure."""
    values = measures[list(MEASURES)].rename(MEASURES).to_dataarray("measure")
    others = measures.drop_vars(list(MEASURES))
    frame = others.assign(value=values).to_dataframe(dim_order=values.dims).reset_index()
    return frame.assign(noise=frame["noise"] + " noise")
