"""What holds for all tests: the order of the folders, and that nothing waits for ever."""

import faulthandler
import sys
from pathlib import Path

BROWSER = Path(__file__).parent / "browser"
ENOUGH = 120  # seconds from the last test to the end of the process


def pytest_collection_modifyitems(items):
    """Tests with a browser come last: its driver keeps an event loop running, and other tests start their own."""
    items.sort(key=lambda item: BROWSER in item.path.parents)


def pytest_sessionfinish():
    """A process that cannot end says where it is stuck, and ends. (A test that cannot: `faulthandler_timeout`.)"""
    faulthandler.dump_traceback_later(ENOUGH, file=sys.__stderr__, exit=True)
