"""Notices travel with the object, in a form that files keep."""

from dataclasses import FrozenInstanceError

import pandas as pd
import pytest
import xarray as xr

from hmetad.errors import InputError
from hmetad.notice import Notice, notice_where, notices, with_notices

FEW = Notice("few-trials", "warning", "12 trials: d′ is rough.", ("d′ | A",), "Rahnev 2025")
EMPTY = Notice("empty-ratings", "info", "Rating 3 is empty.")

OBJECTS = {
    "array": xr.DataArray([1.0, 2.0], dims="cell", attrs={"kept": 1}),
    "dataset": xr.Dataset({"dprime": ("cell", [1.0])}, attrs={"kept": 1}),
    "tree": xr.DataTree(xr.Dataset(attrs={"kept": 1}), children={"posterior": xr.DataTree()}),
}


@pytest.fixture(params=OBJECTS.values(), ids=OBJECTS.keys())
def labelled(request):
    return request.param


def test_an_object_without_notices_has_none(labelled):
    assert notices(labelled) == []


def test_what_is_put_in_comes_out_in_order(labelled):
    assert notices(with_notices(with_notices(labelled, [FEW]), [EMPTY])) == [FEW, EMPTY]


def test_the_input_is_not_changed_and_other_attrs_stay(labelled):
    before = dict(labelled.attrs)
    warned = with_notices(labelled, [FEW])
    assert labelled.attrs == before
    assert warned.attrs["kept"] == 1
    assert type(warned) is type(labelled)


def test_a_tree_keeps_its_children():
    assert list(with_notices(OBJECTS["tree"], [FEW]).children) == ["posterior"]


def test_an_exact_duplicate_is_skipped(labelled):
    assert notices(with_notices(labelled, [FEW, FEW, EMPTY, FEW])) == [FEW, EMPTY]


def test_the_same_code_about_another_cell_is_not_a_duplicate(labelled):
    other = Notice("few-trials", "warning", "12 trials: d′ is rough.", ("B",), "Rahnev 2025")
    assert notices(with_notices(labelled, [FEW, other])) == [FEW, other]


def test_nothing_to_say_leaves_no_attr(labelled):
    assert "notices" not in with_notices(labelled, []).attrs


@pytest.mark.parametrize("kind", ["array", "dataset", "tree"])
def test_notices_survive_netcdf_even_when_they_are_long(kind, tmp_path):
    # 64 KiB is the limit of an HDF5 attribute stored in the object header.
    long = Notice("few-trials", "warning", "x" * 100_000, tuple(map(str, range(20_000))))
    warned = with_notices(OBJECTS[kind], [FEW, long])
    warned.to_netcdf(tmp_path / "object.nc", engine="h5netcdf")
    read = {"array": xr.load_dataarray, "dataset": xr.load_dataset, "tree": xr.load_datatree}[kind]
    assert notices(read(tmp_path / "object.nc", engine="h5netcdf")) == [FEW, long]


def test_a_notice_cannot_be_edited():
    with pytest.raises(FrozenInstanceError):
        FEW.message = "all is well"


def test_a_fourth_severity_is_refused():
    with pytest.raises(InputError, match="'fatal', allowed is 'info', 'warning' or 'error'"):
        Notice("few-trials", "fatal", "12 trials.")


def test_an_object_without_attrs_is_refused_by_name():
    with pytest.raises(InputError, match="counts_or_fit: got dict"):
        notices({"notices": "[]"})
    with pytest.raises(InputError, match="counts_or_fit: got list"):
        with_notices([1, 2], [FEW])


@pytest.mark.parametrize(
    ("cells", "source", "origin"),
    [
        ((), "", "few-trials"),
        ((), "Rahnev 2025", "few-trials; Rahnev 2025"),
        (("a",), "", "few-trials; cell a"),
        (tuple("abcde"), "", "few-trials; cells a; b; c; d; e"),
        (
            tuple("abcdefg"),
            "Rahnev 2025",
            "few-trials; cells a; b; c; d; e and 2 more; Rahnev 2025",
        ),
    ],
)
def test_as_text_a_notice_is_one_line_that_names_the_first_cells(cells, source, origin):
    notice = Notice("few-trials", "warning", "Fewer than 100 trials.", cells, source)
    assert str(notice) == f"warning: Fewer than 100 trials. [{origin}]"


def test_labels_with_control_characters_stay_on_the_line():
    text = str(Notice("ceiling", "warning", "All correct.", ("d′\n\x1b[2JA\u202e",)))
    assert text == "warning: All correct. [ceiling; cell d′  [2JA ]"


def test_a_mask_becomes_one_notice_for_all_its_cells():
    mask = xr.DataArray([[True, False], [False, False], [False, True]], dims=["cell", "rating"])
    mask = mask.assign_coords(cell=["a", "b", "c"])
    (notice,) = notice_where(mask, "no-members")
    text = "A trial that no member answered gets the response and the confidence of the prior."
    expected = Notice("no-members", "warning", text, ("a", "c"), "", "Leave the trial out.")
    assert notice == expected
    assert notice_where(~mask & mask, "no-members") == []


def test_a_data_frame_is_no_result_although_it_has_attrs():
    with pytest.raises(InputError, match="counts_or_fit: got DataFrame"):
        notices(pd.DataFrame())
