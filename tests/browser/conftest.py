import os

import pytest
from playwright.sync_api import expect

from tests.browser.lab import browser_page, chromium, jupyterlab

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A place for all that JupyterLab and Chromium write; where there is no Chromium, the end of the test."""
    if chromium() is None:
        missing = "Chromium must be installed for the browser tests (on Debian or Ubuntu: apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}; with CI set nothing is skipped.")
        pytest.skip(f"{missing}; without CI set they are skipped.")
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def page(folder):
    with browser_page(folder) as page:
        yield page


@pytest.fixture(scope="session")
def lab(folder):
    with jupyterlab(folder) as lab:
        yield lab
