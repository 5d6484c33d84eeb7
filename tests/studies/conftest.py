"""What the tests of several studies share; each file is named after its study."""

from importlib import import_module

import pytest

from hmetad.studies.comparison import file_of, is_reproduced
from hmetad.studies.report import compare_and_report


@pytest.fixture(scope="module")
def shown(request, study):
    """Comparison and report of the study of a file."""
    name = request.module.__name__.rpartition("test_")[2]
    return compare_and_report(import_module(f"hmetad.studies.{name}"), study)


@pytest.fixture(scope="module")
def comparison(shown):
    return shown[0]


@pytest.fixture
def check_differences(comparison, request):
    """Return a function that checks that what differs from print is what a study's file lists."""

    def check(rows):
        study = request.module.__name__.rpartition("test_")[2]
        known = {tuple(at) for entry in file_of(study)["differs"] for at in entry["at"]}
        differing = comparison[~comparison["agrees"]]
        assert set(differing[["table", "row", "quantity"]].itertuples(index=False)) == known
        assert is_reproduced(comparison)
        assert len(comparison) == rows

    return check
