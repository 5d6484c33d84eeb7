"""Saved fits: what a file keeps, what is thinned, and what other versions and folders are."""

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit
from saved import as_saved, is_of_many

import hmetad
from hmetad.base.notice import notices
from hmetad.bayes.fit import fit
from hmetad.bayes.store import load_fit, save_fit, thin_draws
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import designs_of

QUIET = {"progressbar": False, "random_seed": 1, "quiet": True}


@pytest.fixture(scope="module")
def made():
    return made_fit(["a", "b"], ["x", "y"], draws=40, chains=2)


@pytest.fixture
def limited(monkeypatch):
    """Return a function that sets the limit of a file, in bytes."""

    def to(size):
        monkeypatch.setattr("hmetad.bayes.store.limit", lambda _: size / 10**6)

    return to


def test_files_keep_all_digits_of_the_population_and_seven_of_cells_and_people(tmp_path):
    people = simulate_counts([1.5] * 4, coords={"subject": [*"abcd"]}, seed=1)
    path = save_fit(fit(people, "group", draws=20, chains=2, tune=20, **QUIET), tmp_path / "fit.nc")
    with xr.open_datatree(path) as kept:
        assert len({is_of_many(values) for values in kept["posterior"].data_vars.values()}) == 2
        for name, values in kept["posterior"].data_vars.items():
            assert values.dtype == (np.float32 if is_of_many(values) else np.float64), name
            assert values.encoding["zlib"]


def test_a_fit_that_is_saved_again_loses_nothing_more(made, tmp_path):
    once = load_fit(save_fit(made, tmp_path / "fit.nc"))
    xr.testing.assert_identical(load_fit(save_fit(once, tmp_path / "fit.nc")), once)


def test_draws_beyond_single_precision_keep_double(made, tmp_path):
    posterior = made["posterior"].to_dataset()
    huge = posterior["m_ratio"].copy(data=posterior["m_ratio"].values * 1e300)
    large = made.assign(posterior=xr.DataTree(posterior.assign(m_ratio=huge)))
    read = load_fit(save_fit(large, tmp_path / "fit.nc"))
    xr.testing.assert_equal(read["posterior"]["m_ratio"], huge)


@pytest.mark.parametrize("value", [-np.inf, np.nan, 1e9])
def test_one_draw_of_another_program_that_cannot_be_right_withholds_what_it_is_of(
    made, tmp_path, value
):
    posterior = made["posterior"].to_dataset()
    values = posterior["log_m"].copy(deep=True)
    values[{"chain": 0, "draw": 3, "cell": 1}] = value
    changed = made.assign(posterior=xr.DataTree(posterior.assign(log_m=values)))
    read = load_fit(save_fit(changed, tmp_path / "fit.nc"))
    cell = str(values["cell"].values[1])
    for source in (read, read["posterior"]["log_m"]):
        (notice,) = [one for one in notices(source) if one.code == "odd-draws"]
        assert (notice.severity, notice.cells) == ("error", (cell,))
    verdicts = hmetad.decide(read["posterior"]["log_m"], rope=(-0.1, 0.1)).table()
    assert verdicts["label"][verdicts["withheld"].str.contains("odd")].tolist() == [cell]
    assert "Draws of log_m are not finite" in hmetad.report.fit_report(read).html()


def test_statistics_that_are_not_finite_are_named(made, tmp_path):
    stats = made["sample_stats"].to_dataset()
    odd = stats.assign(energy=stats["diverging"] * 0.0 + np.nan)
    read = load_fit(save_fit(made.assign(sample_stats=xr.DataTree(odd)), tmp_path / "fit.nc"))
    (notice,) = [one for one in notices(read) if one.code == "odd-draws"]
    assert (notice.severity, notice.message[-8:]) == ("warning", " energy.")


def test_formulas_are_evaluated_once(tmp_path, monkeypatch):
    evaluated = []
    for module in ("fitted", "program"):
        name = f"hmetad.bayes.{module}.designs_of"
        monkeypatch.setattr(name, lambda *given: evaluated.append(given) or designs_of(*given))
    counts = simulate_counts([1.2, 1.6], coords={"subject": ["x", "y"]}, trials=400, seed=1)
    draws = fit(counts, formula={"log_m": "1 + (1|subject)"}, draws=20, chains=1, **QUIET)
    assert len(evaluated) == 1
    evaluated.clear()
    load_fit(save_fit(draws, tmp_path / "fit.nc"))
    assert len(evaluated) <= 1


# Thinning


def test_a_fit_above_the_limit_keeps_every_kth_draw_and_a_notice(made, limited, tmp_path):
    drawn = [x for x in made["posterior"].data_vars.values() if "draw" in x.dims]
    size = sum(x.nbytes // (2 if is_of_many(x) else 1) for x in drawn)
    limited(size / 2.5)
    read = load_fit(save_fit(made, tmp_path / "fit.nc"))
    assert read["posterior"].sizes["draw"] == 14
    kept = as_saved(made)["posterior"].to_dataset().isel(draw=slice(None, None, 3))
    xr.testing.assert_equal(read["posterior"].to_dataset(), kept)
    (said,) = [one for one in notices(read) if one.code == "draws-thinned"]
    assert said.severity == "info"
    assert "one draw in 3" in said.message
    assert "draws-thinned" not in {one.code for one in notices(made)}
    assert np.isfinite(hmetad.contrast(read, var="log_m", over="model", within="domain")).all()


def test_a_fit_below_the_limit_is_left_alone(made, limited):
    assert thin_draws(made) is made
    limited(1)
    assert thin_draws(made)["posterior"].sizes["draw"] == 1
