"""The way through the form, as a person takes it: in every mode, by mouse and by keyboard, forwards and back."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.forms import kinds, modes, short
from tests.survey.desk import sha256
from toolkit import warner
from toolkit.survey import client
from toolkit.survey.questions.question import Question, accepts
from toolkit.survey.spec import Survey

pytestmark = pytest.mark.browser


def facts(phone, card="main"):
    """What a screen says under "You answered", "We send" and so on."""
    found = phone.page.locator(card).locator("dl").first
    return dict(zip(found.locator("dt").all_inner_texts(), found.locator("dd").all_inner_texts(), strict=True))


@pytest.mark.walk
def test_the_whole_way_in_every_mode_by_mouse(phone):
    person = phone(modes(), hand=True).begin()
    person.sees("Practice").choose("Yes")
    assert set(facts(person)) == {"We would send"}
    both = "If your answer is “Yes”, we receive “Yes” 3 times in 4 (●●●○) and “No” 1 time in 4 (●○○○)."
    person.reads(both)  # whatever was drawn: nobody learns that nothing changes
    person.press("Next").sees("One question about the method").choose("Yes")
    person.reads("Not quite:")
    person.page.go_back()
    person.press("Continue").press("Next").choose("No, chance may have changed it")  # the first answer counts
    person.reads("That is right:")
    person.press("Next").sees("Question 1 of 5").choose("Yes").sees("Question 2 of 6").write("12.5")
    person.sees("Question 3 of 6").choose("No").sees("What chance has made of it").press("Next")
    person.sees("Question 4 of 6").press("Turn the wheel").choose("Yes")
    person.reads("Compare.\nThen tap.")
    person.sees("Question 5 of 6").choose("Same").sees("Question 6 of 6").write("Thanks – 👍")
    person.sees("Before you send")
    body = person.page.locator("details pre").first.text_content()
    assert person.posts() == []
    person.press("Send").sees("Thank you")
    assert [sent.decode().rstrip() for sent in person.posts()] == [body]
    (stored,) = person.site.stored
    assert list(stored["answers"]) == ["work", "hours", "cheated", "stolen", "paid", "comment"]
    assert {**stored["answers"], "cheated": None} == {
        "work": 1, "hours": 12.5, "cheated": None, "stolen": 1, "paid": 1, "comment": "Thanks – 👍"
    }  # fmt: skip
    assert stored["understood"] is False
    key = json.loads(body)["key"]
    shown = person.page.locator("main").evaluate("main => main.textContent")
    assert sha256(key).hex()[:16] not in shown, "nothing on the screen leads to the row of a person"
    assert key not in shown
    person.page.get_by_text("Two numbers to compare").click()
    assert list(facts(person).values()) == [person.site.survey.hash, client.code_hash()]
    person.reads("Your answers are erased from this page and from this browser.")


def test_the_whole_way_by_keyboard_alone(phone):
    person = phone(modes())
    person.open()
    keyboard = person.page.keyboard

    def tab_to(role_and_name):
        for _ in range(30):
            keyboard.press("Tab")
            if (
                person.page.evaluate("() => (document.activeElement.innerText || document.activeElement.type).trim()")
                == role_and_name
            ):
                outline = person.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid", f"no visible focus on {role_and_name}"
                return
        raise AssertionError(f"the tab key does not reach {role_and_name}")

    def answer(second=True):
        assert person.page.locator("h1").evaluate("element => element === document.activeElement")
        tab_to("radio")
        keyboard.press("ArrowDown" if second else "Space")
        keyboard.press("Enter")

    tab_to("I take part")
    keyboard.press("Enter")
    person.sees("Practice")
    answer()
    person.reads("If your answer is “Yes”")
    tab_to("Next")
    keyboard.press("Space")
    person.sees("One question about the method")
    answer()
    person.reads(": chance may have changed it, so nobody can be sure.")
    tab_to("Next")
    keyboard.press("Enter")
    person.sees("Question 1 of 5")
    answer(second=False)  # does not work: the hours are not asked
    person.sees("Question 2 of 5")
    answer()
    tab_to("Next")
    keyboard.press("Enter")
    person.sees("Question 3 of 5")
    tab_to("Turn the wheel")
    keyboard.press("Enter")
    expect(person.page.get_by_text("The wheel stopped at")).to_be_focused()
    tab_to("radio")
    keyboard.press("Space")
    keyboard.press("Enter")
    person.sees("Question 4 of 5")
    answer()
    person.sees("Question 5 of 5")
    tab_to("Continue")
    keyboard.press("Enter")
    person.sees("Before you send")
    tab_to("Send")
    keyboard.press("Enter")
    person.sees("Thank you")
    (stored,) = person.site.stored
    assert stored["understood"] in (True, False), "the order of its answers is drawn"
    assert (stored["answers"]["work"], stored["answers"]["hours"], stored["answers"]["comment"]) == (0, None, None)


def test_the_server_accepts_reports_of_every_kind_of_question(phone):
    """Every kind of question is answered and its report is taken by the server."""
    person = phone(kinds(), hand=True).begin()
    for labels in (["Yes"], ["3"], ["car"], ["car"], ["foot"], ["bus"], ["bus", "bike"], ["foot"]):
        person.choose(*labels).sees("What chance has made of it").press("Next")
    for number in ("40", "999.5", "4"):
        person.write(number).sees("What chance has made of it").press("Next")
    person.sees("Before you send").press("Send").sees("Thank you")
    (stored,) = person.site.stored
    assert all(accepts(question, stored["answers"][question.name]) for question in person.site.survey.questions)


def repeated(count, **options):
    """The same question several times."""
    questions = [Question(f"q{i}", f"Question {i}?", **options) for i in range(count)]
    return Survey("Again", questions, consent="Stop.", practice=False, check=False, ceiling=20)


def test_the_wheel_of_a_guided_question_says_what_its_draw_means(phone):
    """warner(2/3): of three draws one forces a no, one asks for the truth, one forces a yes."""
    person = phone(repeated(3, design=warner(p="2/3"), mode="guided")).begin(words=[0, 1, 2])
    for draw, says in enumerate(("Tap “No”, whatever", "Tap your real answer.", "Tap “Yes”, whatever")):
        person.sees(f"Question {draw + 1} of 3").press("Turn the wheel")
        expect(person.page.locator(".lead")).to_contain_text(f"The wheel stopped at {draw + 1}. {says}")
        assert person.button("Turn the wheel").count() == 0
        angle = person.page.locator(".hand").evaluate("hand => hand.style.transform")
        assert angle == f"rotate({1080 + 120 * draw + 60}deg)"
        person.choose("No")
    person.sees("Before you send").page.go_back()
    expect(person.page.locator(".lead")).to_contain_text("The wheel stopped at 3. Tap “Yes”, whatever")


def test_an_automatic_wheel_stops_at_the_report_that_is_sent(phone):
    """warner(3/4): the rows are 3, 1 and 1, 3; draw 0 is a no for everybody, draw 3 a yes, 1 and 2 are the truth."""
    for answer, draws in ((0, (0, 3)), (1, (0, 1))):
        person = phone(repeated(2, design=warner(p="3/4"))).begin(words=draws)
        expected = [int(draw >= (3, 1)[answer]) for draw in draws]
        for draw, sent in zip(draws, expected, strict=True):
            person.choose(("No", "Yes")[answer])
            assert facts(person) == {
                "You answered": ("“No”", "“Yes”")[answer],
                "Chance": f"The wheel stopped at {'AB'[sent]}.",
                "We send": ("A – “No”", "B – “Yes”")[sent],
            }
            assert (
                person.page.locator(".hand").evaluate("hand => hand.style.transform")
                == f"rotate({1080 + 90 * draw + 45}deg)"
            )
            person.press("Next")
        assert list(json.loads(person.page.locator("details pre").first.text_content())["answers"].values()) == expected


def test_edits_the_back_button_and_the_trial_use_the_same_draw(phone):
    """An edit uses the same draw and so do the back button and a look at the trial."""
    person = phone(short()).begin(words=[0])  # a no for either answer
    person.pin([])  # a second draw would find no word
    for answer in ("Yes", "No", "Yes"):
        person.choose(answer)
        assert facts(person)["We send"] == "A – “No”"
        person.press("Change my answer").sees("Question 1 of 1")
        assert person.page.locator("input:checked").count() == 1
    person.choose("Yes").press("Next").sees("Before you send")
    person.page.go_back()
    person.sees("What chance has made of it")
    person.page.go_back()
    person.sees("Question 1 of 1").choose("No").sees("What chance has made of it")
    assert facts(person)["We send"] == "A – “No”"
    person.press("Next").sees("Before you send").press("Change my answer: Have you ever cheated?")
    person.sees("Question 1 of 1")
    person.choose("Yes").press("Next").sees("Before you send")


def test_a_change_after_the_review_leads_back_to_it(phone):
    """A change after the review leads straight back to it and a question that appears is asked."""
    person = phone(modes(practice=False, check=False)).begin()
    person.choose("No").choose("No").press("Next").press("Turn the wheel").choose("No").choose("Same").write("")
    person.sees("Before you send")
    person.page.locator(".list > div", has_text="Have you ever paid?").get_by_role("button").click()
    person.sees("Question 4 of 5").choose("Different").sees("Before you send")
    person.page.locator(".list > div", has_text="Do you work?").get_by_role("button").click()
    person.choose("Yes").sees("Question 2 of 6").write("3").sees("Before you send")
    person.press("Send").sees("Thank you")
    assert (person.site.stored[0]["answers"]["hours"], person.site.stored[0]["answers"]["paid"]) == (3, 0)


def test_names_of_questions_are_only_names(phone):
    """A question may be called like a part of the page, or like a property that every object has."""
    names = ["gender", "spending", "consent", "review", "constructor", "end"]
    questions = [Question(name, f"About {name}?", design=warner(p="3/4")) for name in names]
    person = phone(Survey("Names", questions, consent="Stop.", ceiling=20)).begin()
    person.choose("Yes").press("Next").choose("Yes").press("Next")
    for place, name in enumerate(names, start=1):
        person.sees(f"Question {place} of 6")
        expect(person.page.get_by_role("group", name=f"About {name}?")).to_be_visible()
        person.choose("Yes")
        if place == 1:  # and in practice: what chance does is known then
            person.sees("What chance has made of it").press("Next")
    person.sees("Before you send")
    assert person.page.locator(".list > div").count() == 6
    person.press("Send").sees("Thank you")
    assert list(person.site.stored[0]["answers"]) == names


def test_odds_are_shown_in_full_once_and_folded_elsewhere(phone):
    """Odds are folded on the consent told in full once and folded where they are the same."""
    person = phone(repeated(2, design=warner(p="3/4"))).open()
    told = person.page.locator("details p", has_text="3 times in 4")
    expect(told).to_have_count(1)  # for both questions
    expect(told).to_be_hidden()
    person.page.get_by_label("More: What can be learned").click()
    expect(told).to_be_visible()
    assert told.inner_text().count("?\n") == 2
    person.press("I take part")
    expect(person.page.locator(".odds")).to_be_visible()
    person.choose("Yes").press("Next").sees("Question 2 of 2")
    expect(person.page.locator(".odds")).to_be_hidden()
    person.page.get_by_text("What we receive, and how often: as before").click()
    expect(person.page.locator(".odds")).to_contain_text("3 times in 4")


def test_a_reload_before_sending_asks_anew_and_draws_nothing_anew(phone):
    person = phone(short()).begin().choose("Yes").press("Next").sees("Before you send")
    kept = person.kept()
    person.page.reload()
    person.sees("Exams")
    person.page.go_back()
    person.sees("Exams")
    person.press("I take part").sees("Question 1 of 1")
    assert person.page.locator("input:checked").count() == 0
    assert person.kept() == kept


def test_nothing_is_chosen_beforehand_and_an_answer_is_asked_for(phone):
    person = phone(kinds()).begin()
    assert person.page.locator("input:checked").count() == 0
    person.press("Continue").sees("Question 1 of 11")
    expect(person.page.get_by_role("alert")).to_have_text("Please give an answer first.")
    for labels in (["Yes"], ["3"], ["car"], ["car"], ["foot"], ["bus"]):
        person.choose(*labels).press("Next")
    person.press("Continue").sees("Question 7 of 11")  # no tick at all is no answer
    expect(person.page.get_by_role("alert")).to_have_text("Please give an answer first.")
    person.choose("None of these").sees("What chance has made of it")
    assert facts(person)["You answered"] == "none"
    person.press("Next").press("Continue").sees("Question 8 of 11")
    expect(person.page.get_by_role("alert")).to_have_text("Please give an answer first.")
    person.choose("bus", "car", "foot").sees("Question 8 of 11")
    expect(person.page.get_by_role("alert")).to_have_text("Tick at most 2.")
    person.page.get_by_label("car").uncheck()
    person.press("Continue").press("Next").sees("Question 9 of 11")
    for wrong in ("", "81", "-1"):
        person.write(wrong).sees("Question 9 of 11")
        expect(person.page.get_by_role("alert")).to_contain_text("a number from 0 to 80")
    person.write("80").sees("What chance has made of it")


def test_the_trial_uses_the_same_function_and_changes_nothing(phone):
    """Of a thousand reports of one answer at 3/4, fewer than 690 or more than 810 that keep it come once in
    100,000 runs.
    """
    person = phone(short()).begin().choose("Yes")
    before, kept = facts(person), person.kept()
    person.page.locator("summary", has_text="Try it").click()
    person.page.locator("details select").select_option("“Yes”")
    person.press("Draw 1000 times")
    rows = person.page.locator("details li").filter(has=person.page.locator("progress")).all_inner_texts()
    counts = {row.split(":")[0]: int(row.split(":")[-1]) for row in rows}
    assert sum(counts.values()) == 1000
    assert 690 <= counts["B – “Yes”"] <= 810
    assert facts(person) == before
    assert person.kept() == kept


def test_the_trial_of_every_kind_of_question_shows_what_came_how_often(phone):
    person = phone(kinds()).begin()
    for place, labels in enumerate(
        (["Yes"], ["3"], ["car"], ["car"], ["foot"], ["bus"], ["bus"], ["foot"], "40", "999", "4")
    ):
        person.write(labels) if isinstance(labels, str) else person.choose(*labels)
        person.page.locator("summary", has_text="Try it").click()
        person.press("Draw 1000 times")
        rows = person.page.locator("details li").filter(has=person.page.locator("progress"))
        expect(rows.first).to_be_visible()
        total = sum(int(row.split(":")[-1]) for row in rows.all_inner_texts())
        assert total == 1000 or place in (3, 4, 7), "only sets have more or fewer than one member"
        assert rows.count() <= 12
        person.press("Next")


@pytest.mark.parametrize(("word", "arm"), [(2, 0), (3, 1)])
def test_chance_chooses_an_arm_that_stays_after_a_reload_and_is_sent(phone, word, arm):
    """Of ten numbers three are those of the first arm."""
    asked = [
        Question("direct", "Have you?", options=["no", "yes"], show_if={"arm": ["direct"]}),
        Question("hidden", "Have you?", design=warner(p="3/4"), show_if={"arm": ["randomized"]}),
    ]
    survey = Survey(
        "Arms", asked, consent="Stop.", practice=False, check=False, arms={"direct": 0.3, "randomized": 0.7}
    )
    person = phone(survey).begin(words=[0, word])  # the hidden question's word comes first
    protected = person.page.get_by_text("This question is not protected by chance")
    for _ in range(2):
        person.sees("Question 1 of 1")
        assert protected.count() == 1 - arm
        person.page.reload()
        person.press("I take part")
    person.choose("Yes")
    if arm:
        person.press("Next")
    person.reads("Which version of this survey you got is sent, too.")
    assert person.page.locator(".list > div").count() == 1
    person.press("Send").sees("Thank you")
    assert person.site.stored[0]["answers"]["arm"] == arm
    assert (person.site.stored[0]["answers"]["direct"] is None) == bool(arm)


@pytest.mark.parametrize(("taps", "understood"), [(["right"], 1), (["wrong", "right"], 2), (["wrong", "wrong"], 0)])
def test_a_question_about_the_device_has_two_tries(phone, taps, understood):
    """A question about the device has two tries and stores which was right."""
    question = Question("cheated", "Have you ever cheated?", design=warner(p="3/4"))
    person = phone(Survey("Exams", [question], consent="Stop.", practice=2, check="device")).begin()
    for text in ("is your birthday between", "an even number of letters"):
        person.reads(text)
        person.choose("Yes").press("Next")
    cases = [("The wheel stops at B, and your real answer is “No”.", "B – Yes"), ("stops at A", "A – No")]
    for tap, (case, right) in zip(taps, cases, strict=False):
        expect(person.page.get_by_role("group", name=case)).to_be_visible()
        person.choose(right if tap == "right" else "Nothing")
    said = "That is right." if "right" in taps else "Not quite: “A – No” would be right."
    person.reads(said)
    person.press("Next").choose("Yes").sees("Before you send").press("Send").sees("Thank you")
    assert person.site.stored[0]["understood"] == understood


def test_the_order_of_the_answers_about_the_method_is_drawn(phone):
    """The first word is the question's draw, the second says which of the two answers stands first."""
    orders = []
    for word in (0, 1):
        person = phone(short(check=True)).begin(words=[0, word, 0])
        orders.append(
            person.page.evaluate("() => [...document.querySelectorAll('label.choice')].map((one) => one.innerText)")
        )
    assert len(orders[0]) == 2
    assert orders[0] == orders[1][::-1]
