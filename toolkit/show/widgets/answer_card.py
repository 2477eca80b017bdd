"""A question that is answered in a notebook; the browser randomizes, and only the report reaches the kernel."""

import re
import secrets
import textwrap
import warnings
from threading import Lock
from typing import Any

import anywidget
import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, check_rng, integer_drawer
from toolkit.local.design import has_matrix
from toolkit.local.matrix.encoding import encode
from toolkit.local.oracles.boxes import read_ticks
from toolkit.local.protocol import Randomizer
from toolkit.show.canvas import GREY, INK, new_figure, png_bundle
from toolkit.show.widgets.explorer import browser_code, browser_style, document_widget
from toolkit.survey.consent.page_data import shown_question
from toolkit.survey.consent.wheel import sectors
from toolkit.survey.questions.question import Question, accepts

_BORDER_COLOUR = "#aaaaaa"

TEXTS = {
    "auto": "Answer truthfully. Your answer stays in this browser tab: chance decides here what is sent to "
    "the notebook.",
    "guided": "Think of your true answer, but do not tap it yet. First let chance say what to tap.",
    "physical": "Keep your true answer to yourself. Do what is said here, and tap only the result.",
    "odds": "What the notebook receives, and how often",
    "turn": "Let chance decide",
    "tap_truth": "Tap your true answer.",
    "tap_this": "Tap “{report}”, whatever your true answer is.",
    "tap_if": "If your true answer is “{truth}”, tap “{report}”.",
    "answer": "Answer",
    "choose": "Choose one …",
    "number": "A number from {low} to {high}.",
    "most": "Tick at most {most}.",
    "tick": "Tick at least one box.",
    "none_of_these": "None of these",
    "you_wrote": "You wrote “{typed}”.",
    "two_ways": "This can be read in two ways. Please leave out marks between thousands, and zeros at the end.",
    "group": "Group {n} of {of}",
    "you_answered": "You answered",
    "you_tapped": "You tapped",
    "chance": "Chance",
    "kept": "left it as it is",
    "changed": "changed it",
    "mixed": "was mixed in",
    "we_send": "The notebook receives",
    "once": "This was drawn once and is sent once; there is no second draw. Only the last line leaves this tab.",
    "sending": "Sending …",
    "late": "No answer from the notebook yet: it is busy, or its kernel was restarted. The report waits "
    "here; keep this tab open.",
    "stored": "The report has arrived.",
    "waiting": "({n} earlier on the way)",
    "next": "Next person",
    "yes": "yes",
    "no": "no",
    "none": "none",
}


def card_data(question: Question, language: str | None) -> dict[str, Any]:
    """Return all data for the browser: a question in one language, and the texts of the card."""
    language_code = language or (next(iter(question.text)) if not isinstance(question.text, str) else "en")
    page = shown_question(question, [language_code])
    low, high = page["bounds"] or (None, None)
    max_ticks = page["randomizer"].get("most")
    texts = {name: text.replace("{low}", f"{low}").replace("{high}", f"{high}") for name, text in TEXTS.items()}
    return {
        **{name: page[name] for name in ("name", "kind", "mode", "randomizer", "bounds", "scale")},
        **{name: page[name] and page[name][language_code] for name in ("text", "help", "odds", "instructions")},
        **{name: [option["label"][language_code] for option in page[name]] for name in ("options", "reports")},
        "wheel": _wheel_sectors(question),
        "most": max_ticks,
        "words": {**texts, "most": texts["most"].replace("{most}", f"{max_ticks}")},
    }


def _wheel_sectors(question: Question) -> list[dict[str, Any]] | None:
    """Return the size and the instructions of each sector of the wheel, or None if the question has no wheel."""
    if question.mode != "guided" or question.design is None or not has_matrix(question.design):
        return None
    return [{"size": end - start, "says": list(instructions)} for start, end, instructions in sectors(question.design)]


def draw_card(data: dict[str, Any]) -> Figure:
    """Draw the card as a still figure, for readers without a kernel."""
    title = textwrap.wrap(data["text"], 62, max_lines=2, placeholder=" …")
    odds = textwrap.wrap(" ".join(data["odds"]), 94, max_lines=4, placeholder=" …")
    inches = 1.0 + 0.2 * len(title) + 0.16 * len(odds)
    figure = new_figure(width=6.0, height=inches)
    ax = figure.add_subplot()
    ax.set(xlim=(0, 6), ylim=(0, inches), xticks=[], yticks=[])
    ax.spines[:].set_color(_BORDER_COLOUR)
    _write_text(ax, 0.15, inches - 0.12, "\n".join(title), fontsize=11, fontweight="bold", color=INK)
    _write_text(ax, 0.15, inches - 0.22 - 0.2 * len(title), "\n".join(odds), fontsize=8, color=GREY, linespacing=1.4)
    x = 0.18
    for label in _button_labels(data):
        width = 0.22 + 0.085 * len(label)
        if x + width > 4.6:
            _write_text(ax, x, 0.4, "…", fontsize=9, color=GREY)
            break
        box = "round,pad=0.03,rounding_size=0.06"
        ax.add_patch(FancyBboxPatch((x, 0.2), width, 0.24, boxstyle=box, facecolor="white", edgecolor=_BORDER_COLOUR))
        _write_text(ax, x + width / 2, 0.32, label, ha="center", va="center", fontsize=9, color=INK)
        x += width + 0.16
    _write_text(ax, 5.85, 0.1, "run the cell to answer", ha="right", va="bottom", fontsize=8, color=GREY)
    return figure


def _write_text(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    ax.text(x, y, text, **{"va": "top", "in_layout": False, **style})


def _button_labels(data: dict[str, Any]) -> list[str]:
    """Return the labels of the buttons on a card."""
    if data["mode"] == "guided":
        return [data["words"]["turn"]]
    if data["kind"] == "number":
        return [data["words"]["number"].rstrip("."), data["words"]["answer"]]
    if data["kind"] == "ticks":
        return [f"☐ {option}" for option in data["options"]]
    return list(data["options"] if data["mode"] == "auto" else data["reports"])


_REPORT_ID = re.compile(r"[0-9a-f]{32}")
_FIELDS = {"kind", "q", "r", "id"}


class AnswerCard(anywidget.AnyWidget):
    """A question for the person at this notebook; the true answer stays in the browser and only a report is sent.

    Each report has a random number. It is confirmed, and stored once even if it is sent several times. "Next person"
    clears the card, for a laptop that several people share. The card runs code that the notebook sends to the browser.
    Respondents must therefore trust this code. They must also trust that nobody looks at the screen before it is
    cleared.

    Parameters
    ----------
    question : Question or tuple of str and Randomizer
        A question with a design, or a text and a design.
    language : str, optional
        The language to show; by default the first language of the question.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import show, warner
    >>> card = show.AnswerCard(("Have you ever cheated on an exam?", warner(p="2/3")))
    >>> card.simulate([True, False, False], rng=np.random.default_rng(1))
    >>> card.reports
    [0, 1, 1]
    """

    _esm = browser_code("answer_card.js")
    _css = browser_style("answer_card.css")

    card = traitlets.Dict(read_only=True).tag(sync=True)  # the texts of the card, and the integers to draw with
    receipt = traitlets.Dict({"id": "", "number": 0}, read_only=True).tag(
        sync=True
    )  # the report that was confirmed last

    def __init__(self, question: Question | tuple[str, Randomizer], *, language: str | None = None) -> None:
        self.question, self._design = _question_and_design(question)
        self._reports_by_number: dict[str, Any] = {}
        self._confirmed = 0
        self._lock = Lock()  # messages may arrive in a different thread than the one that runs the cells
        super().__init__()
        self.set_trait("card", card_data(self.question, language))
        self.on_msg(self._receive)

    @property
    def reports(self) -> list[Any]:
        """The reports, sorted because their order of arrival could reveal who sent which report."""
        with self._lock:
            return sorted(self._reports_by_number.values())

    def estimate(self) -> Estimate:
        """Estimate the true answers of the respondents from the reports.

        Returns
        -------
        Estimate
            The estimate of the question's design.
        """
        reports = self.reports
        if not reports:
            reject("there must be at least one report", "none", "answer the card in the browser first, or `simulate`")
        return self._design._estimate_from_raw_reports(reports)

    def simulate(self, answers: object, rng: Rng = None) -> None:
        """Simulate reports without a browser, with the same randomization as in the browser.

        Parameters
        ----------
        answers : array_like
            True answers, as for `randomize` of the design; only the reports are stored.
        rng : numpy.random.Generator, optional
            A generator for simulations; by default, the operating system's randomness.
        """
        draw, truths = integer_drawer(check_rng(rng)), _encode_answers(self._design, answers)
        self._store({secrets.token_hex(16): self._design._draw_report(truth, draw) for truth in truths})

    def _receive(self, _widget: object, content: Any, _buffers: object) -> None:
        """Store a report from the browser and confirm it; any other message is ignored."""
        if self._is_report(content) and self._store({content["id"]: content["r"]}):
            # The counter makes every receipt different, so the browser is notified even if a report arrives again.
            self._confirmed += 1
            self.set_trait("receipt", {"id": content["id"], "number": self._confirmed})

    def _is_report(self, content: object) -> bool:
        if not isinstance(content, dict) or set(content) != _FIELDS:
            return False
        has_name = content["kind"] == "report" and content["q"] == self.question.name
        has_number = isinstance(content["id"], str) and _REPORT_ID.fullmatch(content["id"]) is not None
        return has_name and has_number and accepts(self.question, content["r"])

    def _store(self, reports: dict[str, Any]) -> bool:
        """Store each report once, sorted by random number; return whether each number now has its report."""
        with self._lock:
            self._reports_by_number = dict(sorted({**reports, **self._reports_by_number}.items()))
            return all(self._reports_by_number[number] == report for number, report in reports.items())

    def __repr__(self) -> str:
        question = f"{self.question.name}: {self.question.kind}, {self.question.mode}"
        return f"<AnswerCard {question}, epsilon {self._design.epsilon:.4g}, {len(self._reports_by_number)} reports>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the live card, and a still figure for viewers that cannot run it."""
        live = super()._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        with warnings.catch_warnings():
            # The font of the figure lacks some scripts, which the live card can show.
            warnings.filterwarnings("ignore", "Glyph .* missing")
            text = " ".join([self.card["text"], *self.card["odds"]])
            picture, metadata = png_bundle(draw_card(self.card), repr(self), text)
        return {**live[0], **picture}, {**live[1], **metadata}


@document_widget(AnswerCard)
def answer_card(question: Question | tuple[str, Randomizer], *, language: str | None = None) -> AnswerCard:
    """Show a question that is answered inside the notebook.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.answer_card(("Have you ever cheated on an exam?", warner(p="2/3")))
    <AnswerCard answer: choice, auto, epsilon 0.6931, 0 reports>
    """
    return AnswerCard(question, language=language)


def _question_and_design(question: object) -> tuple[Question, Randomizer]:
    """Return the question of a card and the design of this question."""
    if isinstance(question, tuple) and len(question) == 2:
        question = Question("answer", question[0], design=question[1])
    if not isinstance(question, Question):
        rule = "`question` must be a Question, or a text and a design"
        reject(rule, type(question).__name__, "see the example of AnswerCard", TypeError)
    if question.design is None:
        consequence = "its answers would reach the kernel unchanged"
        reject("`question` must have a design", "a plain question", consequence)
    return question, question.design


def _encode_answers(design: Randomizer, answers: Any) -> list[Any]:
    """Encode answers as codes, lists of ticked codes or indices on the grid, depending on the kind of design."""
    if design.answer_kind == "ticks":
        table, _ = read_ticks(answers, design.options)
        return [np.flatnonzero(row).tolist() for row in table]
    if design.answer_kind == "number":
        return list(design._grid.nearest_indices(answers)[0].tolist())  # type: ignore[attr-defined]
    return list(encode(answers, design.options, "answers").codes.tolist())
