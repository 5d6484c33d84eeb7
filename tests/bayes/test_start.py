"""Chains begin near the data."""

import numpy as np
import pytest

from hmetad.bayes.model import build_model
from hmetad.bayes.spec import load_model
from hmetad.bayes.start import starting_point
from hmetad.simulate.simulate import simulate_counts


@pytest.mark.parametrize("card", ["individual", "hmetad_single"])
def test_the_start_lies_far_closer_to_the_data_than_the_priors_centre(card):
    counts = simulate_counts([3.2, 1.2], [0.3, 0.5], 0.8, trials=20_000, seed=1)
    model = build_model(counts, load_model(card))
    log_p = model.compile_logp()
    start = model.initial_point()
    centre = {name: np.zeros_like(value) for name, value in start.items()}
    assert log_p(start) - log_p(centre) > 5_000


def test_ratings_that_nobody_used_have_a_start():
    counts = simulate_counts([2.0], trials=500, ratings=5, seed=1)
    counts[..., 2] = 0
    values = starting_point(counts, load_model("individual"), {}).values
    assert all(np.isfinite(v).all() for v in values.values())
    assert values["log_gap"].shape == (1, 2, 4)
