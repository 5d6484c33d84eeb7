"""Notices travel with the object, in a form that files keep."""

from dataclasses import FrozenInstanceError

import pandas as pd
import pytest
import xarray as xr

from hmetad.base.errors import InputError
from hmetad.base.notice import Notice, notice_where, notices, notices_where, with_notices

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


def test_notices_are_put_in_once_in_order_and_nothing_else_changes(labelled):
    assert notices(labelled) == []
    assert "notices" not in with_notices(labelled, []).attrs
    before = dict(labelled.attrs)
    other = Notice("few-trials", "warning", "12 trials: d′ is rough.", ("B",), "Rahnev 2025")
    warned = with_notices(with_notices(labelled, [FEW, FEW]), [EMPTY, FEW, other])
    assert notices(warned) == [FEW, EMPTY, other]
    assert labelled.attrs == before
    assert warned.attrs["kept"] == 1
    assert type(warned) is type(labelled)
    if isinstance(warned, xr.DataTree):
        assert list(warned.children) == ["posterior"]


@pytest.mark.parametrize("kind", ["array", "dataset", "tree"])
def test_notices_survive_netcdf_even_when_they_are_long(kind, tmp_path):
    # 64 KiB is the limit of an HDF5 attribute stored in the object header.
    long = Notice("few-trials", "warning", "x" * 100_000, tuple(map(str, range(20_000))))
    warned = with_notices(OBJECTS[kind], [FEW, long])
    warned.to_netcdf(tmp_path / "object.nc", engine="h5netcdf")
    read = {"array": xr.load_dataarray, "dataset": xr.load_dataset, "tree": xr.load_datatree}[kind]
    assert notices(read(tmp_path / "object.nc", engine="h5netcdf")) == [FEW, long]


def test_a_notice_cannot_be_edited_and_has_one_of_three_severities():
    with pytest.raises(FrozenInstanceError):
        FEW.message = "all is well"
    with pytest.raises(InputError, match=r"Expected 'info', 'warning' or 'error'.*'fatal'"):
        Notice("few-trials", "fatal", "12 trials.")


# A data frame is no result although it has attrs.
@pytest.mark.parametrize("thing", [{"notices": "[]"}, [1, 2], pd.DataFrame()])
def test_an_object_that_is_no_result_is_refused_by_name(thing):
    for use in (notices, lambda x: with_notices(x, [FEW])):
        with pytest.raises(InputError, match=f"counts_or_fit: .*got {type(thing).__name__}"):
            use(thing)


@pytest.mark.parametrize(
    ("cells", "source", "origin"),
    [
        ((), "Rahnev 2025", "few-trials; Rahnev 2025"),
        (("a",), "", "few-trials; cell a"),
        (tuple("abcdefg"), "R 1", "few-trials; cells a; b; c; d; e and 2 more; R 1"),
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
    expected = Notice("no-members", "warning", text, ("a", "c"), "", "Exclude the trial.")
    assert notice == expected
    assert notice_where(~mask & mask, "no-members") == []
    found = notices_where({"no-errors": ~mask, "ceiling": ~mask & mask, "no-rights": mask})
    assert [notice.code for notice in found] == ["no-errors", "no-rights"]
