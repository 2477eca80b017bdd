"""The page as bytes: its contents, what it must not contain, and its size."""

import base64
import hashlib
import json
import re

import pytest

from tests.survey.samples import panel
from toolkit import crosswise, k_ary, warner
from toolkit.survey import client
from toolkit.survey.questions.question import Question
from toolkit.survey.serving.access import page_hash
from toolkit.survey.serving.blind import Issuer
from toolkit.survey.serving.page import page_content, render_page, script_json
from toolkit.survey.serving.response import HEADERS
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import phrases

HOSTILE = "</script><script>alert(1)</script><!-- {{data}} {label} & \" '"
SCRIPTS = [name for name in client.FILE_NAMES if name.endswith(".js")]


def survey(**changes):
    questions = [
        Question("work", "Do you work?", options=["no", "yes"]),
        Question("cheated", "Have you cheated?", design=warner(p="3/4")),
        Question("stolen", "Have you stolen?", design=warner(p="2/3"), mode="guided"),
        Question("travel", "How?", design=k_ary(30, epsilon=0.5)),
    ]
    return Survey("Campus", questions, consent="You may stop.", **{"ceiling": 7, **changes})


def block(document):
    """Return the survey as the browser reads it."""
    (found,) = re.findall(rb'<script type="application/json" id="survey">(.*?)</script>', document, re.DOTALL)
    return json.loads(found)


def test_the_page_holds_the_survey_its_words_and_the_hash_of_its_program():
    made = survey(languages=("en",))
    data = block(render_page(made))
    assert data == json.loads(json.dumps(page_content(made)))
    assert (data["hash"], data["code"], set(data["words"])) == (made.hash, client.code_hash(), {"en"})
    assert [question["name"] for question in data["questions"]] == ["work", "cheated", "stolen", "travel"]
    assert "issuer" not in data
    assert data["pages"] == [data["hash"]]
    key = Issuer(n=3233, e=17)
    signed = block(render_page(made, key, ["ab" * 32]))
    assert signed["issuer"] == key.to_dict()
    assert signed["hash"] == page_hash(made.hash, key)
    assert signed["pages"] == [signed["hash"], page_hash("ab" * 32, key)]


def test_the_consent_text_begins_with_the_consequence():
    """The researcher's own paragraphs follow, then the rest of the promise."""
    made = Survey("Campus", survey().questions, consent="You may stop.\n \nWrite to us.\nSoon.", ceiling=7)
    head, who, learn, stored, choice = page_content(made)["consent"]["en"]
    assert head["open"] == [phrases("en")["head_some"]]
    assert who["open"] == ["You may stop.", "Write to us.\nSoon.", phrases("en")["demonstration"]]
    assert [one["title"] for one in (head, who, learn, stored, choice)] == [
        *(None, "Who asks", "What can be learned", "What is stored", "Your choice")
    ]
    odds = learn["more"].index("What we receive for each protected question, and how often")
    told = [text for question in made.questions for text in [question.text["en"]] if question.randomized]
    assert all(any(text in part for part in learn["more"][odds + 1 :]) for text in told)


def test_practice_and_check_come_first_if_wanted():
    """Without them the page begins with the questions."""
    assert [(one["name"], one["mode"]) for one in page_content(survey())["intro"]] == [
        ("practice", "auto"),
        ("understood", "check"),
    ]
    assert [one["name"] for one in page_content(survey(practice=False))["intro"]] == ["understood"]
    assert page_content(survey(practice=False, check=False))["intro"] == []


def test_every_final_status_has_a_sentence():
    """These are the statuses at which a phone stops sending."""
    final = re.search(r"const FINAL = \[([\d, ]+)\]", client.asset("queue.js").decode())[1].split(", ")
    words = page_content(survey())["words"]["en"]
    assert "413" in final
    assert [status for status in final if not words.get(f"end_{status}")] == []


def test_nothing_in_a_text_can_end_the_block_or_the_title():
    label = HOSTILE.replace('"', "")  # which the linter rejects
    labels = {"no": label + "0", "yes": label + "1"}
    asked = Question("cheated", HOSTILE, design=warner(p="3/4"), labels=labels, help=HOSTILE, mode="guided")
    document = render_page(Survey(HOSTILE, [asked], consent=HOSTILE))
    assert document.count(b"<script") == document.count(b"</script>") == 2
    assert b"alert(1)</script>" not in document
    data = block(document)
    assert data["title"]["en"] == data["questions"][0]["text"]["en"] == HOSTILE
    assert f"Tap “{label}0”, whatever" in data["questions"][0]["wheel"][0]["named"]["en"]
    assert b"&lt;/script&gt;&lt;script&gt;alert(1)" in document


def test_the_block_is_json_in_which_no_character_is_markup():
    text = "".join(map(chr, range(1, 0x250))) + "\u2028\u2029</ScRiPt>"
    made = script_json({"text": text})
    assert json.loads(made) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(made)
    with pytest.raises(ValueError, match="Out of range"):
        script_json({"number": float("nan")})


def test_the_language_of_the_page_is_the_survey_first_one():
    text = {"ar": "سؤال", "en": "Question"}
    made = Survey(text, [Question("cheated", text, design=crosswise("1/4"), mode="physical", instructions=text)], consent=text,  # noqa: E501
                  languages=("ar", "en"))  # fmt: skip
    document = render_page(made).decode()
    assert '<html lang="ar" dir="rtl">' in document
    assert "<title>سؤال</title>" in document


def test_the_headers_allow_the_page_its_own_files_and_nothing_else():
    policy = dict(part.split(" ", 1) for part in HEADERS["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert (HEADERS["referrer-policy"], HEADERS["x-content-type-options"], HEADERS["cache-control"]) == (
        "no-referrer",
        "nosniff",
        "no-store",
    )


def test_the_only_style_that_is_allowed_is_the_one_that_stands_in_the_page():
    (style,) = re.findall(rb"<style>(.*?)</style>", render_page(survey()), re.DOTALL)
    assert style == client.asset("style.css")
    allowed = base64.b64encode(hashlib.sha256(style).digest()).decode()
    assert f"style-src 'sha256-{allowed}';" in HEADERS["content-security-policy"]


@pytest.mark.parametrize("name", client.FILE_NAMES)
def test_every_file_can_be_read_by_people_and_asks_nobody_else(name):
    text = client.asset(name).decode()
    assert max(map(len, text.splitlines())) <= 140
    assert text.splitlines()[0 if not name.endswith(".html") else 1].startswith(("//", "/*", "<!--")), (
        "it says what it is"
    )
    assert not re.findall(r"https?://(?!www\.w3\.org/)", text)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_no_html_of_texts_and_run_on_old_phones(name):
    text = client.asset(name).decode()
    for banned in (
        *("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Math.random"),
        *("new Function", "console."),
    ):
        assert banned not in text
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|/\[.*?\]/\w*", "", text, flags=re.DOTALL)
    assert name == "blind.js" or not re.search(r"\?\.\w|\?\?|\?\.\[|\*\*|\b\d+n\b|\bstatic\b", code), (
        "syntax of newer browsers"
    )


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - {"queue.js", "form.js"}))
def test_only_two_files_can_send_or_keep_anything(name):
    """This does not apply to a station's files: one keeps sealed reports, the other fetches the files of the
    program.
    """
    text = client.asset(name).decode()
    ways = {"fetch(", "XMLHttpRequest", "sendBeacon", "WebSocket", "localStorage", "sessionStorage"}
    ways |= {"indexedDB", "cookie", "import(", "window.name"}
    assert {way for way in ways if way in text} == {"station.js": {"indexedDB"}, "worker.js": {"fetch("}}.get(
        name, set()
    )


def test_every_end_has_a_heading_of_its_own():
    words = page_content(survey())["words"]["en"]
    heads = {name: text for name, text in words.items() if name.startswith("head_")}
    assert {f"end_{name.removeprefix('head_')}" for name in heads} == {
        name for name in words if name.startswith("end_")
    }
    assert (heads["head_201"], heads["head_already"], heads["head_link"]) == ("Thank you", "Thank you", "Campus")
    assert {heads[f"head_{status}"] for status in (400, 403, 409, 410, 413, 415)} == {"Your answers were not accepted"}


def test_the_page_of_a_wave_says_what_holds_for_waves():
    words = page_content(panel(wave=2))["words"]["en"]
    assert words["new_draws"] in words["keeps_nothing"]
    assert "already this time" in words["end_already"]
    assert words["review_note"].endswith("what you send at different times is sent, too.")
    assert "new_draws" not in page_content(survey())["words"]["en"]
