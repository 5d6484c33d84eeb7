"""Fits on disk: what was drawn is never lost, and a run that was cut short says so."""

import numpy as np
import pytest
import xarray as xr

from hmetad.bayes.fit import fit
from hmetad.bayes.store import load_fit
from hmetad.counts.notices import notices
from hmetad.errors import InputError
from hmetad.simulate.simulate import simulate_counts

COUNTS = simulate_counts(
    [1.2, 1.6, 2.0], m_ratio=0.8, trials=1000, coords={"subject": ["x", "y", "z"]}, seed=1
)
FORMULA = {"log_m": "1 + (1|subject)"}
QUIET = {"progressbar": False, "random_seed": 1}


def test_draws_that_were_kept_on_disk_are_those_of_the_fit(tmp_path):
    kept = fit(COUNTS, formula=FORMULA, store=tmp_path / "run", draws=200, chains=2, **QUIET)
    loaded = load_fit(tmp_path / "run")
    xr.testing.assert_equal(loaded["posterior"].to_dataset(), kept["posterior"].to_dataset())
    assert loaded.attrs == kept.attrs
    assert [n.code for n in notices(loaded)] == [n.code for n in notices(kept)]
    memory = fit(COUNTS, formula=FORMULA, draws=200, chains=2, quiet=True, **QUIET)
    ours, theirs = (x["posterior"].to_dataset() for x in (kept, memory))
    assert set(ours.data_vars) == set(theirs.data_vars)
    assert ours["log_m"].dims == theirs["log_m"].dims
    assert ours["subject"].values.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(ours["log_m"].mean(), theirs["log_m"].mean(), atol=0.1)


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(InputError, match="a folder that is new or empty"):
        fit(COUNTS, store=tmp_path, **QUIET)
    with pytest.raises(InputError, match="a folder without draws"):
        load_fit(tmp_path)


def test_options_that_nutpie_alone_does_not_take_are_named(tmp_path):
    with pytest.raises(InputError, match="nuts_sampler with store"):
        fit(COUNTS, store=tmp_path / "run", nuts_sampler="pymc", **QUIET)
    assert not (tmp_path / "run").exists()
