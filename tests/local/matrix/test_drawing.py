import numpy as np

from toolkit import k_ary, warner
from toolkit.local.matrix.encoding import draw_reports


def test_reversed_warner_is_the_mirror_image_word_for_word() -> None:
    """p and 1 - p swap the reports: with the same bits and opposite answers they send the same reports."""
    answers = np.random.default_rng(1).random(10_000) < 0.3
    kept = warner("3/4").randomize(answers, np.random.default_rng(2))
    mirrored = warner("1/4").randomize(~answers, np.random.default_rng(2))
    assert np.array_equal(kept, mirrored)


def test_long_work_has_the_law_of_short_work() -> None:
    """A million answers, in chunks; the share kept within 5 standard errors: false alarms 6e-7."""
    design = k_ary(16, epsilon=1.0)
    codes = np.tile(np.arange(16, dtype=np.int8), 62_500)
    reports = draw_reports(design.weights, design._form, codes, np.random.default_rng(3))
    keep = design.matrix[0, 0]
    assert reports.dtype == np.int8
    assert abs(np.mean(reports == codes) - keep) < 5 * np.sqrt(keep * (1 - keep) / 1e6)


def test_answers_are_not_changed() -> None:
    answers = np.array([0, 1, 1, 0] * 5000)
    before = answers.copy()
    warner("1/4").randomize(answers)
    assert np.array_equal(answers, before)
