"""Ratings that are quantiles of each person are noticed, and others are not."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import hmetad
from hmetad import load_model
from hmetad.specs.design import designs_of
from hmetad.specs.identification import even_ratings_notices


@cache
def sliders(people=20, trials=200, seed=3):
    """Trials with a slider of people in two tasks, who use it differently."""
    rng = np.random.default_rng(seed)
    parts = []
    for person in range(people):
        for task in ("memory", "vision"):
            width = rng.lognormal(np.log(0.022), 0.25)
            own = hmetad.simulate_trials(
                rng.normal(1.5, 0.3),
                m_ratio=np.exp(rng.normal(-0.2, 0.3)),
                gaps=np.full((2, 100), width),
                ratings=101,
                trials=trials,
                seed=int(rng.integers(2**31)),
            )
            parts.append(own.assign(subject=f"s{person}", task=task))
    return pd.concat(parts, ignore_index=True)


def notices_on(trials, ratings, within, card="multitask"):
    binned = hmetad.bin_confidence(trials["confidence"], ratings, within=within)
    by = ["subject", "task"]
    counts = hmetad.count_trials(trials.assign(confidence=binned), by=by, ratings=ratings)
    return even_ratings_notices(counts, designs_of(counts, load_model(card)))


@pytest.mark.filterwarnings("ignore:Equal or too few values")
@pytest.mark.parametrize("ratings", [4, 6])
def test_quantiles_of_each_cell_and_of_each_person_are_noticed_and_the_same_cuts_are_not(ratings):
    trials = sliders()
    (of_cells,) = notices_on(trials, ratings, trials["subject"] + trials["task"])
    assert "Every cell" in of_cells.message
    (of_people,) = notices_on(trials, ratings, trials["subject"])
    assert "Every subject" in of_people.message
    assert notices_on(trials, ratings, None) == []


def test_cells_that_share_nothing_and_people_alike_by_chance_are_not_noticed():
    trials = sliders(4)
    assert notices_on(trials, 4, trials["subject"], "individual") == []
    counts = hmetad.simulate_counts([1.5] * 30, coords={"subject": range(30)}, seed=1)
    assert even_ratings_notices(counts, designs_of(counts, load_model("group"))) == []


def test_fits_carry_the_notice():
    trials = sliders(8, 100)
    binned = hmetad.bin_confidence(trials["confidence"], 4, within=trials["subject"])
    counts = hmetad.count_trials(trials.assign(confidence=binned), by=["subject", "task"])
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 50, "tune": 50}
    fit = hmetad.fit(counts, "multitask", chains=2, **quiet)
    assert "even-ratings" in {notice.code for notice in hmetad.notices(fit)}
