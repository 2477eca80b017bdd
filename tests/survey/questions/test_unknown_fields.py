import pytest

from toolkit.survey.questions.errors import reject_unknown


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("quota", "`cap` limits"),
        ("Quotas", "being turned away would reveal an answer"),
        ("order_by", "an order that depends on answers reveals them"),
        ("randomize-order", "the only such field is `random_order`"),
        ("shuffle", "of a survey for its questions and of a question for its options"),
        ("skip", "`show_if`, which depends on plain questions only"),
        ("visible_if", "would reveal a randomized answer"),
        ("timer", "the time that an answer takes"),
        ("prefer_not_to_say", "make it an option of the design"),
        ("optional", "required = false"),
        ("default", "leaving it unchanged would look like an answer"),
        ("reroll", "randomized once and sent once"),
        ("ip", "nothing about the respondent is stored"),
        ("tetx", "check its spelling"),
    ],
)
def test_fields_that_are_not_offered_are_refused_with_the_reason(field: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"a question has the fields name, text, got '{field}': .*{why}"):
        reject_unknown({"name": "x", field: 1}, ["name", "text"], "a question")


def test_known_fields_pass() -> None:
    reject_unknown({"name": "x"}, ["name", "text"], "a question")
