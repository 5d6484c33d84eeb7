"""What the tests of several studies share."""

import pytest

from hmetad.studies.comparison import file_of, is_reproduced


@pytest.fixture(scope="session")
def check_differences():
    """Return a function that checks that what differs from print is what a study's file lists."""

    def check(study, comparison, rows):
        known = {tuple(at) for entry in file_of(study)["differs"] for at in entry["at"]}
        differing = comparison[~comparison["agrees"]]
        assert set(differing[["table", "row", "quantity"]].itertuples(index=False)) == known
        assert is_reproduced(comparison)
        assert len(comparison) == rows

    return check
