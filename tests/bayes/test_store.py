"""Fits on disk: what was drawn is never lost, and a run that was cut short says so."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

from hmetad.bayes.fit import fit
from hmetad.bayes.store import load_fit
from hmetad.errors import InputError
from hmetad.notice import notices
from hmetad.simulate.simulate import simulate_counts

pytestmark = pytest.mark.integration

COUNTS = simulate_counts(
    [1.2, 1.6, 2.0], m_ratio=0.8, trials=1000, coords={"subject": ["x", "y", "z"]}, seed=1
)
FORMULA = {"log_m": "1 + (1|subject)"}
QUIET = {"progressbar": False, "random_seed": 1}
LONG_RUN = """
import sys
import numpy as np
from hmetad.bayes.fit import fit
from hmetad.simulate.simulate import simulate_counts
names = {"subject": range(60)}
counts = simulate_counts(np.linspace(1, 2, 60), m_ratio=0.8, trials=400, coords=names, seed=1)
fit(counts, "group", store=sys.argv[1], draws=20_000, tune=300, chains=2, progressbar=False)
"""


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


def test_a_killed_run_leaves_what_it_had_drawn_and_says_so(tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", LONG_RUN, str(folder)])
    try:
        wait_for_draws(folder, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    partial = load_fit(folder)
    assert 0 < partial["posterior"].sizes["draw"] < 20_000
    assert not bool(partial["posterior"]["log_m"].isnull().any())
    codes = {notice.code: notice for notice in notices(partial)}
    assert "of 20000 draws a chain" in codes["partial"].message
    assert codes["partial"].severity == "error"


def wait_for_draws(folder, process, patience=180):
    """Wait until a run has written a second piece of every chain, and so the first of all."""
    deadline = time.monotonic() + patience
    while not all((folder / f"draws.zarr/sample_stats/logp/c/{i}/1").exists() for i in range(2)):
        assert process.poll() is None, "the run ended"
        assert time.monotonic() < deadline, "no draws were written"
        time.sleep(0.1)


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
