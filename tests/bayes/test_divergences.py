"""Divergences are charged to the people in whose posterior they lie, and to nobody by chance."""

import numpy as np
import pytest
import xarray as xr

from hmetad import (
    contrast,
    decide,
    fit,
    notices,
    predict,
    simulate_counts,
)
from hmetad.bayes.convergence import divergence_notices
from hmetad.bayes.fitted import Fitted

ROPE = (-0.1, 0.1)
# 500 trials of each stimulus, none wrong. The confidence of one response is always the highest.
NO_ERROR = [[[0, 0, 0, 500], [0] * 4], [[0] * 4, [10, 100, 200, 190]]]
# Half of the answers are right, and confidence tells very well which.
NO_DPRIME = [[[0, 40, 200, 760], [760, 200, 40, 0]], [[760, 200, 40, 0], [0, 40, 200, 760]]]


def people(seed, odd=None, number=19, trials=300):
    """Counts of people whose d′ is 1 to 2, and of one more."""
    rng = np.random.default_rng(seed)
    names = [f"p{i:02d}" for i in range(number)]
    counts = simulate_counts(
        rng.uniform(1, 2, number),
        m_ratio=np.exp(rng.normal(-0.2, 0.3, number)),
        trials=trials,
        coords={"subject": names},
        seed=seed,
    )
    if odd is None:
        return counts
    one = counts.isel(cell=[0]).copy(data=np.array(odd)[None])
    one = one.assign_coords(cell=["odd"], subject=("cell", ["odd"]))
    return xr.concat([counts, one], "cell")


def drawn(counts, seed, **options):
    quiet = {"progressbar": False, "quiet": True, "random_seed": seed}
    return fit(counts, "group", **{"draws": 500, **quiet, **options})


def divergences(result):
    """Notices of divergences."""
    return [one for one in notices(result) if one.code == "divergences"]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.integration)])
@pytest.mark.parametrize("odd", [NO_ERROR, NO_DPRIME], ids=["no error", "no d′"])
def test_one_person_is_named_and_withholds_verdicts_on_them_alone(odd, seed):
    found = drawn(people(1, odd), seed, target_accept=0.8)
    (said,) = divergences(found)
    assert (said.severity, said.cells) == ("error", ("odd",))
    assert "drop_sel(cell=['odd'])" in said.next_step
    table = decide(contrast(found, var="dprime", over="subject"), rope=ROPE).table()
    is_odd = (table[["left", "right"]] == "odd").any(axis=1)
    assert table["withheld"].str.contains("divergences").tolist() == is_odd.tolist()
    # Of the population it is said, and does not withhold.
    for shared in (found["posterior"]["log_m_Intercept"], predict(found)["m_ratio"]):
        (said,) = divergences(shared)
        assert (said.severity, said.cells) == ("warning", ())
        assert "odd" in said.message
        assert "divergences" not in decide(shared, rope=ROPE).table()["withheld"][0]
    # Predictions of people bear them for the same person.
    (said,) = divergences(predict(found, {"subject": ["odd", "p00"]}, group_terms=True)["c"])
    assert (said.severity, said.cells) == ("error", ("odd",))


@pytest.mark.parametrize("seed", [1, 2])
def test_steps_too_long_for_all_are_nobodys(seed):
    found = drawn(people(seed, number=6, trials=60), seed, target_accept=0.3)
    (said,) = divergences(found)
    assert said.cells == ()
    assert "Attributed to: p0" in said.message
    judged = decide(contrast(found, var="log_m", over="subject"), rope=ROPE).table()
    assert judged["withheld"].str.contains("divergences").all()


def test_a_step_of_one_who_has_several_cells_counts_once():
    who = {"subject": [f"p{i}" for i in range(8) for _ in "12"], "task": ["1", "2"] * 8}
    counts = simulate_counts([1.5] * 16, m_ratio=0.8, trials=200, coords=who, seed=1)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    found = fit(counts, "multitask", draws=100, tune=100, **quiet)
    stats = found["sample_stats"].to_dataset()
    own = np.isin(stats["cell"], ["p0 | 1", "p0 | 2"])
    # 19 steps of one person and one of another, each in both of their cells.
    within = np.where(own, 19, np.where(np.isin(stats["cell"], ["p1 | 1", "p1 | 2"]), 1, 0))
    diverging = np.zeros(stats["diverging"].shape, dtype=bool)
    diverging.ravel()[:20] = True
    changed = stats.assign(
        divergences_within=("cell", within),
        divergences_shared=("cell", within / 2),
        divergences_nowhere=0,
        diverging=(stats["diverging"].dims, diverging),
    )
    found["sample_stats"] = xr.DataTree(changed)
    (said,) = divergence_notices(Fitted.of(found))
    assert said.cells == ("p0 | 1", "p0 | 2")


def test_steps_that_end_nowhere_lose_no_draws():
    """Numbers that are not standardised make chains diverge where the density is not finite."""
    who = {"subject": [f"p{i}" for i in range(6) for _ in "12"], "condition": [328, 1000] * 6}
    counts = simulate_counts([1.5] * 12, m_ratio=0.8, trials=200, coords=who, seed=1)
    formula = {"log_m": "1 + condition + (1 | subject)"}
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    found = fit(counts, "group", formula=formula, draws=200, target_accept=0.3, **quiet)
    stats = found["sample_stats"]
    assert 0 < int(stats["diverging"].sum()) >= int(stats["divergences_nowhere"])
