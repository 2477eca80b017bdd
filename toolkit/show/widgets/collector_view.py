"""A live view of a running collection: the link and its QR code, the number of reports, and the estimates so far."""

import math
from typing import Any
from urllib.parse import urlsplit

from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.show.canvas import BLUE, INK
from toolkit.show.widgets.explorer import Explorer, browser_code, document_widget, new_still_figure, write_sentences
from toolkit.survey.client import qr_path
from toolkit.survey.collector import Collector, Status
from toolkit.survey.questions.question import Question, estimates_shares
from toolkit.survey.results import Results
from toolkit.survey.results.survey_results import table_rows
from toolkit.survey.serving.access import access_promise
from toolkit.survey.spec import REHEARSAL_REMARK, Survey
from toolkit.survey.storage.stepwise_disclosure import first_disclosure_count

_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
_STATES = {
    "draft": "The collection is not open yet.",
    "open": "The collection is open.",
    "paused": "The collection is paused: phones keep their reports and try again.",
    "closed": "The collection is closed.",
}
_LOCAL_ONLY = (
    "This link works on this computer only. For phones, collect with host, certificate and private_key, "
    "or behind a proxy."
)
_NOT_SERVED = "No server for it is running on this computer. To start one, collect with the same database."
_CLOSED = "Nobody can answer any more."


class CollectorView(Explorer):
    """The number of reports and the estimates so far, with the link and its QR code.

    The view updates every two seconds while it is on the screen. Estimates appear when the survey's minimum number of
    reports is reached, because earlier estimates would be misleading. Estimates change in steps, so that no observer
    can infer one person's report. `history` contains the estimates of the first randomized yes/no question that were
    shown, and the view draws them. Do not stop a collection because you like its estimate.

    Parameters
    ----------
    collector : Collector
        The collection to watch.

    Examples
    --------
    >>> from toolkit.show.widgets.collector_view import CollectorView
    >>> CollectorView(collector)  # in a notebook, while people answer  # doctest: +SKIP
    """

    _esm = browser_code("collector_view.js")

    def __init__(self, collector: Collector) -> None:
        self._collector, self._status = collector, collector.status()
        self.history: list[list[float]] = []
        super().__init__(table=self._read_table())
        self.on_msg(self._refresh_on_event)

    def refresh(self) -> None:
        """Update the view if the status of the collection has changed."""
        status = self._collector.status()
        if status != self._status:
            self._status = status
            self.table = self._read_table()

    def _read_table(self) -> dict[str, Any]:
        results = self._collector.results()
        step = _first_yes_no_numbers(results)
        if step and step not in self.history:
            self.history.append(step)
        table = collector_table(self._collector, self._status, results)
        table["sentences"]["result"] = _result_sentence(self._status, self._collector.survey, results)
        return {**table, "history": list(self.history)}

    def setting_text(self) -> str:
        return f"{self.table['title']!r}, {self.table['state']}, reports: {self.table['count']:,}"

    def describe(self) -> dict[str, str]:
        return dict(self.table["sentences"])

    def picture(self) -> Figure:
        # A saved notebook does not show the link, which no longer works when somebody reads it.
        canvas = new_still_figure(4.2 if self.history else 1.9, self.table["title"], "link and its QR code")
        panels = canvas.subplots(2, 1, height_ratios=[1, 1.3]) if self.history else [canvas.add_subplot()]
        if self.history:
            _draw_history(panels[1], self.history)
        ax = panels[0]
        ax.axis("off")
        ax.set(xlim=(0, 1), ylim=(1, 0))
        ax.text(0, 0.06, f"{self.table['count']:,} reports", fontsize=20, va="top", color=INK)
        write_sentences(ax, 0.45, self.table["sentences"]["state"], self.table["sentences"]["private"], width=100)
        return canvas

    def _refresh_on_event(self, *_event: object) -> None:
        self.refresh()


@document_widget(CollectorView)
def watch(collector: Collector) -> CollectorView:
    """Watch a collection: its link, the number of reports, and the estimates so far.

    Examples
    --------
    With an open collection::

        from toolkit import collect, show

        show.watch(collect("survey.toml"))
    """
    return CollectorView(collector)


def display_collector(collector: Collector) -> None:
    """Show the view of a collection in the notebook that opened it."""
    display(CollectorView(collector))  # type: ignore[no-untyped-call]


def collector_table(collector: Collector, status: Status, results: Results) -> dict[str, Any]:
    """Return the data of the view as plain texts and numbers."""
    survey = collector.survey
    return {
        "title": survey.name,
        "heading": _heading(survey),
        "state": status.state,
        "count": status.n_stored,
        "url": status.url or "",
        "qr": _qr_code(status.url),
        "head": ["question", "answer", "estimate", "standard error", "95 % interval", "people"],
        "rows": [row for question in results.estimated for row in _estimate_rows(results, question)],
        "spans": [bar for question in results.estimated for bar in _interval_bars(results, question)],
        "sentences": _sentences(status, collector, results),
    }


def _heading(survey: Survey) -> str:
    """Return the text for the projector: the question if the survey has only one, otherwise the title."""
    text = survey.questions[0].text
    if len(survey.questions) > 1:
        return survey.name
    return text if isinstance(text, str) else text[survey.languages[0]]


def _yes_no_question(results: Results) -> Question | None:
    """Return the first randomized yes/no question that has an estimate."""
    for question in results.estimated:
        rows = table_rows(results, question.name) if question.randomized else ()
        if len(rows) == 1 and rows[0].option != "mean":
            return question
    return None


def _first_yes_no_numbers(results: Results) -> list[float]:
    """Return the first yes/no question's count, and its lower limit, estimate and upper limit in percent, if any."""
    question = _yes_no_question(results)
    if question is None:
        return []
    estimate = results[question.name]
    low, high = estimate.interval()
    count = table_rows(results, question.name)[0].n
    return [count, *(100 * float(number) for number in (low, estimate.value, high))]


def _result_sentence(status: Status, survey: Survey, results: Results) -> str:
    """Describe the estimate of the first randomized yes/no question, or state when it will appear."""
    question = _yes_no_question(results)
    if question is None:
        has_randomized = any(question.randomized for question in survey.questions)
        is_coming = status.state == "open" and has_randomized and survey.waves == 1 and not results.group_estimates
        return (
            f"The estimate is shown from {first_disclosure_count(survey):,} answers on, or at the end."
            if is_coming
            else ""
        )
    row = table_rows(results, question.name)[0]
    number, mark, _ = row.estimate.partition("*")  # an asterisk marks estimates outside 0 to 100 %
    beyond = " (outside 0 to 100 %, which chance can cause)" if mark else ""
    estimate = f"Estimate {number.strip()}{beyond}, 95 % interval {row.interval}"
    if status.state == "closed":
        return f"{estimate}, from all {row.n:,} answers."
    if row.n == status.n_stored:
        return f"{estimate}, from all {row.n:,} answers so far."
    steps = f"The others are added in steps of {survey.step:,}, and the last at the end."
    return f"{estimate}, from {row.n:,} of {status.n_stored:,} answers. {steps}"


def _draw_history(ax: Axes, history: list[list[float]]) -> None:
    """Draw the estimate and its interval at each step."""
    counts, low, middle, high = zip(*history, strict=True)
    positions = range(len(history))
    ax.vlines(positions, low, high, color=BLUE, linewidth=8, alpha=0.55)
    ax.plot(positions, middle, "o", color=INK, markersize=5, clip_on=False)
    ax.set_xticks(positions, [f"{count:,.0f}" for count in counts])
    ax.set(ylim=(0, 100), xlim=(-0.6, len(history) - 0.4), ylabel="%, 95 % interval", xlabel="reports")
    ax.spines[["top", "right"]].set_visible(False)


def _qr_code(url: str | None) -> dict[str, int | str]:
    """Return the QR code of a link; it is empty if phones cannot open the link."""
    return qr_path(url) if url and not _is_loopback(url) else {"size": 0, "path": ""}


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK_HOSTS


def _sentences(status: Status, collector: Collector, results: Results) -> dict[str, str]:
    survey = collector.survey
    cap = "" if status.cap is None else f" At most {status.cap:,} are taken."
    rehearsal = f" {REHEARSAL_REMARK}" if survey.rehearsal else ""
    heading = ["In all:" if status.state == "closed" else "So far:"] if results.group_estimates else []
    return {
        "state": f"{_STATES[status.state]}{cap}{rehearsal}",
        "network": _network_sentence(status),
        "access": "" if status.state == "closed" else access_promise(survey.access, survey.waves),
        "private": _privacy_sentence(survey),
        "so_far": " ".join([*heading, *(note for note in results.notes() if note != REHEARSAL_REMARK)]),
    }


def _privacy_sentence(survey: Survey) -> str:
    """Describe which answers arrive randomized and which arrive unchanged."""
    randomized = [question.name for question in survey.questions if question.randomized]
    plain = [question.name for question in survey.questions if not question.randomized]
    if not randomized:
        return "Answers arrive here as they are given."
    rest = f"; answers to {', '.join(plain)} arrive as they are." if plain else "."
    return f"Answers to {', '.join(randomized)} arrive here randomized{rest}"


def _network_sentence(status: Status) -> str:
    """Describe who can open the link; the text is empty if everybody can."""
    if status.state == "closed":
        return _CLOSED
    if status.url is None:
        return _NOT_SERVED
    return _LOCAL_ONLY if _is_loopback(status.url) else ""


def _estimate_rows(results: Results, question: Question) -> list[list[str]]:
    """Return the rows of a question as in the results table, with its name only in the first row."""
    rows = [
        [question.name, "" if row.option == "mean" else row.option, row.estimate, row.se, row.interval, f"{row.n:,}"]
        for row in table_rows(results, question.name)
    ]
    return [row if index == 0 else ["", *row[1:]] for index, row in enumerate(rows)]


def _interval_bars(results: Results, question: Question) -> list[list[float | None]]:
    """Return the lower limit, estimate and upper limit of each row as fractions of the scale; None if infinite."""
    low, high = map(float, question.bounds if question.bounds and not estimates_shares(question) else (0, 1))
    frames = [group.estimate.to_frame() for group in results.group_estimates if group.question == question.name]
    rows = [row for frame in frames for row in frame[["low", "estimate", "high"]].astype(float).to_numpy().tolist()]
    return [[(value - low) / (high - low) if math.isfinite(value) else None for value in row] for row in rows]
