from toolkit.show.canvas import new_figure
from toolkit.show.widgets.design_explorer import point
from toolkit.show.widgets.explorer import icons, say


def test_a_hundred_people_of_whom_the_first_are_filled():
    ax = new_figure(width=3, height=2).add_subplot()
    icons(ax, 73)
    filled, hollow = ax.lines
    assert (len(filled.get_xdata()), len(hollow.get_xdata())) == (73, 27)
    assert hollow.get_markerfacecolor() == "none"


def test_sentences_are_broken_into_lines_and_kept_apart():
    ax = new_figure(width=3, height=2).add_subplot()
    say(ax, 1, "one two three four", "five", width=9)
    assert ax.texts[0].get_text() == "one two\nthree\nfour\n\nfive"


def test_a_point_above_its_axis_stands_at_the_edge_hollow_and_says_so():
    ax = new_figure(width=3, height=2).add_subplot()
    ax.set(xlim=(0, 5), ylim=(0, 50))
    point(ax, 1, 50)
    assert (ax.lines[0].get_ydata().tolist(), len(ax.texts)) == ([50], 0)
    point(ax, 1, 50.1)
    assert (ax.lines[1].get_ydata().tolist(), ax.lines[1].get_markerfacecolor()) == ([50], "none")
    assert ax.texts[0].get_text().strip() == "↑ off the axis"
