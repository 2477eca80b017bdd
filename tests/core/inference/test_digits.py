from toolkit.core.inference.digits import between, short, written


def test_a_number_has_the_decimals_that_two_digits_of_its_error_reach() -> None:
    assert written(0.33333, 0.0204) == "0.333"
    assert written(float("nan"), 0.1) == "—"
    assert written(5.0, 0.0) == "5"


def test_an_interval_is_never_written_as_a_point() -> None:
    assert between(0.0, 0.0004, 0.016) == "0.0000 to 0.0004"
    assert between(0.5, 0.5, 0.1) == "0.50 to 0.50"


def test_people_are_whole_and_large_numbers_have_no_exponent() -> None:
    assert (written(979.0, 1.4, whole=True), written(-3.0, 1.4, whole=True)) == ("979", "-3")
    assert between(975.2, 982.8, 1.4, whole=True) == "975 to 983"
    assert written(11450.03125, float("nan")) == "11,450"
    assert [short(number) for number in (999.96, 1000.0, 70710.678, 1e15, 1e-7)] == [
        "1000",
        "1,000",
        "70,711",
        "1e+15",
        "1e-07",
    ]
