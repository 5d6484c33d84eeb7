"""Observers who change their mind: what each way of counting them gives. The page has the table."""

import numpy as np
import pandas as pd
import pytest

from hmetad import count_trials, fit_mle

TRIALS, DPRIME, CRITERION = 100_000, 1.2, 0.2
# Edges of confidence in the first response; below 0 lies the other response.
EDGES, OUTWARD = [-0.8, -0.4, 0, 0.4, 0.8, 1.3], [0.4, 0.8, 1.3]


def observed(later=0.0, noise=0.0):
    """Stimulus, response, and confidence in it, negative where the mind has changed."""
    rng = np.random.default_rng(1)
    stimulus = rng.integers(0, 2, TRIALS)
    sign = 2 * stimulus - 1
    first = sign * DPRIME / 2 + rng.normal(size=TRIALS)
    response = (first > CRITERION).astype(int)
    second = first + later * sign * DPRIME / 2 + np.sqrt(later) * rng.normal(size=TRIALS)
    second += noise * rng.normal(size=TRIALS)
    return stimulus, response, (2 * response - 1) * (second - CRITERION)


def counted(stimulus, response, confidence, edges):
    rating = np.digitize(confidence, edges) + 1
    trials = pd.DataFrame({"stimulus": stimulus, "response": response, "confidence": rating})
    return count_trials(trials, ratings=len(edges) + 1)


@pytest.mark.parametrize(
    ("observer", "card", "parameter"),
    [({"later": 0.5}, "pda", "later"), ({"noise": 0.7}, "gaussian_noise", "noise")],
)
def test_the_whole_scale_of_the_first_response_gives_the_truth_back(observer, card, parameter):
    counts = counted(*observed(**observer), EDGES)
    found = fit_mle(counts, card)
    assert found["dprime"].item() == pytest.approx(DPRIME, abs=3 * found["dprime_se"].item())
    own, se = found[parameter].item(), found[f"{parameter}_se"].item()
    assert own == pytest.approx(observer[parameter], abs=3 * se)
    assert se < 0.05
    other = fit_mle(counts, "gaussian_noise" if card == "pda" else "pda")
    assert found["loglik"].item() > other["loglik"].item() + 100


@pytest.mark.parametrize(
    ("observer", "whole", "dropped"), [({"later": 0.5}, 1.51, 0.90), ({"noise": 0.7}, 0.66, 0.55)]
)
def test_folding_gives_an_m_of_1_and_dropping_biases_d(observer, whole, dropped):
    stimulus, response, confidence = observed(**observer)
    has_changed = confidence < 0
    assert 0.1 < has_changed.mean() < 0.2
    full = fit_mle(counted(stimulus, response, confidence, EDGES))
    assert full["dprime"].item() == pytest.approx(DPRIME, abs=0.03)
    assert full["m_ratio"].item() == pytest.approx(whole, abs=0.04)
    last = np.where(has_changed, 1 - response, response)
    folded = fit_mle(counted(stimulus, last, abs(confidence), OUTWARD))
    # Response and rating are cuts of one variable, whatever the observer is like.
    assert folded["m_ratio"].item() == pytest.approx(1, abs=0.03)
    kept = [x[~has_changed] for x in (stimulus, response, confidence)]
    less = fit_mle(counted(*kept, OUTWARD))
    assert less["dprime"].item() > DPRIME + 0.1
    assert less["m_ratio"].item() == pytest.approx(dropped, abs=0.04)
