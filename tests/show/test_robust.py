import numpy as np
import pytest

from toolkit.central.robust import Huber, Mean, Median, Tukey, smooth_sensitivity
from toolkit.show import robust


def test_influence_is_bounded_for_all_estimators_but_the_mean():
    """The bound is the gross-error sensitivity."""
    ax = robust.influence_functions({"mean": Mean(), "Huber": Huber(1.345), "bisquare": Tukey(4.685)})
    mean, huber, tukey = (line.get_ydata() for line in ax.lines[:3])
    assert np.abs(mean).max() == 6
    assert np.abs(huber).max() == pytest.approx(1.637499, abs=1e-6)
    assert tukey[0] == 0
    assert "bisquare at most 1.77" in repr(ax)
    assert len({line.get_linestyle() for line in ax.lines[:3]}) == 3


def test_a_row_has_local_smooth_and_global_sensitivity_in_this_order():
    asked = {"median": "median", "trimmed mean": ("trimmed", {"trim": 1}), "mean": ("trimmed", {"trim": 0})}
    ax = robust.sensitivities(asked, [2, 4, 5, 7, 9], bounds=(0, 10), beta=0.1)
    for kind in "oDs":
        assert len([line for line in ax.lines if line.get_marker() == kind]) == 3
    found = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() in "oDs"]
    for place in range(3):
        local, smooth, whole = found[3 * place : 3 * place + 3]
        assert local <= smooth <= whole
    assert "median: local 2, smooth 6.07, global 10" in repr(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(asked)


def test_the_local_sensitivity_jumps_and_the_smooth_one_is_never_below_it():
    ax = robust.sensitivity_along([0, 0, 100, 100], bounds=(0, 100), beta=0.5)
    local, smooth = (line.get_ydata() for line in ax.lines[:2])
    assert np.all(np.asarray(local) <= np.asarray(smooth))
    assert max(smooth) <= 100


def test_the_highest_point_of_the_divided_curve_is_the_smooth_sensitivity():
    values, bounds = [2, 4, 5, 7, 9], (0, 10)
    ax = robust.smoothing(values, bounds=bounds, beta=0.1, max_changes=5)
    within, divided, best = (np.asarray(line.get_ydata()) for line in ax.lines)
    assert within.tolist() == [2, 4, 5, 7, 9, 10]
    assert divided == pytest.approx(within * np.exp(-0.1 * np.arange(6)))
    assert best[0] == divided.max() == pytest.approx(smooth_sensitivity("median", values, bounds=bounds, beta=0.1))
    assert "it is largest at k = 5: 6.07, the smooth sensitivity" in repr(ax)
    with pytest.raises(ValueError, match="`max_changes` must reach"):
        robust.smoothing(values, bounds=bounds, beta=0.1, max_changes=2)


def test_too_many_and_none_are_refused():
    with pytest.raises(ValueError, match="must have 1 to 5 entries"):
        robust.influence_functions({str(i): Median() for i in range(6)})
    with pytest.raises(ValueError, match="must not be empty"):
        robust.sensitivities({}, [1], bounds=(0, 1), beta=1)
