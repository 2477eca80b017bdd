"""A running collection in a notebook: the link and its QR code, how many have answered, and the estimates so
far.
"""

from typing import Any
from urllib.parse import urlsplit

from matplotlib.figure import Figure

from toolkit.show.canvas import GREY, INK, new_figure
from toolkit.show.widgets.explorer import Explorer, browser_code
from toolkit.show.widgets.kit.still import say
from toolkit.survey.collector import Collector, Status
from toolkit.survey.reading.remarks import TRIED_OUT
from toolkit.survey.results import Results
from toolkit.survey.serving.access import PROMISES
from toolkit.survey.sharing import qr_path
from toolkit.survey.spec import Survey

_HERE = ("127.0.0.1", "localhost", "::1")
_STATES = {
    "draft": "The collection is not open yet.",
    "open": "The collection is open.",
    "paused": "The collection is paused: phones keep their reports and try again.",
    "closed": "The collection is closed.",
}
_NEAR = (
    "This link works on this computer only. For phones, collect with host, certificate and private_key, "
    "or behind a proxy."
)
_NOWHERE = "No server for it is running on this computer. To start one, collect with the same database."
_OVER = "Nobody can answer any more."


class CollectorView(Explorer):
    """How many have answered, and what do they say so far?

    The view asks again every two seconds while it is on the screen. Estimates appear when the survey's
    minimum is reached, as before they would mislead, and move in steps, so that nobody who looks on can tell
    one person's report. Do not stop a collection because you like the number.

    Parameters
    ----------
    collector : the collection to watch.
    """

    _esm = browser_code("collector_view.js")

    def __init__(self, collector: Collector) -> None:
        self._collector, self._status = collector, collector.status()
        super().__init__(table=collector_table(collector, self._status))
        self.on_msg(self._asked)

    def refresh(self) -> None:
        """Look at the collection again; where nothing has come there is nothing to read."""
        status = self._collector.status()
        if status != self._status:
            self._status, self.table = status, collector_table(self._collector, status)

    def setting(self) -> str:
        return f"{self.table['title']!r}, {self.table['state']}, reports: {self.table['count']:,}"

    def describe(self) -> dict[str, str]:
        sentences: dict[str, str] = self.table["sentences"]
        return sentences

    def picture(self) -> Figure:
        """The count in words. The link is left out: it would lead nowhere when somebody reads the saved
        notebook.
        """
        canvas = new_figure(width=8.2, height=1.9)
        ax = canvas.add_subplot()
        ax.axis("off")
        ax.set(xlim=(0, 1), ylim=(1, 0))
        ax.text(0, 0.06, f"{self.table['count']:,} reports", fontsize=20, va="top", color=INK)
        say(ax, 0.45, self.table["sentences"]["state"], self.table["sentences"]["private"], width=100)
        canvas.suptitle(
            f"{self.table['title']}; run the cell for the link and its QR code",
            x=0.01,
            ha="left",
            fontsize=10,
            color=GREY,
        )
        return canvas

    def _asked(self, _widget: object, _content: object, _buffers: object) -> None:
        self.refresh()


def watch(collector: Collector) -> CollectorView:
    """The view of a collection in one call."""
    return CollectorView(collector)


def collector_table(collector: Collector, status: Status) -> dict[str, Any]:
    """What is shown now: plain text and numbers."""
    survey, results = collector.survey, collector.results()
    return {
        "title": survey.name,
        "state": status.state,
        "count": status.reports,
        "url": status.url or "",
        "qr": _code(status.url),
        "head": ["question", "estimate", "95 % interval", "people"],
        "rows": _rows(results),
        "sentences": _sentences(status, collector, results),
    }


def _code(url: str | None) -> dict[str, int | str]:
    """The QR code of a link that phones can open; there is none for others, which would only be tried in
    vain.
    """
    return qr_path(url) if url and not _near(url) else {"size": 0, "path": ""}


def _near(url: str) -> bool:
    return urlsplit(url).hostname in _HERE


def _sentences(status: Status, collector: Collector, results: Results) -> dict[str, str]:
    survey = collector.survey
    cap = "" if status.cap is None else f" At most {status.cap:,} are taken."
    tried = f" {TRIED_OUT}" if survey.rehearsal else ""
    return {
        "state": f"{_STATES[status.state]}{cap}{tried}",
        "reach": _reach(status),
        "access": "" if status.state == "closed" else PROMISES[survey.access],
        "private": _private(survey),
        "so_far": " ".join(
            [*_begun(status, results), *(note for note in results.notes() if note != TRIED_OUT)]
        ),
    }


def _private(survey: Survey) -> str:
    """What arrives randomized, and what arrives as it is."""
    hidden = [question.name for question in survey.questions if question.randomized]
    plain = [question.name for question in survey.questions if not question.randomized]
    if not hidden:
        return "Answers arrive here as they are given."
    told = f"Answers to {', '.join(hidden)} arrive here randomized"
    return f"{told}; answers to {', '.join(plain)} arrive as they are." if plain else f"{told}."


def _begun(status: Status, results: Results) -> list[str]:
    """What heads the table, if there is one."""
    return [] if not results.findings else ["In all:"] if status.state == "closed" else ["So far:"]


def _reach(status: Status) -> str:
    if status.state == "closed":
        return _OVER
    if status.url is None:
        return _NOWHERE
    return _NEAR if _near(status.url) else ""


def _rows(results: Results) -> list[list[str]]:
    """The hidden questions; plain ones need no watching."""
    rows = []
    for question in results.estimated:
        for row in results.rows(question.name) if question.randomized else ():
            what = question.name if row.option == "mean" else f"{question.name}: {row.option}"
            rows.append([what, f"{row.estimate} (standard error {row.se})", row.interval, f"{row.n:,}"])
    return rows
