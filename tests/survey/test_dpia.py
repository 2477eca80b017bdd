"""The sheet for a board: made from the survey, true of it, the same in Markdown and as a page."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.survey.samples import DESIGNS, cheated, faculty, panel, survey, survey_with
from toolkit import Question, Survey, crosswise, warner
from toolkit.survey.dpia import sheet, sheet_html

CAMPUS = Path(__file__).parents[2] / "data" / "campus.toml"


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_it_says_who_asks_what_is_stored_what_it_can_show_and_what_remains() -> None:
    told = sheet(Survey.load(CAMPUS))
    assert "- controller: Institute for Higher Education Research" in told
    assert "- cheated: forced, auto, epsilon 0.694" in told
    assert "- faculty: plain, sent as it is; 5 different answers" in told
    assert "Epsilon in all: 3." in told
    assert "at most 96 times in 100 after" in told
    assert "- moon: warner, auto, epsilon 0.406; an anchor" in told
    assert "make any number of different answers" in told  # a free text is among them
    assert "Not said yet" not in told


def test_what_is_missing_is_listed_and_cells_are_counted() -> None:
    told = sheet(survey(faculty(required=False), Question("year", "Year?", options=[1, 2, 3]), cheated()))
    assert "Not said yet: controller, contact, purpose, retention, publication, approval" in told
    assert "Plain answers together make 9 different answers" in told  # two faculties or none, three years


@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_access_decides_what_is_stored_of_links(access: str) -> None:
    told = sheet(survey(cheated(), access=access))
    assert ("Hashes of all links" in told) == (access != "open")
    assert ("one person can answer often" in told) == (access == "open")


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_design_has_a_sheet_and_the_page_says_the_same(design: object) -> None:
    made = survey_with(design, ceiling=math.inf)  # type: ignore[arg-type]
    page = Text()
    page.feed(sheet_html(made).split("</style>")[1])
    plain = [line.lstrip("#- ") for line in sheet(made).splitlines() if line]
    assert page.said == plain
    assert ("can prove an answer" in sheet(made)) == math.isinf(made.loss.epsilon)


def test_who_must_follow_what_and_what_hangs_on_a_birthday_is_said() -> None:
    wheel = sheet(survey(cheated(mode="guided")))
    assert "to tap what the wheel asks for" in wheel
    physical = {"mode": "physical", "instructions": "Compare."}
    hanging = sheet(survey(cheated(design=crosswise("1/4"), **physical)))
    assert "to follow the instructions" in hanging
    assert "- cheated: whoever can find out a respondent's answer to the other question" in hanging
    assert "other question" not in wheel + sheet(survey(cheated(**physical)))
    assert "receipt" in wheel


def test_what_nobody_could_count_is_called_almost_certain() -> None:
    assert "can be almost certain after" in sheet(survey_with(warner(epsilon=12.0), ceiling=20))


def test_of_several_waves_it_says_what_all_cost_what_stays_and_what_that_shows() -> None:
    told = sheet(panel(access="token"))
    assert "- cheated: memo, auto, epsilon 0.511 a wave, 2.05 in 4 waves" in told
    assert "answered in all 4 waves, whatever answers change and whatever a phone loses: a guess" in told
    assert "the same in each wave: it joins the reports of one phone over waves" in told
    assert "the reports of one wave to questions with a memo show up to epsilon 1.1." in told  # ln 3, of the noise
    assert "the hashes of all links stay when it is closed" in told
    assert "epsilon counts these 4 waves" in told
    assert "the hashes of all links stay" not in sheet(panel())
    assert not re.search("wave|memo", sheet(survey()))
