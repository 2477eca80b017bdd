"""A field is declared once: its check, its default, and whether files have it are read from the declaration."""

import inspect
from dataclasses import FrozenInstanceError, dataclass

import pytest

from toolkit import Question, Survey
from toolkit.survey.questions.declaring import FieldType, check_fields, declare_field, declared_fields, plain_fields
from toolkit.survey.questions.errors import SurveyError


def _twice(value, _name, thing, times=2):
    return times * value + thing.first


def _positive(value, name, _thing):
    if value <= 0:
        raise ValueError(f"{name} is not positive")
    return value


@dataclass(frozen=True)
class Thing:
    second: FieldType[int, str] = declare_field(_twice, 1, times=3)  # noqa: RUF009 (it is a field)
    first: int = declare_field(_positive, 4, omit_default=True)

    def __post_init__(self):
        check_fields(self, first_field="first")


def test_fields_are_checked_after_the_one_that_all_depend_on():
    """Each check receives its options."""
    assert (Thing().second, Thing(second=2, first=1).second) == (7, 7)
    with pytest.raises(SurveyError, match=r"^first is not positive$") as caught:
        Thing(first=0)
    assert caught.value.field == "first"
    with pytest.raises(FrozenInstanceError):
        Thing().first = 3


def test_a_signature_shows_what_may_be_given():
    assert str(inspect.signature(Thing)) == "(second: int = 1, first: int = 4) -> None"


def test_only_a_default_that_earlier_versions_lacked_is_left_out():
    assert plain_fields(Thing(second=1, first=4)) == {"second": 7}
    assert plain_fields(Thing(second=1, first=5)) == {"second": 8, "first": 5}
    assert plain_fields(Thing(second=1, first=5), ["second"]) == {"first": 5}
    empty = Thing()
    object.__setattr__(empty, "second", None)
    assert plain_fields(empty) == {}


@pytest.mark.parametrize("kind", [Survey, Question])
def test_every_argument_is_a_declared_field_of_a_file(kind):
    assert {field.name for field in declared_fields(kind)} == set(inspect.signature(kind).parameters)
