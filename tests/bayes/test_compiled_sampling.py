"""Draws of the compiled density: who samples what, from where, and that PyMC's draws agree."""

import subprocess
import sys

import numpy as np
import pytest

from hmetad.bayes.compiled_sampling import can_sample, initial_points
from hmetad.bayes.fit import fit
from hmetad.bayes.problem import build_problem
from hmetad.bayes.program_writer import write_program
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
        ("group", {}, True),
        ("group", {"target_accept": 0.9, "progressbar": False, "tune": 0}, True),
        ("group", {"nuts_sampler": "nutpie"}, False),
        ("group", {"initvals": {}}, False),
        ("group", {"random_seed": [1, 2]}, True),
        ("sdt", {}, True),
    ],
)
def test_pymc_samples_what_it_alone_can(counts, card, given, expected):
    problem = build_problem(counts, load_model(card))
    assert can_sample(problem, OPTIONS | given) is expected


def test_chains_begin_around_the_starting_point(counts):
    problem = build_problem(counts, load_model("group"))
    program = write_program(problem)
    begin = initial_points(problem, program)
    np.testing.assert_array_equal(begin(3), begin(3))
    points = np.stack([begin(seed) for seed in range(400)])
    (sd,) = (v for v in program.free if v.name == "log_m_1|subject_sigma")
    start = np.log(problem.start.values[sd.name])
    own = np.log(points[:, sd.first])
    assert np.ptp(own) > 1.9
    assert abs(own - start).max() <= 1


def test_the_same_seed_gives_the_same_draws(counts):
    first, second = (
        fit(counts, "individual", draws=50, tune=50, chains=2, random_seed=4, **QUIET)
        for _ in range(2)
    )
    assert first.attrs["density"] == "compiled"
    np.testing.assert_array_equal(first["posterior"]["log_m"], second["posterior"]["log_m"])
    assert first["observed_data"]["counts"].equals(second["observed_data"]["counts"])


@pytest.mark.integration
def test_pymcs_model_has_the_same_posterior(counts):
    ours = fit(counts, "group", draws=2000, random_seed=1, **QUIET)
    theirs = fit(counts, "group", draws=2000, random_seed=2, nuts_sampler="nutpie", **QUIET)
    assert (ours.attrs["density"], theirs.attrs["density"]) == ("compiled", "pymc")
    assert {*ours["posterior"].data_vars} == {*theirs["posterior"].data_vars}
    for name in ("log_m_Intercept", "log_m_1|subject_sigma", "dprime_Intercept"):
        a, b = ours["posterior"][name], theirs["posterior"][name]
        assert abs(float(a.mean() - b.mean())) < 0.15 * float(b.std())
        assert float(a.std() / b.std()) == pytest.approx(1, abs=0.12)


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


def test_a_fit_imports_no_library_that_it_does_not_use(tmp_path):
    command = [sys.executable, "-c", FRESH_FIT, str(tmp_path / "fit.nc")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["[]", "from_dict"], done.stderr
