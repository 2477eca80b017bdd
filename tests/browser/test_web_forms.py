"""Forms for other programs: reports agree with Python, and nothing that a page sends depends on a truth.

SurveyJS and jsPsych are run for real; Qualtrics and LimeSurvey are imitated, see imitations.py.
"""

import csv
import io
import json
import re
import subprocess
from itertools import permutations, product

import numpy as np
import pytest

from tests.browser.forms import kinds
from tests.browser.hosts import SITE, Visit, packages
from tests.browser.imitations import LimeSurveyVisit, QualtricsVisit
from tests.browser.randomizers import Shared
from tests.browser.test_form_axe import AXE
from tests.browser.test_form_secrecy import paired
from toolkit import crosswise, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey import estimate, read_reports, write_web_form, write_web_module
from toolkit.survey.consent.page_data import page_words
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

pytestmark = pytest.mark.browser
HOSTS = pytest.mark.parametrize("host", ["jspsych", "surveyjs", "qualtrics", "limesurvey"])
IMITATED = pytest.mark.parametrize("host", ["qualtrics", "limesurvey"])
IMITATIONS = {"qualtrics": QualtricsVisit, "limesurvey": LimeSurveyVisit}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    return packages(tmp_path_factory.mktemp("npm"))


@pytest.fixture
def visit(page, request, tmp_path):
    """Return a function that makes a page for the form of a survey."""
    contexts = []

    def opened(host, survey, **options):
        write_web_form(survey, tmp_path / host, host)
        contexts.append(page.context.browser.new_context(viewport={"width": 360, "height": 740}, **options))
        if host in IMITATIONS:
            return IMITATIONS[host](contexts[-1], tmp_path / host)
        return Visit(contexts[-1], tmp_path / host, request.getfixturevalue("modules"))

    yield opened
    for context in contexts:
        context.close()


def reported(question, truth, source):
    """The report that Python draws for a truth with these words, as the form stores it."""
    report = question.design._draw_report(truth, source.draw)
    return question.design.report_options[report] if question.design.matrix is not None else report


@HOSTS
def test_nothing_that_leaves_the_page_or_stays_in_it_depends_on_the_truth(visit, host):
    """Two people with different answers to every question, and words that lead to the same reports: what the page shows
    after each answer, what it keeps, logs and requests, and what the program saves are the same to the last byte.
    """
    survey = kinds()
    pairs = [paired(question) for question in survey.questions]
    seen = []
    for side in (0, 1):
        answers, words = zip(*(pair[side] for pair in pairs), strict=True)
        # In the other run, a question may take another number of words: each question gets its own.
        person, shown = visit(host, survey).begin([]), []
        for question, answer, own in zip(survey.questions, answers, words, strict=True):
            person.page.evaluate("words => { window.pinned = words; }", own)
            person.answer(question.text["en"], answer)
            if question is survey.questions[-1]:
                shown.append(person.saved())
            else:
                person.page.keyboard.press("Control+z")
                person.page.get_by_text(survey.questions[len(shown) + 1].text["en"]).first.wait_for()
                shown.append(person.seen())
        assert person.console == []
        seen.append(shown)
    assert seen[0] == seen[1]
    (saved,) = seen[0][-1] if host == "jspsych" else [seen[0][-1]]
    names = {question.name for question in survey.questions}
    assert set(saved) - names <= {"trial_type", "trial_index", "plugin_version", "consent"}, (
        "no time, no key, no answer"
    )


def people():
    """Fifty people, half of whom have cheated, and their words."""
    rng = np.random.default_rng(55)
    return [(int(number % 2), int(number % 3), rng.integers(0, 2**32, 40, dtype=np.uint32)) for number in range(50)]


def exported(host, responses):
    """The file that a program exports, from what it has saved of each person."""
    names = ["consent", "cheated", "tried"]
    heads = {
        "qualtrics": [["Status", "Finished", "ResponseId"], ["Response Type", "Finished", "Response ID"]],
        "limesurvey": [["id", "submitdate", "startlanguage"]],
    }
    if host not in heads:
        return "\n".join(map(json.dumps, responses))
    table = io.StringIO()
    writer = csv.writer(table)
    for head, titles in zip(heads[host], (names, ["One moment …"] * 3), strict=False):
        writer.writerow([*head, *titles])
    if host == "qualtrics":
        writer.writerow([json.dumps({"ImportId": name}) for name in ["status", "finished", "_recordId", *names]])
    for number, response in enumerate(responses):
        known = ["IP Address", "True", f"R_{number}"] if host == "qualtrics" else [number, "1980-01-01 00:00:00", "en"]
        writer.writerow([*known, *(response.get(name, "") for name in names)])
    return table.getvalue()


@HOSTS
def test_fifty_people_are_estimated_from_what_the_program_exports(visit, host, tmp_path):
    """Their reports are those that Python draws from the same words; within four standard errors of the truth (which
    fails for 1 in 16,000 seeds), and a set of options may be empty.
    """
    cheated = Question("cheated", "Have you ever cheated?", design=warner("3/4"))
    tried = Question("tried", "Which did you try?", design=oracles.unary(["beer", "wine", "gin"], 2.0))
    survey = Survey("Exams", [cheated, tried], consent="We study exams.", check=False, ceiling=9)
    exports, expected, form = [], [], visit(host, survey)
    for truth, drink, words in people():
        source = Shared(words)
        expected.append([reported(cheated, truth, source), reported(tried, drink, source)])
        steps = [(cheated.text, ["No", "Yes"][truth]), (tried.text, tried.options[drink])]
        exports.append(form.begin(words.tolist()).tap(steps))
    path = tmp_path / ("export.csv" if host in IMITATIONS else "export.json")
    path.write_text(exported(host, exports))
    reports = read_reports(path, survey)
    assert [[row.cheated, json.loads(row.tried)] for row in reports.itertuples()] == expected
    assert [] in [tried for _, tried in expected], "else nothing would be lost"
    found = estimate(survey, reports).to_frame()
    shares = [0.5, 17 / 50, 17 / 50, 16 / 50]
    assert found["option"].tolist() == ["yes", "beer", "wine", "gin"]
    assert np.all(np.abs(found["estimate"] - shares) < 4 * found["se"])


BARRIERS = """async () => {
  const rules = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };
  const found = await axe.run(document.querySelector(".toolkit"), { runOnly: rules, resultTypes: ["violations"] });
  const wide = document.documentElement.scrollWidth > innerWidth ? ["sideways"] : [];
  return wide.concat(found.violations.map((one) => [one.id, ...one.nodes.map((node) => node.html)]));
}"""


def barriers(page):
    """What axe finds in the toolkit's part of the page, which is all that this package writes."""
    page.evaluate(AXE)
    return page.evaluate(BARRIERS)


@HOSTS
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_hidden_question_has_no_barriers_on_a_small_phone(visit, host, scheme):
    survey = Survey("Exams", [*kinds().questions[:1], kinds().questions[8]], consent="Stop.", check=False, ceiling=9)
    person = visit(host, survey, color_scheme=scheme).begin([1])
    person.page.locator(".toolkit fieldset").wait_for()
    assert barriers(person.page) == []
    person.page.get_by_role("button", name="Next").click()
    assert person.page.get_by_role("alert").first.inner_text() == "Please give an answer first."
    person.answer("Have you ever cheated?", ["Yes"])
    person.page.locator(".toolkit fieldset", has_text="How many hours?").wait_for()
    assert barriers(person.page) == []


@HOSTS
def test_a_form_is_read_from_right_to_left_with_the_digits_of_its_language(visit, host):
    hours = Question("hours", {"ar": "كم ساعة؟"}, design=numeric.one_bit((0, 80), 1.0))
    survey = Survey({"ar": "امتحانات"}, [hours], languages=["ar"], consent={"ar": "ندرس الامتحانات."}, check=False)
    person = visit(host, survey, color_scheme="dark").begin([], page_words(survey)["ar"]["take_part"])
    person.page.get_by_text("كم ساعة؟").first.wait_for()
    person.page.evaluate("() => { window.pinned = [1, 1, 1, 1]; }")
    person.answer("كم ساعة؟", "٩٠")
    assert "80" in person.page.get_by_role("alert").first.inner_text()
    assert person.page.locator(".toolkit").evaluate("part => getComputedStyle(part).direction") == "rtl"
    assert barriers(person.page) == []
    person.answer("كم ساعة؟", "١٢٫٥")
    (saved,) = person.saved() if host == "jspsych" else [person.saved()]
    assert str(saved["hours"]) in ("0", "1")


@HOSTS
@pytest.mark.parametrize(("faculty", "asked"), [("arts", False), ("Master's", True)])
def test_a_question_is_asked_of_those_who_fulfill_its_condition(visit, host, faculty, asked):
    questions = [
        Question("faculty", "Faculty?", options=["arts", "Master's"]),
        Question("stolen", "Stolen?", design=crosswise("1/4"), mode="physical", show_if={"faculty": ["Master's"]}),
        Question("cheated", "Cheated?", design=warner("3/4")),
    ]
    person = visit(host, Survey("Exams", questions, consent="Stop.", check=False, ceiling=9)).begin([0])
    person.page.get_by_text(faculty, exact=True).first.click()
    person.page.locator(".main:visible, input[value=Next]:visible").first.click()
    if asked:
        person.answer("Stolen?", ["Same"])
    person.answer("Cheated?", ["Yes"])
    (saved,) = person.saved() if host == "jspsych" else [person.saved()]
    assert (saved["faculty"], saved.get("stolen")) == (faculty, "same" if asked else None)


CHOICES = ["bus", "car", "bike"]
SHUFFLED = [
    Question("travel", "How do you travel?", design=k_ary(CHOICES, epsilon=1), random_order=True),
    Question("box", "Which of these?", design=oracles.tick_boxes(CHOICES, 1.0, how="random"), random_order=True),
    Question("tried", "Which ones?", options=CHOICES, multiple=True, random_order=True),
    Question("faculty", "Where?", options=[*CHOICES, "prefer not to say"], required=False, random_order=True),
]


def answered(person, draws):
    """A person to whom these draws show the options of all questions: the orders, and everything that is left."""
    person.requests.clear()
    reports = [paired(question)[0][1] if question.design else [] for question in SHUFFLED]
    person.begin([word for own in reports for word in [*draws, *own]])
    orders = []
    for question in SHUFFLED:
        fields = person.page.locator(".toolkit fieldset", has_text=question.text)
        fields.wait_for()
        orders.append(tuple(fields.locator("label").all_inner_texts()))
        person.answer(question.text, ["car", "bike"] if question.name == "tried" else ["bus"])
    return orders, [json.dumps(person.saved()), person.seen()]


@HOSTS
def test_every_order_of_options_occurs_and_none_is_stored_or_sent(visit, host):
    """Each draw makes one order. With the same words for the reports, the same bytes are saved, sent and kept."""
    person = visit(host, Survey("Exams", SHUFFLED, consent="Stop.", check=False, ceiling=9))
    draws = list(product(range(3), range(2), [0]))
    orders, traces = zip(*(answered(person, draw) for draw in draws), strict=True)
    every = {*permutations(CHOICES)}
    assert [{*of} for of in zip(*orders, strict=True)] == [every] * 3 + [{(*o, "prefer not to say") for o in every}]
    assert all(trace == traces[0] for trace in traces)
    saved = json.loads(traces[0][0])
    (row,) = saved if host == "jspsych" else [saved]
    assert (row["tried"], row["faculty"]) == ([1, 2] if host == "jspsych" else "[1,2]", "bus")
    assert person.console == []


def test_the_order_of_questions_is_not_in_the_data_of_jspsych(visit):
    """What depends on an answer follows it, and the columns have one order for everybody."""
    questions = [
        Question("faculty", "Faculty?", options=["arts", "law"]),
        Question("cheated", "Cheated?", design=warner("3/4")),
        Question("stolen", "Stolen?", design=crosswise("1/4"), mode="physical", show_if={"faculty": ["arts"]}),
        Question("tried", "Tried?", design=warner("3/4")),
    ]
    survey = Survey("Exams", questions, consent="Stop.", check=False, ceiling=9, random_order=True)
    person, orders, traces = visit("jspsych", survey), set(), set()
    labels = {"faculty": "arts", "stolen": "Same", "cheated": "Yes", "tried": "Yes"}
    for draws in product(range(3), range(2), [0]):
        person.requests.clear()
        person.begin([*draws, 1, 1])
        order = []
        for _ in questions:
            texts = [question.text for question in questions if question.name not in order]
            shown = person.page.locator(".toolkit legend").filter(has_text=re.compile("|".join(map(re.escape, texts))))
            name = next(question.name for question in questions if question.text == shown.inner_text())
            person.answer(survey[name].text["en"], [labels[name]])
            order.append(name)
        orders.add(tuple(order))
        traces.add(json.dumps([person.saved(), person.seen()]))
    units = [("faculty", "stolen"), ("cheated",), ("tried",)]
    assert orders == {tuple(name for unit in order for name in unit) for order in permutations(units)}
    assert len(traces) == 1


def test_jspsych_stores_nothing_of_a_person_who_does_not_take_part(visit):
    survey = Survey("Exams", kinds().questions[:1], consent="Stop.", check=False, ceiling=9)
    person = visit("jspsych", survey)
    person.page.goto(SITE + "index.html")
    person.page.get_by_text("I do not take part").click()
    person.page.get_by_text("No answer was sent.").wait_for()
    assert person.page.evaluate("() => window.saved === undefined")


@IMITATED
def test_a_person_who_does_not_take_part_is_asked_nothing(visit, host):
    person = visit(host, Survey("Exams", kinds().questions[:1], consent="Stop.", check=False, ceiling=9))
    person.begin([], "I do not take part")
    assert person.saved() == {"consent": {"qualtrics": "I do not take part", "limesurvey": "no"}[host]}


@IMITATED
def test_a_question_that_has_its_report_is_not_asked_again(visit, host):
    """Whoever comes back sees neither the question nor the report, and goes on with the report of the first time."""
    person = visit(host, Survey("Exams", kinds().questions[:2], consent="Stop.", check=False, ceiling=9)).begin([0])
    person.answer("Have you ever cheated?", ["Yes"])
    person.page.get_by_text("Do you agree?").wait_for()
    person.page.evaluate("() => document.querySelector('[value=Back], [value=moveprev]').click()")
    person.page.get_by_text("The answers on this page are erased.").wait_for()
    assert person.page.locator("input:visible:not([type=button]), textarea:visible, legend:visible").count() == 0
    person.page.get_by_role("button", name="Next").click()
    person.page.get_by_text("Do you agree?").wait_for()
    person.page.evaluate("() => { window.pinned = [0]; }")
    person.answer("Do you agree?", ["3"])
    assert person.saved()["cheated"] == "no", "the word 0 leads to it, and there was no other"


IN_JSPSYCH = """async (asExtension) => {
  const { HiddenForm } = await import("./jspsych.js");
  class Camera { static info = { name: "camera", version: "1", data: {} }; initialize() {} on_start() {} on_load() {} }
  const extensions = asExtension ? [{ type: Camera }] : [];
  const jsPsych = initJsPsych({ extensions });
  const [first] = document.querySelectorAll(".toolkit");
  try {
    const ended = jsPsych.run([{ type: HiddenForm, extensions }]);
    const decline = () => [...document.querySelectorAll(".toolkit")].filter((one) => one !== first).pop();
    while (!asExtension && !decline()) await new Promise((resolve) => setTimeout(resolve, 5));
    if (!asExtension) decline().querySelector("button:last-child").click();
    await ended;
    return jsPsych.data.get().ignore("time_elapsed").values();
  } catch (error) {
    return error.message;
  }
}"""


def test_a_trial_of_jspsych_records_a_refusal_and_allows_no_extension(visit):
    person = visit("jspsych", Survey("Exams", kinds().questions[:1], consent="Stop.", check=False, ceiling=9))
    person.page.goto(SITE + "index.html")
    person.page.locator(".toolkit").first.wait_for()
    (row,) = person.page.evaluate(IN_JSPSYCH, arg=False)
    assert row.keys() == {"trial_type", "trial_index", "plugin_version", "declined"}
    assert row["declined"] is True
    assert "must have no extensions" in person.page.evaluate(IN_JSPSYCH, arg=True)


def test_the_types_are_those_of_the_module(modules, tmp_path):
    """TypeScript accepts right calls, and rejects each line that is marked as wrong."""
    cheated, box, *_ = (question for question in kinds().questions if question.name in ("cheated", "box"))
    write_web_module(tmp_path, Survey("Exams", [cheated, box], consent="Stop.", check=False, ceiling=9))
    (tmp_path / "use.ts").write_text("""
import { hide, version } from "./hide.js";
import { designs } from "./designs.js";
const one: string | number | number[] = hide(designs.cheated, "yes", () => 7);
const two: number[] = hide(designs.box, ["bus"]);
// @ts-expect-error a list of options is needed
hide(designs.box, "bus");
// @ts-expect-error a design cannot be left out
hide("yes");
export { one, two, version };
""")
    flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"]
    compiler = ["node", str(modules / "typescript" / "bin" / "tsc"), *flags, "use.ts"]
    done = subprocess.run(compiler, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
