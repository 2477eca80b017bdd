from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.browser.forms import Phone, served
from tests.browser.lab import browser_page, chromium, jupyterlab
from tests.needs import lacking_program

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A place for all that JupyterLab and Chromium write; where there is no Chromium, the end of the test."""
    if chromium() is None:
        lacking_program("Chromium", "chromium")
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def page(folder):
    with browser_page(folder) as page:
        yield page


@pytest.fixture(scope="session")
def lab(folder):
    with jupyterlab(folder) as lab:
        yield lab


@pytest.fixture
def phone(page):
    """Makes a phone with a survey on it; afterwards nothing went wrong on it that the test did not ask for."""
    with ExitStack() as rest:
        made = []

        def make(survey=None, *, site=None, beside=None, invited=(), key=None, hand=False, **options):
            """A phone of its own, with a server of its own or the one that is named; or another tab of the
            phone that is named.
            """
            if beside is not None:
                made.append(Phone.of(beside.page.context, beside.site))
                return made[-1]
            site = site or rest.enter_context(served(survey, invited=invited, key=key))
            settings = {"viewport": {"width": 360, "height": 740}, "reduced_motion": "reduce", **options}
            context = page.context.browser.new_context(**settings)
            rest.callback(context.close)
            made.append(Phone.of(context, site, hand=hand))
            return made[-1]

        yield make
        for one in made:
            one.went_well()
