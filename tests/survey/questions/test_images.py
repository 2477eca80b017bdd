"""Images in questions: read from a file beside the survey's, checked by their first bytes, and embedded."""

import base64
import json
import re

import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit.survey.consent.page_data import shown_survey
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.images import MOST_IMAGE_BYTES, embed_image, embed_images, image_size, reject_image
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 90
BYTES = {"png": PNG, "jpeg": b"\xff\xd8\xff" + b"x" * 90, "webp": b"RIFF1234WEBP" + b"x" * 90}
FILE = 'title = "T"\nconsent = "C"\n[[questions]]\nname = "q"\ntext = "Q?"\noptions = ["a", "b"]\nimage = {image}\n'


def uri(content=PNG, kind="png"):
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def asked(**image):
    return Question("q", "Q?", options=["a", "b"], image={"alt": "A card", **image})


@pytest.mark.parametrize("kind", BYTES)
def test_the_type_of_an_image_follows_from_its_bytes_not_its_name(tmp_path, kind):
    (tmp_path / "card.gif").write_bytes(BYTES[kind])
    made = asked(file=tmp_path / "card.gif")
    assert dict(made.image) == {"data": uri(BYTES[kind], kind), "alt": "A card"}
    assert asked(data=uri(BYTES[kind], "svg+xml")) == made
    assert image_size(made.image) == len(BYTES[kind])


def test_a_survey_with_an_image_is_the_same_after_it_is_saved_and_its_hash_covers_the_image(tmp_path):
    (tmp_path / "card.png").write_bytes(PNG)
    (tmp_path / "survey.toml").write_text(FILE.replace("{image}", '{file = "card.png", alt = "A card"}'))
    made = Survey.load(tmp_path / "survey.toml")
    for name in ("saved.toml", "saved.json"):
        made.save(tmp_path / name)
        assert Survey.load(tmp_path / name) == made
    assert Survey.from_collection(made.to_dict()) == made
    (entry,) = shown_survey(made)["questions"]
    assert entry["image"] == {"data": uri(), "alt": {"en": "A card"}}
    (tmp_path / "card.png").write_bytes(PNG + b"y")
    assert Survey.load(tmp_path / "survey.toml").hash != made.hash


WRONG = {
    "no alt": ({"file": "card.png"}, "`image` must have the fields file and alt"),
    "an empty alt": ({"data": uri(), "alt": ""}, "`image.alt` must not be empty"),
    "both": ({"file": "card.png", "data": uri(), "alt": "A"}, "must have the fields file and alt, got file, data, alt"),
    "a name": ("card.png", r'must have the fields file and alt, got str: write {"file"'),
    "an address": ({"data": "https://example.org/card.png", "alt": "A"}, "must be a data URI in base64"),
    "a number": ({"data": 7, "alt": "A"}, "must be a data URI in base64"),
    "no base64": ({"data": "data:image/png;base64,%%%", "alt": "A"}, "must be a data URI in base64"),
    "SVG": ({"data": uri(b"<svg onload='x'/>", "svg+xml"), "alt": "A"}, "must be a PNG, JPEG or WebP file"),
    "GIF": ({"data": uri(b"GIF89a" + b"x" * 9), "alt": "A"}, "must be a PNG, JPEG or WebP file"),
    "large": ({"data": uri(PNG + b"x" * MOST_IMAGE_BYTES), "alt": "A"}, "at most 200,000 bytes"),
    "absent": ({"file": "/nowhere/card.png", "alt": "A"}, "the file of an image must exist, got 'card.png'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_an_image_with_a_description_is_refused(what):
    image, message = WRONG[what]
    with pytest.raises(SurveyError, match=message) as caught:
        Question("q", "Q?", options=["a", "b"], image=image)
    assert (caught.value.question, caught.value.field) == ("q", "image")


def test_a_file_at_the_limit_is_read_and_a_larger_one_is_not(tmp_path):
    file = tmp_path / "card.png"
    file.write_bytes(PNG.ljust(MOST_IMAGE_BYTES, b"x"))
    assert image_size(asked(file=file).image) == MOST_IMAGE_BYTES
    file.write_bytes(PNG.ljust(MOST_IMAGE_BYTES + 1, b"x"))
    with pytest.raises(SurveyError, match="at most 200,000 bytes, got more"):
        asked(file=file)


OUTSIDE = ["../card.png", "/etc/hostname", "a/card.png", "..", "", "x" * 300, "link.png"]


@pytest.mark.parametrize("file", [*map(json.dumps, OUTSIDE), "3"])
def test_a_survey_reads_images_of_its_own_folder_only(tmp_path, file):
    (tmp_path / "link.png").symlink_to("/etc/hostname")
    (tmp_path / "survey.toml").write_text(FILE.replace("{image}", f'{{file = {file}, alt = "A card"}}'))
    with pytest.raises(SurveyError, match="must be the name of a file beside the survey's file") as caught:
        Survey.load(tmp_path / "survey.toml")
    assert (caught.value.question, caught.value.field) == ("q", "image")


def test_data_without_a_file_read_no_image():
    data = survey(faculty(), cheated()).to_dict()
    data["questions"][0]["image"] = {"file": "card.png", "alt": "A card"}
    with pytest.raises(SurveyError, match=re.escape("`image.file` must be in a survey's file")):
        Survey.from_dict(data)


def test_what_is_not_a_file_of_a_survey_is_left_as_it_is(tmp_path):
    for data in (None, [], {}, {"questions": 3}, {"questions": [3, {"image": 3}, {"image": {"data": uri()}}]}):
        assert embed_images(data, tmp_path) == data
    table = {"name": "q", "image": {"file": "card.png", "alt": "A"}}
    assert embed_image(table, None) == {"name": "q"}


def test_alt_texts_are_in_every_language_and_all_images_have_a_limit():
    texts = {"en": "Q?", "de": "F?"}
    said = {"title": texts, "consent": texts, "languages": ("en", "de"), "check": False}

    def made(alt, count=1, content=PNG):
        image = {"data": uri(content), "alt": alt}
        questions = [
            Question(f"q{n}", {"en": f"Q{n}?", "de": f"F{n}?"}, options=[1, 2], image=image) for n in range(count)
        ]
        return Survey(questions=questions, **said)

    assert shown_survey(made({"en": "A card", "de": "Karte"}))["questions"][0]["image"]["alt"]["de"] == "Karte"
    with pytest.raises(SurveyError, match=r"question 'q0': `image.alt` must be given in every language.*none in de"):
        made("A card")
    large = PNG.ljust(MOST_IMAGE_BYTES, b"x")
    assert made({"en": "A", "de": "B"}, 4, large)
    with pytest.raises(SurveyError, match="the images of a survey must have at most 800,000 bytes together"):
        made({"en": "A", "de": "B"}, 5, large)


def test_forms_for_other_programs_refuse_images():
    reject_image(faculty())
    with pytest.raises(ValueError, match="must have no image, got 'q': leave it out, and add it in the other program"):
        reject_image(asked(data=uri()))
