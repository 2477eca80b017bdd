import pytest

from toolkit.survey.writing.unknown_fields import SurveyError, naming


@pytest.mark.parametrize("kind", [ValueError, TypeError, SurveyError])
def test_errors_say_where_they_happened(kind: type[Exception]) -> None:
    with (
        pytest.raises(SurveyError, match=r"^campus.toml: question 'x': no$") as caught,
        naming("campus.toml"),
        naming("question 'x'"),
    ):
        raise kind("no")
    assert caught.value.__cause__ is None


def test_other_errors_pass() -> None:
    with pytest.raises(OSError, match=r"^disk$"), naming("campus.toml"):
        raise OSError("disk")
