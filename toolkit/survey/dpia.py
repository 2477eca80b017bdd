"""A data protection sheet for an ethics board: what is stored where, what it can show, whom one must trust."""

import math
from collections.abc import Sequence

from toolkit.core.document import Document
from toolkit.survey.consent.statement import missing, needs_secret_answer, patterns
from toolkit.survey.question import Question
from toolkit.survey.spec import Survey
from toolkit.texts.voice import Voice

_STORED = {
    "open": "No table of people or links exists.",
    "token": "Hashes of all links and of the used ones, apart from the reports, until it is closed. Whoever "
    "holds the list of links sees whose was used. Whoever watches the running server, or reads the database "
    "again and again, can join a link and a report.",
    "blind": "Hashes of all links, what was signed for them, and hashes of used tickets, until it is closed; "
    "and the server's signing key in a file. Whoever holds the list of links sees whose was used; a report "
    "carries nothing of its link. Times on the network may join them.",
}
_KEPT = (
    "- In the database: for each person the reports and plain answers above, a random key made by the phone, "
    "and the hash of the survey. No network address, device, time or order; rows lie by their random keys."
)
_CHECK = "- Whether the question about the method was answered correctly, with the person."
_BROWSER = (
    "- In the respondent's browser, never an answer: the random words that decide what is sent, until it is; "
    "the report, until the server has it; that one was sent, and the hash of its link if links are personal."
)
_JOINED = (
    "- With them a second random number made by the phone, the same in each wave: it joins the reports of "
    "one phone over waves. Remove it from all tables when the panel has ended."
)
_INVITED = (
    "- But of a wave that is not the last, the hashes of all links stay when it is closed, for the next one; "
    "nothing stays that tells which of them were used."
)
_ATTIC = (
    "- In the browser, too, until the last wave is answered or its site data are deleted, and by the link's "
    "hash: the number that joins waves, and the random words that decide the memos, one for each possible "
    "answer; never an answer. To whoever has these, the reports of one wave to questions with a memo show up "
    "to epsilon {fresh}. Which waves were answered stays there, so that none is answered twice."
)
_PATTERN = (
    "- Whoever sees in each wave which links were used may find out whose reports are those of a number that "
    "no other shares the waves with. Of {people} people, on average up to {alone} are alone in this way "
    "after {waves} waves, in blind access, too, if somebody looks once in each, while people still answer."
)
_NETWORK = "- Whoever runs the network, a proxy or the server's machine can see addresses and times."
_PHONE = "- The respondent's phone, its browser, and that it was served the right page: with true answers."
_WHEEL = "- Respondents themselves, to tap what the wheel asks for."
_SELF = "- Respondents themselves, to follow the instructions; and that nobody sees their die or coin."
_READER = "- Whoever reads the database: with plain answers as they are."
_INNOCENT = (
    "- {names}: whoever can find out a respondent's answer to the other question, such as a birthday, learns "
    "more than epsilon says, up to the true answer."
)
_AGAIN = "- Secrets that hang together, or the same survey asked again, add up: epsilon counts {counted}."
_RECEIPT = "- Whoever has a respondent's receipt and the database can find that person's row."
_OPEN = "- With open access one person can answer often; results rest on nobody doing so."


def sheet(survey: Survey) -> str:
    """Return the sheet as Markdown."""
    return "\n".join(_lines(survey)) + "\n"


def sheet_html(survey: Survey) -> str:
    """Return the same as a page to print: headings, paragraphs and lists, nothing else."""
    return Document.from_markdown(sheet(survey)).html()


def _lines(survey: Survey) -> list[str]:
    code = survey.languages[0]
    absent = missing(survey.stated)
    said = [f"- {name}: {text[code]}" for name, text in survey.stated.items() if text is not None]
    gap = [f"- Not said yet: {', '.join(absent)}. Until then it is a demonstration."] if absent else []
    return [
        f"# Data protection sheet: {survey.name}",
        f"Survey hash {survey.hash}",
        "## Who asks",
        *said,
        *gap,
        "## What is asked, and what leaves the respondent",
        *(_question(question, survey.waves) for question in survey.questions),
        "## What one respondent can lose",
        _loss(survey),
        "## What is stored, and where",
        _KEPT,
        *([_JOINED] if survey.waves > 1 else []),
        *([_CHECK] if survey.check else []),
        f"- {_STORED[survey.access]}",
        *([_INVITED] if survey.waves > 1 and survey.access != "open" else []),
        _BROWSER,
        *_attic(survey),
        _NETWORK,
        "## Who must be trusted, with what",
        *_trusted(survey),
        "## What remains",
        *_remaining(survey),
    ]


def _attic(survey: Survey) -> list[str]:
    """What stays in the browser for later waves."""
    memos = [question.memo for question in survey.questions if question.memo is not None]
    return [_ATTIC.format(fresh=_up(sum(memo.fresh.epsilon for memo in memos)))] if memos else []


def _question(question: Question, waves: int) -> str:
    if question.design is None:
        return f"- {question.name}: plain, sent as it is; {_cells([question])}"
    anchor = "; an anchor: everybody's true answer is known" if question.anchor is not None else ""
    how = f"{question.design.name}, {question.mode}, epsilon {_up(question.loss.epsilon)}"
    how += "" if waves == 1 else f" a wave, {_up(question.cost(waves).epsilon)} in {waves} waves"
    return f"- {question.name}: {how}{anchor}"


def _loss(survey: Survey) -> str:
    spent = survey.loss.epsilon
    waves = f"in all {survey.waves} waves, whatever answers change and whatever a phone loses"
    often = "once" if survey.waves == 1 else waves
    guess = "a guess between two equally likely secrets"
    if math.isinf(spent):
        shown = "some reports can prove an answer"
    elif (right := Voice().guess(spent)) is None:
        shown = f"{guess} can be almost certain after"
    else:
        shown = f"{guess}, right 50 times in 100 before, is right at most {right} after"
    return f"- Epsilon in all: {_up(spent)}. For all protected questions, answered {often}: {shown}."


def _cells(questions: Sequence[Question]) -> str:
    """How many combinations of answers there are: the more, the likelier one of them is one person."""
    if any(question.kind in ("text", "number") for question in questions):
        return "any number of different answers"
    sizes = [2 ** len(q.options) if q.multiple else len(q.options) + (not q.required) for q in questions]
    return f"{math.prod(sizes):,} different answers"


def _trusted(survey: Survey) -> list[str]:
    modes = {question.mode for question in survey.questions}
    return [
        *([_PHONE] if modes & {"auto", "guided"} else []),
        *([_WHEEL] if "guided" in modes else []),
        *([_SELF] if "physical" in modes else []),
        *([_READER] if "plain" in modes else []),
    ]


def _remaining(survey: Survey) -> list[str]:
    plain = [question for question in survey.questions if not question.randomized]
    innocent = [question.name for question in survey.questions if needs_secret_answer(question)]
    rare = f"- Plain answers together make {_cells(plain)}: a rare combination may be one person."
    return [
        *([rare] if plain else []),
        *([_INNOCENT.format(names=", ".join(innocent))] if innocent else []),
        "- That somebody took part is visible to the network, and to whoever sees them do it.",
        _AGAIN.format(counted="one answering" if survey.waves == 1 else f"these {survey.waves} waves"),
        *([_PATTERN.format(**patterns(survey.waves))] if survey.waves > 1 and survey.access != "open" else []),
        _RECEIPT,
        "- A server that lies to one person can serve that person another page; no hash shows it.",
        *([_OPEN] if survey.access == "open" else []),
        *(["- Nothing can be taken back after sending."] if survey.withdrawal is None else []),
    ]


def _up(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else Voice().rounded_up(epsilon)
