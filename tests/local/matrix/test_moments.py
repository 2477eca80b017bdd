import numpy as np

from toolkit import k_ary, kuk, warner
from toolkit.local.matrix.moments import _mixtures, forced_form, scores


def test_every_binary_and_k_ary_design_has_the_forced_form() -> None:
    for design in (warner(0.3), warner("2/3"), k_ary(7, epsilon=1.0)):
        form = forced_form(design.weights)
        assert form is not None
        assert np.array_equal(form.truth * np.eye(len(design.options)) + form.forced, design.weights)


def test_other_tables_do_not() -> None:
    assert forced_form(kuk(0.8, 0.2, draws=2).weights) is None
    assert forced_form(np.array([[7, 2, 1], [2, 5, 3], [1, 1, 8]])) is None
    assert forced_form(np.array([[6, 2, 2], [2, 6, 2], [2, 1, 7]])) is None


def test_scores_invert_the_matrix_for_square_and_wide_tables() -> None:
    for design in (k_ary(5, epsilon=0.7), kuk(0.6, 0.35, draws=6), warner(0.1)):
        score = scores(design.matrix, forced_form(design.weights), design.denominator)
        assert np.allclose(design.matrix @ score, np.eye(len(design.options)), atol=1e-10)
        assert np.allclose(score.sum(axis=1), 1, atol=1e-10)


def test_those_without_an_option_divide_as_the_shares_do_and_evenly_where_nobody_is_left() -> None:
    assert np.allclose(
        _mixtures(np.array([0.5, 0.3, 0.2]), 3), [[0, 0.6, 0.4], [5 / 7, 0, 2 / 7], [5 / 8, 3 / 8, 0]], atol=1e-12
    )
    assert np.allclose(_mixtures(np.array([1.0, 0, 0]), 3), [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]], atol=1e-12)
