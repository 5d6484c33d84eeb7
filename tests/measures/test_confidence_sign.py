"""Whether confidence follows accuracy is one rule, for every estimate of M."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm, random_table, rankdata

from hmetad import fit_mle, from_nr, notices, resample, simulate_counts
from hmetad.measures.type2 import confidence_z

FAINT = [26, 12, 22, 4, 5, 5], [2, 6, 6, 14, 16, 30]
BACKWARD = [10, 20, 60, 5, 5, 40], [40, 5, 5, 60, 20, 10]
CLEAR = [60, 30, 20, 20, 8, 2], [2, 8, 20, 20, 30, 60]


def cells_of(result, code):
    return [n.cells for n in notices(result) if n.code == code]


def test_ratings_of_one_response_are_tested_as_scipy_tests_them():
    right, wrong = np.array([50, 20, 8, 2]), np.array([17, 2, 1, 0])
    counts = from_nr([*right[::-1], 0, 0, 0, 0], [*wrong[::-1], 9, 5, 3, 1])
    ratings = (np.repeat([1, 2, 3, 4], numbers) for numbers in (right, wrong))
    test = mannwhitneyu(*ratings, alternative="greater", method="asymptotic", use_continuity=False)
    assert float(confidence_z(counts)[0]) == pytest.approx(norm.isf(test.pvalue))


def test_both_responses_are_tested_as_if_their_ratings_were_dealt_at_random():
    right, wrong = [[60, 24, 14, 6], [50, 20, 12, 9]], [[22, 3, 1, 0], [18, 6, 1, 1]]
    counts = from_nr([*right[0][::-1], *wrong[1]], [*wrong[0][::-1], *right[1]])
    observed, dealt, rng = 0.0, 0.0, np.random.default_rng(1)
    for table in np.stack([right, wrong], axis=1):
        ranks = np.unique(rankdata(np.repeat([1, 2, 3, 4], table.sum(0))))
        tables = random_table(table.sum(1), table.sum(0)).rvs(100_000, random_state=rng)
        observed, dealt = observed + table[0] @ ranks, dealt + tables[:, 0] @ ranks
    # Of 100,000 draws the mean is off by .003 standard deviations, and those by 0.2 %.
    expected = (observed - dealt.mean()) / dealt.std()
    assert float(confidence_z(counts)[0]) == pytest.approx(expected, abs=0.02)


def test_a_rating_given_to_every_trial_says_nothing_of_confidence():
    assert float(confidence_z(from_nr([30, 0, 0, 10], [12, 0, 0, 28]))[0]) == 0


def test_right_answers_alone_have_nothing_to_be_compared_with():
    assert np.isnan(confidence_z(from_nr([30, 10, 0, 0], [0, 0, 12, 28]))[0])


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
