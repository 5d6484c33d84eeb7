"""Ratings by signal detection theory against meta-d′ at M = 1."""

import numpy as np

from hmetad.likelihood.registry import load_likelihood


def test_it_is_meta_d_at_an_m_of_1():
    rng = np.random.default_rng(1)
    values = {
        "dprime": rng.normal(1, 1, 50),
        "c": rng.normal(0, 1, 50),
        "gaps": rng.gamma(2, 0.3, (50, 2, 3)),
    }
    ours = load_likelihood("signal-detection").outcomes(values)
    meta = load_likelihood("meta-d").outcomes({**values, "m_ratio": np.ones(50)})
    np.testing.assert_allclose(ours, meta, rtol=1e-12)
