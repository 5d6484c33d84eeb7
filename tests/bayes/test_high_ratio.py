"""An M-ratio that is clearly above 1.5 is said wherever it is estimated, with its usual causes."""

import numpy as np
import pytest

import hmetad
from hmetad import notices
from tests.command_line import run

QUIET = {"random_seed": 1, "progressbar": False, "quiet": True}


@pytest.fixture(scope="module")
def counts():
    """A cell whose M is 2.5, one whose M is 1, and one of few trials whose estimate is high."""
    sharp = hmetad.simulate_counts([1.0, 1.0], m_ratio=[2.5, 1.0], trials=3000, seed=1)
    few = [[[9, 4, 4], [1, 1, 6]], [[6, 1, 1], [4, 4, 9]]]
    named = hmetad.simulate_counts(
        [1.0, 1.0, 1.0], ratings=3, trials=10, coords={"model": ["sharp", "plain", "few"]}, seed=1
    )
    values = np.concatenate([merged(sharp.values), [few]])
    return named.copy(data=values)


def merged(values):
    """Four ratings as three: the highest two are one."""
    return np.concatenate([values[..., :2], values[..., 2:].sum(axis=-1, keepdims=True)], axis=-1)


def high(result):
    return [one for one in notices(result) if one.code == "high-m-ratio"]


def estimates(counts):
    """Every way to M-ratio with an interval, for each cell by itself."""
    yield hmetad.fit_mle(counts)
    yield hmetad.fit_mle(counts, response_conditional=True)
    yield hmetad.fit_mle(counts, "individual")
    yield hmetad.measure(counts, meta_d=True)
    yield hmetad.resample_interval(counts, hmetad.fit_mle, n=100, seed=1)
    yield hmetad.resample_interval(
        counts, lambda table: hmetad.fit_mle(table)[["m_ratio"]].drop_attrs(), n=100, seed=1
    )
    fitted = hmetad.fit(counts, method="importance", draws=300, chains=2, **QUIET)
    yield fitted
    yield fitted["posterior"]["m_ratio"]


def test_a_cell_clearly_above_is_said_and_no_other(counts):
    for found in estimates(counts):
        (notice,) = high(found)
        assert (notice.severity, notice.cells) == ("warning", ("sharp",))


def test_the_notice_says_how_its_causes_can_be_told():
    # A scale whose lowest rating means that the other response was right.
    bare = hmetad.from_nr([300, 150, 40, 120, 10, 4], [4, 10, 120, 40, 150, 300])
    (notice,) = high(hmetad.fit_mle(bare))
    assert "Accuracy is 0.79, at the lowest rating 0.25; 90 % of errors have" in notice.message
    for check in ("below 0.5 at the lowest rating", "mixed-difficulty", "accuracy near 1"):
        assert check in notice.next_step


@pytest.mark.integration
def test_a_population_clearly_above_is_said(tmp_path):
    people = {"subject": [f"p{i}" for i in range(50)], "group": ["a"] * 44 + ["b"] * 6}
    m = [2.6] * 44 + [0.9] * 6
    counts = hmetad.simulate_counts([1.2] * 50, m_ratio=m, trials=400, coords=people, seed=2)
    sharp = counts.isel(cell=slice(44))
    fitted = hmetad.fit(sharp, "group", draws=300, chains=2, **QUIET)
    [population] = high(fitted)
    assert population.cells == ()
    assert "in the population (population: 2." in population.message
    formula = {"log_m": "0 + group + (1 | subject)"}
    both = hmetad.fit(counts, "group", formula=formula, draws=300, chains=2, **QUIET)
    (population, *_) = high(both)
    assert "(a: 2." in population.message
    hmetad.save_fit(both, tmp_path / "fit.nc")
    run(tmp_path, "report fit.nc -o page.md")
    assert "M-ratio is clearly above 1.5 in the population" in (tmp_path / "page.md").read_text()
