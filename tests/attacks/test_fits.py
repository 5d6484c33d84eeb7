"""Fits that are damaged, foreign, older or hostile are refused in one line, and give no verdict."""

import hashlib
import json
import operator
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from attacks.damage import changes, damaged
from attacks.test_formulas import HOSTILE
from command_line import refused
from report.made_fit import made_fit
from saved import as_saved

import hmetad
from hmetad.base.errors import InputError

HDF5 = b"\x89HDF\r\n\x1a\n"
DEEP = "[" * 100_000


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
    ("made", "save", "load", "kept"),
    [
        (lambda fit: fit, hmetad.save_fit, hmetad.load_fit, as_saved),
        (lambda fit: fit, written, hmetad.load_fit, lambda fit: fit),
        (lambda fit: fit, hmetad.save_fit, xr.load_datatree, as_saved),
        (renamed, hmetad.save_fit, hmetad.load_fit, as_saved),
    ],
    ids=["saved", "of another program", "for everybody", "names with blanks"],
)
def test_a_fit_is_read_as_it_was_written(made, save, load, kept, whole, tmp_path):
    fit = made(whole)
    read = load(save(fit, tmp_path / "fit.nc"))
    for group in ("posterior", "observed_data"):
        xr.testing.assert_identical(read[group].to_dataset(), kept(fit)[group].to_dataset())
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
    (attr("spec", ""), "spec: .*got no JSON"),
    (attr("spec", DEEP), "nested too deeply"),
    (attr("spec", "[]"), "the record of a model"),
    (attr("spec", HUGE), "Normal"),
    (spec(code="y"), "code"),
    (spec(names={"c": "cell"}), "name of c: .*got 'cell'"),
    (spec(likelihood="response-conditional"), "dims chain, draw, cell, resp"),
    (spec(scale="m"), "no variable 'm'"),
    (spec(formula={"c": "1"}), "no variable 'c_Intercept'"),
    (attr("notices", "no JSON"), r"attrs\['notices'\]"),
    (attr("notices", '[{"code": "x"}]'), "what hmetad writes there"),
    (attr("notices", 3), "JSON, as text"),
    (attr("versions", "[1]"), r"attrs\['versions'\]"),
    (attr("same_items", '["a"]'), r"attrs\['same_items'\]"),
    (attr("meta_criterion", [1, 2]), "relative, as in the spec"),
    (attr("seed", None), r"attrs\['seed'\]"),
    (attr("sampler", None), r"attrs\['sampler'\]"),
    (draws(lambda p: p.assign(c=p["c"].assign_attrs(role="king"))), r"attrs\['role'\]"),
    (draws(lambda p: p.assign(c=p["c"].assign_attrs(role=[1, 2]))), r"attrs\['role'\]"),
    (draws(lambda p: p.assign(c=p["c"].assign_attrs(role="sd", factor=3))), r"attrs\['role'\]"),
    (draws(lambda p: p.assign_coords(cell=p["cell"].assign_attrs(role=""))), r"attrs\['role'\]"),
    (draws(lambda p: p.drop_vars("m_ratio")), "no variable 'm_ratio'"),
    (draws(lambda p: p.assign(x=(p["c"].dims, p["c"].values.astype("U5")))), "of type <U5"),
    (draws(lambda p: p.assign(scalar=3.0)), "numbers with dims chain, draw"),
    (draws(lambda p: p.assign(c=p["c"].isel(cell=0, drop=True))), "dims chain, draw, cell"),
    (draws(lambda p: p.assign(meta_d=nan_in(p["meta_d"]))), "draws of meta_d that are not finite"),
    (draws(lambda p: p.assign_coords(cell=["a", "b"])), r"that of the counts.*cell "),
    (draws(lambda p: p.assign_coords(criterion=[1, 2, 4])), r"that of the counts.*criterion "),
    (draws(lambda p: p.isel(response=[1, 0])), r"that of the counts.*response "),
    (draws(lambda p: p.assign_coords(model=("cell", ["b", "a"]))), "other values of model than"),
    (draws(lambda p: p.isel(draw=slice(0))), "sizes "),
    (draws(lambda p: p.set_coords("dprime")), "no variable 'dprime'"),
    (draws(lambda p: p.isel(draw=slice(20))), "no diverging by chain, draw"),
    (draws(lambda _: None), "no group posterior"),
    (group("observed_data", lambda _: None), "no group observed_data"),
    (group("observed_data", lambda o: o.isel(cell=[0])), "that of the counts"),
    (group("observed_data", lambda o: o.assign(counts=-1 - o["counts"])), "counts of 0 or more"),
]


@pytest.mark.integration
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
        with pytest.raises(InputError, match=r"fit.*got"):
            hmetad.save_fit(thing, copy)
    assert copy.read_bytes() == before


def test_a_changed_bit_does_not_fit_the_checksum_which_is_that_of_all_versions(copy):
    content = copy.read_bytes()
    end = b"\nhmetad sha256 " + hashlib.sha256(content[:-80]).hexdigest().encode() + b"\n"
    assert content.endswith(end)
    for place in (100, len(content) // 2, len(content) - 81):
        changed = content[place] ^ 1
        copy.write_bytes(content[:place] + bytes([changed]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"copy it again.*does not match its checksum"):
            hmetad.load_fit(copy)


def dataset(*given, **options):
    """A file with one more array."""
    return lambda file, _: file.create_dataset("posterior/x", *given, **options)


def link(path, target):
    """A file with one more link, to what a function of both files names."""
    return lambda file, other: operator.setitem(file, path, target(file, other))


def virtual_data(file, other):
    layout = h5py.VirtualLayout((8,), "f8")
    layout[:] = h5py.VirtualSource(str(other), "secret", (8,))
    file.create_virtual_dataset("posterior/x", layout)


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (
            link("posterior/y", lambda _, other: h5py.ExternalLink(str(other), "secret")),
            "a file that cannot be read",
        ),
        (
            lambda file, other: dataset((8,), "u1", external=[(str(other), 0, 8)])(file, other),
            "data lie elsewhere",
        ),
        (virtual_data, "x with dims"),
        (link("posterior/y", lambda *_: h5py.SoftLink("/posterior/c")), None),
        (link("again", lambda file, _: file["/"]), None),
        (dataset((2**40,), "f8", chunks=(2**20,)), r"at most 16\.0 GiB.*arrays of 8192\.0 GiB"),
        (dataset((3,), np.dtype("V16")), "cannot be read|of type"),
        (dataset((3,), np.dtype([("a", "f8"), ("b", "i4")])), "of type"),
    ],
)
def test_a_file_shows_no_other_file_and_takes_no_more_than_it_may(whole, tmp_path, attack, message):
    other, path = tmp_path / "other.nc", written(whole, tmp_path / "fit.nc")
    with h5py.File(other, "w") as file:
        file["secret"] = np.full((2, 30, 2), 0.123)
    with h5py.File(path, "r+") as file:
        attack(file, other)
    if message is None:
        hmetad.load_fit(path)
        return
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
        assert said.startswith("hmetad: fit.nc: ")
        assert "got a file that cannot be read" in said


# Damage


def test_damaged_files_give_no_verdict(tally, copy):
    whole, content = hmetad.load_fit(copy), copy.read_bytes()

    def attack(own):
        copy.write_bytes(damaged(content, own))
        try:
            fit = hmetad.load_fit(copy)
        except InputError as error:
            return "refused" if "\n" not in str(error) else str(error)
        return "unchanged" if fit.identical(whole) else "read"

    assert set(tally(changes, attack, examples=80, minutes=1)) <= {"refused", "unchanged"}
