import pytest

from toolkit.survey.operating.doctor import Address


def test_an_address_is_read_with_or_without_its_last_slash():
    for url in (
        "https://survey.example.org/survey",
        "https://survey.example.org/survey/",
        "https://survey.example.org/survey/#t=x",
    ):
        assert Address.of(url) == Address(True, "survey.example.org", 443, "/survey")
    assert Address.of("http://127.0.0.1:8001/").path("report") == "/report"


@pytest.mark.parametrize("url", ["survey.example.org", "ftp://survey.example.org/", "https://", ""])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="must begin with https:// or http://"):
        Address.of(url)
