"""`Survey`: questions, consent and languages in one frozen object with a hash, checked when it is created."""

# ruff: noqa: RUF009 (`declare` returns a field of a dataclass)

import dataclasses
import html
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

from toolkit.core.checks import Number, check_choice, explain_call, reject
from toolkit.core.loss import Amount, Pure
from toolkit.planning.survey_size import PeopleNeeded
from toolkit.survey.consent import linter
from toolkit.survey.consent import statement as consenting
from toolkit.survey.consent.device_check import device_tries, paper_layers
from toolkit.survey.consent.page_data import (
    consent_layers,
    headings,
    is_deniable,
    page_words,
    practicable,
    shown_survey,
)
from toolkit.survey.plan import SurveyPlan, plan_questions
from toolkit.survey.questions import files
from toolkit.survey.questions import survey_fields as checks
from toolkit.survey.questions.declaring import (
    FieldType,
    check_fields,
    declare_field,
    declared_fields,
    field_names_checked_by,
    plain_fields,
)
from toolkit.survey.questions.errors import error_location, reject_field, reject_unknown, run_field_check
from toolkit.survey.questions.images import embed_images
from toolkit.survey.questions.question import (
    Question,
    checked_questions,
    loss_over_waves,
    question_about_arm,
    read_questions,
    station_question,
)
from toolkit.survey.questions.question_fields import checked_flag
from toolkit.survey.questions.strict_json import json_digest
from toolkit.survey.questions.survey_fields import ARM, Day, Panel
from toolkit.texts.multilingual import Frozen, Text, Words, text_in
from toolkit.texts.odds import WEAK_EPSILON
from toolkit.texts.phrases import Own, phrases

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


ACCESS = ("open", "token", "blind")
REHEARSAL_REMARK = "This is a rehearsal: its reports were made to try the survey out, not to learn from."
OPEN_ACCESS_REMARK = (
    "Access is open: whoever has the link can answer, and as often as they like; nothing in the reports "
    "would show it. "
    "Links that work once (access by token or blind) prevent it."
)
_REQUIRED_FIELDS = {
    "title": "people must know what the survey is about",
    "consent": "people must know what they agree to: say who asks, and what for",
    "questions": "there is nothing to answer",
}


@explain_call('Survey("Exams", [question], consent="We are a research group of this university.")', **_REQUIRED_FIELDS)
@dataclass(frozen=True, repr=False)
class Survey:
    """A survey: its questions, and all texts and privacy promises for respondents.

    Parameters
    ----------
    title : str or mapping
        The title, as a string or as strings by language.
    questions : sequence of Question
        The questions in order.
    languages : sequence of str
        Language codes; plain strings are in the first language.
    consent : str or mapping
        The text that people agree to, in the researcher's words. A privacy statement is generated from the designs and
        added.
    controller : str or mapping, optional
        The person or institution responsible. The fields controller, contact, purpose, retention, publication and
        approval are required if the survey is served to other machines.
    contact : str or mapping, optional
        A contact for respondents.
    purpose : str or mapping, optional
        The purpose of the survey.
    retention : str or mapping, optional
        The period for which answers are kept.
    publication : str or mapping, optional
        A statement on the publication of the results.
    withdrawal : str or mapping, optional
        Instructions for withdrawing an answer; without them respondents read that this is impossible.
    approval : str or mapping, optional
        The body that approved the survey.
    hashes : str or mapping, optional
        A text on where people can compare the page's two hashes; it is never required.
    protection : mapping, optional
        Texts for the data protection impact assessment, by name: legal_basis, subjects, processors, transfers, officer,
        authority, review (a date) and necessity. These texts are not shown to respondents and are not part of the hash.
    debrief : str or mapping, optional
        A text on every final screen: after sending, after a rejection, and for people who do not take part.
    help : str or mapping, optional
        A source of help, such as a helpline; shown on every final screen, collapsed below every question, and on the
        printed consent page.
    completion : str, optional
        A payment code on the final screen of people who have answered: a code that is the same for everybody, or with
        "link" the last eight characters of the personal link, which identify an invitation but not a report.
    practice : bool or int
        Whether there is a practice question, whose answer is never sent, or the number of practice questions. Practice
        is skipped above epsilon 3, where it would be misleading.
    check : bool or "device"
        Whether there is a comprehension check, whose result is sent. The check asks whether a report reveals the truth;
        with "device" it asks which report results from an answer, and allows two tries. Like practice, the check is
        skipped above epsilon 3.
    access : str
        "open" (anybody with the link), "token" (single-use links) or "blind" (links that cannot be traced).
    cap : int, optional
        The maximum number of reports.
    closes : date or str, optional
        The last day on which reports are accepted, such as "2026-12-01", in the time zone of each respondent. The
        consent text states this day.
    ceiling : number
        The maximum total epsilon of a respondent; `inf` allows reports that prove an answer.
    minimum : int
        Number of people below which estimates are withheld, and below which an open collection shows no results.
    words : mapping, optional
        Texts of the page by language and name, for languages that the toolkit does not include.
    step : int
        Number of new reports after which the results of an open collection are updated.
    rehearsal : bool
        Whether this is a trial: all screens, results and files say so, and its reports have a different hash.
    waves : int
        The number of times that the same people are asked. With several waves, questions need a `Memo`, and each wave
        has a separate collection.
    wave : int
        The number of this wave.
    panel : Panel or mapping, optional
        The panel of a survey with several waves, created with the collection of the first wave.
    arms : mapping, optional
        Probabilities of experimental arms by name, such as {"direct": 0.3, "randomized": 0.7}. The phone draws an arm,
        which is stored with the report. A question with show_if={"arm": ["direct"]} is asked in this arm only, and
        results compare questions with the same text.
    household : bool
        Whether several people may answer on one phone; this requires open access and a single wave.
    field : mapping, optional
        Settings for stations, on which many people answer one after the other, even without a network:
        {"station": "kiosk"} for an unattended device, {"station": "interviewer"} for a device that an interviewer hands
        over. A question in mode "auto" is then asked with the wheel, unless {"auto": True} allows the device to learn
        the truth.
    random_order : bool or sequence of str
        Whether the questions are asked in random order, or the names of two or more questions whose positions are
        shuffled. The phone draws the order for each person, and neither stores nor sends it. A question with `show_if`
        stays after the question that it depends on, as does a question with an inserted answer, and questions on the
        same page stay together. On paper the order is that of `questions`.

    Examples
    --------
    >>> from toolkit import warner
    >>> question = Question("cheated", "Have you ever cheated on an exam?", design=warner(p="2/3"))
    >>> survey = Survey("Exams", [question], consent="We study how exams are taken.")
    >>> survey, survey.loss
    (<Survey 'Exams': 1 question, 1 randomized, epsilon 0.6931, in en>, Pure(0.693148))
    """

    is_station: ClassVar[bool] = False  # whether this version has the texts for a station

    # Fields are checked in this order, except that `languages` is checked first; in files `questions` are last.
    title: FieldType[Words, Text] = declare_field(checks.checked_prose, most=200)
    questions: FieldType[Sequence[Question], tuple[Question, ...]] = declare_field(checked_questions)
    _: dataclasses.KW_ONLY
    languages: FieldType[Sequence[str], tuple[str, ...]] = declare_field(checks.checked_languages, ("en",))
    consent: FieldType[Words, Text] = declare_field(checks.checked_prose, most=20_000)
    controller: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    contact: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    purpose: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    retention: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    publication: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    withdrawal: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    approval: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    hashes: FieldType[Words | None, Text | None] = declare_field(checks.checked_statement, None)
    protection: FieldType[Mapping[str, Any] | None, Frozen[str, Text] | None] = declare_field(
        checks.checked_protection, None
    )
    debrief: FieldType[Words | None, Text | None] = declare_field(checks.checked_closing_text, None, most=2000)
    help: FieldType[Words | None, Text | None] = declare_field(checks.checked_closing_text, None, most=2000)
    completion: str | None = declare_field(checks.checked_completion, None)
    practice: bool | int = declare_field(checks.checked_practice, True)
    check: bool | str = declare_field(checks.checked_check, True)
    access: str = declare_field(checks.checked_choice, "open", allowed=ACCESS)
    cap: int | None = declare_field(checks.checked_optional_count, None)
    closes: FieldType[Day | str | None, Day | None] = declare_field(checks.read_day, None)
    ceiling: FieldType[Number, Amount] = declare_field(checks.checked_epsilon, WEAK_EPSILON)
    minimum: int = declare_field(checks.checked_count, 30)
    words: FieldType[Own | None, Frozen[str, Text] | None] = declare_field(checks.checked_own_words, None)
    step: int = declare_field(checks.checked_count, checks.DEFAULT_STEP, omit_default=True)
    rehearsal: bool = declare_field(checked_flag, False, omit_default=True)
    waves: int = declare_field(checks.checked_count, 1, omit_default=True, most=checks.MOST_WAVES)
    wave: int = declare_field(checks.checked_wave, 1, omit_default=True)
    panel: FieldType[Panel | Mapping[str, Any] | None, Panel | None] = declare_field(checks.checked_panel, None)
    arms: FieldType[Mapping[str, Number] | None, Frozen[str, Fraction] | None] = declare_field(
        checks.checked_arms, None
    )
    household: bool = declare_field(checks.checked_household, False, omit_default=True)
    field: FieldType[Mapping[str, Any] | None, Frozen[str, Any] | None] = declare_field(checks.checked_field, None)
    random_order: FieldType[bool | Sequence[str], bool | tuple[str, ...]] = declare_field(
        checks.checked_random_order, False, omit_default=True
    )

    def __post_init__(self) -> None:
        self._check_fields()
        with error_location():  # this converts all errors to SurveyError
            self._lint()

    def _check_fields(self) -> None:
        """Check every field and convert its value to the final form."""
        check_fields(self, first_field="languages")
        if self.arms is not None:
            with error_location(field="words"):
                text = {code: phrases(code, self.words)[ARM] for code in self.languages}
            object.__setattr__(self, "questions", (question_about_arm(ARM, text, self.arms), *self.questions))
        # Practice questions and the check would be misleading with weak protection.
        deniable = {
            "practice": is_deniable(practicable(self.questions)),
            "check": is_deniable([question for question in self.questions if question.randomized]),
        }
        for name in deniable:
            object.__setattr__(self, name, deniable[name] and getattr(self, name))

    def _lint(self) -> None:
        linter.check_names(self.questions, self.waves)
        linter.check_waves(self.questions, self.waves, self.languages, self.words)
        with error_location(field="words"):
            for language in self.languages:
                consenting.last_day_sentences(self.closes, language, self.words)
            page_words(self)
        prose = {"title": self.title, "consent": self.consent, **checks.statements(self), **checks.closing_texts(self)}
        assessed = {f"protection.{name}": text for name, text in (self.protection or {}).items() if name != "review"}
        linter.check_translations(prose | assessed, self.questions, self.languages, self.words)
        linter.check_labels(self.questions, self.languages, self.words)
        linter.check_claims(prose, self.questions, self.words)
        linter.check_loss(self.questions, Pure(self.ceiling), self.waves)
        for check in (
            linter.check_conditions,
            linter.check_insertions,
            linter.check_pages,
            linter.check_leaks,
            linter.check_size,
        ):
            check(self.questions)
        for version in [self] if self.field is None else [self, station_version(self)]:
            linter.check_wheels(version.questions)
            if self.check == "device":
                run_field_check("check", device_tries, version.questions, page_words(version), self.words)
        linter.warn_of_public_facts(self.questions)
        linter.warn_of_months(self.questions)

    @property
    def loss(self) -> Pure:
        """The maximum privacy loss of one respondent over all waves, at least the loss announced in the first wave."""
        return consenting.loss(self.questions, self.waves, consenting.earlier_loss(self))

    @property
    def name(self) -> str:
        """The title in the first language, with a prefix if the survey is a rehearsal."""
        return headings(self)[self.languages[0]]

    @cached_property
    def hash(self) -> str:
        """The SHA-256 hash, in hexadecimal, of everything that respondents agree to: texts, designs, and page code."""
        from toolkit.survey.client import code_hash

        page: Any = shown_survey(self)
        if self.field is not None:
            station = station_version(self)
            page = [page, shown_survey(station), page_words(station)]
        agreed = {name: value for name, value in self.to_dict().items() if name != "protection"}
        return json_digest({"survey": agreed, "page": page, "words": page_words(self), "code": code_hash()})

    def consent_text(self, language: str | None = None, *, paper: bool = False) -> str:
        """Return the full consent text: the consequences, who asks, the odds of each question, and what is stored.

        Parameters
        ----------
        language : str, optional
            One of the survey's languages, by default the first.
        paper : bool
            Whether the text is for a survey on paper.

        Returns
        -------
        str
            Plain text with blank lines between paragraphs.
        """
        language = self.languages[0] if language is None else check_choice(language, "language", self.languages)
        odds = consenting.odds_of_questions(self.questions, language, self.words, self.waves)
        paragraphs: list[str | None] = []
        for layer in paper_layers(self, language) if paper else consent_layers(self, language):
            paragraphs += [
                layer.title(language, self.words),
                *layer.open,
                *(odds if layer.name == "learn" else []),
                *layer.more,
            ]
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

    def __getitem__(self, name: str) -> Question:
        for question in self.questions:
            if question.name == name:
                return question
        names = ", ".join(question.name for question in self.questions)
        reject(f"the question must be one of {names}", repr(name)[:60], "the survey has no others", KeyError)

    def to_dict(self) -> dict[str, Any]:
        """Return the survey as plain data for JSON and TOML, without nulls and with designs as integers.

        Returns
        -------
        dict
            The data, from which `from_dict` makes an equal survey.
        """
        return plain_fields(self, ("questions",)) | {
            "questions": [question.to_dict() for question in self.questions if question.draw_probabilities is None]
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Survey":
        """Create a survey from a mapping, as returned by `to_dict` or with designs given by name.

        Parameters
        ----------
        data : mapping
            The fields of the survey.

        Returns
        -------
        Survey
            The checked survey.

        Raises
        ------
        SurveyError
            If a field is unknown, missing or invalid.
        """
        return cls(**cls._arguments(data))

    @classmethod
    def from_collection(cls, data: Mapping[str, Any]) -> "Survey":
        """Create a survey from the data in a collection, without checking its consistency again.

        A survey that was valid when it was created remains readable under later rules.

        Parameters
        ----------
        data : mapping
            The fields of the survey.

        Returns
        -------
        Survey
            The survey.
        """
        arguments, survey = cls._arguments(data), object.__new__(cls)
        for field in declared_fields(cls):
            object.__setattr__(survey, field.name, arguments.get(field.name, field.default))
        survey._check_fields()
        return survey

    @classmethod
    def _arguments(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            reject("a survey must be a table", type(data).__name__, "see to_dict()", TypeError)
        reject_unknown(data, [field.name for field in declared_fields(cls)], "a survey")
        for name, why in _REQUIRED_FIELDS.items():
            if name not in data:
                reject_field(name, f"a survey must have `{name}`", "none", why)
        return {**data, "questions": read_questions(data["questions"])}

    @classmethod
    def load(cls, path: str | Path) -> "Survey":
        """Read the survey in a .toml or .json file, or in the codebook of an export.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Survey
            The checked survey.

        Raises
        ------
        SurveyError
            If the survey is invalid; the message names the file and the question.
        """
        with error_location(Path(path).name):
            data = embed_images(files.read(path), Path(path).absolute().parent)
            if isinstance(data, dict) and {"survey", "columns"} <= set(data):  # a codebook
                data = data["survey"]
            return cls.from_dict(data)

    @overload
    def plan(self, n: int, **options: object) -> SurveyPlan: ...

    @overload
    def plan(self, n: None = None, **options: object) -> PeopleNeeded: ...

    def plan(self, n: int | None = None, **options: Any) -> SurveyPlan | PeopleNeeded:
        """Return the precision of each question with n people, or the number of people that meets `goals`.

        Parameters
        ----------
        n : int, optional
            Number of people; if it is left out, `goals` must be given.
        **options : Any
            `goals`, `response`, `population` : as for `toolkit.planning.plan_survey`. `subgroup` : the smallest
            subgroup's share of the people; by default 1/k, where k is the largest number of options of a plain
            question. `prevalence` : the assumed truth by question, as for `toolkit.plan`; by default all answers are
            equally common. `level`, `deff`, `weighting` : as for `toolkit.plan`.

        Returns
        -------
        SurveyPlan or PeopleNeeded
            One row per question, or per goal.
        """
        return plan_questions(self.name, self.questions, n, **options)

    def preview(self) -> Any:
        """Preview the form as respondents see it, without a collection and without sending anything.

        Returns
        -------
        FormPreview
            The preview, which a notebook displays and `save` writes to a file.
        """
        from toolkit.survey.serving.page import FormPreview

        return FormPreview(self)

    def simulate(self, answers: object, rng: "np.random.Generator | None" = None) -> "pd.DataFrame":
        """Simulate reports in the form that a rehearsal's collection would return.

        Each true answer is randomized by the same rules as on the phone's page. The rows are in random order, and a
        column marks them as a rehearsal. Use simulated answers only: real answers must not leave the respondent's
        device.

        Parameters
        ----------
        answers : int, pandas.DataFrame, mapping or sequence
            The number of people, who then answer at random, or the true answers, as for `toolkit.rehearse`.
        rng : numpy.random.Generator, optional
            A generator for simulations; the default is the operating system's randomness.

        Returns
        -------
        pandas.DataFrame
            Reports in the form of `collector.reports()`, for `toolkit.survey.estimate`.

        Examples
        --------
        >>> import numpy as np
        >>> from toolkit import warner
        >>> survey = Survey("Exams", [Question("cheated", "Cheated?", design=warner("3/4"))], consent="Why.")
        >>> frame = survey.simulate({"cheated": ["yes"] * 30 + ["no"] * 70}, np.random.default_rng(1))
        >>> frame.shape, list(frame)
        ((100, 3), ['cheated', 'understood', 'REHEARSAL'])
        """
        from toolkit.survey.rehearsal import simulate

        return simulate(self, answers, rng)

    def save(self, path: str | Path) -> None:
        """Write a .toml or .json file, from which `load` returns an equal survey with the same hash.

        Parameters
        ----------
        path : str or Path
            The file; its suffix determines the format.
        """
        files.write(path, self.to_dict())

    def _repr_html_(self) -> str:
        return survey_table(self.name, self.questions, self.languages[0], self.words, self.waves)

    def __repr__(self) -> str:
        asked_questions = [question for question in self.questions if question.draw_probabilities is None]
        count, randomized = len(asked_questions), sum(question.randomized for question in asked_questions)
        number = f"{count} question{'' if count == 1 else 's'}, {randomized} randomized"
        often = "" if self.waves == 1 else f" for {self.waves} waves, of which this is number {self.wave}"
        return (
            f"<Survey {self.name!r}: {number}, epsilon {self.loss.epsilon:.4g}{often}, in {', '.join(self.languages)}>"
        )


STATEMENT_FIELDS = field_names_checked_by(Survey, checks.checked_statement)
"""The fields with the researchers' statements about themselves and the study."""


def station_version(survey: Survey) -> Survey:
    """Return the version of a survey for stations, with texts for stations and with wheels instead of mode "auto"."""
    version, auto = copy(survey), survey.field is not None and survey.field["auto"]
    questions = survey.questions if auto else tuple(map(station_question, survey.questions))
    for name, value in {"questions": questions, "access": "open", "is_station": True}.items():
        object.__setattr__(version, name, value)
    return version


def is_asked(survey: Survey, question: Question, answers: dict[str, Any]) -> bool:
    """Return whether a question is asked, given the earlier plain answers."""
    for name, options in (question.show_if or {}).items():
        code = answers[name]
        if code is None or survey[name].options[code] not in options:
            return False
    return True


_HEADINGS = ("name", "question", "answers", "how it is sent", "epsilon")
_MOST_ANSWERS = 8


def survey_table(title: str, questions: Sequence[Question], language: str, own_words: Own | None, waves: int) -> str:
    """Return an HTML table of the questions in one language, with the privacy loss over all waves."""
    head = "".join(f"<th style='text-align:left'>{head}</th>" for head in _HEADINGS)
    rows = "".join(_table_row(question, language, own_words, waves) for question in questions)
    often = "" if waves == 1 else f", in {waves} waves"
    caption = f"<caption style='text-align:left'><b>{html.escape(title)}</b></caption>"
    total = f"<td>{consenting.loss(questions, waves).epsilon:.4g}</td>"
    foot = f"<tr><td colspan='4' style='text-align:left'>total for one respondent{often}</td>{total}</tr>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody><tfoot>{foot}</tfoot></table>"


def _table_row(question: Question, language: str, own_words: Own | None, waves: int) -> str:
    cost = f"{loss_over_waves(question, waves).epsilon:.4g}" if question.randomized else "not protected"
    cells = (
        question.name,
        text_in(question.text, language),
        _answer_text(question, language, own_words),
        _mode_text(question),
        cost,
    )
    return "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(text)}</td>" for text in cells) + "</tr>"


def _answer_text(question: Question, language: str, own_words: Own | None) -> str:
    """Return the labels of the options, or the bounds of a number."""
    if question.kind in ("choice", "ticks"):
        sentences = phrases(language, own_words)
        labels = [question.label(option, language, sentences) for option in question.options[:_MOST_ANSWERS]]
        more = len(question.options) - len(labels)
        return ", ".join(labels) + (f" and {more} more" if more else "")
    if question.kind == "text":
        return "free text"
    return " to ".join(f"{float(bound):g}" for bound in question.bounds or ())


def _mode_text(question: Question) -> str:
    """Describe how a question is asked: randomizer and mode, conditions, anchor, and whether it is optional."""
    design_name = "" if question.design is None else question.design.name.replace("k_ary", "k-ary").replace("_", " ")
    how = f"{design_name} design, {question.mode}" if design_name else "as it is"
    conditions = [
        f"only if {name} is {' or '.join(map(str, options))}" for name, options in (question.show_if or {}).items()
    ]
    anchor = [f"anchor: everybody's answer is {question.anchor}"] if question.anchor is not None else []
    optional = ["optional"] if not question.required and not question.randomized else []
    mixed = ["options in random order"] if question.random_order else []
    page = [f"on the page {question.page!r}"] if question.page is not None else []
    image = ["with an image"] if question.image is not None else []
    return "; ".join([how, *conditions, *anchor, *optional, *mixed, *page, *image])
