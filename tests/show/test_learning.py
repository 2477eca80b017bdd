import pytest

from toolkit.show import robust as learning

CURVES = {"objective": [(2.0, 0.84), (0.5, 0.77)], "output": [(0.5, 0.745), (2.0, 0.826)]}


def test_each_learner_is_a_line_of_its_own_look_in_the_order_of_the_cost():
    ax = learning.accuracy_curves(CURVES, plain=0.856)
    first, second, plain = ax.lines
    assert first.get_xdata().tolist() == [0.5, 2.0]
    assert first.get_ydata().tolist() == [0.77, 0.84]
    assert first.get_linestyle() != second.get_linestyle()
    assert plain.get_ydata()[0] == 0.856
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.5", "2"]
    assert repr(ax) == (
        "<Picture: accuracy against ε: objective 77 % at 0.5 and 84 % at 2, output 74 % at 0.5 and 83 % at "
        "2; without privacy 86 %>"
    )


def test_people_and_the_penalty_are_on_the_axis_when_asked_for():
    assert learning.accuracy_curves(CURVES, x_quantity="people").get_xlabel() == "people"
    assert "accuracy against C" in repr(learning.accuracy_curves(CURVES, x_quantity="C"))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="must have 1 to 4 entries"):
        learning.accuracy_curves({})
    with pytest.raises(ValueError, match="must be one of"):
        learning.accuracy_curves(CURVES, x_quantity="time")
