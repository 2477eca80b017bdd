"""What holds for all tests: the order of the folders."""

from pathlib import Path

BROWSER = Path(__file__).parent / "browser"


def pytest_collection_modifyitems(items):
    """Tests with a browser come last: its driver keeps an event loop running, and other tests start their own."""
    items.sort(key=lambda item: BROWSER in item.path.parents)
