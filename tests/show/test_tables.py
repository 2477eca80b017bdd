from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from toolkit import Laplace
from toolkit.show import bars as tables


def released(labels, axes=()):
    found = Laplace.for_epsilon(1).release(np.arange(len(labels)) * 10, labels=range(len(labels)))
    return replace(found, labels=tuple(labels), axes=axes)


def bars(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 2]


def test_every_cell_has_its_interval_and_its_key():
    found = released(["north", "south", "west"], ("region",))
    ax = tables.table(found)
    low, high = found.interval()
    assert [tuple(bar.get_xdata()) for bar in bars(ax)] == list(zip(low, high, strict=True))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["north", "south", "west"]
    assert ax.get_ylabel() == "region"
    assert repr(ax).startswith("<Picture: 3 cells with 95 % intervals: north ")


def test_a_cross_tab_has_a_row_for_each_key_of_the_first_column_and_a_legend_of_the_second():
    ax = tables.table(released(list(product(["n", "s"], ["f", "m"])), ("region", "sex")), truth=[0, 10, 20, 30])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["n", "s"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["f", "m"]
    assert len({line.get_marker() for line in ax.get_legend().get_lines()}) == 2
    assert len(bars(ax)) == 4
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|"] == [0, 10, 20, 30]


def test_many_keys_in_the_second_column_have_rows_of_their_own():
    ax = tables.table(released(list(product(["n", "s"], range(5))), ("region", "k")))
    assert ax.get_legend() is None
    assert [text.get_text() for text in ax.get_yticklabels()][:2] == ["n, 0", "n, 1"]
    four = tables.table(released(list(product(["n", "s"], range(4))), ("region", "k")))
    assert [len(four.get_legend().get_texts()), len(four.get_yticklabels())] == [4, 2]


def test_what_has_no_interval_has_a_dot_alone():
    made = released(["a", "b"]).tidied(30)
    ax = tables.table(made)
    assert bars(ax) == []
    assert [line.get_xdata()[0] for line in ax.lines] == made.value.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 81])
def test_a_table_that_no_picture_holds_is_refused(size):
    with pytest.raises(ValueError, match="a picture holds 1 to 80 cells"):
        tables.table(replace(released(["a"]), labels=tuple(range(size))))
    assert len(bars(tables.table(released(range(80))))) == 80
