"""The promise: consequences first, true for each kind of design, and never more than the designs guarantee."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, panel, survey, survey_with
from toolkit import Design, Pure, Survey, crosswise, k_ary, mangat, triangular, warner
from toolkit.local.oracles import subset
from toolkit.local.waves import Memo
from toolkit.survey.consent.device_check import paper_layers
from toolkit.survey.consent.page_data import consent_layers, shown_survey
from toolkit.survey.consent.statement import loss, odds, unique_patterns
from toolkit.survey.questions.question import Question, localized_question
from toolkit.survey.spec import station_version
from toolkit.texts.odds import epsilon_bound
from toolkit.texts.phrases import LANGUAGES, page_words_by_language, phrases
from toolkit.texts.voice import Voice

PHYSICAL = {"mode": "physical", "instructions": "Throw a die."}
MOON = Question("moon", "Been to the moon?", design=warner(p="3/4"), anchor="no")
PROMISES_SECRECY = ("head_one", "head_all", "head_some", "head_each")


def told(*questions: Question, language: str = "en", paper: bool = False, **changes: Any) -> list[str]:
    """Return all displayed text, whether folded or not."""
    asked = [localized_question(question, language) for question in questions]
    given = {"title": {language: "T"}, "consent": {language: "C"}, "languages": [language], "ceiling": math.inf}
    made = Survey(questions=asked, **{**given, **changes})
    layers = (paper_layers if paper else consent_layers)(made, language)
    return [text for layer in layers for text in (*layer.open, *layer.more)]


def agree(name: str, epsilon: float) -> Question:
    return Question(name, f"Do you agree with {name}?", design=k_ary(5, epsilon=epsilon))


HEADS: dict[str, tuple[list[Question], str]] = {
    "one question": ([cheated()], "head_one"),
    "all are protected": ([cheated(), agree("a", 1.0)], "head_all"),
    "some are protected": ([faculty(), cheated()], "head_some"),
    "each is, all together is a lot": ([agree("a", 2.0), agree("b", 2.0)], "head_each"),
    "one alone is a lot": ([agree("a", 1.0), agree("b", 4.0)], "head_weak"),
    "a report can prove": ([cheated(), Question("x", "X?", design=mangat("1/2"))], "head_proof"),
    "nothing is protected": ([faculty()], "head_plain"),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("questions", "head"), HEADS.values(), ids=HEADS)
def test_the_consequence_comes_first_and_is_what_the_designs_give(
    questions: list[Question], head: str, language: str
) -> None:
    assert told(*questions, language=language)[0] == phrases(language)[head]


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_secrecy_is_promised_only_up_to_odds_of_twenty(design: Any) -> None:
    head = told(Question("x", "X?", design=design))[0]
    promised = head in [phrases("en")[name] for name in PROMISES_SECRECY]
    assert promised == (design.epsilon <= 3)


def test_the_loss_is_the_sum_of_all_reports_anchors_too() -> None:
    assert loss([faculty(), cheated(), MOON]) == warner(p="2/3").loss + warner(p="3/4").loss
    assert loss([faculty()]) == Pure(0)
    assert math.isinf(loss([cheated(), Question("x", "X?", design=triangular("1/4"))]).epsilon)


def test_the_loss_is_what_whole_submissions_cost_by_enumeration() -> None:
    """For all pairs of answers to two questions and an anchor, the largest ratio is attained and never exceeded."""
    matrices = [question.design.matrix for question in (cheated(), agree("a", 1.0), cheated(anchor="no"))]  # type: ignore[union-attr]
    worst = 0.0
    truths = list(itertools.product(range(2), range(5), range(2)))
    for one, other in itertools.product(truths, repeat=2):
        for reports in itertools.product(range(2), range(5), range(2)):
            ratio = math.prod(m[a, y] / m[b, y] for m, a, b, y in zip(matrices, one, other, reports, strict=True))
            worst = max(worst, math.log(ratio))
    assert loss([cheated(), agree("a", 1.0), cheated(anchor="no")]).epsilon == pytest.approx(worst, abs=1e-9)


def test_the_total_is_told_as_odds_and_a_raised_ceiling_is_told() -> None:
    low, high = " ".join(told(cheated())), " ".join(told(agree("a", 2.0), agree("b", 2.0)))
    assert "it is right at most 67 times in 100" in low  # 2 to 1
    assert "the researchers raised it" not in low
    assert "it is right at most 99 times in 100" in high  # odds of e**4 to 1 are 0.98201
    assert "This software has a limit (96 times in 100): the researchers raised it." in high
    proof, both = Question("x", "X?", design=mangat("1/2")), " ".join(told(cheated(), agree("a", 20.0)))
    assert "there is no limit" in " ".join(told(proof))
    assert "it can be almost certain" in both


def test_the_limit_without_what_can_prove_an_answer_is_told() -> None:
    proof = Question("x", "X?", design=mangat("1/2"))
    assert "Without what we receive for “X?”, a guess that was right 50 times in 100 is right at most 67" in " ".join(
        told(cheated(), proof)
    )
    assert "Without what" not in " ".join(told(proof)) + " ".join(told(proof, agree("a", 20.0)))


def test_unprotected_questions_are_named() -> None:
    long = Question("long", "Well, " + "so " * 100 + "?", options=["a", "b"])
    paragraph = next(text for text in told(faculty(), long, cheated()) if "These questions are not protected" in text)
    assert "“Which faculty are you in?”" in paragraph
    assert "so…”" in paragraph
    assert "cheated" not in paragraph
    for text, shown in (
        ("x" * 120, "x" * 120),
        ("x" * 121, f"{'x' * 120}…"),
        (f"{'x' * 118}\n y z", f"{'x' * 118} y…"),
    ):
        assert f"“{shown}”" in " ".join(told(cheated(), Question("long", text, options=["a", "b"])))
    assert not any("not protected" in paragraph for paragraph in told(cheated()))


def test_what_must_be_trusted_depends_on_who_randomizes() -> None:
    auto, guided, physical = (" ".join(told(cheated(**mode))) for mode in ({}, {"mode": "guided"}, PHYSICAL))
    assert "your phone, its browser" in auto
    assert "your phone, its browser" in guided
    assert "your phone, its browser" not in physical
    assert "entered nowhere" in physical
    assert "entered nowhere" not in auto + guided
    assert "your phone turns a wheel" in guided
    assert "chance decides what is sent" in auto
    assert "chance decides what is sent" not in guided + physical
    assert "What we say about it holds if you do exactly that" in physical


def test_innocent_questions_that_need_secrecy_say_so() -> None:
    """A question that depends on facts that only the person knows says so where it is answered."""
    own = " ".join(told(Question("x", "X?", design=crosswise("1/4"), **PHYSICAL)))
    assert "needs one thing: nobody who sees what we receive can find out that other answer" in own
    assert "find out" not in " ".join(told(Question("x", "X?", design=crosswise("1/4")))) + " ".join(
        told(cheated(**PHYSICAL))
    )


def test_an_anchor_is_announced() -> None:
    said = "has the same true answer for everybody"
    assert said in " ".join(told(cheated(), MOON))
    assert said not in " ".join(told(cheated()))


def test_on_paper_there_is_no_phone() -> None:
    sheet = " ".join(told(faculty(), cheated(), MOON, access="token", paper=True))
    assert not any(word in sheet for word in ("phone", "browser", "airplane", "network", "link", "server’s"))
    assert "We receive only what you tick" in sheet
    assert "handwriting" in sheet


def test_what_is_stored_is_told() -> None:
    stored = {
        (check, access): " ".join(told(cheated(), check=check, access=access))
        for check in (True, False)
        for access in ("open", "token", "blind")
    }
    assert all("no network address, device or time" in text for text in stored.values())
    assert all(("question about the method right" in text) == check for (check, _), text in stored.items())
    assert all(("crossed off a list" in text) == (access == "token") for (_, access), text in stored.items())
    assert all(("anonymous ticket" in text) == (access == "blind") for (_, access), text in stored.items())


def test_shared_phones_and_stations_are_mentioned_but_not_on_paper() -> None:
    """The page mentions a household's phone and a station; a sheet mentions neither."""
    said = {"household": phrases("en")["household"], "field": phrases("en", None, "station")["station_own"]}
    shared, ours = survey(household=True), survey(cheated(), access="token", field={"station": "kiosk"})
    for made, names in ((survey(), []), (shared, ["household"]), (ours, []), (station_version(ours), ["field"])):
        assert [name for name, text in said.items() if text in made.consent_text()] == names
        assert [name for name, text in said.items() if text in made.consent_text(paper=True)] == []
    tables, there = (phrases("en"), phrases("en", None, "station")), ("trust_phone", "stored", "stored_more")
    for made, table, names in ((ours, 0, ("how_auto",)), (station_version(ours), 1, ("how_guided", "stored_open"))):
        found = [{name for name in (*there, *names) if words[name] in made.consent_text()} for words in tables]
        assert found[table] == {*there, *names}
        assert "stored" not in found[1 - table]
    mixed = survey(cheated(mode="physical"), faculty(), access="token", field={"station": "kiosk"})
    assert [one.mode for one in station_version(mixed).questions] == ["physical", "plain"]


@pytest.mark.parametrize("paper", [False, True])
def test_who_would_rather_not_say_is_told_what_that_means_in_this_design(paper: bool) -> None:
    """Declining is hidden if it is an answer of the design; otherwise the only way to decline is to send nothing."""
    options = ["no", "yes", "prefer not to say"]
    told = {
        epsilon: survey(cheated(design=k_ary(options, epsilon=epsilon)), ceiling=9).consent_text(paper=paper)
        for epsilon in (1.0, 5.0)
    }
    offered = "Where you can choose “prefer not to say”, that is an answer like any other."
    hidden = "So nobody can be sure from what we receive that you chose it."
    assert all(offered in text for text in told.values())
    assert (hidden in told[1.0], hidden in told[5.0]) == (True, False)
    both = [Question(name, f"{name}?", design=k_ary(options, epsilon=2.0)) for name in ("stole", "lied")]
    assert hidden not in survey(*both, ceiling=9).consent_text(paper=paper), "together they may tell"
    without = survey(cheated()).consent_text(paper=paper)
    assert offered not in without
    assert ("do not hand in the sheet" if paper else "stop before you send: then no answer is sent") in without


def test_the_consent_text_has_its_sections_in_order() -> None:
    """First the consequence, then the researcher's own words, then the odds with icons."""
    text = survey(cheated(), consent="We study exams.").consent_text()
    parts = text.split("\n\n")
    assert parts[0].startswith("Nobody, not even we, can be sure of your real answer from what")
    assert parts[1:3] == ["Who asks", "We study exams."]
    assert "“Have you ever cheated on an exam?”\nIf your answer is “Yes”, we receive “Yes” 2 times in 3 (●●○)" in text


@pytest.mark.parametrize(("epsilon", "head", "hidden"), [(3.0, "head_one", True), (3.001, "head_weak", False)])
def test_up_to_the_limit_nobody_can_be_sure_and_above_it_that_is_said(epsilon: float, head: str, hidden: bool) -> None:
    made = survey(cheated(design=subset(["no", "yes", "prefer not to say"], epsilon)), ceiling=4)
    assert (made.loss.epsilon == 3) == hidden
    text = made.consent_text()
    assert text.startswith(phrases("en")[head])
    assert (phrases("en")["decline_hidden"] in text) == hidden
    assert ("the researchers raised it" in text) == (not hidden)


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_the_whole_text_has_the_odds_of_every_design(design: Any) -> None:
    made = survey_with(design)
    assert made.loss == design.loss
    assert all(sentence in made.consent_text() for sentence in odds(made["asked"], "en"))


def test_odds_have_icons_and_labels_as_they_are_shown() -> None:
    shown = odds(localized_question(cheated(labels={"yes": "Yes, I have"}), "en"), "en")
    assert shown[0].startswith("If your answer is “Yes, I have”, we receive “Yes, I have” 2 times in 3 (●●○);")
    assert shown[1] == epsilon_bound(warner(p="2/3").epsilon, with_ratio=False)
    assert odds(faculty(), "en") == []


def test_a_language_of_the_researchers_own_is_spoken_throughout() -> None:
    promised = {
        f"promise_{name}": sentence.replace("e", "ë") for name, sentence in phrases("en").items() if "{" not in sentence
    }
    gaps = {f"promise_{name}": sentence for name, sentence in phrases("en").items() if "{" in sentence}
    page = {name: word for name, word in page_words_by_language(["en"])["en"].items() if name != "direction"}
    made = survey(cheated(), languages=["it"], words={"it": {**promised, **gaps, **page}})
    assert made.consent_text().startswith("Nobody, not ëvën wë")
    assert shown_survey(made)["questions"][0]["options"][1]["label"] == {"it": "Yës"}


def test_of_several_waves_everything_is_promised_for_all_of_them_together() -> None:
    text = panel(waves=4, wave=2).consent_text()
    guess = Voice(phrases("en")).guess_frequency
    assert f"for protected questions, all 4 times together, it is right at most {guess(2.0434)}." in text
    assert f"It is at most {guess(math.log(3))} if three things hold: your answers stay the same" in text
    assert "We ask the same people up to 4 times. This is time 2 of 4." in text
    assert (
        "This is for one time alone. All times together can show more: how much, you read before you took part." in text
    )
    assert "here, once" not in text
    assert "Your personal link works once" not in text
    assert "may find out which stored answers are yours" not in text


@pytest.mark.parametrize("access", ["token", "blind"])
def test_of_several_waves_a_link_works_in_each_and_what_few_share_may_tell(access: str) -> None:
    text, two = panel(waves=4, access=access).consent_text(), panel(access=access).consent_text()
    for told in (two, text):
        assert ("Your personal link works once each time that we ask." in told) == (access == "token")
        assert "Your personal link works once. " not in told
    assert "whose links were used may find out which stored answers are yours, if nobody else" in text
    assert "of 60 people, on average up to 4 are alone in this way after 4 times, if somebody looks" in text


@pytest.mark.parametrize(("waves", "at_end", "halfway"), [(2, 0, 0), (4, 0.0515, 0.022), (8, 0.36, 0.794)])
def test_no_moment_to_look_tells_more_people_than_is_said(waves, at_end, halfway) -> None:
    """2,000 simulated groups of 60 people who answer each wave with a given probability: 0.8 at the end (issue 28: 5 %
    have a unique pattern after four waves, 36 % after eight), 0.5 when half have answered. People who have answered no
    wave also share a pattern, because all numbers are known after closing. The standard error of a share is at most
    0.0015, since unique patterns within a group are nearly independent.
    """
    rng, told = np.random.default_rng(28), unique_patterns(waves)["alone"]
    shares = []
    for chance in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        seen = (rng.random((2_000, 60, waves)) < chance) @ (1 << np.arange(waves))
        counts = np.array([np.bincount(group, minlength=2**waves) for group in seen])
        shares.append((counts == 1).sum() / seen.size)
    assert shares[6] == pytest.approx(at_end, abs=0.008)
    assert shares[3] == pytest.approx(halfway, abs=0.008)
    assert told - 1.4 < 60 * max(shares) < told + 0.4


def test_how_many_are_alone_is_what_a_list_of_all_patterns_gives() -> None:
    for waves, people in ((1, 2), (2, 3), (3, 60), (4, 5), (4, 60), (6, 20)):
        means = []
        for chance in (Fraction(tenths, 10) for tenths in range(1, 10)):
            all_ = [
                math.prod(chance if used else 1 - chance for used in one)
                for one in itertools.product((0, 1), repeat=waves)
            ]
            means.append(sum(people * one * (1 - one) ** (people - 1) for one in all_))
        assert unique_patterns(waves, people) == {"waves": waves, "people": people, "alone": math.ceil(max(means))}


def test_what_holds_for_a_kept_memo_is_said_only_if_it_is_better() -> None:
    """Two waves with weak permanent and strong fresh noise: if both give the same guess, it is stated once."""
    same = panel(cheated(design=Memo(warner("99/100"), warner("51/100"))))
    assert "if three things hold" not in same.consent_text()


def test_only_a_first_wave_leaves_out_what_proves_an_answer() -> None:
    """Earlier waves may have had more questions that prove an answer."""
    proof = cheated(design=Memo(warner("3/4"), Design([[1, 0], [0, 1]], 1, ("no", "yes"))))
    for wave in (1, 2):
        text = panel(proof, agree("b", 1.0), wave=wave, ceiling=math.inf).consent_text()
        assert ("Without what we receive for “Have you ever cheated" in text) == (wave == 1)


def test_secrecy_is_promised_for_all_waves_together() -> None:
    """A question is called deniable only if it is deniable over all waves."""
    weak = cheated(design=Memo(warner("3/4"), warner("9/10")))
    assert panel(weak).consent_text().startswith(phrases("en")["head_one"])
    several = panel(weak, waves=6, ceiling=9)
    assert several.consent_text().startswith(phrases("en")["head_weak"])
    assert [shown_survey(one)["questions"][0]["deniable"] for one in (panel(weak), several)] == [True, False]
    each = panel(weak, agree("b", 1.4), ceiling=9)
    assert each.consent_text().startswith(phrases("en")["head_each"])


def test_the_memo_of_a_survey_on_paper_is_refused() -> None:
    with pytest.raises(ValueError, match="a survey with waves cannot be asked on paper, got 2 waves: paper cannot"):
        panel().consent_text(paper=True)
