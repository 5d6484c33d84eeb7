"""Fits on disk: what was drawn is never lost, and a run that was cut short says so."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.base.variable_names import FACTOR_DIM
from hmetad.bayes.fit import fit
from hmetad.bayes.kept_cells import following_names
from hmetad.bayes.program import Program, build_program
from hmetad.bayes.store import load_fit, save_fit
from hmetad.compare.contrasts import contrast
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import designs_of
from hmetad.specs.loading import load_model

pytestmark = pytest.mark.integration

COUNTS = simulate_counts(
    [1.2, 1.6, 2.0], m_ratio=0.8, trials=1000, coords={"subject": ["x", "y", "z"]}, seed=1
)
FORMULA = {"log_m": "1 + (1|subject)"}
SMALL_FILES = ("individual", "group", "multitask", "crossed_items", "dmc", "hmetad_group")
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


def plain(value):
    if hasattr(value, "items"):
        return {key: plain(own) for key, own in value.items()}
    return list(value) if isinstance(value, tuple) else value


def test_draws_that_were_kept_on_disk_are_those_of_the_fit(tmp_path):
    kept = fit(COUNTS, formula=FORMULA, store=tmp_path / "run", draws=200, chains=2, **QUIET)
    loaded = load_fit(tmp_path / "run")
    xr.testing.assert_equal(loaded["posterior"].to_dataset(), kept["posterior"].to_dataset())
    assert loaded.attrs == kept.attrs
    assert [n.code for n in notices(loaded)] == [n.code for n in notices(kept)]
    memory = fit(COUNTS, formula=FORMULA, draws=200, chains=2, quiet=True, **QUIET)
    ours, theirs = (x["posterior"].to_dataset() for x in (kept, memory))
    # Other draws of the same variables: seeds of chains in memory are their own.
    assert {*ours} == {*theirs}
    assert ours.sizes == theirs.sizes
    assert ours["subject"].values.tolist() == ["x", "y", "z"]


def test_what_is_kept_of_pymcs_density_is_a_fit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(Program, "is_compiled", False)
    options = {"draws": 100, "tune": 100, "chains": 2, **QUIET}
    coords = {"subject": ["x", "y", "z"]}
    counts = simulate_counts([1.2, 1.6, 2.0], trials=400, coords=coords, seed=1)
    formula = {"dprime": "1 + (1|subject)"}
    kept = fit(counts, "sdt", formula=formula, store=tmp_path / "run", **options)
    assert kept.attrs["density"] == "pymc"
    assert not [name for name in kept["posterior"] if str(name).endswith("_offset")]
    loaded = load_fit(tmp_path / "run")
    xr.testing.assert_equal(loaded["posterior"].to_dataset(), kept["posterior"].to_dataset())


def test_draws_on_disk_keep_their_effects_whatever_offsets_are_relative_to(tmp_path, monkeypatch):
    options = {"draws": 100, "tune": 100, "chains": 2, **QUIET}
    kept = fit(COUNTS, formula=FORMULA, store=tmp_path / "run", **options)

    def build_other(*arguments):
        program = build_program(*arguments)
        parametrisations = program.start.parametrisations
        part = parametrisations["log_m"].blocks[0]
        moved = replace(part, estimates=part.estimates + 1, information=3 * part.information)
        other = {"log_m": replace(parametrisations["log_m"], blocks=(moved,))}
        return replace(program, known_start=replace(program.start, parametrisations=other))

    monkeypatch.setattr("hmetad.bayes.store.build_program", build_other)
    loaded = load_fit(tmp_path / "run")
    xr.testing.assert_equal(loaded["posterior"].to_dataset(), kept["posterior"].to_dataset())


def is_rounded(values):
    """Whether a variable is one of cells or of groups, which small files round."""
    return any(dim == "cell" or str(dim).endswith(FACTOR_DIM) for dim in values.dims)


@pytest.mark.parametrize("card", SMALL_FILES)
def test_a_small_file_is_the_same_fit_but_for_digits_of_people(card, tmp_path):
    options = {"draws": 20, "tune": 20, "chains": 2, **QUIET}
    example = {name: plain(value) for name, value in load_model(card).example.items()}
    draws = fit(simulate_counts(**example, seed=3), card, quiet=True, **options)
    whole = save_fit(draws, tmp_path / "whole.nc", whole=True)
    small = save_fit(draws, tmp_path / "small.nc", whole=False)
    with xr.open_datatree(small) as kept:
        assert "m_ratio" not in kept["posterior"]
    xr.testing.assert_identical(load_fit(whole), draws)
    read = load_fit(small)
    exact, found = draws["posterior"].to_dataset(), read["posterior"].to_dataset()
    assert [*found] == [*exact]
    people = {name: found[name].copy(data=own) for name, own in exact.items() if is_rounded(own)}
    same = read.assign(posterior=xr.DataTree(found.assign(people)))
    xr.testing.assert_identical(same, draws)


def reported(draws):
    """What pages and tables are made of: quantities, effects, differences, shares within a ROPE."""
    posterior = draws["posterior"].to_dataset()
    differences = contrast(draws, var="log_m", over="subject")
    within = abs(differences) < 0.2
    return {**posterior, "difference": differences, "within": within.astype(float)}


@pytest.mark.parametrize(
    ("card", "trials"),
    # Many trials: of each person more is known than of the population.
    [("group", 300), ("group", 30_000), ("individual", 300), ("hmetad_group", 1000)],
)
def test_no_number_moves_by_more_than_its_monte_carlo_error(card, trials, tmp_path):
    people = {"subject": ["x", "y", "z", "w"]}
    counts = simulate_counts(
        [1.2, 1.6, 2.0, 0.6], m_ratio=0.8, trials=trials, ratings=6, coords=people, seed=1
    )
    draws = fit(counts, card, draws=500, chains=4, quiet=True, **QUIET)
    read = draws
    for _ in range(3):
        read = load_fit(save_fit(read, tmp_path / "fit.nc", whole=False))
    assert [n.code for n in notices(read)] == [n.code for n in notices(draws)]
    exact, found = reported(draws), reported(read)
    shifts = {name: largest_shift(values, found[name]) for name, values in exact.items()}
    assert max(shifts.values()) < 1, shifts
    assert any(shifts.values())


def mcse(draws, **options):
    """Monte Carlo error by ArviZ."""
    return array_stats.mcse(draws, chain_axis=0, draw_axis=1, **options)


def largest_shift(exact, read):
    """How far statistics of draws move, in their Monte Carlo errors."""
    one, other = (x.transpose(..., "chain", "draw") for x in (exact, read))
    shape = (-1, *one.shape[-2:])
    pairs = zip(one.values.reshape(shape), other.values.reshape(shape), strict=True)
    found = [0.0]
    for own, new in pairs:
        if np.ptp(own) == 0 or not np.isfinite(own).all():
            continue
        is_share = len(np.unique(own)) == 2
        moved = {"mean": new.mean() - own.mean()}
        moved |= {} if is_share else {"sd": new.std() - own.std()}
        errors = {name: mcse(own, method=name) for name in moved}
        for prob in () if is_share else (0.025, 0.5, 0.975):
            moved[prob] = np.quantile(new, prob) - np.quantile(own, prob)
            errors[prob] = mcse(own, method="quantile", prob=prob)
        found += [abs(moved[name]) / errors[name] for name in moved if errors[name] > 0]
    return max(found)


def test_a_small_file_of_an_earlier_version_is_read_to_the_last_digit(tmp_path):
    draws = fit(COUNTS, draws=20, quiet=True, **QUIET)
    posterior = draws["posterior"].to_dataset()
    kept = posterior.drop_vars(following_names(load_model("individual")))
    earlier = draws.assign(posterior=xr.DataTree(kept))
    earlier.attrs = draws.attrs | {"variables": json.dumps([*posterior])}
    earlier.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    xr.testing.assert_identical(load_fit(tmp_path / "fit.nc"), draws)


def test_draws_that_are_not_those_of_the_model_are_all_kept(tmp_path):
    draws = fit(COUNTS, draws=20, quiet=True, **QUIET)
    posterior = draws["posterior"].to_dataset()
    own = draws.assign(posterior=xr.DataTree(posterior.assign(m_ratio=posterior["m_ratio"] + 1)))
    path = save_fit(own, tmp_path / "fit.nc", whole=False)
    xr.testing.assert_identical(load_fit(path)["posterior"], own["posterior"])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("[]", "posterior of"),
        ('["a"]', "posterior of"),
        ("{}", "posterior of"),
        ("x", "JSON"),
    ],
)
def test_a_small_file_that_lacks_more_is_refused(names, said, tmp_path):
    draws = fit(COUNTS, draws=20, quiet=True, **QUIET)
    path = save_fit(draws, tmp_path / "fit.nc", whole=False)
    tree = xr.load_datatree(path)
    tree.attrs["variables"] = names
    tree.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputError, match=said):
        load_fit(path)


def test_draws_of_which_most_are_the_same_are_rounded_too(tmp_path):
    draws = fit(COUNTS, draws=20, chains=1, quiet=True, **QUIET)
    posterior = draws["posterior"].to_dataset()
    same = posterior.isel(draw=[0] * 15 + [1, 2, 3, 4, 5]).assign_coords(draw=posterior["draw"])
    path = save_fit(draws.assign(posterior=xr.DataTree(same)), tmp_path / "fit.nc", whole=False)
    read = load_fit(path)["posterior"].to_dataset()
    for name in ("log_m", "dprime", "criteria"):
        error = abs(read[name] - same[name])
        assert (error < same[name].std(["chain", "draw"]) / 14).all(), name


@pytest.mark.parametrize(
    ("group", "change"),
    [
        ("left_out", lambda x: x.drop_vars("log_m")),
        ("left_out", lambda x: x.isel(scale=[0])),
        ("rounded", lambda x: x.isel(draw=slice(10))),
        ("rounded", lambda x: x.isel(chain=[0])),
        ("rounded", lambda x: x.isel(cell=[0])),
        ("rounded", lambda x: x.assign(log_m=x["log_m"].assign_attrs(unit="a"))),
        ("rounded", lambda x: x.assign(log_m=x["log_m"].drop_attrs())),
    ],
)
def test_a_small_file_whose_rounded_draws_do_not_fit_is_refused(group, change, tmp_path):
    draws = fit(COUNTS, draws=20, chains=2, quiet=True, **QUIET)
    path = save_fit(draws, tmp_path / "fit.nc", whole=False)
    tree = xr.load_datatree(path)
    changed = tree.assign({group: xr.DataTree(change(tree[group].to_dataset()))})
    changed.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputError, match=r"fit\.nc"):
        load_fit(path)


def test_a_small_file_may_not_grow_beyond_the_limit(tmp_path):
    draws = fit(COUNTS, draws=200, quiet=True, **QUIET)
    path = save_fit(draws, tmp_path / "fit.nc", whole=False)
    with xr.open_datatree(path) as kept:
        size = sum(group.nbytes for group in kept.children.values())
    with pytest.raises(InputError, match="Raise max_bytes"):
        load_fit(path, max_bytes=size + 1000)


def test_formulas_are_evaluated_once(tmp_path, monkeypatch):
    asked = []
    for module in ("fitted", "finish", "program"):
        name = f"hmetad.bayes.{module}.designs_of"
        monkeypatch.setattr(name, lambda *given: asked.append(given) or designs_of(*given))
    draws = fit(COUNTS, formula=FORMULA, store=tmp_path / "run", draws=20, chains=1, **QUIET)
    assert len(asked) == 1
    path = save_fit(draws, tmp_path / "fit.nc", whole=False)
    for place in (path, tmp_path / "run"):
        asked.clear()
        load_fit(place)
        assert len(asked) == 1


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
    assert "of 20,000 draws a chain" in codes["partial"].message
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
