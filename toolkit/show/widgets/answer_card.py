"""A question that is answered inside the notebook: the browser randomizes, and only the report reaches the
kernel.
"""

import re
import secrets
import warnings
from threading import Lock
from typing import Any

import anywidget
import numpy as np
import traitlets

from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, check_rng, drawer
from toolkit.local.matrix.encoding import encode
from toolkit.local.oracles.boxes import ticked
from toolkit.local.protocol import Randomizer
from toolkit.show.canvas import png_bundle
from toolkit.show.widgets.card_face import card_face, card_picture
from toolkit.show.widgets.explorer import browser_code, browser_style
from toolkit.survey.question import Question

_NUMBER = re.compile(r"[0-9a-f]{32}")
_FIELDS = {"kind", "q", "r", "id"}


class AnswerCard(anywidget.AnyWidget):
    """One question for whoever sits at this notebook. The true answer stays in the browser's tab; `reports`
    is what arrived.

    Reports come as messages with a random number each: kept once, however often they are sent, and confirmed.
    "Next person" clears the card, for a laptop that is handed round. The card is code that the notebook sends
    to the browser: who answers trusts this code, and that nobody looks at the screen before it is cleared.

    Parameters
    ----------
    question : a `Question` with a design, or the two things that matter: a text and a design.
    language : of a question in several languages; None for its first.

    >>> from toolkit import warner
    >>> card = AnswerCard(("Have you ever cheated on an exam?", warner(p="2/3")))
    >>> card.simulate([True, False, False], rng=np.random.default_rng(1))
    >>> card.reports
    [0, 1, 1]
    """

    _esm = browser_code("answer_card.js")
    _css = browser_style("answer_card.css")

    card = traitlets.Dict(read_only=True).tag(sync=True)  # what is shown, and the integers to draw with
    receipt = traitlets.Dict({"id": "", "number": 0}, read_only=True).tag(sync=True)  # which report was confirmed last

    def __init__(self, question: Question | tuple[str, Randomizer], *, language: str | None = None) -> None:
        self.question, self._design = _asked(question)
        self._kept: dict[str, Any] = {}
        self._confirmed = 0
        self._lock = Lock()  # messages may come in another thread than the notebook's cells
        super().__init__()
        self.set_trait("card", card_face(self.question, language))
        self.on_msg(self._receive)

    @property
    def reports(self) -> list[Any]:
        """What has arrived, sorted: in the order of arrival it would say who sent what."""
        with self._lock:
            return sorted(self._kept.values())

    def estimate(self) -> Estimate:
        """What the reports say of the people behind them."""
        reports = self.reports
        if not reports:
            refuse(
                "there must be at least one report",
                "none",
                "answer the card in the browser first, or `simulate`",
            )
        return self._design.estimate_sent(reports)

    def simulate(self, answers: Any, rng: Rng = None) -> None:
        """Let imagined people answer, without a browser: each answer is randomized by the browser's rule, and
        kept as its report.

        `answers` are given as the design's `randomize` takes them.
        """
        draw = drawer(check_rng(rng))
        self._keep(
            {secrets.token_hex(16): self._design.report(truth, draw) for truth in _truths(self._design, answers)}
        )

    def _receive(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """A message from the browser, or from anybody who can send one: what is not a report is dropped
        unread.
        """
        if self._is_report(content) and self._keep({content["id"]: content["r"]}):
            self._confirmed += 1  # so that the receipt is news even where a report comes a second time
            self.set_trait("receipt", {"id": content["id"], "number": self._confirmed})

    def _is_report(self, content: Any) -> bool:
        if not isinstance(content, dict) or set(content) != _FIELDS:
            return False
        named = content["kind"] == "report" and content["q"] == self.question.name
        numbered = isinstance(content["id"], str) and _NUMBER.fullmatch(content["id"]) is not None
        return named and numbered and self.question.accepts(content["r"])

    def _keep(self, reports: dict[str, Any]) -> bool:
        """Keep each report once, in the order of their random numbers; whether what is kept under the numbers
        are these reports.
        """
        with self._lock:
            self._kept = dict(sorted({**reports, **self._kept}.items()))
            return all(self._kept[number] == report for number, report in reports.items())

    def __repr__(self) -> str:
        asked, kept = self.question, len(self._kept)
        return (
            f"<AnswerCard {asked.name}: {asked.kind}, {asked.mode}, epsilon {self._design.epsilon:.4g}, {kept} reports>"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live card, and for every other reader a picture of it."""
        live = super()._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Glyph .* missing"
            )  # of a script that the picture's font lacks; the live card has it
            picture, metadata = png_bundle(
                card_picture(self.card), repr(self), " ".join([self.card["text"], *self.card["odds"]])
            )
        return {**live[0], **picture}, {**live[1], **metadata}


def answer_card(question: Question | tuple[str, Randomizer], *, language: str | None = None) -> AnswerCard:
    """The answer card in one call.

    >>> from toolkit import warner
    >>> answer_card(("Have you ever cheated on an exam?", warner(p="2/3")))
    <AnswerCard answer: choice, auto, epsilon 0.6931, 0 reports>
    """
    return AnswerCard(question, language=language)


def _asked(question: Any) -> tuple[Question, Randomizer]:
    """The question, and the design that it must have."""
    if isinstance(question, tuple) and len(question) == 2:
        question = Question("answer", question[0], design=question[1])
    if not isinstance(question, Question):
        refuse(
            "an answer card needs a Question, or a text and a design",
            type(question).__name__,
            "see the example",
            TypeError,
        )
    if question.design is None:
        refuse(
            "an answer card needs a question with a design",
            "a plain one",
            "its answers would reach the kernel as they are",
        )
    return question, question.design


def _truths(design: Randomizer, answers: Any) -> list[Any]:
    """Answers, however given, as what `report` takes: codes, lists of ticked codes, places on the grid."""
    if design.asks == "ticks":
        table, _ = ticked(answers, design.options)
        return [np.flatnonzero(row).tolist() for row in table]
    if design.asks == "number":
        return list(design.grid.index(answers)[0].tolist())  # type: ignore[attr-defined]
    return list(encode(answers, design.options, "answers").codes.tolist())
