"""Fits by JAX's samplers agree with nutpie's; without JAX there is a word on how to get it."""

import json
import sys

import numpy as np
import pytest

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.bayes.fit import fit
from hmetad.bayes.jax_sampling import prepare_jax
from hmetad.counts.vectors import from_nr

pytestmark = pytest.mark.integration

COUNTS = from_nr(
    [[52, 32, 35, 37, 26, 12, 4, 2], [36, 24, 17, 20, 10, 12, 9, 2]],
    [[2, 5, 15, 22, 33, 38, 40, 45], [1, 4, 10, 11, 19, 18, 28, 39]],
    model=["A", "B"],
)
QUIET = {"chains": 2, "random_seed": 1, "progressbar": False, "quiet": True}


@pytest.fixture(scope="module")
def nutpies():
    return fit(COUNTS, draws=1000, tune=500, **QUIET)


@pytest.mark.parametrize("sampler", ["numpyro", "blackjax"])
def test_samplers_in_jax_find_nutpies_posterior(sampler, nutpies):
    pytest.importorskip(sampler)
    draws = fit(COUNTS, nuts_sampler=sampler, draws=500, tune=500, target_accept=0.9, **QUIET)
    assert draws.attrs["sampler"] == sampler
    assert set(json.loads(draws.attrs["versions"])) >= {"jax", sampler}
    assert "divergences" not in {notice.code for notice in notices(draws)}
    ours, theirs = draws["posterior"], nutpies["posterior"]
    assert ours["cell"].values.tolist() == ["A", "B"]
    assert ours["model"].values.tolist() == ["A", "B"]
    assert set(ours.data_vars) == set(theirs.data_vars)
    for name in ("dprime", "c", "log_m", "criteria"):
        assert ours[name].dims == theirs[name].dims
        over = ["chain", "draw"]
        error = abs(ours[name].mean(over) - theirs[name].mean(over)) / theirs[name].std(over)
        # 400 effective draws or more of either: 0.07 of a standard deviation, and four of those.
        assert float(error.max()) < 0.28, name
        np.testing.assert_allclose(ours[name].std(over), theirs[name].std(over), rtol=0.25)


@pytest.mark.parametrize("sampler", ["numpyro", "blackjax"])
def test_a_sampler_that_is_not_installed_says_how_to_get_it(sampler, monkeypatch):
    monkeypatch.setitem(sys.modules, sampler, None)
    with pytest.raises(InputError, match=r'pip install "\.\[jax\]"'):
        fit(COUNTS, nuts_sampler=sampler)


def test_a_backend_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for options in ({"backend": "jax"}, {"nuts": {"backend": "JAX"}}):
        with pytest.raises(InputError, match="backend: got 'jax' without jax"):
            prepare_jax(options)


def test_chains_run_as_one_vector_unless_told_otherwise():
    pytest.importorskip("numpyro")
    given = {"nuts_sampler": "numpyro", "nuts": {"dense_mass": True}}
    expected = {"chain_method": "vectorized", "dense_mass": True}
    assert prepare_jax(given)["nuts"] == expected
    assert given["nuts"] == {"dense_mass": True}
    told = {"nuts_sampler": "numpyro", "nuts": {"chain_method": "sequential"}}
    assert prepare_jax(told) == told


def test_options_that_need_no_jax_are_left_alone():
    assert prepare_jax({"draws": 10, "nuts_sampler": "nutpie"}) == {
        "draws": 10,
        "nuts_sampler": "nutpie",
    }
