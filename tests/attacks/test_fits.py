"""Fits that are damaged, foreign, older or hostile are refused in one line, and give no verdict."""

import hashlib
import json
import operator
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from attacks.damage import changes, damaged
from attacks.test_formulas import HOSTILE
from command_line import refused
from hypothesis import strategies as st
from report.made_fit import made_fit

import hmetad
from hmetad.base.errors import InputError

HDF5 = b"\x89HDF\r\n\x1a\n"
DEEP = "[" * 100_000
OF_X = "draws.zarr/posterior/x"


@pytest.fixture(scope="module")
def whole():
    return made_fit(["a", "b"], ["x"], draws=30, chains=2)


@pytest.fixture(scope="module")
def saved(whole, tmp_path_factory):
    return hmetad.save_fit(whole, tmp_path_factory.mktemp("fits") / "fit.nc")


@pytest.fixture
def copy(saved, tmp_path):
    return Path(shutil.copy(saved, tmp_path / "fit.nc"))


def written(fit, path):
    """Path of a fit that another program wrote as it is."""
    fit.to_netcdf(path, engine="h5netcdf")
    return path


def with_groups(fit, change):
    """Copy of a fit whose groups are what a function of name and Dataset makes of them."""
    groups = {name: change(name, group.to_dataset()) for name, group in fit.children.items()}
    groups = {name: group for name, group in groups.items() if group is not None}
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=fit.attrs), **groups})


def renamed(fit):
    """The same fit, of columns whose names have blanks and signs."""
    names = {"model": "my model", "domain": "50 % \t of é|(x)"}
    return with_groups(fit, lambda _, x: x.rename(names) if "cell" in x.dims else x)


@pytest.mark.parametrize(
    ("made", "save", "load"),
    [
        (lambda fit: fit, hmetad.save_fit, hmetad.load_fit),
        (lambda fit: fit, written, hmetad.load_fit),
        (lambda fit: fit, hmetad.save_fit, xr.load_datatree),
        (renamed, hmetad.save_fit, hmetad.load_fit),
    ],
    ids=["saved", "of another program", "for everybody", "names with blanks"],
)
def test_a_fit_is_read_as_it_was_written(made, save, load, whole, tmp_path):
    fit = made(whole)
    read = load(save(fit, tmp_path / "fit.nc"))
    for group in ("posterior", "observed_data"):
        xr.testing.assert_identical(read[group].to_dataset(), fit[group].to_dataset())
    assert read.attrs == fit.attrs


def attr(name, value):
    """A fit one of whose attrs is another, or is missing."""

    def change(fit):
        hostile = fit.copy()
        hostile.attrs = {k: v for k, v in {**fit.attrs, name: value}.items() if v is not None}
        return hostile

    return change


def spec(**fields):
    """A fit with the record of another model."""
    return attr("spec", json.dumps({"name": "x", **fields}))


def group(name, change):
    """A fit one of whose groups is another, or is missing."""
    return lambda fit: with_groups(fit, lambda own, x: change(x) if own == name else x)


def draws(change):
    return group("posterior", change)


def nan_in(values):
    values = values.copy(deep=True)
    values[0, 0] = np.nan
    return values


HUGE = '{"name": "x", "priors": {"c": {"dist": "Normal", "mu": 1' + "0" * 400 + "}}}"
FITS = [
    (attr("spec", None), r"attrs\['spec'\]"),
    (attr("spec", ""), "spec: got no JSON"),
    (attr("spec", DEEP), "nested too deeply"),
    (attr("spec", "9" * 5000), "spec: got no JSON"),
    (attr("spec", "[]"), "the record of a model"),
    (attr("spec", HUGE), "Normal"),
    (spec(code="y"), "code"),
    (spec(names={"c": "cell"}), "name of c: got 'cell'"),
    (spec(names={"c": "a/b"}), "name of c: got 'a/b'"),
    (spec(names={"c": ""}), "name of c: got ''"),
    (spec(likelihood="response-conditional"), "dims chain, draw, cell, resp"),
    (spec(scale="m"), "no variable 'm'"),
    (spec(formula={"c": "1"}), "no variable 'c_Intercept'"),
    (attr("notices", "no JSON"), r"attrs\['notices'\]"),
    (attr("notices", DEEP), "nested too deeply"),
    (attr("notices", '[{"code": "x"}]'), "what hmetad writes there"),
    (attr("notices", 3), "JSON, as text"),
    (attr("versions", "[1]"), r"attrs\['versions'\]"),
    (attr("same_items", '["a"]'), r"attrs\['same_items'\]"),
    (attr("meta_criterion", "absolute"), "relative, as in the spec"),
    (attr("meta_criterion", [1, 2]), "relative, as in the spec"),
    (attr("seed", None), r"attrs\['seed'\]"),
    (attr("model", 3), r"attrs\['model'\]"),
    (attr("sampler", None), r"attrs\['sampler'\]"),
    (draws(lambda p: p.drop_vars("m_ratio")), "no variable 'm_ratio'"),
    (draws(lambda p: p.drop_vars("log_gap")), "no variable 'log_gap'"),
    (draws(lambda p: p.assign(x=(p["c"].dims, p["c"].values.astype("U5")))), "of type <U5"),
    (draws(lambda p: p.assign(scalar=3.0)), "numbers with dims chain, draw"),
    (draws(lambda p: p.assign(c=p["c"].isel(cell=0, drop=True))), "dims chain, draw, cell"),
    (draws(lambda p: p.assign(meta_d=nan_in(p["meta_d"]))), "draws of meta_d that are not finite"),
    (draws(lambda p: p.assign(dprime=p["dprime"] + np.inf)), "draws of dprime that are not finite"),
    (draws(lambda p: p.assign_coords(cell=["a", "b"])), "cell .*that of the counts"),
    (draws(lambda p: p.assign_coords(criterion=[1, 2, 4])), "criterion .*that of the counts"),
    (draws(lambda p: p.isel(response=[1, 0])), "response .*that of the counts"),
    (draws(lambda p: p.assign_coords(model=("cell", ["b", "a"]))), "other values of model than"),
    (draws(lambda p: p.isel(draw=slice(0))), "sizes "),
    (draws(lambda p: p.set_coords("dprime")), "no variable 'dprime'"),
    (draws(lambda p: p.isel(draw=slice(20))), "no diverging by chain, draw"),
    (draws(lambda _: None), "no group posterior"),
    (group("sample_stats", lambda _: None), "no group sample_stats"),
    (group("observed_data", lambda _: None), "no group observed_data"),
    (group("observed_data", lambda o: o.isel(cell=[0])), "that of the counts"),
    (group("observed_data", lambda o: o.assign(counts=-1 - o["counts"])), "counts of 0 or more"),
]


@pytest.mark.parametrize(("change", "message"), FITS)
def test_a_fit_that_says_something_else_is_neither_read_nor_saved(whole, tmp_path, change, message):
    hostile = change(whole)
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(written(hostile, tmp_path / "fit.nc"))
    with pytest.raises(InputError, match=message):
        hmetad.save_fit(hostile, tmp_path / "other.nc")


@pytest.mark.parametrize("formula", HOSTILE[:18:6])
def test_a_formula_in_a_fit_runs_nothing(whole, tmp_path, formula):
    marker = tmp_path / "owned"
    hostile = spec(formula={"log_m": formula.format(run=f"'touch {marker}'")})(whole)
    written(hostile, tmp_path / "fit.nc")
    assert "formula of log_m" in refused(tmp_path, "compare fit.nc --over model --rope=-1,1")
    assert not marker.exists(), "the formula ran"


def test_what_is_no_fit_does_not_take_a_good_ones_place(whole, copy):
    before = copy.read_bytes()
    for thing in (None, 3, "fit", np.ones(3), xr.Dataset(), xr.DataTree(), whole["posterior"]):
        with pytest.raises(InputError, match="fit: got"):
            hmetad.save_fit(thing, copy)
    assert copy.read_bytes() == before


def test_a_changed_bit_does_not_fit_the_checksum_which_is_that_of_all_versions(copy, whole):
    number, content = whole["posterior"]["log_m"].values[0, 3, 1], copy.read_bytes()
    end = b"\nhmetad sha256 " + hashlib.sha256(content[:-80]).hexdigest().encode() + b"\n"
    assert content.endswith(end)
    assert content.count(number.tobytes()) == 1
    copy.write_bytes(content.replace(number.tobytes(), (number + 1e-12).tobytes()))
    with pytest.raises(InputError, match=r"does not match its checksum.*copy it again"):
        hmetad.load_fit(copy)


def dataset(*given, **options):
    """A file with one more array."""
    return lambda file, _: file.create_dataset("posterior/x", *given, **options)


def link(path, target):
    """A file with one more link, to what a function of both files names."""
    return lambda file, other: operator.setitem(file, path, target(file, other))


def virtual_data(file, other):
    layout = h5py.VirtualLayout((8,), "u1")
    layout[:] = h5py.VirtualSource(str(other), "secret", (8,))
    file.create_virtual_dataset("posterior/x", layout)


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (link("posterior/y", lambda *_: h5py.SoftLink("/posterior/c")), "a link to elsewhere"),
        (
            link("posterior/y", lambda _, other: h5py.ExternalLink(str(other), "secret")),
            "a link to elsewhere",
        ),
        (
            lambda file, other: dataset((8,), "u1", external=[(str(other), 0, 8)])(file, other),
            "data lie elsewhere",
        ),
        (virtual_data, "data lie elsewhere"),
        (lambda file, _: file.create_group("posterior/a/b"), "a group inside a group"),
        (link("again", lambda file, _: file["/"]), "a group inside a group"),
        (dataset((2**40,), "f8", chunks=(2**20,)), r"arrays of 8192\.0 GiB.*at most 16\.0 GiB"),
        (dataset((3,), np.dtype("V16")), "of type"),
        (dataset((3,), np.dtype([("a", "f8"), ("b", "i4")])), "of type"),
    ],
)
def test_a_file_that_holds_more_than_arrays_is_refused(whole, tmp_path, attack, message):
    other, path = tmp_path / "other.nc", written(whole, tmp_path / "fit.nc")
    with h5py.File(other, "w") as file:
        file["secret"] = np.arange(8, dtype="u1")
    with h5py.File(path, "r+") as file:
        attack(file, other)
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(path)


def test_the_limit_on_memory_can_be_set(copy):
    with pytest.raises(InputError, match="Raise max_bytes of load_fit"):
        hmetad.load_fit(copy, max_bytes=1000)


@pytest.mark.parametrize("content", [b"", b"no netCDF", b"CDF\x01", HDF5, b"PK\x03\x04"])
def test_what_is_no_fit_is_refused(tmp_path, content):
    (tmp_path / "fit.nc").write_bytes(content)
    for line in ("compare fit.nc --over model --rope=-1,1", "report fit.nc -o report.html"):
        said = refused(tmp_path, line)
        assert said.startswith("hmetad: fit.nc: got a file that cannot be read")


# Stores


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The store of a run that came to its end."""
    folder = tmp_path_factory.mktemp("stores") / "run"
    counts = hmetad.simulate_counts([1.5, 2.0], trials=500, seed=1)
    options = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False}
    hmetad.fit(counts, store=folder, **options)
    return folder


@pytest.fixture
def store(ended, tmp_path):
    return Path(shutil.copytree(ended, tmp_path / "run"))


def unsealed(store):
    """The same as a run that was cut short, whose record does not say that it ended."""
    record = json.loads((store / "fit.json").read_text())
    del record["ended"]
    (store / "fit.json").write_text(json.dumps(record))
    return store


def severities(store):
    """Severity of each notice of a run, by its code."""
    return {notice.code: notice.severity for notice in hmetad.notices(hmetad.load_fit(store))}


def test_a_run_that_was_not_closed_or_lost_draws_is_partial(store):
    now = hmetad.load_fit(store)
    assert "partial" not in severities(store)
    assert severities(unsealed(store))["partial"] == "error"
    # Earlier versions wrote a checksum when a run had ended.
    record = json.loads((store / "fit.json").read_text())
    (store / "fit.json").write_text(json.dumps({**record, "checksum": "0" * 64}))
    xr.testing.assert_identical(hmetad.load_fit(store), now)
    for name in ("sample_stats/logp/c/0/1", "posterior/x/c/1/1/0"):
        lost = store / "draws.zarr" / name
        content = lost.read_bytes()
        lost.unlink()
        assert hmetad.load_fit(store)["posterior"].sizes["draw"] < 20
        assert severities(store)["partial"] == "error"
        lost.write_bytes(content)


def with_entry(**entries):
    def attack(store):
        path = store / OF_X / "zarr.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))

    return attack


def with_record(text):
    return lambda store: (store / "fit.json").write_text(text)


def with_pickle(store):
    """An array of the older format, whose data are decoded by pickle."""
    path = store / OF_X
    shutil.rmtree(path)
    path.mkdir()
    filters = [{"id": "pickle", "protocol": 4}]
    array = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None}
    text = json.dumps({**array, "order": "C", "compressor": None, "filters": filters})
    (path / ".zarray").write_text(text)
    (path / "0").write_bytes(b"cposix\nsystem\n(S'touch owned'\ntR.")


def with_counts(content):
    return lambda store: (store / "counts.nc").write_bytes(content)


CHUNKS = {"name": "regular", "configuration": {"chunk_shape": [1, 10**12]}}
STORES = [
    (with_record(""), "fit.json: got no JSON"),
    (with_record(DEEP), "nested too deeply"),
    (with_record('{"attrs": {}, "draws": "many"}'), "no record of a run"),
    (with_record('{"attrs": {"model": "x"}, "draws": 20}'), r"attrs\['spec'\]"),
    (
        lambda store: (store / "counts.nc").unlink(),
        "counts.nc: got a file that cannot be read .File",
    ),
    (with_counts(b"CDF"), "counts.nc: got a file that cannot be read .no netCDF"),
    (with_entry(zarr_format=2), "x/zarr.json: got a record that"),
    (with_entry(codecs=[{"name": "numcodecs.pickle"}]), "numcodecs.pickle.*allowed is"),
    (with_entry(data_type="object"), "data of type 'object'"),
    (with_entry(shape=[-1]), "zarr.json: got a record that is not"),
    (with_entry(shape=[2, 10**12]), "arrays of .* GiB"),
    (with_entry(chunk_grid=CHUNKS), "arrays of 7.* GiB"),
    (with_entry(storage_transformers=[{"name": "x"}]), "record that is not as sampling"),
    (with_entry(data_type="string", fill_value="a"), "zarr.json: got a record"),
    (with_entry(dimension_names=["cell", "draw", "chain"]), "conflicting dimension sizes"),
    (with_pickle, "run: got a file that cannot be read"),
    (lambda store: (store / OF_X / "elsewhere").symlink_to("/etc"), "elsewhere: got a link"),
    (lambda store: os.mkfifo(store / OF_X / "pipe"), "pipe: got a link"),
]


@pytest.mark.parametrize(("change", "message"), STORES)
def test_a_store_that_holds_more_or_less_than_draws_is_refused(store, change, message, monkeypatch):
    monkeypatch.chdir(store)
    change(unsealed(store))
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(store)
    assert not (store / "owned").exists()


# Damage


def attack_on(path, names=("",)):
    """What becomes of a fit after an accident to its file, or to one file of its store."""
    whole = hmetad.load_fit(path)
    contents = {path / name: (path / name).read_bytes() for name in names}

    def attack(example):
        where, own = example
        file = path / where
        file.write_bytes(damaged(contents[file], own))
        try:
            fit = hmetad.load_fit(path)
        except InputError as error:
            return "refused" if "\n" not in str(error) else str(error)
        finally:
            file.write_bytes(contents[file])
        if fit.identical(whole):
            return "unchanged"
        codes = {notice.code for notice in hmetad.notices(fit)}
        return "partial" if "partial" in codes else "read"

    return st.tuples(st.sampled_from(names), changes), attack


PARTS = ("fit.json", "counts.nc", f"{OF_X}/zarr.json", f"{OF_X}/c/0/0/0")


def test_damaged_files_and_stores_give_no_verdict(tally, copy, store):
    ends = tally(*attack_on(copy), examples=200, minutes=1)
    ends += tally(*attack_on(store, ("counts.nc",)), examples=10, minutes=1)
    assert set(ends) <= {"refused", "unchanged"}
    ends = tally(*attack_on(unsealed(store), PARTS), examples=50, minutes=3)
    assert set(ends) <= {"refused", "partial", "unchanged"}
