import base64
import io
import json
import re
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from PIL import Image

from toolkit import crosswise, k_ary, mangat, show, warner
from toolkit.local import numeric, oracles
from toolkit.show.widgets.answer_card import AnswerCard
from toolkit.survey import client
from toolkit.survey.questions.question import Question, accepts

CHEATED = Question("cheated", "Have you ever cheated on an exam?", design=warner(p="3/4"))
STATIC = Path(show.__file__).parent / "widgets" / "static"
ID = "0123456789abcdef" * 2


@pytest.fixture
def card():
    return AnswerCard(CHEATED)


def message(report: object = 1, number: object = ID, **other: object) -> dict:
    return {"kind": "report", "q": "cheated", "r": report, "id": number, **other}


def test_every_text_of_the_card_is_one_that_the_browser_shows(card):
    code = (STATIC / "answer_card.js").read_text(encoding="utf-8")
    by_mode = {"auto", "guided", "physical", "two_ways"}
    assert set(re.findall(r"card\.words\.(\w+)", code)) | by_mode == set(card.card["words"])


def test_a_report_is_kept_and_confirmed(card):
    card._handle_custom_msg(message(), [])  # as ipywidgets delivers it
    assert card.reports == [1]
    assert card.receipt == {"id": ID, "number": 1}


def test_the_same_message_again_is_confirmed_again_and_kept_once(card):
    heard = []
    card.observe(heard.append, "receipt")
    for _ in range(3):
        card._receive(card, message(), [])
    assert card.reports == [1]
    assert [change["new"]["number"] for change in heard] == [1, 2, 3]


def test_a_second_report_with_the_same_number_is_ignored(card):
    """It is neither stored nor confirmed."""
    card._receive(card, message(1), [])
    card._receive(card, message(0), [])
    assert card.reports == [1]
    assert card.receipt["number"] == 1


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "report",
        {},
        message(2),
        message(-1),
        message(True),
        message(1.0),
        message("1"),
        message([1]),
        message(None),
        message(1, "0" * 31),
        message(1, ID.upper()),
        message(1, ID + "\n"),
        message(1, 7),
        message(truth=1),
        message(q="lied"),
        message(kind="answer"),
        {key: value for key, value in message().items() if key != "id"},
    ],
)
def test_what_is_no_report_is_dropped_without_a_word(card, content, caplog, capsys):
    card._receive(card, content, [])
    assert card.reports == []
    assert card.receipt == {"id": "", "number": 0}
    assert caplog.text + "".join(capsys.readouterr()) == ""


@pytest.mark.slow
def test_messages_may_come_in_many_threads_at_once(card):
    def people(thread: int) -> None:
        for person in range(200):
            card._receive(card, message(person % 2, f"{1000 * thread + person:032x}"), [])

    threads = [Thread(target=people, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(card.reports) == 800


def test_reports_do_not_say_in_which_order_they_came(card):
    for place, report in enumerate([1, 0, 1, 1, 0]):
        card._receive(card, message(report, f"{place:032x}"), [])
    assert card.reports == [0, 0, 1, 1, 1]


def test_not_even_in_memory_is_the_order_in_which_reports_came(card):
    card.simulate(["yes", "no"] * 20, np.random.default_rng(3))
    for number in ("f" * 32, "0" * 32, "8" * 32):
        card._receive(card, message(1, number), [])
    assert list(card._reports_by_number) == sorted(card._reports_by_number)
    assert len(card._reports_by_number) == 43


def test_the_estimate_is_the_design_s_own(card):
    for place in range(100):
        card._receive(card, message(int(place < 40), f"{place:032x}"), [])
    assert card.estimate().value == pytest.approx(0.3)
    assert card.estimate().n == 100


def test_without_reports_there_is_no_estimate(card):
    with pytest.raises(ValueError, match="there must be at least one report, got none"):
        card.estimate()


RNG = np.random.default_rng(20_260_701)
HOURS = np.clip(RNG.normal(30, 8, size=1000), 0, 80)
SIMULATED = {
    "yes and no": (warner(p="3/4"), RNG.random(1000) < 0.3, 0.3),
    "no truth in the reports": (crosswise("1/4"), RNG.random(1000) < 0.3, 0.3),
    "labels": (
        k_ary(["never", "once", "often"], epsilon=2.0),
        RNG.choice(["never", "once", "often"], 1000, p=[0.6, 0.3, 0.1]),
        [0.6, 0.3, 0.1],
    ),
    "subset of size 1": (oracles.subset(3, 2.0, size=1), RNG.choice(3, 1000, p=[0.6, 0.3, 0.1]), [0.6, 0.3, 0.1]),
    "subset": (oracles.subset(6, 1.0), RNG.choice(6, 1000), [1 / 6] * 6),
    "unary": (oracles.unary(3, 3.0), RNG.choice(3, 1000, p=[0.6, 0.3, 0.1]), [0.6, 0.3, 0.1]),
    "local hash": (oracles.local_hash(3, 3.0), RNG.choice(3, 1000, p=[0.6, 0.3, 0.1]), [0.6, 0.3, 0.1]),
    "random box": (oracles.tick_boxes(3, 3.0, how="random"), RNG.random((1000, 3)) < [0.1, 0.5, 0.9], [0.1, 0.5, 0.9]),
    "capped boxes": (
        oracles.tick_boxes(3, 3.0, how="capped"),
        RNG.random((1000, 3)) < [0.1, 0.5, 0.9],
        [0.1, 0.5, 0.9],
    ),
    "one bit": (numeric.one_bit((0, 80), 2.0), HOURS, 30),
    "hybrid": (numeric.hybrid((0, 80), 2.0), HOURS, 30),
    "laplace, beyond 64 bits": (numeric.local_laplace((0, 80), 1.0986122886681098), HOURS, 30),
    "scrambled": (numeric.additive((0, 80), {-5: 0.5, 5: 0.5}), np.rint(HOURS), 30),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_imagined_people_answer_as_real_ones_do_and_are_estimated(name):
    """Each value within 5 standard errors of the truth; with 27 values and fixed seeds, without cause once in
    60,000 seeds.
    """
    design, answers, truth = SIMULATED[name]
    card = AnswerCard(("How is it?", design))
    card.simulate(answers, rng=np.random.default_rng(7))
    assert len(card.reports) == 1000
    assert all(accepts(card.question, json.loads(json.dumps(report))) for report in card.reports)
    estimate = card.estimate()
    assert np.all(np.abs(np.asarray(estimate.value) - truth) < 5 * np.asarray(estimate.se))


def test_simulated_reports_are_reproducible_with_a_seed(card):
    """Simulated answers without a seed are added to the reports as well."""
    again = AnswerCard(CHEATED)
    for one in (card, again):
        one.simulate(["yes", "no"] * 50, rng=np.random.default_rng(3))
    assert card.reports == again.reports
    card.simulate(["yes"])
    assert len(card.reports) == 101


def test_simulated_answers_that_do_not_exist_are_refused_and_not_quoted(card):
    with pytest.raises(ValueError, match="answers") as error:
        card.simulate(["yes", "perhaps"])
    assert "perhaps" not in str(error.value)
    assert card.reports == []


def test_the_repr_is_fixed_and_counts(card):
    assert repr(card) == "<AnswerCard cheated: choice, auto, epsilon 1.099, 0 reports>"
    card.simulate([True, False])
    assert repr(card) == "<AnswerCard cheated: choice, auto, epsilon 1.099, 2 reports>"


@pytest.mark.slow
def test_the_mime_bundle_holds_the_live_card_a_picture_and_the_words(card):
    data, metadata = card._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "image/png", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"] == repr(card)
    assert data["text/html"].startswith('<img alt="Have you ever cheated on an exam? If your answer is')
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width == pytest.approx(2 * metadata["image/png"]["width"], abs=2)


@pytest.mark.slow
def test_the_picture_is_the_same_each_time_and_knows_nothing_of_reports(card):
    before = card._repr_mimebundle_()[0]["image/png"]
    card.simulate([True] * 20)
    assert card._repr_mimebundle_()[0]["image/png"] == before == AnswerCard(CHEATED)._repr_mimebundle_()[0]["image/png"]


def test_the_widget_state_contains_no_answers_and_no_reports(card):
    """Neither the browser nor a saved notebook receives them; only the receipt changes."""
    state = card.get_state()
    card._receive(card, message(), [])
    after = card.get_state()
    changed = {name for name in after if after[name] != state[name]}
    assert changed == {"receipt"}
    assert set(after["receipt"]) == {"id", "number"}


def test_a_text_and_a_design_are_enough_and_the_function_is_the_class():
    card = show.answer_card(("Cheated?", warner(p="2/3")))
    assert isinstance(card, show.AnswerCard)
    assert (card.question.name, card.question.text, card.question.design) == ("answer", "Cheated?", warner(p="2/3"))


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        ("Cheated?", TypeError, "must be a Question, or a text and a design, got str"),
        (("a", "b", "c"), TypeError, "must be a Question, or a text and a design, got tuple"),
        (Question("faculty", "Which?", options=["law", "arts"]), ValueError, "unchanged"),
        (("Hours?", numeric.local_laplace((0, 1), 1e-9)), ValueError, "for answers in a browser"),
    ],
)
def test_a_card_that_would_not_protect_or_could_not_draw_is_refused(question, error, message):
    with pytest.raises(error, match=message):
        AnswerCard(question)


def test_a_design_without_deniability_says_so_on_the_card():
    odds = " ".join(AnswerCard(("Cheated?", mangat("3/4"))).card["odds"])
    assert "If we receive “No”, your answer can only be “No”." in odds
    assert "If we receive “Yes”, that proves no answer" in odds
    assert "So it proves no answer" not in odds


def test_the_browser_runs_the_phone_s_randomizer_byte_for_byte():
    code = AnswerCard._esm
    assert client.asset("randomizer.js").decode() in code
    assert "import " not in re.sub(r"//.*", "", code)
    assert code.count("export default") == 1


def test_the_card_only_sends_reports():
    """Its script uses no network, no storage and no markup."""
    own = (STATIC / "answer_card.js").read_text(encoding="utf-8")
    forbidden = (
        "Math.random", "fetch", "XMLHttp", "localStorage", "sessionStorage", "innerHTML", "console",
        "save_changes", "model.set",
    )  # fmt: skip
    assert [word for word in forbidden if word in own] == []
    assert own.count("model.send(") == 1


def test_randomizer_js_is_imported_where_an_editor_finds_it():
    own = (STATIC / "answer_card.js").read_text(encoding="utf-8")
    (path,) = re.findall(r'from "(.*randomizer.js)";', own)
    assert (STATIC / path).resolve() == (client._STATIC / "randomizer.js").resolve()
