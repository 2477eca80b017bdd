import sys
from types import SimpleNamespace

import IPython
import pytest

import toolkit.survey.collector
from tests.survey.samples import survey
from toolkit import collect
from toolkit.survey.collector import _in_a_notebook


@pytest.fixture
def shown(monkeypatch):
    """Return the displayed output for a simulated collection."""
    displayed = []
    collector = SimpleNamespace(name="the collector")
    monkeypatch.setattr(toolkit.survey.collector, "start", lambda *_, **__: collector)
    monkeypatch.setattr("toolkit.show.widgets.collector_view.CollectorView", lambda one: f"view of {one.name}")
    monkeypatch.setattr("toolkit.show.widgets.collector_view.display", displayed.append)
    return displayed


def test_a_script_shows_nothing(shown):
    assert collect(survey()).name == "the collector"
    assert shown == []


def test_a_notebook_shows_the_live_view_unless_told_not_to(shown, monkeypatch):
    kernel = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(IPython, "get_ipython", lambda: kernel)
    collect(survey())
    assert shown == ["view of the collector"]
    collect(survey(), watch=False)
    assert len(shown) == 1


def test_where_ipython_was_never_imported_it_stays_so(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython")
    assert not _in_a_notebook()
    assert "IPython" not in sys.modules
