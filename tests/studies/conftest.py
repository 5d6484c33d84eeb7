"""What the tests of several studies share."""

import pytest

from hmetad.studies.printed import file_of


@pytest.fixture(scope="session")
def known_differences():
    """Return a function that gives the places where a study differs from print."""

    def places(study):
        return {tuple(at) for entry in file_of(study)["differs"] for at in entry["at"]}

    return places
