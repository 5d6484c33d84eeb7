"""Options of a fit mean the same in every way of sampling, and odd ones are refused at once."""

import subprocess
import sys

import numpy as np
import pytest

import hmetad
from hmetad import InputError

QUIET = {"progressbar": False, "quiet": True}
SHORT = {"draws": 20, "tune": 20, "chains": 1, **QUIET}
# Cells enough for several parts, which the importance sampler works on side by side.
THREADS = """
import threading, warnings
import numpy as np, hmetad
counts = hmetad.simulate_counts(np.linspace(0.8, 2, 120), trials=400, seed=1)
before = threading.active_count()
fit = hmetad.fit(counts, draws=50, random_seed=1, progressbar=False, quiet=True{cores})
print(fit.attrs["method"], threading.active_count() - before)
"""


def started(cores):
    """Method of a fit in a process of its own, and the threads that it has left there."""
    code = THREADS.format(cores=cores)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    method, number = done.stdout.split()
    return method, int(number)


@pytest.mark.integration
def test_one_core_is_one_thread_in_importance_sampling_too():
    assert started(", cores=1") == ("importance", 0)


@pytest.fixture(scope="module")
def counts():
    return hmetad.simulate_counts([1.0, 1.5], trials=400, seed=1)


def test_cores_change_no_draw(counts):
    pair = [hmetad.fit(counts, cores=cores, random_seed=1, **SHORT) for cores in (1, 2)]
    for name in ("log_m", "criteria"):
        np.testing.assert_array_equal(*(fit["posterior"][name] for fit in pair))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("draws", 0),
        ("chains", 1.5),
        ("cores", 0),
        ("tune", -1),
        ("random_seed", -1),
        ("random_seed", [1, 2]),
    ],
)
def test_odd_numbers_are_refused_before_anything_is_sampled(counts, name, value):
    with pytest.raises(InputError, match=f"^{name}: .*whole number of at least [01].*got"):
        hmetad.fit(counts, **{**SHORT, name: value})


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"seed": 1}, "'random_seed'"),
        ({"n_draws": 10}, "'draws'"),
        ({"formulas": "1 + task"}, "'formula'"),
        ({"initval": {}}, "'initvals'"),
    ],
)
def test_unknown_options_are_refused_before_counts_are_read(options, meant):
    with pytest.raises(InputError, match=f"^sample_kwargs: Did you mean {meant}"):
        hmetad.fit(None, **options)


def test_options_of_pymc_and_of_its_sampler_reach_it(counts, monkeypatch):
    reached = []

    def sample(_, options):
        reached.append(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("hmetad.bayes.model.sample_pymc", sample)
    theirs = {"max_treedepth": 5, "nuts_sampler": "pymc", "init": "adapt_diag"}
    with pytest.raises(KeyboardInterrupt):
        hmetad.fit(counts, **SHORT, **theirs)
    assert reached[0].items() >= theirs.items()


@pytest.mark.parametrize("sampler", ["numpyro", "blackjax", "stan", None])
def test_other_samplers_than_nutpie_and_pymc_are_refused(counts, sampler):
    with pytest.raises(InputError, match=r"^nuts_sampler: .*'nutpie' or 'pymc'.*got "):
        hmetad.fit(counts, nuts_sampler=sampler, **SHORT)


@pytest.mark.parametrize(("card", "most"), [("individual", 12), ("cncb", 11)])
def test_importance_sampling_says_how_many_ratings_a_card_may_have(card, most):
    def fitted(ratings):
        gaps = np.full((2, ratings - 1), 0.2)
        table = hmetad.simulate_counts(1.5, trials=2000, gaps=gaps, seed=1)
        return hmetad.fit(table, card, method="importance", random_seed=1, **SHORT)

    assert fitted(most).attrs["method"] == "importance"
    with pytest.raises(InputError, match=f"at most {most} ratings"):
        fitted(most + 1)
