"""`Question` describes one question of a survey, and how its answer is randomized before it leaves the phone."""

# ruff: noqa: RUF009 (`declare_field` returns a field of a dataclass)

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, count
from typing import Any, Literal, TypeGuard

from toolkit.core.arrays import Labels
from toolkit.core.checks import Number, check_integer, exact_fraction, explain_call, reject
from toolkit.core.loss import Pure
from toolkit.local.design import has_matrix
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.local.protocol import Randomizer, is_code, is_code_set
from toolkit.local.questionnaire import Likert
from toolkit.local.waves import Memo
from toolkit.survey.questions import question_fields as checks
from toolkit.survey.questions.declaring import (
    FieldType,
    check_fields,
    declare_field,
    declared_fields,
    field_names_checked_by,
    plain_data,
    plain_fields,
)
from toolkit.survey.questions.errors import error_location, reject_field, reject_unknown, run_field_check
from toolkit.survey.questions.images import checked_image
from toolkit.survey.questions.survey_fields import ARM
from toolkit.texts.multilingual import Frozen, Text, Words, in_language, text_in
from toolkit.texts.phrases import label

Kind = Literal["choice", "ticks", "number", "text"]
Mode = Literal["auto", "guided", "physical", "plain"]

LONGEST_ANSWER = 2000
"""Maximum number of characters of a free text."""

MOST_QUESTIONS = 1000
"""Maximum number of questions in a survey."""

_INSERTED = re.compile(r"\{answer:([^{}]*)\}")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@explain_call(
    'Question("cheated", "Have you ever cheated?", design=warner("3/4"))',
    type="a number has bounds=(0, 80), a choice options=[…], and a text free_text=True",
)
@dataclass(frozen=True, repr=False)
class Question:
    """One question of a survey.

    With a `design` the answer is randomized on the respondent's device; otherwise it is sent unchanged.

    Parameters
    ----------
    name : str
        A short name, such as "cheated", which becomes a column of the results.
    text : str or mapping
        The text of the question, as a string or as strings by language. In `text` and `help`, ``{answer:faculty}``
        inserts the label of the answer to an earlier plain single-choice question.
    design : Randomizer, Memo or Likert, optional
        A randomizer, or None for a plain question. With a `toolkit.local.waves.Memo`, for yes/no questions in several
        waves, the phone draws a permanent answer once and adds fresh noise in each wave; the attribute `design` is then
        the design of a single report. With a `toolkit.local.likert` scale respondents choose one of its points, and the
        shares of the points are estimated; if only the mean is needed, pass the `mean` of the scale.
    options : sequence, optional
        The possible answers to a plain question.
    labels : mapping, optional
        Labels of options and reports, by option.
    mode : str
        "auto": the phone randomizes. "guided": the phone shows a wheel, and the person taps the resulting report.
        "physical": the person uses a coin or a die according to the `instructions`.
    help : str or mapping, optional
        A text below the question.
    instructions : str or mapping, optional
        Instructions for mode "physical"; generated if the design can be carried out with a coin, a die or slips.
    anchor : str or int, optional
        The option that is everybody's true answer; the share of other answers measures inattention.
    show_if : mapping, optional
        {plain question: [options]}; the question is asked only of people who gave one of the listed answers to each
        plain question.
    required : bool
        Whether a plain question must be answered.
    bounds : pair of numbers, optional
        The range of the answers, if a plain question asks for a number.
    multiple : bool
        Whether several options may be ticked.
    free_text : bool
        Whether the answer is a free text.
    warning : str or mapping, optional
        A text that people read before they write a free text.
    whole : bool
        Whether a number must be a whole number.
    random_order : bool
        Whether the options are shown in random order. The phone draws the order for each person, and neither stores nor
        sends it. An option for declining to answer keeps its position.
    page : str, optional
        A name that neighboring plain questions share; they are then asked together on one page, which does not show
        the name. A randomized question always has a page to itself.
    image : mapping, optional
        {"file": "card.png", "alt": "A red card"}: an image below the text, and its description for people who cannot
        see it, as a string or as strings by language. PNG, JPEG and WebP files up to 200,000 bytes are read at once and
        embedded in the survey.
    innocent : mapping, optional
        {"born": "jan-apr"}: in mode "physical", the innocent question of a crosswise, triangular or unrelated design
        asks whether somebody's birthday is in these months. The share of such birthdays is computed from the number of
        days, and the instructions are generated; the design is then `crosswise(toolkit.local.born("jan-apr"))`.

    Examples
    --------
    >>> from toolkit import warner
    >>> Question("cheated", "Have you ever cheated on an exam?", design=warner(p="2/3"))
    <Question cheated: choice, auto, epsilon 0.6931>
    """

    # The fields in the order in which files contain them and checks are run.
    name: str = declare_field(checks.checked_name)
    text: FieldType[Words, str | Text] = declare_field(checks.checked_text, most=2000)
    _: dataclasses.KW_ONLY
    design: FieldType[Randomizer | Memo | Likert | None, Randomizer | None] = declare_field(checks.checked_design, None)
    options: FieldType[Sequence[str | int] | None, Labels] = declare_field(checks.checked_options, None)
    labels: FieldType[Mapping[Any, Words] | None, Frozen[str | int, str | Text]] = declare_field(
        checks.checked_labels, None
    )
    mode: FieldType[str, Mode] = declare_field(checks.checked_mode, "auto")
    help: FieldType[Words | None, str | Text | None] = declare_field(checks.checked_text, None, most=4000)
    instructions: FieldType[Words | None, str | Text | None] = declare_field(
        checks.checked_instructions, None, most=4000
    )
    anchor: str | int | None = declare_field(checks.checked_anchor, None)
    show_if: FieldType[Mapping[str, Sequence[str | int]] | None, Frozen[str, Labels] | None] = declare_field(
        checks.checked_condition, None
    )
    required: bool = declare_field(checks.checked_flag, True)
    bounds: FieldType[Sequence[Number] | None, tuple[Fraction, Fraction] | None] = declare_field(
        checks.checked_range, None
    )
    multiple: bool = declare_field(checks.checked_plain_flag, False)
    free_text: bool = declare_field(checks.checked_plain_flag, False)
    warning: FieldType[Words | None, str | Text | None] = declare_field(checks.checked_text, None, most=2000)
    memo: Memo | None = dataclasses.field(init=False, default=None)
    whole: bool = declare_field(checks.checked_whole_flag, False, omit_default=True)
    random_order: bool = declare_field(checks.checked_random_order, False, omit_default=True)
    page: str | None = declare_field(checks.checked_page, None)
    image: FieldType[Mapping[str, Any] | None, Frozen[str, Any] | None] = declare_field(checked_image, None)
    innocent: FieldType[Mapping[str, str] | None, Frozen[str, str] | None] = declare_field(
        checks.checked_innocent, None
    )
    draw_probabilities: tuple[Fraction, ...] | None = dataclasses.field(init=False, default=None)
    """The probability of each option if the device draws the answer, as for the arms of a survey; otherwise None."""

    def __post_init__(self) -> None:
        given: Any = self.design
        object.__setattr__(self, "memo", given if isinstance(given, Memo) else None)
        run_field_check(
            "name", checks.checked_name, self.name, "name", self
        )  # the name is checked first, because other errors quote it
        with error_location(question=self.name):
            check_fields(self)

    @property
    def kind(self) -> Kind:
        """The kind of answer: "choice", "ticks", "number" or "text"."""
        if self.design is not None:
            return self.design.answer_kind
        if self.options:
            return "ticks" if self.multiple else "choice"
        return "text" if self.free_text else "number"

    @property
    def randomized(self) -> bool:
        """Whether the answer is randomized before it is sent."""
        return self.design is not None

    @property
    def arms(self) -> Labels:
        """The arms in which the question is asked; empty if it is asked in every arm."""
        return () if self.show_if is None else self.show_if.get(ARM, ())

    @property
    def inserted_names(self) -> tuple[str, ...]:
        """The names of the questions whose answers are inserted into the text or the help."""
        return tuple(dict.fromkeys(name for text in (self.text, self.help) for name in inserted_names(text)))

    @property
    def report_options(self) -> Labels:
        """The possible reports of a design with a matrix, in the order of their codes; otherwise empty."""
        return () if self.design is None else self.design.report_options

    @property
    def loss(self) -> Pure:
        """The privacy loss of one report; zero for a plain answer, which is not protected."""
        return self.design.loss if self.design is not None else Pure(0)

    def label(self, option: str | int, language: str, phrases: Mapping[str, str]) -> str:
        """Return the label of an option or a report in a language.

        Parameters
        ----------
        option : str or int
            One of the options or reports.
        language : str
            A language code.
        phrases : mapping
            The phrases of that language, for common answers without a label.

        Returns
        -------
        str
            The label.
        """
        text = self.labels.get(option)
        return label(option, None if text is None else in_language(text, language), language, phrases)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON and TOML, without fields that follow from the design.

        Returns
        -------
        dict
            The fields that are set.
        """
        derived = ("options", "bounds") if self.randomized else ()
        data = plain_fields(self, derived)
        if self.memo is not None:
            data["design"] = plain_data(self.memo)
        return {key: value for key, value in data.items() if value not in ([], {})}

    def __repr__(self) -> str:
        cost = f", epsilon {self.loss.epsilon:.4g}" if self.randomized else ""
        return f"<Question {self.name}: {self.kind}, {self.mode}{cost}>"


def inserted_names(text: str | Text | None) -> list[str]:
    """Return the names of the questions whose answers are inserted into a text, in all its languages."""
    texts = () if text is None else (text,) if isinstance(text, str) else text.values()
    return [name for version in texts for name in _INSERTED.findall(version)]


def insert_answers(text: str, answers: Mapping[str, str] | None = None) -> str:
    """Insert answers into a text by the names of their questions; without answers, an ellipsis stands for each.

    >>> insert_answers("Why {answer:faculty}?"), insert_answers("Why {answer:faculty}?", {"faculty": "law"})
    ('Why …?', 'Why law?')
    """
    return _INSERTED.sub(lambda match: "…" if answers is None else answers[match[1]], text)


def readable_text(question: Question, language: str) -> str:
    """Return the text of a question for readers of results, with names of questions in brackets for inserted answers.

    Codebooks and pre-registrations state the exact text, `{answer:…}`, from which the survey can be repeated.

    >>> readable_text(Question("why", "Why {answer:faculty}?", options=["a", "b"]), "en")
    'Why [faculty]?'
    """
    names = {name: f"[{name}]" for name in inserted_names(question.text)}
    return insert_answers(text_in(question.text, language), names)


def reject_insertions(question: Question) -> None:
    """Reject a question with inserted answers, which only the survey's own page can show."""
    if question.inserted_names:
        received = f"{{answer:{question.inserted_names[0]}}} in {question.name!r}"
        why = "leave it out, or ask the survey on phones"
        reject("the texts of a paper form or of another program's form must be the same for everybody", received, why)


TEXT_FIELDS = field_names_checked_by(Question, checks.checked_text, checks.checked_instructions)
"""The fields of a question with texts for respondents, in the languages of the survey."""


def estimates_shares(question: Question) -> bool:
    """Return whether shares of people are estimated for a question; otherwise a mean is estimated.

    >>> age, sex = Question("age", "Age?", bounds=(18, 99)), Question("sex", "Sex?", options=["f", "m"])
    >>> estimates_shares(age), estimates_shares(sex)
    (False, True)
    """
    return question.kind != "number" or isinstance(question.design, SquareWave)


def loss_over_waves(question: Question, waves: int = 1) -> Pure:
    """Return the largest privacy loss of one person who answers a question in several waves.

    With fresh noise in each wave the losses add up. With a memo the loss is the maximum over all histories of the true
    answer and of the phone, which may lose its memos.

    >>> from toolkit import warner
    >>> question = Question("cheated", "Cheated?", design=Memo(warner("3/4"), warner("3/4")))
    >>> loss_over_waves(question), loss_over_waves(question, 4)
    (Pure(0.510826), Pure(2.04331))
    """
    if question.memo is not None:
        return _loss_of_memo(question.memo, waves)
    return Pure(waves * question.loss.amount)


@cache
def _loss_of_memo(memo: Memo, waves: int) -> Pure:
    return Pure(memo.epsilon(waves, truth="changing", memo="lost"))


def accepts(question: Question, value: object) -> bool:
    """Return whether a value from JSON is a possible report, or a possible plain answer, to a question.

    >>> year = Question("year", "Year of study?", options=[1, 2, 3])
    >>> accepts(year, 2), accepts(year, 3), accepts(year, True)
    (True, False, False)
    """
    if question.design is not None:
        return question.design._accepts(value)
    if question.free_text:
        return isinstance(value, str) and len(value) <= LONGEST_ANSWER and not _CONTROL_CHARACTER.search(value)
    if question.bounds is not None:
        if not _is_finite(value) or (question.whole and value % 1):
            return False
        return question.bounds[0] <= exact_fraction(value, "answer") <= question.bounds[1]
    return (is_code_set if question.multiple else is_code)(value, len(question.options))


def _is_finite(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number; booleans are not numbers."""
    return type(value) is int or (type(value) is float and value - value == 0)


def localized_question(question: Question, language: str) -> Question:
    """Return a copy of a question whose plain strings are texts in the given language."""
    copied = copy(question)
    for name in TEXT_FIELDS:
        if (text := getattr(question, name)) is not None:
            object.__setattr__(copied, name, in_language(text, language))
    labels = {option: in_language(text, language) for option, text in question.labels.items()}
    object.__setattr__(copied, "labels", Frozen(labels))
    return copied


def question_about_arm(name: str, text: Mapping[str, str], probabilities: Mapping[str, Fraction]) -> Question:
    """Return a plain question about the arm, which the device answers at random without showing the question."""
    question = Question(
        name, text, options=list(probabilities), labels={arm: dict.fromkeys(text, arm) for arm in probabilities}
    )
    object.__setattr__(question, "draw_probabilities", tuple(probabilities.values()))
    return question


def station_question(question: Question) -> Question:
    """Return the question for a device that must not learn the truth, with a wheel instead of mode "auto"."""
    if question.mode != "auto" or question.design is None:
        return question
    if not has_matrix(question.design):
        received = f"{question.design.name}, which allows neither"
        why = "write auto = true in [field]: the device then learns the truth, and respondents are informed"
        with error_location(question=question.name, field="mode"):
            reject("a station must randomize by a wheel or by hand", received, why)
    version = copy(question)
    object.__setattr__(version, "mode", "guided")
    return version


def checked_questions(value: object, _name: str, survey: Any) -> tuple[Question, ...]:
    """Check and return the questions of a survey, with plain strings as texts in its first language.

    The question that draws the arm is left out, because the survey adds a new one.
    """
    items = _checked_list(value, "questions", "they are asked in the order of the list")
    for question in items:
        if not isinstance(question, Question):
            rule = "`questions` must contain only questions"
            reject(rule, type(question).__name__, "make them with Question(…)", TypeError)
    return tuple(
        localized_question(question, survey.languages[0]) for question in items if question.draw_probabilities is None
    )


def read_questions(data: object) -> list[Question]:
    """Return questions from the data of a file or of `to_dict`; designs may be given by name."""
    items = run_field_check("questions", _checked_list, data, "tables", "write [[questions]] before each")
    return [_read_question(item, number) for number, item in enumerate(items, start=1)]


def _checked_list(items: object, item_kind: str, consequence: str) -> Sequence[Any]:
    if isinstance(items, str | Question) or not isinstance(items, Sequence):
        reject(f"`questions` must be a list of {item_kind}", type(items).__name__, consequence, TypeError)
    check_integer(len(items), "questions", minimum=0, maximum=MOST_QUESTIONS)
    return items


def _read_question(data: object, number: int) -> Question:
    name = data.get("name") if isinstance(data, Mapping) else None
    where = f"question {number}" if name is None else f"question {name!r}"[:60]
    with error_location(where, question=name if isinstance(name, str) else None):
        if not isinstance(data, Mapping):
            reject("a question must be a table", type(data).__name__, "write [[questions]] before it", TypeError)
        reject_unknown(data, [field.name for field in declared_fields(Question)], "a question")
        for field, why in (("name", "it identifies the answers"), ("text", "people read it")):
            if field not in data:
                reject_field(field, f"a question must have `{field}`", "none", why)
        image = data.get("image")
        if isinstance(image, Mapping) and "file" in image:
            why = "no other function may read files: use Survey.load, or embed the image as `data`"
            reject_field("image", "`image.file` must be in a survey's file", "a survey without a file", why)
        design = {}
        if "design" in data:
            context = {name: data.get(name) for name in ("options", "bounds", "innocent")}
            with error_location(field="design"):
                design["design"] = checks.read_design(data["design"], **context)
    return Question(**{**data, **design})


def coded_labels(question: Question) -> tuple[str | int, ...]:
    """Return the reports of a design with a matrix, or the options of a plain choice, in the order of their codes."""
    plain = question.kind == "choice" and not question.randomized
    return question.options if plain else question.report_options


def printed_answers(question: Question) -> tuple[str | int, ...]:
    """Return the answers printed on paper: the reports of a design with a matrix, otherwise the options."""
    return question.report_options or question.options


def answer_codes(question: Question) -> list[int]:
    """Return the numeric codes of `coded_labels` in statistics files.

    A whole number of up to nine digits, the maximum for which Stata has labels, is used as the code; "01" is coded as 1
    unless "1" is also an option. The other options get unused numbers: starting at 1 if some options are numbers, as on
    paper, and otherwise at 0, so that no is 0 and yes is 1.
    """
    options = list(map(str, coded_labels(question)))
    numbers = [int(option) if _WHOLE_NUMBER.fullmatch(option) else None for option in options]
    occurrences = Counter(numbers)
    codes = [
        number if occurrences[number] == 1 or str(number) == option else None
        for number, option in zip(numbers, options, strict=True)
    ]
    free_numbers = (number for number in count(1 if set(codes) - {None} else 0) if number not in codes)
    return [next(free_numbers) if number is None else number for number in codes]


def arm_pairs(questions: Sequence[Question]) -> list[tuple[Question, Question]]:
    """Return pairs of questions with the same text and options in different arms, the plain question first."""
    by_arm = [question for question in questions if question.arms and question.kind == "choice"]
    ordered = sorted(by_arm, key=lambda question: question.randomized)
    return [
        (first, second)
        for first, second in combinations(ordered, 2)
        if first.text == second.text and first.options == second.options and not set(first.arms) & set(second.arms)
    ]
