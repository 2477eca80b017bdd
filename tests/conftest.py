"""What holds for all tests: the examples of properties, the order of the folders, and that nothing waits for
ever.

Properties (`@given`) see the same examples in every run: a red build speaks of the change that was made, not
of luck. For new examples, a hundred a property or a thousand: `pytest --hypothesis-profile=search` or
`=deep`; what they find becomes an `@example`. No profile has a deadline: on a machine that is busy with other
things a slow case is no failure.
"""

import faulthandler
import gc
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import warm
from tests.needs import pytest_terminal_summary  # noqa: F401  pytest takes it from here

PATIENT = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, derandomize=True)
settings.register_profile("search", PATIENT, derandomize=False)
settings.register_profile("deep", PATIENT, derandomize=False, max_examples=1000)
settings.load_profile("same")

# Hypothesis tries the constants that it reads in the source of every module that is imported: for the same
# examples in every run, whatever else is imported, and without reading a thousand files, not here.
try:
    from hypothesis.internal.conjecture import providers

    _is_local = providers.is_local_module_file
    providers.is_local_module_file = lambda file: not settings.default.derandomize and _is_local(file)
except (ImportError, AttributeError):  # older ones read none
    pass

BROWSER = Path(__file__).parent / "browser"
SERVERS = {"browser", "production", "studio", "survey", "verbs"}
NEEDED = ("matplotlib.figure", "pandas", "scipy.stats", "toolkit.analysis", "toolkit.show", "toolkit.survey")
ENOUGH = 120  # seconds from the last test to the end of the session


# What takes longest is begun first, and what waits for servers next, so that all processes end together and busy:
# without a browser and with one.
EARLY = {"copies", "engines", "notebook_asserts"}
LONG = (
    *("form_axe", "form_sending", "waves", "station", "form_way", "studio", "form_reload", "form_secrecy"),
    *("form_looks", "randomizer_law", "form_burden", "randomizer_agreement", "answer_card_alone", "form_recovery"),
    "blind_js",
)


SLOW_EXAMPLES = {
    *("DesignExplorer", "MechanismExplorer", "OutlierExplorer", "TradeoffExplorer", "WeeksExplorer"),
    *("Studio", "Way", "audit", "conduct", "errors", "explore_design", "explore_mechanism", "explore_outlier"),
    *("explore_tradeoff", "explore_weeks", "plan_by_simulation", "plan_difference", "ways_against_n"),
}


@cache
def in_lab() -> set[Path]:
    """The files whose tests need a JupyterLab."""
    return {path for path in BROWSER.glob("test_*.py") if re.search(r"\blab\b", path.read_text())}


def folder_of(path):
    """Below tests, or nothing."""
    home = BROWSER.parent
    return path.relative_to(home).parts[0] if path.is_relative_to(home) else ""


@cache
def place(path):
    """Tests with a browser come last, as its driver keeps an event loop running, and others start their own; one
    process begins there, from the end. All that need a JupyterLab are in one, as one is enough.
    """
    is_lab, name = path in in_lab(), path.stem.removeprefix("test_")
    if not path.is_relative_to(BROWSER):
        return False, False, 0 if name in EARLY else 2 - (folder_of(path) in SERVERS), str(path)
    return True, is_lab, -LONG.index(name) if name in LONG else -len(LONG), "" if is_lab else str(path)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    """In one process, too, and whoever shuffles."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.rpartition(".")[2] in SLOW_EXAMPLES:
            item.add_marker(pytest.mark.slow)
    yield
    items.sort(key=lambda item: place(item.path)[:3])


@pytest.hookimpl(optionalhook=True)
def pytest_place(path):
    return place(path)


@pytest.fixture(scope="module", autouse=True)
def _warm(request):
    """Servers of these folders are forked from a Python that has imported them."""
    with pytest.MonkeyPatch.context() as patch:
        if folder_of(request.path) in SERVERS:
            patch.setattr(subprocess, "Popen", warm.Popen)
        yield


@pytest.fixture
def cold(monkeypatch):
    """Processes start as they do for everybody."""
    monkeypatch.setattr(subprocess, "Popen", warm.COLD)


def pytest_sessionstart():
    """Nothing that is made while tests are collected is garbage: it is not looked through."""
    gc.disable()


def pytest_collection_finish(session):
    """What most tests need is imported once, before processes are forked."""
    if session.config.getoption("processes", 1) > 1:
        for name in NEEDED:
            import_module(name)
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item):
    """Here, before anything is chosen by its marks."""
    if "postgres" in f"{item.nodeid} {' '.join(getattr(item, 'fixturenames', ()))}":  # by file, parameter or fixture
        item.add_marker(pytest.mark.postgres)


def pytest_sessionfinish():
    """What cannot be finished says where it is stuck, and ends. (For a test there is
    `faulthandler_timeout`.)
    """
    faulthandler.dump_traceback_later(ENOUGH, file=sys.__stderr__, exit=True)


def pytest_unconfigure():
    """Finished. A worker lives on until the others have finished, too."""
    gc.unfreeze()
    faulthandler.cancel_dump_traceback_later()
