"""`collect`: start a collection and, in a notebook, show it live."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolkit.survey.collector import Collector
    from toolkit.survey.spec import Survey


def collect(
    survey: "Survey | str | Path", *, database: str | None = None, watch: bool = True, **options: Any
) -> "Collector":
    """Collect answers on respondents' own phones: make the database, open the collection, serve the form.

    The server is a process of its own, which goes on when the notebook's kernel ends; the same call finds it
    again. A notebook shows the link, its QR code, the number of reports and, from the survey's minimum on, in
    steps, the estimates so far.

    Parameters
    ----------
    survey : Survey, str or Path
        A survey, or the .toml or .json file that it is in.
    database : str, optional
        URL: sqlite:///file.db (default sqlite:///survey.db), or postgresql://user@host/database?schema=name.
    watch : bool
        Whether to show it, in a notebook.
    **options : dict
        Those of `toolkit.survey.collector.start`: rehearsal=True to try it out, also with invented people
        (`toolkit.rehearse`); host, port, certificate, public_url, and more.

    Returns
    -------
    Collector
        The running collection.

    Examples
    --------
    With a collection that is open::

        collector = collect(survey, database="sqlite:///campus.db")
        collector.url, collector.status(), collector.results(), collector.close()
    """
    from toolkit.survey.collector import start

    view = _view() if watch and _in_a_notebook() else None
    collector = start(survey, database=database, **options)
    if view is not None:
        view(collector)
    return collector


def _view() -> "Callable[[Collector], None]":
    """What shows a collection live; fetched before one is started, because a package may be missing."""
    from IPython.display import display

    from toolkit.show.widgets.collector_view import CollectorView

    return lambda collector: display(CollectorView(collector))  # type: ignore[no-untyped-call]


def _in_a_notebook() -> bool:
    """Whether a kernel runs this: only then is there somebody to show it to."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
