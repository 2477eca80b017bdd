"""What holds for all tests: the order of the folders, and that nothing waits for ever."""

import faulthandler
import sys
from pathlib import Path

BROWSER = Path(__file__).parent / "browser"
ENOUGH = 120  # seconds from the last test to the end of the session


def pytest_collection_modifyitems(items):
    """Tests with a browser come last: its driver keeps an event loop running, and other tests start their own."""
    items.sort(key=lambda item: BROWSER in item.path.parents)


def pytest_sessionfinish():
    """What cannot be finished says where it is stuck, and ends. (For a test there is `faulthandler_timeout`.)"""
    faulthandler.dump_traceback_later(ENOUGH, file=sys.__stderr__, exit=True)


def pytest_unconfigure():
    """Finished. A worker lives on until the others have finished, too."""
    faulthandler.cancel_dump_traceback_later()
