from fractions import Fraction

import numpy as np
import pytest

from toolkit.local.numeric import piecewise, square_wave
from toolkit.local.numeric.window import Window, Windowed

WINDOW = Window(steps=6, width=3, inside=5, outside=2)


def test_every_draw_of_every_answer_gives_the_matrix() -> None:
    """Enumeration of all integers below the total: the law is that of the matrix, to the last count."""
    for index, row in enumerate(WINDOW.matrix()):
        reports = [WINDOW.report(index, lambda _bound, drawn=drawn: drawn) for drawn in range(WINDOW.total)]
        counts = np.bincount(reports, minlength=WINDOW.reports)
        assert counts.tolist() == np.rint(row * WINDOW.total).astype(int).tolist()


def test_no_ratio_of_two_answers_passes_the_odds() -> None:
    matrix = WINDOW.matrix()
    assert (matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(float(WINDOW.odds)) == 2.5


def test_scores_are_unbiased_and_their_squares_as_promised() -> None:
    scores = WINDOW.scores(np.arange(WINDOW.reports))
    for index, row in enumerate(WINDOW.matrix()):
        u = index / WINDOW.steps
        c0, c1, c2 = WINDOW.square
        assert row @ scores == pytest.approx(u)
        assert row @ scores**2 == pytest.approx(c0 + c1 * u + c2 * u**2)


def test_many_draws_follow_the_rule_of_one() -> None:
    rng = np.random.default_rng(4)
    reports = WINDOW.draw(np.full(60_000, 2), rng)
    expected = WINDOW.matrix()[2] * 60_000
    counts = np.bincount(reports, minlength=WINDOW.reports)
    # nine cells, 5 standard errors each: false alarms 5e-6
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


def test_windows_that_tell_nothing_or_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="must be above"):
        Window(steps=6, width=3, inside=2, outside=2)
    with pytest.raises(ValueError, match="at most 2\\*\\*32"):
        Window(steps=6, width=3, inside=2**32, outside=2)
    assert WINDOW.odds == Fraction(5, 2)


def test_both_randomizers_with_a_window_draw_as_it_does() -> None:
    for randomizer in (piecewise((0, 20), 1.0), square_wave((0, 20), 1.0)):
        assert isinstance(randomizer, Windowed)
        assert randomizer.odds == randomizer.window.odds
        for drawn in (0, 5, randomizer.window.total - 1):
            draws = [one.report(3, lambda _bound, drawn=drawn: drawn) for one in (randomizer, randomizer.window)]
            assert draws[0] == draws[1]
