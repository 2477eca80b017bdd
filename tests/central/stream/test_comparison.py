import math

import pytest

from tests.slowly import each, slowly
from toolkit.central.stream.comparison import NAMES, compare, crossing, error
from toolkit.core.loss import Approx, Pure, Zcdp

SHARE, FRESH, BINARY, BELOW, BEST, ROOT, EQUAL = NAMES
# Largest standard deviation over the periods (and the root of the mean square), from a separate computation.
PURE = {
    7: {SHARE: 9.9, FRESH: (3.74, 2.83), BINARY: (7.35, 5.55), BELOW: (6.35, 4.80)},
    52: {SHARE: 73.5, FRESH: (10.2, 7.28), BINARY: (19.0, 14.1), BELOW: (15.4, 11.3), BEST: (9.8, 7.1)},
    365: {SHARE: 516, FRESH: (27.0, 19.1), BINARY: (36.0, 25.7), BELOW: (27.9, 19.9), BEST: (17.0, 12.0)},
    3650: {SHARE: 5162, FRESH: (85.4, 60.4), BINARY: (56.3, 40.8), BELOW: (42.6, 30.8), BEST: (27.8, 19.7)},
}
CONCENTRATED = {
    7: {FRESH: (2.65, 2.00), BINARY: 3.00, BELOW: 2.59, ROOT: (1.675, 1.546), EQUAL: (1.534, 1.471)},
    52: {FRESH: (7.21, 5.15), BINARY: 5.48, BELOW: 4.44, ROOT: (2.322, 2.164), EQUAL: (2.147, 2.064)},
    365: {FRESH: (19.1, 13.5), BINARY: 8.49, BELOW: 6.57, ROOT: (2.944, 2.782), EQUAL: (2.756, 2.668)},
    3650: {FRESH: (60.4, 42.7), BINARY: 11.5, BELOW: 8.70, ROOT: (3.677, 3.515), EQUAL: (3.482, 3.391)},
}


@pytest.mark.parametrize("periods", slowly([7, 52, 365, 3650], [365, 3650]))
@each(loss=[Pure(1), Zcdp("1/2")])
def test_errors_are_those_of_the_table_within_three_percent(loss: Pure | Zcdp, periods: int) -> None:
    table = (PURE if isinstance(loss, Pure) else CONCENTRATED)[periods]
    for name, known in table.items():
        largest, typical = known if isinstance(known, tuple) else (known, None)
        found = error(name, loss, periods)
        assert found.largest == pytest.approx(largest, rel=0.01), name
        assert typical is None or found.typical == pytest.approx(typical, rel=0.03), name


def test_the_square_root_is_no_way_for_laplace_noise() -> None:
    assert [round(error(ROOT, Pure(1), periods).largest, 1) for periods in (7, 52, 365)] == [5.4, 17.5, 52.3]


def test_the_crossings_are_where_they_are() -> None:
    """Zcdp: the binary tree beats fresh noise first with 13 periods, averaged from below with 6; Pure: 901
    and 389, and the best tree with 45.
    """
    assert (crossing(Zcdp(1), FRESH, BINARY), crossing(Zcdp(1), FRESH, BELOW)) == (13, 6)
    assert [crossing(Zcdp(1), FRESH, BINARY, up_to=last) for last in (12, 13)] == [None, 13]
    assert crossing(Pure(1), FRESH, BEST) == 45
    for name, periods in ((BINARY, 901), (BELOW, 389)):
        after, before = (
            error(name, Pure(1), count).largest / error(FRESH, Pure(1), count).largest
            for count in (periods, periods - 1)
        )
        assert after < 1 <= before
    assert crossing(Pure(1), FRESH, BINARY, up_to=60) is None
    assert crossing(Zcdp(1), BELOW, EQUAL) == 2


def test_errors_scale_with_the_loss() -> None:
    assert error(BINARY, Pure(2), 52).largest == pytest.approx(error(BINARY, Pure(1), 52).largest / 2)
    assert error(EQUAL, Zcdp(2), 52).largest == pytest.approx(error(EQUAL, Zcdp("1/2"), 52).largest / 2)
    assert list(compare(Pure(1), 3)) == list(NAMES)


def test_what_cannot_be_compared_is_refused() -> None:
    for loss in (Approx(1, 1e-6), Pure(0), Zcdp(0), Pure(math.inf)):
        with pytest.raises(TypeError, match="`loss` must be Pure or Zcdp, above 0 and finite"):
            error(BINARY, loss, 52)
    with pytest.raises(ValueError, match="`name` must be one of a share of the loss"):
        error("a magic tree", Pure(1), 52)
