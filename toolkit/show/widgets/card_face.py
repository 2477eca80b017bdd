"""What an answer card shows: its words and labels in one language, and a picture of it for readers without a
kernel.
"""

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from toolkit.local.design import has_matrix
from toolkit.show.canvas import GREY, INK, new_figure
from toolkit.survey.consent.shown import shown_question
from toolkit.survey.consent.wheel import sectors
from toolkit.survey.question import Question

_LINE = "#aaaaaa"

WORDS = {
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


def card_face(question: Question, language: str | None) -> dict[str, Any]:
    """All that the browser gets: one question in one language, and the words around it."""
    spoken = language or (next(iter(question.text)) if not isinstance(question.text, str) else "en")
    page = shown_question(question, [spoken])
    low, high = page["bounds"] or (None, None)
    most = page["randomizer"].get("most")
    words = {name: text.replace("{low}", f"{low}").replace("{high}", f"{high}") for name, text in WORDS.items()}
    return {
        **{name: page[name] for name in ("name", "kind", "mode", "randomizer", "bounds", "scale")},
        **{name: page[name] and page[name][spoken] for name in ("text", "help", "odds", "instructions")},
        **{name: [option["label"][spoken] for option in page[name]] for name in ("options", "reports")},
        "wheel": _wheel(question),
        "most": most,
        "words": {**words, "most": words["most"].replace("{most}", f"{most}")},
    }


def _wheel(question: Question) -> list[dict[str, Any]] | None:
    """The sectors of a guided question: their sizes, and what they say for each true answer."""
    if question.mode != "guided" or question.design is None or not has_matrix(question.design):
        return None
    return [{"size": end - start, "says": list(says)} for start, end, says in sectors(question.design)]


def card_picture(face: dict[str, Any]) -> Figure:
    """The card before an answer, as a still picture."""
    title = textwrap.wrap(face["text"], 62, max_lines=2, placeholder=" …")
    odds = textwrap.wrap(" ".join(face["odds"]), 94, max_lines=4, placeholder=" …")
    inches = 1.0 + 0.2 * len(title) + 0.16 * len(odds)
    figure = new_figure(width=6.0, height=inches)
    ax = figure.add_subplot()
    ax.set(xlim=(0, 6), ylim=(0, inches), xticks=[], yticks=[])
    ax.spines[:].set_color(_LINE)
    _write(ax, 0.15, inches - 0.12, "\n".join(title), fontsize=11, fontweight="bold", color=INK)
    _write(ax, 0.15, inches - 0.22 - 0.2 * len(title), "\n".join(odds), fontsize=8, color=GREY, linespacing=1.4)
    left = 0.18
    for label in _buttons(face):
        width = 0.22 + 0.085 * len(label)
        if left + width > 4.6:
            _write(ax, left, 0.4, "…", fontsize=9, color=GREY)
            break
        box = "round,pad=0.03,rounding_size=0.06"
        ax.add_patch(FancyBboxPatch((left, 0.2), width, 0.24, boxstyle=box, facecolor="white", edgecolor=_LINE))
        _write(ax, left + width / 2, 0.32, label, ha="center", va="center", fontsize=9, color=INK)
        left += width + 0.16
    _write(ax, 5.85, 0.1, "run the cell to answer", ha="right", va="bottom", fontsize=8, color=GREY)
    return figure


def _write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    ax.text(x, y, text, **{"va": "top", "in_layout": False, **style})


def _buttons(face: dict[str, Any]) -> list[str]:
    if face["mode"] == "guided":
        return [face["words"]["turn"]]
    if face["kind"] == "number":
        return [face["words"]["number"].rstrip("."), face["words"]["answer"]]
    if face["kind"] == "ticks":
        return [f"☐ {option}" for option in face["options"]]
    return list(face["options"] if face["mode"] == "auto" else face["reports"])
