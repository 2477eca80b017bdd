"""Settings and fixtures of all tests.

Fixtures that start a program; each stops it at the end:

- `postgres`: a private PostgreSQL, once per test process. `postgres.url()` is the address of an empty schema.
- `bouncer`: the same PostgreSQL behind a PgBouncer in transaction mode. `postgres.pooled()` is an address in it.
- `server`: a collection server in a process of its own, with an open survey in SQLite, once per file.
- `page`: a page of a headless Chromium, once per file (`tests/browser/conftest.py`).
- `phone`: a function that opens a phone-sized page with a survey (`tests/browser/conftest.py`).
- `lab`: a JupyterLab on copies of the notebooks, once per test process (`tests/browser/conftest.py`).
- `studio` and `window`: a running studio, and requests to it (`tests/studio/conftest.py`).

Property tests (`@given`) see the same examples in every run. `pytest --hypothesis-profile=search` tries a hundred new
examples per property and `=deep` a thousand; add what they find as an `@example`.
"""

import pytest
from hypothesis import HealthCheck, settings

from tests.needs import pytest_terminal_summary  # noqa: F401  (a hook of pytest)
from tests.postgres_server import bouncer, postgres
from tests.survey.process import collection, serving

__all__ = ["bouncer", "postgres"]

# No profile has a deadline: a slow machine is not a failure.
_BASE = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _BASE, derandomize=True)
settings.register_profile("search", _BASE, derandomize=False)
settings.register_profile("deep", _BASE, derandomize=False, max_examples=1000)
settings.load_profile("same")

# Hypothesis also tries constants that it finds in the source of imported modules. Without this, the examples would
# depend on which other tests ran before in the same process.
try:
    from hypothesis.internal.conjecture import providers

    _is_local = providers.is_local_module_file
    providers.is_local_module_file = lambda file: not settings.default.derandomize and _is_local(file)
except (ImportError, AttributeError):  # older versions read no constants
    pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A running collection server: (process, its output, database URL, survey)."""
    url, survey, _ = collection(tmp_path_factory.mktemp("server"))
    with serving(url) as (process, printed):
        yield process, printed, url, survey


def pytest_itemcollected(item):
    """Mark tests that need PostgreSQL, and mark tests that need an external program as slow, for `make test-all`."""
    if "postgres" in f"{item.nodeid} {' '.join(getattr(item, 'fixturenames', ()))}":
        item.add_marker(pytest.mark.postgres)
    needs_program = any(item.get_closest_marker(name) for name in ("browser", "postgres", "spark"))
    if needs_program and not item.get_closest_marker("walk"):
        item.add_marker(pytest.mark.slow)
