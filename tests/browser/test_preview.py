"""The preview of a form in a real browser: the whole way through it, and nothing leaves it."""

import pytest
from playwright.sync_api import expect

from tests.browser.forms import PATIENT
from tests.survey.samples import cheated, faculty, survey

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_the_preview_needs_no_server_and_sends_nothing(page, tmp_path, access):
    """The form can be walked through without a server and nothing is sent."""
    asked = survey(faculty(), cheated(), practice=False, check=False, access=access)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{asked.preview()._repr_html_()}")
    tab, requests, problems = page.context.new_page(), [], []
    tab.add_init_script(PATIENT)
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda problem: problems.append(str(problem)))
    tab.goto((tmp_path / "notebook.html").as_uri())
    form = tab.frame_locator("iframe")
    expect(form.locator("h1")).to_have_text("PREVIEW: Exams")
    form.get_by_role("button", name="I take part").click()
    form.get_by_text("law", exact=True).click()
    form.get_by_role("button", name="Continue").click()
    form.get_by_role("button", name="Back").click()
    expect(form.locator("h1")).to_contain_text("PREVIEW: Question 1 of 2")
    form.get_by_role("button", name="Continue").click()
    form.get_by_text("Yes", exact=True).first.click()
    form.get_by_role("button", name="Continue").click()
    expect(form.locator("h1")).to_have_text("PREVIEW: What chance has made of it")
    form.get_by_role("button", name="Next").click()
    expect(form.locator("h1")).to_have_text("PREVIEW: Before you send")
    form.get_by_role("button", name="Send").click()
    expect(form.locator("#status")).to_have_text("This is a preview: nothing was sent.")
    assert problems == []
    assert [url for url in requests if not url.startswith(("data:", "file:", "about:"))] == []
    tab.close()
