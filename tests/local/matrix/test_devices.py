import math
from fractions import Fraction

import pytest

from toolkit import Design, crosswise, forced, k_ary, kuk, mangat, warner


def test_two_coins_and_a_die_are_found() -> None:
    coins = warner("3/4").devices()[0]
    assert coins.exact
    assert coins.name.startswith("two coins")
    assert coins.epsilon == math.log(3)
    die = forced("1/6", "1/6").devices()[0]
    assert die.exact
    assert die.instructions == '1: say "no". 2: say "yes". 3–6: answer truthfully.'
    assert math.isclose(die.epsilon, math.log(5))


def test_the_nearest_device_comes_first_with_the_epsilon_it_really_has() -> None:
    devices = warner(epsilon=1.0).devices()
    assert [device.distance for device in devices] == sorted(device.distance for device in devices)
    assert not devices[0].exact
    assert "off by" in repr(devices[0])
    assert math.isclose(devices[0].epsilon, math.log(73 / 27)) or devices[0].distance <= 0.005


def test_reports_with_their_own_names_are_explained_answer_by_answer() -> None:
    die = next(device for device in crosswise("1/6").devices() if device.exact)
    assert die.instructions == (
        'If your answer is "no": 1 report "different"; 2–6 report "same". '
        'If your answer is "yes": 1–5 report "different"; 6 report "same".'
    )
    slips = kuk(0.8, 0.2, draws=2).devices()[0]
    assert slips.instructions.startswith('If your answer is "no": 1–16 report "0"; 17–24 report "1"; 25 report "2". ')


def test_slips_are_cut_only_where_no_simpler_device_exists() -> None:
    """Slips, up to 40, are offered only if neither coins, a die nor ten slips give the exact probability."""
    cut = {
        parts: {device._n_slips for device in warner(Fraction(parts - 1, parts)).devices()} - {0, 10}
        for parts in range(3, 43)
    }
    assert {parts for parts, slips in cut.items() if slips} == {7, 8, 9, *range(11, 41)}
    assert all(slips <= {parts} for parts, slips in cut.items())


def test_a_one_sided_design_stays_one_sided() -> None:
    for device in mangat(0.75).devices():
        assert device.epsilon == math.inf
    assert mangat("1/2").devices()[0].instructions == 'heads: say "yes". tails: answer truthfully.'


def test_devices_with_too_few_outcomes_are_left_out() -> None:
    assert all(device.outcomes >= 17 for device in k_ary(16, epsilon=1.0).devices())


def test_a_device_has_as_many_outcomes_as_it_has_in_the_world() -> None:
    outcomes = {device.name: device.outcomes for device in warner("3/4").devices()}
    words = {"two coins": 4, "die": 6, "ten slips": 10, "last digit": 10, "month": 12, "card": 13, "twice": 36}
    for word, count in (words | {"two digits": 100}).items():
        assert count in [many for name, many in outcomes.items() if word in name], word


def test_uneven_births_are_noted() -> None:
    notes = {device.name: device.note for device in warner("3/4").devices()}
    assert "births" in notes["a month of birth"]
    assert notes["a die"] == ""


@pytest.mark.parametrize(
    "design",
    [
        Design([[2, 1, 1], [1, 2, 1], [1, 1, 2]], 4, ("a", "b", "c")),
        Design([[1, 1, 1, 1], [2, 2, 0, 0]], 4, ("no", "yes"), ("a", "b", "c", "d")),
    ],
    ids=["each face forces another report, or the truth", "each face is another report"],
)
def test_as_many_faces_as_parts_are_enough(design: Design) -> None:
    first = design.devices()[0]
    assert (first.outcomes, first.distance, first.design) == (4, 0, design)
    assert min(device.outcomes for device in design.devices()) == 4
