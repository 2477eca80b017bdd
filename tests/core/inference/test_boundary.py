import numpy as np

from toolkit.core.estimate import boundary_note


def test_a_share_outside_is_said_and_one_inside_is_not() -> None:
    assert boundary_note(-0.1)[0].startswith("the estimate lies outside 0 to 1")
    assert boundary_note(np.array([-0.1, 0.5, 1.2]), "simplex")[0].startswith("2 of 3 estimates lie outside")
    assert boundary_note(-0.1)[0].endswith("; use it in averages, and method='mle' for display")
    assert boundary_note(-0.1, None)[0].endswith("; use it in averages")
    assert boundary_note(np.array([0.0, 1.0])) == ()
    assert boundary_note(np.array([np.nan, 2.0])) == ()
