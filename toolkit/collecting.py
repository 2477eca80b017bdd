"""`collect`: start a collection and, in a notebook, show it live."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.survey.collector import Collector
    from toolkit.survey.spec import Survey


def collect(survey: "Survey", *, database: str = "sqlite:///survey.db", watch: bool = True, **options: Any) -> "Collector":
    """Collect answers on respondents' own phones: make the database, open the collection, serve the form.

    The server is a process of its own, which goes on when the notebook's kernel ends; the same call finds it again. A
    notebook shows the link, its QR code, the number of reports and, from the survey's minimum on, the estimates so far.

    Parameters
    ----------
    database : sqlite:///file.db, or postgresql://user@host/database?schema=name.
    watch : whether to show it, in a notebook.
    options : host, port, certificate, private_key, public_url, …; see `toolkit.survey.collector.start`.

    Examples
    --------
    collector = collect(survey, database="sqlite:///campus.db")
    collector.url, collector.status(), collector.results(), collector.close()
    """
    from toolkit.survey.collector import start

    collector = start(survey, database=database, **options)
    if watch and _in_a_notebook():
        from IPython.display import display

        from toolkit.show.widgets.collector_view import CollectorView

        display(CollectorView(collector))  # type: ignore[no-untyped-call]
    return collector


def _in_a_notebook() -> bool:
    """Whether a kernel runs this: only then is there somebody to show it to."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
