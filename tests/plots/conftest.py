"""Labels that would be markup or commands where they are not escaped, in a table."""

import pytest
from plots.hostile_labels import hostile_table


@pytest.fixture
def hostile_frame():
    return hostile_table()
