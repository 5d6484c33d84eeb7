"""Whether confidence follows accuracy is one rule, for every estimate of M."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from hmetad import fit_mle, from_nr, notices, resample, simulate_counts
from hmetad.measures.confidence_sign import confidence_z

FAINT = [26, 12, 22, 4, 5, 5], [2, 6, 6, 14, 16, 30]
BACKWARD = [10, 20, 60, 5, 5, 40], [40, 5, 5, 60, 20, 10]
CLEAR = [60, 30, 20, 20, 8, 2], [2, 8, 20, 20, 30, 60]


def cells_of(result, code):
    return [n.cells for n in notices(result) if n.code == code]


def test_confidence_is_tested_by_ranks_within_each_response():
    counts = from_nr([40, 30, 20, 10, 5, 6, 9, 12], [9, 8, 6, 5, 12, 22, 30, 41])
    right = np.repeat([1, 2, 3, 4], [10, 20, 30, 40]), np.repeat([1, 2, 3, 4], [12, 22, 30, 41])
    wrong = np.repeat([1, 2, 3, 4], [5, 6, 8, 9]), np.repeat([1, 2, 3, 4], [5, 6, 9, 12])
    excess = variance = 0.0
    for r, w in zip(right, wrong, strict=True):
        excess += mannwhitneyu(r, w).statistic - len(r) * len(w) / 2
        variance += len(r) * len(w) * (len(r) + len(w) + 1) / 12
    assert float(confidence_z(counts)[0]) == pytest.approx(excess / np.sqrt(variance))


def test_maximum_likelihood_says_where_confidence_is_not_clear():
    names = ["faint", "backward", "clear"]
    counts = from_nr(*zip(FAINT, BACKWARD, CLEAR, strict=True), model=names)
    assert 0 < float(confidence_z(counts)[0]) < 1.96 < float(confidence_z(counts)[2])
    fitted = fit_mle(counts)
    assert cells_of(fitted, "confidence-sign") == [("faint",)]
    assert cells_of(fitted, "negative-meta-d") == [("backward",)]


def test_resampled_tables_are_not_asked():
    drawn = resample(from_nr(*FAINT), fit_mle, n=5, seed=1)
    assert not cells_of(drawn, "confidence-sign")


def test_items_of_an_observer_are_asked_together():
    trials = simulate_counts(1.5, trials=[[4, 4]] * 50, coords={"item": range(50)}, seed=1)
    assert not cells_of(fit_mle(trials), "confidence-sign")
    alone = simulate_counts(1.5, trials=[[4, 4]] * 50, coords={"subject": range(50)}, seed=1)
    assert cells_of(fit_mle(alone), "confidence-sign")
