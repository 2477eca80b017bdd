import html
import json
import re

from tests.survey.samples import cheated, survey
from toolkit.survey import client
from toolkit.survey.serving.page import FormPreview


def shown(asked):
    return json.loads(re.search(r'id="survey">(.*?)</script>', asked.preview().html, re.DOTALL)[1])


def test_a_preview_is_the_page_of_the_survey_with_headings_that_say_so():
    data = shown(survey(access="token"))
    assert data["questions"][1]["text"] == {"en": "Have you ever cheated on an exam?"}
    assert data["title"] == {"en": "PREVIEW: Exams"}
    assert data["words"]["en"]["review"] == "PREVIEW: Before you send"
    assert data["access"] == "open"  # nobody has a link yet
    assert "link is crossed off a list" in json.dumps(data["consent"]["en"])  # but the promise is that of the survey


def test_nothing_can_be_loaded_from_outside_or_sent():
    page = survey().preview().html
    assert "default-src 'none'" in page
    assert "connect-src" not in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert 'sandbox="allow-scripts"' in survey().preview()._repr_html_()


def test_every_file_of_the_page_is_in_it_and_finds_the_others_by_name():
    known = json.loads(re.search(r'<script type="importmap">(.*?)</script>', survey().preview().html)[1])["imports"]
    assert set(known) == {f"preview/{name}" for name in client.FILE_NAMES if name.endswith(".js")}


def test_texts_of_the_survey_cannot_break_out_of_the_frame():
    nasty = survey(cheated(help="</script><script>alert(1)</script>\"'>"))
    assert "<script>alert(1)" not in nasty.preview().html
    framed = nasty.preview()._repr_html_()
    assert framed.count("<") == 2  # the frame and its end
    assert html.unescape(re.search(r'srcdoc="(.*?)"', framed, re.DOTALL)[1]) == nasty.preview().html


def test_it_can_be_written_to_a_file(tmp_path):
    path = survey().preview().save(tmp_path / "form.html")
    assert path.read_text(encoding="utf-8") == FormPreview(survey()).html
    assert repr(survey().preview()) == "<Preview of 'Exams': its form, which sends nothing>"
