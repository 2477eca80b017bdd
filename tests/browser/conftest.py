"""Chromium and JupyterLab."""

from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.browser.forms import Phone, served
from tests.browser.lab import browser_page, chromium, jupyterlab
from tests.needs import lacking_program

expect.set_options(timeout=30_000)  # milliseconds; enough on a busy machine


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page of a Chromium with a profile of its own.

    It ends with its file, because Playwright keeps an event loop running in this thread meanwhile, and tests of other
    files start their own.
    """
    if chromium() is None:
        lacking_program("Chromium", "chromium")
    with browser_page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A JupyterLab on copies of the notebooks and the data, below `lab.root`."""
    with jupyterlab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture
def phone(page):
    """Makes phones with a survey on them, and checks at the end that nothing unexpected went wrong on one."""
    with ExitStack() as stack:
        phones = []

        def make(survey=None, *, site=None, beside=None, invited=(), key=None, hand=False, **options):
            """A new phone, with a server of its own or with `site`; or another tab of the phone `beside`."""
            if beside is not None:
                phones.append(Phone.of(beside.page.context, beside.site))
                return phones[-1]
            site = site or stack.enter_context(served(survey, invited=invited, issuer_key=key))
            settings = {"viewport": {"width": 360, "height": 740}, "reduced_motion": "reduce", **options}
            context = page.context.browser.new_context(**settings)
            stack.callback(context.close)
            phones.append(Phone.of(context, site, hand=hand))
            return phones[-1]

        yield make
        for phone in phones:
            phone.went_well()
