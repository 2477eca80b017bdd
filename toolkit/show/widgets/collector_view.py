"""A running collection in a notebook: the link and its QR code, how many have answered, and the estimates so far."""

import math
from typing import Any
from urllib.parse import urlsplit

from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.show.canvas import BLUE, INK
from toolkit.show.widgets.explorer import Explorer, browser_code, makes, say, still
from toolkit.survey.client import qr_path
from toolkit.survey.collector import Collector, Status
from toolkit.survey.questions.question import Question, is_share
from toolkit.survey.results import Results
from toolkit.survey.results.survey_results import table_rows
from toolkit.survey.serving.access import access_promise
from toolkit.survey.spec import TRIED_OUT, Survey
from toolkit.survey.storage.stepwise_disclosure import first_disclosure

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
    """How many have answered, and what do they say so far? With the link and its QR code.

    The view asks again every two seconds while it is on the screen. Estimates appear when the survey's
    minimum is reached, as before they would mislead, and move in steps, so that nobody who looks on can tell
    one person's report. What was shown of the first hidden yes/no question is kept in `grown` and drawn step
    by step. Do not stop a collection because you like the number.

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
        self.grown: list[list[float]] = []
        super().__init__(table=self._look())
        self.on_msg(self._look_again)

    def refresh(self) -> None:
        """Look at the collection again; where nothing has come there is nothing to read."""
        status = self._collector.status()
        if status != self._status:
            self._status = status
            self.table = self._look()

    def _look(self) -> dict[str, Any]:
        results = self._collector.results()
        step = _yes(results)
        if step and step not in self.grown:
            self.grown.append(step)
        table = collector_table(self._collector, self._status, results)
        table["sentences"]["result"] = _result(self._status, self._collector.survey, results)
        return {**table, "grown": list(self.grown)}

    def setting(self) -> str:
        return f"{self.table['title']!r}, {self.table['state']}, reports: {self.table['count']:,}"

    def describe(self) -> dict[str, str]:
        return dict(self.table["sentences"])

    def picture(self) -> Figure:
        # Without the link, which would lead nowhere when somebody reads the saved notebook.
        canvas = still(4.2 if self.grown else 1.9, self.table["title"], "link and its QR code")
        parts = canvas.subplots(2, 1, height_ratios=[1, 1.3]) if self.grown else [canvas.add_subplot()]
        if self.grown:
            _growth(parts[1], self.grown)
        ax = parts[0]
        ax.axis("off")
        ax.set(xlim=(0, 1), ylim=(1, 0))
        ax.text(0, 0.06, f"{self.table['count']:,} reports", fontsize=20, va="top", color=INK)
        say(ax, 0.45, self.table["sentences"]["state"], self.table["sentences"]["private"], width=100)
        return canvas

    def _look_again(self, *_news: object) -> None:
        self.refresh()


@makes(CollectorView)
def watch(collector: Collector) -> CollectorView:
    """Watch a collection: its link, how many have answered, and the estimates so far.

    Examples
    --------
    With a collection that is open::

        from toolkit import collect, show

        show.watch(collect("survey.toml"))
    """
    return CollectorView(collector)


def display_collector(collector: Collector) -> None:
    """Show the view of a collection in the notebook that opened it."""
    display(CollectorView(collector))  # type: ignore[no-untyped-call]


def collector_table(collector: Collector, status: Status, results: Results) -> dict[str, Any]:
    """What is shown now: plain text and numbers."""
    survey = collector.survey
    return {
        "title": survey.name,
        "asked": _only_question(survey),
        "state": status.state,
        "count": status.stored,
        "url": status.url or "",
        "qr": _code(status.url),
        "head": ["question", "answer", "estimate", "standard error", "95 % interval", "people"],
        "rows": [row for question in results.estimated for row in _rows(results, question)],
        "spans": [bar for question in results.estimated for bar in _bars(results, question)],
        "sentences": _sentences(status, collector, results),
    }


def _only_question(survey: Survey) -> str:
    """What stands on the projector: the question if there is one only, else the title."""
    text = survey.questions[0].text
    if len(survey.questions) > 1:
        return survey.name
    return text if isinstance(text, str) else text[survey.languages[0]]


def _yes_no_question(results: Results) -> Question | None:
    """The first hidden yes/no question that has an estimate."""
    for question in results.estimated:
        rows = table_rows(results, question.name) if question.randomized else ()
        if len(rows) == 1 and rows[0].option != "mean":
            return question
    return None


def _yes(results: Results) -> list[float]:
    """Reports, lower end, estimate and upper end of the first hidden yes/no question, in per cent, if there is one."""
    question = _yes_no_question(results)
    if question is None:
        return []
    estimate = results[question.name]
    low, high = estimate.interval()
    count = table_rows(results, question.name)[0].n
    return [count, *(100 * float(number) for number in (low, estimate.value, high))]


def _result(status: Status, survey: Survey, results: Results) -> str:
    """The estimate of the first hidden yes/no question in one sentence, or from how many answers on it is shown."""
    question = _yes_no_question(results)
    if question is None:
        hidden = any(question.randomized for question in survey.questions)
        is_coming = status.state == "open" and hidden and survey.waves == 1 and not results.group_estimates
        return (
            f"The estimate is shown from {first_disclosure(survey):,} answers on, or at the end." if is_coming else ""
        )
    row = table_rows(results, question.name)[0]
    number, marked, _ = row.estimate.partition("*")  # the mark of estimates that no share can have
    beyond = " (outside 0 to 100 % by chance)" if marked else ""
    estimate = f"Estimate {number.strip()}{beyond}, 95 % interval {row.interval}"
    if status.state == "closed":
        return f"{estimate}, from all {row.n:,} answers."
    if row.n == status.stored:
        return f"{estimate}, from all {row.n:,} answers so far."
    steps = f"The others are added in steps of {survey.step:,}, and the last at the end."
    return f"{estimate}, from {row.n:,} of {status.stored:,} answers. {steps}"


def _growth(ax: Axes, grown: list[list[float]]) -> None:
    """The estimate and its interval, step by step."""
    counts, low, middle, high = zip(*grown, strict=True)
    places = range(len(grown))
    ax.vlines(places, low, high, color=BLUE, linewidth=8, alpha=0.55)
    ax.plot(places, middle, "o", color=INK, markersize=5, clip_on=False)
    ax.set_xticks(places, [f"{count:,.0f}" for count in counts])
    ax.set(ylim=(0, 100), xlim=(-0.6, len(grown) - 0.4), ylabel="%, 95 % interval", xlabel="reports")
    ax.spines[["top", "right"]].set_visible(False)


def _code(url: str | None) -> dict[str, int | str]:
    """The QR code of a link that phones can open; there is none for others, which would only be tried in vain."""
    return qr_path(url) if url and not _near(url) else {"size": 0, "path": ""}


def _near(url: str) -> bool:
    return urlsplit(url).hostname in _HERE


def _sentences(status: Status, collector: Collector, results: Results) -> dict[str, str]:
    survey = collector.survey
    cap = "" if status.cap is None else f" At most {status.cap:,} are taken."
    tried = f" {TRIED_OUT}" if survey.rehearsal else ""
    heading = ["In all:" if status.state == "closed" else "So far:"] if results.group_estimates else []
    return {
        "state": f"{_STATES[status.state]}{cap}{tried}",
        "reach": _reach(status),
        "access": "" if status.state == "closed" else access_promise(survey.access, survey.waves),
        "private": _private(survey),
        "so_far": " ".join([*heading, *(note for note in results.notes() if note != TRIED_OUT)]),
    }


def _private(survey: Survey) -> str:
    """What arrives randomized, and what arrives as it is."""
    hidden = [question.name for question in survey.questions if question.randomized]
    plain = [question.name for question in survey.questions if not question.randomized]
    if not hidden:
        return "Answers arrive here as they are given."
    rest = f"; answers to {', '.join(plain)} arrive as they are." if plain else "."
    return f"Answers to {', '.join(hidden)} arrive here randomized{rest}"


def _reach(status: Status) -> str:
    if status.state == "closed":
        return _OVER
    if status.url is None:
        return _NOWHERE
    return _NEAR if _near(status.url) else ""


def _rows(results: Results, question: Question) -> list[list[str]]:
    """The lines of a question, as in the results table; its name stands in the first."""
    lines = [
        [question.name, "" if row.option == "mean" else row.option, row.estimate, row.se, row.interval, f"{row.n:,}"]
        for row in table_rows(results, question.name)
    ]
    return [line if place == 0 else ["", *line[1:]] for place, line in enumerate(lines)]


def _bars(results: Results, question: Question) -> list[list[float | None]]:
    """Lower end, estimate and upper end of each line, as parts of the scale (0 to 1, or the bounds), if any."""
    low, high = map(float, question.bounds if question.bounds and not is_share(question) else (0, 1))
    frames = [one.estimate.to_frame() for one in results.group_estimates if one.question == question.name]
    ends = [line for frame in frames for line in frame[["low", "estimate", "high"]].astype(float).to_numpy().tolist()]
    return [[(one - low) / (high - low) if math.isfinite(one) else None for one in line] for line in ends]
