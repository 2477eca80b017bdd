import csv
import io
import math

from toolkit.core.publishing import csv_text, key_columns

NAN = math.nan


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_digits_follow_the_error_and_intervals_are_rounded_outwards() -> None:
    text = csv_text(["region"], [("north", 41.23456, 0.1234, 40.9871, 41.4821)], whole=False)
    assert read(text) == [["region", "estimate", "se", "low", "high"], ["north", "41.23", "0.12", "40.98", "41.49"]]


def test_whole_counts_stay_whole() -> None:
    text = csv_text(["region", "sex"], [(("n", "f"), -3, 2.799178, -9.0, 3.0)], whole=True)
    assert read(text)[1] == ["n", "f", "-3", "2.8", "-9", "3"]


def test_a_large_error_leaves_no_decimals() -> None:
    assert read(csv_text([], [("total", 43067.2, 281.4, 42515.1, 43619.3)], whole=False))[1] == [
        "total", "43067", "280", "42515", "43620",
    ]  # fmt: skip


def test_what_is_not_told_is_empty() -> None:
    assert read(csv_text([], [("median", 31.5, NAN, NAN, NAN)], whole=False))[1] == ["median", "31.5", "", "", ""]


def test_a_key_that_a_spreadsheet_would_run_is_text_and_a_number_is_not() -> None:
    rows = [(key, -5, 1.0, -7.0, -3.0) for key in ("=1+1", "+x", "-y", "@z", -4, 'a,"b"\nc', "plain")]
    told = read(csv_text(["k"], rows, whole=True))
    assert [line[0] for line in told[1:]] == ["'=1+1", "'+x", "'-y", "'@z", "-4", 'a,"b"\nc', "plain"]
    assert {line[1] for line in told[1:]} == {"-5"}


def test_a_column_that_is_called_like_a_number_is_renamed() -> None:
    assert key_columns(["estimate", "sex"]) == ["key estimate", "sex"]
