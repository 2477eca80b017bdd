"""Every text for respondents, for a catalogue of surveys, read back: no false claim, no factor below the truth,
readable numbers, no unfilled placeholder and no duplicate punctuation.
"""

import itertools
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.survey.samples import DESIGNS
from toolkit import k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.local.waves import Memo
from toolkit.survey.client import code_hash
from toolkit.survey.consent.device_check import paper_layers
from toolkit.survey.consent.page_data import page_words, shown_survey
from toolkit.survey.consent.statement import odds
from toolkit.survey.dpia import assessment
from toolkit.survey.paper.sheets import printed_pages
from toolkit.survey.questions.question import Question, localized_question
from toolkit.survey.serving.page import page_content
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES, phrases
from toolkit.texts.voice import Voice

EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 3.01, 5.0, 9.2, 9.3, 13.0)
FORBIDDEN = {
    "en": r"can know|cannot know|nobody can learn|completely|100 % (safe|private)|no risk|Yes” always"
    r"|no way to find|Nobody has said",
    "de": r"wissen, was Ihre|wirkliche Antwort|kann .* wissen\.|malgenommen|anonymer Schein|Bericht(?!igung)"
    r"|keinen Weg|Niemand hat gesagt",
    "fr": r"par hasard|au hasard avant|fois plus probable|vous seul|les chercheurs|rapport\b| [;:?!»]|« "
    r"|aucun moyen de|Personne n’a dit",
    "es": r"puede saber|casi siempre|veces más probable|usted mismo|los investigadores|informe"
    r"|no hay manera de|Nadie ha dicho",
    "ar": r"بالصدفة|الصدفة|رقمك|أضعاف|تقرير|استطلاع|لا سبيل|لم يقل أحد",
}
"""What was said once, and was untrue or read wrongly: language by language."""
MARKS = re.compile(
    r"[{}]|\.\.|,,|;;|\?\?|“{2}|”{2}|„{2}|«{2}|»{2}| {2}|\bNone\b(?! of)|\bnan\b|\binf\b|Fraction|Decimal|"
    r"\de\+|\de-|\d\^\d|\d{5}"
)
"""Gaps, doubled marks, and numbers that nobody reads."""
CLAIMS_SECRECY = ("head_all", "head_one", "head_some", "head_each")
PHONE = {"en": "phone", "de": "Telefon", "fr": "téléphone", "es": "teléfono", "ar": "هاتف"}


def asked(design: Any, language: str, mode: str = "auto") -> Question:
    texts = {"instructions": {language: "…"}} if mode == "physical" else {}
    one = design.design if isinstance(design, Memo) else design
    options = (*getattr(one, "options", ()), *one.report_options)
    labels = {option: {language: f"({option})"} for option in options}
    return Question("asked", {language: "asked"}, design=design, mode=mode, labels=labels, **texts)


def plain(language: str) -> Question:
    return Question("faculty", {language: "F"}, options=[1, 2])


def made(language: str, *questions: Question, **changes: Any) -> Survey:
    """Do not compute the hash of the page, which is not a sentence and takes as long as a page."""
    texts = {"title": {language: "T"}, "consent": {language: "C"}}
    survey = Survey(questions=questions, languages=[language], ceiling=math.inf, **texts, **changes)
    vars(survey)["hash"] = "f" * 64
    return survey


def strings(data: Any) -> Iterator[str]:
    """Return all texts of a page; the browser fills in hints with limits."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for name, part in data.items():
            yield from () if name in ("hint", "problem") else strings(part)
    elif isinstance(data, (list, tuple)):
        for part in data:
            yield from strings(part)


def texts(survey: Survey, language: str) -> Iterator[str]:
    """Return consent texts for phones and paper, all texts of the page including practice and wheels, the printed
    sheet, the text before Send, and the text for a board.
    """
    yield survey.consent_text(language)
    if survey.waves == 1:
        yield survey.consent_text(language, paper=True)
    page = page_content(survey)
    yield from strings([page[part] for part in ("title", "consent", "intro", "questions")])
    if all(question.mode in ("physical", "plain") for question in survey.questions):
        for page in printed_pages(survey, language, ["183103819"]).values():
            yield page.partition("</style>")[2].replace("183 103 819", "").replace(survey.hash[:8], "x")
    words = page_words(survey)[language]
    yield from (words[name] for name in ("review_note", "end_already", "keeps_nothing"))
    yield from (words[name] for name in ("new_draws",) if survey.waves > 1)
    if language == "en" or len(survey.questions) > 1:  # all other designs are in test_dpia.py
        yield assessment(survey, language).replace(survey.hash, "x").replace(code_hash(), "x")


def in_every_mode(design: Any, language: str) -> Iterator[Question]:
    for mode in ("auto", "guided", "physical"):
        with suppress(ValueError):  # neither a wheel nor a die can realize a design without a matrix
            yield asked(design, language, mode)


def surveys(language: str) -> Iterator[Survey]:
    """Every design in every mode; every mode with every access, alone or beside a plain question; ε from 0.1 to ∞ (for
    `mangat`).
    """
    for design in DESIGNS.values():
        for question in in_every_mode(design, language):
            with suppress(ValueError):  # a wheel with too many orders
                yield made(language, question)
    modes, access = ("auto", "guided", "physical"), ("open", "token", "blind")
    for mode, let_in, others in itertools.product(modes, access, ((), (plain(language),))):
        yield made(language, asked(warner("2/3"), language, mode), *others, access=let_in)
    for epsilon in EPSILONS:
        numbers = numeric.local_laplace((0, 1_000_000), epsilon)
        for design in (k_ary(3, epsilon=epsilon), oracles.unary(30, epsilon), numbers):
            yield made(language, asked(design, language))
    yield made(language, asked(k_ary(["no", "yes", "prefer not to say"], epsilon=1.0), language))
    yield made(language, plain(language))
    for let_in, (waves, fresh) in itertools.product(access, ((2, "99/100"), (4, "3/4"), (12, "3/4"), (12, "99/100"))):
        memo = asked(Memo(warner("3/4"), warner(fresh)), language)
        yield made(language, memo, plain(language), access=let_in, waves=waves, wave=2)


@pytest.mark.slow
def test_the_catalogue_has_every_design_mode_access_and_size_of_loss() -> None:
    found = list(surveys("en"))
    assert {question.design.name for one in found for question in one.questions if question.design} == {
        *(design.name for design in DESIGNS.values()),
        "memo",
    }
    assert {one.waves for one in found} == {1, 2, 4, 12}
    assert {question.mode for one in found for question in one.questions} == {"auto", "guided", "physical", "plain"}
    assert {one.access for one in found} == {"open", "token", "blind"}
    losses = [one.loss.epsilon for one in found]
    assert 0 < min(loss for loss in losses if loss) <= 0.1
    assert max(losses) == math.inf
    hidden = {question.mode for one in found if one.loss.epsilon == math.inf for question in one.questions}
    assert hidden == {"auto", "guided", "physical"}


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_makes_a_forbidden_claim_or_has_a_mark_too_many(language: str) -> None:
    read = {text for survey in surveys(language) for text in texts(survey, language)}
    for text in read:
        assert not (found := re.search(FORBIDDEN[language], text)), (found, text)
        assert not (found := MARKS.search(text)), (found, text)
    assert len(read) > 500


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_the_page_make_no_forbidden_claim(language: str) -> None:
    words = page_words(made(language, asked(warner("2/3"), language)))[language]
    for name, text in words.items():
        assert not (found := re.search(FORBIDDEN[language], text)), (name, found)
        assert not re.search(r"\.\.|,,| {2}", text), name


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_secrecy_is_claimed_and_checked_only_up_to_the_usual_epsilon(language: str) -> None:
    """Above this epsilon, neither the claim nor the comprehension check appears."""
    sure = [phrases(language)[name] for name in CLAIMS_SECRECY]
    for epsilon in (*EPSILONS, math.inf):
        design = k_ary(3, epsilon=epsilon) if math.isfinite(epsilon) else DESIGNS["mangat"]
        survey = made(language, asked(design, language))
        page = shown_survey(survey)
        claims = page["consent"][language][0]["open"][0] in sure
        assert claims == (epsilon <= 3) == survey.check == survey.practice == page["questions"][0]["deniable"]


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_stated_factors_and_guesses_are_never_below_the_truth(language: str) -> None:
    """The value is read back from the finished sentence."""
    for hundredth in range(1, 921, 9):
        design = warner(epsilon=hundredth / 100)
        ratio = int(design.weights.max()) / int(design.weights.min())
        holds_the_truth(odds(asked(design, language), language, with_ratio=True)[-1], language, design.epsilon, ratio)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_design_understates_its_factor_or_its_share(language: str) -> None:
    """The epsilon of a design is computed from its integers, as the contract tests show."""
    bounded = [design for design in DESIGNS.values() if math.isfinite(design.epsilon)]
    assert len(bounded) > 15
    for design in bounded:
        said = odds(asked(design, language), language, with_ratio=True)
        holds_the_truth(said[-1], language, design.epsilon, math.exp(design.epsilon))


def holds_the_truth(said: str, language: str, epsilon: float, ratio: float) -> None:
    """The placeholders of a sentence contain a factor and a share of right guesses; neither is below the truth."""
    voice = Voice(phrases(language))
    weak = "" if epsilon <= 3 else "_weak"
    pattern = re.escape(" ".join(phrases(language)[name + weak] for name in ("ratio", "bound")))
    for gap, group in (("factor", r"([\d.,\u202f]+?)"), ("guess", r"(.+?)")):
        pattern = pattern.replace(re.escape(f"{{{gap}}}"), group, 1)
    found = re.fullmatch(pattern, said)
    assert found is not None
    digits = found[1].replace(voice.phrases["thousands"], "").replace(voice.phrases["decimal"], ".")
    assert ratio * (1 - 1e-11) <= float(digits) <= ratio * 1.01
    numbers = re.findall(r"\d[\d.,\u202f]*\d|\d", found[2])
    count, of = sorted(int(re.sub(r"\D", "", number)) for number in numbers)
    assert 0 <= count / of - ratio / (1 + ratio) * (1 - 1e-11) <= 1 / of


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_filled_in_is_set_apart_where_writing_runs_the_other_way(language: str) -> None:
    text = made(language, asked(warner("2/3"), language)).consent_text(language)
    assert text.count("\u2068") == text.count("\u2069")
    assert ("\u2068" in text) == (language == "ar")


@pytest.mark.parametrize("language", LANGUAGES)
def test_paper_speaks_of_no_phone_in_any_language(language: str) -> None:
    question = asked(warner("2/3"), language)
    for check, access in itertools.product((True, False), ("open", "token", "blind")):
        assessment = paper_layers(made(language, question, check=check, access=access), language)
        assert not any(PHONE[language] in text for layer in assessment for text in (*layer.open, *layer.more))


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_what_a_randomizer_says_of_itself_is_what_people_are_told(design: Any) -> None:
    said = design.describe()
    assert not re.search(FORBIDDEN["en"], said)
    assert not MARKS.search(said)
    told = odds(localized_question(Question("asked", "?", design=design), "en"), "en", with_ratio=True)
    assert all(DOTS.sub("", sentence).lower() in said.lower() for sentence in told)


RATIO = {
    "en": "times as likely",
    "de": "mal so wahrscheinlich",
    "fr": "probabilité",
    "es": "probabilidad",
    "ar": "مضروبًا",
}
DOTS = re.compile(r" \([●○]+\)")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_likelihood_ratios_are_only_in_codebooks(language: str) -> None:
    """Respondents never read a likelihood ratio."""
    for design in DESIGNS.values():
        survey = made(language, asked(design, language))
        page = page_content(survey)
        shown = " ".join(strings([page["questions"], page["consent"]]))
        assert RATIO[language] not in shown + survey.consent_text(language)
        if design.epsilon <= 9:  # above this value, no share of guesses is more informative
            assert RATIO[language] in " ".join(odds(survey["asked"], language, with_ratio=True)), design.name


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_all_waves_can_shift_is_said_with_at_least_its_true_share(language: str) -> None:
    """The exact worst case over all truths and all lost memos is read back from the finished sentence, and so is the
    value for memos that are kept.
    """
    for waves, fresh in itertools.product((2, 3, 5), ("3/4", "4/5", "9/10")):
        memo = Memo(warner("3/4"), warner(fresh))
        survey = made(language, asked(memo, language), waves=waves)
        exact = memo.epsilon(waves, truth="changing", memo="lost"), memo.epsilon(waves)
        learn = shown_survey(survey)["consent"][language][2]
        paragraph = " ".join(learn["open"] + learn["more"])
        for name, epsilon in zip(("total_waves", "total_same"), exact, strict=True):
            pattern = re.escape(phrases(language)[name]).replace(re.escape("{guess}"), "(.+?)")
            pattern = pattern.replace(re.escape("{waves}"), str(waves))
            said = re.search(pattern, paragraph)
            assert said is not None, (name, paragraph)
            digits = (int(re.sub(r"\D", "", part)) for part in re.findall(r"\d[\d.,\u202f]*\d|\d", said[1]))
            count, of = sorted(digits)
            share = 1 / (1 + math.exp(-epsilon))
            assert 0 <= count / of - share * (1 - 1e-11) <= 1 / of
