"""Checks that reject a survey with rules that could reveal a randomized answer, or with unreadable texts.

Anything that depends on a randomized answer without being randomized itself reveals something about that answer.
Examples are the choice of the next question, of the people who are asked, and of those who may decline. The survey
format has no such rules, and this module finds combinations of other rules with the same effect.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import product

from toolkit.core.checks import reject, warn
from toolkit.core.loss import Pure
from toolkit.local.birthdays import innocuous_share
from toolkit.local.design import has_matrix
from toolkit.survey.consent.statement import declining_option, loss, needs_secret_answer
from toolkit.survey.consent.wheel import is_mixture
from toolkit.survey.questions.errors import SurveyWarning, error_location, reject_field
from toolkit.survey.questions.images import MOST_IMAGES_BYTES, image_size
from toolkit.survey.questions.question import (
    LONGEST_ANSWER,
    TEXT_FIELDS,
    Question,
    insert_answers,
    inserted_names,
    loss_over_waves,
)
from toolkit.survey.questions.survey_fields import PERSON
from toolkit.texts.multilingual import (
    Text,
    character_name,
    find_direction_change,
    find_unquotable,
    in_language,
    visible_form,
)
from toolkit.texts.phrases import (
    LANGUAGES,
    PROMISE_PREFIX,
    REWORDABLE,
    WAVES,
    Own,
    base_language,
    needs_no_label,
    phrases,
    raw_words,
)

SHEET_TRIES = ("understood_1", "understood_2")
"""The columns with the answers to the comprehension check on paper."""

RESERVED = ("practice", "key", "survey", "understood", "token", "channel", "serial", *SHEET_TRIES)
"""Names that are reserved for the page and the results."""

_MAX_INSTRUCTIONS = 3  # the largest number of options with separate instructions that people can follow on a wheel

_MOST_VERSIONS = 1000  # maximum number of versions of a text with inserted answers

_MAX_SEARCHED = 300  # maximum number of characters that are searched for a claim in one step

MOST_DIGITS = 15
"""Largest number of digits before the decimal point of a plain number, which a float can hold exactly."""

MAX_SUBMISSION_BYTES = 60_000
"""Largest size of a submission's answers in bytes; other fields fit into the rest of the server's limit."""


def check_names(questions: Sequence[Question], waves: int) -> None:
    """Reject a survey without questions, and names that are repeated or reserved."""
    reserved = RESERVED if waves == 1 else (*RESERVED, PERSON)
    if not questions:
        reject("a survey must have at least one question", "none", "there is nothing to answer")
    names = [question.name for question in questions]
    for name in names:
        with error_location(question=name, field="name"):
            if names.count(name) > 1:
                rule = "each question must have a unique `name`"
                reject(rule, f"{name!r} {names.count(name)} times", "answers are identified by name")
            if name in reserved:
                rule = f"a question must not be called {', '.join(reserved)}"
                reject(rule, repr(name), "the results use this name; choose another")
            if re.sub(r"_(_\d+)?$", "", name) in {*names} - {name}:
                rule = "a question must not have the name of another question followed by _ or __ and a number"
                reject(rule, repr(name), "files for SPSS and Stata have such columns")


def check_translations(
    prose: Mapping[str, Text | None], questions: Sequence[Question], languages: Sequence[str], own_words: Own | None
) -> None:
    """Reject a survey with a text that is missing in one of its languages."""
    for name, text in prose.items():
        _check_text(name, name, text, languages)
    for code, texts in (own_words or {}).items():
        for name, own_text in texts.items():
            _check_text("words", f"words.{code}.{name}", in_language(own_text, code), [code])
    for question in questions:
        with error_location(question=question.name):
            for name in TEXT_FIELDS:
                _check_text(name, name, getattr(question, name), languages)
            if question.image is not None:
                _check_text("image", "image.alt", in_language(question.image["alt"], languages[0]), languages)
            for option in dict.fromkeys((*question.options, *question.report_options)):
                _check_label(option, question.labels.get(option), languages)
            _check_distinct(question, languages, own_words)


def _check_text(field: str, name: str, text: Text | None, languages: Sequence[str]) -> None:
    if text is None:
        return
    if absent := [language for language in languages if language not in text]:
        rule = f"`{name}` must be given in every language of the survey ({', '.join(languages)})"
        reject_field(field, rule, f"none in {', '.join(absent)}", "people who choose that language could not read it")
    if character := next(filter(None, map(find_direction_change, text.values())), None):
        rule = f"`{name}` must not change the direction of writing, except with isolates (U+2066 to U+2069)"
        reject_field(field, rule, character_name(character), "the text around it would be shown backwards")


def _check_label(option: str | int, label: str | Text | None, languages: Sequence[str]) -> None:
    if label is not None:
        _check_text("labels", f"labels.{option}", in_language(label, languages[0]), languages)
    elif not needs_no_label(option) and len(languages) > 1:
        rule = f"the option {option!r} must have a label in every language ({', '.join(languages)})"
        first, second = languages[:2]
        in_file = f'in TOML labels.{option} = {{{first} = "…", {second} = "…"}}'
        why = f'write labels={{{option!r}: {{"{first}": "…", "{second}": "…"}}}}, {in_file}'
        reject_field("labels", rule, "none", why)


def check_labels(questions: Sequence[Question], languages: Sequence[str], own_words: Own | None) -> None:
    """Reject a label that could change the meaning of a sentence that quotes it."""
    quotes = {
        code: phrases(code, own_words)["quote"] + raw_words(code, (own_words or {}).get(code, {}))["quoted"]
        for code in languages
    }
    for question in questions:
        for option in dict.fromkeys((*question.options, *question.report_options)):
            for code, quote in quotes.items():
                label = question.label(option, code, phrases(code, own_words))
                is_own_label = option in question.labels or label == str(option)  # otherwise the label is built in
                if is_own_label and (character := find_unquotable(label, quote)) is not None:
                    with error_location(question=question.name, field="labels"):
                        reject(
                            "a label must be one line of text without quotation marks, invisible characters, or "
                            "characters that change the direction of writing",
                            f"{character_name(character)} in the label of {ascii(option)[:60]}",
                            "the consent text quotes the label and would read differently",
                        )


def check_claims(prose: Mapping[str, Text | None], questions: Sequence[Question], own_words: Own | None) -> None:
    """Reject titles and custom page texts with claims about what happens to answers; warn about claims elsewhere.

    The page itself describes what happens to answers, and derives this from the designs.
    """
    short = {f"words.{code}.{name}": text for code, table in (own_words or {}).items() for name, text in table.items()}
    asking = {name: text for name, text in short.items() if name.rpartition(".")[2] in REWORDABLE}
    titles = {f"title.{code}": text for code, text in (prose["title"] or {}).items()}
    for name, text in {**asking, **titles}.items():
        if (claim := _claim(text)) is not None:
            rule = f"`{name}` must not say what happens to answers"
            why = "the page states this itself, from the designs, so that it is true"
            reject_field(name.partition(".")[0], rule, repr(claim), why)
    for name, sentences in prose.items():
        if name != "title":
            _warn_of_claim(sentences, None, name)
    for question in questions:  # the other texts may mention what others know about a debt or a birthday
        for name in ("help", "warning"):
            _warn_of_claim(getattr(question, name), question.name, name)


def _warn_of_claim(text: str | Text | None, question: str | None, field: str) -> None:
    if claim := next(filter(None, map(_claim, _texts(text or ""))), None):
        name = field if question is None else f"{question}.{field}"
        message = (
            f"`{name}` says what happens to answers ({claim!r}): the page states this itself, from "
            "the designs. Leave the claim out, unless it is exactly true for every answer in this survey."
        )
        warn(SurveyWarning(message, question=question, field=field))


def _claim(text: str) -> str | None:
    """Return the part of a text that makes a claim about answers, or None.

    The text is searched sentence by sentence, and long sentences in chunks, because the time grows with the cube of the
    length of the searched text.
    """
    pattern = re.compile("|".join(phrases(code)["claims"] for code in LANGUAGES))
    sentences = re.findall(rf"[^.!?;؟؛]{{1,{_MAX_SEARCHED}}}", visible_form(text).lower())
    return next((match.group() for match in map(pattern.search, sentences) if match), None)


def _check_distinct(question: Question, languages: Sequence[str], own_words: Own | None) -> None:
    for language in languages:
        sentences = phrases(language, own_words)
        for options in (question.options, question.report_options):
            labels = Counter(visible_form(question.label(option, language, sentences)) for option in options)
            if twice := next((label for label, count in labels.items() if count > 1), None):
                rule = f"options must have different labels in {language}"
                reject_field("labels", rule, f"{twice!r} twice"[:80], "people could not choose between them")


def check_conditions(questions: Sequence[Question]) -> None:
    """Reject a `show_if` that names later or randomized questions, or lets people avoid a randomized question."""
    names = [question.name for question in questions]
    for index, question in enumerate(questions):
        for name, options in (question.show_if or {}).items():
            with error_location(question=question.name, field="show_if"):
                if name not in names[:index]:
                    received = f"{name!r}, which " + ("comes later" if name in names else "is not in the survey")
                    reject("`show_if` must name a question before this one", received, "its answer is not known yet")
                _check_condition(question, questions[names.index(name)], options)


def check_insertions(questions: Sequence[Question]) -> None:
    """Reject texts that insert anything except an earlier plain answer that all their readers have given."""
    for index, question in enumerate(questions):
        earlier = {other.name: other for other in questions[:index]}
        for field in ("instructions", "warning"):
            if names := inserted_names(getattr(question, field)):
                rule = "only `text` and `help` can contain {answer:…}"
                with error_location(question=question.name):
                    reject_field(field, rule, repr(names[0])[:60], "people would read the braces; use `help`")
        with error_location(question=question.name, field="text"):
            for name in question.inserted_names:
                if name not in earlier:
                    rule = "{answer:…} must name a question before this one"
                    reject(rule, repr(name)[:60], "its answer is not known yet; correct the name, or move the question")
                _check_insertion(question, earlier[name])
            if math.prod(len(earlier[name].options) for name in question.inserted_names) > _MOST_VERSIONS:
                rule = f"the answers in a text must allow at most {_MOST_VERSIONS} versions of it"
                reject(rule, "more", "insert the answer to a question with fewer options")


def _check_insertion(question: Question, other: Question) -> None:
    """Reject the insertion of a protected answer, of one that may be missing, or into a text that must not change."""
    name, conditions = other.name, dict(question.show_if or {})
    if other.randomized:
        reject("{answer:…} must not name a randomized question", repr(name), "the screen would show the true answer")
    if other.kind != "choice" or other.draw_probabilities is not None:
        reject("{answer:…} must name a plain single-choice question", repr(name), "only an option has a label")
    if other.page is not None and other.page == question.page:
        reject("{answer:…} must name a question on an earlier page", repr(name), "its answer is not known yet")
    if question.memo is not None:
        why = "in a later wave, the stored draw would belong to another text"
        reject("a question with a memo must have the same text for everybody", "{answer:…}", why)
    is_asked = all(
        key in conditions and {*conditions[key]} <= {*options} for key, options in (other.show_if or {}).items()
    )
    if name not in conditions and not (other.required and is_asked):
        rule = f"everybody who reads {{answer:{name}}} must have answered {name!r}"
        why = f"make {name!r} required and ask it of everybody, or name it in `show_if`"
        reject(rule, "people who may not have", why)


def check_pages(questions: Sequence[Question]) -> None:
    """Reject a page whose questions are not neighbors, or that depend on an answer on the same page."""
    for index, question in enumerate(questions):
        earlier = [other.name for other in questions[:index] if other.page == question.page]
        if question.page is None or not earlier:
            continue
        previous = questions[index - 1].name
        with error_location(question=question.name):
            if earlier[-1] != previous:
                why = "move it, or give one of them another page"
                reject_field("page", "questions with the same `page` must be neighbors", f"{previous!r} between", why)
            if name := next((name for name in question.show_if or () if name in earlier), None):
                rule = "`show_if` must name a question on an earlier page"
                reject_field("show_if", rule, f"{name!r} on the same page", "its answer is not known yet")


def _check_condition(question: Question, other: Question, options: Sequence[str | int]) -> None:
    name = other.name
    if other.randomized:
        leak = "whether this question was asked would reveal the true answer; ask it of everybody"
        reject("`show_if` must not depend on a randomized question", repr(name), leak)
    if other.kind != "choice":
        rule = "`show_if` must name a plain single-choice question"
        reject(rule, f"{name!r} with answers of kind {other.kind}", "its answers cannot be listed as options")
    if strange := [option for option in options if option not in other.options]:
        options_text = ", ".join(map(str, other.options[:8]))
        rule = f"`show_if` must name options of {name!r} ({options_text})"
        reject(rule, repr(strange[0])[:60], "the question would never be asked")
    if question.randomized and not other.required:
        evade = "people could avoid this question by leaving the other one out, which reveals something"
        reject(f"{name!r} must be required, because a randomized question depends on it", "required = false", evade)
    if question.randomized and (refusal := declining_option(other)) is not None:
        evade = 'declining reveals something; make "prefer not to say" an option of the design instead'
        rule = "a randomized question must not depend on a question that can be declined"
        reject(rule, f"{name!r} with {refusal!r}", evade)


def check_waves(questions: Sequence[Question], waves: int, languages: Sequence[str], own_words: Own | None) -> None:
    """Reject a memo without waves, waves without a memo, and custom texts that lack the sentences about waves."""
    with_memo = next((question.name for question in questions if question.memo is not None), None)
    if with_memo is not None and waves == 1:
        rule = "a question with a memo needs a survey with at least 2 `waves`"
        why = "a permanent answer is useful only if the same people are asked again"
        reject_field("waves", rule, f"{with_memo!r} in a survey with 1 wave", why)
    if with_memo is None and waves > 1:
        reject_field(
            "waves",
            "a survey with `waves` must have a question with a memo",
            f"{waves} waves and no memo",
            "each wave would cost the whole epsilon again; use separate surveys, or a Memo of toolkit.local.waves as "
            "the design",
        )
    for language in languages if waves > 1 else ():
        if absent := [name for name in WAVES if name not in phrases(language, own_words)]:
            rule = f"`words` must contain {PROMISE_PREFIX}{absent[0]} in a survey with waves"
            reject_field("words", rule, f"none in {language!r}", "people must be told what being asked again means")


def check_leaks(questions: Sequence[Question]) -> None:
    """Reject surveys in which a randomized question could be left out, or answered without protection elsewhere."""
    randomized = [question for question in questions if question.randomized]
    for question in questions:
        with error_location(question=question.name):
            if question.randomized and not question.required:
                evade = 'leaving it out reveals something; make "prefer not to say" an option of its design instead'
                reject_field("required", "a randomized question must be required", "required = false", evade)
            if randomized and question.free_text and question.warning is None:
                rule = "free text in a survey with randomized questions needs a `warning`"
                why = "people could write there what the design hides; ask them not to"
                reject_field("warning", rule, "none", why)
            texts = _letters_and_digits(question, questions)
            twins = [other for other in randomized if texts & _letters_and_digits(other, questions)]
            twin = next((other for other in twins if not _in_different_arms(question, other)), None)
            if twin is not None and not question.randomized:
                rule = "a plain question must not have the text of a randomized question"
                reject_field("text", rule, f"the text of {twin.name!r}", "its answer would be sent unprotected")


def _in_different_arms(question: Question, other: Question) -> bool:
    """Return whether two questions are in different arms, so that nobody is asked both."""
    arms = [set(item.arms) for item in (question, other)]
    return all(arms) and not arms[0] & arms[1]


def _letters_and_digits(question: Question, questions: Sequence[Question]) -> set[str]:
    """Return the letters and digits of a question's text in each language, with all answers that can be inserted."""
    texts = in_language(question.text, "en")
    return {
        "".join(filter(str.isalnum, visible_form(text).casefold())) or text
        for code, pattern in texts.items()
        for text in _versions_of(pattern, code, question, questions)
    }


def _versions_of(pattern: str, code: str, question: Question, questions: Sequence[Question]) -> list[str]:
    """Return a text in one language with each combination of answers that can be inserted."""
    inserted = [other for other in questions if other.name in question.inserted_names]
    sentences = phrases(base_language(code) or "en")
    labels = [[other.label(option, code, sentences) for option in other.options] for other in inserted]
    names = [other.name for other in inserted]
    return [insert_answers(pattern, dict(zip(names, combination, strict=True))) for combination in product(*labels)]


def _texts(text: str | Text) -> Collection[str]:
    return [text] if isinstance(text, str) else text.values()


def _lowercase_texts(question: Question) -> list[str]:
    """Return the texts of a question in lower case."""
    texts = [text for text in (question.text, question.help, question.instructions) if text is not None]
    return [line.lower() for text in texts for line in _texts(text)]


def check_loss(questions: Sequence[Question], ceiling: Pure, waves: int) -> None:
    """Reject a survey whose privacy loss over all waves exceeds the ceiling, or whose reports could prove an answer."""
    spent = loss(questions, waves)
    certain = next(
        (question.name for question in questions if math.isinf(loss_over_waves(question, waves).epsilon)), None
    )
    if certain is not None and not spent <= ceiling:
        subject = "a report" if waves == 1 else f"the reports of {waves} waves"
        why = "write ceiling=math.inf, in TOML ceiling = inf, to allow it; the consent text then says what it can prove"
        with error_location(question=certain):
            reject_field("design", f"{subject} must not be able to prove an answer", "a design with epsilon ∞", why)
    if not spent <= ceiling:
        costs = ", ".join(
            f"{question.name} {loss_over_waves(question, waves).epsilon:.3g}"
            for question in questions
            if question.randomized
        )
        often, fewer = ("", "questions") if waves == 1 else (f" in {waves} waves", "questions or waves")
        most = f"at most epsilon {ceiling.epsilon:.4g}{often}, the survey's `ceiling`"
        remedy = f"choose smaller epsilons or fewer {fewer}, or raise `ceiling`: the consent text then says so"
        rule = f"all questions together must cost a respondent {most}"
        reject_field("ceiling", rule, f"{spent.epsilon:.4g} ({costs})", remedy)


def warn_of_public_facts(questions: Sequence[Question]) -> None:
    """Warn about an innocent question whose answer others can find out, because they can then infer the true answer."""
    pattern = re.compile("|".join(phrases(code)["found_out"] for code in LANGUAGES))
    for question in filter(needs_secret_answer, questions):
        if match := next(filter(None, map(pattern.search, _lowercase_texts(question))), None):
            message = (
                f"question {question.name!r} asks for something that others may find out ({match.group()!r}): whoever "
                "knows it can infer the true answer from the report. Ask about a person whose birthday nobody "
                "here can find out, whom the respondent chooses and keeps secret."
            )
            warn(SurveyWarning(message, question=question.name))


def warn_of_months(questions: Sequence[Question]) -> None:
    """Warn about a share in twelfths for birthdays in certain months, because no month has a twelfth of all days."""
    names = {name for code in LANGUAGES for name in phrases(code, None, "paper")["months"].lower().split("|")}
    months = re.compile(rf"\b({'|'.join(sorted(names - {'may', 'march'}))})\b")  # these two are also ordinary words
    for question in questions:
        share = innocuous_share(question.design) if question.design and has_matrix(question.design) else None
        if share is None or question.innocent is not None or (12 * share).denominator != 1:
            continue
        if any(map(months.search, _lowercase_texts(question))):
            message = (
                f"question {question.name!r} assumes {share} of all birthdays in some months, but months differ in "
                "length: January to April have 120.25 of 365.25 days, which moves an estimate by about a percentage "
                'point. Write innocent = {born = "jan-apr"} with the months you mean, and leave the share out.'
            )
            warn(SurveyWarning(message, question=question.name, field="design"))


def check_wheels(questions: Sequence[Question]) -> None:
    """Reject a wheel whose instructions are too complicated to follow."""
    for question in questions:
        design = question.design
        if question.mode != "guided" or design is None or not has_matrix(design) or is_mixture(design):
            continue
        if len(design.options) > _MAX_INSTRUCTIONS:
            with error_location(question=question.name, field="mode"):
                design_rule = "a design whose reports are either the true answer or the same for everybody"
                rule = f"a guided question with more than {_MAX_INSTRUCTIONS} options must have {design_rule}"
                why = 'nobody can follow such a wheel; use mode="auto", or k_ary or forced_options'
                reject(rule, f"{len(design.options)} options", why)


def max_answer_bytes(questions: Sequence[Question]) -> int:
    """Return an upper bound on the size of the answers in the longest possible submission, in bytes."""
    total = 0
    for question in questions:  # a character has up to four bytes, and a list may contain every code
        codes = 0 if question.kind == "number" else 5 * len(question.options)
        total += len(question.name) + 30 + (4 * LONGEST_ANSWER if question.free_text else codes)
    return total


def check_size(questions: Sequence[Question]) -> None:
    """Reject a survey if the server would reject its longest possible submission or its longest number."""
    for question in questions:
        if not question.randomized and question.bounds and max(map(abs, question.bounds)) >= 10**MOST_DIGITS:
            with error_location(question=question.name, field="bounds"):
                why = "phones and spreadsheets cannot hold more digits, and the server would reject such a number"
                reject(f"`bounds` must have at most {MOST_DIGITS} digits before the decimal point", "more", why)
    if sum(image_size(question.image) for question in questions) > MOST_IMAGES_BYTES:
        rule = f"the images of a survey must have at most {MOST_IMAGES_BYTES:,} bytes together"
        reject(rule, "more", "every phone loads them with the page: make them smaller, or use fewer")
    if (total := max_answer_bytes(questions)) > MAX_SUBMISSION_BYTES:
        rule = f"the longest possible submission must stay below {MAX_SUBMISSION_BYTES} bytes"
        reject(rule, total, "ask for fewer free texts, or fewer questions with many options")
