from toolkit.show.canvas import new_figure
from toolkit.show.widgets.kit.still import icons, say


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
