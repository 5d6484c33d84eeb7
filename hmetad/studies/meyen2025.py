"""Meyen, Göppert, Schrenk, von Luxburg & Franz (2025), relative metainformation.

Seed → simulated classifiers and their measures → table of printed and computed values. The paper's
example is a table of 400 trials; its simulations have observers with uniform, normal and binary
noise, whose confidence is calibrated.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from hmetad.counts.table import from_nr
from hmetad.measures.groups import confidence_weighted_vote, group_bounds, predictionwise_vote
from hmetad.measures.information import meta_information
from hmetad.measures.information_bounds import (
    binary_entropy,
    information_bounds,
    type1_roc_bounds,
    type2_roc_bounds,
)
from hmetad.measures.information_noise import noise_information, normal_noise_information
from hmetad.measures.sdt import sdt
from hmetad.mle.meta_d import fit_mle
from hmetad.studies.comparison import ComparisonRow, comparison_frame

__all__ = ["MEASURES", "Study", "analyse", "compare", "example_counts"]

type Floats = NDArray[np.float64]

NOISES = ("uniform", "normal", "binary")
ACCURACIES = (0.6, 0.7, 0.8, 0.9)
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
# Of RMI, between means at different accuracies, where theory has none.
LARGEST_RANGE = 0.05

TABLE_1 = ([84, 56, 48, 12], [4, 56, 64, 76])
# Of its four responses: share, calibrated confidence, information.
TABLE_2 = {
    "share of responses": (0.22, 0.28, 0.28, 0.22),
    "calibrated confidence": (0.95, 0.50, 0.57, 0.86),
    "predictionwise information": (0.73, 0.00, 0.01, 0.43),
}
# Name in `meta_information` → printed, tolerance of a number with so many digits.
EXAMPLE = {
    "accuracy": (0.7, 0.05),
    "info": (0.26, 0.005),
    "lower": (0.12, 0.005),
    "upper": (0.4, 0.05),
    "meta_i": (0.14, 0.005),
    "meta_i1r": (2.5, 0.05),
    "meta_i2r": (0.16, 0.005),
    "rmi": (0.50, 0.005),
}
GROUP_OF_THREE = {"binary": (0.784, 0.0005), "normal": (0.82, 0.005), "uniform": (0.892, 0.0005)}
MEAN_RMI = "range of mean RMI over accuracies"
KNOWN_DIFFERENCES = {
    ("example", "Table 1", "m_ratio"): (
        "1.8 is the quotient of the printed 1.9 and 1.05. Not rounded before, it is 1.87, with "
        "1/(2K) added to every cell, and 1.88 without."
    ),
    ("Figure 6", "uniform", MEAN_RMI): (
        "Theory's 0 is without sampling error. The plug-in estimate of 400 trials is biased, more "
        "so at low accuracy, where most responses are guesses; with the bias reduced, in Figure 7, "
        "less is left."
    ),
}


@dataclass(frozen=True)
class Study:
    """The example, the simulations and the groups.

    Parameters
    ----------
    estimates : Dataset
        `MEASURES`, with dims reduction, noise, accuracy, data_set; and ``observed``, the recoded
        accuracy of the data set.
    expected : Dataset
        `MEASURES` without sampling error, with dims noise, accuracy.
    groups : Dataset
        ``accuracy`` of groups of observers with accuracy .7, dims noise, size; and its bounds.
    outside : Dataset
        ``type1`` and ``type2``: by how much the ROC of a random classifier is outside its bounds.
    seed : int
    """

    estimates: xr.Dataset
    expected: xr.Dataset
    groups: xr.Dataset
    outside: xr.Dataset
    seed: int


def analyse(*, seed: int = 1) -> Study:
    """Simulate the classifiers, measure them, and combine them to groups.

    Parameters
    ----------
    seed : int, optional

    Returns
    -------
    Study
    """
    data, bias, classifiers = np.random.SeedSequence(seed).generate_state(3)
    counts = simulated_counts(np.random.default_rng(data))
    return Study(
        estimates=conditions_of(measured(counts, debias_seed=int(bias))),
        expected=conditions_of(expected_measures()).isel(data_set=0, reduction=0, drop=True),
        groups=groups_of_each_size(),
        outside=outside_of_bounds(np.random.default_rng(classifiers)),
        seed=seed,
    )


def example_counts() -> xr.DataArray:
    """Table 1: two ratings, S1 the label −1."""
    return from_nr(*TABLE_1)


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
    tables = []
    for noise in NOISES:
        for accuracy in ACCURACIES:
            p = response_probabilities(noise, accuracy)
            tables.append(rng.multinomial(TRIALS, p, size=(DATA_SETS, 2)))
    return labelled_counts(np.stack(tables))


def labelled_counts(outcomes: NDArray[np.int64]) -> xr.DataArray:
    """Count table from outcomes (conditions, data sets, label, outcome) in the order of `p`."""
    right, wrong = outcomes[..., :2], outcomes[..., 2:]
    s1 = np.concatenate([right[..., 0, ::-1], wrong[..., 0, :]], axis=-1)
    s2 = np.concatenate([wrong[..., 1, ::-1], right[..., 1, :]], axis=-1)
    conditions = [(noise, accuracy) for noise in NOISES for accuracy in ACCURACIES]
    sets = range(outcomes.shape[1])
    rows = [(*condition, number) for condition in conditions for number in sets]
    noise, accuracy, number = map(list, zip(*rows, strict=True))
    return from_nr(
        s1.reshape(len(rows), -1),
        s2.reshape(len(rows), -1),
        noise=noise,
        true_accuracy=accuracy,
        data_set=number,
    )


def measured(counts: xr.DataArray, debias_seed: int | None = None) -> xr.Dataset:
    """All six measures of every cell, as they are and with reduced bias."""
    fitted = fit_mle(counts, correction="cell")[["meta_d", "m_ratio"]].drop_attrs()
    plain = meta_information(counts)
    names = ["meta_i", "meta_i1r", "meta_i2r", "rmi"]
    versions = [plain[names].drop_attrs()]
    if debias_seed is not None:
        reduced = meta_information(counts, debias=RESAMPLES, seed=debias_seed)
        versions.append(reduced[names].drop_attrs())
    both = [fitted.merge(version, compat="override") for version in versions]
    result = xr.concat(both, pd.Index(REDUCTIONS[: len(both)], name="reduction"))
    return result.assign(observed=plain["accuracy"].drop_attrs())


def conditions_of(measures: xr.Dataset) -> xr.Dataset:
    """Dims noise, accuracy and data_set in place of cell."""
    sets = len(np.unique(measures["data_set"]))
    shape = len(NOISES), len(ACCURACIES), sets
    dims = ("noise", "accuracy", "data_set")
    bare = measures.drop_vars([*dims[::2], "true_accuracy", "cell"])
    coords = {"noise": list(NOISES), "accuracy": list(ACCURACIES), "data_set": np.arange(sets)}
    index = xr.DataArray(np.arange(np.prod(shape)).reshape(shape), coords, dims)
    return bare.isel(cell=index)


def expected_measures() -> xr.Dataset:
    """Measures of tables so large that their shares are the probabilities."""
    size = 10**12
    tables = [
        np.round(size * np.tile(response_probabilities(noise, accuracy), (1, 2, 1)))
        for noise in NOISES
        for accuracy in ACCURACIES
    ]
    return measured(labelled_counts(np.stack(tables).astype(np.int64)))


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
    return xr.Dataset(
        {
            "type1": ("classifier", outside(type1_roc_bounds(type1[0], accuracy), type1[1])),
            "type2": ("classifier", outside(type2_roc_bounds(type2[0], accuracy), type2[1])),
        }
    )


def roc(p: Floats, order: NDArray[np.int64]) -> Floats:
    """Rates from the first response in the order on, without the last, which is 1."""
    return np.minimum(np.take_along_axis(p, order, axis=-1).cumsum(axis=-1)[..., :-1], 1.0)


def outside(bounds: xr.Dataset, rate: Floats) -> Floats:
    """Largest distance of a curve from the region between its bounds."""
    below, above = bounds["lower"].to_numpy() - rate, rate - bounds["upper"].to_numpy()
    return np.maximum(np.maximum(below, above).max(axis=-1), 0.0)


def compare(study: Study) -> pd.DataFrame:
    """Table of everything printed beside ours.

    Parameters
    ----------
    study : Study
        What `analyse` returned.

    Returns
    -------
    DataFrame
        Columns table, row, quantity, printed, ours, tolerance, agrees, note.
    """
    rows = [
        *figure_rows(),
        *example_rows(),
        *proposition_rows(study),
        *range_rows(study),
        *group_rows(study),
    ]
    return comparison_frame(rows, KNOWN_DIFFERENCES)


def figure_rows() -> Iterator[ComparisonRow]:
    """The two ratings of Figure 1, and the three observers of Figure 2."""
    confidence, weight = np.array([0.6, 0.9]), np.array([2, 1]) / 3
    pti = 1 - binary_entropy(confidence)
    yield ComparisonRow("Figure 1", "all", "accuracy", 0.7, float(weight @ confidence), 1e-9)
    for c, printed, bits in zip(confidence, (0.03, 0.53), pti, strict=True):
        yield ComparisonRow("Figure 1", f"c = {c:.1f}", "information", printed, float(bits), 0.005)
    yield ComparisonRow("Figure 1", "all", "information", 0.20, float(weight @ pti), 0.005)
    # Print gives d′ as 1.05, not as the 1.0488 of an accuracy of .7.
    normal = normal_noise_information(1.05)
    yield ComparisonRow("Figure 2", "normal", "accuracy", 0.7, normal["accuracy"].item(), 0.005)
    yield ComparisonRow("Figure 2", "normal", "information", 0.18, normal["info"].item(), 0.005)
    others = noise_information(0.7)
    yield ComparisonRow("Figure 2", "normal", "d′", 1.05, others["dprime"].item(), 0.005)
    for name, printed, tolerance in (("binary", 0.12, 0.005), ("uniform", 0.4, 0.0005)):
        yield ComparisonRow(
            "Figure 2", name, "information", printed, others[name].item(), tolerance
        )


def example_rows() -> Iterator[ComparisonRow]:
    """Tables 1 and 2, and the numbers of the example."""
    counts = example_counts()
    outcomes = np.concatenate(
        [counts.to_numpy()[0, :, 0, ::-1], counts.to_numpy()[0, :, 1]], axis=-1
    )
    share = outcomes.sum(axis=0) / outcomes.sum()
    confidence = outcomes.max(axis=0) / outcomes.sum(axis=0)
    columns = (share, confidence, 1 - binary_entropy(confidence))
    for (name, printed), ours in zip(TABLE_2.items(), columns, strict=True):
        for i in range(len(printed)):
            yield ComparisonRow("Table 2", f"r{i + 1}", name, printed[i], float(ours[i]), 0.005)
    measures = meta_information(counts)
    for name, (value, tolerance) in EXAMPLE.items():
        yield ComparisonRow("example", "Table 1", name, value, measures[name].item(), tolerance)
    bounds = information_bounds(0.7, 0.5)
    yield ComparisonRow("example", "bounds", "lower", 0.12, bounds["lower"].item(), 0.005)
    yield ComparisonRow("example", "bounds", "upper", 0.4, bounds["upper"].item(), 0.0005)
    dprime = sdt(counts)["dprime"].item()
    yield ComparisonRow("example", "Table 1", "dprime", 1.05, dprime, 0.005)
    # statConfR, which the paper used, adds to every cell.
    fitted = fit_mle(counts, correction="cell")
    for name, value in (("meta_d", 1.9), ("m_ratio", 1.8)):
        yield ComparisonRow("example", "Table 1", name, value, fitted[name].item(), 0.05)
    normal = normal_noise_information(dprime)["meta_i"].item()
    yield ComparisonRow("example", "Table 1", "meta_i at d′", 0.056, normal, 0.0005)


def proposition_rows(study: Study) -> Iterator[ComparisonRow]:
    """Propositions 4 and 5: whether any point of a ROC is outside, but for rounding."""
    for name, proposition in (("type1", "Proposition 4"), ("type2", "Proposition 5")):
        inside = int((study.outside[name] < 1e-12).sum())
        what = "classifiers inside the bounds"
        yield ComparisonRow(proposition, "random", what, CLASSIFIERS, inside, 0)


def range_rows(study: Study) -> Iterator[ComparisonRow]:
    """RMI of uniform and binary noise, between whose means theory has no difference."""
    spans = mean_ranges(study)["rmi"]
    for figure, reduction in (("Figure 6", "plug-in"), ("Figure 7", "bias reduced")):
        for noise in ("uniform", "binary"):
            ours = spans.sel(reduction=reduction, noise=noise).item()
            yield ComparisonRow(figure, noise, MEAN_RMI, 0.0, ours, LARGEST_RANGE)


def mean_ranges(study: Study) -> xr.Dataset:
    """Largest less smallest mean over accuracies, of each measure and noise."""
    means = study.estimates[list(MEASURES)].mean("data_set")
    return means.max("accuracy") - means.min("accuracy")


def group_rows(study: Study) -> Iterator[ComparisonRow]:
    """Groups of three, and their bounds."""
    three = study.groups.sel(size=3)
    for noise, (printed, tolerance) in GROUP_OF_THREE.items():
        ours = three["accuracy"].sel(noise=noise).item()
        yield ComparisonRow("Figure 8", f"three, {noise}", "accuracy", printed, ours, tolerance)
    for bound, noise in (("lower", "binary"), ("upper", "uniform")):
        printed, tolerance = GROUP_OF_THREE[noise]
        row = ("three", f"{bound} bound", printed, three[bound].item(), tolerance)
        yield ComparisonRow("Theorem 8", *row)
