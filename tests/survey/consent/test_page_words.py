"""What is said before sending: all that leaves the phone, and of what stays there only what is so."""

import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit.survey.consent.page_data import page_words

PHYSICAL = {"mode": "physical", "instructions": "Throw a die."}
STAYS = "stay on this phone"


def review(*questions, check=True, access="open"):
    return page_words(questions, ["en"], {}, check=check, access=access)["en"]["review_note"]


def test_a_plain_survey_is_not_told_that_answers_stay_on_the_phone():
    assert STAYS not in review(faculty(), check=False)
    assert "sent as you gave them" in review(faculty(), check=False)


def test_each_way_to_answer_has_its_own_sentence():
    assert STAYS in review(cheated())
    assert STAYS not in review(cheated(**PHYSICAL)) + review(cheated(mode="guided"))
    assert "only what you tapped is sent" in review(cheated(mode="guided"))
    assert "sent as you gave them" not in review(cheated())


@pytest.mark.parametrize(("access", "words"), [("token", "code of your personal link"), ("blind", "anonymous ticket")])
def test_all_that_goes_with_the_answers_is_listed(access, words):
    assert words in review(cheated(), access=access)
    assert words not in review(cheated())
    assert "A random number and the hash of this survey go with it" in review(cheated())
    assert ("question about the method" in review(cheated())) != (
        "question about the method" in review(cheated(), check=False)
    )


def test_the_page_has_these_words_and_the_hash_covers_them():
    assert survey(cheated()).page_words()["en"]["review_note"] == review(cheated())
