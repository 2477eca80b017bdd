"""`Survey`: questions, consent and languages in one frozen thing with a hash, linted when it is made."""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from toolkit.core.checks import Number, choice, explains, refuse, whole
from toolkit.core.lazy import lazy
from toolkit.core.loss import Amount, Pure
from toolkit.survey.consent import linter
from toolkit.survey.consent import statement as consenting
from toolkit.survey.consent.listing import listing
from toolkit.survey.consent.page_data import shown_survey, told, tried, unsure
from toolkit.survey.consent.statement import paragraphs
from toolkit.survey.plan import planned
from toolkit.survey.question import Question, checked_questions, read_questions
from toolkit.survey.writing import files
from toolkit.survey.writing.dates import Day, read_day
from toolkit.survey.writing.strict_json import digest
from toolkit.survey.writing.survey_fields import (
    MOST_REPORTS,
    STATED,
    STEP,
    Panel,
    as_data,
    checked_languages,
    checked_panel,
    checked_waves,
    flag,
    own_words,
    stated_fields,
)
from toolkit.survey.writing.unknown_fields import naming, refuse_unknown
from toolkit.texts.multilingual import Frozen, Text, Words, checked_words, in_language
from toolkit.texts.odds import WEAK_EPSILON
from toolkit.texts.phrases import OWN, Own, marked_words, rehearsal_mark

ACCESS = ("open", "token", "blind")
_NEEDED = {
    "title": "people must know what they answer",
    "consent": "people must know what they agree to: say who asks, and what for",
    "questions": "there is nothing to answer",
}


@explains('Survey("Exams", [question], consent="We are a research group of this university.")', **_NEEDED)
@dataclass(frozen=True, init=False, repr=False)
class Survey:
    """Questions to the same people, with everything that they read and everything that they are promised.

    Parameters
    ----------
    title, consent : what people read first; a string, or strings by language. The promise is added to it by
    itself. questions : in the order in which they are asked. languages : the first is that of plain strings.
    practice, check : a question to try it out, never sent; a question on how it works, whose result is sent.
    Neither is asked where a report can say a lot, because its right answer would be untrue.
    access : "open" (anybody with the link), "token" (single-use links) or "blind" (links that cannot be
    traced). closes : the last day on which reports are taken, as "2026-12-01", wherever a person is; people
    are told. cap : the largest number of reports. minimum : the people below which no group is shown, in any
    result, and nothing at all while the collection is open. step : by how many at once what is shown of an
    open collection moves on, while as many wait, so that no single report can be seen to come.
    ceiling : the largest epsilon that a respondent may spend in all; `inf` allows reports that prove an
    answer. waves, wave : how often the same people are asked, and which time this is; then at least one
    question has a `Memo`, each wave is a collection of its own, and everything is promised for all of them.
    panel : who they are to their phones, and what they were told; made with the first wave's collection.
    words : the page's own words, by language and name, for languages that the toolkit does not know.
    rehearsal : whether it is only tried out: then every screen, result and file says so, and no report fits
    the real survey.
    controller, contact, purpose, retention, publication, withdrawal, approval, hashes : what a board asks
    for, each a string, or strings by language. Beyond this machine all are needed but `withdrawal` (without
    it people are told that nothing can be taken back) and `hashes` (where to compare those of the page).

    >>> from toolkit import warner
    >>> question = Question("cheated", "Have you ever cheated on an exam?", design=warner(p="2/3"))
    >>> survey = Survey("Exams", [question], consent="We study how exams are taken.")
    >>> survey, survey.loss
    (<Survey 'Exams': 1 question, 1 randomized, epsilon 0.6931, in en>, Pure(0.693148))
    """

    title: Text
    questions: tuple[Question, ...]
    consent: Text
    languages: tuple[str, ...]
    practice: bool
    check: bool
    access: str
    cap: int | None
    closes: Day | None
    ceiling: Amount
    minimum: int
    words: Frozen[str, Text] | None
    step: int
    rehearsal: bool
    controller: Text | None
    contact: Text | None
    purpose: Text | None
    retention: Text | None
    publication: Text | None
    withdrawal: Text | None
    approval: Text | None
    hashes: Text | None
    waves: int
    wave: int
    panel: Panel | None

    def __init__(
        self,
        title: Words,
        questions: Sequence[Question],
        *,
        consent: Words,
        languages: Sequence[str] = ("en",),
        practice: bool = True,
        check: bool = True,
        access: str = "open",
        cap: int | None = None,
        closes: Day | str | None = None,
        ceiling: Number = WEAK_EPSILON,
        minimum: int = 30,
        words: Own | None = None,
        step: int = STEP,
        rehearsal: bool = False,
        controller: Words | None = None,
        contact: Words | None = None,
        purpose: Words | None = None,
        retention: Words | None = None,
        publication: Words | None = None,
        withdrawal: Words | None = None,
        approval: Words | None = None,
        hashes: Words | None = None,
        waves: int = 1,
        wave: int = 1,
        panel: Panel | Mapping[str, Any] | None = None,
    ) -> None:
        given = {key: value for key, value in locals().items() if key != "self"}
        for key, value in _checked(given).items():
            object.__setattr__(self, key, value)
        self._lint()

    def _lint(self) -> None:
        linter.check_names(self.questions, self.waves)
        linter.check_waves(self.questions, self.waves, self.languages, self.words)
        for language in self.languages:
            consenting.until(self.closes, language, self.words)
        self.page_words()
        said = {"title": self.title, "consent": self.consent, **self.stated}
        linter.check_translations(said, self.questions, self.languages, self.words)
        linter.check_labels(self.questions, self.languages, self.words)
        linter.check_claims(said, self.questions, self.words)
        linter.check_loss(self.questions, Pure(self.ceiling), self.waves)
        for check in (linter.check_conditions, linter.check_leaks, linter.check_size, linter.check_wheels):
            check(self.questions)
        linter.warn_of_what_can_be_looked_up(self.questions)

    @property
    def loss(self) -> Pure:
        """What one respondent spends at most: the losses of all reports of all waves, added up; in a later
        wave what the first one told.
        """
        return consenting.loss(self.questions, self.waves, self._earlier_loss)

    @property
    def _earlier_loss(self) -> Pure:
        return Pure(0 if self.panel is None else self.panel.loss)

    @property
    def stated(self) -> dict[str, Text | None]:
        """What the researchers say of themselves, by name."""
        return {name: getattr(self, name) for name in STATED}

    def said(self, language: str, *, paper: bool = False) -> str:
        """The researchers' own words: what they ask consent for, and who they are, or that nobody said."""
        told = paragraphs(self.stated, language, self.words, paper=paper)
        return "\n\n".join([self.consent[language], *told])

    @property
    def heading(self) -> dict[str, str]:
        """The title in each language, as people see it: that of a rehearsal says so."""
        if not self.rehearsal:
            return {code: self.title[code] for code in self.languages}
        return {code: f"{rehearsal_mark(code)}: {self.title[code]}" for code in self.languages}

    @property
    def name(self) -> str:
        """The heading in the first language."""
        return self.heading[self.languages[0]]

    def as_rehearsal(self) -> "Survey":
        """The same survey to try out, with a hash of its own: a report of one fits no other."""
        return replace(self, rehearsal=True)

    @property
    def interface_words(self) -> dict[str, dict[str, str]]:
        """The researcher's words for the page, without the promise; in a rehearsal every heading."""
        given: Own = self.words or {}
        own = {
            code: {key: text for key, text in words.items() if not key.startswith(OWN)} for code, words in given.items()
        }
        return marked_words(self.languages, own) if self.rehearsal else own

    @cached_property
    def hash(self) -> str:
        """SHA-256, in hexadecimal, of all that people read, the designs, and the code that randomizes: what
        is agreed to.
        """
        from toolkit.survey.client import code_hash

        words = self.page_words()
        page = shown_survey(self, self._promise)
        return digest({"survey": self.to_dict(), "page": page, "words": words, "code": code_hash()})

    def page_words(self) -> dict[str, dict[str, str]]:
        """What the page itself says, in each language: true of this survey."""
        return told(
            self.questions,
            self.languages,
            self.interface_words,
            check=self.check,
            access=self.access,
            promised=self.words,
            waves=self.waves,
        )

    def consent_text(self, language: str | None = None, *, paper: bool = False) -> str:
        """What people agree to, as plain text: the consequence, your own words, the odds of each question,
        and the rest; with `paper`, for a sheet that is handed in.
        """
        code = self.languages[0] if language is None else choice(language, "language", self.languages)
        first, *rest = self._promise(code, paper)
        odds = consenting.odds_in_all(self.questions, code, self.words, self.waves)
        return "\n\n".join([first, self.said(code, paper=paper), *rest[:1], *odds, *rest[1:]])

    def for_page(self) -> dict[str, Any]:
        """What the browser gets: plain data for JSON."""
        return {"hash": self.hash, **shown_survey(self, self._promise)}

    def _promise(self, language: str, paper: bool = False) -> list[str]:
        return consenting.promise(
            self.questions,
            language,
            check=self.check,
            access=self.access,
            own=self.words,
            last=self.closes,
            withdrawal=self.withdrawal is not None,
            paper=paper,
            waves=self.waves,
            wave=self.wave,
            least=self._earlier_loss,
        )

    def __getitem__(self, name: str) -> Question:
        if (found := next((one for one in self.questions if one.name == name), None)) is not None:
            return found
        known = ", ".join(question.name for question in self.questions)
        refuse(f"a question of this survey must be one of {known}", repr(name)[:60], "there is no other", KeyError)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and TOML: nothing in it is null, and designs are their integers."""
        return as_data(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Survey":
        """The survey that `to_dict` wrote, or that a person wrote, who may give designs by name."""
        return cls(**cls._arguments(data))

    @classmethod
    def from_collection(cls, data: Mapping[str, Any]) -> "Survey":
        """The survey that `to_dict` wrote into a collection. It is not linted again: what was right when it
        was made stays readable, whatever rules were added since.
        """
        given = inspect.signature(cls).bind(**cls._arguments(data))
        given.apply_defaults()
        survey = object.__new__(cls)
        for key, value in _checked(given.arguments).items():
            object.__setattr__(survey, key, value)
        return survey

    @classmethod
    def _arguments(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            refuse("a survey must be a table", type(data).__name__, "see to_dict()", TypeError)
        known = list(inspect.signature(cls).parameters)
        refuse_unknown(data, known, "a survey")
        for name, why in _NEEDED.items():
            if name not in data:
                refuse(f"a survey must have `{name}`", "none", why)
        given = dict(data)
        if given.get("ceiling") == "inf":
            given["ceiling"] = math.inf
        given["questions"] = read_questions(data["questions"])
        return given

    @classmethod
    def load(cls, path: str | Path) -> "Survey":
        """The survey in a .toml or .json file."""
        with naming(Path(path).name):
            return cls.from_dict(files.read(path))

    def plan(self, n: int | None = None, **options: Any) -> Any:
        """How precise each question would be with n people, in all and in the smallest subgroup; or, with
        `wishes`, how many people it takes: margins, tests, differences and slopes, a row each.

        `subgroup` : its share of the people; if left out, that of one answer to the plain question with the
        most answers, if all are equally common. `prevalence` : guesses of the truth by question, as for
        `toolkit.plan`; else all answers equally common. `level`, `deff`, `weighting` : as there. `wishes`,
        `response`, `population` : as for `toolkit.planning.plan_survey`.
        """
        return planned(self.name, self.questions, n, **options)

    def preview(self) -> Any:
        """The form as respondents see it, in a notebook: no collection is opened, and nothing is sent."""
        return lazy("toolkit.survey.preview", "Preview")(self)

    def save(self, path: str | Path) -> None:
        """Write a .toml or .json file that `load` reads back as an equal survey with an equal hash."""
        files.write(path, self.to_dict())

    def _repr_html_(self) -> str:
        return listing(self.name, self.questions, self.languages[0], self.words, self.waves)

    def __repr__(self) -> str:
        count, hidden = len(self.questions), sum(question.randomized for question in self.questions)
        asked = f"{count} question{'' if count == 1 else 's'}, {hidden} randomized"
        often = "" if self.waves == 1 else f" for {self.waves} waves, of which this is number {self.wave}"
        return (
            f"<Survey {self.name!r}: {asked}, epsilon {self.loss.epsilon:.4g}{often}, in {', '.join(self.languages)}>"
        )


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a survey is made of, brought to its final form."""
    codes = checked_languages(given["languages"])
    asked = checked_questions(given["questions"], codes[0])
    return {
        "title": in_language(checked_words(given["title"], "title", 200), codes[0]),
        "questions": asked,
        "consent": in_language(checked_words(given["consent"], "consent", 20_000), codes[0]),
        "languages": codes,
        "practice": flag(given["practice"], "practice") and unsure(tried(asked)),
        "check": flag(given["check"], "check") and unsure([one for one in asked if one.randomized]),
        "access": choice(given["access"], "access", ACCESS),
        "cap": None if given["cap"] is None else whole(given["cap"], "cap", most=MOST_REPORTS),
        "closes": read_day(given["closes"], "closes"),
        "ceiling": Pure(given["ceiling"]).amount,
        "minimum": whole(given["minimum"], "minimum", most=MOST_REPORTS),
        "words": own_words(given["words"], codes),
        "step": whole(given["step"], "step", most=MOST_REPORTS),
        "rehearsal": flag(given["rehearsal"], "rehearsal"),
        **stated_fields(given, codes[0]),
        **checked_waves(given["waves"], given["wave"]),
        "panel": checked_panel(given["panel"], given["waves"]),
    }
