"""Fits that are damaged, foreign, older or hostile are refused in one line, and give no verdict."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from attacks.test_formulas import HOSTILE
from command_line import refused
from hypothesis import strategies as st
from report.made_fit import made_fit
from tally import tally, tally_for

import hmetad
from hmetad.errors import InputError

HDF5 = b"\x89HDF\r\n\x1a\n"
DEEP = "[" * 100_000
PRIOR = {"dist": "Normal", "mu": 10**400, "sigma": 1}
LARGE_NUMBER = json.dumps({"name": "x", "priors": {"c": PRIOR}})
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


def edited(path, change):
    """The same file, as another program wrote it, after a change of its HDF5."""
    written(xr.load_datatree(path, engine="h5netcdf"), path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def changed(fit, group, change):
    """Copy of a fit one of whose groups is changed."""
    result = fit.assign({group: xr.DataTree(change(fit[group].to_dataset()))})
    result.attrs = dict(fit.attrs)
    return result


def test_a_fit_that_is_saved_is_read_as_it_was(whole, saved):
    read = hmetad.load_fit(saved)
    assert read.attrs == whole.attrs
    xr.testing.assert_identical(read["posterior"].to_dataset(), whole["posterior"].to_dataset())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("spec", None, r"attrs\['spec'\]"),
        ("spec", "", "spec: got no JSON"),
        ("spec", DEEP, "nested too deeply"),
        ("spec", "9" * 5000, "spec: got no JSON"),
        ("spec", "[]", "the record of a model"),
        ("spec", '{"name": "x", "code": "y"}', "code"),
        ("spec", '{"name": "x", "names": {"c": "cell"}}', "name of c: got 'cell'"),
        ("spec", '{"name": "x", "names": {"c": "a/b"}}', "name of c: got 'a/b'"),
        ("spec", '{"name": "x", "names": {"c": ""}}', "name of c: got ''"),
        (
            "spec",
            '{"name": "x", "likelihood": "response-conditional"}',
            "dims chain, draw, cell, resp",
        ),
        ("spec", '{"name": "x", "scale": "m"}', "no variable 'm'"),
        ("spec", '{"name": "x", "formula": {"c": "1"}}', "no variable 'c_Intercept'"),
        ("notices", "no JSON", r"attrs\['notices'\]"),
        ("notices", DEEP, "nested too deeply"),
        ("notices", '[{"code": "x"}]', "what hmetad writes there"),
        ("notices", 3, "JSON, as text"),
        ("versions", "[1]", r"attrs\['versions'\]"),
        ("same_items", '["a"]', r"attrs\['same_items'\]"),
        ("meta_criterion", "absolute", "relative, as in the spec"),
        ("meta_criterion", [1, 2], "relative, as in the spec"),
        (
            "spec",
            '{"name": "x", "priors": {"c": {"dist": "Normal", "mu": 1' + "0" * 400 + "}}}",
            "Normal",
        ),
        ("seed", None, r"attrs\['seed'\]"),
        ("model", 3, r"attrs\['model'\]"),
        ("sampler", None, r"attrs\['sampler'\]"),
    ],
)
def test_attrs_that_say_something_else_are_refused(whole, tmp_path, name, value, message):
    hostile = whole.copy()
    hostile.attrs = {k: v for k, v in {**whole.attrs, name: value}.items() if v is not None}
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(written(hostile, tmp_path / "fit.nc"))


@pytest.mark.parametrize("formula", HOSTILE[:18])
def test_a_formula_in_a_fit_runs_nothing(whole, tmp_path, formula):
    marker = tmp_path / "owned"
    record = json.loads(whole.attrs["spec"])
    record["formula"] = {"log_m": formula.format(run=f"'touch {marker}'")}
    hostile = whole.copy()
    hostile.attrs = {**whole.attrs, "spec": json.dumps(record)}
    written(hostile, tmp_path / "fit.nc")
    with pytest.raises(InputError, match="formula of log_m"):
        hmetad.load_fit(tmp_path / "fit.nc")
    assert "formula of log_m" in refused(tmp_path, "compare fit.nc --over model --rope=-1,1")
    assert not marker.exists(), "the formula ran"


def nan_in(values):
    values = values.copy(deep=True)
    values[0, 0] = np.nan
    return values


OTHER_POSTERIORS = {
    "no variable 'm_ratio'": lambda p: p.drop_vars("m_ratio"),
    "no variable 'log_gap'": lambda p: p.drop_vars("log_gap"),
    "of type <U5": lambda p: p.assign(label=(p["c"].dims, p["c"].values.astype("U5"))),
    "numbers with dims chain, draw": lambda p: p.assign(scalar=3.0),
    "dims chain, draw, cell": lambda p: p.assign(c=p["c"].isel(cell=0, drop=True)),
    "draws of meta_d that are not finite": lambda p: p.assign(meta_d=nan_in(p["meta_d"])),
    "draws of dprime that are not finite": lambda p: p.assign(dprime=p["dprime"] + np.inf),
    "cell .*that of the counts": lambda p: p.assign_coords(cell=["a", "b"]),
    "criterion .*that of the counts": lambda p: p.assign_coords(criterion=[1, 2, 4]),
    "response .*that of the counts": lambda p: p.isel(response=[1, 0]),
    "other values of model than": lambda p: p.assign_coords(model=("cell", ["b", "a"])),
    "sizes ": lambda p: p.isel(draw=slice(0)),
    "no variable 'dprime'": lambda p: p.set_coords("dprime"),
    "no diverging by chain, draw": lambda p: p.isel(draw=slice(20)),
}


@pytest.mark.parametrize("message", OTHER_POSTERIORS)
def test_draws_that_are_not_of_their_model_or_counts_are_refused(whole, tmp_path, message):
    hostile = changed(whole, "posterior", OTHER_POSTERIORS[message])
    with pytest.raises(InputError, match=message):
        hmetad.save_fit(hostile, tmp_path / "fit.nc")
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(written(hostile, tmp_path / "fit.nc"))


@pytest.mark.parametrize("group", ["posterior", "sample_stats", "observed_data"])
def test_a_group_that_is_missing_is_named(whole, tmp_path, group):
    rest = whole.filter(lambda node: node.name != group)
    rest.attrs = dict(whole.attrs)
    with pytest.raises(InputError, match=f"no group {group}"):
        hmetad.save_fit(rest, tmp_path / "fit.nc")


@pytest.mark.parametrize("thing", [None, 3, "fit", xr.Dataset(), xr.DataTree()])
def test_what_is_no_fit_does_not_take_a_good_ones_place(thing, copy):
    before = copy.read_bytes()
    with pytest.raises(InputError, match="fit: got"):
        hmetad.save_fit(thing, copy)
    assert copy.read_bytes() == before


def test_other_counts_are_refused(whole, tmp_path):
    fewer = changed(whole, "observed_data", lambda o: o.isel(cell=[0]))
    negative = changed(whole, "observed_data", lambda o: o.assign(counts=-1 - o["counts"]))
    for hostile, message in ((fewer, "that of the counts"), (negative, "counts of 0 or more")):
        with pytest.raises(InputError, match=message):
            hmetad.load_fit(written(hostile, tmp_path / "fit.nc"))


def test_a_changed_bit_does_not_fit_the_checksum(copy, whole):
    number = whole["posterior"]["log_m"].values[0, 3, 1]
    content = copy.read_bytes()
    assert content.count(number.tobytes()) == 1
    copy.write_bytes(content.replace(number.tobytes(), (number + 1e-12).tobytes()))
    with pytest.raises(InputError, match=r"does not match its checksum.*copy it again"):
        hmetad.load_fit(copy)


def test_a_fit_that_another_program_wrote_is_read(whole, tmp_path):
    read = hmetad.load_fit(written(whole, tmp_path / "fit.nc"))
    assert read.attrs == whole.attrs
    xr.testing.assert_identical(read["posterior"].to_dataset(), whole["posterior"].to_dataset())


def test_a_file_of_an_earlier_version_is_one_of_today(saved):
    content = saved.read_bytes()
    end = b"\nhmetad sha256 " + hashlib.sha256(content[:-80]).hexdigest().encode() + b"\n"
    assert content.endswith(end)


def test_coordinates_keep_names_with_blanks(tmp_path):
    fit = made_fit(["a", "b"], ["x"], draws=30, chains=2)
    names = {"model": "my model", "domain": "50 % \t of é|(x)"}
    groups = {n: g.to_dataset() for n, g in fit.children.items()}
    named = {n: g.rename(names) if "cell" in g.dims else g for n, g in groups.items()}
    named = xr.DataTree.from_dict({"/": xr.Dataset(attrs=fit.attrs), **named})
    read = hmetad.load_fit(hmetad.save_fit(named, tmp_path / "fit.nc"))
    for group in ("posterior", "observed_data"):
        xr.testing.assert_identical(read[group].to_dataset(), named[group].to_dataset())
    assert read.attrs == fit.attrs


def test_a_saved_fit_is_netcdf_for_everybody(whole, copy):
    read = xr.load_datatree(copy)
    xr.testing.assert_identical(read["posterior"].to_dataset(), whole["posterior"].to_dataset())


def soft_link(file, _):
    file["posterior/elsewhere"] = h5py.SoftLink("/posterior/c")


def external_link(file, other):
    file["posterior/elsewhere"] = h5py.ExternalLink(str(other), "secret")


def external_data(file, other):
    file.create_dataset("posterior/x", (8,), "u1", external=[(str(other), 0, 8)])


def virtual_data(file, other):
    layout = h5py.VirtualLayout((8,), "u1")
    layout[:] = h5py.VirtualSource(str(other), "secret", (8,))
    file.create_virtual_dataset("posterior/x", layout)


def nested_group(file, _):
    file.create_group("posterior/a/b")


def group_in_itself(file, _):
    file["again"] = file["/"]


def terabytes(file, _):
    file.create_dataset("posterior/x", (2**40,), "f8", chunks=(2**20,))


def opaque(file, _):
    file.create_dataset("posterior/x", (3,), np.dtype("V16"))


def compound(file, _):
    file.create_dataset("posterior/x", (3,), np.dtype([("a", "f8"), ("b", "i4")]))


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (soft_link, "a link to elsewhere"),
        (external_link, "a link to elsewhere"),
        (external_data, "data lie elsewhere"),
        (virtual_data, "data lie elsewhere"),
        (nested_group, "a group inside a group"),
        (group_in_itself, "a group inside a group"),
        (terabytes, r"arrays of 8192\.0 GiB.*at most 16\.0 GiB"),
        (opaque, "of type"),
        (compound, "of type"),
    ],
)
def test_a_file_that_holds_more_than_arrays_is_refused(copy, tmp_path, attack, message):
    other = tmp_path / "other.nc"
    with h5py.File(other, "w") as file:
        file["secret"] = np.arange(8, dtype="u1")
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(edited(copy, lambda file: attack(file, other)))


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


def test_a_store_whose_run_ended_is_whole(store):
    assert "partial" not in {notice.code for notice in hmetad.notices(hmetad.load_fit(store))}


def test_a_run_that_was_not_closed_is_partial(store):
    codes = {n.code: n.severity for n in hmetad.notices(hmetad.load_fit(unsealed(store)))}
    assert codes["partial"] == "error"


def test_earlier_versions_wrote_a_checksum_when_a_run_had_ended(store):
    now = hmetad.load_fit(store)
    record = json.loads((unsealed(store) / "fit.json").read_text())
    (store / "fit.json").write_text(json.dumps({**record, "checksum": "0" * 64}))
    xr.testing.assert_identical(hmetad.load_fit(store), now)


@pytest.mark.parametrize("name", ["sample_stats/logp/c/0/1", "posterior/x/c/1/1/0"])
def test_draws_that_are_lost_make_an_ended_run_partial(store, name):
    (store / "draws.zarr" / name).unlink()
    fit = hmetad.load_fit(store)
    assert fit["posterior"].sizes["draw"] < 20
    assert {n.code: n.severity for n in hmetad.notices(fit)}["partial"] == "error"


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


def with_pipe(store):
    os.mkfifo(store / OF_X / "pipe")


def with_link(store):
    (store / "draws.zarr/posterior/elsewhere").symlink_to("/etc")


STORES = {
    "fit.json: got no JSON": with_record(""),
    "nested too deeply": with_record(DEEP),
    "no record of a run": with_record('{"attrs": {}, "draws": "many"}'),
    "attrs\\['spec'\\]": with_record('{"attrs": {"model": "x"}, "draws": 20}'),
    "counts.nc: got a file that cannot be read .FileNotFoundError": lambda store: (
        store / "counts.nc"
    ).unlink(),
    "counts.nc: got a file that cannot be read .no netCDF": lambda store: (
        store / "counts.nc"
    ).write_bytes(b"CDF"),
    "x/zarr.json: got a record that": with_entry(zarr_format=2),
    "numcodecs.pickle.*allowed is": with_entry(codecs=[{"name": "numcodecs.pickle"}]),
    "data of type 'object'": with_entry(data_type="object"),
    "zarr.json: got a record that is not": with_entry(shape=[-1]),
    "arrays of .* GiB": with_entry(shape=[2, 10**12]),
    "arrays of 7.* GiB": with_entry(
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1, 10**12]}}
    ),
    "record that is not as sampling": with_entry(storage_transformers=[{"name": "x"}]),
    "run: got a file that cannot be read": with_pickle,
    "elsewhere: got a link": with_link,
    "pipe: got a link": with_pipe,
    "zarr.json: got a record": with_entry(data_type="string", fill_value="a"),
    "conflicting dimension sizes": with_entry(dimension_names=["cell", "draw", "chain"]),
}


@pytest.mark.parametrize("message", STORES)
def test_a_store_that_holds_more_or_less_than_draws_is_refused(store, message, monkeypatch):
    monkeypatch.chdir(store)
    STORES[message](unsealed(store))
    with pytest.raises(InputError, match=message):
        hmetad.load_fit(store)
    assert not (store / "owned").exists()


# Damage

damages = st.tuples(
    st.sampled_from(["flip", "cut", "zero", "swap", "insert"]),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 255),
)


def damaged(content, damage):
    """Bytes after an accident at a place, some of them changed."""
    how, where, size = damage
    place = int(where * len(content))
    changed = bytearray(content)
    if how == "flip":
        changed[place] ^= 1 << size % 8
    elif how == "cut":
        del changed[place:]
    elif how == "zero":
        changed[place : place + size] = bytes(len(changed[place : place + size]))
    elif how == "swap":
        changed[place : place + size] = changed[place : place + size][::-1]
    else:
        changed[place:place] = bytes(size)
    return bytes(changed)


def attack_on(path, file=None):
    """What becomes of a fit after an accident to its file, or to one file of its store."""
    file = file or path
    content, whole = file.read_bytes(), hmetad.load_fit(path)

    def attack(damage):
        file.write_bytes(damaged(content, damage))
        try:
            fit = hmetad.load_fit(path)
        except InputError as error:
            return "refused" if "\n" not in str(error) else str(error)
        if fit.identical(whole):
            return "unchanged"
        codes = {notice.code for notice in hmetad.notices(fit)}
        return "partial" if "partial" in codes else "read"

    return attack


def test_a_damaged_file_is_refused(copy):
    assert set(tally(damages, attack_on(copy), examples=200)) <= {"refused", "unchanged"}


@pytest.mark.parametrize(
    "name",
    ["fit.json", "counts.nc", "draws.zarr/posterior/x/zarr.json", "draws.zarr/posterior/x/c/0/0/0"],
)
def test_a_damaged_store_gives_no_verdict(store, name):
    unsealed(store)
    ends = tally(damages, attack_on(store, store / name), examples=20)
    assert set(ends) <= {"refused", "partial", "unchanged"}


@pytest.mark.slow
def test_a_damaged_file_is_refused_for_minutes(copy, store):
    ends = tally_for(1, damages, attack_on(copy), name="damaged fits")
    assert set(ends) <= {"refused", "unchanged"}
    ends = tally_for(1, damages, attack_on(store, store / "counts.nc"), name="damaged stores")
    assert set(ends) <= {"refused", "unchanged"}
    unsealed(store)
    for name in ("fit.json", f"{OF_X}/zarr.json", f"{OF_X}/c/0/0/0"):
        ends = tally_for(1, damages, attack_on(store, store / name), name=f"partial, {name}")
        assert set(ends) <= {"refused", "partial", "unchanged"}
