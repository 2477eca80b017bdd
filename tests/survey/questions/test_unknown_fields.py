import pytest

from toolkit.survey.questions.files import refuse_unknown


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("quota", "`cap` limits"),
        ("Quotas", "being turned away would tell an answer"),
        ("order_by", "an order that depends on answers tells them"),
        ("randomize-order", "questions come as they are listed"),
        ("skip", "`show_if`, which depends on plain questions alone"),
        ("visible_if", "would tell a randomized answer"),
        ("timer", "how long an answer takes"),
        ("prefer_not_to_say", "make it one of the design's"),
        ("optional", "required = false"),
        ("default", "leaving it so would look like an answer"),
        ("reroll", "drawn once and sent once"),
        ("ip", "nothing about the respondent is kept"),
        ("tetx", "check its spelling"),
    ],
)
def test_fields_that_are_not_offered_are_refused_with_the_reason(field: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"a question has the fields name, text, got '{field}': .*{why}"):
        refuse_unknown({"name": "x", field: 1}, ["name", "text"], "a question")


def test_known_fields_pass() -> None:
    refuse_unknown({"name": "x"}, ["name", "text"], "a question")
