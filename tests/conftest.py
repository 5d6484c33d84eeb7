"""What every test may use, and the rule that nothing is skipped where everything is there."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Examples are timed by machines that do other things too.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Turn a skip into a failure when HMETAD_TEST_ALL=1 says that nothing may be missing."""
    report = yield
    if report.skipped and os.environ.get("HMETAD_TEST_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and HMETAD_TEST_ALL=1 allows none"
    return report


@pytest.fixture(scope="session")
def shared():
    """Folder of reference data beside the checkout, which a stranger's machine does not have."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no reference data beside the checkout")
    return folder
