from toolkit.core.inference.digits import between, written


def test_a_number_has_the_decimals_that_two_digits_of_its_error_reach() -> None:
    assert written(0.33333, 0.0204) == "0.333"
    assert written(float("nan"), 0.1) == "—"
    assert written(5.0, 0.0) == "5"


def test_an_interval_is_never_written_as_a_point() -> None:
    assert between(0.0, 0.0004, 0.016) == "0.0000 to 0.0004"
    assert between(0.5, 0.5, 0.1) == "0.50 to 0.50"
