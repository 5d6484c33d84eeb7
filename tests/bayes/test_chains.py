"""Draws of the compiled density: who samples what, from where, and that PyMC's draws agree."""

import subprocess
import sys

import numpy as np
import pytest

from hmetad.bayes.chains import initial_points, sample_together
from hmetad.bayes.density import unwarp
from hmetad.bayes.fit import chosen_sampler, fit, sample_by_pymc
from hmetad.bayes.importance import sample_by_importance
from hmetad.bayes.program import build_program
from hmetad.bayes.separate_cells import sample_cells_by_chains
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.loading import load_model

QUIET = {"progressbar": False, "quiet": True}
OPTIONS = {"draws": 100, "tune": 100, "chains": 2, "cores": 2, "random_seed": 1}


@pytest.fixture(scope="module")
def counts():
    people = {"subject": list("abcdef")}
    return simulate_counts([1.5] * 6, m_ratio=0.8, trials=400, seed=1, coords=people)


@pytest.mark.parametrize(
    ("card", "given", "expected"),
    [
        ("group", {}, sample_together),
        ("group", {"target_accept": 0.9, "progressbar": False, "tune": 0}, sample_together),
        ("group", {"nuts_sampler": "nutpie"}, sample_by_pymc),
        ("group", {"nuts_sampler": "pymc"}, sample_by_pymc),
        ("group", {"initvals": {}}, sample_by_pymc),
        ("sdt", {}, sample_by_importance),
        ("sdt", {"target_accept": 0.9}, sample_cells_by_chains),
    ],
)
def test_pymc_samples_what_it_alone_can(counts, card, given, expected):
    program = build_program(counts, load_model(card))
    sampler, density = chosen_sampler(program, OPTIONS | given, "auto")
    assert sampler is expected
    assert (density == "pymc") is (expected is sample_by_pymc)


def test_chains_begin_around_the_starting_point(counts):
    program = build_program(counts, load_model("group"))
    begin = initial_points(program)
    np.testing.assert_array_equal(begin(3), begin(3))
    points = np.stack([begin(seed) for seed in range(400)])
    x = np.empty(program.layout.size)
    unwarp(points.mean(axis=0), program.packed, x)
    (sd,) = (v for v in program.layout.free if v.name == "log_m_1|subject_sigma")
    assert x[sd.first] == pytest.approx(program.start.values[sd.name], rel=0.2)
    assert (np.ptp(points, axis=0) > 1.9).all()
    assert abs(points - points.mean(axis=0)).max() <= 1.2


@pytest.mark.integration
def test_pymcs_model_has_the_same_posterior(counts):
    ours = fit(counts, "group", draws=2000, random_seed=1, **QUIET)
    theirs = fit(counts, "group", draws=2000, random_seed=2, nuts_sampler="nutpie", **QUIET)
    assert (ours.attrs["density"], theirs.attrs["density"]) == ("compiled", "pymc")
    assert {*ours["posterior"].data_vars} == {*theirs["posterior"].data_vars}
    for name in ("log_m_Intercept", "log_m_1|subject_sigma", "dprime_Intercept"):
        a, b = ours["posterior"][name], theirs["posterior"][name]
        # Of 3,000 effective draws a decile varies by .06 SD. The SD itself, whose tail is heavy,
        # varies by more.
        deciles = [np.quantile(draws, [0.1, 0.5, 0.9]) for draws in (a, b)]
        assert abs(np.subtract(*deciles)).max() < 0.25 * min(float(a.std()), float(b.std()))


FRESH_FIT = """
import sys
from hmetad import fit, load_fit, save_fit, simulate_counts

options = {"draws": 20, "tune": 20, "chains": 2, "progressbar": False, "quiet": True}
save_fit(fit(simulate_counts(1.5, m_ratio=0.8, seed=1), **options), sys.argv[1])
load_fit(sys.argv[1])
heavy = ("pymc", "pytensor", "arviz", "arviz_plots", "matplotlib")
print([name for name in heavy if name in sys.modules])
import arviz
print(arviz.from_dict.__name__)
"""


@pytest.mark.integration
def test_a_fit_imports_no_library_that_it_does_not_use(tmp_path):
    command = [sys.executable, "-c", FRESH_FIT, str(tmp_path / "fit.nc")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["[]", "from_dict"], done.stderr
